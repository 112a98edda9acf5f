//! Where the inventory is: read before the lists, and written down what a run did.
//!
//! It is on a branch of the forge, in a file that somebody names, or on a laptop without either beside the file. Plans without
//! a token read what the clone fetched of the branch; applies never do, since that can be old.

mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::forge::path_in_repository;
use super::{Failure, Forge, Result, Run, Say, inventory_branch, setting};
use crate::account::Actual;
use crate::apply::NotRecorded;
use crate::base::{Id, file_error, files};
use crate::forge::ci::Context;
use crate::forge::gitea::inventory::InventoryBranch;
use crate::git::{Git, Opened, RepoPath, Sha, has_git_above};
use crate::inventory::{Inventory, Unreadable};
use crate::model::{Kind, Notice, OfInventory};
use crate::plan::Standing;
use crate::secret::file_stem;

/// The folder of all environments, on the branch and beside a file.
const ROOT: &str = ".netbird-gitops";

/// Why an inventory is out of reach that is known to be there.
const REMOTE_HAS_IT: &str = "the clone's remote has it, and there is no token for the forge";

/// Where the inventory is.
pub(super) struct InventoryPlace {
    at: At,
    forge: Option<Forge>,
    environment: String,
    /// netbird.json on disk.
    file: PathBuf,
    /// Its path in the repository.
    path: String,
    /// The branch of the inventory, also where nobody can reach it.
    branch: String,
    writes: bool,
    context: Context,
    /// Whether sealed keys are copied, as asked for, or as is found out.
    copies: OnceLock<bool>,
    /// The commit of the run.
    commit: OnceLock<String>,
    /// The account of the run.
    account: OnceLock<String>,
    /// The run read, saw or wrote an inventory.
    is_known: AtomicBool,
    /// The run may make the first one.
    begins: AtomicBool,
}

/// A place.
enum At {
    /// The branch of a forge.
    Forge(InventoryBranch),
    /// A file: the one that somebody names, or the one beside netbird.json.
    File { path: PathBuf, is_named: bool },
    /// What the clone fetched of the branch.
    Clone(Git, Sha),
    /// The branch is known not to be there, and nothing can be written: a job without a forge.
    Absent,
    /// Out of reach.
    Nowhere(&'static str),
    /// Nobody wants to know.
    Unwanted,
}

/// What is known of the inventory.
pub(super) struct FoundInventory {
    pub(super) inventory: Inventory,
    pub(super) standing: Standing,
    pub(super) notices: Vec<Notice>,
}

impl FoundInventory {
    fn new(inventory: Inventory, standing: Standing, notice: Option<OfInventory>) -> Self {
        FoundInventory {
            inventory,
            standing,
            notices: notice.map(Notice::general).into_iter().collect(),
        }
    }

    fn none(standing: Standing, notice: Option<OfInventory>) -> Self {
        FoundInventory::new(Inventory::default(), standing, notice)
    }
}

/// The inventories of other environments.
#[derive(Default)]
pub(super) struct Others {
    /// What those of the same account have, and the file of each.
    pub(super) strange: BTreeMap<Id, String>,
    /// Whether one is of the same account, or may be.
    pub(super) share_account: bool,
    /// The environment of one that cannot be read, and why.
    pub(super) unread: Option<(String, String)>,
}

impl InventoryPlace {
    /// Finds the place.
    pub(super) fn find(run: &Run) -> Result<InventoryPlace> {
        let named = run.inventory();
        // a recorded account has none, but one that is named
        let is_wanted = run.command.live().is_none() || named.is_some();
        let forge = match is_wanted {
            true => Forge::open(run)?,
            false => None,
        };
        let applied = forge.as_ref().and_then(Forge::branch);
        let applied = applied.map(|name| (name, "the branch that is applied"));
        let branch = inventory_branch(run, applied)?;
        let folder = file_stem(&run.environment);
        let at = match (named, &forge) {
            _ if !is_wanted => At::Unwanted,
            (Some(path), _) => At::File {
                path: path.into(),
                is_named: true,
            },
            (None, Some(forge)) => {
                At::Forge(InventoryBranch::new(forge.repo.clone(), &branch, &folder))
            }
            (None, None) => without_forge(run, &branch, &folder)?,
        };
        let copies = run.command.sealing().and_then(|it| it.key_copies.as_ref());
        let copies = match setting(copies).as_deref() {
            None => OnceLock::new(),
            Some("branch") => true.into(),
            Some("none") => false.into(),
            Some(other) => {
                let text = format!("--key-copies {other:?}: expected branch or none");
                return Err(Failure::error(text));
            }
        };
        let path = match &forge {
            Some(forge) => forge.path().to_owned(),
            None => {
                path_in_repository(&run.file).unwrap_or_else(|_| run.file.display().to_string())
            }
        };
        let commit = run.context.sha.clone();
        Ok(InventoryPlace {
            at,
            forge,
            environment: run.environment.clone(),
            file: run.file.clone(),
            path,
            branch,
            writes: run.writes(),
            context: run.context.clone(),
            copies,
            commit: commit.map(OnceLock::from).unwrap_or_default(),
            account: OnceLock::new(),
            is_known: AtomicBool::new(false),
            begins: AtomicBool::new(false),
        })
    }

