//! DNS zones and their records.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use super::collection::Collection;
use super::names::{self, Form};
use super::refusal::{Refusal, exists, invalid, missing};

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/dns/zones", Module::Dns, list),
    route("POST", "/dns/zones", Module::Dns, post),
    route("GET", "/dns/zones/*", Module::Dns, get),
    route("PUT", "/dns/zones/*", Module::Dns, put),
    route("DELETE", "/dns/zones/*", Module::Dns, delete),
    route("GET", "/dns/zones/*/records", Module::Dns, list_records),
    route("POST", "/dns/zones/*/records", Module::Dns, post_record),
    route("GET", "/dns/zones/*/records/*", Module::Dns, get_record),
    route("PUT", "/dns/zones/*/records/*", Module::Dns, put_record),
    route(
        "DELETE",
        "/dns/zones/*/records/*",
        Module::Dns,
        delete_record,
    ),
];

const ZONE: Form = Form {
    wildcard: false,
    trailing_dot: false,
    unicode: false,
    underscore: true,
};
const RECORD: Form = Form {
    wildcard: true,
    ..ZONE
};

#[derive(Clone)]
pub(super) struct Zone {
    name: String,
    pub(super) domain: String,
    enabled: bool,
    enable_search_domain: bool,
    distribution_groups: Vec<String>,
    records: Collection<Record>,
}

#[derive(Clone, PartialEq)]
struct Record {
    name: String,
    kind: String,
    content: String,
    ttl: i64,
}

impl Zone {
    fn show(&self, id: &str) -> Value {
        json!({
            "id": id,
            "name": self.name,
            "domain": self.domain,
            "enabled": self.enabled,
            "enable_search_domain": self.enable_search_domain,
            "distribution_groups": self.distribution_groups,
            "records": self.records.iter().map(|(id, record)| record.show(id)).collect::<Vec<_>>(),
        })
    }

    fn meta(&self) -> Value {
        json!({"name": self.name, "domain": self.domain})
    }
}

impl Record {
    fn show(&self, id: &str) -> Value {
        json!({"id": id, "name": self.name, "type": self.kind, "content": self.content, "ttl": self.ttl})
    }

    fn meta(&self, zone_id: &str, zone: &Zone) -> Value {
        json!({
            "name": self.name, "type": self.kind, "content": self.content, "ttl": self.ttl.to_string(),
            "zone_id": zone_id, "zone_name": zone.name,
        })
    }
}

fn list(call: &mut Call) -> Outcome {
    Ok(call
        .account
        .zones
        .iter()
        .map(|(id, zone)| zone.show(id))
        .collect())
}

fn get(call: &mut Call) -> Outcome {
    let id = call.id();
    Ok(zone(call, &id)?.show(&id))
}

fn zone<'a>(call: &'a Call, id: &str) -> Result<&'a Zone, Refusal> {
    call.account
        .zones
        .get(id)
        .ok_or_else(|| missing(format!("zone: {id} not found")))
}

fn post(call: &mut Call) -> Outcome {
    let zone = read(call, None)?;
    let id = call.account.new_id();
    call.record("dns.zone.create", &id, zone.meta());
    let answer = zone.show(&id);
    call.account.zones.insert(&id, zone);
    Ok(answer)
}

fn put(call: &mut Call) -> Outcome {
    let id = call.id();
    zone(call, &id)?;
    let mut changed = read(call, Some(&id))?;
    call.record("dns.zone.update", &id, changed.meta());
    let Some(stored) = call.account.zones.get_mut(&id) else {
        return Err(missing("zone not found"));
    };
    changed.records = std::mem::take(&mut stored.records);
    *stored = changed;
    Ok(stored.show(&id))
}

fn delete(call: &mut Call) -> Outcome {
    let id = call.id();
    let gone = call.account.zones.remove(&id);
    let zone = gone.ok_or_else(|| missing(format!("failed to get zone: zone: {id} not found")))?;
    for (record_id, record) in zone.records.iter() {
        call.record("dns.zone.record.delete", record_id, record.meta(&id, &zone));
    }
    call.record("dns.zone.delete", &id, zone.meta());
    Ok(json!({}))
}

/// Reads a zone; `id` is that of the zone which is to become so.
fn read(call: &Call, id: Option<&str>) -> Result<Zone, Refusal> {
    let body = call.body()?;
    let zone = Zone {
        name: body.text("name")?,
        domain: body.text("domain")?,
        enabled: body.optional_flag("enabled")?.unwrap_or(true),
        enable_search_domain: body.flag("enable_search_domain")?,
        distribution_groups: body.texts("distribution_groups")?,
        records: Collection::default(),
    };
    let domain = &zone.domain;
    if zone.name.is_empty() {
        return Err(invalid("zone name is required"));
    }
    if zone.name.len() > 255 {
        return Err(invalid(
            "zone name exceeds maximum length of 255 characters",
        ));
    }
    if !names::is_domain(domain, ZONE) {
        return Err(invalid("invalid zone domain format"));
    }
    if zone.distribution_groups.is_empty() {
        return Err(invalid("at least one distribution group is required"));
    }
    call.account.check_groups(&zone.distribution_groups, |id| {
        invalid(format!("group: {id} not found"))
    })?;
    if domain == call.account.settings.domain() {
        return Err(invalid(format!(
            "zone domain {domain} conflicts with peer DNS domain"
        )));
    }
    match id.and_then(|id| call.account.zones.get(id)) {
        Some(stored) if stored.domain != *domain => Err(invalid("zone domain cannot be updated")),
        None if call
            .account
            .zones
            .values()
            .any(|other| other.domain == *domain) =>
        {
            Err(exists(format!("zone with domain {domain} already exists")))
        }
        _ => Ok(zone),
    }
}

