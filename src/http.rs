//! JSON over HTTP: one server, one token, bounded waiting, errors that say whether a write may have happened.
//!
//! [`Client::send`] makes a request and returns the [`Reply`] of any status but a redirect; what a status means is for
//! the modules above ([`crate::api`] for NetBird). What ureq does by default and this turns off, with reasons, is in
//! crates.md, "ureq 3.5".

mod error;
mod proxy;
mod reply;
mod retry;
#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod tls;
mod token;
mod url;

use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::{HeaderValue, Response, header};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body};
use zeroize::Zeroizing;

pub use error::{Delivery, Error};
pub use proxy::{Choice, ProxySetting, choose as choose_proxy};
pub use reply::{Call, Reply};
pub use retry::Retry;
pub use token::{Token, TokenError};
pub use url::{BaseUrl, UrlProblem, UrlRefused};

use error::{Failure, Phase, judge};
use retry::{Outcome, Tries, Wait};

/// What this program calls itself. NetBird lifts its rate limit for names with "terraform" in them (netbird-api.md
/// §0.4); we are not that.
pub const USER_AGENT: &str = concat!("netbird-gitops/", env!("CARGO_PKG_VERSION"));

/// A method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads.
    Get,
    /// Creates.
    Post,
    /// Replaces as a whole.
    Put,
    /// Changes parts (Gitea has it, NetBird does not).
    Patch,
    /// Deletes.
    Delete,
}

impl Method {
    /// Does it change something?
    pub fn writes(self) -> bool {
        self != Method::Get
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        })
    }
}

/// The settings of a client.
#[derive(Debug, Clone)]
pub struct Config {
    /// The server.
    pub base: BaseUrl,
    /// The `User-Agent` header.
    pub user_agent: String,
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
    /// The largest answer, decompressed, in bytes.
    pub max_body_bytes: u64,
    /// How many connections are kept open between requests: as many as there are threads.
    pub idle_connections: usize,
}

impl Config {
    /// Returns the defaults for a server: 10 s to connect, 60 s in all, the proxy of the environment, 256 MiB (a list of
    /// 10,000 events has 3 MiB, netbird-api.md §19), 8 connections.
    pub fn new(base: BaseUrl) -> Config {
        Config {
            base,
            user_agent: USER_AGENT.to_owned(),
            connect_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(60),
            ca_file: None,
            proxy: ProxySetting::Environment,
            retry: Retry::default(),
            max_body_bytes: 256 << 20,
            idle_connections: 8,
        }
    }
}

/// A client of one server. Clones share connections, token and count; threads may share it.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    agent: Agent,
    config: Config,
    authorization: HeaderValue,
    requests: AtomicU64,
}

impl Client {
    /// Returns a client that sends `Authorization: SCHEME TOKEN` with each request. Makes no request itself.
    ///
    /// Errors when the proxy or the CA file cannot be read.
    pub fn new(config: Config, scheme: &str, token: &Token) -> Result<Client, Error> {
        let mut builder = Agent::config_builder()
            // As an error, a status would lose headers and body.
            .http_status_as_error(false)
            // The redirect comes back as an answer: see Error::Redirected.
            .max_redirects(0)
            .https_only(config.base.is_https())
            .timeout_resolve(Some(config.connect_timeout))
            .timeout_connect(Some(config.connect_timeout))
            .timeout_global(Some(config.total_timeout))
            .max_idle_connections(config.idle_connections)
            .max_idle_connections_per_host(config.idle_connections)
            .user_agent(&config.user_agent)
            .accept("application/json")
            .proxy(proxy::resolve(&config.proxy, &config.base)?);
        if config.base.is_https() {
            let roots = tls::roots(config.ca_file.as_deref())?;
            builder = builder.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        Ok(Client(Arc::new(Inner {
            agent: builder.build().into(),
            authorization: token.authorization(scheme),
            config,
            requests: AtomicU64::new(0),
        })))
    }

    /// Returns how many requests were made, each try counted.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Returns the server's base URL.
    pub fn base(&self) -> &BaseUrl {
        &self.0.config.base
    }

    /// Makes a request, again where that is safe and may help, and returns the complete answer.
    ///
    /// `path` starts with a slash, is percent-encoded, and may carry a query. Errors when there is no complete answer
    /// or when it is a redirect.
    pub fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, Error> {
        let Inner {
            config, requests, ..
        } = &*self.0;
        let url = config.base.join(path);
        let call = Call {
            method,
            url: url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        };
        let body = body.map(|body| serde_json::to_vec(body).expect("a JSON value can be written"));
        let mut tries = Tries::default();
        for retries in 0.. {
            requests.fetch_add(1, Ordering::Relaxed);
            let start = Instant::now();
            let result = self.once(&call, &url, body.as_deref());
            log_try(&call, &result, start.elapsed(), retries);
            let (outcome, retry_after) = outcome(&result);
            let Some(wait) = tries.next(&config.retry, method, outcome, retry_after) else {
                return result
                    .map_err(|failure| failed(failure, call, config))
                    .and_then(refuse_redirect);
            };
            log_wait(&call, &result, &wait);
            (config.retry.sleep)(wait.delay);
        }
        unreachable!("the waits are bounded")
    }

    /// Makes one try.
    fn once(&self, call: &Call, url: &str, body: Option<&[u8]>) -> Result<Reply, Failure> {
        let Inner {
            agent,
            config,
            authorization,
            ..
        } = &*self.0;
        let judged = |phase| move |e: ureq::Error| judge(&e, phase, config.total_timeout);
        let response =
            send(agent, authorization, call.method, url, body).map_err(judged(Phase::Call))?;
        let (head, body) = response.into_parts();
        let body = read_all(body, config.max_body_bytes).map_err(judged(Phase::Body))?;
        Ok(Reply::new(
            call.clone(),
            head.status.as_u16(),
            head.headers,
            body,
            config.base.at_root(),
        ))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.0.config.base)
            .finish_non_exhaustive()
    }
}

