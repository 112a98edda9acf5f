//! `Allow-Deletes: N DIGEST`: what it agrees to, where it counts in the history, and that a plan prints it.

use serde_json::{Value, json};

use super::{base, with};
use crate::run::history::second;
use crate::run::{Bench, INVENTORY, Run};

fn groups(number: usize) -> Value {
    (0..number).fold(base(), |file, n| {
        with(file, "groups", &format!("x{n:02}"), json!({}))
    })
}

/// Twelve groups of ours, in hour 1.
fn twelve() -> Bench {
    let bench = Bench::in_git();
    bench.applied(1.0, groups(12));
    bench
}

fn applies(bench: &Bench) -> Run {
    let run = bench.apply(&[]).expect(0).shows("12 deleted");
    assert_eq!(bench.names("/groups"), ["All", "g"]);
    run
}

#[test]
fn it_counts_in_the_commit_of_the_removal() {
    let bench = twelve();
    bench.declared_agreed(5.0, base(), "clean up");
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    assert_eq!(plan["refusals"], json!([]));
    let commit = bench.git(&["rev-parse", "HEAD"]);
    let agreement = &plan["agreements"][0];
    assert_eq!(agreement["cause"], json!(commit));
    assert_eq!(agreement["rows"], 12);
    assert_eq!(agreement["line_with_let_go"], Value::Null);
    assert_eq!(
        agreement["agreed_by"],
        json!(format!("a, in commit {}", &commit[..10]))
    );
    assert_eq!(plan["operations"][0]["cause"], json!(commit));
    // the first line says who agreed, and where
    let run = applies(&bench);
    let first = run.stdout.lines().next().unwrap();
    let wanted = format!(
        "NetBird apply: 12 deleted, agreed to by a, in commit {}",
        &commit[..10]
    );
    assert_eq!(first, wanted);
}

#[test]
fn the_line_is_the_same_before_and_after_the_commit_and_half_way() {
    let bench = twelve();
    bench.hour(5.0).file(base());
    let line = bench.line("line", &[]);
    assert!(line.starts_with("Allow-Deletes: 12 "), "{line}");
    bench.commit(second(5.0), "clean up");
    assert_eq!(bench.line("line", &[]), line);
    // agreed to after all, in a commit of its own; the apply is killed after the first
    bench.commit(second(6.0), &format!("agreed\n\n{line}"));
    bench.delete("/groups", "x00");
    bench
        .apply(&["--max-deletes", "3"])
        .expect(0)
        .shows("11 deleted");
}

#[test]
fn it_counts_in_any_commit_up_to_the_newest() {
    let bench = twelve();
    bench.declared(5.0, base());
    bench.refuses(&[]);
    let line = bench.line("line", &[]);
    // of another file, of a bot, whatever
    bench.commit(second(6.0), &format!("agreed after all\n\n{line}\n"));
    bench.commit(second(7.0), "chore: mark k as enrolled [automated]");
    applies(&bench);
}

#[test]
fn it_does_not_count_before_the_removal() {
    let bench = twelve();
    bench.file(base());
    let line = bench.line("line", &[]);
    bench
        .file(groups(12))
        .commit(second(4.0), &format!("early\n\n{line}"));
    bench.declared(5.0, base());
    bench
        .refuses(&[])
        .says("this plan deletes 12 objects, more than --max-deletes 10")
        .shows(&format!("\n\n{line}\n"));
}

#[test]
fn what_was_agreed_to_before_it_came_back_is_another_matter() {
    let bench = Bench::in_git();
    bench.applied(0.0, groups(24));
    bench.declared(1.0, groups(20));
    // agreed to, and put back before anybody applied it
    bench.declared_agreed(2.0, groups(8), "clean up");
    bench.declared(3.0, groups(20));
    bench.declared(4.0, groups(8));
    bench.refuses(&[]);
}

