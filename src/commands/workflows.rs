//! The workflows that belong to this version, as texts, and how a workflow of a repository compares with them. `init` and
//! `doctor` judge by this alone.
//!
//! A workflow is people's own: lines that they add stay, and so do values that are theirs to choose. A line of ours that is
//! missing is a difference; one that keeps a secret or a review from being lost is protected.

mod blocks;

use std::ffi::OsStr;
use std::path::Path;

use blocks::merge_blocks;

macro_rules! texts {
    ($folder:literal: $($name:literal)*) => {
        [$(($name, include_str!(concat!("../../", $folder, "/", $name)))),*]
    };
}

/// Where Gitea, and Forgejo too where it has no directory of its own, looks for workflows.
pub(super) const OF_GITEA: &str = ".gitea/workflows";
/// Where Forgejo looks first.
pub(super) const OF_FORGEJO: &str = ".forgejo/workflows";
/// Where both look where there is none of these.
pub(super) const OF_GITHUB: &str = ".github/workflows";

/// The workflows by their file names.
pub(super) const FILES: [(&str, &str); 4] =
    texts!(".gitea/workflows": "plan.yml" "apply.yml" "enrollment.yml" "drift.yml");

/// The same by plain `git` and shell, without any action.
pub(super) const WITHOUT_ACTIONS: [(&str, &str); 4] = texts!("examples/workflows-without-actions": "plan.yml" "apply.yml" "enrollment.yml" "drift.yml");

/// What stands in the place of `plan.yml` where pull requests from forks get a plan.
pub(super) const FORKS: [(&str, &str); 1] = texts!("examples/workflows": "plan-forks.yml");

/// The command by which a workflow is known, by the stem of its file name.
const COMMANDS: [(&str, &str); 4] = [
    ("plan", "plan"),
    ("apply", "apply"),
    ("enrollment", "sync-events"),
    ("drift", "drift"),
];

/// What follows these is for people to choose.
const VALUES: [&str; 7] = [
    "runs-on:",
    "timeout-minutes:",
    "- cron:",
    "branches:",
    "paths:",
    "group:",
    "name:",
];

/// A missing line that begins so is a fault: without it a secret is seen, two runs write at once, or a run knows too little.
const PROTECTED: [&str; 11] = [
    "pull_request:",
    "pull_request_target:",
    "branches:",
    "group:",
    "cancel-in-progress:",
    "contents:",
    "fetch-depth:",
    "git fetch",
    "NETBIRD_API_TOKEN:",
    "GITEA_TOKEN:",
    PROGRAM,
];

/// What stands before a command.
const PROGRAM: &str = "netbird-gitops ";
/// By this option an apply takes whatever file it has: a workflow must not.
const UNGUARDED: &str = "--any-commit";

/// Secrets and variables that each network of a repository has of its own.
pub(super) const OWN_NAMES: [&str; 4] = [
    "NETBIRD_PLAN_TOKEN",
    "NETBIRD_APPLY_TOKEN",
    "NETBIRD_API_URL",
    "AGE_PUBLIC_KEY",
];

/// How a workflow compares with one of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Its text with the lines of ours that it lacks.
    pub(super) text: String,
    /// How many lines it lacks.
    pub(super) missing: usize,
    /// These lines, where its YAML is such that they cannot be put into it: then the text is as it was.
    pub(super) to_add: Vec<String>,
    /// What is wrong with it: the protected lines that it lacks, and what it must not have.
    pub(super) faults: Vec<String>,
}

/// Compares a workflow with the one of ours that it is nearest to, and returns that one, too; `None` for one that is not ours.
pub(super) fn nearest(file_name: &str, text: &str) -> Option<(Comparison, &'static str)> {
    let stem = stem_of(file_name).filter(|stem| is_ours(stem, text))?;
    let all = FILES.iter().chain(&WITHOUT_ACTIONS).chain(&FORKS);
    let named = all.filter(|(name, _)| stem_of(name) == Some(stem));
    let compared = named.map(|(_, ours)| (compare(text, ours), *ours));
    compared.min_by_key(|(it, _)| (it.faults.len(), it.missing))
}

