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
        assert!(matches!(refused, CommitError::Refused { rounds: 5, .. }));
        let hint = branch.hint(&refused).unwrap();
        assert!(hint.contains("a rule for it"), "{hint}");
        assert_eq!(gitea.branches(), ["main"]);
    }
}

#[test]
fn a_branch_that_takes_the_name_is_no_race() {
    for gitea in both() {
        let branch = branch(&gitea);
        gitea.push("netbird-gitops", "x", "y", "in the way\n");
        let refused = write(&branch, "a", &[]).unwrap_err();
        assert!(matches!(refused, CommitError::Refused { rounds: 5, .. }));
        let hint = branch.hint(&refused).unwrap();
        let is_told = hint.starts_with("a branch netbird-gitops is in the way");
        // Forgejo does not say why.
        assert_eq!(
            is_told,
            refused.to_string().contains("cannot create"),
            "{hint}"
        );
    }
}
