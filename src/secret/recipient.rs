//! One recipient: the text of a public key, and why some texts are refused.
//!
//! age's own messages are not passed on: they wrap arguments in invisible bidi characters and call every unknown word
//! an "invalid SSH recipient". Messages here never repeat the text they are about, which may be a secret pasted by
//! mistake.

use std::fmt;

use super::refusal::{LOW_ORDER, NOT_ALONE, RecipientError};
use super::ssh_key::{self, SshKey};

/// A recipient in words, for plans and results. Displays as `age1qqqqqq…zzzzzz` or `ssh-rsa SHA256:… (comment)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The key, shortened: its first and last six characters, or its SSH fingerprint, the first twelve characters.
    pub short: String,
    /// Whether age seals for it together with keys of its own kind only: a post-quantum one.
    pub is_apart: bool,
    /// The comment behind an SSH key, without invisible characters, at most 60 characters; text of anybody.
    pub comment: Option<String>,
    /// The whole public key in canonical form: equal for equal keys.
    pub key: String,
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short)?;
        self.comment
            .iter()
            .try_for_each(|comment| write!(f, " ({comment})"))
    }
}

/// A public key that a secret can be sealed for.
#[derive(Debug, Clone)]
pub(super) enum Recipient {
    /// `age1…`: age's own keys.
    X25519(age::x25519::Recipient),
    /// `age1tag1…`: P-256 keys in hardware.
    Tag(age::tag::Recipient),
    /// `age1tagpq1…`: post-quantum hybrid keys in hardware; never together with other kinds.
    TagPq(Box<age::tagpq::Recipient>),
    /// `ssh-ed25519 …`, or `ssh-rsa …` of 2048 to 4096 bits.
    Ssh(SshKey),
}

const UNKNOWN: RecipientError = RecipientError::new(
    "not an age or SSH public key",
    "a recipient begins with age1, ssh-ed25519 or ssh-rsa",
);
const QUOTED: RecipientError = RecipientError::new(
    "not an age or SSH public key",
    "leave out the quotes around the key",
);
const MISTYPED: RecipientError = RecipientError::new(
    "mistyped or cut off: the checksum of this age key is wrong",
    "copy the whole key again",
);
const POST_QUANTUM: RecipientError = RecipientError::new(
    "a post-quantum key (age1pq1…), which this version cannot seal for",
    "use a key made by age-keygen without -pq",
);
impl Recipient {
    /// Reads one key without white space around it.
    pub(super) fn parse(text: &str) -> Result<Self, RecipientError> {
        let lower = text.to_ascii_lowercase();
        let is_age = lower.starts_with("age1");
        if text.contains(['\n', '\r']) || is_age && text.contains([' ', '\t', ',']) {
            return Err(NOT_ALONE);
        }
        if !is_age {
            return match text.starts_with(['"', '\'']) {
                true => Err(QUOTED),
                false if ssh_key::is_ssh(text) => SshKey::parse(text).map(Recipient::Ssh),
                false => Err(UNKNOWN),
            };
        }
        let (prefix, _) = lower.rsplit_once('1').unwrap_or_default();
        let key = match prefix {
            "age" => text.parse().ok().map(Recipient::X25519),
            "age1tag" => text.parse().ok().map(Recipient::Tag),
            "age1tagpq" => text.parse().ok().map(|key| Recipient::TagPq(Box::new(key))),
            "age1pq" => return Err(POST_QUANTUM),
            _ => return Err(plugin_or_mistyped(&lower, prefix)),
        };
        // age would panic on a point of low order, and only when it encrypts, blaming the random numbers.
        let key = key.ok_or(MISTYPED)?;
        if LOW_ORDER_KEYS.contains(&key.canonical().as_str()) {
            Err(LOW_ORDER)
        } else {
            Ok(key)
        }
    }

    /// Returns the key as age wants it.
    pub(super) fn as_age(&self) -> &dyn age::Recipient {
        match self {
            Recipient::X25519(key) => key,
            Recipient::Tag(key) => key,
            Recipient::TagPq(key) => key.as_ref(),
            Recipient::Ssh(key) => &key.key,
        }
    }

