//! Posture checks: what a machine has to be like before the policies that name the check count for it (docs/netbird-api.md,
//! "Posture checks").

use super::prelude::*;
use super::spec::{answered, is_nothing};
use super::values::{object, objects, read_objects};
use crate::file::Inner;

/// A posture check in canonical form. `None` = not ours; what is empty is not checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
#[serde(default)]
pub struct Systems {
    linux: Option<String>,
    windows: Option<String>,
    darwin: Option<String>,
    ios: Option<String>,
    android: Option<String>,
}

/// Countries and cities.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Geo {
    #[serde(deserialize_with = "word::answered")]
    action: Option<Verdict>,
    locations: BTreeSet<Location>,
}

/// A country, or a city in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Location {
    /// Two letters; the server compares them exactly with capitals.
    country: String,
    city: String,
}

/// Networks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ranges {
    #[serde(deserialize_with = "word::answered")]
    action: Option<Verdict>,
    ranges: BTreeSet<String>,
}

/// A program, by its path on each operating system.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    linux: String,
    mac: String,
    windows: String,
}

const TABLE: Table<PostureCheck> = Table {
    what: "a posture check",
    fields: fields![
        /// Text for people.
        own description: TEXT => "",
        /// The oldest NetBird client that passes, such as "0.60.0".
        own nb_version in "checks.nb_version_check.min_version": VERSION => "",
        /// The oldest version of each operating system that passes, by linux, windows, darwin, ios and android; of linux and windows that of
        /// the kernel. A machine of another operating system does not pass.
        own os_version in "checks.os_version_check": object::<Systems>() => {},
        /// Where a machine may be ("action": "allow") or may not be ("deny"), by its public address. A machine whose location is not
        /// known does not pass in either case.
        own geo in "checks.geo_location_check": object::<Geo>() => {},
        /// Networks that a machine has to be in ("action": "allow") or may not be in ("deny").
        own network_range in "checks.peer_network_range_check": object::<Ranges>() => {},
        /// Programs that have to run, each by its path on linux, mac and windows.
        own processes in "checks.process_check.processes": PROCESSES => [],
        ; renamed_from(),
    ],
    refused: refused![
        Refused::NAME;
        ["checks"] => "the checks belong in the entry itself", "write nb_version, os_version, geo, network_range or processes here";
        ["nb_version_check", "min_version", "netbird_version"] => nb_version;
        ["os_version_check", "os"] => os_version;
        ["geo_location_check", "geo_location", "locations", "countries"] => geo;
        ["peer_network_range_check", "network_ranges", "ranges"] => network_range;
        ["process_check", "process"] => processes;
    ],
    rules: "{}",
};

impl Inner for Systems {
    const TABLE: &'static Table<Self> = &Table {
        what: "the versions of operating systems",
        fields: fields![
            /// The kernel.
            may linux in "linux.min_kernel_version": VERSION,
            /// The kernel, such as "10.0.19045".
            may windows in "windows.min_kernel_version": VERSION,
            /// macOS.
            may darwin in "darwin.min_version": VERSION,
            /// iOS.
            may ios in "ios.min_version": VERSION,
            /// Android.
            may android in "android.min_version": VERSION,
        ],
        refused: refused![["macos", "mac", "osx"] => darwin;],
        rules: "{}",
    };
}

impl Inner for Geo {
    const TABLE: &'static Table<Self> = &Table {
        what: "a check of the location",
        fields: fields![
            /// "allow" or "deny".
            needs action: VERDICT,
            /// Countries and cities, at least one.
            needs locations: Takes(objects::<Location>("location", Some((1, usize::MAX))), |list, log| {
                not_empty(list, log);
                BTreeSet::from_iter(read_objects::<Location>(list, "locations", log).unwrap_or_default())
            }),
        ],
        refused: &[],
        rules: "{}",
    };
}

impl Inner for Location {
    const TABLE: &'static Table<Self> = &Table {
        what: "a location",
        fields: fields![
            /// Two letters, in any case.
            needs country in "country_code": Takes(Shape::Schema(r#"{"type": "string", "pattern": "^[A-Za-z]{2}$"}"#), country),
            /// A city in it.
            may city in "city_name": Takes(Shape::Text, |value, log| value.string(log, "a city").unwrap_or_default().to_owned()),
        ],
        refused: refused![["country_code", "code"] => country; ["city_name"] => city;],
        rules: "{}",
    };
}

impl Inner for Ranges {
    const TABLE: &'static Table<Self> = &Table {
        what: "a check of networks",
        fields: fields![
            /// "allow" or "deny".
            needs action: VERDICT,
            /// Networks, at least one.
            needs ranges: Takes(Shape::SOME_NAMES, ranges),
        ],
        refused: refused![["networks"] => ranges;],
        rules: "{}",
    };
}

