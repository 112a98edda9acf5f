//! NetBird: is it there, is it new enough, and what may the token do?

use std::cell::Cell;

use jiff::Timestamp;
use serde_json::Value;

use super::{Scene, clock, failed};
use crate::base::text::count;
use crate::commands::cli::Server;
use crate::commands::failure::Failure;
use crate::commands::settings::{api_config, setting, token};
use crate::commands::setup::doctor::{Check, Purpose};
use crate::commands::versions::{is_version, told_of_netbird};
use crate::model::kind::Kind;
use crate::plan::gates;
use crate::wire::api::objects::{User, UserToken};
use crate::wire::api::{Api, ApiError, Greeting, Meaning, Token, object_path};

const URL: &str = "netbird_url";
const TOKEN: &str = "netbird_token";
const ROLE: &str = "netbird_role";
const TOKEN_LIFE: &str = "netbird_token_life";
const ACCOUNT: &str = "netbird_account";
const VERSION: &str = "netbird_version";
const CLOCK: &str = "netbird_clock";
const RATE_LIMIT: &str = "netbird_rate_limit";

/// All of them, in the order in which they are told.
const NAMES: [&str; 8] = [
    URL, TOKEN, ROLE, TOKEN_LIFE, ACCOUNT, VERSION, CLOCK, RATE_LIMIT,
];

/// Days that a token should have left at least: somebody has to make the next one.
const DAYS_LEFT: i64 = 14;

/// Requests that should be left at least: a plan makes about a dozen, an apply more.
const REQUESTS_LEFT: u64 = 20;

/// What to do where something else answers.
const NO_API: &str =
    "is this NetBird's management API? Its URL is that of the dashboard, or of a host of its own";

/// Why something was not looked at.
const NO_TOKEN: &str = "there is no valid token";

/// NetBird, and whether it refused a request because there were too many.
struct Asked {
    api: Api,
    throttled: Cell<bool>,
}

impl Asked {
    /// Passes an answer on.
    fn see<T>(&self, answer: Result<T, ApiError>) -> Result<T, ApiError> {
        if let Err(ApiError::Answered(Meaning::Throttled, _)) = answer {
            self.throttled.set(true);
        }
        answer
    }
}

/// What other checks need of the server.
#[derive(Default)]
pub(super) struct Known {
    /// The token's user.
    pub(super) me: Option<User>,
    /// The account's id.
    pub(super) account: Option<String>,
    /// The server, where it takes the token.
    pub(super) api: Option<Api>,
}

/// Returns the checks, and what is known of the server.
pub(super) fn checks(scene: &Scene) -> (Vec<Check>, Known) {
    let mut made = Vec::new();
    let (known, why) = match look(scene, &mut made) {
        Ok(known) => (known, NO_TOKEN),
        Err((failure, why)) => {
            made.push(failed(URL, failure));
            (Known::default(), why)
        }
    };
    (Check::complete(&NAMES, &made, why), known)
}

/// Looks at the server and the token; errors where there is nobody to ask, with why the rest was not looked at.
fn look(scene: &Scene, made: &mut Vec<Check>) -> Result<Known, (Failure, &'static str)> {
    let server = &scene.args.server;
    let token = token(server, scene.run.context.is_pull_request_event());
    let api = open(server, &token).map_err(|failure| (failure, "the server is not known"))?;
    let netbird = Asked {
        api,
        throttled: Cell::new(false),
    };
    let unreachable = |error: &ApiError| {
        let hint = error.hint().unwrap_or_else(|| NO_API.to_owned());
        let failure = Failure::error(error.to_string()).hint(hint);
        Err((failure, "NetBird's API cannot be reached"))
    };
    let asked = Timestamp::now();
    let greeting = netbird.see(netbird.api.greet());
    let now = Timestamp::now();
    // what cannot be reached is not asked twice
    if let Err(error) = &greeting
        && !answers(error)
        && !error.is_absent()
    {
        return unreachable(error);
    }
    let users = netbird.see(users(&netbird.api));
    // servers before the path for the version are known by their users
    if let (Err(error), Err(of_users)) = (&greeting, &users)
        && error.is_absent()
        && !answers(of_users)
    {
        return unreachable(error);
    }
    let at = format!("NetBird answers at {}", netbird.api.base());
    made.push(Check::right(URL, at));
    let mut known = Known::default();
    let taken = match (token, users) {
        (Err(failure), _) => failed(TOKEN, failure),
        (Ok(_), Err(error)) => refused(error),
        (Ok(_), Ok(users)) => {
            let me = users.into_iter().find(|user| user.is_current);
            let accounts = netbird.see(netbird.api.values("/accounts"));
            made.extend([
                role(scene, me.as_ref()),
                life(&netbird, me.as_ref(), now),
                account(&accounts, setting(server.account.as_ref())),
            ]);
            let account = accounts.ok().and_then(|all| all.into_iter().next());
            known = Known {
                me,
                account: account.and_then(|one| Some(one["id"].as_str()?.to_owned())),
                api: Some(netbird.api.clone()),
            };
            Check::right(TOKEN, "NetBird takes it")
        }
    };
    made.extend([taken, version(&greeting)]);
    made.push(match &greeting {
        Ok(greeting) => clock(CLOCK, "NetBird", asked, greeting.server_time, now),
        Err(error) => untold(CLOCK, error),
    });
    made.push(rate_limit(&greeting, netbird.throttled.get()));
    Ok(known)
}

