//! A branch for the inventory, as gitea-api.md has it in its last section: each row was run on Gitea 1.26.3 and Forgejo
//! 15.0.3. What is said of `git/trees` and `/commits` was read in Gitea's source.

use std::sync::{Arc, Mutex};

use fakes::Gitea;
use fakes::client::Answer;
use serde_json::{Value, json};

use super::{base64, message, send, send_as};

const K: &str = "netbird-gitops/inventory";
const PATH: &str = ".netbird-gitops/default/inventory.json";
const KEY: &str = ".netbird-gitops/default/keys/a.k1.age";

fn both() -> [Gitea; 2] {
    [Gitea::start(), Gitea::start_forgejo()]
}

fn get(gitea: &Gitea, rest: &str) -> Answer {
    send(gitea, "GET", rest, None)
}

fn file(path: &str, text: &str, sha: Option<String>) -> Value {
    let operation = if sha.is_some() { "update" } else { "create" };
    json!({"operation": operation, "path": path, "content": base64(text), "sha": sha})
}

fn post(gitea: &Gitea, new_branch: bool, files: &[Value]) -> Answer {
    let mut body =
        json!({"branch": if new_branch { "main" } else { K }, "message": "m", "files": files});
    if new_branch {
        body["new_branch"] = json!(K);
    }
    send(gitea, "POST", "/contents", Some(body))
}

/// The branch with an inventory `one`.
fn begun(gitea: &Gitea) {
    assert_eq!(post(gitea, true, &[file(PATH, "one", None)]).status, 201);
}

/// As Gitea 1.26.3 was that was killed between git's part of a commit and its own.
#[test]
fn branch_that_git_alone_has_is_a_500_until_somebody_pushes_to_it() {
    let gitea = Gitea::start();
    begun(&gitea);
    gitea.forget_branch(K);
    let file_of_branch = format!("/contents/{PATH}?ref={K}");
    let branch = format!("/branches/{K}");
    for rest in [&file_of_branch, &branch] {
        assert_eq!(get(&gitea, rest).status, 404, "{rest}");
    }
    let refs = get(&gitea, &format!("/git/refs/heads/{K}"));
    assert_eq!(refs.json[0]["ref"], json!(format!("refs/heads/{K}")));
    let nothing = get(&gitea, "/git/refs/heads/nothing");
    assert_eq!(nothing.status, 404);
    for new_branch in [true, false] {
        let write = post(&gitea, new_branch, &[file(KEY, "two", None)]);
        assert_eq!((write.status, message(&write)), (500, String::new()));
    }
    gitea.push(K, "README.md", "by hand\n", "by hand\n");
    assert_eq!(get(&gitea, &branch).status, 200);
    assert_eq!(post(&gitea, false, &[file(KEY, "two", None)]).status, 201);
}

#[test]
fn first_commit_makes_the_branch() {
    for gitea in both() {
        begun(&gitea);
        assert_eq!(gitea.files(K), [PATH, "netbird.json"]);
        assert_eq!(gitea.branches(), ["main", K]);
        let again = post(&gitea, true, &[file(PATH, "two", None)]);
        assert_eq!(again.status, 422, "{}", again.text);
        assert!(message(&again).contains("already exists"));
        for name in [K, "netbird-gitops%2Finventory"] {
            let branch = get(&gitea, &format!("/branches/{name}")).json;
            assert_eq!(branch["commit"]["id"], json!(gitea.tip(K)));
        }
        let head = format!("/compare/main...{K}");
        assert_eq!(get(&gitea, &head).json["total_commits"], 1);
        let unknown = format!("/compare/main...{}", "0".repeat(40));
        assert_eq!(get(&gitea, &unknown).status, 404);
    }
}

#[test]
fn branch_beside_its_own_folder_cannot_be_made() {
    let (gitea, forgejo) = (Gitea::start(), Gitea::start_forgejo());
    for gitea in [&gitea, &forgejo] {
        gitea.push("netbird-gitops", "x", "y", "in the way\n");
    }
    let answer = post(&gitea, true, &[file(PATH, "one", None)]);
    assert_eq!(answer.status, 403);
    assert!(message(&answer).contains("'refs/heads/netbird-gitops' exists; cannot create"));
    let answer = post(&forgejo, true, &[file(PATH, "one", None)]);
    assert_eq!((answer.status, message(&answer).as_str()), (500, ""));
}

#[test]
fn update_and_creation_are_one_commit() {
    for gitea in both() {
        begun(&gitea);
        let files = [file(PATH, "two", gitea.sha(K, PATH)), file(KEY, "k", None)];
        assert_eq!(post(&gitea, false, &files).status, 201);
        assert_eq!(gitea.log(K)[0].paths, [PATH, KEY]);
        assert_eq!(gitea.file(K, PATH), b"two");
    }
}

