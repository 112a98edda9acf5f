//! What a run shows while it writes: at a terminal a line that moves and of which nothing is left, elsewhere a line a step.

use std::process::Command;
use std::sync::mpsc::channel;

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Bench, Terminal};

fn groups(number: usize) -> Value {
    let names = (0..number).map(|at| (format!("group-{at:02}"), json!({})));
    json!({ "groups": serde_json::Map::from_iter(names) })
}

/// `apply` where a terminal is that can be written over.
fn at_a_terminal(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.command(&[&["apply", "--yes", "--color", "never"], args].concat());
    command.env("TERM", "xterm-256color");
    command
}

/// What stands on a screen of so many columns in the end.
fn screen(written: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut row, mut column) = (vec![String::new()], 0, 0);
    let mut rest = written;
    while let Some(char) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\x1b[K") {
            lines[row] = lines[row].chars().take(column).collect();
            rest = after;
            continue;
        }
        rest = &rest[char.len_utf8()..];
        match char {
            '\r' => column = 0,
            '\n' => {
                (row, column) = (row + 1, 0);
                lines.resize(row + 1, String::new());
            }
            _ => {
                assert!(char != '\x1b', "another sequence: {rest:?}");
                if column == columns {
                    (row, column) = (row + 1, 0);
                    lines.resize(row + 1, String::new());
                }
                let mut chars: Vec<char> = lines[row].chars().collect();
                chars.resize(chars.len().max(column + 1), ' ');
                chars[column] = char;
                lines[row] = chars.into_iter().collect();
                column += 1;
            }
        }
    }
    lines
}

fn moves(written: &str) -> bool {
    written.contains("\x1b[K")
}

#[test]
fn at_a_terminal_one_line_moves_and_nothing_of_it_is_left() {
    let bench = Bench::fake();
    bench.file(groups(3));
    let (run, seen) = Terminal::sized(at_a_terminal(&bench, &[]), 100).seen_to_the_end(&bench);
    run.expect(0).shows("3 created");
    for step in [
        "0 s  [1/3] group group-00",
        "0 s  [3/3] group group-02",
        "0 s  reading the account again",
    ] {
        assert!(
            seen.contains(&format!("\r\x1b[K{step}")),
            "{step}: {seen:?}"
        );
    }
    let screen = screen(&seen, 100).join("\n");
    assert!(screen.contains("3 to create"), "the plan stays: {screen}");
    assert!(
        !screen.contains("[1/3]") && !screen.contains("reading the account"),
        "{screen}"
    );
    assert!(
        screen.ends_with('\n'),
        "the next prompt begins a line: {screen:?}"
    );
    // a change of members is what the plan says, too
    let mut file = groups(3);
    file["setup_keys"] = bench.enrolled(&["m"]);
    file["groups"]["group-00"] = json!({ "peers": ["m"] });
    bench.file(file);
    let (run, seen) = Terminal::sized(at_a_terminal(&bench, &[]), 100).seen_to_the_end(&bench);
    run.expect(0).shows("1 changed");
    assert!(seen.contains("[1/1] group group-00"), "{seen:?}");
    let screen = self::screen(&seen, 100).join("\n");
    assert!(!screen.contains("[1/1]"), "{screen}");
}

#[test]
fn at_a_terminal_what_went_wrong_stays() {
    let bench = Bench::fake();
    bench.file(groups(3));
    let fault = Fault::on("POST", "/groups").nth(2);
    bench
        .netbird()
        .fault(fault.then(Effect::Status(422, json!({ "message": "out of luck" }))));
    let (run, seen) = Terminal::sized(at_a_terminal(&bench, &[]), 100).seen_to_the_end(&bench);
    run.expect(4);
    let screen = screen(&seen, 100);
    let failed = screen
        .iter()
        .filter(|line| line.starts_with("[2/3] group group-01: "));
    assert_eq!(failed.count(), 1, "{screen:?}");
    assert!(
        !screen.iter().any(|line| line.contains("[1/3]")),
        "{screen:?}"
    );
    assert!(
        screen.iter().any(|line| line.contains("out of luck")),
        "{screen:?}"
    );
}

#[test]
fn a_narrow_terminal_gets_a_line_that_does_not_wrap() {
    let bench = Bench::fake();
    for columns in [3, 20, 40] {
        let name = format!("a-name-that-is-far-too-long-for-{columns}-columns");
        bench.file(json!({ "groups": { name: {} } }));
        let command = at_a_terminal(&bench, &["--prune", "none"]);
        let (run, seen) = Terminal::sized(command, columns).seen_to_the_end(&bench);
        run.expect(0);
        let drawn = seen
            .split("\r\x1b[K")
            .skip(1)
            .filter_map(|line| line.split(['\r', '\n']).next());
        let widths = drawn.map(|line| line.chars().count());
        assert!(widths.clone().any(|width| width > 0), "{seen:?}");
        assert!(
            widths.max() < Some(usize::from(columns)),
            "{columns}: {seen:?}"
        );
    }
}

