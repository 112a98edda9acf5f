//! What a plan says of itself as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::base::{Evidence, Id};
use crate::inventory::{Adoption, Inventory, Machine, RecordedAs};
use crate::model::{Address, Change, Kind, Live, Resource, kind};
use crate::plan::{Piece, Plan, Row, ordered};
use crate::testing::{
    Case, MADE, group, id, id_at, key, key_at, over, peer, policy, used_at, zone,
};

fn live(resource: Resource, id: &str) -> Live {
    Live {
        within: None,
        id: Id::from(id),
        name: id.into(),
        resource,
        wire: Value::Null.into(),
    }
}

/// What is left to do decides whether a plan that nobody looked at may be applied.
#[test]
fn a_plan_is_done_where_nothing_is_left_to_do() {
    let file = json!({ "groups": { "g": {} } });
    let lists = || json!({ "groups": [group("g", &[]), group("x", &[])] });
    let (g, x) = (id(Kind::Group, "g"), id(Kind::Group, "x"));
    let with = |inventory: Value| {
        Case::new(file.clone(), lists())
            .inventory(inventory)
            .possible()
    };
    let created = json!({ "groups/g": [g] });
    for (inventory, is_empty, is_done) in [
        (json!({ "created": created }), true, true),
        (json!({}), true, false),
        (
            json!({ "created": created, "adopted": { "groups/x": [x] } }),
            true,
            false,
        ),
        (
            json!({ "created": created, "let_go": { "groups/x": { "ids": [x] } } }),
            true,
            true,
        ),
        (
            json!({ "created": { "groups/g": [g], "groups/x": [x] } }),
            false,
            false,
        ),
    ] {
        let plan = with(inventory.clone());
        assert_eq!(
            (plan.is_empty(), plan.is_done()),
            (is_empty, is_done),
            "{inventory}"
        );
    }
}

/// Who refers to an object is looked for only where the plan deletes one that others can refer to.
#[test]
fn whether_it_deletes_what_others_can_refer_to() {
    let lists =
        || json!({ "groups": [group("g", &[])], "policies": [policy("p", &["All"], &["All"])] });
    let of = |file: Value| {
        Case::new(file, lists())
            .prune_all()
            .possible()
            .deletes_referred()
    };
    let p = json!({ "p": { "sources": ["All"], "destinations": ["All"] } });
    assert!(of(json!({ "groups": {}, "policies": p })), "a group");
    assert!(
        !of(json!({ "groups": { "g": {} }, "policies": {} })),
        "a policy"
    );
    assert!(
        !of(json!({ "groups": { "g": { "peers": [] }, "h": {} } })),
        "none"
    );
}

/// Machines and people can have any name: an agreement is to this one.
#[test]
fn agreements_name_machines_and_people_by_their_ids() {
    let mut plan = Plan::default();
    let mut inventory = Inventory::new("account", "netbird.json");
    inventory
        .created
        .insert("groups/old".into(), vec![Id::from("1")]);
    plan.inventory = Arc::new(inventory);
    plan.listed
        .insert(("new".into(), Id::from("2")), "cam".into());
    plan.peer_labels = [("2", "host"), ("3", "edge")]
        .map(|(id, name)| (Id::from(id), name.into()))
        .into();
    assert_eq!(plan.listed("new", &Id::from("2")), Some("cam"));
    let field = |field: &str, value: &str| Piece::Field {
        field: field.into(),
        value: value.into(),
    };
    let member = |id: &str| Piece::Member(Id::from(id));
    let of = |kind: Kind, name: &str, piece: Piece| {
        let (address, object) = (Address::new(kind, name), Id::from("1"));
        plan.row_text(&Row {
            address,
            object,
            piece,
        })
    };
    for (text, wanted) in [
        (of(Kind::Peer, "edge", Piece::Whole), "peers/1"),
        (
            of(Kind::User, "mira@example.org", field("role", "\"admin\"")),
            "users/1 role=\"admin\"",
        ),
        (
            of(Kind::AccountSettings, "", field("dns_domain", "\"a\"")),
            "account_settings dns_domain=\"a\"",
        ),
        (of(Kind::Group, "new", Piece::Whole), "groups/old"),
        (of(Kind::Group, "new", member("2")), "groups/old member cam"),
        (
            of(Kind::Group, "new", member("3")),
            "groups/old member edge",
        ),
        (of(Kind::Group, "new", member("4")), "groups/old member 4"),
    ] {
        assert_eq!(text, wanted);
    }
}

