//! A small HTTP/1.1 server for fakes: a thread per connection, keep-alive, a log of requests,
//! faults and hooks.
//!
//! It knows no API. A fake gives it a handler, which turns a [`Request`] into a [`Response`], and
//! forwards the calls of tests to it. How bytes become requests is left to `wire`, which request
//! meets which fault to `crate::fault`.

mod wire;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::fault::{Effect, Fault, Hook, Script, When, without_last_ids};
use wire::{Connection, Part};

/// One request, as it came and as the log keeps it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The path without the base of the API (`/groups`, not `/api/groups`), as sent, percent signs
    /// included. A path outside the API is kept whole.
    pub path: String,
    /// Whether the path began with the base of the API.
    pub in_api: bool,
    /// What stood after `?`, or `""`.
    pub query: String,
    /// The body where it is JSON.
    pub body: Option<Value>,
    /// The status of the answer; 0 before there is one, and where the connection was closed without
    /// one.
    pub status: u16,
    /// Header names in lower case, and their values.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub bytes: Vec<u8>,
}

impl Request {
    /// Returns the value of a header; `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// `PUT /groups/d2m6… {"name":"ops"} → 200`, one line for snapshots.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request {
            method,
            path,
            in_api: _,
            query,
            body,
            status,
            headers: _,
            bytes: _,
        } = self;
        let mark = if query.is_empty() { "" } else { "?" };
        write!(f, "{method} {path}{mark}{query}")?;
        if let Some(body) = body {
            write!(f, " {body}")?;
        }
        write!(f, " → {status}")
    }
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Headers beyond `Content-Length` and `Transfer-Encoding`, which the server adds.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns an answer with this content type and body.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Response {
        Response {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
        .with("Content-Type", content_type)
    }

    /// Returns an answer in JSON, as Go's servers write it: compact, with a newline at the end.
    pub fn json(status: u16, body: &Value) -> Response {
        Response::new(
            status,
            "application/json; charset=UTF-8",
            format!("{body}\n"),
        )
    }

    /// The same with the first half of its body.
    fn halved(mut self) -> Response {
        self.body.truncate(self.body.len() / 2);
        self
    }

    /// Adds a header.
    pub fn with(mut self, name: &str, value: &str) -> Response {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// What a fake does with a request. `None` closes the connection without an answer.
pub type Handler = dyn Fn(&Request) -> Option<Response> + Send + Sync;

/// A server on the loopback interface. Dropping it frees the port and closes every connection.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What the threads of one server share.
struct Shared {
    base: &'static str,
    internal_error: Response,
    handler: Box<Handler>,
    script: Script,
    log: Mutex<Log>,
    open: Mutex<HashMap<u64, TcpStream>>,
    stopped: Mutex<Stopped>,
    stop: Condvar,
    /// Whether it refuses connections, and whether it is meant to.
    down: Mutex<Down>,
    turned: Condvar,
    rested: Condvar,
    /// Whether a thread of a connection has panicked.
    failed: AtomicBool,
    address: SocketAddr,
}

/// Whether a server was dropped, and whether nobody waits for slow answers any more.
#[derive(Clone, Copy, Default)]
struct Stopped {
    ends: bool,
    hurries: bool,
}

/// Whether a server refuses connections, and whether it is meant to.
#[derive(Clone, Copy, Default)]
struct Down {
    is: bool,
    meant: bool,
}

/// Requests in the order of arrival. `first` numbers the first of them, so that clearing does not
/// confuse those that are still being answered.
#[derive(Default)]
struct Log {
    first: u64,
    requests: Vec<Request>,
}

impl Server {
    /// Starts a server on 127.0.0.1. `port` 0 takes any free one. `base` (`/api`) is cut off the
    /// paths of requests. `internal_error` is what [`Effect::ErrorBefore`] and
    /// [`Effect::ErrorAfter`] send.
    pub fn start(
        port: u16,
        base: &'static str,
        internal_error: Response,
        handler: Box<Handler>,
    ) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            base,
            internal_error,
            handler,
            script: Script::default(),
            log: Mutex::default(),
            open: Mutex::default(),
            stopped: Mutex::default(),
            stop: Condvar::new(),
            down: Mutex::default(),
            turned: Condvar::new(),
            rested: Condvar::new(),
            failed: AtomicBool::new(false),
            address,
        });
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let mut listener = Some(listener);
                while let Some(open) = listener.take() {
                    accept(open, &shared);
                    listener = shared.listen_again();
                }
            }
        });
        Ok(Server {
            address,
            shared,
            acceptor: Some(acceptor),
        })
    }

    /// Returns `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.log).requests.clone()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        let mut log = lock(&self.shared.log);
        log.first += log.requests.len() as u64;
        log.requests.clear();
    }

    /// Adds a fault. Of several that match one request, the first added takes effect.
    pub fn fault(&self, fault: Fault) {
        self.shared.script.add_fault(fault);
    }

    /// Shows each request to `run` from now on, when it arrives and before anything is done. No lock is held
    /// meanwhile, so it may wait for another request.
    pub fn watch(&self, run: impl Fn(&Request) + Send + Sync + 'static) {
        self.shared.script.add_watcher(run);
    }

    /// Ends every wait, and returns once all connections are closed, which is when their clients are gone; then takes back all
    /// faults, hooks and watchers.
    pub fn quiesce(&self) {
        self.shared.hurry(true);
        let open = lock(&self.shared.open);
        drop(self.shared.rested.wait_while(open, |open| !open.is_empty()));
        self.shared.hurry(false);
        self.clear_faults();
    }

    /// Takes back all faults, hooks and watchers.
    pub fn clear_faults(&self) {
        self.shared.script.clear();
        self.shared.turn(false);
    }

    /// Runs `run` once, when the next request of this method and path arrives, or after it was
    /// handled. No lock is held meanwhile, so it may do anything.
    pub fn hook(&self, when: When, method: &str, path: &str, run: impl FnOnce() + Send + 'static) {
        self.shared
            .script
            .add_hook(Hook::new(when, method, path, Box::new(run)));
    }
}

