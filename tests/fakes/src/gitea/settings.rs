//! What a test sets: who may do what, and the state of the repository.

use std::collections::BTreeMap;

use serde_json::Value;

use super::auth::{Job, Level, Team, Token};
use super::forge::ACTIONS;
use super::protection::Rule;
use super::{ADMIN, BOT, Gitea, repos};
use crate::body::Body;

fn level(word: &str) -> Level {
    match word {
        "none" => Level::None,
        "read" => Level::Read,
        "write" => Level::Write,
        "admin" => Level::Admin,
        _ => panic!("there is no permission {word}"),
    }
}

impl Gitea {
    /// Makes the database forget a branch, until something is pushed to it: so a server leaves it that was killed between git's
    /// part of a commit and its own.
    pub fn forget_branch(&self, branch: &str) {
        let mut forge = self.inner.shared.forge();
        let repo = forge.repo_mut(self.inner.repo);
        let tip = repo.git.tip(branch);
        repo.unknown
            .insert(branch.to_owned(), tip.expect("a branch"));
    }

    /// Makes a token of the bot with these scopes (`read:repository`, `write:issue`, `all`, …).
    pub fn token_with(&self, scopes: &[&str]) -> String {
        self.token_of(BOT, scopes)
    }

    /// Makes a token of any user with these scopes.
    ///
    /// # Panics
    ///
    /// When there is no such user.
    pub fn token_of(&self, login: &str, scopes: &[&str]) -> String {
        let mut forge = self.inner.shared.forge();
        let user = forge.user_named(login).map(|user| user.id);
        let user = user.unwrap_or_else(|| panic!("there is no user {login}"));
        let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        Token::of_user(&mut forge, user, &scopes)
    }

    /// Makes a token of the site's admin that covers everything.
    pub fn admin_token(&self) -> String {
        self.token_of(ADMIN, &["all"])
    }

    /// Makes the token of a job, whose user is `gitea-actions` or `forgejo-actions`, id −2. It may
    /// write to the repository.
    pub fn job_token(&self) -> String {
        self.job_token_with(&[
            ("contents", "write"),
            ("issues", "write"),
            ("pull-requests", "write"),
        ])
    }

    /// Makes the token of a job with these `permissions` (`contents`, `issues`, `pull-requests`;
    /// `none`, `read`, `write`). What is not named is `none`. Forgejo ignores them.
    pub fn job_token_with(&self, permissions: &[(&str, &str)]) -> String {
        let mut forge = self.inner.shared.forge();
        let flavour = forge.flavour;
        let level = |unit: &str| {
            let named = permissions.iter().find(|(name, _)| *name == unit);
            let level = match named {
                Some((_, "write")) => Level::Write,
                Some((_, "read")) => Level::Read,
                _ => Level::None,
            };
            flavour.pick(level, Level::Write)
        };
        let job = Job {
            repo: self.inner.repo,
            code: level("contents"),
            issues: level("issues"),
            pulls: level("pull-requests"),
        };
        let plain = Token::of_user(&mut forge, ACTIONS, &[]);
        if let Some(token) = forge.tokens.last_mut() {
            token.job = Some(job);
        }
        plain
    }

    /// Takes a token away, as a job's ends with the job: its requests are 401 from now on.
    pub fn revoke(&self, token: &str) {
        let mut forge = self.inner.shared.forge();
        forge.tokens.retain(|held| held.plain != token);
    }

    /// Returns every plain token that was ever issued. None of them may be found where they do not
    /// belong.
    pub fn secrets(&self) -> Vec<String> {
        self.inner.shared.forge().secrets.clone()
    }

    /// Makes a user with this permission on the repository (`none`, `read`, `write`, `admin`), and
    /// returns a token with the scopes of the bot's.
    pub fn add_user(&self, login: &str, permission: &str) -> String {
        self.inner.shared.forge().add_user(login, false);
        self.permit(login, permission);
        self.token_of(login, &["write:repository", "write:issue", "read:user"])
    }

    /// Gives a user another permission on the repository.
    ///
    /// # Panics
    ///
    /// When there is no such user or permission.
    pub fn permit(&self, login: &str, permission: &str) {
        let level = level(permission);
        let mut forge = self.inner.shared.forge();
        let user = forge.user_named(login).map(|user| user.id);
        let user = user.unwrap_or_else(|| panic!("there is no user {login}"));
        let repo = forge.repo_mut(self.inner.repo);
        repo.collaborators.insert(user, level);
    }

