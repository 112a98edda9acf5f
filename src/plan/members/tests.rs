//! Who is meant by a name in a group, and what nobody can do by choosing a hostname.

mod bound;
mod one;

use proptest::prelude::*;
use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::model::Kind;
use crate::testing::{
    Case, MADE, enrolled, group, id, id_at, key, key_at, over, peer, peer_at, table, time, used_at,
};

/// The group `g` that lists these names, with these members now, in a file that declares the keys `pending`
/// and, marked enrolled, `done` and `gone`.
struct Group<'a> {
    lists: &'a [&'a str],
    members: &'a [&'a str],
    peers: Vec<Value>,
    keys: Vec<Value>,
    events: Option<Vec<Value>>,
}

impl Group<'_> {
    fn case(self) -> Case {
        let key = json!({ "type": "one-off", "expires_in": 5_184_000, "auto_groups": ["g"] });
        let done = over(key.clone(), json!({ "enrolled": true }));
        let keys = json!({ "pending": key, "done": done, "gone": done });
        // a pending key that grants the group has to be listed in it
        let lists: Vec<&str> = self.lists.iter().copied().chain(["pending"]).collect();
        let file = json!({ "groups": { "g": { "peers": lists } }, "setup_keys": keys });
        let keys = if self.keys.is_empty() {
            vec![self::key("pending", &["g"])]
        } else {
            self.keys
        };
        let live = json!({ "groups": [group("g", self.members)], "peers": self.peers, "setup_keys": keys });
        let mut case = Case::new(file, live);
        let events = self
            .events
            .map(|events| events.into_iter().map(Into::into).collect());
        case.snapshot.rest.events = events;
        case
    }

    fn outcome(self) -> String {
        self.case().outcome()
    }
}

