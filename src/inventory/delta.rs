//! What a run changes in the inventory: ids in, ids out. It is put onto the newest text, which another run may have
//! written meanwhile, so nothing in it depends on the text that the run read.

use std::collections::{BTreeMap, BTreeSet};

use super::index::Index;
use super::{Inventory, Left, Machine, RecordedAs};
use crate::base::Id;

/// An object that an entry adopts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adoption {
    /// The object.
    pub id: Id,
    /// As what: the event log can tell that a run made it.
    pub origin: RecordedAs,
    /// How many objects the entry has. Where as many are recorded by now and live, the adoption is dropped.
    pub room: usize,
}

/// Changes of an inventory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    /// The commit that is applied now, where it moved.
    pub applied_commit: Option<String>,
    /// Objects that the run made, by key.
    pub created: Vec<(String, Id)>,
    /// Objects that it adopts, by key.
    pub adopted: Vec<(String, Adoption)>,
    /// Recorded objects whose entry has another key by now.
    pub moved: Vec<(Id, String)>,
    /// Recorded objects that do not exist any more.
    pub dead: BTreeSet<Id>,
    /// Objects that nobody manages from now on, by key and cause.
    pub let_go: Vec<(String, Id, Option<String>)>,
    /// What the run took away, by row of an agreement and cause: of a member the peer, which may live. What does not exist
    /// any more is in `dead`, too.
    pub gone: Vec<(String, Id, Option<String>)>,
    /// Whether older entries of `let_go` and `gone` end: all but those of these causes.
    pub keeps_causes: Option<BTreeSet<Option<String>>>,
    /// Members: group, listed name, peer.
    pub members: Vec<(String, String, Id)>,
    /// Members that ended: group and peer.
    pub left_members: BTreeSet<(String, Id)>,
    /// Machines that came by a key of one use, by key.
    pub enrolled: Vec<(String, Machine)>,
    /// Machines that do not exist any more.
    pub dead_machines: BTreeSet<Id>,
    /// What names mean that meant nothing yet.
    pub names: BTreeMap<String, Option<Id>>,
    /// What names mean as a person says, whatever they meant.
    pub rebound: BTreeMap<String, Id>,
    /// Names that nothing uses any more.
    pub unused_names: BTreeSet<String>,
}

impl Delta {
    /// Returns the newest inventory with these changes, one after the other.
    pub fn all_onto(deltas: &[Delta], newest: &Inventory) -> Inventory {
        let put = |inventory, delta: &Delta| delta.onto(&inventory);
        deltas.iter().fold(newest.clone(), put)
    }

    /// Returns the newest inventory with these changes. An id is in one list: what was created stays created.
    pub fn onto(&self, newest: &Inventory) -> Inventory {
        let mut next = newest.clone();
        if self.applied_commit.is_some() {
            next.applied_commit.clone_from(&self.applied_commit);
        }
        if let Some(causes) = &self.keeps_causes {
            let is_through = |_: &String, left: &mut Left| !causes.contains(&left.cause);
            let through = next.let_go.extract_if(.., is_through);
            next.released.extend(through.flat_map(|(_, left)| left.ids));
            next.gone.retain(|_, left| causes.contains(&left.cause));
        }
        for (id, key) in &self.moved {
            if let Some(origin) = next.origin(id) {
                next.forget(id);
                next.record(key, id, origin);
            }
        }
        for id in &self.dead {
            next.forget(id);
        }
        for (key, id, cause) in &self.let_go {
            next.forget(id);
            leave(&mut next.let_go, key, id, cause);
        }
        for (row, id, cause) in &self.gone {
            leave(&mut next.gone, row, id, cause);
        }
        for (key, id) in &self.created {
            next.forget(id);
            next.record(key, id, RecordedAs::Created);
        }
        for (key, Adoption { id, origin, room }) in &self.adopted {
            let others = next.of(key).into_iter();
            let others = others.filter(|(other, _)| *other != id).count();
            let is_known = next.origin(id) == Some(RecordedAs::Created);
            if others < *room && !is_known {
                next.forget(id);
                next.record(key, id, *origin);
            }
        }
        self.people_onto(&mut next);
        next.index = Index::default();
        next
    }

