//! What a run of `sync-events` says: text and JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Done, Kind, Marked, Notice, Remark, Synced, visible};
use crate::base::{count, joined};
use crate::forge::gitea::mark_enrolled::MarkedBy;
use crate::model::Address;

pub(super) fn text(synced: &Synced) -> String {
    let moved = synced.marked.as_ref().is_some_and(Marked::is_new);
    if synced.idle && !moved && synced.failure.is_none() {
        return "Nothing to mark: every used key is marked.\n".into();
    }
    // what waits in a pull request was told by the run that put it there
    let waits = synced.marked.as_ref().is_some_and(Marked::waits);
    let told = |done: &&Done| !waits || done.is_news() || !done.is_ready();
    let done = synced.done.iter().filter(told);
    let done = done.map(|done| done_line(done, synced.args.dry_run));
    let open = synced.open.iter();
    let open = open.map(|(key, why)| format!("setup key {key:?} {}; nothing is done", why.words()));
    let remarks = synced.remarks.iter();
    let remarks = remarks.map(|(key, what)| format!("note: {}", remark(key, what)));
    let undeclared = synced.undeclared.iter().map(|(peer, key)| {
        format!("note: peer {peer:?} enrolled with {key:?}, which the file does not declare")
    });
    let lines = done.chain(open).chain(remarks).chain(undeclared);
    let lines = lines.chain(summary(synced));
    lines
        .map(|line| visible(&line).into_owned() + "\n")
        .collect()
}

fn done_line(done: &Done, dry_run: bool) -> String {
    let verb = if dry_run { "would be" } else { "is" };
    let (enrollment, replaces) = (&done.enrollment, &done.replaces);
    let label = done.dns_label.iter().map(|label| {
        let is_sure = !dry_run || *label == enrollment.key;
        let predicted = if is_sure { "" } else { ", a prediction" };
        format!(" (DNS label {label}{predicted})")
    });
    let label: String = label.collect();
    let mut parts = vec![match &enrollment.renamed_from {
        Some(old) if !replaces.is_empty() => format!("peer {old:?} enrolled with it"),
        Some(old) => format!("peer {old:?} {verb} renamed to it{label}"),
        None => format!("peer {:?} has its name", done.peer_label),
    }];
    if !done.joined.is_empty() {
        parts.push(format!("{verb} put into {}", joined(&done.joined, ", ")));
    }
    if !replaces.is_empty() {
        let peers = replaces.join(", ");
        parts.push(format!(
            "it replaces peer {peers}, and gets the name and the mark after {peers} is deleted: an apply deletes it if \
             somebody agrees; netbird-gitops plan prints the line for this"
        ));
    }
    parts.extend(enrollment.evidence.words().map(str::to_owned));
    if done.waits_for_approval {
        let text =
            "it waits for approval in NetBird: until it is approved, it cannot reach any peer";
        parts.push(text.into());
    }
    parts.extend(done.error.iter().map(|error| format!("FAILED: {error}")));
    format!("setup key {:?}: {}", enrollment.key, parts.join("; "))
}

/// What became of the flags: of those that were written, not of those that were meant to be.
fn summary(synced: &Synced) -> Vec<String> {
    let keys = |number| count(number, "key", "keys");
    let ready = synced.done.iter().filter(|done| done.is_ready()).count();
    let Some(marked) = &synced.marked else {
        let line = match (ready, keys(ready)) {
            // the error line says what became of it
            _ if synced.failure.is_some() => return Vec::new(),
            (0, _) if synced.done.iter().any(|done| done.error.is_some()) => return Vec::new(),
            (0, _) => "Nothing to mark.".into(),
            (_, keys) if synced.args.dry_run => format!("{keys} would be marked enrolled."),
            (_, keys) => format!("{keys} not marked: nothing was committed."),
        };
        return vec![line];
    };
    let (written, text) = (keys(marked.edit.flipped.len()), &marked.text);
    let mut lines = match marked.by {
        MarkedBy::Commit => vec![format!("{written} marked enrolled: {text}.")],
        MarkedBy::Pull => vec![format!("{written} to be marked enrolled: {text}.")],
        MarkedBy::Others => vec![format!("Nothing to mark: {text}.")],
        MarkedBy::OpenPull | MarkedBy::Nobody => Vec::new(),
    };
    let already = "was already marked by somebody else";
    let missing = "has no entry on the branch any more, so it is not marked";
    for (names, what) in [
        (&marked.edit.already, already),
        (&marked.edit.missing, missing),
    ] {
        lines.extend(
            names
                .iter()
                .map(|name| format!("setup key {name:?} {what}.")),
        );
    }
    if lines.is_empty() && !marked.waits() {
        lines.push("Nothing to mark.".into());
    }
    lines
}

pub(super) fn json(synced: &Synced) -> Value {
    let done = synced.done.iter();
    let (ready, replacing): (Vec<_>, Vec<_>) = done.partition(|done| done.replaces.is_empty());
    let open = synced.open.iter();
    let open = open.map(|(key, why)| json!({ "setup_key_name": key, "reason": why.words() }));
    let undeclared: BTreeMap<_, _> = synced.undeclared.iter().cloned().collect();
    let marked = synced.marked.as_ref();
    let remarks = synced.remarks.iter();
    let remarks = remarks.map(|(key, what)| remark(key, what));
    let notices = remarks.chain(synced.notices.iter().map(Notice::words));
    json!({
        "format_version": 1,
        "enrollments": ready.into_iter().map(entry).collect::<Vec<_>>(),
        "replacing": replacing.into_iter().map(entry).collect::<Vec<_>>(),
        "left_alone": open.collect::<Vec<_>>(),
        "notices": notices.collect::<Vec<_>>(),
        "undeclared": undeclared,
        "marked": marked.map(|marked| marked.edit.flipped.clone()).unwrap_or_default(),
        "commit": marked.map(|marked| &marked.text),
        "commit_place": marked.and_then(|marked| marked.place.as_ref()),
        "dry_run": synced.args.dry_run,
        "requests": synced.requests,
    })
}

fn remark(key: &str, what: &Remark) -> String {
    let said = what.said(&Address::new(Kind::SetupKey, key));
    format!("setup key {key:?} {}", said.text)
}

fn entry(done: &Done) -> Value {
    let mut entry = json!({
        "setup_key_name": done.enrollment.key,
        "peer_id": done.enrollment.peer,
        "renamed": done.enrollment.renamed_from.is_some() && done.replaces.is_empty(),
        "groups_assigned": done.is_in_all,
        "groups": done.enrollment.groups,
        "renamed_from": done.enrollment.renamed_from,
        "dns_label": done.dns_label,
        "proof": done.enrollment.evidence,
        "waits_for_approval": done.waits_for_approval,
    });
    if !done.replaces.is_empty() {
        entry["replaces"] = json!(done.enrollment.replaces);
    }
    if let Some(error) = &done.error {
        entry["error"] = json!(error);
    }
    entry
}
