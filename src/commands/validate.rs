//! `validate`: parse and check the file, without network and token.

use crate::cli::{Cli, Format};
use crate::commands::stop::Stop;
use crate::commands::{print, session, settings};
use crate::config;
use crate::exit::Exit;
use crate::logging::Say;

pub(super) fn run(cli: &Cli, say: Say) -> Exit {
    let file = settings::file(&cli.global);
    let result = config::load(&file)
        .map_err(Stop::from)
        .and_then(|source| session::check(&source));
    match result {
        Ok(valid) => {
            for notice in &valid.notices {
                say.note(&session::notice_text(&valid.file, notice));
            }
            match cli.global.format {
                Format::Json => print("{\n  \"format_version\": 1,\n  \"status\": \"valid\"\n}\n"),
                Format::Text | Format::Markdown => print(&format!("{} is valid.\n", valid.file)),
            }
            Exit::Done
        }
        Err(stop) => {
            if cli.global.format == Format::Json {
                let result = serde_json::json!({ "format_version": 1, "status": "error",
                    "error": { "message": stop.error, "hint": stop.hint } });
                print(&format!("{result:#}\n"));
            }
            say.error("error", &stop.error, stop.hint.as_deref());
            stop.exit
        }
    }
}
