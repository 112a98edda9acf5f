//! One commit that changes one file, and may bring new ones, made so that nobody's work is lost: not ours, not a colleague's,
//! not another run's.
//!
//! The server has no lock, and a status does not tell why it refused: a lost race is 403, 409, 422 or 500, also when
//! only another file was pushed, and a success whose answer got lost is anything (docs/gitea-api.md, "Writing a file").
//! So each round reads the branch's tip and the file, edits what it read, writes with the blob's id, and after a
//! refusal lets the next reading decide: our bytes are there, or something moved, or the refusal is real.

use std::time::Duration;

use anyhow::{anyhow, bail};
use jiff::Timestamp;

use super::{FileWrite, ForgeFile, GiteaError, NewCommit, Repo, Result, Tip, unless_absent};
use crate::wire::http::{Trouble, jittered, random};

/// A file on a branch.
#[derive(Debug, Clone, Copy)]
pub struct BranchFile<'a> {
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

/// Makes the text that is to replace one. `None` in: there is no file yet. `None` out: nothing is to be done.
pub type TextEdit<'a> = dyn FnMut(Option<&[u8]>) -> anyhow::Result<Option<Revision>> + 'a;

/// How long to go on, and how time passes.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
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

impl Default for Patience<'_> {
    /// 60 s, 5 rounds.
    fn default() -> Self {
        Patience {
            total: Duration::from_secs(60),
            rounds: 5,
            first_wait: Duration::from_millis(200),
            sleep: &std::thread::sleep,
            now: &Timestamp::now,
        }
    }
}

impl Patience<'_> {
    /// Waits after refusal `n`, counted from 0, unless `total` would be over. Returns whether there is time for more.
    fn wait(&self, n: u32, since: Timestamp) -> bool {
        let whole = self.first_wait.saturating_mul(2_u32.saturating_pow(n));
        let wait = jittered(whole.min(WAIT_MAX), random());
        let is_in_time = self.elapsed(since).saturating_add(wait) <= self.total;
        if is_in_time {
            (self.sleep)(wait);
        }
        is_in_time
    }

    fn elapsed(&self, since: Timestamp) -> Duration {
        Duration::try_from((self.now)().duration_since(since)).unwrap_or_default()
    }
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// Our commit is on the branch.
    Committed {
        /// Its id, where the server told.
        sha: Option<String>,
    },
    /// The file says already what it should. Nothing was written: the server would make an empty commit of it.
    NothingToDo,
}

/// The error of a refusal that stays, though nothing moved: a branch rule, a hook, a permission.
pub(super) fn refused(rounds: u32, error: &GiteaError, hint: Option<String>) -> anyhow::Error {
    let hint = hint.map_or(String::new(), |hint| format!("\nhint: {hint}"));
    anyhow!("the commit was refused {rounds} times with nothing else pushed: {error}{hint}")
}

/// One commit, tried until it is on its branch or the refusal is real. Each try is based on what was read just before.
pub(super) struct Commit<'a> {
    pub(super) repo: &'a Repo,
    pub(super) at: BranchFile<'a>,
    /// Asked again about each newer text; it must give the same for the same text.
    pub(super) edit: &'a mut TextEdit<'a>,
    /// Files that are only ever created: copies of sealed keys.
    pub(super) new: Vec<FileWrite>,
    /// Whether a missing file is made, and a missing branch off the default branch; each is an error otherwise.
    pub(super) makes: bool,
    /// The most bytes that are read or written.
    pub(super) max: u64,
    pub(super) patience: Patience<'a>,
    /// What else can be done where the server refuses it.
    pub(super) way_out: &'static str,
}

/// The message of a commit of copies of keys alone: it starts no workflow.
const OF_KEYS: &str = "chore: store sealed setup keys [skip ci]";

/// What a try is based on.
struct Basis {
    /// The tip of the branch, or of the one that it is made off.
    tip: Tip,
    file: Option<ForgeFile>,
    /// The default branch, where ours is not there: a commit begins with all that it has.
    base: Option<String>,
    /// The blob that a write replaces. On the default branch an inventory, of a laptop or by a merge, is none of ours, and a
    /// commit has to replace it all the same.
    blob: Option<String>,
    /// Which new files are not there; `None` where that was not looked at.
    missing: Option<Vec<FileWrite>>,
}

/// What a try sends: the text, unless it stays, and those of the new files that are missing.
struct Attempt {
    files: Vec<FileWrite>,
    message: String,
}

