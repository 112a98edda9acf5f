//! The life cycle of setup keys: what becomes of a key, as a function of one declared key and its live namesakes.
//!
//! Names of keys are not unique and old keys are never purged, so a name often stands for several live keys: dead ones
//! (used, expired, revoked), those that somebody made by hand, and at most one that is wanted. Whose they are is told in
//! `namesakes`; the plan, the members of groups and the enrollments all go by the one decision made here.

mod decisions;
mod namesakes;
mod operation;

use jiff::Timestamp;

use crate::actual::Actual;
use crate::address::Address;
use crate::api::objects;
use crate::change::Operation;
use crate::id::Id;
use crate::kind::{DeclaredKey, KeyType, Kind, Live, differences};
use crate::notice::{Dead, Notice, OfKey};
use crate::options::{Options, Prune};
use crate::reason::Reason;

use operation::{compare, make, must_be_replaced};

pub use decisions::{Decisions, decisions};
pub use namesakes::{Consumed, Namesake, Whose, consumed, namesakes};
pub use operation::desired;

/// How long after its creation a key can have been changed last and count as untouched, in seconds: creation takes
/// its two times one after the other, and the id holds whole seconds.
const UNTOUCHED_SECS: i64 = 2;

/// The age at which a change moves `updated_at` out of that, in seconds.
pub const MARKABLE_SECS: i64 = UNTOUCHED_SECS + 1;

const DAY_SECS: i64 = 86_400;

/// What is to be done about one declared key.
#[derive(Debug, Default)]
pub struct Decision {
    /// The operation and why it is.
    pub operation: Option<(Operation, Option<Reason>)>,
    /// Older namesakes that go after it, and why.
    pub deletions: Vec<(Live, Reason)>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
    /// Namesakes among which nobody can choose.
    pub ambiguous: Vec<Live>,
    /// Ids of the entry's own one-off keys that a machine used, the oldest first.
    pub spent: Vec<Id>,
    /// Id of the used key by whose peer the name is borne: of a pending entry that of one that was used since it was asked
    /// for.
    pub used: Option<Id>,
    /// Id of the valid, unused key of ours that stands for the entry and stays.
    pub waiting: Option<Id>,
    /// What lives is older than the entry, which stands for it all the same.
    pub takes_over: bool,
}

impl Decision {
    fn tell(&mut self, address: &Address, what: OfKey) {
        self.tell_all(address, Some(what));
    }

    fn tell_all(&mut self, address: &Address, what: impl IntoIterator<Item = OfKey>) {
        let notices = what.into_iter().map(|what| Notice::about(address, what));
        self.notices.extend(notices);
    }
}

/// Returns whether nobody holds the key's secret: unused, without groups, and never changed since its creation. Keys are
/// made without groups and are changed only once sealed: they get their groups then, or a write that changes nothing.
/// One that was emptied by hand was changed later.
pub fn never_sealed(key: &objects::SetupKey) -> bool {
    let untouched = || {
        let created = key.id.created_at()?;
        Some((0..=UNTOUCHED_SECS).contains(&(key.updated_at?.as_second() - created)))
    };
    key.used_times == 0 && key.auto_groups.is_empty() && untouched() == Some(true)
}

/// Decides about the declared key `name` of an account.
fn decide(name: &str, declared: &DeclaredKey, actual: &Actual, options: &Options) -> Decision {
    let address = Address::new(Kind::SetupKey, name);
    let namesakes = namesakes(name, actual, options);
    let mut decision = choose(&address, declared, &namesakes, options);
    let touched = decision
        .operation
        .iter()
        .filter_map(|(operation, _)| operation.live())
        .chain(decision.deletions.iter().map(|(live, _)| live));
    let mut touched = touched.map(|live| &live.id).chain(&decision.used);
    let is_named = |id: &Id| {
        let mut namesakes = namesakes.iter();
        namesakes.any(|of| of.whose == Whose::Named && of.key.id == *id)
    };
    if !declared.enrolled && touched.any(is_named) {
        decision.tell(&address, OfKey::ByName);
    }
    decision
}

