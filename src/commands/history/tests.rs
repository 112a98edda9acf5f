//! What the commits since the last apply made of the file.

use super::History;
use crate::forge::ci::Context;
use crate::git::Sha;
use crate::git::testing::Repo;
use crate::git::versions::Versions;

fn file(groups: &[&str]) -> String {
    let entries: Vec<String> = groups
        .iter()
        .map(|name| format!("\"{name}\": {{}}"))
        .collect();
    format!("{{\"groups\": {{{}}}}}", entries.join(", "))
}

fn read(repo: &Repo) -> History {
    History::read(&repo.path().join("netbird.json"), &Context::default()).unwrap()
}

/// What the versions are, the newest last: the groups of each, by commit.
fn told(versions: &Versions) -> Vec<(Sha, Vec<String>)> {
    let versions = versions.commits().iter();
    let told = versions.map(|version| {
        let groups = version.desired.groups().map(|(name, _)| name.clone());
        (version.sha.clone(), groups.collect())
    });
    told.collect()
}

#[test]
fn each_commit_since_the_last_apply_is_a_version() {
    let repo = Repo::new();
    repo.file(1, file(&["a"]));
    let applied = repo.file(2, file(&["a", "b"]));
    let third = repo.file(3, file(&["b"]));
    let broken = repo.file(4, "half a fi");
    let fifth = repo.file(5, file(&["c"]));
    let mut history = read(&repo);
    let versions = history
        .versions(Some(applied.as_str()), "netbird.json")
        .unwrap();
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    // a file that nobody accepts asks for what the one before it did
    let expected = [
        (third, own(&["b"])),
        (broken, own(&["b"])),
        (fifth, own(&["c"])),
    ];
    assert_eq!(told(&versions), expected);
    assert!(history.too_short.is_none());
    let nothing = history.versions(None, "netbird.json").unwrap();
    assert!(nothing.commits().is_empty() && history.too_short.is_none());
}

#[test]
fn a_file_that_was_moved_has_its_versions() {
    let repo = Repo::new();
    repo.write("old.json", file(&["a", "b"]));
    let applied = repo.commit(1, "old");
    repo.git(&["mv", "old.json", "netbird.json"]);
    let moved = repo.commit(2, "moved");
    let changed = repo.file(3, file(&["a"]));
    let versions = read(&repo).versions(Some(applied.as_str()), "old.json");
    let told = told(&versions.unwrap());
    let commits: Vec<Sha> = told.iter().map(|(sha, _)| sha.clone()).collect();
    assert_eq!(commits, [moved, changed]);
    assert_eq!(told[0].1, ["a", "b"]);
    assert_eq!(told[1].1, ["a"]);
}

#[test]
fn without_the_applied_commit_there_are_no_versions_and_that_is_told() {
    let repo = Repo::new();
    let lost = repo.file(1, file(&["a"]));
    repo.git(&["checkout", "-q", "--orphan", "other"]);
    repo.file(2, file(&["b"]));
    for applied in [lost.as_str(), "0123456789012345678901234567890123456789"] {
        let mut history = read(&repo);
        let versions = history.versions(Some(applied), "netbird.json").unwrap();
        assert!(versions.commits().is_empty());
        assert!(history.too_short.is_some(), "{applied}");
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
