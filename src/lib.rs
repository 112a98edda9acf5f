//! netbird-gitops: a NetBird network declared in a JSON file, planned on pull requests, applied from CI.

pub mod config;
pub mod desired;
pub mod resource;
pub mod state;
pub mod validate;
