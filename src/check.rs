//! netbird.json as people write it: from its text to desired state or to all of its problems (`validate`), edits of its text
//! (`edit`), its JSON Schema (`schema`).
//!
//! Bytes, lines and positions are for `file`.

pub(crate) mod edit;
pub(crate) mod schema;
pub mod validate;
