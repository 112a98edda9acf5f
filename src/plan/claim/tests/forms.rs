//! Names and times are not enough: what the form of an object tells of who made it.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::kind::Kind;
use crate::testing::{
    Case, MADE, group, groups as ids, id, id_at, over, policy, policy_with, route, table,
};

const HOUR: i64 = 3600;

/// A file with the group `g` and `h` and this entry, or without it.
fn file(section: &str, entry: Option<&Value>) -> Value {
    let mut file = json!({ "groups": { "g": {}, "h": {} } });
    file[section] = json!({});
    if let Some(entry) = entry {
        file[section]["x"] = entry.clone();
    }
    file
}

/// What comes of these live objects, all called `x`: while the file declares the entry, and once it was removed. The file
/// declared it at `MADE`, and since a day later as the second version has it.
fn row(section: &str, versions: &[Value], live: Vec<Value>) -> String {
    let mut account = json!({ "groups": [group("g", &[]), group("h", &[])] });
    account[section] = Value::Array(live);
    let mut history: Vec<(i64, Value)> = versions
        .iter()
        .zip(0..)
        .map(|(version, day)| (MADE + day * 24 * HOUR, file(section, Some(version))))
        .collect();
    let last = versions.last().expect("a version");
    let declared = Case::new(file(section, Some(last)), account.clone()).history(&history);
    history.push((MADE + 200 * HOUR, file(section, None)));
    let removed = Case::new(file(section, None), account).history(&history);
    format!(
        "declared\n{}removed\n{}",
        indented(&declared.outcome()),
        indented(&removed.outcome())
    )
}

fn indented(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("held back"));
    lines.map(|line| format!("  {line}\n")).collect()
}

fn at(live: Value, kind: Kind, hours: i64) -> Value {
    let mut live = live;
    live["id"] = json!(id_at(kind, "x", MADE + hours * HOUR));
    live
}

