//! The same commit by way of a pull request, for a branch that the bot may not push to (`--via-pr`).
//!
//! There is one branch of the bot's per environment and one open pull request for it at most. The branch is made off the
//! tip; a commit for further keys goes onto it. Where it is of no use any more (merged and left behind, or the file
//! changed meanwhile in more than flags, so that a merge might conflict) it is made anew. Where somebody else did what
//! the pull request is for, it is closed. A run that finds everything as it should be writes nothing.

use std::collections::BTreeSet;

use super::commit::{CommitError, Policy, Revision, Target, change_of, commit_edit, edit_file};
use super::{Error, File, IssueEdit, Pull, Put, Repo, unless_absent};
use crate::check::edit::{self, Edit};

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposed {
    /// A pull request with the change is open.
    Open {
        /// Its number.
        number: u64,
        /// Its page.
        url: String,
        /// What was written.
        moved: Moved,
    },
    /// The pull request was open and is closed: the file has all that it was for.
    Closed {
        /// Its number.
        number: u64,
        /// Its page.
        url: String,
    },
    /// The file says already what it should.
    NothingToDo,
}

/// What was written for an open pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// It was opened just now.
    Opened,
    /// Its branch or its text was changed.
    Updated,
    /// Nothing.
    Nothing,
}

/// Returns the bot's branch for an environment: `netbird-gitops/enrolled`, with the environment behind it unless that is
/// `default`. What a branch's name cannot have becomes a dash.
pub fn branch_name(environment: &str) -> String {
    let base = "netbird-gitops/enrolled";
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    let name: String = environment.chars().take(50).map(allowed).collect();
    match name.trim_matches('-') {
        "" | "default" => base.to_owned(),
        name => format!("{base}-{name}"),
    }
}

/// Proposes to mark setup keys as enrolled in the file on a branch. Returns the pull request and what would become of
/// each key. Without names, what is proposed already is looked after.
pub fn mark_enrolled(
    repo: &Repo,
    target: Target<'_>,
    environment: &str,
    names: &BTreeSet<String>,
    policy: Policy<'_>,
) -> Result<(Proposed, Edit), CommitError> {
    let proposal = Proposal {
        repo,
        target,
        environment,
        head: branch_name(environment),
        names,
        policy,
    };
    let mut round = 0;
    loop {
        round += 1;
        let file = repo.file(target.branch, target.path);
        let file = file.map_err(|error| repo.what_is_missing(error, target.branch, target.path))?;
        let edit = edit_file(&file, names).map_err(CommitError::Edit)?;
        match proposal.once(&file, &edit) {
            Ok(proposed) => return Ok((proposed, edit)),
            // Another run made, moved or removed the branch or the pull request: look again.
            Err(CommitError::Gitea(error)) if is_collision(&error) => {
                if round >= policy.rounds {
                    return Err(CommitError::Refused {
                        error,
                        rounds: round,
                    });
                }
                log::info!("not proposed yet: {error}");
                (policy.sleep)(policy.first_wait * round);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_collision(error: &Error) -> bool {
    error.may_be_a_race() || error.is_not_found()
}

struct Proposal<'a> {
    repo: &'a Repo,
    target: Target<'a>,
    environment: &'a str,
    head: String,
    names: &'a BTreeSet<String>,
    policy: Policy<'a>,
}

impl Proposal<'_> {
    fn once(&self, file: &File, edit: &Edit) -> Result<Proposed, CommitError> {
        let pull = self.repo.open_pull(self.target.branch, &self.head)?;
        if pull.is_none() && edit.flipped.is_empty() {
            return Ok(Proposed::NothingToDo);
        }
        let ours = unless_absent(self.repo.file(&self.head, self.target.path))?;
        let mut names = self.names.clone();
        // a branch that was left behind proposes nothing any more
        if let (Some(ours), Some(_)) = (&ours, &pull) {
            // a text that cannot be read has no say, and is replaced
            names.extend(edit::marked_since(&file.bytes, &ours.bytes));
        }
        let edit = edit_file(file, &names).map_err(CommitError::Edit)?;
        let Some(wanted) = change_of(self.environment, &edit) else {
            return Ok(match pull {
                Some(pull) => {
                    let (number, url) = (pull.number, pull.html_url.clone());
                    self.discard(Some(pull))?;
                    Proposed::Closed { number, url }
                }
                None => Proposed::NothingToDo,
            });
        };
        let leads_to =
            |ours: &File| edit_file(ours, &names).is_ok_and(|edit| edit.text == wanted.bytes);
        let (pull, moved) = match ours {
            Some(ours) if ours.bytes == wanted.bytes => (pull, Moved::Nothing),
            Some(ours) if leads_to(&ours) => {
                let onto = Target {
                    branch: &self.head,
                    path: self.target.path,
                };
                let mut more =
                    |file: &File| Ok(change_of(self.environment, &edit_file(file, &names)?));
                commit_edit(self.repo, onto, &mut more, self.policy)?;
                (pull, Moved::Updated)
            }
            Some(_) => {
                self.discard(pull)?;
                self.branch_off(file, &wanted)?;
                (None, Moved::Updated)
            }
            None => {
                self.branch_off(file, &wanted)?;
                (pull, Moved::Updated)
            }
        };
        self.open_or_update(pull, moved, &wanted)
    }

    /// Closes the pull request first: whether the server does so by itself when its branch goes is nowhere stated.
    fn discard(&self, pull: Option<Pull>) -> Result<(), Error> {
        if let Some(pull) = pull {
            self.close(&pull)?;
        }
        log::info!("creating the branch {} again", self.head);
        unless_absent(self.repo.delete_branch(&self.head)).map(drop)
    }

    fn branch_off(&self, file: &File, wanted: &Revision) -> Result<(), Error> {
        let put = Put {
            path: self.target.path,
            bytes: &wanted.bytes,
            sha: &file.sha,
            branch: self.target.branch,
            new_branch: Some(&self.head),
            message: &wanted.message,
            date: (self.policy.now)(),
        };
        self.repo.put_file(&put).map(drop)
    }

    fn open_or_update(
        &self,
        pull: Option<Pull>,
        moved: Moved,
        wanted: &Revision,
    ) -> Result<Proposed, CommitError> {
        let (title, rest) = wanted
            .message
            .split_once('\n')
            .unwrap_or((&wanted.message, ""));
        let body = format!(
            "{}\n\nThese keys were used to enroll a peer. Merging this records it in `{}`; until then every run of \
             `sync-events` comes back here. The branch is the bot's and may be made anew at any time.\n",
            rest.trim(),
            self.target.path.replace('`', "'")
        );
        let body = body.trim_start();
        if let Some(pull) = pull {
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
            return Ok(Proposed::Open {
                number: pull.number,
                url: pull.html_url,
                moved: if is_same { moved } else { Moved::Updated },
            });
        }
        let (pull, new) = self.open(title, body)?;
        Ok(Proposed::Open {
            number: pull.number,
            url: pull.html_url,
            moved: if new { Moved::Opened } else { moved },
        })
    }

    /// Opens a pull request, and gives way to one that came up meanwhile: of three runs at once a real Gitea 1.26.3 let two
    /// open one. Returns the one that stays, and whether it is ours.
    fn open(&self, title: &str, body: &str) -> Result<(Pull, bool), Error> {
        let base = self.target.branch;
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

    fn close(&self, pull: &Pull) -> Result<(), Error> {
        let close = IssueEdit {
            state: Some("closed"),
            ..IssueEdit::default()
        };
        self.repo.edit_pull(pull.number, close)
    }
}