/// Returns a client. Without a token the URL can be looked at all the same: the answer is a refusal of NetBird's own.
fn open(server: &Server, token: &Result<Token, Failure>) -> Result<Api, Failure> {
    let mut config = api_config(server)?;
    // a limit is to be told, not to be waited for
    config.retry.throttle_waits = 0;
    let stand_in = || Token::parse("none").expect("a word is a token");
    let token = token.as_ref().map_or_else(|_| stand_in(), Token::clone);
    Ok(Api::new(config, &token)?)
}

/// Is it NetBird that says so? A proxy before a server that is down knows no id of the request.
fn answers(error: &ApiError) -> bool {
    match error {
        ApiError::Answered(Meaning::Server, answer) => answer.request_id.is_some(),
        ApiError::Answered(Meaning::Throttled, _) => true,
        error => error.is_access(),
    }
}

fn users(api: &Api) -> Result<Vec<User>, ApiError> {
    let users = api.list("/users")?;
    Ok(users.iter().filter_map(|user| user.read().ok()).collect())
}

/// What NetBird tells with its version, where it does not.
fn untold(name: &'static str, error: &ApiError) -> Check {
    match error {
        error if error.is_absent() => Check::open(name, "this server does not tell"),
        error if error.is_access() => Check::not_made(name, NO_TOKEN),
        error => Check::open(name, format!("not known: {error}")),
    }
}

fn version(greeting: &Result<Greeting, ApiError>) -> Check {
    let version = match greeting {
        Ok(greeting) => &greeting.version,
        Err(error) => return untold(VERSION, error),
    };
    match told_of_netbird(version) {
        Some(text) => {
            let hint = "update NetBird: much of what an enrollment is told by is missing there";
            Check::wrong(VERSION, text, hint)
        }
        None if is_version(version) => Check::right(VERSION, format!("NetBird {version}")),
        None => Check::open(
            VERSION,
            format!("{version:?} is no version that can be compared"),
        ),
    }
}

fn refused(error: ApiError) -> Check {
    match error {
        ApiError::Answered(Meaning::Throttled, _) => Check::not_made(TOKEN, "too many requests"),
        error => failed(TOKEN, error.into()),
    }
}

fn role(scene: &Scene, me: Option<&User>) -> Check {
    let Some(me) = me.filter(|me| !me.role.is_empty()) else {
        return Check::open(ROLE, "NetBird does not say whose the token is");
    };
    let who = match me.is_service_user {
        true => format!("service user {}, role {}", me.name, me.role),
        false => format!("{}, a person, role {}", me.name, me.role),
    };
    let wrong = |why: &str| {
        let (role, secret) = match scene.told {
            Some(Purpose::Apply) => ("admin", "NETBIRD_APPLY_TOKEN"),
            Some(Purpose::Plan) => ("auditor", "NETBIRD_PLAN_TOKEN"),
            None => (
                "auditor (for apply: admin)",
                "NETBIRD_PLAN_TOKEN (NETBIRD_APPLY_TOKEN)",
            ),
        };
        let hint = format!(
            "give NETBIRD_API_TOKEN the token of a service user of role {role}; in the workflows that is the secret {secret}"
        );
        Check::wrong(ROLE, format!("{who}: {why}"), hint)
    };
    if !gates::sees_all(me) {
        return wrong("it sees a part of the account only");
    }
    let is_weak = gates::reads_only(me).is_some();
    let denied = |kind: &Kind| !gates::may_write(&me.role, *kind);
    let manages = |kind: &Kind| {
        scene
            .desired
            .as_ref()
            .is_some_and(|file| file.manages(*kind))
    };
    let lacks: Vec<&str> = Kind::ALL
        .iter()
        .filter(|kind| denied(kind))
        .map(|kind| kind.plural())
        .collect();
    let needed = Kind::ALL.iter().any(|kind| denied(kind) && manages(kind));
    match scene.told {
        Some(Purpose::Apply) if is_weak => {
            return wrong("it can change nothing, which an apply needs");
        }
        Some(Purpose::Apply) if needed => {
            return wrong(&format!("it cannot write {}", lacks.join(", ")));
        }
        // a token dies with the access of whose it is
        _ if scene.run.context.is_ci && !me.is_service_user => {
            return wrong("a job's token ends with that person's access");
        }
        _ => {}
    }
    let for_what = match (scene.told, is_weak) {
        (Some(Purpose::Plan), false) => "more than a plan needs (auditor)".to_owned(),
        (Some(Purpose::Plan), true) => "right for a plan".to_owned(),
        (Some(Purpose::Apply), false) if lacks.is_empty() => "right for an apply".to_owned(),
        (_, true) => "enough for a plan; an apply needs admin".to_owned(),
        (_, false) if lacks.is_empty() => "enough for plan and apply".to_owned(),
        (_, false) => format!("enough for plan and apply, but for {}", lacks.join(", ")),
    };
    Check::right(ROLE, format!("{who}: {for_what}"))
}

