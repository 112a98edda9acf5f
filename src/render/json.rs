//! The result as JSON: `format_version` 1. Fields are added within a version, none is taken away.

use serde_json::{Map, Value, json};

use super::{Document, Said, Status, access, describe, memberships};
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::Resource;
use crate::model::let_go::{LetGo, LetGoWhy};
use crate::model::notice::Notice;
use crate::plan::agreement::Agreement;
use crate::plan::{Plan, name_peers};

/// Returns the JSON document, indented, with a final newline.
pub fn document(document: &Document, applied: bool) -> String {
    let plan = document.plan.as_ref();
    let status = match (&document.error, applied) {
        (Some(_), _) => "error",
        (None, true) if document.superseded.is_some() => "superseded",
        // what a report says while the run goes on, or of one that was killed
        (None, true) if document.statuses.contains(&Status::Pending) => "applying",
        (None, true) => "applied",
        (None, false) => "planned",
    };
    let nothing = Plan::default();
    let (changes, planned) = match plan {
        Some(plan) => (plan.changes.as_slice(), plan),
        None => (&[][..], &nothing),
    };
    let adoption = document.adoption(applied);
    let adoptions = planned.adoptions.iter().map(|(address, of)| {
        let mut operation = named(address, "type", &format!("adopt_{}", address.kind.word()));
        operation["id"] = json!(of.id.0);
        operation["status"] = json!(adoption.words()[0]);
        operation["reason"] = json!(describe::adoption(of));
        operation["changes"] = json!([]);
        operation["cause"] = Value::Null;
        operation
    });
    let changed = changes.iter().enumerate().map(|(index, change)| {
        let mut operation = operation(change, planned, document.statuses.get(index));
        operation["cause"] = json!(text(document.causes.get(index).and_then(Option::as_ref)));
        if let Some(duration) = document.durations_ms.get(index) {
            operation["duration_ms"] = json!(duration);
        }
        operation
    });
    let operations: Vec<Value> = adoptions.chain(changed).collect();
    let entry = |address: &Address| named(address, "kind", address.kind.word());
    let let_go = planned
        .let_go
        .iter()
        .map(|of| let_go(of, &document.agreements));
    let skipped = planned.skipped.iter().map(entry);
    let keys = document.created_keys.iter().map(|(name, key)| {
        let key = json!({ "file": key.file, "sealed": key.sealed, "recipients": key.recipients,
                          "fingerprint": key.fingerprint, "stored": key.stored });
        (name.clone(), key)
    });
    let unmanaged = plan.map(|plan| {
        let held = plan.held.iter().map(|held| {
            let (why, way_out) = held.why.said();
            let mut entry = entry(&held.address);
            entry["id"] = json!(held.id.0);
            entry["declared_once"] = json!(why);
            entry["way_out"] = json!(way_out);
            entry
        });
        let mut all: Vec<Value> = plan.unmanaged.iter().map(entry).chain(held).collect();
        for (group, members) in &plan.unmanaged_members {
            let names = members.iter().filter_map(|id| plan.peer_labels.get(id));
            all.extend(names.map(|name| json!({ "kind": "member", "name": name, "group": group })));
        }
        all
    });
    let refusals = document.refusals.iter().map(|refusal| {
        json!({ "gate": refusal.gate, "message": refusal.text, "names": refusal.names, "hint": refusal.hint })
    });
    let said = document.said();
    let mut result = json!({
        "format_version": 1,
        "status": status,
        "file": document.file,
        "file_sha256": document.file_digest,
        "commit": document.commit,
        "actor": document.actor,
        "run": document.run,
        "server": document.server,
        "operations": operations,
        "created_keys": keys.collect::<Map<_, _>>(),
        "summary": summary(planned, document, applied),
        "superseded_by": document.superseded,
        "notices": said.iter().map(|said| &said.text).collect::<Vec<_>>(),
        "memberships": memberships(document),
        "access": document.access.as_ref().map(access::json),
        "notice_details": said.iter().map(notice).collect::<Vec<_>>(),
        "unmanaged": unmanaged.unwrap_or_default(),
        "let_go": let_go.collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "refusals": refusals.collect::<Vec<_>>(),
        "agreements": document.agreements.iter().map(agreement).collect::<Vec<_>>(),
        "recipients": document.recipients,
        "digest": plan.map(|plan| plan.digest()),
        "requests": document.requests,
        "duration_ms": document.duration_ms,
    });
    if let Some(error) = &document.error {
        result["error"] = json!({ "message": error, "hint": document.hint });
    }
    crate::base::json::text(&result)
}

/// Every membership after enrollment that the file grants and the base branch's does not, or the other way round.
fn memberships(document: &Document) -> Vec<Value> {
    let entries = memberships::rows(&document.memberships).flat_map(|row| {
        let change = if row.joins { "joins" } else { "no_longer_joins" };
        let entry = move |group: &String| {
            json!({ "setup_key": row.key, "group": group, "change": change, "groups": row.all })
        };
        row.groups.iter().map(entry)
    });
    entries.collect()
}

