//! How many requests does a run make? A token can be limited to six a minute. And what it takes of the machine.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::run::Bench;

/// Fifty objects of all kinds that are made by one request, and every section.
fn fifty() -> Value {
    let entries = |prefix: &str, number: usize, entry: &dyn Fn(usize) -> Value| -> Value {
        (0..number)
            .map(|n| (format!("{prefix}{n:02}"), entry(n)))
            .collect::<Map<_, _>>()
            .into()
    };
    json!({
        "groups": entries("g", 20, &|_| json!({})),
        "setup_keys": {},
        "policies": entries("p", 18, &|n| json!({ "sources": [format!("g{n:02}")], "destinations": ["g19"] })),
        "routes": entries("r", 6, &|n| json!({ "network": format!("10.{n}.0.0/16"), "peer_groups": ["g00"], "groups": ["g01"] })),
        "dns": { "nameserver_groups": entries("n", 6, &|n| json!({ "nameservers": [{ "ip": format!("10.{n}.0.53") }], "groups": ["g00"],
                                                                    "domains": [format!("d{n}.example")] })) }
    })
}

fn counts(bench: &Bench) -> (usize, usize) {
    let requests = bench.netbird().requests();
    let reads = requests
        .iter()
        .filter(|request| request.method == "GET")
        .count();
    (reads, requests.len() - reads)
}

#[test]
fn fifty_creations_are_fifty_writes_and_eight_reads_before_and_after() {
    let bench = Bench::fake();
    bench.file(fifty());
    let run = bench.apply(&["--format", "json"]).expect(0);
    let (reads, writes) = counts(&bench);
    assert!(
        reads <= 16 && writes == 50,
        "{reads} reads, {writes} writes"
    );
    assert_eq!(run.json()["requests"], reads + writes);
    assert_eq!(run.json()["summary"]["created"], 50);
}

#[test]
fn a_plan_without_changes_is_eleven_requests_at_most() {
    let bench = Bench::fake();
    bench.agreed(fifty());
    bench.plan(&[]).expect(0).shows("No changes");
    let (reads, writes) = counts(&bench);
    assert!(reads <= 11 && writes == 0, "{reads} reads");
    // an apply that has nothing to do has nothing to verify, and nobody asks it who reaches whom
    bench.netbird().clear_requests();
    bench.apply(&[]).expect(0);
    assert!(counts(&bench).0 <= 8);
}

#[test]
fn sections_that_are_not_there_are_not_asked_for_but_by_who_reads_who_reaches_whom() {
    let bench = Bench::fake();
    bench.file(json!({ "policies": { "p": { "sources": ["All"], "destinations": ["All"] } } }));
    let paths = || -> Vec<String> {
        let requests = bench.netbird().requests().into_iter();
        let reads = requests.filter(|request| request.method == "GET");
        let mut paths: Vec<String> = reads.map(|request| request.path).collect();
        paths.sort();
        paths
    };
    bench.plan(&[]).expect(0);
    assert_eq!(
        paths(),
        [
            // whose inventory it is
            "/accounts",
            "/groups",
            "/networks",
            "/networks/resources",
            "/networks/routers",
            "/peers",
            "/policies",
            "/routes",
            "/setup-keys",
            "/users"
        ]
    );
    let few = ["/accounts", "/groups", "/policies", "/users"];
    bench.netbird().clear_requests();
    bench.plan(&["--access", "none"]).expect(0);
    assert_eq!(paths(), few);
    bench.netbird().clear_requests();
    bench.apply(&["--no-verify"]).expect(0);
    assert_eq!(paths(), few);
}

#[test]
fn a_key_is_two_writes_and_a_member_one_read_and_one_write() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m"]);
    let file = |peers: Value| json!({ "groups": { "g": { "peers": peers } }, "setup_keys": keys });
    bench.agreed(file(json!([])));
    bench
        .file(file(json!(["m"])))
        .apply(&["--no-verify"])
        .expect(0);
    let (reads, writes) = counts(&bench);
    assert!(reads <= 6 && writes == 1, "{reads} reads, {writes} writes");
}

/// Each list is said to have 250 MiB; with room for ten of them there would be none left.
#[test]
fn a_length_that_a_server_claims_takes_no_memory() {
    let bench = Bench::fake();
    bench.file(fifty());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 262144000\r\n\r\n[";
            let _ = stream.write_all(head.as_bytes());
        }
    });
    let plan = bench.command(&["plan"]);
    let mut shell = Command::new("bash");
    let limited = "ulimit -v 1500000; \"$0\" plan --retry-wait 0 --netbird-url \"$1\"";
    shell.args(["-c", limited]).arg(plan.get_program()).arg(url);
    shell.current_dir(bench.path("")).env_clear();
    shell.envs(
        plan.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    shell.env("MALLOC_ARENA_MAX", "2");
    let run = bench.outcome(shell.output().expect("bash"));
    run.expect(1).says("the answer was cut off");
}
