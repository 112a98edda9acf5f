//! Each refusal of the server, as recorded from a real one, and what it is called here.

use std::time::Duration;

use serde_json::{Value, json as value};

use super::*;
use crate::http::script::{Act, Script, answer, json};
use crate::http::{self, ProxySetting};

const KEY: &str = "A616097E-FCF0-48FA-9354-CA4A61142761";

fn start(acts: impl IntoIterator<Item = Act>) -> (Script, Api) {
    let server = Script::start(acts);
    let mut config = config(&server.url()).unwrap();
    config.proxy = ProxySetting::Direct;
    config.retry.sleep = |_: Duration| {};
    let api = Api::new(config, &Token::parse("nbp_secret").unwrap()).unwrap();
    (server, api)
}

/// The error of one request that gets `status` and a JSON body with `message`, for each try.
fn refused(method: Method, path: &str, status: u16, message: &str) -> ApiError {
    let body = value!({ "message": message, "code": status }).to_string();
    let (_server, api) = start(vec![json(status, &body); 13]);
    request(&api, method, path).unwrap_err()
}

fn request(api: &Api, method: Method, path: &str) -> Result<Value, ApiError> {
    match method {
        Method::Get => api.get(path),
        Method::Post => api.post(path, &value!({})),
        Method::Put => api.put(path, &value!({})),
        Method::Delete => api.delete(path).map(|()| Value::Null),
        Method::Patch => unreachable!("NetBird has no PATCH"),
    }
}

fn class(error: &ApiError) -> &'static str {
    match error {
        ApiError::Unauthenticated(_) => "unauthenticated",
        ApiError::Blocked(_) => "blocked",
        ApiError::Forbidden(_) => "forbidden",
        ApiError::PathUnknown(_) => "path unknown",
        ApiError::NotFound(_) => "not found",
        ApiError::Refused(_) => "refused",
        ApiError::Throttled(_) => "throttled",
        ApiError::Server(_) => "server",
        ApiError::Decode { .. } => "decode",
        ApiError::KeyUnusable { .. } => "key unusable",
        ApiError::BadId { .. } => "bad id",
        ApiError::Http(_) => "http",
    }
}

#[test]
fn classes_by_status_and_message() {
    use Method::*;
    for (method, path, status, message, wanted) in [
        (
            Get,
            "/groups",
            401,
            "no valid authentication provided",
            "unauthenticated",
        ),
        (Get, "/groups", 401, "token invalid", "unauthenticated"),
        (
            Get,
            "/groups",
            404,
            "invalid token: pat: 3sk7+= not found",
            "unauthenticated",
        ),
        (
            Put,
            "/groups/1",
            404,
            "invalid token: pat: 1 not found",
            "unauthenticated",
        ),
        (
            Delete,
            "/groups/x",
            404,
            "invalid token: pat: x not found",
            "unauthenticated",
        ),
        (
            Get,
            "/policies",
            403,
            "failed to validate user permissions: user is blocked",
            "blocked",
        ),
        (Get, "/groups", 403, "user is blocked", "blocked"),
        (
            Get,
            "/policies",
            403,
            "failed to validate user permissions: user is pending approval",
            "blocked",
        ),
        (Post, "/groups", 403, "permission denied", "forbidden"),
        (
            Post,
            "/groups",
            403,
            "failed to validate user permissions: user role: x not found",
            "forbidden",
        ),
        (Get, "/groups", 404, "user role: x not found", "forbidden"),
        (Get, "/groups/d0g", 404, "group: d0g not found", "not found"),
        (Get, "/peers/d0g", 404, "peer not found: d0g", "not found"),
        (
            Delete,
            "/peers/d0g",
            404,
            "peer d0g account not found",
            "not found",
        ),
        (
            Delete,
            "/routes/D0g",
            404,
            "failed to delete route d0g: route: d0g not found",
            "not found",
        ),
        (
            Delete,
            "/groups/d0g",
            400,
            "group: d0g not found",
            "not found",
        ),
        (
            Put,
            "/networks/n/resources/r",
            404,
            "failed to update: group: d0g not found",
            "refused",
        ),
        (Put, "/dns/settings", 404, "account not found: a", "refused"),
        (Get, "/groups?name=x", 404, "group: x not found", "refused"),
        (
            Delete,
            "/groups/d0g",
            400,
            "group has been linked to policy: d0g",
            "refused",
        ),
        (
            Delete,
            "/groups/d0g",
            400,
            "group: d0gx not found",
            "refused",
        ),
        (
            Post,
            "/groups",
            400,
            "couldn't parse JSON request",
            "refused",
        ),
        (
            Post,
            "/groups",
            409,
            "group with name pilots already exists",
            "refused",
        ),
        (
            Delete,
            "/peers/d0g",
            412,
            "peer is linked to a network router: x",
            "refused",
        ),
        (
            Post,
            "/policies",
            422,
            "unknown protocol type: tpc",
            "refused",
        ),
        (Get, "/groups", 429, "too many requests", "throttled"),
        (Post, "/groups", 429, "too many requests", "throttled"),
        (Get, "/users", 500, "internal server error", "server"),
        (Put, "/peers/d0g", 500, "internal server error", "server"),
    ] {
        let error = refused(method, path, status, message);
        assert_eq!(class(&error), wanted, "{method} {path} {status} {message}");
        assert_eq!(error.is_gone(), wanted == "not found");
        assert_eq!(
            error.is_access(),
            matches!(wanted, "unauthenticated" | "blocked" | "forbidden")
        );
        assert_eq!(
            error.outcome_unknown(),
            method.writes() && wanted == "server",
            "{method} {message}"
        );
    }
}

