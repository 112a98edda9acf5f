//! The inventory: is it there, of this account and this file, how old is it, and has it copies of the keys that wait?

use super::Doctor;
use super::found::{Check, Look, not_made, open, wrong};
use crate::base::{Id, count, joined, short_commit};
use crate::commands::{Failure, FoundInventory, InventoryPlace};
use crate::inventory::{Inventory, RecordedAs};
use crate::model::{Kind, Notice};
use crate::plan::Standing;
use crate::wire::api::objects::SetupKey;

impl Doctor<'_> {
    pub(super) fn inventory(&mut self) {
        // what is wrong is said once
        let of_forge = ["gitea_url", "gitea_token", "gitea_repository"];
        let is_closed =
            |check: &&Check| check.failed() || self.run.is_of_fork() && check.ok.is_none();
        let mut closed = self.found.iter().filter(is_closed);
        if closed.any(|check| of_forge.contains(&check.name)) {
            return self.put_rest("inventory", "Gitea cannot be read");
        }
        if !self.run.file.is_file() {
            let why = format!("{} is missing", self.run.file_name());
            return self.put_rest("inventory", &why);
        }
        let place = InventoryPlace::find(self.run);
        match place.and_then(|place| Ok((place.read()?, place))) {
            Ok((found, place)) => {
                let copies = self.copies(&found.inventory, &place);
                let copies = copies.unwrap_or_else(|failure| open(failure.error));
                self.put("inventory_key_copies", copies);
                let (look, advice) = self.read_inventory(&found);
                self.put_advised("inventory", look, advice);
            }
            Err(failure) => {
                self.put("inventory", Err(failure.into()));
                self.put_rest("inventory", "the inventory cannot be read");
            }
        }
    }

    /// What is said of the inventory, and what to do although it is not wrong.
    fn read_inventory(&self, found: &FoundInventory) -> (Look, Option<String>) {
        let Inventory { account, file, .. } = &found.inventory;
        let said: Vec<String> = found.notices.iter().map(Notice::words).collect();
        if found.standing != Standing::Read {
            // the sentences behind the first say what to do
            let said = said.join(" ");
            return match said.split_once(". ") {
                Some((text, advice)) => (open(text), Some(advice.to_owned())),
                None => (open(said), None),
            };
        }
        if let Some(own) = self.account.as_ref().filter(|own| *own != account) {
            let text =
                format!("it is of account {account}, and the token of NetBird is of account {own}");
            let hint = "name the environment of this account with --environment";
            return (wrong(text, hint), None);
        }
        let number = |wanted| {
            let recorded = found.inventory.recorded();
            recorded.filter(|(.., origin)| *origin == wanted).count()
        };
        let applied = match &found.inventory.applied_commit {
            Some(commit) => format!("commit {} was applied last", short_commit(commit)),
            None => "no commit was applied yet".to_owned(),
        };
        let created = number(RecordedAs::Created);
        let created = count(created, "object created", "objects created");
        let adopted = number(RecordedAs::Adopted);
        let first =
            format!("of account {account} and {file}: {created}, {adopted} adopted; {applied}");
        (Ok([&[first][..], &said].concat().join("; ")), None)
    }

    /// Compares the copies with the keys that a run made and that wait for their machines.
    fn copies(&self, inventory: &Inventory, place: &InventoryPlace) -> Result<Look, Failure> {
        let not_made = |why| Ok(not_made(why));
        if !place.copies(None)? {
            return not_made("no copies of sealed keys are kept");
        }
        if !place.lists_copies() {
            return not_made("without a token the copies cannot be listed");
        }
        let created = inventory.recorded().filter_map(|(key, id, origin)| {
            let name = key.strip_prefix("setup_keys/")?;
            (origin == RecordedAs::Created).then_some((name, id))
        });
        let mut created: Vec<(&str, &Id)> = created.collect();
        if created.is_empty() {
            return not_made("no run created a key");
        }
        let Some(api) = &self.api else {
            return not_made("NetBird does not say which keys wait");
        };
        let keys = api.list(Kind::SetupKey.path())?;
        let keys = keys.iter().filter_map(|key| key.read::<SetupKey>().ok());
        let waiting = keys.filter(|key| key.valid && key.used_times == 0);
        let waiting: Vec<Id> = waiting.map(|key| key.id).collect();
        created.retain(|(_, id)| waiting.contains(id));
        let number = count(created.len(), "key", "keys");
        let kept = place.with_copy(created.clone())?;
        created.retain(|key| !kept.contains(key));
        Ok(match created.is_empty() {
            true => Ok(format!("{number} to be used, each with a copy")),
            false => {
                let names = joined(created.iter().map(|(name, _)| name), ", ");
                let hint =
                    "if the sealed key is lost, replace the setup key: --replace setup_keys/NAME";
                wrong(
                    format!("beside the inventory there is no copy of setup key {names}"),
                    hint,
                )
            }
        })
    }
}
