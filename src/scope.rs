//! What of the live account is ours to touch: what stands for a declared entry, what is pruned, what is left alone.
//!
//! It runs before the diff, so that the diff needs no flags.

use std::collections::{BTreeMap, BTreeSet};

use crate::actual::Actual;
use crate::plan::Problem;
use crate::resource::{Live, Resource, differences};
use crate::state::{Address, Id, Kind};

/// Which live objects that the file does not declare are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Prune {
    /// None: they are listed as unmanaged.
    None,
    /// Every API-made object of a managed section, and every foreign member of a group that declares its peers.
    All,
}

/// The result: live objects by what is to become of them.
#[derive(Debug, Default)]
pub struct Scope {
    /// The live object of each declared entry.
    pub managed: BTreeMap<Address, Live>,
    /// Goes, and why.
    pub pruned: Vec<(Address, Live, String)>,
    /// Left alone, of the kinds that the file manages.
    pub unmanaged: BTreeSet<Address>,
    /// Names that stand for several objects.
    pub problems: Vec<Problem>,
}

/// What the server makes by itself for a temporary access (netbird-api.md §4).
const TEMPORARY: &str = "Temporary access policy for peer ";

/// Sorts the live objects of every kind but setup keys, whose namesakes `keys` decides about.
///
/// `managed` are the kinds of the file's sections, `referenced` the groups that it refers to: those stay.
pub fn scope(
    desired: &BTreeMap<Address, Resource>,
    managed: &BTreeSet<Kind>,
    referenced: &BTreeSet<String>,
    actual: &Actual,
    prune: Prune,
) -> Scope {
    let mut scope = Scope::default();
    for (address, namesakes) in &actual.objects {
        if address.kind == Kind::SetupKey || !managed.contains(&address.kind) {
            continue;
        }
        match desired.get(address) {
            Some(resource) => declared(&mut scope, address, resource, namesakes, prune),
            None => {
                for live in namesakes {
                    let kept = is_protected(address.kind, live, actual)
                        || is_referenced(address, referenced);
                    if prune == Prune::All && !kept {
                        let reason = "not declared (--prune all)".to_owned();
                        scope.pruned.push((address.clone(), live.clone(), reason));
                    } else if !is_all(live, actual) {
                        scope.unmanaged.insert(address.clone());
                    }
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
    prune: Prune,
) {
    let [oldest, later @ ..] = namesakes else {
        return;
    };
    let all_equal = || {
        namesakes
            .iter()
            .all(|live| differences(desired, &live.resource).is_empty())
    };
    if later.is_empty() || (prune == Prune::All && all_equal()) {
        scope.managed.insert(address.clone(), oldest.clone());
        let surplus = later.iter().map(|live| {
            (
                address.clone(),
                live.clone(),
                "a second one of that name, and equal".to_owned(),
            )
        });
        scope.pruned.extend(surplus);
    } else {
        scope.problems.push(ambiguous(address, namesakes));
    }
}

/// The problem of a declared name that stands for several live objects.
pub fn ambiguous(address: &Address, namesakes: &[Live]) -> Problem {
    let ids: Vec<&str> = namesakes.iter().map(|live| live.id.0.as_str()).collect();
    let way_out = match address.kind {
        Kind::SetupKey => format!(
            "delete the others in NetBird, or use --replace setup_keys/{}",
            address.name
        ),
        _ => "rename or delete the others in NetBird".into(),
    };
    Problem::new(
        address,
        format!(
            "stands for {} {} in NetBird: {}",
            ids.len(),
            address.kind.plural(),
            ids.join(", ")
        ),
        Some(format!("nobody can tell which one is meant; {way_out}")),
    )
}

fn is_referenced(address: &Address, referenced: &BTreeSet<String>) -> bool {
    address.kind == Kind::Group && referenced.contains(&address.name)
}

fn is_all(live: &Live, actual: &Actual) -> bool {
    live.name == crate::resource::ALL && actual.protected_groups.contains_key(&live.id)
}

/// Returns whether an object is never deleted, whatever the flags.
fn is_protected(kind: Kind, live: &Live, actual: &Actual) -> bool {
    match kind {
        Kind::Group => actual.protected_groups.contains_key::<Id>(&live.id),
        Kind::Policy => live.name.starts_with(TEMPORARY),
        _ => false,
    }
}
