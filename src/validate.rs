//! From the file's text to desired state, or to all of its problems at once.
//!
//! One table a kind says which fields there are and how each is read; the checks between entries follow when all are
//! read. Nothing here knows NetBird's actual state: what only the server can tell (does that group exist?) is handed on
//! in [`Valid::references`], for `plan` to judge.

#[cfg(test)]
mod cases;
mod domain;
#[cfg(test)]
mod examples;
mod group;
mod labels;
mod members;
mod names;
mod nameserver;
mod nameserver_group;
mod network;
mod overlaps;
mod places;
mod policy;
mod ports;
mod references;
mod renames;
mod route;
mod setup_key;
#[cfg(test)]
mod testing;
mod times;

use std::collections::BTreeMap;

use crate::code::Code;
use crate::config::{
    self, Cursor, Field, Log, Place, Problem, Problems, Refused, Severity, Source, Table,
};
use crate::desired::Desired;
use crate::state::{Address, Kind};

pub use places::Places;
pub use references::Reference;

/// A valid file.
#[derive(Debug, Clone)]
pub struct Valid {
    /// The file's name, for messages of later stages.
    pub file: String,
    /// What it asks for.
    pub desired: Desired,
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
        root.object(&mut log, &FILE, &mut desired);
    } else {
        root.wrong::<()>(
            &mut log,
            "one object { … }",
            Some("begin with examples/minimal.json".into()),
        );
    }

    let entries = entries(&root);
    names::collisions(&entries, &mut log);
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
    let places = Places::new(&entries);
    Ok(Valid {
        file,
        desired,
        notices: problems,
        references,
        places,
    })
}

/// An entry of a section, as written.
struct Entry<'a> {
    address: Address,
    cursor: Cursor<'a>,
}

/// Why a value will not do, and what might.
struct Flaw {
    message: String,
    hint: Option<String>,
}

impl Flaw {
    fn new(message: impl Into<String>) -> Self {
        Flaw {
            message: message.into(),
            hint: None,
        }
    }

    fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Flaw {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    fn report(self, place: Place, log: &mut Log) -> &mut Problem {
        let problem = log.error(place, self.message);
        problem.suggest(self.hint);
        problem
    }
}

const FILE: Table<Desired> = Table {
    what: "the file",
    fields: &[
        Field::optional("$schema", |_, value, log| {
            value.string(log, "the address of a schema");
        }),
        Field::section("groups", |desired, value, log| {
            desired.groups = section(value, log, group::read);
        }),
        Field::section("setup_keys", |desired, value, log| {
            desired.setup_keys = section(value, log, setup_key::read);
        }),
        Field::section("policies", |desired, value, log| {
            desired.policies = section(value, log, policy::read);
        }),
        Field::section("routes", |desired, value, log| {
            desired.routes = section(value, log, route::read);
        }),
        Field::optional("dns", |desired, value, log| {
            value.object(log, &DNS, desired);
            if value.is_object() && value.members().next().is_none() {
                log.notice(
                    Code::IdleSection,
                    value.key_place(),
                    "manages nothing without \"nameserver_groups\"",
                );
            }
        }),
    ],
    refused: &[
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
    ],
};
const NOT_MANAGED: &str = "this is not managed here";
const AS_IT_IS: &str = "leave it out: what NetBird has stays as it is";

const DNS: Table<Desired> = Table {
    what: "the section dns",
    fields: &[Field::section(
        "nameserver_groups",
        |desired, value, log| {
            desired.nameserver_groups = section(value, log, nameserver_group::read);
        },
    )],
    refused: &[
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
    ],
};

fn section<T>(
    section: &Cursor<'_>,
    log: &mut Log,
    read: fn(&Cursor<'_>, &mut Log) -> Option<T>,
) -> Option<BTreeMap<String, T>> {
    if !section.is_object() {
        return section.wrong(
            log,
            "an object of names { … }",
            Some("entries stand under their names: { \"NAME\": { … } }".into()),
        );
    }
    let read = |entry: Cursor<'_>| {
        names::check_declared(&entry, log);
        Some((entry.name().to_owned(), read(&entry, log)?))
    };
    Some(section.members().filter_map(read).collect())
}

/// Returns every entry, in file order.
fn entries<'a>(root: &Cursor<'a>) -> Vec<Entry<'a>> {
    let sections = root.members().flat_map(|section| {
        let nested: Vec<_> = match section.name() {
            "dns" => section.members().collect(),
            _ => vec![section],
        };
        nested
    });
    let of_kind = |section: Cursor<'a>| {
        let kind = Kind::ALL
            .into_iter()
            .find(|kind| kind.section() == section.name())?;
        let entries = section.members();
        Some(
            entries
                .map(move |cursor| Entry {
                    address: Address::new(kind, cursor.name()),
                    cursor,
                })
                .collect::<Vec<_>>(),
        )
    };
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
    let Desired {
        groups,
        setup_keys,
        policies,
        routes,
        nameserver_groups,
        renamed_from: _,
    } = desired;
    let sizes = [
        groups.as_ref().map(BTreeMap::len),
        setup_keys.as_ref().map(BTreeMap::len),
        policies.as_ref().map(BTreeMap::len),
        routes.as_ref().map(BTreeMap::len),
        nameserver_groups.as_ref().map(BTreeMap::len),
    ];
    if sizes == [None; 5] {
        log.error(root.place(), "the file manages nothing").coded(Code::NothingManaged).suggest(
            "it has groups, setup_keys, policies, routes or dns.nameserver_groups; begin with examples/minimal.json"
                .to_owned(),
        );
    } else if sizes.iter().all(|size| size.unwrap_or(0) == 0) {
        log.error(root.place(), "every section is empty, which would delete all that was ever declared here").coded(Code::NothingManaged).suggest(
            "leave a section out to leave it alone; to take everything down, keep one entry and remove it in NetBird"
                .to_owned(),
        );
    }
}
