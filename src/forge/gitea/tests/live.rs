//! Against a real server, which the scripts of the other tests only stand for. Run by hand:
//!
//! `GITEA_URL=… GITEA_ADMIN_TOKEN=… GITEA_TOKEN=… cargo test gitea::tests::live -- --ignored`
//!
//! The admin's token makes repositories and rules; the other one is the bot's, with `write:repository` and `write:issue`
//! (`read:user` or not). The repositories stay there.

use super::*;
use crate::base::MAX_BYTES;
use crate::forge::gitea::IssueEdit;
use crate::forge::gitea::commit::{BranchFile, CommitOutcome, Patience, Revision};
use crate::forge::gitea::inventory::{BRANCH, InventoryBranch};
use crate::forge::gitea::mark_enrolled::{Marked, MarkedBy, Marking};
use crate::forge::gitea::post::{Board, PostAction};
use crate::wire::http::{Client, Method};

const AT: BranchFile<'_> = BranchFile {
    branch: "main",
    path: "netbird.json",
};

struct Server {
    admin: Client,
    owner: String,
    bot: String,
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn client(token: &str) -> Client {
    let mut config = config(&variable("GITEA_URL")).unwrap();
    config.proxy = ProxySetting::Direct;
    Client::new(config, "token", &Token::parse(&variable(token)).unwrap()).unwrap()
}

impl Server {
    fn new() -> Server {
        let admin = client("GITEA_ADMIN_TOKEN");
        let login = |client: &Client| {
            let user = client
                .send(Method::GET, "/user", None)
                .unwrap()
                .json()
                .unwrap();
            user["login"].as_str().map(str::to_owned)
        };
        let owner = login(&admin).unwrap();
        let bot = login(&client("GITEA_TOKEN")).or_else(|| std::env::var("GITEA_BOT").ok());
        Server {
            admin,
            owner,
            bot: bot.expect("GITEA_BOT is set where the bot's token lacks read:user"),
        }
    }

    fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let reply = self.admin.send(method.clone(), path, Some(&body)).unwrap();
        assert!(
            reply.is_success(),
            "{method} {path}: {} {}",
            reply.status,
            String::from_utf8_lossy(reply.bytes())
        );
        reply.json().unwrap_or_default()
    }

    /// A new repository with netbird.json, that the bot may write to; and the bot's view of it.
    fn repository(&self, text: &str) -> (String, Repo) {
        use base64::Engine;
        let name = format!("live-{}", jiff::Timestamp::now().as_nanosecond());
        self.call(
            Method::POST,
            "/user/repos",
            json!({"name": name, "private": true, "default_branch": "main", "auto_init": true}),
        );
        let path = format!("/repos/{}/{name}", self.owner);
        let content = base64::engine::general_purpose::STANDARD.encode(text);
        self.call(
            Method::POST,
            &format!("{path}/contents/netbird.json"),
            json!({"content": content, "branch": "main", "message": "file"}),
        );
        self.call(
            Method::PUT,
            &format!("{path}/collaborators/{}", self.bot),
            json!({"permission": "write"}),
        );
        let mut config = config(&variable("GITEA_URL")).unwrap();
        config.proxy = ProxySetting::Direct;
        let token = Token::parse(&variable("GITEA_TOKEN")).unwrap();
        let repo = Repo::new(config, &token, &format!("{}/{name}", self.owner)).unwrap();
        (path, repo)
    }
}

fn pending(keys: usize) -> String {
    let keys: Vec<String> = (0..keys)
        .map(|n| format!("\t\t\"key-{n}\": {{\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false}}"))
        .collect();
    format!(
        "\u{feff}{{\r\n\t\"setup_keys\": {{\r\n{}\r\n\t}}\r\n}}",
        keys.join(",\r\n")
    )
}

fn text(repo: &Repo, branch: &str) -> String {
    let file = repo.file(branch, "netbird.json", MAX_BYTES as u64);
    String::from_utf8(file.unwrap().bytes).unwrap()
}

fn commit(repo: &Repo, at: BranchFile<'_>, key: &str) -> anyhow::Result<Marked> {
    Marking {
        repo,
        at,
        environment: "default",
        names: &names([key]),
        patience: Patience::default(),
    }
    .commit()
}

