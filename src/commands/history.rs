//! What git says to a run: the merge that a pull request is about, and what each commit since the last apply made of the
//! file.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;

use super::{Failure, Result};
use crate::check::edit::content_differs_but_for_enrolled;
use crate::check::validate::validate;
use crate::file::{Source, SourceFault};
use crate::forge::ci::Context;
use crate::git::versions::{VersionReader, Versions};
use crate::git::{Git, GitError, MergeView, MergedFile, Opened, RepoPath, Sha};
use crate::model::{Cut, Desired, Notice, OfInventory, OfMerge};
use crate::plan::drift::Version;

/// The most commits since the last apply that are looked at.
const MOST: usize = 10_000;

/// The most bytes of versions that a run reads in all: it keeps what each asks for.
const MOST_BYTES: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// What the checkout says.
#[derive(Default)]
pub(super) struct History {
    checkout: Option<Arc<(Git, RepoPath)>>,
    tip: Option<Sha>,
    /// The file that a merge would leave, in a pull request.
    pub(super) merged: Option<Source>,
    /// The files of recipients that it would leave.
    pub(super) recipients: BTreeMap<PathBuf, Vec<u8>>,
    /// Of files of recipients those to which links of the base branch lead elsewhere, or nowhere.
    relinked: BTreeSet<PathBuf>,
    /// How many bytes of versions were read.
    read: Arc<AtomicUsize>,
    /// What a reader of the plan should know of the merge.
    pub(super) notices: Vec<Notice>,
}

/// How far an apply is that comes to its end.
pub(super) struct Through {
    /// The commit that is applied then.
    pub(super) commit: String,
    /// Whether it has another file than the commit that was applied before.
    pub(super) is_other_file: bool,
    /// Whether that file differs in more than `enrolled`.
    pub(super) changes_more: bool,
}

impl History {
    /// Reads what the checkout of the file says, and of the files of recipients (`-R`) in it.
    pub(super) fn read(file: &Path, recipients: &[PathBuf], context: &Context) -> Result<History> {
        let mut history = History::default();
        let Opened::Checkout(git) = Git::around(file)? else {
            return Ok(history);
        };
        let path = git.locate(file)?;
        let merge = ends(&git, context)?.map(|(base, head)| git.merge_view(&base, &head, &path));
        let merge = merge.transpose()?;
        // there the checkout is the base's: its file is not the one that was proposed
        let is_pull = context.pull_request.is_some();
        let needs_merge = is_pull && context.event == "pull_request_target";
        if merge.is_none() && needs_merge {
            return Err(unknown_head(context));
        }
        let Some(merge) = merge else {
            history.tip = git.head()?;
            if is_pull {
                history.notices.push(Notice::general(OfMerge::NoBase));
            }
            if let Some(tip) = &history.tip {
                is_in_place(&git, tip, &path)?;
            }
            history.checkout = Some(Arc::new((git, path)));
            return Ok(history);
        };
        history.tip = Some(merge.base.clone());
        let notices = merge.notices().into_iter();
        history.notices.extend(notices.map(Notice::general));
        let named = recipients.iter().map(PathBuf::as_path);
        for file in named.chain([file]) {
            if git.leads_elsewhere(&merge.base, &merge.head, file)? {
                if needs_merge {
                    return Err(relinked(file));
                }
                history.relinked.insert(file.to_owned());
            }
        }
        for file in recipients {
            let Some(path) = tracked(&git, file, &merge)? else {
                continue;
            };
            let merge = git.merge_view(&merge.base, &merge.head, &path)?;
            if let Some(text) = left(merge, file, needs_merge)? {
                history.recipients.insert(file.clone(), text);
            }
        }
        if let Some(text) = left(merge, file, needs_merge)? {
            let source = Source::from_bytes(file.display().to_string(), text)?;
            history.merged = Some(source);
        }
        history.checkout = Some(Arc::new((git, path)));
        Ok(history)
    }

    /// The checkout and the file's path in it.
    pub(super) fn checkout(&self) -> Option<&(Git, RepoPath)> {
        self.checkout.as_deref()
    }

