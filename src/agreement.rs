//! Who agreed to what a plan takes away.
//!
//! Rows of a plan belong to causes: changes of the file ([`crate::ledger::Cause`]). The commits of one pull request are one
//! matter, where that is known. A line `Allow-Deletes: N DIGEST` agrees to a matter, or to a part of its commits that are
//! next to each other, as long as no more than N rows are left of it. Where lines stand is for `commands` to find out.

mod matter;
mod ways;

use std::collections::{BTreeMap, BTreeSet};

use crate::id::Id;
use crate::ledger::{AllowDeletes, Cause, Ledger, Taken};
use crate::notice::{Notice, OfAgreement};
use crate::plan::{Piece, Plan, Row};

use matter::{Judged, Matter, parts_of};

pub use crate::notice::Void;
pub use crate::origin::Origin;
pub use ways::{open, way_out, way_out_of_others, ways_out};

/// A line, and what it can count for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The line.
    pub line: AllowDeletes,
    /// Who said so, and where.
    pub by: String,
    /// The first change that it counts for.
    pub first: Cause,
    /// The last one.
    pub last: Cause,
    /// Why it counts for nothing, whatever it says.
    pub void: Option<Void>,
}

impl Said {
    /// It counts for nothing.
    fn is_void(&self, why: Void) -> OfAgreement {
        OfAgreement::Void {
            line: self.line.to_string(),
            by: self.by.clone(),
            why,
        }
    }
}

/// Changes that one pull request brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brought {
    /// Its number.
    pub number: u64,
    /// Whether its branch is of another repository: then its description agrees to nothing.
    pub is_fork: bool,
    /// The first change.
    pub first: Cause,
    /// The last one.
    pub last: Cause,
}

/// What was said, and what is known of the changes.
#[derive(Debug, Clone, Default)]
pub struct Statements {
    /// The lines.
    pub lines: Vec<Said>,
    /// Pull requests that brought changes; that of this job brought the proposed one.
    pub pulls: Vec<Brought>,
    /// The exact number of all rows that a person agreed to (`--allow-deletes N`), and in which words.
    pub number: Option<(usize, String)>,
}

/// What a plan takes away by one cause, and the lines that agree to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// `None` in a work tree, and for what no change of the file caused.
    pub cause: Option<Origin>,
    /// Whether the file of this run is the cause.
    pub is_proposed: bool,
    /// Whether the cause is a pull request of another repository, see [`Brought`].
    pub is_fork: bool,
    /// How many objects, peers and members go.
    pub rows: usize,
    /// How many objects are held back until somebody agrees to them.
    pub held: usize,
    /// Agrees to the rows; `None` where there is none.
    pub line: Option<AllowDeletes>,
    /// Agrees to the rows and to what is held; `None` where nothing is.
    pub line_with_held: Option<AllowDeletes>,
    /// Who agreed, and where.
    pub agreed_by: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Rows that somebody agreed to.
    pub rows: BTreeSet<Row>,
    /// Held objects that somebody agreed to delete.
    pub release: BTreeSet<Id>,
    /// One entry a cause that is `needed` or has something held, that of this run first.
    pub agreements: Vec<Agreement>,
    /// What is to be said of lines that agree to nothing.
    pub notices: Vec<Notice>,
}

impl Statements {
    /// Returns where a cause is from; `None` in a work tree.
    pub fn origin(&self, cause: Cause, ledger: &Ledger) -> Option<Origin> {
        if let Some(pull) = self.pull(cause) {
            return Some(Origin::Pull(pull.number));
        }
        match cause {
            Cause::Commit(index) => {
                Some(Origin::Commit(ledger.commits().get(index)?.sha.to_string()))
            }
            Cause::Proposed => None,
        }
    }

    fn pull(&self, cause: Cause) -> Option<&Brought> {
        let mut pulls = self.pulls.iter();
        pulls.find(|pull| (pull.first..=pull.last).contains(&cause))
    }

