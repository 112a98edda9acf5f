//! The values that fields take: each reader takes what it wants of a file, or notes what is wrong and goes on.

pub(crate) mod domain;
pub(crate) mod names;
pub(crate) mod nameserver;
pub(crate) mod network;
pub(crate) mod ports;
pub(crate) mod times;

use crate::config::{Cursor, Field, Log, Shape};

/// Reads free text.
pub(crate) fn text(value: &Cursor<'_>, log: &mut Log) -> Option<String> {
    value.string(log, "a text").map(str::to_owned)
}

/// Reads true or false.
pub(crate) fn flag(value: &Cursor<'_>, log: &mut Log) -> Option<bool> {
    value.boolean(log)
}

/// The field by which an entry is renamed; what it names is checked when all entries are read.
pub(crate) const fn renamed_from<T>() -> Field<T> {
    Field::optional("renamed_from", |_, value, log| {
        value.string(log, "the old name");
    })
    .says(
        Shape::Schema(r#"{"type": "string", "minLength": 1}"#),
        None,
        "The entry's old name: renames the object in NetBird instead of deleting it and making another.",
    )
}
