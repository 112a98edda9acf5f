//! The parts of a comment around its table.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::escape::{code, fenced, line, object, text};
use crate::address::Address;
use crate::agreement;
use crate::change::{Change, list_changes};
use crate::held::Held;
use crate::plan::Plan;
use crate::render::impact::{impact, removed_members};
use crate::render::{Counts, Document, Status, describe, held_number, memberships};
use crate::text::{count, listed};

/// Most warnings at the top; the table has them all.
const MOST_WARNINGS: usize = 20;

fn no_changes(plan: &Plan) -> String {
    let held = held_number(plan).map(|held| format!(", {held}"));
    format!("No changes{}", held.unwrap_or_default())
}

/// `2 to create, **1 to delete**`, how many members groups lose, and how many memberships are to come.
pub(super) fn to_do(document: &Document, plan: &Plan) -> String {
    let to_come = memberships::to_come(&document.memberships_to_tell());
    if plan.is_empty() {
        return match to_come {
            None => no_changes(plan),
            Some(to_come) => format!("nothing to do now, **{to_come}**"),
        };
    }
    let mut parts: Vec<String> = Counts::of(&plan.changes)
        .parts(["to create", "to change", "to replace", "to delete"])
        .map(|(words, deletes)| {
            if deletes {
                format!("**{words}**")
            } else {
                words
            }
        })
        .collect();
    parts.extend(removed_members(plan).map(|words| format!("**{words}**")));
    parts.extend(to_come);
    parts.join(", ")
}

/// Who joins what once it enrolls.
pub(super) fn memberships(document: &Document) -> Option<String> {
    let names = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| code(name)).collect();
        listed(&names)
    };
    let memberships = document.memberships_to_tell();
    let line = |row: &memberships::Row| {
        let (key, groups) = (code(row.key), names(&row.groups));
        let all = row.all.iter();
        let all = all.map(|all| format!("; all its groups then: {}", names(all)));
        match row.joins {
            true => format!(
                "- ➕ {key} will join {groups} when it enrolls{}",
                all.collect::<String>()
            ),
            false => format!("- ❌ {key} will not join {groups} any more"),
        }
    };
    let lines: Vec<String> = memberships::rows(&memberships).iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("Memberships to come:\n\n{}", lines.join("\n")))
}

/// What an apply did, in a heading.
pub(super) fn done(document: &Document, plan: &Plan, title: &str) -> String {
    if document.refused {
        return format!("{title} **refused**, nothing was changed");
    }
    if plan.is_empty() {
        return format!("{title}: {}", no_changes(plan));
    }
    let pairs = plan.changes.iter().zip(&document.statuses);
    let succeeded = pairs.filter(|(_, status)| **status == Status::Success);
    let counts = Counts::of(succeeded.map(|(change, _)| change));
    let done: Vec<String> = counts
        .parts(["created", "changed", "replaced", "deleted"])
        .map(|(words, _)| words)
        .collect();
    let done = if done.is_empty() {
        document.nothing_done().to_owned()
    } else {
        done.join(", ")
    };
    let rest = plan.changes.len()
        - document
            .statuses
            .iter()
            .filter(|status| **status == Status::Success)
            .count();
    // what a run says of itself before its end stays where it is killed
    if document.statuses.contains(&Status::Pending) {
        return format!("{title} **is under way**: {done}, {rest} to come");
    }
    match (rest, &document.error) {
        (0, None) => format!("{title}: {done}{}", agreed(document)),
        (0, Some(_)) => format!("{title} **did not converge**: {done}"),
        (rest, _) => format!("{title} **stopped**: {done}, {rest} not done"),
    }
}

/// Who agreed to what goes.
pub(super) fn agreed(document: &Document) -> String {
    match document.agreed_by().as_str() {
        "" => String::new(),
        by => format!(", agreed to by {}", code(by)),
    }
}

