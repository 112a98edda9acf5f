//! netbird-gitops: a NetBird network declared in a JSON file, planned on pull requests, applied from CI.
//!
//! A run goes from left to right. `config` and `validate` make `desired` state of the file, `fetch` and `actual` read the
//! account, `inventory` says what of it is ours. `plan` compares them in five stages,
//! `gates` may refuse the plan, `render` tells it, `apply` carries it out and verifies it. `kind` holds all that is known
//! of a kind of object, one file each. `commands` name the stages of each command in order.
//!
//! Begin to read at `commands::plan`, then `plan`; docs/lifecycle.md tells the whole run.

// Rooms that no test, bench or binary asks for are the crate's own: the compiler tells what of them nobody calls.
#![expect(
    unreachable_pub,
    reason = "whether a room is the crate's own is said here, once"
)]

mod access;
pub mod actual;
pub mod address;
mod agreement;
pub mod api;
pub mod apply;
mod budget;
pub mod change;
mod ci;
pub mod cli;
mod code;
pub mod commands;
pub mod config;
mod desired;
mod doctor;
mod drift;
mod edit;
mod enrollment;
mod entry;
mod evidence;
pub mod exit;
mod export;
pub mod fetch;
mod files;
mod gates;
pub mod git;
mod gitea;
mod held;
mod hint;
mod http;
pub mod id;
mod index;
mod init;
pub mod inventory;
mod json;
mod key_type;
mod keys;
pub mod kind;
mod let_go;
pub mod logging;
mod mask;
mod members;
mod memberships;
mod merge;
mod notice;
pub mod options;
mod origin;
pub mod ours;
mod parallel;
pub mod plan;
pub mod problem;
mod protection;
mod reason;
mod render;
mod schema;
pub mod secret;
mod sentence;
mod snapshot;
mod spelling;
#[cfg(test)]
#[path = "../tests/shared/testing.rs"]
mod testing;
pub mod text;
pub mod validate;
mod versions;
mod who;
mod workflows;
