//! Does a line agree to the rest where an apply ended half way?

use fakes::{Effect, Fault, NetBird};
use serde_json::json;

use super::allow::{adopted, keys};
use super::{base, with};
use crate::run::history::second;
use crate::run::{Bench, Pid};

/// A bench where three machines are to leave with their keys, which somebody agreed to with that line.
fn three_leave() -> (Bench, String) {
    let bench = keys(&["a", "b", "c"], 3);
    bench.declared_agreed(5.0, base(), "all leave");
    let line = bench.line("line", &[]);
    assert!(line.starts_with("Allow-Deletes: 6 "), "{line}");
    (bench, line)
}

/// That the line is what it was, as far as one is needed, and that an apply does the rest.
fn all_leave(bench: &Bench, line: &str) {
    let plan = bench.plan(&["--format", "json", "--max-deletes", "0"]);
    let plan = plan.expect(0).json();
    assert_eq!(plan["refusals"], json!([]), "{plan:#}");
    assert_eq!(plan["agreements"][0]["line"], *line);
    bench.apply(&["--max-deletes", "0"]).expect(0);
    assert_eq!(bench.names("/peers"), Vec::<String>::new());
    assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
}

/// An apply is killed once it deleted this.
fn killed_after(bench: &Bench, list: &str, name: &str) {
    let path = format!("{list}/{}", bench.id(list, name));
    let hook = |netbird: &NetBird, pid: Pid| {
        netbird.after("DELETE", &path, move |_| pid.signal("KILL"));
    };
    let killed = bench.start(&["apply"], hook).wait();
    assert_eq!(killed.code, 128 + 9, "{path}: {}", killed.stderr);
}

/// An apply with these flags fails when it is about to delete this.
fn failed_at(bench: &Bench, list: &str, name: &str, args: &[&str]) {
    let path = format!("{list}/{}", bench.id(list, name));
    let refused = Effect::Status(500, json!({ "message": "not now", "code": 500 }));
    let fault = Fault::on("DELETE", &path).always().then(refused);
    bench.netbird().fault(fault);
    bench.apply(args).expect(4);
    bench.netbird().clear_faults();
}

#[test]
fn a_killed_apply_run_again_needs_no_other_number() {
    for (list, name) in [
        ("/peers", "a"),
        ("/peers", "b"),
        ("/peers", "c"),
        ("/setup-keys", "a"),
    ] {
        let (bench, line) = three_leave();
        killed_after(&bench, list, name);
        all_leave(&bench, &line);
    }
}

#[test]
fn an_apply_that_failed_run_again_needs_no_other_number() {
    let (bench, line) = three_leave();
    failed_at(&bench, "/peers", "b", &[]);
    all_leave(&bench, &line);
}

#[test]
fn one_that_failed_after_another_was_killed_needs_no_other_number_either() {
    let (bench, line) = three_leave();
    killed_after(&bench, "/peers", "b");
    assert_eq!(bench.names("/peers"), ["c"]);
    failed_at(&bench, "/peers", "c", &[]);
    all_leave(&bench, &line);
}

#[test]
fn what_an_earlier_change_let_go_is_deleted_to_the_end_by_its_line() {
    for is_killed in [false, true] {
        let bench = Bench::in_git();
        bench.applied(0.0, base());
        let names = ["old1", "old2"];
        names.iter().for_each(|name| drop(bench.group(name)));
        let adopt = |file, name| with(file, "groups", name, json!({}));
        bench.applied(3.0, names.into_iter().fold(base(), adopt));
        bench.applied(5.0, base());
        let line = bench.line("line_with_let_go", &[]);
        assert!(line.starts_with("Allow-Deletes: 2 "), "{line}");
        bench.commit(second(6.0), &format!("the old ones go, too\n\n{line}"));
        match is_killed {
            true => killed_after(&bench, "/groups", "old1"),
            false => failed_at(&bench, "/groups", "old2", &[]),
        }
        assert_eq!(bench.names("/groups"), ["All", "g", "old2"]);
        bench
            .apply(&["--max-deletes", "0"])
            .expect(0)
            .shows("1 deleted");
        assert_eq!(bench.names("/groups"), ["All", "g"]);
        bench.leaves_all(&[]).shows("No changes");
    }
}

#[test]
fn what_was_let_go_and_somebody_deletes_by_hand_is_no_part_of_the_rest() {
    let bench = adopted();
    bench.declared_agreed(5.0, base(), "the new ones go");
    failed_at(&bench, "/groups", "new2", &[]);
    bench.delete("/groups", "old");
    bench
        .apply(&["--max-deletes", "0"])
        .expect(0)
        .shows("1 deleted");
    assert_eq!(bench.names("/groups"), ["All", "g"]);
}

#[test]
fn what_was_never_ours_is_pruned_to_the_end_by_its_line() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    ["x", "y"].iter().for_each(|name| drop(bench.group(name)));
    let args = ["--prune", "all", "--max-deletes", "0"];
    let line = bench.line("line", &args);
    let args = [&args[..], &["--allow-deletes", &line]].concat();
    failed_at(&bench, "/groups", "y", &args);
    assert_eq!(bench.names("/groups"), ["All", "g", "y"]);
    bench.apply(&args).expect(0);
    assert_eq!(bench.names("/groups"), ["All", "g"]);
}

#[test]
fn a_killed_replacement_of_many_keys_run_again_needs_no_agreement() {
    let names: Vec<String> = (0..11).map(|n| format!("k{n:02}")).collect();
    let file = |asked: Option<f64>| {
        names.iter().fold(base(), |file, name| {
            let mut key = json!({ "type": "reusable", "expires_in": 0, "auto_groups": ["g"] });
            let at = asked.map(|hour| jiff::Timestamp::from_second(second(hour)).unwrap());
            if let Some(at) = at {
                key["reissue_after"] = json!(at.to_string());
            }
            with(file, "setup_keys", name, key)
        })
    };
    for (method, path) in [("POST", "/setup-keys"), ("DELETE", "/setup-keys/")] {
        let bench = Bench::in_git();
        bench.applied(1.0, file(None));
        bench.declared(3.0, file(Some(2.0)));
        let hook = |netbird: &NetBird, pid: Pid| {
            netbird.after(method, path, move |_| pid.signal("KILL"));
        };
        let killed = bench.start(&["apply"], hook).wait();
        assert_eq!(killed.code, 128 + 9, "{method}: {}", killed.stderr);
        bench.apply(&[]).expect(0);
        assert_eq!(bench.names("/setup-keys"), names, "{method}");
        bench.plan(&["--detailed-exitcode"]).expect(0);
    }
}
