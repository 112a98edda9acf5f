//! The branch that a job acts for, and what becomes of a run whose file is not the branch's any more.

use super::forge::{Stale, Successor};
use super::{Failure, Forge, Result, Run};
use crate::forge::ci::Context;

/// What to do about a stale apply.
pub(super) const STALE: &str = "the run of the newer commit applies it; if yours is the newer, push it first; \
                                --any-commit applies yours all the same";

/// What to do about an apply whose file is gone: the run of the newer commit fails.
const GONE: &str =
    "put the file back, or name its new path with --file; --any-commit applies yours all the same";

/// Refuses a job of another branch than the repository's: what stands there was not reviewed. Nothing is refused where
/// there is no job or it names no ref, and where nothing tells which branch is the repository's.
pub(super) fn refuse_other_branches(command: &str, run: &Run) -> Result<()> {
    let context = &run.context;
    let Some(git_ref) = context.git_ref.as_deref().filter(|_| context.is_ci) else {
        return Ok(());
    };
    let named = run.named_branch.as_ref();
    let told = named.or(context.default_branch.as_ref());
    let branch = match told {
        Some(branch) => branch.clone(),
        None => match Forge::open(run)? {
            Some(forge) => forge.repo.about()?.default_branch,
            None => return Ok(()),
        },
    };
    if git_ref.strip_prefix("refs/heads/").unwrap_or(git_ref) == branch {
        return Ok(());
    }
    let error = format!(
        "{command} works only for the branch {branch}, and this job runs for {git_ref}; nothing was changed"
    );
    let hint = "or start the workflow there; --branch (GITEA_BRANCH) names another branch";
    Err(Failure::refused(error).hint(format!("merge into {branch}, {hint}")))
}

/// Returns the commit whose newer run takes the place of a run that found its file stale, which is no failure; or why the run must not
/// go on.
pub(super) fn overtaken(error: anyhow::Error, forge: &Forge, context: &Context) -> Result<String> {
    let Some(stale) = error.downcast_ref::<Stale>() else {
        return Err(Failure::from(error));
    };
    let refused = |text: String, hint: &str| Err(Failure::refused(text).hint(hint));
    if stale.is_gone {
        return refused(stale.to_string(), GONE);
    }
    match forge.successor(context) {
        Ok(Successor::Run(commit)) => Ok(commit),
        Ok(Successor::Nobody(commit)) => refused(
            format!("{stale}, and no run applies {commit} yet"),
            "start the workflow by hand on the branch (workflow_dispatch): it applies the newest commit",
        ),
        Ok(Successor::Unrelated) => refused(stale.to_string(), STALE),
        Err(Failure { error, .. }) => {
            log::warn!("whether a newer run applies the branch's file is not known: {error}");
            refused(stale.to_string(), STALE)
        }
    }
}
