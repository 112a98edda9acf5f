//! What README.md shows is what there is.

use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../README.md");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program where a newcomer stands: in the clone, without any setting.
fn run(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_netbird-gitops"))
        .args(args)
        .current_dir(root())
        .env_clear()
        .envs(std::env::vars().filter(|(name, _)| name == "PATH"))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commit and the file's digest are those of the reader's clone, which may be none of git's.
fn without_history(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("netbird.json (") && !line.contains("in no git checkout"));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn the_plan_that_it_shows_is_the_one_that_is_made() {
    let (_, rest) = README.split_once("```text\n").unwrap();
    let (shown, _) = rest.split_once("```").unwrap();
    let made = run(&["plan", "--live", "examples/live.json"]);
    assert_eq!(without_history(shown).trim(), without_history(&made).trim());
}

#[test]
fn the_file_that_it_shows_is_valid() {
    let (_, rest) = README.split_once("```json\n").unwrap();
    let (shown, _) = rest.split_once("```").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("netbird.json");
    std::fs::write(&file, shown).unwrap();
    run(&["validate", "--file", file.to_str().unwrap()]);
}

#[test]
fn every_command_is_in_its_table_and_every_link_leads_somewhere() {
    let help = run(&["--help"]);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert_eq!(commands.len(), 13, "{help}");
    for command in commands {
        assert!(
            README.contains(&format!("\n| `{command}")),
            "{command} has no row"
        );
    }
    for link in README.split("](").skip(1) {
        let (target, _) = link.split_once(')').unwrap();
        assert!(root().join(target).exists(), "{target}");
    }
}

/// The text of every source file below a folder, comments in one piece: a citation may go over two lines.
fn sources(folder: &Path, texts: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, texts);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let words = text.split_whitespace();
            let words: Vec<&str> = words
                .filter(|word| !["//", "///", "//!"].contains(word))
                .collect();
            texts.push((path.display().to_string(), words.join(" ")));
        }
    }
}

/// The headings that a text cites, each with its page: `docs/PAGE.md`, then one or more headings in quotes.
fn cited(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (end, _) in text.match_indices(".md, \"") {
        let before = &text[..end];
        let Some(start) = before.rfind("docs/") else {
            continue;
        };
        let page = format!("{}.md", &before[start..]);
        if page.contains(' ') {
            continue;
        }
        let mut rest = &text[end + ".md".len()..];
        while let Some(quoted) = rest.strip_prefix(", \"") {
            let (heading, after) = quoted.split_once('"').unwrap();
            found.push((page.clone(), heading.to_owned()));
            rest = after;
        }
    }
    found
}

#[test]
fn every_heading_that_a_comment_cites_is_on_its_page_and_every_fact_is_cited() {
    let mut texts = Vec::new();
    for folder in ["src", "tests", "benches"] {
        sources(&root().join(folder), &mut texts);
    }
    let headings = |page: &str| -> Vec<String> {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("##"));
        lines
            .map(|line| line.trim_start_matches('#').trim().to_owned())
            .collect()
    };
    let mut seen = std::collections::BTreeSet::new();
    for (path, text) in &texts {
        for (page, heading) in cited(text) {
            assert!(
                headings(&page).contains(&heading),
                "{path} cites {page}, which has no heading {heading:?}"
            );
            seen.insert((page, heading));
        }
    }
    for page in ["docs/netbird-api.md", "docs/gitea-api.md"] {
        for heading in headings(page) {
            assert!(
                seen.contains(&(page.to_owned(), heading.clone())),
                "nothing leans on {page}, {heading:?}"
            );
        }
    }
}
