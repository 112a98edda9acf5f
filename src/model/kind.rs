//! The kinds of objects: one file a kind, which holds all that the program knows of it.
//!
//! A kind's file has its canonical form, in which desired and actual state are compared; the table of its fields in
//! netbird.json; how an answer of the server is read and how a request is built; what it refers to; and what people are
//! told of it. The list below makes of these files the enums and every dispatch: what is forgotten does not compile.
//!
//! The rules of the form: references are names; lists whose order means nothing are sets; what the server computes is
//! left out; `None` is "not ours": no difference, and the live value is sent back. Field changes are found by comparing
//! serialised fields, so `Serialize` of a resource is part of its meaning.

mod account_settings;
mod descriptor;
mod dns_record;
mod dns_settings;
mod dns_zone;
mod group;
mod groups;
mod nameserver_group;
mod network;
mod network_resource;
mod network_router;
mod peer;
mod policy;
mod posture_check;
mod prelude;
mod route;
pub(crate) mod rows;
mod setup_key;
mod spec;
mod user;
pub(crate) mod values;
pub(crate) mod words;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::base::{Entry, Id, Sentence};
use crate::file::{Cursor, Log, Outline};

use crate::wire::api::objects;

pub use crate::wire::api::objects::KeyType;
pub use account_settings::AccountSettings;
pub(crate) use descriptor::{Answers, Entries, InFile, Inside, NameOf};
pub use descriptor::{Descriptor, Moved, Moves, Reach, Referred, Role, Unique};
pub use dns_record::{DnsRecord, RecordType};
pub use dns_settings::DnsSettings;
pub use dns_zone::DnsZone;
pub use group::Group;
pub use groups::{ALL, Groups, Other, Refers, Unresolved};
pub use nameserver_group::{Nameserver, NameserverGroup};
pub use network::Network;
pub use network_resource::NetworkResource;
pub use network_router::NetworkRouter;
pub(crate) use peer::EXPIRY;
pub use peer::{Addresses, Peer, PeerRef};
pub use policy::{Action, Policy, PortRange, Protocol, TEMPORARY, Target};
pub use posture_check::PostureCheck;
pub use route::Route;
pub use setup_key::SetupKey;
pub use spec::About;
pub(crate) use spec::{Sent, Spec, keep};
pub use user::{User, UserRole};

/// Makes the enums of the kinds and every dispatch, from a list of kinds and the types of their canonical forms.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($form:ty)),+ $(,)?) => {
        /// The kinds of objects, in dependency order: a kind refers only to kinds above it.
        ///
        /// The order is that of creation; deletions run in reverse.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind),+
        }

        /// An object in canonical form.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Resource {
            $($(#[$doc])* $kind($form)),+
        }

        impl Kind {
            /// Every kind, in dependency order.
            pub const ALL: [Kind; { [$(Kind::$kind),+].len() }] = [$(Kind::$kind),+];

            /// What there is to know of the kind as a whole.
            pub fn descriptor(self) -> &'static Descriptor {
                match self {
                    $(Kind::$kind => &<$form as Spec>::KIND),+
                }
            }

            /// The fields of an entry, for the schema and the reference.
            pub(crate) fn outline(self) -> Outline {
                match self {
                    $(Kind::$kind => <$form as Spec>::TABLE.outline()),+
                }
            }
        }

        $(
            impl From<$form> for Resource {
                fn from(form: $form) -> Self {
                    Resource::$kind(form)
                }
            }
        )+

        impl Resource {
            /// The kind.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Resource::$kind(_) => Kind::$kind),+
                }
            }

            /// Reads an answer of that kind.
            pub fn read(
                kind: Kind,
                wire: impl Into<Entry>,
                groups: &Groups,
            ) -> Result<Live, serde_json::Error> {
                let wire = wire.into();
                match kind {
                    $(Kind::$kind => <$form as Spec>::read(wire, groups)),+
                }
            }
        }

        impl Resource {
            /// Reads an entry of that kind, or notes what is wrong with it. What it stands in is read already.
            pub(crate) fn declared(
                kind: Kind,
                entry: &Cursor<'_>,
                within: Option<&Resource>,
                log: &mut Log,
            ) -> Option<Resource> {
                match kind {
                    $(Kind::$kind => spec::entry::<$form>(entry, within, log)),+
                }
            }
        }

        /// Does one thing with the canonical form, whatever its kind.
        macro_rules! each {
            ($resource:expr, $it:ident => $does:expr) => {
                match $resource {
                    $(Resource::$kind($it) => $does),+
                }
            };
        }

        /// Does one thing with two canonical forms of one kind; with those of two kinds nothing.
        macro_rules! both {
            ($one:expr, $other:expr, ($it:ident, $that:ident) => $does:expr) => {
                match ($one, $other) {
                    $((Resource::$kind($it), Resource::$kind($that)) => $does,)+
                    _ => Default::default(),
                }
            };
        }
    };
}

