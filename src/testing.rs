//! What unit tests share: live answers by name, a plan from a file and an account, and its outcome as short lines.
//!
//! Every id stands for a name and tells a creation second, so a test speaks of names only.

use std::sync::Arc;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::actual::Actual;
use crate::address::Address;
use crate::config::Source;
use crate::desired::Desired;
use crate::entry::Entry;
use crate::kind::Kind;
use crate::ledger::Listings;
use crate::options::{Options, Prune};
use crate::plan::{self, Part, Plan};
use crate::problem::Problem;
use crate::render::{Document, words};
use crate::snapshot::Snapshot;
use crate::text::visible;
use crate::validate::validate;

/// The second in which live objects of the tests were made, unless they say otherwise: 2026-09-21T14:13:20Z.
pub(crate) const MADE: i64 = 1_790_000_000;
/// The present of the tests: about a month later.
pub(crate) const NOW: i64 = MADE + 30 * 86_400;

/// Returns the id of an object of that kind and name, made at [`MADE`].
pub(crate) fn id(kind: Kind, name: &str) -> String {
    id_at(kind, name, MADE)
}

/// Returns an xid that tells that second; the rest of it stands for kind and name.
pub(crate) fn id_at(kind: Kind, name: &str, second: i64) -> String {
    let bytes = kind.word().bytes().chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let second = u128::from(u32::try_from(second).expect("a second of this century"));
    let bits = (second << 64 | u128::from(hash)) << 4;
    let digit = |at: u32| {
        char::from_digit((bits >> (5 * (19 - at)) & 31) as u32, 32).expect("a digit of base32hex")
    };
    (0..20).map(digit).collect()
}

/// Returns an RFC 3339 time.
pub(crate) fn time(second: i64) -> String {
    Timestamp::from_second(second)
        .expect("a second of this century")
        .to_string()
}

/// Puts the fields of the second object over those of the first.
pub(crate) fn over(mut base: Value, fields: Value) -> Value {
    let (Value::Object(into), Value::Object(fields)) = (&mut base, fields) else {
        panic!("two objects are wanted");
    };
    into.extend(fields);
    base
}

/// An entry of a list, to look into.
pub(crate) fn value(entry: &Entry) -> Value {
    entry.value().expect("JSON")
}

fn embedded(kind: Kind, names: &[&str]) -> Vec<Value> {
    names
        .iter()
        .map(|name| json!({ "id": id(kind, name), "name": name }))
        .collect()
}

/// Ids of groups.
pub(crate) fn groups(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| id(Kind::Group, name)).collect()
}

/// An entry of `GET /groups`.
pub(crate) fn group(name: &str, peers: &[&str]) -> Value {
    json!({ "id": id(Kind::Group, name), "name": name, "issued": "api", "peers": embedded(Kind::Peer, peers), "peers_count": peers.len(),
            "resources": null, "resources_count": 0 })
}

/// An entry of `GET /peers`: of a setup key, enrolled at [`MADE`].
pub(crate) fn peer(name: &str) -> Value {
    peer_at(name, MADE)
}

/// An entry of `GET /peers` that enrolled at that second. Its id stands for its name and the second.
pub(crate) fn peer_at(name: &str, second: i64) -> Value {
    json!({ "id": id_at(Kind::Peer, name, second), "name": name, "hostname": name, "user_id": "", "ip": "100.92.14.7",
            "dns_label": format!("{name}.netbird.selfhosted"), "ephemeral": false, "created_at": time(second),
            "ssh_enabled": true, "login_expiration_enabled": false, "inactivity_expiration_enabled": false })
}

/// An entry of `GET /setup-keys`: one-off, sealed, valid for another month, unused.
pub(crate) fn key(name: &str, groups: &[&str]) -> Value {
    key_at(name, groups, MADE)
}

