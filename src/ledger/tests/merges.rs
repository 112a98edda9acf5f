//! Merges in the history, and the merge that a pull request asks for.

use crate::address::Address;
use crate::git::testing::{Repo, netbird_json, open};
use crate::kind::Kind;
use crate::ledger::{Cause, Ledger, Listing, MergeView, MergedFile, Proof, merge_view};
use crate::notice::OfMerge;
use crate::render::words;

use super::{NOW, group, read};

fn file(names: &[&str]) -> String {
    let entries: Vec<String> = names
        .iter()
        .map(|name| format!("    \"{name}\": {{}}"))
        .collect();
    format!("{{\n  \"groups\": {{\n{}\n  }}\n}}\n", entries.join(",\n"))
}

#[test]
fn what_a_branch_added_and_took_back_was_never_declared() {
    let repo = Repo::new();
    repo.file(100_000, file(&["a"]));
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.file(110_000, file(&["a", "brief", "b"]));
    repo.file(120_000, file(&["a", "b"]));
    repo.git(&["checkout", "-q", "main"]);
    repo.git_at(200_000, &["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let ledger = read(&repo);
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "brief"), Some(115_000)),
        Proof::Never
    );
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "b"), Some(150_000)),
        Proof::Older,
        "declared by the merge, not by the branch"
    );
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "b"), Some(200_001)),
        Proof::Ours
    );
    assert_eq!(ledger.commits().len(), 2);
}

#[test]
fn a_merge_of_main_into_a_branch_that_becomes_main_is_seen_along_first_parents() {
    let repo = Repo::new();
    repo.file(1, file(&["a"]));
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("other", "x");
    repo.commit(2, "beside");
    repo.git(&["checkout", "-q", "main"]);
    let on_main = repo.file(3, file(&["a", "b"]));
    repo.git(&["checkout", "-q", "side"]);
    repo.git_at(4, &["merge", "-q", "-m", "the wrong way round", "main"]);
    let ledger = read(&repo);
    assert_eq!(ledger.commits().len(), 2);
    assert_ne!(ledger.commits()[1].sha, on_main);
    assert_eq!(ledger.commits()[1].sha, repo.tip());
}

/// Main with one commit more than the branch, which starts from the first.
fn forked(main: &[&str], side: &[&str]) -> (Repo, MergeView) {
    let repo = Repo::new();
    repo.file(100_000, file(&["a", "b", "c", "d", "e"]));
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("netbird.json", file(side));
    let head = repo.commit(110_000, "change");
    repo.git(&["checkout", "-q", "main"]);
    let base = repo.file(120_000, file(main));
    let git = repo.open();
    let view = merge_view(&git, &base, &head, &netbird_json(&git)).unwrap();
    (repo, view)
}

#[test]
fn a_pull_request_is_about_the_merge() {
    let (repo, view) = forked(&["b", "c", "d", "e"], &["a", "b", "c", "d", "e", "f"]);
    let merged = file(&["b", "c", "d", "e", "f"]);
    assert_eq!(view.file, MergedFile::File(merged.into_bytes()));
    assert!(view.conflicts.is_empty());
    assert_eq!(view.behind, Some(1));
    let told: Vec<String> = view.notices().iter().map(words::merge).collect();
    assert_eq!(
        told,
        ["the branch is 1 commit behind its base; the plan is that of the merge"]
    );

    let git = repo.open();
    let ledger = Ledger::read(&git, &view.base, &[netbird_json(&git)], NOW).unwrap();
    assert_eq!(
        ledger.removal(&Address::new(Kind::Group, "a")),
        Some(Cause::Commit(1))
    );
    assert_eq!(ledger.commits()[1].sha, view.base, "a commit in between");
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "f"), Some(115_000)),
        Proof::Never
    );
    assert_eq!(ledger.listings().of(&group("f"), "x"), Listing::New);
}

#[test]
fn a_conflict_is_said() {
    let (_repo, view) = forked(&["x", "b", "c", "d", "e"], &["y", "b", "c", "d", "e"]);
    assert_eq!(view.file, MergedFile::Conflict);
    assert_eq!(view.conflicts, ["netbird.json"]);
    assert_eq!(view.untold(), None, "the file itself says what is wrong");
}

#[test]
fn a_conflict_elsewhere_leaves_the_file_readable() {
    let repo = Repo::new();
    repo.write("z", "0");
    repo.file(1, file(&["a"]));
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("z", "1");
    let head = repo.file(2, file(&["a", "b"]));
    repo.git(&["checkout", "-q", "main"]);
    repo.write("z", "2");
    let base = repo.commit(3, "main");
    let git = repo.open();
    let view = merge_view(&git, &base, &head, &netbird_json(&git)).unwrap();
    assert_eq!(view.file, MergedFile::File(file(&["a", "b"]).into_bytes()));
    assert!(view.conflicts.is_empty(), "nobody looked at the other file");
}

#[test]
fn a_branch_that_deletes_the_file_leaves_none() {
    let repo = Repo::new();
    let base = repo.file(1, file(&["a"]));
    std::fs::remove_file(repo.path().join("netbird.json")).unwrap();
    let head = repo.commit(2, "lost");
    let git = repo.open();
    let view = merge_view(&git, &base, &head, &netbird_json(&git)).unwrap();
    assert_eq!(view.file, MergedFile::Absent);
    assert_eq!(view.behind, Some(0));
}

#[test]
fn too_little_history_is_said() {
    let (repo, view) = forked(&["b", "c", "d", "e"], &["a", "b", "c", "d", "e", "f"]);
    let dir = tempfile::tempdir().unwrap();
    let clone = dir.path().join("clone");
    let from = format!("file://{}", repo.path().display());
    let clone_to = clone.to_str().unwrap();
    repo.git(&[
        "clone",
        "-q",
        "--depth=1",
        "--no-single-branch",
        &from,
        clone_to,
    ]);
    let git = open(&clone);
    let view = merge_view(&git, &view.base, &view.head, &netbird_json(&git)).unwrap();
    assert_eq!(view.file, MergedFile::TooLittleHistory);
    assert_eq!(view.behind, None);
    assert_eq!(view.notices(), [OfMerge::TooLittleHistory]);
}
