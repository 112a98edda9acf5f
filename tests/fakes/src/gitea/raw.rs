//! The bytes of a file.

use super::api::{Call, Outcome};
use super::auth::Unit;
use super::contents::{Files, clean};
use super::refusal::missing;
use crate::http::Response;

/// `GET …/raw/{path}`. Gitea takes the default branch where it does not know the `ref`.
pub(super) fn get(call: &Call) -> Outcome {
    call.require_read(&call.forge(), Unit::Code)?;
    let files = Files::of(call);
    let reference = call.parameter("ref").unwrap_or(&files.default_branch);
    let or_default = || {
        let branch = &files.default_branch;
        files.flavour.pick(files.git.tip(branch), None)
    };
    let commit = files.commit(reference).or_else(or_default);
    let commit = commit.ok_or_else(missing)?;
    let path = clean(call.part(0));
    let entry = files.git.entry(&commit, &path);
    let entry = entry
        .filter(|entry| entry.mode.starts_with("100"))
        .ok_or_else(missing)?;
    let age = files.flavour.pick("max-age=21600", "max-age=300");
    let bytes = files.git.blob(&entry.sha);
    Ok(Response::new(200, "text/plain; charset=utf-8", bytes)
        .with("ETag", &format!("\"{}\"", entry.sha))
        .with("X-Gitea-Object-Type", "file")
        .with("Cache-Control", &format!("private, {age}, no-transform")))
}
