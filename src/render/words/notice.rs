//! The sentences of what a reader should know.

mod agreement;
mod history;
mod key;
mod member;
mod object;
mod run;

use crate::notice::{Notice, What};

pub(crate) use history::merge;
pub(crate) use key::{open, remark};

/// Returns what a notice says.
pub(crate) fn notice(notice: &Notice) -> String {
    let said = match &notice.what {
        What::File(problem) => {
            let hint = problem.hint.iter().map(|hint| format!("; {hint}"));
            format!("{}{}", problem.message, hint.collect::<String>())
        }
        What::History(of) => history::history(of),
        What::Merge(of) => merge(of),
        What::Agreement(of) => agreement::agreement(of),
        What::Run(of) => run::run(of),
        What::Object(of) => object::object(of),
        What::Key(of) => key::key(of, notice.about.as_ref()),
        What::Open(of) => format!("{}: left alone", open(of)),
        What::Remark(of) => remark(of),
        What::Member(name, of) => member::member(name, of, notice.about.as_ref()),
        What::Peer(of) => object::peer(of),
        What::Meanwhile(of) => object::meanwhile(of),
    };
    let said = match (&notice.about, &notice.what) {
        (Some(address), What::Meanwhile(_)) => format!("{address}: {said}"),
        (Some(address), _) => format!("{} {said}", address.quoted()),
        (None, _) => said,
    };
    match (&notice.file, &notice.place) {
        (Some(file), Some(place)) => {
            let path = match place.path.as_str() {
                "" => String::new(),
                path => format!("{path}: "),
            };
            format!("{file}:{}:{}  {path}{said}", place.line, place.column)
        }
        _ => said,
    }
}
