//! `adopt`: live objects become entries of the file, which keeps its formatting.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::export::{account, read};
use super::failure::Failure;
use super::history::committed_in_place;
use super::inventory::{InventoryPlace, InventoryWanted, Others};
use super::session::check;
use super::settings::{Run, readable, replaced};
use super::{Ending, end};
use crate::account::actual::Actual;
use crate::base::code::Code;
use crate::base::text::{count, did_you_mean, visible};
use crate::check::edit;
use crate::check::validate::validate;
use crate::commands::cli::{AdoptArgs, GiteaArgs, InventoryArgs};
use crate::commands::exit::Exit;
use crate::commands::export::entries::{Export, export};
use crate::commands::logging::Say;
use crate::file::{self, Source};
use crate::inventory::{Inventory, Origin};
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::{self, ALL, FieldChange, Kind, Resource};

pub(super) fn run(run: &Run, args: &AdoptArgs) -> Exit {
    let say = run.say;
    let ending = make(run, args, say);
    let ending =
        ending.unwrap_or_else(|failure| Ending::stopped(failure, json!({ "adopted": [] })));
    let changed = ending.changed;
    let exit = end(run, ending);
    if changed {
        say.note("nothing else was changed: look at the file's diff, run plan, and commit it");
    }
    exit
}

