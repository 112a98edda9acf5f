//! What makes a plan impossible.

use crate::address::Address;

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The object that it is about.
    pub address: Address,
    /// What is wrong.
    pub text: String,
    /// What to do.
    pub hint: Option<String>,
    /// The group whose name is the trouble, where it is one.
    pub group: Option<String>,
    /// The member whose name is the trouble, where it is one.
    pub member: Option<String>,
    /// Whether something is in the way of a deletion; there may be more of it in lists that no other plan needs.
    pub of_deletion: bool,
}

impl Problem {
    /// A problem of one object.
    pub fn new(address: &Address, text: impl Into<String>, hint: Option<String>) -> Self {
        Problem {
            address: address.clone(),
            text: text.into(),
            hint,
            group: None,
            member: None,
            of_deletion: false,
        }
    }
}
