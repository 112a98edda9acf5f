//! The text of an inventory: JSON, sorted, one entry a line, so that a diff of two versions says what happened.

use std::collections::BTreeMap;
use std::fmt;

use rustc_hash::FxHashMap;
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Inventory, Left, Machine};
use crate::base::{Evidence, Id};

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
    /// Reads a text. Errors where it is not a JSON object, has a form that is not known, or names no account.
    pub fn parse(text: &[u8]) -> Result<Self, Unreadable> {
        let refuse = |why: String| Err(Unreadable::Damaged(why));
        let mut fields: BTreeMap<String, &RawValue> = match serde_json::from_slice(text) {
            Ok(Once(fields)) => fields,
            Err(error) => {
                let what = if error.is_data() {
                    "a JSON object"
                } else {
                    "JSON"
                };
                let why = crate::base::json::why(&error);
                return refuse(format!("it is not {what}: {why}"));
            }
        };
        match take(&mut fields, "format_version") {
            Ok(Some(FORMAT)) => {}
            Ok(Some(other)) if other > FORMAT => return Err(Unreadable::Newer(other)),
            _ => return refuse("it has no format_version".into()),
        }
        let fields = &mut fields;
        let mut inventory = Inventory {
            account: take::<Option<_>>(fields, "account")?.unwrap_or_default(),
            file: take::<Option<_>>(fields, "file")?.unwrap_or_default(),
            applied_commit: take(fields, "applied_commit")?,
            created: take::<Once<_>>(fields, "created")?.0,
            adopted: take::<Once<_>>(fields, "adopted")?.0,
            let_go: take::<Once<_>>(fields, "let_go")?.0,
            released: take(fields, "released")?,
            gone: take::<Once<_>>(fields, "gone")?.0,
            enrolled: take::<Once<_>>(fields, "enrolled")?.0,
            names: take::<Once<_>>(fields, "names")?.0,
            ..Inventory::default()
        };
        let members = take::<Once<Once<Id>>>(fields, "members")?.0.into_iter();
        inventory.members = members.map(|(group, of)| (group, of.0)).collect();
        for field in fields.keys().cloned().collect::<Vec<_>>() {
            let value = take(fields, &field)?;
            inventory.unknown.insert(field, value);
        }
        let let_go = inventory.let_go.iter();
        let let_go =
            let_go.flat_map(|(key, left)| left.ids.iter().map(move |id| (key.as_str(), id)));
        let mut entries = FxHashMap::default();
        for (key, id) in inventory
            .recorded()
            .map(|(key, id, _)| (key, id))
            .chain(let_go)
        {
            if id.0.is_empty() {
                return refuse("an id in it is empty".into());
            }
            if let Some(other) = entries.insert(id, key) {
                return refuse(format!("it has id {id} twice, for {other} and for {key}"));
            }
        }
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

/// Takes a field out and reads it; what stands for nothing where it is not there.
fn take<T: DeserializeOwned + Default>(
    fields: &mut BTreeMap<String, &RawValue>,
    field: &str,
) -> Result<T, Unreadable> {
    let Some(value) = fields.remove(field) else {
        return Ok(T::default());
    };
    serde_json::from_str(value.get()).map_err(|error| {
        let why = crate::base::json::why(&error);
        Unreadable::Damaged(format!("its field {field:?} has another form: {why}"))
    })
}

/// A JSON object. Of a name that it has twice nobody knows which value counts, so that is an error.
struct Once<T>(BTreeMap<String, T>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once(BTreeMap::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Once<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Once::default())
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Once<T> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Self, A::Error> {
        while let Some((name, value)) = entries.next_entry::<String, T>()? {
            let twice = format!("it has {name:?} twice");
            if self.0.insert(name, value).is_some() {
                return Err(A::Error::custom(twice));
            }
        }
        Ok(self)
    }
}

/// A machine that the event log tells is its id; another one says what told it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Id(Id),
    By { id: Id, by: Evidence },
}

impl From<Written> for Machine {
    fn from(written: Written) -> Self {
        let (id, by) = match written {
            Written::Id(id) => (id, Evidence::Event),
            Written::By { id, by } => (id, by),
        };
        Machine { id, by }
    }
}

impl<'de> Deserialize<'de> for Machine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Written::deserialize(deserializer)?.into())
    }
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
        let empty = "{\n  \"format_version\": 1,\n  \"account\": \"a\",\n  \"file\": \"f\"\n}\n";
        assert_eq!(Inventory::new("a", "f").text(), empty);
        assert_eq!(inventory.names["cam-9"], None);
        assert_eq!(inventory.enrolled["Pilot-hawk-72"][1].by, Evidence::Time);
    }

    #[test]
    fn what_is_no_inventory_is_said_and_never_an_empty_one() {
        for (text, why) in [
            ("", "it is not JSON"),
            ("[]", "it is not a JSON object"),
            ("{}", "it has no format_version"),
            (
                r#"{"format_version": 0, "account": "a"}"#,
                "it has no format_version",
            ),
            (
                r#"{"format_version": 2, "account": "a"}"#,
                "use a newer version",
            ),
            (r#"{"format_version": 1}"#, "it names no account"),
            (
                r#"{"format_version": 1, "account": "a", "created": {"groups/x": "dc"}}"#,
                "its field \"created\" has another form",
            ),
            (
                r#"{"format_version": 1, "account": "a", "gone": {"groups/x": {"ids": [1]}}}"#,
                "its field \"gone\" has another form",
            ),
            (
                r#"{"format_version": 1, "account": "a", "adopted": {"groups/x": [""]}}"#,
                "an id in it is empty",
            ),
            (
                r#"{"format_version": 1, "account": "a", "created": {"policies/p": ["i"], "policies/q": ["i"]}}"#,
                "it has id i twice, for policies/p and for policies/q",
            ),
            (
                r#"{"format_version": 1, "account": "a", "created": {"groups/g": ["i"]}, "let_go": {"groups/h": {"ids": ["i"], "cause": null}}}"#,
                "it has id i twice, for groups/g and for groups/h",
            ),
            (
                r#"{"format_version": 1, "account": "a", "created": {"#,
                "it is not JSON",
            ),
            (
                r#"{"format_version": 1, "account": "a", "created": {}, "created": {"groups/g": ["i"]}}"#,
                "it has \"created\" twice",
            ),
            (
                r#"{"format_version": 1, "account": "a", "created": {"groups/g": ["i"], "groups/g": ["j"]}}"#,
                "it has \"groups/g\" twice",
            ),
            (
                r#"{"format_version": 1, "account": "a", "members": {"g": {"m": "i", "m": "j"}}}"#,
                "it has \"m\" twice",
            ),
        ] {
            let error = Inventory::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
