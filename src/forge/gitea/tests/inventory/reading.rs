//! What is there, what is known not to be there, and what is neither.

use fakes::{Effect, Fault, Response};

use super::*;
use crate::forge::gitea::GiteaError;

fn read(branch: &InventoryBranch) -> Result<Option<ForgeFile>, GiteaError> {
    branch.read(PROBE)
}

#[test]
fn not_there_without_branch_or_path() {
    for gitea in both() {
        let branch = branch(&gitea);
        assert_eq!(read(&branch).unwrap(), None);
        assert_eq!(gitea.requests().len(), 2, "the inventory and the probe");
        gitea.push(BRANCH, "x", "y", "a branch without an inventory\n");
        assert_eq!(read(&branch).unwrap(), None);
        gitea.change("main").delete(PROBE).file("x", "y").push();
        assert_eq!(read(&branch).unwrap(), None, "the default branch is there");
    }
}

#[test]
fn what_is_stored() {
    for gitea in both() {
        let commit = gitea.push(BRANCH, PATH, "{}\r\n", "by hand\n");
        let stored = read(&branch(&gitea)).unwrap().unwrap();
        assert_eq!(stored.bytes, b"{}\r\n");
        assert_eq!(Some(stored.sha), gitea.sha(BRANCH, PATH));
        assert_eq!(stored.last_commit, Some(commit));
        assert_eq!(gitea.requests().len(), 1);
    }
}

#[test]
fn what_the_token_may_not_see_is_an_error() {
    for gitea in both() {
        gitea.push(BRANCH, PATH, "{}", "by hand\n");
        let stranger = gitea.add_user("mallory", "none");
        let branch = branch_as(&gitea, &stranger, BRANCH);
        let told = [
            read(&branch).map(drop),
            branch.others().map(drop),
            branch.copies().map(drop),
            branch.may_write().map(drop),
        ];
        for told in told {
            assert!(told.unwrap_err().is_not_found());
        }
        let refused = write(&branch, "a", &[]).unwrap_err();
        assert!(of_gitea(&refused).unwrap().is_not_found(), "{refused}");
        let old = gitea.token();
        gitea.revoke(&old);
        let error = read(&branch_as(&gitea, &old, BRANCH)).unwrap_err();
        assert!(error.is_unauthenticated(), "{error}");
    }
}

#[test]
fn empty_repository_is_an_error() {
    for gitea in both() {
        gitea.empty();
        let branch = branch(&gitea);
        assert!(read(&branch).is_err());
        assert!(write(&branch, "a", &[]).is_err());
        assert!(gitea.branches().is_empty());
    }
}

#[test]
fn renamed_repository_is_an_error() {
    let gitea = Gitea::start();
    let branch = branch(&gitea);
    gitea.rename_repo("other");
    let error = read(&branch).unwrap_err().to_string();
    assert!(error.contains("the repository is "), "{error}");
    assert!(write(&branch, "a", &[]).is_err());
}

/// Answers that say neither that the inventory is there nor that it is not.
fn unreadable() -> Vec<Effect> {
    let json = |body: Value| Effect::Status(200, body);
    let file = json!({"type": "file", "sha": "b1", "size": 2, "encoding": "base64", "content": "e30=",
                      "last_commit_sha": "c1"});
    let with = |field: &str, value: Value| {
        let mut file = file.clone();
        file[field] = value;
        json(file)
    };
    vec![
        Effect::ErrorBefore,
        Effect::CutBody,
        Effect::Html(404),
        Effect::Html(200),
        Effect::Empty(403),
        Effect::Empty(423),
        Effect::Redirect(302, "https://elsewhere.example/".to_owned()),
        Effect::Raw(Response::new(200, "application/json", "{\"sha\": \"b1\", ")),
        json(Value::Null),
        json(json!([])),
        json(json!([file])),
        json(json!("text")),
        with("sha", json!(1)),
        with("sha", Value::Null),
        with("size", json!("2")),
        with("size", Value::Null),
        with("content", json!("e3")),
        with("content", json!({})),
        with("encoding", json!("utf-8")),
        with("type", json!("symlink")),
        with("type", json!("dir")),
        with("type", json!("new thing")),
        // the raw form of it is not found
        with("content", Value::Null),
        with("content", json!("")),
        with("size", json!(3)),
        with("size", json!((64_u64 << 20) + 1)),
    ]
}

#[test]
fn unreadable_is_an_error_and_never_not_there() {
    for gitea in both() {
        let branch = branch(&gitea);
        let contents = gitea.path(&format!("/contents/{PATH}"));
        for there in [false, true] {
            if there {
                gitea.push(BRANCH, PATH, "{}", "by hand\n");
            }
            let before = gitea.tip(BRANCH);
            for effect in unreadable() {
                gitea.fault(Fault::on("GET", &contents).always().then(effect.clone()));
                assert!(read(&branch).is_err(), "{effect:?}");
                if there {
                    let mut edit = |_: Option<&[u8]>| panic!("nothing is made of it: {effect:?}");
                    assert!(branch.write(&mut edit, &[], patience()).is_err());
                }
                gitea.clear_faults();
            }
            assert_eq!(gitea.tip(BRANCH), before);
        }
    }
}

#[test]
fn probe_that_is_no_answer_is_an_error() {
    for gitea in both() {
        let branch = branch(&gitea);
        let probe = gitea.path(&format!("/contents/{PROBE}"));
        for effect in [
            Effect::ErrorBefore,
            Effect::Html(404),
            Effect::Status(200, json!([])),
        ] {
            gitea.fault(Fault::on("GET", &probe).always().then(effect.clone()));
            assert!(read(&branch).is_err(), "{effect:?}");
            gitea.clear_faults();
        }
        let not_found = || Effect::Status(404, json!({"message": "not found"}));
        for path in ["", "/branches/main"] {
            gitea.fault(Fault::on("GET", &probe).then(not_found()));
            gitea.fault(Fault::on("GET", &gitea.path(path)).then(not_found()));
            let error = read(&branch).unwrap_err().to_string();
            assert!(error.contains(PATH), "the first refusal is told: {error}");
            gitea.clear_faults();
        }
    }
}