/// The token in use is the one that was used last, just now.
fn life(netbird: &Asked, me: Option<&User>, now: Timestamp) -> Check {
    let Some(me) = me else {
        return Check::not_made(TOKEN_LIFE, "NetBird does not say whose the token is");
    };
    let tokens = object_path("/users", &me.id);
    let tokens = tokens.and_then(|path| netbird.api.values(&format!("{path}/tokens")));
    let tokens = match netbird.see(tokens) {
        Ok(tokens) => tokens,
        Err(error) => {
            return Check::open(TOKEN_LIFE, format!("NetBird does not tell: {error}"));
        }
    };
    let read = |token| serde_json::from_value::<UserToken>(token).ok();
    let used = tokens.into_iter().filter_map(read);
    let Some((token, end)) = used
        .filter(|token| token.last_used.is_some())
        .max_by_key(|token| token.last_used)
        .and_then(|token| Some((token.name, token.expiration_date?)))
    else {
        return Check::open(TOKEN_LIFE, "NetBird does not tell when the token ends");
    };
    let days = end.duration_since(now).as_secs() / 86_400;
    let left = count(usize::try_from(days).unwrap_or_default(), "day", "days");
    let text = format!(
        "{left} left of the token {token:?}, until {}",
        end.strftime("%Y-%m-%d")
    );
    match days < DAYS_LEFT {
        true => Check::wrong(
            TOKEN_LIFE,
            text,
            format!(
                "make {} a new token and store it before that day; all that runs with the old one stops then",
                me.name
            ),
        ),
        false => Check::right(TOKEN_LIFE, text),
    }
}

fn account(accounts: &Result<Vec<Value>, ApiError>, wanted: Option<String>) -> Check {
    let accounts = match accounts {
        Ok(accounts) => accounts,
        Err(error) => return Check::open(ACCOUNT, format!("NetBird does not tell: {error}")),
    };
    let ids: Vec<&str> = accounts
        .iter()
        .filter_map(|account| account["id"].as_str())
        .collect();
    let found = ids.join(", ");
    match wanted {
        None => Check::open(
            ACCOUNT,
            format!("account {found}; with NETBIRD_ACCOUNT_ID set to it any other is refused"),
        ),
        Some(wanted) if ids.contains(&wanted.as_str()) => {
            Check::right(ACCOUNT, format!("account {wanted}, as --account says"))
        }
        Some(wanted) => Check::wrong(
            ACCOUNT,
            format!("the token belongs to account {found}, not to {wanted}"),
            "check NETBIRD_API_URL and NETBIRD_API_TOKEN against --account (NETBIRD_ACCOUNT_ID)",
        ),
    }
}

fn rate_limit(greeting: &Result<Greeting, ApiError>, throttled: bool) -> Check {
    let slow = |text: String| {
        let hint = "the server limits requests per token: raise NB_API_RATE_LIMITING_RPM there, or run less often";
        Check::wrong(RATE_LIMIT, text, hint)
    };
    match greeting {
        _ if throttled => slow("too many requests for now".to_owned()),
        Err(error) => untold(RATE_LIMIT, error),
        Ok(greeting) => match greeting.rate_limit {
            None => Check::open(RATE_LIMIT, "the server names none"),
            Some((left, of)) if left < REQUESTS_LEFT => slow(format!(
                "{left} of {of} requests left: a plan makes about a dozen"
            )),
            Some((left, of)) => Check::right(RATE_LIMIT, format!("{left} of {of} requests left")),
        },
    }
}
