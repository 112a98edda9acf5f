//! What goes wrong on purpose: faults that change how a request is answered, and hooks that run
//! while it is.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::http::{Request, Response, lock};

/// Which requests meet which effect.
///
/// ```
/// use fakes::{Effect, Fault};
/// // The third and fourth POST of a setup key are stored, and their answers lost.
/// let fault = Fault::on("POST", "/setup-keys").nth(3).times(2).then(Effect::CutAfter);
/// ```
#[derive(Clone, Debug)]
pub struct Fault {
    target: Target,
    nth: usize,
    times: usize,
    seen: usize,
    effect: Effect,
}

/// How a request is answered otherwise than by the fake itself.
#[derive(Clone, Debug)]
pub enum Effect {
    /// This status with this JSON body; nothing is done.
    Status(u16, serde_json::Value),
    /// This status without a body, as Gitea refuses the edit of another's comment; nothing is done.
    Empty(u16),
    /// Any answer; nothing is done.
    Raw(Response),
    /// 429, with `Retry-After` in seconds if there is one; nothing is done.
    TooManyRequests {
        /// Seconds. NetBird itself sends none, a proxy before it may.
        retry_after: Option<u64>,
    },
    /// 500; nothing is done.
    ErrorBefore,
    /// 500, although it was done.
    ErrorAfter,
    /// The connection is closed; nothing is done.
    CutBefore,
    /// It is done, and the connection closed without an answer.
    CutAfter,
    /// It is done, and the connection closed after half of the bytes of the answer.
    CutBody,
    /// A page in HTML, as proxies send it (502, but also 200); nothing is done.
    Html(u16),
    /// Done and answered after this time; but not done where the client has hung up by then.
    Slow(Duration),
    /// Done at once, and answered after this time.
    SlowAfter(Duration),
    /// This status (301, 302, 307, 308) with this `Location`; nothing is done.
    Redirect(u16, String),
    /// This status with what was asked in the message, headers and body too, plain and percent-encoded; nothing is done.
    Echo(u16),
    /// It is done, and answered with half of the text, which is no JSON any more.
    CutJson,
    /// It is done, and answered with this JSON in the place of the right one.
    Otherwise(serde_json::Value),
    /// The last entry of each list of ids in the body is left out, and the rest is done.
    DropIds,
    /// The server ends: nothing is done, and connections are refused until the faults are cleared.
    Down,
}

impl Fault {
    /// Starts a fault of requests with this method, or `*` for any. A path that ends in `/` stands
    /// for everything below it (`/` for all), any other for itself alone. By default the effect is
    /// [`Effect::ErrorBefore`], once, at once.
    pub fn on(method: &str, path: &str) -> Fault {
        Fault {
            target: Target::new(method, path),
            nth: 1,
            times: 1,
            seen: 0,
            effect: Effect::ErrorBefore,
        }
    }

    /// Begins with the nth matching request from now, counted from 1.
    pub fn nth(mut self, nth: usize) -> Fault {
        self.nth = nth;
        self
    }

    /// Lasts for so many matching requests.
    pub fn times(mut self, times: usize) -> Fault {
        self.times = times;
        self
    }

    /// Lasts.
    pub fn always(self) -> Fault {
        self.times(usize::MAX)
    }

    /// What happens then.
    pub fn then(mut self, effect: Effect) -> Fault {
        self.effect = effect;
        self
    }
}

impl Effect {
    /// Returns the answer of those effects that keep the request from the fake.
    pub(crate) fn instead(&self, internal_error: &Response, request: &Request) -> Option<Response> {
        Some(match self {
            Effect::Echo(status) => {
                let headers: String = request
                    .headers
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}; "))
                    .collect();
                let body = String::from_utf8_lossy(&request.bytes);
                let percent: String = headers.bytes().map(|b| format!("%{b:02X}")).collect();
                let message = format!("{headers}{} {body} {percent}", headers.to_lowercase());
                Response::json(*status, &json!({"message": message, "code": status}))
            }
            Effect::Status(status, body) => Response::json(*status, body),
            Effect::Empty(status) => Response {
                status: *status,
                ..Response::default()
            },
            Effect::Raw(response) => response.clone(),
            Effect::TooManyRequests { retry_after } => {
                let response =
                    Response::json(429, &json!({"message": "too many requests", "code": 429}));
                match retry_after {
                    Some(seconds) => response.with("Retry-After", &seconds.to_string()),
                    None => response,
                }
            }
            Effect::ErrorBefore => internal_error.clone(),
            Effect::Html(status) => {
                let page = format!(
                    "<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>\n"
                );
                Response::new(*status, "text/html; charset=utf-8", page)
            }
            Effect::Redirect(status, location) => {
                Response::new(*status, "text/html; charset=utf-8", "").with("Location", location)
            }
            Effect::ErrorAfter
            | Effect::CutBefore
            | Effect::CutAfter
            | Effect::CutBody
            | Effect::CutJson
            | Effect::Otherwise(_)
            | Effect::DropIds
            | Effect::Down
            | Effect::Slow(_)
            | Effect::SlowAfter(_) => return None,
        })
    }
}

