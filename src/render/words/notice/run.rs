//! The sentences of a run as a whole.

use super::super::adopt;
use crate::base::text::{ask, count, listed};
use crate::model::address::Address;
use crate::model::kind::Kind;
use crate::model::notice::{Gone, OfRun};

pub(super) fn run(of: &OfRun) -> String {
    match of {
        OfRun::SectionGone(gone) => section_gone(gone),
        OfRun::PersonsToken(person) => format!(
            "the token is that of a person ({person}): it stops working when their access ends; make a service user in \
             NetBird, and a token of that"
        ),
        OfRun::NewRecipient { recipient, file } => {
            format!("recipient {recipient} in {file} is new: the base branch does not have it")
        }
        OfRun::NoRecipient => {
            "no recipient is named here for new setup keys; an apply needs AGE_PUBLIC_KEY, -r or -R"
                .into()
        }
        OfRun::ProtectsNothing(named, near) => {
            let near = near.as_deref().map(|near| format!("; {}", ask(near)));
            format!(
                "--protect names {}, which is neither in the file nor in NetBird{}",
                named.quoted(),
                near.unwrap_or_default()
            )
        }
        OfRun::NamesOfNobody(names) => {
            let quoted: Vec<String> = names.iter().map(|(name, _)| format!("{name:?}")).collect();
            let machines = names.iter().map(|(name, id)| {
                let address = Address::new(Kind::Peer, name);
                (address.key(), id.0.as_str())
            });
            format!(
                "names in the file that mean no machine yet, since any machine can choose its own name: {}. If the machines \
                 that have these names now are the right ones, run {}.",
                quoted.join(", "),
                adopt(machines)
            )
        }
        OfRun::LeftForNext(operation, on) => {
            format!("left for the next run, a peer enrolled meanwhile: {operation} {on}")
        }
    }
}

fn section_gone(gone: &Gone) -> String {
    let Gone {
        kind,
        within,
        left,
        is_new,
    } = gone;
    let when = match is_new {
        true => "goes with this change",
        false => "is no longer in the file",
    };
    if !kind.goes_with_entry() {
        let section = kind.section_path().join(".");
        return format!(
            "section {section:?} {when}, so nothing of it is managed any more; NetBird keeps what it has"
        );
    }
    let of = within.as_ref().map(|at| format!(" of {}", at.quoted()));
    let of = of.unwrap_or_default();
    let names: Vec<String> = left.iter().map(|at| format!("{:?}", at.name)).collect();
    let left = match names.len() {
        0 => "none of its objects exists in NetBird".to_owned(),
        number => format!(
            "{} of it still {} in NetBird: {}. Restore the section to keep managing them. Restore it empty to delete those \
             that this tool created.",
            count(number, kind.label(), kind.plural()),
            if number == 1 { "lives" } else { "live" },
            listed(&names)
        ),
    };
    format!(
        "section {:?}{of} {when}, so nothing of it is managed any more; {left}",
        kind.section()
    )
}
