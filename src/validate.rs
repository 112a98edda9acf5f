//! From the file's text to desired state, or to all of its problems at once.
//!
//! One table a kind says which fields there are and how each is read; the checks between entries follow when all are
//! read. Nothing here knows NetBird's actual state: what only the server can tell (does that group exist?) is handed on
//! in [`Valid::references`], for `plan` to judge.

#[cfg(test)]
mod cases;
mod collisions;
#[cfg(test)]
mod examples;
mod labels;
mod members;
mod overlaps;
mod places;
mod references;
mod renames;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::LazyLock;

use crate::address::Address;
use crate::code::Code;
use crate::config::{
    self, Cursor, Field, Log, Place, Problem, Problems, Refused, Severity, Source, Table, quote,
};
use crate::desired::Desired;
use crate::kind::Kind;
use crate::kind::values::names;

pub use places::Places;
pub use references::Reference;

/// A valid file.
#[derive(Debug, Clone)]
pub struct Valid {
    /// The file's name, for messages of later stages.
    pub file: String,
    /// What it asks for.
    pub desired: Arc<Desired>,
    /// What is odd about it, by position.
    pub notices: Vec<Problem>,
    /// Every reference to a group that the file does not declare, in file order. `All` is not among them.
    pub references: Vec<Reference>,
    /// Where its entries, fields and names stand.
    pub places: Places,
}

impl Valid {
    /// Returns where an entry stands: the place of its name.
    pub fn position_of(&self, address: &Address) -> Option<&Place> {
        self.places.entry(address)
    }
}

/// Checks a file and returns what it asks for.
///
/// Errors with every problem of the file, notices included; after a syntax error with that one only. A file that
/// manages nothing, or wants nothing at all, is an error: it never means that everything is to be deleted.
pub fn validate(source: &Source) -> Result<Valid, Problems> {
    let file = source.name().to_owned();
    let value = match config::parse(source) {
        Ok(value) => value,
        Err(problem) => {
            return Err(Problems {
                file,
                list: vec![problem],
            });
        }
    };
    let root = Cursor::root(source, &value);
    let (mut log, mut desired) = (Log::default(), Desired::default());
    root.duplicates(&mut log);
    if root.is_object() {
        root.object(&mut log, &top(), &mut desired);
    } else {
        root.wrong::<()>(
            &mut log,
            "one object { … }",
            Some("begin with examples/minimal.json".into()),
        );
    }

    let entries = entries(&root);
    collisions::check(&entries, &mut log);
    members::check(&entries, &desired, &mut log);
    labels::check(&entries, &desired, &mut log);
    overlaps::check(&entries, &desired, &mut log);
    desired.renamed_from = renames::read(&entries, &mut log);
    let references = references::undeclared(&entries, &mut log);
    manages_something(&root, &desired, &mut log);

    let mut problems = log.problems;
    problems.sort_by_key(|problem| (problem.line, problem.column)); // stable: what was found first stays first
    if problems
        .iter()
        .any(|problem| problem.severity == Severity::Error)
    {
        return Err(Problems {
            file,
            list: problems,
        });
    }
    Ok(Valid {
        file,
        desired: Arc::new(desired),
        notices: problems,
        references,
        places: Places::new(source),
    })
}

/// An entry of a section, as written.
struct Entry<'a> {
    address: Address,
    cursor: Cursor<'a>,
}

/// The fields of the file: the schema, and the sections of the kinds.
fn top() -> Table<Desired> {
    static FIELDS: LazyLock<Vec<Field<Desired>>> = LazyLock::new(|| {
        let schema = Field::optional("$schema", |_, value, log| {
            value.string(log, "the address of a schema");
        });
        [schema].into_iter().chain(sections(&[])).collect()
    });
    Table {
        what: "the file",
        fields: &FIELDS,
        refused: REFUSED,
        rules: "{}",
    }
}

/// The fields of an object that holds sections.
fn folder(name: &'static str) -> Table<Desired> {
    static FIELDS: LazyLock<BTreeMap<&str, Vec<Field<Desired>>>> = LazyLock::new(|| {
        let paths = Kind::declared().map(Kind::section_path);
        let folders = paths.filter(|path| path.len() > 1).map(|path| path[0]);
        folders.map(|name| (name, sections(&[name]))).collect()
    });
    Table {
        what: "the section dns",
        fields: &FIELDS[name],
        refused: REFUSED_IN_DNS,
        rules: "{}",
    }
}

