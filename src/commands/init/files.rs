//! The files that a repository needs, and what becomes of one that is there already.
//!
//! The texts are those of this program's own repository, built in: workflows fit the version of the program, and a
//! second `init` after an upgrade brings them up to date.

use similar::group_diff_ops;
use similar::udiff::UnifiedHunkHeader;

use super::ignore;
use crate::base::{line_changes, shell};
use crate::check::schema;
use crate::commands::workflows::{self, OWN_NAMES, is_ours, merge, nearest};

/// The file that declares the network.
pub(super) const NETWORK: &str = "netbird.json";
/// The same with comments.
pub(super) const COMMENTED: &str = "netbird.jsonc";
/// Its schema, beside it.
const SCHEMA: &str = "netbird.schema.json";
/// What git leaves out.
const IGNORE: &str = ".gitignore";

/// What a network begins with where no account is exported.
const MINIMAL: &str = include_str!("../../../examples/minimal.json");

/// Returns the text of a workflow that is there.
pub(super) type ReadWorkflow<'a> = &'a dyn Fn(&str) -> Option<String>;

/// One network of a repository.
#[derive(Clone)]
pub(super) struct Network {
    /// The name of one that is not the only one.
    environment: Option<String>,
    /// The path of its file in the repository.
    pub(super) file: String,
}

impl Default for Network {
    fn default() -> Self {
        Network::new("default", NETWORK)
    }
}

impl Network {
    pub(super) fn new(environment: &str, file: &str) -> Self {
        Network {
            environment: Some(environment.to_owned()).filter(|name| name != "default"),
            file: file.to_owned(),
        }
    }

    /// Returns the options that name it, with a blank before; none of what they are without options.
    pub(super) fn options(&self) -> String {
        let environment = self.environment.iter();
        let environment = environment.map(|name| format!(" --environment {}", shell(name)));
        let file = (self.file != NETWORK).then(|| format!(" -f {}", shell(&self.file)));
        environment.chain(file).collect()
    }

    /// Whether it is the only network, or the first one.
    pub(super) fn is_default(&self) -> bool {
        self.environment.is_none()
    }

    /// Returns the name that a secret or variable has in the repository: some are each network's own.
    pub(super) fn own_name(&self, name: &str) -> String {
        match &self.environment {
            Some(environment) if OWN_NAMES.contains(&name) => {
                format!("{name}_{}", slug(environment, '_').to_ascii_uppercase())
            }
            _ => name.to_owned(),
        }
    }

    /// Returns the file name of a workflow. Beside somebody else's of that name ours has another.
    fn workflow(&self, name: &str, read: ReadWorkflow) -> String {
        let stem = name.trim_end_matches(".yml");
        let own = match &self.environment {
            Some(environment) => format!("{stem}-{}.yml", slug(environment, '-')),
            None => name.to_owned(),
        };
        match read(&own) {
            Some(text) if !is_ours(stem, &text) => format!("netbird-{own}"),
            _ => own,
        }
    }

    /// Puts this network into a workflow of ours: its name, its concurrency group, its file, its tokens.
    fn put_into(&self, text: &str) -> String {
        if self.options().is_empty() {
            return text.to_owned();
        }
        let environment = self.environment.as_deref();
        let (slug, file) = (environment.map(|name| slug(name, '-')), quoted(&self.file));
        let name = environment.map(quoted).into_iter();
        let variable = name.map(|name| format!("      NETBIRD_GITOPS_ENVIRONMENT: {name}\n"));
        let variable: String = variable.collect();
        let line = |line: &str| match (line.split_once(": "), &slug) {
            (Some((field @ ("name" | "  group"), value)), Some(slug)) => {
                let is_other = |c: char| !c.is_ascii_alphabetic() && c != '-';
                let (word, rest) = value.split_at(value.find(is_other).unwrap_or(value.len()));
                let name = word.trim_end_matches('-');
                format!("{field}: {name}-{slug}{}{rest}\n", &word[name.len()..])
            }
            (Some(("    paths", _)), _) => format!("    paths: [{file}]\n"),
            (Some(("    timeout-minutes", _)), _) => {
                format!("{line}\n    env:\n      NETBIRD_GITOPS_FILE: {file}\n{variable}")
            }
            _ => OWN_NAMES.iter().fold(format!("{line}\n"), |line, name| {
                let own = format!(".{} }}}}", self.own_name(name));
                line.replace(&format!(".{name} }}}}"), &own)
            }),
        };
        text.lines().map(line).collect()
    }

    /// Returns the network's text with the place of its schema before its first entry, for editors.
    pub(super) fn with_schema(&self, text: &str) -> String {
        let up = match self.file.matches('/').count() {
            0 => "./".to_owned(),
            depth => "../".repeat(depth),
        };
        text.replacen("{\n", &format!("{{\n  \"$schema\": \"{up}{SCHEMA}\",\n"), 1)
    }
}

