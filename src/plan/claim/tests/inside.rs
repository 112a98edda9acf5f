//! What stands in networks and zones belongs to these objects, whatever else has their names.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::of;
use crate::base::Id;
use crate::model::{Address, Kind};
use crate::plan::Prune;
use crate::testing::{Case, MADE, enrolled, group, id, key, over, peer, table, used_at, zone};

/// A live network of that id and name, with these routers.
fn network(id: &str, name: &str, routers: &[&str]) -> Value {
    json!({ "id": id, "name": name, "description": "", "routers": routers, "resources": [] })
}

/// A live router: `r2` is for the group `h`, all others for `g`.
fn router(id: &str) -> Value {
    let group = if id == "r2" { "h" } else { "g" };
    json!({ "id": id, "peer": "", "peer_groups": [crate::testing::id(Kind::Group, group)], "metric": 9999, "masquerade": true, "enabled": true })
}

fn lists(networks: &[Value], routers: &[&str]) -> Value {
    let routers: Vec<Value> = routers.iter().map(|id| router(id)).collect();
    json!({ "groups": [group("g", &[]), group("h", &[])], "networks": networks, "network_routers": routers })
}

/// Networks of these names, each with one router.
fn file(networks: &[&str]) -> Value {
    let entry = json!({ "routers": [{ "peer_groups": ["g"], "metric": 9999, "masquerade": true, "enabled": true }] });
    let entries = networks
        .iter()
        .map(|name| ((*name).to_owned(), entry.clone()));
    json!({ "networks": entries.collect::<serde_json::Map<_, _>>() })
}

/// Another environment has the objects with these ids.
fn strange(case: Case, ids: &[&str]) -> Case {
    case.ours(|ours| {
        let of_lab = ids.iter().map(|id| (Id::from(*id), "lab.json".to_owned()));
        ours.strange.extend(of_lab);
    })
}

/// Two recorded networks of an entry, the second with a router that nobody recorded.
fn twice(prune: Prune, is_made: bool, second: &str) -> Case {
    let lists = lists(
        &[network("1", "a", &["r1"]), network("2", "a", &["r3"])],
        &["r1", "r3"],
    );
    let mut recorded =
        json!({ "created": { "networks/a": ["1"], "routers/a": ["r1"] }, "adopted": {} });
    match second {
        "created" => recorded["created"]["networks/a"] = json!(["1", "2"]),
        _ => recorded["adopted"]["networks/a"] = json!(["2"]),
    }
    let case = Case::new(file(&["a"]), lists).inventory(recorded);
    case.prune(prune)
        .ours(|ours| ours.made.extend(is_made.then(|| Id::from("r3"))))
}