impl Inner for Process {
    const TABLE: &'static Table<Self> = &Table {
        what: "a process",
        fields: fields![
            /// Its path on Linux.
            may linux in "linux_path": PATH => "",
            /// Its path on macOS.
            may mac in "mac_path": PATH => "",
            /// Its path on Windows.
            may windows in "windows_path": PATH => "",
        ],
        refused: refused![
            ["linux_path", "path"] => linux;
            ["mac_path", "darwin", "macos"] => mac;
            ["windows_path"] => windows;
        ],
        rules: r#"{"minProperties": 1}"#,
    };

    fn settle(entry: &Cursor<'_>, log: &mut Log) {
        if entry.members().next().is_none() {
            let text = "a process needs a path on linux, mac or windows";
            log.error(entry.place(), text).coded(Code::MissingField);
        }
    }
}

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

const PATH: Takes<String> = Takes(Shape::Text, |value, log| {
    let path = value.string(log, "a path such as \"/usr/bin/falcon-sensor\"");
    path.unwrap_or_default().to_owned()
});

const PROCESSES: Takes<Option<BTreeSet<Process>>> =
    Takes(objects::<Process>("process", None), |list, log| {
        Some(BTreeSet::from_iter(read_objects(list, "processes", log)?))
    });

fn not_empty(list: &Cursor<'_>, log: &mut Log) {
    if list.is_list() && list.elements().next().is_none() {
        let text = format!("{} cannot be empty", quote(list.name()));
        log.error(list.place(), text);
    }
}

fn country(value: &Cursor<'_>, log: &mut Log) -> String {
    let text = value.string(log, "a country code such as \"NL\"");
    let is_code = |text: &&str| text.len() == 2 && text.bytes().all(|it| it.is_ascii_alphabetic());
    if let Some(text) = text.filter(|text| !is_code(text)) {
        let wanted = "is not a country code of two letters, such as \"NL\"";
        log.error(value.place(), format!("{} {wanted}", quote(text)));
    }
    text.unwrap_or_default().to_uppercase()
}

fn ranges(list: &Cursor<'_>, log: &mut Log) -> BTreeSet<String> {
    not_empty(list, log);
    let elements = list.list(log, "a list of networks").unwrap_or_default();
    let range = |range: Cursor<'_>| {
        let text = range.string(log, "a network such as \"192.168.0.0/16\"")?;
        range.checked(network::exact(text), log)
    };
    elements.into_iter().filter_map(range).collect()
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

/// An answer, and the part of it that is checked.
#[derive(Deserialize)]
struct CheckAnswer {
    #[serde(default, deserialize_with = "nullable")]
    checks: Map<String, Value>,
}

impl PostureCheck {
    /// Whether the server has to know where machines are.
    pub(crate) fn needs_locations(&self) -> bool {
        self.geo.as_ref().is_some_and(|of| !of.locations.is_empty())
    }

    /// Returns whether every machine that passes this check passes that one, too, as far as it can be told.
    pub(crate) fn implies(&self, other: &PostureCheck) -> bool {
        let whole = |of: &Self| {
            let of = of.clone();
            let (systems, processes) = (of.os_version.unwrap_or_default(), of.processes);
            let (geo, ranges) = (
                of.geo.unwrap_or_default(),
                of.network_range.unwrap_or_default(),
            );
            (systems, geo, ranges, processes.unwrap_or_default())
        };
        let (systems, geo, ranges, processes) = whole(self);
        let (other_systems, other_geo, other_ranges, other_processes) = whole(other);
        // a system that is not named does not pass
        let mut each = systems.each().into_iter().zip(other_systems.each());
        let passes = |(own, other): (&Option<String>, &Option<String>)| {
            own.is_none() || other.is_some() && is_newer(own, other)
        };
        let is_any = |of: &Systems| *of == Systems::default();
        is_newer(&self.nb_version, &other.nb_version)
            && (is_any(&other_systems) || !is_any(&systems) && each.all(passes))
            && is_within(
                (geo.action, &geo.locations),
                (other_geo.action, &other_geo.locations),
            )
            && is_within(
                (ranges.action, &ranges.ranges),
                (other_ranges.action, &other_ranges.ranges),
            )
            && processes.is_superset(&other_processes)
    }

    /// Returns which machines do not pass, beside those that a check names.
    pub(crate) fn fails(&self) -> Vec<&'static str> {
        let systems = self.os_version.iter();
        let systems = systems
            .filter(|of| **of != Systems::default())
            .map(|_| "a machine whose operating system is not named");
        let location = "a machine whose location is not known, as in a local network";
        let geo = self.needs_locations().then_some(location);
        systems.into_iter().chain(geo).collect()
    }
}

