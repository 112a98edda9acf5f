//! Where somebody can have agreed to deletions: commits' messages, pull requests' descriptions, `--allow-deletes`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::{Failure, Forge, History, Run, Session};
use crate::base::visible;
use crate::forge::gitea::{MayWrite, Pull, Repo};
use crate::git::{Git, Message, Sha};
use crate::plan::agreement::{Brought, Origin, Said, SaidIn, Untold, Void, text_allow_deletes};
use crate::plan::{AllowDeletes, Judgement, Ours, Statements};

/// How far the pull request that brought a commit is looked for, in first-parent commits.
const FARTHEST: usize = 50;

/// Reads `--allow-deletes`: in a job `N DIGEST`, several of them with commas or one a line; at a terminal a number, too. The pull
/// request of a job brings what its merge would take away.
pub(super) fn asked(run: &Run) -> Result<Statements, Failure> {
    let (context, planning) = (&run.context, run.command.planning());
    let text = planning.and_then(|planning| planning.gates.allow_deletes.as_deref());
    let mut statements = Statements {
        environment: run.environment.clone(),
        ..Statements::default()
    };
    let pull = context.pull_request.as_ref();
    statements.pulls.extend(pull.map(|pull| Brought {
        number: pull.number,
        is_fork: pull.is_fork,
        is_proposed: true,
        commits: BTreeSet::new(),
    }));
    let by = match &context.actor {
        Some(actor) if context.is_ci => format!("{}, by --allow-deletes", visible(actor)),
        _ => "--allow-deletes".to_owned(),
    };
    let parts = text.unwrap_or_default().split([',', '\n']).map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        // the whole line, as it is printed, is as good
        let line = text_allow_deletes(part).into_iter().next();
        let line = line.map(|(line, _)| line);
        let (what, hint) = match line.or_else(|| AllowDeletes::parse(part)) {
            Some(line) if line.digest.is_some() => {
                let (by, place, void) = (by.clone(), SaidIn::Run, None);
                statements.lines.push(Said {
                    line,
                    by,
                    place,
                    void,
                });
                continue;
            }
            Some(line) if !context.is_ci => {
                statements.number = Some((line.number, by.clone()));
                continue;
            }
            Some(_) => {
                let hint = "in a job write \"N DIGEST\", as the plan prints it: nobody checks the number again";
                ("is only a number", hint)
            }
            None => {
                let hint = "write a number of deletions, or \"N DIGEST\" as the plan prints it";
                ("is not an agreement", hint)
            }
        };
        let error = format!("--allow-deletes {:?} {what}", visible(part));
        return Err(Failure::error(error).hint(hint));
    }
    Ok(statements)
}

