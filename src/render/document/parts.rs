//! The parts of a plan and of a result below their heading.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde_json::Value;

use super::way;
use crate::base::{MOST_NAMES, Sentence, count, joined};
use crate::model::change::list_changes;
use crate::model::kind::words;
use crate::model::{Address, Change, Held, LetGo, Reach};
use crate::plan::agreement::Origin;
use crate::plan::{Agreement, Plan};
use crate::render::describe::{self, Impact, impact, object};
use crate::render::tree::{Attached, Block, Look, Mark, Rank, Row, Rows};
use crate::render::{CreatedKey, Document, Joining, Status, access, joining, markdown};

/// Most rows of what is let go that are not folded.
const MOST_LET_GO: usize = 10;

/// What takes something away or opens something, as sentences: what opens first, then what more depends on.
pub(super) fn warnings(document: &Document, plan: &Plan) -> Rows {
    let row = |text: Sentence| Row::of(Mark::LOUD, text, Rank::Warning);
    let delta = document.access.iter();
    let calls = delta.flat_map(|delta| access::calls(delta, false));
    let mut rows: Vec<Row> = calls.map(|call| row(format!("{call}.").into())).collect();
    let own = plan.changes.iter().enumerate();
    let own = own.filter(|(place, _)| !document.others.contains(place));
    let own = own.filter_map(|(_, change)| Some((change, impact(change, plan)?)));
    let mut own: Vec<(&Change, Impact)> = own.collect();
    own.sort_by_key(|(change, impact)| {
        let kind = change.address.kind;
        let is_first = matches!(impact.verb, "Opens" | "Moves machines by");
        let reaches = kind.descriptor().reach != Reach::Nothing;
        (!is_first, !reaches, Reverse(kind))
    });
    let (idle, loud): (Vec<_>, Vec<_>) = own.into_iter().partition(|(_, impact)| impact.harmless);
    rows.extend(loud.into_iter().map(|(change, impact)| {
        let what = Sentence::from(format!("{} ", impact.verb)).then(object(&change.address));
        row(what.say(": ").then(impact.what).say("."))
    }));
    if !idle.is_empty() {
        let what = match idle.len() {
            1 => "Deletes ".to_owned(),
            number => format!("Deletes {number} objects: "),
        };
        let idle = idle.iter().map(|(change, _)| object(&change.address));
        let what = Sentence::from(what).listed(idle, MOST_NAMES);
        rows.push(row(what.say(". Nobody loses anything.")));
    }
    Rows::titled("", rows).shown_as(Look::Warning)
}

/// The table of changes: what takes something away or opens something to all stands first, so that a reader who stops early has
/// seen it.
pub(super) fn changes(document: &Document, plan: &Plan, applied: bool) -> Rows {
    let has_results = !document.statuses.is_empty();
    let own = plan.changes.iter().enumerate();
    let own = own.filter(|(index, _)| !document.others.contains(index));
    let rows = own.map(|(index, change)| row(change, plan, document.statuses.get(index)));
    let adopted = document.adoption(true);
    let adoptions = plan.adoptions.iter().map(|(address, of)| {
        let what = describe::adoption(of);
        let status = has_results.then_some(&adopted);
        columns(Mark::ADOPT, address, what, status, Rank::Quiet)
    });
    let mut rows: Vec<Row> = rows.chain(adoptions).collect();
    rows.sort_by_key(|row| row.rank);
    for row in rows.iter_mut().filter(|_| applied) {
        // the plan was shown before, and the heading has the numbers
        row.is_read = !has_results || row.cells[2] == Sentence::from("done");
    }
    Rows {
        head: match has_results {
            true => &["kind", "name", "result", "what changes"],
            false => &["kind", "name", "what changes"],
        },
        short: if has_results { 3 } else { 2 },
        ..Rows::titled("", rows)
    }
}

fn row(change: &Change, plan: &Plan, status: Option<&Status>) -> Row {
    let rank = match impact(change, plan) {
        Some(_) => Rank::Loud,
        None => Rank::Quiet,
    };
    let mark = describe::mark(&change.operation);
    let what = describe::summary(change, plan);
    let error = status.and_then(Status::error).map(Sentence::from);
    let fields = change.told_fields();
    Row {
        more: error.into_iter().collect(),
        fields: fields.map(|it| [it.label(), it.words()]).collect(),
        ..columns(mark, &change.address, what, status, rank)
    }
}

