//! The sentences of what a reader should know.

mod agreement;
mod inventory;
mod key;
mod member;
mod object;
mod run;

use crate::model::notice::{Notice, OfKey, OfObject, What};

pub(crate) use inventory::merge;
pub(crate) use key::{open, remark};

/// Returns what a notice says.
pub(crate) fn notice(notice: &Notice) -> String {
    let about = notice.about.as_ref();
    let said = match &notice.what {
        What::File(problem) => {
            let hint = problem.hint.iter().map(|hint| format!("; {hint}"));
            format!("{}{}", problem.message, hint.collect::<String>())
        }
        What::Inventory(of) => inventory::inventory(of),
        What::Merge(of) => merge(of),
        What::Agreement(of) => agreement::agreement(of),
        What::Run(of) => run::run(of),
        What::Object(of) => about.map_or_else(String::new, |at| object::object(of, at)),
        What::Key(of) => about.map_or_else(String::new, |at| key::key(of, at)),
        What::Open(of) => format!("{}: left alone", open(of)),
        What::Remark(of) => remark(of),
        What::Member(name, of) => member::member(name, of, about),
        What::Peer(of) => object::peer(of),
        What::Meanwhile(of) => object::meanwhile(of),
    };
    let said = match (about, &notice.what) {
        (Some(address), What::Meanwhile(_)) => format!("{address}: {said}"),
        (_, What::Object(OfObject::Beside(_) | OfObject::Strange { .. }))
        | (_, What::Key(OfKey::ValidNamesakes(..))) => said,
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
