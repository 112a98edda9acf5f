//! Writing files: what the server checks, the commit it makes, and the push at its
//! end, which another push may have overtaken. No lock is held from the check to the push, so two
//! writers can meet here as they do on the real server.

mod request;

use serde_json::{Value, json};

use super::{FOLDER, Files, SYMLINK};
use crate::body::Body;
use crate::gitea::api::{Call, Outcome};
use crate::gitea::auth::{Level, Unit};
use crate::gitea::commits;
use crate::gitea::flavour::Flavour;
use crate::gitea::git::{Change, NOTHING};
use crate::gitea::refusal::{Refusal, forbidden, invalid, json_response, missing};
use request::{File, Operation, Write};

/// `POST …/contents/{path}`.
pub(in crate::gitea) fn create(call: &Call) -> Outcome {
    one(call, Operation::Create, 201)
}

/// `PUT …/contents/{path}`. Without `sha` it creates on Gitea, and is refused on Forgejo.
pub(in crate::gitea) fn update(call: &Call) -> Outcome {
    require_write(call)?;
    let sha = call.body()?.text("sha")?;
    let flavour = call.forge().flavour;
    match flavour {
        Flavour::Forgejo if sha.is_empty() => Err(invalid("[SHA]: Required")),
        Flavour::Gitea if sha.is_empty() => one(call, Operation::Create, 201),
        _ => one(call, Operation::Update, 200),
    }
}

/// `DELETE …/contents/{path}`.
pub(in crate::gitea) fn delete(call: &Call) -> Outcome {
    require_write(call)?;
    if call.body()?.text("sha")?.is_empty() {
        return Err(invalid("[SHA]: Required"));
    }
    one(call, Operation::Delete, 200)
}

/// `POST …/contents`: several files in one commit.
pub(in crate::gitea) fn several(call: &Call) -> Outcome {
    require_write(call)?;
    let body = call.body()?;
    let files = body.objects("files")?;
    let files: Vec<File> = files.iter().map(File::read).collect::<Result<_, _>>()?;
    if files.is_empty() {
        return Err(invalid("[Files]: Required"));
    }
    let unnamed = |file: &File| file.operation != Operation::Create && file.sha.is_none();
    if call.forge().flavour == Flavour::Forgejo && files.iter().any(unnamed) {
        return Err(invalid(
            "a SHA or commit ID must be provided when updating a file",
        ));
    }
    let write = Write::read(&body, files)?;
    let mut shown = commit(call, &write)?;
    if let (Flavour::Gitea, Some(files)) = (call.forge().flavour, shown["files"].as_array_mut()) {
        files.truncate(30);
    }
    Ok(json_response(201, &shown))
}

fn one(call: &Call, operation: Operation, status: u16) -> Outcome {
    require_write(call)?;
    let body: Body = call.body()?;
    let file = File::of_path(operation, call.part(0), &body)?;
    let write = Write::read(&body, vec![file])?;
    let mut shown = commit(call, &write)?;
    let content = shown["files"][0].take();
    shown["content"] = content;
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("files");
    }
    Ok(json_response(status, &shown))
}

/// Sees that the caller may write to this repository at all.
fn require_write(call: &Call) -> Result<(), Refusal> {
    let forge = call.forge();
    call.require_read(&forge, Unit::Code)?;
    call.require_alive(&forge)?;
    if forge.repo(call.repo).mirror {
        let message = format!(
            "{} is not allowed to edit",
            forge.full_name(forge.repo(call.repo))
        );
        let refusal = Refusal::Message(423, message);
        return Err(forge.flavour.pick(refusal, Refusal::Hidden(String::new())));
    }
    if call.level(&forge, Unit::Code) < Level::Write {
        return Err(forbidden(
            "user should have a permission to write to the target branch",
        ));
    }
    Ok(())
}

/// Makes the commit; returns it, and the files as they are then.
fn commit(call: &Call, write: &Write) -> Result<Value, Refusal> {
    let files = Files::of(call);
    let branch = write.branch.as_deref().unwrap_or(&files.default_branch);
    let target = write.new_branch.as_deref().unwrap_or(branch);
    let tip = check_branches(call, &files, write, branch, target)?;
    let changes = write
        .files
        .iter()
        .map(|file| change(&files, tip.as_deref(), file))
        .collect::<Result<Vec<Change>, Refusal>>()?;
    let draft = write.draft(&mut call.forge(), call.caller.user, changes);
    let commit = files.git.write(tip.as_deref(), &draft);
    call.shared.run_race();
    push(
        call,
        &files,
        target,
        (&commit, &draft.message),
        tip.filter(|_| target == branch),
    )?;
    let forge = call.forge();
    let shown = commits::show(&forge, forge.repo(call.repo), &files.git.commit(&commit));
    drop(forge);
    let shown_files = write.files.iter().map(|file| {
        let entry = files.git.entry(&commit, &file.path);
        let entry = entry.filter(|_| file.operation != Operation::Delete);
        entry.map_or(Value::Null, |entry| {
            files.show(target, &commit, &entry, true)
        })
    });
    Ok(json!({
        "files": shown_files.collect::<Vec<Value>>(),
        "commit": shown,
        "verification": commits::verification(),
    }))
}

