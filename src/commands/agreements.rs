//! Where somebody can have agreed to deletions: commits' messages, pull requests' descriptions, `--allow-deletes`.

use std::collections::BTreeMap;

use anyhow::Result;

use super::failure::Failure;
use super::forge::Forge;
use super::history::History;
use crate::agreement::{Brought, Said, Statements, Void};
use crate::ci::Context;
use crate::git::{Git, Message, Sha};
use crate::gitea::{Pull, Repo};
use crate::ledger::{AllowDeletes, Cause, Ledger, text_allow_deletes};
use crate::text::visible;

/// How far the pull request that brought a commit is looked for, in first-parent commits.
const FARTHEST: usize = 50;

/// Reads `--allow-deletes`: in a job `N DIGEST`, several of them with commas or one a line; at a terminal a number, too.
pub(super) fn asked(text: Option<&str>, context: &Context) -> Result<Statements, Failure> {
    let mut statements = Statements::default();
    let by = match &context.actor {
        Some(actor) if context.is_ci => format!("{}, by --allow-deletes", visible(actor)),
        _ => "--allow-deletes".to_owned(),
    };
    let parts = text.unwrap_or_default().split([',', '\n']).map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        // the whole line, as it is printed, is as good
        let line = text_allow_deletes(part).into_iter().next();
        match line.or_else(|| AllowDeletes::parse(part)) {
            Some(line) if line.digest.is_some() => statements.lines.push(Said {
                line,
                by: by.clone(),
                first: Cause::Commit(0),
                last: Cause::Proposed,
                void: None,
            }),
            Some(line) if !context.is_ci => statements.number = Some((line.number, by.clone())),
            Some(line) => {
                let error = format!("--allow-deletes {} says a number alone", line.number);
                let hint = "in a job it takes \"N DIGEST\", as the plan prints it: nobody looks at the number again";
                return Err(Failure::error(error).hint(hint));
            }
            None => {
                let error = format!("--allow-deletes {:?} is no agreement", visible(part));
                let hint = "it takes a number of deletions, or \"N DIGEST\" as the plan prints it";
                return Err(Failure::error(error).hint(hint));
            }
        }
    }
    Ok(statements)
}

/// Adds the lines in the messages of the commits from the earliest of `causes` to the tip.
pub(super) fn in_messages(
    statements: &mut Statements,
    history: &History,
    causes: impl Iterator<Item = Cause>,
) -> Result<()> {
    let (Some((git, _)), Some(tip)) = (history.checkout(), history.ledger.tip()) else {
        return Ok(());
    };
    let ledger = &history.ledger;
    let newest = ledger.commits().len().checked_sub(1).map(Cause::Commit);
    let first = causes
        .chain(newest)
        .filter(|cause| *cause != Cause::Proposed)
        .min();
    let Some(Cause::Commit(first)) = first else {
        return Ok(());
    };
    let messages = git.messages(&ledger.commits()[first].sha, tip)?;
    let mut reached = first;
    for message in messages.iter().rev() {
        let places = ledger.commits().iter().skip(reached);
        if let Some(steps) = { places }.position(|commit| commit.sha == message.commit) {
            reached += steps;
        }
        let (author, commit) = (visible(&message.author), message.commit.short());
        let said = Described {
            by: format!("{author}, in commit {commit}"),
            text: message.text.clone(),
            void: None,
        };
        add(statements, said, Cause::Commit(0), Cause::Commit(reached));
    }
    Ok(())
}

/// The pull request of a job brings what its merge would take away.
pub(super) fn of_this_job(statements: &mut Statements, context: &Context) {
    statements
        .pulls
        .extend(context.pull_request.as_ref().map(|pull| Brought {
            number: pull.number,
            is_fork: pull.is_fork,
            first: Cause::Proposed,
            last: Cause::Proposed,
        }));
}

/// Adds the lines of the description of this job's pull request: as it is now where Gitea can be asked, else as it was when
/// the job began.
pub(super) fn in_this_description(
    statements: &mut Statements,
    context: &Context,
    forge: Option<&Forge>,
) -> Result<()> {
    let Some(pull) = &context.pull_request else {
        return Ok(());
    };
    let asked = match forge {
        Some(forge) => described(&forge.repo, forge.repo.pull(pull.number)?)?,
        None => Described {
            by: format!("the description of pull request #{}", pull.number),
            text: pull.body.clone().unwrap_or_default(),
            void: pull.is_fork.then_some(Void::Fork),
        },
    };
    add(statements, asked, Cause::Proposed, Cause::Proposed);
    Ok(())
}

