//! What is to be said of a run as a whole.

use std::collections::BTreeSet;

use super::Fact;
use crate::base::{Code, Id, Saying, ask, count, joined, quoted};
use crate::model::address::adopt;
use crate::model::{Address, Kind, facts};

facts! {
    /// What is to be said of a run as a whole.
    pub enum OfRun {
        /// A section that the file had and has no more.
        SectionGone(gone: Gone) => Code::SectionGone.says(gone.words()),
        /// The token is that of this person.
        PersonsToken(person: String) => Code::PersonsToken.says(format!(
            "the token belongs to a person ({person}), so it stops working when the person's access ends. Create a service user in \
             NetBird, and use a token of that user."
        )),
        /// A recipient that the base branch does not have, and the file that names it.
        NewRecipient { recipient: String, file: String } => Code::NewRecipient.says(format!(
            "recipient {recipient} in {file} is new: the base branch does not have it"
        )),
        /// Who reaches whom would take too long to find out.
        ReachUntold => Code::ReachUntold.says(
            "who reaches whom is left out: the policies have too many groups, or these groups have too many machines of different \
             groups. To ask about two of them, run netbird-gitops access FROM TO --after"
        ),
        /// Nobody is named who could open new keys.
        NoRecipient => Code::NoRecipient.says(
            "no recipient is set. An apply of this plan is refused without one: set AGE_PUBLIC_KEY, or use -r KEY or -R FILE."
        ),
        /// `--protect` names what is neither in the file nor in NetBird; a name there that may be meant.
        ProtectsNothing(named: Address, near: Option<String>) => {
            let near = near.as_deref().map(|near| format!("; {}", ask(near)));
            Code::ProtectsNothing.says(format!(
                "--protect names {}, which is neither in the file nor in NetBird{}",
                named.quoted(), near.unwrap_or_default()
            ))
        },
        /// Names that mean nobody, and the one machine that has each: there was no inventory before.
        NamesOfNobody(names: Vec<(String, Id)>) => {
            let key = |name: &str| Address::new(Kind::Peer, name).key();
            Code::MemberUnclear.says(format!(
                "these names in the file mean no machine yet, because any machine can choose its own name: {}. If the machines that \
                 have these names now are the right ones, run {}.",
                joined(names.iter().map(|(name, _)| format!("{name:?}")), ", "),
                adopt(names.iter().map(|(name, id)| (key(name), id.0.as_str())))
            ))
        },
        /// A peer enrolled meanwhile, which leaves this operation on that object to do.
        LeftForNext(operation: &'static str, on: Address) => Code::LeftForNext.says(format!(
            "a peer enrolled meanwhile, so this is left for the next run: {operation} {on}"
        )),
    }

    /// Returns its cause, and what it says.
    fn said(&self, _at: &Address) -> Saying; impl Fact;
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

impl Gone {
    pub fn words(&self) -> String {
        let (kind, left) = (self.kind, &self.left);
        let of = self.within.iter();
        let of: String = of.map(|at| format!(" of {}", at.quoted())).collect();
        let gone = match self.is_new {
            true => "is removed from the file by this change",
            false => "is no longer in the file",
        };
        let rest = match left.len() {
            _ if !kind.goes_with_entry() => "NetBird keeps its present settings.".into(),
            0 => "None of its objects exists in NetBird.".into(),
            number => format!(
                "{} in NetBird as before{}. To manage {them} again, restore the section. To delete those that this tool created, restore \
                 the section empty.",
                count(
                    number,
                    &format!("{} stays", kind.label()),
                    &format!("{} stay", kind.plural())
                ),
                match kind.has_names() {
                    true => format!(": {}", quoted(left.iter().map(|at| &at.name))),
                    false => String::new(),
                },
                them = if number == 1 { "it" } else { "them" }
            ),
        };
        let section = kind.section_path().join(".");
        format!("section {section:?}{of} {gone}, so nothing in it is managed any more. {rest}")
    }
}
