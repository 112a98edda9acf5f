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

    /// Returns what is to be said of it, behind what it is said of: nothing where the event log tells.
    pub fn said(self) -> Option<&'static str> {
        match self {
            Evidence::Event => None,
            Evidence::Time => Some("told by the times of key and peer, since the event is gone"),
            Evidence::Name => {
                Some("told by names and the times of key and peer, since the event is gone")
            }
        }
    }
}
