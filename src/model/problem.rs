//! What makes a plan impossible, as data and in words.

use std::collections::BTreeSet;
use std::fmt;

use crate::base::{Id, joined, listed, shell};
use crate::model::{Address, Kind, Refers, Unresolved, facts};

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The object that it is about.
    pub address: Address,
    /// What is wrong with it.
    pub what: Impossible,
}

facts! {
    /// What cannot be.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Impossible {
        /// `--replace` names what the file does not have; what may be meant.
        ReplaceUndeclared(hint: Option<String>) => says(
            "is named by --replace, but the file does not have it",
            hint.as_deref().unwrap_or_default(),
        ),
        /// `--replace` names what is of a kind that is never replaced.
        ReplaceOfKind => {
            let kinds = Kind::ALL.into_iter().filter(|kind| kind.descriptor().can_be_replaced);
            let kinds = joined(kinds.map(Kind::plural), " and ");
            says(format!("is named by --replace, which works for {kinds} only"), "")
        },
        /// `--adopt` names what the file does not have; what may be meant.
        AdoptUndeclared(hint: Option<String>) => says(
            "is named by --adopt, but the file does not have it",
            hint.as_deref().unwrap_or_default(),
        ),
        /// `--adopt` names an object that there is not.
        AdoptAbsent(id: Id) => says(format!("cannot adopt {id}: NetBird has no such object of this kind"), ""),
        /// `--adopt` names a machine for the name of a setup key.
        AdoptForKey(id: Id) => says(
            format!("cannot mean the machine {id}: the file has a setup key with this name, and the name means the machine that enrolls with the key"),
            "for another machine set \"enrolled\": false and \"reissue_after\" on that key",
        ),
        /// `--adopt` names an object for an entry that has as many recorded ones as it has places.
        AdoptOneMore(id: Id) => says(
            format!("cannot adopt {id}: the inventory has another object for it"),
            "delete that one in NetBird first; the inventory names its id",
        ),
        /// `--adopt` names it for that other entry, too.
        AdoptTwice(id: Id, entry: String) => says(
            format!("cannot adopt {id}: --adopt names it for {entry}, too"),
            "name it for one of them",
        ),
        /// `--adopt` names an object that cannot stand for its entry.
        AdoptUnfit(id: Id) => says(
            format!("cannot adopt {id}: it does not fit this entry"),
            "it is in something else, is not in the list of the entry, is a key with another name, or is never managed (All, and groups of an \
             identity provider)",
        ),
        /// The key is older than the one that the entry's `reissue_after` asks for.
        AdoptSuperseded(id: Id) => says(
            format!("cannot adopt {id}: that key is older than reissue_after, so the same run would replace it"),
            "take reissue_after out of the entry, or do not adopt that key",
        ),
        /// `--adopt` names the object of another entry, in words.
        AdoptOfEntry(id: Id, entry: String) => says(
            format!("cannot adopt {id}: it is the object of {entry}"),
            "take that entry out of the file, or rename it with renamed_from",
        ),
        /// `--adopt` names an object that the file of another environment manages.
        AdoptStrange(id: Id, file: String) => says(
            format!("cannot adopt {id}: {file:?} manages it"),
            "remove its entry from that file first, and apply that file",
        ),
        /// Objects exchange what only one of them can have.
        Exchange => says(
            format!("and other {} of this plan swap a unique value, and NetBird cannot do that in one step", at.kind.plural()),
            "change them in two steps: first take one out, or give it another value",
        ),
        /// Another route for the same network and routers lives.
        RouteTwin(other: String, id: Id) => says(
            format!(
                "cannot be written: NetBird has another route {other:?} ({id}) for the same network through the same routers, and \
                 refuses a second one"
            ),
            "give one of them another network or other routers, or delete the other one in NetBird",
        ),
        /// This lives, and NetBird does not take both.
        InTheWay(other: String) => says(
            format!("cannot be written: NetBird has {other}, and allows only one of the two"),
            match at.kind.can_be_renamed() {
                true => "if it is the same object, add \"renamed_from\" with the old name to the entry; if not, delete the object in NetBird",
                false => "delete that object in NetBird, or write it into the file as it is and change it there",
            },
        ),
        /// This lives, that other file manages it, and NetBird does not take both.
        StrangeInTheWay(other: String, id: Id, file: String) => says(
            format!("cannot be written: NetBird has {other} ({id}), which {file:?} manages, and allows only one of the two"),
            "remove the entry from one of the two files, or give this one another value",
        ),
        /// One of its name stands in another object, in words, and does not go.
        Elsewhere(parent: String, id: Id) => says(
            format!("cannot be written: NetBird has one with this name ({id}) in {parent}, and the name can exist only once in an account"),
            "to move it, declare that network in the file, too; if it is another one, give one of them another name",
        ),
        /// It is replaced, and these stand in the old one and are not the file's.
        TakesAlong(inside: Vec<String>) => says(
            format!(
                "cannot be replaced: that would delete {} too, and the file does not declare {}",
                listed(inside),
                if inside.len() == 1 { "it" } else { "them" }
            ),
            "declare the content in the file, too, or delete it in NetBird, or give the new one another name",
        ),
        /// The plan makes another route for the same network and routers.
        NewRouteTwin(other: String) => says(
            format!(
                "cannot be written: this plan makes the route {other:?} for the same network through the same routers, and \
                 NetBird refuses a second one"
            ),
            "give one of them another network or other routers",
        ),
        /// It refers to what the plan deletes.
        Goes(what: Refers, name: String) => says(
            format!("refers to {} {name:?}, which this plan deletes", what.label()),
            "keep that entry in the file, or remove the reference to it",
        ),
        /// It refers to what there is not.
        Absent {
            /// What it would be.
            what: Refers,
            /// The name.
            name: String,
            /// What may be meant.
            hint: Option<String>,
        } => {
            let what = what.label();
            says(
                format!("refers to {what} {name:?}, which is neither declared nor in NetBird"),
                hint.as_deref().unwrap_or_default(),
            )
        },
        /// It refers to a name that several have; which those are.
        SeveralOf(what: Refers, name: String, found: Unresolved) => says(
            format!("refers to {} {name:?}, but {found}", what.label()),
            "rename or delete the others in NetBird",
        ),
        /// It is renamed from that, and another entry gives its new name up in the same change.
        NameGivenUp(old: String) => says(
            format!("is renamed from {old:?}, but the entry that had the name {:?} is removed in the same change", at.name),
            "merge it in two steps: first remove that entry, then rename the other one",
        ),
        /// It contains these of that kind, and the list of the kind lacks them.
        Unlisted(kind: Kind, ids: BTreeSet<Id>) => says(
            format!(
                "cannot be read: it contains {} that are missing in NetBird's list ({})",
                kind.plural(), listed(ids)
            ),
            "run again; if it happens again, a proxy before NetBird cuts the list",
        ),
        /// A policy has that many rules.
        Rules(number: String) => says(
            format!("has {number} rules in NetBird, but a policy of the file has one, and an update cannot remove rules"),
            format!(
                "look at the rules in NetBird; apply --replace {} replaces the policy by one with the rule of the file only",
                shell(&at.key())
            ),
        ),
        /// The users of this source group are not named, where those of others are.
        UnnamedUsers(group: String) => says(
            format!(
                "has users in NetBird who may log in by SSH, but none for its source group {group:?}: NetBird would refuse the change"
            ),
            "set \"authorized_groups\", with every source group",
        ),
        /// Users of several identity providers have that address.
        SeveralUsers(providers: Vec<String>) => says(
            format!("can mean several users: those of the identity providers {}", listed(providers)),
            "set \"identity_provider\" to the right one",
        ),
        /// Nobody of that address comes by the identity provider that the entry names; by which, somebody does.
        OtherProvider(wanted: String, providers: Vec<String>) => says(
            match &providers[..] {
                [one] if one.is_empty() => format!("does not log in through the identity provider {wanted:?}: NetBird names no provider for this user"),
                _ => format!("does not log in through the identity provider {wanted:?}, but through {}", listed(providers)),
            },
            "write the provider that NetBird names, or leave \"identity_provider\" out",
        ),
        /// It is the token's own user.
        OwnUser => says(
            "is the user of the token itself, whom this program does not change",
            "leave the entry out, or use the token of a service user",
        ),
        /// It is the owner.
        OwnerUser => says(
            "is the owner of the account, whom this program does not change",
            "leave the entry out",
        ),
        /// A group is taken from the user, and lists that machine of the user.
        TakenAndListed(group: String, machine: String) => says(
            format!(
                "loses the group {group:?}, so NetBird removes the user's machine {machine:?} from it, but the file lists this machine in it"
            ),
            format!("remove {machine:?} from \"peers\" of the group, or keep the group in \"auto_groups\" of the user"),
        ),
        /// The file says no more of the zone than its records, and NetBird has none of that name.
        NoSuchZone => says(
            "is not in NetBird, and the file has only its records",
            "add its \"domain\" and \"distribution_groups\" to create it, or correct the name",
        ),
        /// It is not in the zone, whose domain is that.
        OutsideZone(domain: String) => says(
            format!("is not a name in its zone, whose domain is {domain:?}"),
            "correct the name, or put the record into its own zone",
        ),
        /// It checks where a machine is, and the server does not know that.
        NoLocations => says(
            "checks where a machine is, and this NetBird has no geo location database",
            "install the geo location database in NetBird, or remove \"geo\" here",
        ),
        /// It is a policy of NetBird's SSH, which an old NetBird does not have.
        NoSsh => says(
            "has the protocol netbird-ssh, but this NetBird is too old for it: NetBird 0.61 and later have it",
            "use the protocol tcp with port 22, or update NetBird",
        ),
        /// A group that is never changed would be.
        Protected(why: Protection) => says(
            format!("is {why}: it is never changed here"),
            "refer to it without declaring it, or declare it without peers",
        ),
        /// It means the same machine as another entry.
        SamePeer(other: String) => says(
            format!("means the same machine as {other:?}"),
            "keep one of the entries",
        ),
        /// A machine of a setup key is to expire, or not to, by this field.
        ExpiresOfKey(field: String) => says(
            format!("cannot have another {field}: it enrolled with a setup key, and only machines of people log in again"),
            "leave the field out",
        ),
        /// This NetBird has no such setting.
        NoSetting(field: String) => says(
            format!("cannot set {field}: this NetBird is too old to have this setting"),
            "leave the field out",
        ),
        /// Machines may expose services, and no group says which.
        ExposesNobody => says(
            "lets machines expose services, but names no group whose machines may: NetBird refuses it",
            "name a group in \"peer_expose_groups\"",
        ),
        /// NetBird refuses any change of the settings while this one names a group that is gone.
        DeadGroup {
            /// The setting.
            field: String,
            /// The group, in words.
            group: String,
        } => says(
            format!("cannot be changed: its {field} still names {group}, and NetBird refuses every change while it does"),
            "set this field in the file",
        ),
        /// It is the domain of that zone, and NetBird does not take both.
        DomainOfZone(zone: String) => says(
            format!("cannot have the domain of DNS zone {zone:?}: NetBird allows only one of the two"),
            "give machines another domain, or delete the zone in a change before this one",
        ),
    }

    /// Returns what is wrong with the object of that address, as it follows kind and name, and what to do, if anything.
    fn words(&self, at: &Address) -> (String, Option<String>);
}

/// What is wrong, and what to do: nothing where that is empty.
fn says(text: impl Into<String>, hint: impl Into<String>) -> (String, Option<String>) {
    let hint = Some(hint.into()).filter(|hint| !hint.is_empty());
    (text.into(), hint)
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
}

/// Returns the problems, each with what is wrong, as it follows kind and name, and what to do: those of one object in the order
/// of their words.
pub fn told(problems: &[Problem]) -> Vec<(&Problem, String, Option<String>)> {
    let words = problems.iter().map(|of| of.what.words(&of.address));
    let told = problems.iter().zip(words);
    let mut told: Vec<_> = told.map(|(of, (text, hint))| (of, text, hint)).collect();
    told.sort_by(|a, b| (&a.0.address, &a.1).cmp(&(&b.0.address, &b.1)));
    told
}

/// Why a group is never changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protection {
    /// It is `All`, which holds every peer.
    All,
    /// It was issued by that, such as `jwt`.
    Issued(String),
}

/// As it follows "it is".
impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protection::All => f.write_str("the group of every peer"),
            Protection::Issued(by) => write!(f, "issued by {by}"),
        }
    }
}
