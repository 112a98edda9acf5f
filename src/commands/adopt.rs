//! `adopt`: live objects become entries of the file, which keeps its formatting.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::export::{read, whole};
use super::failure::Failure;
use super::history::committed_in_place;
use super::inventory::{InventoryPlace, InventoryWanted, Others};
use super::session::check;
use super::settings::{Run, connect, readable, replaced, setting};
use super::{Ending, end_with};
use crate::account::actual::Actual;
use crate::base::code::Code;
use crate::base::files;
use crate::base::text::{count, did_you_mean, visible};
use crate::check::edit;
use crate::check::validate::validate;
use crate::commands::cli::{AdoptArgs, Servers};
use crate::commands::exit::Exit;
use crate::commands::export::entries::{Export, export};
use crate::file::{self, Finding, Source};
use crate::git::Git;
use crate::inventory::{Inventory, RecordedAs};
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::{self, ALL, FieldChange, Kind, Resource};

pub(super) fn run(run: &Run, args: &AdoptArgs) -> Exit {
    let made = make(run, args);
    let changed = made.as_ref().is_ok_and(|ending| ending.changed);
    let exit = end_with(run, made, json!({ "adopted": [] }));
    if changed {
        let text = "nothing else was changed: look at the file's diff, run plan, and commit it";
        run.say.note(text);
    }
    exit
}

fn make(run: &Run, args: &AdoptArgs) -> Result<Ending, Failure> {
    readable()?;
    let path = &run.file;
    let source = file::load(path)?;
    // with an inventory in a file nothing of git is needed
    if setting(args.servers.inventory.inventory.as_ref()).is_none() || Git::around(path).is_ok() {
        committed_in_place(path)?;
    }
    let desired = begun(&source)?;
    let mut names: Vec<Address> = Vec::new();
    for name in &args.names {
        let more = "netbird-gitops adopt --candidates lists what there is";
        let address = replaced(name).map_err(|failure| failure.aside(Some(more.into())))?;
        if !names.contains(&address) {
            names.push(address);
        }
    }
    let snapshot = whole(&connect(&args.servers.server, false)?, false)?;
    let actual = read(&snapshot, run.say)?;
    let export = export(&actual);
    if args.candidates {
        let recorded = recorded(run, &args.servers, &actual);
        return Ok(candidates(&export, &desired, &actual, &recorded));
    }
    let theirs = begun(&Source::from_text("NetBird", export.file().to_string())?)?;
    let mut text = source.clone();
    let (mut problems, mut adopted) = (Vec::new(), Vec::new());
    for address in names {
        match adopt(&text, &address, &export, &actual, (&desired, &theirs)) {
            Ok(Some(changed)) => {
                text = Source::from_bytes(source.name(), changed)?;
                adopted.push(address);
            }
            Ok(None) => run.say.note(&visible(&format!(
                "{address} is declared already, and equal"
            ))),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        let text = format!("{}\nnothing was written", problems.join("\n"));
        return Err(Failure::error(text));
    }
    let json = |at: &Address| json!({ "kind": at.kind.section(), "name": at.name });
    let json: Vec<Value> = adopted.iter().map(json).collect();
    let json = json!({ "format_version": 1, "adopted": json });
    if adopted.is_empty() {
        return Ok(Ending::answer(json, String::new()));
    }
    write_entries(path, &text)?;
    let names: Vec<String> = adopted.iter().map(Address::to_string).collect();
    let said = format!("{} now declares {}.", path.display(), names.join(", "));
    Ok(Ending {
        changed: true,
        ..Ending::answer(json, format!("{}\n", visible(&said)))
    })
}

/// Returns what the file declares. One that manages nothing yet is where adopting begins, though no plan can be made of it.
fn begun(source: &Source) -> Result<Arc<Desired>, Failure> {
    let problems = match validate(source) {
        Ok(valid) => return Ok(valid.desired),
        Err(problems) => problems,
    };
    let is_begun = |problem: &Finding| problem.code == Code::NothingManaged;
    match problems.errors().all(is_begun) {
        true => Ok(Arc::default()),
        false => Err(Failure::from(&problems)),
    }
}

/// Writes the file with the new entries, if it is valid.
fn write_entries(path: &Path, changed: &Source) -> Result<(), Failure> {
    let what = "with the new entries the file would not be valid; nothing was written";
    check(changed).map_err(|failure| Failure {
        error: format!("{what}\n{}", failure.error),
        ..failure
    })?;
    let target = std::fs::canonicalize(path);
    let written = target.and_then(|target| files::put(&target, changed.text().as_bytes(), false));
    written.map_err(|error| Failure::of_file("write", path, &error))
}

/// Returns the text with the entry, `None` where it is there and equal, or why not.
fn adopt(
    text: &Source,
    address: &Address,
    export: &Export,
    actual: &Actual,
    (desired, theirs): (&Desired, &Desired),
) -> Result<Option<Vec<u8>>, String> {
    let name = visible(&address.to_string()).into_owned();
    let Some(entry) = export.entries.get(address) else {
        let why = export.left_out.iter().find(|(left, _)| left == address);
        return Err(match why {
            Some((_, why)) => format!("{name} cannot be declared: {}", visible(why)),
            None if address.kind == Kind::Group && address.name == ALL => format!(
                "{name} cannot be declared: it is NetBird's own, and can be referred to as it is"
            ),
            None => {
                let names = actual.objects.keys().filter(|at| at.kind == address.kind);
                let hint = did_you_mean(&address.name, names.map(|at| at.name.as_str()));
                let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                format!("{name} is not in NetBird{hint}")
            }
        });
    };
    if !desired.declares(address) {
        let changed = edit::insert_entry(text, address, entry);
        return match changed {
            Ok(changed) => Ok(Some(changed)),
            Err(problem) => Err(problem.render(text.name())),
        };
    }
    let show = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        value => visible(&value.to_string()).into_owned(),
    };
    let line = |change: FieldChange| {
        let (ours, theirs) = (show(&change.after), show(&change.before));
        format!(
            "\n  {}: {ours} in the file, {theirs} in NetBird",
            change.field
        )
    };
    let lines = differences(address, desired, theirs).into_iter().map(line);
    match lines.collect::<String>() {
        lines if lines.is_empty() => Ok(None),
        lines => Err(format!("{name} is declared already, and otherwise:{lines}")),
    }
}

