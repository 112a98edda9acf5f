//! The checkout: the workflows in it, and the history, which shows what each change takes away.

use std::fs;
use std::path::{Path, PathBuf};

use super::Doctor;
use super::found::{Look, open, wrong};
use crate::base::{count, files, joined};
use crate::commands::cli::Purpose;
use crate::commands::workflows::{Comparison, OF_FORGEJO, OF_GITEA, OF_GITHUB, nearest};
use crate::git::{Git, Opened};
use crate::model::UNTOLD;

impl Doctor<'_> {
    pub(super) fn workflows(&mut self) -> Look {
        let root = match Git::around(&self.run.file) {
            Ok(Opened::Checkout(git)) => git.top().to_owned(),
            _ => self.run.file.parent().unwrap_or(Path::new("")).to_owned(),
        };
        let folders = [OF_FORGEJO, OF_GITEA, OF_GITHUB].map(|folder| root.join(folder));
        let mut workflows = folders.iter().map(|folder| ours(folder));
        let texts = workflows.find(|texts| !texts.is_empty());
        let texts = texts.unwrap_or_default();
        self.via_pr = texts.iter().any(|(.., text)| text.contains("--via-pr"));
        self.has_workflows = !texts.is_empty();
        match texts.is_empty() {
            true if folders.iter().any(|folder| folder.is_dir()) => {
                open("there are no workflows of netbird-gitops here")
            }
            true => open("there are no workflows here"),
            false => compared(&texts),
        }
    }

    /// Whether the history shows which change takes something away.
    pub(super) fn history(&self) -> Look {
        let (why, hint) = match Git::around(&self.run.file)? {
            Opened::Checkout(git) => {
                let hint = "set fetch-depth: 0 in the checkout step; on a laptop, run git fetch --unshallow";
                return match (git.head()?, git.is_shallow()) {
                    (None, _) => open("there is no commit yet"),
                    (Some(_), false) => Ok("the checkout has the whole history".into()),
                    (Some(_), true) => wrong(format!("the checkout is shallow, so {UNTOLD}"), hint),
                };
            }
            Opened::NoGit => ("git is not installed", "install git where the job runs"),
            Opened::NotACheckout => {
                let hint = "check out the repository, with fetch-depth: 0";
                ("this is not a git checkout", hint)
            }
        };
        let text = format!("{why}, so {UNTOLD}");
        match self.run.context.is_ci || self.named == Some(Purpose::Apply) {
            true => wrong(text, hint),
            false => open(text),
        }
    }
}

/// A workflow of ours: its file name, how it compares with this version, its text.
type Workflow = (String, Comparison, String);

/// Returns the workflows of a folder that are ours, by name.
fn ours(folder: &Path) -> Vec<Workflow> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        let text = files::read_text(&path, files::SMALL).ok()?;
        Some((name.clone(), nearest(&name, &text)?.0, text))
    };
    let found = entries.filter_map(|entry| read(entry.path()));
    let mut found: Vec<Workflow> = found.collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

fn compared(texts: &[Workflow]) -> Look {
    let faults = texts.iter().flat_map(|(name, compared, _)| {
        let lines = compared.faults.iter();
        lines.map(move |line| format!("{name} {line}"))
    });
    let faults = joined(faults, "\n");
    if !faults.is_empty() {
        let hint = "run netbird-gitops init to see the missing lines; init --force adds them and keeps yours";
        return wrong(faults, hint);
    }
    let described = texts.iter().map(|(name, compared, _)| {
        let lines = count(compared.missing, "line differs", "lines differ");
        match compared.missing {
            0 => name.clone(),
            _ => format!("{name} ({lines}: netbird-gitops init shows them)"),
        }
    });
    let (version, described) = (env!("CARGO_PKG_VERSION"), joined(described, ", "));
    Ok(format!("version {version}: {described}"))
}
