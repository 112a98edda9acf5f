//! What the token may do in the repository, and what the rules of its branches let past review.

use super::{Scene, failed};
use crate::base::text::count;
use crate::commands::forge;
use crate::commands::settings::setting;
use crate::commands::setup::doctor::{Check, Purpose};
use crate::forge::gitea::inventory::BRANCH;
use crate::forge::gitea::{About, Branch, GiteaError, Repo, Scopes};

pub(super) const PUSH: &str = "gitea_push";
pub(super) const RULE: &str = "gitea_branch_rule";
pub(super) const COMMENT: &str = "gitea_comment";
pub(super) const INVENTORY_BRANCH: &str = "gitea_inventory_branch";
pub(super) const INVENTORY_PUSH: &str = "gitea_inventory_push";

/// Why the right to push is not looked at.
const OWN_TOKEN: &str = "the token is the job's own";

/// What to do where a branch cannot be pushed to.
const ALLOW: &str =
    "put the token's user on the push allowlist of the branch's rule (docs/gitea.md, step 7)";

/// A repository that can be read, and what is to be done there.
pub(super) struct Work<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) repo: &'a Repo,
    pub(super) about: &'a About,
    pub(super) purpose: Option<Purpose>,
    /// The workflows propose the bot's commits.
    pub(super) via_pr: bool,
    /// The token is the job's own.
    pub(super) is_job: bool,
    /// The branch that is applied.
    pub(super) name: &'a str,
}

