//! What makes a plan impossible, as data and in words.

use crate::base::id::Id;
use crate::base::text::listed;
use crate::model::address::Address;
use crate::model::hint::Hint;
use crate::model::kind::{Kind, Refers, Unresolved};
use crate::model::protection::Protection;

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The object that it is about.
    pub address: Address,
    /// What is wrong with it.
    pub what: Impossible,
}

/// What cannot be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impossible {
    /// `--replace` names what the file does not have.
    ReplaceUndeclared,
    /// `--replace` names what is of a kind that is never made anew.
    ReplaceOfKind,
    /// `--adopt` names what the file does not have.
    AdoptUndeclared,
    /// `--adopt` names an object that there is not.
    AdoptAbsent(Id),
    /// `--adopt` names an object for an entry that has as many recorded ones as it has places.
    AdoptOneMore(Id),
    /// The key is older than the one that the entry's `reissue_after` asks for.
    AdoptSuperseded(Id),
    /// `--adopt` names the object of another entry, in words.
    AdoptOfEntry(Id, String),
    /// `--adopt` names an object that the file of another environment manages.
    AdoptStrange(Id, String),
    /// Objects exchange what only one of them can have.
    Exchange,
    /// Another route for the same network and routers lives.
    RouteTwin(String, Id),
    /// This lives, and NetBird does not take both.
    InTheWay(String),
    /// One of its name stands in another object, in words, and does not go.
    Elsewhere(String, Id),
    /// It is made anew, and these stand in the old one and are not the file's.
    TakesAlong(Vec<String>),
    /// The plan makes another route for the same network and routers.
    NewRouteTwin(String),
    /// It refers to what the plan deletes.
    Goes(Refers, String),
    /// It refers to what there is not.
    Absent {
        /// What it would be.
        what: Refers,
        /// The name.
        name: String,
        /// What may be meant.
        hint: Option<Hint>,
    },
    /// It refers to a name that several bear; which those are.
    SeveralOf(Refers, String, Unresolved),
    /// A policy has that many rules.
    Rules(String),
    /// The users of this source group are not named, where those of others are.
    UnnamedUsers(String),
    /// A group that is never changed would be.
    Protected(Protection),
    /// A member is to join a group that is never changed.
    ProtectedJoin {
        /// The member.
        member: String,
        /// Why the group is never changed.
        why: Protection,
    },
    /// A group is to be deleted that these use.
    GroupUsed(Vec<String>),
    /// It means the same machine as another entry.
    SamePeer(String),
    /// A machine of a setup key is to expire, or not to, by this field.
    ExpiresOfKey(String),
    /// This NetBird has no such setting.
    NoSetting(String),
    /// Machines may expose services, and no group says which.
    ExposesNobody,
    /// NetBird refuses any change of the settings while this one names a group that is gone.
    DeadGroup {
        /// The setting.
        field: String,
        /// The group, in words.
        group: String,
    },
    /// It is the domain of that zone, and NetBird does not take both.
    DomainOfZone(String),
}

impl Problem {
    /// A problem of one object.
    pub fn new(address: &Address, what: Impossible) -> Self {
        let address = address.clone();
        Problem { address, what }
    }

    /// What it refers to by the name that is the trouble, where it is one.
    pub fn reference(&self) -> Option<(Refers, &str)> {
        match &self.what {
            Impossible::Goes(what, name)
            | Impossible::Absent { what, name, .. }
            | Impossible::SeveralOf(what, name, _) => Some((*what, name)),
            _ => None,
        }
    }

    /// The member whose name is the trouble, where it is one.
    pub fn member(&self) -> Option<&str> {
        match &self.what {
            Impossible::ProtectedJoin { member, .. } => Some(member),
            _ => None,
        }
    }

    /// Whether something is in the way of a deletion; there may be more of it in lists that no other plan needs.
    pub fn is_of_deletion(&self) -> bool {
        matches!(self.what, Impossible::GroupUsed(_))
    }

