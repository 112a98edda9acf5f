//! Trees and blobs by their ids, or by what else git knows them by.

use serde_json::{Value, json};

use super::api::{BASE, Call, Outcome, ok};
use super::auth::Unit;
use super::contents::{FOLDER, SUBMODULE};
use super::flavour::Flavour;
use super::git::Entry;
use super::pages::counted;
use super::refusal::{Refusal, missing};
use crate::base64;

/// `GET …/git/trees/{sha}`: `sha` is one part of the path, so the slash in a branch's name is encoded. What git does not
/// know is a 400 (read in Gitea's services/repository/files/tree.go).
pub(super) fn tree(call: &Call) -> Outcome {
    let (git, root, most) = {
        let forge = call.forge();
        call.require_read(&forge, Unit::Code)?;
        let repo = forge.repo(call.repo);
        let root = format!("{}{BASE}/repos/{}/git", forge.root, forge.full_name(repo));
        (repo.git.clone(), root, forge.trees_per_page)
    };
    let wanted = call.part(0);
    let unknown = || Refusal::Message(400, format!("sha not found [{wanted}]"));
    let id = git.treeish(wanted).ok_or_else(unknown)?;
    let recursive = matches!(call.parameter("recursive"), Some("1" | "t" | "true"));
    let entries = git.tree(&id, recursive);
    let number = |name| {
        let number = call.parameter(name).and_then(|text| text.parse().ok());
        number.filter(|number: &usize| *number > 0)
    };
    let page = number("page").unwrap_or(1);
    let size = number("per_page").unwrap_or(most).min(most);
    let start = size.saturating_mul(page - 1);
    let shown = entries.iter().skip(start).take(size);
    let shown: Vec<Value> = shown.map(|entry| show(&root, entry)).collect();
    let answer = json!({
        "sha": id,
        "url": format!("{root}/trees/{id}"),
        "tree": if start < entries.len() { json!(shown) } else { Value::Null },
        "truncated": start < entries.len() && start + size < entries.len(),
        "page": page,
        "total_count": entries.len(),
    });
    Ok(counted(ok(&answer), entries.len()))
}

fn show(root: &str, entry: &Entry) -> Value {
    let Entry {
        mode,
        sha,
        size,
        path,
    } = entry;
    let (kind, url) = match mode.as_str() {
        FOLDER => ("tree", format!("{root}/trees/{sha}")),
        SUBMODULE => ("commit", String::new()),
        _ => ("blob", format!("{root}/blobs/{sha}")),
    };
    json!({"path": path, "mode": mode, "type": kind, "size": size, "sha": sha, "url": url})
}

/// `GET …/git/blobs/{sha}`. One over the limit has no content, as in `/contents`.
pub(super) fn blob(call: &Call) -> Outcome {
    let forge = call.forge();
    call.require_read(&forge, Unit::Code)?;
    let (repo, sha) = (forge.repo(call.repo), call.part(0));
    let bytes = repo.git.find_blob(sha).ok_or_else(missing)?;
    let (content, encoding) = if bytes.len() <= forge.max_blob_size {
        (json!(base64::encode(&bytes)), json!("base64"))
    } else if forge.flavour == Flavour::Forgejo {
        (json!(""), json!("base64"))
    } else {
        (Value::Null, Value::Null)
    };
    let url = format!(
        "{}{BASE}/repos/{}/git/blobs/{sha}",
        forge.root,
        forge.full_name(repo)
    );
    Ok(ok(
        &json!({"content": content, "encoding": encoding, "url": url, "sha": sha, "size": bytes.len()}),
    ))
}