    /// Gives the repository a team with these rights on code and on pull requests (`none`, `read`, `write`, `admin`), as if an
    /// organisation owned it. Its members need no other rights.
    ///
    /// # Panics
    ///
    /// When there is no such user or permission.
    pub fn team(&self, name: &str, code: &str, pulls: &str, members: &[&str]) {
        let mut forge = self.inner.shared.forge();
        let members = members.iter().map(|login| {
            let user = forge.user_named(login).map(|user| user.id);
            user.unwrap_or_else(|| panic!("there is no user {login}"))
        });
        let team = Team {
            members: members.collect(),
            id: forge.new_id(),
            name: name.to_owned(),
            code: level(code),
            pulls: level(pulls),
        };
        forge.repo_mut(self.inner.repo).teams.push(team);
    }

    /// Protects the branches that a pattern matches. `rule` is what `POST …/branch_protections`
    /// takes: `json!({})` lets nobody push, `{"enable_push": true, "enable_push_whitelist": true,
    /// "push_whitelist_usernames": ["gitops-bot"]}` the bot alone. A rule of the same name is
    /// replaced.
    ///
    /// # Panics
    ///
    /// When the server would refuse the rule.
    pub fn protect(&self, branch: &str, rule: Value) {
        let mut forge = self.inner.shared.forge();
        let body = Body::parse(rule.to_string().as_bytes());
        let body = body.unwrap_or_else(|_| panic!("{rule} is not an object"));
        let read = Rule::read(&forge, &body, branch);
        let read = read.unwrap_or_else(|refusal| panic!("{rule} is refused: {refusal:?}"));
        forge.repo_mut(self.inner.repo).protect(read);
    }

    /// Returns the secrets of the workflows, which no answer holds.
    pub fn workflow_secrets(&self) -> BTreeMap<String, String> {
        let forge = self.inner.shared.forge();
        forge.repo(self.inner.repo).secrets.clone()
    }

    /// Returns the variables of the workflows.
    pub fn workflow_variables(&self) -> BTreeMap<String, String> {
        let forge = self.inner.shared.forge();
        forge.repo(self.inner.repo).variables.clone()
    }

    /// Returns a token of the repository's owner with the scope `write:repository`.
    pub fn owner_token(&self) -> String {
        self.token_of(super::OWNER, &["write:repository"])
    }

    /// Takes all branch rules back.
    pub fn unprotect(&self) {
        self.inner
            .shared
            .forge()
            .repo_mut(self.inner.repo)
            .rules
            .clear();
    }

    /// From now on a pre-receive hook refuses every push with this text; none ends that.
    pub fn refuse_pushes(&self, text: Option<&str>) {
        let text = text.map(str::to_owned);
        self.inner.shared.forge().repo_mut(self.inner.repo).hook = text;
    }

    /// Archives the repository.
    pub fn archive(&self) {
        self.inner.shared.forge().repo_mut(self.inner.repo).archived = true;
    }

    /// Makes the repository a mirror of another.
    pub fn make_mirror(&self) {
        self.inner.shared.forge().repo_mut(self.inner.repo).mirror = true;
    }

    /// Makes the repository public.
    pub fn publish(&self) {
        self.inner.shared.forge().repo_mut(self.inner.repo).private = false;
    }

    /// Gives the repository another name. Requests to the old one are 301.
    pub fn rename_repo(&self, name: &str) {
        repos::rename(&mut self.inner.shared.forge(), self.inner.repo, name);
    }

    /// Files of more bytes have no content in answers from now on; the server's own limit is 10
    /// MiB.
    pub fn set_max_blob_size(&self, bytes: usize) {
        self.inner.shared.forge().max_blob_size = bytes;
    }

    /// Answers hold so many entries of a tree at most from now on; the server's own limit is 1,000.
    pub fn set_trees_per_page(&self, entries: usize) {
        self.inner.shared.forge().trees_per_page = entries;
    }

    /// Stops the server's clock at a second since 1970.
    pub fn set_clock(&self, seconds: i64) {
        self.inner.shared.forge().clock.set(seconds);
    }

    /// Moves the server's clock on, whether it was stopped or goes with the system's.
    pub fn advance(&self, seconds: i64) {
        self.inner.shared.forge().clock.advance(seconds);
    }
}
