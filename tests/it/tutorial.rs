//! docs/tutorial.md, followed to the letter: one shell runs its commands in order, and prints what the page shows.
//!
//! The servers are the sandbox's own, in this process. For `cargo build` and `age` there are stand-ins, so that the test needs
//! neither: what is built is here already, and age's own library opens the key.

use std::fs;
use std::path::Path;
use std::process::Command;

use fakes::{Gitea, NetBird};

use crate::run::{IDENTITY, RECIPIENT, open};

const PAGE: &str = include_str!("../../docs/tutorial.md");
/// Stands before each command's output in what the shell prints.
const MARK: &str = "%%% ";

/// The commands of a page, each with the lines that it is shown to print.
fn steps() -> Vec<(&'static str, Vec<&'static str>)> {
    let blocks = PAGE.split("```console\n").skip(1);
    let lines = blocks.flat_map(|block| block.split_once("```").unwrap().0.lines());
    let mut steps: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push((command, Vec::new())),
            None => steps.last_mut().unwrap().1.push(line),
        }
    }
    steps
}

/// Returns whether a line is the one that is shown, where `…` stands for anything.
fn is_shown(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    for part in parts {
        let Some(at) = rest.rfind(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Not a test by itself: the stand-in for `age -d` starts this program again for it.
#[test]
fn the_stand_in_for_age_opens_a_sealed_key() {
    if let (Ok(from), Ok(to)) = (std::env::var("OPENS"), std::env::var("OPENS_INTO")) {
        fs::write(to, open(&fs::read(from).unwrap())).unwrap();
    }
}

/// A folder like a fresh clone where `cargo build` has run.
fn clone(folder: &Path, netbird: &NetBird, gitea: &Gitea) {
    let debug = folder.join("target/debug");
    fs::create_dir_all(debug.join("examples")).unwrap();
    std::os::unix::fs::symlink(
        env!("CARGO_BIN_EXE_netbird-gitops"),
        debug.join("netbird-gitops"),
    )
    .unwrap();
    let this = std::env::current_exe().unwrap();
    script(
        &debug.join("age"),
        &format!(
            "into=$(mktemp -p '{}')\n\
             OPENS=$4 OPENS_INTO=$into '{}' --exact tutorial::the_stand_in_for_age_opens_a_sealed_key > \"$into.log\"\n\
             cat \"$into\"",
            folder.display(),
            this.display()
        ),
    );
    script(
        &debug.join("age-keygen"),
        &format!("[ \"$1\" = -y ] && echo {RECIPIENT} || echo {IDENTITY} > \"$2\""),
    );
    script(&debug.join("cargo"), "[ \"$1\" = build ]");
    // the sandbox's own request
    script(
        &debug.join("examples/sandbox"),
        "curl -sSf -d \"{\\\"key\\\": \\\"$3\\\", \\\"hostname\\\": \\\"$4\\\"}\" -H 'Content-Type: application/json' \"$2/sandbox/enroll\" \
         | sed -n \"s/.*\\\"peer_id\\\":\\\"\\([^\\\"]*\\)\\\".*/$4 is enrolled: peer \\1/p\"",
    );
    let exports = format!(
        "export NETBIRD_API_URL={} NETBIRD_API_TOKEN={} GITEA_URL={} GITEA_TOKEN={} GITEA_REPO={} GITEA_BRANCH=main \
         SANDBOX_REPOSITORY={}\n",
        netbird.url(),
        netbird.token(),
        gitea.url(),
        gitea.token(),
        gitea.repo(),
        gitea.git_dir().display()
    );
    fs::write(folder.join("sandbox.env"), exports).unwrap();
}

#[test]
fn every_command_does_what_the_page_shows() {
    let (netbird, gitea) = (NetBird::start(), Gitea::start());
    netbird.lasts("POST", "/setup-keys", 3);
    let file = include_str!("../../netbird.json");
    gitea.push("main", "netbird.json", file, "the network\n");
    let folder = tempfile::tempdir().unwrap();
    clone(folder.path(), &netbird, &gitea);

    let steps = steps();
    let commands = steps
        .iter()
        .map(|(command, _)| format!("echo '{MARK}'\n{command}\n"));
    let all: String = commands.collect();
    let output = Command::new("bash")
        .args(["-e", "-c", &format!("exec 2>&1\n{all}")])
        .current_dir(folder.path())
        .env_clear()
        .env(
            "PATH",
            format!(
                "{}/target/debug:{}",
                folder.path().display(),
                std::env::var("PATH").unwrap()
            ),
        )
        .env("HOME", folder.path())
        .envs([
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let printed: Vec<&str> = said.split(&format!("{MARK}\n")).skip(1).collect();
    assert_eq!(printed.len(), steps.len(), "{said}");
    for ((command, shown), printed) in steps.iter().zip(printed) {
        let mut lines = printed.lines().map(str::trim_end);
        for shown in shown {
            let found = lines.any(|line| is_shown(shown, line));
            assert!(
                found,
                "{command} does not print, in this order, {shown:?}:\n{printed}"
            );
        }
    }
    assert!(steps.len() > 20);
}

#[test]
fn what_is_shown_is_compared_to_its_end() {
    assert!(is_shown("a … c", "a b c") && is_shown("a", "a") && is_shown("a …", "a b"));
    assert!(!is_shown("a … c", "a b d") && !is_shown("a", "ab") && !is_shown("a …", "b"));
}