/// The cause of a notice, and everything that it is about: the sentence folds what is much.
fn notice(said: &Said) -> Value {
    let first = said.notices[0];
    let about = |notice: &&Notice| {
        let place = notice.place.as_ref();
        let address = notice.about.as_ref();
        let mut about = json!({
            "kind": address.map(|address| address.kind.word()),
            "name": address.map(|address| &address.name),
            "member": notice.name().filter(|_| address.is_some()),
            "path": place.map(|place| &place.path),
            "line": place.map(|place| place.line),
            "column": place.map(|place| place.column),
        });
        if let Some(within) = address.and_then(|address| address.within.as_ref()) {
            about["within"] = json!(within);
        }
        about
    };
    let is_placed = |notice: &&&Notice| notice.about.is_some() || notice.place.is_some();
    let about: Vec<Value> = said.notices.iter().filter(is_placed).map(about).collect();
    json!({ "code": first.code(), "message": said.text, "count": said.notices.len(), "about": about })
}

fn agreement(agreement: &Agreement) -> Value {
    json!({
        "cause": text(agreement.cause.as_ref()),
        "rows": agreement.rows,
        "line": text(agreement.line.as_ref()),
        "line_with_let_go": text(agreement.line_with_let_go.as_ref()),
        "agreed_by": agreement.agreed_by,
    })
}

/// What is let go: why it is not deleted, in a word and in a sentence, and the change that took out its entry.
fn let_go(of: &LetGo, agreements: &[Agreement]) -> Value {
    let (why, now) = match &of.why {
        LetGoWhy::Adopted => ("adopted", None),
        LetGoWhy::Renamed(now) => ("renamed", Some(now)),
        LetGoWhy::Before => ("before", None),
    };
    let mut agreements = agreements.iter();
    let agreement = agreements.find(|agreement| agreement.let_go.contains(&of.id));
    let mut let_go = named(&of.address, "kind", of.address.kind.word());
    let_go["id"] = json!(of.id.0);
    let_go["why"] = json!(why);
    let_go["name_now"] = json!(now);
    let_go["message"] = json!(of.words());
    let_go["cause"] = json!(text(
        agreement.and_then(|agreement| agreement.cause.as_ref())
    ));
    let_go
}

fn text(of: Option<&impl ToString>) -> Option<String> {
    of.map(ToString::to_string)
}

fn operation(change: &Change, plan: &Plan, status: Option<&Status>) -> Value {
    let changed = |field: &str, before: Value, after: Value| json!({ "field": field, "before": before, "after": after });
    // a record of what was made or went has all of it that there is
    let whole = |resource: &Resource| -> Vec<(String, Value)> {
        let fields = resource.fields().into_iter();
        let fields = fields.filter(|(_, value)| !value.is_null());
        fields
            .map(|(field, mut value)| {
                let mut label = |id: &str| {
                    let id = Id::from(id);
                    plan.peer_labels
                        .get(&id)
                        .cloned()
                        .unwrap_or_else(|| id.to_string())
                };
                name_peers(&field, &mut value, &mut label);
                (field, value)
            })
            .collect()
    };
    let changes: Vec<Value> = match &change.operation {
        Operation::Create { after } => whole(after)
            .into_iter()
            .map(|(field, value)| changed(&field, Value::Null, value))
            .collect(),
        Operation::Delete { live } => whole(&live.resource)
            .into_iter()
            .map(|(field, value)| changed(&field, value, Value::Null))
            .collect(),
        Operation::Update { fields, .. } | Operation::Replace { fields, .. } => fields
            .iter()
            .map(|change| changed(&change.field, change.before.clone(), change.after.clone()))
            .collect(),
    };
    let status = status.unwrap_or(&Status::Pending);
    let kind = format!("{}_{}", change.operation.word(), change.address.kind.word());
    let mut operation = named(&change.address, "type", &kind);
    operation["status"] = json!(status.words()[0]);
    operation["reason"] = json!(change.why());
    operation["changes"] = json!(changes);
    if let Some(Resource::SetupKey(key)) = change.operation.after()
        && change.makes_key()
        && !key.sealed_for.keys.is_empty()
    {
        let own: Vec<&String> = key.sealed_for.keys.values().collect();
        operation["recipients"] = json!(own);
        operation["recipients_only"] = json!(key.sealed_for.only);
    }
    if let Some(error) = status.error() {
        operation["error"] = json!(error);
    }
    operation
}

/// An object: what it is, its name, and the name of what it stands in, if anything.
pub(super) fn named(address: &Address, field: &str, what: &str) -> Value {
    let mut named = json!({ field: what, "name": address.name });
    if let Some(within) = &address.within {
        named["within"] = json!(within);
    }
    named
}

/// Numbers of what was done; in a plan, of what would be. A replacement counts as one created and one deleted.
fn summary(plan: &Plan, document: &Document, applied: bool) -> Value {
    let adopted = match document.adoption(applied) {
        Status::Skipped => 0,
        _ => plan.adoptions.len(),
    };
    let mut numbers = [0_usize; 4];
    let [created, updated, deleted, failed] = &mut numbers;
    for (index, change) in plan.changes.iter().enumerate() {
        match document.statuses.get(index) {
            Some(Status::Success) => {}
            None if !applied => {}
            Some(Status::Failed(_) | Status::Unknown(_)) => {
                *failed += 1;
                continue;
            }
            Some(Status::Pending | Status::Skipped) | None => continue,
        }
        match change.operation {
            Operation::Create { .. } => *created += 1,
            Operation::Update { .. } => *updated += 1,
            Operation::Replace { .. } => {
                *created += 1;
                *deleted += 1;
            }
            Operation::Delete { .. } => *deleted += 1,
        }
    }
    let [created, updated, deleted, failed] = numbers;
    json!({ "adopted": adopted, "created": created, "updated": updated, "deleted": deleted, "failed": failed })
}

#[cfg(test)]
mod tests;
