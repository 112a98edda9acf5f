//! The choice among the live keys that have an entry's name: which one stands for it, the operation that makes, changes or replaces
//! it, and what becomes of the others.

use jiff::Timestamp;

use super::{Came, Choice, Namesake, Used};
use crate::base::Id;
use crate::inventory::RecordedAs;
use crate::model::{
    Change, Dead, Live, Notice, OfKey, Operation, Reason, Resource, SetupKey, Whose, differences,
};
use crate::plan::{Prune, Standing};
use crate::wire::api::objects;

const DAY_SECS: i64 = 86_400;

impl Choice<'_> {
    /// Decides by the live keys of that name, the oldest first, and by the machines that came by those of the entry.
    pub(super) fn choose(&mut self, namesakes: &[Namesake]) {
        let (own, others): (Vec<Namesake>, Vec<_>) = namesakes
            .iter()
            .copied()
            .partition(|of| of.origin.is_some());
        if self.declared.enrolled {
            return self.done(&own, &others);
        }
        if let (Some(instant), None) = (self.declared.reissue_after, self.asked) {
            self.tell(OfKey::ReissueLater(instant));
        }
        match self.options.replace.contains(&self.address) {
            true => self.by_hand(&own),
            false => self.pending(&own, &others),
        }
        self.others(&others, !own.is_empty());
        let inventory = &self.options.ours.inventory;
        if let Some(change) = &mut self.decision.change
            && own.is_empty()
            && !inventory.of(&self.address.key()).is_empty()
        {
            change.reason = change.reason.take().or(Some(Reason::Lost));
        }
    }

    /// Returns the key that an entry without one adopts, and as what. The first inventory adopts what the file can mean only;
    /// later a key is adopted by its name for an entry alone that says that it did its work.
    pub(super) fn adopted(&self, namesakes: &[Namesake]) -> Option<(Id, RecordedAs)> {
        let ours = &self.options.ours;
        if !self.declared.enrolled && ours.standing != Standing::First {
            return None;
        }
        // one of ours without groups that nobody recorded may have been sealed by nobody
        let may_be_unsealed = |of: &Namesake| !self.wants_groups() && of.is_made;
        let fits = |of: &&Namesake| match self.declared.enrolled {
            true => of.is_spent(),
            false => {
                let is_new = !of.is_superseded(self.asked) && !may_be_unsealed(of);
                let is_equal =
                    || differences(&wanted(&self.after, of), &of.live.resource).is_empty();
                of.is_waiting() && is_new && is_equal()
            }
        };
        let free = namesakes.iter().filter(|of| !of.is_strange);
        let fitting: Vec<&Namesake> = free.filter(fits).collect();
        match fitting[..] {
            [.., newest] if self.declared.enrolled => Some(newest),
            [only] => Some(only),
            _ => None,
        }
        .map(|of| (of.key.id.clone(), ours.adopted_as(&of.key.id)))
    }

    fn wants_groups(&self) -> bool {
        let groups = self.declared.auto_groups.as_ref();
        groups.is_some_and(|groups| !groups.is_empty())
    }

    fn tell(&mut self, what: OfKey) {
        let notice = Notice::about(&self.address, what);
        self.decision.notices.push(notice);
    }

    fn change(&mut self, operation: Operation, why: impl Into<Option<Reason>>) {
        let change = Change::new(self.address.clone(), operation, why);
        self.decision.change = Some(change);
    }

    /// These keys go, but where it is not known whose they are.
    fn goes(&mut self, keys: &[Namesake], reason: Reason) {
        let keys = keys.iter();
        let going = keys.filter(|_| self.options.ours.standing != Standing::Unknown);
        let going = going.map(|of| Change::deletion(&self.address, of.live, reason.clone()));
        self.decision.deletions.extend(going);
    }

    /// Returns whether a key differs from what the file says in what no key can change.
    fn is_otherwise(&self, of: &Namesake) -> bool {
        must_be_replaced(&wanted(&self.after, of), of.live)
    }

    /// Of an entry whose key did its work.
    fn done(&mut self, own: &[Namesake], others: &[Namesake]) {
        if self.options.replace.contains(&self.address) {
            self.tell(OfKey::ReplaceIdle);
        }
        let all = own.iter().chain(others);
        for of in all.filter(|of| of.is_waiting() && !of.is_strange) {
            match (self.options.prune, of.origin) {
                (Prune::All, _) | (Prune::Owned, Some(RecordedAs::Created)) => {
                    self.goes(&[*of], Reason::MarkedEnrolled);
                }
                _ => self.tell(OfKey::UnusedKey(of.key.id.clone())),
            }
        }
        // one that was asked for again counts only where no newer one was used
        let used = own.iter().filter(|of| of.key.used_times > 0);
        let newest = used.max_by_key(|of| !of.is_superseded(self.asked));
        self.decision.used = newest.map(|of| Used::Key(of.key.id.clone()));
    }

    /// Of an entry that `--replace` names.
    fn by_hand(&mut self, own: &[Namesake]) {
        let waiting = own.iter().copied().filter(Namesake::is_waiting);
        let (mut old, mut present): (Vec<Namesake>, Vec<Namesake>) =
            waiting.partition(|of| of.is_superseded(self.asked));
        // the newest of those that are not older than asked for stands for what it replaces
        let superseded = present.pop().or_else(|| old.pop());
        let (superseded, last) = (superseded.map(|of| of.live), own.last().map(|of| of.live));
        let operation = make(self.after.clone(), superseded, last);
        self.change(operation, Reason::Replace);
        self.goes(&old, Reason::BeforeReissue);
        self.goes(&present, Reason::ReplacedByHand);
    }

    /// Of an entry that waits for its machine, or for many.
    fn pending(&mut self, own: &[Namesake], others: &[Namesake]) {
        let (old, present): (Vec<Namesake>, Vec<Namesake>) = own
            .iter()
            .copied()
            .partition(|of| of.is_superseded(self.asked));
        // of a key that is declared for many now, the used one of its older life is a ghost
        let counts = |of: &Namesake| self.declared.is_for_one() || !of.is_spent();
        let present: Vec<Namesake> = present.into_iter().filter(counts).collect();
        // a key that was made after a machine used one waits for another machine
        let used = present.iter().rposition(Namesake::is_spent);
        let waiting = present[used.map_or(0, |at| at + 1)..].iter();
        let waiting = waiting.filter(|of| of.is_waiting());
        // the first that needs no replacement
        let fits = waiting.clone().find(|of| !self.is_otherwise(of));
        let stands = fits.or(waiting.clone().next_back());
        let stands = stands.or(used.map(|at| &present[at])).copied();
        let is_beside = |of: &Namesake| {
            let is_it = stands.is_some_and(|it| it.key.id == of.key.id);
            of.is_waiting() && !is_it
        };
        let old_valid: Vec<Namesake> = old.iter().copied().filter(is_beside).collect();
        let seconds: Vec<Namesake> = present.iter().copied().filter(is_beside).collect();
        let newest = present.last();
        let came = self.came_since(stands.as_ref());
        // somebody revoked what a run made in the place of one, before it was used
        let due = stands.filter(|of| !of.is_spent() && self.is_otherwise(of));
        let due = due.or(old_valid.last().copied().filter(|_| stands.is_none()));
        let revoked =
            newest.filter(|of| is_revoked(of) && (stands.is_none() || !self.is_otherwise(of)));
        match (stands, newest) {
            _ if let Some(came) = came => self.decision.used = Some(Used::Machine(came)),
            _ if let (Some(new), Some(old)) = (revoked, due) => {
                let (new, old) = (new.key.id.clone(), old.key.id.clone());
                return self.tell(OfKey::ReplacementRevoked { new, old });
            }
            (Some(of), _) if of.is_spent() => {
                self.decision.used = Some(Used::Key(of.key.id.clone()));
            }
            (Some(of), _) => self.keep(&of),
            (None, Some(of)) => {
                let did_its_work = of.key.used_times > 0 && self.declared.can_be_done();
                self.tell(OfKey::Dead(dead(of.key), did_its_work));
                return self.namesakes_of(&old_valid, Whose::Superseded);
            }
            (None, None) => return self.lacks(&old, old_valid, others),
        }
        self.goes(&old_valid, Reason::BeforeReissue);
        self.seconds(&seconds);
    }

    /// Makes a key for an entry without one, in the place of the newest of the older ones that can still be used; the rest of those go.
    /// While there is no inventory, a used key of the name and none that waits says that a machine may have enrolled already by a
    /// key that nobody recorded.
    fn lacks(&mut self, old: &[Namesake], mut old_valid: Vec<Namesake>, others: &[Namesake]) {
        let is_first = self.options.ours.standing == Standing::First;
        let may_be_enrolled =
            is_first && self.declared.is_for_one() && !others.iter().any(Namesake::is_waiting);
        let used = others.iter().filter(|of| of.is_spent());
        let counts =
            |of: &&Namesake| (may_be_enrolled || !of.is_strange) && !of.is_superseded(self.asked);
        let used = used.filter(counts).map(|of| of.key.id.clone());
        let used: Vec<Id> = used.filter(|_| old.is_empty()).collect();
        match used.is_empty() {
            true => {}
            false if may_be_enrolled => {
                self.decision.is_skipped = true;
                return self.tell(OfKey::Skipped(used));
            }
            false => self.tell(OfKey::UsedNamesakes(used)),
        }
        let superseded = old_valid.pop().map(|of| of.live);
        let operation = make(self.after.clone(), superseded, old.last().map(|of| of.live));
        let reason = self.asked.filter(|_| !old.is_empty());
        self.change(operation, reason.map(Reason::Reissue));
        self.goes(&old_valid, Reason::BeforeReissue);
    }

    /// The newest machine that came by a key that does not exist any more: such a key did its work. Not before it was asked
    /// for, and not before the used key that stands for the entry.
    fn came_since(&self, stands: Option<&Namesake>) -> Option<Came> {
        let used = stands
            .and_then(|of| of.key.last_used)
            .map(Timestamp::as_second);
        let is_newer = |of: &Came| stands.is_none() || used.is_some() && of.made > used;
        let is_due = self.declared.is_for_one() && stands.is_none_or(Namesake::is_spent);
        let machines = self.decision.machines.iter().filter(|_| is_due);
        let gone = machines.filter(|of| !of.has_key && !of.is_superseded(self.asked));
        let newer = gone.filter(|of| is_newer(of));
        newer.max_by_key(|of| of.made).cloned()
    }

    /// Keys of the entry that do not stand for it: two runs made them at once, or a run was killed while it replaced one.
    fn seconds(&mut self, seconds: &[Namesake]) {
        if self.options.prune == Prune::None {
            return;
        }
        if self.options.ours.standing == Standing::Unknown {
            return self.namesakes_of(seconds, Whose::Untold);
        }
        let (old, equal): (Vec<Namesake>, Vec<Namesake>) = seconds
            .iter()
            .copied()
            .partition(|of| self.is_otherwise(of));
        let (made, adopted): (Vec<Namesake>, Vec<Namesake>) = equal
            .into_iter()
            .partition(|of| of.origin == Some(RecordedAs::Created));
        self.goes(&old, Reason::ReplacedBefore);
        self.goes(&made, Reason::SecondKey);
        self.namesakes_of(&adopted, Whose::Taken);
    }

    /// Names other valid keys of the entry's name.
    fn namesakes_of(&mut self, keys: &[Namesake], whose: Whose) {
        let ids: Vec<Id> = keys.iter().map(|of| of.key.id.clone()).collect();
        if !ids.is_empty() {
            self.tell(OfKey::ValidNamesakes(ids, whose));
        }
    }

    /// What becomes of keys of the name that are not the entry's.
    fn others(&mut self, others: &[Namesake], has_own: bool) {
        let is_known = self.options.ours.standing == Standing::Read;
        // A run that was killed before it recorded its key left one that nobody holds. A key gets its groups once it is
        // recorded; of one that wants none nothing tells whether it was sealed.
        let is_unsealed = |of: &Namesake| {
            let lacks = self.wants_groups() && of.key.auto_groups.is_empty();
            let is_unused = of.key.used_times == 0;
            is_known && of.is_made && !of.is_strange && is_unused && lacks
        };
        let waiting = others.iter().copied().filter(Namesake::is_waiting);
        let (unsealed, rest): (Vec<Namesake>, Vec<Namesake>) = waiting.partition(is_unsealed);
        let (strange, free): (Vec<Namesake>, Vec<Namesake>) =
            rest.into_iter().partition(|of| of.is_strange);
        self.goes(&unsealed, Reason::NeverSealed);
        match self.options.prune {
            Prune::All => self.goes(&free, Reason::NotDeclared),
            _ => self.namesakes_of(&free, Whose::Free { has_own }),
        }
        self.namesakes_of(&strange, Whose::Taken);
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
        let mut stays = true;
        // its secret is with whoever made it
        if of.origin == Some(RecordedAs::Adopted) && self.is_otherwise(of) {
            self.tell(OfKey::AdoptedDiffers(of.key.id.clone()));
        } else {
            if let Some((operation, why)) = compare(of, &self.after) {
                stays = !matches!(operation, Operation::Replace { .. });
                self.change(operation, why);
            }
            if stays && must_be_replaced(&self.after, of.live) {
                self.tell(OfKey::LivesOtherwise(of.key.expires));
            }
        }
        self.decision.waiting = (stays && is_unused).then(|| of.key.id.clone());
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

/// Returns whether a live key differs from the declared one in what no key can change.
pub fn must_be_replaced(after: &Resource, live: &Live) -> bool {
    let fields = differences(after, &live.resource);
    fields
        .iter()
        .any(|change| !SetupKey::can_change(&change.field))
}

/// Returns a creation, or a replacement where an older key is to go. What the file does not say is carried over from what
/// goes, or else from `last`, the newest that stood for the entry.
fn make(after: Resource, superseded: Option<&Live>, last: Option<&Live>) -> Operation {
    let after = match superseded.or(last) {
        Some(old) => after.over(&old.resource),
        None => after,
    };
    match superseded {
        Some(live) => Operation::Replace {
            live: live.clone(),
            fields: differences(&after, &live.resource),
            after,
        },
        None => Operation::Create { after },
    }
}

/// Returns what the file wants of a live key. Of one that was used already the life time is not: its secret is in use.
fn wanted(after: &Resource, of: &Namesake) -> Resource {
    match (after, &of.live.resource) {
        (Resource::SetupKey(after), Resource::SetupKey(live)) if of.key.used_times > 0 => {
            let expires_in_secs = live.expires_in_secs.or(after.expires_in_secs);
            Resource::SetupKey(SetupKey {
                expires_in_secs,
                ..after.clone()
            })
        }
        _ => after.clone(),
    }
}

/// Compares a declared key with its valid, unused (or reusable) live one.
fn compare(of: &Namesake, after: &Resource) -> Option<(Operation, Option<Reason>)> {
    let (live, wanted) = (of.live, wanted(after, of));
    if must_be_replaced(&wanted, live) {
        let operation = make(after.clone(), Some(live), None);
        return Some((operation, Some(Reason::KeyCannotChange)));
    }
    Operation::update(live, &wanted, None).map(|operation| (operation, None))
}
