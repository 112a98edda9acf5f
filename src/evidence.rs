//! What tells that a peer came by a setup key.

/// What tells that a peer came by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
}
