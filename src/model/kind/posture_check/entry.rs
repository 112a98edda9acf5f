//! Posture checks in the file: section `posture_checks`.

use super::{Geo, Location, PostureCheck, Process, Ranges, Systems, Verdict};
use crate::file::Objects;
use crate::model::kind::prelude::*;

pub(super) const TABLE: Table<PostureCheck> = Table {
    what: "a posture check",
    fields: fields![
        /// Text for people.
        own description: TEXT => "",
        /// The oldest NetBird client that passes, such as "0.60.0".
        own nb_version: VERSION => "",
        /// The oldest version of each operating system that passes, by linux, windows, darwin, ios and android; of linux and windows that of
        /// the kernel. A machine of another operating system does not pass.
        own os_version: Takes(Shape::Schema(SYSTEMS_SCHEMA), systems) => {},
        /// Where a machine may be ("action": "allow") or may not be ("deny"), by its public address. A machine whose location is not
        /// known does not pass in either case.
        own geo: Takes(Shape::Schema(GEO_SCHEMA), geo) => {},
        /// Networks that a machine has to be in ("action": "allow") or may not be in ("deny").
        own network_range: Takes(Shape::Schema(RANGES_SCHEMA), ranges) => {},
        /// Programs that have to run, each by its path on linux, mac and windows.
        own processes: Takes(Shape::Objects(PROCESSES), processes) => [],
        ; renamed_from(),
    ],
    refused: refused![
        Refused::NAME;
        ["checks"] => "the checks stand in the entry itself", "write nb_version, os_version, geo, network_range or processes here";
        ["nb_version_check", "min_version", "netbird_version"] => nb_version;
        ["os_version_check", "os"] => os_version;
        ["geo_location_check", "geo_location", "locations", "countries"] => geo;
        ["peer_network_range_check", "network_ranges", "ranges"] => network_range;
        ["process_check", "process"] => processes;
    ],
    rules: "{}",
};

const SYSTEMS_SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "properties": {
    "linux": {"type": "string"}, "windows": {"type": "string"}, "darwin": {"type": "string"}, "ios": {"type": "string"},
    "android": {"type": "string"}
}}"#;

const GEO_SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "properties": {
    "action": {"enum": ["allow", "deny"]},
    "locations": {"type": "array", "minItems": 1, "items": {"type": "object", "additionalProperties": false,
        "required": ["country"], "properties": {
            "country": {"type": "string", "pattern": "^[A-Za-z]{2}$"}, "city": {"type": "string", "minLength": 1}
        }}}
}, "dependencies": {"action": ["locations"], "locations": ["action"]}}"#;

const RANGES_SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "properties": {
    "action": {"enum": ["allow", "deny"]},
    "ranges": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 4}}
}, "dependencies": {"action": ["ranges"], "ranges": ["action"]}}"#;

/// A version as it is written; the server cuts it at a dash when it compares.
const VERSION: Takes<Option<String>> = Takes(
    Shape::Schema(r#"{"type": "string", "pattern": "^(v?[0-9]+(\\.[0-9]+)*([-+].+)?)?$"}"#),
    |value, log| {
        let text = value.string(log, "a version such as \"0.60.0\"")?;
        let core = text.strip_prefix('v').unwrap_or(text);
        let core = core.split(['-', '+']).next().unwrap_or_default();
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        if !text.is_empty() && !core.split('.').all(is_number) {
            let message = format!("{} is not a version, such as \"0.60.0\"", quote(text));
            log.error(value.place(), message);
        }
        Some(text.to_owned())
    },
);

const VERDICT: Takes<Option<Verdict>> = Takes(
    Shape::Schema(r#"{"enum": ["allow", "deny"]}"#),
    word::read::<Verdict>,
);

/// Reads an object; an empty one stands for no check.
fn inner<T: Default>(value: &Cursor<'_>, table: &Table<T>, log: &mut Log) -> Option<T> {
    let mut it = T::default();
    if !value.is_object() || value.members().next().is_some() {
        value.object(log, table, &mut it);
    }
    value.is_object().then_some(it)
}

/// Reads a list that cannot be empty.
fn some<'a>(list: &Cursor<'a>, wanted: &str, log: &mut Log) -> Vec<Cursor<'a>> {
    let elements = list.list(log, wanted).unwrap_or_default();
    if list.is_list() && elements.is_empty() {
        log.error(
            list.place(),
            format!("{} cannot be empty", quote(list.name())),
        );
    }
    elements
}

