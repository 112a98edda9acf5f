//! What a setting moves: machines that get another address or another name by it.

use crate::base::text::count;

/// What changes of machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moves {
    /// The domain of their names.
    Names,
    /// Their IPv4 addresses.
    Addresses,
    /// Their IPv6 addresses.
    AddressesV6,
    /// Whether they have an IPv6 address.
    HavingV6,
}

/// A field of a change, and the machines that it moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The field.
    pub field: String,
    /// Its new value, as JSON.
    pub value: String,
    /// What becomes otherwise.
    pub what: Moves,
    /// Of how many machines; at least one.
    pub machines: usize,
}

impl std::fmt::Display for Moved {
    /// `3 machines get another IPv4 address (network_range)`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let machines = count(self.machines, "machine", "machines");
        let (one, several) = match self.what {
            Moves::Names => ("gets another domain", "get another domain"),
            Moves::Addresses => ("gets another IPv4 address", "get another IPv4 address"),
            Moves::AddressesV6 => ("gets another IPv6 address", "get another IPv6 address"),
            Moves::HavingV6 => (
                "gets or loses its IPv6 address",
                "get or lose their IPv6 addresses",
            ),
        };
        let verb = if self.machines == 1 { one } else { several };
        write!(f, "{machines} {verb} ({})", self.field)
    }
}
