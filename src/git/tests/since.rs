//! The commits since another one, and what each has.

use crate::git::testing::{Repo, at, netbird_json, open};
use crate::git::{Git, Sha};

fn changed(git: &Git, from: Option<&Sha>, tip: &Sha) -> Vec<(Sha, i64)> {
    git.changes(from, tip, &[&netbird_json(git)], 100).unwrap()
}

#[test]
fn commits_that_changed_the_file_are_listed_along_first_parents() {
    let repo = Repo::new();
    let first = repo.file(10, "1");
    repo.write("other", "x");
    repo.commit(20, "beside");
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.file(30, "2");
    repo.file(40, "3");
    repo.git(&["checkout", "-q", "main"]);
    repo.git_at(50, &["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let (merge, git) = (repo.tip(), repo.open());
    let all = [(merge.clone(), 50), (first.clone(), 10)];
    assert_eq!(changed(&git, None, &merge), all);
    assert_eq!(changed(&git, Some(&first), &merge), all[..1]);
    assert!(changed(&git, Some(&merge), &merge).is_empty());
    let newest = git.changes(None, &merge, &[&netbird_json(&git)], 1);
    assert_eq!(newest.unwrap(), all[..1]);
    assert_eq!(git.changes(None, &merge, &[], 100).unwrap().len(), 3);
}

#[test]
fn what_each_commit_has_is_read_at_once() {
    let repo = Repo::new();
    let old = repo.file(1, "old");
    repo.git(&["mv", "netbird.json", "new.json"]);
    let moved = repo.commit(2, "moved");
    repo.write("new.json", "larger than all others");
    let large = repo.commit(3, "large");
    let git = repo.open();
    let paths = [at(&git, "new.json"), netbird_json(&git)];
    let paths: Vec<_> = paths.iter().collect();
    let read = git.show_each(&[&old, &moved, &large], &paths, 10).unwrap();
    let texts: Vec<Option<&str>> = read
        .iter()
        .map(|text| {
            text.as_deref()
                .map(|text| std::str::from_utf8(text).unwrap())
        })
        .collect();
    assert_eq!(
        texts,
        [None, Some("old"), Some("old"), None, Some(""), None]
    );
}

#[test]
fn many_commits_do_not_stop_the_pipe() {
    let repo = Repo::new();
    let tip = repo.file(1, "x".repeat(200_000));
    let git = repo.open();
    let commits = vec![&tip; 40];
    let read = git.show_each(&commits, &[&netbird_json(&git)], 1 << 20);
    assert_eq!(read.unwrap().len(), 40);
}

#[test]
fn a_folder_of_a_commit_is_listed() {
    let repo = Repo::new();
    repo.write(".netbird-gitops/default/inventory.json", "{}");
    repo.write(".netbird-gitops/a b/inventory.json", "{}");
    let tip = repo.commit(1, "two");
    let git = repo.open();
    let names = git.folder(&tip, ".netbird-gitops").unwrap();
    assert_eq!(names, ["a b", "default"]);
    assert!(git.folder(&tip, "nowhere").unwrap().is_empty());
}

#[test]
fn a_remote_is_asked_for_a_branch_and_nothing_is_fetched() {
    let remote = Repo::new();
    remote.file(1, "1");
    let dir = tempfile::tempdir().unwrap();
    let clone = dir.path().join("clone");
    let from = remote.path().to_str().unwrap();
    remote.git(&["clone", "-q", from, clone.to_str().unwrap()]);
    let git = open(&clone);
    assert_eq!(git.remote_has("netbird-gitops/inventory"), Some(false));
    remote.git(&["branch", "netbird-gitops/inventory"]);
    assert_eq!(git.remote_has("netbird-gitops/inventory"), Some(true));
    assert_eq!(git.remote_has("inventory"), Some(false));
    let fetched = git.find("refs/remotes/origin/netbird-gitops/inventory");
    assert_eq!(fetched.unwrap(), None);
    drop(remote);
    assert_eq!(git.remote_has("netbird-gitops/inventory"), None);
    assert_eq!(Repo::new().open().remote_has("x"), None);
}
