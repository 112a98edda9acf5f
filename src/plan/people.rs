//! What entries say of people: which live user each one means, and what NetBird would refuse of them. Nobody is made, let in
//! or deleted by an entry.

use std::collections::BTreeSet;

use super::resolve::Resolved;
use crate::account::Actual;
use crate::base::Id;
use crate::model::{
    Address, Change, Desired, Impossible, Kind, Live, OfUser, Problem, Protection, Resource, User,
    differences,
};
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

/// Finds the entries of which it cannot be told whom they mean.
pub(super) fn unclear(desired: &Desired, actual: &Actual) -> Vec<Problem> {
    let entries = desired.entries.iter();
    let unclear = entries.filter_map(|(address, all)| {
        let [Resource::User(user)] = &all[..] else {
            return None;
        };
        let providers = |all: &[&Live]| -> Vec<String> {
            let names = all.iter().map(|live| provider(live, actual)[0].to_owned());
            let names: BTreeSet<String> = names.collect();
            names.into_iter().collect()
        };
        let namesakes = Vec::from_iter(actual.at(address));
        let what = match &meant(address, user, actual)[..] {
            [_] => return None,
            [] if namesakes.is_empty() => return None,
            [] => {
                let wanted = user.identity_provider.clone()?;
                Impossible::OtherProvider(wanted, providers(&namesakes))
            }
            several => Impossible::SeveralUsers(providers(several)),
        };
        Some(Problem::new(address, what))
    });
    unclear.collect()
}

/// Whom this program does not change: its own user, and the owner, whom NetBird protects.
pub(super) fn refused(change: &Change) -> Option<Impossible> {
    let live = change.operation.live()?;
    let answer = live.wire.read::<objects::User>();
    let user = answer.ok().filter(|_| change.address.kind == Kind::User)?;
    let owner = (user.role == "owner").then_some(Impossible::OwnerUser);
    user.is_current.then_some(Impossible::OwnUser).or(owner)
}

/// Whether a group is taken from a user, and from the user's machines by that, and lists one of them.
pub(super) fn taken(
    change: &Change,
    changes: &[Change],
    resolved: &Resolved,
    actual: &Actual,
) -> Option<Impossible> {
    let live = change.operation.live()?;
    let (Resource::User(before), Some(Resource::User(after))) =
        (&live.resource, change.operation.outcome())
    else {
        return None;
    };
    if !actual.propagates_groups(changes) {
        return None;
    }
    let after = after.auto_groups.unwrap_or_default();
    let lost = before.auto_groups.iter().flatten();
    let mut lost = lost.filter(|name| !after.contains(*name));
    let is_of_user = |id: &&Id| {
        let peer = actual.peers.get(id);
        peer.is_some_and(|peer| peer.user_id == live.id.0)
    };
    lost.find_map(|group| {
        let mut machines = resolved.members.get(group)?.meant.iter().map(|(_, id)| id);
        let machine = actual.peer_label(machines.find(is_of_user)?);
        Some(Impossible::TakenAndListed(group.clone(), machine))
    })
}

/// Says of whom a change locks out that the user's machines go along.
pub(super) fn blocked(change: &Change, actual: &Actual) -> Option<OfUser> {
    let live = change.operation.live()?;
    let mut fields = change.operation.fields().iter();
    let is_user = change.address.kind == Kind::User;
    fields.find(|of| is_user && of.field == "blocked" && of.after == true)?;
    let machines = actual.peers.iter().filter(|peer| peer.user_id == live.id.0);
    Some(OfUser::Blocked(machines.count()))
}
