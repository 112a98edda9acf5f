//! Is a new key's secret sealed before anything else, and is it nowhere else?

use std::fs;
use std::time::Duration;

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Bench, Pid, files, id, open};

/// One pending key that joins a group.
pub(crate) fn one_key() -> Value {
    json!({
        "groups": { "g": {} },
        "setup_keys": { "k": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] } }
    })
}

/// That there is exactly one key `k`, valid, with its group, and that its sealed file opens to it.
#[track_caller]
pub(crate) fn assert_one_sealed_key(bench: &Bench) {
    let key = bench.one("/setup-keys", "k");
    assert_eq!(key["valid"], true);
    assert_eq!(key["auto_groups"], json!([bench.id("/groups", "g")]));
    // older ones are kept beside it
    let mut files = bench.sealed_files();
    files.retain(|name| !name.contains('~'));
    assert_eq!(files, [format!("{}.age", bench.server().name("k"))]);
    bench
        .server()
        .enroll(&bench.unseal("k"), "machine")
        .expect("the sealed key works");
    assert_eq!(bench.one("/setup-keys", "k")["used_times"], 1);
}

/// Right before the program deletes the only key somebody else does.
pub(crate) fn somebody_deletes_the_key_first(bench: &Bench) {
    bench.netbird().before("DELETE", "/setup-keys/", |netbird| {
        let key = netbird.list("/setup-keys")[0]["id"].clone();
        let path = format!("/setup-keys/{}", key.as_str().unwrap());
        assert_eq!(netbird.call("DELETE", &path, Value::Null).0, 200);
    });
}

#[test]
fn a_new_key_opens_for_its_recipient_and_enrolls() {
    let bench = Bench::scenario_that_enrolls();
    bench.file(one_key());
    let run = bench.apply(&["--format", "json"]).expect(0);
    let created = &run.json()["created_keys"]["k"];
    let sealed = created["sealed"].as_str().unwrap();
    assert_eq!(open(sealed.as_bytes()), bench.unseal("k"));
    assert_eq!(created["file"], "sealed-keys/k.age");
    assert_eq!(created["recipients"].as_array().unwrap().len(), 1);
    assert_one_sealed_key(&bench);
}

/// Another environment has a key of the same name, and the secret of the first one is nowhere else.
#[test]
fn a_sealed_file_that_is_there_is_kept() {
    let bench = Bench::fake();
    bench.agreed(one_key());
    let first = bench.unseal("k");
    let lab = [("NETBIRD_GITOPS_ENVIRONMENT", "lab")];
    let file = json!({ "setup_keys": one_key()["setup_keys"] }).to_string();
    let file = file.replace("\"auto_groups\":[\"g\"],", "");
    fs::write(bench.path("lab.json"), file).unwrap();
    bench
        .run_with(&["apply", "-f", "lab.json"], &lab)
        .expect(0)
        .says(
            "setup key k: sealed-keys/k.age was there already, and is kept as sealed-keys/k~1.age",
        );
    assert_eq!(bench.sealed_files(), ["k.age", "k~1.age"]);
    assert_ne!(bench.unseal("k"), first);
    assert_eq!(bench.unseal("k~1"), first);
}

#[test]
fn it_is_on_disk_before_the_next_request_and_gets_its_groups_only_then() {
    let bench = Bench::fake();
    bench.file(one_key());
    let dir = bench.path("sealed-keys");
    let at_post = dir.clone();
    bench.netbird().before("POST", "/setup-keys", move |_| {
        // the place is taken already, and nothing of this name is there
        let names = files(&at_post);
        assert!(names.len() == 1 && names[0].ends_with(".tmp"), "{names:?}");
    });
    bench
        .netbird()
        .before("PUT", "/setup-keys/", move |netbird| {
            let secret = netbird.secrets().pop().unwrap();
            assert_eq!(open(&fs::read(dir.join("k.age")).unwrap()), secret);
            assert_eq!(files(&dir), ["k.age"]);
            let made = netbird.list("/setup-keys")[0].clone();
            assert_eq!(made["auto_groups"], json!([]));
        });
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["POST /groups", "POST /setup-keys", "PUT /setup-keys"]);
    let bodies = bench.netbird().requests();
    let post = bodies
        .iter()
        .find(|request| request.path == "/setup-keys" && request.method == "POST");
    assert_eq!(
        post.unwrap().body.as_ref().unwrap()["auto_groups"],
        json!([])
    );
    assert_one_sealed_key(&bench);
}

#[test]
#[cfg(unix)]
fn the_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::fake();
    bench.file(one_key()).apply(&[]).expect(0);
    let mode = |name: &str| fs::metadata(bench.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode("sealed-keys"), mode("sealed-keys/k.age")),
        (0o700, 0o600)
    );
}