// a kind is below every kind that it refers to, but for members of groups: this is the order of creation
kinds! {
    /// A set of peers (and network resources) that everything else refers to.
    Group(Group),
    /// A credential that enrolls peers into groups.
    SetupKey(SetupKey),
    /// An enrolled machine, of which an entry says settings: it is never made by one.
    Peer(Peer),
    /// A person who logs in, of whom an entry says settings: nobody is made by one.
    User(User),
    /// What is reached through routers.
    Network(Network),
    /// An address, a subnet or a domain in a network.
    NetworkResource(NetworkResource),
    /// Peers through which a network is reached.
    NetworkRouter(NetworkRouter),
    /// What machines have to be like for policies that name it.
    PostureCheck(PostureCheck),
    /// A firewall rule between groups.
    Policy(Policy),
    /// A network or a list of domains reached through peers.
    Route(Route),
    /// The account's settings; there is one of it.
    AccountSettings(AccountSettings),
    /// Name servers for groups.
    NameserverGroup(NameserverGroup),
    /// Which groups' peers get no DNS settings at all; there is one of it.
    DnsSettings(DnsSettings),
    /// A domain whose names NetBird itself answers, for groups.
    DnsZone(DnsZone),
    /// A name in a zone.
    DnsRecord(DnsRecord),
}

impl Resource {
    /// Returns the fields that are ours.
    pub fn fields(&self) -> Map<String, Value> {
        each!(self, it => it.fields())
    }

    /// Returns all that an entry says, also what is not compared with what lives.
    pub fn said(&self) -> Value {
        json!([self.fields(), each!(self, it => it.unseen())])
    }

    /// Returns the names of the groups that it refers to.
    pub fn references(&self) -> BTreeSet<&str> {
        let names = each!(self, it => it.references());
        names.into_iter().collect()
    }

    /// Returns the names of what it refers to that is not a group.
    pub fn others(&self) -> Vec<(Refers, &str)> {
        each!(self, it => it.others())
    }

    /// Returns the names of all that it refers to, groups first.
    pub fn refers(&self) -> impl Iterator<Item = (Refers, &str)> {
        let groups = self.references().into_iter();
        let groups = groups.map(|name| (Refers::Group, name));
        groups.chain(self.others())
    }

    /// Returns the members of a group, where it says which; nothing of what is not a group.
    pub fn members(&self) -> Option<&BTreeSet<Id>> {
        match self {
            Resource::Group(group) => group.peers.as_ref(),
            _ => None,
        }
    }

    /// Builds the body of a POST (no live object: undeclared fields take their documented defaults) or a PUT
    /// (they go back as they are). A PUT is a full replacement on this server (docs/netbird-api.md, "A PUT
    /// replaces").
    pub fn request(
        &self,
        name: &str,
        live: Option<&Value>,
        groups: &Groups,
    ) -> Result<Value, Unresolved> {
        let sent = Sent { name, live, groups };
        each!(self, it => it.request(sent))
    }

    /// Returns the object as it will be: what is not ours comes from `live`, which is of the same kind.
    pub fn over(&self, live: &Resource) -> Resource {
        let mut after = self.clone();
        both!(&mut after, live, (it, live) => it.keep(live));
        after
    }

    /// Whether a field that is written otherwise in `live` means the same.
    fn says_the_same(&self, live: &Resource, field: &str) -> bool {
        both!(self, live, (it, live) => it.says_the_same(live, field))
    }

    /// Whether an entry only says which live object it means: nobody makes, adopts or deletes one by it.
    pub fn is_only_named(&self) -> bool {
        each!(self, it => it.is_only_named())
    }

    /// Whether the server takes no such object while that one is there, in the same place.
    pub fn excludes(&self, other: &Resource) -> bool {
        both!(self, other, (it, other) => it.excludes(other))
    }

    /// Returns the peers that it names.
    pub fn peers(&self) -> Vec<&PeerRef> {
        each!(self, it => it.peers())
    }

