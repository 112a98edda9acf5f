//! The table of docs/ownership.md, "The proof", a row a test: start from agreement, change one thing.

use crate::address::Address;
use crate::git::testing::Repo;
use crate::kind::{End, Form, Kind, Shape, Tie};
use crate::ledger::{Cause, Ledger, Listing, NoHistory, Proof};
use crate::render::words;

use super::{group, names_of, of, read};

const WITH: &str = r#"{"groups": {"ops": {}, "other": {}}}"#;
const WITHOUT: &str = r#"{"groups": {"other": {}}}"#;

/// Declared from 100,000 to 200,000, and there is a ledger of it.
fn removed() -> Ledger {
    let repo = Repo::new();
    repo.file(50_000, WITHOUT);
    repo.file(100_000, WITH);
    repo.file(200_000, WITHOUT);
    read(&repo)
}

fn proof(created_at: i64) -> Proof {
    removed().proof(&Address::new(Kind::Group, "ops"), Some(created_at))
}

#[test]
fn made_while_it_was_declared_is_ours() {
    assert_eq!(proof(150_000), Proof::Ours);
}

#[test]
fn five_minutes_before_and_an_hour_after_are_ours_too() {
    let ledger = removed();
    let proof = |at| ledger.proof(&Address::new(Kind::Group, "ops"), Some(at));
    assert_eq!(proof(100_000 - 301), Proof::Older);
    assert_eq!(proof(100_000 - 300), Proof::Ours);
    assert_eq!(proof(200_000 + 3600), Proof::Ours);
    assert_eq!(proof(200_000 + 3601), Proof::Newer);
}

#[test]
fn older_was_taken_over() {
    assert_eq!(proof(10), Proof::Older);
}

#[test]
fn newer_was_made_by_hand_later() {
    assert_eq!(proof(300_000), Proof::Newer);
}

#[test]
fn never_declared_is_not_ours() {
    let ledger = removed();
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "theirs"), Some(150_000)),
        Proof::Never
    );
    assert_eq!(
        ledger.proof(&Address::new(Kind::Policy, "ops"), Some(150_000)),
        Proof::Never,
        "a policy is no group"
    );
}

#[test]
fn an_id_without_a_time_has_no_proof() {
    let ledger = removed();
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "ops"), None),
        Proof::NoIdTime
    );
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "theirs"), None),
        Proof::Never
    );
}

#[test]
fn still_declared_and_made_since_is_ours() {
    let ledger = removed();
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "other"), Some(9_000_000)),
        Proof::Ours
    );
    assert!(ledger.is_declared(&Address::new(Kind::Group, "other")));
    assert!(!ledger.is_declared(&Address::new(Kind::Group, "ops")));
    assert!(ledger.was_declared(&Address::new(Kind::Group, "ops")));
}

#[test]
fn made_between_two_times_was_taken_over_by_the_second() {
    let ledger = of(&[
        (100_000, WITH),
        (200_000, WITHOUT),
        (300_000, WITH),
        (400_000, WITHOUT),
    ]);
    let proof = |at| ledger.proof(&Address::new(Kind::Group, "ops"), Some(at));
    assert_eq!(proof(150_000), Proof::Ours);
    assert_eq!(proof(250_000), Proof::Older);
    assert_eq!(proof(350_000), Proof::Ours);
    assert_eq!(proof(450_000), Proof::Newer);
}

