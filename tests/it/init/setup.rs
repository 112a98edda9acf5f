//! `init --setup`: the repository's settings, by the owner's token.

use fakes::{Effect, Fault};
use serde_json::json;

use super::{read, tree};
use crate::run::{RECIPIENT, Run, Site, git};

const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Runs it with every value that the workflows need, and further ones, which win.
fn setup(site: &Site, args: &[&str], more: &[(&str, &str)]) -> Run {
    let (owner, bot) = (site.gitea().owner_token(), site.gitea().token());
    let variables = [
        ("NETBIRD_API_URL", "https://netbird.example.com"),
        ("GITEA_TOKEN", owner.as_str()),
        ("GITEA_BRANCH", ""),
        ("BOT_TOKEN", bot.as_str()),
        ("NETBIRD_PLAN_TOKEN", "nbp_plan"),
        ("NETBIRD_APPLY_TOKEN", "nbp_apply"),
        (
            "NETBIRD_GITOPS_BINARY",
            "https://git.example.com/netbird-gitops",
        ),
        ("NETBIRD_GITOPS_SHA256", DIGEST),
    ];
    let args = [&["init", "--setup"], args].concat();
    let all: Vec<(&str, &str)> = variables.into_iter().chain(more.iter().copied()).collect();
    site.run_with(&args, &all)
}

/// The file is in the checkout, so that no account is asked for.
fn site(forgejo: bool) -> Site {
    let site = if forgejo {
        Site::forgejo()
    } else {
        Site::fake()
    };
    site.bench.text("{\"groups\": {\"g\": {}}}\n");
    site
}

fn writes(site: &Site) -> Vec<String> {
    let requests = site.gitea().requests();
    let writes = requests.iter().filter(|request| request.method != "GET");
    writes
        .map(|request| {
            let path = request.path.trim_start_matches("/repos/acme/network");
            format!("{} {path}", request.method)
        })
        .collect()
}

fn rules(site: &Site) -> serde_json::Value {
    let path = site.gitea().path("/branch_protections");
    site.gitea().call("GET", &path, json!(null)).1
}

#[test]
fn a_repository_gets_its_settings_in_two_runs_and_keeps_them() {
    for forgejo in [false, true] {
        let site = site(forgejo);
        let gitea = site.gitea();
        gitea.permit("gitops-bot", "none");
        let sha = gitea.sha("main", "netbird.json");
        let body = json!({ "sha": sha, "branch": "main", "message": "begin" });
        let file = gitea.path("/contents/netbird.json");
        assert_eq!(gitea.call("DELETE", &file, body).0, 200);
        // the files are not pushed yet: by a rule they could not be any more
        let run = setup(&site, &["-vv"], &[]).expect(0);
        run.says("setting collaborator gitops-bot of acme/network")
            .says("setting secret BOT_TOKEN of acme/network")
            .shows("  set          collaborator gitops-bot  (may write)\n")
            .shows("  set          secret NETBIRD_PLAN_TOKEN\n")
            .shows("  set          variable AGE_PUBLIC_KEY\n")
            .shows(
                "  set          branch rule netbird-gitops/inventory  (only gitops-bot may push)\n",
            )
            .shows("  later        branch rule main")
            .shows("git push origin HEAD:main\n\n4. Once that is pushed, protect the branch");
        let secrets = gitea.workflow_secrets();
        assert_eq!(secrets["NETBIRD_PLAN_TOKEN"], "nbp_plan");
        assert_eq!(secrets["NETBIRD_APPLY_TOKEN"], "nbp_apply");
        assert_eq!(secrets["BOT_TOKEN"], gitea.token());
        let variables = gitea.workflow_variables();
        assert_eq!(variables["AGE_PUBLIC_KEY"], RECIPIENT);
        assert_eq!(variables["NETBIRD_API_URL"], "https://netbird.example.com");
        assert_eq!(variables["NETBIRD_GITOPS_SHA256"], DIGEST);
        assert_eq!((secrets.len(), variables.len()), (3, 4));
        let first = rules(&site);
        assert_eq!(first.as_array().unwrap().len(), 1);
        assert_eq!(first[0]["rule_name"], "netbird-gitops/inventory");
        assert_eq!(first[0]["push_whitelist_usernames"], json!(["gitops-bot"]));
        // now they are
        gitea.push("main", "netbird.json", "{}", "the network");
        gitea.clear_requests();
        let run = setup(&site, &[], &[]).expect(0);
        run.shows("  set          branch rule main  (only gitops-bot may push)\n")
            .shows("  exists       secret BOT_TOKEN  (left alone: a secret cannot be read and compared");
        assert_eq!(writes(&site), ["POST /branch_protections"]);
        let rules = rules(&site);
        assert_eq!(rules[1]["rule_name"], "main");
        assert_eq!(rules[1]["push_whitelist_usernames"], json!(["gitops-bot"]));
        assert_eq!(rules[1]["enable_push_whitelist"], true);
        gitea.clear_requests();
        setup(&site, &[], &[])
            .expect(0)
            .shows("The files need no change.");
        assert_eq!(writes(&site), [""; 0]);
    }
}

