//! Custody of new setup keys: who may read them, and the sealed files they are kept in.
//!
//! NetBird shows the secret of a setup key once, in the answer to the request that makes it. From there it goes, as a
//! [`SecretString`](secrecy::SecretString), through [`Recipients::seal`] into an armored age file, and that text is all
//! that is ever written, logged or printed. The order that loses nothing:
//!
//! 1. [`Sources::read`] and [`Recipients::check`], then [`KeysDir::probe`]: before the first write of the run;
//! 2. [`KeysDir::reserve`], before the request that makes the key;
//! 3. the request; [`Recipients::seal`]; the sealed text to the log where that is wanted;
//! 4. [`Reservation::store`], before the next request. [`StoredFile::remove`] where the key is taken back.
//!
//! Deciding which keys are made, and talking to NetBird, is left to others. This module logs names and paths only.

use anyhow::ensure;
use sha2::{Digest, Sha256};

use crate::base::hex;

mod file_name;
mod keys_dir;
mod recipients;
mod sources;
mod ssh_key;
#[cfg(test)]
mod test_keys;

pub use file_name::{file_name, file_stem};
pub use keys_dir::{KeysDir, Reservation, StoredFile, is_temporary, remove_leftovers};
pub use recipients::{Described, ENVIRONMENT, RecipientError, Recipients, SealedFor};
pub use sources::{RecipientErrors, Sources, literal};

/// A secret encrypted to all recipients, as text that may go anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// One block, `-----BEGIN AGE ENCRYPTED FILE-----` to `-----END …-----`: lines end with LF, none is empty, and
    /// exactly one LF ends the text.
    pub armored: String,
}

impl Sealed {
    /// Returns the first 16 hex digits of the SHA-256 of the armored text.
    ///
    /// It tells copies of the sealed text apart (file, log, comment) and says nothing about the secret: sealing the same
    /// secret again gives another fingerprint. `sha256sum NAME.age | cut -c1-16` prints the same.
    pub fn fingerprint(&self) -> String {
        hex(&Sha256::digest(self.armored.as_bytes())[..8])
    }

    /// Takes what age wrote, if it is the clean block that every age tool accepts.
    ///
    /// rage 0.12.1 and later refuse blank lines and stray white space inside the armor, and a writer that was not
    /// finished leaves only the first line without an error: so the text is looked at before anyone relies on it.
    fn from_age(armored: Vec<u8>) -> anyhow::Result<Self> {
        let armored = String::from_utf8_lossy(&armored).replace("\r\n", "\n");
        let body = armored
            .strip_prefix("-----BEGIN AGE ENCRYPTED FILE-----\n")
            .and_then(|rest| rest.strip_suffix("\n-----END AGE ENCRYPTED FILE-----\n"));
        let is_line = |line: &str| {
            !line.is_empty()
                && line
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
        };
        ensure!(
            body.is_some_and(|body| body.split('\n').all(is_line)),
            "the age library wrote an incomplete file"
        );
        Ok(Sealed { armored })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\nZW4=\n-----END AGE ENCRYPTED FILE-----\n";

    #[test]
    fn only_a_clean_block_is_taken() {
        assert_eq!(Sealed::from_age(WHOLE.into()).unwrap().armored, WHOLE);
        assert_eq!(
            Sealed::from_age(WHOLE.replace('\n', "\r\n").into())
                .unwrap()
                .armored,
            WHOLE
        );
        for broken in [
            "",
            "-----BEGIN AGE ENCRYPTED FILE-----\n",
            &WHOLE.replace("-----END AGE ENCRYPTED FILE-----\n", ""),
            &WHOLE.replace("YWdl\n", "YWdl\n\n"),
            &WHOLE.replace("YWdl\n", "YWdl \n"),
            WHOLE.trim_end(),
            &format!("{WHOLE}\n"),
        ] {
            assert!(Sealed::from_age(broken.into()).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn a_fingerprint_is_the_start_of_the_sha_256_of_the_text() {
        let sealed = Sealed {
            armored: "abc".into(),
        };
        assert_eq!(
            sealed.fingerprint(),
            "ba7816bf8f01cfea",
            "FIPS 180-2, the example of one block"
        );
    }
}
