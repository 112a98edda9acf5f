//! Copies of sealed keys in the repository: which branch keeps them, and which keys have none there.

use super::failure::Failure;
use super::forge::Forge;
use super::settings::setting;
use crate::address::Address;
use crate::apply::{Copies, KeyCopy, NotStored};
use crate::cli::Sealing;
use crate::gitea::About;
use crate::gitea::commit::Policy;
use crate::gitea::sealed::{self, Refused, SealedKeys};
use crate::id::Id;
use crate::kind::Kind;
use crate::ledger::{Ledger, Span};
use crate::logging::Say;
use crate::notice::{Notice, OfKey, OfRun};
use crate::plan::Plan;
use crate::secret::file_stem;

/// A branch that keeps them.
pub(super) struct Branch {
    keys: SealedKeys,
    about: About,
}

/// Returns the branch that keeps copies of this network's keys; `None` where nobody keeps any. `aloud`: who is told that
/// a public repository keeps none.
pub(super) fn open(
    sealing: &Sealing,
    forge: Option<&Forge>,
    environment: &str,
    aloud: Option<Say>,
) -> Result<Option<Branch>, Failure> {
    let named = setting(sealing.keys_branch.as_ref());
    let Some(forge) = forge.filter(|_| named.as_deref() != Some("none")) else {
        return Ok(None);
    };
    let about = forge.repo.about()?;
    if about.is_public() && named.is_none() {
        if let Some(say) = aloud {
            say.note(&format!(
                "everybody may read {}, so no copy of the sealed keys is committed there; --keys-branch {} does it all \
                 the same",
                forge.repo.full_name(),
                sealed::BRANCH
            ));
        }
        return Ok(None);
    }
    let branch = named.as_deref().unwrap_or(sealed::BRANCH);
    if branch == about.default_branch {
        return Err(Failure::error(format!(
            "{branch} is the default branch of {}: sealed keys have a branch of their own",
            forge.repo.full_name()
        )));
    }
    Ok(Some(Branch {
        keys: SealedKeys::new(forge.repo.clone(), branch, &file_stem(environment)),
        about,
    }))
}

impl Branch {
    /// Makes the branch where it is not there: whoever cannot write there finds out before the first key is made.
    pub(super) fn begin(&self) -> Result<(), Failure> {
        if self.about.permissions.push == Some(false) {
            let text = "the token of Gitea may not push to the repository, so no copy of the sealed keys can be stored \
                        there; nothing was changed";
            return Err(Failure::error(text)
                .hint("give its user write access, or do without copies: --keys-branch none"));
        }
        let begun = self
            .keys
            .begin(&self.about.default_branch, Policy::default());
        begun.map_err(|refused: Refused| Failure {
            hint: refused.hint(),
            ..Failure::error(format!("{refused}; nothing was changed"))
        })
    }
}

/// Names the plan's keys that nobody used yet and of which no copy is kept, where copies are. That nobody can be asked is
/// no reason to have no plan.
pub(super) fn missing(
    sealing: &Sealing,
    forge: impl FnOnce() -> Result<Option<Forge>, Failure>,
    environment: &str,
    plan: &Plan,
) -> Vec<Notice> {
    let keys: Vec<_> = plan.waiting_keys.iter().collect();
    if keys.is_empty() {
        return Vec::new();
    }
    let found = forge().and_then(|forge| places(sealing, forge.as_ref(), environment, &keys));
    let (branch, places) = match found {
        Ok(Some(found)) => found,
        Ok(None) => return Vec::new(),
        Err(Failure { error, .. }) => {
            return vec![Notice::general(OfRun::CopiesNotTold(error))];
        }
    };
    let without = keys.iter().zip(places).filter(|(_, at)| at.is_none());
    let notice = |((_, name), _): (&(&Id, &String), _)| {
        let what = OfKey::NoCopy(branch.clone());
        Notice::about(&Address::new(Kind::SetupKey, *name), what)
    };
    without.map(notice).collect()
}

/// Says where the copies of the keys are that nobody used yet and that a run of the same commit made: one that was killed did
/// not get to say it.
pub(super) fn made_before(
    sealing: &Sealing,
    forge: Option<&Forge>,
    environment: &str,
    plan: &Plan,
    ledger: &Ledger,
) -> Vec<Notice> {
    let Some(newest) = ledger.commits().last() else {
        return Vec::new();
    };
    let since = Span {
        from: newest.begins,
        to: None,
    };
    let keys = plan.waiting_keys.iter();
    let keys = keys.filter(|(id, _)| id.created_at().is_some_and(|made| since.holds(made)));
    let keys: Vec<_> = keys.collect();
    if keys.is_empty() {
        return Vec::new();
    }
    let (branch, places) = match places(sealing, forge, environment, &keys) {
        Ok(found) => found.unwrap_or_default(),
        Err(Failure { error, .. }) => {
            log::warn!("where the sealed copies of earlier keys are cannot be told: {error}");
            return Vec::new();
        }
    };
    let notice = |((_, name), place): (&(&Id, &String), Option<String>)| {
        let what = OfKey::Copy {
            path: place?,
            branch: branch.clone(),
        };
        Some(Notice::about(&Address::new(Kind::SetupKey, *name), what))
    };
    keys.iter().zip(places).filter_map(notice).collect()
}

/// The branch that keeps copies, and of each key that was asked for the path of its own, if there is one.
type Places = (String, Vec<Option<String>>);

/// Returns the branch that keeps copies, and where it has those of these keys; `None` where nobody keeps any.
fn places(
    sealing: &Sealing,
    forge: Option<&Forge>,
    environment: &str,
    keys: &[(&Id, &String)],
) -> Result<Option<Places>, Failure> {
    let Some(branch) = open(sealing, forge, environment, None)? else {
        return Ok(None);
    };
    let ids: Vec<String> = keys.iter().map(|(id, _)| file_stem(&id.0)).collect();
    let places = branch.keys.paths(&ids)?;
    Ok(Some((branch.keys.branch().to_owned(), places)))
}

impl Copies for Branch {
    fn store(&self, keys: &[KeyCopy]) -> Result<Vec<String>, NotStored> {
        let file = |key: &KeyCopy| {
            let name = format!("{}.{}.age", file_stem(&key.name), file_stem(&key.id.0));
            (name, key.armored.clone().into_bytes())
        };
        let files: Vec<(String, Vec<u8>)> = keys.iter().map(file).collect();
        self.keys
            .store(&files, Policy::default())
            .map_err(|refused| NotStored {
                text: refused.to_string(),
                hint: refused.hint(),
            })
    }
}
