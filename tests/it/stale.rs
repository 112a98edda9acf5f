//! A stale apply must not win: the branch's file against ours before the first write, each new key and the deletions.

use serde_json::{Value, json};

use crate::run::{INVENTORY, Job, Pull, Site};

fn one_key() -> Value {
    json!({ "groups": { "g": {} },
            "setup_keys": { "k": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] } } })
}

/// A site whose branch has another file by now than the checkout.
fn stale(ours: Value, theirs: Value) -> Site {
    let site = Site::fake();
    site.commit(theirs);
    let ours = site.text(ours);
    site.bench.text(&ours);
    site
}

#[test]
fn another_file_on_the_branch_ends_it_before_the_first_write() {
    let site = stale(one_key(), json!({ "groups": { "g": {}, "newer": {} } }));
    let run = site.run(&["apply"]).expect(3);
    run.says("main has another netbird.json by now, so this apply is stale")
        .says("--any-commit")
        .shows("NetBird apply refused: nothing was changed");
    site.bench.assert_writes(&[]);
    assert!(site.bench.sealed_files().is_empty());
    // a plan is a plan
    site.run(&["plan"]).expect(0);
    // and it can be meant
    site.run(&["apply", "--any-commit"]).expect(0);
    assert_eq!(site.bench.names("/groups"), ["All", "g"]);
}

#[test]
fn nobody_applies_a_branch_without_the_file() {
    let site = Site::fake();
    site.commit(one_key());
    let one = site.repo().tip("main");
    site.checkout(&one);
    site.gitea().change("main").delete("netbird.json").push();
    let tip = site.repo().tip("main");
    let id = site.gitea().run("apply.yml", "main", &one, "in_progress");
    site.gitea().run("apply.yml", "main", &tip, "queued");
    let job = Job::push(&site, &one).with("GITHUB_RUN_ID", &id.to_string());
    for run in [site.run(&["apply"]), site.in_job(&["apply"], &job)] {
        let run = run.expect(3);
        let run = run
            .says("main has no netbird.json any more, so this apply is stale; nothing was changed")
            .says("put the file back");
        assert!(!run.stderr.contains("the newer commit"), "{}", run.stderr);
    }
    site.bench.assert_writes(&[]);
}

#[test]
fn flags_of_enrolled_keys_make_nothing_stale() {
    let mut theirs = one_key();
    theirs["setup_keys"]["k"]["enrolled"] = json!(true);
    // nor do spaces and order
    let site = stale(one_key(), json!({}));
    site.gitea()
        .push("main", "netbird.json", theirs.to_string(), "flags");
    // but that of a key which would be made again
    site.run(&["apply"])
        .expect(3)
        .says("main says that setup key \"k\" was used by now, so this apply is stale");
    assert!(site.bench.names("/setup-keys").is_empty());
    let group = site.bench.group("g");
    let key =
        json!({ "name": "k", "type": "one-off", "expires_in": 86400, "auto_groups": [group] });
    site.bench.create("/setup-keys", key);
    site.run(&["apply"]).expect(0);
}

#[test]
fn a_push_in_mid_run_ends_it_before_the_new_key() {
    let site = Site::fake();
    let mut file = one_key();
    file["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
    site.commit(file);
    let gitea = site.gitea().clone();
    site.bench.netbird().before("POST", "/groups", move |_| {
        gitea.push(
            "main",
            "netbird.json",
            "{\"groups\": {\"newer\": {}}}",
            "newer",
        );
    });
    let run = site.run(&["apply", "--format", "json"]).expect(4);
    assert_eq!(
        run.operations(),
        [
            "create_group g success",
            "create_setup_key k skipped",
            "create_policy p skipped"
        ]
    );
    let message = run.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("main has another netbird.json by now"),
        "{message}"
    );
    run.says("so this apply is stale")
        .says("the run of the newer commit applies it");
    site.bench.assert_writes(&["POST /groups"]);
    assert!(site.bench.names("/setup-keys").is_empty());
}

