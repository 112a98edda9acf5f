//! Networks with their resources and routers: from the file to the server, and back out of it.

mod inside;

use serde_json::{Value, json};

use crate::run::{Bench, id};

fn file(networks: Value) -> Value {
    json!({ "groups": { "gw": {}, "gw2": {}, "hosts": {} }, "networks": networks })
}

fn office() -> Value {
    json!({
        "resources": {
            "printer": { "address": "10.20.0.9", "groups": ["hosts"] },
            "lan": { "address": "10.20.0.0/16" },
        },
        "routers": [{ "peer_groups": ["gw"], "metric": 10 }],
    })
}

/// The routers of the network, with the names of their groups.
fn routers(bench: &Bench, network: &str) -> Vec<Value> {
    let network = bench.one("/networks", network);
    let list = format!("/networks/{}/routers", id(&network));
    bench.server().list(&list)
}

#[test]
fn a_network_follows_the_file() {
    let bench = Bench::scenario();
    bench.agreed(file(json!({ "office": office() })));
    let (network, printer) = (
        bench.id("/networks", "office"),
        bench.one("/networks/resources", "printer"),
    );
    assert_eq!(
        (&printer["address"], &printer["enabled"]),
        (&json!("10.20.0.9/32"), &json!(true))
    );
    assert_eq!(
        printer["groups"][0]["id"],
        json!(bench.id("/groups", "hosts"))
    );
    // every field changes in place
    bench.file(file(json!({ "office": {
        "description": "Ground floor",
        "resources": {
            "printer": { "address": "*.print.example", "groups": ["gw", "hosts"], "enabled": false, "description": "loud" },
            "lan": { "address": "10.20.0.0/16" },
        },
        "routers": [{ "peer_groups": ["gw", "gw2"], "metric": 20, "masquerade": false, "enabled": false }],
    } })));
    bench.apply(&[]).expect(0).shows("3 changed");
    let now = bench.one("/networks/resources", "printer");
    assert_eq!((id(&now), &now["type"]), (id(&printer), &json!("domain")));
    assert_eq!(
        bench.one("/networks", "office")["description"],
        "Ground floor"
    );
    let router = &routers(&bench, "office")[0];
    assert_eq!(
        (&router["metric"], &router["masquerade"], &router["enabled"]),
        (&json!(20), &json!(false), &json!(false))
    );
    assert_eq!(bench.id("/networks", "office"), network);
    bench.plan(&["--detailed-exitcode"]).expect(0);
    bench.file(file(json!({ "office": office() })));
    bench.apply(&[]).expect(0);
    bench.plan(&["--detailed-exitcode"]).expect(0);
    // and all of it goes, from the inside; a real account has more than this
    if bench.server().netbird().is_some() {
        bench.file(json!({ "groups": { "gw": {}, "gw2": {}, "hosts": {} }, "networks": {} }));
        bench.apply(&["--prune", "all"]).expect(0);
        assert_eq!(bench.names("/networks"), Vec::<String>::new());
        assert_eq!(bench.names("/networks/resources"), Vec::<String>::new());
    }
}

#[test]
fn a_router_that_is_off_is_made_and_then_switched_off() {
    let bench = Bench::scenario();
    let network = json!({ "routers": [{ "peer_groups": ["gw"], "enabled": false }] });
    bench.agreed(file(json!({ "office": network })));
    assert_eq!(routers(&bench, "office")[0]["enabled"], false);
}

