//! Each request of each command, met by each thing that a server, or something before it, may do.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;

use fakes::{Effect, Fault, NetBird, Request, Response, client};
use serde_json::{Value, json};

use super::world::{World, brief, differences, ensure, read, writes};
use super::{APPLY, MARK_ENROLLED, SYNC_EVENTS, Scene, Task, VIA_PR, every, push};
use crate::run::Run;

const PLAN: Task = Task {
    name: "plan",
    command: |scene| {
        scene
            .site
            .job_command(&["plan", "--format", "json"], &push(&scene.site))
    },
};

const DRIFT: Task = Task {
    name: "drift",
    command: |scene| {
        scene.site.job_command(
            &["drift", "--issue", "--format", "json"],
            &push(&scene.site),
        )
    },
};

const EXPORT: Task = Task {
    name: "export",
    command: |scene| {
        scene
            .site
            .job_command(&["export", "--users"], &push(&scene.site))
    },
};

const ADOPT: Task = Task {
    name: "adopt",
    command: |scene| {
        scene.site.job_command(
            &["adopt", "groups/theirs", "policies/Default"],
            &push(&scene.site),
        )
    },
};

/// Which server meets the fault.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Server {
    NetBird,
    Forge,
}

/// What happens, and whether it happens again at each later request of that method and path.
struct Trouble {
    name: &'static str,
    effect: Effect,
    stays: bool,
}

/// A request as a run makes it: the nth of its method and path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    method: String,
    path: String,
    query: String,
    nth: usize,
}

fn sent(requests: &[Request]) -> Vec<At> {
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut all = Vec::new();
    for request in requests {
        let nth = seen
            .entry((request.method.clone(), request.path.clone()))
            .or_default();
        *nth += 1;
        all.push(At {
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            nth: *nth,
        });
    }
    all
}

fn said(status: u16, text: &str) -> Effect {
    Effect::Status(status, json!({ "message": text, "code": status }))
}

/// What may happen to a request. `stale` is what it was answered before the run.
fn troubles(server: Server, at: &At, elsewhere: &str, stale: Option<Response>) -> Vec<Trouble> {
    let is_read = at.method == "GET";
    let not_there = "404 page not found\n";
    let no_route = Effect::Raw(Response::new(404, "text/plain; charset=utf-8", not_there));
    let no_object = match server {
        Server::NetBird => said(404, "object not found"),
        Server::Forge => Effect::Status(
            404,
            json!({ "message": "not found", "url": "", "errors": [] }),
        ),
    };
    let long = Duration::from_secs(600);
    let redirect = |status| Effect::Redirect(status, format!("{elsewhere}{}", at.path));
    let once = |name, effect| Trouble {
        name,
        effect,
        stays: false,
    };
    let stays = |name, effect| Trouble {
        name,
        effect,
        stays: true,
    };
    let mut all = vec![
        stays("refused", Effect::Down),
        once("reset before", Effect::CutBefore),
        stays("reset before, each time", Effect::CutBefore),
        once("reset after", Effect::CutAfter),
        stays("reset after, each time", Effect::CutAfter),
        once("half an answer", Effect::CutBody),
        stays("half an answer, each time", Effect::CutBody),
        once("time-out before", Effect::Slow(long)),
        once("time-out after", Effect::SlowAfter(long)),
        once("401", said(401, "token invalid")),
        once("403", said(403, "permission denied")),
        once("404 no route", no_route.clone()),
        stays("404 no route, each time", no_route),
        once("404 no object", no_object.clone()),
        stays("404 no object, each time", no_object),
        once("409", said(409, "already exists")),
        once("412", said(412, "precondition failed")),
        once("413", Effect::Html(413)),
        once("422", said(422, "not valid")),
        once(
            "429 with a time",
            Effect::TooManyRequests {
                retry_after: Some(1),
            },
        ),
        once("429", Effect::TooManyRequests { retry_after: None }),
        stays(
            "429, each time",
            Effect::TooManyRequests { retry_after: None },
        ),
        once("500 before", Effect::ErrorBefore),
        stays("500 before, each time", Effect::ErrorBefore),
        once("500 after", Effect::ErrorAfter),
        once("502", Effect::Html(502)),
        stays("502, each time", Effect::Html(502)),
        once("a page", Effect::Html(200)),
        once("cut JSON", Effect::CutJson),
        once("null", Effect::Otherwise(Value::Null)),
        once(
            "another object",
            Effect::Otherwise(json!({ "message": "ok" })),
        ),
        once("a list of texts", Effect::Otherwise(json!(["a"]))),
        once("a list of empty objects", Effect::Otherwise(json!([{}]))),
        once("a number", Effect::Otherwise(json!(7))),
        once("redirect 302", redirect(302)),
        once("redirect 307", redirect(307)),
    ];
    if !is_read {
        all.push(once("ids dropped", Effect::DropIds));
    }
    if let Some(stale) = stale {
        all.push(once("stale", Effect::Raw(stale.clone())));
        all.push(stays("stale, each time", Effect::Raw(stale)));
    }
    all
}

