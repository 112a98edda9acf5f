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

use super::commit::{BranchFile, Commit, CommitOutcome, Patience, Revision, TextEdit};
use super::{FileWrite, ForgeFile, Repo, Result, unless_absent};

/// The branch, where nobody names another.
pub const BRANCH: &str = "netbird-gitops/inventory";

/// The folder of all environments.
const ROOT: &str = ".netbird-gitops";

/// The largest inventory that is read or written, in bytes. At 80 bytes an entry that is 800,000 entries.
const SIZE_MAX: u64 = 64 << 20;

/// How many commits are looked at for an inventory that can be read.
const LOOKS: usize = 20;

/// The branch of a repository, and the folder of one environment in it: `.netbird-gitops/ENVIRONMENT`.
#[derive(Debug, Clone)]
pub struct InventoryBranch {
    repo: Repo,
    branch: String,
    folder: String,
}

impl InventoryBranch {
    /// How long a commit is tried.
    pub fn patience(&self) -> Patience<'static> {
        self.repo.patience()
    }

    /// Names the branch and the environment's folder, which is one segment of a path. Makes no request itself.
    pub fn new(repo: Repo, branch: &str, folder: &str) -> Self {
        InventoryBranch {
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
    pub fn read(&self, probe: &str) -> Result<Option<ForgeFile>> {
        let absent = match self.repo.file(&self.branch, &self.path(), SIZE_MAX) {
            Err(error) if error.is_not_found() => error,
            file => return file.map(Some),
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

    /// Returns the newest commit whose inventory `reads`, of the last that changed it; `None` where none of these has one.
    pub fn last_that(&self, reads: impl Fn(&[u8]) -> bool) -> Result<Option<String>> {
        for commit in self
            .repo
            .commits_of(&self.branch, &self.path())?
            .into_iter()
            .take(LOOKS)
        {
            let file = unless_absent(self.repo.file(&commit, &self.path(), SIZE_MAX))?;
            if file.is_some_and(|file| reads(&file.bytes)) {
                return Ok(Some(commit));
            }
        }
        Ok(None)
    }

    /// Sees that the token reads the default branch: what is not found then, is not there.
    fn reads_repository(&self) -> Result<()> {
        let about = self.repo.about()?;
        self.repo.tip(&about.default_branch).map(drop)
    }

    /// Reads the inventories of the other environments on the branch: the names of their folders, sorted, and the texts.
    /// There are none without a branch.
    pub fn others(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let Some(mut names) = unless_absent(self.repo.folders(&self.branch, ROOT))? else {
            self.reads_repository()?;
            return Ok(Vec::new());
        };
        names.retain(|name| *name != self.folder);
        if names.is_empty() {
            return Ok(Vec::new());
        }
        names.sort();
        // All of one commit: a branch that is deleted meanwhile must not look like one without inventories.
        let tip = self.repo.tip(&self.branch)?;
        let mut others = Vec::new();
        for name in names {
            let file = self.repo.file(&tip, &path_of(&name), SIZE_MAX);
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
        edit: &mut TextEdit<'_>,
        keys: &[(String, Vec<u8>)],
        patience: Patience<'_>,
    ) -> anyhow::Result<CommitOutcome> {
        let keys = keys.iter().map(|(name, bytes)| FileWrite {
            path: format!("{}{name}", self.keys()),
            bytes: bytes.clone(),
            replaces: None,
        });
        let mut edit = |text: Option<&[u8]>| {
            let skips = |revision: Revision| Revision {
                message: without_workflows(&revision.message),
                ..revision
            };
            Ok(edit(text)?.map(skips))
        };
        let commit = Commit {
            repo: &self.repo,
            at: BranchFile {
                branch: &self.branch,
                path: &self.path(),
            },
            edit: &mut edit,
            new: keys.collect(),
            makes: true,
            max: SIZE_MAX,
            patience,
            way_out: "name another branch with --inventory-branch",
        };
        commit.make()
    }

    /// Finds out whether the token's user may push to the branch, as far as that can be asked without writing. The inner
    /// error says in words why it is known that it may not.
    ///
    /// That is asked of the repository, of the branch where it is there, and of the token's scopes. A branch rule's file
    /// patterns are not known there (docs/gitea-api.md, "Branches"), nor is a rule for a branch that is to be made.
    pub fn may_write(&self) -> Result<Result<(), String>> {
        let InventoryBranch { repo, branch, .. } = self;
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
    pub fn copies(&self) -> Result<Vec<String>> {
        let Some(tip) = unless_absent(self.repo.tip(&self.branch))? else {
            self.reads_repository()?;
            return Ok(Vec::new());
        };
        let keys = self.keys();
        let paths = self.repo.paths(&tip)?.into_iter();
        Ok(paths.filter(|path| path.starts_with(&keys)).collect())
    }
}

/// Returns the path of the inventory of an environment.
fn path_of(folder: &str) -> String {
    format!("{ROOT}/{folder}/inventory.json")
}

/// Returns a message whose commit starts no workflow: with `[skip ci]` at the end of its first line.
fn without_workflows(message: &str) -> String {
    const MARK: &str = "[skip ci]";
    let message = message.trim();
    let (subject, rest) = message.split_at(message.find('\n').unwrap_or(message.len()));
    match subject.contains(MARK) {
        true => message.to_owned(),
        false => format!("{} {MARK}{rest}", subject.trim_end())
            .trim_start()
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_workflows;

    #[test]
    fn message_starts_no_workflow() {
        for (message, wanted) in [
            ("a", "a [skip ci]"),
            ("a\n\nb\n", "a [skip ci]\n\nb"),
            ("a [skip ci]\n\nb", "a [skip ci]\n\nb"),
            ("a\n\n[skip ci]", "a [skip ci]\n\n[skip ci]"),
            ("", "[skip ci]"),
            (" \n\nb", "b [skip ci]"),
        ] {
            assert_eq!(without_workflows(message), wanted, "{message:?}");
        }
    }
}
