//! What is to be said of the members that a group lists, and of the peer that another entry names.

use std::fmt;

use jiff::Timestamp;

use super::key::UNTOLD;
use crate::base::code::Code;
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::hint::Hint;
use crate::model::kind::Kind;
use crate::model::who::Who;

/// What is to be said of a name that a group lists, or that another entry has for its peer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfMember {
    /// It is a reusable key.
    ReusableKey,
    /// It is that peer, and the event log does not tell so.
    BoundByTime(Who, Evidence),
    /// Who used its key a server before 0.55 cannot tell.
    Untold,
    /// Its key was used by one of these.
    OneOf(Vec<String>),
    /// Its key was used, and its peer is gone; these bear the name.
    Gone(Vec<Machine>),
    /// No peer bears the name; what may be meant.
    Absent(Option<Hint>),
    /// It means nobody, or one that does not exist any more; these have the name.
    MeansNobody {
        /// The one that it meant.
        gone: Option<Id>,
        /// Those that have the name.
        others: Vec<Machine>,
    },
    /// Others bear the name of the one that is meant.
    Twin {
        /// The one that is meant.
        meant: Machine,
        /// The others.
        others: Vec<Machine>,
        /// What to do where another is the right one.
        way_out: WayOut,
    },
    /// It is that peer, which bears another name.
    Meant(Who),
    /// The entry waits for its peer: it has not enrolled, or that is why nobody is meant.
    Awaited(Option<Box<OfMember>>),
}

/// A peer, and what tells people whether its machine lives.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Machine {
    /// Its id.
    pub id: Id,
    /// Whether it is connected.
    pub connected: bool,
    /// When it was seen last.
    pub last_seen: Option<Timestamp>,
}

/// What to do where another peer of a name is the right one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WayOut {
    /// Give it a new key of the name.
    NewKey,
    /// Say that the name means it.
    Adopt,
}

/// What to do for a machine that came otherwise than by the key of its name.
const NEW_KEY: &str =
    "give that machine a new key of this name, with \"enrolled\": false and reissue_after";

impl OfMember {
    /// Returns its cause, and what it says of that name in the entry of that address.
    pub(super) fn said(&self, name: &str, at: &Address) -> (Code, String) {
        let is_group = at.kind == Kind::Group;
        // what an entry does with a name, and what becomes of a peer that is meant
        let [lists, added] = match is_group {
            true => ["lists", "added"],
            false => ["names", "taken"],
        };
        match self {
            OfMember::Meant(peer) => (
                Code::PeerMeant,
                format!("{lists} {name:?}, which is the peer {peer}"),
            ),
            // an entry of machines bears the name that it means
            OfMember::Awaited(why) if at.kind == Kind::Peer => {
                let why = match why.as_deref() {
                    None => "has not enrolled yet".into(),
                    Some(OfMember::Absent(meant)) => {
                        format!("is the name of no peer yet{}", behind(meant.as_ref()))
                    }
                    Some(why) => why.said(name, at).1,
                };
                (
                    Code::PeerAwaited,
                    format!("{why}: its settings wait until one is meant"),
                )
            }
            OfMember::Awaited(None) => (
                Code::PeerAwaited,
                format!(
                    "{lists} {name:?}, whose peer has not enrolled yet: the entry waits until it has"
                ),
            ),
            OfMember::Awaited(Some(why)) => {
                let why = why.said(name, at).1;
                (
                    Code::PeerAwaited,
                    format!("{why}; the entry waits until a peer is meant"),
                )
            }
            OfMember::ReusableKey => (
                Code::KeyOfMany,
                format!("{lists} {name:?}, a reusable key: its peers join through auto_groups"),
            ),
            OfMember::BoundByTime(peer, by) => (
                Code::BoundByTime,
                format!(
                    "{lists} {name:?}, which is the peer {peer}{}",
                    by.behind(": ")
                ),
            ),
            OfMember::Untold => (
                Code::MemberUnclear,
                format!("{lists} {name:?}, whose key was used, and {UNTOLD}"),
            ),
            OfMember::OneOf(peers) => (
                Code::MemberUnclear,
                format!(
                    "{lists} {name:?}, whose key was used by one of several peers ({}): which one cannot be told",
                    peers.join(", ")
                ),
            ),
            OfMember::Gone(others) => {
                let other = match others.is_empty() {
                    true => String::new(),
                    false => format!(
                        "; {} did not enroll with this key, though it has the name: {NEW_KEY}",
                        machines(others)
                    ),
                };
                (
                    Code::MemberGone,
                    format!("{lists} {name:?}, whose key was used, but its peer is gone{other}"),
                )
            }
            OfMember::Absent(meant) => (
                Code::MemberAbsent,
                format!(
                    "{lists} {name:?}, and no peer is called that{}",
                    behind(meant.as_ref())
                ),
            ),
            OfMember::MeansNobody { gone, others } => {
                let (has, that) = match others.len() {
                    1 => ("has", "that"),
                    _ => ("have", "one of them"),
                };
                let meant = match gone {
                    Some(id) => {
                        format!("and the machine that it meant ({id}) does not exist any more.")
                    }
                    None => {
                        "which means no machine yet: any machine can choose its own name.".into()
                    }
                };
                let or_there = match is_group {
                    true => ", or add it to the group in NetBird",
                    false => "",
                };
                (
                    Code::MemberUnclear,
                    format!(
                        "{lists} {name:?}, {meant} {} {has} the name now. If {that} is the right machine, run {}{or_there}",
                        machines(others),
                        adopt_peer(name, others)
                    ),
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
                (
                    Code::MemberTwin,
                    format!(
                        "{lists} {name:?}, which is the peer {meant}; {} {are} the name too, and {it} not {added}. If {one} the \
                     machine that is meant, {way_out}; else rename {rest}",
                        machines(others)
                    ),
                )
            }
        }
    }
}

/// What may be meant, behind what is said of a name.
fn behind(meant: Option<&Hint>) -> String {
    let meant = meant.map(|meant| format!("; {}", meant.words()));
    meant.unwrap_or_default()
}

/// The command that says which machine a name means: that one, where it is one.
fn adopt_peer(name: &str, others: &[Machine]) -> String {
    let id = match others {
        [only] => &only.id.0,
        _ => "ID",
    };
    Address::new(Kind::Peer, name).adopt(id)
}

fn machines(of: &[Machine]) -> String {
    let machines: Vec<String> = of.iter().map(Machine::to_string).collect();
    machines.join(" and ")
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.connected, self.last_seen) {
            (true, _) => write!(f, "{} (connected)", self.id),
            (false, Some(at)) => write!(f, "{} (last seen {at:.0})", self.id),
            (false, None) => self.id.fmt(f),
        }
    }
}
