//! References to groups and network resources: those that the file declares, and those that must exist in NetBird.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Entry;
use crate::address::Address;
use crate::code::Code;
use crate::config::{Cursor, Log, Place, quote};
use crate::hint;
use crate::kind::values::names;
use crate::kind::{ALL, Kind};
use crate::render::words;

/// Most comparisons that are spent on suggestions; a file that asks for more gets none.
const MAX_GUESSES: usize = 100_000;

/// A reference to a group that the file does not declare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The entry that refers.
    pub owner: Address,
    /// The group's name.
    pub group: String,
    /// Where it stands.
    pub place: Place,
    /// `did you mean "…"?`, where a declared group has such a name.
    pub hint: Option<String>,
}

/// Returns the references to undeclared groups in file order, and notes one notice for each such group.
pub(super) fn undeclared(entries: &[Entry<'_>], log: &mut Log) -> Vec<Reference> {
    let groups = || {
        entries
            .iter()
            .filter(|entry| entry.address.kind == Kind::Group)
            .map(|entry| entry.cursor.name())
    };
    let declared: FxHashSet<&str> = groups().collect();
    let composed: FxHashMap<Cow<str>, &str> =
        groups().map(|name| (names::nfc(name), name)).collect();
    let (keys, resources) = (
        names_of(entries, Kind::SetupKey),
        names_of(entries, Kind::NetworkResource),
    );
    let way_out = |name: &str| {
        if keys.contains(name) {
            let hint = "it is a setup key here: groups stand here, such as one that lists it";
            Some(hint.to_owned())
        } else if resources.contains(name) {
            let hint = "it is a network resource here: groups stand here; a policy names a resource in \"destination_resource\"";
            Some(hint.to_owned())
        } else {
            let near = hint::group(name, groups().chain([ALL]));
            near.as_ref().map(words::hint)
        }
    };
    let mut hints: FxHashMap<String, Option<String>> = FxHashMap::default();
    let mut references = Vec::new();
    for (entry, name, named) in named(entries) {
        if name == ALL || declared.contains(name) || names::flaw(name).is_some() {
            continue;
        }
        let place = named.place();
        if let Some(twin) = composed.get(&names::nfc(name)) {
            log.error(
                place,
                format!(
                    "the group {} is declared in other characters that look the same",
                    quote(name)
                ),
            )
            .coded(Code::Reference)
            .suggest(format!("copy the name {} from \"groups\"", quote(twin)));
            continue;
        }
        if !hints.contains_key(name) {
            let few = (hints.len() + 1).saturating_mul(declared.len()) <= MAX_GUESSES;
            let hint = if few { way_out(name) } else { None };
            let way_out = hint.iter().map(|hint| format!(" ({hint})"));
            let brief = format!("{}{}", quote(name), way_out.collect::<String>());
            log.notice(
                Code::UndeclaredGroup,
                place.clone(),
                format!(
                    "group {} is not declared here, so it must exist in NetBird",
                    quote(name)
                ),
            )
            .brief(brief)
            .suggest(hint.clone());
            hints.insert(name.to_owned(), hint);
        }
        references.push(Reference {
            owner: entry.address.clone(),
            group: name.to_owned(),
            place,
            hint: hints.get(name).cloned().flatten(),
        });
    }
    references
}

/// The names of the entries of a kind.
fn names_of<'a>(entries: &[Entry<'a>], kind: Kind) -> FxHashSet<&'a str> {
    let of_kind = entries.iter().filter(|entry| entry.address.kind == kind);
    of_kind.map(|entry| entry.cursor.name()).collect()
}

/// What names a group: most are declared, so it is looked for where it stands when something is to be said of it.
enum Named<'a> {
    /// A text.
    Text(Cursor<'a>),
    /// The name of a member.
    Member(Cursor<'a>),
}

impl Named<'_> {
    fn place(&self) -> Place {
        match self {
            Named::Text(text) => text.place(),
            Named::Member(member) => member.key_place(),
        }
    }
}

/// Every text that names a group, with its entry and where it stands.
fn named<'e, 'a>(
    entries: &'e [Entry<'a>],
) -> impl Iterator<Item = (&'e Entry<'a>, &'a str, Named<'a>)> {
    entries.iter().flat_map(|entry| {
        let outline = (entry.address.kind.descriptor().outline)();
        let is_list = move |field: &Cursor<'_>| {
            let mut rows = outline.rows.iter();
            rows.any(|row| row.is_reference && row.name == field.name())
        };
        let lists = entry.cursor.members().filter(is_list);
        let elements = lists.flat_map(Cursor::elements);
        let elements = elements.filter_map(|element| Some((element.text()?, Named::Text(element))));
        let is_policy = entry.address.kind == Kind::Policy;
        let users = is_policy.then(|| entry.cursor.get("authorized_groups"));
        let users = users.flatten().into_iter().flat_map(Cursor::members);
        let users = users.map(|group| (group.name(), Named::Member(group)));
        let all = elements.chain(users);
        all.map(move |(name, named)| (entry, name, named))
    })
}