#[test]
fn stale_sha_or_a_path_that_exists_writes_nothing() {
    for (gitea, stale) in both().into_iter().zip([422, 409]) {
        begun(&gitea);
        let before = gitea.tip(K);
        let old = Some("0".repeat(40));
        let answer = post(
            &gitea,
            false,
            &[file(KEY, "k", None), file(PATH, "two", old)],
        );
        assert_eq!(answer.status, stale);
        assert!(message(&answer).starts_with("sha does not match [given: 000"));
        let answer = post(
            &gitea,
            false,
            &[file(KEY, "k", None), file(PATH, "two", None)],
        );
        assert_eq!(answer.status, 422);
        assert!(message(&answer).starts_with("repository file already exists"));
        assert_eq!(gitea.tip(K), before);
    }
}

#[test]
fn update_of_what_is_gone() {
    for (gitea, missing) in both().into_iter().zip([404, 500]) {
        begun(&gitea);
        let sha = gitea.sha(K, PATH);
        gitea.change(K).delete(PATH).push();
        assert_eq!(
            post(&gitea, false, &[file(PATH, "two", sha.clone())]).status,
            missing
        );
        let path = gitea.path(&format!("/branches/{K}"));
        assert_eq!(gitea.call("DELETE", &path, Value::Null).0, 204);
        let answer = post(&gitea, false, &[file(PATH, "two", sha)]);
        assert_eq!(answer.status, 404);
        assert!(message(&answer).starts_with("branch does not exist"));
    }
}

#[test]
fn branch_and_path_and_repository_that_are_not_there() {
    for gitea in both() {
        let contents = |path: &str| get(&gitea, &format!("/contents/{path}?ref={K}"));
        let answer = contents(PATH);
        assert_eq!(answer.status, 404);
        let of_branch = format!("object does not exist [id: {K}, rel_path: ]");
        assert_eq!(answer.json["errors"], json!([of_branch]));
        begun(&gitea);
        let answer = contents(KEY);
        assert_eq!(answer.status, 404);
        let of_path = format!("object does not exist [id: , rel_path: {KEY}]");
        assert_eq!(answer.json["errors"], json!([of_path]));
        let stranger = gitea.add_user("mallory", "none");
        let path = format!("/contents/{PATH}?ref={K}");
        assert_eq!(send_as(&gitea, &stranger, "GET", &path, None).status, 404);
    }
}

#[test]
fn large_file_has_no_content_and_is_whole_in_raw() {
    for gitea in both() {
        gitea.set_max_blob_size(3);
        begun(&gitea);
        assert_eq!(
            get(&gitea, &format!("/contents/{PATH}?ref={K}")).json["content"],
            json!("b25l")
        );
        let text = "four";
        assert_eq!(
            post(&gitea, false, &[file(PATH, text, gitea.sha(K, PATH))]).status,
            201
        );
        let (sha, tip) = (
            gitea.sha(K, PATH).expect("a blob"),
            gitea.tip(K).expect("a tip"),
        );
        let empty = if gitea.call("GET", "/version", Value::Null).1["version"] == "1.26.3" {
            Value::Null
        } else {
            json!("")
        };
        for rest in [
            format!("/contents/{PATH}?ref={K}"),
            format!("/git/blobs/{sha}"),
        ] {
            let shown = get(&gitea, &rest).json;
            assert_eq!(
                (&shown["content"], &shown["size"]),
                (&empty, &json!(4)),
                "{rest}"
            );
        }
        for name in [tip.as_str(), K] {
            let raw = get(&gitea, &format!("/raw/{PATH}?ref={name}"));
            assert_eq!((raw.status, raw.text.as_str()), (200, text));
            let header = |name: &str| {
                let mut headers = raw.headers.iter();
                headers
                    .find(|(key, _)| key == name)
                    .map(|(_, value)| value.clone())
            };
            assert_eq!(header("etag"), Some(format!("\"{sha}\"")));
            assert!(
                header("cache-control").is_some_and(|value| value.starts_with("private, max-age="))
            );
        }
        assert_eq!(get(&gitea, &format!("/raw/{PATH}?ref=nope")).status, 404);
    }
}

#[test]
fn raw_falls_back_to_the_default_branch_on_gitea() {
    for (gitea, status) in both().into_iter().zip([200, 404]) {
        assert_eq!(get(&gitea, "/raw/netbird.json?ref=nope").status, status);
    }
}

