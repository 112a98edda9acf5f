//! What is to be said of setup keys.

use jiff::Timestamp;

use super::object::{beside, joined, not_managed};
use crate::base::code::Code;
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::base::text::shell;
use crate::model::address::Address;
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

/// What is said where a server before 0.55 leaves only the event log to tell who came by a key, and it does not.
pub(super) const UNTOLD: &str = "which peer enrolled with it nobody can tell: this NetBird does not say when peers enrolled \
                                 (0.55 and later do), and the event log has nothing of it";

impl OfKey {
    /// Returns its cause, and what it says of the key of that address. That of other keys is a whole sentence.
    pub(super) fn said(&self, at: &Address) -> (Code, String) {
        let path = shell(&at.key());
        match self {
            OfKey::ReplaceIdle => (
                Code::ReplaceIdle,
                "is marked enrolled and is never made again: --replace leaves it alone".into(),
            ),
            OfKey::UnusedKey(id) => (Code::UnusedKey, format!(
                "is marked enrolled, and NetBird has a valid, unused key with its name (id {id}). It stays; delete it in NetBird \
                 if nobody needs it."
            )),
            OfKey::ReissueLater(at) => (
                Code::ReissueLater,
                format!("has a reissue_after that lies in the future ({at}): nothing until then"),
            ),
            OfKey::Skipped(keys) => (Code::Skipped, format!(
                "is skipped: NetBird has a used key with its name ({}), so its machine may have enrolled already. If it has, run \
                 {}. If it has not, set reissue_after: then a new key is made.",
                joined(keys),
                at.adopt(only(keys))
            )),
            OfKey::ExpiresSoon(at) => (
                Code::ExpiresSoon,
                format!("expires within a day, at {at:.0}, and is not used yet"),
            ),
            OfKey::Dead(of) => (
                Code::DeadKey,
                format!("{}; remake it with reissue_after, or with --replace {path}", of.words()),
            ),
            OfKey::AdoptedDiffers(id) => (Code::KeyNamesake, format!(
                "existed before this file managed it (id {id}), and differs from the file in what NetBird cannot change. It \
                 stays as it is. For a new key, set reissue_after, or use --replace {path}."
            )),
            OfKey::MadeEarlier(Some(place)) => (
                Code::MadeEarlier,
                format!("was made by an earlier run and is not used yet; its sealed copy is {place}"),
            ),
            OfKey::MadeEarlier(None) => (
                Code::MadeEarlier,
                "was made by an earlier run and is not used yet; its sealed text is in the log, the artifact or the comment of \
                 that run"
                    .into(),
            ),
            OfKey::ValidNamesakes(keys, whose) => {
                let rest = match whose {
                    Whose::Taken if keys.len() == 1 => "It stays as it is.".into(),
                    Whose::Taken => "They stay as they are.".into(),
                    Whose::Untold => {
                        "This plan has no inventory. An apply deletes such a key only if a run of this file created it.".into()
                    }
                    Whose::Free { has_own } => format!(
                        "{} To use {} for this entry, {}run {}.",
                        not_managed(keys),
                        if keys.len() == 1 { "it" } else { "one of them" },
                        match has_own {
                            true => "delete the key of this entry in NetBird, then ",
                            false => "",
                        },
                        at.adopt(only(keys))
                    ),
                };
                (Code::KeyNamesake, format!("{}. {rest}", beside(at, "valid ", keys)))
            }
            OfKey::LabelTaken { label, peer } => (Code::DnsLabel, format!(
                "makes the DNS label {label:?}, which the peer {peer:?} has: the new peer gets the label with a suffix from its IP"
            )),
            OfKey::NewRecipient(recipient) => (
                Code::NewRecipient,
                format!("has the new recipient {recipient}: on the base branch the key does not have it"),
            ),
            OfKey::RecipientsChanged => (
                Code::RecipientsChanged,
                "has other recipients than before; the key that lives stays sealed as it is: reissue_after makes a new one".into(),
            ),
            OfKey::PeerStays(why) => (
                Code::PeerStays,
                format!("was removed, and its peer {}", why.words()),
            ),
        }
    }
}

/// The one key, or a word that stands for the right one of several.
fn only(keys: &[Id]) -> &str {
    match keys {
        [only] => &only.0,
        _ => "ID",
    }
}

