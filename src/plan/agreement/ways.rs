//! What to do where deletions want an agreement, in words, and the lines to copy.

use super::{Agreement, Origin};

/// Returns what is deleted once somebody agrees, and nobody did.
pub fn open(agreements: &[Agreement]) -> impl Iterator<Item = &Agreement> {
    let agreements = agreements.iter();
    agreements.filter(|agreement| agreement.is_open())
}

/// Where a line can be said besides, in a job. A workflow of pushes that change the file does not start by such a commit, and
/// a job that runs again has the old checkout.
const LATER_COMMIT: &str = "into the message of a later commit (if that one leaves the file alone, start the apply workflow by \
                            hand)";

const IF_NOT: &str = "if not, undo the change (git revert)";

/// Returns in one sentence what to do about deletions of others, in the job of a pull request that waits for them.
pub fn way_out_of_others(agreements: &[Agreement]) -> String {
    format!("to agree, copy {}", where_to(agreements, ""))
}

/// Returns in one sentence what to do where a gate refuses deletions: `number` of them are in the plan. The lines stand beside
/// it, see [`ways_out`].
pub fn way_out(agreements: &[Agreement], number: usize, in_job: bool) -> String {
    if in_job {
        let what = where_to(agreements, " and run this job again");
        return format!("if this is meant, copy {what}; {IF_NOT}");
    }
    let lines = match open(agreements).count() {
        0 | 1 => "line",
        _ => "lines",
    };
    let said: usize = open(agreements)
        .filter_map(|agreement| Some(agreement.line.as_ref()?.number))
        .sum();
    // a line also has what is gone by now, and none has the deletions of others
    let [all, of_change] = match said {
        0 => Default::default(),
        said if said == number => Default::default(),
        said => [
            " (all that this plan deletes)".to_owned(),
            format!(" ({said}: all that the change took out of the file)"),
        ],
    };
    format!(
        "if this is meant, run it again with --allow-deletes {number}{all}, or copy the {lines}{of_change} into the \
         message of a later commit; {IF_NOT}"
    )
}

/// Which lines to copy, and where to: `then` is what a description takes besides. That of a fork's pull request is no place.
fn where_to(agreements: &[Agreement], then: &str) -> String {
    let mut origins = open(agreements).filter_map(|agreement| agreement.cause.as_ref());
    let pull = origins.find(|origin| matches!(origin, Origin::Pull(_)));
    let pull = pull.filter(|_| !open(agreements).any(|agreement| agreement.is_fork));
    match (pull, open(agreements).count()) {
        (Some(pull), 1) => format!(
            "the line into the description of {}{then}, or {LATER_COMMIT}",
            pull.words()
        ),
        (Some(_), _) => format!(
            "each line into the description of its pull request{then}, or all of them {LATER_COMMIT}"
        ),
        (None, 2..) => format!("the lines {LATER_COMMIT}"),
        (None, _) => format!("the line {LATER_COMMIT}"),
    }
}

/// Returns what is to be copied where a gate refuses: a sentence, and the line.
pub fn ways_out(agreements: &[Agreement]) -> Vec<(String, String)> {
    let way = |agreement: &Agreement| {
        let whose = match (&agreement.cause, agreement.is_proposed) {
            (None, true) => "of this change".to_owned(),
            (None, false) => "that no commit since the last apply asks for".to_owned(),
            (Some(_), _) => format!("of {}", agreement.whose()),
        };
        let what = format!("to agree to the {} {whose}", agreement.what);
        Some((what, agreement.line.as_ref()?.to_string()))
    };
    open(agreements).filter_map(way).collect()
}
