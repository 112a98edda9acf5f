//! The message of a commit of the inventory: numbers, the commit and the run. No name of an object is in it: names are other
//! people's text, and servers read messages.

use std::collections::{BTreeMap, BTreeSet};

use super::{Id, Inventory, InventoryPlace};
use crate::base::text::{joined, numbered};
use crate::forge::gitea::subject;
use crate::inventory::{Left, RecordedAs};

impl InventoryPlace {
    /// Returns the message of the commit that makes `after` of `before`. All that changed is in its difference.
    pub(super) fn message(&self, before: Option<&Inventory>, after: &Inventory) -> String {
        let nothing = Inventory::default();
        let old = before.unwrap_or(&nothing);
        let new = |wanted| of(after, wanted).difference(&of(old, wanted)).count();
        // what was let go is deleted where it is gone now, else it is just not said any more
        let (was_let_go, is_let_go) = (ids_of(&old.let_go), ids_of(&after.let_go));
        let mut ended: BTreeSet<&Id> = &was_let_go & &ids_of(&after.gone);
        ended.extend(old.ids());
        let still = after.ids();
        ended.retain(|id| !still.contains(id) && !is_let_go.contains(id));
        let (created, adopted) = (new(RecordedAs::Created), new(RecordedAs::Adopted));
        let let_go = is_let_go.difference(&was_let_go).count();
        let numbers = [created, adopted, ended.len(), let_go].into_iter();
        let numbers = numbers.zip(["created", "adopted", "deleted", "let go"]);
        let numbers = joined(numbered(numbers), ", ");
        let what = match (before, numbers.as_str()) {
            (None, "") => "the first inventory".to_owned(),
            (None, numbers) => format!("the first inventory: {numbers}"),
            (Some(old), "") if old.applied_commit != after.applied_commit => "applied".to_owned(),
            (Some(_), "") => "the inventory is up to date".to_owned(),
            (Some(_), numbers) => numbers.to_owned(),
        };
        let mut message = subject(&self.environment, &what) + "\n";
        let (commit, run) = (self.commit.get(), self.context.run_url.as_ref());
        for (name, value) in [("Commit", commit), ("Run", run)] {
            message.extend(value.map(|value| format!("\n{name}: {value}")));
        }
        message.trim_end().to_owned()
    }
}

fn of(inventory: &Inventory, wanted: RecordedAs) -> BTreeSet<&Id> {
    let recorded = inventory.recorded();
    let recorded = recorded.filter(|(.., origin)| *origin == wanted);
    recorded.map(|(_, id, _)| id).collect()
}

/// The ids of what was let go, or is gone.
fn ids_of(left: &BTreeMap<String, Left>) -> BTreeSet<&Id> {
    left.values().flat_map(|left| &left.ids).collect()
}
