//! What tells that a peer came by a setup key.

/// What tells that a peer came by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The event log.
    Event,
    /// The times of key and peer.
    Time,
    /// Their times, which fit others too, and the peer's name.
    Name,
}

impl Evidence {
    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Evidence::Event => "event",
            Evidence::Time => "time",
            Evidence::Name => "name",
        }
    }

    /// Returns what is to be said of it, behind what it is said of: nothing where the event log tells. That it does not may
    /// mean that it forgot the event, or that nobody needed to ask it.
    pub fn said(self) -> Option<&'static str> {
        match self {
            Evidence::Event => None,
            Evidence::Time => Some("told by the times of key and peer, not by an event"),
            Evidence::Name => Some("told by names and the times of key and peer, not by an event"),
        }
    }
}
