//! The sentences of members that a group lists, and of the peer that another entry names.

use super::super::{adopt, told_by, who};
use super::key::UNTOLD;
use crate::model::address::Address;
use crate::model::kind::Kind;
use crate::model::notice::{Machine, OfMember, WayOut};

/// What to do for a machine that came otherwise than by the key of its name.
const NEW_KEY: &str =
    "give that machine a new key of this name, with \"enrolled\": false and reissue_after";

/// What an entry does with a name, and what becomes of a peer that is meant.
type Verbs = [&'static str; 2];

const OF_GROUP: Verbs = ["lists", "added"];
const OF_ENTRY: Verbs = ["names", "taken"];

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
                    let meant = meant.as_ref().map(|meant| format!("; {}", meant.words()));
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
    let [lists, added] = verbs;
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
                    "; {} did not enroll with this key, though it has the name: {NEW_KEY}",
                    machines(others)
                ),
            };
            format!("{lists} {name:?}, whose key was used, but its peer is gone{other}")
        }
        OfMember::Absent(meant) => {
            let meant = meant.as_ref().map(|meant| format!("; {}", meant.words()));
            format!(
                "{lists} {name:?}, and no peer is called that{}",
                meant.unwrap_or_default()
            )
        }
        OfMember::MeansNobody { gone, others } => {
            let (has, that) = match others.len() {
                1 => ("has", "that"),
                _ => ("have", "one of them"),
            };
            let meant = match gone {
                Some(id) => {
                    format!("and the machine that it meant ({id}) does not exist any more.")
                }
                None => "which means no machine yet: any machine can choose its own name.".into(),
            };
            let or_there = match verbs == OF_GROUP {
                true => ", or add it to the group in NetBird",
                false => "",
            };
            format!(
                "{lists} {name:?}, {meant} {} {has} the name now. If {that} is the right machine, run {}{or_there}",
                machines(others),
                adopt_peer(name, others)
            )
        }
        OfMember::Twin {
            meant,
            others,
            way_out,
        } => {
            let (are, it, one, rest) = match others.len() {
                1 => ("has", "it is", "it is", "the other"),
                _ => ("have", "they are", "one of them is", "the others"),
            };
            let way_out = match way_out {
                WayOut::NewKey => NEW_KEY.into(),
                WayOut::Adopt => format!("run {}", adopt_peer(name, others)),
            };
            format!(
                "{lists} {name:?}, which is the peer {}; {} {are} the name too, and {it} not {added}. If {one} the machine that \
                 is meant, {way_out}; else rename {rest}",
                machine(meant),
                machines(others)
            )
        }
    }
}

/// The command that says which machine a name means: that one, where it is one.
fn adopt_peer(name: &str, others: &[Machine]) -> String {
    let id = match others {
        [only] => &only.id.0,
        _ => "ID",
    };
    adopt([(Address::new(Kind::Peer, name).key(), id)])
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