impl Work<'_> {
    /// Returns the checks.
    pub(super) fn checks(&self, scopes: &Scopes) -> Vec<Check> {
        let branch = self.repo.branch(self.name);
        let mut checks = vec![self.push(&branch), self.rule(&branch), self.comment(scopes)];
        checks.extend(self.inventory());
        checks
    }

    fn push(&self, branch: &Result<Branch, GiteaError>) -> Check {
        let name = self.name;
        let branch = match branch {
            Ok(branch) => branch,
            Err(error) if error.is_not_found() => {
                let hint = "the branch is that of --branch (GITEA_BRANCH), else of the job";
                let repository = self.repo.full_name();
                let text = format!(
                    "{repository} has no branch {name:?}; its default branch is {}",
                    self.about.default_branch
                );
                return Check::wrong(PUSH, text, hint);
            }
            Err(error) => return Check::open(PUSH, format!("not known: {error}")),
        };
        match (self.about.permissions.push, branch.user_can_push) {
            _ if self.purpose == Some(Purpose::Plan) => {
                Check::not_made(PUSH, "a plan pushes nothing")
            }
            _ if self.is_job => Check::not_made(PUSH, OWN_TOKEN),
            (Some(false), _) => self.weak(
                PUSH,
                "the token's user may not write to the repository".to_owned(),
                "give it write access: Settings, Collaborators",
            ),
            (_, Some(false)) if self.via_pr => Check::right(
                PUSH,
                format!(
                    "the token does not push to {name}; the workflows open pull requests (--via-pr)"
                ),
            ),
            (_, Some(false)) => self.weak(
                PUSH,
                format!("the token may not push to {name}: a rule keeps it out"),
                &format!("{ALLOW}, or use sync-events --via-pr"),
            ),
            (_, Some(true)) => Check::right(PUSH, format!("the token may push to {name}")),
            (_, None) => Check::open(
                PUSH,
                format!("the server does not tell who may push to {name}"),
            ),
        }
    }

    /// What is wrong for an apply; where nobody said what the set-up is for, it is only told.
    fn weak(&self, name: &'static str, text: String, hint: &str) -> Check {
        match self.purpose {
            Some(Purpose::Apply) => Check::wrong(name, text, hint),
            Some(Purpose::Plan) | None => Check::open(name, text),
        }
    }

    fn rule(&self, branch: &Result<Branch, GiteaError>) -> Check {
        let Ok(told) = branch else {
            return Check::not_made(RULE, "the branch cannot be read");
        };
        let name = self.name;
        if !told.protected {
            let hint = "protect that branch, with only the bot, or nobody, on the push allowlist (docs/gitea.md, step 7)";
            let text = format!("no rule protects {name}: every writer pushes past review");
            return Check::wrong(RULE, text, hint);
        }
        let rule = match self.repo.rule(name, told) {
            Ok(Some(rule)) => rule,
            Ok(None) => {
                return Check::open(RULE, format!("{name} is protected; its rule is not listed"));
            }
            Err(error) if error.is_hidden_from_us() => {
                let text = format!("{name} is protected; only an administrator's token reads how");
                return Check::open(RULE, text);
            }
            Err(error) => {
                return Check::open(
                    RULE,
                    format!("{name} is protected; its rule is not told: {error}"),
                );
            }
        };
        let file = forge::path_in_repository(&self.scene.run.file);
        let file = file.unwrap_or_else(|_| self.scene.run.file.display().to_string());
        match rule.gap(&file, None, false) {
            Some((gap, hint)) => Check::wrong(
                RULE,
                format!("the rule {:?} of {name}: {gap}", rule.rule_name),
                hint,
            ),
            None => {
                let approvals = count(
                    usize::try_from(told.required_approvals).unwrap_or(usize::MAX),
                    "approval",
                    "approvals",
                );
                Check::right(
                    RULE,
                    format!(
                        "{name} is protected: {}, {approvals} needed",
                        rule.pushers()
                    ),
                )
            }
        }
    }

    fn comment(&self, scopes: &Scopes) -> Check {
        if self.about.archived {
            return Check::not_made(COMMENT, "the repository is archived");
        }
        if !self.about.has_pulls() {
            let hint = "switch them on in the repository's settings";
            let text = "the repository has no pull requests, so there is nothing to comment on";
            return Check::wrong(COMMENT, text, hint);
        }
        let pull = self.scene.run.context.pull_request.as_ref();
        match self.repo.reads_comments(pull.map(|pull| pull.number)) {
            Err(error) if error.is_scope() => return failed(COMMENT, error.into()),
            Err(error) if error.is_not_found() => {
                return Check::wrong(
                    COMMENT,
                    format!("the token may not see comments: {error}"),
                    "the workflow's permissions: need pull-requests: write; a private repository's fork cannot comment \
                     with the job's own token",
                );
            }
            Err(error) => return Check::open(COMMENT, format!("not known: {error}")),
            Ok(()) => {}
        }
        match scopes.may_write("issue") {
            Some(false) => Check::wrong(
                COMMENT,
                "the token reads comments and may write none: write:issue is missing",
                "make a token with the scope write:issue as well (docs/gitea.md, step 3)",
            ),
            Some(true) => Check::right(COMMENT, "the token may comment on pull requests"),
            None if self.is_job => Check::right(
                COMMENT,
                "the job's token sees the comments of pull requests",
            ),
            None => Check::open(
                COMMENT,
                "the token reads comments; whether it may write them the server does not tell",
            ),
        }
    }

    fn inventory(&self) -> Vec<Check> {
        let names = [INVENTORY_BRANCH, INVENTORY_PUSH];
        let open = |text: String| Vec::from(names.map(|name| Check::open(name, text.clone())));
        let named = setting(self.scene.args.inventory.inventory_branch.as_ref());
        let name = named.as_deref().unwrap_or(BRANCH);
        if name == self.about.default_branch || name == self.name {
            let text = format!("{name} has the file: the inventory has a branch of its own");
            let hint = "name another with --inventory-branch (NETBIRD_GITOPS_INVENTORY_BRANCH)";
            return vec![
                Check::wrong(INVENTORY_BRANCH, text, hint),
                Check::not_made(INVENTORY_PUSH, "it is the branch of the file"),
            ];
        }
        let branch = match self.repo.branch(name) {
            Ok(branch) => branch,
            Err(error) if error.is_not_found() => {
                return open(format!("{name} is not there yet: the first apply makes it"));
            }
            Err(error) => return open(format!("not known: {error}")),
        };
        vec![
            self.inventory_rule(name, &branch),
            self.inventory_push(name, &branch),
        ]
    }

    /// Its rule: the bot alone pushes, and nobody deletes the branch, which is so of every protected one.
    fn inventory_rule(&self, name: &str, branch: &Branch) -> Check {
        let hint = format!(
            "make a rule for {name} with the bot alone on its push allowlist: netbird-gitops init --setup does (docs/gitea.md, \
             step 7)"
        );
        if !branch.protected {
            let text = format!(
                "no rule protects {name}: every writer can delete it, or change which objects count as ours"
            );
            return Check::wrong(INVENTORY_BRANCH, text, hint);
        }
        match self.repo.rule(name, branch) {
            Ok(Some(rule)) => match rule.gap("inventory.json", None, true) {
                Some((gap, _)) => Check::wrong(
                    INVENTORY_BRANCH,
                    format!("the rule {:?} of {name}: {gap}", rule.rule_name),
                    hint,
                ),
                None => Check::right(
                    INVENTORY_BRANCH,
                    format!("{name} is protected: {}", rule.pushers()),
                ),
            },
            // only an administrator's token reads the rule
            Ok(None) | Err(_) => {
                Check::right(INVENTORY_BRANCH, format!("{name} is there, and protected"))
            }
        }
    }

    fn inventory_push(&self, name: &str, branch: &Branch) -> Check {
        match branch.user_can_push {
            _ if self.purpose == Some(Purpose::Plan) => {
                Check::not_made(INVENTORY_PUSH, "a plan writes no inventory")
            }
            _ if self.is_job => Check::not_made(INVENTORY_PUSH, OWN_TOKEN),
            Some(true) => Check::right(INVENTORY_PUSH, format!("the token may push to {name}")),
            Some(false) => self.weak(
                INVENTORY_PUSH,
                format!("the token may not push to {name}, so every apply is refused"),
                ALLOW,
            ),
            None => Check::open(
                INVENTORY_PUSH,
                format!("the server does not tell who may push to {name}"),
            ),
        }
    }
}