#[test]
fn no_value_is_ever_shown() {
    let site = site(false);
    let fault = Fault::on("PUT", &site.gitea().path("/actions/secrets/BOT_TOKEN"));
    site.gitea().fault(fault.then(Effect::Html(502)));
    let run = setup(&site, &["-vv", "--report", "report.json"], &[]);
    let all = format!(
        "{}{}{}",
        run.stdout,
        run.stderr,
        read(&site.bench, "report.json")
    );
    run.expect(4);
    let owner = site.gitea().secrets();
    let tokens = owner.iter().map(String::as_str);
    for secret in tokens.chain(["nbp_plan", "nbp_apply"]) {
        assert!(!all.contains(secret), "{all}");
    }
}

#[test]
fn what_is_there_is_left_alone_and_said() {
    let site = site(false);
    let gitea = site.gitea();
    gitea.protect("main", json!({}));
    let path = |rest: &str| gitea.path(&format!("/actions{rest}"));
    gitea.call(
        "PUT",
        &path("/secrets/NETBIRD_PLAN_TOKEN"),
        json!({ "data": "old" }),
    );
    gitea.call(
        "POST",
        &path("/variables/NETBIRD_API_URL"),
        json!({ "value": "https://old.example.com" }),
    );
    gitea.clear_requests();
    setup(&site, &[], &[])
        .expect(0)
        .shows("exists       secret NETBIRD_PLAN_TOKEN  (left alone")
        .shows("exists       variable NETBIRD_API_URL  (left alone: it has another value than yours")
        .shows("exists       branch rule main  (left alone: nobody can push, so add --via-pr to sync-events");
    assert_eq!(gitea.workflow_secrets()["NETBIRD_PLAN_TOKEN"], "old");
    assert_eq!(
        gitea.workflow_variables()["NETBIRD_API_URL"],
        "https://old.example.com"
    );
    // a list without the bot, and files that go past review
    let rule = json!({ "enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": ["alice"] });
    gitea.protect("main", rule);
    setup(&site, &[], &[])
        .expect(0)
        .shows("it does not let gitops-bot push");
    gitea.unprotect();
    gitea.protect("netbird-gitops/inventory", json!({}));
    setup(&site, &["--dry-run"], &[])
        .expect(0)
        .shows("exists       branch rule netbird-gitops/inventory  (left alone: it does not let gitops-bot push, so");
    gitea.protect(
        "main",
        json!({ "enable_push": true, "unprotected_file_patterns": "*.json" }),
    );
    setup(&site, &[], &[]).expect(0).shows(
        "its unprotected file pattern \"*.json\" covers netbird.json, so everybody with write access can push",
    );
}

#[test]
fn a_second_network_shares_the_bot_and_has_tokens_of_its_own() {
    let site = site(false);
    setup(&site, &[], &[]).expect(0);
    site.gitea().clear_requests();
    std::fs::create_dir(site.bench.path("lab")).unwrap();
    std::fs::write(site.bench.path("lab/netbird.json"), "{\"groups\": {}}").unwrap();
    let lab = ["--environment", "lab", "-f", "lab/netbird.json"];
    let plan = [("NETBIRD_PLAN_TOKEN", "nbp_lab")];
    setup(&site, &lab, &plan)
        .expect(0)
        .shows("exists       secret BOT_TOKEN")
        .shows("set          secret NETBIRD_PLAN_TOKEN_LAB\n")
        .shows("exists       branch rule main");
    let secrets = site.gitea().workflow_secrets();
    assert_eq!(secrets["NETBIRD_PLAN_TOKEN"], "nbp_plan");
    assert_eq!(secrets["NETBIRD_PLAN_TOKEN_LAB"], "nbp_lab");
    assert_eq!(writes(&site).len(), 4);
}

