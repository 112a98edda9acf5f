//! Who is meant by the names in a group's `peers`, and wherever else an entry names a peer: names of setup keys and of live
//! peers become ids.
//!
//! Hostnames are chosen by clients and are not unique, so a name alone proves nothing (docs/ownership.md, "Who came by
//! which key"). Whatever cannot be told is a notice and never an error: nobody may block an apply by choosing a
//! hostname.

mod doubt;
mod names;

use std::cell::LazyCell;
use std::collections::BTreeSet;

use crate::account::{Actual, Binding};
use crate::base::{Evidence, Id};
use crate::model::{Address, Desired, Kind, Notice, OfMember, OfPeer, WayOut, hint};
use crate::plan::keys::{Came, Used};
use crate::plan::{Decisions, Options, Prune, Replaced};
use crate::wire::api::objects;
use doubt::{gone, namesakes, several};
use names::all_named;

pub use names::{Meaning, Names};

/// The members of one declared group.
#[derive(Debug, Default, PartialEq)]
pub struct Members<'a> {
    /// Ids that the group will have.
    pub peers: BTreeSet<Id>,
    /// Setup keys whose peer joins once it enrolls.
    pub pending: BTreeSet<String>,
    /// Members that the file does not name and that stay.
    pub unmanaged: BTreeSet<Id>,
    /// Whom the listed names mean, sorted.
    pub meant: Vec<(&'a str, Id)>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
}

/// What names are resolved against.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The file.
    pub desired: &'a Desired,
    /// The live account.
    pub actual: &'a Actual,
    /// What is decided about the file's keys.
    pub decisions: &'a Decisions,
    /// Whom names mean that are no names of keys.
    pub names: &'a Names,
    /// Machines that were replaced: they leave their groups by being deleted.
    pub replaced: &'a [Replaced],
    /// Machines that wait until somebody lets them in.
    pub unapproved: &'a BTreeSet<&'a Id>,
    /// What else was asked for.
    pub options: &'a Options,
}

/// Resolves the names in `peers` of a declared group, which was recorded by that name. `live` are the group's members now.
pub fn resolve<'a>(
    (name, recorded): (&str, &str),
    wanted: &'a BTreeSet<String>,
    live: &BTreeSet<Id>,
    known: Known,
) -> Members<'a> {
    let (desired, actual, options) = (known.desired, known.actual, known.options);
    let mut members = Members::default();
    let group = Address::new(Kind::Group, name);
    members.meant.reserve_exact(wanted.len());
    let mut named = Vec::with_capacity(wanted.len());
    let mut untold = BTreeSet::new();
    for member in wanted {
        let found = find(member, &group, live, known);
        let mut tell = |what| members.notices.push(Notice::member(&group, member, what));
        match found {
            Found::Peers(ids, said) => {
                if let [only] = &ids[..] {
                    members.meant.push((member, only.clone()));
                }
                named.extend(ids);
                said.into_iter().for_each(tell);
            }
            Found::Pending(older) => {
                if let [only] = &older[..] {
                    members.meant.push((member, only.clone()));
                }
                named.extend(older);
                members.pending.insert(member.clone());
            }
            Found::Nobody(why) => {
                untold.insert(member.as_str());
                tell(why);
            }
        }
    }
    let replaced = known.replaced.iter().map(|of| &of.peer);
    named.extend(replaced.filter(|id| live.contains(*id)).cloned());
    let named = BTreeSet::from_iter(named);
    let waits = named.iter().filter(|id| known.unapproved.contains(id));
    let waits = waits.filter_map(|id| actual.peers.get(id));
    members.notices.extend(waits.map(|peer| {
        let peer = Address::new(Kind::Peer, &peer.name);
        Notice::about(&peer, OfPeer::WaitsForApproval)
    }));
    let others = live.difference(&named);
    // where a name that is listed tells nobody, whoever has it stays: else anybody could throw them out by taking the name
    // and so does a member that the list of peers lacks: it is not known who it is
    let is_untold = |id: &Id| {
        let peer = actual.peers.get(id);
        peer.is_none_or(|peer| untold.contains(peer.name.as_str()))
    };
    let inventory = &options.ours.inventory;
    let left = LazyCell::new(|| left(&Address::new(Kind::Group, recorded), wanted, known));
    let was_listed = |id: &Id| inventory.member(recorded, id).is_some() || left.contains(id);
    let stays = |id: &&Id| match options.prune {
        _ if is_untold(id) => true,
        Prune::None => true,
        Prune::Owned => !was_listed(id),
        Prune::All => !was_listed(id) && must_stay(id, name, desired, actual),
    };
    members.unmanaged = others.filter(stays).cloned().collect();
    members.peers = named;
    members.peers.extend(members.unmanaged.iter().cloned());
    members
}