#[test]
fn each_cause_has_its_line_and_a_gate_counts_the_rest() {
    let bench = twelve();
    bench.declared(5.0, groups(6));
    let first = bench.line("line", &["--max-deletes", "0"]);
    bench.declared(6.0, base());
    bench.refuses(&["--max-deletes", "5"]);
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    let rows: Vec<&Value> = plan["agreements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| &a["rows"])
        .collect();
    assert_eq!(rows, [6, 6]);
    // one of the two is agreed to: six are left, which the gate's ten pass and five do not
    bench.commit(second(7.0), &format!("the first six\n\n{first}"));
    bench
        .refuses(&["--max-deletes", "5"])
        .says("this plan deletes 6 objects");
    bench
        .apply(&["--max-deletes", "6"])
        .expect(0)
        .shows("12 deleted");
}

#[test]
fn both_lines_add_up() {
    let bench = twelve();
    bench.declared_agreed_at(5.0, groups(6));
    bench.declared_agreed_at(6.0, base());
    bench
        .apply(&["--max-deletes", "0"])
        .expect(0)
        .shows("12 deleted");
}

impl Bench {
    /// Commits this file with its line, where any deletion at all wants one.
    fn declared_agreed_at(&self, hour: f64, file: Value) {
        self.hour(hour).file(file);
        let plan = self
            .plan(&["--format", "json", "--max-deletes", "0"])
            .expect(0)
            .json();
        let own = plan["agreements"].as_array().unwrap().iter();
        let own: Vec<&Value> = own.filter(|entry| entry["cause"].is_null()).collect();
        let line = own[0]["line"].as_str().unwrap();
        self.commit(second(hour), &format!("goes\n\n{line}"));
    }
}

#[test]
fn another_number_or_digest_agrees_to_nothing() {
    let digest = {
        let bench = twelve();
        bench.file(base());
        bench.line("line", &[])["Allow-Deletes: 12 ".len()..].to_owned()
    };
    for line in [
        format!("11 {digest}"),
        "12".into(),
        "12 00000000".into(),
        format!("012 {digest}"),
        format!("12 {digest} groups"),
        format!("-12 {digest}"),
        format!("0xC {digest}"),
        "0".into(),
    ] {
        let bench = twelve();
        bench.declared_with(5.0, base(), &format!("clean up\n\nAllow-Deletes: {line}"));
        bench.refuses(&[]);
    }
    let bench = twelve();
    bench.declared_with(5.0, base(), "clean up\n\nAllow-Deletes: 12");
    bench
        .plan(&[])
        .expect(0)
        .shows("does not count: it has no digest");
    let bench = twelve();
    for number in [11, 13] {
        let other = format!("clean up\n\nAllow-Deletes: {number} {digest}");
        bench.declared_with(5.0, base(), &other);
    }
    let run = bench.plan(&[]).expect(0);
    let commit = bench.git(&["rev-list", "--reverse", "HEAD~2..HEAD"]);
    let why = format!(
        "what commit {} deletes in this environment has another line now",
        &commit[..10]
    );
    for number in [11, 13] {
        let line = format!("Allow-Deletes: {number} {digest}");
        assert!(run.stdout.contains(&line), "{}", run.stdout);
    }
    run.shows(&format!("does not count: {why}"));
    bench.refuses(&[]);
}

#[test]
fn a_line_that_is_quoted_indented_or_hidden_agrees_to_nothing() {
    for (before, after) in [
        ("> ", ""),
        ("  ", ""),
        ("please add ", ""),
        ("- ", ""),
        ("<!-- ", " -->"),
        ("<!--\n", "\n-->"),
        ("> somebody said\n", ""),
    ] {
        let bench = twelve();
        bench.hour(5.0).file(base());
        let line = bench.line("line", &[]);
        bench.commit(second(5.0), &format!("a\n\n{before}{line}{after}"));
        bench.refuses(&[]);
    }
}

#[test]
fn it_counts_in_a_merge_and_not_in_what_was_merged() {
    for in_merge in [false, true] {
        let bench = twelve();
        bench.git(&["checkout", "-q", "-b", "feature"]);
        bench.hour(5.0).file(base());
        let line = bench.line("line", &[]);
        let (branch, merge) = match in_merge {
            false => (line.as_str(), "nothing"),
            true => ("nothing", line.as_str()),
        };
        bench.commit(second(5.0), &format!("a change\n\n{branch}"));
        bench.git(&["checkout", "-q", "main"]);
        let merge = format!("merge\n\n{merge}");
        bench.git_at(
            second(6.0),
            &["merge", "-q", "--no-ff", "-m", &merge, "feature"],
        );
        if in_merge {
            applies(&bench);
        } else {
            bench.refuses(&[]);
        }
    }
}

#[test]
fn it_does_not_count_in_a_branch_that_is_merged_after_the_removal() {
    let bench = twelve();
    bench.declared(5.0, base());
    let line = bench.line("line", &[]);
    bench.git(&["checkout", "-q", "-b", "feature"]);
    bench.commit(second(6.0), &format!("elsewhere\n\n{line}"));
    bench.git(&["checkout", "-q", "main"]);
    let merge = ["merge", "-q", "--no-ff", "-m", "merge", "feature"];
    bench.git_at(second(7.0), &merge);
    bench.refuses(&[]);
}

#[test]
fn it_does_not_count_where_the_section_was_merely_lost() {
    let bench = twelve();
    bench.hour(5.0).file(base());
    let line = bench.line("line", &[]);
    let mut lost = base();
    lost.as_object_mut().unwrap().remove("groups");
    lost["policies"]["p"] = json!({ "sources": ["g"], "destinations": ["g"] });
    bench.declared_with(5.0, lost.clone(), &format!("lost\n\n{line}"));
    bench.apply(&[]).expect(0).shows("1 created");
    let mut found = lost;
    found["groups"] = json!({ "g": {} });
    bench.declared(6.0, found);
    bench.refuses(&[]).shows("Allow-Deletes: 12 ");
}

#[test]
fn members_that_leave_are_agreed_to_likewise() {
    let bench = Bench::in_git();
    let names: Vec<String> = (0..12).map(|n| format!("p{n:02}")).collect();
    let file = |peers: &[String]| json!({ "groups": { "g": { "peers": peers } } });
    bench.applied(0.0, file(&[]));
    for name in &names {
        bench.peer(name);
    }
    bench.applied(1.0, file(&names));
    // a namesake of one of them, which is not a member
    bench.hour(2.0).peer("p03");
    bench.declared_agreed(5.0, file(&names[11..]), "they leave");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.one("/groups", "g")["peers_count"], 1);
}

