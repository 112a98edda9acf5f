//! What is to be said of setup keys.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Fact;
use super::object::{beside, joined, not_managed, only};
use crate::base::{Code, Evidence, Id, Saying, listed, shell};
use crate::model::{Address, Who, facts};

/// What is said where a server before 0.55 leaves only the event log to tell who came by a key, and it does not.
pub(super) const UNTOLD: &str = "it is not known which peer enrolled with it: this NetBird does not report when peers enrolled \
                                 (0.55 and later do), and its event log has no entry for the key";

/// How an entry gets another key.
fn new_key(at: &Address) -> String {
    let key = shell(&at.key());
    format!(
        "For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace {key})"
    )
}

facts! {
    /// What is to be said of a setup key of the file, or of what has its name.
    pub enum OfKey {
        /// `--replace` names it, and it is marked enrolled.
        ReplaceIdle => {
            Code::ReplaceIdle.says(
                "is marked enrolled, so --replace has no effect. For a new key, set \"enrolled\": false and reissue_after to the present time."
            )
        },
        /// It is marked enrolled, and this valid key of the name stays.
        UnusedKey(id: Id) => Code::UnusedKey.says(format!(
            "is marked enrolled, and NetBird has a valid, unused key with its name (id {id}). The key is not deleted. If \
             nobody needs it, delete it in NetBird."
        )),
        /// Its `reissue_after` lies in the future.
        ReissueLater(after: Timestamp) => Code::ReissueLater.says(format!(
            "has a reissue_after in the future ({after}): no new key is created before that time"
        )),
        /// It expires then, within a day, and nobody used it.
        ExpiresSoon(then: Timestamp) => {
            Code::ExpiresSoon.says(format!("expires within a day, at {then:.0}, and is not used yet"))
        },
        /// It cannot be used any more; whether it did its work, which the file can say.
        Dead(dead: Dead, can_be_done: bool) => Code::DeadKey.says(format!(
            "{}. {}. If nobody needs a new key, {}.",
            dead.words(),
            new_key(at),
            if *can_be_done { "set \"enrolled\": true" } else { "delete the entry" }
        )),
        /// Somebody revoked the new key before it was used, and the one that it was to replace is there.
        ReplacementRevoked { new: Id, old: Id } => Code::DeadKey.says(format!(
            "got a new key (id {new}), but somebody revoked it in NetBird before a machine used it. The older key (id {old}) is not \
             deleted. {}.",
            new_key(at)
        )),
        /// Nothing is done about it, since these used keys of its name could be its own.
        Skipped(keys: Vec<Id>) => Code::Skipped.says(format!(
            "is skipped: NetBird has a used key with this name ({}), so the machine may have enrolled already. If the machine \
             enrolled, run {}. If not, set reissue_after to the present time: then a new key is created.",
            joined(keys), at.adopt(only(keys))
        )),
        /// It was adopted, and differs in what no key can change.
        AdoptedDiffers(id: Id) => Code::KeyNamesake.says(format!(
            "existed before this file managed it (id {id}). It differs from the file in a field that NetBird cannot change, so it is \
             not changed. {}.",
            new_key(at)
        )),
        /// It is marked enrolled, and this change is about these fields of it.
        IdleChange(fields: BTreeSet<String>) => Code::SaysLess.says(format!(
            "is marked enrolled, so the change of {} has no effect. To change the groups of its machine, add {:?} to \
             the peers of each group.",
            listed(fields), at.name
        )),
        /// It expires then, or never; its `expires_in` asks for something else, and it was used already.
        LivesOtherwise(expires: Option<Timestamp>) => Code::LivesOtherwise.says(format!(
            "{} in NetBird, but its expires_in says otherwise. A machine used the key, so it is not replaced. {}.",
            match expires {
                Some(at) => format!("expires at {at:.0}"),
                None => "never expires".into(),
            },
            new_key(at)
        )),
        /// An earlier run of the same commit made it, and its sealed text is in this file, or in the output of that run.
        MadeEarlier(place: Option<String>) => Code::MadeEarlier.says(match place {
            Some(place) => format!("was created by an earlier run and is not used yet. Its sealed secret is in {place}"),
            None => "was created by an earlier run and is not used yet. Its sealed secret is in the log, the artifact or the comment \
                     of that run"
                .into(),
        }),
        /// NetBird has these other valid keys of the name. Whole sentences.
        ValidNamesakes(keys: Vec<Id>, whose: Whose) => {
            let rest = match whose {
                Whose::Taken if keys.len() == 1 => "It stays as it is.".into(),
                Whose::Taken => "They stay as they are.".into(),
                Whose::Superseded => format!(
                    "Created before reissue_after, {0} not replaced, since the newer key cannot be used any more. If nobody needs {1}, \
                     delete {1} in NetBird.",
                    if keys.len() == 1 { "it was" } else { "they were" },
                    if keys.len() == 1 { "it" } else { "them" }
                ),
                Whose::Untold => {
                    "This plan has no inventory. An apply deletes such a key only if a run of this file created it.".into()
                }
                Whose::Free { has_own } => format!(
                    "{} To use {} for this entry, {}run {}.",
                    not_managed(keys),
                    if keys.len() == 1 { "it" } else { "one of them" },
                    if *has_own { "delete the key of this entry in NetBird, then " } else { "" },
                    at.adopt(only(keys))
                ),
            };
            Code::KeyNamesake.whole(format!("{}. {rest}", beside(at, "valid ", keys)))
        },
        /// It is created, and machines used these keys of its name that a person can adopt.
        UsedNamesakes(keys: Vec<Id>) => Code::KeyNamesake.says(format!(
            "is created although NetBird has used setup keys with its name (id {}) that this file does not manage. If the machine \
             of such a key is the one that is meant, run {} instead.",
            joined(keys), at.adopt(only(keys))
        )),
        /// Another peer, of that name, has the DNS label of its name.
        LabelTaken { label: String, peer: String } => Code::DnsLabel.says(format!(
            "gives its machine the DNS label {label:?}, but the peer {peer:?} has this label: the new peer gets it with a suffix from its IP"
        )),
        /// It does not have this recipient on the base branch.
        NewRecipient(recipient: String) => Code::NewRecipient.says(format!(
            "has the new recipient {recipient}: on the base branch the key does not have it"
        )),
        /// It has other recipients than the one that lives was sealed for.
        RecipientsChanged => Code::RecipientsChanged.says(
            "has other recipients than before, but its secret stays sealed for the old ones. For a new key that is sealed for the new \
             ones, set reissue_after to the present time."
        ),
        /// Its entry was removed, and its peer stays.
        PeerStays(why: PeerStays) => {
            let perhaps = if matches!(why, PeerStays::Untold) { ", if there is one," } else { "" };
            Code::PeerStays.says(format!(
                "is not in the file any more, but its peer{perhaps} is not deleted, because {}. If nobody needs the peer, delete it in NetBird.",
                why.words()
            ))
        },
    }

    /// Returns its cause, and what it says.
    fn said(&self, at: &Address) -> Saying; impl Fact;
}