/// Returns the tip that the commit goes on. None for a repository without any commit.
fn check_branches(
    call: &Call,
    files: &Files,
    write: &Write,
    branch: &str,
    target: &str,
) -> Result<Option<String>, Refusal> {
    if let Some(name) = files.unknown.iter().find(|name| *name == target) {
        return Err(Refusal::Hidden(format!("branch {name} is in git alone")));
    }
    let Some(tip) = files.git.tip(branch) else {
        if !files.git.branches().is_empty() {
            let message = format!(
                "branch does not exist [repo_id: {} name: {branch}]",
                call.repo
            );
            return Err(Refusal::Message(404, message));
        }
        let empty = invalid("repo is empty");
        return files.flavour.pick(Ok(None), Err(empty));
    };
    if target != branch && files.git.tip(target).is_some() {
        return Err(invalid(format!("branch already exists [name: {target}]")));
    }
    let forge = call.forge();
    let paths: Vec<String> = write.files.iter().map(|file| file.path.clone()).collect();
    if let Some(rule) = forge.repo(call.repo).rule(target) {
        rule.allow(&forge, &call.caller, &paths)?;
    }
    Ok(Some(tip))
}

/// Checks what is wanted against what is there.
fn change(files: &Files, tip: Option<&str>, file: &File) -> Result<Change, Refusal> {
    let File {
        operation,
        path,
        sha,
        bytes,
    } = file;
    let entry = tip.and_then(|tip| files.git.entry(tip, path));
    let lost = || format!("object does not exist [id: , rel_path: {path}]");
    match (&entry, operation) {
        // In a repository without commits every write creates.
        (None, Operation::Update) if tip.is_some() => {
            let refusal = Refusal::Message(404, lost());
            return Err(files.flavour.pick(refusal, Refusal::Hidden(lost())));
        }
        (None, Operation::Delete) => return Err(missing()),
        (None, _) => {
            let above = |end: usize| tip.and_then(|tip| files.git.entry(tip, &path[..end]));
            let mut ends = path.match_indices('/').map(|(end, _)| end);
            if ends.any(|end| above(end).is_some_and(|entry| entry.mode != FOLDER)) {
                return Err(invalid(format!(
                    "file path is not a directory [path: {path}]"
                )));
            }
        }
        (Some(_), Operation::Create) => {
            return Err(invalid(format!(
                "repository file already exists [path: {path}]"
            )));
        }
        (Some(entry), _) if entry.mode == FOLDER || entry.mode == SYMLINK => {
            return Err(invalid(format!(
                "path exists and is not a file [path: {path}]"
            )));
        }
        (Some(entry), _) => {
            if let Some(sha) = sha.as_ref().filter(|sha| **sha != entry.sha) {
                let message = format!("sha does not match [given: {sha}, expected: {}]", entry.sha);
                let of_forgejo = if *operation == Operation::Delete {
                    400
                } else {
                    409
                };
                let status = files.flavour.pick(422, of_forgejo);
                return Err(Refusal::Message(status, message));
            }
        }
    }
    let path = path.clone();
    Ok(match operation {
        Operation::Delete => Change::Delete { path },
        Operation::Create | Operation::Update => Change::Write {
            path,
            // The executable bit stays.
            mode: entry.map_or_else(|| "100644".to_owned(), |entry| entry.mode),
            bytes: bytes.clone(),
        },
    })
}

/// Puts the commit on its branch, unless a hook or another push is in the way.
fn push(
    call: &Call,
    files: &Files,
    target: &str,
    (commit, message): (&str, &str),
    tip: Option<String>,
) -> Result<(), Refusal> {
    let flavour = files.flavour;
    let refused = |told: String| flavour.pick(forbidden(told.clone()), Refusal::Hidden(told));
    if let Some(told) = call.forge().repo(call.repo).hook.clone() {
        return Err(refused(told));
    }
    if call.caller.job.is_some() && flavour == Flavour::Forgejo {
        return Err(refused("User permission denied for writing.".to_owned()));
    }
    let reference = format!("refs/heads/{target}");
    let old = tip.as_deref().unwrap_or(NOTHING);
    files.git.push(&reference, commit, old).map_err(refused)?;
    let mut forge = call.forge();
    forge.pushed(call.repo, target, commit, message, call.caller.user);
    Ok(())
}
