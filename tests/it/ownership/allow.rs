//! `Allow-Deletes: N`: where it counts, and that a plan shows it.

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

fn applies(bench: &Bench) {
    bench.apply(&[]).expect(0).shows("12 deleted");
    assert_eq!(bench.names("/groups"), ["All", "g"]);
}

#[test]
fn it_counts_in_the_commit_of_the_removal() {
    let bench = twelve();
    bench.declared_with(5.0, base(), "clean up\n\nAllow-Deletes: 12");
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    assert_eq!(plan["refusals"], json!([]));
    let notices = plan["notices"].to_string();
    assert!(notices.contains("Allow-Deletes: 12 (commit "), "{notices}");
    applies(&bench);
}

#[test]
fn the_result_records_who_agreed() {
    let bench = twelve();
    bench.declared_with(5.0, base(), "clean up\n\nAllow-Deletes: 12");
    let commit = bench.git(&["rev-parse", "--short=10", "HEAD"]);
    let result = bench.apply(&["--format", "json"]).expect(0).json();
    let notices = result["notices"].to_string();
    assert!(notices.contains(&commit), "{notices}");
}

#[test]
fn it_counts_in_any_commit_up_to_the_newest() {
    let bench = twelve();
    bench.declared(5.0, base());
    bench.refuses(&[]);
    // of another file, of a bot, whatever
    bench.commit(second(6.0), "agreed after all\n\nAllow-Deletes: 12\n");
    bench.commit(second(7.0), "chore: mark k as enrolled [automated]");
    applies(&bench);
}

#[test]
fn it_does_not_count_before_the_removal() {
    let bench = twelve();
    bench.commit(second(4.0), "early\n\nAllow-Deletes: 12");
    bench.declared(5.0, base());
    bench
        .refuses(&[])
        .says("this plan deletes 12 objects, more than --max-deletes 10")
        .says("put \"Allow-Deletes: 12\" on a line");
}

#[test]
fn from_the_first_of_several_removals() {
    let bench = twelve();
    bench.declared_with(5.0, groups(6), "half\n\nAllow-Deletes: 12");
    bench.declared(6.0, base());
    applies(&bench);
}

#[test]
fn another_number_agrees_to_nothing() {
    for number in ["11", "13", "0", "012", "12 groups", "-12", "0xC"] {
        let bench = twelve();
        bench.declared_with(5.0, base(), &format!("clean up\n\nAllow-Deletes: {number}"));
        bench.refuses(&[]);
    }
    let bench = twelve();
    bench.declared_with(5.0, base(), "clean up\n\nAllow-Deletes: 11");
    bench.refuses(&[]).says("is not the exact number");
}

#[test]
fn a_line_that_is_quoted_or_indented_agrees_to_nothing() {
    for message in [
        "a\n\n> Allow-Deletes: 12",
        "a\n\n  Allow-Deletes: 12",
        "a\n\nplease add Allow-Deletes: 12",
        "a\n\n- Allow-Deletes: 12",
    ] {
        let bench = twelve();
        bench.declared_with(5.0, base(), message);
        bench.refuses(&[]);
    }
}

