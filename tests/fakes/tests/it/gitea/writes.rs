//! Files, commits and branches: what is read, and what a write leaves behind.

use std::process::Command;

use fakes::Gitea;
use serde_json::{Value, json};

use super::{FILE, base64, message, put, put_body, send, text};

#[test]
fn write_is_a_real_commit() {
    let gitea = Gitea::start();
    gitea.set_clock(1_795_820_567);
    let before = gitea.tip("main").expect("a tip");
    let answer = put(&gitea, "{}\r\n");
    assert_eq!(answer.status, 200);
    let log = gitea.log("main");
    assert_eq!(json!(log[0].sha), answer.json["commit"]["sha"]);
    assert_eq!(log[0].parents, [before]);
    assert_eq!(log[0].message, "a change\n");
    assert_eq!(log[0].author.name, "gitops-bot");
    assert_eq!(log[0].author.email, "gitops-bot@example.com");
    assert_eq!(log[0].committer.date, "2026-11-27T23:02:47Z");
    assert_eq!(log[0].pusher, "gitops-bot");
    assert_eq!(log[0].paths, ["netbird.json"]);
    assert_eq!(text(&gitea), "{}\r\n");
    assert_eq!(gitea.requests()[0].status, 200);
}

#[test]
fn author_is_free_text_and_the_pusher_is_not() {
    let gitea = Gitea::start();
    let mut body = put_body(&gitea, "{}");
    body["committer"] = json!({"name": "NetBird", "email": "n@example.com"});
    body["dates"] = json!({"author": "2026-01-02T03:04:06+02:00"});
    assert_eq!(send(&gitea, "PUT", FILE, Some(body)).status, 200);
    let log = gitea.log("main");
    assert_eq!(log[0].author.name, "NetBird");
    assert_eq!(log[0].author.date, "2026-01-02T03:04:06+02:00");
    assert_eq!(log[0].pusher, "gitops-bot");
}

#[test]
fn executable_stays_executable_and_symlinks_are_no_files() {
    let gitea = Gitea::start();
    let change = gitea
        .change("main")
        .file_of_mode("netbird.json", "100755", "{}");
    change.file_of_mode("link", "120000", "netbird.json").push();
    assert_eq!(put(&gitea, "{ }").status, 200);
    let link = send(&gitea, "GET", "/contents/link", None).json;
    let facts = [&link["type"], &link["content"], &link["target"]];
    assert_eq!(
        facts,
        [&json!("symlink"), &Value::Null, &json!("netbird.json")]
    );
    let body = json!({"content": "eA==", "sha": link["sha"], "branch": "main"});
    assert_eq!(
        send(&gitea, "PUT", "/contents/link", Some(body)).status,
        422
    );

    let clone = gitea.git_dir().with_file_name("clone");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"])
        .arg(gitea.git_dir())
        .arg(&clone);
    assert!(git.status().expect("git is installed").success());
    assert_eq!(
        std::fs::read(clone.join("link")).expect("a link to a file"),
        b"{ }"
    );
}

#[test]
fn push_by_git_is_seen() {
    let gitea = Gitea::start();
    let number = gitea.open_pr("feature", "main");
    let tip = gitea.push("other", "x", "y", "by git\n");
    let mut git = Command::new("git");
    git.arg("-C").arg(gitea.git_dir());
    git.args(["update-ref", "refs/heads/feature", &tip]);
    assert!(git.status().expect("git is installed").success());
    let pull = send(&gitea, "GET", &format!("/pulls/{number}"), None);
    assert_eq!(pull.json["head"]["sha"], json!(tip));
}

#[test]
fn body_must_be_sent_as_json_and_names_be_short() {
    let gitea = Gitea::start();
    for (field, value, wanted) in [
        ("new_branch", "x".repeat(101), "[NewBranchName]: MaxSize"),
        (
            "content",
            "eA".to_owned(),
            "Invalid base64: illegal base64 data",
        ),
    ] {
        let mut body = put_body(&gitea, "{}");
        body[field] = json!(value);
        let answer = send(&gitea, "PUT", FILE, Some(body));
        assert_eq!((answer.status, message(&answer).as_str()), (422, wanted));
    }
    let answer = send(&gitea, "PUT", FILE, None);
    assert_eq!(message(&answer), "[]: Unsupported Content-Type");
    let body = json!({"content": "eA==", "branch": "main"});
    let answer = send(&gitea, "PUT", "/contents/a/.git/x", Some(body));
    assert_eq!(answer.status, 422, "{}", answer.text);
}

