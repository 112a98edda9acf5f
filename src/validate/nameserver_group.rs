//! Section `dns.nameserver_groups` (netbird-api.md §8).

use super::{domain, names, nameserver, renames};
use crate::code::Code;
use crate::config::{Cursor, Field, Log, Refused, Table};
use crate::resource::NameserverGroup;

/// A nameserver group as written; `primary` may follow from the domains.
#[derive(Default)]
pub(super) struct Draft {
    group: NameserverGroup,
    primary: Option<bool>,
}

pub(super) const TABLE: Table<Draft> = Table {
    what: "a nameserver group",
    fields: &[
        Field::optional("description", |draft, value, log| {
            draft.group.description = value.string(log, "a text").map(str::to_owned);
        }),
        Field::required("nameservers", |draft, value, log| {
            draft.group.nameservers = nameserver::read(value, log)
        }),
        Field::required("groups", |draft, value, log| {
            draft.group.groups =
                names::some_groups(value, log, "the peers of these groups ask the nameservers");
        }),
        Field::optional("primary", |draft, value, log| {
            draft.primary = value.boolean(log)
        }),
        Field::optional("domains", |draft, value, log| {
            draft.group.domains = domains(value, log)
        }),
        Field::optional("search_domains_enabled", |draft, value, log| {
            draft.group.search_domains_enabled = value.boolean(log);
        }),
        Field::optional("enabled", |draft, value, log| {
            draft.group.enabled = value.boolean(log)
        }),
        Field::optional("renamed_from", |_, value, log| renames::check(value, log)),
    ],
    refused: &[
        Refused::new(
            &["servers", "name_servers", "dns"],
            "write \"nameservers\"",
            None,
        )
        .meant("nameservers"),
        Refused::new(
            &["match_domains", "search_domains"],
            "write \"domains\"",
            None,
        )
        .meant("domains"),
        Refused::new(
            &["distribution_groups", "peers"],
            "write \"groups\": who asks these servers",
            None,
        )
        .meant("groups"),
        Refused::new(
            &["name"],
            "a nameserver group's name is the name of its entry",
            Some("to rename it, rename the entry and add \"renamed_from\" with the old name"),
        ),
    ],
};

pub(super) fn read(entry: &Cursor<'_>, log: &mut Log) -> Option<NameserverGroup> {
    let mut draft = Draft::default();
    entry.object(log, &TABLE, &mut draft);
    names::check_short(entry, "a nameserver group", log);
    if entry.is_object() {
        check_primary(&draft, entry, log);
    }
    let Draft { mut group, primary } = draft;
    group.primary = primary.unwrap_or(group.domains.is_empty());
    if group.primary {
        group.search_domains_enabled = Some(false); // there are none to search
    }
    Some(group)
}

/// Primary means for all domains: the server takes it exactly where there are none (netbird-api.md §8).
fn check_primary(draft: &Draft, entry: &Cursor<'_>, log: &mut Log) {
    let listed = entry
        .get("domains")
        .is_some_and(|domains| domains.elements().next().is_some());
    match draft.primary {
        Some(true) if listed => {
            log.error(
                entry.place_of("primary"),
                "a primary group answers for every domain, and this one lists some",
            )
            .suggest("remove \"primary\" or \"domains\"".to_owned());
        }
        Some(false) if !listed => {
            log.error(
                entry.place_of("primary"),
                "a group that is not primary needs domains to answer for",
            )
            .suggest("add \"domains\", or remove \"primary\"".to_owned());
        }
        None if !listed
            && ["primary", "domains"]
                .iter()
                .all(|name| !entry.mentions(&TABLE, name)) =>
        {
            log.notice(
                Code::EveryDomain,
                entry.key_place(),
                "has no domains, so it answers for every domain",
            )
            .suggest("write \"primary\": true if that is meant".to_owned());
        }
        _ => (),
    }
    if draft.group.search_domains_enabled == Some(true) && !listed {
        log.error(
            entry.place_of("search_domains_enabled"),
            "a group without domains has none to search: search_domains_enabled can only be false",
        );
    }
}

fn domains(list: &Cursor<'_>, log: &mut Log) -> Vec<String> {
    let elements = list.list(log, "a list of domains").unwrap_or_default();
    domain::list(&elements, domain::of_nameservers, log)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use snapbox::str;

    use super::*;
    use crate::resource::Nameserver;
    use crate::validate::testing::{assert_table, check};

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
    note: dns.nameserver_groups.n: has no domains, so it answers for every domain | write "primary": true if that is meant
"primary": true, "domains": ["a.example"]
    dns.nameserver_groups.n.primary: a primary group answers for every domain, and this one lists some | remove "primary" or "domains"
"primary": false
    dns.nameserver_groups.n.primary: a group that is not primary needs domains to answer for | add "domains", or remove "primary"
"primary": false, "domains": []
    dns.nameserver_groups.n.primary: a group that is not primary needs domains to answer for | add "domains", or remove "primary"
"primary": true, "search_domains_enabled": true
    dns.nameserver_groups.n.search_domains_enabled: a group without domains has none to search: search_domains_enabled can only be false
"search_domains_enabled": true
    note: dns.nameserver_groups.n: has no domains, so it answers for every domain | write "primary": true if that is meant
    dns.nameserver_groups.n.search_domains_enabled: a group without domains has none to search: search_domains_enabled can only be false
"primary": "yes"
    dns.nameserver_groups.n.primary: expected true or false, found the string "yes" | write true
"domians": ["a.example"]
    dns.nameserver_groups.n.domians: unknown field "domians" | did you mean "domains"?
"primary": true, "domains": null, "description": 1, "enabled": 1, "search_domains_enabled": 1
    dns.nameserver_groups.n.domains: null is no value | leave "domains" out instead
    dns.nameserver_groups.n.description: expected a text, found the number 1
    dns.nameserver_groups.n.enabled: expected true or false, found the number 1
    dns.nameserver_groups.n.search_domains_enabled: expected true or false, found the number 1
"domains": ["a.example", "a.example", "*.b.example", "10.0.0.300", 1]
    note: dns.nameserver_groups.n.domains[1]: "a.example" is in the list twice
    dns.nameserver_groups.n.domains[2]: the domain "*.b.example" has a wildcard: nameservers answer for a domain and all below it | did you mean "b.example"?
    dns.nameserver_groups.n.domains[3]: "10.0.0.300" is no domain: it looks like an address
    dns.nameserver_groups.n.domains[4]: expected a domain, found the number 1

"#]],
        );
    }

    fn read(fields: &str) -> NameserverGroup {
        let valid = check(&FILE.replace("ROW", fields)).expect("a valid file");
        valid
            .desired
            .nameserver_groups
            .expect("a section")
            .remove("n")
            .expect("an entry")
    }

    #[test]
    fn primary_follows_from_the_domains() {
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        let server = |ip: &str, port| Nameserver {
            ip: ip.into(),
            port,
        };
        let bare = NameserverGroup {
            nameservers: vec![server("10.0.0.53", 53)],
            groups: set("g"),
            primary: true,
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
            primary: false,
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
    fn names_have_at_most_40_characters() {
        let file = |name: &str| {
            format!(
                r#"{{"dns": {{"nameserver_groups": {{"{name}": {{{SERVER}, "primary": true}}}}}}}}"#
            )
        };
        assert!(check(&file(&"n".repeat(40))).is_ok());
        let error = check(&file(&"n".repeat(41))).expect_err("an error");
        assert!(
            error.contains(
                "the name of a nameserver group has at most 40 characters; this one has 41"
            ),
            "{error}"
        );
    }
}
