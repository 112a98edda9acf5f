//! The plan: what an apply would do, in order, checked to be possible before the first write.
//!
//! `plan` names the stages: resolve, claim, diff, follow up, order and check. Each is a function of plain values, and returns
//! what it found with its notices and its problems. Whatever is impossible is a `Problem`, and all of them are found; whatever
//! a reader should know is a `Notice`.

pub(crate) mod agreement;
mod bind;
mod check;
mod claim;
mod diff;
mod digest;
pub(crate) mod drift;
pub(crate) mod enrollment;
mod follow_up;
pub(crate) mod gates;
pub(crate) mod keys;
mod labels;
mod later;
pub(crate) mod members;
pub(crate) mod memberships;
pub mod options;
mod order;
pub mod ours;
mod people;
pub(crate) mod protected;
mod record;
mod resolve;
mod rows;
mod skip;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::thread;

use crate::account::Actual;
use crate::base::Id;
use crate::inventory::{Adoption, Delta, Inventory};
use crate::model::{
    Address, Cause, Change, Desired, Gone, Held, Kind, LeftBy, LetGo, LetGoWhy, Live, Notice,
    Problem, Reason, Referred, Resource,
};

pub(crate) use agreement::{Agreement, AllowDeletes, Judgement, Statements};
pub(crate) use drift::{Doer, Drift, Item, Mover};
pub(crate) use enrollment::{Enrolled, Enrollment, Replaced};
pub(crate) use gates::Refusal;
pub(crate) use keys::{Decision, Decisions};
pub(crate) use labels::name_peers;
pub(crate) use members::{Known, Meaning, Members, Names};
pub(crate) use memberships::{ByKey, Memberships};
pub use options::{Options, Prune};
pub use ours::{Ours, Standing};
pub(crate) use protected::Protected;

pub use bind::{Bound, read};
pub use digest::{Beside, Unlike};
pub use follow_up::{DNS_LABEL, answered_labels, peer_renames};
pub use order::{Part, Step};
pub use record::people;
pub use rows::{Piece, Row};

/// What a plan is made from.
#[derive(Clone, Copy)]
struct Given<'a> {
    /// What the file says.
    desired: &'a Desired,
    /// The live account.
    actual: &'a Actual,
    /// What its entries stand for.
    binding: &'a Bound,
    /// What was asked for beside the file, and what is ours.
    options: &'a Options,
}

impl<'a> Given<'a> {
    /// Returns the live object of that place of an entry, which is no setup key.
    fn stands(self, address: &Address, place: usize, entry: &Resource) -> Option<&'a Live> {
        let of_entry = self.binding.stands.get(address);
        let id = match (of_entry, entry) {
            (Some(ids), _) => ids.get(place)?.as_ref(),
            (None, Resource::User(user)) => user.id.as_ref(),
            // what no run makes
            (None, _) => return self.actual.at(address).first(),
        };
        Some(self.actual.live(id?)?.1)
    }

    /// Returns all of it.
    fn parts(self) -> (&'a Desired, &'a Actual, &'a Bound, &'a Options) {
        (self.desired, self.actual, self.binding, self.options)
    }
}

