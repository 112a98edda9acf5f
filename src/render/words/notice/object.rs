//! The sentences of objects of any kind, and of peers.

use super::super::{adopt, who};
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::notice::{Logins, Meanwhile, OfObject, OfPeer, Users};
use crate::render::describe;

/// Those of other objects are whole sentences.
pub(super) fn object(of: &OfObject, address: &Address) -> String {
    match of {
        OfObject::Beside(others) => {
            format!("{}. {}", beside(address, "", others), not_managed(others))
        }
        OfObject::Strange { id, file } => format!(
            "NetBird has another {} (id {id}), which {file} manages. This file does not manage it and does not change it.",
            named(address, 1)
        ),
        OfObject::IssuedTwin { id, issued } => format!(
            "is the name of two groups in NetBird: the file means the one that the API made, and leaves {id}, \
             issued by {issued}, alone"
        ),
        OfObject::NotRenamed { old, issued } => format!(
            "is not renamed from {old:?}: that group is issued by {issued} and is never changed here, so a new group is \
             created"
        ),
        OfObject::KeepsName { now, other } => format!(
            "keeps the name {now:?} in NetBird, since another {} has its name (id {other}). Delete or rename that \
             one in NetBird; the next apply then renames this one back.",
            address.kind.label()
        ),
        OfObject::Unclear(ids) => format!(
            "is skipped: NetBird has several objects that it can mean ({}). Say which one with {}, or delete the \
             others in NetBird.",
            joined(ids),
            adopt([(address.key(), "ID")])
        ),
        OfObject::MayBeStrange { ids, environment } => format!(
            "is skipped: the environment {environment}, whose inventory cannot be read, may manage {}. Mend that inventory, \
             or say that this file manages it with {}.",
            joined(ids),
            adopt([(address.key(), "ID")])
        ),
        OfObject::SkippedWith(entry) => {
            format!("is skipped: it refers to {entry}, which is skipped, too")
        }
        OfObject::Logins(of) => logins(of),
        OfObject::LookAlike(name) => format!(
            "is made although {name:?} exists in NetBird: they look the same, but their letters are spelled \
             otherwise"
        ),
    }
}

/// Says which other objects have the name of an entry. `which` says more of them.
pub(super) fn beside(address: &Address, which: &str, others: &[Id]) -> String {
    let (count, id) = match others.len() {
        1 => ("another".to_owned(), "id"),
        number => (format!("{number} other"), "ids"),
    };
    format!(
        "NetBird has {count} {which}{} ({id} {})",
        named(address, others.len()),
        joined(others)
    )
}

pub(super) fn not_managed(others: &[Id]) -> String {
    let them = if others.len() == 1 { "it" } else { "them" };
    format!("This file does not manage {them} and does not change {them}.")
}

/// `policy with the name "web"`; what has no name, with what it stands in.
fn named(address: &Address, number: usize) -> String {
    let label = match number {
        1 => address.kind.label(),
        _ => address.kind.plural(),
    };
    match (address.name.as_str(), address.parent()) {
        ("", Some(parent)) => format!("{label} of {}", parent.quoted()),
        (name, _) => format!("{label} with the name {name:?}"),
    }
}

pub(super) fn joined(ids: &[Id]) -> String {
    let ids: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
    ids.join(", ")
}

fn logins(of: &Logins) -> String {
    match of {
        Logins::NoMore => "is no longer netbird-ssh: nobody can log in through it then".into(),
        Logins::Forgotten(before) => format!(
            "is no longer netbird-ssh: nobody can log in through it then, and NetBird forgets who may: {}; changed back to \
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
