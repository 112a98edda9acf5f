//! The file's git history for a run: the ledger, and in a pull request the merge that it is about.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::failure::Failure;
use crate::ci::{Context, Event};
use crate::cli;
use crate::config::Source;
use crate::desired::Desired;
use crate::git::{Git, GitError, Opened, RepoPath, Sha};
use crate::ledger::{Ledger, LedgerError, Listings, MergedFile, NoHistory, merge_view};
use crate::notice::{Notice, OfHistory, OfMerge};
use crate::options::Prune;
use crate::render::words;
use crate::validate::validate;

/// What the checkout says.
pub(super) struct History {
    checkout: Option<(Git, RepoPath)>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) listings: Listings,
    /// The file that a merge would leave, in a pull request.
    pub(super) merged: Option<Source>,
    pub(super) notices: Vec<Notice>,
    /// The newest commit of the history.
    pub(super) commit: Option<String>,
}

impl History {
    /// Reads the history of the file.
    pub(super) fn read(
        file: &Path,
        args: &cli::HistoryArgs,
        prune: Prune,
        context: &Context,
    ) -> Result<History, Failure> {
        let git = match Git::around(file)? {
            Opened::Checkout(git) => git,
            Opened::NotACheckout => return Ok(History::none(NoHistory::NotACheckout)),
            Opened::NoGit => return Ok(History::none(NoHistory::NoGit)),
        };
        let path = git.locate(file)?;
        let mut history = History::none(NoHistory::NoCommit);
        let pull_request = context
            .pull_request
            .as_ref()
            .filter(|_| args.ledger_ref.is_none());
        let merge = match pull_request {
            Some(_) => merge(&git, &path, context)?,
            None => None,
        };
        let is_unmerged = pull_request.is_some() && merge.is_none();
        // there the checkout is the base's: its file is not the one that was proposed
        let needs_merge = pull_request.is_some() && context.event == Event::PullRequestTarget;
        if is_unmerged && needs_merge {
            return Err(unknown_head(context));
        }
        let tip = match (&merge, &args.ledger_ref) {
            (Some(merge), _) => Some(merge.base.clone()),
            (None, Some(rev)) => Some(git.resolve(rev)?),
            (None, None) => git.head()?,
        };
        if let Some(tip) = tip {
            let mut paths = vec![path.clone()];
            for earlier in &args.ledger_path {
                paths.push(git.locate(earlier)?);
            }
            match Ledger::read(&git, &tip, &paths, Timestamp::now().as_second()) {
                Ok(ledger) => history.take(ledger, &tip),
                // nothing will be deleted, so nothing has to be proved
                Err(LedgerError::Shallow) if prune == Prune::None => {
                    history.notices = vec![Notice::general(OfHistory::Shallow)];
                }
                Err(error) => return Err(error.into()),
            }
        }
        if is_unmerged {
            history.notices.push(Notice::general(OfMerge::NoBase));
        }
        if let Some(merge) = merge {
            let notices = merge.notices().into_iter();
            history.notices.extend(notices.map(Notice::general));
            if let Some(why) = merge.untold().filter(|_| needs_merge) {
                return Err(Failure::error(words::merge(&why)));
            }
            history.merged = match merge.file {
                MergedFile::File(text) => {
                    Some(Source::from_bytes(file.display().to_string(), text)?)
                }
                MergedFile::Absent => {
                    return Err(Failure::error(format!(
                        "the merge would leave no {}",
                        file.display()
                    )));
                }
                MergedFile::Conflict => {
                    return Err(Failure::error(format!(
                        "{} conflicts with the base branch",
                        file.display()
                    ))
                    .hint("merge or rebase, then there is a plan of the merge"));
                }
                MergedFile::TooLittleHistory | MergedFile::OldGit(..) => None,
            };
        }
        history.checkout = Some((git, path));
        Ok(history)
    }

    fn none(why: NoHistory) -> History {
        let ledger = Ledger::none(why);
        History {
            checkout: None,
            notices: ledger.notices().to_vec(),
            listings: ledger.listings(),
            ledger: Arc::new(ledger),
            merged: None,
            commit: None,
        }
    }

    fn take(&mut self, ledger: Ledger, tip: &Sha) {
        self.notices = ledger.notices().to_vec();
        self.listings = ledger.listings();
        self.ledger = Arc::new(ledger);
        self.commit = Some(tip.short().to_owned());
    }

