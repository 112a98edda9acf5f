//! `adopt`: live objects become entries of the file, which keeps its formatting.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::cli::AdoptArgs;
use super::export::entries::{Export, export};
use super::export::{read, whole};
use super::history::committed_in_place;
use super::inventory::Others;
use super::settings::replaced;
use super::{Ending, Failure, InventoryPlace, Result, Run, connect, readable};
use crate::account::Actual;
use crate::base::{Code, Id, count, did_you_mean, files, joined, visible};
use crate::check::edit;
use crate::check::validate::validate;
use crate::file::{self, Finding, Source};
use crate::git::Git;
use crate::inventory::{Inventory, RecordedAs};
use crate::model::{ALL, Address, Desired, Kind, address};

pub(super) fn run(run: &Run, args: &AdoptArgs) -> Result<Ending> {
    readable()?;
    let path = &run.file;
    let source = file::load(path)?;
    // with an inventory in a file nothing of git is needed
    if run.inventory().is_none() || Git::around(path).is_ok() {
        committed_in_place(path)?;
    }
    let desired = begun(&source)?;
    let more = "netbird-gitops adopt --candidates lists what can be adopted, and what an entry that is declared lacks";
    let names = args.names.iter().map(|name| replaced(name));
    let names: BTreeSet<Address> = names
        .collect::<Result<_>>()
        .map_err(|failure| failure.aside(Some(more.to_owned())))?;
    let api = connect(run)?;
    let actual = read(Some(&api), &whole(&api, false)?, run.say)?;
    if args.candidates {
        return Ok(candidates(run, &desired, &actual));
    }
    let export = export(&actual);
    let mut text = source.clone();
    let (mut problems, mut adopted) = (Vec::new(), Vec::new());
    for address in names {
        if desired.declares(&address) {
            let note = format!(
                "{address} is declared already: a plan shows whether NetBird differs from the file"
            );
            run.say.note(&visible(&note));
            continue;
        }
        match adopt(&text, &address, &export, &actual) {
            Ok(changed) => {
                text = Source::from_bytes(source.name(), changed)?;
                adopted.push(address);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        let text = format!("{}\nnothing was written", problems.join("\n"));
        return Err(Failure::error(text).hint(more));
    }
    let json = |at: &Address| json!({ "kind": at.kind.in_path(), "name": at.name });
    let json: Vec<Value> = adopted.iter().map(json).collect();
    let json = json!({ "format_version": 1, "adopted": json });
    if adopted.is_empty() {
        return Ok(Ending::answer(json, String::new()));
    }
    write_entries(path, &text)?;
    let (file, names) = (path.display(), joined(&adopted, ", "));
    let said = visible(&format!("{file} now declares {names}.")).into_owned();
    let mut next =
        "Nothing else was changed: look at the file's diff, run plan, and commit it.".to_owned();
    let unused = adopted.iter().filter_map(|at| {
        let id = &actual.at(at).first()?.id;
        let key = actual.keys.get(id)?;
        (key.valid && at.kind == Kind::SetupKey).then(|| (at.key(), &*id.0))
    });
    let unused: Vec<(String, &str)> = unused.collect();
    if !unused.is_empty() {
        next += "\nWith an inventory, an apply adopts no valid setup key by its name: it creates another one. To adopt this one, run ";
        next += &format!("{}.", address::adopt(unused));
    }
    let mut ending = Ending::answer(json, format!("{said}\n{next}\n"));
    ending.changed = true;
    Ok(ending)
}

/// Returns what the file declares. One that manages nothing yet is where adopting begins, though no plan can be made of it.
fn begun(source: &Source) -> Result<Arc<Desired>> {
    let is_begun = |problem: &Finding| problem.code == Code::NothingManaged;
    match validate(source) {
        Err(problems) if problems.errors().all(is_begun) => Ok(Arc::default()),
        valid => Ok(valid?.desired),
    }
}

/// Writes the file with the new entries, if it is valid.
fn write_entries(path: &Path, changed: &Source) -> Result<()> {
    let what = "with the new entries the file would not be valid; nothing was written\n";
    if let Err(problems) = validate(changed) {
        let mut failure = Failure::from(problems);
        failure.error.insert_str(0, what);
        return Err(failure);
    }
    let target = std::fs::canonicalize(path);
    let written = target.and_then(|target| files::put(&target, changed.text().as_bytes(), false));
    written.map_err(|error| Failure::of_file("write", path, &error))
}

/// Returns the text with the entry, or why it cannot have it.
fn adopt(text: &Source, at: &Address, export: &Export, actual: &Actual) -> Result<Vec<u8>, String> {
    if let Some(entry) = export.entries.get(at) {
        let changed = edit::insert_entry(text, at, entry);
        return changed.map_err(|problem| problem.render(text.name()));
    }
    let name = visible(&at.to_string()).into_owned();
    let mut left_out = export.left_out.iter();
    Err(match left_out.find(|(left, _)| left == at) {
        Some((_, why)) => format!("{name} cannot be declared: {}", visible(why)),
        None if at.kind == Kind::Group && at.name == ALL => {
            format!("{name} cannot be declared: it is NetBird's own, and entries can refer to it")
        }
        None if at.kind.is_one()
            || at.kind == Kind::Peer && actual.peers_named(&at.name).next().is_some() =>
        {
            let usual = "all of it is as NetBird makes it, so an entry has nothing to say";
            format!("{name} is not adopted: {usual}")
        }
        None => {
            let names = actual.objects.keys().filter(|other| other.kind == at.kind);
            let hint = did_you_mean(&at.name, names.map(|other| other.name.as_str()));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("{name} is not in NetBird{hint}")
        }
    })
}

/// Reads the inventory, and what others have of the account. One that cannot be read is no reason to list nothing.
pub(super) fn recorded(run: &Run, actual: &Actual) -> (Inventory, Others) {
    let read = || -> Result<(Inventory, Others)> {
        let place = InventoryPlace::find(run)?;
        let found = place.read()?;
        place.of_account(&found.inventory, actual)?;
        let account = actual.named(Kind::AccountSettings, "").first();
        let others = account.map(|account| place.others(&account.id.0));
        Ok((found.inventory, others.transpose()?.unwrap_or_default()))
    };
    read().unwrap_or_else(|failure| {
        let text = format!("the inventory was not read: {}", failure.error);
        run.say.note(&text);
        Default::default()
    })
}

fn candidates(run: &Run, desired: &Desired, actual: &Actual) -> Ending {
    let mut export = export(actual);
    export.forget_people();
    let (own, others) = recorded(run, actual);
    let says = |id: &Id| {
        if let Some(file) = others.strange.get(id) {
            return Some(format!("managed by {file:?}"));
        }
        Some(match own.origin(id)? {
            RecordedAs::Created => "created by this file, so the next apply deletes it".to_owned(),
            RecordedAs::Adopted => "adopted by this file, so the next apply lets it go".to_owned(),
        })
    };
    let (mut entries, mut left) = (Vec::new(), Vec::new());
    let (mut lines, mut left_lines) = (String::new(), String::new());
    let behind = |says: &Option<String>| says.iter().map(|says| format!("  ({says})")).collect();
    let is_open = |address: &Address| !desired.declares(address);
    for (at, entry) in export.entries.iter().filter(|(at, _)| is_open(at)) {
        let kind = at.kind.in_path();
        let says = actual.at(at).iter().find_map(|live| says(&live.id));
        let behind: String = behind(&says);
        lines.push_str(&format!("{}\n", visible(&(at.path() + &behind))));
        entries.push(json!({ "kind": kind, "name": at.name, "entry": entry, "recorded": says }));
    }
    let (mut inside, mut inside_lines) = (Vec::new(), String::new());
    for (at, id, entry) in export.inside.iter().filter(|(at, ..)| is_open(at)) {
        let Some(parent) = at.parent().filter(|parent| desired.declares(parent)) else {
            continue;
        };
        let (kind, says) = (at.kind.in_path(), says(id));
        let behind: String = behind(&says);
        let place = [&parent.path(), kind, &at.name].join(" ");
        let line = format!("  {}: {entry}{behind}", place.trim_end());
        inside_lines.push_str(&format!("{}\n", visible(&line)));
        inside.push(json!({ "kind": kind, "name": at.name, "within": parent.name, "entry": entry, "recorded": says }));
    }
    for (at, why) in export.left_out.iter().filter(|(at, _)| is_open(at)) {
        left_lines.push_str(&format!("  {}: {why}\n", visible(&at.to_string())));
        left.push(json!({ "kind": at.kind.in_path(), "name": at.name, "reason": why }));
    }
    let mut text = match entries.len() {
        0 => "Everything that can be declared is declared.\n".to_owned(),
        number => format!("{} to adopt:\n{lines}", count(number, "object", "objects")),
    };
    if !inside.is_empty() {
        text.push_str(&format!(
            "To be written into an entry that is declared:\n{inside_lines}"
        ));
    }
    if !left.is_empty() {
        text.push_str(&format!("Cannot be declared:\n{left_lines}"));
    }
    let found =
        json!({ "format_version": 1, "candidates": entries, "inside": inside, "left_out": left });
    Ending::answer(found, text)
}
