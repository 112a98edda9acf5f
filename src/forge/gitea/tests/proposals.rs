//! The pull request instead of a commit (docs/gitea-api.md, "Pull requests").

use super::*;
use crate::forge::gitea::commit::{BranchFile, Patience};
use crate::forge::gitea::mark_enrolled::{Marked, Marking, branch_name};

const AT: BranchFile<'_> = BranchFile {
    branch: "main",
    path: "netbird.json",
};
const PENDING: &str = "{\"setup_keys\": {\"a\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false}, \"b\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false}}}";

fn marked(keys: &[&str]) -> String {
    keys.iter().fold(PENDING.to_owned(), |text, key| {
        text.replace(
            &format!(
                "\"{key}\": {{\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false"
            ),
            &format!(
                "\"{key}\": {{\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": true"
            ),
        )
    })
}

fn pull(number: u64, state: &str, title: &str, body: &str) -> Value {
    json!({"number": number, "title": title, "body": body, "state": state, "html_url": format!("https://git.example/pulls/{number}"),
           "merged": null, "merge_commit_sha": null,
           "head": {"ref": "netbird-gitops/enrolled", "sha": "h", "repo_id": 1}, "base": {"ref": "main", "sha": "b", "repo_id": 1}})
}

fn found(pull: Value) -> Act {
    reply(200, &pull.to_string())
}

fn none() -> Act {
    message(404, "not found")
}

fn run(
    names: BTreeSet<String>,
    acts: impl IntoIterator<Item = Act>,
) -> (anyhow::Result<String>, Vec<String>, Script) {
    let (server, repo) = start(acts);
    let patience = Patience {
        sleep: &|_| {},
        now: &|| jiff::Timestamp::UNIX_EPOCH,
        ..Patience::default()
    };
    let result = Marking {
        repo: &repo,
        at: AT,
        environment: "default",
        names: &names,
        patience,
    }
    .propose();
    (
        result.map(|Marked { text, .. }| text),
        asked(&server),
        server,
    )
}

fn open(number: u64, what: &str) -> String {
    format!("pull request #{number} {what}: https://git.example/pulls/{number}")
}

const OPENED: &str = "opened";
const UPDATED: &str = "updated";
const WAITS: &str = "waits to be merged";
const OURS: &str = "GET /contents/netbird.json?ref=netbird-gitops%2Fenrolled";
const LIST: &str = "GET /pulls?state=open&limit=50&page=1";
const WRITE: &str = "POST /contents";

/// The list of open pull requests with one in it.
fn alone(number: u64) -> Act {
    reply(
        200,
        &Value::from(vec![pull(number, "open", "", "")]).to_string(),
    )
}

