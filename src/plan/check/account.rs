//! What the server refuses of the account's settings, or ignores (docs/netbird-api.md, "Account settings").

use serde_json::Value;

use crate::account::Actual;
use crate::model::{
    AccountSettings, Address, Change, Desired, Impossible, Kind, Live, Operation, Problem, Resource,
};

/// Returns what is in the way of the settings that the file wants.
pub(super) fn refused(change: &Change, actual: &Actual) -> Vec<Impossible> {
    let (
        Operation::Update {
            live,
            after: Resource::AccountSettings(wanted),
            ..
        },
        Some(Resource::AccountSettings(after)),
    ) = (&change.operation, change.operation.outcome())
    else {
        return Vec::new();
    };
    let exposes = after.peer_expose_enabled == Some(true);
    let has_groups = after.peer_expose_groups.iter().flatten().next().is_some();
    let exposes_nobody = (exposes && !has_groups).then_some(Impossible::ExposesNobody);
    let unknown = unknown(change, live).into_iter();
    let dead_group = dead_group(wanted, &after, actual);
    unknown.chain(exposes_nobody).chain(dead_group).collect()
}

/// The settings that this server does not have. One without `extra` has nothing in it yet, and before 0.71 it answers no
/// range that nobody set.
fn unknown(change: &Change, live: &Live) -> Vec<Impossible> {
    let mut settings = live.wire.value().unwrap_or_default()["settings"].take();
    let extra = settings["extra"].take();
    let has = |field: &str| match (AccountSettings::is_extra(field), &extra) {
        (true, Value::Object(extra)) => extra.contains_key(field),
        (is_extra, _) => is_extra || field == "network_range" || settings.get(field).is_some(),
    };
    let fields = change.operation.fields().iter().map(|change| &change.field);
    let unknown = fields.filter(|field| !has(field));
    unknown.cloned().map(Impossible::NoSetting).collect()
}

/// What every PUT sends back and the server refuses: a group that was deleted since.
fn dead_group(
    wanted: &AccountSettings,
    after: &AccountSettings,
    actual: &Actual,
) -> Option<Impossible> {
    if wanted.ipv6_enabled_groups.is_some() {
        return None;
    }
    let mut groups = after.ipv6_enabled_groups.iter().flatten();
    let dead = groups.find(|name| actual.groups.ids(name).next().is_none())?;
    Some(Impossible::DeadGroup {
        field: "ipv6_enabled_groups".into(),
        group: dead.clone(),
    })
}

/// A zone of the domain that machines have, or are to have.
pub(super) fn zone_of_domain(
    changes: &[Change],
    desired: &Desired,
    actual: &Actual,
) -> Option<Problem> {
    let address = Address::new(Kind::AccountSettings, "");
    let live = actual.at(&address).first()?;
    let changed = changes.iter().find(|change| change.address == address);
    let after = changed.and_then(|change| change.operation.outcome());
    let Resource::AccountSettings(settings) = after.unwrap_or_else(|| live.resource.clone()) else {
        return None;
    };
    let domain = settings.dns_domain?;
    let has_it = |resource: &Resource| matches!(resource, Resource::DnsZone(zone) if zone.domain.as_ref() == Some(&domain));
    let declared = desired.resources();
    let declared = declared.filter(|(_, all)| all.iter().any(has_it));
    let there = actual.each().filter(|(_, live)| has_it(&live.resource));
    let mut zones = declared.map(|at| at.0).chain(there.map(|at| at.0));
    let zone = zones.next()?;
    let what = Impossible::DomainOfZone(zone.name.clone());
    Some(Problem::new(&address, what))
}
