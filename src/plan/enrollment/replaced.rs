//! A machine is replaced: its key was asked for anew (`reissue_after`), another machine enrolled with the new one, and the
//! peer of the older key still bears the name. That one goes, if somebody agrees to it, and the new one gets the name.

use crate::account::actual::Actual;
use crate::account::binding::Binding;
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::model::desired::Desired;
use crate::model::kind::{DeclaredGroup, DeclaredKey};
use crate::model::notice::Stays;
use crate::plan::keys::Decision;
use crate::plan::options::{Options, Prune};
use crate::wire::api::objects::Peer;

/// A peer that goes because another one came in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The key's name.
    pub key: String,
    /// The older peer.
    pub peer: Id,
    /// What tells that it came by an older key of that name.
    pub evidence: Evidence,
    /// The peer that came in its place.
    pub by: Id,
}

/// A living machine that came by a key of that name before the one that has the name.
pub(super) struct Older<'a> {
    pub(super) peer: &'a Peer,
    pub(super) evidence: Evidence,
    /// When its key was made, or else when it enrolled itself, in seconds since 1970.
    made: Option<i64>,
}

/// Returns the living machines of the used keys of that name, but for the one that has the name: those of recorded keys that
/// exist, and those that the inventory has.
pub(super) fn older<'a>(
    name: &str,
    decision: &'a Decision,
    present: Option<&Id>,
    actual: &'a Actual,
    options: &'a Options,
) -> Vec<Older<'a>> {
    let mut older: Vec<Older> = Vec::new();
    let mut add = |id: &Id, evidence: Evidence, made: Option<i64>| {
        let is_known = older.iter().any(|known| known.peer.id == *id);
        let peer = actual.peers.get(id).filter(|_| Some(id) != present);
        if let (Some(peer), false) = (peer, is_known) {
            let enrolled = || peer.created_at.map(|at| at.as_second());
            older.push(Older {
                peer,
                evidence,
                made: made.or_else(enrolled),
            });
        }
    };
    for key in &decision.spent {
        let is_used = decision.used.as_ref() == Some(key);
        let binding = actual.bindings.of_key(key).filter(|_| !is_used);
        if let Some((peer, evidence)) = binding.and_then(Binding::bound) {
            add(peer, evidence, key.created_at());
        }
    }
    let recorded = options.ours.inventory.enrolled.get(name);
    for machine in recorded.into_iter().flatten() {
        add(&machine.id, machine.by, None);
    }
    older
}

impl Older<'_> {
    /// Returns why the peer stays although another one came by a newer key of the name; `None` where it was replaced.
    ///
    /// It is deleted on proof alone, as with offboarding: it came by a recorded key, and the file asked for another one since.
    pub(super) fn stays(
        &self,
        (name, declared): (&str, &DeclaredKey),
        desired: &Desired,
        options: &Options,
    ) -> Option<Stays> {
        let asked = declared.asked_anew(options.now);
        let lists_it = |(_, group): &(_, &DeclaredGroup)| {
            let mut peers = group.peers.iter().flatten();
            self.peer.name != name && peers.any(|listed| *listed == self.peer.name)
        };
        let Some(asked) = asked else {
            return Some(Stays::NotAsked);
        };
        if options.prune == Prune::None {
            return Some(Stays::PruneNone);
        }
        if self.made.is_none_or(|made| made >= asked.as_second()) {
            return Some(Stays::Newer);
        }
        if self.evidence == Evidence::Name {
            return Some(Stays::NameAlone);
        }
        if let Some((group, _)) = desired.groups().find(lists_it) {
            return Some(Stays::Listed(group.clone()));
        }
        None
    }
}
