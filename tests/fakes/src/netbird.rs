//! A NetBird management server in this process: the handle that tests hold. What it answers is left
//! to the modules below.

mod account;
mod api;
mod auth;
mod cidr;
mod collection;
mod dns_settings;
mod events;
mod groups;
mod ids;
mod names;
mod nameservers;
mod networks;
mod peers;
mod policies;
mod posture;
mod refusal;
mod routes;
mod settings;
mod setup_keys;
mod unmanaged;
mod users;
mod zones;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::fault::{Fault, When};
use crate::http::{Request, Response, Server, lock};
use account::Account;
use groups::Group;
use peers::enrolment;
use users::User;

/// A fake NetBird server with one account: its owner, an admin service user, the group All and the
/// policy Default.
///
/// Clones are handles to the same server; it ends with the last of them.
#[derive(Clone)]
pub struct NetBird {
    inner: Arc<Inner>,
}

/// All that a fake knew at a moment.
#[derive(Clone)]
pub struct Saved(Account);

struct Inner {
    server: Server,
    account: Arc<Mutex<Account>>,
    token: String,
}

impl NetBird {
    /// Starts a server on any free port of 127.0.0.1.
    pub fn start() -> NetBird {
        NetBird::start_on(0).expect("a free port on the loopback interface")
    }

    /// Starts a server on this port of 127.0.0.1.
    pub fn start_on(port: u16) -> io::Result<NetBird> {
        let mut account = Account::new();
        let admin = account.add_user(User::service("netbird-gitops", "admin"));
        let token = account.issue_token(&admin);
        let account = Arc::new(Mutex::new(account));
        let handler = {
            let account = Arc::clone(&account);
            Box::new(move |request: &Request| api::answer(&mut lock(&account), request))
        };
        let internal_error = Response::json(
            500,
            &json!({"message": "internal server error", "code": 500}),
        );
        let server = Server::start(port, "/api", internal_error, handler)?;
        Ok(NetBird {
            inner: Arc::new(Inner {
                server,
                account,
                token,
            }),
        })
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        lock(&self.inner.account)
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.inner.server.url()
    }

    /// Returns the token of the admin service user.
    pub fn token(&self) -> String {
        self.inner.token.clone()
    }

    /// Makes a service user of this role (`admin`, `network_admin`, `auditor`, `billing_admin`,
    /// `user`), and returns a token of it.
    pub fn token_for(&self, role: &str) -> String {
        let mut account = self.account();
        let user = account.add_user(User::service(role, role));
        account.issue_token(&user)
    }

    /// Makes a person of this role (`owner` too), and returns a token.
    pub fn person_token(&self, role: &str) -> String {
        let mut account = self.account();
        let user = account.add_user(User::person(role, &format!("{role}@example.com"), role));
        account.issue_token(&user)
    }

    /// Makes a person who came by an identity provider of that name, and returns the id; `local` is NetBird's own.
    pub fn person(&self, email: &str, role: &str, provider: &str) -> String {
        let mut account = self.account();
        let mut person = User::person(email, email, role);
        if provider != "local" {
            let entry = serde_json::json!({ "name": provider, "type": "oidc" });
            person.idp = unmanaged::add(&mut account, "/identity-providers", entry);
        }
        account.add_user(person)
    }

    /// Lets a person wait for approval, as after the first login.
    pub fn pend(&self, user: &str) {
        if let Some(user) = self.account().users.get_mut(user) {
            (user.is_blocked, user.is_pending) = (true, true);
        }
    }

    /// Puts groups into a person's own, as a POST stores them: unknown ones and All, too.
    pub fn give_groups(&self, user: &str, groups: &[&str]) {
        if let Some(user) = self.account().users.get_mut(user) {
            user.auto_groups = groups.iter().map(|id| (*id).to_owned()).collect();
        }
    }

    /// Registers a new peer through the login of a person, and returns its id.
    ///
    /// # Panics
    ///
    /// When the hostname gives no label, such as the empty one.
    pub fn enroll_for(&self, user: &str, hostname: &str) -> String {
        enrolment::with_login(&mut self.account(), user, hostname)
            .expect("a hostname that gives a label")
    }

    /// Takes a token away: its requests are answered with the 404 `invalid token: …`.
    pub fn delete_token(&self, token: &str) {
        self.account()
            .tokens
            .remove_where(|_, held| held.plain == token);
    }