/// What an apply would do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The operations, sorted by kind and name; `steps` has them in the order in which they are carried out.
    pub changes: Vec<Change>,
    /// The order: indices into `changes`.
    pub steps: Vec<Step>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
    /// Objects of managed kinds that the file does not declare and that stay.
    pub unmanaged: BTreeSet<Address>,
    /// The same, but another file of the account manages them: which one.
    pub elsewhere: BTreeMap<Address, String>,
    /// What is to go and stays all the same, sorted.
    pub held: Vec<Held>,
    /// What entries adopt, sorted.
    pub adoptions: Vec<(Address, Adoption)>,
    /// What is let go, now or by an earlier run, sorted.
    pub let_go: Vec<LetGo>,
    /// Entries that are skipped, since each could mean several objects.
    pub skipped: BTreeSet<Address>,
    /// Rows of agreements of what does not exist any more, though its entry was taken out since the last apply.
    pub dead: Vec<(String, LeftBy)>,
    /// What an earlier run let go and does not exist any more: the key of its entry, its id, and the change that let it go, as it is
    /// recorded.
    pub let_go_dead: Vec<(String, Id, String)>,
    /// What a run writes down, whatever it changes: what became of recorded objects, and who is meant by names.
    pub record: Delta,
    /// The inventory that it was made with.
    inventory: Arc<Inventory>,
    /// The names by which the file lists the members that changes bring or take, by group and peer.
    listed: BTreeMap<(String, Id), String>,
    /// By which change of the file something goes.
    pub causes: BTreeMap<Row, Cause>,
    /// Sections that the file no longer has.
    pub gone_sections: Vec<Gone>,
    /// Members of declared groups that the file does not name and that stay, by group.
    pub unmanaged_members: BTreeMap<String, BTreeSet<Id>>,
    /// Setup keys whose peer joins a declared group once it enrolls, by group.
    pub pending_members: BTreeMap<String, BTreeSet<String>>,
    /// Names of the pending keys of ours that nobody used yet and that stay, by id.
    pub waiting_keys: BTreeMap<Id, String>,
    /// Live objects that are declared or go, by kind; of the keys those that are valid.
    pub counted: BTreeMap<Kind, usize>,
    /// The live objects that others of the file stand in.
    pub parents: BTreeMap<Address, Id>,
    /// Peers that enrolled with a pending key of that name.
    pub enrolling: BTreeMap<Id, String>,
    /// What people call the peers of this plan.
    pub peer_labels: BTreeMap<Id, String>,
    /// The whole public keys of those for whom its run seals new keys.
    pub sealed_for: BTreeSet<String>,
    /// What its digest covers beside the changes.
    pub beside: Beside,
}

impl Plan {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns whether there is nothing to do, and nothing to adopt or to let go.
    pub fn is_done(&self) -> bool {
        let is_new = |let_go: &LetGo| let_go.why != LetGoWhy::Before;
        self.is_empty() && self.adoptions.is_empty() && !self.let_go.iter().any(is_new)
    }

    /// Returns whether it deletes what other objects can refer to.
    pub fn deletes_referred(&self) -> bool {
        let is_referred = |kind: Kind| kind.descriptor().referred != Referred::Never;
        let mut changes = self.changes.iter();
        changes.any(|change| change.deleted().is_some() && is_referred(change.address.kind))
    }

    /// Returns what it takes away.
    pub fn rows(&self) -> BTreeSet<Row> {
        self.changes.iter().flat_map(Row::of).collect()
    }

    /// Returns what of that counts: second copies and the old keys of replacements do not, nobody misses them.
    pub fn counted_rows(&self) -> BTreeSet<Row> {
        let counts = |change: &&Change| {
            !matches!(
                change.reason,
                Some(
                    Reason::Surplus
                        | Reason::SecondKey
                        | Reason::BeforeReissue
                        | Reason::ReplacedBefore
                        | Reason::NeverSealed
                )
            )
        };
        let changes = self.changes.iter().filter(counts);
        changes.flat_map(Row::of).collect()
    }

    /// Returns the name by which a group lists a member.
    pub fn listed(&self, group: &str, peer: &Id) -> Option<&str> {
        let listed = self.listed.get(&(group.to_owned(), peer.clone()));
        listed.map(String::as_str)
    }