#[test]
fn texts() {
    let (server, api) = start([json(
        404,
        r#"{"message":"invalid token: pat: 3sk7 not found","code":404}"#,
    )]);
    let error = api.list("/groups?x=hunter2").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("GET {}/api/groups: 404 invalid token", server.url())
    );
    assert_eq!(
        error.hint().unwrap(),
        "the token is not known to this server: revoked, or made on another one. Make a new one for the service user \
         (role admin) and store it as NETBIRD_API_TOKEN"
    );
    assert!(
        !format!("{error:?}").contains("3sk7"),
        "no hash of the token"
    );
    let long = refused(
        Method::Get,
        "/x",
        422,
        &format!("a\n\u{1b}[2Jb{}", "c".repeat(400)),
    );
    let text = long.to_string();
    assert!(
        text.contains("422 a [2Jbccc") && text.ends_with("c…"),
        "{text}"
    );
    assert!(text.chars().count() < 370, "{text}");
    assert!(
        refused(Method::Post, "/x", 403, "permission denied")
            .hint()
            .unwrap()
            .contains("auditor")
    );
    let pending = refused(Method::Get, "/x", 403, "user is pending approval");
    assert!(pending.hint().unwrap().contains("approve"));
}

#[test]
fn names_taken() {
    let taken =
        |status, message: &str| refused(Method::Post, "/x", status, message).already_exists();
    assert!(taken(409, "group with name pilots already exists"));
    assert!(taken(422, "nameserver group with name corp already exist"));
    assert!(!taken(422, "unknown protocol type"));
    assert!(!taken(400, "already exists"));
}

#[test]
fn paths_the_server_does_not_have() {
    let plain = answer(
        404,
        "content-type: text/plain; charset=utf-8\r\n",
        "404 page not found\n",
    );
    for method in [Method::Get, Method::Post, Method::Put, Method::Delete] {
        let (server, api) = start([plain.clone()]);
        let error = request(&api, method, "/dns/zones").unwrap_err();
        assert_eq!(class(&error), "path unknown");
        assert!(!error.is_gone());
        assert_eq!(
            error.to_string(),
            format!(
                "{method} {}/api/dns/zones: 404 page not found",
                server.url()
            )
        );
        assert_eq!(
            error.hint().as_deref(),
            Some("this server has no /api/dns/zones: an older server, or a wrong base URL")
        );
    }
    for other in [
        answer(404, "content-type: text/html\r\n", "<h1>404</h1>"),
        answer(404, "", ""),
    ] {
        let (_server, api) = start([other]);
        assert_eq!(class(&api.get("/groups").unwrap_err()), "http");
    }
}

#[test]
fn failures_of_something_before_the_server() {
    let page = "<html>Bad Gateway</html>";
    let (server, api) = start(vec![answer(502, "content-type: text/html\r\n", page); 4]);
    let error = api.list("/groups").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("GET {}/api/groups: 502 (a web page)", server.url())
    );
    assert_eq!(server.seen().len(), 4);
    let (server, api) = start([answer(502, "", "upstream hunter2")]);
    let error = api.post("/setup-keys", &value!({})).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("POST {}/api/setup-keys: 502", server.url())
    );
    assert!(error.outcome_unknown());
    for status in [200, 401, 403] {
        let (_server, api) = start([answer(status, "content-type: text/html\r\n", page)]);
        let error = api.list("/groups").unwrap_err();
        assert!(
            matches!(
                &error,
                ApiError::Http(http::Error::NotJson { html: true, .. })
            ),
            "{error:?}"
        );
    }
}

#[test]
fn request_ids_lead_to_the_log() {
    let body = r#"{"message":"internal server error","code":500}"#;
    let (_server, api) = start([answer(500, "x-request-id: dc50o5\r\n", body)]);
    let error = api.put("/peers/1", &value!({})).unwrap_err();
    assert!(error.hint().unwrap().contains("dc50o5"));
}

