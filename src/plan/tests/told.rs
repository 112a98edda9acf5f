//! What people read of changes and of what is in the way: scenarios that end in one sentence each.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::base::{Code, Id};
use crate::model::{Kind, Why};
use crate::testing::{
    Case, MADE, enrolled, group, id, id_at, key, key_at, nameservers, over, peer, policy,
    policy_with, route, table, used_at, zone,
};

/// The outcome, and what to do about what is held back.
fn with_way_out(case: &Case) -> String {
    let held = case.plan().map(|plan| plan.held).unwrap_or_default();
    let way_out = |held: &Why| format!("way out: {}\n", held.said().1);
    let ways = held.iter().map(|held| way_out(&held.why));
    case.outcome() + &ways.collect::<String>()
}

/// The server refuses routes and names that stand in each other's way: a file alone does not show that two groups of routers
/// share a peer, or that two objects have a name.
#[test]
fn what_stands_in_the_way_is_told_or_goes_first() {
    let lan =
        |group: &str| json!({ "network": "10.0.0.0/8", "peer_groups": [group], "groups": ["All"] });
    let routers =
        json!({ "groups": [group("a", &["gw"]), group("b", &["gw"])], "peers": [peer("gw")] });
    let renamed = json!({ "groups": { "new": { "renamed_from": "old" } } });
    let servers = nameservers("n", &["10.0.0.1"], &["g"]);
    let second = over(
        servers.clone(),
        json!({ "id": id_at(Kind::NameserverGroup, "n", MADE + 1) }),
    );
    let dns = |server: &str| {
        let n = json!({ "nameservers": [{ "ip": server }], "primary": true, "groups": ["g"] });
        json!({ "groups": { "g": {} }, "dns": { "nameserver_groups": { "n": n } } })
    };
    let twin = over(
        group("old", &[]),
        json!({ "id": id_at(Kind::Group, "old", MADE + 1) }),
    );
    let corp = || json!({ "dns": { "zones": { "corp": { "domain": "corp.example", "distribution_groups": ["All"] } } } });
    let live_zone = || json!({ "zones": [zone("by-hand", "corp.example", &[], &["All"])] });
    let printer = || {
        Case::new(
            json!({ "networks": { "office": { "resources": { "printer": { "address": "10.1.0.9" } } } } }),
            json!({
                "networks": [{ "id": "n", "name": "by-hand", "resources": ["r"] }],
                "network_resources": [{ "id": "r", "name": "printer", "address": "*.*", "groups": [] }],
            }),
        )
    };
    let rows = [
        (
            "two new routes through groups that share a peer",
            Case::new(
                json!({ "routes": { "lan": lan("a"), "lan-2": lan("b") } }),
                routers,
            ),
        ),
        (
            "a change of nameservers that two runs made at once",
            Case::new(
                dns("10.0.0.2"),
                json!({ "groups": [group("g", &[])], "nameserver_groups": [servers, second] }),
            )
            .history(&[(MADE - 60, dns("10.0.0.1"))]),
        ),
        (
            "the old name of a rename stands for two",
            Case::new(renamed, json!({ "groups": [group("old", &[]), twin] })),
        ),
        (
            "a zone by hand has the domain",
            Case::new(corp(), live_zone()),
        ),
        (
            "a zone whose groups change, and somebody's record has the name of a new alias in it",
            {
                let alias = json!({ "name": "www", "type": "CNAME", "content": "db.corp.example" });
                let mut file = corp();
                file["dns"]["zones"]["corp"]["records"] = json!([alias]);
                let by_hand = zone(
                    "corp",
                    "corp.example",
                    &[("www.corp.example", "10.0.0.5")],
                    &[],
                );
                Case::new(file, json!({ "zones": [by_hand] }))
                    .inventory(json!({ "created": { "zones/corp": [id(Kind::DnsZone, "corp")] } }))
            },
        ),
        (
            "a zone of another environment has it",
            Case::new(corp(), live_zone()).ours(|ours| {
                let id = Id::from(id(Kind::DnsZone, "by-hand").as_str());
                ours.strange.insert(id, "lab.json".into());
            }),
        ),
        (
            "a resource of another network that no file can say has the name",
            printer(),
        ),
        ("the same, and that network goes", printer().prune_all()),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
two new routes through groups that share a peer
    impossible: route lan-2 cannot be written: this plan makes the route "lan" for the same network through the same routers, and NetBird refuses a second one | give one of them another network or other routers
a change of nameservers that two runs made at once
    delete nameserver group n [made +1 s]: a second object of this entry, created by another run of this file
    update nameserver group n
        nameservers [{"ip":"10.0.0.1","port":53}] → [{"ip":"10.0.0.2","port":53}]
the old name of a rename stands for two
    update group new
        name "old" → "new"
    unmanaged: group old
a zone by hand has the domain
    impossible: DNS zone corp cannot be written: NetBird has DNS zone "by-hand" (daojn05atf4f6h9q9fa0), and allows only one of the two | if it is the same object, add "renamed_from" with the old name to the entry; if not, delete the object in NetBird
a zone whose groups change, and somebody's record has the name of a new alias in it
    impossible: DNS record www.corp.example CNAME cannot be written: NetBird has DNS record "www.corp.example A" (daojn02f5446p37iid0g), and allows only one of the two | delete that object in NetBird, or write it into the file as it is and change it there
a zone of another environment has it
    impossible: DNS zone corp cannot be written: NetBird has DNS zone "by-hand" (daojn05atf4f6h9q9fa0), which "lab.json" manages, and allows only one of the two | remove the entry from one of the two files, or give this one another value
a resource of another network that no file can say has the name
    impossible: network resource printer cannot be written: NetBird has one with this name (r) in network "by-hand", and the name can exist only once in an account | to move it, declare that network in the file, too; if it is another one, give one of them another name
the same, and that network goes
    create network office
    delete network resource printer: it is not in the file (--prune all)
    create network resource printer
    delete network by-hand: it is not in the file (--prune all)

"#]].raw());
}

/// The entry of a used key was removed, and something beside the groups needs its peer.
#[test]
fn a_peer_that_something_needs_stays_and_its_key_waits() {
    let mine = json!({ "groups": { "g": {} }, "policies": {}, "setup_keys": {} });
    let p = json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
    let before = |fields: Value| {
        over(
            mine.clone(),
            over(
                json!({ "setup_keys": { "gw": { "type": "one-off", "expires_in": 5_184_000, "enrolled": true } } }),
                fields,
            ),
        )
    };
    let to_gw = json!({ "destinations": null, "destinationResource": { "id": id(Kind::Peer, "gw"), "type": "peer" } });
    let case = |file: Value, history: &[(i64, Value)], more: Value| {
        let live = json!({
            "groups": [group("g", &[])],
            "peers": [peer("gw")],
            "setup_keys": [over(key("gw", &[]), used_at(MADE))],
            "events": [enrolled("gw", "gw")],
        });
        Case::new(file, over(live, more)).history(history)
    };
    let named = json!({ "policies": [policy_with("p", &["g"], &[], to_gw)] });
    let rows = [
        (
            "a policy of the file",
            case(
                over(mine.clone(), json!({ "policies": p })),
                &[(MADE - 60, before(json!({ "policies": p })))],
                named.clone(),
            ),
        ),
        (
            "a policy that is unmanaged",
            case(
                mine.clone(),
                &[(MADE - 60, before(json!({})))],
                named.clone(),
            ),
        ),
        (
            "a policy that was ours, and was changed by hand",
            case(
                mine.clone(),
                &[(MADE - 60, before(json!({ "policies": p })))],
                named,
            ),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, with_way_out(&case)));
    assert_data_eq!(
        table(rows),
        str![[r#"
a policy of the file
    update policy p
        destination_resource {"peer":"gw"} → null
        destinations [] → ["g"]
    delete peer gw: enrolled with setup key "gw", whose entry was removed
    delete setup key gw: it is no longer in the file
a policy that is unmanaged
    delete setup key gw: it is no longer in the file
    held: peer gw: not deleted, because it is still used by policy "p" (daojn064mr64fain5cug)
    unmanaged: policy p
    way out: remove that use in NetBird, or in the file if it is there, and the next apply deletes it; or restore its entry
a policy that was ours, and was changed by hand
    delete policy p: it is no longer in the file
    delete peer gw: enrolled with setup key "gw", whose entry was removed
    delete setup key gw: it is no longer in the file

"#]]
        .raw()
    );
}

#[test]
fn why_something_changes_is_told() {
    let of = |name: &str| json!({ "setup_keys": { name: { "type": "one-off", "expires_in": 5_184_000 } } });
    let file = json!({ "groups": { "g": {} }, "policies": { "p": { "sources": ["g"], "destinations": ["g"] } } });
    let second = over(
        group("g", &[]),
        json!({ "id": id_at(Kind::Group, "g", MADE + 1) }),
    );
    let mut refers = policy("p", &["g"], &["g"]);
    refers["rules"][0]["sources"] = json!([{ "id": second["id"], "name": "g" }]);
    let rows = [
        (
            "a key that another one was to replace, in a run that was killed",
            Case::new(
                of("k"),
                json!({ "setup_keys": [over(key("k", &[]), json!({ "type": "reusable" })), key_at("k", &[], MADE + 9)] }),
            ),
        ),
        (
            "a peer whose name makes a label in punycode",
            Case::new(
                of("müller"),
                json!({
                    "peers": [peer("host")],
                    "setup_keys": [over(key("müller", &[]), used_at(MADE))],
                    "events": [enrolled("müller", "host")],
                }),
            ),
        ),
        (
            "a policy that refers to the second of two groups that two runs made at once",
            Case::new(
                file.clone(),
                json!({ "groups": [group("g", &[]), second], "policies": [refers] }),
            )
            .history(&[(MADE - 60, file)]),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
a key that another one was to replace, in a run that was killed
    nothing
a peer whose name makes a label in punycode
    rename peer müller: enrolled with this key; NetBird writes the label in punycode
        name "host" → "müller"
        dns_label "host" → null
a policy that refers to the second of two groups that two runs made at once
    update policy p
        sources ["g (daojn0b076ei75c05t8g)"] → ["g"]
    delete group g (daojn0b076ei75c05t8g) [made +1 s]: a second object of this entry, created by another run of this file

"#]].raw());
}

#[test]
fn what_cannot_be_is_told_with_what_to_do() {
    let p = json!({ "sources": ["g"], "destinations": ["g"] });
    let with_p = json!({ "groups": { "g": {} }, "policies": { "p": p } });
    let without_g = json!({ "groups": { "keep": {} }, "policies": { "p": p } });
    let keep = || group("keep", &[]);
    let ssh = json!({ "protocol": "netbird-ssh", "authorized_groups": { id(Kind::Group, "keep"): ["root"] } });
    let to_ssh = json!({ "groups": { "g": {}, "keep": {} }, "policies": { "p": over(p.clone(), json!({ "protocol": "netbird-ssh" })) } });
    let issued = |name: &str| over(group(name, &[]), json!({ "issued": "jwt" }));
    let renamed = || json!({ "groups": { "new": { "renamed_from": "old" } } });
    let old = (MADE - 60, json!({ "groups": { "old": {} } }));
    let joins = json!({ "groups": { "g": { "peers": ["k"] } }, "setup_keys": { "k": { "type": "one-off", "expires_in": 5_184_000 } } });
    let rows = [
        (
            "a reference to a group that goes",
            Case::new(without_g, json!({ "groups": [group("g", &[]), keep()], "policies": [policy("p", &["g"], &["g"])] }))
                .history(&[(MADE - 60, with_p)]),
        ),
        (
            "a group whose users are not named, where those of others are",
            Case::new(to_ssh, json!({ "groups": [group("g", &[]), keep()], "policies": [policy_with("p", &["keep"], &["g"], ssh)] })),
        ),
        ("a change of a group that was issued", Case::new(json!({ "groups": { "g": { "peers": [] } } }), json!({ "groups": [over(issued("g"), json!({ "peers": [{ "id": id(Kind::Peer, "x"), "name": "x" }] }))], "peers": [peer("x")] })).prune_all()),
        ("a key whose peer is to join such a one", Case::new(joins.clone(), json!({ "groups": [issued("g")], "setup_keys": [key("k", &[])] }))),
        ("the same, where this change lists it", Case::new(joins.clone(), json!({ "groups": [issued("g")], "setup_keys": [key("k", &[])] })).since(&[json!({ "groups": { "g": {} } })])),
        ("the same, where it was listed before", Case::new(joins.clone(), json!({ "groups": [issued("g")], "setup_keys": [key("k", &[])] })).since(&[joins])),
        ("a rename of what was never declared", Case::new(renamed(), json!({ "groups": [group("old", &[])] }))),
        ("a rename of a policy from the name of what was issued", Case::new(
            json!({ "policies": { "new": { "sources": ["All"], "destinations": ["All"], "renamed_from": "old" } } }),
            json!({ "groups": [issued("old")] })).inventory(json!({}))),
        ("a rename of what was issued", Case::new(renamed(), json!({ "groups": [issued("old")] })).history(std::slice::from_ref(&old))),
        ("a rename to a name that lives", Case::new(renamed(), json!({ "groups": [group("old", &[]), group("new", &[])] })).history(&[old])),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
a reference to a group that goes
    impossible: policy p refers to group "g", which this plan deletes | keep that entry in the file, or remove the reference to it
a group whose users are not named, where those of others are
    impossible: policy p has users in NetBird who may log in by SSH, but none for its source group "g": NetBird would refuse the change | set "authorized_groups", with every source group
a change of a group that was issued
    note: group "g" is issued by jwt, which decides its members, so this change of its list "peers" has no effect. Members in NetBird, but not in the file: "x". Delete "peers" from the group. To add a machine, name the group in "auto_groups" of its setup key.
a key whose peer is to join such a one
    note: group "g" is issued by jwt, which decides its members, so its list "peers" has no effect. In the file, but no members in NetBird: "k". Delete "peers" from the group. To add a machine, name the group in "auto_groups" of its setup key.
the same, where this change lists it
    note: group "g" is issued by jwt, which decides its members, so this change of its list "peers" has no effect. In the file, but no members in NetBird: "k". Delete "peers" from the group. To add a machine, name the group in "auto_groups" of its setup key.
the same, where it was listed before
    note: group "g" is issued by jwt, which decides its members, so its list "peers" has no effect. In the file, but no members in NetBird: "k". Delete "peers" from the group. To add a machine, name the group in "auto_groups" of its setup key.
a rename of what was never declared
    update group new
        name "old" → "new"
a rename of a policy from the name of what was issued
    create policy new
    note: policy "new" is created as a new policy: NetBird has no policy "old" to rename
a rename of what was issued
    create group new
    unmanaged: group old
    note: group "new" is created as a new group: the group "old" is issued by jwt, so it is never renamed
a rename to a name that lives
    unmanaged: group new (daojn00dtfsk7jo33i50)
    note: NetBird has another group with the name "new" (id daojn00dtfsk7jo33i50). This file does not manage it and does not change it.
    note: group "new" still has the name "old" in NetBird, because another group (id daojn00dtfsk7jo33i50) has the name "new". Delete or rename the other group in NetBird; the next apply then renames "old" to "new".

"#]].raw());
}

/// Nothing follows from it, and no difference tells it.
#[test]
fn what_an_entry_says_no_more_is_told() {
    let p = |more: Value| over(json!({ "sources": ["g"], "destinations": ["g"] }), more);
    let lan = |more: Value| {
        over(
            json!({ "network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"] }),
            more,
        )
    };
    let site = |number: usize, metric: usize| {
        let network = format!("10.{number}.0.0/16");
        let site = json!({ "network": network, "peer_groups": ["h"] });
        if metric == 0 {
            site
        } else {
            over(site, json!({ "metric": metric }))
        }
    };
    let host = |more: Value| json!({ "n": { "resources": { "host": over(json!({ "address": "10.1.0.9" }), more) } } });
    let here = |more: Value| json!({ "resources": { "printer": over(json!({ "address": "10.1.0.7" }), more) } });
    let key = |more: Value| over(json!({ "type": "one-off", "expires_in": 5_184_000 }), more);
    let base = json!({
        "groups": { "g": { "peers": [] }, "h": {} },
        "policies": { "p": p(json!({ "enabled": false, "description": "x" })), "same": p(json!({ "enabled": true })) },
        "routes": { "lan": lan(json!({ "access_control_groups": ["h"], "metric": 9 })), "swapped": [site(1, 9), site(2, 0)], "other": site(5, 9) },
        "networks": over(host(json!({ "groups": ["g"], "enabled": true })), json!({ "same": here(json!({ "enabled": true })) })),
        "setup_keys": { "done": key(json!({ "enrolled": true, "auto_groups": ["g"] })), "open": key(json!({ "auto_groups": [] })),
                        "less": key(json!({ "enrolled": true, "auto_groups": [] })), "more": key(json!({ "enrolled": true })),
                        "sealed": key(json!({ "enrolled": true })) },
        "peers": { "done": { "ssh_enabled": true }, "kept": { "ssh_enabled": true } },
    });
    let now = json!({
        "groups": { "g2": { "renamed_from": "g" }, "h": {} },
        "policies": { "p": { "sources": ["g2"], "destinations": ["g2"] }, "same": over(json!({ "enabled": true }), json!({ "sources": ["g2"], "destinations": ["g2"] })) },
        "routes": { "lan": { "network": "10.0.0.0/8", "peer_groups": ["g2"], "groups": ["g2"] },
                    "swapped": [site(2, 0), site(1, 9)], "other": [site(3, 0), site(4, 0)] },
        "networks": { "n2": over(host(json!({}))["n"].clone(), json!({ "renamed_from": "n" })), "same": here(json!({})) },
        "setup_keys": { "done": key(json!({ "enrolled": true, "auto_groups": ["h"] })), "open": key(json!({})),
                        "less": key(json!({ "enrolled": true })), "more": key(json!({ "enrolled": true, "auto_groups": [] })),
                        "sealed": key(json!({ "enrolled": true, "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"] })) },
        "peers": { "kept": { "ssh_enabled": true } },
    });
    let of = |file: &Value, versions: &[Value]| {
        let case = Case::new(file.clone(), json!({ "groups": [group("keep", &[])] }));
        let plan = case.inventory(json!({})).since(versions).possible();
        let told = plan
            .notices
            .iter()
            .filter(|notice| notice.code == Code::SaysLess);
        told.map(|notice| notice.words() + "\n").collect::<String>()
    };
    assert_data_eq!(
        table([
            ("with this change", of(&now, std::slice::from_ref(&base))),
            ("with the section of machines gone", {
                let mut less = now.clone();
                less.as_object_mut().expect("an object").remove("peers");
                let told = of(&less, std::slice::from_ref(&base));
                told.lines().filter(|line| line.starts_with("peer")).collect()
            }),
            ("later", of(&now, &[base.clone(), now.clone()])),
            ("without any version", of(&now, &[])),
        ]),
        str![[r#"
with this change
    group "g2" no longer sets peers in the file. NetBird keeps the present values. This file manages only the other fields now.
    setup key "done" is marked enrolled, so the change of auto_groups has no effect. To change the groups of its machine, add "done" to the peers of each group.
    setup key "less" is marked enrolled, so the change of auto_groups has no effect. To change the groups of its machine, add "less" to the peers of each group.
    setup key "more" is marked enrolled, so the change of auto_groups has no effect. To change the groups of its machine, add "more" to the peers of each group.
    setup key "open" no longer sets auto_groups in the file. NetBird keeps the present values. This file manages only the other fields now.
    network resource "host" no longer sets enabled, groups in the file. NetBird keeps the present values. This file manages only the other fields now.
    network resource "printer" no longer sets enabled in the file. NetBird keeps the present values. This file manages only the other fields now.
    policy "p" no longer sets description, enabled in the file. NetBird keeps the present values. This file manages only the other fields now.
    route "lan" no longer sets access_control_groups, metric in the file. NetBird keeps the present values. This file manages only the other fields now.
    peer "done" is no longer in the file. NetBird keeps its present settings, and this file does not manage them any more.
with the section of machines gone
later
without any version

"#]].raw()
    );
}

/// The object that is to be renamed was deleted, and the other one taken for it.
#[test]
fn a_rename_to_a_name_that_is_given_up_in_the_same_change() {
    let sections: [(&str, Kind, Value, Value); 4] = [
        ("groups", Kind::Group, json!({}), group("x", &[])),
        (
            "policies",
            Kind::Policy,
            json!({ "sources": ["All"], "destinations": ["All"] }),
            policy("x", &["All"], &["All"]),
        ),
        (
            "routes",
            Kind::Route,
            json!({ "network": "10.0.0.0/8", "peer_groups": ["All"], "groups": ["All"] }),
            route("x", "10.0.0.0/8", &["All"]),
        ),
        (
            "nameserver_groups",
            Kind::NameserverGroup,
            json!({ "nameservers": [{ "ip": "1.1.1.1" }], "groups": ["All"], "primary": true }),
            nameservers("x", &["1.1.1.1"], &["All"]),
        ),
    ];
    let mut rows = Vec::new();
    for (section, kind, entry, live) in sections {
        let file = |entries: Value| match kind {
            Kind::NameserverGroup => json!({ "dns": { section: entries } }),
            _ => json!({ section: entries }),
        };
        let other = over(
            live.clone(),
            json!({ "id": id(kind, "y"), "name": "y", "network_id": "y", "network": "10.0.0.0/9" }),
        );
        let mut y = entry.clone();
        if kind == Kind::Route {
            y["network"] = json!("10.0.0.0/9");
        }
        let base = file(json!({ "x": entry, "y": y }));
        let renamed = file(json!({ "y": over(entry.clone(), json!({ "renamed_from": "x" })) }));
        let lists = json!({ section: [live, other] });
        let key = |name: &str| format!("{section}/{name}");
        let of = |versions: &[Value]| {
            let ids = json!({ key("x"): [id(kind, "x")], key("y"): [id(kind, "y")] });
            let case = Case::new(renamed.clone(), lists.clone());
            let lines = case
                .inventory(json!({ "created": ids }))
                .since(versions)
                .outcome();
            lines
                .lines()
                .filter(|line| !line.starts_with(' '))
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        };
        rows.push((section, of(std::slice::from_ref(&base))));
        rows.push(("without any version", of(&[])));
        // a rename of an earlier change, and an entry of the old name that came since and goes now
        let both = file(json!({ "y": over(entry.clone(), json!({ "renamed_from": "x" })) }));
        rows.push(("renamed before", of(&[both])));
    }
    assert_data_eq!(table(rows), str![[r#"
groups
    impossible: group y is renamed from "x", but the entry that had the name "y" is removed in the same change | merge it in two steps: first remove that entry, then rename the other one
without any version
    impossible: group y is renamed from "x", but the entry that had the name "y" is removed in the same change | merge it in two steps: first remove that entry, then rename the other one
renamed before
    delete group x: it is no longer in the file
policies
    impossible: policy y is renamed from "x", but the entry that had the name "y" is removed in the same change | merge it in two steps: first remove that entry, then rename the other one
without any version
    impossible: policy y is renamed from "x", but the entry that had the name "y" is removed in the same change | merge it in two steps: first remove that entry, then rename the other one
renamed before
    delete policy x: it is no longer in the file
routes
    impossible: route y is renamed from "x", but the entry that had the name "y" is removed in the same change | merge it in two steps: first remove that entry, then rename the other one
without any version
    impossible: route y is renamed from "x", but the entry that had the name "y" is removed in the same change | merge it in two steps: first remove that entry, then rename the other one
renamed before
    delete route x: it is no longer in the file
    update route y
nameserver_groups
    impossible: nameserver group y is renamed from "x", but the entry that had the name "y" is removed in the same change | merge it in two steps: first remove that entry, then rename the other one
without any version
    impossible: nameserver group y is renamed from "x", but the entry that had the name "y" is removed in the same change | merge it in two steps: first remove that entry, then rename the other one
renamed before
    delete nameserver group x: it is no longer in the file

"#]].raw());
}
