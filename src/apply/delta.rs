//! What an apply writes into the inventory: what the plan learnt, and what became of its changes.

use super::{Address, Applied, Change, Id, Inventory, Kind, Plan, Status};
use crate::inventory::{Adoption, Delta, RecordedAs};
use crate::model::{Cause, LeftBy, LetGo, LetGoWhy};
use crate::plan::{Piece, Row};

impl Applied {
    /// Returns what is to be written down once the writes are over. `planned` is the inventory that the plan was made with,
    /// and `cause` the text of a change of the file: `#N` or a commit's id, none where no commit has it.
    pub fn delta(
        &self,
        plan: &Plan,
        planned: &Inventory,
        cause: &dyn Fn(Option<Cause>) -> Option<String>,
    ) -> Delta {
        let mut delta = plan.record.clone();
        let made = self.made.iter();
        delta
            .created
            .extend(made.map(|(id, address)| (address.key(), id.clone())));
        let met = self.met.iter().map(|(id, address)| {
            let (id, origin, room) = (id.clone(), RecordedAs::Adopted, 1);
            (address.key(), Adoption { id, origin, room })
        });
        delta.adopted.extend(met);
        delta.dead.extend(self.deleted.iter().cloned());
        let text = |by: &LeftBy| match by {
            LeftBy::Change(change) => cause(Some(*change)),
            LeftBy::Recorded(text) => Some(text.clone()),
            LeftBy::Unknown => None,
        };
        let left = plan.let_go.iter();
        let is_new = |left: &&LetGo| left.why != LetGoWhy::Before;
        let left = left
            .filter(is_new)
            .filter(|left| !self.deleted.contains(&left.id));
        let left = left.map(|left| (left.key.clone(), left.id.clone(), text(&left.left_by)));
        delta.let_go.extend(left);
        for (row, left_by) in &plan.dead {
            let machines = plan.record.dead_machines.iter();
            let machines = machines.filter(|id| *row == format!("peers/{id}"));
            let objects = planned.of(row).into_iter().map(|(id, _)| id);
            let objects = objects.filter(|id| plan.record.dead.contains(id));
            let dead = machines.chain(objects);
            let dead = dead.map(|id| (row.clone(), id.clone(), text(left_by)));
            delta.gone.extend(dead);
        }
        let counted = plan.counted_rows();
        for (change, status) in plan.changes.iter().zip(&self.statuses) {
            let is_done = *status == Status::Success;
            if is_done && change.address.kind == Kind::Group {
                members(change, plan, &mut delta);
            }
            for row in Row::of(change) {
                let (id, is_gone) = match &row.piece {
                    Piece::Whole => (&row.object, self.deleted.contains(&row.object)),
                    Piece::Member(member) => (member, is_done),
                    Piece::Field { .. } => (&row.object, is_done),
                };
                if is_gone && counted.contains(&row) {
                    // what an earlier run let go keeps its cause
                    let known = planned.let_go_of(id);
                    let of = cause(plan.causes.get(&row).copied());
                    let of = of.or_else(|| known?.1.cause.clone());
                    delta.gone.push((plan.row_text(&row), id.clone(), of));
                }
                if is_gone && row.piece == Piece::Whole && row.address.kind == Kind::Peer {
                    delta.dead_machines.insert(row.object);
                }
            }
        }
        delta
    }

    /// Returns what this run made, and what another run made meanwhile for entries of the plan.
    pub fn made_or_met(&self) -> impl Iterator<Item = (&Address, &Id)> {
        let all = self.made.iter().chain(&self.met);
        all.map(|(id, address)| (address, id))
    }
}