/// A run that is killed after its first write must have said what it adopted, and whose the machines were that it deletes.
#[test]
fn what_is_written_down_before_the_first_other_write() {
    let mut inventory = Inventory::new("account", "netbird.json");
    inventory
        .created
        .insert("groups/g".into(), vec![Id::from("1")]);
    inventory
        .created
        .insert("groups/h".into(), vec![Id::from("2")]);
    let mut nothing = Plan {
        inventory: Arc::new(inventory),
        ..Plan::default()
    };
    nothing.record.dead = ["1", "2"].map(Id::from).into();
    assert!(nothing.first_record(false).is_none());
    let first = nothing.first_record(true).expect("a first inventory");
    assert_eq!(first.dead, BTreeSet::new(), "not before its cause");

    let goes = |id: &str| {
        let live = live(Resource::Peer(kind::Peer::named("edge")), id);
        vec![Change::deletion(
            &Address::new(Kind::Peer, "edge"),
            &live,
            None,
        )]
    };
    let machine = || {
        vec![(
            "k".to_owned(),
            Machine {
                id: Id::from("3"),
                by: Evidence::Event,
            },
        )]
    };
    for (what, change, wanted) in [
        ("nothing", (|_| ()) as fn(&mut Plan), false),
        (
            "a key of an entry that moved",
            |plan| plan.record.moved = vec![(Id::from("1"), "groups/x".into())],
            true,
        ),
        (
            "another machine is meant",
            |plan| drop(plan.record.rebound.insert("cam".into(), Id::from("3"))),
            true,
        ),
        (
            "an object that nobody adopts is gone",
            |plan| plan.record.dead = [Id::from("2")].into(),
            false,
        ),
    ] {
        let mut plan = nothing.clone();
        change(&mut plan);
        assert_eq!(plan.first_record(false).is_some(), wanted, "{what}");
    }
    for (what, changes, wanted) in [
        ("a machine that stays", Vec::new(), false),
        ("another machine goes", goes("4"), false),
        ("it goes", goes("3"), true),
    ] {
        let mut plan = nothing.clone();
        plan.record.enrolled = machine();
        plan.changes = changes;
        assert_eq!(plan.first_record(false).is_some(), wanted, "{what}");
    }
    let mut adopts = nothing;
    let adoption = Adoption {
        id: Id::from("9"),
        origin: RecordedAs::Adopted,
        room: 1,
    };
    adopts.adoptions = vec![(Address::new(Kind::Group, "g"), adoption.clone())];
    let record = adopts.first_record(false).expect("an adoption");
    assert_eq!(record.adopted, [("groups/g".to_owned(), adoption)]);
    assert_eq!(
        record.dead,
        BTreeSet::from([Id::from("1")]),
        "what it adopts in the place of"
    );
}

/// The gate of a lost section compares what goes with what there was of ours.
#[test]
fn what_is_counted_is_ours() {
    let declared = |fields: Value| {
        over(
            json!({ "type": "one-off", "expires_in": 5_184_000 }),
            fields,
        )
    };
    let file = json!({
        "groups": { "g": {}, "staff": {} },
        "setup_keys": { "k": declared(json!({})), "done": declared(json!({ "enrolled": true })) },
        "policies": { "p": { "sources": ["g"], "destinations": ["g"] } },
    });
    let issued = over(group("staff", &[]), json!({ "issued": "jwt" }));
    let p = |second: i64| {
        over(
            policy("p", &["g"], &["g"]),
            json!({ "id": id_at(Kind::Policy, "p", second) }),
        )
    };
    let lists = json!({
        "groups": [group("g", &[]), group("by-hand", &[]), issued],
        "setup_keys": [key("k", &[]), over(key("done", &[]), used_at(MADE)), key("by-hand", &[])],
        "policies": [p(MADE), p(MADE + 9), policy("goes", &["g"], &["g"])],
    });
    let recorded = |kind: Kind, section: &str, name: &str| {
        (format!("{section}/{name}"), json!([id(kind, name)]))
    };
    let created: serde_json::Map<String, Value> = [
        recorded(Kind::Group, "groups", "g"),
        recorded(Kind::SetupKey, "setup_keys", "k"),
        recorded(Kind::SetupKey, "setup_keys", "done"),
        recorded(Kind::Policy, "policies", "p"),
        recorded(Kind::Policy, "policies", "goes"),
    ]
    .into_iter()
    .collect();
    let plan = Case::new(file, lists)
        .inventory(json!({ "created": created }))
        .possible();
    let counted = plan.counted.into_iter().filter(|(_, number)| *number > 0);
    let counted: BTreeMap<Kind, usize> = counted.collect();
    assert_eq!(
        counted,
        [(Kind::Group, 1), (Kind::SetupKey, 1), (Kind::Policy, 2)].into()
    );
    // whose secret nobody has opened yet
    let waiting: Vec<&String> = plan.waiting_keys.values().collect();
    assert_eq!(waiting, ["k"]);
    assert!(plan.parents.is_empty(), "no other object stands in these");
}

