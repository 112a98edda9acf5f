//! What a reader of a plan should know and that changes nothing, as data and in words: each file has the variants of its
//! subject, and their sentences beside them.

mod agreement;
mod inventory;
mod key;
mod member;
mod object;
mod run;

use crate::base::code::Code;
use crate::file::{self, Place};
use crate::model::address::Address;
use crate::model::kind::Kind;

pub use agreement::{OfAgreement, Untold, Void};
pub use inventory::{OfInventory, OfMerge};
pub use key::{Dead, OfKey, Open, PeerStays, Remark, Stays, Whose};
pub use member::{Machine, OfMember, WayOut};
pub use object::{Logins, Meanwhile, OfObject, OfPeer, Users};
pub use run::{Gone, OfRun};

/// Something that a reader of the plan should know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Notice {
    /// The object that it is about.
    pub about: Option<Address>,
    /// Where that stands in the file.
    pub place: Option<Place>,
    /// The file's name, where the sentence begins with the place.
    pub file: Option<String>,
    /// What it says.
    pub what: What,
}

/// What a notice says. Each variant tells what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum What {
    /// Something odd in a valid file.
    File(file::Finding),
    /// The inventory, or what git says of the file since it was applied last.
    Inventory(OfInventory),
    /// The merge of a pull request.
    Merge(OfMerge),
    /// An agreement to deletions.
    Agreement(OfAgreement),
    /// The run as a whole.
    Run(OfRun),
    /// An object of any kind.
    Object(OfObject),
    /// A setup key.
    Key(OfKey),
    /// A used setup key about which nothing is done.
    Open(Open),
    /// A used setup key.
    Remark(Remark),
    /// A member of a group, or the peer that another entry names.
    Member(String, OfMember),
    /// A peer.
    Peer(OfPeer),
    /// What somebody did while an apply ran.
    Meanwhile(Meanwhile),
}

impl Notice {
    /// A notice of the run as a whole.
    pub fn general(what: impl Into<What>) -> Self {
        Notice {
            about: None,
            place: None,
            file: None,
            what: what.into(),
        }
    }

    /// A notice about one object.
    pub fn about(address: &Address, what: impl Into<What>) -> Self {
        Notice {
            about: Some(address.clone()),
            ..Notice::general(what)
        }
    }

    /// A notice about a member of a group.
    pub fn member(group: &Address, member: &str, what: OfMember) -> Self {
        Notice::about(group, What::Member(member.to_owned(), what))
    }

    /// A notice of a valid file.
    pub fn of_file(file: &str, problem: &file::Finding) -> Self {
        Notice {
            place: Some(problem.place.clone()),
            file: Some(file.to_owned()),
            ..Notice::general(What::File(problem.clone()))
        }
    }

    /// Returns its cause.
    pub fn code(&self) -> Code {
        self.said().0
    }

    /// Returns what it says.
    pub fn words(&self) -> String {
        self.said().1
    }

    /// Returns its cause, and what it says.
    pub fn said(&self) -> (Code, String) {
        // what is said of an object names it
        let nowhere = Address::new(Kind::Group, "");
        let at = self.about.as_ref().unwrap_or(&nowhere);
        let (code, said) = match &self.what {
            What::File(problem) => {
                let hint = problem.hint.iter().map(|hint| format!("; {hint}"));
                (
                    problem.code,
                    format!("{}{}", problem.message, hint.collect::<String>()),
                )
            }
            What::Inventory(of) => (Code::Inventory, of.words()),
            What::Merge(of) => (Code::Merge, of.words()),
            What::Agreement(of) => (Code::Agreement, of.words()),
            What::Run(of) => of.said(),
            What::Object(of) => of.said(at),
            What::Key(of) => of.said(at),
            What::Open(of) => (Code::EnrollmentOpen, format!("{}: left alone", of.words())),
            What::Remark(of) => of.said(),
            What::Member(name, of) => match at.kind {
                Kind::Group => of.said(name, at, "lists", "added"),
                _ => of.said(name, at, "names", "taken"),
            },
            What::Peer(of) => of.said(),
            What::Meanwhile(of) => (Code::Meanwhile, of.words()),
        };
        let said = match (&self.about, &self.what) {
            (Some(address), What::Meanwhile(_)) => format!("{address}: {said}"),
            (_, What::Object(OfObject::Beside(_) | OfObject::Strange { .. }))
            | (_, What::Key(OfKey::ValidNamesakes(..)))
            | (None, _) => said,
            (Some(address), _) => format!("{} {said}", address.quoted()),
        };
        let said = match (&self.file, &self.place) {
            (Some(file), Some(place)) => {
                let path = match place.path.as_str() {
                    "" => String::new(),
                    path => format!("{path}: "),
                };
                format!("{file}:{}:{}  {path}{said}", place.line, place.column)
            }
            _ => said,
        };
        (code, said)
    }

    /// Returns the name that sets it apart from others of its cause, such as a member of the group that it is about.
    pub fn name(&self) -> Option<&str> {
        match &self.what {
            What::File(problem) => Some(problem.brief.as_deref().unwrap_or(&problem.place.path)),
            What::Member(member, _) => Some(member),
            _ => None,
        }
    }
}

/// Each fact becomes the [`What`] that holds it.
macro_rules! into_what {
    ($($of:ident => $what:ident),* $(,)?) => {
        $(impl From<$of> for What {
            fn from(of: $of) -> What {
                What::$what(of)
            }
        })*
    };
}

into_what! {
    OfInventory => Inventory,
    OfMerge => Merge,
    OfAgreement => Agreement,
    OfRun => Run,
    OfObject => Object,
    OfKey => Key,
    Open => Open,
    Remark => Remark,
    OfPeer => Peer,
    Meanwhile => Meanwhile,
}
