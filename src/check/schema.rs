//! The JSON Schema of netbird.json, made from the tables of fields: `netbird-gitops schema` prints it, and
//! docs/netbird.schema.json is its copy for editors.

use serde_json::{Map, Value, json};

use crate::file::{COMMENT, Objects, Outline, Presence, Row, Shape};
use crate::model::kind::values::names;
use crate::model::{Descriptor, Kind};

/// Returns the schema.
pub fn schema() -> Value {
    let mut properties = Map::from_iter([(
        "$schema".to_owned(),
        json!({ "description": "Address of this schema, for editors.", "type": "string" }),
    )]);
    let mut definitions = Map::from_iter([("name".to_owned(), name(names::MAX_CHARS))]);
    for kind in Kind::sections() {
        let descriptor = kind.descriptor();
        let (section, folders) = descriptor.section.split_last().expect("a section");
        let place = folders.iter().fold(&mut properties, |place, folder| {
            let folder = place.entry(*folder).or_insert_with(|| {
                json!({ "description": "Sections by name.", "type": "object", "additionalProperties": false,
                        "properties": {} })
            });
            let inside = folder["properties"].as_object_mut();
            inside.expect("made above")
        });
        let entries = match kind.is_one() {
            true => json!({ "allOf": [{ "$ref": format!("#/definitions/{}", kind.word()) }],
                            "description": descriptor.about }),
            false => entries(descriptor),
        };
        place.insert((*section).to_owned(), entries);
        let outline = kind.outline();
        definitions.insert(kind.word().to_owned(), object(&outline));
        for inner in objects(&outline) {
            definitions.insert(inner.word.to_owned(), object(&(inner.outline)()));
        }
    }
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "netbird.json",
        "description": "A NetBird network, applied by netbird-gitops. A section that is left out is not managed; an empty \
                        one wants no objects.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "definitions": definitions,
    });
    with_comments(&mut schema);
    schema
}

/// Lets every object have a comment.
fn with_comments(schema: &mut Value) {
    if schema["additionalProperties"] != Value::Null && schema["type"] == "object" {
        schema["properties"][COMMENT] = json!({ "type": "string" });
    }
    match schema {
        Value::Object(members) => members.values_mut().for_each(with_comments),
        Value::Array(elements) => elements.iter_mut().for_each(with_comments),
        _ => {}
    }
}

/// Returns the schema's text.
pub fn text() -> String {
    let text = serde_json::to_string_pretty(&schema()).expect("plain values serialise");
    text + "\n"
}

/// The entries of a section, by name.
fn entries(descriptor: &Descriptor) -> Value {
    let mut names = match descriptor.longest_name {
        names::MAX_CHARS => json!({ "$ref": "#/definitions/name" }),
        shorter => name(shorter),
    };
    if let Some(reserved) = descriptor.reserved_name {
        names = json!({ "allOf": [names, { "not": { "const": reserved } }] });
    }
    let one = json!({ "$ref": format!("#/definitions/{}", descriptor.called[2]) });
    let entry = match descriptor.is_several {
        true => json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] }),
        false => one,
    };
    json!({
        "description": descriptor.about,
        "type": "object",
        "propertyNames": names,
        "additionalProperties": entry,
    })
}

fn name(longest: usize) -> Value {
    json!({
        "description": format!("A name: 1 to {longest} characters, no space at either end."),
        "type": "string",
        "minLength": 1,
        "maxLength": longest,
        "pattern": r"^\S([\s\S]*\S)?$",
    })
}

/// The lists of objects in these fields, and in the objects of these.
fn objects(outline: &Outline) -> Vec<Objects> {
    let of = |row: &Row| {
        let own = match row.shape {
            Shape::Objects(inner) | Shape::Named(inner) => vec![inner],
            _ => Vec::new(),
        };
        let inner = row.shape.inner().map(|inner| objects(&inner()));
        [own, inner.unwrap_or_default()].concat()
    };
    outline.rows.iter().flat_map(of).collect()
}

