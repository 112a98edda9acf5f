//! The result as JSON: `format_version` 1. Fields are added within a version, none is taken away.

use serde_json::{Value, json};

use super::{Document, Said, Status, access, counts, describe, joining};
use crate::base::Id;
use crate::base::json::with;
use crate::model::{Address, Change, FieldChange, LetGo, LetGoWhy, Notice, Operation, Resource};
use crate::plan::{Agreement, Plan, name_peers};

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
    let planned = plan.unwrap_or(&nothing);
    let adoption = document.adoption(applied);
    let adoptions = planned.adoptions.iter().map(|(address, of)| {
        let operation = named(address, "type", &format!("adopt_{}", address.kind.word()));
        let rest = json!({ "id": of.id.0, "status": adoption.words()[0], "reason": describe::adoption(of),
                           "changes": [], "cause": null });
        with(operation, rest)
    });
    let changed = planned.changes.iter().enumerate().map(|(index, change)| {
        let mut operation = operation(change, planned, document.statuses.get(index));
        operation["cause"] = json!(text(document.causes.get(index).and_then(Option::as_ref)));
        if let Some(duration) = document.durations_ms.get(index) {
            operation["duration_ms"] = json!(duration);
        }
        operation
    });
    let operations: Vec<Value> = adoptions.chain(changed).collect();
    let plain = |address: &Address| entry(address, json!({}));
    let let_go = planned.let_go.iter();
    let let_go = let_go.map(|of| let_go_of(of, &document.agreements));
    let skipped = planned.skipped.iter().map(plain);
    let unmanaged = plan.map(|plan| {
        let held = plan.held.iter().map(|held| {
            let (why, way_out) = held.why.said();
            let rest = json!({ "id": held.id.0, "declared_once": why, "way_out": way_out });
            entry(&held.address, rest)
        });
        let elsewhere = plan.elsewhere.iter();
        let elsewhere = elsewhere.map(|(at, file)| entry(at, json!({ "file": file })));
        let unmanaged = plan.unmanaged.iter().map(plain);
        let mut all: Vec<Value> = unmanaged.chain(elsewhere).chain(held).collect();
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
        "changed_since_commit": document.changed_since_commit,
        "actor": document.actor,
        "run": document.run,
        "server": document.server,
        "operations": operations,
        "created_keys": document.created_keys,
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
    let entries = joining(&document.memberships).flat_map(|row| {
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
        let about = json!({
            "kind": address.map(|address| address.kind.word()),
            "name": address.map(Address::spoken_name),
            "member": notice.name.as_ref().filter(|_| address.is_some()),
            "path": place.map(|place| &place.path),
            "line": place.map(|place| place.line),
            "column": place.map(|place| place.column),
        });
        inside(about, address)
    };
    let is_placed = |notice: &&&Notice| notice.about.is_some() || notice.place.is_some();
    let about: Vec<Value> = said.notices.iter().filter(is_placed).map(about).collect();
    json!({ "code": first.code, "message": said.text, "count": said.notices.len(), "about": about })
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
fn let_go_of(of: &LetGo, agreements: &[Agreement]) -> Value {
    let (why, now) = match &of.why {
        LetGoWhy::Adopted => ("adopted", None),
        LetGoWhy::Renamed(now) => ("renamed", Some(now)),
        LetGoWhy::Before => ("before", None),
    };
    let mut agreements = agreements.iter();
    let agreement = agreements.find(|agreement| agreement.let_go.contains(&of.id));
    let cause = agreement.and_then(|agreement| agreement.cause.as_ref());
    let rest = json!({ "id": of.id.0, "why": why, "name_now": now, "message": of.words(), "cause": text(cause) });
    entry(&of.address, rest)
}

fn text(of: Option<&impl ToString>) -> Option<String> {
    of.map(ToString::to_string)
}

fn operation(change: &Change, plan: &Plan, status: Option<&Status>) -> Value {
    // a record of what was made or went has all of it that there is
    let whole = |resource: &Resource, is_new: bool| -> Vec<FieldChange> {
        let fields = resource.fields().into_iter();
        let fields = fields.filter(|(_, value)| !value.is_null());
        let change = |(field, mut value): (String, Value)| {
            let label = |id: &str| plan.peer_labels.get(&Id::from(id));
            let mut label = |id: &str| label(id).cloned().unwrap_or_else(|| id.to_owned());
            name_peers(&field, &mut value, &mut label);
            let nothing = || Value::Null;
            let [before, after] = match is_new {
                true => [nothing(), value],
                false => [value, nothing()],
            };
            FieldChange {
                field,
                before,
                after,
            }
        };
        fields.map(change).collect()
    };
    let changes = match &change.operation {
        Operation::Create { after } => whole(after, true),
        Operation::Delete { live } => whole(&live.resource, false),
        Operation::Update { fields, .. } | Operation::Replace { fields, .. } => fields.clone(),
    };
    let status = status.unwrap_or(&Status::Pending);
    let kind = format!("{}_{}", change.operation.word(), change.address.kind.word());
    let operation = named(&change.address, "type", &kind);
    let rest = json!({ "status": status.words()[0], "reason": change.why(), "changes": changes });
    let mut operation = with(operation, rest);
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

/// The same by its kind, with more.
pub(super) fn entry(address: &Address, more: Value) -> Value {
    with(named(address, "kind", address.kind.word()), more)
}

/// An object: what it is, its name, and the name of what it stands in, if anything.
pub(super) fn named(address: &Address, field: &str, what: &str) -> Value {
    let named = json!({ field: what, "name": address.spoken_name() });
    inside(named, Some(address))
}

fn inside(named: Value, address: Option<&Address>) -> Value {
    match address.and_then(|address| address.within.as_ref()) {
        Some(within) => with(named, json!({ "within": within })),
        None => named,
    }
}

/// Numbers of what was done; in a plan, of what would be. A replacement counts as one created and one deleted.
fn summary(plan: &Plan, document: &Document, applied: bool) -> Value {
    let adopted = match document.adoption(applied) {
        Status::Skipped => 0,
        _ => plan.adoptions.len(),
    };
    let statuses = &document.statuses;
    let is_done = |(index, _): &(usize, &Change)| match statuses.get(*index) {
        Some(status) => *status == Status::Success,
        None => !applied,
    };
    let done = plan.changes.iter().enumerate().filter(is_done);
    let [created, updated, replaced, deleted] = counts(done.map(|(_, change)| change));
    let failed = statuses.iter().filter(|status| status.error().is_some());
    json!({ "adopted": adopted, "created": created + replaced, "updated": updated,
            "deleted": deleted + replaced, "failed": failed.count() })
}

#[cfg(test)]
mod tests;
