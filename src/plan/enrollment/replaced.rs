//! A machine is replaced: its key was asked for anew (`reissue_after`), another machine enrolled with the new one, and the
//! peer of the older key still bears the name. That one goes, if somebody agrees to it, and the new one gets the name.

use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::model::notice::Stays;
use crate::plan::keys::{Came, Choice};
use crate::plan::options::Prune;
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

impl Choice<'_> {
    /// Returns why the peer of an older key stays although another one came by a newer key of the name; `None` where it was replaced.
    ///
    /// It is deleted on proof alone, as with offboarding: it came by a recorded key, and the file asked for another one since.
    pub(super) fn stays(&self, peer: &Peer, came: &Came) -> Option<Stays> {
        match self.asked {
            None => Some(Stays::NotAsked),
            Some(_) if self.options.prune == Prune::None => Some(Stays::PruneNone),
            Some(_) if !came.is_superseded(self.asked) => Some(Stays::Newer),
            Some(_) if came.by == Evidence::Name => Some(Stays::NameAlone),
            Some(_) => {
                let has_other_name = peer.name != self.address.name;
                let mut groups = self.desired.groups().filter(|_| has_other_name);
                let listing = groups.find(|(_, group)| group.lists(&peer.name));
                listing.map(|(group, _)| Stays::Listed(group.clone()))
            }
        }
    }
}
