//! `validate`: parse and check the file, without network and token.

use serde_json::{Value, json};

use crate::cli::{Cli, Format};
use crate::commands::stop::Stop;
use crate::commands::{annotate, print, report, session, settings};
use crate::config::{self, Problem, Problems};
use crate::exit::Exit;
use crate::logging::Say;
use crate::notice;
use crate::validate::{Valid, validate};

pub(super) fn run(cli: &Cli, say: Say) -> Exit {
    let file = settings::file(&cli.global);
    let result = config::load(&file)
        .map_err(Failure::Unread)
        .and_then(|source| validate(&source).map_err(Failure::Wrong));
    let answer = crate::json::text(&answer(&result));
    let reported = report(cli, &answer, say);
    if cli.global.format == Format::Json {
        print(&answer);
    }
    match result {
        Ok(valid) => {
            let notices: Vec<_> = session::notices::of_file(&valid).collect();
            for said in notice::say(&notices) {
                say.note(&said.text);
            }
            if cli.global.format != Format::Json {
                print(&format!("{} is valid.\n", valid.file));
            }
            reported
        }
        Err(failure) => {
            let stop = Stop::from(failure);
            annotate(&file.display().to_string(), &stop.problems);
            say.error("error", &stop.error, stop.hint.as_deref());
            stop.exit
        }
    }
}

/// Why a file is not valid.
enum Failure {
    /// There is no text to judge.
    Unread(config::SourceError),
    /// It says what cannot be.
    Wrong(Problems),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unread(error) => Stop::from(error),
            Failure::Wrong(problems) => Stop::from(&problems),
        }
    }
}

/// The answer for programs: every problem and every notice with its code and its place, nothing folded.
fn answer(result: &Result<Valid, Failure>) -> Value {
    let list = |problems: &mut dyn Iterator<Item = &Problem>| -> Vec<Value> {
        let entry = |problem: &Problem| {
            json!({ "code": problem.code.word(), "line": problem.line, "column": problem.column,
                    "path": problem.path, "message": problem.message, "hint": problem.hint })
        };
        problems.map(entry).collect()
    };
    let failed = |stop: &Stop, problems: Vec<Value>, notices: Vec<Value>| {
        json!({ "format_version": 1, "status": "error", "problems": problems, "notices": notices,
                "error": { "message": stop.error, "hint": stop.hint } })
    };
    match result {
        Ok(valid) => json!({ "format_version": 1, "status": "valid", "problems": [],
                             "notices": list(&mut valid.notices.iter()) }),
        Err(Failure::Wrong(problems)) => failed(
            &Stop::from(problems),
            list(&mut problems.errors()),
            list(&mut problems.notices()),
        ),
        Err(Failure::Unread(error)) => failed(&Stop::from(error), Vec::new(), Vec::new()),
    }
}