/// Whose a key is that has the name of an entry, and does not stand for it.
pub enum Whose {
    /// Not this file's. A person can adopt it, once the entry has no key of its own.
    Free {
        /// Whether it has one.
        has_own: bool,
    },
    /// This file's, or another's: it stays.
    Taken,
    /// This entry's: older than its reissue_after, and the newer one cannot be used.
    Superseded,
    /// It is not known: there is no inventory to ask.
    Untold,
}

facts! {
    /// A key that nobody can use any more.
    pub enum Dead {
        /// It expired then, where that is known; whether it was used before.
        Expired { at: Option<Timestamp>, used: bool } => {
            let unused = if *used { "" } else { " without being used" };
            let at = at.map(|at| format!(" ({at:.0})")).unwrap_or_default();
            format!("expired{unused}{at}")
        },
        /// Somebody revoked it; whether it was used before.
        Revoked { used: bool } => if *used { "was revoked" } else { "was revoked without being used" },
        /// It enrolled as many as it may.
        UsedUp => "is used up",
    }

    /// Returns what became of it.
    fn words(&self) -> String;
}

facts! {
    /// Why the peer of a removed key stays.
    pub enum PeerStays {
        /// Its name and its times alone tell which it is.
        NameAlone(peer: Who) => format!("only names and times say that it is the peer {peer}"),
        /// It is one of these.
        OneOf(peers: Vec<String>) => format!(
            "it is not known which of several peers used the key: {}",
            peers.join(", ")
        ),
        /// It is not known which one.
        Untold => UNTOLD,
        /// The one of that name is ephemeral.
        Ephemeral(name: String) => format!("{name:?} is ephemeral"),
        /// The one of that name is a person's.
        Persons(name: String) => format!("{name:?} belongs to a person"),
    }

    /// Returns it.
    fn words(&self) -> String;
}

