//! What is to be said of setup keys.

use jiff::Timestamp;

use crate::base::code::Code;
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::model::who::Who;

/// What is to be said of a setup key of the file, or of what has its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfKey {
    /// `--replace` names it, and it is marked enrolled.
    ReplaceIdle,
    /// It is marked enrolled, and this valid key of the name stays.
    UnusedKey(Id),
    /// Its `reissue_after` lies in the future.
    ReissueLater(Timestamp),
    /// It expires then, within a day, and nobody used it.
    ExpiresSoon(Timestamp),
    /// It cannot be used any more.
    Dead(Dead),
    /// Nothing is done about it, since these used keys of its name could be its own.
    Skipped(Vec<Id>),
    /// It was adopted, and differs in what no key can change.
    AdoptedDiffers(Id),
    /// An earlier run of the same commit made it, and its sealed text is in this file, or in the output of that run.
    MadeEarlier(Option<String>),
    /// NetBird has these other valid keys of the name.
    ValidNamesakes(Vec<Id>, Whose),
    /// Another peer has the DNS label of its name.
    LabelTaken {
        /// The label.
        label: String,
        /// The other peer's name.
        peer: String,
    },
    /// It does not have this recipient on the base branch.
    NewRecipient(String),
    /// It has other recipients than the one that lives was sealed for.
    RecipientsChanged,
    /// Its entry was removed, and its peer stays.
    PeerStays(PeerStays),
}

/// Whose a key is that has the name of an entry, and does not stand for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whose {
    /// Not this file's. A person can adopt it, once the entry has no key of its own.
    Free {
        /// Whether it has one.
        has_own: bool,
    },
    /// This file's, or another's: it stays.
    Taken,
    /// Nobody can tell: there is no inventory to ask.
    Untold,
}

/// A key that nobody can use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dead {
    /// It expired then.
    Expired {
        /// When, where that is known.
        at: Option<Timestamp>,
        /// Whether it was used before.
        used: bool,
    },
    /// Somebody revoked it.
    Revoked {
        /// Whether it was used before.
        used: bool,
    },
    /// It enrolled as many as it may.
    UsedUp,
}

/// Why the peer of a removed key stays.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PeerStays {
    /// Its name and its times alone tell which it is.
    NameAlone(Who),
    /// It is one of these.
    OneOf(Vec<String>),
    /// Which it is nobody can tell.
    Untold,
    /// The one of that name is ephemeral.
    Ephemeral(String),
    /// The one of that name is a person's.
    Persons(String),
}

/// Why nothing is done about a used key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Open {
    /// A server before 0.55 leaves only the event log to tell who came by it, and it does not.
    Untold,
    /// No peer fits.
    Nobody,
    /// Its peer is gone.
    PeerGone,
    /// It was one of these.
    OneOf(Vec<String>),
    /// Another peer has its name.
    NameTaken {
        /// The name of the peer that came by it.
        peer: String,
        /// The key's name.
        name: String,
    },
    /// Its peer cannot join that group, which is not there.
    NoGroup(String),
    /// Its peer cannot join that group: so many bear the name.
    Groups(String, usize),
}

/// What else is to be said of a used key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Remark {
    /// It is made anew, and the peer of that name and id is to go once another machine enrolled.
    ToBeReplaced(String, Id),
    /// This peer came by it, and it does not exist any more.
    Gone(Who),
    /// This peer of another name came by it before the entry adopted it.
    KeepsName(Who),
    /// A peer came by it, and the peer of another key of its name stays.
    OlderStays {
        /// The peer.
        peer: Who,
        /// The other one.
        older: Who,
        /// Why that one stays.
        why: Stays,
    },
    /// How its peer can get its name.
    GivesName {
        /// The peer.
        peer: Id,
        /// The one that bears the name.
        other: Id,
    },
    /// `enrolled` was taken back.
    FlippedBack {
        /// Its peer.
        peer: Who,
        /// Whether the file has a `reissue_after` for it.
        asked: bool,
    },
    /// The event log does not tell that this peer came by it.
    BoundByTime(Who, Evidence),
}

/// Why the peer of an older key stays.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stays {
    /// The file does not ask for another machine.
    NotAsked,
    /// `--prune none`.
    PruneNone,
    /// Its key is newer than what asks for another machine.
    Newer,
    /// Its name and its times alone tell by which key it came.
    NameAlone,
    /// That group lists it by its own name.
    Listed(String),
}

impl OfKey {
    pub(super) fn code(&self) -> Code {
        match self {
            OfKey::ReplaceIdle => Code::ReplaceIdle,
            OfKey::UnusedKey(_) => Code::UnusedKey,
            OfKey::ReissueLater(_) => Code::ReissueLater,
            OfKey::ExpiresSoon(_) => Code::ExpiresSoon,
            OfKey::Dead(_) => Code::DeadKey,
            OfKey::ValidNamesakes(..) | OfKey::AdoptedDiffers(_) => Code::KeyNamesake,
            OfKey::Skipped(_) => Code::Skipped,
            OfKey::MadeEarlier(_) => Code::MadeEarlier,
            OfKey::LabelTaken { .. } => Code::DnsLabel,
            OfKey::NewRecipient(_) => Code::NewRecipient,
            OfKey::RecipientsChanged => Code::RecipientsChanged,
            OfKey::PeerStays(_) => Code::PeerStays,
        }
    }
}

impl Remark {
    pub(super) fn code(&self) -> Code {
        match self {
            Remark::ToBeReplaced(..) => Code::ToBeReplaced,
            Remark::Gone(_) => Code::DeadKey,
            Remark::OlderStays { .. } => Code::PeerStays,
            Remark::KeepsName(_) => Code::KeepsName,
            Remark::GivesName { .. } => Code::EnrollmentOpen,
            Remark::FlippedBack { .. } => Code::FlippedBack,
            Remark::BoundByTime(..) => Code::BoundByTime,
        }
    }
}
