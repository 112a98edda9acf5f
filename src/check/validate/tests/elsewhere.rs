//! What people write who come from Terraform, the dashboard, the API or another tool.

use snapbox::str;

use crate::check::validate::testing::assert_table;

#[test]
fn fields_of_others() {
    assert_table(
        r#"{"groups": {"g": {}}, ROW}"#,
        &[
            r#""setup_keys": {"k": {"type": "one-off", "expiry_seconds": 3600}}"#,
            r#""setup_keys": {"k": {"type": "one-off", "duration": 3600}}"#,
            r#""policies": {"p": {"sources": ["g"], "destination_resource": {"id": "d2m8a1bl0ubs73a9k3c0", "type": "host"}}}"#,
            r#""policies": {"p": {"sources": ["g"], "destination_resource": {"type": "peer", "id": "x", "peer": "a"}}}"#,
            r#""policies": {"p": {"rule": [{"sources": ["g"]}]}}"#,
            r#""policies": {"p": {"sources": ["g"], "destinations": ["g"], "lifecycle": {"prevent_destroy": true}}}"#,
            r#""policies": {"p": {"sources": ["g"], "destinations": ["g"], "depends_on": ["x"]}}"#,
            r#""account": {"peer_login_expiration": 3600}"#,
            r#""account": {"settings": {"network_traffic_logs_enabled": false, "network_traffic_logs_groups": []}}"#,
            r#""account": {"settings": {"network_traffic_logs_enabled": true}}"#,
        ],
        str![[r#"
"setup_keys": {"k": {"type": "one-off", "expiry_seconds": 3600}}
    setup_keys.k.expiry_seconds: unknown field "expiry_seconds" | write "expires_in": Life time in seconds from creation, such as 604800 for a week; 0 = never expires.
"setup_keys": {"k": {"type": "one-off", "duration": 3600}}
    setup_keys.k.duration: unknown field "duration" | write "expires_in": Life time in seconds from creation, such as 604800 for a week; 0 = never expires.
"policies": {"p": {"sources": ["g"], "destination_resource": {"id": "d2m8a1bl0ubs73a9k3c0", "type": "host"}}}
    policies.p.destination_resource: expected a name, found an id of NetBird | write the name of the resource: "destination_resource": "NAME"
"policies": {"p": {"sources": ["g"], "destination_resource": {"type": "peer", "id": "x", "peer": "a"}}}
    policies.p.destination_resource: expected a name, found an id of NetBird | write "destination_resource": { "peer": "NAME" }
"policies": {"p": {"rule": [{"sources": ["g"]}]}}
    policies.p.rule: one policy is one rule: NetBird drops all but the first | write the rule's fields here, and a policy of its own for every other rule
"policies": {"p": {"sources": ["g"], "destinations": ["g"], "lifecycle": {"prevent_destroy": true}}}
    policies.p.lifecycle: protection against deletion is an option of the command, not a field of the file | write --protect KIND/NAME, or NETBIRD_GITOPS_PROTECT (docs/gates.md)
"policies": {"p": {"sources": ["g"], "destinations": ["g"], "depends_on": ["x"]}}
    policies.p.depends_on: that is Terraform's: entries are made in the order in which they need each other | leave it out
"account": {"peer_login_expiration": 3600}
    account.peer_login_expiration: the account's settings belong in "settings" | write "account": { "settings": { … } }
"account": {"settings": {"network_traffic_logs_enabled": false, "network_traffic_logs_groups": []}}
    note: account.settings.network_traffic_logs_enabled: traffic is logged by NetBird's cloud: a self-hosted one answers 200 to it and ignores it | leave it out: what NetBird has stays as it is
    note: account.settings.network_traffic_logs_groups: traffic is logged by NetBird's cloud: a self-hosted one answers 200 to it and ignores it | leave it out: what NetBird has stays as it is
"account": {"settings": {"network_traffic_logs_enabled": true}}
    account.settings.network_traffic_logs_enabled: traffic is logged by NetBird's cloud: a self-hosted one answers 200 to it and ignores it | leave it out: what NetBird has stays as it is

"#]],
    );
}

#[test]
fn sections_of_others() {
    assert_table(
        r#"{"groups": {"g": {}}, ROW}"#,
        &[
            r#""network_routers": {}"#,
            r#""dns_records": {}"#,
            r#""identity_providers": {}"#,
            r#""reverse_proxy": {}"#,
            r#""reverse_proxy_services": {}"#,
            r#""service_users": {}"#,
            r#""ingress_ports": {}"#,
            r#""scim": {}"#,
            r#""resource": {"netbird_group": {"g": {"name": "g"}}}"#,
            r#""terraform": {}"#,
        ],
        str![[r#"
"network_routers": {}
    network_routers: resources and routers belong in their network | write "networks": { "NAME": { "resources": { … }, "routers": [ … ] } }
"dns_records": {}
    dns_records: DNS records belong in their zone | write "dns": { "zones": { "NAME": { "domain": "…", "records": [ … ] } } }
"identity_providers": {}
    identity_providers: identity providers are not managed here: NetBird uses a changed one only after a restart of the server, so no check tells whether people can still log in | change them in the dashboard; export and drift name them
"reverse_proxy": {}
    reverse_proxy: the reverse proxy is not managed here: a field that is left out publishes a service without authentication | change it in the dashboard; export and drift name its services, and what a service uses is not deleted
"reverse_proxy_services": {}
    reverse_proxy_services: the reverse proxy is not managed here: a field that is left out publishes a service without authentication | change it in the dashboard; export and drift name its services, and what a service uses is not deleted
"service_users": {}
    service_users: service users, tokens and invites are not managed here: NetBird shows their secrets once, and a file cannot keep them | create them in the dashboard
"ingress_ports": {}
    ingress_ports: this is not managed here: NetBird's cloud has it, on a server of your own it has no effect | leave it out: what NetBird has stays as it is
"scim": {}
    scim: this is not managed here: NetBird's cloud has it, on a server of your own it has no effect | leave it out: what NetBird has stays as it is
"resource": {"netbird_group": {"g": {"name": "g"}}}
    resource: this is a file of Terraform | netbird-gitops export writes the account as it is (docs/coming-from.md)
"terraform": {}
    terraform: this is a file of Terraform | netbird-gitops export writes the account as it is (docs/coming-from.md)

"#]],
    );
}

#[test]
fn several_where_one_stands() {
    assert_table(
        r#"{"groups": {"g": {}}, ROW}"#,
        &[
            r#""routes": {"r": {"network": ["10.0.0.0/8", "10.1.0.0/16"], "peer_groups": ["g"], "groups": ["g"]}}"#,
            r#""routes": {"r": {"network": "10.0.0.0/8, 10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"]}}"#,
            r#""routes": {"r": {"network": "10.0.0.1-10.0.0.9", "peer_groups": ["g"], "groups": ["g"]}}"#,
            r#""routes": {"r": {"network": "https://10.0.0.1/", "peer_groups": ["g"], "groups": ["g"]}}"#,
            r#""routes": {"r": {"domains": "a.example, b.example", "peer_groups": ["g"], "groups": ["g"]}}"#,
            r#""routes": {"r": {"domains": ["a.example, b.example"], "peer_groups": ["g"], "groups": ["g"]}}"#,
            r#""networks": {"n": {"resources": {"r": {"address": ["10.0.0.1", "10.0.0.2"]}}}}"#,
            r#""networks": {"n": {"resources": {"r": {"address": "10.0.0.1,10.0.0.2"}}}}"#,
            r#""networks": {"n": {"resources": {"r": {"address": "10.0.0.1-10.0.0.9"}}}}"#,
            r#""networks": {"n": {"resources": {"r": {"address": "10.0.0.1:443"}}}}"#,
            r#""networks": {"n": {"resources": {"r": {"address": "https://nas.example:443/x"}}}}"#,
            r#""networks": {"n": {"resources": {"r": {"address": "https://10.0.0.1/"}}}}"#,
            r#""dns": {"zones": {"z": {"domain": ["a.example"], "distribution_groups": ["g"]}}}"#,
            r#""dns": {"zones": {"z": {"domain": "bücher.example", "distribution_groups": ["g"]}}}"#,
            r#""dns": {"zones": {"z": {"domain": "a.example", "distribution_groups": ["g"], "records": [{"name": "x", "type": "A", "content": ["10.0.0.1", "10.0.0.2"]}]}}}"#,
            r#""dns": {"zones": {"z": {"domain": "a.example", "distribution_groups": ["g"], "records": [{"name": "x", "type": "A", "content": "10.0.0.1,10.0.0.2"}]}}}"#,
            r#""dns": {"zones": {"z": {"domain": "a.example", "distribution_groups": ["g"], "records": [{"name": "x", "type": "A", "content": "10.0.0.1", "ttl": 3e9}]}}}"#,
            r#""dns": {"zones": {"z": {"domain": "a.example", "distribution_groups": ["g"], "records": [{"name": "x", "type": "A", "content": "10.0.0.1", "ttl": 3e3}]}}}"#,
            r#""dns": {"nameserver_groups": {"n": {"nameservers": [{"ip": ["1.1.1.1", "8.8.8.8"]}], "groups": ["g"], "primary": true}}}"#,
            r#""dns": {"nameserver_groups": {"n": {"nameservers": [{"ip": "https://1.1.1.1/dns-query"}], "groups": ["g"], "primary": true}}}"#,
            r#""policies": {"p": {"sources": ["g"], "destinations": ["g"], "protocol": ["tcp", "udp"]}}"#,
            r#""policies": {"p": {"sources": ["g"], "destinations": ["g"], "protocol": "tcp/udp"}}"#,
        ],
        str![[r#"
"routes": {"r": {"network": ["10.0.0.0/8", "10.1.0.0/16"], "peer_groups": ["g"], "groups": ["g"]}}
    routes.r.network: expected a network such as "192.168.1.0/24", found a list | write a list of routes under the name, one a network: [{ … }, { … }]
"routes": {"r": {"network": "10.0.0.0/8, 10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"]}}
    routes.r.network: "10.0.0.0/8, 10.1.0.0/16" is not a network: the prefix of an IPv4 network is 0 to 32 | write a list of routes under the name, one a network: [{ … }, { … }]
"routes": {"r": {"network": "10.0.0.1-10.0.0.9", "peer_groups": ["g"], "groups": ["g"]}}
    routes.r.network: "10.0.0.1-10.0.0.9" is not a network: it has an address and a prefix, such as 192.168.1.0/24 | write a list of routes under the name, one a network: [{ … }, { … }]
"routes": {"r": {"network": "https://10.0.0.1/", "peer_groups": ["g"], "groups": ["g"]}}
    routes.r.network: "https://10.0.0.1/" is not a network: it is a URL | did you mean "10.0.0.1/32"?
"routes": {"r": {"domains": "a.example, b.example", "peer_groups": ["g"], "groups": ["g"]}}
    routes.r.domains: expected a list of domains, found the string "a.example, b.example" | write ["a.example", "b.example"]
"routes": {"r": {"domains": ["a.example, b.example"], "peer_groups": ["g"], "groups": ["g"]}}
    routes.r.domains[0]: "a.example, b.example" is not a domain: it holds "," | write "a.example", "b.example"
"networks": {"n": {"resources": {"r": {"address": ["10.0.0.1", "10.0.0.2"]}}}}
    networks.n.resources.r.address: expected an address, a network or a domain, found a list | declare one network resource for each address; in the same group, one policy can name them all
"networks": {"n": {"resources": {"r": {"address": "10.0.0.1,10.0.0.2"}}}}
    networks.n.resources.r.address: "10.0.0.1,10.0.0.2" is not a domain: it holds "," | declare one network resource for each address; in the same group, one policy can name them all
"networks": {"n": {"resources": {"r": {"address": "10.0.0.1-10.0.0.9"}}}}
    networks.n.resources.r.address: "10.0.0.1-10.0.0.9" is not a domain: it looks like an address | declare one network resource for each address; in the same group, one policy can name them all
"networks": {"n": {"resources": {"r": {"address": "10.0.0.1:443"}}}}
    networks.n.resources.r.address: "10.0.0.1:443" is an address with a port | write "10.0.0.1"; policies have ports
"networks": {"n": {"resources": {"r": {"address": "https://nas.example:443/x"}}}}
    networks.n.resources.r.address: "https://nas.example:443/x" is not a domain: it holds ":" | did you mean "nas.example"?
"networks": {"n": {"resources": {"r": {"address": "https://10.0.0.1/"}}}}
    networks.n.resources.r.address: "https://10.0.0.1/" is not a domain: it holds ":" | did you mean "10.0.0.1"?
"dns": {"zones": {"z": {"domain": ["a.example"], "distribution_groups": ["g"]}}}
    dns.zones.z.domain: expected a domain, found a list | only one domain is possible here: write an entry for each domain
"dns": {"zones": {"z": {"domain": "bücher.example", "distribution_groups": ["g"]}}}
    dns.zones.z.domain: the domain "bücher.example" holds letters beyond ASCII | write it in its ASCII form, "xn--bcher-kva.example"
"dns": {"zones": {"z": {"domain": "a.example", "distribution_groups": ["g"], "records": [{"name": "x", "type": "A", "content": ["10.0.0.1", "10.0.0.2"]}]}}}
    dns.zones.z.records[0].content: expected an address or a name, found a list | write one record for each
"dns": {"zones": {"z": {"domain": "a.example", "distribution_groups": ["g"], "records": [{"name": "x", "type": "A", "content": "10.0.0.1,10.0.0.2"}]}}}
    dns.zones.z.records[0].content: "10.0.0.1,10.0.0.2" is not an IPv4 address | write one record for each
"dns": {"zones": {"z": {"domain": "a.example", "distribution_groups": ["g"], "records": [{"name": "x", "type": "A", "content": "10.0.0.1", "ttl": 3e9}]}}}
    dns.zones.z.records[0].ttl: 3e9 is too large: expected a whole number from 0 to 2147483647
"dns": {"zones": {"z": {"domain": "a.example", "distribution_groups": ["g"], "records": [{"name": "x", "type": "A", "content": "10.0.0.1", "ttl": 3e3}]}}}
    dns.zones.z.records[0].ttl: expected a whole number from 0 to 2147483647, found the number 3e3 | write 3000
"dns": {"nameserver_groups": {"n": {"nameservers": [{"ip": ["1.1.1.1", "8.8.8.8"]}], "groups": ["g"], "primary": true}}}
    dns.nameserver_groups.n.nameservers[0].ip: expected an IP address, found a list | write one nameserver for each
"dns": {"nameserver_groups": {"n": {"nameservers": [{"ip": "https://1.1.1.1/dns-query"}], "groups": ["g"], "primary": true}}}
    dns.nameserver_groups.n.nameservers[0].ip: "https://1.1.1.1/dns-query" is not an IP address | did you mean "1.1.1.1"?
"policies": {"p": {"sources": ["g"], "destinations": ["g"], "protocol": ["tcp", "udp"]}}
    policies.p.protocol: expected one of "all", "tcp", "udp", "icmp", "netbird-ssh", found a list | make two policies, one a protocol
"policies": {"p": {"sources": ["g"], "destinations": ["g"], "protocol": "tcp/udp"}}
    policies.p.protocol: "tcp/udp" is not a valid protocol: it is one of "all", "tcp", "udp", "icmp", "netbird-ssh" | make two policies, one a protocol

"#]],
    );
}

#[test]
fn texts_of_templates_and_comments() {
    assert_table(
        "{ROW}",
        &[
            r#""groups": {"${var.team}": {}}"#,
            r#""groups": {"g": {"peers": ["${each.key}"]}}"#,
            r#""policies": {"p": {"sources": ["${var.x}"], "destinations": ["All"]}}"#,
            r#""groups": {"g": {}}, "//": "ours""#,
            r#""groups": {"g": {"_comment": "ours"}}"#,
            r#""groups": {"g": {"description": "ours"}}"#,
            r#""policies": {"p": {"sources": ["All"], "destinations": ["All"], "comment": "ours"}}"#,
        ],
        str![[r#"
"groups": {"${var.team}": {}}
    groups["${var.team}"]: the name "${var.team}" is to be filled in, and nothing is filled in here | write the name itself, or make the file by what fills it in
"groups": {"g": {"peers": ["${each.key}"]}}
    groups.g.peers[0]: the name "${each.key}" is to be filled in, and nothing is filled in here | write the name itself, or make the file by what fills it in
"policies": {"p": {"sources": ["${var.x}"], "destinations": ["All"]}}
    policies.p.sources[0]: the name "${var.x}" is to be filled in, and nothing is filled in here | write the name itself, or make the file by what fills it in
"groups": {"g": {}}, "//": "ours"
    ["//"]: comments stand in "$comment" | write "$comment": "…"
"groups": {"g": {"_comment": "ours"}}
    groups.g._comment: comments stand in "$comment" | write "$comment": "…"
"groups": {"g": {"description": "ours"}}
    groups.g.description: groups have no description in NetBird | leave it out: the commit says why
"policies": {"p": {"sources": ["All"], "destinations": ["All"], "comment": "ours"}}
    policies.p.comment: comments stand in "$comment" | write "$comment": "…"

"#]],
    );
}

#[test]
fn texts_that_are_no_json() {
    assert_table(
        "ROW",
        &[
            "resource \"netbird_group\" \"g\" {\n  name = \"g\"\n}",
            "# ours\nterraform {\n}",
            "groups:\n  g:\n    peers: []",
            "---\ngroups: {}",
        ],
        str![[r#"
resource "netbird_group" "g" {
  name = "g"
}
    : this is a file of Terraform | netbird-gitops export writes the account as it is (docs/coming-from.md)
# ours
terraform {
}
    : this is a file of Terraform | netbird-gitops export writes the account as it is (docs/coming-from.md)
groups:
  g:
    peers: []
    : this is YAML, not JSON | the same in JSON: yq -o json FILE.yaml > FILE.json
---
groups: {}
    : this is YAML, not JSON | the same in JSON: yq -o json FILE.yaml > FILE.json

"#]],
    );
}
