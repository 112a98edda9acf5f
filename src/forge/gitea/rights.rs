//! What the server tells of a repository and its branches, and what a token may do there, without being asked to do it (docs/gitea-api.md,
//! "Branches", "Branch rules", "Token scopes"); and in words why a commit was refused.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{BranchRule, GiteaError, Method, Repo, Result, encode_path, unless_absent};

/// What is known of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RepoInfo {
    /// Its default branch.
    pub default_branch: String,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    internal: bool,
    /// Whether nothing can be written to it any more.
    #[serde(default)]
    pub archived: bool,
    /// Whether it follows another repository.
    #[serde(default)]
    pub mirror: bool,
    /// Whether it has no commit yet.
    #[serde(default)]
    pub empty: bool,
    /// What the token's user may do there.
    #[serde(default)]
    pub permissions: Permissions,
    has_pull_requests: Option<bool>,
    has_actions: Option<bool>,
}

/// What a user may do in a repository, where the server tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Permissions {
    /// Change its settings.
    pub admin: Option<bool>,
    /// Push to it.
    pub push: Option<bool>,
}

impl RepoInfo {
    /// Whether everybody may read it.
    pub fn is_public(&self) -> bool {
        !self.private && !self.internal
    }

    /// Whether it has pull requests at all.
    pub fn has_pulls(&self) -> bool {
        self.has_pull_requests != Some(false)
    }

    /// Whether Actions are switched off.
    pub fn has_no_actions(&self) -> bool {
        self.has_actions == Some(false)
    }
}

/// What is told of a branch to everybody who may read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct BranchInfo {
    /// The commit at its tip.
    pub commit: Tip,
    /// Whether a rule covers it.
    #[serde(default)]
    pub protected: bool,
    /// Whether the token's user may push to it. Does not know of file patterns.
    pub user_can_push: Option<bool>,
    /// How many approvals a pull request needs.
    #[serde(default)]
    pub required_approvals: u64,
    /// The name of its rule; empty for those who may not read rules.
    #[serde(default, rename = "effective_branch_protection_name")]
    pub rule: String,
}

/// The commit at the tip of a branch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Tip {
    /// Its id.
    pub id: String,
    /// Its message; empty where the server does not tell.
    #[serde(default)]
    pub message: String,
}

/// The scopes of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scopes {
    /// These, by Gitea's words.
    Listed(BTreeSet<String>),
    /// All, as far as can be told.
    All,
    /// The server does not tell them.
    Untold,
}

impl Scopes {
    /// Reads them from the text with which the server refuses a token of other scopes. Forgejo names only what it wants;
    /// a list that was cut off tells nothing.
    pub fn in_refusal(message: &str) -> Scopes {
        let Some((_, list)) = message.split_once("token scope=") else {
            // a refusal of another kind: the scopes are enough
            return match message.contains("required scope") {
                true => Scopes::Untold,
                false => Scopes::All,
            };
        };
        if list.ends_with('…') {
            return Scopes::Untold;
        }
        let words = list.split(',').map(str::trim);
        let listed: BTreeSet<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        match listed.contains("all") {
            true => Scopes::All,
            false => Scopes::Listed(listed),
        }
    }

    /// Whether a token of these scopes may write that; `None` where nobody knows.
    pub fn may_write(&self, what: &str) -> Option<bool> {
        match self {
            Scopes::Listed(scopes) => Some(scopes.contains(&format!("write:{what}"))),
            Scopes::All => Some(true),
            Scopes::Untold => None,
        }
    }

    /// Whether they are for public repositories alone.
    pub fn public_only(&self) -> bool {
        matches!(self, Scopes::Listed(scopes) if scopes.contains("public-only"))
    }
}

impl Repo {
    /// Returns what is known of the repository itself.
    pub fn about(&self) -> Result<RepoInfo> {
        self.get("", "a repository")
    }

    /// Returns what is told of a branch.
    pub fn branch(&self, name: &str) -> Result<BranchInfo> {
        self.get(&format!("/branches/{}", encode_path(name)), "a branch")
    }

    /// Returns the id of the commit at the tip of a branch.
    pub fn tip(&self, branch: &str) -> Result<String> {
        Ok(self.branch(branch)?.commit.id)
    }

