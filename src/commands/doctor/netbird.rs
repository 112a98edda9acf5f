//! NetBird: is it there, is it new enough, and what may the token do?

use jiff::Timestamp;
use serde_json::Value;

use super::{Subject, clock};
use crate::base::text::count;
use crate::commands::cli::Server;
use crate::commands::failure::Failure;
use crate::commands::settings::{api_config, setting, token};
use crate::commands::setup::doctor::{Check, Look, Purpose, not_made, open, wrong};
use crate::commands::versions::{is_version, told_of_netbird};
use crate::model::kind::Kind;
use crate::model::notice::{Notice, OfRun};
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

/// What other checks need of the server.
#[derive(Default)]
pub(super) struct NetbirdFacts {
    /// The token's user.
    pub(super) me: Option<User>,
    /// The account's id.
    pub(super) account: Option<String>,
    /// The server, where it takes the token.
    pub(super) api: Option<Api>,
}

/// Returns the checks, and what is known of the server.
pub(super) fn checks(scene: &Subject) -> (Vec<Check>, NetbirdFacts) {
    let mut made = Vec::new();
    let (known, why) = match look(scene, &mut made) {
        Ok(known) => (known, NO_TOKEN),
        Err((failure, why)) => {
            made.push(Check::of(URL, Err(failure.into())));
            (NetbirdFacts::default(), why)
        }
    };
    (Check::complete(&NAMES, &made, why), known)
}

/// Looks at the server and the token; errors where there is nobody to ask, with why the rest was not looked at.
fn look(scene: &Subject, made: &mut Vec<Check>) -> Result<NetbirdFacts, (Failure, &'static str)> {
    let server = &scene.args.server;
    let token = token(server, scene.run.context.is_pull_request_event());
    let api = open_api(server, &token).map_err(|failure| (failure, "the server is not known"))?;
    let unreachable = |error: &ApiError| {
        let hint = error.hint().unwrap_or_else(|| NO_API.to_owned());
        let failure = Failure::error(error.to_string()).hint(hint);
        Err((failure, "NetBird's API cannot be reached"))
    };
    let asked = Timestamp::now();
    let greeting = api.greet();
    let now = Timestamp::now();
    // what cannot be reached is not asked twice
    if let Err(error) = &greeting
        && !answers(error)
        && !error.is_absent()
    {
        return unreachable(error);
    }
    let users = users(&api);
    // servers before the path for the version are known by their users
    if let (Err(error), Err(of_users)) = (&greeting, &users)
        && error.is_absent()
        && !answers(of_users)
    {
        return unreachable(error);
    }
    made.push(Check::of(
        URL,
        Ok(format!("NetBird answers at {}", api.base())),
    ));
    let mut is_slow = is_throttled(&greeting) || is_throttled(&users);
    let mut known = NetbirdFacts::default();
    let taken = match (token, users) {
        (Err(failure), _) => Err(failure.into()),
        (Ok(_), Err(ApiError::Answered(Meaning::Throttled, _))) => not_made("too many requests"),
        (Ok(_), Err(error)) => Err(error.into()),
        (Ok(_), Ok(users)) => {
            let me = users.into_iter().find(|user| user.is_current);
            let accounts = api.values("/accounts");
            let tokens = me.as_ref().map(|me| tokens(&api, me));
            is_slow |= is_throttled(&accounts) || tokens.as_ref().is_some_and(is_throttled);
            made.extend([
                role(scene, me.as_ref()),
                Check::of(TOKEN_LIFE, life(me.as_ref().zip(tokens), now)),
                Check::of(
                    ACCOUNT,
                    account(&accounts, setting(server.account.as_ref())),
                ),
            ]);
            let account = accounts.ok().and_then(|all| all.into_iter().next());
            known = NetbirdFacts {
                me,
                account: account.and_then(|one| Some(one["id"].as_str()?.to_owned())),
                api: Some(api),
            };
            Ok("NetBird accepts it".into())
        }
    };
    let clock = match &greeting {
        Ok(greeting) => clock("NetBird", asked, greeting.server_time, now),
        Err(error) => untold(error),
    };
    let rest = [
        (TOKEN, taken),
        (VERSION, version(&greeting)),
        (CLOCK, clock),
        (RATE_LIMIT, rate_limit(&greeting, is_slow)),
    ];
    made.extend(rest.map(|(name, look)| Check::of(name, look)));
    Ok(known)
}

/// Whether the server refused a request because there were too many.
fn is_throttled<T>(answer: &Result<T, ApiError>) -> bool {
    matches!(answer, Err(ApiError::Answered(Meaning::Throttled, _)))
}

