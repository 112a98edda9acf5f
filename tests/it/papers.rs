//! The pages: their links lead somewhere, and what they say of the program is so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every page: those at the top, and docs/.
fn pages() -> Vec<PathBuf> {
    let folders = ["", "docs"].map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let paths = folders
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    let pages = paths.filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages.collect()
}

/// The text without what is code, where nothing is a link.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if !is_code && !line.starts_with("    ") {
            let spans = line.split('`').step_by(2);
            prose.push_str(&spans.collect::<Vec<_>>().join("`"));
            prose.push('\n');
        }
    }
    prose
}

/// The anchors of a page, as Gitea, Forgejo and GitHub make them of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|char| char.is_alphanumeric() || " -_".contains(*char));
        kept.map(|char| if char == ' ' { '-' } else { char })
            .collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in prose(&text).split("](").skip(1) {
            let (target, _) = link.split_once(')').unwrap();
            if target.contains("://") {
                continue;
            }
            count += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = match path.is_empty() {
                true => page.clone(),
                false => page.parent().unwrap().join(path),
            };
            assert!(to.exists(), "{}: {target}", page.display());
            let has = || anchors(&fs::read_to_string(&to).unwrap()).contains(anchor);
            assert!(anchor.is_empty() || has(), "{}: {target}", page.display());
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn the_readme_stays_a_screen_and_a_half() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 115, "move the rest to docs/");
}

#[test]
fn the_short_way_is_ten_actions_at_most() {
    let page = read("docs/gitea.md");
    let (_, rest) = page.split_once("\n## The short way\n").unwrap();
    let (short, _) = rest.split_once("\n## ").unwrap();
    let number = |line: &str| line.split_once(". ")?.0.parse().ok();
    let actions: Vec<usize> = short.lines().filter_map(number).collect();
    assert_eq!(actions, (1..=actions.len()).collect::<Vec<_>>());
    assert!((1..=10).contains(&actions.len()), "{actions:?}");
}

#[test]
fn every_page_is_reached_from_the_readme() {
    let mut found = BTreeSet::from([root().join("README.md")]);
    let mut next: Vec<PathBuf> = found.iter().cloned().collect();
    while let Some(page) = next.pop() {
        let text = fs::read_to_string(&page).unwrap();
        for link in prose(&text).split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            let to = page.parent().unwrap().join(target);
            if target.ends_with(".md")
                && let Ok(to) = to.canonicalize()
                && found.insert(to.clone())
            {
                next.push(to);
            }
        }
    }
    for page in pages() {
        assert!(found.contains(&page), "no link leads to {}", page.display());
    }
}

#[test]
fn the_runbook_has_every_gate_and_every_exit_code() {
    let runbook = read("docs/runbook.md");
    let gates = read("src/plan/gates.rs");
    let flat = gates.split_whitespace().collect::<Vec<_>>().join(" ");
    // those of deletions stand in one table
    let table = flat.split("DELETION_GATES: ").nth(1).expect("a table");
    let table = table
        .split("];")
        .next()
        .expect("its end")
        .replace("(\"", "Refusal::new(\"");
    let flat = flat.clone() + &table;
    let starts = ["Refusal::new(\""];
    let names = starts.map(|start| flat.split(start).skip(1).collect::<Vec<_>>());
    let names = names
        .iter()
        .flatten()
        .map(|rest| rest.split('"').next().unwrap());
    let names: BTreeSet<&str> = names.collect();
    assert!(names.len() >= 12, "{names:?}");
    let explained = read("docs/gates.md");
    for name in names {
        assert!(
            runbook.contains(&format!("\n### `{name}`\n")),
            "the runbook lacks the gate {name}"
        );
        assert!(
            explained.contains(&format!("\n| `{name}` |")),
            "docs/gates.md lacks the gate {name}"
        );
    }
    let codes = read("src/commands/exit.rs");
    let codes = codes
        .lines()
        .filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "));
    let codes: Vec<&str> = codes
        .map(|(_, code)| code)
        .filter(|code| code.parse::<u8>().is_ok())
        .collect();
    assert_eq!(codes, ["0", "1", "2", "3", "4"]);
    for code in codes {
        assert!(
            runbook.contains(&format!("\n## {code}: ")),
            "the runbook lacks the exit code {code}"
        );
    }
}

/// All of the program's text that can hold a message, in one piece.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else {
            let source = fs::read_to_string(&path).unwrap().replace("\\\n", " ");
            text.extend(source.split_whitespace().flat_map(|word| [word, " "]));
        }
    }
}

#[test]
fn what_the_runbook_quotes_is_what_the_program_says() {
    let runbook = read("docs/runbook.md");
    let mut program = String::new();
    sources(&root().join("src"), &mut program);
    let cells = runbook
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let gates = runbook.lines().filter(|line| line.starts_with('`'));
    let mut count = 0;
    for line in cells.chain(gates) {
        for quoted in line.split('`').skip(1).step_by(2) {
            // numbers and names are put in by the program
            let parts = quoted
                .split('…')
                .map(str::trim)
                .filter(|part| part.len() > 2);
            for part in parts {
                assert!(
                    program.contains(part),
                    "the program never says {part:?} ({quoted:?})"
                );
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count}");
}