/// An object of these fields.
fn object(outline: &Outline) -> Value {
    let rows = outline.rows.iter();
    let properties = rows.map(|row| (row.name.to_owned(), field(row)));
    let properties: Map<String, Value> = properties.collect();
    let rows = outline.rows.iter();
    let required = rows.filter(|row| row.presence == Presence::Required);
    let required: Vec<&str> = required.map(|row| row.name).collect();
    let mut object = parsed(outline.rules);
    object["type"] = json!("object");
    object["additionalProperties"] = json!(false);
    object["properties"] = properties.into();
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn field(row: &Row) -> Value {
    let one = |word: &str| json!({ "$ref": format!("#/definitions/{word}") });
    let mut field = match row.shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Whole(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Shape::Object(outline) => {
            let mut one = object(&outline());
            // an empty one says nothing: what cannot be left out is wanted beside the others
            if let Some(Value::Array(required)) =
                one.as_object_mut().expect("made there").remove("required")
            {
                let rest = |one: &Value| required.iter().filter(|it| *it != one).cloned().collect();
                let each = required
                    .iter()
                    .map(|it| (it.as_str().unwrap_or_default().to_owned(), rest(it)));
                one["dependencies"] = each.collect::<Map<_, _>>().into();
            }
            one
        }
        Shape::Named(Objects { word, .. }) => {
            json!({ "type": "object", "propertyNames": one("name"), "additionalProperties": one(word) })
        }
        Shape::Objects(Objects { word, count, .. }) => {
            let mut list = json!({ "type": "array", "items": one(word) });
            if let Some((least, most)) = count {
                list["minItems"] = json!(least);
                if most < usize::MAX {
                    list["maxItems"] = json!(most);
                }
            }
            list
        }
        Shape::Schema(text) => parsed(text),
    };
    field["description"] = json!(row.doc);
    if let Some(default) = row.default {
        field["default"] = parsed(default);
    }
    field
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("what a table says is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a kind's fields in the reference.
    fn reference(outline: &Outline, before: &str) -> String {
        let line = |row: &Row| {
            let left_out = match (row.presence, row.default) {
                (Presence::Required, _) => "required".to_owned(),
                (_, Some(default)) if !matches!(row.shape, Shape::Text) => format!("`{default}`"),
                (_, Some(_)) => "empty".to_owned(),
                (_, None) => String::new(),
            };
            let doc = row.doc.replace('|', "\\|");
            format!("| `{before}{}` | {doc} | {left_out} |\n", row.name)
        };
        outline.rows.iter().map(line).collect()
    }

    #[test]
    fn the_schema_for_editors_is_the_programs() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/netbird.schema.json");
        let there = std::fs::read_to_string(path).expect("a file");
        assert!(
            there == text(),
            "write docs/netbird.schema.json anew: cargo run -- schema > docs/netbird.schema.json"
        );
    }

    /// A file that manages nothing yet is a note of validate, and no error.
    #[test]
    fn a_file_may_have_no_section() {
        for rule in ["required", "anyOf", "oneOf", "allOf", "minProperties"] {
            assert_eq!(schema()[rule], Value::Null, "{rule}");
        }
    }

    #[test]
    fn every_field_says_what_it_is() {
        for kind in Kind::ALL {
            for row in kind.outline().rows {
                assert!(row.doc.ends_with('.'), "{} of {}", row.name, kind.label());
            }
        }
    }

    #[test]
    fn the_reference_has_the_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/netbird-json.md");
        let page = std::fs::read_to_string(path).expect("a file");
        let outlines = || Kind::sections().map(|kind| kind.outline());
        let nested = outlines().flat_map(|outline| {
            let rows = outline.rows.into_iter();
            rows.filter_map(|row| {
                let before = match row.shape {
                    Shape::Object(_) => format!("{}.", row.name),
                    Shape::Named(_) => format!("{}.*.", row.name),
                    _ => format!("{}[].", row.name),
                };
                Some(reference(&row.shape.inner()?(), &before))
            })
        });
        let tables = outlines().map(|outline| reference(&outline, ""));
        let tables = tables.chain(nested);
        let missing: Vec<String> = tables.filter(|table| !page.contains(table)).collect();
        assert!(
            missing.is_empty(),
            "docs/netbird-json.md lacks:\n{}",
            missing.join("\n")
        );
    }
}