/// A key that is still to be made.
pub(crate) fn pending(bench: &Bench) {
    bench.file(one_key());
}

/// A key in the place of another that cannot be changed so.
pub(crate) fn replacement(bench: &Bench) {
    let mut file = one_key();
    file["setup_keys"]["k"]["expires_in"] = json!(0);
    bench.agreed(file).file(one_key());
}

#[test]
fn an_answer_that_is_lost_leaves_no_key_behind() {
    for effect in [
        Effect::CutAfter,
        Effect::CutBody,
        Effect::ErrorAfter,
        Effect::SlowAfter(Duration::from_secs(60)),
    ] {
        let bench = Bench::fake();
        bench.file(one_key());
        bench
            .netbird()
            .fault(Fault::on("POST", "/setup-keys").then(effect.clone()));
        let run = bench.apply(&["--timeout", "2"]).expect(0);
        run.says(
            "the key was created, but its secret was lost, so it was deleted and is created again",
        );
        let wanted = [
            "POST /groups",
            "POST /setup-keys",
            "DELETE /setup-keys",
            "POST /setup-keys",
            "PUT /setup-keys",
        ];
        bench.assert_writes(&wanted);
        assert_one_sealed_key(&bench);
    }
}

#[test]
fn a_key_with_groups_that_somebody_makes_meanwhile_is_no_leftover() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {} } }));
    bench.file(one_key());
    let group = bench.id("/groups", "g");
    bench
        .netbird()
        .before("POST", "/setup-keys", move |netbird| {
            netbird.create(
                "/setup-keys",
                json!({ "name": "k", "type": "one-off", "expires_in": 3600, "auto_groups": [group] }),
            );
        });
    bench
        .netbird()
        .fault(Fault::on("POST", "/setup-keys").then(Effect::CutAfter));
    bench.apply(&["--no-verify"]).expect(0);
    let keys = bench.all("/setup-keys", "k");
    assert_eq!(keys.len(), 2, "{keys:?}");
}

/// The creation did not arrive, and a key of that name that is not this run's is there once it looks: it is somebody's who has its
/// secret.
#[test]
fn a_key_that_another_run_made_meanwhile_is_no_leftover_either() {
    for what in ["recorded", "used", "with a group"] {
        let bench = Bench::fake();
        bench.agreed(json!({ "groups": { "g": {} } }));
        let mut file = one_key();
        file["setup_keys"]["k"]["auto_groups"] = json!([]);
        bench.file(file);
        let mut other = bench.command(&["apply", "--keys-dir", "other"]);
        let group = bench.id("/groups", "g");
        let (url, token) = (bench.server().url(), bench.server().token());
        bench.netbird().before("POST", "/setup-keys", move |netbird| {
            netbird.before("GET", "/setup-keys", move |netbird| {
                let groups = match what {
                    "recorded" => {
                        assert!(other.output().unwrap().status.success());
                        return;
                    }
                    "used" => json!([]),
                    _ => json!([group]),
                };
                let key = json!({ "name": "k", "type": "one-off", "expires_in": 86400, "usage_limit": 1, "auto_groups": groups });
                let url = format!("{url}/api/setup-keys");
                fakes::client::send("POST", &url, Some(&token), Some(&key)).unwrap();
                if what == "used" {
                    let secret = netbird.secrets().pop().unwrap();
                    netbird.enroll(&secret, "machine").unwrap();
                }
            });
        });
        bench.netbird().fault(Fault::on("POST", "/setup-keys"));
        bench
            .apply(&[])
            .expect(4)
            .says("no new key is in the list; run apply again");
        bench.one("/setup-keys", "k");
    }
}

#[test]
fn a_key_whose_secret_is_lost_and_that_cannot_be_deleted_is_named() {
    let lost = || Fault::on("POST", "/setup-keys").then(Effect::ErrorAfter);
    let bench = Bench::fake();
    bench.file(one_key());
    bench.netbird().fault(lost());
    bench
        .netbird()
        .fault(Fault::on("DELETE", "/setup-keys/").always());
    let run = bench.apply(&[]).expect(4);
    let key = bench.id("/setup-keys", "k");
    let said = format!("the secret of key {key} is lost; delete this key in NetBird");
    run.says(&said);
    // one that somebody deletes first is gone, too
    let bench = Bench::fake();
    bench.file(one_key());
    bench.netbird().fault(lost());
    somebody_deletes_the_key_first(&bench);
    bench.apply(&[]).expect(0);
    assert_one_sealed_key(&bench);
}