    /// Members, machines and names.
    fn people_onto(&self, next: &mut Inventory) {
        for (group, peer) in &self.left_members {
            if let Some(members) = next.members.get_mut(group) {
                members.retain(|_, id| id != peer);
            }
        }
        for (group, name, peer) in &self.members {
            let members = next.members.entry(group.clone()).or_default();
            members.insert(name.clone(), peer.clone());
        }
        next.members.retain(|_, members| !members.is_empty());
        for (key, machine) in &self.enrolled {
            let machines = next.enrolled.entry(key.clone()).or_default();
            match machines.iter_mut().find(|known| known.id == machine.id) {
                // the event log is the better evidence
                Some(known) => known.by = known.by.min(machine.by),
                None => machines.push(machine.clone()),
            }
            // ids begin with the time of creation
            machines.sort();
        }
        for machines in next.enrolled.values_mut() {
            machines.retain(|machine| !self.dead_machines.contains(&machine.id));
        }
        next.enrolled.retain(|_, machines| !machines.is_empty());
        next.names
            .retain(|name, _| !self.unused_names.contains(name));
        for (name, meant) in &self.names {
            // whoever was first to say it is right
            let known = next.names.entry(name.clone());
            known.or_insert_with(|| meant.clone());
        }
        for (name, id) in &self.rebound {
            next.names.insert(name.clone(), Some(id.clone()));
        }
    }
}

