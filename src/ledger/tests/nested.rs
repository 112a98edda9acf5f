//! Objects that stand in the entry of another one: since when the file said so, and until when.

use crate::address::Address;
use crate::kind::Kind;
use crate::ledger::{Cause, Ledger, Proof};

use super::of;

/// A file with a zone of that name and domain; `records` are its fields behind these.
fn zone(name: &str, domain: &str, records: &str) -> String {
    format!(r#"{{"dns": {{"zones": {{"{name}": {{"domain": "{domain}"{records}}}}}}}}}"#)
}

const DB: &str = r#", "records": [{"name": "db", "type": "A", "content": "10.0.0.1"}]"#;

fn record(zone: &str) -> Address {
    Address::new(Kind::DnsZone, zone).child(Kind::DnsRecord, "db.corp.example A")
}

/// A version at 100,000, another at 200,000, and so on.
fn history(versions: &[&str]) -> Ledger {
    let versions = (1..)
        .zip(versions)
        .map(|(at, version)| (100_000 * at, *version));
    of(&versions.collect::<Vec<_>>())
}

#[test]
fn a_record_is_declared_as_long_as_its_zone_lists_it() {
    let (with, without) = (
        zone("z", "corp.example", DB),
        zone("z", "corp.example", r#", "records": []"#),
    );
    let ledger = history(&[&with, &without]);
    let proof = |at| ledger.proof(&record("z"), Some(at));
    assert_eq!(
        [proof(50_000), proof(150_000), proof(300_000)],
        [Proof::Older, Proof::Ours, Proof::Newer]
    );
    assert_eq!(ledger.removal(&record("z")), Some(Cause::Commit(1)));
}

#[test]
fn a_zone_without_records_says_nothing_of_them() {
    let (with, silent) = (zone("z", "corp.example", DB), zone("z", "corp.example", ""));
    let ledger = history(&[&with, &silent, &with]);
    let proof = |at| ledger.proof(&record("z"), Some(at));
    // what was made in the silence was not made by us; what is still listed was never removed
    assert_eq!(
        [proof(150_000), proof(250_000), proof(350_000)],
        [Proof::Ours, Proof::Older, Proof::Ours]
    );
    let parent = Address::new(Kind::DnsZone, "z");
    assert_eq!(ledger.has_section_in(Kind::DnsRecord, &parent), Some(true));
    let ledger = history(&[&with, &silent]);
    assert_eq!(ledger.removal(&record("z")), None);
    assert_eq!(ledger.has_section_in(Kind::DnsRecord, &parent), Some(false));
    assert_eq!(
        history(&[&silent]).has_section_in(Kind::DnsRecord, &parent),
        None
    );
    // taken out together later, they went with the version that had neither
    let none = zone("other", "o.example", "");
    let ledger = history(&[&with, &silent, &none]);
    assert_eq!(ledger.removal(&record("z")), Some(Cause::Commit(2)));
}

#[test]
fn records_go_with_their_zone() {
    let ledger = history(&[
        &zone("z", "corp.example", DB),
        &zone("other", "o.example", ""),
    ]);
    assert_eq!(ledger.removal(&record("z")), Some(Cause::Commit(1)));
    // a file without zones manages none, and removes none
    let ledger = history(&[&zone("z", "corp.example", DB), r#"{"groups": {"g": {}}}"#]);
    assert_eq!(ledger.removal(&record("z")), None);
    assert_eq!(ledger.proof(&record("z"), Some(250_000)), Proof::Newer);
}

#[test]
fn a_renamed_zone_has_the_records_that_it_had() {
    let renamed = format!(r#", "renamed_from": "z"{DB}"#);
    let ledger = history(&[
        &zone("z", "corp.example", DB),
        &zone("y", "corp.example", &renamed),
    ]);
    assert_eq!(ledger.proof(&record("y"), Some(150_000)), Proof::Ours);
    assert_eq!(ledger.removal(&record("y")), None);
}

#[test]
fn what_a_change_takes_away_has_the_domain_and_what_records_led_to() {
    let digest = |before: &str, after: &str| {
        let ledger = history(&[before, after]);
        let taken = ledger.taken(Cause::Commit(1), Cause::Commit(1));
        (!taken.is_empty()).then(|| taken.digest(false))
    };
    let one = zone("z", "corp.example", DB);
    assert_eq!(digest(&one, &one.replace("300", "60")), None);
    let gone = zone("z", "corp.example", r#", "records": []"#);
    let other = one.replace("10.0.0.1", "10.0.0.2");
    let domain = zone("z", "lab.example", "");
    let digests =
        [&gone, &other, &domain].map(|after| digest(&one, after).expect("something goes"));
    assert_ne!(digests[0], digests[1]);
    assert_ne!(digests[1], digests[2]);
    assert_eq!(
        digest(&one, &zone("z", "corp.example", "")),
        None,
        "nothing of them is managed any more"
    );
}

const PRINTER: &str =
    r#"{"networks": {"office": {"resources": {"printer": {"address": "10.0.0.1"}}}}}"#;
const MOVED: &str = r#"{"networks": {"lab": {"resources": {"printer": {"address": "10.0.0.1"}}}, "office": {"resources": {}}}}"#;

#[test]
fn a_resource_is_the_same_wherever_it_stands() {
    let in_lab = |name: &str| Address::new(Kind::Network, "lab").child(Kind::NetworkResource, name);
    let printer = in_lab("printer");
    let silent = r#"{"networks": {"lab": {}, "office": {"resources": {}}}}"#;
    let gone = r#"{"networks": {"lab": {"resources": {}}}}"#;
    let renamed = r#"{"networks": {"lab": {"resources": {"plotter": {"address": "10.0.0.1", "renamed_from": "printer"}}}}}"#;
    let ledger = history(&[PRINTER, MOVED]);
    assert_eq!(ledger.proof(&printer, Some(150_000)), Proof::Ours);
    assert_eq!(ledger.removal(&printer), None, "it moved");
    assert!(ledger.is_declared(&printer));
    let both = (Cause::Commit(1), Cause::Commit(1));
    assert!(ledger.taken(both.0, both.1).is_empty());
    // a network that says nothing of its resources takes none out
    let ledger = history(&[PRINTER, MOVED, silent]);
    assert_eq!(ledger.removal(&printer), None);
    let ledger = history(&[PRINTER, MOVED, gone]);
    assert_eq!(ledger.removal(&printer), Some(Cause::Commit(2)));
    assert_eq!(ledger.proof(&printer, Some(150_000)), Proof::Ours);
    assert!(!ledger.taken(Cause::Commit(2), Cause::Commit(2)).is_empty());
    let ledger = history(&[PRINTER, MOVED, renamed]);
    let plotter = in_lab("plotter");
    assert_eq!(ledger.proof(&plotter, Some(150_000)), Proof::Ours);
}
