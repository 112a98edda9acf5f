//! `validate`: parse and check the file, without network and token.

use serde_json::{Value, json};

use crate::check::validate::validate;
use crate::commands::exit::Exit;
use crate::commands::failure::Failure;
use crate::commands::settings::Run;
use crate::commands::{Ending, end, session};
use crate::file::{self, Finding, Place};
use crate::render;

pub(super) fn run(run: &Run) -> Exit {
    let say = run.say;
    let ending = match file::load(&run.file) {
        Err(error) => failed(Failure::from(error), &[], &[]),
        Ok(source) => match validate(&source) {
            Ok(valid) => {
                let notices: Vec<_> = session::notices::of_file(&valid).collect();
                for said in render::say(&notices) {
                    say.note(&said.text);
                }
                let json = json!({ "format_version": 1, "status": "valid", "problems": [],
                                   "notices": list(&mut valid.notices.iter()) });
                Ending::answer(json, format!("{} is valid.\n", valid.file))
            }
            Err(problems) => failed(
                Failure::from(&problems),
                &list(&mut problems.errors()),
                &list(&mut problems.notices()),
            ),
        },
    };
    end(run, ending)
}

fn failed(failure: Failure, problems: &[Value], notices: &[Value]) -> Ending {
    let fields = json!({ "status": "error", "problems": problems, "notices": notices });
    Ending::stopped(failure, fields)
}

/// For programs: every problem and every notice with its code and its place, nothing folded.
fn list(problems: &mut dyn Iterator<Item = &Finding>) -> Vec<Value> {
    let entry = |problem: &Finding| {
        let Place { path, line, column } = &problem.place;
        json!({ "code": problem.code, "line": line, "column": column,
                "path": path, "message": problem.message, "hint": problem.hint })
    };
    problems.map(entry).collect()
}
