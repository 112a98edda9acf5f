//! NetBird: is it there, is it new enough, and what may the token do?

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::found::{Look, not_made, of_version, open, wrong};
use super::{Doctor, OF_FORK, clock};
use crate::base::{count, joined};
use crate::commands::cli::Purpose;
use crate::commands::settings::{api_config, token};
use crate::commands::versions::OLD_NETBIRD;
use crate::commands::{Exit, Failure, Run};
use crate::model::{Kind, Notice, OfRun};
use crate::plan::gates;
use crate::wire::api::objects::{User, UserToken};
use crate::wire::api::{Api, ApiError, Greeting, Token, object_path};
use crate::wire::http::Trouble;

/// Days that a token should have left at least: somebody has to make the next one.
const DAYS_LEFT: i64 = 14;

/// Requests that should be left at least: a plan makes about a dozen, an apply more.
const REQUESTS_LEFT: u64 = 20;

/// What to do where something else answers.
const NO_API: &str = "check NETBIRD_API_URL: the management API is at the URL of the dashboard, or on a host of its own";

/// What is said where the user of the token is not known.
const NO_OWNER: &str = "NetBird does not say whose token it is";

/// Why something was not looked at.
const NO_TOKEN: &str = "there is no valid token";

impl Doctor<'_> {
    pub(super) fn netbird(&mut self) {
        let why = match self.ask_netbird() {
            Ok(()) => NO_TOKEN,
            Err((failure, why)) => {
                self.put("netbird_url", Err(failure.into()));
                why
            }
        };
        self.put_rest("netbird_", why);
        // without a job and a flag: what the token can do
        let me = self.me.as_ref().filter(|me| !me.role.is_empty());
        let can = me.map(|me| match gates::reads_only(me).is_some() {
            true => Purpose::Plan,
            false => Purpose::Apply,
        });
        self.purpose = self.named.or(can);
    }

    /// Checks the server and the token. Where they cannot be asked, returns the failure, and why the other checks are skipped.
    fn ask_netbird(&mut self) -> Result<(), (Failure, &'static str)> {
        let run = self.run;
        let token = token(run);
        let api = open_api(run, &token);
        let api = api.map_err(|failure| (failure, "the server is not known"))?;
        let unreachable = |error: &ApiError| {
            let hint = error.hint().unwrap_or_else(|| NO_API.to_owned());
            let failure = Failure::error(error.to_string()).hint(hint);
            Err((failure, "NetBird's API cannot be reached"))
        };
        let is_silent = |error: &&ApiError| !answers(error);
        let asked = Timestamp::now();
        let greeting = api.greet();
        let now = Timestamp::now();
        // what cannot be reached is not asked twice
        let silent = greeting.as_ref().err().filter(is_silent);
        if let Some(error) = silent.filter(|error| !error.is_absent()) {
            return unreachable(error);
        }
        let users: Result<Vec<User>, _> = listed(&api, "/users");
        // servers before the path for the version are known by their users
        if let (Some(error), Some(_)) = (silent, users.as_ref().err().filter(is_silent)) {
            return unreachable(error);
        }
        let base = api.base();
        self.put("netbird_url", Ok(format!("NetBird answers at {base}")));
        let mut is_slow = is_throttled(&greeting) || is_throttled(&users);
        let is_of_fork = run.is_of_fork();
        let taken = match (token, users) {
            (Err(failure), _) if is_of_fork && failure.exit == Exit::Refused => not_made(OF_FORK),
            (Err(failure), _) => Err(failure.into()),
            (Ok(_), Err(_)) if is_slow => not_made("too many requests"),
            (Ok(_), Err(error)) => Err(error.into()),
            (Ok(_), Ok(users)) => {
                self.me = users.into_iter().find(|user| user.is_current);
                let accounts = api.values("/accounts");
                let tokens = self.me.as_ref().map(|me| tokens(&api, me));
                is_slow |= is_throttled(&accounts) || tokens.as_ref().is_some_and(is_throttled);
                self.put("netbird_account", account(&accounts, run.account()));
                let life = life(self.me.as_ref().zip(tokens), now);
                self.put("netbird_token_life", life);
                let (role, advice) = self.role();
                self.put_advised("netbird_role", role, advice);
                let first = accounts.ok().and_then(|all| all.into_iter().next());
                self.account = first.and_then(|one| Some(one["id"].as_str()?.to_owned()));
                self.api = Some(api);
                Ok("NetBird accepts it".into())
            }
        };
        self.put("netbird_token", taken);
        self.put("netbird_version", version(&greeting, self.api.as_ref()));
        let clock = match &greeting {
            Ok(greeting) => clock("NetBird", asked, greeting.server_time, now),
            Err(error) => untold(error),
        };
        self.put("netbird_clock", clock);
        self.put("netbird_rate_limit", rate_limit(&greeting, is_slow));
        Ok(())
    }

    /// What the token's user may do; of a person, that a token ends with the access of whose it is.
    fn role(&self) -> (Look, Option<String>) {
        let Some(me) = self.me.as_ref().filter(|me| !me.role.is_empty()) else {
            return (open(NO_OWNER), None);
        };
        let persons = OfRun::PersonsToken(me.name.clone());
        let advice = (!me.is_service_user).then(|| Notice::general(persons).words());
        (self.netbird_rights(me), advice)
    }

    fn netbird_rights(&self, me: &User) -> Look {
        let who = match me.is_service_user {
            true => format!("service user {}, role {}", me.name, me.role),
            false => format!("{}, a person, role {}", me.name, me.role),
        };
        let mut denied = Kind::ALL.to_vec();
        denied.retain(|kind| !gates::may_write(&me.role, *kind));
        let lacks = joined(denied.iter().map(|kind| kind.plural()), ", ");
        let desired = self.desired.as_ref();
        let is_managed = |kind: &Kind| desired.is_some_and(|file| file.manages(*kind));
        let applies = self.named == Some(Purpose::Apply);
        let why = match gates::reads_only(me).is_some() {
            _ if !gates::sees_all(me) => "it sees only a part of the account".to_owned(),
            true if applies => "it cannot change anything, and an apply has to".to_owned(),
            false if applies && denied.iter().any(is_managed) => {
                format!("it cannot change {lacks}")
            }
            true => {
                return Ok(format!(
                    "{who}: enough for a plan; an apply needs the role admin"
                ));
            }
            false if denied.is_empty() => {
                return Ok(format!(
                    "{who}: enough for an apply, and more than a plan needs"
                ));
            }
            false => {
                return Ok(format!(
                    "{who}: enough for an apply that does not change {lacks}"
                ));
            }
        };
        let hint = "set NETBIRD_API_TOKEN to the token of a service user: role auditor for plan (in the workflows the secret \
                    NETBIRD_PLAN_TOKEN), admin for apply (NETBIRD_APPLY_TOKEN)";
        wrong(format!("{who}: {why}"), hint)
    }
}

