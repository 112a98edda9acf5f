//! The gate of the plan that somebody looked at (`--expect-digest`).

use super::{Context, Refusal};
use crate::plan::{Plan, Unlike};

/// Refuses a plan that is not the one of that digest. With nothing to do there is nothing that nobody looked at: an apply that
/// is run again ends well.
pub(super) fn reviewed(plan: &Plan, context: &Context) -> Option<Refusal> {
    let expected = context.expected.as_deref()?;
    let unlike = plan.unlike(expected).filter(|_| !plan.is_done())?;
    let digest = plan.digest();
    let why = match unlike {
        Unlike::Operations => "it does something else",
        Unlike::Live => "it does the same, but what it changes was changed in NetBird meanwhile",
    };
    let text = format!("this is not the plan that was looked at: {why}");
    let hint = format!(
        "look at the plan again; if it is meant as it is now, run apply with --expect-digest {digest}"
    );
    Some(Refusal::new("reviewed", text, Vec::new(), hint))
}
