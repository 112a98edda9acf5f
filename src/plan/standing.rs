//! Whose an object is: by the time in its id, its name, and its form.
//!
//! Where names are not unique, name and time are not enough: a colleague's second route under the network id of ours is as
//! old as ours. So the form has to be one that the file could have made and a version did declare (docs/ownership.md).

use super::Given;
use crate::actual::Actual;
use crate::address::Address;
use crate::id::Id;
use crate::kind::{Form, Kind, Live, Resource, Shape, Tie};
use crate::ledger::{Ledger, Proof};
use crate::members;

/// Whose an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// We made it, and it is as a version of the file had it.
    Ours,
    /// It was declared once, and older: it was taken over.
    Older,
    /// It was declared once, and newer: made by hand later.
    Newer,
    /// We made it, and somebody changed it since into what the file never said.
    Changed,
    /// It was declared once, and its id does not say when it was made.
    Undated,
    /// It bears the name, and its form says that we did not make it.
    Theirs,
    /// Its name was never declared, or nothing tells.
    Unproved,
}

/// What the server makes by itself for a temporary access (docs/netbird-api.md, "Peers").
const TEMPORARY: &str = "Temporary access policy for peer ";

/// Returns whether an object is never deleted, whatever the flags.
pub(super) fn is_protected(kind: Kind, live: &Live, actual: &Actual) -> bool {
    match kind {
        Kind::Group => actual.protected_groups.contains_key(&live.id),
        Kind::Policy => live.name.starts_with(TEMPORARY),
        _ => false,
    }
}

/// Returns whose an object is that bears the name of `address`.
pub(super) fn standing(given: Given, address: &Address, live: &Live) -> Standing {
    let ledger = &given.options.ledger;
    let (kind, made) = (address.kind, live.id.created_at());
    let names = |peer: &Id| members::names_of(peer, given.actual);
    let form = live.resource.form().with_names_of_peers(names);
    let told = || ledger.told(address, made, &form);
    let shape = shape(ledger, address, &form);
    // NetBird keeps one rule of what is sent, so no version of ours ever made several
    let several_rules = has_rules(live);
    match (ledger.proof(address, made), shape) {
        (Proof::Never, _) => Standing::Unproved,
        _ if several_rules => Standing::Theirs,
        (Proof::NoIdTime, _) => Standing::Undated,
        (Proof::Ours, _) if form.ties.is_empty() => Standing::Ours,
        (Proof::Older, _) if form.ties.is_empty() => Standing::Older,
        (Proof::Ours, Shape::Plain) => match (kind, told()) {
            // names of routes are shared on purpose, so both ends have to be those of a version
            (Kind::Route, told) if told.other == 0 => Standing::Ours,
            (Kind::Route, told) if told.same > 0 => Standing::Changed,
            (Kind::Route, _) => Standing::Theirs,
            // a policy's groups are edited by hand often enough
            (_, told) if told.same > 0 => Standing::Ours,
            _ => Standing::Changed,
        },
        (Proof::Ours, Shape::More) if told().same > 0 => Standing::Changed,
        // the apply of a version made it, and nobody made another one by hand within that hour
        (Proof::Ours, Shape::Elsewhere) if told().is_fresh && told().same > 0 => Standing::Changed,
        (Proof::Ours, _) => Standing::Theirs,
        (Proof::Older, Shape::Plain | Shape::More) if told().same > 0 => Standing::Older,
        (Proof::Older, _) => Standing::Theirs,
        (Proof::Newer, Shape::Plain) => Standing::Newer,
        (Proof::Newer, Shape::More | Shape::Elsewhere) => Standing::Theirs,
    }
}

/// Returns what it took to say an object in the versions of its entry.
fn shape(ledger: &Ledger, address: &Address, form: &Form) -> Shape {
    let is_otherwise = |tie: &Tie| ledger.was_said_otherwise(address, tie.end);
    match form.shape {
        // no version could have made it
        Shape::Plain if form.ties.iter().any(is_otherwise) => Shape::Elsewhere,
        Shape::Plain if !form.more.iter().all(|end| ledger.was_said(address, *end)) => Shape::More,
        shape => shape,
    }
}

/// Returns whose each of the namesakes is. We make as many objects of a name as an entry has: where those are as declared, what
/// is otherwise is none that was changed; and of more that could have been changed none is proved to be. Ours of a name that passed
/// on to another entry went along.
pub(super) fn standings(given: Given, address: &Address, namesakes: &[Live]) -> Vec<Standing> {
    let ledger = &given.options.ledger;
    let each = namesakes.iter();
    let each = each.map(|live| standing(given, address, live));
    let mut all: Vec<Standing> = each.collect();
    // that it was made soon after a version is little, and nothing where others stand beside it
    for (one, live) in all.iter_mut().zip(namesakes) {
        let elsewhere = || shape(ledger, address, &live.resource.form()) == Shape::Elsewhere;
        if *one == Standing::Changed && namesakes.len() > 1 && elsewhere() {
            *one = Standing::Theirs;
        }
    }
    let number = |wanted| all.iter().filter(|one| **one == wanted).count();
    let (made, most) = (number(Standing::Ours), ledger.most(address));
    let is_passed_on = ledger.is_passed_on(address);
    if is_passed_on || made >= most || made + number(Standing::Changed) > most {
        for one in all.iter_mut().filter(|one| **one == Standing::Changed) {
            *one = Standing::Theirs;
        }
    }
    all
}

