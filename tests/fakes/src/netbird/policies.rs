//! Policies: how they are stored and shown. How a request becomes one is left to `rules`.

pub(super) mod rules;

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::account::Account;
use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use super::groups::{self, Member};
use super::refusal::{Refusal, missing};

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/policies", Module::Policies, list),
    route("POST", "/policies", Module::Policies, post),
    route("GET", "/policies/*", Module::Policies, get),
    route("PUT", "/policies/*", Module::Policies, put),
    route("DELETE", "/policies/*", Module::Policies, delete),
];

#[derive(Clone, PartialEq)]
pub(super) struct Policy {
    pub(super) name: String,
    description: String,
    enabled: bool,
    /// None if never set, which is shown as null.
    pub(super) posture_checks: Option<Vec<String>>,
    pub(super) rules: Vec<Rule>,
}

#[derive(Clone, Default, PartialEq)]
pub(super) struct Rule {
    pub(super) id: String,
    name: String,
    description: String,
    enabled: bool,
    action: String,
    bidirectional: bool,
    protocol: String,
    ports: Vec<String>,
    /// First and last port.
    port_ranges: Vec<(i64, i64)>,
    sources: Vec<String>,
    destinations: Vec<String>,
    source_resource: Option<Member>,
    destination_resource: Option<Member>,
    /// Group to local users.
    authorized_groups: BTreeMap<String, Vec<String>>,
}

impl Rule {
    /// Whether the rule keeps a group from being deleted; one in `authorized_groups` does not.
    pub(super) fn names_group(&self, id: &str) -> bool {
        self.sources
            .iter()
            .chain(&self.destinations)
            .any(|group| group == id)
    }

    pub(super) fn names_resource(&self, id: &str) -> bool {
        self.source_resource
            .iter()
            .chain(&self.destination_resource)
            .any(|resource| resource.id == id)
    }

    /// Returns the ids of the groups that traffic goes to.
    pub(super) fn destinations(&self) -> &[String] {
        &self.destinations
    }

    /// Returns the rule in one order, since the server's comparison knows none.
    fn sorted(mut self) -> Rule {
        self.ports.sort();
        self.port_ranges.sort();
        self.sources.sort();
        self.destinations.sort();
        self
    }
}

/// The policy of a new account: everybody reaches everybody.
pub(super) fn default_policy(id: &str, all: &str) -> Policy {
    let description =
        "This is a default rule that allows connections between all the resources".to_owned();
    let rule = Rule {
        id: id.to_owned(),
        name: "Default".to_owned(),
        description: description.clone(),
        enabled: true,
        action: "accept".to_owned(),
        bidirectional: true,
        protocol: "all".to_owned(),
        sources: vec![all.to_owned()],
        destinations: vec![all.to_owned()],
        ..Rule::default()
    };
    Policy {
        name: rule.name.clone(),
        description,
        enabled: true,
        posture_checks: None,
        rules: vec![rule],
    }
}

/// Adds a rule under an id of its own, as older servers stored them; returns its id. No call makes
/// one.
pub(super) fn add_legacy_rule(
    account: &mut Account,
    policy: &str,
    rule: &[u8],
) -> Result<String, Refusal> {
    let id = account.new_id();
    let body = crate::body::Body::parse(rule)?;
    let mut rule = rules::read(account, &body)?;
    rule.id = id.clone();
    let stored = account
        .policies
        .get_mut(policy)
        .ok_or_else(|| not_found(policy))?;
    stored.rules.push(rule);
    Ok(id)
}

fn show(account: &Account, id: &str, policy: &Policy) -> Value {
    // Groups that a rule before had as a source or destination. Those are left out of later
    // sources, which is the server's mistake, and shown without their resources in destinations,
    // another one.
    let mut seen: HashMap<&str, Value> = HashMap::new();
    let rules: Vec<Value> = policy
        .rules
        .iter()
        .map(|rule| show_rule(account, rule, &mut seen))
        .collect();
    json!({
        "id": id,
        "name": policy.name,
        "description": policy.description,
        "enabled": policy.enabled,
        "source_posture_checks": policy.posture_checks,
        "rules": rules,
    })
}