    /// The checkout, the file's path in it, and the newest commit, where there are all three.
    fn at(&self) -> Option<(&Git, &RepoPath, &Sha)> {
        let (git, path) = self.checkout()?;
        Some((git, path, self.tip.as_ref()?))
    }

    /// The newest commit; of a pull request that of its base.
    pub(super) fn tip(&self) -> Option<&Sha> {
        self.tip.as_ref()
    }

    /// Whether a file is another one than that of the newest commit. False where git does not tell.
    pub(super) fn is_other(&self, file: &Source) -> bool {
        let committed = self.at().map(|(git, path, tip)| git.show(tip, path));
        matches!(committed, Some(Ok(text)) if text.as_deref() != Some(file.text().as_bytes()))
    }

    /// Returns what the commits since `applied` made of the file, which had the path `before` then. Where nothing was applied yet,
    /// or the checkout does not have them all, there are none: all that leaves the file is one change.
    pub(super) fn versions(&self, applied: Option<&str>, before: &str) -> Result<Versions> {
        let Some(applied) = applied.and_then(Sha::parse) else {
            return Ok(Versions::default());
        };
        let (Some(checkout), Some((git, path, tip))) = (&self.checkout, self.at()) else {
            return Ok(Versions::default());
        };
        // git refuses to compare with a commit that the checkout lacks
        let is_there = applied == *tip || git.is_ancestor(&applied, tip).unwrap_or(false);
        if !is_there {
            return Ok(Versions::cut());
        }
        let before = RepoPath::parse(before).filter(|before| before != path);
        let paths: Vec<&RepoPath> = iter::once(path).chain(&before).collect();
        let changes = match applied == *tip {
            true => Vec::new(),
            false => git.changes(Some(&applied), tip, &paths, MOST)?,
        };
        // of a date that is none nobody is known to have come before
        let time = |at| Timestamp::from_second(at).unwrap_or(Timestamp::MIN);
        let since = changes.into_iter().rev();
        let since = since.map(|(commit, at)| (commit, time(at))).collect();
        let (git, read) = (checkout.clone(), self.read.clone());
        let reader = InCheckout { git, before, read };
        Ok(Versions::new(applied, since, Box::new(reader)))
    }

    /// Returns what a reader of a plan that takes something away should know, where `applied` or a later version is missing.
    pub(super) fn too_short(&self, applied: Option<&str>) -> Option<Notice> {
        let applied = applied.and_then(Sha::parse)?;
        let why = match self.checkout()?.0.is_shallow() {
            true => Cut::Shallow,
            false if self.read.load(Ordering::Relaxed) > MOST_BYTES => Cut::TooLarge,
            false => Cut::Missing,
        };
        let applied = applied.short().to_owned();
        Some(Notice::general(OfInventory::TooShort { applied, why }))
    }

    /// Returns how far an apply of this file is, once it is through; none where what counts as applied stays. `is_newer` asks
    /// a forge about two commits of which the checkout does not tell which one is the newer.
    pub(super) fn through(
        &self,
        file: &[u8],
        applied: Option<&str>,
        is_newer: impl FnOnce(&Sha, &Sha) -> Result<bool>,
    ) -> Result<Option<Through>> {
        let Some((git, path, tip)) = self.at() else {
            return Ok(None);
        };
        // a file that is in no commit yet is none that counts as applied
        if git.show(tip, path)?.as_deref() != Some(file) {
            return Ok(None);
        }
        let through = |other: Option<Vec<u8>>| Through {
            commit: tip.to_string(),
            is_other_file: other.as_ref().is_none_or(|other| other != file),
            changes_more: other.is_none_or(|other| content_differs_but_for_enrolled(&other, file)),
        };
        let Some(applied) = applied.and_then(Sha::parse) else {
            return Ok(Some(through(None)));
        };
        // git refuses to compare with a commit that the checkout lacks
        let before = (applied != *tip).then(|| git.is_ancestor(&applied, tip).ok());
        let is_new = match before {
            None => false,
            Some(Some(true)) => true,
            Some(Some(false)) if git.is_ancestor(tip, &applied)? => false,
            // the branch was pushed by force
            Some(Some(false)) if !git.is_shallow() => true,
            Some(_) => is_newer(&applied, tip)?,
        };
        if !is_new {
            return Ok(None);
        }
        let is_known = before.flatten().is_some();
        let other = is_known.then(|| git.show(&applied, path)).transpose()?;
        Ok(Some(through(other.flatten())))
    }

