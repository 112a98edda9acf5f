//! Section `groups`, entry by entry.

use std::collections::BTreeSet;

use snapbox::str;

use crate::check::validate::testing::{assert_table, check};

#[test]
fn fields_of_groups() {
    let rows = [
        r#""g": {}"#,
        r#""g": {"peers": []}"#,
        r#""g": {"peers": ["p-1", "p 2"]}"#,
        r#""g": {"peers": ["p", "p"]}"#,
        r#""g": {"peers": ["p ", "", 1]}"#,
        r#""g": {"peers": "p"}"#,
        r#""g": {"peers": null}"#,
        r#""g": ["p"]"#,
        r#""g": null"#,
        r#""g": 12"#,
        r#""g": {"members": [], "name": "g", "resources": []}"#,
        r#""All": {}"#,
        r#""all": {}"#,
    ];
    assert_table(
        r#"{"groups": {ROW}}"#,
        &rows,
        str![[r#"
"g": {}
"g": {"peers": []}
"g": {"peers": ["p-1", "p 2"]}
"g": {"peers": ["p", "p"]}
    note: groups.g.peers[1]: "p" is in the list twice
"g": {"peers": ["p ", "", 1]}
    groups.g.peers[0]: the name "p " ends with a space | did you mean "p"?
    groups.g.peers[1]: a name cannot be empty
    groups.g.peers[2]: expected a name, found the number 1
"g": {"peers": "p"}
    groups.g.peers: expected a list of names of setup keys and peers, found the string "p" | write ["p"]
"g": {"peers": null}
    groups.g.peers: null is not allowed | leave "peers" out instead
"g": ["p"]
    groups.g: expected a group { … }, found a list | write { "peers": ["p"] }
"g": null
    groups.g: null is not allowed: expected a group { … } | write {}, or its fields in braces: peers, renamed_from
"g": 12
    groups.g: expected a group { … }, found the number 12 | write {}, or its fields in braces: peers, renamed_from
"g": {"members": [], "name": "g", "resources": []}
    groups.g.members: unknown field "members" | write "peers": Names of setup keys and peers. Without it, the members are not changed.
    groups.g.name: its name is the name of its entry | to rename it, rename the entry and add "renamed_from" with the old name
    groups.g.resources: the groups of a network resource are listed in the resource | write "networks": { "NAME": { "resources": { "NAME": { "groups": [ … ] } } } }
"All": {}
    groups.All: All is NetBird's own group of every peer: it cannot be declared | refer to it without declaring it
"all": {}
    note: groups.all: the name "all" differs only by case from All, NetBird's group of every peer

"#]],
    );
}

#[test]
fn missing_members_are_not_ours_and_no_members_are() {
    let valid =
        check(r#"{"groups": {"a": {}, "b": {"peers": []}, "c": {"peers": ["y", "x", "y"]}}}"#)
            .expect("valid");
    let peers = |name| valid.desired.group(name).expect("an entry").listed.clone();
    assert_eq!(peers("a"), None);
    assert_eq!(peers("b"), Some(BTreeSet::new()));
    assert_eq!(peers("c"), Some(BTreeSet::from(["x".into(), "y".into()])));
}
