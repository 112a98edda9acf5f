//! A plan, and what an apply made of it, as a tree.

use std::collections::BTreeSet;

use serde_json::Value;

use super::access;
use super::describe::{self, object};
use super::impact::{impact, removed_members};
use super::markdown::marker;
use super::tree::{Attached, Block, Look, Mark, Rank, Row, Rows, Tree};
use super::{Counts, CreatedKey, Document, Status, Unplanned, memberships};
use crate::base::sentence::Sentence;
use crate::base::text::{MOST_NAMES, count};
use crate::model::address::Address;
use crate::model::change::{Change, list_changes};
use crate::model::held::Held;
use crate::model::kind::{FieldChange, words};
use crate::model::let_go::{LetGo, LetGoWhy};
use crate::plan::Plan;
use crate::plan::agreement::{Agreement, Origin, ways_out as ways_out_of};

/// Most warnings at the top; the table has them all.
const MOST_WARNINGS: usize = 20;
/// Most rows of what is let go that are not folded.
const MOST_LET_GO: usize = 10;
/// Stands in a comment after which somebody still has to do the work: the run was superseded or refused, failed, goes on, or was
/// killed.
const NO_RESULT: &str = "<!-- no result yet -->\n";

/// Returns whether a comment says what an apply came to: the run that does the work takes the place of any other.
pub fn is_result(comment: &str) -> bool {
    comment.lines().nth(1) != Some(NO_RESULT.trim_end())
}

/// Returns the plan, or what an apply made of it.
pub fn tree(document: &Document, applied: bool) -> Tree {
    let what = if applied { "apply" } else { "plan" };
    let is_open = document.error.is_some()
        || document.superseded.is_some()
        || document.statuses.contains(&Status::Pending);
    let no_result = match applied && is_open {
        true => NO_RESULT,
        false => "",
    };
    let marker = marker(what, &document.environment);
    let mut tree = Tree {
        marker: format!("{marker}\n{no_result}"),
        heading: format!("NetBird {what}").into(),
        about: about(document),
        ..Tree::default()
    };
    if !matches!(document.environment.as_str(), "" | "default") {
        tree.heading = tree.heading.say(format!(" for {}", document.environment));
    }
    match (&document.plan, document.unplanned, &document.superseded) {
        (_, Some(unplanned), _) => none(&mut tree, document, unplanned),
        (_, _, Some(commit)) => superseded(&mut tree, commit),
        (None, ..) => failed(&mut tree, document, applied),
        (Some(plan), ..) => planned(&mut tree, document, plan, applied),
    }
    tree
}

/// The lines to copy, each with nothing beside it.
pub(crate) fn ways_out(document: &Document) -> Vec<Block> {
    let ways = ways_out_of(&document.agreements).into_iter();
    ways.flat_map(|(what, line)| way(capital(&what), line))
        .collect()
}

fn way(what: impl Into<Sentence>, line: String) -> [Block; 2] {
    [Block::Paragraph(what.into().say(":")), Block::Copy(line)]
}

