//! Who else is there: what others put into networks, name or change, and servers without them.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Bench, id};

/// A file with these networks.
fn file(networks: Value) -> Value {
    json!({ "groups": { "g": {}, "h": {} }, "networks": networks })
}

/// A file with one network.
fn office(resources: Value, routers: Value) -> Value {
    file(json!({ "office": { "resources": resources, "routers": routers } }))
}

/// The resources of a network as `NAME ADDRESS`, sorted.
fn resources(bench: &Bench, network: &str) -> Vec<String> {
    let path = format!("/networks/{}/resources", bench.id("/networks", network));
    let list = bench.server().list(&path);
    let all = list.iter().map(|resource| {
        let name = bench.server().own_name(resource).expect("the bench's own");
        format!("{name} {}", resource["address"].as_str().unwrap())
    });
    let mut all: Vec<String> = all.collect();
    all.sort();
    all
}

/// The routers of a network, the oldest first.
fn routers(bench: &Bench, network: &str) -> Vec<Value> {
    let path = format!("/networks/{}/routers", bench.id("/networks", network));
    let mut list = bench.server().list(&path);
    list.sort_by_key(id);
    list
}

/// Makes a resource by hand; returns its id.
fn by_hand(bench: &Bench, network: &str, name: &str, address: &str) -> String {
    let path = format!("/networks/{}/resources", bench.id("/networks", network));
    let body = json!({ "name": name, "address": address, "enabled": true, "groups": [] });
    id(&bench.create(&path, body))
}

fn resource_path(bench: &Bench, network: &str, name: &str) -> String {
    let network = bench.id("/networks", network);
    let resource = bench.id("/networks/resources", name);
    format!("/networks/{network}/resources/{resource}")
}

#[test]
fn what_nobody_speaks_of_is_left_alone_and_empty_wants_none() {
    // all else goes, so no other test may be there
    let bench = Bench::fake();
    bench.agreed(file(json!({ "office": {} })));
    by_hand(&bench, "office", "nas", "10.1.1.1");
    bench
        .file(file(json!({ "office": { "description": "x" } })))
        .apply(&["--prune", "all"])
        .expect(0);
    assert_eq!(resources(&bench, "office"), ["nas 10.1.1.1/32"]);
    bench.file(file(json!({ "office": { "resources": {} } })));
    bench.apply(&[]).expect(0);
    assert_eq!(resources(&bench, "office"), ["nas 10.1.1.1/32"]);
    bench
        .apply(&["--prune", "all", "--allow-deletes", "1"])
        .expect(0);
    assert_eq!(resources(&bench, "office"), Vec::<String>::new());
}

/// The server has each name of a resource once in an account, so no second one can be made.
#[test]
fn somebodys_resource_of_a_declared_name_is_adopted_and_moves() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({ "office": { "resources": {} } })));
    bench.create("/networks", json!({ "name": "theirs" }));
    let before = by_hand(&bench, "theirs", "nas", "10.1.1.1");
    let nas = json!({ "nas": { "address": "10.1.1.1" } });
    bench.declared(1.0, file(json!({ "office": { "resources": nas } })));
    bench
        .plan(&[])
        .expect(0)
        .shows("network  theirs \u{2192} office")
        .shows("=  network resource  nas  exists in NetBird; this file manages it from now on");
    bench.apply(&[]).expect(0).shows("1 changed, 1 adopted");
    assert_eq!(resources(&bench, "office"), ["nas 10.1.1.1/32"]);
    assert_eq!(bench.id("/networks/resources", "nas"), before);
    assert_eq!(bench.names("/networks"), ["office", "theirs"]);
}

