//! Section `policies`, entry by entry.

use std::collections::BTreeSet;

use snapbox::str;

use crate::check::validate::testing::{assert_table, check};
use crate::model::{Action, Address, Kind, Policy, PortRange, Protocol, Resource};

const FILE: &str = r#"{"groups": {"a": {}, "b": {}}, "policies": {"p": {"sources": ["a"], "destinations": ["b"], ROW}}}"#;

#[test]
fn fields_of_policies() {
    let rows = [
        r#""description": "", "enabled": false, "bidirectional": false, "action": "drop""#,
        r#""description": 1, "enabled": "yes", "bidirectional": "false", "action": null"#,
        r#""protocol": "all""#,
        r#""protocol": "ALL""#,
        r#""protocol": "NetBird-SSH", "ports": [22]"#,
        r#""protocol": "tpc""#,
        r#""protocol": "sctp""#,
        r#""protocol": "Any""#,
        r#""protocol": "ssh""#,
        r#""protocol": "https""#,
        r#""action": "allow""#,
        r#""action": "Deny""#,
        r#""posture_checks": []"#,
        r#""protocol": "tcp", "ports": "80, 443""#,
        r#""protocol": 6"#,
        r#""action": "Drop""#,
        r#""action": "deny""#,
        r#""protocol": "tcp", "ports": []"#,
        r#""protocol": "icmp", "ports": []"#,
        r#""protocol": "icmp", "ports": ["80"]"#,
        r#""protocol": "all", "ports": [443]"#,
        r#""ports": []"#,
        r#""ports": [443]"#,
        r#""protocol": "tpc", "ports": [443]"#,
        r#""protcol": "tcp""#,
        r#""rules": []"#,
        r#""name": "p", "port_ranges": [], "source_posture_checks": [], "sourceResource": {}"#,
        r#""destinationResource": {}, "authorized_groups": {}"#,
    ];
    assert_table(
        FILE,
        &rows,
        str![[r#"
"description": "", "enabled": false, "bidirectional": false, "action": "drop"
"description": 1, "enabled": "yes", "bidirectional": "false", "action": null
    policies.p.description: expected a text, found the number 1
    policies.p.enabled: expected true or false, found the string "yes" | write true
    policies.p.bidirectional: expected true or false, found the string "false" | write false without quotes
    policies.p.action: null is not allowed | leave "action" out instead
"protocol": "all"
"protocol": "ALL"
"protocol": "NetBird-SSH", "ports": [22]
"protocol": "tpc"
    policies.p.protocol: "tpc" is not a valid protocol: it is one of "all", "tcp", "udp", "icmp", "netbird-ssh" | did you mean "tcp"?
"protocol": "sctp"
    policies.p.protocol: "sctp" is not a valid protocol: it is one of "all", "tcp", "udp", "icmp", "netbird-ssh"
"protocol": "Any"
    policies.p.protocol: "Any" is not a valid protocol: it is one of "all", "tcp", "udp", "icmp", "netbird-ssh" | all of them are "all"
"protocol": "ssh"
    policies.p.protocol: "ssh" is not a valid protocol: it is one of "all", "tcp", "udp", "icmp", "netbird-ssh" | write "tcp" with "ports": [22]; "netbird-ssh" is NetBird's own server of SSH
"protocol": "https"
    policies.p.protocol: "https" is not a valid protocol: it is one of "all", "tcp", "udp", "icmp", "netbird-ssh" | write "tcp" with its "ports"
"action": "allow"
    policies.p.action: "allow" is not a valid action: it is one of "accept", "drop" | write "accept"
"action": "Deny"
    policies.p.action: "Deny" is not a valid action: it is one of "accept", "drop" | write "drop"
"posture_checks": []
    policies.p.posture_checks: unknown field "posture_checks" | write "source_posture_checks": Posture checks that sources have to pass, by their names in the file or in NetBird.
"protocol": "tcp", "ports": "80, 443"
    policies.p.ports: expected a list of ports, found the string "80, 443" | write ["80", "443"]
"protocol": 6
    policies.p.protocol: expected one of "all", "tcp", "udp", "icmp", "netbird-ssh", found the number 6
"action": "Drop"
    policies.p.action: "Drop" is not a valid action: it is one of "accept", "drop" | did you mean "drop"?
"action": "deny"
    policies.p.action: "deny" is not a valid action: it is one of "accept", "drop" | write "drop"
"protocol": "tcp", "ports": []
"protocol": "icmp", "ports": []
"protocol": "icmp", "ports": ["80"]
    policies.p.ports: the protocol icmp has no ports | ports need "protocol": "tcp" or "udp"
"protocol": "all", "ports": [443]
    policies.p.ports: the protocol all has no ports | ports need "protocol": "tcp" or "udp"
"ports": []
"ports": [443]
    policies.p.ports: ports need a protocol, and this policy names none | add "protocol": "tcp" or "udp"
"protocol": "tpc", "ports": [443]
    policies.p.protocol: "tpc" is not a valid protocol: it is one of "all", "tcp", "udp", "icmp", "netbird-ssh" | did you mean "tcp"?
"protcol": "tcp"
    policies.p.protcol: unknown field "protcol" | did you mean "protocol"?
"rules": []
    policies.p.rules: one policy is one rule: NetBird drops all but the first | write the rule's fields here, and a policy of its own for every other rule
"name": "p", "port_ranges": [], "source_posture_checks": [], "sourceResource": {}
    policies.p.name: its name is the name of its entry | to rename it, rename the entry and add "renamed_from" with the old name
    policies.p.port_ranges: unknown field "port_ranges" | write "ports": Ports of tcp, udp and netbird-ssh: numbers, or strings of a port or a range such as "8000-8100", 1 to 65535. Empty = all ports.
    policies.p.sourceResource: unknown field "sourceResource" | write "source_resource": The one peer that may connect, as { "peer": NAME }, named as in a group's peers.
"destinationResource": {}, "authorized_groups": {}
    policies.p.destinationResource: unknown field "destinationResource" | write "destination_resource": What they reach: a network resource by its name, or one peer as { "peer": NAME }.
    policies.p.authorized_groups: users who may log in are of the protocol netbird-ssh alone | add "protocol": "netbird-ssh", or take them out

"#]],
    );
}

#[test]
fn both_sides_are_needed() {
    let rows = [
        "{}",
        r#"{"sources": [], "destinations": ["b"]}"#,
        r#"{"sources": ["a"], "destinations": []}"#,
        r#"{"sources": "a", "destinations": null}"#,
        r#"{"sources": ["a", "a"], "destinations": ["All"]}"#,
        r#"{"sources": ["a", 1, null, [], ""], "destinations": ["b "]}"#,
        "[]",
        "null",
    ];
    assert_table(
        r#"{"groups": {"a": {}, "b": {}}, "policies": {"p": ROW}}"#,
        &rows,
        str![[r#"
{}
    policies.p: a policy needs "sources" or "source_resource"
    policies.p: a policy needs "destinations" or "destination_resource"
{"sources": [], "destinations": ["b"]}
    policies.p.sources: "sources" cannot be empty | a rule with an empty side matches nothing; "enabled": false switches a policy off
{"sources": ["a"], "destinations": []}
    policies.p.destinations: "destinations" cannot be empty | a rule with an empty side matches nothing; "enabled": false switches a policy off
{"sources": "a", "destinations": null}
    policies.p.sources: expected a list of group names, found the string "a" | write ["a"]
    policies.p.destinations: null is not allowed | leave "destinations" out instead
{"sources": ["a", "a"], "destinations": ["All"]}
    note: policies.p.sources[1]: "a" is in the list twice
{"sources": ["a", 1, null, [], ""], "destinations": ["b "]}
    policies.p.sources[1]: expected a name, found the number 1
    policies.p.sources[2]: null is not allowed: expected a name
    policies.p.sources[3]: expected a name, found a list
    policies.p.sources[4]: a name cannot be empty
    note: policies.p.destinations[0]: the name "b " ends with a space
    note: policies.p.destinations[0]: group "b " is not declared in this file: an apply fails if NetBird does not have it | did you mean "b"?
[]
    policies.p: expected a policy { … }, found a list | write its fields in braces: description, enabled, sources, source_resource, destinations, destination_resource, bidirectional, protocol, ports, action, source_posture_checks, authorized_groups, renamed_from
null
    policies.p: null is not allowed: expected a policy { … } | write its fields in braces: description, enabled, sources, source_resource, destinations, destination_resource, bidirectional, protocol, ports, action, source_posture_checks, authorized_groups, renamed_from

"#]],
    );
}

fn read(fields: &str) -> Policy {
    let valid = check(&FILE.replace("ROW", fields)).expect("a valid file");
    match valid.desired.resource(&Address::new(Kind::Policy, "p")) {
        [Resource::Policy(policy)] => policy.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_policy_leaves_out_is_not_ours() {
    let set = |name: &str| BTreeSet::from([name.to_owned()]);
    let bare = Policy {
        sources: set("a"),
        destinations: set("b"),
        ..Policy::default()
    };
    assert_eq!(read(r#""renamed_from": "q""#), bare);
    let all = r#""description": "d", "enabled": true, "bidirectional": false, "protocol": "Udp", "ports": ["53"], "action": "drop""#;
    let full = Policy {
        description: Some("d".into()),
        enabled: Some(true),
        action: Some(Action::Drop),
        bidirectional: Some(false),
        protocol: Some(Protocol::Udp),
        ports: Some(BTreeSet::from([PortRange { start: 53, end: 53 }])),
        ..bare
    };
    assert_eq!(read(all), full);
}

#[test]
fn protocols_without_ports_want_none() {
    for protocol in ["all", "icmp"] {
        assert_eq!(
            read(&format!(r#""protocol": "{protocol}""#)).ports,
            Some(BTreeSet::new()),
            "{protocol}"
        );
    }
    for protocol in ["tcp", "udp", "netbird-ssh"] {
        assert_eq!(
            read(&format!(r#""protocol": "{protocol}""#)).ports,
            None,
            "{protocol}"
        );
        assert_eq!(
            read(&format!(r#""protocol": "{protocol}", "ports": []"#)).ports,
            Some(BTreeSet::new())
        );
    }
}

#[test]
fn what_stands_in_the_place_of_groups() {
    let rows = [
        r#""sources": ["a"], "destination_resource": "printer""#,
        r#""sources": ["a"], "destination_resource": {"peer": "gw"}"#,
        r#""source_resource": {"peer": "gw"}, "destinations": ["b"]"#,
        r#""source_resource": "printer", "destinations": ["b"]"#,
        r#""sources": ["a"], "source_resource": {"peer": "gw"}, "destinations": ["b"]"#,
        r#""sources": ["a"], "destinations": ["b"], "destination_resource": "printer""#,
        r#""sources": ["a"]"#,
        r#""sources": ["a"], "destination_resource": {"id": "x", "type": "host"}"#,
        r#""sources": ["a"], "destination_resource": {"peer": 1}"#,
        r#""sources": ["a"], "destination_resource": ["printer"]"#,
        r#""sources": ["a"], "destination_resource": """#,
        r#""sources": ["a"], "destinations": ["b"], "source_posture_checks": ["linux", 1]"#,
    ];
    assert_table(
        r#"{"groups": {"a": {}, "b": {}}, "policies": {"p": {ROW}}}"#,
        &rows,
        str![[r#"
"sources": ["a"], "destination_resource": "printer"
    note: policies.p.destination_resource: network resource "printer" is not declared in this file: an apply fails if NetBird does not have it
"sources": ["a"], "destination_resource": {"peer": "gw"}
"source_resource": {"peer": "gw"}, "destinations": ["b"]
"source_resource": "printer", "destinations": ["b"]
    policies.p.source_resource: a network resource as a source does nothing: it never opens a connection | for a peer write { "peer": "NAME" }; list what may reach a resource in "sources"
"sources": ["a"], "source_resource": {"peer": "gw"}, "destinations": ["b"]
    policies.p.source_resource: a policy has "sources" or "source_resource", not both | make two policies
"sources": ["a"], "destinations": ["b"], "destination_resource": "printer"
    policies.p.destination_resource: a policy has "destinations" or "destination_resource", not both | make two policies
    note: policies.p.destination_resource: network resource "printer" is not declared in this file: an apply fails if NetBird does not have it
"sources": ["a"]
    policies.p: a policy needs "destinations" or "destination_resource"
"sources": ["a"], "destination_resource": {"id": "x", "type": "host"}
    policies.p.destination_resource: expected a name, found an id of NetBird | write the name of the resource: "destination_resource": "NAME"
"sources": ["a"], "destination_resource": {"peer": 1}
    policies.p.destination_resource.peer: expected the name of a setup key or of a peer, found the number 1
"sources": ["a"], "destination_resource": ["printer"]
    policies.p.destination_resource: expected the name of a network resource, or { "peer": … }, found a list
"sources": ["a"], "destination_resource": ""
    policies.p.destination_resource: a name cannot be empty
"sources": ["a"], "destinations": ["b"], "source_posture_checks": ["linux", 1]
    note: policies.p.source_posture_checks[0]: posture check "linux" is not declared in this file: an apply fails if NetBird does not have it
    policies.p.source_posture_checks[1]: expected a name, found the number 1

"#]],
    );
}

#[test]
fn who_may_log_in_by_ssh() {
    let rows = [
        r#""protocol": "netbird-ssh", "ports": [22]"#,
        r#""protocol": "netbird-ssh""#,
        r#""protocol": "netbird-ssh", "action": "drop""#,
        r#""protocol": "netbird-ssh", "ports": [22], "authorized_groups": {"a": ["root"], "ops": []}"#,
        r#""protocol": "netbird-ssh", "ports": [22], "authorized_groups": {"b": ["root"]}"#,
        r#""protocol": "netbird-ssh", "ports": [22], "authorized_groups": {}"#,
        r#""protocol": "netbird-ssh", "ports": [22], "authorized_groups": ["a"]"#,
        r#""protocol": "netbird-ssh", "ports": [22], "authorized_groups": {"a": "root"}"#,
        r#""protocol": "tcp", "authorized_groups": {"a": ["root"]}"#,
        r#""authorized_groups": {"a": ["root"]}"#,
    ];
    assert_table(
        FILE,
        &rows,
        str![[r#"
"protocol": "netbird-ssh", "ports": [22]
"protocol": "netbird-ssh"
    note: policies.p.protocol: netbird-ssh without ports opens every TCP port of the destination, not SSH alone | write "ports": [22]
"protocol": "netbird-ssh", "action": "drop"
"protocol": "netbird-ssh", "ports": [22], "authorized_groups": {"a": ["root"], "ops": []}
    note: policies.p.authorized_groups.ops: users of "ops" may log in as any local user, root too | name the local users
    note: policies.p.authorized_groups.ops: group "ops" is not declared in this file: an apply fails if NetBird does not have it
"protocol": "netbird-ssh", "ports": [22], "authorized_groups": {"b": ["root"]}
    policies.p.authorized_groups: "authorized_groups" says nothing of the source group "a": NetBird refuses that | add "a": [ … ] with the local users that its users may log in as
"protocol": "netbird-ssh", "ports": [22], "authorized_groups": {}
    policies.p.authorized_groups: "authorized_groups" says nothing of the source group "a": NetBird refuses that | add "a": [ … ] with the local users that its users may log in as
"protocol": "netbird-ssh", "ports": [22], "authorized_groups": ["a"]
    policies.p.authorized_groups: expected groups of users with local users { … }, found a list | write { "GROUP": ["root"] }
"protocol": "netbird-ssh", "ports": [22], "authorized_groups": {"a": "root"}
    policies.p.authorized_groups.a: expected a list of local users, found the string "root" | write ["root"]
"protocol": "tcp", "authorized_groups": {"a": ["root"]}
    policies.p.authorized_groups: users who may log in are of the protocol netbird-ssh alone | add "protocol": "netbird-ssh", or take them out
"authorized_groups": {"a": ["root"]}
    policies.p.authorized_groups: users who may log in are of the protocol netbird-ssh alone | add "protocol": "netbird-ssh", or take them out

"#]],
    );
}
