//! A machine's name in the place of its address, in records and nameservers: is it the address at each plan?

use serde_json::{Value, json};

use crate::run::{Bench, id};

fn file(records: Value, nameservers: Value) -> Value {
    json!({
        "groups": { "staff": {} },
        "dns": {
            "zones": { "corp": { "domain": "corp.example", "distribution_groups": ["staff"], "records": records } },
            "nameserver_groups": { "corp": { "nameservers": nameservers, "groups": ["staff"], "domains": ["corp.example"] } }
        }
    })
}

fn whole() -> Value {
    file(
        json!([
            { "name": "db", "type": "A", "content": { "peer": "gw-1" } },
            { "name": "db", "type": "AAAA", "content": { "peer": "gw-1" } },
            { "name": "www", "type": "A", "content": "10.20.0.9" }
        ]),
        json!([{ "peer": "gw-1", "port": 5353 }, { "ip": "1.1.1.1" }]),
    )
}

/// The file with the key of a machine that is there.
fn enrolled(bench: &Bench) -> Value {
    let mut file = whole();
    file["setup_keys"] = bench.enrolled(&["gw-1"]);
    file
}

/// The contents of the zone's records, by name and type.
fn contents(bench: &Bench) -> Vec<String> {
    let zone = bench.one("/dns/zones", "corp");
    let records = zone["records"].as_array().unwrap().iter();
    let text = |record: &Value, field: &str| record[field].as_str().unwrap().to_owned();
    let mut all: Vec<String> = records
        .map(|it| {
            format!(
                "{} {} {}",
                text(it, "name"),
                text(it, "type"),
                text(it, "content")
            )
        })
        .collect();
    all.sort();
    all
}

fn address(bench: &Bench, field: &str) -> String {
    bench.one("/peers", "gw-1")[field]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_name_is_the_machines_address_and_follows_it() {
    let bench = Bench::fake();
    let wanted = enrolled(&bench);
    let peer = bench.id("/peers", "gw-1");
    bench.file(wanted);
    let (v4, v6) = (address(&bench, "ip"), address(&bench, "ipv6"));
    bench
        .plan(&[])
        .expect(0)
        .shows(&format!("{v4}, the address of gw-1"))
        .shows(&format!("{v6}, the address of gw-1"));
    bench.apply(&[]).expect(0);
    let wanted = [
        format!("db.corp.example A {v4}"),
        format!("db.corp.example AAAA {v6}"),
        "www.corp.example A 10.20.0.9".to_owned(),
    ];
    assert_eq!(contents(&bench), wanted);
    let servers = &bench.one("/dns/nameservers", "corp")["nameservers"];
    assert_eq!(
        servers[0],
        json!({ "ip": v4, "ns_type": "udp", "port": 5353 })
    );
    bench.plan(&[]).expect(0).shows("No changes");

    // somebody gives the machine another address
    let mut answer = bench.one("/peers", "gw-1");
    answer["ip"] = json!("100.92.77.7");
    bench
        .server()
        .write("PUT", &format!("/peers/{peer}"), answer);
    let planned = bench.plan(&["--detailed-exitcode"]).expect(2);
    planned
        .shows(&format!("content  {v4} → 100.92.77.7"))
        .shows("another address of gw-1");
    bench.run(&["drift"]).expect(2).shows("100.92.77.7");
    bench.apply(&[]).expect(0);
    assert_eq!(contents(&bench)[0], "db.corp.example A 100.92.77.7");
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_machine_that_is_to_enroll_is_waited_for_and_the_rest_goes_on() {
    let bench = Bench::fake();
    let mut wanted = whole();
    wanted["setup_keys"] =
        json!({ "gw-1": { "type": "one-off", "expires_in": 604800, "auto_groups": ["staff"] } });
    bench.file(wanted);
    bench.apply(&[]).expect(0).shows("gw-1");
    assert_eq!(contents(&bench), ["www.corp.example A 10.20.0.9"]);
    assert!(bench.all("/dns/nameservers", "corp").is_empty());
    let key = bench.unseal("gw-1");
    bench.server().enroll(&key, "gw-1").unwrap();
    bench.apply(&[]).expect(0);
    assert_eq!(contents(&bench).len(), 3);
    assert_eq!(bench.all("/dns/nameservers", "corp").len(), 1);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_machine_without_such_an_address_is_waited_for() {
    let bench = Bench::fake();
    let wanted = enrolled(&bench);
    let settings = bench.netbird().list("/accounts")[0].clone();
    let mut changed = json!({ "settings": settings["settings"] });
    changed["settings"]["ipv6_enabled_groups"] = json!([]);
    bench
        .server()
        .write("PUT", &format!("/accounts/{}", id(&settings)), changed);
    bench.file(wanted);
    bench
        .plan(&[])
        .expect(0)
        .shows("is skipped until the peer that it names has such an address");
    bench.apply(&[]).expect(0);
    assert_eq!(contents(&bench).len(), 2);
}

#[test]
fn what_has_the_address_already_is_adopted() {
    let bench = Bench::fake();
    bench.peer("gw-1");
    let group = bench.group("staff");
    let zone = bench.create(
        "/dns/zones",
        json!({ "name": "corp", "domain": "corp.example", "enabled": true, "enable_search_domain": false,
                "distribution_groups": [group] }),
    );
    bench.server().write(
        "POST",
        &format!("/dns/zones/{}/records", id(&zone)),
        json!({ "name": "db.corp.example", "type": "A", "content": address(&bench, "ip"), "ttl": 300 }),
    );
    bench.file(json!({
        "groups": { "staff": {} },
        "dns": { "zones": { "corp": { "domain": "corp.example", "distribution_groups": ["staff"],
                 "records": [{ "name": "db", "type": "A", "content": { "peer": "gw-1" } }] } } }
    }));
    bench.plan(&[]).expect(0).shows("No changes, 3 to adopt");
}

#[test]
fn a_name_that_no_machine_has_is_told_with_its_place() {
    let bench = Bench::fake();
    bench.peer("gw-1");
    let records = json!([{ "name": "db", "type": "A", "content": { "peer": "gw-2" } }]);
    bench.file(file(records, json!([{ "ip": "1.1.1.1" }])));
    bench.plan(&[]).expect(0).shows("\"gw-2\"");
}