fn systems(value: &Cursor<'_>, log: &mut Log) -> Option<Systems> {
    const SYSTEMS: Table<Systems> = Table {
        what: "the versions of operating systems",
        fields: fields![
            /// The kernel.
            may linux: VERSION,
            /// The kernel, such as "10.0.19045".
            may windows: VERSION,
            /// macOS.
            may darwin: VERSION,
            /// iOS.
            may ios: VERSION,
            /// Android.
            may android: VERSION,
        ],
        refused: refused![["macos", "mac", "osx"] => darwin;],
        rules: "{}",
    };
    inner(value, &SYSTEMS, log)
}

fn geo(value: &Cursor<'_>, log: &mut Log) -> Option<Geo> {
    const LOCATION: Table<Location> = Table {
        what: "a location",
        fields: fields![
            /// Two letters, in any case.
            needs country: Takes(Shape::Text, |value, log| {
                let text = value.string(log, "a country code such as \"NL\"").unwrap_or_default();
                if !text.is_empty() && (text.len() != 2 || !text.bytes().all(|it| it.is_ascii_alphabetic())) {
                    log.error(value.place(), format!("{} is not a country code of two letters, such as \"NL\"", quote(text)));
                }
                text.to_uppercase()
            }),
            /// A city in it.
            may city: Takes(Shape::Text, |value, log| value.string(log, "a city").unwrap_or_default().to_owned()),
        ],
        refused: refused![["country_code", "code"] => country; ["city_name"] => city;],
        rules: "{}",
    };
    const LOCATIONS: Takes<BTreeSet<Location>> = Takes(Shape::Text, |list, log| {
        let elements = some(list, "a list of locations", log).into_iter();
        elements
            .filter_map(|location| inner(&location, &LOCATION, log))
            .collect()
    });
    const GEO: Table<Geo> = Table {
        what: "a check of the location",
        fields: fields![
            /// "allow" or "deny".
            needs action: VERDICT,
            /// Countries and cities.
            needs locations: LOCATIONS,
        ],
        refused: &[],
        rules: "{}",
    };
    inner(value, &GEO, log)
}

fn ranges(value: &Cursor<'_>, log: &mut Log) -> Option<Ranges> {
    const NETWORKS: Takes<BTreeSet<String>> = Takes(Shape::Text, |list, log| {
        let elements = some(list, "a list of networks", log).into_iter();
        let range = |range: Cursor<'_>| {
            let text = range.string(log, "a network such as \"192.168.0.0/16\"")?;
            range.checked(network::exact(text), log)
        };
        elements.filter_map(range).collect()
    });
    const RANGES: Table<Ranges> = Table {
        what: "a check of networks",
        fields: fields![
            /// "allow" or "deny".
            needs action: VERDICT,
            /// Networks.
            needs ranges: NETWORKS,
        ],
        refused: refused![["networks"] => ranges;],
        rules: "{}",
    };
    inner(value, &RANGES, log)
}

const PATH: Takes<String> = Takes(Shape::Text, |value, log| {
    let path = value.string(log, "a path such as \"/usr/bin/falcon-sensor\"");
    path.unwrap_or_default().to_owned()
});

const PROCESS: Table<Process> = Table {
    what: "a process",
    fields: fields![
        /// Its path on Linux.
        may linux: PATH,
        /// Its path on macOS.
        may mac: PATH,
        /// Its path on Windows.
        may windows: PATH,
    ],
    refused: refused![
        ["linux_path", "path"] => linux;
        ["mac_path", "darwin", "macos"] => mac;
        ["windows_path"] => windows;
    ],
    rules: r#"{"minProperties": 1}"#,
};

const PROCESSES: Objects = Objects {
    word: "process",
    count: None,
    outline: || PROCESS.outline(),
};

fn processes(list: &Cursor<'_>, log: &mut Log) -> Option<BTreeSet<Process>> {
    let elements = list.list(log, "a list of processes")?.into_iter();
    let process = |element: Cursor<'_>| {
        let process = inner(&element, &PROCESS, log)?;
        if process == Process::default()
            && !PROCESS.names().any(|name| element.mentions(&PROCESS, name))
        {
            let text = "a process needs a path on linux, mac or windows";
            log.error(element.place(), text).coded(Code::MissingField);
        }
        Some(process)
    };
    Some(elements.filter_map(process).collect())
}

