//! One commit that changes one file, made so that nobody's work is lost: not ours, not a colleague's, not another run's.
//!
//! The server has no lock, and a status does not tell why it refused: a lost race is 403, 409, 422 or 500, also when
//! only another file was pushed, and a success whose answer got lost is anything (docs/gitea-api.md, "Writing a file").
//! So each round reads the branch's tip and the file, edits what it read, writes with the blob's id, and after a
//! refusal lets the next reading decide: our bytes are there, or something moved, or the refusal is real.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use super::{Error, File, Put, Repo, Tip, commit_message};
use crate::check::edit::{self, Edit};
use crate::wire::http::{jittered, random};

/// A file on a branch.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The branch's name.
    pub branch: &'a str,
    /// The file's path in the repository.
    pub path: &'a str,
}

/// What to write, made from a file as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The new content.
    pub bytes: Vec<u8>,
    /// The message of the commit.
    pub message: String,
}

/// How long to go on, and how time passes.
#[derive(Clone, Copy)]
pub struct Policy<'a> {
    /// The bound on everything while the branch moves.
    pub total: Duration,
    /// How often a write is refused, with nothing moved, until the refusal is taken for real.
    pub rounds: u32,
    /// The wait after the first refusal. It doubles each time up to [`WAIT_MAX`], and up to half of it is left out at
    /// random, so that writers that collided do not collide again.
    pub first_wait: Duration,
    /// How to wait.
    pub sleep: &'a dyn Fn(Duration),
    /// What time it is.
    pub now: &'a dyn Fn() -> Timestamp,
}

/// The longest wait between two rounds.
pub const WAIT_MAX: Duration = Duration::from_secs(5);

impl Default for Policy<'_> {
    /// 60 s, 5 rounds.
    fn default() -> Self {
        Policy {
            total: Duration::from_secs(60),
            rounds: 5,
            first_wait: Duration::from_millis(200),
            sleep: &std::thread::sleep,
            now: &Timestamp::now,
        }
    }
}

impl Policy<'_> {
    /// Waits after refusal `n`, counted from 0, unless `total` would be over. Returns whether there is time for more.
    fn wait(&self, n: u32, since: Timestamp) -> bool {
        let whole = self
            .first_wait
            .saturating_mul(2_u32.saturating_pow(n))
            .min(WAIT_MAX);
        let wait = jittered(whole, random());
        if self.elapsed(since).saturating_add(wait) > self.total {
            return false;
        }
        (self.sleep)(wait);
        true
    }

    fn elapsed(&self, since: Timestamp) -> Duration {
        Duration::try_from((self.now)().duration_since(since)).unwrap_or_default()
    }
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Our commit is on the branch.
    Committed {
        /// Its id, where the server told.
        sha: Option<String>,
    },
    /// The file says already what it should. Nothing was written: the server would make an empty commit of it.
    NothingToDo,
}

/// Why there is no commit.
#[derive(Debug)]
pub enum CommitError {
    /// The file cannot be edited.
    Edit(anyhow::Error),
    /// The server's answer ends it: no access, no such file or branch, archived, renamed.
    Gitea(Error),
    /// The server refuses although nothing moved: a branch rule, a hook, a permission.
    Refused {
        /// The last refusal.
        error: Error,
        /// How often it was tried.
        rounds: u32,
    },
    /// The write brought no clear answer, and reading afterwards brought none either: the commit may be there.
    Unsettled {
        /// What became of the write.
        write: Box<Error>,
        /// What became of the reading.
        read: Box<Error>,
    },
    /// Others were faster, again and again.
    Busy {
        /// The last refusal.
        error: Error,
        /// How long it was tried.
        waited: Duration,
    },
}

impl CommitError {
    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        match self {
            CommitError::Edit(_) => None,
            CommitError::Gitea(error) => error.hint(),
            // Forgejo says "rejected" with a 500 and no text (docs/gitea-api.md, "Writing a file").
            CommitError::Refused { error: Error::Server(_), .. } => Some(
                "a rule of the branch or a hook refuses the commit, or the token is the automatic one of a job, which \
                 cannot commit: use the bot's token, or --via-pr"
                    .to_owned(),
            ),
            CommitError::Refused { error, .. } => error.hint(),
            CommitError::Unsettled { .. } => {
                Some("run again: what is committed already is found, and not made twice".to_owned())
            }
            CommitError::Busy { .. } => Some("run again when fewer pushes go to the branch".to_owned()),
        }
    }
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommitError::Edit(error) => write!(f, "{error:#}"),
            CommitError::Gitea(error) => error.fmt(f),
            CommitError::Refused { error, rounds } => {
                write!(
                    f,
                    "the commit was refused {rounds} times with nothing else pushed: {error}"
                )
            }
            CommitError::Unsettled { write, read } => {
                write!(
                    f,
                    "the commit may have been made or not: {write}; then {read}"
                )
            }
            CommitError::Busy { error, waited } => {
                let secs = waited.as_secs();
                write!(f, "other pushes came first for {secs} s: {error}")
            }
        }
    }
}

