//! What of a plan is drift, and what the next sync-events does.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{Drift, Item, Mover, Version, blame_events, blame_versions, drift};
use crate::model::Address;
use crate::model::kind::Kind;
use crate::testing::{
    Case, MADE, desired, enrolled, group, id, key_at, over, peer, policy, table, time, used_at,
    value,
};
use crate::wire::api::objects::Event;

/// The drift in lines.
fn of(case: Case) -> String {
    let drift = drift(&case.possible(), &case.desired, &case.actual());
    assert!(drift.mismatched.iter().all(|item| item.missing.is_none()));
    let items = [
        ("missing", &drift.missing),
        ("mismatched", &drift.mismatched),
    ];
    let items = items.iter().flat_map(|(word, items)| {
        items
            .iter()
            .map(move |item| format!("{word}: {}\n", item.address))
    });
    let unmanaged = drift.unmanaged.iter();
    let unmanaged = unmanaged.map(|(at, what)| format!("unmanaged: {at}: {what:?}\n"));
    let ghosts = drift.ghosts.iter().map(|ghost| format!("ghost: {ghost}\n"));
    let enrolling = drift
        .enrolling
        .iter()
        .map(|key| format!("enrolling: {key}\n"));
    items
        .chain(unmanaged)
        .chain(ghosts)
        .chain(enrolling)
        .collect()
}

/// The group `g` lists the machine `edge` and the key `k`, and has these members.
fn members(members: &[&str], used: bool) -> Case {
    let key = json!({ "type": "one-off", "expires_in": 5_184_000, "auto_groups": ["g"] });
    let file = json!({ "groups": { "g": { "peers": ["edge", "k"] } }, "setup_keys": { "k": key } });
    let of = key_at("k", &["g"], MADE);
    let (key, peers, events) = match used {
        true => (
            over(of, used_at(MADE)),
            vec![peer("edge"), peer("k"), peer("guest")],
            vec![enrolled("k", "k").into()],
        ),
        false => (of, vec![peer("edge")], vec![]),
    };
    let live = json!({ "groups": [group("g", members)], "peers": peers, "setup_keys": [key] });
    let mut case = Case::new(file, live).inventory(json!({
        "created": { "groups/g": [id(Kind::Group, "g")], "setup_keys/k": [key["id"]] },
        "members": { "g": { "edge": id(Kind::Peer, "edge"), "guest": id(Kind::Peer, "guest") } },
        "names": { "edge": id(Kind::Peer, "edge"), "guest": id(Kind::Peer, "guest") },
    }));
    case.snapshot.rest.events = Some(events);
    case
}

/// The policy `p` between groups that it names, of which `live` are there, recorded so.
fn policies(file: Value, live: &[Value], recorded: Value) -> Case {
    Case::new(
        file,
        json!({ "groups": [group("a", &[])], "policies": live }),
    )
    .inventory(recorded)
}

