//! JSON over HTTP: one server, one token, bounded waiting, errors that say whether a write may have happened.
//!
//! [`Client::send`] makes a request and returns the [`Reply`] of any status but a redirect; what a status means is for
//! the modules above ([`crate::wire::api`] for NetBird).

mod answer;
mod client;
mod error;
mod proxy;
mod reply;
mod retry;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod text;
mod tls;
mod token;
mod url;

use std::path::PathBuf;
use std::time::Duration;

pub use answer::ErrorAnswer;
pub use client::Client;
pub use error::{HttpError, Trouble};
pub use proxy::{ProxySetting, is_variable as is_proxy_variable};
pub use reply::{Call, Reply};
pub use retry::Retry;
pub(crate) use retry::{jittered, random};
pub use token::{Token, with_origin};
pub use ureq::http::Method;
pub use url::BaseUrl;

/// An answer, or why there is none.
type Result<T, E = HttpError> = std::result::Result<T, E>;

/// What this program calls itself. NetBird lifts its rate limit for names with "terraform" in them
/// (docs/netbird-api.md, "Rate limit"); we are not that.
pub const USER_AGENT: &str = concat!("netbird-gitops/", env!("CARGO_PKG_VERSION"));

/// The settings of a client.
#[derive(Debug, Clone)]
pub struct Config {
    /// The server.
    pub base: BaseUrl,
    /// The longest wait for a name and for a connection, TLS included.
    pub connect_timeout: Duration,
    /// The longest wait for one try, from the name to the end of the body.
    pub total_timeout: Duration,
    /// A PEM file of CAs trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Which proxy to use.
    pub proxy: ProxySetting,
    /// Which requests are made again.
    pub retry: Retry,
    /// Whether an answer tells of trouble that passes by itself, where its status does not: a read is made again then.
    pub passes: fn(&Reply) -> bool,
    /// The largest answer, decompressed, in bytes.
    pub max_body_bytes: u64,
    /// The most that all answers take which are held at a time, in bytes, with [`crate::base::budget::ENTRY`] for each entry.
    pub max_held_bytes: u64,
    /// How many connections are kept open between requests: as many as there are threads.
    pub idle_connections: usize,
}

impl Config {
    /// Returns the defaults for a server: 10 s to connect, 60 s in all, the proxy of the environment, 256 MiB (a list
    /// of 10,000 events has 3 MiB, docs/netbird-api.md, "Sizes"), 768 MiB for all, 8 connections.
    pub fn new(base: BaseUrl) -> Config {
        Config {
            base,
            connect_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(60),
            ca_file: None,
            proxy: ProxySetting::Environment,
            retry: Retry::default(),
            passes: |_| false,
            max_body_bytes: 256 << 20,
            max_held_bytes: 768 << 20,
            idle_connections: 8,
        }
    }
}
