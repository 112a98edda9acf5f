//! The text of an inventory: JSON, sorted, one entry a line, so that a diff of two versions says what happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value, json};

use super::{Inventory, Left, Machine};
use crate::base::evidence::Evidence;
use crate::base::id::Id;

/// The version of the form that this program writes, and the greatest that it reads.
const FORMAT: u64 = 1;

/// Why a text is no inventory that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// A newer version of this program wrote it: in this form.
    Newer(u64),
    /// It is damaged, in words.
    Damaged(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Newer(version) => write!(
                f,
                "its format_version is {version}, and this netbird-gitops reads up to {FORMAT}: use a newer version"
            ),
            Unreadable::Damaged(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Inventory {
    /// Reads a text. Errors where it is no JSON object, has a form that is not known, or names no account.
    pub fn parse(text: &[u8]) -> Result<Self, Unreadable> {
        let refuse = |why: String| Err(Unreadable::Damaged(why));
        let mut fields: Map<String, Value> = match serde_json::from_slice(text) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return refuse("it is no JSON object".into()),
            Err(error) => {
                return refuse(format!("it is no JSON: {}", crate::base::json::why(&error)));
            }
        };
        match fields.remove("format_version").map(|value| value.as_u64()) {
            Some(Some(FORMAT)) => {}
            Some(Some(other)) if other > FORMAT => return Err(Unreadable::Newer(other)),
            _ => return refuse("it has no format_version".into()),
        }
        let inventory = Inventory {
            account: text_of(&mut fields, "account")?.unwrap_or_default(),
            file: text_of(&mut fields, "file")?.unwrap_or_default(),
            applied_commit: text_of(&mut fields, "applied_commit")?,
            created: each(&mut fields, "created", ids_of)?,
            adopted: each(&mut fields, "adopted", ids_of)?,
            let_go: each(&mut fields, "let_go", left_of)?,
            released: match fields.remove("released") {
                None => BTreeSet::new(),
                Some(ids) => {
                    let ids = ids_of(&ids).ok_or_else(|| wrong("released"))?;
                    ids.into_iter().collect()
                }
            },
            gone: each(&mut fields, "gone", left_of)?,
            members: each(&mut fields, "members", |value| {
                let members = value.as_object()?.iter();
                let member = |(name, id): (&String, &Value)| Some((name.clone(), id_of(id)?));
                members.map(member).collect()
            })?,
            enrolled: each(&mut fields, "enrolled", |value| {
                value.as_array()?.iter().map(machine_of).collect()
            })?,
            names: each(&mut fields, "names", |value| match value {
                Value::Null => Some(None),
                id => id_of(id).map(Some),
            })?,
            unknown: fields,
            ..Inventory::default()
        };
        if inventory.account.is_empty() {
            return refuse("it names no account".into());
        }
        Ok(inventory)
    }

    /// Returns the text.
    pub fn text(&self) -> String {
        let head = [
            ("format_version", Some(json!(FORMAT))),
            ("account", Some(json!(self.account))),
            ("file", Some(json!(self.file))),
            (
                "applied_commit",
                self.applied_commit.as_ref().map(|id| json!(id)),
            ),
        ];
        let head = head
            .into_iter()
            .filter_map(|(field, value)| Some(line(field, &value?)));
        let left = |left: &Left| json!({ "ids": left.ids, "cause": left.cause });
        let sections = [
            section("created", &self.created, |ids| json!(ids)),
            section("adopted", &self.adopted, |ids| json!(ids)),
            section("let_go", &self.let_go, left),
            section("gone", &self.gone, left),
            section("members", &self.members, |members| json!(members)),
            section("enrolled", &self.enrolled, |machines| {
                machines.iter().map(written).collect()
            }),
            section("names", &self.names, |id| json!(id)),
        ];
        let released = (!self.released.is_empty()).then(|| line("released", &json!(self.released)));
        let unknown = self.unknown.iter().map(|(field, value)| line(field, value));
        let fields: Vec<String> = head
            .chain(sections.into_iter().flatten())
            .chain(released)
            .chain(unknown)
            .collect();
        format!("{{\n{}\n}}\n", fields.join(",\n"))
    }
}

fn line(field: &str, value: &Value) -> String {
    format!("  {}: {value}", Value::from(field))
}

/// A field with an entry a line; nothing where there is no entry.
fn section<T>(
    field: &str,
    entries: &BTreeMap<String, T>,
    value: impl Fn(&T) -> Value,
) -> Option<String> {
    let entry = |(key, of): (&String, &T)| format!("    {}: {}", json!(key), value(of));
    let lines: Vec<String> = entries.iter().map(entry).collect();
    let is_empty = lines.is_empty();
    (!is_empty).then(|| format!("  {}: {{\n{}\n  }}", json!(field), lines.join(",\n")))
}

fn wrong(field: &str) -> Unreadable {
    Unreadable::Damaged(format!("its field {field:?} has another form"))
}

fn text_of(fields: &mut Map<String, Value>, field: &str) -> Result<Option<String>, Unreadable> {
    match fields.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(field)),
    }
}

