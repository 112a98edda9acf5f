//! One object as the server answered it: its text, shared and not copied, and read when somebody asks what is in it.
//!
//! An account of 10,000 peers is 16 MB of answers. Of most objects a run reads a few fields once; the rest only has to go
//! back as it came.

use std::ops::Range;
use std::sync::Arc;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;

use crate::base::{Share, UsedUp, budget};

/// An object of an answer. Clones share its text.
#[derive(Clone)]
pub struct Entry {
    answer: Arc<Answer>,
    /// Where in the answer it stands.
    at: Range<usize>,
}

/// A list as it came, and what it takes of the budget for all of them.
struct Answer {
    text: String,
    _share: Share,
}

/// Why a body was not taken apart.
#[derive(Debug)]
pub enum NoList {
    /// It is not a list in JSON; it comes back.
    Body(Vec<u8>, Share),
    /// With all others, its entries are too many.
    TooMany(UsedUp),
}

impl Entry {
    /// Takes the body of an answer apart and reads each entry on the way: nothing is read where one of them cannot be. `null` is
    /// an empty list (docs/netbird-api.md, "Null, empty and absent").
    ///
    /// What nobody reads of an entry is checked no further than its grammar.
    pub fn list<T: DeserializeOwned>(body: Vec<u8>, share: Share) -> Result<Listed<T>, NoList> {
        let (body, share) = match take(body, share) {
            Err(NoList::Body(body, share)) => (body, share),
            taken => return taken.map(|(entries, read)| (entries, Some(read))),
        };
        match take::<IgnoredAny>(body, share) {
            Err(NoList::Body(body, _)) if body.trim_ascii() == b"null" => Ok((Vec::new(), None)),
            taken => taken.map(|(entries, _)| (entries, None)),
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
        &self.answer.text[self.at.clone()]
    }
}

/// The entries of a list, and what was read of each in their order.
pub type Listed<T> = (Vec<Entry>, Option<Vec<T>>);

/// Takes a list apart whose entries can all be read.
fn take<T: DeserializeOwned>(
    body: Vec<u8>,
    mut share: Share,
) -> Result<(Vec<Entry>, Vec<T>), NoList> {
    let text = match String::from_utf8(body) {
        Ok(text) => text,
        Err(error) => return Err(NoList::Body(error.into_bytes(), share)),
    };
    let before = share.held();
    match read_each(&text, &mut share) {
        Ok(Some((places, read))) => {
            let _share = share;
            let answer = &Arc::new(Answer { text, _share });
            let entry = |at| Entry {
                answer: answer.clone(),
                at,
            };
            Ok((places.into_iter().map(entry).collect(), read))
        }
        Ok(None) => {
            share.shrink_to(before);
            Err(NoList::Body(text.into_bytes(), share))
        }
        Err(used_up) => Err(NoList::TooMany(used_up)),
    }
}

/// The places of a list's entries, and what was read of each.
type Read<T> = (Vec<Range<usize>>, Vec<T>);

/// Reads the entries of a list; `None` where it is none, or one cannot be read.
fn read_each<T: DeserializeOwned>(
    list: &str,
    share: &mut Share,
) -> Result<Option<Read<T>>, UsedUp> {
    let (mut places, mut read) = (Vec::new(), Vec::new());
    let Some(start) = list.trim_ascii_start().strip_prefix('[') else {
        return Ok(None);
    };
    let mut rest = start.trim_ascii_start();
    let mut goes_on = !rest.starts_with(']');
    while goes_on {
        share.grow(budget::ENTRY)?;
        let at = list.len() - rest.len();
        let mut one = serde_json::Deserializer::from_str(rest).into_iter::<T>();
        let Some(Ok(entry)) = one.next() else {
            return Ok(None);
        };
        read.push(entry);
        let end = at + one.byte_offset();
        places.push(at..end);
        rest = list[end..].trim_ascii_start();
        let after_comma = rest.strip_prefix(',').map(str::trim_ascii_start);
        goes_on = after_comma.is_some();
        rest = after_comma.unwrap_or(rest);
    }
    let after = rest.strip_prefix(']').map(str::trim_ascii);
    Ok((after == Some("")).then_some((places, read)))
}

impl From<Value> for Entry {
    fn from(value: Value) -> Self {
        let (text, _share) = (value.to_string(), Share::default());
        let at = 0..text.len();
        let answer = Arc::new(Answer { text, _share });
        Entry { answer, at }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.answer, &other.answer) && self.at == other.at
            || self.text() == other.text()
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
        let entries = entries(body.as_bytes().to_vec()).ok()?;
        Some(
            entries
                .iter()
                .map(|entry| entry.value().expect("JSON"))
                .collect(),
        )
    }

    fn entries(body: Vec<u8>) -> Result<Vec<Entry>, NoList> {
        Entry::list::<IgnoredAny>(body, Share::default()).map(|(entries, _)| entries)
    }

    fn body_of<T>(taken: Result<T, NoList>) -> Option<Vec<u8>> {
        match taken {
            Err(NoList::Body(body, _)) => Some(body),
            _ => None,
        }
    }

    #[test]
    fn many_small_entries_are_not_taken() {
        let budget = budget::Budget::new(10 * budget::ENTRY);
        let list = |number: usize| format!("[{}]", vec!["{}"; number].join(",")).into_bytes();
        let entries = Entry::list::<IgnoredAny>(list(10), budget.share());
        let entries = entries.expect("just few enough");
        let more = Entry::list::<IgnoredAny>(list(1), budget.share());
        assert!(matches!(more, Err(NoList::TooMany(_))));
        drop(entries);
        // of a list of which nothing is read, no entry counts twice
        let read = Entry::list::<u8>(list(10), budget.share());
        assert!(matches!(read, Ok((_, None))));
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
            body_of(entries(no_text.clone())),
            Some(no_text),
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
            let bytes = || body.as_bytes().to_vec();
            let list = entries(bytes()).expect("a list");
            let read = Entry::list::<Named>(bytes(), Share::default());
            let (entries, read) = read.expect("a list");
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
            let read = Entry::list::<Named>(bytes.clone(), Share::default());
            assert_eq!(body_of(read), Some(bytes), "{body}");
        }
    }

    #[test]
    fn equal_is_what_says_the_same() {
        let body = b"[{\"a\":1,\"b\":2},{ \"b\":2, \"a\":1 },{\"a\":1}]".to_vec();
        let entries = entries(body).expect("a list");
        assert_eq!(entries[0], entries[1]);
        assert_ne!(entries[0], entries[2]);
    }

    #[test]
    fn what_is_sent_back_is_what_came() {
        // a float that is off by one bit where it is not read exactly
        let text = r#"[{"f":51.248178375505404,"k":18446744073709551615,"t":"é\n"}]"#;
        let entries = entries(text.as_bytes().to_vec()).expect("a list");
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
