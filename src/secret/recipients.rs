//! Everybody who can open a sealed key, and sealing for them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;

use age::EncryptError;
use age::armor::{ArmoredWriter, Format};
use anyhow::{Result, bail, ensure};
use secrecy::{ExposeSecret, SecretString};

use super::Sealed;
use super::ssh_key::{self, SshKey};
use crate::base::file_error;

/// Who opens the sealed secret of one key, beside those that the run seals every key for, or instead of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealedFor {
    /// Public keys of age or SSH as they are written, and what people are shown of them.
    pub keys: BTreeMap<String, String>,
    /// Nobody else opens it.
    pub only: bool,
}

/// The environment variable that names recipients.
pub const ENVIRONMENT: &str = "AGE_PUBLIC_KEY";

/// Keys by their kind and their text.
pub(super) type Keys = BTreeMap<(&'static str, String), Recipient>;

/// Everybody who can open what is sealed; each key once, in a fixed order.
#[derive(Debug, Clone, Default)]
pub struct Recipients {
    pub(super) keys: Keys,
}

impl Recipients {
    /// Returns who opens one key: these and its own, or its own alone.
    pub fn of_key(&self, own: &SealedFor) -> Recipients {
        let mut keys = match own.only {
            true => BTreeMap::new(),
            false => self.keys.clone(),
        };
        // the file is valid, so each of them is a key
        let own = own.keys.keys();
        let own = own.filter_map(|text| Recipient::parse(text).ok());
        keys.extend(own.map(|key| ((key.kind, key.canonical.clone()), key)));
        Recipients { keys }
    }

    /// Tells whether there is nobody to seal for.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the recipients in words, sorted by kind and key.
    pub fn describe(&self) -> Vec<Described> {
        self.keys.values().map(Recipient::describe).collect()
    }

    /// Returns, in words, the recipients that `other` does not have; compared by the whole key.
    pub fn not_in(&self, other: &Recipients) -> Vec<Described> {
        let keys = self.keys.iter();
        let added = keys.filter(|(key, _)| !other.keys.contains_key(*key));
        added.map(|(_, recipient)| recipient.describe()).collect()
    }

    /// Seals a text that is no secret for all recipients: what works here works for the key.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.is_empty(),
            "no recipient is set for new setup keys\nhint: set {ENVIRONMENT} to the age or SSH public keys of those who may open \
             them, or use -r KEY or -R FILE"
        );
        self.encrypt(b"netbird-gitops").map(drop)
    }

    /// Encrypts a setup key's secret, exactly its bytes without a line end, for all recipients.
    ///
    /// Refuses what the server shows of a key later, `A1B2C****`: only the answer that makes a key has the whole of it.
    pub fn seal(&self, secret: &SecretString) -> Result<Sealed> {
        let secret = secret.expose_secret();
        let is_of_key = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        ensure!(
            !secret.is_empty() && secret.bytes().all(is_of_key),
            "the server's answer has no whole setup key: it is masked, empty or of an unknown form"
        );
        self.encrypt(secret.as_bytes())
    }

    fn encrypt(&self, plain: &[u8]) -> Result<Sealed> {
        let mut armored = Vec::new();
        let written = age::Encryptor::with_recipients(self.keys.values().map(Recipient::as_age))
            .and_then(|encryptor| {
                let armor = ArmoredWriter::wrap_output(&mut armored, Format::AsciiArmor)?;
                let mut writer = encryptor.wrap_output(armor)?;
                writer.write_all(plain)?;
                // Both: without the second, only the first line of the armor is there, and no error.
                writer.finish()?.finish()?;
                Ok(())
            });
        match written {
            Ok(()) => Sealed::from_age(armored),
            Err(EncryptError::Io(error)) => bail!("cannot seal: {}", file_error(&error)),
            Err(_) => bail!("cannot seal for these recipients"),
        }
    }
}

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

