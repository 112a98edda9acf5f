//! DNS zones with their records, and the DNS settings: from the file to the server, and back out of it.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Bench, id};

/// A file with one zone.
fn file(zone: Value) -> Value {
    json!({ "groups": { "g": {} }, "dns": { "zones": { "corp": zone } } })
}

fn zone(records: Value) -> Value {
    json!({ "domain": "corp.example", "distribution_groups": ["g"], "records": records })
}

fn a(name: &str, content: &str) -> Value {
    json!({ "name": name, "type": "A", "content": content })
}

/// The records of a zone as `NAME TYPE CONTENT`, sorted, without the domain.
fn records(bench: &Bench) -> Vec<String> {
    let zone = bench.one("/dns/zones", "corp");
    let domain = zone["domain"].as_str().unwrap();
    let text = |record: &Value, field: &str| record[field].as_str().unwrap().to_owned();
    let records = zone["records"].as_array().unwrap().iter();
    let records = records.map(|record| {
        let name = text(record, "name");
        let name = name
            .strip_suffix(domain)
            .unwrap()
            .trim_end_matches('.')
            .to_owned();
        format!(
            "{name} {} {}",
            text(record, "type"),
            text(record, "content")
        )
    });
    let mut records: Vec<String> = records.collect();
    records.sort();
    records
}

fn list(records: &Value) -> Vec<Value> {
    records.as_array().unwrap().clone()
}

/// Makes a record by hand; returns its id.
fn by_hand(bench: &Bench, name: &str, content: &str) -> String {
    let zone = bench.one("/dns/zones", "corp");
    let name = format!("{name}.{}", zone["domain"].as_str().unwrap());
    let path = format!("/dns/zones/{}/records", id(&zone));
    id(&bench.create(
        &path,
        json!({ "name": name, "type": "A", "content": content, "ttl": 60 }),
    ))
}

#[test]
fn what_a_zone_answers_follows_the_file() {
    let bench = Bench::scenario();
    bench.agreed(file(zone(json!([
        a("db", "10.0.0.1"),
        a("db", "10.0.0.2"),
        a("@", "10.0.0.3"),
        { "name": "v6.corp.example", "type": "AAAA", "content": "FD00:0::1", "ttl": 60 },
    ]))));
    let all = [
        "@ A 10.0.0.3",
        "db A 10.0.0.1",
        "db A 10.0.0.2",
        "v6 AAAA fd00::1",
    ];
    assert_eq!(
        records(&bench),
        all.map(|record| record.trim_start_matches('@').to_owned())
    );
    let zone_before = bench.id("/dns/zones", "corp");
    let ttls = |bench: &Bench| -> Vec<Value> {
        let zone = bench.one("/dns/zones", "corp");
        let records = zone["records"].as_array().unwrap().iter();
        records.map(|record| record["ttl"].clone()).collect()
    };
    assert_eq!(ttls(&bench), [300, 300, 300, 60]);
    // what a record leads to changes in place, and a ttl that the file leaves out stays
    bench.file(file(zone(json!([
        a("db", "10.0.0.1"),
        a("db", "10.0.0.9"),
        a("@", "10.0.0.3"),
        { "name": "v6", "type": "AAAA", "content": "fd00::1" },
    ]))));
    bench.apply(&[]).expect(0).shows("1 changed");
    assert_eq!(
        records(&bench),
        [
            " A 10.0.0.3",
            "db A 10.0.0.1",
            "db A 10.0.0.9",
            "v6 AAAA fd00::1"
        ]
    );
    assert_eq!(ttls(&bench), [300, 300, 300, 60]);
    assert_eq!(bench.id("/dns/zones", "corp"), zone_before);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn records_that_nobody_speaks_of_are_left_alone() {
    let bench = Bench::fake();
    let mut without = zone(json!([]));
    without.as_object_mut().unwrap().remove("records");
    bench.agreed(file(without.clone()));
    by_hand(&bench, "nas", "10.1.1.1");
    without["search_domain"] = json!(true);
    bench
        .file(file(without))
        .apply(&["--prune", "all"])
        .expect(0);
    assert_eq!(records(&bench), ["nas A 10.1.1.1"]);
    assert_eq!(
        bench.one("/dns/zones", "corp")["enable_search_domain"],
        true
    );
}

#[test]
fn a_record_that_came_meanwhile_keeps_its_zone() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(zone(json!([]))));
    let mut without = file(zone(json!([])));
    without["dns"]["zones"] = json!({});
    bench.declared(1.0, without);
    // as the plan sees it, it is empty
    let before = Effect::Status(200, Value::Array(bench.server().list("/dns/zones")));
    by_hand(&bench, "nas", "10.1.1.1");
    bench
        .netbird()
        .fault(Fault::on("GET", "/dns/zones").then(before));
    bench
        .apply(&["--no-verify"])
        .expect(4)
        .says_anywhere("it contains DNS records now");
    assert_eq!(records(&bench), ["nas A 10.1.1.1"]);
}

