//! Sections `dns.zones` and `dns.settings`, entry by entry.

use snapbox::str;

use crate::check::validate::testing::{assert_table, check};
use crate::model::{Address, DnsRecord, Kind, Resource};

const ZONE: &str = r#"{"groups": {"g": {}}, "dns": {"zones": {"corp": {ROW}}}}"#;
const RECORD: &str = r#"{"groups": {"g": {}}, "dns": {"zones": {"corp": {"domain": "corp.example", "distribution_groups": ["g"], "records": [ROW]}}}}"#;

#[test]
fn zones() {
    let rows = [
        r#""domain": "corp.example", "distribution_groups": ["g"]"#,
        r#""domain": "corp", "distribution_groups": ["g"], "search_domain": true, "enabled": false, "records": []"#,
        "",
        r#""domain": "", "distribution_groups": []"#,
        r#""domain": "*.corp.example", "distribution_groups": ["g"]"#,
        r#""domain": "corp.example.", "distribution_groups": ["g"]"#,
        r#""domain": "b\u00fcro.example", "distribution_groups": ["g"]"#,
        r#""domain": "10.0.0.1", "distribution_groups": ["g"]"#,
        r#""domain": "https://corp.example/", "distribution_groups": ["g"]"#,
        r#""domain": 1, "groups": ["g"], "name": "x", "enable_search_domain": true"#,
        r#""domain": "corp.example", "distribution_groups": ["g"], "records": {}"#,
        r#""domain": "corp.example", "distribution_groups": ["g"], "records": null"#,
        r#""domain": "corp.example", "distribution_groups": ["h"], "recrods": []"#,
    ];
    assert_table(
        ZONE,
        &rows,
        str![[r#"
"domain": "corp.example", "distribution_groups": ["g"]
"domain": "corp", "distribution_groups": ["g"], "search_domain": true, "enabled": false, "records": []

    dns.zones.corp: a DNS zone needs "domain"
    dns.zones.corp: a DNS zone needs "distribution_groups"
"domain": "", "distribution_groups": []
    dns.zones.corp.domain: "" is not a domain: it is empty
    dns.zones.corp.distribution_groups: "distribution_groups" cannot be empty | name at least one group
"domain": "*.corp.example", "distribution_groups": ["g"]
    dns.zones.corp.domain: the domain "*.corp.example" has a wildcard | did you mean "corp.example"?
"domain": "corp.example.", "distribution_groups": ["g"]
    dns.zones.corp.domain: the domain "corp.example." ends with a dot | did you mean "corp.example"?
"domain": "b\u00fcro.example", "distribution_groups": ["g"]
    dns.zones.corp.domain: the domain "büro.example" holds letters beyond ASCII | write it in its ASCII form, "xn--bro-hoa.example"
"domain": "10.0.0.1", "distribution_groups": ["g"]
    dns.zones.corp.domain: "10.0.0.1" is not a domain: it looks like an address
"domain": "https://corp.example/", "distribution_groups": ["g"]
    dns.zones.corp.domain: "https://corp.example/" is not a domain: it holds ":" | did you mean "corp.example"?
"domain": 1, "groups": ["g"], "name": "x", "enable_search_domain": true
    dns.zones.corp.domain: expected a domain, found the number 1
    dns.zones.corp.groups: unknown field "groups" | write "distribution_groups": Groups whose peers ask the zone, at least one. Left out with domain.
    dns.zones.corp.name: its name is the name of its entry | to rename it, rename the entry and add "renamed_from" with the old name
    dns.zones.corp.enable_search_domain: unknown field "enable_search_domain" | write "search_domain": The domain is a search domain too.
"domain": "corp.example", "distribution_groups": ["g"], "records": {}
    dns.zones.corp.records: expected a list of DNS records, found an object | write them in a list: [{ … }]
"domain": "corp.example", "distribution_groups": ["g"], "records": null
    dns.zones.corp.records: null is not allowed | leave "records" out to leave them alone; [] says that there shall be none
"domain": "corp.example", "distribution_groups": ["h"], "recrods": []
    note: dns.zones.corp.distribution_groups[0]: group "h" is not declared in this file: an apply fails if NetBird does not have it
    dns.zones.corp.recrods: unknown field "recrods" | did you mean "records"?

"#]],
    );
}

#[test]
fn records() {
    let rows = [
        r#"{"name": "db", "type": "A", "content": "10.0.0.1"}"#,
        r#"{"name": "@", "type": "AAAA", "content": "FD00:0::1", "ttl": 0}, {"name": "*.apps", "type": "CNAME", "content": "Db.corp.example."}"#,
        r#"{"name": "db", "type": "A", "content": "10.0.0.1"}, {"name": "db.corp.example.", "type": "A", "content": "10.0.0.2"}"#,
        "{}",
        "1",
        r#"{"name": "", "type": "A", "content": ""}"#,
        r#"{"name": "a b", "type": "a", "content": "10.0.0.1"}"#,
        r#"{"name": "db", "type": "MX", "content": "mail.corp.example", "priority": 10}"#,
        r#"{"name": "db", "type": "A", "content": "10.0.0.300"}"#,
        r#"{"name": "db", "type": "A", "content": "10.0.0.1/32"}"#,
        r#"{"name": "db", "type": "A", "content": "fd00::1"}"#,
        r#"{"name": "db", "type": "A", "content": "other.example"}"#,
        r#"{"name": "db", "type": "AAAA", "content": "10.0.0.1"}"#,
        r#"{"name": "db", "type": "CNAME", "content": "10.0.0.1"}"#,
        r#"{"name": "db", "type": "CNAME", "content": "*.corp.example"}"#,
        r#"{"name": "db", "type": "CNAME", "content": "host"}, {"name": "ok", "type": "CNAME", "content": "host."}"#,
        r#"{"name": "db", "type": "CNAME", "content": "DB.corp.example"}"#,
        r#"{"name": "db.other.example", "type": "A", "content": "10.0.0.1"}"#,
        r#"{"name": "db", "type": "AAAA", "content": "::ffff:10.0.0.1"}"#,
        r#"{"name": "db.other.example.", "type": "A", "content": "10.0.0.1"}"#,
        r#"{"name": "db", "type": "A", "content": "10.0.0.1", "ttl": -1}"#,
        r#"{"name": "db", "type": "A", "content": "10.0.0.1", "ttl": 2147483648}"#,
        r#"{"name": "db", "type": "A", "value": "10.0.0.1", "id": "x"}"#,
        r#"{"name": "db", "type": "A", "content": "10.0.0.1"}, {"name": "DB.corp.example", "type": "A", "content": "10.0.0.1", "ttl": 5}"#,
        r#"{"name": "db", "type": "A", "content": "10.0.0.1"}, {"name": "db", "type": "CNAME", "content": "x.example"}"#,
        r#"{"name": "db", "type": "CNAME", "content": "x.example"}, {"name": "db", "type": "CNAME", "content": "y.example"}"#,
    ];
    assert_table(
        RECORD,
        &rows,
        str![[r#"
{"name": "db", "type": "A", "content": "10.0.0.1"}
{"name": "@", "type": "AAAA", "content": "FD00:0::1", "ttl": 0}, {"name": "*.apps", "type": "CNAME", "content": "Db.corp.example."}
{"name": "db", "type": "A", "content": "10.0.0.1"}, {"name": "db.corp.example.", "type": "A", "content": "10.0.0.2"}
{}
    dns.zones.corp.records[0]: a record needs "name"
    dns.zones.corp.records[0]: a record needs "type"
    dns.zones.corp.records[0]: a record needs "content"
1
    dns.zones.corp.records[0]: expected a record { … }, found the number 1 | write its fields in braces: name, type, content, ttl
{"name": "", "type": "A", "content": ""}
    dns.zones.corp.records[0].name: a record's name cannot be empty | write "@" for the zone itself
    dns.zones.corp.records[0].content: "" is not an IPv4 address
{"name": "a b", "type": "a", "content": "10.0.0.1"}
    dns.zones.corp.records[0].name: "a b.corp.example" is not a domain: it holds " "
    dns.zones.corp.records[0].type: "a" is not a valid type of record: it is one of "A", "AAAA", "CNAME" | did you mean "A"?
{"name": "db", "type": "MX", "content": "mail.corp.example", "priority": 10}
    dns.zones.corp.records[0].type: "MX" is not a valid type of record: it is one of "A", "AAAA", "CNAME"
    dns.zones.corp.records[0].priority: unknown field "priority" | a record has name, type, content, ttl
{"name": "db", "type": "A", "content": "10.0.0.300"}
    dns.zones.corp.records[0].content: "10.0.0.300" is not an IPv4 address
{"name": "db", "type": "A", "content": "10.0.0.1/32"}
    dns.zones.corp.records[0].content: "10.0.0.1/32" is not an IPv4 address | did you mean "10.0.0.1"?
{"name": "db", "type": "A", "content": "fd00::1"}
    dns.zones.corp.records[0].content: "fd00::1" is not an IPv4 address | the type of an IPv6 address is AAAA
{"name": "db", "type": "A", "content": "other.example"}
    dns.zones.corp.records[0].content: "other.example" is not an IPv4 address | the type of a record that points to a name is CNAME, not A
{"name": "db", "type": "AAAA", "content": "10.0.0.1"}
    dns.zones.corp.records[0].content: "10.0.0.1" is not an IPv6 address | the type of an IPv4 address is A
{"name": "db", "type": "CNAME", "content": "10.0.0.1"}
    dns.zones.corp.records[0].content: a CNAME points to a name, and "10.0.0.1" is an address | the type of an IPv4 address is A, that of an IPv6 address AAAA
{"name": "db", "type": "CNAME", "content": "*.corp.example"}
    dns.zones.corp.records[0].content: the domain "*.corp.example" has a wildcard | did you mean "corp.example"?
{"name": "db", "type": "CNAME", "content": "host"}, {"name": "ok", "type": "CNAME", "content": "host."}
    note: dns.zones.corp.records[0].content: "host" is a full name, not that of "host.corp.example" | write "host.corp.example", or "host." if it has no domain
{"name": "db", "type": "CNAME", "content": "DB.corp.example"}
    dns.zones.corp.records[0].content: "db.corp.example" points to itself | write the name that it points to
{"name": "db.other.example", "type": "A", "content": "10.0.0.1"}
    note: dns.zones.corp.records[0].name: "db.other.example" is the name "db.other.example.corp.example" here | a full name ends in "corp.example"
{"name": "db", "type": "AAAA", "content": "::ffff:10.0.0.1"}
    dns.zones.corp.records[0].content: "::ffff:10.0.0.1" is an IPv4 address written as IPv6 | write it as IPv4, with the type A
{"name": "db.other.example.", "type": "A", "content": "10.0.0.1"}
    dns.zones.corp.records[0].name: "db.other.example." is not a name in "corp.example" | a name that ends with a dot is a full one
{"name": "db", "type": "A", "content": "10.0.0.1", "ttl": -1}
    dns.zones.corp.records[0].ttl: -1 is too small: expected a whole number from 0 to 2147483647
{"name": "db", "type": "A", "content": "10.0.0.1", "ttl": 2147483648}
    dns.zones.corp.records[0].ttl: 2147483648 is too large: expected a whole number from 0 to 2147483647
{"name": "db", "type": "A", "value": "10.0.0.1", "id": "x"}
    dns.zones.corp.records[0].value: unknown field "value" | write "content": The IPv4 address of an A record, the IPv6 address of an AAAA record, the full name that a CNAME stands for; or { "peer": NAME }, a machine whose address it is, named as in a group's peers.
    dns.zones.corp.records[0].id: ids of NetBird never stand in this file | leave it out: names are enough
{"name": "db", "type": "A", "content": "10.0.0.1"}, {"name": "DB.corp.example", "type": "A", "content": "10.0.0.1", "ttl": 5}
    dns.zones.corp.records[1]: the same record is in line 1 already
{"name": "db", "type": "A", "content": "10.0.0.1"}, {"name": "db", "type": "CNAME", "content": "x.example"}
    dns.zones.corp.records[1]: "db.corp.example" has a record in line 1 already: a name with a CNAME can have no other record
{"name": "db", "type": "CNAME", "content": "x.example"}, {"name": "db", "type": "CNAME", "content": "y.example"}
    dns.zones.corp.records[1]: "db.corp.example" has a record in line 1 already: a name with a CNAME can have no other record

"#]],
    );
}

#[test]
fn zones_among_each_other() {
    let rows = [
        r#""a": {"domain": "x.example", "distribution_groups": ["g"]}, "b": {"domain": "X.example", "distribution_groups": ["g"]}"#,
        r#""a": {"domain": "x.example", "distribution_groups": ["g"], "records": [{"name": "s", "type": "A", "content": "10.0.0.1"}]},
           "b": {"domain": "s.x.example", "distribution_groups": ["g"], "records": [{"name": "@", "type": "A", "content": "10.0.0.1"}]}"#,
    ];
    assert_table(
        r#"{"groups": {"g": {}}, "dns": {"zones": {ROW}}}"#,
        &rows,
        str![[r#"
"a": {"domain": "x.example", "distribution_groups": ["g"]}, "b": {"domain": "X.example", "distribution_groups": ["g"]}
    dns.zones.b.domain: "x.example" is the domain of the zone "a" in line 1 too | NetBird takes one zone for a domain: put the records into one
"a": {"domain": "x.example", "distribution_groups": ["g"], "records": [{"name": "s", "type": "A", "content": "10.0.0.1"}]},
           "b": {"domain": "s.x.example", "distribution_groups": ["g"], "records": [{"name": "@", "type": "A", "content": "10.0.0.1"}]}

"#]],
    );
}

#[test]
fn settings() {
    let rows = [
        r#""settings": {"disabled_management_groups": ["g"]}"#,
        r#""settings": {}"#,
        r#""settings": []"#,
        r#""settings": null"#,
        r#""settings": {"disabled_management_groups": ["x", 1], "disabled": true}"#,
        r#""records": []"#,
    ];
    assert_table(
        r#"{"groups": {"g": {}}, "dns": {ROW}}"#,
        &rows,
        str![[r#"
"settings": {"disabled_management_groups": ["g"]}
"settings": {}
"settings": []
    dns.settings: expected the DNS settings { … }, found a list | write {}, or its fields in braces: disabled_management_groups
"settings": null
    dns.settings: null is not allowed | leave "settings" out instead
"settings": {"disabled_management_groups": ["x", 1], "disabled": true}
    note: dns.settings.disabled_management_groups[0]: group "x" is not declared in this file: an apply fails if NetBird does not have it
    dns.settings.disabled_management_groups[1]: expected a name, found the number 1
    dns.settings.disabled: unknown field "disabled" | write "disabled_management_groups": Groups whose peers keep their own resolvers: they get no DNS settings from NetBird.
"records": []
    dns.records: records belong in their zone | write "zones": { "NAME": { "domain": "…", "records": [ … ], … } }

"#]],
    );
}

#[test]
fn a_record_has_its_full_name_and_one_spelling() {
    let of = |record: &str| -> Vec<(Address, DnsRecord)> {
        let valid = check(&RECORD.replace("ROW", record)).expect("a valid file");
        let all = valid.desired.resources();
        let records = all.filter_map(|(address, all)| match all {
            [Resource::DnsRecord(record)] => Some((address.clone(), record.clone())),
            _ => None,
        });
        records.collect()
    };
    let zone = Address::new(Kind::DnsZone, "corp");
    for (name, full) in [
        ("db", "db.corp.example"),
        ("DB", "db.corp.example"),
        ("@", "corp.example"),
        ("corp.example", "corp.example"),
        ("db.corp.example", "db.corp.example"),
        ("db.corp.example.", "db.corp.example"),
        ("*.apps", "*.apps.corp.example"),
        ("*", "*.corp.example"),
        ("notcorp.example", "notcorp.example.corp.example"),
    ] {
        let found = of(&format!(
            r#"{{"name": "{name}", "type": "A", "content": "10.0.0.1"}}"#
        ));
        let [(address, record)] = found.as_slice() else {
            panic!("{name}: {found:?}");
        };
        assert_eq!(
            (&*record.name, address),
            (full, &zone.child(Kind::DnsRecord, format!("{full} A"))),
            "{name}"
        );
    }
    let content = |kind: &str, content: &str| {
        of(&format!(
            r#"{{"name": "x", "type": "{kind}", "content": "{content}"}}"#
        ))[0]
            .1
            .content
            .clone()
    };
    assert_eq!(content("AAAA", "FD00:0::1"), "fd00::1");
    assert_eq!(content("CNAME", "Db.Corp.example."), "db.corp.example");
}
