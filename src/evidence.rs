//! What tells that a peer came by a setup key.

/// What tells that a peer came by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// The event log says so.
    Event,
    /// The times of key and peer fit, and fit nobody else.
    Time,
    /// Their times fit several, and of those it alone bears the key's name; or it is the one that then is left.
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
