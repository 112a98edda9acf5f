//! What of the live account is ours to touch: what stands for a declared entry, what is pruned, what is left alone.
//!
//! It runs before the diff, so that the diff needs no flags. The proof of what is ours is the file's git history beside
//! the creation time in an object's id: docs/ownership.md. What is decided about setup keys is claimed as it is.

mod sections;

use std::collections::{BTreeMap, BTreeSet};

use super::resolve::Resolved;
use super::standing::{self, Standing, is_protected};
use super::twins::are_twins;
use crate::actual::Actual;
use crate::address::Address;
use crate::change::Change;
use crate::code::Code;
use crate::desired::Desired;
use crate::held::{Held, Why};
use crate::id::Id;
use crate::keys::Decisions;
use crate::kind::{Kind, Live, Resource};
use crate::ledger::{Ledger, Proof};
use crate::notice::Notice;
use crate::options::{Options, Prune};
use crate::problem::{Impossible, Problem};
use crate::reason::Reason;
use crate::text::listed;

pub use sections::{Gone, gone};

/// The result: live objects by what is to become of them.
#[derive(Debug, Default)]
pub(super) struct Claimed<'a> {
    /// The live object of each declared entry, but for setup keys.
    pub(super) managed: BTreeMap<Address, &'a Live>,
    /// Entries that stand for several objects.
    pub(super) ambiguous: BTreeSet<Address>,
    /// What goes.
    pub(super) pruned: Vec<Change>,
    /// Was declared once and stays all the same.
    pub(super) held: Vec<Held>,
    /// Left alone, of the kinds that the file manages.
    pub(super) unmanaged: BTreeSet<Address>,
    /// Sections that the file no longer has.
    pub(super) gone_sections: Vec<Gone>,
    /// What a reader should know.
    pub(super) notices: Vec<Notice>,
    /// Names that stand for several objects.
    pub(super) problems: Vec<Problem>,
}

/// What is said of an object that a file declares for the first time.
const TAKES_OVER: &str = "lives in NetBird already: the file takes it over";

/// Sorts the live objects of every kind.
pub(super) fn claim<'a>(
    desired: &Desired,
    resolved: &Resolved,
    actual: &'a Actual,
    options: &'a Options,
) -> Claimed<'a> {
    let referenced = references(desired);
    let gone_sections = gone(desired, actual, &options.ledger);
    let notices = issued_twins(desired, actual, &referenced).into_iter();
    let mut claims = Claims {
        actual,
        options,
        claimed: Claimed {
            notices: notices
                .chain(gone_sections.iter().map(Gone::notice))
                .collect(),
            gone_sections,
            ..Claimed::default()
        },
    };
    claims.keys(&resolved.decisions);
    for (address, namesakes) in &actual.objects {
        if let Some(resource) = resolved.resources.get(address) {
            claims.declared(address, resource, namesakes);
        } else if desired.manages(address.kind) && !desired.declares(address) {
            let is_referenced = address.kind == Kind::Group && referenced.contains(&address.name);
            let standings = standing::standings(&options.ledger, address, namesakes);
            for (live, standing) in namesakes.iter().zip(standings) {
                claims.undeclared((address, live), standing, is_referenced);
            }
        }
    }
    claims.claimed
}

/// Returns the names of all groups that the file refers to.
fn references(desired: &Desired) -> BTreeSet<String> {
    let auto = desired
        .setup_keys()
        .flat_map(|(_, key)| key.auto_groups.iter().flatten());
    let rest = desired.resources();
    let rest = rest.flat_map(|(_, resource)| resource.references());
    auto.cloned().chain(rest.map(str::to_owned)).collect()
}

/// Which group a name of the file means where an identity provider made one of that name too.
fn issued_twins(desired: &Desired, actual: &Actual, referenced: &BTreeSet<String>) -> Vec<Notice> {
    let notice = |(id, issued): (&Id, &String)| {
        let (_, twin) = actual.each().find(|(_, live)| live.id == *id)?;
        let address = Address::new(Kind::Group, &twin.name);
        let is_named = desired.declares(&address) || referenced.contains(&twin.name);
        let text = format!(
            "is the name of two groups in NetBird: the file means the one that the API made, and leaves {id}, issued by \
             {issued}, alone"
        );
        is_named.then(|| Notice::about(Code::Namesake, &address, text))
    };
    actual.twins.iter().filter_map(notice).collect()
}

/// The claims, as they are made.
struct Claims<'a> {
    actual: &'a Actual,
    options: &'a Options,
    claimed: Claimed<'a>,
}

impl<'a> Claims<'a> {
    /// What is decided about the setup keys, but for what differs.
    fn keys(&mut self, decisions: &Decisions) {
        let Claimed {
            pruned,
            notices,
            problems,
            ..
        } = &mut self.claimed;
        for (name, decision) in decisions {
            let address = Address::new(Kind::SetupKey, name);
            if decision.takes_over && is_new(&self.options.ledger, &address) {
                let text = format!("{TAKES_OVER}, whose secret was never sealed here");
                notices.push(Notice::about(Code::TakesOver, &address, text));
            }
            notices.extend(decision.notices.iter().cloned());
            if !decision.ambiguous.is_empty() {
                problems.push(ambiguous(&address, &decision.ambiguous));
            }
            let going = decision.deletions.iter();
            pruned.extend(going.map(|(live, why)| Change::deletion(&address, live, why.clone())));
        }
    }