    /// Lets a token expire: its requests are answered with the 401 `token invalid`.
    pub fn expire_token(&self, token: &str) {
        let mut account = self.account();
        let now = account.now();
        account
            .tokens
            .values_mut()
            .filter(|held| held.plain == token)
            .for_each(|held| held.expires = now);
    }

    /// Blocks the user whose token it is: its requests are answered with the 403 `… user is
    /// blocked`.
    pub fn block_user_of(&self, token: &str) {
        let mut account = self.account();
        let user = account
            .tokens
            .values()
            .find(|held| held.plain == token)
            .map(|held| held.user.clone());
        if let Some(user) = user.and_then(|user| account.users.get_mut(&user)) {
            user.is_blocked = true;
        }
    }

    /// Returns the id of the user whose token it is.
    pub fn user_id(&self, token: &str) -> Option<String> {
        self.account()
            .tokens
            .values()
            .find(|held| held.plain == token)
            .map(|held| held.user.clone())
    }

    /// From here on a PUT of settings is compared with the stored range, while `GET` answers the effective one: as in NetBird
    /// 0.71.0 and 0.71.1.
    pub fn compare_stored_ranges(&self) {
        self.account().stored_range = Some(None);
    }

    /// Returns the id of the account.
    pub fn account_id(&self) -> String {
        self.account().id.clone()
    }

    /// Returns every plain setup key and token that was ever issued. None of them may be found
    /// where they do not belong.
    pub fn secrets(&self) -> Vec<String> {
        self.account().secrets.clone()
    }

    /// Registers a new peer with a plain setup key, as a client does, and returns its id, or what
    /// the client is told.
    pub fn enroll(&self, key: &str, hostname: &str) -> Result<String, String> {
        enrolment::with_key(&mut self.account(), key, hostname)
    }

    /// Registers a new peer through the login of the owner, and returns its id.
    ///
    /// # Panics
    ///
    /// When the hostname gives no label, such as the empty one.
    pub fn enroll_sso(&self, hostname: &str) -> String {
        let mut account = self.account();
        let owner = account.owner.clone();
        enrolment::with_login(&mut account, &owner, hostname)
            .expect("a hostname that gives a label")
    }

    /// Connects or disconnects a peer.
    pub fn connect(&self, peer: &str, connected: bool) {
        let mut account = self.account();
        let now = account.now();
        if let Some(peer) = account.peers.get_mut(peer) {
            (peer.connected, peer.last_seen) = (connected, now);
        }
    }

    /// Deletes a peer as its own client does, or the server with an ephemeral one: the initiator is
    /// `sys`. A refusal is its message.
    pub fn deregister(&self, peer: &str) -> Result<(), String> {
        peers::remove(&mut self.account(), peer, "sys").map_err(|refusal| refusal.to_string())
    }

    /// Adds an entry to a list of what the program does not manage, such as `/reverse-proxies/services`; returns its id.
    pub fn add_unmanaged(&self, path: &str, entry: Value) -> String {
        unmanaged::add(&mut self.account(), path, entry)
    }

    /// Makes a group that was not issued by the API, but by `jwt` or `integration`; returns its id.
    pub fn issue_group(&self, name: &str, issued: &str) -> String {
        let mut account = self.account();
        let id = account.new_id();
        account.groups.insert(&id, Group::named(name, issued));
        id
    }

    /// Adds a further rule to a policy, under an id of its own, as only older servers stored them;
    /// returns that id, or why the rule is refused.
    pub fn add_legacy_rule(&self, policy: &str, rule: Value) -> Result<String, String> {
        let bytes = rule.to_string();
        let added = policies::add_legacy_rule(&mut self.account(), policy, bytes.as_bytes());
        added.map_err(|refusal| refusal.to_string())
    }

    /// Returns what GET of a path (`/groups`, `/events?…`) shows the owner, without a request.
    ///
    /// # Panics
    ///
    /// When the answer is no 200.
    pub fn list(&self, path: &str) -> Value {
        let (status, body) = self.call("GET", path, Value::Null);
        assert_eq!(status, 200, "GET {path}: {body}");
        body
    }