    /// Returns the names that stand for machines in an entry: members of a group, and peers that it names.
    pub fn machine_names(&self) -> impl Iterator<Item = &str> {
        let members = match self {
            Resource::Group(group) => group.listed.as_ref(),
            _ => None,
        };
        let members = members.into_iter().flatten().map(String::as_str);
        members.chain(self.peers().into_iter().map(PeerRef::text))
    }

    /// Returns the peers that it names, to say which ones are meant.
    pub fn peers_mut(&mut self) -> Vec<&mut PeerRef> {
        each!(self, it => it.peers_mut())
    }

    /// Puts the addresses of the peers that it names in the place of one. Returns whether all of them have one.
    pub fn put_addresses(&mut self, of: Addresses) -> bool {
        each!(self, it => it.put_addresses(of))
    }

    /// Returns what of its form the file cannot say, as what follows "it"; writing it would take that away.
    pub fn beyond_the_file(&self) -> Option<String> {
        each!(self, it => it.beyond_the_file())
    }

    /// Returns what tells it from others of its name, where several can have one: what it connects.
    pub fn connects(&self) -> Value {
        each!(self, it => it.connects())
    }

    /// Returns its entry in a file; `Err` says why there can be none, in words that begin with "it".
    pub fn export(&self) -> Result<Map<String, Value>, String> {
        each!(self, it => it.export(self.fields()))
    }

    /// Returns the object in one line; empty where its name says all.
    pub fn summary(&self, about: &About) -> String {
        let summary = each!(self, it => it.summary(about));
        let end = if self.is_on() { "" } else { ", disabled" };
        summary + end
    }

    /// Returns whether it is not switched off.
    pub fn is_on(&self) -> bool {
        self.fields().get("enabled") != Some(&Value::Bool(false))
    }

    /// Returns who loses what when it goes or is switched off.
    pub fn loss(&self, about: &About) -> Sentence {
        each!(self, it => it.loss(about))
    }

    /// Returns what it lets through from or to every peer.
    pub fn opens_to_all(&self, about: &About) -> Option<Sentence> {
        each!(self, it => it.opens_to_all(about))
    }
}

impl Kind {
    /// The kind of what its objects stand in.
    pub fn parent(self) -> Option<Kind> {
        self.inside().map(|inside| inside.parent)
    }

    /// The kind whose section of the file holds it: its own, or that of what its objects stand in.
    pub fn top(self) -> Kind {
        self.parent().map_or(self, Kind::top)
    }

