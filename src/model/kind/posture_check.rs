//! Posture checks: what a machine has to be like before the policies that name the check count for it (docs/netbird-api.md,
//! "Posture checks").

use super::prelude::*;
use super::spec::fill;
use crate::file::Objects;

/// A posture check in canonical form. `None` = not ours; what is empty is not checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PostureCheck {
    /// Text for people.
    pub description: Option<String>,
    /// The oldest NetBird client.
    pub nb_version: Option<String>,
    /// The oldest version of each operating system; one that is not here does not pass.
    pub os_version: Option<Systems>,
    /// Where a machine is, by its public address.
    pub geo: Option<Geo>,
    /// The networks that a machine is in.
    pub network_range: Option<Ranges>,
    /// Programs that run.
    pub processes: Option<BTreeSet<Process>>,
    /// What else the server checks, by its name in the API.
    #[serde(skip)]
    pub unknown: BTreeSet<String>,
}

/// Whether what is listed passes, or everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// What is listed passes.
    Allow,
    /// What is listed does not pass.
    Deny,
}

/// The oldest version of each operating system; of Linux and Windows that of the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Systems {
    #[serde(skip_serializing_if = "Option::is_none")]
    linux: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    windows: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    darwin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ios: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    android: Option<String>,
}

/// Countries and cities.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Geo {
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "word::answered"
    )]
    action: Option<Verdict>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    locations: BTreeSet<Location>,
}

/// A country, or a city in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Location {
    /// Two letters; the server compares them exactly with capitals.
    #[serde(rename(deserialize = "country_code"))]
    country: String,
    #[serde(
        default,
        rename(deserialize = "city_name"),
        skip_serializing_if = "String::is_empty"
    )]
    city: String,
}

/// Networks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ranges {
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "word::answered"
    )]
    action: Option<Verdict>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    ranges: BTreeSet<String>,
}

/// A program, by its path on each operating system.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    #[serde(
        rename(deserialize = "linux_path"),
        skip_serializing_if = "String::is_empty"
    )]
    linux: String,
    #[serde(
        rename(deserialize = "mac_path"),
        skip_serializing_if = "String::is_empty"
    )]
    mac: String,
    #[serde(
        rename(deserialize = "windows_path"),
        skip_serializing_if = "String::is_empty"
    )]
    windows: String,
}

impl Word for Verdict {
    const WHAT: &'static str = "action";
    const WORDS: &'static [(&'static str, Verdict)] =
        &[("allow", Verdict::Allow), ("deny", Verdict::Deny)];
    const INSTEAD: &'static [(&'static [&'static str], &'static str)] = &[
        (&["accept", "permit"], "write \"allow\""),
        (&["drop", "block", "reject"], "write \"deny\""),
    ];
}

const TABLE: Table<PostureCheck> = Table {
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

/// An answer, and the part of it that is checked.
#[derive(Deserialize)]
struct CheckAnswer {
    description: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    checks: Map<String, Value>,
}

/// The names of the parts in the API.
const PARTS: [&str; 5] = [
    "nb_version_check",
    "os_version_check",
    "geo_location_check",
    "peer_network_range_check",
    "process_check",
];

/// What the API calls the version of an operating system.
fn version_field(system: &str) -> &'static str {
    match system {
        "linux" | "windows" => "min_kernel_version",
        _ => "min_version",
    }
}

