//! Hooks: between the arrival of a request and its answer, anything may happen on the same server.

use fakes::{Effect, Fault, NetBird};
use serde_json::{Value, json};

use crate::{log, names, send, status, text};

#[test]
fn peer_that_enrols_before_a_put_is_thrown_out_of_the_group() {
    let netbird = NetBird::start();
    let group = text(&netbird.create("/groups", json!({"name": "edge"})), "id");
    let key = json!({"name": "k", "type": "reusable", "expires_in": 3600, "auto_groups": [group]});
    let key = text(&netbird.create("/setup-keys", key), "key");
    netbird.before("PUT", "/groups/", move |netbird| {
        netbird.enroll(&key, "edge-1").expect("the key is valid");
    });
    let path = format!("/groups/{group}");
    let put = send(
        &netbird,
        "PUT",
        &path,
        Some(json!({"name": "edges", "peers": []})),
    );
    assert_eq!(status(&put), 200);
    assert_eq!(names(&netbird, "/peers"), ["edge-1"]);
    assert_eq!(netbird.list(&path)["peers"], Value::Null);
}

#[test]
fn after_sees_what_was_done_and_runs_once() {
    let netbird = NetBird::start();
    netbird.after("POST", "/groups", |netbird| {
        assert_eq!(names(netbird, "/groups"), ["All", "a"]);
        netbird.create("/groups", json!({"name": "by hand"}));
    });
    for name in ["a", "b"] {
        assert_eq!(
            status(&send(
                &netbird,
                "POST",
                "/groups",
                Some(json!({"name": name}))
            )),
            200
        );
    }
    assert_eq!(names(&netbird, "/groups"), ["All", "a", "by hand", "b"]);
}

#[test]
fn hook_may_send_requests_and_add_faults() {
    let netbird = NetBird::start();
    netbird.before("GET", "/groups", |netbird| {
        netbird.fault(Fault::on("GET", "/groups").then(Effect::Html(502)));
        assert_eq!(status(&send(netbird, "GET", "/peers", None)), 200);
    });
    assert_eq!(status(&send(&netbird, "GET", "/groups", None)), 502);
    assert_eq!(log(&netbird), ["GET /groups → 502", "GET /peers → 200"]);
}

#[test]
fn hook_may_hold_the_last_handle() {
    let netbird = NetBird::start();
    let (url, token) = (netbird.url() + "/api/groups", netbird.token());
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (arrived, arrives) = std::sync::mpsc::channel();
    netbird.before("GET", "/groups", move |_| {
        arrived.send(()).expect("the test waits");
        // The sender is gone as soon as the test has dropped its handle.
        assert!(wait.recv().is_err());
    });
    let client = std::thread::spawn(move || fakes::client::send("GET", &url, Some(&token), None));
    arrives.recv().expect("the request arrives");
    drop(netbird);
    drop(go);
    assert!(
        client.join().expect("the client ends").is_err(),
        "the server is gone"
    );
}

#[test]
fn waiting_hook_does_not_keep_the_server_alive() {
    let netbird = NetBird::start();
    let url = netbird.url() + "/api/groups";
    netbird.before("GET", "/groups", |_| {});
    drop(netbird);
    assert!(fakes::client::send("GET", &url, None, None).is_err());
}
