//! What `init` puts into a repository, and what becomes of a file that stands there already.
//!
//! The texts are those of this program's own repository, built in: workflows fit the version that they come with, and a
//! second `init` after an upgrade brings them up to date.

mod ignore;
pub mod remote;
pub(crate) mod render;
pub mod setup;

use similar::TextDiff;

use crate::check::schema;
use crate::commands::setup::workflows;

/// The file that declares the network.
pub const NETWORK: &str = "netbird.json";
/// Its schema, beside it.
const SCHEMA: &str = "netbird.schema.json";
/// What git leaves out.
pub const IGNORE: &str = ".gitignore";
/// The branch that the workflows start on.
pub const BRANCH: &str = "main";

/// Where Gitea, and Forgejo too where it has no directory of its own, looks for workflows.
pub const OF_GITEA: &str = ".gitea/workflows";
/// Where Forgejo looks first.
pub const OF_FORGEJO: &str = ".forgejo/workflows";
/// Where both look where there is none of these.
pub const OF_GITHUB: &str = ".github/workflows";

/// What a network begins with where no account is exported.
const MINIMAL: &str = include_str!("../../../examples/minimal.json");

/// Which workflows a repository gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Their directory.
    pub directory: &'static str,
    /// With `uses:` of actions, or in plain git and shell.
    pub actions: bool,
    /// Plans of pull requests from forks.
    pub forks: bool,
}

impl Choice {
    /// Keeps to what the repository has where the command line does not say otherwise: an update must not turn a workflow
    /// into another one. `read` returns the text of a workflow of that directory.
    pub fn of(asked: Choice, read: impl Fn(&str) -> Option<String>) -> Choice {
        let plan = read("plan.yml").unwrap_or_default();
        let apply = read("apply.yml");
        let is_plain = apply.is_some_and(|text| {
            text.contains("netbird-gitops apply") && !text.contains("uses: actions/checkout")
        });
        let actions = asked.actions && (asked.forks || !is_plain);
        Choice {
            directory: asked.directory,
            actions,
            forks: asked.forks || actions && plan.contains("pull_request_target:"),
        }
    }
}

/// Whose text a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The program's: another text is an older one, or one that was changed by hand.
    Program,
    /// The program's, but for lines that people set.
    Workflow,
    /// The people's, who have lines of ours in it.
    Shared,
    /// The people's: never written once it is there.
    People,
}

/// A file that a repository needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The path from the repository's root, with slashes.
    pub path: String,
    text: String,
    owner: Owner,
}

/// What a file that is wanted and what stands at its path are to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is there: this is to be written.
    New(Vec<u8>),
    /// It is there, and as it should be.
    Equal,
    /// It is there, and otherwise.
    Differs {
        /// What it should be.
        wanted: Vec<u8>,
        /// The way there.
        diff: String,
    },
    /// It is there, and nobody's business but the people's.
    Theirs,
}

impl Wanted {
    /// Compares it with what is there.
    pub fn standing(&self, there: Option<&[u8]>) -> Standing {
        let Some(there) = there else {
            return Standing::New(self.text.clone().into_bytes());
        };
        let wanted = match self.owner {
            Owner::People => return Standing::Theirs,
            Owner::Program => self.text.clone().into_bytes(),
            Owner::Workflow => with_settings_of(there, &self.text).into_bytes(),
            Owner::Shared => ignore::merge(there, &self.text),
        };
        if wanted == there {
            return Standing::Equal;
        }
        let diff = diff(&self.path, there, &wanted);
        Standing::Differs { wanted, diff }
    }
}

/// Returns the files that a repository needs, the network first. `network` is its text; the minimal one without.
pub fn files(choice: Choice, network: Option<&str>) -> Vec<Wanted> {
    let file = |path: &str, text: &str, owner| Wanted {
        path: path.to_owned(),
        text: text.to_owned(),
        owner,
    };
    let network = with_schema(network.unwrap_or(MINIMAL));
    let mut files = vec![
        file(NETWORK, &network, Owner::People),
        file(SCHEMA, &schema::text(), Owner::Program),
        file(IGNORE, ignore::TEXT, Owner::Shared),
    ];
    let all = match choice.actions {
        true => &workflows::FILES,
        false => &workflows::WITHOUT_ACTIONS,
    };
    let [(_, of_forks)] = workflows::FORKS;
    files.extend(all.iter().map(|(name, text)| {
        let text = match *name {
            "plan.yml" if choice.forks => of_forks,
            _ => text,
        };
        let path = format!("{}/{name}", choice.directory);
        file(&path, text, Owner::Workflow)
    }));
    files
}