facts! {
    /// Why nothing is done about a used key.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    pub enum Open {
        /// A server before 0.55 leaves only the event log to tell who came by it, and it does not.
        Untold => format!("was used, but {UNTOLD}"),
        /// No peer fits.
        Nobody => "was used, but no peer is known to have enrolled with it: the peer was deleted, or the event log does not have it any more",
        /// Its peer is gone.
        PeerGone => "was used, but the peer that enrolled with it was deleted",
        /// It was one of these.
        OneOf(peers: Vec<String>) => format!(
            "was used, but it is not known which of several peers enrolled with it: {}",
            peers.join(", ")
        ),
        /// The peer that came by it cannot have the key's name: that other one has it.
        NameTaken { peer: String, name: String, other: Id } => format!(
            "was used by the peer {peer:?}, but the peer {other} has the name {name:?}: rename that peer in NetBird, or delete it if its \
             machine does not exist any more"
        ),
        /// Its peer cannot join that group, which is not there.
        NoGroup(group: String) => {
            format!("joins group {group:?}, which is not in NetBird yet (an apply creates it)")
        },
        /// Its peer cannot join that group: so many have the name.
        Groups(group: String, number: usize) => {
            format!("joins group {group:?}, but {number} groups have this name")
        },
    }

    /// Returns it, as it follows the key's name.
    fn words(&self) -> String;
}

impl Fact for Open {
    fn said(&self, _at: &Address) -> Saying {
        Code::EnrollmentOpen.says(format!("{}; nothing is done", self.words()))
    }
}

facts! {
    /// What else is to be said of a used key.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    pub enum Remark {
        /// It is replaced: what becomes of the peer of that name and id once another machine enrolled, which the file asks for, or does
        /// not ask for any more.
        ToBeReplaced { name: String, peer: Id, is_asked: bool } => Code::ToBeReplaced.says(match is_asked {
            true => format!(
                "is replaced for another machine. When the new machine has enrolled, a plan deletes the peer {name:?} ({peer}) of the old \
                 machine. That deletion needs an agreement."
            ),
            false => format!(
                "waits for another machine. The peer {name:?} ({peer}), which used an older key of this name, keeps the name and leaves \
                 the groups that list it when that machine enrolls. To replace the old machine, set reissue_after to a time between the creation of the two keys."
            ),
        }),
        /// This peer came by it, and it does not exist any more.
        Gone(peer: Who) => Code::DeadKey.says(format!(
            "was used by the peer {peer}, and somebody deleted the key in NetBird. The key is not created again. To enroll \
             another machine, set reissue_after to the present time."
        )),
        /// This peer came by it before the entry, which is marked enrolled, adopts it: whether it has another name, and the groups of
        /// the entry that it is not in.
        DoneBefore { peer: Who, is_other: bool, lacks: BTreeSet<String> } => Code::KeepsName.says(format!(
            "was used by the peer {peer} before this file managed it, so it is marked enrolled{}{}",
            if *is_other { ". The peer keeps its name" } else { "" },
            match lacks.is_empty() {
                true => String::new(),
                false => format!(
                    ". The peer is not added to {}: to add it, list this key in the peers of the group",
                    listed(lacks)
                ),
            }
        )),
        /// This peer of another name came by it before the entry adopted it.
        KeepsName(peer: Who) => Code::KeepsName.says(format!(
            "was used by the peer {peer} before this file managed it, so the peer keeps its name"
        )),
        /// This peer came by it, and the older one of another key of its name stays.
        OlderStays { peer: Who, older: Who, why: Stays } => Code::PeerStays.says(format!(
            "was used by the peer {peer}. The peer {older}, which used an older key of this name, is not deleted, because {}.",
            why.words()
        )),
        /// `enrolled` was taken back; its peer, and whether the file has a `reissue_after` for it.
        FlippedBack { peer: Who, asked: bool } => Code::FlippedBack.says(format!(
            "was marked enrolled before, and now it is not. This has no effect, because the peer {peer} enrolled with this key. To enroll \
             another machine, {}. If you do not want that, set \"enrolled\": true again.",
            match asked {
                true => "set reissue_after, which is older than this key, to the time of this change (such as 2026-12-01T12:00:00Z)",
                false => "set reissue_after to the time of this change (such as 2026-12-01T12:00:00Z)",
            }
        )),
        /// The event log does not tell that this peer came by it.
        BoundByTime(peer: Who, by: Evidence) => {
            Code::BoundByTime.says(format!("was used by the peer {peer}{}", by.behind(": ")))
        },
    }

    /// Returns its cause, and what it says.
    fn said(&self, _at: &Address) -> Saying; impl Fact;
}

facts! {
    /// Why the peer of an older key stays.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    pub enum Stays {
        /// The file does not ask for another machine.
        NotAsked => "the file has no reissue_after that asks for another machine",
        /// `--prune none`.
        PruneNone => "--prune none deletes nothing",
        /// Its key is newer than what asks for another machine.
        Newer => "its key was created after reissue_after",
        /// Its name and its times alone tell by which key it came.
        NameAlone => "only names and times say with which key it enrolled",
        /// That group lists it by its own name.
        Listed(group: String) => format!("group {group:?} lists the peer by its own name"),
    }

    /// Returns why.
    fn words(&self) -> String;
}
