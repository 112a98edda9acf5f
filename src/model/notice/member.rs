//! What is to be said of the members that a group lists, and of the peer that another entry names.

use std::fmt;

use jiff::Timestamp;

use super::key::UNTOLD;
use crate::base::{Code, Evidence, Id, Saying, joined, shell};
use crate::model::{Address, Kind, Who, facts};

facts! {
    /// What is to be said of a name that a group lists, or that another entry has for its peer.
    pub enum OfMember {
        /// It is a reusable key.
        ReusableKey => Code::KeyOfMany.says(format!(
            "{lists} {name:?}, but this is a reusable setup key, so it means no single peer. Its machines join the groups in its \
             \"auto_groups\"."
        )),
        /// It is that peer, and the event log does not tell so.
        BoundByTime(peer: Who, by: Evidence) => Code::BoundByTime.says(format!(
            "{lists} the setup key {name:?}, so the peer {peer} is {added}{}. Check that it is the right machine.",
            by.behind(": ")
        )),
        /// Who used its key a server before 0.55 cannot tell.
        Untold => Code::MemberUnclear.says(format!(
            "{lists} the used setup key {name:?}, but {UNTOLD}. Write the name of the peer instead."
        )),
        /// Its key was used by one of these.
        OneOf(peers: Vec<String>) => Code::MemberUnclear.says(format!(
            "{lists} the setup key {name:?}, but it is not known which of several peers ({}) used it{}. Write \
             the name of the right peer instead.",
            peers.join(", "), so_none(at)
        )),
        /// Its key was used, and its peer is gone; these have the name.
        Gone(others: Vec<Machine>) => {
            let other = match others.is_empty() {
                true => String::new(),
                false => format!(" {} this name, but did not enroll with this key.", have(others)),
            };
            Code::MemberGone.says(format!(
                "{lists} the setup key {name:?}, but the peer that enrolled with it was deleted{}.{other} For a \
                 machine in its place, {NEW_KEY}.",
                so_none(at)
            ))
        },
        /// No peer has the name; what may be meant.
        Absent(meant: Option<String>) => {
            let otherwise = || {
                let meant = format!("{}=ID", Address::new(Kind::Peer, name).key());
                format!(". Check the name. When its machine enrolled, run apply --adopt {}", shell(&meant))
            };
            let meant = meant.as_ref().map(|meant| format!("; {meant}"));
            Code::MemberAbsent.says(format!(
                "{lists} {name:?}, but no peer has this name{}{}",
                so_none(at), meant.unwrap_or_else(otherwise)
            ))
        },
        /// It is a key that is marked enrolled, and NetBird has neither a machine that came by it nor one of its name.
        OfNoMachine => {
            let adopt = adopt_peer(name, &[]);
            Code::MemberAbsent.says(format!(
                "{lists} the setup key {name:?}, but NetBird has no peer that is known to have enrolled with it{}. If its machine has another name now, \
                 run {adopt}. For a machine in its place, {NEW_KEY}.",
                so_none(at)
            ))
        },
        /// It means nobody, or this one that does not exist any more; these others have the name.
        MeansNobody { gone: Option<Id>, others: Vec<Machine> } => {
            let meant = match gone {
                Some(id) => format!("but the machine that it meant ({id}) does not exist any more"),
                None => "which means no machine yet, because any machine can choose its own name".into(),
            };
            Code::MemberUnclear.says(format!(
                "{lists} {name:?}, {meant}. {} this name now. If {} the right machine, run {}",
                have(others), one(others), adopt_peer(name, others)
            ))
        },
        /// Others have the name of the one that is meant; what to do where another is the right one.
        Twin { meant: Machine, others: Vec<Machine>, way_out: WayOut } => {
            let (are, them) = if others.len() == 1 { ("is", "it") } else { ("are", "them") };
            let way_out = match way_out {
                WayOut::NewKey => NEW_KEY.into(),
                WayOut::Adopt => format!("run {}", adopt_peer(name, others)),
            };
            Code::MemberTwin.says(format!(
                "{lists} {name:?}, which means the peer {meant}. {} this name too, but {are} not {added}. If {} the right machine, \
                 {way_out}. If not, rename {them}.",
                have(others), one(others)
            ))
        },
        /// It is that peer, which has another name.
        Meant(peer: Who) => Code::PeerMeant.says(format!("{lists} {name:?}, which means the peer {peer}")),
        /// The entry waits for its peer: it has not enrolled, or that is why nobody is meant.
        Awaited(why: Option<Box<OfMember>>) => {
            // an entry of machines has the name that it means
            let is_own = at.kind == Kind::Peer;
            let text = match why {
                None if is_own => "has not enrolled yet".into(),
                None => format!("{lists} {name:?}, but the machine of this setup key has not enrolled yet"),
                Some(why) => why.said(name, at, if is_own { "is declared for" } else { lists }, added).text,
            };
            let end = if text.ends_with(['.', '?']) { "" } else { "." };
            Code::PeerAwaited.says(format!("{text}{end} This entry is skipped until its peer is known."))
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

/// What becomes of a group that lists a name without a peer; of another entry the note says more.
fn so_none(at: &Address) -> &'static str {
    match at.kind {
        Kind::Group => ", so no peer is added",
        _ => "",
    }
}

/// What to do for a machine that came otherwise than by the key of its name.
const NEW_KEY: &str = "set \"enrolled\": false and reissue_after to the present time on the setup key, and enroll the machine with \
                       the new key";

/// The command that says which machine a name means: that one, where it is one.
fn adopt_peer(name: &str, others: &[Machine]) -> String {
    let id = match others {
        [only] => &only.id.0,
        _ => "ID",
    };
    Address::new(Kind::Peer, name).adopt(id)
}

fn one(of: &[Machine]) -> &'static str {
    if of.len() == 1 {
        "it is"
    } else {
        "one of them is"
    }
}

/// `The peers A and B have`.
fn have(of: &[Machine]) -> String {
    let (peers, have) = if of.len() == 1 {
        ("peer", "has")
    } else {
        ("peers", "have")
    };
    format!("The {peers} {} {have}", joined(of, " and "))
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
