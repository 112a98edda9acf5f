//! Section `dns.nameserver_groups`, entry by entry.

use std::collections::BTreeSet;

use snapbox::str;

use crate::check::validate::testing::{assert_table, check};
use crate::model::{Address, Kind, Nameserver, NameserverGroup, Resource};

const FILE: &str = r#"{"groups": {"g": {}}, "dns": {"nameserver_groups": {"n": {ROW}}}}"#;
const SERVER: &str = r#""nameservers": [{"ip": "10.0.0.53"}], "groups": ["g"]"#;

#[test]
fn primary_is_for_all_domains() {
    let rows = [
        r#""primary": true"#,
        r#""primary": true, "domains": []"#,
        r#""primary": false, "domains": ["a.example"]"#,
        r#""domains": ["a.example"], "search_domains_enabled": true"#,
        r#""primary": true, "search_domains_enabled": false"#,
        "\"enabled\": true",
        r#""primary": true, "domains": ["a.example"]"#,
        r#""primary": false"#,
        r#""primary": false, "domains": []"#,
        r#""primary": true, "search_domains_enabled": true"#,
        r#""search_domains_enabled": true"#,
        r#""primary": "yes""#,
        r#""domians": ["a.example"]"#,
        r#""primary": true, "domains": null, "description": 1, "enabled": 1, "search_domains_enabled": 1"#,
        r#""domains": ["a.example", "a.example", "*.b.example", "10.0.0.300", 1]"#,
    ];
    assert_table(
        &FILE.replace("ROW", &format!("{SERVER}, ROW")),
        &rows,
        str![[r#"
"primary": true
"primary": true, "domains": []
"primary": false, "domains": ["a.example"]
"domains": ["a.example"], "search_domains_enabled": true
"primary": true, "search_domains_enabled": false
"enabled": true
    note: dns.nameserver_groups.n: has no domains, so it is used for all domains | write "primary": true if that is meant
"primary": true, "domains": ["a.example"]
    dns.nameserver_groups.n.primary: a primary group is used for all domains, and this one lists some | remove "primary" or "domains"
"primary": false
    dns.nameserver_groups.n.primary: a group that is not primary needs domains to answer for | add "domains", or remove "primary"
"primary": false, "domains": []
    dns.nameserver_groups.n.primary: a group that is not primary needs domains to answer for | add "domains", or remove "primary"
"primary": true, "search_domains_enabled": true
    dns.nameserver_groups.n.search_domains_enabled: a group without domains has none to search: search_domains_enabled can only be false
"search_domains_enabled": true
    note: dns.nameserver_groups.n: has no domains, so it is used for all domains | write "primary": true if that is meant
    dns.nameserver_groups.n.search_domains_enabled: a group without domains has none to search: search_domains_enabled can only be false
"primary": "yes"
    dns.nameserver_groups.n.primary: expected true or false, found the string "yes" | write true
"domians": ["a.example"]
    dns.nameserver_groups.n.domians: unknown field "domians" | did you mean "domains"?
"primary": true, "domains": null, "description": 1, "enabled": 1, "search_domains_enabled": 1
    dns.nameserver_groups.n.domains: null is not allowed | leave "domains" out instead
    dns.nameserver_groups.n.description: expected a text, found the number 1
    dns.nameserver_groups.n.enabled: expected true or false, found the number 1
    dns.nameserver_groups.n.search_domains_enabled: expected true or false, found the number 1
"domains": ["a.example", "a.example", "*.b.example", "10.0.0.300", 1]
    note: dns.nameserver_groups.n.domains[1]: "a.example" is in the list twice
    dns.nameserver_groups.n.domains[2]: the domain "*.b.example" has a wildcard: nameservers answer for a domain and all below it | did you mean "b.example"?
    dns.nameserver_groups.n.domains[3]: "10.0.0.300" is not a domain: it looks like an address
    dns.nameserver_groups.n.domains[4]: expected a domain, found the number 1

"#]],
    );
}

fn read(fields: &str) -> NameserverGroup {
    let valid = check(&FILE.replace("ROW", fields)).expect("a valid file");
    let address = Address::new(Kind::NameserverGroup, "n");
    match valid.desired.resource(&address) {
        [Resource::NameserverGroup(group)] => group.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn primary_follows_from_the_domains() {
    let set = |name: &str| BTreeSet::from([name.to_owned()]);
    let server = |ip: &str, port| Nameserver {
        ip: ip.into(),
        port,
        peer: None,
    };
    let bare = NameserverGroup {
        nameservers: vec![server("10.0.0.53", 53)],
        groups: set("g"),
        primary: Some(true),
        search_domains_enabled: Some(false),
        ..NameserverGroup::default()
    };
    assert_eq!(read(SERVER), bare);
    assert_eq!(
        read(&format!("{SERVER}, \"primary\": true, \"domains\": []")),
        bare
    );
    let full = r#""description": "d", "nameservers": [{"ip": "[FD00::53]", "port": 5353}], "groups": ["g"],
        "domains": ["Corp.example."], "search_domains_enabled": true, "enabled": false"#;
    let wanted = NameserverGroup {
        description: Some("d".into()),
        nameservers: vec![server("fd00::53", 5353)],
        groups: set("g"),
        primary: Some(false),
        domains: vec!["Corp.example.".into()],
        search_domains_enabled: Some(true),
        enabled: Some(false),
    };
    assert_eq!(read(full), wanted);
    assert_eq!(
        read(&format!("{SERVER}, \"domains\": [\"a.b\"]")).search_domains_enabled,
        None
    );
}

#[test]
fn names_of_nameserver_groups_have_at_most_40_characters() {
    let file = |name: &str| {
        format!(
            r#"{{"dns": {{"nameserver_groups": {{"{name}": {{{SERVER}, "primary": true}}}}}}}}"#
        )
    };
    assert!(check(&file(&"n".repeat(40))).is_ok());
    let error = check(&file(&"n".repeat(41))).expect_err("an error");
    assert!(
        error.contains("the name of a nameserver group has at most 40 characters; this one has 41"),
        "{error}"
    );
}
