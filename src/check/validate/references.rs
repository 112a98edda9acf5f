//! References to groups and network resources: those that the file declares, and those that must exist in NetBird.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::Code;
use crate::file::{Cursor, Log, Names, Place, did_you_mean, quote};
use crate::model::kind::values::names;
use crate::model::{ALL, Address, InFile, Kind, Refers, hint};

/// Most comparisons that are spent on suggestions; a file that asks for more gets none.
const MAX_GUESSES: usize = 100_000;

/// Most references that are kept: who has more gets no place for the rest.
const MOST_KEPT: usize = 10_000;

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

/// What is said of a name that is that of something else here: the kind that stands there, the kind that the name is of.
fn taken_for(wanted: Kind, found: Kind) -> Option<&'static str> {
    Some(match (wanted, found) {
        (Kind::Group, Kind::SetupKey) => {
            "it is a setup key: this list takes groups, such as one that has the key in its \"peers\""
        }
        (Kind::Group, Kind::NetworkResource) => {
            "it is a network resource: this list takes groups; a policy names a resource in \"destination_resource\""
        }
        (Kind::NetworkResource, Kind::Group) => "it is a group: groups belong in \"destinations\"",
        (Kind::NetworkResource, Kind::SetupKey) => {
            "it is a setup key: for its peer write { \"peer\": \"NAME\" }"
        }
        (Kind::NetworkResource, Kind::Network) => {
            "this is the name of a network: write one of its resources, or a group that they are in"
        }
        _ => return None,
    })
}

