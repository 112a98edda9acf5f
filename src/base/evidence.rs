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
    /// Their times fit several, and of those it alone bears the key's name; or it is the one that then is left.
    Name,
}
