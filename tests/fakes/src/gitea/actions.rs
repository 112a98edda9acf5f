//! Runs of workflows, as tests make them up, and how two commits compare ("Executed later").

use serde_json::{Value, json};

use super::Gitea;
use super::api::{Call, Outcome, ok};
use super::auth::Unit;
use super::pages::{DEFAULT_LIMIT, MAX_LIMIT};
use super::refusal::{Refusal, missing};

/// A run of a workflow.
#[derive(Clone, Debug)]
pub(super) struct Run {
    id: i64,
    number: i64,
    workflow: String,
    branch: String,
    commit: String,
    /// The status, and of a run that is over the conclusion.
    state: (String, String),
}

impl Run {
    fn show(&self) -> Value {
        json!({
            "id": self.id,
            "run_number": self.number,
            "run_attempt": 1,
            "path": format!("{}@refs/heads/{}", self.workflow, self.branch),
            "event": "push",
            "status": self.state.0,
            "conclusion": self.state.1,
            "head_branch": self.branch,
            "head_sha": self.commit,
        })
    }
}

impl Gitea {
    /// Makes up a run of a workflow (`apply.yml`) of a branch at a commit, and returns its id. `state` is `queued`,
    /// `in_progress`, or how it ended: `success`, `failure`, `cancelled`.
    pub fn run(&self, workflow: &str, branch: &str, commit: &str, state: &str) -> i64 {
        let state = match state {
            "success" | "failure" | "cancelled" => ("completed".to_owned(), state.to_owned()),
            going => (going.to_owned(), String::new()),
        };
        let mut forge = self.inner.shared.forge();
        let id = forge.new_id();
        let runs = &mut forge.repo_mut(self.inner.repo).runs;
        let number = i64::try_from(runs.len()).unwrap_or_default() + 1;
        runs.push(Run {
            id,
            number,
            workflow: workflow.to_owned(),
            branch: branch.to_owned(),
            commit: commit.to_owned(),
            state,
        });
        id
    }
}

/// `GET …/actions/runs`: the newest first.
pub(super) fn runs(call: &Call) -> Outcome {
    let forge = call.forge();
    call.require_read(&forge, Unit::Code)?;
    let number = |name| {
        call.parameter(name)
            .and_then(|text| text.parse::<usize>().ok())
    };
    let limit = number("limit").map_or(DEFAULT_LIMIT, |limit| limit.min(MAX_LIMIT));
    let page = number("page").unwrap_or(1).max(1);
    let is_wanted = |run: &&Run| {
        let branch = call
            .parameter("branch")
            .is_none_or(|branch| run.branch == branch);
        branch
            && call
                .parameter("head_sha")
                .is_none_or(|sha| run.commit == sha)
    };
    let found: Vec<&Run> = forge
        .repo(call.repo)
        .runs
        .iter()
        .rev()
        .filter(is_wanted)
        .collect();
    let shown = found.iter().skip((page - 1) * limit).take(limit);
    let shown: Vec<Value> = shown.map(|run| run.show()).collect();
    Ok(ok(
        &json!({"total_count": found.len(), "workflow_runs": shown}),
    ))
}

/// `GET …/compare/A...B`: what B has and A has not. Of two commits without a common ancestor it is a 500.
pub(super) fn compare(call: &Call) -> Outcome {
    let forge = call.forge();
    call.require_read(&forge, Unit::Code)?;
    let git = &forge.repo(call.repo).git;
    let (from, to) = call.part(0).split_once("...").ok_or_else(missing)?;
    let (from, to) = git.resolve(from).zip(git.resolve(to)).ok_or_else(missing)?;
    // seen on Gitea 1.26
    if git.merge_base(&from, &to).is_none() {
        return Err(Refusal::Hidden("no merge base".into()));
    }
    let commits: Vec<Value> = git
        .between(&from, &to)
        .into_iter()
        .map(|sha| json!({"sha": sha}))
        .collect();
    Ok(ok(
        &json!({"total_commits": commits.len(), "commits": commits, "files": []}),
    ))
}
