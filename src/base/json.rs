//! JSON for programs, and what is wrong with somebody's JSON in words for people: those of libraries are for programmers.

use serde::Serialize;
use serde_json::Value;
use serde_json::error::Category;

use crate::base::is_hidden;

/// Returns JSON as people write it, with a final newline; hidden characters are escaped as JSON escapes them.
pub fn text(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("a JSON value serialises");
    escape(&text) + "\n"
}

/// Returns a JSON text with the hidden characters of its strings escaped: `\u200b`.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        // what JSON allows outside of strings is ASCII
        if is_hidden(char) && !char.is_ascii_whitespace() {
            let mut units = [0; 2];
            let units = char.encode_utf16(&mut units).iter();
            escaped.extend(units.map(|unit| format!("\\u{unit:04x}")));
        } else {
            escaped.push(char);
        }
    }
    escaped
}

/// Says why a text or a value could not be read.
pub fn why(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // it repeats the position
    let before = text.rsplit_once(" at line ");
    let text = before.map_or(&*text, |(text, _)| text);
    match error.classify() {
        Category::Data => data(text),
        Category::Eof => "it ends too early: something is never closed".to_owned(),
        Category::Syntax | Category::Io => syntax(text).to_owned(),
    }
}

/// What stands there where something else belongs.
fn data(text: &str) -> String {
    let quoted = |prefix: &str| {
        let name = text.strip_prefix(prefix)?.strip_prefix('`')?;
        name.split('`').next()
    };
    let wanted = |text: &str| match text {
        "a boolean" => "true or false".to_owned(),
        "a string" | "a borrowed string" => "a text".to_owned(),
        "sequence" | "a sequence" => "a list".to_owned(),
        "map" | "a map" => "an object".to_owned(),
        text if text.starts_with("struct ") => "an object".to_owned(),
        text if text.starts_with(['u', 'i', 'f']) && text[1..].parse::<u8>().is_ok() => {
            "a number".to_owned()
        }
        text => text.replace('`', "\""),
    };
    let mut invalid = ["invalid type: ", "invalid value: ", "invalid length "].iter();
    let found = invalid.find_map(|of| text.strip_prefix(of)?.split_once(", expected "));
    if let Some(field) = quoted("missing field ") {
        format!("the field \"{field}\" is missing")
    } else if let Some(field) = quoted("unknown field ") {
        format!("there is no field \"{field}\"")
    } else if let Some(field) = quoted("duplicate field ") {
        format!("the field \"{field}\" stands there twice")
    } else if let Some((found, expected)) = found {
        format!(
            "{} stands where {} belongs",
            wanted(found),
            wanted(expected)
        )
    } else {
        text.replace('`', "\"")
    }
}

/// What is no JSON.
fn syntax(text: &str) -> &'static str {
    match text {
        text if text.starts_with("control character") => {
            "a line break or another control character in a string; write it as \\n, \\t or \\u…"
        }
        text if text.starts_with("invalid number") => "not a number of JSON",
        text if text.starts_with("recursion limit") => "nested too deep",
        _ => "this is not JSON",
    }
}

/// Returns both objects as one.
pub(crate) fn with(mut one: Value, more: Value) -> Value {
    if let (Value::Object(one), Value::Object(more)) = (&mut one, more) {
        one.extend(more);
    }
    one
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_hidden_is_escaped() {
        let value = json!({ "o\u{200b}ps": ["a b\n", "tag \u{e0041}", "\u{7f}", "Büro\u{a0}🦉"] });
        let text = text(&value);
        assert!(
            text.contains("o\\u200bps")
                && text.contains("tag \\udb40\\udc41")
                && text.contains("\\u007f")
                && text.contains("Büro\\u00a0🦉"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its form matters")]
    struct Thing {
        name: String,
        on: Option<bool>,
        count: Option<u32>,
        list: Option<Vec<Thing>>,
    }

    #[test]
    fn people_read_no_words_of_libraries() {
        let rows = [
            ("{}", "the field \"name\" is missing"),
            (
                r#"{"name": 1}"#,
                "integer \"1\" stands where a text belongs",
            ),
            (
                r#"{"name": "x", "on": "no"}"#,
                "string \"no\" stands where true or false belongs",
            ),
            (
                r#"{"name": "x", "list": {}}"#,
                "an object stands where a list belongs",
            ),
            (
                r#"{"name": "x", "list": [1]}"#,
                "integer \"1\" stands where an object belongs",
            ),
            (
                r#"{"name": "x", "count": -1}"#,
                "integer \"-1\" stands where a number belongs",
            ),
            (
                r#"{"name": "x", "colour": 1}"#,
                "there is no field \"colour\"",
            ),
            (
                r#"{"name": "x", "name": "y"}"#,
                "the field \"name\" stands there twice",
            ),
            (
                r#"{"name": "x""#,
                "it ends too early: something is never closed",
            ),
            (r#"{"name": x}"#, "this is not JSON"),
            (r#"{"name": "x"} y"#, "this is not JSON"),
        ];
        for (text, words) in rows {
            let error = serde_json::from_str::<Thing>(text).expect_err(text);
            assert_eq!(why(&error), words, "{text}: {error}");
        }
    }
}
