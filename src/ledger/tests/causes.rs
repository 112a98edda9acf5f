//! `Allow-Deletes`, and what changes of the file take away.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use crate::address::Address;
use crate::kind::Kind;
use crate::ledger::{AllowDeletes, Cause, Ledger, Taken, text_allow_deletes};
use crate::testing::desired;

use super::{names_of, of};

#[test]
fn a_line_is_strict() {
    let yes = [
        ("Allow-Deletes: 3 0a1b2c3d", 3, Some("0a1b2c3d")),
        ("allow-deletes:0 DEADBEEF", 0, Some("deadbeef")),
        (
            "x\n\nALLOW-DELETES:\t12  0a1b2c3d \r\n",
            12,
            Some("0a1b2c3d"),
        ),
        ("Allow-Deletes: 3", 3, None),
        (
            "> quoted\r\n\r\nAllow-Deletes: 3 0a1b2c3d",
            3,
            Some("0a1b2c3d"),
        ),
        (
            "<!-- a\nb -->\nAllow-Deletes: 3 0a1b2c3d",
            3,
            Some("0a1b2c3d"),
        ),
        ("```\nAllow-Deletes: 3 0a1b2c3d\n```", 3, Some("0a1b2c3d")),
    ];
    for (text, number, digest) in yes {
        let digest = digest.map(str::to_owned);
        let wanted = AllowDeletes { number, digest };
        assert_eq!(text_allow_deletes(text), [wanted], "{text:?}");
    }
    let no = [
        " Allow-Deletes: 3 0a1b2c3d",
        "> Allow-Deletes: 3 0a1b2c3d",
        "> quoted\nAllow-Deletes: 3 0a1b2c3d",
        "  > quoted\r\nand more\r\nAllow-Deletes: 3 0a1b2c3d",
        "<!-- Allow-Deletes: 3 0a1b2c3d -->",
        "<!--\nAllow-Deletes: 3 0a1b2c3d\n-->",
        "<!-- without an end\nAllow-Deletes: 3 0a1b2c3d",
        "<!-- x -->Allow-Deletes: 3 0a1b2c3d",
        "<BlockQuote>\nAllow-Deletes: 3 0a1b2c3d\n</blockquote>",
        "- Allow-Deletes: 3 0a1b2c3d",
        "`Allow-Deletes: 3 0a1b2c3d`",
        "Allow-Deletes: 3 0a1b2c3d.",
        "Allow-Deletes: 3 0a1b2c3",
        "Allow-Deletes: 3 0a1b2c3d4",
        "Allow-Deletes: 3 0a1b2c3g",
        "Allow-Deletes: 3 0a1b2c3d more",
        "Allow-Deletes: 3 objects",
        "Allow-Deletes: +3 0a1b2c3d",
        "Allow-Deletes: -3 0a1b2c3d",
        "Allow-Deletes: 03 0a1b2c3d",
        "Allow-Deletes: ٣ 0a1b2c3d",
        "Allow-Deletes:",
        "Allow-Deletes : 3 0a1b2c3d",
        "Allow Deletes: 3 0a1b2c3d",
        "Not-Allow-Deletes: 3 0a1b2c3d",
        "Allow-Deletes: 99999999999999999999999 0a1b2c3d",
        "Allow-Delete\u{17f}: 3 0a1b2c3d",
        "ünïcödé-in-here",
    ];
    for text in no {
        assert!(text_allow_deletes(text).is_empty(), "{text:?}");
    }
    let two = "Allow-Deletes: 1 0a1b2c3d\nAllow-Deletes: 2 0a1b2c3d";
    assert_eq!(text_allow_deletes(two).len(), 2);
}

proptest! {
    #[test]
    fn any_text_is_read(text in any::<String>(), lines in prop::collection::vec("[<!\\->A-z: 0-9\n]{0,30}", 0..9)) {
        let text = lines.join(&text);
        for line in text_allow_deletes(&text) {
            prop_assert_eq!(text_allow_deletes(&line.to_string()), [line]);
        }
    }
}

/// What the change from one file to another takes away: as the file of a run, and as a commit.
fn taken(before: serde_json::Value, after: serde_json::Value) -> Taken {
    let (old, new) = (before.to_string(), after.to_string());
    let mut proposed = of(&[(1_000, &old)]);
    let wanted = desired(&after);
    for (address, old) in &wanted.renamed_from {
        proposed.follow(address, old);
    }
    proposed.propose(wanted.clone());
    let as_proposed = proposed.taken(Cause::Proposed, Cause::Proposed);
    let committed = of(&[(1_000, &old), (2_000, &new)]);
    let as_commit = committed.taken(Cause::Commit(1), Cause::Commit(1));
    assert_eq!(as_proposed, as_commit, "{old} → {new}");
    as_commit
}

