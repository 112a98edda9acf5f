//! What is let go: it was this file's, its entry is gone, and it stays in NetBird. Nobody manages it from now on.

use crate::base::Id;
use crate::model::{Address, Cause, Origin};

/// An object that is let go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LetGo {
    /// Its kind and name.
    pub address: Address,
    /// Its id: names are not unique.
    pub id: Id,
    /// The key of its entry.
    pub key: String,
    /// Why it is not deleted.
    pub why: LetGoWhy,
    /// The change that took out its entry.
    pub left_by: LeftBy,
}

/// Why an object is let go, and not deleted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LetGoWhy {
    /// It existed before the file managed it.
    Adopted,
    /// Somebody renamed it to that.
    Renamed(String),
    /// An earlier run let it go.
    Before,
}

/// The change of the file by which something left it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftBy {
    /// A change since the last apply.
    Change(Cause),
    /// As an earlier run wrote it down: `#N` or a commit's id.
    Recorded(String),
    /// None since the last apply.
    Unknown,
}

impl From<Option<Cause>> for LeftBy {
    fn from(cause: Option<Cause>) -> LeftBy {
        cause.map_or(LeftBy::Unknown, LeftBy::Change)
    }
}

impl LetGo {
    /// Returns what becomes of an object that is let go, and why, as it follows kind and name.
    pub(crate) fn words(&self) -> String {
        let why = match &self.why {
            LetGoWhy::Adopted => "it existed before this file managed it".to_owned(),
            LetGoWhy::Renamed(now) => format!("somebody renamed it to {now:?}"),
            LetGoWhy::Before => {
                let by = match &self.left_by {
                    LeftBy::Recorded(cause) => format!(" ({})", Origin::of_text(cause).words()),
                    LeftBy::Change(_) | LeftBy::Unknown => String::new(),
                };
                return format!(
                    "stays in NetBird: an earlier run let it go{by}. Nobody manages it. It is listed here until a later change \
                     of the file is applied."
                );
            }
        };
        format!("stays in NetBird: {why}. After this change nobody manages it.")
    }
}
