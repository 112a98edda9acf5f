//! Who comes back into a group that a run replaced, and who stays out.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{GroupWrites, lost};
use crate::base::id::Id;
use crate::model::kind::Kind;
use crate::testing::{Case, MADE, enrolled, group, id, key_at, over, peer, table, time, used_at};

/// The second in which the run read the group.
const READ: i64 = MADE + 100;

/// The machine `edge`, the group `g` that a run replaced, and what the log says.
struct Scene {
    /// Whether `edge` was there when the plan was made.
    is_new: bool,
    /// The members of `g` now; none where `g` is gone.
    members: Option<Vec<&'static str>>,
    /// The members that the run read.
    read: Vec<&'static str>,
    /// Whom the run meant to take out.
    removed: Vec<&'static str>,
    keys: Vec<Value>,
    events: Vec<Value>,
    /// Events that were there before.
    known: Vec<&'static str>,
    /// By whose key the log says that `edge` came.
    came_by: Option<&'static str>,
    /// Whether the token's user is known.
    is_told: bool,
}

/// Somebody added `edge` right after the group was read, and this run took it out.
fn scene() -> Scene {
    Scene {
        is_new: false,
        members: Some(vec![]),
        read: vec![],
        removed: vec![],
        keys: vec![],
        events: vec![
            event("1", "peer.group.add", "mira", READ, "g"),
            event("2", "peer.group.delete", "bot", READ, "g"),
        ],
        known: vec![],
        came_by: None,
        is_told: true,
    }
}

/// `edge` enrolled since the plan was made, and the log does not say how it came, nor who took it out.
fn unlogged(keys: Vec<Value>) -> Scene {
    Scene {
        is_new: true,
        events: vec![],
        keys,
        ..scene()
    }
}

fn event(number: &str, code: &str, by: &str, second: i64, of: &str) -> Value {
    json!({ "id": number, "timestamp": time(second), "activity_code": code, "initiator_id": by,
            "target_id": id(Kind::Peer, "edge"), "meta": { "group_id": id(Kind::Group, of) } })
}

/// A key for many machines that grants these groups, last used in that second.
fn key(name: &str, groups: &[&str], second: i64) -> Value {
    let used = over(
        used_at(second),
        json!({ "type": "reusable", "valid": true, "state": "valid", "usage_limit": 0 }),
    );
    over(key_at(name, groups, MADE), used)
}

impl Scene {
    fn lost(self) -> String {
        let edge = Id::from(id(Kind::Peer, "edge").as_str());
        let ids = |names: &[&str]| -> BTreeSet<Id> {
            let ids = names.iter().map(|name| id(Kind::Peer, name));
            ids.map(|id| Id::from(id.as_str())).collect()
        };
        let account = |peers: &[Value]| {
            let g = self.members.as_ref().map(|members| group("g", members));
            let groups: Vec<Value> = g.into_iter().chain([group("h", &[])]).collect();
            let live = json!({ "groups": groups, "peers": peers, "setup_keys": self.keys });
            let mut case = Case::new(json!({ "groups": { "g": {} } }), live);
            let bot = json!({ "id": "bot", "name": "bot", "role": "admin", "is_service_user": true, "is_current": true });
            case.snapshot
                .rest
                .users
                .extend(self.is_told.then(|| bot.into()));
            let came = self.came_by.map(|key| vec![enrolled(key, "edge").into()]);
            case.snapshot.rest.events = came;
            case.actual()
        };
        let now = account(&[peer("edge")]);
        let before = match self.is_new {
            true => account(&[]),
            false => account(&[peer("edge")]),
        };
        let of = Id::from(id(Kind::Group, "g").as_str());
        let mut writes = GroupWrites::since(&before, true);
        writes.events_before = Some(self.known.iter().map(|id| (*id).to_owned()).collect());
        let at = format!("{}.9Z", time(READ).trim_end_matches('Z'));
        let at = Some(at.parse().expect("a time"));
        writes.read.insert(of.clone(), (ids(&self.read), at));
        let removed = ids(&self.removed).into_iter();
        writes
            .removals
            .extend(removed.map(|peer| (of.clone(), peer)));
        let events: Vec<_> = self.events.iter().cloned().map(Into::into).collect();
        match lost(&events, &before, &now, &writes).remove(&of) {
            Some(peers) if peers == BTreeSet::from([edge]) => "comes back".into(),
            None => "stays out".into(),
            other => panic!("another machine: {other:?}"),
        }
    }
}