/// Lines to copy, each in a block of its own.
pub(super) fn ways_out(document: &Document) -> Option<String> {
    let ways = agreement::ways_out(&document.agreements).into_iter();
    let block =
        |(what, line): (String, String)| format!("{}:\n\n{}", sentence(&what), fenced("", &line));
    let blocks: Vec<String> = ways.map(block).collect();
    (!blocks.is_empty()).then(|| blocks.join("\n\n"))
}

/// The text with a capital letter, as a paragraph begins.
fn sentence(it: &str) -> String {
    let mut chars = it.chars();
    let first = chars.next().map(|char| char.to_uppercase().to_string());
    line(&(first.unwrap_or_default() + chars.as_str()))
}

/// Why an apply would not start.
pub(super) fn refusals(document: &Document) -> Option<String> {
    // an apply that was refused says so in its error
    if document.error.is_some() {
        return None;
    }
    let line = |refusal: &crate::gates::Refusal| {
        let names: Vec<String> = refusal
            .names
            .iter()
            .take(10)
            .map(|name| code(name))
            .collect();
        let names = match refusal.names.len() {
            0 => String::new(),
            number if number > 10 => format!(" ({} and {} more)", names.join(", "), number - 10),
            _ => format!(" ({})", names.join(", ")),
        };
        format!(
            "> - {}{names}. Way out: {}.",
            text(&refusal.text),
            text(&refusal.hint)
        )
    };
    let lines: Vec<String> = document.refusals.iter().map(line).collect();
    let why = match document.blamed() {
        Some(others) => format!(
            "This is not about this pull request: once it is merged, its apply is refused until somebody agrees to the \
             deletions of {}.",
            text(&others)
        ),
        None => "Apply would refuse this plan:".into(),
    };
    (!lines.is_empty()).then(|| format!("> [!CAUTION]\n> {why}\n>\n{}", lines.join("\n")))
}

/// What takes something away or opens something, as sentences.
pub(super) fn warnings(document: &Document, plan: &Plan) -> Option<String> {
    let name = |change: &Change| object(&change.address);
    let (mut lines, mut idle) = (Vec::new(), Vec::new());
    let own = plan.changes.iter().enumerate();
    for (_, change) in own.filter(|(place, _)| !document.others.contains(place)) {
        match impact(change, plan) {
            None => {}
            Some(impact) if impact.harmless => idle.push(name(change)),
            Some(impact) => {
                let what = impact.what.render(code, text);
                lines.push(format!("> - {} {}: {what}.", impact.verb, name(change)));
            }
        }
    }
    if !idle.is_empty() {
        let more = match idle.len().saturating_sub(MOST_WARNINGS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        idle.truncate(MOST_WARNINGS);
        let names = idle.join(", ");
        lines.push(format!(
            "> - Deletes, and nobody loses anything by it: {names}{more}."
        ));
    }
    if lines.is_empty() {
        return None;
    }
    let more = lines.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        lines.truncate(MOST_WARNINGS);
        lines.push(format!(
            "> - And {more} more of that sort, first in the table below."
        ));
    }
    Some(format!("> [!WARNING]\n{}", lines.join("\n")))
}

/// One diff per change that has a before and an after: the lines that differ.
pub(super) fn details(plan: &Plan) -> Option<String> {
    let changed = plan
        .changes
        .iter()
        .filter(|change| change.told_fields().next().is_some());
    let blocks: Vec<String> = changed
        .map(|change| {
            format!(
                "{}\n\n{}",
                object(&change.address),
                fenced("diff", &diff(change))
            )
        })
        .collect();
    (!blocks.is_empty()).then(|| folded("Details", &blocks.join("\n\n")))
}