    /// Namesakes of a declared entry: the one that it stands for, and the others.
    fn declared(&mut self, address: &Address, desired: &Resource, namesakes: &'a [Live]) {
        let Claims {
            actual, options, ..
        } = *self;
        let indices = standing::claim(&options.ledger, address, desired, namesakes);
        let (these, others): (Vec<(usize, &Live)>, _) = namesakes
            .iter()
            .enumerate()
            .partition(|(index, _)| indices.contains(index));
        let others: Vec<&Live> = others.into_iter().map(|(_, live)| live).collect();
        self.beside(address, &others);
        let these: Vec<&Live> = these.into_iter().map(|(_, live)| live).collect();
        let [oldest, later @ ..] = &these[..] else {
            return;
        };
        // two runs at once make the same object twice, in what the file leaves open too; who came into a group since is no
        // difference, since members move
        let all_equal = || {
            let equal = |live: &&Live| live.resource == oldest.resource;
            address.kind == Kind::Group || later.iter().all(equal)
        };
        let one_is_meant =
            later.is_empty() || (are_twins(address, &these, actual, options) && all_equal());
        let claimed = &mut self.claimed;
        if !one_is_meant {
            claimed
                .problems
                .push(ambiguous(address, these.iter().copied()));
            claimed.ambiguous.insert(address.clone());
            return;
        }
        let made_it = |live: &Live| {
            let made = live.id.created_at();
            options.ledger.proof(address.kind, &address.name, made) == Proof::Ours
        };
        if is_new(&options.ledger, address) && !made_it(oldest) {
            let notice = Notice::about(Code::TakesOver, address, TAKES_OVER);
            claimed.notices.push(notice);
        }
        claimed.managed.insert(address.clone(), oldest);
        // a group goes once everything has moved: `plan::twins`
        let surplus = later.iter().filter(|_| address.kind != Kind::Group);
        let surplus = surplus.map(|live| Change::deletion(address, live, Reason::Second));
        claimed.pruned.extend(surplus);
    }

    /// Namesakes of a declared entry that the entry does not stand for.
    fn beside(&mut self, address: &Address, others: &[&Live]) {
        let goes = |live: &&&Live| {
            self.options.prune == Prune::All && !is_protected(address.kind, live, self.actual)
        };
        let (pruned, left): (Vec<&Live>, Vec<&Live>) = others.iter().partition(goes);
        let claimed = &mut self.claimed;
        let goes = |live| Change::deletion(address, live, Reason::NotDeclared);
        claimed.pruned.extend(pruned.into_iter().map(goes));
        if left.is_empty() {
            return;
        }
        let words = |live: &&Live| format!("{} ({})", live.id, live.resource.form_in_words());
        let text = format!(
            "has a namesake in NetBird that is not this file's and is left alone: {}",
            listed(&left.iter().map(words).collect::<Vec<_>>())
        );
        let notice = Notice::about(Code::Namesake, address, text);
        claimed.notices.push(notice);
        claimed.unmanaged.insert(address.clone());
    }

    fn undeclared(
        &mut self,
        (address, live): (&Address, &Live),
        standing: Standing,
        is_referenced: bool,
    ) {
        let Claims {
            actual,
            options,
            claimed,
        } = self;
        let protected = is_protected(address.kind, live, actual);
        let mut goes = |why| claimed.pruned.push(Change::deletion(address, live, why));
        let why = match standing {
            Standing::Older => Some(Why::Older),
            Standing::Newer => Some(Why::Newer),
            Standing::Changed => Some(Why::Changed),
            Standing::Undated => Some(Why::Undated),
            Standing::Ours | Standing::Foreign | Standing::Unproved => None,
        };
        match (options.prune, standing, why) {
            _ if protected => {}
            (Prune::Owned | Prune::All, Standing::Ours, _) => {
                return goes(Reason::NoLongerDeclared { agreed: false });
            }
            // what the file refers to and never declared is somebody else's, whatever the flags
            (Prune::All, ..) if is_referenced => {}
            (Prune::All, ..) => return goes(Reason::NotDeclared),
            (Prune::Owned, _, Some(_)) if options.release.contains(&live.id) => {
                return goes(Reason::NoLongerDeclared { agreed: true });
            }
            (Prune::Owned, _, Some(why)) => {
                return claimed.held.push(Held::new(address, live, why));
            }
            (Prune::Owned, _, None) | (Prune::None, ..) => {}
        }
        let is_all = live.name == crate::kind::ALL && protected;
        // of keys only those that can still be used are worth a word
        let is_dead_key = actual.keys.get(&live.id).is_some_and(|key| !key.valid);
        if !is_all && !is_dead_key {
            claimed.unmanaged.insert(address.clone());
        }
    }
}

/// Whether the newest version of the file, or the working file alone, is the first that declares the entry.
fn is_new(ledger: &Ledger, address: &Address) -> bool {
    let newest = ledger.commits().last().map(|commit| commit.begins);
    let spans = ledger.spans(address.kind, &address.name);
    ledger.is_known()
        && match spans.as_slice() {
            [] => !ledger.was_declared(address.kind, &address.name),
            [only] => only.to.is_none() && Some(only.from) == newest,
            _ => false,
        }
}

/// The problem of a declared name that stands for several live objects.
fn ambiguous<'a>(address: &Address, namesakes: impl IntoIterator<Item = &'a Live>) -> Problem {
    let ids = namesakes.into_iter().map(|live| live.id.clone());
    Problem::new(address, Impossible::Ambiguous(ids.collect()))
}

#[cfg(test)]
mod tests;
