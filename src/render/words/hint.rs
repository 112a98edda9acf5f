//! The sentences of what people may have meant by a name.

use crate::base::text;
use crate::model::hint::{Hint, Looks};
use crate::model::kind::ALL;

/// Returns what may be meant.
pub(crate) fn hint(hint: &Hint) -> String {
    match hint {
        Hint::GroupAll => format!("the group of every peer is called {ALL:?}"),
        Hint::NoMemberAll => {
            format!("members are named one by one; every peer is in {ALL:?} without being listed")
        }
        Hint::NoGroup(looks) => format!(
            "this looks like {}: groups stand here, by their names",
            like(*looks)
        ),
        Hint::NoMember(looks) => format!(
            "this looks like {}: members are the names of setup keys and of peers",
            like(*looks)
        ),
        Hint::Near(name) => text::ask(name),
        Hint::PeerOfName(name) => format!("write {name:?}, which is that peer's name"),
    }
}

fn like(looks: Looks) -> &'static str {
    match looks {
        Looks::Address => "an address",
        Looks::DnsName => "a DNS name",
        Looks::Id => "an id of NetBird",
    }
}
