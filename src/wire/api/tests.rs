//! The API against a scripted server.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod refusals;

use std::time::Duration;

use serde_json::json as value;

use super::{Api, Token, config, object_path};
use crate::wire::http::ProxySetting;
use crate::wire::http::tests::script::{Act, Script, answer, json};

const KEY: &str = "A616097E-FCF0-48FA-9354-CA4A61142761";

fn start(acts: impl IntoIterator<Item = Act>) -> (Script, Api) {
    let server = Script::start(acts);
    let mut config = config(&server.url()).unwrap();
    config.proxy = ProxySetting::Direct;
    config.retry.sleep = |_: Duration| {};
    let api = Api::new(config, &Token::parse("nbp_secret").unwrap()).unwrap();
    (server, api)
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
    assert_eq!(api.list("/x").unwrap(), [value!(1).into()]);
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
    assert!(error.outcome_unknown, "{error}");
}

#[test]
fn deletions_take_no_success_that_is_not_netbirds() {
    let (_server, api) = start([
        json(200, "{}"),
        Act::Send(b"HTTP/1.1 204 X\r\n\r\n".to_vec()),
        answer(200, "", ""),
        answer(200, "", "<html>log in</html>"),
    ]);
    for _ in 0..2 {
        api.delete("/groups/1").unwrap();
    }
    for _ in 0..2 {
        assert!(api.delete("/groups/1").unwrap_err().outcome_unknown);
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
    let made = api.create_key("/setup-keys", &value!({})).unwrap();
    assert_eq!(made.object, value!({"id": "k1", "name": "n"}));
    assert_eq!(secrecy::ExposeSecret::expose_secret(&made.secret), KEY);
    assert!(!format!("{made:?}").contains("A616"));
}

#[test]
fn an_unusable_key_is_not_shown() {
    for (key, wanted) in [
        (
            value!("A616097E-FCF0-****-****-************"),
            "is masked with stars",
        ),
        (value!("A616****"), "is masked with stars"),
        (
            value!("A616097E-FCF0-48FA-9354-CA4A6114276"),
            "is not a UUID",
        ),
        (
            value!("A616097E-FCF0-48FA-9354-CA4A6114276x"),
            "is not a UUID",
        ),
        (
            value!("A616097EFCF048FA9354CA4A61142761FFFF"),
            "is not a UUID",
        ),
        (value!(""), "is not a UUID"),
        (value!(616), "is not in the answer"),
        (value!(null), "is not in the answer"),
    ] {
        let (_server, api) = start([json(200, &value!({"id": "k1", "key": key}).to_string())]);
        let error = api.create_key("/setup-keys", &value!({})).unwrap_err();
        let said = format!("{error} {error:?} {:?}", error.hint());
        assert!(said.contains(wanted) && said.contains("k1"), "{said}");
        assert!(!said.contains("A616"), "{said}");
        assert!(!error.outcome_unknown);
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
        assert!(error.outcome_unknown, "{error:?}");
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
        let error = object_path("/groups", id).unwrap_err().to_string();
        assert!(error.ends_with("fits no path"), "{error}");
    }
}
