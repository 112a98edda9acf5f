//! `mark-enrolled`: the commit of `enrolled: true` alone, on the branch or in the file on disk.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::apply::early_gates;
use super::branch::refuse_other_branches;
use super::forge::Forge;
use super::settings::readable;
use super::{Ending, Exit, Failure, Result, Run, end, unreported};
use crate::base::files;
use crate::base::text::{did_you_mean, listed, quote, visible};
use crate::check::edit::{self, Edit};
use crate::commands::cli::MarkArgs;
use crate::file::MAX_BYTES;

pub(super) fn run(run: &Run, args: &MarkArgs) -> Exit {
    let ending = match make(run, args) {
        Ok((edit, text)) => {
            let ending = Ending {
                changed: !edit.flipped.is_empty(),
                ..Ending::answer(
                    json!({ "format_version": 1, "marked": edit.flipped, "already": edit.already,
                            "missing": edit.missing, "result": text }),
                    said(&edit, &text),
                )
            };
            match vanished(&edit, &run.file) {
                Some(failure) => ending.failed(failure),
                None => ending,
            }
        }
        Err(failure) => Ending::stopped(failure, json!({ "marked": [], "already": [] })),
    };
    end(run, ending)
}

/// Returns the failure of a run between whose check and whose commit somebody took keys out of the file.
fn vanished(edit: &Edit, file: &Path) -> Option<Failure> {
    if edit.missing.is_empty() {
        return None;
    }
    let names: Vec<String> = edit.missing.iter().map(|name| quote(name)).collect();
    let error = format!(
        "{} does not declare {} any more: somebody took it out while this command ran",
        file.display(),
        listed(&names)
    );
    Some(Failure {
        exit: unreported(Exit::Error, !edit.flipped.is_empty()),
        ..Failure::error(visible(&error))
    })
}

/// Returns what became of the names, and where.
fn make(run: &Run, args: &MarkArgs) -> Result<(Edit, String)> {
    let (path, context) = (&run.file, &run.context);
    if !args.local {
        early_gates("mark-enrolled", context)?;
        refuse_other_branches("mark-enrolled", run, &args.gitea)?;
    }
    readable()?;
    let mut names: BTreeSet<String> = args.names.iter().cloned().collect();
    if let Some(from) = &args.from {
        names.extend(read_names(from)?);
    }
    if names.is_empty() {
        // what an idle sync-events leaves is no failure of the pipeline behind it
        return Ok((Edit::default(), "no setup key is named".into()));
    }
    if args.local {
        // looked at first: one unknown name, and nothing is written
        let before = files::read(path, MAX_BYTES as u64)
            .map_err(|error| Failure::of_file("read", path, &error))?;
        look(&before, &names, &path.display().to_string())?;
        let edit = edit::mark_enrolled_file(path, &names)?;
        return Ok((edit, format!("{} written", path.display())));
    }
    let hint = "set GITEA_URL, GITEA_REPO and GITEA_TOKEN, or use --local to edit the file on disk";
    let forge = Forge::wanted(run, &args.gitea, hint)?;
    let source = forge.source()?;
    look(source.text().as_bytes(), &names, source.name())?;
    let marked = forge.mark(&names, args.via_pr, &run.environment)?;
    Ok((marked.edit, marked.text))
}

/// Checks before anything is written that the file is valid, that it has each name, and that each can be marked.
fn look(text: &[u8], names: &BTreeSet<String>, place: &str) -> Result<()> {
    let missing = edit::mark_enrolled(place, text, names)?.missing;
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = missing.iter().map(|name| format!("{name:?}")).collect();
    let error = format!(
        "{place} declares no setup key {}; nothing was written",
        names.join(", ")
    );
    let keys = edit::key_names(text);
    let near = |name: &String| did_you_mean(name, keys.iter().map(String::as_str));
    let near: Vec<String> = missing.iter().filter_map(near).collect();
    let hint = match (near.is_empty(), keys.is_empty()) {
        (false, _) => near.join("\n"),
        (true, true) => "it has no setup keys at all".into(),
        (true, false) => {
            let known: Vec<String> = keys.iter().map(|name| quote(name)).collect();
            format!("its setup keys are {}", listed(&known))
        }
    };
    Err(Failure::error(visible(&error)).hint(hint))
}

fn said(edit: &Edit, text: &str) -> String {
    let list = |names: &BTreeSet<String>| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        visible(&names.join(", ")).into_owned()
    };
    let text = visible(text);
    let mut out = String::new();
    if !edit.flipped.is_empty() {
        out += &format!("Marked enrolled: {}; {text}.\n", list(&edit.flipped));
    }
    if !edit.already.is_empty() {
        out += &format!("Marked already: {}.\n", list(&edit.already));
    }
    match out.as_str() {
        "" => format!("Nothing to mark: {text}.\n"),
        _ => out,
    }
}

/// Names of the file for `--from`.
fn names_in(text: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(entries) = json["enrollments"].as_array() else {
        let lines = text.lines().map(str::trim);
        return lines
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
    };
    let done = entries.iter().filter(|entry| entry["error"].is_null());
    let names = done.filter_map(|entry| entry["setup_key_name"].as_str());
    names.map(str::to_owned).collect()
}

/// Reads names from a file, or from stdin where it is `-`.
fn read_names(path: &Path) -> Result<Vec<String>> {
    let text = files::read_text(path, 64 * files::SMALL);
    let text = text.map_err(|error| Failure::of_file("read", path, &error))?;
    Ok(names_in(&text))
}
