//! What `init` puts into a repository, and what becomes of a file that stands there already.
//!
//! The texts are those of this program's own repository, built in: workflows fit the version that they come with, and a
//! second `init` after an upgrade brings them up to date.

mod ignore;
pub mod remote;
pub(crate) mod render;
pub mod setup;

use render::{Became, File};
use similar::TextDiff;

use crate::base::text::shell;
use crate::check::schema;
use crate::commands::setup::workflows::{self, OWN_NAMES, is_ours, merge};

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

/// One network of a repository: its environment, and its file's path in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    environment: Option<String>,
    /// The file.
    pub file: String,
}

impl Default for Network {
    fn default() -> Self {
        Network::new("default", NETWORK)
    }
}

impl Network {
    /// The network of that environment.
    pub fn new(environment: &str, file: &str) -> Self {
        Network {
            environment: Some(environment.to_owned()).filter(|name| name != "default"),
            file: file.to_owned(),
        }
    }

    /// Returns the options that name it, with a blank before; none of the only network.
    pub fn options(&self) -> String {
        let environment = self.environment.as_ref();
        let named =
            |name: &String| format!(" --environment {} -f {}", shell(name), shell(&self.file));
        environment.map(named).unwrap_or_default()
    }

    /// Returns the name that a secret or variable has in the repository: some are each network's own.
    pub fn own_name(&self, name: &str) -> String {
        match &self.environment {
            Some(environment) if OWN_NAMES.contains(&name) => {
                let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
                let suffix: String = environment
                    .to_ascii_uppercase()
                    .chars()
                    .map(allowed)
                    .collect();
                format!("{name}_{suffix}")
            }
            _ => name.to_owned(),
        }
    }

    /// Returns the file name of a workflow. Beside somebody else's of that name ours has another.
    fn workflow(&self, name: &str, read: &dyn Fn(&str) -> Option<String>) -> String {
        let stem = name.trim_end_matches(".yml");
        let own = match &self.environment {
            Some(environment) => format!("{stem}-{}.yml", slug(environment)),
            None => name.to_owned(),
        };
        match read(&own) {
            Some(text) if !is_ours(stem, &text) => format!("netbird-{own}"),
            _ => own,
        }
    }

    /// Puts this network into a workflow of ours: its name, its concurrency group, its file, its tokens.
    fn put_into(&self, text: &str) -> String {
        let Some(environment) = &self.environment else {
            return text.to_owned();
        };
        let slug = slug(environment);
        let line = |line: &str| match line.split_once(": ") {
            Some(("name", name)) => format!("name: {name}-{slug}\n"),
            Some(("  group", group)) => match group.split_once("-${{") {
                Some((group, rest)) => format!("  group: {group}-{slug}-${{{{{rest}\n"),
                None => {
                    let (group, comment) = group.split_once(" #").unwrap_or((group, ""));
                    let comment = if comment.is_empty() {
                        ""
                    } else {
                        &format!(" #{comment}")
                    };
                    format!("  group: {group}-{slug}{comment}\n")
                }
            },
            Some(("    paths", _)) => format!("    paths: [{}]\n", quoted(&self.file)),
            Some(("    timeout-minutes", _)) => format!(
                "{line}\n    env:\n      NETBIRD_GITOPS_FILE: {}\n      NETBIRD_GITOPS_ENVIRONMENT: {}\n",
                quoted(&self.file),
                quoted(environment)
            ),
            _ => {
                let own = |line: String, name: &&str| {
                    let own = format!(".{} }}}}", self.own_name(name));
                    line.replace(&format!(".{name} }}}}"), &own)
                };
                OWN_NAMES.iter().fold(format!("{line}\n"), own)
            }
        };
        text.lines().map(line).collect()
    }

    /// Returns the network's text with the place of its schema before its first entry, for editors.
    fn with_schema(&self, text: &str) -> String {
        let up = match self.file.matches('/').count() {
            0 => "./".to_owned(),
            depth => "../".repeat(depth),
        };
        text.replacen("{\n", &format!("{{\n  \"$schema\": \"{up}{SCHEMA}\",\n"), 1)
    }
}

