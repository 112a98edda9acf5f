//! The environment of a job, from those that runners were seen to set (tests/data/gitea).

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use super::site::Site;

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../data/gitea/", $name))
    };
}

/// Variables of a job.
pub(crate) struct Job {
    variables: BTreeMap<String, String>,
}

/// What a pull request's event tells of it.
pub(crate) struct Pull<'a> {
    pub(crate) number: u64,
    pub(crate) head: &'a str,
    pub(crate) base: &'a str,
}

impl Job {
    /// A job of a pull request of this repository that was pushed to again.
    pub(crate) fn pull_request(site: &Site, pull: &Pull) -> Job {
        let event = recording!("event-pull_request-synchronized.json");
        let event = serde_json::from_str(event).unwrap();
        Job::of_pull(site, recording!("env-pull_request.txt"), event, pull)
    }

    /// A job of a pull request from a fork: its secrets are set and empty.
    pub(crate) fn fork(site: &Site, pull: &Pull) -> Job {
        let event = recording!("event-pull_request-fork.json");
        let event = serde_json::from_str(event).unwrap();
        let env = recording!("env-pull_request-fork.txt");
        let mut job = Job::of_pull(site, env, event, pull);
        job.put("NETBIRD_API_TOKEN", "");
        job
    }

    /// The same when the fork was deleted.
    pub(crate) fn deleted_fork(site: &Site, pull: &Pull) -> Job {
        let mut event: Value =
            serde_json::from_str(recording!("event-pull_request-fork.json")).unwrap();
        event["pull_request"]["head"]["repo"] = Value::Null;
        event["pull_request"]["head"]["repo_id"] = (-1).into();
        event["pull_request"]["head"]["ref"] = format!("refs/pull/{}/head", pull.number).into();
        let env = recording!("env-pull_request-fork.txt");
        let mut job = Job::of_pull(site, env, event, pull);
        job.put("NETBIRD_API_TOKEN", "");
        job
    }

    fn of_pull(site: &Site, env: &str, mut event: Value, pull: &Pull) -> Job {
        event["number"] = pull.number.into();
        event["pull_request"]["number"] = pull.number.into();
        event["pull_request"]["head"]["sha"] = pull.head.into();
        event["pull_request"]["base"]["sha"] = pull.base.into();
        event["repository"]["full_name"] = site.repo().full_name().into();
        let mut job = Job::of(site, env, &event.to_string());
        job.put("GITHUB_SHA", pull.head);
        job.put("GITHUB_REF", &format!("refs/pull/{}/head", pull.number));
        job
    }

    /// The same with the base's workflow, secrets and checkout.
    pub(crate) fn target(mut self, base: &str) -> Job {
        self.put("GITHUB_EVENT_NAME", "pull_request_target");
        self.put("GITHUB_SHA", base);
        self.put("GITHUB_REF", "refs/heads/main");
        self.variables.remove("NETBIRD_API_TOKEN");
        self
    }

    /// A job of a push to `main`.
    pub(crate) fn push(site: &Site, commit: &str) -> Job {
        let event = recording!("event-push-contents-api.json");
        let mut job = Job::of(site, recording!("env-push.txt"), event);
        job.put("GITHUB_SHA", commit);
        job
    }

    /// The same started by hand.
    pub(crate) fn by_hand(mut self, site: &Site) -> Job {
        self.put("GITHUB_EVENT_NAME", "workflow_dispatch");
        self.event(site, recording!("event-workflow_dispatch.json"));
        self
    }

    /// A job of the clock: with an old commit, and the event of the push that registered it.
    pub(crate) fn schedule(site: &Site, commit: &str) -> Job {
        let event = recording!("event-schedule.json");
        let mut job = Job::of(site, recording!("env-schedule.txt"), event);
        job.put("GITHUB_SHA", commit);
        job
    }

    /// The same by Forgejo's names, with the event as Forgejo writes it.
    pub(crate) fn of_forgejo(mut self, site: &Site) -> Job {
        let ours: Value =
            serde_json::from_str(&std::fs::read_to_string(site.bench.path("event.json")).unwrap())
                .unwrap();
        let theirs = include_str!("../../data/forgejo/event-pull_request.json");
        let mut theirs: Value = serde_json::from_str(theirs).unwrap();
        for pointer in [
            "/number",
            "/pull_request/number",
            "/pull_request/head/sha",
            "/pull_request/base/sha",
            "/repository/full_name",
        ] {
            *theirs.pointer_mut(pointer).unwrap() = ours.pointer(pointer).unwrap().clone();
        }
        self.event(site, &theirs.to_string());
        let named = self
            .variables
            .into_iter()
            .map(|(name, value)| (name.replacen("GITHUB_", "FORGEJO_", 1), value));
        self.variables = named.collect();
        self.put("FORGEJO_ACTIONS", "true");
        self
    }

    fn of(site: &Site, env: &str, event: &str) -> Job {
        let ours = |name: &str| {
            let job = ["CI", "ACT", "GITHUB_", "GITEA_", "RUNNER_", "ACTIONS_"];
            job.iter().any(|prefix| name.starts_with(prefix))
        };
        let lines = env.lines().filter_map(|line| line.split_once('='));
        let variables = lines.filter(|(name, _)| ours(name));
        let mut job = Job {
            variables: variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        };
        let repo = site.repo();
        job.put("GITHUB_SERVER_URL", &repo.url());
        job.put("GITHUB_API_URL", &format!("{}/api/v1", repo.url()));
        job.put("GITHUB_REPOSITORY", &repo.full_name());
        let path = site.bench.path("event.json");
        job.put("GITHUB_EVENT_PATH", path.to_str().unwrap());
        job.event(site, event);
        job
    }

    /// Writes another event file.
    pub(crate) fn event(&self, site: &Site, text: &str) {
        std::fs::write(site.bench.path("event.json"), text).unwrap();
    }

    /// Sets a variable.
    pub(crate) fn put(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// The same with a variable set.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Job {
        self.put(name, value);
        self
    }

    pub(super) fn set(&self, command: &mut Command) {
        command.envs(&self.variables);
    }
}
