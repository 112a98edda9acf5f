//! The sentences of the file's history, and of the merge of a pull request.

use crate::notice::{NoHistory, OfHistory, OfMerge};
use crate::text::count;

pub(super) fn history(of: &OfHistory) -> String {
    match of {
        OfHistory::None(why) => {
            let why = match why {
                NoHistory::NotACheckout => "the file is in no git checkout",
                NoHistory::NoGit => "git is not on PATH",
                NoHistory::NoCommit => "the checkout has no commit yet",
            };
            format!("{why}, so nothing is provably ours and nothing is deleted")
        }
        OfHistory::Shallow => {
            "the checkout is shallow: which members were listed when is not known".into()
        }
        OfHistory::NoVersion { tip, paths } => format!(
            "no commit up to {tip} has {}, so nothing is provably ours",
            paths.join(" or ")
        ),
        OfHistory::Unread {
            number,
            newest,
            why,
        } => format!(
            "{number} of the file's versions in git cannot be read (the newest is commit {newest}: {why}): they prove \
             nothing and remove nothing"
        ),
    }
}

/// Returns what is said of a merge.
pub(crate) fn merge(of: &OfMerge) -> String {
    match of {
        OfMerge::NoBase => {
            "the base branch is not in this checkout, so the plan is that of the branch and not of the merge; set \
             fetch-depth: 0 in the checkout step"
                .into()
        }
        OfMerge::TooLittleHistory => {
            "the checkout does not hold the commit that the branch started from, so nobody can tell what a merge makes of \
             the file; set fetch-depth: 0 in the checkout step"
                .into()
        }
        OfMerge::OldGit(major, minor) => format!(
            "git {major}.{minor} cannot tell what a merge makes of the file; it takes git 2.38 or later"
        ),
        OfMerge::Conflicts(paths) => format!(
            "{} conflict with the base branch, this file does not",
            paths.join(", ")
        ),
        OfMerge::Behind(number) => format!(
            "the branch is {} behind its base; the plan is that of the merge",
            count(*number, "commit", "commits")
        ),
    }
}