/// Reads a field that has a value of one form for each entry.
fn each<T>(
    fields: &mut Map<String, Value>,
    field: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<BTreeMap<String, T>, Unreadable> {
    let entries = match fields.remove(field) {
        None => return Ok(BTreeMap::new()),
        Some(Value::Object(entries)) => entries,
        Some(_) => return Err(wrong(field)),
    };
    let read = |(key, value): (String, Value)| {
        let value = read(&value).ok_or_else(|| wrong(&format!("{field}.{key}")))?;
        Ok((key, value))
    };
    entries.into_iter().map(read).collect()
}

fn id_of(value: &Value) -> Option<Id> {
    value.as_str().filter(|text| !text.is_empty()).map(Id::from)
}

fn ids_of(value: &Value) -> Option<Vec<Id>> {
    value.as_array()?.iter().map(id_of).collect()
}

fn left_of(value: &Value) -> Option<Left> {
    let cause = match value.get("cause") {
        None | Some(Value::Null) => None,
        Some(cause) => Some(cause.as_str()?.to_owned()),
    };
    let ids = ids_of(value.get("ids")?)?;
    Some(Left { ids, cause })
}

/// A machine that the event log tells is its id; another one says what told it.
fn machine_of(value: &Value) -> Option<Machine> {
    let by = match value.get("by").map(|by| by.as_str()) {
        None => Evidence::Event,
        Some(Some("time")) => Evidence::Time,
        Some(Some("name")) => Evidence::Name,
        Some(_) => return None,
    };
    let id = id_of(value.get("id").unwrap_or(value))?;
    Some(Machine { id, by })
}

fn written(machine: &Machine) -> Value {
    match machine.by {
        Evidence::Event => json!(machine.id),
        by => json!({ "id": machine.id, "by": by }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r##"{
  "format_version": 1,
  "account": "dc5",
  "file": "netbird.json",
  "applied_commit": "1b78",
  "created": {
    "groups/pilots": ["dc59"],
    "routers/hangar": ["dc5c","dc5d"]
  },
  "adopted": {
    "policies/old-ssh": ["dc41"]
  },
  "let_go": {
    "policies/older": {"cause":"#41","ids":["dc40"]}
  },
  "gone": {
    "groups/crew": {"cause":null,"ids":["dc3f"]}
  },
  "members": {
    "pilots": {"Pilot-hawk-72":"dc6e"}
  },
  "enrolled": {
    "Pilot-hawk-72": ["dc6e",{"by":"time","id":"dc6d"}]
  },
  "names": {
    "cam-9": null,
    "raspberry-1": "dc6f"
  },
  "released": ["dc3e"],
  "later": {"a":1}
}
"##;

    #[test]
    fn a_text_is_read_and_written_as_it_was() {
        let inventory = Inventory::parse(TEXT.as_bytes()).unwrap();
        assert_eq!(inventory.text(), TEXT);
        assert_eq!(inventory.names["cam-9"], None);
        assert_eq!(inventory.enrolled["Pilot-hawk-72"][1].by, Evidence::Time);
    }

    #[test]
    fn what_is_no_inventory_is_said_and_never_an_empty_one() {
        for (text, why) in [
            ("", "it is no JSON"),
            ("[]", "it is no JSON object"),
            ("{}", "it has no format_version"),
            (
                r#"{"format_version": 2, "account": "a"}"#,
                "use a newer version",
            ),
            (r#"{"format_version": 1}"#, "it names no account"),
            (
                r#"{"format_version": 1, "account": "a", "created": {"groups/x": "dc"}}"#,
                "\"created.groups/x\"",
            ),
            (
                r#"{"format_version": 1, "account": "a", "gone": {"groups/x": {"ids": [1]}}}"#,
                "\"gone.groups/x\"",
            ),
            (
                r#"{"format_version": 1, "account": "a", "created": {"#,
                "it is no JSON",
            ),
        ] {
            let error = Inventory::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
