//! The sections of the file, from the list of kinds; and what people write where sections stand.

use std::sync::LazyLock;

use crate::address::Address;
use crate::code::Code;
use crate::config::{Cursor, Field, Log, Refused, Table, quote};
use crate::desired::Desired;
use crate::kind::Kind;
use crate::kind::values::names;

/// The fields of the file: the schema, and the sections of the kinds.
pub(super) fn top() -> Table<Desired> {
    static FIELDS: LazyLock<Vec<Field<Desired>>> = LazyLock::new(|| {
        let schema = Field::optional("$schema", |_, value, log| {
            value.string(log, "the address of a schema");
        });
        let dns = Field::optional("dns", |desired, value, log| {
            value.object(log, &dns(), desired);
            if value.is_object() && value.members().next().is_none() {
                let names: Vec<String> = dns().names().map(quote).collect();
                let text = format!("manages nothing without {}", names.join(" or "));
                log.notice(Code::IdleSection, value.key_place(), text);
            }
        });
        let sections = fields(&[]);
        [schema].into_iter().chain(sections).chain([dns]).collect()
    });
    Table {
        what: "the file",
        fields: &FIELDS,
        refused: REFUSED,
        rules: "{}",
    }
}

/// The fields of `dns`, which holds sections.
fn dns() -> Table<Desired> {
    static FIELDS: LazyLock<Vec<Field<Desired>>> = LazyLock::new(|| fields(&["dns"]));
    Table {
        what: "the section dns",
        fields: &FIELDS,
        refused: REFUSED_IN_DNS,
        rules: "{}",
    }
}

/// The sections that stand at that place of the file.
fn fields(place: &[&'static str]) -> Vec<Field<Desired>> {
    let paths = Kind::declared().map(Kind::section_path);
    let names = paths.filter_map(|path| match path.strip_prefix(place) {
        Some([name]) => Some(*name),
        _ => None,
    });
    names.map(|name| Field::section(name, read)).collect()
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
pub(super) fn kind_of(section: &Cursor<'_>) -> Option<Kind> {
    Kind::declared().find(|kind| section.stands_at(kind.section_path()))
}

/// Reads the entries of a section.
fn read(desired: &mut Desired, section: &Cursor<'_>, log: &mut Log) {
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
