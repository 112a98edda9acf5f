//! Posture checks. The server has no geo-location database, so a check of that kind is a 412.

use serde_json::{Map, Value, json};

use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use super::cidr::Cidr;
use super::refusal::{Refusal, invalid, missing, unmet};
use crate::body::Body;

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/locations/countries", Module::Policies, |_| {
        Err(no_locations())
    }),
    route("GET", "/posture-checks", Module::Policies, list),
    route("POST", "/posture-checks", Module::Policies, post),
    route("GET", "/posture-checks/*", Module::Policies, get),
    route("PUT", "/posture-checks/*", Module::Policies, put),
    route("DELETE", "/posture-checks/*", Module::Policies, delete),
];

#[derive(Clone)]
pub(super) struct PostureCheck {
    name: String,
    description: String,
    /// As answers show them.
    checks: Value,
}

impl PostureCheck {
    fn show(&self, id: &str) -> Value {
        json!({"id": id, "name": self.name, "description": self.description, "checks": self.checks})
    }
}

fn list(call: &mut Call) -> Outcome {
    Ok(call
        .account
        .posture_checks
        .iter()
        .map(|(id, check)| check.show(id))
        .collect())
}

fn get(call: &mut Call) -> Outcome {
    let id = call.id();
    Ok(call
        .account
        .posture_checks
        .get(&id)
        .ok_or_else(|| not_found(&id))?
        .show(&id))
}

fn not_found(id: &str) -> Refusal {
    missing(format!("posture checks: {id} not found"))
}

/// Only here a name has to be a new one.
fn post(call: &mut Call) -> Outcome {
    let check = read(&call.body()?)?;
    if call
        .account
        .posture_checks
        .values()
        .any(|other| other.name == check.name)
    {
        return Err(invalid(format!(
            "posture checks with name {} already exists",
            check.name
        )));
    }
    let id = call.account.new_id();
    call.record("posture.check.create", &id, json!({"name": check.name}));
    let answer = check.show(&id);
    call.account.posture_checks.insert(&id, check);
    Ok(answer)
}

fn put(call: &mut Call) -> Outcome {
    let (id, check) = (call.id(), read(&call.body()?)?);
    if !call.account.posture_checks.contains(&id) {
        return Err(not_found(&id));
    }
    call.record("posture.check.update", &id, json!({"name": check.name}));
    let answer = check.show(&id);
    if let Some(stored) = call.account.posture_checks.get_mut(&id) {
        *stored = check;
    }
    Ok(answer)
}

fn delete(call: &mut Call) -> Outcome {
    let id = call.id();
    if !call.account.posture_checks.contains(&id) {
        return Err(not_found(&id));
    }
    let mut policies = call.account.policies.values();
    if let Some(policy) = policies.find(|policy| {
        policy
            .posture_checks
            .iter()
            .flatten()
            .any(|check| *check == id)
    }) {
        return Err(unmet(format!(
            "posture checks have been linked to policy: {}",
            policy.name
        )));
    }
    drop(policies);
    let name = call
        .account
        .posture_checks
        .remove(&id)
        .map(|check| check.name);
    call.record("posture.check.delete", &id, json!({"name": name}));
    Ok(json!({}))
}

/// Turns one check of a request into what answers show.
type Reader = fn(&Body) -> Outcome;

fn read(body: &Body) -> Result<PostureCheck, Refusal> {
    let (name, description) = (body.text("name")?, body.text("description")?);
    // The real server stumbles over this one and drops the connection.
    let sent = body.object("checks")?.ok_or(Refusal::Hangup)?;
    if sent.get("geo_location_check").is_some() {
        return Err(no_locations());
    }
    if name.is_empty() {
        return Err(invalid("posture checks name shouldn't be empty"));
    }
    let readers: [(&str, Reader); 4] = [
        ("nb_version_check", nb_version),
        ("os_version_check", os_version),
        ("peer_network_range_check", network_range),
        ("process_check", process),
    ];
    let mut checks = Map::new();
    for (field, reader) in readers {
        if let Some(check) = sent.object(field)? {
            checks.insert(field.to_owned(), reader(&check)?);
        }
    }
    if checks.is_empty() {
        return Err(invalid("posture checks shouldn't be empty"));
    }
    Ok(PostureCheck {
        name,
        description,
        checks: Value::Object(checks),
    })
}

fn no_locations() -> Refusal {
    unmet(
        "geo location database is not initialized. Check the self-hosted Geo database documentation",
    )
}

fn nb_version(check: &Body) -> Outcome {
    let version = check.text("min_version")?;
    check_version("NBVersionCheck minimum version", &version)?;
    Ok(json!({"min_version": version}))
}

fn check_version(what: &str, version: &str) -> Result<(), Refusal> {
    if version.is_empty() {
        return Err(invalid(format!("{what} shouldn't be empty")));
    }
    let numbers = version
        .strip_prefix('v')
        .unwrap_or(version)
        .split(['-', '+'])
        .next()
        .unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if numbers.split('.').all(is_number) {
        Ok(())
    } else {
        Err(invalid(format!("{what}: {version} is not valid")))
    }
}

fn os_version(check: &Body) -> Outcome {
    let mut systems = Map::new();
    for (system, field) in [
        ("android", "min_version"),
        ("darwin", "min_version"),
        ("ios", "min_version"),
        ("linux", "min_kernel_version"),
        ("windows", "min_kernel_version"),
    ] {
        if let Some(minimum) = check.object(system)? {
            let version = minimum.text(field)?;
            check_version(&format!("OSVersionCheck {system} version"), &version)?;
            systems.insert(system.to_owned(), json!({field: version}));
        }
    }
    if systems.is_empty() {
        return Err(invalid(
            "OSVersionCheck at least one OS version check is required",
        ));
    }
    Ok(Value::Object(systems))
}

/// Ranges are shown in canonical text, with their host bits.
fn network_range(check: &Body) -> Outcome {
    let (action, ranges) = (check.text("action")?, check.texts("ranges")?);
    let parse = |range: &String| Cidr::parse(range).map(|cidr| cidr.to_string());
    let ranges = ranges
        .iter()
        .map(parse)
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| invalid("invalid network prefix"))?;
    match action.as_str() {
        "" => Err(invalid(
            "action for peer network range check shouldn't be empty",
        )),
        "allow" | "deny" if ranges.is_empty() => Err(invalid(
            "PeerNetworkRangeCheck network ranges shouldn't be empty",
        )),
        "allow" | "deny" => Ok(json!({"action": action, "ranges": ranges})),
        _ => Err(invalid("PeerNetworkRangeCheck action is not valid")),
    }
}

/// All three paths are shown, whichever were sent.
fn process(check: &Body) -> Outcome {
    let mut processes = Vec::new();
    for process in check.objects("processes")? {
        let [linux, mac, windows] =
            ["linux_path", "mac_path", "windows_path"].map(|field| process.text(field));
        let (linux, mac, windows) = (linux?, mac?, windows?);
        if linux.is_empty() && mac.is_empty() && windows.is_empty() {
            return Err(invalid("ProcessCheck path shouldn't be empty"));
        }
        processes.push(json!({"linux_path": linux, "mac_path": mac, "windows_path": windows}));
    }
    if processes.is_empty() {
        return Err(invalid("ProcessCheck processes shouldn't be empty"));
    }
    Ok(json!({"processes": processes}))
}