fn make(run: &Run, args: &AdoptArgs, say: Say) -> Result<Ending, Failure> {
    readable()?;
    let path = &run.file;
    let source = file::load(path)?;
    committed_in_place(path)?;
    let desired = begun(&source)?;
    let mut names = args
        .names
        .iter()
        .map(|name| {
            let more = "netbird-gitops adopt --candidates lists what there is";
            replaced(name).map_err(|failure| failure.aside(Some(more.into())))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut named_before = BTreeSet::new();
    names.retain(|address| named_before.insert(address.clone()));
    let actual = read(&account(&args.server, false)?, say)?;
    let export = export(&actual);
    if args.candidates {
        let recorded = recorded(run, (&args.inventory, &args.gitea), &actual);
        return Ok(candidates(&export, &desired, &actual, &recorded));
    }
    let theirs = match export.entries.is_empty() {
        true => Arc::default(),
        false => check(&Source::from_text("NetBird", export.file().to_string())?)?.desired,
    };
    let mut text = source.clone();
    let mut problems = Vec::new();
    let mut adopted = Vec::new();
    for address in names {
        match adopt(&text, &address, &export, &actual, (&desired, &theirs)) {
            Ok(Some(changed)) => {
                text = Source::from_bytes(source.name(), changed)?;
                adopted.push(address);
            }
            Ok(None) => say.note(&visible(&format!(
                "{address} is declared already, and equal"
            ))),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(Failure::error(format!(
            "{}\nnothing was written",
            problems.join("\n")
        )));
    }
    if !adopted.is_empty() {
        write_entries(path, &text)?;
    }
    let names: Vec<String> = adopted.iter().map(Address::to_string).collect();
    let said = format!("{} now declares {}.", path.display(), names.join(", "));
    let text = match names.is_empty() {
        true => String::new(),
        false => format!("{}\n", visible(&said)),
    };
    let named = |at: &Address| json!({ "kind": at.kind.section(), "name": at.name });
    let adopted: Vec<Value> = adopted.iter().map(named).collect();
    Ok(Ending {
        changed: !adopted.is_empty(),
        ..Ending::answer(json!({ "format_version": 1, "adopted": adopted }), text)
    })
}

/// Returns what the file declares. One that manages nothing yet is where adopting begins, though no plan can be made of it.
fn begun(source: &Source) -> Result<Arc<Desired>, Failure> {
    match validate(source) {
        Ok(valid) => Ok(valid.desired),
        Err(problems) => {
            let mut errors = problems.errors();
            match errors.all(|problem| problem.code == Code::NothingManaged) {
                true => Ok(Arc::default()),
                false => Err(Failure::from(&problems)),
            }
        }
    }
}

/// Writes the file with the new entries, if it is valid.
fn write_entries(path: &Path, changed: &Source) -> Result<(), Failure> {
    check(changed).map_err(|failure| Failure {
        error: format!(
            "with the new entries the file would not be valid; nothing was written\n{}",
            failure.error
        ),
        ..failure
    })?;
    write(path, changed.text().as_bytes())
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
            None if address.kind == Kind::Group && address.name == ALL => {
                format!(
                    "{name} cannot be declared: it is NetBird's own, and can be referred to as it is"
                )
            }
            None => {
                let names = actual.objects.keys().filter(|at| at.kind == address.kind);
                let hint = did_you_mean(&address.name, names.map(|at| at.name.as_str()));
                let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                format!("{name} is not in NetBird{hint}")
            }
        });
    };
    if !desired.declares(address) {
        return edit::insert_entry(text, address, entry)
            .map(Some)
            .map_err(|problem| problem.render(text.name()));
    }
    let differences: Vec<String> = differences(address, desired, theirs)
        .iter()
        .map(|change| {
            let show = |value: &Value| match value {
                Value::Null => "nothing".into(),
                value => visible(&value.to_string()).into_owned(),
            };
            let (field, ours, theirs) = (&change.field, &change.after, &change.before);
            format!(
                "\n  {field}: {} in the file, {} in NetBird",
                show(ours),
                show(theirs)
            )
        })
        .collect();
    match differences.is_empty() {
        true => Ok(None),
        false => Err(format!(
            "{name} is declared already, and otherwise:{}",
            differences.concat()
        )),
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
    let both = (ours.resource(address), theirs.resource(address));
    let own: Vec<FieldChange> = match both {
        ([], _) | (_, []) => Vec::new(),
        ([Resource::Group(ours)], [Resource::Group(theirs)]) => {
            let peers = differ("peers", json!(ours.listed), json!(theirs.listed));
            let is_ours = ours.listed.is_some();
            is_ours.then_some(peers).into_iter().collect()
        }
        ([Resource::SetupKey(ours)], [Resource::SetupKey(theirs)]) => {
            let mut fields = kind::differences(&ours.clone().into(), &theirs.clone().into());
            let (ours, theirs) = (json!(ours.enrolled), json!(theirs.enrolled));
            fields.push(differ("enrolled", ours, theirs));
            fields
        }
        (ours, theirs) if ours.len() != theirs.len() => {
            let number =
                |all: &[Resource]| count(all.len(), address.kind.label(), address.kind.plural());
            vec![differ("it", json!(number(ours)), json!(number(theirs)))]
        }
        (ours, theirs) => {
            let sorted = |all: &[Resource]| {
                let mut all = all.to_vec();
                all.sort_by_key(|one| one.connects().to_string()); // stable
                all
            };
            let (ours, theirs) = (sorted(ours), sorted(theirs));
            let both = ours.iter().zip(&theirs);
            both.flat_map(|(ours, theirs)| kind::differences(ours, theirs))
                .collect()
        }
    };
    let all = own.into_iter().chain(inside);
    all.filter(|one| one.before != one.after).collect()
}

/// What inventories have of the account.
#[derive(Default)]
pub(super) struct Inventories {
    pub(super) own: Inventory,
    others: Others,
}

/// Reads the inventories. One that cannot be read is no reason to list nothing.
pub(super) fn recorded(
    run: &Run,
    (inventory, gitea): (&InventoryArgs, &GiteaArgs),
    actual: &Actual,
) -> Inventories {
    let read = || -> Result<Inventories, Failure> {
        let place = InventoryPlace::find(&InventoryWanted {
            run,
            inventory,
            key_copies: None,
            gitea,
            writes: false,
            is_wanted: true,
        })?;
        let found = place.read()?;
        place.of_account(&found, actual)?;
        let account = actual.named(Kind::AccountSettings, "").first();
        let others = match account {
            Some(account) => place.others(&account.id.0)?,
            None => Others::default(),
        };
        Ok(Inventories {
            own: found.inventory,
            others,
        })
    };
    read().unwrap_or_else(|failure| {
        run.say
            .note(&format!("the inventory was not read: {}", failure.error));
        Inventories::default()
    })
}

impl Inventories {
    /// Returns what inventories say of the objects of an address, in words.
    fn says(&self, address: &Address, actual: &Actual) -> Option<String> {
        let mut objects = actual.at(address).iter();
        objects.find_map(|live| {
            let other = self.others.strange.get(&live.id);
            other.map_or_else(
                || match self.own.origin(&live.id)? {
                    Origin::Created => {
                        Some("created by this file, so the next apply deletes it".into())
                    }
                    Origin::Adopted => {
                        Some("adopted by this file, so the next apply lets it go".into())
                    }
                },
                |file| Some(format!("managed by {file}")),
            )
        })
    }
}

fn candidates(
    export: &Export,
    desired: &Desired,
    actual: &Actual,
    recorded: &Inventories,
) -> Ending {
    let is_new = |address: &Address| !desired.declares(address);
    let (mut entries, mut lines) = (Vec::new(), String::new());
    for (address, entry) in export.entries.iter().filter(|(at, _)| is_new(at)) {
        let says = recorded.says(address, actual);
        entries.push(
            json!({ "kind": address.kind.section(), "name": address.name, "entry": entry,
                             "recorded": says }),
        );
        let says = says.map(|says| format!("  ({says})")).unwrap_or_default();
        lines.push_str(&format!(
            "{}\n",
            visible(&format!("{}{says}", address.path()))
        ));
    }
    let (mut left, mut left_lines) = (Vec::new(), String::new());
    for (address, why) in export.left_out.iter().filter(|(at, _)| is_new(at)) {
        left.push(json!({ "kind": address.kind.section(), "name": address.name, "reason": why }));
        left_lines.push_str(&format!("  {}: {why}\n", visible(&address.to_string())));
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

fn write(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let target = std::fs::canonicalize(path);
    let written = target.and_then(|target| edit::replace(&target, text));
    written.map_err(|error| Failure::of_file("write", path, &error))
}