#[test]
fn what_is_drift() {
    let both = json!({ "sources": ["a"], "destinations": ["a"] });
    let a = || json!([id(Kind::Group, "a")]);
    let p = || json!([id(Kind::Policy, "p")]);
    let is = || policy("p", &["a"], &["a"]);
    let with = |policies: Value| json!({ "groups": { "a": {} }, "policies": policies });
    let rows = [
        ("a member was taken out", members(&[], false)),
        ("nobody was", members(&["edge"], false)),
        ("a machine enrolled", members(&["edge"], true)),
        ("the same, and a member was taken out", members(&[], true)),
        (
            "a machine enrolled, and one that left the list is in the group",
            members(&["edge", "guest"], true),
        ),
        ("a machine enrolled under another name", {
            let mut case = members(&["edge"], true);
            for of in case.snapshot.list_mut(Kind::Peer) {
                if value(of)["name"] == "k" {
                    *of = over(value(of), json!({ "name": "host" })).into();
                }
            }
            case
        }),
        (
            "a policy was deleted",
            policies(
                with(json!({ "p": both })),
                &[],
                json!({ "created": { "groups/a": a(), "policies/p": p() } }),
            ),
        ),
        (
            "its entry is gone, and it was created",
            policies(
                with(json!({})),
                &[is()],
                json!({ "created": { "groups/a": a(), "policies/p": p() } }),
            ),
        ),
        (
            "its entry is gone, and it was adopted",
            policies(
                with(json!({})),
                &[is()],
                json!({ "created": { "groups/a": a() }, "adopted": { "policies/p": p() } }),
            ),
        ),
        (
            "nobody recorded it, and another file has it",
            policies(
                with(json!({})),
                &[is()],
                json!({ "created": { "groups/a": a() } }),
            )
            .ours(|ours| {
                drop(
                    ours.strange
                        .insert(id(Kind::Policy, "p").as_str().into(), "lab.json".into()),
                )
            }),
        ),
        (
            "the entry of its group is gone",
            policies(
                json!({ "groups": {} , "policies": { "q": { "sources": ["All"], "destinations": ["All"] } } }),
                &[is(), policy("q", &["All"], &["All"])],
                json!({ "created": { "groups/a": a(), "policies/q": [id(Kind::Policy, "q")] } }),
            ),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(table(rows), str![[r#"
a member was taken out
    mismatched: group g
nobody was
a machine enrolled
    enrolling: k
the same, and a member was taken out
    mismatched: group g
    enrolling: k
a machine enrolled, and one that left the list is in the group
    mismatched: group g
    enrolling: k
a machine enrolled under another name
    enrolling: k
a policy was deleted
    missing: policy p
its entry is gone, and it was created
    unmanaged: policy p: Goes(Some(NoLongerDeclared { agreed: false }))
its entry is gone, and it was adopted
    unmanaged: policy p: LetGo(LetGo { address: Address { kind: Policy, within: None, name: "p" }, id: Id("daojn064mr64fain5cug"), key: "policies/p", why: Adopted, left_by: Unknown })
nobody recorded it, and another file has it
    unmanaged: policy p: Elsewhere("lab.json")
the entry of its group is gone
    unmanaged: group a: Held(Needed({"policy \"p\" (daojn064mr64fain5cug)"}))
    unmanaged: policy p: NeverOurs

"#]].raw());
}

#[test]
fn what_is_left_of_keys() {
    let of_events = |enrolled: bool, keys: Vec<Value>, peers: Vec<Value>, events: Value| {
        let key = json!({ "type": "one-off", "expires_in": 5_184_000, "enrolled": enrolled });
        let recorded: Vec<Value> = keys.iter().map(|key| key["id"].clone()).collect();
        let file = json!({ "setup_keys": { "k": key } });
        let live = json!({ "setup_keys": keys, "peers": peers, "events": events });
        of(Case::new(file, live).inventory(json!({ "created": { "setup_keys/k": recorded } })))
    };
    let of = |enrolled: bool, keys: Vec<Value>, peers: Vec<Value>| {
        of_events(enrolled, keys, peers, json!([]))
    };
    let dead = |second: i64| {
        over(
            key_at("k", &[], second),
            json!({ "valid": false, "state": "expired" }),
        )
    };
    let spent = || over(key_at("k", &[], MADE), used_at(MADE));
    let persons = || {
        over(
            peer("k"),
            json!({ "user_id": "mira", "created_at": "2026-09-01T00:00:00Z" }),
        )
    };
    let rows = [
        ("it expired", of(false, vec![dead(MADE)], vec![])),
        (
            "two expired",
            of(false, vec![dead(MADE), dead(MADE + 9)], vec![]),
        ),
        (
            "one expired, and another one can be used",
            of(false, vec![dead(MADE), key_at("k", &[], MADE + 9)], vec![]),
        ),
        (
            "it was used, and its machine is gone",
            of(false, vec![spent()], vec![]),
        ),
        ("its work is done", of(true, vec![spent()], vec![peer("k")])),
        (
            "its work is done, and its machine has another name",
            of_events(
                true,
                vec![spent()],
                vec![peer("host")],
                json!([enrolled("k", "host")]),
            ),
        ),
        (
            "its work is done, and it is gone",
            of(true, vec![], vec![peer("k")]),
        ),
        (
            "its work is done, and its machine is gone",
            of(true, vec![spent()], vec![]),
        ),
        (
            "its work is done, and a person's machine has the name",
            of(true, vec![spent()], vec![persons()]),
        ),
        (
            "its work is done, and another one expired",
            of(true, vec![spent(), dead(MADE + 9)], vec![peer("k")]),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
it expired
    ghost: setup key "k" is expired and was never used
two expired
    ghost: 2 keys that cannot be used any more have the name of setup key "k"
one expired, and another one can be used
    ghost: 1 key that cannot be used any more has the name of setup key "k"
it was used, and its machine is gone
    ghost: 1 key that cannot be used any more has the name of setup key "k"
its work is done
its work is done, and its machine has another name
its work is done, and it is gone
its work is done, and its machine is gone
    ghost: 1 key that cannot be used any more has the name of setup key "k"
    ghost: setup key "k" is marked enrolled, but NetBird has no peer for it
its work is done, and a person's machine has the name
    ghost: 1 key that cannot be used any more has the name of setup key "k"
    ghost: setup key "k" is marked enrolled, but NetBird has no peer for it
its work is done, and another one expired
    ghost: 1 key that cannot be used any more has the name of setup key "k"

"#]]
        .raw()
    );
}

/// The newest version that asks for what NetBird has was the last agreement; without one the file moved nothing.
#[test]
fn which_side_moved() {
    let asks = |with: &str| {
        let policies = match with {
            "" => json!({}),
            with => json!({ "p": { "sources": [with], "destinations": ["a"] } }),
        };
        json!({ "groups": { "a": {}, "b": {}, "c": {} }, "policies": policies })
    };
    let blamed = |versions: &[&str], is_recorded: bool| {
        let groups = ["a", "b", "c"].map(|name| group(name, &[]));
        let live = json!({ "groups": groups, "policies": [policy("p", &["b"], &["a"])] });
        let created = match is_recorded {
            true => json!({ "policies/p": [id(Kind::Policy, "p")] }),
            false => json!({}),
        };
        let case = Case::new(asks(versions[0]), live).inventory(json!({ "created": created }));
        let mut drift = drift(&case.possible(), &case.desired, &case.actual());
        let read = |(at, with): (usize, &&str)| Version {
            commit: format!("commit {at}"),
            at: case.options.now,
            desired: desired(&asks(with)).into(),
        };
        let versions = versions.iter().enumerate().map(read);
        blame_versions(&mut drift, versions, &case.snapshot, &case.options);
        let [item] = &drift.mismatched[..] else {
            panic!("{drift:?}");
        };
        match &item.cause {
            Some(Mover::File { commit, .. }) => commit.clone(),
            Some(Mover::Server) => "the server".into(),
            None => "unknown".into(),
        }
    };
    for (versions, is_recorded, wanted) in [
        (&["a", "b"][..], true, "commit 0"),
        (&["a", "c", "b"], true, "commit 1"),
        // it was so once more, before
        (&["a", "b", "c", "b"], true, "commit 0"),
        (&["a"], true, "the server"),
        (&["a", "c"], true, "the server"),
        // a version without the entry did not ask for it
        (&["a", ""], true, "the server"),
        (&["a", "c"], false, "unknown"),
        (&["a", ""], false, "unknown"),
    ] {
        assert_eq!(blamed(versions, is_recorded), wanted, "{versions:?}");
    }
}

/// Who is named did it by hand, and last.
#[test]
fn who_did_it_by_hand() {
    let lists = json!({
        "groups": [group("g", &[])], "policies": [policy("p", &["g"], &["g"])],
        "users": [{ "id": "bot", "role": "admin", "is_current": true, "is_service_user": true }],
    });
    let actual = Case::new(json!({ "groups": { "g": {} } }), lists).actual();
    let (g, p) = (id(Kind::Group, "g"), id(Kind::Policy, "p"));
    let zone = Address::new(Kind::DnsZone, "corp");
    let network = Address::new(Kind::Network, "office");
    let event = |by: &str, second: i64, code: &str, target: &str, meta: Value| {
        json!({ "timestamp": time(MADE + second), "activity_code": code, "initiator_id": by, "initiator_name": by,
                "target_id": target, "meta": meta })
    };
    let gone = "gone";
    let record = |of: &str| json!({ "name": "db", "type": of });
    let rows = [
        ("group.update", &*g, json!({}), "group g ann"),
        ("group.add", &*g, json!({}), ""),
        (
            "peer.group.delete",
            "m",
            json!({ "group_id": g }),
            "group g ann",
        ),
        ("peer.group.delete", "m", json!({ "group_id": "other" }), ""),
        ("peer.rename", "m", json!({ "group_id": g }), ""),
        ("policy.update", &*p, json!({}), "policy p ann"),
        (
            "policy.delete",
            gone,
            json!({ "name": "q" }),
            "policy q ann",
        ),
        ("policy.delete", gone, json!({ "name": "other" }), ""),
        ("group.delete", gone, json!({ "name": "q" }), ""),
        (
            "dns.zone.record.delete",
            gone,
            record("A"),
            "DNS record db A ann",
        ),
        ("dns.zone.record.delete", gone, record("AAAA"), ""),
        (
            "network.router.delete",
            gone,
            json!({ "network_name": "office" }),
            "network router of network office ann",
        ),
    ];
    let blamed = |events: &[Value]| {
        let events: Vec<Event> = events
            .iter()
            .map(|event| serde_json::from_value(event.clone()).expect("an event"))
            .collect();
        let item = |address: Address| Item {
            address,
            fields: Vec::new(),
            missing: None,
            cause: None,
            doer: None,
        };
        let mut drift = Drift {
            mismatched: vec![
                item(Address::new(Kind::Group, "g")),
                item(Address::new(Kind::Policy, "p")),
            ],
            missing: vec![
                item(Address::new(Kind::Policy, "q")),
                item(zone.child(Kind::DnsRecord, "db A")),
                item(network.child(Kind::NetworkRouter, "")),
            ],
            ..Drift::default()
        };
        blame_events(&mut drift, &events, &actual);
        let items = drift.mismatched.into_iter().chain(drift.missing);
        let done = items.filter_map(|item| Some(format!("{} {}", item.address, item.doer?.name)));
        done.collect::<Vec<String>>().join(", ")
    };
    for (code, target, meta, wanted) in rows {
        let event = event("ann", 1, code, target, meta);
        assert_eq!(blamed(std::slice::from_ref(&event)), wanted, "{event}");
    }
    let own = event("bot", 1, "group.update", &g, json!({}));
    assert_eq!(blamed(&[own]), "");
    let mut unnamed = event("u7", 1, "group.update", &g, json!({}));
    unnamed["initiator_name"] = json!("");
    let later = event("bob", 9, "group.update", &g, json!({}));
    assert_eq!(blamed(std::slice::from_ref(&unnamed)), "group g u7");
    assert_eq!(blamed(&[unnamed, later]), "group g bob");
}
