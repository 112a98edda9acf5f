//! The sentences of members that a group lists, and of the peer that another entry names.

use super::super::{hint, told_by, who};
use super::key::UNTOLD;
use crate::address::Address;
use crate::kind::Kind;
use crate::notice::{Machine, OfMember, WayOut};

/// What to do for a machine that came otherwise than by the key of its name.
const NEW_KEY: &str =
    "give that machine a new key of this name, with \"enrolled\": false and reissue_after";

/// What an entry does with a name, what it did, the same as an order, and what becomes of a peer that is meant.
type Verbs = [&'static str; 4];

const OF_GROUP: Verbs = ["lists", "listed", "list", "added"];
const OF_ENTRY: Verbs = ["names", "named", "name", "taken"];

pub(super) fn member(name: &str, of: &OfMember, at: Option<&Address>) -> String {
    let verbs = match at.is_none_or(|at| at.kind == Kind::Group) {
        true => OF_GROUP,
        false => OF_ENTRY,
    };
    match of {
        // an entry of machines bears the name that it means
        OfMember::Awaited(why) if at.is_some_and(|at| at.kind == Kind::Peer) => {
            let why = match why.as_deref() {
                None => "has not enrolled yet".into(),
                Some(OfMember::Absent(meant)) => {
                    let meant = meant.as_ref().map(|meant| format!("; {}", hint(meant)));
                    format!("is the name of no peer yet{}", meant.unwrap_or_default())
                }
                Some(why) => said(name, why, verbs),
            };
            format!("{why}: its settings wait until one is meant")
        }
        _ => said(name, of, verbs),
    }
}

fn said(name: &str, of: &OfMember, verbs: Verbs) -> String {
    let [lists, listed, list, added] = verbs;
    match of {
        OfMember::Meant(peer) => format!("{lists} {name:?}, which is the peer {}", who(peer)),
        OfMember::Awaited(None) => {
            format!(
                "{lists} {name:?}, whose peer has not enrolled yet: the entry waits until it has"
            )
        }
        OfMember::Awaited(Some(why)) => {
            format!(
                "{}; the entry waits until a peer is meant",
                said(name, why, verbs)
            )
        }
        OfMember::ReusableKey => {
            format!("{lists} {name:?}, a reusable key: its peers join through auto_groups")
        }
        OfMember::BoundByTime(peer, by) => format!(
            "{lists} {name:?}, which is the peer {}{}",
            who(peer),
            told_by(*by, ": ")
        ),
        OfMember::Untold => format!("{lists} {name:?}, whose key was used, and {UNTOLD}"),
        OfMember::OneOf(peers) => format!(
            "{lists} {name:?}, whose key was used by one of several peers ({}): which one cannot be told",
            peers.join(", ")
        ),
        OfMember::Gone(others) => {
            let other = match others.is_empty() {
                true => String::new(),
                false => format!(
                    "; {} came otherwise, though it bears the name: {NEW_KEY}",
                    machines(others)
                ),
            };
            format!("{lists} {name:?}, whose key was used, but its peer is gone{other}")
        }
        OfMember::ByName => {
            format!("takes the peer {name:?} by its name: its key is marked enrolled and gone")
        }
        OfMember::EnrolledNobody => {
            format!("{lists} {name:?}, which is marked enrolled but has no peer")
        }
        OfMember::EnrolledSeveral(number) => format!(
            "{lists} {name:?}, which is marked enrolled; its key is gone and {number} peers bear the name: nobody is {added}"
        ),
        OfMember::Absent(meant) => {
            let meant = meant.as_ref().map(|meant| format!("; {}", hint(meant)));
            format!(
                "{lists} {name:?}, and no peer is called that{}",
                meant.unwrap_or_default()
            )
        }
        OfMember::TooYoung => format!(
            "{lists} {name:?}: the peer of that name is younger than the commit that {listed} it, so it is not {added}; {list} it \
             again in a new commit if it is meant"
        ),
        OfMember::Unproved => format!(
            "{lists} {name:?}: without git history nobody can tell that the peer of that name is meant, so it is not {added}"
        ),
        OfMember::Several(number) => {
            format!("{lists} {name:?}, and {number} peers are called that: nobody is {added}")
        }
        OfMember::Twin {
            meant,
            others,
            way_out,
        } => {
            let (are, it, one, rest) = match others.len() {
                1 => ("bears", "it is", "it is", "the other"),
                _ => ("bear", "they are", "one of them is", "the others"),
            };
            let way_out = match way_out {
                WayOut::NewKey => NEW_KEY.into(),
                WayOut::Delete(id) => {
                    format!("delete {id} in NetBird and {list} the name in a new commit")
                }
            };
            format!(
                "{lists} {name:?}, which is the peer {}; {} {are} the name too, and {it} not {added}. If {one} the machine that \
                 is meant, {way_out}; else rename {rest}",
                machine(meant),
                machines(others)
            )
        }
        OfMember::WasKey => format!(
            "{lists} {name:?}, which was a setup key until this change: it means the peer of that name now, and keeps it"
        ),
    }
}

fn machines(of: &[Machine]) -> String {
    of.iter().map(machine).collect::<Vec<_>>().join(" and ")
}

fn machine(of: &Machine) -> String {
    match (of.connected, of.last_seen) {
        (true, _) => format!("{} (connected)", of.id),
        (false, Some(at)) => format!("{} (last seen {at:.0})", of.id),
        (false, None) => of.id.to_string(),
    }
}
