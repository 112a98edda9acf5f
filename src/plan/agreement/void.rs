//! Why a line counts for nothing.

use std::collections::BTreeSet;

use super::matter::Matter;
use super::{AllowDeletes, Origin, Said, SaidIn, Statements, Void};
use crate::base::id::Id;
use crate::model::change::Change;
use crate::model::notice::OfAgreement;
use crate::plan::Plan;
use crate::plan::ours::Ours;

impl Statements {
    /// Says of each line that agreed to nothing why; `open` is what nobody agreed to.
    pub(super) fn void_lines(
        &self,
        plan: &Plan,
        before: Option<&Plan>,
        ours: &Ours,
        open: &[(Option<&Origin>, &Matter)],
        matched: &BTreeSet<(&AllowDeletes, &str)>,
    ) -> Vec<OfAgreement> {
        let mut notices = Vec::new();
        for said in &self.lines {
            if matched.contains(&(&said.line, said.by.as_str())) {
                continue;
            }
            let why = match (&said.void, &said.line.digest) {
                (Some(void), _) => Some(void.clone()),
                (None, None) => Some(Void::NoDigest),
                (None, Some(_)) => self.unmatched(said, plan, ours, open),
            };
            notices.extend(why.map(|why| OfAgreement::Void {
                line: said.line.to_string(),
                by: said.by.clone(),
                why,
            }));
        }
        let plan = before.unwrap_or(plan);
        if let Some((number, by)) = &self.number
            && self.by_number(plan).is_none()
        {
            notices.push(OfAgreement::OtherNumber {
                by: by.clone(),
                number: *number,
                rows: plan.counted_rows().len(),
            });
        }
        notices
    }

    /// Returns why a line matches nothing; `None` where it may have agreed to what is done.
    fn unmatched(
        &self,
        said: &Said,
        plan: &Plan,
        ours: &Ours,
        open: &[(Option<&Origin>, &Matter)],
    ) -> Option<Void> {
        let counts =
            |(cause, matter): &&(Option<&Origin>, &Matter)| self.counts(said, *cause, matter, ours);
        let enrolled = open.iter().filter(counts).find_map(|(_, matter)| {
            let since = matter.enrolled_since(&said.line, &self.environment)?;
            let name = |id: &Id| {
                let mut going = plan.changes.iter();
                let is_it = |change: &&Change| change.deleted().is_some_and(|live| live.id == *id);
                let change = going.find(is_it);
                change.map_or_else(|| id.to_string(), |change| change.address.name.clone())
            };
            Some(Void::Enrolled(since.into_iter().map(name).collect()))
        });
        // a message of an earlier commit may have agreed to what is done
        let is_meant = |(cause, _): &&(Option<&Origin>, &Matter)| match said.place {
            SaidIn::Run => false,
            SaidIn::Description(number) => *cause == Some(&Origin::Pull(number)),
            SaidIn::Message(at) => {
                at >= self.first_for_unknown
                    || cause.is_some_and(|origin| self.first_of(origin) == at)
            }
        };
        let other = || {
            let mut open = open.iter().filter(counts);
            let (cause, _) = open.find(is_meant)?;
            Some(Void::Other(cause.cloned()))
        };
        let none = (said.place == SaidIn::Run).then_some(Void::NotOfThePlan);
        enrolled.or_else(other).or(none)
    }
}