#[test]
fn a_push_in_mid_run_ends_it_before_the_first_deletion() {
    let site = Site::fake();
    let policy = |protocol: &str| json!({ "sources": ["All"], "destinations": ["All"], "protocol": protocol });
    site.commit(json!({ "policies": { "old": policy("tcp") } }));
    site.run(&["apply"]).expect(0);
    site.commit(json!({ "policies": { "new": policy("udp") } }));
    site.bench.server().clear_requests();
    let gitea = site.gitea().clone();
    site.bench.netbird().before("POST", "/policies", move |_| {
        gitea.push("main", "netbird.json", "{\"policies\": {}}", "newer");
    });
    let run = site.run(&["apply", "--prune", "all", "--allow-deletes", "2"]);
    run.expect(4).says("this apply is stale");
    site.bench.assert_writes(&["POST /policies"]);
    assert_eq!(site.bench.names("/policies"), ["Default", "new", "old"]);
}

/// A forge can be far away.
#[test]
fn many_changes_ask_the_forge_no_more_often_than_few() {
    let requests = |number: usize| {
        let site = Site::fake();
        let policies = |word: &str| {
            let all = json!({ "sources": ["All"], "destinations": ["All"] });
            let named = (0..number).map(|at| (format!("{word}{at}"), all.clone()));
            json!({ "policies": serde_json::Map::from_iter(named) })
        };
        site.commit(policies("old"));
        site.run(&["apply"]).expect(0);
        site.commit(policies("new"));
        site.gitea().clear_requests();
        site.run(&["apply", "--max-deletes", "9"]).expect(0);
        site.gitea().requests().len()
    };
    assert_eq!(requests(1), requests(3));
}

#[test]
fn a_push_after_a_route_that_had_to_go_first_ends_it_before_the_other_deletions() {
    let site = Site::fake();
    let route =
        |peers: &str| json!({ "network": "10.1.0.0/16", "peer_groups": [peers], "groups": ["u"] });
    let groups = json!({ "gw": {}, "u": {} });
    let policy = json!({ "sources": ["u"], "destinations": ["gw"] });
    site.commit(
        json!({ "groups": groups, "routes": { "a": route("gw") }, "policies": { "p": policy } }),
    );
    site.run(&["apply"]).expect(0);
    // b is in the way of a, so a goes before b comes
    site.commit(json!({ "groups": groups, "routes": { "b": route("gw") }, "policies": {} }));
    site.bench.server().clear_requests();
    let gitea = site.gitea().clone();
    site.bench.netbird().before("POST", "/routes", move |_| {
        gitea.push("main", "netbird.json", "{\"groups\": {}}", "newer");
    });
    let run = site.run(&["apply", "--prune", "all", "--allow-deletes", "3"]);
    run.expect(4).says("this apply is stale");
    site.bench
        .assert_writes(&["DELETE /routes", "POST /routes"]);
    assert_eq!(site.bench.names("/policies"), ["Default", "p"]);
}

#[test]
fn a_change_whose_first_half_is_done_is_no_refusal() {
    let site = Site::fake();
    let keys = site.bench.enrolled(&["p1", "p2"]);
    let file = |peer: &str| json!({ "groups": { "g": { "peers": [peer] } }, "setup_keys": keys });
    site.commit(file("p1"));
    site.run(&["apply"]).expect(0);
    site.commit(file("p2"));
    let group = format!("/groups/{}", site.bench.id("/groups", "g"));
    site.bench.server().clear_requests();
    let gitea = site.gitea().clone();
    // the new member is in by then, the old one is to leave
    site.bench.netbird().after("PUT", &group, move |_| {
        gitea.push("main", "netbird.json", "{\"groups\": {}}", "newer");
    });
    let run = site.run(&["apply", "--prune", "all", "--format", "json"]);
    let run = run.expect(4).says("this apply is stale");
    assert_eq!(run.operations(), ["update_group g failed"]);
    let error = run.json()["operations"][0]["error"].to_string();
    assert!(error.contains("only its first half was done"), "{error}");
    site.bench.assert_writes(&["PUT /groups"]);
}

