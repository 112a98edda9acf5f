//! What is sent, and what comes of answers that are complete.

use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::json as value;

use super::{client, config, ok, start};
use crate::wire::http::tests::script::{Act, Script, answer};
use crate::wire::http::{
    BaseUrl, Client, Config, Method, ProxySetting, Token, Trouble, USER_AGENT,
};

#[test]
fn a_request_on_the_wire() {
    let (server, client) = start([ok(), ok(), ok(), ok(), ok()]);
    client
        .send(Method::GET, "/groups?name=a%20b", None)
        .unwrap();
    client
        .send(Method::POST, "/groups", Some(&value!({"name": "ä"})))
        .unwrap();
    client
        .send(Method::PUT, "/groups/1", Some(&value!([])))
        .unwrap();
    client.send(Method::DELETE, "/groups/1", None).unwrap();
    client
        .send(Method::DELETE, "/file", Some(&value!({"sha": "1"})))
        .unwrap();
    let seen = server.seen();
    assert_eq!(
        server.lines(),
        [
            "GET /api/groups?name=a%20b",
            "POST /api/groups",
            "PUT /api/groups/1",
            "DELETE /api/groups/1",
            "DELETE /api/file"
        ]
    );
    for request in &seen {
        assert_eq!(request.header("authorization"), Some("Token nbp_secret"));
        assert_eq!(request.header("user-agent"), Some(USER_AGENT));
        assert_eq!(request.header("accept"), Some("application/json"));
        assert_eq!(request.connection, 0, "one connection serves all");
    }
    let bodies: Vec<&str> = seen.iter().map(|request| request.body.as_str()).collect();
    assert_eq!(
        bodies,
        ["", "{\"name\":\"ä\"}", "[]", "", "{\"sha\":\"1\"}"]
    );
    assert_eq!(seen[1].header("content-type"), Some("application/json"));
    assert_eq!(seen[0].header("content-type"), None);
    assert_eq!(client.requests(), 5);
    assert!(!USER_AGENT.contains("terraform"));
}

#[test]
fn a_reply() {
    let headers = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Request-Id: d1\r\nx-total-count: 3\r\n";
    let (_server, client) = start([
        answer(200, headers, "[1]"),
        answer(422, "", "{\"message\":\"no\"}"),
    ]);
    let reply = client.send(Method::GET, "/x", None).unwrap();
    assert_eq!(
        reply.server_time().unwrap().to_string(),
        "1994-11-06T08:49:37Z"
    );
    assert_eq!(reply.request_id().as_deref(), Some("d1"));
    assert_eq!(reply.header("X-Total-Count"), Some("3"));
    assert_eq!(reply.json().unwrap(), value!([1]));
    let reply = client.send(Method::GET, "/x", None).unwrap();
    assert_eq!((reply.status, reply.is_success()), (422, false));
    assert_eq!(reply.server_time(), None);
    assert!(
        !format!("{reply:?}").contains("message"),
        "a body is not for logs"
    );
}

#[test]
fn redirects_are_errors_and_carry_no_token() {
    let other = Script::start([ok()]);
    for status in [301, 302, 303, 307, 308] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let to = format!("location: {}/login?next=secret\r\n", other.url());
            let (server, client) = start([answer(status, &to, "<a>")]);
            let error = client.send(method.clone(), "/x", None).unwrap_err();
            let wanted = format!(
                "{method} {}/api/x: {status} redirect to {}",
                server.url(),
                other.url()
            );
            assert_eq!(error.to_string(), wanted);
            assert!(error.hint().unwrap().contains(&other.url()));
            assert!(!error.outcome_unknown);
            assert_eq!(server.seen().len(), 1);
        }
    }
    assert_eq!(other.seen().len(), 0, "nobody asked there");
    let (server, client) = start([answer(301, "location: /api/y\r\n", ""), answer(304, "", "")]);
    assert_eq!(
        client
            .send(Method::GET, "/x", None)
            .unwrap_err()
            .to_string(),
        format!("GET {}/api/x: 301 redirect", server.url())
    );
    let error = client.send(Method::GET, "/x", None).unwrap_err();
    assert!(error.to_string().ends_with("304 redirect"), "{error}");
}