    /// Judges the rows of a plan and what it holds back. `needed` are rows that a gate would refuse without agreement.
    pub fn judge(&self, plan: &Plan, ledger: &Ledger, needed: &BTreeSet<Row>) -> Outcome {
        let mut outcome = Outcome::default();
        let mut matters: BTreeMap<Option<Cause>, Matter> = BTreeMap::new();
        let held = plan.held.iter().filter(|held| held.weight() > 0);
        for row in plan.rows() {
            let cause = plan.causes.get(&row).copied();
            let matter = matters.entry(self.matter(cause, ledger)).or_default();
            matter.rows.push((cause, row));
        }
        for held in held {
            let matter = matters.entry(self.matter(held.cause, ledger)).or_default();
            matter.held.push((held.cause, held.clone()));
        }
        let all = self.all_by_number(plan);
        let mut told = BTreeSet::new();
        for (first, matter) in matters {
            let is_needed = matter.rows.iter().any(|(_, row)| needed.contains(row));
            let range = self.range(first);
            let judged = match &all {
                Some((with_held, by)) => {
                    let mut judged = Judged::default();
                    judged.agree(&matter, &|_| true, *with_held, by);
                    judged
                }
                None => self.lines_for(&matter, range, plan, ledger, &mut told),
            };
            let taken = self.taken(&matter, range, plan, ledger);
            let (rows, held) = (
                matter.rows.len(),
                matter.count(&|_| true, true) - matter.rows.len(),
            );
            let line = |with_held| AllowDeletes {
                number: if with_held { rows + held } else { rows },
                digest: Some(taken.digest(with_held)),
            };
            if is_needed || held > 0 {
                let is_whole = judged.rows.len() == rows && rows > 0;
                outcome.agreements.push(Agreement {
                    cause: first.and_then(|cause| self.origin(cause, ledger)),
                    is_proposed: first == Some(Cause::Proposed),
                    is_fork: first
                        .and_then(|cause| self.pull(cause))
                        .is_some_and(|pull| pull.is_fork),
                    rows,
                    held,
                    line: (rows > 0).then(|| line(false)),
                    line_with_held: (held > 0).then(|| line(true)),
                    agreed_by: (is_whole || !judged.release.is_empty())
                        .then(|| judged.by.iter().cloned().collect::<Vec<_>>().join(", ")),
                });
            }
            outcome
                .notices
                .extend(judged.short.into_iter().map(Notice::general));
            outcome.rows.extend(judged.rows);
            outcome.release.extend(judged.release);
        }
        outcome
            .agreements
            .sort_by_key(|agreement| !agreement.is_proposed);
        let agreements = outcome.agreements.clone();
        outcome
            .notices
            .extend(self.void_lines(plan, ledger, &agreements, &told));
        outcome
    }

    /// Whether a person's number is that of all rows, or of them and all that is held; and their words.
    fn all_by_number(&self, plan: &Plan) -> Option<(bool, String)> {
        let (number, by) = self.number.as_ref()?;
        let rows = plan.deletions();
        let held = plan.held_for_agreement();
        if *number == rows + held && held > 0 {
            return Some((true, by.clone()));
        }
        (*number == rows && rows > 0).then(|| (false, by.clone()))
    }

    /// By which cause a matter is known: the first of its pull request.
    fn matter(&self, cause: Option<Cause>, ledger: &Ledger) -> Option<Cause> {
        let cause = cause?;
        let pull = self.pull(cause);
        // what a pull request added and took away again is in none of its lines
        let whole = pull.filter(|pull| !ledger.taken(pull.first, pull.last).is_empty());
        Some(whole.map_or(cause, |pull| pull.first))
    }

    fn range(&self, first: Option<Cause>) -> Option<(Cause, Cause)> {
        let first = first?;
        let last = self.pull(first).filter(|pull| pull.first == first);
        Some((first, last.map_or(first, |pull| pull.last)))
    }

    /// What the lines of a matter are about. Without a cause in the file it is the rows themselves.
    fn taken(
        &self,
        matter: &Matter,
        range: Option<(Cause, Cause)>,
        plan: &Plan,
        ledger: &Ledger,
    ) -> Taken {
        if let Some((first, last)) = range {
            return ledger.taken(first, last);
        }
        let mut taken = Taken::default();
        for (_, row) in &matter.rows {
            let label = |id| {
                let label = plan.peer_labels.get(id);
                label.map_or(id.0.as_str(), String::as_str)
            };
            let address = row.address.clone();
            match &row.piece {
                Piece::Whole => taken.add(address, None),
                Piece::Member(id) => taken.add(address, Some(label(id))),
                Piece::Field { field, value } => taken.add_value(address, field, value),
            }
        }
        for (_, held) in &matter.held {
            taken.add(held.address.clone(), None);
        }
        taken
    }

