//! The sections of the file, from the list of kinds; and what people write where sections stand.

use std::sync::LazyLock;

use crate::base::code::Code;
use crate::file::{Cursor, Field, Log, Presence, Refused, Table, quote};
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::rows::refused;
use crate::model::kind::values::names;
use crate::model::kind::{Declared, Entries, InFile, Inside, Kind, NameOf};

/// What people write somewhere that does not belong there.
type Besides = fn() -> &'static [Refused];

/// What holds sections: what it is, where it stands, and what people write there besides.
const PLACES: [(&str, &[&str], Besides); 3] = [
    ("the file", &[], || REFUSED),
    ("the section account", &["account"], || &*REFUSED_IN_ACCOUNT),
    ("the section dns", &["dns"], || REFUSED_IN_DNS),
];

/// The fields of what holds sections, at that place of the file.
pub(super) fn table(place: &[&str]) -> Table<Desired> {
    static FIELDS: LazyLock<[Vec<Field<Desired>>; 3]> =
        LazyLock::new(|| PLACES.map(|(_, place, _)| fields(place)));
    let mut known = PLACES.iter().zip(&*FIELDS);
    let found = known.find(|((_, known, _), _)| *known == place);
    let ((what, _, refused), fields) = found.expect("sections stand at that place");
    Table {
        what,
        fields,
        refused: refused(),
        rules: "{}",
    }
}

