//! Whether every operation can be carried out: found before the first write, all of it at once.

mod account;

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::people;
use super::resolve::Resolved;
use crate::account::Actual;
use crate::base::{did_you_mean, text};
use crate::model::{
    Address, Change, Desired, Impossible, Kind, Logins, Notice, OfObject, Operation, Policy,
    Problem, Protocol, Refers, Resource, Unresolved, Users, hint,
};

/// Finds what a reader should know of the changes, and what makes them impossible.
pub(super) fn check(
    desired: &Desired,
    actual: &Actual,
    changes: &[Change],
    resolved: &Resolved,
) -> (Vec<Notice>, Vec<Problem>) {
    let mut problems = references(changes, resolved, desired, actual);
    let mut notices = Vec::new();
    for change in changes {
        let found = [
            one_rule(change),
            ssh_sources(change),
            no_ssh(change, actual),
            location(change, actual),
            not_there(change, desired, actual),
            protected(change, actual),
            people::refused(change),
            people::taken(change, changes, resolved, actual),
        ];
        let found = found.into_iter().flatten();
        let found = found.chain(account::refused(change, actual));
        problems.extend(found.map(|what| Problem::new(&change.address, what)));
        let told = [look_alike(change, actual), logins(change), fails(change)];
        let told = told.into_iter().flatten();
        notices.extend(told.map(|what| Notice::about(&change.address, what)));
        let blocked = people::blocked(change, actual);
        notices.extend(blocked.map(|what| Notice::about(&change.address, what)));
    }
    problems.extend(account::zone_of_domain(changes, desired, actual));
    problems.extend(people::unclear(desired, actual));
    // what is there would be made again, or would go with what it stands in
    let goes = |at: &Address| {
        let mut of_object = changes.iter().filter(|of| of.address == *at);
        of_object.any(|of| of.operation.live().is_some_and(|live| of.ends(&live.id)))
    };
    let incomplete = actual.incomplete().filter(|(kind, of)| {
        desired.manages(*kind) && desired.declares(&of.address) || goes(&of.address)
    });
    problems.extend(incomplete.map(|(_, problem)| problem));
    (notices, problems)
}

/// Every name stands for exactly one that is live, or made by the plan, and does not go.
fn references(
    changes: &[Change],
    resolved: &Resolved,
    desired: &Desired,
    actual: &Actual,
) -> Vec<Problem> {
    let groups = &actual.groups;
    let made = LazyCell::new(|| {
        let made = resolved.resources.keys();
        let made = made.filter_map(|at| Some((at.kind.referred_as()?, at.name.as_str())));
        made.collect::<BTreeSet<(Refers, &str)>>()
    });
    let going = changes.iter().filter_map(|change| {
        let kind = change.address.kind.referred_as()?;
        Some((kind, actual.label(change.deleted()?)))
    });
    let going: BTreeSet<(Refers, &str)> = going.collect();
    let (mut problems, mut guesses) = (Vec::new(), 0_usize);
    let is_skipped = |at: &Address| resolved.decision(at).is_some_and(|of| of.is_skipped);
    for (address, all) in resolved.entries(desired).filter(|(at, _)| !is_skipped(at)) {
        for (what, name) in all.iter().flat_map(Resource::refers) {
            let problem = match groups.other(what, name) {
                Ok(_) if going.contains(&(what, name)) => Impossible::Goes(what, name.to_owned()),
                Ok(_) => continue,
                Err(Unresolved::Absent(..)) if made.contains(&(what, name)) => continue,
                // what writes such a reference is skipped
                Err(Unresolved::Ambiguous(_, _, ids)) if actual.are_issued(&ids) => continue,
                Err(Unresolved::Absent(..)) => {
                    guesses += made.len() + actual.objects.len();
                    let made = made.iter().filter(|(made, _)| *made == what);
                    let names = groups.other_names(what).chain(made.map(|(_, name)| *name));
                    let names = (guesses <= hint::MAX_GUESSES).then_some(names);
                    let names = names.into_iter().flatten();
                    let hint = match what {
                        Refers::Group => hint::group(name, names),
                        Refers::Resource | Refers::Check => did_you_mean(name, names),
                    };
                    let name = name.to_owned();
                    Impossible::Absent { what, name, hint }
                }
                Err(found) => Impossible::SeveralOf(what, name.to_owned(), found),
            };
            problems.push(Problem::new(address, problem));
        }
    }
    problems
}

/// A policy of an old server with several rules cannot be brought to one: a PUT never takes rules out.
fn one_rule(change: &Change) -> Option<Impossible> {
    let Operation::Update { fields, .. } = &change.operation else {
        return None;
    };
    let rules = fields.iter().find(|change| change.field == "rules")?;
    Some(Impossible::Rules(rules.before.to_string()))
}