fn send(
    agent: &Agent,
    authorization: &HeaderValue,
    method: Method,
    url: &str,
    body: Option<&[u8]>,
) -> Result<Response<Body>, ureq::Error> {
    let without_body = match method {
        Method::Get => agent.get(url),
        Method::Delete => agent.delete(url),
        Method::Post | Method::Put | Method::Patch => {
            let builder = match method {
                Method::Post => agent.post(url),
                Method::Put => agent.put(url),
                _ => agent.patch(url),
            };
            let builder = builder.header(header::AUTHORIZATION, authorization);
            return match body {
                Some(body) => builder.content_type("application/json").send(body),
                None => builder.send_empty(),
            };
        }
    };
    let builder = without_body.header(header::AUTHORIZATION, authorization);
    match body {
        // Gitea takes the commit message of a deletion as its body.
        Some(body) => builder
            .force_send_body()
            .content_type("application/json")
            .send(body),
        None => builder.call(),
    }
}

/// Reads a body to its end, without which its connection could not be used again.
///
/// Answers with a key are small: with room from the start the buffer never moves, and leaves no copy behind.
fn read_all(body: Body, limit: u64) -> Result<Zeroizing<Vec<u8>>, ureq::Error> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(16 << 10));
    body.into_with_config()
        .limit(limit)
        .reader()
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns what the policy of retries needs to know.
fn outcome(result: &Result<Reply, Failure>) -> (Outcome, Option<Duration>) {
    match result {
        Ok(reply) => {
            let now = reply.server_time.unwrap_or_else(jiff::Timestamp::now);
            let retry_after = reply
                .header("retry-after")
                .and_then(|value| retry::retry_after(value, now));
            (Outcome::Answered(reply.status), retry_after)
        }
        Err(failure) if failure.disconnected => (Outcome::Disconnected, None),
        Err(failure) if failure.passing => (Outcome::Passing, None),
        Err(_) => (Outcome::Lasting, None),
    }
}

fn failed(failure: Failure, call: Call, config: &Config) -> Error {
    let Failure {
        delivery,
        cause,
        timeout,
        tls,
        too_big,
        disconnected: _,
        passing: _,
    } = failure;
    if too_big {
        Error::TooBig {
            call,
            limit: config.max_body_bytes,
        }
    } else if tls {
        Error::Tls {
            call,
            cause,
            delivery,
        }
    } else {
        Error::Transport {
            call,
            delivery,
            cause,
            timeout,
        }
    }
}

fn refuse_redirect(reply: Reply) -> Result<Reply, Error> {
    if !(300..400).contains(&reply.status) {
        return Ok(reply);
    }
    // Host only: the rest may hold what is not for a log.
    let location = reply
        .header("location")
        .filter(|to| to.contains("//"))
        .map(|to| {
            let to = url::without_secrets(to);
            let host = to.find("//").map_or(0, |at| at + 2);
            let end = to[host..].find('/').map_or(to.len(), |at| host + at);
            to[..end].to_owned()
        });
    let location = location.filter(|location| location != reply.call.url_origin());
    let path = reply.header("location").and_then(|to| {
        let to = to.split(['?', '#']).next().unwrap_or_default();
        let start = to.find("//").map_or(0, |at| at + 2);
        Some(text::clean(&to[start + to[start..].find('/')?..], 1000))
    });
    Err(Error::Redirected {
        status: reply.status,
        location,
        path,
        call: reply.call,
    })
}

/// One line a try; never the token, a query or a body.
fn log_try(call: &Call, result: &Result<Reply, Failure>, took: Duration, retries: u32) {
    let (method, path, ms) = (
        call.method.to_string(),
        call.path(),
        took.as_millis() as u64,
    );
    match result {
        Ok(Reply {
            status, request_id, ..
        }) => {
            let request_id = request_id.as_deref().unwrap_or("");
            log::debug!(method, path, status, ms, request_id, retries; "request");
        }
        Err(Failure { cause, .. }) => {
            log::debug!(method, path, error = cause.as_str(), ms, retries; "request");
        }
    }
}

fn log_wait(call: &Call, result: &Result<Reply, Failure>, wait: &Wait) {
    let Wait {
        delay,
        number,
        of,
        throttled,
    } = *wait;
    let what = match result {
        Ok(reply) => reply.status.to_string(),
        Err(failure) => failure.cause.clone(),
    };
    let (method, path, secs) = (call.method, call.path(), delay.as_secs_f64());
    if throttled {
        log::warn!("{what} from {method} {path}: waiting {secs} s ({number} of {of})");
    } else {
        log::info!("{what} from {method} {path}: trying again in {secs:.1} s ({number} of {of})");
    }
}
