//! The branch of the inventory: a file for each environment, and copies of sealed keys beside it.
//!
//! ```text
//! .netbird-gitops/ENVIRONMENT/inventory.json
//! .netbird-gitops/ENVIRONMENT/keys/NAME.KEYID.age
//! ```
//!
//! This module stores bytes. What they mean is left to whoever edits them. It says that an inventory is not there only
//! where the same token reads the repository: the server says "not found" also of what a token may not see, and an apply
//! that takes an inventory for missing begins another.

mod revise;

use super::commit::{CommitError, Outcome, Policy, Revision, in_rounds};
use super::{Error, File, NewFile, Repo, unless_absent};
use crate::wire::http;
use revise::Revise;

/// The branch, where nobody names another.
pub const BRANCH: &str = "netbird-gitops/inventory";

/// The folder of all environments.
const ROOT: &str = ".netbird-gitops";

/// The largest inventory that is read or written, in bytes. At 80 bytes an entry that is 800,000 entries.
const SIZE_MAX: u64 = 64 << 20;

/// Makes the inventory that is to replace a text. `None` in: there is no inventory yet. `None` out: nothing is to be done.
pub type Edit<'a> = dyn FnMut(Option<&[u8]>) -> anyhow::Result<Option<Revision>> + 'a;

/// The branch of a repository, and the folder of one environment in it: `.netbird-gitops/ENVIRONMENT`.
#[derive(Debug, Clone)]
pub struct Branch {
    repo: Repo,
    branch: String,
    folder: String,
}

/// The inventory as it stands on the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its text.
    pub text: Vec<u8>,
    /// The id of its git blob.
    pub sha: String,
    /// The last commit that touched it, where the server tells.
    pub commit: Option<String>,
}

impl From<File> for Stored {
    fn from(file: File) -> Stored {
        Stored {
            text: file.bytes,
            sha: file.sha,
            commit: file.last_commit,
        }
    }
}

impl Branch {
    /// Names the branch and the environment's folder, which is one segment of a path. Makes no request itself.
    pub fn new(repo: Repo, branch: &str, folder: &str) -> Self {
        Branch {
            repo,
            branch: branch.to_owned(),
            folder: folder.to_owned(),
        }
    }

    /// Returns the branch's name.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Returns the inventory's path: `.netbird-gitops/ENVIRONMENT/inventory.json`.
    pub fn path(&self) -> String {
        path_of(&self.folder)
    }

    /// Returns the folder of the copies of keys, with a slash at its end.
    fn keys(&self) -> String {
        format!("{ROOT}/{}/keys/", self.folder)
    }

    /// Reads the inventory.
    ///
    /// `None`: it is known not to be there. The branch or the path is not found, and the same token reads `probe`, a file
    /// of the default branch, or where that is not there either, the default branch itself. All else is an error.
    pub fn read(&self, probe: &str) -> Result<Option<Stored>, Error> {
        let file = self.repo.large_file(&self.branch, &self.path(), SIZE_MAX);
        let absent = match file {
            Err(error) if error.is_not_found() => error,
            file => return file.map(|file| Some(file.into())),
        };
        let reads = match self.repo.blob(None, probe) {
            Err(error) if error.is_not_found() => self.reads_repository(),
            blob => blob.map(drop),
        };
        match reads {
            Ok(()) => Ok(None),
            Err(error) if error.is_not_found() => Err(absent),
            Err(error) => Err(error),
        }
    }

    /// Sees that the token reads the default branch: what is not found then, is not there.
    fn reads_repository(&self) -> Result<(), Error> {
        let about = self.repo.about()?;
        self.repo.tip(&about.default_branch).map(drop)
    }

    /// Reads the inventories of the other environments on the branch: the names of their folders, sorted, and the texts.
    /// There are none without a branch.
    pub fn others(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let Some(tip) = unless_absent(self.repo.tip(&self.branch))? else {
            self.reads_repository()?;
            return Ok(Vec::new());
        };
        // All of one commit: a branch that is deleted meanwhile must not look like one without inventories.
        let entries = unless_absent(self.repo.entries(&tip, ROOT))?;
        let folders = entries
            .into_iter()
            .flatten()
            .filter(|entry| entry.is_folder());
        let names = folders.map(|entry| entry.name);
        let mut names: Vec<String> = names.filter(|name| *name != self.folder).collect();
        names.sort();
        let mut others = Vec::new();
        for name in names {
            let file = self.repo.large_file(&tip, &path_of(&name), SIZE_MAX);
            if let Some(file) = unless_absent(file)? {
                others.push((name, file.bytes));
            }
        }
        Ok(others)
    }

