//! SSH public keys as recipients: one line as in `id_ed25519.pub`.
//!
//! age reads such a line loosely (it ignores what stands behind the key data, joined to it or not) and panics on some
//! malformed RSA keys, so the data is taken apart here first.

use age::ssh::{ParseRecipientKeyError, Recipient};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest, Sha256};

use super::recipients::{LOW_ORDER, NOT_ALONE, RecipientError};
use crate::base::is_hidden;

/// An SSH key that age can encrypt to, and the comment behind it.
#[derive(Debug, Clone)]
pub(super) struct SshKey {
    pub(super) key: Recipient,
    pub(super) comment: Option<String>,
}

const TYPES: &str = "age can seal for ssh-ed25519 keys, and for ssh-rsa keys of 2048 to 4096 bits";

const OPTIONS: RecipientError = RecipientError::new(
    "an SSH key with options or a host name in front of it",
    "begin the line with ssh-ed25519 or ssh-rsa",
);
const UNSUPPORTED: RecipientError =
    RecipientError::new("an SSH key of a type that age cannot seal for", TYPES);
const MISTYPED: RecipientError = RecipientError::new(
    "an SSH key that is mistyped or cut off",
    "copy the whole line again",
);
const TOO_SMALL: RecipientError = RecipientError::new(
    "an ssh-rsa key of less than 2048 bits, which is weak",
    TYPES,
);
const TOO_LARGE: RecipientError =
    RecipientError::new("an ssh-rsa key of more than 4096 bits", TYPES);

/// Tells whether the text has a word that is an SSH key type, at the start or behind options.
pub(super) fn is_ssh(text: &str) -> bool {
    is_type(text.split_whitespace().next().unwrap_or_default()) || has_options(text)
}

/// Tells whether a key type stands behind something else.
///
/// Such lines are refused, not understood: the same shape is a restricted key in `authorized_keys`, an authority there
/// (`cert-authority`), and somebody's server in `known_hosts`.
fn has_options(text: &str) -> bool {
    let words = text.split_whitespace();
    let mut pairs = words.clone().zip(words.skip(1)).skip(1);
    pairs.any(|(word, next)| is_type(word) && next.starts_with("AAAA"))
}

fn is_type(word: &str) -> bool {
    let mut types = ["ssh-", "ecdsa-", "sk-"].iter();
    types.any(|start| word.starts_with(start))
}

