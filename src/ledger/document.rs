//! A version of the file and the step to the next one.
//!
//! Most commits change one entry of hundreds. So the marks of the version before are kept, and wherever the new text
//! has, in the same place, the very bytes that led from one mark to the next, they lead to the same mark again and are
//! not read. That is a comparison of memory for all but the entries that changed.

use std::collections::BTreeSet;

use crate::kind::Kind;

use super::facts::{FactId, Facts};
use super::scan::{Broken, Mark, Place, Scanner};

/// The version that was read last.
#[derive(Debug, Default)]
pub(super) struct LastRead {
    text: Vec<u8>,
    marks: Vec<Mark>,
    managed: BTreeSet<Kind>,
}

/// What is different in a newer version. A fact that stands in both lists as often did not change.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Delta {
    pub(super) gone: Vec<FactId>,
    pub(super) new: Vec<FactId>,
}

enum Step {
    /// The old mark of that index, now ending there.
    Kept(usize, usize),
    Read(Mark),
}

impl LastRead {
    /// Takes the next version. A broken one changes nothing. The buffer comes back with the version before.
    pub(super) fn update(
        &mut self,
        text: &mut Vec<u8>,
        facts: &mut Facts,
    ) -> Result<Delta, Broken> {
        let steps = self.steps(text, facts)?;
        if steps.is_empty() {
            return Err(Broken {
                at: 0,
                why: "no section at all",
            });
        }
        let mut delta = Delta::default();
        let mut old: Vec<Option<Mark>> = std::mem::take(&mut self.marks)
            .into_iter()
            .map(Some)
            .collect();
        for step in steps {
            match step {
                Step::Kept(index, end) => {
                    self.marks
                        .extend(old[index].take().map(|mark| Mark { end, ..mark }));
                }
                Step::Read(mark) => {
                    delta.new.extend(&mark.facts);
                    self.marks.push(mark);
                }
            }
        }
        for mark in old.into_iter().flatten() {
            delta.gone.extend(mark.facts);
        }
        std::mem::swap(&mut self.text, text);
        let openings = self.marks.iter().filter(|mark| mark.opening);
        self.managed = openings.map(|mark| mark.kind).collect();
        Ok(delta)
    }

    /// Returns whether the version has a section of that kind.
    pub(super) fn manages(&self, kind: Kind) -> bool {
        self.managed.contains(&kind)
    }

    fn steps(&self, text: &[u8], facts: &mut Facts) -> Result<Vec<Step>, Broken> {
        let mut scanner = Scanner::new(text);
        let mut steps = Vec::with_capacity(self.marks.len() + 8);
        let mut next = 0;
        loop {
            while let Some(mark) = self.marks.get(next) {
                let before = next.checked_sub(1).map(|before| &self.marks[before]);
                let from = before.map_or(0, |mark| mark.end);
                let bytes = &self.text[from..mark.end];
                if scanner.place != Place::behind(before) || !text[scanner.at..].starts_with(bytes)
                {
                    break;
                }
                scanner.at += bytes.len();
                scanner.place = Place::behind(Some(mark));
                steps.push(Step::Kept(next, scanner.at));
                next += 1;
            }
            let Some(mark) = scanner.next_mark(facts)? else {
                return Ok(steps);
            };
            let same = |old: &Mark| {
                old.kind == mark.kind
                    && old.opening == mark.opening
                    && old.facts.first() == mark.facts.first()
            };
            // where the entry was before, the old ones up to it are read or gone; a new one has no place there
            if let Some(skipped) = self.marks[next..].iter().position(same) {
                next += skipped + 1;
            }
            steps.push(Step::Read(mark));
        }
    }
}
