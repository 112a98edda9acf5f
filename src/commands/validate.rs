//! `validate`: parse and check the file, without network and token.

use serde_json::json;

use crate::cli::{Cli, Format};
use crate::commands::stop::Stop;
use crate::commands::{annotate, print, report, session, settings};
use crate::config;
use crate::exit::Exit;
use crate::logging::Say;

pub(super) fn run(cli: &Cli, say: Say) -> Exit {
    let file = settings::file(&cli.global);
    let result = config::load(&file)
        .map_err(Stop::from)
        .and_then(|source| session::check(&source));
    let answer = match &result {
        Ok(_) => json!({ "format_version": 1, "status": "valid" }),
        Err(stop) => json!({ "format_version": 1, "status": "error",
            "error": { "message": stop.error, "hint": stop.hint } }),
    };
    let answer = format!("{answer:#}\n");
    let reported = report(cli, &answer, say);
    if cli.global.format == Format::Json {
        print(&answer);
    }
    match result {
        Ok(valid) => {
            for notice in session::notices::of_file(&valid) {
                say.note(&notice.text);
            }
            if cli.global.format != Format::Json {
                print(&format!("{} is valid.\n", valid.file));
            }
            reported
        }
        Err(stop) => {
            annotate(&file.display().to_string(), &stop.problems);
            say.error("error", &stop.error, stop.hint.as_deref());
            stop.exit
        }
    }
}
