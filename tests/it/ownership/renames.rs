//! Names that change: in the file with `renamed_from`, in NetBird, or in both. The object keeps its id and its references.

use serde_json::{Value, json};

use super::{base, by_hand, kind, kinds, operation, with};
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
        // stale, it is no harm
        bench.leaves_all(&[]).shows("No changes");
        bench.applied(10.0, with(base(), section, "new", entry));
        // made under its old name, it is ours under the new one
        bench.declared(20.0, base());
        assert_eq!(bench.planned(&[]), [operation("delete", section, "new")]);
    }
}

/// The kinds whose objects have a name that can change, and how somebody changes it in NetBird.
fn renamed_by_hand() -> impl Iterator<Item = (&'static str, &'static str, Value, &'static str)> {
    let kinds = kinds()
        .into_iter()
        .filter(|(section, ..)| *section != "setup_keys");
    kinds.map(|(section, path, entry)| {
        let field = if section == "routes" {
            "network_id"
        } else {
            "name"
        };
        (section, path, entry, field)
    })
}

/// Point 4 of issue 19.
#[test]
fn what_somebody_renamed_in_netbird_is_renamed_back() {
    for (section, path, entry, field) in renamed_by_hand() {
        let bench = Bench::in_git();
        bench.applied(1.0, with(base(), section, "x", entry));
        let id = bench.id(path, "x");
        bench.edit(path, "x", json!({ field: "aircrew" }));
        assert_eq!(bench.planned(&[]), [operation("update", section, "x")]);
        bench
            .plan(&["--detailed-exitcode"])
            .expect(2)
            .shows(
                "somebody renamed it to \"aircrew\" in NetBird; this plan renames it back to \"x\"",
            )
            .shows("To keep the new name, write \"aircrew\" in the file.");
        bench.apply(&[]).expect(0).shows("1 changed");
        assert_eq!(bench.id(path, "x"), id);
        assert_eq!(bench.all(path, "aircrew"), Vec::<Value>::new());
        bench.leaves_all(&[]).shows("No changes");
    }
}

/// Point 4 of issue 19.
#[test]
fn what_somebody_renamed_in_netbird_is_let_go_and_said_when_its_entry_leaves() {
    for (section, path, entry, field) in renamed_by_hand() {
        let bench = Bench::in_git();
        bench.applied(1.0, with(base(), section, "x", entry));
        let id = bench.id(path, "x");
        bench.edit(path, "x", json!({ field: "aircrew" }));
        bench.declared(2.0, base());
        assert_eq!(bench.let_go(), [format!("{} x: renamed", kind(section))]);
        let line = bench.line("line_with_let_go", &[]);
        bench
            .leaves_all(&[])
            .shows("stays in NetBird: somebody renamed it to \"aircrew\". After this change nobody manages it.")
            .shows(&line);
        assert_eq!(bench.id(path, "aircrew"), id);
        bench
            .apply(&["--allow-deletes", "1"])
            .expect(0)
            .shows("1 deleted");
        assert_eq!(bench.all(path, "aircrew"), Vec::<Value>::new());
    }
}

#[test]
fn the_file_can_follow_what_somebody_renamed_in_netbird() {
    for (section, path, entry, field) in renamed_by_hand() {
        let bench = Bench::in_git();
        bench.applied(1.0, with(base(), section, "x", entry.clone()));
        let id = bench.id(path, "x");
        bench.edit(path, "x", json!({ field: "aircrew" }));
        bench.declared(2.0, with(base(), section, "aircrew", entry));
        bench.leaves_all(&[]).shows("No changes");
        bench.leaves_all(&[]).shows("No changes");
        assert_eq!(bench.id(path, "aircrew"), id);
        // it is still ours
        bench.declared(3.0, base());
        assert_eq!(
            bench.planned(&[]),
            [operation("delete", section, "aircrew")]
        );
    }
}

