//! What a run of `sync-events` says: text and JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Done, MarkedAt, Synced};
use crate::base::text::{count, visible};
use crate::forge::gitea::mark::{Marked, MarkedBy};
use crate::model::address::Address;
use crate::model::kind::Kind;
use crate::model::notice::{Notice, Remark};

pub(super) fn text(synced: &Synced) -> String {
    let mut out = String::new();
    let moved = synced.marked.as_ref().is_some_and(Marked::is_new);
    match synced.idle.filter(|_| !moved && synced.failure.is_none()) {
        Some(MarkedAt::Checkout) => {
            return "Nothing enrolled since: every used key is marked.\n".into();
        }
        Some(MarkedAt::Branch) => {
            return "Nothing to mark: every used key is marked on the branch.\n".into();
        }
        None => {}
    }
    let mut line = |text: String| {
        out.push_str(&visible(&text));
        out.push('\n');
    };
    // what waits in a pull request was told by the run that put it there
    let waits = synced.marked.as_ref().is_some_and(Marked::waits);
    for done in synced
        .done
        .iter()
        .filter(|done| !waits || done.is_news() || !done.is_ready())
    {
        line(done_line(done, synced.dry_run));
    }
    for (key, why) in &synced.open {
        line(format!("setup key {key} {}: left alone", why.words()));
    }
    for (key, what) in &synced.remarks {
        line(format!("note: {}", remark(key, what)));
    }
    for (peer, key) in &synced.undeclared {
        line(format!(
            "note: peer {peer:?} enrolled with {key:?}, which the file does not declare"
        ));
    }
    let age = synced
        .oldest
        .filter(|_| !waits)
        .map(|oldest| Timestamp::now().as_second() - oldest.as_second());
    if let Some(days) = age.map(|secs| secs / 86_400).filter(|days| *days > 0) {
        let days = count(usize::try_from(days).unwrap_or_default(), "day", "days");
        line(format!("The oldest of these enrolled {days} ago."));
    }
    summary(synced).into_iter().for_each(line);
    out
}

fn done_line(done: &Done, dry_run: bool) -> String {
    let verb = if dry_run { "would be" } else { "is" };
    let Done {
        enrollment,
        peer_label,
        dns_label,
        joined,
        is_in_all: _,
        waits_for_approval,
        replaces,
        error,
    } = done;
    let label = dns_label.iter().map(|label| {
        let sure = !dry_run || *label == enrollment.key;
        let predicted = if sure { "" } else { ", a prediction" };
        format!(" (DNS label {label}{predicted})")
    });
    let mut parts = vec![match &enrollment.renamed_from {
        Some(old) if !replaces.is_empty() => format!("peer {old:?} enrolled with it"),
        Some(old) => format!(
            "peer {old:?} {verb} renamed to it{}",
            label.collect::<String>()
        ),
        None => format!("peer {peer_label:?} has its name"),
    }];
    if !joined.is_empty() {
        let groups: Vec<&str> = joined.iter().map(String::as_str).collect();
        parts.push(format!("{verb} put into {}", groups.join(", ")));
    }
    if !replaces.is_empty() {
        parts.push(format!(
            "it replaces the peer {}, and gets the name and the mark once that one is deleted: an apply deletes it once \
             somebody agrees; netbird-gitops plan prints the line for that",
            replaces.join(", ")
        ));
    }
    parts.extend(enrollment.evidence.words().map(str::to_owned));
    if *waits_for_approval {
        parts.push("it waits for approval in NetBird, and reaches nobody until then".into());
    }
    parts.extend(error.iter().map(|error| format!("FAILED: {error}")));
    format!("setup key {}: {}", enrollment.key, parts.join("; "))
}

/// What became of the flags: of those that were written, not of those that were meant to be.
fn summary(synced: &Synced) -> Vec<String> {
    let keys = |number| count(number, "key", "keys");
    let ready = synced.done.iter().filter(|done| done.is_ready()).count();
    let Some(marked) = &synced.marked else {
        return match ready {
            // the error line says what became of it
            _ if synced.failure.is_some() => Vec::new(),
            0 if synced.done.iter().any(|done| done.error.is_some()) => Vec::new(),
            0 => vec!["Nothing to mark.".into()],
            _ if synced.dry_run => vec![format!("{} would be marked enrolled.", keys(ready))],
            _ => vec![format!(
                "{} not marked: nothing was committed.",
                keys(ready)
            )],
        };
    };
    let mut lines = Vec::new();
    let written = marked.edit.flipped.len();
    let text = &marked.text;
    lines.extend(match marked.by {
        MarkedBy::Commit => Some(format!("{} marked enrolled: {text}.", keys(written))),
        MarkedBy::Pull => Some(format!("{} to be marked enrolled: {text}.", keys(written))),
        MarkedBy::Others => Some(format!("Nothing to mark: {text}.")),
        MarkedBy::OpenPull | MarkedBy::Nobody => None,
    });
    let others = [
        (&marked.edit.already, "was marked by somebody else already"),
        (
            &marked.edit.missing,
            "has no entry on the branch any more, so nothing is marked",
        ),
    ];
    for (names, what) in others {
        lines.extend(names.iter().map(|name| format!("setup key {name} {what}.")));
    }
    if lines.is_empty() && !marked.waits() {
        lines.push("Nothing to mark.".into());
    }
    lines
}

pub(super) fn json(synced: &Synced) -> Value {
    let (ready, replacing): (Vec<&Done>, Vec<&Done>) = synced
        .done
        .iter()
        .partition(|done| done.replaces.is_empty());
    let open: Vec<_> = synced
        .open
        .iter()
        .map(|(key, why)| json!({ "setup_key_name": key, "reason": why.words() }))
        .collect();
    let undeclared: BTreeMap<_, _> = synced.undeclared.iter().cloned().collect();
    let remarks = synced.remarks.iter();
    let remarks = remarks.map(|(key, what)| remark(key, what));
    let notices = remarks.chain(synced.notices.iter().map(Notice::words));
    json!({
        "format_version": 1,
        "enrollments": ready.into_iter().map(entry).collect::<Vec<_>>(),
        "replacing": replacing.into_iter().map(entry).collect::<Vec<_>>(),
        "left_alone": open,
        "notices": notices.collect::<Vec<_>>(),
        "undeclared": undeclared,
        "marked": synced.marked.as_ref().map(|marked| &marked.edit.flipped).cloned().unwrap_or_default(),
        "commit": synced.marked.as_ref().map(|marked| &marked.text),
        "commit_place": synced.marked.as_ref().and_then(|marked| marked.place.as_ref()),
        "dry_run": synced.dry_run,
        "requests": synced.requests,
    })
}

fn remark(key: &str, what: &Remark) -> String {
    format!(
        "setup key {key} {}",
        what.said(&Address::new(Kind::SetupKey, key)).text
    )
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
    if done.waits_for_approval {
        entry["waits_for_approval"] = json!(true);
    }
    if let Some(error) = &done.error {
        entry["error"] = json!(error);
    }
    entry
}