#[test]
fn nothing_moves_where_nobody_watches_or_wants_it() {
    let bench = Bench::fake();
    type Row<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], bool);
    let in_a_job = bench.in_a_job();
    let rows: [Row; 6] = [
        (&[], &[], true),
        (&["--quiet"], &[], false),
        (&["--log-format", "json"], &[], false),
        (&[], &[("TERM", "dumb")], false),
        (&[], &[("TERM", "")], false),
        (&[], &in_a_job, false),
    ];
    for (args, environment, wanted) in rows {
        bench.file(groups(1));
        let mut command = at_a_terminal(&bench, args);
        command.envs(environment.iter().copied());
        let (run, seen) = Terminal::sized(command, 80).seen_to_the_end(&bench);
        run.expect(0).shows("1 created");
        assert_eq!(moves(&seen), wanted, "{args:?} {environment:?}: {seen:?}");
        let says = seen.contains("[1/1] group group-00: created");
        assert_eq!(
            says,
            !wanted && !args.contains(&"--quiet"),
            "{args:?}: {seen:?}"
        );
        bench.delete("/groups", "group-00");
    }
    // into a pipe
    let run = bench.run_with(&["apply"], &[("TERM", "xterm")]).expect(0);
    assert!(
        run.stderr.contains("[1/1] group group-00: created"),
        "{}",
        run.stderr
    );
    assert!(!moves(&run.stderr) && !moves(&run.stdout));
}

#[test]
fn a_signal_is_answered_while_the_operation_in_hand_is_finished() {
    let bench = Bench::fake();
    bench.file(groups(3));
    let mut terminal = Terminal::sized(at_a_terminal(&bench, &[]), 100);
    let (pid, (said, waits)) = (terminal.pid(), channel());
    bench.netbird().before("POST", "/groups", move |_| {
        pid.signal("INT");
        waits.recv().unwrap();
    });
    terminal
        .reads_until("stopping after [1/3] group group-00; a second Ctrl-C ends it at once\r\n");
    said.send(()).unwrap();
    let (run, seen) = terminal.seen_to_the_end(&bench);
    run.expect(4);
    let (_, after) = seen.split_once("at once").unwrap();
    assert!(!moves(after), "{after:?}");
    assert!(
        after.contains("stopped by a signal after 1 of 3 operations"),
        "{after:?}"
    );
}

/// The lines between `::group::` and `::endgroup::`, and all others.
fn folded(stderr: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut inside, mut outside, mut is_inside) = (Vec::new(), Vec::new(), false);
    for line in stderr.lines() {
        match line {
            "::endgroup::" => is_inside = false,
            line if line.starts_with("::group::") => is_inside = true,
            line if is_inside => inside.push(line),
            line => outside.push(line),
        }
    }
    assert!(!is_inside, "never ended: {stderr}");
    (inside, outside)
}

/// The report outlives a run that is killed.
#[test]
fn the_report_of_a_run_at_work_says_what_is_done_by_then() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m", "n"]);
    let file =
        |member: &str| json!({ "groups": { "g": { "peers": [member] } }, "setup_keys": keys });
    bench.agreed(file("m"));
    let mut second = file("n");
    second["groups"]["a"] = json!({});
    bench.file(second);
    let [report, seen] = ["report.json", "seen.json"].map(|name| bench.path(name));
    // one joins, and then one leaves
    bench.netbird().after("PUT", "/groups/", move |netbird| {
        netbird.before("PUT", "/groups/", move |_| {
            std::fs::copy(report, seen).unwrap();
        });
    });
    let args = ["--max-deletes", "9", "--report", "report.json"];
    bench.apply(&args).expect(0);
    let seen: Value =
        serde_json::from_slice(&std::fs::read(bench.path("seen.json")).unwrap()).unwrap();
    let status = |at: usize| seen["operations"][at]["status"].clone();
    assert_eq!([status(0), status(1)], ["success", "pending"], "{seen:#}");
}

#[test]
fn in_a_job_each_step_is_a_line_and_many_are_folded() {
    let bench = Bench::fake();
    for (number, runner, wanted) in [
        (11, "GITEA_ACTIONS", 11),
        (11, "GITHUB_ACTIONS", 11),
        (11, "FORGEJO_ACTIONS", 0),
        (10, "GITEA_ACTIONS", 0),
        (11, "WOODPECKER", 0),
    ] {
        bench.file(groups(number));
        let [ci, inventory] = bench.in_a_job();
        let environment = [ci, inventory, (runner, "true")];
        let run = bench
            .run_with(&["apply", "--any-commit"], &environment)
            .expect(0);
        let (inside, outside) = folded(&run.stderr);
        assert_eq!(inside.len(), wanted, "{runner}: {}", run.stderr);
        let steps = inside
            .iter()
            .chain(&outside)
            .filter(|line| line.contains(": created"));
        assert_eq!(steps.count(), number, "{}", run.stderr);
        for at in 0..number {
            bench.delete("/groups", &format!("group-{at:02}"));
        }
    }
}

#[test]
fn what_went_wrong_is_never_folded() {
    let bench = Bench::fake();
    bench.file(groups(12));
    let fault = Fault::on("POST", "/groups").nth(3);
    bench
        .netbird()
        .fault(fault.then(Effect::Status(422, json!({ "message": "out of luck" }))));
    let [ci, inventory] = bench.in_a_job();
    let environment = [ci, inventory, ("GITEA_ACTIONS", "true")];
    let run = bench
        .run_with(&["apply", "--any-commit", "--keep-going"], &environment)
        .expect(4);
    let (inside, outside) = folded(&run.stderr);
    assert!(
        outside
            .iter()
            .any(|line| line.contains("[3/12] group group-02: ")),
        "{}",
        run.stderr
    );
    assert_eq!(inside.len(), 11, "{}", run.stderr);
    assert!(
        inside.iter().all(|line| line.contains(": created")),
        "{inside:?}"
    );
    // quiet is quiet
    let run = bench.run_with(&["apply", "--any-commit", "--quiet"], &environment);
    assert!(!run.stderr.contains("::group::"), "{}", run.stderr);
}
