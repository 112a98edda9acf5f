//! Gitea or Forgejo.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use super::{Setup, bot_alone};
use crate::run::{INVENTORY, Job, Pull, Site};

/// The branch of the inventory.
const BRANCH: &str = INVENTORY[0];

const ALL_BEHIND: [&str; 8] = [
    "gitea_version",
    "gitea_scopes",
    "gitea_repository",
    "gitea_push",
    "gitea_branch_rule",
    "gitea_comment",
    "gitea_inventory_branch",
    "gitea_inventory_push",
];

fn always(path: &str, effect: Effect) -> Fault {
    Fault::on("GET", path).always().then(effect)
}

/// The repository as Gitea shows it, with one thing otherwise.
fn otherwise(setup: &Setup, field: &str, value: Value) {
    let gitea = setup.site.gitea();
    let (_, mut repo) = gitea.call("GET", &gitea.path(""), Value::Null);
    repo[field] = value;
    gitea.fault(always(&gitea.path(""), Effect::Status(200, repo)));
}

#[test]
fn where_it_is_not_configured_nothing_is_wrong() {
    let setup = Setup::new();
    let laptop = setup.found(&["--for", "apply"], &[("GITEA_TOKEN", "")]);
    laptop
        .failed(&[])
        .is("gitea_url", None, "GITEA_TOKEN not set");
    laptop.is("gitea_push", None, "not checked: Gitea is not configured");
    assert!(setup.site.gitea().requests().is_empty());
    // a job has the rest by itself
    let job = Job::push(&setup.site, &setup.site.repo().tip("main")).with("GITEA_TOKEN", "");
    setup
        .found_in_job(&[], &job)
        .only("gitea_url", "the secret BOT_TOKEN", &ALL_BEHIND);
}

#[test]
fn a_server_that_is_none_is_told() {
    let setup = Setup::new();
    let with = |url: &str| setup.found(&[], &[("GITEA_URL", url)]);
    with("http://127.0.0.1:1").only("gitea_url", "is the server running", &ALL_BEHIND);
    with("http://git.example.org").only("gitea_url", "https", &ALL_BEHIND);
    setup
        .site
        .gitea()
        .fault(Fault::on("*", "/").always().then(Effect::Html(200)));
    setup
        .found(&[], &[])
        .only("gitea_url", "answered HTML", &ALL_BEHIND);
}

#[test]
fn an_old_server_is_told_by_what_is_used_of_it() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    let version = |version: &str| {
        gitea.clear_faults();
        gitea.fault(always(
            "/version",
            Effect::Status(200, json!({ "version": version })),
        ));
        setup.found(&[], &[])
    };
    version("1.25.4").only("gitea_version", "the workflows 1.26 or later", &[]);
    version("14.0.1+gitea-1.22.0").only("gitea_version", "Forgejo 14.0.1", &[]);
    version("15.0.3+gitea-1.22.0")
        .failed(&[])
        .is("gitea_version", Some(true), "Forgejo 15.0.3");
    version("main")
        .failed(&[])
        .is("gitea_version", None, "not a version");
    std::fs::remove_dir_all(setup.site.bench.path(".gitea")).unwrap();
    version("1.25.4").failed(&[]).is(
        "gitea_version",
        Some(true),
        "the commands need Gitea 1.23 or later",
    );
    version("1.22.6").only("gitea_version", "Gitea 1.22.6", &[]);
}

#[test]
fn a_token_that_is_not_taken_is_told() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    let token = gitea.token_with(&["all"]);
    gitea.revoke(&token);
    setup
        .found_by(&token)
        .only("gitea_token", "401", &ALL_BEHIND);
    setup
        .found_by("two words")
        .only("gitea_token", "white space", &ALL_BEHIND);
    // it commits nothing that lasts
    let job = setup.found_by(&gitea.job_token());
    job.only(
        "gitea_token",
        "the job's own token",
        &["gitea_push", "gitea_inventory_push"],
    );
    job.is("gitea_scopes", None, "permissions instead of scopes");
}