/// A network that a colleague made with the name of ours is never ours, nor is what is in it.
#[test]
fn a_second_network_of_our_name_stays_with_what_is_in_it() {
    let bench = Bench::in_git();
    let printer = json!({ "printer": { "address": "10.20.0.9" } });
    bench.applied(0.0, office(printer, json!([{ "peer_groups": ["g"] }])));
    bench.hour(1.0);
    let second = id(&bench.create("/networks", json!({ "name": "office" })));
    let router = json!({ "peer_groups": [bench.id("/groups", "g")], "metric": 9999, "masquerade": true, "enabled": true });
    bench.create(&format!("/networks/{second}/routers"), router);
    let nas = json!({ "name": "nas", "address": "10.1.1.1", "enabled": true, "groups": [] });
    bench.create(&format!("/networks/{second}/resources"), nas);
    let said = format!("NetBird has another network with the name \"office\" (id {second})");
    bench.leaves_all(&[]).says_anywhere(&said);
    bench.declared(2.0, file(json!({})));
    bench.apply(&[]).expect(0).shows("3 deleted");
    assert_eq!(bench.id("/networks", "office"), second);
    assert_eq!(
        (
            resources(&bench, "office").len(),
            routers(&bench, "office").len()
        ),
        (1, 1)
    );
}

/// Two runs at once can make two networks of one entry. The younger one goes once its resource moved to the older one.
#[test]
fn of_two_networks_of_one_entry_the_first_gets_what_is_in_the_second() {
    let bench = Bench::fake();
    let wanted = office(
        json!({ "nas": { "address": "10.1.1.1", "groups": ["g"] } }),
        json!([{ "peer_groups": ["h"] }]),
    );
    bench.agreed(office(json!({}), json!([])));
    let first = bench.id("/networks", "office");
    let groups = ["g", "h"].map(|name| bench.id("/groups", name));
    let second = id(&bench.as_program("POST", "/networks", json!({ "name": "office" })));
    let within = |kind: &str| format!("/networks/{second}/{kind}");
    let nas =
        json!({ "name": "nas", "address": "10.1.1.1", "enabled": true, "groups": [groups[0]] });
    let nas = id(&bench.as_program("POST", &within("resources"), nas));
    let router =
        json!({ "peer_groups": [groups[1]], "metric": 9999, "masquerade": true, "enabled": true });
    bench.as_program("POST", &within("routers"), router);
    bench.file(wanted);
    bench.plan(&[]).expect(0).shows("→ office");
    bench.apply(&[]).expect(0);
    bench.plan(&[]).expect(0).shows("No changes");
    assert_eq!(bench.id("/networks", "office"), first);
    assert_eq!(bench.id("/networks/resources", "nas"), nas);
    assert_eq!(resources(&bench, "office"), ["nas 10.1.1.1/32"]);
    assert_eq!(routers(&bench, "office").len(), 1);
}

