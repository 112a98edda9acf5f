//! Where the secrets of new keys go.

use std::time::Duration;

use crate::id::Id;
use crate::kind::Resource;
use crate::secret::{KeysDir, Recipients};

/// Where new secrets go.
pub struct Custody {
    /// Who can open them.
    pub recipients: Recipients,
    /// Where the sealed files are.
    pub dir: KeysDir,
    /// Where copies of them are kept that outlive the job, if anywhere.
    pub copies: Option<Box<dyn Copies>>,
    /// How to wait for a key's age.
    pub wait: Box<dyn Fn(Duration)>,
}

impl Custody {
    /// Returns who opens the key that is to be made.
    pub fn recipients_of(&self, key: &Resource) -> Recipients {
        match key {
            Resource::SetupKey(key) => self.recipients.of_key(&key.sealed_for),
            _ => self.recipients.clone(),
        }
    }
}

/// A place for copies of sealed keys that outlives disk, artifact and log of a job.
pub trait Copies {
    /// Stores all of these, or none, and says where each is. What it cannot store is not used.
    fn store(&self, keys: &[KeyCopy]) -> Result<Vec<String>, NotStored>;
}

/// Why no copy could be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotStored {
    /// What became of it.
    pub text: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A sealed key, to be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCopy {
    /// The key's name.
    pub name: String,
    /// Its id: a name can have several keys in the course of time.
    pub id: Id,
    /// The sealed text.
    pub armored: String,
}