#[test]
fn it_counts_in_a_merge_and_not_in_what_was_merged() {
    for (branch, merge, counts) in [
        ("Allow-Deletes: 12", "merge", false),
        ("remove", "merge\n\nAllow-Deletes: 12", true),
    ] {
        let bench = twelve();
        bench.git(&["checkout", "-q", "-b", "feature"]);
        bench.declared_with(5.0, base(), &format!("a change\n\n{branch}"));
        bench.git(&["checkout", "-q", "main"]);
        bench.git_at(
            second(6.0),
            &["merge", "-q", "--no-ff", "-m", merge, "feature"],
        );
        if counts {
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
    bench.git(&["checkout", "-q", "-b", "feature"]);
    bench.commit(second(6.0), "elsewhere\n\nAllow-Deletes: 12");
    bench.git(&["checkout", "-q", "main"]);
    let merge = ["merge", "-q", "--no-ff", "-m", "merge", "feature"];
    bench.git_at(second(7.0), &merge);
    bench.refuses(&[]);
}

#[test]
fn it_does_not_count_where_the_section_was_merely_lost() {
    let bench = twelve();
    let mut lost = base();
    lost.as_object_mut().unwrap().remove("groups");
    lost["policies"]["p"] = json!({ "sources": ["g"], "destinations": ["g"] });
    bench.declared_with(5.0, lost.clone(), "lost\n\nAllow-Deletes: 12");
    bench.apply(&[]).expect(0).shows("1 created");
    let mut found = lost;
    found["groups"] = json!({ "g": {} });
    bench.declared(6.0, found);
    bench.refuses(&[]).says("Allow-Deletes: 12");
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
    bench.declared_with(5.0, file(&names[11..]), "they leave\n\nAllow-Deletes: 11");
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
    bench.declared_with(5.0, file(&names[11..]), "they leave\n\nAllow-Deletes: 11");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.one("/groups", "g")["peers_count"], 1);
}

#[test]
fn what_is_held_is_agreed_to_by_a_commit() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("old");
    bench.applied(
        3.0,
        with(
            with(base(), "groups", "old", json!({})),
            "groups",
            "new",
            json!({}),
        ),
    );
    bench.declared_with(9.0, base(), "both\n\nAllow-Deletes: 1");
    // 1 is what goes by itself, not what is held
    assert_eq!(bench.planned(&[]), ["delete_group new"]);
    bench.commit(second(10.0), "both\n\nAllow-Deletes: 2");
    assert_eq!(bench.planned(&[]), ["delete_group new", "delete_group old"]);
    bench.apply(&[]).expect(0).shows("2 deleted");
}

#[test]
fn a_line_whose_removals_are_done_agrees_to_nothing_that_is_held() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("old");
    let both = with(
        with(base(), "groups", "old", json!({})),
        "groups",
        "new",
        json!({}),
    );
    bench.applied(3.0, both);
    let new = with(base(), "groups", "new", json!({}));
    bench.applied(5.0, new);
    bench.declared_with(9.0, base(), "new goes\n\nAllow-Deletes: 1");
    bench.apply(&[]).expect(0).shows("1 deleted");
    // the number was that of the one deletion that is done
    bench.leaves_all(&[]);
    assert_eq!(bench.names("/groups"), ["All", "g", "old"]);
    // nor does anybody know what a later one means: it is found in the history for as long as old stays
    bench.commit(second(10.0), "old goes too\n\nAllow-Deletes: 1");
    let run = bench.leaves_all(&[]);
    run.shows("to delete it too, run apply with --allow-deletes 1")
        .shows("it may have been meant for group \"new\", which left the file since");
    assert_eq!(
        bench.planned(&["--allow-deletes", "1"]),
        ["delete_group old"]
    );
}

#[test]
fn a_later_line_for_a_refused_removal_agrees_to_nothing_that_is_held() {
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
    // four would be all of them; two are those of the last commit, which the limit refuses
    bench.refuses(&["--max-deletes", "1"]);
    bench.commit(second(9.0), "ours go\n\nAllow-Deletes: 2");
    bench
        .apply(&["--max-deletes", "1"])
        .expect(0)
        .shows("2 deleted");
    bench.leaves_all(&[]);
    assert_eq!(bench.names("/groups"), ["All", "g", "held1", "held2"]);
    // taken into the file and out again, it is plain what the number is about
    bench.applied(10.0, declare(base(), held));
    bench.declared_with(11.0, base(), "held go\n\nAllow-Deletes: 2");
    bench.apply(&[]).expect(0).shows("2 deleted");
    assert_eq!(bench.names("/groups"), ["All", "g"]);
}

#[test]
fn a_rename_beside_what_is_held_takes_nothing_out() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("old");
    let both = with(base(), "groups", "a", json!({}));
    bench.applied(3.0, with(both, "groups", "old", json!({})));
    let renamed = with(base(), "groups", "b", json!({ "renamed_from": "a" }));
    bench.declared_with(5.0, renamed, "a is b, old goes\n\nAllow-Deletes: 1");
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.names("/groups"), ["All", "b", "g"]);
}

#[test]
fn what_is_held_makes_no_older_line_count() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("old");
    let all = with(groups(12), "groups", "old", json!({}));
    bench.applied(3.0, all);
    bench.applied(5.0, groups(12));
    bench.commit(second(6.0), "of other deletions\n\nAllow-Deletes: 12");
    bench.declared(9.0, base());
    bench.refuses(&[]).says("Allow-Deletes: 12");
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
    bench.commit(second(6.0), "all of it\n\nAllow-Deletes: 2");
    bench.apply(&[]).expect(0).shows("2 deleted");
}

