//! The life cycle of setup keys: the table of design §4 as a function of one declared key and its live namesakes.
//!
//! Names of keys are not unique and old keys are never purged, so a name often stands for several live keys: dead ones
//! (used, expired, revoked) and at most one that is wanted.

use jiff::Timestamp;

use crate::change::Operation;
use crate::code::Code;
use crate::desired::{KeyType, SetupKey};
use crate::notice::Notice;
use crate::resource::{self, Live, Resource, differences};
use crate::state::{Address, Kind};
use crate::wire;

/// How long after its creation a key can have been changed last and count as untouched, in seconds: creation takes
/// its two times one after the other, and the id holds whole seconds.
const UNTOUCHED_SECS: i64 = 2;

/// Why a key that nobody can use goes. It is looked at again right before.
pub const NEVER_SEALED: &str = "never sealed: nobody holds its secret";

/// What is to be done about one declared key.
#[derive(Debug, Default)]
pub struct Decision {
    /// The operation and why it is.
    pub operation: Option<(Operation, String)>,
    /// Older namesakes that go after it, and why.
    pub deletions: Vec<(Live, String)>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
    /// Namesakes among which nobody can choose.
    pub ambiguous: Vec<Live>,
    /// It is declared enrolled, and these valid keys of its name were never used.
    pub unused: Vec<Live>,
    /// It is declared pending and a peer used it.
    pub moved: Option<Live>,
}

/// What decides beside the key itself.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances {
    /// The present.
    pub now: Timestamp,
    /// `--replace` names the key.
    pub replace: bool,
    /// Namesakes that equal the file are all ours: the oldest stays, the others go.
    pub namesakes_are_ours: bool,
}

/// Returns whether nobody holds the key's secret: unused, without groups though the file wants some, and never changed
/// since its creation. Keys are made without groups and get them only once sealed; one that was emptied by hand was
/// changed later.
pub fn never_sealed(key: &wire::SetupKey, wants_groups: bool) -> bool {
    let untouched = || {
        let created = key.id.created_at()?;
        Some((0..=UNTOUCHED_SECS).contains(&(key.updated_at?.as_second() - created)))
    };
    wants_groups && key.used_times == 0 && key.auto_groups.is_empty() && untouched() == Some(true)
}

/// Decides about the declared key `name`. `namesakes` are the live keys of that name, the oldest first.
pub fn decide(
    name: &str,
    declared: &SetupKey,
    namesakes: &[(&wire::SetupKey, &Live)],
    circumstances: Circumstances,
) -> Decision {
    let address = Address::new(Kind::SetupKey, name);
    let after = desired(declared);
    let mut decision = Decision::default();
    let spent = |key: &wire::SetupKey| key.key_type == KeyType::OneOff && key.used_times > 0;

    if declared.enrolled {
        if circumstances.replace {
            let text = "is marked enrolled and is never made again: --replace leaves it alone";
            decision
                .notices
                .push(Notice::about(Code::ReplaceIdle, &address, text));
        }
        let unused = namesakes.iter().filter(|(key, _)| key.valid && !spent(key));
        decision.unused = unused.map(|(_, live)| (*live).clone()).collect();
        return decision;
    }

    let asked = declared
        .reissue_after
        .filter(|instant| *instant <= circumstances.now);
    if let (Some(instant), None) = (declared.reissue_after, asked) {
        let text =
            format!("has a reissue_after that lies in the future ({instant}): nothing until then");
        decision
            .notices
            .push(Notice::about(Code::ReissueLater, &address, text));
    }
    // A key whose id does not tell its age is old if even its last change is.
    let created = |key: &wire::SetupKey| {
        key.id
            .created_at()
            .or_else(|| key.updated_at.map(Timestamp::as_second))
    };
    let superseded = |key: &wire::SetupKey| match asked {
        Some(instant) => created(key).is_some_and(|second| second < instant.as_second()),
        None => false,
    };
    let (old, present): (Vec<_>, Vec<_>) = namesakes
        .iter()
        .copied()
        .partition(|(key, _)| superseded(key));
    let wants_groups = declared
        .auto_groups
        .as_ref()
        .is_some_and(|groups| !groups.is_empty());
    let used = present.iter().rfind(|(key, _)| spent(key));
    let mut valid: Vec<_> = present
        .iter()
        .copied()
        .filter(|(key, _)| key.valid && !spent(key))
        .collect();
    let old_valid = old.iter().filter(|(key, _)| key.valid && !spent(key));
    let old_valid: Vec<_> = old_valid.map(goes("made before reissue_after")).collect();

    if circumstances.replace {
        let mut going: Vec<_> = valid
            .iter()
            .map(goes("replaced by hand"))
            .chain(old_valid)
            .collect();
        let reason = "--replace names it".to_owned();
        decision.operation = Some((make(after, going.pop().map(|(live, _)| live)), reason));
        decision.deletions = going;
        return decision;
    }
    // Left by runs that were killed: nobody can use them, so they stand for nothing. Where there is nothing else, the
    // newest is what is replaced.
    let (mut dead, good): (Vec<_>, Vec<_>) = valid
        .into_iter()
        .partition(|(key, _)| never_sealed(key, wants_groups));
    valid = match dead.pop_if(|_| good.is_empty() && used.is_none()) {
        Some(newest) => vec![newest],
        None => good,
    };
    decision
        .deletions
        .extend(dead.iter().map(goes(NEVER_SEALED)));

    // of a key that is declared for many now, the used one of its older life is a ghost
    if let Some((used_key, live)) = used.filter(|_| declared.key_type == KeyType::OneOff) {
        // a valid key that is newer than the used one was made anew since: then that one counts
        if valid.iter().all(|(key, _)| key.id < used_key.id) {
            decision.moved = Some((*live).clone());
            if !valid.is_empty() {
                let text = "was used, and an older valid key of that name still lives in NetBird";
                decision
                    .notices
                    .push(Notice::about(Code::OlderKey, &address, text));
            }
            return decision;
        }
    }

    // A replacement that was killed before its end: what it made is as the file says, what it was to delete cannot be.
    // Without groups nothing would tell whether the newer one was sealed.
    if let [older @ .., (newest, live)] = &valid[..]
        && wants_groups
        && differences(&after, &live.resource).is_empty()
        && !never_sealed(newest, wants_groups)
        && older.iter().all(|(_, live)| must_be_replaced(&after, live))
    {
        let reason = "replaced by a newer one, in a run that did not end";
        decision.deletions.extend(older.iter().map(goes(reason)));
        valid.drain(..valid.len() - 1);
    }
    if valid.len() > 1 {
        let all_equal = valid
            .iter()
            .all(|(_, live)| differences(&after, &live.resource).is_empty());
        if !(all_equal && circumstances.namesakes_are_ours) {
            decision.ambiguous = valid.iter().map(|(_, live)| (*live).clone()).collect();
            return decision;
        }
        let later = valid.split_off(1);
        decision
            .deletions
            .extend(later.iter().map(goes("a second key of that name")));
    }

    match valid.first() {
        Some((key, live)) => {
            decision.deletions.extend(old_valid);
            let soon = circumstances.now.as_second() + 86_400;
            if let Some(expires) = key.expires.filter(|at| at.as_second() < soon) {
                let text = format!("expires within a day, at {expires:.0}, and is not used yet");
                decision.notices.extend(
                    (key.used_times == 0).then(|| Notice::about(Code::ExpiresSoon, &address, text)),
                );
            }
            decision.operation = compare(key, live, after, wants_groups);
        }
        None => match present.iter().rfind(|(key, _)| !spent(key)) {
            Some((key, _)) => {
                let text = format!(
                    "{} without being used{}; remake it with reissue_after, or with --replace setup_keys/{name}",
                    match key.state.as_str() {
                        "expired" => "expired",
                        "revoked" => "was revoked",
                        _ => "is used up",
                    },
                    key.expires
                        .filter(|_| key.state == "expired")
                        .map(|at| format!(" ({at:.0})"))
                        .unwrap_or_default(),
                );
                let text = if key.used_times > 0 {
                    text.replace(" without being used", "")
                } else {
                    text
                };
                decision
                    .notices
                    .push(Notice::about(Code::DeadKey, &address, text));
            }
            None => {
                let mut going = old_valid;
                let superseded = going.pop().map(|(live, _)| live);
                let reason = match (&superseded, old.is_empty(), asked) {
                    (None, true, _) | (_, _, None) => String::new(),
                    (_, _, Some(instant)) => format!("reissue_after {instant}"),
                };
                decision.operation = Some((make(after, superseded), reason));
                decision.deletions.extend(going);
            }
        },
    }
    decision
}

