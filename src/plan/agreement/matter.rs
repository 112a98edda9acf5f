//! A matter: what one pull request or one commit took out of the file, as the rows that a line agrees to.

use std::collections::{BTreeMap, BTreeSet};

use super::AllowDeletes;
use crate::base::{Id, count, joined};
use crate::model::Kind;
use crate::plan::{Piece, Row};

/// What one change took out of the file.
#[derive(Debug, Default)]
pub(super) struct Matter {
    /// What the plan deletes by it.
    pub(super) rows: BTreeSet<Row>,
    /// What the plan deletes since somebody agreed to delete what is let go, too.
    pub(super) released: BTreeSet<Row>,
    /// Its rows as texts, also those of what does not exist any more, each with its object where that is known.
    texts: BTreeSet<(String, Option<Id>)>,
    /// The texts of the machines that the plan deletes. Ids begin with the time of creation.
    machines: BTreeMap<Id, String>,
    /// What is let go by it: the keys of the entries.
    pub(super) let_go: BTreeMap<Id, String>,
    /// What an earlier run let go by it and does not exist any more: the keys of the entries.
    pub(super) let_go_dead: BTreeMap<Id, String>,
    /// Whether the file of this run is the change.
    pub(super) is_proposed: bool,
}

impl Matter {
    /// Adds a row of the plan.
    pub(super) fn add(&mut self, row: Row, text: String) {
        let of = match &row.piece {
            Piece::Member(member) => member,
            Piece::Whole | Piece::Field { .. } => &row.object,
        };
        if row.address.kind == Kind::Peer {
            self.machines.insert(of.clone(), text.clone());
        }
        self.texts.insert((text, Some(of.clone())));
        self.rows.insert(row);
    }

    /// Whether it gives somebody a role, or lets somebody in. What was agreed to once does not count again after somebody took it
    /// back in NetBird.
    pub(super) fn is_of_people(&self) -> bool {
        self.rows.iter().any(|row| row.address.kind == Kind::User)
    }

    /// Adds what earlier runs deleted.
    pub(super) fn add_gone(&mut self, text: &str, ids: &[Id]) {
        let all = ids.iter().map(|id| (text.to_owned(), Some(id.clone())));
        self.texts.extend(all);
    }

    /// Adds what somebody else deleted; all that earlier runs deleted is added before.
    pub(super) fn add_dead(&mut self, text: &str) {
        let unknown = (text.to_owned(), None);
        let next = self.texts.range(&unknown..).next();
        if next.is_none_or(|(known, _)| known != text) {
            self.texts.insert(unknown);
        }
    }

    /// Returns the line that agrees to the rows.
    pub(super) fn line(&self, environment: &str) -> AllowDeletes {
        AllowDeletes::of(environment, &self.all(false))
    }

    /// Returns the line that agrees to the rows and to the deletion of what is let go; none where nothing is.
    pub(super) fn line_with_let_go(&self, environment: &str) -> Option<AllowDeletes> {
        let line = || AllowDeletes::of(environment, &self.all(true));
        (!self.let_go.is_empty()).then(line)
    }

    /// Returns the texts of all rows, sorted. Several objects of one name are several rows.
    fn all(&self, with_let_go: bool) -> Vec<&str> {
        let let_go = self.let_go.values().chain(self.let_go_dead.values());
        let let_go = let_go.filter(|_| with_let_go);
        let texts = self.texts.iter().map(|(text, _)| text);
        let mut all: Vec<&str> = texts.chain(let_go).map(String::as_str).collect();
        all.sort_unstable();
        all
    }

    /// Returns so many rows in words, as in `2 deletions`.
    pub(super) fn words(&self, number: usize) -> String {
        let words = |row: &Row| match (&row.piece, row.address.kind) {
            (Piece::Whole | Piece::Member(_), _) => ["deletion", "deletions"],
            (_, Kind::User) => ["change of a user's rights", "changes of users' rights"],
            _ => [
                "change of a setting that moves machines",
                "changes of settings that move machines",
            ],
        };
        let words: BTreeSet<[&str; 2]> = self.rows.iter().map(words).collect();
        let several = joined(words.iter().rev().map(|[_, several]| several), " and ");
        let one = words.first().map_or("deletion", |[one, _]| one);
        count(number, one, &several)
    }

    /// Returns the names of the newest machines, if a line would agree without them.
    pub(super) fn enrolled_since(
        &self,
        line: &AllowDeletes,
        environment: &str,
    ) -> Option<Vec<String>> {
        [false, true].into_iter().find_map(|with_let_go| {
            let mut all = self.all(with_let_go);
            let more = all.len().saturating_sub(line.number);
            let newest: BTreeMap<&Id, &String> = self.machines.iter().rev().take(more).collect();
            let texts: BTreeSet<&str> = newest.values().map(|text| text.as_str()).collect();
            all.retain(|text| !texts.contains(text));
            let is_it = AllowDeletes::of(environment, &all) == *line;
            let rows = self.rows.iter();
            let rows = rows.filter(|row| newest.contains_key(&row.object));
            is_it.then(|| rows.map(|row| row.address.name.clone()).collect())
        })
    }
}
