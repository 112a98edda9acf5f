//! Everybody who can open a sealed key, and sealing for them.

use std::collections::BTreeMap;
use std::io::Write;

use age::EncryptError;
use age::armor::{ArmoredWriter, Format};
use anyhow::{Result, bail, ensure};
use secrecy::{ExposeSecret, SecretString};

use super::Sealed;
use super::recipient::{Described, Recipient};
use crate::base::text::file_error;

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
        let own = own
            .keys
            .keys()
            .filter_map(|text| Recipient::parse(text).ok());
        keys.extend(own.map(|key| ((key.kind(), key.canonical()), key)));
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
        let added = self
            .keys
            .iter()
            .filter(|(key, _)| !other.keys.contains_key(*key));
        added.map(|(_, recipient)| recipient.describe()).collect()
    }

    /// Seals a text that is no secret for all recipients: what works here works for the key.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.is_empty(),
            "no recipient to seal new setup keys for\nhint: -r KEY, -R FILE or {ENVIRONMENT} names the age or SSH public \
             keys of those who may read them"
        );
        self.encrypt(b"netbird-gitops").map(drop)
    }

    /// Encrypts a setup key's secret, exactly its bytes without a line end, for all recipients.
    ///
    /// Refuses what the server shows of a key later, `A1B2C****`: only the answer that makes a key has the whole of it.
    pub fn seal(&self, secret: &SecretString) -> Result<Sealed> {
        let secret = secret.expose_secret();
        let is_whole = !secret.is_empty()
            && secret
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-');
        ensure!(
            is_whole,
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
            error.starts_with("no recipient to seal new setup keys for\nhint: -r KEY"),
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
