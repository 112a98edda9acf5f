//! What a run says while it writes: progress on stderr, sealed keys into a job's log, and the report on disk.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::logging::Moving;
use super::{Result, Run, publish, write_report};
use crate::apply::{Applied, Observer, StepOutcome};
use crate::base::{count, visible};
use crate::forge::ci::Runner;
use crate::model::Change;
use crate::render::{Document, Status, json};

/// Most steps whose lines stand open in a log that can fold them.
const UNFOLDED: usize = 10;

/// Says on stderr what happens, and keeps the report current, so that a killed run leaves it.
///
/// At a terminal a line that moves says what is under way, and a line that stays what did not go as planned. Elsewhere each step
/// is a line; many of them are folded where a job's log can do that, but never what did not go as planned.
pub(super) struct Announcer<'a> {
    run: &'a Run<'a>,
    /// Whether lines are folded now.
    folded: bool,
    moving: Option<Moving>,
    /// What the run has done so far, where somebody is to read it.
    document: Option<Document>,
    /// Whether a comment has it as soon as there are keys.
    comments: bool,
}

impl<'a> Announcer<'a> {
    /// Once `stop` is set, the line that moves stands still.
    pub(super) fn new(run: &'a Run<'a>, stop: &Arc<AtomicBool>) -> Self {
        Announcer {
            run,
            folded: false,
            moving: run.say.moving(stop),
            document: None,
            comments: false,
        }
    }

    /// Says what becomes of this document. With `comments` it is posted once the keys are made, and before anything else is.
    pub(super) fn reporting(mut self, of: &Document, comments: bool) -> Result<Self> {
        let changes = of.plan.as_ref().map_or(0, |plan| plan.changes.len());
        let statuses = vec![Status::Pending; changes];
        self.document = Some(Document {
            statuses,
            ..of.clone()
        });
        self.comments = comments;
        self.write()?;
        Ok(self)
    }

    /// Writes the report, where one is wanted.
    fn write(&self) -> Result<()> {
        match (&self.run.cli.global.report, &self.document) {
            (Some(path), Some(document)) => write_report(path, &json::document(document, true)),
            _ => Ok(()),
        }
    }

    /// Says that the writes are over and their result is looked at.
    pub(super) fn verifies(&mut self) {
        self.unfold();
        if let Some(moving) = &self.moving {
            moving.show("reading the account again".to_owned());
        }
    }

    /// Folds the lines that follow, where there are so many steps.
    fn fold(&mut self, total: usize) {
        // (docs/gitea-api.md, "Lines of a log")
        let folds = matches!(self.run.context.runner, Runner::Gitea | Runner::Other);
        if folds && !self.folded && total > UNFOLDED {
            let steps = count(total, "step", "steps");
            self.run.say.fold(&format!("::group::{steps}"));
            self.folded = true;
        }
    }

    /// What follows is for everybody to see.
    fn unfold(&mut self) {
        if std::mem::take(&mut self.folded) {
            self.run.say.fold("::endgroup::");
        }
    }

    fn note(&mut self, applied: &Applied) {
        if let Some(document) = &mut self.document {
            document.statuses.clone_from(&applied.statuses);
            document.durations_ms.clone_from(&applied.durations_ms);
            document.created_keys.clone_from(&applied.created_keys);
        }
    }
}

impl Observer for Announcer<'_> {
    fn begins(&mut self, number: usize, total: usize, change: &Change) {
        if let Some(moving) = &self.moving {
            let address = change.address.to_string();
            moving.show(format!("[{number}/{total}] {}", visible(&address)));
        }
    }

    fn step(&mut self, number: usize, total: usize, change: &Change, outcome: &StepOutcome) {
        match outcome.is_as_planned {
            // the result has it, too
            true if self.moving.is_some() => return,
            true => self.fold(total),
            false => self.unfold(),
        }
        let text = format!("{}: {}", change.address, outcome.text);
        self.run
            .say
            .progress(&format!("[{number}/{total}] {}", visible(&text)));
    }

    fn sealed(&mut self, name: &str, armored: &str) {
        // in a job disk and artifact can be lost; on a laptop the file is enough
        if self.run.context.is_ci {
            self.unfold();
            self.run.say.sealed(name, armored);
        }
    }

    fn say(&mut self, text: &str) {
        self.unfold();
        self.run.say.note(&visible(text));
    }

    fn state(&mut self, applied: &Applied) {
        if self.run.cli.global.report.is_none() {
            return;
        }
        self.note(applied);
        if let Err(failure) = self.write() {
            self.unfold();
            log::warn!("{}", failure.error);
        }
    }

    fn keys_made(&mut self, applied: &Applied) {
        if self.comments && !applied.created_keys.is_empty() {
            self.note(applied);
            self.unfold();
            let document = self.document.iter();
            document.for_each(|document| publish::under_way(self.run, document));
        }
    }
}

impl Drop for Announcer<'_> {
    fn drop(&mut self) {
        self.unfold();
    }
}
