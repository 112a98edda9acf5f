//! What there is to know of a kind as a whole.

use super::{ReadEntry, Trace};
use crate::config::Outline;

/// The row of a kind: its names, where its entries stand in the file, and where its objects are in the API.
pub struct Descriptor {
    /// What people call one of it.
    pub label: &'static str,
    /// What people call several of it.
    pub plural: &'static str,
    /// The word of operation types in JSON, as in `create_group`.
    pub word: &'static str,
    /// Where its entries stand in netbird.json, from the top; of a kind that is never declared, the word for a section.
    pub section: &'static [&'static str],
    /// What stands in the section, for the schema.
    pub about: &'static str,
    /// The most characters that a name may have.
    pub longest_name: usize,
    /// A name that nobody can declare, since it is NetBird's own.
    pub reserved_name: Option<&'static str>,
    /// The collection's path under `/api`.
    pub collection: &'static str,
    /// The field of an answer that holds its name.
    pub name_field: &'static str,
    /// Whether its objects can be renamed (`renamed_from`).
    pub can_be_renamed: bool,
    /// Whether the server refuses every change while two objects bear one name, which two runs at once can make
    /// (docs/netbird-api.md, "Unique names").
    pub has_unique_names: bool,
    /// The code of a deletion's event (docs/netbird-api.md, "Events").
    pub deletion_event: Option<&'static str>,
    /// The fields that the history of the file is read for, beside names.
    pub traces: &'static [(&'static str, Trace)],
    /// Reads an entry; `None` where a file cannot declare one.
    pub(crate) entry: Option<ReadEntry>,
    /// The fields of an entry, for the schema and the reference.
    pub(crate) outline: fn() -> Outline,
}
