//! What answers mean: each status that docs/gitea-api.md, "Writing a file", tells of.

use super::*;
use crate::forge::gitea::{FileWrite, GiteaError, NewCommit};

/// The error of a read that is answered so.
fn error_of(act: Act) -> (String, GiteaError) {
    let (server, repo) = start([act]);
    let error = put(&repo).unwrap_err();
    let text = error.to_string().replace(
        &format!("POST {}/api/v1/repos/acme/network/contents", server.url()),
        "POST",
    );
    (text, error)
}

fn put(repo: &Repo) -> Result<Option<String>, GiteaError> {
    let file = FileWrite {
        path: "netbird.json".into(),
        bytes: b"{}".to_vec(),
        replaces: Some("abc".into()),
    };
    let commit = NewCommit {
        branch: "main",
        new_branch: None,
        message: "m",
        date: jiff::Timestamp::UNIX_EPOCH,
    };
    repo.commit(&[file], &commit)
}

#[test]
fn recorded_refusals() {
    for (name, wanted, hint) in [
        (
            "gitea/contents-put-bad-token",
            "POST: 401 invalid username, password or token",
            "GITEA_TOKEN",
        ),
        (
            "forgejo/contents-put-bad-token",
            "POST: 401 user does not exist",
            "GITEA_TOKEN",
        ),
        (
            "gitea/contents-put-scope-too-small",
            "POST: 403 token does not have",
            "the scope write:repository:",
        ),
        (
            "forgejo/contents-put-scope-too-small",
            "POST: 403 token does not have",
            "the scope write:repository:",
        ),
        (
            "gitea/contents-put-protected-branch",
            "POST: 403 user cannot commit to repo [user: gitops-bot]",
            "a branch rule",
        ),
        (
            "gitea/contents-put-read-only-user",
            "POST: 403 user should have",
            "write access",
        ),
        (
            "gitea/contents-put-hook-rejected",
            "POST: 403 policy: not on Fridays",
            "a hook",
        ),
        (
            "gitea/contents-put-archived",
            "POST: 423 acme/hooked is not allowed to edit",
            "archived",
        ),
        (
            "gitea/contents-put-stale-sha",
            "POST: 422 sha does not match",
            "",
        ),
        (
            "forgejo/contents-put-stale-sha",
            "POST: 409 sha does not match",
            "",
        ),
        (
            "forgejo/contents-put-race-loser-500",
            "POST: 500",
            "the cause is in the server's log",
        ),
    ] {
        let (text, error) = error_of(recorded(name));
        assert!(text.starts_with(wanted), "{name}: {text}");
        let found = error.hint().unwrap_or_default();
        assert!(
            found.contains(hint) && found.is_empty() == hint.is_empty(),
            "{name}: {found}"
        );
        assert!(
            !format!("{text}{error:?}{found}").contains("0123456789abcdef"),
            "{name}"
        );
    }
}

#[test]
fn answers_of_proxies_and_of_nobody() {
    for (act, wanted) in [
        (
            answer(
                502,
                "content-type: text/html\r\n",
                "<html>Bad gateway</html>",
            ),
            "POST: 502 (a web page)",
        ),
        (
            answer(413, "content-type: text/html\r\n", "<html>Too large</html>"),
            "POST: 413 (a web page)",
        ),
        (
            answer(
                403,
                "content-type: text/html\r\n",
                "<html>Access denied</html>",
            ),
            "POST answered HTML, not JSON (status 403)",
        ),
        (
            answer(404, "content-type: text/plain\r\n", "404 page not found\n"),
            "POST: 404",
        ),
        (bare(405), "POST: 405"),
        (bare(403), "POST: 403"),
        (
            message(403, &format!("\u{1b}[31m{}", "x".repeat(400))),
            &format!("POST: 403 [31m{}…", "x".repeat(296)),
        ),
    ] {
        let (text, _) = error_of(act);
        assert_eq!(text, wanted);
    }
}

#[test]
fn a_renamed_repository_is_not_followed() {
    let (server, repo) = start([recorded("gitea/renamed-repo-put")]);
    let error = put(&repo).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("the repository is acme/newname now")
    );
    assert!(error.hint().unwrap().contains("--gitea-repo acme/newname"));
    assert_eq!(server.seen().len(), 1);

    for location in [
        "/api/v1/user",
        "/login",
        "https://other.example/api/v1/repos/a/b",
        "",
    ] {
        let (_server, repo) = start([answer(301, &format!("location: {location}\r\n"), "")]);
        let error = repo.tip("main").unwrap_err();
        assert!(
            error.to_string().contains("301 redirect"),
            "{location}: {error}"
        );
    }
    let (_server, repo) = start([answer(
        301,
        "location: /git/api/v1/repos/a%20b/c?x=1\r\n",
        "",
    )]);
    let error = repo.tip("main").unwrap_err().to_string();
    assert!(error.ends_with("the repository is a b/c now"), "{error}");
}

#[test]
fn users_versions_and_names() {
    let (server, repo) = start([
        recorded("gitea/user-get-job-token"),
        recorded("gitea/user-get-expired-job-token"),
        recorded("gitea/version"),
        recorded("forgejo/version"),
    ]);
    let user = repo.user().unwrap();
    assert_eq!((user.id, user.login.as_str()), (-2, "gitea-actions"));
    assert!(repo.user().unwrap_err().is_unauthenticated());
    assert_eq!(repo.version().unwrap(), "1.26.3");
    assert!(repo.version().unwrap().ends_with("+gitea-1.22.0"));
    let seen = server.seen();
    assert_eq!(
        seen[0].header("authorization"),
        Some("token 0123456789abcdef")
    );
    assert_eq!(server.lines()[0], "GET /api/v1/user");

    for name in [
        "",
        "network",
        "acme/",
        "/network",
        "acme/net/work",
        "../network",
        "a b/c",
        "acme/..",
    ] {
        let token = Token::parse("t").unwrap();
        let error = Repo::new(config(&server.url()).unwrap(), &token, name).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{name:?} is not a repository (OWNER/NAME)")
        );
    }
}

#[test]
fn urls_with_sub_paths_keep_them() {
    for (path, wanted) in [
        ("", ""),
        ("/", ""),
        ("/api/v1", ""),
        ("/git", "/git"),
        ("/git/api/v1/", "/git"),
    ] {
        let server = Script::start([tip("c1")]);
        let repo = repo_at(&format!("{}{path}", server.url()), "acme/net.work");
        assert_eq!(repo.tip("rel/1 ä#").unwrap(), "c1");
        let line = format!("GET {wanted}/api/v1/repos/acme/net.work/branches/rel/1%20%C3%A4%23");
        assert_eq!(server.lines(), [line]);
    }
    for url in [
        "http://gitea:3000",
        "https://u:p@git.example",
        "git.example",
    ] {
        assert!(config(url).unwrap_err().is_url_refused(), "{url}");
    }
}