impl Commit<'_> {
    /// Makes the commit in rounds. Errors where the file cannot be edited; with a [`GiteaError`] where the server's answer ends it:
    /// no access, no such file or branch, archived, renamed; and where the server refuses although nothing moved, nobody knows
    /// whether the commit is there, or others were faster again and again.
    pub(super) fn make(mut self) -> anyhow::Result<CommitOutcome> {
        let patience = self.patience;
        let start = (patience.now)();
        let mut last: Option<(Basis, Attempt, GiteaError)> = None;
        let (mut unmoved, mut refusals, mut is_unclear) = (0, 0, false);
        loop {
            let in_time = last.is_none() || patience.wait(refusals - 1, start);
            let seen = match (self.read(is_unclear), &last) {
                (Ok(seen), _) => seen,
                (Err(read), Some((_, _, write))) if is_no_verdict(&read) => {
                    let hint = "run again: what is committed already is found, and not made twice";
                    bail!(
                        "the commit may have been made or not: {write}; then {read}\nhint: {hint}"
                    );
                }
                (Err(read), _) => return Err(read.into()),
            };
            if let Some((before, sent, error)) = last.take() {
                if self.has(&seen, &sent) {
                    log::info!("the commit is there although its answer was {error}");
                    let sha = seen.file.and_then(|file| file.last_commit);
                    return Ok(CommitOutcome::Committed { sha });
                }
                let is_new = before.base.is_some() != seen.base.is_some();
                let blob = |seen: &Basis| seen.file.as_ref().map(|file| file.sha.clone());
                if seen.tip.id != before.tip.id || is_new || blob(&before) != blob(&seen) {
                    unmoved = 0;
                } else if !error.says_race() {
                    unmoved += 1;
                }
                // Out of time: what is known so far has to do.
                if unmoved >= patience.rounds || (unmoved > 0 && !in_time) {
                    let hint = self.repo.why_refused(&error, self.at.branch, self.way_out);
                    return Err(refused(unmoved, &error, hint));
                }
                if !in_time {
                    let secs = patience.elapsed(start).as_secs();
                    let hint = "run again when fewer pushes go to the branch";
                    bail!("other pushes came first for {secs} s: {error}\nhint: {hint}");
                }
            }
            let Some(sent) = self.prepare(&seen)? else {
                return Ok(CommitOutcome::NothingToDo);
            };
            match self.send(&seen, &sent) {
                Ok(sha) => return Ok(CommitOutcome::Committed { sha }),
                // A "not found" is of what was deleted since it was read: the next reading tells.
                Err(error) if !error.may_be_a_race() && !error.is_not_found() => {
                    return Err(error.into());
                }
                Err(error) => {
                    log::info!("not committed yet: {error}");
                    refusals += 1;
                    is_unclear |= !error.says_race();
                    last = Some((seen, sent, error));
                }
            }
        }
    }

    /// Reads the branch's tip first, so that what comes between the readings shows as a move in the next round, and then
    /// what the write changes. `is_unclear`: a try may have arrived although it was refused, so the new files are looked for.
    fn read(&self, is_unclear: bool) -> Result<Basis> {
        let (repo, BranchFile { branch, path }) = (self.repo, self.at);
        let (tip, file, blob, base) = match self.if_there(repo.branch(branch))? {
            Some(told) => {
                let file = self.if_there(repo.file(branch, path, self.max))?;
                let blob = file.as_ref().map(|file| file.sha.clone());
                (told.commit, file, blob, None)
            }
            None => {
                let default = repo.about()?.default_branch;
                // An error where the token sees nothing: the branch is missing only where another is not.
                let tip = repo.branch(&default)?.commit;
                let blob = unless_absent(repo.blob(Some(&default), path))?;
                (tip, None, blob, Some(default))
            }
        };
        let missing = None;
        let mut seen = Basis {
            tip,
            file,
            base,
            blob,
            missing,
        };
        if is_unclear {
            seen.missing = Some(self.missing(&seen)?);
        }
        Ok(seen)
    }

    /// Returns `None` for what is not there, where a commit makes it.
    fn if_there<T>(&self, answer: Result<T>) -> Result<Option<T>> {
        let BranchFile { branch, path } = self.at;
        match answer {
            Err(error) if self.makes && error.is_not_found() => Ok(None),
            Err(error) => Err(self.repo.what_is_missing(error, branch, path)),
            found => found.map(Some),
        }
    }

    /// Returns the branch whose files a commit finds.
    fn ground<'s>(&'s self, seen: &'s Basis) -> &'s str {
        seen.base.as_deref().unwrap_or(self.at.branch)
    }

    /// Returns the new files that are not there yet. One whose path has other bytes is an error: a key is sealed once.
    fn missing(&self, seen: &Basis) -> Result<Vec<FileWrite>> {
        let mut missing = Vec::new();
        for new in &self.new {
            match unless_absent(self.repo.file(self.ground(seen), &new.path, self.max))? {
                None => missing.push(new.clone()),
                Some(found) if found.bytes == new.bytes => {}
                Some(_) => {
                    let text = format!("{} is there already, with other bytes", new.path);
                    return Err(GiteaError::content(text));
                }
            }
        }
        Ok(missing)
    }

    /// Returns what to send, `None` where there is nothing to do.
    fn prepare(&mut self, seen: &Basis) -> anyhow::Result<Option<Attempt>> {
        let before = seen.file.as_ref().map(|file| file.bytes.as_slice());
        let revision = (self.edit)(before)?;
        let message = revision.as_ref().map(|revision| revision.message.clone());
        let text = revision.map(|revision| revision.bytes);
        let text = text.filter(|bytes| before != Some(bytes));
        let mut files = match (&seen.missing, &text) {
            (Some(missing), _) => missing.clone(),
            // If one of them is there after all, the refusal leads to a look at each.
            (None, Some(_)) => self.new.clone(),
            (None, None) => self.missing(seen)?,
        };
        if let Some(bytes) = text {
            let size = bytes.len() as u64;
            if size > self.max {
                return Err(too_big(self.at.path, size, self.max).into());
            }
            let write = FileWrite {
                path: self.at.path.to_owned(),
                bytes,
                replaces: seen.blob.clone(),
            };
            files.insert(0, write);
        }
        let message = message.unwrap_or_else(|| OF_KEYS.to_owned());
        Ok((!files.is_empty()).then_some(Attempt { files, message }))
    }

    /// Sends a try, and returns the commit's id where the server tells.
    fn send(&self, seen: &Basis, sent: &Attempt) -> Result<Option<String>> {
        let commit = NewCommit {
            branch: self.ground(seen),
            new_branch: seen.base.as_ref().map(|_| self.at.branch),
            message: &sent.message,
            date: (self.patience.now)(),
        };
        self.repo.commit(&sent.files, &commit)
    }

    /// Returns whether what a try sent is there, though its answer was none.
    fn has(&self, seen: &Basis, sent: &Attempt) -> bool {
        let files = sent.files.iter();
        let (text, new): (Vec<_>, Vec<_>) = files.partition(|file| file.path == self.at.path);
        let has = |text: &&FileWrite| seen.file.as_ref().is_some_and(|it| it.bytes == text.bytes);
        // Nobody else stores our new files, so they tell whose commit it is.
        let is_ours = match (new.is_empty(), &seen.missing) {
            (true, _) => !seen.is_of_others(&sent.message),
            (false, Some(missing)) => !new.iter().any(|new| missing.contains(new)),
            (false, None) => false,
        };
        is_ours && seen.base.is_none() && text.iter().all(has)
    }
}

impl Basis {
    /// Returns whether the branch shows that somebody else wrote the text: its last commit is the tip, and has another
    /// message than ours.
    fn is_of_others(&self, message: &str) -> bool {
        let last = self.file.as_ref().and_then(|it| it.last_commit.as_deref());
        let told = self.tip.message.trim();
        last == Some(self.tip.id.as_str()) && !told.is_empty() && told != message.trim()
    }
}

/// The error of a file of more bytes than are read or written.
pub(super) fn too_big(path: &str, size: u64, max: u64) -> GiteaError {
    GiteaError::content(format!(
        "{path} has {size} bytes, and no more than {max} are read"
    ))
}

/// Does the error say nothing about the file, only that nobody could be asked?
fn is_no_verdict(error: &GiteaError) -> bool {
    use Trouble::{BadContent, BadName, Missing, NotAFile, Refused, Server};
    match error.trouble {
        Refused | Server => matches!(error.status(), Some(429 | 500..)),
        Missing { .. } | BadName | NotAFile | BadContent => false,
        _ => true,
    }
}
