//! What a reader of a plan is told of what changes nothing, word for word.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::model::Kind;
use crate::testing::{
    Case, MADE, NOW, enrolled, group, id, id_at, key, over, peer, policy, policy_with, table, time,
    used_at,
};

/// Of a key whose entry was removed the peer goes, but for one that is not known, or that is no machine of ours.
#[test]
fn why_the_peer_of_a_removed_key_stays_is_told() {
    let none = json!({ "groups": { "g": {} }, "setup_keys": {} });
    let one = json!({ "type": "one-off", "expires_in": 5_184_000, "enrolled": true });
    let file = json!({ "groups": { "g": {} }, "setup_keys": { "gw": one } });
    let used = || over(key("gw", &[]), used_at(MADE));
    let case = |peers: Value, events: Value| {
        let live = json!({ "groups": [group("g", &[])], "peers": peers, "setup_keys": [used()], "events": events });
        Case::new(none.clone(), live)
            .history(&[(MADE - 60, file.clone())])
            .outcome()
    };
    let event = json!([enrolled("gw", "gw")]);
    let with = |fields: Value| json!([over(peer("gw"), fields)]);
    let rows = [
        (
            "an ephemeral one",
            case(with(json!({ "ephemeral": true })), event.clone()),
        ),
        ("a person's", case(with(json!({ "user_id": "u" })), event)),
        (
            "one of two of that second",
            case(json!([peer("x"), peer("y")]), json!([])),
        ),
        (
            "one of two, which alone has the name",
            case(json!([peer("gw"), peer("y")]), json!([])),
        ),
        (
            "a server that does not say when peers enrolled",
            case(with(json!({ "created_at": null })), json!([])),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
an ephemeral one
    delete setup key gw: it is no longer in the file
    note: setup key "gw" is not in the file any more, but its peer is not deleted, because "gw" is ephemeral. If nobody needs the peer, delete it in NetBird.
a person's
    delete setup key gw: it is no longer in the file
    note: setup key "gw" is not in the file any more, but its peer is not deleted, because "gw" belongs to a person. If nobody needs the peer, delete it in NetBird.
one of two of that second
    delete setup key gw: it is no longer in the file
    note: setup key "gw" is not in the file any more, but its peer is not deleted, because it is not known which of several peers used the key: y, x. If nobody needs the peer, delete it in NetBird.
one of two, which alone has the name
    delete setup key gw: it is no longer in the file
    note: setup key "gw" is not in the file any more, but its peer is not deleted, because only names and times say that it is the peer "gw" (daojn05h52b8h06og03g). If nobody needs the peer, delete it in NetBird.
a server that does not say when peers enrolled
    delete setup key gw: it is no longer in the file
    note: setup key "gw" is not in the file any more, but its peer, if there is one, is not deleted, because it is not known which peer enrolled with it: this NetBird does not report when peers enrolled (0.55 and later do), and its event log has no entry for the key. If nobody needs the peer, delete it in NetBird.

"#]].raw());
}

#[test]
fn what_is_odd_about_keys_and_their_peers_is_told() {
    let one = |fields: Value| {
        over(
            json!({ "type": "one-off", "expires_in": 5_184_000 }),
            fields,
        )
    };
    let file = |key: Value, peers: &[&str]| json!({ "groups": { "g": { "peers": peers } }, "setup_keys": { "gw": key } });
    let used = || over(key("gw", &[]), used_at(MADE));
    let live = |peers: Value, events: Value| json!({ "groups": [group("g", &[])], "peers": peers, "setup_keys": [used()], "events": events });
    let event = json!([enrolled("gw", "host")]);
    let marked = file(one(json!({ "enrolled": true })), &[]);
    let again = |name: &str| over(peer("gw"), json!({ "id": id(Kind::Peer, name) }));
    let seen = over(again("b"), json!({ "last_seen": time(MADE + 60) }));
    let back = |asked: i64| {
        let key = one(json!({ "reissue_after": time(asked) }));
        let live = live(json!([peer("gw")]), json!([enrolled("gw", "gw")]));
        Case::new(file(key, &[]), live).history(&[
            (MADE - 60, file(one(json!({})), &[])),
            (MADE + 60, marked.clone()),
        ])
    };
    let rows = [
        (
            "another peer has the key's name",
            Case::new(
                file(one(json!({})), &[]),
                live(json!([peer("host"), peer("gw")]), event.clone()),
            ),
        ),
        (
            "enrolled was taken back",
            Case::new(
                file(one(json!({})), &[]),
                live(json!([peer("gw")]), json!([enrolled("gw", "gw")])),
            )
            .history(&[
                (MADE - 60, file(one(json!({})), &[])),
                (MADE + 60, marked.clone()),
            ]),
        ),
        (
            "the same, and another key is asked for later",
            back(NOW + 9),
        ),
        (
            "the same, and this key was made in the second of reissue_after",
            back(MADE),
        ),
        (
            "a server that does not say when peers enrolled",
            Case::new(
                file(one(json!({})), &[]),
                live(
                    json!([over(peer("gw"), json!({ "created_at": null }))]),
                    json!([]),
                ),
            ),
        ),
        (
            "a key for many as a member",
            Case::new(
                file(
                    json!({ "type": "reusable", "expires_in": 0, "usage_limit": 0 }),
                    &["gw"],
                ),
                json!({ "groups": [group("g", &[])] }),
            ),
        ),
        (
            "keys that wait and one that is used, whose names others have as labels",
            {
                let names = ["wait", "gw"];
                let keys = json!({ "gw": one(json!({})), "done": one(json!({ "enrolled": true })), "wait": one(json!({})) });
                let labels = [
                    ("a", "wait.netbird.cloud"),
                    ("b", "gw.netbird.cloud"),
                    ("c", "done.netbird.cloud"),
                ];
                let others =
                    labels.map(|(name, label)| over(peer(name), json!({ "dns_label": label })));
                let mut live = live(json!(others), json!([enrolled("gw", "a")]));
                live["setup_keys"] = json!([used(), key(names[0], &[])]);
                Case::new(json!({ "setup_keys": keys }), live)
            },
        ),
        (
            "a member whose key one of two used",
            Case::new(
                file(one(json!({ "enrolled": true })), &["gw"]),
                live(json!([peer("x"), peer("y")]), json!([])),
            ),
        ),
        (
            "a member of which two more have the name",
            Case::new(
                file(one(json!({ "enrolled": true })), &["gw"]),
                live(
                    json!([
                        peer("gw"),
                        over(again("a"), json!({ "connected": true })),
                        seen
                    ]),
                    json!([enrolled("gw", "gw")]),
                ),
            ),
        ),
        (
            "a member of a name that two have",
            Case::new(
                file(one(json!({ "enrolled": true })), &["x"]),
                live(
                    json!([
                        peer("x"),
                        over(peer("x"), json!({ "id": id(Kind::Peer, "a") }))
                    ]),
                    json!([]),
                ),
            )
            .history(&[(MADE + 60, file(one(json!({ "enrolled": true })), &["x"]))]),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
another peer has the key's name
    note: setup key "gw" was used by the peer "host", but the peer daojn05h52b8h06og03g has the name "gw": rename that peer in NetBird, or delete it if its machine does not exist any more; nothing is done
enrolled was taken back
    note: setup key "gw" was marked enrolled before, and now it is not. This has no effect, because the peer "gw" (daojn05h52b8h06og03g) enrolled with this key. To enroll another machine, set reissue_after to the time of this change (such as 2026-12-01T12:00:00Z). If you do not want that, set "enrolled": true again.
the same, and another key is asked for later
    note: setup key "gw" has a reissue_after in the future (2026-10-21T14:13:29Z): no new key is created before that time
the same, and this key was made in the second of reissue_after
    note: setup key "gw" was marked enrolled before, and now it is not. This has no effect, because the peer "gw" (daojn05h52b8h06og03g) enrolled with this key. To enroll another machine, set reissue_after, which is older than this key, to the time of this change (such as 2026-12-01T12:00:00Z). If you do not want that, set "enrolled": true again.
a server that does not say when peers enrolled
    note: setup key "gw" was used, but it is not known which peer enrolled with it: this NetBird does not report when peers enrolled (0.55 and later do), and its event log has no entry for the key; nothing is done
a key for many as a member
    create setup key gw
    note: group "g" lists "gw", but this is a reusable setup key, so it means no single peer. Its machines join the groups in its "auto_groups".
keys that wait and one that is used, whose names others have as labels
    rename peer gw: enrolled with this key; the label is predicted
        name "a" → "gw"
        dns_label "wait" → "gw-14-7"
    note: setup key "wait" gives its machine the DNS label "wait", but the peer "a" has this label: the new peer gets it with a suffix from its IP
a member whose key one of two used
    note: group "g" lists the setup key "gw", but it is not known which of several peers (y, x) used it, so no peer is added. Write the name of the right peer instead.
a member of which two more have the name
    update group g
        peers [] → ["gw (daojn05h52b8h06og03g)"]
    note: group "g" lists "gw", which means the peer daojn05h52b8h06og03g. The peers daojn06d1l189ei3hfs0 (connected) and daojn06d1l2o9ei3i48g (last seen 2026-09-21T14:14:20Z) have this name too, but are not added. If one of them is the right machine, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key. If not, rename them.
a member of a name that two have
    adopts group g as Adopted
    adopts setup key gw as Adopted
    note: group "g" lists "x", which means no machine yet, because any machine can choose its own name. The peers daojn06d1l189ei3hfs0 and daojn06d1l5o9ei3jd1g have this name now. If one of them is the right machine, run apply --adopt peers/x=ID (in a job: the input adopt of the apply workflow)

"#]].raw());
}

#[test]
fn what_is_odd_about_objects_is_told() {
    let file = json!({ "groups": { "g": {} }, "policies": { "p": { "sources": ["g"], "destinations": ["g"] } } });
    let second = over(
        group("g", &[]),
        json!({ "id": id_at(Kind::Group, "g", MADE + 1) }),
    );
    let groups = json!({ "groups": { "g": {} } });
    let plain = json!({ "groups": { "g": {} }, "policies": { "p": { "sources": ["g"], "destinations": ["g"], "protocol": "all" } } });
    let ssh = json!({ "protocol": "netbird-ssh", "authorized_groups": { id(Kind::Group, "g"): ["root"] } });
    let without = over(file.clone(), json!({ "routes": {} }));
    let posture = |systems: Value, geo: bool| {
        let mut check = json!({ "os_version": systems });
        if geo {
            check["geo"] = json!({ "action": "allow", "locations": [{ "country": "DE" }] });
        }
        let live = json!({ "id": "c", "name": "c", "checks": { "os_version_check": { "linux": { "min_kernel_version": "6.1" } } } });
        Case::new(
            json!({ "posture_checks": { "c": check } }),
            json!({ "posture_checks": [live] }),
        )
    };
    let rows = [
        (
            "a new name that looks like a live one",
            Case::new(json!({ "groups": { "Bu\u{308}ro": {} } }), json!({ "groups": [group("B\u{fc}ro", &[])] })),
        ),
        (
            "a second group that somebody's account refers to",
            Case::new(groups.clone(), json!({ "groups": [group("g", &[]), second.clone()], "users": [{ "id": "u", "name": "Mira", "auto_groups": [second["id"]] }] }))
                .history(&[(MADE - 60, groups)]),
        ),
        (
            "a policy that is of NetBird's SSH no more",
            Case::new(plain, json!({ "groups": [group("g", &[])], "policies": [policy_with("p", &["g"], &["g"], ssh)] })),
        ),
        ("a posture check that asks for more", posture(json!({ "linux": "6.2" }), true)),
        ("one that asks for less", posture(json!({ "linux": "6.0" }), false)),
        (
            "a section that goes, and of which nothing lives",
            Case::new(file.clone(), json!({ "groups": [group("g", &[])], "policies": [policy("p", &["g"], &["g"])] }))
                .history(&[(MADE - 60, without)]),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
a new name that looks like a live one
    create group Büro
    unmanaged: group Büro
    note: group "Bu\u{308}ro" is created although "Büro" exists in NetBird: the names look the same, but their characters differ
a second group that somebody's account refers to
    held: group g (daojn0b076ei75c05t8g): not deleted, because it is still used by user Mira
a policy that is of NetBird's SSH no more
    update policy p
        protocol "netbird-ssh" → "all"
    note: policy "p" no longer has the protocol netbird-ssh: nobody can log in by SSH through it any more, and NetBird forgets who could (users of group "g" as "root"). If it gets netbird-ssh again, it lets in every user of the account, as any local user, until "authorized_groups" names users.
a posture check that asks for more
    update posture check c
        geo {} → {"action":"allow","locations":[{"country":"DE"}]}
        os_version {"linux":"6.1"} → {"linux":"6.2"}
    note: posture check "c" now fails for a machine whose location is not known, as in a local network
one that asks for less
    update posture check c
        os_version {"linux":"6.1"} → {"linux":"6.0"}
a section that goes, and of which nothing lives
    note: section "routes" is removed from the file by this change, so nothing in it is managed any more. None of its objects exists in NetBird.

"#]].raw());
}
