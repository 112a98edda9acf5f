//! Reading and writing one file.

use super::*;
use crate::base::MAX_BYTES;
use crate::forge::gitea::{FileWrite, ForgeFile, GiteaError, NewCommit};

fn read(act: Act) -> Result<ForgeFile, GiteaError> {
    let (_server, repo) = start([act]);
    netbird_json(&repo)
}

fn netbird_json(repo: &Repo) -> Result<ForgeFile, GiteaError> {
    repo.file("main", "netbird.json", MAX_BYTES as u64)
}

fn contents(fields: Value) -> Act {
    let mut file =
        json!({"type": "file", "sha": "b1", "size": 3, "encoding": "base64", "content": "e30K"});
    file.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    reply(200, &file.to_string())
}

#[test]
fn a_recorded_file() {
    for name in ["gitea/contents-get", "forgejo/contents-get"] {
        let file = read(recorded(name)).unwrap();
        let recorded = &recording(name)["response"]["body"];
        assert_eq!(file.sha, recorded["sha"].as_str().unwrap());
        assert_eq!(
            file.last_commit.as_deref(),
            recorded["last_commit_sha"].as_str()
        );
        assert_eq!(file.bytes.len() as u64, recorded["size"].as_u64().unwrap());
        assert!(
            serde_json::from_slice::<Value>(&file.bytes).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn forms_of_content() {
    assert_eq!(read(contents(json!({}))).unwrap().bytes, b"{}\n");
    // Base64 wrapped by a proxy or another server.
    assert_eq!(
        read(contents(json!({"content": "e3\r\n0K\n"})))
            .unwrap()
            .bytes,
        b"{}\n"
    );
    assert_eq!(
        read(contents(json!({"content": "", "size": 0})))
            .unwrap()
            .bytes,
        b""
    );
    for fields in [
        json!({"content": "e30"}),
        json!({"content": "%"}),
        json!({"encoding": "none"}),
    ] {
        let error = read(contents(fields)).unwrap_err().to_string();
        assert!(
            error.ends_with("the answer is not a file in base64"),
            "{error}"
        );
    }
}

#[test]
fn what_is_no_file() {
    for (act, wanted) in [
        (
            reply(200, "[]"),
            "netbird.json is in an empty repository, no file",
        ),
        (
            recorded("forgejo/contents-get-empty-repo"),
            "netbird.json is in an empty repository, no file",
        ),
        (
            reply(200, r#"[{"type": "file", "content": null}]"#),
            "netbird.json is a directory, no file",
        ),
        (
            contents(json!({"type": "symlink", "content": null, "target": "../\u{1b}x"})),
            "netbird.json is a symbolic link to ../x, no file",
        ),
        (
            contents(json!({"type": "submodule", "content": null})),
            "netbird.json is a submodule, no file",
        ),
        (
            recorded("gitea/contents-get-too-big"),
            "netbird.json has 10485761 bytes, and no more than 10485760 are read",
        ),
        (
            recorded("forgejo/contents-get-too-big"),
            "bytes, and no more than 10485760 are read",
        ),
        (contents(json!({"sha": null})), "the answer is not a file"),
        (
            contents(json!({"type": "new thing"})),
            "the answer is not a file",
        ),
        (reply(200, "null"), "the answer is not a file"),
        (reply(200, "7"), "the answer is not a file"),
    ] {
        let error = read(act).unwrap_err().to_string();
        assert!(error.ends_with(wanted), "{error}");
    }
    for name in [
        "gitea/contents-get-missing-file",
        "gitea/contents-get-unknown-ref",
        "gitea/contents-get-empty-repo",
        "forgejo/contents-get-unknown-ref",
    ] {
        let error = read(recorded(name)).unwrap_err();
        assert!(
            error.is_not_found() && error.hint().is_some(),
            "{name}: {error}"
        );
    }
}

#[test]
fn content_that_is_null_comes_raw_where_the_blob_is_the_same() {
    let null = || contents(json!({"content": null, "encoding": null, "last_commit_sha": "c7"}));
    let raw = |tag: &str, body: &str| answer(200, &format!("etag: {tag}\r\n"), body);
    for tag in ["\"b1\"", "W/\"b1\""] {
        let (server, repo) = start([null(), raw(tag, "{}\n")]);
        assert_eq!(netbird_json(&repo).unwrap().bytes, b"{}\n");
        // By commit: a branch that the server does not know is read as the default branch.
        assert_eq!(asked(&server)[1], "GET /raw/netbird.json?ref=c7");
    }
    for act in [
        raw("\"b2\"", "{}\n"),
        raw("\"b1\"", "{}"),
        answer(200, "", "{}\n"),
        recorded("gitea/raw-unknown-ref"),
    ] {
        let (_server, repo) = start([null(), act]);
        let error = netbird_json(&repo).unwrap_err();
        assert!(error.to_string().contains("gave no content"), "{error:?}");
    }
    // the size stands beside a content, too
    for content in [Value::Null, "e30K".into()] {
        let (server, repo) = start([contents(json!({"content": content, "size": 10_485_761}))]);
        let error = netbird_json(&repo).unwrap_err().to_string();
        assert!(error.ends_with("no more than 10485760 are read"), "{error}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[test]
fn paths_and_branches_in_the_request() {
    let (server, repo) = start([file("{}", "b1"), file("{}", "b1")]);
    repo.file("feat/x&ref=y", "./vpn/net bird%#?.json", 9)
        .unwrap();
    assert_eq!(
        asked(&server),
        ["GET /contents/vpn/net%20bird%25%23%3F.json?ref=feat%2Fx%26ref%3Dy"]
    );
    for path in [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a//b",
        ".git/config",
        "a/",
    ] {
        let error = repo.file("main", path, 9).unwrap_err().to_string();
        assert_eq!(error, format!("{path:?} is not a path in the repository"));
    }
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_write_names_blob_branch_and_time() {
    let (server, repo) = start([
        recorded("gitea/contents-put"),
        reply(200, "{\"commit\": null, \"content\": null}"),
        answer(201, "", ""),
    ]);
    let mut file = FileWrite {
        path: "netbird.json".into(),
        bytes: b"\xef\xbb\xbf{}\r\n".to_vec(),
        replaces: Some("b1".into()),
    };
    let mut commit = NewCommit {
        branch: "main",
        new_branch: None,
        message: "m",
        date: "2026-11-27T22:57:09.7Z".parse().unwrap(),
    };
    let recorded = recording("gitea/contents-put");
    let made = recorded["response"]["body"]["commit"]["sha"].as_str();
    assert_eq!(
        repo.commit(std::slice::from_ref(&file), &commit)
            .unwrap()
            .as_deref(),
        made
    );
    assert_eq!(
        body(&server, 0),
        json!({"files": [{"operation": "update", "path": "netbird.json", "content": "77u/e30NCg==", "sha": "b1"}],
               "branch": "main", "message": "m",
               "dates": {"author": "2026-11-27T22:57:09Z", "committer": "2026-11-27T22:57:09Z"}})
    );
    // Success is a matter of the status.
    commit.new_branch = Some("bot/x");
    assert_eq!(
        repo.commit(std::slice::from_ref(&file), &commit).unwrap(),
        None
    );
    assert_eq!(body(&server, 1)["new_branch"], "bot/x");
    assert_eq!(
        repo.commit(std::slice::from_ref(&file), &commit).unwrap(),
        None
    );
    // Without a blob the server would make the file.
    file.replaces = Some(String::new());
    assert!(repo.commit(std::slice::from_ref(&file), &commit).is_err());
    assert_eq!(server.seen().len(), 3);
}
