//! Changing `enrolled` to `true` in the text of netbird.json, and nothing else: byte order mark, line ends,
//! indentation, order, escapes and the final newline stay as people wrote them.
//!
//! The text is read with positions and changed at those. What came out is read again and compared with what went in:
//! a text that differs in anything but those flags is never returned.

mod insert;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use serde_json::Value as Json;

use crate::base::{Code, file_error, files};
use crate::check::validate::validate;
use crate::file::{self, Cursor, Finding, Findings, Log, MAX_BYTES, Place, Source};

pub(crate) use insert::Style;
use insert::behind_all;
pub use insert::insert_entry;

/// What became of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

/// A stretch of the text and what is put there.
type Patch = (Range<usize>, String);

/// Returns the text of a valid file with `setup_keys.NAME.enrolled` true for each of `names` that it declares. `file` is
/// what messages call it.
///
/// `false` becomes `true`; where the field is missing it is added behind the others, written as they are.
///
/// Errors when the text is no valid file, or would be none with the marks: such a text is never returned.
pub fn mark_enrolled(file: &str, text: &[u8], names: &BTreeSet<String>) -> Result<Edit> {
    let source = valid(file, text)?;
    let edit = flip(&source, names).map_err(|problem| Findings {
        file: file.to_owned(),
        list: vec![problem],
    })?;
    if !edit.flipped.is_empty() {
        let what = "marked, the file would not be valid; nothing was written";
        valid(file, &edit.text).context(what)?;
    }
    Ok(edit)
}

fn valid(file: &str, text: &[u8]) -> Result<Source> {
    let source = Source::from_bytes(file, text.to_vec())?;
    validate(&source)?;
    Ok(source)
}

/// Marks keys in any JSON text; what is not a key is none of that name.
///
/// Errors when it is no strict JSON, or has two members of one name in an object.
fn flip(source: &Source, names: &BTreeSet<String>) -> Result<Edit, Finding> {
    let root = parse(source)?;
    let top = root.as_object();
    let keys = top.and_then(|root| object_in(root, "setup_keys"));
    let mut edit = Edit::default();
    let mut changes: Vec<Patch> = Vec::new();
    for name in names {
        let outcome = match keys.and_then(|keys| object_in(keys, name)) {
            None => &mut edit.missing,
            Some(key) => match flag(source, &root, key) {
                None => &mut edit.already,
                Some(change) => {
                    changes.push(change);
                    &mut edit.flipped
                }
            },
        };
        outcome.insert(name.clone());
    }
    edit.text = apply(source, changes);
    check(source, &edit.text, |wanted| {
        for name in &edit.flipped {
            wanted["setup_keys"][name]["enrolled"] = Json::Bool(true);
        }
    })?;
    Ok(edit)
}

/// Reads a text as strict JSON without two members of one name in an object.
fn parse(source: &Source) -> Result<Value<'_>, Finding> {
    let root = file::parse(source)?;
    let mut log = Log::default();
    Cursor::root(source, &root).duplicates(&mut log);
    log.findings.into_iter().next().map_or(Ok(root), Err)
}

/// The changed text must say what the old one said, but for what `change` does.
fn check(source: &Source, after: &[u8], change: impl FnOnce(&mut Json)) -> Result<(), Finding> {
    let after = Source::from_bytes(source.name(), after.to_vec()).map_err(|_| broken())?;
    parse(&after)?;
    let read = |source: &Source| serde_json::from_str::<Json>(source.json());
    let (mut wanted, after) = match (read(source), read(&after)) {
        (Ok(wanted), Ok(after)) => (wanted, after),
        _ => return Err(broken()),
    };
    change(&mut wanted);
    match after == wanted {
        true => Ok(()),
        false => Err(broken()),
    }
}

fn broken() -> Finding {
    let place = Place {
        path: String::new(),
        line: 1,
        column: 1,
    };
    let text =
        "the changed text says something else than it should: this is a defect of netbird-gitops";
    Finding::error(Code::Value, place, text)
}

/// Reads a text as [`parse`] does, whether it may have comments or not; `None` where it cannot be read.
fn json_of(text: &[u8]) -> Option<Json> {
    let source = Source::from_bytes(".jsonc", text.to_vec()).ok()?;
    parse(&source).ok()?;
    serde_json::from_str(source.json()).ok()
}

/// Returns the keys that a text marks as enrolled and `base` does not, though their entries are the same otherwise: one
/// that asks for another machine since (`reissue_after`) has another entry. A text that cannot be read marks none.
pub fn marked_since(base: &[u8], text: &[u8]) -> BTreeSet<String> {
    // whether each is marked, and its entry without that
    let keys = |text: &[u8]| -> Option<BTreeMap<String, (bool, Json)>> {
        let mut root = json_of(text)?;
        let keys = root.get_mut("setup_keys")?.as_object_mut()?;
        let take = |(name, key): (&String, &mut Json)| {
            let fields = key.as_object_mut();
            let flag = fields.and_then(|fields| fields.remove("enrolled"));
            (name.clone(), (flag == Some(Json::Bool(true)), key.take()))
        };
        Some(keys.iter_mut().map(take).collect())
    };
    let base = keys(base).unwrap_or_default();
    let mut keys = keys(text).unwrap_or_default();
    keys.retain(|name, (is_marked, entry)| {
        let before = base.get(name);
        *is_marked && before.is_some_and(|(was_marked, before)| !was_marked && before == entry)
    });
    keys.into_keys().collect()
}

