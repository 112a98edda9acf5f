//! Gitea or Forgejo: is it there, is it new enough, and does it take the token?

use std::path::PathBuf;
use std::time::Duration;

use super::rights::{COMMENT, INVENTORY_BRANCH, INVENTORY_PUSH, PUSH, RULE, Work};
use super::{Scene, failed};
use crate::commands::forge::{self, Forge, SETTINGS};
use crate::commands::settings::{environment, find_token};
use crate::commands::setup::doctor::{Check, Purpose};
use crate::commands::versions::{commands_work, is_version, told_of_gitea};
use crate::forge::ci::Runner;
use crate::forge::gitea::{self, About, GiteaError, Repo, Scopes, Unfit, User};

const URL: &str = "gitea_url";
const VERSION: &str = "gitea_version";
const TOKEN: &str = "gitea_token";
const SCOPES: &str = "gitea_scopes";
const REPOSITORY: &str = "gitea_repository";

/// All of them, in the order in which they are told.
const NAMES: [&str; 10] = [
    URL,
    TOKEN,
    VERSION,
    SCOPES,
    REPOSITORY,
    PUSH,
    RULE,
    COMMENT,
    INVENTORY_BRANCH,
    INVENTORY_PUSH,
];

/// Why the rest was not looked at.
type Ended = &'static str;

/// Returns the checks. `via_pr`: the workflows propose the bot's commits; `has_workflows`: there are workflows of ours.
pub(super) fn checks(
    scene: &Scene,
    purpose: Option<Purpose>,
    via_pr: bool,
    has_workflows: bool,
) -> Vec<Check> {
    let mut made = Vec::new();
    let ended = open(scene, &mut made).and_then(|repo| {
        let is_job = server(&repo, purpose, has_workflows, &mut made)?;
        let about = repo.about();
        let scopes = match is_job {
            true => Scopes::Untold,
            false => repo.scopes().unwrap_or(Scopes::Untold),
        };
        made.push(match is_job {
            true => Check::open(SCOPES, "the job's permissions take the place of scopes"),
            false => self::scopes(&scopes, purpose, about.as_ref().ok()),
        });
        let about = about.map_err(|error| {
            made.push(failed(REPOSITORY, error.into()));
            "the repository cannot be read"
        })?;
        made.push(repository(&repo, &about));
        let name = forge::branch(&scene.args.gitea, &scene.run.context);
        let work = Work {
            scene,
            repo: &repo,
            about: &about,
            purpose,
            via_pr,
            is_job,
            name: name.as_ref().unwrap_or(&about.default_branch),
        };
        made.extend(work.checks(&scopes));
        Ok(())
    });
    Check::complete(&NAMES, &made, ended.err().unwrap_or_default())
}

/// Whether these checks say that nothing can be read there: what is wrong is told once.
pub(super) fn is_closed(checks: &[Check]) -> bool {
    let mut failed = checks.iter().filter(|check| check.failed());
    failed.any(|check| [URL, TOKEN, REPOSITORY].contains(&check.name))
}

/// Asks who the server and the token are; returns whether the token is the job's own.
fn server(
    repo: &Repo,
    purpose: Option<Purpose>,
    has_workflows: bool,
    made: &mut Vec<Check>,
) -> Result<bool, Ended> {
    let version = repo.version();
    let answers = Check::right(URL, format!("the API answers at {}", repo.base()));
    let (version, user) = match version.map(|version| (version, repo.user())) {
        Err(error) | Ok((_, Err(error))) if error.is_unauthenticated() => {
            made.extend([answers, failed(TOKEN, error.into())]);
            return Err("there is no valid token");
        }
        Err(error) if error.is_not_found() => {
            let hint = format!(
                "{} is no Gitea and no Forgejo: give its URL as GITEA_URL, as https://git.example.com",
                repo.base()
            );
            made.push(Check::wrong(URL, error.to_string(), hint));
            return Err("the server cannot be reached");
        }
        Err(error) => {
            made.push(failed(URL, error.into()));
            return Err("the server cannot be reached");
        }
        Ok(told) => told,
    };
    made.extend([
        answers,
        token(&user, purpose),
        self::version(&version, has_workflows),
    ]);
    Ok(matches!(&user, Ok(user) if user.id < 0))
}