fn capital(it: &str) -> String {
    let mut chars = it.chars();
    let first = chars.next().map(|char| char.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// The file, and the server.
fn about(document: &Document) -> Sentence {
    let mut about = Sentence::default().code(&document.file);
    let commit = document.commit.as_ref().map(|it| ("commit ", it));
    let digest = (!document.file_digest.is_empty()).then_some(("sha256 ", &document.file_digest));
    for (at, (word, id)) in commit.into_iter().chain(digest).enumerate() {
        let begins = if at == 0 { " (" } else { ", " };
        about = about.say(format!("{begins}{word}")).code(id);
    }
    if about.0.len() > 1 {
        about = about.say(")");
    }
    let about = match &document.server {
        Some(server) => about.say(" against ").code(server),
        None => about,
    };
    about.say(concat!(", netbird-gitops ", env!("CARGO_PKG_VERSION")))
}

/// What takes the place of a plan that was posted before the file left the pull request.
fn none(tree: &mut Tree, document: &Document, unplanned: Unplanned) {
    let (what, why) = match unplanned {
        Unplanned::Untouched => (
            ": no change",
            Sentence::from("This pull request does not change ")
                .code(&document.file)
                .say("."),
        ),
        Unplanned::Closed { number } => (
            ": none",
            format!("Pull request #{number} is merged or closed. Its comment stays as it is.")
                .into(),
        ),
    };
    tree.heading = std::mem::take(&mut tree.heading).say(what);
    tree.about = document
        .commit
        .iter()
        .fold(Sentence::default(), |none, it| none.code(it));
    tree.act = vec![Block::Paragraph(why)];
}

fn superseded(tree: &mut Tree, commit: &str) {
    tree.heading = std::mem::take(&mut tree.heading)
        .say(": superseded by ")
        .code(commit)
        .say(", which applies it");
    let why =
        Sentence::from("The branch has a newer file, so this run changed nothing. The run of ")
            .code(commit)
            .say(" answers here once it is done.");
    tree.act = vec![Block::Paragraph(why)];
}

/// A plan that could not be made says so: an old plan never stands as if it were new.
fn failed(tree: &mut Tree, document: &Document, applied: bool) {
    let (what, more) = match (applied, document.refused) {
        (true, true) => ("refused", ": nothing was changed"),
        (true, false) => ("failed", ": nothing was changed"),
        (false, _) => ("could not be made", ""),
    };
    tree.heading = std::mem::take(&mut tree.heading)
        .say(" ")
        .strong(what)
        .say(more);
    tree.act = error(document);
}

/// The error, and the way out, each in a block of its own.
fn error(document: &Document) -> Vec<Block> {
    let Some(error) = &document.error else {
        return Vec::new();
    };
    let mut blocks = vec![Block::Stderr(format!("error: {error}"))];
    if let Some(hint) = &document.hint {
        blocks.push(Block::Stderr(format!("hint: {hint}")));
    }
    blocks
}

fn planned(tree: &mut Tree, document: &Document, plan: &Plan, applied: bool) {
    let heading = std::mem::take(&mut tree.heading);
    tree.heading = match applied {
        true => done(heading, document, plan),
        false => to_do(heading, document, plan),
    };
    tree.act = error(document);
    // an apply that was refused says so in its error
    if document.error.is_none() {
        tree.act.push(Block::Rows(refusals(document)));
    }
    tree.act.extend(ways_out(document));
    let changes = changes(document, plan, applied);
    tree.body = match applied {
        true => vec![Block::Rows(changes)],
        false => {
            let delta = document.access.as_ref();
            let reach = delta.map(|delta| Block::Rows(access::rows(delta)));
            let mut body = vec![Block::Rows(warnings(document, plan))];
            body.extend(reach);
            body.push(Block::Rows(changes));
            body.push(Block::Rows(to_come(document)));
            body.extend(others(document, plan));
            body.extend(delta.into_iter().flat_map(access::extra));
            body
        }
    };
    tree.body.extend(details(plan));
    tree.body.push(Block::Rows(notices(document)));
    tree.body.push(Block::Rows(held(document)));
    tree.body.push(Block::Rows(left_alone(document, plan)));
    let recipients = document.key_recipients().iter().filter(|_| !applied);
    let recipients: Vec<Sentence> = recipients
        .map(|who| Sentence::default().code(who))
        .collect();
    if !recipients.is_empty() {
        let sealed = Sentence::from("new keys are sealed for ");
        tree.foot.push(sealed.listed(recipients, usize::MAX));
    }
    if !plan.is_empty() {
        tree.foot
            .push(Sentence::from("digest ").code(plan.digest()));
    }
    tree.body.extend(sealed_keys(document));
    // behind the line that a gate wants: this one deletes more
    tree.last = let_go(document, plan);
}

/// What a plan has beside its changes: objects to adopt and to let go, and entries that are skipped.
fn beside(plan: &Plan, [adopt, let_go]: [&str; 2]) -> Vec<Sentence> {
    let is_new = |of: &&LetGo| of.why != LetGoWhy::Before;
    let numbers = [
        (plan.adoptions.len(), adopt),
        (plan.let_go.iter().filter(is_new).count(), let_go),
        (plan.skipped.len(), "skipped"),
    ];
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
    numbers
        .map(|(number, word)| format!("{number} {word}").into())
        .collect()
}

/// What is held back or skipped is not as the file says.
fn no_changes(plan: &Plan) -> Vec<Sentence> {
    let mut parts = vec![Sentence::from("No changes")];
    parts.extend(beside(plan, ["to adopt", "to let go"]));
    if !plan.held.is_empty() {
        let held = count(plan.held.len(), "object is", "objects are");
        parts.push(format!("{held} held back").into());
    }
    if parts.len() == 1 {
        parts.push("NetBird is as the file says".into());
    }
    parts
}

/// `2 to create, **1 to delete**`: numbers, memberships after enrollment, who agreed, and whether an apply would refuse it.
fn to_do(heading: Sentence, document: &Document, plan: &Plan) -> Sentence {
    let memberships = memberships::number(&document.memberships_to_tell());
    let strong = |text: String| Sentence::default().strong(text);
    let beside = beside(plan, ["to adopt", "to let go"]);
    let parts = match (plan.is_empty(), memberships) {
        (true, None) => no_changes(plan),
        (true, Some(number)) => [Sentence::from("nothing to do now"), strong(number)]
            .into_iter()
            .chain(beside)
            .collect(),
        (false, memberships) => {
            let counts = Counts::of(&plan.changes);
            let words = ["to create", "to change", "to replace", "to delete"];
            let mut parts: Vec<Sentence> = counts.words(words).map(Sentence::from).collect();
            if let Some(deletions) = parts.last_mut().filter(|_| counts.delete > 0) {
                *deletions = strong(format!("{} to delete", counts.delete));
            }
            parts.extend(removed_members(plan).map(strong));
            parts.extend(beside);
            parts.extend(memberships.map(Sentence::from));
            parts
        }
    };
    let heading = heading.say(": ").listed(parts, usize::MAX);
    let heading = heading.say(agreed(document));
    match (document.blamed(), document.refusals.is_empty()) {
        (Some(others), _) => heading
            .say(" – ")
            .strong(format!("apply would refuse it because of {others}")),
        (None, false) => heading.say(" – ").strong("apply would refuse it"),
        (None, true) => heading,
    }
}

/// Who agreed to what is deleted.
fn agreed(document: &Document) -> String {
    match document.agreed_by().as_str() {
        "" => String::new(),
        by => format!(", agreed to by {by}"),
    }
}

/// How an apply ended, where that is not as it should, and what it did.
fn done(heading: Sentence, document: &Document, plan: &Plan) -> Sentence {
    let statuses = &document.statuses;
    let pairs = plan.changes.iter().zip(statuses);
    let succeeded = pairs.filter(|(_, status)| **status == Status::Success);
    let counts = Counts::of(succeeded.map(|(change, _)| change));
    let words = ["created", "changed", "replaced", "deleted"];
    let mut parts: Vec<Sentence> = counts.words(words).map(Sentence::from).collect();
    if document.adoption(true) == Status::Success {
        parts.extend(beside(plan, ["adopted", "let go"]));
    }
    if parts.is_empty() {
        let is_empty = plan.is_empty() && plan.adoptions.is_empty();
        parts = match (is_empty, document.changed) {
            (true, _) => no_changes(plan),
            (false, true) => vec!["no operation was completed".into()],
            (false, false) => vec!["nothing was changed".into()],
        };
    }
    for words in ["failed", "not known", "not tried", "waiting"] {
        let so = statuses.iter().filter(|status| status.words()[1] == words);
        match so.count() {
            0 => {}
            number => parts.push(format!("{number} {words}").into()),
        }
    }
    let how = match &document.error {
        // what a run says of itself before its end stays where it is killed
        _ if statuses.contains(&Status::Pending) => "is under way",
        None => "",
        Some(_) if document.refused => "refused",
        Some(_) if statuses.is_empty() => "failed",
        Some(_) if statuses.iter().all(|status| *status == Status::Success) => "did not converge",
        Some(_) => "stopped",
    };
    let heading = match how {
        "" => heading,
        how => heading.say(" ").strong(how),
    };
    let heading = heading.say(": ").listed(parts, usize::MAX);
    heading.say(agreed(document))
}

/// Why an apply would not start.
fn refusals(document: &Document) -> Rows {
    let row = |refusal: &crate::plan::gates::Refusal| {
        let names = refusal.names.iter();
        let names = names.map(|name| Sentence::default().code(name));
        let names = Sentence::default().listed(names, MOST_NAMES);
        let way_out = format!("Way out: {}.", refusal.hint);
        let more = [names, way_out.into()].into_iter();
        Row {
            more: more.filter(|line| !line.is_empty()).collect(),
            ..Row::of(Mark::LOUD, refusal.text.as_str(), Rank::Must)
        }
    };
    let title = match document.blamed() {
        Some(others) => format!(
            "This is not about this pull request: once it is merged, its apply is refused until somebody agrees to the \
             deletions of {others}"
        ),
        None => "Apply would refuse this plan".into(),
    };
    Rows {
        title: title.into(),
        look: Look::Caution,
        rows: document.refusals.iter().map(row).collect(),
        ..Rows::default()
    }
}

/// What takes something away or opens something, as sentences.
fn warnings(document: &Document, plan: &Plan) -> Rows {
    let row = |text: Sentence| Row::of(Mark::LOUD, text, Rank::Notice);
    let (mut rows, mut idle) = (Vec::new(), Vec::new());
    let own = plan.changes.iter().enumerate();
    for (_, change) in own.filter(|(place, _)| !document.others.contains(place)) {
        match impact(change, plan) {
            None => {}
            Some(impact) if impact.harmless => idle.push(object(&change.address)),
            Some(impact) => {
                let what =
                    Sentence::from(format!("{} ", impact.verb)).then(object(&change.address));
                rows.push(row(what.say(": ").then(impact.what).say(".")));
            }
        }
    }
    if !idle.is_empty() {
        let what = Sentence::from("Deletes, and nobody loses anything by it: ");
        rows.push(row(what.listed(idle, MOST_NAMES).say(".")));
    }
    let more = rows.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        rows.truncate(MOST_WARNINGS);
        let more = format!("And {more} more of that sort, first in the table below.");
        rows.push(row(more.into()));
    }
    let calls = document.access.iter().flat_map(access::calls_beside_rules);
    rows.extend(calls.map(|call| row(format!("{call}.").into())));
    Rows {
        look: Look::Warning,
        rows,
        ..Rows::default()
    }
}

/// The table of changes: what takes something away or opens something to all stands first, so that a reader who stops early has
/// seen it.
fn changes(document: &Document, plan: &Plan, applied: bool) -> Rows {
    let has_results = !document.statuses.is_empty();
    let own = plan.changes.iter().enumerate();
    let own = own.filter(|(index, _)| !document.others.contains(index));
    let rows = own.map(|(index, change)| row(change, plan, document.statuses.get(index)));
    let adopted = document.adoption(true);
    let adoptions = plan.adoptions.iter().map(|(address, of)| {
        let what = describe::adoption(address, of);
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
        rows,
        ..Rows::default()
    }
}

fn row(change: &Change, plan: &Plan, status: Option<&Status>) -> Row {
    let rank = match impact(change, plan) {
        Some(_) => Rank::Loud,
        None => Rank::Quiet,
    };
    let mark = describe::mark(&change.operation);
    let what = describe::summary(change, plan);
    let fields = change.told_fields().map(FieldChange::named);
    Row {
        more: fields.map(Sentence::from).collect(),
        ..columns(mark, &change.address, what, status, rank)
    }
}

fn columns(
    mark: Mark,
    address: &Address,
    what: String,
    status: Option<&Status>,
    rank: Rank,
) -> Row {
    let result = status.map(|status| match (status.words()[1], status.error()) {
        (words, Some(_)) => Sentence::default().strong(words),
        (words, None) => words.into(),
    });
    let what = match what.as_str() {
        "" => Sentence::default(),
        what => what.into(),
    };
    let name = Sentence::default().name(&address.name);
    let cells = [address.kind.label().into(), name].into_iter();
    Row {
        cells: cells.chain(result).chain([what]).collect(),
        ..Row::of(mark, "", rank)
    }
}

/// What others left to do, by its cause: all of it takes something away.
fn others(document: &Document, plan: &Plan) -> Vec<Block> {
    let part = |(cause, places): (String, Vec<usize>)| {
        let rows = places.iter();
        let rows = rows.map(|place| row(&plan.changes[*place], plan, None));
        Block::Rows(Rows {
            title: format!("Not of this pull request, left to do by {cause}").into(),
            head: &["kind", "name", "what changes"],
            short: 2,
            rows: rows.collect(),
            ..Rows::default()
        })
    };
    document.others_by_cause().into_iter().map(part).collect()
}

/// Who joins what once it enrolls, and who does no more.
fn to_come(document: &Document) -> Rows {
    let memberships = document.memberships_to_tell();
    let row = |row: memberships::Row| {
        let names = |groups: &BTreeSet<String>| {
            Sentence::default().names(groups.iter().map(String::as_str))
        };
        let key = Sentence::default().name(row.key);
        let (mark, words) = match row.joins {
            true => (
                Mark::CREATE,
                key.say(" will join ")
                    .then(names(row.groups))
                    .say(" when it enrolls"),
            ),
            false => (
                Mark::DELETE,
                key.say(" will not join ")
                    .then(names(row.groups))
                    .say(" any more"),
            ),
        };
        let words = match row.joins && row.groups.len() != row.all.len() {
            true => words.say("; all its groups then: ").then(names(row.all)),
            false => words,
        };
        Row::of(mark, words, Rank::Reach)
    };
    Rows {
        title: "Memberships after enrollment".into(),
        rows: memberships::rows(&memberships).map(row).collect(),
        ..Rows::default()
    }
}

/// One diff per change that has a before and an after: the lines that differ.
fn details(plan: &Plan) -> Option<Block> {
    let changed = plan.changes.iter();
    let changed = changed.filter(|change| change.told_fields().next().is_some());
    let texts: Vec<(Sentence, String)> = changed
        .map(|change| (object(&change.address), diff(change)))
        .collect();
    (!texts.is_empty()).then_some(Block::Attached(Attached {
        title: "Details".into(),
        texts,
        language: "diff",
        rank: Rank::Extra,
    }))
}

fn diff(change: &Change) -> String {
    let mut out = String::new();
    for FieldChange {
        field,
        before,
        after,
    } in change.told_fields()
    {
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

fn notices(document: &Document) -> Rows {
    let said = document.said().into_iter().map(|said| {
        let mark = match said.is_warning() {
            true => Mark::WARNING,
            false => Mark::NOTE,
        };
        let mut notices = said.notices.iter();
        Row {
            is_read: notices.all(|notice| document.told.contains(*notice)),
            ..Row::of(mark, said.text.as_str(), Rank::Notice)
        }
    });
    Rows {
        rows: said.collect(),
        ..Rows::default()
    }
}

/// What was ours once and stays, why, and what to do.
fn held(document: &Document) -> Rows {
    let name = |held: &Held| object(&held.address).say(format!(" ({})", held.id.0));
    let row = |(reason, way_out, held): (String, &str, Vec<&Held>)| {
        let names = Sentence::default().listed(held.into_iter().map(name), MOST_NAMES);
        let text = names.say(format!(": {reason}; {way_out}."));
        Row::of(Mark::NONE, text, Rank::Notice)
    };
    Rows {
        title: "Held back".into(),
        rows: document.held().into_iter().map(row).collect(),
        ..Rows::default()
    }
}

/// What is let go, and the lines that delete it instead.
fn let_go(document: &Document, plan: &Plan) -> Vec<Block> {
    let row = |of: &LetGo| {
        let text = object(&of.address).say(format!(" {}", of.words()));
        Row::of(Mark::LET_GO, text, Rank::Notice)
    };
    let number = plan.let_go.len();
    if number == 0 {
        return Vec::new();
    }
    let (title, look) = match number > MOST_LET_GO {
        true => (format!("Let go: {number} objects"), Look::Folded),
        false => ("Let go".into(), Look::Open),
    };
    let rows = Rows {
        title: title.into(),
        look,
        rows: plan.let_go.iter().map(row).collect(),
        ..Rows::default()
    };
    let ways = document.agreements.iter();
    let ways = ways.filter_map(|agreement| way_to_delete(agreement, plan));
    [Block::Rows(rows)]
        .into_iter()
        .chain(ways.flatten())
        .collect()
}

/// The line that deletes what the plan lets go because of that change.
fn way_to_delete(agreement: &Agreement, plan: &Plan) -> Option<[Block; 2]> {
    let objects = plan.let_go.iter();
    let objects: Vec<Sentence> = objects
        .filter(|of| agreement.let_go.contains(&of.id))
        .map(|of| object(&of.address))
        .collect();
    let what = match (objects.len() == plan.let_go.len(), objects.len()) {
        (_, 0) => return None,
        (true, 1) => "it".into(),
        (true, _) => "them".into(),
        (false, _) => Sentence::default().listed(objects, MOST_NAMES),
    };
    let place = match &agreement.cause {
        Some(Origin::Pull(_)) if agreement.is_proposed => "to the pull request".into(),
        Some(Origin::Pull(number)) if !agreement.is_fork => format!("to pull request #{number}"),
        _ => "to a commit message".into(),
    };
    let (too, also) = match (agreement.line.is_some(), agreement.rows) {
        (false, _) => (" instead", String::new()),
        (true, rows) => {
            let deletions = match rows {
                1 => "deletion".into(),
                rows => format!("{rows} deletions"),
            };
            (", too", format!("; it also approves the {deletions}"))
        }
    };
    let how = Sentence::from("To delete ").then(what);
    let how = how.say(format!("{too}, add this line {place}{also}"));
    Some(way(how, agreement.line_with_let_go.as_ref()?.to_string()))
}

/// What is not managed and left alone: by kind, and members by group.
fn left_alone(document: &Document, plan: &Plan) -> Rows {
    let row = |text| Row::of(Mark::NONE, text, Rank::Extra);
    let name = |address: &Address| match address.name.as_str() {
        "" => describe::name(address).into(),
        name => Sentence::default().name(name),
    };
    let mut counts = Vec::new();
    let mut rows = Vec::new();
    for (label, objects) in document.unmanaged() {
        counts.push(format!("{} {label}", objects.len()));
        let names = objects.into_iter().map(name);
        rows.push(row(
            Sentence::from(format!("{label} ")).listed(names, MOST_NAMES)
        ));
    }
    for (group, members) in &plan.unmanaged_members {
        let labels = members.iter().filter_map(|id| plan.peer_labels.get(id));
        let labels = labels.map(|label| Sentence::default().name(label));
        let group = Sentence::from("in group ").name(group).say(": ");
        rows.push(row(group.listed(labels, MOST_NAMES)));
    }
    let members = plan.unmanaged_members.values().map(BTreeSet::len).sum();
    counts.extend((members > 0).then(|| count(members, "group member", "group members")));
    Rows {
        title: format!("Left alone, not managed here ({})", counts.join(", ")).into(),
        look: Look::Folded,
        rows,
        ..Rows::default()
    }
}

/// The sealed keys of this run.
fn sealed_keys(document: &Document) -> Option<Block> {
    let text = |(name, key): (&String, &CreatedKey)| {
        let code = |text: &String| Sentence::default().code(text);
        let label = Sentence::from("setup key ").code(name).say(" for ");
        let label = label.listed(key.recipients.iter().map(code), usize::MAX);
        let places = [&key.file].into_iter().chain(&key.stored).map(code);
        let sealed = key.sealed.lines().map(str::trim);
        let sealed: Vec<&str> = sealed.filter(|line| !line.is_empty()).collect();
        (label.say(", in ").listed(places, 2), sealed.join("\n"))
    };
    let texts: Vec<_> = document.created_keys.iter().map(text).collect();
    (!texts.is_empty()).then(|| {
        let number = count(texts.len(), "sealed key", "sealed keys");
        Block::Attached(Attached {
            title: super::markdown::title_of_sealed(&number),
            texts,
            language: "",
            rank: Rank::Must,
        })
    })
}
