//! The choice among the live keys that have an entry's name: which one stands for it, and what becomes of the others.

use jiff::Timestamp;

use super::{Came, Decision, Namesake, Used, compare, make, must_be_replaced, wanted};
use crate::base::id::Id;
use crate::inventory::RecordedAs;
use crate::model::address::Address;
use crate::model::change::Operation;
use crate::model::kind::{Resource, SetupKey, differences};
use crate::model::notice::{Dead, Notice, OfKey, Whose};
use crate::model::reason::Reason;
use crate::plan::options::{Options, Prune};
use crate::plan::ours::Standing;
use crate::wire::api::objects;

const DAY_SECS: i64 = 86_400;

/// Decides by the live keys of that name, the oldest first, and by the machines that came by those of the entry.
pub(super) fn choose(
    address: &Address,
    declared: &SetupKey,
    (namesakes, machines): (&[Namesake], Vec<Came>),
    options: &Options,
) -> Decision {
    let mut choice = Choice {
        address,
        declared,
        options,
        after: Resource::SetupKey(declared.clone()),
        asked: declared.asked_anew(options.now),
        decision: Decision {
            machines,
            ..Decision::default()
        },
    };
    let (own, others): (Vec<&Namesake>, Vec<_>) =
        namesakes.iter().partition(|of| of.origin.is_some());
    if declared.enrolled {
        choice.enrolled(&own, &others);
        return choice.decision;
    }
    if let (Some(instant), None) = (declared.reissue_after, choice.asked) {
        choice.tell(OfKey::ReissueLater(instant));
    }
    match options.replace.contains(address) {
        true => choice.by_hand(&own),
        false => choice.pending(&own, &others),
    }
    choice.others(&others, !own.is_empty());
    let is_lost = own.is_empty() && !options.ours.inventory.of(&address.key()).is_empty();
    if let (true, Some((Operation::Create { .. }, why @ None))) =
        (is_lost, &mut choice.decision.operation)
    {
        *why = Some(Reason::Lost);
    }
    choice.decision
}

/// Returns the key that an entry without one adopts, and as what. The first inventory adopts what the file can mean only;
/// later a key is adopted by its name for an entry alone that says that it did its work.
pub(super) fn adopted(
    declared: &SetupKey,
    namesakes: &[Namesake],
    options: &Options,
) -> Option<(Id, RecordedAs)> {
    let is_free = |of: &&Namesake| !of.is_strange;
    let adopted = |of: &Namesake| (of.key.id.clone(), options.ours.adopted_as(&of.key.id));
    if declared.enrolled {
        let used = namesakes.iter().rfind(|of| is_free(of) && of.is_spent());
        return used.map(adopted);
    }
    if options.ours.standing != Standing::First {
        return None;
    }
    let asked = declared.asked_anew(options.now);
    let after = Resource::SetupKey(declared.clone());
    let wants_groups = declared.auto_groups.iter().flatten().next().is_some();
    // one of ours without groups that nobody recorded may have been sealed by nobody
    let may_be_unsealed = |of: &Namesake| !wants_groups && of.is_made;
    let fits = |of: &&Namesake| {
        let is_unused = of.key.used_times == 0 || !of.key.is_for_one();
        let is_equal = differences(&wanted(&after, of), &of.live.resource).is_empty();
        of.is_waiting() && is_unused && is_equal && !of.is_superseded(asked) && !may_be_unsealed(of)
    };
    let mut fitting = namesakes.iter().filter(is_free).filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some(adopted(only)),
        _ => None,
    }
}

/// The decision about one declared key while it is made.
struct Choice<'a> {
    address: &'a Address,
    declared: &'a SetupKey,
    options: &'a Options,
    /// The entry in canonical form.
    after: Resource,
    /// The instant from which on a new key is asked for, where it has come.
    asked: Option<Timestamp>,
    decision: Decision,
}

