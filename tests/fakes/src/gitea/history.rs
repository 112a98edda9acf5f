//! The repository in the hands of a test: pushes of people, files, the log.

use std::path::PathBuf;

use super::commits::as_written;
use super::forge::Forge;
use super::git::{Change, Draft, Git, Log, Person};
use super::{BRANCH, Gitea, HUMAN};

/// A commit as it is in the repository.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// Its id.
    pub sha: String,
    /// Ids of its parents.
    pub parents: Vec<String>,
    /// The message, byte for byte.
    pub message: String,
    /// Who wrote it.
    pub author: Signature,
    /// Who committed it.
    pub committer: Signature,
    /// The login of who pushed it.
    pub pusher: String,
    /// The paths that it changed.
    pub paths: Vec<String>,
}

/// Who and when, as free text: a name is not a login.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// RFC 3339, with the offset from UTC that it was written with.
    pub date: String,
}

impl Signature {
    fn of(person: Person) -> Signature {
        let Person { name, email, date } = person;
        Signature {
            name,
            email,
            date: as_written(&date),
        }
    }
}

/// A push in the making, see [`Gitea::change`].
pub struct Push<'a> {
    gitea: &'a Gitea,
    branch: String,
    user: String,
    message: String,
    changes: Vec<Change>,
}

impl Push<'_> {
    /// Writes a file.
    pub fn file(self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.file_of_mode(path, "100644", bytes)
    }

    /// Writes a file of this mode: `100755` is executable, `120000` a symlink whose target the
    /// bytes are.
    pub fn file_of_mode(mut self, path: &str, mode: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.changes.push(Change::Write {
            path: path.to_owned(),
            mode: mode.to_owned(),
            bytes: bytes.as_ref().to_vec(),
        });
        self
    }

    /// Deletes a file or a folder.
    pub fn delete(mut self, path: &str) -> Self {
        let path = path.to_owned();
        self.changes.push(Change::Delete { path });
        self
    }

    /// Sets the message.
    pub fn message(mut self, message: &str) -> Self {
        message.clone_into(&mut self.message);
        self
    }

    /// Sets who writes and pushes it, by login. By default that is `alice`.
    pub fn by(mut self, login: &str) -> Self {
        login.clone_into(&mut self.user);
        self
    }

    /// Pushes it past all rules, and returns the commit's id. A branch that is not there yet begins
    /// at `main`.
    ///
    /// # Panics
    ///
    /// When there is no such user.
    pub fn push(self) -> String {
        let Push {
            gitea,
            branch,
            user,
            message,
            changes,
        } = self;
        let inner = &gitea.inner;
        let mut forge = inner.shared.forge();
        let id = forge.user_named(&user).map(|user| user.id);
        let id = id.unwrap_or_else(|| panic!("there is no user {user}"));
        let person = forge.person(id);
        let draft = Draft {
            author: person.clone(),
            committer: person,
            message,
            changes,
        };
        let git = forge.repo(inner.repo).git.clone();
        loop {
            let tip = git.tip(&branch);
            let parent = tip.clone().or_else(|| git.tip(BRANCH));
            let commit = git.write(parent.as_deref(), &draft);
            let old = tip.as_deref().unwrap_or(super::git::NOTHING);
            // A write over the network does not wait for the lock that is held here; whoever loses
            // against it rebases, as people do.
            if git
                .push(&format!("refs/heads/{branch}"), &commit, old)
                .is_ok()
            {
                forge.pushed(inner.repo, &branch, &commit, &draft.message, id);
                return commit;
            }
        }
    }
}

impl Gitea {
    /// Returns the folder of the bare repository. `git clone` and `git push` work with it; a push
    /// by git knows no rules and no pusher.
    pub fn git_dir(&self) -> PathBuf {
        self.git().folder().to_owned()
    }

    fn git(&self) -> Git {
        let forge: &Forge = &self.inner.shared.forge();
        forge.repo(self.inner.repo).git.clone()
    }

    /// Begins a push to a branch.
    pub fn change(&self, branch: &str) -> Push<'_> {
        Push {
            gitea: self,
            branch: branch.to_owned(),
            user: HUMAN.to_owned(),
            message: "a change by hand\n".to_owned(),
            changes: Vec::new(),
        }
    }

    /// Pushes one file to a branch as `alice`, and returns the commit's id.
    pub fn push(&self, branch: &str, path: &str, bytes: impl AsRef<[u8]>, message: &str) -> String {
        let push = self.change(branch).file(path, bytes);
        push.message(message).push()
    }

    /// Empties the repository: no branch, no commit.
    pub fn empty(&self) {
        let git = self.git();
        for branch in git.branches() {
            git.delete(&format!("refs/heads/{branch}"));
        }
    }

    /// Returns the commit at the tip of a branch.
    pub fn tip(&self, branch: &str) -> Option<String> {
        self.git().tip(branch)
    }

    /// Returns the names of the branches.
    pub fn branches(&self) -> Vec<String> {
        self.git().branches()
    }

    /// Returns the bytes of a file.
    ///
    /// # Panics
    ///
    /// When there is no such file.
    pub fn file(&self, branch: &str, path: &str) -> Vec<u8> {
        let git = self.git();
        let found = git.tip(branch).and_then(|tip| git.entry(&tip, path));
        let entry = found.unwrap_or_else(|| panic!("there is no {path} on {branch}"));
        git.blob(&entry.sha)
    }

    /// Returns the blob id of a file, where there is one.
    pub fn sha(&self, branch: &str, path: &str) -> Option<String> {
        let git = self.git();
        let tip = git.tip(branch)?;
        Some(git.entry(&tip, path)?.sha)
    }

    /// Returns the paths of all files of a branch.
    pub fn files(&self, branch: &str) -> Vec<String> {
        let git = self.git();
        let entries = git.tip(branch).map(|tip| git.files(&tip));
        let entries = entries.unwrap_or_default().into_iter();
        entries.map(|entry| entry.path).collect()
    }

    /// Returns the commits of a branch, newest first.
    pub fn log(&self, branch: &str) -> Vec<Commit> {
        let forge = self.inner.shared.forge();
        let repo = forge.repo(self.inner.repo);
        let Some(tip) = repo.git.tip(branch) else {
            return Vec::new();
        };
        let commits = repo.git.log(&tip, Log::All).into_iter();
        commits
            .map(|commit| Commit {
                pusher: repo.pushers.get(&commit.sha).cloned().unwrap_or_default(),
                sha: commit.sha,
                parents: commit.parents,
                message: commit.message,
                author: Signature::of(commit.author),
                committer: Signature::of(commit.committer),
                paths: commit.paths,
            })
            .collect()
    }
}