#[test]
fn where_all_else_goes_somebodys_resource_moves_with_the_policy_to_it() {
    let bench = Bench::fake();
    bench.agreed(file(json!({ "office": { "resources": {} } })));
    bench.create("/networks", json!({ "name": "theirs" }));
    let before = by_hand(&bench, "theirs", "nas", "10.1.1.1");
    policy_to(&bench, "nas");
    bench.file(office(
        json!({ "nas": { "address": "10.1.1.1" } }),
        json!([]),
    ));
    bench
        .apply(&["--prune", "all"])
        .expect(0)
        .shows("1 changed, 1 deleted");
    assert_eq!(bench.id("/networks/resources", "nas"), before);
    assert_eq!(bench.names("/networks"), ["office"]);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_leftover_router_becomes_the_one_that_is_missing() {
    let bench = Bench::in_git();
    let of = |routers: Value| office(json!({}), routers);
    bench.applied(
        0.0,
        of(json!([{ "peer_groups": ["g"], "metric": 5 }, { "peer_groups": ["h"] }])),
    );
    let before: Vec<String> = routers(&bench, "office").iter().map(id).collect();
    let mut other = of(json!([{ "peer_groups": ["g", "h"] }, { "peer_groups": ["h"] }]));
    other["groups"]["i"] = json!({});
    bench.declared(1.0, other);
    bench.apply(&[]).expect(0).shows("1 created, 1 changed");
    let after: Vec<String> = routers(&bench, "office").iter().map(id).collect();
    assert_eq!(after, before);
    assert_eq!(routers(&bench, "office")[0]["metric"], 5);
    // one of two goes, by the commit that took it out
    bench.declared(2.0, of(json!([{ "peer_groups": ["h"] }])));
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    let operations = plan["operations"].as_array().unwrap();
    let gone = operations
        .iter()
        .find(|one| one["type"] == "delete_network_router");
    let gone = gone.unwrap_or_else(|| panic!("{plan:#}"));
    assert_eq!(gone["within"], "office");
    assert!(gone["cause"].is_string(), "{gone:#}");
    bench.apply(&[]).expect(0);
    assert_eq!(routers(&bench, "office").len(), 1);
}

#[test]
fn somebodys_router_beside_ours_is_left_alone() {
    let bench = Bench::in_git();
    bench.applied(0.0, office(json!({}), json!([{ "peer_groups": ["g"] }])));
    bench.hour(1.0);
    let path = format!("/networks/{}/routers", bench.id("/networks", "office"));
    let h = bench.id("/groups", "h");
    bench.create(
        &path,
        json!({ "peer_groups": [h], "metric": 1, "masquerade": true, "enabled": true }),
    );
    bench
        .leaves_all(&[])
        .says_anywhere("NetBird has another network router of network \"office\" (id ");
    assert_eq!(routers(&bench, "office").len(), 2);
}

#[test]
fn a_resource_moves_and_is_renamed_and_changed_at_once() {
    let bench = Bench::in_git();
    let printer = json!({ "printer": { "address": "10.20.0.9" } });
    let both = |office: Value, lab: Value| {
        file(json!({ "office": { "resources": office }, "lab": { "resources": lab } }))
    };
    bench.applied(0.0, both(printer.clone(), json!({})));
    let before = bench.id("/networks/resources", "printer");
    let plotter = json!({ "plotter": { "address": "10.20.0.10", "groups": ["g"], "renamed_from": "printer" } });
    bench.declared(1.0, both(json!({}), plotter));
    bench.apply(&[]).expect(0).shows("1 changed");
    assert_eq!(bench.id("/networks/resources", "plotter"), before);
    assert_eq!(resources(&bench, "lab"), ["plotter 10.20.0.10/32"]);
    bench.plan(&["--detailed-exitcode"]).expect(0);
    // and out of a network that is renamed by the same change
    let renamed = json!({ "hall": { "renamed_from": "lab", "resources": {} }, "office": { "resources": { "plotter": { "address": "10.20.0.10" } } } });
    bench.declared(2.0, file(renamed));
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/networks/resources", "plotter"), before);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn equal_routers_of_two_networks_are_no_namesakes() {
    let bench = Bench::scenario();
    let router = json!({ "resources": {}, "routers": [{ "peer_groups": ["g"] }] });
    bench.agreed(file(json!({ "office": router })));
    let first = id(&routers(&bench, "office")[0]);
    bench.agreed(file(json!({ "office": router, "lab": router })));
    assert_eq!(id(&routers(&bench, "office")[0]), first);
    assert_eq!(routers(&bench, "lab").len(), 1);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_network_goes_with_what_it_holds_unless_that_is_somebodys() {
    let bench = Bench::in_git();
    let printer = json!({ "printer": { "address": "10.20.0.9", "groups": ["g"] } });
    bench.applied(0.0, office(printer, json!([{ "peer_groups": ["h"] }])));
    bench.hour(1.0);
    by_hand(&bench, "office", "nas", "10.1.1.1");
    bench.declared(2.0, file(json!({})));
    bench.netbird().clear_requests();
    bench
        .apply(&[])
        .expect(0)
        .shows("2 deleted")
        .shows("Held back:\n  network \"office\" (")
        .shows("it contains network resource \"nas\" (");
    bench.assert_writes(&["DELETE /networks/routers", "DELETE /networks/resources"]);
    let nas = resource_path(&bench, "office", "nas");
    bench.server().call("DELETE", &nas, Value::Null);
    assert_eq!(bench.planned(&[]), ["delete_network office"]);
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.names("/networks"), Vec::<String>::new());
}

/// A policy by hand that leads to a resource.
fn policy_to(bench: &Bench, resource: &str) -> String {
    let (g, resource) = (
        bench.id("/groups", "g"),
        bench.id("/networks/resources", resource),
    );
    let rule = json!({ "name": "p", "enabled": true, "action": "accept", "bidirectional": false, "protocol": "all",
                       "sources": [g], "destinationResource": { "id": resource, "type": "host" } });
    id(&bench.create(
        "/policies",
        json!({ "name": "p", "enabled": true, "rules": [rule] }),
    ))
}

#[test]
fn a_resource_that_somebodys_policy_names_is_held_with_its_network() {
    let bench = Bench::in_git();
    bench.applied(
        0.0,
        office(json!({ "printer": { "address": "10.20.0.9" } }), json!([])),
    );
    policy_to(&bench, "printer");
    bench.declared(1.0, file(json!({})));
    bench
        .apply(&[])
        .expect(0)
        .shows("Held back:\n  network \"office\" (")
        .shows("network resource \"printer\" (")
        .shows("policy \"p\" (");
    assert_eq!(resources(&bench, "office"), ["printer 10.20.0.9/32"]);
    bench.delete("/policies", "p");
    bench.apply(&[]).expect(0).shows("2 deleted");
}

#[test]
fn a_policy_that_came_meanwhile_keeps_its_resource() {
    let bench = Bench::in_git();
    let gone = office(json!({ "nas": { "address": "10.1.1.1" } }), json!([]));
    let both = json!({ "printer": { "address": "10.20.0.9" }, "nas": { "address": "10.1.1.1" } });
    bench.applied(0.0, office(both, json!([])));
    bench.declared(1.0, gone);
    let policies = bench.server().list("/policies");
    let before = Effect::Status(200, Value::Array(policies));
    policy_to(&bench, "printer");
    bench
        .netbird()
        .fault(Fault::on("GET", "/policies").then(before));
    bench
        .apply(&["--no-verify"])
        .expect(4)
        .says_anywhere("the policy \"p\"");
    assert_eq!(
        resources(&bench, "office"),
        ["nas 10.1.1.1/32", "printer 10.20.0.9/32"]
    );
}

#[test]
fn what_came_into_a_network_meanwhile_keeps_it() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({ "office": {}, "lab": {} })));
    bench.declared(1.0, file(json!({ "lab": {} })));
    // as the plan sees it, it is empty
    let before = Effect::Status(200, Value::Array(bench.server().list("/networks")));
    by_hand(&bench, "office", "nas", "10.1.1.1");
    bench
        .netbird()
        .fault(Fault::on("GET", "/networks").then(before));
    bench
        .apply(&["--no-verify"])
        .expect(4)
        .says_anywhere("it contains network resources now");
    assert_eq!(resources(&bench, "office"), ["nas 10.1.1.1/32"]);
}

