//! What a run says while it writes: progress on stderr, sealed keys into a job's log, and the report on disk.

use std::path::PathBuf;

use super::failure::Failure;
use super::write_report;
use crate::apply::{Applied, Observer};
use crate::change::Change;
use crate::ci::Context;
use crate::logging::Say;
use crate::render::{Document, Status, json};
use crate::text::visible;

/// Shows a document in a place that outlives the run.
pub(super) type Publish<'a> = Box<dyn Fn(&Document) + 'a>;

/// Says on stderr what happens, and keeps the report current, so that a killed run leaves it.
pub(super) struct Announcer<'a> {
    say: Say,
    in_job: bool,
    /// What the run has come to.
    document: Document,
    report: Option<PathBuf>,
    publish: Option<Publish<'a>>,
}

impl<'a> Announcer<'a> {
    pub(super) fn new(say: Say) -> Self {
        Announcer {
            say,
            in_job: Context::of_process().is_ci,
            document: Document::default(),
            report: None,
            publish: None,
        }
    }

    /// Says what becomes of this document. `publish` gets it once the keys are made, and before anything else is.
    pub(super) fn reporting(
        say: Say,
        path: Option<&PathBuf>,
        document: &Document,
        publish: Option<Publish<'a>>,
    ) -> Result<Self, Failure> {
        let mut announcer = Announcer {
            document: document.clone(),
            report: path.cloned(),
            publish,
            ..Announcer::new(say)
        };
        let changes = document.plan.as_ref().map_or(0, |plan| plan.changes.len());
        announcer.document.statuses = vec![Status::Pending; changes];
        if let Some(path) = &announcer.report {
            write_report(path, &json::document(&announcer.document, true))?;
        }
        Ok(announcer)
    }

    fn note(&mut self, applied: &Applied) {
        self.document.statuses.clone_from(&applied.statuses);
        self.document.durations_ms.clone_from(&applied.durations_ms);
        self.document.created_keys.clone_from(&applied.created_keys);
    }
}

impl Observer for Announcer<'_> {
    fn step(&mut self, number: usize, total: usize, change: &Change, outcome: &str) {
        let address = change.address.to_string();
        self.say.progress(&format!(
            "[{number}/{total}] {}: {}",
            visible(&address),
            visible(outcome)
        ));
    }

    fn sealed(&mut self, name: &str, armored: &str) {
        // in a job disk and artifact can be lost; on a laptop the file is enough
        if self.in_job {
            self.say.sealed(name, armored);
        }
    }

    fn say(&mut self, text: &str) {
        self.say.note(&visible(text));
    }

    fn state(&mut self, applied: &Applied) {
        if self.report.is_none() {
            return;
        }
        self.note(applied);
        if let Some(path) = &self.report
            && let Err(failure) = write_report(path, &json::document(&self.document, true))
        {
            log::warn!("{}", failure.error);
        }
    }

    fn keys_made(&mut self, applied: &Applied) {
        if self.publish.is_none() || applied.created_keys.is_empty() {
            return;
        }
        self.note(applied);
        if let Some(publish) = &self.publish {
            publish(&self.document);
        }
    }
}
