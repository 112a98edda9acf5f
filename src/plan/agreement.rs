//! Who agreed to what a plan deletes.
//!
//! Rows of a plan belong to matters: what one pull request or one commit took out of the file. A line
//! `Allow-Deletes: N DIGEST` agrees to one matter, exactly as it is now: N is the number of its rows, DIGEST stands for the
//! environment and for these rows. What earlier runs deleted of it stays a row, so that a line is the same before the merge,
//! after it, and after a run that was killed. Where lines stand is for `commands` to find out.

mod line;
mod matter;
mod void;
mod ways;

use std::collections::{BTreeMap, BTreeSet};

use crate::base::{Id, joined};
use crate::git::Sha;
use crate::git::versions::Versions;
use crate::model::{Cause, LeftBy, LetGo, Notice, OfAgreement};
use crate::plan::{Ours, Plan, Row};

use matter::Matter;

pub use crate::model::notice::{Untold, Void};
pub use crate::model::origin::Origin;
pub use line::{AllowDeletes, text_allow_deletes};
pub use ways::{open, way_out, way_out_of_others, ways_out};

/// A line, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The line.
    pub line: AllowDeletes,
    /// Who said so, and where.
    pub by: String,
    /// Where, which decides what it can count for.
    pub place: SaidIn,
    /// Why it counts for nothing, whatever it says.
    pub void: Option<Void>,
}

impl Said {
    /// Returns whether it stands in the message of a commit.
    pub fn is_of_message(&self) -> bool {
        matches!(self.place, SaidIn::Message(_))
    }
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaidIn {
    /// On the command line: it counts for every change.
    Run,
    /// In the message of a commit, by its place in [`Statements::commits`]: it counts for what that commit and those before
    /// it took out.
    Message(usize),
    /// In the description of that pull request: it counts for what that one took out.
    Description(u64),
}

/// Changes that one pull request brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brought {
    /// Its number.
    pub number: u64,
    /// Whether its branch is of another repository: then its description agrees to nothing.
    pub is_fork: bool,
    /// Whether it is the one of this job: it brings the file of this run.
    pub is_proposed: bool,
    /// The full ids of its commits on the base branch.
    pub commits: BTreeSet<String>,
}

/// What was said, and what is known of the changes.
#[derive(Debug, Clone, Default)]
pub struct Statements {
    /// The name of the environment.
    pub environment: String,
    /// The lines.
    pub lines: Vec<Said>,
    /// Pull requests that brought changes.
    pub pulls: Vec<Brought>,
    /// The full ids of the commits whose messages were read, the oldest first, up to the tip.
    pub commits: Vec<String>,
    /// The first of them whose message counts for what no known change took out.
    pub first_for_unknown: usize,
    /// The exact number of all rows that a person agreed to (`--allow-deletes N`), and in which words.
    pub number: Option<(usize, String)>,
}

/// What a plan deletes by one change, and the lines that agree to that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreement {
    /// `None` for the file of a work tree, and for what no change since the last apply took out.
    pub cause: Option<Origin>,
    /// Whether the file of this run is the change.
    pub is_proposed: bool,
    /// Whether the change is a pull request of another repository, see [`Brought`].
    pub is_fork: bool,
    /// How many rows it has.
    pub rows: usize,
    /// The same in words, as in `2 deletions`.
    pub what: String,
    /// Whether a gate refuses some of them without an agreement.
    pub is_needed: bool,
    /// What is let go by it, or would be without an agreement.
    pub let_go: BTreeSet<Id>,
    /// Agrees to the rows; `None` where nothing of them is left to delete.
    pub line: Option<AllowDeletes>,
    /// Agrees to the rows and to the deletion of what is let go; `None` where nothing is.
    pub line_with_let_go: Option<AllowDeletes>,
    /// Who agreed, and where.
    pub agreed_by: Option<String>,
    /// Whether they agreed to delete what is let go, too.
    pub deletes_let_go: bool,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Rows that somebody agreed to.
    pub rows: BTreeSet<Row>,
    /// Objects that are let go, and that somebody agreed to delete.
    pub release: BTreeSet<Id>,
    /// One for each change by which something is `needed` or let go, that of this run first.
    pub agreements: Vec<Agreement>,
    /// The commits by which something is deleted or let go, of which no pull request is known.
    pub commits: BTreeSet<String>,
    /// What is to be said of lines that agree to nothing.
    pub notices: Vec<Notice>,
}

impl Statements {
    /// Returns where a change is from; `None` for the file of a work tree.
    pub fn origin(&self, cause: Cause, versions: &Versions) -> Option<Origin> {
        match cause {
            Cause::Commit(at) => Some(self.of_commit(versions.commits().get(at)?.as_str())),
            Cause::Proposed => {
                let pull = self.pulls.iter().find(|pull| pull.is_proposed)?;
                Some(Origin::Pull(pull.number))
            }
        }
    }

