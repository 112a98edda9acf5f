//! The management API of NetBird: paths under `/api`, JSON in and out, errors by what they mean.
//!
//! Knows the transport, the refusals of the server (docs/netbird-api.md, "Requests and answers") and, in `objects`, the
//! fields of its answers that we read; what they mean is for `kind` and the rest.

mod error;
pub mod objects;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use secrecy::SecretString;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::base::{Entry, Listed, mask, percent_encoded};
use crate::wire::http::{BaseUrl, Client, Config, Method, Reply, Trouble, text};

pub use crate::wire::http::Token;
pub use error::ApiError;

/// What NetBird answers, or why it did not.
type Result<T, E = ApiError> = std::result::Result<T, E>;

/// A NetBird server and a token for it. Clones share connections; threads may share it.
#[derive(Debug, Clone)]
pub struct Api {
    client: Client,
    writes: Arc<AtomicU64>,
    /// When the server says that it answered last, in seconds since 1970; 0: it did not say.
    answered: Arc<AtomicI64>,
}

/// A setup key that was just made.
#[derive(Debug)]
pub struct NewKey {
    /// The object, without its `key`.
    pub object: Value,
    /// The key.
    pub secret: SecretString,
}

/// What the server says of itself.
#[derive(Debug)]
pub struct Greeting {
    /// Its version; a server that was built by hand says `development`.
    pub version: String,
    /// When it says it answered.
    pub server_time: Option<jiff::Timestamp>,
    /// How many requests are left and of how many, where something says so.
    pub rate_limit: Option<(u64, u64)>,
}

/// Returns the default settings for the server at `url`, written with or without `/api`.
///
/// Errors with a refusal ([`ApiError::is_url_refused`]) when no token may be sent there.
pub fn config(url: &str) -> Result<Config> {
    let mut config = Config::new(BaseUrl::parse(url, "/api")?);
    config.passes = error::policies_change;
    Ok(config)
}

impl Api {
    /// Returns a client. Makes no request itself.
    ///
    /// Errors when the proxy or the CA file of `config` cannot be read.
    pub fn new(config: Config, token: &Token) -> Result<Api> {
        Ok(Api {
            client: Client::new(config, "Token", token)?,
            writes: Arc::default(),
            answered: Arc::default(),
        })
    }

    /// Returns how many requests were made, each try counted.
    pub fn requests(&self) -> u64 {
        self.client.requests()
    }

    /// Returns the time by the server's clock, as of its last answer, and by ours where it did not say. Keys are created by the
    /// server's.
    pub fn now(&self) -> jiff::Timestamp {
        let said = Some(self.answered.load(Ordering::Relaxed)).filter(|second| *second != 0);
        let said = said.and_then(|second| jiff::Timestamp::from_second(second).ok());
        said.unwrap_or_else(jiff::Timestamp::now)
    }

    /// Returns how many writes were carried out, as far as answers told.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Returns the server's base URL, as in `https://host/api`.
    pub fn base(&self) -> &BaseUrl {
        self.client.base()
    }

    /// Returns the server's version, as in `0.77.1`, or `development`.
    pub fn version(&self) -> Result<String> {
        self.greet().map(|greeting| greeting.version)
    }

    /// Returns what the server says of itself.
    pub fn greet(&self) -> Result<Greeting> {
        let reply = self.success(Method::GET, "/instance/version", None)?;
        let answer = object(&reply)?;
        let version = answer["management_current_version"].as_str();
        Ok(Greeting {
            version: version.unwrap_or_default().to_owned(),
            server_time: reply.server_time(),
            rate_limit: reply.rate_limit(),
        })
    }

    /// Reads one object. `path` starts with a slash, as in `/dns/settings`, and may carry a query.
    pub fn get(&self, path: &str) -> Result<Value> {
        object(&self.success(Method::GET, path, None)?)
    }

    /// Reads one object, and when the server says it answered.
    pub fn get_at(&self, path: &str) -> Result<(Value, Option<jiff::Timestamp>)> {
        let reply = self.success(Method::GET, path, None)?;
        Ok((object(&reply)?, reply.server_time()))
    }

    /// Reads a list as texts, to be read one by one. `null` is an empty one (docs/netbird-api.md, "Null, empty and
    /// absent").
    pub fn list(&self, path: &str) -> Result<Vec<Entry>> {
        Ok(self.list_read::<IgnoredAny>(path)?.0)
    }