#[test]
fn http_to_https_says_so() {
    let server = Script::start_at(|port| {
        let to = format!("location: https://127.0.0.1:{port}/api/x\r\n");
        [answer(301, &to, "")]
    });
    let error = client(config(&server))
        .send(Method::GET, "/x", None)
        .unwrap_err();
    let with_tls = server.url().replace("http:", "https:");
    assert_eq!(error.hint(), Some(format!("write the URL with {with_tls}")));
}

#[test]
fn big_and_chunked_bodies() {
    let big = format!("[{}1]", "1,".repeat(6 << 20));
    let chunked =
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[1\r\n3\r\n,2]\r\n0\r\n\r\n"
            .to_vec();
    let (server, client) = start([answer(200, "", &big), Act::Send(chunked), ok()]);
    let reply = client.send(Method::GET, "/x", None).unwrap();
    assert_eq!(
        reply.bytes().len(),
        big.len(),
        "12 MiB, more than the limit of ureq"
    );
    assert_eq!(
        client
            .send(Method::GET, "/x", None)
            .unwrap()
            .json()
            .unwrap(),
        value!([1, 2])
    );
    client.send(Method::GET, "/x", None).unwrap();
    assert_eq!(
        server.seen()[2].connection,
        0,
        "bodies are read to their end"
    );
}

#[test]
fn a_body_over_the_limit() {
    let server = Script::start([
        answer(200, "", vec![b' '; (1 << 20) + 1]),
        answer(200, "", vec![b' '; 1 << 20]),
    ]);
    let mut config = config(&server);
    config.max_body_bytes = 1 << 20;
    let client = client(config);
    let error = client.send(Method::GET, "/x", None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "GET {}/api/x: the answer is larger than 1 MiB",
            server.url()
        )
    );
    assert_eq!(
        client.send(Method::GET, "/x", None).unwrap().bytes().len(),
        1 << 20
    );
}

#[test]
fn all_answers_together_over_the_limit() {
    let server = Script::start([
        answer(200, "", b"[{}]"),
        answer(200, "", vec![b' '; 1 << 20]),
        answer(200, "", vec![b' '; 1 << 20]),
        answer(200, "", format!("[{}]", vec!["{}"; 4000].join(","))),
    ]);
    let mut config = config(&server);
    config.max_held_bytes = (1 << 20) + 2000;
    let client = client(config);
    let get = || client.send(Method::GET, "/x", None);
    let entries = get().unwrap().entries::<IgnoredAny>().unwrap();
    let first = get().unwrap();
    let wanted = format!(
        "GET {}/api/x: the answers take more than 1 MiB together",
        server.url()
    );
    assert_eq!(get().unwrap_err().to_string(), wanted);
    // what is dropped is free again; small entries count for more than their text
    drop((entries, first));
    let error = get().unwrap().entries::<IgnoredAny>().unwrap_err();
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn a_value_is_not_made_of_a_text_that_is_too_large() {
    let (_server, client) = start([answer(200, "", vec![b' '; (32 << 20) + 1])]);
    let reply = client.send(Method::GET, "/x", None).unwrap();
    let error = reply.json().unwrap_err().to_string();
    assert!(error.ends_with("larger than 32 MiB"), "{error}");
}

#[test]
fn gzip() {
    let good = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x4a\x54\xb2\x32\xac\x05\x00\xaf\xac\x1b\x56\x07\x00\x00\x00";
    let zip = "content-encoding: gzip\r\n";
    let (server, client) = start([answer(200, zip, good), answer(200, zip, "{\"a\":1}")]);
    let reply = client.send(Method::GET, "/x", None);
    assert!(
        server.seen()[0]
            .header("accept-encoding")
            .unwrap()
            .contains("gzip")
    );
    assert_eq!(reply.unwrap().json().unwrap(), value!({"a": 1}));
    let error = client.send(Method::GET, "/x", None).unwrap_err();
    assert_eq!(error.trouble, Trouble::Transport, "{error:?}");
    assert_eq!(server.seen().len(), 2, "broken gzip stays broken");
}

#[test]
fn no_http_at_all() {
    let (server, client) = start([Act::SendAndClose(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec())]);
    let error = client.send(Method::GET, "/x", None).unwrap_err();
    assert_eq!(error.trouble, Trouble::Transport, "{error:?}");
    assert_eq!(server.seen().len(), 1, "{error}");
}

#[test]
fn answers_that_are_no_json() {
    let page = "<!doctype html><title>secret</title>";
    for (act, wanted) in [
        (
            answer(200, "content-type: text/html\r\n", page),
            " answered HTML, not JSON",
        ),
        (
            answer(200, "content-type: application/json\r\n", page),
            " answered HTML, not JSON",
        ),
        (
            answer(403, "content-type: text/html\r\n", page),
            " answered HTML, not JSON (status 403)",
        ),
        (
            answer(200, "content-type: text/html\r\n", "hello"),
            " answered HTML, not JSON",
        ),
        (
            answer(200, "", "hello\u{1b}[31m\nworld"),
            " answered something else, not JSON: hello[31m world",
        ),
        (
            answer(200, "", ""),
            " answered something else, not JSON: the body is empty",
        ),
        (
            answer(200, "", "{\"a\":"),
            " answered something else, not JSON: it ends too early: something is never closed at line 1, column 5",
        ),
    ] {
        let (server, client) = start([act]);
        let error = client
            .send(Method::GET, "/x", None)
            .unwrap()
            .json()
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("GET {}/api/x{wanted}", server.url())
        );
    }
    let (_server, client) = start([answer(200, "", format!("hunter2 {}", "x".repeat(500)))]);
    let error = client
        .send(Method::POST, "/x", None)
        .unwrap()
        .json()
        .unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    assert!(error.outcome_unknown);
    let (_server, client) = start([answer(200, "", "x".repeat(500))]);
    let error = client
        .send(Method::GET, "/x", None)
        .unwrap()
        .json()
        .unwrap_err();
    assert!(error.to_string().len() < 300, "{error}");
}