#[test]
fn tree_in_one_answer_or_in_pages() {
    for gitea in both() {
        begun(&gitea);
        gitea.push(K, KEY, "k", "a key\n");
        let tip = gitea.tip(K).expect("a tip");
        let trees = |query: &str| {
            get(
                &gitea,
                &format!("/git/trees/netbird-gitops%2Finventory{query}"),
            )
            .json
        };
        let paths = |tree: &Value| -> Vec<String> {
            let entries = tree["tree"].as_array().cloned().unwrap_or_default();
            let path = |entry: &Value| Some(entry["path"].as_str()?.to_owned());
            entries.iter().filter_map(path).collect()
        };
        let folders = [
            ".netbird-gitops",
            ".netbird-gitops/default",
            ".netbird-gitops/default/keys",
        ];
        let all = [
            folders[0],
            folders[1],
            PATH,
            folders[2],
            KEY,
            "netbird.json",
        ];
        let whole = trees("?recursive=1");
        assert_eq!(paths(&whole), all);
        assert_eq!(
            (&whole["sha"], &whole["truncated"]),
            (&json!(tip), &json!(false))
        );
        let entry = &whole["tree"][4];
        assert_eq!(
            (&entry["type"], &entry["mode"], &entry["size"]),
            (&json!("blob"), &json!("100644"), &json!(1))
        );
        assert_eq!(
            (&whole["tree"][0]["type"], &whole["tree"][0]["size"]),
            (&json!("tree"), &json!(0))
        );
        assert_eq!(paths(&trees("")), [folders[0], "netbird.json"]);
        let page = |number: usize| {
            let tree = trees(&format!("?recursive=1&per_page=4&page={number}"));
            (
                paths(&tree),
                tree["truncated"].clone(),
                tree["total_count"].clone(),
            )
        };
        let of = |paths: &[&str]| {
            paths
                .iter()
                .map(|path| (*path).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(page(1), (of(&all[..4]), json!(true), json!(6)));
        assert_eq!(page(2), (of(&all[4..]), json!(false), json!(6)));
        assert_eq!(trees("?recursive=1&per_page=4&page=3")["tree"], Value::Null);
        gitea.set_trees_per_page(2);
        assert_eq!(paths(&trees("?recursive=1&per_page=1000")), all[..2]);
        assert_eq!(
            paths(&get(&gitea, &format!("/git/trees/{tip}")).json).len(),
            2
        );
        let answer = get(&gitea, "/git/trees/nope?recursive=1");
        assert_eq!(
            (answer.status, message(&answer).as_str()),
            (400, "sha not found [nope]")
        );
        let answer = get(&gitea, &format!("/git/trees/{K}?recursive=1"));
        assert_eq!(
            answer.text, "404 page not found\n",
            "a part of the path has no slash"
        );
    }
}

#[test]
fn commits_of_a_path() {
    let gitea = Gitea::start();
    begun(&gitea);
    gitea.push(K, "x", "y", "another file\n");
    gitea.push(K, PATH, "two", "two\n");
    let list =
        |path: &str, name: &str| get(&gitea, &format!("/commits?sha={name}&path={path}&limit=1"));
    let shown = list(PATH, K).json;
    let log = gitea.log(K);
    let ids: Vec<&Value> = shown
        .as_array()
        .into_iter()
        .flatten()
        .map(|commit| &commit["sha"])
        .collect();
    assert_eq!(
        ids,
        [&json!(log[0].sha), &json!(log[2].sha)],
        "the limit is ignored"
    );
    assert_eq!(shown[0]["commit"]["message"], "two\n");
    assert_eq!(list("nope", K).status, 404);
    assert_eq!(list(PATH, "nope").status, 500);
    assert_eq!(
        get(&gitea, "/commits").json[0]["sha"],
        json!(gitea.tip("main"))
    );
}

#[test]
fn watcher_sees_each_request_as_it_arrives() {
    let gitea = Gitea::start();
    let seen = Arc::new(Mutex::new(Vec::new()));
    gitea.watch({
        let (seen, token) = (Arc::clone(&seen), format!("token {}", gitea.token()));
        move |request| {
            assert_eq!(request.header("authorization"), Some(token.as_str()));
            seen.lock()
                .expect("no test panicked")
                .push((request.method.clone(), request.status));
        }
    });
    begun(&gitea);
    get(&gitea, "");
    gitea.clear_faults();
    get(&gitea, "");
    let seen = seen.lock().expect("no test panicked");
    assert_eq!(*seen, [("POST".to_owned(), 0), ("GET".to_owned(), 0)]);
}
