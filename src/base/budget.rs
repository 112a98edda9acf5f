//! How much of a server's answers is held at a time: one bound for all of them together, counted as they come, whatever the
//! server says of their length. What is dropped is given back.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an entry of a list costs beside its text, in bytes, however short that is: what is read of it, its places in maps.
pub const ENTRY: u64 = 512;

/// A bound, and what of it is used.
#[derive(Debug)]
pub struct Budget {
    most: u64,
    held: AtomicU64,
}

/// What an answer uses of a budget, until it is dropped.
#[derive(Debug, Default)]
pub struct Share {
    /// None for what no server sent.
    budget: Option<Arc<Budget>>,
    held: u64,
}

/// The budget is used up; its bound in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedUp(pub u64);

impl Budget {
    /// A bound in bytes.
    pub fn new(most: u64) -> Arc<Self> {
        let held = AtomicU64::new(0);
        Arc::new(Budget { most, held })
    }

    /// A share that is empty.
    pub fn share(self: &Arc<Self>) -> Share {
        let budget = Some(self.clone());
        Share { budget, held: 0 }
    }
}

impl Share {
    /// Takes more of the budget.
    pub fn grow(&mut self, bytes: u64) -> Result<(), UsedUp> {
        let Some(budget) = &self.budget else {
            return Ok(());
        };
        self.held += bytes;
        match budget.held.fetch_add(bytes, Ordering::Relaxed) + bytes > budget.most {
            true => Err(UsedUp(budget.most)),
            false => Ok(()),
        }
    }

    /// How much it holds, in bytes.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Gives back what is more than that.
    pub fn shrink_to(&mut self, held: u64) {
        if let Some(budget) = &self.budget {
            let more = self.held.saturating_sub(held);
            budget.held.fetch_sub(more, Ordering::Relaxed);
            self.held -= more;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

impl fmt::Display for UsedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.0 >> 20;
        write!(f, "the answers take more than {most} MiB together")
    }
}

impl std::error::Error for UsedUp {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_one_bound_and_are_given_back() {
        let budget = Budget::new(10);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert_eq!(one.grow(6), Ok(()));
        assert_eq!(other.grow(4), Ok(()));
        assert_eq!(one.grow(1), Err(UsedUp(10)));
        drop(one);
        assert_eq!(other.grow(6), Ok(()));
        drop(other);
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
        assert_eq!(Share::default().grow(u64::MAX), Ok(()));
    }
}
