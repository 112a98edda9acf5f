//! Each rule of the model with what a reviewer must be told; what holds for any plan is in `properties`.

mod live;
mod places;
mod properties;
mod questions;
mod routes;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{Delta, End, NoAnswer, Ports, Question, Traffic, ask};
use crate::model::Kind;
use crate::plan::Memberships;
use crate::render::testing::access_lines;
use crate::testing::{
    Case, LIFE, MADE, desired, group, groups, id, key, key_at, over, peer, policy, policy_with,
    table,
};

/// A machine without NetBird's SSH server. Of a person, so that a file can name it without a history.
fn machine(name: &str) -> Value {
    over(
        peer(name),
        json!({ "ssh_enabled": false, "user_id": "somebody" }),
    )
}

/// An account of machines `a1`, `a2`, `b1`, `c1` and `r1` in groups of their letters, without any rule.
fn account(more: Value) -> Value {
    let base = json!({
        "groups": [group("a", &["a1", "a2"]), group("b", &["b1"]), group("c", &["c1"]), group("r", &["r1"]), group("none", &[])],
        "peers": (["a1", "a2", "b1", "c1", "r1"].map(machine)),
    });
    over(base, more)
}

/// A network `office` with the resource `printer` in the group `things`; its router goes through `r`.
fn office(router: Value, resource: Value) -> Value {
    let (network, printer) = (
        id(Kind::Network, "office"),
        id(Kind::NetworkResource, "printer"),
    );
    let things = json!([{ "id": id(Kind::Group, "things"), "name": "things" }]);
    let router = over(
        json!({ "id": "router1", "peer": "", "peer_groups": groups(&["r"]), "metric": 9999, "masquerade": true, "enabled": true }),
        router,
    );
    let resource = over(
        json!({ "id": printer, "name": "printer", "address": "10.20.0.9/32", "type": "host", "enabled": true, "groups": things }),
        resource,
    );
    let mut account = account(json!({
        "networks": [{ "id": network, "name": "office", "resources": [printer], "routers": ["router1"], "policies": [] }],
        "network_resources": [resource],
        "network_routers": [router],
    }));
    let all = account["groups"].as_array_mut().expect("a list");
    all.push(group("things", &[]));
    account
}

/// What a plan of that file for that account opens and closes, in lines.
#[track_caller]
fn told(file: Value, live: Value) -> String {
    told_of(&Case::new(file, live).prune_all(), false)
}

#[track_caller]
fn told_of(case: &Case, peers: bool) -> String {
    let plan = case.possible();
    let delta = Delta::of(&case.actual(), &plan, &Memberships::default(), peers);
    let delta = delta.expect("not too much");
    access_lines(&delta).join("\n") + "\n"
}

/// A small file can pair all its machines with each other: a file of so many machines, each in a group of its own.
fn pairing(number: usize) -> Value {
    let names: Vec<String> = (0..number).map(|n| format!("g{n}")).collect();
    let mut file = json!({ "groups": {}, "setup_keys": {}, "policies": { "p": { "sources": names, "destinations": names, "protocol": "all" } } });
    for (n, name) in names.iter().enumerate() {
        let key = format!("k{n}");
        file["groups"][name] = json!({ "peers": [key] });
        file["setup_keys"][key] = json!({ "type": "one-off", "expires_in": 86_400 });
    }
    file
}

#[test]
fn a_question_that_would_take_too_long_has_no_answer() {
    for (number, is_told) in [(20, true), (1_700, false)] {
        let case = Case::new(pairing(number), account(json!({})));
        let (actual, plan) = (case.actual(), case.possible());
        let all = || (End::Group, "All".to_owned());
        let question = Question {
            from: all(),
            to: all(),
            traffic: None,
        };
        let answer = ask(&actual, Some(&plan), &Memberships::default(), &question);
        let is_too_much = answer == Err(NoAnswer::TooMuch);
        assert_eq!(!is_too_much, is_told, "{number}");
    }
}

#[test]
fn what_would_take_too_long_is_left_out() {
    for (number, is_told) in [(20, true), (70, false)] {
        let case = Case::new(pairing(number), account(json!({})));
        let (actual, plan) = (case.actual(), case.possible());
        let delta = Delta::of(&actual, &plan, &Memberships::default(), false);
        assert_eq!(delta.is_some(), is_told, "{number}");
    }
}

