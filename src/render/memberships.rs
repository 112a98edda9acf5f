//! Memberships after enrollment, as every output tells them: which pending key's peer will join what once it enrolls.

use std::collections::BTreeSet;

use super::Document;
use crate::base::text::count;
use crate::model::change::Change;
use crate::plan::memberships::{ByKey, Memberships};

/// What one key's peer will join, or will not any more.
pub(super) struct Row<'a> {
    /// The key.
    pub(super) key: &'a str,
    /// Whether it joins.
    pub(super) joins: bool,
    /// The groups that come or go.
    pub(super) groups: &'a BTreeSet<String>,
    /// All groups that it will join.
    pub(super) all: &'a BTreeSet<String>,
}

impl Document {
    /// Memberships that no row of the plan tells: the row of a new key names all groups that its peer joins.
    pub(super) fn memberships_to_tell(&self) -> Memberships {
        let changes = self.plan.iter().flat_map(|plan| &plan.changes);
        let made: BTreeSet<&str> = changes
            .filter(|change| Change::makes_key(change))
            .map(|change| change.address.name.as_str())
            .collect();
        self.memberships.without(|key| made.contains(key))
    }
}

/// Returns the rows, by key: what comes before what goes.
pub(super) fn rows<'a>(memberships: &'a Memberships) -> impl Iterator<Item = Row<'a>> {
    memberships.all.iter().flat_map(|(key, all)| {
        let lists = [(true, &memberships.new), (false, &memberships.gone)];
        let row = move |(joins, list): (bool, &'a ByKey)| {
            let groups = list.get(key)?;
            Some(Row {
                key,
                joins,
                groups,
                all,
            })
        };
        lists.into_iter().filter_map(row)
    })
}

/// Returns `2 memberships after enrollment`, where there are any.
pub(super) fn number(memberships: &Memberships) -> Option<String> {
    let number = memberships.len();
    let words = match memberships.gone.is_empty() {
        true => count(
            number,
            "membership after enrollment",
            "memberships after enrollment",
        ),
        false => count(
            number,
            "change to memberships after enrollment",
            "changes to memberships after enrollment",
        ),
    };
    (number > 0).then_some(words)
}
