//! What a terminal and a comment say alike: the first line, who joins what, what is held back and what is left alone.

use super::impact::removed_members;
use super::{Counts, Document, Status, describe, memberships};
use crate::base::text::{count, listed};
use crate::model::address::Address;
use crate::model::held::Held;
use crate::model::let_go::{LetGo, LetGoWhy};
use crate::plan::Plan;
use crate::plan::agreement::{Agreement, Origin};
use crate::plan::memberships::Memberships;

/// How a renderer shows what stands in a sentence.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// Somebody's name.
    pub(super) name: fn(&str) -> String,
    /// Our words, with names in them.
    pub(super) text: fn(&str) -> String,
    /// What a reader must not miss.
    pub(super) strong: fn(&str) -> String,
    /// Names of what is left alone: as many as there is room for.
    pub(super) names: fn(&[String]) -> String,
}

/// What is held back or skipped is not as the file says.
fn no_changes(plan: &Plan) -> String {
    let mut parts = beside(plan, ["to adopt", "to let go"]);
    if !plan.held.is_empty() {
        let held = count(plan.held.len(), "object is", "objects are");
        parts.push(format!("{held} held back"));
    }
    match parts.is_empty() {
        true => "No changes, NetBird is as the file says".into(),
        false => format!("No changes, {}", parts.join(", ")),
    }
}

/// What a plan has beside its changes: objects to adopt and to let go, and entries that are skipped.
fn beside(plan: &Plan, [adopt, let_go]: [&str; 2]) -> Vec<String> {
    let is_new = |of: &&LetGo| of.why != LetGoWhy::Before;
    let numbers = [
        (plan.adoptions.len(), adopt),
        (plan.let_go.iter().filter(is_new).count(), let_go),
        (plan.skipped.len(), "skipped"),
    ];
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
    numbers
        .map(|(number, word)| format!("{number} {word}"))
        .collect()
}

impl Style {
    /// `2 to create, **1 to delete**`, how many members groups lose, how many memberships are to come, and who agreed.
    pub(super) fn to_do(self, document: &Document, plan: &Plan) -> String {
        let to_come = memberships::to_come(&document.memberships_to_tell());
        if plan.is_empty() {
            let Some(to_come) = to_come else {
                return no_changes(plan);
            };
            let mut parts = vec![format!("nothing to do now, {}", (self.strong)(&to_come))];
            parts.extend(beside(plan, ["to adopt", "to let go"]));
            return parts.join(", ");
        }
        let counts = Counts::of(&plan.changes);
        let mut parts = counts.words(["to create", "to change", "to replace", "to delete"]);
        if let Some(deletions) = parts.last_mut().filter(|_| counts.delete > 0) {
            *deletions = (self.strong)(deletions);
        }
        parts.extend(removed_members(plan).map(|words| (self.strong)(&words)));
        parts.extend(beside(plan, ["to adopt", "to let go"]));
        parts.extend(to_come);
        parts.join(", ")
    }

    /// How an apply ended, where that is not as it should, and what it did.
    pub(super) fn done(self, document: &Document, plan: &Plan) -> String {
        let statuses = &document.statuses;
        let pairs = plan.changes.iter().zip(statuses);
        let succeeded = pairs.filter(|(_, status)| **status == Status::Success);
        let counts = Counts::of(succeeded.map(|(change, _)| change));
        let mut parts = counts.words(["created", "changed", "replaced", "deleted"]);
        if document.adoption(true) == Status::Success {
            parts.extend(beside(plan, ["adopted", "let go"]));
        }
        if parts.is_empty() {
            let is_empty = plan.is_empty() && plan.adoptions.is_empty();
            parts.push(match (is_empty, document.changed) {
                (true, _) => no_changes(plan),
                (false, true) => "no operation was completed".into(),
                (false, false) => "nothing was changed".into(),
            });
        }
        for words in ["failed", "not known", "not tried", "waiting"] {
            let so = statuses.iter().filter(|status| status.words()[1] == words);
            match so.count() {
                0 => {}
                number => parts.push(format!("{number} {words}")),
            }
        }
        let is_done = |status: &Status| *status == Status::Success;
        let how = match &document.error {
            // what a run says of itself before its end stays where it is killed
            _ if statuses.contains(&Status::Pending) => Some("is under way"),
            None => None,
            Some(_) if document.refused => Some("refused"),
            Some(_) if statuses.is_empty() => Some("failed"),
            Some(_) if statuses.iter().all(is_done) => Some("did not converge"),
            Some(_) => Some("stopped"),
        };
        let how = how.map(|how| format!(" {}", (self.strong)(how)));
        let agreed = self.agreed(document);
        format!("{}: {}{agreed}", how.unwrap_or_default(), parts.join(", "))
    }

    /// Who agreed to what goes.
    pub(super) fn agreed(self, document: &Document) -> String {
        match document.agreed_by().as_str() {
            "" => String::new(),
            by => format!(", agreed to by {}", (self.text)(by)),
        }
    }