    /// Returns where the change is from by which something left the file; `None` where nobody knows.
    pub fn left_by(&self, left_by: &LeftBy, versions: &Versions) -> Option<Origin> {
        match left_by {
            LeftBy::Change(cause) => self.origin(*cause, versions),
            LeftBy::Recorded(text) => Some(self.recorded(text)),
            LeftBy::Unknown => None,
        }
    }

    /// Returns where a change is from that the inventory has.
    fn recorded(&self, text: &str) -> Origin {
        match Origin::of_text(text) {
            Origin::Commit(id) => self.of_commit(&id),
            pull @ Origin::Pull(_) => pull,
        }
    }

    /// A commit, or the pull request that brought it.
    fn of_commit(&self, id: &str) -> Origin {
        let mut pulls = self.pulls.iter();
        match pulls.find(|pull| pull.commits.contains(id)) {
            Some(pull) => Origin::Pull(pull.number),
            None => Origin::Commit(id.to_owned()),
        }
    }

    fn pull(&self, number: u64) -> Option<&Brought> {
        self.pulls.iter().find(|pull| pull.number == number)
    }

    /// Judges the rows of a plan and what it lets go. `needed` are rows that a gate would refuse without agreement; `before` is
    /// the plan as it was before what is let go was released.
    pub fn judge<'a>(
        &'a self,
        plan: &Plan,
        before: Option<&Plan>,
        ours: &Ours,
        needed: &BTreeSet<Row>,
    ) -> Judgement {
        let matters = self.matters(plan, before, ours);
        let number = self.by_number(before.unwrap_or(plan));
        let mut outcome = Judgement::default();
        let mut open = Vec::new();
        for (cause, matter) in &matters {
            if let Some(Origin::Commit(id)) = cause {
                outcome.commits.insert(id.clone());
            }
            let of_line = |said: &'a Said| {
                let with_let_go = self.agrees(said, cause.as_ref(), matter, ours)?;
                Some((with_let_go, said.by.as_str()))
            };
            let agreed: Vec<(bool, &str)> = match number {
                Some(number) => vec![number],
                None => self.lines.iter().filter_map(of_line).collect(),
            };
            let by: BTreeSet<&str> = agreed.iter().map(|(_, by)| *by).collect();
            let deletes_let_go = agreed.iter().any(|(with_let_go, _)| *with_let_go);
            if !by.is_empty() {
                outcome.rows.extend(matter.rows.iter().cloned());
            }
            if deletes_let_go {
                outcome.rows.extend(matter.released.iter().cloned());
                outcome.release.extend(matter.let_go.keys().cloned());
            }
            // a line can have agreed to what is done, and to no more
            let is_agreed = !by.is_empty() && (!matter.rows.is_empty() || deletes_let_go);
            let is_needed = !matter.rows.is_disjoint(needed);
            if !is_needed && matter.let_go.is_empty() {
                continue;
            }
            if !is_agreed {
                open.push((cause.as_ref(), matter));
            }
            let pull = match cause {
                Some(Origin::Pull(number)) => self.pull(*number),
                _ => None,
            };
            let line = matter.line(&self.environment);
            outcome.agreements.push(Agreement {
                cause: cause.clone(),
                is_proposed: matter.is_proposed,
                is_fork: pull.is_some_and(|pull| pull.is_fork),
                rows: line.number,
                what: matter.words(line.number),
                is_needed,
                let_go: matter.let_go.keys().cloned().collect(),
                line: (!matter.rows.is_empty()).then_some(line),
                line_with_let_go: matter.line_with_let_go(&self.environment),
                agreed_by: is_agreed.then(|| joined(by, ", ")),
                deletes_let_go,
            });
        }
        let agreements = &mut outcome.agreements;
        agreements.sort_by_key(|agreement| !agreement.is_proposed);
        let is_void = |said: &&Said| {
            let mut all = matters.iter();
            !all.any(|(cause, of)| self.agrees(said, cause.as_ref(), of, ours).is_some())
        };
        let void = self.lines.iter().filter(is_void);
        let void = void.filter_map(|said| {
            Some(OfAgreement::Void {
                line: said.line.to_string(),
                by: said.by.clone(),
                why: self.why_void(said, ours, &open)?,
            })
        });
        let other = self.number.as_ref().filter(|_| number.is_none());
        let other = other.map(|(number, by)| OfAgreement::OtherNumber {
            by: by.clone(),
            number: *number,
            rows: before.unwrap_or(plan).counted_rows().len(),
        });
        outcome.notices = void.chain(other).map(Notice::general).collect();
        outcome
    }

    /// Gives every row its matter.
    fn matters(
        &self,
        plan: &Plan,
        before: Option<&Plan>,
        ours: &Ours,
    ) -> BTreeMap<Option<Origin>, Matter> {
        let versions = &ours.versions;
        let mut matters: BTreeMap<Option<Origin>, Matter> = BTreeMap::new();
        let let_go = before.unwrap_or(plan).let_go.iter();
        let mut homes: BTreeMap<&Id, Option<Origin>> = BTreeMap::new();
        for LetGo {
            id, key, left_by, ..
        } in let_go
        {
            let home = self.left_by(left_by, versions);
            let matter = matters.entry(home.clone()).or_default();
            matter.let_go.insert(id.clone(), key.clone());
            matter.is_proposed |= *left_by == LeftBy::Change(Cause::Proposed);
            homes.insert(id, home);
        }
        let known = before.map(Plan::counted_rows);
        for row in plan.counted_rows() {
            if let Some(home) = homes.get(&row.object) {
                let matter = matters.entry(home.clone()).or_default();
                matter.released.insert(row);
                continue;
            }
            // what only the release lets go is in nobody's line
            let is_known = known.as_ref().is_none_or(|known| known.contains(&row));
            let cause = plan.causes.get(&row).copied().filter(|_| is_known);
            let origin = cause.and_then(|cause| self.origin(cause, versions));
            let matter = matters.entry(origin).or_default();
            matter.is_proposed |= cause == Some(Cause::Proposed);
            let text = plan.row_text(&row);
            matter.add(row, text);
        }
        for (text, left) in &ours.inventory.gone {
            let origin = left.cause.as_deref().map(|cause| self.recorded(cause));
            let matter = matters.entry(origin).or_default();
            matter.add_gone(text, &left.ids);
        }
        for (text, left_by) in &plan.dead {
            let origin = self.left_by(left_by, versions);
            matters.entry(origin).or_default().add_dead(text);
        }
        for (key, id, cause) in &plan.let_go_dead {
            let matter = matters.entry(Some(self.recorded(cause))).or_default();
            matter.let_go_dead.insert(id.clone(), key.clone());
        }
        matters
    }

    /// Whether a line agrees to a matter: if it does, whether it agrees to delete what is let go, too.
    fn agrees(
        &self,
        said: &Said,
        cause: Option<&Origin>,
        matter: &Matter,
        ours: &Ours,
    ) -> Option<bool> {
        let with_let_go = matter.line_with_let_go(&self.environment);
        let agrees_to_both = with_let_go.as_ref() == Some(&said.line);
        let is_its = agrees_to_both || said.line == matter.line(&self.environment);
        let counts = is_its && said.void.is_none() && self.counts(said, cause, matter, ours);
        counts.then_some(agrees_to_both)
    }

    /// Whether a line stands where it can count for a matter.
    fn counts(&self, said: &Said, cause: Option<&Origin>, matter: &Matter, ours: &Ours) -> bool {
        match said.place {
            SaidIn::Run => true,
            SaidIn::Description(number) => match cause {
                Some(origin) => *origin == Origin::Pull(number),
                None if matter.is_of_people() => {
                    self.pull(number).is_some_and(|pull| pull.is_proposed)
                }
                None => self.is_newest(number, ours),
            },
            SaidIn::Message(_) if matter.is_proposed => false,
            SaidIn::Message(_) if cause.is_none() && matter.is_of_people() => false,
            SaidIn::Message(at) => match cause {
                Some(origin) => self.first_of(origin) <= at,
                None => self.first_for_unknown <= at,
            },
        }
    }

    /// Whether a pull request brings the file of this run, the newest change of it, or the tip.
    fn is_newest(&self, number: u64, ours: &Ours) -> bool {
        let newest = ours.versions.commits().last();
        let mut ids = newest
            .map(Sha::as_str)
            .into_iter()
            .chain(self.commits.last().map(String::as_str));
        let pull = self.pull(number);
        pull.is_some_and(|pull| pull.is_proposed || ids.any(|id| pull.commits.contains(id)))
    }

    /// The place of the first commit of a change. What stands before all that was read is first.
    fn first_of(&self, origin: &Origin) -> usize {
        let is_of = |id: &String| match origin {
            Origin::Commit(commit) => commit == id,
            Origin::Pull(number) => self
                .pull(*number)
                .is_some_and(|pull| pull.commits.contains(id)),
        };
        self.commits.iter().position(is_of).unwrap_or_default()
    }

    /// Whether a person's number is that of all rows, or of them and all that is let go; and their words.
    fn by_number(&self, plan: &Plan) -> Option<(bool, &str)> {
        let (number, by) = self.number.as_ref()?;
        let (rows, let_go) = (plan.counted_rows().len(), plan.let_go.len());
        let with_let_go = *number == rows + let_go;
        (with_let_go || *number == rows).then_some((with_let_go, by))
    }
}

impl Agreement {
    /// Returns whose deletions these are, in words.
    pub fn whose(&self) -> String {
        Origin::whose(self.cause.as_ref())
    }

    /// Returns whether a gate refuses it, since nobody agreed yet.
    pub fn is_open(&self) -> bool {
        self.is_needed && self.agreed_by.is_none()
    }

    /// Returns whether a line would make a difference that nobody said yet.
    pub fn is_unsaid(&self) -> bool {
        self.is_open() || (self.line_with_let_go.is_some() && !self.deletes_let_go)
    }
}

#[cfg(test)]
mod tests;