#[test]
fn scopes_are_told_as_far_as_the_server_does() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    let with = |scopes: &[&str]| setup.found_by(&gitea.token_with(scopes));
    let found = with(&["write:repository", "write:issue"]);
    found
        .failed(&[])
        .is("gitea_scopes", Some(true), "write:issue, write:repository");
    found.is("gitea_token", Some(true), "read:user");
    with(&["all"])
        .failed(&[])
        .is("gitea_scopes", Some(true), "would be enough");
    with(&["read:repository", "write:issue"]).only(
        "gitea_scopes",
        "write:repository is missing",
        &[],
    );
    let silent = with(&["write:repository", "read:issue"]);
    silent.failed(&["gitea_scopes", "gitea_comment"]);
    silent.is("gitea_comment", Some(false), "cannot write comments");
    let blind = with(&["write:repository"]);
    blind.failed(&["gitea_scopes", "gitea_comment"]);
    with(&["write:issue"]).is("gitea_repository", Some(false), "read:repository");
    let public = with(&["public-only", "write:repository", "write:issue"]);
    public.failed(&["gitea_scopes", "gitea_repository"]);
    public.is("gitea_scopes", Some(false), "for public repositories only");
    // a plan's token only comments
    let plan = gitea.token_with(&["read:repository", "write:issue"]);
    setup
        .found(&["--for", "plan"], &[("GITEA_TOKEN", &plan)])
        .failed(&[]);
}

#[test]
fn a_forgejo_does_not_tell_scopes() {
    let setup = Setup::on(Site::forgejo());
    let found = setup.found(&[], &[]);
    // the fake is 12.0.4
    found.only("gitea_version", "Forgejo 12.0.4", &[]);
    found.is("gitea_scopes", None, "does not report");
    found.is("gitea_comment", None, "is not known");
}

#[test]
fn a_repository_that_is_another_one_is_told() {
    let setup = Setup::new();
    let with = |name: &str| setup.found(&[], &[("GITEA_REPO", name)]);
    let behind = &ALL_BEHIND[3..];
    with("acme/nothing").only("gitea_repository", "404", behind);
    with("network").only("gitea_repository", "OWNER/NAME", behind);
    setup.site.gitea().rename_repo("vpn");
    with("acme/network").only("gitea_repository", "acme/vpn", behind);
}

#[test]
fn an_archived_repository_takes_nothing() {
    let setup = Setup::new();
    setup.site.gitea().archive();
    let found = setup.found(&[], &[]);
    found.only("gitea_repository", "archived", &[]);
    found.is("gitea_comment", None, "not checked");
}

#[test]
fn the_right_to_push_is_needed_by_an_apply() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    let mut alice = bot_alone();
    alice["push_whitelist_usernames"] = json!(["alice"]);
    gitea.protect("main", alice);
    let apply = || setup.found(&["--for", "apply"], &[]);
    apply().only("gitea_push", "push allowlist", &[]);
    setup.found(&["--for", "plan"], &[]).failed(&[]).is(
        "gitea_push",
        None,
        "a plan pushes nothing",
    );
    setup.replace(
        ".gitea/workflows/enrollment.yml",
        "sync-events",
        "sync-events --via-pr",
    );
    apply().failed(&[]).is("gitea_push", Some(true), "--via-pr");
    gitea.protect("main", bot_alone());
    let other = setup.found(&["--for", "apply"], &[("GITEA_BRANCH", "trunk")]);
    other.only(
        "gitea_push",
        "has no branch \\\"trunk\\\"; its default branch is main",
        &["gitea_branch_rule"],
    );
    gitea.permit("gitops-bot", "read");
    let reader = apply();
    reader.failed(&["gitea_push", "gitea_inventory_push"]).is(
        "gitea_push",
        Some(false),
        "write access",
    );
}

