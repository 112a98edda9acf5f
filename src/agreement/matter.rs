//! What lines can be about: the rows of a cause, or of the commits of one pull request, and what was agreed to of them.

use std::collections::BTreeSet;

use crate::held::Held;
use crate::id::Id;
use crate::ledger::Cause;
use crate::notice::OfAgreement;
use crate::plan::Row;

/// Rows and held objects of one cause, or of the commits of one pull request.
#[derive(Default)]
pub(super) struct Matter {
    pub(super) rows: Vec<(Option<Cause>, Row)>,
    pub(super) held: Vec<(Option<Cause>, Held)>,
}

impl Matter {
    /// How many rows, and how many objects that are held where `with_held`, are of causes that are a part of it.
    pub(super) fn count(&self, is_part: &impl Fn(Option<Cause>) -> bool, with_held: bool) -> usize {
        let rows = self
            .rows
            .iter()
            .filter(|(cause, _)| is_part(*cause))
            .count();
        let held = self.held.iter().filter(|(cause, _)| is_part(*cause));
        let held: usize = held.map(|(_, held)| held.weight()).sum();
        if with_held { rows + held } else { rows }
    }
}

/// What was agreed to of a matter.
#[derive(Default)]
pub(super) struct Judged {
    pub(super) rows: BTreeSet<Row>,
    pub(super) release: BTreeSet<Id>,
    pub(super) by: BTreeSet<String>,
    /// Lines for less than goes by now.
    pub(super) short: BTreeSet<OfAgreement>,
}

impl Judged {
    /// Somebody agreed to the part.
    pub(super) fn agree(
        &mut self,
        matter: &Matter,
        is_part: &impl Fn(Option<Cause>) -> bool,
        with_held: bool,
        by: &str,
    ) {
        let rows = matter.rows.iter().filter(|(cause, _)| is_part(*cause));
        self.rows.extend(rows.map(|(_, row)| row.clone()));
        if with_held {
            let held = matter.held.iter().filter(|(cause, _)| is_part(*cause));
            self.release.extend(held.map(|(_, held)| held.id.clone()));
        }
        self.by.insert(by.to_owned());
    }
}

/// Every run of changes next to each other, the whole first: before its merge a pull request can be seen as one change, or
/// as several, and what follows it on the branch can look like a part of it.
pub(super) fn parts_of(range: Option<(Cause, Cause)>) -> Vec<Option<(Cause, Cause)>> {
    let Some((Cause::Commit(first), Cause::Commit(last))) = range else {
        return vec![range];
    };
    let runs = (first..=last).flat_map(|from| (from..=last).map(move |to| (from, to)));
    let mut runs: Vec<(usize, usize)> = runs.collect();
    runs.sort_by_key(|(from, to)| std::cmp::Reverse(to - from));
    let part = |(from, to)| Some((Cause::Commit(from), Cause::Commit(to)));
    runs.into_iter().map(part).collect()
}
