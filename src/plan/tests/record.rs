//! What a run writes down, whatever it changes: who came by which key, who is a member, and what became of what was recorded.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::inventory::Delta;
use crate::model::Kind;
use crate::plan::{people, read};
use crate::testing::{
    Case, LIFE, MADE, enrolled, group, id, id_at, key, key_at, named, over, peer, policy, table,
    used_at,
};

/// The group `g` that lists the key `k`, whose work is done.
fn file() -> Value {
    let k = json!({ "type": "one-off", "expires_in": LIFE, "auto_groups": [], "enrolled": true });
    json!({ "groups": { "g": { "peers": ["k"] } }, "setup_keys": { "k": k }, "policies": {} })
}

/// The peer `host`, which came by the key as the log says, and these members of `g`; seen by a service user, who sees everything.
fn live(members: &[&str]) -> Value {
    json!({ "groups": [group("g", members)], "peers": [peer("host"), peer("x")], "policies": [],
            "setup_keys": [over(key("k", &[]), used_at(MADE))], "events": [enrolled("k", "host")],
            "users": [{ "id": "bot", "name": "bot", "role": "admin", "is_service_user": true, "is_current": true }] })
}

/// The same, where the log has nothing: the times tell it.
fn without_log(mut live: Value) -> Value {
    live["events"] = json!([]);
    live["peers"] = json!([peer("host")]);
    live
}

fn case(file: Value, live: Value, inventory: Value) -> Case {
    let created =
        json!({ "groups/g": [id(Kind::Group, "g")], "setup_keys/k": [id(Kind::SetupKey, "k")] });
    Case::new(file, live).inventory(over(json!({ "created": created }), inventory))
}

/// What the run of a plan writes down in lines; of machines and members `sync-events` writes the same.
fn written(case: &Case) -> String {
    let plan = case.possible();
    let read = read(&case.desired, &case.snapshot, None, &case.options);
    let (actual, binding) = read.expect("answers of the server's form");
    let of_people = people(&case.desired, &actual, &binding, &case.options);
    let Delta {
        members,
        left_members,
        enrolled,
        dead_machines,
        ..
    } = plan.record.clone();
    let alone = Delta {
        members,
        left_members,
        enrolled,
        dead_machines,
        ..Delta::default()
    };
    if plan.adoptions.is_empty() {
        assert_eq!(of_people, alone);
    }
    let delta = &plan.record;
    let members = delta.members.iter();
    let members = members.map(|(group, name, peer)| format!("{group} lists {name}: {peer}"));
    let left = delta.left_members.iter();
    let left = left.map(|(group, peer)| format!("left {group}: {peer}"));
    let came = delta.enrolled.iter();
    let came = came.map(|(key, of)| format!("came by {key}: {} ({:?})", of.id, of.by));
    let dead = delta.dead.iter().chain(&delta.dead_machines);
    let dead = dead.map(|id| format!("is gone: {id}"));
    let rows = plan.dead.iter();
    let rows = rows.map(|(row, by)| format!("belongs to an agreement: {row} ({by:?})"));
    let unused = delta.unused_names.iter();
    let unused = unused.map(|name| format!("means nothing any more: {name}"));
    let lines: Vec<String> = members
        .chain(left)
        .chain(came)
        .chain(dead)
        .chain(rows)
        .chain(unused)
        .collect();
    let ids = [
        (Kind::Peer, "host"),
        (Kind::Peer, "x"),
        (Kind::Peer, "was"),
        (Kind::Policy, "p"),
    ];
    named(&lines.join("\n"), &ids)
}

