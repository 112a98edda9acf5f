//! Recorded answers of a real Gitea 1.26.3 and a real Forgejo 12.0.4: each request is sent to the
//! fake, and brings the same status, the same fields of the same types, or the same refusal. Blob
//! ids are git's, so those of the requests hold here too.

use std::collections::BTreeSet;
use std::path::Path;

use fakes::Gitea;
use fakes::client::{self, Answer};
use serde_json::{Value, json};

use crate::recordings::other_shape;

/// The file before it is changed, whose blob id the requests name: afa95319….
const BEFORE: &str = "{\n  \"groups\": {},\n  \"setup_keys\": {\n    \"Pilot-hawk-72\": { \"type\": \"one-off\", \"enrolled\": false }\n  }\n}\n";
/// And after it: c85419e2….
const AFTER: &str = "{\n  \"groups\": {},\n  \"setup_keys\": {\n    \"Pilot-hawk-72\": { \"type\": \"one-off\", \"enrolled\": true }\n  }\n}\n";

/// What a request needs: makes it, corrects numbers in the path, and returns the token.
type Setup = fn(&Gitea, &mut String) -> String;

fn before(gitea: &Gitea, _: &mut String) -> String {
    gitea.push("main", "netbird.json", BEFORE, "m\n");
    gitea.token()
}

fn after(gitea: &Gitea, _: &mut String) -> String {
    gitea.push("main", "netbird.json", AFTER, "m\n");
    gitea.token()
}

fn nothing(gitea: &Gitea, _: &mut String) -> String {
    gitea.token()
}

/// Opens a pull request with a comment of somebody else, and one of the bot.
fn pull(gitea: &Gitea, path: &mut String) -> String {
    let number = gitea.open_pr("netbird-gitops/enrolled", "main");
    gitea.comment("alice", number, "looks good");
    let id = gitea.comment("gitops-bot", number, "plan");
    for (recorded, own) in [
        ("issues/3/", number),
        ("comments/86", id),
        ("comments/10", id),
    ] {
        let kind = recorded
            .split(|letter: char| letter.is_ascii_digit())
            .next();
        let end = if recorded.ends_with('/') { "/" } else { "" };
        let kind = kind.expect("what stands before the number");
        *path = path.replace(recorded, &format!("{kind}{own}{end}"));
    }
    gitea.token()
}

/// Makes the reader that may not edit.
fn pull_as_reader(gitea: &Gitea, path: &mut String) -> String {
    pull(gitea, path);
    gitea.add_user("bob", "read")
}

/// Opens the issue that the list finds.
fn drift(gitea: &Gitea, path: &mut String) -> String {
    let label = json!({"name": "drift", "color": "#ff0000"});
    let (_, label) = gitea.call("POST", &gitea.path("/labels"), label);
    let issue = json!({"title": "NetBird drift", "body": "first", "labels": [label["id"]]});
    let (_, issue) = gitea.call("POST", &gitea.path("/issues"), issue);
    let edit = gitea.path(&format!("/issues/{}", issue["number"]));
    gitea.call("PATCH", &edit, json!({"body": "second"}));
    *path = path.replace("issues/23", &format!("issues/{}", issue["number"]));
    gitea.token()
}

fn hooked(gitea: &Gitea, path: &mut String) -> String {
    // The request names the blob of another text.
    gitea.refuse_pushes(Some("policy: not on Fridays"));
    hooked_file(gitea, path)
}

fn hooked_file(gitea: &Gitea, _: &mut String) -> String {
    let text = "{\"groups\":{},\"setup_keys\":{\"Pilot-hawk-72\":{\"enrolled\":false}}}\n";
    gitea.push("main", "netbird.json", text, "m\n");
    gitea.token()
}

fn race(gitea: &Gitea, _: &mut String) -> String {
    gitea.push("main", "netbird.json", "0\n", "m\n");
    gitea.race(|gitea| {
        gitea.push("main", "other.txt", "x", "theirs\n");
    });
    gitea.token()
}