#[test]
fn answers_that_are_lost_twice_leave_no_key_behind_either() {
    // a key without groups could not be told from one that is sealed
    for groups in [json!(["g"]), json!([])] {
        let bench = Bench::fake();
        let mut file = one_key();
        file["setup_keys"]["k"]["auto_groups"] = groups;
        bench.file(file);
        let fault = Fault::on("POST", "/setup-keys").times(2);
        bench.netbird().fault(fault.then(Effect::CutAfter));
        bench
            .apply(&[])
            .expect(4)
            .says("the answer of NetBird was lost a second time, and the key was deleted again");
        assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
        bench.apply(&[]).expect(0);
        assert_eq!(bench.names("/setup-keys"), ["k"]);
    }
}

#[test]
fn a_key_whose_creation_did_not_arrive_is_not_made_blindly_again() {
    for effect in [Effect::CutBefore, Effect::ErrorBefore, Effect::Html(502)] {
        let bench = Bench::fake();
        bench.file(one_key());
        bench
            .netbird()
            .fault(Fault::on("POST", "/setup-keys").then(effect.clone()));
        bench.apply(&[]).expect(4);
        bench.assert_writes(&["POST /groups", "POST /setup-keys"]);
        assert_eq!(bench.sealed_files(), Vec::<String>::new());
        bench.apply(&[]).expect(0);
        assert_one_sealed_key(&bench);
    }
}

#[test]
fn an_answer_that_is_lost_when_it_gets_its_groups_is_looked_up() {
    for effect in [
        Effect::CutAfter,
        Effect::ErrorAfter,
        Effect::SlowAfter(Duration::from_secs(60)),
    ] {
        let bench = Bench::fake();
        bench.file(one_key());
        bench
            .netbird()
            .fault(Fault::on("PUT", "/setup-keys/").then(effect.clone()));
        bench.apply(&["--timeout", "2"]).expect(0);
        assert_one_sealed_key(&bench);
    }
}

#[test]
fn a_key_that_cannot_get_its_groups_is_taken_back_with_its_file() {
    let bench = Bench::fake();
    bench.file(one_key());
    let refusal = json!({ "message": "no", "code": 422 });
    bench
        .netbird()
        .fault(Fault::on("PUT", "/setup-keys/").then(Effect::Status(422, refusal)));
    let run = bench.apply(&["--format", "json"]).expect(4);
    assert_eq!(run.json()["created_keys"], json!({}));
    run.says("the new key was deleted again");
    assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
    assert_eq!(bench.sealed_files(), Vec::<String>::new());
}

#[test]
fn a_replacement_that_cannot_be_finished_leaves_the_old_key_and_its_file() {
    let bench = Bench::fake();
    replacement(&bench);
    let old = (id(&bench.one("/setup-keys", "k")), bench.unseal("k"));
    let refusal = json!({ "message": "no", "code": 422 });
    bench
        .netbird()
        .fault(Fault::on("PUT", "/setup-keys/").then(Effect::Status(422, refusal)));
    bench.apply(&[]).expect(4);
    assert_eq!((id(&bench.one("/setup-keys", "k")), bench.unseal("k")), old);
}

#[test]
fn an_old_key_that_is_not_deleted_makes_its_replacement_no_success() {
    let bench = Bench::fake();
    replacement(&bench);
    let refusal = json!({ "message": "no", "code": 422 });
    bench
        .netbird()
        .fault(Fault::on("DELETE", "/setup-keys/").then(Effect::Status(422, refusal)));
    let run = bench.apply(&["--format", "json"]).expect(4);
    assert_eq!(run.operations(), ["replace_setup_key k failed"]);
    assert_eq!(bench.all("/setup-keys", "k").len(), 2);
    // but one that a machine used meanwhile is not to be deleted
    let bench = Bench::fake();
    replacement(&bench);
    let secret = bench.unseal("k");
    bench
        .netbird()
        .after("PUT", "/setup-keys/", move |netbird| {
            netbird.enroll(&secret, "machine").unwrap();
        });
    let run = bench.apply(&["--format", "json", "--no-verify"]).expect(0);
    assert_eq!(run.operations(), ["replace_setup_key k success"]);
    run.says("the old one: a machine enrolled with it meanwhile, so it is not deleted");
    assert_eq!(bench.all("/setup-keys", "k").len(), 2);
}

#[test]
fn where_no_file_can_be_the_plan_is_refused_before_the_first_write() {
    let bench = Bench::fake();
    bench.file(one_key());
    fs::write(bench.path("sealed-keys"), "in the way").unwrap();
    bench
        .apply(&[])
        .expect(1)
        .says("it is not a directory")
        .says("--keys-dir");
    bench.assert_writes(&[]);
    fs::create_dir_all(bench.path("other/k.age")).unwrap();
    let run = bench.apply(&["--keys-dir", "other"]).expect(1);
    run.says("cannot reserve other/k.age: it is a directory");
    bench.assert_writes(&[]);
    bench.apply(&["--keys-dir", "elsewhere/keys"]).expect(0);
    assert_eq!(files(&bench.path("elsewhere/keys")), ["k.age"]);
}