#[test]
fn who_came_and_who_is_a_member() {
    let host = || id(Kind::Peer, "host");
    let came = |by: &str| json!({ "enrolled": { "k": [{ "id": host(), "by": by }] } });
    let known = || {
        over(
            json!({ "enrolled": { "k": [host()] } }),
            json!({ "members": { "g": { "k": host() } } }),
        )
    };
    let x = || json!({ "members": { "g": { "x": id(Kind::Peer, "x") } } });
    let pending = |mut file: Value| {
        file["setup_keys"]["k"]["enrolled"] = json!(false);
        file
    };
    let adopted =
        json!({ "created": {}, "adopted": { "setup_keys/k": [id(Kind::SetupKey, "k")] } });
    let for_many = |mut live: Value| {
        live["setup_keys"][0] = over(
            key("k", &[]),
            json!({ "type": "reusable", "usage_limit": 0, "used_times": 1 }),
        );
        live
    };
    let rows = [
        (
            "a machine that came, and is in the group",
            case(file(), live(&["host"]), json!({})),
        ),
        (
            "one that is to join the group",
            case(file(), live(&[]), json!({})),
        ),
        (
            "one that is to get its name, too",
            case(pending(file()), live(&[]), json!({})),
        ),
        (
            "the same, where the key was adopted and did its work",
            case(file(), live(&[]), adopted.clone()),
        ),
        (
            "the same, where the key was adopted, and the machine has its name",
            {
                let mut live = live(&[]);
                live["peers"][0]["name"] = json!("k");
                case(pending(file()), live, adopted.clone())
            },
        ),
        (
            "a machine whose key is adopted now",
            case(
                file(),
                live(&["host"]),
                json!({ "created": { "groups/g": [id(Kind::Group, "g")] } }),
            ),
        ),
        (
            "one that is to get its name, and whose key was adopted",
            case(pending(file()), live(&[]), adopted),
        ),
        ("both are recorded", case(file(), live(&["host"]), known())),
        (
            "recorded by its times, and the log tells it",
            case(file(), live(&["host"]), came("time")),
        ),
        (
            "recorded by its times, and no more is known",
            case(file(), without_log(live(&["host"])), came("time")),
        ),
        (
            "recorded by its name, and the times tell it",
            case(file(), without_log(live(&["host"])), came("name")),
        ),
        (
            "another machine is recorded",
            case(
                file(),
                live(&["host"]),
                json!({ "enrolled": { "k": [id(Kind::Peer, "x")] } }),
            ),
        ),
        ("a machine whose key is to be another one's", {
            let newer = id_at(Kind::SetupKey, "k", MADE + 60);
            let keys = json!([
                over(key("k", &[]), used_at(MADE)),
                key_at("k", &[], MADE + 60)
            ]);
            let created = json!({ "groups/g": [id(Kind::Group, "g")], "setup_keys/k": [id(Kind::SetupKey, "k"), newer] });
            case(
                pending(file()),
                over(live(&["host"]), json!({ "setup_keys": keys })),
                json!({ "created": created }),
            )
        }),
        (
            "a machine of a key for many",
            case(file(), for_many(live(&["host"])), json!({})),
        ),
        (
            "a recorded member that the group has",
            case(file(), live(&["x"]), x()),
        ),
        (
            "a recorded member that left the group",
            case(file(), live(&[]), x()),
        ),
        (
            "the group is gone",
            case(file(), over(live(&[]), json!({ "groups": [] })), x()),
        ),
        ("the same, and the token does not see all", {
            let users =
                json!([{ "id": "mira", "name": "Mira", "role": "user", "is_current": true }]);
            case(file(), over(live(&[]), json!({ "users": users })), x())
        }),
    ];
    let rows = rows.map(|(what, case)| (what, written(&case)));
    assert_data_eq!(
        table(rows),
        str![[r#"
a machine that came, and is in the group
    g lists k: <peer host>
    came by k: <peer host> (Event)
one that is to join the group
    came by k: <peer host> (Event)
one that is to get its name, too
    came by k: <peer host> (Event)
the same, where the key was adopted and did its work
    came by k: <peer host> (Event)
the same, where the key was adopted, and the machine has its name
    came by k: <peer host> (Event)
a machine whose key is adopted now
    g lists k: <peer host>
    came by k: <peer host> (Event)
one that is to get its name, and whose key was adopted
both are recorded
recorded by its times, and the log tells it
    g lists k: <peer host>
    came by k: <peer host> (Event)
recorded by its times, and no more is known
    g lists k: <peer host>
recorded by its name, and the times tell it
    g lists k: <peer host>
    came by k: <peer host> (Time)
another machine is recorded
    g lists k: <peer host>
    came by k: <peer host> (Event)
a machine whose key is to be another one's
    g lists k: <peer host>
    came by k: <peer host> (Event)
a machine of a key for many
a recorded member that the group has
    came by k: <peer host> (Event)
a recorded member that left the group
    left g: <peer x>
    came by k: <peer host> (Event)
the group is gone
    left g: <peer x>
    came by k: <peer host> (Event)
    is gone: daojn03076ei75c05t8g
the same, and the token does not see all
    came by k: <peer host> (Event)

"#]]
        .raw()
    );
}

#[test]
fn what_became_of_what_was_recorded() {
    let p = || json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
    let with_p = || over(file(), json!({ "policies": p() }));
    let without = |section: &str| over(file(), json!({ section: {} }));
    let was = || json!({ "enrolled": { "k": [id(Kind::Peer, "was")] } });
    let of_p = |file: Value, live: Value| {
        case(file, live, json!({})).ours(|ours| {
            let created = &mut std::sync::Arc::make_mut(&mut ours.inventory).created;
            created.insert(
                "policies/p".into(),
                vec![id(Kind::Policy, "p").as_str().into()],
            );
        })
    };
    let there = || {
        over(
            live(&[]),
            json!({ "policies": [policy("p", &["g"], &["g"])] }),
        )
    };
    let let_go = |name: &str, live: Value| {
        let empty = [
            "routes",
            "nameserver_groups",
            "posture_checks",
            "networks",
            "network_resources",
            "network_routers",
            "zones",
        ];
        let lists = empty.map(|list| (list.to_owned(), json!([])));
        let lists = Value::Object(lists.into_iter().collect());
        case(
            file(),
            over(lists, live),
            json!({ "released": [id(Kind::Policy, name)] }),
        )
    };
    let without_key = || over(live(&[]), json!({ "setup_keys": [] }));
    let weak = json!([{ "id": "mira", "name": "Mira", "role": "user", "is_current": true }]);
    let names = |names: Value| case(file(), live(&[]), json!({ "names": names }));
    let rows = [
        (
            "a machine that is gone, of an entry that stays",
            case(file(), live(&[]), was()),
        ),
        (
            "the same, of an entry that left",
            case(without("setup_keys"), live(&[]), was()).since(&[file()]),
        ),
        (
            "the same, of an entry that left before",
            case(without("setup_keys"), live(&[]), was()).since(&[without("setup_keys")]),
        ),
        (
            "a policy that is gone, of an entry that stays",
            of_p(with_p(), live(&[])).since(&[with_p()]),
        ),
        (
            "the same, of an entry that left",
            of_p(file(), live(&[])).since(&[with_p()]),
        ),
        (
            "the same, of an entry that left before",
            of_p(file(), live(&[])).since(&[file()]),
        ),
        (
            "a policy that is there, of an entry that left",
            of_p(file(), there()).since(&[with_p()]),
        ),
        (
            "the same, and two of its machines and two of its policies",
            {
                let of = |name: &str| id(Kind::Policy, name).as_str().into();
                let case = case(without("setup_keys"), live(&[]), was()).since(&[with_p()]);
                case.ours(|ours| {
                    let created = &mut std::sync::Arc::make_mut(&mut ours.inventory).created;
                    created.insert("policies/p".into(), vec![of("p"), of("q")]);
                })
            },
        ),
        (
            "a machine that is gone, of an entry that left and came back",
            case(file(), live(&[]), was()).since(&[file(), without("setup_keys"), file()]),
        ),
        (
            "a policy that is gone, of an entry that left and came back",
            of_p(with_p(), live(&[])).since(&[with_p(), file(), with_p()]),
        ),
        (
            "a machine of a key that is gone with its entry",
            case(without("setup_keys"), without_key(), json!({})).since(&[file()]),
        ),
        ("a machine of a key for many that is gone", {
            let mut file = file();
            file["setup_keys"]["k"] =
                json!({ "type": "reusable", "expires_in": LIFE, "auto_groups": [] });
            case(file, without_key(), json!({}))
        }),
        (
            "a machine that is gone, and the token does not see all",
            case(file(), over(live(&[]), json!({ "users": weak })), was()),
        ),
        ("a name that the file uses", {
            let file = over(
                file(),
                json!({ "groups": { "g": { "peers": ["k", "cam"] } } }),
            );
            case(
                file,
                live(&[]),
                json!({ "names": { "cam": id(Kind::Peer, "x") } }),
            )
        }),
        ("what was let go, and lives", let_go("p", there())),
        ("what was let go, and is gone", let_go("p", live(&[]))),
        ("the same, and not all lists came", {
            let mut case = let_go("p", live(&[]));
            case.snapshot = serde_json::from_value(live(&[])).expect("lists");
            case
        }),
        (
            "names that nothing uses",
            names(json!({ "cam": id(Kind::Peer, "x"), "nobody": null })),
        ),
        (
            "the name of a machine by now that of a key",
            names(json!({ "k": id(Kind::Peer, "x") })),
        ),
        (
            "names that a member and a machine are recorded by",
            case(
                file(),
                live(&["x"]),
                json!({ "names": { "cam": id(Kind::Peer, "x"), "nas": id(Kind::Peer, "x"), "other": null },
                        "members": { "g": { "cam": id(Kind::Peer, "x") } }, "enrolled": { "nas": [id(Kind::Peer, "x")] } }),
            ),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, written(&case)));
    assert_data_eq!(
        table(rows),
        str![[r#"
a machine that is gone, of an entry that stays
    came by k: <peer host> (Event)
    is gone: <peer was>
the same, of an entry that left
    came by k: <peer host> (Event)
    is gone: <peer was>
    belongs to an agreement: peers/<peer was> (Change(Proposed))
the same, of an entry that left before
    came by k: <peer host> (Event)
    is gone: <peer was>
a policy that is gone, of an entry that stays
    came by k: <peer host> (Event)
    is gone: <policy p>
the same, of an entry that left
    came by k: <peer host> (Event)
    is gone: <policy p>
    belongs to an agreement: policies/p (Change(Proposed))
the same, of an entry that left before
    came by k: <peer host> (Event)
    is gone: <policy p>
a policy that is there, of an entry that left
    came by k: <peer host> (Event)
the same, and two of its machines and two of its policies
    came by k: <peer host> (Event)
    is gone: daojn064mr5kfain5650
    is gone: <policy p>
    is gone: <peer was>
    belongs to an agreement: peers/<peer was> (Change(Proposed))
    belongs to an agreement: policies/p (Change(Proposed))
a machine that is gone, of an entry that left and came back
    came by k: <peer host> (Event)
    is gone: <peer was>
a policy that is gone, of an entry that left and came back
    came by k: <peer host> (Event)
    is gone: <policy p>
a machine of a key that is gone with its entry
    came by k: <peer host> (Event)
    is gone: daojn058v557f7ctlctg
    belongs to an agreement: setup_keys/k (Change(Proposed))
a machine of a key for many that is gone
    is gone: daojn058v557f7ctlctg
a machine that is gone, and the token does not see all
    came by k: <peer host> (Event)
a name that the file uses
    came by k: <peer host> (Event)
what was let go, and lives
    came by k: <peer host> (Event)
what was let go, and is gone
    came by k: <peer host> (Event)
    is gone: <policy p>
the same, and not all lists came
    came by k: <peer host> (Event)
names that nothing uses
    came by k: <peer host> (Event)
    means nothing any more: cam
    means nothing any more: nobody
the name of a machine by now that of a key
    came by k: <peer host> (Event)
    means nothing any more: k
names that a member and a machine are recorded by
    came by k: <peer host> (Event)
    means nothing any more: other

"#]]
        .raw()
    );
}

/// A killed run can have deleted it, as somebody agreed.
#[test]
fn what_an_earlier_run_let_go_and_is_gone_counts_where_the_file_still_manages_its_kind() {
    let left = |ids: Value| json!({ "ids": ids, "cause": "#4" });
    let inventory = json!({ "let_go": {
        "groups/g": left(json!([id(Kind::Group, "g")])),
        "groups/old": left(json!(["1", "2"])),
        "policies/old": left(json!(["3"])),
        "resources/web": left(json!(["4"])),
        "routers/gone": left(json!(["5"])),
        "routers/net": left(json!(["8"])),
        "groups/mine": left(json!(["6"])),
        "groups/nobodys": { "ids": ["7"], "cause": null },
    } });
    let seen_by = |users: Value, file: Value| {
        let lists = json!({ "groups": [group("g", &[])], "policies": [], "networks": [], "network_resources": [],
                            "network_routers": [], "users": users });
        let case = Case::new(file, lists);
        let plan = case.inventory(inventory.clone()).possible();
        plan.let_go_dead
    };
    let of = |file: Value| seen_by(live(&[])["users"].take(), file);
    let groups = json!({ "groups": { "mine": {} } });
    let two = ["1", "2"].map(|id| ("groups/old".into(), id.into(), "#4".into()));
    assert_eq!(of(groups.clone()), two);
    // who does not see all groups cannot tell that one is gone
    assert_eq!(seen_by(json!([]), groups.clone()), []);
    let all = over(
        groups,
        json!({ "policies": {}, "networks": { "net": { "resources": {} } } }),
    );
    let mut of_all = of(all);
    of_all.retain(|row| !two.contains(row));
    let rest = [
        ("policies/old", "3"),
        ("resources/web", "4"),
        ("routers/gone", "5"),
    ];
    let rest = rest.map(|(key, id)| (key.into(), id.into(), "#4".into()));
    assert_eq!(of_all, rest);
}
