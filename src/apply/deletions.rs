//! Deletions: each object is looked at again right before, and so is the inventory, since another run may need by now what
//! this one planned to delete.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, Result, bail};

use super::write::{NOT_DONE, not_known};
use super::{Address, Change, Execution, Id, Inventory, Kind, Live, Plan, StepOutcome, paths};
use crate::model::{Answers, PeerRef, Reason, Refers};
use crate::wire::api::{object_path, objects};

/// Why an object is not deleted after all. That is no failure: the verification decides whether something is left to do.
#[derive(Debug)]
pub(super) struct StaysAsItIs(String);

impl fmt::Display for StaysAsItIs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StaysAsItIs {}

/// The error of an object that stays.
pub(super) fn stays_as_it_is(why: &str) -> anyhow::Error {
    StaysAsItIs(why.to_owned()).into()
}

impl Execution<'_> {
    /// Deletes an object for a change of the plan, unless another run or a machine needs it by now.
    pub(super) fn remove(&mut self, change: &Change, live: &Live) -> Result<StepOutcome> {
        self.still_deletes(change, live)?;
        let outcome = self.delete(&change.address, live)?;
        self.applied.deleted.insert(live.id.clone());
        Ok(outcome)
    }

    /// Errors where the newest inventory says otherwise than the one that the plan was made with.
    fn still_deletes(&mut self, change: &Change, live: &Live) -> Result<()> {
        let Some(records) = self.records else {
            return Ok(());
        };
        if change.reason == Some(Reason::NeverSealed) {
            self.look = None;
        }
        let plan = self.plan;
        let newest = self.newest()?;
        if let Some(why) = stays(plan, change, live, [&records.ours.inventory, newest]) {
            return Err(stays_as_it_is(why));
        }
        use Reason::{BeforeReissue, ReplacedBefore, SecondKey, Surplus};
        match change.reason {
            Some(Reason::NeverSealed) => self.still_unsealed(live),
            Some(Surplus | SecondKey | BeforeReissue | ReplacedBefore) => {
                self.still_surplus(change, live)
            }
            _ => Ok(()),
        }
    }

    /// Returns the inventory as it was read for this block, and reads it where nobody did yet.
    pub(super) fn newest(&mut self) -> Result<&Inventory> {
        if self.look.is_none() {
            self.look_again()?;
        }
        self.look.as_ref().context("no inventory is written")
    }

    /// Reads the newest inventory.
    pub(super) fn look_again(&mut self) -> Result<()> {
        self.look = None;
        if let Some(records) = self.records {
            let newest = records.recorder.newest();
            let newest = newest.context("cannot read the inventory again")?;
            let gone = "the inventory does not exist any more; run again";
            self.look = Some(newest.context(gone)?);
        }
        Ok(())
    }

    /// Errors where somebody finished or used a key meanwhile that nobody held the secret of.
    fn still_unsealed(&self, live: &Live) -> Result<()> {
        let path = paths::object(live)?;
        let read = |answer: &crate::base::entry::Entry| answer.read::<objects::SetupKey>();
        let Some(found) = self.find(&path)? else {
            // the deletion sees that it is gone
            return Ok(());
        };
        let (fresh, planned) = (read(&found.into())?, read(&live.wire)?);
        match fresh.used_times > 0 || fresh.auto_groups.len() > planned.auto_groups.len() {
            true => Err(stays_as_it_is(
                "another run finished it meanwhile, so it is not deleted",
            )),
            false => Ok(()),
        }
    }

    /// Errors where nothing else of its entry lives any more: then it is not too many.
    fn still_surplus(&mut self, change: &Change, live: &Live) -> Result<()> {
        let others = others(self.plan, change, live, self.newest()?);
        let mut made = self.applied.made.values();
        if made.any(|address| *address == change.address) {
            return Ok(());
        }
        let collection = paths::collection(change.address.kind, live.within.as_ref())?;
        for id in others {
            if self.find(&object_path(&collection, &id.0)?)?.is_some() {
                return Ok(());
            }
        }
        Err(stays_as_it_is(
            "its entry has no other object any more, so it is not deleted",
        ))
    }

    /// Deletes an object, unless it is no longer what was to go.
    fn delete(&mut self, address: &Address, live: &Live) -> Result<StepOutcome> {
        const GONE: &str = "was gone already";
        let path = paths::object(live)?;
        let Some(found) = self.find(&path)? else {
            return Ok(StepOutcome::otherwise(GONE));
        };
        let fresh = self.read(address.kind, found)?;
        self.still_to_go(address, live, &fresh)?;
        holds_nothing(&fresh)?;
        let error = match self.api.delete(&path) {
            Ok(()) => return Ok(StepOutcome::as_planned("deleted")),
            Err(error) if error.is_gone() => return Ok(StepOutcome::otherwise(GONE)),
            Err(error) if error.outcome_unknown => error,
            Err(error) => return Err(error.into()),
        };
        match self.api.get(&path) {
            Err(failed) if failed.is_gone() => {
                let lost = self.tell_lost(address, error);
                Ok(StepOutcome::otherwise(format!("deleted{lost}")))
            }
            Ok(_) => Err(anyhow::Error::from(error).context(NOT_DONE)),
            Err(failed) => Err(not_known(error, &failed)),
        }
    }

    /// Errors where an object is not any more what it was when its deletion was planned: what somebody renamed is let go by
    /// the next plan, and a key that was used meanwhile is the only proof of the machine that enrolled with it.
    fn still_to_go(&self, address: &Address, live: &Live, fresh: &Live) -> Result<()> {
        const STAYS: &str = "so it stays; run again";
        // who a peer is, is told by its id and its key
        if address.kind == Kind::Peer {
            return self.nobody_names(live, "be deleted whole");
        }
        if address.kind == Kind::NetworkResource {
            self.nobody_names(live, "lead nowhere")?;
        }
        // a group that the same plan renames has its new name already
        if ![live.name.as_str(), address.name.as_str()].contains(&fresh.name.as_str()) {
            bail!("somebody renamed it to {:?} meanwhile, {STAYS}", fresh.name);
        }
        self.same_form(live, fresh)?;
        if let Kind::SetupKey = address.kind {
            let read = |live: &Live| live.wire.read::<objects::SetupKey>();
            let (before, now) = (read(live)?, read(fresh)?);
            if now.is_for_one() && now.used_times > before.used_times {
                return Err(stays_as_it_is(
                    "a machine enrolled with it meanwhile, so it is not deleted",
                ));
            }
        }
        Ok(())
    }

    /// The server deletes every policy that names a peer with it, and lets one that names a network resource dangle
    /// (docs/netbird-api.md, "Peers", "Networks"). Those of the plan's time were seen.
    fn nobody_names(&self, live: &Live, fate: &str) -> Result<()> {
        let peer = PeerRef::Id(live.id.clone());
        let resource = (Refers::Resource, live.name.as_str());
        for policy in self.api.list(Kind::Policy.path())? {
            let policy = self.read(Kind::Policy, policy)?;
            let of = &policy.resource;
            if of.peers().contains(&&peer) || of.others().contains(&resource) {
                bail!(
                    "the policy {:?} ({}) names it and would {fate} with it, so it stays; \
                     take it out of that policy first",
                    policy.name,
                    policy.id
                );
            }
        }
        Ok(())
    }
}

