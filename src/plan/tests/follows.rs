//! What follows from the changes of a plan: what becomes of machines, and by which change of the file something goes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::model::{Cause, Kind, LeftBy};
use crate::testing::{
    Case, LIFE, MADE, desired, enrolled, group, groups, id, id_at, key, key_at, named, over, peer,
    policy, route, table, time, used_at, value,
};

/// Three machines, the first two with an IPv6 address, in an account with these settings.
fn machines(settings: Value) -> Value {
    let machine = |name: &str, domain: &str, ipv6: &str| {
        let label = format!("{name}.{domain}");
        over(peer(name), json!({ "dns_label": label, "ipv6": ipv6 }))
    };
    let peers = [
        machine("a", "old.example", "fd00::a"),
        machine("b", "old.example", "fd00::b"),
        machine("c", "new.example", ""),
    ];
    json!({ "groups": [group("g", &["a", "c"]), group("h", &["b"])], "peers": peers,
            "accounts": [{ "id": "account", "settings": settings }] })
}

/// A person's account, and the settings that the file has for it.
fn user(live: Value, declared: Value) -> Case {
    let mira = json!({ "id": "u", "email": "mira@example.org", "name": "Mira", "role": "user", "status": "active",
                       "is_blocked": false, "auto_groups": [], "is_service_user": false });
    let mut case = Case::new(
        json!({ "users": { "mira@example.org": declared } }),
        json!({ "users": [over(mira, live)] }),
    );
    case.snapshot.rest.has_people = true;
    case
}