#[test]
fn a_gitea_that_takes_the_token_no_more_before_the_first_write_is_a_refusal() {
    let site = Site::fake();
    site.commit(json!({ "groups": { "g": {} } }));
    site.run(&["apply"]).expect(0);
    site.bench.server().clear_requests();
    site.commit(one_key());
    let contents = site.gitea().path("/contents/netbird.json");
    site.gitea().after("GET", &contents, |gitea| {
        gitea.revoke(&gitea.token());
    });
    let run = site.run(&["apply", "--key-copies", "none"]).expect(3);
    run.says("401");
    site.bench.assert_writes(&[]);
}

#[test]
fn found_stale_before_anything_was_written_is_a_refusal() {
    let site = Site::fake();
    site.bench.group("g");
    site.commit(one_key());
    // the first reading of the branch is the old file, the second the new one
    let contents = site.gitea().path("/contents/netbird.json");
    site.gitea().after("GET", &contents, |gitea| {
        gitea.push(
            "main",
            "netbird.json",
            "{\"groups\": {\"newer\": {}}}",
            "newer",
        );
    });
    let run = site.run(&["apply"]).expect(3);
    run.says("so this apply is stale");
    site.bench.assert_writes(&[]);
}

#[test]
fn a_gitea_that_does_not_answer_is_no_leave_to_apply() {
    let site = Site::fake();
    site.commit(one_key());
    site.gitea().revoke(&site.gitea().token());
    let run = site.run(&["apply"]).expect(1);
    run.says("cannot read the inventory").says("401");
    site.bench.assert_writes(&[]);
}

#[test]
fn nothing_to_do_asks_for_inventories_alone() {
    let site = Site::fake();
    site.commit(json!({ "groups": { "g": {} } }));
    site.run(&["apply"]).expect(0);
    site.commit(json!({ "groups": { "g": {}, "h": {} } }));
    site.bench
        .text(&site.text(json!({ "groups": { "g": {} } })));
    site.gitea().clear_requests();
    site.run(&["apply"]).expect(0).shows("No changes");
    let inventory = site.gitea().path(&format!("/contents/{}", INVENTORY[1]));
    let requests = site.gitea().requests();
    let paths: Vec<&str> = requests.iter().map(|it| it.path.as_str()).collect();
    let folder = site.gitea().path("/contents/.netbird-gitops");
    assert_eq!(paths, [inventory, folder]);
}

#[test]
fn in_a_pull_requests_job_it_refuses_before_any_request() {
    let site = Site::fake();
    site.commit(one_key());
    let merged = {
        site.gitea()
            .push("other", "other.txt", "x", "an earlier pull request");
        let number = site.gitea().open_pr("other", "main");
        site.gitea().comment(
            "gitops-bot",
            number,
            "<!-- netbird-gitops apply default -->\nits result",
        );
        site.gitea().merge(number)
    };
    let number = site.repo().open_pr("change", "main");
    let head = site.repo().tip("change");
    let pull = Pull {
        number,
        head: &head,
        base: &merged,
    };
    let jobs = [
        Job::pull_request(&site, &pull),
        Job::fork(&site, &pull).with("NETBIRD_API_TOKEN", &site.bench.server().token()),
        Job::deleted_fork(&site, &pull),
        // here the commit is the merge of that earlier pull request, whose result must stay
        Job::pull_request(&site, &pull).target(&merged),
        Job::push(&site, &merged).with("GITHUB_REF", "refs/pull/7/head"),
    ];
    site.gitea().clear_requests();
    for job in jobs {
        let run = site.in_job(&["apply", "--comment"], &job).expect(3);
        run.says("apply does not run in a pull request's job");
        assert!(site.bench.netbird().requests().is_empty());
        assert!(site.gitea().requests().is_empty());
    }
}
