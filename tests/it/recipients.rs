//! Who can open a new key, and is it known before the first write?

use std::fs;

use serde_json::json;

use crate::run::{Bench, Job, Pull, RECIPIENT, Run, Site, open};
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
        .shows("An apply of this plan is refused without one: set AGE_PUBLIC_KEY");
    bench
        .run_with(&["apply"], &nobody)
        .expect(3)
        .says("and no recipient is set");
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
        .shows("new keys are sealed for ")
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
        assert_eq!(plan.stdout.contains("new keys are sealed for"), !only);
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
        .shows("For a new key that is sealed for the new ones, set reissue_after");
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

/// Plans the pull request `change` with the recipients of a file, by `pull_request` and by `pull_request_target`.
fn planned(site: &Site, number: u64, expected: i32) -> [Run; 2] {
    let (head, base) = (site.repo().tip("change"), site.repo().tip("main"));
    let pull = Pull {
        number,
        head: &head,
        base: &base,
    };
    [false, true].map(|is_target| {
        let job = Job::pull_request(site, &pull).with("AGE_PUBLIC_KEY", "");
        site.checkout(if is_target { &base } else { &head });
        let job = if is_target { job.target(&base) } else { job };
        site.in_job(&["plan", "--comment", "-R", "keys/ops.txt"], &job)
            .expect(expected)
    })
}

#[test]
fn a_pull_request_that_changes_the_recipients_alone_is_planned() {
    let site = Site::fake();
    let newcomer = age::x25519::Identity::generate().to_public().to_string();
    let start = format!("{RECIPIENT}\n# a\n# b\n# c\n# d\n");
    site.repo()
        .push("main", "keys/ops.txt", start.as_bytes(), "recipients");
    site.commit(one_key());
    let changed = format!("{start}{newcomer}\n");
    site.repo()
        .push("change", "keys/ops.txt", changed.as_bytes(), "one more");
    let number = site.repo().open_pr("change", "main");
    let new = format!("recipient {}", &newcomer[..8]);
    for run in planned(&site, number, 0) {
        run.shows(&new)
            .shows("in keys/ops.txt is new: the base branch does not have it");
    }
    // it is the merge that counts: the base has got another one meanwhile, and both open the next key
    let meanwhile = age::x25519::Identity::generate().to_public().to_string();
    site.repo().push(
        "main",
        "keys/ops.txt",
        format!("{meanwhile}\n{start}").as_bytes(),
        "meanwhile",
    );
    for run in planned(&site, number, 0) {
        let sealed = run.stdout.lines().find(|line| line.starts_with("new keys"));
        let sealed = sealed.expect("the recipients").to_owned();
        assert!(
            sealed.contains(&newcomer[..8]) && sealed.contains(&meanwhile[..8]),
            "{sealed}"
        );
        run.shows(&new)
            .hides(&format!("recipient {}", &meanwhile[..8]));
    }
    let both = format!("{newcomer}\n{start}");
    site.repo().push(
        "change",
        "keys/ops.txt",
        both.as_bytes(),
        "at the same place",
    );
    for run in planned(&site, number, 1) {
        run.says("keys/ops.txt conflicts with the base branch");
    }
}

/// A link in the checkout leads to a file that a pull request can change as well.
#[cfg(unix)]
#[test]
fn a_linked_file_of_recipients_is_that_which_it_leads_to() {
    let bench = Bench::in_git();
    let newcomer = age::x25519::Identity::generate().to_public().to_string();
    fs::write(bench.path("real.txt"), format!("{RECIPIENT}\n")).unwrap();
    std::os::unix::fs::symlink("real.txt", bench.path("linked.txt")).unwrap();
    bench.file(one_key()).git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "start"]);
    let base = bench.git(&["rev-parse", "HEAD"]);
    fs::write(bench.path("real.txt"), format!("{RECIPIENT}\n{newcomer}\n")).unwrap();
    bench.git(&["commit", "-qam", "one more"]);
    let head = bench.git(&["rev-parse", "HEAD"]);
    let event = json!({ "action": "opened", "number": 1, "pull_request": {
        "number": 1, "base": { "ref": "main", "sha": base, "repo_id": 1 }, "head": { "ref": "change", "sha": head, "repo_id": 1 } } });
    fs::write(bench.path("event.json"), event.to_string()).unwrap();
    let event = bench.path("event.json").display().to_string();
    let job = [
        ("CI", "true"),
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("GITHUB_EVENT_PATH", event.as_str()),
    ];
    bench
        .run_with(&["plan", "-R", "linked.txt"], &job)
        .expect(0)
        .shows("in linked.txt is new: the base branch does not have it");
}

