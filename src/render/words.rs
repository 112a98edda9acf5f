//! The sentences of what the plan holds as data: why something changes, and why it stays.

mod impossible;

use std::collections::BTreeSet;

use crate::drift::Extraneous;
use crate::evidence::Evidence;
use crate::held::Why;
use crate::reason::{Guess, Reason};
use crate::text::listed;

pub(crate) use impossible::problems;

/// Returns why a change is; nothing where its fields say it.
pub(crate) fn reason(reason: Option<&Reason>) -> String {
    let told = |evidence: Option<Evidence>| {
        let told = evidence.and_then(Evidence::said);
        told.map(|told| format!("; {told}")).unwrap_or_default()
    };
    let Some(reason) = reason else {
        return String::new();
    };
    match reason {
        Reason::NoLongerDeclared { agreed: false } => "no longer declared",
        Reason::NoLongerDeclared { agreed: true } => {
            "no longer declared (agreed to by Allow-Deletes)"
        }
        Reason::NotDeclared => "not declared (--prune all)",
        Reason::Second => "a second one of that name, and equal",
        Reason::SecondKey => "a second key of that name",
        Reason::SecondGroup => {
            "a second one of that name: its members and what refers to it move to the oldest"
        }
        Reason::RefersToSecondGroup => "refers to a second group of the name, which goes",
        Reason::Fixed(field) => {
            return format!(
                "its {field} cannot be changed: a new one is made, then the old one goes"
            );
        }
        Reason::WithParent => "made anew with what it stands in",
        Reason::Replace => "--replace names it",
        Reason::ReplacedByHand => "replaced by hand",
        Reason::BeforeReissue => "made before reissue_after",
        Reason::NeverSealed => "never sealed: nobody holds its secret",
        Reason::ReplacedBefore => "replaced by a newer one, in a run that did not end",
        Reason::KeyCannotChange => {
            "a key cannot be changed: new secret, then the old one is deleted"
        }
        Reason::MarkedEnrolled => "marked enrolled, so this live and unused credential is nobody's",
        Reason::DeadKeyInTheWay => "a dead key that would keep its group from being deleted",
        Reason::Reissue(instant) => return format!("reissue_after {instant}"),
        Reason::Enrolled { evidence, label } => {
            let label = match label {
                None => "",
                Some(Guess::Predicted) => "; the label is predicted",
                Some(Guess::Punycode) => "; NetBird makes the label in punycode",
            };
            return format!("enrolled with this key{}{label}", told(Some(*evidence)));
        }
        Reason::KeyRemoved { key, evidence } => {
            return format!(
                "enrolled with setup key {key:?}, whose entry was removed{}",
                told(*evidence)
            );
        }
        Reason::Replaced {
            key,
            by,
            by_name,
            evidence,
        } => {
            let by = match by_name {
                Some(name) => format!("{name:?} ({by})"),
                None => format!("(deleted peer {by})"),
            };
            return format!(
                "enrolled with an older setup key {key:?}, and replaced by the peer {by}{}",
                told(Some(*evidence))
            );
        }
    }
    .into()
}

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

/// Returns what is to be said of an object that the file does not declare.
pub(crate) fn extraneous(what: &Extraneous) -> Option<String> {
    match what {
        Extraneous::Unmanaged => None,
        Extraneous::Held(held) => Some(why(held)),
        Extraneous::SectionGone => {
            Some("its section is no longer in the file, so nobody manages it".into())
        }
        Extraneous::Goes(of) => Some(format!("{}: an apply deletes it", reason(of.as_ref()))),
    }
}

fn joined(names: &BTreeSet<String>) -> String {
    listed(&names.iter().collect::<Vec<_>>())
}