/// A name as part of a file's name.
fn slug(name: &str) -> String {
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    name.chars().map(allowed).collect()
}

/// A text as a value of YAML.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    match text.chars().all(is_plain) && text.contains(|c: char| c.is_ascii_alphabetic()) {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}

/// Which workflows a repository gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// Their directory.
    pub directory: &'static str,
    /// With `uses:` of actions, or in plain git and shell.
    pub actions: bool,
    /// Plans of pull requests from forks.
    pub forks: bool,
}

impl Variant {
    /// Keeps to what the repository has where the command line does not say otherwise: an update must not turn a workflow
    /// into another one. `read` returns the text of a workflow of that directory.
    pub fn of(asked: Variant, network: &Network, read: &dyn Fn(&str) -> Option<String>) -> Variant {
        let text = |name| read(&network.workflow(name, read));
        let plan = text("plan.yml").unwrap_or_default();
        let is_plain = text("apply.yml").is_some_and(|text| {
            text.contains("netbird-gitops apply") && !text.contains("uses: actions/checkout")
        });
        let actions = asked.actions && (asked.forks || !is_plain);
        Variant {
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
    /// Both have lines in it.
    Shared,
    /// The people's: never written once it is there.
    People,
}

/// A file that a repository needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedFile {
    /// The path from the repository's root, with slashes.
    pub path: String,
    text: String,
    owner: Owner,
}

impl WantedFile {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns whether somebody else's workflow has its place.
    pub fn is_taken(&self, there: &[u8]) -> bool {
        let name = self.name();
        let text = String::from_utf8_lossy(there);
        name.ends_with(".yml") && workflows::judged(name, &text).is_none()
    }