/// Whether the server refused a request because there were too many.
fn is_throttled<T>(answer: &Result<T, ApiError>) -> bool {
    matches!(answer, Err(error) if error.trouble == Trouble::Throttled)
}

/// Returns a client. Without a token the URL can be looked at all the same: the answer is a refusal of NetBird's own.
fn open_api(run: &Run, token: &Result<Token, Failure>) -> Result<Api, Failure> {
    let mut config = api_config(run)?;
    // a limit is to be shown, not to be waited for
    config.retry.throttle_waits = 0;
    let stand_in = || Token::parse("none").expect("a word is a token");
    let token = token.as_ref().map_or_else(|_| stand_in(), Token::clone);
    Ok(Api::new(config, &token)?)
}

/// Is it NetBird that says so? A proxy before a server that is down knows no id of the request.
fn answers(error: &ApiError) -> bool {
    match (&error.trouble, &error.answer) {
        (Trouble::Server, Some(answer)) => answer.request_id.is_some(),
        (Trouble::Throttled, _) => true,
        _ => error.is_access(),
    }
}

fn listed<T: DeserializeOwned>(api: &Api, path: &str) -> Result<Vec<T>, ApiError> {
    let all = api.list(path)?;
    Ok(all.iter().filter_map(|one| one.read().ok()).collect())
}

