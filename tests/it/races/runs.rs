//! What comes of two runs at once, and of what killed ones left?

use serde_json::json;

use super::{assert_one_live_of_each, assert_one_of_each, assert_unreferred, one_of_each, other};
use crate::run::{Bench, Server};

#[test]
fn a_run_that_begins_and_ends_within_another() {
    // before each write of the first run the second one does everything
    let moments = [
        ("POST", "/groups"),
        ("POST", "/setup-keys"),
        ("PUT", "/setup-keys/"),
        ("POST", "/policies"),
        ("POST", "/routes"),
        ("POST", "/dns/nameservers"),
    ];
    for (method, path) in moments {
        let bench = Bench::fake();
        bench.file(one_of_each());
        let mut second = other(&bench);
        bench.netbird().before(method, path, move |_| {
            let output = second.output().unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        });
        let first = bench.apply(&[]);
        assert!(
            matches!(first.code, 0 | 4),
            "{method} {path}: {}",
            first.stderr
        );
        if first.code == 4 {
            bench.apply(&[]).expect(0);
        }
        assert_one_of_each(&bench, &["sealed-keys", "other"]);
    }
}

#[test]
fn two_runs_on_a_server_that_takes_both_creations_end_in_one_object_of_each_name() {
    // before the first creation of each kind the second run does everything, and the server does not see that
    let moments = [
        "/groups",
        "/setup-keys",
        "/policies",
        "/routes",
        "/dns/nameservers",
    ];
    for path in moments {
        let bench = Bench::fake();
        bench.netbird().unserialised(true);
        bench.file(one_of_each());
        let mut second = other(&bench);
        bench.netbird().before("POST", path, move |_| {
            assert!(second.output().unwrap().status.success());
        });
        // both wrote down what they made, and the next run keeps the first
        bench
            .apply(&[])
            .expect(4)
            .says("applied, but not converged");
        bench.apply(&[]).expect(0);
        assert_unreferred(&bench);
        bench.plan(&[]).expect(0).shows("No changes");
        assert_one_of_each(&bench, &["sealed-keys", "other"]);
    }
}

#[test]
fn the_first_of_two_runs_leaves_the_second_ones_objects_to_it() {
    let bench = Bench::fake();
    bench.netbird().unserialised(true);
    bench.file(one_of_each());
    let mut second = other(&bench);
    // the other run makes everything once we have, and looks at it after we did
    bench.netbird().after("POST", "/dns/nameservers", move |_| {
        let output = second.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    });
    bench.apply(&[]).expect(0);
    assert_unreferred(&bench);
    bench.plan(&[]).expect(0).shows("No changes");
    assert_one_of_each(&bench, &["sealed-keys", "other"]);
}

#[test]
fn two_runs_at_once_end_in_one_object_of_each_name() {
    for _ in 0..3 {
        let bench = Bench::scenario_that_enrolls();
        bench.file(one_of_each());
        let mut runs = [bench.command(&["apply"]), other(&bench)];
        let quiet = std::process::Stdio::null;
        let runs = runs
            .each_mut()
            .map(|run| run.stdout(quiet()).stderr(quiet()).spawn().unwrap());
        let codes = runs.map(|mut run| run.wait().unwrap().code());
        assert!(
            codes.iter().all(|code| matches!(code, Some(0 | 4))),
            "{codes:?}"
        );
        // finished by the next run, which does not know where the others keep what they sealed
        bench.apply(&[]).expect(0);
        bench.plan(&[]).expect(0).shows("No changes");
        assert_one_live_of_each(&bench, &["sealed-keys", "other"]);
    }
}

#[test]
fn a_bench_on_a_real_server_leaves_nothing_behind() {
    // of the tests themselves: what they make is gone with the bench
    let Some(server) = Server::real() else { return };
    let bench = Bench::scenario();
    bench.agreed(one_of_each());
    bench.resource("lan");
    bench.check("new");
    let have = |list: &str| {
        server
            .list(list)
            .iter()
            .filter_map(|entry| bench.server().own_name(entry))
            .count()
    };
    assert_eq!(have("/groups"), 3, "with All");
    let names = [
        "/groups",
        "/setup-keys",
        "/policies",
        "/routes",
        "/dns/nameservers",
        "/networks",
        "/posture-checks",
    ];
    let prefix = bench.server().name("");
    drop(bench);
    for list in names {
        let left = server
            .list(list)
            .iter()
            .any(|entry| entry.to_string().contains(&prefix));
        assert!(!left, "{list}");
    }
}

#[test]
fn a_network_that_two_runs_make_at_once_is_one_after_the_next_run() {
    // a network's name may be there twice, a resource's may not: the second resource is refused
    let bench = Bench::fake();
    bench.file(json!({
        "groups": { "lan": {} },
        "networks": { "hangar": { "resources": { "printer": { "address": "10.6.0.9", "groups": ["lan"] } } } }
    }));
    let mut second = other(&bench);
    bench.netbird().unserialised(true);
    bench.netbird().before("POST", "/networks", move |_| {
        assert!(second.output().unwrap().status.success());
    });
    bench
        .apply(&[])
        .expect(4)
        .says("resource with name printer already exists");
    bench.apply(&[]).expect(0);
    bench.plan(&[]).expect(0).shows("No changes");
    assert_eq!(bench.server().list("/networks").len(), 1);
}

/// It was killed before it recorded the group, and the event log proves whose it is.
#[test]
fn what_another_run_made_meanwhile_goes_with_its_entry() {
    for is_ours in [true, false] {
        let bench = Bench::fake();
        let keys = bench.enrolled(&["m"]);
        let without = json!({ "groups": { "keep": {} }, "setup_keys": keys, "policies": {} });
        bench.agreed(without.clone());
        let token = bench.server().token();
        bench.netbird().before("POST", "/groups", move |netbird| {
            let (url, body) = (
                format!("{}/api/groups", netbird.url()),
                json!({ "name": "g" }),
            );
            match is_ours {
                true => drop(fakes::client::send("POST", &url, Some(&token), Some(&body))),
                false => drop(netbird.create("/groups", body)),
            }
        });
        let mut file = without.clone();
        file["groups"]["g"] = json!({ "peers": ["m"] });
        file["policies"]["p"] = json!({ "sources": ["g"], "destinations": ["keep"] });
        bench.file(file).apply(&[]).expect(0);
        assert_eq!(bench.one("/groups", "g")["peers_count"], 1);
        let origin = if is_ours { "created" } else { "adopted" };
        let recorded = &bench.inventory()[origin]["groups/g"];
        assert_eq!(*recorded, json!([bench.id("/groups", "g")]));
        bench.file(without).apply(&[]).expect(0);
        assert_eq!(bench.all("/groups", "g").is_empty(), is_ours);
    }
}