#[test]
fn a_member_that_was_listed_by_its_keys_name_is_agreed_to_likewise() {
    let bench = Bench::in_git();
    let names: Vec<String> = (0..12).map(|n| format!("k{n:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let keys = bench.enrolled(&names);
    let file =
        |peers: &[&str]| json!({ "groups": { "g": { "peers": peers } }, "setup_keys": keys });
    bench.applied(1.0, file(&names));
    for name in &names {
        bench.edit("/peers", name, json!({ "name": format!("{name}-renamed") }));
    }
    bench.leaves_all(&[]);
    bench.declared_agreed(5.0, file(&names[11..]), "they leave");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.one("/groups", "g")["peers_count"], 1);
}

/// The group `old`, which was adopted, and `new1` and `new2`, which were created.
pub(super) fn adopted() -> Bench {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("old");
    bench.applied(3.0, with(created(), "groups", "old", json!({})));
    bench
}

/// The file without `old`.
fn created() -> Value {
    let one = with(base(), "groups", "new1", json!({}));
    with(one, "groups", "new2", json!({}))
}

#[test]
fn a_line_for_two_objects_does_not_reach_a_third_that_its_plan_let_go() {
    let bench = adopted();
    bench.declared(9.0, base());
    let (line, with_let_go) = (bench.line("line", &[]), bench.line("line_with_let_go", &[]));
    assert!(line.starts_with("Allow-Deletes: 2 "), "{line}");
    assert!(
        with_let_go.starts_with("Allow-Deletes: 3 "),
        "{with_let_go}"
    );
    // both stand in the plan by themselves
    bench
        .plan(&["--max-deletes", "0"])
        .expect(0)
        .shows(&format!("\n\n{line}\n"))
        .shows(&format!("\n\n{with_let_go}\n"));
    bench.commit(second(10.0), &format!("two\n\n{line}"));
    assert_eq!(
        bench.planned(&[]),
        ["delete_group new1", "delete_group new2"]
    );
    // the second line includes the first
    bench.commit(second(11.0), &format!("all\n\n{with_let_go}"));
    bench
        .apply(&["--max-deletes", "0"])
        .expect(0)
        .shows("3 deleted");
    assert_eq!(bench.names("/groups"), ["All", "g"]);
}

#[test]
fn what_was_let_go_is_agreed_to_until_a_later_change_is_applied() {
    for later in [false, true] {
        let bench = adopted();
        bench.applied(5.0, created());
        let line = bench.line("line_with_let_go", &[]);
        assert!(line.starts_with("Allow-Deletes: 1 "), "{line}");
        bench
            .leaves_all(&[])
            .shows("an earlier run let it go")
            .shows(&line);
        if later {
            bench.applied(9.0, base());
            bench.leaves_all(&[]).hides("let it go");
        }
        bench.commit(second(30.0), &format!("old goes too\n\n{line}"));
        if later {
            bench.leaves_all(&[]).shows("No changes");
            assert_eq!(bench.names("/groups"), ["All", "g", "old"]);
        } else {
            bench.apply(&[]).expect(0).shows("1 deleted");
            assert_eq!(bench.names("/groups"), ["All", "g", "new1", "new2"]);
        }
    }
}

#[test]
fn a_line_for_one_cause_agrees_to_nothing_of_another() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    let (theirs, ours) = (["theirs1", "theirs2"], ["ours1", "ours2"]);
    let declare = |file: Value, names: [&str; 2]| {
        names
            .iter()
            .fold(file, |file, name| with(file, "groups", name, json!({})))
    };
    theirs.iter().for_each(|name| drop(bench.group(name)));
    bench.applied(3.0, declare(declare(base(), theirs), ours));
    bench.applied(5.0, declare(base(), ours));
    bench.declared(8.0, base());
    bench.refuses(&["--max-deletes", "1"]);
    let plan = bench
        .plan(&["--format", "json", "--max-deletes", "1"])
        .expect(0)
        .json();
    let entries = plan["agreements"].as_array().unwrap();
    let of_ours = entries.iter().find(|entry| entry["rows"] == 2).unwrap();
    // the same number as what is let go, and another cause
    let line = of_ours["line"].as_str().unwrap();
    bench.commit(second(9.0), &format!("ours go\n\n{line}"));
    bench
        .apply(&["--max-deletes", "1"])
        .expect(0)
        .shows("2 deleted");
    bench.leaves_all(&[]);
    assert_eq!(bench.names("/groups"), ["All", "g", "theirs1", "theirs2"]);
}

