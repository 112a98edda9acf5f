//! Why a line counts for nothing.

use super::matter::Matter;
use super::{Origin, Said, SaidIn, Statements, Void};
use crate::plan::Ours;

impl Statements {
    /// Returns why a line agreed to nothing; `None` where it may have agreed to what is done. `open` is what nobody agreed to.
    pub(super) fn why_void(
        &self,
        said: &Said,
        ours: &Ours,
        open: &[(Option<&Origin>, &Matter)],
    ) -> Option<Void> {
        match (&said.void, &said.line.digest) {
            (Some(void), _) => return Some(void.clone()),
            (None, None) => return Some(Void::NoDigest),
            (None, Some(_)) => {}
        }
        let open = open.iter();
        let mut open = open.filter(|(cause, matter)| self.counts(said, *cause, matter, ours));
        let since = |(_, matter): &(_, &Matter)| {
            let since = matter.enrolled_since(&said.line, &self.environment)?;
            Some(Void::Enrolled(since))
        };
        // a message of an earlier commit may have agreed to what is done
        let is_meant = |(cause, _): &&(Option<&Origin>, &Matter)| match said.place {
            SaidIn::Run => false,
            SaidIn::Description(number) => *cause == Some(&Origin::Pull(number)),
            SaidIn::Message(at) => {
                at >= self.first_for_unknown
                    || cause.is_some_and(|origin| self.first_of(origin) == at)
            }
        };
        let other = open.clone().find(is_meant);
        let other = other.map(|(cause, _)| Void::Other(cause.cloned()));
        let none = (said.place == SaidIn::Run).then_some(Void::NotOfThePlan);
        open.find_map(since).or(other).or(none)
    }
}
