//! Is every usable key's sealed text in the repository, whatever becomes of the run? The branch of the inventory.

mod branch;
mod comment;
mod killed;

use std::fs;

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{INVENTORY, Job, Pid, Site, open};
use crate::secrets::one_key;

const BRANCH: &str = INVENTORY[0];

/// Where the copy of a key is.
fn path(name: &str, id: &str) -> String {
    format!(".netbird-gitops/default/keys/{name}.{id}.age")
}

/// Keys `k00`, `k01`, … that join a group.
fn many(number: usize) -> Value {
    let mut file = one_key();
    let key = file["setup_keys"]["k"].take();
    let keys = (0..number).map(|n| (format!("k{n:02}"), key.clone()));
    file["setup_keys"] = Value::Object(keys.collect());
    file
}

/// The sealed texts on the branch, opened, by path; without a branch none.
pub(super) fn stored(site: &Site) -> Vec<(String, String)> {
    let gitea = site.gitea();
    let files = gitea.files(BRANCH).into_iter();
    let sealed = files.filter(|path| path.ends_with(".age"));
    sealed
        .map(|path| {
            let text = gitea.file(BRANCH, &path);
            (path, open(&text))
        })
        .collect()
}

/// That each valid key with groups is recorded, and each recorded one has its sealed text on the branch.
#[track_caller]
fn assert_nothing_lost(site: &Site) {
    let (stored, inventory) = (stored(site), site.inventory().to_string());
    for key in site.bench.server().list("/setup-keys") {
        let id = key["id"].as_str().unwrap();
        let is_stored = stored.iter().any(|(path, _)| path.contains(id));
        let is_recorded = inventory.contains(id);
        let has_groups = key["auto_groups"] != json!([]);
        assert!(is_recorded || !has_groups, "{key}\n{inventory}");
        assert!(is_stored || !is_recorded, "{key}\n{stored:?}");
    }
}

/// That key `k` lives once, is usable, and its copy on the branch works.
#[track_caller]
fn assert_one_stored_key(site: &Site) {
    let key = site.bench.one("/setup-keys", "k");
    let id = key["id"].as_str().unwrap();
    let stored = stored(site);
    let path = path("k", id);
    let (_, secret) = stored
        .iter()
        .find(|(at, _)| *at == path)
        .unwrap_or_else(|| {
            panic!("{path} is not on the branch: {stored:?}");
        });
    site.bench
        .server()
        .enroll(secret, "machine")
        .expect("the stored key works");
    assert_eq!(site.bench.one("/setup-keys", "k")["used_times"], 1);
}

fn messages(site: &Site) -> Vec<String> {
    site.repo().messages(BRANCH)
}

#[test]
fn a_key_is_on_the_branch_before_it_gets_its_groups() {
    let site = Site::scenario_that_enrolls();
    site.commit(one_key());
    let main = site.repo().tip("main");
    let run = site.run(&["apply", "--format", "json"]).expect(0);
    let key = site.bench.one("/setup-keys", "k");
    let path = |name: &str| path(name, key["id"].as_str().unwrap());
    let json = run.json();
    let created = &json["created_keys"]["k"];
    assert_eq!(created["stored"], format!("{BRANCH}:{}", path("k")));
    let text = site
        .repo()
        .file(BRANCH, &path(&site.bench.server().name("k")));
    assert_eq!(created["sealed"].as_str().unwrap().as_bytes(), text);
    assert_eq!(open(&text), site.bench.unseal("k"));
    assert_eq!(
        site.repo().tip("main"),
        main,
        "nothing goes to the branch that is applied"
    );
}

