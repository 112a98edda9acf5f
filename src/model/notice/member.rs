//! What is to be said of the members that a group lists, and of the peer that another entry names.

use std::fmt;

use jiff::Timestamp;

use super::key::UNTOLD;
use crate::base::code::{Code, Saying};
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::base::text::joined;
use crate::model::address::{Address, Who};
use crate::model::facts::facts;
use crate::model::kind::Kind;

facts! {
    /// What is to be said of a name that a group lists, or that another entry has for its peer.
    pub enum OfMember {
        /// It is a reusable key.
        ReusableKey => Code::KeyOfMany.says(format!("{lists} {name:?}, a reusable key: its peers join through auto_groups")),
        /// It is that peer, and the event log does not tell so.
        BoundByTime(peer: Who, by: Evidence) => {
            Code::BoundByTime.says(format!("{lists} {name:?}, which is the peer {peer}{}", by.behind(": ")))
        },
        /// Who used its key a server before 0.55 cannot tell.
        Untold => Code::MemberUnclear.says(format!("{lists} {name:?}, whose key was used, and {UNTOLD}")),
        /// Its key was used by one of these.
        OneOf(peers: Vec<String>) => Code::MemberUnclear.says(format!(
            "{lists} {name:?}, whose key was used by one of several peers ({}): it is not known which one",
            peers.join(", ")
        )),
        /// Its key was used, and its peer is gone; these bear the name.
        Gone(others: Vec<Machine>) => {
            let other = match others.is_empty() {
                true => String::new(),
                false => format!(
                    "; {} did not enroll with this key, though it has the name: {NEW_KEY}",
                    machines(others)
                ),
            };
            Code::MemberGone.says(format!("{lists} {name:?}, a setup key that was used, but its peer was deleted{other}"))
        },
        /// No peer bears the name; what may be meant.
        Absent(meant: Option<String>) => {
            Code::MemberAbsent.says(format!("{lists} {name:?}, and no peer is called that{}", behind(meant)))
        },
        /// It means nobody, or this one that does not exist any more; these others have the name.
        MeansNobody { gone: Option<Id>, others: Vec<Machine> } => {
            let (has, that) = match others.len() {
                1 => ("has", "that"),
                _ => ("have", "one of them"),
            };
            let meant = match gone {
                Some(id) => format!("and the machine that it meant ({id}) does not exist any more."),
                None => "which means no machine yet: any machine can choose its own name.".into(),
            };
            let or_there = match at.kind {
                Kind::Group => ", or add it to the group in NetBird",
                _ => "",
            };
            Code::MemberUnclear.says(format!(
                "{lists} {name:?}, {meant} {} {has} the name now. If {that} is the right machine, run {}{or_there}",
                machines(others),
                adopt_peer(name, others)
            ))
        },
        /// Others bear the name of the one that is meant; what to do where another is the right one.
        Twin { meant: Machine, others: Vec<Machine>, way_out: WayOut } => {
            let (are, it, one, rest) = match others.len() {
                1 => ("has", "it is", "it is", "the other"),
                _ => ("have", "they are", "one of them is", "the others"),
            };
            let way_out = match way_out {
                WayOut::NewKey => NEW_KEY.into(),
                WayOut::Adopt => format!("run {}", adopt_peer(name, others)),
            };
            Code::MemberTwin.says(format!(
                "{lists} {name:?}, which is the peer {meant}; {} {are} the name too, and {it} not {added}. If {one} the machine that is \
                 meant, {way_out}; else rename {rest}",
                machines(others)
            ))
        },
        /// It is that peer, which bears another name.
        Meant(peer: Who) => Code::PeerMeant.says(format!("{lists} {name:?}, which is the peer {peer}")),
        /// The entry waits for its peer: it has not enrolled, or that is why nobody is meant.
        Awaited(why: Option<Box<OfMember>>) => {
            // an entry of machines has the name that it means
            let is_own = at.kind == Kind::Peer;
            let text = match why.as_deref() {
                None if is_own => "has not enrolled yet".into(),
                None => format!("{lists} {name:?}, whose peer has not enrolled yet"),
                Some(OfMember::Absent(meant)) if is_own => format!("is the name of no peer yet{}", behind(meant)),
                Some(why) => why.said(name, at, lists, added).text,
            };
            Code::PeerAwaited.says(format!("{text}; the entry waits until it is known which peer that is"))
        },
    }

    /// Returns its cause, and what it says of that name in the entry of that address: what the entry does with names, and what
    /// becomes of a peer that is meant.
    fn said(&self, name: &str, at: &Address, lists: &str, added: &str) -> Saying;
}

/// A peer, and what tells people whether its machine lives.
pub struct Machine {
    /// Its id.
    pub id: Id,
    /// Whether it is connected.
    pub connected: bool,
    /// When it was seen last.
    pub last_seen: Option<Timestamp>,
}

/// What to do where another peer of a name is the right one.
pub enum WayOut {
    /// Give it a new key of the name.
    NewKey,
    /// Say that the name means it.
    Adopt,
}

/// What to do for a machine that came otherwise than by the key of its name.
const NEW_KEY: &str = "to manage that peer, set \"enrolled\": false and reissue_after on the setup key, and enroll its machine with the new key";

/// What may be meant, behind what is said of a name.
fn behind(meant: &Option<String>) -> String {
    let meant = meant.as_ref().map(|meant| format!("; {meant}"));
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
    joined(of, " and ")
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
