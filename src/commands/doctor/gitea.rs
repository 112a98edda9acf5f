//! Gitea or Forgejo: is it there, is it new enough, and does it take the token?

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use super::rights::{COMMENT, KEYS_BRANCH, KEYS_PUSH, PUSH, RULE, Work};
use super::{Scene, clock, failed};
use crate::ci::Runner;
use crate::commands::forge::{self, Forge, SETTINGS};
use crate::commands::settings::{environment, find_token};
use crate::commands::versions::{commands_work, is_version, told_of_gitea};
use crate::doctor::{Check, Purpose};
use crate::gitea::{self, About, Error, Repo, Scopes, User};

const URL: &str = "gitea_url";
const VERSION: &str = "gitea_version";
const CLOCK: &str = "gitea_clock";
const TOKEN: &str = "gitea_token";
const SCOPES: &str = "gitea_scopes";
const REPOSITORY: &str = "gitea_repository";

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
    let work = Work {
        scene,
        repo: &repo,
        about: &about,
        purpose,
        via_pr,
        is_job,
        name: &name,
    };
    checks.extend(work.checks(&scopes));
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
        Some(Purpose::Plan) | None => &["issue"],
        Some(Purpose::Apply) => &["repository", "issue"],
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
