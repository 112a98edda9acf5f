//! The checkout: the workflows in it, and the history that proves what is ours.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Scene, failed};
use crate::doctor::{Check, Purpose, Standing, standing};
use crate::git::{Git, GitError, Opened};
use crate::ledger::{Ledger, LedgerError};
use crate::text::count;

/// Where workflows stand. Of several folders the server takes the first that is there.
const FOLDERS: [&str; 3] = [
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/workflows",
];

fn git(scene: &Scene) -> Result<Opened, GitError> {
    Git::open(scene.file.parent().unwrap_or(Path::new("")))
}

/// Returns the check, whether a workflow proposes the bot's commits (`--via-pr`), and whether there are workflows of ours.
pub(super) fn workflows(scene: &Scene) -> (Check, bool, bool) {
    let name = "workflows";
    let root = match git(scene) {
        Ok(Opened::Checkout(git)) => git.root().to_owned(),
        _ => scene.file.parent().unwrap_or(Path::new("")).to_owned(),
    };
    let folder = FOLDERS.map(|folder| root.join(folder));
    let Some(folder) = folder.into_iter().find(|folder| folder.is_dir()) else {
        return (
            Check::open(name, "there are no workflows here"),
            false,
            false,
        );
    };
    let texts: Vec<(String, Standing, String)> = files(&folder)
        .into_iter()
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            let text = fs::read_to_string(&path).ok()?;
            Some((name.clone(), standing(&name, &text)?, text))
        })
        .collect();
    let via_pr = texts.iter().any(|(_, _, text)| text.contains("--via-pr"));
    let named = |wanted: &[Standing]| {
        let found = texts.iter().filter(|(_, found, _)| wanted.contains(found));
        let names: Vec<&str> = found.map(|(name, ..)| name.as_str()).collect();
        names.join(", ")
    };
    let (version, other) = (env!("CARGO_PKG_VERSION"), named(&[Standing::Other]));
    let check = if texts.is_empty() {
        Check::open(name, "none of the workflows here is one of ours")
    } else if !other.is_empty() {
        Check::wrong(
            name,
            format!("not as in version {version}: {other}"),
            Some(
                "take the texts that belong to this version (docs/gitea.md, step 6), and make your own changes again; the \
                 runner, the clock, the branch, the file and --via-pr are yours to choose"
                    .to_owned(),
            ),
        )
    } else {
        let adapted = match named(&[Standing::Adapted]).as_str() {
            "" => String::new(),
            adapted => format!("; with settings of yours: {adapted}"),
        };
        let all = named(&[Standing::Same, Standing::Adapted]);
        Check::right(name, format!("as in version {version}: {all}{adapted}"))
    };
    (check, via_pr, !texts.is_empty())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Whether the history can prove what is ours.
pub(super) fn history(scene: &Scene) -> Check {
    let name = "git_history";
    let git = match git(scene) {
        Ok(Opened::Checkout(git)) => git,
        Ok(opened) => {
            let (why, hint) = match opened {
                Opened::NoGit => ("git is not installed", "install git where the job runs"),
                _ => (
                    "this is no git checkout",
                    "check the repository out, with fetch-depth: 0",
                ),
            };
            let text = format!("{why}, so nothing is provably ours, and nothing is deleted");
            return match scene.context.is_ci || scene.told == Some(Purpose::Apply) {
                true => Check::wrong(name, text, Some(hint.to_owned())),
                false => Check::open(name, text),
            };
        }
        Err(error) => return failed(name, anyhow::Error::new(error).into()),
    };
    match read(&git, &scene.file) {
        Ok(None) => Check::open(name, "there is no commit yet"),
        Ok(Some(0)) => Check::open(name, format!("no commit has {} yet", scene.file.display())),
        Ok(Some(number)) => Check::right(
            name,
            format!(
                "whole: {} changed {}",
                count(number, "commit", "commits"),
                scene.file.display()
            ),
        ),
        Err(error) => failed(name, anyhow::Error::new(error).into()),
    }
}

/// Returns how many commits changed the file; `None` without any commit.
fn read(git: &Git, file: &Path) -> Result<Option<usize>, LedgerError> {
    let path = git.locate(file)?;
    let Some(tip) = git.head()? else {
        return Ok(None);
    };
    let ledger = Ledger::read(git, &tip, &[path], Timestamp::now().as_second())?;
    Ok(Some(ledger.commits().len()))
}