    /// Returns the branch beside which git cannot have the other: `a` beside `a/b`. None where the server does not tell.
    pub fn in_the_way<'b>(&self, branch: &'b str) -> Option<&'b str> {
        let mut folders = branch.match_indices('/').map(|(at, _)| &branch[..at]);
        folders.find(|folder| self.branch(folder).is_ok())
    }

    /// Says what to do about a branch that git has and the server does not know, as one that was killed during a commit leaves it:
    /// no commit by the API passes then (docs/gitea-api.md, "Branches"). None of any other branch.
    pub fn how_to_make_known(&self, branch: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Ref {
            r#ref: String,
        }
        let is_unknown = matches!(&self.branch(branch), Err(error) if error.is_not_found());
        let path = format!("/git/refs/heads/{}", encode_path(branch));
        let named: Vec<Ref> = is_unknown.then(|| self.get(&path, "a list of refs").ok())??;
        let name = format!("refs/heads/{branch}");
        let is_there = named.iter().any(|named| named.r#ref == name);
        is_there.then(|| {
            format!(
                "git has the branch {branch}, and the server does not know it, as after a crash during a commit. A push makes it known: \
                 run this in a clone, as the bot\n\
                 git fetch origin {name}\n\
                 commit=$(git commit-tree -p FETCH_HEAD -m \"chore: push the branch again [skip ci]\" \"FETCH_HEAD^{{tree}}\")\n\
                 git push origin $commit:{name}"
            )
        })
    }

    /// Returns the rule that covers a branch; of a branch that is not there yet, the one of its name. Only administrators may
    /// ask.
    pub fn branch_rule(&self, branch: &str) -> Result<Option<BranchRule>> {
        let told = unless_absent(self.branch(branch))?.unwrap_or_default();
        self.rule(branch, &told)
    }

    /// Returns the rule of which a branch told the name, else one of the branch's name; `None` where neither is listed. Only
    /// administrators may ask.
    pub fn rule(&self, branch: &str, told: &BranchInfo) -> Result<Option<BranchRule>> {
        let mut rules: Vec<BranchRule> =
            self.get("/branch_protections", "a list of branch rules")?;
        let named = |name: &str| rules.iter().position(|rule| rule.rule_name == name);
        let found = named(&told.rule).or_else(|| named(branch));
        Ok(found.map(|at| rules.swap_remove(at)))
    }

    /// Says why the server refuses a commit to a branch and what to do, as far as its words and what the token's user may ask
    /// tell (docs/gitea-api.md, "Branch rules"): the rules are for administrators, whether the user may push is for everybody.
    /// `way_out`: what else can be done, as in "use --via-pr".
    pub(super) fn why_refused(
        &self,
        error: &GiteaError,
        branch: &str,
        way_out: &str,
    ) -> Option<String> {
        let message = error.message();
        let of_failure = error.is_failure().then(|| self.how_to_make_known(branch));
        if let Some(how) = of_failure.flatten() {
            return Some(how);
        }
        let says = |words: &str| message.contains(words);
        Some(if error.says_name_taken() {
            let taken = self.in_the_way(branch);
            let taken = taken.unwrap_or_else(|| branch.split('/').next().unwrap_or_default());
            format!("a branch {taken} is in the way of {branch}: rename it, or {way_out}")
        } else if says("cannot commit to repo") {
            return Some(self.which_rule(branch, way_out));
        } else if says("path is protected") {
            format!(
                "a protected file pattern of the branch rule of {branch:?} covers the file: remove the pattern, or {way_out}"
            )
        } else if says("permission to write") {
            "the token's user needs write access to the repository".to_owned()
        } else if error.is_failure() || message.is_empty() || says("no message for end users") {
            format!(
                "a rule of the branch or a hook refuses the commit, or the token is the automatic one of a job, which cannot \
                 commit: use the bot's token, or {way_out}"
            )
        } else if error.status() == Some(403) {
            format!(
                "a hook of the server refuses the commit, in its own words: change what it asks for, or {way_out}"
            )
        } else {
            return error.hint();
        })
    }

    /// Says which rule of a branch refused a commit: who may not push and a commit that is not signed get the same words.
    fn which_rule(&self, branch: &str, way_out: &str) -> String {
        let told = self.branch(branch).unwrap_or_default();
        let rule = self.rule(branch, &told).ok().flatten();
        match rule {
            Some(rule) if rule.require_signed_commits => format!(
                "the branch rule {:?} requires signed commits, and this one would not be: let Gitea sign, or {way_out}",
                rule.rule_name
            ),
            // that answer does not look at signatures
            None if told.user_can_push == Some(true) => format!(
                "the token's user may push to {branch:?}, so most likely the branch rule requires signed commits: let Gitea \
                 sign, or {way_out}"
            ),
            _ => format!(
                "the branch rule of {branch:?} does not let the token's user push: put only that user on its push allowlist, or \
                 {way_out}"
            ),
        }
    }

    /// Deletes a branch.
    pub fn delete_branch(&self, branch: &str) -> Result<()> {
        let path = format!("/branches/{}", encode_path(branch));
        self.send(Method::DELETE, &path, None).map(drop)
    }

    /// Asks for comments: those of a pull request, or of the repository. What they say is not looked at.
    pub fn reads_comments(&self, pull: Option<u64>) -> Result<()> {
        let path = match pull {
            Some(number) => format!("/issues/{number}/comments"),
            None => "/issues/comments?limit=1".to_owned(),
        };
        self.send(Method::GET, &path, None).map(drop)
    }

    /// Returns the scopes of the token: the refusal of what no bot's token covers names them.
    pub fn scopes(&self) -> Result<Scopes> {
        match self.ok(Method::GET, "/admin/cron?limit=1", None) {
            Err(error) if error.status() == Some(403) && error.answer.is_some() => {
                Ok(Scopes::in_refusal(error.message()))
            }
            Ok(_) => Ok(Scopes::All),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scopes;

    #[test]
    fn scopes_are_what_the_refusal_names() {
        let start = "token does not have at least one of required scope(s)";
        let refusal =
            format!("{start}, required=[read:admin], token scope=write:issue,write:repository");
        let scopes = Scopes::in_refusal(&refusal);
        assert_eq!(scopes.may_write("repository"), Some(true));
        assert_eq!(scopes.may_write("user"), Some(false));
        assert!(!scopes.public_only());
        let limited = Scopes::in_refusal(&format!(
            "{start}, required=[read:admin], token scope=public-only,read:issue"
        ));
        assert!(limited.public_only());
        assert_eq!(limited.may_write("issue"), Some(false));
        for untold in [
            format!("{start}: [read:admin]"),
            format!("{start}, required=[read:admin], token scope=write:issue,write:rep…"),
        ] {
            assert_eq!(Scopes::in_refusal(&untold).may_write("issue"), None);
        }
    }
}