/// Returns the references to undeclared groups in file order, and notes one notice for each such group, and for each network
/// resource that a policy names and the file does not declare.
pub(super) fn undeclared(entries: &[InFile<'_>], log: &mut Log) -> Vec<Reference> {
    let mut declared: FxHashMap<Kind, FxHashSet<&str>> = FxHashMap::default();
    let mut in_order: FxHashMap<Kind, Vec<&str>> = FxHashMap::default();
    for entry in entries {
        let (kind, name) = (entry.address.kind, entry.cursor.name());
        declared.entry(kind).or_default().insert(name);
        in_order.entry(kind).or_default().push(name);
    }
    let names_of = |kind| in_order.get(&kind).into_iter().flatten().copied();
    let is_declared = |kind, name: &str| declared.get(&kind).is_some_and(|all| all.contains(name));
    // ASCII is made of no other characters
    let others = names_of(Kind::Group).filter(|name| !name.is_ascii());
    let composed = others.map(|name| (names::nfc(name), name));
    let composed: FxHashMap<Cow<str>, &str> = composed.collect();
    let way_out = |kind, name: &str, is_cheap: bool| {
        let mut found = Kind::ALL.into_iter();
        let taken = |found: Kind| taken_for(kind, found).filter(|_| is_declared(found, name));
        match kind {
            _ if let Some(text) = found.find_map(taken) => Some(text.to_owned()),
            _ if !is_cheap => None,
            Kind::Group => hint::group(name, names_of(kind).chain([ALL])),
            _ => did_you_mean(name, names_of(kind)),
        }
    };
    let mut hints: FxHashMap<(Kind, &str), Option<String>> = FxHashMap::default();
    let mut references = Vec::new();
    for (entry, what, name, at) in entries.iter().flat_map(named) {
        let (is_group, Some(kind)) = (what == Refers::Group, what.kind()) else {
            continue;
        };
        if is_group && name == ALL || is_declared(kind, name) || names::flaw(name).is_some() {
            continue;
        }
        let place = match at.text() {
            Some(_) => at.place(),
            None => at.key_place(),
        };
        if let Some(twin) = composed.get(&names::nfc(name)).filter(|_| is_group) {
            let same = "is declared with other characters that look the same";
            let flaw = log.error(place, format!("the group {} {same}", quote(name)));
            let hint = format!("copy the name {} from \"groups\"", quote(twin));
            flaw.coded(Code::Reference).suggest(hint);
            continue;
        }
        let told = hints.len() + 1;
        let hint = hints.entry((kind, name)).or_insert_with(|| {
            let number = in_order.get(&kind).map_or(0, Vec::len);
            let is_cheap = told.saturating_mul(number) <= MAX_GUESSES;
            let hint = way_out(kind, name, is_cheap);
            let brief = hint.iter().map(|hint| format!(" ({hint})"));
            let brief = quote(name) + &brief.collect::<String>();
            let code = match is_group {
                true => Code::UndeclaredGroup,
                false => Code::UndeclaredResource,
            };
            let (label, name) = (what.label(), quote(name));
            let message = format!(
                "{label} {name} is not declared in this file: an apply fails if NetBird does not have it"
            );
            let notice = log.notice(code, place.clone(), message);
            notice.brief(brief).suggest(hint.clone());
            hint
        });
        if is_group && references.len() < MOST_KEPT {
            references.push(Reference {
                owner: entry.address.clone(),
                group: name.to_owned(),
                place,
                hint: hint.clone(),
            });
        }
    }
    references
}

/// Every text of an entry that names an object of another kind: with that kind, and where it stands: most are declared, so the
/// place is looked for when something is to be said of it.
fn named<'e, 'a>(
    entry: &'e InFile<'a>,
) -> impl Iterator<Item = (&'e InFile<'a>, Refers, &'a str, Cursor<'a>)> {
    let outline = entry.address.kind.outline();
    let of_field = move |field: Cursor<'a>| -> Vec<(Refers, &'a str, Cursor<'a>)> {
        let mut rows = outline.rows.iter();
        let names = rows.find(|row| row.name == field.name());
        let Some(names) = names.and_then(|row| row.names) else {
            return Vec::new();
        };
        let text = |it: Cursor<'a>| Some((names.into(), it.text()?, it));
        match names {
            Names::Groups | Names::Checks => field.elements().filter_map(text).collect(),
            Names::GroupsByMember => {
                let members = field.members();
                members.map(|it| (names.into(), it.name(), it)).collect()
            }
            Names::Resource => text(field).into_iter().collect(),
        }
    };
    let all = entry.cursor.members().flat_map(of_field);
    all.map(move |(what, name, at)| (entry, what, name, at))
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use super::*;
    use crate::check::validate::testing::{assert_table, check};

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
    note: policies.p.sources[0]: group "pilot" is not declared in this file: an apply fails if NetBird does not have it | did you mean "pilots"?
"Pilots"
    note: policies.p.sources[0]: group "Pilots" is not declared in this file: an apply fails if NetBird does not have it | did you mean "pilots"?
"contractors"
    note: policies.p.sources[0]: group "contractors" is not declared in this file: an apply fails if NetBird does not have it
"all"
    note: policies.p.sources[0]: group "all" is not declared in this file: an apply fails if NetBird does not have it | did you mean "All"?
"Bu\u0308ro"
    policies.p.sources[0]: the group "Büro" is declared with other characters that look the same | copy the name "Büro" from "groups"
"pilot", "pilot"
    note: policies.p.sources[0]: group "pilot" is not declared in this file: an apply fails if NetBird does not have it | did you mean "pilots"?
    note: policies.p.sources[1]: "pilot" is in the list twice
"Pilot-1"
    note: policies.p.sources[0]: group "Pilot-1" is not declared in this file: an apply fails if NetBird does not have it | it is a setup key: this list takes groups, such as one that has the key in its "peers"

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
    note: policies.p.authorized_groups.opps: group "opps" is not declared in this file: an apply fails if NetBird does not have it | did you mean "ops"?

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
    note: policies.p.destination_resource: network resource "pinter" is not declared in this file: an apply fails if NetBird does not have it | did you mean "printer"?
"destination_resource": "lan"
    note: policies.p.destination_resource: network resource "lan" is not declared in this file: an apply fails if NetBird does not have it
"destination_resource": "ops"
    note: policies.p.destination_resource: network resource "ops" is not declared in this file: an apply fails if NetBird does not have it | it is a group: groups belong in "destinations"
"destination_resource": "gw-1"
    note: policies.p.destination_resource: network resource "gw-1" is not declared in this file: an apply fails if NetBird does not have it | it is a setup key: for its peer write { "peer": "NAME" }
"destination_resource": "office"
    note: policies.p.destination_resource: network resource "office" is not declared in this file: an apply fails if NetBird does not have it | this is the name of a network: write one of its resources, or a group that they are in
"destination_resource": {"peer": "gw-1"}
"destinations": ["printer"]
    note: policies.p.destinations[0]: group "printer" is not declared in this file: an apply fails if NetBird does not have it | it is a network resource: this list takes groups; a policy names a resource in "destination_resource"

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
