//! What comes of an inventory that cannot be written, is deleted, or is garbled?

use fakes::{Effect, Fault, Gitea};
use serde_json::{Value, json};

use super::{BRANCH, assert_nothing_lost, many, stored};
use crate::run::{INVENTORY, Site};
use crate::secrets::one_key;

/// A Gitea and a Forgejo, which has other answers for the same refusal.
fn sites() -> [Site; 2] {
    [Site::fake(), Site::forgejo()]
}

/// A key, its group and a policy.
fn with_policy() -> Value {
    let mut file = one_key();
    file["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
    file
}

/// Deletes the branch, as somebody may whom no rule stops.
fn delete_branch(gitea: &Gitea) {
    let (status, answer) = gitea.call(
        "DELETE",
        &gitea.path(&format!("/branches/{BRANCH}")),
        Value::Null,
    );
    assert_eq!(status, 204, "{answer}");
}

#[test]
fn who_may_not_write_there_finds_out_before_the_first_write() {
    for site in sites() {
        site.commit(one_key());
        // the branch is still to be made: only the write tells
        for rule in [BRANCH, "**", "netbird-gitops/*"] {
            site.gitea().protect(rule, json!({}));
            let run = site.run(&["apply"]).expect(3);
            run.says("refused: this run cannot write the inventory")
                .says("Nothing was changed")
                .says("put only that user on its push allowlist");
            site.gitea().unprotect();
        }
        let token = site.gitea().add_user("reader", "read");
        let run = site.run_with(&["apply"], &[("GITEA_TOKEN", &token)]);
        run.expect(3).says("may not push to acme/network");
        site.bench.assert_writes(&[]);
    }
}

#[test]
fn what_makes_adopts_and_deletes_nothing_goes_on_with_a_warning() {
    let site = Site::fake();
    let mut file = with_policy();
    site.commit(file.clone());
    site.run(&["apply"]).expect(0);
    site.gitea().protect(BRANCH, json!({}));
    file["policies"]["p"]["description"] = json!("changed");
    site.commit(file.clone());
    let run = site.run(&["apply"]).expect(0);
    run.shows("this run cannot write the inventory");
    assert_eq!(site.bench.one("/policies", "p")["description"], "changed");
    // one that deletes is refused
    file["policies"] = json!({});
    site.commit(file);
    site.run(&["apply", "--max-deletes", "9"]).expect(3);
    site.bench.one("/policies", "p");
}

#[test]
fn a_refusal_later_takes_the_keys_back_and_ends_the_run() {
    for (keep_going, site) in [false, true].into_iter().zip(sites()) {
        let mut file = many(3);
        file["policies"] = with_policy()["policies"].clone();
        file["groups"]["theirs"] = json!({});
        site.commit(file);
        let gitea = site.gitea().clone();
        let netbird = site.bench.netbird();
        netbird.before("POST", "/groups", |netbird| {
            netbird.create("/groups", json!({ "name": "theirs" }));
        });
        netbird.after("POST", "/setup-keys", move |_| {
            gitea.protect(BRANCH, json!({}));
        });
        let args = ["apply", "--format", "json", "--keep-going"];
        let run = site.run(&args[..if keep_going { 4 } else { 3 }]).expect(4);
        let [group, theirs] = ["g", "theirs"].map(|name| site.bench.id("/groups", name));
        let run = run
            .says("cannot write the inventory")
            .says("the new key was deleted again")
            .says(&format!("groups/g {group}\n"))
            .says(&format!("groups/theirs {theirs}\n"));
        assert_eq!(run.json()["created_keys"], json!({}));
        assert!(
            run.operations()
                .contains(&"create_policy p skipped".to_owned())
        );
        assert_eq!(site.bench.names("/setup-keys"), Vec::<String>::new());
        assert_eq!(site.bench.sealed_files(), Vec::<String>::new());
        site.gitea().unprotect();
        site.run(&["apply"]).expect(0);
        assert_eq!(stored(&site).len(), 3);
        // what the list did not have is ours by the event log
        let inventory = site.inventory();
        assert_eq!(inventory["created"]["groups/g"], json!([group]));
        assert_eq!(inventory["adopted"]["groups/theirs"], json!([theirs]));
        // what to do is said where nothing else is to be written, too
        let mut file = many(4);
        file["policies"] = with_policy()["policies"].clone();
        site.commit(file);
        let gitea = site.gitea().clone();
        site.bench.netbird().after("POST", "/setup-keys", move |_| {
            gitea.protect(BRANCH, json!({}));
        });
        site.run(&["apply"])
            .expect(4)
            .says("put only that user on its push allowlist");
    }
}

#[test]
fn where_it_is_lost_the_next_apply_adopts_what_the_file_declares_and_deletes_nothing() {
    for log in [true, false] {
        let site = Site::fake();
        site.commit(with_policy());
        site.run(&["apply"]).expect(0);
        let ids = [("/groups", "g"), ("/setup-keys", "k"), ("/policies", "p")]
            .map(|(list, name)| site.bench.id(list, name));
        delete_branch(site.gitea());
        site.bench.netbird().event_log(log);
        let mut file = one_key();
        file["policies"] = json!({});
        site.commit(file);
        let plan = site.run(&["plan"]).expect(0);
        plan.shows("No changes, 2 to adopt")
            .shows("there is no inventory yet. The first apply creates it.");
        site.bench.server().clear_requests();
        site.run(&["apply"]).expect(0);
        site.bench.assert_writes(&[]);
        site.run(&["plan"]).expect(0).shows("No changes");
        let [group, key, policy] = ids;
        assert_eq!(site.bench.id("/policies", "p"), policy);
        let origin = if log { "created" } else { "adopted" };
        let wanted = json!({ "groups/g": [group], "setup_keys/k": [key] });
        assert_eq!(site.inventory()[origin], wanted);
    }
}

/// Somebody does it to the branch in the middle of a run.
fn spoilt(spoil: fn(&Gitea), says: &str) {
    for (method, path, at_gitea) in [
        ("POST", "/groups", false),
        ("POST", "/setup-keys", false),
        // the second commit has the key
        ("POST", "/contents", true),
        ("PUT", "/setup-keys/", false),
        ("POST", "/policies", false),
    ] {
        let site = Site::fake();
        site.commit(with_policy());
        let gitea = site.gitea().clone();
        match at_gitea {
            false => site
                .bench
                .netbird()
                .after(method, path, move |_| spoil(&gitea)),
            true => site
                .bench
                .netbird()
                .before("POST", "/setup-keys", move |_| {
                    let path = gitea.path(path);
                    gitea.after(method, &path, spoil);
                }),
        }
        let run = site.run(&["apply"]).expect(4).says(says);
        // the place is named once
        let named = |line: &str| line.matches("branch netbird-gitops/inventory").count();
        assert!(
            run.stderr.lines().all(|line| named(line) < 2),
            "{}",
            run.stderr
        );
        for key in site.bench.all("/setup-keys", "k") {
            // it was granted before
            let is_late = matches!((method, path), ("PUT", _) | (_, "/policies"));
            assert!(is_late, "{method} {path}: {}", run.stderr);
            assert_ne!(key["auto_groups"], json!([]));
        }
    }
}

#[test]
fn one_that_is_deleted_in_the_middle_ends_the_run() {
    spoilt(delete_branch, "the inventory is gone");
}

#[test]
fn one_that_is_garbled_in_the_middle_ends_the_run() {
    let garble = |gitea: &Gitea| {
        gitea.push(BRANCH, INVENTORY[1], "{", "garbled");
    };
    spoilt(garble, "cannot read the inventory");
}

#[test]
fn a_garbled_one_ends_plan_and_apply_with_where_its_last_good_text_is() {
    for site in sites() {
        site.commit(one_key());
        site.run(&["apply"]).expect(0);
        let text = site.gitea().file(BRANCH, INVENTORY[1]);
        let good = site.repo().tip(BRANCH);
        let put_back = format!(
            "put its last good text back: {} of commit {good}",
            INVENTORY[1]
        );
        for garbled in [
            "",
            "{",
            "[]",
            r#"{ "account": "a" }"#,
            r#"{ "format_version": 1 }"#,
        ] {
            site.gitea()
                .push(BRANCH, INVENTORY[1], garbled, "by a person");
            site.bench.server().clear_requests();
            for command in ["plan", "apply"] {
                let run = site.run(&[command]).expect(1);
                run.says("cannot read the inventory").says(&put_back);
            }
            site.bench.assert_writes(&[]);
        }
        // of a newer version: there is nothing to put back
        let newer = r#"{ "format_version": 2, "account": "a" }"#;
        site.gitea().push(BRANCH, INVENTORY[1], newer, "newer");
        for command in ["plan", "apply"] {
            let run = site.run(&[command]).expect(1).says("use a newer version");
            assert!(!run.stderr.contains("hint:"), "{}", run.stderr);
        }
        site.bench.assert_writes(&[]);
        site.gitea().push(BRANCH, INVENTORY[1], text, "put back");
        site.run(&["plan"]).expect(0).shows("No changes");
        assert_nothing_lost(&site);
    }
}

#[test]
fn one_that_cannot_be_read_is_not_taken_for_one_that_is_not_there() {
    for site in sites() {
        site.commit(one_key());
        site.run(&["apply"]).expect(0);
        let path = site.gitea().path(&format!("/contents/{}", INVENTORY[1]));
        site.bench.server().clear_requests();
        for effect in [
            Effect::Status(403, json!({ "message": "no" })),
            Effect::Html(502),
            Effect::ErrorBefore,
        ] {
            let fault = Fault::on("GET", &path).always().then(effect);
            site.gitea().fault(fault);
            let questions = [&["drift"][..], &["access", "g", "g", "--after"], &["plan"]];
            for command in [&[&["apply"][..]], &questions[..]].concat() {
                site.run(command)
                    .expect(1)
                    .says("cannot read the inventory");
            }
            site.gitea().clear_faults();
        }
        site.bench.assert_writes(&[]);
    }
}
