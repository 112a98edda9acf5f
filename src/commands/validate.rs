//! `validate`: parse and check the file, without network and token.

use serde_json::{Value, json};

use crate::cli::{Cli, Format};
use crate::commands::failure::Failure;
use crate::commands::{annotate, print, report, session, settings};
use crate::config::{self, Finding, Findings, Place};
use crate::exit::Exit;
use crate::logging::Say;
use crate::render;
use crate::validate::{Valid, validate};

pub(super) fn run(cli: &Cli, say: Say) -> Exit {
    let file = settings::file(&cli.global);
    let result = config::load(&file)
        .map_err(Unfit::Unread)
        .and_then(|source| validate(&source).map_err(Unfit::Wrong));
    let answer = crate::json::text(&answer(&result));
    let reported = report(cli, &answer, say);
    if cli.global.format == Format::Json {
        print(&answer);
    }
    match result {
        Ok(valid) => {
            let notices: Vec<_> = session::notices::of_file(&valid).collect();
            for said in render::say(&notices) {
                say.note(&said.text);
            }
            if cli.global.format != Format::Json {
                print(&format!("{} is valid.\n", valid.file));
            }
            reported
        }
        Err(failure) => {
            let failure = Failure::from(failure);
            annotate(&file.display().to_string(), &failure.problems);
            say.error("error", &failure.error, failure.hint.as_deref());
            failure.exit
        }
    }
}

/// Why a file is not valid.
enum Unfit {
    /// There is no text to judge.
    Unread(config::SourceError),
    /// It says what cannot be.
    Wrong(Findings),
}

impl From<Unfit> for Failure {
    fn from(failure: Unfit) -> Self {
        match failure {
            Unfit::Unread(error) => Failure::from(error),
            Unfit::Wrong(problems) => Failure::from(&problems),
        }
    }
}

/// The answer for programs: every problem and every notice with its code and its place, nothing folded.
fn answer(result: &Result<Valid, Unfit>) -> Value {
    let list = |problems: &mut dyn Iterator<Item = &Finding>| -> Vec<Value> {
        let entry = |problem: &Finding| {
            let Place { path, line, column } = &problem.place;
            json!({ "code": problem.code, "line": line, "column": column, "path": path, "message": problem.message, "hint": problem.hint })
        };
        problems.map(entry).collect()
    };
    let failed = |failure: &Failure, problems: Vec<Value>, notices: Vec<Value>| {
        json!({ "format_version": 1, "status": "error", "problems": problems, "notices": notices,
                "error": { "message": failure.error, "hint": failure.hint } })
    };
    match result {
        Ok(valid) => json!({ "format_version": 1, "status": "valid", "problems": [],
                             "notices": list(&mut valid.notices.iter()) }),
        Err(Unfit::Wrong(problems)) => failed(
            &Failure::from(problems),
            list(&mut problems.errors()),
            list(&mut problems.notices()),
        ),
        Err(Unfit::Unread(error)) => failed(&Failure::from(error), Vec::new(), Vec::new()),
    }
}
