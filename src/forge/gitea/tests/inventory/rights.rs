//! Who may write there, as far as it can be asked; and what is said where it was refused.

use super::*;

fn may(gitea: &Gitea, token: &str) -> Result<(), String> {
    branch_as(gitea, token, BRANCH).may_write().unwrap()
}

#[test]
fn the_bot_may_write_with_and_without_a_branch() {
    for gitea in both() {
        assert_eq!(may(&gitea, &gitea.token()), Ok(()));
        write(&branch(&gitea), "a", &[]).unwrap();
        assert_eq!(may(&gitea, &gitea.token()), Ok(()));
        let list = json!({"enable_push": true, "enable_push_whitelist": true,
                          "push_whitelist_usernames": ["gitops-bot"]});
        gitea.protect(BRANCH, list);
        assert_eq!(may(&gitea, &gitea.token()), Ok(()));
        let other = gitea.token_of("alice", &["write:repository"]);
        let why = format!("the rule of the branch {BRANCH} does not let the token's user push");
        assert_eq!(may(&gitea, &other), Err(why));
    }
}

#[test]
fn why_a_token_may_not_write() {
    let gitea = Gitea::start();
    let reader = gitea.add_user("bob", "read");
    let why = "the token's user may not push to acme/network";
    assert_eq!(may(&gitea, &reader), Err(why.to_owned()));
    let reads = gitea.token_with(&["read:repository"]);
    let why = "the token lacks the scope write:repository";
    assert_eq!(may(&gitea, &reads), Err(why.to_owned()));
    gitea.make_mirror();
    let why = "acme/network is a mirror";
    assert_eq!(may(&gitea, &gitea.token()), Err(why.to_owned()));
    gitea.archive();
    let why = "acme/network is archived";
    assert_eq!(may(&gitea, &gitea.token()), Err(why.to_owned()));
    // Forgejo does not tell the scopes of a token.
    let forgejo = Gitea::start_forgejo();
    let reads = forgejo.token_with(&["read:repository"]);
    let _known_or_not = may(&forgejo, &reads);
}

#[test]
fn refusal_is_taken_for_real_and_hints_at_the_rule() {
    for gitea in both() {
        let branch = branch(&gitea);
        assert_eq!(branch.branch(), BRANCH);
        gitea.protect("netbird-gitops/*", json!({}));
        let refused = write(&branch, "a", &["a"]).unwrap_err();
        assert!(of_gitea(&refused).is_none());
        let hint = hint_of(&refused).unwrap();
        assert!(
            hint.contains("put only that user on its push allowlist"),
            "{hint}"
        );
        assert_eq!(gitea.branches(), ["main"]);
    }
}

#[test]
fn each_refusal_has_the_hint_of_its_rule() {
    let push = json!({ "enable_push": true });
    let with = |field: &str, value: Value| {
        let mut rule = push.clone();
        rule[field] = value;
        rule
    };
    for (rule, wanted) in [
        (
            with("require_signed_commits", json!(true)),
            "requires signed commits",
        ),
        (
            with("protected_file_patterns", json!("**.json")),
            "a protected file pattern",
        ),
        (
            json!({ "enable_push": false }),
            "put only that user on its push allowlist",
        ),
    ] {
        for gitea in both() {
            let bot = branch(&gitea);
            write(&bot, "a", &[]).unwrap();
            gitea.protect("netbird-gitops/*", rule.clone());
            for token in [gitea.token(), gitea.admin_token()] {
                let branch = branch_as(&gitea, &token, BRANCH);
                let refused = write(&branch, "b", &[]).unwrap_err();
                let hint = hint_of(&refused).unwrap();
                assert!(hint.contains(wanted), "{refused}: {hint}");
                assert!(hint.contains("--inventory-branch"), "{hint}");
                assert!(!hint.contains("--via-pr"), "{hint}");
            }
        }
    }
}

#[test]
fn a_branch_that_takes_the_name_is_no_race() {
    for gitea in both() {
        let branch = branch(&gitea);
        gitea.push("netbird-gitops", "x", "y", "in the way\n");
        let refused = write(&branch, "a", &[]).unwrap_err();
        assert!(of_gitea(&refused).is_none());
        let hint = hint_of(&refused).unwrap();
        let is_told = hint.starts_with("a branch netbird-gitops is in the way");
        // Forgejo does not say why.
        assert_eq!(
            is_told,
            refused.to_string().contains("cannot create"),
            "{hint}"
        );
    }
}