fn show_rule<'a>(account: &Account, rule: &'a Rule, seen: &mut HashMap<&'a str, Value>) -> Value {
    let (mut sources, mut destinations) = (Vec::new(), Vec::new());
    for id in &rule.sources {
        let short = groups::show_short(account, id).filter(|_| !seen.contains_key(id.as_str()));
        if let Some(mut short) = short {
            short["resources_count"] = json!(0);
            seen.insert(id, short.clone());
            sources.push(short);
        }
    }
    for id in &rule.destinations {
        if let Some(short) = seen
            .get(id.as_str())
            .cloned()
            .or_else(|| groups::show_short(account, id))
        {
            seen.insert(id, short.clone());
            destinations.push(short);
        }
    }
    let mut shown = json!({
        "id": rule.id,
        "name": rule.name,
        "description": rule.description,
        "enabled": rule.enabled,
        "action": rule.action,
        "bidirectional": rule.bidirectional,
        "protocol": rule.protocol,
        "sources": groups::or_null(sources),
        "destinations": groups::or_null(destinations),
    });
    let ranges = rule
        .port_ranges
        .iter()
        .map(|(start, end)| json!({"start": start, "end": end}));
    let optional = [
        ("ports", (!rule.ports.is_empty()).then(|| json!(rule.ports))),
        (
            "port_ranges",
            (!rule.port_ranges.is_empty()).then(|| ranges.collect()),
        ),
        (
            "sourceResource",
            rule.source_resource.as_ref().map(Member::show),
        ),
        (
            "destinationResource",
            rule.destination_resource.as_ref().map(Member::show),
        ),
        (
            "authorized_groups",
            (!rule.authorized_groups.is_empty()).then(|| json!(rule.authorized_groups)),
        ),
    ];
    for (field, value) in optional {
        if let Some(value) = value {
            shown[field] = value;
        }
    }
    shown
}

fn list(call: &mut Call) -> Outcome {
    let account = &*call.account;
    Ok(account
        .policies
        .iter()
        .map(|(id, policy)| show(account, id, policy))
        .collect())
}

fn get(call: &mut Call) -> Outcome {
    let (account, id) = (&*call.account, call.id());
    let policy = account.policies.get(&id).ok_or_else(|| not_found(&id))?;
    Ok(show(account, &id, policy))
}

fn not_found(id: &str) -> Refusal {
    missing(format!("policy: {id} not found"))
}

/// Every rule gets the policy's id, and of several with one id the first is stored. The answer
/// shows all.
fn post(call: &mut Call) -> Outcome {
    let mut policy = read(call)?;
    let id = call.account.new_id();
    for rule in &mut policy.rules {
        rule.id.clone_from(&id);
    }
    let answer = show(call.account, &id, &policy);
    policy.rules.truncate(1);
    call.record("policy.add", &id, json!({"name": policy.name}));
    call.account.policies.insert(&id, policy);
    Ok(answer)
}

/// Rules are updated or added, never removed. A rule without an id takes the policy's.
fn put(call: &mut Call) -> Outcome {
    let id = call.id();
    let before = call
        .account
        .policies
        .get(&id)
        .cloned()
        .ok_or_else(|| not_found(&id))?;
    let mut policy = read(call)?;
    for rule in &mut policy.rules {
        if rule.id.is_empty() {
            rule.id.clone_from(&id);
        } else if before.rules.iter().all(|stored| stored.id != rule.id) {
            return Err(super::refusal::invalid(format!(
                "invalid rule ID: {}",
                rule.id
            )));
        }
    }
    let answer = show(call.account, &id, &policy);
    let mut rules = before.rules.clone();
    let mut written: Vec<&str> = Vec::new();
    for rule in &policy.rules {
        if written.contains(&rule.id.as_str()) {
            continue;
        }
        written.push(&rule.id);
        match rules.iter_mut().find(|stored| stored.id == rule.id) {
            Some(stored) => *stored = rule.clone(),
            None => rules.push(rule.clone()),
        }
    }
    policy.rules = rules;
    if sorted(before) != sorted(policy.clone()) {
        call.record("policy.update", &id, json!({"name": policy.name}));
    }
    if let Some(stored) = call.account.policies.get_mut(&id) {
        *stored = policy;
    }
    Ok(answer)
}

fn sorted(mut policy: Policy) -> Policy {
    policy
        .posture_checks
        .iter_mut()
        .for_each(|checks| checks.sort());
    policy.rules = policy.rules.into_iter().map(Rule::sorted).collect();
    policy
}

fn read(call: &mut Call) -> Result<Policy, Refusal> {
    let (body, account) = (call.body()?, &*call.account);
    let (name, description, enabled) = (
        body.text("name")?,
        body.text("description")?,
        body.flag("enabled")?,
    );
    let (checks, rules) = (
        body.optional_texts("source_posture_checks")?,
        body.objects("rules")?,
    );
    if name.is_empty() {
        return Err(super::refusal::invalid("policy name shouldn't be empty"));
    }
    if rules.is_empty() {
        return Err(super::refusal::invalid("policy rules shouldn't be empty"));
    }
    let rules = rules
        .iter()
        .map(|rule| rules::read(account, rule))
        .collect::<Result<_, _>>()?;
    // Null where no check of several is known, though [] stays [].
    let posture_checks = checks.and_then(|sent| {
        let known = rules::known(&sent, |id| account.posture_checks.contains(id));
        (sent.is_empty() || !known.is_empty()).then_some(known)
    });
    Ok(Policy {
        name,
        description,
        enabled,
        posture_checks,
        rules,
    })
}

fn delete(call: &mut Call) -> Outcome {
    let id = call.id();
    let policy = call
        .account
        .policies
        .remove(&id)
        .ok_or_else(|| not_found(&id))?;
    call.record("policy.delete", &id, json!({"name": policy.name}));
    Ok(json!({}))
}