impl std::error::Error for CommitError {}

impl From<Error> for CommitError {
    fn from(error: Error) -> CommitError {
        CommitError::Gitea(error)
    }
}

/// One commit, tried until it is on its branch or the refusal is real. Each try is based on what was read just before.
pub(super) trait Write {
    /// What is read.
    type Seen;
    /// What a try sends.
    type Sent;

    /// Reads the branch's tip first, so that what comes between the readings shows as a move in the next round, and then
    /// what the write changes.
    fn read(&self) -> Result<(String, Self::Seen), Error>;
    /// Returns what to send, `None` where there is nothing to do.
    fn prepare(&mut self, seen: &Self::Seen) -> Result<Option<Self::Sent>, CommitError>;
    /// Sends it, and returns the commit's id where the server tells.
    fn send(&self, seen: &Self::Seen, sent: &Self::Sent) -> Result<Option<String>, Error>;
    /// Returns whether what a try sent is there, though its answer was none, and the commit's id where that is known.
    fn arrived(&self, seen: &Self::Seen, sent: &Self::Sent) -> Option<Option<String>>;
    /// Returns whether what the write changes is another than it was.
    fn has_moved(&self, before: &Self::Seen, seen: &Self::Seen) -> bool;
    /// Returns whether a refusal is worth another round, in which the reading decides.
    fn may_pass(&self, error: &Error) -> bool {
        error.may_be_a_race()
    }
}

/// A try that was refused, and what it was based on.
struct Attempt<W: Write> {
    tip: String,
    seen: W::Seen,
    sent: W::Sent,
    error: Error,
}

/// Makes one commit in rounds.
pub(super) fn in_rounds<W: Write>(
    write: &mut W,
    policy: Policy<'_>,
) -> Result<Outcome, CommitError> {
    let start = (policy.now)();
    let mut last: Option<Attempt<W>> = None;
    let (mut unmoved, mut refusals) = (0, 0);
    loop {
        let in_time = last.is_none() || policy.wait(refusals - 1, start);
        let (tip, seen) = match (write.read(), last.take()) {
            (Ok(read), before) => {
                last = before;
                read
            }
            (Err(read), Some(Attempt { error: write, .. })) if is_no_verdict(&read) => {
                let (write, read) = (Box::new(write), Box::new(read));
                return Err(CommitError::Unsettled { write, read });
            }
            (Err(read), _) => return Err(CommitError::Gitea(read)),
        };
        if let Some(last) = last {
            if let Some(sha) = write.arrived(&seen, &last.sent) {
                log::info!("the commit is there although its answer was {}", last.error);
                return Ok(Outcome::Committed { sha });
            }
            if tip != last.tip || write.has_moved(&last.seen, &seen) {
                unmoved = 0;
            } else if !last.error.says_race() {
                unmoved += 1;
            }
            // Out of time: what is known so far has to do.
            if unmoved >= policy.rounds || (unmoved > 0 && !in_time) {
                return Err(CommitError::Refused {
                    error: last.error,
                    rounds: unmoved,
                });
            }
            if !in_time {
                let waited = policy.elapsed(start);
                return Err(CommitError::Busy {
                    error: last.error,
                    waited,
                });
            }
        }
        let Some(sent) = write.prepare(&seen)? else {
            return Ok(Outcome::NothingToDo);
        };
        match write.send(&seen, &sent) {
            Ok(sha) => return Ok(Outcome::Committed { sha }),
            Err(error) if !write.may_pass(&error) => return Err(CommitError::Gitea(error)),
            Err(error) => {
                log::info!("not committed yet: {error}");
                refusals += 1;
                last = Some(Attempt {
                    tip,
                    seen,
                    sent,
                    error,
                });
            }
        }
    }
}