/// Decides by the live keys of that name, the oldest first.
fn choose(
    address: &Address,
    declared: &DeclaredKey,
    namesakes: &[Namesake],
    options: &Options,
) -> Decision {
    let after = desired(declared);
    let mut decision = Decision::default();
    // one of ours gets its groups before anybody can use it
    let wants_groups = declared
        .auto_groups
        .as_ref()
        .is_some_and(|groups| !groups.is_empty());
    let by_hand = |of: &Namesake| wants_groups && of.key.auto_groups.is_empty();
    let spent = namesakes.iter().filter(|of| of.is_ours() && of.is_spent());
    let spent = spent.filter(|of| !by_hand(of));
    decision.spent = spent.map(|of| of.key.id.clone()).collect();
    let is_replaced = options.replace.contains(address);
    let asked = declared.asked_anew(options.now);

    if declared.enrolled {
        if is_replaced {
            decision.tell(address, OfKey::ReplaceIdle);
        }
        for of in namesakes.iter().filter(|of| of.is_waiting()) {
            if options.prune == Prune::All
                || (options.prune == Prune::Owned && of.whose == Whose::Ours)
            {
                decision.deletions.push(goes(Reason::MarkedEnrolled)(of));
            } else {
                decision.tell(address, OfKey::UnusedKey(of.key.id.clone()));
            }
        }
        decision.used = done(declared, namesakes, asked);
        return decision;
    }

    if let (Some(instant), None) = (declared.reissue_after, asked) {
        decision.tell(address, OfKey::ReissueLater(instant));
    }

    if is_replaced {
        let going = namesakes.iter().filter(|of| of.is_waiting());
        let mut going: Vec<_> = going
            .map(|of| match of.is_superseded(asked) {
                true => goes(Reason::BeforeReissue)(of),
                false => goes(Reason::ReplacedByHand)(of),
            })
            .collect();
        // the newest of those that are not older than asked for stands for what it replaces
        going.sort_by_key(|(live, why)| (*why == Reason::ReplacedByHand, live.id.clone()));
        let last = namesakes.last().map(|of| of.live);
        let superseded = going.pop().map(|(live, _)| live);
        decision.operation = Some((make(after, superseded, last), Some(Reason::Replace)));
        decision.deletions = going;
        return decision;
    }

    // A key of ours gets its groups before anybody can use it. A used one without, beside one that waits as the file says, is
    // somebody's who made it by hand.
    let waits_as_declared = namesakes.iter().any(|of| {
        let fits = || differences(&after, &of.live.resource).is_empty();
        wants_groups && of.is_ours() && of.is_waiting() && fits()
    });
    let grants_nothing =
        |of: &Namesake| waits_as_declared && of.is_spent() && of.key.auto_groups.is_empty();
    // What was there before the file declared it stands for the entry only while nothing of ours does.
    let ours: Vec<&Namesake> = namesakes.iter().filter(|of| of.is_ours()).collect();
    let (counted, others): (Vec<_>, Vec<_>) = namesakes.iter().partition(|of| match of.whose {
        Whose::Ours | Whose::Named => !grants_nothing(of),
        // nobody agreed that whoever holds the secret of one that grants nothing joins the entry's groups
        Whose::TakenOver => ours.is_empty() && !(wants_groups && never_sealed(of.key)),
        Whose::Theirs => false,
    });
    decision.tell_all(address, not_ours(&counted, &others));
    decision.takes_over = counted.iter().any(|of| of.whose == Whose::TakenOver);

    let (old, present): (Vec<&Namesake>, Vec<_>) =
        counted.into_iter().partition(|of| of.is_superseded(asked));
    let used: Vec<&Namesake> = present.iter().copied().filter(|of| of.is_spent()).collect();
    let waiting = present.iter().copied().filter(|of| of.is_waiting());
    let (mut unsealed, mut valid): (Vec<&Namesake>, Vec<_>) =
        waiting.partition(|of| of.is_unsealed(wants_groups));
    let old_valid = old.iter().copied().filter(|of| of.is_waiting());
    let old_valid: Vec<_> = old_valid.map(goes(Reason::BeforeReissue)).collect();

    // of a key that is declared for many now, the used one of its older life is a ghost
    if declared.key_type == KeyType::OneOff {
        let standing = match consumed(&used, declared, false) {
            Consumed::Nobody => None,
            Consumed::By(of) => Some(of),
            Consumed::ByOneOf(several) => {
                decision.tell(address, OfKey::UsedOneOf(ids(&several)));
                return decision;
            }
        };
        // one that was made anew since is newer and as the file says, but for its groups
        let anew = |used: &Namesake| {
            let newer = |of: &&&Namesake| of.key.id > used.key.id;
            let fits = |of: &&Namesake| !must_be_replaced(&after, of.live);
            valid.iter().filter(newer).any(fits)
        };
        if let Some(used) = standing.filter(|used| !anew(used)) {
            decision.used = Some(used.key.id.clone());
            let (finished, unclear): (Vec<_>, Vec<_>) =
                unsealed.into_iter().partition(|of| of.key.id < used.key.id);
            decision.deletions = finished
                .iter()
                .copied()
                .map(goes(Reason::NeverSealed))
                .collect();
            decision.tell_all(address, unclear_keys(&unclear));
            if !valid.is_empty() {
                decision.tell(address, OfKey::OlderKey(ids(&valid)));
            }
            return decision;
        }
    }

    // Left by runs that were killed: nobody can use them, so they stand for nothing. Where there is nothing else, the
    // newest is what is replaced.
    if valid.is_empty() {
        valid.extend(unsealed.pop());
    }
    // A newer one beside a good one may be somebody's who made it by hand; a run that was killed leaves one only while
    // it replaces what cannot be changed, or what was asked for anew.
    let good = valid.last().copied();
    let replaces = good.is_some_and(|of| must_be_replaced(&after, of.live));
    let (finished, unclear): (Vec<_>, Vec<_>) = unsealed.into_iter().partition(|of| {
        let older = good.is_none_or(|good| of.key.id < good.key.id);
        older || (replaces && !must_be_replaced(&after, of.live))
    });
    decision
        .deletions
        .extend(finished.iter().copied().map(goes(Reason::NeverSealed)));
    decision.tell_all(address, unclear_keys(&unclear));

    // A replacement that was killed before its end: what it made is as the file says, what it was to delete cannot be.
    if let [older @ .., newest] = &valid[..]
        && differences(&after, &newest.live.resource).is_empty()
        && !newest.is_unsealed(wants_groups)
        && older.iter().all(|of| must_be_replaced(&after, of.live))
    {
        let older = older.iter().copied().map(goes(Reason::ReplacedBefore));
        decision.deletions.extend(older);
        valid.drain(..valid.len() - 1);
    }
    if valid.len() > 1 {
        let all_equal = valid
            .iter()
            .all(|of| differences(&after, &of.live.resource).is_empty());
        let all_ours = || valid.iter().all(|of| of.whose == Whose::Ours);
        let may_go = match options.prune {
            Prune::All => true,
            Prune::Owned => all_ours(),
            Prune::None => false,
        };
        if !(all_equal && may_go) {
            decision.ambiguous = valid.iter().map(|of| of.live.clone()).collect();
            return decision;
        }
        let later = valid.split_off(1);
        decision
            .deletions
            .extend(later.into_iter().map(goes(Reason::SecondKey)));
    }

    match valid.first() {
        Some(of) => {
            decision.deletions.extend(old_valid);
            // of a key that was made for a day this is no news
            let soon = options.now.as_second() + DAY_SECS;
            let soon =
                |at: &Timestamp| at.as_second() < soon && declared.expires_in_secs > DAY_SECS;
            let expires = of.key.expires.filter(soon);
            if let Some(expires) = expires.filter(|_| of.key.used_times == 0) {
                decision.tell(address, OfKey::ExpiresSoon(expires));
            }
            decision.operation = compare(of, after, of.is_unsealed(wants_groups));
            let untold = of.whose == Whose::Named && never_sealed(of.key);
            if untold && decision.operation.is_none() {
                decision.tell(address, OfKey::Untold(of.key.id.clone()));
            }
            let stays = !matches!(decision.operation, Some((Operation::Replace { .. }, _)));
            let is_unused = of.is_ours() && of.key.used_times == 0;
            decision.waiting = (stays && is_unused).then(|| of.key.id.clone());
        }
        None => match present.iter().rfind(|of| !of.is_spent()) {
            Some(of) => decision.tell(address, OfKey::Dead(dead(of.key))),
            None => {
                let mut going = old_valid;
                let superseded = going.pop().map(|(live, _)| live);
                let reason = match (&superseded, old.is_empty(), asked) {
                    (None, true, _) => None,
                    (_, _, asked) => asked.map(Reason::Reissue),
                };
                let last = old.last().map(|of| of.live);
                decision.operation = Some((make(after, superseded, last), reason));
                decision.deletions.extend(going);
            }
        },
    }
    decision
}