/// The same, made at that second.
pub(crate) fn key_at(name: &str, groups: &[&str], second: i64) -> Value {
    json!({ "id": id_at(Kind::SetupKey, name, second), "key": "4CDAC****", "name": name, "type": "one-off", "valid": true,
            "expires": time(NOW + 30 * 86_400), "revoked": false, "used_times": 0, "last_used": "0001-01-01T00:00:00Z",
            "state": "valid", "auto_groups": self::groups(groups), "updated_at": time(second + 60), "usage_limit": 1,
            "ephemeral": false, "allow_extra_dns_labels": false })
}

/// What makes a one-off key a used one.
pub(crate) fn used_at(second: i64) -> Value {
    json!({ "used_times": 1, "last_used": time(second), "state": "overused", "valid": false })
}

/// An entry of `GET /policies`: everything, both ways.
pub(crate) fn policy(name: &str, sources: &[&str], destinations: &[&str]) -> Value {
    let id = id(Kind::Policy, name);
    let rule = json!({ "id": id, "name": name, "description": "", "enabled": true, "action": "accept",
                       "bidirectional": true, "protocol": "all", "sources": embedded(Kind::Group, sources),
                       "destinations": embedded(Kind::Group, destinations) });
    json!({ "id": id, "name": name, "description": "", "enabled": true, "source_posture_checks": null,
            "rules": [rule] })
}

/// An entry of `GET /policies` whose rule has other fields.
pub(crate) fn policy_with(
    name: &str,
    sources: &[&str],
    destinations: &[&str],
    rule: Value,
) -> Value {
    let mut policy = policy(name, sources, destinations);
    policy["rules"][0] = over(policy["rules"][0].clone(), rule);
    policy
}

/// An entry of `GET /routes`, for everybody.
pub(crate) fn route(name: &str, network: &str, peer_groups: &[&str]) -> Value {
    json!({ "id": id(Kind::Route, name), "network_id": name, "network_type": "IPv4", "description": "", "enabled": true, "peer": "",
            "peer_groups": groups(peer_groups), "network": network, "domains": null, "metric": 9999, "masquerade": true,
            "groups": groups(&["All"]), "keep_route": false, "skip_auto_apply": false })
}

/// An entry of `GET /dns/nameservers`, for everything.
/// A zone with these A records: full name and address.
pub(crate) fn zone(name: &str, domain: &str, records: &[(&str, &str)], groups: &[&str]) -> Value {
    let record = |(record, ip): &(&str, &str)| json!({ "id": id(Kind::DnsRecord, &format!("{name} {record} {ip}")), "name": record, "type": "A", "content": ip, "ttl": 300 });
    json!({ "id": id(Kind::DnsZone, name), "name": name, "domain": domain, "enabled": true, "enable_search_domain": false,
            "distribution_groups": self::groups(groups), "records": records.iter().map(record).collect::<Vec<_>>() })
}

pub(crate) fn nameservers(name: &str, ips: &[&str], groups: &[&str]) -> Value {
    let servers: Vec<Value> = ips
        .iter()
        .map(|ip| json!({ "ip": ip, "ns_type": "udp", "port": 53 }))
        .collect();
    json!({ "id": id(Kind::NameserverGroup, name), "name": name, "description": "", "primary": true, "domains": null, "enabled": true,
            "groups": self::groups(groups), "nameservers": servers, "search_domains_enabled": false })
}

/// An entry of `GET /events`: a peer of that name came by that key.
pub(crate) fn enrolled(key: &str, peer: &str) -> Value {
    json!({ "id": "1", "timestamp": time(MADE), "activity_code": "peer.setupkey.add", "initiator_id": id(Kind::SetupKey, key),
            "target_id": id(Kind::Peer, peer), "meta": { "setup_key_name": key, "location_geo_name_id": "2.759794e+06" } })
}

/// Returns the desired state of a valid file.
pub(crate) fn desired(file: &Value) -> Desired {
    let source = Source::from_text("netbird.json", file.to_string()).expect("a text");
    match validate(&source) {
        Ok(valid) => Arc::unwrap_or_clone(valid.desired),
        Err(problems) => panic!("the file of this test is wrong:\n{problems}"),
    }
}

