//! Who can open a new key, and is it known before the first write?

use std::fs;

use serde_json::json;

use crate::run::{Bench, RECIPIENT, open};
use crate::secrets::{assert_one_sealed_key, one_key};

#[test]
fn wrong_recipients_are_refused_before_the_first_write() {
    let typo = RECIPIENT.replace("age12p", "age12q");
    let plugin = "age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t";
    for wrong in [&typo, plugin, "ssh-dss AAAAB3NzaC1kc3MAAACBAP", "hello"] {
        let bench = Bench::fake();
        bench.file(one_key());
        let lines = format!("{RECIPIENT}\n{wrong}\n");
        bench
            .run_with(&["apply"], &[("AGE_PUBLIC_KEY", &lines)])
            .expect(1)
            .says("2");
        fs::write(bench.path("recipients"), &lines).unwrap();
        bench
            .apply(&["-R", "recipients"])
            .expect(1)
            .says("recipients:2");
        bench.assert_writes(&[]);
        assert_eq!(bench.sealed_files(), Vec::<String>::new());
    }
}

#[test]
fn nobody_to_seal_for_is_a_refusal_and_a_plan_says_so() {
    let bench = Bench::fake();
    bench.file(one_key());
    let nobody = [("AGE_PUBLIC_KEY", "")];
    bench
        .run_with(&["plan"], &nobody)
        .expect(0)
        .shows("an apply needs AGE_PUBLIC_KEY, -r or -R");
    bench
        .run_with(&["apply"], &nobody)
        .expect(3)
        .says("nobody is named to seal them for");
    bench.assert_writes(&[]);
    bench
        .run_with(&["apply", "-r", RECIPIENT], &nobody)
        .expect(0);
    assert_one_sealed_key(&bench);
}

#[test]
fn every_recipient_opens_it_and_the_plan_names_them() {
    let bench = Bench::fake();
    bench.file(one_key());
    let other = age::x25519::Identity::generate();
    let other_key = other.to_public().to_string();
    bench
        .plan(&["-r", &other_key])
        .expect(0)
        .shows("New keys are sealed for ")
        .shows(&other_key[..10]);
    bench.apply(&["-r", &other_key]).expect(0);
    let sealed = fs::read(bench.path("sealed-keys/k.age")).unwrap();
    assert_eq!(
        age::decrypt(&other, &sealed).unwrap(),
        open(&sealed).into_bytes()
    );
}

/// One pending key with these fields besides.
fn key_with(fields: serde_json::Value) -> serde_json::Value {
    let mut file = one_key();
    let key = file["setup_keys"]["k"].as_object_mut().unwrap();
    key.extend(fields.as_object().unwrap().clone());
    file
}

fn opens(bench: &Bench, identity: &age::x25519::Identity) -> bool {
    let sealed = fs::read(bench.path("sealed-keys/k.age")).unwrap();
    age::decrypt(identity, &sealed).is_ok()
}

#[test]
fn a_keys_own_recipients_open_it_besides_the_others_or_alone() {
    let holder = age::x25519::Identity::generate();
    let public = holder.to_public().to_string();
    let run: age::x25519::Identity = crate::run::IDENTITY.parse().unwrap();
    for only in [false, true] {
        let bench = Bench::fake();
        let fields = json!({ "recipients": [public], "recipients_only": only });
        bench.file(key_with(fields));
        let plan = bench.plan(&[]).expect(0).shows(&public[..10]);
        assert_eq!(plan.stdout.contains("New keys are sealed for"), !only);
        let result = bench.apply(&["--format", "json"]).expect(0).json();
        let recipients = result["created_keys"]["k"]["recipients"]
            .as_array()
            .unwrap();
        assert_eq!(recipients.len(), if only { 1 } else { 2 });
        assert!(opens(&bench, &holder));
        assert_eq!(opens(&bench, &run), !only);
    }
    // where the file names somebody, nobody else has to be
    let bench = Bench::fake();
    bench.file(key_with(json!({ "recipients": [public] })));
    let nobody = [("AGE_PUBLIC_KEY", "")];
    bench.run_with(&["apply"], &nobody).expect(0);
    assert!(opens(&bench, &holder));
}

#[test]
fn other_recipients_alone_replace_nothing_and_say_what_does() {
    let holder = age::x25519::Identity::generate();
    let public = holder.to_public().to_string();
    let bench = Bench::in_git();
    bench.applied(0.0, one_key());
    let id = bench.id("/setup-keys", "k");
    bench.file(key_with(json!({ "recipients": [public] })));
    bench
        .plan(&["--detailed-exitcode"])
        .expect(0)
        .shows("has the new recipient age1")
        .shows("has other recipients than before")
        .shows("reissue_after makes a new one");
    bench.declared(1.0, key_with(json!({ "recipients": [public] })));
    bench.leaves_all(&[]);
    let asked = json!({ "recipients": [public], "reissue_after": "2023-11-14T23:30:00Z" });
    bench.declared(2.0, key_with(asked)).apply(&[]).expect(0);
    assert_ne!(bench.id("/setup-keys", "k"), id);
    assert!(opens(&bench, &holder));
}

#[test]
fn keys_that_cannot_be_used_together_are_refused_before_the_first_write() {
    let quantum = include_str!("../../src/secret/test_keys.rs")
        .lines()
        .find_map(|line| line.split('"').find(|text| text.starts_with("age1tagpq1")))
        .unwrap();
    let bench = Bench::fake();
    bench.file(key_with(json!({ "recipients": [quantum, RECIPIENT] })));
    bench.run(&["validate"]).expect(1).says("recipients[1]");
    bench.file(key_with(json!({ "recipients": [quantum] })));
    bench
        .apply(&[])
        .expect(1)
        .says("setup key k cannot be sealed");
    bench.assert_writes(&[]);
}
