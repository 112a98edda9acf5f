//! The choice among the live keys that bear an entry's name: which one stands for it, and what becomes of the others.

use jiff::Timestamp;

use super::{
    Decision, Namesake, Whose, compare, consumed, desired, make, must_be_replaced, never_sealed,
};
use crate::address::Address;
use crate::api::objects;
use crate::change::Operation;
use crate::id::Id;
use crate::kind::{DeclaredKey, KeyType, Resource, differences};
use crate::notice::{Dead, Notice, OfKey};
use crate::options::{Options, Prune};
use crate::reason::Reason;

const DAY_SECS: i64 = 86_400;

/// Decides by the live keys of that name, the oldest first.
pub(super) fn choose(
    address: &Address,
    declared: &DeclaredKey,
    namesakes: &[Namesake],
    options: &Options,
) -> Decision {
    let mut choice = Choice {
        address,
        declared,
        options,
        after: desired(declared),
        wants_groups: declared.auto_groups.iter().flatten().next().is_some(),
        asked: declared.asked_anew(options.now),
        decision: Decision::default(),
    };
    let by_hand = |of: &Namesake| choice.wants_groups && of.key.auto_groups.is_empty();
    let spent = namesakes.iter().filter(|of| of.is_ours() && of.is_spent());
    let spent = spent.filter(|of| !by_hand(of));
    choice.decision.spent = spent.map(|of| of.key.id.clone()).collect();
    if declared.enrolled {
        choice.enrolled(namesakes);
        return choice.decision;
    }
    if let (Some(instant), None) = (declared.reissue_after, choice.asked) {
        choice.tell(OfKey::ReissueLater(instant));
    }
    match options.replace.contains(address) {
        true => choice.by_hand(namesakes),
        false => choice.pending(namesakes),
    }
    choice.decision
}

/// The decision about one declared key while it is made.
struct Choice<'a> {
    address: &'a Address,
    declared: &'a DeclaredKey,
    options: &'a Options,
    /// The entry in canonical form.
    after: Resource,
    /// One of ours gets its groups before anybody can use it.
    wants_groups: bool,
    /// The instant from which on a new key is asked for, where it has come.
    asked: Option<Timestamp>,
    decision: Decision,
}

