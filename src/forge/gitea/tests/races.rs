//! Many writers, and servers that fail in any order: whatever happens, nobody's work is lost, and what the outcome says
//! is what the branch has.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;
use crate::forge::gitea::commit::{CommitError, Outcome, Policy, Target, mark_enrolled};

const TARGET: Target<'_> = Target {
    branch: "main",
    path: "netbird.json",
};

/// What goes wrong with one write.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// Nothing.
    None,
    /// Another file is pushed first: 403, and the blob stays.
    OtherFile,
    /// A person's edit of the file comes first.
    Edit,
    /// Another run marks the same key first.
    SameKey,
    /// The commit is made, and the answer is a 500.
    LostAnswer,
    /// The commit is made, the answer is lost, and a person edits the file.
    LostThenEdit,
    /// Refused for no reason that will pass by itself.
    Refusal,
}

/// One branch with one file.
struct Branch {
    text: String,
    /// Commits so far: the tip.
    tip: usize,
    /// The last commit that touched the file: its blob.
    blob: usize,
    faults: VecDeque<Fault>,
    edits: usize,
    ours: usize,
}

/// Somebody's edit: one more key in front of the others.
fn with_edit(text: &str, number: usize) -> String {
    let key = format!("{KEYS}\"edit{number}\": {{\"type\": \"reusable\", \"expires_in\": 0}},");
    text.replacen(KEYS, &key, 1)
}

const KEYS: &str = "\"setup_keys\": {";

impl Branch {
    fn write(&mut self, text: String) {
        self.text = text;
        self.tip += 1;
        self.blob = self.tip;
    }

    fn edit(&mut self) {
        self.edits += 1;
        self.write(with_edit(&self.text, self.edits));
    }

    fn answer(&mut self, line: &str, body: &str) -> (u16, Value) {
        if line.starts_with("GET") && line.contains("/branches/main") {
            return (200, json!({"commit": {"id": format!("c{}", self.tip)}}));
        }
        if line.starts_with("GET") {
            let file = json!({"type": "file", "sha": format!("b{}", self.blob), "size": self.text.len(),
                              "content": STANDARD.encode(&self.text), "last_commit_sha": format!("c{}", self.blob)});
            return (200, file);
        }
        let sent: Value = serde_json::from_str(body).unwrap();
        let text = STANDARD.decode(sent["content"].as_str().unwrap()).unwrap();
        let text = String::from_utf8(text).unwrap();
        let fault = self.faults.pop_front().unwrap_or(Fault::None);
        let race = (
            403,
            json!({"message": "cannot lock ref 'refs/heads/main': is at x"}),
        );
        let fresh = sent["sha"] == format!("b{}", self.blob);
        match fault {
            Fault::Refusal => {
                return (
                    403,
                    json!({"message": "user cannot commit to repo [user: b]"}),
                );
            }
            Fault::OtherFile => {
                self.tip += 1;
                return race;
            }
            Fault::Edit => {
                self.edit();
                return race;
            }
            Fault::SameKey if fresh => {
                self.write(self.text.replace(
                    "\"a\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false",
                    "\"a\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": true",
                ));
                return (500, json!({"message": ""}));
            }
            _ => {}
        }
        if !fresh {
            return (422, json!({"message": "sha does not match"}));
        }
        self.ours += 1;
        self.write(text);
        match fault {
            Fault::LostAnswer => (500, json!({"message": ""})),
            Fault::LostThenEdit => {
                self.edit();
                (502, json!("gone"))
            }
            _ => (200, json!({"commit": {"sha": format!("c{}", self.tip)}})),
        }
    }
}

/// A server of that branch. Requests are answered in any order, one at a time.
struct Model {
    url: String,
    port: u16,
    branch: Arc<Mutex<Branch>>,
    stopped: Arc<AtomicBool>,
}

impl Model {
    fn start(text: &str, faults: impl IntoIterator<Item = Fault>) -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let branch = Arc::new(Mutex::new(Branch {
            text: text.to_owned(),
            tip: 1,
            blob: 1,
            faults: faults.into_iter().collect(),
            edits: 0,
            ours: 0,
        }));
        let stopped = Arc::new(AtomicBool::new(false));
        let model = Model {
            url: format!("http://127.0.0.1:{port}"),
            port,
            branch: Arc::clone(&branch),
            stopped: Arc::clone(&stopped),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (stream, branch) = (stream.unwrap(), Arc::clone(&branch));
                std::thread::spawn(move || serve(stream, &branch));
            }
        });
        model
    }

    fn repo(&self) -> Repo {
        repo_at(&self.url, "acme/network")
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(mut stream: TcpStream, branch: &Mutex<Branch>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok().filter(|n| *n > 0)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let (status, answer) = branch
            .lock()
            .unwrap()
            .answer(&line, &String::from_utf8(body).ok()?);
        let answer = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        stream
            .write_all(format!("{head}{answer}").as_bytes())
            .ok()?;
    }
}

/// A policy that waits for nothing but other threads.
fn policy() -> Policy<'static> {
    Policy {
        sleep: &|_| std::thread::yield_now(),
        now: &|| jiff::Timestamp::UNIX_EPOCH,
        ..Policy::default()
    }
}

#[test]
fn eight_commits_at_once_all_arrive() {
    let keys: Vec<String> = (0..8).map(|n| format!("key-{n}")).collect();
    let members: Vec<String> = keys
        .iter()
        .map(|key| {
            format!(
                "  \"{key}\": {{\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false}}"
            )
        })
        .collect();
    let text = format!("{{\"setup_keys\": {{\n{}\n}}}}\n", members.join(",\n"));
    let model = Model::start(&text, []);
    std::thread::scope(|scope| {
        for key in &keys {
            let repo = model.repo();
            scope.spawn(move || {
                // Each marks its own key, and one that all of them mark.
                let (outcome, _) =
                    mark_enrolled(&repo, TARGET, "default", &names([key, "key-0"]), policy())
                        .unwrap();
                assert!(key == "key-0" || matches!(outcome, Outcome::Committed { .. }));
            });
        }
    });
    let branch = model.branch.lock().unwrap();
    assert_eq!(branch.text, text.replace("false", "true"));
    assert!(branch.ours == 7 || branch.ours == 8);
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        Just(Fault::None),
        Just(Fault::OtherFile),
        Just(Fault::Edit),
        Just(Fault::SameKey),
        Just(Fault::LostAnswer),
        Just(Fault::LostThenEdit),
        Just(Fault::Refusal),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_outcome_is_what_the_branch_has(faults in prop::collection::vec(fault(), 0..12)) {
        let text = "{\"setup_keys\": {\"a\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false}}}\r\n";
        let model = Model::start(text, faults.clone());
        let result = mark_enrolled(&model.repo(), TARGET, "default", &names(["a"]), policy());
        let branch = model.branch.lock().unwrap();
        // People's edits are all there, the flag is as the outcome says, and every other byte stays.
        let mut wanted = (1..=branch.edits).fold(text.to_owned(), |text, number| with_edit(&text, number));
        let marked = wanted.replace("false", "true");
        match &result {
            Ok((Outcome::Committed { .. }, edit)) => {
                prop_assert_eq!(&edit.flipped, &names(["a"]));
                wanted = marked;
            }
            Ok((Outcome::NothingToDo, _)) => wanted = marked,
            Err(error) => prop_assert!(matches!(error, CommitError::Refused { rounds: 5, .. }), "{}", error),
        }
        prop_assert_eq!(&branch.text, &wanted);
        prop_assert!(branch.ours <= 1, "{} commits after {:?}", branch.ours, faults);
    }
}
