//! The inventory: is it there, of this account and this file, how old is it, and has it copies of the keys that wait?

use super::Subject;
use super::netbird::NetbirdFacts;
use crate::base::id::Id;
use crate::base::text::{count, short_commit};
use crate::commands::failure::Failure;
use crate::commands::inventory::{FoundInventory, InventoryPlace, InventoryWanted};
use crate::commands::setup::doctor::{Check, Look, not_made, open, wrong};
use crate::inventory::{Inventory, Origin};
use crate::model::kind::Kind;
use crate::model::notice::Notice;
use crate::plan::ours::Standing;
use crate::wire::api::objects::SetupKey;

const INVENTORY: &str = "inventory";
const COPIES: &str = "inventory_key_copies";

/// The checks where there is nothing to look at, and why.
pub(super) fn none(why: &str) -> Vec<Check> {
    Vec::from([INVENTORY, COPIES].map(|name| Check::of(name, not_made(why))))
}

/// Returns the checks.
pub(super) fn checks(scene: &Subject, known: &NetbirdFacts) -> Vec<Check> {
    let place = InventoryPlace::find(&InventoryWanted {
        run: scene.run,
        inventory: &scene.args.inventory,
        key_copies: scene.args.sealing.key_copies.as_ref(),
        gitea: &scene.args.gitea,
        writes: false,
        is_wanted: true,
    });
    let read = place.and_then(|place| Ok((place.read()?, place)));
    let (found, place) = match read {
        Ok(read) => read,
        Err(failure) => {
            let copies = not_made("the inventory cannot be read");
            let failed = Check::of(INVENTORY, Err(failure.into()));
            return vec![failed, Check::of(COPIES, copies)];
        }
    };
    let copies = copies(&found.inventory, &place, known);
    let copies = copies.unwrap_or_else(|failure| open(failure.error));
    vec![inventory(&found, &place, known), Check::of(COPIES, copies)]
}

fn inventory(found: &FoundInventory, place: &InventoryPlace, known: &NetbirdFacts) -> Check {
    let Inventory {
        account,
        file,
        applied_commit,
        ..
    } = &found.inventory;
    let said: Vec<String> = found.notices.iter().map(Notice::words).collect();
    if found.standing != Standing::Read {
        // the sentences behind the first say what to do
        let said = said.join(" ");
        let (text, advice) = said.split_once(". ").unwrap_or((&said, ""));
        let advice = Some(advice.to_owned()).filter(|advice| !advice.is_empty());
        return Check::of(INVENTORY, open(text)).advice(advice);
    }
    if let Some(own) = known.account.as_ref().filter(|own| *own != account) {
        let text =
            format!("it is of account {account}, and the token of NetBird is of account {own}");
        let hint = "name the environment of this account with --environment";
        return Check::of(INVENTORY, wrong(text, hint));
    }
    let number = |wanted| {
        let recorded = found.inventory.recorded();
        recorded.filter(|(.., origin)| *origin == wanted).count()
    };
    let applied = match applied_commit {
        Some(commit) => format!("commit {} was applied last", short_commit(commit)),
        None => "no commit was applied yet".to_owned(),
    };
    let changed = place.changed();
    let changed = changed.map(|at| format!(", last changed {}", at.strftime("%Y-%m-%d")));
    let first = format!(
        "of account {account} and {file}: {}, {} adopted; {applied}{}",
        count(number(Origin::Created), "object created", "objects created"),
        number(Origin::Adopted),
        changed.unwrap_or_default()
    );
    let all: Vec<String> = std::iter::once(first).chain(said).collect();
    Check::of(INVENTORY, Ok(all.join("; ")))
}

/// Compares the copies with the keys that a run made and that wait for their machines.
fn copies(
    inventory: &Inventory,
    place: &InventoryPlace,
    known: &NetbirdFacts,
) -> Result<Look, Failure> {
    let not_made = |why| Ok(not_made(why));
    if !place.copies(None)? {
        return not_made("no copies of sealed keys are kept");
    }
    if !place.lists_copies() {
        return not_made("without a token the copies cannot be listed");
    }
    let created = inventory.recorded().filter_map(|(key, id, origin)| {
        let name = key.strip_prefix("setup_keys/")?;
        (origin == Origin::Created).then_some((name, id))
    });
    let created: Vec<(&str, &Id)> = created.collect();
    if created.is_empty() {
        return not_made("no run made a key");
    }
    let Some(api) = &known.api else {
        return not_made("NetBird does not say which keys wait");
    };
    let keys = api.list(Kind::SetupKey.path())?;
    let keys = keys.iter().filter_map(|key| key.read::<SetupKey>().ok());
    let waiting = keys.filter(|key| key.valid && key.used_times == 0);
    let waiting: Vec<Id> = waiting.map(|key| key.id).collect();
    let created = created.into_iter().filter(|(_, id)| waiting.contains(id));
    let created: Vec<(&str, &Id)> = created.collect();
    let number = count(created.len(), "key", "keys");
    let lacks = place.without_copy(created.into_iter())?;
    Ok(match lacks.is_empty() {
        true => Ok(format!("{number} to be used, each with a copy")),
        false => wrong(
            format!("no copy of {} is kept", lacks.join(", ")),
            "if nobody has the sealed text of the run that made it, make the key again: --replace setup_keys/NAME",
        ),
    })
}