#[test]
fn over_the_limit_the_text_is_read_raw_by_commit() {
    for gitea in both() {
        let branch = branch(&gitea);
        gitea.set_max_blob_size(8);
        let commit = gitea.push(BRANCH, PATH, "nine byte", "by hand\n");
        gitea.push(BRANCH, "x", "y", "another file\n");
        // Nothing of the default branch is taken for it.
        gitea.push("main", PATH, "main byte", "merged\n");
        let stored = read(&branch).unwrap().unwrap();
        assert_eq!(stored.bytes, b"nine byte");
        let raw = gitea.requests().pop().unwrap();
        assert_eq!(raw.path, gitea.path(&format!("/raw/{PATH}")));
        assert_eq!(raw.query, format!("ref={commit}"));
        assert!(is_committed(&write(&branch, "one more", &["k"])));
        assert_eq!(text(&gitea), "nine byte\none more\n");
        let theirs = ".netbird-gitops/lab/inventory.json";
        gitea.push(BRANCH, theirs, "ten bytes.", "another environment\n");
        let others = vec![("lab".to_owned(), b"ten bytes.".to_vec())];
        assert_eq!(branch.others().unwrap(), others);
    }
}

#[test]
fn raw_text_of_another_blob_is_an_error() {
    let gitea = Gitea::start();
    let branch = branch(&gitea);
    gitea.set_max_blob_size(1);
    gitea.push(BRANCH, PATH, "{}", "by hand\n");
    let sha = gitea.sha(BRANCH, PATH).unwrap();
    let raw = gitea.path(&format!("/raw/{PATH}"));
    let with_tag = |tag: &str, body: &str| {
        let answer = Response::new(200, "text/plain", body).with("ETag", tag);
        gitea.fault(Fault::on("GET", &raw).then(Effect::Raw(answer)));
        read(&branch)
    };
    for tag in [
        format!("\"{sha}\""),
        format!("W/\"{sha}\""),
        format!("\"{sha}-gzip\""),
    ] {
        let stored = with_tag(&tag, "{}").unwrap().unwrap();
        assert_eq!(stored.bytes, b"{}", "{tag}");
        assert!(with_tag(&tag, "{} ").is_err(), "{tag}");
    }
    for tag in ["\"b2\"", "", "*"] {
        assert!(with_tag(tag, "{}").is_err(), "{tag}");
    }
    gitea.fault(Fault::on("GET", &raw).then(Effect::Empty(404)));
    let error = read(&branch).unwrap_err().to_string();
    assert!(error.contains("gave no content"), "{error}");
}

#[test]
fn others_are_the_other_folders_with_an_inventory() {
    for gitea in both() {
        let branch = branch(&gitea);
        assert_eq!(branch.others().unwrap(), []);
        gitea.push(BRANCH, "x", "y", "a branch without inventories\n");
        assert_eq!(branch.others().unwrap(), []);
        let change = gitea.change(BRANCH).file(PATH, "ours");
        let change = change.file(".netbird-gitops/office/inventory.json", "theirs");
        let change = change.file(".netbird-gitops/lab/inventory.json", "theirs, too");
        let change = change.file(".netbird-gitops/keys only/keys/a.age", "sealed");
        change.file(".netbird-gitops/README.md", "text").push();
        let other = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let all = [other("lab", "theirs, too"), other("office", "theirs")];
        assert_eq!(branch.others().unwrap(), all);
        let theirs = gitea.path("/contents/.netbird-gitops/office/inventory.json");
        let tip = gitea.tip(BRANCH).unwrap();
        gitea.before("GET", &theirs, delete_branch);
        assert_eq!(branch.others().unwrap(), all, "of one commit");
        let name = json!({"new_branch_name": BRANCH, "old_ref_name": tip});
        gitea.call("POST", &gitea.path("/branches"), name);
        gitea.fault(Fault::on("GET", &theirs).always().then(Effect::ErrorBefore));
        assert!(branch.others().is_err(), "none is left out in silence");
    }
}

#[test]
fn copies_are_of_one_commit_in_one_request_a_page() {
    for gitea in both() {
        let branch = branch(&gitea);
        assert_eq!(branch.copies().unwrap(), [""; 0]);
        write(&branch, "a", &["b", "a"]).unwrap();
        let theirs = ".netbird-gitops/home2/keys/c.age";
        gitea.push(BRANCH, theirs, "sealed", "another environment\n");
        gitea.clear_requests();
        assert_eq!(branch.copies().unwrap(), [key_path("a"), key_path("b")]);
        assert_eq!(gitea.requests().len(), 2, "the tip, and its tree");
        gitea.set_trees_per_page(2);
        let tree = gitea.path(&format!("/git/trees/{}", gitea.tip(BRANCH).unwrap()));
        gitea.after("GET", &tree, |gitea| {
            drop(gitea.change(BRANCH).delete(&key_path("a")).push());
        });
        assert_eq!(branch.copies().unwrap(), [key_path("a"), key_path("b")]);
        assert_eq!(branch.copies().unwrap(), [key_path("b")]);
        let tree = gitea.path(&format!("/git/trees/{}", gitea.tip(BRANCH).unwrap()));
        gitea.fault(Fault::on("GET", &tree).always().then(Effect::ErrorBefore));
        assert!(branch.copies().is_err());
    }
}