/// What the file says of an entry and NetBird has otherwise (`after` is the file's); what the file does not say is none.
fn differences(address: &Address, ours: &Desired, theirs: &Desired) -> Vec<FieldChange> {
    let differ = |field: &str, ours: Value, theirs: Value| FieldChange {
        field: field.into(),
        before: theirs,
        after: ours,
    };
    let inside = address.kind.children().filter_map(|kind| {
        let of = |desired: &Desired| -> Vec<Value> {
            let all = desired.resources();
            let all =
                all.filter(|(at, _)| at.kind == kind && at.parent().as_ref() == Some(address));
            let fields = all
                .flat_map(|(_, all)| all)
                .map(|one| Value::Object(one.fields()));
            fields.collect()
        };
        let is_ours = ours.manages_in(kind, Some(&address.name));
        is_ours.then(|| differ(kind.section(), of(ours).into(), of(theirs).into()))
    });
    let sorted = |desired: &Desired| {
        let mut all = desired.resource(address).to_vec();
        all.sort_by_key(|one| one.connects().to_string()); // stable
        all
    };
    let (own, live) = (sorted(ours), sorted(theirs));
    let number = |all: &[Resource]| {
        json!(count(
            all.len(),
            address.kind.label(),
            address.kind.plural()
        ))
    };
    let is_other_number = own.len() != live.len() && !own.is_empty() && !live.is_empty();
    let own: Vec<FieldChange> = match is_other_number {
        true => vec![differ("it", number(&own), number(&live))],
        false => {
            let both = own.iter().zip(&live);
            let differences = both.flat_map(|(own, live)| {
                let [own_list, live_list] = [own, live].map(of_the_file);
                let differences = kind::differences(own, live).into_iter();
                differences.chain([differ(own_list.0, own_list.1, live_list.1)])
            });
            differences.collect()
        }
    };
    let all = own.into_iter().chain(inside);
    all.filter(|one| !one.after.is_null() && one.before != one.after)
        .collect()
}