#[test]
fn both_sides_of_a_membership_leave_each_other_alone() {
    let bench = Bench::scenario_that_enrolls();
    let keys = bench.enrolled(&["m"]);
    let printer = json!({ "office": { "resources": { "printer": { "address": "10.20.0.9", "groups": ["g"] } } } });
    let mut wanted = json!({ "groups": { "g": {} }, "networks": printer, "setup_keys": keys });
    bench.agreed(wanted.clone());
    // the group's own entry changes, and the resource stays in it
    wanted["groups"]["g"] = json!({ "peers": ["m"] });
    bench.agreed(wanted.clone());
    let group = bench.one("/groups", "g");
    assert_eq!(
        (&group["peers_count"], &group["resources_count"]),
        (&json!(1), &json!(1))
    );
    // the resource's entry changes, and the peer stays in it
    wanted["networks"]["office"]["resources"]["printer"]["groups"] = json!([]);
    bench.agreed(wanted.clone());
    let group = bench.one("/groups", "g");
    assert_eq!(
        (&group["peers_count"], &group["resources_count"]),
        (&json!(1), &json!(0))
    );
}

#[test]
fn a_group_that_a_resource_of_the_file_names_does_not_go() {
    let bench = Bench::in_git();
    let printer = json!({ "printer": { "address": "10.20.0.9", "groups": ["g"] } });
    bench.applied(0.0, office(printer, json!([])));
    let mut without = office(
        json!({ "printer": { "address": "10.20.0.9", "groups": ["g"] } }),
        json!([]),
    );
    without["groups"] = json!({ "h": {} });
    bench.declared(1.0, without);
    bench
        .cannot(&[])
        .says_anywhere("refers to group \"g\", which this plan deletes");
}

