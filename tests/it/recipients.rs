//! Who can open a new key, and is it known before the first write?

use std::fs;

use crate::run::{Bench, RECIPIENT, open};
use crate::secrets::{assert_one_sealed_key, one_key};

#[test]
fn c062_c105_wrong_recipients_are_refused_before_the_first_write() {
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