#[test]
fn a_dry_run_only_says_it() {
    let site = site(false);
    let before = tree(&site.bench);
    setup(&site, &["--dry-run"], &[])
        .expect(0)
        .shows("to set       secret BOT_TOKEN")
        .shows("to set       branch rule main  (only gitops-bot may push)")
        .shows("to write     .gitignore");
    assert_eq!(writes(&site), [""; 0]);
    assert_eq!(tree(&site.bench), before);
}

#[test]
fn the_branch_of_the_inventory_is_that_of_apply() {
    let site = site(false);
    let rule = "branch rule netbird-gitops/inventory";
    setup(&site, &["--dry-run"], &[])
        .expect(0)
        .shows(&format!("to set       {rule}  (only gitops-bot may push)"));
    let named = [("NETBIRD_GITOPS_INVENTORY_BRANCH", "lists")];
    setup(&site, &["--dry-run"], &named)
        .expect(0)
        .shows("to set       branch rule lists  ")
        .hides(rule);
    setup(&site, &["--inventory-branch", "main"], &[])
        .expect(1)
        .says("main is the default branch: the inventory needs a branch that is used for nothing else");
    let same = [("GITEA_BRANCH", "netbird-gitops/inventory")];
    setup(&site, &[], &same)
        .expect(1)
        .says("netbird-gitops/inventory is the branch that is applied: the inventory needs");
    assert_eq!(writes(&site), [""; 0]);
}

#[test]
fn a_token_that_is_not_the_owners_is_told_before_anything_is_written() {
    let site = site(false);
    let gitea = site.gitea();
    let before = tree(&site.bench);
    let read_only = gitea.token_of("acme", &["read:repository"]);
    let administrator = gitea.add_user("admin2", "admin");
    let bot = gitea.token();
    for (token, said) in [
        (
            bot.as_str(),
            "the token in GITEA_TOKEN is not that of the owner of acme/network",
        ),
        // it administrates, and does not own
        (
            administrator.as_str(),
            "403 user should be the owner of the repo",
        ),
        ("0000", "401"),
    ] {
        let other = gitea.token_with(&["write:repository", "read:user"]);
        let variables = [("GITEA_TOKEN", token), ("BOT_TOKEN", other.as_str())];
        let run = setup(&site, &[], &variables).expect(1);
        run.says(said).says(
            "set GITEA_TOKEN to a token of the owner of the repository or of its organisation",
        );
        assert_eq!(tree(&site.bench), before);
    }
    let run = setup(&site, &[], &[("GITEA_TOKEN", "")]).expect(1);
    run.says("GITEA_TOKEN is not set");
    // reading goes well, and the first write does not
    let run = setup(&site, &[], &[("GITEA_TOKEN", &read_only)]).expect(4);
    run.says("secret NETBIRD_PLAN_TOKEN: ")
        .says("scope write:repository")
        .shows("not set      secret NETBIRD_PLAN_TOKEN");
    assert_eq!(gitea.workflow_secrets().len(), 0);
}

#[test]
fn values_that_cannot_be_right_are_refused_before_any_request() {
    let site = site(false);
    let owner = site.gitea().owner_token();
    for (name, value, said) in [
        ("NETBIRD_PLAN_TOKEN", "nbp_apply", "are the same token"),
        (
            "BOT_TOKEN",
            owner.as_str(),
            "BOT_TOKEN is the owner's token",
        ),
        ("AGE_PUBLIC_KEY", crate::run::IDENTITY, "a SECRET key"),
        ("NETBIRD_GITOPS_SHA256", "abc", "64 hexadecimal digits"),
        ("NETBIRD_GITOPS_BINARY", "/usr/bin/x", "is not a URL"),
        ("NETBIRD_APPLY_TOKEN", "Token x", "scheme word"),
    ] {
        let more = [("GITEA_TOKEN", owner.as_str()), (name, value)];
        let run = setup(&site, &[], &more).expect(1);
        let run = run.says(said);
        assert!(!run.stderr.contains(crate::run::IDENTITY));
        assert!(site.gitea().requests().is_empty(), "{name}");
    }
}

