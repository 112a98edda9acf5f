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

/// Reads a priority.
pub(crate) fn metric(value: &Cursor<'_>, log: &mut Log) -> Option<i64> {
    let metric = value.integer(log, "a whole number from 1 to 9999")?;
    if !(1..=9999).contains(&metric) {
        log.error(value.place(), "a metric is 1 to 9999")
            .suggest("the lowest wins".to_owned());
    }
    Some(metric)
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
