//! Renames, and versions that ask for the same.

use crate::address::Address;
use crate::kind::Kind;
use crate::ledger::{Cause, Listing, Proof, content_differs_but_for_enrolled};

use super::{group, of};

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
    let proof = |name, at| ledger.proof(&Address::new(Kind::Group, name), Some(at));
    assert_eq!(proof("new", 150_000), Proof::Ours);
    assert_eq!(proof("new", 250_000), Proof::Ours);
    assert_eq!(proof("new", 50_000), Proof::Older);
    assert_eq!(proof("old", 150_000), Proof::Ours);
    assert_eq!(
        proof("old", 250_000),
        Proof::Newer,
        "the new name says nothing of the old one"
    );
    assert_eq!(
        ledger.removal(&Address::new(Kind::Group, "new")),
        Some(Cause::Commit(3))
    );
    assert!(ledger.was_listed(&group("new"), "b"));
    assert_eq!(ledger.listings().of(&group("new"), "b"), Listing::New);
    assert_eq!(ledger.member_removal("new", "b"), Some(Cause::Commit(1)));
}

#[test]
fn listings_follow_a_rename() {
    let ledger = of(&[(100_000, OLD), (200_000, NEW), (250_000, STALE)]);
    assert_eq!(
        ledger.listings().of(&group("new"), "a"),
        Listing::Since(100_000)
    );
    let later = r#"{"groups": {"new": {"peers": ["a", "b"]}}}"#;
    let ledger = of(&[(100_000, OLD), (200_000, NEW), (250_000, later)]);
    assert_eq!(
        ledger.listings().of(&group("new"), "b"),
        Listing::Since(250_000),
        "listed again"
    );
}

#[test]
fn a_member_that_left_before_the_rename_is_listed_anew() {
    let left = r#"{"groups": {"old": {"peers": ["b"]}}}"#;
    let ledger = of(&[(100_000, OLD), (150_000, left), (200_000, NEW)]);
    assert_eq!(
        ledger.listings().of(&group("new"), "a"),
        Listing::Since(200_000)
    );
}

#[test]
fn a_rename_that_only_the_working_file_has_is_followed() {
    let mut ledger = of(&[(100_000, OLD)]);
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "new"), Some(150_000)),
        Proof::Never
    );
    assert_eq!(ledger.listings().of(&group("new"), "a"), Listing::New);
    ledger.follow(&Address::new(Kind::Group, "new"), "old");
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "new"), Some(150_000)),
        Proof::Ours
    );
    assert_eq!(
        ledger.listings().of(&group("new"), "a"),
        Listing::Since(100_000)
    );
    assert!(ledger.was_listed(&group("new"), "b"));
    assert_eq!(ledger.member_removal("new", "b"), None);
}

#[test]
fn what_bears_the_old_name_after_the_rename_is_another() {
    let again = r#"{"groups": {"new": {}, "old": {}}}"#;
    let ledger = of(&[(100_000, OLD), (200_000, NEW), (300_000, again)]);
    assert_eq!(ledger.spans(&Address::new(Kind::Group, "new")).len(), 2);
    assert_eq!(ledger.spans(&Address::new(Kind::Group, "old")).len(), 2);
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
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "new"), Some(150_000)),
        Proof::Ours
    );
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "old"), Some(350_000)),
        Proof::Ours
    );
    let own = r#"{"groups": {"x": {"renamed_from": "x"}}}"#;
    assert_eq!(
        of(&[(1, own)]).spans(&Address::new(Kind::Group, "x")).len(),
        1
    );
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
