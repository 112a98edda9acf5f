//! Bodies of requests, decoded as Go does: unknown fields are ignored, null is the zero value, keys
//! match in any case, a wrong type is a refusal. What is done with the fields, and how a refusal
//! reads, is left to each fake.

use serde_json::{Map, Value};

/// Why a body is refused: it is not JSON, or a field is of another type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unreadable;

/// A JSON object of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body(Map<String, Value>);

impl Body {
    /// Reads the first JSON value; what stands behind it is ignored, and invalid UTF-8 becomes
    /// U+FFFD.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Body, Unreadable> {
        let text = String::from_utf8_lossy(bytes);
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => Body::from(&value),
            Some(Err(_)) | None => Err(Unreadable),
        }
    }

    fn from(value: &Value) -> Result<Body, Unreadable> {
        match value {
            Value::Object(fields) => Ok(Body(fields.clone())),
            Value::Null => Ok(Body::default()),
            _ => Err(Unreadable),
        }
    }

    /// Returns a field that is there and not null.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        let any_case = || {
            self.0
                .iter()
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        };
        self.0
            .get(name)
            .or_else(any_case)
            .filter(|value| !value.is_null())
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, Unreadable> {
        self.get(name)
            .map(|value| read(value).ok_or(Unreadable))
            .transpose()
    }

    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<String>, Unreadable> {
        self.read(name, |value| value.as_str().map(str::to_owned))
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, Unreadable> {
        Ok(self.optional_text(name)?.unwrap_or_default())
    }

    pub(crate) fn optional_flag(&self, name: &str) -> Result<Option<bool>, Unreadable> {
        self.read(name, Value::as_bool)
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, Unreadable> {
        Ok(self.optional_flag(name)?.unwrap_or_default())
    }

    pub(crate) fn number(&self, name: &str) -> Result<i64, Unreadable> {
        Ok(self.read(name, Value::as_i64)?.unwrap_or_default())
    }

    pub(crate) fn optional_texts(&self, name: &str) -> Result<Option<Vec<String>>, Unreadable> {
        self.read(name, |value| value.as_array()?.iter().map(text).collect())
    }

    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, Unreadable> {
        Ok(self.optional_texts(name)?.unwrap_or_default())
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<Body>, Unreadable> {
        self.get(name).map(Body::from).transpose()
    }

    pub(crate) fn objects(&self, name: &str) -> Result<Vec<Body>, Unreadable> {
        let items = self
            .read(name, |value| value.as_array().cloned())?
            .unwrap_or_default();
        items.iter().map(Body::from).collect()
    }

    /// Returns the keys and values, for fields whose keys are data.
    pub(crate) fn entries(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// An entry of a list of strings; null is the empty one.
fn text(value: &Value) -> Option<String> {
    if value.is_null() {
        Some(String::new())
    } else {
        value.as_str().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::Body;

    fn parse(bytes: &[u8]) -> Body {
        Body::parse(bytes).expect("a body that Go decodes")
    }

    #[test]
    fn decodes_as_go_does() {
        let body = parse(b"{\"Name\": \"a\", \"ENABLED\": null, \"x\": [1]} and more");
        assert_eq!(body.text("name").as_deref(), Ok("a"));
        assert_eq!(body.optional_flag("enabled"), Ok(None));
        assert_eq!(body.optional_texts("groups"), Ok(None));
        assert_eq!(
            parse(b"{\"a\": [null, \"b\"]}").texts("a"),
            Ok(vec![String::new(), "b".into()])
        );
        assert_eq!(parse(b"{\"a\": 1, \"a\": 2}").number("a"), Ok(2));
        assert_eq!(
            parse(b"{\"a\": \"\xff\"}").text("a").as_deref(),
            Ok("\u{fffd}")
        );
        assert_eq!(parse(b"null").text("a").as_deref(), Ok(""));
    }

    #[test]
    fn refuses_wrong_types() {
        for bytes in ["", "[]", "5", "{", "{\"a\": }"] {
            assert!(Body::parse(bytes.as_bytes()).is_err(), "{bytes}");
        }
        let body =
            parse(b"{\"text\": 5, \"number\": \"5\", \"float\": 1.5, \"texts\": [5], \"flag\": 0}");
        assert!(body.text("text").is_err());
        assert!(body.number("number").is_err());
        assert!(body.number("float").is_err());
        assert!(body.texts("texts").is_err());
        assert!(body.flag("flag").is_err());
    }
}