#[test]
fn a_resource_moves_with_its_id_its_groups_and_the_policies_to_it() {
    let bench = Bench::scenario();
    let both = |office: Value, lab: Value| {
        file(json!({ "office": { "resources": office }, "lab": { "resources": lab } }))
    };
    let printer = json!({ "printer": { "address": "10.20.0.9", "groups": ["hosts"] } });
    bench.agreed(both(printer.clone(), json!({})));
    let before = bench.id("/networks/resources", "printer");
    bench.file(both(json!({}), printer.clone()));
    bench.plan(&[]).expect(0).shows("network  office → lab");
    bench.apply(&[]).expect(0).shows("1 changed");
    assert_eq!(bench.id("/networks/resources", "printer"), before);
    assert_eq!(bench.one("/networks", "lab")["resources"], json!([before]));
    bench.plan(&["--detailed-exitcode"]).expect(0);
    // into a network that is made by the same plan
    let new = file(
        json!({ "office": { "resources": {} }, "lab": { "resources": {} }, "new": { "resources": printer } }),
    );
    bench
        .file(new)
        .apply(&[])
        .expect(0)
        .shows("1 created, 1 changed");
    assert_eq!(bench.one("/networks", "new")["resources"], json!([before]));
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_network_that_is_left_goes_after_its_resource_moved() {
    let bench = Bench::in_git();
    let printer = json!({ "printer": { "address": "10.20.0.9" } });
    bench.applied(0.0, file(json!({ "office": { "resources": printer } })));
    let before = bench.id("/networks/resources", "printer");
    bench.declared(1.0, file(json!({ "lab": { "resources": printer } })));
    bench
        .apply(&[])
        .expect(0)
        .shows("1 created, 1 changed, 1 deleted");
    assert_eq!(bench.names("/networks"), ["lab"]);
    assert_eq!(bench.id("/networks/resources", "printer"), before);
}

#[test]
fn renames_keep_ids() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({ "office": office() })));
    let ids = (
        bench.id("/networks", "office"),
        bench.id("/networks/resources", "printer"),
    );
    let mut renamed = office();
    renamed["renamed_from"] = json!("office");
    let mut resources = renamed["resources"].take();
    let mut printer = resources["printer"].take();
    printer["renamed_from"] = json!("printer");
    renamed["resources"] = json!({ "copier": printer, "lan": resources["lan"] });
    bench.applied(1.0, file(json!({ "hq": renamed })));
    assert_eq!(
        (
            bench.id("/networks", "hq"),
            bench.id("/networks/resources", "copier")
        ),
        ids
    );
    // ours under the new names, too
    bench.declared(
        2.0,
        file(json!({ "hq": { "resources": {}, "routers": [] } })),
    );
    let planned = bench.planned(&[]);
    assert!(
        planned.contains(&"delete_network_resource copier".to_owned()),
        "{planned:?}"
    );
    assert!(
        planned.contains(&"delete_network_router of network hq".to_owned()),
        "{planned:?}"
    );
}

#[test]
fn what_others_put_into_our_network_keeps_it() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({ "office": office() })));
    bench.hour(1.0);
    let network = bench.id("/networks", "office");
    let nas = json!({ "name": "nas", "address": "10.20.0.7", "enabled": true, "groups": [] });
    bench.create(&format!("/networks/{network}/resources"), nas);
    let router =
        json!({ "peer_groups": [bench.id("/groups", "gw2")], "metric": 5, "enabled": true });
    bench.create(&format!("/networks/{network}/routers"), router);
    bench
        .leaves_all(&[])
        .says_anywhere("NetBird has another network router of network \"office\" (id ");
    bench.declared(2.0, file(json!({})));
    bench
        .apply(&["--allow-deletes", "3"])
        .expect(0)
        .shows("3 deleted")
        .shows("Held back:\n  network \"office\" (")
        .shows("network resource \"nas\" (")
        .shows("network router of network \"office\" (");
    assert_eq!(bench.names("/networks/resources"), ["nas"]);
}

#[test]
fn a_policy_that_names_a_resource_keeps_it() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({ "office": office() })));
    bench.hour(1.0);
    let (printer, gw) = (
        bench.id("/networks/resources", "printer"),
        bench.id("/groups", "gw"),
    );
    let rule = json!({ "name": "p", "enabled": true, "action": "accept", "bidirectional": false, "protocol": "all",
                       "sources": [gw], "destinationResource": { "id": printer, "type": "host" } });
    bench.create(
        "/policies",
        json!({ "name": "p", "enabled": true, "rules": [rule] }),
    );
    bench.declared(2.0, file(json!({})));
    bench
        .apply(&["--allow-deletes", "2"])
        .expect(0)
        .shows("Held back:")
        .shows("network resource \"printer\" (")
        .shows("it is still used by policy \"p\" (");
    assert_eq!(bench.names("/networks/resources"), ["printer"]);
    assert_eq!(bench.names("/networks"), ["office"]);
}