#[test]
fn empty_repository_takes_any_sha_on_gitea() {
    for (gitea, status) in [(Gitea::start(), 200), (Gitea::start_forgejo(), 422)] {
        let body = put_body(&gitea, "first");
        gitea.empty();
        assert_eq!(send(&gitea, "PUT", FILE, Some(body)).status, status);
        assert_eq!(gitea.log("main").len(), usize::from(status == 200));
    }
}

#[test]
fn delete_needs_the_sha() {
    for (gitea, stale) in [(Gitea::start(), 422), (Gitea::start_forgejo(), 400)] {
        let delete = |sha: Value| {
            let body = json!({"sha": sha, "branch": "main"});
            send(&gitea, "DELETE", FILE, Some(body))
        };
        assert_eq!(delete(json!("0".repeat(40))).status, stale);
        assert_eq!(message(&delete(Value::Null)), "[SHA]: Required");
        let done = delete(json!(gitea.sha("main", "netbird.json")));
        assert_eq!((done.status, &done.json["content"]), (200, &Value::Null));
        assert_eq!(gitea.files("main"), [""; 0]);
        assert_eq!(delete(json!("0".repeat(40))).status, 404);
    }
}

#[test]
fn several_files_in_one_commit() {
    let gitea = Gitea::start();
    let body = json!({"branch": "main", "new_branch": "enrol/x", "files": [
        {"operation": "update", "path": "netbird.json", "content": base64("{}")},
        {"operation": "create", "path": "docs/a.md", "content": base64("a")},
    ]});
    let answer = send(&gitea, "POST", "/contents", Some(body.clone()));
    assert_eq!(
        answer.status, 201,
        "without a sha it overwrites: {}",
        answer.text
    );
    assert_eq!(gitea.files("enrol/x"), ["docs/a.md", "netbird.json"]);
    assert_eq!(gitea.log("enrol/x")[0].paths, ["docs/a.md", "netbird.json"]);
    assert_eq!(gitea.files("main"), ["netbird.json"]);
}

#[test]
fn branches_come_and_go() {
    let gitea = Gitea::start();
    let create = || {
        let body = json!({"new_branch_name": "enrol/1", "old_ref_name": "main"});
        send(&gitea, "POST", "/branches", Some(body)).status
    };
    assert_eq!([create(), create()], [201, 409]);
    assert_eq!(gitea.branches(), ["enrol/1", "main"]);
    let branch = send(&gitea, "GET", "/branches/enrol/1", None).json;
    assert_eq!(branch["commit"]["id"], json!(gitea.tip("main")));
    let delete = |name: &str| send(&gitea, "DELETE", &format!("/branches/{name}"), None).status;
    assert_eq!(
        [delete("enrol/1"), delete("enrol/1"), delete("main")],
        [204, 404, 403]
    );
}

#[test]
fn short_ids_are_refs_on_forgejo_alone() {
    for (gitea, status) in [(Gitea::start(), 404), (Gitea::start_forgejo(), 200)] {
        let tip = gitea.tip("main").expect("a tip");
        let get = |name: &str| send(&gitea, "GET", &format!("{FILE}?ref={name}"), None).status;
        assert_eq!(get(&tip), 200);
        assert_eq!([get(&tip[..8]), get("refs/heads/main")], [status; 2]);
    }
}

#[test]
fn wrong_method_and_unknown_route() {
    let gitea = Gitea::start();
    let head = send(&gitea, "HEAD", FILE, None);
    assert_eq!(head.status, 405);
    let answer = send(&gitea, "GET", "/nothing", None);
    assert_eq!(
        (answer.status, answer.text.as_str()),
        (404, "404 page not found\n")
    );
    assert_eq!(send(&gitea, "GET", "//branches//main/", None).status, 200);
}

#[test]
fn repository_goes_with_the_last_handle() {
    let gitea = Gitea::start();
    let (folder, other) = (gitea.git_dir(), gitea.clone());
    drop(gitea);
    assert!(folder.exists());
    drop(other);
    assert!(!folder.exists());
}
