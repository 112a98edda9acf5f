//! What a reviewer sees, and what no name can do to it.

mod inertness;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, file};

use super::{BUDGET, comment};
use crate::access::{Delta, Members, Passage, Place, Side, Traffic};
use crate::base::Id;
use crate::model::{Address, Kind, Notice, OfAgreement, OfObject};
use crate::render::terminal::{self, Color};
use crate::render::{Document, Status, testing as examples, tree};
use crate::testing::{Case, group, key, peer, policy};

fn document(document: &Document, applied: bool, budget: usize) -> String {
    comment(&tree(document, applied), budget)
}

#[test]
fn whole_documents_in_markdown() {
    let plan = |made: &Document| document(made, false, BUDGET);
    let apply = |made: &Document| document(made, true, BUDGET);
    assert_data_eq!(
        plan(&examples::new_account()),
        file!["../snapshots/new_account.md"].raw()
    );
    assert_data_eq!(
        plan(&examples::mixed()),
        file!["../snapshots/mixed.md"].raw()
    );
    assert_data_eq!(
        plan(&examples::no_changes()),
        file!["../snapshots/no_changes.md"].raw()
    );
    assert_data_eq!(
        plan(&examples::refused()),
        file!["../snapshots/refused.md"].raw()
    );
    assert_data_eq!(
        plan(&examples::failed()),
        file!["../snapshots/failed.md"].raw()
    );
    assert_data_eq!(
        apply(&examples::applied()),
        file!["../snapshots/applied.md"].raw()
    );
    assert_data_eq!(
        apply(&examples::applied_partly()),
        file!["../snapshots/applied_partly.md"].raw()
    );
    assert_data_eq!(
        document(&examples::mixed(), false, 3_000),
        file!["../snapshots/too_long.md"].raw()
    );
}

