//! Documents for the tests of all renderers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{CreatedKey, Document, Status};
use crate::base::{Code, Evidence, Id};
use crate::file::{Finding, Place};
use crate::inventory::{Adoption, RecordedAs};
use crate::model::{Address, Held, Kind, LeftBy, LetGo, LetGoWhy, Notice, Reason, Who, Why};
use crate::plan::{Agreement, AllowDeletes, agreement};
use crate::testing::{
    Case, MADE, document, enrolled, group, key, nameservers, over, peer, policy, policy_with,
    route, used_at,
};

const AGE: &str = "age1ql3z7h…mcac8p";

/// A reason that says an id as it is.
pub(super) fn replaced_by(id: &str) -> Reason {
    Reason::PeerReplaced {
        key: id.into(),
        by: Who {
            id: Id(id.into()),
            name: None,
        },
        evidence: Evidence::Event,
    }
}

/// A new account: everything is made.
pub(super) fn new_account() -> Document {
    let file = json!({
        "groups": { "pilots": { "peers": ["Pilot-hawk-72"] }, "ground-stations": {} },
        "setup_keys": {
            "Pilot-hawk-72": { "type": "one-off", "expires_in": 604_800, "auto_groups": ["pilots"] },
            "fleet": { "type": "reusable", "expires_in": 0, "usage_limit": 0, "auto_groups": ["ground-stations"] },
        },
        "policies": {
            "open": { "sources": ["All"], "destinations": ["All"] },
            "pilots-to-gs": { "sources": ["pilots"], "destinations": ["ground-stations"], "protocol": "tcp",
                              "ports": [22, "8000-8100"], "bidirectional": false },
        },
        "routes": { "gs-local-network": { "network": "192.168.1.0/24", "peer_groups": ["ground-stations"] } },
        "dns": { "nameserver_groups": { "corp": { "nameservers": [{ "ip": "10.20.0.53", "port": 5353 }],
                                                  "domains": ["corp.example"], "groups": ["pilots"] } } },
    });
    let case = Case::new(file, json!({}));
    Document {
        recipients: vec![AGE.into()],
        ..case.document()
    }
}

/// Every kind of change at once.
pub(super) fn mixed() -> Document {
    let one_off =
        |group: &str| json!({ "type": "one-off", "expires_in": 604_800, "auto_groups": [group] });
    let file = json!({
        "groups": { "pilots": { "peers": ["Pilot-hawk-72", "Pilot-hawk-73", "edge"] }, "gs": {}, "new": {} },
        "setup_keys": {
            "Pilot-hawk-72": one_off("pilots"),
            "Pilot-hawk-73": one_off("pilots"),
            "fleet": { "type": "reusable", "expires_in": 0, "usage_limit": 10, "auto_groups": ["gs"] },
        },
        "policies": {
            "pilots-to-gs": { "description": "", "sources": ["pilots"], "destinations": ["gs"], "protocol": "tcp", "ports": [22, 443] },
            "ssh": { "sources": ["pilots", "new"], "destinations": ["gs"], "protocol": "tcp", "ports": [22] },
            "off": { "sources": ["pilots"], "destinations": ["gs"], "enabled": false },
        },
        "routes": { "lan": { "network": "10.0.0.0/8", "peer_groups": ["gs"], "groups": ["pilots"], "metric": 100 } },
        "dns": { "nameserver_groups": {} },
    });
    let described = json!({ "description": "Telemetry|video" });
    let live = json!({
        "groups": [
            group("pilots", &["edge", "ip-10-0-0-9", "old-1", "old-2", "mira"]), group("gs", &["gs-1"]),
            group("contractors", &["old-1"]), over(group("staff", &[]), json!({ "issued": "jwt" })),
        ],
        "peers": [peer("edge"), peer("ip-10-0-0-9"), peer("old-1"), peer("old-2"), peer("gs-1"),
                  over(peer("mira"), json!({ "user_id": "mira" }))],
        "setup_keys": [
            over(key("Pilot-hawk-72", &["pilots"]), used_at(MADE)),
            over(key("fleet", &["gs"]), json!({ "type": "reusable", "usage_limit": 5 })),
            over(key("spent", &["gs"]), used_at(MADE + 500)),
        ],
        "policies": [
            over(policy("pilots-to-gs", &["pilots"], &["gs"]), described),
            policy_with("ssh", &["pilots"], &["gs"], json!({ "protocol": "tcp", "ports": ["22"] })),
            policy("off", &["pilots"], &["gs"]), policy("Default", &["All"], &["All"]),
        ],
        "routes": [route("gs-local-network", "192.168.1.0/24", &["gs"]), route("lan", "10.0.0.0/8", &["gs"])],
        "nameserver_groups": [nameservers("office", &["10.20.0.53", "10.20.0.54"], &["pilots"])],
    });
    // a name means a machine that is there when the file first uses it
    let mut first = file.clone();
    first["groups"]["pilots"]["peers"] = json!(["Pilot-hawk-72", "Pilot-hawk-73"]);
    let versions = [(MADE - 60, first), (MADE + 60, file.clone())];
    let mut case = Case::new(file, live).history(&versions).prune_all();
    case.snapshot.rest.events = Some(vec![enrolled("Pilot-hawk-72", "ip-10-0-0-9").into()]);
    let mut document = case.document();
    let plan = document.plan.as_mut().expect("made above");
    plan.held.push(Held {
        address: Address::new(Kind::Group, "in-use"),
        id: Id("daojn050reig0m8bel20".into()),
        why: Why::Needed(BTreeSet::from(["policy \"legacy\"".to_owned()])),
    });
    let adoption = Adoption {
        id: Id("daojn050reig0m8bel2g".into()),
        origin: RecordedAs::Adopted,
        room: 1,
    };
    plan.adoptions
        .push((Address::new(Kind::Policy, "old-ssh"), adoption));
    let let_go = |name: &str, why| LetGo {
        address: Address::new(Kind::Route, name),
        id: Id::from(format!("id-of-{name}").as_str()),
        key: format!("routes/{name}"),
        why,
        left_by: LeftBy::Unknown,
    };
    plan.let_go = vec![
        let_go("taken-over", LetGoWhy::Adopted),
        let_go("uplink", LetGoWhy::Renamed("uplink-2".into())),
    ];
    document.agreements.push(Agreement {
        cause: Some(agreement::Origin::Pull(41)),
        is_proposed: true,
        let_go: plan.let_go.iter().map(|of| of.id.clone()).collect(),
        line_with_let_go: AllowDeletes::parse("2 3f9a0c21"),
        ..Agreement::default()
    });
    document.recipients = vec![AGE.into(), "ssh-ed25519 AAAA…7x (ops@laptop)".into()];
    document
}