/// Says why an object stays after all, where the newest inventory says otherwise than the one that the plan was made with.
pub(super) fn stays(
    plan: &Plan,
    change: &Change,
    live: &Live,
    [planned, newest]: [&Inventory; 2],
) -> Option<&'static str> {
    let is_recorded = |inventory: &Inventory| match change.address.kind {
        Kind::Peer => {
            let mut machines = inventory.enrolled.values().flatten();
            machines.any(|machine| machine.id == live.id)
        }
        _ => inventory.origin(&live.id).is_some(),
    };
    let mut adoptions = plan.adoptions.iter();
    let was = is_recorded(planned) || adoptions.any(|(_, adopted)| adopted.id == live.id);
    match (was, is_recorded(newest)) {
        (true, false) => Some("another run deleted it or let it go meanwhile"),
        // which machine a key brought is told without the inventory, too
        (false, true) if change.address.kind != Kind::Peer => {
            Some("another run recorded it meanwhile, so it stays")
        }
        _ => None,
    }
}

/// Returns the other recorded objects of the entry of one that is too many, but for those that go, too.
pub(super) fn others(
    plan: &Plan,
    change: &Change,
    live: &Live,
    newest: &Inventory,
) -> BTreeSet<Id> {
    let going = |change: &Change| {
        let live = change.operation.live()?;
        change.ends(&live.id).then(|| live.id.clone())
    };
    let going: BTreeSet<Id> = plan.changes.iter().filter_map(going).collect();
    // the plan calls a second group otherwise than the first
    let entry = Address {
        name: live.name.clone(),
        ..change.address.clone()
    };
    let recorded = newest.entry_of(&live.id);
    let key = recorded.map_or(entry.key(), |(key, _)| key.to_owned());
    let recorded = newest.of(&key).into_iter().map(|(id, _)| id);
    recorded.filter(|id| !going.contains(id)).cloned().collect()
}

