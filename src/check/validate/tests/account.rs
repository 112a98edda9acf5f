//! Sections `account.settings` and `peers`, entry by entry.

use snapbox::str;

use crate::check::validate::testing::assert_table;

const SETTINGS: &str = r#"{"groups": {"g": {}}, "account": {"settings": {ROW}}}"#;
const PEER: &str = r#"{"groups": {"g": {}}, "peers": {"gw": {ROW}}}"#;
const TOP: &str = r#"{"groups": {"g": {}}, ROW}"#;

#[test]
fn settings() {
    let rows = [
        "",
        r#""peer_login_expiration": 3600, "peer_inactivity_expiration": 1"#,
        r#""peer_login_expiration": 15552000, "peer_inactivity_expiration": 9223372036"#,
        r#""peer_login_expiration": 3599"#,
        r#""peer_login_expiration": 15552001"#,
        r#""peer_inactivity_expiration": 0"#,
        r#""peer_inactivity_expiration": 9223372037"#,
        r#""peer_login_expiration": "1h""#,
        r#""peer_login_expiration_enabled": "yes""#,
        r#""jwt_allow_groups": ["a", "", 1]"#,
        r#""jwt_allow_groups": ["o\u200bps", "o\ufffcps", "o\ud80d\udc30ps"], "jwt_groups_claim_name": "gr\u200doups""#,
        r#""dns_domain": """#,
        r#""dns_domain": "Corp.Example""#,
        r#""dns_domain": "corp.example.""#,
        r#""dns_domain": "b\u00fcro.example""#,
        r#""network_range": "10.0.0.0/8", "network_range_v6": "FD00::/48""#,
        r#""network_range": "10.1.2.3/16""#,
        r#""network_range": "10.1.2.0/29""#,
        r#""network_range": "fd00::/64""#,
        r#""network_range": """#,
        r#""network_range_v6": "fd00::/47""#,
        r#""network_range_v6": "fd00::/121""#,
        r#""network_range_v6": "10.0.0.0/16""#,
        r#""ipv6_enabled_groups": [], "peer_expose_groups": ["h"]"#,
        r#""peer_expose_enabled": true, "peer_expose_groups": []"#,
        r#""peer_expose_enabled": true"#,
        r#""expose_groups": []"#,
        r#""login_expiration": 3600"#,
        r#""colour": 1"#,
        r#""auto_update_version": "latest""#,
        r#""auto_update_version": "v0.77.1""#,
        r#""auto_update_version": "newest""#,
        r#""auto_update_version": "0.77.""#,
        r#""embedded_idp_enabled": true"#,
        r#""local_auth_disabled": true"#,
        r#""agent_network_only": true"#,
        r#""network_traffic_logs_groups": ["g"]"#,
        r#""extra": {"peer_approval_enabled": true}"#,
        r#""onboarding": {}"#,
        r#""peer_login_expiraton": 3600"#,
        r#""peer_login_expiration": null"#,
    ];
    assert_table(
        SETTINGS,
        &rows,
        str![[r#"

"peer_login_expiration": 3600, "peer_inactivity_expiration": 1
"peer_login_expiration": 15552000, "peer_inactivity_expiration": 9223372036
"peer_login_expiration": 3599
    account.settings.peer_login_expiration: 3599 is too small: expected a whole number from 3600 to 15552000
"peer_login_expiration": 15552001
    account.settings.peer_login_expiration: 15552001 is too large: expected a whole number from 3600 to 15552000
"peer_inactivity_expiration": 0
    account.settings.peer_inactivity_expiration: 0 is too small: expected a whole number from 1 to 9223372036
"peer_inactivity_expiration": 9223372037
    account.settings.peer_inactivity_expiration: 9223372037 is too large: expected a whole number from 1 to 9223372036
"peer_login_expiration": "1h"
    account.settings.peer_login_expiration: expected a whole number of seconds, found the string "1h" | write 3600
"peer_login_expiration_enabled": "yes"
    account.settings.peer_login_expiration_enabled: expected true or false, found the string "yes" | write true
"jwt_allow_groups": ["a", "", 1]
    account.settings.jwt_allow_groups[1]: a name cannot be empty
    account.settings.jwt_allow_groups[2]: expected a name, found the number 1
"jwt_allow_groups": ["o\u200bps", "o\ufffcps", "o\ud80d\udc30ps"], "jwt_groups_claim_name": "gr\u200doups"
    account.settings.jwt_allow_groups[0]: the name "o\u{200b}ps" contains a character that is invisible, or only looks like a space | did you mean "ops"?
    account.settings.jwt_allow_groups[1]: the name "o\u{fffc}ps" contains a character that is invisible, or only looks like a space | did you mean "ops"?
    account.settings.jwt_allow_groups[2]: the name "o\u{13430}ps" contains a character that is invisible, or only looks like a space | did you mean "ops"?
    account.settings.jwt_groups_claim_name: the name "gr\u{200d}oups" contains a character that is invisible, or only looks like a space | did you mean "groups"?
"dns_domain": ""
"dns_domain": "Corp.Example"
"dns_domain": "corp.example."
    account.settings.dns_domain: the domain "corp.example." ends with a dot | did you mean "corp.example"?
"dns_domain": "b\u00fcro.example"
    account.settings.dns_domain: the domain "büro.example" holds letters beyond ASCII | write it in its ASCII form, "xn--bro-hoa.example"
"network_range": "10.0.0.0/8", "network_range_v6": "FD00::/48"
"network_range": "10.1.2.3/16"
    account.settings.network_range: "10.1.2.3/16" has host bits: it is inside 10.1.0.0/16 | write "10.1.0.0/16"
"network_range": "10.1.2.0/29"
    account.settings.network_range: "10.1.2.0/29" is too small: NetBird accepts /0 to /28 here
"network_range": "fd00::/64"
    account.settings.network_range: "fd00::/64" is not an IPv4 network
"network_range": ""
    account.settings.network_range: "" is not a network: it has an address and a prefix, such as 192.168.1.0/24
"network_range_v6": "fd00::/47"
    account.settings.network_range_v6: "fd00::/47" is too large: NetBird accepts /48 to /120 here
"network_range_v6": "fd00::/121"
    account.settings.network_range_v6: "fd00::/121" is too small: NetBird accepts /48 to /120 here
"network_range_v6": "10.0.0.0/16"
    account.settings.network_range_v6: "10.0.0.0/16" is not an IPv6 network
"ipv6_enabled_groups": [], "peer_expose_groups": ["h"]
    note: account.settings.peer_expose_groups[0]: group "h" is not declared in this file: an apply fails if NetBird does not have it
"peer_expose_enabled": true, "peer_expose_groups": []
    account.settings.peer_expose_groups: machines cannot expose services without a group of those that may: NetBird refuses it | name one, or write "peer_expose_enabled": false
"peer_expose_enabled": true
"expose_groups": []
    account.settings.expose_groups: unknown field "expose_groups" | did you mean "peer_expose_groups"?
"login_expiration": 3600
    account.settings.login_expiration: unknown field "login_expiration" | did you mean "peer_login_expiration"?
"colour": 1
    account.settings.colour: unknown field "colour" | the account settings have 23 fields: docs/netbird-json.md lists them
"auto_update_version": "latest"
"auto_update_version": "v0.77.1"
"auto_update_version": "newest"
    account.settings.auto_update_version: "newest" is not a version | write "latest", "disabled", or one such as "0.77.1"
"auto_update_version": "0.77."
    account.settings.auto_update_version: "0.77." is not a version | write "latest", "disabled", or one such as "0.77.1"
"embedded_idp_enabled": true
    account.settings.embedded_idp_enabled: whether NetBird's own identity provider runs is set where the server is started: NetBird answers 200 to it and ignores it | leave it out: what NetBird has stays as it is
"local_auth_disabled": true
    account.settings.local_auth_disabled: a self-hosted NetBird answers 200 to it and ignores it | leave it out: what NetBird has stays as it is
"agent_network_only": true
    account.settings.agent_network_only: a NetBird without agent networks refuses it | leave it out: what NetBird has stays as it is
"network_traffic_logs_groups": ["g"]
    account.settings.network_traffic_logs_groups: traffic is logged by NetBird's cloud: a self-hosted one answers 200 to it and ignores it | leave it out: what NetBird has stays as it is
"extra": {"peer_approval_enabled": true}
    account.settings.extra: fields of the API's "extra" are written beside the other settings here | write "peer_approval_enabled" and "user_approval_required" without "extra" around them
"onboarding": {}
    account.settings.onboarding: the dashboard's first steps are not managed | leave it out: what NetBird has stays as it is
"peer_login_expiraton": 3600
    account.settings.peer_login_expiraton: unknown field "peer_login_expiraton" | did you mean "peer_login_expiration"?
"peer_login_expiration": null
    account.settings.peer_login_expiration: null is not allowed | leave "peer_login_expiration" out instead

"#]],
    );
}

#[test]
fn peers() {
    let rows = [
        "",
        r#""ssh_enabled": true, "login_expiration_enabled": false, "inactivity_expiration_enabled": false"#,
        r#""ssh_enabled": "true""#,
        r#""name": "x""#,
        r#""groups": ["g"]"#,
        r#""ip": "10.0.0.1""#,
        r#""approval_required": false"#,
        r#""ssh": true"#,
        r#""ssh_enabled": null"#,
    ];
    assert_table(
        PEER,
        &rows,
        str![[r#"

"ssh_enabled": true, "login_expiration_enabled": false, "inactivity_expiration_enabled": false
"ssh_enabled": "true"
    peers.gw.ssh_enabled: expected true or false, found the string "true" | write true without quotes
"name": "x"
    peers.gw.name: a machine is named by its setup key, or by whoever enrolls it | to rename it, rename the key's entry, or the peer in NetBird
"groups": ["g"]
    peers.gw.groups: members belong in the group | name the peer in the group's "peers"
"ip": "10.0.0.1"
    peers.gw.ip: NetBird gives a machine its address and its name | leave it out
"approval_required": false
    peers.gw.approval_required: a self-hosted NetBird answers 200 to it and ignores it | leave it out
"ssh": true
    peers.gw.ssh: unknown field "ssh" | write "ssh_enabled": Whether NetBird's SSH server runs on it. With it, every policy of protocol all to the peer lets all users log in.
"ssh_enabled": null
    peers.gw.ssh_enabled: null is not allowed | leave "ssh_enabled" out instead

"#]],
    );
}

#[test]
fn roles_of_users() {
    let rows = ["admin", "owner", "billing_admin", "root", "admn"];
    assert_table(
        r#"{"users": {"mira@example.com": {"role": "ROW"}}}"#,
        &rows,
        str![[r#"
admin
owner
    users["mira@example.com"].role: no file makes an owner: whoever owns the account hands it over in NetBird | write one of "user", "auditor", "network_admin", "admin"
billing_admin
    users["mira@example.com"].role: a self-hosted NetBird takes billing_admin and then refuses such a user everything | write one of "user", "auditor", "network_admin", "admin"
root
    users["mira@example.com"].role: "root" is not a valid role: it is one of "user", "auditor", "network_admin", "admin"
admn
    users["mira@example.com"].role: "admn" is not a valid role: it is one of "user", "auditor", "network_admin", "admin" | did you mean "admin"?

"#]],
    );
}

#[test]
fn where_they_stand() {
    let rows = [
        r#""account": {}"#,
        r#""account": {"settings": []}"#,
        r#""account": {"id": "x", "settings": {}}"#,
        r#""settings": {}"#,
        r#""peer": {}"#,
        r#""peers": []"#,
        r#""peers": {"": {}}"#,
        r#""peers": {"gw": true}"#,
        r#""peers": null"#,
        r#""account": {"settings": {"dns_domain": "Corp.example"}}, "dns": {"zones": {"z": {"domain": "corp.example", "distribution_groups": ["g"]}}}"#,
        r#""setup_keys": {"gw": {"type": "one-off", "expires_in": 3600}}, "peers": {"gw": {"login_expiration_enabled": true, "inactivity_expiration_enabled": false}}"#,
    ];
    assert_table(
        TOP,
        &rows,
        str![[r#"
"account": {}
    note: account: manages nothing without "settings"
"account": {"settings": []}
    account.settings: expected the account settings { … }, found a list | write {}, or its fields in braces: peer_login_expiration_enabled, peer_login_expiration, peer_inactivity_expiration_enabled, peer_inactivity_expiration, regular_users_view_blocked, groups_propagation_enabled, jwt_groups_enabled, jwt_groups_claim_name, jwt_allow_groups, routing_peer_dns_resolution_enabled, dns_domain, network_range, network_range_v6, ipv6_enabled_groups, peer_expose_enabled, peer_expose_groups, lazy_connection_enabled, auto_update_version, auto_update_always, metrics_push_enabled, local_mfa_enabled, peer_approval_enabled, user_approval_required
"account": {"id": "x", "settings": {}}
    account.id: this is not managed here | leave it out: what NetBird has stays as it is
"settings": {}
    settings: the account's settings belong in "account" | write "account": { "settings": { … } }
"peer": {}
    peer: settings of machines belong in "peers" | machines enroll by themselves; for a new one declare a setup key
"peers": []
    peers: expected an object of names { … }, found a list | write each entry under its name: { "NAME": { … } }
"peers": {"": {}}
    peers[""]: a name cannot be empty
"peers": {"gw": true}
    peers.gw: expected a peer { … }, found true | write {}, or its fields in braces: ssh_enabled, login_expiration_enabled, inactivity_expiration_enabled
"peers": null
    peers: null is not allowed | leave "peers" out instead
"account": {"settings": {"dns_domain": "Corp.example"}}, "dns": {"zones": {"z": {"domain": "corp.example", "distribution_groups": ["g"]}}}
    account.settings.dns_domain: the DNS zone "z" in line 1 has that domain: NetBird allows only one of the two | give the machines, or the zone, another one
"setup_keys": {"gw": {"type": "one-off", "expires_in": 3600}}, "peers": {"gw": {"login_expiration_enabled": true, "inactivity_expiration_enabled": false}}
    peers.gw.login_expiration_enabled: it enrolls with a setup key, and only machines of people log in again | leave the field out

"#]],
    );
}
