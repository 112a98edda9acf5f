//! What tells that a peer came by a setup key.

use serde::{Deserialize, Serialize};

/// What tells that a peer came by a key; in JSON its name in small letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The event log says so.
    Event,
    /// The times of key and peer fit, and fit nobody else.
    Time,
    /// Their times fit several peers, and it is the only one of them with the key's name; or the others were given to other keys.
    Name,
}

impl Evidence {
    /// Returns what is to be said of it behind what it is said of: nothing where the event log tells. That it does not may mean
    /// that it forgot the event, or that nobody needed to ask it.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Evidence::Event => None,
            Evidence::Time => Some("only the times of key and peer say so, not the event log"),
            Evidence::Name => {
                Some("only names and the times of key and peer say so, not the event log")
            }
        }
    }

    /// Returns the same behind a mark, if there is something to be said.
    pub fn behind(self, mark: &str) -> String {
        let words = self.words().map(|words| format!("{mark}{words}"));
        words.unwrap_or_default()
    }
}
