//! What a terminal and a comment say alike: the first line, who joins what, what is held back and what is left alone.

use super::impact::removed_members;
use super::{Counts, Document, Status, memberships};
use crate::held::Held;
use crate::memberships::Memberships;
use crate::plan::Plan;
use crate::text::{count, listed};

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

/// What is held back is not as the file says.
fn no_changes(plan: &Plan) -> String {
    match plan.held.len() {
        0 => "No changes, NetBird is as the file says".into(),
        held => format!(
            "No changes, {} held back",
            count(held, "object is", "objects are")
        ),
    }
}

impl Style {
    /// `2 to create, **1 to delete**`, how many members groups lose, how many memberships are to come, and who agreed.
    pub(super) fn to_do(self, document: &Document, plan: &Plan) -> String {
        let to_come = memberships::to_come(&document.memberships_to_tell());
        if plan.is_empty() {
            return match to_come {
                None => no_changes(plan),
                Some(to_come) => format!("nothing to do now, {}", (self.strong)(&to_come)),
            };
        }
        let counts = Counts::of(&plan.changes);
        let mut parts = counts.words(["to create", "to change", "to replace", "to delete"]);
        if let Some(deletions) = parts.last_mut().filter(|_| counts.delete > 0) {
            *deletions = (self.strong)(deletions);
        }
        parts.extend(removed_members(plan).map(|words| (self.strong)(&words)));
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
        if parts.is_empty() {
            parts.push(match (plan.is_empty(), document.changed) {
                (true, _) => no_changes(plan),
                (false, true) => "no operation was completed".into(),
                (false, false) => "nothing was changed".into(),
            });
        }
        for words in ["failed", "not known", "not tried", "to come"] {
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

    /// What is not managed and left alone: by kind, and members by group.
    pub(super) fn unmanaged(self, document: &Document, plan: &Plan) -> Vec<String> {
        let names = |names: Vec<&str>| {
            let names: Vec<String> = names.into_iter().map(self.name).collect();
            (self.names)(&names)
        };
        let objects = document.unmanaged().into_iter();
        let objects = objects.map(|(label, list)| format!("{label} {}", names(list)));
        let members = plan.unmanaged_members.iter().map(|(group, members)| {
            let labels = members.iter().filter_map(|id| plan.peer_labels.get(id));
            let labels = names(labels.map(String::as_str).collect());
            format!("in group {}: {labels}", (self.name)(group))
        });
        objects.chain(members).collect()
    }
}
