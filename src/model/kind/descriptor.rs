//! What there is to know of a kind as a whole.

use serde_json::{Map, Value};

use super::values::names;
use super::{Kind, Refers, Resource};
use crate::base::count;
use crate::file::{Cursor, Log};
use crate::model::Address;

/// The row of a kind: its names, where its entries stand in the file, and where its objects are in the API.
pub struct Descriptor {
    /// What people call one of it, and several, and the word of operation types in JSON, as in `create_group`.
    pub called: [&'static str; 3],
    /// Where its entries stand in netbird.json, from the top, or from the entry of what they stand in; of a kind that is
    /// never declared, the word for a section.
    pub section: &'static [&'static str],
    /// What stands in the section, for the schema.
    pub about: &'static str,
    /// The collection's path under `/api`, or behind the path of what its objects stand in; of what there is one of, its own.
    pub collection: &'static str,
    /// The code of a deletion's event (docs/netbird-api.md, "Events").
    pub deletion_event: Option<&'static str>,
    /// Its part in who reaches whom.
    pub reach: Reach,
    /// The weakest role that may write it (docs/netbird-api.md, "Roles").
    pub least_role: Role,
    /// How objects of other kinds refer to it.
    pub referred: Referred,
    /// The first NetBird that has its list, where older ones run that this program meets.
    pub since: Option<&'static str>,
    /// How they stand in the file.
    pub(crate) entries: Entries,
    /// The most characters that a name may have.
    pub longest_name: usize,
    /// A name that nobody can declare, since it is NetBird's own.
    pub reserved_name: Option<&'static str>,
    /// The field of an answer that holds its name.
    pub name_field: &'static str,
    /// When the server refuses a name that another object has.
    pub unique: Unique,
    /// Whether several objects can stand for one name, as records of one name and type do: each of them is declared. An
    /// entry of a section is then an object or a list of objects.
    pub is_several: bool,
    /// Whether a name is unique in the account whatever its object stands in, so that it can move from one to another.
    pub is_anywhere: bool,
    /// Whether `--replace` makes a new one on demand.
    pub can_be_replaced: bool,
    /// The fields that only creation takes: another value makes the object anew.
    pub fixed: &'static [&'static str],
    /// The fields that creation takes no notice of: another value than the server's own is written after it.
    pub not_at_creation: &'static [&'static str],
    /// The fields of which another value moves machines of the account.
    pub moves: &'static [(&'static str, Moves)],
    /// Notes what of all of the kind in a file does not go together.
    pub(crate) check: fn(&[&InFile<'_>], &mut Log),
}

impl Descriptor {
    /// What is the same for most kinds, and what each has to say.
    pub(crate) const fn of(reach: Reach, least_role: Role, referred: Referred) -> Descriptor {
        Descriptor {
            called: [""; 3],
            section: &[],
            about: "",
            collection: "",
            deletion_event: None,
            reach,
            least_role,
            referred,
            since: None,
            entries: Entries::Named,
            longest_name: names::MAX_CHARS,
            reserved_name: None,
            name_field: "name",
            unique: Unique::Never,
            is_several: false,
            is_anywhere: false,
            can_be_replaced: false,
            fixed: &[],
            not_at_creation: &[],
            moves: &[],
            check: |_, _| {},
        }
    }
}

/// When the server refuses a name that another object of the kind has (docs/netbird-api.md, "Unique names").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unique {
    /// Never.
    Never,
    /// When an object is made.
    AtCreation,
    /// Always: every change is refused while two objects have one name, which two runs at once can make.
    Always,
}

/// The part of a kind in who reaches whom: `access` makes one thing of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// None: no machine reaches another one by it.
    Nothing,
    /// Machines.
    Peer,
    /// Who is meant together.
    Group,
    /// Machines that enroll.
    SetupKey,
    /// What resources and routers stand in.
    Network,
    /// What is reached behind a network's routers.
    Resource,
    /// Who forwards to a network's resources.
    Router,
    /// Who may connect to whom.
    Policy,
    /// What is reached behind peers.
    Route,
}