impl SshKey {
    /// Reads `TYPE DATA [COMMENT]`.
    pub(super) fn parse(line: &str) -> Result<Self, RecipientError> {
        let (kind, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        if !is_type(kind) {
            return Err(OPTIONS);
        }
        if !matches!(kind, "ssh-ed25519" | "ssh-rsa") {
            return Err(UNSUPPORTED);
        }
        let rest = rest.trim_start();
        let (data, comment) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        // A folded line, or commas where none are taken: a key that would pass for a comment is a reader forgotten.
        let is_key = |word: &str| is_type(word) || word.to_ascii_lowercase().starts_with("age1");
        if comment.split([' ', '\t', ',']).any(is_key) {
            return Err(NOT_ALONE);
        }
        if !is_whole(kind, data) {
            return Err(MISTYPED);
        }
        let key = format!("{kind} {data}").parse();
        let key = key.map_err(|error| match error {
            ParseRecipientKeyError::RsaModulusTooSmall => TOO_SMALL,
            ParseRecipientKeyError::RsaModulusTooLarge => TOO_LARGE,
            _ => MISTYPED,
        })?;
        // age would seal for such a key, and the file key would follow from public values alone.
        if matches!(&key, Recipient::SshEd25519(_, point) if point.is_small_order()) {
            return Err(LOW_ORDER);
        }
        Ok(SshKey {
            key,
            comment: visible(comment),
        })
    }

    /// Returns `SHA256:` and the first twelve characters of what `ssh-keygen -l` prints behind it.
    pub(super) fn fingerprint(&self) -> String {
        let (Recipient::SshRsa(blob, _) | Recipient::SshEd25519(blob, _)) = &self.key;
        // 9 bytes are 12 characters
        let hash = STANDARD_NO_PAD.encode(&Sha256::digest(blob)[..9]);
        format!("SHA256:{hash}…")
    }
}

/// Tells whether the data is a key of that type from its first byte to its last: strings with a length of 32 bits in
/// front, of which the first is the type (RFC 4253 §6.6, RFC 8709 §4).
fn is_whole(kind: &str, data: &str) -> bool {
    // padding may be left out
    let Ok(blob) = STANDARD_NO_PAD.decode(data.trim_end_matches('=')) else {
        return false;
    };
    let (mut fields, mut rest) = (Vec::new(), &blob[..]);
    while let Some((length, behind)) = rest.split_first_chunk() {
        let Some((field, behind)) = behind.split_at_checked(u32::from_be_bytes(*length) as usize)
        else {
            return false;
        };
        fields.push(field);
        rest = behind;
    }
    // A number of zero bytes only makes age's parser panic (age 0.12.1, src/ssh.rs, `mpint`).
    let is_number = |field: &[u8]| field.iter().any(|&byte| byte != 0);
    rest.is_empty()
        && match fields[..] {
            [name, key] => kind == "ssh-ed25519" && name == kind.as_bytes() && key.len() == 32,
            [name, e, n] => {
                kind == "ssh-rsa" && name == kind.as_bytes() && is_number(e) && is_number(n)
            }
            _ => false,
        }
}

/// Returns a comment as it can be shown, or `None` where nothing is left of it.
fn visible(comment: &str) -> Option<String> {
    const LONGEST: usize = 60;
    let shown = comment.trim().chars().filter(|c| !is_hidden(*c));
    let shown: String = shown.take(LONGEST).collect();
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::test_keys::{ED25519_PUBLIC, RSA_PUBLIC};

    #[test]
    fn the_fingerprint_is_that_of_ssh_keygen() {
        let fingerprint = |line| SshKey::parse(line).unwrap().fingerprint();
        assert_eq!(fingerprint(ED25519_PUBLIC), "SHA256:tM/eUmwg1hAV…");
        assert_eq!(fingerprint(RSA_PUBLIC), "SHA256:QAKxt2jvZ16m…");
    }

    #[test]
    fn the_data_is_read_to_its_last_byte() {
        let data = ED25519_PUBLIC.split(' ').nth(1).unwrap();
        assert!(SshKey::parse(&format!("ssh-ed25519\t{data}")).is_ok());
        for wrong in [
            format!("{data}AAAA"),
            format!("{data}!"),
            data[..64].into(),
            format!("{data}é"),
            String::new(),
        ] {
            let line = format!("ssh-ed25519 {wrong} alice");
            assert_eq!(SshKey::parse(&line).unwrap_err(), MISTYPED, "{line}");
        }
        // age ignores what stands behind the key
        let blob = STANDARD_NO_PAD.decode(data).unwrap();
        for number in [1, 2] {
            let more = [0, 0, 0, 1, 1].repeat(number);
            let longer = STANDARD_NO_PAD.encode([&blob[..], &more].concat());
            let line = format!("ssh-ed25519 {longer}");
            assert_eq!(SshKey::parse(&line).unwrap_err(), MISTYPED, "{line}");
        }
        let as_rsa = format!("ssh-rsa {data}");
        assert_eq!(SshKey::parse(&as_rsa).unwrap_err(), MISTYPED);
    }

    #[test]
    fn an_rsa_key_of_zeros_does_not_panic() {
        let zeros = [0; 32];
        let numbers: [&[&[u8]]; 3] = [&[&[0], &[0]], &[&[3], &zeros], &[&zeros]];
        for numbers in numbers {
            let line = line("ssh-rsa", numbers);
            assert!(
                std::panic::catch_unwind(|| line.parse::<Recipient>()).is_err(),
                "age parses {line} now: drop our check"
            );
            assert_eq!(SshKey::parse(&line).unwrap_err(), MISTYPED);
        }
    }

    #[test]
    fn an_ed25519_key_of_low_order_is_refused() {
        // y = 1, the neutral element: "ssh-ed25519" and 32 bytes
        let line = format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAE{}", "A".repeat(41));
        assert!(
            line.parse::<Recipient>().is_ok(),
            "age refuses it now: drop our check"
        );
        assert_eq!(SshKey::parse(&line).unwrap_err(), LOW_ORDER);
    }

    #[test]
    fn comments_are_shown_without_what_hides() {
        assert_eq!(
            visible(" al\u{202e}ice\u{1b}[31m@host "),
            Some("alice[31m@host".into())
        );
        assert_eq!(visible("\u{200b}"), None);
        assert_eq!(visible(&"é".repeat(100)).unwrap().chars().count(), 60);
    }

    /// Returns the line of a key that consists of these fields.
    fn line(kind: &str, fields: &[&[u8]]) -> String {
        let mut blob = Vec::new();
        for field in [kind.as_bytes()].iter().chain(fields) {
            blob.extend(u32::try_from(field.len()).unwrap().to_be_bytes());
            blob.extend(*field);
        }
        format!("{kind} {}", STANDARD_NO_PAD.encode(blob))
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

        #[test]
        fn no_key_makes_age_panic(
            e in proptest::collection::vec(0_u8..4, 0..4),
            mut n in proptest::collection::vec(proptest::num::u8::ANY, 257),
            point in proptest::array::uniform32(proptest::num::u8::ANY),
        ) {
            n[0] = 0; // a number with its top bit set has a zero byte in front
            n[1] |= 0x80;
            for line in [line("ssh-rsa", &[&e, &n]), line("ssh-ed25519", &[&point])] {
                if let Ok(key) = SshKey::parse(&line) {
                    age::encrypt(&key.key, b"x").unwrap();
                }
            }
        }
    }

    #[test]
    fn the_lines_of_the_property_are_those_of_keys() {
        let data = ED25519_PUBLIC.split(' ').nth(1).unwrap();
        let blob = STANDARD_NO_PAD.decode(data).unwrap();
        let made = line("ssh-ed25519", &[&blob[blob.len() - 32..]]);
        assert!(ED25519_PUBLIC.starts_with(&format!("{made} ")));
    }
}
