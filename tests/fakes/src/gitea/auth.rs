//! Who speaks, what their token covers, and what they may do in a repository.

use super::flavour::Flavour;
use super::forge::{Forge, Repo};
use super::refusal::{Refusal, forbidden, unauthorized};
use crate::base64;

/// What somebody may do with one unit of a repository.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Eq, Ord)]
pub(super) enum Level {
    None,
    Read,
    Write,
    Admin,
}

/// The parts of a repository that rights are given for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    Code,
    Issues,
    Pulls,
}

/// The parts of the API that scopes of tokens are given for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scope {
    Repository,
    Issue,
    User,
    Organization,
    Admin,
    /// None is needed.
    Any,
}

/// What a token of a job may do in its repository.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Job {
    pub(super) repo: i64,
    pub(super) code: Level,
    pub(super) issues: Level,
    pub(super) pulls: Level,
}

/// A personal access token, or that of a job.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) plain: String,
    pub(super) user: i64,
    pub(super) scopes: Vec<String>,
    pub(super) job: Option<Job>,
}

impl Token {
    /// Makes a personal access token, and returns it.
    pub(super) fn of_user(forge: &mut Forge, user: i64, scopes: &[String]) -> String {
        let plain = forge.new_secret();
        forge.tokens.push(Token {
            plain: plain.clone(),
            user,
            scopes: scopes.to_vec(),
            job: None,
        });
        plain
    }
}

/// Who makes a call.
#[derive(Clone, Default)]
pub(super) struct Caller {
    /// 0 for nobody.
    pub(super) user: i64,
    /// None where no scopes limit what the user may do.
    scopes: Option<Vec<String>>,
    pub(super) job: Option<Job>,
    pub(super) by_password: bool,
}

impl Caller {
    /// A user whom no token limits.
    pub(super) fn user(user: i64) -> Caller {
        Caller {
            user,
            ..Caller::default()
        }
    }

    pub(super) fn is_anonymous(&self) -> bool {
        self.user == 0
    }
}

/// Returns who sent this header. What is no header of a token at all is nobody; a token that is not
/// known is refused, even where nobody is allowed.
pub(super) fn caller(forge: &Forge, authorization: Option<&str>) -> Result<Caller, Refusal> {
    let words: Vec<&str> = authorization
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let [scheme, secret] = words[..] else {
        return Ok(Caller::default());
    };
    let found = match scheme.to_lowercase().as_str() {
        "token" | "bearer" => with_token(forge, secret),
        "basic" => with_password(forge, secret),
        _ => return Ok(Caller::default()),
    };
    let unknown = forge.flavour.pick(
        "invalid username, password or token",
        "user does not exist [uid: 0, name: ]",
    );
    found.ok_or_else(|| unauthorized(unknown))
}

fn with_token(forge: &Forge, plain: &str) -> Option<Caller> {
    let token = forge.tokens.iter().find(|token| token.plain == plain)?;
    let Token {
        plain: _,
        user,
        scopes,
        job,
    } = token;
    Some(Caller {
        user: *user,
        scopes: Some(scopes.clone()).filter(|_| job.is_none()),
        job: *job,
        by_password: false,
    })
}

/// Basic: a token in the place of the password or of the login, or a login and its password.
fn with_password(forge: &Forge, secret: &str) -> Option<Caller> {
    let pair = String::from_utf8(base64::decode(secret)?).ok()?;
    let (login, password) = pair.split_once(':')?;
    let by_password = || {
        let user = forge.user_named(login)?;
        (user.password.as_deref() == Some(password)).then(|| Caller {
            by_password: true,
            ..Caller::user(user.id)
        })
    };
    with_token(forge, password)
        .or_else(|| with_token(forge, login))
        .or_else(by_password)
}

/// Sees that the token covers this part of the API.
pub(super) fn allow(
    flavour: Flavour,
    caller: &Caller,
    scope: Scope,
    method: &str,
) -> Result<(), Refusal> {
    let (Some(scopes), false) = (&caller.scopes, scope == Scope::Any) else {
        return Ok(());
    };
    let name = match scope {
        Scope::Repository => "repository",
        Scope::Issue => "issue",
        Scope::User => "user",
        Scope::Organization => "organization",
        Scope::Admin | Scope::Any => "admin",
    };
    let reading = method == "GET";
    let has = |wanted: &str| scopes.iter().any(|scope| scope == wanted);
    let writes = has(&format!("write:{name}")) || has("all");
    if writes || reading && has(&format!("read:{name}")) {
        return Ok(());
    }
    let kind = if reading { "read" } else { "write" };
    let wanted = format!("[{kind}:{name}]");
    let mut held = scopes.clone();
    held.sort();
    let held = held.join(",");
    let start = "token does not have at least one of required scope(s)";
    Err(forbidden(flavour.pick(
        format!("{start}, required={wanted}, token scope={held}"),
        format!("{start}: {wanted}"),
    )))
}

/// Returns what a caller may do with a unit of a repository.
pub(super) fn level(forge: &Forge, caller: &Caller, repo: &Repo, unit: Unit) -> Level {
    let of_everyone = if repo.private {
        Level::None
    } else {
        Level::Read
    };
    if let Some(job) = &caller.job {
        return match unit {
            _ if job.repo != repo.id => forge.flavour.pick(of_everyone, Level::None),
            Unit::Code => job.code,
            Unit::Issues => job.issues,
            Unit::Pulls => job.pulls,
        };
    }
    let user = forge.user(caller.user);
    if user.is_some_and(|user| user.is_admin || user.id == repo.owner) {
        return Level::Admin;
    }
    let given = repo.collaborators.get(&caller.user).copied();
    let teams = repo.teams.iter();
    let teams = teams.filter(|team| team.members.contains(&caller.user));
    let by_team = teams.map(|team| team.level(unit));
    by_team
        .chain(given)
        .max()
        .unwrap_or(Level::None)
        .max(of_everyone)
}

/// A team of the organisation that owns a repository.
#[derive(Clone, Debug)]
pub(super) struct Team {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) code: Level,
    pub(super) pulls: Level,
    pub(super) members: Vec<i64>,
}

impl Team {
    fn level(&self, unit: Unit) -> Level {
        match unit {
            Unit::Code => self.code,
            Unit::Issues | Unit::Pulls => self.pulls,
        }
    }
}

/// Whether a caller knows of a repository at all. To a token for public ones Gitea denies that there are others.
pub(super) fn sees(forge: &Forge, caller: &Caller, repo: &Repo) -> bool {
    let scopes = caller.scopes.iter().flatten();
    let is_limited = scopes.into_iter().any(|scope| scope == "public-only");
    if is_limited && repo.private && forge.flavour == Flavour::Gitea {
        return false;
    }
    [Unit::Code, Unit::Issues, Unit::Pulls]
        .into_iter()
        .any(|unit| level(forge, caller, repo, unit) > Level::None)
}