#[test]
fn an_alias_goes_before_an_address_of_its_name_comes() {
    let bench = Bench::in_git();
    let alias = json!({ "name": "www", "type": "CNAME", "content": "db.corp.example." });
    bench.applied(0.0, file(zone(json!([alias]))));
    bench.declared(1.0, file(zone(json!([a("www", "10.0.0.5")]))));
    bench.netbird().clear_requests();
    bench.apply(&[]).expect(0).shows("1 created, 1 deleted");
    bench.assert_writes(&["DELETE /dns/zones/records", "POST /dns/zones/records"]);
    assert_eq!(records(&bench), ["www A 10.0.0.5"]);
}

#[test]
fn one_of_several_records_goes_by_the_commit_that_took_it_out() {
    let bench = Bench::in_git();
    bench.applied(
        0.0,
        file(zone(json!([a("db", "10.0.0.1"), a("db", "10.0.0.2")]))),
    );
    bench.declared(1.0, file(zone(json!([a("db", "10.0.0.2")]))));
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    let operation = &plan["operations"][0];
    assert_eq!(operation["type"], "delete_dns_record");
    assert_eq!(operation["name"], "db.corp.example A");
    assert_eq!(operation["within"], "corp");
    assert!(operation["cause"].is_string(), "{operation:#}");
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(records(&bench), ["db A 10.0.0.2"]);
}

#[test]
fn somebodys_record_beside_ours_is_unmanaged() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(zone(json!([a("db", "10.0.0.1")]))));
    bench.hour(1.0);
    by_hand(&bench, "db", "10.9.9.9");
    by_hand(&bench, "nas", "10.1.1.1");
    bench
        .leaves_all(&[])
        .says_anywhere("NetBird has another DNS record with the name \"db.corp.example A\" (id ");
    bench
        .plan(&[])
        .expect(0)
        .shows("  DNS record \"nas.corp.example A\"")
        .shows("\"nas.corp.example A\"");
    assert_eq!(
        records(&bench),
        ["db A 10.0.0.1", "db A 10.9.9.9", "nas A 10.1.1.1"]
    );
}

#[test]
fn what_was_changed_by_hand_is_set_again() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(zone(json!([a("db", "10.0.0.1")]))));
    let zone_now = bench.one("/dns/zones", "corp");
    let record = &zone_now["records"][0];
    let path = format!("/dns/zones/{}/records/{}", id(&zone_now), id(record));
    let mut changed = record.clone();
    changed["content"] = json!("10.9.9.9");
    bench.server().write("PUT", &path, changed);
    bench.apply(&[]).expect(0).shows("1 changed");
    let record = &bench.one("/dns/zones", "corp")["records"][0];
    assert_eq!(
        (&record["content"], id(record)),
        (&json!("10.0.0.1"), id(&zone_now["records"][0]))
    );
}

#[test]
fn a_zone_goes_with_its_records_unless_it_holds_somebodys() {
    let none = json!({ "groups": { "g": {} }, "dns": { "zones": {} } });
    let bench = Bench::in_git();
    bench.applied(
        0.0,
        file(zone(json!([a("db", "10.0.0.1"), a("@", "10.0.0.2")]))),
    );
    bench.hour(1.0);
    by_hand(&bench, "nas", "10.1.1.1");
    bench.declared(2.0, none.clone());
    // ours goes; the zone stays for theirs
    bench
        .apply(&[])
        .expect(0)
        .shows("2 deleted")
        .shows("Held back:\n  DNS zone \"corp\" (")
        .shows("it contains DNS record \"nas.corp.example A\" (");
    assert_eq!(records(&bench), ["nas A 10.1.1.1"]);
    let zone_now = bench.one("/dns/zones", "corp");
    let record = format!(
        "/dns/zones/{}/records/{}",
        id(&zone_now),
        id(&zone_now["records"][0])
    );
    assert_eq!(bench.server().call("DELETE", &record, Value::Null).0, 200);
    assert_eq!(bench.planned(&[]), ["delete_dns_zone corp"]);
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.names("/dns/zones"), Vec::<String>::new());
}

