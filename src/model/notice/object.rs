//! What is to be said of objects of any kind, and of peers.

use crate::base::code::Code;
use crate::base::id::Id;
use crate::model::kind::FieldChange;
use crate::model::who::Who;

/// What is to be said of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfObject {
    /// A group of that id and origin has its name, too.
    IssuedTwin {
        /// The other group.
        id: Id,
        /// Who issued that one.
        issued: String,
    },
    /// Its entry renames that group, which an identity provider manages.
    NotRenamed {
        /// The name of that group.
        old: String,
        /// Who issued it.
        issued: String,
    },
    /// These of its name are not this file's.
    Beside(Vec<Id>),
    /// This one of its name is managed by that other file.
    Strange {
        /// The object.
        id: Id,
        /// The file.
        file: String,
    },
    /// It keeps that name in NetBird, since another one has its own.
    KeepsName {
        /// The name that it has.
        now: String,
        /// The other one.
        other: Id,
    },
    /// Nothing is done about it: it could be any of these.
    Unclear(Vec<Id>),
    /// Nothing is done about it: it refers to such an entry.
    SkippedWith(String),
    /// It is skipped: an environment whose inventory cannot be read may have these objects.
    MayBeStrange {
        /// The objects.
        ids: Vec<Id>,
        /// The environment.
        environment: String,
    },
    /// Who may log in by a policy changes.
    Logins(Logins),
    /// It is made, though what lives under that name looks the same.
    LookAlike(String),
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
            OfObject::IssuedTwin { .. } | OfObject::Beside(_) | OfObject::Strange { .. } => {
                Code::Namesake
            }
            OfObject::KeepsName { .. } | OfObject::NotRenamed { .. } => Code::KeepsName,
            OfObject::Unclear(_) | OfObject::SkippedWith(_) | OfObject::MayBeStrange { .. } => {
                Code::Skipped
            }
            OfObject::Logins(_) => Code::Logins,
            OfObject::LookAlike(_) => Code::LookAlike,
        }
    }
}

impl OfPeer {
    pub(super) fn code(&self) -> Code {
        match self {
            OfPeer::WaitsForApproval => Code::WaitsForApproval,
            OfPeer::StaysInUse { .. } => Code::PeerStays,
        }
    }
}
