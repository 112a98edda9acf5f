//! Gitea or Forgejo: what the token may do, and what the rules of the branches let past review.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use super::{Scene, clock, failed};
use crate::ci::Runner;
use crate::commands::forge::{self, Forge, SETTINGS};
use crate::commands::settings::{environment, find_token, setting};
use crate::commands::versions::{commands_work, is_version, told_of_gitea};
use crate::doctor::{Check, Purpose, Scopes};
use crate::gitea::{self, About, Branch, Error, Repo, User, sealed};

const URL: &str = "gitea_url";
const VERSION: &str = "gitea_version";
const CLOCK: &str = "gitea_clock";
const TOKEN: &str = "gitea_token";
const SCOPES: &str = "gitea_scopes";
const REPOSITORY: &str = "gitea_repository";
const PUSH: &str = "gitea_push";
const RULE: &str = "gitea_branch_rule";
const COMMENT: &str = "gitea_comment";
const KEYS_BRANCH: &str = "gitea_keys_branch";
const KEYS_PUSH: &str = "gitea_keys_push";

/// All but the first.
const OTHERS: [&str; 10] = [
    TOKEN,
    VERSION,
    CLOCK,
    SCOPES,
    REPOSITORY,
    PUSH,
    RULE,
    COMMENT,
    KEYS_BRANCH,
    KEYS_PUSH,
];

/// What to do where a branch cannot be pushed to.
const ALLOW: &str =
    "put the token's user on the push allowlist of the branch's rule (docs/gitea.md, step 7)";

/// Returns the checks. `via_pr`: the workflows propose the bot's commits; `has_workflows`: there are workflows of ours.
pub(super) fn checks(
    scene: &Scene,
    purpose: Option<Purpose>,
    via_pr: bool,
    has_workflows: bool,
) -> Vec<Check> {
    let repo = match open(scene) {
        Ok(repo) => repo,
        Err(checks) => return checks,
    };
    let asked = Timestamp::now();
    let version = repo.version_at();
    let now = Timestamp::now();
    let answers = Check::right(URL, format!("the API answers at {}", repo.base()));
    let refused = |error: Error| {
        let mut checks = vec![answers.clone(), failed(TOKEN, error.into())];
        checks.extend(Check::not_made(&OTHERS[1..], "there is no valid token"));
        checks
    };
    let (version, time) = match version {
        Ok(told) => told,
        Err(error @ Error::Unauthenticated(_)) => return refused(error),
        Err(error) => {
            let hint = match error.is_not_found() {
                true => Some(format!(
                    "{} is no Gitea and no Forgejo: give its URL as GITEA_URL, as https://git.example.com",
                    repo.base()
                )),
                false => error.hint(),
            };
            let mut checks = vec![Check::wrong(URL, error.to_string(), hint)];
            checks.extend(Check::not_made(&OTHERS, "the server cannot be reached"));
            return checks;
        }
    };
    let user = match repo.user() {
        Err(error @ Error::Unauthenticated(_)) => return refused(error),
        user => user,
    };
    let mut checks = vec![answers];
    let is_job = matches!(&user, Ok(user) if user.id < 0);
    checks.push(token(&user, purpose));
    checks.push(self::version(&version, has_workflows));
    checks.push(clock(CLOCK, "Gitea", asked, time, now));
    let about = repo.about();
    let scopes = match is_job {
        true => Scopes::Untold,
        false => repo.scopes().unwrap_or(Scopes::Untold),
    };
    checks.push(match is_job {
        true => Check::open(SCOPES, "the job's permissions take the place of scopes"),
        false => self::scopes(&scopes, purpose, about.as_ref().ok()),
    });
    let about = match about {
        Ok(about) => about,
        Err(error) => {
            checks.push(failed(REPOSITORY, error.into()));
            checks.extend(Check::not_made(
                &OTHERS[5..],
                "the repository cannot be read",
            ));
            return checks;
        }
    };
    checks.push(repository(&repo, &about));
    let name = forge::branch(&scene.args.gitea, &scene.context);
    let name = name.unwrap_or_else(|| about.default_branch.clone());
    let branch = repo.branch(&name);
    let work = Work {
        scene,
        repo: &repo,
        about: &about,
        purpose,
        via_pr,
        name: &name,
    };
    checks.push(work.push(&branch));
    checks.push(work.rule(&branch));
    checks.push(work.comment(&scopes, is_job));
    checks.extend(work.keys());
    checks
}