/// What a file says of an object beside the fields that the server has, by its name.
fn of_the_file(one: &Resource) -> (&'static str, Value) {
    match one {
        Resource::Group(group) => ("peers", json!(group.listed)),
        Resource::SetupKey(key) => ("enrolled", json!(key.enrolled)),
        _ => ("", Value::Null),
    }
}

/// What inventories have of the account.
#[derive(Default)]
pub(super) struct Inventories {
    pub(super) own: Inventory,
    others: Others,
}

/// Reads the inventories. One that cannot be read is no reason to list nothing.
pub(super) fn recorded(run: &Run, servers: &Servers, actual: &Actual) -> Inventories {
    let read = || -> Result<Inventories, Failure> {
        let wanted = InventoryWanted::by(run, &servers.inventory, &servers.gitea);
        let place = InventoryPlace::find(&wanted)?;
        let found = place.read()?;
        place.of_account(&found.inventory, actual)?;
        let account = actual.named(Kind::AccountSettings, "").first();
        let others = account.map(|account| place.others(&account.id.0));
        Ok(Inventories {
            own: found.inventory,
            others: others.transpose()?.unwrap_or_default(),
        })
    };
    read().unwrap_or_else(|failure| {
        let text = format!("the inventory was not read: {}", failure.error);
        run.say.note(&text);
        Inventories::default()
    })
}

impl Inventories {
    /// Returns what inventories say of the objects of an address, in words.
    fn says(&self, address: &Address, actual: &Actual) -> Option<String> {
        let says = |id| match (self.others.strange.get(id), self.own.origin(id)) {
            (Some(file), _) => Some(format!("managed by {file}")),
            (None, Some(RecordedAs::Created)) => {
                Some("created by this file, so the next apply deletes it".into())
            }
            (None, Some(RecordedAs::Adopted)) => {
                Some("adopted by this file, so the next apply lets it go".into())
            }
            (None, None) => None,
        };
        actual.at(address).iter().find_map(|live| says(&live.id))
    }
}

fn candidates(
    export: &Export,
    desired: &Desired,
    actual: &Actual,
    recorded: &Inventories,
) -> Ending {
    let (mut entries, mut left) = (Vec::new(), Vec::new());
    let (mut lines, mut left_lines) = (String::new(), String::new());
    for (address, entry) in &export.entries {
        if desired.declares(address) || address.kind == Kind::User {
            continue;
        }
        let (kind, says) = (address.kind.section(), recorded.says(address, actual));
        let shown = says.as_ref().map(|says| format!("  ({says})"));
        let shown = format!("{}{}", address.path(), shown.unwrap_or_default());
        lines.push_str(&format!("{}\n", visible(&shown)));
        entries
            .push(json!({ "kind": kind, "name": address.name, "entry": entry, "recorded": says }));
    }
    for (address, why) in &export.left_out {
        if desired.declares(address) || address.kind == Kind::User {
            continue;
        }
        left_lines.push_str(&format!("  {}: {why}\n", visible(&address.to_string())));
        left.push(json!({ "kind": address.kind.section(), "name": address.name, "reason": why }));
    }
    let mut text = match entries.len() {
        0 => "Everything that can be declared is declared.\n".to_owned(),
        number => format!("{} to adopt:\n{lines}", count(number, "object", "objects")),
    };
    if !left.is_empty() {
        text.push_str(&format!("Cannot be declared:\n{left_lines}"));
    }
    let found = json!({ "format_version": 1, "candidates": entries, "left_out": left });
    Ending::answer(found, text)
}