/// Adds an id to what left by that cause. Of one key the newest cause counts.
fn leave(left: &mut BTreeMap<String, Left>, key: &str, id: &Id, cause: &Option<String>) {
    let of_key = left.entry(key.to_owned()).or_default();
    if of_key.cause != *cause {
        *of_key = Left {
            ids: Vec::new(),
            cause: cause.clone(),
        };
    }
    if let Err(at) = of_key.ids.binary_search(id) {
        of_key.ids.insert(at, id.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::base::Evidence;

    fn id(text: &str) -> Id {
        Id::from(text)
    }

    fn adoption(key: &str, of: &str, room: usize) -> (String, Adoption) {
        let (id, origin) = (id(of), RecordedAs::Adopted);
        (key.into(), Adoption { id, origin, room })
    }

    #[test]
    fn an_id_is_in_one_list_and_created_wins() {
        let made = Delta {
            created: vec![("groups/a".into(), id("1"))],
            ..Delta::default()
        };
        let adopts = Delta {
            adopted: vec![adoption("groups/a", "1", 1)],
            ..Delta::default()
        };
        let empty = Inventory::new("acc", "f");
        for (first, second) in [(&made, &adopts), (&adopts, &made)] {
            let both = second.onto(&first.onto(&empty));
            assert_eq!(both.of("groups/a"), [(&id("1"), RecordedAs::Created)]);
            assert!(both.adopted.is_empty());
        }
        let at_once = Delta {
            adopted: vec![adoption("groups/a", "1", 2)],
            ..made
        };
        let both = at_once.onto(&empty);
        assert_eq!(both.of("groups/a"), [(&id("1"), RecordedAs::Created)]);
    }

    #[test]
    fn an_adoption_is_dropped_where_another_run_made_the_object_meanwhile() {
        let mut newest = Inventory::new("acc", "f");
        newest.created.insert("policies/p".into(), vec![id("2")]);
        let adopts = Delta {
            adopted: vec![adoption("policies/p", "1", 1)],
            ..Delta::default()
        };
        assert_eq!(adopts.onto(&newest), newest);
        let dead = Delta {
            dead: BTreeSet::from([id("2")]),
            ..adopts.clone()
        };
        let next = dead.onto(&newest);
        assert_eq!(next.of("policies/p"), [(&id("1"), RecordedAs::Adopted)]);
        let several = Delta {
            adopted: vec![adoption("policies/p", "1", 2)],
            ..Delta::default()
        };
        let next = several.onto(&newest);
        let both = [
            (&id("1"), RecordedAs::Adopted),
            (&id("2"), RecordedAs::Created),
        ];
        assert_eq!(next.of("policies/p"), both, "the oldest first");
        // another run adopted it, and this one knows that a run made it
        let mut adopted = Inventory::new("acc", "f");
        adopted.adopted.insert("policies/p".into(), vec![id("1")]);
        let (key, of) = adoption("policies/p", "1", 1);
        let origin = RecordedAs::Created;
        let made = Delta {
            adopted: vec![(key, Adoption { origin, ..of })],
            ..Delta::default()
        };
        let next = made.onto(&adopted);
        assert_eq!(next.of("policies/p"), [(&id("1"), origin)]);
    }

    #[test]
    fn what_leaves_keeps_its_cause_until_a_later_change_is_through() {
        let mut newest = Inventory::new("acc", "f");
        let ours = ["1", "3", "5"].map(id);
        newest.adopted.insert("policies/p".into(), ours.to_vec());
        let left = |of: &str| ("policies/p".to_owned(), id(of), Some("#4".to_owned()));
        let lets_go = Delta {
            let_go: vec![left("1"), left("3")],
            gone: vec![("groups/g".into(), id("2"), Some("#4".into()))],
            ..Delta::default()
        };
        let next = lets_go.onto(&newest);
        assert_eq!(
            next.of("policies/p"),
            [(&id("5"), RecordedAs::Adopted)],
            "what stays of that name"
        );
        assert_eq!(next.let_go_of(&id("5")), None);
        assert!(next.is_let_go(&id("1")) && !next.is_let_go(&id("5")));
        let gone = &next.let_go["policies/p"];
        assert_eq!(gone.ids, ["1", "3"].map(id));
        assert_eq!(gone.cause.as_deref(), Some("#4"));
        let later = Delta {
            keeps_causes: Some(BTreeSet::from([Some("#5".into())])),
            ..Delta::default()
        };
        let after = later.onto(&next);
        assert!(after.let_go.is_empty() && after.gone.is_empty());
        assert!(after.is_let_go(&id("1")));
        let back = Delta {
            adopted: vec![adoption("policies/p", "1", 2)],
            ..Delta::default()
        };
        assert!(!back.onto(&after).is_let_go(&id("1")), "it is ours again");
        let same = Delta {
            keeps_causes: Some(BTreeSet::from([Some("#4".into())])),
            ..Delta::default()
        };
        assert_eq!(same.onto(&next), next);
    }

    #[test]
    fn names_mean_what_they_meant_first_unless_a_person_says_otherwise() {
        let first = Delta {
            names: BTreeMap::from([("cam".into(), None)]),
            ..Delta::default()
        };
        let second = Delta {
            names: BTreeMap::from([("cam".into(), Some(id("9")))]),
            ..Delta::default()
        };
        let next = second.onto(&first.onto(&Inventory::new("acc", "f")));
        assert_eq!(next.names["cam"], None);
        let person = Delta {
            rebound: BTreeMap::from([("cam".into(), id("9"))]),
            ..Delta::default()
        };
        assert_eq!(person.onto(&next).names["cam"], Some(id("9")));
    }

    #[test]
    fn what_a_run_changes_and_nothing_else() {
        let read = |lists: &Value| {
            let mut text = json!({ "format_version": 1, "account": "acc", "file": "f" });
            let fields = text.as_object_mut().expect("an object");
            fields.extend(lists.as_object().expect("an object").clone());
            Inventory::parse(text.to_string().as_bytes()).expect("an inventory")
        };
        let before = json!({
            "applied_commit": "4af0000000000000000000000000000000000000",
            "created": { "groups/old": ["1"], "groups/gone": ["2"], "groups/stays": ["3"] },
            "adopted": { "policies/p": ["4"] },
            "members": { "g": { "a": "m1", "b": "m2" }, "h": { "a": "m1" } },
            "enrolled": { "k": ["m1", "m3"], "l": ["m3"] },
            "names": { "cam": null, "nas": "m1", "unused": "m2" },
        });
        let row = |key: &str, of: &str| (key.to_owned(), id(of), Some("#4".to_owned()));
        let delta = Delta {
            applied_commit: Some("5b00000000000000000000000000000000000000".into()),
            moved: vec![
                (id("1"), "groups/new".into()),
                (id("unknown"), "groups/x".into()),
            ],
            dead: [id("2")].into(),
            let_go: vec![row("policies/p", "4")],
            gone: vec![row("groups/gone", "2")],
            members: vec![("g".into(), "c".into(), id("m4"))],
            left_members: [("g".into(), id("m2")), ("h".into(), id("m1"))].into(),
            enrolled: vec![(
                "k".into(),
                Machine {
                    id: id("m0"),
                    by: Evidence::Event,
                },
            )],
            dead_machines: [id("m3")].into(),
            rebound: [("nas".into(), id("m4"))].into(),
            unused_names: ["unused".into()].into(),
            ..Delta::default()
        };
        let left = |of: &str| json!({ "ids": [of], "cause": "#4" });
        let after = json!({
            "applied_commit": "5b00000000000000000000000000000000000000",
            "created": { "groups/new": ["1"], "groups/stays": ["3"] },
            "let_go": { "policies/p": left("4") },
            "gone": { "groups/gone": left("2") },
            "members": { "g": { "a": "m1", "c": "m4" } },
            "enrolled": { "k": ["m0", "m1"] },
            "names": { "cam": null, "nas": "m4" },
        });
        assert_eq!(delta.onto(&read(&before)), read(&after));
        assert_eq!(Delta::default().onto(&read(&before)), read(&before));
    }

    #[test]
    fn a_machine_that_the_log_tells_is_told_by_it() {
        let by = |by| Delta {
            enrolled: vec![("k".into(), Machine { id: id("1"), by })],
            ..Delta::default()
        };
        let empty = Inventory::new("acc", "f");
        let next = by(Evidence::Event).onto(&by(Evidence::Time).onto(&empty));
        assert_eq!(next.enrolled["k"][0].by, Evidence::Event);
        assert_eq!(next.enrolled["k"].len(), 1);
    }
}
