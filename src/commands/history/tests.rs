//! What the commits since the last apply made of the file.

use std::fs;

use super::History;
use crate::forge::ci::Context;
use crate::git::Sha;
use crate::git::testing::Repo;
use crate::git::versions::Versions;
use crate::model::{Address, Cause, Kind};

fn file(groups: &[&str]) -> String {
    let entries: Vec<String> = groups
        .iter()
        .map(|name| format!("\"{name}\": {{}}"))
        .collect();
    format!("{{\"groups\": {{{}}}}}", entries.join(", "))
}

fn read(repo: &Repo) -> History {
    History::read(&repo.path().join("netbird.json"), &[], &Context::default()).unwrap()
}

/// The commit by which the group got its present state, where one did since the last apply.
fn cause<'a>(versions: &'a Versions, group: &str) -> Option<&'a Sha> {
    let group = Address::new(Kind::Group, group);
    match versions.changed(|file| file.has(&group)) {
        Some(Cause::Commit(at)) => Some(&versions.commits()[at]),
        _ => None,
    }
}

#[test]
fn each_commit_since_the_last_apply_is_a_version() {
    let repo = Repo::new();
    repo.file(1, file(&["a"]));
    let applied = repo.file(2, file(&["a", "b"]));
    let third = repo.file(3, file(&["b"]));
    let broken = repo.file(4, "half a fi");
    let fifth = repo.file(5, file(&["c"]));
    let history = read(&repo);
    let versions = history
        .versions(Some(applied.as_str()), "netbird.json")
        .unwrap();
    assert_eq!(versions.commits(), [third.clone(), broken, fifth.clone()]);
    // a file that nobody accepts asks for what the one before it did
    assert_eq!(cause(&versions, "a"), Some(&third));
    assert_eq!(cause(&versions, "b"), Some(&fifth));
    assert_eq!(cause(&versions, "c"), Some(&fifth));
    assert_eq!(cause(&versions, "d"), None);
    assert!(!versions.is_cut());
    let nothing = history.versions(None, "netbird.json").unwrap();
    assert!(nothing.commits().is_empty() && !nothing.is_cut());
}