fn diff(change: &Change) -> String {
    let mut out = String::new();
    for field in change.told_fields() {
        let Some((gone, new)) = list_changes(&field.before, &field.after) else {
            let line = |value: &Value| {
                format!(
                    "{}: {}\n",
                    field.field,
                    describe::value(&field.field, value)
                )
            };
            out.push_str(&lines(&line(&field.before), &line(&field.after)));
            continue;
        };
        let entries = |entries: &[&Value]| -> String {
            entries
                .iter()
                .map(|entry| format!("  {}\n", describe::value(&field.field, entry)))
                .collect()
        };
        out.push_str(&format!("  {}:\n", field.field));
        out.push_str(&lines(&entries(&gone), &entries(&new)));
        let same = field.after.as_array().map_or(0, Vec::len) - new.len();
        if same > 0 {
            out.push_str(&format!("    ({same} unchanged)\n"));
        }
        if field.field == "ports"
            && [&field.before, &field.after].contains(&&Value::Array(Vec::new()))
        {
            let which = if field.after == Value::Array(Vec::new()) {
                "+"
            } else {
                "-"
            };
            out.push_str(&format!("{which}   all ports\n"));
        }
    }
    out
}

fn lines(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let line = |change: similar::Change<&str>| match change.tag() {
        ChangeTag::Delete => format!("- {}", change.value()),
        ChangeTag::Insert => format!("+ {}", change.value()),
        ChangeTag::Equal => String::new(),
    };
    diff.iter_all_changes().map(line).collect()
}

pub(super) fn notices(document: &Document) -> Option<String> {
    let notices = document.said();
    let lines: Vec<String> = notices
        .iter()
        .map(|notice| format!("- {}", line(&notice.text)))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

pub(super) fn unmanaged(document: &Document, plan: &Plan) -> Option<String> {
    let names =
        |names: &mut dyn Iterator<Item = &str>| names.map(code).collect::<Vec<_>>().join(", ");
    let unmanaged = document.unmanaged();
    let mut counts: Vec<String> = unmanaged
        .iter()
        .map(|(label, names)| format!("{} {label}", names.len()))
        .collect();
    let mut lines: Vec<String> = unmanaged
        .iter()
        .map(|(label, list)| format!("- {label} {}", names(&mut list.iter().copied())))
        .collect();
    for (group, members) in &plan.unmanaged_members {
        let mut labels = members
            .iter()
            .filter_map(|id| Some(plan.peer_labels.get(id)?.as_str()));
        lines.push(format!(
            "- in group {}: {}",
            code(group),
            names(&mut labels)
        ));
    }
    let members: usize = plan
        .unmanaged_members
        .values()
        .map(std::collections::BTreeSet::len)
        .sum();
    if members > 0 {
        counts.push(count(members, "group member", "group members"));
    }
    let title = format!("Not managed here, left alone: {}", counts.join(", "));
    (!lines.is_empty()).then(|| folded(&title, &lines.join("\n")))
}

/// What was ours once and stays, why, and what to do.
pub(super) fn held(document: &Document) -> Option<String> {
    let name = |held: &&Held| {
        let Address { kind, name, .. } = &held.address;
        format!("{} {} ({})", kind.label(), code(name), code(&held.id.0))
    };
    let part = |(reason, way_out, held): (String, &str, Vec<&Held>)| {
        let names: Vec<String> = held.iter().map(name).collect();
        format!(
            "- {}: {}; {}.",
            listed(&names),
            text(&reason),
            text(way_out)
        )
    };
    let lines: Vec<String> = document.held().into_iter().map(part).collect();
    (!lines.is_empty()).then(|| format!("**Held back:**\n\n{}", lines.join("\n")))
}

pub(super) fn footer(document: &Document, plan: &Plan) -> String {
    let mut parts = Vec::new();
    let recipients = document.key_recipients();
    if !recipients.is_empty() {
        let who: Vec<String> = recipients.iter().map(|who| code(who)).collect();
        parts.push(format!("new keys are sealed for {}", who.join(", ")));
    }
    if !plan.is_empty() {
        parts.push(format!("digest {}", code(&plan.digest())));
    }
    parts.push(version(document));
    parts.join(" · ")
}

/// What was run on what. Neither time nor requests: the same plan is the same bytes, and an unchanged comment no edit.
pub(super) fn version(document: &Document) -> String {
    let mut parts: Vec<String> = document.commit.iter().map(|commit| code(commit)).collect();
    parts.push(format!("netbird-gitops {}", env!("CARGO_PKG_VERSION")));
    parts.join(" · ")
}

pub(super) fn folded(title: &str, body: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{body}\n\n</details>")
}
