//! What entries say of people: which live user each one means, and what NetBird would refuse of them. Nobody is made, let in
//! or deleted by an entry.

use std::collections::BTreeSet;

use super::Given;
use super::resolve::Resolved;
use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::Change;
use crate::model::kind::{Kind, Live, Resource, User, differences};
use crate::model::notice::{Notice, OfUser};
use crate::model::problem::{Impossible, Problem, Protection};
use crate::wire::api::objects;

/// Returns the live users that an entry can mean; one, where it can be told.
fn meant<'a>(address: &Address, user: &User, actual: &'a Actual) -> Vec<&'a Live> {
    let is_meant = |live: &&Live| {
        let wanted = user.identity_provider.as_ref();
        wanted.is_none_or(|wanted| provider(live, actual).contains(&wanted.as_str()))
    };
    let all: Vec<&Live> = actual.at(address).iter().filter(is_meant).collect();
    // the second login of a person, which nobody let in, is not meant
    let is_in = |live: &&Live| {
        let answer = live.wire.read::<objects::User>();
        !answer.is_ok_and(|answer| answer.pending_approval)
    };
    let there: Vec<&Live> = all.iter().copied().filter(is_in).collect();
    if there.is_empty() { all } else { there }
}

/// Returns the identity provider that a user comes by: its name, and its id.
fn provider<'a>(live: &'a Live, actual: &'a Actual) -> [&'a str; 2] {
    let id = match &live.resource {
        Resource::User(user) => user.identity_provider.as_deref(),
        _ => None,
    };
    let id = id.unwrap_or_default();
    let name = actual.identity_providers.get(id);
    [name.map_or(id, String::as_str), id]
}

/// Returns an entry as it is compared with the user that it means. Where nothing is done about it: what is to be said, if
/// anything.
pub(super) fn told(
    address: &Address,
    all: &[Resource],
    actual: &Actual,
) -> Result<Resource, Option<OfUser>> {
    let [Resource::User(user)] = all else {
        return Err(None);
    };
    let [live] = meant(address, user, actual)[..] else {
        let is_absent = actual.at(address).is_empty();
        return Err(is_absent.then_some(OfUser::Absent));
    };
    let answer: objects::User = live.wire.read().map_err(|_| None)?;
    if answer.pending_approval {
        return Err(Some(OfUser::Pending));
    }
    let mut user = User {
        id: Some(live.id.clone()),
        ..user.clone()
    };
    let (mut issued, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for id in &answer.auto_groups {
        let name = actual.groups.name(id);
        match actual.protected_groups.get(id) {
            Some(Protection::Issued(_)) => drop(issued.insert(name)),
            Some(Protection::All) => drop(refused.insert(name)),
            None if !actual.groups.knows(id) => drop(refused.insert(name)),
            None => {}
        }
    }
    let is_same = differences(&user.clone().into(), &live.resource).is_empty();
    match &mut user.auto_groups {
        // the identity provider alone says who is in these, whatever the file says
        Some(groups) => {
            let is_issued = |name: &String| actual.are_issued(actual.groups.id(name));
            groups.retain(|name| actual.groups.id(name).is_err() || !is_issued(name));
            groups.extend(issued);
        }
        None if refused.is_empty() || is_same => {}
        None => return Err(Some(OfUser::Refused(refused.into_iter().collect()))),
    }
    Ok(user.into())
}

/// Finds what cannot be told of people, and what of the changes NetBird or this program refuses.
pub(super) fn problems(given: Given, changes: &[Change], resolved: &Resolved) -> Vec<Problem> {
    let (desired, actual) = (given.desired, given.actual);
    let entries = desired.resources().filter(|(at, _)| at.kind == Kind::User);
    let unclear = entries.filter_map(|(address, all)| {
        let [Resource::User(user)] = all else {
            return None;
        };
        let providers = |all: Vec<&Live>| -> Vec<String> {
            let names = all
                .into_iter()
                .map(|live| provider(live, actual)[0].to_owned());
            names.collect()
        };
        let what = match meant(address, user, actual)[..] {
            [_] => return None,
            [] if actual.at(address).is_empty() => return None,
            [] => {
                let wanted = user.identity_provider.clone()?;
                Impossible::OtherProvider(wanted, providers(actual.at(address).iter().collect()))
            }
            ref several => Impossible::SeveralUsers(providers(several.to_vec())),
        };
        Some(Problem::new(address, what))
    });
    let of_people = changes.iter().filter(|of| of.address.kind == Kind::User);
    let refused = of_people.flat_map(|change| {
        let live = change.operation.live();
        let answer = live.and_then(|live| live.wire.read::<objects::User>().ok());
        let is_me = answer.as_ref().is_some_and(|answer| answer.is_current);
        let is_owner = answer.is_some_and(|answer| answer.role == "owner");
        let own = is_me.then_some(Impossible::OwnUser);
        let owner = is_owner.then_some(Impossible::OwnerUser);
        let found = own
            .or(owner)
            .into_iter()
            .chain(taken(change, changes, resolved, actual));
        let found: Vec<Problem> = found
            .map(|what| Problem::new(&change.address, what))
            .collect();
        found
    });
    unclear.chain(refused).collect()
}

/// Whether a group is taken from a user, and from the user's machines by that, and lists one of them.
fn taken(
    change: &Change,
    changes: &[Change],
    resolved: &Resolved,
    actual: &Actual,
) -> Option<Impossible> {
    let live = change.operation.live()?;
    let (Resource::User(before), Resource::User(after)) =
        (&live.resource, change.operation.outcome()?)
    else {
        return None;
    };
    if !actual.propagates_groups(changes) {
        return None;
    }
    let after = after.auto_groups.unwrap_or_default();
    let lost = before
        .auto_groups
        .iter()
        .flatten()
        .filter(|name| !after.contains(*name));
    let is_of_user = |id: &&Id| {
        let peer = actual.peers.get(id);
        peer.is_some_and(|peer| peer.user_id == live.id.0)
    };
    lost.filter_map(|group| {
        let members = resolved.members.get(group)?;
        let mut machines = members.meant.iter().map(|(_, id)| id);
        let machine = machines.find(is_of_user)?;
        Some(Impossible::TakenAndListed(
            group.clone(),
            actual.peer_label(machine),
        ))
    })
    .next()
}

/// Says of whom a change locks out that the user's machines go along.
pub(super) fn blocked(changes: &[Change], actual: &Actual) -> Vec<Notice> {
    let notice = |change: &Change| {
        let mut fields = change.operation.fields().iter();
        fields.find(|of| of.field == "blocked" && of.after == true)?;
        let live = change.operation.live()?;
        let machines = actual.peers.iter().filter(|peer| peer.user_id == live.id.0);
        Some(Notice::about(
            &change.address,
            OfUser::Blocked(machines.count()),
        ))
    };
    let of_people = changes.iter().filter(|of| of.address.kind == Kind::User);
    of_people.filter_map(notice).collect()
}