    /// Returns what is wrong, as it follows kind and name, and what to do.
    fn words(&self) -> (String, Option<String>) {
        let Problem { address, what } = self;
        let name = &address.name;
        let (text, hint): (String, &str) = match what {
            Impossible::AdoptUndeclared => (
                "is named by --adopt, but the file does not have it".into(),
                "",
            ),
            Impossible::AdoptAbsent(id) => (
                format!("cannot adopt {id}: NetBird has no such object of this kind"),
                "",
            ),
            Impossible::AdoptOneMore(id) => (
                format!("cannot adopt {id}: the inventory has another object for it"),
                "delete that one in NetBird first; the inventory names its id",
            ),
            Impossible::AdoptSuperseded(id) => (
                format!("cannot adopt {id}: that key is older than reissue_after, so the same run would replace it"),
                "take reissue_after out of the entry, or do not adopt that key",
            ),
            Impossible::AdoptOfEntry(id, entry) => (
                format!("cannot adopt {id}: it is the object of {entry}"),
                "take that entry out of the file, or rename it with renamed_from",
            ),
            Impossible::AdoptStrange(id, file) => (
                format!("cannot adopt {id}: {file} manages it"),
                "take its entry out of that file first, and apply that file",
            ),
            Impossible::ReplaceUndeclared => (
                "is named by --replace, but the file does not have it".into(),
                "",
            ),
            Impossible::ReplaceOfKind => (
                "is named by --replace, which works for setup keys and policies only".into(),
                "",
            ),
            Impossible::Exchange if address.kind != Kind::Route => (
                format!(
                    "and other {} of this plan swap a unique value, and NetBird cannot do that in one step",
                    address.kind.plural()
                ),
                "change them in two steps: take one out first",
            ),
            Impossible::Exchange => (
                "and other routes of this plan exchange their networks: no order of writes allows that".into(),
                "change them in two steps: give one another network first",
            ),
            Impossible::RouteTwin(other, id) => (
                format!(
                    "cannot be written: NetBird has another route {other:?} ({id}) for the same network through the same \
                     routers, and refuses a second one"
                ),
                "give one of them another network or other routers, or delete the other in NetBird",
            ),
            Impossible::Elsewhere(parent, id) => (
                format!("cannot be written: NetBird has one of that name ({id}) in {parent}, and a name stands once in an account"),
                "declare where it stands, then it moves; or give one of them another name",
            ),
            Impossible::InTheWay(other) => (
                format!("cannot be written: NetBird has {other}, and does not take both"),
                match address.kind.descriptor().can_be_renamed {
                    true => "if it is the same, give the entry \"renamed_from\" with the old name; else delete that in NetBird",
                    false => "delete that in NetBird, or take it into the file as it is and change it there",
                },
            ),
            Impossible::TakesAlong(inside) => (
                format!(
                    "cannot be replaced: that would delete {} too, and the file does not declare {}",
                    listed(inside),
                    if inside.len() == 1 { "it" } else { "them" }
                ),
                "declare what is inside it, or delete that in NetBird, or give the new one another name",
            ),
            Impossible::NewRouteTwin(other) => (
                format!(
                    "cannot be written: this plan makes the route {other:?} for the same network through the same routers, \
                     and NetBird refuses a second one"
                ),
                "give one of them another network or other routers",
            ),
            Impossible::Goes(what, name) => (
                format!("refers to {} {name:?}, which this plan deletes", what.label()),
                "declare it, or take it out here",
            ),
            Impossible::Absent { what, name, hint } => {
                let absent = match what {
                    Refers::Group | Refers::Resource => "neither declared nor in NetBird",
                    Refers::Check => "not in NetBird",
                };
                let text = format!("refers to {} {name:?}, which is {absent}", what.label());
                let make_it = "make it in NetBird first, or take it out here".to_owned();
                let make_it = (*what == Refers::Check).then_some(make_it);
                return (text, hint.as_ref().map(Hint::words).or(make_it));
            }
            Impossible::SeveralOf(what, name, found) => (
                format!("refers to {} {name:?}, but {found}", what.label()),
                "rename or delete the others in NetBird",
            ),
            Impossible::Rules(number) => {
                let text =
                    format!("has {number} rules in NetBird, and the file can say one; an update cannot take rules out");
                let hint = format!(
                    "look at the rules in NetBird; --replace policies/{name} replaces it by one with the declared rule only"
                );
                return (text, Some(hint));
            }
            Impossible::UnnamedUsers(group) => (
                format!(
                    "says in NetBird who of its sources may log in as whom, and nothing of group {group:?}: the server would \
                     refuse it"
                ),
                "say it in \"authorized_groups\", with every source group",
            ),
            Impossible::Protected(why) => (
                format!("is {why}: it is never changed here"),
                "refer to it without declaring it, or declare it without peers",
            ),
            Impossible::ProtectedJoin { member, why } => {
                let text = format!(
                    "lists {member:?}, which is to join when it enrolls, but it is {why}: it is never changed here"
                );
                let hint = format!(
                    "take {member:?} out, or name the group in the key's auto_groups: then NetBird adds the peer itself"
                );
                return (text, Some(hint));
            }
            Impossible::GroupUsed(users) => (
                format!("cannot be deleted: it is still used by {}", users.join(", ")),
                match address.kind {
                    Kind::Group => "take the group out there first, or declare it",
                    _ => "take it out there first, or declare it",
                },
            ),
            Impossible::SamePeer(other) => (
                format!("means the same machine as {other:?}"),
                "keep one of the entries",
            ),
            Impossible::ExpiresOfKey(field) => (
                format!("cannot have another {field}: it enrolled with a setup key, and only machines of people log in again"),
                "leave the field out",
            ),
            Impossible::NoSetting(field) => (
                format!("cannot set {field}: this NetBird has no such setting, it is too old"),
                "leave the field out",
            ),
            Impossible::ExposesNobody => (
                "cannot let machines expose services without a group of those that may: NetBird refuses it".into(),
                "name one in \"peer_expose_groups\"",
            ),
            Impossible::DeadGroup { field, group } => (
                format!("cannot be changed: its {field} still names {group}, and NetBird refuses every change until it does not"),
                "say in the file which groups it names",
            ),
            Impossible::DomainOfZone(zone) => (
                format!("cannot have the domain of DNS zone {zone:?}: NetBird does not take both"),
                "give machines another domain, or delete the zone in a change before this one",
            ),
        };
        (text, (!hint.is_empty()).then(|| hint.to_owned()))
    }
}

/// Returns the problems, each with what is wrong, as it follows kind and name, and what to do: those of one object in the order
/// of their words.
pub fn told(problems: &[Problem]) -> Vec<(&Problem, String, Option<String>)> {
    let words = problems.iter().map(Problem::words);
    let told = problems.iter().zip(words);
    let mut told: Vec<_> = told.map(|(of, (text, hint))| (of, text, hint)).collect();
    told.sort_by(|a, b| (&a.0.address, &a.1).cmp(&(&b.0.address, &b.1)));
    told
}
