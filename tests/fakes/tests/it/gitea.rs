//! The fake Gitea and Forgejo.

mod inventory;
mod races;
mod recordings;
mod rights;
mod talk;
mod writes;

use fakes::Gitea;
use fakes::client::{self, Answer};
use serde_json::{Value, json};

/// The path of the file below the repository's.
const FILE: &str = "/contents/netbird.json";

/// Sends a request about the repository as the bot.
fn send(gitea: &Gitea, method: &str, rest: &str, body: Option<Value>) -> Answer {
    send_as(gitea, &gitea.token(), method, rest, body)
}

/// Sends a request about the repository with this token; none is `""`.
fn send_as(gitea: &Gitea, token: &str, method: &str, rest: &str, body: Option<Value>) -> Answer {
    let url = format!("{}/api/v1{}", gitea.url(), gitea.path(rest));
    let token = Some(token).filter(|token| !token.is_empty());
    client::send(method, &url, token, body.as_ref()).expect("an answer")
}

/// Returns the body of a PUT of these bytes on the file as it is now.
fn put_body(gitea: &Gitea, text: &str) -> Value {
    let sha = gitea.sha("main", "netbird.json");
    json!({"content": base64(text), "sha": sha, "branch": "main", "message": "a change"})
}

/// Puts this text into the file, with the `sha` that it has now.
fn put(gitea: &Gitea, text: &str) -> Answer {
    put_as(gitea, &gitea.token(), text)
}

fn put_as(gitea: &Gitea, token: &str, text: &str) -> Answer {
    send_as(gitea, token, "PUT", FILE, Some(put_body(gitea, text)))
}

/// Returns the file as text.
fn text(gitea: &Gitea) -> String {
    String::from_utf8(gitea.file("main", "netbird.json")).expect("a text")
}

/// Returns the message of a refusal.
fn message(answer: &Answer) -> String {
    answer.json["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn base64(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |group: &[u8]| {
        let bits = [0, 1, 2].map(|place| u32::from(*group.get(place).unwrap_or(&0)));
        let bits = bits[0] << 16 | bits[1] << 8 | bits[2];
        let digit = |place: usize| match place <= group.len() {
            true => char::from(ALPHABET[(bits >> (18 - 6 * place) & 63) as usize]),
            false => '=',
        };
        [digit(0), digit(1), digit(2), digit(3)]
    };
    text.as_bytes().chunks(3).flat_map(encode).collect()
}
