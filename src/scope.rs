//! What of the live account is ours to touch: what stands for a declared entry, what is pruned, what is left alone.
//!
//! It runs before the diff, so that the diff needs no flags. The proof of what is ours is the file's git history beside
//! the creation time in an object's id: the table of design §3.

mod standing;

use std::collections::{BTreeMap, BTreeSet};

use crate::actual::Actual;
use crate::address::Address;
use crate::code::Code;
use crate::held::{Held, Why};
use crate::id::Id;
use crate::kind::{Kind, Live, Resource};
use crate::ledger::{Ledger, Proof};
use crate::notice::Notice;
use crate::options::{Options, Prune};
use crate::problem::{Impossible, Problem};
use crate::reason::Reason;
use crate::text::listed;

use standing::{Claim, Standing};

/// The result: live objects by what is to become of them.
#[derive(Debug, Default)]
pub struct Scope {
    /// The live object of each declared entry.
    pub managed: BTreeMap<Address, Live>,
    /// Goes, and why.
    pub pruned: Vec<(Address, Live, Reason)>,
    /// Was declared once and stays all the same.
    pub held: Vec<Held>,
    /// Left alone, of the kinds that the file manages.
    pub unmanaged: BTreeSet<Address>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
    /// Names that stand for several objects.
    pub problems: Vec<Problem>,
}

/// What is said of an object that a file declares for the first time.
pub const TAKES_OVER: &str = "lives in NetBird already: the file takes it over";

/// What the server makes by itself for a temporary access (netbird-api.md §4).
const TEMPORARY: &str = "Temporary access policy for peer ";

/// The file, as far as it says what is whose.
#[derive(Debug, Clone, Copy)]
pub struct Scoped<'a> {
    /// Its entries, but for setup keys.
    pub desired: &'a BTreeMap<Address, Resource>,
    /// The kinds of its sections.
    pub managed: &'a BTreeSet<Kind>,
    /// Its setup keys: `keys` decides about those.
    pub keys: &'a BTreeSet<&'a str>,
    /// The groups that it refers to.
    pub referenced: &'a BTreeSet<String>,
}

/// Sorts the live objects of every kind.
pub fn scope(file: Scoped, actual: &Actual, options: &Options) -> Scope {
    let mut scope = Scope::default();
    for (address, namesakes) in &actual.objects {
        if !file.managed.contains(&address.kind) {
            continue;
        }
        match file.desired.get(address) {
            Some(resource) => declared(&mut scope, address, resource, namesakes, actual, options),
            None if address.kind == Kind::SetupKey && file.keys.contains(address.name.as_str()) => {
            }
            None => {
                let is_referenced =
                    address.kind == Kind::Group && file.referenced.contains(&address.name);
                let standings = standing::standings(&options.ledger, address, namesakes);
                for (live, standing) in namesakes.iter().zip(standings) {
                    undeclared(
                        &mut scope,
                        (address, live),
                        standing,
                        is_referenced,
                        actual,
                        options,
                    );
                }
            }
        }
    }
    scope
}

fn declared(
    scope: &mut Scope,
    address: &Address,
    desired: &Resource,
    namesakes: &[Live],
    actual: &Actual,
    options: &Options,
) {
    let claimed = match standing::claim(&options.ledger, address, desired, namesakes) {
        Claim::These(indices) => indices,
        Claim::None => Vec::new(),
    };
    let (these, others): (Vec<(usize, &Live)>, _) = namesakes
        .iter()
        .enumerate()
        .partition(|(index, _)| claimed.contains(index));
    let others: Vec<&Live> = others.into_iter().map(|(_, live)| live).collect();
    beside(scope, address, &others, actual, options);
    let these: Vec<Live> = these.into_iter().map(|(_, live)| live.clone()).collect();
    let [oldest, later @ ..] = these.as_slice() else {
        return;
    };
    // two runs at once make the same object twice, in what the file leaves open too; who came into a group since is no
    // difference, since members move
    let all_equal = || {
        let equal = |live: &Live| live.resource == oldest.resource;
        address.kind == Kind::Group || later.iter().all(equal)
    };
    let one_is_meant =
        later.is_empty() || (are_twins(address, &these, actual, options) && all_equal());
    if !one_is_meant {
        scope.problems.push(ambiguous(address, &these));
        return;
    }
    let made_it = |live: &Live| {
        let made = live.id.created_at();
        options.ledger.proof(address.kind, &address.name, made) == Proof::Ours
    };
    if is_new(&options.ledger, address) && !made_it(oldest) {
        let notice = Notice::about(Code::TakesOver, address, TAKES_OVER);
        scope.notices.push(notice);
    }
    scope.managed.insert(address.clone(), oldest.clone());
    // a group goes once everything has moved: `plan::twins`
    let surplus = later.iter().filter(|_| address.kind != Kind::Group);
    let surplus = surplus.map(|live| (address.clone(), live.clone(), Reason::Second));
    scope.pruned.extend(surplus);
}

