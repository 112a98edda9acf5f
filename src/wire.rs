//! The servers as they speak: JSON over HTTP (`http`) and NetBird's requests, answers and refusals (`api`).
//!
//! What an answer means for a plan is decided elsewhere.

pub mod api;
pub(crate) mod http;
