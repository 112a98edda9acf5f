//! Standard base64 with padding (RFC 4648 §4), as Go's decoder takes it: line breaks inside are
//! skipped, anything else that does not belong there is refused.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the text of these bytes, in one line.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .chain(&[0; 2])
            .take(3)
            .fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        for digit in 0..4 {
            text.push(if digit <= group.len() {
                char::from(ALPHABET[bits >> (18 - 6 * digit) & 63])
            } else {
                '='
            });
        }
    }
    text
}

/// Returns the bytes of this text. None for what is no base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let padding = digits.iter().rev().take_while(|byte| **byte == b'=');
    let padding = padding.count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    for (at, group) in digits.chunks(4).enumerate() {
        let is_last = (at + 1) * 4 == digits.len();
        let wanted = if is_last { 4 - padding } else { 4 };
        let mut bits = 0;
        for (place, digit) in group.iter().enumerate() {
            bits = bits << 6 | if place < wanted { value(*digit)? } else { 0 };
        }
        let [_, three @ ..] = bits.to_be_bytes();
        bytes.extend(&three[..wanted - 1]);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    Some(match digit {
        b'A'..=b'Z' => u32::from(digit - b'A'),
        b'a'..=b'z' => u32::from(digit - b'a') + 26,
        b'0'..=b'9' => u32::from(digit - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn vectors_of_the_rfc() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
        }
    }

    #[test]
    fn every_byte_survives() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
    }

    #[test]
    fn line_breaks_are_skipped_and_other_things_refused() {
        assert_eq!(decode("YWJj\nZGVm\r\n").as_deref(), Some(&b"abcdef"[..]));
        for text in [
            "YWJjZA", "Zg=", " Zg==", "Zg==Zg==", "Z===", "====", "-_==", "é===",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