impl Choice<'_> {
    fn tell(&mut self, what: OfKey) {
        let notice = Notice::about(self.address, what);
        self.decision.notices.push(notice);
    }

    /// These keys go, but where it is not known whose they are.
    fn goes<'k>(&mut self, keys: impl IntoIterator<Item = &'k Namesake<'k>>, reason: Reason) {
        if self.options.ours.standing == Standing::Unknown {
            return;
        }
        let going = keys.into_iter().map(|of| (of.live.clone(), reason.clone()));
        self.decision.deletions.extend(going);
    }

    /// Returns whether a key differs from what the file says in what no key can change.
    fn is_otherwise(&self, of: &Namesake) -> bool {
        must_be_replaced(&wanted(&self.after, of), of.live)
    }

    /// Of an entry whose key did its work.
    fn enrolled(&mut self, own: &[&Namesake], others: &[&Namesake]) {
        if self.options.replace.contains(self.address) {
            self.tell(OfKey::ReplaceIdle);
        }
        let all = own.iter().chain(others);
        for of in all.filter(|of| of.is_waiting() && !of.is_strange) {
            match (self.options.prune, of.origin) {
                (Prune::All, _) | (Prune::Owned, Some(RecordedAs::Created)) => {
                    self.goes([*of], Reason::MarkedEnrolled);
                }
                _ => self.tell(OfKey::UnusedKey(of.key.id.clone())),
            }
        }
        // one that was asked for again counts only where no newer one was used
        let used = own.iter().filter(|of| of.key.used_times > 0);
        let newest = used.clone().rfind(|of| !of.is_superseded(self.asked));
        let newest = newest.or(used.clone().next_back());
        self.decision.used = newest.map(|of| Used::Key(of.key.id.clone()));
    }

    /// Of an entry that `--replace` names.
    fn by_hand(&mut self, own: &[&Namesake]) {
        let waiting = own.iter().filter(|of| of.is_waiting());
        let mut going: Vec<_> = waiting
            .map(|of| match of.is_superseded(self.asked) {
                true => (of.live.clone(), Reason::BeforeReissue),
                false => (of.live.clone(), Reason::ReplacedByHand),
            })
            .collect();
        // the newest of those that are not older than asked for stands for what it replaces
        going.sort_by_key(|(live, why)| (*why == Reason::ReplacedByHand, live.id.clone()));
        let last = own.last().map(|of| of.live);
        let superseded = going.pop().map(|(live, _)| live);
        let operation = make(self.after.clone(), superseded, last);
        self.decision.operation = Some((operation, Some(Reason::Replace)));
        self.decision.deletions = going;
    }

    /// Of an entry that waits for its machine, or for many.
    fn pending(&mut self, own: &[&Namesake], others: &[&Namesake]) {
        let (old, present): (Vec<&Namesake>, Vec<_>) = own
            .iter()
            .copied()
            .partition(|of| of.is_superseded(self.asked));
        // of a key that is declared for many now, the used one of its older life is a ghost
        let is_for_one = self.declared.is_for_one();
        let counts = |of: &&&Namesake| is_for_one || !of.is_spent();
        let present: Vec<&Namesake> = present.iter().filter(counts).copied().collect();
        // a key that was made after a machine used one waits for another machine
        let used = present.iter().rposition(|of| of.is_spent());
        let waiting = present[used.map_or(0, |at| at + 1)..].iter();
        let waiting = waiting.filter(|of| of.is_waiting());
        // the first that needs no replacement
        let fits = waiting.clone().find(|of| !self.is_otherwise(of));
        let stands = fits.or(waiting.clone().next_back());
        let stands = stands.or(used.map(|at| &present[at])).copied();
        let old_valid: Vec<&Namesake> = old.iter().copied().filter(|of| of.is_waiting()).collect();
        let second = |of: &&Namesake| {
            let is_it = stands.is_some_and(|it| it.key.id == of.key.id);
            of.is_waiting() && !is_it
        };
        let seconds: Vec<&Namesake> = present.iter().copied().filter(second).collect();
        let came = stands
            .is_none_or(Namesake::is_spent)
            .then(|| self.came_since(stands));
        match stands {
            _ if let Some(came) = came.flatten() => {
                self.decision.used = Some(Used::Machine(came));
                self.goes(old_valid, Reason::BeforeReissue);
                self.seconds(&seconds);
            }
            Some(of) if let Some(new) = self.revoked_replacement(of, &present) => {
                let (new, old) = (new.key.id.clone(), of.key.id.clone());
                self.tell(OfKey::ReplacementRevoked { new, old });
            }
            Some(of) => {
                match of.is_spent() {
                    true => self.decision.used = Some(Used::Key(of.key.id.clone())),
                    false => self.keep(of),
                }
                self.goes(old_valid, Reason::BeforeReissue);
                self.seconds(&seconds);
            }
            None if let (Some(new), Some(old)) = (present.last(), old_valid.last())
                && is_revoked(new) =>
            {
                let (new, old) = (new.key.id.clone(), old.key.id.clone());
                self.tell(OfKey::ReplacementRevoked { new, old });
            }
            None if let Some(of) = present.last() => {
                self.tell(OfKey::Dead(dead(of.key), self.declared.can_be_done()))
            }
            None if old.is_empty() && self.may_be_enrolled(others) => {
                self.decision.is_skipped = true;
                let used = others.iter().filter(|of| of.is_spent());
                let ids = used.map(|of| of.key.id.clone()).collect();
                self.tell(OfKey::Skipped(ids));
            }
            None => {
                let free = others.iter().filter(|of| of.is_spent() && !of.is_strange);
                let free = free.filter(|of| !of.is_superseded(self.asked));
                let free: Vec<Id> = free.map(|of| of.key.id.clone()).collect();
                if old.is_empty() && !free.is_empty() {
                    self.tell(OfKey::UsedNamesakes(free));
                }
                self.make(&old, old_valid)
            }
        }
    }

    /// Returns the newest of the entry's keys, where a run made it in the place of this one, and somebody revoked it before it was
    /// used.
    fn revoked_replacement<'k>(
        &self,
        of: &Namesake,
        present: &[&'k Namesake<'k>],
    ) -> Option<&'k Namesake<'k>> {
        let newest = present.last().copied()?;
        let is_due = !of.is_spent() && self.is_otherwise(of);
        (is_due && is_revoked(newest) && !self.is_otherwise(newest)).then_some(newest)
    }

    /// The newest machine that came by a key that does not exist any more: such a key did its work. Not before it was asked
    /// for, and not before the used key that stands for the entry.
    fn came_since(&self, used: Option<&Namesake>) -> Option<Came> {
        let is_newer = |of: &Came| match used {
            None => true,
            Some(used) => {
                let used = used.key.last_used.map(Timestamp::as_second);
                used.is_some_and(|used| of.made.is_some_and(|made| made > used))
            }
        };
        let is_for_one = self.declared.is_for_one();
        let machines = self.decision.machines.iter().filter(|_| is_for_one);
        let gone = machines.filter(|of| !of.has_key && !of.is_superseded(self.asked));
        gone.filter(|of| is_newer(of))
            .max_by_key(|of| of.made)
            .cloned()
    }

    /// Keys of the entry that do not stand for it: two runs made them at once, or a run was killed while it replaced one.
    fn seconds(&mut self, seconds: &[&Namesake]) {
        if self.options.prune == Prune::None {
            return;
        }
        if self.options.ours.standing == Standing::Unknown {
            return self.namesakes(seconds, Whose::Untold);
        }
        let is_old = |of: &&&Namesake| self.is_otherwise(of);
        let (old, equal): (Vec<&Namesake>, Vec<&Namesake>) =
            seconds.iter().copied().partition(|of| is_old(&of));
        let (made, adopted): (Vec<&Namesake>, Vec<&Namesake>) = equal
            .into_iter()
            .partition(|of| of.origin == Some(RecordedAs::Created));
        self.goes(old, Reason::ReplacedBefore);
        self.goes(made, Reason::SecondKey);
        self.namesakes(&adopted, Whose::Taken);
    }

    /// Names other valid keys of the entry's name.
    fn namesakes(&mut self, keys: &[&Namesake], whose: Whose) {
        let ids: Vec<Id> = keys.iter().map(|of| of.key.id.clone()).collect();
        if !ids.is_empty() {
            self.tell(OfKey::ValidNamesakes(ids, whose));
        }
    }

    /// Whether a machine may have enrolled already by a key that nobody recorded: while there is no inventory, a used one of
    /// the name and none that waits says so.
    fn may_be_enrolled(&self, others: &[&Namesake]) -> bool {
        let is_first = self.options.ours.standing == Standing::First;
        is_first
            && self.declared.is_for_one()
            && others.iter().any(|of| of.is_spent())
            && !others.iter().any(|of| of.is_waiting())
    }

    /// What becomes of keys of the name that are not the entry's.
    fn others(&mut self, others: &[&Namesake], has_own: bool) {
        let is_known = self.options.ours.standing == Standing::Read;
        let wants_groups = self.declared.auto_groups.iter().flatten().next().is_some();
        // A run that was killed before it recorded its key left one that nobody holds. A key gets its groups once it is
        // recorded; of one that wants none nothing tells whether it was sealed.
        let is_unsealed = |of: &&&Namesake| {
            let lacks = wants_groups && of.key.auto_groups.is_empty();
            let is_unused = of.is_waiting() && of.key.used_times == 0;
            is_known && of.is_made && !of.is_strange && is_unused && lacks
        };
        let (unsealed, rest): (Vec<&Namesake>, Vec<&Namesake>) =
            others.iter().copied().partition(|of| is_unsealed(&of));
        self.goes(unsealed, Reason::NeverSealed);
        let waiting = rest.into_iter().filter(|of| of.is_waiting());
        let (strange, free): (Vec<&Namesake>, Vec<&Namesake>) =
            waiting.partition(|of| of.is_strange);
        match self.options.prune {
            Prune::All => self.goes(free, Reason::NotDeclared),
            _ => self.namesakes(&free, Whose::Free { has_own }),
        }
        self.namesakes(&strange, Whose::Taken);
    }

    /// Brings the key that stands for the entry to what the file says.
    fn keep(&mut self, of: &Namesake) {
        let is_unused = of.key.used_times == 0;
        // of a key that was made for a day this is no news
        let soon = self.options.now.as_second() + DAY_SECS;
        let lasts_long = self.declared.expires_in_secs > Some(DAY_SECS);
        let expires = of.key.expires.filter(|at| at.as_second() < soon);
        if let Some(expires) = expires.filter(|_| lasts_long && is_unused) {
            self.tell(OfKey::ExpiresSoon(expires));
        }
        // its secret is with whoever made it
        if of.origin == Some(RecordedAs::Adopted) && self.is_otherwise(of) {
            self.tell(OfKey::AdoptedDiffers(of.key.id.clone()));
        } else {
            self.decision.operation = compare(of, &self.after);
            let replaces = matches!(
                self.decision.operation,
                Some((Operation::Replace { .. }, _))
            );
            if !replaces && must_be_replaced(&self.after, of.live) {
                self.tell(OfKey::LivesOtherwise(of.key.expires));
            }
        }
        let operation = self.decision.operation.as_ref();
        let stays = !matches!(operation, Some((Operation::Replace { .. }, _)));
        self.decision.waiting = (stays && is_unused).then(|| of.key.id.clone());
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

fn is_revoked(of: &Namesake) -> bool {
    of.key.state == "revoked" && of.key.used_times == 0
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