/// Each can have 10 MiB, so few texts are held at a time.
#[test]
fn many_versions_are_read_block_by_block() {
    let repo = Repo::new();
    let names: Vec<String> = (0..40).map(|number| format!("g{number}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let commit = |number: usize| repo.file(number as i64, file(&all[..number]));
    let commits: Vec<Sha> = (1..=40).map(commit).collect();
    let versions = read(&repo);
    let versions = versions.versions(Some(commits[0].as_str()), "netbird.json");
    let versions = versions.unwrap();
    for at in [1, 15, 16, 17, 39] {
        assert_eq!(cause(&versions, all[at]), Some(&commits[at]));
    }
}

/// Each is kept once it is read: of very large ones only so many are.
#[test]
fn versions_that_are_too_large_in_all_are_not_kept() {
    let repo = Repo::new();
    let blanks = " ".repeat(super::MOST_BYTES / 8);
    let large = |group: &str| format!("{}{blanks}", file(&[group]));
    let applied = repo.file(1, file(&["a"]));
    for number in 2..12 {
        repo.file(number, large(&number.to_string()));
    }
    let history = read(&repo);
    let versions = history
        .versions(Some(applied.as_str()), "netbird.json")
        .unwrap();
    // what the newest versions tell is read, and is all that is held
    assert!(cause(&versions, "11").is_some() && !versions.is_cut());
    assert_eq!(cause(&versions, "a"), None);
    assert!(versions.is_cut());
    let told = history.too_short(Some(applied.as_str())).unwrap();
    assert!(told.words().contains("are too large to be read"));
}

#[test]
fn versions_are_read_when_they_are_asked_for() {
    let repo = Repo::new();
    let applied = repo.file(1, file(&["a", "b"]));
    let lost = repo.file(2, file(&["b", "old"]));
    for second in 3..6 {
        repo.file(second, file(&["b", &format!("c{second}")]));
    }
    let removal = repo.file(6, file(&["d"]));
    // a clone that leaves this one out
    let blob = repo.git(&["rev-parse", &format!("{lost}:netbird.json")]);
    let (folder, name) = blob.trim().split_at(2);
    let objects = repo.path().join(".git/objects");
    fs::remove_file(objects.join(folder).join(name)).unwrap();
    let versions = read(&repo).versions(Some(applied.as_str()), "netbird.json");
    let versions = versions.unwrap();
    assert_eq!(versions.commits().len(), 5);
    assert!(versions.base().is_some());
    assert_eq!(cause(&versions, "b"), Some(&removal));
    assert!(!versions.is_cut());
    // what needs it is one change with the rest
    assert_eq!(cause(&versions, "a"), None);
    assert!(versions.is_cut() && versions.commits().is_empty());
    assert_eq!(cause(&versions, "b"), None);
}

#[test]
fn a_file_that_was_moved_has_its_versions() {
    let repo = Repo::new();
    repo.write("old.json", file(&["a", "b", "c"]));
    let applied = repo.commit(1, "old");
    repo.write("old.json", file(&["a", "b"]));
    let before = repo.commit(2, "before");
    repo.git(&["mv", "old.json", "netbird.json"]);
    let moved = repo.commit(3, "moved");
    let changed = repo.file(4, file(&["a"]));
    let versions = read(&repo).versions(Some(applied.as_str()), "old.json");
    let versions = versions.unwrap();
    assert_eq!(versions.commits(), [before.clone(), moved, changed.clone()]);
    assert_eq!(cause(&versions, "a"), None);
    assert_eq!(cause(&versions, "b"), Some(&changed));
    assert_eq!(cause(&versions, "c"), Some(&before));
}

#[test]
fn without_the_applied_commit_there_are_no_versions_and_that_is_told() {
    let repo = Repo::new();
    let lost = repo.file(1, file(&["a"]));
    repo.git(&["checkout", "-q", "--orphan", "other"]);
    repo.file(2, file(&["b"]));
    for applied in [lost.as_str(), "0123456789012345678901234567890123456789"] {
        let history = read(&repo);
        let versions = history.versions(Some(applied), "netbird.json").unwrap();
        assert!(versions.commits().is_empty());
        assert!(versions.is_cut(), "{applied}");
        assert!(history.too_short(Some(applied)).is_some());
    }
}

#[test]
fn an_apply_is_through_on_a_newer_commit_with_its_own_file() {
    let repo = Repo::new();
    let key =
        |marked: &str| format!("{{\"setup_keys\": {{\"k\": {{\"type\": \"one-off\"{marked}}}}}}}");
    let first = repo.file(1, key(""));
    let marked = key(", \"enrolled\": true");
    let second = repo.file(2, &marked);
    let nobody = |_: &Sha, _: &Sha| panic!("the checkout tells");
    let through = |text: &str, applied: Option<&Sha>| {
        let applied = applied.map(Sha::as_str);
        read(&repo)
            .through(text.as_bytes(), applied, nobody)
            .unwrap()
    };
    let newer = through(&marked, Some(&first)).unwrap();
    assert_eq!(newer.commit, second.as_str());
    assert!(newer.is_other_file && !newer.changes_more);
    let initial = through(&marked, None).unwrap();
    assert!(initial.is_other_file && initial.changes_more);
    // the same commit, a file that is not committed, and an older run
    assert!(through(&marked, Some(&second)).is_none());
    assert!(through("{}", Some(&first)).is_none());
    repo.git(&["checkout", "-q", first.as_str()]);
    assert!(through(&key(""), Some(&second)).is_none());
}

#[test]
fn a_commit_that_the_checkout_lacks_is_asked_for() {
    let repo = Repo::new();
    let tip = repo.file(1, file(&["a"]));
    let gone = "0123456789012345678901234567890123456789";
    for answer in [true, false] {
        let through =
            read(&repo).through(file(&["a"]).as_bytes(), Some(gone), |applied, commit| {
                assert_eq!((applied.as_str(), commit), (gone, &tip));
                Ok(answer)
            });
        assert_eq!(through.unwrap().is_some(), answer);
    }
}