/// Returns the repository.
fn open(scene: &Scene, made: &mut Vec<Check>) -> Result<Repo, Ended> {
    let (args, context) = (&scene.args.gitea, &scene.run.context);
    let mut ends = |check: Check, why: Ended| {
        made.push(check);
        why
    };
    let token = find_token("GITEA_TOKEN", args.gitea_token_file.as_ref());
    let token = token.map_err(|failure| ends(failed(TOKEN, failure), "there is no token"))?;
    let (url, name) = (forge::url(args, context), forge::name(args, context));
    let (Some(token), Some(url), Some(name)) = (token, url, name) else {
        let text = Forge::not_configured(args, context);
        // a job is somebody's workflow, which lost its secret
        let check = match context.runner {
            Runner::Gitea | Runner::Forgejo => Check::wrong(URL, text, SETTINGS),
            Runner::Other | Runner::None => {
                let without = "comments, commits and the branch of the inventory are left out";
                Check::open(URL, format!("{text}: {without}"))
            }
        };
        return Err(ends(check, "Gitea is not configured"));
    };
    let config = gitea::config(&url).map(|mut config| {
        config.ca_file = environment("NETBIRD_GITOPS_CA_FILE").map(PathBuf::from);
        config.retry.base = Duration::from_secs_f64(scene.args.server.retry_wait);
        // a limit is to be told, not to be waited for
        config.retry.throttle_waits = 0;
        config
    });
    let repo = config.and_then(|config| Repo::new(config, &token, &name));
    repo.map_err(|error| match error {
        GiteaError::Unfit(Unfit::Name, ..) => {
            let hint = "give it as OWNER/NAME, with --gitea-repo (GITEA_REPO)";
            let check = Check::wrong(REPOSITORY, error.to_string(), hint);
            ends(check, "no repository is named")
        }
        error => ends(failed(URL, error.into()), "the server is not known"),
    })
}

fn version(version: &str, has_workflows: bool) -> Check {
    match told_of_gitea(version) {
        Some(text) if has_workflows || !commands_work(version) => Check::wrong(
            VERSION,
            text,
            "update the server; docs/gitea.md, Other versions, says what differs",
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

fn token(user: &Result<User, GiteaError>, purpose: Option<Purpose>) -> Check {
    match user {
        Ok(user) if user.id < 0 && purpose == Some(Purpose::Apply) => Check::wrong(
            TOKEN,
            format!("it is the job's own token, of {}", user.login),
            "use the bot's: GITEA_TOKEN from the secret BOT_TOKEN. The job's own commits nothing on Forgejo and on \
             Gitea up to 1.25, pushes to no protected branch before 1.27, and starts no workflow",
        ),
        Ok(user) => Check::right(TOKEN, format!("it is of {}", user.login)),
        Err(error) if error.is_scope() => Check::right(
            TOKEN,
            "the server takes it; without the scope read:user it does not say whose it is",
        ),
        Err(error) => Check::open(
            TOKEN,
            format!("the server does not say whose it is: {error}"),
        ),
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
            "all; write:repository, write:issue and read:user would be enough".to_owned()
        }
        Scopes::Listed(scopes) => Vec::from_iter(scopes.iter().map(String::as_str)).join(", "),
    };
    let make = |what: &str| {
        format!(
            "make the bot a token {what}, and store it as the secret BOT_TOKEN (docs/gitea.md, step 3)"
        )
    };
    if scopes.public_only() && about.is_none_or(|about| !about.is_public()) {
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
    if about.archived {
        return Check::wrong(
            REPOSITORY,
            format!("{name} is archived: nothing can be written there"),
            "unarchive it in its settings",
        );
    }
    let who = if about.is_public() {
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