#[test]
fn the_order_of_the_writes() {
    let site = Site::fake();
    site.commit(one_key());
    let gitea = site.gitea().clone();
    // the inventory is there, and no key in it
    site.bench
        .netbird()
        .before("POST", "/setup-keys", move |_| {
            let files = gitea.files(BRANCH);
            assert!(files.contains(&INVENTORY[1].to_owned()), "{files:?}");
            assert!(files.iter().all(|path| !path.ends_with(".age")));
        });
    let gitea = site.gitea().clone();
    site.bench
        .netbird()
        .before("PUT", "/setup-keys/", move |netbird| {
            let secret = netbird.secrets().pop().unwrap();
            let path = gitea
                .files(BRANCH)
                .into_iter()
                .find(|path| path.ends_with(".age"));
            assert_eq!(open(&gitea.file(BRANCH, &path.unwrap())), secret);
            let key = &netbird.list("/setup-keys")[0];
            assert_eq!(key["auto_groups"], json!([]));
            let inventory: Value =
                serde_json::from_slice(&gitea.file(BRANCH, INVENTORY[1])).unwrap();
            assert_eq!(inventory["created"]["setup_keys/k"], json!([key["id"]]));
        });
    site.run(&["apply"]).expect(0);
    site.bench
        .assert_writes(&["POST /groups", "POST /setup-keys", "PUT /setup-keys"]);
    // the branch carries the workflows of main: no commit of it starts one
    assert_eq!(
        messages(&site)[..3],
        [
            "chore: 1 created [skip ci]",
            "chore: 1 created [skip ci]",
            "chore: the first inventory [skip ci]"
        ]
    );
    assert_one_stored_key(&site);
}

#[test]
fn keys_are_stored_by_the_block_and_the_next_block_begins_after_that() {
    let site = Site::fake();
    site.commit(many(30));
    site.run(&["apply"]).expect(0);
    assert_eq!(stored(&site).len(), 30);
    let messages = messages(&site);
    assert_eq!(
        messages[..3],
        [
            "chore: 1 created [skip ci]",
            "chore: 5 created [skip ci]",
            "chore: 25 created [skip ci]"
        ]
    );
    let writes = site.bench.writes();
    let kinds = |range: std::ops::Range<usize>| {
        let mut writes = writes[range].to_vec();
        writes.dedup();
        writes
    };
    assert_eq!(kinds(1..26), ["POST /setup-keys"]);
    assert_eq!(kinds(26..51), ["PUT /setup-keys"]);
    assert_eq!(kinds(51..56), ["POST /setup-keys"]);
    assert_nothing_lost(&site);
}

#[test]
fn keys_that_are_changed_in_place_do_not_part_a_block() {
    let site = Site::fake();
    let mut file = many(6);
    let keys = file["setup_keys"].as_object_mut().unwrap();
    let odd: Vec<_> = ["k01", "k03", "k05"]
        .map(|name| (name, keys.remove(name).unwrap()))
        .into();
    site.commit(file.clone());
    site.run(&["apply"]).expect(0);
    file["groups"]["h"] = json!({});
    for key in file["setup_keys"].as_object_mut().unwrap().values_mut() {
        key["auto_groups"] = json!(["g", "h"]);
    }
    for (name, key) in odd {
        file["setup_keys"][name] = key;
    }
    site.commit(file);
    site.run(&["apply"]).expect(0);
    assert_eq!(messages(&site)[1], "chore: 3 created [skip ci]");
    assert_nothing_lost(&site);
}

#[test]
fn a_lost_race_is_tried_again() {
    for forgejo in [false, true] {
        let site = if forgejo {
            Site::forgejo()
        } else {
            Site::fake()
        };
        site.commit(one_key());
        // somebody makes the branch first, and somebody else pushes to it while the key is stored
        site.gitea().race(|gitea| {
            gitea.push(BRANCH, "other.md", "theirs", "theirs");
        });
        for n in 0..3 {
            site.gitea().race(move |gitea| {
                gitea.push(BRANCH, &format!("other.{n}.md"), "theirs", "theirs");
            });
        }
        site.run(&["apply"]).expect(0);
        let key = site.bench.id("/setup-keys", "k");
        let files = site.gitea().files(BRANCH);
        assert!(files.contains(&path("k", &key)), "{files:?}");
        assert!(files.contains(&"other.md".to_owned()), "{files:?}");
    }
}

