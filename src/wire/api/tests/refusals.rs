//! Each refusal of the server, as recorded from a real one, and what it is called here.

use serde_json::{Value, json as value};

use super::start;
use crate::wire::api::{Api, ApiError};
use crate::wire::http::tests::script::{answer, json};
use crate::wire::http::{Method, Trouble};

/// The error of one request that gets `status` and a JSON body with `message`, for each try.
fn refused(method: Method, path: &str, status: u16, message: &str) -> ApiError {
    let body = value!({ "message": message, "code": status }).to_string();
    let (_server, api) = start(vec![json(status, &body); 13]);
    request(&api, method, path).unwrap_err()
}

fn request(api: &Api, method: Method, path: &str) -> Result<Value, ApiError> {
    match method {
        Method::GET => api.get(path),
        Method::POST => api.post(path, &value!({})),
        Method::PUT => api.put(path, &value!({})),
        Method::DELETE => api.delete(path).map(|()| Value::Null),
        _ => unreachable!("NetBird has no other"),
    }
}

#[test]
fn classes_by_status_and_message() {
    use Trouble::*;
    for (method, path, status, message, wanted) in [
        (
            Method::GET,
            "/groups",
            401,
            "no valid authentication provided",
            Unauthenticated,
        ),
        (
            Method::GET,
            "/groups",
            401,
            "token invalid",
            Unauthenticated,
        ),
        (
            Method::GET,
            "/groups",
            404,
            "invalid token: pat: 3sk7+= not found",
            Unauthenticated,
        ),
        (
            Method::PUT,
            "/groups/1",
            404,
            "invalid token: pat: 1 not found",
            Unauthenticated,
        ),
        (
            Method::DELETE,
            "/groups/x",
            404,
            "invalid token: pat: x not found",
            Unauthenticated,
        ),
        (
            Method::GET,
            "/policies",
            403,
            "failed to validate user permissions: user is blocked",
            Blocked,
        ),
        (Method::GET, "/groups", 403, "user is blocked", Blocked),
        (
            Method::GET,
            "/policies",
            403,
            "failed to validate user permissions: user is pending approval",
            Pending,
        ),
        (Method::POST, "/groups", 403, "permission denied", Forbidden),
        (
            Method::POST,
            "/groups",
            403,
            "failed to validate user permissions: user role: x not found",
            Forbidden,
        ),
        (
            Method::GET,
            "/groups",
            404,
            "user role: x not found",
            Forbidden,
        ),
        (
            Method::GET,
            "/groups/d0g",
            404,
            "group: d0g not found",
            NotFound,
        ),
        (
            Method::GET,
            "/peers/d0g",
            404,
            "peer not found: d0g",
            NotFound,
        ),
        (
            Method::DELETE,
            "/peers/d0g",
            404,
            "peer d0g account not found",
            NotFound,
        ),
        (
            Method::DELETE,
            "/routes/D0g",
            404,
            "failed to delete route d0g: route: d0g not found",
            NotFound,
        ),
        (
            Method::DELETE,
            "/groups/d0g",
            400,
            "group: d0g not found",
            NotFound,
        ),
        (
            Method::PUT,
            "/networks/n/resources/r",
            404,
            "failed to update: group: d0g not found",
            Refused,
        ),
        (
            Method::PUT,
            "/dns/settings",
            404,
            "account not found: a",
            Refused,
        ),
        (
            Method::GET,
            "/groups?name=x",
            404,
            "group: x not found",
            Refused,
        ),
        (
            Method::DELETE,
            "/groups/d0g",
            400,
            "group has been linked to policy: d0g",
            Refused,
        ),
        (
            Method::DELETE,
            "/groups/d0g",
            400,
            "group: d0gx not found",
            Refused,
        ),
        (
            Method::POST,
            "/groups",
            400,
            "couldn't parse JSON request",
            Refused,
        ),
        (
            Method::POST,
            "/groups",
            409,
            "group with name pilots already exists",
            Refused,
        ),
        (
            Method::DELETE,
            "/peers/d0g",
            412,
            "peer is linked to a network router: x",
            Refused,
        ),
        (
            Method::POST,
            "/policies",
            422,
            "unknown protocol type: tpc",
            Refused,
        ),
        (Method::GET, "/groups", 429, "too many requests", Throttled),
        (Method::POST, "/groups", 429, "too many requests", Throttled),
        (Method::GET, "/users", 500, "internal server error", Server),
        (
            Method::PUT,
            "/peers/d0g",
            500,
            "internal server error",
            Server,
        ),
    ] {
        let error = refused(method.clone(), path, status, message);
        assert_eq!(error.trouble, wanted, "{method} {path} {status} {message}");
        assert_eq!(error.is_gone(), wanted == NotFound);
        assert_eq!(
            error.is_access(),
            matches!(wanted, Unauthenticated | Blocked | Pending | Forbidden)
        );
        assert_eq!(
            error.outcome_unknown,
            !method.is_safe() && wanted == Server,
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
        "the token is expired, revoked, cut off, or of another server: set NETBIRD_API_TOKEN to a new token of the service \
         user\nplan needs the role auditor, apply the role admin; in a job the token comes from the secret \
         NETBIRD_PLAN_TOKEN (plan, drift) or NETBIRD_APPLY_TOKEN (apply, sync-events)"
    );
    assert!(
        !format!("{error:?}").contains("3sk7"),
        "no hash of the token"
    );
    let long = refused(
        Method::GET,
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
        refused(Method::POST, "/x", 403, "permission denied")
            .hint()
            .unwrap()
            .contains("auditor")
    );
    let pending = refused(Method::GET, "/x", 403, "user is pending approval");
    assert!(pending.hint().unwrap().contains("approve"));
}

#[test]
fn names_taken() {
    let taken =
        |status, message: &str| refused(Method::POST, "/x", status, message).already_exists();
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
    for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
        let (server, api) = start([plain.clone()]);
        let error = request(&api, method.clone(), "/dns/zones").unwrap_err();
        assert_eq!(error.trouble, Trouble::PathUnknown);
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
            Some(
                "this server does not have /api/dns/zones: it is too old, or the base URL is wrong"
            )
        );
    }
    for other in [
        answer(404, "content-type: text/html\r\n", "<h1>404</h1>"),
        answer(404, "", ""),
    ] {
        let (_server, api) = start([other]);
        assert!(matches!(api.get("/groups"), Err(error) if error.answer.is_none()));
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
    assert!(error.outcome_unknown);
    for status in [200, 401, 403] {
        let (_server, api) = start([answer(status, "content-type: text/html\r\n", page)]);
        let error = api.list("/groups").unwrap_err();
        assert_eq!(error.trouble, Trouble::NotJson(status));
        assert!(error.to_string().contains("answered HTML"), "{error}");
    }
}

#[test]
fn request_ids_lead_to_the_log() {
    let body = r#"{"message":"internal server error","code":500}"#;
    let (_server, api) = start([answer(500, "x-request-id: dc50o5\r\n", body)]);
    let error = api.put("/peers/1", &value!({})).unwrap_err();
    assert!(error.hint().unwrap().contains("dc50o5"));
}