fn expected(items: &[(Kind, &str, Option<&str>)]) -> Taken {
    let mut taken = Taken::default();
    for (kind, name, member) in items {
        taken.add(Address::new(*kind, *name), *member);
    }
    taken
}

#[test]
fn entries_and_members_that_are_gone() {
    let all = json!({ "groups": { "g": { "peers": ["a", "b"] }, "h": {} }, "policies": { "p": {
        "sources": ["g"], "destinations": ["g"] } } });
    let without = json!({ "groups": { "g": { "peers": ["b", "c"] } }, "policies": {} });
    let items = [
        (Kind::Group, "g", Some("a")),
        (Kind::Group, "h", None),
        (Kind::Policy, "p", None),
    ];
    assert_eq!(taken(all.clone(), without), expected(&items));
    // a group takes its members along, and a section that is lost takes nothing
    let gone = taken(all.clone(), json!({ "groups": { "h": {} } }));
    assert_eq!(gone, expected(&[(Kind::Group, "g", None)]));
    assert!(taken(all.clone(), all).is_empty());
}

#[test]
fn a_rename_takes_members_that_the_new_name_does_not_list() {
    let old = json!({ "groups": { "old": { "peers": ["a", "b"] } } });
    let new = json!({ "groups": { "new": { "renamed_from": "old", "peers": ["b"] } } });
    let items = [(Kind::Group, "old", None), (Kind::Group, "new", Some("a"))];
    assert_eq!(taken(old, new), expected(&items));
}

/// What machines have by a setting is taken away by another value, also by the first; the same in other words takes nothing,
/// and so does an entry that only sets switches, or ceases to.
#[test]
fn a_setting_that_moves_machines() {
    let settings = |settings: serde_json::Value| json!({ "groups": { "g": {} }, "account": { "settings": settings } });
    let nothing = settings(json!({}));
    let values = [
        ("network_range", json!("10.0.0.0/8"), json!("10.0.0.0/9")),
        ("network_range_v6", json!("FD00::0/64"), json!("fd01::/64")),
        ("dns_domain", json!("Corp.example"), json!("")),
        ("ipv6_enabled_groups", json!(["a", "b"]), json!([])),
    ];
    let mut all = Vec::new();
    for (field, one, other) in values {
        let (one, other) = (
            settings(json!({ field: one })),
            settings(json!({ field: other })),
        );
        let set = taken(nothing.clone(), one.clone());
        assert_eq!(set, taken(other.clone(), one.clone()));
        assert_eq!(set, taken(json!({ "groups": { "g": {} } }), one.clone()));
        all.extend([set.digest(false), taken(one.clone(), other).digest(false)]);
        assert!(taken(one.clone(), one.clone()).is_empty());
        assert!(taken(one, nothing.clone()).is_empty());
    }
    let different: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "{all:?}");
    let spelled = |range: &str, domain: &str| {
        settings(json!({ "network_range_v6": range, "dns_domain": domain }))
    };
    let same = taken(
        spelled("fd00::/64", "a.example"),
        spelled("FD00:0::/64", "A.Example"),
    );
    assert!(same.is_empty());
    let switch = settings(json!({ "lazy_connection_enabled": true }));
    assert!(taken(nothing, switch).is_empty());
    let machine = json!({ "groups": { "g": {} }, "peers": { "gw": { "ssh_enabled": true } } });
    assert!(taken(machine, json!({ "groups": { "g": {} }, "peers": {} })).is_empty());
}

#[test]
fn a_key_that_is_asked_for_again() {
    let key = |more: serde_json::Value| {
        let key = json!({ "type": "one-off", "expires_in": 604_800 });
        json!({ "groups": {}, "setup_keys": { "k": crate::testing::over(key, more) } })
    };
    let again = |at: &str| key(json!({ "reissue_after": at }));
    let first = taken(
        key(json!({ "enrolled": true })),
        again("2026-01-01T00:00:00Z"),
    );
    assert!(!first.is_empty());
    assert_eq!(
        taken(again("2026-01-01T00:00:00Z"), again("2026-02-01T00:00:00Z")),
        first
    );
    // the same instant in other words, a new key, and no instant any more take nothing
    let same = taken(
        again("2026-01-01T00:00:00Z"),
        again("2026-01-01T01:00:00+01:00"),
    );
    assert!(same.is_empty());
    assert!(
        taken(
            json!({ "groups": {}, "setup_keys": {} }),
            again("2026-01-01T00:00:00Z")
        )
        .is_empty()
    );
    assert!(taken(again("2026-01-01T00:00:00Z"), key(json!({}))).is_empty());
}