/// Notes an entry that checks nothing.
pub(super) fn settle(entry: &Cursor<'_>, log: &mut Log) {
    let is_empty = |value: Cursor<'_>| {
        let holds = value.members().next().is_some() || value.elements().next().is_some();
        !holds && (value.is_object() || value.is_list()) || value.text() == Some("")
    };
    let says_nothing = |field: &Field<PostureCheck>| {
        let name = field.row.name;
        let meant = || !entry.mentions(&TABLE, name);
        ["description", "renamed_from"].contains(&name)
            || entry.get(name).map_or_else(meant, is_empty)
    };
    if TABLE.fields.iter().all(says_nothing) && entry.get("checks").is_none() {
        let text = "a posture check needs something to check";
        log.error(entry.key_place(), text)
            .suggest("add nb_version, os_version, geo, network_range or processes");
    }
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::assert_table;

    const FILE: &str = r#"{"posture_checks": {"p": {ROW}}}"#;

    #[test]
    fn fields() {
        let rows = [
            r#""nb_version": "0.60.0""#,
            r#""nb_version": "v0.60.0-rc1""#,
            r#""nb_version": "new""#,
            r#""nb_version": 60"#,
            "",
            r#""description": "x""#,
            r#""nb_version": """#,
            r#""geo": {}, "processes": []"#,
            r#""os_version": {"linux": "6.1", "macos": "14", "beos": "5"}"#,
            r#""geo": {"action": "allow", "locations": [{"country": "nl", "city": "Amsterdam"}]}"#,
            r#""geo": {"action": "block", "locations": [{"country": "Holland"}, {"city": "X"}, "NL"]}"#,
            r#""geo": {"locations": []}"#,
            r#""network_range": {"action": "deny", "ranges": ["10.1.2.3/8", "FD00:0:0::/8", "10.0.0.1"]}"#,
            r#""network_range": ["10.0.0.0/8"]"#,
            r#""processes": [{}, {"path": "/x"}, {"linux_path": "/x"}, "x"]"#,
            r#""checks": {"nb_version_check": {"min_version": "1"}}"#,
        ];
        assert_table(
            FILE,
            &rows,
            str![[r#"
"nb_version": "0.60.0"
"nb_version": "v0.60.0-rc1"
"nb_version": "new"
    posture_checks.p.nb_version: "new" is not a version, such as "0.60.0"
"nb_version": 60
    posture_checks.p.nb_version: expected a version such as "0.60.0", found the number 60

    posture_checks.p: a posture check needs something to check | add nb_version, os_version, geo, network_range or processes
"description": "x"
    posture_checks.p: a posture check needs something to check | add nb_version, os_version, geo, network_range or processes
"nb_version": ""
    posture_checks.p: a posture check needs something to check | add nb_version, os_version, geo, network_range or processes
"geo": {}, "processes": []
    posture_checks.p: a posture check needs something to check | add nb_version, os_version, geo, network_range or processes
"os_version": {"linux": "6.1", "macos": "14", "beos": "5"}
    posture_checks.p.os_version.macos: write "darwin" | macOS.
    posture_checks.p.os_version.beos: unknown field "beos" | the versions of operating systems have linux, windows, darwin, ios, android
"geo": {"action": "allow", "locations": [{"country": "nl", "city": "Amsterdam"}]}
"geo": {"action": "block", "locations": [{"country": "Holland"}, {"city": "X"}, "NL"]}
    posture_checks.p.geo.action: "block" is not a valid action: it is one of "allow", "deny" | write "deny"
    posture_checks.p.geo.locations[0].country: "Holland" is not a country code of two letters, such as "NL"
    posture_checks.p.geo.locations[1]: a location needs "country"
    posture_checks.p.geo.locations[2]: expected a location { … }, found the string "NL" | write its fields in braces: country, city
"geo": {"locations": []}
    posture_checks.p.geo: a check of the location needs "action"
    posture_checks.p.geo.locations: "locations" cannot be empty
"network_range": {"action": "deny", "ranges": ["10.1.2.3/8", "FD00:0:0::/8", "10.0.0.1"]}
    posture_checks.p.network_range.ranges[0]: "10.1.2.3/8" has host bits: it is inside 10.0.0.0/8 | write "10.0.0.0/8"
    posture_checks.p.network_range.ranges[2]: "10.0.0.1" is an address, not a network | for this address alone write "10.0.0.1/32"
"network_range": ["10.0.0.0/8"]
    posture_checks.p.network_range: expected a check of networks { … }, found a list | write its fields in braces: action, ranges
"processes": [{}, {"path": "/x"}, {"linux_path": "/x"}, "x"]
    posture_checks.p.processes[0]: a process needs a path on linux, mac or windows
    posture_checks.p.processes[1].path: write "linux" | Its path on Linux.
    posture_checks.p.processes[2].linux_path: write "linux" | Its path on Linux.
    posture_checks.p.processes[3]: expected a process { … }, found the string "x" | write its fields in braces: linux, mac, windows
"checks": {"nb_version_check": {"min_version": "1"}}
    posture_checks.p.checks: the checks stand in the entry itself | write nb_version, os_version, geo, network_range or processes here

"#]],
        );
    }
}