/// A plan in the job of a pull request from the branch `feature`, of which the base is hour 1.
fn in_pull_request(bench: &Bench, title: &str, body: &str) -> Run {
    let sha = |rev: &str| bench.git(&["rev-parse", rev]);
    let event = json!({ "number": 7, "pull_request": { "number": 7, "title": title, "body": body,
        "base": { "ref": "main", "sha": sha("main") }, "head": { "ref": "feature", "sha": sha("feature") } } });
    std::fs::write(bench.path("event.json"), event.to_string()).unwrap();
    let path = bench.path("event.json").display().to_string();
    let environment = [
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("GITHUB_EVENT_PATH", path.as_str()),
    ];
    bench.run_with(&["plan", "--format", "json"], &environment)
}

#[test]
fn a_plan_shows_it_wherever_it_stands_in_a_pull_request() {
    let rows = [
        ("", "", "a change\n\nAllow-Deletes: 12", "commit "),
        (
            "Allow-Deletes: 12",
            "",
            "a change",
            "the pull request's title",
        ),
        (
            "t",
            "why\n\nAllow-Deletes: 12\n",
            "a change",
            "the pull request's text",
        ),
    ];
    for (title, body, message, place) in rows {
        let bench = twelve();
        bench.git(&["checkout", "-q", "-b", "feature"]);
        bench.declared_with(5.0, base(), message);
        let plan = in_pull_request(&bench, title, body).expect(0).json();
        assert_eq!(plan["refusals"], json!([]));
        let notices = plan["notices"].to_string();
        let wanted = format!("Allow-Deletes: 12 ({place}");
        assert!(notices.contains(&wanted), "{wanted}: {notices}");
        // a wrong one is shown beside the refusal
        let wrong = in_pull_request(&bench, "Allow-Deletes: 3", "x")
            .expect(0)
            .json();
        assert!(wrong["notices"].to_string().contains("Allow-Deletes: 3"));
        if message == "a change" {
            assert_eq!(wrong["refusals"][0]["gate"], "deletions");
        }
    }
}

#[test]
fn a_plan_in_a_pull_request_is_of_the_merge_and_its_ledger() {
    let bench = twelve();
    bench.git(&["checkout", "-q", "-b", "feature"]);
    let mut change = groups(12);
    change["policies"]["p"] = json!({ "sources": ["g"], "destinations": ["g"] });
    bench.declared(3.0, change);
    // what the branch added and took back itself was never declared
    bench.declared(3.5, with(groups(12), "groups", "tried", json!({})));
    let mut change = groups(12);
    change["policies"]["p"] = json!({ "sources": ["g"], "destinations": ["g"] });
    bench.declared(4.0, change);
    bench.hour(3.6).group("tried");
    bench.git(&["checkout", "-q", "main"]);
    // the base goes on: a group of its own goes
    bench.declared(5.0, {
        let mut file = groups(12);
        file["groups"].as_object_mut().unwrap().remove("x00");
        file
    });
    bench.git(&["checkout", "-q", "feature"]);
    let run = in_pull_request(&bench, "t", "b").expect(0);
    let operations = run.operations();
    let wanted = ["delete_group x00 pending", "create_policy p pending"];
    assert_eq!(operations, wanted);
    let notices = run.json()["notices"].to_string();
    assert!(notices.contains("1 commit behind its base"), "{notices}");
}

#[test]
fn a_conflict_is_said_and_there_is_no_plan() {
    let bench = Bench::in_git();
    let policy = |description: &str| {
        let entry = json!({ "sources": ["g"], "destinations": ["g"], "description": description });
        with(base(), "policies", "p", entry)
    };
    bench.applied(1.0, policy("one"));
    bench.git(&["checkout", "-q", "-b", "feature"]);
    bench.declared(3.0, policy("two"));
    bench.git(&["checkout", "-q", "main"]);
    bench.declared(4.0, policy("three"));
    in_pull_request(&bench, "t", "b")
        .expect(1)
        .says("conflicts with the base branch");
}
