//! The commit of an inventory and of copies of keys, one try at a time.

use std::cell::Cell;

use jiff::Timestamp;

use super::super::commit::{CommitError, Revision, Write};
use super::super::{Error, FileWrite, NewFile, Tip, unless_absent};
use super::{Branch, Edit, SIZE_MAX, Stored};

/// What is to be written.
pub(super) struct Revise<'a> {
    branch: &'a Branch,
    edit: &'a mut Edit<'a>,
    /// Copies of keys.
    keys: Vec<NewFile>,
    now: &'a dyn Fn() -> Timestamp,
    /// Whether a try may have arrived although it was refused. Then each reading looks for the keys.
    is_unclear: Cell<bool>,
}

/// What a try is based on.
pub(super) struct Seen {
    /// The tip of the branch, or of the one that it is made off.
    tip: Tip,
    stored: Option<Stored>,
    /// Where the branch is not there: the default branch, and the blob that it has at the inventory's path.
    base: Option<(String, Option<String>)>,
    /// Which keys are not there; `None` where that was not looked at.
    missing: Option<Vec<usize>>,
}

/// What a try sends.
pub(super) struct Sent {
    /// `None` where the text stays.
    inventory: Option<NewFile>,
    keys: Vec<usize>,
    message: String,
}

impl<'a> Revise<'a> {
    pub(super) fn new(
        branch: &'a Branch,
        edit: &'a mut Edit<'a>,
        keys: Vec<NewFile>,
        now: &'a dyn Fn() -> Timestamp,
    ) -> Self {
        Revise {
            branch,
            edit,
            keys,
            now,
            is_unclear: Cell::new(false),
        }
    }

    /// Returns which keys are not on a branch yet.
    ///
    /// Errors with [`Error::Differs`] for one whose path has other bytes: a key is sealed once.
    fn missing_on(&self, branch: &str) -> Result<Vec<usize>, Error> {
        let mut missing = Vec::new();
        for (number, key) in self.keys.iter().enumerate() {
            match unless_absent(self.branch.repo.file(branch, &key.path))? {
                None => missing.push(number),
                Some(found) if found.bytes == key.bytes => {}
                Some(_) => {
                    let path = key.path.clone();
                    return Err(Error::Differs { path });
                }
            }
        }
        Ok(missing)
    }

    /// Returns the message of a commit that stores keys alone.
    fn message_of_keys(keys: usize) -> String {
        match keys {
            1 => "chore: store a sealed setup key".to_owned(),
            keys => format!("chore: store {keys} sealed setup keys"),
        }
    }
}

impl Seen {
    /// Returns the branch whose files a commit would find.
    fn ground<'s>(&'s self, branch: &'s Branch) -> &'s str {
        self.base
            .as_ref()
            .map_or(&branch.branch, |(default, _)| default)
    }

    /// Returns whether the branch shows that somebody else wrote the text: its last commit is the tip, and has another
    /// message than ours.
    fn is_of_others(&self, message: &str) -> bool {
        let last = self.stored.as_ref().and_then(|it| it.commit.as_deref());
        let told = self.tip.message.trim();
        last == Some(self.tip.id.as_str()) && !told.is_empty() && told != message.trim()
    }
}

