//! Without settings for Gitea every command works but for its part in it, and says so once. An empty variable is unset.

use serde_json::{Value, json};

use crate::run::{Bench, Run, Site};
use crate::sync_events::used;

fn count(run: &Run, text: &str) -> usize {
    run.stderr.matches(text).count()
}

fn one_group() -> Value {
    json!({ "groups": { "g": {} } })
}

#[test]
fn an_apply_says_once_what_is_not_checked() {
    let bench = Bench::fake();
    bench.file(one_group());
    let run = bench.apply(&[]).expect(0);
    assert_eq!(count(&run, "Gitea is not configured"), 1, "{}", run.stderr);
    run.says("Gitea is not configured (GITEA_URL, GITEA_REPO, GITEA_TOKEN not set): whether the branch has a newer");
    // nothing to do: nothing to check
    let run = bench.apply(&[]).expect(0);
    assert_eq!(count(&run, "Gitea"), 0, "{}", run.stderr);
    bench.file(json!({ "groups": { "g": {}, "h": {} } }));
    // a comment that was asked for and cannot be made is no green run
    let run = bench.apply(&["--comment"]).expect(4);
    assert_eq!(count(&run, "Gitea is not configured"), 1, "{}", run.stderr);
}

#[test]
fn a_plan_with_a_comment_says_so_once() {
    let bench = Bench::fake();
    bench.file(one_group());
    let run = bench.plan(&["--comment"]).expect(1);
    assert_eq!(count(&run, "Gitea"), 1, "{}", run.stderr);
    run.shows("1 to create")
        .says("cannot comment: Gitea is not configured");
    assert_eq!(count(&bench.plan(&[]).expect(0), "Gitea"), 0);
}

#[test]
fn sync_events_does_all_but_the_commit() {
    let site = used(Site::fake(), ["a"]);
    site.gitea().clear_requests();
    let run = site.bench.run(&["sync-events"]).expect(0);
    assert_eq!(count(&run, "Gitea"), 1, "{}", run.stderr);
    run.says("Gitea is not configured (GITEA_URL, GITEA_REPO, GITEA_TOKEN not set): enrolled: true is not committed")
        .shows("setup key \"a\": peer \"host-of-a\" is renamed to it")
        .shows("1 key not marked: nothing was committed");
    site.bench.one("/peers", "a");
    assert!(site.gitea().requests().is_empty());
}

#[test]
fn mark_enrolled_names_the_way_out() {
    let bench = Bench::fake();
    bench.text("{\"setup_keys\": {\"a\": {\"type\": \"one-off\", \"expires_in\": 86400}}}");
    let run = bench.run(&["mark-enrolled", "a"]).expect(1);
    run.says("Gitea is not configured").says("--local");
    bench.run(&["mark-enrolled", "a", "--local"]).expect(0);
}

#[test]
fn an_empty_variable_is_unset() {
    let site = used(Site::fake(), ["a"]);
    site.gitea().clear_requests();
    for (name, value) in [
        ("GITEA_TOKEN", ""),
        ("GITEA_TOKEN", " \n"),
        ("GITEA_URL", ""),
        ("GITEA_REPO", " "),
    ] {
        let run = site.run_with(&["sync-events", "--dry-run"], &[(name, value)]);
        let told = format!("Gitea is not configured ({name} not set)");
        run.expect(0).says(&told);
    }
    assert!(site.gitea().requests().is_empty());
    // an empty one does not hide what another place says
    let token = site.bench.path("token");
    std::fs::write(&token, format!("{}\n", site.repo().token())).unwrap();
    let more = [
        ("GITEA_TOKEN", ""),
        ("GITEA_TOKEN_FILE", token.to_str().unwrap()),
        ("GITEA_BRANCH", "main"),
        ("NETBIRD_GITOPS_FILE", ""),
        ("NETBIRD_GITOPS_ENVIRONMENT", ""),
    ];
    site.run_with(&["sync-events"], &more)
        .expect(0)
        .shows("1 key marked enrolled: committed");
}

#[test]
fn an_empty_branch_is_unset_and_said() {
    let site = used(Site::fake(), ["a"]);
    let run = site.run_with(&["sync-events"], &[("GITEA_BRANCH", "")]);
    run.expect(1)
        .says("no branch is named")
        .says("--branch or GITEA_BRANCH");
}

#[test]
fn a_token_with_white_space_is_trimmed_and_one_with_a_scheme_is_named() {
    let site = used(Site::fake(), ["a"]);
    let token = site.repo().token();
    for bad in [format!("token {token}"), format!("\"{token}\"")] {
        let run = site
            .run_with(&["sync-events"], &[("GITEA_TOKEN", &bad)])
            .expect(1);
        assert!(!run.stderr.contains(&token), "{}", run.stderr);
        run.says("GITEA_TOKEN: ");
    }
    let padded = format!("  {token}\r\n");
    site.run_with(&["sync-events"], &[("GITEA_TOKEN", &padded)])
        .expect(0);
}
