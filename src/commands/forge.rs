//! Gitea or Forgejo for a run: the branch that is applied, the enrollment commit, the comments. Without settings for it
//! every command works and skips only this part.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::versions::old_gitea;
use super::{Failure, Run, gitea_config, of_gitea};
use crate::base::{MAX_BYTES, joined, quote, short_commit};
use crate::check::edit::{content_differs_but_for_enrolled, marked_since};
use crate::file::Source;
use crate::forge::ci::Context;
use crate::forge::gitea::commit::BranchFile;
use crate::forge::gitea::mark_enrolled::{Marked, Marking};
use crate::forge::gitea::post::Board;
use crate::forge::gitea::{ForgeFile, GiteaError, Repo};
use crate::git::{Git, Opened};
use crate::wire::http::Trouble;

/// What to do where Gitea is not configured.
pub(super) const SETTINGS: &str = "in the workflows GITEA_TOKEN comes from the secret BOT_TOKEN, for a plan's comment from \
                                   the job itself (docs/gitea.md, step 5); GITEA_URL and GITEA_REPO from the job";

/// How often a newer run is looked for: seven and a half seconds in all, at the default wait.
const LOOKS: u32 = 5;

/// A repository, and the file on the branch that is applied.
pub(super) struct Forge {
    pub(super) repo: Repo,
    branch: Option<String>,
    path: String,
    /// The first wait before something is looked for again.
    wait: Duration,
}

/// The branch has another file than the one to apply.
#[derive(Debug)]
pub(super) struct Stale {
    text: String,
    /// Whether it has none.
    pub(super) is_gone: bool,
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Stale {}

/// Who applies what the branch has now.
pub(super) enum Successor {
    /// A newer run, at this commit.
    Run(String),
    /// No run that can be seen; the branch's tip.
    Nobody(String),
    /// The branch does not follow this run's commit, or there is no such commit: nobody is to be waited for.
    Unrelated,
}

impl Forge {
    /// Returns the repository that flags, environment and the job name, or `None` where there is no token or no name.
    pub(super) fn open(run: &Run) -> Result<Option<Forge>, Failure> {
        let (Some(token), Some(url), Some(name)) =
            (run.gitea_token()?, &run.gitea_url, &run.repository)
        else {
            return Ok(None);
        };
        let config = gitea_config(run, url)?;
        let wait = config.retry.base;
        Ok(Some(Forge {
            repo: Repo::new(config, &token, name)?,
            wait,
            branch: run.branch(),
            path: path_in_repository(&run.file)?,
        }))
    }

    /// The same, with an error where there is none.
    pub(super) fn wanted(run: &Run, hint: &str) -> Result<Forge, Failure> {
        let missing = || Failure::error(Forge::not_configured(run)).hint(hint);
        Forge::open(run)?.ok_or_else(missing)
    }

    /// Says which settings are missing where [`Forge::open`] returns `None`.
    pub(super) fn not_configured(run: &Run) -> String {
        let has_no_token = matches!(run.gitea_token(), Ok(None));
        let missing = [
            run.gitea_url.is_none().then_some("GITEA_URL"),
            run.repository.is_none().then_some("GITEA_REPO"),
            has_no_token.then_some("GITEA_TOKEN"),
        ];
        let missing = joined(missing.into_iter().flatten(), ", ");
        format!("Gitea is not configured ({missing} not set)")
    }

    /// Where the comments of a pull request are kept, or issues.
    pub(super) fn board(&self, pull: Option<u64>) -> Board<'_> {
        let repo = &self.repo;
        Board { repo, pull }
    }