    /// Returns the newest versions of the file that are valid, `most` at most, the newest first.
    pub(super) fn newest(&self, most: usize) -> Result<Vec<Version>> {
        let Some((git, path, tip)) = self.at() else {
            return Ok(Vec::new());
        };
        let mut versions = Vec::new();
        for (commit, at) in git.changes(None, tip, &[path], most)? {
            let file = git.version(&commit, &[path])?.and_then(desired);
            if let (Some(desired), Ok(at)) = (file, Timestamp::from_second(at)) {
                let commit = commit.short().to_owned();
                versions.push(Version {
                    commit,
                    at,
                    desired,
                });
            }
        }
        Ok(versions)
    }

    /// A file of recipients as the base branch (without a pull request: the newest commit) has it.
    pub(super) fn base_recipients(&self, file: &Path) -> Option<Vec<u8>> {
        let is_same = !self.relinked.contains(file);
        is_same.then(|| self.base_version(&real(file)))?
    }

    fn base_version(&self, file: &Path) -> Option<Vec<u8>> {
        let (git, _, tip) = self.at()?;
        git.show(tip, &git.locate(file).ok()?).ok()?
    }

    /// What the base branch (without a pull request: the newest commit) asks for; `None` where it has no valid file.
    pub(super) fn base(&self, file: &Path) -> Option<Arc<Desired>> {
        desired(self.base_version(file)?)
    }

    /// The file as the newest commit has it; `None` where there is no commit.
    pub(super) fn committed(&self, file: &Path) -> Result<Option<Source>> {
        let Some((git, path, tip)) = self.at() else {
            return Ok(None);
        };
        let name = file.display().to_string();
        let hint =
            "drift compares NetBird with the committed file: commit it, or name it with --file";
        match git.show(tip, path)? {
            Some(text) => Ok(Some(Source::from_bytes(name, text)?)),
            None => Err(Failure::error(format!("the newest commit has no {name}")).hint(hint)),
        }
    }
}

/// What a text asks for; `None` where no command would accept it.
fn desired(text: Vec<u8>) -> Option<Arc<Desired>> {
    // whether the file may have comments by its name today decides nothing about an older version
    let source = Source::from_bytes("a version.jsonc", text).ok()?;
    Some(validate(&source).ok()?.desired)
}

/// The file in the checkout: its path, and the one that it had when it was applied.
#[derive(Debug)]
struct InCheckout {
    git: Arc<(Git, RepoPath)>,
    before: Option<RepoPath>,
    read: Arc<AtomicUsize>,
}

impl VersionReader for InCheckout {
    fn read(&self, commit: &Sha) -> Option<Option<Arc<Desired>>> {
        let (git, path) = &*self.git;
        // the present path goes before the one that the file was moved from
        let paths: Vec<&RepoPath> = iter::once(path).chain(&self.before).collect();
        // a clone that leaves blobs out
        let text = git.version(commit, &paths).inspect_err(|error| {
            log::info!("which change takes something away is not known: {error}");
        });
        let text = text.ok()?;
        let bytes = text.as_ref().map_or(0, Vec::len);
        let is_much = self.read.fetch_add(bytes, Ordering::Relaxed) + bytes > MOST_BYTES;
        (!is_much).then(|| text.and_then(desired))
    }
}

/// The checkout is the base's: what is behind the link of the head is not looked for.
fn relinked(file: &Path) -> Failure {
    let text = format!(
        "the pull request makes {} a link to another file, or changes a link or a submodule on its path",
        file.display()
    );
    Failure::error(text).hint("replace the link by the file itself")
}