impl Write for Revise<'_> {
    type Seen = Seen;
    type Sent = Sent;

    fn read(&self) -> Result<(String, Seen), Error> {
        let Branch { repo, branch, .. } = self.branch;
        let path = self.branch.path();
        let mut seen = match unless_absent(repo.branch(branch))? {
            Some(told) => Seen {
                tip: told.commit,
                stored: unless_absent(repo.large_file(branch, &path, SIZE_MAX))?.map(Stored::from),
                base: None,
                missing: None,
            },
            None => {
                let default = repo.about()?.default_branch;
                Seen {
                    // An error where the token sees nothing: the branch is missing only where another is not.
                    tip: repo.branch(&default)?.commit,
                    stored: None,
                    // The branch begins with all that the default branch has. An inventory there, of a laptop or by a
                    // merge, is none of this branch; a commit has to replace it all the same.
                    base: Some((
                        default.clone(),
                        unless_absent(repo.blob(Some(&default), &path))?,
                    )),
                    missing: None,
                }
            }
        };
        if self.is_unclear.get() {
            seen.missing = Some(self.missing_on(seen.ground(self.branch))?);
        }
        Ok((seen.tip.id.clone(), seen))
    }

    fn prepare(&mut self, seen: &Seen) -> Result<Option<Sent>, CommitError> {
        let before = seen.stored.as_ref().map(|stored| stored.text.as_slice());
        let revision = (self.edit)(before).map_err(CommitError::Edit)?;
        let (text, message) = revision.map_or((None, None), |Revision { bytes, message }| {
            let changed = Some(bytes).filter(|bytes| before != Some(bytes.as_slice()));
            (changed, Some(message))
        });
        let keys = match (&seen.missing, &text) {
            (Some(missing), _) => missing.clone(),
            // If one of them is there after all, the refusal leads to a look at each.
            (None, Some(_)) => (0..self.keys.len()).collect(),
            (None, None) => self.missing_on(seen.ground(self.branch))?,
        };
        if text.is_none() && keys.is_empty() {
            return Ok(None);
        }
        let path = self.branch.path();
        let size = text.as_ref().map_or(0, |text| text.len() as u64);
        if size > SIZE_MAX {
            let max = Some(SIZE_MAX);
            return Err(Error::FileTooBig { path, size, max }.into());
        }
        let message = message.unwrap_or_else(|| Self::message_of_keys(keys.len()));
        Ok(Some(Sent {
            inventory: text.map(|bytes| NewFile { path, bytes }),
            keys,
            message: without_workflows(&message),
        }))
    }

    fn send(&self, seen: &Seen, sent: &Sent) -> Result<Option<String>, Error> {
        let Branch { repo, branch, .. } = self.branch;
        let in_the_way = seen.base.as_ref().and_then(|(_, blob)| blob.as_deref());
        let replaces = seen.stored.as_ref().map(|stored| stored.sha.as_str());
        let inventory = sent.inventory.iter().map(|file| FileWrite {
            file,
            replaces: replaces.or(in_the_way),
        });
        let keys = sent.keys.iter().map(|number| FileWrite {
            file: &self.keys[*number],
            replaces: None,
        });
        let files: Vec<FileWrite> = inventory.chain(keys).collect();
        let new_branch = seen.base.as_ref().map(|_| branch.as_str());
        let (from, now) = (seen.ground(self.branch), (self.now)());
        let made = repo.write_files(&files, from, new_branch, &sent.message, now);
        if made.as_ref().is_err_and(|error| !error.says_race()) {
            self.is_unclear.set(true);
        }
        made
    }

    fn arrived(&self, seen: &Seen, sent: &Sent) -> Option<Option<String>> {
        let is_there = |file: &NewFile| {
            let stored = seen.stored.as_ref();
            stored.is_some_and(|stored| stored.text == file.bytes)
        };
        let are_there = |missing: &Vec<usize>| sent.keys.iter().all(|key| !missing.contains(key));
        // Nobody else stores our keys, so they tell whose commit it is.
        let is_ours = match sent.keys.is_empty() {
            true => !seen.is_of_others(&sent.message),
            false => seen.missing.as_ref().is_some_and(are_there),
        };
        let is_ours = is_ours && seen.base.is_none() && sent.inventory.iter().all(is_there);
        is_ours.then(|| seen.stored.as_ref()?.commit.clone())
    }

    fn has_moved(&self, before: &Seen, seen: &Seen) -> bool {
        let blob = |seen: &Seen| seen.stored.as_ref().map(|stored| stored.sha.clone());
        before.base.is_some() != seen.base.is_some() || blob(before) != blob(seen)
    }

    /// A "not found" is of a branch or an inventory that was deleted since it was read: the next reading tells.
    fn may_pass(&self, error: &Error) -> bool {
        error.may_be_a_race() || error.is_not_found()
    }
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
