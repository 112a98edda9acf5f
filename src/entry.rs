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

    /// Takes a list apart as [`list`](Self::list) does, and reads each entry on the way: `None` where one of them cannot be
    /// read.
    pub fn list_read<T: DeserializeOwned>(body: Vec<u8>) -> Result<Listed<T>, Vec<u8>> {
        let answer = Arc::new(String::from_utf8(body).map_err(|error| error.into_bytes())?);
        let Some((places, read)) = read_each(&answer) else {
            let entries = Entry::list(Arc::unwrap_or_clone(answer).into_bytes())?;
            return Ok((entries, None));
        };
        let entry = |at| {
            let answer = answer.clone();
            Entry { answer, at }
        };
        Ok((places.into_iter().map(entry).collect(), Some(read)))
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

/// The entries of a list, and what was read of each in their order.
pub type Listed<T> = (Vec<Entry>, Option<Vec<T>>);

/// The places of a list's entries, and what was read of each; `None` where it is no list, or one cannot be read.
fn read_each<T: DeserializeOwned>(list: &str) -> Option<(Vec<Range<usize>>, Vec<T>)> {
    let mut rest = list
        .trim_ascii_start()
        .strip_prefix('[')?
        .trim_ascii_start();
    let (mut places, mut read) = (Vec::new(), Vec::new());
    let mut goes_on = !rest.starts_with(']');
    while goes_on {
        let at = list.len() - rest.len();
        let mut one = serde_json::Deserializer::from_str(rest).into_iter::<T>();
        read.push(one.next()?.ok()?);
        let end = at + one.byte_offset();
        places.push(at..end);
        rest = list[end..].trim_ascii_start();
        let after_comma = rest.strip_prefix(',').map(str::trim_ascii_start);
        goes_on = after_comma.is_some();
        rest = after_comma.unwrap_or(rest);
    }
    let is_all = rest.strip_prefix(']')?.trim_ascii().is_empty();
    is_all.then_some((places, read))
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
    fn what_is_read_on_the_way_is_what_is_read_later() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Named {
            id: u8,
        }
        let rows = [
            (" [ ] ", true),
            (
                "[{\"id\":1,\"a\":[{\"id\":2}]} , {\"b\": \"]},{\", \"id\": 3}]\n",
                true,
            ),
            ("[{\"id\":1},{\"id\":\"two\"}]", false),
            ("null", false),
        ];
        for (body, is_read) in rows {
            let list = Entry::list(body.as_bytes().to_vec()).expect("a list");
            let (entries, read) =
                Entry::list_read::<Named>(body.as_bytes().to_vec()).expect("a list");
            let texts = entries.iter().map(Entry::text);
            assert!(texts.eq(list.iter().map(Entry::text)), "{body}");
            let later = || entries.iter().map(|entry| entry.read().expect("an id"));
            let later = is_read.then(|| later().collect::<Vec<Named>>());
            assert_eq!(read, later, "{body}");
        }
        for body in [
            "[{\"id\":1},]",
            "[{\"id\":1} {\"id\":2}]",
            "[{\"id\":1}",
            "[] 2",
            "{}",
        ] {
            let bytes = body.as_bytes().to_vec();
            let read = Entry::list_read::<Named>(bytes.clone()).map(|_| ());
            assert_eq!(read, Err(bytes), "{body}");
        }
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