#[test]
fn a_router_waits_for_its_peer() {
    let bench = Bench::scenario_that_enrolls();
    let key = json!({ "gw": { "type": "one-off", "expires_in": 86400 } });
    let mut wanted = office(json!({}), json!([{ "peer": "gw" }]));
    wanted["setup_keys"] = key;
    bench.file(wanted.clone());
    bench.apply(&[]).expect(0);
    assert_eq!(routers(&bench, "office"), Vec::<Value>::new());
    let peer = bench
        .server()
        .enroll(&bench.unseal("gw"), "gw")
        .expect("a valid key");
    wanted["setup_keys"]["gw"]["enrolled"] = json!(true);
    bench.file(wanted);
    bench.apply(&[]).expect(0);
    assert_eq!(routers(&bench, "office")[0]["peer"], json!(peer));
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_disabled_router_whose_second_write_failed_is_finished_by_the_next_run() {
    let bench = Bench::fake();
    let wanted = office(
        json!({}),
        json!([{ "peer_groups": ["g"], "enabled": false }]),
    );
    let fault = Fault::on("PUT", "/networks/*/routers/*");
    bench.netbird().fault(fault.then(Effect::Status(
        500,
        json!({ "message": "internal server error" }),
    )));
    bench.file(wanted).apply(&["--no-verify"]);
    bench.apply(&[]).expect(0);
    assert_eq!(routers(&bench, "office")[0]["enabled"], false);
    assert_eq!(routers(&bench, "office").len(), 1);
}

#[test]
fn an_older_server_is_an_error_only_if_the_file_has_routers() {
    let bench = Bench::fake();
    crate::old_servers::tells_no_version(&bench);
    let none = json!({ "message": "network: routers not found", "code": 404 });
    bench.netbird().fault(
        Fault::on("GET", "/networks/routers")
            .always()
            .then(Effect::Status(404, none)),
    );
    bench.file(file(
        json!({ "office": { "resources": { "a": { "address": "10.0.0.1" } } } }),
    ));
    bench.apply(&[]).expect(0);
    bench.file(office(json!({}), json!([{ "peer_groups": ["g"] }])));
    bench
        .plan(&[])
        .says_anywhere("this NetBird has no network routers, which the file uses: it is too old");
}

#[test]
fn three_lists_are_asked_for_however_many_networks_there_are() {
    let bench = Bench::fake();
    let resource = |at: usize| json!({ format!("r{at}"): { "address": format!("10.0.0.{at}") } });
    let networks = (0..4).map(|at| {
        (
            format!("n{at}"),
            json!({ "resources": resource(at), "routers": [{ "peer_groups": ["g"] }] }),
        )
    });
    bench.agreed(file(networks.collect()));
    bench.plan(&["--detailed-exitcode"]).expect(0);
    let requests = bench.netbird().requests();
    let mut asked: Vec<&str> = requests
        .iter()
        .filter_map(|request| request.path.split_once("/networks").map(|(_, rest)| rest))
        .collect();
    asked.sort_unstable();
    assert_eq!(asked, ["", "/resources", "/routers"]);
}

/// NetBird makes every router enabled, so it is a second write that disables it.
#[test]
fn a_router_whose_second_write_is_not_answered_is_disabled_all_the_same() {
    let bench = Bench::fake();
    let router = json!({ "peer_groups": ["g"], "enabled": false });
    bench.file(office(json!({}), json!([router])));
    let fault = Fault::on("PUT", "/networks/");
    bench.netbird().fault(fault.then(Effect::ErrorAfter));
    bench
        .apply(&[])
        .expect(0)
        .says("NetBird carried it out all the same");
    assert_eq!(routers(&bench, "office")[0]["enabled"], false);
}

/// A policy names the resource, which is not what goes.
#[test]
fn a_group_with_the_name_of_a_resource_goes() {
    let bench = Bench::fake();
    let mut file = office(
        json!({ "nas": { "address": "10.1.1.1", "groups": ["g"] } }),
        json!([]),
    );
    file["policies"] = json!({ "p": { "sources": ["g"], "destination_resource": "nas" } });
    file["groups"]["nas"] = json!({});
    bench.agreed(file.clone());
    file["groups"].as_object_mut().unwrap().remove("nas");
    bench.file(file).apply(&[]).expect(0);
    assert_eq!(bench.names("/groups"), ["All", "g", "h"]);
}
