//! Whether a workflow of a checkout is that of this version. What docs/gitea.md lets people change counts as the same: the
//! runner, the clock, the branch, the file, `--via-pr`, comments.

use crate::commands::setup::workflows::{FILES, FORKS, WITHOUT_ACTIONS};

/// How a workflow stands to those of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is one of them, byte by byte.
    Same,
    /// It is one of them with settings of its own.
    Adapted,
    /// It is another text.
    Other,
}

/// Returns how the workflow of that file name stands; `None` for one that is not ours.
pub fn standing(name: &str, text: &str) -> Option<Standing> {
    let ours: Vec<&str> = ours(name).collect();
    if ours.is_empty() {
        return None;
    }
    let text = text.replace("\r\n", "\n");
    let lines = essence(&text);
    Some(if ours.contains(&text.as_str()) {
        Standing::Same
    } else if ours.iter().any(|ours| essence(ours) == lines) {
        Standing::Adapted
    } else {
        Standing::Other
    })
}

/// The texts that may stand under a name; that for forks takes the place of `plan.yml`, maybe under its name.
fn ours(name: &str) -> impl Iterator<Item = &'static str> {
    let all = FILES.into_iter().chain(WITHOUT_ACTIONS);
    let named = all.filter(move |(file, _)| *file == name);
    let forks = FORKS.into_iter();
    let forks = forks.filter(move |(file, _)| *file == name || name == "plan.yml");
    named.chain(forks).map(|(_, text)| text)
}

/// What follows these is for people to choose.
const VALUES: [&str; 5] = [
    "runs-on:",
    "timeout-minutes:",
    "- cron:",
    "branches:",
    "paths:",
];

/// Lines that begin so are for people to add.
const ADDED: [&str; 3] = ["GITEA_BRANCH:", "NETBIRD_GITOPS_", "NETBIRD_ACCOUNT_ID:"];

/// What is left of a text without settings and comments.
fn essence(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let line = match line.trim_start().starts_with('#') {
            true => "",
            false => line.split(" #").next().unwrap_or_default(),
        };
        let line = line.replace(" --via-pr", "");
        let start = line.trim_start();
        let chosen = VALUES.iter().find(|key| start.starts_with(**key));
        match chosen {
            Some(key) => line[..line.len() - start.len() + key.len()].to_owned(),
            None => line.trim_end().to_owned(),
        }
    };
    let is_kept = |line: &String| {
        let start = line.trim_start();
        !start.is_empty() && !ADDED.iter().any(|word| start.starts_with(word))
    };
    text.lines().map(line).filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::{Standing, standing};
    use crate::commands::setup::workflows::{FILES, FORKS, WITHOUT_ACTIONS};

    #[test]
    fn every_text_of_this_version_is_the_same() {
        for (name, text) in FILES.into_iter().chain(WITHOUT_ACTIONS).chain(FORKS) {
            assert_eq!(standing(name, text), Some(Standing::Same), "{name}");
        }
        assert_eq!(standing("plan.yml", FORKS[0].1), Some(Standing::Same));
        assert_eq!(standing("ci.yml", "name: ci\n"), None);
    }

    #[test]
    fn what_people_are_told_to_change_is_no_other_text() {
        let (name, text) = FILES[1];
        let adapted = text
            .replace("[main]", "[trunk]")
            .replace("ubuntu-latest", "debian # ours")
            .replace("sync-events", "sync-events --via-pr")
            .replace(
                "        env:\n",
                "        env:\n          GITEA_BRANCH: trunk\n",
            )
            .replace('\n', "\r\n");
        assert_eq!(standing(name, &adapted), Some(Standing::Adapted));
    }

    /// With the other token a plan fails, or a pull request sees what it must not.
    #[test]
    fn another_secret_or_another_step_is_another_text() {
        for (from, to) in [
            ("NETBIRD_APPLY_TOKEN", "NETBIRD_PLAN_TOKEN"),
            ("fetch-depth: 0", "fetch-depth: 1"),
            ("    branches: [main]\n", ""),
            ("apply --yes", "apply --any-commit --yes"),
            ("cancel-in-progress: false", "cancel-in-progress: true"),
        ] {
            let (name, text) = FILES[1];
            assert!(text.contains(from), "{from}");
            assert_eq!(
                standing(name, &text.replace(from, to)),
                Some(Standing::Other),
                "{from}"
            );
        }
    }
}
