//! A name is bound once: whom it means from then on nobody can change by choosing a hostname.

use proptest::prelude::*;
use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::base::Id;
use crate::model::{Address, Kind};
use crate::plan::Standing;
use crate::testing::{
    Case, MADE, NOW, enrolled, group, id, key, over, peer, peer_at, policy, table, used_at,
};

/// The group `g` that lists `edge`, with these members, peers and this inventory.
fn case(members: &[&str], peers: Vec<Value>, inventory: Value) -> Case {
    let file = json!({ "groups": { "g": { "peers": ["edge"] } } });
    let live = json!({ "groups": [group("g", members)], "peers": peers });
    let created = json!({ "created": { "groups/g": [id(Kind::Group, "g")] } });
    Case::new(file, live).inventory(over(created, inventory))
}

/// A commit at `NOW` put the name into the file.
fn since(case: Case) -> Case {
    let named = json!({ "groups": { "g": { "peers": ["edge"] } } });
    case.since(&[json!({ "groups": { "g": {} } }), named])
}

fn first(case: Case) -> Case {
    case.ours(|ours| ours.standing = Standing::First)
}

#[test]
fn whom_a_name_means() {
    let edge = || peer("edge");
    let other = || peer_at("edge", MADE + 9);
    let bound = |id: Value| json!({ "names": { "edge": id } });
    let none = || json!({});
    let named = peer_at("x", MADE + 500);
    let rows = [
        ("nobody has it", case(&[], vec![], none())),
        ("one has it", case(&[], vec![edge()], none())),
        ("two have it", case(&[], vec![edge(), other()], none())),
        ("two have it, one came by a key of another name", {
            let file = json!({ "groups": { "g": { "peers": ["edge"] } } });
            let used = over(key("guest", &[]), used_at(MADE + 9));
            let live = json!({ "groups": [group("g", &[])], "peers": [edge(), other()], "setup_keys": [used],
                               "events": [over(enrolled("guest", "edge"), json!({ "target_id": other()["id"] }))] });
            Case::new(file, live).inventory(json!({}))
        }),
        (
            "two have it, one is a member",
            case(&["edge"], vec![edge(), other()], none()),
        ),
        (
            "bound to nobody, and one has it",
            case(&[], vec![edge()], bound(Value::Null)),
        ),
        (
            "bound to one of another name by now",
            case(&[], vec![named.clone(), edge()], bound(named["id"].clone())),
        ),
        (
            "bound to one that is gone",
            case(&[], vec![edge()], bound(json!("gone"))),
        ),
        (
            "the key of that name is gone, and so is its machine",
            case(
                &[],
                vec![edge()],
                json!({ "enrolled": { "edge": ["gone"] } }),
            ),
        ),
        (
            "one bore it when the commit was made that names it, and one came later",
            since(case(&[], vec![edge(), peer_at("edge", NOW + 9)], none())),
        ),
        (
            "one took it after the commit that names it",
            since(case(&[], vec![peer_at("edge", NOW + 9)], none())),
        ),
        (
            "one took it in the second of the commit that names it",
            since(case(&[], vec![peer_at("edge", NOW)], none())),
        ),
        (
            "the entry of the key of that name left, and its machine came since",
            {
                let file = json!({ "groups": { "g": { "peers": ["edge"] } }, "setup_keys": {} });
                let keys = [over(key("edge", &[]), used_at(MADE))];
                let live = json!({ "groups": [group("g", &[])], "peers": [peer("host"), edge()], "setup_keys": keys,
                                   "events": [enrolled("edge", "host")] });
                let created = json!({ "groups/g": [id(Kind::Group, "g")], "setup_keys/edge": [id(Kind::SetupKey, "edge")] });
                Case::new(file, live).inventory(json!({ "created": created }))
            },
        ),
        (
            "before there is an inventory",
            first(case(&[], vec![edge()], none())),
        ),
        (
            "the same, and it is a member",
            first(case(&["edge"], vec![edge()], none())),
        ),
        (
            "a recorded member that is listed no more",
            case(
                &["x"],
                vec![peer("x")],
                json!({ "members": { "g": { "x": id(Kind::Peer, "x") } } }),
            ),
        ),
        (
            "a member that nobody listed",
            case(&["x"], vec![peer("x")], none()),
        ),
        ("--adopt of a policy of that name", {
            let everybody = json!({ "sources": ["All"], "destinations": ["All"] });
            let file = json!({ "groups": { "g": { "peers": ["edge"] } }, "policies": { "edge": everybody } });
            let live = json!({ "groups": [group("g", &[])], "peers": [edge()], "policies": [policy("edge", &["All"], &["All"])] });
            let created = json!({ "created": { "groups/g": [id(Kind::Group, "g")] } });
            Case::new(file, live).inventory(created).ours(|ours| {
                let id = Id::from(id(Kind::Policy, "edge").as_str());
                ours.asked.insert(Address::new(Kind::Policy, "edge"), id);
            })
        }),
        ("--adopt says who it is", {
            let id = Id::from(id(Kind::Peer, "edge").as_str());
            case(&[], vec![edge()], bound(Value::Null)).ours(|ours| {
                ours.asked.insert(Address::new(Kind::Peer, "edge"), id);
            })
        }),
    ];
    let rows = rows.map(|(what, case)| {
        let record = case.possible().record;
        let names = record
            .names
            .iter()
            .map(|(name, id)| format!("writes {name}: {id:?}\n"));
        let rebound = record
            .rebound
            .iter()
            .map(|(name, id)| format!("binds {name}: {id:?}\n"));
        (
            what,
            case.outcome() + &names.chain(rebound).collect::<String>(),
        )
    });
    assert_data_eq!(table(rows), str![[r#"
nobody has it
    note: group "g" lists "edge", but no peer has this name, so no peer is added. Check the name. When its machine enrolled, run apply --adopt peers/edge=ID
    writes edge: None
one has it
    update group g
        peers [] → ["edge (100.92.14.7)"]
    writes edge: Some(Id("daojn00qcrormgvs1g00"))
two have it
    note: group "g" lists "edge", which means no machine yet, because any machine can choose its own name. The peers daojn00qcrormgvs1g00 and daojn28qcrormgvs1g00 have this name now. If one of them is the right machine, run apply --adopt peers/edge=ID (in a job: the input adopt of the apply workflow)
    writes edge: None
two have it, one came by a key of another name
    adopts group g as Adopted
    note: group "g" lists "edge", which means no machine yet, because any machine can choose its own name. The peers daojn00qcrormgvs1g00 and daojn28qcrormgvs1g00 have this name now. If one of them is the right machine, run apply --adopt peers/edge=ID (in a job: the input adopt of the apply workflow)
    writes edge: None
two have it, one is a member
    note: group "g" lists "edge", which means the peer daojn00qcrormgvs1g00. The peer daojn28qcrormgvs1g00 has this name too, but is not added. If it is the right machine, run apply --adopt peers/edge=daojn28qcrormgvs1g00 (in a job: the input adopt of the apply workflow). If not, rename it.
    writes edge: Some(Id("daojn00qcrormgvs1g00"))
bound to nobody, and one has it
    note: group "g" lists "edge", which means no machine yet, because any machine can choose its own name. The peer daojn00qcrormgvs1g00 has this name now. If it is the right machine, run apply --adopt peers/edge=daojn00qcrormgvs1g00 (in a job: the input adopt of the apply workflow)
bound to one of another name by now
    update group g
        peers [] → ["x"]
    note: group "g" lists "edge", which means the peer daojqt6d1l5o9ei3jd1g. The peer daojn00qcrormgvs1g00 has this name too, but is not added. If it is the right machine, run apply --adopt peers/edge=daojn00qcrormgvs1g00 (in a job: the input adopt of the apply workflow). If not, rename it.
bound to one that is gone
    note: group "g" lists "edge", but the machine that it meant (gone) does not exist any more. The peer daojn00qcrormgvs1g00 has this name now. If it is the right machine, run apply --adopt peers/edge=daojn00qcrormgvs1g00 (in a job: the input adopt of the apply workflow)
the key of that name is gone, and so is its machine
    note: group "g" lists "edge", but the machine that it meant (gone) does not exist any more. The peer daojn00qcrormgvs1g00 has this name now. If it is the right machine, run apply --adopt peers/edge=daojn00qcrormgvs1g00 (in a job: the input adopt of the apply workflow)
    writes edge: None
one bore it when the commit was made that names it, and one came later
    update group g
        peers [] → ["edge (100.92.14.7)"]
    note: group "g" lists "edge", which means the peer daojn00qcrormgvs1g00. The peer dbcch28qcrormgvs1g00 has this name too, but is not added. If it is the right machine, run apply --adopt peers/edge=dbcch28qcrormgvs1g00 (in a job: the input adopt of the apply workflow). If not, rename it.
    writes edge: Some(Id("daojn00qcrormgvs1g00"))
one took it after the commit that names it
    note: group "g" lists "edge", which means no machine yet, because any machine can choose its own name. The peer dbcch28qcrormgvs1g00 has this name now. If it is the right machine, run apply --adopt peers/edge=dbcch28qcrormgvs1g00 (in a job: the input adopt of the apply workflow)
    writes edge: None
one took it in the second of the commit that names it
    update group g
        peers [] → ["edge (100.92.14.7)"]
    writes edge: Some(Id("dbcch00qcrormgvs1g00"))
the entry of the key of that name left, and its machine came since
    update group g
        peers [] → ["host"]
    delete setup key edge: it is no longer in the file
    note: group "g" lists "edge", which means the peer daojn001d7im4h5d06hg. The peer daojn00qcrormgvs1g00 has this name too, but is not added. If it is the right machine, run apply --adopt peers/edge=daojn00qcrormgvs1g00 (in a job: the input adopt of the apply workflow). If not, rename it.
before there is an inventory
    note: these names in the file mean no machine yet, because any machine can choose its own name: "edge". If the machines that have these names now are the right ones, run apply --adopt peers/edge=daojn00qcrormgvs1g00 (in a job: the input adopt of the apply workflow).
    note: group "g" lists "edge", which means no machine yet, because any machine can choose its own name. The peer daojn00qcrormgvs1g00 has this name now. If it is the right machine, run apply --adopt peers/edge=daojn00qcrormgvs1g00 (in a job: the input adopt of the apply workflow)
    writes edge: None
the same, and it is a member
    nothing
    writes edge: Some(Id("daojn00qcrormgvs1g00"))
a recorded member that is listed no more
    update group g
        peers ["x"] → []
    note: group "g" lists "edge", but no peer has this name, so no peer is added. Check the name. When its machine enrolled, run apply --adopt peers/edge=ID
    writes edge: None
a member that nobody listed
    unmanaged in g: ["x"]
    note: group "g" lists "edge", but no peer has this name, so no peer is added. Check the name. When its machine enrolled, run apply --adopt peers/edge=ID
    writes edge: None
--adopt of a policy of that name
    update group g
        peers [] → ["edge (100.92.14.7)"]
    adopts policy edge as Adopted
    writes edge: Some(Id("daojn00qcrormgvs1g00"))
--adopt says who it is
    update group g
        peers [] → ["edge"]
    binds edge: Id("daojn00qcrormgvs1g00")

"#]].raw());
}

/// A name left the list of a group before any run recorded its machine as a member.
#[test]
fn a_machine_whose_name_left_a_list_leaves_the_group() {
    let with = json!({ "groups": { "g": { "peers": ["x"] } } });
    let of = |inventory: Value| {
        let file = json!({ "groups": { "g": { "peers": [] } } });
        let live = json!({ "groups": [group("g", &["host"])], "peers": [peer("host")] });
        let created = json!({ "created": { "groups/g": [id(Kind::Group, "g")] } });
        let case = Case::new(file, live).inventory(over(created, inventory));
        case.since(std::slice::from_ref(&with)).outcome()
    };
    let host = || id(Kind::Peer, "host");
    let came = |by: &str| json!({ "enrolled": { "x": [{ "id": host(), "by": by }] } });
    let rows = [
        ("nobody knows whom it meant", of(json!({}))),
        (
            "it meant this machine",
            of(json!({ "names": { "x": host() } })),
        ),
        (
            "this machine came by the key of the name",
            of(came("event")),
        ),
        ("the same, as its times tell", of(came("time"))),
        ("the same, as a name alone tells", of(came("name"))),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
nobody knows whom it meant
    unmanaged in g: ["host"]
it meant this machine
    update group g
        peers ["host"] → []
this machine came by the key of the name
    update group g
        peers ["host"] → []
the same, as its times tell
    update group g
        peers ["host"] → []
the same, as a name alone tells
    unmanaged in g: ["host"]

"#]]
        .raw()
    );
}

proptest! {
    /// Whoever enrolls after a name was bound does not get in by having it.
    #[test]
    fn nobody_gets_in_by_a_name_that_was_bound_before(
        name in prop_oneof![Just("edge".to_owned()), Just("x".to_owned()), any::<String>()],
        later in 1..100_000_i64,
        is_there in any::<bool>(),
    ) {
        let bound = if is_there { json!(id(Kind::Peer, "edge")) } else { Value::Null };
        let family = if is_there { vec![peer("edge")] } else { vec![] };
        let other = over(peer_at(&name, MADE + later), json!({ "name": name }));
        let id = Id::from(other["id"].as_str().expect("an id"));
        let case = case(&[], [family, vec![other]].concat(), json!({ "names": { "edge": bound } }));
        let plan = case.plan().map_err(|problems| TestCaseError::fail(format!("{problems:?}")))?;
        prop_assert!(plan.changes.iter().all(|change| !change.added_members().contains(&id)));
    }
}
