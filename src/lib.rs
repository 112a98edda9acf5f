//! netbird-gitops: a NetBird network declared in a JSON file, planned on pull requests, applied from CI.
//!
//! A run goes from left to right. `file` and `check` make the desired state of netbird.json, `account` reads NetBird,
//! `inventory` says what of it is ours. `plan` compares them in five stages and may refuse the plan, `render` writes it for
//! people, `apply` carries it out and verifies it. `model::kind` holds all that is known of a kind of object, one file each.
//! `commands` name the stages of each command in order.
//!
//! Begin to read at `commands::plan`, then `plan`; docs/lifecycle.md describes the whole run and says which room may use which.

// Rooms that no test, bench or binary asks for are the crate's own: the compiler tells what of them nobody calls.
#![expect(
    unreachable_pub,
    reason = "whether a room is the crate's own is said here, once"
)]

mod access;
pub mod account;
pub mod apply;
pub mod base;
pub mod check;
pub mod commands;
pub mod file;
mod forge;
pub mod git;
pub mod inventory;
pub mod model;
pub mod plan;
mod render;
pub mod secret;
#[cfg(test)]
#[path = "../tests/shared/testing.rs"]
mod testing;
pub mod wire;