/// Adds who joined and who left a group by a change.
fn members(change: &Change, plan: &Plan, delta: &mut Delta) {
    let group = &change.address.name;
    for peer in change.added_members() {
        if let Some(listed) = plan.listed(group, &peer) {
            let member = (group.clone(), listed.to_owned(), peer);
            delta.members.push(member);
        }
    }
    let left = change.removed_members().into_iter();
    delta
        .left_members
        .extend(left.map(|peer| (group.clone(), peer)));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::testing::{
        Case, MADE, enrolled, group, id, id_at, key, over, peer, policy, used_at,
    };

    #[test]
    fn what_was_done_is_written_down_and_nothing_else() {
        let keys = |names: &[&str]| {
            let entry = json!({ "type": "one-off", "expires_in": 86400, "enrolled": true });
            let named = names.iter().map(|name| ((*name).to_owned(), entry.clone()));
            serde_json::Map::from_iter(named)
        };
        let all = || json!({ "sources": ["All"], "destinations": ["All"] });
        let before = json!({ "groups": { "g": { "peers": ["m", "n"] } }, "setup_keys": keys(&["m", "n", "o", "x"]),
                             "policies": { "stays": all(), "goes": all(), "gone": all() } });
        let after = json!({ "groups": { "g": { "peers": ["m", "o"] } }, "setup_keys": keys(&["m", "n", "o"]),
                            "policies": { "stays": all() } });
        let used = |name: &str| over(key(name, &[]), used_at(MADE));
        let me =
            json!({ "id": "me", "is_current": true, "is_service_user": true, "role": "admin" });
        let names = ["m", "n", "o", "x"];
        let mut policies = ["stays", "goes", "lives"]
            .map(|name| policy(name, &["All"], &["All"]))
            .to_vec();
        let second = id_at(Kind::Policy, "stays", MADE + 1);
        policies.push(over(policies[0].clone(), json!({ "id": second })));
        let live = json!({ "peers": names.map(peer), "setup_keys": names.map(used),
                           "groups": [group("g", &["m", "n"])], "policies": policies, "users": [me] });
        let of = |kind: Kind, name: &str| Id::from(id(kind, name).as_str());
        let mut case = Case::new(after, live);
        // the machine is deleted with its key
        case.snapshot.rest.events = Some(vec![enrolled("x", "x").into()]);
        let case = case.history(&[(MADE, before)]).ours(|ours| {
            let created = &mut Arc::make_mut(&mut ours.inventory).created;
            // the entry had another one, which somebody renamed
            let lives = of(Kind::Policy, "lives");
            created.insert("policies/gone".into(), vec!["dead".into(), lives]);
        });
        let plan = case.possible();
        let delta = |status: Status| {
            let deleted = plan.changes.iter().filter_map(Change::deleted);
            let deleted = deleted.map(|live| live.id.clone());
            let applied = Applied {
                deleted: deleted.filter(|_| status == Status::Success).collect(),
                statuses: vec![status; plan.changes.len()],
                ..Applied::default()
            };
            let planned = &case.options.ours.inventory;
            applied.delta(&plan, planned, &|cause| cause.map(|_| "#4".into()))
        };
        let rows = |delta: &Delta| -> Vec<String> {
            let rows = delta.gone.iter();
            let rows = rows.map(|(row, _, cause)| format!("{row} by {cause:?}"));
            rows.collect()
        };
        let (done, not_tried) = (delta(Status::Success), delta(Status::Skipped));
        let machine = of(Kind::Peer, "x");
        let of_machine = format!("peers/{machine}");
        let gone = [
            "policies/gone",
            "groups/g member n",
            "setup_keys/x",
            of_machine.as_str(),
            "policies/goes",
        ];
        let gone = gone.map(|row| format!("{row} by Some(\"#4\")"));
        assert_eq!(rows(&done), gone);
        // the second object of an entry is no row of an agreement
        let dead = [
            of(Kind::SetupKey, "x"),
            of(Kind::Policy, "goes"),
            second.as_str().into(),
        ];
        let dead = dead.into_iter().chain([machine.clone(), "dead".into()]);
        assert_eq!(done.dead, BTreeSet::from_iter(dead));
        let joined = ("g".to_owned(), "o".to_owned(), of(Kind::Peer, "o"));
        assert_eq!(done.members, [joined]);
        let left = ("g".to_owned(), of(Kind::Peer, "n"));
        assert_eq!(done.left_members, BTreeSet::from([left]));
        assert_eq!(rows(&not_tried), gone[..1]);
        assert_eq!(not_tried.dead, BTreeSet::from(["dead".into()]));
        assert!(not_tried.members.is_empty() && not_tried.left_members.is_empty());
        assert_eq!(done.dead_machines, BTreeSet::from([machine]));
        assert!(not_tried.dead_machines.is_empty());
    }
}