/// What people set in a workflow: where it runs, when, and for which branch and file.
const SETTINGS: [&str; 4] = ["runs-on:", "- cron:", "branches:", "paths:"];
/// The command that commits or, with the flag that people give it, proposes.
const SYNC: &str = "netbird-gitops sync-events";
/// That flag.
const VIA_PR: &str = " --via-pr";

/// Returns our text of a workflow with the lines that people set in theirs: an update must not put a job onto a runner that
/// is not there. Where theirs has another number of such lines, or their values stand on further lines, they have no place in ours.
fn with_settings_of(there: &[u8], ours: &str) -> String {
    let Ok(there) = std::str::from_utf8(there) else {
        return ours.to_owned();
    };
    let key = |line: &str| {
        SETTINGS
            .into_iter()
            .find(|key| line.trim_start().starts_with(key))
    };
    let set = |text: &str, wanted: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| key(line) == Some(wanted));
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let mut values: Vec<(&str, std::vec::IntoIter<String>)> = Vec::new();
    for key in SETTINGS {
        let theirs = set(there, key);
        let has_value = |line: &String| {
            let value = line[key.len()..].trim_start();
            !value.is_empty() && !value.starts_with(['#', '|', '>', '&'])
        };
        if theirs.len() == set(ours, key).len() && theirs.iter().all(has_value) {
            values.push((key, theirs.into_iter()));
        }
    }
    let is_sync =
        |line: &str| !line.trim_start().starts_with('#') && line.trim_end().ends_with(SYNC);
    let proposes = there
        .lines()
        .filter_map(|line| line.trim_end().strip_suffix(VIA_PR))
        .any(is_sync);
    let line = |line: &str| {
        let key = key(line);
        let theirs = values.iter_mut().find(|(other, _)| key == Some(other));
        let theirs = theirs.and_then(|(_, values)| values.next());
        let indent = &line[..line.len() - line.trim_start().len()];
        match theirs {
            Some(value) => format!("{indent}{value}\n"),
            None if proposes && is_sync(line) => format!("{}{VIA_PR}\n", line.trim_end()),
            None => format!("{line}\n"),
        }
    };
    ours.lines().map(line).collect()
}

/// Puts the schema's place before a file's first entry, for editors.
fn with_schema(text: &str) -> String {
    text.replacen("{\n", &format!("{{\n  \"$schema\": \"./{SCHEMA}\",\n"), 1)
}

