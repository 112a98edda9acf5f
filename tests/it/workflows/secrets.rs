//! Which workflow sees which secret, and that docs/gitea.md says so.

use serde_json::json;

use super::{all, root};

/// Secrets that somebody has to set, and the automatic token.
const SECRETS: [&str; 5] = [
    "NETBIRD_PLAN_TOKEN",
    "NETBIRD_APPLY_TOKEN",
    "BOT_TOKEN",
    "GITEA_TOKEN",
    "PACKAGE_LOGIN",
];
const VARIABLES: [&str; 5] = [
    "NETBIRD_API_URL",
    "AGE_PUBLIC_KEY",
    "NETBIRD_GITOPS_BINARY",
    "NETBIRD_GITOPS_SHA256",
    "NETBIRD_GITOPS_SERVER",
];

/// All `${{ CONTEXT.NAME }}` of a text.
fn expressions<'a>(text: &'a str, context: &str) -> Vec<&'a str> {
    let parts = text
        .split("${{")
        .skip(1)
        .map(|rest| rest.split("}}").next().unwrap().trim());
    parts
        .filter_map(|part| part.strip_prefix(context)?.strip_prefix('.'))
        .collect()
}

#[test]
fn secrets_go_where_they_belong() {
    let page = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let docs = page("docs/gitea.md") + &page("docs/releasing.md");
    for workflow in all() {
        let path = &workflow.path;
        for secret in expressions(&workflow.text, "secrets") {
            assert!(SECRETS.contains(&secret), "{path}: {secret}");
            assert!(
                docs.contains(&format!("| `{secret}` |")),
                "no page has a row for {secret}"
            );
            // Such a name cannot be stored (docs/gitea-api.md, "Token scopes"), but for the automatic one.
            assert!(
                secret == "GITEA_TOKEN"
                    || !["GITEA_", "GITHUB_"].iter().any(|p| secret.starts_with(p))
            );
        }
        for variable in expressions(&workflow.text, "vars") {
            assert!(VARIABLES.contains(&variable), "{path}: {variable}");
            assert!(
                docs.contains(&format!("| `{variable}` |")),
                "docs/gitea.md has no row for {variable}"
            );
        }
        // What a pull request can reach may read, not write.
        if workflow.text.contains("pull_request") {
            assert!(!workflow.text.contains("NETBIRD_APPLY_TOKEN"), "{path}");
            // There the workflow is the base's, and a fork's automatic token cannot comment (docs/gitea-api.md, "The
            // job's token").
            assert_eq!(
                workflow.text.contains("BOT_TOKEN"),
                workflow.text.contains("pull_request_target"),
                "{path}"
            );
        }
        for (call, step) in workflow.calls() {
            let command = call.split(' ').nth(1).unwrap();
            let (netbird, gitea) = match command {
                "plan" if workflow.file() == "plan-forks.yml" => {
                    ("NETBIRD_PLAN_TOKEN", "BOT_TOKEN")
                }
                "plan" => ("NETBIRD_PLAN_TOKEN", "GITEA_TOKEN"),
                // The automatic token cannot open what `created_by` finds again.
                "drift" => ("NETBIRD_PLAN_TOKEN", "BOT_TOKEN"),
                // It cannot commit either, on Forgejo and Gitea ≤1.25 (docs/gitea-api.md, "The job's token"), and
                // starts no apply (docs/gitea-api.md, "The job's token").
                "apply" | "sync-events" | "mark-enrolled" => ("NETBIRD_APPLY_TOKEN", "BOT_TOKEN"),
                other => panic!("{path}: {other}"),
            };
            let secret = |name| json!(format!("${{{{ secrets.{name} }}}}"));
            assert_eq!(
                step["env"]["NETBIRD_API_TOKEN"],
                secret(netbird),
                "{path}: {call}"
            );
            assert_eq!(step["env"]["GITEA_TOKEN"], secret(gitea), "{path}: {call}");
            assert_eq!(
                step["env"].get("AGE_PUBLIC_KEY").is_some(),
                ["plan", "apply"].contains(&command)
            );
        }
    }
}
