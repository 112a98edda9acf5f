//! The sentences of what a plan and a run have as data: why something changes or stays, what makes a plan impossible, what a
//! reader should know.

mod held;
mod impossible;
mod let_go;
mod many;
mod notice;
mod reason;

use crate::base::evidence::Evidence;
use crate::model::address::Address;
use crate::model::protection::Protection;
use crate::model::who::Who;
use crate::plan::drift::Unmanaged;

pub(crate) use held::{way_out, why};
pub(crate) use impossible::problems;
pub(crate) use let_go::let_go;
pub(crate) use many::many;
pub(crate) use notice::{merge, notice, open, remark};
pub(crate) use reason::reason;

/// Returns what is to be said of what tells that a peer came by a key, behind what it is said of: nothing where the event log
/// tells. That it does not may mean that it forgot the event, or that nobody needed to ask it.
pub(crate) fn evidence(evidence: Evidence) -> Option<&'static str> {
    match evidence {
        Evidence::Event => None,
        Evidence::Time => Some("found by the times of key and peer, not by an event"),
        Evidence::Name => Some("found by names and the times of key and peer, not by an event"),
    }
}

/// Returns the same behind a mark, if there is something to be said.
fn told_by(by: Evidence, mark: &str) -> String {
    evidence(by)
        .map(|told| format!("{mark}{told}"))
        .unwrap_or_default()
}

/// Returns a peer, by its name and its id.
pub(crate) fn who(Who { id, name }: &Who) -> String {
    match name {
        Some(name) => format!("{name:?} ({id})"),
        None => format!("(deleted peer {id})"),
    }
}

/// Returns why nobody may touch a group, as it follows "it is".
pub(crate) fn protection(why: &Protection) -> String {
    match why {
        Protection::All => "the group of every peer".into(),
        Protection::Issued(by) => format!("issued by {by}"),
    }
}

/// Returns the command by which a person says which object each entry means, or which machine each name means.
pub(crate) fn adopt<'a>(meant: impl IntoIterator<Item = (String, &'a str)>) -> String {
    let meant = meant.into_iter();
    let flags = meant.map(|(key, id)| format!("--adopt {}", shell(&format!("{key}={id}"))));
    format!(
        "apply {} (in a job: the input adopt of the apply workflow)",
        flags.collect::<Vec<_>>().join(" ")
    )
}

/// Returns a word of a command line, as a shell takes it.
pub(crate) fn shell(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-=".contains(char);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Returns what is to be said of an object that the file does not declare.
pub(crate) fn unmanaged(address: &Address, what: &Unmanaged) -> Option<String> {
    match what {
        Unmanaged::NeverOurs => None,
        Unmanaged::LetGo(why) => Some(let_go(why)),
        Unmanaged::Held(held) => Some(why(held)),
        Unmanaged::SectionGone => {
            Some("its section is no longer in the file, so nobody manages it".into())
        }
        Unmanaged::Goes(of) => {
            let why = reason(of.as_ref(), &address.name);
            Some(format!("{why}: an apply deletes it"))
        }
    }
}
