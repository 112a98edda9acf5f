//! Whether two versions of the file ask for the same network: the test for an apply that came too late.

use serde_json::Value;

use super::json_of;

/// Returns whether two versions of the file differ in anything else than `enrolled` flags of setup keys.
///
/// They are compared by meaning: order, spaces and line ends do not matter. Where one of them is no JSON, every other
/// byte does.
pub fn content_differs_but_for_enrolled(a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return false;
    }
    match (without_flags(a), without_flags(b)) {
        (Some(a), Some(b)) => a != b,
        _ => true,
    }
}

fn without_flags(text: &[u8]) -> Option<Value> {
    let mut file = json_of(text)?;
    let keys = file.get_mut("setup_keys").and_then(Value::as_object_mut);
    for key in keys.into_iter().flat_map(|keys| keys.values_mut()) {
        if let Some(fields) = key.as_object_mut()
            && fields.get("enrolled").is_some_and(Value::is_boolean)
        {
            fields.remove("enrolled");
        }
    }
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::content_differs_but_for_enrolled;

    #[test]
    fn versions_that_differ_in_flags_only_ask_for_the_same() {
        let a = r#"{"groups": {"g": {"peers": ["k", "l"]}}, "setup_keys": {"k": {"enrolled": false, "type": "one-off"}}}"#;
        let differs = |b: &str| content_differs_but_for_enrolled(a.as_bytes(), b.as_bytes());
        for same in [
            a,
            &a.replace("false", "true"),
            &a.replace("\"enrolled\": false, ", ""),
            &a.replace(' ', "\r\n"),
            &format!("\u{feff}{a}\n"),
            r#"{"setup_keys": {"k": {"type": "one-off"}}, "groups": {"g": {"peers": ["k", "l"]}}}"#,
        ] {
            assert!(!differs(same), "{same}");
        }
        for other in [
            "",
            "{}",
            &a.replace("one-off", "reusable"),
            &a.replace("false", "0"),
            &a.replace("\"k\", \"l\"", "\"k\""),
            &a.replace(
                "\"groups\": {\"g\"",
                "\"groups\": {\"enrolled\": true, \"g\"",
            ),
            &a.replace("{\"g\": {", "{\"g\": {\"enrolled\": true, "),
            &a[..a.len() - 1],
        ] {
            assert!(differs(other), "{other}");
        }
        assert!(!content_differs_but_for_enrolled(b"\xff", b"\xff"));
        assert!(content_differs_but_for_enrolled(b"\xff", b"\xfe"));
    }
}
