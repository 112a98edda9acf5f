//! Rules of policies as requests bring them: what is refused, and what is dropped without a word.

use super::Rule;
use crate::body::Body;
use crate::netbird::account::Account;
use crate::netbird::groups::Member;
use crate::netbird::refusal::{Refusal, invalid};

/// Reads and checks a rule. Groups that the account does not hold are dropped, and so are
/// repetitions.
pub(in crate::netbird) fn read(account: &Account, body: &Body) -> Result<Rule, Refusal> {
    let known_groups = |ids: Vec<String>| known(&ids, |id| account.groups.contains(id));
    let (sources, destinations) = (
        body.optional_texts("sources")?,
        body.optional_texts("destinations")?,
    );
    let resource = |name: &str| {
        body.object(name)?
            .map(|body| Member::read(&body))
            .transpose()
    };
    let (source_resource, destination_resource) = (
        resource("sourceResource")?,
        resource("destinationResource")?,
    );
    let rule = Rule {
        id: body.text("id")?,
        name: body.text("name")?,
        description: body.text("description")?,
        enabled: body.flag("enabled")?,
        action: body.text("action")?,
        bidirectional: body.flag("bidirectional")?,
        protocol: body.text("protocol")?,
        ports: body.texts("ports")?,
        port_ranges: port_ranges(body)?,
        sources: Vec::new(),
        destinations: Vec::new(),
        source_resource,
        destination_resource,
        authorized_groups: authorized_groups(body)?,
    };

    // Presence is tested, not whether there is anything in it.
    if sources.is_some() && rule.source_resource.is_some() {
        return Err(invalid(
            "specify either sources or  source resources, not both",
        ));
    }
    if destinations.is_some() && rule.destination_resource.is_some() {
        return Err(invalid(
            "specify either destinations or destination resources, not both",
        ));
    }
    let has_source = sources.is_some() || rule.source_resource.is_some();
    let has_destination = destinations.is_some() || rule.destination_resource.is_some();
    if !has_source || !has_destination {
        return Err(invalid(
            "specify either sources or source resources and destinations or destination resources",
        ));
    }
    check(&rule, sources.as_deref().unwrap_or_default())?;
    let is_ssh = rule.protocol == "netbird-ssh";
    Ok(Rule {
        sources: known_groups(sources.unwrap_or_default()),
        destinations: known_groups(destinations.unwrap_or_default()),
        authorized_groups: if is_ssh {
            rule.authorized_groups
        } else {
            Default::default()
        },
        ..rule
    })
}

/// Returns the ids that are known, each once.
pub(super) fn known(ids: &[String], is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for id in ids.iter().filter(|id| is_known(id)) {
        if !known.contains(id) {
            known.push(id.clone());
        }
    }
    known
}

fn port_ranges(body: &Body) -> Result<Vec<(i64, i64)>, Refusal> {
    body.objects("port_ranges")?
        .iter()
        .map(|range| Ok((range.number("start")?, range.number("end")?)))
        .collect()
}

fn authorized_groups(
    body: &Body,
) -> Result<std::collections::BTreeMap<String, Vec<String>>, Refusal> {
    let Some(groups) = body.object("authorized_groups")? else {
        return Ok(Default::default());
    };
    groups
        .entries()
        .keys()
        .map(|id| Ok((id.clone(), groups.texts(id)?)))
        .collect()
}

fn check(rule: &Rule, sources: &[String]) -> Result<(), Refusal> {
    if !["accept", "drop"].contains(&rule.action.as_str()) {
        return Err(invalid("unknown action type"));
    }
    if !["all", "tcp", "udp", "icmp", "netbird-ssh"].contains(&rule.protocol.as_str()) {
        return Err(invalid(format!("unknown protocol type: {}", rule.protocol)));
    }
    if !rule.ports.is_empty() && !rule.port_ranges.is_empty() {
        return Err(invalid(
            "specify either individual ports or port ranges, not both",
        ));
    }
    // A range may run backwards.
    let is_port = |text: &String| text.parse::<u16>().is_ok_and(|port| port > 0);
    if !rule.ports.iter().all(is_port)
        || !rule
            .port_ranges
            .iter()
            .all(|(start, end)| *start >= 1 && *end <= 65_535)
    {
        return Err(invalid("valid port value is in 1..65535 range"));
    }
    let has_ports = !rule.ports.is_empty() || !rule.port_ranges.is_empty();
    if has_ports && ["all", "icmp"].contains(&rule.protocol.as_str()) {
        return Err(invalid("for all or icmp protocol ports is not allowed"));
    }
    let authorized = &rule.authorized_groups;
    if rule.protocol == "netbird-ssh"
        && !authorized.is_empty()
        && !sources.iter().all(|source| authorized.contains_key(source))
    {
        return Err(invalid(
            "authorized group for netbird-ssh protocol should be specified for each source group",
        ));
    }
    Ok(())
}
