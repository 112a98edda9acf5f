//! The sentences of what makes a plan impossible.

use super::protection;
use crate::base::text::listed;
use crate::model::hint::Hint;
use crate::model::kind::{Kind, Refers};
use crate::model::problem::{Impossible, Problem};

/// What is not declared here, and has to be there.
const MAKE_IT: &str = "make it in NetBird first, or take it out here";

/// What is said of a problem.
pub(crate) struct Told<'a> {
    /// The problem.
    pub(crate) problem: &'a Problem,
    /// What is wrong, as it follows kind and name.
    pub(crate) text: String,
    /// What to do.
    pub(crate) hint: Option<String>,
}

/// Returns what is said of the problems: those of one object in the order of their words.
pub(crate) fn problems(problems: &[Problem]) -> Vec<Told<'_>> {
    let told = |problem| {
        let (text, hint) = text_and_hint(problem);
        Told {
            problem,
            text,
            hint,
        }
    };
    let mut told: Vec<Told> = problems.iter().map(told).collect();
    told.sort_by(|a, b| (&a.problem.address, &a.text).cmp(&(&b.problem.address, &b.text)));
    told
}

fn text_and_hint(problem: &Problem) -> (String, Option<String>) {
    let Problem { address, what } = problem;
    let name = &address.name;
    let (text, hint): (String, &str) = match what {
        Impossible::AdoptUndeclared => {
            let text = "is named by --adopt, but the file does not have it";
            return (text.into(), None);
        }
        Impossible::AdoptAbsent(id) => {
            let text = format!("cannot adopt {id}: NetBird has no such object of this kind");
            return (text, None);
        }
        Impossible::AdoptOneMore(id) => {
            let text = format!("cannot adopt {id}: the inventory has another object for it");
            (text, "delete that one in NetBird first; the inventory names its id")
        }
        Impossible::AdoptSuperseded(id) => {
            let text = format!(
                "cannot adopt {id}: that key is older than reissue_after, so the same run would replace it"
            );
            (text, "take reissue_after out of the entry, or do not adopt that key")
        }
        Impossible::AdoptOfEntry(id, entry) => {
            let text = format!("cannot adopt {id}: it is the object of {entry}");
            (text, "take that entry out of the file, or rename it with renamed_from")
        }
        Impossible::AdoptStrange(id, file) => {
            let text = format!("cannot adopt {id}: {file} manages it");
            (text, "take its entry out of that file first, and apply that file")
        }
        Impossible::ReplaceUndeclared => {
            let text = "is named by --replace, but the file does not have it";
            return (text.into(), None);
        }
        Impossible::ReplaceOfKind => {
            let text =
                "is named by --replace, which works for setup keys and policies only";
            return (text.into(), None);
        }
        Impossible::Exchange if address.kind != Kind::Route => (
            format!(
                "and other {} of this plan swap a unique value, and NetBird cannot do that in one step",
                address.kind.plural()
            ),
            "change them in two steps: take one out first",
        ),
        Impossible::Exchange => (
            "and other routes of this plan exchange their networks: no order of writes allows that"
                .into(),
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
                true => {
                    "if it is the same, give the entry \"renamed_from\" with the old name; else delete that in NetBird"
                }
                false => {
                    "delete that in NetBird, or take it into the file as it is and change it there"
                }
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
            let make_it = (*what == Refers::Check).then(|| MAKE_IT.to_owned());
            return (text, hint.as_ref().map(Hint::words).or(make_it));
        }
        Impossible::SeveralOf(what, name, found) => (
            format!("refers to {} {name:?}, but {found}", what.label()),
            "rename or delete the others in NetBird",
        ),
        Impossible::Rules(number) => {
            let text = format!(
                "has {number} rules in NetBird, and the file can say one; an update cannot take rules out"
            );
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
            format!("is {}: it is never changed here", protection(why)),
            "refer to it without declaring it, or declare it without peers",
        ),
        Impossible::ProtectedJoin { member, why } => {
            let why = protection(why);
            let text = format!(
                "lists {member:?}, which is to join when it enrolls, but it is {why}: it is never changed here"
            );
            let hint = format!(
                "take {member:?} out, or name the group in the key's auto_groups: then NetBird adds the peer itself"
            );
            return (text, Some(hint));
        }
        Impossible::GroupUsed(users) => (
            format!(
                "cannot be deleted: it is still used by {}",
                users.join(", ")
            ),
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
    (text, Some(hint.into()))
}
