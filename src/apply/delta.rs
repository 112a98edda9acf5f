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
