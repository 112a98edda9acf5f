//! `mark-enrolled`: the commit of `enrolled: true` alone, on the branch or in the file on disk.

use std::collections::BTreeSet;

use serde_json::json;

use super::forge::Forge;
use super::settings::{environment_name, file};
use super::stop::Stop;
use super::sync_events::read_names;
use super::{print, report_stop};
use crate::ci::Context;
use crate::cli::{Cli, Format, MarkArgs};
use crate::edit::{self, Edit};
use crate::exit::Exit;
use crate::logging::Say;
use crate::text::visible;

pub(super) fn run(cli: &Cli, args: &MarkArgs, say: Say) -> Exit {
    match make(cli, args) {
        Ok(()) => Exit::Done,
        Err(stop) => report_stop(say, stop),
    }
}

fn make(cli: &Cli, args: &MarkArgs) -> Result<(), Stop> {
    let path = file(&cli.global);
    let mut names: BTreeSet<String> = args.names.iter().cloned().collect();
    if let Some(from) = &args.from {
        names.extend(read_names(from)?);
    }
    if names.is_empty() {
        return Err(Stop::error("no setup key is named")
            .hint("give names, or --from a file that holds some"));
    }
    let (text, edit) = match args.local {
        true => {
            // looked at first: one unknown name, and nothing is written
            let before = std::fs::read(&path)
                .map_err(|error| Stop::error(format!("cannot read {}: {error}", path.display())))?;
            let looked = edit::mark_enrolled(&before, &names)
                .map_err(|error| Stop::error(format!("{}:{error}", path.display())))?;
            refuse_missing(&looked, &path.display().to_string())?;
            let edit = edit::mark_enrolled_file(&path, &names)?;
            (format!("{} written", path.display()), edit)
        }
        false => {
            let forge = Forge::open(&args.gitea, &Context::of_process(), &path)?;
            let forge = forge.ok_or_else(|| {
                Stop::error("Gitea is not configured").hint(
                    "set GITEA_URL, GITEA_REPO and GITEA_TOKEN, or use --local to edit the file on disk",
                )
            })?;
            let source = forge.source()?;
            let looked = edit::mark_enrolled(source.text().as_bytes(), &names)
                .map_err(|error| Stop::error(format!("{}:{error}", source.name())))?;
            refuse_missing(&looked, source.name())?;
            let marked = forge.mark(&names, args.via_pr, &environment_name(&cli.global))?;
            (marked.text, marked.edit)
        }
    };
    match cli.global.format {
        Format::Json => print(&format!(
            "{:#}\n",
            json!({ "format_version": 1, "marked": edit.flipped, "already": edit.already, "result": text })
        )),
        Format::Text | Format::Markdown => print(&said(&edit, &text)),
    }
    Ok(())
}

fn refuse_missing(edit: &Edit, place: &str) -> Result<(), Stop> {
    if edit.missing.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = edit
        .missing
        .iter()
        .map(|name| format!("{name:?}"))
        .collect();
    let text = format!(
        "{place} declares no setup key {}; nothing was written",
        names.join(", ")
    );
    Err(Stop::error(visible(&text)))
}

fn said(edit: &Edit, text: &str) -> String {
    let list = |names: &BTreeSet<String>| {
        let names: Vec<String> = names
            .iter()
            .map(|name| visible(name).into_owned())
            .collect();
        names.join(", ")
    };
    let mut out = String::new();
    if !edit.flipped.is_empty() {
        out.push_str(&format!(
            "Marked enrolled: {}; {}.\n",
            list(&edit.flipped),
            visible(text)
        ));
    }
    if !edit.already.is_empty() {
        out.push_str(&format!("Marked already: {}.\n", list(&edit.already)));
    }
    out
}