#[test]
fn an_answer_that_is_lost_is_looked_up() {
    for effect in [Effect::CutAfter, Effect::ErrorAfter] {
        let site = Site::fake();
        site.commit(one_key());
        let contents = site.gitea().path("/contents");
        // the first makes the branch, the second records the key, the third the group
        site.gitea()
            .fault(Fault::on("POST", &contents).times(3).then(effect.clone()));
        site.run(&["apply"]).expect(0);
        let messages = messages(&site);
        let of_bot = messages.iter().filter(|text| text.contains("[skip ci]"));
        assert_eq!(of_bot.count(), 3, "each commit was made once: {messages:?}");
        assert_one_stored_key(&site);
    }
}

#[test]
fn where_one_key_of_a_block_fails_the_others_become_usable() {
    let site = Site::fake();
    let mut file = many(4);
    file["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
    site.commit(file);
    let refusal = json!({ "message": "no", "code": 422 });
    let third = Fault::on("POST", "/setup-keys").nth(3);
    site.bench
        .netbird()
        .fault(third.then(Effect::Status(422, refusal)));
    let run = site.run(&["apply", "--format", "json"]).expect(4);
    // a refusal is no lost answer
    assert!(!format!("{run:?}").contains("lost"), "{run:?}");
    let mut outcome = run.operations();
    outcome.retain(|op| op.contains("setup_key") || op.contains("policy"));
    outcome.sort();
    assert_eq!(
        outcome,
        [
            "create_policy p skipped",
            "create_setup_key k00 success",
            "create_setup_key k01 success",
            "create_setup_key k02 failed",
            "create_setup_key k03 skipped",
        ]
    );
    assert_eq!(stored(&site).len(), 2);
    assert_nothing_lost(&site);
    site.run(&["apply"]).expect(0);
    assert_eq!(stored(&site).len(), 4);
}

#[test]
fn a_public_repository_keeps_none_unless_it_is_asked_to() {
    let site = Site::fake();
    site.gitea().publish();
    site.commit(one_key());
    let run = site.run(&["apply", "--format", "json"]).expect(0);
    let run = run.says("everybody may read");
    assert_eq!(run.json()["created_keys"]["k"]["stored"], Value::Null);
    assert_eq!(stored(&site), []);
    let key = site.bench.id("/setup-keys", "k");
    assert_eq!(site.inventory()["created"]["setup_keys/k"], json!([key]));
    site.bench.delete("/setup-keys", "k");
    site.run_with(&["apply"], &[("NETBIRD_GITOPS_KEY_COPIES", "branch")])
        .expect(0);
    assert_one_stored_key(&site);
}

/// A run that is killed once the key is recorded leaves nothing but the log, the artifact and the comment.
#[test]
fn without_copies_the_sealed_text_is_out_before_the_key_is_recorded() {
    let site = Site::fake();
    site.gitea().publish();
    site.commit(one_key());
    let tip = site.repo().tip("main");
    site.checkout(&tip);
    let job = Job::push(&site, &tip);
    let files = [("stderr", "log"), ("report.json", "report")];
    let files = files.map(|(from, to)| (site.bench.path(from), site.bench.path(to)));
    let gitea = site.gitea().clone();
    let contents = gitea.path("/contents");
    let hook = move |netbird: &fakes::NetBird, _: Pid| {
        netbird.after("POST", "/setup-keys", move |_| {
            gitea.before("POST", &contents, move |_| {
                for (from, to) in files {
                    fs::copy(from, to).unwrap();
                }
            });
        });
    };
    let command = site.job_command(&["apply", "--report", "report.json"], &job);
    site.bench.start_command(command, hook).wait().expect(0);
    let read = |name: &str| fs::read_to_string(site.bench.path(name)).unwrap();
    let (log, report) = (read("log"), read("report"));
    assert!(log.contains("BEGIN AGE ENCRYPTED FILE"), "{log}");
    let report: Value = serde_json::from_str(&report).unwrap();
    let sealed = report["created_keys"]["k"]["sealed"].as_str().unwrap();
    assert_eq!(open(sealed.as_bytes()), site.bench.unseal("k"));
}

#[test]
fn another_branch_or_none() {
    let site = Site::fake();
    site.commit(one_key());
    site.run(&["apply", "--key-copies", "none"]).expect(0);
    assert_eq!(stored(&site), []);
    let args = [
        "apply",
        "--inventory-branch",
        "lists/of-pumps",
        "--environment",
        "Hall 4/\u{2026}",
        "--replace",
        "setup_keys/k",
    ];
    let run = site
        .run(&[&args[..], &["--format", "json"]].concat())
        .expect(0);
    let json = run.json();
    let place = json["created_keys"]["k"]["stored"].as_str().unwrap();
    let (branch, path) = place.split_once(':').unwrap();
    assert_eq!(branch, "lists/of-pumps");
    assert!(
        path.starts_with(".netbird-gitops/Hall_4_") && path.matches('/').count() == 3,
        "{path}"
    );
    assert_eq!(
        open(&site.gitea().file(branch, path)),
        site.bench.unseal("k")
    );
    let run = site.run(&["apply", "--inventory-branch", "main"]).expect(1);
    run.says("main is the branch that is applied");
}

#[test]
fn a_key_of_a_name_that_no_path_can_have() {
    let site = Site::fake();
    let mut file = one_key();
    let mut key = file["setup_keys"]["k"].clone();
    (key["type"], key["usage_limit"]) = (json!("reusable"), json!(2));
    file["setup_keys"] =
        json!({ "x/../../etc/\u{fc}": key, "x/.gitea/workflows/x.yml": key, "fixes #1": key });
    site.commit(file);
    site.run(&["apply"]).expect(0);
    let files = site.gitea().files(BRANCH);
    let sealed: Vec<_> = files.iter().filter(|path| path.ends_with(".age")).collect();
    assert_eq!(sealed.len(), 3);
    assert!(
        sealed
            .iter()
            .all(|path| path.starts_with(".netbird-gitops/default/keys/")
                && path.matches('/').count() == 3)
    );
    assert!(
        messages(&site)
            .iter()
            .all(|message| !message.contains("fixes"))
    );
}

/// A recorded key was sealed, so a plan asks for the inventory alone.
#[test]
fn a_plan_lists_no_copies() {
    let site = Site::fake();
    site.commit(many(3));
    site.run(&["apply"]).expect(0);
    site.gitea().clear_requests();
    site.run(&["plan"]).expect(0).shows("No changes");
    let requests = site.gitea().requests();
    let requests: Vec<&str> = requests.iter().map(|it| it.path.as_str()).collect();
    let contents = site.gitea().path(&format!("/contents/{}", INVENTORY[1]));
    // and who else has an inventory there
    let folder = site.gitea().path("/contents/.netbird-gitops");
    assert_eq!(requests, [contents, folder]);
}

#[test]
fn a_key_whose_copy_is_on_the_branch_and_that_has_no_groups_yet_gets_them() {
    let site = Site::fake();
    site.commit(one_key());
    site.run(&["apply"]).expect(0);
    let key = site.bench.id("/setup-keys", "k");
    site.bench
        .edit("/setup-keys", "k", json!({ "auto_groups": [] }));
    let plan = site.run(&["plan"]).expect(0).shows("1 to change");
    assert!(!plan.stdout.contains("never sealed"), "{}", plan.stdout);
    site.run(&["apply"]).expect(0);
    assert_eq!(site.bench.id("/setup-keys", "k"), key);
    assert_one_stored_key(&site);
}

/// What a run writes down, and nothing else happens between, is one commit.
#[test]
fn an_apply_that_changes_nothing_writes_the_inventory_in_one_commit() {
    let site = Site::fake();
    let commits = || {
        let messages = messages(&site);
        messages
            .iter()
            .filter(|it| it.contains("[skip ci]"))
            .count()
    };
    let applied = |groups: Value, args: &[&str], number: usize| {
        site.commit(json!({ "groups": groups }));
        site.checkout("origin/main");
        site.run(&[&["apply"], args].concat()).expect(0);
        assert_eq!(commits(), number, "{groups}");
        let tip = site.repo().tip("main");
        assert_eq!(site.inventory()["applied_commit"], json!(tip));
    };
    site.bench.group("g");
    applied(json!({ "g": {} }), &[], 1);
    site.bench.group("h");
    applied(json!({ "g": {}, "h": {} }), &[], 2);
    // what is created is written down before anything is verified, and without that as applied at once
    applied(json!({ "g": {}, "h": {}, "i": {} }), &["--no-verify"], 3);
}