/// Returns the repository, or all checks where none is to be asked.
fn open(scene: &Scene) -> Result<Repo, Vec<Check>> {
    let (args, context) = (&scene.args.gitea, &scene.context);
    let all = |first: Check, why: &str| {
        let mut checks = vec![first];
        checks.extend(Check::not_made(&OTHERS, why));
        checks
    };
    let token = find_token("GITEA_TOKEN", args.gitea_token_file.as_ref());
    let token = match token {
        Ok(token) => token,
        Err(failure) => {
            let mut checks = Check::not_made(&[URL], "there is no token");
            checks.push(failed(TOKEN, failure));
            checks.extend(Check::not_made(&OTHERS[1..], "there is no token"));
            return Err(checks);
        }
    };
    let (url, name) = (forge::url(args, context), forge::name(args, context));
    let (Some(token), Some(url), Some(name)) = (token, url, name) else {
        let text = Forge::not_configured(args, context);
        // a job is somebody's workflow, which lost its secret
        let is_job = matches!(context.runner, Runner::Gitea | Runner::Forgejo);
        let first = match is_job {
            true => Check::wrong(URL, text, Some(SETTINGS.to_owned())),
            false => Check::open(
                URL,
                format!("{text}: comments, commits and copies of keys are left out"),
            ),
        };
        return Err(all(first, "Gitea is not configured"));
    };
    let config = gitea::config(&url).map(|mut config| {
        config.ca_file = environment("NETBIRD_GITOPS_CA_FILE").map(PathBuf::from);
        config.retry.base = Duration::from_secs_f64(scene.args.server.retry_wait);
        // a limit is to be told, not to be waited for
        config.retry.throttle_waits = 0;
        config
    });
    match config.and_then(|config| Repo::new(config, &token, &name)) {
        Ok(repo) => Ok(repo),
        Err(error @ Error::BadName { .. }) => {
            let mut checks = Check::not_made(&[URL], "no repository is named");
            checks.extend(Check::not_made(&OTHERS, "no repository is named"));
            let hint = "give it as OWNER/NAME, with --gitea-repo (GITEA_REPO)";
            let wrong = Check::wrong(REPOSITORY, error.to_string(), Some(hint.to_owned()));
            checks.retain(|check| check.name != REPOSITORY);
            checks.insert(5, wrong);
            Err(checks)
        }
        Err(error) => Err(all(failed(URL, error.into()), "the server is not known")),
    }
}

fn version(version: &str, has_workflows: bool) -> Check {
    match told_of_gitea(version) {
        Some(text) if has_workflows || !commands_work(version) => Check::wrong(
            VERSION,
            text,
            Some("update the server; docs/gitea.md, Other versions, says what differs".to_owned()),
        ),
        Some(text) => Check::right(VERSION, text),
        None if !is_version(version) => Check::open(
            VERSION,
            format!("{version:?} is no version that can be compared"),
        ),
        None => Check::right(
            VERSION,
            match version.split_once("+gitea-") {
                Some((version, _)) => format!("Forgejo {version}"),
                None => format!("Gitea {version}"),
            },
        ),
    }
}

fn token(user: &Result<User, Error>, purpose: Option<Purpose>) -> Check {
    match user {
        Ok(user) if user.id < 0 && purpose == Some(Purpose::Apply) => Check::wrong(
            TOKEN,
            format!("it is the job's own token, of {}", user.login),
            Some(
                "use the bot's: GITEA_TOKEN from the secret BOT_TOKEN. The job's own commits nothing on Forgejo and on \
                 Gitea up to 1.25, pushes to no protected branch before 1.27, and starts no workflow"
                    .to_owned(),
            ),
        ),
        Ok(user) => Check::right(TOKEN, format!("it is of {}", user.login)),
        Err(Error::Scope { .. }) => Check::right(
            TOKEN,
            "the server takes it; without the scope read:user it does not say whose it is",
        ),
        Err(error) => Check::open(TOKEN, format!("the server does not say whose it is: {error}")),
    }
}