/// Returns for each of several objects of one name which of the namesakes it stands for, by index: the one that connects the
/// same; else, changed in place, one that we made or that fits it best, and that stands for nothing else. `waits`: one more has
/// to wait, so nothing tells what is left.
pub(super) fn assign(
    given: Given,
    address: &Address,
    wanted: &[Resource],
    namesakes: &[Live],
    waits: bool,
) -> Vec<Option<usize>> {
    let standings = standings(given, address, namesakes);
    let mut assigned = vec![None; wanted.len()];
    let all = [Fit::Exact, Fit::Before, Fit::Partly, Fit::ByName];
    let told = if waits { &all[..1] } else { &all[..] };
    for fit in told {
        for (index, one) in wanted.iter().enumerate() {
            if assigned[index].is_some() {
                continue;
            }
            let form = one.form();
            let fits = |at: &usize| {
                let live = (&namesakes[*at], standings[*at]);
                !assigned.contains(&Some(*at))
                    && one_of_several(given, address, live, &form) == *fit
            };
            let is_not_ours = |at: &usize| standings[*at] != Standing::Ours;
            let mut found: Vec<usize> = (0..namesakes.len()).filter(fits).collect();
            found.sort_by_key(is_not_ours); // stable: of equal ones the oldest stays
            let mut found = found.into_iter();
            // of several that fit no better than others nobody can tell which is meant, so none is
            assigned[index] = match (found.next(), found.next()) {
                (first, Some(_)) if *fit <= Fit::Before => first,
                (_, Some(_)) => None,
                (only, None) => only,
            };
        }
    }
    assigned
}

/// How well an object fits an entry that can have several of its name.
fn one_of_several(
    given: Given,
    address: &Address,
    (live, standing): (&Live, Standing),
    wanted: &Form,
) -> Fit {
    let form = live.resource.form();
    let common = form.in_common(wanted);
    match standing {
        _ if common == wanted.ties.len() => Fit::Exact,
        // without a history each of them can be what an earlier version of the file made
        _ if !given.options.ledger.is_known() || standing == Standing::Ours => Fit::Before,
        Standing::Changed => Fit::Partly,
        Standing::Theirs if given.made(address, live) => Fit::Not,
        _ if common > 0 && form.shape == Shape::Plain => Fit::Partly,
        // a version declared it at one end at least
        Standing::Older | Standing::Undated => Fit::ByName,
        _ => Fit::Not,
    }
}

/// Returns which of the namesakes the entry stands for, by index: those that fit best, all of them alike. None where others
/// made them, in a form that no entry can stand for.
pub(super) fn claim(
    given: Given,
    address: &Address,
    entry: &Resource,
    namesakes: &[Live],
) -> Vec<usize> {
    let wanted = entry.form();
    let standings = standings(given, address, namesakes);
    let fit = |(live, standing): (&Live, Standing)| {
        let form = live.resource.form();
        let common = form.in_common(&wanted);
        let same_ends = form.ties.iter().zip(&wanted.ties);
        let is_alike = same_ends
            .clone()
            .all(|(live, wanted)| live.end == wanted.end);
        let holds_more = !form.more.is_subset(&wanted.more);
        match form.shape {
            Shape::Elsewhere if standing == Standing::Changed => Fit::Partly,
            // several rules are what an old server's policy can have become: that is an error with a way out
            Shape::Elsewhere if given.made(address, live) && !has_rules(live) => Fit::Not,
            Shape::Elsewhere => Fit::ByName,
            _ if is_alike && !holds_more => Fit::Exact,
            _ if is_alike && common == wanted.ties.len() => Fit::Before,
            _ if is_alike => Fit::Partly,
            // to a resource or a peer, where the entry has groups, or the other way round
            _ if matches!(standing, Standing::Ours | Standing::Changed) => Fit::Partly,
            _ if given.made(address, live) => Fit::Not,
            _ => Fit::ByName,
        }
    };
    let fits: Vec<Fit> = namesakes.iter().zip(standings).map(fit).collect();
    let best = fits.iter().min().copied().unwrap_or(Fit::Not);
    let these: Vec<usize> = (0..fits.len()).filter(|at| fits[*at] == best).collect();
    // of several that fit no better than others nobody can tell which is meant, so none is
    if best == Fit::Not || (best >= Fit::Partly && these.len() > 1) {
        Vec::new()
    } else {
        these
    }
}

fn has_rules(live: &Live) -> bool {
    matches!(&live.resource, Resource::Policy(policy) if policy.rules.0 > 1)
}

/// How well an object fits an entry, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It connects what the entry says.
    Exact,
    /// It connects what an earlier version said, or holds more besides.
    Before,
    /// At one end.
    Partly,
    /// It bears the name, and may be taken over.
    ByName,
    /// Not at all.
    Not,
}