impl Systems {
    fn each(&self) -> [&Option<String>; 5] {
        [
            &self.linux,
            &self.windows,
            &self.darwin,
            &self.ios,
            &self.android,
        ]
    }
}

/// Whether a least version asks for no less than another one; what is empty asks for nothing. A release is not compared with
/// what came before it.
fn is_newer(version: &Option<String>, other: &Option<String>) -> bool {
    let read = |version: &Option<String>| -> (Vec<u64>, bool) {
        let version = version.as_deref().unwrap_or_default();
        let core = version.trim_start_matches('v');
        let core = core.split(['-', '+']).next().unwrap_or_default();
        let parts = core.split('.').map(|part| part.parse().unwrap_or(0));
        let numbers = parts.chain(std::iter::repeat(0)).take(8);
        (numbers.collect(), version.contains('-'))
    };
    let ((ours, is_early), (theirs, _)) = (read(version), read(other));
    version == other || ours > theirs || ours == theirs && !is_early
}

/// Whether what one list lets pass is in what another one does; an empty one lets everything pass.
fn is_within<T: Ord>(
    (verdict, list): (Option<Verdict>, &BTreeSet<T>),
    (other_verdict, other): (Option<Verdict>, &BTreeSet<T>),
) -> bool {
    let is_within = match verdict {
        Some(Verdict::Deny) => list.is_superset(other),
        _ => list.is_subset(other),
    };
    other.is_empty() || !list.is_empty() && verdict == other_verdict && is_within
}

const BY_NAME: Referred = Referred::ByName(Refers::Check);

impl Spec for PostureCheck {
    const KIND: Descriptor = Descriptor {
        called: ["posture check", "posture checks", "posture_check"],
        section: &["posture_checks"],
        about: "Posture checks by name: what machines have to be like for the policies that name the check.",
        collection: "/posture-checks",
        deletion_event: Some("posture.check.delete"),
        unique: Unique::AtCreation,
        ..Descriptor::of(Reach::Nothing, Role::NetworkAdmin, BY_NAME)
    };

    const TABLE: &'static Table<Self> = &TABLE;