impl Dead {
    fn words(self) -> String {
        match self {
            Dead::Expired { at, used } => {
                let unused = if used { "" } else { " without being used" };
                let at = at.map(|at| format!(" ({at:.0})")).unwrap_or_default();
                format!("expired{unused}{at}")
            }
            Dead::Revoked { used: true } => "was revoked".into(),
            Dead::Revoked { used: false } => "was revoked without being used".into(),
            Dead::UsedUp => "is used up".into(),
        }
    }
}

impl PeerStays {
    fn words(&self) -> String {
        match self {
            PeerStays::NameAlone(peer) => {
                format!("stays: its name and its times alone tell that it is {peer}")
            }
            PeerStays::OneOf(peers) => format!(
                "stays: it was used by one of {}, and nobody can tell by which",
                peers.join(", ")
            ),
            PeerStays::Untold => format!("stays, if there is one: {UNTOLD}"),
            PeerStays::Ephemeral(name) => format!("{name:?} stays: it is ephemeral"),
            PeerStays::Persons(name) => format!("{name:?} stays: it belongs to a person"),
        }
    }
}

impl Open {
    /// Returns why nothing is done about a used key, as it follows the key's name.
    pub(crate) fn words(&self) -> String {
        match self {
            Open::Untold => format!("was used, and {UNTOLD}"),
            Open::Nobody => {
                "was used, and no peer is known to have enrolled with it: the peer or the event is gone"
                    .into()
            }
            Open::PeerGone => "was used, and the peer that enrolled with it is gone".into(),
            Open::OneOf(peers) => format!(
                "was used, and it is not known which of several peers enrolled with it: {}",
                peers.join(", ")
            ),
            Open::NameTaken { peer, name } => {
                format!("was used by the peer {peer:?}, but another peer is called {name:?}")
            }
            Open::NoGroup(group) => {
                format!("joins group {group:?}, which is not in NetBird yet (an apply makes it)")
            }
            Open::Groups(group, number) => {
                format!("joins group {group:?}, a name that {number} groups have")
            }
        }
    }
}

impl Remark {
    /// Returns its cause, and what it says, as it follows the key's name.
    pub(crate) fn said(&self) -> (Code, String) {
        match self {
            Remark::ToBeReplaced(name, id) => (
                Code::ToBeReplaced,
                format!(
                    "is replaced for another machine: once that machine enrolled, its peer {name:?} ({id}) is to be deleted, which \
                 somebody has to agree to"
                ),
            ),
            Remark::Gone(peer) => (
                Code::DeadKey,
                format!(
                    "was used by the peer {peer}, and somebody deleted the key in NetBird. It is not created again. To enroll another \
                 machine, set reissue_after."
                ),
            ),
            Remark::KeepsName(peer) => (
                Code::KeepsName,
                format!(
                    "was used by the peer {peer} before this file managed it, so the peer keeps its name"
                ),
            ),
            Remark::OlderStays { peer, older, why } => (
                Code::PeerStays,
                format!(
                    "was used by the peer {peer}, and the peer {older} of another key of that name stays: {}",
                    why.words()
                ),
            ),
            Remark::GivesName { peer, other } => (
                Code::EnrollmentOpen,
                format!(
                    "can give its name to the peer {peer} once no other peer has it: rename the peer {other} in NetBird, or delete it \
                 there if its machine is gone"
                ),
            ),
            Remark::FlippedBack { peer, asked } => {
                let asked = match asked {
                    true => {
                        "set reissue_after, which is older than that key, to the time of that change"
                    }
                    false => "set reissue_after beside it to the time of that change",
                };
                (
                    Code::FlippedBack,
                    format!(
                        "was marked enrolled and is not any more, which alone changes nothing: the peer {peer} came by its key. To \
                     enroll another machine, {asked}; if none is meant, put enrolled back to true"
                    ),
                )
            }
            Remark::BoundByTime(peer, by) => (
                Code::BoundByTime,
                format!("was used by the peer {peer}{}", by.behind(": ")),
            ),
        }
    }
}

impl Stays {
    fn words(&self) -> String {
        match self {
            Stays::NotAsked => "reissue_after, which asks for another machine, is not in the file",
            Stays::PruneNone => "--prune none deletes nothing",
            Stays::Newer => "its key was made after reissue_after",
            Stays::NameAlone => "its name and its times alone tell by which key it came",
            Stays::Listed(group) => return format!("group {group:?} lists it by its own name"),
        }
        .into()
    }
}
