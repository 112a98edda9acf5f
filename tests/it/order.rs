//! Lists in which order means something, and spellings of one domain.

use serde_json::{Value, json};

use crate::run::Bench;

fn file(group: Value) -> Value {
    json!({ "groups": { "g": {} }, "dns": { "nameserver_groups": { "n": group } } })
}

fn servers(ips: &[&str]) -> Value {
    let servers = ips.iter().map(|ip| json!({ "ip": ip }));
    json!({ "nameservers": servers.collect::<Value>(), "groups": ["g"], "primary": true })
}

fn live_ips(bench: &Bench) -> Vec<String> {
    let servers = bench.one("/dns/nameservers", "n")["nameservers"].clone();
    let ips = servers.as_array().unwrap().iter();
    ips.map(|server| server["ip"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn nameservers_keep_the_order_of_the_file() {
    let bench = Bench::scenario();
    bench.agreed(file(servers(&["10.0.0.9", "10.0.0.2"])));
    assert_eq!(live_ips(&bench), ["10.0.0.9", "10.0.0.2"]);
    bench.plan(&[]).expect(0).shows("No changes");
    // turned round by hand it is a change
    let turned =
        ["10.0.0.2", "10.0.0.9"].map(|ip| json!({ "ip": ip, "ns_type": "udp", "port": 53 }));
    bench.edit("/dns/nameservers", "n", json!({ "nameservers": turned }));
    let planned = bench.plan(&["--detailed-exitcode"]).expect(2);
    planned.shows("10.0.0.2, 10.0.0.9 → 10.0.0.9, 10.0.0.2");
    bench.apply(&[]).expect(0);
    assert_eq!(live_ips(&bench), ["10.0.0.9", "10.0.0.2"]);
    // one more in front of those that stay in their order, and one that turns them round
    let more = |ips: &[&str]| bench.file(file(servers(ips))).plan(&[]).expect(0);
    more(&["10.0.0.3", "10.0.0.9", "10.0.0.2"]).shows("+10.0.0.3 (2 unchanged)");
    more(&["10.0.0.2", "10.0.0.9", "10.0.0.3"])
        .shows("10.0.0.9, 10.0.0.2 → 10.0.0.2, 10.0.0.9, 10.0.0.3");
    // and a change of something else leaves it
    let mut described = servers(&["10.0.0.9", "10.0.0.2"]);
    described["description"] = json!("the office");
    bench.agreed(file(described));
    assert_eq!(live_ips(&bench), ["10.0.0.9", "10.0.0.2"]);
    bench.agreed(file(servers(&["10.0.0.2", "10.0.0.9"])));
    assert_eq!(live_ips(&bench), ["10.0.0.2", "10.0.0.9"]);
}

fn domains(domains: &[&str], searched: bool) -> Value {
    json!({ "nameservers": [{ "ip": "10.0.0.9" }], "groups": ["g"], "domains": domains, "search_domains_enabled": searched })
}

#[test]
fn domains_are_in_order_where_they_are_searched_and_only_there() {
    let bench = Bench::scenario();
    for searched in [true, false] {
        bench.agreed(file(domains(&["z.example", "a.example"], searched)));
        let live = bench.one("/dns/nameservers", "n");
        assert_eq!(live["domains"], json!(["z.example", "a.example"]));
        bench.file(file(domains(&["a.example", "z.example"], searched)));
        let changes = if searched { 2 } else { 0 };
        bench.plan(&["--detailed-exitcode"]).expect(changes);
    }
}

#[test]
fn another_spelling_of_a_domain_is_no_change() {
    let bench = Bench::scenario();
    for written in [
        "B\u{fc}cher.example",
        "xn--bcher-kva.example",
        "b\u{fc}cher.EXAMPLE.",
    ] {
        bench.agreed(file(domains(&[written], true)));
        // what the file says first is what the server keeps
        for live in ["XN--BCHER-KVA.example", "b\u{fc}cher.example."] {
            bench.edit("/dns/nameservers", "n", json!({ "domains": [live] }));
            bench
                .plan(&["--detailed-exitcode"])
                .expect(0)
                .shows("No changes");
        }
        bench.delete("/dns/nameservers", "n");
    }
    bench.file(file(domains(&["xn--zzzzzz999.example"], false)));
    bench
        .run(&["validate"])
        .expect(1)
        .says("is the ASCII form of nothing");
}
