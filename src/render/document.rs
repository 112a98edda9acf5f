//! A plan, and what an apply made of it, as a tree.

mod parts;

use super::access;
use super::describe::removed_members;
use super::markdown::{self, marker};
use super::tree::{Block, Look, Mark, Rank, Row, Rows, Tree};
use super::{Document, Status, Unplanned, counts, number_joining};
use crate::base::{MOST_NAMES, Sentence, count, numbered};
use crate::model::{LetGo, LetGoWhy};
use crate::plan::agreement::ways_out as ways_out_of;
use crate::plan::{Plan, Refusal};
use parts::{
    changes, details, held, left_alone, let_go, notices, others, sealed_keys, to_come, warnings,
};

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
    let run = document.run.as_deref().filter(|_| applied);
    let run = markdown::run_marker(run, is_open && document.did_something());
    let environment = match document.environment.as_str() {
        "" | "default" => String::new(),
        environment => format!(" for {environment}"),
    };
    let mut tree = Tree {
        marker: format!("{marker}\n{no_result}{run}"),
        heading: format!("NetBird {what}{environment}").into(),
        about: about(document),
        ..Tree::default()
    };
    match (&document.plan, document.unplanned, &document.superseded) {
        (_, Some(unplanned), _) => none(&mut tree, document, unplanned),
        (_, _, Some(commit)) if !document.did_something() => superseded(&mut tree, commit),
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
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.collect::<String>() + chars.as_str()
}

/// The file, and the server.
fn about(document: &Document) -> Sentence {
    let mut about = Sentence::default().code(&document.file);
    let since = match document.changed_since_commit {
        true => ", changed since",
        false => "",
    };
    let commit = document.commit.iter().map(|id| ("commit ", id, since));
    let digest = Some(&document.file_digest).filter(|digest| !digest.is_empty());
    let digest = digest.map(|digest| ("sha256 ", digest, ""));
    for (at, (word, id, more)) in commit.chain(digest).enumerate() {
        let begins = if at == 0 { " (" } else { ", " };
        about = about.say(format!("{begins}{word}")).code(id).say(more);
    }
    if about.0.len() > 1 {
        about = about.say(")");
    }
    if let Some(server) = &document.server {
        about = about.say(" against ").code(server);
    }
    about.say(concat!(", netbird-gitops ", env!("CARGO_PKG_VERSION")))
}

/// What takes the place of a plan that was posted before the file left the pull request.
fn none(tree: &mut Tree, document: &Document, unplanned: Unplanned) {
    let (what, why) = match unplanned {
        Unplanned::Untouched => {
            let why = Sentence::from("This pull request does not change ");
            (": no change", why.code(&document.file).say("."))
        }
        Unplanned::Closed { number } => {
            let which = format!("Pull request #{number} is merged or closed.");
            (": none", (which + " Its comment stays as it is.").into())
        }
    };
    tree.heading = std::mem::take(&mut tree.heading).say(what);
    let commit = document.commit.iter();
    tree.about = commit.fold(Sentence::default(), Sentence::code);
    tree.act = vec![Block::Paragraph(why)];
}

fn superseded(tree: &mut Tree, commit: &str) {
    let heading = std::mem::take(&mut tree.heading).say(": superseded by ");
    tree.heading = heading.code(commit).say(", which applies it");
    let why = "The branch has a newer file, so this run changed nothing. The run of ";
    let why = Sentence::from(why).code(commit);
    tree.act = vec![Block::Paragraph(why.say(" answers here once it is done."))];
}

/// A plan that could not be made says so: an old plan never stands as if it were new.
fn failed(tree: &mut Tree, document: &Document, applied: bool) {
    let (what, more) = match (applied, document.refused) {
        (true, true) => ("refused", ": nothing was changed"),
        (true, false) => ("failed", ": nothing was changed"),
        (false, _) => ("could not be made", ""),
    };
    let heading = std::mem::take(&mut tree.heading).say(" ");
    tree.heading = heading.strong(what).say(more);
    tree.act = error(document);
}

/// The error, and the way out, each in a block of its own.
fn error(document: &Document) -> Vec<Block> {
    let hint = document.hint.iter().filter(|_| document.error.is_some());
    let error = document.error.iter().map(|error| format!("error: {error}"));
    let blocks = error.chain(hint.map(|hint| format!("hint: {hint}")));
    blocks.map(Block::Stderr).collect()
}