#[test]
fn a_group_keeps_the_resources_that_say_they_are_in_it() {
    let bench = Bench::scenario_that_enrolls();
    let keys = bench.enrolled(&["m1"]);
    let both = |peers: Value| {
        let mut file = file(json!({ "office": office() }));
        file["groups"]["hosts"] = json!({ "peers": peers });
        file["setup_keys"] = keys.clone();
        file
    };
    bench.agreed(both(json!([])));
    bench.file(both(json!(["m1"]))).apply(&[]).expect(0);
    let hosts = bench.one("/groups", "hosts");
    assert_eq!(
        (&hosts["peers_count"], &hosts["resources_count"]),
        (&json!(1), &json!(1))
    );
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn what_is_exported_and_adopted_plans_nothing() {
    let bench = Bench::fake();
    let gw = bench.group("gw");
    let network = id(&bench.create(
        "/networks",
        json!({ "name": "office", "description": "Ground floor" }),
    ));
    for (name, address) in [
        ("printer", "10.20.0.9"),
        ("lan", "10.20.0.0/16"),
        ("web", "*.corp.example"),
    ] {
        let resource =
            json!({ "name": name, "address": address, "enabled": name != "lan", "groups": [gw] });
        bench.create(&format!("/networks/{network}/resources"), resource);
    }
    let router = json!({ "peer_groups": [gw], "metric": 0, "masquerade": true, "enabled": true });
    bench.create(&format!("/networks/{network}/routers"), router);
    let text = bench.run(&["export"]).expect(0).stdout;
    let exported: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        exported["networks"]["office"]["resources"]["printer"]["address"],
        "10.20.0.9"
    );
    bench.text(&text).plan(&["--detailed-exitcode"]).expect(0);
    bench.file(json!({ "groups": { "gw": {} } }));
    bench.run(&["adopt", "networks/office"]).expect(0);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_policy_leads_to_a_resource_of_the_same_file() {
    let bench = Bench::in_git();
    let with = |resources: Value, to: &str| {
        let mut file = file(json!({ "office": { "resources": resources } }));
        file["policies"] = json!({ "print": { "sources": ["hosts"], "destination_resource": to, "protocol": "tcp", "ports": [631] } });
        file
    };
    let printer = json!({ "address": "10.20.0.9" });
    bench.applied(0.0, with(json!({ "printer": printer }), "printer"));
    let (made, policy) = (
        bench.id("/networks/resources", "printer"),
        bench.id("/policies", "print"),
    );
    let target = |bench: &Bench| {
        let policy = bench.one("/policies", "print");
        policy["rules"][0]["destinationResource"]["id"].clone()
    };
    assert_eq!(target(&bench), json!(made));
    // a renamed one is the same one, so the policy does not change
    let renamed = json!({ "printer-1": { "address": "10.20.0.9", "renamed_from": "printer" } });
    bench.declared(1.0, with(renamed, "printer-1"));
    bench.apply(&[]).expect(0).shows("1 changed");
    assert_eq!(target(&bench), json!(made));
    bench.plan(&["--detailed-exitcode"]).expect(0);
    // the policy goes over to another one before this one goes
    bench.declared(
        2.0,
        with(
            json!({ "printer-2": { "address": "10.20.0.10" } }),
            "printer-2",
        ),
    );
    bench.apply(&[]).expect(0).shows("1 created, 1 changed");
    assert_eq!(
        target(&bench),
        json!(bench.id("/networks/resources", "printer-2"))
    );
    assert_eq!(bench.names("/networks/resources"), ["printer-2"]);
    assert_eq!(bench.id("/policies", "print"), policy);
    bench.plan(&["--detailed-exitcode"]).expect(0);
    // what the file's own policy names does not go
    bench.declared(3.0, with(json!({}), "printer-2"));
    bench.plan(&[]).expect(1).says("printer-2");
    bench.declared(4.0, with(json!({}), "printer"));
    bench
        .plan(&[])
        .expect(1)
        .says("network resource \"printer\"")
        .says("which is neither declared nor in NetBird");
    bench.declared(
        5.0,
        json!({ "groups": { "gw": {}, "gw2": {}, "hosts": {} }, "networks": {}, "policies": {} }),
    );
    bench.apply(&[]).expect(0).shows("3 deleted");
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

/// NetBird 0.64.3 and later take them.
#[test]
fn a_domain_of_one_part_and_one_with_an_underscore_are_resources() {
    let bench = Bench::scenario();
    let resources =
        json!({ "nas": { "address": "nas" }, "wiki": { "address": "team_wiki.hq.example" } });
    bench.agreed(file(json!({ "office": { "resources": resources } })));
    bench.plan(&[]).expect(0).shows("No changes");
    assert_eq!(bench.one("/networks/resources", "nas")["type"], "domain");
    let wiki = bench.one("/networks/resources", "wiki");
    assert_eq!(wiki["address"], "team_wiki.hq.example");
}

/// A router has no name: the section says of which network it is.
#[test]
fn routers_that_left_the_file_with_their_list_are_said_without_a_name() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({ "office": office() })));
    let mut alone = office();
    alone.as_object_mut().unwrap().remove("routers");
    bench.declared(1.0, file(json!({ "office": alone })));
    bench.leaves_all(&[]).says_anywhere(
        "section \"routers\" of network \"office\" is no longer in the file, so nothing in it is managed any more. 1 network \
         router stays in NetBird as before. To manage it again",
    );
}

#[test]
fn a_router_that_was_deleted_by_hand_is_missing_and_by_whom() {
    let bench = Bench::in_git();
    bench.applied(
        0.0,
        file(json!({ "lab": office_of(19), "office": office() })),
    );
    bench.hour(1.0);
    let network = bench.id("/networks", "office");
    let path = format!(
        "/networks/{network}/routers/{}",
        id(&routers(&bench, "office")[0])
    );
    bench.netbird().call("DELETE", &path, Value::Null);
    let drift = bench.run(&["drift", "--format", "json"]).expect(2).json();
    assert_eq!(drift["missing"][0]["kind"], "network_router");
    assert!(drift["missing"][0]["by"].is_string(), "{drift}");
}

/// A network that is none of the office's.
fn office_of(net: u8) -> Value {
    json!({ "resources": {}, "routers": [{ "peer_groups": ["gw"], "metric": net }] })
}
