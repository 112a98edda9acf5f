//! `Allow-Deletes: N DIGEST`: what it agrees to, where it counts in the history, and that a plan prints it.

use serde_json::{Value, json};

use super::{base, with};
use crate::run::history::second;
use crate::run::{Bench, Run};

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
    assert_eq!(agreement["line_with_held"], Value::Null);
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
        .shows("agrees to nothing: it has no digest");
    let bench = twelve();
    let few = format!("clean up\n\nAllow-Deletes: 11 {digest}");
    bench.declared_with(5.0, base(), &few);
    bench
        .plan(&[])
        .expect(0)
        .shows("agrees to nothing: by now 12 deletions come by it");
    // more is as good: what is left of a cause is agreed to
    let more = format!("clean up\n\nAllow-Deletes: 13 {digest}");
    bench.commit(second(6.0), &more);
    applies(&bench);
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
    for name in &names {
        bench.peer(name);
    }
    // a namesake of one of them, which is no member
    bench.hour(2.0).peer("p03");
    let file = |peers: &[String]| json!({ "groups": { "g": { "peers": peers } } });
    bench.applied(1.0, file(&names));
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

/// The group `old`, which was taken over, and `new`, which is ours; both are declared until hour 9.
fn taken_over() -> Bench {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("old");
    let both = with(base(), "groups", "old", json!({}));
    bench.applied(3.0, with(both, "groups", "new", json!({})));
    bench
}

#[test]
fn what_is_held_is_agreed_to_by_a_line_of_its_own() {
    let bench = taken_over();
    bench.declared(9.0, base());
    let (line, with_held) = (bench.line("line", &[]), bench.line("line_with_held", &[]));
    assert!(line.starts_with("Allow-Deletes: 1 "), "{line}");
    assert!(with_held.starts_with("Allow-Deletes: 2 "), "{with_held}");
    // both stand in the plan by themselves
    bench
        .plan(&[])
        .expect(0)
        .shows(&format!("\n\n{line}\n"))
        .shows(&format!("\n\n{with_held}\n"));
    // what goes by itself is not what is held
    bench.commit(second(10.0), &format!("one\n\n{line}"));
    assert_eq!(bench.planned(&[]), ["delete_group new"]);
    bench.commit(second(11.0), &format!("both\n\n{with_held}"));
    assert_eq!(bench.planned(&[]), ["delete_group new", "delete_group old"]);
    bench.apply(&[]).expect(0).shows("2 deleted");
}

#[test]
fn what_is_held_is_agreed_to_at_any_time() {
    let bench = taken_over();
    let new = with(base(), "groups", "new", json!({}));
    bench.applied(5.0, new);
    let of_old = bench.line("line_with_held", &[]);
    assert_eq!(
        bench.plan(&["--format", "json"]).expect(0).json()["agreements"][0]["line"],
        Value::Null
    );
    // other things come and go meanwhile, with lines of their own
    bench.declared_agreed_at(9.0, base());
    bench.apply(&[]).expect(0).shows("1 deleted");
    bench.leaves_all(&[]).shows(&of_old);
    assert_eq!(bench.names("/groups"), ["All", "g", "old"]);
    bench.commit(second(30.0), &format!("old goes too\n\n{of_old}"));
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.names("/groups"), ["All", "g"]);
}

#[test]
fn a_line_for_one_cause_agrees_to_nothing_of_another() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    let (held, ours) = (["held1", "held2"], ["ours1", "ours2"]);
    let declare = |file: Value, names: [&str; 2]| {
        names
            .iter()
            .fold(file, |file, name| with(file, "groups", name, json!({})))
    };
    held.iter().for_each(|name| drop(bench.group(name)));
    bench.applied(3.0, declare(declare(base(), held), ours));
    bench.applied(5.0, declare(base(), ours));
    bench.declared(8.0, base());
    bench.refuses(&["--max-deletes", "1"]);
    let plan = bench
        .plan(&["--format", "json", "--max-deletes", "1"])
        .expect(0)
        .json();
    let entries = plan["agreements"].as_array().unwrap();
    let of_ours = entries.iter().find(|entry| entry["rows"] == 2).unwrap();
    // the same number as what is held, and another cause
    let line = of_ours["line"].as_str().unwrap();
    bench.commit(second(9.0), &format!("ours go\n\n{line}"));
    bench
        .apply(&["--max-deletes", "1"])
        .expect(0)
        .shows("2 deleted");
    bench.leaves_all(&[]);
    assert_eq!(bench.names("/groups"), ["All", "g", "held1", "held2"]);
}

#[test]
fn a_rename_beside_what_is_held() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("old");
    let both = with(base(), "groups", "a", json!({}));
    bench.applied(3.0, with(both, "groups", "old", json!({})));
    let renamed = with(base(), "groups", "b", json!({ "renamed_from": "a" }));
    bench.declared(5.0, renamed);
    let line = bench.line("line_with_held", &[]);
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
        bench
            .run_with(&["apply", "--allow-deletes", text], &job)
            .expect(code)
    };
    apply("12", 1)
        .says("--allow-deletes 12 says a number alone")
        .says("N DIGEST");
    for nonsense in ["twelve", "12 abc", "012", "1 2 3"] {
        apply(nonsense, 1).says("is no agreement");
    }
    // an input that nobody filled in
    apply("", 3);
    let other = format!("13 {}", "0".repeat(8));
    apply(&other, 3);
    bench.assert_writes(&[]);
    let plan = ["plan", "--allow-deletes", &other];
    bench
        .run_with(&plan, &job)
        .expect(0)
        .shows("agrees to nothing: it is no line of this plan");
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
    let args = ["apply", "--max-deletes", "0", "--allow-deletes", &text];
    bench
        .run_with(&args, &[("CI", "1")])
        .expect(0)
        .shows("12 deleted");
}