const GITEA: &[(&str, Setup)] = &[
    ("branch-get-protected", |gitea, _| {
        gitea.protect("main", json!({}));
        gitea.token()
    }),
    ("contents-get", before),
    ("contents-get-empty-repo", |gitea, _| {
        gitea.empty();
        gitea.token()
    }),
    ("contents-get-missing-file", nothing),
    ("contents-get-private-no-access", |gitea, _| {
        gitea.add_user("bob", "none")
    }),
    ("contents-get-too-big", |gitea, _| {
        gitea.push("main", "big.bin", "0123456789", "m\n");
        gitea.set_max_blob_size(9);
        gitea.token()
    }),
    ("contents-get-unknown-ref", nothing),
    ("contents-multi", |gitea, _| {
        let files = gitea
            .change("main")
            .file("a.json", "a\n")
            .file("b.json", "b\n");
        files.push();
        gitea.token()
    }),
    ("contents-post-create", |gitea, _| {
        gitea.change("main").delete("netbird.json").push();
        gitea.token()
    }),
    ("contents-put", before),
    ("contents-put-archived", |gitea, _| {
        gitea.archive();
        gitea.token()
    }),
    ("contents-put-author-signoff-dates", after),
    ("contents-put-bad-token", |_, _| "0".repeat(40)),
    ("contents-put-hook-rejected", hooked),
    ("contents-put-missing-file", nothing),
    ("contents-put-protected-branch", |gitea, path| {
        gitea.protect("main", json!({}));
        hooked_file(gitea, path)
    }),
    ("contents-put-race-403", race),
    ("contents-put-read-only-user", |gitea, _| {
        gitea.add_user("bob", "read")
    }),
    ("contents-put-scope-too-small", |gitea, _| {
        gitea.token_with(&["read:repository"])
    }),
    ("contents-put-stale-sha", after),
    ("issue-comment-create", |gitea, _| {
        gitea.open_pr("feature", "main");
        gitea.token()
    }),
    ("issue-comment-edit", pull),
    ("issue-comment-edit-forbidden", pull_as_reader),
    ("issue-comments-list-empty", |gitea, _| {
        gitea.open_pr("feature", "main");
        gitea.token()
    }),
    ("issue-comments-list-job-token", |gitea, _| {
        let number = gitea.open_pr("feature", "main");
        gitea.comment("gitea-actions", number, "plan");
        gitea.job_token()
    }),
    ("issue-comments-list-unknown-number", nothing),
    ("issue-create", drift),
    ("issue-edit-stale-content-version", drift),
    ("issues-list", drift),
    ("pulls-create-exists", pull),
    ("raw-unknown-ref", before),
    ("renamed-repo-put", |gitea, path| {
        let token = gitea.token();
        // The recorded path has the old name, whatever that is.
        *path = path.replace("/repos/acme/oldname/", &format!("/repos/{}/", gitea.repo()));
        gitea.rename_repo("newname");
        token
    }),
    ("settings-api", nothing),
    ("status-create", |gitea, path| {
        let tip = gitea.tip("main").expect("a tip");
        *path = gitea.path(&format!("/statuses/{tip}"));
        gitea.token()
    }),
    ("status-create-unknown-sha", nothing),
    ("user-get-expired-job-token", |gitea, _| {
        let token = gitea.job_token();
        gitea.revoke(&token);
        token
    }),
    ("user-get-job-token", |gitea, _| gitea.job_token()),
    ("version", nothing),
];

const FORGEJO: &[(&str, Setup)] = &[
    ("contents-get", before),
    ("contents-get-empty-repo", |gitea, _| {
        gitea.empty();
        gitea.token()
    }),
    ("contents-get-too-big", |gitea, _| {
        gitea.push("main", "big.bin", "0123456789", "m\n");
        gitea.set_max_blob_size(9);
        gitea.token()
    }),
    ("contents-get-unknown-ref", nothing),
    ("contents-multi-update-without-sha", nothing),
    ("contents-put", before),
    ("contents-put-bad-token", |_, _| "0".repeat(40)),
    ("contents-put-hook-rejected", hooked),
    ("contents-put-mirror", |gitea, _| {
        gitea.make_mirror();
        gitea.token()
    }),
    ("contents-put-missing-file", nothing),
    ("contents-put-protected-branch", |gitea, path| {
        gitea.protect("main", json!({}));
        hooked_file(gitea, path)
    }),
    ("contents-put-race-loser-500", race),
    ("contents-put-scope-too-small", |gitea, _| {
        gitea.token_with(&["read:repository"])
    }),
    ("contents-put-stale-sha", after),
    ("contents-put-without-sha-new", nothing),
    ("issue-comment-edit-forbidden", pull_as_reader),
    ("issue-comments-list", pull),
    ("issue-comments-list-unknown-number", nothing),
    ("issues-list", drift),
    ("pulls-create-exists", pull),
    ("raw-unknown-ref", before),
    ("settings-api", nothing),
    ("version", nothing),
];

