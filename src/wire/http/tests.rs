//! The client against a scripted server: what is sent, how often, and what each failure is called.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::RefCell;
use std::time::Duration;

use super::{BaseUrl, Client, Config, ProxySetting, Token};

use script::{Act, Script, json};

mod answers;
pub(crate) mod log_capture;
mod logs;
mod retries;
pub(crate) mod script;

thread_local! {
    static SLEPT: RefCell<Vec<Duration>> = const { RefCell::new(Vec::new()) };
}

fn note(delay: Duration) {
    SLEPT.with_borrow_mut(|slept| slept.push(delay));
}

/// The waits since the last call, in whole seconds.
fn slept() -> Vec<u64> {
    SLEPT.take().iter().map(Duration::as_secs).collect()
}

fn config(server: &Script) -> Config {
    let mut config = Config::new(BaseUrl::parse(&server.url(), "/api").unwrap());
    config.proxy = ProxySetting::Direct;
    config.retry.base = Duration::ZERO;
    config.retry.sleep = note;
    config
}

fn client(config: Config) -> Client {
    Client::new(config, "Token", &Token::parse("nbp_secret").unwrap()).unwrap()
}

fn start(acts: impl IntoIterator<Item = Act>) -> (Script, Client) {
    let server = Script::start(acts);
    let client = client(config(&server));
    (server, client)
}

fn ok() -> Act {
    json(200, "{}")
}
