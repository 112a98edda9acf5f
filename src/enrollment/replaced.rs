//! A machine is replaced: its key was asked for anew (`reissue_after`), another machine enrolled with the new one, and the
//! peer of the older key still bears the name. That one goes, if somebody agrees to it, and the new one gets the name.

use super::{Binding, Evidence};
use crate::actual::Actual;
use crate::address::Address;
use crate::api::objects::Peer;
use crate::desired::Desired;
use crate::id::Id;
use crate::keys::Decision;
use crate::kind::{DeclaredGroup, DeclaredKey, Kind};
use crate::ledger::Proof;
use crate::notice::Stays;
use crate::options::{Options, Prune};

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

/// A living peer of an older key.
pub(super) struct Older<'a> {
    pub(super) key: &'a Id,
    pub(super) peer: &'a Peer,
    pub(super) evidence: Evidence,
}

/// Returns the living peers of the used keys of that name, but for the one by whose peer the name is borne.
pub(super) fn older<'a>(
    decision: &'a Decision,
    present: Option<&Id>,
    actual: &'a Actual,
) -> Vec<Older<'a>> {
    let mut older = Vec::new();
    for key in &decision.spent {
        let is_used = decision.used.as_ref() == Some(key);
        let binding = actual.bindings.of_key(key).filter(|_| !is_used);
        if let Some((peer, evidence)) = binding.and_then(Binding::bound)
            && let Some(peer) = actual.peers.get(peer)
            && Some(&peer.id) != present
        {
            older.push(Older {
                key,
                peer,
                evidence,
            });
        }
    }
    older
}

impl Older<'_> {
    /// Returns why the peer stays although another one came by a newer key of the name; `None` where it was replaced.
    ///
    /// It is deleted on proof alone, as with offboarding: the older key is ours and is bound to it, and the file asked for
    /// another one since.
    pub(super) fn stays(
        &self,
        (name, declared): (&str, &DeclaredKey),
        desired: &Desired,
        options: &Options,
    ) -> Option<Stays> {
        let made = self.key.created_at();
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
        if made.is_none_or(|made| made >= asked.as_second()) {
            return Some(Stays::Newer);
        }
        let key = Address::new(Kind::SetupKey, name);
        if options.ledger.proof(&key, made) != Proof::Ours {
            return Some(Stays::NotOurs);
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