#[test]
fn members_that_were_listed_once_are_known() {
    let repo = Repo::new();
    repo.file(100, r#"{"groups": {"ops": {"peers": ["a", "b"]}}}"#);
    repo.file(200, r#"{"groups": {"ops": {"peers": ["b", "c"]}}}"#);
    let ledger = read(&repo);
    assert!(ledger.was_listed(&group("ops"), "a"));
    assert!(ledger.was_listed(&group("ops"), "b"));
    assert!(!ledger.was_listed(&group("ops"), "d"));
    assert!(!ledger.was_listed(&group("other"), "a"));
    assert_eq!(ledger.member_removal("ops", "a"), Some(Cause::Commit(1)));
    let listings = ledger.listings();
    assert_eq!(
        listings.of(&group("ops"), "a"),
        Listing::New,
        "it would be listed again"
    );
    assert_eq!(listings.of(&group("ops"), "b"), Listing::Since(100));
    assert_eq!(listings.of(&group("ops"), "c"), Listing::Since(200));
}

#[test]
fn a_name_that_only_the_working_file_has_is_new() {
    let repo = Repo::new();
    repo.file(100, WITHOUT);
    repo.write("netbird.json", r#"{"groups": {"ops": {"peers": ["a"]}}}"#);
    let ledger = read(&repo);
    assert_eq!(
        ledger.proof(&Address::new(Kind::Group, "ops"), Some(150)),
        Proof::Never
    );
    assert_eq!(ledger.listings().of(&group("ops"), "a"), Listing::New);
    assert!(
        ledger.is_declared(&Address::new(Kind::Group, "other")),
        "only the working file lacks it"
    );
    assert_eq!(ledger.removal(&Address::new(Kind::Group, "other")), None);
}

#[test]
fn when_a_key_was_marked_enrolled_is_kept() {
    let key =
        |flag: &str| format!(r#"{{"setup_keys": {{"k": {{"enrolled": {flag}}}, "l": {{}}}}}}"#);
    let gone = r#"{"setup_keys": {"l": {}}}"#;
    let ledger = of(&[(100, &key("false")), (200, &key("true")), (300, gone)]);
    let since = |key, second| ledger.was_enrolled_since(key, second);
    assert!(since("k", 150) && since("k", 200) && !since("k", 250));
    assert!(!since("l", 0) && !since("m", 0));
    let ledger = of(&[(100, &key("true")), (200, gone), (300, &key("true"))]);
    assert!(ledger.was_enrolled_since("k", 250), "it was marked anew");
}

#[test]
fn every_section_is_read() {
    let file = r#"{"groups": {"a": {}}, "setup_keys": {"b": {}}, "policies": {"c": {}}, "routes": {"d": {}},
                   "dns": {"other": [1], "nameserver_groups": {"e": {}}, "more": {}}, "policies2": {"f": {}}}"#;
    let ledger = of(&[(1, file)]);
    for (kind, names) in [
        (Kind::Group, &["a"][..]),
        (Kind::SetupKey, &["b"]),
        (Kind::Policy, &["c"]),
        (Kind::Route, &["d"]),
        (Kind::NameserverGroup, &["e"]),
        (Kind::Peer, &[]),
    ] {
        assert_eq!(names_of(&ledger, kind), names);
    }
}

#[test]
fn without_history_nothing_is_ours() {
    for (why, told) in [
        (NoHistory::NotACheckout, "the file is in no git checkout"),
        (NoHistory::NoGit, "git is not on PATH"),
        (NoHistory::NoCommit, "the checkout has no commit yet"),
    ] {
        let ledger = Ledger::none(why);
        assert_eq!(
            ledger.proof(&Address::new(Kind::Group, "ops"), Some(1)),
            Proof::Never
        );
        assert_eq!(ledger.listings().of(&group("ops"), "a"), Listing::Unknown);
        assert!(!ledger.is_known());
        let told = format!("{told}, so nothing is provably ours and nothing is deleted");
        assert_eq!(words::notice(&ledger.notices()[0]), told);
    }
}

/// What versions of the interval said of an entry's ends: in time, under its names, whatever the order.
#[test]
fn what_was_said_of_an_entrys_ends() {
    let version = |network: &str, groups: &str| {
        format!(r#"{{"routes": {{"r": {{"peer_groups": {groups}, "network": "{network}"}}}}}}"#)
    };
    let ledger = of(&[
        (100_000, &version("10.1.2.3/16", r#"["b", "a"]"#)),
        (200_000, &version("10.2.0.0/16", r#"["a"]"#)),
        (300_000, r#"{"routes": {}}"#),
        (400_000, &version("10.9.0.0/16", r#"["a"]"#)),
    ]);
    let told = |at, network: &str, groups: &[&str]| {
        let tie = |end, names: &[&str]| Tie {
            end,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let ties = vec![tie(End::Network, &[network]), tie(End::Through, groups)];
        let shape = Shape::Plain;
        let told = ledger.told(
            &Address::new(Kind::Route, "r"),
            Some(at),
            &Form {
                shape,
                ties,
                more: Default::default(),
            },
        );
        (told.same, told.other, told.is_fresh)
    };
    assert_eq!(told(100_100, "10.1.0.0/16", &["a", "b"]), (2, 0, true));
    assert_eq!(told(150_000, "10.2.0.0/16", &["a"]), (2, 0, false));
    assert_eq!(told(203_600, "10.2.0.0/16", &["b"]), (1, 1, true));
    assert_eq!(told(203_601, "10.3.0.0/16", &["b"]), (0, 2, false));
    // the version of another time says nothing of this one
    assert_eq!(told(150_000, "10.9.0.0/16", &["a"]), (1, 1, false));
    assert_eq!(told(450_000, "10.9.0.0/16", &["a"]), (2, 0, false));
    // made in none of them: all of them count, each by itself
    assert_eq!(told(10, "10.1.0.0/16", &["a", "b"]), (2, 0, false));
    assert_eq!(told(10, "10.9.0.0/16", &["a", "b"]), (1, 1, false));
}
