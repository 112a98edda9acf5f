//! Policies as the server answers them (docs/netbird-api.md, "Policies: one rule").

use super::{Action, OneRule, Policy, PortRange, Protocol, Target};
use crate::model::kind::prelude::*;
use crate::wire::api::objects::ResourceReference;

/// An entry of `GET /policies`.
#[derive(Debug, Clone, Deserialize)]
struct PolicyAnswer {
    /// Id.
    id: Id,
    /// Not unique.
    name: String,
    /// Text for people.
    #[serde(default, deserialize_with = "objects::nullable")]
    description: String,
    /// Enforced or not.
    enabled: bool,
    /// One in practice (docs/netbird-api.md, "Policies: one rule").
    #[serde(default, deserialize_with = "objects::nullable")]
    rules: Vec<RuleAnswer>,
    /// Ids of posture checks.
    #[serde(default, deserialize_with = "objects::nullable")]
    source_posture_checks: Vec<Id>,
}

/// A rule of a policy.
#[derive(Debug, Clone, Deserialize)]
struct RuleAnswer {
    /// Its own switch beside the policy's.
    #[serde(default)]
    enabled: bool,
    /// `accept` or `drop`.
    action: String,
    /// Both directions.
    #[serde(default)]
    bidirectional: bool,
    /// Lower case.
    protocol: String,
    /// Single ports as texts.
    #[serde(default, deserialize_with = "objects::nullable")]
    ports: Vec<String>,
    /// Ranges.
    #[serde(default, deserialize_with = "objects::nullable")]
    port_ranges: Vec<RangeAnswer>,
    /// Groups.
    #[serde(default, deserialize_with = "objects::nullable")]
    sources: Vec<Reference>,
    /// Groups.
    #[serde(default, deserialize_with = "objects::nullable")]
    destinations: Vec<Reference>,
    /// Stands for the sources.
    #[serde(rename = "sourceResource", default)]
    source_resource: Option<ResourceReference>,
    /// Stands for the destinations.
    #[serde(rename = "destinationResource", default)]
    destination_resource: Option<ResourceReference>,
    /// Of NetBird's SSH: ids of groups of users, and the local users that they may log in as.
    #[serde(default, deserialize_with = "objects::nullable")]
    authorized_groups: BTreeMap<Id, Option<Vec<String>>>,
}

/// A range of ports, both ends included.
#[derive(Debug, Clone, Deserialize)]
struct RangeAnswer {
    /// First; the server takes any number from 1 on.
    start: i64,
    /// Last, up to 65535.
    end: i64,
}

/// Reads an entry of `GET /policies`.
pub(super) fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
    let policy: PolicyAnswer = wire.read()?;
    let canonical = canonical(&policy, policy.rules.first(), groups);
    Ok(Live::new(policy.id, policy.name, canonical, wire))
}

/// Reads every rule of a live policy as if it were the only one: old servers kept several.
pub(super) fn rules(wire: &Entry, groups: &Groups) -> Result<Vec<Policy>, serde_json::Error> {
    let policy: PolicyAnswer = wire.read()?;
    let rules = policy.rules.iter();
    Ok(rules
        .map(|rule| canonical(&policy, Some(rule), groups))
        .collect())
}

fn canonical(policy: &PolicyAnswer, rule: Option<&RuleAnswer>, groups: &Groups) -> Policy {
    let side = |pick: fn(&RuleAnswer) -> &Vec<Reference>| {
        let references = rule.map(pick).into_iter().flatten();
        // the name that the list of groups gives, so that both sides of a comparison speak alike
        references
            .map(|group| groups.name(&group.id))
            .collect::<BTreeSet<_>>()
    };
    let resource = |pick: fn(&RuleAnswer) -> Option<&ResourceReference>| {
        let reference = rule
            .and_then(pick)
            .filter(|resource| !resource.id.is_empty());
        reference.map(|resource| Target::read(&resource.id, &resource.kind, groups))
    };
    Policy {
        description: Some(policy.description.clone()),
        // two switches of one light: the policy's and its rule's
        enabled: Some(policy.enabled && rule.is_some_and(|rule| rule.enabled)),
        action: rule.and_then(|rule| Action::of(&rule.action)),
        bidirectional: rule.map(|rule| rule.bidirectional),
        protocol: rule.and_then(|rule| Protocol::of(&rule.protocol)),
        ports: Some(rule.map(live_ports).unwrap_or_default()),
        sources: side(|rule| &rule.sources),
        destinations: side(|rule| &rule.destinations),
        source_resource: resource(|rule| rule.source_resource.as_ref()),
        destination_resource: resource(|rule| rule.destination_resource.as_ref()),
        source_posture_checks: {
            let checks = policy.source_posture_checks.iter();
            let names = checks.map(|id| groups.other_name(Refers::Check, id));
            Some(names.collect())
        },
        authorized_groups: {
            let users = rule.into_iter().flat_map(|rule| &rule.authorized_groups);
            let users = users.map(|(group, users)| {
                let users = users.iter().flatten().cloned().collect();
                (groups.name(group), users)
            });
            Some(users.collect())
        },
        rules: OneRule(policy.rules.len()),
    }
}

/// Single ports and ranges are one set: 443 is 443 to 443.
fn live_ports(rule: &RuleAnswer) -> BTreeSet<PortRange> {
    // ports are texts that the server keeps as sent ("080"); it refuses what is no port
    let single = rule
        .ports
        .iter()
        .filter_map(|port| port.trim().parse().ok());
    let single = single.map(|port| PortRange {
        start: port,
        end: port,
    });
    // the server does not check that a range begins below its end
    let port = |number: i64| u16::try_from(number).unwrap_or(u16::MAX);
    let ranges = rule.port_ranges.iter();
    single
        .chain(ranges.map(|range| PortRange {
            start: port(range.start),
            end: port(range.end),
        }))
        .collect()
}
