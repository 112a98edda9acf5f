//! The gate of the plan that somebody looked at (`--expect-digest`).

use std::collections::BTreeSet;

use super::Refusal;
use crate::plan::{Plan, Unlike};

/// Refuses a plan that is not the one of that digest. With nothing to do there is nothing that nobody looked at: an apply that
/// is run again ends well.
pub(super) fn reviewed(plan: &Plan, expected: &str) -> Option<Refusal> {
    let unlike = plan.unlike(expected).filter(|_| !plan.is_empty())?;
    let digest = plan.digest();
    let why = match unlike {
        Unlike::Operations => "it does something else",
        Unlike::Live => "it does the same, but what it changes was changed in NetBird meanwhile",
    };
    Some(Refusal {
        gate: "reviewed",
        text: format!(
            "this is not the plan that was looked at: {why} (digest {digest}, not {expected})"
        ),
        names: Vec::new(),
        rows: BTreeSet::new(),
        hint: format!(
            "look at the plan again; if it is meant as it is now, run apply with --expect-digest {digest}"
        ),
    })
}
