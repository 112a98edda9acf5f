//! Do names that somebody chose with care stay names, wherever they are shown?

use serde_json::{Map, Value, json};

use crate::run::Bench;

/// Names that markdown, HTML or Gitea could act on.
const HOSTILE: [&str; 22] = [
    "tcp|udp",
    "x|~y~",
    "`x`",
    "```",
    "@everyone",
    "#12",
    "![a](http://evil.example/p.png)",
    "[ok](javascript:1)",
    "<img src=x>",
    "a\\|b",
    "c\\",
    "\\\\|",
    "# head",
    "> quote",
    "1. one",
    "- item",
    "**bold**",
    "<!-- netbird-gitops plan default -->",
    "--><script>",
    "</details>",
    ":bug:",
    "$x$",
];

/// The cells of a row of a table, by both readings of `\\|`: of CommonMark, and of Gitea's goldmark.
fn cells(row: &str) -> [usize; 2] {
    let bytes = row.as_bytes();
    let pipes = |is_escaped: &dyn Fn(usize) -> bool| {
        bytes
            .iter()
            .enumerate()
            .filter(|(at, byte)| **byte == b'|' && !is_escaped(*at))
            .count()
    };
    let backslashes = |at: usize| {
        bytes[..at]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count()
    };
    [
        pipes(&|at| backslashes(at) % 2 == 1),
        pipes(&|at| backslashes(at) > 0),
    ]
}

#[test]
fn names_are_inert_in_a_comment() {
    let bench = Bench::fake();
    let groups: Map<_, _> = HOSTILE
        .iter()
        .map(|name| ((*name).to_owned(), json!({})))
        .collect();
    let policy =
        |name: &str| json!({ "description": "a | b", "sources": [name], "destinations": [name] });
    let policies: Map<_, _> = HOSTILE
        .iter()
        .map(|name| ((*name).to_owned(), policy(name)))
        .collect();
    bench.file(json!({ "groups": groups, "policies": policies }));
    let plan = bench.plan(&["--format", "markdown"]).expect(0).stdout;
    let rows: Vec<&str> = plan.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 1 + 2 * HOSTILE.len(), "{plan}");
    for row in rows {
        assert_eq!(cells(row), [5, 5], "{row}");
    }
    assert_eq!(
        plan.matches("<!-- netbird-gitops plan default -->").count(),
        1 + 2,
        "the marker, and two code spans: {plan}"
    );
    // outside of code spans nothing is left that could act
    for line in plan.lines().skip(1) {
        let bare = outside_code(line).replace("&#", "");
        for act in [
            "<img",
            "<script",
            "<!--",
            "![",
            "](",
            "@everyone",
            "#12",
            "**bold**",
        ] {
            assert!(!bare.contains(act), "{act} in {bare}");
        }
    }
    // a changed description is running text
    bench.apply(&[]).expect(0);
    let policy = |name: &str| json!({ "description": format!("a | b {name}"), "sources": [name], "destinations": [name] });
    let policies: Map<_, _> = HOSTILE
        .iter()
        .map(|name| ((*name).to_owned(), policy(name)))
        .collect();
    bench.file(json!({ "policies": policies }));
    let plan = bench.plan(&["--format", "markdown"]).expect(0).stdout;
    for row in plan.lines().filter(|line| line.starts_with("| ")) {
        assert_eq!(cells(row), [5, 5], "{row}");
    }
}

/// A line without its code spans.
fn outside_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        out.push_str(&rest[..at]);
        let fence: String = rest[at..].chars().take_while(|char| *char == '`').collect();
        let inside = &rest[at + fence.len()..];
        let mut from = 0;
        let end = loop {
            let Some(found) = inside[from..].find(&fence).map(|found| from + found) else {
                break None;
            };
            let run = inside[found..]
                .chars()
                .take_while(|char| *char == '`')
                .count();
            if run == fence.len() {
                break Some(found);
            }
            from = found + run;
        };
        match end {
            Some(end) => rest = &inside[end + fence.len()..],
            None => {
                out.push_str(&fence);
                rest = inside;
            }
        }
    }
    out + rest
}

#[test]
fn names_that_move_the_cursor_are_shown_as_escapes() {
    let bench = Bench::fake();
    // a client chooses its peer's name, and the server takes any name
    for name in [
        "red\u{1b}[31m",
        "over\u{202e}ride",
        "bell\u{7}",
        "two\nlines",
    ] {
        bench.group(name);
        bench.peer(name);
        let rule = json!({ "name": "p", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "all",
                           "sources": [], "destinations": [] });
        bench.create(
            "/policies",
            json!({ "name": name, "enabled": true, "rules": [rule] }),
        );
    }
    let peers: Vec<Value> = bench
        .server()
        .list("/peers")
        .iter()
        .map(|peer| peer["id"].clone())
        .collect();
    bench.create("/groups", json!({ "name": "declared", "peers": peers }));
    bench.file(json!({ "groups": { "declared": { "peers": [] } }, "policies": {} }));
    for args in [
        &["plan"][..],
        &["plan", "--prune", "all"],
        &["plan", "--format", "markdown"],
        &["apply"],
    ] {
        let run = bench.run(args).expect(0);
        for text in [run.stdout, run.stderr] {
            let hidden = text
                .chars()
                .find(|char| char.is_control() && *char != '\n' || *char == '\u{202e}');
            assert_eq!(hidden, None, "{args:?}: {text:?}");
            assert!(!text.contains("two\nlines"), "{args:?}: {text}");
        }
    }
}

#[test]
fn a_plan_that_is_cut_says_so_at_the_top_and_keeps_its_deletions() {
    let bench = Bench::fake();
    for number in 0..12 {
        bench.group(&format!("old-{number:02}"));
    }
    let groups: Map<_, _> = (0..1500)
        .map(|n| (format!("a-new-group-with-a-long-name-{n:04}"), json!({})))
        .collect();
    bench.file(json!({ "groups": groups }));
    let plan = bench
        .plan(&["--format", "markdown", "--prune", "all"])
        .expect(0)
        .stdout;
    assert!(plan.chars().count() <= 60_000);
    let top = plan.lines().take(6).collect::<Vec<_>>().join("\n");
    assert!(
        top.contains("1500 to create, **12 to delete**")
            && top.contains(
                "too long for a comment. Left out here, but in the job's log: 438 of 1500 creations and changes"
            ),
        "{top}"
    );
    for number in 0..12 {
        assert!(plan.contains(&format!("| ➖ | group | `old-{number:02}` |")));
    }
    let json = bench
        .plan(&["--format", "json", "--prune", "all"])
        .expect(0)
        .json();
    assert_eq!(json["operations"].as_array().unwrap().len(), 1512);
}

#[test]
fn the_environment_cannot_end_the_marker() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    let run = bench
        .plan(&["--format", "markdown", "--environment", "a --> b"])
        .expect(0);
    assert!(
        run.stdout
            .starts_with("<!-- netbird-gitops plan a%20-%2D%3E%20b -->\n"),
        "{}",
        run.stdout
    );
}
