//! The handle of the server: clock, tokens, events on demand, the log, transport.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

use fakes::NetBird;
use serde_json::{Value, json};

use crate::{log, names, send, send_as, status, text};

/// The server's clock at the creation of an object, in seconds, as its id tells it.
fn created_at(id: &str) -> u64 {
    let digits = id.bytes().take(7).map(|byte| match byte {
        b'0'..=b'9' => u64::from(byte - b'0'),
        _ => u64::from(byte - b'a') + 10,
    });
    digits.fold(0, |sum, digit| sum << 5 | digit) >> 3
}

fn key(netbird: &NetBird, changes: Value) -> Value {
    let mut body = json!({"name": "k", "type": "one-off", "expires_in": 3600, "auto_groups": []});
    for (field, value) in changes.as_object().into_iter().flatten() {
        body[field] = value.clone();
    }
    netbird.create("/setup-keys", body)
}

#[test]
fn ids_and_times_follow_the_clock() {
    let netbird = NetBird::start();
    netbird.set_clock(1_800_000_000);
    let made = key(&netbird, json!({}));
    assert_eq!(created_at(&text(&made, "id")), 1_800_000_000);
    assert_eq!(
        text(&made, "expires").get(..19),
        Some("2027-01-15T09:00:00")
    );
    netbird.advance(3600);
    assert_eq!(netbird.list("/setup-keys")[0]["state"], "expired");
    let group = netbird.create("/groups", json!({"name": "later"}));
    assert_eq!(created_at(&text(&group, "id")), 1_800_003_600);
}

#[test]
fn clock_is_the_systems_until_set() {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("it is after 1970")
        .as_secs();
    let netbird = NetBird::start();
    let group = |name| {
        created_at(&text(
            &netbird.create("/groups", json!({"name": name})),
            "id",
        ))
    };
    assert!((now..now + 60).contains(&group("now")));
    netbird.advance(86_400);
    assert!((now + 86_400..now + 86_460).contains(&group("tomorrow")));
}

