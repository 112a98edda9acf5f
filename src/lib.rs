//! netbird-gitops: a NetBird network declared in a JSON file, planned on pull requests, applied from CI.
//!
//! A run goes from left to right. `config` and `validate` make `desired` state of the file, `fetch` and `actual` read the
//! account, `ledger` reads the file's git history, which proves what was ever ours. `plan` compares them in five stages,
//! `gates` may refuse the plan, `render` tells it, `apply` carries it out and verifies it. `kind` holds all that is known
//! of a kind of object, one file each. `commands` name the stages of each command in order.
//!
//! Begin to read at `commands::plan`, then `plan`; docs/lifecycle.md tells the whole run.

pub mod actual;
pub mod address;
pub mod agreement;
pub mod api;
pub mod apply;
pub mod change;
pub mod ci;
pub mod cli;
pub mod code;
pub mod commands;
pub mod config;
pub mod desired;
pub mod drift;
pub mod edit;
pub mod enrollment;
pub mod entry;
pub mod evidence;
pub mod exit;
pub mod export;
pub mod fetch;
pub mod gates;
pub mod git;
pub mod gitea;
pub mod held;
pub mod hint;
pub mod http;
pub mod id;
mod index;
pub mod json;
pub mod key_type;
pub mod keys;
pub mod kind;
pub mod ledger;
pub mod logging;
pub mod members;
pub mod memberships;
pub mod notice;
pub mod options;
pub mod plan;
pub mod problem;
pub mod reason;
pub mod render;
pub mod schema;
pub mod secret;
pub mod sentence;
pub mod snapshot;
pub mod spelling;
#[cfg(test)]
mod testing;
pub mod text;
pub mod validate;
pub mod wire;
