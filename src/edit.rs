//! Changing `enrolled` to `true` in the text of netbird.json, and nothing else: byte order mark, line ends,
//! indentation, order, escapes and the final newline stay as people wrote them.
//!
//! The text is read with positions and changed at those. What came out is read again and compared with what went in:
//! a text that differs in anything but those flags is never returned.

mod file;
mod insert;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use crate::config::{Problems, Source, SourceError};
use crate::validate::validate;

pub use file::{mark_enrolled_file, replace};
pub use insert::insert_entry;
pub(crate) use insert::pretty;

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The whole text, changed where a key is in `flipped`.
    pub text: Vec<u8>,
    /// Keys that were not marked before.
    pub flipped: BTreeSet<String>,
    /// Keys that were marked already.
    pub already: BTreeSet<String>,
    /// Names that `setup_keys` does not have.
    pub missing: BTreeSet<String>,
}

/// Why a text cannot be changed, and where. Stands well behind a file name and a colon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EditError {
            line,
            column,
            problem,
        } = self;
        write!(f, "{line}:{column}: {problem}")
    }
}

impl std::error::Error for EditError {}

/// Why keys are not marked in a file.
#[derive(Debug)]
pub enum MarkError {
    /// There is no text to judge.
    Source(SourceError),
    /// The file is not valid as it is.
    Invalid(Problems),
    /// It would not be valid any more.
    WouldBeInvalid(Problems),
    /// A valid file cannot be changed. Its name, and why.
    Edit(String, EditError),
}

impl fmt::Display for MarkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MarkError::Source(error) => write!(f, "{error}"),
            MarkError::Invalid(problems) => write!(f, "{problems}"),
            MarkError::WouldBeInvalid(problems) => write!(
                f,
                "marked, the file would not be valid; nothing was written\n{problems}"
            ),
            MarkError::Edit(file, error) => write!(f, "{file}:{error}"),
        }
    }
}

impl std::error::Error for MarkError {}

/// A stretch of the text and what is put there.
type Change = (Range<usize>, String);

/// Returns the text of a valid file with `setup_keys.NAME.enrolled` true for each of `names` that it declares. `file` is
/// what messages call it.
///
/// `false` becomes `true`; where the field is missing it is added behind the others, written as they are.
///
/// Errors when the text is no valid file, or would be none with the marks: such a text is never returned.
pub fn mark_enrolled(file: &str, text: &[u8], names: &BTreeSet<String>) -> Result<Edit, MarkError> {
    check(file, text, MarkError::Invalid)?;
    let edit = flip(text, names).map_err(|error| MarkError::Edit(file.to_owned(), error))?;
    if !edit.flipped.is_empty() {
        check(file, &edit.text, MarkError::WouldBeInvalid)?;
    }
    Ok(edit)
}

fn check(file: &str, text: &[u8], wrong: fn(Problems) -> MarkError) -> Result<(), MarkError> {
    let source = Source::from_bytes(file, text.to_vec()).map_err(MarkError::Source)?;
    validate(&source).map(drop).map_err(wrong)
}

/// Marks keys in any JSON text.
///
/// Errors when it is no strict JSON, has two members of one name in an object, or a flag to change is neither true nor
/// false.
fn flip(text: &[u8], names: &BTreeSet<String>) -> Result<Edit, EditError> {
    let (source, root) = tree::parse(text)?;
    let mut edit = Edit {
        text: Vec::new(),
        flipped: BTreeSet::new(),
        already: BTreeSet::new(),
        missing: BTreeSet::new(),
    };
    let mut changes: Vec<Change> = Vec::new();
    let keys = setup_keys(&source, &root)?;
    for name in names {
        let key = keys.and_then(|keys| member(keys, name));
        let Some(key) = key else {
            edit.missing.insert(name.clone());
            continue;
        };
        match flag(&source, &root, key)? {
            Some(change) => {
                changes.push(change);
                edit.flipped.insert(name.clone());
            }
            None => {
                edit.already.insert(name.clone());
            }
        }
    }
    edit.text = apply(source.json, changes);
    tree::check(&root, &edit.text, &edit.flipped)?;
    edit.text.splice(..0, text[..source.offset].iter().copied());
    Ok(edit)
}

/// Returns the keys that a text marks as enrolled and `base` does not, though their entries are the same otherwise: one
/// that asks for another machine since (`reissue_after`) has another entry. Errors as [`mark_enrolled`] does.
pub fn marked_since(base: &[u8], text: &[u8]) -> Result<BTreeSet<String>, EditError> {
    let (base_source, base) = tree::parse(base)?;
    let (source, root) = tree::parse(text)?;
    let before = setup_keys(&base_source, &base)?;
    let keys = setup_keys(&source, &root)?.map(|keys| keys.properties.as_slice());
    let is_marked = |key: &&ObjectProp<'_>| {
        let before = before.and_then(|keys| member(keys, key.name.as_str()));
        let before = before.and_then(|before| before.value.as_object());
        let after = key.value.as_object();
        before
            .zip(after)
            .is_some_and(|(before, after)| tree::is_flip(before, after))
    };
    let marked = keys.unwrap_or_default().iter().filter(is_marked);
    Ok(marked.map(|key| key.name.as_str().to_owned()).collect())
}

