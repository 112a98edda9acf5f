//! Drift as a tree, and as JSON.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::describe;
use super::json::entry;
use super::tree::{Block, Look, Row, Rows, Tree};
use crate::base::{Code, Sentence, count, joined, numbered};
use crate::model::Address;
use crate::plan::{Doer, Drift, Item, Mover, Plan};

/// Returns how much there is.
pub fn summary(drift: &Drift) -> String {
    let parts = [
        (drift.missing.len(), "missing"),
        (drift.mismatched.len(), "mismatched"),
        (drift.skipped.len(), "skipped"),
        (drift.unmanaged.len(), "unmanaged"),
    ];
    match joined(numbered(parts), ", ") {
        parts if parts.is_empty() => "no drift".into(),
        parts => parts,
    }
}

/// Returns the drift, as an issue behind its marker.
pub fn tree(drift: &Drift, plan: &Plan, marker: &str, file: &str) -> Tree {
    let item = |of: &Item| {
        let missing = of.missing.as_ref();
        let missing = missing.map(|change| describe::summary(change, plan));
        let fields = of.fields.iter();
        Row {
            fields: fields.map(|it| [it.label(), it.words()]).collect(),
            more: missing.into_iter().map(Sentence::from).collect(),
            ..Row::plain(said(&of.address, why(of)))
        }
    };
    let skipped = drift.skipped.iter();
    let skipped = skipped.map(|at| {
        let notes = plan.notices.iter();
        let notes = notes.filter(|of| of.code == Code::Skipped && of.about.as_ref() == Some(at));
        Row {
            more: notes.map(|of| Sentence::from(of.words())).collect(),
            ..Row::plain(said(at, None))
        }
    });
    let unmanaged = drift.unmanaged.iter();
    let unmanaged = unmanaged.map(|(at, what)| Row::plain(said(at, what.words(&at.name))));
    let number = count(drift.unmanaged.len(), "object", "objects");
    let beside = drift.beside_the_kinds.iter();
    let beside = beside.map(|what| Row::plain(what.as_str()));
    let ghosts = drift.ghosts.iter();
    let enrolling = drift.enrolling.iter();
    let enrolling = enrolling.map(|key| Row::plain(Sentence::from("setup key ").name(key)));
    let to_do = match drift.is_alarming() {
        true => "Nothing was corrected. What to do",
        false => "Nothing has to be done. If you like",
    };
    let mismatched = drift.mismatched.iter().map(item);
    let body = [
        Rows::titled("Missing", drift.missing.iter().map(item)),
        Rows::titled("Mismatched, NetBird → file", mismatched),
        Rows::titled("Skipped, so not compared", skipped),
        Rows::titled(format!("Unmanaged, {number}"), unmanaged).shown_as(Look::Folded),
        Rows::titled("Not managed by this program", beside).shown_as(Look::Folded),
        Rows::titled("Ghosts", ghosts.map(|ghost| Row::plain(ghost.as_str()))),
        Rows::titled("Enrolled, for the next sync-events", enrolling),
        Rows::titled(to_do, ways(drift).into_iter().map(Row::plain)),
    ];
    let mut tree = Tree::of(heading(file).say(summary(drift)), body);
    tree.marker = format!("{marker}\n");
    tree
}

fn heading(file: &str) -> Sentence {
    Sentence::from("NetBird drift from ").code(file).say(": ")
}

/// An object, and what is to be said of it.
fn said(address: &Address, why: Option<String>) -> Sentence {
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{address}{why}").into()
}

/// What to do about it; nothing where there is nothing.
fn ways(drift: &Drift) -> Vec<Sentence> {
    let mut ways = Vec::new();
    if !drift.skipped.is_empty() {
        ways.push("to apply what is skipped: do what its note says, then apply".into());
    }
    if !(drift.missing.is_empty() && drift.mismatched.is_empty()) {
        let plan = Sentence::from("to make NetBird as the file says: ").code("netbird-gitops plan");
        let apply = plan.say(", then ").code("netbird-gitops apply");
        ways.push(apply.say(" (in CI run the workflow apply by hand)"));
        let write = Sentence::from("to keep what NetBird has: write it into the file (");
        let write = write.code("netbird-gitops export");
        ways.push(write.say(" prints it), and merge"));
    }
    if !drift.unmanaged.is_empty() {
        let adopt = Sentence::from("to manage what is unmanaged: ");
        let adopt = adopt.code("netbird-gitops adopt KIND/NAME").say(" (");
        let adopt = adopt.code("netbird-gitops adopt --candidates");
        ways.push(adopt.say(" lists all of it)"));
    }
    if !drift.enrolling.is_empty() {
        let sync = Sentence::from("to process machines that enrolled: ")
            .code("netbird-gitops sync-events");
        ways.push(sync.say(" (in CI the workflow enrollment does it)"));
    }
    ways
}

/// Returns the last text of an issue that is closed, behind its marker: what was told there last is not true any more.
pub fn resolved(marker: &str, file: &str, at: Timestamp) -> Tree {
    let since =
        Sentence::from("Nothing is missing, mismatched or skipped since ").code(format!("{at:.0}"));
    let since = since.say(". The earlier report is in the edits of this text.");
    let mut tree = Tree::of(heading(file).say("resolved"), []);
    tree.marker = format!("{marker}\n");
    tree.body.push(Block::Paragraph(since));
    tree
}

/// Returns the drift as JSON.
pub fn json(drift: &Drift, file: &str) -> Value {
    let item = |item: &Item| {
        let (moved, commit) = match &item.cause {
            Some(Mover::File { commit, .. }) => (Some("file"), Some(commit)),
            Some(Mover::Server) => (Some("server"), None),
            None => (None, None),
        };
        let by = item.doer.as_ref().map(|doer| &doer.name);
        let at = item.doer.as_ref().map(|doer| doer.at.to_string());
        let fields = &item.fields;
        let rest =
            json!({ "changes": fields, "moved": moved, "commit": commit, "by": by, "at": at });
        entry(&item.address, rest)
    };
    let unmanaged = drift.unmanaged.iter();
    let unmanaged =
        unmanaged.map(|(at, what)| entry(at, json!({ "reason": what.words(&at.name) })));
    json!({
        "format_version": 1,
        "status": if drift.is_alarming() { "drift" } else { "clean" },
        "file": file,
        "missing": drift.missing.iter().map(item).collect::<Vec<_>>(),
        "mismatched": drift.mismatched.iter().map(item).collect::<Vec<_>>(),
        "skipped": drift.skipped.iter().map(|at| entry(at, json!({}))).collect::<Vec<_>>(),
        "extraneous": unmanaged.collect::<Vec<_>>(),
        "ghosts": drift.ghosts,
        "enrolling": drift.enrolling,
        "not_managed": drift.beside_the_kinds,
    })
}

/// Which side moved, and who did it.
fn why(item: &Item) -> Option<String> {
    let doer = item.doer.as_ref();
    let doer = doer.map(|Doer { name, at }| format!("NetBird was changed by {name}, {at:.0}"));
    let (file, server) = match &item.cause {
        Some(Mover::File { commit, at }) => {
            let day = at.strftime("%F");
            let text = format!("the file changed in {commit} on {day}, and that was not applied");
            (Some(text), doer)
        }
        Some(Mover::Server) => (None, doer.or_else(|| Some("NetBird was changed".into()))),
        None => (None, doer),
    };
    let parts = joined(file.into_iter().chain(server), "; ");
    (!parts.is_empty()).then_some(parts)
}
