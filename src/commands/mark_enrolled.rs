//! `mark-enrolled`: the commit of `enrolled: true` alone, on the branch or in the file on disk.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::apply::early_gates;
use super::cli::MarkArgs;
use super::{Ending, Exit, Failure, Forge, Result, Run, readable, unreported};
use crate::base::{did_you_mean, files, joined, quoted, visible};
use crate::check::edit::{self, Edit};
use crate::file;

pub(super) fn run(run: &Run, args: &MarkArgs) -> Result<Ending> {
    let (edit, text) = make(run, args)?;
    let json = json!({ "format_version": 1, "marked": edit.flipped, "already": edit.already,
                       "missing": edit.missing, "result": text });
    let mut ending = Ending::answer(json, said(&edit, &text));
    ending.changed = !edit.flipped.is_empty();
    if edit.missing.is_empty() {
        return Ok(ending);
    }
    let (file, names) = (run.file.display(), quoted(&edit.missing));
    let error = format!(
        "{file} does not declare {names} any more: somebody deleted the entry while this command ran"
    );
    let mut failure = Failure::error(visible(&error));
    failure.exit = unreported(Exit::Error, ending.changed);
    Ok(ending.failed(failure))
}

/// Returns what became of the names, and where.
fn make(run: &Run, args: &MarkArgs) -> Result<(Edit, String)> {
    let path = &run.file;
    if !args.local {
        early_gates("mark-enrolled", run)?;
    }
    readable()?;
    let mut names: BTreeSet<String> = args.names.iter().cloned().collect();
    if let Some(from) = &args.from {
        let text = files::read_text(from, 64 * files::SMALL);
        let text = text.map_err(|error| Failure::of_file("read", from, &error))?;
        names.extend(names_in(&text));
    }
    if names.is_empty() {
        // what an idle sync-events leaves is no failure of the pipeline behind it
        return Ok((Edit::default(), "no setup key is named".into()));
    }
    if args.local {
        look(
            file::load(path)?.text().as_bytes(),
            &names,
            &path.display().to_string(),
        )?;
        let edit = edit::mark_enrolled_file(path, &names)?;
        return Ok((edit, format!("{} written", path.display())));
    }
    let hint = "set GITEA_URL, GITEA_REPO and GITEA_TOKEN, or use --local to edit the file on disk";
    let forge = Forge::wanted(run, hint)?;
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
    let keys = edit::key_names(text);
    let near = |name: &String| did_you_mean(name, keys.iter().map(String::as_str));
    let near: Vec<String> = missing.iter().filter_map(near).collect();
    let hint = match (near.is_empty(), keys.is_empty()) {
        (false, _) => near.join("\n"),
        (true, true) => "it has no setup keys".into(),
        (true, false) => format!("its setup keys are {}", quoted(&keys)),
    };
    let names = quoted(&missing);
    let error = format!("{place} declares no setup key {names}; nothing was written");
    Err(Failure::error(visible(&error)).hint(hint))
}

fn said(edit: &Edit, text: &str) -> String {
    let mut out = String::new();
    if !edit.flipped.is_empty() {
        let names = joined(&edit.flipped, ", ");
        out += &format!("Marked enrolled: {names}; {text}.\n");
    }
    if !edit.already.is_empty() {
        out += &format!("Marked already: {}.\n", joined(&edit.already, ", "));
    }
    if out.is_empty() {
        out = format!("Nothing to mark: {text}.\n");
    }
    joined(out.lines().map(visible), "\n") + "\n"
}

/// Returns the names in a text for `--from`: one a line, or what `sync-events` prints as JSON.
fn names_in(text: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(entries) = json["enrollments"].as_array() else {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        return lines.map(str::to_owned).collect();
    };
    let done = entries.iter().filter(|entry| entry["error"].is_null());
    let names = done.filter_map(|entry| entry["setup_key_name"].as_str());
    names.map(str::to_owned).collect()
}