#[test]
fn lists_and_objects() {
    let (_server, api) = start([
        json(200, "null"),
        json(200, "[1]"),
        json(200, "{}"),
        json(200, "[]"),
        json(200, "null"),
    ]);
    assert!(api.list("/x").unwrap().is_empty());
    assert_eq!(api.list("/x").unwrap(), [value!(1)]);
    let error = api.list("/x").unwrap_err().to_string();
    assert!(
        error.ends_with("/api/x: the answer is an object, not a list"),
        "{error}"
    );
    let error = api.get("/x").unwrap_err().to_string();
    assert!(
        error.ends_with("/api/x: the answer is a list, not an object"),
        "{error}"
    );
    let error = api.post("/x", &value!({})).unwrap_err();
    assert!(error.outcome_unknown(), "{error}");
}

#[test]
fn deletions_take_any_success() {
    let (_server, api) = start([
        json(200, "{}"),
        answer(200, "", ""),
        Act::Send(b"HTTP/1.1 204 X\r\n\r\n".to_vec()),
    ]);
    for _ in 0..3 {
        api.delete("/groups/1").unwrap();
    }
}

#[test]
fn a_deletion_that_arrived_twice_is_gone() {
    let (server, api) = start([
        Act::Close,
        json(400, r#"{"message":"group: d0g not found","code":400}"#),
    ]);
    assert!(api.delete("/groups/d0g").unwrap_err().is_gone());
    assert_eq!(server.lines(), ["DELETE /api/groups/d0g"; 2]);
}

#[test]
fn a_created_key_leaves_the_object() {
    let body = format!(r#"{{"id":"k1","name":"n","key":"{KEY}"}}"#);
    let (_server, api) = start([json(200, &body)]);
    let (object, key) = api.create_key("/setup-keys", &value!({})).unwrap();
    assert_eq!(object, value!({"id": "k1", "name": "n"}));
    assert_eq!(secrecy::ExposeSecret::expose_secret(&key), KEY);
    assert!(!format!("{object:?} {key:?}").contains("A616"));
}

#[test]
fn an_unusable_key_is_not_shown() {
    for (key, wanted) in [
        (
            value!("A616097E-FCF0-****-****-************"),
            "is masked with stars",
        ),
        (value!("A616****"), "is masked with stars"),
        (value!("A616097E-FCF0-48FA-9354-CA4A6114276"), "is no UUID"),
        (value!("A616097E-FCF0-48FA-9354-CA4A6114276x"), "is no UUID"),
        (value!("A616097EFCF048FA9354CA4A61142761FFFF"), "is no UUID"),
        (value!(""), "is no UUID"),
        (value!(616), "is not in the answer"),
        (value!(null), "is not in the answer"),
    ] {
        let (_server, api) = start([json(200, &value!({"id": "k1", "key": key}).to_string())]);
        let error = api.create_key("/setup-keys", &value!({})).unwrap_err();
        let said = format!("{error} {error:?} {:?}", error.hint());
        assert!(said.contains(wanted) && said.contains("k1"), "{said}");
        assert!(!said.contains("A616"), "{said}");
        assert!(!error.outcome_unknown());
    }
}

#[test]
fn a_lost_key_is_unknown_and_made_once() {
    let cut = format!("HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{{\"key\":\"{KEY}\"");
    for act in [
        Act::SendAndClose(cut.into_bytes()),
        answer(200, "", format!("{{\"key\":\"{KEY}\"")),
        Act::Close,
    ] {
        let (server, api) = start([act]);
        let error = api.create_key("/setup-keys", &value!({})).unwrap_err();
        assert!(error.outcome_unknown(), "{error:?}");
        assert!(
            !format!("{error} {error:?} {:?}", error.hint()).contains("A616"),
            "{error}"
        );
        assert_eq!(server.seen().len(), 1);
    }
}

#[test]
fn urls_that_a_gate_refuses() {
    for url in [
        "",
        "http://nb.example",
        "https://u:p@nb.example",
        "nb.example",
    ] {
        let error = config(url).unwrap_err();
        assert!(
            error.is_url_refused() && error.hint().is_some(),
            "{url}: {error:?}"
        );
    }
    assert_eq!(
        config("https://nb.example/").unwrap().base.to_string(),
        "https://nb.example/api"
    );
}

#[test]
fn object_paths() {
    assert_eq!(
        object_path("/groups", "ch8i4ug6lnn4g9hqv7m0").unwrap(),
        "/groups/ch8i4ug6lnn4g9hqv7m0"
    );
    assert_eq!(
        object_path("/groups", "a/../b?c#d e%ä").unwrap(),
        "/groups/a%2F..%2Fb%3Fc%23d%20e%25%C3%A4"
    );
    assert_eq!(
        object_path("/groups", "a-b.c_d~e").unwrap(),
        "/groups/a-b.c_d~e"
    );
    for id in ["", ".", ".."] {
        assert_eq!(class(&object_path("/groups", id).unwrap_err()), "bad id");
    }
}
