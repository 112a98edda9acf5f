//! Each effect: what the client sees, and whether the thing was done.

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use fakes::{Effect, Fault, NetBird, Response};
use serde_json::json;

use crate::{log, names, send, status};

/// Sends one POST of a group into a fault; returns the status that the client saw and whether the
/// group is there.
fn post_into(effect: Effect) -> (u16, bool) {
    let netbird = NetBird::start();
    netbird.fault(Fault::on("POST", "/groups").then(effect));
    let answer = send(&netbird, "POST", "/groups", Some(json!({"name": "ops"})));
    assert_eq!(
        netbird.requests()[0].status,
        status(&answer),
        "the log says what was sent"
    );
    (
        status(&answer),
        names(&netbird, "/groups").contains(&"ops".to_owned()),
    )
}

#[test]
fn effects_before_the_deed() {
    assert_eq!(
        post_into(Effect::Status(403, json!({"message": "no", "code": 403}))),
        (403, false)
    );
    assert_eq!(
        post_into(Effect::Raw(Response::new(200, "text/plain", "hello"))),
        (200, false)
    );
    assert_eq!(
        post_into(Effect::TooManyRequests { retry_after: None }),
        (429, false)
    );
    assert_eq!(post_into(Effect::ErrorBefore), (500, false));
    assert_eq!(post_into(Effect::CutBefore), (0, false));
    assert_eq!(post_into(Effect::Html(502)), (502, false));
    assert_eq!(
        post_into(Effect::Redirect(302, "http://127.0.0.1:1/".to_owned())),
        (302, false)
    );
}

#[test]
fn effects_after_the_deed() {
    assert_eq!(post_into(Effect::ErrorAfter), (500, true));
    assert_eq!(post_into(Effect::CutAfter), (0, true));
    assert_eq!(post_into(Effect::Slow(Duration::ZERO)), (200, true));
    assert_eq!(post_into(Effect::SlowAfter(Duration::ZERO)), (200, true));
}

#[test]
fn cut_body_sends_half_of_it() {
    let netbird = NetBird::start();
    netbird.fault(Fault::on("POST", "/groups").then(Effect::CutBody));
    assert_eq!(
        send(&netbird, "POST", "/groups", Some(json!({"name": "ops"}))),
        None
    );
    assert_eq!(names(&netbird, "/groups"), ["All", "ops"]);
    assert_eq!(log(&netbird), [r#"POST /groups {"name":"ops"} → 200"#]);
}

#[test]
fn cut_body_of_a_chunked_answer() {
    let netbird = NetBird::start();
    for number in 0..100 {
        netbird.create("/groups", json!({"name": format!("group {number}")}));
    }
    assert_eq!(status(&send(&netbird, "GET", "/groups", None)), 200);
    netbird.fault(Fault::on("GET", "/groups").then(Effect::CutBody));
    assert_eq!(send(&netbird, "GET", "/groups", None), None);
}

#[test]
fn retry_after_and_location_are_headers() {
    let netbird = NetBird::start();
    netbird.fault(Fault::on("GET", "/peers").then(Effect::TooManyRequests {
        retry_after: Some(7),
    }));
    netbird.fault(
        Fault::on("GET", "/users").then(Effect::Redirect(307, "https://other.example/".to_owned())),
    );
    let header = |path, name: &str| {
        let answer = send(&netbird, "GET", path, None).expect("an answer");
        answer
            .headers
            .into_iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    };
    assert_eq!(header("/peers", "retry-after").as_deref(), Some("7"));
    assert_eq!(
        header("/users", "location").as_deref(),
        Some("https://other.example/")
    );
}

#[test]
fn nth_and_times_count_matching_requests() {
    let netbird = NetBird::start();
    netbird.fault(
        Fault::on("GET", "/groups")
            .nth(2)
            .times(2)
            .then(Effect::Html(502)),
    );
    let statuses = [(); 5].map(|()| {
        send(&netbird, "GET", "/peers", None);
        status(&send(&netbird, "GET", "/groups", None))
    });
    assert_eq!(statuses, [200, 502, 502, 200, 200]);
}

#[test]
fn path_with_a_slash_at_the_end_stands_for_all_below() {
    let netbird = NetBird::start();
    netbird.fault(Fault::on("*", "/groups/").always().then(Effect::Html(502)));
    let get = |path| status(&send(&netbird, "GET", path, None));
    assert_eq!(
        [get("/groups"), get("/groups/x"), get("/groups/y")],
        [200, 502, 502]
    );
    netbird.clear_faults();
    assert_eq!(get("/groups/x"), 404);
}

#[test]
fn first_of_two_faults_takes_effect_and_both_count() {
    let netbird = NetBird::start();
    netbird.fault(Fault::on("GET", "/groups").then(Effect::Html(502)));
    netbird.fault(Fault::on("GET", "/").times(2).then(Effect::Html(503)));
    let statuses = [(); 3].map(|()| status(&send(&netbird, "GET", "/groups", None)));
    assert_eq!(statuses, [502, 503, 200]);
}

#[test]
fn drop_ends_what_waits() {
    let netbird = NetBird::start();
    let hour = Duration::from_secs(3600);
    netbird.fault(Fault::on("GET", "/groups").then(Effect::Slow(hour)));
    let (url, token) = (netbird.url() + "/api/groups", netbird.token());
    let began = Instant::now();
    let (arrived, waits) = mpsc::channel();
    netbird.before("GET", "/groups", move |_| {
        arrived.send(()).expect("the test waits")
    });
    let client = std::thread::spawn(move || fakes::client::send("GET", &url, Some(&token), None));
    waits.recv().expect("the request arrives");
    drop(netbird);
    assert!(
        client.join().expect("the client ends").is_err(),
        "no answer"
    );
    assert!(began.elapsed() < hour);
}

#[test]
fn slow_request_is_not_done_for_a_client_that_has_hung_up() {
    let netbird = NetBird::start();
    netbird.fault(Fault::on("POST", "/groups").then(Effect::Slow(Duration::ZERO)));
    let (hang_up, hung_up) = mpsc::channel::<()>();
    let (handled, is_handled) = mpsc::channel();
    netbird.before("POST", "/groups", move |_| {
        // The sender goes with the connection.
        assert!(hung_up.recv().is_err());
    });
    netbird.after("POST", "/groups", move |_| {
        handled.send(()).expect("the test waits")
    });

    let (url, token) = (netbird.url(), netbird.token());
    let mut stream =
        TcpStream::connect(url.trim_start_matches("http://")).expect("the server listens");
    let body = r#"{"name":"ops"}"#;
    let request = format!(
        "POST /api/groups HTTP/1.1\r\nAuthorization: Token {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream
        .write_all(request.as_bytes())
        .expect("the server reads");
    drop(stream);
    drop(hang_up);
    is_handled.recv().expect("the request ends");
    assert_eq!(names(&netbird, "/groups"), ["All"]);
}