/// The fields at a place of the file: the sections that stand there, and at the top the schema and what holds more sections.
fn fields(place: &[&'static str]) -> Vec<Field<Desired>> {
    let sections =
        Kind::sections().filter_map(|kind| match kind.section_path().strip_prefix(place) {
            Some([name]) => {
                let mut field = Field::optional(name, read);
                // an empty one of the others wants nothing to be gone
                if kind.goes_with_entry() {
                    field.row.presence = Presence::Section;
                }
                Some(field)
            }
            _ => None,
        });
    if !place.is_empty() {
        return sections.collect();
    }
    let schema = Field::optional("$schema", |_, value, log| {
        value.string(log, "the address of a schema");
    });
    let folders = ["account", "dns"].map(|name| Field::optional(name, folder));
    [schema]
        .into_iter()
        .chain(sections)
        .chain(folders)
        .collect()
}

/// Reads what holds sections.
fn folder(desired: &mut Desired, value: &Cursor<'_>, log: &mut Log) {
    let table = table(&[value.name()]);
    value.object(log, &table, desired);
    if value.is_object() && value.members().next().is_none() {
        let names: Vec<String> = table.names().map(quote).collect();
        let text = format!("manages nothing without {}", names.join(" or "));
        log.notice(Code::IdleSection, value.key_place(), text);
    }
}

const REFUSED: &[Refused] = refused![
    ["nameserver_groups", "nameservers", "nameserver"] => "nameserver groups stand in \"dns\"",
        "write \"dns\": { \"nameserver_groups\": { … } }";
    ["zones", "dns_zones", "dns_zone"] => "DNS zones stand in \"dns\"", "write \"dns\": { \"zones\": { … } }";
    ["dns_settings"] => "the DNS settings stand in \"dns\"", "write \"dns\": { \"settings\": { … } }";
    ["rule", "rules", "policy", "acl", "acls", "access_control"] => "rules of access are entries of \"policies\"",
        "write \"policies\": { \"NAME\": { \"sources\": [ … ], \"destinations\": [ … ] } }, one entry a rule";
    ["keys", "key", "preauth_keys"] => "setup keys are entries of \"setup_keys\"";
    ["peer", "hosts", "nodes", "machines"] => "settings of machines are entries of \"peers\"",
        "machines enroll by themselves; for a new one declare a setup key";
    ["dns_records", "dns_record", "records", "record"] => "DNS records stand in the zone that they are in",
        "write \"dns\": { \"zones\": { \"NAME\": { \"domain\": \"…\", \"records\": [ … ] } } }";
    ["resource", "data", "variable", "terraform", "module", "locals", "output"] => "this is a file of Terraform",
        "netbird-gitops export writes the account as it is (docs/coming-from.md)";
    ["users", "user", "tagOwners"] => "people are not managed here: they come from the identity provider",
        "its groups can be named in policies and routes without being declared";
    ["network", "resources", "network_resources", "network_resource", "routers", "network_routers",
        "network_router"] =>
        "resources and routers stand in the network that they are in",
        "write \"networks\": { \"NAME\": { \"resources\": { … }, \"routers\": [ … ] } }";
    ["posture_checks", "posture_check", "tokens", "service_users", "identity_providers", "identity_provider",
        "idp", "scim", "ingress_ports", "ingress_peers", "reverse_proxy", "reverse_proxies",
        "reverse_proxy_services", "reverse_proxy_domains", "reverse_proxy_clusters", "services",
        "integrations", "events"] =>
        NOT_MANAGED,
        AS_IT_IS;
    ["accounts", "settings", "account_settings"] => "the account's settings stand in \"account\"",
        "write \"account\": { \"settings\": { … } }";
];

/// What people write in the section `account`: of its settings they leave the name out.
static REFUSED_IN_ACCOUNT: LazyLock<[Refused; 2]> = LazyLock::new(|| {
    let outline = (Kind::AccountSettings.descriptor().outline)();
    let settings: Vec<&str> = outline.rows.iter().map(|row| row.name).collect();
    [
        Refused::new(
            settings.leak(), // once
            "the account's settings stand in \"settings\"",
            Some("write \"account\": { \"settings\": { … } }"),
        ),
        Refused::new(
            &["id", "name", "onboarding", "users", "owner"],
            NOT_MANAGED,
            Some(AS_IT_IS),
        ),
    ]
});

const REFUSED_IN_DNS: &[Refused] = refused![
    ["nameservers", "groups", "servers"] => "nameservers stand in groups of them, by name",
        "write \"nameserver_groups\": { \"NAME\": { \"nameservers\": [ … ], \"groups\": [ … ] } }";
    ["domains", "search_domains"] => "domains stand in the group of nameservers that answers for them",
        "write \"nameserver_groups\": { \"NAME\": { \"domains\": [ … ], … } }";
    ["records"] => "records stand in the zone that they are in",
        "write \"zones\": { \"NAME\": { \"domain\": \"…\", \"records\": [ … ], … } }";
];

const NOT_MANAGED: &str = "this is not managed here";
const AS_IT_IS: &str = "leave it out: what NetBird has stays as it is";

/// Returns the kind whose section stands there.
pub(super) fn kind_of(section: &Cursor<'_>) -> Option<Kind> {
    Kind::sections().find(|kind| section.stands_at(kind.section_path()))
}

/// Reads a section.
fn read(desired: &mut Desired, section: &Cursor<'_>, log: &mut Log) {
    let kind = kind_of(section).expect("a section of a kind");
    let descriptor = kind.descriptor();
    let mut all = Vec::new();
    match &descriptor.entries {
        Entries::One(one) => {
            desired.sections.insert((kind, None));
            keep(
                desired,
                Address::new(kind, ""),
                (one.read)(section, log),
                section,
                &[*section],
                &mut all,
                log,
            );
        }
        Entries::Named(read) | Entries::Enrolled(read) => {
            if !section.is_object() {
                return no_names(section, log).unwrap_or(());
            }
            desired.sections.insert((kind, None));
            for entry in section.members() {
                check_name(&entry, kind, log);
                if !is_name(entry.name()) {
                    continue;
                }
                let address = Address::new(kind, entry.name());
                let objects = objects(kind, &entry);
                if objects.is_empty() {
                    let text = format!("a list of {} has at least one", kind.plural());
                    log.error(entry.place(), text).suggest(format!(
                        "leave the entry out where there is to be no {}",
                        kind.label()
                    ));
                }
                let declared = objects.iter().filter_map(|object| read(object, log));
                let declared = declared.reduce(Declared::and);
                keep(desired, address, declared, &entry, &objects, &mut all, log);
            }
        }
        Entries::Inside(_) => unreachable!("the file has no such section"),
    }
    (descriptor.special.check)(&all, log);
}

/// Returns what an entry of a section has: itself, or the elements of its list where its kind has several of one name.
pub(super) fn objects<'a>(kind: Kind, entry: &Cursor<'a>) -> Vec<Cursor<'a>> {
    match kind.descriptor().special.is_several && entry.is_list() {
        true => entry.elements().collect(),
        false => vec![*entry],
    }
}

