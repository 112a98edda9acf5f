//! A Gitea or Forgejo server in this process: the handle that tests hold. What it answers is left
//! to the modules below.

mod actions;
mod api;
mod auth;
mod branches;
mod comments;
mod commits;
mod contents;
mod flavour;
mod folder;
mod forge;
mod git;
mod history;
mod issues;
mod labels;
mod pages;
mod protection;
mod pulls;
mod raw;
mod refusal;
mod repos;
mod routes;
mod secrets;
mod settings;
mod shared;
mod statuses;
mod talk;
mod trees;
mod users;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::fault::{Fault, When};
use crate::http::{Request, Server};
use auth::{Level, Token};
use flavour::Flavour;
use folder::Folder;
use forge::Forge;
use refusal::Refusal;
use shared::Shared;

pub use history::{Commit, Push, Signature};
pub use talk::How;

const OWNER: &str = "acme";
const NAME: &str = "network";
const BOT: &str = "gitops-bot";
const HUMAN: &str = "alice";
const ADMIN: &str = "root1";
const BRANCH: &str = "main";

/// A fake Gitea server with one private repository, `acme/network`, whose branch `main` holds a
/// `netbird.json`. The bot `gitops-bot` and the person `alice` may write to it, `root1` is the
/// site's admin.
///
/// The repository is a real one: a bare git repository in a folder for temporary files, see
/// [`Gitea::git_dir`]. `git` has to be installed.
///
/// Clones are handles to the same server; it ends with the last of them.
#[derive(Clone)]
pub struct Gitea {
    inner: Arc<Inner>,
}

/// All that a fake knew at a moment.
#[derive(Clone)]
pub struct SavedForge {
    forge: Forge,
    refs: Vec<(PathBuf, Vec<u8>)>,
}

struct Inner {
    server: Server,
    shared: Arc<Shared>,
    // Goes after the server, and with the last handle: threads that still talk to somebody do not
    // keep it.
    _folder: Folder,
    repo: i64,
    token: String,
}

impl Gitea {
    /// Starts a Gitea 1.26.3 on any free port of 127.0.0.1.
    pub fn start() -> Gitea {
        Gitea::start_on(0).expect("a free port on the loopback interface")
    }

    /// Starts a Gitea 1.26.3 on this port of 127.0.0.1.
    pub fn start_on(port: u16) -> io::Result<Gitea> {
        Gitea::serve(port, Flavour::Gitea)
    }

    /// Starts a Forgejo 12.0.4 on any free port of 127.0.0.1.
    pub fn start_forgejo() -> Gitea {
        Gitea::start_forgejo_on(0).expect("a free port on the loopback interface")
    }

    /// Starts a Forgejo 12.0.4 on this port of 127.0.0.1.
    pub fn start_forgejo_on(port: u16) -> io::Result<Gitea> {
        Gitea::serve(port, Flavour::Forgejo)
    }

    fn serve(port: u16, flavour: Flavour) -> io::Result<Gitea> {
        let folder = Folder::new()?;
        let shared = Arc::new(Shared::new(Forge::new(flavour), folder.path()));
        let handler = {
            let shared = Arc::clone(&shared);
            Box::new(move |request: &Request| Some(api::answer(&shared, request)))
        };
        // Nobody is answered before the server knows where it is.
        let mut forge = shared.forge();
        let internal_error = Refusal::Hidden(String::new()).response(flavour, "", false);
        let server = Server::start(port, api::BASE, internal_error, handler)?;
        forge.root = server.url();
        let owner = forge.add_user(OWNER, false);
        let bot = forge.add_user(BOT, false);
        let human = forge.add_user(HUMAN, false);
        forge.add_user(ADMIN, true);
        forge.add_user(flavour.actions_user(), false);
        let scopes = ["write:repository", "write:issue", "read:user"];
        let token = Token::of_user(&mut forge, bot, &scopes.map(str::to_owned));
        drop(forge);
        let repo = repos::add(&shared, owner, NAME, true, BRANCH);
        let file = b"{\n  \"groups\": {}\n}\n";
        repos::begin(&shared, repo, human, "netbird.json", file);
        let writers = [(bot, Level::Write), (human, Level::Write)];
        shared.forge().repo_mut(repo).collaborators.extend(writers);
        Ok(Gitea {
            inner: Arc::new(Inner {
                server,
                shared,
                _folder: folder,
                repo,
                token,
            }),
        })
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.inner.server.url()
    }

