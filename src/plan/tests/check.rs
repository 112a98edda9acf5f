//! Everything that makes a plan impossible is found before the first write, all of it at once.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::model::Kind;
use crate::testing::{
    Case, LIFE, MADE, group, groups, id, id_at, key, nameservers, over, peer, policy, policy_with,
    route, table, used_at,
};

/// The referrers of a group that goes are all named, also those that the plan does not manage.
#[test]
fn a_group_in_use_names_whoever_uses_it() {
    let file = json!({ "groups": { "keep": {} } });
    let (id, id_of_peer) = (id(Kind::Group, "g"), id(Kind::Peer, "gw"));
    let live = |more: Value| {
        over(
            json!({ "groups": [group("g", &[]), group("keep", &[])] }),
            more,
        )
    };
    let by = |more: Value| Case::new(file.clone(), live(more)).prune_all().outcome();
    // the file had the group before
    let keyed = |more: Value, ours: &[&str]| {
        let declared = over(json!({ "type": "one-off", "expires_in": LIFE }), more);
        let file = json!({ "groups": { "keep": {} }, "setup_keys": { "k": declared } });
        let ids = |kind: Kind, name: &str| json!([self::id(kind, name)]);
        let mut created =
            json!({ "groups/g": ids(Kind::Group, "g"), "groups/keep": ids(Kind::Group, "keep") });
        for key in ours {
            created[format!("setup_keys/{key}")] = ids(Kind::SetupKey, key);
        }
        let case = Case::new(file, live(json!({ "setup_keys": [key("k", &["g"])] })));
        case.inventory(json!({ "created": created })).outcome()
    };
    let rows = [
        ("nobody", by(json!({}))),
        ("a policy, a route, nameservers and a key that are not managed", by(json!({
            "policies": [policy("p", &["g"], &["keep"]), over(policy("q", &["keep"], &["g"]), json!({ "enabled": false }))],
            "routes": [route("r", "10.0.0.0/8", &["keep"]), over(route("s", "10.0.0.0/8", &["keep"]), json!({ "access_control_groups": [id] }))],
            "nameserver_groups": [nameservers("n", &["10.0.0.1"], &["g"])],
            "setup_keys": [key("k", &["g"])],
        }))),
        ("a network resource, a user, a router, a zone, the DNS settings", by(json!({
            "groups": [over(group("g", &[]), json!({ "resources": [{ "id": "res1", "type": "host" }] })), group("keep", &[])],
            "users": [{ "id": "u", "name": "Mira", "auto_groups": [id] }],
            "networks": [{ "id": "net", "name": "office", "routers": ["router1"] }],
            "network_routers": [{ "id": "router1", "peer": "", "peer_groups": [id] }],
            "zones": [{ "id": "z", "name": "lab", "domain": "lab.example", "enabled": true, "distribution_groups": [id] }],
            "dns_settings": { "disabled_management_groups": [id] },
        }))),
        ("a resource, a peer and a router, by the names of their networks", by(json!({
            "groups": [over(group("g", &[]), json!({ "resources": [{ "id": "res1", "type": "host" }, { "id": "res2", "type": "host" },
                                                                   { "id": id_of_peer, "type": "peer" }] })), group("keep", &[])],
            "peers": [peer("gw")],
            "networks": [{ "id": "net", "name": "office", "resources": ["res1"], "routers": ["router1"] }],
            "network_resources": [{ "id": "res1", "name": "printer", "address": "10.0.0.9/32", "groups": [{ "id": id }] }],
            "network_routers": [{ "id": "router1", "peer": "", "peer_groups": [id] }],
        }))),
        ("settings of the account that the server does not check", by(json!({
            "accounts": [{ "id": "account", "settings": { "peer_expose_groups": [id], "ipv6_enabled_groups": [id],
                                         "extra": { "network_traffic_logs_groups": [id] } } }] }))),
        ("a setting that no file has", by(json!({
            "accounts": [{ "id": "account", "settings": { "extra": { "network_traffic_logs_groups": [id] } } }] }))),
        ("parts that not every server has", by(json!({ "parts": {
            "/reverse-proxies/services": [{ "domain": "app.example", "access_groups": [id], "targets": [] },
                                          { "domain": "b.example", "auth": { "bearer_auth": { "distribution_groups": [id] } } }],
            "/agent-network/policies": [{ "name": "agents", "source_groups": [id] }],
            "/agent-network/budget-rules": [{ "name": "ceiling", "target_groups": [id] }] } }))),
        ("users of a policy of NetBird's SSH", by(json!({ "policies": [policy_with("ssh", &["keep"], &["keep"],
            json!({ "protocol": "netbird-ssh", "authorized_groups": { id.clone(): ["root"], groups(&["keep"])[0].clone(): [] } }))] }))),
        ("a policy that takes another group instead", Case::new(
            json!({ "groups": { "keep": {} }, "policies": { "p": { "sources": ["keep"], "destinations": ["keep"] } } }),
            live(json!({ "policies": [policy("p", &["g"], &["keep"])] }))).prune_all().outcome()),
        ("users of a declared policy, beside a creation", Case::new(
            json!({ "groups": { "keep": {}, "new": {} }, "policies": { "ssh": { "sources": ["keep"], "destinations": ["keep"],
                                                                                "protocol": "netbird-ssh" } } }),
            live(json!({ "policies": [policy_with("ssh", &["keep"], &["keep"],
                json!({ "protocol": "netbird-ssh", "authorized_groups": { id.clone(): ["root"], groups(&["keep"])[0].clone(): [] } }))] })))
            .prune_all().outcome()),
        ("a field that is not ours", Case::new(
            json!({ "groups": { "keep": {} }, "routes": { "r": { "network": "10.0.0.0/8", "peer_groups": ["keep"] } } }),
            live(json!({ "routes": [over(route("r", "10.0.0.0/8", &["keep"]), json!({ "groups": [id] }))] }))).prune_all().outcome()),
        ("a key of the file, which does not say its groups", keyed(json!({}), &["k"])),
        ("a key of the file that names it", keyed(json!({ "auto_groups": ["g"] }), &["k"])),
        ("a key by hand, of the name of an entry that names it", keyed(json!({ "auto_groups": ["g"] }), &[])),
        ("a key of the file that names two groups of an identity provider, too", {
            let declared = json!({ "type": "one-off", "expires_in": LIFE, "auto_groups": ["ops", "g"] });
            let ops = |second: i64| over(group("ops", &[]), json!({ "issued": "jwt", "id": id_at(Kind::Group, "ops", second) }));
            let live = json!({ "groups": [group("g", &[]), group("keep", &[]), ops(MADE), ops(MADE + 9)], "setup_keys": [key("k", &["g"])] });
            let of = |kind: Kind, name: &str| json!([self::id(kind, name)]);
            Case::new(json!({ "groups": { "keep": {} }, "setup_keys": { "k": declared } }), live)
                .inventory(json!({ "created": { "groups/g": of(Kind::Group, "g"), "groups/keep": of(Kind::Group, "keep"),
                                                "setup_keys/k": of(Kind::SetupKey, "k") } })).outcome()
        }),
        ("a group with the name of a part of a field", Case::new(
            json!({ "groups": { "keep": {} }, "policies": { "ssh": { "sources": ["keep"], "destination_resource": { "peer": "gw" },
                                                                     "protocol": "netbird-ssh" } } }),
            json!({ "groups": [group("peer", &[]), group("keep", &[])], "peers": [peer("gw")],
                    "policies": [policy_with("ssh", &["keep"], &[],
                        json!({ "destinationResource": { "id": id_of_peer, "type": "peer" }, "protocol": "netbird-ssh",
                                "authorized_groups": { groups(&["peer"])[0].clone(): ["root"], groups(&["keep"])[0].clone(): [] } }))] }))
            .prune_all().outcome()),
    ];
    assert_data_eq!(table(rows), str![[r#"
nobody
    delete group g: it is not in the file (--prune all)
    adopts group keep as Adopted
a policy, a route, nameservers and a key that are not managed
    held: group g: not deleted, because it is still used by nameserver group "n" (daojn07mlbcpef9967cg), policy "p" (daojn064mr64fain5cug), policy "q" (daojn064mr5kfain5650), route "s" (daojn050rej00m8berrg), setup key "k" (daojn058v557f7ctlctg, valid)
    adopts group keep as Adopted
a network resource, a user, a router, a zone, the DNS settings
    held: group g: not deleted, because it is still used by DNS zone "lab" (z), network resource res1, network router router1 of network "office" through g, the DNS settings, user Mira
    adopts group keep as Adopted
a resource, a peer and a router, by the names of their networks
    held: group g: not deleted, because it is still used by network resource "printer" (res1) of network "office", network resource res2, which no longer exists, network router router1 of network "office" through g, peer "gw" as a resource of it
    adopts group keep as Adopted
settings of the account that the server does not check
    held: group g: not deleted, because it is still used by ipv6_enabled_groups, peer_expose_groups, network_traffic_logs_groups of the account settings
    adopts group keep as Adopted
a setting that no file has
    held: group g: not deleted, because it is still used by network_traffic_logs_groups of the account settings
    adopts group keep as Adopted
parts that not every server has
    held: group g: not deleted, because it is still used by agent network budget rule "ceiling", agent network policy "agents", reverse proxy service "app.example", reverse proxy service "b.example"
    adopts group keep as Adopted
users of a policy of NetBird's SSH
    held: group g: not deleted, because it is still used by policy "ssh" (daojn02kjenj7mt240jg)
    adopts group keep as Adopted
a policy that takes another group instead
    update policy p
        sources ["g"] → ["keep"]
    delete group g: it is not in the file (--prune all)
    adopts group keep as Adopted
    adopts policy p as Adopted
users of a declared policy, beside a creation
    create group new
    held: group g: not deleted, because it is still used by policy "ssh" (daojn02kjenj7mt240jg) (in its authorized_groups, which the file does not set)
    adopts group keep as Adopted
    adopts policy ssh as Adopted
a field that is not ours
    held: group g: not deleted, because it is still used by route "r" (daojn050reig0m8bel20) (in its groups, which the file does not set)
    adopts group keep as Adopted
    adopts route r as Adopted
a key of the file, which does not say its groups
    held: group g: not deleted, because it is still used by setup key "k" (daojn058v557f7ctlctg, valid) (in its auto_groups, which the file does not set)
a key of the file that names it
    impossible: setup key k refers to group "g", which this plan deletes | keep that entry in the file, or remove the reference to it
a key by hand, of the name of an entry that names it
    create setup key k
    held: group g: not deleted, because it is still used by setup key "k" (daojn058v557f7ctlctg, valid)
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow).
a key of the file that names two groups of an identity provider, too
    held: group g: not deleted, because it is still used by setup key "k" (daojn058v557f7ctlctg, valid)
    skipped: setup key k
    unmanaged: group ops
    note: setup key "k" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojn28li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
a group with the name of a part of a field
    held: group peer: not deleted, because it is still used by policy "ssh" (daojn02kjenj7mt240jg) (in its authorized_groups, which the file does not set)
    adopts group keep as Adopted
    adopts policy ssh as Adopted

"#]].raw());
}

/// What is held needs what it names: somebody's policy names the resource, and the resource is in the group.
#[test]
fn what_something_held_needs_is_held_too() {
    let mut by_hand = policy("by-hand", &["keep"], &["keep"]);
    by_hand["rules"][0]["destinations"] = Value::Null;
    by_hand["rules"][0]["destinationResource"] = json!({ "id": "res1", "type": "host" });
    let listed = json!({ "resources": [{ "id": "res1", "type": "host" }] });
    let live = json!({
        "groups": [over(group("g", &[]), listed), group("keep", &[])],
        "networks": [{ "id": "net", "name": "office", "resources": ["res1"], "routers": [] }],
        "network_resources": [{ "id": "res1", "name": "printer", "address": "10.0.0.9/32", "enabled": true,
                                "groups": [{ "id": id(Kind::Group, "g") }] }],
        "network_routers": [],
        "policies": [by_hand],
    });
    let created = json!({ "groups/g": [id(Kind::Group, "g")], "groups/keep": [id(Kind::Group, "keep")],
                          "networks/office": ["net"], "resources/printer": ["res1"] });
    let file = json!({ "groups": { "keep": {} }, "networks": {} });
    let case = Case::new(file, live).inventory(json!({ "created": created }));
    assert_data_eq!(
        case.outcome(),
        str![[r#"
held: group g: not deleted, because it is still used by network resource "printer" (res1) of network "office"
held: network office: not deleted, because it contains network resource "printer" (res1), which is not deleted
held: network resource printer: not deleted, because it is still used by policy "by-hand" (daojn04k4iku92gg43o0)

"#]]
        .raw()
    );
}

/// A resource moves to another network before the old one goes.
#[test]
fn what_moves_away_keeps_nothing_from_going() {
    let live = json!({
        "networks": [{ "id": "net", "name": "office", "resources": ["res1"], "routers": [] }],
        "network_resources": [{ "id": "res1", "name": "printer", "address": "10.0.0.9/32", "enabled": true, "groups": [] }],
        "network_routers": [],
    });
    let created = json!({ "networks/office": ["net"], "resources/printer": ["res1"] });
    let file = json!({ "networks": { "new": { "resources": { "printer": { "address": "10.0.0.9/32" } } } } });
    let case = Case::new(file, live).inventory(json!({ "created": created }));
    assert_data_eq!(
        case.outcome(),
        str![[r#"
create network new
update network resource printer
    network "office" → "new"
delete network office: it is no longer in the file

"#]]
        .raw()
    );
}

/// A group that lists nothing but resources that are no more has a way out of its own: no page of NetBird shows them.
#[test]
fn resources_that_are_no_more() {
    let way_out = |resources: Value, of_res1: &[&str]| {
        let live = json!({
            "groups": [over(group("g", &[]), json!({ "resources": resources })), group("keep", &[])],
            "networks": [{ "id": "net", "name": "office", "resources": ["res1"] }],
            "network_resources": [{ "id": "res1", "name": "printer", "address": "10.0.0.9/32",
                                    "groups": groups(of_res1).iter().map(|id| json!({ "id": id })).collect::<Vec<_>>() }],
        });
        let plan = Case::new(json!({ "groups": { "keep": {} } }), live)
            .prune_all()
            .possible();
        let held = plan.held.first().expect("the group is held back");
        let (why, way_out) = held.why.said();
        format!("{why}; {way_out}")
    };
    let gone = json!({ "id": "res2", "type": "host" });
    let there = json!({ "id": "res1", "type": "host" });
    let alone = way_out(json!([gone]), &[]);
    assert!(
        alone.contains("network resource res2, which no longer exists; only the API removes it"),
        "{alone}"
    );
    let both = way_out(json!([gone, there]), &["g"]);
    assert!(both.contains("remove that use in NetBird"), "{both}");
}

#[test]
fn names_stand_for_one_object_each() {
    let twin = |name: &str| {
        over(
            group(name, &[]),
            json!({ "id": id_at(Kind::Group, name, MADE + 9) }),
        )
    };
    let policies = |source: &str| {
        json!({ "groups": { "pilots": {} }, "policies": {
        "p": { "sources": [source], "destinations": ["pilots"] }, "q": { "sources": ["pilots"], "destinations": [source] } } })
    };
    let p = || policy("p", &["All"], &["All"]);
    let later = json!({ "id": id_at(Kind::Policy, "p", MADE + 9) });
    let twice = |other: Value| {
        let file = json!({ "policies": { "p": { "sources": ["All"], "destinations": ["All"] } } });
        Case::new(
            file,
            json!({ "groups": [group("ops", &[])], "policies": [other, p()] }),
        )
    };
    let rows = [
        (
            "neither declared nor live: a guess",
            Case::new(policies("pilot"), json!({})).outcome(),
        ),
        (
            "live, not declared",
            Case::new(policies("ops"), json!({ "groups": [group("ops", &[])] })).outcome(),
        ),
        (
            "two live groups of the name",
            Case::new(
                policies("ops"),
                json!({ "groups": [group("ops", &[]), twin("ops")] }),
            )
            .outcome(),
        ),
        (
            "two live groups of a declared name",
            Case::new(
                json!({ "groups": { "ops": {} } }),
                json!({ "groups": [group("ops", &[]), twin("ops")] }),
            )
            .outcome(),
        ),
        (
            "two policies, equal",
            twice(over(p(), later.clone())).outcome(),
        ),
        (
            "two policies, equal, --prune all",
            twice(over(p(), later.clone())).prune_all().outcome(),
        ),
        (
            "two policies, one differs, --prune all",
            twice(over(policy("p", &["All"], &["ops"]), later))
                .prune_all()
                .outcome(),
        ),
    ];
    let ids = [(Kind::Group, "ops"), (Kind::Policy, "p")];
    assert_data_eq!(crate::testing::named(&table(rows), &ids), str![[r#"
neither declared nor live: a guess
    impossible: policy p refers to group "pilot", which is neither declared nor in NetBird | did you mean "pilots"?
    impossible: policy q refers to group "pilot", which is neither declared nor in NetBird | did you mean "pilots"?
live, not declared
    create group pilots
    create policy p
    create policy q
    unmanaged: group ops
two live groups of the name
    impossible: policy p refers to group "ops", but several groups in NetBird are called "ops": <group ops>, daojn28li0f47kodblk0 | rename or delete the others in NetBird
    impossible: policy q refers to group "ops", but several groups in NetBird are called "ops": <group ops>, daojn28li0f47kodblk0 | rename or delete the others in NetBird
two live groups of a declared name
    unmanaged: group ops (daojn28li0f47kodblk0)
    note: NetBird has another group with the name "ops" (id daojn28li0f47kodblk0). This file does not manage it and does not change it.
two policies, equal
    unmanaged: policy p
two policies, equal, --prune all
    delete policy p [made +9 s]: it is not in the file (--prune all)
    adopts policy p as Adopted
two policies, one differs, --prune all
    delete policy p [made +9 s]: it is not in the file (--prune all)
    adopts policy p as Adopted

"#]].raw());
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let issued = |by: &str| over(group("staff", &["edge"]), json!({ "issued": by }));
    let members = |group: &str| json!({ "groups": { group: { "peers": [] } } });
    let rules = json!([
        policy("p", &["All"], &["All"])["rules"][0],
        policy("q", &["All"], &["All"])["rules"][0]
    ]);
    let open = json!({ "policies": { "p": { "sources": ["All"], "destinations": ["All"] } } });
    let live = |group: Value| json!({ "groups": [group], "peers": [peer("edge")] });
    let two_rules = || json!({ "policies": [over(policy("p", &["All"], &["All"]), json!({ "rules": rules }))] });
    let rows = [
        (
            "members of a jwt group",
            Case::new(members("staff"), live(issued("jwt")))
                .prune_all()
                .outcome(),
        ),
        (
            "members of an integration's group",
            Case::new(members("staff"), live(issued("integration")))
                .prune_all()
                .outcome(),
        ),
        (
            "the members that a jwt group has",
            Case::new(
                json!({ "groups": { "staff": { "peers": ["edge"] } } }),
                live(issued("jwt")),
            )
            .outcome(),
        ),
        (
            "another member, and a key whose machine is to join",
            Case::new(
                json!({ "groups": { "staff": { "peers": ["mira", "k"] } }, "setup_keys": { "k": { "type": "one-off", "expires_in": 60 } } }),
                json!({ "groups": [issued("jwt")], "peers": [peer("edge"), peer("mira")] }),
            )
            .outcome(),
        ),
        (
            "a machine that came by a key, which the provider took out",
            Case::new(
                json!({ "groups": { "staff": { "peers": ["k"] } }, "setup_keys": { "k": { "type": "one-off", "expires_in": LIFE, "auto_groups": ["staff"] } } }),
                json!({ "groups": [over(issued("jwt"), json!({ "peers": [] }))], "peers": [peer("k")], "setup_keys": [over(key("k", &["staff"]), used_at(MADE))] }),
            )
            .inventory(json!({ "created": { "setup_keys/k": [id(Kind::SetupKey, "k")] }, "members": { "staff": { "k": id(Kind::Peer, "k") } } }))
            .outcome(),
        ),
        (
            "a jwt group that is declared without peers",
            Case::new(json!({ "groups": { "staff": {} } }), live(issued("jwt")))
                .prune_all()
                .outcome(),
        ),
        (
            "undeclared protected groups",
            Case::new(json!({ "groups": { "x": {} } }), live(issued("jwt")))
                .prune_all()
                .outcome(),
        ),
        (
            "a policy of several rules",
            Case::new(open.clone(), two_rules()).outcome(),
        ),
        (
            "a policy of several rules, --replace",
            Case::new(open, two_rules())
                .replace(Kind::Policy, "p")
                .outcome(),
        ),
        (
            "a temporary access policy",
            Case::new(
                json!({ "policies": { "x": { "sources": ["All"], "destinations": ["All"] } } }),
                json!({
            "policies": [policy("Temporary access policy for peer edge", &["All"], &["All"])] }),
            )
            .prune_all()
            .outcome(),
        ),
        ("two checks, of which one needs locations that the server does not have", {
            let geo = json!({ "action": "allow", "locations": [{ "country": "DE" }] });
            let checks = json!({ "here": { "geo": geo }, "new": { "nb_version": "0.50.0" } });
            let mut case = Case::new(json!({ "posture_checks": checks }), json!({}));
            case.snapshot.rest.lacks_locations = true;
            case.outcome()
        }),
        (
            "--replace of a route",
            Case::new(
                json!({ "routes": { "r": { "network": "10.0.0.0/8", "peer_groups": ["All"] } } }),
                json!({ "routes": [route("r", "10.0.0.0/8", &["All"])] }),
            )
            .replace(Kind::Route, "r")
            .outcome(),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
members of a jwt group
    note: group "staff" is issued by jwt, which decides its members, so this change of its list "peers" has no effect. Members in NetBird, but not in the file: "edge". Delete "peers" from the group. To add a machine, name the group in "auto_groups" of its setup key.
members of an integration's group
    note: group "staff" is issued by integration, which decides its members, so this change of its list "peers" has no effect. Members in NetBird, but not in the file: "edge". Delete "peers" from the group. To add a machine, name the group in "auto_groups" of its setup key.
the members that a jwt group has
    note: group "staff" is issued by jwt, which decides its members, so its list "peers" has no effect. Delete "peers" from the group. To add a machine, name the group in "auto_groups" of its setup key.
another member, and a key whose machine is to join
    create setup key k
    note: group "staff" is issued by jwt, which decides its members, so its list "peers" has no effect. Members in NetBird, but not in the file: "edge". In the file, but no members in NetBird: "mira", "k". Delete "peers" from the group. To add a machine, name the group in "auto_groups" of its setup key.
a machine that came by a key, which the provider took out
    note: group "staff" is issued by jwt, which decides its members, so its list "peers" has no effect. In the file, but no members in NetBird: "k". Delete "peers" from the group. To add a machine, name the group in "auto_groups" of its setup key.
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730): only the times of key and peer say so, not the event log
a jwt group that is declared without peers
    nothing
undeclared protected groups
    create group x
    unmanaged: group staff
a policy of several rules
    impossible: policy p has 2 rules in NetBird, but a policy of the file has one, and an update cannot remove rules | look at the rules in NetBird; apply --replace policies/p replaces the policy by one with the rule of the file only
a policy of several rules, --replace
    replace policy p (making): --replace names it
        rules 2 → 1
    replace policy p (breaking): --replace names it
a temporary access policy
    create policy x
    unmanaged: policy Temporary access policy for peer edge
two checks, of which one needs locations that the server does not have
    impossible: posture check here checks where a machine is, and this NetBird has no geo location database | install the geo location database in NetBird, or remove "geo" here
--replace of a route
    impossible: route r is named by --replace, which works for setup keys and policies only

"#]].raw());
}

/// Sections that are missing are not managed; an empty one wants nothing.
#[test]
fn a_missing_section_is_left_alone() {
    let live = json!({ "groups": [group("g", &[])], "policies": [policy("p", &["g"], &["g"])],
                       "routes": [route("r", "10.0.0.0/8", &["g"])], "setup_keys": [key("k", &["g"])] });
    let rows = [
        ("only groups", Case::new(json!({ "groups": { "g": {} } }), live.clone()).prune_all().outcome()),
        ("groups and no routes", Case::new(json!({ "groups": { "g": {} }, "routes": {} }), live.clone()).prune_all().outcome()),
        ("nothing is pruned", Case::new(json!({ "groups": { "h": {} }, "routes": {}, "policies": {}, "setup_keys": {} }), live.clone()).outcome()),
        ("a group that is referred to stays", Case::new(
            json!({ "groups": { "h": {} }, "policies": { "p": { "sources": ["g"], "destinations": ["h"] } } }),
            json!({ "groups": [group("g", &[])] })).prune_all().outcome()),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
only groups
    adopts group g as Adopted
groups and no routes
    delete route r: it is not in the file (--prune all)
    adopts group g as Adopted
nothing is pruned
    create group h
    unmanaged: group g
    unmanaged: setup key k
    unmanaged: policy p
    unmanaged: route r
a group that is referred to stays
    create group h
    create policy p
    unmanaged: group g

"#]]
        .raw()
    );
}

/// What only NetBird can say is shown as what it is, and put right.
#[test]
fn resources_and_single_routers_are_differences() {
    let destination =
        json!({ "destinations": null, "destinationResource": { "id": "res1", "type": "host" } });
    let file = json!({
        "policies": { "p": { "sources": ["g"], "destinations": ["g"] } },
        "routes": { "r": { "network": "10.0.0.0/8", "peer_groups": ["g"] } },
    });
    let live = json!({
        "groups": [group("g", &["edge"])], "peers": [peer("edge")],
        "policies": [policy_with("p", &["g"], &[], destination)],
        "routes": [over(route("r", "10.0.0.0/8", &[]), json!({ "peer": id(Kind::Peer, "edge"), "groups": groups(&["g"]) }))],
    });
    assert_data_eq!(
        Case::new(file, live).outcome(),
        str![[r#"
update policy p
    destination_resource "(network resource res1)" → null
    destinations [] → ["g"]
update route r
    peer "edge" → null
    peer_groups [] → ["g"]

"#]]
        .raw()
    );
}

/// A file of names that nothing has would cost the product of their number and that of all names.
#[test]
fn what_may_be_meant_is_looked_for_among_so_many_names() {
    let hints = |unknown: usize| {
        let mut sources: Vec<String> = (0..unknown).map(|n| format!("u{n}")).collect();
        sources.push("zz-pilot".to_owned());
        let mut groups = json!({ "zz-pilots": {} });
        for n in 0..1100 {
            groups[format!("a-group-with-a-longer-name-{n}")] = json!({});
        }
        let policy =
            json!({ "sources": sources, "destinations": ["zz-pilots"], "protocol": "all" });
        let file = json!({ "groups": groups, "policies": { "p": policy } });
        let outcome = Case::new(file, json!({})).outcome();
        outcome.matches("did you mean \"zz-pilots\"?").count()
    };
    assert_eq!((hints(1), hints(1000)), (1, 0));

    let hints = |unknown: usize| {
        let mut listed: Vec<String> = (0..unknown).map(|n| format!("u{n}")).collect();
        listed.push("zz-pilot".to_owned());
        let mut keys = json!({ "zz-pilots": { "type": "one-off", "expires_in": 86_400 } });
        for n in 0..1100 {
            keys[format!("a-key-with-a-longer-name-{n}")] =
                json!({ "type": "one-off", "expires_in": 86_400 });
        }
        let file = json!({ "groups": { "g": { "peers": listed } }, "setup_keys": keys });
        let outcome = Case::new(file, json!({})).outcome();
        outcome.matches("did you mean \"zz-pilots\"?").count()
    };
    assert_eq!((hints(1), hints(1000)), (1, 0));
}

/// An answer that was cut is no reason to make again what is there, nor to take members out.
#[test]
fn lists_that_lack_what_others_name() {
    let networks = |more: Value| {
        over(
            json!({
                "networks": [{ "id": "net", "name": "office", "description": "", "routers": ["r1"], "resources": ["h1"] }],
            }),
            more,
        )
    };
    let file = json!({ "networks": { "office": { "resources": {}, "routers": [] } } });
    let members = json!({ "groups": { "g": { "peers": ["x", "y"] } } });
    let inventory = json!({ "created": { "groups/g": [id(Kind::Group, "g")] }, "members": { "g": { "x": id(Kind::Peer, "x"), "y": id(Kind::Peer, "y") } },
                            "enrolled": { "y": [id(Kind::Peer, "y")] } });
    let rows = [
        (
            "no routers, no resources",
            Case::new(
                file.clone(),
                networks(json!({ "network_routers": [], "network_resources": [] })),
            ),
        ),
        (
            "the file does not manage them",
            Case::new(
                json!({ "networks": { "office": {} } }),
                networks(json!({ "network_routers": [], "network_resources": [] })),
            ),
        ),
        (
            "the file has another network",
            Case::new(
                json!({ "networks": { "other": { "resources": {}, "routers": [] } } }),
                networks(json!({ "network_routers": [], "network_resources": [] })),
            ),
        ),
        (
            "the network is to be deleted",
            Case::new(
                json!({ "networks": {}, "groups": { "g": {} } }),
                networks(json!({ "network_routers": [], "network_resources": [] })),
            )
            .inventory(json!({ "created": { "networks/office": ["net"] } })),
        ),
        (
            "another network is to be deleted",
            Case::new(
                json!({ "networks": {}, "groups": { "g": {} } }),
                json!({ "networks": [
                    { "id": "net", "name": "office", "description": "", "routers": ["r1"], "resources": ["h1"] },
                    { "id": "old", "name": "old", "description": "", "routers": [], "resources": [] },
                ], "network_routers": [], "network_resources": [] }),
            )
            .inventory(json!({ "created": { "networks/old": ["old"] } })),
        ),
        (
            "a network changes whose parts the file does not manage",
            Case::new(
                json!({ "networks": { "office": { "description": "new" } } }),
                networks(json!({ "network_routers": [], "network_resources": [] })),
            ),
        ),
        (
            "the lists were not asked for",
            Case::new(file, networks(json!({}))),
        ),
        (
            "half of the peers",
            Case::new(
                members,
                json!({ "groups": [group("g", &["x", "y"])], "peers": [peer("x")] }),
            )
            .inventory(inventory),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
no routers, no resources
    impossible: network office cannot be read: it contains network resources that are missing in NetBird's list (h1) | run again; if it happens again, a proxy before NetBird cuts the list
    impossible: network office cannot be read: it contains network routers that are missing in NetBird's list (r1) | run again; if it happens again, a proxy before NetBird cuts the list
the file does not manage them
    nothing
the file has another network
    create network other
    unmanaged: network office
the network is to be deleted
    impossible: network office cannot be read: it contains network resources that are missing in NetBird's list (h1) | run again; if it happens again, a proxy before NetBird cuts the list
    impossible: network office cannot be read: it contains network routers that are missing in NetBird's list (r1) | run again; if it happens again, a proxy before NetBird cuts the list
another network is to be deleted
    create group g
    delete network old: it is no longer in the file
    unmanaged: network office
a network changes whose parts the file does not manage
    update network office
        description "" → "new"
the lists were not asked for
    nothing
half of the peers
    unmanaged in g: ["(deleted peer daojn06d1l589ei3j680)"]
    note: group "g" lists "y", but no peer has this name, so no peer is added. Check the name. When its machine enrolled, run apply --adopt peers/y=ID

"#]].raw());
}
