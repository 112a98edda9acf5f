//! A text as a tree whose values know where they stand; and the comparison of two such trees.

use std::collections::BTreeSet;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use super::EditError;
use crate::config;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The JSON of a text.
pub(super) struct Source<'a> {
    /// The text behind a byte order mark.
    pub(super) json: &'a str,
    /// Length of the byte order mark.
    pub(super) offset: usize,
}

impl Source<'_> {
    pub(super) fn error(&self, node: &impl Ranged, problem: impl Into<String>) -> EditError {
        self.error_at(node.range().start, problem)
    }

    fn error_at(&self, at: usize, problem: impl Into<String>) -> EditError {
        let before = &self.json[..self.json.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        EditError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem: problem.into(),
        }
    }
}

/// Reads a text as strict JSON without duplicate names.
///
pub(super) fn parse(text: &[u8]) -> Result<(Source<'_>, Value<'_>), EditError> {
    let offset = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let json = match str::from_utf8(&text[offset..]) {
        Ok(json) => json,
        Err(e) => {
            let valid = &text[offset..offset + e.valid_up_to()];
            let source = Source {
                json: str::from_utf8(valid).unwrap_or_default(),
                offset,
            };
            return Err(source.error_at(source.json.len(), "this is no UTF-8"));
        }
    };
    let source = Source { json, offset };
    let root = config::parse_text(json).map_err(|fault| source.error_at(fault.0, fault.1))?;
    if let Some(second) = duplicate(&root) {
        let name = second.name.as_str();
        return Err(source.error(second, format!("the member {name:?} is here twice")));
    }
    Ok((source, root))
}

/// Returns the second of two members of one name in one object.
fn duplicate<'a, 'b>(value: &'b Value<'a>) -> Option<&'b ObjectProp<'a>> {
    match value {
        Value::Object(object) => {
            let mut seen = BTreeSet::new();
            let members = &object.properties;
            members
                .iter()
                .find(|member| !seen.insert(member.name.as_str()))
                .or_else(|| members.iter().find_map(|member| duplicate(&member.value)))
        }
        Value::Array(array) => array.elements.iter().find_map(duplicate),
        Value::StringLit(_)
        | Value::NumberLit(_)
        | Value::BooleanLit(_)
        | Value::NullKeyword(_) => None,
    }
}

/// Checks that `text` differs from `before` in the flags of `flipped` and in nothing else: no order, no number's
/// spelling.
pub(super) fn check(
    before: &Value<'_>,
    text: &[u8],
    flipped: &BTreeSet<String>,
) -> Result<(), EditError> {
    let (source, after) = parse(text)?;
    let broken = || {
        source.error_at(
            0,
            "the changed text says something else than it should: this is a defect of netbird-gitops",
        )
    };
    let (Value::Object(before), Value::Object(after)) = (before, &after) else {
        return Err(broken());
    };
    let in_root = |name: &str, before: &Value<'_>, after: &Value<'_>| match (before, after) {
        (Value::Object(before), Value::Object(after)) if name == "setup_keys" => {
            same(before, after, |name, before, after| match (before, after) {
                (Value::Object(before), Value::Object(after)) if flipped.contains(name) => {
                    is_flip(before, after)
                }
                _ => equal(before, after),
            })
        }
        _ => equal(before, after),
    };
    if same(before, after, in_root) {
        Ok(())
    } else {
        Err(broken())
    }
}

/// Are the members the same, in order, each pair judged by `judge`?
fn same(
    before: &Object<'_>,
    after: &Object<'_>,
    judge: impl Fn(&str, &Value<'_>, &Value<'_>) -> bool,
) -> bool {
    before.properties.len() == after.properties.len()
        && before
            .properties
            .iter()
            .zip(&after.properties)
            .all(|(before, after)| {
                let name = before.name.as_str();
                name == after.name.as_str() && judge(name, &before.value, &after.value)
            })
}

/// Does `after` have `enrolled` true where `before` had false or nothing, and is the rest equal?
pub(super) fn is_flip(before: &Object<'_>, after: &Object<'_>) -> bool {
    let is = |value: &Value<'_>, wanted| value.as_boolean_lit().is_some_and(|b| b.value == wanted);
    let had = |member: &ObjectProp<'_>| member.name.as_str() == "enrolled";
    if before.properties.iter().any(had) {
        return same(before, after, |name, before, after| match name {
            "enrolled" => is(before, false) && is(after, true),
            _ => equal(before, after),
        });
    }
    let Some((last, rest)) = after.properties.split_last() else {
        return false;
    };
    let rest = Object {
        range: after.range,
        properties: rest.to_vec(),
    };
    had(last) && is(&last.value, true) && same(before, &rest, |_, a, b| equal(a, b))
}

/// Are the values equal, the order of members and the spelling of numbers included?
fn equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => same(a, b, |_, a, b| equal(a, b)),
        (Value::Array(a), Value::Array(b)) => {
            a.elements.len() == b.elements.len()
                && a.elements.iter().zip(&b.elements).all(|(a, b)| equal(a, b))
        }
        (Value::StringLit(a), Value::StringLit(b)) => a.value == b.value,
        (Value::NumberLit(a), Value::NumberLit(b)) => a.value == b.value,
        (Value::BooleanLit(a), Value::BooleanLit(b)) => a.value == b.value,
        (Value::NullKeyword(_), Value::NullKeyword(_)) => true,
        _ => false,
    }
}
