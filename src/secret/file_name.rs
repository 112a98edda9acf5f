//! From the name of a setup key, which is any text, to the name of a file that is safe everywhere.

use sha2::{Digest, Sha256};

use crate::base::hex;

/// The longest name of a sealed file, in bytes.
const LONGEST: usize = 120;
const EXTENSION: &str = ".age";

/// Returns the name of the file that holds the sealed key of that name.
///
/// `NAME.age` where the name consists of ASCII letters, digits, `.`, `_` and `-` and is a harmless file name on every
/// system; else what can be kept of the name, `~`, and the first 8 hex digits of the SHA-256 of the name. A kept name has
/// no `~`, so two names share a file only if those digits are equal.
pub fn file_name(key_name: &str) -> String {
    format!("{}{EXTENSION}", file_stem(key_name))
}

/// Returns the same without `.age`: a name for a file or a folder that stands for any text.
pub fn file_stem(text: &str) -> String {
    match text == kept(text) && text.len() + EXTENSION.len() <= LONGEST {
        true => text.to_owned(),
        false => hashed_stem(text),
    }
}

/// Returns the name with a hash, which a name also gets where another file differs from its own only by case.
pub(super) fn hashed(key_name: &str) -> String {
    format!("{}{EXTENSION}", hashed_stem(key_name))
}

fn hashed_stem(key_name: &str) -> String {
    let hash = hex(&Sha256::digest(key_name.as_bytes())[..4]);
    let mut stem = kept(key_name);
    stem.truncate(LONGEST - EXTENSION.len() - "~".len() - hash.len()); // ASCII, so every byte is a boundary
    format!("{stem}~{hash}")
}

/// Returns what can be kept of a name: never empty, no dot or dash in front, no dot at the end, no two dots
/// in a row, no device of Windows.
fn kept(key_name: &str) -> String {
    let mut stem = String::new();
    for c in key_name.chars().take(LONGEST) {
        let is_safe =
            c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.' && !stem.ends_with('.');
        match is_safe {
            true => stem.push(c),
            false if stem.ends_with('_') => {} // one for a run of them
            false => stem.push('_'),
        }
    }
    if stem.ends_with('.') {
        stem.pop();
        stem.push('_');
    }
    if stem.is_empty() || stem.starts_with(['.', '-']) || is_device(&stem) {
        stem.insert(0, '_');
    }
    stem
}

/// Tells whether Windows opens a device by that name, whatever stands behind the first dot
/// (<https://learn.microsoft.com/windows/win32/fileio/naming-a-file>).
fn is_device(stem: &str) -> bool {
    let base = stem.split('.').next().unwrap_or_default();
    let base = base.to_ascii_uppercase();
    let is_digit = |rest: &str| matches!(rest.as_bytes(), [b'0'..=b'9']);
    let is_numbered = |start| base.strip_prefix(start).is_some_and(is_digit);
    matches!(&base[..], "CON" | "PRN" | "AUX" | "NUL") || is_numbered("COM") || is_numbered("LPT")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn harmless_names_are_kept_and_all_others_get_a_hash() {
        for (name, file) in [
            ("Pilot-hawk-72", "Pilot-hawk-72.age"),
            ("node_1.lan", "node_1.lan.age"),
            ("console", "console.age"),
            ("common", "common.age"),
            ("a__b", "a__b.age"),
            ("", "_~e3b0c442.age"),
            ("..", "_._~5ec1f7e7.age"),
            ("../../etc/passwd", "_._._etc_passwd~3754d6cb.age"),
            (".hidden", "_.hidden~16924190.age"),
            ("-rf", "_-rf~686c39ac.age"),
            ("a..b", "a._b~f62b4241.age"),
            ("berlin büro #1", "berlin_b_ro_1~c6b4e451.age"),
            ("🦉", "_~f7007fbd.age"),
            ("a\u{202e}b", "a_b~1f7a9d5e.age"),
            ("C:\\x", "C_x~520186e2.age"),
            ("nul", "_nul~99e62427.age"),
            ("lpt1", "_lpt1~cfbdeb88.age"),
            ("end.", "end_~2e18562d.age"),
            ("COM1.lan", "_COM1.lan~945b622c.age"),
            ("node-1~deadbeef", "node-1_deadbeef~f593ecf3.age"),
        ] {
            assert_eq!(file_name(name), file, "{name:?}");
        }
        let longest = "x".repeat(116);
        assert_eq!(file_name(&longest), format!("{longest}.age"));
        assert_eq!(
            file_name(&"x".repeat(117)),
            format!("{}~bdf1cbf2.age", "x".repeat(107))
        );
    }

    fn names() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[a-zA-Z0-9._-]{0,130}",
            "[ab./~\\\\-]{0,4}",
            "(?i:con|nul|com1|lpt9)(\\.x)?",
            "[a-c]~[0-9a-f]{8}",
        ]
    }

    proptest! {
        #[test]
        fn a_name_makes_one_safe_file_name(name in names()) {
            let file = file_name(&name);
            prop_assert!(file.len() <= 120);
            prop_assert!(file.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-~".contains(&b)), "{}", file);
            prop_assert!(!file.starts_with(['.', '-', '~']) && !file.contains(".."), "{}", file);
            prop_assert!(!is_device(&file), "{}", file);
            prop_assert_eq!(file, file_name(&name));
        }

        #[test]
        fn two_names_make_two_files(one in names(), other in names()) {
            prop_assume!(one != other);
            prop_assert_ne!(file_name(&one), file_name(&other));
            prop_assert_ne!(hashed(&one), hashed(&other));
        }
    }
}