/// What a pull request makes a link to may be in the base branch already, and then nothing but the link changes.
#[cfg(unix)]
#[test]
fn a_link_that_a_pull_request_makes_changes_what_it_leads_to() {
    use std::os::unix::fs::symlink;
    let newcomer = age::x25519::Identity::generate().to_public().to_string();
    // a file, a link to another file, a folder, a submodule
    for row in 0..4 {
        let bench = Bench::in_git();
        for folder in ["keys", "other"] {
            fs::create_dir(bench.path(folder)).unwrap();
        }
        let (old, new) = (bench.path("keys/team.txt"), bench.path("other/team.txt"));
        fs::write(&old, format!("{RECIPIENT}\n")).unwrap();
        fs::write(&new, format!("{RECIPIENT}\n{newcomer}\n")).unwrap();
        symlink("keys/team.txt", bench.path("link.txt")).unwrap();
        fs::write(old.with_file_name("netbird.json"), r#"{"groups":{"a":{}}}"#).unwrap();
        fs::write(new.with_file_name("netbird.json"), r#"{"groups":{"b":{}}}"#).unwrap();
        let submodule = |commit: &str| {
            let entry = format!("160000,{},sub", commit.repeat(40));
            bench.git(&["update-index", "--add", "--cacheinfo", &entry]);
        };
        bench.file(one_key()).git(&["add", "-A"]);
        submodule("1");
        bench.git(&["commit", "-qm", "start"]);
        let base = bench.git(&["rev-parse", "HEAD"]);
        let (named, leads_to) = [
            ("keys/team.txt", "../other/team.txt"),
            ("link.txt", "other/team.txt"),
            ("keys", "other"),
            ("sub/team.txt", ""),
        ][row];
        match row {
            2 => fs::remove_dir_all(bench.path(named)).unwrap(),
            3 => fs::create_dir(bench.path("sub")).unwrap(),
            _ => fs::remove_file(bench.path(named)).unwrap(),
        }
        if row == 3 {
            fs::copy(&new, bench.path(named)).unwrap();
            submodule("2");
        } else {
            symlink(leads_to, bench.path(named)).unwrap();
            bench.git(&["add", "-A"]);
        }
        bench.git(&["commit", "-qm", "a link"]);
        let head = bench.git(&["rev-parse", "HEAD"]);
        let event = json!({ "action": "opened", "number": 1, "pull_request": {
            "number": 1, "base": { "ref": "main", "sha": base, "repo_id": 1 }, "head": { "ref": "change", "sha": head, "repo_id": 1 } } });
        fs::write(bench.path("event.json"), event.to_string()).unwrap();
        let event = bench.path("event.json").display().to_string();
        let job = |name: &'static str| {
            [
                ("CI", "true"),
                ("GITHUB_EVENT_NAME", name),
                ("GITHUB_EVENT_PATH", event.as_str()),
            ]
        };
        let recipients = if row == 2 { "keys/team.txt" } else { named };
        let plan = ["plan", "-R", recipients];
        bench
            .run_with(&plan, &job("pull_request"))
            .expect(0)
            .shows(&format!(
                "in {recipients} is new: the base branch does not have it"
            ));
        bench.git(&["checkout", "-q", &base]);
        let target = job("pull_request_target");
        let words = "a link to another file, or changes a link or a submodule on its path";
        bench.run_with(&plan, &target).expect(1).says(words);
        if row == 2 {
            let plan = ["plan", "-f", "keys/netbird.json"];
            bench.run_with(&plan, &target).expect(1).says(words);
            bench.git(&["checkout", "-q", &head]);
            bench
                .run_with(&plan, &job("pull_request"))
                .expect(0)
                .shows("group  b");
        }
    }
}

#[test]
fn every_recipient_of_a_key_is_named_and_one_that_is_new_for_it_is_called_new() {
    let people: Vec<String> = (0..12)
        .map(|_| age::x25519::Identity::generate().to_public().to_string())
        .collect();
    let keys = |own: &[String], other: &[String]| {
        let key = |recipients: &[String]| json!({ "type": "one-off", "expires_in": 86_400, "recipients": recipients });
        json!({ "setup_keys": { "own": key(own), "other": key(other) } })
    };
    let bench = Bench::in_git();
    bench.declared(0.0, keys(&people[..1], &people[1..]));
    let run = bench.plan(&[]).expect(0);
    let run = people
        .iter()
        .fold(run, |run, person| run.shows(&person[..8]));
    run.hides(" more");
    // whom another key has is new for this one all the same
    bench.file(keys(&people[..2], &people[1..]));
    bench
        .plan(&[])
        .expect(0)
        .shows("\"own\" has the new recipient age1")
        .hides("\"other\" has the new recipient");
}