impl Session<'_> {
    /// Adds the lines in the messages of the commits since the last apply, which [`by_writers`](Self::by_writers) looks at. Where
    /// something has a cause that was applied before, those from there on count, too.
    pub(super) fn in_messages(&mut self) -> Result<()> {
        let (statements, ours) = (&mut self.statements, &self.options.ours);
        let Some((git, tip)) = checkout(&self.history) else {
            return Ok(());
        };
        let mut messages = git.messages(&start(git, tip, ours), tip)?;
        messages.reverse();
        for (at, message) in messages.into_iter().enumerate() {
            let (author, commit) = (visible(&message.author), message.commit.short());
            let by = format!("{author}, in commit {commit}");
            let void = Some(Void::Untold(Untold::NotAsked));
            add(statements, SaidIn::Message(at), &message.text, &by, void);
            statements.commits.push(message.commit.to_string());
        }
        let place = |id: &str| statements.commits.iter().position(|commit| commit == id);
        let applied = ours.inventory.applied_commit.as_deref();
        let last = statements.commits.len().saturating_sub(1);
        let first = match ours.versions.commits().last() {
            Some(newest) => place(newest.as_str()),
            // that of a tip that is applied counts as well
            None => applied.and_then(place).map(|at| (at + 1).min(last)),
        };
        statements.first_for_unknown = first.unwrap_or_default();
        Ok(())
    }

    /// Lets the lines of messages count that somebody wrote who may write. What a pull request brought can be its author's words,
    /// however it was merged: a squash takes its description, a rebase its commits. What else is on the branch somebody pushed
    /// there. Where there is no forge to ask, a person at a terminal has to know.
    pub(super) fn by_writers(&mut self, forge: Option<&Forge>) -> Result<()> {
        let (statements, ours) = (&mut self.statements, &self.options.ours);
        let mut search = match (forge, checkout(&self.history)) {
            (Some(forge), Some((git, tip))) => Some(Search::new(forge, git, tip, ours)?),
            _ => None,
        };
        let number = statements.commits.len();
        for said in &mut statements.lines {
            let SaidIn::Message(at) = said.place else {
                continue;
            };
            if said.void == Some(Void::Untold(Untold::NotAsked)) {
                match &mut search {
                    Some(search) => said.void = search.void(number - 1 - at)?,
                    None if !self.run.context.is_ci => said.void = None,
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Adds the lines of the description of this job's pull request: as it is now where Gitea can be asked, else as it was when
    /// the job began.
    pub(super) fn in_this_description(&mut self, forge: Option<&Forge>) -> Result<()> {
        let Some(pull) = &self.run.context.pull_request else {
            return Ok(());
        };
        if let Some(forge) = forge {
            let pull = forge.repo.pull(pull.number)?;
            return add_description(&mut self.statements, &forge.repo, &pull);
        }
        let void = match pull.is_fork {
            true => Void::Fork,
            false => Void::Untold(Untold::NotAsked),
        };
        let by = format!("the description of pull request #{}", pull.number);
        let (place, text) = (SaidIn::Description(pull.number), pull.body.as_deref());
        let (statements, text) = (&mut self.statements, text.unwrap_or_default());
        add(statements, place, text, &by, Some(void));
        Ok(())
    }

    /// Finds the pull requests that brought the commits of an outcome, and adds the lines of their descriptions. For what no known
    /// change took out that is the one that brought the newest change of the file, or the tip.
    pub(super) fn in_descriptions(&mut self, forge: &Forge, outcome: &Judgement) -> Result<()> {
        let (statements, ours) = (&mut self.statements, &self.options.ours);
        let unsaid = outcome.agreements.iter().filter(|it| it.is_unsaid());
        let causes: BTreeSet<Option<&Origin>> = unsaid.map(|it| it.cause.as_ref()).collect();
        let mut commits = outcome.commits.clone();
        if causes.contains(&None) {
            let newest = ours.versions.commits().last();
            commits.extend(newest.map(Sha::to_string));
            commits.extend(self.history.tip().map(Sha::to_string));
        }
        let mut found: Vec<(Pull, BTreeSet<String>)> = Vec::new();
        if let Some((git, tip)) = checkout(&self.history).filter(|_| !commits.is_empty()) {
            let mut search = Search::new(forge, git, tip, ours)?;
            for id in commits {
                if !found.iter().any(|(_, known)| known.contains(&id)) {
                    found.extend(search.bringer(&id)?);
                }
            }
        }
        for cause in causes.into_iter().flatten() {
            let Origin::Pull(number) = cause else {
                continue;
            };
            let is_known = statements.pulls.iter().any(|pull| pull.number == *number);
            if !is_known && !found.iter().any(|(pull, _)| pull.number == *number) {
                found.push((forge.repo.pull(*number)?, BTreeSet::new()));
            }
        }
        for (pull, commits) in found {
            statements.pulls.push(Brought {
                number: pull.number,
                is_fork: is_fork(&pull),
                is_proposed: false,
                commits,
            });
            add_description(statements, &forge.repo, &pull)?;
        }
        Ok(())
    }
}

fn checkout(history: &History) -> Option<(&Git, &Sha)> {
    let (git, _) = history.checkout()?;
    Some((git, history.tip()?))
}

/// Returns the commit from which on messages are read: the earliest of those that something is known of.
fn start(git: &Git, tip: &Sha, ours: &Ours) -> Sha {
    let inventory = &ours.inventory;
    let left = inventory.let_go.values().chain(inventory.gone.values());
    let known = left.filter_map(|left| left.cause.as_deref());
    let known = known.chain(inventory.applied_commit.as_deref());
    let first = ours.versions.commits().first().cloned();
    let known: BTreeSet<Sha> = known.filter_map(Sha::parse).chain(first).collect();
    known.into_iter().fold(tip.clone(), |start, commit| {
        // what the checkout lacks says nothing
        match git.is_ancestor(&commit, &start).unwrap_or(false) {
            true => commit,
            false => start,
        }
    })
}

/// Adds the lines of a text; `by` says who wrote it and where, `void` why they count for nothing.
fn add(statements: &mut Statements, place: SaidIn, text: &str, by: &str, void: Option<Void>) {
    for (line, is_plain) in text_allow_deletes(text) {
        let hidden = (!is_plain).then_some(Void::Hidden);
        statements.lines.push(Said {
            line,
            by: by.to_owned(),
            place,
            void: hidden.or_else(|| void.clone()),
        });
    }
}

/// Adds the lines of a description. Whoever opened the pull request can change it for ever (docs/gitea-api.md, "Who agreed").
fn add_description(statements: &mut Statements, repo: &Repo, pull: &Pull) -> Result<()> {
    let void = match text_allow_deletes(&pull.body).is_empty() {
        true => None,
        false => void(repo, pull)?,
    };
    let place = format!("the description of pull request #{}", pull.number);
    let by = login(pull).map_or(place.clone(), |login| format!("{login}, in {place}"));
    let place = SaidIn::Description(pull.number);
    add(statements, place, &pull.body, &by, void);
    Ok(())
}

fn login(pull: &Pull) -> Option<String> {
    let author = pull.user.as_ref();
    author.map(|user| visible(&user.login).into_owned())
}

/// Returns why the words of a pull request count for nothing, if they do not: they count where its author may write, and the
/// branch is of this repository.
fn void(repo: &Repo, pull: &Pull) -> Result<Option<Void>> {
    let may_write = match &pull.user {
        _ if is_fork(pull) => return Ok(Some(Void::Fork)),
        Some(user) => repo.may_write(user)?,
        None => MayWrite::No,
    };
    Ok(match may_write {
        MayWrite::Yes => None,
        MayWrite::No => Some(Void::Author(login(pull))),
        MayWrite::Untold => Some(Void::Untold(Untold::Teams)),
        MayWrite::OthersEdit => Some(Void::Untold(Untold::Editors)),
    })
}

fn is_fork(pull: &Pull) -> bool {
    pull.head.repo_id != pull.base.repo_id
}

/// The first-parent line, newest first, and what is known of its commits.
struct Search<'a> {
    repo: &'a Repo,
    git: &'a Git,
    line: Vec<Message>,
    known: BTreeMap<usize, Option<Pull>>,
}

impl<'a> Search<'a> {
    fn new(forge: &'a Forge, git: &'a Git, tip: &Sha, ours: &Ours) -> Result<Self> {
        Ok(Search {
            repo: &forge.repo,
            git,
            line: git.messages(&start(git, tip, ours), tip)?,
            known: BTreeMap::new(),
        })
    }

    /// The pull request that was merged as the commit at that place of the line.
    fn merged_as(&mut self, at: usize) -> Result<Option<Pull>> {
        if let Some(known) = self.known.get(&at) {
            return Ok(known.clone());
        }
        let pull = self.repo.pull_merged_as(self.line[at].commit.as_str())?;
        self.known.insert(at, pull.clone());
        Ok(pull)
    }

    /// Whether a pull request that was merged as `merged` can have brought the commit `at` before it: what its branch did not
    /// begin at. `None` where the checkout lacks the commits that tell.
    fn can_bring(&self, pull: &Pull, merged: usize, at: usize) -> Option<bool> {
        if merged == at {
            return Some(true);
        }
        let base = Sha::parse(&pull.merge_base)?;
        Some(!self.git.is_ancestor(&self.line[at].commit, &base).ok()?)
    }

    /// Whether it did: a merge commit brings nothing else to the line, unless the branch was moved to it. Its author can move
    /// the head later, so this says whose deletions they are, and not who agreed.
    fn brings(&self, pull: &Pull, merged: usize, at: usize) -> Option<bool> {
        let merge = &self.line[merged];
        let is_merge = merge.parents > 1 && pull.head.sha != merge.commit.as_str();
        match is_merge && merged != at {
            true => Some(false),
            false => self.can_bring(pull, merged, at),
        }
    }

    /// The pull request that was merged as the commit at that place or as the next one behind it, and where.
    fn nearest(&mut self, at: usize) -> Result<Option<(usize, Pull)>> {
        for merged in (at.saturating_sub(FARTHEST)..=at).rev() {
            if let Some(pull) = self.merged_as(merged)? {
                return Ok(Some((merged, pull)));
            }
        }
        Ok(None)
    }

    /// Returns why the message of the commit at that place counts for nothing, if it does not.
    fn void(&mut self, at: usize) -> Result<Option<Void>> {
        match self.nearest(at)? {
            Some((merged, pull)) if self.can_bring(&pull, merged, at) != Some(false) => {
                void(self.repo, &pull)
            }
            None if at > FARTHEST => Ok(Some(Void::Untold(Untold::Bringer))),
            _ => Ok(None),
        }
    }

    /// Returns the pull request that brought a commit, and all commits that it brought: after a rebase or a fast-forward the
    /// server knows its last commit alone.
    fn bringer(&mut self, commit: &str) -> Result<Option<(Pull, BTreeSet<String>)>> {
        let mut line = self.line.iter();
        let Some(at) = line.position(|entry| entry.commit.as_str() == commit) else {
            return Ok(None);
        };
        let Some((merged, pull)) = self.nearest(at)? else {
            return Ok(None);
        };
        if self.brings(&pull, merged, at) != Some(true) {
            return Ok(None);
        }
        let mut oldest = at;
        while oldest + 1 < self.line.len()
            && oldest - merged < FARTHEST
            && self.brings(&pull, merged, oldest + 1) == Some(true)
            && self.merged_as(oldest + 1)?.is_none()
        {
            oldest += 1;
        }
        let brought = self.line[merged..=oldest].iter();
        let brought = brought.map(|entry| entry.commit.to_string());
        Ok(Some((pull, brought.collect())))
    }
}