    /// Notes an entry that checks nothing.
    fn settle(self, entry: &Cursor<'_>, _: Option<&Resource>, log: &mut Log) -> Option<Self> {
        let is_empty = |value: Cursor<'_>| {
            let holds = value.members().next().is_some() || value.elements().next().is_some();
            !holds && (value.is_object() || value.is_list()) || value.text() == Some("")
        };
        let says_nothing = |name: &str| match entry.get(name) {
            _ if ["description", "renamed_from"].contains(&name) => true,
            Some(value) => is_empty(value),
            None => !entry.mentions(&TABLE, name),
        };
        if TABLE.names().all(says_nothing) && entry.get("checks").is_none() {
            let text = "a posture check needs something to check";
            let flaw = log.error(entry.key_place(), text);
            flaw.suggest("add nb_version, os_version, geo, network_range or processes");
        }
        Some(self)
    }

    fn form(wire: &Entry) -> Result<Self, serde_json::Error> {
        let form = answered(&wire.read()?, &TABLE.outline());
        let mut form: PostureCheck = serde_json::from_value(form.into())?;
        let is_known = |name: &str| {
            let mut paths = TABLE.fields.iter().map(|field| field.row.wire.split('.'));
            paths.any(|mut path| path.nth(1) == Some(name))
        };
        let CheckAnswer { checks } = wire.read()?;
        let unknown = checks
            .into_iter()
            .filter(|(name, part)| !is_known(name) && !part.is_null());
        form.unknown = unknown.map(|(name, _)| name).collect();
        Ok(form)
    }

    fn tidy(&mut self, _groups: &Groups) {
        let ranges = self.network_range.get_or_insert_default();
        let tidy = ranges.ranges.iter().map(|range| spelling::network(range));
        ranges.ranges = tidy.collect();
    }

    /// What is empty is not sent: the server takes no check with nothing in it.
    fn finish(&self, body: &mut Map<String, Value>) {
        if let Some(Value::Object(checks)) = body.get_mut("checks") {
            checks.retain(
                |_, part| matches!(part, Value::Object(of) if !of.values().all(is_nothing)),
            );
        }
    }

    fn loss(&self, _about: &About) -> Sentence {
        "no policy names it any more".into()
    }

    fn beyond_the_file(&self) -> Option<String> {
        let names = named(&self.unknown);
        (!self.unknown.is_empty()).then(|| format!("has {names}, which this version does not know"))
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        if let Some(why) = self.beyond_the_file() {
            return Err(format!("it {why}"));
        }
        fields.retain(|_, value| !is_nothing(value));
        Ok(fields)
    }

    fn summary(&self, _about: &About) -> String {
        let newer = |what: &str, least: &str| format!("{what} {} or newer", visible(least));
        let within = |action: Option<Verdict>, what: Vec<String>| {
            let denies = action == Some(Verdict::Deny);
            let place = if denies { "not in" } else { "in" };
            (!what.is_empty()).then(|| format!("{place} {}", joined(what, ", ")))
        };
        let least = self.nb_version.iter().filter(|least| !least.is_empty());
        let mut parts: Vec<String> = least.map(|least| newer("NetBird", least)).collect();
        let systems = json!(self.os_version);
        for (system, least) in systems.as_object().into_iter().flatten() {
            parts.extend(least.as_str().map(|least| newer(system, least)));
        }
        if let Some(geo) = &self.geo {
            let place = |of: &Location| match of.city.as_str() {
                "" => visible(&of.country).into_owned(),
                city => format!("{} ({})", visible(city), visible(&of.country)),
            };
            let locations = geo.locations.iter().map(place);
            parts.extend(within(geo.action, locations.collect()));
        }
        if let Some(of) = &self.network_range {
            let ranges = of.ranges.iter().map(|range| visible(range).into_owned());
            parts.extend(within(of.action, ranges.collect()));
        }
        parts.extend(self.processes.iter().flatten().map(|process| {
            let paths = [&process.linux, &process.mac, &process.windows].into_iter();
            let paths = paths
                .filter(|path| !path.is_empty())
                .map(|path| visible(path));
            format!("running {}", joined(paths, " or "))
        }));
        joined(parts, "; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn one_check_implies_another_one_where_it_asks_for_no_less() {
        let check = |checks: Value| {
            let live = json!({ "id": "c", "name": "p", "checks": checks });
            let read = Resource::read(Kind::PostureCheck, live, &Groups::default());
            match read.expect("an answer").resource {
                Resource::PostureCheck(check) => check,
                other => panic!("{other:?}"),
            }
        };
        let version = |least: &str| json!({ "nb_version_check": { "min_version": least } });
        let systems = |systems: Value| json!({ "os_version_check": systems });
        let linux = |least: &str| json!({ "linux": { "min_kernel_version": least } });
        let both = |least: &str| json!({ "linux": { "min_kernel_version": least }, "ios": { "min_version": "1" } });
        let within = |action: &str, ranges: &[&str]| json!({ "peer_network_range_check": { "action": action, "ranges": ranges } });
        let nl = json!({ "country_code": "NL", "city_name": "" });
        let de = json!({ "country_code": "DE", "city_name": "" });
        let geo = |locations: &[&Value]| json!({ "geo_location_check": { "action": "allow", "locations": locations } });
        let runs = |paths: &[&str]| {
            let processes: Vec<Value> = paths
                .iter()
                .map(|path| json!({ "linux_path": path }))
                .collect();
            json!({ "process_check": { "processes": processes } })
        };
        let (ten, more) = (["10.0.0.0/8"], ["10.0.0.0/8", "172.16.0.0/12"]);
        for (one, other, implies) in [
            (version("0.61.0"), version("v0.9-rc1"), [true, false]),
            (version("0.61"), version("0.61.0"), [true, true]),
            (version("0.61-rc1"), version("0.61.0"), [false, true]),
            (version("1"), json!({}), [true, false]),
            (systems(linux("6.2")), systems(linux("6.1")), [true, false]),
            (systems(linux("6.1")), systems(both("6.1")), [true, false]),
            (systems(linux("6.1")), systems(both("6.2")), [false, false]),
            (systems(linux("6.1")), json!({}), [true, false]),
            (within("allow", &ten), within("allow", &more), [true, false]),
            (within("deny", &more), within("deny", &ten), [true, false]),
            (within("deny", &ten), within("allow", &ten), [false, false]),
            (within("deny", &ten), json!({}), [true, false]),
            (geo(&[&nl]), geo(&[&nl, &de]), [true, false]),
            (geo(&[&nl]), geo(&[&de]), [false, false]),
            (runs(&["/a", "/b"]), runs(&["/a"]), [true, false]),
            (runs(&["/a"]), version("1"), [false, false]),
        ] {
            let (one, other) = (check(one), check(other));
            let found = [one.implies(&other), other.implies(&one)];
            assert_eq!(found, implies, "{one:?} {other:?}");
        }
    }
}