impl PostureCheck {
    /// Returns the parts as the API has them, as far as they are ours; null where one is empty.
    fn parts(&self) -> [(&'static str, Option<Value>); 5] {
        let systems = self.os_version.as_ref().map(|systems| {
            let one = |(system, version): (String, Value)| {
                let field = version_field(&system);
                (system, json!({ field: version }))
            };
            let systems = json!(systems).as_object().cloned().unwrap_or_default();
            systems.into_iter().map(one).collect::<Map<_, _>>()
        });
        let location = |of: &Location| match of.city.as_str() {
            "" => json!({ "country_code": of.country }),
            city => json!({ "country_code": of.country, "city_name": city }),
        };
        let process = |of: &Process| json!({ "linux_path": of.linux, "mac_path": of.mac, "windows_path": of.windows });
        let unless = |is_empty: bool, part: Value| if is_empty { Value::Null } else { part };
        let [nb, os, geo, range, process] = [
            self.nb_version
                .as_ref()
                .map(|least| unless(least.is_empty(), json!({ "min_version": least }))),
            systems.map(|systems| unless(systems.is_empty(), systems.into())),
            self.geo.as_ref().map(|geo| {
                let locations: Vec<Value> = geo.locations.iter().map(location).collect();
                let part = json!({ "action": geo.action, "locations": locations });
                unless(locations.is_empty(), part)
            }),
            self.network_range.as_ref().map(|of| {
                let part = json!({ "action": of.action, "ranges": of.ranges });
                unless(of.ranges.is_empty(), part)
            }),
            self.processes.as_ref().map(|all| {
                let processes: Vec<Value> = all.iter().map(process).collect();
                unless(all.is_empty(), json!({ "processes": processes }))
            }),
        ];
        let [a, b, c, d, e] = PARTS;
        [(a, nb), (b, os), (c, geo), (d, range), (e, process)]
    }

    /// Whether the server has to know where machines are.
    pub(crate) fn needs_locations(&self) -> bool {
        self.geo.as_ref().is_some_and(|of| !of.locations.is_empty())
    }

    /// Returns which machines do not pass, beside those that a check names.
    pub(crate) fn fails(&self) -> Vec<&'static str> {
        let systems = self
            .os_version
            .as_ref()
            .filter(|of| **of != Systems::default());
        let systems = systems.map(|_| "a machine whose operating system is not named");
        let location = "a machine whose location is not known, as in a local network,";
        let geo = self.needs_locations().then_some(location);
        systems.into_iter().chain(geo).collect()
    }
}

/// Returns the words of a verdict and what it is about.
fn verdict(action: Option<Verdict>, what: impl Iterator<Item = String>) -> String {
    let not = match action {
        Some(Verdict::Deny) => "not in",
        _ => "in",
    };
    format!("{not} {}", joined(what, ", "))
}

impl Spec for PostureCheck {
    const KIND: Descriptor = Descriptor {
        label: "posture check",
        plural: "posture checks",
        word: "posture_check",
        section: &["posture_checks"],
        about: "Posture checks by name: what machines have to be like for the policies that name the check.",
        collection: "/posture-checks",
        deletion_event: Some("posture.check.delete"),
        ..Descriptor::of(
            Reach::Nothing,
            Role::NetworkAdmin,
            Referred::ByName(Refers::Check),
        )
    };

    const TABLE: &'static Table<Self> = &TABLE;

    fn settle(self, entry: &Cursor<'_>, _: Option<&Resource>, log: &mut Log) -> Option<Self> {
        let is_empty = |value: Cursor<'_>| {
            let holds = value.members().next().is_some() || value.elements().next().is_some();
            !holds && (value.is_object() || value.is_list()) || value.text() == Some("")
        };
        let says_nothing = |field: &Field<Self>| {
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
        Some(self)
    }

    fn form(wire: &Entry) -> Result<Self, serde_json::Error> {
        let CheckAnswer {
            description,
            checks,
        } = wire.read()?;
        let part = |name: &str| checks.get(name).cloned().unwrap_or_default();
        let [nb, os, geo, range, process] = PARTS.map(part);
        let version = |of: &Value, field| of[field].as_str().map(str::to_owned);
        let system = |name: &str| version(&os[name], version_field(name));
        let systems = Systems {
            linux: system("linux"),
            windows: system("windows"),
            darwin: system("darwin"),
            ios: system("ios"),
            android: system("android"),
        };
        let mut ranges: Ranges = optional(range)?;
        let tidy = ranges.ranges.iter().map(|range| spelling::network(range));
        ranges.ranges = tidy.collect();
        let mut process = process;
        Ok(PostureCheck {
            description,
            nb_version: version(&nb, "min_version"),
            os_version: Some(systems),
            geo: Some(optional(geo)?),
            network_range: Some(ranges),
            processes: Some(optional(process["processes"].take())?),
            unknown: checks
                .into_iter()
                .filter(|(name, part)| !PARTS.contains(&name.as_str()) && !part.is_null())
                .map(|(name, _)| name)
                .collect(),
        })
    }