/// A zone that is not there has no records, and that is no error.
fn list_records(call: &mut Call) -> Outcome {
    let zone = call.account.zones.get(&call.parent());
    let records = zone.map(|zone| {
        zone.records
            .iter()
            .map(|(id, record)| record.show(id))
            .collect()
    });
    Ok(records.unwrap_or_else(|| json!([])))
}

fn get_record(call: &mut Call) -> Outcome {
    let (zone_id, id) = (call.parent(), call.id());
    Ok(zone(call, &zone_id)?
        .records
        .get(&id)
        .ok_or_else(|| no_record(&id))?
        .show(&id))
}

fn no_record(id: &str) -> Refusal {
    missing(format!(
        "failed to get DNS record: DNS record: {id} not found"
    ))
}

fn post_record(call: &mut Call) -> Outcome {
    let (zone_id, record) = (call.parent(), read_record(call)?);
    check_record(zone(call, &zone_id)?, "", &record)?;
    let id = call.account.new_id();
    store_record(call, &zone_id, &id, "create", record)
}

fn put_record(call: &mut Call) -> Outcome {
    let (zone_id, id, record) = (call.parent(), call.id(), read_record(call)?);
    let stored = zone(call, &zone_id)?
        .records
        .get(&id)
        .ok_or_else(|| no_record(&id))?;
    // A change of the TTL alone meets no conflicts.
    if (Record {
        ttl: stored.ttl,
        ..record.clone()
    }) != *stored
    {
        check_record(zone(call, &zone_id)?, &id, &record)?;
    }
    store_record(call, &zone_id, &id, "update", record)
}

fn store_record(call: &mut Call, zone_id: &str, id: &str, verb: &str, record: Record) -> Outcome {
    let meta = record.meta(zone_id, zone(call, zone_id)?);
    call.record(&format!("dns.zone.record.{verb}"), id, meta);
    let answer = record.show(id);
    if let Some(zone) = call.account.zones.get_mut(zone_id) {
        match zone.records.get_mut(id) {
            Some(stored) => *stored = record,
            None => zone.records.insert(id, record),
        }
    }
    Ok(answer)
}

fn delete_record(call: &mut Call) -> Outcome {
    let (zone_id, id) = (call.parent(), call.id());
    zone(call, &zone_id)?;
    let gone = call
        .account
        .zones
        .get_mut(&zone_id)
        .and_then(|zone| zone.records.remove(&id));
    let record = gone.ok_or_else(|| no_record(&id))?;
    let meta = record.meta(&zone_id, zone(call, &zone_id)?);
    call.record("dns.zone.record.delete", &id, meta);
    Ok(json!({}))
}

fn read_record(call: &Call) -> Result<Record, Refusal> {
    let body = call.body()?;
    let record = Record {
        name: body.text("name")?,
        kind: body.text("type")?,
        content: body.text("content")?,
        ttl: body.number("ttl")?,
    };
    let content = record.content.as_str();
    let why = match record.kind.as_str() {
        _ if record.name.is_empty() => "record name is required",
        _ if !names::is_domain(&record.name, RECORD) => "invalid record name format",
        "" => "record type is required",
        "A" if content.parse::<Ipv4Addr>().is_err() => "A record must be a valid IPv4 address",
        "AAAA" if content.parse::<Ipv6Addr>().is_err() => {
            "AAAA record must be a valid IPv6 address"
        }
        "CNAME" if !names::is_domain(content, ZONE) => "invalid CNAME target format",
        "A" | "AAAA" | "CNAME" if record.ttl < 0 => "TTL cannot be negative",
        "A" | "AAAA" | "CNAME" => return Ok(record),
        _ => "invalid record type, must be A, AAAA, or CNAME",
    };
    Err(invalid(why))
}

/// Sees that a record fits in among the others of its zone.
fn check_record(zone: &Zone, id: &str, record: &Record) -> Result<(), Refusal> {
    let Record {
        name,
        kind,
        content,
        ttl: _,
    } = record;
    if *name != zone.domain && !name.ends_with(&format!(".{}", zone.domain)) {
        return Err(invalid("record name does not belong to zone"));
    }
    let namesakes = zone
        .records
        .iter()
        .filter(|(other, held)| *other != id && held.name == *name);
    for (_, held) in namesakes {
        if held.kind == *kind && held.content == *content {
            return Err(exists("identical record already exists"));
        }
        if held.kind == "CNAME" || kind == "CNAME" {
            return Err(invalid(format!(
                "an A, AAAA, or CNAME record with name {name} already exists"
            )));
        }
    }
    Ok(())
}