/// A file and a live account, and what else a plan is made for.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) desired: Desired,
    pub(crate) snapshot: Snapshot,
    pub(crate) options: Options,
}

impl Case {
    /// A file against the lists of a live account; the group All is there without being said, with all peers in it.
    pub(crate) fn new(file: Value, live: Value) -> Self {
        let mut snapshot: Snapshot = serde_json::from_value(live).expect("lists of a live account");
        let peers = snapshot.peers.iter().map(|peer| value(peer)["id"].clone());
        let peers: Vec<Value> = peers.map(|id| json!({ "id": id })).collect();
        let all = over(group("All", &[]), json!({ "peers": peers }));
        snapshot.list_mut(Kind::Group).insert(0, all.into());
        let options = Options {
            prune: Prune::None,
            replace: BTreeSet::new(),
            now: Timestamp::from_second(NOW).expect("a second of this century"),
            ledger: Arc::default(),
            listings: Listings::default(),
            release: BTreeSet::new(),
            keys_files: BTreeSet::new(),
        };
        Case {
            desired: desired(&file),
            snapshot,
            options,
        }
    }

    /// With `--prune all`.
    pub(crate) fn prune_all(mut self) -> Self {
        self.options.prune = Prune::All;
        self
    }

    /// With `--replace`.
    pub(crate) fn replace(mut self, kind: Kind, name: &str) -> Self {
        self.options.replace.insert(Address::new(kind, name));
        self
    }

    /// With `--prune owned` and a git history of the file: (second, version). The file itself is in no commit yet,
    /// unless it is the last version.
    pub(crate) fn history(mut self, versions: &[(i64, Value)]) -> Self {
        let texts: Vec<(i64, String)> = versions
            .iter()
            .map(|(second, version)| (*second, version.to_string()))
            .collect();
        let versions: Vec<(i64, &str)> = texts
            .iter()
            .map(|(second, text)| (*second, text.as_str()))
            .collect();
        let mut ledger = crate::ledger::tests::of_at(NOW, &versions);
        ledger.propose(self.desired.clone());
        self.options.listings = ledger.listings();
        self.options.ledger = Arc::new(ledger);
        self.options.prune = Prune::Owned;
        self
    }

    /// Reads the live account.
    pub(crate) fn actual(&self) -> Actual {
        Actual::read(&self.snapshot).expect("answers of the server's form")
    }

    /// Makes the plan.
    pub(crate) fn plan(&self) -> Result<Plan, Vec<Problem>> {
        let renames = plan::renames(&self.desired, &self.snapshot, &self.options.ledger);
        let actual = Actual::read_renamed(&self.snapshot, renames.names())
            .expect("answers of the server's form");
        plan::plan(&self.desired, &actual, &renames, &self.options)
    }

    /// Makes a plan that has to be possible.
    #[track_caller]
    pub(crate) fn possible(&self) -> Plan {
        self.plan()
            .unwrap_or_else(|problems| panic!("no plan can be made:\n{}", problem_lines(&problems)))
    }

    /// A document about the plan, as a command would fill it.
    #[track_caller]
    pub(crate) fn document(&self) -> Document {
        Document {
            plan: Some(self.possible()),
            ..document()
        }
    }

    /// Returns the outcome in lines: the steps in their order with what they change, then notices; or the problems.
    pub(crate) fn outcome(&self) -> String {
        match self.plan() {
            Ok(plan) => plan_lines(&plan),
            Err(problems) => problem_lines(&problems),
        }
    }
}

/// A document with fixed numbers and without a plan.
pub(crate) fn document() -> Document {
    Document {
        file: "netbird.json".into(),
        file_digest: "9f3c00aa11bb".into(),
        server: Some("https://netbird.example.com".into()),
        environment: "default".into(),
        commit: Some("a1b2c3d4e5f6".into()),
        requests: 6,
        duration_ms: 41,
        ..Document::default()
    }
}

