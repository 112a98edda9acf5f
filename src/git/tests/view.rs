//! The merge that a pull request asks for.

use crate::git::testing::{Repo, netbird_json, open};
use crate::git::{MergeView, MergedFile};
use crate::model::notice::{Notice, OfMerge};

fn file(names: &[&str]) -> String {
    let entries: Vec<String> = names
        .iter()
        .map(|name| format!("    \"{name}\": {{}}"))
        .collect();
    format!("{{\n  \"groups\": {{\n{}\n  }}\n}}\n", entries.join(",\n"))
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
    let view = git.merge_view(&base, &head, &netbird_json(&git)).unwrap();
    (repo, view)
}

#[test]
fn a_pull_request_is_about_the_merge() {
    let (_repo, view) = forked(&["b", "c", "d", "e"], &["a", "b", "c", "d", "e", "f"]);
    let merged = file(&["b", "c", "d", "e", "f"]);
    assert_eq!(view.file, MergedFile::File(merged.into_bytes()));
    assert_eq!(view.behind, Some(1));
    let notices = view.notices().into_iter().map(Notice::general);
    let told: Vec<String> = notices.map(|notice| notice.words()).collect();
    assert_eq!(
        told,
        ["the branch is 1 commit behind its base branch. The plan is for the result of the merge."]
    );
}

#[test]
fn a_conflict_is_said() {
    let (_repo, view) = forked(&["x", "b", "c", "d", "e"], &["y", "b", "c", "d", "e"]);
    assert_eq!(view.file, MergedFile::Conflict);
    assert_eq!(view.notices().len(), 1, "only that it is behind");
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
    let view = git.merge_view(&base, &head, &netbird_json(&git)).unwrap();
    assert_eq!(view.file, MergedFile::File(file(&["a", "b"]).into_bytes()));
}

#[test]
fn a_branch_that_deletes_the_file_leaves_none() {
    let repo = Repo::new();
    let base = repo.file(1, file(&["a"]));
    std::fs::remove_file(repo.path().join("netbird.json")).unwrap();
    let head = repo.commit(2, "lost");
    let git = repo.open();
    let view = git.merge_view(&base, &head, &netbird_json(&git)).unwrap();
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
    let view = git
        .merge_view(&view.base, &view.head, &netbird_json(&git))
        .unwrap();
    assert_eq!(view.file, MergedFile::Untold(OfMerge::TooLittleHistory));
    assert_eq!(view.behind, None);
    assert_eq!(view.notices(), [OfMerge::TooLittleHistory]);
}