    /// Reads the inventory. It says of which account it is; whether that is the run's, [`of_account`](Self::of_account) asks.
    pub(super) fn read(&self) -> Result<FoundInventory> {
        let none = |notice| Ok(FoundInventory::none(Standing::Unknown, notice));
        match &self.at {
            At::Unwanted => return none(None),
            At::Nowhere(_) if self.writes => return none(None),
            At::Nowhere(why) if self.may_do_without() => {
                let branch = self.branch.clone();
                return none(Some(match *why {
                    REMOTE_HAS_IT => OfInventory::NotFetched(branch),
                    why => OfInventory::NotAsked { why, branch },
                }));
            }
            _ => {}
        }
        let text = match (self.text(), &self.at) {
            (Ok(Some(text)), _) => text,
            (Ok(None), At::File { path, is_named }) if *is_named && self.context.is_ci => {
                let text = format!("there is no inventory {}", path.display());
                return Err(Failure::refused(text).hint(
                    "in a job an apply does not create the first inventory: run apply outside of a job, or put the file where the job \
                     finds it",
                ));
            }
            (Ok(None), _) => {
                let notice = (!self.writes).then_some(OfInventory::First);
                return Ok(FoundInventory::none(Standing::First, notice));
            }
            (Err((why, hint)), _) => return self.unread(why, hint, true),
        };
        let inventory = match Inventory::parse(&text) {
            Ok(inventory) => inventory,
            Err(error) => return self.garbled(&error),
        };
        self.is_known.store(true, Ordering::Relaxed);
        let before = inventory.file.clone();
        let is_other = !before.is_empty() && before != self.path;
        if is_other && self.checkout_has(&before) {
            let (environment, path) = (&self.environment, &self.path);
            let text = format!(
                "the inventory {environment:?} belongs to {before}, but this file is {path}. Nothing was changed."
            );
            let hint = "each file has an environment of its own: name it with --environment";
            let mut failure = Failure::refused(text).hint(hint);
            failure.is_of_other_file = true;
            return Err(failure);
        }
        let moved = is_other.then_some(OfInventory::Moved(before));
        Ok(FoundInventory::new(inventory, Standing::Read, moved))
    }

    /// Returns the text of the inventory, none where it is known not to be there; or why it cannot be read, and what to do.
    fn text(&self) -> Result<Option<Vec<u8>>, (String, Option<String>)> {
        match &self.at {
            At::Forge(branch) => match branch.read(&self.path) {
                Err(error) if error.is_not_found() && self.waits_for_its_first_push() => Ok(None),
                Err(error) => Err((error.to_string(), error.hint())),
                Ok(stored) => Ok(stored.map(|stored| stored.bytes)),
            },
            At::File { path, .. } => match files::read(path, files::LARGE) {
                Ok(text) => Ok(Some(text)),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err((file_error(&error), None)),
            },
            At::Clone(git, commit) => {
                let path = in_clone(&file_stem(&self.environment));
                let text = path.map(|path| git.show(commit, &path)).transpose();
                text.map(Option::flatten).map_err(|error| {
                    let said = error.to_string();
                    let said = said.lines().next().unwrap_or_default();
                    let text = format!("{said}; in a partial clone add --refetch --no-filter");
                    (text, None)
                })
            }
            At::Nowhere(why) => Err(((*why).to_owned(), None)),
            At::Absent | At::Unwanted => Ok(None),
        }
    }

    /// Sees that the inventory is of the account of the run, and keeps its id for the first one. Where the account was not asked
    /// for, nothing is compared.
    pub(super) fn of_account(&self, inventory: &Inventory, actual: &Actual) -> Result<()> {
        let theirs = &inventory.account;
        let accounts = actual.named(Kind::AccountSettings, "").iter();
        let ids: Vec<String> = accounts.map(|account| account.id.to_string()).collect();
        // of several a gate asks which one is meant
        let own = ids.iter().find(|id| *id == theirs).or(ids.first());
        let Some(account) = own.cloned() else {
            return Ok(());
        };
        if !theirs.is_empty() && *theirs != account {
            let environment = &self.environment;
            let text = format!(
                "the inventory {environment:?} belongs to account {theirs}, but this token belongs to account {account}. Nothing was changed."
            );
            let hint = "each account has an environment of its own: name it with --environment";
            return Err(Failure::refused(text).hint(hint));
        }
        self.account.get_or_init(|| account);
        Ok(())
    }