fn done() -> Act {
    reply(200, r#"{"commit": {"sha": "new"}}"#)
}

#[test]
fn a_run_that_finds_its_own_proposal_does_nothing() {
    let (_, _, server) = run(
        names(["a"]),
        [
            file(PENDING, "b1"),
            none(),
            none(),
            done(),
            reply(201, &pull(5, "open", "", "").to_string()),
            alone(5),
        ],
    );
    let text = body(&server, 4);
    let same = pull(
        5,
        "open",
        text["title"].as_str().unwrap(),
        text["body"].as_str().unwrap(),
    );
    let (result, asked, _) = run(
        names(["a"]),
        [
            file(PENDING, "b1"),
            found(same),
            file(&marked(&["a"]), "b2"),
        ],
    );
    assert_eq!((result.unwrap(), asked.len()), (open(5, WAITS), 3));
    // a server that keeps line ends its own way
    let body = text["body"]
        .as_str()
        .unwrap()
        .trim_end()
        .replace('\n', "\r\n");
    let same = pull(5, "open", text["title"].as_str().unwrap(), &body);
    for wanted in [names(["a"]), names([])] {
        let acts = [
            file(PENDING, "b1"),
            found(same.clone()),
            file(&marked(&["a"]), "b2"),
        ];
        let (result, asked, _) = run(wanted, acts);
        assert_eq!((result.unwrap(), asked.len()), (open(5, WAITS), 3));
    }
    let (result, asked, _) = run(names(["a"]), [file(&marked(&["a"]), "b1"), none()]);
    assert_eq!(
        (result.unwrap().as_str(), asked.len()),
        ("the branch has it already", 2)
    );
}

#[test]
fn what_somebody_else_did_is_proposed_no_more() {
    let acts = |head: &str| {
        [
            file(&marked(&["a"]), "b3"),
            found(pull(5, "open", "t", "b")),
            file(head, "b2"),
            reply(201, "{}"),
            bare(204),
        ]
    };
    for wanted in [names(["a"]), names([])] {
        let (result, asked, server) = run(wanted, acts(&marked(&["a"])));
        assert_eq!(result.unwrap(), open(5, "closed, since main has all of it"));
        assert_eq!(
            asked[3..],
            ["PATCH /pulls/5", "DELETE /branches/netbird-gitops/enrolled"]
        );
        assert_eq!(body(&server, 3), json!({"state": "closed"}));
    }
    // a part of it: the rest stays, told anew
    let both = marked(&["a", "b"]);
    let (result, asked, server) = run(names(["b"]), acts(&both).into_iter().take(4));
    assert_eq!(result.unwrap(), open(5, UPDATED));
    assert_eq!(asked[3..], ["PATCH /pulls/5"]);
    assert_eq!(
        body(&server, 3)["title"],
        "chore: mark b as enrolled [automated]"
    );
}

#[test]
fn what_asks_for_another_machine_since_is_marked_by_nobody() {
    let again = PENDING.replacen(
        "\"enrolled\": false",
        "\"reissue_after\": \"2026-12-01T12:00:00Z\", \"enrolled\": false",
        1,
    );
    assert_ne!(again, PENDING);
    let acts = [
        file(&again, "b3"),
        found(pull(5, "open", "t", "b")),
        file(&marked(&["a"]), "b2"),
        reply(201, "{}"),
        bare(204),
        done(),
        reply(201, &pull(6, "open", "", "").to_string()),
        alone(6),
    ];
    let (result, _, server) = run(names(["b"]), acts);
    assert_eq!(result.unwrap(), open(6, OPENED));
    assert_eq!(
        body(&server, 6)["title"],
        "chore: mark b as enrolled [automated]"
    );
}

#[test]
fn a_further_key_goes_onto_the_branch_and_into_the_text() {
    // mark-enrolled b alone: the proposal for a stays.
    let ours = marked(&["a"]);
    let acts = [
        file(PENDING, "b1"),
        found(pull(5, "open", "old", "old")),
        file(&ours, "b2"),
        tip("h"),
        file(&ours, "b2"),
        done(),
        reply(201, "{}"),
    ];
    let (result, asked, server) = run(names(["b"]), acts);
    assert_eq!(result.unwrap(), open(5, UPDATED));
    assert_eq!(
        asked[3..],
        [
            "GET /branches/netbird-gitops/enrolled",
            OURS,
            WRITE,
            "PATCH /pulls/5"
        ]
    );
    let put = body(&server, 5);
    assert_eq!(
        (
            &put["branch"],
            &put["files"][0]["sha"],
            put.get("new_branch")
        ),
        (&json!("netbird-gitops/enrolled"), &json!("b2"), None)
    );
    assert_eq!(put["message"], "chore: mark b as enrolled [automated]");
    let edit = body(&server, 6);
    assert_eq!(edit["title"], "chore: mark 2 keys as enrolled [automated]");
    assert!(edit["body"].as_str().unwrap().starts_with("- a\n- b\n\n"));
}

#[test]
fn a_branch_that_is_of_no_use_is_made_anew() {
    let now = PENDING.replace(
        "}}}",
        "}, \"c\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false}}}",
    );
    // Open, but the file changed on main: a merge might conflict. What it proposed stays proposed.
    let acts = [
        file(&now, "b3"),
        found(pull(5, "open", "t", "b")),
        file(&marked(&["a"]), "b2"),
        reply(201, "{}"),
        bare(204),
        done(),
        reply(201, &pull(6, "open", "", "").to_string()),
        alone(6),
    ];
    let (result, asked, server) = run(names(["b"]), acts);
    assert_eq!(result.unwrap(), open(6, OPENED));
    assert_eq!(
        asked[3..],
        [
            "PATCH /pulls/5",
            "DELETE /branches/netbird-gitops/enrolled",
            WRITE,
            "POST /pulls",
            LIST
        ]
    );
    assert_eq!(body(&server, 3), json!({"state": "closed"}));
    assert_eq!(
        body(&server, 6)["title"],
        "chore: mark 2 keys as enrolled [automated]"
    );
    // Merged, and the branch left behind.
    let acts = [
        file(&marked(&["a"]), "b3"),
        found(pull(5, "closed", "t", "b")),
        answer(200, "x-total-count: 0\r\n", "[]"),
        file("{}", "b2"),
        bare(204),
        done(),
        reply(201, &pull(6, "open", "", "").to_string()),
        alone(6),
    ];
    let (result, asked, _) = run(names(["b"]), acts);
    assert_eq!(result.unwrap(), open(6, OPENED));
    assert_eq!(
        asked[4..],
        [
            "DELETE /branches/netbird-gitops/enrolled",
            WRITE,
            "POST /pulls",
            LIST
        ]
    );
}

#[test]
fn an_open_one_behind_a_closed_one_is_found() {
    let mut fork = pull(8, "open", "t", "b");
    fork["head"]["repo_id"] = json!(2);
    let list = Value::from(vec![fork, pull(9, "open", "t", "b")]).to_string();
    let acts = [
        file(PENDING, "b1"),
        found(pull(5, "closed", "t", "b")),
        reply(200, &list),
        file(&marked(&["a"]), "b2"),
        reply(201, "{}"),
    ];
    assert_eq!(run(names(["a"]), acts).0.unwrap(), open(9, UPDATED));
}

#[test]
fn another_run_at_the_same_time_is_met_by_looking_again() {
    let theirs = || {
        [
            file(PENDING, "b1"),
            found(pull(5, "open", "t", "b")),
            file(&marked(&["a"]), "b2"),
            reply(201, "{}"),
        ]
    };
    for collision in [
        // The branch came up meanwhile.
        vec![
            file(PENDING, "b1"),
            none(),
            none(),
            message(422, "branch already exists"),
        ],
        // The pull request did.
        vec![
            file(PENDING, "b1"),
            none(),
            file(&marked(&["a"]), "b2"),
            recorded("gitea/pulls-create-exists"),
        ],
        vec![
            file(PENDING, "b1"),
            none(),
            file(&marked(&["a"]), "b2"),
            recorded("forgejo/pulls-create-exists"),
        ],
        // The branch went away.
        vec![
            file(PENDING, "b1"),
            none(),
            file(&marked(&["a"]), "b2"),
            none(),
        ],
        // main moved.
        vec![
            file(PENDING, "b0"),
            none(),
            none(),
            recorded("gitea/contents-put-stale-sha"),
        ],
    ] {
        let (result, asked, _) = run(names(["a"]), collision.into_iter().chain(theirs()));
        assert_eq!(result.unwrap(), open(5, UPDATED), "{asked:?}");
    }
}

#[test]
fn of_two_that_were_opened_at_the_same_instant_the_first_stays() {
    let both = Value::from(vec![pull(6, "open", "", ""), pull(5, "open", "", "")]).to_string();
    let new = || reply(201, &pull(6, "open", "", "").to_string());
    let before = || {
        [
            file(PENDING, "b1"),
            none(),
            file(&marked(&["a"]), "b2"),
            new(),
        ]
    };
    for close in [reply(201, "{}"), bare(403)] {
        let acts = before().into_iter().chain([reply(200, &both), close]);
        let (result, asked, server) = run(names(["a"]), acts);
        assert_eq!(result.unwrap(), open(5, WAITS));
        assert_eq!(asked[4..], [LIST, "PATCH /pulls/6"]);
        assert_eq!(body(&server, 5), json!({"state": "closed"}));
    }
    // A list that fails afterwards is no failure of ours.
    let (result, _, _) = run(names(["a"]), before().into_iter().chain([bare(403)]));
    assert_eq!(result.unwrap(), open(6, OPENED));
}

#[test]
fn a_refusal_is_by_the_rule_of_the_bots_branch() {
    let refused = || message(403, "user cannot commit to repo [user: gitops-bot]");
    let rule = || {
        let told =
            json!({"commit": {"id": "h"}, "effective_branch_protection_name": "netbird-gitops/*"});
        let rules = json!([{"rule_name": "main"}, {"rule_name": "netbird-gitops/*", "require_signed_commits": true}]);
        [
            reply(200, &told.to_string()),
            reply(200, &rules.to_string()),
        ]
    };
    let wanted = "the branch rule \"netbird-gitops/*\" requires signed commits, and this one would not be: let Gitea sign, or \
                  commit to the branch itself, without --via-pr";
    // the branch is new
    let round = || [file(PENDING, "b1"), none(), none(), refused()];
    let acts = (0..5).flat_map(|_| round()).chain(rule());
    let (result, asked, _) = run(names(["a"]), acts);
    assert_eq!(hint_of(&result.unwrap_err()).as_deref(), Some(wanted));
    let branch = "GET /branches/netbird-gitops/enrolled";
    assert_eq!(asked[20..], [branch, "GET /branch_protections"]);
    // the branch is there, and gets one more key
    let ours = || file(&marked(&["a"]), "b2");
    let begun = [file(PENDING, "b1"), found(pull(5, "open", "", "")), ours()];
    let rounds = (0..5).flat_map(|_| [tip("h"), ours(), refused()]);
    let acts = begun.into_iter().chain(rounds);
    let acts = acts.chain([tip("h"), ours()]).chain(rule());
    let (result, ..) = run(names(["b"]), acts);
    assert_eq!(hint_of(&result.unwrap_err()).as_deref(), Some(wanted));
    // that it may not open one is by no rule of a branch
    let forbidden = || message(403, "user should have the permission");
    let round = || {
        let first = [file(PENDING, "b1"), none(), file(&marked(&["a"]), "b2")];
        first.into_iter().chain([forbidden()])
    };
    let (result, ..) = run(names(["a"]), (0..5).flat_map(|_| round()));
    let hint = hint_of(&result.unwrap_err()).unwrap();
    assert!(
        hint.starts_with("the token's user is not allowed to do this"),
        "{hint}"
    );
}

#[test]
fn refusals() {
    let round = || {
        [
            file(PENDING, "b1"),
            none(),
            none(),
            recorded("gitea/contents-put-read-only-user"),
        ]
    };
    let (result, asked, _) = run(names(["a"]), (0..6).flat_map(|_| round()));
    let error = result.unwrap_err();
    assert!(error.to_string().contains("refused 5 times"), "{error}");
    assert_eq!(asked.iter().filter(|line| **line == WRITE).count(), 5);
    let (result, asked, _) = run(
        names(["a"]),
        [file(PENDING, "b1"), none(), none(), bare(401)],
    );
    assert!(of_gitea(result.as_ref().unwrap_err()).is_some() && asked.len() == 4);
    // neither repository nor branch nor file: what the token may not see is not a branch that is missing
    let (result, asked, _) = run(names(["a"]), [none(), none(), none()]);
    let error = result.unwrap_err();
    let error = of_gitea(&error).unwrap();
    assert!(error.is_no_right() && error.is_not_found() && asked.len() == 3);
    let (result, ..) = run(
        names(["a"]),
        [none(), none(), reply(200, r#"{"default_branch": "trunk"}"#)],
    );
    let error = result.unwrap_err();
    let error = of_gitea(&error).unwrap();
    assert!(
        error.to_string().contains("has no branch \"main\": "),
        "{error}"
    );
    assert!(
        error
            .hint()
            .unwrap()
            .ends_with("its default branch is trunk")
    );
    let (result, ..) = run(names(["a"]), [none(), tip("t")]);
    let error = result.unwrap_err();
    let error = of_gitea(&error).unwrap();
    let wanted = "the branch \"main\" has no file \"netbird.json\": ";
    assert!(error.to_string().starts_with(wanted), "{error}");
}

#[test]
fn the_pull_request_of_a_merge() {
    let merged = json!({"number": 3, "merged": true, "merge_commit_sha": "abc", "head": null, "base": {"ref": "main"}});
    let (server, repo) = start([found(merged), recorded_pull(), none(), bare(401)]);
    let pull = repo.pull_merged_as("abc").unwrap().unwrap();
    assert_eq!(
        (pull.number, pull.merged, pull.base.branch.as_str()),
        (3, true, "main")
    );
    // A fork that was deleted.
    let pull = repo.pull(1).unwrap();
    assert_eq!((pull.head.repo_id, pull.state.as_str()), (-1, "closed"));
    assert_eq!(repo.pull_merged_as("abc").unwrap(), None);
    assert!(repo.pull_merged_as("abc").is_err());
    assert_eq!(
        asked(&server)[..2],
        ["GET /commits/abc/pull", "GET /pulls/1"]
    );
}

fn recorded_pull() -> Act {
    recorded("gitea/pulls-get-fork-deleted")
}

#[test]
fn branch_names() {
    for (environment, wanted) in [
        ("default", "netbird-gitops/enrolled"),
        ("", "netbird-gitops/enrolled"),
        ("prod", "netbird-gitops/enrolled-prod"),
        ("prod EU/1..~^:", "netbird-gitops/enrolled-prod-EU-1"),
        ("ü", "netbird-gitops/enrolled"),
    ] {
        assert_eq!(branch_name(environment), wanted);
    }
    assert!(branch_name(&"x".repeat(300)).len() < 100);
}
