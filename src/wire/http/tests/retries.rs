//! How often a request is made, and what is known of it when no answer came.

use std::time::Duration;

use serde_json::json as value;

use super::{client, config, ok, slept, start};
use crate::wire::http::tests::script::{Act, Script, answer, json};
use crate::wire::http::{BaseUrl, Method, Trouble};

#[test]
fn reads_try_again_and_then_give_the_answer() {
    for (acts, tries) in [
        (
            vec![
                answer(502, "", "bad gateway"),
                json(503, "{}"),
                json(504, "{}"),
                ok(),
            ],
            4,
        ),
        (vec![Act::Close, Act::Close, ok()], 3),
        (vec![json(500, "{}"), ok()], 2),
        (
            vec![
                Act::SendAndClose(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}".to_vec()),
                ok(),
            ],
            2,
        ),
    ] {
        let (server, client) = start(acts);
        assert_eq!(client.send(Method::GET, "/x", None).unwrap().status, 200);
        assert_eq!(
            (server.seen().len(), client.requests()),
            (tries, tries as u64)
        );
    }
}

#[test]
fn reads_give_up() {
    for (act, tries, wanted) in [
        (json(502, "{}"), 4, Ok(502)),
        (json(500, "{}"), 2, Ok(500)),
        (json(404, "{}"), 1, Ok(404)),
        (Act::Close, 4, Err("the connection ended before an answer")),
        (
            Act::SendAndClose(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()),
            4,
            Err("the answer was cut off"),
        ),
    ] {
        let (server, client) = start(vec![act.clone(); 6]);
        let result = client.send(Method::GET, "/x", None);
        match (&result, wanted) {
            (Ok(reply), Ok(status)) => assert_eq!(reply.status, status),
            (Err(error), Err(part)) => {
                assert!(error.to_string().ends_with(part), "{error}");
                assert!(!error.outcome_unknown, "a read changes nothing");
            }
            other => panic!("{act:?}: {other:?}"),
        }
        assert_eq!(server.seen().len(), tries, "{act:?}");
    }
}

#[test]
fn writes_are_not_repeated() {
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        for act in [
            json(500, "{}"),
            json(502, "{}"),
            json(503, "{}"),
            json(504, "{}"),
            json(409, "{}"),
        ] {
            let (server, client) = start(vec![act.clone(); 3]);
            client
                .send(method.clone(), "/x", Some(&value!({})))
                .unwrap();
            assert_eq!(server.seen().len(), 1, "{method} {act:?}");
        }
    }
}

#[test]
fn a_write_whose_answer_is_lost_is_ambiguous() {
    let cut =
        || Act::SendAndClose(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\":".to_vec());
    let chunk_cut = || {
        Act::SendAndClose(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n".to_vec(),
        )
    };
    let head_cut = || Act::SendAndClose(b"HTTP/1.1 200 O".to_vec());
    for (method, act, requests) in [
        (Method::POST, Act::Close, 1),
        (Method::POST, cut(), 1),
        (Method::POST, chunk_cut(), 1),
        (Method::POST, head_cut(), 1),
        (Method::PATCH, Act::Close, 1),
        (Method::PUT, Act::Close, 2),
        (Method::PUT, cut(), 1),
        (Method::DELETE, Act::Close, 2),
        (Method::DELETE, cut(), 1),
    ] {
        let (server, client) = start(vec![act.clone(); 5]);
        let error = client
            .send(method.clone(), "/x", Some(&value!({})))
            .unwrap_err();
        assert_eq!(error.trouble, Trouble::Transport, "{method} {act:?}");
        assert!(error.outcome_unknown);
        assert!(error.hint().unwrap().contains("may have carried it out"));
        assert_eq!(server.seen().len(), requests, "{method} {act:?}");
    }
}

#[test]
fn a_stale_connection_is_no_failure_of_a_put() {
    // The server answers the first request and drops the connection when the second one comes.
    let (server, client) = start([ok(), Act::Close, ok()]);
    client.send(Method::GET, "/x", None).unwrap();
    client.send(Method::PUT, "/x", Some(&value!({}))).unwrap();
    let connections: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 1]);
}

#[test]
fn nothing_listens() {
    for (method, requests) in [(Method::GET, 4), (Method::POST, 1), (Method::PUT, 1)] {
        let server = Script::start([]);
        let mut config = config(&server);
        // A free port of the system's choice could be taken by another test meanwhile.
        config.base = BaseUrl::parse("http://127.0.0.1:1", "/api").unwrap();
        let client = client(config);
        let error = client.send(method.clone(), "/x", None).unwrap_err();
        assert_eq!(error.trouble, Trouble::Transport);
        assert!(!error.outcome_unknown);
        assert!(
            error.hint().unwrap().contains("is the server running"),
            "{error}"
        );
        assert_eq!(client.requests(), requests);
    }
}

#[test]
fn a_429_is_waited_for_whatever_the_method() {
    for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
        let (server, client) = start([json(429, "{}"), json(429, "{}"), ok()]);
        assert_eq!(
            client
                .send(method.clone(), "/x", Some(&value!({})))
                .unwrap()
                .status,
            200
        );
        assert_eq!(server.seen().len(), 3, "two refused, one accepted");
        assert_eq!(slept(), [10, 10]);
    }
    let (server, client) = start(vec![json(429, "{}"); 20]);
    assert_eq!(client.send(Method::POST, "/x", None).unwrap().status, 429);
    assert_eq!(server.seen().len(), 13);
    assert_eq!(slept(), [10; 12]);
}

#[test]
fn retry_after_is_followed() {
    let date =
        "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:58 GMT\r\n";
    let (_server, client) = start([
        answer(429, "retry-after: 7\r\n", "{}"),
        answer(429, "retry-after: 3600\r\n", "{}"),
        answer(503, date, "{}"),
        answer(503, "retry-after: soon\r\n", "{}"),
        ok(),
    ]);
    assert_eq!(client.send(Method::GET, "/x", None).unwrap().status, 200);
    assert_eq!(slept(), [7, 60, 21, 0]);
}

#[test]
fn a_server_that_hangs_is_left() {
    for method in [Method::GET, Method::POST] {
        let server = Script::start([Act::Hang, Act::Hang]);
        let mut config = config(&server);
        config.total_timeout = Duration::from_millis(200);
        let client = client(config);
        let error = client.send(method.clone(), "/x", None).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "{method} {}/api/x: no complete answer within 0.2 s",
                server.url()
            )
        );
        assert_eq!(error.trouble, Trouble::Transport);
        assert_eq!(error.outcome_unknown, !method.is_safe());
        let hint = if !method.is_safe() {
            "check that before"
        } else {
            "up and reachable"
        };
        assert!(error.hint().unwrap().contains(hint), "{:?}", error.hint());
        assert_eq!(client.requests(), 1, "waiting once is enough");
    }
}

#[test]
fn a_body_that_stops_is_left() {
    let server = Script::start([Act::Send(
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec(),
    )]);
    let mut config = config(&server);
    config.total_timeout = Duration::from_millis(200);
    let error = client(config).send(Method::POST, "/x", None).unwrap_err();
    assert!(error.outcome_unknown, "{error:?}");
    assert!(error.to_string().ends_with("within 0.2 s"), "{error}");
}