/// A scene, its task, and what a run without faults asks for and prints.
struct Matrix {
    scene: Scene,
    task: Task,
    requests: Vec<(Server, At, Option<Response>)>,
    good: Run,
    good_file: Vec<u8>,
    elsewhere: NetBird,
}

impl Matrix {
    fn new(scene: Scene, task: Task) -> Matrix {
        let (netbird, gitea) = (
            scene.site.bench.netbird().clone(),
            scene.site.gitea().clone(),
        );
        let good = scene.run(&task);
        assert!(
            matches!(good.code, 0 | 2),
            "{}: {}\n{}",
            task.name,
            good.stdout,
            good.stderr
        );
        let (of_netbird, of_gitea) = (sent(&netbird.requests()), sent(&gitea.requests()));
        let good_file = std::fs::read(scene.site.bench.path("netbird.json")).expect("the file");
        scene.restore();
        let mut requests = Vec::new();
        for at in of_netbird {
            let url = format!("{}/api{}", netbird.url(), with_query(&at));
            let answer = client::send("GET", &url, Some(&netbird.token()), None);
            let answer = answer
                .ok()
                .filter(|answer| at.method == "GET" && answer.status == 200);
            let stale = answer.map(|answer| Response::json(200, &answer.json));
            requests.push((Server::NetBird, at, stale));
        }
        for at in of_gitea {
            let (status, body) = match at.method.as_str() {
                "GET" => gitea.call("GET", &with_query(&at), Value::Null),
                _ => (0, Value::Null),
            };
            let stale = (status != 0 && !body.is_null()).then(|| Response::json(status, &body));
            requests.push((Server::Forge, at, stale));
        }
        let elsewhere = NetBird::start();
        Matrix {
            scene,
            task,
            requests,
            good,
            good_file,
            elsewhere,
        }
    }

    fn command(&self, trouble: &str) -> Command {
        let mut command = (self.task.command)(&self.scene);
        if self.task.name != "mark-enrolled" {
            if !matches!(
                self.task.name,
                "apply" | "plan" | "sync-events" | "sync-events --via-pr"
            ) {
                command.args(["--retry-wait", "0", "--throttle-wait", "0"]);
            }
            if trouble.starts_with("time-out") {
                command.args(["--timeout", "0.4"]);
            }
        }
        command
    }

    /// Every case: the place of its request, and the place of its trouble.
    fn cases(&self) -> Vec<(usize, usize)> {
        let mut cases = Vec::new();
        for (nth, (server, at, stale)) in self.requests.iter().enumerate() {
            let all = troubles(*server, at, "", stale.clone());
            for (which, trouble) in all.iter().enumerate() {
                // mark-enrolled has no options for its waits
                let is_long =
                    trouble.name.starts_with("time-out") || trouble.name.starts_with("429");
                let waits = self.task.name == "mark-enrolled" && is_long;
                // null is an empty list to every server, and without an inventory the first one is planned
                let is_first = *server == Server::Forge && at.path.ends_with("/inventory.json");
                let is_true = match trouble.name {
                    "null" => *server == Server::NetBird,
                    "another object" => at.path == "/dns/settings",
                    text => text.starts_with("404") && is_first,
                };
                // and of no key nothing is to be marked
                let is_idle = at.path == "/setup-keys" && self.task.name.starts_with("sync-events");
                // an old answer to one of them is no answer to the other
                let has_another_query = self
                    .requests
                    .iter()
                    .any(|(_, other, _)| other.path == at.path && other.query != at.query);
                let is_mixed = trouble.name == "stale, each time" && has_another_query;
                if !(waits || is_mixed || is_true && (is_read(&self.task) || is_idle)) {
                    cases.push((nth, which));
                }
            }
        }
        cases
    }

    fn name(&self, nth: usize, trouble: &Trouble) -> String {
        let (server, at, _) = &self.requests[nth];
        let At {
            method, path, nth, ..
        } = at;
        format!(
            "{}: {server:?} {method} {path} ({nth}): {}",
            self.task.name, trouble.name
        )
    }

    /// Runs one case; an error says what does not hold.
    fn case(&self, nth: usize, which: usize) -> Result<(), String> {
        let (server, at, stale) = &self.requests[nth];
        let mut all = troubles(*server, at, &self.elsewhere.url(), stale.clone());
        let trouble = all.swap_remove(which);
        let name = self.name(nth, &trouble);
        if std::env::var("PROOF_ONLY").is_ok_and(|only| !name.contains(&only)) {
            return Ok(());
        }
        self.scene.restore();
        let result = catch_unwind(AssertUnwindSafe(|| self.checked(*server, at, &trouble)));
        let result = result.unwrap_or_else(|_| Err("the test panics".to_owned()));
        result.map_err(|why| format!("=== {name}\n{why}"))
    }