/// Notes that something else stands where entries stand under their names.
fn no_names<R>(section: &Cursor<'_>, log: &mut Log) -> Option<R> {
    let hint = "entries stand under their names: { \"NAME\": { … } }";
    section.wrong(log, "an object of names { … }", Some(hint.into()))
}

/// Whether it is no longer than a name can be: all that stands in an entry has its name, and copies it.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= names::MAX_CHARS || name.chars().nth(names::MAX_CHARS).is_none()
}

fn check_name(entry: &Cursor<'_>, kind: Kind, log: &mut Log) {
    names::check_own(entry.name(), || entry.key_place(), log);
    names::check_length(
        entry,
        kind.label(),
        kind.descriptor().special.longest_name,
        log,
    );
}

/// Returns what stands in a field of another object's entry.
fn inside_of<'a>(
    within: &Cursor<'a>,
    kind: Kind,
    inside: &Inside,
    log: &mut Log,
) -> Option<Vec<Cursor<'a>>> {
    match inside.name {
        NameOf::Texts { .. } if !within.is_list() => {
            let hint = "write them in a list: [{ … }]".to_owned();
            within.wrong(log, &format!("a list of {}", kind.plural()), Some(hint))
        }
        NameOf::Texts { .. } => Some(within.elements().collect()),
        NameOf::Key if !within.is_object() => no_names(within, log),
        NameOf::Key => {
            let all: Vec<Cursor<'a>> = within.members().collect();
            all.iter().for_each(|entry| check_name(entry, kind, log));
            Some(
                all.into_iter()
                    .filter(|entry| is_name(entry.name()))
                    .collect(),
            )
        }
    }
}

/// Adds an entry that was read, with what stands in it, to what is desired and to `all` of its section.
fn keep<'a>(
    desired: &mut Desired,
    address: Address,
    declared: Option<Declared>,
    entry: &Cursor<'a>,
    objects: &[Cursor<'a>],
    all: &mut Vec<InFile<'a>>,
    log: &mut Log,
) {
    let Some(declared) = declared else {
        return;
    };
    for (kind, inside) in address.kind.children().filter_map(Kind::inside_as) {
        // a null is told with the field
        let within = entry.get(kind.section());
        let Some(within) = within.filter(|within| !within.is_null()) else {
            continue;
        };
        let Some(all) = inside_of(&within, kind, inside, log) else {
            continue;
        };
        let section = (kind, Some(address.name.clone()));
        desired.sections.insert(section);
        let read = |element: Cursor<'a>| {
            let (name, resource) = (inside.read)(&element, &declared, log)?;
            Some((name, resource, element))
        };
        let children: Vec<InFile<'a>> = all.into_iter().filter_map(read).collect();
        (kind.descriptor().special.check)(&children, log);
        for (name, resource, _) in children {
            let child = desired.entries.entry(address.child(kind, name));
            let child = child.or_insert_with(|| Declared::Resources(Vec::new()));
            if let Declared::Resources(several) = child {
                several.push(resource);
            }
        }
    }
    if let Declared::Resources(resources) = &declared {
        let resources = resources.iter().cloned().zip(objects);
        all.extend(resources.map(|(one, at)| (address.name.clone(), one, *at)));
    }
    desired.entries.insert(address, declared);
}
