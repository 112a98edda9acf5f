//! The branch of the inventory, on fakes of both servers.

mod reading;
mod rights;
mod together;
mod writing;

use std::time::Duration;

use fakes::Gitea;

use super::*;
use crate::forge::gitea::ForgeFile;
use crate::forge::gitea::commit::{CommitOutcome, Patience, Revision};
use crate::forge::gitea::inventory::{BRANCH, InventoryBranch};

const PATH: &str = ".netbird-gitops/home/inventory.json";
const PROBE: &str = "netbird.json";

fn both() -> [Gitea; 2] {
    [Gitea::start(), Gitea::start_forgejo()]
}

/// The branch as the bot sees it.
fn branch(gitea: &Gitea) -> InventoryBranch {
    branch_as(gitea, &gitea.token(), BRANCH)
}

fn branch_as(gitea: &Gitea, token: &str, name: &str) -> InventoryBranch {
    let mut config = config(&gitea.url()).unwrap();
    config.proxy = ProxySetting::Direct;
    config.retry.sleep = |_: Duration| {};
    let repo = Repo::new(config, &Token::parse(token).unwrap(), &gitea.repo()).unwrap();
    InventoryBranch::new(repo, name, "home")
}

/// A patience that waits for nothing but other threads.
fn patience() -> Patience<'static> {
    Patience {
        sleep: &|_| std::thread::yield_now(),
        ..Patience::default()
    }
}

/// Adds an id to an inventory, which is a list of ids here, one a line.
fn with_id(text: Option<&[u8]>, id: &str) -> Option<Revision> {
    let text = String::from_utf8(text.unwrap_or_default().to_vec()).unwrap();
    let mut ids: BTreeSet<&str> = text.lines().collect();
    ids.insert(id).then(|| Revision {
        bytes: ids
            .iter()
            .map(|id| format!("{id}\n"))
            .collect::<String>()
            .into_bytes(),
        message: format!("inventory: 1 in\n\nRun: {id}"),
    })
}

/// Writes an id, and one copy of a key for each name.
fn write(branch: &InventoryBranch, id: &str, keys: &[&str]) -> anyhow::Result<CommitOutcome> {
    let keys: Vec<(String, Vec<u8>)> = keys.iter().map(|name| key(name)).collect();
    let mut edit = |text: Option<&[u8]>| Ok(with_id(text, id));
    branch.write(&mut edit, &keys, patience())
}

fn key(name: &str) -> (String, Vec<u8>) {
    (format!("{name}.age"), format!("sealed {name}").into_bytes())
}

fn key_path(name: &str) -> String {
    format!(".netbird-gitops/home/keys/{name}.age")
}

fn text(gitea: &Gitea) -> String {
    String::from_utf8(gitea.file(BRANCH, PATH)).unwrap()
}

/// The messages of the branch's commits since it was made, the newest first.
fn messages(gitea: &Gitea) -> Vec<String> {
    let began = gitea.log("main").len();
    let log = gitea.log(BRANCH).into_iter();
    let mut messages: Vec<String> = log.map(|commit| commit.message).collect();
    messages.truncate(messages.len().saturating_sub(began));
    messages
}

/// The files of the last write that was sent.
fn sent(gitea: &Gitea) -> Vec<Value> {
    let requests = gitea.requests();
    let write = requests.iter().rfind(|request| request.method == "POST");
    let body = write.and_then(|request| request.body.clone()).unwrap();
    body["files"].as_array().cloned().unwrap()
}

fn delete_branch(gitea: &Gitea) {
    let path = gitea.path(&format!("/branches/{BRANCH}"));
    assert_eq!(gitea.call("DELETE", &path, Value::Null).0, 204);
}

fn is_committed(outcome: &anyhow::Result<CommitOutcome>) -> bool {
    matches!(outcome, Ok(CommitOutcome::Committed { sha: Some(_) }))
}
