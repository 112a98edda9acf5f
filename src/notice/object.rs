//! What is to be said of objects of any kind, and of peers.

use std::collections::BTreeSet;

use crate::code::Code;
use crate::id::Id;
use crate::kind::FieldChange;
use crate::who::Who;

/// What is to be said of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfObject {
    /// It lives, and is declared for the first time.
    TakesOver,
    /// The same of a setup key, whose secret was never sealed here.
    TakesOverKey,
    /// A group of that id and origin bears its name, too.
    IssuedTwin {
        /// The other group.
        id: Id,
        /// Who issued that one.
        issued: String,
    },
    /// These bear its name and are not this file's: each id, and what sort of object it is.
    Namesakes(Vec<(Id, &'static str)>),
    /// Who may log in by a policy changes.
    Logins(Logins),
    /// It is renamed from that name already.
    RenamedAlready(String),
    /// It is made, though what lives under that name looks the same.
    LookAlike(String),
    /// A second group of its name stays, since these refer to it.
    TwinStays {
        /// The second one.
        id: Id,
        /// What refers to it.
        holders: BTreeSet<String>,
    },
}

/// Who may log in by a policy that becomes one of NetBird's SSH, or is one no more.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Logins {
    /// Nobody any more.
    NoMore,
    /// Nobody any more, and NetBird forgets that these might.
    Forgotten(Vec<Users>),
    /// These: everybody, where none are named.
    Of(Vec<Users>),
}

/// The users of a group who may log in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Users {
    /// The group.
    pub group: String,
    /// As whom; as anybody, where nobody is named.
    pub logins: Vec<String>,
}

/// What is to be said of a peer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfPeer {
    /// It waits for approval.
    WaitsForApproval,
    /// Its key left the file and NetBird; its id.
    LeftBehind(Id),
    /// Another one came in its place, and its deletion would hit these.
    StaysInUse {
        /// The other one.
        by: Who,
        /// What needs it.
        users: Vec<String>,
    },
}

/// What somebody did while an apply ran, and the run undid.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Meanwhile {
    /// They changed these fields.
    Changed(Vec<FieldChange>),
    /// They renamed it to that.
    Renamed(String),
    /// They took these out of the group.
    TookOut(Vec<String>),
    /// These joined the group while it was written, which threw them out.
    ThrownOut(Vec<String>),
}

impl OfObject {
    pub(super) fn code(&self) -> Code {
        match self {
            OfObject::TakesOver | OfObject::TakesOverKey => Code::TakesOver,
            OfObject::IssuedTwin { .. } | OfObject::Namesakes(_) => Code::Namesake,
            OfObject::Logins(_) => Code::Logins,
            OfObject::RenamedAlready(_) => Code::RenamedAlready,
            OfObject::LookAlike(_) => Code::LookAlike,
            OfObject::TwinStays { .. } => Code::TwinStays,
        }
    }
}

impl OfPeer {
    pub(super) fn code(&self) -> Code {
        match self {
            OfPeer::WaitsForApproval => Code::WaitsForApproval,
            OfPeer::LeftBehind(_) | OfPeer::StaysInUse { .. } => Code::PeerStays,
        }
    }
}
