//! Policies as the server answers them (docs/netbird-api.md, "Policies: one rule").

use serde::Deserializer;

use super::{OneRule, Policy, PortRange};
use crate::model::kind::prelude::*;

/// An entry of `GET /policies`.
#[derive(Deserialize)]
struct PolicyAnswer {
    description: Option<String>,
    enabled: bool,
    /// One in practice (docs/netbird-api.md, "Policies: one rule").
    #[serde(default, deserialize_with = "nullable")]
    rules: Vec<RuleAnswer>,
    #[serde(default, deserialize_with = "ids")]
    source_posture_checks: BTreeSet<String>,
}

/// A rule of a policy.
#[derive(Deserialize)]
struct RuleAnswer {
    #[serde(flatten)]
    form: Policy,
    #[serde(default, deserialize_with = "nullable")]
    port_ranges: Vec<RangeAnswer>,
}

/// A range of ports, both ends included. The server takes any number from 1 on for the first, and does not check that it is
/// below the last.
#[derive(Deserialize)]
struct RangeAnswer {
    start: i64,
    end: i64,
}

/// Reads every rule of a live policy as if it were the only one: old servers kept several. One without rules is one that says
/// nothing.
pub(super) fn forms(wire: &Entry) -> Result<Vec<Policy>, serde_json::Error> {
    let policy: PolicyAnswer = wire.read()?;
    let number = policy.rules.len();
    let of_rule = |rule: RuleAnswer| {
        // single ports and ranges are one set: 443 is 443 to 443
        let port = |number: i64| u16::try_from(number).unwrap_or(u16::MAX);
        let ranges = rule.port_ranges.iter();
        let ranges = ranges.map(|range| PortRange::new(port(range.start), port(range.end)));
        let ports = rule.form.ports.into_iter().flatten().chain(ranges);
        Policy {
            ports: Some(ports.collect()),
            ..rule.form
        }
    };
    let mut forms: Vec<Policy> = policy.rules.into_iter().map(of_rule).collect();
    if forms.is_empty() {
        forms.push(Policy::default());
    }
    for form in &mut forms {
        form.description.clone_from(&policy.description);
        // two switches of one light: the policy's and its rule's
        form.enabled = Some(policy.enabled && form.enabled == Some(true));
        form.source_posture_checks = Some(policy.source_posture_checks.clone());
        form.rules = OneRule(number);
    }
    Ok(forms)
}

/// Reads ids of groups of users, and the local users that they may log in as.
pub(super) fn users<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeMap<String, BTreeSet<String>>>, D::Error> {
    let users: BTreeMap<String, Option<BTreeSet<String>>> = nullable(from)?;
    let users = users.into_iter();
    Ok(Some(
        users
            .map(|(group, logins)| (group, logins.unwrap_or_default()))
            .collect(),
    ))
}
