//! Why a value will not do.

use std::net::IpAddr;

use super::{Cursor, Finding, Log, Place};

/// Why a value will not do, and what might.
pub(crate) struct Flaw {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Flaw {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Flaw {
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Flaw {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// Says how to write several where several are written and nothing else is known.
    pub(crate) fn or_several(self, text: &str, several: &str) -> Self {
        let is_range = || {
            let address = |text: &str| text.trim().parse::<IpAddr>().is_ok();
            text.split_once('-').is_some_and(|(from, to)| {
                address(from) && (address(to) || to.parse::<u8>().is_ok())
            })
        };
        let is_several = text.contains([',', ';']) || is_range();
        let hint = is_several.then(|| several.to_owned());
        Flaw {
            hint: hint.or(self.hint),
            ..self
        }
    }

    pub(crate) fn report(self, place: Place, log: &mut Log) -> &mut Finding {
        let problem = log.error(place, self.message);
        problem.suggest(self.hint);
        problem
    }
}

impl Cursor<'_> {
    /// Returns what was made of the value, or notes why it will not do.
    pub(crate) fn checked<T>(&self, found: Result<T, Flaw>, log: &mut Log) -> Option<T> {
        match found {
            Err(_) if log.only_counts() => None,
            found => found.map_err(|flaw| flaw.report(self.place(), log)).ok(),
        }
    }
}
