//! Recorded objects that no list of NetBird has, and members of groups that the list of peers lacks. Each is asked for by its id before it
//! counts as deleted: a plan by an old list, or by one that something before NetBird cut, would create the object a second time and
//! forget the first.

use std::thread;

use anyhow::{Context, Result, bail};

use crate::account::{Actual, paths};
use crate::base::Id;
use crate::inventory::Inventory;
use crate::model::Address;
use crate::wire::api::{Api, object_path};

/// So many are asked for at once.
const AT_ONCE: usize = 8;

/// Errors where NetBird has one of these objects, or does not tell whether it has.
pub fn confirm(
    api: &Api,
    absent: &[(Address, Id)],
    actual: &Actual,
    inventory: &Inventory,
) -> Result<()> {
    for few in absent.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let asked = few.iter().map(|(address, id)| {
                let within = within(address, actual, inventory);
                scope.spawn(move || ask(api, address, id, within))
            });
            let mut asked = Vec::from_iter(asked).into_iter();
            asked.try_for_each(|asked| asked.join().expect("an asking thread does not panic"))
        })?;
    }
    Ok(())
}

/// Returns the object that NetBird would have it in. Of what can be in any, one of them: another than the right one is answered
/// with an error (500), and an object that does not exist with a 404 (docs/netbird-api.md, "Networks").
fn within(address: &Address, actual: &Actual, inventory: &Inventory) -> Option<Id> {
    let kind = address.kind.parent()?;
    let mut all = actual.each().filter(|(at, _)| at.kind == kind);
    let is_it = |at: &Address, id: &Id| match address.parent() {
        Some(parent) => match inventory.of(&parent.key()) {
            recorded if recorded.is_empty() => parent.name == at.name,
            recorded => recorded.iter().any(|(known, _)| *known == id),
        },
        None => true,
    };
    let found = all.find(|(at, live)| is_it(at, &live.id));
    found.map(|(_, live)| live.id.clone())
}

fn ask(api: &Api, address: &Address, id: &Id, within: Option<Id>) -> Result<()> {
    if address.kind.parent().is_some() && within.is_none() {
        return Ok(()); // with what it was in it is gone
    }
    let path = object_path(&paths::collection(address.kind, within.as_ref())?, &id.0)?;
    match api.get(&path) {
        Err(error) if error.is_gone() => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", address.quoted())),
        Ok(_) => bail!(
            "NetBird's list of {} lacks {} ({id}), but NetBird has it: the list is old or incomplete\n\
             hint: run again; if it happens again, something before NetBird answers old lists, or cuts them",
            address.kind.plural(),
            match address.name == id.0 {
                true => "a member of a group".to_owned(),
                false => address.quoted(),
            }
        ),
    }
}