#[test]
fn recorded_requests_to_gitea() {
    replay("gitea", GITEA, Gitea::start);
}

#[test]
fn recorded_requests_to_forgejo() {
    replay("forgejo", FORGEJO, Gitea::start_forgejo);
}

fn replay(folder: &str, cases: &[(&str, Setup)], start: fn() -> Gitea) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("recordings").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder of recordings");
    let name = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let there: BTreeSet<String> = entries
        .filter_map(|entry| name(&entry.expect("an entry").path()))
        .collect();
    let known: BTreeSet<String> = cases.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(there, known, "each recording is replayed");
    let differences: Vec<String> = cases
        .iter()
        .filter_map(|(name, setup)| {
            let path = folder.join(format!("{name}.json"));
            let text = std::fs::read_to_string(path).expect("a readable recording");
            let found = difference(&start(), &text, *setup);
            found.map(|found| format!("{name}: {found}"))
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Returns in what the fake's answer to a recorded request differs.
fn difference(gitea: &Gitea, text: &str, setup: Setup) -> Option<String> {
    let recording: Value = serde_json::from_str(text).expect("a recording in JSON");
    let (request, wanted) = (&recording["request"], &recording["response"]);
    let text = |field: &str| request[field].as_str().unwrap_or_default().to_owned();
    let (mut path, method) = (text("path"), text("method"));
    let token = setup(gitea, &mut path);
    let path = in_this_repository(path.trim_start_matches("/api/v1"), gitea);
    let url = format!("{}/api/v1{path}", gitea.url());
    let mut body = request["body"].clone();
    if path.ends_with("/issues") && method == "POST" {
        body["labels"] = gitea.issues()[0]["labels"][0]["id"].clone();
        body["labels"] = json!([body["labels"]]);
    }
    let body = Some(body).filter(|body| !body.is_null());
    let answer = client::send(&method, &url, Some(&token), body.as_ref()).expect("an answer");
    if json!(answer.status) != wanted["status"] {
        return Some(format!("status {}, {}", answer.status, answer.text));
    }
    for (name, value) in wanted["headers"].as_object().into_iter().flatten() {
        let found = header(&answer, name);
        let by_chance = [
            "Last-Modified",
            "Cache-Control",
            "Access-Control-Expose-Headers",
        ];
        if !by_chance.contains(&name.as_str()) && found != value.as_str() {
            return Some(format!("{name}: {found:?} for {value}"));
        }
    }
    let wanted = &wanted["body"];
    if wanted.is_string() {
        return (json!(answer.text) != *wanted).then_some(answer.text);
    }
    if answer.status >= 400 {
        let [found, wanted] = [&answer.json, wanted].map(|body| plain(&body.to_string()));
        return (found != wanted).then(|| format!("{found} for {wanted}"));
    }
    let blob = |body: &Value| body["content"]["sha"].clone();
    if blob(&answer.json) != blob(wanted) {
        return Some(format!("another blob: {}", answer.text));
    }
    other_shape(&answer.json, wanted)
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let mut headers = answer.headers.iter();
    let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// Puts this repository in the place of the recorded one.
fn in_this_repository(path: &str, gitea: &Gitea) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["", "repos", "acme", "network", ..] => path.to_owned(),
        ["", "repos", "acme", _, ref rest @ ..] => gitea.path(&format!("/{}", rest.join("/"))),
        _ => path.to_owned(),
    }
}

/// Returns a text with one sign in the place of all that differs from run to run: commits, numbers,
/// the address of the server and the name of the repository.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let words = text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric());
    let mut after_owner = false;
    for word in words {
        let bare = word.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let is_number = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
        let is_id = bare.len() == 40 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_number || is_id || after_owner {
            plain.push('#');
            plain += &word[bare.len()..];
        } else {
            plain += word;
        }
        after_owner = word == "acme/";
    }
    plain
}
