//! Marks setup keys as enrolled in the file on a branch: by one commit, or by way of a pull request where the bot may not push
//! to the branch (`--via-pr`).
//!
//! There is one branch of the bot's per environment and one open pull request for it at most. The branch is made off the
//! tip; a commit for further keys goes onto it. Where it is of no use any more (merged and left behind, or the file
//! changed meanwhile in more than flags, so that a merge might conflict) it is made again. Where somebody else did what
//! the pull request is for, it is closed. A run that finds everything as it should be writes nothing.

use std::collections::BTreeSet;

use super::commit::{BranchFile, Commit, CommitError, CommitOutcome, Patience, Revision};
use super::{
    FileWrite, ForgeFile, GiteaError, IssueEdit, NewCommit, Pull, Repo, commit_message,
    unless_absent,
};
use crate::base::files::MAX_BYTES;
use crate::base::text::short_commit;
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

    fn pull(by: MarkedBy, pull: Pull, what: &str, edit: &Edit) -> Marked {
        Marked {
            by,
            text: format!("pull request #{} {what}: {}", pull.number, pull.html_url),
            place: Some(pull.html_url),
            edit: edit.clone(),
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

/// Marks setup keys as enrolled in the file on a branch, as one commit. The file is never made.
pub fn commit(
    repo: &Repo,
    at: BranchFile<'_>,
    environment: &str,
    names: &BTreeSet<String>,
    patience: Patience<'_>,
) -> Result<Marked, CommitError> {
    let mut last = None;
    let mut edit = |text: Option<&[u8]>| {
        let edit = edit::mark_enrolled(at.path, text.unwrap_or_default(), names)?;
        let revision = revision(environment, &edit);
        last = Some(edit);
        Ok(revision)
    };
    let write = Commit {
        repo,
        at,
        edit: &mut edit,
        new: Vec::new(),
        makes: false,
        max: MAX_BYTES as u64,
        patience,
        way_out: "use --via-pr",
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
        text: format!("committed{short} to {}", at.branch),
        place: sha,
        edit,
    })
}

/// Returns the commit that an edit asks for, `None` where nothing was flipped.
fn revision(environment: &str, edit: &Edit) -> Option<Revision> {
    (!edit.flipped.is_empty()).then(|| Revision {
        bytes: edit.text.clone(),
        message: commit_message(environment, &edit.flipped),
    })
}

/// Proposes to mark setup keys as enrolled in the file on a branch. Without names, what is proposed already is looked after.
pub fn propose(
    repo: &Repo,
    at: BranchFile<'_>,
    environment: &str,
    names: &BTreeSet<String>,
    patience: Patience<'_>,
) -> Result<Marked, CommitError> {
    let proposal = Proposal {
        repo,
        at,
        environment,
        head: branch_name(environment),
        names,
        patience,
    };
    let mut rounds = 0;
    loop {
        rounds += 1;
        let file = repo.file(at.branch, at.path, MAX_BYTES as u64);
        let file = file.map_err(|error| repo.what_is_missing(error, at.branch, at.path))?;
        match proposal.once(&file) {
            // Another run made, moved or removed the branch or the pull request: look again.
            Err(CommitError::Gitea(error)) if error.may_be_a_race() || error.is_not_found() => {
                if rounds >= patience.rounds {
                    let hint = error.hint();
                    return Err(CommitError::Refused {
                        error,
                        rounds,
                        hint,
                    });
                }
                log::info!("not proposed yet: {error}");
                (patience.sleep)(patience.first_wait * rounds);
            }
            proposed => return proposed,
        }
    }
}

struct Proposal<'a> {
    repo: &'a Repo,
    at: BranchFile<'a>,
    environment: &'a str,
    head: String,
    names: &'a BTreeSet<String>,
    patience: Patience<'a>,
}

