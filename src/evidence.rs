//! What tells that a peer came by a setup key.

use serde::Serialize;

/// What tells that a peer came by a key; in JSON its name in small letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The event log.
    Event,
    /// The times of key and peer.
    Time,
    /// Their times, which fit others too, and the peer's name.
    Name,
}
