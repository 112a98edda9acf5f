//! The message of a commit of the inventory: numbers, the commit and the run. No name of an object is in it: names are other
//! people's text, and servers read messages.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::id::Id;
use crate::base::text::count;
use crate::forge::gitea::subject;
use crate::inventory::{Inventory, Left, RecordedAs};

/// Returns the message of the commit that makes `after` of `before`.
pub(super) fn message(
    environment: &str,
    before: Option<&Inventory>,
    after: &Inventory,
    commit: Option<&String>,
    run: Option<&String>,
) -> String {
    let nothing = Inventory::default();
    let is_first = before.is_none();
    let before = before.unwrap_or(&nothing);
    let of = |inventory: &Inventory, wanted: RecordedAs| -> BTreeSet<Id> {
        let recorded = inventory.recorded();
        let ids = recorded.filter(|(.., origin)| *origin == wanted);
        ids.map(|(_, id, _)| id.clone()).collect()
    };
    let new = |origin| of(after, origin).difference(&of(before, origin)).count();
    let (let_go_before, let_go_after) = (ids_of(&before.let_go), ids_of(&after.let_go));
    let left = let_go_after.difference(&let_go_before).count();
    let still: BTreeSet<Id> = after
        .ids()
        .into_iter()
        .cloned()
        .chain(let_go_after)
        .collect();
    let gone = ids_of(&after.gone);
    // what was let go is deleted where it is gone now, else it is just not said any more
    let let_go_ended = let_go_before.intersection(&gone);
    let ended: BTreeSet<&Id> = before.ids().into_iter().chain(let_go_ended).collect();
    let ended = ended.into_iter().filter(|id| !still.contains(*id));
    let keys = |inventory: &Inventory| -> BTreeMap<Id, String> {
        let recorded = inventory.recorded();
        recorded
            .map(|(key, id, _)| (id.clone(), key.to_owned()))
            .collect()
    };
    let keys_before = keys(before);
    let moved = keys(after).into_iter();
    let moved = moved.filter(|(id, key)| keys_before.get(id).is_some_and(|of| of != key));
    let numbers = [
        (new(RecordedAs::Created), "created"),
        (new(RecordedAs::Adopted), "adopted"),
        (moved.count(), "renamed"),
        (left, "let go"),
        (ended.count(), "deleted"),
    ];
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
    let numbers = numbers.map(|(number, what)| format!("{number} {what}"));
    let differs = [
        (
            changed(&members(before), &members(after)),
            "member",
            "members",
        ),
        (
            changed(&machines(before), &machines(after)),
            "machine",
            "machines",
        ),
        (changed(&names(before), &names(after)), "name", "names"),
    ];
    let differs = differs.into_iter().filter(|(number, ..)| *number > 0);
    let differs = differs.map(|(number, one, many)| count(number, one, many));
    let parts: Vec<String> = numbers.chain(differs).collect();
    let what = match (is_first, parts.is_empty()) {
        (true, true) => "the first inventory".to_owned(),
        (true, false) => format!("the first inventory: {}", parts.join(", ")),
        (false, true) if before.applied_commit != after.applied_commit => "applied".to_owned(),
        (false, true) => "the inventory is up to date".to_owned(),
        (false, false) => parts.join(", "),
    };
    let mut message = subject(environment, &what) + "\n";
    let lines = [("Commit", commit), ("Run", run)];
    for (name, value) in lines {
        message.extend(value.map(|value| format!("\n{name}: {value}")));
    }
    message.trim_end().to_owned()
}

/// Returns how many are in one of both alone; of what changed its meaning, once.
fn changed<K: Ord, V: Ord>(before: &BTreeSet<(K, V)>, after: &BTreeSet<(K, V)>) -> usize {
    let other = before.symmetric_difference(after);
    other.map(|(key, _)| key).collect::<BTreeSet<&K>>().len()
}

/// The ids of what was let go, or is gone.
fn ids_of(left: &BTreeMap<String, Left>) -> BTreeSet<Id> {
    let left = left.values();
    left.flat_map(|left| left.ids.iter().cloned()).collect()
}

fn members(inventory: &Inventory) -> BTreeSet<((&String, &String), &Id)> {
    let groups = inventory.members.iter();
    let members = groups.flat_map(|(group, members)| members.iter().map(move |of| (group, of)));
    members
        .map(|(group, (name, id))| ((group, name), id))
        .collect()
}

fn machines(inventory: &Inventory) -> BTreeSet<(&Id, &String)> {
    let keys = inventory.enrolled.iter();
    let machines = keys.flat_map(|(key, machines)| machines.iter().map(move |of| (&of.id, key)));
    machines.collect()
}

fn names(inventory: &Inventory) -> BTreeSet<(&String, &Option<Id>)> {
    inventory.names.iter().collect()
}
