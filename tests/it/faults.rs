//! What comes of a server, or of something before it, that does not do as it should?

use std::time::Duration;

use fakes::{Effect, Fault, NetBird};
use serde_json::{Value, json};

use crate::run::{Bench, Run};

fn three_groups() -> Value {
    json!({ "groups": { "a": {}, "b": {}, "c": {} }, "policies": {} })
}

/// A bench whose file wants three groups.
fn bench() -> Bench {
    let bench = Bench::fake();
    bench.file(three_groups());
    bench
}

#[test]
fn a_token_that_was_deleted_is_an_error_and_no_plan() {
    let bench = bench();
    bench.apply(&[]).expect(0);
    bench.netbird().delete_token(&bench.server().token());
    for command in ["plan", "apply"] {
        for format in ["text", "markdown", "json"] {
            let run = bench
                .run(&[command, "--format", format, "--prune", "all"])
                .expect(1);
            assert!(
                !run.stdout.contains("to create") && !run.stdout.contains("create_"),
                "{}",
                run.stdout
            );
            run.says("404 invalid token").says("NETBIRD_API_TOKEN");
        }
    }
}

#[test]
fn a_token_that_expired_or_whose_user_is_blocked_says_what_to_do() {
    let bench = bench();
    let token = bench.netbird().token_for("admin");
    let environment = [("NETBIRD_API_TOKEN", token.as_str())];
    bench.netbird().block_user_of(&token);
    bench
        .run_with(&["plan"], &environment)
        .expect(1)
        .says("user is blocked")
        .says("hint: unblock");
    let token = bench.netbird().token_for("admin");
    bench.netbird().expire_token(&token);
    bench
        .run_with(&["plan"], &[("NETBIRD_API_TOKEN", &token)])
        .expect(1)
        .says("401 token invalid")
        .says("expired");
}

#[test]
fn a_token_that_is_deleted_midway_stops_the_run() {
    let bench = bench();
    let token = bench.server().token();
    bench.netbird().after("POST", "/groups", move |netbird| {
        netbird.delete_token(&token)
    });
    let run = bench.apply(&["--keep-going", "--format", "json"]).expect(4);
    assert_eq!(
        run.operations(),
        [
            "create_group a success",
            "create_group b failed",
            "create_group c skipped"
        ]
    );
    run.says("NETBIRD_API_TOKEN");
    bench.assert_writes(&["POST /groups", "POST /groups"]);
}

#[test]
fn a_read_that_fails_once_is_made_again() {
    for effect in [
        Effect::ErrorBefore,
        Effect::Html(502),
        Effect::Html(503),
        Effect::CutBefore,
        Effect::CutBody,
        Effect::CutAfter,
    ] {
        let bench = bench();
        bench
            .netbird()
            .fault(Fault::on("GET", "/groups").then(effect.clone()));
        bench.plan(&[]).expect(0).shows("3 to create");
    }
}

#[test]
fn a_read_that_keeps_failing_ends_the_run() {
    for (effect, said) in [
        (Effect::Html(502), "502"),
        (Effect::ErrorBefore, "500"),
        (Effect::CutBefore, "cannot list groups"),
    ] {
        let bench = bench();
        bench
            .netbird()
            .fault(Fault::on("GET", "/groups").always().then(effect));
        bench
            .apply(&[])
            .expect(1)
            .says("cannot list groups: GET ")
            .says(said);
        bench.assert_writes(&[]);
        let reads = bench
            .netbird()
            .requests()
            .iter()
            .filter(|request| request.path == "/groups")
            .count();
        assert!(reads <= 4, "{reads}");
    }
}

