//! The builder: a bench holds a server, a directory with netbird.json, and an age identity.
//!
//! `file`, `apply` and `plan` write the file and run the program on it; the rest prepares the server and looks at what
//! came of it.

mod forge;
pub(crate) mod history;
mod inner;
mod job;
mod outcome;
mod redact;
mod server;
mod site;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;

use fakes::{NetBird, client};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use inner::{Heard, Inner};
pub(crate) use job::{Job, Pull};
pub(crate) use outcome::{Pid, Run, Running};
pub(crate) use redact::redact;
pub(crate) use server::Server;
pub(crate) use site::{Site, git};
pub(crate) use terminal::Terminal;

/// A throw-away identity and who it is; nothing else was ever sealed for it.
pub(crate) const IDENTITY: &str =
    "AGE-SECRET-KEY-1JW6ER7XNWV5NANVT3SGWEUC74PYXQ4U0U4QJN3DEL3A0AEEDK7DQW5EVEL";
pub(crate) const RECIPIENT: &str = "age12pj5d2m7vsel2np045gnl5lw2653rdr23073zwdz058uyc453g7srvl0gx";

/// The branch of the inventory, and the inventory's path on it and beside a file.
pub(crate) const INVENTORY: [&str; 2] = [
    "netbird-gitops/inventory",
    ".netbird-gitops/default/inventory.json",
];

/// Sections of netbird.json, as they stand before a name on the command line.
const SECTIONS: [&str; 6] = [
    "groups",
    "setup_keys",
    "policies",
    "networks",
    "routes",
    "nameserver_groups",
];

/// A server, a directory, and how to run the program there.
pub(crate) struct Bench {
    server: Server,
    dir: TempDir,
}

impl Bench {
    /// A bench with a fake server: whatever it takes to see a fault.
    pub(crate) fn fake() -> Bench {
        Bench::on(Server::fake())
    }

    /// A bench for what must hold on every server: a real one where `NETBIRD_GITOPS_TEST_REAL=1` is set, with
    /// `NETBIRD_API_URL`, `NETBIRD_API_TOKEN` (role admin) and, if you like, `NETBIRD_GITOPS_TEST_ENROLL`, a command with `{url}`,
    /// `{key}` and `{hostname}` in it. There every name gets a random prefix, and what has it is deleted in the end.
    pub(crate) fn scenario() -> Bench {
        Bench::on(Server::real().unwrap_or_else(Server::fake))
    }

    /// The same for what needs a machine that enrolls: without `NETBIRD_GITOPS_TEST_ENROLL` it runs on the fake.
    pub(crate) fn scenario_that_enrolls() -> Bench {
        Bench::on(Server::real_that_enrolls().unwrap_or_else(Server::fake))
    }

    /// The same for what needs a person beside the service user: without `NETBIRD_GITOPS_TEST_PERSON` and
    /// `NETBIRD_GITOPS_TEST_ENROLL` it runs on the fake.
    pub(crate) fn scenario_with_person() -> Bench {
        Bench::on(Server::real_with_person().unwrap_or_else(Server::fake))
    }

    fn on(server: Server) -> Bench {
        // a key that joins no group is changed once it is three seconds old: nobody has to sleep till then
        if let Some(netbird) = server.netbird() {
            netbird.lasts("POST", "/setup-keys", 3);
        }
        let dir = tempfile::tempdir_in(fakes::in_memory()).expect("a temporary directory");
        Bench { server, dir }
    }

    /// The fake. Panics on a bench with a real server.
    pub(crate) fn netbird(&self) -> &NetBird {
        self.server
            .netbird()
            .expect("this needs the fake: begin with Bench::fake()")
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// A path in the bench's directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What a run that was started otherwise came to.
    pub(crate) fn outcome(&self, output: Output) -> Run {
        Run::of(output, &self.server)
    }

    /// Writes netbird.json.
    pub(crate) fn file(&self, file: Value) -> &Bench {
        self.text(&format!("{:#}\n", self.server.prefixed(file)))
    }

    /// Writes netbird.json as it is.
    pub(crate) fn text(&self, text: &str) -> &Bench {
        fs::write(self.path("netbird.json"), text).unwrap();
        self
    }

    /// `plan ARGS`.
    pub(crate) fn plan(&self, args: &[&str]) -> Run {
        self.run(&[&["plan"], args].concat())
    }

    /// `apply ARGS`.
    pub(crate) fn apply(&self, args: &[&str]) -> Run {
        self.run(&[&["apply"], args].concat())
    }

    /// Runs the program.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, &[])
    }