/// Panics where a hook or a watcher has: to the client such a request was cut off, and it may have tried again.
impl Drop for Server {
    fn drop(&mut self) {
        self.shared.turn(false);
        lock(&self.shared.stopped).ends = true;
        self.shared.stop.notify_all();
        // A connection of our own wakes the acceptor, which then sees that it is to end and drops
        // the listener.
        let woken = TcpStream::connect(self.address);
        if let (Ok(_), Some(acceptor)) = (woken, self.acceptor.take()) {
            // An acceptor that panicked has dropped the listener as well.
            let _ = acceptor.join();
        }
        for stream in lock(&self.shared.open).values() {
            // The other side may have closed it already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let failed = self.shared.failed.load(Ordering::Relaxed);
        assert!(
            !failed || thread::panicking(),
            "a hook or a watcher panicked, see above"
        );
    }
}

/// Accepts connections until the server is dropped or goes down.
fn accept(listener: TcpListener, shared: &Arc<Shared>) {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    for stream in listener.incoming() {
        if lock(&shared.stopped).ends || lock(&shared.down).meant {
            return;
        }
        // A client that is gone before it was accepted is its own affair.
        let Ok(stream) = stream else { continue };
        let Ok(handle) = stream.try_clone() else {
            continue;
        };
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        lock(&shared.open).insert(number, handle);
        let guard = OpenConnection {
            shared: Arc::clone(shared),
            number,
        };
        thread::spawn(move || {
            // Errors of the connection are the client's to notice.
            let _ = guard.shared.talk(stream);
        });
    }
}

/// Closes its connection when dropped, also when the thread panics in a hook.
struct OpenConnection {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if thread::panicking() {
            self.shared.failed.store(true, Ordering::Relaxed);
        }
        if let Some(stream) = lock(&self.shared.open).remove(&self.number) {
            // The other side may have closed it already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.shared.rested.notify_all();
    }
}

impl Shared {
    /// Refuses connections from here on, and closes those that are open.
    fn go_down(&self) {
        self.turn(true);
        for stream in lock(&self.open).values() {
            // The other side may have closed it already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn hurry(&self, hurries: bool) {
        lock(&self.stopped).hurries = hurries;
        self.stop.notify_all();
    }

    /// Refuses connections or accepts them, and returns once it is so.
    fn turn(&self, down: bool) {
        let mut state = lock(&self.down);
        if state.meant == down {
            return;
        }
        state.meant = down;
        drop(state);
        self.turned.notify_all();
        if down {
            // A connection of our own wakes the acceptor.
            let _ = TcpStream::connect(self.address);
        }
        let state = lock(&self.down);
        let waited = self
            .turned
            .wait_while(state, |state| state.is != down && state.meant == down);
        drop(waited);
    }

    /// Waits until connections are to be accepted again. None where the server was dropped.
    fn listen_again(&self) -> Option<TcpListener> {
        if lock(&self.stopped).ends {
            return None;
        }
        let mut state = lock(&self.down);
        state.is = true;
        self.turned.notify_all();
        let waited = self.turned.wait_while(state, |state| state.meant);
        state = waited.unwrap_or_else(PoisonError::into_inner);
        // The port is nobody else's within this moment, but for an unlikely one.
        let listener = (0..1000).find_map(|_| {
            let listener = TcpListener::bind(self.address).ok();
            if listener.is_none() {
                thread::yield_now();
            }
            listener
        });
        state.is = false;
        drop(state);
        self.turned.notify_all();
        Some(listener.expect("the port that the server had"))
    }

    /// Answers the requests of one connection, until one side closes it.
    fn talk(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut connection = Connection::new(stream);
        loop {
            let (request, keep_alive) = match connection.read(self.base) {
                Ok(Some(read)) => read,
                Ok(None) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    let refusal =
                        Response::new(400, "text/plain; charset=utf-8", "400 Bad Request");
                    return connection.write(&refusal, false, Part::Whole);
                }
                Err(error) => return Err(error),
            };
            let number = self.note(&request);
            let (response, part) = self.answer(&request, number, &connection);
            let Some(response) = response else {
                return Ok(());
            };
            connection.write(&response, request.method == "HEAD", part)?;
            if !keep_alive || part == Part::Half {
                return Ok(());
            }
        }
    }

