//! The sections of the file, from the list of kinds; and what people write where sections stand.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::base::{Code, joined};
use crate::file::{Cursor, Field, Log, Presence, Refused, THE_FILE, Table, quote};
use crate::model::kind::rows::refused;
use crate::model::kind::values::names;
use crate::model::{Address, InFile, Kind, NameOf, Resource};
use serde_json::Value;

/// What people write somewhere that does not belong there.
type Besides = fn() -> &'static [Refused];

/// What holds sections: what it is, where it stands, and what people write there besides.
const PLACES: [(&str, &[&str], Besides); 3] = [
    (THE_FILE, &[], || REFUSED),
    ("the section account", &["account"], || &*REFUSED_IN_ACCOUNT),
    ("the section dns", &["dns"], || REFUSED_IN_DNS),
];

/// The fields of what holds sections, at that place of the file.
pub(super) fn table(place: &[&str]) -> Table<()> {
    static FIELDS: LazyLock<[Vec<Field<()>>; 3]> =
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
fn fields(place: &[&'static str]) -> Vec<Field<()>> {
    let sections =
        Kind::sections().filter_map(|kind| match kind.section_path().strip_prefix(place) {
            Some([name]) => {
                let mut field = Field::optional(name, |_, _, _| {});
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
    let fields = [schema].into_iter().chain(sections);
    fields.chain(folders).collect()
}

/// Reads what holds sections.
fn folder(_: &mut (), value: &Cursor<'_>, log: &mut Log) {
    let table = table(&[value.name()]);
    value.object(log, &table, &mut ());
    if value.is_object() && value.members().next().is_none() {
        let names = joined(table.names().map(quote), " or ");
        let text = format!("manages nothing without {names}");
        log.notice(Code::IdleSection, value.key_place(), text);
    }
}

const REFUSED: &[Refused] = refused![
    ["nameserver_groups", "nameservers", "nameserver"] => "nameserver groups belong in \"dns\"",
        "write \"dns\": { \"nameserver_groups\": { … } }";
    ["zones", "dns_zones", "dns_zone"] => "DNS zones belong in \"dns\"", "write \"dns\": { \"zones\": { … } }";
    ["dns_settings"] => "the DNS settings belong in \"dns\"", "write \"dns\": { \"settings\": { … } }";
    ["rule", "rules", "policy", "acl", "acls", "access_control"] => "access rules belong in \"policies\"",
        "write \"policies\": { \"NAME\": { \"sources\": [ … ], \"destinations\": [ … ] } }, one entry for each rule";
    ["posture_check", "posture"] => "posture checks belong in \"posture_checks\"";
    ["keys", "key", "preauth_keys"] => "setup keys belong in \"setup_keys\"";
    ["peer", "hosts", "nodes", "machines"] => "settings of machines belong in \"peers\"",
        "machines enroll by themselves; for a new one declare a setup key";
    ["dns_records", "dns_record", "records", "record"] => "DNS records belong in their zone",
        "write \"dns\": { \"zones\": { \"NAME\": { \"domain\": \"…\", \"records\": [ … ] } } }";
    ["resource", "data", "variable", "terraform", "module", "locals", "output"] => "this is a file of Terraform",
        "netbird-gitops export writes the account as it is (docs/coming-from.md)";
    ["user", "people", "tagOwners"] => "settings of people belong in \"users\"",
        "write \"users\": { \"E-MAIL\": { \"auto_groups\": [ … ] } }; who there is comes from the identity provider";
    ["network", "resources", "network_resources", "network_resource", "routers", "network_routers",
        "network_router"] =>
        "resources and routers belong in their network",
        "write \"networks\": { \"NAME\": { \"resources\": { … }, \"routers\": [ … ] } }";
    ["service_users", "service_user", "tokens", "token", "personal_access_tokens", "invites"] =>
        "service users, tokens and invites are not managed here: NetBird shows their secrets once, and a file cannot keep them",
        "create them in the dashboard";
    ["identity_providers", "identity_provider", "idp"] =>
        "identity providers are not managed here: NetBird uses a changed one only after a restart of the server, so no check \
         tells whether people can still log in",
        "change them in the dashboard; export and drift name them";
    ["reverse_proxy", "reverse_proxies", "reverse_proxy_services", "reverse_proxy_service", "reverse_proxy_domains",
        "reverse_proxy_domain", "reverse_proxy_clusters", "services"] =>
        "the reverse proxy is not managed here: a field that is left out publishes a service without authentication",
        "change it in the dashboard; export and drift name its services, and what a service uses is not deleted";
    ["network_egress", "network_egresses", "cluster_proxy", "cluster_proxies", "sidecar_profile", "sidecar_profiles"] =>
        "this is not managed here: NetBird's Kubernetes operator creates objects of the cluster for it",
        "leave it to the operator; what it creates in NetBird stays as it is";
    ["scim", "integrations", "ingress_ports", "ingress_peers", "events", "event_streaming", "agent_network",
        "agent_network_guardrails", "agent_network_policies", "agent_network_providers", "agent_network_settings"] =>
        "this is not managed here: NetBird's cloud has it, on a server of your own it has no effect",
        AS_IT_IS;
    ["accounts", "settings", "account_settings"] => "the account's settings belong in \"account\"",
        "write \"account\": { \"settings\": { … } }";
];

/// What people write in the section `account`: of its settings they leave the name out.
static REFUSED_IN_ACCOUNT: LazyLock<[Refused; 2]> = LazyLock::new(|| {
    let outline = Kind::AccountSettings.outline();
    let settings: Vec<&str> = outline.rows.iter().map(|row| row.name).collect();
    [
        Refused::new(
            settings.leak(), // once
            "the account's settings belong in \"settings\"",
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
    ["nameservers", "groups", "servers"] => "nameservers belong in groups, by name",
        "write \"nameserver_groups\": { \"NAME\": { \"nameservers\": [ … ], \"groups\": [ … ] } }";
    ["domains", "search_domains"] => "domains belong in the group of nameservers that answers for them",
        "write \"nameserver_groups\": { \"NAME\": { \"domains\": [ … ], … } }";
    ["records"] => "records belong in their zone",
        "write \"zones\": { \"NAME\": { \"domain\": \"…\", \"records\": [ … ], … } }";
];

const NOT_MANAGED: &str = "this is not managed here";
const AS_IT_IS: &str = "leave it out: what NetBird has stays as it is";

/// Returns the kind whose section stands there.
fn kind_of(section: &Cursor<'_>) -> Option<Kind> {
    Kind::sections().find(|kind| section.stands_at(kind.section_path()))
}

/// Reads all entries of the file, each before what stands in it; notes what is wrong with them, and which sections there are.
pub(super) fn read<'a>(
    root: &Cursor<'a>,
    sections: &mut BTreeSet<(Kind, Option<String>)>,
    log: &mut Log,
) -> Vec<InFile<'a>> {
    let mut reading = Reading {
        entries: Vec::new(),
        sections,
        log,
    };
    let folders = |section: Cursor<'a>| match kind_of(&section) {
        Some(_) => vec![section],
        None => section.members().collect(),
    };
    // a null is told with the field
    let there = root.members().flat_map(folders);
    for section in there.filter(|section| !section.is_null()) {
        if let Some(kind) = kind_of(&section) {
            reading.section(kind, section);
        }
    }
    for kind in Kind::ALL {
        let of_kind: Vec<_> = super::of_kind(&reading.entries, kind).collect();
        (kind.descriptor().check)(&of_kind, reading.log);
    }
    reading.entries
}

/// What was read so far.
struct Reading<'r, 'a> {
    entries: Vec<InFile<'a>>,
    sections: &'r mut BTreeSet<(Kind, Option<String>)>,
    log: &'r mut Log,
}

impl<'a> Reading<'_, 'a> {
    fn section(&mut self, kind: Kind, section: Cursor<'a>) {
        if kind.is_one() {
            self.sections.insert((kind, None));
            return self.entry(Address::new(kind, ""), section, None);
        }
        let Some(entries) = named(&section, kind, self.log) else {
            return;
        };
        self.sections.insert((kind, None));
        for entry in entries {
            let objects = objects(kind, &entry);
            if objects.is_empty() {
                let text = format!("a list of {} has at least one", kind.plural());
                let none = kind.label();
                let hint = format!("leave the entry out where there is to be no {none}");
                self.log.error(entry.place(), text).suggest(hint);
            }
            for object in objects {
                self.entry(Address::new(kind, entry.name()), object, None);
            }
        }
    }

    /// Reads an object, and what stands in it.
    fn entry(&mut self, address: Address, cursor: Cursor<'a>, within: Option<&Resource>) {
        let resource = Resource::declared(address.kind, &cursor, within, self.log);
        // what nothing stands in has no second copy: a group can be long
        let parent = address.kind.children().next().and(resource.as_ref());
        let parent = parent.cloned();
        self.entries.push(InFile {
            address: address.clone(),
            resource,
            cursor,
        });
        for (kind, inside) in address.kind.children().filter_map(Kind::inside_as) {
            let field = cursor.get(kind.section());
            let Some(field) = field.filter(|field| !field.is_null()) else {
                continue;
            };
            let all = match inside.name {
                NameOf::Key => named(&field, kind, self.log),
                _ if field.is_list() => Some(field.elements().collect()),
                _ => {
                    let hint = "write them in a list: [{ … }]".to_owned();
                    let wanted = format!("a list of {}", kind.plural());
                    field.wrong(self.log, &wanted, Some(hint))
                }
            };
            let Some(all) = all else { continue };
            self.sections.insert((kind, Some(address.name.clone())));
            let fields = parent.as_ref().map(Resource::fields).unwrap_or_default();
            for one in all {
                let of_parent = |field: &str| fields.get(field).and_then(Value::as_str);
                let own = |field: &str| one.get(field).and_then(|field| field.text());
                let name = match inside.name {
                    NameOf::Key => one.name().to_owned(),
                    NameOf::Nothing => String::new(),
                    NameOf::Texts(make) => {
                        make(&|field| of_parent(field).unwrap_or_default(), &|field| {
                            own(field).unwrap_or_default()
                        })
                    }
                };
                self.entry(address.child(kind, name), one, parent.as_ref());
            }
        }
    }
}

/// Returns what an entry of a section has: itself, or the elements of its list where its kind has several of one name.
fn objects<'a>(kind: Kind, entry: &Cursor<'a>) -> Vec<Cursor<'a>> {
    match kind.descriptor().is_several && entry.is_list() {
        true => entry.elements().collect(),
        false => vec![*entry],
    }
}

/// Returns what stands under names, without those that are longer than a name can be: all that stands in an entry copies its
/// name.
fn named<'a>(section: &Cursor<'a>, kind: Kind, log: &mut Log) -> Option<Vec<Cursor<'a>>> {
    if !section.is_object() {
        let hint = "write each entry under its name: { \"NAME\": { … } }";
        return section.wrong(log, "an object of names { … }", Some(hint.into()));
    }
    for entry in section.members() {
        names::check_own(entry.name(), || entry.key_place(), log);
        let most = kind.descriptor().longest_name;
        names::check_length(&entry, kind.label(), most, log);
    }
    let is_name = |name: &str| name.chars().nth(names::MAX_CHARS).is_none();
    let entries = section.members();
    Some(entries.filter(|entry| is_name(entry.name())).collect())
}
