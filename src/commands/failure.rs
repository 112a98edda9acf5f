//! Why a run stops before it did anything.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::Exit;
use crate::apply::NotRecorded;
use crate::base::file_error;
use crate::file::{Finding, Findings, SourceError, SourceFault};
use crate::git::GitError;
use crate::secret::RecipientErrors;
use crate::wire::http::HttpError;

/// An exit code, and the words for stderr.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) error: String,
    pub(super) hint: Option<String>,
    /// Problems of the file: line, column, message.
    pub(super) problems: Vec<(usize, usize, String)>,
    /// The environment is that of another file, and so are its comments.
    pub(super) is_of_other_file: bool,
}

impl Failure {
    fn new(exit: Exit, error: impl Into<String>) -> Self {
        Failure {
            exit,
            error: error.into(),
            hint: None,
            problems: Vec::new(),
            is_of_other_file: false,
        }
    }

    /// An error: exit code 1.
    pub(super) fn error(error: impl Into<String>) -> Self {
        Failure::new(Exit::Error, error)
    }

    /// A file that cannot be used; `what` was to be done to it, as in "read".
    pub(super) fn of_file(what: &str, path: &Path, error: &io::Error) -> Self {
        let (path, why) = (path.display(), file_error(error));
        Failure::error(format!("cannot {what} {path}: {why}"))
    }

    /// A refusal of a gate: exit code 3.
    pub(super) fn refused(error: impl Into<String>) -> Self {
        Failure::new(Exit::Refused, error)
    }

    /// A run that did a part of its work, or not all that it checks: exit code 4.
    pub(super) fn partial(error: impl Into<String>) -> Self {
        Failure::new(Exit::Partial, error)
    }

    /// Says something beside what to do, if there is something.
    pub(super) fn aside(mut self, more: Option<String>) -> Self {
        let hints = [self.hint, more].into_iter().flatten();
        self.hint = hints.reduce(|hint, more| format!("{hint}\n{more}"));
        self
    }

    /// The same behind words that say what was to be done.
    pub(super) fn within(self, what: &str) -> Self {
        let error = format!("{what}: {}", self.error);
        Failure { error, ..self }
    }

    /// The same with another one behind it, whose exit code counts.
    pub(super) fn and(self, mut more: Failure) -> Self {
        more.error = format!("{}\n{}", self.error, more.error);
        let hint = std::mem::replace(&mut more.hint, self.hint);
        let is_new = hint != more.hint;
        more.aside(hint.filter(|_| is_new))
    }

    /// What a program reads of it.
    pub(super) fn json(&self) -> Value {
        json!({ "message": self.error, "hint": self.hint })
    }

    /// Says what to do about it.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<NotRecorded> for Failure {
    fn from(NotRecorded { why, hint }: NotRecorded) -> Self {
        let text = format!(
            "this run cannot write the inventory ({why}), so later runs would not know what it creates. Nothing was changed."
        );
        Failure::refused(text).aside(hint)
    }
}

impl From<Failure> for NotRecorded {
    fn from(Failure { error, hint, .. }: Failure) -> Self {
        NotRecorded { why: error, hint }
    }
}

/// Errors that say by themselves what there is to say.
macro_rules! from {
    ($($error:ty)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                anyhow::Error::new(error).into()
            }
        }
    )*};
}

from!(HttpError GitError RecipientErrors SourceError Findings);

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let text = format!("{error:#}");
        let http = error.downcast_ref::<HttpError>();
        let git = error.downcast_ref::<GitError>();
        let source = error.downcast_ref::<SourceError>();
        // a file that large is not a network: see docs/gates.md
        let refused = http.is_some_and(HttpError::is_url_refused)
            || git.is_some_and(GitError::is_too_big)
            || source.is_some_and(|error| error.fault == SourceFault::TooBig);
        let exit = if refused { Exit::Refused } else { Exit::Error };
        let hint = http.and_then(HttpError::hint);
        // the modules for files say their hint on a line of its own
        let (text, hint) = match text.split_once("\nhint: ") {
            Some((text, hint)) => (text.to_owned(), Some(hint.to_owned())),
            None => (text, hint),
        };
        let problems = error.downcast_ref().into_iter().flat_map(Findings::errors);
        let place = |of: &Finding| (of.place.line, of.place.column, of.message.clone());
        let mut failure = Failure::new(exit, text.trim_end()).aside(hint);
        failure.problems = problems.map(place).collect();
        failure
    }
}