/// Returns the tokens of a user.
fn tokens(api: &Api, me: &User) -> Result<Vec<UserToken>, ApiError> {
    let path = object_path("/users", &me.id)?;
    listed(api, &format!("{path}/tokens"))
}

/// What NetBird says with its version, where it does not.
fn untold(error: &ApiError) -> Look {
    match error {
        error if error.is_absent() => open("this server does not report it"),
        error if error.is_access() => not_made(NO_TOKEN),
        error => open(format!("not known: {error}")),
    }
}

/// One of before 0.55 is known by its peers (docs/netbird-api.md, "Versions").
fn version(greeting: &Result<Greeting, ApiError>, api: Option<&Api>) -> Look {
    match greeting {
        Ok(greeting) => return of_version("NetBird", &greeting.version),
        Err(error) if !error.is_absent() => return untold(error),
        Err(_) => {}
    }
    let peers = api.and_then(|api| api.values("/peers").ok());
    let mut peers = peers.into_iter().flatten();
    if peers.any(|peer| peer.get("created_at").is_none()) {
        let hint = "update NetBird: this server does not say when machines enrolled";
        let text = "this server is older than NetBird 0.55; netbird-gitops needs 0.55 or later";
        return wrong(text, hint);
    }
    open(OLD_NETBIRD)
}

/// The token in use is the one that was used last, just now.
fn life(of: Option<(&User, Result<Vec<UserToken>, ApiError>)>, now: Timestamp) -> Look {
    let (me, tokens) = match of {
        None => return not_made(NO_OWNER),
        Some((_, Err(error))) => return open(format!("NetBird does not say: {error}")),
        Some((me, Ok(tokens))) => (me, tokens),
    };
    let used = tokens.into_iter().filter(|token| token.last_used.is_some());
    let newest = used.max_by_key(|token| token.last_used);
    let Some((token, end)) = newest.and_then(|token| Some((token.name, token.expiration_date?)))
    else {
        return open("NetBird does not say when the token expires");
    };
    let days = end.duration_since(now).as_secs() / 86_400;
    let left = count(usize::try_from(days).unwrap_or_default(), "day", "days");
    let day = end.strftime("%F");
    let text = format!("token {token:?} expires in {left}, on {day}");
    if days >= DAYS_LEFT {
        return Ok(text);
    }
    let store = "and store it before that day: what uses the old one stops working then";
    wrong(text, format!("create a new token for {}, {store}", me.name))
}

fn account(accounts: &Result<Vec<Value>, ApiError>, wanted: Option<String>) -> Look {
    let accounts = match accounts {
        Ok(accounts) => accounts.iter(),
        Err(error) => return open(format!("NetBird does not say: {error}")),
    };
    let ids: Vec<&str> = accounts.filter_map(|one| one["id"].as_str()).collect();
    let found = ids.join(", ");
    let Some(wanted) = wanted else {
        let more = "set NETBIRD_ACCOUNT_ID to it, and every other account is refused";
        return open(format!("account {found}; {more}"));
    };
    let hint = "check NETBIRD_API_URL and NETBIRD_API_TOKEN against --account (NETBIRD_ACCOUNT_ID)";
    let text = format!("the token belongs to account {found}, not to {wanted}");
    match ids.contains(&wanted.as_str()) {
        true => Ok(format!("account {wanted}, as --account says")),
        false => wrong(text, hint),
    }
}

fn rate_limit(greeting: &Result<Greeting, ApiError>, is_slow: bool) -> Look {
    let limit = greeting.as_ref().map(|greeting| greeting.rate_limit);
    let text = match limit {
        _ if is_slow => "NetBird refused a request because there were too many".to_owned(),
        Err(error) => return untold(error),
        Ok(None) => return open("the server reports no limit"),
        Ok(Some((left, of))) if left < REQUESTS_LEFT => {
            format!("{left} of {of} requests left, and a plan needs about twelve")
        }
        Ok(Some((left, of))) => return Ok(format!("{left} of {of} requests left")),
    };
    let hint = "the server limits requests per token: raise NB_API_RATE_LIMITING_RPM there, or run less often";
    wrong(text, hint)
}