    fn checked(&self, server: Server, at: &At, trouble: &Trouble) -> Result<(), String> {
        let scene = &self.scene;
        let (netbird, gitea) = (scene.site.bench.netbird(), scene.site.gitea());
        let fault = Fault::on(&at.method, &at.path).nth(at.nth);
        let fault = if trouble.stays { fault.always() } else { fault };
        let fault = fault.then(trouble.effect.clone());
        match server {
            Server::NetBird => netbird.fault(fault),
            Server::Forge => gitea.fault(fault),
        }
        let output = self
            .command(trouble.name)
            .output()
            .expect("the program runs");
        let run = scene.site.bench.outcome(output);
        scene.rest();
        let world = read(&scene.site.bench);
        scene.check_run(&run, &world)?;
        self.check_tokens()?;
        let is_untouched =
            writes(&netbird.requests()).is_empty() && writes(&gitea.requests()).is_empty();
        match self.task.name {
            "apply" | "sync-events" | "sync-events --via-pr" => {
                if is_untouched && scene.before == world {
                    return ensure(run.code != 0, || {
                        format!("it did nothing, and says that all is well: {}", brief(&run))
                    });
                }
                scene.check_settled(&self.task)
            }
            "mark-enrolled" => {
                let is_marked = !scene.site.file().contains("\"enrolled\": false");
                ensure(is_marked == (run.code == 0), || {
                    format!("marked: {is_marked}: {}", brief(&run))
                })?;
                scene.check_settled(&self.task)
            }
            _ => self.check_read(&run, &world),
        }
    }

    /// That no server but its own saw a token.
    fn check_tokens(&self) -> Result<(), String> {
        let (netbird, gitea) = (self.scene.site.bench.netbird(), self.scene.site.gitea());
        let led = self.elsewhere.requests();
        ensure(led.is_empty(), || {
            format!("a redirect was followed: {led:?}")
        })?;
        for (token, requests) in [
            (netbird.token(), gitea.requests()),
            (gitea.token(), netbird.requests()),
        ] {
            let has = |request: &Request| format!("{request:?}").contains(&token);
            ensure(!requests.iter().any(has), || {
                "a token went to the other server".to_owned()
            })?;
        }
        Ok(())
    }

    /// That a command which only reads prints what it prints without faults, or fails.
    fn check_read(&self, run: &Run, world: &World) -> Result<(), String> {
        let before = &self.scene.before;
        ensure(before == world, || differences(before, world))?;
        let file = std::fs::read(self.scene.site.bench.path("netbird.json")).expect("the file");
        let told = |run: &Run| {
            (self.task.name == "export")
                .then(|| run.stdout.clone())
                .or_else(|| plain(run))
        };
        let is_as_ever = matches!(run.code, 0 | 2) && file == self.good_file;
        let is_same = is_as_ever && told(run) == told(&self.good) && run.code == self.good.code;
        let is_failure =
            matches!(run.code, 1 | 3) && (file == self.good_file) == (self.task.name != "adopt");
        ensure(is_same || is_failure, || {
            format!(
                "{}{}\nwithout faults: {}",
                run.stdout, run.stderr, self.good.stdout
            )
        })
    }
}

fn is_read(task: &Task) -> bool {
    matches!(task.name, "plan" | "drift" | "export" | "adopt")
}

/// What a document says must be done.
fn plain(run: &Run) -> Option<String> {
    let document: Value = serde_json::from_str(&run.stdout).ok()?;
    Some(format!(
        "{:#}{:#}{:#}",
        document["operations"], document["summary"], document["findings"]
    ))
}

fn with_query(at: &At) -> String {
    let mark = if at.query.is_empty() { "" } else { "?" };
    format!("{}{mark}{}", at.path, at.query)
}

/// Runs every nth case of each task on two threads, and tells of all that do not hold.
fn run(nth: usize, scene: fn() -> Scene, tasks: &[Task]) {
    let every = every(nth);
    let mut wrong = Vec::new();
    for task in tasks.iter().copied() {
        let run = move |thread| {
            let matrix = Matrix::new(scene(), task);
            let cases = matrix.cases().into_iter().enumerate();
            let mine =
                cases.filter(|(at, (_, which))| at % every == 4 % every && which % 2 == thread);
            let mut tried = 0;
            let mut wrong = Vec::new();
            for (_, (nth, which)) in mine {
                tried += 1;
                wrong.extend(matrix.case(nth, which).err());
            }
            (matrix.requests.len(), tried, wrong)
        };
        let threads = [0, 1].map(|thread| std::thread::spawn(move || run(thread)));
        let ends = threads.map(|thread| thread.join().expect("a thread of cases"));
        let [(requests, tried, _), (_, also, _)] = &ends;
        let found: Vec<String> = ends
            .iter()
            .flat_map(|(_, _, found)| found.clone())
            .collect();
        eprintln!(
            "{}: {requests} requests, {} cases, {} wrong",
            task.name,
            tried + also,
            found.len()
        );
        wrong.extend(found);
    }
    assert!(
        wrong.is_empty(),
        "{} cases do not hold:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn faults_of_an_apply() {
    run(499, Scene::changed, &[APPLY]);
}

#[test]
fn faults_of_sync_events() {
    run(299, Scene::enrolled, &[SYNC_EVENTS, VIA_PR]);
}

#[test]
fn faults_of_commands_that_change_nothing_in_netbird() {
    run(397, Scene::changed, &[PLAN, DRIFT, EXPORT, ADOPT]);
    run(61, Scene::enrolled, &[MARK_ENROLLED]);
}