/// All that an enrollment writes is who joins: members that the file does not list stay, and are named.
#[test]
fn an_enrollment_answers_for_nobody_else_in_the_group() {
    let lists = json!({ "groups": [group("g", &["edge"])], "peers": [peer("edge"), peer("new")] });
    let actual = Case::new(json!({ "groups": { "g": {} } }), lists).actual();
    let g = actual.named(Kind::Group, "g").first().expect("a group");
    let member = |name: &str| Id::from(id(Kind::Peer, name).as_str());
    let both = kind::Group::with(Some(["edge", "new"].map(member).into()));
    let joins = crate::model::Operation::update(g, &Resource::Group(both), None).expect("a change");
    let plan = ordered(
        vec![Change::new(Address::new(Kind::Group, "g"), joins, None)],
        &actual,
    );
    assert_eq!(
        plan.unmanaged_members,
        [("g".to_owned(), [member("edge")].into())].into()
    );
}

/// Each problem stands once, in the order of the addresses, whichever check found it.
#[test]
fn problems_are_sorted_and_told_once() {
    let lan = |net: &str| json!({ "network": net, "peer_groups": ["nobody"], "groups": ["All"] });
    let file = json!({
        "policies": {
            "a": { "sources": ["All"], "destinations": ["All"] },
            "z": { "sources": ["nobody"], "destinations": ["nobody"] },
        },
        "routes": { "twice": [lan("10.0.0.0/8"), lan("172.16.0.0/12")] },
    });
    let mut a = policy("a", &["All"], &["All"]);
    let rule = a["rules"][0].clone();
    a["rules"] = json!([rule, rule]);
    let created = json!({ "policies/a": [id(Kind::Policy, "a")] });
    let case = Case::new(file, json!({ "policies": [a] })).inventory(json!({ "created": created }));
    let problems = case.plan().expect_err("problems");
    let of: Vec<String> = problems
        .iter()
        .map(|problem| problem.address.to_string())
        .collect();
    assert_eq!(of, ["policy a", "policy z", "route twice"]);
}

/// While another object has the name of its entry ours keeps the one that it has, whatever else is written.
#[test]
fn a_change_writes_no_name_that_another_object_has() {
    let named = |name: &str, second: i64| {
        over(
            policy("p", &["g"], &["All"]),
            json!({ "name": name, "id": id_at(Kind::Policy, "p", second) }),
        )
    };
    let file = json!({ "policies": { "p": { "sources": ["All"], "destinations": ["All"] } } });
    let lists = json!({ "groups": [group("g", &[])], "policies": [named("x", MADE), named("p", MADE + 9)] });
    let created = json!({ "policies/p": [id(Kind::Policy, "p")] });
    let plan = Case::new(file, lists)
        .inventory(json!({ "created": created }))
        .possible();
    assert_eq!(plan.changes[0].name(), "x");
}