    /// Lists likewise, with what is read of each entry where all of them can be.
    pub fn list_read<T: DeserializeOwned>(&self, path: &str) -> Result<Listed<T>> {
        let mut reply = self.success(Method::GET, path, None)?;
        match reply.entries()? {
            Some(listed) => Ok(listed),
            // what is not a list is told by reading it whole
            None => Ok((list(&reply)?.into_iter().map(Entry::from).collect(), None)),
        }
    }

    /// Reads a list as a whole.
    pub fn values(&self, path: &str) -> Result<Vec<Value>> {
        list(&self.success(Method::GET, path, None)?)
    }

    /// Creates an object and returns it as the server has it. Never made again, but after a 429.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value> {
        object(&self.success(Method::POST, path, Some(body))?)
    }

    /// Replaces an object as a whole and returns it as the server has it.
    pub fn put(&self, path: &str, body: &Value) -> Result<Value> {
        object(&self.success(Method::PUT, path, Some(body))?)
    }

    /// Deletes an object.
    ///
    /// When the connection ends without an answer the request is made once more; if the first one arrived, the second
    /// is told that the object is gone ([`ApiError::is_gone`]): a success to whoever wants it deleted. Every deletion of
    /// NetBird is answered with `{}`; a page, or nothing, is the answer of something before it.
    pub fn delete(&self, path: &str) -> Result<()> {
        let reply = self.success(Method::DELETE, path, None)?;
        match reply.status {
            204 => Ok(()),
            _ => object(&reply).map(drop),
        }
    }

    /// Creates a setup key. No other answer ever has the whole key (docs/netbird-api.md, "Setup keys").
    ///
    /// Errors with [`Trouble::KeyUnusable`] when the key is masked or is not a UUID.
    pub fn create_key(&self, path: &str, body: &Value) -> Result<NewKey> {
        let reply = self.success(Method::POST, path, Some(body))?;
        let mut object = object(&reply)?;
        let fields = object.as_object_mut();
        let key = match fields.and_then(|fields| fields.remove("key")) {
            Some(Value::String(key)) => {
                mask::remember(&key);
                whole_key(key.into())
            }
            _ => Err("is not in the answer"),
        };
        match key {
            Ok(secret) => Ok(NewKey { object, secret }),
            Err(problem) => {
                let text = format!(
                    "{}: the setup key was created, but its secret {problem}",
                    reply.call
                );
                let id = object["id"].as_str().map(|id| text::clean(id, 100));
                Err(ApiError::not_made(Trouble::KeyUnusable(id), text, None))
            }
        }
    }

    fn success(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply> {
        let reply = self.client.send(method, path, body)?;
        if let Some(error) = ApiError::of_netbird(&reply) {
            return Err(error);
        }
        if let Some(time) = reply.server_time() {
            self.answered.store(time.as_second(), Ordering::Relaxed);
        }
        if !reply.call.method.is_safe() {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(reply)
    }
}

/// Returns major and minor; `None` of a text that is not a version, as a server built by hand answers.
pub(crate) fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split(['.', '+', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn object(reply: &Reply) -> Result<Value> {
    match reply.json()? {
        value @ Value::Object(_) => Ok(value),
        other => Err(decode(reply, "an object", &other)),
    }
}

fn list(reply: &Reply) -> Result<Vec<Value>> {
    match reply.json()? {
        Value::Array(items) => Ok(items),
        Value::Null => Ok(Vec::new()),
        other => Err(decode(reply, "a list", &other)),
    }
}

/// The error of an answer of another form. It shows no value.
fn decode(reply: &Reply, wanted: &str, found: &Value) -> ApiError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    ApiError::decode(&reply.call, &format!("{found}, not {wanted}"))
}

/// Checks that a key is whole: a UUID of 36 characters, with no star of the masked form.
fn whole_key(key: SecretString) -> Result<SecretString, &'static str> {
    use secrecy::ExposeSecret;
    let text = key.expose_secret();
    if text.contains('*') {
        return Err("is masked with stars");
    }
    match mask::is_key(text.as_bytes()) {
        true => Ok(key),
        false => Err("is not a UUID"),
    }
}

/// Returns the path of one object, as in `/groups/ch8i4ug6lnn4g9hqv7m0`, with the id percent-encoded.
///
/// Errors when the id is empty, `.` or `..`: the path would be another one's.
pub fn object_path(collection: &str, id: &str) -> Result<String> {
    if matches!(id, "" | "." | "..") {
        let text = format!("an object of {collection} has an id that fits no path");
        return Err(ApiError::not_made(Trouble::Setting, text, None));
    }
    Ok(format!("{collection}/{}", percent_encoded(id)))
}