/// Point 4 of issue 19.
#[test]
fn a_group_that_somebody_renamed_keeps_its_members_and_references() {
    let bench = Bench::in_git();
    let file = json!({ "groups": { "pilots": { "peers": ["a"] } },
        "policies": { "p": { "sources": ["pilots"], "destinations": ["pilots"] } } });
    bench.applied(0.0, base());
    bench.peer("a");
    bench.applied(1.0, file);
    let before = bench.one("/groups", "pilots");
    assert_eq!(before["peers_count"], 1);
    bench.edit("/groups", "pilots", json!({ "name": "aircrew" }));
    assert_eq!(bench.planned(&[]), ["update_group pilots"]);
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["PUT /groups"]);
    let after = bench.one("/groups", "pilots");
    assert_eq!(
        (&after["id"], &after["peers"]),
        (&before["id"], &before["peers"])
    );
}

#[test]
fn a_group_whose_name_somebody_gave_to_another_keeps_the_one_it_has() {
    let bench = Bench::in_git();
    let file = json!({ "groups": { "pilots": {} },
        "policies": { "p": { "sources": ["pilots"], "destinations": ["pilots"] } } });
    bench.applied(1.0, file);
    bench.edit("/groups", "pilots", json!({ "name": "aircrew" }));
    let other = bench.group("pilots");
    bench
        .leaves_all(&[])
        .shows("still has the name \"aircrew\" in NetBird, because another group")
        .shows(&other);
    bench.delete("/groups", "pilots");
    assert_eq!(bench.planned(&[]), ["update_group pilots"]);
}

/// The new name is recorded, so the old one is not read any more.
#[test]
fn a_rename_to_a_name_that_another_entry_gives_up_is_two_merges() {
    let bench = Bench::in_git();
    let policy = kinds_entry("policies");
    let both = with(base(), "policies", "old", policy.clone());
    bench.applied(1.0, with(both, "policies", "new", policy.clone()));
    let ids = ["old", "new"].map(|name| bench.id("/policies", name));
    let renamed = with(base(), "policies", "new", renamed(policy.clone(), "old"));
    bench.declared(9.0, renamed.clone());
    bench.apply(&[]).expect(1).says_anywhere("merge it in two");
    assert_eq!(ids, ["old", "new"].map(|name| bench.id("/policies", name)));
    bench.declared(10.0, with(base(), "policies", "old", policy));
    bench.apply(&[]).expect(0);
    bench.declared(11.0, renamed);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/policies", "new"), ids[0]);
}

fn kinds_entry(section: &str) -> Value {
    let mut kinds = kinds().into_iter();
    kinds.find(|kind| kind.0 == section).expect("a kind").2
}

#[test]
fn what_somebody_made_is_adopted_under_its_old_name_and_renamed() {
    for (section, path, entry, _) in renamed_by_hand() {
        let bench = Bench::in_git();
        bench.applied(1.0, base());
        let theirs = by_hand(&bench, section, "theirs");
        bench.declared(9.0, with(base(), section, "new", renamed(entry, "theirs")));
        let wanted = [
            operation("adopt", section, "new"),
            operation("update", section, "new"),
        ];
        assert_eq!(bench.planned(&[]), wanted);
        bench.apply(&[]).expect(0);
        bench.leaves_all(&[]).shows("No changes");
        bench.declared(10.0, base());
        bench
            .leaves_all(&[])
            .shows("it existed before this file managed it");
        assert_eq!(bench.id(path, "new"), theirs);
    }
}

#[test]
fn an_identity_providers_group_is_not_renamed() {
    let bench = Bench::in_git();
    bench.netbird().issue_group("staff", "jwt");
    bench.applied(1.0, with(base(), "groups", "staff", json!({})));
    bench.declared(
        2.0,
        with(base(), "groups", "people", renamed(json!({}), "staff")),
    );
    assert_eq!(bench.planned(&[]), ["create_group people"]);
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
    bench.applied(0.0, base());
    bench.peer("a");
    bench.applied(1.0, everything("old", json!({ "peers": ["a"] })));
    let group = bench.one("/groups", "old");
    assert_eq!(group["peers_count"], 1);
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