    /// How its objects stand in the entry of another one, if they do.
    pub(crate) fn inside(self) -> Option<&'static Inside> {
        match &self.descriptor().entries {
            Entries::Inside(inside) => Some(inside),
            _ => None,
        }
    }

    /// The kind and how its objects stand in the entry of another one.
    pub(crate) fn inside_as(self) -> Option<(Kind, &'static Inside)> {
        Some((self, self.inside()?))
    }

    /// The path of its list under `/api`; none where what it stands in brings it along.
    pub fn list(self) -> Option<&'static str> {
        match self.inside().map(|inside| inside.answers) {
            None => Some(self.path()),
            Some(Answers::Listed { path, .. }) => Some(path),
            Some(Answers::Embedded(_)) => None,
        }
    }

    /// The kinds whose objects stand in one of it.
    pub fn children(self) -> impl Iterator<Item = Kind> {
        let all = Kind::ALL.into_iter();
        all.filter(move |kind| kind.parent() == Some(self))
    }

    /// Whether there is one of it in every account, which nobody makes or deletes.
    pub fn is_one(self) -> bool {
        matches!(self.descriptor().entries, Entries::One { .. })
    }

    /// Whether its objects are machines, which enroll by themselves: no entry makes or deletes one.
    pub fn enrolls(self) -> bool {
        matches!(self.descriptor().entries, Entries::Enrolled)
    }

    /// Whether people can name one of it: the routers of a network have no names.
    pub fn has_names(self) -> bool {
        let unnamed = |inside: &Inside| matches!(inside.name, NameOf::Nothing);
        !self.is_one() && !self.inside().is_some_and(unnamed)
    }

    /// What names stand for it, where others refer to it by name.
    pub fn referred_as(self) -> Option<Refers> {
        match self.descriptor().referred {
            Referred::ByName(what) => Some(what),
            Referred::Never | Referred::ById => None,
        }
    }

    /// Whether an entry that leaves the file takes its object along.
    pub fn goes_with_entry(self) -> bool {
        matches!(
            self.descriptor().entries,
            Entries::Named | Entries::Inside(_)
        )
    }

    /// Whether one of it has no place of its own in the API: it is read in the list.
    pub fn is_only_listed(self) -> bool {
        self.is_listed_one() || matches!(self.descriptor().entries, Entries::People)
    }

    /// Whether that one has no place of its own in the API: it is read in a list of one.
    pub fn is_listed_one(self) -> bool {
        matches!(self.descriptor().entries, Entries::One { is_listed: true })
    }

    /// What another value of a field moves of the account's machines, if it does.
    pub fn moves(self, field: &str) -> Option<Moves> {
        let mut moves = self.descriptor().moves.iter();
        moves.find_map(|(name, what)| (*name == field).then_some(*what))
    }

    /// The kinds that have a section of their own in the file.
    pub fn sections() -> impl Iterator<Item = Kind> {
        let all = Kind::ALL.into_iter();
        all.filter(|kind| kind.parent().is_none())
    }

    /// What people call one of it.
    pub fn label(self) -> &'static str {
        self.descriptor().called[0]
    }

    /// What people call several of it.
    pub fn plural(self) -> &'static str {
        self.descriptor().called[1]
    }

    /// The word of operation types in JSON, as in `create_group`.
    pub fn word(self) -> &'static str {
        self.descriptor().called[2]
    }

    /// Where its entries stand in netbird.json, from the top.
    pub fn section_path(self) -> &'static [&'static str] {
        self.descriptor().section
    }

    /// The word of it on command lines, as in `--replace SECTION/NAME`: several sections of what there is one of are `settings`.
    pub fn in_path(self) -> &'static str {
        match self.is_one() {
            true => self.word(),
            false => self.section(),
        }
    }

    /// The name of its section.
    pub fn section(self) -> &'static str {
        let last = self.section_path().last();
        last.expect("every kind has a section or a word for one")
    }

    /// Whether its objects can be renamed (`renamed_from`).
    pub fn can_be_renamed(self) -> bool {
        let rows = self.outline().rows;
        rows.iter().any(|row| row.name == "renamed_from")
    }

    /// The names of an entry's fields in the order of its table, each followed by those of the objects in it.
    pub fn field_names(self) -> Vec<&'static str> {
        self.outline().names()
    }

    /// The collection's path under `/api`; of a kind whose objects stand in others, behind that of such an object.
    pub fn path(self) -> &'static str {
        self.descriptor().collection
    }
}

/// A live object: its id, its canonical form, and the answer as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The server's id.
    pub id: Id,
    /// Its name, which need not be unique.
    pub name: String,
    /// The id of what it stands in, if it stands in anything.
    pub within: Option<Id>,
    /// Its canonical form.
    pub resource: Resource,
    /// The answer, so that fields we do not know go back as they came. Never printed.
    pub wire: Entry,
}

impl Live {
    /// What is read of an answer; where it stands, if in anything, is told by its list.
    fn new(id: Id, name: String, resource: impl Into<Resource>, wire: Entry) -> Self {
        Live {
            id,
            name,
            within: None,
            resource: resource.into(),
            wire,
        }
    }

    /// Returns whether it is a key that nobody can use: used up, expired or revoked.
    pub fn is_dead_key(&self) -> bool {
        let is_valid = || self.wire.read::<objects::SetupKey>().map(|key| key.valid);
        self.resource.kind() == Kind::SetupKey && matches!(is_valid(), Ok(false))
    }
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct FieldChange {
    /// The field's name in netbird.json.
    pub field: String,
    /// The live value; null where there is none.
    pub before: Value,
    /// The desired value.
    pub after: Value,
}

/// Returns the fields of `desired` that `actual` has otherwise. Of the same resource with itself: none.
pub fn differences(desired: &Resource, live: &Resource) -> Vec<FieldChange> {
    // most objects of most plans are as they should be
    if desired == live || desired.over(live) == *live {
        return Vec::new();
    }
    let mut actual = live.fields();
    let fields = desired.fields().into_iter();
    let changes = fields.map(|(field, after)| FieldChange {
        before: actual.remove(&field).unwrap_or_default(),
        field,
        after,
    });
    let differs =
        |of: &FieldChange| of.before != of.after && !desired.says_the_same(live, &of.field);
    changes.filter(differs).collect()
}

#[cfg(test)]
mod tests;
