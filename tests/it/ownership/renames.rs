//! `renamed_from`: the object keeps its id and its references, and nothing else is renamed.

use serde_json::{Value, json};

use super::{base, by_hand, kinds, operation, with};
use crate::run::Bench;

fn renamed(mut entry: Value, old: &str) -> Value {
    entry["renamed_from"] = json!(old);
    entry
}

#[test]
fn every_kind_keeps_its_id() {
    for (section, path, entry) in kinds() {
        if section == "setup_keys" {
            continue;
        }
        let bench = Bench::in_git();
        bench.applied(1.0, with(base(), section, "old", entry.clone()));
        let id = bench.id(path, "old");
        let new = renamed(entry.clone(), "old");
        bench.declared(9.0, with(base(), section, "new", new.clone()));
        assert_eq!(bench.planned(&[]), [operation("update", section, "new")]);
        bench.server().clear_requests();
        bench.apply(&[]).expect(0);
        bench.assert_writes(&[&format!("PUT {path}")]);
        assert_eq!(bench.id(path, "new"), id);
        // stale: said, and no harm
        bench
            .leaves_all(&[])
            .says_anywhere("is renamed already: renamed_from \"old\" can be taken out");
        bench.applied(10.0, with(base(), section, "new", entry));
        // the ledger follows: made under its old name, it is ours under the new one
        bench.declared(20.0, base());
        assert_eq!(bench.planned(&[]), [operation("delete", section, "new")]);
    }
}

#[test]
fn both_names_live_is_an_error() {
    for (section, _, entry) in kinds() {
        if section == "setup_keys" {
            continue;
        }
        let bench = Bench::in_git();
        bench.applied(1.0, with(base(), section, "old", entry.clone()));
        let free = json!({ "network": "10.2.0.0/16", "peer_groups": ["g"], "groups": ["g"] });
        let entry = if section == "routes" { free } else { entry };
        bench.applied(
            2.0,
            with(
                with(base(), section, "old", kinds_entry(section)),
                section,
                "new",
                entry.clone(),
            ),
        );
        bench.declared(9.0, with(base(), section, "new", renamed(entry, "old")));
        bench
            .cannot(&[])
            .says("is to be renamed from \"old\", but both names are in NetBird");
    }
}

fn kinds_entry(section: &str) -> Value {
    let mut kinds = kinds().into_iter();
    kinds.find(|kind| kind.0 == section).expect("a kind").2
}

#[test]
fn a_name_that_the_file_never_declared_is_not_renamed() {
    for (section, path, entry) in kinds() {
        if section == "setup_keys" {
            continue;
        }
        let bench = Bench::in_git();
        bench.applied(1.0, base());
        let theirs = by_hand(&bench, section, "theirs");
        bench.declared(9.0, with(base(), section, "new", renamed(entry, "theirs")));
        bench.cannot(&[]).says("which this file never declared");
        assert_eq!(bench.id(path, "theirs"), theirs);
    }
}

#[test]
fn an_identity_providers_group_is_not_renamed() {
    let bench = Bench::in_git();
    bench.netbird().issue_group("staff", "jwt");
    bench.declared(1.0, with(base(), "groups", "staff", json!({})));
    bench.declared(
        2.0,
        with(base(), "groups", "people", renamed(json!({}), "staff")),
    );
    bench
        .cannot(&[])
        .says("which is not made by the API: it is never changed here");
}

#[test]
fn all_is_not_renamed_and_nothing_is_renamed_to_it() {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "groups", "old", json!({})));
    for (new, old) in [("new", "All"), ("All", "old")] {
        bench.declared(2.0, with(base(), "groups", new, renamed(json!({}), old)));
        bench.cannot(&[]).says("All");
    }
}

#[test]
fn a_setup_key_is_never_renamed() {
    let bench = Bench::in_git();
    let key = kinds_entry("setup_keys");
    bench.applied(1.0, with(base(), "setup_keys", "old", key.clone()));
    bench.declared(2.0, with(base(), "setup_keys", "new", renamed(key, "old")));
    bench.cannot(&[]).says("renamed_from");
}