    /// Makes a call as the owner, by hand in the dashboard: in process, not logged, without faults
    /// and hooks. Returns the status and the body. A null body is none. Where the real server would
    /// close the connection, the status is 0.
    pub fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let bytes = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut account = self.account();
        let owner = account.owner.clone();
        api::perform(&mut account, &owner, method, path, bytes.as_bytes())
    }

    /// Makes an object as [`NetBird::call`] does, and returns it.
    ///
    /// # Panics
    ///
    /// When the answer is no 200.
    pub fn create(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.call("POST", path, body.clone());
        assert_eq!(status, 200, "POST {path} {body}: {answer}");
        answer
    }

    /// Returns all that the server knows, for [`NetBird::restore`].
    pub fn save(&self) -> Saved {
        Saved(self.account().clone())
    }

    /// Makes the account as it was. Ids that are made from here on are those that were made from there on.
    pub fn restore(&self, saved: &Saved) {
        *self.account() = saved.0.clone();
    }

    /// Returns the server itself, without what it knows.
    pub fn server(&self) -> &Server {
        &self.inner.server
    }

    /// Returns the requests so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.inner.server.requests()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.inner.server.clear_requests();
    }

    /// Stops the server's clock at a second since 1970. Ids and times follow it.
    pub fn set_clock(&self, seconds: i64) {
        self.account().clock.set(seconds);
    }

    /// Moves the server's clock on, whether it was stopped or goes with the system's.
    pub fn advance(&self, seconds: i64) {
        self.account().clock.advance(seconds);
    }

    /// Lets creations of groups, nameserver groups and routes pass each other, as those that arrive at the same moment do on
    /// PostgreSQL: both of one name succeed. Changes are checked as ever.
    pub fn unserialised(&self, on: bool) {
        self.account().blind = on;
    }

    /// From now on each request of this method and path takes so many seconds, by the server's clock.
    pub fn lasts(&self, method: &str, path: &str, seconds: i64) {
        let lasting = (method.to_owned(), path.to_owned(), seconds);
        self.account().lasting.insert(0, lasting);
    }

    /// Switches the event log on or off. While it is off nothing is written, and `GET /events`
    /// answers `[]`.
    pub fn event_log(&self, on: bool) {
        self.account().events.switch(on);
    }

    /// Drops all events so far, as if newer ones had pushed them out.
    pub fn drop_events(&self) {
        self.keep_events(0);
    }

    /// Drops all events but the newest so many.
    pub fn keep_events(&self, count: usize) {
        self.account().events.keep(count);
    }

    /// Writes so many events of no interest. 10,000 of them push out all that was before.
    pub fn fill_events(&self, count: usize) {
        let mut account = self.account();
        let (owner, id) = (account.owner.clone(), account.id.clone());
        for _ in 0..count {
            account.record(
                &owner,
                "group.update",
                &id,
                json!({"old_name": "a", "new_name": "b"}),
            );
        }
    }

    /// From now on, an event is missing from the first so many lists after it was written, those of
    /// [`NetBird::list`] included. 0 ends that, and shows all.
    pub fn late_events(&self, lists: u32) {
        self.account().events.delay(lists);
    }

    /// Adds a fault. Of several that match one request, the first added takes effect.
    pub fn fault(&self, fault: Fault) {
        self.inner.server.fault(fault);
    }

    /// Shows each request to `run` from now on, when it arrives and before anything is done. It may wait: no other
    /// request does. [`NetBird::clear_faults`] ends it.
    pub fn watch(&self, run: impl Fn(&Request) + Send + Sync + 'static) {
        self.inner.server.watch(run);
    }

    /// Waits until all clients are gone and what they asked for is done, then does what [`NetBird::clear_faults`] does.
    pub fn quiesce(&self) {
        self.inner.server.quiesce();
    }

    /// Takes back all faults, hooks and watchers.
    pub fn clear_faults(&self) {
        self.inner.server.clear_faults();
    }

    /// Runs `hook` once, when the next request of this method and path arrives and before anything
    /// is done. For methods and paths see [`Fault::on`]. The hook may call the server it is given.
    pub fn before(&self, method: &str, path: &str, hook: impl FnOnce(&NetBird) + Send + 'static) {
        self.hook(When::Before, method, path, hook);
    }

    /// Runs `hook` once, after the next request of this method and path was done and before it is
    /// answered.
    pub fn after(&self, method: &str, path: &str, hook: impl FnOnce(&NetBird) + Send + 'static) {
        self.hook(When::After, method, path, hook);
    }

    fn hook(
        &self,
        when: When,
        method: &str,
        path: &str,
        hook: impl FnOnce(&NetBird) + Send + 'static,
    ) {
        // A strong handle here would keep the server, which holds the hook, alive for ever.
        let inner = Arc::downgrade(&self.inner);
        self.inner.server.hook(when, method, path, move || {
            if let Some(inner) = inner.upgrade() {
                hook(&NetBird { inner });
            }
        });
    }
}