/// Which of our workflows a file name is for: `plan.yml`, `plan-lab.yml` and `netbird-plan.yml` are plans.
fn stem_of(file_name: &str) -> Option<&'static str> {
    let path = Path::new(file_name);
    let is_yaml = |it: &OsStr| it == "yml" || it == "yaml";
    let stem = path.file_stem()?.to_str()?;
    let stem = path.extension().filter(|it| is_yaml(it)).map(|_| stem)?;
    let stem = stem.strip_prefix("netbird-").unwrap_or(stem);
    let mut known = COMMANDS.iter().map(|(name, _)| *name);
    known.find(|name| stem.split('-').next() == Some(name))
}

/// Whether a workflow of that stem runs our command: somebody else's `plan.yml` does not.
pub(super) fn is_ours(stem: &str, text: &str) -> bool {
    let runs = |line: &str| {
        command(line).is_some_and(|(at, found)| {
            // what is only printed runs nothing
            let before = &line[..at];
            let is_said = before.matches(['"', '\'']).count() % 2 == 1 || before.contains("echo ");
            !is_said && COMMANDS.contains(&(stem, found))
        })
    };
    text.lines().any(runs)
}

/// Compares a workflow with ours.
pub(super) fn compare(there: &str, ours: &str) -> Comparison {
    merge(there, ours, ours)
}

/// Compares a workflow that was made of `base`, one of ours, with another one of ours: what only `base` has is dropped.
pub(super) fn merge(there: &str, ours: &str, base: &str) -> Comparison {
    let text = there.replace("\r\n", "\n");
    let merged = merge_blocks(&text, ours, base);
    let is_unguarded = text.lines().any(|line| {
        command(line).is_some_and(|(at, _)| words(&line[at..]).any(|word| word == UNGUARDED))
    });
    let is_fault = |line: &&&str| match command(line) {
        // the command is there, or its whole line is missing
        Some((at, _)) => !text.lines().any(|it| key(it) == key(&line[at..])),
        None => PROTECTED.iter().any(|it| line.trim_start().starts_with(it)),
    };
    let lost = merged.missing.iter().filter(is_fault);
    let lost = lost.map(|line| format!("lacks {}", essence(line).trim()));
    let unguarded = is_unguarded.then(|| format!("has {UNGUARDED}"));
    let faults = lost.chain(unguarded).collect();
    let (missing, out) = (merged.missing, merged.out);
    let is_odd = merged.is_odd || !merge_blocks(&out, ours, ours).missing.is_empty();
    let to_add = missing.iter().filter(|_| is_odd);
    Comparison {
        faults,
        missing: missing.len(),
        to_add: to_add.map(|line| line.trim_end().to_owned()).collect(),
        text: match there.contains("\r\n") {
            _ if is_odd => there.to_owned(),
            true => out.replace('\n', "\r\n"),
            false => out,
        },
    }
}

/// A line without its comment and its end.
fn essence(line: &str) -> &str {
    match line.trim_start().starts_with('#') {
        true => "",
        false => line.split(" #").next().unwrap_or_default().trim_end(),
    }
}

/// Where in a line our program is called, and its command.
fn command(line: &str) -> Option<(usize, &str)> {
    let line = essence(line);
    let at = line.find(PROGRAM)?;
    let word = line[at..].split_whitespace().nth(1)?;
    let is_ours = COMMANDS.iter().any(|(_, it)| *it == word);
    is_ours.then_some((at, word))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    essence(line).split_whitespace()
}

/// What two lines have in common that are the same line with other values.
fn key(line: &str) -> String {
    let line = essence(line);
    if let Some((_, command)) = command(line) {
        return format!("{PROGRAM}{command}");
    }
    let start = line.trim_start();
    let indent = line.len() - start.len();
    if let Some(value) = VALUES.iter().find(|value| start.starts_with(**value)) {
        return line[..indent + value.len()].to_owned();
    }
    // another network's are `NETBIRD_API_URL_LAB`
    let own = OWN_NAMES.iter().find_map(|name| {
        let at = line.find(&format!(".{name}_"))? + 1 + name.len();
        Some(format!("{}{}", &line[..at], &line[line.rfind(" }}")?..]))
    });
    own.unwrap_or_else(|| line.to_owned())
}

