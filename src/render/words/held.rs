//! The sentences of what is kept back.

use std::collections::BTreeSet;

use crate::base::text::listed;
use crate::model::held::Why;

/// Returns why something stays, as it follows the object's name.
pub(crate) fn why(why: &Why) -> String {
    match why {
        Why::Needed(holders) | Why::NeededByGone(holders) => {
            format!("it is still used by {}", joined(holders))
        }
        Why::Holds(inside) => format!("it contains {}, which stays", joined(inside)),
        Why::HoldsAnew(inside) => format!(
            "it cannot be changed as the file says, only deleted and created again, and {} in it would be deleted with it",
            joined(inside)
        ),
    }
}

/// Returns what to do about something that stays.
pub(crate) fn way_out(why: &Why) -> &'static str {
    match why {
        Why::Needed(_) => {
            "take it out there in NetBird, then the next apply deletes it; or declare it again"
        }
        Why::HoldsAnew(_) => {
            "declare that too, or delete it in NetBird; nothing of it is changed until then"
        }
        Why::Holds(_) => {
            "delete that in NetBird, then the next apply deletes it; or declare it again"
        }
        // the list of the PUT is the whole list (docs/netbird-api.md, "A PUT replaces")
        Why::NeededByGone(_) => {
            "only the API takes that out of the group: PUT /api/groups/ID with {\"name\": \"NAME\"} and nothing else, then the \
             next apply deletes it; or declare it again"
        }
    }
}

fn joined(names: &BTreeSet<String>) -> String {
    listed(&names.iter().collect::<Vec<_>>())
}
