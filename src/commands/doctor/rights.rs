//! What the token may do in the repository, and what the rules of its branches let past review.

use super::found::{Look, not_made, open, wrong};
use super::{Doctor, OF_FORK};
use crate::base::count;
use crate::commands::cli::Purpose;
use crate::commands::{forge, inventory_branch};
use crate::forge::gitea::{BranchInfo, Repo, RepoInfo, Scopes};

/// Why the rule of a branch is not looked at.
const UNREAD: &str = "the branch cannot be read";

/// What to do where a branch cannot be pushed to.
const ALLOW: &str =
    "put the token's user on the push allowlist of the branch's rule (docs/gitea.md, step 7)";

/// A repository that can be read, and what is to be done there.
pub(super) struct Rights<'a> {
    pub(super) doctor: &'a Doctor<'a>,
    pub(super) repo: &'a Repo,
    pub(super) about: &'a RepoInfo,
    /// The scopes of the token; none of the job's own.
    pub(super) scopes: Option<&'a Scopes>,
    /// The branch that is applied.
    pub(super) name: &'a str,
}

impl Rights<'_> {
    /// Returns the checks.
    pub(super) fn checks(&self) -> [(&'static str, Look); 5] {
        let file = forge::path_in_repository(&self.doctor.run.file);
        let file = file.unwrap_or_else(|_| self.doctor.run.file_name());
        let [push, rule] = match self.repo.branch(self.name) {
            Ok(branch) => [
                self.push(self.name, &branch, false),
                self.rule(self.name, &branch, &file, false),
            ],
            Err(error) if error.is_not_found() => {
                let (repository, default) = (self.repo.full_name(), &self.about.default_branch);
                let name = self.name;
                let text =
                    format!("{repository} has no branch {name:?}; its default branch is {default}");
                let hint = "the branch is that of --branch (GITEA_BRANCH), else of the job";
                [wrong(text, hint), not_made(UNREAD)]
            }
            Err(error) => [open(format!("not known: {error}")), not_made(UNREAD)],
        };
        let [inventory, inventory_push] = self.inventory();
        [
            ("gitea_push", push),
            ("gitea_branch_rule", rule),
            ("gitea_comment", self.comment()),
            ("gitea_inventory_branch", inventory),
            ("gitea_inventory_push", inventory_push),
        ]
    }

    /// May the token push to a branch? What is wrong for an apply is only said where nobody said what the set-up is for.
    fn push(&self, name: &str, branch: &BranchInfo, of_inventory: bool) -> Look {
        let weak = |text: String, hint: &str| match self.doctor.purpose {
            Some(Purpose::Apply) => wrong(text, hint),
            Some(Purpose::Plan) | None => open(text),
        };
        let may_not = format!("the token may not push to {name}");
        let or_propose = format!("{ALLOW}, or use sync-events --via-pr");
        match branch.user_can_push {
            _ if self.doctor.purpose == Some(Purpose::Plan) => not_made("a plan pushes nothing"),
            _ if self.scopes.is_none() => not_made("the token is the job's own"),
            _ if self.about.permissions.push == Some(false) => {
                let text = "the token's user may not write to the repository".to_owned();
                weak(text, "give it write access: Settings, Collaborators")
            }
            None => open(format!("the server does not say who may push to {name}")),
            Some(true) => Ok(format!("the token may push to {name}")),
            Some(false) if of_inventory => {
                weak(format!("{may_not}, so every apply is refused"), ALLOW)
            }
            Some(false) if self.doctor.via_pr => {
                Ok(may_not + "; the workflows open pull requests (--via-pr)")
            }
            Some(false) => weak(format!("{may_not}: a branch rule forbids it"), &or_propose),
        }
    }

    /// Does the rule of a branch let nothing past review, nor people write or delete the inventory?
    fn rule(&self, name: &str, branch: &BranchInfo, file: &str, of_inventory: bool) -> Look {
        if !branch.protected {
            let text = match of_inventory {
                true => "delete it, or change which objects this file manages",
                false => "push without a review",
            };
            let text = format!("no rule protects {name}. Everybody with write access can {text}.");
            let how = "with only the bot on its push allowlist: netbird-gitops init --setup does it (docs/gitea.md, step 7)";
            return wrong(text, format!("create a rule for {name} {how}"));
        }
        let unread = |why: &str| open(format!("{name} is protected; {why}"));
        let rule = match self.repo.rule(name, branch) {
            Ok(Some(rule)) => rule,
            Ok(None) => return unread("its rule is not listed"),
            Err(error) if error.is_hidden_from_us() => {
                return unread("only an administrator's token can read its rule");
            }
            Err(error) => return unread(&format!("its rule cannot be read: {error}")),
        };
        if let Some((gap, hint)) = rule.gap(file, None, of_inventory) {
            let text = format!("the rule {:?} of {name}: {gap}", rule.rule_name);
            return wrong(text, hint);
        }
        let approvals = usize::try_from(branch.required_approvals).unwrap_or(usize::MAX);
        let approvals = count(approvals, "approval", "approvals");
        let pushers = rule.pushers();
        let rule = format!("{pushers}, {approvals} needed");
        Ok(format!("{name} is protected: {rule}"))
    }

    fn comment(&self) -> Look {
        if self.about.archived {
            return not_made("the repository is archived");
        }
        if !self.about.has_pulls() {
            let text = "pull requests are switched off in the repository, so no plan can be posted";
            return wrong(text, "switch them on in the repository's settings");
        }
        let pull = self.doctor.run.context.pull_request.as_ref();
        let is_of_fork = self.doctor.run.is_of_fork();
        match self.repo.reads_comments(pull.map(|pull| pull.number)) {
            Err(error) if is_of_fork && (error.is_scope() || error.is_not_found()) => {
                return not_made(OF_FORK);
            }
            Err(error) if error.is_scope() => return Err(error.into()),
            Err(error) if error.is_not_found() => {
                return wrong(
                    format!("the token may not see comments: {error}"),
                    "give the workflow the permission pull-requests: write; in the job of a private repository's fork the \
                     job's own token cannot comment",
                );
            }
            Err(error) => return open(format!("not known: {error}")),
            Ok(()) => {}
        }
        let Some(scopes) = self.scopes else {
            return Ok("the job's token sees the comments of pull requests".into());
        };
        let hint = "create a token with the scope write:issue, too (docs/gitea.md, step 3)";
        match scopes.may_write("issue") {
            Some(false) => wrong(
                "the token cannot write comments: it lacks the scope write:issue",
                hint,
            ),
            Some(true) => Ok("the token may comment on pull requests".into()),
            None => open("the token reads comments; whether it may write them is not known"),
        }
    }

    /// The branch of the inventory: its rule, and who may push to it.
    fn inventory(&self) -> [Look; 2] {
        let others = [self.about.default_branch.as_str(), self.name];
        let others = others.map(|name| (name, "the branch of the file"));
        let name = match inventory_branch(self.doctor.run, others) {
            Ok(name) => name,
            Err(failure) => {
                let why = "it is the branch of the file";
                return [Err(failure.into()), not_made(why)];
            }
        };
        let text = match self.repo.branch(&name) {
            Ok(branch) => {
                let rule = self.rule(&name, &branch, "inventory.json", true);
                return [rule, self.push(&name, &branch, true)];
            }
            Err(error) if error.is_not_found() => {
                if let Some(taken) = self.repo.in_the_way(&name) {
                    let text = format!(
                        "a branch {taken} is in the way of {name}, so every apply is refused"
                    );
                    let hint =
                        "rename or delete it, or name another branch with --inventory-branch";
                    return [wrong(text, hint), not_made("it cannot be created")];
                }
                if let Some(how) = self.repo.how_to_make_known(&name) {
                    let text = format!(
                        "the server does not know {name}, which git has, so every apply is refused"
                    );
                    return [wrong(text, how), not_made("the server does not know it")];
                }
                format!("{name} does not exist yet: the first apply creates it")
            }
            Err(error) => format!("not known: {error}"),
        };
        [open(text.clone()), open(text)]
    }
}
