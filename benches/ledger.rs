//! 10,000 commits of a 200 KB file: reading the ledger against letting git hand out the same blobs.
//!
//! `cargo bench --bench ledger`. The ratio is what counts: the machine is in both numbers. The repository is made once,
//! under the target directory. No framework: one run takes seconds, and the comparison is with another process.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use netbird_gitops::address::Address;
use netbird_gitops::git::{Git, Opened};
use netbird_gitops::kind::Kind;
use netbird_gitops::ledger::Ledger;

const COMMITS: usize = 10_000;
const ROUNDS: usize = 5;

fn main() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ledger-bench");
    if !dir.join("whole").exists() {
        make(&dir);
    }
    let ids = blobs(&dir);
    let (mut plain, mut ledger) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        plain.push(time(|| bytes = stream(&dir, &ids)));
        ledger.push(time(|| read(&dir)));
    }
    plain.sort();
    ledger.sort();
    let (plain, ledger) = (plain[ROUNDS / 2], ledger[ROUNDS / 2]);
    let mut out = std::io::stdout();
    let written = writeln!(
        out,
        "{COMMITS} commits, {} MB of versions\n\
         git log and git cat-file --batch alone  {plain:>8.2?}\n\
         the ledger                              {ledger:>8.2?}\n\
         ratio                                   {:>7.2}\n\
         most memory of this process             {}",
        bytes / 1_000_000,
        ledger.as_secs_f64() / plain.as_secs_f64(),
        peak(),
    );
    drop(written);
}

fn time(what: impl FnOnce()) -> Duration {
    let start = Instant::now();
    what();
    start.elapsed()
}

fn read(dir: &Path) {
    let Ok(Opened::Checkout(git)) = Git::open(dir) else {
        panic!("not a checkout");
    };
    let tip = git.resolve("main").expect("it has that branch");
    let path = git.locate(&dir.join("netbird.json")).expect("inside");
    let ledger = Ledger::read(&git, &tip, &[path], i64::MAX).expect("readable");
    assert_eq!(ledger.commits().len(), COMMITS);
    let mut keys = (1..=599 + COMMITS / 4).map(|n| format!("key-{n:05}"));
    assert!(keys.all(|key| ledger.was_declared(&Address::new(Kind::SetupKey, &key))));
}

/// The log, and then all blobs into nothing.
fn stream(dir: &Path, ids: &Path) -> usize {
    blobs(dir);
    let mut git = git(dir);
    git.args(["cat-file", "--batch"]);
    git.stdin(File::open(ids).expect("made before"));
    let mut child = git.stdout(Stdio::piped()).spawn().expect("git");
    let mut out = child.stdout.take().expect("piped");
    let (mut buffer, mut bytes) = (vec![0; 1 << 18], 0);
    loop {
        match out.read(&mut buffer).expect("readable") {
            0 => break,
            read => bytes += read,
        }
    }
    assert!(child.wait().expect("ends").success());
    bytes
}

/// The blobs of all versions, newest last, one a line.
fn blobs(dir: &Path) -> PathBuf {
    let mut git = git(dir);
    git.args([
        "log",
        "--reverse",
        "--first-parent",
        "-m",
        "--raw",
        "--no-abbrev",
        "--no-renames",
    ]);
    let log = git
        .args(["--format=", "main", "--", "netbird.json"])
        .output()
        .expect("git");
    let log = String::from_utf8(log.stdout).expect("ASCII");
    let ids: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split(' ').nth(3))
        .collect();
    assert_eq!(ids.len(), COMMITS);
    let file = dir.join("ids");
    fs::write(&file, ids.join("\n") + "\n").expect("writable");
    file
}

fn git(dir: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(dir);
    git
}

/// The most memory that this process ever had, as Linux tells.
fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".into(), |line| line.trim().to_owned())
}

/// A file of 100 groups, 600 setup keys and 150 policies. Of four commits one adds a key and lists it, one marks a key
/// enrolled, one changes a policy, one removes a member.
fn make(dir: &Path) {
    drop(fs::remove_dir_all(dir));
    fs::create_dir_all(dir).expect("writable");
    assert!(
        git(dir)
            .args(["init", "-q"])
            .status()
            .expect("git")
            .success()
    );
    let mut import = git(dir);
    import
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped());
    let mut import = import.spawn().expect("git");
    let mut out = BufWriter::new(import.stdin.take().expect("piped"));

    let group = |n: usize, members: &[usize]| {
        let members: Vec<String> = members
            .iter()
            .map(|m| format!("        \"key-{m:05}\""))
            .collect();
        format!(
            "    \"group-{n:03}\": {{\n      \"peers\": [\n{}\n      ]\n    }}",
            members.join(",\n")
        )
    };
    let key = |n: usize, enrolled: bool| {
        format!(
            "    \"key-{n:05}\": {{\n      \"type\": \"one-off\",\n      \"expires_in\": 604800,\n      \
             \"usage_limit\": 1,\n      \"auto_groups\": [\n        \"group-{:03}\"\n      ],\n      \
             \"enrolled\": {enrolled}\n    }}",
            n % 100
        )
    };
    let policy = |n: usize, text: usize| {
        format!(
            "    \"policy-{n:03}\": {{\n      \"description\": \"the {text}th text of it\",\n      \"enabled\": true,\n      \
             \"sources\": [\"group-001\"],\n      \"destinations\": [\"group-{:03}\"],\n      \
             \"bidirectional\": true,\n      \"protocol\": \"ALL\"\n    }}",
            n % 100
        )
    };
    let mut members: Vec<Vec<usize>> = (0..100)
        .map(|n| (0..20).map(|m| (n * 6 + m) % 600).collect())
        .collect();
    let mut groups: Vec<String> = (0..100).map(|n| group(n, &members[n])).collect();
    let mut keys: Vec<String> = (0..600).map(|n| key(n, false)).collect();
    let mut policies: Vec<String> = (0..150).map(|n| policy(n, 0)).collect();
    let mut newest = 599;
    for commit in 0..COMMITS {
        let n = commit * 7919;
        match commit % 4 {
            0 => {
                newest += 1;
                // the file keeps its size: the oldest key goes
                keys.remove(0);
                keys.push(key(newest, false));
                members[n % 100].push(newest);
                groups[n % 100] = group(n % 100, &members[n % 100]);
            }
            1 => {
                let at = n % 600;
                let marked = key(newest - 599 + at, true);
                if keys[at] == marked {
                    policies[n % 150] = policy(n % 150, commit);
                }
                keys[at] = marked;
            }
            2 => policies[n % 150] = policy(n % 150, commit),
            _ => {
                // the group that got one three commits ago
                let at = (commit - 3) * 7919 % 100;
                members[at].remove(0);
                groups[at] = group(at, &members[at]);
            }
        }
        let text = format!(
            "{{\n  \"groups\": {{\n{}\n  }},\n  \"setup_keys\": {{\n{}\n  }},\n  \"policies\": {{\n{}\n  }}\n}}\n",
            groups.join(",\n"),
            keys.join(",\n"),
            policies.join(",\n")
        );
        let second = 1_700_000_000 + commit * 600;
        write!(
            out,
            "commit refs/heads/main\ncommitter a <a@b> {second} +0000\ndata 1\nx\nM 100644 inline netbird.json\ndata {}\n{text}\n",
            text.len()
        )
        .expect("git reads");
    }
    drop(out);
    assert!(import.wait().expect("ends").success());
    File::create(dir.join("whole")).expect("writable");
}
