//! netbird-gitops: a NetBird network declared in a JSON file, planned on pull requests, applied from CI.

pub mod api;
pub mod desired;
pub mod http;
pub mod resource;
pub mod state;