#[test]
fn routers_of_networks() {
    let both = || {
        lists(
            &[network("1", "a", &["r1", "r2"]), network("2", "b", &["r3"])],
            &["r1", "r2", "r3"],
        )
    };
    let rows = [
        (
            "two networks, the first with a router by hand",
            Case::new(file(&["a", "b"]), both()).inventory(json!({
                "created": { "networks/a": ["1"], "networks/b": ["2"], "routers/a": ["r1"], "routers/b": ["r3"] },
            })),
        ),
        (
            "the same, and the second one is to get a second router",
            Case::new(
                {
                    let mut file = file(&["a", "b"]);
                    let router = file["networks"]["b"]["routers"][0].clone();
                    file["networks"]["b"]["routers"] = json!([router, over(router.clone(), json!({ "peer_groups": ["h"] }))]);
                    file
                },
                both(),
            )
            .inventory(json!({
                "created": { "networks/a": ["1"], "networks/b": ["2"], "routers/a": ["r1"], "routers/b": ["r3"] },
            })),
        ),
        (
            "another network of the name by hand, with a router",
            Case::new(
                file(&["a"]),
                lists(&[network("1", "a", &["r1"]), network("2", "a", &["r2"])], &["r1", "r2"]),
            )
            .inventory(json!({ "created": { "networks/a": ["1"], "routers/a": ["r1"] } })),
        ),
        (
            "another environment has the only network of the name",
            strange(
                Case::new(file(&["a"]), lists(&[network("1", "a", &["r1"])], &["r1"])).inventory(json!({})),
                &["1", "r1"],
            ),
        ),
        ("two runs made the network, and the second one a router, too", twice(Prune::Owned, true, "created")),
        ("the same, and the router is by hand", twice(Prune::Owned, false, "created")),
        ("two runs made the network and a router, with --prune none", twice(Prune::None, true, "created")),
        ("the second network was adopted", twice(Prune::Owned, true, "adopted")),
        ("it is not known what is ours, and two networks have the name", {
            let lists = lists(&[network("1", "a", &["r1"]), network("2", "a", &["r2"])], &["r1", "r2"]);
            Case::new(file(&["a"]), lists).prune(Prune::Owned)
        }),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(
        table(rows),
        str![[r#"
two networks, the first with a router by hand
    unmanaged: network router of network a
    note: NetBird has another network router of network "a" (id r2). This file does not manage it and does not change it.
the same, and the second one is to get a second router
    create network router of network b
    unmanaged: network router of network a
    note: NetBird has another network router of network "a" (id r2). This file does not manage it and does not change it.
another network of the name by hand, with a router
    unmanaged: network a (2)
    note: NetBird has another network with the name "a" (id 2). This file does not manage it and does not change it.
another environment has the only network of the name
    create network a
    create network router of network a
    managed by lab.json: network a
    managed by lab.json: network router of network a
    note: NetBird has another network with the name "a" (id 1), which "lab.json" manages. This file does not manage it and does not change it.
two runs made the network, and the second one a router, too
    delete network router of network a (2): it is no longer in the file
    delete network a (2): a second object of this entry, created by another run of this file
the same, and the router is by hand
    held: network a (2): not deleted, because it contains network router of network "a (2)" (r3), which is not deleted
two runs made the network and a router, with --prune none
    unmanaged: network a (2)
the second network was adopted
    let go: network a (2): Adopted
it is not known what is ours, and two networks have the name
    unmanaged: network a (2)
    note: NetBird has another network with the name "a" (id 2). This file does not manage it and does not change it.

"#]]
        .raw()
    );
}

#[test]
fn resources_of_networks() {
    let file = || json!({ "networks": { "a": { "resources": { "printer": { "address": "10.0.0.9", "groups": ["g"] } } } } });
    let lists = |of: &str| {
        let mut networks = [network("1", "a", &[]), network("2", "b", &[])];
        networks[usize::from(of == "b")]["resources"] = json!(["p"]);
        let printer = json!({ "id": "p", "name": "printer", "description": "", "address": "10.0.0.9/32", "enabled": true,
                              "groups": [{ "id": id(Kind::Group, "g") }] });
        json!({ "groups": [group("g", &[])], "networks": networks, "network_resources": [printer] })
    };
    let created = |more: Value| json!({ "created": over(json!({ "networks/a": ["1"] }), more) });
    let printer = || json!({ "resources/printer": ["p"] });
    let mut two = file();
    two["networks"]["a"]["resources"]["scanner"] =
        json!({ "address": "10.0.0.9", "groups": ["g"] });
    let scanner = Address::of_key("resources/scanner").expect("a key");
    let rows = [
        (
            "recorded",
            Case::new(file(), lists("a")).inventory(created(printer())),
        ),
        (
            "recorded, and in another network",
            Case::new(file(), lists("b")).inventory(created(printer())),
        ),
        (
            "--adopt gives it to an entry behind the one that has its name",
            Case::new(two, lists("a"))
                .inventory(created(json!({})))
                .ours(|ours| drop(ours.asked.insert(scanner, "p".into()))),
        ),
        (
            "another environment has it in another network: the name is taken",
            strange(
                Case::new(file(), lists("b")).inventory(created(json!({}))),
                &["2", "p"],
            ),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(
        table(rows),
        str![[r#"
recorded
    unmanaged: network b
recorded, and in another network
    update network resource printer
        network "b" → "a"
    unmanaged: network b
--adopt gives it to an entry behind the one that has its name
    update network resource scanner
        name "printer" → "scanner"
    create network resource printer
    adopts network resource scanner as Adopted
    unmanaged: network b
another environment has it in another network: the name is taken
    skipped: network resource printer
    managed by lab.json: network b
    managed by lab.json: network resource printer
    note: network resource "printer" is skipped: "lab.json" manages this network resource (id p), and NetBird allows only one. Remove the entry from one of the two files.

"#]]
        .raw()
    );
}

#[test]
fn records_of_zones() {
    let lists = |ip: &str| json!({ "zones": [zone("corp", "corp.example", &[("db.corp.example", ip)], &["All"])] });
    let record = |content: Value| json!([{ "name": "db", "type": "A", "content": content }]);
    let zones = |corp: Value| json!({ "dns": { "zones": { "corp": corp } } });
    let whole = |records: Value| json!({ "domain": "corp.example", "distribution_groups": ["All"], "records": records });
    let by_machine = || {
        let file = over(
            zones(whole(record(json!({ "peer": "gw" })))),
            json!({ "setup_keys": {
            "gw": { "type": "one-off", "expires_in": 5_184_000, "enrolled": true } } }),
        );
        let mut case = Case::new(
            file,
            over(
                lists("100.92.14.7"),
                json!({
                    "peers": [over(peer("gw"), json!({ "ip": "100.92.0.1" })), peer("host")],
                    "setup_keys": [over(key("gw", &[]), used_at(MADE))],
                }),
            ),
        );
        case.snapshot.rest.events = Some(vec![enrolled("gw", "host").into()]);
        case.inventory(json!({ "created": { "zones/corp": [id(Kind::DnsZone, "corp")], "setup_keys/gw": [id(Kind::SetupKey, "gw")] },
                               "enrolled": { "gw": [id(Kind::Peer, "host")] } }))
    };
    // the record of a machine's address that cannot be told yet
    let waits = |of: &str, file: Value, live: Value| {
        let record = json!([{ "name": "db", "type": of, "content": { "peer": "gw" } }]);
        let zone = zone("corp", "corp.example", &[], &["All"]);
        Case::new(
            over(zones(whole(record)), file),
            over(json!({ "zones": [zone] }), live),
        )
        .inventory(
            json!({ "created": { "zones/corp": [id(Kind::DnsZone, "corp")] },
                           "names": { "gw": id(Kind::Peer, "gw") } }),
        )
    };
    let rows = [
        (
            "the entry says no more of the zone than its records: it is somebody else's",
            Case::new(
                zones(json!({ "records": [{ "name": "db.corp.example", "type": "A", "content": "10.0.0.1" }] })),
                lists("10.0.0.1"),
            )
            .inventory(json!({})),
        ),
        (
            "the same, and somebody renamed the zone of ours",
            Case::new(
                zones(json!({ "records": [{ "name": "corp.example", "type": "A", "content": "10.0.0.2" }] })),
                { let mut lists = lists("10.0.0.1"); lists["zones"][0]["name"] = json!("x"); lists },
            )
            .inventory(json!({ "created": { "zones/corp": [id(Kind::DnsZone, "corp")] } })),
        ),
        (
            "this change takes the records out of the entry",
            Case::new(zones(json!({ "domain": "corp.example", "distribution_groups": ["All"] })), lists("10.0.0.1"))
                .inventory(json!({ "created": { "zones/corp": [id(Kind::DnsZone, "corp")] } }))
                .since(&[zones(whole(record(json!("10.0.0.1"))))]),
        ),
        (
            "this change takes out the zone with its records",
            Case::new(over(json!({ "groups": { "g": {} } }), json!({ "dns": { "zones": {} } })), over(lists("10.0.0.1"), json!({ "groups": [group("g", &[])] })))
                .inventory(json!({ "created": { "zones/corp": [id(Kind::DnsZone, "corp")] } }))
                .since(&[zones(whole(record(json!("10.0.0.1"))))]),
        ),
        (
            "a record with the address of the machine that came by the key, beside one that calls itself so",
            by_machine(),
        ),
        (
            "another environment has the zone and its group, and another zone is made",
            Case::new(
                json!({ "groups": { "g": {} }, "dns": { "zones": {
                    "corp": over(whole(record(json!("10.0.0.1"))), json!({ "distribution_groups": ["g"] })),
                    "lab": { "domain": "lab.example", "distribution_groups": ["All"], "records": record(json!("10.0.0.1")) },
                } } }),
                json!({ "groups": [group("g", &[])], "zones": [zone("corp", "corp.example", &[], &["g"])] }),
            )
            .inventory(json!({}))
            .ours(|ours| drop(ours.strange.insert(id(Kind::Group, "g").as_str().into(), "lab.json".into())))
            .ours(|ours| drop(ours.strange.insert(id(Kind::DnsZone, "corp").as_str().into(), "lab.json".into()))),
        ),
        (
            "a record with the IPv6 address of a machine that has none",
            waits("AAAA", json!({}), json!({ "peers": [over(peer("gw"), json!({ "ip": "100.92.0.1" }))] })),
        ),
        (
            "a record with the address of a machine that has not enrolled",
            waits(
                "A",
                json!({ "setup_keys": { "gw": { "type": "one-off", "expires_in": 5_184_000 } } }),
                json!({ "setup_keys": [key("gw", &[])] }),
            ),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(
        table(rows),
        str![[r#"
the entry says no more of the zone than its records: it is somebody else's
    adopts DNS record db.corp.example A as Adopted
the same, and somebody renamed the zone of ours
    update DNS zone corp: somebody renamed it to "x" in NetBird; this plan renames it back to "corp". To keep the new name, write "x" in the file.
        name "x" → "corp"
    create DNS record corp.example A
    unmanaged: DNS record db.corp.example A
this change takes the records out of the entry
    note: section "records" of DNS zone "corp" is removed from the file by this change, so nothing in it is managed any more. None of its objects exists in NetBird.
this change takes out the zone with its records
    held: DNS zone corp: not deleted, because it contains DNS record "db.corp.example A" (daojn00l12pbmjsuhiq0), which is not deleted
    adopts group g as Adopted
a record with the address of the machine that came by the key, beside one that calls itself so
    adopts DNS record db.corp.example A as Adopted
    note: DNS record "db.corp.example A" names "gw", which means the peer daojn001d7im4h5d06hg. The peer daojn05h52b8h06og03g has this name too, but is not used. If it is the right machine, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key. If not, rename it.
another environment has the zone and its group, and another zone is made
    create DNS zone lab
    create DNS record db.lab.example A
    skipped: group g
    skipped: DNS zone corp
    skipped: DNS record db.corp.example A
    managed by lab.json: group g
    managed by lab.json: DNS zone corp
    note: group "g" is skipped: "lab.json" manages this group (id daojn03076ei75c05t8g), and NetBird allows only one. Remove the entry from one of the two files.
    note: DNS zone "corp" is skipped: "lab.json" manages this DNS zone (id daojn02snvknhdqt4e3g), and NetBird allows only one. Remove the entry from one of the two files.
    note: DNS record "db.corp.example A" is skipped: it refers to DNS zone "corp", which is skipped, too
a record with the IPv6 address of a machine that has none
    note: DNS record "db.corp.example AAAA" is skipped until the peer that it names has such an address. (A machine has an IPv6 address if one of its groups is in "ipv6_enabled_groups" of the account settings.)
a record with the address of a machine that has not enrolled
    create setup key gw
    note: NetBird has another valid setup key with the name "gw" (id daojn05t6rak1kmtqj40). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/gw=daojn05t6rak1kmtqj40 (in a job: the input adopt of the apply workflow).
    note: DNS record "db.corp.example A" names "gw", but the machine of this setup key has not enrolled yet. This entry is skipped until its peer is known.

"#]]
        .raw()
    );
}

/// What stands in an object belongs to the object.
#[test]
fn what_stands_in_others() {
    let file = |records: Value| json!({ "dns": { "zones": { "corp": { "domain": "corp.example", "distribution_groups": ["All"], "records": records } } } });
    let record = |name: &str| json!([{ "name": name, "type": "A", "content": "10.0.0.1" }]);
    let lists = |name: &str, records: &[(&str, &str)]| {
        let zone = zone("corp", "corp.example", records, &["All"]);
        json!({ "zones": [over(zone, json!({ "name": name }))] })
    };
    let db = id(Kind::DnsRecord, "corp db.corp.example 10.0.0.1");
    let ours = || json!({ "created": { "zones/corp": [id(Kind::DnsZone, "corp")], "records/corp/db.corp.example A": [db] } });
    let rows = [
        (
            "recorded",
            Case::new(
                file(record("db")),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "the zone is renamed by hand",
            Case::new(
                file(record("db")),
                lists("corp2", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "a record by hand beside ours",
            Case::new(
                file(record("db")),
                lists(
                    "corp",
                    &[
                        ("db.corp.example", "10.0.0.1"),
                        ("db.corp.example", "10.0.0.2"),
                    ],
                ),
            )
            .inventory(ours()),
        ),
        (
            "the record leaves",
            Case::new(
                file(json!([])),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "the zone leaves",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": {} } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "the zone leaves, and has a record by hand",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": {} } }),
                lists(
                    "corp",
                    &[
                        ("db.corp.example", "10.0.0.1"),
                        ("x.corp.example", "10.0.0.2"),
                    ],
                ),
            )
            .inventory(ours()),
        ),
        (
            "its section is gone",
            Case::new(
                json!({ "groups": { "keep": {} } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "nobody declared the zone",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": {} } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(json!({})),
        ),
        (
            "the same, with --prune all",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": {} } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(json!({}))
            .prune_all(),
        ),
        (
            "the zone is to be replaced, and the file says nothing of its records",
            Case::new(
                json!({ "dns": { "zones": { "corp": { "domain": "new.example", "distribution_groups": ["All"] } } } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "the zone is to be replaced, and has a record by hand",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": { "corp": { "domain": "new.example", "distribution_groups": ["All"], "records": [] } } } }),
                lists(
                    "corp",
                    &[
                        ("db.corp.example", "10.0.0.1"),
                        ("x.corp.example", "10.0.0.2"),
                    ],
                ),
            )
            .inventory(ours()),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(table(rows), str![[r#"
recorded
    nothing
the zone is renamed by hand
    update DNS zone corp: somebody renamed it to "corp2" in NetBird; this plan renames it back to "corp". To keep the new name, write "corp2" in the file.
        name "corp2" → "corp"
a record by hand beside ours
    unmanaged: DNS record db.corp.example A
    note: NetBird has another DNS record with the name "db.corp.example A" (id daojn00l12qrmjsui76g). This file does not manage it and does not change it.
the record leaves
    delete DNS record db.corp.example A: it is no longer in the file
the zone leaves
    create group keep
    delete DNS record db.corp.example A: it is no longer in the file
    delete DNS zone corp: it is no longer in the file
the zone leaves, and has a record by hand
    create group keep
    delete DNS record db.corp.example A: it is no longer in the file
    held: DNS zone corp: not deleted, because it contains DNS record "x.corp.example A" (daojn00jmcb30b697pvg), which is not deleted
its section is gone
    create group keep
    note: section "dns.zones" is no longer in the file, so nothing in it is managed any more. 1 DNS zone stays in NetBird as before: "corp". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
    note: section "records" of DNS zone "corp" is no longer in the file, so nothing in it is managed any more. 1 DNS record stays in NetBird as before: "db.corp.example A". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
nobody declared the zone
    create group keep
    unmanaged: DNS zone corp
the same, with --prune all
    create group keep
    delete DNS record db.corp.example A: it is not in the file (--prune all)
    delete DNS zone corp: it is not in the file (--prune all)
the zone is to be replaced, and the file says nothing of its records
    impossible: DNS zone corp cannot be replaced: that would delete DNS record "db.corp.example A" (daojn00l12pbmjsuhiq0) too, and the file does not declare it | declare the content in the file, too, or delete it in NetBird, or give the new one another name
the zone is to be replaced, and has a record by hand
    create group keep
    held: DNS zone corp: not changed, because NetBird must delete and create it again for this, and would delete DNS record "x.corp.example A" (daojn00jmcb30b697pvg) in it
    unmanaged: DNS record x.corp.example A

"#]].raw());
}
