//! netbird-gitops: a NetBird network declared in a JSON file, planned on pull requests, applied from CI.

pub mod actual;
pub mod api;
pub mod apply;
pub mod change;
pub mod ci;
pub mod cli;
pub mod commands;
pub mod config;
pub mod desired;
pub mod diff;
pub mod drift;
pub mod edit;
pub mod enrollment;
pub mod exit;
pub mod export;
pub mod fetch;
pub mod gates;
pub mod git;
pub mod gitea;
pub mod http;
pub mod keys;
pub mod ledger;
pub mod logging;
pub mod members;
pub mod plan;
pub mod render;
pub mod resource;
pub mod scope;
pub mod secret;
pub mod snapshot;
pub mod state;
#[cfg(test)]
mod testing;
pub mod text;
pub mod validate;
pub mod wire;