    /// Returns what keys of its kind begin with.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Recipient::X25519(_) => "age1",
            Recipient::Tag(_) => "age1tag1",
            Recipient::TagPq(_) => "age1tagpq1",
            Recipient::Ssh(ssh) => match ssh.key {
                age::ssh::Recipient::SshEd25519(..) => "ssh-ed25519",
                age::ssh::Recipient::SshRsa(..) => "ssh-rsa",
            },
        }
    }

    /// Whether it opens no text together with keys of other kinds.
    pub(super) fn is_apart(&self) -> bool {
        matches!(self, Recipient::TagPq(_))
    }

    /// Returns the key in canonical form, without a comment.
    pub(super) fn canonical(&self) -> String {
        match self {
            Recipient::X25519(key) => key.to_string(),
            Recipient::Tag(key) => key.to_string(),
            Recipient::TagPq(key) => key.to_string(),
            Recipient::Ssh(key) => key.key.to_string(),
        }
    }

    /// Returns the key in words.
    pub(super) fn describe(&self) -> Described {
        let (kind, key) = (self.kind(), self.canonical());
        let (short, comment) = match self {
            Recipient::Ssh(ssh) => (format!("{kind} {}", ssh.fingerprint()), ssh.comment.clone()),
            _ => {
                let (start, end) = (&key[..kind.len() + 6], &key[key.len() - 6..]);
                (format!("{start}…{end}"), None)
            }
        };
        Described {
            short,
            is_apart: self.is_apart(),
            comment,
            key,
        }
    }
}

/// The X25519 public keys of low order, with and without the ignored top bit, as recipients
/// (<https://cr.yp.to/ecdh.html#validate>).
const LOW_ORDER_KEYS: [&str; 14] = [
    "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z",
    "age1qyqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqj7vrya",
    "age1ur4h5lpmgxu2u9jku0a0r87ydtdqnr0tnsetrlvxvgz3vh6fhqqqzyt4v9",
    "age1t7wft09r2zxzfvwsk92eeql0tvzyghxytqwgapkcyf8dm5ylz9ts6wm9s8",
    "age1anlllllllllllllllllllllllllllllllllllllllllllllllals4n2t7m",
    "age1ahlllllllllllllllllllllllllllllllllllllllllllllllalsn46ayy",
    "age1amlllllllllllllllllllllllllllllllllllllllllllllllalselrwrv",
    "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqzqqsuwj9m",
    "age1qyqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqzqqk67yly",
    "age1ur4h5lpmgxu2u9jku0a0r87ydtdqnr0tnsetrlvxvgz3vh6fhzqqxqejhu",
    "age1t7wft09r2zxzfvwsk92eeql0tvzyghxytqwgapkcyf8dm5ylz8ts72fzt7",
    "age1anllllllllllllllllllllllllllllllllllllllllllllllllls3hcv9z",
    "age1ahlllllllllllllllllllllllllllllllllllllllllllllllllsh3g6la",
    "age1amlllllllllllllllllllllllllllllllllllllllllllllllllsam3fc4",
];

/// Tells a plugin's key from a mistyped one: keys contain no `1` behind the prefix, and `l` is easily read as `1`.
///
/// A plugin is a program found by the name in the key, so none is ever started: the key may come from a pull request.
fn plugin_or_mistyped(lower: &str, prefix: &str) -> RecipientError {
    const X25519_LENGTH: usize = 62;
    let name = prefix.strip_prefix("age1").unwrap_or_default();
    let is_name = !name.is_empty()
        && name.len() <= 32
        && !name.contains('1')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-._".contains(&b));
    if is_name && lower.len() != X25519_LENGTH {
        let message = format!("a key of a plugin (age1{name}1…), and plugins are never started");
        RecipientError {
            message: message.into(),
            ..RecipientError::new("", "add another public key of the same person")
        }
    } else {
        MISTYPED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::test_keys::{RSA_PUBLIC, TAG, TAG_PQ};

    #[test]
    fn keys_are_described_in_short_without_hiding_what_they_are() {
        let short = |text: &str| Recipient::parse(text).unwrap().describe().to_string();
        let x25519 = "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa";
        assert_eq!(short(x25519), "age1t7rxye…vpy7pa");
        assert_eq!(short(&x25519.to_uppercase()), "age1t7rxye…vpy7pa");
        assert_eq!(short(TAG), "age1tag1qt8lw0…yqdj4e");
        assert_eq!(short(TAG_PQ), "age1tagpq1m3e4wv…j2c4jx");
        assert_eq!(
            short(RSA_PUBLIC),
            "ssh-rsa SHA256:QAKxt2jvZ16m… (test@netbird-gitops)"
        );
    }

    #[test]
    fn age_panics_on_each_key_of_low_order_that_we_refuse() {
        for text in LOW_ORDER_KEYS {
            assert_eq!(Recipient::parse(text).unwrap_err(), LOW_ORDER);
            let key: age::x25519::Recipient = text.parse().unwrap();
            assert_eq!(key.to_string(), text);
            assert!(
                std::panic::catch_unwind(|| age::encrypt(&key, b"x")).is_err(),
                "{text}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(age1|AGE1|age1tag1|ssh-rsa AAAA|ssh-ed25519 AAAA|)\\PC{0,80}") {
            let _ = Recipient::parse(text.trim());
        }
    }
}
