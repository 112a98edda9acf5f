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
fn a_version_is_read_at_the_first_path_that_has_one() {
    let repo = Repo::new();
    let old = repo.file(1, "old");
    repo.git(&["mv", "netbird.json", "new.json"]);
    let moved = repo.commit(2, "moved");
    repo.write("new.json", " ".repeat(11 << 20));
    let large = repo.commit(3, "large");
    let git = repo.open();
    let paths = [at(&git, "new.json"), netbird_json(&git)];
    let paths: Vec<_> = paths.iter().collect();
    for (commit, text) in [(&old, Some("old")), (&moved, Some("old")), (&large, None)] {
        let read = git.version(commit, &paths).unwrap();
        assert_eq!(read.as_deref(), text.map(str::as_bytes));
    }
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