fn scopes(scopes: &Scopes, purpose: Option<Purpose>, about: Option<&About>) -> Check {
    let needed: &[&str] = match purpose {
        Some(Purpose::Plan) => &["issue"],
        Some(Purpose::Apply) | None => &["repository", "issue"],
    };
    let lacks: Vec<String> = needed
        .iter()
        .filter(|what| scopes.may_write(what) == Some(false))
        .map(|what| format!("write:{what}"))
        .collect();
    let shown = match scopes {
        Scopes::Untold => {
            return Check::open(SCOPES, "the server does not tell the token's scopes");
        }
        Scopes::All => {
            "all, of which write:repository, write:issue and read:user would do".to_owned()
        }
        Scopes::Listed(scopes) => Vec::from_iter(scopes.iter().map(String::as_str)).join(", "),
    };
    let make = |what: &str| {
        let hint = format!(
            "make the bot a token {what}, and store it as the secret BOT_TOKEN (docs/gitea.md, step 3)"
        );
        Some(hint)
    };
    if scopes.public_only() && about.is_none_or(|about| !about.is_public) {
        let text = format!("{shown}: it is for public repositories only");
        return Check::wrong(SCOPES, text, make("for all repositories"));
    }
    match lacks.is_empty() {
        true => Check::right(SCOPES, shown),
        false => {
            let lacks = lacks.join(" and ");
            Check::wrong(
                SCOPES,
                format!("{shown}: {lacks} is missing"),
                make(&format!("with {lacks} as well")),
            )
        }
    }
}

fn repository(repo: &Repo, about: &About) -> Check {
    let name = repo.full_name();
    if about.is_archived {
        return Check::wrong(
            REPOSITORY,
            format!("{name} is archived: nothing can be written there"),
            Some("unarchive it in its settings".to_owned()),
        );
    }
    let who = if about.is_public {
        ", which everybody may read"
    } else {
        ""
    };
    Check::right(
        REPOSITORY,
        format!(
            "{name}{who}; its default branch is {}",
            about.default_branch
        ),
    )
}

/// A repository that can be read, and what is to be done there.
struct Work<'a> {
    scene: &'a Scene<'a>,
    repo: &'a Repo,
    about: &'a About,
    purpose: Option<Purpose>,
    via_pr: bool,
    /// The branch that is applied.
    name: &'a str,
}

