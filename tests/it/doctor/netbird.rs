//! The file, the recipients, and NetBird.

use fakes::{Effect, Fault, Response};
use serde_json::{Value, json};

use super::{Setup, file};
use crate::run::Job;

const TOKEN_AND_ALL_BEHIND: [&str; 5] = [
    "netbird_version",
    "netbird_token",
    "netbird_role",
    "netbird_token_life",
    "netbird_account",
];

fn always(method: &str, path: &str, effect: Effect) -> Fault {
    Fault::on(method, path).always().then(effect)
}

#[test]
fn a_wrong_file_is_told_with_its_first_problem() {
    let setup = Setup::new();
    setup
        .site
        .bench
        .text("{\"groups\": {\"a\": {\"pears\": []}, \"b\": 1}}\n");
    let found = setup.found(&[], &[]);
    found.only(
        "file",
        "netbird.json has 2 problems, the first at 1:19: unknown field",
        &[],
    );
    setup.found(&["-f", "nope.json"], &[]).failed(&["file"]).is(
        "file",
        Some(false),
        "no such file",
    );
}

#[test]
fn recipients_are_read_and_needed_where_keys_are_to_come() {
    let setup = Setup::new();
    let with = |recipients| setup.found(&["--for", "apply"], &[("AGE_PUBLIC_KEY", recipients)]);
    with("age1nobody").only("recipients", "AGE_PUBLIC_KEY", &[]);
    with("").only("recipients", "the file has 1 setup key to create", &[]);
    let plan = setup.found(&["--for", "plan"], &[("AGE_PUBLIC_KEY", "")]);
    plan.failed(&[])
        .is("recipients", None, "needs one (AGE_PUBLIC_KEY)");
    // a key that is there is not created
    let mut file = file();
    file["setup_keys"]["fleet"] = json!({ "type": "reusable", "expires_in": 0 });
    setup.site.commit(file.clone());
    let fleet = json!({ "name": "fleet", "type": "reusable", "expires_in": 0, "usage_limit": 0, "auto_groups": [] });
    let fleet = setup.site.bench.create("/setup-keys", fleet);
    with("").only("recipients", "the file has 1 setup key to create", &[]);
    file["setup_keys"].as_object_mut().unwrap().remove("hawk");
    setup.site.commit(file);
    with("")
        .failed(&[])
        .is("recipients", None, "needs one (AGE_PUBLIC_KEY)");
    setup.site.bench.server().call(
        "DELETE",
        &format!("/setup-keys/{}", crate::run::id(&fleet)),
        Value::Null,
    );
    with("").only("recipients", "the file has 1 setup key to create", &[]);
    setup.site.commit(json!({ "groups": { "a": {} } }));
    with("")
        .failed(&[])
        .is("recipients", None, "needs one (AGE_PUBLIC_KEY)");
}

#[test]
fn the_kill_switch_stops_an_apply() {
    let setup = Setup::new();
    let halt = [("NETBIRD_GITOPS_HALT", "incident 12")];
    setup
        .found(&["--for", "apply"], &halt)
        .only("halt", "incident 12", &[]);
    setup.found(&["--for", "plan"], &halt).failed(&[]);
}

#[test]
fn what_is_not_the_api_is_told_from_a_wrong_token() {
    let setup = Setup::new();
    let netbird = setup.site.bench.netbird();
    netbird.fault(always("*", "/", Effect::Html(200)));
    let dashboard = setup.found(&[], &[]);
    dashboard.only("netbird_url", "looks like", &TOKEN_AND_ALL_BEHIND);
    netbird.clear_faults();
    // a proxy before a server that is down
    netbird.fault(always("*", "/", Effect::Html(502)));
    let down = setup.found(&[], &[]);
    down.only("netbird_url", "502", &TOKEN_AND_ALL_BEHIND);
    netbird.clear_faults();
    // a server that is another one's
    let plain = Response::new(404, "text/plain; charset=utf-8", "404 page not found\n");
    netbird.fault(always("*", "/", Effect::Raw(plain)));
    setup.found(&[], &[]).only(
        "netbird_url",
        "the base URL is wrong",
        &TOKEN_AND_ALL_BEHIND,
    );
    netbird.clear_faults();
    for (url, words) in [
        ("http://127.0.0.1:1", "is the server running"),
        ("http://example.org", "https"),
        ("https://user:word@example.org", "password"),
        ("", "set NETBIRD_API_URL"),
    ] {
        let found = setup.found(&[], &[("NETBIRD_API_URL", url)]);
        found.only("netbird_url", words, &TOKEN_AND_ALL_BEHIND);
        assert!(!found.check("netbird_url").to_string().contains("user:word"));
    }
}

