//! Does `doctor` see what is wrong with a set-up, and that alone?
//!
//! Each test starts from one in which everything is right, changes one thing, and looks at what failed.

mod checkout;
mod gitea;
mod netbird;
mod whole;

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::run::{INVENTORY, Job, Run, Site};

/// A set-up in which everything is right: two servers, a protected branch and a protected one of the inventory, a checkout
/// with its history and the workflows. The bot is an administrator of the repository, so it reads the rules.
struct Setup {
    site: Site,
    account: String,
}

/// The bot alone may push.
fn bot_alone() -> Value {
    json!({ "enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": ["gitops-bot"],
            "required_approvals": 1 })
}

fn file() -> Value {
    let key = json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["pilots"] });
    json!({ "groups": { "pilots": {} }, "setup_keys": { "hawk": key } })
}

impl Setup {
    fn new() -> Setup {
        Setup::on(Site::fake())
    }

    fn on(site: Site) -> Setup {
        site.commit(file());
        let gitea = site.gitea();
        for (name, text) in workflows() {
            gitea.push(
                "main",
                &format!(".gitea/workflows/{name}"),
                &text,
                "workflows\n",
            );
        }
        let account = site.bench.netbird().account_id();
        let inventory = json!({ "format_version": 1, "account": account, "file": "netbird.json",
                                "applied_commit": "1b78d837ec41b0a1fd5f5de1f4f6b10b4f0fb3a0" });
        gitea.push(INVENTORY[0], INVENTORY[1], inventory.to_string(), "begin\n");
        gitea.protect("main", bot_alone());
        gitea.protect(INVENTORY[0], bot_alone());
        gitea.permit("gitops-bot", "admin");
        site.checkout("origin/main");
        gitea.clear_requests();
        site.bench.netbird().clear_requests();
        Setup { site, account }
    }

    /// `doctor ARGS` with further variables, which win. Whatever comes of it, nothing is written and no secret shown.
    #[track_caller]
    fn run(&self, args: &[&str], more: &[(&str, &str)]) -> Run {
        let args = [&["doctor"], args].concat();
        let more = [&[("NETBIRD_ACCOUNT_ID", self.account.as_str())], more].concat();
        let run = self.site.run_with(&args, &more);
        self.harmless(&run);
        run
    }

    /// The same in a job.
    #[track_caller]
    fn in_job(&self, args: &[&str], job: &Job) -> Run {
        let run = self.site.in_job(&[&["doctor"], args].concat(), job);
        self.harmless(&run);
        run
    }

    #[track_caller]
    fn harmless(&self, run: &Run) {
        let (netbird, gitea) = (self.site.bench.netbird(), self.site.gitea());
        for request in netbird.requests().iter().chain(&gitea.requests()) {
            assert_eq!(request.method, "GET", "{request}");
        }
        for secret in netbird.secrets().iter().chain(&gitea.secrets()) {
            let shown = format!("{}{}", run.stdout, run.stderr);
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    /// What such a run found.
    #[track_caller]
    fn found(&self, args: &[&str], more: &[(&str, &str)]) -> Found {
        Found::of(&self.run(&[args, &["--format", "json"]].concat(), more))
    }

    #[track_caller]
    fn found_in_job(&self, args: &[&str], job: &Job) -> Found {
        Found::of(&self.in_job(&[args, &["--format", "json"]].concat(), job))
    }

    /// What it found with this token of Gitea.
    #[track_caller]
    fn found_by(&self, token: &str) -> Found {
        self.found(&["--for", "apply"], &[("GITEA_TOKEN", token)])
    }

    /// Replaces a file of the checkout.
    fn replace(&self, path: &str, from: &str, to: &str) {
        let path = self.site.bench.path(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replace(from, to)).unwrap();
    }
}

/// The workflows of the project's own checkout.
fn workflows() -> Vec<(&'static str, String)> {
    let text = |name| {
        let path = format!("{}/.gitea/workflows/{name}", env!("CARGO_MANIFEST_DIR"));
        (name, fs::read_to_string(path).unwrap())
    };
    ["plan.yml", "apply.yml", "enrollment.yml", "drift.yml"]
        .map(text)
        .into()
}

/// The checks by name.
struct Found(Vec<Value>);

impl Found {
    #[track_caller]
    fn of(run: &Run) -> Found {
        let json = run.json();
        let checks = json["checks"].as_array().unwrap().clone();
        let failed = checks.iter().any(|check| check["ok"] == false);
        assert_eq!(run.code, i32::from(failed), "{json:#}");
        assert_eq!(json["status"], if failed { "failed" } else { "ok" });
        for check in &checks {
            // what is not wrong can have a hint, too
            assert!(check["hint"].is_string() || check["ok"] != false, "{check}");
        }
        let names: BTreeSet<_> = checks.iter().map(|check| check["name"].as_str()).collect();
        assert_eq!(names.len(), checks.len(), "{names:?}");
        Found(checks)
    }

    #[track_caller]
    fn check(&self, name: &str) -> &Value {
        let found = self.0.iter().find(|check| check["name"] == name);
        found.unwrap_or_else(|| panic!("there is no check {name}"))
    }

    /// Ends the test unless these failed and no others.
    #[track_caller]
    fn failed(&self, wanted: &[&str]) -> &Found {
        let failed = self.0.iter().filter(|check| check["ok"] == false);
        let failed: Vec<_> = failed.collect();
        let names: Vec<_> = failed
            .iter()
            .filter_map(|check| check["name"].as_str())
            .collect();
        assert_eq!(names, wanted, "{failed:#?}");
        self
    }

    /// Ends the test unless the check came out so, and says this in its text or its hint.
    #[track_caller]
    fn is(&self, name: &str, ok: Option<bool>, words: &str) -> &Found {
        let check = self.check(name);
        assert_eq!(check["ok"], json!(ok), "{check}");
        let said = format!("{}\n{}", check["text"], check["hint"]);
        assert!(said.contains(words), "{said}");
        self
    }

    /// Ends the test unless the one check failed, says this, and these were not made.
    #[track_caller]
    fn only(&self, name: &str, words: &str, not_made: &[&str]) {
        self.failed(&[name]).is(name, Some(false), words);
        for name in not_made {
            self.is(name, None, "not checked");
        }
    }
}
