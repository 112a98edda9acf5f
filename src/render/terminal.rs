//! The plan on a terminal: signs first, so that it reads without colour too.

use comfy_table::{Table, presets};

use super::{Counts, Document, Status, describe, removed_members};
use crate::change::{Change, Operation};
use crate::plan::Plan;
use crate::text::visible;

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub bool);

impl Color {
    fn paint(self, code: &str, text: &str) -> String {
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
    let Some(plan) = &document.plan else {
        return String::new();
    };
    let mut out = heading("plan", document);
    if plan.is_empty() {
        out.push_str("No changes: NetBird is as the file says.\n");
    } else {
        out.push_str(&changes(plan, color));
        out.push_str(&format!("\n{}.\n", Counts::of(&plan.changes).to_do()));
        if let Some(members) = removed_members(plan) {
            out.push_str(&format!("{members}.\n"));
        }
    }
    out.push_str(&recipients(document));
    out.push_str(&left_alone(document));
    out.push_str(&notes(document, color));
    for refusal in &document.refusals {
        out.push_str(&format!(
            "{} {}\n  {}\n",
            color.paint("31", "apply would refuse:"),
            visible(&refusal.text),
            refusal.hint
        ));
    }
    out
}

/// Returns what an apply did.
pub fn applied(document: &Document, color: Color) -> String {
    let Some(plan) = &document.plan else {
        return String::new();
    };
    let mut out = heading("apply", document);
    let with = |wanted: fn(&Status) -> bool| {
        let pairs = plan.changes.iter().zip(&document.statuses);
        pairs
            .filter(move |(_, status)| wanted(status))
            .map(|(change, _)| change)
    };
    if plan.is_empty() {
        out.push_str("No changes: NetBird is as the file says.\n");
    } else {
        let done = Counts::of(with(|status| *status == Status::Success)).done();
        out.push_str(&format!(
            "{}.\n",
            if done.is_empty() {
                "nothing was changed".into()
            } else {
                done
            }
        ));
    }
    for (label, wanted) in [
        (
            "failed",
            (|status| matches!(status, Status::Failed(_))) as fn(&Status) -> bool,
        ),
        ("not tried", |status| {
            matches!(status, Status::Skipped | Status::Pending)
        }),
    ] {
        let names: Vec<String> = with(wanted)
            .map(|change| visible(&change.address.to_string()).into_owned())
            .collect();
        if !names.is_empty() {
            out.push_str(&format!("{label}: {}\n", names.join(", ")));
        }
    }
    if !document.created_keys.is_empty() {
        out.push_str("\nSealed keys; open one with: age -d -i IDENTITY FILE\n");
        for (name, key) in &document.created_keys {
            out.push_str(&format!(
                "  {}  {}  for {}\n",
                visible(name),
                key.file,
                key.recipients.join(", ")
            ));
        }
    }
    out.push_str(&notes(document, color));
    out
}

fn heading(what: &str, document: &Document) -> String {
    let server = document
        .server
        .as_ref()
        .map(|server| format!(" at {server}"))
        .unwrap_or_default();
    let commit = document
        .commit
        .as_ref()
        .map(|commit| format!("commit {commit}, "))
        .unwrap_or_default();
    let digest = &document.file_digest;
    format!(
        "NetBird {what} for {} ({commit}sha256 {digest}){server}\n\n",
        document.file
    )
}

fn changes(plan: &Plan, color: Color) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for change in &plan.changes {
        table.add_row(vec![
            format!("{:>2}", describe::sign(&change.operation)),
            change.address.kind.label().to_owned(),
            visible(&change.address.name).into_owned(),
            describe::summary(change, plan),
        ]);
    }
    let mut out = String::new();
    for (line, change) in table.lines().zip(&plan.changes) {
        out.push_str(&color.of(&change.operation, line.trim_end()));
        out.push('\n');
        out.push_str(&fields(change));
    }
    out
}

fn fields(change: &Change) -> String {
    let fields = change.operation.fields();
    if matches!(&change.operation, Operation::Update { .. })
        && change.address.kind == crate::state::Kind::Peer
    {
        return String::new();
    }
    let width = fields
        .iter()
        .map(|change| change.field.len())
        .max()
        .unwrap_or(0);
    let line = |change: &crate::resource::FieldChange| {
        format!(
            "        {:width$}   {}\n",
            describe::field_name(change),
            describe::field(change)
        )
    };
    fields.iter().map(line).collect()
}

fn recipients(document: &Document) -> String {
    match document.key_recipients() {
        [] => String::new(),
        recipients => format!("New keys are sealed for {}.\n", recipients.join(", ")),
    }
}

fn left_alone(document: &Document) -> String {
    let mut parts = Vec::new();
    for (label, names) in document.unmanaged() {
        let names: Vec<String> = names
            .iter()
            .map(|name| format!("\"{}\"", visible(name)))
            .collect();
        parts.push(format!("{label} {}", names.join(", ")));
    }
    let mut out = String::new();
    if !parts.is_empty() {
        out.push_str(&format!(
            "Left alone, not managed here: {}.\n",
            parts.join("; ")
        ));
    }
    let plan = document
        .plan
        .iter()
        .flat_map(|plan| plan.foreign_members.iter().map(move |entry| (plan, entry)));
    for (plan, (group, members)) in plan {
        let labels: Vec<_> = members
            .iter()
            .filter_map(|id| plan.peer_labels.get(id))
            .map(|label| visible(label))
            .collect();
        out.push_str(&format!(
            "Left alone in group \"{}\": {}.\n",
            visible(group),
            labels.join(", ")
        ));
    }
    out
}

fn notes(document: &Document, color: Color) -> String {
    let note = |notice: &&crate::change::Notice| {
        format!("{} {}\n", color.paint("36", "note:"), visible(&notice.text))
    };
    document.all_notices().iter().map(note).collect()
}