#[test]
fn an_old_server_tells_no_version_and_an_older_one_no_times() {
    let setup = Setup::new();
    let netbird = setup.site.bench.netbird();
    let version = |version: &str| {
        let answer = json!({ "management_current_version": version });
        netbird.clear_faults();
        netbird.fault(always(
            "GET",
            "/instance/version",
            Effect::Status(200, answer),
        ));
        setup.found(&[], &[])
    };
    version("0.64.2")
        .failed(&[])
        .is("netbird_version", Some(true), "NetBird 0.64.2");
    version("development")
        .failed(&[])
        .is("netbird_version", None, "not a version");
    netbird.clear_faults();
    let plain = Response::new(404, "text/plain; charset=utf-8", "404 page not found\n");
    netbird.fault(always("GET", "/instance/version", Effect::Raw(plain)));
    let found = setup.found(&[], &[]);
    found
        .failed(&[])
        .is("netbird_version", None, "older than NetBird 0.64.2");
    found
        .is("netbird_token", Some(true), "")
        .is("netbird_url", Some(true), "");
    let peer = Effect::Status(200, json!([{ "id": "p", "name": "m" }]));
    netbird.fault(always("GET", "/peers", peer));
    setup.found(&[], &[]).only(
        "netbird_version",
        "older than NetBird 0.55; netbird-gitops needs 0.55 or later",
        &[],
    );
}

#[test]
fn clocks_may_differ_by_some_seconds() {
    let setup = Setup::new();
    let netbird = setup.site.bench.netbird();
    netbird.advance(6);
    setup
        .found(&[], &[])
        .failed(&[])
        .is("netbird_clock", Some(true), "ahead of ours");
    netbird.advance(60);
    setup
        .found(&[], &[])
        .only("netbird_clock", "seconds ahead of ours", &[]);
}

#[test]
fn a_token_that_is_not_taken_is_told() {
    let setup = Setup::new();
    let netbird = setup.site.bench.netbird();
    let behind = ["netbird_role", "netbird_token_life", "netbird_account"];
    let with = |token: &str| setup.found(&[], &[("NETBIRD_API_TOKEN", token)]);
    with("").only("netbird_token", "set NETBIRD_API_TOKEN", &behind);
    with("\"nbp_quoted\"").only("netbird_token", "quotes", &behind);
    with("nbp_cut").only("netbird_token", "401 token invalid", &behind);
    let [deleted, expired, blocked] = ["admin"; 3].map(|role| netbird.token_for(role));
    netbird.delete_token(&deleted);
    netbird.expire_token(&expired);
    netbird.block_user_of(&blocked);
    with(&deleted).only("netbird_token", "404 invalid token", &behind);
    with(&expired).only("netbird_token", "401 token invalid", &behind);
    let found = with(&blocked);
    found.only("netbird_token", "user is blocked", &behind);
    found.is("netbird_version", Some(true), "0.77.1");
}

#[test]
fn a_role_is_measured_by_what_it_is_for() {
    let setup = Setup::new();
    let netbird = setup.site.bench.netbird();
    let with = |args: &[&str], token: &str| setup.found(args, &[("NETBIRD_API_TOKEN", token)]);
    let auditor = netbird.token_for("auditor");
    let wrong = with(&["--for", "apply"], &auditor);
    wrong.only(
        "netbird_role",
        "service user auditor, role auditor: it cannot change anything",
        &[],
    );
    with(&["--for", "plan"], &auditor).failed(&[]).is(
        "netbird_role",
        Some(true),
        "enough for a plan",
    );
    let found = with(&[], &auditor);
    found
        .failed(&[])
        .is("netbird_role", Some(true), "an apply needs the role admin");
    found.is("job", Some(true), "checked what plan needs");
    let admin = netbird.token_for("admin");
    with(&["--for", "plan"], &admin).failed(&[]).is(
        "netbird_role",
        Some(true),
        "more than a plan needs",
    );
    with(&[], &admin)
        .failed(&[])
        .is("job", Some(true), "checked what apply needs");
    // the file has setup keys, which it cannot write
    let network_admin = netbird.token_for("network_admin");
    with(&["--for", "apply"], &network_admin).only("netbird_role", "cannot change setup keys", &[]);
    setup.site.commit(json!({ "groups": { "a": {} } }));
    with(&["--for", "apply"], &network_admin).failed(&[]);
    // who is shown a part takes the rest for gone
    let person = netbird.person_token("user");
    with(&["--for", "plan"], &person).only("netbird_role", "only a part of the account", &[]);
}

#[test]
fn a_persons_token_is_a_notice() {
    let setup = Setup::new();
    let owner = setup.site.bench.netbird().person_token("admin");
    let tip = setup.site.repo().tip("main");
    let job = Job::push(&setup.site, &tip).with("NETBIRD_API_TOKEN", &owner);
    let laptop = setup.found(&["--for", "apply"], &[("NETBIRD_API_TOKEN", &owner)]);
    for found in [setup.found_in_job(&[], &job), laptop] {
        let found = found.failed(&[]);
        found
            .is(
                "netbird_role",
                Some(true),
                "a person, role admin: enough for an apply",
            )
            .is("netbird_role", Some(true), "Create a service user");
    }
}