fn columns(mark: Mark, at: &Address, what: String, status: Option<&Status>, rank: Rank) -> Row {
    let result = status.map(|status| match (status.words()[1], status.error()) {
        (words, Some(_)) => Sentence::default().strong(words),
        (words, None) => words.into(),
    });
    let cells = [at.kind.label().into(), describe::name(at)].into_iter();
    let cells = cells.chain(result).chain([what.into()]);
    Row::with_cells(mark, cells.collect(), rank)
}

/// What others left to do, by its cause: all of it takes something away.
pub(super) fn others(document: &Document, plan: &Plan) -> Vec<Block> {
    let part = |(cause, places): (String, Vec<usize>)| {
        let rows = places.iter().map(|place| {
            let change = &plan.changes[*place];
            let mut row = row(change, plan, None);
            let impact = impact(change, plan).map(|impact| impact.what);
            row.more.extend(impact);
            row
        });
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_by_key(|row| row.rank);
        let title = format!("Not of this pull request, left to do by {cause}");
        let mut rows = Rows::titled(title, rows).table(&["kind", "name", "what changes"]);
        rows.short = 2;
        Block::Rows(rows)
    };
    document.others_by_cause().into_iter().map(part).collect()
}

/// Who joins what once it enrolls, and who does no more.
pub(super) fn to_come(document: &Document) -> Rows {
    let memberships = document.memberships_to_tell();
    let row = |row: Joining| {
        let names =
            |of: &BTreeSet<String>| Sentence::default().names(of.iter().map(String::as_str));
        let (will, when) = match row.joins {
            true => (" will join ", " when it enrolls"),
            false => (" will not join ", " any more"),
        };
        let key = Sentence::default().name(row.key);
        let words = key.say(will).then(names(row.groups)).say(when);
        let words = match row.joins && row.groups.len() != row.all.len() {
            true => words.say("; all its groups then: ").then(names(row.all)),
            false => words,
        };
        Row::of(Mark::gained(row.joins), words, Rank::Reach)
    };
    let rows = joining(&memberships).map(row);
    Rows::titled("Memberships after enrollment", rows)
}

/// One diff per change that has a before and an after: the lines that differ.
pub(super) fn details(plan: &Plan) -> Option<Block> {
    let changed = plan.changes.iter();
    let changed = changed.filter(|change| change.told_fields().next().is_some());
    let texts = changed.map(|change| (object(&change.address), diff(change)));
    Attached::block("Details", texts, "diff", Rank::Extra)
}

fn diff(change: &Change) -> String {
    let mut out = String::new();
    for change in change.told_fields() {
        let (field, before, after) = (&change.field, &change.before, &change.after);
        let value = |value: &Value| words::value(field, value);
        let Some((gone, new)) = list_changes(before, after) else {
            let (before, after) = (value(before), value(after));
            out.push_str(&format!("- {field}: {before}\n+ {field}: {after}\n"));
            continue;
        };
        out.push_str(&format!("  {field}:\n"));
        // without a port it is every port
        let is_all =
            |ports: &Value| field == "ports" && ports.as_array().is_some_and(Vec::is_empty);
        for (sign, entries, list) in [("-", &gone, before), ("+", &new, after)] {
            let all = is_all(list).then(|| "all ports".to_owned());
            let entries = entries.iter().map(|entry| value(entry)).chain(all);
            out.extend(entries.map(|entry| format!("{sign}   {entry}\n")));
        }
        let same = after.as_array().map_or(0, Vec::len) - new.len();
        if same > 0 {
            out.push_str(&format!("    ({same} unchanged)\n"));
        }
    }
    out
}

pub(super) fn notices(document: &Document) -> Rows {
    let said = document.said().into_iter().map(|said| {
        let (mark, rank) = match said.is_warning() {
            true => (Mark::WARNING, Rank::Warning),
            false => (Mark::NOTE, Rank::Notice),
        };
        let mut notices = said.notices.iter();
        Row {
            is_read: notices.all(|notice| document.told.contains(*notice)),
            ..Row::of(mark, said.text.as_str(), rank)
        }
    });
    Rows::titled("Notes", said)
}

/// What was ours once and stays, why, and what to do.
pub(super) fn held(document: &Document) -> Rows {
    let name = |held: &Held| object(&held.address).say(format!(" ({})", held.id.0));
    let row = |(reason, way_out, held): (String, &str, Vec<&Held>)| {
        let names = Sentence::default().listed(held.into_iter().map(name), MOST_NAMES);
        let text = names.say(format!(": {reason}; {way_out}."));
        Row::of(Mark::NONE, text, Rank::Warning)
    };
    Rows::titled("Held back", document.held().into_iter().map(row))
}

