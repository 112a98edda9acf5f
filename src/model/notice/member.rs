//! What is to be said of the members that a group lists, and of the peer that another entry names.

use jiff::Timestamp;

use crate::base::code::Code;
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::model::hint::Hint;
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

impl OfMember {
    pub(super) fn code(&self) -> Code {
        match self {
            OfMember::ReusableKey => Code::KeyOfMany,
            OfMember::BoundByTime(..) => Code::BoundByTime,
            OfMember::Untold | OfMember::OneOf(_) => Code::MemberUnclear,
            OfMember::Gone(_) => Code::MemberGone,
            OfMember::Absent(_) => Code::MemberAbsent,
            OfMember::MeansNobody { .. } => Code::MemberUnclear,
            OfMember::Twin { .. } => Code::MemberTwin,
            OfMember::Meant(_) => Code::PeerMeant,
            OfMember::Awaited(_) => Code::PeerAwaited,
        }
    }
}
