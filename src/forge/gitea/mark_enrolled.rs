//! Marks setup keys as enrolled in the file on a branch: by one commit, or by way of a pull request where the bot may not push
//! to the branch (`--via-pr`).
//!
//! There is one branch of the bot's per environment and one open pull request for it at most. The branch is made off the
//! tip; a commit for further keys goes onto it. Where it is of no use any more (merged and left behind, or the file
//! changed meanwhile in more than flags, so that a merge might conflict) it is made again. Where somebody else did what
//! the pull request is for, it is closed. A run that finds everything as it should be writes nothing.

use std::collections::BTreeSet;

use super::commit::{BranchFile, Commit, CommitOutcome, Patience, Revision, refused};
use super::{
    FileWrite, ForgeFile, GiteaError, IssueEdit, NewCommit, Pull, Repo, Result, commit_message,
    unless_absent,
};
use crate::base::{MAX_BYTES, short_commit};
use crate::check::edit::{self, Edit};

/// What was done about the flags on a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkedBy {
    /// They are committed.
    Commit,
    /// A pull request was opened or changed for them.
    Pull,
    /// The pull request for them is open already, and as it should be.
    OpenPull,
    /// Somebody else did what the pull request was for, so it was closed.
    Others,
    /// The branch has them already.
    Nobody,
}

/// What became of keys that are to be marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// What was done.
    pub by: MarkedBy,
    /// In a sentence.
    pub text: String,
    /// The commit's id or the pull request's page, where there is a new one.
    pub place: Option<String>,
    /// What became of each name.
    pub edit: Edit,
}

impl Marked {
    fn nothing(edit: Edit) -> Marked {
        Marked {
            by: MarkedBy::Nobody,
            text: "the branch has it already".to_owned(),
            place: None,
            edit,
        }
    }

    fn pull(by: MarkedBy, pull: Pull, what: &str, edit: Edit) -> Marked {
        Marked {
            by,
            text: format!("pull request #{} {what}: {}", pull.number, pull.html_url),
            place: Some(pull.html_url),
            edit,
        }
    }

    /// Returns whether anything was written.
    pub fn is_new(&self) -> bool {
        !matches!(self.by, MarkedBy::OpenPull | MarkedBy::Nobody)
    }

    /// Returns whether all of it waits in a pull request that was there before.
    pub fn waits(&self) -> bool {
        self.by == MarkedBy::OpenPull
    }
}

/// Returns the bot's branch for an environment: `netbird-gitops/enrolled`, with the environment behind it unless that is
/// `default`. What a branch's name cannot have becomes a dash.
pub fn branch_name(environment: &str) -> String {
    let base = "netbird-gitops/enrolled";
    let allowed = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => c,
        _ => '-',
    };
    let name: String = environment.chars().take(50).map(allowed).collect();
    match name.trim_matches('-') {
        "" | "default" => base.to_owned(),
        name => format!("{base}-{name}"),
    }
}

/// What is to be marked.
#[derive(Clone, Copy)]
pub struct Marking<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The file, on the branch that is applied.
    pub at: BranchFile<'a>,
    /// The environment, for messages and the name of the bot's branch.
    pub environment: &'a str,
    /// The keys. Without any a proposal looks after what is proposed already.
    pub names: &'a BTreeSet<String>,
    /// How long to go on.
    pub patience: Patience<'a>,
}

/// What else can be done where a commit for a pull request is refused.
const WITHOUT_PULL: &str = "commit to the branch itself, without --via-pr";