/// A new domain is no reason to lose what the file does not say of each record.
#[test]
fn records_of_a_new_domain_keep_their_own_settings() {
    let record = |name: &str| json!({ "name": name, "type": "A", "content": "10.0.0.1" });
    let zone_of = |domain: &str| json!({ "domain": domain, "distribution_groups": ["All"], "records": [record("a"), record("b")] });
    let file = json!({ "dns": { "zones": { "z": zone_of("new.example") } } });
    let mut live = zone(
        "z",
        "old.example",
        &[("a.old.example", "10.0.0.1"), ("b.old.example", "10.0.0.1")],
        &["All"],
    );
    live["records"][1]["ttl"] = json!(900);
    let of_record = |name: &str| id(Kind::DnsRecord, &format!("z {name}.old.example 10.0.0.1"));
    let created = json!({ "zones/z": [id(Kind::DnsZone, "z")], "records/z/a.old.example A": [of_record("a")], "records/z/b.old.example A": [of_record("b")] });
    let plan = Case::new(file, json!({ "zones": [live] }))
        .inventory(json!({ "created": created }))
        .possible();
    let made = plan
        .changes
        .iter()
        .filter(|change| change.operation.live().is_none());
    let made: Vec<_> = made
        .map(|change| {
            (
                change.address.name.as_str(),
                change.operation.after().expect("a record").fields()["ttl"].clone(),
            )
        })
        .collect();
    assert_eq!(
        made,
        [
            ("a.new.example A", json!(300)),
            ("b.new.example A", json!(900))
        ]
    );
}

/// Whoever looked at the plan of a key that waits looked at what its machine will get.
#[test]
fn the_digest_covers_who_joins_what_later() {
    let digest = |group_made: i64, key_made: i64, key_fields: Value| {
        let file = json!({ "groups": { "g": {}, "h": { "peers": ["k"] } }, "setup_keys": { "k": { "type": "one-off", "expires_in": 5_184_000, "auto_groups": ["g"] } } });
        let g = group("g", &[]);
        let h = json!({ "id": id_at(Kind::Group, "h", group_made) });
        let h = over(group("h", &[]), h);
        let k = over(key_at("k", &["g"], key_made), key_fields);
        let created =
            json!({ "groups/g": [g["id"]], "groups/h": [h["id"]], "setup_keys/k": [k["id"]] });
        let case = Case::new(file, json!({ "groups": [g, h], "setup_keys": [k] }))
            .inventory(json!({ "created": created }));
        let plan = case.possible();
        assert!(plan.is_empty(), "{:?}", plan.changes);
        plan.digest()
    };
    let as_it_is = digest(MADE, MADE, json!({}));
    let extra = json!({ "allow_extra_dns_labels": true });
    for (what, other) in [
        ("another group", digest(MADE + 9, MADE, json!({}))),
        ("another key", digest(MADE, MADE + 9, json!({}))),
        (
            "a key that allows more DNS labels",
            digest(MADE, MADE, extra),
        ),
    ] {
        assert_ne!(other, as_it_is, "{what}");
    }
}

/// What NetBird would refuse of the domain of machines is told, whichever of both sides has it already.
#[test]
fn no_zone_has_the_domain_of_the_machines() {
    let zone_of =
        |domain: &str| json!({ "z": { "domain": domain, "distribution_groups": ["All"] } });
    let settings = |domain: &str| json!([{ "id": "account", "settings": { "dns_domain": domain, "ipv6_enabled_groups": [] } }]);
    let of = |file: Value, live: Value| {
        Case::new(over(json!({ "groups": { "new": {} } }), file), live)
            .outcome()
            .matches("impossible")
            .count()
    };
    let corp = |zones: Value| json!({ "accounts": settings("corp.example"), "zones": zones });
    let wants = |domain: &str| json!({ "account": { "settings": { "dns_domain": domain } } });
    let live_zone = || json!([zone("z", "corp.example", &[], &["All"])]);
    for (what, found, wanted) in [
        (
            "a new zone",
            of(
                json!({ "dns": { "zones": zone_of("corp.example") } }),
                corp(json!([])),
            ),
            1,
        ),
        (
            "a zone of another domain",
            of(
                json!({ "dns": { "zones": zone_of("lab.example") } }),
                corp(json!([])),
            ),
            0,
        ),
        (
            "a new domain, beside a live zone",
            of(
                wants("corp.example"),
                json!({ "accounts": settings("vpn.example"), "zones": live_zone() }),
            ),
            1,
        ),
        (
            "another domain than the zone has",
            of(
                wants("lab.example"),
                json!({ "accounts": settings("vpn.example"), "zones": live_zone() }),
            ),
            0,
        ),
        (
            "a new group that gets IPv6",
            of(
                json!({ "account": { "settings": { "ipv6_enabled_groups": ["new"] } } }),
                json!({ "accounts": settings("vpn.example") }),
            ),
            0,
        ),
    ] {
        assert_eq!(found, wanted, "{what}");
    }
}