#[test]
fn the_references_to_a_renamed_group_follow() {
    let everything = |name: &str, group: Value| {
        json!({
            "groups": { "g": {}, name: group },
            "setup_keys": { "k": { "type": "reusable", "expires_in": 0, "auto_groups": [name] } },
            "policies": { "p": { "sources": [name], "destinations": ["g"] } },
            "routes": { "r": { "network": "10.1.0.0/16", "peer_groups": [name], "groups": [name] } },
            "dns": { "nameserver_groups": { "n": { "nameservers": [{ "ip": "10.0.0.53" }], "groups": [name],
                                                   "domains": ["x.example"] } } }
        })
    };
    let bench = Bench::in_git();
    bench.peer("a");
    bench.applied(1.0, everything("old", json!({ "peers": ["a"] })));
    let group = bench.one("/groups", "old");
    let new = json!({ "peers": ["a"], "renamed_from": "old" });
    bench.declared(9.0, everything("new", new));
    assert_eq!(bench.planned(&[]), ["update_group new"]);
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["PUT /groups"]);
    let after = bench.one("/groups", "new");
    assert_eq!(
        (&after["id"], &after["peers"]),
        (&group["id"], &group["peers"])
    );
    // a member that was listed under the old name is removed under the new one
    bench.declared(10.0, everything("new", json!({ "peers": [] })));
    bench.apply(&[]).expect(0);
    assert_eq!(bench.one("/groups", "new")["peers_count"], 0);
}

#[test]
fn a_rename_and_a_change_are_one_write() {
    let bench = Bench::in_git();
    let policy = |description: &str| json!({ "sources": ["g"], "destinations": ["g"], "description": description });
    bench.applied(1.0, with(base(), "policies", "old", policy("one")));
    let id = bench.id("/policies", "old");
    bench.declared(
        9.0,
        with(base(), "policies", "new", renamed(policy("two"), "old")),
    );
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["PUT /policies"]);
    let after = bench.one("/policies", "new");
    assert_eq!(after["id"], json!(id));
    assert_eq!(after["description"], "two");
}

#[test]
fn what_was_taken_over_is_still_older_under_its_new_name() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("old");
    bench.applied(3.0, with(base(), "groups", "old", json!({})));
    bench.applied(
        6.0,
        with(base(), "groups", "new", renamed(json!({}), "old")),
    );
    bench.declared(9.0, base());
    bench
        .leaves_all(&[])
        .says_anywhere("it was there before the file declared it");
}

#[test]
fn a_rename_that_is_not_committed_yet_is_planned_all_the_same() {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "groups", "old", json!({})));
    bench.file(with(base(), "groups", "new", renamed(json!({}), "old")));
    assert_eq!(bench.planned(&[]), ["update_group new"]);
}

#[test]
fn a_rename_that_somebody_took_back_meanwhile_is_no_success() {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "groups", "old", json!({})));
    let id = bench.id("/groups", "old");
    bench.declared(
        9.0,
        with(base(), "groups", "new", renamed(json!({}), "old")),
    );
    let path = format!("/groups/{id}");
    let back = path.clone();
    bench.netbird().after("PUT", &path, move |netbird| {
        netbird.call(
            "PUT",
            &back,
            json!({ "name": "old", "peers": [], "resources": [] }),
        );
    });
    bench
        .apply(&[])
        .expect(4)
        .says("applied, but not converged");
}

#[test]
fn without_renamed_from_it_is_another_object() {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "groups", "old", json!({})));
    bench.declared(9.0, with(base(), "groups", "new", json!({})));
    assert_eq!(bench.planned(&[]), ["create_group new", "delete_group old"]);
}

/// A colleague's router under the same id, or a policy of several rules, is not what the file renames.
#[test]
fn a_rename_means_the_namesake_that_a_file_can_say() {
    let bench = Bench::in_git();
    let route = kinds_entry("routes");
    bench.applied(1.0, with(base(), "routes", "lan", route.clone()));
    let (ours, peer) = (bench.id("/routes", "lan"), bench.peer("router-2"));
    let theirs = json!({ "network_id": "lan", "peer": peer, "network": "10.1.0.0/16", "groups": [bench.id("/groups", "g")],
        "metric": 100, "masquerade": true, "enabled": false, "description": "" });
    bench.create("/routes", theirs);
    bench.declared(9.0, with(base(), "routes", "office", renamed(route, "lan")));
    assert_eq!(bench.planned(&[]), ["update_route office"]);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/routes", "office"), ours);
    assert_eq!(bench.one("/routes", "lan")["peer"], json!(peer));
}
