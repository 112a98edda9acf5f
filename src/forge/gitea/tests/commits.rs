//! The commit, answer by answer (docs/gitea-api.md, "Writing a file").

use std::cell::{Cell, RefCell};

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::forge::gitea::commit::{BranchFile, Patience};
use crate::forge::gitea::mark_enrolled::{MarkedBy, Marking};

const PENDING: &str = "{\"setup_keys\": {\"a\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false}, \"b\": {\"type\": \"one-off\", \"expires_in\": 3600}}}\n";
const AT: BranchFile<'_> = BranchFile {
    branch: "main",
    path: "netbird.json",
};

/// A clock that only waits move on.
struct Clock {
    now: Cell<Timestamp>,
    waits: RefCell<Vec<Duration>>,
}

/// Commits the mark of key `a` to a server that answers so; returns the commit, what was asked for and the waits.
fn commit(acts: impl IntoIterator<Item = Act>) -> (anyhow::Result<String>, Script, Vec<Duration>) {
    let (server, repo) = start(acts);
    let clock = Clock {
        now: Cell::new(Timestamp::UNIX_EPOCH),
        waits: RefCell::default(),
    };
    let patience = Patience {
        sleep: &|wait| {
            clock
                .now
                .set(clock.now.get() + SignedDuration::try_from(wait).unwrap());
            clock.waits.borrow_mut().push(wait);
        },
        now: &|| clock.now.get(),
        ..Patience::default()
    };
    let result = Marking {
        repo: &repo,
        at: AT,
        environment: "default",
        names: &names(["a"]),
        patience,
    }
    .commit();
    (
        result.map(|marked| {
            assert_eq!(marked.by, MarkedBy::Commit);
            marked.place.unwrap()
        }),
        server,
        clock.waits.take(),
    )
}

fn puts(server: &Script) -> usize {
    server
        .lines()
        .iter()
        .filter(|line| line.starts_with("POST"))
        .count()
}

fn lock(commit: &str) -> Act {
    message(
        403,
        &format!("cannot lock ref 'refs/heads/main': is at {commit} but expected 0"),
    )
}

fn done() -> Act {
    reply(200, r#"{"commit": {"sha": "new"}}"#)
}

#[test]
fn the_plain_case_takes_three_requests() {
    let (result, server, waits) = commit([tip("c1"), file(PENDING, "b1"), done()]);
    assert_eq!(result.unwrap(), "new");
    assert_eq!(
        asked(&server),
        [
            "GET /branches/main",
            "GET /contents/netbird.json?ref=main",
            "POST /contents"
        ]
    );
    let sent = body(&server, 2);
    assert_eq!(
        (&sent["files"][0]["sha"], &sent["branch"]),
        (&json!("b1"), &json!("main"))
    );
    assert_eq!(sent["message"], "chore: mark a as enrolled [automated]");
    assert!(waits.is_empty());
}

#[test]
fn a_lost_race_is_run_again_on_the_new_text() {
    let theirs = "{\"setup_keys\": {\"a\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false}}, \"groups\": {}}";
    for refusal in [
        recorded("gitea/contents-put-race-403"),
        recorded("gitea/contents-put-race-500"),
        recorded("gitea/contents-put-stale-sha"),
        recorded("forgejo/contents-put-stale-sha"),
        recorded("forgejo/contents-put-race-loser-500"),
        bare(403),
        answer(502, "", "<html>bad gateway</html>"),
        Act::SendAndClose(b"HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\n{".to_vec()),
    ] {
        let (result, server, waits) = commit([
            tip("c1"),
            file(PENDING, "b1"),
            refusal,
            tip("c2"),
            file(theirs, "b2"),
            done(),
        ]);
        assert_eq!(result.unwrap(), "new", "{:?}", asked(&server));
        assert_eq!(puts(&server), 2);
        let sent = body(&server, 5);
        assert_eq!(sent["files"][0]["sha"], "b2");
        // Their change is in it.
        use base64::Engine;
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(sent["files"][0]["content"].as_str().unwrap())
            .unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            theirs.replace("false", "true")
        );
        assert_eq!(waits.len(), 1);
        assert!(waits[0] >= Duration::from_millis(100) && waits[0] <= Duration::from_millis(200));
    }
}

