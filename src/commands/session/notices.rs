//! What a plan's reader is told beside the plan: the file's notices, new recipients, agreements to deletions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{Actual, Address, History, Id, Kind, Notice, Plan, Recipients, Session, Valid, files};
use crate::base::{Code, nearest};
use crate::model::{Change, OfKey, OfRun, Operation};
use crate::plan::Protected;

/// The notices of a valid file that a plan tells, too. Whether a group or a network resource that is not declared exists the
/// plan knows, and is not a plan where it does not; whom a member means it knows as well.
pub(super) fn of_planned_file(valid: &Valid) -> impl Iterator<Item = Notice> + '_ {
    use Code::{OddMember, UndeclaredGroup, UndeclaredResource};
    let of_plan = [UndeclaredGroup, UndeclaredResource, OddMember];
    of_file(valid).filter(move |notice| !of_plan.contains(&notice.code))
}

/// The notices of a valid file.
pub(in crate::commands) fn of_file(valid: &Valid) -> impl Iterator<Item = Notice> + '_ {
    let notices = valid.notices.iter();
    notices.map(|notice| Notice::of_file(&valid.file, notice))
}

/// Returns whether a notice of the file tells what is taken when an object is created, and the plan creates none: then NetBird has a
/// value of its own there.
pub(super) fn is_past(notice: &Notice, plan: &Plan, valid: &Valid) -> bool {
    let Some(place) = &notice.place else {
        return false;
    };
    use Operation::{Delete, Update};
    let creates = |change: &&Change| !matches!(change.operation, Update { .. } | Delete { .. });
    let mut created = plan.changes.iter().filter(creates);
    let is_it = |change: &Change| {
        let entry = valid.position_of(&change.address);
        entry.is_some_and(|entry| (entry.line, entry.column) == (place.line, place.column))
    };
    matches!(notice.code, Code::RouteForAll | Code::KeyWithoutLimit) && !created.any(is_it)
}

/// Says of the notices of a plan where in the file stands what they are about.
pub(super) fn place(notices: &mut [Notice], valid: &Valid) {
    for notice in notices {
        let Some(address) = &notice.about else {
            continue;
        };
        let member = |name| valid.places.name(address, "peers", name);
        let place = notice.name.as_deref().and_then(member);
        // a name in a list is looked for; an entry stands under its own
        notice.file = place.map(|_| valid.file.clone());
        notice.place = place.or_else(|| valid.position_of(address)).cloned();
    }
}

/// Names what is protected and is nowhere. Of a kind that the file does not manage nothing is fetched, and nothing is deleted.
pub(super) fn protects_nothing(session: &Session, protected: &Protected) -> Vec<Notice> {
    let (desired, actual) = (&session.valid.desired, &session.actual);
    let idle = |(named, meant): (&Address, &BTreeMap<Id, Option<Id>>)| {
        let kind = named.kind;
        let is_beside = |at: &&Address| {
            at.kind == kind && (named.within.is_none() || at.within == named.within)
        };
        let addresses = desired.entries.keys().chain(actual.objects.keys());
        let objects = addresses.filter(is_beside);
        let machines = actual.peers.iter().filter(|_| kind.enrolls());
        let machines = machines.map(|peer| peer.name.as_str());
        let names = objects.map(|at| at.name.as_str()).chain(machines);
        let names: BTreeSet<&str> = names.collect();
        let is_fetched = desired.manages(kind) || !names.is_empty();
        let is_known = names.contains(named.name.as_str()) || !meant.is_empty();
        (is_fetched && !is_known).then(|| {
            let near = nearest(&named.name, names).map(str::to_owned);
            Notice::general(OfRun::ProtectsNothing(named.clone(), near))
        })
    };
    protected.iter().filter_map(idle).collect()
}

/// Names the recipients of single keys that these keys do not have in the base branch's file (without a pull request: that of
/// the newest commit), and the keys that live and stay sealed for others.
pub(super) fn recipients_of_keys(session: &Session, plan: &Plan) -> Vec<Notice> {
    let history = &session.history;
    if history.tip().is_none() {
        return Vec::new();
    }
    let base = history.base(&session.run.file).unwrap_or_default();
    let about = |name: &String, what| Notice::about(&Address::new(Kind::SetupKey, name), what);
    let mut notices = Vec::new();
    for (name, key) in session.valid.desired.setup_keys() {
        let before = base.setup_key(name).map(|key| &key.sealed_for);
        for (whole, who) in &key.sealed_for.keys {
            if !before.is_some_and(|before| before.keys.contains_key(whole)) {
                notices.push(about(name, OfKey::NewRecipient(who.clone())));
            }
        }
        let waits = plan.waiting_keys.values().any(|waiting| waiting == name);
        if waits && before.is_some_and(|before| *before != key.sealed_for) {
            notices.push(about(name, OfKey::RecipientsChanged));
        }
    }
    notices
}

/// A token dies with the access of whose it is, which for a person is sooner than anybody thinks of the jobs.
pub(in crate::commands) fn of_token(actual: &Actual) -> Option<Notice> {
    let person = actual.me.as_ref().filter(|me| !me.is_service_user)?;
    Some(Notice::general(OfRun::PersonsToken(person.name.clone())))
}

/// Names the recipients in files of the checkout that the base branch does not have: who could open new keys after this.
pub(super) fn new_recipients(of: &[PathBuf], history: &History) -> Vec<Notice> {
    let mut notices = Vec::new();
    if history.tip().is_none() {
        return notices;
    }
    for file in of {
        let now = history.recipients.get(file).cloned();
        let now = now.or_else(|| files::read(file, files::SMALL).ok());
        let now =
            now.and_then(|text| Recipients::parse_file(&file.display().to_string(), &text).ok());
        let base = history.base_recipients(file).unwrap_or_default();
        let base = Recipients::parse_file("the base branch", &base).unwrap_or_default();
        let new = now.map(|now| now.not_in(&base)).unwrap_or_default();
        notices.extend(new.iter().map(|recipient| {
            Notice::general(OfRun::NewRecipient {
                recipient: recipient.to_string(),
                file: file.display().to_string(),
            })
        }));
    }
    notices
}