#[test]
fn what_nobody_gave_is_named_and_the_rest_is_set() {
    let site = site(false);
    let bot = site.gitea().token_with(&["write:repository"]);
    let missing = [
        ("NETBIRD_APPLY_TOKEN", ""),
        ("NETBIRD_GITOPS_BINARY", ""),
        // its scopes do not let it tell whose it is
        ("BOT_TOKEN", bot.as_str()),
    ];
    setup(&site, &[], &missing)
        .expect(2)
        .shows("missing      the bot  (set BOT_TOKEN to a token of the bot with the scope read:user, or name the bot with --bot)")
        .shows("missing      secret NETBIRD_APPLY_TOKEN  (set NETBIRD_APPLY_TOKEN or NETBIRD_APPLY_TOKEN_FILE: NetBird token, role admin)")
        .shows("missing      variable NETBIRD_GITOPS_BINARY");
    assert_eq!(site.gitea().workflow_secrets().len(), 2);
    // what was missing comes by a file, and the bot by its name
    std::fs::write(site.bench.path("apply.token"), "nbp_apply\n").unwrap();
    let given = [
        ("NETBIRD_APPLY_TOKEN", ""),
        ("NETBIRD_APPLY_TOKEN_FILE", "apply.token"),
    ];
    setup(&site, &["--bot", "gitops-bot"], &given)
        .expect(0)
        .shows("set          secret NETBIRD_APPLY_TOKEN")
        .shows("set          branch rule main");
    assert_eq!(
        site.gitea().workflow_secrets()["NETBIRD_APPLY_TOKEN"],
        "nbp_apply"
    );
    setup(&site, &["--bot", "nobody9"], &[])
        .expect(1)
        .says("there is no user \"nobody9\"");
}

#[test]
fn the_checkouts_remote_names_the_repository() {
    let site = site(false);
    let place = site.gitea().url();
    let address = format!(
        "{}/acme/network.git",
        place.replace("http://", "http://me:hidden@")
    );
    git(&site.bench.path(""), &["init", "-q", "-b", "main"]);
    // what a job around it has is not meant: tokens would go to another server
    let nothing = [
        ("GITEA_URL", ""),
        ("GITEA_REPO", ""),
        ("GITHUB_SERVER_URL", "http://127.0.0.1:1"),
        ("GITHUB_REPOSITORY", "else/where"),
    ];
    setup(&site, &[], &nothing)
        .expect(1)
        .says("the repository to set up is not known");
    git(&site.bench.path(""), &["remote", "add", "origin", &address]);
    let run = setup(&site, &[], &nothing).expect(0);
    assert!(!(run.stdout.clone() + &run.stderr).contains("hidden"));
    run.shows(&format!("acme/network at {place}:"));
    assert_eq!(site.gitea().workflow_secrets().len(), 3);
}

/// For a moment after the first push Gitea fails.
#[test]
fn a_server_that_fails_for_a_moment_is_asked_again() {
    let site = site(false);
    let path = |rest: &str| site.gitea().path(rest);
    for rest in ["/contents/netbird.json", "/branches/main"] {
        let fault = Fault::on("GET", &path(rest)).times(3);
        site.gitea().fault(fault.then(Effect::Html(500)));
    }
    setup(&site, &["--retry-wait", "0"], &[])
        .expect(0)
        .shows("set          branch rule main");
    // one that goes on failing is told
    let site = self::site(false);
    let fault = Fault::on("GET", &path("/contents/netbird.json")).always();
    site.gitea().fault(fault.then(Effect::Html(500)));
    let before = tree(&site.bench);
    setup(&site, &["--retry-wait", "0"], &[])
        .expect(1)
        .says("500");
    assert_eq!((tree(&site.bench), writes(&site).len()), (before, 0));
}

#[test]
fn a_push_list_that_came_out_without_the_bot_is_an_error() {
    let site = site(false);
    let made = json!({ "rule_name": "main", "enable_push": true, "enable_push_whitelist": true,
                       "push_whitelist_usernames": [] });
    site.gitea()
        .protect("netbird-gitops/inventory", json!({ "enable_push": true }));
    let fault = Fault::on("POST", &site.gitea().path("/branch_protections"));
    site.gitea().fault(fault.then(Effect::Status(201, made)));
    setup(&site, &[], &[])
        .expect(4)
        .says("main is protected, but the server did not put gitops-bot on its push allowlist")
        .says("then run init --setup again")
        .shows("not set      branch rule main");
}

/// The network is on the branch already, and its rule is set at once: the new workflows come by a pull request.
#[test]
fn what_is_protected_by_this_run_is_not_pushed_to_afterwards() {
    let site = site(false);
    let run = setup(&site, &[], &[("NETBIRD_API_TOKEN", "")]).expect(0);
    run.shows("  set          branch rule main  (only gitops-bot may push)\n")
        .shows("\nNETBIRD_API_TOKEN=\"$NETBIRD_PLAN_TOKEN\" netbird-gitops plan\n")
        // git has no branch netbird-gitops beside netbird-gitops/inventory
        .shows("git switch -c set-up-netbird\ngit add ")
        .shows("git push -u origin HEAD\n")
        .hides("HEAD:main");
}
