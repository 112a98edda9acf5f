//! The edit flips flags and keeps every other byte.

use std::collections::BTreeSet;

use super::{Edit, Finding, Source, flip, mark_enrolled, marked_since};

mod any_text;
mod comments;
mod on_disk;

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// The edit of a text.
fn edited(text: &str, names: &BTreeSet<String>) -> Result<Edit, Finding> {
    flip(&Source::from_text("f", text).unwrap(), names)
}

/// The text with `a` marked.
fn marked(text: &str) -> String {
    let edit = edited(text, &names(["a"])).unwrap();
    assert_eq!(edit.flipped, names(["a"]), "{text}");
    String::from_utf8(edit.text).unwrap()
}

#[test]
fn every_other_byte_stays() {
    for text in [
        "{\n  \"groups\": {},\n  \"setup_keys\": {\n    \"a\": { \"type\": \"one-off\", \"enrolled\": false }\n  }\n}\n",
        "{\"setup_keys\":{\"a\":{\"enrolled\":false,\"usage_limit\":1.10e2}}}",
        "\u{feff}{\r\n\t\"setup_keys\" : {\r\n\t\t\"\\u0061\" : {\r\n\t\t\t\"enrolled\" : false\r\n\t\t}\r\n\t}\r\n}",
        "{\"setup_keys\":{\"\\u00fcber\":{\"enrolled\":false,\"x\":false},\"a\":{\"enrolled\":\n\n false}},\"b\":\"\\u00fc\\/é🦉\"}  \n\n",
    ] {
        let keep = text.rfind("\"enrolled\"").unwrap();
        let at = keep + text[keep..].find("false").unwrap();
        let wanted = if text.contains("ber\"") {
            // The first flag belongs to another key.
            format!("{}true{}", &text[..at], &text[at + 5..])
        } else {
            text.replacen("false", "true", 1)
        };
        assert_eq!(marked(text), wanted);
    }
}

#[test]
fn the_field_is_added_as_its_neighbours_are_written() {
    for (before, after) in [
        (r#"{"x": 1}"#, r#"{"x": 1, "enrolled": true}"#),
        (r#"{"x":1}"#, r#"{"x":1,"enrolled":true}"#),
        (r#"{ "x": 1 }"#, r#"{ "x": 1, "enrolled": true }"#),
        (r#"{"x": 1,"y" :2}"#, r#"{"x": 1,"y" :2,"enrolled" :true}"#),
        (
            "{\n      \"x\": 1\n    }",
            "{\n      \"x\": 1,\n      \"enrolled\": true\n    }",
        ),
        (
            "{\r\n\t\"x\": 1,\r\n\t\"y\": []\r\n}",
            "{\r\n\t\"x\": 1,\r\n\t\"y\": [],\r\n\t\"enrolled\": true\r\n}",
        ),
        (
            "{ \"x\": 1\n, \"y\": 2\n}",
            "{ \"x\": 1\n, \"y\": 2\n, \"enrolled\": true\n}",
        ),
        ("{\"x\":\n 1}", "{\"x\":\n 1, \"enrolled\": true}"),
    ] {
        let around = |key: &str| format!("{{\n  \"setup_keys\": {{\n    \"a\": {key}\n  }}\n}}\n");
        assert_eq!(marked(&around(before)), around(after));
    }
}

#[test]
fn what_became_of_each_name() {
    let text = r#"{"setup_keys": {"a": {"enrolled": false}, "b": {"enrolled": true}, "c": {"enrolled": false}}}"#;
    let edit = edited(text, &names(["a", "b", "d"])).unwrap();
    assert_eq!(
        edit,
        Edit {
            text: text.replacen("false", "true", 1).into_bytes(),
            flipped: names(["a"]),
            already: names(["b"]),
            missing: names(["d"]),
        }
    );
    for text in [
        "{}",
        "{\"setup_keys\": {}}",
        " {\"groups\": {\"a\": {}}}\r\n",
    ] {
        let edit = edited(text, &names(["a"])).unwrap();
        assert_eq!(
            (edit.text.as_slice(), edit.missing),
            (text.as_bytes(), names(["a"]))
        );
    }
}

#[test]
fn which_keys_are_marked_since() {
    let entry = |a: &str| {
        format!(
            r#"{{"setup_keys": {{"a": {a}, "\u0062": {{"type": "one-off", "enrolled": true}}, "d": 1}}}}"#
        )
    };
    let since = |base: &str, text: &str| marked_since(base.as_bytes(), text.as_bytes());
    let marked = entry(r#"{"type": "one-off", "enrolled": true}"#);
    for (base, wanted) in [
        (
            entry(r#"{"type": "one-off", "enrolled": false}"#),
            names(["a"]),
        ),
        (entry(r#"{"type": "one-off"}"#), names(["a"])),
        (marked.clone(), names([])),
        // it asks for another machine since
        (
            entry(
                r#"{"type": "one-off", "reissue_after": "2026-12-01T12:00:00Z", "enrolled": false}"#,
            ),
            names([]),
        ),
        ("{}".to_owned(), names([])),
    ] {
        assert_eq!(since(&base, &marked), wanted, "{base}");
    }
    assert_eq!(since(&marked, "{}"), names([]));
    // a text that cannot be read has no say
    let pending = entry(r#"{"type": "one-off"}"#);
    let twice = marked.replace("\"d\": 1", "\"d\": 1, \"d\": 1");
    assert_eq!(since(&pending, &twice), names([]));
}

#[test]
fn a_text_that_is_no_valid_file_is_refused_with_the_place() {
    for (text, wanted) in [
        ("", "f is empty"),
        ("[]", "f:1:1\n    expected one object"),
        (
            "{\"setup_keys\":\n {\"a\": true}}",
            "f:2:8  setup_keys.a\n    expected a setup key",
        ),
        (
            "{\"setup_keys\": {\"ä\": {}, \"a\": {}, \"\\u0061\": {}}}",
            "f:1:35  setup_keys.a\n    \"a\" is here twice",
        ),
        ("{\"setup_keys\": {},}", "f:1:18\n    trailing comma"),
        (
            "{\"setup_keys\": {}}\n<<<<<<< HEAD\n",
            "f:2:1\n    an unresolved merge conflict",
        ),
    ] {
        let error = mark_enrolled("f", text.as_bytes(), &names(["a"])).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(wanted), "{text:?}: {error}");
    }
    let error = mark_enrolled("f", b"{\n\"\xff\"}", &names(["a"])).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("f:2:2  this byte is not UTF-8"),
        "{error}"
    );
}