fn planned(tree: &mut Tree, document: &Document, plan: &Plan, applied: bool) {
    let heading = std::mem::take(&mut tree.heading);
    tree.heading = match applied {
        true => done(heading, document, plan),
        false => to_do(heading, document, plan),
    };
    tree.act = error(document);
    if let Some(commit) = &document.superseded {
        let rest = Sentence::from("The branch has a newer file. The run of ").code(commit);
        let rest = rest.say(" applies what is left, and keeps what this run did.");
        tree.act.push(Block::Paragraph(rest));
    }
    // an apply that was refused says so in its error
    if document.error.is_none() {
        tree.act.push(Block::Rows(refusals(document)));
    }
    tree.act.extend(ways_out(document));
    let changes = changes(document, plan, applied);
    let delta = document.access.iter().filter(|_| !applied);
    let before = (!applied).then(|| warnings(document, plan)).into_iter();
    let before = before.chain(delta.clone().map(access::rows));
    let behind = (!applied).then(|| to_come(document));
    let rows = before.chain([changes]).chain(behind);
    tree.body = rows.map(Block::Rows).collect();
    if !applied {
        tree.body.extend(others(document, plan));
    }
    tree.body.extend(delta.flat_map(access::extra));
    tree.body.extend(details(plan));
    let rest = [notices(document), held(document)].into_iter();
    let rest = rest.chain((!applied).then(|| left_alone(document, plan)));
    tree.body.extend(rest.map(Block::Rows));
    let recipients = document.key_recipients();
    if !applied && !recipients.is_empty() {
        let recipients = recipients.iter().map(|who| Sentence::default().code(who));
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
    let let_gone = plan.let_go.iter().filter(is_new).count();
    let all = [plan.adoptions.len(), let_gone, plan.skipped.len()];
    let all = all.into_iter().zip([adopt, let_go, "skipped"]);
    numbered(all).map(Sentence::from).collect()
}

/// What is held back or skipped is not as the file says.
fn no_changes(document: &Document, plan: &Plan) -> Vec<Sentence> {
    let mut parts = vec![Sentence::from("No changes")];
    parts.extend(beside(plan, ["to adopt", "to let go"]));
    if !plan.held.is_empty() {
        let held = count(plan.held.len(), "object is", "objects are");
        parts.push(format!("{held} held back").into());
    }
    if parts.len() == 1 {
        parts.push(match document.lacks_inventory() {
            true => "deletions are not known".into(),
            false => "NetBird is as the file says".into(),
        });
    }
    parts
}

/// `2 to create, **1 to delete**`: numbers, memberships after enrollment, who agreed, and whether an apply would refuse it.
fn to_do(heading: Sentence, document: &Document, plan: &Plan) -> Sentence {
    let memberships = number_joining(&document.memberships_to_tell());
    let strong = |text: String| Sentence::default().strong(text);
    let beside = beside(plan, ["to adopt", "to let go"]);
    let parts = match (plan.is_empty(), memberships) {
        (true, None) => no_changes(document, plan),
        (true, Some(number)) => {
            let parts = [Sentence::from("nothing to do now"), strong(number)];
            parts.into_iter().chain(beside).collect()
        }
        (false, memberships) => {
            let [create, change, replace, delete] = counts(&plan.changes);
            let quiet = [create, change, replace].into_iter();
            let quiet = quiet.zip(["to create", "to change", "to replace"]);
            let mut parts: Vec<Sentence> = numbered(quiet).map(Sentence::from).collect();
            parts.extend(numbered([(delete, "to delete")]).map(strong));
            parts.extend(removed_members(plan).map(strong));
            parts.extend(beside);
            parts.extend(memberships.map(Sentence::from));
            parts
        }
    };
    let heading = heading.say(": ").listed(parts, usize::MAX);
    let heading = heading.say(agreed(document));
    let because = document.blamed().map(|of| format!(" because of {of}"));
    if because.is_none() && document.refusals.is_empty() {
        return heading;
    }
    let refuses = "apply would refuse it".to_owned() + &because.unwrap_or_default();
    heading.say(" – ").strong(refuses)
}

/// Who agreed to what is deleted.
fn agreed(document: &Document) -> String {
    let by = document.agreed_by();
    by.map_or(String::new(), |by| format!(", agreed to by {by}"))
}

/// How an apply ended, where that is not as it should, and what it did.
fn done(heading: Sentence, document: &Document, plan: &Plan) -> Sentence {
    let statuses = &document.statuses;
    let pairs = plan.changes.iter().zip(statuses);
    let succeeded = pairs.filter(|(_, status)| **status == Status::Success);
    let counts = counts(succeeded.map(|(change, _)| change)).into_iter();
    let counts = counts.zip(["created", "changed", "replaced", "deleted"]);
    let mut parts: Vec<Sentence> = numbered(counts).map(Sentence::from).collect();
    if document.adoption(true) == Status::Success {
        parts.extend(beside(plan, ["adopted", "let go"]));
    }
    if parts.is_empty() {
        let is_empty = plan.is_empty() && plan.adoptions.is_empty();
        parts = match (is_empty, document.changed) {
            (true, _) => no_changes(document, plan),
            (false, true) => vec!["no operation was completed".into()],
            (false, false) => vec!["nothing was changed".into()],
        };
    }
    let rest = ["failed", "not known", "not tried", "waiting"].map(|words| {
        let so = statuses.iter().filter(|status| status.words()[1] == words);
        (so.count(), words)
    });
    parts.extend(numbered(rest).map(Sentence::from));
    let how = match &document.error {
        // what a run says of itself before its end stays where it is killed
        _ if statuses.contains(&Status::Pending) => "is under way",
        None if document.superseded.is_some() => "superseded",
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
    let row = |refusal: &Refusal| {
        let mut row = Row::of(Mark::LOUD, refusal.text.as_str(), Rank::Must);
        if !refusal.names.is_empty() {
            let names = refusal.names.iter();
            let names = names.map(|name| Sentence::default().code(name));
            row.more.push(Sentence::default().listed(names, MOST_NAMES));
        }
        row.more.push(format!("Way out: {}.", refusal.hint).into());
        row
    };
    let title = match document.blamed() {
        Some(others) => format!(
            "This pull request is not the reason: after it is merged, its apply is refused until somebody agrees to the \
             deletions of {others}"
        ),
        None => "Apply would refuse this plan".into(),
    };
    Rows::titled(title, document.refusals.iter().map(row)).shown_as(Look::Caution)
}