#[test]
fn who_comes_back_into_a_replaced_group() {
    let granting = || key("k", &["g"], MADE);
    let out = |by: &str| event("2", "peer.group.delete", by, READ, "g");
    let all = |second: i64, of: &str| {
        ["peer.group.add", "peer.group.delete"]
            .map(|code| event(code, code, "bot", second, of))
            .to_vec()
    };
    let rows = [
        ("added meanwhile, and this run took it out", scene()),
        (
            "enrolled meanwhile, and this run took it out",
            Scene {
                is_new: true,
                events: vec![out("bot")],
                ..scene()
            },
        ),
        (
            "somebody took it out",
            Scene {
                is_new: true,
                events: vec![out("mira")],
                ..scene()
            },
        ),
        (
            "so did somebody else",
            Scene {
                is_new: true,
                events: vec![out("mira"), out("bot")],
                ..scene()
            },
        ),
        (
            "whose the token is is not known",
            Scene {
                is_told: false,
                ..scene()
            },
        ),
        (
            "it was no member, as far as the log says",
            Scene {
                events: vec![out("bot")],
                ..scene()
            },
        ),
        (
            "the log had it before the run",
            Scene {
                known: vec!["1", "2"],
                ..scene()
            },
        ),
        (
            "before the group was read",
            Scene {
                events: all(READ - 1, "g"),
                ..scene()
            },
        ),
        (
            "of another group",
            Scene {
                events: all(READ, "h"),
                ..scene()
            },
        ),
        (
            "read as a member",
            Scene {
                read: vec!["edge"],
                ..scene()
            },
        ),
        (
            "meant to leave",
            Scene {
                removed: vec!["edge"],
                ..scene()
            },
        ),
        (
            "still a member",
            Scene {
                members: Some(vec!["edge"]),
                ..scene()
            },
        ),
        (
            "the group is gone",
            Scene {
                members: None,
                ..scene()
            },
        ),
        (
            "not in the log: its key grants the group",
            unlogged(vec![granting()]),
        ),
        (
            "not in the log: its key grants another one",
            unlogged(vec![key("k", &["h"], MADE)]),
        ),
        (
            "not in the log: two keys fit",
            unlogged(vec![granting(), key("l", &["g"], MADE)]),
        ),
        (
            "not in the log: no key fits",
            unlogged(vec![key("k", &["g"], MADE + 50)]),
        ),
        (
            "not in the log: it was there before",
            Scene {
                is_new: false,
                ..unlogged(vec![granting()])
            },
        ),
        (
            "the log knows its key alone, which grants the group",
            Scene {
                came_by: Some("k"),
                ..unlogged(vec![key("k", &["g"], MADE + 50)])
            },
        ),
        (
            "the log knows its key, which does not, and another one fits",
            Scene {
                came_by: Some("l"),
                ..unlogged(vec![granting(), key("l", &[], MADE)])
            },
        ),
    ];
    let rows = rows.map(|(what, scene)| (what, scene.lost()));
    assert_data_eq!(
        table(rows),
        str![[r#"
added meanwhile, and this run took it out
    comes back
enrolled meanwhile, and this run took it out
    comes back
somebody took it out
    stays out
so did somebody else
    stays out
whose the token is is not known
    stays out
it was no member, as far as the log says
    stays out
the log had it before the run
    stays out
before the group was read
    stays out
of another group
    stays out
read as a member
    stays out
meant to leave
    stays out
still a member
    stays out
the group is gone
    stays out
not in the log: its key grants the group
    comes back
not in the log: its key grants another one
    stays out
not in the log: two keys fit
    stays out
not in the log: no key fits
    stays out
not in the log: it was there before
    stays out
the log knows its key alone, which grants the group
    comes back
the log knows its key, which does not, and another one fits
    stays out

"#]]
        .raw()
    );
}