#[test]
fn a_warning_among_notes_is_in_the_comment() {
    let mut made = examples::no_changes();
    let warning = OfObject::Unclear(vec![Id::from("an-id")]);
    let note = |text: &str| Notice::general(OfAgreement::NotAsked(text.into()));
    made.notices = vec![
        note("first"),
        Notice::about(&Address::new(Kind::Policy, "p"), warning),
        note("second"),
    ];
    let text = document(&made, false, BUDGET);
    for part in ["first", "second", "policy \"p\" is skipped"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A plan with so many creations, updates and deletions, and a notice each.
fn large(creations: usize, deletions: usize) -> Document {
    let declared: BTreeMap<String, Value> = (0..creations)
        .map(|n| (format!("new-{n:05}"), json!({})))
        .collect();
    let live: Vec<Value> = (0..deletions)
        .map(|n| group(&format!("old-{n:05}"), &[]))
        .collect();
    let declared = if declared.is_empty() {
        BTreeMap::from([("keep".into(), json!({}))])
    } else {
        declared
    };
    let mut document = Case::new(json!({ "groups": declared }), json!({ "groups": live }))
        .prune_all()
        .document();
    document.notices = (0..creations)
        .map(|n| {
            let text = format!("notice {n}: {}", "words ".repeat(20));
            Notice::general(OfAgreement::NotAsked(text))
        })
        .collect();
    document
}

/// What is left out is said at the top, and deletions are in full to the last.
#[test]
fn a_long_plan_leaves_out_what_matters_least() {
    for (creations, deletions) in [(10, 10), (600, 40), (1_200, 300), (1_200, 900)] {
        let text = document(&large(creations, deletions), false, BUDGET);
        assert!(text.chars().count() <= BUDGET, "{creations} {deletions}");
        for n in 0..deletions {
            assert!(
                text.contains(&format!("`old-{n:05}`")),
                "deletion {n} of {deletions} is missing"
            );
        }
        let is_cut = creations > 100;
        let top: Vec<&str> = text.lines().take(6).collect();
        assert_eq!(
            top.iter()
                .any(|line| line.contains("too long for a comment")),
            is_cut,
            "{top:?}"
        );
        if is_cut {
            assert!(
                top.iter()
                    .any(|line| line.contains(&format!("of {} notes", creations + 1))),
                "{top:?}"
            );
        }
    }
}

/// Where even the deletions do not fit, their number is said first.
#[test]
fn a_plan_that_deletes_too_much_says_so_first() {
    let text = document(&large(0, 5_000), false, BUDGET);
    assert!(text.chars().count() <= BUDGET);
    let shown = text.matches("| ➖ | group | `old-").count();
    assert!(shown > 1_500, "{shown}");
    let missing = format!("**{} of 5000 deletions", 5_000 - shown);
    assert!(
        text.lines().take(6).any(|line| line.contains(&missing)),
        "{missing}\n{}",
        &text[..900]
    );
}

/// What opens or takes away reach stands before what takes little away; a terminal has all of it.
#[test]
fn the_loudest_of_many_warnings_come_first_and_a_terminal_has_all() {
    let live = (0..25).map(|n| group(&format!("team-{n:02}"), &["a"]));
    let live: Vec<Value> = live.collect();
    let live = json!({
        "groups": live, "peers": [peer("a")], "policies": [policy("Default", &["All"], &["All"])],
    });
    let file = json!({ "groups": { "keep": {} }, "policies": {} });
    let made = Case::new(file, live).prune_all().document();
    let text = document(&made, false, BUDGET);
    let first = text.lines().find(|line| line.starts_with("> - "));
    let loud = "policy `Default`: peers that no other policy connects lose each other";
    assert!(first.is_some_and(|line| line.contains(loud)), "{first:?}");
    assert!(
        text.contains("> - And 6 more of that sort, in the job's log."),
        "{text}"
    );
    let text = terminal::text(&tree(&made, false), Color(false));
    assert_eq!(text.matches("it has 1 member").count(), 25, "{text}");
}

/// The line that deletes what is let go names it, also where its rows have no room.
#[test]
fn a_line_that_deletes_names_what_it_deletes() {
    for budget in [3_000, BUDGET] {
        let text = document(&examples::mixed(), false, budget);
        let what = "To delete route `taken-over`, route `uplink` instead, add this line";
        assert!(text.contains(what), "{text}");
    }
}

/// A comment folds all names of what is unmanaged; a terminal has the first of them.
#[test]
fn what_is_left_alone_is_whole_in_a_comment() {
    let live: Vec<Value> = (0..12).map(|n| group(&format!("g-{n:02}"), &[])).collect();
    let made = Case::new(
        json!({ "groups": { "keep": {} } }),
        json!({ "groups": live }),
    )
    .document();
    let text = document(&made, false, BUDGET);
    assert!(text.contains("`g-11`"), "{text}");
    let text = terminal::text(&tree(&made, false), Color(false));
    assert!(text.contains("\"g-09\" and 2 more"), "{text}");
}

/// What nobody must miss is there where there is room for names alone, and before them.
#[test]
fn what_is_called_out_stays_in_a_plan_of_names() {
    let all = || {
        Side::Group(Members {
            group: "All".into(),
            machines: 9,
            ..Members::default()
        })
    };
    let passage = |traffic| Passage {
        from: all(),
        to: all(),
        traffic,
        is_even: true,
        condition: None,
        rule: Address::new(Kind::Policy, "wide"),
        causes: BTreeSet::from([Address::new(Kind::NetworkResource, "eu")]),
        others: BTreeSet::new(),
    };
    let mut made = large(0, 5_000);
    made.access = Some(Delta {
        gained: vec![passage(Traffic::everything())],
        ..Delta::default()
    });
    let text = document(&made, false, BUDGET);
    assert!(text.chars().count() <= BUDGET);
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what}"));
    let called_out = place(
        "every machine reaches every other machine on every port, by policy \"wide\", because of network resource \"eu\"",
    );
    assert!(called_out < place("| `old-00000`"));
}

/// In the graph a group is not the resource of the same name.
#[test]
fn what_has_the_same_name_is_two_nodes() {
    let group = Side::Group(Members {
        group: "printer".into(),
        machines: 1,
        ..Members::default()
    });
    let resource = Side::Resource(Place {
        name: "printer".into(),
        address: "10.20.0.9/32".into(),
    });
    let mut made = examples::no_changes();
    made.access = Some(Delta {
        gained: vec![Passage {
            from: group,
            to: resource,
            traffic: Traffic::everything(),
            is_even: true,
            condition: None,
            rule: Address::new(Kind::Policy, "print"),
            causes: BTreeSet::new(),
            others: BTreeSet::new(),
        }],
        ..Delta::default()
    });
    let text = document(&made, false, BUDGET);
    assert!(text.contains("n0[\"group #34;printer#34;\"]"), "{text}");
    assert!(
        text.contains("n1[\"network resource #34;printer#34; 10.20.0.9/32\"]"),
        "{text}"
    );
    assert!(text.contains("n0 -->|\"everything\"| n1"), "{text}");
}

#[test]
fn a_long_error_is_cut_and_says_so() {
    let error: String = (0..5_000)
        .map(|n| format!("netbird.json:{n}:1  a problem\u{202e}\n"))
        .collect();
    let made = Document {
        error: Some(error),
        ..examples::failed()
    };
    for applied in [false, true] {
        let text = document(&made, applied, BUDGET);
        assert!(text.chars().count() <= BUDGET);
        assert!(text.contains("more lines in the job's log"), "{text}");
        assert!(text.contains("netbird.json:0:1"));
        // nothing else needs the room
        assert!(text.chars().count() > BUDGET * 4 / 5);
    }
}

/// Many sealed keys push the rest out, never themselves over the budget.
#[test]
fn many_sealed_keys_are_left_out_for_no_budget() {
    let keys: Vec<Value> = Vec::new();
    let declared: BTreeMap<String, Value> = (0..400)
        .map(|n| {
            (
                format!("key-{n:03}"),
                json!({ "type": "one-off", "expires_in": 60 }),
            )
        })
        .collect();
    let mut made = Case::new(
        json!({ "setup_keys": declared }),
        json!({ "setup_keys": keys }),
    )
    .document();
    made.statuses = vec![Status::Success; 400];
    let (_, one) = examples::applied()
        .created_keys
        .into_iter()
        .next()
        .expect("there is one");
    made.created_keys = (0..400)
        .map(|n| (format!("key-{n:03}"), one.clone()))
        .collect();
    let text = document(&made, true, BUDGET);
    // whoever loses a sealed key loses the key
    let blocks = text.matches("-----END AGE ENCRYPTED FILE-----").count();
    assert_eq!(blocks, 400);
    let rest = text.split("<details>").next().unwrap_or_default();
    assert!(rest.chars().count() <= BUDGET);
}

/// A block at column 0 that opens as it is when it is copied.
#[test]
fn a_sealed_key_is_a_block_of_its_own() {
    let mut made = examples::applied();
    let key = made.created_keys.values_mut().next().expect("there is one");
    key.sealed = "-----BEGIN AGE ENCRYPTED FILE-----\r\nAAAA\r\n\r\n-----END AGE ENCRYPTED FILE-----\r\n\r\n".into();
    let text = document(&made, true, BUDGET);
    let block = "\n\n```\n-----BEGIN AGE ENCRYPTED FILE-----\nAAAA\n-----END AGE ENCRYPTED FILE-----\n```\n";
    assert!(text.contains(block), "{text}");
}

/// The words that make a reader stop.
#[test]
fn what_stands_out() {
    let warned = |file: Value, live: Value| {
        let text = document(&Case::new(file, live).prune_all().document(), false, BUDGET);
        text.lines()
            .filter(|line| line.starts_with("> -"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let policy =
        |policy: Value| json!({ "groups": { "a": {}, "b": {} }, "policies": { "p": policy } });
    let live = |policy: Value| json!({ "groups": [group("a", &[]), group("b", &[])], "policies": [policy] });
    let one_way = |enabled: bool| {
        let rule = json!({ "bidirectional": false, "protocol": "udp", "ports": ["53"] });
        crate::testing::over(
            crate::testing::policy_with("p", &["a"], &["b"], rule),
            json!({ "enabled": enabled }),
        )
    };
    let rows = [
        (
            "a new policy from All",
            warned(
                policy(json!({ "sources": ["All"], "destinations": ["b"] })),
                json!({}),
            ),
        ),
        (
            "a new policy to All",
            warned(
                policy(
                    json!({ "sources": ["a"], "destinations": ["All"], "protocol": "tcp", "ports": [22] }),
                ),
                json!({}),
            ),
        ),
        (
            "a new policy from All to All, disabled",
            warned(
                policy(json!({ "sources": ["All"], "destinations": ["All"], "enabled": false })),
                json!({}),
            ),
        ),
        (
            "a policy is opened to All",
            warned(
                policy(json!({ "sources": ["a"], "destinations": ["All"] })),
                live(crate::testing::policy("p", &["a"], &["b"])),
            ),
        ),
        (
            "a policy that was open gets a description",
            warned(
                policy(json!({ "sources": ["All"], "destinations": ["All"], "description": "x" })),
                live(crate::testing::policy("p", &["All"], &["All"])),
            ),
        ),
        (
            "a policy is switched off",
            warned(
                policy(json!({ "sources": ["a"], "destinations": ["b"], "enabled": false })),
                live(one_way(true)),
            ),
        ),
        (
            "a policy goes",
            warned(
                json!({ "groups": { "a": {}, "b": {} }, "policies": {} }),
                live(one_way(true)),
            ),
        ),
        (
            "a disabled policy goes",
            warned(
                json!({ "groups": { "a": {}, "b": {} }, "policies": {} }),
                live(one_way(false)),
            ),
        ),
        (
            "a policy that drops goes",
            warned(
                json!({ "groups": { "a": {}, "b": {} }, "policies": {} }),
                live(crate::testing::policy_with(
                    "p",
                    &["a"],
                    &["b"],
                    json!({ "action": "drop" }),
                )),
            ),
        ),
        (
            "a dead key goes",
            warned(
                json!({ "groups": { "a": {} }, "setup_keys": {} }),
                json!({ "groups": [group("a", &[])],
                    "setup_keys": [crate::testing::over(key("k", &["a"]), json!({ "valid": false }))] }),
            ),
        ),
    ];
    assert_data_eq!(
        crate::testing::table(rows),
        snapbox::str![[r#"
a new policy from All
    > - Opens policy `p`: every peer reaches peers in `b`: everything.
a new policy to All
    > - Opens policy `p`: peers in `a` reach every peer: tcp 22.
a new policy from All to All, disabled
a policy is opened to All
    > - Opens policy `p`: peers in `a` reach every peer: everything.
a policy that was open gets a description
a policy is switched off
    > - Switches off policy `p`: peers in `a` lose udp 53 to peers in `b`.
a policy goes
    > - Deletes policy `p`: peers in `a` lose udp 53 to peers in `b`.
a disabled policy goes
    > - Deletes policy `p`. Nobody loses anything.
a policy that drops goes
    > - Deletes policy `p`: everything from peers in `a` to peers in `b` is no longer blocked.
a dead key goes
    > - Deletes setup key `k`. Nobody loses anything.

"#]]
        .raw()
    );
}