impl Marking<'_> {
    /// Marks the keys by one commit. The file is never made.
    pub fn commit(&self) -> anyhow::Result<Marked> {
        self.commit_to(self.at.branch, self.names, "use --via-pr")
    }

    fn commit_to(
        &self,
        branch: &str,
        names: &BTreeSet<String>,
        way_out: &'static str,
    ) -> anyhow::Result<Marked> {
        let mut last = None;
        let mut edit = |text: Option<&[u8]>| {
            let edit = edit::mark_enrolled(self.at.path, text.unwrap_or_default(), names)?;
            let revision = self.revision(&edit);
            last = Some(edit);
            Ok(revision)
        };
        let write = Commit {
            repo: self.repo,
            at: BranchFile { branch, ..self.at },
            edit: &mut edit,
            new: Vec::new(),
            makes: false,
            max: MAX_BYTES as u64,
            patience: self.patience,
            way_out,
        };
        let outcome = write.make()?;
        let edit = last.expect("there is no outcome without an edit");
        let CommitOutcome::Committed { sha } = outcome else {
            return Ok(Marked::nothing(edit));
        };
        let short = sha.as_deref().map(short_commit);
        let short = short.map(|sha| format!(" as {sha}")).unwrap_or_default();
        Ok(Marked {
            by: MarkedBy::Commit,
            text: format!("committed{short} to {branch}"),
            place: sha,
            edit,
        })
    }

    /// Returns the commit that an edit asks for, `None` where nothing was flipped.
    fn revision(&self, edit: &Edit) -> Option<Revision> {
        (!edit.flipped.is_empty()).then(|| Revision {
            bytes: edit.text.clone(),
            message: commit_message(self.environment, &edit.flipped),
        })
    }

    fn edit(&self, file: &ForgeFile, names: &BTreeSet<String>) -> anyhow::Result<Edit> {
        edit::mark_enrolled(self.at.path, &file.bytes, names)
    }

    /// Proposes the marks in a pull request.
    pub fn propose(&self) -> anyhow::Result<Marked> {
        let (repo, BranchFile { branch, path }) = (self.repo, self.at);
        let head = branch_name(self.environment);
        let mut rounds = 0;
        loop {
            rounds += 1;
            let file = repo.file(branch, path, MAX_BYTES as u64);
            let file = file.map_err(|error| repo.what_is_missing(error, branch, path))?;
            match self.try_to_propose(&head, &file) {
                // Another run made, moved or removed the branch or the pull request: look again.
                Err(ref error)
                    if let Some(error) = error.downcast_ref::<GiteaError>()
                        && (error.may_be_a_race() || error.is_not_found()) =>
                {
                    if rounds >= self.patience.rounds {
                        // the branch that is applied is only read: a rule can cover the bot's
                        let hint = match error.is_of_a_commit() {
                            true => repo.why_refused(error, &head, WITHOUT_PULL),
                            false => error.hint(),
                        };
                        return Err(refused(rounds, error, hint));
                    }
                    log::info!("not proposed yet: {error}");
                    (self.patience.sleep)(self.patience.first_wait * rounds);
                }
                proposed => return proposed,
            }
        }
    }

    fn try_to_propose(&self, head: &str, file: &ForgeFile) -> anyhow::Result<Marked> {
        let edit = self.edit(file, self.names)?;
        let pull = self.repo.open_pull(self.at.branch, head)?;
        if pull.is_none() && edit.flipped.is_empty() {
            return Ok(Marked::nothing(edit));
        }
        let ours = self.repo.file(head, self.at.path, MAX_BYTES as u64);
        let ours = unless_absent(ours)?;
        let mut names = self.names.clone();
        // a branch that was left behind proposes nothing any more
        if let (Some(ours), Some(_)) = (&ours, &pull) {
            // a text that cannot be read has no say, and is replaced
            names.extend(edit::marked_since(&file.bytes, &ours.bytes));
        }
        let Some(wanted) = self.revision(&self.edit(file, &names)?) else {
            let Some(pull) = pull else {
                return Ok(Marked::nothing(edit));
            };
            self.discard(head, Some(&pull))?;
            let what = format!("closed, since {} has all of it", self.at.branch);
            return Ok(Marked::pull(MarkedBy::Others, pull, &what, edit));
        };
        let leads_to = |ours: &ForgeFile| {
            let edit = self.edit(ours, &names);
            edit.is_ok_and(|edit| edit.text == wanted.bytes)
        };
        let (pull, is_new) = match ours {
            Some(ours) if ours.bytes == wanted.bytes => (pull, false),
            Some(ours) if leads_to(&ours) => {
                self.commit_to(head, &names, WITHOUT_PULL)?;
                (pull, true)
            }
            Some(_) => {
                self.discard(head, pull.as_ref())?;
                self.branch_off(head, file, &wanted)?;
                (None, true)
            }
            None => {
                self.branch_off(head, file, &wanted)?;
                (pull, true)
            }
        };
        let (pull, by, what) = self.open_or_update(head, pull, is_new, &wanted)?;
        Ok(Marked::pull(by, pull, what, edit))
    }

    /// Closes the pull request first: whether the server does so by itself when its branch goes is nowhere stated.
    fn discard(&self, head: &str, pull: Option<&Pull>) -> Result<()> {
        pull.map(|pull| self.close(pull)).transpose()?;
        log::info!("creating the branch {head} again");
        unless_absent(self.repo.delete_branch(head)).map(drop)
    }

    fn branch_off(&self, head: &str, file: &ForgeFile, new: &Revision) -> Result<()> {
        let write = FileWrite {
            path: self.at.path.to_owned(),
            bytes: new.bytes.clone(),
            replaces: Some(file.sha.clone()),
        };
        let commit = NewCommit {
            branch: self.at.branch,
            new_branch: Some(head),
            message: &new.message,
            date: (self.patience.now)(),
        };
        self.repo.commit(&[write], &commit).map(drop)
    }

    /// Returns the open pull request with this text, and what was done. `is_new`: its branch was changed.
    fn open_or_update(
        &self,
        head: &str,
        pull: Option<Pull>,
        is_new: bool,
        wanted: &Revision,
    ) -> Result<(Pull, MarkedBy, &'static str)> {
        let message = wanted.message.as_str();
        let (title, rest) = message.split_once('\n').unwrap_or((message, ""));
        let body = format!(
            "{}\n\nThese keys were used to enroll a peer. Merging this records it in `{}`; until then every run of \
             `sync-events` looks at this pull request again. The branch is the bot's: it can be created again at any time.\n",
            rest.trim(),
            self.at.path.replace('`', "'")
        );
        let body = body.trim_start();
        let (pull, opened, is_other) = match pull {
            None => {
                let (pull, opened) = self.open(head, title, body)?;
                (pull, opened, opened)
            }
            Some(pull) => {
                // how a server keeps line ends is its own affair: every edit is a mail to somebody
                let same = |one: &str, other: &str| one.trim().lines().eq(other.trim().lines());
                let is_same = same(&pull.title, title) && same(&pull.body, body);
                if !is_same {
                    let edit = IssueEdit {
                        title: Some(title),
                        body: Some(body),
                        state: None,
                    };
                    self.repo.edit_pull(pull.number, edit)?;
                }
                (pull, false, !is_same)
            }
        };
        Ok(match (opened, is_new || is_other) {
            (true, _) => (pull, MarkedBy::Pull, "opened"),
            (_, true) => (pull, MarkedBy::Pull, "updated"),
            (_, false) => (pull, MarkedBy::OpenPull, "waits to be merged"),
        })
    }

    /// Opens a pull request, and gives way to one that came up meanwhile: of three runs at once a real Gitea 1.26.3 let two
    /// open one. Returns the one that stays, and whether it is ours.
    fn open(&self, head: &str, title: &str, body: &str) -> Result<(Pull, bool)> {
        let base = self.at.branch;
        let new = self.repo.create_pull(head, base, title, body)?;
        // It stands. That this could not be checked is no reason to say otherwise.
        let pulls = self.repo.open_pulls(base, head).unwrap_or_default();
        match pulls.into_iter().find(|pull| pull.number < new.number) {
            Some(first) => {
                if let Err(error) = self.close(&new) {
                    log::warn!("a second pull request stays open: {error}");
                }
                Ok((first, false))
            }
            None => Ok((new, true)),
        }
    }

    fn close(&self, pull: &Pull) -> Result<()> {
        self.repo.edit_pull(pull.number, IssueEdit::CLOSE)
    }
}
