//! Adding entries to the text of netbird.json; everything that stands there stays as it is.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value as Json, json};

use super::{Patch, apply, broken, check, colon_of, indent_of, object_in, parse};
use crate::base::joined;
use crate::file::{Finding, Source};
use crate::model::Address;

/// Returns the text with one more entry, behind the others of its section; a missing section is added behind the others.
///
/// Errors when the text is no valid file, or declares the entry already.
pub fn insert_entry(source: &Source, address: &Address, entry: &Json) -> Result<Vec<u8>, Finding> {
    let root = parse(source)?;
    let mut object = root.as_object().ok_or_else(broken)?;
    let section = address.kind.section_path();
    let (section, own) = match section.split_last() {
        Some((last, rest)) if address.kind.is_one() => (rest, *last),
        _ => (section, address.name.as_str()),
    };
    let mut missing = section;
    while let [name, rest @ ..] = missing
        && let Some(found) = object_in(object, name)
    {
        object = found;
        missing = rest;
    }
    // what is not there yet is wrapped around the entry, from the inside
    let with_name = |path: &[&'static str]| [path, &[own]].concat();
    let path = with_name(missing);
    let (name, inner) = path.split_first().ok_or_else(broken)?;
    let wrap = |value, name: &&str| json!({ *name: value });
    let value = inner.iter().rev().fold(entry.clone(), wrap);
    let names = address.kind.field_names();
    let change = behind_all(source, &root, object, (name, &value), &names, inner.len());

    let changed = apply(source, vec![change]);
    check(source, &changed, |wanted| {
        let place = with_name(section).into_iter();
        *place.fold(wanted, |place, name| &mut place[name]) = entry.clone();
    })?;
    Ok(changed)
}

/// Adds a member behind the last one, with the white space and the colon of that one. A comment behind that one stays there.
/// `open`: see [`Style::member`].
pub(super) fn behind_all(
    source: &Source,
    root: &Value<'_>,
    object: &Object<'_>,
    (name, value): (&str, &Json),
    names: &[&str],
    open: usize,
) -> Patch {
    // both are as long: of comments, and of a comma behind the last member, the one has blanks
    let (json, text) = (source.json(), &source.text()[source.json_offset()..]);
    let unit = indent_of(json, root);
    let newline = if json.contains("\r\n") { "\r\n" } else { "\n" };
    let style = Style {
        names,
        newline,
        unit,
    };
    let [before @ .., last] = object.properties.as_slice() else {
        let line = json[..object.range.start].rfind('\n');
        let line = line.map_or(0, |at| at + 1);
        let (colon, outer) = (colon_of(json, root), blank_start(&json[line..]));
        let indent = format!("{outer}{unit}");
        let member = style.member(name, colon, value, &indent, open);
        let inside = object.range.start + 1..object.range.end - 1;
        let there = text[inside.clone()].trim_end();
        let text = format!("{there}{newline}{indent}{member}{newline}{outer}");
        return (inside, text);
    };
    let (key, end) = (last.name.range(), last.range.end);
    let colon = match &json[key.end..last.value.range().start] {
        colon if colon.contains('\n') => ": ",
        colon => colon,
    };
    let start = match before {
        [.., before] => before.range.end,
        [] => object.range.start + 1,
    };
    let lead = &json[start..key.start];
    let separator = match (before, lead.rsplit_once('\n')) {
        (_, Some((_, indent))) if lead != &text[start..key.start] => {
            format!(",{newline}{indent}")
        }
        ([.., _], _) => lead.to_owned(),
        // one member shows no comma: what stands before it shows the rest
        ([], None) if lead.is_empty() && colon.ends_with(' ') => ", ".to_owned(),
        ([], _) => format!(",{lead}"),
    };
    let Some((_, indent)) = separator.rsplit_once('\n') else {
        let name = Json::from(name);
        let value = compact(value, names);
        return (end..end, format!("{separator}{name}{colon}{value}"));
    };
    let member = style.member(name, colon, value, blank_start(indent), open);
    let behind = end..rest_of_line(text, end);
    let tail = &text[behind.clone()];
    if tail.is_empty() || !json[behind.clone()].trim().is_empty() {
        return (end..end, format!("{separator}{member}"));
    }
    let comma = match tail.trim_start().starts_with(',') {
        true => ["", ","],
        false => [",", ""],
    };
    let line = &separator[separator.find(['\r', '\n']).unwrap_or_default()..];
    let [first, last] = comma;
    (behind, format!("{first}{tail}{line}{member}{last}"))
}

/// Returns where a line ends without the blanks at its end, behind a comment that goes on.
fn rest_of_line(text: &str, from: usize) -> usize {
    let line = |from: usize| {
        let line = text[from..].lines().next();
        from + line.map_or(0, |line| line.trim_end().len())
    };
    let end = line(from);
    let open = text[from..end]
        .rfind("/*")
        .filter(|open| !text[from + open..end].contains("*/"));
    let is_open = open.filter(|open| !text[from..from + open].contains("//"));
    let close = is_open.and_then(|_| text[end..].find("*/"));
    close.map_or(end, |close| line(end + close + 2))
}

/// The blanks at the beginning of a line.
fn blank_start(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The fields of an object in the order of these names, others behind them by name.
fn ordered<'a>(
    fields: &'a Map<String, Json>,
    names: &[&str],
) -> Vec<(&'a String, &'a serde_json::Value)> {
    let place = |name: &str| names.iter().position(|known| *known == name);
    let mut ordered: Vec<_> = fields.iter().collect();
    ordered.sort_by_key(|(name, _)| (place(name).unwrap_or(names.len()), *name));
    ordered
}

/// The most characters in a line of an entry that stands on one.
const WIDTH: usize = 120;

/// How entries are written.
pub(crate) struct Style<'a> {
    /// The names of fields in their order.
    pub(crate) names: &'a [&'a str],
    /// The end of a line.
    pub(crate) newline: &'a str,
    /// The indentation of one level.
    pub(crate) unit: &'a str,
}

