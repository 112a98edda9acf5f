//! Is every usable key's sealed text in the repository, whatever becomes of the run? The branch of sealed keys.

mod comment;
mod killed;

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Site, open};
use crate::secrets::one_key;

const BRANCH: &str = "netbird-sealed-keys";

/// Keys `k00`, `k01`, … that join a group.
fn many(number: usize) -> Value {
    let mut file = one_key();
    let key = file["setup_keys"]["k"].take();
    let keys = (0..number).map(|n| (format!("k{n:02}"), key.clone()));
    file["setup_keys"] = Value::Object(keys.collect());
    file
}

/// A key that joins no group.
fn without_groups() -> Value {
    json!({ "setup_keys": { "k": { "type": "reusable", "expires_in": 86400, "usage_limit": 2 } } })
}

/// The sealed texts on the branch, opened, by path; without a branch none.
fn stored(site: &Site) -> Vec<(String, String)> {
    let gitea = site.gitea();
    if gitea.tip(BRANCH).is_none() {
        return Vec::new();
    }
    let files = gitea.files(BRANCH).into_iter();
    let sealed = files.filter(|path| path.ends_with(".age"));
    sealed
        .map(|path| {
            let text = gitea.file(BRANCH, &path);
            (path, open(&text))
        })
        .collect()
}

/// That each valid key either has its sealed text on the branch, which opens to its secret, or cannot be told from one
/// that was never sealed: the next run makes that anew.
#[track_caller]
fn assert_nothing_lost(site: &Site) {
    let stored = stored(site);
    for key in site.bench.netbird().list("/setup-keys").as_array().unwrap() {
        let id = key["id"].as_str().unwrap();
        let is_stored = stored.iter().any(|(path, _)| path.contains(id));
        let has_groups = key["auto_groups"] != json!([]);
        assert!(is_stored || !has_groups, "{key}\n{stored:?}");
    }
}

/// That key `k` lives once, is usable, and its copy on the branch works.
#[track_caller]
fn assert_one_stored_key(site: &Site) {
    let key = site.bench.one("/setup-keys", "k");
    let id = key["id"].as_str().unwrap();
    let stored = stored(site);
    let path = format!("default/k.{id}.age");
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
    let path = |name: &str| format!("default/{name}.{}.age", key["id"].as_str().unwrap());
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
    // the branch is there, and no key on it
    site.bench
        .netbird()
        .before("POST", "/setup-keys", move |_| {
            assert!(gitea.tip(BRANCH).is_some());
            assert!(
                gitea
                    .files(BRANCH)
                    .iter()
                    .all(|path| !path.ends_with(".age"))
            );
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
            assert_eq!(netbird.list("/setup-keys")[0]["auto_groups"], json!([]));
        });
    site.run(&["apply"]).expect(0);
    site.bench
        .assert_writes(&["POST /groups", "POST /setup-keys", "PUT /setup-keys"]);
    // the branch carries the workflows of main: no commit of it starts one
    let messages = messages(&site);
    assert_eq!(
        messages[..2],
        [
            "chore: store a sealed setup key [skip ci]".to_owned(),
            "chore: begin the branch of sealed setup keys [skip ci]".to_owned()
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
    assert_eq!(messages[0], "chore: store 5 sealed setup keys [skip ci]");
    assert_eq!(messages[1], "chore: store 25 sealed setup keys [skip ci]");
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
    assert_eq!(
        messages(&site)[0],
        "chore: store 3 sealed setup keys [skip ci]"
    );
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
                gitea.push(
                    BRANCH,
                    &format!("default/other.{n}.age"),
                    "theirs",
                    "theirs",
                );
            });
        }
        site.run(&["apply"]).expect(0);
        let key = site.bench.id("/setup-keys", "k");
        let files = site.gitea().files(BRANCH);
        assert!(files.contains(&format!("default/k.{key}.age")), "{files:?}");
        assert!(files.contains(&"other.md".to_owned()), "{files:?}");
    }
}

#[test]
fn an_answer_that_is_lost_is_looked_up() {
    for effect in [Effect::CutAfter, Effect::ErrorAfter] {
        let site = Site::fake();
        site.commit(one_key());
        let contents = site.gitea().path("/contents");
        // the first makes the branch, the second stores the key
        site.gitea()
            .fault(Fault::on("POST", &contents).times(2).then(effect.clone()));
        site.run(&["apply"]).expect(0);
        assert_eq!(messages(&site).len(), 4, "each commit was made once");
        assert_one_stored_key(&site);
    }
}

#[test]
fn who_may_not_write_there_finds_out_before_the_first_write() {
    for rule in [BRANCH, "**", "*"] {
        let site = Site::fake();
        site.commit(one_key());
        site.gitea().protect(rule, json!({}));
        let run = site.run(&["apply"]).expect(1);
        run.says("no copy of the sealed keys can be stored on the branch netbird-sealed-keys")
            .says("nothing was changed")
            .says("--keys-branch none");
        site.bench.assert_writes(&[]);
    }
    let site = Site::fake();
    site.commit(one_key());
    let token = site.gitea().add_user("reader", "read");
    let run = site
        .run_with(&["apply"], &[("GITEA_TOKEN", &token)])
        .expect(1);
    run.says("may not push to the repository");
    site.bench.assert_writes(&[]);
}

