//! What a run of `sync-events` says: text and JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;

use super::{Done, Synced};
use crate::text::{count, visible};

pub(super) fn text(synced: &Synced) -> String {
    if synced.idle {
        return "Nothing enrolled since: every used key is marked.\n".into();
    }
    let mut out = String::new();
    let verb = if synced.dry_run { "would be" } else { "is" };
    for Done {
        enrollment,
        peer_label,
        dns_label,
        groups_assigned,
        error,
    } in &synced.done
    {
        let mut parts = Vec::new();
        let label = dns_label.iter().map(|label| {
            let sure = !synced.dry_run || *label == enrollment.key;
            let predicted = if sure { "" } else { ", a prediction" };
            format!(" (DNS label {label}{predicted})")
        });
        parts.push(match &enrollment.renamed_from {
            Some(old) => format!(
                "peer {old:?} {verb} renamed to it{}",
                label.collect::<String>()
            ),
            None => format!("peer {peer_label:?} bears its name"),
        });
        if !groups_assigned.is_empty() {
            let groups: Vec<&str> = groups_assigned.iter().map(String::as_str).collect();
            parts.push(format!("{verb} put into {}", groups.join(", ")));
        }
        if !enrollment.by_event {
            parts.push("told by the times of key and peer, since the event is gone".into());
        }
        if let Some(error) = error {
            parts.push(format!("FAILED: {error}"));
        }
        out.push_str(&visible(&format!(
            "setup key {}: {}",
            enrollment.key,
            parts.join("; ")
        )));
        out.push('\n');
    }
    for (key, why) in &synced.left_alone {
        out.push_str(&visible(&format!("setup key {key} {why}: left alone")));
        out.push('\n');
    }
    for (peer, key) in &synced.strangers {
        out.push_str(&visible(&format!(
            "note: peer {peer:?} enrolled with {key:?}, which the file does not declare"
        )));
        out.push('\n');
    }
    let age = synced
        .oldest
        .map(|oldest| Timestamp::now().as_second() - oldest.as_second());
    if let Some(days) = age.map(|secs| secs / 86_400).filter(|days| *days > 0) {
        let days = count(usize::try_from(days).unwrap_or_default(), "day", "days");
        out.push_str(&format!("The oldest of these enrolled {days} ago.\n"));
    }
    let marked = synced
        .done
        .iter()
        .filter(|done| done.error.is_none())
        .count();
    out.push_str(&match (&synced.commit, marked) {
        (Some(commit), _) => format!(
            "{} marked enrolled: {}.\n",
            count(marked, "key", "keys"),
            visible(commit)
        ),
        (None, 0) => "Nothing to mark.\n".into(),
        (None, _) if synced.dry_run => format!(
            "{} would be marked enrolled.\n",
            count(marked, "key", "keys")
        ),
        (None, _) => format!(
            "{} not marked: nothing was committed.\n",
            count(marked, "key", "keys")
        ),
    });
    out
}

pub(super) fn json(synced: &Synced) -> String {
    let enrollments = synced.done.iter().map(|done| {
        let mut entry = json!({
            "setup_key_name": done.enrollment.key,
            "peer_id": done.enrollment.peer,
            "renamed": done.enrollment.renamed_from.is_some(),
            "groups_assigned": done.groups_assigned,
            "renamed_from": done.enrollment.renamed_from,
            "dns_label": done.dns_label,
            "proof": if done.enrollment.by_event { "event" } else { "time" },
        });
        if let Some(error) = &done.error {
            entry["error"] = json!(error);
        }
        entry
    });
    let left_alone: Vec<_> = synced
        .left_alone
        .iter()
        .map(|(key, why)| json!({ "setup_key_name": key, "reason": why }))
        .collect();
    let strangers: BTreeMap<_, _> = synced.strangers.iter().cloned().collect();
    let mut result = json!({
        "format_version": 1,
        "enrollments": enrollments.collect::<Vec<_>>(),
        "left_alone": left_alone,
        "undeclared": strangers,
        "commit": synced.commit,
        "commit_place": synced.place,
        "dry_run": synced.dry_run,
        "requests": synced.requests,
    });
    if let Some((message, hint)) = &synced.failure {
        result["error"] = json!({ "message": message, "hint": hint });
    }
    crate::json::text(&result)
}