#[test]
fn a_list_of_policies_that_fails_while_they_change_is_read_again() {
    let changing = Effect::Status(
        500,
        json!({ "message": "no rules in the policy", "code": 500 }),
    );
    let bench = bench();
    bench.apply(&[]).expect(0);
    let fault = Fault::on("GET", "/policies").then(changing);
    bench.netbird().fault(fault.clone().times(3));
    bench.plan(&[]).expect(0).shows("No changes");
    bench.netbird().clear_faults();
    bench.netbird().clear_requests();
    bench.netbird().fault(fault.always());
    bench
        .plan(&[])
        .expect(1)
        .says("cannot list policies: GET ")
        .says("500 no rules in the policy: NetBird cannot list policies while one of them has no rules")
        .says("remove the policy with DELETE /api/policies/ID");
    let requests = bench.netbird().requests();
    let reads = requests
        .iter()
        .filter(|request| request.path == "/policies");
    assert_eq!(reads.count(), 4);
}

#[test]
fn a_server_that_hangs_ends_the_run_in_bounded_time() {
    let bench = bench();
    bench.netbird().fault(
        Fault::on("GET", "/groups")
            .always()
            .then(Effect::Slow(Duration::from_secs(600))),
    );
    bench
        .plan(&["--timeout", "0.5"])
        .expect(1)
        .says("no complete answer within 0.5 s");
}

#[test]
fn a_server_that_is_not_there() {
    let bench = bench();
    let url = { NetBird::start().url() };
    bench
        .run_with(&["plan"], &[("NETBIRD_API_URL", &url)])
        .expect(1)
        .says("is the server running, and is the port right?");
}

fn too_many(retry_after: Option<u64>) -> Effect {
    Effect::TooManyRequests { retry_after }
}

#[test]
fn a_429_is_waited_for_and_nothing_is_done_twice() {
    for retry_after in [None, Some(1)] {
        let bench = bench();
        let times = if retry_after.is_some() { 1 } else { 5 };
        bench.netbird().fault(
            Fault::on("POST", "/groups")
                .nth(2)
                .times(times)
                .then(too_many(retry_after)),
        );
        bench.netbird().fault(
            Fault::on("GET", "/policies")
                .times(times)
                .then(too_many(retry_after)),
        );
        bench.apply(&[]).expect(0).says("429");
        assert_eq!(bench.names("/groups"), ["All", "a", "b", "c"]);
    }
}

#[test]
fn a_429_that_does_not_end_ends_the_run_and_another_completes_it() {
    let bench = bench();
    bench.netbird().fault(
        Fault::on("POST", "/groups")
            .nth(2)
            .always()
            .then(too_many(None)),
    );
    let run = bench.apply(&[]).expect(4);
    run.says("[1/3] group a: created")
        .shows("group  c  not tried")
        .says("429 too many requests");
    let posts = bench.writes().len();
    assert_eq!(posts, 1 + 13, "the first, and one with twelve waits");
    bench.netbird().clear_faults();
    bench.apply(&[]).expect(0).shows("2 created");
}

#[test]
fn the_program_has_a_name_of_its_own() {
    // a bucket is not to be had by hiding behind another product's name
    let bench = bench();
    bench.plan(&[]).expect(0);
    for request in bench.netbird().requests() {
        let agent = request.header("user-agent").unwrap().to_owned();
        assert!(agent.starts_with("netbird-gitops/"), "{agent}");
    }
}

/// A creation whose answer does not arrive. A policy needs what it made.
fn lost(effect: Effect) -> (Bench, Run) {
    let bench = bench();
    let mut file = three_groups();
    file["policies"] = json!({ "p": { "sources": ["b"], "destinations": ["b"] } });
    bench.file(file);
    bench
        .netbird()
        .fault(Fault::on("POST", "/groups").nth(2).then(effect));
    let run = bench.apply(&["--timeout", "2"]);
    (bench, run)
}

#[test]
fn a_creation_that_arrived_without_an_answer_is_found_in_the_list() {
    for effect in [
        Effect::CutAfter,
        Effect::CutBody,
        Effect::ErrorAfter,
        Effect::SlowAfter(Duration::from_secs(600)),
    ] {
        let (bench, run) = lost(effect);
        run.expect(0).says("NetBird carried it out all the same");
        let groups = ["POST /groups"; 3].into_iter();
        let writes: Vec<&str> = groups.chain(["POST /policies"]).collect();
        bench.assert_writes(&writes);
        assert_eq!(bench.names("/groups"), ["All", "a", "b", "c"]);
        let recorded = &bench.inventory()["created"]["groups/b"];
        assert_eq!(*recorded, json!([bench.id("/groups", "b")]));
    }
}