#[test]
#[ignore = "needs a real server"]
fn a_commit_and_what_stands_in_its_way() {
    let server = Server::new();
    let (path, repo) = server.repository(&pending(2));
    assert!(!repo.version().unwrap().is_empty());
    let before = repo.tip("main").unwrap();
    let sha = commit(&repo, AT, "key-0").unwrap().place.unwrap();
    assert_eq!(repo.tip("main").unwrap(), sha);
    assert_ne!(before, sha);
    assert_eq!(text(&repo, "main"), pending(2).replacen("false", "true", 1));
    let marked = commit(&repo, AT, "key-0").unwrap();
    assert_eq!(marked.by, MarkedBy::Nobody);
    assert_eq!(repo.tip("main").unwrap(), sha);

    for (branch, path) in [
        ("main", "none.json"),
        ("none", "netbird.json"),
        ("main", "netbird.json/x"),
    ] {
        let target = BranchFile { branch, path };
        assert!(commit(&repo, target, "key-1").is_err(), "{branch} {path}");
    }
    server.call(
        Method::POST,
        &format!("{path}/branch_protections"),
        json!({"rule_name": "main", "enable_push": false}),
    );
    let error = commit(&repo, AT, "key-1").unwrap_err();
    assert!(
        of_gitea(&error).is_none() && hint_of(&error).unwrap().contains("--via-pr"),
        "{error}"
    );

    let renamed = format!("{}-new", path.rsplit('/').next().unwrap());
    server.call(Method::PATCH, &path, json!({"name": renamed}));
    let error = commit(&repo, AT, "key-1").unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with(&format!("the repository is {}/{renamed} now", server.owner)),
        "{error}"
    );
}

#[test]
#[ignore = "needs a real server"]
fn eight_writers_at_once() {
    let server = Server::new();
    let (path, repo) = server.repository(&pending(8));
    std::thread::scope(|scope| {
        for n in 0..8 {
            let repo = repo.clone();
            scope.spawn(move || commit(&repo, AT, &format!("key-{n}")).unwrap());
        }
        // And somebody who works on other files.
        scope.spawn(|| {
            for n in 0..8 {
                let body = json!({"content": "eA==", "branch": "main", "message": "other"});
                let _ = server.admin.send(
                    Method::POST,
                    &format!("{path}/contents/other-{n}"),
                    Some(&body),
                );
            }
        });
    });
    assert_eq!(text(&repo, "main"), pending(8).replace("false", "true"));
}

#[test]
#[ignore = "needs a real server"]
fn a_proposal_from_its_opening_to_the_next_one() {
    let server = Server::new();
    let (path, repo) = server.repository(&pending(3));
    server.call(
        Method::POST,
        &format!("{path}/branch_protections"),
        json!({"rule_name": "main", "enable_push": false}),
    );
    let propose = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let marked = Marking {
            repo: &repo,
            at: AT,
            environment: "default",
            names: &names,
            patience: Patience::default(),
        }
        .propose();
        let marked = marked.unwrap();
        let number = marked.place.as_ref().and_then(|url| url.rsplit('/').next());
        let number = number.map_or(0, |number| number.parse::<u64>().unwrap());
        (number, marked.by)
    };
    let (number, by) = propose(&["key-0"]);
    assert_eq!(by, MarkedBy::Pull);
    assert_eq!(propose(&["key-0"]), (number, MarkedBy::OpenPull));
    assert_eq!(propose(&["key-1"]), (number, MarkedBy::Pull));
    assert_eq!(
        text(&repo, "netbird-gitops/enrolled"),
        pending(3).replacen("false", "true", 2)
    );
    assert_eq!(
        repo.pull(number).unwrap().title,
        "chore: mark 2 keys as enrolled [automated]"
    );

    // The file changes on main: the proposal is replaced.
    let main = repo.blob(Some("main"), "netbird.json").unwrap();
    use base64::Engine;
    let changed = pending(4);
    server.call(
        Method::DELETE,
        &format!("{path}/branch_protections/main"),
        Value::Null,
    );
    server.call(
        Method::PUT,
        &format!("{path}/contents/netbird.json"),
        json!({"content": base64::engine::general_purpose::STANDARD.encode(&changed), "sha": main, "branch": "main", "message": "more"}),
    );
    let (second, _) = propose(&["key-3"]);
    assert_eq!(
        (
            repo.pull(number).unwrap().state.as_str(),
            repo.pull(second).unwrap().state.as_str()
        ),
        ("closed", "open")
    );
    let wanted = changed.replacen("false", "true", 2).replace(
        "\"key-3\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false",
        "\"key-3\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": true",
    );
    assert_eq!(text(&repo, "netbird-gitops/enrolled"), wanted);

    // Merged, with the branch left behind; another key follows.
    let merge = json!({"Do": "squash"});
    let merge_path = format!("{path}/pulls/{second}/merge");
    for _ in 0..50 {
        if server
            .admin
            .send(Method::POST, &merge_path, Some(&merge))
            .unwrap()
            .is_success()
        {
            break;
        }
        // The server checks for conflicts first, in its own time.
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(text(&repo, "main"), wanted);
    let merged = repo
        .pull_merged_as(&repo.tip("main").unwrap())
        .unwrap()
        .unwrap();
    assert_eq!((merged.number, merged.merged), (second, true));
    assert_eq!(propose(&["key-0", "key-3"]), (0, MarkedBy::Nobody));
    let (third, _) = propose(&["key-2"]);
    assert!(third > second, "{third}");
    // Two runs at once.
    repo.edit_pull(
        third,
        IssueEdit {
            state: Some("closed"),
            ..IssueEdit::default()
        },
    )
    .unwrap();
    repo.delete_branch("netbird-gitops/enrolled").unwrap();
    let numbers: BTreeSet<u64> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| propose(&["key-2"]).0))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(numbers.len(), 1, "{numbers:?}");
}

