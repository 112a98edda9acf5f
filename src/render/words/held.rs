//! The sentences of what is kept back.

use std::collections::BTreeSet;

use crate::held::Why;
use crate::text::listed;

/// Returns why something is held back, as it follows the object's name.
pub(crate) fn why(why: &Why) -> String {
    match why {
        Why::Older => "it was there before the file declared it".into(),
        Why::Newer => "it was made by hand after its entry was removed".into(),
        Why::Changed => "it was changed by hand into what the file never said".into(),
        Why::Undated => {
            "its id does not say when it was made, so nothing proves whose it is".into()
        }
        Why::Needed(holders) | Why::NeededByGone(holders) => {
            format!("it is still used by {}", joined(holders))
        }
        Why::Holds(inside) => format!("it holds {}, which stays", joined(inside)),
        Why::HoldsAnew(inside) => format!(
            "it cannot be changed as the file says but only be made anew, and it holds {}, which would go with it",
            joined(inside)
        ),
        Why::Listed { peer, groups } => {
            let names: Vec<String> = groups.iter().map(|name| format!("{name:?}")).collect();
            let (word, verb) = match groups.len() {
                1 => ("group", "lists"),
                _ => ("groups", "list"),
            };
            let names = listed(&names);
            format!("its peer {peer:?} stays: {word} {names} still {verb} it")
        }
        Why::PeerNeeded { peer, holders, .. } => {
            let holders = joined(holders);
            format!("its peer {peer:?} stays: it is still used by {holders}")
        }
    }
}

/// Returns what to do about something that is held back.
pub(crate) fn way_out(why: &Why) -> &'static str {
    match why {
        Why::Older | Why::Newer | Why::Changed | Why::Undated => {
            "it goes once somebody agrees with Allow-Deletes, and stays until then"
        }
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
        Why::Listed { .. } => {
            "take it out there too, then key and peer go; or put the key's entry back"
        }
        Why::PeerNeeded {
            until_agreed: true, ..
        } => "key and peer go with them once somebody agrees with Allow-Deletes",
        Why::PeerNeeded { .. } => {
            "take the peer out there in NetBird, then key and peer go; or put the key's entry back"
        }
    }
}

fn joined(names: &BTreeSet<String>) -> String {
    listed(&names.iter().collect::<Vec<_>>())
}