    fn lines_for(
        &self,
        matter: &Matter,
        range: Option<(Cause, Cause)>,
        plan: &Plan,
        ledger: &Ledger,
        told: &mut BTreeSet<(AllowDeletes, String)>,
    ) -> Judged {
        let mut judged = Judged::default();
        let newest = ledger.commits().len().checked_sub(1).map(Cause::Commit);
        let mut parts: Vec<(Option<(Cause, Cause)>, Taken)> = Vec::new();
        for said in self.lines.iter().filter(|said| said.void.is_none()) {
            let Some(digest) = &said.line.digest else {
                continue;
            };
            let reaches = match range {
                Some((first, last)) => said.first <= last && first <= said.last,
                None => newest.is_none_or(|newest| said.last >= newest),
            };
            if !reaches {
                continue;
            }
            if parts.is_empty() {
                let ranges = parts_of(range);
                let taken = |part| (part, self.taken(matter, part, plan, ledger));
                parts = ranges.into_iter().map(taken).collect();
                parts.retain(|(_, taken)| !taken.is_empty());
            }
            for (part, taken) in &parts {
                let with_held = match digest {
                    digest if *digest == taken.digest(false) => false,
                    digest if *digest == taken.digest(true) => true,
                    _ => continue,
                };
                let is_part = |cause: Option<Cause>| match (part, cause) {
                    (Some((first, last)), Some(cause)) => (*first..=*last).contains(&cause),
                    (None, None) => true,
                    _ => false,
                };
                let number = matter.count(&is_part, with_held);
                if number == 0 {
                    continue;
                }
                told.insert((said.line.clone(), said.by.clone()));
                if number <= said.line.number {
                    judged.agree(matter, &is_part, with_held, &said.by);
                } else {
                    judged.short.insert(said.is_void(Void::Outgrown(number)));
                }
            }
        }
        judged
    }

    /// Says of each line that agreed to nothing why.
    fn void_lines(
        &self,
        plan: &Plan,
        ledger: &Ledger,
        agreements: &[Agreement],
        told: &BTreeSet<(AllowDeletes, String)>,
    ) -> Vec<Notice> {
        let mut notices = Vec::new();
        for said in &self.lines {
            if told.contains(&(said.line.clone(), said.by.clone())) {
                continue;
            }
            let why = match (&said.void, &said.line.digest, said.last) {
                (Some(void), ..) => void.clone(),
                (None, None, _) => Void::NoDigest,
                (None, Some(_), Cause::Proposed) => Void::NotOfThePlan,
                // else it agreed to what is done, or to what no plan holds against anybody
                (None, Some(digest), _) => match self.meant(said, ledger, agreements) {
                    Some(meant) if !self.is_of_the_past(digest, said, ledger) => {
                        Void::NotOf(meant.cause.clone())
                    }
                    _ => continue,
                },
            };
            notices.push(Notice::general(said.is_void(why)));
        }
        if let Some((number, by)) = &self.number
            && self.all_by_number(plan).is_none()
        {
            notices.push(Notice::general(OfAgreement::OtherNumber {
                by: by.clone(),
                number: *number,
                rows: plan.deletions(),
            }));
        }
        notices
    }

    /// Whether a digest is that of changes which the line can be about, though nothing is left of them.
    fn is_of_the_past(&self, digest: &str, said: &Said, ledger: &Ledger) -> bool {
        let Cause::Commit(last) = said.last else {
            return false;
        };
        let singles = (0..=last).map(|at| (Cause::Commit(at), Cause::Commit(at)));
        let pulls = self.pulls.iter().map(|pull| (pull.first, pull.last));
        let mut ranges = singles.chain(pulls).chain([(said.first, said.last)]);
        ranges.any(|(first, last)| {
            let taken = ledger.taken(first, last);
            !taken.is_empty()
                && [false, true]
                    .iter()
                    .any(|held| *digest == taken.digest(*held))
        })
    }

    /// Whose deletions somebody meant by a line that agrees to none: those that the description is of, or, in the newest
    /// commit, what is left to agree to.
    fn meant<'a>(
        &self,
        said: &Said,
        ledger: &Ledger,
        agreements: &'a [Agreement],
    ) -> Option<&'a Agreement> {
        let mut left = agreements.iter().filter(|it| it.agreed_by.is_none());
        let is_newest = ledger.commits().len().checked_sub(1).map(Cause::Commit) == Some(said.last);
        let pull = self
            .pulls
            .iter()
            .find(|pull| (pull.first, pull.last) == (said.first, said.last))
            .map(|pull| Origin::Pull(pull.number));
        match pull {
            Some(pull) => left.find(|it| it.cause.as_ref() == Some(&pull)),
            None if is_newest && said.first == Cause::Commit(0) => left.next(),
            None => None,
        }
    }
}

impl Agreement {
    /// Returns whose deletions these are, in words.
    pub fn whose(&self) -> String {
        Origin::whose(self.cause.as_ref())
    }
}

#[cfg(test)]
mod tests;
