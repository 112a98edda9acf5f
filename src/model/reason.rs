//! Why a change is, as data and in words: what decides on a reason asks for it here.

use jiff::Timestamp;

use crate::base::{Evidence, listed};
use crate::model::{Who, facts};

facts! {
    /// Why a change is.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Reason {
        /// Its entry left the file; whether it would be let go, and somebody agreed to its deletion.
        NoLongerDeclared { agreed: bool } => match agreed {
            true => "it is no longer in the file; its deletion is approved by Allow-Deletes",
            false => "it is no longer in the file",
        },
        /// The file never declared it, and `--prune all` takes such things away.
        NotDeclared => "it is not in the file (--prune all)",
        /// Its entry stands for another one: two runs at once made both.
        Surplus => "a second object of this entry, created by another run of this file",
        /// Of equal keys of one name this one goes. Each has a secret of its own.
        SecondKey => "a second key of this entry, created by another run of this file",
        /// It was deleted in NetBird.
        Lost => "was deleted in NetBird; this plan creates it again",
        /// Somebody gave it this name.
        RenamedBack(now: String) => format!(
            "somebody renamed it to {now:?} in NetBird; this plan renames it back to {name:?}. To keep the new name, write \
             {now:?} in the file."
        ),
        /// Peers that the file names have another address.
        Address(peers: Vec<String>) => format!("another address of {}", listed(peers)),
        /// This field of it cannot be changed.
        Fixed(field: &'static str) => {
            format!("its {field} cannot be changed: a new one is created, then the old one is deleted")
        },
        /// What it stands in is replaced.
        WithParent => "replaced together with its parent",
        /// `--replace` names it.
        Replace => "--replace names it",
        /// A key goes since `--replace` names its entry.
        ReplacedByHand => "replaced by --replace",
        /// A key of an older life of its entry goes.
        BeforeReissue => "created before reissue_after",
        /// A key is asked for anew, at that time.
        Reissue(instant: Timestamp) => format!("reissue_after {instant}"),
        /// Nobody holds the key's secret. It is looked at again right before the key goes.
        NeverSealed => "its secret was never sealed and stored, so nobody can use it",
        /// A replacement that was killed before its end left it.
        ReplacedBefore => "a run that did not end replaced it by a newer key",
        /// What differs cannot be changed on a key.
        KeyCannotChange => "this change needs a new setup key: it is created first, then the old one is deleted",
        /// Nobody used the key, and its entry is marked enrolled.
        MarkedEnrolled => "its entry is marked enrolled, so nobody needs this unused key",
        /// A dead key would keep a group from being deleted.
        DeadKeyInTheWay => "the group is deleted, and this key cannot be used any more",
        /// The peer came by the key whose name it gets; what tells so, and what is not certain about its DNS label until the
        /// server answered.
        Enrolled { evidence: Evidence, label: Option<Guess> } => {
            let label = match label {
                None => "",
                Some(Guess::Predicted) => "; the label is predicted",
                Some(Guess::Punycode) => "; NetBird writes the label in punycode",
            };
            format!("enrolled with this key{}{label}", evidence.behind("; "))
        },
        /// The peer came by a key of that name whose entry was removed; whether the key existed before the file managed it, and
        /// what tells so.
        KeyRemoved { key: String, adopted: bool, evidence: Evidence } => format!(
            "enrolled with setup key {key:?}, {}whose entry was removed{}",
            if *adopted { "which existed before this file managed it and " } else { "" },
            evidence.behind("; ")
        ),
        /// The peer came by an older key of the name, and another machine by the newer one; what tells so of the older one.
        PeerReplaced { key: String, by: Who, evidence: Evidence } => format!(
            "enrolled with an older setup key {key:?}, and replaced by the peer {by}{}",
            evidence.behind("; ")
        ),
    }

    /// Returns why the change of an object of that name is.
    fn words(&self, name: &str) -> String;
}

/// What is told of a DNS label that the server has not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// It may be another one than what is told.
    Predicted,
    /// The server makes one in punycode, which is not told.
    Punycode,
}