    /// Makes one commit: the inventory as `edit` makes it of the newest text, and these files of the folder `keys`, by name.
    ///
    /// `edit` is given `None` where there is no inventory yet, and asked again about each newer text. It returns `None` when
    /// a text needs no change, and must give the same for the same text. To the first line of its message `[skip ci]` is
    /// added: the branch has the workflows of the default branch. Keys are only ever created; one that is there with the
    /// same bytes counts as stored, and one with other bytes is an error. What is missing of them is stored also where the
    /// text needs no change. A missing branch is made off the default branch by the same commit.
    pub fn write(
        &self,
        edit: &mut Edit<'_>,
        keys: &[(String, Vec<u8>)],
        policy: Policy<'_>,
    ) -> Result<Outcome, CommitError> {
        let keys = keys.iter().map(|(name, bytes)| NewFile {
            path: format!("{}{name}", self.keys()),
            bytes: bytes.clone(),
        });
        let mut revise = Revise::new(self, edit, keys.collect(), policy.now);
        in_rounds(&mut revise, policy)
    }

    /// Returns what to do about a write that was not made, for a line of its own.
    pub fn hint(&self, error: &CommitError) -> Option<String> {
        let branch = &self.branch;
        match error {
            CommitError::Refused { error, .. } if error.says_name_taken() => {
                let taken = branch.split('/').next().unwrap_or_default();
                Some(format!(
                    "a branch {taken} is in the way of {branch}: rename it, or name another with --inventory-branch"
                ))
            }
            CommitError::Refused { .. } | CommitError::Gitea(Error::Forbidden(_)) => Some(format!(
                "let the token's user push to the branch {branch} (a rule for it, with that user on its push list), or name \
                 another with --inventory-branch. The automatic token of a job cannot commit on every server"
            )),
            error => error.hint(),
        }
    }

    /// Finds out whether the token's user may push to the branch, as far as that can be asked without writing. The inner
    /// error says in words why it is known that it may not.
    ///
    /// That is asked of the repository, of the branch where it is there, and of the token's scopes. A branch rule's file
    /// patterns are not known there (docs/gitea-api.md, "Branches"), nor is a rule for a branch that is to be made.
    pub fn may_write(&self) -> Result<Result<(), String>, Error> {
        let Branch { repo, branch, .. } = self;
        let (about, name) = (repo.about()?, repo.full_name());
        if about.archived {
            return Ok(Err(format!("{name} is archived")));
        }
        if about.mirror {
            return Ok(Err(format!("{name} is a mirror")));
        }
        if about.permissions.push == Some(false) {
            return Ok(Err(format!("the token's user may not push to {name}")));
        }
        let told = unless_absent(repo.branch(branch))?;
        if told.and_then(|told| told.user_can_push) == Some(false) {
            let why = format!("the rule of the branch {branch} does not let the token's user push");
            return Ok(Err(why));
        }
        // Where the server does not tell the scopes, the write will.
        let scopes = repo.scopes().ok();
        if scopes.and_then(|scopes| scopes.may_write("repository")) == Some(false) {
            return Ok(Err("the token lacks the scope write:repository".to_owned()));
        }
        Ok(Ok(()))
    }

    /// Returns the paths of the copies of keys, all that the folder `keys` has. There are none without a branch.
    ///
    /// That is one request for each thousand files of the branch.
    pub fn copies(&self) -> Result<Vec<String>, Error> {
        let paths = match self.repo.paths(&self.branch) {
            Err(error) if is_unknown_revision(&error) => {
                // Something before the server may have taken offence at the encoded slash.
                match unless_absent(self.repo.tip(&self.branch))? {
                    Some(tip) => self.repo.paths(&tip)?,
                    None => {
                        self.reads_repository()?;
                        return Ok(Vec::new());
                    }
                }
            }
            paths => paths?,
        };
        let keys = self.keys();
        let paths = paths.into_iter();
        Ok(paths.filter(|path| path.starts_with(&keys)).collect())
    }

    /// Returns the ids of the last commits that touched the inventory, the newest first, `n` at most.
    ///
    /// Errors with [`Error::Server`] when there is no branch.
    pub fn history(&self, n: usize) -> Result<Vec<String>, Error> {
        let commits = unless_absent(self.repo.commits_of(&self.branch, &self.path(), n))?;
        Ok(commits.unwrap_or_default())
    }

    /// Reads the inventory as it was at a commit; `None` where it was not there.
    pub fn read_at(&self, commit: &str) -> Result<Option<Vec<u8>>, Error> {
        let file = unless_absent(self.repo.large_file(commit, &self.path(), SIZE_MAX))?;
        Ok(file.map(|file| file.bytes))
    }
}

/// Returns the path of the inventory of an environment.
fn path_of(folder: &str) -> String {
    format!("{ROOT}/{folder}/inventory.json")
}

/// Is it how a server, or what is before it, says that it does not know the name of a tree?
fn is_unknown_revision(error: &Error) -> bool {
    match error {
        Error::NotFound(_) => true,
        Error::Refused(answer) => answer.status == 400,
        Error::Http(http::Error::NotJson { status, .. }) => matches!(status, 400 | 404),
        _ => false,
    }
}