#[test]
fn a_rename_beside_what_is_let_go() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("old");
    let both = with(base(), "groups", "a", json!({}));
    bench.applied(3.0, with(both, "groups", "old", json!({})));
    let renamed = with(base(), "groups", "b", json!({ "renamed_from": "a" }));
    bench.declared(5.0, renamed);
    let line = bench.line("line_with_let_go", &[]);
    assert!(line.starts_with("Allow-Deletes: 1 "), "{line}");
    bench.commit(second(6.0), &format!("old goes\n\n{line}"));
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.names("/groups"), ["All", "b", "g"]);
}

#[test]
fn it_agrees_to_the_last_of_a_kind() {
    let bench = Bench::in_git();
    let key = json!({ "type": "reusable", "expires_in": 0 });
    bench.applied(1.0, with(groups(1), "setup_keys", "k", key.clone()));
    let mut none = with(base(), "setup_keys", "k", key);
    none["groups"] = json!({});
    bench.declared(5.0, none.clone());
    bench.refuses(&[]).says("this plan deletes all groups");
    let line = bench.line("line", &[]);
    bench.commit(second(6.0), &format!("all of it\n\n{line}"));
    bench.apply(&[]).expect(0).shows("2 deleted");
}

#[test]
fn in_a_job_a_number_alone_is_no_agreement() {
    let bench = twelve();
    bench.declared(5.0, base());
    let line = bench.line("line", &[]);
    let n_digest = line.strip_prefix("Allow-Deletes: ").unwrap();
    let job = [("CI", "true"), ("GITHUB_ACTOR", "mira")];
    let apply = |text: &str, code: i32| {
        let args = [
            "apply",
            "--inventory",
            INVENTORY[1],
            "--allow-deletes",
            text,
        ];
        bench.run_with(&args, &job).expect(code)
    };
    apply("12", 1).says("is only a number").says("N DIGEST");
    for nonsense in ["twelve", "12 abc", "012", "1 2 3"] {
        apply(nonsense, 1).says("is not an agreement");
    }
    // an input that nobody filled in
    apply("", 3).says("this plan deletes 12 objects");
    let other = format!("13 {}", "0".repeat(8));
    apply(&other, 3).says("this plan deletes 12 objects");
    bench.assert_writes(&[]);
    let plan = [
        "plan",
        "--inventory",
        INVENTORY[1],
        "--allow-deletes",
        &other,
    ];
    bench
        .run_with(&plan, &job)
        .expect(0)
        .shows("does not count: nothing in this plan has that number and digest");
    apply(n_digest, 0).shows("12 deleted, agreed to by mira, by --allow-deletes");
}