/// A file with one policy.
fn one(policy: Value) -> Value {
    let sides = json!({ "sources": ["a"], "destinations": ["b"], "bidirectional": false });
    json!({ "policies": { "p": over(sides, policy) } })
}

#[test]
fn a_rule_opens_one_way_or_both() {
    let tcp = json!({ "protocol": "tcp", "ports": [22, "8000-8100"] });
    assert_data_eq!(
        told(one(tcp.clone()), account(json!({}))),
        str![[r#"
+ group "a" (2 machines) → group "b" (1 machine): tcp 22, 8000-8100, by policy "p"

"#]]
    );
    assert_data_eq!(
        told(
            one(over(tcp, json!({ "bidirectional": true }))),
            account(json!({}))
        ),
        str![[r#"
+ group "a" (2 machines) → group "b" (1 machine): tcp 22, 8000-8100, by policy "p"
+ group "b" (1 machine) → group "a" (2 machines): tcp 22, 8000-8100, by policy "p"

"#]]
    );
}

#[test]
fn what_others_let_through_is_no_news() {
    let live = account(json!({ "policies": [policy("Default", &["All"], &["All"])] }));
    let file = json!({ "policies": {
        "Default": { "sources": ["All"], "destinations": ["All"] },
        "p": { "sources": ["a"], "destinations": ["b"], "protocol": "tcp", "bidirectional": false },
    } });
    assert_data_eq!(
        told(file.clone(), live),
        str![[r#"
already reachable: group "a" → group "b": tcp on all ports (policy "p", and also by policy "Default")

"#]]
    );
    // and what is in part, is news in part
    let some = policy_with(
        "Default",
        &["a"],
        &["b"],
        json!({ "bidirectional": false, "protocol": "tcp", "ports": ["22"] }),
    );
    let mut file = file;
    file["policies"]["Default"] = json!({ "sources": ["a"], "destinations": ["b"], "bidirectional": false, "protocol": "tcp", "ports": [22] });
    assert_data_eq!(
        told(file, account(json!({ "policies": [some] }))),
        str![[r#"
+ group "a" (2 machines) → group "b" (1 machine): tcp 1-21, 23-65535, by policy "p"

"#]]
    );
}

#[test]
fn drop_wins_over_accept() {
    let accept = policy_with("open", &["a"], &["b"], json!({ "bidirectional": false }));
    let live = |more: Value| account(json!({ "policies": more }));
    let open = json!({ "sources": ["a"], "destinations": ["b"], "bidirectional": false });
    let drop = json!({ "sources": ["a"], "destinations": ["b"], "bidirectional": false, "action": "drop", "protocol": "tcp", "ports": [22] });
    let both = json!({ "policies": { "open": open, "p": drop } });
    assert_data_eq!(
        told(both, live(json!([accept]))),
        str![[r#"
- group "a" (2 machines) → group "b" (1 machine): tcp 22, by policy "p"

"#]]
    );
    let dropping = policy_with(
        "p",
        &["a"],
        &["b"],
        json!({ "bidirectional": false, "action": "drop", "protocol": "tcp", "ports": ["22"] }),
    );
    assert_data_eq!(
        told(
            json!({ "policies": { "open": open } }),
            live(json!([accept, dropping]))
        ),
        str![[r#"
+ group "a" (2 machines) → group "b" (1 machine): tcp 22, by policy "p"

"#]]
    );
}

#[test]
fn a_disabled_rule_is_nothing() {
    let live = account(
        json!({ "policies": [policy_with("p", &["a"], &["b"], json!({ "bidirectional": false }))] }),
    );
    assert_data_eq!(
        told(one(json!({ "enabled": false })), live),
        str![[r#"
- group "a" (2 machines) → group "b" (1 machine): everything, by policy "p"

"#]]
    );
    assert_eq!(
        told(one(json!({ "enabled": false })), account(json!({}))),
        "\n"
    );
}

#[test]
fn a_posture_check_is_a_condition() {
    let checks = json!({ "posture_checks": [{ "id": "check1", "name": "recent" }] });
    let checked = json!({ "source_posture_checks": ["recent"] });
    assert_data_eq!(
        told(
            one(checked.clone()),
            over(account(json!({})), checks.clone())
        ),
        str![[r#"
+ group "a" (2 machines) → group "b" (1 machine): everything, for machines that pass the posture check "recent", by policy "p"

"#]]
    );
    let live = account(
        json!({ "policies": [policy_with("p", &["a"], &["b"], json!({ "bidirectional": false }))] }),
    );
    assert_data_eq!(
        told(one(checked), over(live, checks)),
        str![[r#"
- group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture check "recent", by policy "p"

"#]]
    );
}

/// A live account and a file with the posture checks `recent` and `other` for the policy `p` from `a` to `b`, which asks for those.
fn checked(recent: &str, asks: &[&str]) -> (Value, Value) {
    let check = |name: &str, version: &str| json!({ "id": name, "name": name, "checks": { "nb_version_check": { "min_version": version } } });
    let policy = policy_with("p", &["a"], &["b"], json!({ "bidirectional": false }));
    let live = account(json!({
        "posture_checks": [check("recent", recent), check("other", "0.50.0")],
        "policies": [over(policy, json!({ "source_posture_checks": asks }))],
    }));
    let mut file = one(json!({ "source_posture_checks": asks }));
    file["posture_checks"] =
        json!({ "recent": { "nb_version": recent }, "other": { "nb_version": "0.50.0" } });
    (live, file)
}

#[test]
fn a_posture_check_that_changes_is_shown_with_each_policy_that_asks_for_it() {
    let (live, _) = checked("0.60.0", &["recent"]);
    let after = |recent: Value| {
        let mut file = checked("0.60.0", &["recent"]).1;
        file["posture_checks"]["recent"] = recent;
        told(file, live.clone())
    };
    let rows = [
        after(json!({ "nb_version": "0.60" })),
        after(json!({ "nb_version": "0.61.0" })),
        after(json!({ "nb_version": "0.9.0" })),
        after(json!({ "nb_version": "", "processes": [{ "linux": "/usr/bin/a" }] })),
    ];
    assert_data_eq!(
        rows.join("---\n"),
        str![[r#"

---
- group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture check "recent" (new version), by policy "p", because of posture check "recent"
---
+ group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture check "recent" (old version), by policy "p", because of posture check "recent"
---
- group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture check "recent" (new version), by policy "p", because of posture check "recent"
+ group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture check "recent" (old version), by policy "p", because of posture check "recent"

"#]]
    );
}

#[test]
fn who_joins_a_group_while_a_posture_check_changes_is_apart() {
    let (live, mut file) = checked("0.60.0", &["recent"]);
    file["groups"] = json!({ "a": { "peers": ["a1", "a2"] } });
    let before = file.clone();
    file["groups"]["a"]["peers"] = json!(["a1", "a2", "c1"]);
    file["posture_checks"]["recent"] = json!({ "nb_version": "0.61.0" });
    let versions = [(MADE - 100, before), (MADE + 100, file.clone())];
    let case = Case::new(file, live).history(&versions);
    assert_data_eq!(
        told_of(&case, false),
        str![[r#"
- "a1", "a2" of group "a" → group "b" (1 machine): everything, only for machines that fail the posture check "recent" (new version), by policy "p", because of posture check "recent"
+ "c1" of group "a" → group "b" (1 machine): everything, for machines that pass the posture check "recent", by policy "p", because of group "a"

"#]]
    );
}

#[test]
fn a_policy_that_asks_for_another_posture_check_is_shown() {
    let after = |before: &[&str], after: &[&str]| {
        let live = checked("0.60.0", before).0;
        told(checked("0.60.0", after).1, live)
    };
    let rows = [
        after(&["recent"], &["other"]),
        after(&["recent"], &["recent", "other"]),
        after(&["recent", "other"], &["recent"]),
        after(&["recent", "other"], &[]),
    ];
    assert_data_eq!(
        rows.join("---\n"),
        str![[r#"
- group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture check "other", by policy "p"
+ group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture check "recent", by policy "p"
---
- group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture check "other", by policy "p"
---
+ group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture check "other", by policy "p"
---
+ group "a" (2 machines) → group "b" (1 machine): everything, only for machines that fail the posture checks "other", "recent", by policy "p"

"#]]
    );
}

/// A live policy names the group and the posture check as NetBird does, one of the file that changes by their new names.
#[test]
fn what_is_renamed_keeps_its_rules() {
    let (mut live, mut file) = checked("0.60.0", &["recent"]);
    let by_hand = policy_with(
        "by-hand",
        &["a"],
        &["r"],
        json!({ "bidirectional": false, "protocol": "icmp" }),
    );
    live["policies"]
        .as_array_mut()
        .expect("a list")
        .push(by_hand);
    let before = over(file.clone(), json!({ "groups": { "a": {} } }));
    file["groups"] = json!({ "x": { "renamed_from": "a", "peers": ["a1", "a2", "c1"] } });
    file["posture_checks"] =
        json!({ "newer": { "renamed_from": "recent", "nb_version": "0.60.0" } });
    file["policies"]["p"] = json!({ "sources": ["x"], "destinations": ["b"], "bidirectional": false,
                                    "protocol": "tcp", "source_posture_checks": ["newer"] });
    let versions = [(MADE - 100, before), (MADE + 100, file.clone())];
    let case = Case::new(file, live).history(&versions);
    assert_data_eq!(
        told_of(&case, false),
        str![[r#"
- "a1", "a2" of group "x" → group "b" (1 machine): udp on all ports; icmp; other protocols, for machines that pass the posture check "newer", by policy "p"
+ "c1" of group "x" → group "b" (1 machine): tcp on all ports, for machines that pass the posture check "newer", by policy "p"
+ "c1" of group "x" → group "r" (1 machine): icmp, by policy "by-hand", because of group "x"

"#]]
    );
}

/// What a plan opens and closes by another policy `p` beside one that lets everything through.
fn edited(before: Value, after: Value, more: Value) -> String {
    let open = json!({ "sources": ["All"], "destinations": ["All"] });
    let live = |policy: &Value| {
        let names = |side: &str| {
            let names = policy[side].as_array().into_iter().flatten();
            names.filter_map(Value::as_str).collect::<Vec<_>>()
        };
        let (from, to) = (names("sources"), names("destinations"));
        let mut rest = policy.clone();
        let rest_of = rest.as_object_mut().expect("an object");
        rest_of.retain(|key, _| !["sources", "destinations"].contains(&key.as_str()));
        policy_with("p", &from, &to, rest)
    };
    let policies = json!([policy("Default", &["All"], &["All"]), live(&before)]);
    let file = json!({ "policies": { "Default": open, "p": after } });
    told(file, account(over(more, json!({ "policies": policies }))))
}

#[test]
fn what_a_drop_rule_opens_or_closes_is_told_where_it_has_all_before_or_after() {
    let rule = |action: &str, from: &str, to: &str| json!({ "action": action, "sources": [from], "destinations": [to], "bidirectional": false });
    let port = json!({ "protocol": "tcp", "ports": [25] });
    let live_port = json!({ "protocol": "tcp", "ports": ["25"] });
    let rows = [
        (
            "a drop of others",
            rule("drop", "a", "b"),
            rule("drop", "c", "All"),
        ),
        (
            "a drop in place of an accept",
            rule("accept", "c", "All"),
            rule("drop", "a", "b"),
        ),
        (
            "a drop of less",
            rule("drop", "a", "b"),
            over(rule("drop", "a", "All"), port),
        ),
        (
            "a drop of more, for fewer",
            over(rule("drop", "All", "All"), live_port),
            over(
                rule("drop", "a", "b"),
                json!({ "protocol": "tcp", "ports": [22] }),
            ),
        ),
    ];
    let rows = rows.map(|(what, before, after)| (what, edited(before, after, json!({}))));
    assert_data_eq!(table(rows), str![[r#"
a drop of others
    - group "c" (1 machine) → group "All" (4 machines): everything, by policy "p"
    + group "a" (2 machines) → group "b" (1 machine): everything, by policy "p"
a drop in place of an accept
    - group "a" (2 machines) → group "b" (1 machine): everything, by policy "p"
    still reachable: group "c" → group "All": everything (policy "p", and also by policy "Default")
a drop of less
    - group "a" (2 machines) → machines "a1", "a2", "c1", "r1": tcp 25, by policy "p"
    + group "a" (2 machines) → group "b" (1 machine): tcp 1-24, 26-65535; udp on all ports; icmp; other protocols, by policy "p"
a drop of more, for fewer
    - group "a" (2 machines) → group "b" (1 machine): tcp 22, by policy "p"
    + group "All" (5 machines) → group "All" (5 machines): tcp 25, by policy "p"
    ! every machine reaches group "All" (tcp 25), by policy "p"

"#]].raw());
}

#[test]
fn a_rule_between_the_same_groups_on_both_sides_tells_each_row_once() {
    let both = json!({ "sources": ["a", "c"], "destinations": ["a", "c"], "bidirectional": true });
    assert_data_eq!(
        told(one(both), account(json!({}))),
        str![[r#"
+ group "a" (2 machines) → group "a" (2 machines): everything, by policy "p"
+ group "a" (2 machines) → group "c" (1 machine): everything, by policy "p"
+ group "c" (1 machine) → group "a" (2 machines): everything, by policy "p"

"#]]
    );
}

#[test]
fn a_drop_rule_closes_and_opens_logins() {
    let drop = |protocol: &str| json!({ "action": "drop", "sources": ["a"], "destinations": ["b"], "bidirectional": false, "protocol": protocol });
    let peers = ["a1", "a2", "b1", "c1", "r1"].map(|name| {
        let ssh = json!({ "ssh_enabled": name == "b1" });
        over(machine(name), ssh)
    });
    let peers = json!({ "peers": peers });
    let rows = [
        ("the server's ports come back", "tcp", "udp"),
        ("and are closed", "udp", "tcp"),
    ];
    let rows =
        rows.map(|(what, before, after)| (what, edited(drop(before), drop(after), peers.clone())));
    assert_data_eq!(table(rows), str![[r#"
the server's ports come back
    - group "a" (2 machines) → group "b" (1 machine): udp on all ports, by policy "p"
    + group "a" (2 machines) → group "b" (1 machine): tcp on all ports; SSH logins of all users, by policy "p"
and are closed
    - group "a" (2 machines) → group "b" (1 machine): tcp on all ports; SSH logins of all users, by policy "p"
    + group "a" (2 machines) → group "b" (1 machine): udp on all ports, by policy "p"

"#]].raw());
}

#[test]
fn nobody_logs_in_to_what_is_no_machine() {
    let ssh = json!({ "sources": ["a"], "destination_resource": "printer", "protocol": "netbird-ssh", "ports": [22] });
    let file = json!({ "policies": { "p": ssh } });
    assert_data_eq!(
        told(file, office(json!({}), json!({}))),
        str![[r#"
+ group "a" (2 machines) → network resource "printer" 10.20.0.9/32: tcp 22, 22022, by policy "p"

"#]]
    );
}

#[test]
fn netbird_ssh_is_every_tcp_port_and_logins() {
    let ssh = json!({ "protocol": "netbird-ssh" });
    assert_data_eq!(
        told(one(ssh.clone()), account(json!({}))),
        str![[r#"
+ group "a" (2 machines) → group "b" (1 machine): tcp on all ports; SSH logins of all users, by policy "p"

"#]]
    );
    let users = json!({ "ports": [22], "authorized_groups": { "a": ["root"] } });
    assert_data_eq!(
        told(one(over(ssh, users)), account(json!({}))),
        str![[r#"
+ group "a" (2 machines) → group "b" (1 machine): tcp 22, 22022; SSH logins of users of group "a" as "root", by policy "p"

"#]]
    );
}

#[test]
fn the_switch_of_a_machine_lets_all_users_in_where_everything_passes() {
    let file = json!({ "peers": { "b1": { "ssh_enabled": true } } });
    let with = |rule: Value| {
        account(
            json!({ "policies": [policy_with("p", &["a"], &["b"], over(json!({ "bidirectional": false }), rule))] }),
        )
    };
    let told = |file: Value, live: Value| {
        let versions = [(MADE + 100, file.clone())];
        told_of(&Case::new(file, live).history(&versions), false)
    };
    assert_data_eq!(
        told(file.clone(), with(json!({}))),
        str![[r#"
+ group "a" (2 machines) → group "b" (1 machine): SSH logins of all users, by policy "p", because of peer "b1"

"#]]
    );
    assert_eq!(told(file, with(json!({ "protocol": "tcp" }))), "\n");
}

#[test]
fn a_resource_is_reached_by_the_policy_alone_and_opens_nothing() {
    let file = json!({ "policies": { "p": { "sources": ["a"], "destination_resource": "printer", "protocol": "tcp", "ports": [631] } } });
    assert_data_eq!(
        told(file.clone(), office(json!({}), json!({}))),
        str![[r#"
+ group "a" (2 machines) → network resource "printer" 10.20.0.9/32: tcp 631, by policy "p"

"#]]
    );
    let by_group = one(json!({ "destinations": ["things", "b"], "bidirectional": true }));
    assert_data_eq!(
        told(by_group, office(json!({}), json!({}))),
        str![[r#"
+ group "a" (2 machines) → group "b" (1 machine): everything, by policy "p"
+ group "a" (2 machines) → group "things" (1 resource): everything, by policy "p"
+ group "b" (1 machine) → group "a" (2 machines): everything, by policy "p"

"#]]
    );
    for (router, resource) in [
        (json!({ "enabled": false }), json!({})),
        (json!({}), json!({ "enabled": false })),
        (json!({ "peer_groups": groups(&["none"]) }), json!({})),
    ] {
        assert_data_eq!(
            told(file.clone(), office(router, resource)),
            str![[r#"
! nobody gets access by policy "p": no enabled router with a machine leads to network resource "printer", or the resource itself is disabled

"#]]
        );
    }
}

#[test]
fn who_routes_a_network_gets_no_route_to_it() {
    let file = json!({ "policies": { "p": { "sources": ["a", "r"], "destination_resource": "printer", "protocol": "tcp" } } });
    assert_data_eq!(
        told(file, office(json!({}), json!({}))),
        str![[r#"
+ group "a" (2 machines) → network resource "printer" 10.20.0.9/32: tcp on all ports, by policy "p"

"#]]
    );
}

#[test]
fn a_router_that_goes_closes_what_is_behind_it() {
    let resource = json!({ "destinationResource": { "id": id(Kind::NetworkResource, "printer"), "type": "host" }, "destinations": null });
    let live = over(
        office(json!({}), json!({})),
        json!({ "policies": [policy_with("p", &["a"], &["b"], resource)] }),
    );
    let file = json!({ "networks": { "office": { "routers": [{ "peer_groups": ["r"], "enabled": false }] } } });
    assert_data_eq!(
        told(file, live),
        str![[r#"
- group "a" (2 machines) → network resource "printer" 10.20.0.9/32: everything, by policy "p", because of network "office"

"#]]
    );
}

#[test]
fn all_among_sources_is_all() {
    let file = one(json!({ "sources": ["a", "All"], "protocol": "udp" }));
    assert_data_eq!(
        told(file, account(json!({}))),
        str![[r#"
+ group "All" (4 machines) → group "b" (1 machine): udp on all ports, by policy "p"
! every machine reaches group "b" (udp on all ports), by policy "p"

"#]]
    );
    let file = one(json!({ "sources": ["All"], "destinations": ["All"], "bidirectional": true }));
    assert_data_eq!(
        told(file, account(json!({}))),
        str![[r#"
+ group "All" (5 machines) → group "All" (5 machines): everything, by policy "p"
! every machine reaches every other machine on every port, by policy "p"

"#]]
    );
}

#[test]
fn who_joins_a_group_is_named() {
    let live = account(
        json!({ "policies": [policy_with("p", &["a"], &["b"], json!({ "bidirectional": false, "protocol": "tcp", "ports": ["22"] }))] }),
    );
    let file = json!({ "groups": { "a": { "peers": ["a1", "c1"] }, "b": {}, "c": {}, "r": {}, "none": {} } });
    let mut before = file.clone();
    before["groups"]["a"] = json!({ "peers": ["a1", "a2"] });
    let versions = [(MADE - 100, before), (MADE + 100, file.clone())];
    let case = Case::new(file, live).history(&versions);
    assert_data_eq!(
        told_of(&case, false),
        str![[r#"
- "a2" of group "a" → group "b" (1 machine): tcp 22, by policy "p", because of group "a"
+ "c1" of group "a" → group "b" (1 machine): tcp 22, by policy "p", because of group "a"

"#]]
    );
}

#[test]
fn a_pending_key_is_a_machine_to_come() {
    let live = account(
        json!({ "policies": [policy_with("p", &["a"], &["b"], json!({ "bidirectional": false }))], "setup_keys": [key("old", &["a"])] }),
    );
    let file = json!({ "setup_keys": {
        "old": { "type": "one-off", "expires_in": 5_184_000, "auto_groups": ["a"] },
        "new": { "type": "one-off", "expires_in": 5_184_000, "auto_groups": ["a"] },
    } });
    assert_data_eq!(
        told(file, live),
        str![[r#"
+ new machine (setup key "new") of group "a" → group "b" (1 machine): everything, by policy "p", because of setup key "new"

"#]]
    );
    // and one that is there is counted with the others
    let live = account(json!({ "setup_keys": [key("old", &["a"])] }));
    assert_data_eq!(
        told(one(json!({})), live),
        str![[r#"
+ group "a" (3 machines, 1 not enrolled yet) → group "b" (1 machine): everything, by policy "p"

"#]]
    );
}

#[test]
fn a_key_that_goes_was_in_the_groups_that_listed_it() {
    let key_of = json!({ "type": "one-off", "expires_in": LIFE, "auto_groups": ["c"] });
    let base = json!({ "groups": { "a": { "peers": ["a1", "a2", "k"] } }, "setup_keys": { "k": key_of, "other": key_of } });
    let mut file = base.clone();
    file["groups"]["a"]["peers"] = json!(["a1", "a2"]);
    file["setup_keys"]
        .as_object_mut()
        .expect("an object")
        .remove("k");
    let live = account(json!({
        "policies": [policy_with("p", &["a"], &["b"], json!({ "bidirectional": false }))],
        "setup_keys": [key("k", &["c"]), key("other", &["c"])],
    }));
    let recorded = json!({ "created": { "setup_keys/k": [key("k", &[])["id"]] } });
    let case = Case::new(file.clone(), live).inventory(recorded);
    let memberships = Memberships::between(
        &desired(&file),
        &desired(&base),
        &Default::default(),
        &Default::default(),
    );
    let delta = Delta::of(&case.actual(), &case.possible(), &memberships, false);
    let lines = access_lines(&delta.expect("not too much"));
    assert_data_eq!(
        lines.join("\n") + "\n",
        str![[r#"
- new machine (setup key "k") of group "a" → group "b" (1 machine): everything, by policy "p", because of setup key "k"

"#]]
    );
}

/// Of an entry's keys, of which one goes, the other one still lets the machine in.
#[test]
fn of_two_keys_of_one_entry_one_may_go() {
    let second = key_at("k", &["a"], MADE + 9);
    let ids = [key("k", &["a"])["id"].clone(), second["id"].clone()];
    let live = account(
        json!({ "policies": [policy_with("p", &["a"], &["b"], json!({ "bidirectional": false }))], "setup_keys": [key("k", &["a"]), second] }),
    );
    let file = json!({ "groups": { "a": {} }, "setup_keys": { "k": { "type": "one-off", "expires_in": LIFE, "auto_groups": ["a"] } } });
    let recorded =
        json!({ "created": { "groups/a": [id(Kind::Group, "a")], "setup_keys/k": ids } });
    let case = Case::new(file, live).inventory(recorded);
    let deleted = case.possible().changes;
    assert_eq!(deleted.len(), 1, "{deleted:?}");
    assert_eq!(told_of(&case, false), "\n");
}

#[test]
fn a_membership_to_come_is_told_where_the_file_grants_it() {
    let base = json!({ "groups": { "a": {} }, "setup_keys": { "k": { "type": "one-off", "expires_in": 60, "auto_groups": ["c"] } } });
    let mut file = base.clone();
    file["groups"]["a"] = json!({ "peers": ["a1", "a2", "k"] });
    let live = account(
        json!({ "policies": [policy_with("p", &["a"], &["b"], json!({ "bidirectional": false }))], "setup_keys": [key("k", &["c"])] }),
    );
    let case = Case::new(file.clone(), live);
    let plan = case.possible();
    let memberships = Memberships::between(
        &desired(&file),
        &desired(&base),
        &Default::default(),
        &Default::default(),
    );
    let delta = Delta::of(&case.actual(), &plan, &memberships, false).expect("not too much");
    assert_data_eq!(
        access_lines(&delta).join("\n"),
        str![[
            r#"+ new machine (setup key "k") of group "a" → group "b" (1 machine): everything, by policy "p", because of setup key "k""#
        ]]
    );
}

#[test]
fn a_rule_that_reaches_nobody_is_called_out() {
    for (policy, why) in [
        (
            json!({ "sources": ["none"] }),
            "there is no machine in group \"none\"",
        ),
        (
            json!({ "destinations": ["none"] }),
            "there is nothing in group \"none\"",
        ),
        (
            json!({ "sources": ["b"] }),
            "the only source is also the only destination",
        ),
    ] {
        let told = told(one(policy), account(json!({})));
        assert_eq!(
            told,
            format!("! nobody gets access by policy \"p\": {why}\n")
        );
    }
}

#[test]
fn why_a_rule_reaches_nobody_is_about_what_it_names_after() {
    let before = policy_with("p", &["a"], &["b"], json!({ "bidirectional": false }));
    let live = account(json!({ "policies": [before] }));
    for (policy, why) in [
        (
            json!({ "sources": ["none"] }),
            "no machine in group \"none\"",
        ),
        (
            json!({ "destinations": ["none"] }),
            "nothing in group \"none\"",
        ),
        (
            json!({ "sources": ["b"] }),
            "the only source is also the only destination",
        ),
    ] {
        let told = told(one(policy), live.clone());
        let idle = told.lines().find(|line| line.starts_with('!'));
        assert!(idle.is_some_and(|idle| idle.ends_with(why)), "{told}");
    }
    let file = json!({ "policies": { "p": { "sources": ["r"], "destination_resource": "printer", "protocol": "tcp" } } });
    assert_eq!(
        told(file, office(json!({}), json!({}))),
        "! nobody gets access by policy \"p\": every machine in group \"r\" is a router of network resource \"printer\"\n"
    );
}

#[test]
fn unmanaged_rules_count_and_old_ones_have_several() {
    let mut old = policy_with("old", &["c"], &["c"], json!({ "bidirectional": false }));
    let second = policy_with("old", &["a"], &["b"], json!({ "bidirectional": false }));
    let rules = old["rules"].as_array_mut().expect("rules");
    rules.push(second["rules"][0].clone());
    let case = Case::new(
        one(json!({ "protocol": "tcp" })),
        account(json!({ "policies": [old] })),
    );
    assert_data_eq!(
        told_of(&case, false),
        str![[r#"
already reachable: group "a" → group "b": tcp on all ports (policy "p", and also by policy "old")

"#]]
    );
}

#[test]
fn machines_are_named_one_by_one_where_somebody_asks() {
    let live = account(
        json!({ "policies": [policy_with("one", &["a"], &["b"], json!({ "bidirectional": false }))] }),
    );
    let file = json!({ "policies": {
        "one": { "sources": ["a"], "destinations": ["b"], "bidirectional": false },
        "p": { "sources": ["a", "c"], "destinations": ["b", "c"], "bidirectional": false },
    } });
    let case = Case::new(file, live);
    assert_data_eq!(
        told_of(&case, true),
        str![[r#"
+ "a1", "a2" of group "a" → "c1" of group "c": everything, by policy "p"
+ "c1" of group "c" → "b1" of group "b": everything, by policy "p"
already reachable: "a1", "a2" of group "a" → "b1" of group "b": everything (policy "p", and also by policy "one")

"#]]
    );
}

/// The answer to a question about a live account, in words.
fn answer(live: Value, from: &str, to: (End, &str), traffic: Option<Traffic>) -> String {
    let case = Case::new(json!({ "groups": { "a": {} } }), live);
    let question = Question {
        from: (End::Group, from.to_owned()),
        to: (to.0, to.1.to_owned()),
        traffic,
    };
    let answer = ask(&case.actual(), None, &Memberships::default(), &question);
    let answer = answer.expect("both are there");
    crate::render::testing::on_terminal(&crate::render::answer::tree(&answer, ("X", "Y", None)))
}

fn tcp(port: u16) -> Option<Traffic> {
    Some(Traffic {
        tcp: Ports::of([(port, port)]),
        ..Traffic::default()
    })
}