#[test]
fn digests_differ_by_what_goes_and_by_what_is_held() {
    let item = |kind, name, member| expected(&[(kind, name, member)]);
    let all = [
        item(Kind::Group, "a", None),
        item(Kind::Policy, "a", None),
        item(Kind::Group, "b", None),
        item(Kind::Group, "a", Some("b")),
        item(Kind::Group, "a", Some("c")),
        Taken::default(),
    ];
    let digests = all
        .iter()
        .flat_map(|taken| [taken.digest(false), taken.digest(true)]);
    let digests: std::collections::BTreeSet<String> = digests.collect();
    assert_eq!(digests.len(), 2 * all.len());
    assert!(digests.iter().all(|digest| digest.len() == 8));
}

/// Two versions of a file with groups, members and policies.
fn file() -> impl Strategy<Value = serde_json::Value> {
    let members = prop::collection::btree_set(0_u8..3, 0..3);
    let groups = prop::collection::btree_map(0_u8..4, prop::option::of(members), 0..4);
    let policies = prop::option::of(prop::collection::btree_set(0_u8..3, 0..3));
    (groups, policies).prop_map(|(groups, policies)| {
        let group = |(name, members): (u8, Option<std::collections::BTreeSet<u8>>)| {
            let members =
                members.map(|all| all.iter().map(|n| format!("m{n}")).collect::<Vec<_>>());
            let entry = members.map_or(json!({}), |members| json!({ "peers": members }));
            (format!("g{name}"), entry)
        };
        let mut groups: BTreeMap<String, _> = groups.into_iter().map(group).collect();
        // a file that wants nothing is none
        groups.insert("keep".into(), json!({}));
        let mut file = json!({ "groups": groups });
        if let Some(policies) = policies {
            let entry = json!({ "sources": ["All"], "destinations": ["All"] });
            let entries: BTreeMap<_, _> = policies
                .iter()
                .map(|n| (format!("p{n}"), entry.clone()))
                .collect();
            file["policies"] = json!(entries);
        }
        file
    })
}

proptest! {
    /// In the pull request, after a merge commit or a squash, and after a rebase it is the same line.
    #[test]
    fn what_goes_is_the_same_however_it_is_merged(base in file(), commits in prop::collection::vec(file(), 1..4)) {
        let last = commits.last().expect("one at least").clone();
        let text = |file: &serde_json::Value| file.to_string();
        let versions: Vec<(i64, String)> = std::iter::once(&base)
            .chain(&commits)
            .enumerate()
            .map(|(index, file)| (1_000 * index as i64, text(file)))
            .collect();
        let read = |versions: &[(i64, String)]| -> Ledger {
            let versions: Vec<(i64, &str)> =
                versions.iter().map(|(second, text)| (*second, text.as_str())).collect();
            of(&versions)
        };
        let mut proposed = read(&versions[..1]);
        proposed.propose(desired(&last));
        let in_pull_request = proposed.taken(Cause::Proposed, Cause::Proposed);
        // the section of policies can be lost on the way: then the versions between say nothing of it
        let squashed = read(&[versions[0].clone(), versions[commits.len()].clone()]);
        let as_squash = squashed.taken(Cause::Commit(1), Cause::Commit(1));
        prop_assert_eq!(&in_pull_request, &as_squash);
        let rebased = read(&versions);
        let as_rebase = rebased.taken(Cause::Commit(1), Cause::Commit(commits.len()));
        let loses = commits.iter().any(|file| file.get("policies").is_none());
        if !loses {
            prop_assert_eq!(&in_pull_request, &as_rebase);
        }
    }

    /// Whatever a removal is attributed to says so among what it takes away.
    #[test]
    fn a_cause_takes_what_it_is_the_cause_of(files in prop::collection::vec(file(), 1..6)) {
        let texts: Vec<(i64, String)> =
            files.iter().enumerate().map(|(n, file)| (1_000 * n as i64, file.to_string())).collect();
        let versions: Vec<(i64, &str)> =
            texts.iter().map(|(second, text)| (*second, text.as_str())).collect();
        let ledger = of(&versions);
        for kind in [Kind::Group, Kind::Policy] {
            for name in names_of(&ledger, kind) {
                if let Some(cause) = ledger.removal(&Address::new(kind, name)) {
                    let mut with = ledger.taken(cause, cause);
                    let before = with.clone();
                    with.add(Address::new(kind, name), None);
                    prop_assert_eq!(before, with);
                }
            }
        }
    }
}
