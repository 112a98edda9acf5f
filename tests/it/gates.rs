//! Is what looks like an accident refused before the first write, and let through when it is meant?

use fakes::{Effect, Fault};
use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};

use crate::run::{Bench, redact};

fn groups(number: usize) -> Value {
    let groups = (0..number).map(|n| (format!("g{n:02}"), json!({})));
    json!({ "groups": Value::Object(groups.collect()) })
}

fn two_routes() -> Value {
    let route =
        |network: &str| json!({ "network": network, "peer_groups": ["g"], "groups": ["g"] });
    json!({ "groups": { "g": {} }, "routes": { "r1": route("10.1.0.0/16"), "r2": route("10.2.0.0/16") } })
}

/// That an apply is refused by this gate with nothing written, and that a plan shows it and still exits with 0.
#[track_caller]
fn refused(
    bench: &Bench,
    gate: &str,
    args: &[&str],
    environment: &[(&str, &str)],
) -> crate::run::Run {
    bench.server().clear_requests();
    let args = |command: &'static str| [&[command], args].concat();
    let plan = bench
        .run_with(
            &[&args("plan")[..], &["--format", "json"]].concat(),
            environment,
        )
        .expect(0);
    let gates: Vec<Value> = plan.json()["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|refusal| refusal["gate"].clone())
        .collect();
    assert_eq!(gates, [gate]);
    let json = bench
        .run_with(
            &[&args("apply")[..], &["--format", "json"]].concat(),
            environment,
        )
        .expect(3);
    assert_eq!(json.json()["status"], "error");
    let run = bench.run_with(&args("apply"), environment).expect(3);
    bench.assert_writes(&[]);
    run.says("refused: ")
        .says("nothing was changed")
        .says("hint: ")
}

#[test]
fn more_deletions_than_agreed() {
    let bench = Bench::fake();
    bench.agreed(groups(14)).file(groups(2));
    let run = refused(&bench, "deletions", &["--prune", "all"], &[]);
    assert_data_eq!(redact(&run.stderr), file!["snapshots/refused.txt"].raw());
    refused(
        &bench,
        "deletions",
        &["--prune", "all", "--allow-deletes", "11"],
        &[],
    )
    .says_anywhere(
        "--allow-deletes says 11, but this plan has 12 deletions: the number must be exact",
    );
    refused(
        &bench,
        "deletions",
        &["--prune", "all", "--max-deletes", "11"],
        &[],
    );
    bench
        .apply(&["--prune", "all", "--allow-deletes", "12"])
        .expect(0)
        .shows("12 deleted");
}

#[test]
fn a_limit_that_is_raised_lets_them_go() {
    let bench = Bench::fake();
    bench.agreed(groups(14)).file(groups(2));
    bench
        .apply(&["--prune", "all", "--max-deletes", "12"])
        .expect(0)
        .shows("12 deleted");
}

#[test]
fn removed_members_count_as_deletions() {
    let bench = Bench::fake();
    let names: Vec<String> = (0..12).map(|n| format!("m{n:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let keys = bench.enrolled(&names);
    let file =
        |peers: &[&str]| json!({ "groups": { "g": { "peers": peers } }, "setup_keys": keys });
    bench.agreed(file(&names)).file(file(&names[..1]));
    refused(&bench, "deletions", &["--prune", "all"], &[]).says("11");
    bench
        .apply(&["--prune", "all", "--allow-deletes", "11"])
        .expect(0);
    assert_eq!(bench.one("/groups", "g")["peers_count"], 1);
}

#[test]
fn the_last_objects_of_a_kind() {
    let bench = Bench::fake();
    bench.agreed(two_routes());
    bench.file(json!({ "groups": { "g": {} }, "routes": {} }));
    refused(&bench, "last-of-a-kind", &["--prune", "all"], &[])
        .says("this plan deletes all routes");
    bench
        .apply(&["--prune", "all", "--allow-deletes", "2"])
        .expect(0);
    // the last of one is no wipe
    let mut one = two_routes();
    one["routes"].as_object_mut().unwrap().remove("r2");
    bench.agreed(one);
    bench
        .file(json!({ "groups": { "g": {} }, "routes": {} }))
        .apply(&["--prune", "all"])
        .expect(0);
    assert_eq!(bench.names("/routes"), Vec::<String>::new());
}

#[test]
fn the_kill_switch_stops_every_apply_before_it_reads_anything() {
    let bench = Bench::fake();
    bench.agreed(two_routes());
    let halt = [("NETBIRD_GITOPS_HALT", "incident 7")];
    bench
        .run_with(&["apply"], &halt)
        .expect(3)
        .says("NETBIRD_GITOPS_HALT is set (incident 7)")
        .says("hint: unset NETBIRD_GITOPS_HALT");
    assert!(bench.netbird().requests().is_empty());
    bench
        .run_with(&["plan"], &halt)
        .expect(0)
        .shows("Apply would refuse this plan:\n  !  NETBIRD_GITOPS_HALT is set (incident 7)\n");
    bench
        .run_with(&["apply"], &[("NETBIRD_GITOPS_HALT", "")])
        .expect(0);
}

#[test]
fn a_pull_requests_job_applies_nothing() {
    let bench = Bench::fake();
    bench.file(two_routes());
    for event in [
        "pull_request",
        "pull_request_target",
        "pull_request_comment",
    ] {
        let environment = [("GITHUB_EVENT_NAME", event)];
        bench
            .run_with(&["apply"], &environment)
            .expect(3)
            .says("refused: apply does not run in a pull request's job");
        assert!(bench.netbird().requests().is_empty());
        bench.run_with(&["plan"], &environment).expect(0);
        bench.netbird().clear_requests();
    }
    bench
        .run_with(&["apply"], &[("GITHUB_EVENT_NAME", "push")])
        .expect(0);
}

#[test]
fn another_account() {
    let bench = Bench::fake();
    bench.file(two_routes());
    refused(&bench, "account", &["--account", "elsewhere"], &[]).says("not to elsewhere");
    refused(
        &bench,
        "account",
        &[],
        &[("NETBIRD_ACCOUNT_ID", "elsewhere")],
    );
    let account = bench.netbird().account_id();
    bench.apply(&["--account", &account]).expect(0);
    bench
        .run_with(&["apply"], &[("NETBIRD_ACCOUNT_ID", "")])
        .expect(0);
}

/// A provider's token: which account an apply would act on is for the operator to say.
#[test]
fn a_token_that_sees_several_accounts() {
    let bench = Bench::fake();
    bench.file(two_routes());
    let mut accounts = bench.server().list("/accounts");
    let mut other = accounts[0].clone();
    other["id"] = json!("customer");
    accounts.push(other);
    let several = Effect::Status(200, accounts.into());
    let fault = Fault::on("GET", "/accounts").always().then(several);
    bench.netbird().fault(fault);
    let run = refused(&bench, "account", &[], &[]);
    run.says("sees several accounts").says("--account");
    let own = bench.netbird().account_id();
    bench.apply(&["--account", &own]).expect(0);
    // what people paste from the dashboard leads there
    let url = format!("{}/api?account=customer", bench.netbird().url());
    let run = bench.run_with(&["apply"], &[("NETBIRD_API_URL", &url)]);
    run.expect(3)
        .says("has a query")
        .says("name the account with --account");
}

#[test]
fn a_role_that_is_too_weak() {
    let bench = Bench::fake();
    bench.file(two_routes());
    let auditor = bench.netbird().token_for("auditor");
    let environment = [("NETBIRD_API_TOKEN", auditor.as_str())];
    bench
        .run_with(&["plan", "--format", "json"], &environment)
        .expect(0);
    let run = bench.run_with(&["apply"], &environment).expect(3);
    run.says("the token's role auditor cannot do 3 of 3 operations")
        .says("role admin");
    bench.assert_writes(&[]);
    // with nothing to do too: the wrong secret shows at once
    bench.apply(&[]).expect(0);
    let run = bench.run_with(&["apply"], &environment).expect(3);
    run.says("the token's role auditor can change nothing in NetBird")
        .says("NETBIRD_APPLY_TOKEN");
    bench.run_with(&["plan"], &environment).expect(0);
}

#[test]
fn a_network_admin_writes_all_but_keys_and_peers() {
    let bench = Bench::fake();
    let token = bench.netbird().token_for("network_admin");
    let environment = [("NETBIRD_API_TOKEN", token.as_str())];
    bench.file(two_routes());
    bench.run_with(&["apply"], &environment).expect(0);
    bench.file(json!({ "groups": { "g": {}, "h": {} }, "setup_keys": { "k": { "type": "reusable", "expires_in": 60 } } }));
    bench.netbird().clear_requests();
    let run = bench.run_with(&["apply"], &environment).expect(3);
    run.says("the token's role network_admin cannot do 1 of 2 operations")
        .says("setup key k");
    bench.assert_writes(&[]);
}

#[test]
fn a_persons_token_that_sees_a_part_makes_no_plan_of_the_rest() {
    let bench = Bench::fake();
    bench.agreed(two_routes());
    for role in ["user", "billing_admin"] {
        let token = bench.netbird().person_token(role);
        let run = bench.run_with(
            &["apply", "--prune", "all"],
            &[("NETBIRD_API_TOKEN", &token)],
        );
        assert!(matches!(run.code, 1 | 3), "{}: {}", run.code, run.stderr);
        run.says("role");
        bench.assert_writes(&[]);
    }
    let token = bench.netbird().person_token("admin");
    bench
        .run_with(&["apply"], &[("NETBIRD_API_TOKEN", &token)])
        .expect(0);
}

#[test]
fn urls_that_would_give_the_token_away() {
    let bench = Bench::fake();
    bench.file(two_routes());
    let rows = [
        ("http://user:pass@127.0.0.1:1", "has credentials in it"),
        (
            "http://netbird.example.com",
            "would send the token unencrypted",
        ),
        ("ftp://netbird.example.com", "is not an https URL"),
        ("netbird.example.com", "does not start with https://"),
    ];
    for (url, why) in rows {
        for command in ["plan", "apply"] {
            let run = bench
                .run_with(&[command], &[("NETBIRD_API_URL", url)])
                .expect(3)
                .says("refused: ")
                .says(why);
            assert!(!run.stderr.contains("pass@") && !run.stdout.contains("pass@"));
        }
    }
}

#[test]
fn a_file_that_is_too_large() {
    let bench = Bench::fake();
    bench
        .text(&format!("{}{}", two_routes(), " ".repeat(10 << 20)))
        .apply(&[])
        .expect(3)
        .says("larger than 10 MiB");
    let marks = ["mark-enrolled", "--local", "k"];
    bench.run(&marks).expect(3).says("larger than 10 MiB");
    assert!(bench.netbird().requests().is_empty());
}
