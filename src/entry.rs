//! One object as the server answered it: its text, shared and not copied, and read when somebody asks what is in it.
//!
//! An account of 10,000 peers is 16 MB of answers. Of most objects a run reads a few fields once; the rest only has to go
//! back as it came.

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;
use serde_json::value::RawValue;

/// An object of an answer. Clones share its text.
#[derive(Clone)]
pub struct Entry {
    answer: Arc<String>,
    /// Where in the answer it stands.
    at: Range<usize>,
}

impl Entry {
    /// Takes the body of an answer apart. `null` is an empty list (docs/netbird-api.md, "Null, empty and absent").
    ///
    /// Errors with the body where it is no list in JSON. What nobody reads of an entry is checked no further than its
    /// grammar.
    pub fn list(body: Vec<u8>) -> Result<Vec<Entry>, Vec<u8>> {
        let answer = Arc::new(String::from_utf8(body).map_err(|error| error.into_bytes())?);
        let start = answer.as_ptr().addr();
        let place = |raw: &&RawValue| {
            let from = raw.get().as_ptr().addr() - start;
            from..from + raw.get().len()
        };
        let places = serde_json::from_str::<Option<Vec<&RawValue>>>(&answer);
        let places = places.map(|raw| raw.iter().flatten().map(place).collect::<Vec<_>>());
        match places {
            Ok(places) => Ok(places
                .into_iter()
                .map(|at| Entry {
                    answer: answer.clone(),
                    at,
                })
                .collect()),
            Err(_) => Err(Arc::unwrap_or_clone(answer).into_bytes()),
        }
    }

    /// Reads some of it. What the type does not have is skipped.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text())
    }

    /// Reads all of it. Errors where it holds a number or an escape that nothing can stand for.
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        self.read()
    }

    fn text(&self) -> &str {
        &self.answer[self.at.clone()]
    }
}

impl From<Value> for Entry {
    fn from(value: Value) -> Self {
        let text = value.to_string();
        Entry {
            at: 0..text.len(),
            answer: Arc::new(text),
        }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
            || matches!((self.value(), other.value()), (Ok(one), Ok(other)) if one == other)
    }
}

/// Without its text, which is for no log.
impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry of {} bytes", self.at.len())
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.value().map_err(ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Entry::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(body: &str) -> Option<Vec<Value>> {
        let entries = Entry::list(body.as_bytes().to_vec()).ok()?;
        Some(
            entries
                .iter()
                .map(|entry| entry.value().expect("JSON"))
                .collect(),
        )
    }

    #[test]
    fn a_list_is_taken_apart() {
        let rows = [
            ("null", Some(vec![])),
            (" [ ] ", Some(vec![])),
            ("[{\"a\": [1, {}]} ,\n\"ü\", 7,null]", {
                Some(vec![
                    json!({ "a": [1, {}] }),
                    json!("ü"),
                    json!(7),
                    json!(null),
                ])
            }),
            ("{}", None),
            ("", None),
            ("[1", None),
            ("[1] 2", None),
            ("[{\"a\" 1}]", None),
        ];
        for (body, entries) in rows {
            assert_eq!(list(body), entries, "{body}");
        }
        let no_text = b"[\"\xff\"]".to_vec();
        assert_eq!(
            Entry::list(no_text.clone()).map(|_| ()),
            Err(no_text),
            "the body comes back"
        );
    }

    #[test]
    fn equal_is_what_says_the_same() {
        let entries = Entry::list(b"[{\"a\":1,\"b\":2},{ \"b\":2, \"a\":1 },{\"a\":1}]".to_vec());
        let entries = entries.expect("a list");
        assert_eq!(entries[0], entries[1]);
        assert_ne!(entries[0], entries[2]);
    }

    #[test]
    fn what_is_sent_back_is_what_came() {
        // a float that is off by one bit where it is not read exactly
        let text = r#"[{"f":51.248178375505404,"k":18446744073709551615,"t":"é\n"}]"#;
        let entries = Entry::list(text.as_bytes().to_vec()).expect("a list");
        let value = entries[0].value().expect("JSON");
        assert_eq!(format!("[{value}]"), text);
        let again = Entry::from(value.clone()).value().expect("JSON");
        assert_eq!(value.to_string(), again.to_string());
    }

    #[test]
    fn nothing_of_it_is_in_a_log() {
        let entry = Entry::from(json!({ "key": "secret" }));
        assert!(!format!("{entry:?}").contains("secret"));
    }
}