/// What a setting does to machines, and a person's account to what the person may do, is said with the change.
#[test]
fn whom_a_setting_moves() {
    let settings = |live: Value, declared: Value, groups: Value| {
        let file = json!({ "account": { "settings": declared }, "groups": groups });
        Case::new(file, machines(live))
    };
    let set = |live: Value, declared: Value| settings(live, declared, json!({ "g": {}, "h": {} }));
    let v6 = |names: &[&str]| json!({ "ipv6_enabled_groups": groups(names) });
    let rows = [
        (
            "another domain",
            set(
                json!({ "dns_domain": "old.example" }),
                json!({ "dns_domain": "new.example" }),
            ),
        ),
        (
            "another IPv4 range",
            set(
                json!({ "network_range": "10.1.0.0/16" }),
                json!({ "network_range": "10.2.0.0/16" }),
            ),
        ),
        (
            "another IPv6 range",
            set(
                json!({ "network_range_v6": "fd00::/64" }),
                json!({ "network_range_v6": "fd01::/64" }),
            ),
        ),
        (
            "IPv6 for another group, too",
            set(v6(&["h"]), json!({ "ipv6_enabled_groups": ["g", "h"] })),
        ),
        (
            "IPv6 for another group instead",
            set(v6(&["h"]), json!({ "ipv6_enabled_groups": ["g"] })),
        ),
        (
            "IPv6 for a group that is new, and takes the member of another one",
            settings(
                v6(&["h"]),
                json!({ "ipv6_enabled_groups": ["h", "new"] }),
                json!({ "g": {}, "h": {}, "new": { "peers": ["c"] } }),
            ),
        ),
        (
            "a setting that moves nobody",
            set(
                json!({ "lazy_connection_enabled": false }),
                json!({ "lazy_connection_enabled": true }),
            ),
        ),
        ("a role", user(json!({}), json!({ "role": "admin" }))),
        (
            "a user who is let in again",
            user(
                json!({ "is_blocked": true, "status": "blocked" }),
                json!({ "blocked": false }),
            ),
        ),
        (
            "a user who is locked out",
            user(json!({}), json!({ "blocked": true })),
        ),
    ];
    let moved = |case: Case| -> String {
        let plan = case.possible();
        let moved = plan.changes.iter().flat_map(|change| &change.moved);
        moved
            .map(|of| {
                format!(
                    "{} {}: {:?} of {}\n",
                    of.field, of.value, of.what, of.machines
                )
            })
            .collect()
    };
    let rows = rows.map(|(what, case)| (what, moved(case)));
    assert_data_eq!(
        table(rows),
        str![[r#"
another domain
    dns_domain "new.example": Names of 2
another IPv4 range
    network_range "10.2.0.0/16": Addresses of 3
another IPv6 range
    network_range_v6 "fd01::/64": AddressesV6 of 2
IPv6 for another group, too
    ipv6_enabled_groups ["g","h"]: HavingV6 of 1
IPv6 for another group instead
    ipv6_enabled_groups ["g"]: HavingV6 of 2
IPv6 for a group that is new, and takes the member of another one
    ipv6_enabled_groups ["h","new"]: HavingV6 of 2
a setting that moves nobody
a role
    role "admin": Role of 1
a user who is let in again
    blocked false: Unblocked of 1
a user who is locked out

"#]]
        .raw()
    );
}

/// A user's machines follow the user, where the account's settings say so.
#[test]
fn what_follows_from_a_user() {
    let laptop = |name: &str, user: &str| over(peer(name), json!({ "user_id": user }));
    let listed = |declared: Value, settings: Value, lists: &str| {
        let mut case = user(
            json!({ "auto_groups": groups(&["g", "h"]) }),
            declared.clone(),
        );
        let file = json!({ "users": { "mira@example.org": declared }, "groups": { "g": { "peers": [lists] }, "h": {} } });
        case.desired = desired(&file);
        for machine in [laptop("mine", "u"), laptop("other", "u2")] {
            case.snapshot.list_mut(Kind::Peer).push(machine.into());
        }
        for name in ["g", "h"] {
            case.snapshot
                .list_mut(Kind::Group)
                .push(group(name, &[lists]).into());
        }
        let account = json!({ "id": "account", "settings": settings });
        case.snapshot
            .list_mut(Kind::AccountSettings)
            .push(account.into());
        case.outcome()
    };
    let all = || json!({ "auto_groups": groups(&["All"]) });
    let rows = [
        (
            "a group that lists a machine of the user",
            listed(json!({ "auto_groups": ["h"] }), json!({}), "mine"),
        ),
        (
            "the same, and machines do not follow",
            listed(
                json!({ "auto_groups": ["h"] }),
                json!({ "groups_propagation_enabled": false }),
                "mine",
            ),
        ),
        (
            "a group that lists another one's machine",
            listed(json!({ "auto_groups": ["h"] }), json!({}), "other"),
        ),
        (
            "the group that lists it stays",
            listed(json!({ "auto_groups": ["g"] }), json!({}), "mine"),
        ),
        (
            "a user who is locked out",
            listed(json!({ "blocked": true }), json!({}), "mine"),
        ),
        (
            "a user who is let in again",
            user(
                json!({ "is_blocked": true, "status": "blocked" }),
                json!({ "blocked": false }),
            )
            .outcome(),
        ),
        ("one of two users of the address", {
            let mut case = user(json!({}), json!({ "role": "admin" }));
            let twin = value(&case.snapshot.list(Kind::User)[0]);
            let twin = over(twin, json!({ "id": "u2" }));
            case.snapshot.list_mut(Kind::User).push(twin.into());
            case.outcome()
        }),
        (
            "a user in a group that NetBird does not take back",
            user(all(), json!({ "role": "admin" })).outcome(),
        ),
        (
            "the same, and nothing differs",
            user(all(), json!({ "role": "user" })).outcome(),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
a group that lists a machine of the user
    impossible: user mira@example.org loses the group "g", so NetBird removes the user's machine "mine" from it, but the file lists this machine in it | remove "mine" from "peers" of the group, or keep the group in "auto_groups" of the user
the same, and machines do not follow
    update user mira@example.org
        auto_groups ["g","h"] → ["h"]
a group that lists another one's machine
    update user mira@example.org
        auto_groups ["g","h"] → ["h"]
the group that lists it stays
    update user mira@example.org
        auto_groups ["g","h"] → ["g"]
a user who is locked out
    update user mira@example.org
        blocked false → true
    note: user "mira@example.org" is blocked by this change, with 1 machine, until somebody unblocks the user and the user logs in again
a user who is let in again
    update user mira@example.org
        blocked true → false
one of two users of the address
    impossible: user mira@example.org can mean several users: those of the identity providers  | set "identity_provider" to the right one
a user in a group that NetBird does not take back
    note: user "mira@example.org" is skipped: the user's groups in NetBird contain All, which NetBird refuses when they are sent back. Set "auto_groups" to the groups that the user has.
the same, and nothing differs
    nothing

"#]].raw());
}

/// What the file says of a machine goes with the name that it gets, in one request; of one that goes nothing is set.
#[test]
fn what_the_file_says_of_machines() {
    let key_of = |more: Value| over(json!({ "type": "one-off", "expires_in": LIFE }), more);
    let live = |fields: Value| {
        json!({ "peers": [over(peer("host"), fields), peer("other")],
                "setup_keys": [over(key("k", &[]), used_at(MADE))], "events": [enrolled("k", "host")] })
    };
    let file = |key: Value, peers: Value| json!({ "setup_keys": { "k": key }, "peers": peers });
    let ssh = || json!({ "ssh_enabled": false });
    let expires = || json!({ "login_expiration_enabled": true });
    let done = || key_of(json!({ "enrolled": true }));
    let rows = [
        (
            "one that gets the name of its key",
            Case::new(
                file(key_of(json!({})), json!({ "k": ssh() })),
                live(json!({})),
            ),
        ),
        (
            "one that has a name of its own, beside one that gets a name",
            Case::new(
                file(key_of(json!({})), json!({ "other": ssh() })),
                live(json!({})),
            ),
        ),
        (
            "two entries of one machine",
            Case::new(
                file(done(), json!({ "k": ssh(), "host": ssh() })),
                live(json!({})),
            ),
        ),
        (
            "a machine of a key is to expire",
            Case::new(file(done(), json!({ "host": expires() })), live(json!({}))),
        ),
        (
            "a machine of a person is to expire",
            Case::new(
                file(done(), json!({ "other": expires() })),
                json!({ "peers": [over(peer("other"), json!({ "user_id": "mira" }))] }),
            ),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
one that gets the name of its key
    rename peer k: enrolled with this key
        name "host" → "k"
        dns_label "host" → "k"
        ssh_enabled true → false
    note: peer "k" names "k", which means the peer "host" (daojn001d7im4h5d06hg)
one that has a name of its own, beside one that gets a name
    rename peer k: enrolled with this key
        name "host" → "k"
        dns_label "host" → "k"
    update peer other
        ssh_enabled true → false
two entries of one machine
    impossible: peer host means the same machine as "k" | keep one of the entries
a machine of a key is to expire
    impossible: peer host cannot have another login_expiration_enabled: it enrolled with a setup key, and only machines of people log in again | leave the field out
a machine of a person is to expire
    update peer other
        login_expiration_enabled false → true

"#]].raw());
}

/// What goes names the change of the file that took it out: a person agrees to that change.
#[test]
fn by_which_change_of_the_file_something_goes() {
    let p = json!({ "sources": ["g"], "destinations": ["g"] });
    let done = json!({ "type": "one-off", "expires_in": LIFE, "enrolled": true });
    let file = |keys: &[&str], policies: Value, lists: &[&str], range: &str| {
        let keys: BTreeMap<&str, &Value> = keys.iter().map(|key| (*key, &done)).collect();
        json!({ "groups": { "g": { "peers": lists } }, "setup_keys": keys, "policies": policies,
                "account": { "settings": { "network_range": range } } })
    };
    let mut versions = [
        file(
            &["k", "l"],
            json!({ "p": p, "q": p }),
            &["k", "l", "cam"],
            "10.1.0.0/16",
        ),
        file(&["k", "l"], json!({}), &["k", "l", "cam"], "10.1.0.0/16"),
        file(&["k", "l"], json!({}), &["k", "l"], "10.1.0.0/16"),
        file(&["l"], json!({}), &["k"], "10.1.0.0/16"),
        file(&["l"], json!({}), &[], "10.1.0.0/16"),
        file(&[], json!({}), &[], "10.2.0.0/16"),
    ];
    // the second commit asks for a new one, and a later one changes how long it lives
    for (at, version) in versions.iter_mut().enumerate() {
        let life = if at < 5 { LIFE } else { 2 * LIFE };
        let mut lost = json!({ "type": "one-off", "expires_in": life });
        if at > 1 {
            lost["reissue_after"] = json!(time(MADE + 300));
        }
        version["setup_keys"]["lost"] = lost;
    }
    let came = over(enrolled("l", "host"), json!({ "id": "2" }));
    let used = |name: &str| over(key(name, &[]), used_at(MADE));
    let live = json!({
        "groups": [group("g", &["k", "host", "x"])], "peers": [peer("k"), peer("host"), peer("x")],
        "policies": [policy("p", &["g"], &["g"]), policy("q", &["g"], &["g"])], "setup_keys": [used("k"), used("l"), key("lost", &[]), key_at("lost", &[], MADE + 600)],
        "accounts": [{ "id": "account", "settings": { "network_range": "10.1.0.0/16" } }], "events": [enrolled("k", "k"), came],
    });
    let ids = |kind: Kind, name: &str| json!([id(kind, name)]);
    let inventory = json!({
        "created": { "groups/g": ids(Kind::Group, "g"), "policies/p": ids(Kind::Policy, "p"),
                     "setup_keys/k": ids(Kind::SetupKey, "k"), "setup_keys/l": ids(Kind::SetupKey, "l"),
                     "setup_keys/lost": [id(Kind::SetupKey, "lost"), id_at(Kind::SetupKey, "lost", MADE + 600)] },
        "adopted": { "policies/q": ids(Kind::Policy, "q") },
        "enrolled": { "k": ids(Kind::Peer, "k"), "l": ids(Kind::Peer, "host") },
        "members": { "g": { "k": id(Kind::Peer, "k"), "cam": id(Kind::Peer, "x") } },
        "names": { "cam": id(Kind::Peer, "x") },
    });
    let case = Case::new(versions[5].clone(), live)
        .inventory(inventory)
        .since(&versions);
    let plan = case.possible();
    let cause = |row| format!("{}: {:?}\n", plan.row_text(row), plan.causes.get(row));
    let causes: String = plan.rows().iter().map(cause).collect();
    let [let_go] = &plan.let_go[..] else {
        panic!("{:?}", plan.let_go);
    };
    assert_eq!(let_go.left_by, LeftBy::Change(Cause::Commit(0)));
    let peers = [(Kind::Peer, "k"), (Kind::Peer, "host")];
    assert_data_eq!(
        named(&causes, &peers),
        str![[r#"
groups/g member host: Some(Commit(2))
groups/g member k: Some(Commit(3))
groups/g member cam: Some(Commit(1))
setup_keys/k: Some(Commit(2))
setup_keys/l: Some(Commit(4))
setup_keys/lost: Some(Commit(1))
peers/<peer host>: Some(Commit(4))
peers/<peer k>: Some(Commit(3))
policies/p: Some(Commit(0))
account_settings network_range="10.2.0.0/16": Some(Commit(4))

"#]]
        .raw()
    );
}

/// Whoever reads a plan sees names, and no ids, of all machines that are in what it changes.
#[test]
fn machines_of_what_changes_have_names() {
    let file = json!({
        "groups": { "g": { "peers": ["a", "b"] } },
        "routes": { "r": { "network": "10.1.0.0/16", "peer": "c", "groups": ["All"], "metric": 5 } },
    });
    let through = json!({ "peer": id(Kind::Peer, "c"), "peer_groups": null });
    let live = json!({
        "groups": [group("g", &["b"]), group("old", &["d"])], "peers": [peer("a"), peer("b"), peer("c"), peer("d")],
        "routes": [over(route("r", "10.1.0.0/16", &[]), through)],
    });
    let inventory = json!({
        "created": { "groups/g": [id(Kind::Group, "g")], "groups/old": [id(Kind::Group, "old")], "routes/r": [id(Kind::Route, "r")] },
        "members": { "g": { "b": id(Kind::Peer, "b") } },
        "names": { "a": id(Kind::Peer, "a"), "c": id(Kind::Peer, "c") },
    });
    let plan = Case::new(file, live).inventory(inventory).possible();
    let labels: Vec<&String> = plan.peer_labels.values().collect();
    assert_eq!(labels.len(), 4, "{labels:?}");
}
