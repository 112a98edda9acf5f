//! Recorded objects that no list of NetBird has. Each is asked for by its id before it counts as deleted: a plan by an old list, or by
//! one that something before NetBird cut, would create the object a second time and forget the first.

use anyhow::{Context, Result, bail};

use crate::account::paths;
use crate::base::id::Id;
use crate::inventory::Inventory;
use crate::model::address::Address;
use crate::model::kind::Kind;
use crate::wire::api::{Api, object_path};

/// So many of a kind are asked for.
const ASKED: usize = 25;

/// Errors where NetBird has one of these objects, or does not tell whether it has.
pub fn confirm(api: &Api, absent: &[(Address, Id)], inventory: &Inventory) -> Result<()> {
    for kind in Kind::ALL {
        let of_kind = absent.iter().filter(|(address, _)| address.kind == kind);
        let of_kind: Vec<&(Address, Id)> = of_kind.collect();
        for (address, id) in of_kind.iter().step_by(of_kind.len().div_ceil(ASKED).max(1)) {
            let within = address.parent().map(|parent| {
                let all = inventory.of(&parent.key());
                let mut all = all.into_iter().map(|(id, _)| id);
                all.find(|id| absent.iter().all(|(_, other)| other != *id))
            });
            // with its parent everything in it is gone
            if within == Some(None) {
                continue;
            }
            let path = object_path(&paths::collection(kind, within.flatten())?, &id.0)?;
            match api.get(&path) {
                Err(error) if error.is_absent() => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot read {}", address.quoted()));
                }
                Ok(_) => bail!(
                    "NetBird's list of {} lacks {} ({id}), but NetBird has it: the list is old or incomplete\n\
                     hint: run again; if it happens again, something before NetBird answers old lists, or cuts them",
                    kind.plural(),
                    address.quoted()
                ),
            }
        }
    }
    Ok(())
}