/// Returns what a call of our program should be, where it lacks options of ours or has the one that it must not have.
fn restored(theirs: &str, ours: &str) -> Option<String> {
    let ((at, _), (ours_at, _)) = (command(theirs)?, command(ours)?);
    let ours = ours[ours_at..].trim_end();
    let lacks = words(ours).any(|word| !words(&theirs[at..]).any(|it| it == word));
    let is_unguarded = words(&theirs[at..]).any(|word| word == UNGUARDED);
    let more =
        words(&theirs[at..]).filter(|it| *it != UNGUARDED && !words(ours).any(|word| word == *it));
    let more: String = more.map(|word| format!(" {word}")).collect();
    (lacks || is_unguarded).then(|| format!("{}{}{more}\n", &theirs[..at], essence(ours)))
}

#[cfg(test)]
mod tests {
    use yaml_rust2::YamlLoader;

    use super::*;

    const APPLY: &str = FILES[1].1;

    fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        FILES.into_iter().chain(WITHOUT_ACTIONS).chain(FORKS)
    }

    #[test]
    fn every_text_of_this_version_lacks_nothing() {
        for (name, text) in all() {
            let judged = nearest(name, text).unwrap().0;
            assert_eq!((judged.text.as_str(), judged.missing), (text, 0), "{name}");
        }
        assert_eq!(nearest("ci.yml", "name: ci\n"), None);
        // a plan of somebody else
        assert_eq!(
            nearest("plan.yml", "name: plan\n    - run: terraform plan\n"),
            None
        );
        let (_, plan) = FILES[0];
        assert_eq!(
            nearest("netbird-plan.yml", plan).map(|(it, _)| it.missing),
            Some(0)
        );
    }

    #[test]
    fn what_people_choose_and_add_stays() {
        let adapted = APPLY
            .replace("[main]", "\n      - main\n      - trunk")
            .replace("ubuntu-latest", "debian # ours\n    container: registry/image:1\n    env:\n      A: b")
            .replace("timeout-minutes: 60", "timeout-minutes: 90")
            .replace("sync-events", "sync-events --via-pr")
            .replace("      - run: netbird-gitops a", "      - run: netbird-gitops doctor\n      - name: Apply\n        run: netbird-gitops a")
            .replace("apply --yes", "apply --yes --environment lab")
            .replace("secrets.NETBIRD_APPLY_TOKEN", "secrets.NETBIRD_APPLY_TOKEN_LAB")
            .replace("        env:\n", "        env:\n          GITEA_BRANCH: trunk\n");
        for adapted in [adapted.replace('\n', "\r\n"), adapted] {
            let compared = compare(&adapted, APPLY);
            assert_eq!((compared.text, compared.missing), (adapted, 0));
        }
    }

    /// Of two lines in a row one is replaced, and the one that people added stays.
    #[test]
    fn what_is_missing_is_restored_around_what_people_added() {
        let theirs = APPLY
            .replace(
                "fetch-depth: 0",
                "fetch-depth: 1\n          submodules: true",
            )
            .replace(
                "checkout@11d5960a326750d5838078e36cf38b85af677262 # v4.4.0",
                "checkout@v3",
            )
            .replace("apply --yes --comment", "apply --yes --report r.json")
            .replace("ubuntu-latest", "debian\n    container: mine");
        let compared = compare(&theirs, APPLY);
        assert_eq!(compared.faults, ["lacks fetch-depth: 0"]);
        assert_eq!(compared.missing, 3);
        assert!(compared.text.contains("fetch-depth: 0 # the commits since the last apply say which change deletes what\n          submodules: true # the"));
        assert!(compared.text.contains(
            "apply --yes --comment --allow-deletes \"$ALLOW_DELETES\" --report r.json\n"
        ));
        assert!(compared.text.contains("debian\n    container: mine\n"));
        assert_eq!(compare(&compared.text, APPLY).missing, 0);
    }

    /// Whatever line is lost, what is restored is a workflow that lacks nothing.
    #[test]
    fn each_lost_line_is_restored() {
        for (name, ours) in all() {
            let lines: Vec<&str> = ours.split_inclusive('\n').collect();
            for at in 0..lines.len() {
                let mut theirs = lines.clone();
                let lost = theirs.remove(at);
                let start = essence(lost).trim_start();
                // without its head a block is part of another one
                if start.starts_with("- ") || start.ends_with([':', '|']) {
                    continue;
                }
                let compared = compare(&theirs.concat(), ours);
                assert_eq!(
                    compared.missing,
                    usize::from(!essence(lost).is_empty()),
                    "{name}: {lost}"
                );
                assert_eq!(compare(&compared.text, ours).missing, 0, "{name}: {lost}");
                YamlLoader::load_from_str(&compared.text).unwrap();
            }
        }
    }

    /// Steps, a container and variables of people's own stay beside each line of ours that is lost.
    #[test]
    fn what_people_added_stays_beside_a_line_that_is_restored() {
        let job = "    container: acme/image:1\n    env:\n      MINE: 1\n";
        let step = "      - name: Mine\n        uses: acme/mine@v1\n        with:\n          fetch-depth: 7\n      - run: |\n          make mine\n";
        for (name, ours) in all() {
            let lines: Vec<&str> = ours.split_inclusive('\n').collect();
            let steps = lines.iter().position(|line| line.starts_with("    steps:"));
            let steps = steps.unwrap();
            let starts = (steps..lines.len()).filter(|at| lines[*at].starts_with("      - "));
            for at in starts.chain([lines.len()]) {
                let near = (at - 3..at + 3).chain(steps - 2..steps + 2);
                for lost in near.filter(|lost| *lost < lines.len()) {
                    let mut theirs = lines.clone();
                    theirs.insert(at, step);
                    theirs.insert(steps, job);
                    theirs.retain(|line| *line != lines[lost]);
                    let theirs = theirs.concat();
                    if YamlLoader::load_from_str(&theirs).is_err() {
                        continue;
                    }
                    let compared = compare(&theirs, ours);
                    let text = &compared.text;
                    assert!(text.contains(job) && text.contains(step), "{name}: {text}");
                    YamlLoader::load_from_str(text).unwrap();
                    assert_eq!(compare(text, ours).missing, 0, "{name}: {text}");
                }
            }
        }
    }

    /// Another variant has its own events, steps and tokens; what people added stays.
    #[test]
    fn another_variant_takes_the_place_of_the_one_that_is_there() {
        let step = "      - name: Mine\n        run: netbird-gitops doctor\n        env:\n          GITEA_TOKEN: ${{ secrets.GITEA_TOKEN }}\n";
        let [(_, plain), (_, other), (_, forks)] = [FILES[0], WITHOUT_ACTIONS[0], FORKS[0]];
        for (from, to) in [
            (plain, forks),
            (forks, plain),
            (plain, other),
            (other, plain),
        ] {
            let last = from.rfind("      - ").unwrap();
            let theirs = format!("{}{step}{}", &from[..last], &from[last..]);
            let theirs = theirs.replace("ubuntu-latest", "debian\n    container: mine");
            let (_, base) = nearest("plan.yml", &theirs).unwrap();
            let text = merge(&theirs, to, base).text;
            assert!(
                text.contains(step) && text.contains("debian\n    container: mine\n"),
                "{text}"
            );
            let without = text
                .replace(step, "")
                .replace("debian\n    container: mine", "ubuntu-latest");
            let lines = |text: &str| -> Vec<String> {
                let lines = text.lines().map(|line| essence(line).to_owned());
                lines.filter(|line| !line.is_empty()).collect()
            };
            assert_eq!(lines(&without), lines(to));
        }
    }

    /// With the other token a plan fails, or a pull request sees what it must not.
    #[test]
    fn a_protected_line_that_is_lost_is_a_fault() {
        for (from, to) in [
            ("NETBIRD_APPLY_TOKEN", "NETBIRD_PLAN_TOKEN"),
            ("fetch-depth: 0", "fetch-depth: 1"),
            ("    branches: [main]\n", ""),
            ("apply --yes", "apply --any-commit --yes"),
            ("cancel-in-progress: false", "cancel-in-progress: true"),
            ("- run: netbird-gitops apply", "- run: echo"),
        ] {
            assert!(APPLY.contains(from), "{from}");
            assert!(
                !compare(&APPLY.replace(from, to), APPLY).faults.is_empty(),
                "{from}"
            );
        }
        for (from, to) in [
            ("        continue-on-error: true", "        if: true"),
            ("--comment ", ""),
            ("paths: [netbird.json]", ""),
            ("          AGE_PUBLIC_KEY: ${{ vars.AGE_PUBLIC_KEY }}\n", ""),
        ] {
            assert!(APPLY.contains(from), "{from}");
            let compared = compare(&APPLY.replace(from, to), APPLY);
            assert_eq!((compared.faults.len(), compared.missing), (0, 1), "{from}");
        }
    }
}
