//! The values that fields take: each reader takes what it wants of a file, or notes what is wrong and goes on.

pub(crate) mod domain;
pub(crate) mod names;
pub(crate) mod network;
pub(crate) mod word;

use std::collections::BTreeSet;

use crate::base::Code;
use crate::file::{Cursor, Field, Inner, Log, Objects, Shape, Takes, quote};

/// Free text.
pub(crate) const TEXT: Takes<Option<String>> = Takes(Shape::Text, |value, log| {
    value.string(log, "a text").map(str::to_owned)
});

/// True or false.
pub(crate) const FLAG: Takes<Option<bool>> = Takes(Shape::Flag, |value, log| value.boolean(log));

/// A whole number within these bounds.
pub(crate) const fn whole<const LEAST: i64, const MOST: i64>() -> Takes<Option<i64>> {
    Takes(Shape::Whole(LEAST, MOST), |value, log| {
        let wanted = format!("a whole number from {LEAST} to {MOST}");
        let too_large = value.whole_float().filter(|number| *number > MOST);
        // however it is written
        let number = too_large.or_else(|| value.integer(log, &wanted))?;
        if !(LEAST..=MOST).contains(&number) {
            let written = quote(value.number_text().unwrap_or_default());
            let size = if number > MOST { "large" } else { "small" };
            let message = format!(
                "{} is too {size}: expected {wanted}",
                written.trim_matches('"')
            );
            log.error(value.place(), message);
        }
        Some(number)
    })
}

/// A length of time in seconds within these bounds.
pub(crate) const fn seconds<const LEAST: i64, const MOST: i64>() -> Takes<Option<i64>> {
    Takes(Shape::Whole(LEAST, MOST), |value, log| {
        let Some(secs) = value.text().and_then(secs_of) else {
            return (whole::<LEAST, MOST>().1)(value, log);
        };
        let is_taken = secs > 0 && (LEAST..=MOST).contains(&secs);
        let hint = is_taken.then(|| format!("write {secs}"));
        value.wrong(log, "a whole number of seconds", hint)
    })
}

pub(crate) const HOUR_SECS: i64 = 3600;
pub(crate) const DAY_SECS: i64 = 86_400;

/// Returns the seconds of a length of time as other tools write it: `7d`, `12 hours`. A bare `m` may be a month.
fn secs_of(text: &str) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let unit_at = text.find(|char: char| !char.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let unit_secs = match unit.trim_start() {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => HOUR_SECS,
        "d" | "day" | "days" => DAY_SECS,
        "w" | "week" | "weeks" => 7 * DAY_SECS,
        "y" | "year" | "years" => 365 * DAY_SECS,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit_secs)
}

/// The field by which an entry is renamed; what it names is checked when all entries are read.
pub(crate) const fn renamed_from<T>() -> Field<T> {
    let mut field = Field::optional("renamed_from", |_, value, log| {
        value.string(log, "the old name");
    });
    field.row.shape = Shape::Schema(r#"{"type": "string", "minLength": 1}"#);
    field.row.doc = "The entry's old name: renames the object in NetBird instead of deleting it and making another.";
    field
}

/// An object that has a table of its own; an empty one says nothing.
pub(crate) const fn object<T: Inner>() -> Takes<Option<T>> {
    Takes(Shape::Object(|| T::TABLE.outline()), |value, log| {
        let mut it = T::default();
        if !value.is_object() || value.members().next().is_some() {
            value.object(log, T::TABLE, &mut it);
        }
        value.is_object().then_some(it)
    })
}

/// The shape of a list of objects that have a table of their own: what the schema calls one, and how many there are, where
/// that is limited.
pub(crate) const fn objects<T: Inner>(word: &'static str, count: Option<(usize, usize)>) -> Shape {
    Shape::Objects(Objects {
        word,
        count,
        outline: || T::TABLE.outline(),
    })
}

/// Reads such a list, without those that stand in it already. `what` people call them.
pub(crate) fn read_objects<T: Inner + Ord + Clone>(
    list: &Cursor<'_>,
    what: &str,
    log: &mut Log,
) -> Option<Vec<T>> {
    let (mut all, mut known) = (Vec::new(), BTreeSet::new());
    for element in list.list(log, &format!("a list of {what}"))? {
        let (mut it, errors) = (T::default(), log.errors);
        element.object(log, T::TABLE, &mut it);
        if element.is_object() {
            T::settle(&element, log);
        }
        if log.errors > errors {
            continue;
        }
        if known.insert(it.clone()) {
            all.push(it);
        } else {
            let text = format!("{} is in the list twice", T::TABLE.what);
            log.notice(Code::Repeated, element.place(), text);
        }
    }
    Some(all)
}
