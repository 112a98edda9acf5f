//! The plan on a terminal: signs first, so that it reads without colour too; what takes something away before the rest.

use comfy_table::{Table, presets};

use super::impact::{Impact, impact};
use super::style::Style;
use super::{Document, Said, Status, Unplanned, access, describe};
use crate::base::text::{listed, visible};
use crate::model::address::Address;
use crate::model::change::Change;
use crate::model::kind::Kind;
use crate::model::let_go::LetGo;
use crate::plan::Plan;
use crate::plan::agreement::ways_out as ways_out_of;

/// Names stand in quotes, and nothing stands out without colour.
const STYLE: Style = Style {
    name: |name| format!("\"{}\"", visible(name)),
    text: shown,
    strong: shown,
    names: |names| listed(names),
};

/// Most lines of what was reachable anyway; JSON has them all.
const MOST_COVERED: usize = 10;

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub bool);

impl Color {
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Returns the plan.
pub fn plan(document: &Document, color: Color) -> String {
    if let Some(unplanned) = document.unplanned {
        let why = match unplanned {
            Unplanned::Untouched => format!(
                "this pull request does not change {}",
                visible(&document.file)
            ),
            Unplanned::Closed { number } => {
                format!("pull request #{number} is merged or closed; its comment stays as it is")
            }
        };
        return format!("NetBird plan: none, since {why}\n");
    }
    let Some(plan) = &document.plan else {
        return String::new();
    };
    let to_do = STYLE.to_do(document, plan);
    let agreed = STYLE.agreed(document);
    let refused = STYLE.refused(document);
    let refused = refused.map(|refused| color.paint("31", &format!("; {refused}")));
    let mut out = format!(
        "NetBird plan: {to_do}{agreed}{}\n{}\n",
        refused.unwrap_or_default(),
        origin(document)
    );
    out.push_str(&refusals(document, color));
    out.push_str(&reach(document, color));
    out.push_str(&changes(document, plan, color));
    if !plan.is_empty() {
        out.push_str(&format!("\n{to_do}.\n"));
    }
    let to_come = STYLE.memberships(&document.memberships_to_tell());
    if !to_come.is_empty() {
        let gap = if plan.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{gap}Memberships after enrollment:\n"));
    }
    for (joins, line) in to_come {
        out.push_str(&signed(joins, &line, color));
    }
    let recipients = document.key_recipients();
    if !recipients.is_empty() {
        let recipients = shown(&recipients.join(", "));
        out.push_str(&format!("New keys are sealed for {recipients}.\n"));
    }
    let unmanaged = STYLE.unmanaged(document, plan);
    if !unmanaged.is_empty() {
        let unmanaged = unmanaged.join("; ");
        out.push_str(&format!("Left alone, not managed here: {unmanaged}.\n"));
    }
    out.extend(held_back(document));
    if !plan.is_empty() {
        out.push_str(&format!("Digest of this plan: {}.\n", plan.digest()));
    }
    out.push_str(&notes(document, color));
    out.push_str(&ways_out(document));
    push_apart(&mut out, &let_go(document, plan, color));
    out
}

/// Why an apply would not start.
fn refusals(document: &Document, color: Color) -> String {
    let mut out = String::new();
    if let Some(blame) = STYLE.blame(document) {
        out.push_str(&format!("{blame}\n\n"));
    }
    for refusal in &document.refusals {
        let label = color.paint("31", "apply would refuse:");
        out.push_str(&format!("{label} {}\n", visible(&refusal.text)));
        if !refusal.names.is_empty() {
            let names: Vec<_> = refusal.names.iter().map(|name| visible(name)).collect();
            out.push_str(&format!("  {}\n", listed(&names)));
        }
        out.push_str(&format!(
            "{} {}\n\n",
            color.paint("36", "hint:"),
            visible(&refusal.hint)
        ));
    }
    out
}

/// Returns the lines to copy, each with nothing beside it.
pub fn ways_out(document: &Document) -> String {
    let ways = ways_out_of(&document.agreements).into_iter();
    let way = |(what, line): (String, String)| format!("\n{}:\n\n{line}\n", visible(&what));
    ways.map(way).collect()
}

/// Returns what an apply did.
pub fn applied(document: &Document, color: Color) -> String {
    if let Some(commit) = &document.superseded {
        return format!(
            "NetBird apply: superseded by {commit}, which applies it; nothing was changed\n"
        );
    }
    let Some(plan) = &document.plan else {
        return String::new();
    };
    let with = |wanted: fn(&Status) -> bool| {
        let pairs = plan.changes.iter().zip(&document.statuses);
        pairs.filter(move |(_, status)| wanted(status))
    };
    let names = |wanted: fn(&Status) -> bool| -> Vec<String> {
        with(wanted)
            .map(|(change, _)| visible(&change.address.to_string()).into_owned())
            .collect()
    };
    let not_tried = names(|status| matches!(status, Status::Skipped | Status::Pending));
    let mut out = format!(
        "NetBird apply{}\n{}",
        STYLE.done(document, plan),
        origin(document)
    );
    if document.error.is_some() {
        let done = names(|status| *status == Status::Success);
        if !done.is_empty() {
            out.push_str(&format!("  done: {}\n", listed(&done)));
        }
        for (change, status) in with(|_| true) {
            let Some(error) = status.error() else {
                continue;
            };
            let label = color.paint("31", &format!("{}:", status.words()[1]));
            let address = shown(&change.address.to_string());
            out.push_str(&format!("  {label} {address}: {}\n", visible(error)));
        }
        if !not_tried.is_empty() {
            out.push_str(&format!("  not tried: {}\n", listed(&not_tried)));
        }
    }
    if !document.created_keys.is_empty() {
        out.push_str("\nSealed keys; open one with: age -d -i IDENTITY FILE\n");
        let rows = document.created_keys.iter().map(|(name, key)| {
            let recipients = shown(&key.recipients.join(", "));
            let name = format!(" {}", shown(name));
            vec![name, shown(&key.file), format!("for {recipients}")]
        });
        out.extend(aligned(rows).iter().map(|line| format!("{line}\n")));
        let copies = document.created_keys.values();
        let copies: Vec<&String> = copies.filter_map(|key| key.stored.as_ref()).collect();
        if !copies.is_empty() {
            out.push_str("Copies beside the inventory, as BRANCH:PATH or PATH\n");
            let line = |place: &&String| format!("  {}\n", visible(place));
            out.extend(copies.iter().map(line));
        }
    }
    out.extend(held_back(document));
    out.push_str(&notes(document, color));
    out.push_str(&ways_out(document));
    push_apart(&mut out, &let_go(document, plan, color));
    out
}

/// Adds a part that begins with an empty line, which is left out after another one.
fn push_apart(out: &mut String, part: &str) {
    out.push_str(match out.ends_with("\n\n") {
        true => part.strip_prefix('\n').unwrap_or(part),
        false => part,
    });
}

/// What is let go, and the lines that delete it instead.
fn let_go(document: &Document, plan: &Plan, color: Color) -> String {
    let [sign, colour] = describe::LET_GO;
    let row = |of: &LetGo| {
        let why = shown(&of.words());
        vec![
            format!("{sign:>2}"),
            of.address.kind.label().to_owned(),
            describe::name(&of.address),
            why,
        ]
    };
    let rows = aligned(plan.let_go.iter().map(row)).into_iter();
    let rows: String = rows.map(|row| color.paint(colour, &row) + "\n").collect();
    let lines = STYLE.let_go(document, plan).into_iter();
    let lines = lines.map(|(what, line)| format!("{what}:\n\n{line}\n"));
    match rows.is_empty() {
        true => rows,
        false => format!("\n{rows}{}", lines.collect::<Vec<_>>().join("\n")),
    }
}

/// What was ours once and stays.
fn held_back(document: &Document) -> impl Iterator<Item = String> {
    let lines = STYLE.held(document).into_iter();
    lines.map(|line| format!("Held back: {line}\n"))
}

fn shown(text: &str) -> String {
    visible(text).into_owned()
}

/// A line of what comes, or of what goes.
fn signed(comes: bool, line: &str, color: Color) -> String {
    let (sign, code) = if comes { ("+", "32") } else { ("-", "31") };
    color.paint(code, &format!("  {sign}  {line}")) + "\n"
}

/// Rows with common columns, as lines.
pub(super) fn aligned(rows: impl IntoIterator<Item = Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.add_rows(rows);
    if table.is_empty() {
        return Vec::new();
    }
    let lines = table.lines();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

/// Who reaches whom: what is lost and what is gained, what nobody must miss of it, and what was reachable anyway.
fn reach(document: &Document, color: Color) -> String {
    let Some(delta) = &document.access else {
        return String::new();
    };
    let side = |(name, more): &(String, String)| match more.is_empty() {
        true => shown(name),
        false => format!("{} ({})", shown(name), shown(more)),
    };
    let lines = access::lines(delta);
    let rows = lines.iter().map(|line| {
        let (from, to) = (side(&line.from), format!("→ {}", side(&line.to)));
        let because = format!("by {}", shown(&line.because));
        vec![from, to, shown(&line.what), because]
    });
    let rows = aligned(rows).into_iter().zip(&lines);
    let rows = rows.map(|(row, line)| signed(line.is_gained, row.trim_start(), color));
    let calls = access::calls(delta, false);
    let calls = calls
        .iter()
        .map(|call| format!("  {} {}\n", color.paint("31", "!"), shown(call)));
    let covered = access::covered(delta);
    let more = covered.len().saturating_sub(MOST_COVERED);
    let more = (more > 0).then(|| format!("    and {more} more that were reachable anyway\n"));
    let covered = covered
        .iter()
        .take(MOST_COVERED)
        .map(|line| format!("    {}\n", shown(line)));
    let all: String = rows.chain(calls).chain(covered).chain(more).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("Who reaches whom:\n{all}\n"),
    }
}

/// The file and the server that this is about.
fn origin(document: &Document) -> String {
    let commit = document
        .commit
        .iter()
        .map(|commit| format!("commit {commit}, "));
    let server = document
        .server
        .iter()
        .map(|server| format!(" against {server}"));
    let text = format!(
        "{} ({}sha256 {}){}",
        document.file,
        commit.collect::<String>(),
        document.file_digest,
        server.collect::<String>()
    );
    visible(&text).into_owned() + "\n"
}

/// Blocks with common columns: what a reader must look at, the rest, what is adopted, and what others left to do.
fn changes(document: &Document, plan: &Plan, color: Color) -> String {
    let columns = |sign: &str, address: &Address, what: String| {
        let label = address.kind.label().to_owned();
        vec![format!("{sign:>2}"), label, shown(&address.name), what]
    };
    let changes = plan.changes.iter().map(|change| {
        let [sign, ..] = describe::signs(&change.operation);
        columns(sign, &change.address, describe::summary(change, plan))
    });
    let [sign, colour, _] = describe::ADOPTED;
    let adoptions = plan.adoptions.iter();
    let adoptions = adoptions.map(|(at, of)| columns(sign, at, describe::adoption(at, of)));
    let lines = aligned(changes.chain(adoptions));
    let (lines, adoptions) = lines.split_at(plan.changes.len());
    let adoptions = adoptions
        .iter()
        .map(|line| color.paint(colour, line) + "\n");
    let rows = lines.iter().zip(&plan.changes);
    let rows: Vec<(String, bool)> = rows
        .map(|(line, change)| row(line, change, plan, color))
        .collect();
    let own = |loud: bool| -> String {
        let own = rows.iter().enumerate();
        let own = own.filter(|(place, row)| !document.others.contains(place) && row.1 == loud);
        own.map(|(_, row)| row.0.as_str()).collect()
    };
    let others = document
        .others_by_cause()
        .into_iter()
        .map(|(cause, places)| {
            let rows: String = places.iter().map(|place| rows[*place].0.as_str()).collect();
            format!(
                "Not of this pull request, left to do by {}:\n{rows}",
                visible(&cause)
            )
        });
    let blocks = [own(true), own(false), adoptions.collect()];
    let blocks = blocks.into_iter().chain(others);
    blocks
        .filter(|block| !block.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A change in lines, and whether a reader must look at it.
fn row(line: &str, change: &Change, plan: &Plan, color: Color) -> (String, bool) {
    let impact = impact(change, plan);
    let is_loud = impact.is_some();
    let [_, colour, _] = describe::signs(&change.operation);
    let mut text = color.paint(colour, line) + "\n";
    text.push_str(&describe::fields(change));
    // the line itself says who is in a group
    let impact =
        impact.filter(|impact| change.address.kind != Kind::Group || impact.verb != "Deletes");
    text.extend(impact.map(|impact| warning(&impact, color)));
    (text, is_loud)
}

fn warning(impact: &Impact, color: Color) -> String {
    let what = impact.what.render(shown, shown);
    match impact.harmless {
        true => format!("        {what}\n"),
        false => format!("        {} {what}\n", color.paint("31", "!")),
    }
}

fn notes(document: &Document, color: Color) -> String {
    let note = |notice: &Said| {
        let label = match notice.is_warning() {
            true => color.paint("33", "warning:"),
            false => color.paint("36", "note:"),
        };
        format!("{label} {}\n", visible(&notice.text))
    };
    let is_news = |said: &Said| {
        let mut notices = said.notices.iter();
        notices.any(|notice| !document.told.contains(*notice))
    };
    document
        .said()
        .iter()
        .filter(|said| is_news(said))
        .map(note)
        .collect()
}

#[cfg(test)]
mod tests;