impl Style<'_> {
    /// Returns a member, whose first line begins behind that indent: on one line where it fits. `open`: so many levels never stand
    /// on one line, as sections.
    pub(crate) fn member(
        &self,
        name: &str,
        colon: &str,
        value: &Json,
        indent: &str,
        open: usize,
    ) -> String {
        let name = Json::from(name).to_string() + colon;
        let line = compact(value, self.names);
        let used = indent.chars().count() + name.chars().count();
        // and a comma
        let fits = open == 0 && used + line.chars().count() < WIDTH;
        let inner = format!("{indent}{}", self.unit);
        let (begin, parts, end): (_, Vec<String>, _) = match value {
            Json::Object(fields) if !fits && !fields.is_empty() => {
                let fields = ordered(fields, self.names).into_iter();
                let open = open.saturating_sub(1);
                let text =
                    |(name, value): (&String, _)| self.member(name, ": ", value, &inner, open);
                ('{', fields.map(text).collect(), '}')
            }
            Json::Array(items) if !fits && items.iter().any(|it| it.is_object()) => {
                let items = items.iter().map(|item| compact(item, self.names));
                ('[', items.collect(), ']')
            }
            _ => return name + &line,
        };
        let newline = self.newline;
        let parts = joined(parts, &format!(",{newline}{inner}"));
        format!("{name}{begin}{newline}{inner}{parts}{newline}{indent}{end}")
    }
}

/// Returns the text of a value on one line.
fn compact(value: &Json, names: &[&str]) -> String {
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            let member = |(name, value): (&String, &Json)| {
                let name = Json::from(name.as_str());
                format!("{name}: {}", compact(value, names))
            };
            let members = ordered(fields, names).into_iter().map(member);
            format!("{{ {} }}", joined(members, ", "))
        }
        Json::Array(items) => {
            let items = items.iter().map(|item| compact(item, names));
            format!("[{}]", joined(items, ", "))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::model::Kind;

    fn inserted(text: &str, kind: Kind, name: &str, entry: serde_json::Value) -> String {
        let source = Source::from_text("f", text).unwrap();
        let text = insert_entry(&source, &Address::new(kind, name), &entry).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn an_entry_goes_behind_the_others_as_they_are_written() {
        let text = "{\n  \"groups\": {\n    \"a\": {}\n  }\n}\n";
        let with = inserted(text, Kind::Group, "b", json!({ "peers": ["x", "y"] }));
        let wanted = "{\n  \"groups\": {\n    \"a\": {},\n    \"b\": { \"peers\": [\"x\", \"y\"] }\n  }\n}\n";
        assert_eq!(with, wanted);
        let line = inserted("{\"groups\": {\"a\": {}}}", Kind::Group, "b", json!({}));
        assert_eq!(line, "{\"groups\": {\"a\": {}, \"b\": {}}}");
    }

    #[test]
    fn a_missing_section_is_made() {
        let text = "{\r\n\t\"groups\": {}\r\n}";
        let entry = json!({ "groups": ["a"] });
        let with = inserted(text, Kind::NameserverGroup, "n", entry);
        let wanted = "{\r\n\t\"groups\": {},\r\n\t\"dns\": {\r\n\t\t\"nameserver_groups\": {\r\n\t\t\t\"n\": { \"groups\": [\"a\"] }\r\n\
                      \t\t}\r\n\t}\r\n}";
        assert_eq!(with, wanted);
    }

    #[test]
    fn an_empty_section_opens() {
        let with = inserted("{\n  \"groups\": {}\n}\n", Kind::Group, "a", json!({}));
        assert_eq!(with, "{\n  \"groups\": {\n    \"a\": {}\n  }\n}\n");
    }

    #[test]
    fn the_fields_stand_in_the_order_of_the_kinds_table() {
        let server = json!({ "ns_type": "udp", "port": 53, "ip": "10.0.0.1" });
        let entry =
            json!({ "enabled": true, "primary": true, "groups": ["a"], "nameservers": [server] });
        let text = "{\"dns\": {\"nameserver_groups\": {\"m\": {}}}}";
        let with = inserted(text, Kind::NameserverGroup, "n", entry);
        let wanted = "{\"dns\": {\"nameserver_groups\": {\"m\": {}, \"n\": { \
                      \"nameservers\": [{ \"ip\": \"10.0.0.1\", \"port\": 53, \"ns_type\": \"udp\" }], \
                      \"groups\": [\"a\"], \"primary\": true, \"enabled\": true }}}}";
        assert_eq!(with, wanted);
    }

    #[test]
    fn what_is_there_is_not_written_over() {
        let address = Address::new(Kind::Group, "a");
        for there in ["{}", "1"] {
            let text = format!("{{\"groups\": {{\"a\": {there}}}}}");
            let source = Source::from_text("f", text).unwrap();
            let error = insert_entry(&source, &address, &json!({})).unwrap_err();
            assert!(
                error.message.starts_with("\"a\" is here twice"),
                "{error:?}"
            );
        }
    }
}
