//! The branch of sealed keys: copies that outlive a job's disk, artifact and log.
//!
//! One file a key, `ENVIRONMENT/NAME.KEYID.age`. A key's id is made once, so a path is only ever created and two runs at
//! once cannot take each other's copy. The branch begins at the default branch and has its workflows, so the message of
//! every commit on it keeps them from starting (docs/gitea-api.md, "Branches of sealed keys").

use std::fmt;

use super::commit::{CommitError, Policy, Write, in_rounds};
use super::{Error, NewFile, Repo, unless_absent};

/// The branch, where nobody names another.
pub const BRANCH: &str = "netbird-sealed-keys";

/// What stands at the root of a branch that was made for this.
const README: &str = "netbird-sealed-keys.md";

const README_TEXT: &str = "\
# Sealed setup keys

netbird-gitops keeps the sealed text of every setup key that it makes here: one file a key, in the folder of its network.
Each opens with the identity of one of its recipients:

    git show origin/BRANCH:ENVIRONMENT/NAME.KEYID.age | age -d -i IDENTITY

Nothing here is ever changed or merged. Files of keys that are used or gone are of no use any more.
";

/// The branch of a repository, and the folder of one network.
#[derive(Debug, Clone)]
pub struct SealedKeys {
    repo: Repo,
    branch: String,
    folder: String,
}

/// Why the branch cannot be used.
#[derive(Debug)]
pub struct Refused {
    /// The branch.
    branch: String,
    /// What became of the commit.
    error: Box<CommitError>,
}

impl Refused {
    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        let branch = &self.branch;
        match &*self.error {
            CommitError::Refused { .. } | CommitError::Gitea(Error::Forbidden(_)) => Some(format!(
                "let the token's user push to the branch {branch} (a rule for it, with that user on its push list), name \
                 another with --keys-branch, or do without: --keys-branch none"
            )),
            error => error.hint(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { branch, error } = self;
        write!(
            f,
            "no copy of the sealed keys can be stored on the branch {branch}: {error}"
        )
    }
}

impl std::error::Error for Refused {}

impl SealedKeys {
    /// Names the branch and the folder in it. Makes no request itself.
    pub fn new(repo: Repo, branch: &str, folder: &str) -> Self {
        SealedKeys {
            repo,
            branch: branch.to_owned(),
            folder: folder.to_owned(),
        }
    }

    /// Returns the branch's name.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Makes the branch off another where it is not there: what works here works for the keys.
    pub fn begin(&self, default_branch: &str, policy: Policy<'_>) -> Result<(), Refused> {
        let SealedKeys { repo, branch, .. } = self;
        let read = || match unless_absent(repo.tip(branch))? {
            Some(tip) => Ok((tip, true)),
            None => Ok((repo.tip(default_branch)?, false)),
        };
        let readme = NewFile {
            path: README.to_owned(),
            bytes: README_TEXT.replace("BRANCH", branch).into_bytes(),
        };
        // with a message: a branch that is made without a commit starts the workflows of the default branch's tip
        let message = "chore: begin the branch of sealed setup keys [skip ci]";
        let send = || {
            let files = std::slice::from_ref(&readme);
            repo.create_files(files, default_branch, Some(branch), message, (policy.now)())
        };
        self.commit(&read, &send, policy)
    }

    /// Stores these files of the folder as one commit. Returns where each is, as in `BRANCH:PATH`.
    pub fn store(
        &self,
        files: &[(String, Vec<u8>)],
        policy: Policy<'_>,
    ) -> Result<Vec<String>, Refused> {
        let SealedKeys { repo, branch, .. } = self;
        let new = files.iter().map(|(name, bytes)| NewFile {
            path: format!("{}/{name}", self.folder),
            bytes: bytes.clone(),
        });
        let files: Vec<NewFile> = new.collect();
        let read = || {
            let tip = repo.tip(branch)?;
            // one commit has all of them or none
            let Some(first) = files.first() else {
                return Ok((tip, true));
            };
            let found = unless_absent(repo.file(branch, &first.path))?;
            Ok((tip, found.is_some_and(|found| found.bytes == first.bytes)))
        };
        let what = match files.len() {
            1 => "a sealed setup key".to_owned(),
            number => format!("{number} sealed setup keys"),
        };
        let message = format!("chore: store {what} [skip ci]");
        let send = || repo.create_files(&files, branch, None, &message, (policy.now)());
        self.commit(&read, &send, policy)?;
        let place = |file: &NewFile| format!("{branch}:{}", file.path);
        Ok(files.iter().map(place).collect())
    }

    /// Returns the path of the copy of each of these ids of keys; without a branch there is none.
    pub fn paths(&self, ids: &[String]) -> Result<Vec<Option<String>>, Error> {
        let files = self.repo.folder(&self.branch, &self.folder)?;
        let place = |file: &String| format!("{}/{file}", self.folder);
        let ids = ids.iter();
        Ok(ids.map(|id| copy_of(&files, id).map(place)).collect())
    }

    fn commit(&self, read: Reads, send: Sends, policy: Policy<'_>) -> Result<(), Refused> {
        let committed = in_rounds(&mut NewFiles { read, send }, policy);
        committed.map(drop).map_err(|error| Refused {
            branch: self.branch.clone(),
            error: Box::new(error),
        })
    }
}

/// Reads the branch's tip, and whether what a commit makes is there, with our content.
type Reads<'a> = &'a dyn Fn() -> Result<(String, bool), Error>;
/// Makes the commit.
type Sends<'a> = &'a dyn Fn() -> Result<Option<String>, Error>;

/// A commit of files that are not there yet.
struct NewFiles<'a> {
    read: Reads<'a>,
    send: Sends<'a>,
}

impl Write for NewFiles<'_> {
    /// Whether they are there.
    type Seen = bool;
    type Sent = ();

    fn read(&self) -> Result<(String, bool), Error> {
        (self.read)()
    }

    fn prepare(&mut self, are_there: &bool) -> Result<Option<()>, CommitError> {
        Ok((!are_there).then_some(()))
    }

    fn send(&self, _: &bool, (): &()) -> Result<Option<String>, Error> {
        (self.send)()
    }

    fn arrived(&self, are_there: &bool, (): &()) -> Option<Option<String>> {
        are_there.then_some(None)
    }

    fn has_moved(&self, before: &bool, are_there: &bool) -> bool {
        before != are_there
    }
}

/// Returns which of these files, `NAME.KEYID.age`, is of the key with that id.
fn copy_of<'f>(files: &'f [String], id: &str) -> Option<&'f String> {
    let end = format!(".{id}.age");
    files.iter().find(|file| file.ends_with(&end))
}
