//! The words that desired and actual state share: kinds of objects, addresses, changes, and what is said of them, as data and in words.
//!
//! Pure. Where state comes from and what becomes of it is for `account`, `check` and `plan`.

pub mod address;
pub mod change;
pub(crate) mod desired;
mod facts;
pub(crate) mod held;
pub(crate) mod hint;
pub mod kind;
pub(crate) mod label;
pub(crate) mod let_go;
pub(crate) mod notice;
pub(crate) mod origin;
pub mod problem;
pub(crate) mod reason;
