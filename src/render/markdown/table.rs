//! The table of changes: what takes something away or opens something to all stands first, so that a reader who stops
//! early has seen it.

use std::collections::BTreeMap;

use super::Level;
use super::escape::{cell, code, object, text};
use crate::base::text::count;
use crate::model::address::Address;
use crate::model::change::Change;
use crate::model::kind::{FieldChange, Kind};
use crate::plan::Plan;
use crate::render::{Document, Status, describe, is_loud};

/// Most names of a kind where there is room for no more.
const MOST_NAMES: usize = 100;

/// Changes that take something away or open something.
pub(super) fn loud(plan: &Plan) -> impl Iterator<Item = &Change> {
    plan.changes.iter().filter(|change| is_loud(change, plan))
}

/// Returns how many there are of all the others, in words.
pub(super) fn quiet_rows(plan: &Plan) -> String {
    let quiet = plan.changes.iter().filter(|change| !is_loud(change, plan));
    match (quiet.count(), plan.adoptions.len()) {
        (changes, 0) => count(changes, "creation or change", "creations and changes"),
        (changes, adoptions) => {
            let all = changes + adoptions;
            count(
                all,
                "creation, change or adoption",
                "creations, changes and adoptions",
            )
        }
    }
}

pub(super) fn table(document: &Document, plan: &Plan, level: Level) -> String {
    let has_results = !document.statuses.is_empty();
    let mut rows = head(has_results);
    let mut quiet = Vec::new();
    let mut folded = BTreeMap::<(Kind, &str), Vec<&Address>>::new();
    let own = plan.changes.iter().enumerate();
    for (index, change) in own.filter(|(index, _)| !document.others.contains(index)) {
        let status = document.statuses.get(index);
        if is_loud(change, plan) {
            rows.push(row(change, plan, status));
        } else if level < Level::Folded {
            quiet.push(row(change, plan, status));
        } else {
            let [_, _, sign] = describe::signs(&change.operation);
            let key = (change.address.kind, sign);
            folded.entry(key).or_default().push(&change.address);
        }
    }
    let [_, _, sign] = describe::ADOPTED;
    for (address, of) in &plan.adoptions {
        if level < Level::Folded {
            let (what, status) = (describe::adoption(address, of), document.adoption(true));
            quiet.push(columns(
                sign,
                address,
                &what,
                has_results.then_some(&status),
            ));
        } else {
            let key = (address.kind, sign);
            folded.entry(key).or_default().push(address);
        }
    }
    rows.extend(quiet);
    rows.extend(folded.into_iter().map(|((kind, sign), all)| {
        let result = if has_results { " |" } else { "" };
        let most = if level < Level::Bare {
            usize::MAX
        } else {
            MOST_NAMES
        };
        let names: Vec<String> = all.iter().take(most).map(|at| named(at)).collect();
        let more = match all.len().saturating_sub(most) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "| {sign} | {} | {}{more} | {} of them, left out |{result}",
            kind.plural(),
            names.join(", "),
            all.len()
        )
    }));
    rows.join("\n")
}

/// The name of an object, or of what it stands in.
fn named(address: &Address) -> String {
    match (address.name.as_str(), &address.within) {
        ("", Some(within)) => format!("of {}", cell(within)),
        (name, _) => cell(name),
    }
}

/// What others left to do, by its cause: all of it takes something away.
pub(super) fn others(document: &Document, plan: &Plan) -> Option<String> {
    let part = |(cause, places): (String, Vec<usize>)| {
        let rows = places
            .iter()
            .map(|place| row(&plan.changes[*place], plan, None));
        let rows: Vec<String> = head(false).into_iter().chain(rows).collect();
        format!("Left to do by {}:\n\n{}", code(&cause), rows.join("\n"))
    };
    let parts: Vec<String> = document.others_by_cause().into_iter().map(part).collect();
    (!parts.is_empty()).then(|| format!("#### Not of this pull request\n\n{}", parts.join("\n\n")))
}

fn head(has_results: bool) -> Vec<String> {
    let (title, line) = if has_results {
        (" result |", "---|")
    } else {
        ("", "")
    };
    vec![
        format!("|   | kind | name | what changes |{title}"),
        format!("|---|---|---|---|{line}"),
    ]
}

fn row(change: &Change, plan: &Plan, status: Option<&Status>) -> String {
    let fields = change.told_fields();
    let summary = describe::summary(change, plan);
    let summary = (!summary.is_empty()).then_some(summary);
    let what: Vec<String> = fields
        .map(FieldChange::named)
        .chain(summary)
        .map(|part| text(&part))
        .collect();
    let [_, _, sign] = describe::signs(&change.operation);
    columns(sign, &change.address, &what.join("; "), status)
}

fn columns(sign: &str, address: &Address, what: &str, status: Option<&Status>) -> String {
    let result = status.map(|status| match (status.words()[1], status.error()) {
        (words, Some(_)) => format!(" **{words}** |"),
        (words, None) => format!(" {words} |"),
    });
    let (label, name) = (address.kind.label(), cell(&address.name));
    format!(
        "| {sign} | {label} | {name} | {what} |{}",
        result.unwrap_or_default()
    )
}

/// A change in one short line, where there is no room for a table.
pub(super) fn name_line(change: &Change) -> String {
    let [_, _, sign] = describe::signs(&change.operation);
    format!("- {sign} {}", object(&change.address))
}
