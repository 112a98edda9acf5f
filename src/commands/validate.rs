//! `validate`: parse and check the file, without network and token.

use serde_json::{Value, json};

use super::{Ending, Result, Run, session};
use crate::check::validate::validate;
use crate::file::{self, Finding, Place};
use crate::render;

/// Returns what it comes to, and what the JSON of a file that is not valid has.
pub(super) fn run(run: &Run) -> (Result<Ending>, Value) {
    let json = |status: &str, problems: Value, notices: Value| json!({ "format_version": 1, "status": status, "problems": problems, "notices": notices });
    let none = json("error", json!([]), json!([]));
    let checked = match file::load(&run.file) {
        Ok(source) => validate(&source),
        Err(error) => return (Err(error.into()), none),
    };
    let valid = match checked {
        Ok(valid) => valid,
        Err(found) => {
            let lists = [list(&mut found.errors()), list(&mut found.notices())];
            let [problems, notices] = lists;
            return (Err(found.into()), json("error", problems, notices));
        }
    };
    let notices: Vec<_> = session::notices::of_file(&valid).collect();
    for said in render::say(&notices) {
        run.say.note(&said.text);
    }
    let json = json("valid", json!([]), list(&mut valid.notices.iter()));
    let text = format!("{} is valid.\n", valid.file);
    (Ok(Ending::answer(json, text)), none)
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
