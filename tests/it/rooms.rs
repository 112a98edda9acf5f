//! The rooms of `src` use each other as the table in docs/lifecycle.md says, and never in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The rows of the table, in order: a room, and those that it uses.
fn table() -> Vec<(String, BTreeSet<String>)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/lifecycle.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("## The rooms").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let uses = cells[3].split(", ").filter(|room| *room != "—");
        let room = cells[1].trim_matches('`').to_owned();
        (room, uses.map(str::to_owned).collect())
    };
    rows.map(row).collect()
}

/// The code of a file without its comments and its unit tests, and the files that are tests only.
fn code(path: &Path) -> (String, Vec<PathBuf>) {
    let text = fs::read_to_string(path).unwrap();
    let (mut code, mut tests, mut is_test) = (String::new(), Vec::new(), false);
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if line.starts_with("#[") || line.is_empty() {
            is_test |= line == "#[cfg(test)]";
            continue;
        }
        match line.split_once("mod ").filter(|_| is_test) {
            Some((_, module)) if module.ends_with('{') => break,
            Some((_, module)) => {
                tests.push(path.with_extension("").join(module.trim_end_matches(';')));
            }
            None if is_test => {}
            None => {
                code.push_str(line);
                code.push('\n');
            }
        }
        is_test = false;
    }
    (code, tests)
}

/// Adds what the code under a path uses of other rooms.
fn read(room: &str, path: &Path, arrows: &mut Arrows) {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        // what a parent calls a test is left out with its folder
        let parents = entries.iter().filter(|path| path.is_file());
        let mut tests: BTreeSet<PathBuf> = parents.flat_map(|path| code(path).1).collect();
        let own = path.with_extension("rs");
        if own.is_file() {
            tests.extend(code(&own).1);
        }
        for entry in entries {
            if !tests.contains(&entry.with_extension("")) {
                read(room, &entry, arrows);
            }
        }
        return;
    }
    let code = code(path).0;
    for (at, word) in code.match_indices("crate::") {
        let used =
            code[at + word.len()..].split(|char: char| !char.is_alphanumeric() && char != '_');
        let used = used.into_iter().next().unwrap_or_default();
        assert!(!used.is_empty(), "{}: one `use` a room", path.display());
        if used != room {
            arrows
                .entry(room.to_owned())
                .or_default()
                .insert(used.to_owned());
        }
    }
}

#[test]
fn rooms_use_each_other_as_the_table_says() {
    let (table, mut arrows) = (table(), Arrows::new());
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&src).unwrap() {
        let path = entry.unwrap().path();
        let room = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if !["lib", "main"].contains(&&*room) {
            read(&room, &path, &mut arrows);
            found.insert(room);
        }
    }
    let rooms: BTreeSet<String> = table.iter().map(|(room, _)| room.clone()).collect();
    assert_eq!(found, rooms, "the rooms of src, and those of the table");
    let mut above = BTreeSet::new();
    for (room, uses) in table {
        assert_eq!(
            arrows.remove(&room).unwrap_or_default(),
            uses,
            "what {room} uses, and its row"
        );
        assert!(uses.is_subset(&above), "{room} uses a room below it");
        above.insert(room);
    }
}