/// Returns a request whose body lacks the last entry of each list of texts.
pub(crate) fn without_last_ids(request: &Request) -> Request {
    fn drop_last(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Array(entries) => {
                if entries.iter().all(serde_json::Value::is_string) {
                    entries.pop();
                }
                entries.iter_mut().for_each(drop_last);
            }
            serde_json::Value::Object(fields) => fields.values_mut().for_each(drop_last),
            _ => {}
        }
    }
    let mut request = request.clone();
    if let Some(body) = &mut request.body {
        drop_last(body);
        request.bytes = body.to_string().into_bytes();
    }
    request
}

/// A method and a path, or everything below it.
#[derive(Clone, Debug)]
struct Target {
    method: String,
    path: String,
}

impl Target {
    fn new(method: &str, path: &str) -> Target {
        Target {
            method: method.to_owned(),
            path: path.to_owned(),
        }
    }

    fn is_met_by(&self, request: &Request) -> bool {
        (self.method == "*" || self.method == request.method)
            && (self.path == request.path
                || self.path.ends_with('/') && request.path.starts_with(&self.path))
    }
}

/// Whether a hook runs before the request is handled, or after that and before the answer is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Nothing is done yet.
    Before,
    /// It is done, and the client does not know yet.
    After,
}

/// Something that is run once, when a request comes by.
pub(crate) struct Hook {
    when: When,
    target: Target,
    run: Box<dyn FnOnce() + Send>,
}

impl Hook {
    pub(crate) fn new(when: When, method: &str, path: &str, run: Box<dyn FnOnce() + Send>) -> Hook {
        Hook {
            when,
            target: Target::new(method, path),
            run,
        }
    }
}

/// Something that is run at every request.
type Watcher = Arc<dyn Fn(&Request) + Send + Sync>;

/// The faults and hooks of one server.
#[derive(Default)]
pub(crate) struct Script {
    faults: Mutex<Vec<Fault>>,
    hooks: Mutex<Vec<Hook>>,
    watchers: Mutex<Vec<Watcher>>,
}

impl Script {
    pub(crate) fn add_fault(&self, fault: Fault) {
        lock(&self.faults).push(fault);
    }

    pub(crate) fn add_hook(&self, hook: Hook) {
        lock(&self.hooks).push(hook);
    }

    pub(crate) fn add_watcher(&self, watcher: impl Fn(&Request) + Send + Sync + 'static) {
        lock(&self.watchers).push(Arc::new(watcher));
    }

    pub(crate) fn clear(&self) {
        lock(&self.faults).clear();
        lock(&self.hooks).clear();
        lock(&self.watchers).clear();
    }

    /// Shows a request to all watchers, with no lock held: they may wait for each other.
    pub(crate) fn watch(&self, request: &Request) {
        let watchers = lock(&self.watchers).clone();
        for watcher in watchers {
            watcher(request);
        }
    }

    /// Counts the request with every fault that it matches, and returns the effect of the first
    /// whose turn it is.
    pub(crate) fn effect(&self, request: &Request) -> Option<Effect> {
        let mut effect = None;
        for fault in lock(&self.faults)
            .iter_mut()
            .filter(|fault| fault.target.is_met_by(request))
        {
            fault.seen += 1;
            let turn = fault.seen >= fault.nth && fault.seen - fault.nth < fault.times;
            if turn && effect.is_none() {
                effect = Some(fault.effect.clone());
            }
        }
        effect
    }

    /// Takes the hooks whose request this is, and runs them with no lock held: they may add hooks
    /// and send requests.
    pub(crate) fn run_hooks(&self, when: When, request: &Request) {
        let due: Vec<Hook> = lock(&self.hooks)
            .extract_if(.., |hook| {
                hook.when == when && hook.target.is_met_by(request)
            })
            .collect();
        for hook in due {
            (hook.run)();
        }
    }
}
