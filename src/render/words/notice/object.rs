//! The sentences of objects of any kind, and of peers.

use super::super::who;
use crate::id::Id;
use crate::notice::{Logins, Meanwhile, OfObject, OfPeer, Users};
use crate::render::describe;
use crate::text::listed;

const TAKES_OVER: &str = "lives in NetBird already: the file takes it over";

pub(super) fn object(of: &OfObject) -> String {
    match of {
        OfObject::TakesOver => TAKES_OVER.into(),
        OfObject::TakesOverKey => format!("{TAKES_OVER}, whose secret was never sealed here"),
        OfObject::IssuedTwin { id, issued } => format!(
            "is the name of two groups in NetBird: the file means the one that the API made, and leaves {id}, issued by \
             {issued}, alone"
        ),
        OfObject::Namesakes(others) => {
            let words = |(id, form): &(Id, &str)| format!("{id} ({form})");
            format!(
                "has a namesake in NetBird that is not this file's and is left alone: {}",
                listed(&others.iter().map(words).collect::<Vec<_>>())
            )
        }
        OfObject::Logins(of) => logins(of),
        OfObject::RenamedAlready(old) => {
            format!("is renamed already: renamed_from {old:?} can be taken out")
        }
        OfObject::LookAlike(name) => format!(
            "is made although {name:?} lives in NetBird: they look the same, but their letters are spelled otherwise"
        ),
        OfObject::TwinStays { id, holders } => format!(
            "has a second one of its name in NetBird ({id}), which stays: {} still refers to it",
            listed(&holders.iter().collect::<Vec<_>>())
        ),
    }
}

fn logins(of: &Logins) -> String {
    match of {
        Logins::NoMore => "is netbird-ssh no more: nobody logs in by it then".into(),
        Logins::Forgotten(before) => format!(
            "is netbird-ssh no more: nobody logs in by it then, and NetBird forgets who may: {}; changed back to \
             netbird-ssh, it lets in {}, until \"authorized_groups\" names users",
            users(before),
            users(&[])
        ),
        Logins::Of(after) => {
            let all = match after.is_empty() {
                true => "; \"authorized_groups\" names users",
                false => "",
            };
            format!(
                "is netbird-ssh: it lets in to its destinations {}{all}",
                users(after)
            )
        }
    }
}

/// `users of "ops" as root`; everybody where nobody is named: the server then lets in every user who is no service user and
/// not blocked, as `*` (`getAllowedUserIDs` in management/server/types/account.go, read at ee253fedd, after 0.77.1).
fn users(named: &[Users]) -> String {
    let entry = |Users { group, logins }: &Users| {
        let logins = match logins.is_empty() {
            true => "any local user".to_owned(),
            false => logins.join(", "),
        };
        format!("users of {group:?} as {logins}")
    };
    match named.is_empty() {
        true => "every user of the account, as any local user".into(),
        false => named.iter().map(entry).collect::<Vec<_>>().join("; "),
    }
}

pub(super) fn peer(of: &OfPeer) -> String {
    match of {
        OfPeer::WaitsForApproval => {
            "waits for approval in NetBird: until then it reaches nobody".into()
        }
        OfPeer::LeftBehind(id) => format!(
            "({id}) stays in the network, though the setup key of that name left the file: that key is gone from NetBird \
             too, so nothing proves any more that its machine may go. Delete the peer in NetBird, or list it in a group if \
             it is to stay"
        ),
        OfPeer::StaysInUse { by, users } => format!(
            "is replaced by the peer {}, and stays, since its deletion would hit {}: take it out of there first",
            who(by),
            users.join(", ")
        ),
    }
}

/// Returns what is said of something that somebody did while an apply ran.
pub(super) fn meanwhile(of: &Meanwhile) -> String {
    match of {
        Meanwhile::Changed(fields) => {
            let fields: Vec<String> = fields.iter().map(describe::named_field).collect();
            format!(
                "was changed by somebody meanwhile; the file says otherwise, so it is set again: {}",
                fields.join(", ")
            )
        }
        Meanwhile::Renamed(name) => format!(
            "was renamed to {name:?} by somebody meanwhile; the file says otherwise, so it is set again"
        ),
        Meanwhile::TookOut(peers) => format!(
            "lost {} to somebody meanwhile; the file lists them, so they are members again",
            peers.join(", ")
        ),
        Meanwhile::ThrownOut(peers) => format!(
            "{} joined while it was written and was thrown out by that; put back",
            peers.join(", ")
        ),
    }
}