/// Notes one notice for each network resource that a policy names and the file does not declare.
pub(super) fn undeclared_resources(entries: &[Entry<'_>], log: &mut Log) {
    let declared = names_of(entries, Kind::NetworkResource);
    let of_kind = |kind| names_of(entries, kind);
    let (groups, keys, networks) = (
        of_kind(Kind::Group),
        of_kind(Kind::SetupKey),
        of_kind(Kind::Network),
    );
    let policies = entries
        .iter()
        .filter(|entry| entry.address.kind == Kind::Policy);
    let mut told: FxHashSet<&str> = FxHashSet::default();
    for target in policies.filter_map(|entry| entry.cursor.get("destination_resource")) {
        let Some(name) = target.text().filter(|name| names::flaw(name).is_none()) else {
            continue;
        };
        if declared.contains(name) || !told.insert(name) {
            continue;
        }
        let few = told.len().saturating_mul(declared.len()) <= MAX_GUESSES;
        let near = || hint::other(name, declared.iter().copied());
        let hint = if groups.contains(name) {
            Some("it is a group here: groups stand in \"destinations\"".to_owned())
        } else if keys.contains(name) {
            Some(format!(
                "it is a setup key here: for its peer write {{ \"peer\": {} }}",
                quote(name)
            ))
        } else if networks.contains(name) {
            Some("it is a network here: one of its resources stands here, or a group that they are in".to_owned())
        } else {
            few.then(near).flatten().as_ref().map(words::hint)
        };
        let way_out = hint.iter().map(|hint| format!(" ({hint})"));
        let brief = format!("{}{}", quote(name), way_out.collect::<String>());
        let text = format!(
            "network resource {} is not declared here, so it must exist in NetBird",
            quote(name)
        );
        log.notice(Code::UndeclaredResource, target.place(), text)
            .brief(brief)
            .suggest(hint);
    }
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use super::*;
    use crate::validate::testing::{assert_table, check};

    #[test]
    fn every_field_that_names_groups_is_looked_at() {
        let file = r#"{"groups": {"pilots": {}},
            "setup_keys": {"k": {"type": "one-off", "expires_in": 3600, "auto_groups": ["g1"]}},
            "policies": {"p": {"sources": ["g2", "pilots"], "destinations": ["g3", "All"]}},
            "routes": {"r": {"network": "10.0.0.0/8", "peer_groups": ["g4"], "groups": ["g5"], "access_control_groups": ["g6"]}},
            "dns": {"nameserver_groups": {"n": {"nameservers": [{"ip": "1.1.1.1"}], "groups": ["g7", "g2"], "primary": true}}}}"#;
        let valid = check(file).expect("a valid file");
        let found: Vec<_> = valid
            .references
            .iter()
            .map(|reference| {
                (
                    reference.place.path.as_str(),
                    reference.group.as_str(),
                    reference.place.line,
                )
            })
            .collect();
        let wanted = [
            ("setup_keys.k.auto_groups[0]", "g1", 2),
            ("policies.p.sources[0]", "g2", 3),
            ("policies.p.destinations[0]", "g3", 3),
            ("routes.r.peer_groups[0]", "g4", 4),
            ("routes.r.groups[0]", "g5", 4),
            ("routes.r.access_control_groups[0]", "g6", 4),
            ("dns.nameserver_groups.n.groups[0]", "g7", 5),
            ("dns.nameserver_groups.n.groups[1]", "g2", 5),
        ];
        assert_eq!(found, wanted);
        assert_eq!(
            valid.references[6].owner,
            Address::new(Kind::NameserverGroup, "n")
        );
        assert_eq!(
            valid.notices.len(),
            7,
            "one notice a group: {:?}",
            valid.notices
        );
    }

    #[test]
    fn undeclared_groups() {
        let file = r#"{"groups": {"pilots": {}, "B\u00fcro": {}}, "setup_keys": {"Pilot-1": {"type": "one-off", "expires_in": 3600}}, "policies": {"p": {"sources": [ROW], "destinations": ["All"]}}}"#;
        let rows = [
            r#""pilot""#,
            r#""Pilots""#,
            r#""contractors""#,
            r#""all""#,
            r#""Bu\u0308ro""#,
            r#""pilot", "pilot""#,
            r#""Pilot-1""#,
        ];
        assert_table(
            file,
            &rows,
            str![[r#"
"pilot"
    note: policies.p.sources[0]: group "pilot" is not declared here, so it must exist in NetBird | did you mean "pilots"?
"Pilots"
    note: policies.p.sources[0]: group "Pilots" is not declared here, so it must exist in NetBird | did you mean "pilots"?
"contractors"
    note: policies.p.sources[0]: group "contractors" is not declared here, so it must exist in NetBird
"all"
    note: policies.p.sources[0]: group "all" is not declared here, so it must exist in NetBird | did you mean "All"?
"Bu\u0308ro"
    policies.p.sources[0]: the group "Büro" is declared in other characters that look the same | copy the name "Büro" from "groups"
"pilot", "pilot"
    note: policies.p.sources[0]: group "pilot" is not declared here, so it must exist in NetBird | did you mean "pilots"?
    note: policies.p.sources[1]: "pilot" is in the list twice
"Pilot-1"
    note: policies.p.sources[0]: group "Pilot-1" is not declared here, so it must exist in NetBird | it is a setup key here: groups stand here, such as one that lists it

"#]],
        );
        let valid = check(&file.replace("ROW", r#""pilot""#)).expect("a valid file");
        assert_eq!(
            valid.references[0].hint.as_deref(),
            Some("did you mean \"pilots\"?")
        );
    }

    #[test]
    fn groups_of_users_are_groups() {
        let file = r#"{"groups": {"ops": {}}, "policies": {"p": {"sources": ["ops"], "destinations": ["All"],
            "protocol": "netbird-ssh", "ports": [22], "authorized_groups": {"ops": ["root"], ROW: ["root"]}}}}"#;
        assert_table(
            file,
            &[r#""All""#, r#""opps""#],
            str![[r#"
"All"
"opps"
    note: policies.p.authorized_groups.opps: group "opps" is not declared here, so it must exist in NetBird | did you mean "ops"?

"#]],
        );
    }

    #[test]
    fn undeclared_resources() {
        let file = r#"{"groups": {"ops": {}}, "setup_keys": {"gw-1": {"type": "one-off", "expires_in": 3600}},
            "networks": {"office": {"resources": {"printer": {"address": "10.0.0.9"}}}},
            "policies": {"p": {"sources": ["ops"], ROW}}}"#;
        let rows = [
            r#""destination_resource": "printer""#,
            r#""destination_resource": "pinter""#,
            r#""destination_resource": "lan""#,
            r#""destination_resource": "ops""#,
            r#""destination_resource": "gw-1""#,
            r#""destination_resource": "office""#,
            r#""destination_resource": {"peer": "gw-1"}"#,
            r#""destinations": ["printer"]"#,
        ];
        assert_table(
            file,
            &rows,
            str![[r#"
"destination_resource": "printer"
"destination_resource": "pinter"
    note: policies.p.destination_resource: network resource "pinter" is not declared here, so it must exist in NetBird | did you mean "printer"?
"destination_resource": "lan"
    note: policies.p.destination_resource: network resource "lan" is not declared here, so it must exist in NetBird
"destination_resource": "ops"
    note: policies.p.destination_resource: network resource "ops" is not declared here, so it must exist in NetBird | it is a group here: groups stand in "destinations"
"destination_resource": "gw-1"
    note: policies.p.destination_resource: network resource "gw-1" is not declared here, so it must exist in NetBird | it is a setup key here: for its peer write { "peer": "gw-1" }
"destination_resource": "office"
    note: policies.p.destination_resource: network resource "office" is not declared here, so it must exist in NetBird | it is a network here: one of its resources stands here, or a group that they are in
"destination_resource": {"peer": "gw-1"}
"destinations": ["printer"]
    note: policies.p.destinations[0]: group "printer" is not declared here, so it must exist in NetBird | it is a network resource here: groups stand here; a policy names a resource in "destination_resource"

"#]],
        );
    }

    #[test]
    fn a_file_of_many_names_gets_few_suggestions() {
        let list = |word: &str, end: &str| {
            let names: Vec<_> = (0..2000)
                .map(|index| format!("\"{word}-{index}\"{end}"))
                .collect();
            names.join(",")
        };
        let file = format!(
            r#"{{"groups": {{{}}}, "policies": {{"p": {{"sources": [{}], "destinations": ["All"]}}}}}}"#,
            list("group", ": {}"),
            list("gruop", "")
        );
        let references = check(&file).expect("a valid file").references;
        let hinted = references
            .iter()
            .filter(|reference| reference.hint.is_some())
            .count();
        assert_eq!((references.len(), hinted), (2000, MAX_GUESSES / 2000));
    }
}