/// The file is what lives.
pub(super) fn no_changes() -> Document {
    let live = json!({ "groups": [group("pilots", &[]), group("contractors", &[])] });
    let mut document = Case::new(json!({ "groups": { "pilots": {} } }), live).document();
    let place = Place {
        path: "policies.web.sources[0]".into(),
        line: 35,
        column: 20,
    };
    let message = "group \"pilot\" is not declared here";
    let problem = Finding::notice(Code::UndeclaredGroup, place, message);
    document.notices = vec![Notice::of_file("netbird.json", &problem)];
    document
}

/// A plan that an apply would refuse.
pub(super) fn refused() -> Document {
    let names: Vec<String> = (0..12).map(|number| format!("group-{number:02}")).collect();
    let live: Vec<_> = names.iter().map(|name| group(name, &[])).collect();
    let file = json!({ "groups": { "group-00": {} } });
    let mut document = Case::new(file, json!({ "groups": live }))
        .prune_all()
        .document();
    let context = crate::plan::gates::Context {
        max_deletes: 10,
        ..Default::default()
    };
    let plan = document.plan.as_ref().expect("made above");
    document.refusals = crate::plan::gates::check(plan, &context);
    let hint = crate::plan::agreement::way_out(&[], plan.rows().len(), true);
    for refusal in &mut document.refusals {
        refusal.hint.clone_from(&hint);
    }
    document
}

/// No plan could be made.
pub(super) fn failed() -> Document {
    Document {
        error: Some(
            "this cannot be planned\n\nnetbird.json:14:7  policies.web.sources[0]\n    policy \"web\" refers to group \
             \"```@everyone\", which is neither declared nor in NetBird"
                .into(),
        ),
        hint: Some("did you mean \"everyone\"?".into()),
        ..document()
    }
}

fn created(name: &str) -> (String, CreatedKey) {
    let sealed = "-----BEGIN AGE ENCRYPTED FILE-----\nYWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSB6\n\
                  -----END AGE ENCRYPTED FILE-----\n";
    let key = CreatedKey {
        file: format!("sealed-keys/{name}.age"),
        sealed: sealed.into(),
        recipients: vec![AGE.into()],
        fingerprint: "00112233445566ff".into(),
        stored: Some(format!(
            "netbird-gitops/inventory:.netbird-gitops/default/keys/{name}.d2m9k4bl0ubs73a9k5d0.age"
        )),
    };
    (name.to_owned(), key)
}

/// The new account, applied.
pub(super) fn applied() -> Document {
    let mut document = new_account();
    let plan = document.plan.as_ref().expect("made above");
    document.statuses = vec![Status::Success; plan.changes.len()];
    document.created_keys = BTreeMap::from([created("Pilot-hawk-72"), created("fleet")]);
    document
}

/// The new account, stopped at the first policy.
pub(super) fn applied_partly() -> Document {
    let mut document = applied();
    let plan = document.plan.as_ref().expect("made above");
    let failed = plan
        .changes
        .iter()
        .position(|change| change.address.kind == Kind::Policy);
    let failed = failed.expect("there are policies");
    let status = |index: usize| match index.cmp(&failed) {
        std::cmp::Ordering::Less => Status::Success,
        std::cmp::Ordering::Equal => {
            Status::Failed("PUT /api/policies/x: 422 unknown protocol type: tpc".into())
        }
        std::cmp::Ordering::Greater => Status::Skipped,
    };
    document.statuses = (0..plan.changes.len()).map(status).collect();
    document.error = Some("stopped after 4 of 8 operations; 3 were not tried".into());
    document.hint =
        Some("run plan to see what is left; running apply again continues from here".into());
    document
}

/// A tree as a terminal without colour shows it.
pub(crate) fn on_terminal(tree: &super::Tree) -> String {
    super::terminal::text(tree, super::terminal::Color(false))
}

/// Who reaches whom in lines, for tests of what is found.
pub(crate) fn access_lines(delta: &crate::access::Delta) -> Vec<String> {
    use super::access::{calls, covered, rows};
    use super::tree::Row;
    use crate::base::Sentence;
    let line = |row: &Row| {
        let cells: Vec<String> = row.cells.iter().map(Sentence::to_string).collect();
        let [from, to, what, because] = cells.as_slice() else {
            panic!("{cells:?}")
        };
        format!("{} {from} {to}: {what}, {because}", row.mark.0[0])
    };
    let calls = calls(delta, true).into_iter();
    let calls = calls.map(|call| format!("! {call}"));
    let lines: Vec<String> = rows(delta).rows.iter().map(line).chain(calls).collect();
    lines.into_iter().chain(covered(delta)).collect()
}