/// Returns the names of the setup keys that a text declares; of one that cannot be read none.
pub fn key_names(text: &[u8]) -> Vec<String> {
    let root = json_of(text).unwrap_or_default();
    let keys = root["setup_keys"].as_object().into_iter();
    keys.flat_map(|keys| keys.keys().cloned()).collect()
}

fn member<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    let mut members = object.properties.iter();
    members.find(|member| member.name.as_str() == name)
}

/// Returns the object of that name.
fn object_in<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b Object<'a>> {
    member(object, name)?.value.as_object()
}

/// Returns the change that marks a key, `None` when it is marked.
fn flag(source: &Source, root: &Value<'_>, key: &Object<'_>) -> Option<Patch> {
    match member(key, "enrolled").map(|field| &field.value) {
        Some(Value::BooleanLit(flag)) if flag.value => None,
        Some(other) => Some((other.start()..other.end(), "true".to_owned())),
        None => {
            let flag = Json::Bool(true);
            Some(behind_all(source, root, key, ("enrolled", &flag), &[], 0))
        }
    }
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
fn apply(source: &Source, mut changes: Vec<Patch>) -> Vec<u8> {
    changes.sort_by_key(|(range, _)| range.start);
    let text = source.text().as_bytes();
    let (mut out, mut from) = (Vec::new(), 0);
    for (range, new) in changes {
        let [start, end] = [range.start, range.end].map(|at| at + source.json_offset());
        out.extend_from_slice(&text[from..start]);
        out.extend_from_slice(new.as_bytes());
        from = end;
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// Marks keys in a file, as [`mark_enrolled`] does, and returns what became of it.
///
/// The new text takes the old one's place at once or not at all, with the old one's mode. Behind a symbolic link the
/// target is changed. A file with nothing to change is not touched.
pub fn mark_enrolled_file(path: &Path, names: &BTreeSet<String>) -> Result<Edit> {
    let shown = path.display();
    let unread = |error| anyhow!("cannot read {shown}: {}", file_error(&error));
    let target = fs::canonicalize(path).map_err(unread)?;
    let text = files::read(&target, MAX_BYTES as u64).map_err(unread)?;
    let edit = mark_enrolled(&shown.to_string(), &text, names)?;
    if !edit.flipped.is_empty() {
        let unwritten = |error| anyhow!("cannot write {shown}: {}", file_error(&error));
        files::put(&target, &edit.text, false).map_err(unwritten)?;
    }
    Ok(edit)
}

/// Returns whether two versions of the file differ in anything else than `enrolled` flags of setup keys.
///
/// They are compared by meaning: order, spaces and line ends do not matter. Where one of them is no JSON, every other
/// byte does.
pub fn content_differs_but_for_enrolled(a: &[u8], b: &[u8]) -> bool {
    let means_other = |a: Option<Json>, b| a.is_none() || a != b;
    a != b && means_other(without_flags(a), without_flags(b))
}

fn without_flags(text: &[u8]) -> Option<Json> {
    let mut file = json_of(text)?;
    let keys = file.get_mut("setup_keys").and_then(Json::as_object_mut);
    for key in keys.into_iter().flat_map(|keys| keys.values_mut()) {
        if let Some(fields) = key.as_object_mut()
            && fields.get("enrolled").is_some_and(Json::is_boolean)
        {
            fields.remove("enrolled");
        }
    }
    Some(file)
}

#[cfg(test)]
mod stale_tests {
    use super::content_differs_but_for_enrolled;

    #[test]
    fn versions_that_differ_in_flags_only_ask_for_the_same() {
        let a = r#"{"groups": {"g": {"peers": ["k", "l"]}}, "setup_keys": {"k": {"enrolled": false, "type": "one-off"}}}"#;
        let differs = |b: &str| content_differs_but_for_enrolled(a.as_bytes(), b.as_bytes());
        for same in [
            a,
            &a.replace("false", "true"),
            &a.replace("\"enrolled\": false, ", ""),
            &a.replace(' ', "\r\n"),
            &format!("\u{feff}{a}\n"),
            r#"{"setup_keys": {"k": {"type": "one-off"}}, "groups": {"g": {"peers": ["k", "l"]}}}"#,
        ] {
            assert!(!differs(same), "{same}");
        }
        for other in [
            "",
            "{}",
            &a.replace("one-off", "reusable"),
            &a.replace("false", "0"),
            &a.replace("\"k\", \"l\"", "\"k\""),
            &a.replace(
                "\"groups\": {\"g\"",
                "\"groups\": {\"enrolled\": true, \"g\"",
            ),
            &a.replace("{\"g\": {", "{\"g\": {\"enrolled\": true, "),
            &a[..a.len() - 1],
        ] {
            assert!(differs(other), "{other}");
        }
        assert!(!content_differs_but_for_enrolled(b"\xff", b"\xff"));
        assert!(content_differs_but_for_enrolled(b"\xff", b"\xfe"));
    }
}

#[cfg(test)]
mod tests;
