//! Renames, `Allow-Deletes`, and versions that ask for the same.

use crate::git::testing::Repo;
use crate::ledger::{Proof, content_differs_but_for_enrolled, text_allow_deletes};
use crate::members::Listing;
use crate::state::Kind;

use super::{of, read};

const OLD: &str = r#"{"groups": {"old": {"peers": ["a", "b"]}}}"#;
const NEW: &str = r#"{"groups": {"new": {"renamed_from": "old", "peers": ["a"]}}}"#;
const STALE: &str = r#"{"groups": {"new": {"peers": ["a"]}}}"#;
const GONE: &str = r#"{"groups": {"x": {}}}"#;

#[test]
fn a_renamed_object_is_as_old_as_its_first_name() {
    let ledger = of(&[
        (100_000, OLD),
        (200_000, NEW),
        (250_000, STALE),
        (300_000, GONE),
    ]);
    let proof = |name, at| ledger.proof(Kind::Group, name, Some(at));
    assert_eq!(proof("new", 150_000), Proof::Ours);
    assert_eq!(proof("new", 250_000), Proof::Ours);
    assert_eq!(proof("new", 50_000), Proof::Older);
    assert_eq!(proof("old", 150_000), Proof::Ours);
    assert_eq!(
        proof("old", 250_000),
        Proof::Newer,
        "the new name says nothing of the old one"
    );
    assert_eq!(ledger.removal(Kind::Group, "new").unwrap().second, 300_000);
    assert!(ledger.was_listed("new", "b"));
    assert!(!ledger.is_listed("new", "b"));
    assert_eq!(ledger.member_removal("new", "b").unwrap().second, 200_000);
}

#[test]
fn listings_follow_a_rename() {
    let ledger = of(&[(100_000, OLD), (200_000, NEW), (250_000, STALE)]);
    assert_eq!(ledger.listings().of("new", "a"), Listing::Since(100_000));
    let later = r#"{"groups": {"new": {"peers": ["a", "b"]}}}"#;
    let ledger = of(&[(100_000, OLD), (200_000, NEW), (250_000, later)]);
    assert_eq!(
        ledger.listings().of("new", "b"),
        Listing::Since(250_000),
        "listed again"
    );
}

#[test]
fn a_member_that_left_before_the_rename_is_listed_anew() {
    let left = r#"{"groups": {"old": {"peers": ["b"]}}}"#;
    let ledger = of(&[(100_000, OLD), (150_000, left), (200_000, NEW)]);
    assert_eq!(ledger.listings().of("new", "a"), Listing::Since(200_000));
}

#[test]
fn a_rename_that_only_the_working_file_has_is_followed() {
    let mut ledger = of(&[(100_000, OLD)]);
    assert_eq!(
        ledger.proof(Kind::Group, "new", Some(150_000)),
        Proof::Never
    );
    assert_eq!(ledger.listings().of("new", "a"), Listing::New);
    ledger.follow(Kind::Group, "new", "old");
    assert_eq!(ledger.proof(Kind::Group, "new", Some(150_000)), Proof::Ours);
    assert_eq!(ledger.listings().of("new", "a"), Listing::Since(100_000));
    assert!(ledger.was_listed("new", "b"));
    assert_eq!(ledger.member_removal("new", "b"), None);
}

#[test]
fn what_bears_the_old_name_after_the_rename_is_another() {
    let again = r#"{"groups": {"new": {}, "old": {}}}"#;
    let ledger = of(&[(100_000, OLD), (200_000, NEW), (300_000, again)]);
    assert_eq!(ledger.spans(Kind::Group, "new").len(), 2);
    assert_eq!(ledger.spans(Kind::Group, "old").len(), 2);
}

#[test]
fn names_that_go_round_in_a_circle_end() {
    let back = r#"{"groups": {"old": {"renamed_from": "new"}}}"#;
    let ledger = of(&[
        (100_000, OLD),
        (200_000, NEW),
        (300_000, back),
        (400_000, NEW),
    ]);
    assert_eq!(ledger.proof(Kind::Group, "new", Some(150_000)), Proof::Ours);
    assert_eq!(ledger.proof(Kind::Group, "old", Some(350_000)), Proof::Ours);
    let own = r#"{"groups": {"x": {"renamed_from": "x"}}}"#;
    assert_eq!(of(&[(1, own)]).spans(Kind::Group, "x").len(), 1);
}

