//! A repository on Gitea or Forgejo: its netbird.json, the commit that marks enrolled keys, the comment on a pull
//! request, the issue about drift.
//!
//! This module and [`contents`](ForgeFile), issues and pulls beside it speak the REST API, one function a call; [`commit`],
//! [`mark`], [`inventory`] and [`post`] are what the commands need, each written so that two runs at once and answers that got
//! lost do no harm. Facts about the server are in docs/gitea-api.md.

pub mod commit;
mod contents;
mod error;
mod history;
pub mod inventory;
mod issues;
pub mod mark_enrolled;
mod message;
pub mod post;
mod pulls;
mod rights;
mod rule;
mod runs;
mod setup;
#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use self::commit::Patience;
use crate::base::{is_hidden, percent_encoded as encode};
use crate::wire::http::{BaseUrl, Client, Config, Method, Reply, text};

pub use crate::wire::http::Token;
pub use contents::{FileWrite, ForgeFile, NewCommit};
pub use error::GiteaError;
pub use issues::{IssueEdit, Post};
pub use message::{commit_message, subject};
pub use pulls::{MayWrite, Pull};
pub use rights::{BranchInfo, RepoInfo, Scopes, Tip};
pub use rule::BranchRule;

/// What Gitea answers, or why it did not.
type Result<T, E = GiteaError> = std::result::Result<T, E>;

/// A user, or the automatic one of jobs, whose id is −2 (docs/gitea-api.md, "Users").
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ForgeUser {
    /// The id.
    pub id: i64,
    /// The name to log in with.
    #[serde(default)]
    pub login: String,
}

/// A repository and a token for it. Clones share connections; threads may share it.
#[derive(Debug, Clone)]
pub struct Repo {
    client: Client,
    owner: String,
    name: String,
}

/// Returns the default settings for the server at `url`, written with or without `/api/v1`.
///
/// Errors with a refusal ([`GiteaError::is_url_refused`]) when no token may be sent there.
pub fn config(url: &str) -> Result<Config> {
    let mut config = Config::new(BaseUrl::parse(url, "/api/v1")?);
    // Gitea limits nobody by itself (docs/gitea-api.md, "Refusals"); a job should not hang for what a proxy does.
    config.retry.throttle_waits = 3;
    Ok(config)
}

impl Repo {
    /// Returns the repository named `full_name`, as in `owner/name`. Makes no request itself.
    ///
    /// Errors when that is no such name, or the proxy or the CA file of `config` cannot be read.
    pub fn new(config: Config, token: &Token, full_name: &str) -> Result<Repo> {
        let (owner, name) = match full_name.trim().split_once('/') {
            Some((owner, name)) if is_name(owner) && is_name(name) => (owner, name),
            _ => {
                return Err(GiteaError::bad_name(full_name, "a repository (OWNER/NAME)"));
            }
        };
        Ok(Repo {
            client: Client::new(config, "token", token)?,
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }

    /// How long a commit is tried: its first wait is shorter than that of a read that is tried again.
    pub fn patience(&self) -> Patience<'static> {
        Patience {
            first_wait: self.client.retry_base() * 2 / 5,
            ..Patience::default()
        }
    }

    /// Returns the server's base URL, as in `https://host/api/v1`.
    pub fn base(&self) -> &BaseUrl {
        self.client.base()
    }

    /// Returns the full name, as in `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Returns the server's version, as in `1.26.3`, or `15.0.3+gitea-1.22.0` of a Forgejo. Needs no scope.
    pub fn version(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Version {
            version: String,
        }
        let version: Version = decode(&self.ok(Method::GET, "/version", None)?, "a version")?;
        Ok(version.version)
    }

    /// Returns the token's user (docs/gitea-api.md, "Users"). Needs `read:user`, which the bot's token does without:
    /// [`GiteaError::is_scope`] then.
    pub fn user(&self) -> Result<ForgeUser> {
        decode(&self.ok(Method::GET, "/user", None)?, "a user")
    }

    /// Returns the same, `None` where the token may not ask.
    fn me(&self) -> Result<Option<ForgeUser>> {
        match self.user() {
            Err(error) if error.is_denied() => Ok(None),
            user => user.map(Some),
        }
    }

    /// Waits after the refusal `n`, counted from 0, of a write that another one got in the way of.
    fn pause(&self, n: u32) {
        self.client.pause(n);
    }

    /// Makes a request to a path below the repository, as in `/branches/main`, and returns the answer if it is a success.
    fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply> {
        let (owner, name) = (encode(&self.owner), encode(&self.name));
        self.ok(method, &format!("/repos/{owner}/{name}{path}"), body)
    }

    /// Reads what stands at such a path.
    fn get<T: DeserializeOwned>(&self, path: &str, wanted: &'static str) -> Result<T> {
        decode(&self.send(Method::GET, path, None)?, wanted)
    }

    fn ok(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply> {
        let reply = self.client.send(method, path, body);
        let reply = reply.map_err(GiteaError::or_renamed)?;
        match GiteaError::of_gitea(&reply) {
            None => Ok(reply),
            Some(error) => Err(error),
        }
    }

    /// Reads a paginated list to its end.
    ///
    /// The server caps pages silently, and its `Link` headers may name a host that a job cannot reach
    /// (docs/gitea-api.md, "Pages and links"): pages are counted here, against the total.
    fn list<T: DeserializeOwned>(&self, path: &str, wanted: &'static str) -> Result<Vec<T>> {
        let (owner, name) = (encode(&self.owner), encode(&self.name));
        self.pages(&format!("/repos/{owner}/{name}{path}"), wanted)
    }

    fn pages<T: DeserializeOwned>(&self, path: &str, wanted: &'static str) -> Result<Vec<T>> {
        const LIMIT: usize = 50;
        let mut all = Vec::new();
        let separator = if path.contains('?') { '&' } else { '?' };
        for page in 1..=PAGES_MAX {
            let page = format!("{path}{separator}limit={LIMIT}&page={page}");
            let reply = self.ok(Method::GET, &page, None)?;
            let items: Vec<T> = decode(&reply, wanted)?;
            let count = items.len();
            all.extend(items);
            let total = reply
                .header("x-total-count")
                .and_then(|total| total.parse().ok());
            let ended = total.map_or(count < LIMIT, |total: usize| all.len() >= total);
            if count == 0 || ended {
                break;
            }
        }
        Ok(all)
    }
}

/// A bound on lists, against a server that repeats itself: 10,000 entries.
const PAGES_MAX: usize = 200;

fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && !name.contains(|c: char| c == '/' || c == ' ' || is_hidden(c))
}

/// Returns a path with its segments percent-encoded and the slashes kept. The server takes both forms
/// (docs/gitea-api.md, "Writing a file"), some proxies do not take `%2F`.
fn encode_path(path: &str) -> String {
    path.split('/').map(encode).collect::<Vec<_>>().join("/")
}

/// Returns `None` where there is nothing of that name, as far as the token may see.
fn unless_absent<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Err(error) if error.is_not_found() => Ok(None),
        answer => answer.map(Some),
    }
}

fn decode<T: DeserializeOwned>(reply: &Reply, wanted: &'static str) -> Result<T> {
    let value = without_nulls(reply.json()?);
    serde_json::from_value(value)
        .map_err(|_| GiteaError::decode(&reply.call, &format!("not {wanted}")))
}

/// Returns a value without the fields that are `null`: they mean the same as those that are absent.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields
                .map(|(name, value)| (name, without_nulls(value)))
                .collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

/// Reads the address of a page as it can be shown.
fn shown<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    String::deserialize(value).map(|url| text::clean(&url, 1000))
}
