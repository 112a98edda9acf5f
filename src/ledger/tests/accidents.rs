//! Merge accidents in the file, clocks that differ, checkouts that lack something.

use crate::address::Address;
use crate::git::testing::{Repo, at, netbird_json, open};
use crate::kind::Kind;
use crate::ledger::{Cause, Ledger, Listing, Proof};
use crate::render::words;

use super::{NOW, group, of, read, try_read};

const WHOLE: &str = r#"{
  "groups": {"ops": {"peers": ["a"]}},
  "routes": {"lan": {}}
}"#;

/// Whole from 100,000, then the accident at 200,000, then whole again from 300,000.
fn after(accident: &str) -> Ledger {
    of(&[(100_000, WHOLE), (200_000, accident), (300_000, WHOLE)])
}

/// What a version says that says nothing: it removes nothing and proves nothing, and its end changes nothing.
fn is_silent(accident: &str, kind: Kind, name: &str) {
    let accidents = of(&[(100_000, WHOLE), (200_000, accident)]);
    assert!(
        accidents.is_declared(&Address::new(kind, name)),
        "removed by {accident:?}"
    );
    assert_eq!(
        accidents.removal(&Address::new(kind, name)),
        None,
        "{accident:?}"
    );
    let ledger = after(accident);
    let proof = |at| ledger.proof(&Address::new(kind, name), Some(at));
    assert_eq!(proof(150_000), Proof::Ours, "{accident:?}");
    assert_eq!(
        proof(203_600),
        Proof::Ours,
        "an apply that still ran: {accident:?}"
    );
    assert_eq!(
        proof(250_000),
        Proof::Older,
        "made by hand meanwhile: {accident:?}"
    );
    assert_eq!(proof(350_000), Proof::Ours, "{accident:?}");
    assert_eq!(
        ledger.listings().of(&group("ops"), "a"),
        Listing::Since(100_000),
        "{accident:?}"
    );
}

#[test]
fn a_lost_section_is_silent() {
    let lost = r#"{"groups": {"ops": {"peers": ["a"]}}}"#;
    is_silent(lost, Kind::Route, "lan");
    let ledger = after(lost);
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "ops"), Some(250_000)),
        Proof::Ours,
        "the other section still speaks"
    );
}

#[test]
fn everything_lost_is_silent() {
    for accident in [
        "",
        " \n",
        "{}",
        "null",
        "[]",
        "{\"other\": {}}",
        "\u{feff}{}",
        "\0",
    ] {
        is_silent(accident, Kind::Route, "lan");
        is_silent(accident, Kind::Group, "ops");
    }
}

#[test]
fn half_a_file_is_silent() {
    for end in 0..WHOLE.len() {
        is_silent(&WHOLE[..end], Kind::Route, "lan");
        is_silent(&WHOLE[..end], Kind::Group, "ops");
    }
}

#[test]
fn conflict_markers_are_silent() {
    let accident = WHOLE.replace(
        "  \"routes\"",
        "<<<<<<< ours\n  \"routes\": {},\n=======\n  \"policies\": {},\n>>>>>>> theirs\n  \"routes\"",
    );
    is_silent(&accident, Kind::Route, "lan");
    is_silent(&accident, Kind::Group, "ops");
}

#[test]
fn values_of_a_wrong_type_in_the_place_of_entries_are_silent() {
    for accident in [
        r#"{"groups": null, "routes": {}}"#,
        r#"{"groups": {"ops": null}, "routes": {}}"#,
        r#"{"groups": [], "routes": {"lan": {}}}"#,
        r#"{"groups": {}, "dns": []}"#,
        r#"{"groups": {}, "routes": {},}"#,
        r#"{"groups": {}} {}"#,
    ] {
        is_silent(accident, Kind::Route, "lan");
        is_silent(accident, Kind::Group, "ops");
    }
}

