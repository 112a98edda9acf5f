//! The client: makes a request, watches what becomes of it, makes it again by the policy of [`super::Retry`].

use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::{HeaderValue, Request, header};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body};
use zeroize::Zeroizing;

use crate::base::{Budget, Share};

use super::error::classify;
use super::retry::{Tries, TryEnd, Wait};
use super::{
    BaseUrl, Call, Config, HttpError, Method, Reply, Result, Token, Trouble, proxy, retry, text,
    tls, url,
};

/// Bytes of a buffer of a connection. The headers of an answer are no longer.
const BUFFER: usize = 32 * 1024;

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
    /// The wait before a read is tried again for the first time.
    pub fn retry_base(&self) -> Duration {
        self.0.config.retry.base
    }

    /// Returns a client that sends `Authorization: SCHEME TOKEN` with each request. Makes no request itself.
    ///
    /// Errors when the proxy or the CA file cannot be read.
    pub fn new(config: Config, scheme: &str, token: &Token) -> Result<Client> {
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
            // each connection fills its buffers with zeros first
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
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
    /// `path` starts with a slash, is percent-encoded, and may carry a query. A GET has no body. Errors when there is no
    /// complete answer or when it is a redirect.
    pub fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply> {
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
            let (result, end) = match self.once(&call, &url, body.as_deref()) {
                Ok(reply) if (config.passes)(&reply) => (Ok(reply), TryEnd::Passing),
                Ok(reply) => {
                    let end = TryEnd::Answered(reply.status);
                    (Ok(reply), end)
                }
                Err((error, end)) => (Err(error), end),
            };
            log_try(&call, &result, start.elapsed(), retries);
            let retry_after = result.as_ref().ok().and_then(Reply::retry_after);
            let Some(wait) = tries.next(&config.retry, &call.method, end, retry_after) else {
                return result.and_then(refuse_redirect);
            };
            log_wait(&call, &result, &wait);
            (config.retry.sleep)(wait.delay);
            retries += 1;
        }
    }

    /// Makes one try.
    fn once(
        &self,
        call: &Call,
        url: &str,
        body: Option<&[u8]>,
    ) -> Result<Reply, (HttpError, TryEnd)> {
        let inner = &*self.0;
        let classified = |error: &ureq::Error, in_body| {
            classify(error, in_body, call, &inner.config, inner.proxy.as_deref())
        };
        let request = Request::builder().method(&call.method).uri(url);
        let request = request.header(header::AUTHORIZATION, &inner.authorization);
        let body = match call.method {
            Method::GET | Method::DELETE => body,
            _ => Some(body.unwrap_or_default()),
        };
        let respond = || match body {
            None => inner.agent.run(request.body(())?),
            Some(body) => {
                let request = request.header(header::CONTENT_TYPE, "application/json");
                inner.agent.run(request.body(body)?)
            }
        };
        let response = respond().map_err(|error| classified(&error, false))?;
        let (head, body) = response.into_parts();
        let mut share = inner.budget.share();
        let body = read_all(body, inner.config.max_body_bytes, &mut share);
        Ok(Reply {
            call: call.clone(),
            status: head.status.as_u16(),
            token_origin: inner.token_origin.clone(),
            headers: head.headers,
            body: body.map_err(|error| classified(&error, true))?,
            share,
        })
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

fn refuse_redirect(reply: Reply) -> Result<Reply> {
    if !(300..400).contains(&reply.status) {
        return Ok(reply);
    }
    let call = &reply.call;
    let to = reply.header("location").unwrap_or_default();
    let origin = origin(to).filter(|origin| origin != call.url_origin());
    let mut said = format!("{call}: {} redirect", reply.status);
    let hint = match &origin {
        None => "redirects are not followed: is the path of the URL right?".to_owned(),
        Some(origin) => {
            said.push_str(&format!(" to {origin}"));
            match *origin == call.url_origin().replacen("http://", "https://", 1) {
                true => format!("write the URL with {origin}"),
                false => format!(
                    "redirects are not followed, so that the token stays with one host: give the URL of the API itself, at \
                     {origin} if that is the server"
                ),
            }
        }
    };
    let to = to.split(['?', '#']).next().unwrap_or_default();
    let start = to.find("//").map_or(0, |at| at + 2);
    let path = to[start..].find('/').filter(|_| origin.is_none());
    let path = path.map(|at| text::clean(&to[start + at..], 1000));
    Err(HttpError::not_made(
        Trouble::Redirected(path),
        said,
        Some(hint),
    ))
}

/// Returns scheme and host of a `Location`, `None` when it has none. The rest may hold what is not for a log.
fn origin(location: &str) -> Option<String> {
    let location = url::without_secrets(location);
    let (scheme, rest) = location.split_once("//")?;
    let is_scheme = scheme.is_empty() || (scheme.ends_with(':') && !scheme.contains('/'));
    let host = rest.split('/').next().unwrap_or_default();
    is_scheme.then(|| format!("{scheme}//{host}"))
}

/// One line a try; never the token, a query or a body.
fn log_try(call: &Call, result: &Result<Reply>, took: Duration, retries: u32) {
    let (method, path) = (call.method.to_string(), call.path());
    let ms = took.as_millis() as u64;
    match result {
        Ok(reply) => {
            // what is not logged is not looked for secrets
            let id = || reply.request_id().unwrap_or_default();
            log::debug!(method, path, status = reply.status, ms, request_id = id(), retries; "request");
        }
        Err(error) => {
            log::debug!(method, path, error = error.cause(call), ms, retries; "request");
        }
    }
}

fn log_wait(call: &Call, result: &Result<Reply>, wait: &Wait) {
    let (number, of, secs) = (wait.number, wait.of, wait.delay.as_secs_f64());
    let what = match result {
        Ok(reply) => reply.status.to_string(),
        Err(error) => error.cause(call).to_owned(),
    };
    let (method, path) = (&call.method, call.path());
    if wait.is_throttled {
        log::warn!("{what} from {method} {path}: waiting {secs} s ({number} of {of})");
    } else {
        log::info!("{what} from {method} {path}: trying again in {secs:.1} s ({number} of {of})");
    }
}
