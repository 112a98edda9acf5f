//! STUB
use crate::state::Kind;
/// x
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// x
    Since(i64),
    /// x
    New,
    /// x
    Unknown,
}
/// x
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// x
    Ours,
    /// x
    Older,
    /// x
    Newer,
    /// x
    Never,
    /// x
    NoTime,
}
/// x
#[derive(Debug, Clone, Default)]
pub struct Ledger;
impl Ledger {
    /// x
    pub fn is_known(&self) -> bool {
        false
    }
    /// x
    pub fn proof(&self, _: Kind, _: &str, _: Option<i64>) -> Proof {
        Proof::Never
    }
    /// x
    pub fn listing(&self, _: &str, _: &str) -> Listing {
        Listing::Unknown
    }
    /// x
    pub fn listed_once(&self, _: &str, _: &str) -> bool {
        false
    }
    /// x
    pub fn declared_once(&self, _: Kind, _: &str) -> bool {
        false
    }
    /// x
    pub fn is_new(&self, _: Kind, _: &str) -> bool {
        false
    }
}