fn listing<'a>(lists: &'a [&'a str], members: &'a [&'a str], peers: Vec<Value>) -> Group<'a> {
    Group {
        lists,
        members,
        peers,
        keys: Vec::new(),
        events: None,
    }
}

fn used(name: &str, second: i64) -> Value {
    over(key_at(name, &["g"], second), used_at(second + 5))
}

#[test]
fn the_name_of_a_key_is_the_peer_that_came_by_it() {
    let with = |keys: Vec<Value>, peers: Vec<Value>, events: &[Value]| {
        Group {
            keys,
            events: Some(events.to_vec()),
            ..listing(&["done"], &[], peers)
        }
        .outcome()
    };
    let pending = || key("pending", &["g"]);
    let gone = vec![pending()];
    let mira = over(peer("done"), json!({ "user_id": "mira" }));
    let two = || {
        let came = json!({ "created_at": time(MADE + 5) });
        ["x", "y"]
            .map(|name| over(peer(name), came.clone()))
            .to_vec()
    };
    let one_of_two = || Group {
        keys: vec![pending(), used("done", MADE)],
        events: Some(Vec::new()),
        ..listing(&["done"], &["x"], two())
    };
    let listed_as = |name: &str| {
        let recorded = json!({
            "created": { "groups/g": [id(Kind::Group, "g")] },
            "members": { "g": { name: id(Kind::Peer, "x") } },
        });
        one_of_two().case().inventory(recorded).outcome()
    };
    // a key that waits, and a member that came by an older one of its name
    let again = || Group {
        keys: vec![used("pending", MADE), key_at("pending", &["g"], MADE + 60)],
        events: Some(vec![enrolled("pending", "x")]),
        ..listing(&[], &["x"], vec![peer("x")])
    };
    let by_times = |name: &str, members: &[&str], inventory: Value| {
        let came = over(peer("x"), json!({ "created_at": time(MADE + 5) }));
        let recorded =
            json!({ "created": { format!("setup_keys/{name}"): [id(Kind::SetupKey, name)] } });
        let lists = [name];
        let group = Group {
            keys: vec![used(name, MADE)],
            ..listing(&lists, members, vec![came])
        };
        let case = group.case().inventory(over(recorded, inventory));
        case.outcome()
    };
    let rows = [
        (
            "bound",
            with(
                vec![pending(), used("done", MADE)],
                vec![peer("x")],
                &[enrolled("done", "x")],
            ),
        ),
        (
            "bound to one, and another has the name",
            with(
                vec![pending(), used("done", MADE)],
                vec![peer("x"), peer("done")],
                &[enrolled("done", "x")],
            ),
        ),
        (
            "used, its peer is gone and another took the name",
            with(
                vec![pending(), used("done", MADE)],
                vec![peer("done")],
                &[enrolled("done", "was")],
            ),
        ),
        (
            "the same, and it is a person's, or one that NetBird forgets",
            with(
                vec![pending(), used("done", MADE)],
                vec![mira.clone(), over(peer_at("done", MADE + 9), json!({ "ephemeral": true }))],
                &[enrolled("done", "was")],
            ),
        ),
        (
            "used, its peer is gone, and a member has the name, --prune all",
            Group {
                keys: vec![pending(), used("done", MADE)],
                events: Some(vec![enrolled("done", "was")]),
                ..listing(&["done"], &["done"], vec![peer("done")])
            }
            .case()
            .prune_all()
            .outcome(),
        ),
        (
            "created again after its use: it joins when it enrolls",
            with(
                vec![used("pending", MADE), key_at("pending", &["g"], MADE + 60)],
                vec![peer("x")],
                &[enrolled("pending", "x")],
            ),
        ),
        (
            "the same, and the machine of its older life is a member: it stays till then",
            again().case().prune_all().outcome(),
        ),
        (
            "the same, and it is recorded",
            again().case().inventory(json!({
                "created": { "groups/g": [id(Kind::Group, "g")],
                             "setup_keys/pending": [id(Kind::SetupKey, "pending"), id_at(Kind::SetupKey, "pending", MADE + 60)] },
                "members": { "g": { "pending": id(Kind::Peer, "x") } },
            }))
            .outcome(),
        ),
        (
            "by the times alone",
            by_times("done", &[], json!({})),
        ),
        (
            "the same, and another machine of the key is recorded",
            by_times("done", &[], json!({ "enrolled": { "done": ["other"] } })),
        ),
        (
            "by the times alone, and it is a member already",
            by_times("done", &["x"], json!({})),
        ),
        (
            "by the times alone, of a key that waited",
            by_times("pending", &[], json!({})),
        ),
        (
            "two lives: the newest use counts",
            with(
                vec![pending(), used("done", MADE), used("done", MADE + 9)],
                vec![peer("x"), peer("y")],
                &[
                    enrolled("done", "x"),
                    over(
                        enrolled("done", "y"),
                        json!({ "initiator_id": id_at(Kind::SetupKey, "done", MADE + 9) }),
                    ),
                ],
            ),
        ),
        (
            "marked, its key gone: the one of the name",
            with(gone.clone(), vec![peer("done"), peer("x")], &[]),
        ),
        (
            "marked, its key gone, nobody of the name",
            with(gone.clone(), vec![peer("x")], &[]),
        ),
        (
            "marked, its key gone, a person's peer of the name",
            with(gone.clone(), vec![mira], &[]),
        ),
        (
            "marked, its key gone, two of the name",
            with(
                gone.clone(),
                vec![peer("done"), peer_at("done", MADE + 9)],
                &[],
            ),
        ),
        (
            "marked, its key gone, two of the name, one is a member",
            Group {
                keys: gone.clone(),
                ..listing(
                    &["done"],
                    &["done"],
                    vec![peer("done"), peer_at("done", MADE + 9)],
                )
            }
            .outcome(),
        ),
        (
            "the same, --prune all",
            Group {
                keys: gone,
                ..listing(
                    &["done"],
                    &["done"],
                    vec![peer("done"), peer_at("done", MADE + 9)],
                )
            }
            .case()
            .prune_all()
            .outcome(),
        ),
        (
            "several can have used it",
            with(vec![pending(), used("done", MADE)], two(), &[]),
        ),
        ("the same, and one is a member", one_of_two().outcome()),
        (
            "the same, and the group listed that one by its own name",
            listed_as("x"),
        ),
        (
            "the same, and the group listed that one by the name of the key",
            listed_as("done"),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
bound
    update group g
        peers [] → ["x"]
    pending in g: {"pending"}
bound to one, and another has the name
    update group g
        peers [] → ["x"]
    pending in g: {"pending"}
    note: group "g" lists "done", which means the peer daojn06d1l5o9ei3jd1g. The peer daojn05s1nsc4uaq7gqg has this name too, but is not added. If it is the right machine, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key. If not, rename it.
used, its peer is gone and another took the name
    pending in g: {"pending"}
    note: group "g" lists the setup key "done", but the peer that enrolled with it was deleted, so no peer is added. The peer daojn05s1nsc4uaq7gqg has this name, but did not enroll with this key. For a machine in its place, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key.
the same, and it is a person's, or one that NetBird forgets
    pending in g: {"pending"}
    note: group "g" lists the setup key "done", but the peer that enrolled with it was deleted, so no peer is added. For a machine in its place, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key.
used, its peer is gone, and a member has the name, --prune all
    pending in g: {"pending"}
    unmanaged in g: ["done"]
    adopts group g as Adopted
    adopts setup key done as Adopted
    adopts setup key pending as Adopted
    note: group "g" lists the setup key "done", but the peer that enrolled with it was deleted, so no peer is added. The peer daojn05s1nsc4uaq7gqg has this name, but did not enroll with this key. For a machine in its place, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key.
created again after its use: it joins when it enrolls
    pending in g: {"pending"}
    note: group "g" lists the setup key "done", but NetBird has no peer that is known to have enrolled with it, so no peer is added. If its machine has another name now, run apply --adopt peers/done=ID (in a job: the input adopt of the apply workflow). For a machine in its place, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key.
    note: setup key "pending" waits for another machine. The peer "x" (daojn06d1l5o9ei3jd1g), which used an older key of this name, keeps the name and leaves the groups that list it when that machine enrolls. To replace the old machine, set reissue_after to a time between the creation of the two keys.
the same, and the machine of its older life is a member: it stays till then
    pending in g: {"pending"}
    unmanaged in g: ["x"]
    adopts group g as Adopted
    adopts setup key pending as Adopted
the same, and it is recorded
    pending in g: {"pending"}
    note: setup key "pending" waits for another machine. The peer "x" (daojn06d1l5o9ei3jd1g), which used an older key of this name, keeps the name and leaves the groups that list it when that machine enrolls. To replace the old machine, set reissue_after to a time between the creation of the two keys.
by the times alone
    update group g
        peers [] → ["x"]
    create setup key pending
    pending in g: {"pending"}
    adopts group g as Adopted
    note: group "g" lists the setup key "done", so the peer "x" (daojn06d1l5o9ei3jd1g) is added: only the times of key and peer say so, not the event log. Check that it is the right machine.
the same, and another machine of the key is recorded
    update group g
        peers [] → ["x"]
    create setup key pending
    pending in g: {"pending"}
    adopts group g as Adopted
    note: group "g" lists the setup key "done", so the peer "x" (daojn06d1l5o9ei3jd1g) is added: only the times of key and peer say so, not the event log. Check that it is the right machine.
by the times alone, and it is a member already
    create setup key pending
    pending in g: {"pending"}
    adopts group g as Adopted
by the times alone, of a key that waited
    update group g
        peers [] → ["x"]
    rename peer pending: enrolled with this key; only the times of key and peer say so, not the event log
        name "x" → "pending"
        dns_label "x" → "pending"
    adopts group g as Adopted
two lives: the newest use counts
    update group g
        peers [] → ["y"]
    pending in g: {"pending"}
    note: setup key "done" was used by the peer "y" (daojn06d1l589ei3j680). The peer "x" (daojn06d1l5o9ei3jd1g), which used an older key of this name, is not deleted, because the file has no reissue_after that asks for another machine.
marked, its key gone: the one of the name
    update group g
        peers [] → ["done"]
    pending in g: {"pending"}
marked, its key gone, nobody of the name
    pending in g: {"pending"}
    note: group "g" lists the setup key "done", but NetBird has no peer that is known to have enrolled with it, so no peer is added. If its machine has another name now, run apply --adopt peers/done=ID (in a job: the input adopt of the apply workflow). For a machine in its place, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key.
marked, its key gone, a person's peer of the name
    update group g
        peers [] → ["done"]
    pending in g: {"pending"}
marked, its key gone, two of the name
    pending in g: {"pending"}
    note: group "g" lists "done", which means no machine yet, because any machine can choose its own name. The peers daojn05s1nsc4uaq7gqg and daojn2ds1nsc4uaq7gqg have this name now. If one of them is the right machine, run apply --adopt peers/done=ID (in a job: the input adopt of the apply workflow)
marked, its key gone, two of the name, one is a member
    pending in g: {"pending"}
    note: group "g" lists "done", which means the peer daojn05s1nsc4uaq7gqg. The peer daojn2ds1nsc4uaq7gqg has this name too, but is not added. If it is the right machine, run apply --adopt peers/done=daojn2ds1nsc4uaq7gqg (in a job: the input adopt of the apply workflow). If not, rename it.
the same, --prune all
    pending in g: {"pending"}
    adopts group g as Adopted
    adopts setup key pending as Adopted
    note: group "g" lists "done", which means the peer daojn05s1nsc4uaq7gqg. The peer daojn2ds1nsc4uaq7gqg has this name too, but is not added. If it is the right machine, run apply --adopt peers/done=daojn2ds1nsc4uaq7gqg (in a job: the input adopt of the apply workflow). If not, rename it.
several can have used it
    pending in g: {"pending"}
    note: group "g" lists the setup key "done", but it is not known which of several peers (y, x) used it, so no peer is added. Write the name of the right peer instead.
the same, and one is a member
    pending in g: {"pending"}
the same, and the group listed that one by its own name
    create setup key pending
    update group g
        peers ["x"] → []
    pending in g: {"pending"}
    adopts setup key done as Adopted
    note: group "g" lists the setup key "done", but it is not known which of several peers (y, x) used it, so no peer is added. Write the name of the right peer instead.
    note: NetBird has another valid setup key with the name "pending" (id daojn05vv9g76ro2j1ag). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/pending=daojn05vv9g76ro2j1ag (in a job: the input adopt of the apply workflow).
the same, and the group listed that one by the name of the key
    create setup key pending
    pending in g: {"pending"}
    adopts setup key done as Adopted
    note: NetBird has another valid setup key with the name "pending" (id daojn05vv9g76ro2j1ag). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/pending=daojn05vv9g76ro2j1ag (in a job: the input adopt of the apply workflow).

"#]].raw());
}

#[test]
fn another_name_is_the_one_peer_of_that_name() {
    let ephemeral = over(peer("edge"), json!({ "ephemeral": true }));
    let rows = [
        ("nobody", listing(&["edge"], &[], vec![peer("x")]).outcome()),
        (
            "a member already",
            listing(&["edge"], &["edge"], vec![peer("edge")]).outcome(),
        ),
        (
            "no member, and no history tells who was meant",
            listing(&["edge"], &[], vec![peer("edge")]).outcome(),
        ),
        (
            "an ephemeral peer",
            listing(&["edge"], &[], vec![ephemeral]).outcome(),
        ),
        (
            "namesakes: the member",
            listing(
                &["edge"],
                &["edge"],
                vec![peer("edge"), peer_at("edge", MADE + 9)],
            )
            .outcome(),
        ),
        (
            "namesakes: none is one",
            listing(
                &["edge"],
                &[],
                vec![peer("edge"), peer_at("edge", MADE + 9)],
            )
            .outcome(),
        ),
        (
            "a member that the file does not name",
            listing(&[], &["edge"], vec![peer("edge")]).outcome(),
        ),
        (
            "its address",
            listing(&["100.92.14.7"], &[], vec![peer("edge")]).outcome(),
        ),
        (
            "its DNS label",
            listing(&["edge.netbird.selfhosted"], &[], vec![peer("edge")]).outcome(),
        ),
        (
            "a member that waits until somebody lets it in",
            listing(
                &["edge"],
                &["edge"],
                vec![over(peer("edge"), json!({ "approval_required": true }))],
            )
            .outcome(),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
nobody
    pending in g: {"pending"}
    note: group "g" lists "edge", but no peer has this name, so no peer is added. Check the name. When its machine enrolled, run apply --adopt peers/edge=ID
a member already
    pending in g: {"pending"}
no member, and no history tells who was meant
    update group g
        peers [] → ["edge"]
    pending in g: {"pending"}
an ephemeral peer
    pending in g: {"pending"}
    note: group "g" lists "edge", but no peer has this name, so no peer is added. Check the name. When its machine enrolled, run apply --adopt peers/edge=ID
namesakes: the member
    pending in g: {"pending"}
    note: group "g" lists "edge", which means the peer daojn00qcrormgvs1g00. The peer daojn28qcrormgvs1g00 has this name too, but is not added. If it is the right machine, run apply --adopt peers/edge=daojn28qcrormgvs1g00 (in a job: the input adopt of the apply workflow). If not, rename it.
namesakes: none is one
    pending in g: {"pending"}
    note: group "g" lists "edge", which means no machine yet, because any machine can choose its own name. The peers daojn00qcrormgvs1g00 and daojn28qcrormgvs1g00 have this name now. If one of them is the right machine, run apply --adopt peers/edge=ID (in a job: the input adopt of the apply workflow)
a member that the file does not name
    pending in g: {"pending"}
    unmanaged in g: ["edge"]
its address
    pending in g: {"pending"}
    note: group "g" lists "100.92.14.7", but no peer has this name, so no peer is added; write "edge", which is that peer's name
its DNS label
    pending in g: {"pending"}
    note: group "g" lists "edge.netbird.selfhosted", but no peer has this name, so no peer is added; write "edge", which is that peer's name
a member that waits until somebody lets it in
    pending in g: {"pending"}
    note: peer "edge" waits for approval in NetBird: until it is approved, it cannot reach any peer

"#]].raw());
}

/// `--prune all` takes every unmanaged member but those who came by a declared key that grants the group, persons and
/// ephemeral peers.
/// Whoever leaves the list in the change that renames the group leaves the group.
#[test]
fn the_members_of_a_group_that_is_renamed() {
    let file = json!({ "groups": { "new": { "renamed_from": "old", "peers": ["edge"] } } });
    let live = json!({ "groups": [group("old", &["edge", "was", "guest"])],
                       "peers": [peer("edge"), peer("was"), peer("guest")] });
    let of = |name: &str| id(Kind::Peer, name);
    let case = Case::new(file, live).inventory(json!({
        "created": { "groups/old": [id(Kind::Group, "old")] },
        "members": { "old": { "edge": of("edge"), "was": of("was") } },
        "names": { "edge": of("edge"), "was": of("was") },
    }));
    assert_data_eq!(
        case.outcome(),
        str![[r#"
update group new (additions)
    name "old" → "new"
    peers ["edge","guest","was"] → ["edge","guest"]
update group new (removals)
unmanaged in new: ["guest"]

"#]]
        .raw()
    );
}

#[test]
fn unmanaged_members() {
    let pruned = |fields: Value, keys: Vec<Value>, events: &[Value]| {
        let other = over(peer("x"), fields);
        Group {
            keys,
            events: Some(events.to_vec()),
            ..listing(&[], &["x"], vec![other])
        }
        .case()
        .prune_all()
        .outcome()
    };
    let pending = key("pending", &["g"]);
    let rows = [
        ("nobody knows how it came", pruned(json!({}), vec![], &[])),
        (
            "by a declared key that grants the group, and the file listed it before",
            Group {
                keys: vec![used("done", MADE)],
                events: Some(vec![enrolled("done", "x")]),
                ..listing(&[], &["x"], vec![peer("x")])
            }
            .case()
            .inventory(json!({ "members": { "g": { "x": id(Kind::Peer, "x") } } }))
            .prune_all()
            .outcome(),
        ),
        (
            "by a key that the file does not declare",
            pruned(
                json!({}),
                vec![pending, used("other", MADE)],
                &[enrolled("other", "x")],
            ),
        ),
        (
            "by a declared key that grants the group",
            pruned(
                json!({}),
                vec![used("pending", MADE)],
                &[enrolled("pending", "x")],
            ),
        ),
        (
            "a person's",
            pruned(json!({ "user_id": "mira" }), vec![], &[]),
        ),
        (
            "ephemeral",
            pruned(json!({ "ephemeral": true }), vec![], &[]),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
nobody knows how it came
    update group g
        peers ["x"] → []
    pending in g: {"pending"}
    adopts group g as Adopted
    adopts setup key pending as Adopted
by a declared key that grants the group, and the file listed it before
    create setup key pending
    update group g
        peers ["x"] → []
    pending in g: {"pending"}
    adopts group g as Adopted
    adopts setup key done as Adopted
    note: setup key "done" was used by the peer "x" (daojn06d1l5o9ei3jd1g) before this file managed it, so it is marked enrolled. The peer keeps its name
by a key that the file does not declare
    delete setup key other: it is not in the file (--prune all)
    update group g
        peers ["x"] → []
    pending in g: {"pending"}
    adopts group g as Adopted
    adopts setup key pending as Adopted
by a declared key that grants the group
    pending in g: {"pending"}
    unmanaged in g: ["x"]
    adopts group g as Adopted
    skipped: setup key pending
    note: setup key "pending" is skipped: NetBird has a used key with this name (daojn05vv9g76ro2j1ag), so the machine may have enrolled already. If the machine enrolled, run apply --adopt setup_keys/pending=daojn05vv9g76ro2j1ag (in a job: the input adopt of the apply workflow). If not, set reissue_after to the present time: then a new key is created.
a person's
    pending in g: {"pending"}
    unmanaged in g: ["x"]
    adopts group g as Adopted
    adopts setup key pending as Adopted
ephemeral
    pending in g: {"pending"}
    unmanaged in g: ["x"]
    adopts group g as Adopted
    adopts setup key pending as Adopted

"#]]
        .raw()
    );
}

proptest! {
    /// Nobody blocks a plan by choosing a hostname, and nobody gets in or throws anybody out by one.
    #[test]
    fn another_peer_of_any_name_changes_nothing(
        name in prop_oneof![Just("pending".to_owned()), Just("x".to_owned()), Just("edge".to_owned()), Just("done".to_owned()),
                          Just("gone".to_owned()), any::<String>()],
        second in prop_oneof![Just(MADE), MADE + 10..MADE + 1_000],
        all in any::<bool>(),
    ) {
        let case = |peers: Vec<Value>| {
            let events = Some(vec![enrolled("done", "x")]);
            let group = Group {
                keys: vec![key("pending", &["g"]), used("done", MADE)],
                events,
                ..listing(&["done", "edge", "gone"], &["edge", "x", "gone"], peers)
            };
            if all { group.case().prune_all() } else { group.case() }
        };
        let family = vec![peer("x"), peer("edge"), peer("gone")];
        let without = case(family.clone()).possible();
        let other = over(peer_at(&name, second), json!({ "id": id_at(Kind::Peer, "another", second), "name": name }));
        let with = case([family, vec![other]].concat()).plan();
        let with = with.map_err(|problems| TestCaseError::fail(format!("{problems:?}")))?;
        prop_assert_eq!(with.changes, without.changes);
    }
}