/// What it finds in the list is its own only where it is the one that is new, and as the file says.
#[test]
fn a_creation_without_an_answer_is_not_told_by_its_name_alone() {
    let policy = |name: &'static str, protocol: &'static str| {
        move |netbird: &NetBird| {
            let all = netbird.list("/groups")[0]["id"].clone();
            let rule = json!({ "name": name, "enabled": true, "action": "accept", "bidirectional": true,
                               "protocol": protocol, "sources": [all], "destinations": [all] });
            netbird.create(
                "/policies",
                json!({ "name": name, "enabled": true, "rules": [rule] }),
            );
        }
    };
    let several = "NetBird has several new objects of that name";
    let done = "NetBird carried it out all the same";
    for (name, protocol, effect, code, said) in [
        ("q", "all", Effect::ErrorAfter, 0, done),
        ("p", "all", Effect::ErrorAfter, 4, several),
        (
            "p",
            "icmp",
            Effect::ErrorBefore,
            4,
            "stored something else: protocol",
        ),
    ] {
        let bench = Bench::fake();
        bench.file(json!({ "policies": { "p": { "sources": ["All"], "destinations": ["All"], "protocol": "all" } } }));
        bench
            .netbird()
            .before("POST", "/policies", policy(name, protocol));
        bench
            .netbird()
            .fault(Fault::on("POST", "/policies").then(effect));
        bench.apply(&[]).expect(code).says(said);
    }
    // an older object of the name that this run made itself is not taken for the new one
    let bench = Bench::fake();
    let route =
        |network: &str| json!({ "network": network, "peer_groups": ["g"], "groups": ["g"] });
    bench.file(json!({ "groups": { "g": {} }, "routes": { "r": [route("10.6.0.0/16"), route("10.7.0.0/16")] } }));
    let fault = Fault::on("POST", "/routes").nth(2);
    bench.netbird().fault(fault.then(Effect::ErrorAfter));
    bench.apply(&[]).expect(0).says(done);
}

#[test]
fn a_creation_that_did_not_arrive_is_not_made_blindly_again() {
    for effect in [
        Effect::CutBefore,
        Effect::ErrorBefore,
        Effect::Html(502),
        Effect::Html(200),
    ] {
        let (bench, run) = lost(effect);
        run.expect(4)
            .says("it was not created (NetBird's list does not have it); run again");
        bench.assert_writes(&["POST /groups", "POST /groups"]);
        bench.apply(&[]).expect(0);
        assert_eq!(bench.names("/groups"), ["All", "a", "b", "c"]);
    }
}

#[test]
fn changes_and_deletions_that_lost_their_answer() {
    let policy = |protocol: &str| json!({ "policies": { "p": { "sources": ["All"], "destinations": ["All"], "protocol": protocol } } });
    for effect in [Effect::CutBefore, Effect::CutAfter] {
        let bench = Bench::fake();
        bench.agreed(policy("tcp"));
        bench
            .netbird()
            .fault(Fault::on("PUT", "/policies/").then(effect.clone()));
        bench.file(policy("udp")).apply(&[]).expect(0);
        assert_eq!(bench.one("/policies", "p")["rules"][0]["protocol"], "udp");
        bench.file(
            json!({ "policies": { "Default": { "sources": ["All"], "destinations": ["All"] } } }),
        );
        bench
            .netbird()
            .fault(Fault::on("DELETE", "/policies/").then(effect));
        bench.apply(&["--prune", "all"]).expect(0);
        assert_eq!(bench.names("/policies"), ["Default"]);
    }
}