    /// Returns `owner/name` of the repository.
    pub fn repo(&self) -> String {
        let forge = self.inner.shared.forge();
        forge.full_name(forge.repo(self.inner.repo))
    }

    /// Returns a path of the repository in the API, for faults and hooks:
    /// `/repos/acme/network/contents/netbird.json` for `/contents/netbird.json`.
    pub fn path(&self, rest: &str) -> String {
        format!("/repos/{}{rest}", self.repo())
    }

    /// Returns a token of the bot, with the scopes `write:repository`, `write:issue` and
    /// `read:user`.
    pub fn token(&self) -> String {
        self.inner.token.clone()
    }

    /// Makes a call as the site's admin: in process, not logged, without faults and hooks. Returns
    /// the status and the body, which is null where it is not JSON. A null body is none.
    pub fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let shared = &self.inner.shared;
        let admin = shared.forge().user_named(ADMIN).map(|user| user.id);
        let admin = admin.expect("the admin is never deleted in process");
        let response = api::call_as(shared, admin, method, path, &body);
        let body = serde_json::from_slice(&response.body).unwrap_or_default();
        (response.status, body)
    }

    /// Returns all that the server knows, for [`Gitea::restore`].
    pub fn save(&self) -> SavedForge {
        let forge = self.inner.shared.forge();
        let refs = forge.repo(self.inner.repo).git.refs();
        let forge = forge.clone();
        SavedForge { forge, refs }
    }

    /// Makes the server, and the branches of its repository, as they were.
    pub fn restore(&self, saved: &SavedForge) {
        let mut forge = self.inner.shared.forge();
        *forge = saved.forge.clone();
        forge.repo(self.inner.repo).git.set_refs(&saved.refs);
    }

    /// Returns the requests so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.inner.server.requests()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.inner.server.clear_requests();
    }

    /// Adds a fault. Of several that match one request, the first added takes effect. Paths are
    /// those below `/api/v1`, see [`Gitea::path`].
    pub fn fault(&self, fault: Fault) {
        self.inner.server.fault(fault);
    }

    /// Shows each request to `run` from now on, when it arrives and before anything is done. It may wait: no other
    /// request does. [`Gitea::clear_faults`] ends it.
    pub fn watch(&self, run: impl Fn(&Request) + Send + Sync + 'static) {
        self.inner.server.watch(run);
    }

    /// Waits until all clients are gone and what they asked for is done, then does what [`Gitea::clear_faults`] does.
    pub fn quiesce(&self) {
        self.inner.server.quiesce();
        self.inner.shared.clear_races();
    }

    /// Takes back all faults, hooks, watchers and races.
    pub fn clear_faults(&self) {
        self.inner.server.clear_faults();
        self.inner.shared.clear_races();
    }

    /// Runs `hook` once, when the next request of this method and path arrives and before anything
    /// is done. For methods and paths see [`Fault::on`]. The hook may call the server it is given.
    pub fn before(&self, method: &str, path: &str, hook: impl FnOnce(&Gitea) + Send + 'static) {
        let run = self.later(hook);
        self.inner.server.hook(When::Before, method, path, run);
    }

    /// Runs `hook` once, after the next request of this method and path was done and before it is
    /// answered.
    pub fn after(&self, method: &str, path: &str, hook: impl FnOnce(&Gitea) + Send + 'static) {
        let run = self.later(hook);
        self.inner.server.hook(When::After, method, path, run);
    }

    /// Runs `hook` once in the middle of a write of files: after the server has checked it, and
    /// before it pushes the commit. If the hook pushes anything to that branch, the write has lost
    /// the race, though the file's `sha` was right: 403 `cannot lock ref …` on Gitea, 500 on
    /// Forgejo. Each write takes one of the hooks, in the order in which they were added.
    pub fn race(&self, hook: impl FnOnce(&Gitea) + Send + 'static) {
        let run = self.later(hook);
        self.inner.shared.add_race(Box::new(run));
    }

    /// A strong handle in a hook would keep the server, which holds the hook, alive for ever.
    fn later<H>(&self, hook: H) -> impl FnOnce() + Send + use<H>
    where
        H: FnOnce(&Gitea) + Send + 'static,
    {
        let inner = Arc::downgrade(&self.inner);
        move || {
            if let Some(inner) = inner.upgrade() {
                hook(&Gitea { inner });
            }
        }
    }
}