#[test]
#[ignore = "needs a real server"]
fn a_comment_and_an_issue() {
    let server = Server::new();
    let (path, repo) = server.repository(&pending(1));
    let issue = server.call(
        Method::POST,
        &format!("{path}/issues"),
        json!({"title": "t"}),
    )["number"]
        .as_u64()
        .unwrap();
    let marker = "<!-- netbird-gitops plan default -->";
    // Somebody else's comes first. Without read:user it would pass for ours.
    if repo.user().is_ok() {
        server.call(
            Method::POST,
            &format!("{path}/issues/{issue}/comments"),
            json!({"body": format!("{marker}\nfake")}),
        );
    }
    let comments = Board {
        repo: &repo,
        pull: Some(issue),
    };
    let post = |text: &str| comments.keep("", &format!("{marker}\n{text}")).unwrap();
    let first = post("one");
    assert_eq!(post("one").post.id(), first.post.id());
    let second = post("two\r\n\u{fc}");
    assert_eq!(
        (second.post.id(), second.action),
        (first.post.id(), PostAction::Edited)
    );
    assert_eq!(post("two\r\n\u{fc}").action, PostAction::Unchanged);
    repo.delete_comment(first.post.id()).unwrap();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let post = &post;
            scope.spawn(move || post(&format!("racer {n}")));
        }
    });
    post("last");
    let all = repo.comments(issue).unwrap();
    let ours = all
        .iter()
        .filter(|comment| comment.body.starts_with(marker) && !comment.body.ends_with("fake"));
    assert_eq!(ours.count(), 1, "{all:?}");
    assert!(matches!(
        repo.comments(999).unwrap_err().status(),
        Some(404 | 500)
    ));

    let marker = "<!-- netbird-gitops drift default -->";
    let board = Board {
        repo: &repo,
        pull: None,
    };
    let keep = |text: &str| {
        let posted = board.keep("Drift", &format!("{marker}\n{text}")).unwrap();
        (posted.post.id(), posted.action)
    };
    let resolve = || {
        let posted = board.correct("Drift", &format!("{marker}\nresolved"), true);
        posted
            .unwrap()
            .map(|posted| (posted.post.id(), posted.action))
    };
    assert_eq!(resolve(), None);
    let (first, action) = keep("a");
    assert_eq!(action, PostAction::Created);
    assert_eq!(keep("a"), (first, PostAction::Unchanged));
    assert_eq!(keep("b"), (first, PostAction::Edited));
    assert_eq!(resolve(), Some((first, PostAction::Closed)));
    assert!(keep("a").0 > first);
    let issues = server.call(
        Method::GET,
        &format!("{path}/issues?state=open&type=issues"),
        Value::Null,
    );
    assert_eq!(issues.as_array().unwrap().len(), 1);
}

#[test]
#[ignore = "needs a real server"]
fn an_inventory_from_its_first_commit() {
    let server = Server::new();
    let (path, repo) = server.repository("{}");
    let branch = InventoryBranch::new(repo.clone(), BRANCH, "home");
    let probe = "netbird.json";
    assert_eq!(branch.read(probe).unwrap(), None);
    assert_eq!(branch.copies().unwrap(), [""; 0]);
    assert_eq!(branch.others().unwrap(), []);
    assert_eq!(branch.may_write().unwrap(), Ok(()));
    let write = |text: &str, key: &str| {
        let bytes = text.as_bytes().to_vec();
        let mut edit = |before: Option<&[u8]>| {
            Ok((before != Some(&bytes)).then(|| Revision {
                bytes: bytes.clone(),
                message: "inventory: a test".to_owned(),
            }))
        };
        let keys = [(key.to_owned(), b"sealed".to_vec())];
        branch.write(&mut edit, &keys, Patience::default()).unwrap()
    };
    for (text, key) in [("one", "a.age"), ("two", "b.age")] {
        let outcome = write(text, key);
        assert!(
            matches!(outcome, CommitOutcome::Committed { .. }),
            "{outcome:?}"
        );
    }
    assert_eq!(write("two", "b.age"), CommitOutcome::NothingToDo);
    // Above 10 MiB there is no content on either server.
    let large = "x".repeat((10 << 20) + 1);
    assert!(matches!(
        write(&large, "c.age"),
        CommitOutcome::Committed { .. }
    ));
    let stored = branch.read(probe).unwrap().unwrap();
    assert_eq!(stored.bytes, large.as_bytes());
    let copy = |name: &str| format!(".netbird-gitops/home/keys/{name}.age");
    assert_eq!(branch.copies().unwrap(), ["a", "b", "c"].map(copy));
    let office = InventoryBranch::new(repo, BRANCH, "office");
    assert_eq!(office.read(probe).unwrap(), None);
    assert_eq!(office.others().unwrap().len(), 1);
    let rule = json!({"rule_name": BRANCH, "enable_push": false});
    server.call(Method::POST, &format!("{path}/branch_protections"), rule);
    assert!(branch.may_write().unwrap().is_err());
}
