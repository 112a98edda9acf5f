//! What a reader of a plan should know and that changes nothing, as data and in words: each file has the variants of its
//! subject, and their sentences beside them.

mod agreement;
mod inventory;
mod key;
mod member;
mod object;
mod run;

use crate::base::{Code, Saying};
use crate::file::{Finding, Place};
use crate::model::{Address, Kind};

pub use agreement::{OfAgreement, Untold, Void};
pub use inventory::{Cut, OfInventory, OfMerge, UNTOLD};
pub use key::{Dead, OfKey, Open, PeerStays, Remark, Stays, Whose};
pub use member::{Machine, OfMember, WayOut};
pub use object::{Logins, Meanwhile, OfObject, OfPeer, OfUser, Users};
pub use run::{Gone, OfRun};

/// What can be said of an object, or of the run.
pub trait Fact {
    /// Returns its cause, and what it says of the object of that address.
    fn said(&self, at: &Address) -> Saying;
}

/// Something that a reader of the plan should know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Notice {
    /// The object that it is about.
    pub about: Option<Address>,
    /// Where that stands in the file.
    pub place: Option<Place>,
    /// The file's name, where the sentence begins with the place.
    pub file: Option<String>,
    /// Its cause.
    pub code: Code,
    /// The name that sets it apart from others of its cause, such as a member of the group that it is about.
    pub name: Option<String>,
    pub(crate) text: String,
}

impl Notice {
    /// A notice of the run as a whole.
    pub fn general(what: impl Fact) -> Self {
        Notice::new(None, what.said(&Address::new(Kind::Group, "")))
    }

    /// A notice about one object.
    pub fn about(address: &Address, what: impl Fact) -> Self {
        Notice::new(Some(address), what.said(address))
    }

    /// A notice about a member of a group, or the peer that another entry names.
    pub fn member(at: &Address, member: &str, what: OfMember) -> Self {
        let said = match at.kind {
            Kind::Group => what.said(member, at, "lists", "added"),
            _ => what.said(member, at, "names", "used"),
        };
        Notice {
            name: Some(member.to_owned()),
            ..Notice::new(Some(at), said)
        }
    }

    /// A notice of a valid file.
    pub fn of_file(file: &str, problem: &Finding) -> Self {
        let hint = problem.hint.iter().map(|hint| format!("; {hint}"));
        let text = problem.message.clone() + &hint.collect::<String>();
        let name = problem.brief.as_ref().unwrap_or(&problem.place.path);
        Notice {
            place: Some(problem.place.clone()),
            file: Some(file.to_owned()),
            name: Some(name.clone()),
            ..Notice::new(None, problem.code.says(text))
        }
    }

    fn new(about: Option<&Address>, said: Saying) -> Self {
        let subject = about.filter(|_| !said.is_whole);
        let subject = subject.map(|at| format!("{} ", at.quoted()));
        Notice {
            about: about.cloned(),
            place: None,
            file: None,
            code: said.code,
            name: None,
            text: subject.unwrap_or_default() + &said.text,
        }
    }

    /// Returns whether the plan, or the inventory, lacks something because of it, a change of the file has no effect, or cuts off who is
    /// not named.
    pub fn is_warning(&self) -> bool {
        use Code::{InventoryLacks, IssuedPeersNow, Skipped, Stricter};
        matches!(
            self.code,
            Skipped | InventoryLacks | IssuedPeersNow | Stricter
        )
    }

    /// Returns what it says.
    pub fn words(&self) -> String {
        let text = &self.text;
        match (&self.file, &self.place) {
            (Some(file), Some(Place { path, line, column })) => {
                let path = if path.is_empty() {
                    ""
                } else {
                    &format!("{path}: ")
                };
                format!("{file}:{line}:{column}  {path}{text}")
            }
            _ => text.clone(),
        }
    }
}
