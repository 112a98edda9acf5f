//! The part of a plan that `sync-events` carries out: renames of peers, and their groups.

use std::collections::{BTreeMap, BTreeSet};

use super::Enrollment;
use crate::account::Actual;
use crate::base::Id;
use crate::model::{Address, Change, Group, Kind, Open, Operation, Resource};
use crate::plan::{Plan, ordered, peer_renames};

/// Returns the plan of the enrollments alone: one rename a peer, one update a group.
pub fn plan(enrollments: &[Enrollment], actual: &Actual) -> Plan {
    let mut joins: BTreeMap<&str, BTreeSet<Id>> = BTreeMap::new();
    for enrollment in enrollments {
        for group in &enrollment.groups {
            joins
                .entry(group)
                .or_default()
                .insert(enrollment.peer.clone());
        }
    }
    let groups = joins.into_iter().filter_map(|(name, joining)| {
        // enrollments that wait for a group are not here
        let [live] = actual.named(Kind::Group, name) else {
            return None;
        };
        let members = live.resource.members()?;
        if actual.protected_groups.contains_key(&live.id) {
            return None;
        }
        let peers = Some(members | &joining);
        let operation = Operation::update(live, &Resource::Group(Group::with(peers)), None)?;
        let address = Address::new(Kind::Group, &live.name);
        Some(Change::new(address, operation, None))
    });
    // the name of one that replaces another is still borne by that one
    let free = enrollments.iter().filter(|at| at.replaces.is_empty());
    let renames = peer_renames(&free.cloned().collect::<Vec<_>>(), actual);
    ordered(groups.chain(renames).collect(), actual)
}

/// Returns why an enrollment has to wait: a group that its peer cannot join yet. Plan and apply look after that.
pub fn waits_for(enrollment: &Enrollment, actual: &Actual) -> Option<Open> {
    enrollment
        .groups
        .iter()
        .find_map(|name| match actual.named(Kind::Group, name).len() {
            0 => Some(Open::NoGroup(name.clone())),
            1 => None,
            number => Some(Open::Groups(name.clone(), number)),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::evidence::Evidence;
    use crate::testing::{Case, enrolled, group, id, key, over, peer};
    use serde_json::json;

    /// The key `k` and its peer `host`, which is to join these groups.
    fn joins(groups: &[&str], renamed_from: Option<&str>) -> Enrollment {
        Enrollment {
            key: "k".into(),
            peer: Id::from(id(Kind::Peer, "host").as_str()),
            evidence: Evidence::Event,
            renamed_from: renamed_from.map(str::to_owned),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            replaces: BTreeSet::new(),
        }
    }

    #[test]
    fn an_enrollment_changes_no_group_of_an_identity_provider() {
        let issued = over(group("issued", &[]), json!({ "issued": "jwt" }));
        let case = Case::new(
            json!({ "groups": { "g": {} } }),
            json!({ "groups": [issued, group("g", &[])], "peers": [peer("host")] }),
        );
        let changed = |enrollment: Enrollment| -> Vec<String> {
            let changes = plan(&[enrollment], &case.actual()).changes;
            changes.iter().map(|of| of.address.to_string()).collect()
        };
        let both = joins(&["g", "issued"], Some("host"));
        assert_eq!(changed(both.clone()), ["group g", "peer k"]);
        // the name of a machine that is replaced is free once that one is gone
        let replaces = BTreeSet::from([Id::from("older")]);
        assert_eq!(changed(Enrollment { replaces, ..both }), ["group g"]);
    }

    #[test]
    fn an_enrollment_waits_for_a_group_that_is_not_there_or_there_twice() {
        let twin = over(group("two", &[]), json!({ "id": "another" }));
        let live = json!({ "groups": [group("g", &[]), group("two", &[]), twin], "peers": [peer("host")] });
        let actual = Case::new(json!({ "groups": { "g": {} } }), live).actual();
        let waits = |name: &str| waits_for(&joins(&["g", name], None), &actual);
        assert_eq!(waits("g"), None);
        assert_eq!(waits("none"), Some(Open::NoGroup("none".into())));
        assert_eq!(waits("two"), Some(Open::Groups("two".into(), 2)));
    }

    #[test]
    fn machines_of_keys_that_the_file_lacks_are_told() {
        let came = ["k", "other", "recorded", "gone"];
        let events = came.map(|key| over(enrolled(key, key), json!({ "id": key })));
        let live = json!({ "groups": [], "peers": came.map(peer), "setup_keys": [key("k", &[]), key("other", &[])], "events": events });
        let k = json!({ "type": "one-off", "expires_in": 60, "auto_groups": [] });
        let case = Case::new(json!({ "setup_keys": { "k": k } }), live).inventory(
            json!({ "created": { "setup_keys/old": [id(Kind::SetupKey, "recorded")] } }),
        );
        let inventory = &case.options.ours.inventory;
        let told = super::super::undeclared(&case.desired, &case.actual(), inventory);
        let mut names: Vec<String> = told.into_iter().map(|(_, key)| key).collect();
        names.sort();
        let gone = format!("(deleted key {})", id(Kind::SetupKey, "gone"));
        assert_eq!(names, [gone.as_str(), "old", "other"]);
    }
}
