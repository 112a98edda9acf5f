//! The sentences of what is let go.

use crate::model::let_go::{LeftBy, LetGo, LetGoWhy};
use crate::model::origin::Origin;

/// Returns what becomes of an object that is let go, and why, as it follows kind and name.
pub(crate) fn let_go(of: &LetGo) -> String {
    let why = match &of.why {
        LetGoWhy::Adopted => "it existed before this file managed it".to_owned(),
        LetGoWhy::Renamed(now) => format!("somebody renamed it to {now:?}"),
        LetGoWhy::Before => {
            let by = match &of.left_by {
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
