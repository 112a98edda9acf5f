//! What a setup key can be used for, in the word that the file and the API share.

/// What a setup key can be used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyType {
    /// Enrolls one peer.
    #[default]
    OneOff,
    /// Enrolls peers up to its usage limit.
    Reusable,
}
