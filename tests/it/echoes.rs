//! A server that repeats a secret of ours in what it says, or orders a terminal to do something.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Bench, Job, Pull, Run, Site};
use crate::secrets::one_key;

/// A secret as servers repeat it: in a message, in lower case as NetBird does, and in what is no JSON.
fn echoes(secret: &str) -> [Effect; 4] {
    let percent: String = secret.bytes().map(|b| format!("%{b:02X}")).collect();
    let escaped: String = secret.bytes().map(|b| format!("\\u{b:04x}")).collect();
    let text = |text: String| fakes::Response::new(400, "text/plain", text);
    [
        Effect::Status(400, json!({ "message": format!("no: {secret}") })),
        Effect::Status(400, json!({ "message": secret.to_lowercase() })),
        Effect::Raw(text(format!("GET /x?token={percent}"))),
        Effect::Raw(text(format!("{}{escaped}", "x".repeat(150)))),
    ]
}

/// That nothing of it is told, not even a part.
#[track_caller]
fn hides(run: &Run, more: &[String], secret: &str) {
    let texts = [&run.stdout, &run.stderr].into_iter().chain(more);
    for text in texts.map(|text| text.to_lowercase()) {
        let escaped = text.contains("\\u0") || text.contains("%6");
        let part = secret[8..24].to_lowercase();
        assert!(!escaped && !text.contains(&part), "{text}");
    }
}

#[test]
fn netbirds_token_is_not_told() {
    let bench = Bench::fake();
    let token = bench.netbird().token();
    bench.file(json!({ "groups": { "g": {} } }));
    for effect in echoes(&token) {
        let fault = Fault::on("GET", "/groups").always().then(effect);
        bench.netbird().fault(fault);
        let run = bench.plan(&["--report", "report.json", "-vv"]).expect(1);
        let report = std::fs::read_to_string(bench.path("report.json")).unwrap();
        assert!(
            report.contains("***") && run.stderr.contains("***"),
            "{report}"
        );
        hides(&run, &[report], &token);
        bench.netbird().clear_faults();
    }
}

#[test]
fn a_new_key_is_not_told() {
    // in the answer that would have had it, and in a later one
    for (method, path) in [("POST", "/setup-keys"), ("PUT", "/setup-keys/")] {
        for number in 0..4 {
            let bench = Bench::fake();
            bench.file(one_key());
            let unknown = "A616097E-FCF0-48FA-9354-CA4A61142761";
            let (at, step) = match method {
                "POST" => ("/groups", "POST"),
                _ => ("/setup-keys", "POST"),
            };
            let path = path.to_owned();
            bench.netbird().after(step, at, move |netbird| {
                let key = netbird.secrets().pop().unwrap_or(unknown.to_owned());
                let effect = echoes(&key)[number].clone();
                netbird.fault(Fault::on(method, &path).always().then(effect));
            });
            let run = bench.apply(&["--report", "report.json", "-vv"]);
            assert_ne!(run.code, 0);
            let report = std::fs::read_to_string(bench.path("report.json")).unwrap();
            let key = bench
                .netbird()
                .secrets()
                .pop()
                .unwrap_or(unknown.to_owned());
            hides(&run, &[report], &key);
        }
    }
}

/// A pull request that adds a group, and its job.
fn proposed(site: &Site) -> (u64, Job) {
    let base = site.repo().tip("main");
    let text = site.text(json!({ "groups": { "new": {} } }));
    let head = site
        .repo()
        .push("change", "netbird.json", text.as_bytes(), "a change");
    site.bench.text(&text);
    let number = site.repo().open_pr("change", "main");
    let pull = Pull {
        number,
        head: &head,
        base: &base,
    };
    (number, Job::pull_request(site, &pull))
}

#[test]
fn neither_token_is_told_in_a_comment_or_of_one() {
    let site = Site::fake();
    let (number, job) = proposed(&site);
    let (token, other) = (site.bench.netbird().token(), site.gitea().token());
    let fault = Fault::on("GET", "/groups").always();
    let said = json!({ "message": format!("{token} and {other}") });
    site.bench
        .netbird()
        .fault(fault.then(Effect::Status(400, said)));
    let run = site.in_job(&["plan", "--comment"], &job).expect(1);
    let body = |comment: &Value| comment["body"].as_str().unwrap().to_owned();
    let bodies: Vec<String> = site.repo().comments(number).iter().map(body).collect();
    assert!(bodies[0].contains("and"), "{}", bodies[0]);
    hides(&run, &bodies, &token);
    hides(&run, &bodies, &other);

    let comments = site.gitea().path(&format!("/issues/{number}/comments"));
    for effect in echoes(&other) {
        site.gitea()
            .fault(Fault::on("GET", &comments).always().then(effect));
        let run = site
            .in_job(&["plan", "--comment"], &job)
            .expect(1)
            .says("***");
        hides(&run, &[], &other);
        site.gitea().clear_faults();
    }
}

#[test]
fn a_terminal_obeys_no_server() {
    let site = Site::fake();
    let (number, job) = proposed(&site);
    let comments = site.gitea().path(&format!("/issues/{number}/comments"));
    let orders = "https://gitea.example/\u{1b}]0;owned\u{7}\u{1b}[8mx\u{9b}2J";
    let posted =
        json!({ "id": 7, "html_url": orders, "body": "", "user": { "id": 1, "login": "b" } });
    site.gitea()
        .fault(Fault::on("POST", &comments).then(Effect::Status(201, posted)));
    let run = site.in_job(&["plan", "--comment", "--log-format", "text"], &job);
    let run = run.says("gitea.example");
    let version = json!({ "management_current_version": orders });
    let bench = &site.bench;
    bench.netbird().fault(
        Fault::on("GET", "/instance/version")
            .always()
            .then(Effect::Status(200, version)),
    );
    let doctor = bench.run(&["doctor"]);
    for text in [&run.stdout, &run.stderr, &doctor.stdout, &doctor.stderr] {
        let is_order = |char: char| char.is_control() && char != '\n';
        assert!(!text.contains(is_order), "{text:?}");
    }
}
