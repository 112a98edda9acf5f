//! `adopt`: live objects become entries of the file, which keeps its formatting.

use std::path::Path;

use super::session::{check, unreadable};
use super::settings::{connect, file, replaced};
use super::stop::Stop;
use super::{print, report_stop};
use crate::actual::Actual;
use crate::cli::{AdoptArgs, Cli, Format};
use crate::config::{self, Source};
use crate::desired::Desired;
use crate::edit;
use crate::exit::Exit;
use crate::export::{Export, export};
use crate::fetch::{More, Needs, complete, fetch};
use crate::logging::Say;
use crate::state::Address;
use crate::text::{count, visible};

pub(super) fn run(cli: &Cli, args: &AdoptArgs, say: Say) -> Exit {
    match make(cli, args, say) {
        Ok(()) => Exit::Done,
        Err(stop) => report_stop(say, stop),
    }
}

fn make(cli: &Cli, args: &AdoptArgs, say: Say) -> Result<(), Stop> {
    let path = file(&cli.global);
    let source = config::load(&path)?;
    let valid = check(&source)?;
    let names = args
        .names
        .iter()
        .map(|name| replaced(name))
        .collect::<Result<Vec<_>, _>>()?;
    let api = connect(&args.server, false)?;
    let mut snapshot = fetch(&api, &Needs::everything(), &Desired::default())?;
    complete(
        &api,
        More {
            referrers: false,
            events: true,
        },
        &mut snapshot,
    )?;
    let actual = Actual::read(&snapshot).map_err(unreadable)?;
    let export = export(&actual);
    if args.candidates {
        print(&candidates(&export, &valid.desired, cli.global.format));
        return Ok(());
    }
    let mut text = source.text().as_bytes().to_vec();
    let mut problems = Vec::new();
    let mut adopted = Vec::new();
    for address in names {
        match adopt(&text, &address, &export, &actual, &valid.desired) {
            Ok(Some(changed)) => {
                text = changed;
                adopted.push(address);
            }
            Ok(None) => say.note(&visible(&format!(
                "{address} is declared already, and equal"
            ))),
            Err(problem) => problems.push(visible(&problem).into_owned()),
        }
    }
    if !problems.is_empty() {
        return Err(Stop::error(format!(
            "{}\nnothing was written",
            problems.join("\n")
        )));
    }
    if adopted.is_empty() {
        return Ok(());
    }
    let changed = Source::from_bytes(source.name(), text.clone())?;
    check(&changed).map_err(|stop| Stop {
        error: format!(
            "with the new entries the file would not be valid; nothing was written\n{}",
            stop.error
        ),
        ..stop
    })?;
    write(&path, &text)?;
    let names: Vec<String> = adopted.iter().map(Address::to_string).collect();
    print(&visible(&format!(
        "{} now declares {}.",
        path.display(),
        names.join(", ")
    )));
    print("\n");
    Ok(())
}

/// Returns the text with the entry, `None` where it is there and equal, or why not.
fn adopt(
    text: &[u8],
    address: &Address,
    export: &Export,
    actual: &Actual,
    desired: &Desired,
) -> Result<Option<Vec<u8>>, String> {
    let Some(entry) = export.entries.get(address) else {
        let why = export.left_out.iter().find(|(left, _)| left == address);
        return Err(match why {
            Some((_, why)) => format!("{address} cannot be declared: {why}"),
            None => {
                let names = actual.objects.keys().filter(|at| at.kind == address.kind);
                let hint = config::did_you_mean(&address.name, names.map(|at| at.name.as_str()));
                let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                format!("{address} is not in NetBird{hint}")
            }
        });
    };
    if !desired.declares(address) {
        return edit::insert_entry(text, address, entry)
            .map(Some)
            .map_err(|error| error.to_string());
    }
    let declared = declared(text, address);
    let both = |field: &String| {
        let (ours, theirs) = (declared.get(field), entry.get(field));
        (ours.is_some() && ours != theirs).then(|| {
            let show = |value: Option<&serde_json::Value>| {
                value.map_or("nothing".into(), ToString::to_string)
            };
            format!(
                "\n  {field}: {} in the file, {} in NetBird",
                show(ours),
                show(theirs)
            )
        })
    };
    let fields = declared
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::keys);
    let differences: Vec<String> = fields.filter_map(both).collect();
    match differences.is_empty() {
        true => Ok(None),
        false => Err(format!(
            "{address} is declared already, and otherwise:{}",
            differences.concat()
        )),
    }
}

fn declared(text: &[u8], address: &Address) -> serde_json::Value {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let file: serde_json::Value = serde_json::from_slice(text).unwrap_or_default();
    let section = match address.kind {
        crate::state::Kind::NameserverGroup => &file["dns"]["nameserver_groups"],
        kind => &file[kind.section()],
    };
    section[&address.name].clone()
}

fn candidates(export: &Export, desired: &Desired, format: Format) -> String {
    let new = export
        .entries
        .iter()
        .filter(|(address, _)| !desired.declares(address));
    if format == Format::Json {
        let entries: Vec<_> = new
            .map(|(address, entry)| {
                serde_json::json!({ "kind": address.kind.section(), "name": address.name, "entry": entry })
            })
            .collect();
        return format!(
            "{:#}\n",
            serde_json::json!({ "format_version": 1, "candidates": entries })
        );
    }
    let lines: Vec<String> = new
        .map(|(address, _)| format!("{}/{}\n", address.kind.section(), visible(&address.name)))
        .collect();
    let left = export
        .left_out
        .iter()
        .filter(|(address, _)| !desired.declares(address));
    let left: Vec<String> = left
        .map(|(address, why)| format!("  {}: {why}\n", visible(&address.to_string())))
        .collect();
    let mut text = match lines.len() {
        0 => "Everything that can be declared is declared.\n".to_owned(),
        number => format!(
            "{} to adopt:\n{}",
            count(number, "object", "objects"),
            lines.concat()
        ),
    };
    if !left.is_empty() {
        text.push_str(&format!("Cannot be declared:\n{}", left.concat()));
    }
    text
}

fn write(path: &Path, text: &[u8]) -> Result<(), Stop> {
    let target = std::fs::canonicalize(path)
        .map_err(|error| Stop::error(format!("cannot write {}: {error}", path.display())))?;
    Ok(edit::replace(&target, text)?)
}