/// Finds the pull requests that brought these commits, and adds the lines of their descriptions.
pub(super) fn in_descriptions(
    statements: &mut Statements,
    history: &History,
    forge: &Forge,
    causes: impl Iterator<Item = Cause>,
) -> Result<()> {
    let (Some((git, _)), Some(tip)) = (history.checkout(), history.ledger.tip()) else {
        return Ok(());
    };
    let mut places: Vec<usize> = causes
        .filter_map(|cause| match cause {
            Cause::Commit(place) => Some(place),
            Cause::Proposed => None,
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    let Some(first) = places.first() else {
        return Ok(());
    };
    let ledger = &history.ledger;
    // a pull request can have begun before
    let start = &ledger.commits()[first.saturating_sub(FARTHEST)].sha;
    let mut search = Search {
        repo: &forge.repo,
        git,
        line: git.messages(start, tip)?,
        known: BTreeMap::new(),
    };
    for place in places {
        let is_known = |pull: &Brought| (pull.first..=pull.last).contains(&Cause::Commit(place));
        if statements.pulls.iter().any(is_known) {
            continue;
        }
        let Some((pull, first, last)) = search.bringer(place, ledger)? else {
            continue;
        };
        let (first, last) = (Cause::Commit(first), Cause::Commit(last));
        statements.pulls.push(Brought {
            number: pull.number,
            is_fork: is_fork(&pull),
            first,
            last,
        });
        let described = described(&forge.repo, pull)?;
        add(statements, described, first, last);
    }
    Ok(())
}

/// What somebody wrote about a commit or a pull request.
struct Described {
    /// Who, and where.
    by: String,
    text: String,
    /// Why it counts for nothing.
    void: Option<Void>,
}

fn add(statements: &mut Statements, described: Described, first: Cause, last: Cause) {
    let Described { by, text, void } = described;
    let lines = text_allow_deletes(&text).into_iter();
    statements.lines.extend(lines.map(|line| Said {
        line,
        by: by.clone(),
        first,
        last,
        void: void.clone(),
    }));
}

/// Returns a description, and whether it counts: its author may write, and the branch is of this repository. Whoever
/// opened it can change it for ever (docs/gitea-api.md, "Who agreed").
fn described(repo: &Repo, pull: Pull) -> Result<Described> {
    let author = pull.user.as_ref();
    let login = author.map(|user| visible(&user.login).into_owned());
    let may_write = || -> Result<bool> {
        let writers = repo.writers()?;
        Ok(author.is_some_and(|user| writers.iter().any(|writer| writer.id == user.id)))
    };
    let void = if text_allow_deletes(&pull.body).is_empty() {
        None
    } else if is_fork(&pull) {
        Some(Void::Fork)
    } else if !may_write()? {
        Some(Void::Author(login.clone()))
    } else {
        None
    };
    let place = format!("the description of pull request #{}", pull.number);
    Ok(Described {
        by: login.map_or(place.clone(), |login| format!("{login}, in {place}")),
        text: pull.body,
        void,
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

impl Search<'_> {
    /// The pull request that was merged as the commit at that place of the line.
    fn merged_as(&mut self, at: usize) -> Result<Option<Pull>> {
        if let Some(known) = self.known.get(&at) {
            return Ok(known.clone());
        }
        let pull = self.repo.pull_merged_as(self.line[at].commit.as_str())?;
        self.known.insert(at, pull.clone());
        Ok(pull)
    }

    /// Whether a pull request that was merged as `merged` can have brought the commit `at` before it: a merge commit brings
    /// nothing else to the line, unless the branch was moved to it.
    fn brings(&self, pull: &Pull, merged: usize, at: usize) -> bool {
        let (merge, commit) = (&self.line[merged], &self.line[at].commit);
        let is_single = merge.parents < 2 || pull.head.sha == merge.commit.as_str();
        let base = Sha::parse(&pull.merge_base);
        // an answer about commits that the checkout lacks is none
        let is_before = |base: &Sha| self.git.is_ancestor(commit, base).unwrap_or(true);
        is_single && base.is_some_and(|base| !is_before(&base))
    }

    /// Returns the pull request that brought the commit of that place in the ledger, and the first and the last place that it
    /// brought: after a rebase or a fast-forward the server knows its last commit alone.
    fn bringer(&mut self, place: usize, ledger: &Ledger) -> Result<Option<(Pull, usize, usize)>> {
        let commits = ledger.commits();
        let mut line = self.line.iter();
        let Some(at) = line.position(|entry| entry.commit == commits[place].sha) else {
            return Ok(None);
        };
        let nearest = at.saturating_sub(FARTHEST);
        let mut merged = at;
        let pull = loop {
            match self.merged_as(merged)? {
                Some(pull) if merged == at || self.brings(&pull, merged, at) => break pull,
                Some(_) => return Ok(None),
                None if merged == nearest => return Ok(None),
                None => merged -= 1,
            }
        };
        let mut oldest = at;
        while oldest + 1 < self.line.len()
            && oldest - merged < FARTHEST
            && self.brings(&pull, merged, oldest + 1)
            && self.merged_as(oldest + 1)?.is_none()
        {
            oldest += 1;
        }
        let brought = |commit: &crate::ledger::Commit| {
            let brought = &self.line[merged..=oldest];
            brought.iter().any(|entry| entry.commit == commit.sha)
        };
        let places = commits
            .iter()
            .enumerate()
            .filter(|(_, commit)| brought(commit));
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        let first = places.first().copied().unwrap_or(place);
        Ok(Some((pull, first, places.last().copied().unwrap_or(place))))
    }
}