/// Returns the id of the used key of an entry whose key did its work. Somebody said so, hence one that was used before the
/// file spoke of it may be meant, and one that was asked for anew only where no newer one was used.
fn done(declared: &DeclaredKey, namesakes: &[Namesake], asked: Option<Timestamp>) -> Option<Id> {
    let used = namesakes.iter().filter(|of| of.key.used_times > 0);
    let (ours, others): (Vec<&Namesake>, Vec<_>) = used.partition(|of| of.is_ours());
    let known = if ours.is_empty() { others } else { ours };
    let (old, present): (Vec<&Namesake>, Vec<_>) =
        known.into_iter().partition(|of| of.is_superseded(asked));
    let known = if present.is_empty() { old } else { present };
    match consumed(&known, declared, true) {
        Consumed::By(of) => Some(of.key.id.clone()),
        Consumed::Nobody | Consumed::ByOneOf(_) => None,
    }
}

/// Returns how an expired, revoked or used-up key came to be so.
fn dead(key: &objects::SetupKey) -> Dead {
    let used = key.used_times > 0;
    match key.state.as_str() {
        "expired" => Dead::Expired {
            at: key.expires,
            used,
        },
        "revoked" => Dead::Revoked { used },
        _ => Dead::UsedUp,
    }
}

/// Names what bears the entry's name and does not stand for it: valid keys, and used ones where that decides.
fn not_ours(counted: &[&Namesake], others: &[&Namesake]) -> Vec<OfKey> {
    let newest = counted.last().map(|of| &of.key.id);
    let (waiting, spent): (Vec<&Namesake>, Vec<_>) = others
        .iter()
        .copied()
        .filter(|of| of.is_waiting() || (of.is_spent() && Some(&of.key.id) > newest))
        .partition(|of| of.is_waiting());
    let waiting = (!waiting.is_empty()).then(|| OfKey::ValidNamesakes(ids(&waiting)));
    let spent = (!spent.is_empty()).then(|| OfKey::UsedNamesakes(ids(&spent)));
    waiting.into_iter().chain(spent).collect()
}

/// Names unused keys without groups of which nobody can tell who made them.
fn unclear_keys(keys: &[&Namesake]) -> Option<OfKey> {
    (!keys.is_empty()).then(|| OfKey::Unclear(ids(keys)))
}

fn ids(keys: &[&Namesake]) -> Vec<Id> {
    keys.iter().map(|of| of.key.id.clone()).collect()
}

/// Says of a live key that it goes, and why.
fn goes(reason: Reason) -> impl Fn(&Namesake) -> (Live, Reason) {
    move |of| (of.live.clone(), reason.clone())
}

#[cfg(test)]
mod tests;