/// A zone of which the file says no more than its records has to live, and they are names in it.
fn not_there(change: &Change, desired: &Desired, actual: &Actual) -> Option<Impossible> {
    match change.operation.after()? {
        zone @ Resource::DnsZone(_) if change.operation.live().is_none() => {
            zone.is_only_named().then_some(Impossible::NoSuchZone)
        }
        Resource::DnsRecord(record) => {
            let zone = change.address.parent()?;
            let mut declared = desired.resource(&zone).iter();
            declared.find(|zone| zone.is_only_named())?;
            let Resource::DnsZone(live) = &actual.at(&zone).first()?.resource else {
                return None;
            };
            let domain = live.domain.clone()?;
            let is_in = record.name == domain || record.name.ends_with(&format!(".{domain}"));
            (!is_in).then_some(Impossible::OutsideZone(domain))
        }
        _ => None,
    }
}

/// The server refuses a check of locations while it has no database of them.
fn location(change: &Change, actual: &Actual) -> Option<Impossible> {
    let Resource::PostureCheck(check) = change.operation.outcome()? else {
        return None;
    };
    (actual.lacks_locations && check.needs_locations()).then_some(Impossible::NoLocations)
}

/// A policy of NetBird's SSH may say who of each source group may log in as whom. Where the file does not, the server refuses
/// a source that such a policy says nothing of (docs/netbird-api.md, "Policies: what is accepted").
fn ssh_sources(change: &Change) -> Option<Impossible> {
    change.operation.live()?;
    let Resource::Policy(policy) = change.operation.outcome()? else {
        return None;
    };
    let users = policy.users().filter(|users| !users.is_empty())?;
    let unsaid = policy
        .sources
        .iter()
        .find(|name| !users.contains_key(*name))?;
    Some(Impossible::UnnamedUsers(unsaid.clone()))
}

/// NetBird's SSH and the setting of the clients' version came with one version (docs/netbird-api.md, "Versions").
fn no_ssh(change: &Change, actual: &Actual) -> Option<Impossible> {
    let Resource::Policy(policy) = change.operation.after()? else {
        return None;
    };
    let settings = actual.named(Kind::AccountSettings, "").first();
    let is_old = settings.is_some_and(|live| match &live.resource {
        Resource::AccountSettings(of) => of.auto_update_version.is_none(),
        _ => false,
    });
    (is_old && policy.protocol == Some(Protocol::NetbirdSsh)).then_some(Impossible::NoSsh)
}

/// Who may log in, where a policy becomes one of NetBird's SSH or stops to be one: the server forgets the users of any other
/// protocol (docs/netbird-api.md, "Policies: what is accepted").
fn logins(change: &Change) -> Option<OfObject> {
    let Resource::Policy(after) = change.operation.outcome()? else {
        return None;
    };
    let before = match change.operation.live().map(|live| &live.resource) {
        Some(Resource::Policy(before)) => Some(before),
        _ => None,
    };
    let is_ssh = |policy: &Policy| policy.protocol == Some(Protocol::NetbirdSsh);
    match (before.filter(|before| is_ssh(before)), is_ssh(&after)) {
        (Some(before), false) => Some(OfObject::Logins(match users(before) {
            users if users.is_empty() => Logins::NoMore,
            users => Logins::Forgotten(users),
        })),
        (None, true) => Some(OfObject::Logins(Logins::Of(users(&after)))),
        _ => None,
    }
}

/// Which machines fail a posture check from now on, though it does not name them: who reaches whom does not say that.
fn fails(change: &Change) -> Option<OfObject> {
    let of = |resource: &Resource| match resource {
        Resource::PostureCheck(check) => check.fails(),
        _ => Vec::new(),
    };
    let before = change.operation.live().map(|live| of(&live.resource));
    let mut fails = change.operation.outcome().as_ref().map(of)?;
    fails.retain(|who| !before.iter().flatten().any(|before| before == who));
    (!fails.is_empty()).then_some(OfObject::Fails(fails))
}

fn users(policy: &Policy) -> Vec<Users> {
    let entry = |(group, logins): (&String, &BTreeSet<String>)| Users {
        group: group.clone(),
        logins: logins.iter().cloned().collect(),
    };
    policy.users().into_iter().flatten().map(entry).collect()
}

fn protected(change: &Change, actual: &Actual) -> Option<Impossible> {
    let live = change.operation.live()?;
    let why = actual.protected_groups.get(&live.id)?;
    Some(Impossible::Protected(why.clone()))
}

/// What is there already and looks like a creation, in another spelling of the same letters.
fn look_alike(change: &Change, actual: &Actual) -> Option<OfObject> {
    let address = &change.address;
    let is_new = matches!(change.operation, Operation::Create { .. });
    let mut live = actual.objects.keys();
    let twin = live.find(|at| {
        is_new && at.kind == address.kind && text::look_alike(&at.name, &address.name)
    })?;
    Some(OfObject::LookAlike(twin.name.clone()))
}
