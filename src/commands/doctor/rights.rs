//! What the token may do in the repository, and what the rules of its branches let past review.

use super::Doctor;
use super::found::{Look, not_made, open, wrong};
use crate::base::text::count;
use crate::commands::cli::Purpose;
use crate::commands::forge;
use crate::commands::settings::setting;
use crate::forge::gitea::inventory::BRANCH;
use crate::forge::gitea::{BranchInfo, GiteaError, Repo, RepoInfo, Scopes};

/// Why the right to push is not looked at.
const OWN_TOKEN: &str = "the token is the job's own";

/// Why nothing of the inventory's branch is looked at.
const ITS_OWN: &str = "it is the branch of the file";

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
        let branch = self.repo.branch(self.name);
        let [inventory, inventory_push] = self.inventory();
        [
            ("gitea_push", self.push(&branch)),
            ("gitea_branch_rule", self.rule(&branch)),
            ("gitea_comment", self.comment()),
            ("gitea_inventory_branch", inventory),
            ("gitea_inventory_push", inventory_push),
        ]
    }

    fn push(&self, branch: &Result<BranchInfo, GiteaError>) -> Look {
        let name = self.name;
        let branch = match branch {
            Ok(branch) => branch,
            Err(error) if error.is_not_found() => {
                let (repository, default) = (self.repo.full_name(), &self.about.default_branch);
                return wrong(
                    format!("{repository} has no branch {name:?}; its default branch is {default}"),
                    "the branch is that of --branch (GITEA_BRANCH), else of the job",
                );
            }
            Err(error) => return open(format!("not known: {error}")),
        };
        match branch.user_can_push {
            _ if self.doctor.purpose == Some(Purpose::Plan) => not_made("a plan pushes nothing"),
            _ if self.scopes.is_none() => not_made(OWN_TOKEN),
            _ if self.about.permissions.push == Some(false) => self.weak(
                "the token's user may not write to the repository".to_owned(),
                "give it write access: Settings, Collaborators",
            ),
            Some(false) if self.doctor.via_pr => Ok(format!(
                "the token does not push to {name}; the workflows open pull requests (--via-pr)"
            )),
            Some(false) => self.weak(
                format!("the token may not push to {name}: a rule keeps it out"),
                &format!("{ALLOW}, or use sync-events --via-pr"),
            ),
            may_push => can_push(name, may_push),
        }
    }

    /// What is wrong for an apply; where nobody said what the set-up is for, it is only told.
    fn weak(&self, text: String, hint: &str) -> Look {
        match self.doctor.purpose {
            Some(Purpose::Apply) => wrong(text, hint),
            Some(Purpose::Plan) | None => open(text),
        }
    }

    fn rule(&self, branch: &Result<BranchInfo, GiteaError>) -> Look {
        let Ok(told) = branch else {
            return not_made("the branch cannot be read");
        };
        let name = self.name;
        if !told.protected {
            let hint = "protect that branch, with only the bot, or nobody, on the push allowlist (docs/gitea.md, step 7)";
            let text = format!("no rule protects {name}: every writer pushes past review");
            return wrong(text, hint);
        }
        let rule = match self.repo.rule(name, told) {
            Ok(Some(rule)) => rule,
            Ok(None) => return open(format!("{name} is protected; its rule is not listed")),
            Err(error) if error.is_hidden_from_us() => {
                let text = format!("{name} is protected; only an administrator's token reads how");
                return open(text);
            }
            Err(error) => {
                let text = format!("{name} is protected; its rule cannot be read: {error}");
                return open(text);
            }
        };
        let file = forge::path_in_repository(&self.doctor.run.file);
        let file = file.unwrap_or_else(|_| self.doctor.run.file.display().to_string());
        if let Some((gap, hint)) = rule.gap(&file, None, false) {
            return wrong(
                format!("the rule {:?} of {name}: {gap}", rule.rule_name),
                hint,
            );
        }
        let approvals = usize::try_from(told.required_approvals).unwrap_or(usize::MAX);
        let approvals = count(approvals, "approval", "approvals");
        let pushers = rule.pushers();
        Ok(format!(
            "{name} is protected: {pushers}, {approvals} needed"
        ))
    }

    fn comment(&self) -> Look {
        if self.about.archived {
            return not_made("the repository is archived");
        }
        if !self.about.has_pulls() {
            return wrong(
                "the repository has no pull requests, so there is nothing to comment on",
                "switch them on in the repository's settings",
            );
        }
        let pull = self.doctor.run.context.pull_request.as_ref();
        match self.repo.reads_comments(pull.map(|pull| pull.number)) {
            Err(error) if error.is_scope() => return Err(error.into()),
            Err(error) if error.is_not_found() => {
                return wrong(
                    format!("the token may not see comments: {error}"),
                    "the workflow's permissions: need pull-requests: write; a private repository's fork cannot comment \
                     with the job's own token",
                );
            }
            Err(error) => return open(format!("not known: {error}")),
            Ok(()) => {}
        }
        let Some(scopes) = self.scopes else {
            return Ok("the job's token sees the comments of pull requests".into());
        };
        match scopes.may_write("issue") {
            Some(false) => wrong(
                "the token reads comments and may write none: write:issue is missing",
                "make a token with the scope write:issue as well (docs/gitea.md, step 3)",
            ),
            Some(true) => Ok("the token may comment on pull requests".into()),
            None => {
                open("the token reads comments; the server does not say whether it may write them")
            }
        }
    }

    /// The branch of the inventory: its rule, and who may push to it.
    fn inventory(&self) -> [Look; 2] {
        let named = setting(self.doctor.args.inventory.inventory_branch.as_ref());
        let name = named.as_deref().unwrap_or(BRANCH);
        if name == self.about.default_branch || name == self.name {
            let text = format!("{name} has the file: the inventory has a branch of its own");
            let hint = "name another with --inventory-branch (NETBIRD_GITOPS_INVENTORY_BRANCH)";
            return [wrong(text, hint), not_made(ITS_OWN)];
        }
        let text = match self.repo.branch(name) {
            Ok(branch) => {
                return [
                    self.inventory_rule(name, &branch),
                    self.inventory_push(name, &branch),
                ];
            }
            Err(error) if error.is_not_found() => {
                format!("{name} is not there yet: the first apply makes it")
            }
            Err(error) => format!("not known: {error}"),
        };
        [open(text.clone()), open(text)]
    }

    /// Its rule: the bot alone pushes, and nobody deletes the branch, which is so of every protected one.
    fn inventory_rule(&self, name: &str, branch: &BranchInfo) -> Look {
        let rule = match branch.protected {
            true => self.repo.rule(name, branch),
            false => Ok(None),
        };
        let text = match rule {
            _ if !branch.protected => format!(
                "no rule protects {name}: every writer can delete it, or change which objects count as ours"
            ),
            Ok(Some(rule)) => match rule.gap("inventory.json", None, true) {
                Some((gap, _)) => format!("the rule {:?} of {name}: {gap}", rule.rule_name),
                None => return Ok(format!("{name} is protected: {}", rule.pushers())),
            },
            // only an administrator's token reads the rule
            Ok(None) | Err(_) => return Ok(format!("{name} is there, and protected")),
        };
        let hint = format!(
            "make a rule for {name} with the bot alone on its push allowlist: netbird-gitops init --setup does (docs/gitea.md, \
             step 7)"
        );
        wrong(text, hint)
    }

    fn inventory_push(&self, name: &str, branch: &BranchInfo) -> Look {
        match branch.user_can_push {
            _ if self.doctor.purpose == Some(Purpose::Plan) => {
                not_made("a plan writes no inventory")
            }
            _ if self.scopes.is_none() => not_made(OWN_TOKEN),
            Some(false) => self.weak(
                format!("the token may not push to {name}, so every apply is refused"),
                ALLOW,
            ),
            may_push => can_push(name, may_push),
        }
    }
}

/// What is said of a branch that nothing keeps the token from.
fn can_push(name: &str, may_push: Option<bool>) -> Look {
    match may_push {
        None => open(format!("the server does not say who may push to {name}")),
        Some(_) => Ok(format!("the token may push to {name}")),
    }
}