/// Returns the change of a file in the unified form.
fn diff(path: &str, before: &[u8], after: &[u8]) -> String {
    let (before, after) = (
        String::from_utf8_lossy(before),
        String::from_utf8_lossy(after),
    );
    let diff = TextDiff::from_lines(before.as_ref(), after.as_ref());
    let version = env!("CARGO_PKG_VERSION");
    diff.unified_diff()
        .context_radius(3)
        .header(
            &format!("{path} (yours)"),
            &format!("{path} (of netbird-gitops {version})"),
        )
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::validate::validate;
    use crate::file::Source;

    const ALL: Choice = Choice {
        directory: OF_GITEA,
        actions: true,
        forks: false,
    };

    fn texts(choice: Choice) -> Vec<(String, String)> {
        let files = files(choice, None).into_iter();
        files.map(|file| (file.path, file.text)).collect()
    }

    #[test]
    fn what_it_begins_with_is_valid_and_knows_its_schema() {
        let network = &files(ALL, None)[0].text;
        assert!(network.starts_with("{\n  \"$schema\": \"./netbird.schema.json\",\n  \"groups\""));
        let source = Source::from_text(NETWORK, network.clone()).unwrap();
        assert!(validate(&source).is_ok());
    }

    #[test]
    fn each_choice_has_four_workflows_of_its_own() {
        let plain = Choice {
            actions: false,
            ..ALL
        };
        let forks = Choice { forks: true, ..ALL };
        let forgejo = Choice {
            directory: OF_FORGEJO,
            ..ALL
        };
        let uses = |choice| {
            let texts = texts(choice);
            texts
                .iter()
                .filter(|(_, text)| text.contains("uses: "))
                .count()
        };
        assert_eq!([uses(ALL), uses(plain), uses(forks)], [4, 0, 4]);
        let plan = &texts(forks)[3];
        assert_eq!(plan.0, ".gitea/workflows/plan.yml");
        assert!(plan.1.contains("pull_request_target:"));
        let paths = texts(forgejo).into_iter().skip(3);
        assert!(
            paths
                .into_iter()
                .all(|(path, _)| path.starts_with(".forgejo/workflows/"))
        );
    }

    #[test]
    fn an_update_keeps_to_the_kind_of_workflow_that_is_there() {
        let there = |choice: Choice| {
            move |name: &str| {
                let path = format!("{}/{name}", choice.directory);
                texts(choice)
                    .into_iter()
                    .find(|(at, _)| *at == path)
                    .map(|(_, text)| text)
            }
        };
        let plain = Choice {
            actions: false,
            ..ALL
        };
        let forks = Choice { forks: true, ..ALL };
        for choice in [ALL, plain, forks] {
            assert_eq!(Choice::of(ALL, there(choice)), choice);
        }
        assert_eq!(Choice::of(ALL, |_| None), ALL);
        // what is asked for goes before
        assert_eq!(Choice::of(forks, there(plain)), forks);
        assert_eq!(Choice::of(plain, there(forks)), plain);
    }

    #[test]
    fn what_people_set_in_a_workflow_stays() {
        let file = &files(ALL, None)[3];
        let label = file
            .text
            .replace("ubuntu-latest", "[self-hosted, vpn] # ours");
        assert_eq!(file.standing(Some(label.as_bytes())), Standing::Equal);
        let branch = label.replace("branches: [main]", "branches: [trunk]");
        assert_eq!(file.standing(Some(branch.as_bytes())), Standing::Equal);
        let older = branch.replace("timeout-minutes: 30", "timeout-minutes: 5");
        let Standing::Differs { wanted, diff } = file.standing(Some(older.as_bytes())) else {
            panic!("another limit differs")
        };
        assert_eq!(wanted, branch.as_bytes());
        assert!(!diff.contains("-    runs-on"), "{diff}");
        // a second job of their own has no place in ours
        let two = format!("{older}  more:\n    runs-on: x\n");
        let Standing::Differs { wanted, .. } = file.standing(Some(two.as_bytes())) else {
            panic!("another job differs")
        };
        let text = String::from_utf8(wanted).unwrap();
        assert!(text.contains("runs-on: ubuntu-latest") && text.contains("[trunk]"));
        // nor has a list below its key
        let list = file.text.replace(
            "branches: [main]",
            "branches: # two\n      - main\n      - trunk",
        );
        let Standing::Differs { wanted, .. } = file.standing(Some(list.as_bytes())) else {
            panic!("another form differs")
        };
        assert_eq!(wanted, file.text.as_bytes());
        // proposing in the place of committing, and the file
        for plain in [false, true] {
            let actions = !plain;
            let files = files(Choice { actions, ..ALL }, None);
            let mut text = files[4].text.replace(SYNC, &format!("{SYNC}{VIA_PR}"));
            assert_ne!(text, files[4].text);
            text = text.replace("paths: [netbird.json]", "paths: [net.json]");
            assert_eq!(files[4].standing(Some(text.as_bytes())), Standing::Equal);
        }
        let drift = &files(ALL, None)[6];
        let noon = drift.text.replace("17 5 * * *", "0 12 * * *");
        assert_eq!(drift.standing(Some(noon.as_bytes())), Standing::Equal);
    }

    #[test]
    fn a_network_that_is_there_is_never_ours_to_write() {
        let files = files(ALL, None);
        assert_eq!(files[0].standing(Some(b"{}")), Standing::Theirs);
        let schema = &files[1];
        assert_eq!(
            schema.standing(Some(schema.text.as_bytes())),
            Standing::Equal
        );
        let Standing::Differs { diff, .. } = schema.standing(Some(b"{}\n")) else {
            panic!("another text differs")
        };
        assert!(diff.starts_with("--- netbird.schema.json (yours)\n+++ netbird.schema.json (of "));
        assert!(diff.contains("\n-{}\n"), "{diff}");
    }
}