/// The sections that stand at that place of the file, and the objects there that hold sections.
fn sections(place: &[&'static str]) -> Vec<Field<Desired>> {
    let mut fields: Vec<Field<Desired>> = Vec::new();
    for path in Kind::declared().map(Kind::section_path) {
        match path.strip_prefix(place) {
            Some([name]) => fields.push(Field::section(name, section)),
            Some([name, ..]) if fields.iter().all(|field| field.name != *name) => {
                fields.push(Field::optional(name, |desired, value, log| {
                    let name = Kind::declared().map(|kind| kind.section_path()[0]);
                    let name = name.into_iter().find(|name| *name == value.name());
                    let table = folder(name.expect("a field of a kind"));
                    value.object(log, &table, desired);
                    if value.is_object() && value.members().next().is_none() {
                        let names: Vec<String> = table.names().map(quote).collect();
                        let text = format!("manages nothing without {}", names.join(" or "));
                        log.notice(Code::IdleSection, value.key_place(), text);
                    }
                }))
            }
            _ => {}
        }
    }
    fields
}

const REFUSED: &[Refused] = &[
    Refused::new(
        &["nameserver_groups", "nameservers", "nameserver"],
        "nameserver groups stand in \"dns\"",
        Some("write \"dns\": { \"nameserver_groups\": { … } }"),
    ),
    Refused::new(
        &["rule", "rules", "policy", "acl", "acls", "access_control"],
        "rules of access are entries of \"policies\"",
        Some(
            "write \"policies\": { \"NAME\": { \"sources\": [ … ], \"destinations\": [ … ] } }, one entry a rule",
        ),
    ),
    Refused::new(
        &["keys", "key", "preauth_keys"],
        "setup keys are entries of \"setup_keys\"",
        None,
    ),
    Refused::new(
        &["peers", "peer", "hosts", "nodes", "machines"],
        "peers enroll by themselves: they are not declared",
        Some("name them in a group's \"peers\"; for a new one declare a setup key"),
    ),
    Refused::new(
        &["users", "user", "tagOwners"],
        "people are not managed here: they come from the identity provider",
        Some("its groups can be named in policies and routes without being declared"),
    ),
    Refused::new(
        &[
            "networks",
            "network",
            "resources",
            "network_resources",
            "routers",
        ],
        "networks with resources and routers are not managed here",
        Some(
            "what NetBird has stays as it is; \"routes\" is the section for networks behind peers",
        ),
    ),
    Refused::new(
        &[
            "posture_checks",
            "zones",
            "dns_zones",
            "dns_settings",
            "account",
            "accounts",
            "settings",
            "tokens",
        ],
        NOT_MANAGED,
        Some(AS_IT_IS),
    ),
];

const REFUSED_IN_DNS: &[Refused] = &[
    Refused::new(
        &["nameservers", "groups", "servers"],
        "nameservers stand in groups of them, by name",
        Some(
            "write \"nameserver_groups\": { \"NAME\": { \"nameservers\": [ … ], \"groups\": [ … ] } }",
        ),
    ),
    Refused::new(
        &["domains", "search_domains"],
        "domains stand in the group of nameservers that answers for them",
        Some("write \"nameserver_groups\": { \"NAME\": { \"domains\": [ … ], … } }"),
    ),
    Refused::new(
        &["zones", "records", "settings"],
        NOT_MANAGED,
        Some(AS_IT_IS),
    ),
];

const NOT_MANAGED: &str = "this is not managed here";
const AS_IT_IS: &str = "leave it out: what NetBird has stays as it is";

/// Returns the kind whose section stands there.
fn kind_of(section: &Cursor<'_>) -> Option<Kind> {
    Kind::declared().find(|kind| section.stands_at(kind.section_path()))
}

/// Reads the entries of a section.
fn section(desired: &mut Desired, section: &Cursor<'_>, log: &mut Log) {
    let kind = kind_of(section).expect("a section of a kind");
    if !section.is_object() {
        let hint = "entries stand under their names: { \"NAME\": { … } }";
        let wanted = "an object of names { … }";
        return section.wrong(log, wanted, Some(hint.into())).unwrap_or(());
    }
    desired.sections.insert(kind);
    let read = kind.descriptor().entry.expect("a kind that is declared");
    for entry in section.members() {
        names::check_declared(&entry, log);
        names::check_length(&entry, kind.label(), kind.descriptor().longest_name, log);
        if let Some(declared) = read(&entry, log) {
            let address = Address::new(kind, entry.name());
            desired.entries.insert(address, declared);
        }
    }
}

/// Returns every entry, in file order.
fn entries<'a>(root: &Cursor<'a>) -> Vec<Entry<'a>> {
    let folders = |section: Cursor<'a>| match kind_of(&section) {
        Some(_) => vec![section],
        None => section.members().collect(),
    };
    let of_kind = |section: Cursor<'a>| {
        let kind = kind_of(&section)?;
        let entry = move |cursor: Cursor<'a>| Entry {
            address: Address::new(kind, cursor.name()),
            cursor,
        };
        Some(section.members().map(entry).collect::<Vec<_>>())
    };
    let sections = root.members().flat_map(folders);
    sections.filter_map(of_kind).flatten().collect()
}

/// Notes a file that would leave everything alone, or delete everything.
fn manages_something(root: &Cursor<'_>, desired: &Desired, log: &mut Log) {
    if log
        .problems
        .iter()
        .any(|problem| problem.severity == Severity::Error)
    {
        return; // what is wrong may be all there is
    }
    let sections: Vec<String> = Kind::declared()
        .map(|kind| kind.section_path().join("."))
        .collect();
    if desired.sections.is_empty() {
        let (last, rest) = sections.split_last().expect("there are kinds");
        let hint = format!(
            "it has {} or {last}; begin with examples/minimal.json",
            rest.join(", ")
        );
        log.error(root.place(), "the file manages nothing")
            .coded(Code::NothingManaged)
            .suggest(hint);
    } else if desired.entries.is_empty() {
        log.error(root.place(), "every section is empty, which would delete all that was ever declared here")
            .coded(Code::NothingManaged)
            .suggest(
                "leave a section out to leave it alone; to take everything down, keep one entry and remove it in NetBird"
                    .to_owned(),
            );
    }
}