/// A name in lower case as part of another one.
fn slug(name: &str, other: char) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { other };
    let slug: String = name.chars().map(allowed).collect();
    slug.to_ascii_lowercase()
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
pub(super) struct Variant {
    /// Their directory.
    pub(super) directory: &'static str,
    /// With `uses:` of actions, or in plain git and shell.
    pub(super) actions: bool,
    /// Plans of pull requests from forks.
    pub(super) forks: bool,
}

impl Variant {
    /// Keeps to what the repository has where the command line does not say otherwise: an update must not turn a workflow
    /// into another one. `read` returns the text of a workflow of that directory.
    pub(super) fn of(asked: Variant, network: &Network, read: ReadWorkflow) -> Variant {
        let text = |name| read(&network.workflow(name, read)).unwrap_or_default();
        let apply = text("apply.yml");
        let is_plain =
            apply.contains("netbird-gitops apply") && !apply.contains("uses: actions/checkout");
        let of_forks = text("plan.yml").contains("pull_request_target:");
        let mut variant = asked;
        variant.actions &= asked.forks || !is_plain;
        variant.forks |= variant.actions && of_forks;
        variant
    }
}

/// A file that a repository needs, and what becomes of it.
#[derive(Default)]
pub(super) struct File {
    /// The path from the repository's root, with slashes.
    pub(super) path: String,
    /// What is written.
    pub(super) text: Option<Vec<u8>>,
    /// The change, where it is there and otherwise.
    pub(super) diff: Option<String>,
    /// The people's own: never written once it is there.
    pub(super) is_theirs: bool,
    /// What it lacks cannot be put into it: its YAML is of another form.
    pub(super) is_odd: bool,
}

impl File {
    /// What became of it, in a word.
    pub(super) fn word(&self) -> &'static str {
        match (&self.text, &self.diff) {
            (Some(_), None) => "written",
            (Some(_), Some(_)) => "overwritten",
            (None, Some(_)) if self.is_odd => "not merged",
            (None, Some(_)) => "differs",
            (None, None) if self.is_theirs => "yours",
            (None, None) => "unchanged",
        }
    }

    /// Returns whether somebody else's workflow has its place.
    pub(super) fn is_taken(&self, there: &[u8]) -> bool {
        let is_workflow = self.path.ends_with(".yml");
        is_workflow && nearest(&self.path, &String::from_utf8_lossy(there)).is_none()
    }

    /// Compares it with what is there, and decides what becomes of it. What differs is written with `force` alone.
    pub(super) fn decide(mut self, there: Option<&[u8]>, force: bool) -> File {
        self.is_theirs &= there.is_some();
        let (Some(there), Some(ours)) = (there, self.text.take_if(|_| there.is_some())) else {
            return self;
        };
        let text = std::str::from_utf8(there).ok();
        let base = text.and_then(|text| Some((text, nearest(&self.path, text)?.1)));
        let wanted = match base {
            _ if self.is_theirs => return self,
            _ if self.path == IGNORE => ignore::merge(there),
            None => ours,
            Some((text, base)) => {
                let ours = String::from_utf8_lossy(&ours);
                let merged = merge(text, &ours, base);
                if !merged.to_add.is_empty() {
                    self.is_odd = true;
                    self.diff = Some(format!("+{}\n", merged.to_add.join("\n+")));
                    return self;
                }
                merged.text.into_bytes()
            }
        };
        if there != wanted {
            self.diff = Some(diff(&self.path, there, &wanted));
            self.text = Some(wanted).filter(|_| force);
        }
        self
    }
}

/// Returns the files that a repository needs, the network first. `read` returns the text of a workflow that is there.
pub(super) fn files(choice: Variant, network: &Network, read: ReadWorkflow) -> Vec<File> {
    let file = |path: &str, text: String| File {
        path: path.to_owned(),
        text: Some(text.into_bytes()),
        is_theirs: path == network.file,
        ..File::default()
    };
    let mut files = vec![
        file(&network.file, network.with_schema(MINIMAL)),
        file(SCHEMA, schema::text()),
        file(IGNORE, ignore::TEXT.to_owned()),
    ];
    let all = match choice.actions {
        true => &workflows::FILES,
        false => &workflows::WITHOUT_ACTIONS,
    };
    let [(_, of_forks)] = workflows::FORKS;
    files.extend(all.iter().map(|(name, text)| {
        let is_of_forks = choice.forks && *name == "plan.yml";
        let text = if is_of_forks { of_forks } else { text };
        let path = format!("{}/{}", choice.directory, network.workflow(name, read));
        file(&path, network.put_into(text))
    }));
    files
}