/// Returns the members of `setup_keys`, if the text has that section.
fn setup_keys<'a, 'b>(
    source: &tree::Source<'_>,
    root: &'b Value<'a>,
) -> Result<Option<&'b Object<'a>>, EditError> {
    let Value::Object(root) = root else {
        return Err(source.error(root, "an object is wanted here"));
    };
    match member(root, "setup_keys").map(|section| &section.value) {
        None => Ok(None),
        Some(Value::Object(keys)) => Ok(Some(keys)),
        Some(other) => Err(source.error(other, "setup_keys: an object is wanted here")),
    }
}

fn member<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    object
        .properties
        .iter()
        .find(|member| member.name.as_str() == name)
}

/// Returns the change that marks a key, `None` when it is marked.
fn flag(
    source: &tree::Source<'_>,
    root: &Value<'_>,
    key: &ObjectProp<'_>,
) -> Result<Option<Change>, EditError> {
    let at = |what: &str| format!("setup_keys[{:?}]{what}", key.name.as_str());
    let Value::Object(fields) = &key.value else {
        return Err(source.error(&key.value, at(": an object is wanted here")));
    };
    match member(fields, "enrolled").map(|field| &field.value) {
        Some(Value::BooleanLit(flag)) if flag.value => Ok(None),
        Some(Value::BooleanLit(flag)) => {
            Ok(Some((flag.range.start..flag.range.end, "true".to_owned())))
        }
        Some(other) => {
            Err(source.error(other, at(".enrolled: neither true nor false stands here")))
        }
        None => Ok(Some(match fields.properties.as_slice() {
            [] => into_empty(source.json, root, fields),
            members => behind(source.json, fields, members),
        })),
    }
}

/// Adds the field behind the last one, with the white space and the colon of that one.
fn behind(json: &str, object: &Object<'_>, members: &[ObjectProp<'_>]) -> Change {
    let [.., last] = members else {
        unreachable!("the object has members")
    };
    let (name, value) = (last.name.range(), last.value.range());
    let colon = match &json[name.end..value.start] {
        colon if colon.contains('\n') => ": ",
        colon => colon,
    };
    let separator = match members {
        [.., before, _] => json[before.value.range().end..name.start].to_owned(),
        // One member shows no comma: what stands before it shows the rest.
        _ => match &json[object.range.start + 1..name.start] {
            "" if colon.ends_with(' ') => ", ".to_owned(),
            lead => format!(",{lead}"),
        },
    };
    let field = format!("{separator}\"enrolled\"{colon}true");
    (value.end..value.end, field)
}

/// Adds the field to an object without any.
fn into_empty(json: &str, root: &Value<'_>, object: &Object<'_>) -> Change {
    let inside = object.range.start + 1..object.range.end - 1;
    let colon = colon_of(json, root);
    let field = format!("\"enrolled\"{colon}true");
    let space = &json[inside.clone()];
    let Some((before, indent)) = space.rsplit_once('\n') else {
        return (inside.start..inside.start, format!("{space}{field}"));
    };
    let newline = if before.ends_with('\r') { "\r\n" } else { "\n" };
    let unit = indent_of(json, root);
    (
        inside.start..inside.start,
        format!("{newline}{indent}{unit}{field}"),
    )
}

/// Returns the colon of the root's first member, with the white space around it.
fn colon_of<'a>(json: &'a str, root: &Value<'_>) -> &'a str {
    let first = first_member(root);
    let colon = first.map(|member| &json[member.name.range().end..member.value.range().start]);
    colon.filter(|colon| !colon.contains('\n')).unwrap_or(": ")
}

/// Returns the indentation of the root's first member.
fn indent_of<'a>(json: &'a str, root: &Value<'_>) -> &'a str {
    let lead = first_member(root).map(|first| &json[root.range().start + 1..first.range.start]);
    let indent = lead.and_then(|lead| lead.rsplit_once('\n'));
    indent.map_or("  ", |(_, indent)| indent)
}

fn first_member<'a, 'b>(root: &'b Value<'a>) -> Option<&'b ObjectProp<'a>> {
    root.as_object()?.properties.first()
}

/// Returns the text with all changes made, which do not overlap.
fn apply(json: &str, mut changes: Vec<Change>) -> Vec<u8> {
    changes.sort_by_key(|(range, _)| range.start);
    let (mut out, mut from) = (Vec::with_capacity(json.len() + 32 * changes.len()), 0);
    for (range, new) in changes {
        out.extend_from_slice(&json.as_bytes()[from..range.start]);
        out.extend_from_slice(new.as_bytes());
        from = range.end;
    }
    out.extend_from_slice(&json.as_bytes()[from..]);
    out
}