/// Returns whom the names meant that left a group's list since the last apply: no run may have come between an enrollment and such a
/// change.
fn left(at: &Address, wanted: &BTreeSet<String>, known: Known) -> BTreeSet<Id> {
    let (ours, desired, actual) = (&known.options.ours, known.desired, known.actual);
    let before = ours.versions.older().flat_map(|file| file.listed(at));
    let names: BTreeSet<&str> = before.filter(|name| !wanted.contains(*name)).collect();
    let meant = names.into_iter().flat_map(|name| {
        let keys = ours.inventory.of(&Address::new(Kind::SetupKey, name).key());
        let came = keys
            .into_iter()
            .filter_map(|(key, _)| ours.machine_of(name, key, desired, actual));
        let known = ours.inventory.enrolled.get(name).into_iter().flatten();
        let came = came.chain(known.map(|machine| (&machine.id, machine.by)));
        let came = came
            .filter(|(_, by)| *by != Evidence::Name)
            .map(|(id, _)| id);
        came.chain(ours.inventory.names.get(name).and_then(Option::as_ref))
    });
    meant.cloned().collect()
}

/// Returns the peer that the entry `at` means by a name, and what a reader should know; nobody where it has to wait. `live`
/// are the peers that the objects of that address name now.
pub fn one(
    at: &Address,
    name: &str,
    live: &BTreeSet<Id>,
    known: Known,
) -> (Option<Id>, Option<Notice>) {
    let actual = known.actual;
    let notice = |what| Notice::member(at, name, what);
    let waits = |why| (None, Some(notice(OfMember::Awaited(why))));
    let bears_another = |id: &Id| actual.peers.get(id).is_some_and(|peer| peer.name != name);
    match find(name, at, live, known) {
        Found::Peers(ids, said) => {
            let meant = |id: &&Id| !live.contains(*id) && bears_another(id);
            let meant = ids.first().filter(meant);
            let meant = meant.map(|id| OfMember::Meant(actual.who(id)));
            let said = said.or(meant).map(notice);
            (ids.into_iter().next(), said)
        }
        // the machine of an older key, until another one comes in its place
        Found::Pending(ids) if !ids.is_empty() => (ids.into_iter().next(), None),
        Found::Pending(_) => waits(None),
        Found::Nobody(why) => waits(Some(Box::new(why))),
    }
}

fn find(name: &str, at: &Address, live: &BTreeSet<Id>, known: Known) -> Found {
    match known.decisions.contains_key(name) {
        true => by_key(name, at, live, known),
        false => by_name(name, live, known),
    }
}

enum Found {
    /// These, at least one, and what is to be said about it.
    Peers(Vec<Id>, Option<OfMember>),
    /// Joins when it enrolls. An older key of that name may have left members: they stay till then.
    Pending(Vec<Id>),
    /// Nobody, and why.
    Nobody(OfMember),
}

/// A setup-key name is the peer bound to that key; where the key is marked enrolled and gone from NetBird, it is whom the
/// inventory says.
fn by_key(member: &str, at: &Address, live: &BTreeSet<Id>, known: Known) -> Found {
    let (desired, actual) = (known.desired, known.actual);
    let (Some(declared), Some(decision)) = (desired.setup_key(member), known.decisions.get(member))
    else {
        return Found::Pending(Vec::new());
    };
    if !declared.is_for_one() {
        return Found::Nobody(OfMember::ReusableKey);
    }
    let namesakes = |peer| namesakes(member, peer, WayOut::NewKey, known);
    let key = match &decision.used {
        Some(Used::Key(key)) => key,
        Some(Used::Machine(Came { peer, .. })) => {
            return Found::Peers(vec![peer.clone()], namesakes(peer));
        }
        None if declared.enrolled => {
            return match by_name(member, live, known) {
                Found::Nobody(OfMember::Absent(_)) => Found::Nobody(OfMember::OfNoMachine),
                found => found,
            };
        }
        // those that are to be replaced
        None => {
            let older = decision.machines.iter().map(|of| &of.peer);
            return Found::Pending(older.filter(|id| live.contains(*id)).cloned().collect());
        }
    };
    match actual.bindings.of_key(key) {
        Some(Binding::Several(peers)) => several(at, peers, live, known),
        binding => match binding.and_then(Binding::bound) {
            Some((peer, evidence)) => {
                // of a pending key the enrollment says it, and of one that is recorded it was said
                let recorded = known.options.ours.inventory.enrolled.get(member);
                let is_recorded = recorded.into_iter().flatten().any(|of| of.id == *peer);
                let joins = declared.enrolled && !live.contains(peer) && !is_recorded;
                let told = (joins && evidence != Evidence::Event)
                    .then(|| OfMember::BoundByTime(actual.who(peer), evidence));
                Found::Peers(vec![peer.clone()], told.or_else(|| namesakes(peer)))
            }
            _ if actual.bindings.may_be_untold(key) => Found::Nobody(OfMember::Untold),
            _ => Found::Nobody(gone(member, actual)),
        },
    }
}