#[test]
fn a_refusal_later_takes_the_keys_back_and_ends_the_run() {
    for keep_going in [false, true] {
        let site = Site::fake();
        let mut file = many(3);
        file["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
        site.commit(file);
        let gitea = site.gitea().clone();
        site.bench.netbird().after("POST", "/setup-keys", move |_| {
            gitea.protect(BRANCH, json!({}));
        });
        let args = ["apply", "--format", "json", "--keep-going"];
        let run = site.run(&args[..if keep_going { 4 } else { 3 }]).expect(4);
        let run = run
            .says("no copy of the sealed keys can be stored")
            .says("the new key was deleted again");
        assert_eq!(run.json()["created_keys"], json!({}));
        assert!(
            run.operations()
                .contains(&"create_policy p skipped".to_owned())
        );
        assert_eq!(site.bench.names("/setup-keys"), Vec::<String>::new());
        assert_eq!(site.bench.sealed_files(), Vec::<String>::new());
        site.gitea().unprotect();
        site.run(&["apply"]).expect(0);
        assert_eq!(stored(&site).len(), 3);
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
    assert_eq!(site.gitea().tip(BRANCH), None);
    site.bench.delete("/setup-keys", "k");
    site.run_with(&["apply"], &[("NETBIRD_GITOPS_KEYS_BRANCH", BRANCH)])
        .expect(0);
    assert_one_stored_key(&site);
}

#[test]
fn another_branch_or_none() {
    let site = Site::fake();
    site.commit(one_key());
    site.run(&["apply", "--keys-branch", "none"]).expect(0);
    assert_eq!(site.gitea().branches(), ["main"]);
    site.bench.delete("/setup-keys", "k");
    let args = [
        "apply",
        "--keys-branch",
        "keys/of-pumps",
        "--environment",
        "Hall 4/\u{2026}",
    ];
    let run = site
        .run(&[&args[..], &["--format", "json"]].concat())
        .expect(0);
    let json = run.json();
    let place = json["created_keys"]["k"]["stored"].as_str().unwrap();
    let (branch, path) = place.split_once(':').unwrap();
    assert_eq!(branch, "keys/of-pumps");
    assert!(
        path.starts_with("Hall_4_") && path.matches('/').count() == 1,
        "{path}"
    );
    assert_eq!(
        open(&site.gitea().file(branch, path)),
        site.bench.unseal("k")
    );
    site.bench.delete("/setup-keys", "k");
    let run = site.run(&["apply", "--keys-branch", "main"]).expect(1);
    run.says("main is the default branch");
}

#[test]
fn a_key_of_a_name_that_no_path_can_have() {
    let site = Site::fake();
    let mut file = one_key();
    let mut key = file["setup_keys"]["k"].clone();
    (key["type"], key["usage_limit"]) = (json!("reusable"), json!(1));
    file["setup_keys"] =
        json!({ "../../etc/\u{fc}": key, ".gitea/workflows/x.yml": key, "fixes #1": key });
    site.commit(file);
    site.run(&["apply"]).expect(0);
    let files = site.gitea().files(BRANCH);
    let sealed: Vec<_> = files.iter().filter(|path| path.ends_with(".age")).collect();
    assert_eq!(sealed.len(), 3);
    assert!(
        sealed
            .iter()
            .all(|path| path.starts_with("default/") && path.matches('/').count() == 1)
    );
    assert!(
        messages(&site)
            .iter()
            .all(|message| !message.contains("fixes"))
    );
}

#[test]
fn the_plan_names_unused_keys_that_have_no_copy() {
    let site = Site::fake();
    site.commit(many(13));
    site.run(&["apply", "--keys-branch", "none"]).expect(0);
    let run = site.run(&["plan"]).expect(0);
    run.shows("13 setup keys that nobody used yet have no sealed copy in the repository")
        .shows("and 3 more");
    site.run(&["plan", "--keys-branch", "none"])
        .expect(0)
        .hides("no sealed copy");
    // one that is made anew has one, and a used one needs none
    for n in 1..13 {
        let secret = site.bench.unseal(&format!("k{n:02}"));
        site.bench
            .server()
            .enroll(&secret, &format!("k{n:02}"))
            .unwrap();
    }
    let run = site.run(&["plan"]).expect(0);
    run.shows("setup key \"k00\" was not used yet and has no sealed copy on the branch netbird-sealed-keys");
    site.run(&["apply", "--replace", "setup_keys/k00"])
        .expect(0);
    site.run(&["plan"]).expect(0).hides("no sealed copy");
    // nobody can be asked: the plan is there all the same
    site.gitea().revoke(&site.gitea().token());
    site.run(&["plan"]).expect(0).shows("cannot be told");
}