    /// Compares it with what is there, and decides what becomes of it. What differs is written with `force` alone.
    pub fn decide(&self, there: Option<&[u8]>, force: bool) -> File {
        let ours = || self.text.clone().into_bytes();
        let file = |became, diff, text| File {
            path: self.path.clone(),
            became,
            diff,
            text,
        };
        let Some(there) = there else {
            return file(Became::Written, None, Some(ours()));
        };
        let wanted = match (self.owner, std::str::from_utf8(there)) {
            (Owner::People, _) => return file(Became::Theirs, None, None),
            (Owner::Shared, _) if self.path == IGNORE => ignore::merge(there, &self.text),
            (Owner::Shared, Ok(there)) => {
                let nearest = workflows::nearest(self.name(), there);
                let base = nearest.map_or(&*self.text, |(_, base)| base);
                merge(there, &self.text, base).text.into_bytes()
            }
            (Owner::Shared | Owner::Program, _) => ours(),
        };
        if wanted == there {
            return file(Became::Unchanged, None, None);
        }
        let diff = Some(diff(&self.path, there, &wanted));
        match force {
            true => file(Became::Overwritten, diff, Some(wanted)),
            false => file(Became::Differs, diff, None),
        }
    }
}

/// Returns the files that a repository needs, the network first. `text` is the network's; the minimal one without. `read` returns
/// the text of a workflow that is there.
pub fn files(
    choice: Variant,
    network: &Network,
    text: Option<&str>,
    read: &dyn Fn(&str) -> Option<String>,
) -> Vec<WantedFile> {
    let file = |path: &str, text: &str, owner| WantedFile {
        path: path.to_owned(),
        text: text.to_owned(),
        owner,
    };
    let text = network.with_schema(text.unwrap_or(MINIMAL));
    let mut files = vec![
        file(&network.file, &text, Owner::People),
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
        let path = format!("{}/{}", choice.directory, network.workflow(name, read));
        file(&path, &network.put_into(text), Owner::Shared)
    }));
    files
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

    const ALL: Variant = Variant {
        directory: OF_GITEA,
        actions: true,
        forks: false,
    };

    fn all(choice: Variant) -> Vec<WantedFile> {
        files(choice, &Network::default(), None, &|_| None)
    }

    fn texts(choice: Variant) -> Vec<(String, String)> {
        let files = all(choice).into_iter();
        files.map(|file| (file.path, file.text)).collect()
    }

    #[test]
    fn what_it_begins_with_is_valid_and_knows_its_schema() {
        let network = &all(ALL)[0].text;
        assert!(network.starts_with("{\n  \"$schema\": \"./netbird.schema.json\",\n  \"groups\""));
        let source = Source::from_text(NETWORK, network.clone()).unwrap();
        assert!(validate(&source).is_ok());
    }

    #[test]
    fn each_choice_has_four_workflows_of_its_own() {
        let plain = Variant {
            actions: false,
            ..ALL
        };
        let forks = Variant { forks: true, ..ALL };
        let forgejo = Variant {
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
        let there = |choice: Variant| {
            move |name: &str| {
                let path = format!("{}/{name}", choice.directory);
                texts(choice)
                    .into_iter()
                    .find(|(at, _)| *at == path)
                    .map(|(_, text)| text)
            }
        };
        let plain = Variant {
            actions: false,
            ..ALL
        };
        let forks = Variant { forks: true, ..ALL };
        let of = |asked, read: &dyn Fn(&str) -> Option<String>| {
            Variant::of(asked, &Network::default(), read)
        };
        for choice in [ALL, plain, forks] {
            assert_eq!(of(ALL, &there(choice)), choice);
        }
        assert_eq!(of(ALL, &|_| None), ALL);
        // what is asked for goes before
        assert_eq!(of(forks, &there(plain)), forks);
        assert_eq!(of(plain, &there(forks)), plain);
    }

    #[test]
    fn another_network_has_workflows_that_share_nothing_with_the_first() {
        let network = Network::new("The Lab", "lab/netbird.json");
        let files = files(ALL, &network, None, &|_| None);
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths[0], "lab/netbird.json");
        assert_eq!(paths[3], ".gitea/workflows/plan-the-lab.yml");
        assert!(files[0].text.contains("\"../netbird.schema.json\""));
        for (file, (_, text)) in files[3..].iter().zip(workflows::FILES) {
            for line in text.lines() {
                let own = ["name: ", "  group: ", "    paths: "];
                let is_own = own.iter().any(|start| line.starts_with(start))
                    || OWN_NAMES
                        .iter()
                        .any(|name| line.contains(&format!(".{name} ")));
                let is_there = file.text.lines().any(|it| it == line);
                assert_eq!(is_there, !is_own, "{}: {line}", file.path);
            }
            assert_eq!(
                workflows::compare(&file.text, text).missing,
                0,
                "{}",
                file.path
            );
        }
        let apply = &files[4].text;
        for line in [
            "name: apply-the-lab",
            "  group: netbird-apply-the-lab # its own: ",
            "    paths: [lab/netbird.json]",
            "      NETBIRD_GITOPS_ENVIRONMENT: \"The Lab\"",
            "${{ secrets.NETBIRD_APPLY_TOKEN_THE_LAB }}",
        ] {
            assert!(apply.contains(line), "{apply}");
        }
        assert!(
            files[3]
                .text
                .contains("group: netbird-plan-the-lab-${{ github")
        );
    }

    #[test]
    fn beside_somebody_elses_workflow_ours_has_another_name() {
        let theirs = |name: &str| (name == "plan.yml").then(|| "name: plan".to_owned());
        let files = files(ALL, &Network::default(), None, &theirs);
        assert_eq!(files[3].path, ".gitea/workflows/netbird-plan.yml");
        assert_eq!(files[4].path, ".gitea/workflows/apply.yml");
    }

    #[test]
    fn a_network_that_is_there_is_never_ours_to_write() {
        let files = all(ALL);
        assert_eq!(files[0].decide(Some(b"{}"), true).became, Became::Theirs);
        let schema = &files[1];
        let same = schema.decide(Some(schema.text.as_bytes()), false);
        assert_eq!((same.became, same.text), (Became::Unchanged, None));
        let other = schema.decide(Some(b"{}\n"), false);
        assert_eq!((other.became, other.text), (Became::Differs, None));
        let diff = other.diff.unwrap_or_default();
        assert!(diff.starts_with("--- netbird.schema.json (yours)\n+++ netbird.schema.json (of "));
        assert!(diff.contains("\n-{}\n"), "{diff}");
    }
}