impl Choice<'_> {
    fn tell(&mut self, what: OfKey) {
        let notice = Notice::about(self.address, what);
        self.decision.notices.push(notice);
    }

    /// Says it of these keys, where there are any.
    fn tell_of(&mut self, keys: &[&Namesake], what: impl FnOnce(Vec<Id>) -> OfKey) {
        if !keys.is_empty() {
            self.tell(what(ids(keys)));
        }
    }

    /// These keys go.
    fn goes<'k>(&mut self, keys: impl IntoIterator<Item = &'k Namesake<'k>>, reason: Reason) {
        let going = keys.into_iter().map(|of| (of.live.clone(), reason.clone()));
        self.decision.deletions.extend(going);
    }

    /// Returns whether a key is as the file says.
    fn fits(&self, of: &Namesake) -> bool {
        differences(&self.after, &of.live.resource).is_empty()
    }

    /// Returns whether a key differs from what the file says in what no key can change.
    fn is_otherwise(&self, of: &Namesake) -> bool {
        must_be_replaced(&self.after, of.live)
    }

    /// Of an entry whose key did its work.
    fn enrolled(&mut self, namesakes: &[Namesake]) {
        if self.options.replace.contains(self.address) {
            self.tell(OfKey::ReplaceIdle);
        }
        for of in namesakes.iter().filter(|of| of.is_waiting()) {
            match (self.options.prune, of.whose) {
                (Prune::All, _) | (Prune::Owned, Whose::Ours) => {
                    self.goes([of], Reason::MarkedEnrolled);
                }
                _ => self.tell(OfKey::UnusedKey(of.key.id.clone())),
            }
        }
        self.decision.used = done(self.declared, namesakes, self.asked);
    }

    /// Of an entry that `--replace` names.
    fn by_hand(&mut self, namesakes: &[Namesake]) {
        let going = namesakes.iter().filter(|of| of.is_waiting());
        let mut going: Vec<_> = going
            .map(|of| match of.is_superseded(self.asked) {
                true => (of.live.clone(), Reason::BeforeReissue),
                false => (of.live.clone(), Reason::ReplacedByHand),
            })
            .collect();
        // the newest of those that are not older than asked for stands for what it replaces
        going.sort_by_key(|(live, why)| (*why == Reason::ReplacedByHand, live.id.clone()));
        let last = namesakes.last().map(|of| of.live);
        let superseded = going.pop().map(|(live, _)| live);
        let operation = make(self.after.clone(), superseded, last);
        self.decision.operation = Some((operation, Some(Reason::Replace)));
        self.decision.deletions = going;
    }

    /// Of an entry that waits for its machine, or for many.
    fn pending(&mut self, namesakes: &[Namesake]) {
        let counted = self.counted(namesakes);
        let (old, present): (Vec<&Namesake>, Vec<_>) = counted
            .into_iter()
            .partition(|of| of.is_superseded(self.asked));
        let waiting = present.iter().copied().filter(|of| of.is_waiting());
        let (unsealed, valid): (Vec<&Namesake>, Vec<_>) =
            waiting.partition(|of| of.is_unsealed(self.wants_groups));
        // of a key that is declared for many now, the used one of its older life is a ghost
        let is_for_one = self.declared.key_type == KeyType::OneOff;
        if is_for_one && self.stands_used(&present, &unsealed, &valid) {
            return;
        }
        let valid = self.without_leftovers(unsealed, valid);
        let valid = self.only(valid);
        if !self.decision.ambiguous.is_empty() {
            return;
        }
        let old_valid = old.iter().copied().filter(|of| of.is_waiting());
        let old_valid: Vec<&Namesake> = old_valid.collect();
        match valid {
            Some(of) => {
                self.goes(old_valid, Reason::BeforeReissue);
                self.keep(of);
            }
            None => match present.iter().rfind(|of| !of.is_spent()) {
                Some(of) => self.tell(OfKey::Dead(dead(of.key))),
                None => self.make(&old, old_valid),
            },
        }
    }

    /// Returns the keys that can stand for the entry, and says which others bear its name.
    fn counted<'n>(&mut self, namesakes: &'n [Namesake<'n>]) -> Vec<&'n Namesake<'n>> {
        let wants_groups = self.wants_groups;
        // A key of ours gets its groups before anybody can use it. A used one without, beside one that waits as the file
        // says, is somebody's who made it by hand.
        let waits_as_declared = namesakes
            .iter()
            .any(|of| wants_groups && of.is_ours() && of.is_waiting() && self.fits(of));
        let grants_nothing =
            |of: &Namesake| waits_as_declared && of.is_spent() && of.key.auto_groups.is_empty();
        // What was there before the file declared it stands for the entry only while nothing of ours does.
        let has_ours = namesakes.iter().any(|of| of.is_ours());
        // nobody agreed that whoever holds the secret of one that grants nothing joins the entry's groups
        let is_bare = |of: &Namesake| wants_groups && never_sealed(of.key);
        let (counted, others): (Vec<&Namesake>, Vec<_>) =
            namesakes.iter().partition(|of| match of.whose {
                Whose::Ours | Whose::Named => !grants_nothing(of),
                Whose::TakenOver => !has_ours && !is_bare(of),
                Whose::Theirs => false,
            });
        self.decision.takes_over = counted.iter().any(|of| of.whose == Whose::TakenOver);
        // valid keys are named, and used ones where that decides
        let newest = counted.last().map(|of| &of.key.id);
        let (waiting, others): (Vec<&Namesake>, Vec<_>) =
            others.into_iter().partition(|of| of.is_waiting());
        let spent = others.into_iter();
        let spent = spent.filter(|of| of.is_spent() && Some(&of.key.id) > newest);
        self.tell_of(&waiting, OfKey::ValidNamesakes);
        self.tell_of(&spent.collect::<Vec<_>>(), OfKey::UsedNamesakes);
        counted
    }

    /// Decides by a used key that stands for the entry. Returns whether one does, or one of several.
    fn stands_used(
        &mut self,
        present: &[&Namesake],
        unsealed: &[&Namesake],
        valid: &[&Namesake],
    ) -> bool {
        let used = present.iter().copied().filter(|of| of.is_spent());
        let used: Vec<&Namesake> = used.collect();
        let used = match consumed(&used, self.declared, false)[..] {
            [] => return false,
            [of] => of,
            ref several => {
                self.tell(OfKey::UsedOneOf(ids(several)));
                return true;
            }
        };
        // one that was made anew since is newer and as the file says, but for its groups
        let mut newer = valid.iter().filter(|of| of.key.id > used.key.id);
        if newer.any(|of| !self.is_otherwise(of)) {
            return false;
        }
        self.decision.used = Some(used.key.id.clone());
        let unsealed = unsealed.iter().copied();
        let (finished, unclear): (Vec<&Namesake>, Vec<_>) =
            unsealed.partition(|of| of.key.id < used.key.id);
        self.goes(finished, Reason::NeverSealed);
        self.tell_of(&unclear, OfKey::Unclear);
        self.tell_of(valid, OfKey::OlderKey);
        true
    }

    /// Lets go what killed runs left: nobody can use those keys, so they stand for nothing. Where there is nothing else, the
    /// newest is what is replaced. Of others nobody can tell who made them.
    fn without_leftovers<'n>(
        &mut self,
        mut unsealed: Vec<&'n Namesake<'n>>,
        mut valid: Vec<&'n Namesake<'n>>,
    ) -> Vec<&'n Namesake<'n>> {
        if valid.is_empty() {
            valid.extend(unsealed.pop());
        }
        // A newer one beside a good one may be somebody's who made it by hand; a run that was killed leaves one only while
        // it replaces what cannot be changed, or what was asked for anew.
        let good = valid.last().copied();
        let replaces = good.is_some_and(|of| self.is_otherwise(of));
        let (finished, unclear): (Vec<_>, Vec<_>) = unsealed.into_iter().partition(|of| {
            let older = good.is_none_or(|good| of.key.id < good.key.id);
            older || (replaces && !self.is_otherwise(of))
        });
        self.goes(finished, Reason::NeverSealed);
        self.tell_of(&unclear, OfKey::Unclear);
        valid
    }

    /// Returns the one of several valid keys that stands for the entry; the others go, or nobody can choose among them.
    fn only<'n>(&mut self, valid: Vec<&'n Namesake<'n>>) -> Option<&'n Namesake<'n>> {
        let (newest, older) = valid.split_last()?;
        // A replacement that was killed before its end: what it made is as the file says, what it was to delete cannot be.
        if self.fits(newest)
            && !newest.is_unsealed(self.wants_groups)
            && older.iter().all(|of| self.is_otherwise(of))
        {
            self.goes(older.iter().copied(), Reason::ReplacedBefore);
            return Some(newest);
        }
        let (first, later) = valid.split_first()?;
        let may_go = match self.options.prune {
            Prune::All => true,
            Prune::Owned => valid.iter().all(|of| of.whose == Whose::Ours),
            Prune::None => false,
        };
        if later.is_empty() || (may_go && valid.iter().all(|of| self.fits(of))) {
            self.goes(later.iter().copied(), Reason::SecondKey);
            return Some(first);
        }
        self.decision.ambiguous = valid.iter().map(|of| of.live.clone()).collect();
        None
    }

    /// Brings the key that stands for the entry to what the file says.
    fn keep(&mut self, of: &Namesake) {
        let is_unused = of.key.used_times == 0;
        // of a key that was made for a day this is no news
        let soon = self.options.now.as_second() + DAY_SECS;
        let lasts_long = self.declared.expires_in_secs > DAY_SECS;
        let expires = of.key.expires.filter(|at| at.as_second() < soon);
        if let Some(expires) = expires.filter(|_| lasts_long && is_unused) {
            self.tell(OfKey::ExpiresSoon(expires));
        }
        let is_unsealed = of.is_unsealed(self.wants_groups);
        self.decision.operation = compare(of, self.after.clone(), is_unsealed);
        let operation = self.decision.operation.as_ref();
        let stays = !matches!(operation, Some((Operation::Replace { .. }, _)));
        let untold = of.whose == Whose::Named && never_sealed(of.key);
        if untold && operation.is_none() {
            self.tell(OfKey::Untold(of.key.id.clone()));
        }
        let waits = stays && of.is_ours() && is_unused;
        self.decision.waiting = waits.then(|| of.key.id.clone());
    }

    /// Makes a key, in the place of the newest of the older ones that can still be used; the rest of those go.
    fn make(&mut self, old: &[&Namesake], mut old_valid: Vec<&Namesake>) {
        let superseded = old_valid.pop().map(|of| of.live.clone());
        let last = old.last().map(|of| of.live);
        let reason = self.asked.filter(|_| !old.is_empty());
        let operation = make(self.after.clone(), superseded, last);
        self.decision.operation = Some((operation, reason.map(Reason::Reissue)));
        self.goes(old_valid, Reason::BeforeReissue);
    }
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
    let used = consumed(&known, declared, true);
    used.first().map(|of| of.key.id.clone())
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

fn ids(keys: &[&Namesake]) -> Vec<Id> {
    keys.iter().map(|of| of.key.id.clone()).collect()
}
