//! A machine is replaced: its key was asked for anew (`reissue_after`), another machine enrolled with the new one, and the
//! peer of the older key still bears the name. That one goes, if somebody agrees to it, and the new one gets the name.

use crate::account::actual::Actual;
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::model::desired::Desired;
use crate::model::kind::{Group, SetupKey};
use crate::model::notice::Stays;
use crate::plan::keys::{Came, Decision};
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
    pub(super) came: &'a Came,
}

/// Returns the living machines of the used keys of an entry, but for the one that has the name.
pub(super) fn older<'a>(
    decision: &'a Decision,
    present: Option<&Id>,
    actual: &'a Actual,
) -> Vec<Older<'a>> {
    let older = decision.machines.iter();
    let older = older.filter(|came| Some(&came.peer) != present);
    let older = older.filter_map(|came| {
        let peer = actual.peers.get(&came.peer)?;
        Some(Older { peer, came })
    });
    older.collect()
}

impl Older<'_> {
    /// Returns why the peer stays although another one came by a newer key of the name; `None` where it was replaced.
    ///
    /// It is deleted on proof alone, as with offboarding: it came by a recorded key, and the file asked for another one since.
    pub(super) fn stays(
        &self,
        (name, declared): (&str, &SetupKey),
        desired: &Desired,
        options: &Options,
    ) -> Option<Stays> {
        let asked = declared.asked_anew(options.now);
        let lists_it = |(_, group): &(_, &Group)| {
            let mut peers = group.listed.iter().flatten();
            self.peer.name != name && peers.any(|listed| *listed == self.peer.name)
        };
        let Some(asked) = asked else {
            return Some(Stays::NotAsked);
        };
        if options.prune == Prune::None {
            return Some(Stays::PruneNone);
        }
        if !self.came.is_superseded(Some(asked)) {
            return Some(Stays::Newer);
        }
        if self.came.by == Evidence::Name {
            return Some(Stays::NameAlone);
        }
        if let Some((group, _)) = desired.groups().find(lists_it) {
            return Some(Stays::Listed(group.clone()));
        }
        None
    }
}