/// Returns whether several objects of one name are all provably ours: runs at the same time made them.
pub fn are_twins(
    address: &Address,
    namesakes: &[Live],
    actual: &Actual,
    options: &Options,
) -> bool {
    let is_ours =
        |live: &Live| standing::standing(&options.ledger, address, live) == Standing::Ours;
    let all_ours = match options.prune {
        Prune::None => false,
        Prune::Owned => namesakes.iter().all(is_ours),
        Prune::All => true,
    };
    let mut protected = namesakes
        .iter()
        .map(|live| is_protected(address.kind, live, actual));
    namesakes.len() > 1 && all_ours && !protected.any(|protected| protected)
}

/// Namesakes of a declared entry that the entry does not stand for.
fn beside(
    scope: &mut Scope,
    address: &Address,
    others: &[&Live],
    actual: &Actual,
    options: &Options,
) {
    let goes =
        |live: &&&Live| options.prune == Prune::All && !is_protected(address.kind, live, actual);
    let (pruned, left): (Vec<&Live>, Vec<&Live>) = others.iter().partition(goes);
    let goes = |live: &Live| (address.clone(), live.clone(), Reason::NotDeclared);
    scope.pruned.extend(pruned.into_iter().map(goes));
    if left.is_empty() {
        return;
    }
    let words = |live: &&Live| format!("{} ({})", live.id, live.resource.form_in_words());
    let text = format!(
        "has a namesake in NetBird that is not this file's and is left alone: {}",
        listed(&left.iter().map(words).collect::<Vec<_>>())
    );
    scope
        .notices
        .push(Notice::about(Code::Namesake, address, text));
    scope.unmanaged.insert(address.clone());
}

/// Whether the newest version of the file, or the working file alone, is the first that declares the entry.
pub fn is_new(ledger: &Ledger, address: &Address) -> bool {
    let newest = ledger.commits().last().map(|commit| commit.begins);
    let spans = ledger.spans(address.kind, &address.name);
    ledger.is_known()
        && match spans.as_slice() {
            [] => !ledger.was_declared(address.kind, &address.name),
            [only] => only.to.is_none() && Some(only.from) == newest,
            _ => false,
        }
}

fn undeclared(
    scope: &mut Scope,
    (address, live): (&Address, &Live),
    standing: Standing,
    is_referenced: bool,
    actual: &Actual,
    options: &Options,
) {
    let protected = is_protected(address.kind, live, actual);
    let goes = |reason: Reason| (address.clone(), live.clone(), reason);
    let held = |why: Why| Held {
        address: address.clone(),
        id: live.id.clone(),
        why,
        cause: None,
    };
    let why = match standing {
        Standing::Older => Some(Why::Older),
        Standing::Newer => Some(Why::Newer),
        Standing::Changed => Some(Why::Changed),
        Standing::Undated => Some(Why::Undated),
        Standing::Ours | Standing::Foreign | Standing::Unproved => None,
    };
    match (options.prune, standing, why) {
        _ if protected => {}
        (Prune::Owned | Prune::All, Standing::Ours, _) => {
            return scope
                .pruned
                .push(goes(Reason::NoLongerDeclared { agreed: false }));
        }
        // what the file refers to and never declared is somebody else's, whatever the flags
        (Prune::All, ..) if is_referenced => {}
        (Prune::All, ..) => return scope.pruned.push(goes(Reason::NotDeclared)),
        (Prune::Owned, _, Some(_)) if options.release.contains(&live.id) => {
            return scope
                .pruned
                .push(goes(Reason::NoLongerDeclared { agreed: true }));
        }
        (Prune::Owned, _, Some(why)) => return scope.held.push(held(why)),
        (Prune::Owned, _, None) | (Prune::None, ..) => {}
    }
    let is_all = live.name == crate::kind::ALL && protected;
    // of keys only those that can still be used are worth a word
    let is_dead_key = actual.keys.get(&live.id).is_some_and(|key| !key.valid);
    if !is_all && !is_dead_key {
        scope.unmanaged.insert(address.clone());
    }
}

/// The problem of a declared name that stands for several live objects.
pub fn ambiguous(address: &Address, namesakes: &[Live]) -> Problem {
    let ids = namesakes.iter().map(|live| live.id.clone()).collect();
    Problem::new(address, Impossible::Ambiguous(ids))
}

/// Returns whether an object is never deleted, whatever the flags.
fn is_protected(kind: Kind, live: &Live, actual: &Actual) -> bool {
    match kind {
        Kind::Group => actual.protected_groups.contains_key::<Id>(&live.id),
        Kind::Policy => live.name.starts_with(TEMPORARY),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