#[test]
fn a_disk_that_fails_after_the_key_was_made_takes_the_key_back() {
    let bench = Bench::fake();
    bench.file(one_key());
    let dir = bench.path("sealed-keys");
    bench.netbird().after("POST", "/setup-keys", move |_| {
        fs::remove_dir_all(&dir).unwrap();
    });
    bench
        .apply(&[])
        .expect(4)
        .says("the new key was deleted again");
    assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
    bench.apply(&[]).expect(0);
    assert_one_sealed_key(&bench);
}

#[test]
fn a_place_that_is_taken_meanwhile_is_told_with_what_to_do() {
    let bench = Bench::fake();
    bench.file(one_key());
    let place = bench.path("sealed-keys/k.age");
    bench.netbird().after("POST", "/groups", move |_| {
        fs::create_dir(place).unwrap();
    });
    bench
        .apply(&[])
        .expect(4)
        .says("cannot reserve sealed-keys/k.age: it is a directory")
        .says("\nhint: --keys-dir chooses another directory");
    bench.assert_writes(&["POST /groups"]);
}

#[test]
fn a_masked_key_is_never_sealed() {
    let bench = Bench::fake();
    bench.file(one_key());
    let made = json!({ "id": "d2m9k4bl0ubs73a9k5d0", "key": "7C0E2****", "name": "k", "type": "one-off", "valid": true });
    bench
        .netbird()
        .fault(Fault::on("POST", "/setup-keys").then(Effect::Status(200, made)));
    bench
        .apply(&[])
        .expect(4)
        .says("its secret is masked with stars");
    assert_eq!(bench.sealed_files(), Vec::<String>::new());
}

#[test]
fn in_a_job_the_sealed_text_is_in_the_log_before_the_next_request() {
    let bench = Bench::fake();
    bench.file(one_key());
    let log = bench.path("stderr");
    let hook = |netbird: &fakes::NetBird, _: Pid| {
        netbird.before("PUT", "/setup-keys/", move |_| {
            assert!(
                fs::read_to_string(&log)
                    .unwrap()
                    .contains("BEGIN AGE ENCRYPTED FILE")
            );
        });
    };
    let mut command = bench.command(&["apply"]);
    command.envs(bench.in_a_job());
    let run = bench.start_command(command, hook).wait();
    assert_eq!(run.code, 0);
    bench.netbird().requests();
    // lines that can be copied as they are, though the log is JSON
    let lines: Vec<&str> = run.stderr.lines().collect();
    let at = |text: &str| {
        lines
            .iter()
            .position(|line| line.starts_with(text))
            .unwrap()
    };
    let (first, last) = (at("-----BEGIN AGE"), at("-----END AGE"));
    let said: Value = serde_json::from_str(lines[first - 1]).unwrap();
    assert_eq!(said["name"], "k");
    let sealed = format!("{}\n", lines[first..=last].join("\n"));
    assert_eq!(open(sealed.as_bytes()), bench.unseal("k"));
}

#[test]
fn as_text_it_is_a_block_that_can_be_copied() {
    let bench = Bench::fake();
    bench.file(one_key());
    let run = bench
        .run_with(&["apply", "--log-format", "text"], &bench.in_a_job())
        .expect(0);
    let start = run
        .stderr
        .find("-----BEGIN AGE ENCRYPTED FILE-----\n")
        .unwrap();
    let end = run
        .stderr
        .find("-----END AGE ENCRYPTED FILE-----\n")
        .unwrap();
    assert!(start == 0 || run.stderr[..start].ends_with('\n'));
    let block = &run.stderr[start..end + "-----END AGE ENCRYPTED FILE-----\n".len()];
    assert_eq!(open(block.as_bytes()), bench.unseal("k"));
    assert!(!block.contains("\n\n"));
    // and on a laptop the file is enough
    let bench = Bench::fake();
    bench.file(one_key());
    let run = bench.apply(&[]).expect(0);
    assert!(!run.stderr.contains("BEGIN AGE") && !run.stdout.contains("BEGIN AGE"));
}

#[test]
fn a_sealed_key_is_reported_although_the_run_fails_later() {
    let bench = Bench::fake();
    let mut file = one_key();
    file["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
    bench.file(file);
    let refusal = json!({ "message": "no", "code": 422 });
    bench
        .netbird()
        .fault(Fault::on("POST", "/policies").then(Effect::Status(422, refusal)));
    let run = bench
        .apply(&["--format", "json", "--report", "report.json"])
        .expect(4);
    let report: Value =
        serde_json::from_slice(&fs::read(bench.path("report.json")).unwrap()).unwrap();
    for document in [run.json(), report] {
        let sealed = document["created_keys"]["k"]["sealed"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(open(sealed.as_bytes()), bench.unseal("k"));
    }
}