#[test]
fn a_rule_that_lets_the_file_past_review_is_told() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    let rule = |field: &str, value: Value| {
        let mut rule = bot_alone();
        rule[field] = value;
        gitea.protect("main", rule);
        setup.found(&[], &[])
    };
    let told = rule("unprotected_file_patterns", json!("*.json"));
    told.only(
        "gitea_branch_rule",
        "so everybody with write access can push that file without a review",
        &[],
    );
    let told = rule("push_whitelist_usernames", json!(["gitops-bot", "alice"]));
    told.only(
        "gitea_branch_rule",
        "gitops-bot, alice can push without a review",
        &[],
    );
    let told = rule("enable_push_whitelist", json!(false));
    told.only("gitea_branch_rule", "everybody with write access", &[]);
    // a bot that is no administrator sees that there is a rule, not what it says
    gitea.permit("gitops-bot", "write");
    setup.found(&[], &[]).failed(&[]).is(
        "gitea_branch_rule",
        None,
        "only an administrator's token",
    );
    gitea.unprotect();
    gitea.protect(BRANCH, bot_alone());
    setup
        .found(&[], &[])
        .only("gitea_branch_rule", "no rule protects main", &[]);
}

#[test]
fn comments_need_pull_requests_and_the_right_to_see_them() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    otherwise(&setup, "has_pull_requests", json!(false));
    setup
        .found(&[], &[])
        .only("gitea_comment", "pull requests are switched off", &[]);
    gitea.clear_faults();
    let head = gitea.push("feature", "netbird.json", "{\"groups\": {}}\n", "m\n");
    let base = setup.site.repo().tip("main");
    let number = setup.site.repo().open_pr("feature", "main");
    let pull = Pull {
        number,
        head: &head,
        base: &base,
    };
    // `permissions:` names some units and leaves this one out
    let in_job = |permissions: &[(&str, &str)]| {
        let token = gitea.job_token_with(permissions);
        let auditor = setup.site.bench.netbird().token_for("auditor");
        let job = Job::pull_request(&setup.site, &pull).with("GITEA_TOKEN", &token);
        setup.found_in_job(&[], &job.with("NETBIRD_API_TOKEN", &auditor))
    };
    let right = in_job(&[("contents", "read"), ("pull-requests", "write")]);
    right
        .failed(&[])
        .is("gitea_comment", Some(true), "the job's token");
    in_job(&[("contents", "read")]).only("gitea_comment", "pull-requests: write", &[]);
}

#[test]
fn the_branch_of_the_inventory_is_there_protected_and_ours_to_push() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    let apply = |more: &[(&str, &str)]| setup.found(&["--for", "apply"], more);
    let branch = |name: &str| apply(&[("NETBIRD_GITOPS_INVENTORY_BRANCH", name)]);
    branch("other")
        .failed(&[])
        .is("gitea_inventory_branch", None, "the first apply creates it")
        .is("inventory", None, "there is no inventory yet");
    let main = branch("main");
    main.failed(&["gitea_inventory_branch", "inventory"])
        .is(
            "gitea_inventory_branch",
            Some(false),
            "needs a branch that is used for nothing else",
        )
        .is("gitea_inventory_push", None, "not checked");
    // git has one of the two
    gitea.push("lists/lab", "README.md", "lab\n", "begin\n");
    branch("lists/lab/inventory").only(
        "gitea_inventory_branch",
        "a branch lists/lab is in the way of lists/lab/inventory, so every apply is refused",
        &["gitea_inventory_push"],
    );
    let mut alice = bot_alone();
    alice["push_whitelist_usernames"] = json!(["alice"]);
    gitea.protect(BRANCH, alice);
    apply(&[]).only("gitea_inventory_push", "every apply is refused", &[]);
    gitea.unprotect();
    gitea.protect("main", bot_alone());
    apply(&[]).only(
        "gitea_inventory_branch",
        "Everybody with write access can delete it, or change which objects this file manages.",
        &[],
    );
}