/// A public key that a secret can be sealed for: one of age's own (`age1…`); a P-256 key in hardware (`age1tag1…`); a
/// post-quantum hybrid key in hardware (`age1tagpq1…`); or an SSH key (`ssh-ed25519 …`, or `ssh-rsa …` of 2048 to 4096 bits).
#[derive(Clone)]
pub(super) struct Recipient {
    key: Arc<dyn age::Recipient>,
    /// What keys of its kind begin with.
    pub(super) kind: &'static str,
    /// The key in canonical form, without a comment.
    pub(super) canonical: String,
    ssh: Option<Arc<SshKey>>,
}

impl fmt::Debug for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.canonical)
    }
}

/// What post-quantum keys begin with: they are never sealed for together with other kinds.
const TAG_PQ: &str = "age1tagpq1";

const UNKNOWN: RecipientError = RecipientError::new(
    "not an age or SSH public key",
    "a recipient begins with age1, ssh-ed25519 or ssh-rsa",
);
const QUOTED: RecipientError = RecipientError::new(
    "not an age or SSH public key",
    "leave out the quotes around the key",
);
const MISTYPED: RecipientError = RecipientError::new(
    "a mistyped or cut off age key (its checksum is wrong)",
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
                false if ssh_key::is_ssh(text) => Ok(Recipient::ssh(SshKey::parse(text)?)),
                false => Err(UNKNOWN),
            };
        }
        let (prefix, _) = lower.rsplit_once('1').unwrap_or_default();
        let key = match prefix {
            "age" => Recipient::of::<age::x25519::Recipient>(text, "age1"),
            "age1tag" => Recipient::of::<age::tag::Recipient>(text, "age1tag1"),
            "age1tagpq" => Recipient::of::<age::tagpq::Recipient>(text, TAG_PQ),
            "age1pq" => return Err(POST_QUANTUM),
            _ => return Err(plugin_or_mistyped(&lower, prefix)),
        };
        // age would panic on a point of low order, and only when it encrypts, blaming the random numbers.
        let key = key.ok_or(MISTYPED)?;
        match LOW_ORDER_KEYS.contains(&key.canonical.as_str()) {
            true => Err(LOW_ORDER),
            false => Ok(key),
        }
    }

    fn of<K: FromStr + ToString + age::Recipient + 'static>(
        text: &str,
        kind: &'static str,
    ) -> Option<Self> {
        let key: K = text.parse().ok()?;
        Some(Recipient {
            canonical: key.to_string(),
            key: Arc::new(key),
            kind,
            ssh: None,
        })
    }

    fn ssh(ssh: SshKey) -> Self {
        Recipient {
            canonical: ssh.key.to_string(),
            key: Arc::new(ssh.key.clone()),
            kind: match ssh.key {
                age::ssh::Recipient::SshEd25519(..) => "ssh-ed25519",
                age::ssh::Recipient::SshRsa(..) => "ssh-rsa",
            },
            ssh: Some(Arc::new(ssh)),
        }
    }

    /// Returns the key as age wants it.
    pub(super) fn as_age(&self) -> &dyn age::Recipient {
        &*self.key
    }

    /// Whether it opens no text together with keys of other kinds.
    pub(super) fn is_apart(&self) -> bool {
        self.kind == TAG_PQ
    }

    /// Returns the key in words.
    pub(super) fn describe(&self) -> Described {
        let (kind, key) = (self.kind, &self.canonical);
        let short = match &self.ssh {
            Some(ssh) => format!("{kind} {}", ssh.fingerprint()),
            None => format!("{}…{}", &key[..kind.len() + 6], &key[key.len() - 6..]),
        };
        Described {
            short,
            is_apart: self.is_apart(),
            comment: self.ssh.as_ref().and_then(|ssh| ssh.comment.clone()),
            key: key.clone(),
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
    let is_of_name = |b: u8| b != b'1' && (b.is_ascii_alphanumeric() || b"+-._".contains(&b));
    let is_name = (1..=32).contains(&name.len()) && name.bytes().all(is_of_name);
    if !is_name || lower.len() == X25519_LENGTH {
        return MISTYPED;
    }
    let message = format!("a key of a plugin (age1{name}1…), and plugins are never started");
    RecipientError {
        message: message.into(),
        ..RecipientError::new("", "add another public key of the same person")
    }
}

/// Why a text cannot be used as a recipient. It never repeats the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientError {
    /// Where it stands: `-r`, `recipients.txt:3`, `AGE_PUBLIC_KEY, line 2`.
    pub origin: String,
    /// What it is.
    pub message: Cow<'static, str>,
    /// What to do.
    pub hint: &'static str,
}