    /// Returns the text by which agreements name a row: machines and people by their ids, all else by the names of the file.
    pub fn row_text(&self, row: &Row) -> String {
        let Row {
            address,
            object,
            piece,
        } = row;
        let recorded = self.inventory.key_of(object);
        let key = || recorded.map_or_else(|| address.key(), str::to_owned);
        match piece {
            Piece::Whole if address.kind == Kind::Peer => format!("peers/{object}"),
            Piece::Whole => key(),
            Piece::Member(id) => {
                let listed = self.listed.get(&(address.name.clone(), id.clone()));
                let name = listed.or(self.peer_labels.get(id)).map(String::as_str);
                format!("{} member {}", key(), name.unwrap_or(&id.0))
            }
            // two people can have one address; and it is written into the inventory
            Piece::Field { field, value } if address.kind == Kind::User => {
                format!("users/{object} {field}={value}")
            }
            Piece::Field { field, value } => format!("{} {field}={value}", address.key()),
        }
    }

    /// Returns what a run writes down before its first other write: what it adopts, and what belongs to another entry by now; none
    /// where there is no such thing. Machines that go and are not recorded yet are, too: once they are gone, nothing else tells
    /// that they belong to an agreement. What does not exist any more is written together with its cause; only where an entry
    /// adopts another object in its place, the inventory must know before. `is_first`: there is no inventory yet.
    pub fn first_record(&self, is_first: bool) -> Option<Delta> {
        let record = &self.record;
        let goes = |id: &Id| self.changes.iter().any(|change| change.ends(id));
        let machine_goes = record.enrolled.iter().any(|(_, of)| goes(&of.id));
        let is_news = !self.adoptions.is_empty() || !record.rebound.is_empty();
        if !is_first && !is_news && !machine_goes && record.moved.is_empty() {
            return None;
        }
        let adopted = self.adoptions.iter();
        let adopted: Vec<(String, Adoption)> =
            adopted.map(|(at, of)| (at.key(), of.clone())).collect();
        let adopting: BTreeSet<&str> = adopted.iter().map(|(key, _)| key.as_str()).collect();
        let inventory = &self.inventory;
        let is_replaced = |id: &&Id| {
            let key = inventory.key_of(id);
            key.is_some_and(|key| adopting.contains(key))
        };
        let dead = record.dead.iter().filter(is_replaced);
        Some(Delta {
            dead: dead.cloned().collect(),
            dead_machines: BTreeSet::new(),
            adopted,
            ..record.clone()
        })
    }
}