    fn request(&self, sent: Sent) -> Result<Value, Unresolved> {
        let mut body = base_of(sent.live, Self::ANSWER_ONLY);
        body.insert("name".into(), json!(sent.name));
        fill(&mut body, self, sent.groups, |field| field == "description")?;
        let checks = body.get("checks").and_then(Value::as_object);
        let mut checks = checks.cloned().unwrap_or_default();
        for (name, part) in self.parts() {
            match part {
                None => {}
                Some(Value::Null) => drop(checks.remove(name)),
                Some(part) => drop(checks.insert(name.into(), part)),
            }
        }
        body.insert("checks".into(), checks.into());
        Ok(Value::Object(body))
    }

    fn beyond_the_file(&self) -> Option<String> {
        let names = named(&self.unknown);
        (!self.unknown.is_empty()).then(|| format!("has {names}, which this version does not know"))
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        if let Some(why) = self.beyond_the_file() {
            return Err(format!("it {why}"));
        }
        fields.retain(|_, value| ![json!(""), json!([]), json!({})].contains(value));
        Ok(fields)
    }

    fn summary(&self, _about: &About) -> String {
        let mut parts = Vec::new();
        let least = self.nb_version.as_deref().filter(|least| !least.is_empty());
        parts.extend(least.map(|least| format!("NetBird {} or newer", visible(least))));
        let systems = json!(self.os_version)
            .as_object()
            .cloned()
            .unwrap_or_default();
        parts.extend(systems.iter().map(|(system, least)| {
            let least = least.as_str().unwrap_or_default();
            format!("{system} {} or newer", visible(least))
        }));
        if let Some(geo) = self.geo.as_ref().filter(|geo| !geo.locations.is_empty()) {
            let places = geo.locations.iter().map(|of| match of.city.as_str() {
                "" => visible(&of.country).into_owned(),
                city => format!("{} ({})", visible(city), visible(&of.country)),
            });
            parts.push(verdict(geo.action, places));
        }
        if let Some(of) = self
            .network_range
            .as_ref()
            .filter(|of| !of.ranges.is_empty())
        {
            let ranges = of.ranges.iter().map(|range| visible(range).into_owned());
            parts.push(verdict(of.action, ranges));
        }
        parts.extend(self.processes.iter().flatten().map(|process| {
            let paths = [&process.linux, &process.mac, &process.windows].into_iter();
            let paths = paths.filter(|path| !path.is_empty());
            format!(
                "running {}",
                joined(paths.map(|path| visible(path)), " or ")
            )
        }));
        joined(parts, "; ")
    }
}

/// Reads what may be absent.
fn optional<T: serde::de::DeserializeOwned + Default>(part: Value) -> Result<T, serde_json::Error> {
    match part {
        Value::Null => Ok(T::default()),
        part => serde_json::from_value(part),
    }
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use super::*;
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

    #[test]
    fn what_this_version_does_not_know_goes_back() {
        let live = json!({ "id": "c", "name": "p", "description": "d", "checks": {
            "nb_version_check": { "min_version": "1" }, "disk_check": { "encrypted": true } } });
        let read = Resource::read(Kind::PostureCheck, live.clone(), &Groups::default());
        let read = read.expect("an answer");
        let unknown = read.resource.beyond_the_file();
        assert_eq!(
            unknown.as_deref(),
            Some("has disk_check, which this version does not know")
        );
        let ours = PostureCheck {
            nb_version: Some("2".into()),
            ..PostureCheck::default()
        };
        let body = Resource::from(ours).request("p", Some(&live), &Groups::default());
        let wanted = json!({ "name": "p", "description": "d", "checks": {
            "nb_version_check": { "min_version": "2" }, "disk_check": { "encrypted": true } } });
        assert_eq!(body.expect("a body"), wanted);
    }
}