#[test]
fn the_whole_line_is_as_good_and_several_add_up() {
    let bench = twelve();
    bench.declared(5.0, groups(6));
    let first = bench.line("line", &["--max-deletes", "0"]);
    bench.declared(6.0, base());
    let plan = bench
        .plan(&["--format", "json", "--max-deletes", "0"])
        .expect(0)
        .json();
    let lines: Vec<&str> = plan["agreements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["line"].as_str().unwrap())
        .collect();
    assert!(lines.contains(&first.as_str()), "{lines:?}");
    let text = lines.join(", ");
    let args = ["apply", "--inventory", INVENTORY[1], "--max-deletes", "0"];
    let args = [&args[..], &["--allow-deletes", &text]].concat();
    bench
        .run_with(&args, &[("CI", "1")])
        .expect(0)
        .shows("12 deleted");
}

#[test]
fn a_line_of_one_environment_agrees_to_nothing_in_another() {
    let goes = |environment: &str| {
        let bench = Bench::in_git();
        let args = ["--environment", environment];
        bench.declared(1.0, groups(12)).apply(&args).expect(0);
        bench.hour(5.0).file(base());
        let line = bench.line("line", &args);
        (bench, line)
    };
    let (_, of_default) = goes("default");
    let (bench, of_lab) = goes("lab");
    assert_ne!(of_default, of_lab);
    bench.commit(second(5.0), &format!("clean up\n\n{of_default}"));
    let lab = ["--environment", "lab"];
    bench
        .refuses(&lab)
        .shows(&format!("{of_default} (a, in commit "))
        .shows("deletes in this environment has another line now");
    bench.commit(second(6.0), &format!("in the lab\n\n{of_lab}"));
    bench.apply(&lab).expect(0).shows("12 deleted");
}

/// A bench with keys of one use of these names; with the first ones machines enrolled.
pub(super) fn keys(names: &[&str], enrolled: usize) -> Bench {
    let file = |enrolled: usize| {
        names.iter().enumerate().fold(base(), |file, (at, name)| {
            let key =
                json!({ "type": "one-off", "expires_in": 315_360_000, "enrolled": at < enrolled });
            with(file, "setup_keys", name, key)
        })
    };
    let bench = Bench::in_git();
    bench.applied(0.0, file(0));
    for (name, hour) in names[..enrolled].iter().zip(1..) {
        bench.hour(f64::from(hour) / 10.0);
        bench.server().enroll(&bench.unseal(name), name).unwrap();
    }
    bench.applied(2.0, file(enrolled));
    bench
}

#[test]
fn a_machine_that_enrolled_after_the_agreement_is_not_deleted_by_it() {
    let bench = keys(&["a", "b"], 1);
    bench.declared_agreed(5.0, base(), "both leave");
    let line = bench.line("line", &[]);
    assert!(line.starts_with("Allow-Deletes: 3 "), "{line}");
    assert_eq!(
        bench.plan(&["--format", "json"]).json()["refusals"],
        json!([])
    );
    bench.hour(6.0);
    bench.server().enroll(&bench.unseal("b"), "late").unwrap();
    bench
        .refuses(&[])
        .shows(&line)
        .shows("does not count: machine \"late\" enrolled after the line was written")
        .shows("\n\nAllow-Deletes: 4 ");
    assert_eq!(bench.names("/peers"), ["a", "late"]);
}

#[test]
fn the_number_counts_children_with_their_parent() {
    let bench = Bench::in_git();
    let network = json!({ "resources": { "printer": { "address": "10.0.0.9", "groups": ["g"] } },
                          "routers": [{ "peer_groups": ["g"] }] });
    let zone = json!({ "domain": "x.example", "distribution_groups": ["g"],
                       "records": [{ "name": "db", "type": "A", "content": "10.0.0.1" }] });
    let both = with(base(), "networks", "office", network);
    bench.applied(1.0, with(both, "zones", "corp", zone));
    bench.declared(5.0, base());
    let line = bench.line("line", &["--max-deletes", "0"]);
    assert!(line.starts_with("Allow-Deletes: 5 "), "{line}");
    bench
        .refuses(&["--max-deletes", "4"])
        .says("this plan deletes 5 objects");
    bench.commit(second(6.0), &format!("all of it\n\n{line}"));
    bench.apply(&["--max-deletes", "0"]).expect(0);
    assert_eq!(bench.names("/networks"), Vec::<String>::new());
    assert_eq!(bench.names("/dns/zones"), Vec::<String>::new());
}
