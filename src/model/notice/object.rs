//! What is to be said of objects of any kind, and of peers.

use std::collections::BTreeSet;

use super::Fact;
use crate::base::{Code, Id, Saying, text};
use crate::model::{Address, FieldChange, Protection, Who, facts};

facts! {
    /// What is to be said of an object.
    pub enum OfObject {
        /// A group of that id and origin has its name, too.
        IssuedTwin { id: Id, issued: String } => Code::Namesake.says(format!(
            "exists twice in NetBird. This file manages the group that the API created, and does not change the group {id}, which is \
             issued by {issued}."
        )),
        /// It refers to a group of that name, which an identity provider gave to these; whether nothing has to be done about it.
        IssuedTwins { group: String, ids: Vec<Id>, is_done: bool } => {
            let (code, start, end) = match is_done {
                true => (Code::GroupUnclear, "", "Nothing has to be changed now, but any change of this entry will be skipped"),
                false => (Code::Skipped, "is skipped: it ", "It is not known which group is meant"),
            };
            code.says(format!(
                "{start}refers to the group {group:?}, but an identity provider gave this name to {} groups ({}). {end}. Rename one \
                 of them in the identity provider, or refer to another group.",
                ids.len(), joined(ids)
            ))
        },
        /// Its entry lists members, and they are those of an identity provider: who is in it beside the file, and who is not;
        /// whether this change lists them.
        IssuedPeers { issued: Protection, more: Vec<String>, lacks: Vec<String>, is_new: bool } => {
            let others = [("Members in NetBird, but not in the file", more), ("In the file, but no members in NetBird", lacks)];
            let others = others.into_iter().filter(|(_, peers)| !peers.is_empty());
            let others = others.map(|(place, peers)| format!(" {place}: {}.", text::quoted(peers)));
            let (code, change) = match is_new {
                true => (Code::IssuedPeersNow, "this change of "),
                false => (Code::IssuedPeers, ""),
            };
            code.says(format!(
                "is {issued}, which decides its members, so {change}its list \"peers\" has no effect.{} \
                 Delete \"peers\" from the group. To add a machine, name the group in \"auto_groups\" of its setup key.",
                others.collect::<String>()
            ))
        },
        /// Its entry renames that group, which an identity provider manages.
        NotRenamed { old: String, issued: String } => Code::KeepsName.says(format!(
            "is created as a new group: the group {old:?} is issued by {issued}, so it is never renamed"
        )),
        /// These of its name are not this file's. A whole sentence.
        Beside(others: Vec<Id>) => {
            Code::Namesake.whole(format!("{}. {}", beside(at, "", others), not_managed(others)))
        },
        /// This one of its name is managed by that other file. A whole sentence.
        Strange { id: Id, file: String } => Code::Namesake.whole(format!(
            "NetBird has another {} (id {id}), which {file:?} manages. This file does not manage it and does not change it.",
            named(at, 1)
        )),
        /// Nothing is done about it: that other file manages this one, and NetBird does not take a second one.
        SkippedAsStrange { id: Id, file: String } => Code::Skipped.says(format!(
            "is skipped: {file:?} manages this {} (id {id}), and NetBird allows only one. Remove the entry from one of the two files.",
            at.kind.label()
        )),
        /// It is new, though its entry says that it had that name; what may be meant.
        NothingToRename { old: String, hint: Option<String> } => Code::KeepsName.says(format!(
            "is created as a new {label}: NetBird has no {label} {old:?} to rename{}",
            hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default(),
            label = at.kind.label()
        )),
        /// It keeps that name in NetBird, since another one has its own.
        KeepsName { now: String, other: Id } => Code::KeepsName.says(format!(
            "still has the name {now:?} in NetBird, because another {label} (id {other}) has the name {name:?}. Delete or rename the \
             other {label} in NetBird; the next apply then renames {now:?} to {name:?}.",
            label = at.kind.label(),
            name = at.name
        )),
        /// Nothing is done about it: it could be any of these.
        Unclear(ids: Vec<Id>) => Code::Skipped.says(format!(
            "is skipped: several objects in NetBird fit this entry ({}). Run {} with the id of the right one, or delete the others \
             in NetBird.",
            joined(ids), at.adopt("ID")
        )),
        /// It is not created: these have its name, and NetBird takes a name once.
        NameTaken(ids: Vec<Id>) => Code::Skipped.says(format!(
            "is skipped: NetBird has another {} with this name (id {}), and allows only one. Rename one of the two, or delete the other one \
             in NetBird.",
            at.kind.label(), joined(ids)
        )),
        /// Nothing is done about it: it refers to such an entry.
        SkippedWith(entry: String) => {
            Code::Skipped.says(format!("is skipped: it refers to {entry}, which is skipped, too"))
        },
        /// It is skipped: an environment whose inventory cannot be read may have these objects.
        MayBeStrange { ids: Vec<Id>, environment: String } => Code::Skipped.says(format!(
            "is skipped: the inventory of the environment {environment:?} cannot be read, so {environment:?} perhaps manages this {} \
             (id {}). Repair that inventory. If you are sure that {environment:?} does not manage it, run {}.",
            at.kind.label(), joined(ids), at.adopt(only(ids))
        )),
        /// Its entry said these fields before this change.
        SaysLess(fields: BTreeSet<String>) => Code::SaysLess.says(format!(
            "no longer sets {} in the file. NetBird keeps the present values. This file manages only the other fields now.",
            text::listed(fields)
        )),
        /// Its entry goes with this change, and it stays as it is.
        NotManaged => Code::SaysLess.says(
            "is no longer in the file. NetBird keeps its present settings, and this file does not manage them any more."
        ),
        /// Who may log in by a policy changes.
        Logins(logins: Logins) => Code::Logins.says(logins.words()),
        /// A posture check that these machines fail from now on, though it does not name them.
        Fails(who: Vec<&'static str>) => Code::Stricter.says(format!("now fails for {}", text::joined(who, " and for "))),
        /// Its content is the address of a peer that has none of the kind.
        NoAddress => Code::PeerAwaited.says(
            "is skipped until the peer that it names has such an address. (A machine has an IPv6 address if one of its groups is in \
             \"ipv6_enabled_groups\" of the account settings.)"
        ),
        /// It is made, though what lives under that name looks the same.
        LookAlike(name: String) => Code::LookAlike.says(format!(
            "is created although {name:?} exists in NetBird: the names look the same, but their characters differ"
        )),
    }

    /// Returns its cause, and what it says.
    fn said(&self, at: &Address) -> Saying; impl Fact;
}

/// Says which other objects have the name of an entry. `which` says more of them.
pub(super) fn beside(address: &Address, which: &str, others: &[Id]) -> String {
    let (count, id) = match others.len() {
        1 => ("another".to_owned(), "id"),
        number => (format!("{number} other"), "ids"),
    };
    let (named, ids) = (named(address, others.len()), joined(others));
    format!("NetBird has {count} {which}{named} ({id} {ids})")
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

/// The one object, or a word that stands for the right one of several.
pub(super) fn only(ids: &[Id]) -> &str {
    match ids {
        [only] => &only.0,
        _ => "ID",
    }
}

pub(super) fn joined(ids: &[Id]) -> String {
    text::joined(ids, ", ")
}

facts! {
    /// Who may log in by a policy that becomes one of NetBird's SSH, or is one no more.
    pub enum Logins {
        /// Nobody any more.
        NoMore => "no longer has the protocol netbird-ssh: nobody can log in by SSH through it any more",
        /// Nobody any more, and NetBird forgets that these might.
        Forgotten(before: Vec<Users>) => format!(
            "no longer has the protocol netbird-ssh: nobody can log in by SSH through it any more, and NetBird forgets who could ({}). \
             If it gets netbird-ssh again, it lets in {}, until \"authorized_groups\" names users.",
            users(before), users(&[])
        ),
        /// These: everybody, where none are named.
        Of(after: Vec<Users>) => {
            let (comma, all) = match after.is_empty() {
                true => (",", ". To let in only some users, name them in \"authorized_groups\""),
                false => ("", ""),
            };
            format!("has the protocol netbird-ssh: {}{comma} can log in by SSH to its destinations{all}", users(after))
        },
    }

    /// Returns what it says of the policy.
    fn words(&self) -> String;
}

/// The users of a group who may log in.
pub struct Users {
    /// The group.
    pub group: String,
    /// As whom; as anybody, where nobody is named.
    pub logins: Vec<String>,
}

/// `users of group "ops" as "root"`; everybody where nobody is named: the server then lets in every user who is no service user and
/// not blocked, as `*` (`getAllowedUserIDs` in management/server/types/account.go, read at ee253fedd, after 0.77.1).
fn users(named: &[Users]) -> String {
    let entry = |Users { group, logins }: &Users| {
        let logins = match logins.is_empty() {
            true => "any local user".to_owned(),
            false => text::quoted(logins),
        };
        format!("users of group {group:?} as {logins}")
    };
    match named.is_empty() {
        true => "every user of the account, as any local user".into(),
        false => text::joined(named.iter().map(entry), "; "),
    }
}

facts! {
    /// What is to be said of a peer.
    pub enum OfPeer {
        /// It waits for approval.
        WaitsForApproval => {
            Code::WaitsForApproval.says("waits for approval in NetBird: until it is approved, it cannot reach any peer")
        },
        /// Another one came in its place, and its deletion would hit these.
        StaysInUse { by: Who, users: Vec<String> } => Code::PeerStays.says(format!(
            "is replaced by the peer {by}, but is not deleted, because its deletion would break {}. Remove the old peer from there first.",
            users.join(", ")
        )),
    }

    /// Returns its cause, and what it says.
    fn said(&self, _at: &Address) -> Saying; impl Fact;
}

facts! {
    /// What is to be said of a user.
    pub enum OfUser {
        /// Nobody of that address logged in yet.
        Absent => Code::UserAwaited.says(
            "has not logged in to NetBird yet. This entry is skipped until then: no entry creates or invites a user."
        ),
        /// Somebody has to let the user in first.
        Pending => Code::Skipped.says(
            "is skipped: the user waits for approval in NetBird, and any change would approve the user. Approve or reject the user in \
             NetBird first."
        ),
        /// Its groups that NetBird refuses when they are sent back, and of which the entry says nothing.
        Refused(groups: Vec<String>) => Code::Skipped.says(format!(
            "is skipped: the user's groups in NetBird contain {}, which NetBird refuses when they are sent back. Set \"auto_groups\" \
             to the groups that the user has.",
            text::listed(groups)
        )),
        /// Locked out, with so many machines.
        Blocked(machines: usize) => Code::UserBlocked.says(format!(
            "is blocked by this change, with {}, until somebody unblocks the user and the user logs in again",
            text::count(*machines, "machine", "machines")
        )),
    }

    /// Returns its cause, and what it says.
    fn said(&self, _at: &Address) -> Saying; impl Fact;
}

/// Names in quotes, all of them: nothing else says who they were.
fn all_quoted(names: &[String]) -> String {
    text::joined(names.iter().map(|name| format!("{name:?}")), ", ")
}

facts! {
    /// What somebody did while an apply ran, and the run undid.
    pub enum Meanwhile {
        /// They changed these fields.
        Changed(fields: Vec<FieldChange>) => {
            Code::Meanwhile.whole(format!(
                "somebody changed {} during this run ({}). This run sets the values of the file again.",
                at.quoted(), text::joined(fields.iter().map(FieldChange::named), ", ")
            ))
        },
        /// They renamed it to that.
        Renamed(name: String) => Code::Meanwhile.whole(format!(
            "somebody renamed {} to {name:?} during this run. This run sets the name of the file again.",
            at.quoted()
        )),
        /// They took these out of the group.
        TookOut(peers: Vec<String>) => Code::Meanwhile.whole(format!(
            "somebody removed {} from {} during this run. The file lists them, so the run added them again.",
            all_quoted(peers), at.quoted()
        )),
        /// These joined the group while it was written, which threw them out.
        ThrownOut(peers: Vec<String>) => Code::Meanwhile.whole(format!(
            "{} joined {} while this run wrote the group, and that write removed them. The run added them again.",
            all_quoted(peers), at.quoted()
        )),
    }

    /// Returns its cause, and what it says.
    fn said(&self, at: &Address) -> Saying; impl Fact;
}