#[test]
fn what_goes_with_its_zone_is_no_kind_of_its_own() {
    let bench = Bench::in_git();
    bench.applied(
        0.0,
        file(zone(json!([a("db", "10.0.0.1"), a("@", "10.0.0.2")]))),
    );
    bench.declared(
        1.0,
        json!({ "groups": { "g": {} }, "dns": { "zones": {} } }),
    );
    bench.apply(&[]).expect(0).shows("3 deleted");
    assert_eq!(bench.names("/dns/zones"), Vec::<String>::new());
    // all records of a zone that stays are
    let bench = Bench::in_git();
    bench.applied(
        0.0,
        file(zone(json!([a("db", "10.0.0.1"), a("@", "10.0.0.2")]))),
    );
    bench.declared(1.0, file(zone(json!([]))));
    bench
        .refuses(&[])
        .says_anywhere("this plan deletes all DNS records");
}

#[test]
fn another_domain_makes_the_zone_anew_once_somebody_agrees() {
    let bench = Bench::in_git();
    bench.applied(
        0.0,
        file(zone(json!([
            a("db", "10.0.0.1"),
            a("whole.example", "10.0.0.2")
        ]))),
    );
    let before = bench.id("/dns/zones", "corp");
    // what the file does not say, and somebody set in NetBird
    for mut record in list(&bench.one("/dns/zones", "corp")["records"]) {
        record["ttl"] = json!(60);
        let path = format!("/dns/zones/{before}/records/{}", id(&record));
        bench.server().write("PUT", &path, record);
    }
    let mut other = zone(json!([a("db", "10.0.0.1"), a("whole.example", "10.0.0.2")]));
    other["domain"] = json!("lab.example");
    bench.declared(1.0, file(other.clone()));
    bench
        .refuses(&[])
        .says_anywhere("this plan replaces DNS zone \"corp\", with everything inside")
        .says_anywhere("To agree to the 3 deletions of");
    let line = bench.line("line", &[]);
    bench.declared_with(2.0, file(other), &format!("agreed\n\n{line}"));
    bench.netbird().clear_requests();
    bench
        .apply(&[])
        .expect(0)
        .shows("2 created, 1 replaced, 2 deleted");
    // the new one answers before the old one goes
    bench.assert_writes(&[
        "POST /dns/zones",
        "POST /dns/zones/records",
        "POST /dns/zones/records",
        "DELETE /dns/zones/records",
        "DELETE /dns/zones/records",
        "DELETE /dns/zones",
    ]);
    assert_ne!(bench.id("/dns/zones", "corp"), before);
    let zone_now = bench.one("/dns/zones", "corp");
    assert_eq!(zone_now["domain"], "lab.example");
    let records = list(&zone_now["records"]);
    assert!(records.iter().all(|record| record["ttl"] == 60));
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_zone_that_holds_somebodys_record_is_not_made_anew_and_the_rest_goes_on() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(zone(json!([a("db", "10.0.0.1")]))));
    bench.hour(1.0);
    by_hand(&bench, "nas", "10.1.1.1");
    let mut other = file(zone(json!([a("db", "10.0.0.2")])));
    other["dns"]["zones"]["corp"]["domain"] = json!("lab.example");
    other["groups"]["h"] = json!({});
    bench.declared(2.0, other);
    bench
        .apply(&[])
        .expect(0)
        .shows("1 created")
        .shows("and would delete DNS record \"nas.corp.example A\" (")
        .shows("because NetBird must delete and create it again for this");
    assert_eq!(records(&bench), ["db A 10.0.0.1", "nas A 10.1.1.1"]);
}

#[test]
fn a_zone_whose_records_are_left_alone_keeps_its_domain() {
    let bench = Bench::in_git();
    let mut alone = zone(json!([]));
    alone.as_object_mut().unwrap().remove("records");
    bench.applied(0.0, file(alone.clone()));
    by_hand(&bench, "nas", "10.1.1.1");
    alone["domain"] = json!("lab.example");
    bench.declared(1.0, file(alone));
    bench
        .cannot(&[])
        .says_anywhere("too, and the file does not declare it");
}