/// Another name is the machine that it was bound to. Of one that means nobody, whom somebody put there by hand stays there.
fn by_name(member: &str, live: &BTreeSet<Id>, known: Known) -> Found {
    if let Some(id) = known.names.meant(member) {
        let said = namesakes(member, id, WayOut::Adopt, known);
        return Found::Peers(vec![id.clone()], said);
    }
    let others = all_named(member, known);
    let there = others.iter().filter(|machine| live.contains(&machine.id));
    let there: Vec<Id> = there.map(|machine| machine.id.clone()).collect();
    match others.is_empty() {
        _ if !there.is_empty() => Found::Peers(there, None),
        true => Found::Nobody(OfMember::Absent(meant(member, known))),
        false => Found::Nobody(OfMember::MeansNobody {
            gone: match known.names.meanings.get(member) {
                Some(Meaning::Nobody(gone)) => gone.clone(),
                _ => None,
            },
            others,
        }),
    }
}

/// What may be meant by a name that neither a key nor a peer has.
fn meant(member: &str, known: Known) -> Option<String> {
    let (desired, actual) = (known.desired, known.actual);
    let is_otherwise_called = |peer: &&objects::Peer| {
        peer.id.0 == member || peer.ip == member || peer.dns_label == member
    };
    if let Some(peer) = actual.peers.iter().find(is_otherwise_called) {
        return Some(format!("write {:?}, which is that peer's name", peer.name));
    }
    let keys = desired.setup_keys().map(|(name, _)| name.as_str());
    let peers = actual.peers.iter().map(|peer| peer.name.as_str());
    let names = known.names.may_guess.then(|| keys.chain(peers));
    hint::member(member, names.into_iter().flatten())
}

/// The names by which a file can list a peer: its own, and that of the key by which it came.
pub fn listed_names<'a>(peer: &Id, actual: &'a Actual) -> impl Iterator<Item = &'a str> + use<'a> {
    let name = actual.peers.get(peer).map(|peer| peer.name.as_str());
    let key = actual
        .bindings
        .key_of(peer)
        .and_then(|key| actual.keys.get(key));
    name.into_iter().chain(key.map(|key| key.name.as_str()))
}

/// The same, to keep.
pub fn names_of(peer: &Id, actual: &Actual) -> BTreeSet<String> {
    listed_names(peer, actual).map(str::to_owned).collect()
}

/// Unmanaged members that stay even under `--prune all`: persons' and ephemeral peers, and peers that came by a declared
/// key that grants the group. Where such a key is reusable and the log no longer says who came by it, the peer stays.
fn must_stay(peer: &Id, group: &str, desired: &Desired, actual: &Actual) -> bool {
    let Some(facts) = actual.peers.get(peer) else {
        return true;
    };
    if !facts.user_id.is_empty() || facts.ephemeral {
        return true;
    }
    let grants = |name: &str| {
        let groups = desired
            .setup_key(name)
            .and_then(|key| key.auto_groups.as_ref());
        groups.is_some_and(|groups| groups.contains(group))
    };
    match actual.bindings.key_of(peer).map(|key| actual.keys.get(key)) {
        Some(Some(key)) => grants(&key.name),
        Some(None) => false,
        None => desired
            .setup_keys()
            .any(|(name, key)| !key.is_for_one() && grants(name)),
    }
}

#[cfg(test)]
mod tests;
