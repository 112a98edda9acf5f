//! The sentences of setup keys.

use super::super::{adopt, shell, told_by, who};
use super::object::{beside, joined, not_managed};
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::notice::{Dead, OfKey, Open, PeerStays, Remark, Stays, Whose};

/// What is said where a server before 0.55 leaves only the event log to tell who came by a key, and it does not.
pub(super) const UNTOLD: &str = "which peer enrolled with it nobody can tell: this NetBird does not say when peers enrolled \
                                 (0.55 and later do), and the event log has nothing of it";

pub(super) fn key(of: &OfKey, address: &Address) -> String {
    let path = shell(&address.key());
    match of {
        OfKey::ReplaceIdle => {
            "is marked enrolled and is never made again: --replace leaves it alone".into()
        }
        OfKey::UnusedKey(id) => format!(
            "is marked enrolled, and NetBird has a valid, unused key with its name (id {id}). It stays; delete it in NetBird \
             if nobody needs it."
        ),
        OfKey::ReissueLater(at) => {
            format!("has a reissue_after that lies in the future ({at}): nothing until then")
        }
        OfKey::Skipped(keys) => format!(
            "is skipped: NetBird has a used key with its name ({}), so its machine may have enrolled already. If it has, run \
             {}. If it has not, set reissue_after: then a new key is made.",
            joined(keys),
            adopt([(address.key(), only(keys))])
        ),
        OfKey::ExpiresSoon(at) => {
            format!("expires within a day, at {at:.0}, and is not used yet")
        }
        OfKey::Dead(of) => format!(
            "{}; remake it with reissue_after, or with --replace {path}",
            dead(*of)
        ),
        OfKey::AdoptedDiffers(id) => format!(
            "existed before this file managed it (id {id}), and differs from the file in what NetBird cannot change. It \
             stays as it is. For a new key, set reissue_after, or use --replace {path}."
        ),
        OfKey::MadeEarlier(Some(place)) => {
            format!("was made by an earlier run and is not used yet; its sealed copy is {place}")
        }
        OfKey::MadeEarlier(None) => {
            "was made by an earlier run and is not used yet; its sealed text is in the log, the artifact or the comment of \
             that run"
                .into()
        }
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
                    adopt([(address.key(), only(keys))])
                ),
            };
            format!("{}. {rest}", beside(address, "valid ", keys))
        }
        OfKey::LabelTaken { label, peer } => format!(
            "makes the DNS label {label:?}, which the peer {peer:?} has: the new peer gets the label with a suffix from its IP"
        ),
        OfKey::NewRecipient(recipient) => {
            format!("has the new recipient {recipient}: on the base branch the key does not have it")
        }
        OfKey::RecipientsChanged => {
            "has other recipients than before; the key that lives stays sealed as it is: reissue_after makes a new one"
                .into()
        }
        OfKey::PeerStays(why) => format!("was removed, and its peer {}", peer_stays(why)),
    }
}

/// The one key, or a word that stands for the right one of several.
fn only(keys: &[Id]) -> &str {
    match keys {
        [only] => &only.0,
        _ => "ID",
    }
}

fn dead(of: Dead) -> String {
    match of {
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

fn peer_stays(why: &PeerStays) -> String {
    match why {
        PeerStays::NameAlone(peer) => format!(
            "stays: its name and its times alone tell that it is {}",
            who(peer)
        ),
        PeerStays::OneOf(peers) => format!(
            "stays: it was used by one of {}, and nobody can tell by which",
            peers.join(", ")
        ),
        PeerStays::Untold => format!("stays, if there is one: {UNTOLD}"),
        PeerStays::Ephemeral(name) => format!("{name:?} stays: it is ephemeral"),
        PeerStays::Persons(name) => format!("{name:?} stays: it belongs to a person"),
    }
}

/// Returns why nothing is done about a used key, as it follows the key's name.
pub(crate) fn open(why: &Open) -> String {
    match why {
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

/// Returns what else is to be said of a used key, as it follows the key's name.
pub(crate) fn remark(of: &Remark) -> String {
    match of {
        Remark::ToBeReplaced(name, id) => format!(
            "is replaced for another machine: once that machine enrolled, its peer {name:?} ({id}) is to be deleted, which \
             somebody has to agree to"
        ),
        Remark::Gone(peer) => format!(
            "was used by the peer {}, and somebody deleted the key in NetBird. It is not created again. To enroll another \
             machine, set reissue_after.",
            who(peer)
        ),
        Remark::KeepsName(peer) => format!(
            "was used by the peer {} before this file managed it, so the peer keeps its name",
            who(peer)
        ),
        Remark::OlderStays { peer, older, why } => format!(
            "was used by the peer {}, and the peer {} of another key of that name stays: {}",
            who(peer),
            who(older),
            stays(why)
        ),
        Remark::GivesName { peer, other } => format!(
            "can give its name to the peer {peer} once no other peer has it: rename the peer {other} in NetBird, or delete it \
             there if its machine is gone"
        ),
        Remark::FlippedBack { peer, asked } => {
            let asked = match asked {
                true => {
                    "set reissue_after, which is older than that key, to the time of that change"
                }
                false => "set reissue_after beside it to the time of that change",
            };
            format!(
                "was marked enrolled and is not any more, which alone changes nothing: the peer {} came by its key. To \
                 enroll another machine, {asked}; if none is meant, put enrolled back to true",
                who(peer)
            )
        }
        Remark::BoundByTime(peer, by) => {
            format!("was used by the peer {}{}", who(peer), told_by(*by, ": "))
        }
    }
}

fn stays(why: &Stays) -> String {
    match why {
        Stays::NotAsked => "reissue_after, which asks for another machine, is not in the file",
        Stays::PruneNone => "--prune none deletes nothing",
        Stays::Newer => "its key was made after reissue_after",
        Stays::NameAlone => "its name and its times alone tell by which key it came",
        Stays::Listed(group) => return format!("group {group:?} lists it by its own name"),
    }
    .into()
}