#[test]
fn one_domain_under_another_name_goes_first() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(zone(json!([a("db", "10.0.0.1")]))));
    let moved = json!({ "groups": { "g": {} }, "dns": { "zones": { "lab": zone(json!([a("db", "10.0.0.1")])) } } });
    bench.declared(1.0, moved);
    bench.netbird().clear_requests();
    bench.apply(&[]).expect(0);
    bench.assert_writes(&[
        "DELETE /dns/zones/records",
        "DELETE /dns/zones",
        "POST /dns/zones",
        "POST /dns/zones/records",
    ]);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_renamed_zone_keeps_its_id_and_its_records_are_still_ours() {
    let bench = Bench::in_git();
    bench.applied(
        0.0,
        file(zone(json!([a("db", "10.0.0.1"), a("@", "10.0.0.2")]))),
    );
    let before = bench.id("/dns/zones", "corp");
    let mut renamed = zone(json!([a("db", "10.0.0.1"), a("@", "10.0.0.2")]));
    renamed["renamed_from"] = json!("corp");
    let renamed = json!({ "groups": { "g": {} }, "dns": { "zones": { "lab": renamed } } });
    bench.applied(1.0, renamed.clone());
    assert_eq!(bench.id("/dns/zones", "lab"), before);
    let mut less = renamed;
    less["dns"]["zones"]["lab"]["records"] = json!([a("db", "10.0.0.1")]);
    bench.declared(2.0, less);
    assert_eq!(bench.planned(&[]), ["delete_dns_record corp.example A"]);
}

#[test]
fn records_that_left_the_file_with_their_list_are_said() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(zone(json!([a("db", "10.0.0.1")]))));
    let mut alone = zone(json!([]));
    alone.as_object_mut().unwrap().remove("records");
    bench.declared(1.0, file(alone));
    bench.leaves_all(&[]).says_anywhere(
        "section \"records\" of DNS zone \"corp\" is no longer in the file, so nothing in it is managed any more. 1 DNS \
         record stays in NetBird as before: \"db.corp.example A\"",
    );
    // what was ours is so again once the list is back
    bench.declared(2.0, file(zone(json!([]))));
    assert_eq!(bench.planned(&[]), ["delete_dns_record db.corp.example A"]);
}

#[test]
fn a_record_whose_zone_could_not_be_made_is_skipped() {
    let bench = Bench::fake();
    bench.file(file(zone(json!([a("db", "10.0.0.1")]))));
    let refusal = Effect::Status(422, json!({ "code": 422, "message": "no" }));
    bench
        .netbird()
        .fault(Fault::on("POST", "/dns/zones").then(refusal));
    let run = bench.apply(&["--keep-going"]).expect(4);
    run.shows("DNS record  db.corp.example A  not tried");
    bench.apply(&[]).expect(0);
    assert_eq!(records(&bench), ["db A 10.0.0.1"]);
}

#[test]
fn a_record_whose_answer_was_lost_is_made_once() {
    let bench = Bench::fake();
    bench.agreed(file(zone(json!([a("db", "10.0.0.1")]))));
    let fault = Fault::on("POST", "/dns/zones/");
    bench.netbird().fault(fault.then(Effect::CutAfter));
    bench.file(file(zone(json!([
        a("db", "10.0.0.1"),
        a("db", "10.0.0.2")
    ]))));
    bench
        .apply(&[])
        .expect(0)
        .says_anywhere("NetBird carried it out all the same");
    assert_eq!(records(&bench), ["db A 10.0.0.1", "db A 10.0.0.2"]);
}

#[test]
fn the_settings_are_one_object_that_is_changed_and_nothing_else() {
    let bench = Bench::in_git();
    let with = |settings: Value| json!({ "groups": { "g": {} }, "dns": { "settings": settings } });
    bench.applied(0.0, with(json!({ "disabled_management_groups": ["g"] })));
    let now = || bench.server().call("GET", "/dns/settings", Value::Null).1;
    assert_eq!(
        now()["disabled_management_groups"],
        json!([bench.id("/groups", "g")])
    );
    // an empty entry says nothing, and neither does a section that went
    bench.declared(1.0, with(json!({})));
    bench.leaves_all(&[]).shows("No changes");
    bench.declared(2.0, json!({ "groups": { "g": {} } }));
    bench.leaves_all(&[]).shows("No changes");
    assert_eq!(
        now()["disabled_management_groups"],
        json!([bench.id("/groups", "g")])
    );
    bench.declared(3.0, with(json!({ "disabled_management_groups": [] })));
    bench.apply(&[]).expect(0).shows("1 changed");
    assert_eq!(now(), json!({ "disabled_management_groups": [] }));
}

