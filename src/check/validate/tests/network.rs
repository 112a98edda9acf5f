//! Networks, what stands in them, and where.

use snapbox::str;

use crate::check::validate::testing::assert_table;

#[test]
fn resources() {
    let rows = [
        r#""a": {"address": "10.20.0.9"}"#,
        r#""a": {"address": "10.20.0.300"}"#,
        r#""a": {"address": "10.20.1.1/16"}"#,
        r#""a": {"address": "fd00::1/64"}"#,
        r#""a": {"address": "printer"}"#,
        r#""a": {"address": "x_y.example"}"#,
        r#""a": {"address": ""}"#,
        r#""a": {"address": "https://intranet.example/"}"#,
        r#""a": {"address": "*.corp.example", "groups": ["All"], "enabled": null}"#,
        r#""a": {"ip": "10.20.0.9"}"#,
        r#""a": {"address": "team_wiki.hq.example"}, "b": {"address": "nas"}"#,
        r#""a": {"address": "*.com"}"#,
        r#""a": {"address": "10.20.0.9", "network": "n"}"#,
        r#""a": {}"#,
        r#""a": "10.20.0.9""#,
        r#""": {"address": "10.20.0.9"}"#,
        r#""a": {"address": "10.20.0.9"}, "b": {"address": "10.20.0.8", "renamed_from": "a"}"#,
        r#""b": {"address": "10.20.0.8", "renamed_from": "elsewhere"}"#,
        r#""elsewhere": {"address": "10.20.0.9"}"#,
        r#""Elsewhere": {"address": "10.20.0.9"}"#,
    ];
    assert_table(
        r#"{"networks": {"m": {"resources": {"elsewhere": {"address": "10.0.0.1"}}}, "n": {"resources": {ROW}}}}"#,
        &rows,
        str![[r#"
"a": {"address": "10.20.0.9"}
"a": {"address": "10.20.0.300"}
    networks.n.resources.a.address: "10.20.0.300" is not a domain: it looks like an address
"a": {"address": "10.20.1.1/16"}
    networks.n.resources.a.address: "10.20.1.1/16" has host bits: it is inside 10.20.0.0/16 | write "10.20.0.0/16"
"a": {"address": "fd00::1/64"}
    networks.n.resources.a.address: "fd00::1/64" has host bits: it is inside fd00::/64 | write "fd00::/64"
"a": {"address": "printer"}
"a": {"address": "x_y.example"}
"a": {"address": ""}
    networks.n.resources.a.address: "" is not a domain: it is empty
"a": {"address": "https://intranet.example/"}
    networks.n.resources.a.address: "https://intranet.example/" is not a domain: it holds ":" | did you mean "intranet.example"?
"a": {"address": "*.corp.example", "groups": ["All"], "enabled": null}
    networks.n.resources.a.enabled: null is not allowed | leave "enabled" out instead
"a": {"ip": "10.20.0.9"}
    networks.n.resources.a.ip: unknown field "ip" | write "address": An IPv4 or IPv6 address or network, or a domain; *. may begin it.
"a": {"address": "team_wiki.hq.example"}, "b": {"address": "nas"}
"a": {"address": "*.com"}
    networks.n.resources.a.address: "*.com" is not a domain: it would be nearly all there are
"a": {"address": "10.20.0.9", "network": "n"}
    networks.n.resources.a.network: unknown field "network" | a network resource has description, address, groups, enabled, renamed_from
"a": {}
    networks.n.resources.a: a network resource needs "address"
"a": "10.20.0.9"
    networks.n.resources.a: expected a network resource { … }, found the string "10.20.0.9" | write its fields in braces: description, address, groups, enabled, renamed_from
"": {"address": "10.20.0.9"}
    networks.n.resources[""]: a name cannot be empty
"a": {"address": "10.20.0.9"}, "b": {"address": "10.20.0.8", "renamed_from": "a"}
    networks.n.resources.b.renamed_from: "a" is declared as well: it was not renamed | where another entry takes the old name, merge it in two: first this rename, then the other entry
"b": {"address": "10.20.0.8", "renamed_from": "elsewhere"}
    networks.n.resources.b.renamed_from: "elsewhere" is declared as well: it was not renamed | where another entry takes the old name, merge it in two: first this rename, then the other entry
"elsewhere": {"address": "10.20.0.9"}
    networks.n.resources.elsewhere: "elsewhere" is in network "m" too, in line 1: the names of network resources are unique in the account | rename one of them
"Elsewhere": {"address": "10.20.0.9"}
    note: networks.n.resources.Elsewhere: the name "Elsewhere" differs only by case from "elsewhere" in line 1

"#]],
    );
}

#[test]
fn routers() {
    let rows = [
        r#"{"peer_groups": ["g"]}, {"peer": "gw"}"#,
        r#"{"peer_groups": ["g"], "peer": "gw"}"#,
        r#"{}"#,
        r#"{"peer_groups": []}"#,
        r#"{"peer_groups": ["g"], "metric": 0}"#,
        r#"{"peer_groups": ["g"]}, {"peer_groups": ["g"], "metric": 5}"#,
        r#"{"groups": ["g"]}"#,
        r#"{"peer": "gw", "name": "x"}"#,
        r#""gw""#,
    ];
    assert_table(
        r#"{"groups": {"g": {}}, "networks": {"n": {"routers": [ROW]}}}"#,
        &rows,
        str![[r#"
{"peer_groups": ["g"]}, {"peer": "gw"}
{"peer_groups": ["g"], "peer": "gw"}
    networks.n.routers[0].peer: a router has "peer_groups" or "peer", not both | make two routers
{}
    networks.n.routers[0]: a router needs "peer_groups" or "peer"
{"peer_groups": []}
    networks.n.routers[0].peer_groups: "peer_groups" cannot be empty | name a group whose peers do the routing
{"peer_groups": ["g"], "metric": 0}
    networks.n.routers[0].metric: 0 is too small: expected a whole number from 1 to 9999
{"peer_groups": ["g"]}, {"peer_groups": ["g"], "metric": 5}
    networks.n.routers[1]: the same router is in line 1 already
{"groups": ["g"]}
    networks.n.routers[0].groups: unknown field "groups" | write "peer_groups": Groups whose peers do the routing, at least one. Exactly one of peer_groups and peer.
{"peer": "gw", "name": "x"}
    networks.n.routers[0].name: a router has neither name nor description
"gw"
    networks.n.routers[0]: expected a router { … }, found the string "gw" | write its fields in braces: peer_groups, peer, metric, masquerade, enabled

"#]],
    );
}

#[test]
fn networks() {
    let rows = [
        r#"{}"#,
        r#"{"resources": null}"#,
        r#"{"resources": []}"#,
        r#"{"routers": {}}"#,
        r#"{"address": "10.0.0.0/8"}"#,
        r#"{"name": "x"}"#,
        r#"{"resource": {}}"#,
    ];
    assert_table(
        r#"{"networks": {"n": ROW}}"#,
        &rows,
        str![[r#"
{}
{"resources": null}
    networks.n.resources: null is not allowed | leave "resources" out to leave them alone; {} says that there shall be none
{"resources": []}
    networks.n.resources: expected an object of names { … }, found a list | write each entry under its name: { "NAME": { … } }
{"routers": {}}
    networks.n.routers: expected a list of network routers, found an object | write them in a list: [{ … }]
{"address": "10.0.0.0/8"}
    networks.n.address: a network has no address: its resources have | write "resources": { "NAME": { "address": "10.20.0.0/16" } }
{"name": "x"}
    networks.n.name: its name is the name of its entry | to rename it, rename the entry and add "renamed_from" with the old name
{"resource": {}}
    networks.n.resource: unknown field "resource" | did you mean "resources"?

"#]],
    );
}