#[test]
fn threads_share_a_client() {
    let (server, client) = start(vec![ok(); 8]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let client = client.clone();
            scope.spawn(move || client.send(Method::GET, "/x", None).unwrap());
        }
    });
    assert_eq!((client.requests(), server.seen().len()), (8, 8));
}

#[test]
fn a_proxy_that_is_told_serves_loopback_too() {
    let proxy = Script::start([answer(407, "", "")]);
    let server = Script::start([ok()]);
    let mut config = config(&server);
    config.proxy = ProxySetting::Url(format!("http://u:hunter2@127.0.0.1:{}", proxy.port()).into());
    assert!(!format!("{config:?}").contains("hunter2"));
    let error = client(config).send(Method::POST, "/x", None).unwrap_err();
    assert!(!error.outcome_unknown, "{error:?}");
    let name = format!(
        " (through the proxy 127.0.0.1:{} of the proxy setting)",
        proxy.port()
    );
    assert!(error.to_string().ends_with(&name), "{error}");
    assert!(!format!("{error} {:?}", error.hint()).contains("hunter2"));
    assert!(proxy.lines()[0].starts_with("CONNECT 127.0.0.1:"));
    assert_eq!(
        proxy.seen()[0].header("authorization"),
        None,
        "the token is not for the proxy"
    );
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn a_ca_file_is_read_before_the_first_request() {
    let mut config = Config::new(BaseUrl::parse("https://127.0.0.1:1", "/api").unwrap());
    config.ca_file = Some("/nonexistent/ca.pem".into());
    let error = Client::new(config, "Token", &Token::parse("x").unwrap()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("CA file /nonexistent/ca.pem: "),
        "{error}"
    );
}

#[test]
fn tls_to_a_port_without_tls() {
    let server = Script::start([]);
    let mut config = config(&server);
    config.base = BaseUrl::parse(&server.url().replace("http:", "https:"), "/api").unwrap();
    config.total_timeout = Duration::from_secs(2);
    // The server reads the hello as a line of text, and closes at once when its side ends.
    let error = client(config).send(Method::POST, "/x", None).unwrap_err();
    assert!(
        matches!(error.trouble, Trouble::Tls | Trouble::Transport),
        "{error:?}"
    );
}
