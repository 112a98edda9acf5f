//! Why a run stops before it did anything.

use crate::api::ApiError;
use crate::config::SourceError;
use crate::exit::Exit;

/// An exit code, and the words for stderr.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) exit: Exit,
    pub(super) error: String,
    pub(super) hint: Option<String>,
}

impl Stop {
    /// An error: exit code 1.
    pub(super) fn error(error: impl Into<String>) -> Self {
        Stop {
            exit: Exit::Error,
            error: error.into(),
            hint: None,
        }
    }

    /// A refusal of a gate: exit code 3.
    pub(super) fn refused(error: impl Into<String>) -> Self {
        Stop {
            exit: Exit::Refused,
            ..Stop::error(error)
        }
    }

    /// Says what to do about it.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<SourceError> for Stop {
    fn from(error: SourceError) -> Self {
        let stop = match error {
            // a file that large is no network: the gate of design §5
            SourceError::TooBig { .. } => Stop::refused(error.message()),
            _ => Stop::error(error.message()),
        };
        stop.hint(error.hint())
    }
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        let exit = if error.is_url_refused() {
            Exit::Refused
        } else {
            Exit::Error
        };
        Stop {
            exit,
            error: error.to_string(),
            hint: error.hint(),
        }
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        let api = error.downcast_ref::<ApiError>();
        let refused = api.is_some_and(ApiError::is_url_refused);
        let exit = if refused { Exit::Refused } else { Exit::Error };
        let hint = api.and_then(ApiError::hint);
        let text = format!("{error:#}");
        // the modules for files say their hint on a line of its own
        match text.split_once("\nhint: ") {
            Some((text, hint)) => Stop {
                exit,
                error: text.into(),
                hint: Some(hint.into()),
            },
            None => Stop {
                exit,
                error: text,
                hint,
            },
        }
    }
}
