//! `validate`: parse and check the file, without network and token.

use serde_json::{Value, json};

use crate::check::validate::validate;
use crate::commands::exit::Exit;
use crate::commands::failure::Failure;
use crate::commands::settings::Run;
use crate::commands::{Ending, end_with, session};
use crate::file::{self, Finding, Place};
use crate::render;

pub(super) fn run(run: &Run) -> Exit {
    let mut stopped = json!({ "status": "error", "problems": [], "notices": [] });
    let made = make(run, &mut stopped);
    end_with(run, made, stopped)
}

/// `stopped` is what the JSON of a file that is not valid has.
fn make(run: &Run, stopped: &mut Value) -> Result<Ending, Failure> {
    let source = file::load(&run.file)?;
    let valid = validate(&source).map_err(|problems| {
        stopped["problems"] = list(&mut problems.errors());
        stopped["notices"] = list(&mut problems.notices());
        Failure::from(&problems)
    })?;
    let notices: Vec<_> = session::notices::of_file(&valid).collect();
    for said in render::say(&notices) {
        run.say.note(&said.text);
    }
    let json = json!({ "format_version": 1, "status": "valid", "problems": [],
                       "notices": list(&mut valid.notices.iter()) });
    Ok(Ending::answer(json, format!("{} is valid.\n", valid.file)))
}

/// For programs: every problem and every notice with its code and its place, nothing folded.
fn list(problems: &mut dyn Iterator<Item = &Finding>) -> Value {
    let entry = |problem: &Finding| {
        let Place { path, line, column } = &problem.place;
        json!({ "code": problem.code, "line": line, "column": column,
                "path": path, "message": problem.message, "hint": problem.hint })
    };
    problems.map(entry).collect()
}