#[test]
fn fields_of_a_wrong_type_are_passed_over() {
    let file = r#"{"groups": {"ops": {"peers": "a", "x": [{"y": 1e5}, -1, true]}, "dev": {"peers": [1, null, "b"]}},
                   "setup_keys": {"k": {"enrolled": "true", "renamed_from": "l"}}, "policies": {"p": {"renamed_from": 1}}}"#;
    let ledger = of(&[(1, file)]);
    assert!(ledger.is_declared(&Address::new(Kind::Group, "ops")));
    assert!(!ledger.was_listed(&group("ops"), "a"));
    assert!(ledger.was_listed(&group("dev"), "b"));
    assert!(!ledger.was_enrolled_since("k", 0));
    assert!(!ledger.was_declared(&Address::new(Kind::SetupKey, "l")));
}

#[test]
fn an_empty_section_removes_all_of_it() {
    let ledger = of(&[
        (100_000, WHOLE),
        (200_000, r#"{"groups": {}, "routes": {"lan": {}}}"#),
    ]);
    assert_eq!(
        ledger.removal(&Address::new(Kind::Group, "ops")),
        Some(Cause::Commit(1))
    );
    assert_eq!(ledger.removal(&Address::new(Kind::Route, "lan")), None);
}

#[test]
fn what_is_gone_when_the_section_is_back_was_removed_then() {
    let ledger = of(&[
        (100_000, WHOLE),
        (200_000, r#"{"groups": {}}"#),
        (250_000, r#"{"groups": {"x": {}}}"#),
        (300_000, r#"{"groups": {}, "routes": {}}"#),
    ]);
    assert_eq!(
        ledger.removal(&Address::new(Kind::Route, "lan")),
        Some(Cause::Commit(3))
    );
    assert_eq!(
        ledger.proof(&Address::new(Kind::Route, "lan"), Some(150_000)),
        Proof::Ours
    );
    assert_eq!(
        ledger.proof(&Address::new(Kind::Route, "lan"), Some(250_000)),
        Proof::Newer
    );
}

#[test]
fn broken_versions_are_told_once() {
    let repo = Repo::new();
    repo.file(1, WHOLE);
    repo.file(2, "{\n\n<<<<<<<");
    let newest = repo.file(3, "{\"groups\": {\n");
    repo.file(4, WHOLE);
    let ledger = read(&repo);
    let [notice] = ledger.notices() else {
        panic!("{:?}", ledger.notices())
    };
    let expected = format!(
        "2 of the file's versions in git cannot be read (the newest is commit {}: line 2: ",
        newest.short()
    );
    let text = words::notice(notice);
    assert!(text.starts_with(&expected), "{text}");
}

#[test]
fn a_deleted_file_or_a_link_in_its_place_is_silent() {
    let repo = Repo::new();
    repo.file(100_000, WHOLE);
    std::fs::remove_file(repo.path().join("netbird.json")).unwrap();
    repo.commit(200_000, "lost");
    assert!(read(&repo).is_declared(&Address::new(Kind::Route, "lan")));
    std::os::unix::fs::symlink("x", repo.path().join("netbird.json")).unwrap();
    repo.commit(250_000, "a link");
    let ledger = read(&repo);
    assert!(ledger.is_declared(&Address::new(Kind::Route, "lan")));
    assert!(words::notice(&ledger.notices()[0]).contains("a symbolic link"));
    std::fs::remove_file(repo.path().join("netbird.json")).unwrap();
    repo.file(300_000, WHOLE);
    let ledger = read(&repo);
    assert_eq!(
        ledger.proof(&Address::new(Kind::Route, "lan"), Some(250_000)),
        Proof::Older
    );
    assert_eq!(
        ledger.listings().of(&group("ops"), "a"),
        Listing::Since(100_000)
    );
}

#[test]
fn a_file_that_moved_keeps_its_history_where_its_earlier_paths_are_named() {
    let repo = Repo::new();
    repo.write("old/vpn.json", WHOLE);
    repo.commit(100_000, "as it was");
    repo.git(&["mv", "old/vpn.json", "netbird.json"]);
    repo.commit(200_000, "moved");
    repo.file(300_000, r#"{"groups": {}, "routes": {"lan": {}}}"#);
    let git = repo.open();
    let tip = repo.tip();
    let alone = Ledger::read(&git, &tip, &[netbird_json(&git)], NOW).unwrap();
    assert_eq!(
        alone.proof(&Address::new(Kind::Route, "lan"), Some(150_000)),
        Proof::Older
    );
    let paths = [netbird_json(&git), at(&git, "old/vpn.json")];
    let both = Ledger::read(&git, &tip, &paths, NOW).unwrap();
    assert_eq!(
        both.proof(&Address::new(Kind::Route, "lan"), Some(150_000)),
        Proof::Ours
    );
    assert_eq!(
        both.proof(&Address::new(Kind::Group, "ops"), Some(150_000)),
        Proof::Ours
    );
    assert_eq!(
        both.commits().len(),
        2,
        "a move without a change is no version"
    );
    assert_eq!(
        both.removal(&Address::new(Kind::Group, "ops")),
        Some(Cause::Commit(1))
    );
    assert_eq!(both.commits()[1].sha, tip);
}

#[test]
fn a_file_that_is_in_no_commit_is_said() {
    let repo = Repo::new();
    repo.write("other", "");
    repo.commit(1, "one");
    let ledger = read(&repo);
    assert!(ledger.is_known());
    let told = format!(
        "no commit up to {} has netbird.json, so nothing is provably ours",
        repo.tip().short()
    );
    assert_eq!(words::notice(&ledger.notices()[0]), told);
    assert_eq!(ledger.listings().of(&group("ops"), "a"), Listing::New);
}

#[test]
fn a_shallow_clone_is_an_error_that_names_fetch_depth() {
    let repo = Repo::new();
    repo.file(1, WHOLE);
    repo.file(2, WHOLE.replace("lan", "wan"));
    let dir = tempfile::tempdir().unwrap();
    let clone = dir.path().join("clone");
    let from = format!("file://{}", repo.path().display());
    repo.git(&["clone", "-q", "--depth=1", &from, clone.to_str().unwrap()]);
    let git = open(&clone);
    assert!(git.is_shallow());
    let error = Ledger::read(&git, &repo.tip(), &[netbird_json(&git)], NOW).unwrap_err();
    assert!(error.to_string().contains("fetch-depth: 0"), "{error}");
    let shown = git.show(&repo.tip(), &netbird_json(&git)).unwrap();
    assert!(shown.is_some(), "one file is read all the same");
}

#[test]
fn a_clock_that_goes_backwards_does_not_make_older_objects_ours() {
    let without = r#"{"groups": {}, "routes": {}}"#;
    // the second commit says it is of 1970
    let ledger = of(&[(100_000, without), (5, WHOLE), (200_000, without)]);
    let proof = |at| ledger.proof(&Address::new(Kind::Route, "lan"), Some(at));
    assert_eq!(proof(50_000), Proof::Older);
    assert_eq!(proof(100_000), Proof::Ours);
    // the removal says it is of 1970
    let ledger = of(&[(100_000, WHOLE), (5, without)]);
    let proof = |at| ledger.proof(&Address::new(Kind::Route, "lan"), Some(at));
    assert_eq!(proof(100_000), Proof::Ours);
    assert_eq!(proof(150_000), Proof::Newer);
}

#[test]
fn a_commit_of_the_future_harms_its_own_names_only() {
    let one = r#"{"routes": {"before": {}}}"#;
    let two = r#"{"routes": {"before": {}, "future": {}}}"#;
    let three = r#"{"routes": {"after": {}}}"#;
    let ledger = of(&[
        (100_000, one),
        (NOW * 9, two),
        (200_000, three),
        (300_000, r#"{"routes": {}}"#),
    ]);
    let proof = |name, at| ledger.proof(&Address::new(Kind::Route, name), Some(at));
    assert_eq!(proof("before", 150_000), Proof::Ours);
    assert_eq!(proof("before", 250_000), Proof::Newer);
    assert_eq!(
        proof("future", 150_000),
        Proof::Newer,
        "never proved before that time comes"
    );
    assert_eq!(proof("after", 250_000), Proof::Ours);
    let ledger = of(&[(100_000, two), (NOW * 9, one)]);
    let proof = |name, at| ledger.proof(&Address::new(Kind::Route, name), Some(at));
    assert_eq!(
        proof("future", 200_000),
        Proof::Newer,
        "and does not stretch what it ends"
    );
    assert!(try_read(&Repo::new()).is_err(), "no commit, no HEAD");
}