    /// Keeps the commit of the run, where the job does not tell it.
    pub(super) fn of_commit(&self, commit: &Sha) {
        self.commit.get_or_init(|| commit.to_string());
    }

    /// Lets the run make the first inventory from now on.
    pub(super) fn begin(&self) {
        self.begins.store(true, Ordering::Relaxed);
    }

    /// The forge, where there is one.
    pub(super) fn forge(&self) -> Option<&Forge> {
        self.forge.as_ref()
    }

    /// Returns whether copies of sealed keys are kept. `aloud`: who is told that a public repository keeps none.
    pub(super) fn copies(&self, aloud: Option<Say>) -> Result<bool> {
        if let Some(told) = self.copies.get() {
            return Ok(*told);
        }
        let (At::Forge(_), Some(forge)) = (&self.at, &self.forge) else {
            return Ok(true);
        };
        let is_public = forge.repo.about()?.is_public();
        if let Some(say) = aloud.filter(|_| is_public) {
            let (name, branch) = (forge.repo.full_name(), &self.branch);
            say.note(&format!(
                "everybody may read {name}, so no copy of the sealed keys is committed to {branch}; --key-copies branch \
                 commits them anyway"
            ));
        }
        Ok(*self.copies.get_or_init(|| !is_public))
    }

    /// Errors where nothing can be written down.
    pub(super) fn writable(&self) -> Result<(), NotRecorded> {
        let token = "set GITEA_TOKEN to a token that may push, or name a file with --inventory";
        let without = |why: &str| (why.to_owned(), Some(token.to_owned()));
        let (why, hint) = match &self.at {
            At::Forge(branch) => match branch.may_write() {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(why)) => {
                    let other = "or name another branch with --inventory-branch";
                    let hint = format!("let the token's user push to {}, {other}", self.branch);
                    (why, Some(hint))
                }
                Err(error) => (error.to_string(), error.hint()),
            },
            At::File { path, .. } => {
                let there = path.ancestors().skip(1).find(|folder| folder.is_dir());
                // an empty path is the current directory
                match tempfile::tempfile_in(there.unwrap_or(Path::new("."))) {
                    Ok(_) => return Ok(()),
                    Err(error) => (format!("{}: {}", path.display(), file_error(&error)), None),
                }
            }
            At::Clone(..) => without("there is no token for the forge"),
            At::Absent | At::Unwanted => without("the job has neither a forge nor --inventory"),
            At::Nowhere(why) => without(why),
        };
        Err(NotRecorded { why, hint })
    }

    /// Reads the inventories of the other environments that are kept at the same place.
    pub(super) fn others(&self, account: &str) -> Result<Others> {
        let mut others = Others::default();
        for (environment, text) in self.texts_of_others()? {
            match Inventory::parse(&text) {
                Ok(inventory) if inventory.account == account => {
                    others.share_account = true;
                    let ids = inventory.ids().into_iter().cloned();
                    let ids = ids.map(|id| (id, inventory.file.clone()));
                    others.strange.extend(ids);
                }
                Ok(_) => {}
                Err(why) => {
                    others.share_account = true;
                    others.unread = Some((environment, why.to_string()));
                }
            }
        }
        Ok(others)
    }

    fn texts_of_others(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let own = file_stem(&self.environment);
        let mut texts = Vec::new();
        match &self.at {
            At::Forge(branch) => match branch.others() {
                Err(error) if error.is_not_found() && self.waits_for_its_first_push() => {}
                others => texts = others?,
            },
            At::File { path, is_named } if !is_named => {
                let root = path.parent().and_then(Path::parent);
                let entries = root.and_then(|root| fs::read_dir(root).ok());
                for entry in entries.into_iter().flatten().flatten() {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    let path = entry.path().join("inventory.json");
                    if name != own && path.is_file() {
                        let text = files::read(&path, files::LARGE);
                        let text = text.map_err(|error| Failure::of_file("read", &path, &error))?;
                        texts.push((name, text));
                    }
                }
            }
            At::Clone(git, commit) => {
                let names = git.folder(commit, ROOT)?.into_iter();
                for name in names.filter(|name| *name != own) {
                    let text = in_clone(&name).map(|path| git.show(commit, &path));
                    let text = text.transpose()?.flatten();
                    texts.extend(text.map(|text| (name, text)));
                }
            }
            At::File { .. } | At::Absent | At::Nowhere(_) | At::Unwanted => {}
        }
        Ok(texts)
    }

    /// Whether this is a plan of somebody who did not push yet: the repository has no commit.
    fn waits_for_its_first_push(&self) -> bool {
        let about = self.forge.as_ref().map(|forge| forge.repo.about());
        !self.writes && about.is_some_and(|about| about.is_ok_and(|about| about.empty))
    }