    /// Runs hooks, faults and handler; writes the status into the log before the client can see it.
    fn answer(
        &self,
        request: &Request,
        number: u64,
        connection: &Connection,
    ) -> (Option<Response>, Part) {
        self.script.watch(request);
        self.script.run_hooks(When::Before, request);
        let effect = self.script.effect(request);
        let instead = effect
            .as_ref()
            .and_then(|effect| effect.instead(&self.internal_error, request));
        let response = match &effect {
            Some(Effect::CutBefore) => None,
            Some(Effect::Down) => {
                self.go_down();
                None
            }
            Some(Effect::DropIds) => (self.handler)(&without_last_ids(request)),
            Some(_) if instead.is_some() => instead,
            Some(Effect::Slow(time)) if !self.wait(*time, connection) => None,
            _ => (self.handler)(request),
        };
        self.script.run_hooks(When::After, request);
        let (response, part) = match effect {
            Some(Effect::ErrorAfter) => {
                (response.map(|_| self.internal_error.clone()), Part::Whole)
            }
            Some(Effect::CutAfter) => (None, Part::Whole),
            Some(Effect::CutBody) => (response, Part::Half),
            Some(Effect::CutJson) => (response.map(Response::halved), Part::Whole),
            Some(Effect::Otherwise(body)) => {
                let status = response.as_ref().map_or(200, |response| response.status);
                (Some(Response::json(status, &body)), Part::Whole)
            }
            Some(Effect::SlowAfter(time)) => (
                response.filter(|_| self.wait(time, connection)),
                Part::Whole,
            ),
            _ => (response, Part::Whole),
        };
        let mut log = lock(&self.log);
        let index = number
            .checked_sub(log.first)
            .and_then(|index| usize::try_from(index).ok());
        if let Some(entry) = index.and_then(|index| log.requests.get_mut(index)) {
            entry.status = response.as_ref().map_or(0, |response| response.status);
        }
        (response, part)
    }

    /// Adds a request to the log and returns its number.
    fn note(&self, request: &Request) -> u64 {
        let mut log = lock(&self.log);
        log.requests.push(request.clone());
        log.first + log.requests.len() as u64 - 1
    }

    /// Lets time pass. False where the client has hung up meanwhile, or the server was dropped:
    /// then nothing is to be done any more, as the real servers roll back what nobody waits for.
    fn wait(&self, time: Duration, connection: &Connection) -> bool {
        let stopped = lock(&self.stopped);
        let waited = self
            .stop
            .wait_timeout_while(stopped, time, |stopped| !stopped.ends && !stopped.hurries);
        let (stopped, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !stopped.ends && connection.is_open()
    }
}

/// Locks, whether or not another thread has panicked meanwhile: a failed assertion in a hook is not
/// to hide behind failures of everything after it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
