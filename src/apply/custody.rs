//! Where the secrets of new keys go.

use crate::base::id::Id;
use crate::model::kind::Resource;
use crate::secret::{KeysDir, Recipients};

/// Where new secrets go.
pub struct Custody {
    /// Who can open them.
    pub recipients: Recipients,
    /// Where the sealed files are.
    pub dir: KeysDir,
    /// Whether copies of them are kept with the inventory, where they outlive the job.
    pub copies: bool,
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