    /// Makes the ledger take over the file, which may be in no commit yet: its renames, and what it takes away.
    pub(super) fn follow(&mut self, desired: &Arc<Desired>) {
        if let Some(ledger) = Arc::get_mut(&mut self.ledger) {
            for (address, old) in &desired.renamed_from {
                ledger.follow(address, old);
            }
            ledger.propose(desired.clone());
            self.listings = ledger.listings();
        }
    }

    /// A file beside the file, such as one of recipients, as the base branch (without a pull request: the newest commit)
    /// has it.
    pub(super) fn base_version(&self, file: &Path) -> Option<Vec<u8>> {
        let ((git, _), tip) = (self.checkout.as_ref()?, self.ledger.tip()?);
        git.show(tip, &git.locate(file).ok()?).ok()?
    }

    /// What the base branch (without a pull request: the newest commit) asks for; `None` where it has no valid file.
    pub(super) fn base(&self, file: &Path) -> Option<Arc<Desired>> {
        let source = Source::from_bytes("the base", self.base_version(file)?).ok()?;
        Some(validate(&source).ok()?.desired)
    }

    /// The file as the newest commit has it; `None` where there is no commit.
    pub(super) fn committed(&self, file: &Path) -> Result<Option<Source>, Failure> {
        let (Some((git, path)), Some(tip)) = (&self.checkout, self.ledger.tip()) else {
            return Ok(None);
        };
        let name = file.display().to_string();
        match git.show(tip, path)? {
            Some(text) => Ok(Some(Source::from_bytes(name, text)?)),
            None => Err(Failure::error(format!("the newest commit has no {name}"))
                .hint("drift is told from the committed file: commit it, or name it with --file")),
        }
    }

    /// The checkout and the file's path in it.
    pub(super) fn checkout(&self) -> Option<&(Git, RepoPath)> {
        self.checkout.as_ref()
    }
}

fn unknown_head(context: &Context) -> Failure {
    let pull = context.pull_request.as_ref();
    let number = pull.map(|pull| pull.number).unwrap_or_default();
    Failure::error(format!(
        "the commits of pull request #{number} are not in this checkout, so there is no plan of it"
    ))
    .hint(format!(
        "fetch them before: git fetch origin +refs/pull/{number}/head"
    ))
}

/// Whether a pull request's job is about the file at all: its branch has another one than the commit where it began. True
/// where that cannot be told.
pub(super) fn is_touched(file: &Path, context: &Context) -> Result<bool, Failure> {
    let Opened::Checkout(git) = Git::around(file)? else {
        return Ok(true);
    };
    let path = git.locate(file)?;
    let Some((base, head)) = ends(&git, context)? else {
        return Ok(true);
    };
    match git.merge_base(&base, &head)? {
        Some(start) => Ok(git.entry(&start, &path)? != git.entry(&head, &path)?),
        None => Ok(true),
    }
}

/// Returns the tip of the base branch and the tip of the pull request; `None` where they are not told.
fn ends(git: &Git, context: &Context) -> Result<Option<(Sha, Sha)>, GitError> {
    let Some(pull) = &context.pull_request else {
        return Ok(None);
    };
    // the tip of now, as the checkout fetched it, before the one of the event
    let tip = pull
        .base_ref
        .as_ref()
        .map(|base| format!("refs/remotes/origin/{base}"));
    let candidates = tip.iter().chain(&pull.base_sha);
    let base = candidates.filter_map(|rev| git.resolve(rev).ok()).next();
    let head = match &pull.head_sha {
        Some(sha) => git.resolve(sha).ok(),
        None => git.head()?,
    };
    Ok(base.zip(head))
}

/// Returns the merge that a pull request stands for; `None` where its commits are not told.
fn merge(
    git: &Git,
    path: &RepoPath,
    context: &Context,
) -> Result<Option<crate::ledger::MergeView>, Failure> {
    match ends(git, context)? {
        Some((base, head)) => Ok(Some(merge_view(git, &base, &head, path)?)),
        None if context.pull_request.is_some() && git.is_shallow() => {
            Err(LedgerError::Shallow.into())
        }
        None => Ok(None),
    }
}
