//! The event log: newest first, 10,000 at most, all of `meta` texts.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use crate::clock;

/// No answer holds more.
const WINDOW: usize = 10_000;

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/events", Module::Events, list),
    route("GET", "/events/audit", Module::Events, list),
];

#[derive(Clone)]
struct Event {
    number: u64,
    timestamp: Timestamp,
    code: String,
    initiator: String,
    target: String,
    meta: Value,
    /// How many more answers go without it.
    hidden: u32,
}

/// All events, the latest written last.
#[derive(Clone, Default)]
pub(super) struct Events {
    written: Vec<Event>,
    last_number: u64,
    off: bool,
    delay: u32,
}

impl Events {
    pub(super) fn record(
        &mut self,
        timestamp: Timestamp,
        initiator: &str,
        code: &str,
        target: &str,
        meta: Value,
    ) {
        if self.off {
            return;
        }
        self.last_number += 1;
        self.written.push(Event {
            number: self.last_number,
            timestamp,
            code: code.to_owned(),
            initiator: initiator.to_owned(),
            target: target.to_owned(),
            meta,
            hidden: self.delay,
        });
    }

    /// Switches the log on or off. While it is off nothing is written, and the list is empty.
    pub(super) fn switch(&mut self, on: bool) {
        self.off = !on;
    }

    /// Drops all but those that were written last.
    pub(super) fn keep(&mut self, count: usize) {
        let dropped = self.written.len().saturating_sub(count);
        self.written.drain(..dropped);
    }

    /// From now on, lets so many answers go by before an event is in one. 0 shows what was still
    /// hidden.
    pub(super) fn delay(&mut self, answers: u32) {
        self.delay = answers;
        if answers == 0 {
            self.written.iter_mut().for_each(|event| event.hidden = 0);
        }
    }

    /// Returns what an answer shows of it, newest first.
    fn read(&mut self) -> Vec<&Event> {
        if self.off {
            return Vec::new();
        }
        // What is hidden from this answer still counts down, so it is told apart before.
        let mut shown = Vec::new();
        for event in &mut self.written {
            let visible = event.hidden == 0;
            event.hidden = event.hidden.saturating_sub(1);
            if visible {
                shown.push(&*event);
            }
        }
        shown.sort_by_key(|event| std::cmp::Reverse(event.timestamp));
        shown.truncate(WINDOW);
        shown
    }
}

fn list(call: &mut Call) -> Outcome {
    let users = &call.account.users;
    let show = |event: &Event| {
        let (name, email) = users
            .get(&event.initiator)
            .map_or(("", ""), |user| (&user.name, &user.email));
        json!({
            "id": event.number.to_string(),
            "timestamp": clock::show(event.timestamp),
            "activity": activity(&event.code),
            "activity_code": event.code,
            "initiator_id": event.initiator,
            "initiator_name": name,
            "initiator_email": email,
            "target_id": event.target,
            "meta": event.meta,
        })
    };
    Ok(call.account.events.read().into_iter().map(show).collect())
}

/// The text for people of those codes that a reader may meet.
fn activity(code: &str) -> &'static str {
    match code {
        "account.create" => "Account created",
        "group.add" => "Group created",
        "group.update" => "Group updated",
        "group.delete" => "Group deleted",
        "peer.group.add" => "Group added to peer",
        "peer.group.delete" => "Group removed from peer",
        "peer.rename" => "Peer renamed",
        "peer.setupkey.add" | "peer.user.add" => "Peer added",
        "user.peer.delete" => "Peer deleted",
        "policy.add" => "Policy added",
        "policy.update" => "Policy updated",
        "policy.delete" => "Policy deleted",
        "setupkey.add" => "Setup key created",
        "setupkey.revoke" => "Setup key revoked",
        "setupkey.delete" => "Setup key deleted",
        "setupkey.group.add" => "Group added to setup key",
        "setupkey.group.delete" => "Group removed from user setup key",
        "route.add" => "Route created",
        "nameserver.group.add" => "Nameserver group created",
        "network.create" => "Network created",
        "network.resource.create" => "Network resource created",
        "network.router.create" => "Network router created",
        "resource.group.add" => "Resource added to group",
        "dns.zone.create" => "DNS zone created",
        "dns.zone.record.create" => "DNS zone record created",
        "posture.check.create" => "Posture check created",
        "personal.access.token.create" => "Personal access token created",
        "service.user.create" => "Service user created",
        "service.user.delete" => "Service user deleted",
        "user.block" => "User blocked",
        _ => "UNKNOWN_ACTIVITY",
    }
}