impl Proposal<'_> {
    fn edit(&self, file: &ForgeFile, names: &BTreeSet<String>) -> Result<Edit, CommitError> {
        let edit = edit::mark_enrolled(self.at.path, &file.bytes, names);
        edit.map_err(|error| CommitError::Edit(error.into()))
    }

    fn once(&self, file: &ForgeFile) -> Result<Marked, CommitError> {
        let edit = self.edit(file, self.names)?;
        let pull = self.repo.open_pull(self.at.branch, &self.head)?;
        if pull.is_none() && edit.flipped.is_empty() {
            return Ok(Marked::nothing(edit));
        }
        let ours = self.repo.file(&self.head, self.at.path, MAX_BYTES as u64);
        let ours = unless_absent(ours)?;
        let mut names = self.names.clone();
        // a branch that was left behind proposes nothing any more
        if let (Some(ours), Some(_)) = (&ours, &pull) {
            // a text that cannot be read has no say, and is replaced
            names.extend(edit::marked_since(&file.bytes, &ours.bytes));
        }
        let Some(wanted) = revision(self.environment, &self.edit(file, &names)?) else {
            let Some(pull) = pull else {
                return Ok(Marked::nothing(edit));
            };
            self.discard(Some(&pull))?;
            let what = format!("closed, since {} has all of it", self.at.branch);
            return Ok(Marked::pull(MarkedBy::Others, pull, &what, &edit));
        };
        let leads_to = |ours: &ForgeFile| {
            let edit = self.edit(ours, &names);
            edit.is_ok_and(|edit| edit.text == wanted.bytes)
        };
        let (pull, is_new) = match ours {
            Some(ours) if ours.bytes == wanted.bytes => (pull, false),
            Some(ours) if leads_to(&ours) => {
                let onto = BranchFile {
                    branch: &self.head,
                    ..self.at
                };
                commit(self.repo, onto, self.environment, &names, self.patience)?;
                (pull, true)
            }
            ours => {
                let pull = match ours {
                    Some(_) => self.discard(pull.as_ref()).map(|()| None)?,
                    None => pull,
                };
                self.branch_off(file, &wanted)?;
                (pull, true)
            }
        };
        let (pull, by, what) = self.open_or_update(pull, is_new, &wanted)?;
        Ok(Marked::pull(by, pull, what, &edit))
    }

    /// Closes the pull request first: whether the server does so by itself when its branch goes is nowhere stated.
    fn discard(&self, pull: Option<&Pull>) -> Result<(), GiteaError> {
        pull.map(|pull| self.close(pull)).transpose()?;
        log::info!("creating the branch {} again", self.head);
        unless_absent(self.repo.delete_branch(&self.head)).map(drop)
    }

    fn branch_off(&self, file: &ForgeFile, wanted: &Revision) -> Result<(), GiteaError> {
        let write = FileWrite {
            path: self.at.path,
            bytes: &wanted.bytes,
            replaces: Some(&file.sha),
        };
        let commit = NewCommit {
            branch: self.at.branch,
            new_branch: Some(&self.head),
            message: &wanted.message,
            date: (self.patience.now)(),
        };
        self.repo.put_file(&write, &commit).map(drop)
    }

    /// Returns the open pull request with this text, and what was done. `is_new`: its branch was changed.
    fn open_or_update(
        &self,
        pull: Option<Pull>,
        is_new: bool,
        wanted: &Revision,
    ) -> Result<(Pull, MarkedBy, &'static str), CommitError> {
        let (title, rest) = wanted
            .message
            .split_once('\n')
            .unwrap_or((&wanted.message, ""));
        let body = format!(
            "{}\n\nThese keys were used to enroll a peer. Merging this records it in `{}`; until then every run of \
             `sync-events` looks at this pull request again. The branch is the bot's: it can be created again at any time.\n",
            rest.trim(),
            self.at.path.replace('`', "'")
        );
        let body = body.trim_start();
        let (pull, opened, is_new) = match pull {
            None => {
                let (pull, opened) = self.open(title, body)?;
                (pull, opened, is_new || opened)
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
                (pull, false, is_new || !is_same)
            }
        };
        Ok(match (opened, is_new) {
            (true, _) => (pull, MarkedBy::Pull, "opened"),
            (_, true) => (pull, MarkedBy::Pull, "updated"),
            (_, false) => (pull, MarkedBy::OpenPull, "waits to be merged"),
        })
    }

    /// Opens a pull request, and gives way to one that came up meanwhile: of three runs at once a real Gitea 1.26.3 let two
    /// open one. Returns the one that stays, and whether it is ours.
    fn open(&self, title: &str, body: &str) -> Result<(Pull, bool), GiteaError> {
        let base = self.at.branch;
        let new = self.repo.create_pull(&self.head, base, title, body)?;
        // It stands. That this could not be checked is no reason to say otherwise.
        let pulls = self.repo.open_pulls(base, &self.head).unwrap_or_default();
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

    fn close(&self, pull: &Pull) -> Result<(), GiteaError> {
        let close = IssueEdit {
            state: Some("closed"),
            ..IssueEdit::default()
        };
        self.repo.edit_pull(pull.number, close)
    }
}
