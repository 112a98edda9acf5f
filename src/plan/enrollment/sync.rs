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
    use crate::testing::{Case, group, id, over, peer};
    use serde_json::json;

    #[test]
    fn an_enrollment_changes_no_group_of_an_identity_provider() {
        let issued = over(group("issued", &[]), json!({ "issued": "jwt" }));
        let case = Case::new(
            json!({ "groups": { "g": {} } }),
            json!({ "groups": [issued, group("g", &[])], "peers": [peer("k")] }),
        );
        let enrollment = Enrollment {
            key: "k".into(),
            peer: Id::from(id(Kind::Peer, "k").as_str()),
            evidence: Evidence::Event,
            renamed_from: None,
            groups: ["g", "issued"].map(str::to_owned).into(),
            replaces: BTreeSet::new(),
        };
        let plan = plan(&[enrollment], &case.actual());
        let changed: Vec<String> = plan
            .changes
            .iter()
            .map(|of| of.address.to_string())
            .collect();
        assert_eq!(changed, ["group g"]);
    }
}