#[test]
fn a_web_page_is_never_an_empty_account() {
    for (status, why) in [
        (200, " answered HTML, not JSON"),
        (403, "not JSON (status 403)"),
        (502, "502 (a web page)"),
    ] {
        let bench = bench();
        bench.apply(&[]).expect(0);
        bench
            .netbird()
            .fault(Fault::on("GET", "/").always().then(Effect::Html(status)));
        let run = bench.plan(&["--prune", "all"]).expect(1).says(why);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn a_redirect_is_not_followed_and_gets_no_token() {
    let (bench, elsewhere) = (bench(), NetBird::start());
    let place = format!("{}/api/groups", elsewhere.url());
    bench.netbird().fault(
        Fault::on("GET", "/groups")
            .always()
            .then(Effect::Redirect(307, place)),
    );
    bench
        .plan(&[])
        .expect(1)
        .says("307 redirect to")
        .says("redirects are not followed");
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn an_older_server_without_networks_and_zones_is_no_trouble() {
    let bench = bench();
    bench.apply(&[]).expect(0);
    let missing = || {
        Effect::Raw(fakes::http::Response::new(
            404,
            "text/plain; charset=utf-8",
            "404 page not found\n",
        ))
    };
    let version = |text: &str| Effect::Status(200, json!({ "management_current_version": text }));
    let of_version = Fault::on("GET", "/instance/version").always();
    bench
        .netbird()
        .fault(of_version.clone().then(version("0.11.0")));
    for path in [
        "/networks",
        "/networks/resources",
        "/dns/zones",
        "/dns/settings",
    ] {
        bench
            .netbird()
            .fault(Fault::on("GET", path).always().then(missing()));
    }
    // one of 0.35 to 0.45 takes the last word for the id of a network
    let none = Fault::on("GET", "/networks/routers").always();
    bench.netbird().fault(none.then(Effect::Status(
        404,
        json!({ "message": "network not found", "code": 404 }),
    )));
    bench
        .file(json!({ "groups": { "a": {} } }))
        .apply(&["--prune", "all"])
        .expect(0);
    // so is a list that such a server has
    bench.netbird().clear_faults();
    bench
        .netbird()
        .fault(Fault::on("GET", "/networks").always().then(missing()));
    for (text, code) in [("0.34.9", 0), ("development", 0), ("0.35.0", 1)] {
        let fault = of_version.clone().then(version(text));
        bench.netbird().fault(fault);
        let run = bench.run(&["export"]);
        assert_eq!(run.code, code, "{text}: {}", run.stderr);
        bench.netbird().clear_faults();
        bench
            .netbird()
            .fault(Fault::on("GET", "/networks").always().then(missing()));
    }
    // and one that every server has
    bench
        .netbird()
        .fault(Fault::on("GET", "/groups").always().then(missing()));
    bench
        .plan(&[])
        .expect(1)
        .says("this server does not have /api/groups: it is too old, or the base URL is wrong");
    // nor is a server old that has nothing there
    bench.netbird().clear_faults();
    for wrong in ["/peers", "/API", "/api/groups"] {
        let url = format!("{}{wrong}", bench.server().url());
        let run = bench.run(&["plan", "--netbird-url", &url]).expect(1);
        let run = run.says("404");
        assert!(!run.stderr.contains("older than"), "{}", run.stderr);
    }
}

/// A key that is usable and that no inventory has is nobody's to delete.
#[test]
fn a_list_that_is_empty_or_old_makes_no_run_forget_a_key() {
    let list = |keys: Value| {
        let fault = Fault::on("GET", "/setup-keys");
        fault.then(Effect::Status(200, keys))
    };
    let bench = Bench::fake();
    bench.agreed(crate::secrets::one_key());
    let first = bench.id("/setup-keys", "k");
    bench.netbird().fault(list(json!([])));
    bench.apply(&[]);
    assert!(bench.inventory().to_string().contains(&first));
    bench.apply(&[]).expect(0);
    assert_eq!(bench.all("/setup-keys", "k").len(), 1);

    let bench = Bench::fake();
    let mut file = crate::secrets::one_key();
    bench.agreed(file.clone());
    file["setup_keys"]["new"] = file["setup_keys"]["k"].clone();
    let old = list(json!(bench.server().list("/setup-keys"))).always();
    bench
        .netbird()
        .after("PUT", "/setup-keys/", |netbird| netbird.fault(old));
    bench.file(file).apply(&[]).expect(4);
    bench.netbird().clear_faults();
    let made = bench.id("/setup-keys", "new");
    assert!(bench.inventory().to_string().contains(&made));
    bench.apply(&[]).expect(0);
    bench.one("/setup-keys", "new");
}

#[test]
fn what_cannot_be_verified_is_said() {
    let bench = bench();
    bench.netbird().after("POST", "/groups", |netbird| {
        netbird.fault(Fault::on("GET", "/groups").always());
    });
    bench
        .apply(&[])
        .expect(4)
        .says("applied, but not verified: cannot verify: cannot list groups");
    bench.netbird().clear_faults();
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn what_did_not_converge_is_said() {
    let bench = bench();
    bench.netbird().after("POST", "/groups", |netbird| {
        // somebody undoes it
        let (_, groups) = netbird.call("GET", "/groups", Value::Null);
        let a = groups
            .as_array()
            .unwrap()
            .iter()
            .find(|group| group["name"] == "a")
            .unwrap();
        netbird.call(
            "DELETE",
            &format!("/groups/{}", a["id"].as_str().unwrap()),
            Value::Null,
        );
    });
    bench
        .apply(&[])
        .expect(4)
        .says("applied, but not converged:\n  create group a");
    let unverified = self::bench();
    unverified
        .netbird()
        .fault(Fault::on("GET", "/groups").nth(2).always());
    unverified.apply(&["--no-verify"]).expect(0);
}

#[test]
fn an_error_on_an_old_server_says_that_it_is_old() {
    const OLD: &str = "this server is older than NetBird 0.64.2";
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    let missing = || {
        Fault::on("GET", "/groups").always().then(Effect::Status(
            404,
            json!({ "message": "no such thing", "code": 404 }),
        ))
    };
    let tells_nothing = || {
        let page = "404 page not found\n";
        let answer = fakes::http::Response::new(404, "text/plain; charset=utf-8", page);
        let fault = Fault::on("GET", "/instance/version").always();
        bench.netbird().fault(fault.then(Effect::Raw(answer)));
    };
    for command in ["plan", "apply", "export", "adopt"] {
        bench.netbird().clear_faults();
        bench.netbird().fault(missing());
        tells_nothing();
        let more: &[&str] = if command == "adopt" {
            &["--candidates"]
        } else {
            &[]
        };
        let run = bench.run(&[&[command], more].concat()).expect(1);
        run.says("no such thing").says(OLD);
    }
    bench.netbird().clear_faults();
    bench.netbird().fault(missing());
    let run = bench.plan(&[]).expect(1);
    assert!(!run.stderr.contains("this server is"), "{}", run.stderr);
    // in the middle of an apply, too
    bench.netbird().clear_faults();
    tells_nothing();
    let refused = Effect::Status(422, json!({ "message": "no", "code": 422 }));
    bench
        .netbird()
        .fault(Fault::on("POST", "/groups").then(refused));
    bench.apply(&[]).expect(4).says(OLD);
}

#[test]
fn an_error_of_a_request_through_a_proxy_names_the_proxy() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    let arguments = ["plan", "--netbird-url", "https://netbird.invalid"];
    let proxy = ("HTTPS_PROXY", "http://user:hunter2@127.0.0.1:1");
    let run = bench.run_with(&arguments, &[proxy]).expect(1);
    let run = run
        .says("(through the proxy 127.0.0.1:1 of HTTPS_PROXY)")
        .says("NO_PROXY lists hosts");
    assert!(!run.stderr.contains("hunter2"));
}
