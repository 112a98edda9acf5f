//! The gates by what the inventory has: closed with nothing written, open with the exact word.

use serde_json::{Value, json};

use super::{base, by_hand, kinds, with};
use crate::run::Bench;

fn groups(number: usize) -> Value {
    (0..number).fold(base(), |file, n| {
        with(file, "groups", &format!("x{n:02}"), json!({}))
    })
}

fn entry(section: &str) -> Value {
    let mut kinds = kinds().into_iter();
    kinds.find(|kind| kind.0 == section).expect("a kind").2
}

#[test]
fn ten_deletions_pass_and_eleven_do_not() {
    for (number, max, passes) in [
        (10, None, true),
        (11, None, false),
        (11, Some("11"), true),
        (1, Some("0"), false),
    ] {
        let bench = Bench::in_git();
        bench.applied(1.0, groups(number));
        bench.declared(9.0, base());
        let args: Vec<&str> = max.iter().flat_map(|max| ["--max-deletes", *max]).collect();
        if passes {
            bench.apply(&args).expect(0);
            assert_eq!(bench.names("/groups"), ["All", "g"]);
        } else {
            bench.refuses(&args).says("more than --max-deletes");
            bench.plan(&args).expect(0).shows("apply would refuse");
            let args = [&args[..], &["--detailed-exitcode"]].concat();
            bench.plan(&args).expect(2);
        }
    }
}

#[test]
fn deletions_of_objects_and_members_are_one_number() {
    let bench = Bench::in_git();
    let names: Vec<String> = (0..6).map(|n| format!("p{n}")).collect();
    for name in &names {
        bench.peer(name);
    }
    let file =
        |groups: Value, peers: &[String]| with(groups, "groups", "m", json!({ "peers": peers }));
    bench.applied(0.0, file(base(), &[]));
    bench.applied(1.0, file(groups(6), &names));
    bench.declared(9.0, file(base(), &[]));
    bench
        .refuses(&[])
        .says("this plan deletes 6 objects and removes 6 group members")
        .shows("Allow-Deletes: 12 ");
    bench.refuses(&["--allow-deletes", "6"]);
    bench.apply(&["--allow-deletes", "12"]).expect(0);
}

#[test]
fn a_replacement_is_no_deletion() {
    let bench = Bench::in_git();
    let keys = |limit: i64| {
        (0..12).fold(base(), |file, n| {
            let key = json!({ "type": "reusable", "expires_in": 0, "usage_limit": limit });
            with(file, "setup_keys", &format!("k{n}"), key)
        })
    };
    bench.applied(1.0, keys(1));
    bench.declared(9.0, keys(2));
    bench.apply(&[]).expect(0).shows("12 replaced");
}

#[test]
fn the_last_of_ours_is_the_last_whatever_others_have() {
    for (section, _, _) in kinds() {
        let bench = Bench::in_git();
        let mut other = entry(section);
        if section == "routes" {
            other["network"] = json!("10.2.0.0/16");
        }
        let two = with(
            with(base(), section, "x", entry(section)),
            section,
            "y",
            other,
        );
        bench.applied(1.0, two);
        // an unmanaged one, as the policy Default always is
        if section == "groups" {
            bench.group("theirs");
            let mut file = base();
            file["groups"] = json!({});
            bench.declared(9.0, with(file, "setup_keys", "k", entry("setup_keys")));
        } else {
            if section != "routes" {
                by_hand(&bench, section, "theirs");
            }
            bench.declared(9.0, base());
        }
        bench.refuses(&[]).says("this plan deletes all ");
        let number = if section == "groups" { "3" } else { "2" };
        bench.apply(&["--allow-deletes", number]).expect(0);
    }
}

#[test]
fn the_last_of_one_and_an_exchange_are_no_wipe() {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "policies", "x", entry("policies")));
    bench.applied(9.0, base());
    let two = with(
        with(base(), "policies", "x", entry("policies")),
        "policies",
        "y",
        entry("policies"),
    );
    bench.applied(10.0, two);
    bench.declared(11.0, with(base(), "policies", "z", entry("policies")));
    bench.apply(&[]).expect(0).shows("2 deleted");
}

#[test]
fn several_refusals_are_told_at_once() {
    let bench = Bench::in_git();
    let policies = |file: Value| {
        (0..11).fold(file, |file, n| {
            with(file, "policies", &format!("p{n:02}"), entry("policies"))
        })
    };
    bench.applied(1.0, policies(base()));
    bench.declared(9.0, with(base(), "setup_keys", "k", entry("setup_keys")));
    let environment = [("AGE_PUBLIC_KEY", ""), ("NETBIRD_ACCOUNT_ID", "elsewhere")];
    let plan = bench
        .run_with(&["plan", "--format", "json"], &environment)
        .expect(0)
        .json();
    let gates = |json: &Value| -> Vec<String> {
        let refusals = json["refusals"].as_array().unwrap().iter();
        refusals
            .map(|refusal| refusal["gate"].as_str().unwrap().to_owned())
            .collect()
    };
    // a plan may run where nobody can seal
    assert_eq!(gates(&plan), ["account", "deletions", "last-of-a-kind"]);
    bench.server().clear_requests();
    let run = bench
        .run_with(&["apply", "--format", "json"], &environment)
        .expect(3);
    bench.assert_writes(&[]);
    let wanted = ["account", "recipients", "deletions", "last-of-a-kind"];
    assert_eq!(gates(&run.json()), wanted);
}

#[test]
fn new_keys_need_somebody_to_open_them() {
    let bench = Bench::in_git();
    bench.declared(1.0, with(base(), "setup_keys", "k", entry("setup_keys")));
    let run = bench
        .run_with(&["apply"], &[("AGE_PUBLIC_KEY", "")])
        .expect(3);
    run.says("this plan creates 1 setup key, and no recipient is set");
    bench.assert_writes(&[]);
    bench.apply(&[]).expect(0);
    // nothing to seal needs nobody
    bench
        .run_with(&["apply"], &[("AGE_PUBLIC_KEY", "")])
        .expect(0);
}

#[test]
fn what_is_let_go_is_no_refusal() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    for n in 0..12 {
        bench.group(&format!("x{n:02}"));
    }
    bench.applied(3.0, groups(12));
    bench.declared(9.0, with(base(), "groups", "new", json!({})));
    let run = bench.apply(&[]).expect(0).shows("1 created, 12 let go");
    run.shows("\n\nAllow-Deletes: 12 ");
    bench
        .apply(&["--allow-deletes", "12"])
        .expect(0)
        .shows("12 deleted");
}
