//! The plan on a terminal: signs first, so that it reads without colour too; what takes something away before the rest.

use comfy_table::{Table, presets};

use super::impact::{Impact, impact, removed_members};
use super::{
    Counts, Document, Said, Status, Unplanned, access, describe, held_number, memberships,
};
use crate::address::Address;
use crate::agreement::ways_out as ways_out_of;
use crate::change::{Change, Operation};
use crate::held::Held;
use crate::kind::Kind;
use crate::memberships::Memberships;
use crate::plan::Plan;
use crate::text::{listed, visible};

/// Most lines of what was reachable anyway; JSON has them all.
const MOST_COVERED: usize = 10;

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub bool);

impl Color {
    pub(super) fn paint(self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn of(self, operation: &Operation, text: &str) -> String {
        self.paint(
            match operation {
                Operation::Create { .. } => "32",
                Operation::Update { .. } => "33",
                Operation::Replace { .. } => "35",
                Operation::Delete { .. } => "31",
            },
            text,
        )
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
    let memberships = document.memberships_to_tell();
    let to_do = to_do(plan, &memberships);
    let agreed = agreed(document);
    let refused = match (document.blamed(), document.refusals.is_empty()) {
        (Some(others), _) => {
            let text = format!("; apply would refuse it because of {}", visible(&others));
            color.paint("31", &text)
        }
        (None, true) => String::new(),
        (None, false) => color.paint("31", "; apply would refuse it"),
    };
    let mut out = format!(
        "NetBird plan: {to_do}{agreed}{refused}\n{}\n",
        origin(document)
    );
    out.push_str(&refusals(document, color));
    out.push_str(&reach(document, color));
    if !plan.is_empty() {
        out.push_str(&changes(document, plan, color));
        out.push_str(&format!("\n{to_do}.\n"));
    }
    let to_come = to_come(&memberships, color);
    if !plan.is_empty() && !to_come.is_empty() {
        out.push('\n');
    }
    out.push_str(&to_come);
    out.push_str(&recipients(document));
    out.push_str(&unmanaged(document, plan));
    if !plan.is_empty() {
        out.push_str(&format!("Digest of this plan: {}.\n", plan.digest()));
    }
    out.push_str(&notes(document, color));
    out.push_str(&ways_out(document));
    out
}

/// Why an apply would not start.
fn refusals(document: &Document, color: Color) -> String {
    let mut out = String::new();
    if let Some(others) = document.blamed() {
        out.push_str(&format!(
            "This is not about this pull request: once it is merged, its apply is refused until somebody agrees to the \
             deletions of {}.\n\n",
            visible(&others)
        ));
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

fn agreed(document: &Document) -> String {
    match document.agreed_by().as_str() {
        "" => String::new(),
        by => format!(", agreed to by {}", visible(by)),
    }
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
    let done = with(|status| *status == Status::Success).map(|(change, _)| change);
    let mut done = match Counts::of(done).done() {
        _ if plan.is_empty() => no_changes(plan),
        done if done.is_empty() => document.nothing_done().into(),
        done => done,
    };
    let failed = with(|status| matches!(status, Status::Failed(_))).count();
    let unknown = with(|status| matches!(status, Status::Unknown(_))).count();
    let not_tried = names(|status| matches!(status, Status::Skipped | Status::Pending));
    for (number, words) in [
        (failed, "failed"),
        (unknown, "not known"),
        (not_tried.len(), "not tried"),
    ] {
        if number > 0 {
            done.push_str(&format!(", {number} {words}"));
        }
    }
    let how = match &document.error {
        None => "",
        Some(_) if document.refused => " refused",
        Some(_) if document.statuses.is_empty() => " failed",
        Some(_) if failed + unknown + not_tried.len() == 0 => " did not converge",
        Some(_) => " stopped",
    };
    let agreed = agreed(document);
    let mut out = format!("NetBird apply{how}: {done}{agreed}\n{}", origin(document));
    if document.error.is_some() {
        let done = names(|status| *status == Status::Success);
        if !done.is_empty() {
            out.push_str(&format!("  done:      {}\n", listed(&done)));
        }
        for (change, status) in with(|_| true) {
            let (label, error) = match status {
                Status::Failed(error) => ("failed:   ", error),
                Status::Unknown(error) => ("not known:", error),
                Status::Success | Status::Pending | Status::Skipped => continue,
            };
            let label = label.replace(label.trim_end(), &color.paint("31", label.trim_end()));
            let address = change.address.to_string();
            out.push_str(&format!(
                "  {label} {}: {}\n",
                visible(&address),
                visible(error)
            ));
        }
        if !not_tried.is_empty() {
            out.push_str(&format!("  not tried: {}\n", listed(&not_tried)));
        }
    }
    if !document.created_keys.is_empty() {
        out.push_str("\nSealed keys; open one with: age -d -i IDENTITY FILE\n");
        let mut table = blank_table();
        for (name, key) in &document.created_keys {
            table.add_row(vec![
                format!(" {}", visible(name)),
                visible(&key.file).into_owned(),
                format!("for {}", visible(&key.recipients.join(", "))),
            ]);
        }
        out.extend(table.lines().map(|line| format!("{}\n", line.trim_end())));
        let copies = document.created_keys.values();
        let copies: Vec<&String> = copies.filter_map(|key| key.stored.as_ref()).collect();
        if !copies.is_empty() {
            out.push_str("Copies in the repository, as BRANCH:PATH\n");
            let line = |place: &&String| format!("  {}\n", visible(place));
            out.extend(copies.iter().map(line));
        }
    }
    out.push_str(&held_back(document));
    out.push_str(&notes(document, color));
    out.push_str(&ways_out(document));
    out
}

/// What is held back is not as the file says.
fn no_changes(plan: &Plan) -> String {
    match held_number(plan) {
        None => "No changes, NetBird is as the file says".into(),
        Some(held) => format!("No changes, {held}"),
    }
}

fn to_do(plan: &Plan, memberships: &Memberships) -> String {
    let to_come = memberships::to_come(memberships);
    let counts = match (plan.is_empty(), &to_come) {
        (true, None) => return no_changes(plan),
        (true, Some(_)) => "nothing to do now".into(),
        (false, _) => Counts::of(&plan.changes).to_do(),
    };
    let more = removed_members(plan).into_iter().chain(to_come);
    more.fold(counts, |text, words| format!("{text}; {words}"))
}

/// Who joins what once it enrolls.
fn to_come(memberships: &Memberships, color: Color) -> String {
    let names = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| visible(name)).collect();
        listed(&names)
    };
    let mut table = blank_table();
    let rows = memberships::rows(memberships);
    for row in &rows {
        let (sign, what) = match row.joins {
            true => (" +", format!("joins {}", names(&row.groups))),
            false => (" -", format!("joins {} no more", names(&row.groups))),
        };
        let all = row.all.iter();
        let all = all.map(|all| format!("; all its groups then: {}", names(all)));
        table.add_row(vec![
            sign.to_owned(),
            visible(row.key).into_owned(),
            what + &all.collect::<String>(),
        ]);
    }
    if rows.is_empty() {
        return String::new();
    }
    let lines = table.lines().zip(&rows).map(|(line, row)| {
        let code = if row.joins { "32" } else { "31" };
        color.paint(code, line.trim_end()) + "\n"
    });
    format!("Once they enroll:\n{}", lines.collect::<String>())
}

/// Who reaches whom: what is lost and what is gained, what nobody must miss of it, and what was reachable anyway.
fn reach(document: &Document, color: Color) -> String {
    let Some(delta) = &document.access else {
        return String::new();
    };
    let lines = access::lines(delta);
    let shown = |text: &str| visible(text).into_owned();
    let side = |(name, more): &(String, String)| match more.is_empty() {
        true => shown(name),
        false => format!("{} ({})", shown(name), shown(more)),
    };
    let mut table = blank_table();
    for line in &lines {
        table.add_row(vec![
            if line.is_gained { " +" } else { " -" }.to_owned(),
            side(&line.from),
            format!("→ {}", side(&line.to)),
            shown(&line.what),
            format!("by {}", shown(&line.because)),
        ]);
    }
    let rows = table.lines().zip(&lines).map(|(row, line)| {
        let code = if line.is_gained { "32" } else { "31" };
        color.paint(code, row.trim_end()) + "\n"
    });
    let rows: String = match lines.is_empty() {
        true => String::new(),
        false => rows.collect(),
    };
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
    let all: String = [rows]
        .into_iter()
        .chain(calls)
        .chain(covered)
        .chain(more)
        .collect();
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

fn blank_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// Blocks with common columns: what a reader must look at, the rest, and what others left to do.
fn changes(document: &Document, plan: &Plan, color: Color) -> String {
    let mut table = blank_table();
    for change in &plan.changes {
        table.add_row(vec![
            format!("{:>2}", describe::sign(&change.operation)),
            change.address.kind.label().to_owned(),
            visible(&change.address.name).into_owned(),
            describe::summary(change, plan),
        ]);
    }
    let rows: Vec<(String, bool)> = table
        .lines()
        .zip(&plan.changes)
        .map(|(line, change)| row(line.trim_end(), change, plan, color))
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
    let blocks = [own(true), own(false)].into_iter().chain(others);
    blocks
        .filter(|block| !block.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A change in lines, and whether a reader must look at it.
fn row(line: &str, change: &Change, plan: &Plan, color: Color) -> (String, bool) {
    let impact = impact(change, plan);
    let is_loud = impact.is_some();
    let mut text = color.of(&change.operation, line) + "\n" + &fields(change);
    // the line itself says who is in a group
    let impact =
        impact.filter(|impact| change.address.kind != Kind::Group || impact.verb != "Deletes");
    text.extend(impact.map(|impact| warning(&impact, color)));
    (text, is_loud)
}

fn warning(impact: &Impact, color: Color) -> String {
    let plain = |text: &str| visible(text).into_owned();
    let what = impact.what.render(plain, plain);
    match impact.harmless {
        true => format!("        {what}\n"),
        false => format!("        {} {what}\n", color.paint("31", "!")),
    }
}

fn fields(change: &Change) -> String {
    let fields: Vec<_> = change.told_fields().collect();
    let width = fields
        .iter()
        .map(|change| change.field.len())
        .max()
        .unwrap_or(0);
    let line = |change: &crate::kind::FieldChange| {
        format!(
            "        {:width$}   {}\n",
            describe::field_name(change),
            describe::field(change)
        )
    };
    fields.into_iter().map(line).collect()
}

fn recipients(document: &Document) -> String {
    match document.key_recipients() {
        [] => String::new(),
        recipients => format!(
            "New keys are sealed for {}.\n",
            visible(&recipients.join(", "))
        ),
    }
}

fn unmanaged(document: &Document, plan: &Plan) -> String {
    let mut parts = Vec::new();
    for (label, names) in document.unmanaged() {
        let names: Vec<String> = names
            .iter()
            .map(|name| format!("\"{}\"", visible(name)))
            .collect();
        parts.push(format!("{label} {}", listed(&names)));
    }
    let mut out = String::new();
    if !parts.is_empty() {
        out.push_str(&format!(
            "Left alone, not managed here: {}.\n",
            parts.join("; ")
        ));
    }
    out.push_str(&held_back(document));
    for (group, members) in &plan.unmanaged_members {
        let labels = members.iter().filter_map(|id| plan.peer_labels.get(id));
        let labels: Vec<_> = labels.map(|label| visible(label)).collect();
        out.push_str(&format!(
            "Left alone in group \"{}\": {}.\n",
            visible(group),
            listed(&labels)
        ));
    }
    out
}

fn held_back(document: &Document) -> String {
    let mut out = String::new();
    for (reason, way_out, held) in document.held() {
        let names: Vec<String> = held.iter().map(|held| held_name(held)).collect();
        out.push_str(&format!(
            "Held back: {}: {}; {way_out}.\n",
            visible(&listed(&names)),
            visible(&reason)
        ));
    }
    out
}

fn held_name(held: &Held) -> String {
    let Address { kind, name, .. } = &held.address;
    format!("{} \"{name}\" ({})", kind.label(), held.id)
}

fn notes(document: &Document, color: Color) -> String {
    let note =
        |notice: &Said| format!("{} {}\n", color.paint("36", "note:"), visible(&notice.text));
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