    /// The file's path in the repository.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The branch that is applied, where one is named.
    pub(super) fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// Returns whether a commit takes the place of one that was applied: it follows that one, or the branch was pushed by force
    /// and has it no more.
    pub(super) fn is_newer(&self, applied: &str, commit: &str) -> Result<bool, Failure> {
        match self.repo.is_descendant(commit, applied) {
            Ok(true) => Ok(true),
            Ok(false) => Ok(!self.repo.is_descendant(applied, commit)?),
            Err(error) if error.is_not_found() => Ok(true),
            // Gitea answers 500 of two commits that have no ancestor in common: the history was written anew
            Err(error) if error.status() == Some(500) => {
                self.repo.is_descendant(commit, commit).map_err(|_| error)?;
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn target(&self) -> Result<BranchFile<'_>> {
        let hint = "set --branch or GITEA_BRANCH to the branch that is applied, such as main";
        let branch = self.branch.as_deref();
        Ok(BranchFile {
            branch: branch.with_context(|| format!("no branch is named\nhint: {hint}"))?,
            path: &self.path,
        })
    }

    fn file(&self, reference: &str) -> Result<ForgeFile, GiteaError> {
        let file = self.repo.file(reference, &self.path, MAX_BYTES as u64);
        file.map_err(|error| self.repo.what_is_missing(error, reference, &self.path))
    }

    /// Reads the file at the branch's tip.
    pub(super) fn source(&self) -> Result<Source, Failure> {
        let BranchFile { branch, path } = self.target()?;
        let file = self.file(branch);
        let file = file.map_err(|error| of_gitea(&self.repo, error))?;
        let name = format!("{path} on {branch}");
        Ok(Source::from_bytes(name, file.bytes)?)
    }

    /// Checks that the branch still has this file, but for `enrolled` flags of other keys than those that the run is to make: a stale
    /// apply must not win.
    pub(super) fn fresh(&self, ours: &[u8], makes: &BTreeSet<&str>) -> Result<()> {
        let BranchFile { branch, path } = self.target()?;
        let stale = |text: String, is_gone| Err(Stale { text, is_gone }.into());
        match self.file(branch) {
            Ok(file) if content_differs_but_for_enrolled(ours, &file.bytes) => {
                let text = format!("{branch} has another {path} by now, so this apply is stale");
                stale(text, false)
            }
            Ok(file) => {
                let marked = marked_since(ours, &file.bytes);
                let mut marked = marked.iter().filter(|name| makes.contains(name.as_str()));
                marked.next().map_or(Ok(()), |name| {
                    let name = quote(name);
                    let what = format!("{branch} says that setup key {name} was used by now");
                    stale(format!("{what}, so this apply is stale"), false)
                })
            }
            Err(error) if error.trouble == (Trouble::Missing { is_file: true }) => {
                let text = format!("{branch} has no {path} any more, so this apply is stale");
                stale(text, true)
            }
            Err(error) => {
                let text = "it is not known whether this file is still the one to apply";
                Err(anyhow::Error::new(error).context(text))
            }
        }
    }

    /// Returns who applies what the branch has now, for a run whose own file is another one: a newer run of the same
    /// workflow whose commit has the branch's file. The server makes the run of a push a moment after it, so where none is
    /// seen it is looked for again, after a wait that doubles each time.
    pub(super) fn successor(&self, context: &Context) -> Result<Successor, Failure> {
        let branch = self.target()?.branch;
        let Some(commit) = &context.sha else {
            return Ok(Successor::Unrelated);
        };
        let tip = self.repo.tip(branch)?;
        match self.repo.is_descendant(&tip, commit) {
            Ok(true) => {}
            Ok(false) => return Ok(Successor::Unrelated),
            Err(error) if error.is_not_found() => return Ok(Successor::Unrelated),
            Err(error) => return Err(error.into()),
        }
        let nobody = Ok(Successor::Nobody(short_commit(&tip).to_owned()));
        let Some(id) = context.run_id else {
            return nobody;
        };
        let file = self.file(branch)?;
        for look in 0..LOOKS {
            if look > 0 {
                super::signals::wait(self.wait * 2u32.pow(look - 1));
            }
            let runs = match self.repo.newer_runs(branch, id) {
                Ok(runs) => runs,
                // an older server has no such list, and not every token may read it
                Err(error) => {
                    log::warn!("whether a newer run is at work is not known: {error}");
                    return nobody;
                }
            };
            for run in runs {
                let has_it = run.head_sha == tip
                    || match self.file(&run.head_sha) {
                        Ok(theirs) => !content_differs_but_for_enrolled(&theirs.bytes, &file.bytes),
                        Err(error) if error.is_not_found() => false,
                        Err(error) => return Err(error.into()),
                    };
                if has_it {
                    return Ok(Successor::Run(short_commit(&run.head_sha).to_owned()));
                }
            }
        }
        nobody
    }

    /// Commits `enrolled: true` for these keys, or proposes it.
    pub(super) fn mark(
        &self,
        names: &BTreeSet<String>,
        via_pr: bool,
        environment: &str,
    ) -> Result<Marked, Failure> {
        let marking = Marking {
            repo: &self.repo,
            at: self.target()?,
            environment,
            names,
            patience: self.repo.patience(),
        };
        let marked = match via_pr {
            true => marking.propose(),
            false => marking.commit(),
        };
        marked.map_err(|error| Failure::from(error).aside(old_gitea(&self.repo)))
    }
}

/// The file's path in the repository: below the checkout's root, or as it was given where there is no checkout.
pub(super) fn path_in_repository(file: &Path) -> Result<String, Failure> {
    if let Ok(Opened::Checkout(git)) = Git::around(file) {
        return Ok(git.locate(file)?.as_str().to_owned());
    }
    if let Some(given) = file.to_str().filter(|_| file.is_relative()) {
        return Ok(given.trim_start_matches("./").to_owned());
    }
    let file = file.display();
    let text = format!("{file} is not in a checkout, so its path in the repository is not known");
    let hint = "run in a checkout, or give the file's path in the repository with --file";
    Err(Failure::error(text).hint(hint))
}