impl Work<'_> {
    fn push(&self, branch: &Result<Branch, Error>) -> Check {
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
                return Check::wrong(PUSH, text, Some(hint.to_owned()));
            }
            Err(error) => return Check::open(PUSH, format!("not known: {error}")),
        };
        match (self.about.may_push, branch.user_can_push) {
            _ if self.purpose == Some(Purpose::Plan) => {
                Check::open(PUSH, "not checked: a plan pushes nothing")
            }
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
            Some(Purpose::Apply) => Check::wrong(name, text, Some(hint.to_owned())),
            Some(Purpose::Plan) | None => Check::open(name, text),
        }
    }

    fn rule(&self, branch: &Result<Branch, Error>) -> Check {
        let Ok(told) = branch else {
            return Check::open(RULE, "not checked: the branch cannot be read");
        };
        let name = self.name;
        if !told.protected {
            let hint = "protect it, with the bot alone on the push allowlist, or nobody (docs/gitea.md, step 7)";
            let text = format!("no rule protects {name}: every writer pushes past review");
            return Check::wrong(RULE, text, Some(hint.to_owned()));
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
        let file = forge::path_in_repository(&self.scene.file);
        let file = file.unwrap_or_else(|_| self.scene.file.display().to_string());
        match rule.gap(&file) {
            Some((gap, hint)) => Check::wrong(
                RULE,
                format!("the rule {:?} of {name}: {gap}", rule.rule_name),
                Some(hint.to_owned()),
            ),
            None => {
                let approvals = crate::text::count(
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

    fn comment(&self, scopes: &Scopes, is_job: bool) -> Check {
        if self.about.is_archived {
            return Check::open(COMMENT, "not checked: the repository is archived");
        }
        if !self.about.has_pulls {
            let hint = "switch them on in the repository's settings";
            let text = "the repository has no pull requests, so there is nothing to comment on";
            return Check::wrong(COMMENT, text, Some(hint.to_owned()));
        }
        let pull = self.scene.context.pull_request.as_ref();
        match self.repo.reads_comments(pull.map(|pull| pull.number)) {
            Err(error @ Error::Scope { .. }) => {
                return Check::wrong(COMMENT, error.to_string(), error.hint());
            }
            Err(error) if error.is_not_found() => {
                return Check::wrong(
                    COMMENT,
                    format!("the token may not see comments: {error}"),
                    Some(
                        "the workflow's permissions: need pull-requests: write; a private repository's fork cannot comment \
                         with the job's own token"
                            .to_owned(),
                    ),
                );
            }
            Err(error) => return Check::open(COMMENT, format!("not known: {error}")),
            Ok(()) => {}
        }
        match scopes.may_write("issue") {
            Some(false) => Check::wrong(
                COMMENT,
                "the token reads comments and may write none: write:issue is missing",
                Some(
                    "make a token with the scope write:issue as well (docs/gitea.md, step 3)"
                        .to_owned(),
                ),
            ),
            Some(true) => Check::right(COMMENT, "the token may comment on pull requests"),
            None if is_job => Check::right(
                COMMENT,
                "the job's token sees the comments of pull requests",
            ),
            None => Check::open(
                COMMENT,
                "the token reads comments; whether it may write them the server does not tell",
            ),
        }
    }

    fn keys(&self) -> Vec<Check> {
        let names = [KEYS_BRANCH, KEYS_PUSH];
        let open = |text: String| Vec::from(names.map(|name| Check::open(name, text.clone())));
        let named = setting(self.scene.args.sealing.keys_branch.as_ref());
        let name = match named.as_deref() {
            Some("none") => {
                return open("no copies of sealed keys are kept (--keys-branch none)".to_owned());
            }
            None if self.about.is_public => {
                return open(
                    "everybody may read the repository, so no copies of sealed keys are kept there"
                        .to_owned(),
                );
            }
            named => named.unwrap_or(sealed::BRANCH),
        };
        if name == self.about.default_branch {
            let text =
                format!("{name} is the default branch: sealed keys have a branch of their own");
            let hint = "name another with --keys-branch (NETBIRD_GITOPS_KEYS_BRANCH)";
            let mut checks = vec![Check::wrong(KEYS_BRANCH, text, Some(hint.to_owned()))];
            checks.extend(Check::not_made(&[KEYS_PUSH], "it is the default branch"));
            return checks;
        }
        let branch = match self.repo.branch(name) {
            Ok(branch) => branch,
            Err(error) if error.is_not_found() => {
                let text =
                    format!("{name} is not there yet: the first apply that makes a key makes it");
                return open(text);
            }
            Err(error) => return open(format!("not known: {error}")),
        };
        let protected = match branch.protected {
            true => Check::right(KEYS_BRANCH, format!("{name} is there, and protected")),
            false => Check::wrong(
                KEYS_BRANCH,
                format!(
                    "no rule protects {name}: every writer can delete or forge what is stored there"
                ),
                Some(format!(
                    "make a rule for {name} with the bot alone on its push allowlist (docs/gitea.md, step 7)"
                )),
            ),
        };
        vec![protected, self.keys_push(name, &branch)]
    }

    fn keys_push(&self, name: &str, branch: &Branch) -> Check {
        match branch.user_can_push {
            _ if self.purpose == Some(Purpose::Plan) => {
                Check::open(KEYS_PUSH, "not checked: a plan stores no keys")
            }
            Some(true) => Check::right(KEYS_PUSH, format!("the token may push to {name}")),
            Some(false) => self.weak(
                KEYS_PUSH,
                format!("the token may not push to {name}, so no new key can be stored"),
                ALLOW,
            ),
            None => Check::open(
                KEYS_PUSH,
                format!("the server does not tell who may push to {name}"),
            ),
        }
    }
}