/// Errors where something stands in an object that is to go: it would go along, and was in no plan.
fn holds_nothing(fresh: &Live) -> Result<()> {
    let answer = fresh.wire.value()?;
    for (kind, inside) in fresh.resource.kind().children().filter_map(Kind::inside_as) {
        let (Answers::Embedded(field) | Answers::Listed { ids: field, .. }) = inside.answers;
        let held = answer[field].as_array();
        if held.is_some_and(|held| !held.is_empty()) {
            bail!(
                "it contains {} now, which would be deleted too, so it is not deleted; run apply again",
                kind.plural()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::Evidence;
    use crate::inventory::{Adoption, Machine, RecordedAs};
    use crate::testing::{Case, peer, policy};

    /// There are two objects of each kind, so that one is not taken for the other.
    #[test]
    fn what_another_run_wrote_down_meanwhile_decides_whether_an_object_goes() {
        let live = json!({ "peers": [peer("m"), peer("n")],
                           "policies": [policy("p", &["All"], &["All"]), policy("q", &["All"], &["All"])] });
        let actual = Case::new(json!({ "groups": { "g": {} } }), live).actual();
        let [m, n] = ["m", "n"].map(|name| {
            let mut named = actual.peers_named(name);
            actual.live_peer(named.next().expect("a peer"))
        });
        let [p, q] = ["p", "q"].map(|name| actual.named(Kind::Policy, name)[0].clone());
        let inventory = |ours: &[&Live]| {
            let mut inventory = Inventory::new("account", "netbird.json");
            for live in ours {
                let (id, by) = (live.id.clone(), Evidence::Event);
                let machine = Machine { id: id.clone(), by };
                match live.resource.kind() {
                    Kind::Peer => inventory
                        .enrolled
                        .insert("k".into(), vec![machine])
                        .map(drop),
                    _ => inventory
                        .created
                        .insert("policies/x".into(), vec![id])
                        .map(drop),
                };
            }
            inventory
        };
        let adopting = |live: &Live| {
            let (id, origin, room) = (live.id.clone(), RecordedAs::Adopted, 1);
            let address = Address::new(Kind::Policy, "x");
            let adoptions = vec![(address, Adoption { id, origin, room })];
            let mut plan = Plan::default();
            plan.adoptions = adoptions;
            plan
        };
        let none = Plan::default();
        let (took_out, took_in) = (
            Some("another run deleted it or let it go meanwhile"),
            Some("another run recorded it meanwhile, so it stays"),
        );
        for (what, plan, live, planned, newest, said) in [
            ("ours", &none, &p, &p, &p, None),
            ("ours no more", &none, &p, &p, &q, took_out),
            ("by hand, or by --prune all", &none, &p, &q, &q, None),
            ("ours by now", &none, &p, &q, &p, took_in),
            ("adopted by this run", &adopting(&p), &p, &q, &p, None),
            ("adopted and taken out", &adopting(&p), &p, &q, &q, took_out),
            ("another one is adopted", &adopting(&q), &p, &q, &p, took_in),
            ("a machine of ours", &none, &m, &m, &m, None),
            ("a machine of ours no more", &none, &m, &m, &n, took_out),
            (
                "a machine that the plan alone knows",
                &none,
                &m,
                &n,
                &n,
                None,
            ),
            ("a machine that is recorded by now", &none, &m, &n, &m, None),
        ] {
            let address = Address::new(live.resource.kind(), live.name.clone());
            let change = Change::deletion(&address, live, None);
            let both = [inventory(&[planned]), inventory(&[newest])];
            let stays = stays(plan, &change, live, both.each_ref());
            assert_eq!(stays, said, "{what}");
        }
    }
}