/// A role of NetBird that may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `network_admin`, and the stronger ones.
    NetworkAdmin,
    /// `admin` and `owner`.
    Admin,
}

/// How objects of other kinds refer to those of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Referred {
    /// Not at all.
    Never,
    /// By names in the file, by ids in NetBird.
    ByName(Refers),
    /// By ids alone: names of machines prove nothing.
    ById,
}

/// How the objects of a kind stand in netbird.json.
pub(crate) enum Entries {
    /// Under their names, in the section.
    Named,
    /// Under the names of machines that enroll by themselves: no entry makes or deletes one.
    Enrolled,
    /// Under the e-mail addresses of people, in any case: no entry makes or deletes one.
    People,
    /// The section is the entry of the one that there is.
    One {
        /// Whether the collection is a list that holds it, rather than it.
        is_listed: bool,
    },
    /// In a field of the entry of what they stand in.
    Inside(Inside),
}

/// Objects that stand in the entry of another one.
pub(crate) struct Inside {
    /// The kind of that one.
    pub(crate) parent: Kind,
    /// Where the server's answers have them.
    pub(crate) answers: Answers,
    /// Returns its fields as people write them in the entry of what they stand in.
    pub(crate) written: fn(Map<String, Value>, &Value) -> Map<String, Value>,
    /// How its name is made.
    pub(crate) name: NameOf,
}

/// An object of the file.
pub(crate) struct InFile<'a> {
    /// Its name.
    pub(crate) address: Address,
    /// What it is; `None` where it cannot be read.
    pub(crate) resource: Option<Resource>,
    /// Where it stands.
    pub(crate) cursor: Cursor<'a>,
}

/// Where the server's answers have what stands in other objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// In this field of the other one's answer.
    Embedded(&'static str),
    /// In a list of their own at that path under `/api`; this field of the other one's answer has their ids.
    Listed {
        /// The field.
        ids: &'static str,
        /// The list's path.
        path: &'static str,
    },
}

/// How objects stand in the field of the entry of what they stand in.
pub(crate) enum NameOf {
    /// Under their names.
    Key,
    /// In a list, without names.
    Nothing,
    /// In a list: the name is made of the texts of fields of what they stand in, and of their own; of one that is no text it is
    /// empty.
    Texts(fn(parent: TextOf<'_>, own: TextOf<'_>) -> String),
}

/// Returns the text of a field.
pub(crate) type TextOf<'a> = &'a dyn Fn(&str) -> &'a str;

/// What changes of machines, and of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moves {
    /// The domain of their names.
    Names,
    /// Their IPv4 addresses.
    Addresses,
    /// Their IPv6 addresses.
    AddressesV6,
    /// Whether they have an IPv6 address.
    HavingV6,
    /// Of a user: what the user may do.
    Role,
    /// Of a user: the user is let in again.
    Unblocked,
}

/// A field of a change, and the machines that it moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The field.
    pub field: String,
    /// Its new value, as JSON.
    pub value: String,
    /// What becomes otherwise.
    pub what: Moves,
    /// Of how many machines; at least one, and of users one.
    pub machines: usize,
}

impl std::fmt::Display for Moved {
    /// `3 machines get another IPv4 address (network_range)`, `the role admin`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.what {
            Moves::Role => return write!(f, "the role {}", self.value.trim_matches('"')),
            Moves::Unblocked => return f.write_str("access again"),
            _ => {}
        }
        let machines = count(self.machines, "machine", "machines");
        let moves = match (self.what, self.machines) {
            (Moves::Names, 1) => "gets another domain",
            (Moves::Names, _) => "get another domain",
            (Moves::Addresses, 1) => "gets another IPv4 address",
            (Moves::Addresses, _) => "get another IPv4 address",
            (Moves::AddressesV6, 1) => "gets another IPv6 address",
            (Moves::AddressesV6, _) => "get another IPv6 address",
            (Moves::HavingV6, 1) => "gets or loses its IPv6 address",
            (_, _) => "get or lose their IPv6 addresses",
        };
        write!(f, "{machines} {moves} ({})", self.field)
    }
}