#[test]
fn a_token_that_ends_soon_is_told_before() {
    let setup = Setup::new();
    let netbird = setup.site.bench.netbird();
    let token = |days: i64| {
        let user = netbird.user_id(&netbird.token_for("admin")).unwrap();
        let path = format!("/users/{user}/tokens");
        let made = netbird.create(&path, json!({ "name": "ci", "expires_in": days }));
        made["plain_token"].as_str().unwrap().to_owned()
    };
    let with = |token: &str| setup.found(&[], &[("NETBIRD_API_TOKEN", token)]);
    with(&token(14)).only(
        "netbird_token_life",
        "token \\\"ci\\\" expires in 13 days",
        &[],
    );
    with(&token(16))
        .failed(&[])
        .is("netbird_token_life", Some(true), "expires in 15 days");
    let denied = Effect::Status(403, json!({ "message": "permission denied", "code": 403 }));
    let path = format!(
        "/users/{}/tokens",
        netbird.user_id(&netbird.token()).unwrap()
    );
    netbird.fault(always("GET", &path, denied));
    setup
        .found(&[], &[])
        .failed(&[])
        .is("netbird_token_life", None, "does not say");
}

#[test]
fn another_account_is_told() {
    let setup = Setup::new();
    let other = setup.found(&[], &[("NETBIRD_ACCOUNT_ID", "d2m5000l0ubs73a9k0a0")]);
    other.only("netbird_account", "not to d2m5000l0ubs73a9k0a0", &[]);
    let none = setup.found(&[], &[("NETBIRD_ACCOUNT_ID", "")]);
    none.failed(&[]).is("netbird_account", None, &setup.account);
}

#[test]
fn a_rate_limit_is_told_where_it_shows() {
    let setup = Setup::new();
    let netbird = setup.site.bench.netbird();
    netbird.fault(always(
        "GET",
        "/accounts",
        Effect::TooManyRequests { retry_after: None },
    ));
    let found = setup.found(&[], &[]);
    found
        .failed(&["netbird_rate_limit"])
        .is("netbird_account", None, "too many requests");
    netbird.clear_faults();
    let left = |left: &str| {
        let version = json!({ "management_current_version": "0.77.1" });
        let answer = Response::json(200, &version).with("X-RateLimit-Limit", "60");
        let answer = answer.with("X-RateLimit-Remaining", left);
        netbird.clear_faults();
        netbird.fault(always("GET", "/instance/version", Effect::Raw(answer)));
        setup.found(&[], &[])
    };
    left("59")
        .failed(&[])
        .is("netbird_rate_limit", Some(true), "59 of 60 requests left");
    left("3").only("netbird_rate_limit", "3 of 60 requests left", &[]);
}

/// A pull request from a fork has no secrets.
#[test]
fn a_forks_job_is_told_why_it_has_no_token() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    let mut other = file();
    other["groups"]["more"] = json!({});
    let head = gitea.push("feature", "netbird.json", setup.site.text(other), "m\n");
    let base = setup.site.repo().tip("main");
    let number = setup.site.repo().open_pr("feature", "main");
    let pull = crate::run::Pull {
        number,
        head: &head,
        base: &base,
    };
    let job = Job::fork(&setup.site, &pull).with("GITEA_TOKEN", "");
    // nothing of it is wrong: the step of the plan says it once more
    let found = setup.found_in_job(&[], &job);
    found.failed(&[]);
    for check in ["netbird_token", "gitea_url"] {
        let why = "not checked: a pull request from a fork has no secrets";
        found.is(check, None, why);
    }
    assert_eq!(found.check("job")["ok"], Value::Bool(true));
    // the job's own token may see no comments there
    let comments = gitea.path(&format!("/issues/{number}/comments"));
    let absent = Effect::Status(404, json!({ "message": "not found" }));
    gitea.fault(Fault::on("GET", &comments).always().then(absent.clone()));
    let listed = gitea.path("/issues/comments");
    gitea.fault(Fault::on("GET", &listed).always().then(absent));
    let token = gitea.job_token();
    let job = Job::fork(&setup.site, &pull).with("GITEA_TOKEN", &token);
    let found = setup.found_in_job(&[], &job);
    found.failed(&[]).is(
        "gitea_comment",
        None,
        "not checked: a pull request from a fork has no secrets",
    );
    let job = Job::pull_request(&setup.site, &pull).with("GITEA_TOKEN", &token);
    setup.found_in_job(&[], &job).is(
        "gitea_comment",
        Some(false),
        "the token may not see comments",
    );
}
