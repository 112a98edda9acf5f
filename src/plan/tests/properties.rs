//! What holds for the plan of any file against any account.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::{Value, json};

use crate::model::{Change, Kind, Operation, Refers, Resource};
use crate::plan::{Part, Piece, Plan, Row};
use crate::render::{self, Document, json as render_json, markdown};
use crate::testing::{
    Case, MADE, document, group, id, key, nameservers, over, peer, policy_with, route, used_at,
    zone,
};

const GROUPS: [&str; 4] = ["a", "b", "c", "d"];

fn some(names: &[&'static str]) -> impl Strategy<Value = Vec<&'static str>> + use<> {
    prop::sample::subsequence(names.to_vec(), 1..=2)
}

/// Names and addresses of records, some of them of one name.
fn records() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    prop::sample::subsequence(
        vec![
            ("db", "10.0.0.1"),
            ("db", "10.0.0.2"),
            ("db", "10.0.0.3"),
            ("nas", "10.0.0.4"),
        ],
        0..=3,
    )
}

/// In which of two networks each of two resources is, if in any, and whose peers are their routers.
fn inside() -> impl Strategy<Value = Inside> {
    let place = || prop::option::of(0..2_usize);
    let routers = || prop::collection::vec(some(&GROUPS), 0..2);
    ((place(), place()), (routers(), routers())).prop_map(|(places, routers)| Inside {
        places: [places.0, places.1],
        routers: [routers.0, routers.1],
    })
}

#[derive(Debug, Clone)]
struct Inside {
    places: [Option<usize>; 2],
    routers: [Vec<Vec<&'static str>>; 2],
}

impl Inside {
    /// The names of the resources of that network, with an address each.
    fn resources(&self, network: usize) -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = ["o1", "o2"].into_iter().zip(["10.9.0.1/32", "10.9.0.2/32"]);
        let here = all
            .zip(self.places)
            .filter(move |(_, place)| *place == Some(network));
        here.map(|(resource, _)| resource)
    }
}

/// Declares entries that need no more than live or declared groups.
fn any_file() -> impl Strategy<Value = Value> {
    let groups = prop::sample::subsequence(GROUPS.to_vec(), 0..=4);
    let policies =
        prop::collection::btree_map("[pq]", (some(&GROUPS), some(&GROUPS), any::<bool>()), 0..3);
    let routes = prop::collection::btree_map("[rst]", (0..3_u8, some(&GROUPS), 1..9_i64), 0..3);
    let keys =
        prop::collection::btree_map("[kl]", (some(&GROUPS), any::<bool>(), any::<bool>()), 0..3);
    let nameservers = prop::collection::btree_map("[mn]", some(&GROUPS), 0..2);
    let zones =
        prop::collection::btree_map("[vw]", (some(&GROUPS), prop::option::of(records())), 0..2);
    let account = (1..3_i64, prop::option::of(some(&GROUPS)), any::<bool>());
    let settings = (prop::option::of(some(&GROUPS)), account, inside());
    (groups, policies, routes, keys, nameservers, zones, settings).prop_map(|(groups, policies, routes, keys, nameservers, zones, (settings, (range, ipv6, ssh), inside))| {
        let resource = inside.resources(0).chain(inside.resources(1)).next();
        let policies = policies.into_iter().map(|(name, (from, to, both))| {
            let to = match resource {
                Some((resource, _)) if !both => json!({ "destination_resource": resource }),
                _ => json!({ "destinations": to }),
            };
            (name, over(json!({ "sources": from, "bidirectional": both }), to))
        });
        let nets = ["g", "h"].into_iter().enumerate().map(|(index, name)| {
            let resources = inside.resources(index).map(|(name, address)| (name.to_owned(), json!({ "address": address })));
            let mut routers = inside.routers[index].clone();
            routers.dedup();
            let routers: Vec<Value> = routers.iter().map(|groups| json!({ "peer_groups": groups })).collect();
            (name.to_owned(), json!({ "resources": resources.collect::<BTreeMap<_, _>>(), "routers": routers }))
        });
        let mut networks = BTreeSet::new();
        // two routes of one network through one group are an error of the file
        let routes = routes.into_iter().filter(|(_, (network, _, _))| networks.insert(*network));
        let routes = routes.map(|(name, (network, groups, metric))| {
            (name, json!({ "network": format!("10.{network}.0.0/16"), "peer_groups": groups, "metric": metric }))
        });
        let keys = keys.into_iter().map(|(name, (groups, reusable, enrolled))| {
            let key_type = if reusable { "reusable" } else { "one-off" };
            let enrolled = json!({ "enrolled": enrolled && !reusable });
            (name, over(json!({ "type": key_type, "expires_in": 60, "auto_groups": groups }), enrolled))
        });
        let nameservers = nameservers.into_iter().map(|(name, groups)| {
            (name, json!({ "nameservers": [{ "ip": "10.0.0.1" }], "groups": groups }))
        });
        json!({
            "groups": groups.iter().map(|name| ((*name).to_owned(), json!({}))).chain([("e".into(), json!({}))]).collect::<BTreeMap<String, Value>>(),
            "policies": policies.collect::<BTreeMap<_, _>>(),
            "routes": routes.collect::<BTreeMap<_, _>>(),
            "setup_keys": keys.collect::<BTreeMap<_, _>>(),
            "networks": nets.collect::<BTreeMap<_, _>>(),
            "peers": { "x": { "ssh_enabled": ssh } },
            "account": { "settings": over(json!({ "network_range": format!("10.{range}.0.0/16") }),
                                          ipv6.map_or(json!({}), |groups| json!({ "ipv6_enabled_groups": groups }))) },
            "dns": {
                "nameserver_groups": nameservers.collect::<BTreeMap<_, _>>(),
                "settings": { "disabled_management_groups": settings.unwrap_or_default() },
                "zones": zones.into_iter().map(|(name, (groups, records))| {
                    let records = records.map(|records| records.iter().map(|(name, ip)| {
                        json!({ "name": name, "type": "A", "content": ip })
                    }).collect::<Vec<_>>());
                    let records = records.map_or(json!({}), |records| json!({ "records": records }));
                    (name.clone(), over(json!({ "domain": format!("{name}.example"), "distribution_groups": groups }), records))
                }).collect::<BTreeMap<_, _>>(),
            },
        })
    })
}

fn any_account() -> impl Strategy<Value = Value> {
    let groups = prop::sample::subsequence(GROUPS.to_vec(), 0..=4);
    let policies =
        prop::collection::btree_map("[pqx]", (some(&GROUPS), some(&GROUPS), any::<bool>()), 0..3);
    let routes = prop::collection::btree_map("[rstx]", (0..3_u8, some(&GROUPS)), 0..4);
    let keys = prop::collection::btree_map("[klx]", (some(&GROUPS), any::<bool>()), 0..3);
    let nameservers = prop::collection::btree_map("[mnx]", some(&GROUPS), 0..3);
    let zones = prop::collection::btree_map("[vwx]", (some(&GROUPS), records()), 0..3);
    let settings = (some(&GROUPS), some(&GROUPS), 1..3_i64, inside());
    (groups, policies, routes, keys, nameservers, zones, settings).prop_map(
        |(groups, policies, routes, keys, nameservers, zones, (settings, ipv6, range, inside))| {
            let mut groups: BTreeSet<&str> = groups.into_iter().collect();
            // whatever refers to a group, that group is live
            groups.extend(
                policies
                    .values()
                    .flat_map(|(from, to, _)| from.iter().chain(to)),
            );
            groups.extend(routes.values().flat_map(|(_, groups)| groups));
            groups.extend(keys.values().flat_map(|(groups, _)| groups));
            groups.extend(nameservers.values().flatten());
            groups.extend(zones.values().flat_map(|(groups, _)| groups));
            groups.extend(settings.iter().chain(&ipv6));
            groups.extend(inside.routers.iter().flatten().flatten());
            let resource = inside.resources(0).chain(inside.resources(1)).next();
            let policies = policies.iter().map(|(name, (from, to, both))| {
                let to_resource = resource.filter(|_| !both).map(|(name, _)| {
                    json!({ "destinationResource": { "id": id(Kind::NetworkResource, name), "type": "host" }, "destinations": null })
                });
                let rule = over(json!({ "bidirectional": both }), to_resource.unwrap_or_else(|| json!({})));
                policy_with(name, from, to, rule)
            });
            let routers = |index: usize| {
                let routers = inside.routers[index].iter().enumerate();
                routers.map(move |(at, groups)| (id(Kind::NetworkRouter, &format!("{index}{at}")), groups))
            };
            let resources = |index: usize| inside.resources(index).map(|(name, address)| (id(Kind::NetworkResource, name), name, address));
            let routes = routes.iter().map(|(name, (network, groups))| {
                route(name, &format!("10.{network}.0.0/16"), groups)
            });
            let keys = keys.iter().map(|(name, (groups, used))| {
                let used = if *used { used_at(MADE + 9) } else { json!({}) };
                over(key(name, groups), used)
            });
            let nameservers = nameservers
                .iter()
                .map(|(name, groups)| self::nameservers(name, &["10.0.0.1"], groups));
            let networks = ["h", "x"].iter().enumerate().map(|(index, name)| {
                json!({
                    "id": id(Kind::Network, name), "name": name, "description": "",
                    "resources": resources(index).map(|(id, ..)| id).collect::<Vec<_>>(),
                    "routers": routers(index).map(|(id, _)| id).collect::<Vec<_>>(),
                })
            });
            json!({
                "groups": groups.iter().map(|name| group(name, &["edge"])).collect::<Vec<_>>(),
                "peers": [peer("edge"), peer("x")],
                "policies": policies.collect::<Vec<_>>(),
                "routes": routes.collect::<Vec<_>>(),
                "setup_keys": keys.collect::<Vec<_>>(),
                "nameserver_groups": nameservers.collect::<Vec<_>>(),
                "accounts": [{ "id": "account", "settings": { "ipv6_enabled_groups": crate::testing::groups(&ipv6),
                                                              "network_range": format!("10.{range}.0.0/16") } }],
                "dns_settings": { "disabled_management_groups": crate::testing::groups(&settings) },
                "networks": networks.collect::<Vec<_>>(),
                "network_resources": (0..2).flat_map(resources).map(|(id, name, address)| json!({
                    "id": id, "name": name, "address": address, "type": "host", "enabled": true, "description": "", "groups": [],
                })).collect::<Vec<_>>(),
                "network_routers": (0..2).flat_map(routers).map(|(id, groups)| json!({
                    "id": id, "peer": "", "peer_groups": crate::testing::groups(groups), "metric": 9999, "masquerade": true, "enabled": true,
                })).collect::<Vec<_>>(),
                "zones": zones.iter().map(|(name, (groups, records))| {
                    let full: Vec<(String, &str)> = records.iter().map(|(record, ip)| (format!("{record}.{name}.example"), *ip)).collect();
                    let records: Vec<(&str, &str)> = full.iter().map(|(name, ip)| (name.as_str(), *ip)).collect();
                    zone(name, &format!("{name}.example"), &records, groups)
                }).collect::<Vec<_>>(),
            })
        },
    )
}

fn any_case() -> impl Strategy<Value = Case> {
    (any_file(), any_account(), any::<bool>()).prop_map(|(file, account, all)| {
        let case = Case::new(file, account);
        if all { case.prune_all() } else { case }
    })
}

/// Both documents of a plan, or its problems.
fn bytes(case: &Case) -> String {
    match case.plan() {
        Ok(plan) => {
            let document = Document {
                plan: Some(plan),
                ..document()
            };
            render_json::document(&document, false)
                + &markdown::comment(&render::tree(&document, false), markdown::BUDGET)
        }
        Err(problems) => format!("{problems:?}"),
    }
}

fn shuffled(case: &Case, by: usize) -> Case {
    let mut case = case.clone();
    for kind in Kind::ALL {
        let list = case.snapshot.list_mut(kind);
        list.reverse();
        let by = by % list.len().max(1);
        list.rotate_left(by);
    }
    case
}

/// Steps that make an object or add to one, with the groups that they refer to.
fn makes(change: &Change, part: Part) -> bool {
    match part {
        Part::Making => true,
        Part::Breaking => false,
        Part::Whole => {
            !matches!(change.operation, Operation::Delete { .. })
                && change.removed_members().is_empty()
        }
    }
}

/// Whatever a step refers to is live or was made before it; a group or a network resource goes when nothing refers to it any
/// more; and but for routes nothing is made once something was taken away.
fn order_holds(plan: &Plan, case: &Case) -> Result<(), TestCaseError> {
    let actual = case.actual();
    let mut groups: BTreeSet<String> = actual
        .groups
        .other_names(Refers::Group)
        .map(str::to_owned)
        .collect();
    let live = actual.objects.values().flatten();
    let mut referring: BTreeMap<String, Resource> = live
        .map(|live| (live.id.to_string(), live.resource.clone()))
        .collect();
    let resources = actual
        .objects
        .keys()
        .filter(|at| at.kind == Kind::NetworkResource);
    let mut resources: BTreeSet<String> = resources.map(|at| at.name.clone()).collect();
    let mut broke = None;
    for step in &plan.steps {
        let change = &plan.changes[step.change];
        let is_route = change.address.kind == Kind::Route;
        let (live, after) = (change.operation.live(), change.operation.after());
        if makes(change, step.part) {
            for group in after.map(Resource::references).unwrap_or_default() {
                prop_assert!(
                    groups.contains(group),
                    "{} refers to {group}, which is made later or gone",
                    change.address
                );
            }
            for (what, name) in after.map(Resource::others).unwrap_or_default() {
                prop_assert!(
                    what != Refers::Resource || resources.contains(name),
                    "{} refers to {name}, which is made later or gone",
                    change.address
                );
            }
            if change.address.kind == Kind::NetworkResource {
                resources.insert(change.address.name.clone());
            }
            if change.address.kind == Kind::Group {
                groups.insert(change.address.name.clone());
            }
            prop_assert!(
                broke.is_none() || is_route,
                "{} is made after {broke:?} was taken away",
                change.address
            );
        } else if !is_route {
            broke = Some(change.address.clone());
        }
        if let (Operation::Delete { .. }, Kind::Group) = (&change.operation, change.address.kind) {
            let name = change.address.name.as_str();
            let still = referring
                .values()
                .find(|other| other.references().contains(name));
            prop_assert!(still.is_none(), "group {name} goes before {still:?}");
            groups.remove(name);
        }
        if let (Operation::Delete { live }, Kind::NetworkResource) =
            (&change.operation, change.address.kind)
        {
            let named = (Refers::Resource, live.name.as_str());
            let still = referring
                .values()
                .find(|other| other.others().contains(&named));
            prop_assert!(
                still.is_none(),
                "resource {} goes before {still:?}",
                live.name
            );
            resources.remove(&live.name);
        }
        if let Some(live) = live {
            referring.remove(live.id.0.as_str());
        }
        if let Some(after) = after {
            let after = live.map_or_else(|| after.clone(), |live| after.over(&live.resource));
            referring.insert(format!("{} {:?}", change.address, step.part), after);
        }
    }
    let steps: BTreeSet<usize> = plan.steps.iter().map(|step| step.change).collect();
    prop_assert_eq!(steps.len(), plan.changes.len(), "every change has its step");
    Ok(())
}

/// The properties are about plans: enough of the cases have one, and enough of those take something away.
#[test]
fn most_cases_can_be_planned() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let case = || any_case().new_tree(&mut runner).expect("a case").current();
    let plans: Vec<Plan> = std::iter::repeat_with(case)
        .take(100)
        .filter_map(|case| case.plan().ok())
        .collect();
    assert!(plans.len() > 30, "{}", plans.len());
    let deletes = plans.iter().filter(|plan| !plan.rows().is_empty()).count();
    assert!(deletes > 10, "{deletes}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_the_servers_lists_means_nothing(case in any_case(), by in 0..5_usize) {
        prop_assert_eq!(bytes(&case), bytes(&shuffled(&case, by)));
    }

    #[test]
    fn references_point_to_what_is_there(case in any_case()) {
        if let Ok(plan) = case.plan() {
            order_holds(&plan, &case)?;
        }
    }

    /// Without prune nothing is deleted but older lives of declared keys, whatever the account holds.
    #[test]
    fn nothing_is_deleted_without_prune(file in any_file(), account in any_account()) {
        if let Ok(plan) = Case::new(file, account).plan() {
            let goes = |row: &&Row| !matches!(row.piece, Piece::Field { .. });
            prop_assert_eq!(plan.rows().iter().filter(goes).count(), 0);
        }
    }

    #[test]
    fn nothing_differs_from_itself(account in any_account()) {
        let actual = Case::new(json!({ "groups": { "e": {} } }), account).actual();
        let lives = actual.objects.iter().map(|(address, all)| (address.clone(), all[0].clone()));
        for (address, live) in lives {
            prop_assert_eq!(Operation::update(&live, &live.resource, None), None, "{}", address);
        }
    }
}