impl RecipientError {
    pub(super) const fn new(message: &'static str, hint: &'static str) -> Self {
        RecipientError {
            origin: String::new(),
            message: Cow::Borrowed(message),
            hint,
        }
    }
}

pub(super) const NOT_ALONE: RecipientError = RecipientError::new(
    "more than one key, or text behind the key",
    "one key a line, one key a -r; only AGE_PUBLIC_KEY takes commas between keys",
);
pub(super) const LOW_ORDER: RecipientError = RecipientError::new(
    "a key without an owner (a point of low order), so anyone could open what is sealed for it",
    "remove it",
);

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use age::x25519;

    use super::*;
    use crate::secret::test_keys::{
        ED25519_PRIVATE, ED25519_PUBLIC, RSA_PRIVATE, RSA_PUBLIC, TAG, TAG_PQ,
    };

    const SECRET: &str = "4CDAC1B3-1894-45B6-B00A-65CCD081A3D4"; // shape of recordings/netbird/setup-key-created.json

    fn recipients(lines: &[&str]) -> Recipients {
        Recipients::parse_file("test", lines.join("\n").as_bytes()).unwrap()
    }

    fn open(sealed: &Sealed, identity: &dyn age::Identity) -> Option<String> {
        let armor = age::armor::ArmoredReader::new(sealed.armored.as_bytes());
        let decryptor = age::Decryptor::new_buffered(armor).unwrap();
        let mut plain = String::new();
        decryptor
            .decrypt([identity].into_iter())
            .ok()?
            .read_to_string(&mut plain)
            .unwrap();
        Some(plain)
    }

    fn ssh_identity(text: &str) -> age::ssh::Identity {
        age::ssh::Identity::from_buffer(text.as_bytes(), None).unwrap()
    }

    #[test]
    fn every_recipient_can_open_and_nobody_else() {
        let (alice, bob, eve) = (
            x25519::Identity::generate(),
            x25519::Identity::generate(),
            x25519::Identity::generate(),
        );
        let (a, b) = (alice.to_public().to_string(), bob.to_public().to_string());
        let all = recipients(&[&a, &b, TAG, ED25519_PUBLIC, RSA_PUBLIC]);
        all.check().unwrap();
        let sealed = all.seal(&SECRET.into()).unwrap();
        let (ed25519, rsa) = (ssh_identity(ED25519_PRIVATE), ssh_identity(RSA_PRIVATE));
        for identity in [&alice as &dyn age::Identity, &bob, &ed25519, &rsa] {
            assert_eq!(open(&sealed, identity).as_deref(), Some(SECRET));
        }
        assert_eq!(open(&sealed, &eve), None);
        assert_ne!(
            all.seal(&SECRET.into()).unwrap().fingerprint(),
            sealed.fingerprint()
        );
    }

    /// What is pasted into a comment must be one block with nothing that armor parsers refuse.
    #[test]
    fn the_sealed_text_is_a_clean_block() {
        let text = recipients(&[TAG, ED25519_PUBLIC, RSA_PUBLIC])
            .seal(&SECRET.into())
            .unwrap()
            .armored;
        assert!(text.starts_with("-----BEGIN AGE ENCRYPTED FILE-----\n"));
        assert!(text.ends_with("\n-----END AGE ENCRYPTED FILE-----\n"));
        assert!(
            text.lines()
                .all(|line| !line.is_empty() && line.len() <= 64 && line.trim() == line)
        );
        assert!(!text.contains(SECRET));
    }

    #[test]
    fn post_quantum_recipients_work_among_themselves() {
        let all = recipients(&[TAG_PQ]);
        all.check().unwrap();
        assert!(all.seal(&SECRET.into()).is_ok());
    }

    #[test]
    fn without_a_recipient_nothing_is_sealed() {
        let nobody = Recipients::default();
        assert!(nobody.is_empty());
        let error = nobody.check().unwrap_err().to_string();
        assert!(
            error.starts_with("no recipient is set for new setup keys\nhint: set AGE_PUBLIC_KEY"),
            "{error}"
        );
        assert!(nobody.seal(&SECRET.into()).is_err());
    }

    /// Only the answer to the POST has the whole key.
    #[test]
    fn a_masked_key_is_not_sealed_and_not_repeated() {
        let all = recipients(&[ED25519_PUBLIC]);
        for wrong in ["", "4CDAC****", "4CDAC1B3 ", "4CDAC1B3\n"] {
            let error = all.seal(&wrong.into()).unwrap_err().to_string();
            let message = "the server's answer has no whole setup key: it is masked, empty or of an unknown form";
            assert_eq!(error, message);
        }
    }

    #[test]
    fn added_recipients_are_told_by_the_whole_key() {
        let (base, head) = (
            recipients(&[TAG, ED25519_PUBLIC]),
            recipients(&[ED25519_PUBLIC, RSA_PUBLIC, TAG]),
        );
        let words = |described: Vec<Described>| {
            described
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            words(head.not_in(&base)),
            ["ssh-rsa SHA256:QAKxt2jvZ16m… (test@netbird-gitops)"]
        );
        assert!(base.not_in(&head).is_empty());
        assert_eq!(
            words(head.describe()),
            [
                "age1tag1qt8lw0…yqdj4e",
                "ssh-ed25519 SHA256:tM/eUmwg1hAV… (test@netbird-gitops)",
                "ssh-rsa SHA256:QAKxt2jvZ16m… (test@netbird-gitops)"
            ]
        );
    }

    /// Runs the `age` on PATH (Debian: `apt-get install age`). Only where NETBIRD_GITOPS_TEST_AGE=1; there, a missing
    /// `age` is a failure.
    #[test]
    fn the_age_tool_opens_what_we_seal() {
        if std::env::var_os("NETBIRD_GITOPS_TEST_AGE").is_none_or(|value| value != "1") {
            return eprintln!(
                "not run: set NETBIRD_GITOPS_TEST_AGE=1 where the age tool is installed"
            );
        }
        let alice = x25519::Identity::generate();
        let public = alice.to_public().to_string();
        let sealed = recipients(&[&public, ED25519_PUBLIC, RSA_PUBLIC])
            .seal(&SECRET.into())
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        for (name, identity) in [
            ("x25519", alice.to_string().expose_secret()),
            ("ssh-ed25519", ED25519_PRIVATE),
            ("ssh-rsa", RSA_PRIVATE),
        ] {
            let file = dir.path().join(name);
            std::fs::write(&file, identity).unwrap();
            let mut age = Command::new("age")
                .args(["--decrypt", "--identity"])
                .arg(&file)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("age is on PATH: apt-get install age");
            age.stdin
                .take()
                .unwrap()
                .write_all(sealed.armored.as_bytes())
                .unwrap();
            let output = age.wait_with_output().unwrap();
            assert!(output.status.success(), "{name}");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), SECRET, "{name}");
        }
    }
}

#[cfg(test)]
mod recipient_tests {
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
