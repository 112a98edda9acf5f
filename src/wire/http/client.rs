//! The client: makes a request, watches what becomes of it, makes it again by the policy of [`super::Retry`].

use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::{HeaderValue, Response, header};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body};
use zeroize::Zeroizing;

use crate::base::budget::{Budget, Share};

use super::classify::{Failure, Phase, classify};
use super::retry::{Outcome, Tries, Wait};
use super::{BaseUrl, Call, Config, Error, Method, Reply, Token, proxy, retry, tls, url_refused};

/// A client of one server. Clones share connections, token and count; threads may share it.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    agent: Agent,
    config: Config,
    authorization: HeaderValue,
    token_origin: Option<Arc<str>>,
    budget: Arc<Budget>,
    /// What the proxy is called that requests go through, if there is one.
    proxy: Option<String>,
    requests: AtomicU64,
}

impl Client {
    /// Returns a client that sends `Authorization: SCHEME TOKEN` with each request. Makes no request itself.
    ///
    /// Errors when the proxy or the CA file cannot be read.
    pub fn new(config: Config, scheme: &str, token: &Token) -> Result<Client, Error> {
        let (proxy, proxy_name) = proxy::resolve(&config.proxy, &config.base)?.unzip();
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
            .user_agent(super::USER_AGENT)
            .accept("application/json")
            .proxy(proxy);
        if config.base.is_https() {
            let roots = tls::roots(config.ca_file.as_deref())?;
            builder = builder.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        Ok(Client(Arc::new(Inner {
            agent: builder.build().into(),
            authorization: token.authorization(scheme),
            token_origin: token.origin(),
            proxy: proxy_name,
            budget: Budget::new(config.max_held_bytes),
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

    /// Waits as before a try again: `n` counts from 0, and each wait is twice as long as the one before.
    pub fn pause(&self, n: u32) {
        let retry = &self.0.config.retry;
        (retry.sleep)(retry::backoff(retry.base, n, retry::random()));
    }

    /// Makes a request, again where that is safe and may help, and returns the complete answer.
    ///
    /// `path` starts with a slash, is percent-encoded, and may carry a query. The body of a GET is not sent. Errors when
    /// there is no complete answer or when it is a redirect.
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
        let mut retries = 0_u32;
        loop {
            requests.fetch_add(1, Ordering::Relaxed);
            let start = Instant::now();
            let result = self.once(&call, &url, body.as_deref());
            log_try(&call, &result, start.elapsed(), retries);
            let (outcome, retry_after) = outcome(&result, config.passes);
            let Some(wait) = tries.next(&config.retry, method, outcome, retry_after) else {
                let reply = result.map_err(|failure| failure.error);
                return reply.and_then(refuse_redirect);
            };
            log_wait(&call, &result, &wait);
            (config.retry.sleep)(wait.delay);
            retries += 1;
        }
    }

    /// Makes one try.
    fn once(&self, call: &Call, url: &str, body: Option<&[u8]>) -> Result<Reply, Failure> {
        let Inner {
            agent,
            config,
            authorization,
            token_origin,
            budget,
            proxy,
            ..
        } = &*self.0;
        let classified = |phase| {
            move |e: ureq::Error| classify(&e, phase, call, config).through(proxy.as_deref())
        };
        let response =
            send(agent, authorization, call.method, url, body).map_err(classified(Phase::Call))?;
        let (head, body) = response.into_parts();
        let mut share = budget.share();
        let body = read_all(body, config.max_body_bytes, &mut share);
        let body = body.map_err(classified(Phase::Body))?;
        let mut reply = Reply::new(
            call.clone(),
            head.status.as_u16(),
            head.headers,
            body,
            config.base.at_root(),
        );
        reply.token_origin.clone_from(token_origin);
        reply.share = share;
        Ok(reply)
    }
}

/// How much of a body is read at a time, in bytes.
const PIECE: u64 = 64 << 10;

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
    let builder = match method {
        Method::Get => {
            return agent
                .get(url)
                .header(header::AUTHORIZATION, authorization)
                .call();
        }
        Method::Delete if body.is_none() => {
            return agent
                .delete(url)
                .header(header::AUTHORIZATION, authorization)
                .call();
        }
        // Gitea takes the commit message of a deletion as its body.
        Method::Delete => agent.delete(url).force_send_body(),
        Method::Post => agent.post(url),
        Method::Put => agent.put(url),
        Method::Patch => agent.patch(url),
    };
    let builder = builder.header(header::AUTHORIZATION, authorization);
    match body {
        Some(body) => builder.content_type("application/json").send(body),
        None => builder.send_empty(),
    }
}

/// Reads a body to its end, without which its connection could not be used again.
///
/// What the server says of its length is its word alone: room is made as it comes, and what it has is counted against the budget
/// for all answers. Answers with a key are small: with room from the start the buffer never moves, and leaves no copy behind.
fn read_all(body: Body, limit: u64, share: &mut Share) -> Result<Zeroizing<Vec<u8>>, ureq::Error> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(PIECE as usize));
    let mut reader = body.into_with_config().limit(limit).reader();
    loop {
        let read = reader.by_ref().take(PIECE).read_to_end(&mut bytes)?;
        if read == 0 {
            return Ok(bytes);
        }
        share.grow(read as u64).map_err(std::io::Error::other)?;
    }
}

/// Returns what the policy of retries needs to know.
fn outcome(
    result: &Result<Reply, Failure>,
    passes: fn(&Reply) -> bool,
) -> (Outcome, Option<Duration>) {
    match result {
        Ok(reply) if passes(reply) => (Outcome::Passing, None),
        Ok(reply) => {
            let now = reply.server_time.unwrap_or_else(jiff::Timestamp::now);
            let retry_after = reply
                .header("retry-after")
                .and_then(|value| retry::retry_after(value, now));
            (Outcome::Answered(reply.status), retry_after)
        }
        Err(failure) => (failure.outcome, None),
    }
}

fn refuse_redirect(reply: Reply) -> Result<Reply, Error> {
    if !(300..400).contains(&reply.status) {
        return Ok(reply);
    }
    let location = reply.header("location").and_then(origin);
    let location = location.filter(|location| location != reply.call.url_origin());
    let path = reply.header("location").and_then(|to| {
        let to = to.split(['?', '#']).next().unwrap_or_default();
        let start = to.find("//").map_or(0, |at| at + 2);
        Some(super::text::clean(
            &to[start + to[start..].find('/')?..],
            1000,
        ))
    });
    Err(Error::Redirected {
        path,
        status: reply.status,
        location,
        call: reply.call,
    })
}

/// Returns scheme and host of a `Location`, `None` when it has none. The rest may hold what is not for a log.
fn origin(location: &str) -> Option<String> {
    let location = url_refused::without_secrets(location);
    let (scheme, rest) = location.split_once("//")?;
    if !scheme.is_empty() && (!scheme.ends_with(':') || scheme.contains('/')) {
        return None;
    }
    Some(format!(
        "{scheme}//{}",
        rest.split('/').next().unwrap_or_default()
    ))
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
        Err(failure) => {
            log::debug!(method, path, error = failure.cause().as_str(), ms, retries; "request");
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
        Err(failure) => failure.cause(),
    };
    let (method, path, secs) = (call.method, call.path(), delay.as_secs_f64());
    if throttled {
        log::warn!("{what} from {method} {path}: waiting {secs} s ({number} of {of})");
    } else {
        log::info!("{what} from {method} {path}: trying again in {secs:.1} s ({number} of {of})");
    }
}
