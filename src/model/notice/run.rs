//! What is to be said of a run as a whole.

use std::collections::BTreeSet;

use crate::base::code::Code;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::kind::Kind;

/// What is to be said of a run as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfRun {
    /// A section that the file had and has no more.
    SectionGone(Gone),
    /// The token is that of this person.
    PersonsToken(String),
    /// A recipient that the base branch does not have.
    NewRecipient {
        /// The recipient.
        recipient: String,
        /// The file that names it.
        file: String,
    },
    /// Nobody is named who could open new keys.
    NoRecipient,
    /// `--protect` names what is neither in the file nor in NetBird; a name there that may be meant.
    ProtectsNothing(Address, Option<String>),
    /// Names that mean nobody, and the one machine that bears each: there was no inventory before.
    NamesOfNobody(Vec<(String, Id)>),
    /// A peer enrolled meanwhile, which leaves this operation on that object to do.
    LeftForNext(&'static str, Address),
}

/// A section that the file had and has no more: nothing of it is managed, and what lives of it stays.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Gone {
    /// Its kind.
    pub kind: Kind,
    /// The object in whose entry it stood, if it stood in one.
    pub within: Option<Address>,
    /// What lives of it: declared when the section was last there, or made by us.
    pub left: BTreeSet<Address>,
    /// Whether it is this very change that takes it out: no commit of the history did.
    pub is_new: bool,
}

impl OfRun {
    pub(super) fn code(&self) -> Code {
        match self {
            OfRun::SectionGone(_) => Code::SectionGone,
            OfRun::PersonsToken(_) => Code::PersonsToken,
            OfRun::NewRecipient { .. } => Code::NewRecipient,
            OfRun::NoRecipient => Code::NoRecipient,
            OfRun::ProtectsNothing(..) => Code::ProtectsNothing,
            OfRun::NamesOfNobody(_) => Code::MemberUnclear,
            OfRun::LeftForNext(..) => Code::LeftForNext,
        }
    }
}