/// Returns whether a live key differs from the declared one in what no key can change.
fn must_be_replaced(after: &Resource, live: &Live) -> bool {
    let fields = differences(after, &live.resource);
    fields
        .iter()
        .any(|change| !resource::SetupKey::can_change(&change.field))
}

/// Says of a live key that it goes, and why.
fn goes(reason: &'static str) -> impl Fn(&(&wire::SetupKey, &Live)) -> (Live, String) {
    move |(_, live)| ((*live).clone(), reason.to_owned())
}

/// Returns a creation, or a replacement where an older key is to go.
fn make(after: Resource, superseded: Option<Live>) -> Operation {
    match superseded {
        Some(live) => {
            let fields = differences(&after, &live.resource);
            Operation::Replace {
                live,
                fields,
                after,
            }
        }
        None => Operation::Create { after },
    }
}

/// Compares a declared key with its valid, unused (or reusable) live one.
fn compare(
    key: &wire::SetupKey,
    live: &Live,
    after: Resource,
    wants_groups: bool,
) -> Option<(Operation, String)> {
    let fields = differences(&after, &live.resource);
    if never_sealed(key, wants_groups) {
        let reason = NEVER_SEALED.to_owned();
        return Some((
            Operation::Replace {
                live: live.clone(),
                fields,
                after,
            },
            reason,
        ));
    }
    if fields.is_empty() {
        return None;
    }
    let live = live.clone();
    Some(
        if fields
            .iter()
            .all(|change| resource::SetupKey::can_change(&change.field))
        {
            (
                Operation::Update {
                    live,
                    fields,
                    after,
                },
                String::new(),
            )
        } else {
            let reason =
                "a key cannot be changed: new secret, then the old one is deleted".to_owned();
            (
                Operation::Replace {
                    live,
                    fields,
                    after,
                },
                reason,
            )
        },
    )
}

/// Returns the declared key in canonical form.
pub fn desired(declared: &SetupKey) -> Resource {
    Resource::SetupKey(resource::SetupKey {
        key_type: declared.key_type,
        expires: declared.expires_in_secs != 0,
        expires_in_secs: declared.expires_in_secs,
        // the server stores 1 for a one-off key, whatever is sent
        usage_limit: match declared.key_type {
            KeyType::OneOff => Some(1),
            KeyType::Reusable => declared.usage_limit,
        },
        auto_groups: declared.auto_groups.clone(),
        ephemeral: declared.ephemeral,
        allow_extra_dns_labels: declared.allow_extra_dns_labels,
    })
}

#[cfg(test)]
mod tests;