#[test]
fn what_is_exported_and_adopted_plans_nothing() {
    let bench = Bench::fake();
    let g = bench.group("g");
    let made = bench.create(
        "/dns/zones",
        json!({ "name": "corp", "domain": "corp.example", "distribution_groups": [g] }),
    );
    assert_eq!(made["name"], "corp");
    by_hand(&bench, "db", "10.0.0.1");
    by_hand(&bench, "*.apps", "10.0.0.2");
    let body = json!({ "disabled_management_groups": [g] });
    assert_eq!(bench.server().call("PUT", "/dns/settings", body).0, 200);
    let file = bench.run(&["export"]).expect(0).stdout;
    let exported: Value = serde_json::from_str(&file).unwrap();
    let names: Vec<&Value> = exported["dns"]["zones"]["corp"]["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| &record["name"])
        .collect();
    assert_eq!(names, ["*.apps", "db"]);
    bench.text(&file).plan(&["--detailed-exitcode"]).expect(0);
    bench.file(json!({ "groups": { "g": {} } }));
    bench
        .run(&["adopt", "zones/corp", "dns_settings"])
        .expect(0);
    bench.plan(&["--detailed-exitcode"]).expect(0);
    bench
        .run(&["adopt", "zones/corp"])
        .expect(0)
        .says_anywhere("is declared already: a plan shows whether NetBird differs from the file");
    bench
        .run(&["adopt", "records/db"])
        .expect(1)
        .says_anywhere("a DNS record cannot be named here")
        .says_anywhere("name its DNS zone: zones/NAME");
}

#[test]
fn a_server_without_zones_is_an_error_only_where_the_file_has_some() {
    let bench = Bench::fake();
    crate::old_servers::tells_no_version(&bench);
    let absent = Effect::Raw(fakes::http::Response::new(
        404,
        "text/plain",
        "404 page not found\n",
    ));
    bench
        .netbird()
        .fault(Fault::on("GET", "/dns/zones").always().then(absent));
    bench
        .file(json!({ "groups": { "g": {} } }))
        .apply(&[])
        .expect(0);
    bench.run(&["export"]).expect(0);
    bench
        .file(file(zone(json!([]))))
        .plan(&[])
        .expect(1)
        .says_anywhere("this NetBird has no DNS zones, which the file uses: it is too old");
}

#[test]
fn what_cannot_stand_beside_somebodys_is_said_before_the_first_write() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(zone(json!([]))));
    bench.hour(1.0);
    by_hand(&bench, "www", "10.0.0.5");
    let alias = json!({ "name": "www", "type": "CNAME", "content": "db.corp.example" });
    bench.declared(2.0, file(zone(json!([alias]))));
    bench
        .cannot(&[])
        .says_anywhere("netbird.json:")
        .says_anywhere("DNS record \"www.corp.example CNAME\" cannot be written: NetBird has DNS record \"www.corp.example A\" (");
}

/// A zone that somebody else manages: its entry has records and nothing else.
#[test]
fn records_stand_in_a_zone_that_the_file_does_not_declare() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {} } }));
    let group = bench.id("/groups", "g");
    bench.create(
        "/dns/zones",
        json!({ "name": "corp", "domain": "corp.example", "enabled": true, "enable_search_domain": true,
                "distribution_groups": [group] }),
    );
    by_hand(&bench, "theirs", "10.0.0.1");
    let entry = |name: &str| json!({ "records": [a(name, "10.0.0.2")] });
    bench.file(file(entry("db.corp.example")));
    bench.apply(&[]).expect(0).hides("adopt");
    assert_eq!(records(&bench), ["db A 10.0.0.2", "theirs A 10.0.0.1"]);
    assert_eq!(
        bench.one("/dns/zones", "corp")["enable_search_domain"],
        true
    );
    bench.plan(&[]).expect(0).shows("No changes");

    bench.file(file(entry("db.other.example")));
    bench
        .plan(&[])
        .expect(1)
        .says("is not a name in its zone, whose domain is \"corp.example\"");
    bench.file(file(entry("db")));
    bench
        .run(&["validate"])
        .expect(1)
        .says("\"db\" is not a full name, and the file does not say the zone's domain");
    bench.file(json!({ "groups": { "g": {} }, "dns": { "zones": { "nowhere": entry("db.corp.example") } } }));
    bench
        .plan(&[])
        .expect(1)
        .says("is not in NetBird, and the file has only its records");

    // the entry goes: what this file created goes with it, and nothing else
    bench.file(json!({ "groups": { "g": {} }, "dns": { "zones": {} } }));
    bench.apply(&["--max-deletes", "1"]).expect(0);
    assert_eq!(records(&bench), ["theirs A 10.0.0.1"]);
}