/// The edit of one file that exists.
struct FileEdit<'a> {
    repo: &'a Repo,
    target: Target<'a>,
    edit: &'a mut dyn FnMut(&File) -> anyhow::Result<Option<Revision>>,
    now: &'a dyn Fn() -> Timestamp,
}

/// A file, and the branch's tip as it was read right before.
struct Read {
    tip: Tip,
    file: File,
}

impl Read {
    /// Returns whether the branch shows that somebody else wrote these bytes: the last commit of the file is the tip, and has
    /// another message than ours.
    fn is_of_others(&self, change: &Revision) -> bool {
        let Read { tip, file } = self;
        file.last_commit.as_ref() == Some(&tip.id)
            && !tip.message.is_empty()
            && tip.message.trim_end() != change.message.trim_end()
    }
}

impl Write for FileEdit<'_> {
    type Seen = Read;
    type Sent = Revision;

    fn read(&self) -> Result<(String, Read), Error> {
        let Target { branch, path } = self.target;
        let told = |error| self.repo.what_is_missing(error, branch, path);
        let tip = self.repo.branch(branch).map_err(told)?.commit;
        let file = self.repo.file(branch, path).map_err(told)?;
        Ok((tip.id.clone(), Read { tip, file }))
    }

    fn prepare(&mut self, seen: &Read) -> Result<Option<Revision>, CommitError> {
        let change = (self.edit)(&seen.file).map_err(CommitError::Edit)?;
        Ok(change.filter(|change| change.bytes != seen.file.bytes))
    }

    fn send(&self, seen: &Read, change: &Revision) -> Result<Option<String>, Error> {
        self.repo.put_file(&Put {
            path: self.target.path,
            bytes: &change.bytes,
            sha: &seen.file.sha,
            branch: self.target.branch,
            new_branch: None,
            message: &change.message,
            date: (self.now)(),
        })
    }

    fn arrived(&self, seen: &Read, change: &Revision) -> Option<Option<String>> {
        let is_there = seen.file.bytes == change.bytes && !seen.is_of_others(change);
        is_there.then(|| seen.file.last_commit.clone())
    }

    fn has_moved(&self, before: &Read, seen: &Read) -> bool {
        before.file.sha != seen.file.sha
    }
}

/// Makes one commit that changes a file as `edit` says, which is asked again about each newer text.
///
/// `edit` returns `None` when a text needs no change. It must give the same for the same text. The file is never made:
/// each write names the blob that was read.
pub fn commit_edit(
    repo: &Repo,
    target: Target<'_>,
    edit: &mut dyn FnMut(&File) -> anyhow::Result<Option<Revision>>,
    policy: Policy<'_>,
) -> Result<Outcome, CommitError> {
    let mut write = FileEdit {
        repo,
        target,
        edit,
        now: policy.now,
    };
    in_rounds(&mut write, policy)
}

/// Does the error say nothing about the file, only that nobody could be asked?
fn is_no_verdict(error: &Error) -> bool {
    matches!(
        error,
        Error::Server(_) | Error::Throttled(_) | Error::Http(_)
    )
}

/// Marks setup keys as enrolled in the file on a branch, as one commit. Returns what became of it and of each key.
pub fn mark_enrolled(
    repo: &Repo,
    target: Target<'_>,
    environment: &str,
    names: &BTreeSet<String>,
    policy: Policy<'_>,
) -> Result<(Outcome, Edit), CommitError> {
    let mut last = None;
    let mut edit = |file: &File| {
        let edit = edit_file(file, names)?;
        let change = change_of(environment, &edit);
        last = Some(edit);
        Ok(change)
    };
    let outcome = commit_edit(repo, target, &mut edit, policy)?;
    let edit = last.expect("there is no outcome without an edit");
    Ok((outcome, edit))
}

/// Returns the file with keys marked.
pub(super) fn edit_file(file: &File, names: &BTreeSet<String>) -> anyhow::Result<Edit> {
    Ok(edit::mark_enrolled(&file.path, &file.bytes, names)?)
}

/// Returns the commit that an edit asks for, `None` where nothing was flipped.
pub(super) fn change_of(environment: &str, edit: &Edit) -> Option<Revision> {
    (!edit.flipped.is_empty()).then(|| Revision {
        bytes: edit.text.clone(),
        message: commit_message(environment, &edit.flipped),
    })
}
