//! Why a change is, as data, and in words.

use jiff::Timestamp;

use crate::base::evidence::Evidence;
use crate::model::who::Who;

/// Why a change is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Its entry left the file.
    NoLongerDeclared {
        /// It would be let go, and somebody agreed to its deletion.
        agreed: bool,
    },
    /// The file never declared it, and `--prune all` takes such things away.
    NotDeclared,
    /// Its entry stands for another one: two runs at once made both.
    Surplus,
    /// Of equal keys of one name this one goes. Each has a secret of its own.
    SecondKey,
    /// It was deleted in NetBird.
    Lost,
    /// Somebody gave it this name.
    RenamedBack(String),
    /// This field of it cannot be changed.
    Fixed(&'static str),
    /// What it stands in is made anew.
    WithParent,
    /// `--replace` names it.
    Replace,
    /// A key goes since `--replace` names its entry.
    ReplacedByHand,
    /// A key of an older life of its entry goes.
    BeforeReissue,
    /// A key is asked for anew, at that time.
    Reissue(Timestamp),
    /// Nobody holds the key's secret. It is looked at again right before the key goes.
    NeverSealed,
    /// A replacement that was killed before its end left it.
    ReplacedBefore,
    /// What differs cannot be changed on a key.
    KeyCannotChange,
    /// Nobody used the key, and its entry is marked enrolled.
    MarkedEnrolled,
    /// A dead key would keep a group from being deleted.
    DeadKeyInTheWay,
    /// The peer came by the key whose name it gets.
    Enrolled {
        /// What tells so.
        evidence: Evidence,
        /// What is not certain about its DNS label until the server answered.
        label: Option<Guess>,
    },
    /// The peer came by a key whose entry was removed.
    KeyRemoved {
        /// The key's name.
        key: String,
        /// Whether the key existed before the file managed it.
        adopted: bool,
        /// What tells so.
        evidence: Evidence,
    },
    /// The peer came by an older key of the name, and another machine by the newer one.
    Replaced {
        /// The key's name.
        key: String,
        /// The peer of the newer one.
        by: Who,
        /// What tells so of the older one.
        evidence: Evidence,
    },
}

/// What is told of a DNS label that the server has not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// It may be another one than what is told.
    Predicted,
    /// The server makes one in punycode, which is not told.
    Punycode,
}

impl Reason {
    /// Returns why the change of an object of that name is.
    pub(crate) fn words(&self, name: &str) -> String {
        match self {
            Reason::NoLongerDeclared { agreed: false } => "no longer declared",
            Reason::NoLongerDeclared { agreed: true } => {
                "no longer declared; its deletion is approved by Allow-Deletes"
            }
            Reason::NotDeclared => "not declared (--prune all)",
            Reason::Surplus => "a second one of this entry, created by another run of this file",
            Reason::SecondKey => "a second key of this entry, created by another run of this file",
            Reason::Lost => "was deleted in NetBird; this plan creates it again",
            Reason::RenamedBack(now) => {
                return format!(
                    "somebody renamed it to {now:?} in NetBird; this plan renames it back to {name:?}. To keep the new name, \
                     write {now:?} in the file."
                );
            }
            Reason::Fixed(field) => {
                return format!(
                    "its {field} cannot be changed: a new one is made, then the old one goes"
                );
            }
            Reason::WithParent => "replaced together with its parent",
            Reason::Replace => "--replace names it",
            Reason::ReplacedByHand => "replaced by hand",
            Reason::BeforeReissue => "made before reissue_after",
            Reason::NeverSealed => "never sealed: nobody holds its secret",
            Reason::ReplacedBefore => "replaced by a newer one, in a run that did not end",
            Reason::KeyCannotChange => {
                "a key cannot be changed: new secret, then the old one is deleted"
            }
            Reason::MarkedEnrolled => "marked as enrolled, so nobody needs this live, unused key",
            Reason::DeadKeyInTheWay => "a dead key that would keep its group from being deleted",
            Reason::Reissue(instant) => return format!("reissue_after {instant}"),
            Reason::Enrolled { evidence, label } => {
                let label = match label {
                    None => "",
                    Some(Guess::Predicted) => "; the label is predicted",
                    Some(Guess::Punycode) => "; NetBird makes the label in punycode",
                };
                return format!("enrolled with this key{}{label}", evidence.behind("; "));
            }
            Reason::KeyRemoved {
                key,
                adopted,
                evidence,
            } => {
                let adopted = match adopted {
                    true => ", which existed before this file managed it and",
                    false => ",",
                };
                return format!(
                    "enrolled with setup key {key:?}{adopted} whose entry was removed{}",
                    evidence.behind("; ")
                );
            }
            Reason::Replaced { key, by, evidence } => {
                return format!(
                    "enrolled with an older setup key {key:?}, and replaced by the peer {by}{}",
                    evidence.behind("; ")
                );
            }
        }
        .into()
    }
}
