//! The order of writes: make before break, in the order of kinds, routes of one network the other way round.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::model::Kind;
use crate::testing::{
    Case, MADE, group, id, id_at, key, key_at, nameservers, over, peer, peer_at, policy, route,
    table, time, used_at, zone,
};

#[test]
fn what_is_new_comes_before_what_refers_to_it() {
    let file = json!({
        "groups": { "b": {}, "a": {} },
        "setup_keys": { "k": { "type": "one-off", "expires_in": 5_184_000, "auto_groups": ["a"] } },
        "policies": { "p": { "sources": ["a"], "destinations": ["b"] } },
        "routes": { "r": { "network": "10.0.0.0/8", "peer_groups": ["b"], "groups": ["a"] } },
        "dns": { "nameserver_groups": { "n": { "nameservers": [{ "ip": "10.0.0.1" }], "groups": ["a"] } } },
    });
    assert_data_eq!(
        Case::new(file, json!({})).outcome(),
        str![[r#"
create group a
create group b
create setup key k
create policy p
create route r
create nameserver group n

"#]]
        .raw()
    );
}

/// Everything that used the group goes, and the group last; and the new policy before the old one.
#[test]
fn what_goes_comes_last_and_in_reverse() {
    let file = json!({
        "groups": { "keep": {} }, "setup_keys": {}, "routes": {}, "dns": { "nameserver_groups": {} },
        "policies": { "p-new": { "sources": ["keep"], "destinations": ["keep"] } },
    });
    let live = json!({
        "groups": [group("g", &[]), group("keep", &[])], "setup_keys": [key("k", &["g"])],
        "policies": [policy("Default", &["All"], &["All"]), policy("p", &["g"], &["keep"])],
        "routes": [route("r", "10.0.0.0/8", &["g"])],
        "nameserver_groups": [nameservers("n", &["10.0.0.1"], &["g"])],
    });
    assert_data_eq!(
        Case::new(file, live).prune_all().outcome(),
        str![[r#"
create policy p-new
delete nameserver group n: it is not in the file (--prune all)
delete route r: it is not in the file (--prune all)
delete policy Default: it is not in the file (--prune all)
delete policy p: it is not in the file (--prune all)
delete setup key k: it is not in the file (--prune all)
delete group g: it is not in the file (--prune all)
adopts group keep as Adopted

"#]]
        .raw()
    );
}

/// A group that gains and loses members is written twice: between the two, whatever replaces their access is made.
#[test]
fn members_leave_when_everything_else_is_in_place() {
    let key_of = json!({ "type": "one-off", "expires_in": 5_184_000, "auto_groups": ["g"] });
    let file = json!({
        "groups": { "g": { "peers": ["stays", "joins"] }, "h": { "peers": [] } },
        "setup_keys": { "joins": key_of },
        "policies": { "p": { "sources": ["g"], "destinations": ["h"] } },
    });
    let live = json!({
        "groups": [group("g", &["stays", "leaves"]), group("h", &["leaves"]), group("i", &["leaves"])],
        "peers": [peer("stays"), peer("leaves"), peer("joins")],
        "setup_keys": [over(key("joins", &["g"]), used_at(MADE))],
        "policies": [policy("old", &["g"], &["h"])],
    });
    let mut case = Case::new(file, live).prune_all();
    case.snapshot.rest.events = Some(vec![crate::testing::enrolled("joins", "joins").into()]);
    assert_data_eq!(
        case.outcome(),
        str![[r#"
create policy p
delete policy old: it is not in the file (--prune all)
update group g
    peers ["leaves","stays (100.92.14.7)"] → ["stays (100.92.14.7)"]
update group h
    peers ["leaves"] → []
delete group i: it is not in the file (--prune all)
pending in g: {"joins"}
adopts group g as Adopted
adopts group h as Adopted
skipped: setup key joins
note: setup key "joins" is skipped: NetBird has a used key with this name (daojn0792c073k34bsrg), so the machine may have enrolled already. If the machine enrolled, run apply --adopt setup_keys/joins=daojn0792c073k34bsrg (in a job: the input adopt of the apply workflow). If not, set reissue_after to the present time: then a new key is created.

"#]]
        .raw()
    );
}

/// A group that loses members and gets its name back has that name before another one gets the one that it has.
#[test]
fn a_name_is_given_up_before_another_group_gets_it() {
    let file = json!({ "groups": { "g": {}, "h": { "peers": ["stays"] } } });
    let live = json!({
        "groups": [group("g", &["stays", "leaves"])], "peers": [peer("stays"), peer("leaves")],
    });
    let recorded = json!({
        "created": { "groups/h": [id(Kind::Group, "g")] },
        "members": { "h": { "leaves": id(Kind::Peer, "leaves") } },
    });
    assert_data_eq!(
        Case::new(file, live).inventory(recorded).outcome(),
        str![[r#"
update group h (additions): somebody renamed it to "g" in NetBird; this plan renames it back to "h". To keep the new name, write "g" in the file.
    name "g" → "h"
    peers ["leaves","stays (100.92.14.7)"] → ["stays (100.92.14.7)"]
create group g
update group h (removals): somebody renamed it to "g" in NetBird; this plan renames it back to "h". To keep the new name, write "g" in the file.

"#]]
    );
}

/// A nameserver group that goes leaves its unique name to another one of that name alone: no other one waits for it.
#[test]
fn nameservers_of_another_name_are_made_before_the_old_ones_go() {
    let n = json!({ "nameservers": [{ "ip": "10.0.0.2" }], "groups": ["All"] });
    let file = json!({ "dns": { "nameserver_groups": { "new": n } } });
    let live = json!({ "nameserver_groups": [nameservers("n", &["10.0.0.1"], &["All"])] });
    assert_data_eq!(
        Case::new(file, live).prune_all().outcome(),
        str![[r#"
create nameserver group new
delete nameserver group n: it is not in the file (--prune all)

"#]]
        .raw()
    );
}

/// A policy that is replaced is there twice for a moment; a key's old one goes in the same breath as its new one.
#[test]
fn a_replacement_makes_before_it_breaks() {
    let file = json!({
        "groups": { "g": {} },
        "setup_keys": { "k": { "type": "reusable", "expires_in": 5_184_000, "usage_limit": 9, "auto_groups": ["g"] } },
        "policies": { "p": { "sources": ["g"], "destinations": ["g"] }, "q": { "sources": ["g"], "destinations": ["g"] } },
    });
    let live = json!({
        "groups": [group("g", &[])], "setup_keys": [key("k", &["g"])], "policies": [policy("p", &["g"], &["g"])],
    });
    assert_data_eq!(
        Case::new(file, live).replace(Kind::Policy, "p").outcome(),
        str![[r#"
replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
    type "one-off" → "reusable"
    usage_limit 1 → 9
replace policy p (making): --replace names it
create policy q
replace policy p (breaking): --replace names it

"#]]
        .raw()
    );
}

fn routes(declared: Value, live: Vec<Value>) -> Case {
    let file = json!({ "groups": { "a": {}, "b": {}, "c": {} }, "routes": declared });
    let live = json!({
        "groups": [group("a", &["edge"]), group("b", &["edge"]), group("c", &["other"])],
        "peers": [peer("edge"), peer("other")], "routes": live,
    });
    Case::new(file, live)
}

/// A new route through the group `c`, beside one of the network through `a`, while a machine joins a group.
fn joins(group: &str, machine: &str) -> String {
    let mut case = routes(
        json!({ "new": to("10.0.0.0/8", "c") }),
        vec![route("old", "10.0.0.0/8", &["a"])],
    );
    let listed = json!({ "groups": { group: { "peers": [machine] } } });
    case.desired
        .entries
        .extend(crate::testing::desired(&listed).entries);
    let names = json!({ machine: id(Kind::Peer, machine) });
    case.inventory(json!({ "names": names })).outcome()
}

fn to(network: &str, group: &str) -> Value {
    json!({ "network": network, "peer_groups": [group] })
}

/// The server refuses a second route of a network through the same routers, so the old one goes first.
#[test]
fn routes_of_one_network() {
    const ONE: &str = "10.0.0.0/8";
    const TWO: &str = "172.16.0.0/12";
    let rows = [
        (
            "another name for the same route",
            routes(
                json!({ "new": to(ONE, "a") }),
                vec![route("old", ONE, &["a"])],
            )
            .prune_all()
            .outcome(),
        ),
        (
            "through a group that shares a peer",
            routes(
                json!({ "new": to(ONE, "b") }),
                vec![route("old", ONE, &["a"])],
            )
            .prune_all()
            .outcome(),
        ),
        (
            "through another group",
            routes(
                json!({ "new": to(ONE, "c") }),
                vec![route("old", ONE, &["a"])],
            )
            .prune_all()
            .outcome(),
        ),
        (
            "another network",
            routes(
                json!({ "new": to(TWO, "a") }),
                vec![route("old", ONE, &["a"])],
            )
            .prune_all()
            .outcome(),
        ),
        (
            "the old one is not ours",
            routes(
                json!({ "new": to(ONE, "a") }),
                vec![route("old", ONE, &["a"])],
            )
            .outcome(),
        ),
        (
            "the old one moves away first",
            routes(
                json!({ "new": to(ONE, "a"), "old": to(TWO, "a") }),
                vec![route("old", ONE, &["a"])],
            )
            .outcome(),
        ),
        (
            "a chain of three",
            routes(
                json!({ "x": to(ONE, "a"), "y": to(TWO, "a"), "z": to("192.168.0.0/16", "a") }),
                vec![route("y", ONE, &["a"]), route("z", TWO, &["a"])],
            )
            .outcome(),
        ),
        (
            "two change networks",
            routes(
                json!({ "x": to(ONE, "a"), "y": to(TWO, "a") }),
                vec![route("x", TWO, &["a"]), route("y", ONE, &["a"])],
            )
            .outcome(),
        ),
        (
            "the old one changes and is still in the way",
            routes(
                json!({ "new": to(ONE, "a"), "old": over(to(ONE, "b"), json!({ "metric": 7 })) }),
                vec![route("old", ONE, &["a"])],
            )
            .outcome(),
        ),
        (
            "through a single peer, which the server never sees",
            routes(
                json!({ "new": to(ONE, "a") }),
                vec![over(
                    route("old", ONE, &[]),
                    json!({ "peer": id(Kind::Peer, "edge") }),
                )],
            )
            .outcome(),
        ),
        (
            "a single peer is in the group of the old one",
            routes(
                json!({ "new": { "network": ONE, "peer": "edge" } }),
                vec![route("old", ONE, &["a"])],
            )
            .inventory(json!({ "names": { "edge": id(Kind::Peer, "edge") } }))
            .outcome(),
        ),
        ("its group gets a peer of the old one's", joins("c", "edge")),
        ("another group gets one", joins("b", "other")),
    ];
    assert_data_eq!(table(rows), str![[r#"
another name for the same route
    delete route old: it is not in the file (--prune all)
    create route new
    adopts group a as Adopted
    adopts group b as Adopted
    adopts group c as Adopted
through a group that shares a peer
    delete route old: it is not in the file (--prune all)
    create route new
    adopts group a as Adopted
    adopts group b as Adopted
    adopts group c as Adopted
through another group
    create route new
    delete route old: it is not in the file (--prune all)
    adopts group a as Adopted
    adopts group b as Adopted
    adopts group c as Adopted
another network
    create route new
    delete route old: it is not in the file (--prune all)
    adopts group a as Adopted
    adopts group b as Adopted
    adopts group c as Adopted
the old one is not ours
    impossible: route new cannot be written: NetBird has another route "old" (daojn07c1n8hkrl723dg) for the same network through the same routers, and refuses a second one | give one of them another network or other routers, or delete the other one in NetBird
the old one moves away first
    update route old
        network "10.0.0.0/8" → "172.16.0.0/12"
    create route new
a chain of three
    update route z
        network "172.16.0.0/12" → "192.168.0.0/16"
    update route y
        network "10.0.0.0/8" → "172.16.0.0/12"
    create route x
two change networks
    impossible: route x and other routes of this plan swap a unique value, and NetBird cannot do that in one step | change them in two steps: first take one out, or give it another value
the old one changes and is still in the way
    impossible: route new cannot be written: NetBird has another route "old" (daojn07c1n8hkrl723dg) for the same network through the same routers, and refuses a second one | give one of them another network or other routers, or delete the other one in NetBird
through a single peer, which the server never sees
    create route new
    unmanaged: route old
a single peer is in the group of the old one
    impossible: route new cannot be written: NetBird has another route "old" (daojn07c1n8hkrl723dg) for the same network through the same routers, and refuses a second one | give one of them another network or other routers, or delete the other one in NetBird
its group gets a peer of the old one's
    impossible: route new cannot be written: NetBird has another route "old" (daojn07c1n8hkrl723dg) for the same network through the same routers, and refuses a second one | give one of them another network or other routers, or delete the other one in NetBird
another group gets one
    update group b
        peers ["edge"] → ["edge","other"]
    create route new
    unmanaged in b: ["edge"]
    adopts group a as Adopted
    adopts group b as Adopted
    adopts group c as Adopted
    unmanaged: route old

"#]].raw());
}

/// A dead key still blocks its groups' deletion: ours lets go first, before the group goes.
#[test]
fn dead_keys_let_go_of_groups_that_go() {
    let dead = |name: &str| over(key(name, &["g", "keep"]), used_at(MADE + 9));
    let older = over(key_at("k", &["g"], MADE - 99), used_at(MADE - 9));
    let declared = json!({ "type": "one-off", "expires_in": 5_184_000, "enrolled": true });
    let file = json!({ "groups": { "keep": {} }, "setup_keys": { "k": declared } });
    let live = |keys: Vec<Value>| json!({ "groups": [group("g", &[]), group("keep", &[])], "setup_keys": keys });
    let rows = [
        (
            "ours",
            Case::new(file.clone(), live(vec![dead("k")]))
                .prune_all()
                .outcome(),
        ),
        (
            "ours, and another that goes",
            Case::new(file.clone(), live(vec![dead("k"), dead("other")]))
                .prune_all()
                .outcome(),
        ),
        (
            "ours, and an older one of its name that is not",
            Case::new(file.clone(), live(vec![older, dead("k")]))
                .prune_all()
                .outcome(),
        ),
        (
            "ours, and a policy of the group's name goes",
            Case::new(
                over(
                    file.clone(),
                    json!({ "groups": { "g": {}, "keep": {} }, "policies": {} }),
                ),
                over(
                    live(vec![dead("k")]),
                    json!({ "policies": [policy("g", &["keep"], &["keep"])] }),
                ),
            )
            .prune_all()
            .outcome(),
        ),
        (
            "ours, and it goes itself",
            Case::new(
                json!({ "groups": { "keep": {} }, "setup_keys": {} }),
                live(vec![dead("k")]),
            )
            .inventory(json!({ "created": { "setup_keys/k": [id(Kind::SetupKey, "k")] } }))
            .prune_all()
            .outcome(),
        ),
        (
            "not ours: the entry that could adopt it is skipped, because NetBird has another of its groups twice",
            {
                let fields = json!({ "auto_groups": ["two", "g"] });
                let file = json!({ "groups": { "keep": {}, "two": { "peers": ["x"] } },
                                   "setup_keys": { "k": over(declared.clone(), fields) } });
                let second = json!({ "id": id_at(Kind::Group, "two", MADE + 9) });
                let mut live = live(vec![dead("k")]);
                let groups = live["groups"].as_array_mut().expect("groups");
                groups.extend([group("two", &[]), over(group("two", &[]), second)]);
                Case::new(file, live)
                    .inventory(json!({ "created": { "groups/g": [id(Kind::Group, "g")] } }))
                    .outcome()
            },
        ),
        (
            "not ours, keys are not managed",
            Case::new(
                json!({ "groups": { "keep": {} } }),
                live(vec![dead("other")]),
            )
            .prune_all()
            .outcome(),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
ours
    update setup key k: the group is deleted, and this key cannot be used any more
        auto_groups ["g","keep"] → ["keep"]
    delete group g: it is not in the file (--prune all)
    adopts group keep as Adopted
    adopts setup key k as Adopted
ours, and another that goes
    update setup key k: the group is deleted, and this key cannot be used any more
        auto_groups ["g","keep"] → ["keep"]
    delete setup key other: it is not in the file (--prune all)
    delete group g: it is not in the file (--prune all)
    adopts group keep as Adopted
    adopts setup key k as Adopted
ours, and an older one of its name that is not
    held: group g: not deleted, because it is still used by setup key "k" (daojm7d8v557f7ctlctg, overused)
    adopts group keep as Adopted
    adopts setup key k as Adopted
ours, and a policy of the group's name goes
    delete policy g: it is not in the file (--prune all)
    adopts group g as Adopted
    adopts group keep as Adopted
    adopts setup key k as Adopted
ours, and it goes itself
    delete setup key k: it is no longer in the file
    delete group g: it is not in the file (--prune all)
    adopts group keep as Adopted
not ours: the entry that could adopt it is skipped, because NetBird has another of its groups twice
    held: group g: not deleted, because it is still used by setup key "k" (daojn058v557f7ctlctg, overused)
    adopts group keep as Adopted
    skipped: group two
    skipped: setup key k
    note: group "two" is skipped: several objects in NetBird fit this entry (daojn06a91jk8e8jmaj0, daojn2ea91jk8e8jmaj0). Run apply --adopt groups/two=ID (in a job: the input adopt of the apply workflow) with the id of the right one, or delete the others in NetBird.
    note: group "two" lists "x", but no peer has this name, so no peer is added. Check the name. When its machine enrolled, run apply --adopt peers/x=ID
    note: setup key "k" is skipped: it refers to group "two", which is skipped, too
not ours, keys are not managed
    held: group g: not deleted, because it is still used by setup key "other" (daojn02697iataqjdpo0, overused)
    adopts group keep as Adopted

"#]]
        .raw()
    );
}

/// The outcome without what changes in each step.
fn steps(case: &Case) -> String {
    let outcome = case.outcome();
    let lines = outcome.lines().filter(|line| !line.starts_with(' '));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Ids of objects, as the inventory has them.
fn recorded(all: &[(Kind, &str, &str)]) -> Value {
    let ids = all
        .iter()
        .map(|(kind, key, name)| ((*key).to_owned(), json!([id(*kind, name)])));
    json!({ "created": ids.collect::<serde_json::Map<_, _>>() })
}

/// What an object was called in NetBird is free for another one once it has the name of its entry.
#[test]
fn names_that_moved_on_by_hand() {
    let named = |of: Value, now: &str| over(of, json!({ "name": now }));
    let servers = |name: &str, now: &str| named(nameservers(name, &["10.0.0.1"], &["All"]), now);
    let n = json!({ "nameservers": [{ "ip": "10.0.0.1" }], "primary": true, "groups": ["All"] });
    let dns = |live: Value| {
        let file = json!({ "dns": { "nameserver_groups": { "a": n, "b": n } } });
        Case::new(file, json!({ "nameserver_groups": live })).inventory(recorded(&[
            (Kind::NameserverGroup, "nameserver_groups/a", "a"),
            (Kind::NameserverGroup, "nameserver_groups/b", "b"),
        ]))
    };
    let p = json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
    // the name that the entry "ra" of the network c has in NetBird, and that of "rb" of the network b, if there is one
    let resources = |ra: &str, rb: Option<&str>| {
        let host = json!({ "address": "10.0.0.9" });
        let resource = |id: &str, name: &str| json!({ "id": id, "name": name, "address": "10.0.0.9/32", "enabled": true, "groups": [] });
        let network = |name: &str, ids: Vec<&str>| json!({ "id": name, "name": name, "resources": ids, "routers": [] });
        let listed = rb.map(|rb| resource("idb", rb));
        Case::new(
            json!({ "networks": { "b": { "resources": { "rb": host } }, "c": { "resources": { "ra": host } } } }),
            json!({
                "networks": [network("b", rb.map(|_| "idb").into_iter().collect()), network("c", vec!["ida"])],
                "network_resources": listed.into_iter().chain([resource("ida", ra)]).collect::<Vec<_>>(),
            }),
        )
        .inventory(json!({ "created": {
            "networks/b": ["b"], "networks/c": ["c"], "resources/ra": ["ida"], "resources/rb": rb.map(|_| "idb").into_iter().collect::<Vec<_>>(),
        } }))
    };
    let rows = [
        ("a network resource that has the name of a new one in another network", resources("rb", None)),
        ("network resources, whose names are unique in the account", resources("x", Some("ra"))),
        ("the other way round", resources("rb", Some("x"))),
        ("network resources that have each other's", resources("rb", Some("ra"))),
        ("nameserver groups, whose names are always unique", dns(json!([servers("a", "x"), servers("b", "a")]))),
        ("they have each other's", dns(json!([servers("a", "b"), servers("b", "a")]))),
        (
            "groups that have each other's, which are unique only when they are made",
            Case::new(
                json!({ "groups": { "a": {}, "b": {} } }),
                json!({ "groups": [named(group("a", &[]), "b"), named(group("b", &[]), "a")] }),
            )
            .inventory(recorded(&[(Kind::Group, "groups/a", "a"), (Kind::Group, "groups/b", "b")])),
        ),
        (
            "a policy that has the name of a new group",
            Case::new(
                json!({ "groups": { "g": {} }, "policies": p }),
                json!({ "policies": [named(policy("p", &["All"], &["All"]), "g")] }),
            )
            .inventory(recorded(&[(Kind::Policy, "policies/p", "p")])),
        ),
        (
            "a machine that goes and the one in its place",
            Case::new(
                json!({ "setup_keys": { "k": { "type": "one-off", "expires_in": 5_184_000, "reissue_after": time(MADE + 500) } } }),
                json!({
                    "peers": [peer_at("k", MADE + 9), peer_at("new-host", MADE + 700)],
                    "setup_keys": [over(key("k", &[]), used_at(MADE + 9)), over(key_at("k", &[], MADE + 600), used_at(MADE + 700))],
                }),
            )
            .inventory(json!({
                "created": { "setup_keys/k": [id(Kind::SetupKey, "k"), id_at(Kind::SetupKey, "k", MADE + 600)] },
                "enrolled": { "k": [id_at(Kind::Peer, "k", MADE + 9)] },
            })),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, steps(&case)));
    assert_data_eq!(
        table(rows),
        str![[r#"
a network resource that has the name of a new one in another network
    update network resource ra: somebody renamed it to "rb" in NetBird; this plan renames it back to "ra". To keep the new name, write "rb" in the file.
    create network resource rb
network resources, whose names are unique in the account
    update network resource rb: somebody renamed it to "ra" in NetBird; this plan renames it back to "rb". To keep the new name, write "ra" in the file.
    update network resource ra: somebody renamed it to "x" in NetBird; this plan renames it back to "ra". To keep the new name, write "x" in the file.
the other way round
    update network resource ra: somebody renamed it to "rb" in NetBird; this plan renames it back to "ra". To keep the new name, write "rb" in the file.
    update network resource rb: somebody renamed it to "x" in NetBird; this plan renames it back to "rb". To keep the new name, write "x" in the file.
network resources that have each other's
    impossible: network resource rb and other network resources of this plan swap a unique value, and NetBird cannot do that in one step | change them in two steps: first take one out, or give it another value
nameserver groups, whose names are always unique
    update nameserver group b: somebody renamed it to "a" in NetBird; this plan renames it back to "b". To keep the new name, write "a" in the file.
    update nameserver group a: somebody renamed it to "x" in NetBird; this plan renames it back to "a". To keep the new name, write "x" in the file.
they have each other's
    impossible: nameserver group a and other nameserver groups of this plan swap a unique value, and NetBird cannot do that in one step | change them in two steps: first take one out, or give it another value
groups that have each other's, which are unique only when they are made
    update group a: somebody renamed it to "b" in NetBird; this plan renames it back to "a". To keep the new name, write "b" in the file.
    update group b: somebody renamed it to "a" in NetBird; this plan renames it back to "b". To keep the new name, write "a" in the file.
a policy that has the name of a new group
    create group g
    update policy p: somebody renamed it to "g" in NetBird; this plan renames it back to "p". To keep the new name, write "g" in the file.
a machine that goes and the one in its place
    delete peer k [made +9 s]: enrolled with an older setup key "k", and replaced by the peer "new-host" (daojsf242q9gdg3pqqt0); only the times of key and peer say so, not the event log
    rename peer k [made +700 s]: enrolled with this key; only the times of key and peer say so, not the event log

"#]]
        .raw()
    );
}

/// What goes with its zone goes before it, and before another zone has its domain.
#[test]
fn a_domain_that_another_zone_gets() {
    let declared = |domain: &str| json!({ "domain": domain, "distribution_groups": ["All"], "records": [{ "name": "db", "type": "A", "content": "10.0.0.1" }] });
    let live =
        || json!({ "zones": [zone("z", "z.example", &[("db.z.example", "10.0.0.1")], &["All"])] });
    let ours = || {
        let db = id(Kind::DnsRecord, "z db.z.example 10.0.0.1");
        json!({ "created": { "zones/z": [id(Kind::DnsZone, "z")], "records/z/db.z.example A": [db] } })
    };
    let with =
        |zones: Value| Case::new(json!({ "dns": { "zones": zones } }), live()).inventory(ours());
    let two = |zones: Value| {
        let named = |name: &str| zone(name, &format!("{name}.example"), &[], &["All"]);
        let live = json!({ "zones": [named("x"), named("y")] });
        Case::new(json!({ "dns": { "zones": zones } }), live).inventory(recorded(&[
            (Kind::DnsZone, "zones/x", "x"),
            (Kind::DnsZone, "zones/y", "y"),
        ]))
    };
    let rows = [
        (
            "the entry of the old one is gone",
            with(json!({ "a": declared("z.example") })),
        ),
        (
            "the old one gets another domain",
            with(json!({ "a": declared("z.example"), "z": declared("new.example") })),
        ),
        (
            "the same, and the names are the other way round",
            with(json!({ "zz": declared("z.example"), "z": declared("new.example") })),
        ),
        (
            "the name of a record stays, and another zone gets the old domain",
            with(json!({ "a": declared("z.example"), "z": {
                "domain": "example", "distribution_groups": ["All"], "records": [
                { "name": "db.z", "type": "A", "content": "10.0.0.1" }] } })),
        ),
        (
            "a zone gets the domain of one that gets another",
            two(
                json!({ "x": declared("y.example"), "y": declared("new.example"), "a": declared("x.example") }),
            ),
        ),
        (
            "two zones exchange theirs",
            two(json!({ "x": declared("y.example"), "y": declared("x.example") })),
        ),
        (
            "the name of a record stays in the other domain of its zone",
            with(
                json!({ "z": { "domain": "example", "distribution_groups": ["All"], "records": [
                { "name": "db.z", "type": "A", "content": "10.0.0.1" }] } }),
            ),
        ),
    ];
    // a record that goes with its zone counts, too
    let counted = |case: &Case| case.plan().map_or(0, |plan| plan.counted_rows().len());
    let counted = rows.iter().map(|(_, case)| counted(case));
    assert_eq!(Vec::from_iter(counted), [2, 2, 2, 2, 2, 0, 2]);
    let rows = rows.map(|(what, case)| (what, steps(&case)));
    assert_data_eq!(
        table(rows),
        str![[r#"
the entry of the old one is gone
    delete DNS record db.z.example A: it is no longer in the file
    delete DNS zone z: it is no longer in the file
    create DNS zone a
    create DNS record db.z.example A
the old one gets another domain
    replace DNS zone z (making): its domain cannot be changed: a new one is created, then the old one is deleted
    delete DNS record db.z.example A: it is no longer in the file
    replace DNS zone z (breaking): its domain cannot be changed: a new one is created, then the old one is deleted
    create DNS zone a
    create DNS record db.z.example A
    create DNS record db.new.example A
the same, and the names are the other way round
    replace DNS zone z (making): its domain cannot be changed: a new one is created, then the old one is deleted
    delete DNS record db.z.example A: it is no longer in the file
    replace DNS zone z (breaking): its domain cannot be changed: a new one is created, then the old one is deleted
    create DNS zone zz
    create DNS record db.new.example A
    create DNS record db.z.example A
the name of a record stays, and another zone gets the old domain
    replace DNS zone z (making): its domain cannot be changed: a new one is created, then the old one is deleted
    replace DNS record db.z.example A (making): replaced together with its parent
    replace DNS record db.z.example A (breaking): replaced together with its parent
    replace DNS zone z (breaking): its domain cannot be changed: a new one is created, then the old one is deleted
    create DNS zone a
    create DNS record db.z.example A
a zone gets the domain of one that gets another
    replace DNS zone y (making): its domain cannot be changed: a new one is created, then the old one is deleted
    replace DNS zone y (breaking): its domain cannot be changed: a new one is created, then the old one is deleted
    replace DNS zone x (making): its domain cannot be changed: a new one is created, then the old one is deleted
    replace DNS zone x (breaking): its domain cannot be changed: a new one is created, then the old one is deleted
    create DNS zone a
    create DNS record db.x.example A
    create DNS record db.y.example A
    create DNS record db.new.example A
two zones exchange theirs
    impossible: DNS zone x and other DNS zones of this plan swap a unique value, and NetBird cannot do that in one step | change them in two steps: first take one out, or give it another value
the name of a record stays in the other domain of its zone
    replace DNS zone z (making): its domain cannot be changed: a new one is created, then the old one is deleted
    replace DNS record db.z.example A (making): replaced together with its parent
    replace DNS record db.z.example A (breaking): replaced together with its parent
    replace DNS zone z (breaking): its domain cannot be changed: a new one is created, then the old one is deleted

"#]]
        .raw()
    );
}

/// Members move before anything that they need goes, and users when all else is settled that decides about their machines.
#[test]
fn who_joins_who_leaves_and_whose_machines_follow() {
    let member = |name: &str| id(Kind::Peer, name);
    let file = json!({
        "groups": { "z": { "peers": ["new"] } },
        "users": { "mira@example.org": { "auto_groups": ["z"] } },
        "account": { "settings": { "groups_propagation_enabled": true } },
    });
    let live = json!({
        "groups": [group("a", &[]), group("z", &["old"])],
        "peers": [peer("old"), peer("new")],
        "users": [{ "id": "u", "email": "mira@example.org", "role": "user", "auto_groups": [] }],
        "accounts": [{ "id": "account", "settings": { "groups_propagation_enabled": false } }],
    });
    let inventory = json!({
        "created": { "groups/a": [id(Kind::Group, "a")], "groups/z": [id(Kind::Group, "z")] },
        "members": { "z": { "old": member("old") } },
        "names": { "new": member("new"), "old": member("old") },
    });
    assert_data_eq!(
        steps(&Case::new(file, live).inventory(inventory)),
        str![[r#"
update group z (additions)
update account settings
update user mira@example.org
update group z (removals)
delete group a: it is no longer in the file

"#]]
        .raw()
    );
}
