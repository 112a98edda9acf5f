//! Posture checks: what a machine has to be like before the policies that name the check count for it (docs/netbird-api.md,
//! "Posture checks").

mod entry;

use super::prelude::*;
use super::spec::fill;

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

    const TABLE: &'static Table<Self> = &entry::TABLE;

    fn settle(self, entry: &Cursor<'_>, _: Option<&Resource>, log: &mut Log) -> Option<Self> {
        entry::settle(entry, log);
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
}