/// Returns the change of a file in the unified form.
fn diff(path: &str, before: &[u8], after: &[u8]) -> String {
    let [before, after] = [before, after].map(String::from_utf8_lossy);
    let theirs = format!("{path} (yours)");
    let ours = format!("{path} (of netbird-gitops {})", env!("CARGO_PKG_VERSION"));
    let lines = |text| -> Vec<&str> { str::split_inclusive(text, '\n').collect() };
    let (old, new) = (lines(&before), lines(&after));
    let mut out = format!("--- {theirs}\n+++ {ours}\n");
    for hunk in group_diff_ops(line_changes(&old, &new), 3) {
        out += &format!("{}\n", UnifiedHunkHeader::new(&hunk));
        for change in hunk
            .iter()
            .flat_map(|op| op.iter_changes(&old[..], &new[..]))
        {
            let line: &str = change.value();
            out += &format!("{}{line}", change.tag());
            if !line.ends_with('\n') {
                out += "\n\\ No newline at end of file\n";
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::validate::validate;
    use crate::commands::workflows::{OF_FORGEJO, OF_GITEA};
    use crate::file::Source;

    const ALL: Variant = Variant {
        directory: OF_GITEA,
        actions: true,
        forks: false,
    };

    fn all(choice: Variant) -> Vec<File> {
        files(choice, &Network::default(), &|_| None)
    }

    fn text(file: &File) -> String {
        String::from_utf8(file.text.clone().unwrap()).unwrap()
    }

    fn texts(choice: Variant) -> Vec<(String, String)> {
        let files = all(choice).into_iter();
        files
            .map(|file| (text(&file), file.path))
            .map(|(text, path)| (path, text))
            .collect()
    }

    #[test]
    fn what_it_begins_with_is_valid_and_knows_its_schema() {
        let network = text(&all(ALL)[0]);
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
        // what is asked for wins
        assert_eq!(of(forks, &there(plain)), forks);
        assert_eq!(of(plain, &there(forks)), plain);
    }

    #[test]
    fn another_network_has_workflows_that_share_nothing_with_the_first() {
        let network = Network::new("The Lab", "lab/netbird.json");
        let files = files(ALL, &network, &|_| None);
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths[0], "lab/netbird.json");
        assert_eq!(paths[3], ".gitea/workflows/plan-the-lab.yml");
        assert!(text(&files[0]).contains("\"../netbird.schema.json\""));
        for (file, (_, ours)) in files[3..].iter().zip(workflows::FILES) {
            let text = text(file);
            for line in ours.lines() {
                let own = ["name: ", "  group: ", "    paths: "];
                let is_own = own.iter().any(|start| line.starts_with(start))
                    || OWN_NAMES
                        .iter()
                        .any(|name| line.contains(&format!(".{name} ")));
                let is_there = text.lines().any(|it| it == line);
                assert_eq!(is_there, !is_own, "{}: {line}", file.path);
            }
            assert_eq!(workflows::compare(&text, ours).missing, 0, "{}", file.path);
        }
        let apply = text(&files[4]);
        for line in [
            "name: apply-the-lab",
            "  group: netbird-apply-the-lab # its own: ",
            "    paths: [lab/netbird.json]",
            "      NETBIRD_GITOPS_ENVIRONMENT: \"The Lab\"",
            "${{ secrets.NETBIRD_APPLY_TOKEN_THE_LAB }}",
        ] {
            assert!(apply.contains(line), "{apply}");
        }
        assert!(text(&files[3]).contains("group: netbird-plan-the-lab-${{ github"));
    }

    #[test]
    fn beside_somebody_elses_workflow_ours_has_another_name() {
        let theirs = |name: &str| (name == "plan.yml").then(|| "name: plan".to_owned());
        let files = files(ALL, &Network::default(), &theirs);
        assert_eq!(files[3].path, ".gitea/workflows/netbird-plan.yml");
        assert_eq!(files[4].path, ".gitea/workflows/apply.yml");
    }

    #[test]
    fn a_network_that_is_there_is_never_ours_to_write() {
        let file = |at| all(ALL).swap_remove(at);
        assert_eq!(file(0).decide(Some(b"{}"), true).word(), "yours");
        let text = file(1).text;
        assert_eq!(file(1).decide(text.as_deref(), false).word(), "unchanged");
        let other = file(1).decide(Some(b"{}\n"), false);
        assert_eq!(other.word(), "differs");
        let diff = other.diff.unwrap_or_default();
        assert!(diff.starts_with("--- netbird.schema.json (yours)\n+++ netbird.schema.json (of "));
        assert!(diff.contains("\n-{}\n"), "{diff}");
    }

    #[test]
    fn a_diff_says_which_line_has_no_end() {
        let text = diff("x", b"a\nb", b"a\nc\n");
        let (_, hunk) = text.split_once("@@").unwrap();
        let wanted = " -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n";
        assert_eq!(hunk, wanted);
    }
}