#[test]
fn routes() {
    let entry =
        |network: &str, routers: &str| json!({ "network": network, "peer_groups": [routers] });
    let ours = entry("10.1.0.0/16", "g");
    let live = |hours, network: &str, routers: &str| {
        at(route("x", network, &[routers]), Kind::Route, hours)
    };
    let single = |hours| {
        let through =
            json!({ "peer": id(Kind::Peer, "m"), "peer_groups": null, "network": "10.1.0.0/16" });
        at(
            over(route("x", "10.1.0.0/16", &[]), through),
            Kind::Route,
            hours,
        )
    };
    let row = |versions: &[Value], live| row("routes", versions, live);
    let ours = &[ours];
    let rows = [
        ("as declared", row(ours, vec![live(0, "10.1.0.0/16", "g")])),
        (
            "and one through a peer",
            row(ours, vec![live(0, "10.1.0.0/16", "g"), single(50)]),
        ),
        (
            "and one through another group",
            row(
                ours,
                vec![live(0, "10.1.0.0/16", "g"), live(50, "10.1.0.0/16", "h")],
            ),
        ),
        (
            "and one for another network",
            row(
                ours,
                vec![live(0, "10.1.0.0/16", "g"), live(50, "10.2.0.0/16", "g")],
            ),
        ),
        (
            "as the version before",
            row(
                &[entry("10.9.0.0/16", "g"), ours[0].clone()],
                vec![live(0, "10.9.0.0/16", "g"), single(50)],
            ),
        ),
        (
            "changed to another network by hand",
            row(ours, vec![live(0, "10.7.0.0/16", "g")]),
        ),
        ("changed to a peer by hand", row(ours, vec![single(0)])),
        (
            "only one through a peer, made later",
            row(ours, vec![single(50)]),
        ),
        (
            "only others' ones",
            row(ours, vec![single(1), single(50), single(51), single(60)]),
        ),
        (
            "neither network nor routers were ever declared",
            row(ours, vec![live(50, "10.3.0.0/16", "h")]),
        ),
        (
            "older, as the file has it",
            row(ours, vec![live(-50, "10.1.0.0/16", "g")]),
        ),
        ("older, through a peer", row(ours, vec![single(-50)])),
    ];
    assert_data_eq!(table(rows), str![[r#"
as declared
    declared
      nothing
    removed
      delete route x: no longer declared
and one through a peer
    declared
      unmanaged: route x
      note: route "x" has a namesake in NetBird that is not this file's and is left alone: dapvl850refg0m8bdc90 (through a single peer)
    removed
      delete route x: no longer declared
      unmanaged: route x
and one through another group
    declared
      unmanaged: route x
      note: route "x" has a namesake in NetBird that is not this file's and is left alone: dapvl850refg0m8bdc90 (one more route of that name)
    removed
      delete route x: no longer declared
      unmanaged: route x
and one for another network
    declared
      unmanaged: route x
      note: route "x" has a namesake in NetBird that is not this file's and is left alone: dapvl850refg0m8bdc90 (one more route of that name)
    removed
      delete route x: no longer declared
      unmanaged: route x
as the version before
    declared
      update route x
          network "10.9.0.0/16" → "10.1.0.0/16"
      unmanaged: route x
      note: route "x" has a namesake in NetBird that is not this file's and is left alone: dapvl850refg0m8bdc90 (through a single peer)
    removed
      delete route x: no longer declared
      unmanaged: route x
changed to another network by hand
    declared
      update route x
          network "10.7.0.0/16" → "10.1.0.0/16"
    removed
      held: route x: it was changed by hand into what the file never said
changed to a peer by hand
    declared
      update route x
          peer "(deleted peer daojn06d1kv89ei3gkm0)" → null
          peer_groups [] → ["g"]
    removed
      held: route x: it was changed by hand into what the file never said
only one through a peer, made later
    declared
      create route x
      unmanaged: route x
      note: route "x" has a namesake in NetBird that is not this file's and is left alone: dapvl850refg0m8bdc90 (through a single peer)
    removed
      unmanaged: route x
only others' ones
    declared
      create route x
      unmanaged: route x
      note: route "x" has a namesake in NetBird that is not this file's and is left alone: daokj450refg0m8bdc90 (through a single peer), dapvl850refg0m8bdc90 (through a single peer), daq0hc50refg0m8bdc90 (through a single peer), daq8eg50refg0m8bdc90 (through a single peer)
    removed
      unmanaged: route x
neither network nor routers were ever declared
    declared
      create route x
      unmanaged: route x
      note: route "x" has a namesake in NetBird that is not this file's and is left alone: dapvl850refg0m8bdc90 (one more route of that name)
    removed
      unmanaged: route x
older, as the file has it
    declared
      note: route "x" lives in NetBird already: the file takes it over
    removed
      held: route x: it was there before the file declared it
older, through a peer
    declared
      update route x [made -180000 s]
          peer "(deleted peer daojn06d1kv89ei3gkm0)" → null
          peer_groups [] → ["g"]
      note: route "x" lives in NetBird already: the file takes it over
    removed
      unmanaged: route x

"#]].raw());
}

#[test]
fn policies() {
    let ours = &[json!({ "sources": ["g"], "destinations": ["h"] })];
    let live = |hours, sources: &[&str], destinations: &[&str]| {
        at(policy("x", sources, destinations), Kind::Policy, hours)
    };
    let resource =
        json!({ "destinations": null, "destinationResource": { "id": "r1", "type": "host" } });
    let to_resource = |hours| {
        let policy = policy_with("x", &["g"], &[], resource.clone());
        at(policy, Kind::Policy, hours)
    };
    let checked = |live: Value| over(live, json!({ "source_posture_checks": ["check1"] }));
    let ssh = |sources: &[&str]| {
        let users = json!({ "protocol": "netbird-ssh", "authorized_groups": { ids(&["g"])[0].clone(): ["root"] } });
        at(policy_with("x", sources, &["h"], users), Kind::Policy, 0)
    };
    let two_rules = |hours| {
        let mut policy = live(hours, &["g"], &["h"]);
        let rule = policy["rules"][0].clone();
        policy["rules"].as_array_mut().expect("rules").push(rule);
        policy
    };
    let row = |live| row("policies", ours, live);
    let rows = [
        ("as declared", row(vec![live(0, &["g"], &["h"])])),
        (
            "sources changed by hand",
            row(vec![live(0, &["g", "h"], &["h"])]),
        ),
        ("nothing as declared", row(vec![live(0, &["h"], &["g"])])),
        (
            "and one to a resource",
            row(vec![live(0, &["g"], &["h"]), to_resource(50)]),
        ),
        (
            "only one to a resource, made later",
            row(vec![to_resource(50)]),
        ),
        ("changed to a resource by hand", row(vec![to_resource(0)])),
        (
            "a posture check was added",
            row(vec![checked(live(0, &["g"], &["h"]))]),
        ),
        (
            "and one with posture checks",
            row(vec![
                live(0, &["g"], &["h"]),
                checked(live(50, &["g"], &["h"])),
            ]),
        ),
        ("users who may log in were added", row(vec![ssh(&["g"])])),
        ("of several rules", row(vec![two_rules(0)])),
        (
            "and one of several rules",
            row(vec![live(0, &["g"], &["h"]), two_rules(50)]),
        ),
        (
            "two that a file can say",
            row(vec![live(0, &["g"], &["h"]), live(50, &["h"], &["g"])]),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
as declared
    declared
      nothing
    removed
      delete policy x: no longer declared
sources changed by hand
    declared
      update policy x
          sources ["g","h"] → ["g"]
    removed
      delete policy x: no longer declared
nothing as declared
    declared
      update policy x
          destinations ["g"] → ["h"]
          sources ["h"] → ["g"]
    removed
      held: policy x: it was changed by hand into what the file never said
and one to a resource
    declared
      unmanaged: policy x
      note: policy "x" has a namesake in NetBird that is not this file's and is left alone: dapvl864mr24fain3mig (to or from a resource or a peer)
    removed
      delete policy x: no longer declared
      unmanaged: policy x
only one to a resource, made later
    declared
      create policy x
      unmanaged: policy x
      note: policy "x" has a namesake in NetBird that is not this file's and is left alone: dapvl864mr24fain3mig (to or from a resource or a peer)
    removed
      unmanaged: policy x
changed to a resource by hand
    declared
      update policy x
          destination_resource "(network resource r1)" → null
          destinations [] → ["h"]
    removed
      held: policy x: it was changed by hand into what the file never said
a posture check was added
    declared
      nothing
    removed
      held: policy x: it was changed by hand into what the file never said
and one with posture checks
    declared
      unmanaged: policy x
      note: policy "x" has a namesake in NetBird that is not this file's and is left alone: dapvl864mr24fain3mig (with posture checks or users who may log in)
    removed
      delete policy x: no longer declared
      unmanaged: policy x
users who may log in were added
    declared
      nothing
    removed
      held: policy x: it was changed by hand into what the file never said
of several rules
    declared
      impossible: policy x has 2 rules in NetBird, and the file can say one; an update cannot take rules out | look at the rules in NetBird; --replace policies/x makes it anew with the declared one alone
    removed
      unmanaged: policy x
and one of several rules
    declared
      unmanaged: policy x
      note: policy "x" has a namesake in NetBird that is not this file's and is left alone: dapvl864mr24fain3mig (of several rules or none)
    removed
      delete policy x: no longer declared
      unmanaged: policy x
two that a file can say
    declared
      impossible: policy x is the name of 2 policies in NetBird: daojn064mr24fain3mig, dapvl864mr24fain3mig | nobody can tell which one is meant; rename or delete the others in NetBird
    removed
      delete policy x: no longer declared
      unmanaged: policy x

"#]].raw());
}

/// A group's name may have been another one when the version was written.
#[test]
fn names_of_groups_are_followed_through_renames() {
    let entry = |group: &str| json!({ "network": "10.1.0.0/16", "peer_groups": [group] });
    let old = json!({ "groups": { "old": {} }, "routes": { "x": entry("old") } });
    let new = json!({ "groups": { "g": { "renamed_from": "old" } }, "routes": {} });
    let account = json!({ "groups": [over(group("g", &[]), json!({ "name": "old" }))],
                          "routes": [route("x", "10.1.0.0/16", &["g"])] });
    let case = Case::new(new.clone(), account).history(&[(MADE, old), (MADE + HOUR, new)]);
    assert_data_eq!(
        case.outcome(),
        str![[r#"
update group g
    name "old" → "g"
delete route x: no longer declared

"#]]
        .raw()
    );
}