#[test]
fn tokens_end_in_three_ways() {
    let netbird = NetBird::start();
    let get = |token: &str| {
        let answer = send_as(&netbird, Some(token), "GET", "/groups", None).expect("an answer");
        (
            answer.status,
            answer.json["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let [deleted, expired, blocked] = [(); 3].map(|()| netbird.token_for("auditor"));
    assert_eq!(get(&deleted).0, 200);
    netbird.delete_token(&deleted);
    netbird.expire_token(&expired);
    netbird.block_user_of(&blocked);
    assert_eq!(get(&deleted).0, 404);
    assert!(get(&deleted).1.starts_with("invalid token: pat: "));
    assert_eq!(get(&expired), (401, "token invalid".to_owned()));
    assert_eq!(get(&blocked), (403, "user is blocked".to_owned()));
    // The token of another server has the right form, and nobody here holds it.
    assert_eq!(get(&NetBird::start().token()).0, 404);
}

#[test]
fn person_of_a_weak_role_gets_short_lists() {
    let netbird = NetBird::start();
    netbird.enroll_sso("laptop");
    let token = netbird.person_token("user");
    let get = |path| send_as(&netbird, Some(&token), "GET", path, None).expect("an answer");
    assert_eq!((get("/peers").status, get("/peers").json), (200, json!([])));
    let users = get("/users").json;
    assert_eq!(users.as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&users[0]["is_current"], &users[0]["role"]),
        (&json!(true), &json!("user"))
    );
    assert_eq!(get("/groups").status, 403);
    assert_eq!(get("/users/current").status, 200);
    let billing = netbird.person_token("billing_admin");
    let answer = send_as(&netbird, Some(&billing), "GET", "/groups", None).expect("an answer");
    assert_eq!(
        (answer.status, text(&answer.json, "message")),
        (404, "user role: billing_admin not found".to_owned())
    );
}

#[test]
fn enrolment_is_refused_alike_for_all_dead_keys() {
    let netbird = NetBird::start();
    let plain = text(&key(&netbird, json!({})), "key");
    let peer = netbird
        .enroll(&plain.to_lowercase(), "box")
        .expect("a fresh key, in any case");
    let refusal = Err("couldn't add peer: setup key is invalid".to_owned());
    assert_eq!(netbird.enroll(&plain, "box-2"), refusal);
    assert_eq!(
        netbird.enroll("7C0E2F6A-9B1D-4E57-8A31-5D2C90B1F4E8", "box-2"),
        refusal
    );
    assert_eq!(netbird.list(&format!("/peers/{peer}"))["user_id"], "");
    assert_ne!(
        netbird.list(&format!("/peers/{}", netbird.enroll_sso("laptop")))["user_id"],
        ""
    );
}

#[test]
fn deregistered_peer_was_deleted_by_sys() {
    let netbird = NetBird::start();
    let peer = netbird
        .enroll(&text(&key(&netbird, json!({})), "key"), "box")
        .expect("a fresh key");
    netbird.deregister(&peer).expect("nothing names the peer");
    let event = &netbird.list("/events")[0];
    assert_eq!(
        (&event["activity_code"], &event["initiator_id"]),
        (&json!("user.peer.delete"), &json!("sys"))
    );
}

/// What is made of each kind, after the groups `ops`: the path, the body, and the code of its event (docs/netbird-api.md,
/// "Events").
fn of_each_kind(netbird: &NetBird) -> Vec<(String, Value, &'static str)> {
    let group = text(&netbird.create("/groups", json!({"name": "ops"})), "id");
    let peer = netbird.enroll_sso("gate");
    let made = |path: &str, body: Value| text(&netbird.create(path, body), "id");
    let network = made("/networks", json!({"name": "by hand"}));
    let zone = json!({"name": "by hand", "domain": "hand.example", "enabled": true, "distribution_groups": [group]});
    let zone = made("/dns/zones", zone);
    let rule = json!({"name": "r", "enabled": true, "action": "accept", "protocol": "all", "bidirectional": true,
        "sources": [group], "destinations": [group]});
    let nameserver = json!({"ip": "9.9.9.9", "ns_type": "udp", "port": 53});
    let row = |path: &str, body: Value, code| (path.to_owned(), body, code);
    vec![
        row("/groups", json!({"name": "crew"}), "group.add"),
        row(
            "/policies",
            json!({"name": "p", "enabled": true, "rules": [rule]}),
            "policy.add",
        ),
        row(
            "/setup-keys",
            json!({"name": "k", "type": "one-off", "expires_in": 3600, "auto_groups": [group]}),
            "setupkey.add",
        ),
        row(
            "/routes",
            json!({"network_id": "r", "network": "10.0.0.0/24", "peer": peer, "metric": 9999, "masquerade": true,
                "enabled": true, "groups": [group], "keep_route": false, "description": ""}),
            "route.add",
        ),
        row(
            "/dns/nameservers",
            json!({"name": "n", "description": "", "nameservers": [nameserver], "enabled": true, "groups": [group],
                "primary": true, "domains": [], "search_domains_enabled": false}),
            "nameserver.group.add",
        ),
        row("/networks", json!({"name": "n"}), "network.create"),
        (
            format!("/networks/{network}/resources"),
            json!({"name": "printer", "address": "10.0.0.9/32", "enabled": true, "groups": [group]}),
            "network.resource.create",
        ),
        (
            format!("/networks/{network}/routers"),
            json!({"peer": peer, "metric": 9999, "masquerade": true, "enabled": true}),
            "network.router.create",
        ),
        row(
            "/dns/zones",
            json!({"name": "z", "domain": "z.example", "enabled": true, "distribution_groups": [group]}),
            "dns.zone.create",
        ),
        (
            format!("/dns/zones/{zone}/records"),
            json!({"name": "a.hand.example", "type": "A", "content": "10.0.0.1", "ttl": 300}),
            "dns.zone.record.create",
        ),
        row(
            "/posture-checks",
            json!({"name": "c", "description": "", "checks": {"nb_version_check": {"min_version": "0.30.0"}}}),
            "posture.check.create",
        ),
    ]
}

/// Returns who made the object of this id, by the event of this code.
fn made_by(netbird: &NetBird, code: &str, id: &str) -> Option<String> {
    let events = netbird.list("/events");
    let found = events
        .as_array()
        .into_iter()
        .flatten()
        .find(|event| event["activity_code"] == code && event["target_id"] == id);
    found.map(|event| text(event, "initiator_id"))
}

#[test]
fn creation_of_each_kind_is_an_event_of_whoever_made_it() {
    let netbird = NetBird::start();
    let program = netbird.user_id(&netbird.token());
    let other = netbird.token_for("admin");
    for (path, body, code) in of_each_kind(&netbird) {
        let made = send(&netbird, "POST", &path, Some(body.clone())).expect("an answer");
        assert_eq!(made.status, 200, "POST {path} {body}: {}", made.text);
        let id = text(&made.json, "id");
        assert_eq!(
            made_by(&netbird, code, &id),
            program,
            "{code} by the program's service user"
        );
        // The other two make it after it is gone: most kinds have each name once.
        let gone = || {
            netbird
                .call("DELETE", &format!("{path}/{id}"), Value::Null)
                .0
        };
        assert_eq!(gone(), 200, "DELETE {path}");
        let made = send_as(&netbird, Some(&other), "POST", &path, Some(body.clone()));
        let id = text(&made.expect("an answer").json, "id");
        let by = made_by(&netbird, code, &id);
        assert_eq!(
            by,
            netbird.user_id(&other),
            "{code} by another service user"
        );
        assert_eq!(
            netbird
                .call("DELETE", &format!("{path}/{id}"), Value::Null)
                .0,
            200
        );
        let id = text(&netbird.create(&path, body), "id");
        let by = made_by(&netbird, code, &id).expect("an event");
        assert!(
            by.starts_with("local|"),
            "{code} by hand is the owner's: {by}"
        );
    }
}

#[test]
fn newest_events_are_kept() {
    let netbird = NetBird::start();
    for name in ["a", "b", "c"] {
        netbird.create("/groups", json!({"name": name}));
    }
    netbird.keep_events(2);
    let events = netbird.list("/events");
    let names: Vec<&Value> = events
        .as_array()
        .into_iter()
        .flatten()
        .map(|event| &event["meta"]["name"])
        .collect();
    assert_eq!(names, ["c", "b"]);
}

#[test]
fn events_on_demand() {
    let netbird = NetBird::start();
    let count = || netbird.list("/events").as_array().map_or(0, Vec::len);
    netbird.drop_events();
    assert_eq!(count(), 0);

    netbird.late_events(2);
    netbird.create("/groups", json!({"name": "late"}));
    assert_eq!([count(), count(), count()], [0, 0, 1]);
    netbird.create("/groups", json!({"name": "later"}));
    netbird.late_events(0);
    assert_eq!(count(), 2);

    netbird.fill_events(10_001);
    assert_eq!(count(), 10_000);
    assert!(
        !netbird.list("/events").to_string().contains("group.add"),
        "pushed out"
    );

    netbird.event_log(false);
    assert_eq!(count(), 0);
    netbird.create("/groups", json!({"name": "unseen"}));
    netbird.event_log(true);
    assert!(!netbird.list("/events").to_string().contains("unseen"));
}

#[test]
fn secrets_are_all_that_was_issued() {
    let netbird = NetBird::start();
    let auditor = netbird.token_for("auditor");
    let plain = text(&key(&netbird, json!({})), "key");
    assert_eq!(netbird.secrets(), [netbird.token(), auditor, plain]);
}

#[test]
fn log_holds_requests_and_not_what_is_done_by_hand() {
    let netbird = NetBird::start();
    netbird.create("/groups", json!({"name": "by hand"}));
    send(&netbird, "GET", "/groups?name=by%20hand", None);
    send(
        &netbird,
        "POST",
        "/groups",
        Some(json!({"name": "a", "peers": []})),
    );
    send_as(&netbird, None, "GET", "/peers", None);
    assert_eq!(
        log(&netbird),
        [
            "GET /groups?name=by%20hand → 200",
            r#"POST /groups {"name":"a","peers":[]} → 200"#,
            "GET /peers → 401",
        ]
    );
    netbird.clear_requests();
    send(&netbird, "GET", "/nonesuch", None);
    assert_eq!(log(&netbird), ["GET /nonesuch → 404"]);
    assert_eq!(
        netbird.requests()[0].header("authorization"),
        Some(format!("token {}", netbird.token()).as_str())
    );
}

#[test]
fn members_are_listed_in_another_order_than_they_were_sent_in() {
    let netbird = NetBird::start();
    let mut peers = ["a", "b", "c"].map(|name| netbird.enroll_sso(name));
    peers.reverse();
    let group = netbird.create("/groups", json!({"name": "g", "peers": peers}));
    let ids = |group: &Value| {
        group["peers"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|peer| text(peer, "id"))
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&group), peers);
    peers.reverse();
    assert_eq!(
        ids(&netbird.list(&format!("/groups/{}", text(&group, "id")))),
        peers
    );
}

#[test]
fn legacy_rules_and_foreign_groups() {
    let netbird = NetBird::start();
    let jwt = netbird.issue_group("IdP-staff", "jwt");
    assert_eq!(netbird.list(&format!("/groups/{jwt}"))["issued"], "jwt");
    let rule = json!({"name": "x", "enabled": true, "action": "accept", "protocol": "all", "sources": [jwt], "destinations": [jwt]});
    let policy = text(
        &netbird.create("/policies", json!({"name": "p", "rules": [rule]})),
        "id",
    );
    let added = netbird
        .add_legacy_rule(&policy, rule)
        .expect("a rule that is valid");
    let rules = netbird.list(&format!("/policies/{policy}"))["rules"].clone();
    assert_eq!(
        (&rules[0]["id"], &rules[1]["id"]),
        (&json!(policy), &json!(added))
    );
    assert_eq!(
        rules[1]["sources"],
        Value::Null,
        "seen in the first rule, so left out"
    );
}

#[test]
fn unclean_paths_are_redirected_and_unknown_ones_are_plain() {
    let netbird = NetBird::start();
    let get = |path: &str| {
        fakes::client::send("GET", &(netbird.url() + path), None, None).expect("an answer")
    };
    let moved = get("//api/groups?name=x");
    assert_eq!(moved.status, 301);
    assert!(
        moved
            .headers
            .contains(&("location".to_owned(), "/api/groups?name=x".to_owned())),
        "{moved:?}"
    );
    for path in ["/api/groups/", "/groups", "/api/v2/groups", "/"] {
        let answer = get(path);
        assert_eq!(
            (answer.status, answer.text.as_str()),
            (404, "404 page not found\n"),
            "{path}"
        );
    }
}

#[test]
fn keep_alive_and_chunked_bodies() {
    let netbird = NetBird::start();
    let host = netbird.url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&host).expect("the server listens");
    let token = netbird.token();
    let mut ask = |request: &str| {
        stream
            .write_all(request.as_bytes())
            .expect("the server reads");
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).expect("the server answers");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let head =
        format!("POST /api/groups HTTP/1.1\r\nHost: {host}\r\nAuthorization: Token {token}\r\n");
    let chunked = ask(&format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{\"nam\r\n8;x=y\r\ne\": \"a\"}}\r\n0\r\nTrailer: z\r\n\r\n"
    ));
    assert!(chunked.starts_with("HTTP/1.1 200 OK\r\n"), "{chunked}");
    let plain = ask(&format!(
        "{head}Content-Length: 12\r\n\r\n{{\"name\":\"b\"}}"
    ));
    assert!(plain.starts_with("HTTP/1.1 200 OK\r\n"), "{plain}");
    assert_eq!(names(&netbird, "/groups"), ["All", "a", "b"]);
}