/// Returns a client. Without a token the URL can be looked at all the same: the answer is a refusal of NetBird's own.
fn open_api(server: &Server, token: &Result<Token, Failure>) -> Result<Api, Failure> {
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

/// Returns the tokens of a user.
fn tokens(api: &Api, me: &User) -> Result<Vec<UserToken>, ApiError> {
    let path = object_path("/users", &me.id)?;
    let tokens = api.list(&format!("{path}/tokens"))?;
    Ok(tokens
        .iter()
        .filter_map(|token| token.read().ok())
        .collect())
}

/// What NetBird tells with its version, where it does not.
fn untold(error: &ApiError) -> Look {
    match error {
        error if error.is_absent() => open("this server does not say"),
        error if error.is_access() => not_made(NO_TOKEN),
        error => open(format!("not known: {error}")),
    }
}

fn version(greeting: &Result<Greeting, ApiError>) -> Look {
    let version = match greeting {
        Ok(greeting) => &greeting.version,
        Err(error) => return untold(error),
    };
    match told_of_netbird(version) {
        Some(text) => wrong(
            text,
            "update NetBird: much of what an enrollment is told by is missing there",
        ),
        None if is_version(version) => Ok(format!("NetBird {version}")),
        None => open(format!("{version:?} is not a version that can be compared")),
    }
}

/// What the token's user may do; of a person, that a token ends with the access of whose it is.
fn role(scene: &Subject, me: Option<&User>) -> Check {
    let Some(me) = me.filter(|me| !me.role.is_empty()) else {
        let look = open("NetBird does not say whose the token is");
        return Check::of(ROLE, look);
    };
    let persons = OfRun::PersonsToken(me.name.clone());
    let advice = (!me.is_service_user).then(|| Notice::general(persons).words());
    Check::of(ROLE, rights(scene, me)).advice(advice)
}

fn rights(scene: &Subject, me: &User) -> Look {
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
        wrong(format!("{who}: {why}"), hint)
    };
    if !gates::sees_all(me) {
        return wrong("it sees a part of the account only");
    }
    let reads_only = gates::reads_only(me).is_some();
    let denied = Kind::ALL.into_iter();
    let denied = denied.filter(|kind| !gates::may_write(&me.role, *kind));
    let (denied, desired): (Vec<Kind>, _) = (denied.collect(), scene.desired.as_ref());
    let lacks: Vec<&str> = denied.iter().map(|kind| kind.plural()).collect();
    let lacks = lacks.join(", ");
    let is_managed = |kind: &Kind| desired.is_some_and(|file| file.manages(*kind));
    let for_what = match (scene.told, reads_only) {
        (Some(Purpose::Apply), true) => {
            return wrong("it can change nothing, which an apply needs");
        }
        (Some(Purpose::Apply), false) if denied.iter().any(is_managed) => {
            return wrong(&format!("it cannot write {lacks}"));
        }
        (Some(Purpose::Plan), false) => "more than a plan needs (auditor)".to_owned(),
        (Some(Purpose::Plan), true) => "right for a plan".to_owned(),
        (None, true) => "enough for a plan; an apply needs admin".to_owned(),
        (_, false) if !denied.is_empty() => format!("enough for plan and apply, but for {lacks}"),
        (Some(Purpose::Apply), false) => "right for an apply".to_owned(),
        (None, false) => "enough for plan and apply".to_owned(),
    };
    Ok(format!("{who}: {for_what}"))
}

/// The token in use is the one that was used last, just now.
fn life(of: Option<(&User, Result<Vec<UserToken>, ApiError>)>, now: Timestamp) -> Look {
    let (me, tokens) = match of {
        None => return not_made("NetBird does not say whose the token is"),
        Some((_, Err(error))) => return open(format!("NetBird does not say: {error}")),
        Some((me, Ok(tokens))) => (me, tokens),
    };
    let used = tokens.into_iter().filter(|token| token.last_used.is_some());
    let newest = used.max_by_key(|token| token.last_used);
    let Some((token, end)) = newest.and_then(|token| Some((token.name, token.expiration_date?)))
    else {
        return open("NetBird does not say when the token ends");
    };
    let days = end.duration_since(now).as_secs() / 86_400;
    let left = count(usize::try_from(days).unwrap_or_default(), "day", "days");
    let day = end.strftime("%Y-%m-%d");
    let text = format!("{left} left of the token {token:?}, until {day}");
    if days >= DAYS_LEFT {
        return Ok(text);
    }
    let hint = format!(
        "make {} a new token and store it before that day; all that runs with the old one stops then",
        me.name
    );
    wrong(text, hint)
}

fn account(accounts: &Result<Vec<Value>, ApiError>, wanted: Option<String>) -> Look {
    let accounts = match accounts {
        Ok(accounts) => accounts.iter(),
        Err(error) => return open(format!("NetBird does not say: {error}")),
    };
    let ids: Vec<&str> = accounts.filter_map(|one| one["id"].as_str()).collect();
    let found = ids.join(", ");
    match wanted {
        None => open(format!(
            "account {found}; with NETBIRD_ACCOUNT_ID set to it any other is refused"
        )),
        Some(wanted) if ids.contains(&wanted.as_str()) => {
            Ok(format!("account {wanted}, as --account says"))
        }
        Some(wanted) => wrong(
            format!("the token belongs to account {found}, not to {wanted}"),
            "check NETBIRD_API_URL and NETBIRD_API_TOKEN against --account (NETBIRD_ACCOUNT_ID)",
        ),
    }
}

fn rate_limit(greeting: &Result<Greeting, ApiError>, is_slow: bool) -> Look {
    let text = match greeting {
        _ if is_slow => "too many requests for now".to_owned(),
        Err(error) => return untold(error),
        Ok(greeting) => match greeting.rate_limit {
            None => return open("the server reports none"),
            Some((left, of)) if left < REQUESTS_LEFT => {
                format!("{left} of {of} requests left: a plan makes about a dozen")
            }
            Some((left, of)) => return Ok(format!("{left} of {of} requests left")),
        },
    };
    let hint = "the server limits requests per token: raise NB_API_RATE_LIMITING_RPM there, or run less often";
    wrong(text, hint)
}