/// Makes the plan that brings `actual` to `desired`, read together with its binding ([`read`]).
pub fn plan(
    desired: &Arc<Desired>,
    actual: &Actual,
    binding: &Bound,
    options: &Options,
) -> Result<Plan, Vec<Problem>> {
    let given = Given {
        desired,
        actual,
        binding,
        options,
    };
    let mut resolved = resolve::resolve(given);
    let (skipped, of_skipped) = skip::skip(given, &mut resolved);
    // what is to be written down has nothing to do with what is to be changed
    let (record, (claimed, mut problems, followed, notices)) = thread::scope(|scope| {
        let record = scope.spawn(|| record::record(given, &resolved, &skipped));
        let claimed = scope.spawn(|| claim::claim(given, &resolved, &skipped));
        let (mut changes, mut problems) = diff::diff(given, &resolved);
        let claimed = claimed.join().expect("a claiming thread does not panic");
        changes.extend(claimed.pruned.iter().cloned());
        let mut followed = follow_up::follow_up(given, changes, &resolved, &skipped);
        let (notices, impossible) = check::check(desired, actual, &followed.changes, &resolved);
        problems.append(&mut followed.problems);
        problems.extend(impossible);
        let record = record.join().expect("a recording thread does not panic");
        (record, (claimed, problems, followed, notices))
    });
    let steps =
        order::order(&followed.changes, actual, &options.ours.strange).unwrap_or_else(|found| {
            problems.extend(found);
            Vec::new()
        });
    if !problems.is_empty() {
        problems.sort();
        problems.dedup();
        return Err(problems);
    }
    let listed = record::listed(&followed.changes, &resolved, &options.ours.inventory);
    let counted = count(given, &followed.changes);
    let holding = binding.stands.iter();
    let holding = holding.filter(|(at, _)| at.kind.children().next().is_some());
    let parents = holding.filter_map(|(at, ids)| Some((at.clone(), ids.first()?.clone()?)));
    let parents = parents.collect();
    let notices = [
        std::mem::take(&mut resolved.notices),
        binding.notices.clone(),
        of_skipped,
        claimed.notices,
        followed.notices,
        notices,
    ];
    let waiting = resolved.decisions.iter();
    let waiting = waiting.filter_map(|(name, of)| Some((of.waiting.clone()?, name.clone())));
    let waiting_keys = waiting.collect();
    let enrolling = resolved.enrollments.iter();
    let enrolling = enrolling.map(|at| (at.peer.clone(), at.key.clone()));
    let enrolling = enrolling.collect();
    let (mut unmanaged_members, mut pending_members) = (BTreeMap::new(), BTreeMap::new());
    for (group, members) in std::mem::take(&mut resolved.members) {
        if !members.unmanaged.is_empty() {
            unmanaged_members.insert(group.clone(), members.unmanaged);
        }
        if !members.pending.is_empty() {
            pending_members.insert(group, members.pending);
        }
    }
    let unmanaged = unmanaged_members.values().flatten();
    let (changes, peer_labels) =
        labels::label_peers(followed.changes, unmanaged, &record.delta.names, actual);
    let beside = Beside::of(desired, actual, &changes, resolved);
    Ok(Plan {
        changes,
        steps,
        notices: notices.concat(),
        unmanaged: claimed.unmanaged,
        elsewhere: claimed.elsewhere,
        held: followed.held,
        adoptions: record.adoptions,
        let_go: claimed.let_go,
        skipped,
        dead: record.dead,
        let_go_dead: record.let_go_dead,
        record: record.delta,
        inventory: options.ours.inventory.clone(),
        listed,
        causes: followed.causes,
        gone_sections: claimed.gone_sections,
        unmanaged_members,
        pending_members,
        waiting_keys,
        counted,
        parents,
        enrolling,
        peer_labels,
        sealed_for: BTreeSet::new(),
        beside,
    })
}

/// Returns a plan of these changes and nothing else, in order; without steps where there is none. It has no file, so
/// nothing says who is a member beside those who join.
pub fn ordered(changes: Vec<Change>, actual: &Actual) -> Plan {
    let steps = order::order(&changes, actual, &BTreeMap::new()).unwrap_or_default();
    let members = changes.iter().filter_map(|change| {
        let members = change.operation.live()?.resource.members()?;
        Some((change.address.name.clone(), members.clone()))
    });
    let unmanaged_members: BTreeMap<String, BTreeSet<Id>> = members.collect();
    let unmanaged = unmanaged_members.values().flatten();
    let (changes, peer_labels) = labels::label_peers(changes, unmanaged, &BTreeMap::new(), actual);
    Plan {
        changes,
        steps,
        unmanaged_members,
        peer_labels,
        ..Plan::default()
    }
}

/// Objects of each kind that are ours, as far as the plan knows: declared, or deleted by it. Of the keys those that live.
fn count(given: Given, changes: &[Change]) -> BTreeMap<Kind, usize> {
    let (desired, actual) = (given.desired, given.actual);
    let deleted = changes
        .iter()
        .filter_map(Change::deleted)
        .map(|live| &live.id);
    let stand = given.binding.stands.values().flatten().flatten();
    let ours: HashSet<&Id> = deleted.chain(stand).collect();
    let mut counted = BTreeMap::new();
    for (address, live) in actual.each() {
        let is_key = address.kind == Kind::SetupKey;
        let is_ours = ours.contains(&live.id) || is_key && desired.declares(address);
        let counts = !actual.protected_groups.contains_key(&live.id) && !actual.is_dead_key(live);
        *counted.entry(address.kind).or_default() += usize::from(is_ours && counts);
    }
    counted
}

#[cfg(test)]
mod tests;