    /// Runs the program with further environment variables.
    pub(crate) fn run_with(&self, args: &[&str], environment: &[(&str, &str)]) -> Run {
        let mut command = self.command(args);
        command.envs(environment.iter().copied());
        let output = command.output().expect("the program runs");
        Run::of(output, &self.server)
    }

    /// The variables of a job without a forge, which has the inventory in a file.
    pub(crate) fn in_a_job(&self) -> [(&'static str, &'static str); 2] {
        self.write_inventory(json!({}));
        [("CI", "true"), ("NETBIRD_GITOPS_INVENTORY", INVENTORY[1])]
    }

    /// The program, ready to run in the bench's directory: no variables but those of the bench, no waits.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netbird-gitops"));
        let entry = |arg: &&str| match arg.split_once('/') {
            Some((section, name)) if SECTIONS.contains(&section) => {
                format!("{section}/{}", self.server.name(name))
            }
            _ => (*arg).to_owned(),
        };
        command
            .args(args.iter().map(entry))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("TMPDIR", fakes::in_memory())
            .env("AGE_PUBLIC_KEY", RECIPIENT)
            .env("NETBIRD_API_URL", self.server.url())
            .env("NETBIRD_API_TOKEN", self.server.token());
        if matches!(
            args.first(),
            Some(&"plan" | &"apply" | &"sync-events" | &"doctor")
        ) {
            command.args(["--retry-wait", "0", "--throttle-wait", "0"]);
        }
        command
    }

    /// Starts the program once `prepare` has set up hooks, which may signal it.
    pub(crate) fn start(&self, args: &[&str], prepare: impl FnOnce(&NetBird, Pid)) -> Running {
        self.start_command(self.command(args), prepare)
    }

    /// Starts a command likewise. Its output is in the files `stdout` and `stderr` meanwhile.
    pub(crate) fn start_command(
        &self,
        mut command: Command,
        prepare: impl FnOnce(&NetBird, Pid),
    ) -> Running {
        let (send, receive) = channel();
        prepare(self.netbird(), Pid { receive });
        let output = |name: &str| fs::File::create(self.path(name)).unwrap();
        command.stdout(output("stdout")).stderr(output("stderr"));
        let child = command.spawn().expect("the program runs");
        // where no hook wants it, nobody receives it
        send.send(child.id()).ok();
        Running {
            child,
            dir: self.dir.path().to_owned(),
        }
    }

    /// Applies the file, which must succeed, and forgets the requests: server and file agree from here on.
    pub(crate) fn agreed(&self, file: Value) -> &Bench {
        self.file(file);
        self.apply(&[]).expect(0);
        self.server.clear_requests();
        self
    }

    /// The names of what `GET path` lists, sorted: of the bench's own objects.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .server
            .list(path)
            .iter()
            .filter_map(|entry| self.server.own_name(entry))
            .collect();
        names.sort();
        names
    }

    /// Everything that is called so.
    pub(crate) fn all(&self, path: &str, name: &str) -> Vec<Value> {
        let list = self.server.list(path).into_iter();
        list.filter(|entry| self.server.own_name(entry).as_deref() == Some(name))
            .collect()
    }

    /// The one object that is called so.
    #[track_caller]
    pub(crate) fn one(&self, path: &str, name: &str) -> Value {
        let mut found = self.all(path, name);
        let one = found.pop();
        assert!(
            found.is_empty(),
            "several of {path} are called {name}: {found:?}"
        );
        one.unwrap_or_else(|| panic!("none of {path} is called {name}"))
    }

    /// The id of the one object that is called so.
    #[track_caller]
    pub(crate) fn id(&self, path: &str, name: &str) -> String {
        id(&self.one(path, name))
    }

    /// Makes an object by hand.
    #[track_caller]
    pub(crate) fn create(&self, path: &str, body: Value) -> Value {
        self.server.write("POST", path, body)
    }

    /// Makes a call as the program's own user.
    #[track_caller]
    pub(crate) fn as_program(&self, method: &str, path: &str, body: Value) -> Value {
        let url = format!("{}/api{path}", self.server.url());
        let token = self.server.token();
        let answer = client::send(method, &url, Some(&token), Some(&body)).unwrap();
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text);
        answer.json
    }

    /// Makes a network with a resource of that name by hand, and returns the resource's id.
    #[track_caller]
    pub(crate) fn resource(&self, name: &str) -> String {
        let network = self.create("/networks", json!({ "name": format!("network of {name}") }));
        let resource =
            json!({ "name": name, "address": "10.40.0.9", "enabled": true, "groups": [] });
        id(&self.create(&format!("/networks/{}/resources", id(&network)), resource))
    }

    /// Makes a posture check by hand and returns its id.
    #[track_caller]
    pub(crate) fn check(&self, name: &str) -> String {
        let checks = json!({ "nb_version_check": { "min_version": "0.60.0" } });
        id(&self.create(
            "/posture-checks",
            json!({ "name": name, "description": "", "checks": checks }),
        ))
    }

    /// Makes an empty group by hand and returns its id.
    #[track_caller]
    pub(crate) fn group(&self, name: &str) -> String {
        id(&self.create("/groups", json!({ "name": name })))
    }

    /// Changes fields of an object by hand, and leaves the others as they are.
    #[track_caller]
    pub(crate) fn edit(&self, path: &str, name: &str, changes: Value) {
        self.server.edit(path, &self.one(path, name), changes);
    }

    /// Deletes the one object that is called so, by hand.
    #[track_caller]
    pub(crate) fn delete(&self, path: &str, name: &str) {
        let object = format!("{path}/{}", self.id(path, name));
        self.server.write("DELETE", &object, Value::Null);
    }

    /// Enrolls a machine with a fresh key that somebody made by hand; returns the peer's id.
    #[track_caller]
    pub(crate) fn peer(&self, hostname: &str) -> String {
        let key = json!({ "name": "by-hand", "type": "reusable", "expires_in": 86400, "auto_groups": [] });
        let made = self.create("/setup-keys", key);
        let peer = self.server.enroll(made["key"].as_str().unwrap(), hostname);
        let path = format!("/setup-keys/{}", id(&made));
        self.server.write("DELETE", &path, Value::Null);
        peer.expect("a valid key")
    }

    /// Enrolls machines with one-off keys of their names that somebody made by hand, and returns the section
    /// `setup_keys` that declares those keys as enrolled: who is bound to a key is meant by its name, without git.
    #[track_caller]
    pub(crate) fn enrolled(&self, names: &[&str]) -> Value {
        let mut section = json!({});
        for name in names {
            let key =
                json!({ "name": name, "type": "one-off", "expires_in": 86400, "auto_groups": [] });
            let made = self.create("/setup-keys", key);
            let secret = made["key"].as_str().unwrap();
            self.server.enroll(secret, name).expect("a valid key");
            section[*name] = json!({ "type": "one-off", "expires_in": 86400, "enrolled": true });
        }
        section
    }

    /// The inventory beside the file; null where there is none.
    pub(crate) fn inventory(&self) -> Value {
        let text = fs::read(self.path(INVENTORY[1])).unwrap_or_else(|_| b"null".into());
        serde_json::from_slice(&text).unwrap()
    }

    /// Writes an inventory beside the file, with these lists and no others.
    pub(crate) fn write_inventory(&self, mut lists: Value) -> &Bench {
        lists["format_version"] = json!(1);
        lists["account"] = json!(self.netbird().account_id());
        lists["file"] = json!("netbird.json");
        let path = self.path(INVENTORY[1]);
        fs::create_dir_all(path.parent().expect("a folder")).unwrap();
        fs::write(path, lists.to_string()).unwrap();
        self
    }

    /// Opens a sealed key of the keys directory.
    #[track_caller]
    pub(crate) fn unseal(&self, name: &str) -> String {
        let file = format!("sealed-keys/{}.age", self.server.name(name));
        let sealed = fs::read(self.path(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        open(&sealed)
    }

    /// The files of the keys directory, hidden ones too.
    pub(crate) fn sealed_files(&self) -> Vec<String> {
        files(&self.path("sealed-keys"))
    }

    /// The writes so far, as `POST /groups`; ids are left out.
    pub(crate) fn writes(&self) -> Vec<String> {
        let requests = self.netbird().requests();
        let writes = requests.iter().filter(|request| request.method != "GET");
        writes
            .map(|request| {
                let path = redact(&request.path).replace("/[id]", "");
                format!("{} {path}", request.method)
            })
            .collect()
    }

    /// That there were exactly these writes since the log was cleared; a real server has no log to look at.
    #[track_caller]
    pub(crate) fn assert_writes(&self, wanted: &[&str]) {
        if self.server.netbird().is_some() {
            assert_eq!(self.writes(), wanted);
        }
    }
}

/// The files of a directory, sorted; none where there is no directory.
pub(crate) fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Decrypts an armored text.
#[track_caller]
pub(crate) fn open(sealed: &[u8]) -> String {
    let identity: age::x25519::Identity = IDENTITY.parse().unwrap();
    String::from_utf8(age::decrypt(&identity, sealed).expect("sealed for the bench")).unwrap()
}

/// The id of an answer.
#[track_caller]
pub(crate) fn id(answer: &Value) -> String {
    answer["id"].as_str().expect("an id").to_owned()
}
