//! Reading files and folders.

pub(super) mod write;

use serde_json::{Value, json};

use super::api::{BASE, Call, Outcome, ok};
use super::auth::Unit;
use super::commits::as_written;
use super::flavour::Flavour;
use super::git::{Entry, Git, Log};
use super::refusal::Refusal;
use crate::base64;
use crate::url::percent_encode;

const SYMLINK: &str = "120000";
pub(super) const FOLDER: &str = "040000";
pub(super) const SUBMODULE: &str = "160000";

/// What is needed to read the files of a repository and to show them, without the lock.
pub(super) struct Files {
    pub(super) git: Git,
    unknown: Vec<String>,
    pub(super) flavour: Flavour,
    pub(super) default_branch: String,
    root: String,
    full_name: String,
    max_blob_size: usize,
}

impl Files {
    pub(super) fn of(call: &Call) -> Files {
        let forge = call.forge();
        let repo = forge.repo(call.repo);
        Files {
            git: repo.git.clone(),
            unknown: repo.unknown(),
            flavour: forge.flavour,
            default_branch: repo.default_branch.clone(),
            root: forge.root.clone(),
            full_name: forge.full_name(repo),
            max_blob_size: forge.max_blob_size,
        }
    }

    /// Returns the commit that a `ref` names: a branch, a tag, or a commit by its full id. Forgejo
    /// takes whatever git takes.
    pub(super) fn commit(&self, name: &str) -> Option<String> {
        if self.unknown.iter().any(|branch| branch == name) {
            return None;
        }
        let known = ["refs/heads/", "refs/tags/"]
            .into_iter()
            .find_map(|kind| self.git.resolve(&format!("{kind}{name}")));
        let any = is_full_id(name) || self.flavour == Flavour::Forgejo;
        known.or_else(|| any.then(|| self.git.resolve(name))?)
    }

    /// Returns what is at a path, as answers show it.
    pub(super) fn show(
        &self,
        reference: &str,
        commit: &str,
        entry: &Entry,
        in_full: bool,
    ) -> Value {
        let Files {
            git,
            unknown: _,
            flavour,
            default_branch: _,
            root,
            full_name,
            max_blob_size,
        } = self;
        let Entry {
            mode,
            sha,
            size,
            path,
        } = entry;
        let kind = match mode.as_str() {
            SYMLINK => "symlink",
            FOLDER => "dir",
            SUBMODULE => "submodule",
            _ => "file",
        };
        let bytes = (in_full && *size <= *max_blob_size && ["file", "symlink"].contains(&kind))
            .then(|| git.blob(sha));
        let (mut encoding, mut content, mut target) = (Value::Null, Value::Null, Value::Null);
        match (kind, bytes) {
            ("file", Some(bytes)) => {
                (encoding, content) = (json!("base64"), json!(base64::encode(&bytes)));
            }
            ("file", None) if in_full && *flavour == Flavour::Forgejo => {
                (encoding, content) = (json!("base64"), json!(""));
            }
            ("symlink", Some(bytes)) => target = json!(String::from_utf8_lossy(&bytes)),
            _ => {}
        }
        let escaped = percent_encode(path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let api = format!("{root}{BASE}/repos/{full_name}");
        let place = if is_full_id(reference) {
            "commit"
        } else {
            "branch"
        };
        let own = format!("{api}/contents/{escaped}?ref={reference}");
        let html = format!("{root}/{full_name}/src/{place}/{reference}/{escaped}");
        let objects = if kind == "dir" { "trees" } else { "blobs" };
        let git_url = format!("{api}/git/{objects}/{sha}");
        let download = format!("{root}/{full_name}/raw/{place}/{reference}/{escaped}");
        let last = git.log(commit, Log::Last { path });
        let last = last.first().cloned().unwrap_or_default();
        let mut shown = json!({
            "name": name,
            "path": path,
            "sha": sha,
            "last_commit_sha": last.sha,
            "type": kind,
            "size": size,
            "encoding": encoding,
            "content": content,
            "target": target,
            "url": own,
            "html_url": html,
            "git_url": git_url,
            "download_url": if kind == "file" { json!(download) } else { Value::Null },
            "submodule_git_url": null,
            "_links": {"self": own, "git": git_url, "html": html},
        });
        let when = as_written(&last.committer.date);
        match flavour {
            Flavour::Gitea => {
                shown["last_committer_date"] = json!(when);
                shown["last_author_date"] = json!(as_written(&last.author.date));
            }
            Flavour::Forgejo => shown["last_commit_when"] = json!(when),
        }
        shown
    }
}

fn is_full_id(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns a path without slashes at its ends or doubled ones.
pub(super) fn clean(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

/// `GET …/contents/{path}`.
pub(super) fn get(call: &Call) -> Outcome {
    call.require_read(&call.forge(), Unit::Code)?;
    let files = Files::of(call);
    let path = clean(call.part(0));
    let reference = call.parameter("ref").unwrap_or(&files.default_branch);
    let lost = |id: &str, path: &str| format!("object does not exist [id: {id}, rel_path: {path}]");
    let Some(commit) = files.commit(reference) else {
        if files.flavour == Flavour::Forgejo && files.git.branches().is_empty() {
            return Ok(ok(&json!([])));
        }
        let message = files.flavour.pick(None, Some("GetContentsOrList"));
        return Err(Refusal::Missing(message, vec![lost(reference, "")]));
    };
    let Some(entry) = files.git.entry(&commit, &path) else {
        let message = Some("GetContentsOrList");
        return Err(Refusal::Missing(message, vec![lost("", &path)]));
    };
    if entry.mode != FOLDER {
        return Ok(ok(&files.show(reference, &commit, &entry, true)));
    }
    let entries = files.git.folder_of(&commit, &path);
    let shown = entries
        .iter()
        .map(|entry| files.show(reference, &commit, entry, false));
    Ok(ok(&shown.collect()))
}