fn unknown_head(context: &Context) -> Failure {
    let pull = context.pull_request.as_ref();
    let number = pull.map(|pull| pull.number).unwrap_or_default();
    let text = "are not in this checkout, so no plan can be made of it";
    let hint = format!("fetch them before: git fetch origin +refs/pull/{number}/head");
    Failure::error(format!("the commits of pull request #{number} {text}")).hint(hint)
}

/// Whether a pull request's job is about the file, or one of recipients, at all: its branch has another one than the commit
/// where it began. True where that cannot be told.
pub(super) fn is_touched(file: &Path, recipients: &[PathBuf], context: &Context) -> Result<bool> {
    let Opened::Checkout(git) = Git::around(file)? else {
        return Ok(true);
    };
    let Some((base, head)) = ends(&git, context)? else {
        return Ok(true);
    };
    let Some(start) = git.merge_base(&base, &head)? else {
        return Ok(true);
    };
    for file in recipients.iter().map(PathBuf::as_path).chain([file]) {
        if git.leads_elsewhere(&start, &head, file)? {
            return Ok(true);
        }
    }
    let recipients = recipients.iter().filter_map(|file| located(&git, file));
    for path in std::iter::once(git.locate(file)?).chain(recipients) {
        if git.entry(&start, &path)? != git.entry(&head, &path)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks that what a commit has at a path is the file itself: behind a link or a pointer of Git LFS no commit shows what
/// changed, and deletions would have no cause.
fn is_in_place(git: &Git, commit: &Sha, path: &RepoPath) -> Result<()> {
    git.has_no_other(commit, path)?;
    // what cannot be read for another reason is said where it is needed
    let text = git.show(commit, path).ok().flatten();
    let name = format!("{path} in commit {}", commit.short());
    match text.map(|text| Source::from_bytes(name, text)) {
        Some(Err(error)) if matches!(error.fault, SourceFault::Pointer) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Checks the same of the commit that is checked out around a file, where there is one.
pub(super) fn committed_in_place(file: &Path) -> Result<()> {
    if let Opened::Checkout(git) = Git::around(file)?
        && let Some(head) = git.head()?
    {
        is_in_place(&git, &head, &git.locate(file)?)?;
    }
    Ok(())
}

/// Returns the path of a file of recipients in the checkout; none of one that is elsewhere.
fn located(git: &Git, file: &Path) -> Option<RepoPath> {
    git.locate(&real(file)).ok()
}

/// The file that a link leads to.
fn real(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// The same, if a side of the merge has it: another one is made by the job itself.
fn tracked(git: &Git, file: &Path, merge: &MergeView) -> Result<Option<RepoPath>, GitError> {
    let Some(path) = located(git, file) else {
        return Ok(None);
    };
    let is_there =
        git.entry(&merge.base, &path)?.is_some() || git.entry(&merge.head, &path)?.is_some();
    Ok(is_there.then_some(path))
}

/// Returns what a merge would leave of a file; none where that is not told, and nothing `needs` it.
fn left(merge: MergeView, file: &Path, needs: bool) -> Result<Option<Vec<u8>>> {
    let file = file.display();
    match merge.file {
        MergedFile::File(text) => Ok(Some(text)),
        MergedFile::Absent => {
            let text = format!("the result of the merge does not have {file}");
            Err(Failure::error(text))
        }
        MergedFile::Conflict => {
            let failure = Failure::error(format!("{file} conflicts with the base branch"));
            Err(failure
                .hint("merge the base branch into this one, or rebase; then a plan can be made"))
        }
        MergedFile::Untold(why) if needs => Err(Failure::error(Notice::general(why).words())),
        MergedFile::Untold(_) => Ok(None),
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
    let mut candidates = tip.iter().chain(&pull.base_sha);
    let base = candidates.find_map(|rev| git.resolve(rev).ok());
    let head = match &pull.head_sha {
        Some(sha) => git.resolve(sha).ok(),
        None => git.head()?,
    };
    Ok(base.zip(head))
}
