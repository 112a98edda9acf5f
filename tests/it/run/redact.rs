//! Takes out of a text what differs from run to run, so that whole outputs can be compared.

/// Returns the text with `[id]`, `[digest]`, `[time]`, `[port]` and `[n] ms` where such things were.
pub(crate) fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        let end = at
            + rest[at..]
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len() - at);
        out.push_str(&rest[..at]);
        let word = &rest[at..end];
        let after = &rest[end..];
        let (shown, taken) = if let Some(length) = time(&rest[at..]) {
            ("[time]", at + length)
        } else if is_id(word) {
            ("[id]", end)
        } else if is_digest(word) {
            ("[digest]", end)
        } else if out.ends_with("127.0.0.1:") {
            ("[port]", end)
        } else if (after.starts_with(" ms") || out.ends_with("\"duration_ms\": "))
            && word.bytes().all(|b| b.is_ascii_digit())
        {
            ("[n]", end)
        } else {
            (word, end)
        };
        out.push_str(shown);
        rest = &rest[taken..];
    }
    out + rest
}

/// An xid: 20 characters of base32hex, some of them digits.
fn is_id(word: &str) -> bool {
    word.len() == 20
        && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'v'))
        && word.bytes().any(|b| b.is_ascii_digit())
}

fn is_digest(word: &str) -> bool {
    matches!(word.len(), 10 | 12 | 16 | 64)
        && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|b| b.is_ascii_digit())
}

/// The length of an RFC 3339 time at the start.
fn time(text: &str) -> Option<usize> {
    let shape = "0000-00-00T00:00:00";
    let bytes = text.as_bytes().get(..shape.len())?;
    let fits = bytes.iter().zip(shape.bytes()).all(|(byte, wanted)| {
        byte.is_ascii_digit() && wanted == b'0' || *byte == wanted && wanted != b'0'
    });
    let end = text.find('Z')?;
    (fits && end <= 30).then_some(end + 1)
}

#[test]
fn what_differs_from_run_to_run_goes() {
    let text = "group d2m7q0rl0ubs73a9k2v0 at http://127.0.0.1:4711, 12 ms, sha256 9f3c01a2b3c4; made 2026-11-28T01:41:15.5Z. 12 requests";
    let redacted =
        "group [id] at http://127.0.0.1:[port], [n] ms, sha256 [digest]; made [time]. 12 requests";
    assert_eq!(redact(text), redacted);
}