#[test]
fn allow_deletes_is_strict() {
    let yes = [
        ("Allow-Deletes: 3", 3),
        ("allow-deletes:0", 0),
        ("x\n\nALLOW-DELETES:\t12 \r\n", 12),
    ];
    for (text, number) in yes {
        assert_eq!(text_allow_deletes(text), [number], "{text:?}");
    }
    let no = [
        " Allow-Deletes: 3",
        "> Allow-Deletes: 3",
        "- Allow-Deletes: 3",
        "`Allow-Deletes: 3`",
        "Allow-Deletes: 3.",
        "Allow-Deletes: 3 objects",
        "Allow-Deletes: +3",
        "Allow-Deletes: -3",
        "Allow-Deletes: 03",
        "Allow-Deletes: ٣",
        "Allow-Deletes:",
        "Allow-Deletes : 3",
        "Allow Deletes: 3",
        "Not-Allow-Deletes: 3",
        "Allow-Deletes: 99999999999999999999999",
        "Allow-Delete\u{17f}: 3",
        "ünïcödé-in-here",
    ];
    for text in no {
        assert!(text_allow_deletes(text).is_empty(), "{text:?}");
    }
    assert_eq!(
        text_allow_deletes("Allow-Deletes: 1\nAllow-Deletes: 2"),
        [1, 2]
    );
}

#[test]
fn allow_deletes_counts_from_the_first_removal_to_head() {
    let repo = Repo::new();
    let file = |names: &str| format!(r#"{{"groups": {{{names}}}}}"#);
    let write = |names: &str| repo.write("netbird.json", file(names));
    write(r#""a": {}, "b": {}, "c": {}"#);
    repo.commit(1, "all\n\nAllow-Deletes: 1");
    write(r#""b": {}, "c": {}"#);
    repo.commit(2, "a goes\n\nAllow-Deletes: 2");
    repo.commit(3, "nothing of the file\n\nAllow-Deletes: 3");
    write(r#""c": {}"#);
    repo.commit(4, "b goes");
    repo.commit(5, "a bot's\n\nallow-deletes: 5");
    let ledger = read(&repo);
    let git = repo.open();
    let numbers = |names: &[&str]| -> Vec<usize> {
        let removals: Vec<_> = names
            .iter()
            .filter_map(|name| ledger.removal(Kind::Group, name))
            .collect();
        let lines = ledger.allow_deletes(&git, &removals).unwrap();
        lines.into_iter().map(|line| line.number).collect()
    };
    assert_eq!(numbers(&["b"]), [5]);
    assert_eq!(numbers(&["b", "a"]), [5, 3, 2]);
    assert_eq!(numbers(&["c"]), [0; 0], "declared");
    assert_eq!(numbers(&[]), [0; 0]);
}

#[test]
fn a_line_on_a_side_branch_does_not_count_until_it_is_in_the_merge() {
    let repo = Repo::new();
    repo.file(1, OLD);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("netbird.json", GONE);
    repo.commit(2, "goes\n\nAllow-Deletes: 7");
    repo.git(&["checkout", "-q", "main"]);
    repo.git_at(
        3,
        &[
            "merge",
            "-q",
            "--no-ff",
            "-m",
            "the merge\n\nAllow-Deletes: 8",
            "side",
        ],
    );
    let ledger = read(&repo);
    let removal = ledger.removal(Kind::Group, "old").unwrap();
    assert_eq!(removal.commit, repo.tip());
    let lines = ledger.allow_deletes(&repo.open(), &[removal]).unwrap();
    let numbers: Vec<_> = lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [8]);
}

#[test]
fn versions_that_differ_in_flags_only_ask_for_the_same() {
    let a = r#"{"groups": {"g": {"peers": ["k", "l"]}}, "setup_keys": {"k": {"enrolled": false, "type": "one-off"}}}"#;
    let differs = |b: &str| content_differs_but_for_enrolled(a.as_bytes(), b.as_bytes());
    for same in [
        a,
        &a.replace("false", "true"),
        &a.replace("\"enrolled\": false, ", ""),
        &a.replace(' ', "\r\n"),
        &format!("\u{feff}{a}\n"),
        r#"{"setup_keys": {"k": {"type": "one-off"}}, "groups": {"g": {"peers": ["k", "l"]}}}"#,
    ] {
        assert!(!differs(same), "{same}");
    }
    for other in [
        "",
        "{}",
        &a.replace("one-off", "reusable"),
        &a.replace("false", "0"),
        &a.replace("\"k\", \"l\"", "\"k\""),
        &a.replace(
            "\"groups\": {\"g\"",
            "\"groups\": {\"enrolled\": true, \"g\"",
        ),
        &a.replace("{\"g\": {", "{\"g\": {\"enrolled\": true, "),
        &a[..a.len() - 1],
    ] {
        assert!(differs(other), "{other}");
    }
    assert!(!content_differs_but_for_enrolled(b"\xff", b"\xff"));
    assert!(content_differs_but_for_enrolled(b"\xff", b"\xfe"));
}
