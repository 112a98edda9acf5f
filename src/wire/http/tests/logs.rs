//! What the log says of requests, and what it must not say.

use serde_json::json as value;

use super::config;
use super::log_capture;
use crate::wire::http::tests::script::{Act, Script, answer, json};
use crate::wire::http::{Client, Config, Method, Token};

#[test]
fn one_line_a_try_and_no_secret() {
    log_capture::start();
    let server = Script::start([
        json(429, "{}"),
        answer(
            200,
            "x-request-id: dc50o5\r\n",
            "{\"key\":\"S3CRET-ANSWER\"}",
        ),
        Act::Close,
        json(502, "S3CRET-ANSWER"),
        json(401, "{\"message\":\"S3CRET-ANSWER\"}"),
        Act::Close,
    ]);
    let mut config: Config = config(&server);
    // A path of its own: the log is that of all tests.
    config.base =
        crate::wire::http::BaseUrl::parse(&format!("{}/logs", server.url()), "/api").unwrap();
    let client = Client::new(config, "Token", &Token::parse("nbp_S3CRET-TOKEN").unwrap()).unwrap();
    let body = value!({"name": "S3CRET-BODY"});
    client
        .send(Method::POST, "/keys?name=S3CRET-QUERY", Some(&body))
        .unwrap();
    client
        .send(Method::GET, "/groups?name=S3CRET-QUERY", None)
        .unwrap();
    client.send(Method::POST, "/lost", Some(&body)).unwrap_err();
    let lines: Vec<String> = log_capture::lines_with("/logs/api")
        .iter()
        .map(|line| {
            line.split(" ms=")
                .map(|part| part.trim_start_matches(char::is_numeric))
                .collect()
        })
        .collect();
    assert_eq!(
        lines,
        [
            "DEBUG netbird_gitops::wire::http::client request method=POST path=/logs/api/keys status=429 request_id= retries=0",
            "WARN netbird_gitops::wire::http::client 429 from POST /logs/api/keys: waiting 10 s (1 of 12)",
            "DEBUG netbird_gitops::wire::http::client request method=POST path=/logs/api/keys status=200 request_id=dc50o5 \
             retries=1",
            "DEBUG netbird_gitops::wire::http::client request method=GET path=/logs/api/groups error=the connection ended \
             before an answer retries=0",
            "INFO netbird_gitops::wire::http::client the connection ended before an answer from GET /logs/api/groups: trying \
             again in 0.0 s (1 of 3)",
            "DEBUG netbird_gitops::wire::http::client request method=GET path=/logs/api/groups status=502 request_id= \
             retries=1",
            "INFO netbird_gitops::wire::http::client 502 from GET /logs/api/groups: trying again in 0.0 s (2 of 3)",
            "DEBUG netbird_gitops::wire::http::client request method=GET path=/logs/api/groups status=401 request_id= \
             retries=2",
            "DEBUG netbird_gitops::wire::http::client request method=POST path=/logs/api/lost error=the connection ended \
             before an answer retries=0",
        ]
    );
    assert!(
        !log_capture::lines_with("ureq").is_empty(),
        "the lines of ureq are kept too"
    );
    assert_eq!(log_capture::lines_with("S3CRET"), [""; 0]);
}
