//! What a run says while it writes: progress on stderr, sealed keys into a job's log, and the report on disk.

use std::path::PathBuf;

use super::stop::Stop;
use super::write_report;
use crate::apply::{Applied, Observer};
use crate::change::Change;
use crate::ci::Context;
use crate::logging::Say;
use crate::render::{Document, Status, json};
use crate::text::visible;

/// Says on stderr what happens, and keeps the report current, so that a killed run leaves it.
pub(super) struct Aloud {
    say: Say,
    in_job: bool,
    report: Option<(PathBuf, Document)>,
}

impl Aloud {
    pub(super) fn new(say: Say) -> Self {
        Aloud {
            say,
            in_job: Context::of_process().is_ci,
            report: None,
        }
    }

    pub(super) fn reporting(
        say: Say,
        path: Option<&PathBuf>,
        document: &Document,
    ) -> Result<Self, Stop> {
        let mut aloud = Aloud {
            report: path.map(|path| (path.clone(), document.clone())),
            ..Aloud::new(say)
        };
        if let Some((path, document)) = &mut aloud.report {
            let changes = document.plan.as_ref().map_or(0, |plan| plan.changes.len());
            document.statuses = vec![Status::Pending; changes];
            write_report(path, &json::document(document, true)).map_err(|error| {
                Stop::error(format!(
                    "cannot write the report {}: {error}",
                    path.display()
                ))
            })?;
        }
        Ok(aloud)
    }
}

impl Observer for Aloud {
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
        if let Some((path, document)) = &mut self.report {
            document.statuses.clone_from(&applied.statuses);
            document.durations_ms.clone_from(&applied.durations_ms);
            document.created_keys.clone_from(&applied.created_keys);
            if let Err(error) = write_report(path, &json::document(document, true)) {
                log::warn!("cannot write the report {}: {error}", path.display());
            }
        }
    }
}