fn plan_lines(plan: &Plan) -> String {
    let mut lines = Vec::new();
    let mut told = BTreeSet::new();
    for step in &plan.steps {
        let change = &plan.changes[step.change];
        let part = match step.part {
            Part::Whole => "",
            Part::Additions => " (additions)",
            Part::Removals => " (removals)",
            Part::Making => " (making)",
            Part::Breaking => " (breaking)",
        };
        let reason = match words::reason(change.reason.as_ref()) {
            none if none.is_empty() => none,
            reason => format!(": {reason}"),
        };
        let made = change
            .operation
            .live()
            .and_then(|live| live.id.created_at());
        let made = match made.map(|second| second - MADE) {
            None | Some(0) => String::new(),
            Some(secs) => format!(" [made {secs:+} s]"),
        };
        lines.push(format!(
            "{} {}{made}{part}{reason}",
            change.operation.word(),
            change.address
        ));
        if told.insert(step.change) {
            lines.extend(
                change
                    .operation
                    .fields()
                    .iter()
                    .map(|field| format!("    {} {} → {}", field.field, field.before, field.after)),
            );
        }
    }
    for (group, keys) in &plan.pending_members {
        lines.push(format!("pending in {group}: {keys:?}"));
    }
    for (group, peers) in &plan.unmanaged_members {
        let labels: Vec<&String> = peers.iter().map(|id| &plan.peer_labels[id]).collect();
        lines.push(format!("unmanaged in {group}: {labels:?}"));
    }
    lines.extend(
        plan.held
            .iter()
            .map(|held| format!("held: {}: {}", held.address, words::why(&held.why))),
    );
    lines.extend(
        plan.unmanaged
            .iter()
            .map(|address| format!("unmanaged: {address}")),
    );
    lines.extend(
        crate::render::say(&plan.notices)
            .iter()
            .map(|said| format!("note: {}", said.text)),
    );
    if lines.is_empty() {
        lines.push("nothing".into());
    }
    lines.join("\n") + "\n"
}

fn problem_lines(problems: &[Problem]) -> String {
    let told = words::problems(problems).into_iter();
    told.map(|told| {
        let hint = told.hint.map(|hint| format!(" | {hint}"));
        format!(
            "impossible: {} {}{}\n",
            told.problem.address,
            told.text,
            hint.unwrap_or_default()
        )
    })
    .collect()
}

/// Names in the place of ids: `<kind name>` for whatever of these lists stands in the text.
pub(crate) fn named(text: &str, names: &[(Kind, &str)]) -> String {
    let name = |text: String, (kind, name): &(Kind, &str)| {
        text.replace(&id(*kind, name), &format!("<{} {name}>", kind.word()))
    };
    names.iter().fold(text.to_owned(), name)
}

/// A table for a snapshot: each row's label, and what came of it indented below.
pub(crate) fn table<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut text = String::new();
    for (label, outcome) in rows {
        text.push_str(&format!("{label}\n"));
        for line in outcome.lines() {
            text.push_str(&format!("    {}\n", visible(line)));
        }
    }
    text
}

/// Recorded answers of a real server, by path and name.
pub(crate) fn recordings() -> BTreeMap<String, Value> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut recordings = BTreeMap::new();
    for directory in ["tests/data/recordings", "tests/fakes/recordings/netbird"] {
        for entry in
            std::fs::read_dir(root.join(directory)).expect("the recordings are in the repository")
        {
            let path = entry.expect("a directory entry").path();
            let name = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .map(str::to_owned);
            let text = std::fs::read(&path).expect("a readable recording");
            let recording = serde_json::from_slice(&text).expect("a recording in JSON");
            recordings.insert(name.expect("a name in ASCII"), recording);
        }
    }
    recordings
}