#[test]
fn parallel_writes_are_serialised() {
    let netbird = NetBird::start();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let post = || {
            status(&send(
                &netbird,
                "POST",
                "/groups",
                Some(json!({"name": "one"})),
            ))
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(post)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("the client ends"))
            .collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1);
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 7);
}

#[test]
fn port_is_free_after_drop() {
    let netbird = NetBird::start();
    let port = netbird
        .url()
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    drop(netbird);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    drop(NetBird::start_on(port).expect("the port is free"));
}

#[test]
fn writes_follow_the_role_and_reads_do_not() {
    let netbird = NetBird::start();
    let writes = |role| {
        let token = netbird.token_for(role);
        let ask = |method, path, body| status(&send_as(&netbird, Some(&token), method, path, body));
        let name = json!({"name": format!("by {role}")});
        let key = json!({"name": "k", "type": "one-off", "auto_groups": []});
        assert_eq!(ask("GET", "/setup-keys", None), 200, "{role}");
        [
            ask("POST", "/groups", Some(name)),
            ask("POST", "/setup-keys", Some(key)),
        ]
    };
    assert_eq!(writes("admin"), [200, 200]);
    assert_eq!(writes("network_admin"), [200, 403]);
    for role in ["auditor", "user", "billing_admin"] {
        assert_eq!(writes(role), [403, 403], "{role}");
    }
}