    /// Whether an apply would refuse the plan.
    pub(super) fn refused(self, document: &Document) -> Option<String> {
        match (document.blamed(), document.refusals.is_empty()) {
            (Some(others), _) => Some(format!(
                "apply would refuse it because of {}",
                (self.text)(&others)
            )),
            (None, false) => Some("apply would refuse it".into()),
            (None, true) => None,
        }
    }

    /// Whose deletions are to be agreed to first, where they are not those of this pull request.
    pub(super) fn blame(self, document: &Document) -> Option<String> {
        let others = (self.text)(&document.blamed()?);
        Some(format!(
            "This is not about this pull request: once it is merged, its apply is refused until somebody agrees to the \
             deletions of {others}."
        ))
    }

    /// Who joins what once it enrolls, and who does no more: of each line whether it is the former.
    pub(super) fn memberships(self, memberships: &Memberships) -> Vec<(bool, String)> {
        let line = |row: memberships::Row| {
            let names = |groups: &std::collections::BTreeSet<String>| {
                let names: Vec<String> = groups.iter().map(|name| (self.name)(name)).collect();
                listed(&names)
            };
            let (key, groups) = ((self.name)(row.key), names(row.groups));
            let words = match (row.joins, row.groups.len() == row.all.len()) {
                (true, true) => format!("{key} will join {groups} when it enrolls"),
                (true, false) => format!(
                    "{key} will join {groups} when it enrolls; all its groups then: {}",
                    names(row.all)
                ),
                (false, _) => format!("{key} will not join {groups} any more"),
            };
            (row.joins, words)
        };
        memberships::rows(memberships).map(line).collect()
    }

    /// What was ours once and stays, why, and what to do.
    pub(super) fn held(self, document: &Document) -> Vec<String> {
        let name = |held: &&Held| {
            let (kind, name) = (held.address.kind.label(), (self.name)(&held.address.name));
            format!("{kind} {name} ({})", (self.text)(&held.id.0))
        };
        let line = |(reason, way_out, held): (String, &str, Vec<&Held>)| {
            let names: Vec<String> = held.iter().map(name).collect();
            let (reason, way_out) = ((self.text)(&reason), (self.text)(way_out));
            format!("{}: {reason}; {way_out}.", listed(&names))
        };
        document.held().into_iter().map(line).collect()
    }

    /// What deletes the objects that the plan lets go: of each line the words, and the line.
    pub(super) fn let_go(self, document: &Document, plan: &Plan) -> Vec<(String, String)> {
        let name = |of: &&LetGo| {
            let (kind, name) = (of.address.kind.label(), (self.name)(&of.address.name));
            format!("{kind} {name}")
        };
        let way = |agreement: &Agreement| {
            let objects = plan.let_go.iter();
            let objects: Vec<&LetGo> = objects
                .filter(|of| agreement.let_go.contains(&of.id))
                .collect();
            let what = match (objects.len() == plan.let_go.len(), objects.len()) {
                (_, 0) => return None,
                (true, 1) => "it".into(),
                (true, _) => "them".into(),
                (false, _) => listed(&objects.iter().map(name).collect::<Vec<_>>()),
            };
            let place = match &agreement.cause {
                Some(Origin::Pull(_)) if agreement.is_proposed => "to the pull request".into(),
                Some(Origin::Pull(number)) if !agreement.is_fork => {
                    (self.text)(&format!("to pull request #{number}"))
                }
                _ => "to a commit message".into(),
            };
            let how = match agreement.line {
                None => format!("To delete {what} instead, add this line {place}"),
                Some(_) => {
                    let deletions = match agreement.rows {
                        1 => "deletion".into(),
                        rows => format!("{rows} deletions"),
                    };
                    format!(
                        "To delete {what}, too, add this line {place}; it also approves the {deletions}"
                    )
                }
            };
            Some((how, agreement.line_with_let_go.as_ref()?.to_string()))
        };
        document.agreements.iter().filter_map(way).collect()
    }

    /// What is not managed and left alone: by kind, and members by group.
    pub(super) fn unmanaged(self, document: &Document, plan: &Plan) -> Vec<String> {
        let name = |address: &Address| match address.name.as_str() {
            "" => (self.text)(&describe::name(address)),
            name => (self.name)(name),
        };
        let objects = document.unmanaged().into_iter();
        let objects = objects.map(|(label, objects)| {
            let names: Vec<String> = objects.into_iter().map(name).collect();
            format!("{label} {}", (self.names)(&names))
        });
        let members = plan.unmanaged_members.iter().map(|(group, members)| {
            let labels = members.iter().filter_map(|id| plan.peer_labels.get(id));
            let labels: Vec<String> = labels.map(|label| (self.name)(label)).collect();
            format!("in group {}: {}", (self.name)(group), (self.names)(&labels))
        });
        objects.chain(members).collect()
    }
}
