//! Runs of workflows, and how two commits are related: what tells whether a newer run applies what this one must not
//! (docs/gitea-api.md, "Runs").

use serde::Deserialize;

use super::{Repo, Result, encode};

/// A run of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct WorkflowRun {
    /// The run's id, as `GITHUB_RUN_ID` has it.
    pub id: i64,
    /// Counts the runs of the repository; a run that is started again keeps its number.
    pub run_number: i64,
    /// The workflow's file and the ref, as in `apply.yml@refs/heads/main`.
    path: String,
    /// `queued`, `waiting`, `in_progress`, `completed` …
    status: String,
    /// How it ended: `success`, `failure`, `cancelled`, `skipped`.
    conclusion: String,
    /// The branch that it is about.
    head_branch: String,
    /// The commit that it is about.
    pub head_sha: String,
}

impl WorkflowRun {
    /// The workflow's file: a dispatch writes the ref behind it in a form of its own.
    fn workflow(&self) -> &str {
        self.path.split('@').next().unwrap_or_default()
    }

    /// Will it do its work, is it at it, or did it do it?
    fn counts(&self) -> bool {
        let is_lost = |word: &str| ["failure", "cancelled", "skipped"].contains(&word);
        match self.status.as_str() {
            "completed" | "success" => !is_lost(&self.conclusion),
            status => !is_lost(status) && status != "blocked",
        }
    }
}

#[derive(Deserialize)]
struct Runs {
    #[serde(default)]
    workflow_runs: Vec<WorkflowRun>,
}

#[derive(Deserialize)]
struct Comparison {
    #[serde(default)]
    total_commits: u64,
}

/// How many pages of runs are looked at for the own one: it is among the newest.
const PAGES: usize = 20;

impl Repo {
    /// Returns whether `tip` is a descendant of `commit`. The commits' full ids; both directions tell it without any
    /// object.
    pub fn is_descendant(&self, tip: &str, commit: &str) -> Result<bool> {
        let more = |from: &str, to: &str| -> Result<bool> {
            let path = format!("/compare/{}...{}", encode(from), encode(to));
            Ok(self.get::<Comparison>(&path, "a comparison")?.total_commits > 0)
        };
        Ok(more(commit, tip)? && !more(tip, commit)?)
    }

    /// Returns the runs of the same workflow as the run `id` on `branch` that are newer than it, and queued, running or
    /// successful; the newest first. None where the run itself is not to be seen.
    pub fn newer_runs(&self, branch: &str, id: i64) -> Result<Vec<WorkflowRun>> {
        let mut runs: Vec<WorkflowRun> = Vec::new();
        for page in 1..=PAGES {
            let on = encode(branch);
            let path = format!("/actions/runs?branch={on}&limit=50&page={page}");
            let found: Runs = self.get(&path, "a list of runs")?;
            let is_last = found.workflow_runs.len() < 50;
            runs.extend(found.workflow_runs);
            if is_last || runs.iter().any(|run| run.id == id) {
                break;
            }
        }
        let Some(own) = runs.iter().find(|run| run.id == id).cloned() else {
            return Ok(Vec::new());
        };
        // a server without the filter lists the runs of every branch
        runs.retain(|run| {
            run.workflow() == own.workflow()
                && run.run_number > own.run_number
                && (run.head_branch.is_empty() || run.head_branch == branch)
                && run.counts()
        });
        runs.sort_by_key(|run| std::cmp::Reverse(run.run_number));
        runs.dedup_by_key(|run| run.id);
        Ok(runs)
    }
}