/// What is let go, and the lines that delete it instead.
pub(super) fn let_go(document: &Document, plan: &Plan) -> Vec<Block> {
    let row = |of: &LetGo| {
        let text = object(&of.address).say(format!(" {}", of.words()));
        Row::of(Mark::LET_GO, text, Rank::Warning)
    };
    let number = plan.let_go.len();
    if number == 0 {
        return Vec::new();
    }
    let (title, look) = match number > MOST_LET_GO {
        true => (format!("Let go: {number} objects"), Look::Folded),
        false => ("Let go".into(), Look::Open),
    };
    let rows = Rows::titled(title, plan.let_go.iter().map(row)).shown_as(look);
    let ways = document.agreements.iter();
    let ways = ways.filter_map(|agreement| way_to_delete(agreement, plan));
    let rows = [Block::Rows(rows)].into_iter();
    rows.chain(ways.flatten()).collect()
}

/// The line that deletes what the plan lets go because of that change.
fn way_to_delete(agreement: &Agreement, plan: &Plan) -> Option<[Block; 2]> {
    let objects = plan.let_go.iter();
    let objects = objects.filter(|of| agreement.let_go.contains(&of.id));
    let objects: Vec<Sentence> = objects.map(|of| object(&of.address)).collect();
    if objects.is_empty() {
        return None;
    }
    // by name, since a comment without room has not their rows
    let what = Sentence::default().listed(objects, MOST_NAMES);
    let place = match &agreement.cause {
        Some(Origin::Pull(_)) if agreement.is_proposed => "to the pull request".into(),
        Some(Origin::Pull(number)) if !agreement.is_fork => format!("to pull request #{number}"),
        _ => "to a commit message".into(),
    };
    let (too, also) = match (agreement.line.is_some(), agreement.rows) {
        (false, _) => (" instead", String::new()),
        (true, 1) => (", too", "; it also approves the deletion".into()),
        (true, rows) => (", too", format!("; it also approves the {rows} deletions")),
    };
    let how = Sentence::from("To delete ").then(what);
    let how = how.say(format!("{too}, add this line {place}{also}"));
    Some(way(how, agreement.line_with_let_go.as_ref()?.to_string()))
}

/// What is not managed and left alone: by kind, and members by group.
pub(super) fn left_alone(document: &Document, plan: &Plan) -> Rows {
    let row = |text| Row::of(Mark::NONE, text, Rank::Extra);
    let mut counts = Vec::new();
    let mut rows = Vec::new();
    for (label, objects) in document.unmanaged() {
        counts.push(format!("{} {label}", objects.len()));
        let names = objects.into_iter().map(describe::name);
        let label = Sentence::from(format!("{label} "));
        rows.push(row(label.listed(names, usize::MAX)));
    }
    for (file, objects) in document.elsewhere() {
        let number = count(objects.len(), "object", "objects");
        counts.push(format!("{number} of {file:?}"));
        let names = objects.into_iter().map(object);
        let file = Sentence::from("managed by ").name(file).say(": ");
        rows.push(row(file.listed(names, usize::MAX)));
    }
    for (group, members) in &plan.unmanaged_members {
        let labels = members.iter().filter_map(|id| plan.peer_labels.get(id));
        let labels = labels.map(|label| Sentence::default().name(label));
        let group = Sentence::from("in group ").name(group).say(": ");
        rows.push(row(group.listed(labels, usize::MAX)));
    }
    let members = plan.unmanaged_members.values().map(BTreeSet::len).sum();
    counts.extend((members > 0).then(|| count(members, "group member", "group members")));
    let title = format!("Left alone, not managed here ({})", counts.join(", "));
    Rows::titled(title, rows).shown_as(Look::Folded)
}

/// The sealed keys of this run.
pub(super) fn sealed_keys(document: &Document) -> Option<Block> {
    let text = |(name, key): (&String, &CreatedKey)| {
        let code = |text: &String| Sentence::default().code(text);
        let label = Sentence::from("setup key ").code(name).say(" for ");
        let label = label.listed(key.recipients.iter().map(code), usize::MAX);
        // as git takes it after a fetch
        let stored = key.stored.iter().map(|place| match place.contains(':') {
            true => format!("origin/{place}"),
            false => place.clone(),
        });
        let places = [key.file.clone()].into_iter().chain(stored);
        let places = places.map(|place| Sentence::default().code(place));
        let sealed = key.sealed.lines().map(str::trim);
        let sealed = joined(sealed.filter(|line| !line.is_empty()), "\n");
        (label.say(", in ").listed(places, 2), sealed)
    };
    let keys = &document.created_keys;
    let title = markdown::title_of_sealed(&count(keys.len(), "sealed key", "sealed keys"));
    Attached::block(title, keys.iter().map(text), "", Rank::Must)
}
