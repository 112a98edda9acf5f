//! Exit codes: what a pipeline can decide on without reading a word.

use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Done, or nothing to do.
    Done = 0,
    /// An error, wrong usage too; nothing changed.
    Error = 1,
    /// Changes are pending (`plan --detailed-exitcode`), there is drift, or something is left to do (`init`).
    Pending = 2,
    /// Refused by a gate; nothing changed.
    Refused = 3,
    /// Stopped part way, or not converged.
    Partial = 4,
}

impl Exit {
    /// The word before the reason of an end without success.
    pub fn label(self) -> &'static str {
        match self {
            Exit::Refused => "refused",
            Exit::Done | Exit::Error | Exit::Pending | Exit::Partial => "error",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_a_contract() {
        let codes = [
            Exit::Done,
            Exit::Error,
            Exit::Pending,
            Exit::Refused,
            Exit::Partial,
        ];
        assert_eq!(codes.map(|exit| exit as u8), [0, 1, 2, 3, 4]);
    }
}
