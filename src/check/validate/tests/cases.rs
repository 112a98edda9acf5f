//! Failures of other people that concern this stage, each by its trigger, and a file with many
//! problems as people read it.

use snapbox::{IntoData, assert_data_eq, str};

use crate::check::validate::testing::{assert_table, check, problems};
use crate::file::Severity;

fn errors(text: &str) -> usize {
    match crate::check::validate::validate(
        &crate::file::Source::from_text("f", text).expect("a text"),
    ) {
        Ok(_) => 0,
        Err(problems) => {
            assert!(
                problems
                    .list
                    .iter()
                    .all(|problem| problem.place.line >= 1 && problem.place.column >= 1)
            );
            problems
                .list
                .iter()
                .filter(|problem| problem.severity == Severity::Error)
                .count()
        }
    }
}

#[test]
fn null_is_an_error_with_its_path() {
    let rows = [
        r#"{"groups": {"g": {"peers": ["a", null]}}}"#,
        r#"{"groups": null}"#,
        r#"{"groups": {"ops": null}}"#,
        r#"{"policies": {"p": {"sources": ["All"], "destinations": ["All"], "protocol": "tcp", "ports": null}}}"#,
        r#"{"policies": {"p": {"sources": ["All"], "destinations": ["All"], "protocol": "tcp", "ports": [null]}}}"#,
        r#"{"dns": null, "groups": {"g": {}}}"#,
        r#"{"dns": {"nameserver_groups": null}, "groups": {"g": {}}}"#,
        r#"{"$schema": null, "groups": {"g": {}}}"#,
    ];
    assert_table(
        "ROW",
        &rows,
        str![[r#"
{"groups": {"g": {"peers": ["a", null]}}}
    groups.g.peers[1]: null is not allowed: expected a name
{"groups": null}
    groups: null is not allowed | leave "groups" out to leave them alone; {} says that there shall be none
{"groups": {"ops": null}}
    groups.ops: null is not allowed: expected a group { … } | write {}, or its fields in braces: peers, renamed_from
{"policies": {"p": {"sources": ["All"], "destinations": ["All"], "protocol": "tcp", "ports": null}}}
    policies.p.ports: null is not allowed | leave "ports" out instead
{"policies": {"p": {"sources": ["All"], "destinations": ["All"], "protocol": "tcp", "ports": [null]}}}
    policies.p.ports[0]: null is not allowed: expected a port such as 443, or a range such as "8000-8100"
{"dns": null, "groups": {"g": {}}}
    dns: null is not allowed | leave "dns" out instead
{"dns": {"nameserver_groups": null}, "groups": {"g": {}}}
    dns.nameserver_groups: null is not allowed | leave "nameserver_groups" out to leave them alone; {} says that there shall be none
{"$schema": null, "groups": {"g": {}}}
    $schema: null is not allowed | leave "$schema" out instead

"#]],
    );
}

#[test]
fn a_policy_without_sources_is_an_error() {
    let policy = |sources: &str| {
        format!(
            r#"{{"groups": {{"db": {{}}}}, "policies": {{"p": {{"sources": [{sources}], "destinations": ["db"]}}}}}}"#
        )
    };
    assert_eq!(errors(&policy("")), 1);
    assert_eq!(errors(&policy(r#""db""#)), 0);
}

#[test]
fn what_manages_nothing_is_an_error() {
    let rows = [
        "{}",
        "null",
        "[]",
        "\"groups\"",
        r#"{"$schema": "x"}"#,
        r#"{"dns": {}}"#,
        r#"{"groups": {}}"#,
        r#"{"account": {"settings": {}}, "dns": {"settings": {}}, "peers": {}}"#,
        r#"{"groups": {}, "account": {"settings": {}}}"#,
        r#"{"groups": {}, "setup_keys": {}, "policies": {}, "routes": {}, "dns": {"nameserver_groups": {}}}"#,
        r#"{"groups": {"g": {}}, "setup_keys": {}, "policies": {}, "dns": {}}"#,
    ];
    assert_table(
        "ROW",
        &rows,
        str![[r#"
{}
    note: : the file manages nothing yet: write a section, or run netbird-gitops adopt to import what NetBird has
null
    : null is not allowed: expected one object { … } | begin with examples/minimal.json
[]
    : expected one object { … }, found a list | begin with examples/minimal.json
"groups"
    : expected one object { … }, found the string "groups" | begin with examples/minimal.json
{"$schema": "x"}
    note: : the file manages nothing yet: write a section, or run netbird-gitops adopt to import what NetBird has
{"dns": {}}
    note: : the file manages nothing yet: write a section, or run netbird-gitops adopt to import what NetBird has
    note: dns: manages nothing without "nameserver_groups" or "settings" or "zones"
{"groups": {}}
    : every section is empty: an apply would delete everything that this file created | remove a section to stop managing it; to delete everything, keep one entry here, apply, and delete that one in NetBird
{"account": {"settings": {}}, "dns": {"settings": {}}, "peers": {}}
    note: : the file manages nothing yet: write a section, or run netbird-gitops adopt to import what NetBird has
{"groups": {}, "account": {"settings": {}}}
    : every section is empty: an apply would delete everything that this file created | remove a section to stop managing it; to delete everything, keep one entry here, apply, and delete that one in NetBird
{"groups": {}, "setup_keys": {}, "policies": {}, "routes": {}, "dns": {"nameserver_groups": {}}}
    : every section is empty: an apply would delete everything that this file created | remove a section to stop managing it; to delete everything, keep one entry here, apply, and delete that one in NetBird
{"groups": {"g": {}}, "setup_keys": {}, "policies": {}, "dns": {}}
    note: dns: manages nothing without "nameserver_groups" or "settings" or "zones"

"#]],
    );
}

#[test]
fn ports_are_numbers_or_plain_decimals() {
    let file = |ports: &str| {
        format!(
            r#"{{"policies": {{"p": {{"sources": ["All"], "destinations": ["All"], "protocol": "tcp", "ports": {ports}}}}}}}"#
        )
    };
    for wrong in [
        r#"["0443"]"#,
        r#"[" 443"]"#,
        r#"["443 "]"#,
        "[443.0]",
        r#"["http"]"#,
        r#"["0"]"#,
        r#"["65536"]"#,
    ] {
        assert_eq!(errors(&file(wrong)), 1, "{wrong}");
    }
    let read = |ports: &str| check(&file(ports)).expect("a valid file").desired;
    assert_eq!(read("[443]"), read(r#"["443"]"#));
    assert_eq!(read("[443]"), read(r#"["443", 443, "443-443"]"#));
    assert_eq!(
        read(r#"["443", "8000-8100"]"#),
        read(r#"["8000-8100", 443]"#)
    );
}

#[test]
fn blanks_at_the_ends_of_names() {
    let text = r#"{"groups": {"ops ": {}, " ops": {}, "ops": {}, "": {}, " ": {}, "o\tps": {}}}"#;
    assert_eq!(errors(text), 5, "{:?}", problems(text));
}

#[test]
fn protocols_and_their_ports() {
    let file = |fields: &str| {
        format!(
            r#"{{"policies": {{"p": {{"sources": ["All"], "destinations": ["All"], {fields}}}}}}}"#
        )
    };
    assert_eq!(
        errors(&file(
            r#""protocol": "udp", "ports": ["6000-65000"], "bidirectional": false"#
        )),
        0
    );
    assert_eq!(
        errors(&file(r#""protocol": "all", "bidirectional": false"#)),
        0
    );
    assert_eq!(errors(&file(r#""protocol": "icmp", "ports": ["80"]"#)), 1);
    assert_eq!(
        errors(&file(r#""protocol": "tcp", "ports": ["65000-6000"]"#)),
        1
    );
}

#[test]
fn names_that_are_equal_when_composed() {
    let twins = r#"{"groups": {"Bu\u0308ro": {}, "B\u00fcro": {}}}"#;
    assert_eq!(errors(twins), 1);
    let reference = r#"{"groups": {"Bu\u0308ro": {}}, "policies": {"p": {"sources": ["B\u00fcro"], "destinations": ["All"]}}}"#;
    assert_eq!(errors(reference), 1);
    assert_eq!(
        errors(&reference.replace(r"B\u00fcro", r"Bu\u0308ro")),
        0,
        "one spelling is fine, whichever it is"
    );
}

#[test]
fn usage_limits() {
    let key =
        |fields: &str| format!(r#"{{"setup_keys": {{"k": {{"expires_in": 3600, {fields}}}}}}}"#);
    assert_eq!(errors(&key(r#""type": "one-off", "usage_limit": 5"#)), 1);
    assert_eq!(
        problems(&key(r#""type": "reusable", "usage_limit": 0"#)),
        [""; 0],
        "what is written out is no news"
    );
}

#[test]
fn auto_groups_are_names() {
    let file = |groups: &str| {
        format!(
            r#"{{"groups": {{{groups}}}, "setup_keys": {{"k": {{"type": "one-off", "expires_in": 3600, "auto_groups": ["Lab Boxes"]}}}}}}"#
        )
    };
    assert_eq!(problems(&file(r#""Lab Boxes": {}"#)), [""; 0]);
    let valid = check(&file(r#""lab boxes": {}"#)).expect("it may exist in NetBird");
    let [reference] = valid.references.as_slice() else {
        panic!("{:?}", valid.references)
    };
    assert_eq!(reference.owner.to_string(), "setup key k");
    assert_eq!(
        reference.hint.as_deref(),
        Some("did you mean \"lab boxes\"?")
    );
}

#[test]
fn life_times_are_seconds() {
    let key = |secs: i64| {
        problems(&format!(
            r#"{{"setup_keys": {{"k": {{"type": "one-off", "expires_in": {secs}}}}}}}"#
        ))
    };
    let week = [
        "note: setup_keys.k.expires_in: this key lives for 7 seconds only: expires_in counts seconds | did you mean 7 days: 604800?",
    ];
    assert_eq!(key(7), week);
    assert_eq!(key(30).len(), 1);
    assert_eq!(key(3599).len(), 1);
    assert_eq!(key(3600), [""; 0]);
    assert_eq!(key(604_800), [""; 0]);
}

#[test]
fn all_problems_of_a_file_in_one_run() {
    let text = r#"{
  "groups": {
    "pilots": { "peers": ["node-1", "node-1"] },
    "Pilots": {},
    "All": {},
    "gpj\u202eexe": {}
  },
  "setup_keys": {
    "node-1": { "type": "one-off", "expires_in": 7, "usage_limit": 5, "auto_groups": ["pilots", "All"] },
    "node-2": { "type": "one-of", "auto_groups": ["pilots"], "renamed_from": "node-0" }
  },
  "policies": {
    "pilots-to-gs": {
      "sources": ["pilots"],
      "destinations": ["ground-stations"],
      "protcol": "tcp",
      "ports": [22, "http"]
    },
    "web.tcp": { "sources": ["pilot"], "destinations": [], "enabled": null }
  },
  "routes": {
    "lan": { "network": "10.0.0.0/33", "peer_groups": ["pilots"], "metric": 0 },
    "lan": { "network": "10.1.2.3/24", "peer_groups": ["pilots"], "groups": "pilots" }
  },
  "dns": { "nameserver_groups": { "corp": { "nameservers": [{ "ip": "10.0.0.53", "port": 70000 }], "groups": ["All"] } } },
  "users": []
}
"#;
    assert_data_eq!(check(text).expect_err("problems"), str![[r#"
f has 17 problems

f:5:5  groups.All
    All is NetBird's own group of every peer: it cannot be declared
    refer to it without declaring it
f:6:5  groups["gpj\u{202e}exe"]
    the name "gpj\u{202e}exe" contains a character that is invisible, or only looks like a space
    did you mean "gpjexe"?
f:9:68  setup_keys.node-1.usage_limit
    a one-off key is used once: usage_limit can only be 1
    for more than one peer use "type": "reusable"
f:9:97  setup_keys.node-1.auto_groups[1]
    every peer is in All: neither a setup key nor a user can grant it
    leave it out
f:10:5  setup_keys.node-2
    a setup key needs "expires_in"
f:10:25  setup_keys.node-2.type
    "one-of" is not a valid key type: it is one of "one-off", "reusable"
    did you mean "one-off"?
f:10:62  setup_keys.node-2.renamed_from
    a setup key's name can never change
    a new name is a new key: the old one is deleted, a new one made and sealed
f:16:7  policies.pilots-to-gs.protcol
    unknown field "protcol"
    did you mean "protocol"?
f:17:21  policies.pilots-to-gs.ports[1]
    "http" is not a port: expected a port such as 443, or a range such as "8000-8100"
f:19:56  policies["web.tcp"].destinations
    "destinations" cannot be empty
    a rule with an empty side matches nothing; "enabled": false switches a policy off
f:19:71  policies["web.tcp"].enabled
    null is not allowed
    leave "enabled" out instead
f:22:25  routes.lan.network
    "10.0.0.0/33" is not a network: the prefix of an IPv4 network is 0 to 32
f:22:77  routes.lan.metric
    0 is too small: expected a whole number from 1 to 9999
f:23:5  routes.lan
    "lan" is here twice; the first one is in line 22, column 5
f:23:77  routes.lan.groups
    expected a list of group names, found the string "pilots"
    write ["pilots"]
f:25:90  dns.nameserver_groups.corp.nameservers[0].port
    70000 is too large: expected a whole number from 1 to 65535
f:26:12  users
    expected an object of names { … }, found a list
    write each entry under its name: { "NAME": { … } }

note: f:3:37  groups.pilots.peers[1]: "node-1" is in the list twice
note: f:4:5  groups.Pilots: the name "Pilots" differs only by case from "pilots" in line 3
note: f:9:50  setup_keys.node-1.expires_in: this key lives for 7 seconds only: expires_in counts seconds
    did you mean 7 days: 604800?
note: f:15:24  policies.pilots-to-gs.destinations[0]: group "ground-stations" is not declared in this file: an apply fails if NetBird does not have it
note: f:19:30  policies["web.tcp"].sources[0]: group "pilot" is not declared in this file: an apply fails if NetBird does not have it
    did you mean "pilots"?
note: f:22:5  routes.lan: a new route without "groups" is distributed to every peer (All)
    list the groups that receive the route in "groups"
note: f:23:25  routes.lan.network: "10.1.2.3/24" is inside the network 10.1.2.0/24, which is what the route is for
    write "10.1.2.0/24"
note: f:25:35  dns.nameserver_groups.corp: has no domains, so it is used for all domains
    write "primary": true if that is meant

"#]].raw());
}

/// What engineers bring from other tools has a way out: each spelling is told what stands for it here.
#[test]
fn spellings_of_other_tools_have_a_way_out() {
    assert_table(
        "{ROW}",
        &[
            r#""groups": {"a": ["p1", "p2"]}"#,
            r#""groups": {"a": {"members": ["p1"]}}"#,
            r#""rule": {}"#,
            r#""acls": []"#,
            r#""users": {}"#,
            r#""hosts": {}"#,
            r#""networks": {}"#,
            r#""nameservers": []"#,
            r#""policies": {"p": {"src": ["a"], "dst": ["b"], "proto": "tcp"}}"#,
            r#""policies": {"p": {"rule": {}, "sources": ["*"], "destinations": ["10.0.0.0/8"]}}"#,
            r#""policies": {"p": {"sources": ["All"], "destination_resource": {"id": "x"}}}"#,
            r#""policies": {"p": {"sources": ["acl", "al"], "destinations": ["d2m7q0rl0ubs73a9k2v0"]}}"#,
            r#""groups": {"g": {}}, "routes": {"r": {"networks": ["10.0.0.0/8"], "peer_groups": ["g"], "groups": ["g"]}}"#,
        ],
        str![[r#"
"groups": {"a": ["p1", "p2"]}
    groups.a: expected a group { … }, found a list | write { "peers": ["p1", "p2"] }
"groups": {"a": {"members": ["p1"]}}
    groups.a.members: unknown field "members" | write "peers": Names of setup keys and peers. Without it, the members are not changed.
"rule": {}
    rule: access rules belong in "policies" | write "policies": { "NAME": { "sources": [ … ], "destinations": [ … ] } }, one entry for each rule
"acls": []
    acls: access rules belong in "policies" | write "policies": { "NAME": { "sources": [ … ], "destinations": [ … ] } }, one entry for each rule
"users": {}
    note: : the file manages nothing yet: write a section, or run netbird-gitops adopt to import what NetBird has
"hosts": {}
    hosts: settings of machines belong in "peers" | machines enroll by themselves; for a new one declare a setup key
"networks": {}
    : every section is empty: an apply would delete everything that this file created | remove a section to stop managing it; to delete everything, keep one entry here, apply, and delete that one in NetBird
"nameservers": []
    nameservers: nameserver groups belong in "dns" | write "dns": { "nameserver_groups": { … } }
"policies": {"p": {"src": ["a"], "dst": ["b"], "proto": "tcp"}}
    policies.p.src: unknown field "src" | write "sources": Groups that may connect, at least one. Exactly one of sources and source_resource.
    policies.p.dst: unknown field "dst" | write "destinations": Groups that they reach, at least one. Exactly one of destinations and destination_resource.
    policies.p.proto: unknown field "proto" | write "protocol": all, tcp, udp, icmp or netbird-ssh, in any case.
"policies": {"p": {"rule": {}, "sources": ["*"], "destinations": ["10.0.0.0/8"]}}
    policies.p.rule: one policy is one rule: NetBird drops all but the first | write the rule's fields here, and a policy of its own for every other rule
    note: policies.p.sources[0]: group "*" is not declared in this file: an apply fails if NetBird does not have it | the group of every peer is called "All"
    note: policies.p.destinations[0]: group "10.0.0.0/8" is not declared in this file: an apply fails if NetBird does not have it | this looks like an address: this list takes groups, by their names
"policies": {"p": {"sources": ["All"], "destination_resource": {"id": "x"}}}
    policies.p.destination_resource: a peer in the place of groups needs "peer"
    policies.p.destination_resource.id: write only the name of the network resource | write its name as a string, or { "peer": "NAME" }
"policies": {"p": {"sources": ["acl", "al"], "destinations": ["d2m7q0rl0ubs73a9k2v0"]}}
    note: policies.p.sources[0]: group "acl" is not declared in this file: an apply fails if NetBird does not have it
    note: policies.p.sources[1]: group "al" is not declared in this file: an apply fails if NetBird does not have it
    note: policies.p.destinations[0]: group "d2m7q0rl0ubs73a9k2v0" is not declared in this file: an apply fails if NetBird does not have it | this looks like an id of NetBird: this list takes groups, by their names
"groups": {"g": {}}, "routes": {"r": {"networks": ["10.0.0.0/8"], "peer_groups": ["g"], "groups": ["g"]}}
    routes.r.networks: unknown field "networks" | write "network": An IPv4 or IPv6 network; host bits are masked, with a notice. Exactly one of network and domains.

"#]],
    );
}

/// A file of 10 MiB with an error in every other byte took 7 GB for them.
#[test]
fn of_very_many_problems_the_first_are_kept_and_the_rest_is_counted() {
    let wrong = ["1"; 12_345].join(",");
    let list = problems(&format!(r#"{{"groups": {{"g": {{"peers": [{wrong}]}}}}}}"#));
    assert_eq!(list.len(), 10_001);
    assert_eq!(
        list[0],
        "note: : 2345 more problems and notices are left out"
    );
    assert_eq!(
        list[10_000],
        "groups.g.peers[9999]: expected a name, found the number 1"
    );
    let again = [r#""a""#; 12_345].join(",");
    let list = problems(&format!(r#"{{"groups": {{"g": {{"peers": [{again}]}}}}}}"#));
    assert_eq!(list.len(), 10_001);
    assert_eq!(
        list[0],
        "note: : 2344 more problems and notices are left out"
    );
}

/// What stands in an entry has the entry's name in its address.
#[test]
fn what_stands_under_a_name_that_is_too_long_is_not_read() {
    let (long, just) = ("x".repeat(256), "x".repeat(255));
    let file = |name: &str| {
        format!(r#"{{"networks": {{"{name}": {{"resources": {{"r": {{"address": 1}}}}}}}}}}"#)
    };
    let list = problems(&file(&long));
    assert_eq!(list.len(), 1, "{list:?}");
    assert!(list[0].ends_with("a name has at most 255 characters; this one has 256"));
    assert!(problems(&file(&just))[0].contains("expected"));
}