    /// Whether a plan may be made without the inventory: on a laptop, and in a fork's job, where there is no token for the forge.
    fn may_do_without(&self) -> bool {
        let pull = self.context.pull_request.as_ref();
        let is_fork = pull.is_some_and(|pull| pull.is_fork);
        !self.writes && self.forge.is_none() && (!self.context.is_ci || is_fork)
    }

    /// A text that is no inventory.
    fn garbled(&self, why: &Unreadable) -> Result<FoundInventory> {
        // of a newer version the error says what to do, and what is fetched again is the same
        let is_newer = matches!(why, Unreadable::Newer(_));
        let why = why.to_string();
        if matches!(self.at, At::Clone(..)) && (!is_newer || self.may_do_without()) {
            return self.unread(why, None, !is_newer);
        }
        let reads = |text: &[u8]| Inventory::parse(text).is_ok();
        let hint = match &self.at {
            At::Forge(branch) if !is_newer => Some(match branch.last_that(reads) {
                Ok(Some(commit)) => {
                    let path = branch.path();
                    format!("put its last good text back: {path} of commit {commit}")
                }
                _ => "look at the history of the branch, and put its last good text back".into(),
            }),
            _ => None,
        };
        Err(self.failure(&why).aside(hint))
    }

    /// An inventory that is there, or may be, and that cannot be read. `fetch`: another one may be fetched.
    fn unread(&self, why: String, hint: Option<String>, fetch: bool) -> Result<FoundInventory> {
        let is_file = matches!(self.at, At::File { .. });
        if self.may_do_without() && !is_file {
            let branch = fetch.then(|| self.branch.clone());
            let notice = OfInventory::Unread { why, branch };
            return Ok(FoundInventory::none(Standing::Unknown, Some(notice)));
        }
        let failure = self.failure(&why);
        if self.forge.is_some() || is_file {
            return Err(failure.aside(hint));
        }
        let branch = &self.branch;
        let fetch = format!("git fetch origin +refs/heads/{branch}:refs/remotes/origin/{branch}");
        Err(failure.hint(format!("fetch it before: {fetch}; or set GITEA_TOKEN")))
    }

    fn failure(&self, why: &str) -> Failure {
        let what = match self.writes {
            true => "Nothing was changed.",
            false => "A plan without it would not show deletions.",
        };
        let named = self.named();
        let text = format!("cannot read the inventory ({named}: {why}). {what}");
        Failure::error(text)
    }

    /// What people call the place.
    fn named(&self) -> String {
        match (&self.at, &self.forge) {
            (At::File { path, .. }, _) => path.display().to_string(),
            (At::Forge(branch), Some(forge)) => {
                format!("{}, branch {}", forge.repo.full_name(), branch.branch())
            }
            _ => format!("branch {}", self.branch),
        }
    }

    /// Whether a path of the repository is in the checkout.
    fn checkout_has(&self, path: &str) -> bool {
        match Git::around(&self.file) {
            Ok(Opened::Checkout(git)) => git.top().join(path).exists(),
            _ => Path::new(path).exists(),
        }
    }
}

/// Where an environment's inventory is in a clone of the branch.
fn in_clone(folder: &str) -> Option<RepoPath> {
    RepoPath::parse(&format!("{ROOT}/{folder}/inventory.json"))
}

/// Finds the place of a run without a forge and without a named file.
fn without_forge(run: &Run, branch: &str, folder: &str) -> Result<At> {
    let file = &run.file;
    let path = format!("{ROOT}/{folder}/inventory.json");
    let beside = match run.context.is_ci {
        true => At::Absent,
        false => At::File {
            path: file.with_file_name(path),
            is_named: false,
        },
    };
    let git = match Git::around(file)? {
        Opened::Checkout(git) => git,
        Opened::NoGit if has_git_above(&std::path::absolute(file).unwrap_or_default()) => {
            let why =
                "git is not installed, so the remote \"origin\" cannot be asked for the inventory";
            return Ok(At::Nowhere(why));
        }
        Opened::NotACheckout | Opened::NoGit => return Ok(beside),
    };
    Ok(match git.find(&format!("refs/remotes/origin/{branch}"))? {
        Some(commit) if !run.writes() => At::Clone(git, commit),
        Some(_) => At::Nowhere(REMOTE_HAS_IT),
        None if git.origin().is_none() => beside,
        None => match git.remote_has(branch) {
            Some(false) => beside,
            Some(true) => At::Nowhere(REMOTE_HAS_IT),
            None => {
                At::Nowhere("git cannot reach the remote \"origin\", and Gitea is not configured")
            }
        },
    })
}