#[test]
fn an_inventory_of_something_else_and_one_that_does_not_read_are_told() {
    let setup = Setup::new();
    let write = |text: &str| {
        setup.site.gitea().push(BRANCH, INVENTORY[1], text, "m\n");
        setup.found(&[], &[])
    };
    let right = setup.found(&[], &[]);
    right.failed(&[]).is(
        "inventory",
        Some(true),
        "commit 1b78d837ec was applied last",
    );
    right.is("inventory_key_copies", None, "no run created a key");
    let other =
        json!({ "format_version": 1, "account": "d2m5000l0ubs73a9k0a0", "file": "netbird.json" });
    write(&other.to_string()).only("inventory", "is of account d2m5000l0ubs73a9k0a0", &[]);
    write("{").only(
        "inventory",
        "cannot read the inventory",
        &["inventory_key_copies"],
    );
}

/// A key that an apply made and that waits for its machine has a copy, or nobody can give it to the machine.
#[test]
fn a_copy_that_somebody_took_away_is_told() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    setup.site.run(&["apply", "--yes"]).expect(0);
    gitea.clear_requests();
    setup.site.bench.netbird().clear_requests();
    let copies = "inventory_key_copies";
    setup
        .found(&[], &[])
        .failed(&[])
        .is(copies, Some(true), "1 key to be used, each with a copy");
    let id = setup.site.bench.id("/setup-keys", "hawk");
    let path = format!(".netbird-gitops/default/keys/hawk.{id}.age");
    gitea.change(BRANCH).delete(&path).message("gone\n").push();
    setup
        .found(&[], &[])
        .only(copies, "there is no copy of setup key hawk", &[]);
}

/// What `init --setup` makes is what is looked for here, of both branches.
#[test]
fn after_init_setup_nothing_is_wrong() {
    for is_there in [true, false] {
        let setup = Setup::new();
        let gitea = setup.site.gitea();
        gitea.unprotect();
        gitea.permit("gitops-bot", "none");
        if !is_there {
            let path = gitea.path(&format!("/branches/{BRANCH}"));
            assert_eq!(gitea.call("DELETE", &path, Value::Null).0, 204);
        }
        let of_both = ["write:repository", "write:issue", "read:user"];
        let (owner, bot) = (gitea.token_of("acme", &of_both), gitea.token());
        let variables = [("GITEA_TOKEN", owner.as_str()), ("BOT_TOKEN", bot.as_str())];
        // without the secrets of NetBird, which doctor does not see
        setup
            .site
            .run_with(&["init", "--setup"], &variables)
            .expect(2);
        gitea.clear_requests();
        setup.site.bench.netbird().clear_requests();
        if !is_there {
            // as the first apply makes it
            gitea.push(BRANCH, "README.md", "lists\n", "begin\n");
        }
        let by_owner = setup.found(&["--for", "plan"], &[("GITEA_TOKEN", owner.as_str())]);
        by_owner
            .failed(&[])
            .is("gitea_branch_rule", Some(true), "only gitops-bot can push")
            .is(
                "gitea_inventory_branch",
                Some(true),
                "only gitops-bot can push",
            );
        let by_bot = setup.found_by(&bot);
        by_bot.failed(&[]);
        by_bot.is("gitea_push", Some(true), "may push to main");
        by_bot.is(
            "gitea_inventory_push",
            Some(true),
            "may push to netbird-gitops/inventory",
        );
    }
}

#[test]
fn on_a_laptop_without_a_token_the_row_of_the_inventory_is_short() {
    let setup = Setup::new();
    let fetched = format!("refs/remotes/origin/{}", INVENTORY[0]);
    setup.site.bench.git(&["update-ref", "-d", &fetched]);
    for (remote, advice) in [
        ("", "The first apply creates it"),
        ("/nowhere.git", "git fetch origin"),
    ] {
        setup
            .site
            .bench
            .git(&["config", "remote.origin.url", remote]);
        let found = setup.found(&[], &[("GITEA_TOKEN", "")]);
        found.is("inventory", None, advice);
        let text = found.check("inventory")["text"].as_str().unwrap();
        assert!(text.len() < 80 && !text.contains(advice), "{text}");
    }
}
