//! Do the files that a newcomer meets first hold what they promise?

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::Bench;

#[test]
fn every_example_is_valid_and_arrives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = fs::read_dir(root.join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_file = |path: &std::path::PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "json")
            && !path.ends_with("live.json")
    };
    let mut files: Vec<_> = examples.filter(is_file).collect();
    files.push(root.join("netbird.json"));
    assert!(files.len() >= 6);
    for path in files {
        let bench = Bench::fake();
        bench.text(&fs::read_to_string(&path).unwrap());
        bench.run(&["validate"]).expect(0);
        bench.apply(&[]).expect(0);
        bench
            .plan(&["--detailed-exitcode"])
            .expect(0)
            .shows("No changes");
        bench.server().clear_requests();
        bench.apply(&[]).expect(0);
        bench.assert_writes(&[]);
    }
}

/// Networks as people publish them: also on a real server.
#[test]
fn the_networks_of_people_arrive() {
    for name in ["homelab", "office", "fleet"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(root.join(format!("examples/{name}.json"))).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let bench = Bench::scenario();
        bench.agreed(file.clone());
        bench.plan(&["--detailed-exitcode"]).expect(0);
        let mut exported = bench.run(&["export"]).expect(0).stdout;
        exported = bench.server().unprefixed(&exported);
        let exported: Value = serde_json::from_str(&exported).unwrap();
        for (section, entries) in file.as_object().unwrap() {
            // there is one of them, and a real account is shared with other tests
            let is_one = |entry: &&String| *entry == "settings";
            for entry in entries
                .as_object()
                .into_iter()
                .flat_map(|all| all.keys())
                .filter(|entry| !is_one(entry))
            {
                let found = &exported[section][entry];
                assert!(
                    !found.is_null(),
                    "{name}: {section}/{entry} in {exported:#}"
                );
            }
        }
    }
}

/// full.json with the people and machines that it names: all of it arrives, and what is exported plans nothing.
#[test]
fn full_json_goes_there_and_back() {
    let bench = Bench::fake();
    bench.netbird().person("mira@example.com", "user", "local");
    bench.text(include_str!("../../examples/full.json"));
    bench.apply(&["--allow-deletes", "1"]).expect(0);
    let key = bench.unseal("GS-hawk-72");
    bench.server().enroll(&key, "GS-hawk-72").unwrap();
    bench.apply(&[]).expect(0);
    bench.plan(&[]).expect(0).shows("No changes");
    let station = bench.one("/peers", "GS-hawk-72")["ip"].clone();
    let zone = bench.one("/dns/zones", "hangar");
    let records = zone["records"].as_array().unwrap();
    assert!(records.iter().any(|record| record["content"] == station));
    let exported = bench.run(&["export", "--users"]).expect(0).stdout;
    bench.text(&exported);
    bench.plan(&[]).expect(0).shows("No changes");
}