#[test]
fn a_refusal_with_nothing_moved_is_real_after_five_rounds() {
    for (act, hint) in [
        (recorded("gitea/contents-put-protected-branch"), "--via-pr"),
        (
            recorded("forgejo/contents-put-protected-branch"),
            "--via-pr",
        ),
        (recorded("gitea/contents-put-hook-rejected"), "a hook"),
        (recorded("forgejo/contents-put-hook-rejected"), "--via-pr"),
        (bare(403), "automatic one of a job"),
        (
            message(403, "Internal Server Error (no message for end users)"),
            "automatic one of a job",
        ),
        (
            recorded("gitea/contents-put-read-only-user"),
            "write access",
        ),
    ] {
        let round = [tip("c1"), file(PENDING, "b1"), act];
        let (result, server, waits) = commit((0..6).flat_map(|_| round.clone()));
        let error = result.unwrap_err();
        assert!(of_gitea(&error).is_none(), "{error}");
        assert!(
            error
                .to_string()
                .starts_with("the commit was refused 5 times with nothing else pushed: POST "),
            "{error}"
        );
        assert!(hint_of(&error).unwrap().contains(hint), "{error}");
        assert_eq!((puts(&server), waits.len()), (5, 5));
        // Growing, each by chance between a half and the whole.
        for (n, wait) in waits.iter().enumerate() {
            let whole = Duration::from_millis(200 << n);
            assert!(*wait >= whole / 2 && *wait <= whole, "{waits:?}");
        }
    }
}

#[test]
fn a_move_starts_the_count_again() {
    let refused = || recorded("gitea/contents-put-read-only-user");
    let rounds =
        (0..12).flat_map(|n| [tip(&format!("c{}", n / 4)), file(PENDING, "b1"), refused()]);
    let (result, server, _) = commit(rounds.chain([tip("c3"), file(PENDING, "b1"), done()]));
    assert_eq!(result.unwrap(), "new");
    assert_eq!(puts(&server), 13);
}

#[test]
fn a_branch_that_moves_on_and_on_ends_it_after_a_minute() {
    let rounds = (0..60).flat_map(|n| [tip(&format!("c{n}")), file(PENDING, "b1"), lock("x")]);
    let (result, server, waits) = commit(rounds);
    let error = result.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("other pushes came first for "),
        "{error}"
    );
    assert!(hint_of(&error).is_some());
    let total: Duration = waits.iter().sum();
    assert!(
        total > Duration::from_secs(54) && waits.iter().all(|wait| *wait <= Duration::from_secs(5)),
        "{waits:?}"
    );
    assert!(puts(&server) > 12);
    // "cannot lock ref" is a race also where the tip looks the same.
    let rounds = (0..60).flat_map(|_| [tip("c1"), file(PENDING, "b1"), lock("x")]);
    assert!(of_gitea(&commit(rounds).0.unwrap_err()).is_none());
}

#[test]
fn answers_that_end_it_at_once() {
    for act in [
        recorded("gitea/contents-put-bad-token"),
        recorded("gitea/contents-put-archived"),
        recorded("gitea/contents-put-scope-too-small"),
        recorded("forgejo/contents-put-scope-too-small"),
        recorded("gitea/renamed-repo-put"),
        answer(413, "", ""),
        message(400, "bad"),
    ] {
        let (result, server, _) = commit([
            tip("c1"),
            file(PENDING, "b1"),
            act,
            tip("c2"),
            file(PENDING, "b2"),
            done(),
        ]);
        assert!(
            of_gitea(result.as_ref().unwrap_err()).is_some(),
            "{result:?}"
        );
        assert_eq!(server.seen().len(), 3);
    }
}

#[test]
fn a_file_that_is_not_there_is_never_made() {
    let missing = || recorded("gitea/contents-get-missing-file");
    for acts in [
        vec![missing()],
        vec![tip("c1"), missing()],
        vec![tip("c1"), reply(200, "[]")],
        // Forgejo's 500 for a file that went away meanwhile.
        vec![
            tip("c1"),
            file(PENDING, "b1"),
            recorded("forgejo/contents-put-missing-file"),
            tip("c2"),
            missing(),
        ],
    ] {
        let wrote = acts.len() > 3;
        let (result, server, _) = commit(acts);
        assert!(of_gitea(result.as_ref().unwrap_err()).is_some());
        assert_eq!(puts(&server), usize::from(wrote));
    }
}
