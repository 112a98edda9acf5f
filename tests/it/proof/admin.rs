//! A second admin, who does something by hand between any two requests of an apply.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use fakes::Request;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner, contextualize_config};
use serde_json::{Value, json};

use super::world::{World, brief, ensure, name, read, writes};
use super::{APPLY, Scene};
use crate::run::{Run, Server, Site, id};

/// What somebody does before the request of that number.
#[derive(Clone, Debug)]
struct Deed {
    before: usize,
    what: What,
    /// Chooses among the objects.
    which: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    /// Makes an object under a name, of the file or not.
    Make(&'static str, &'static str),
    Rename(&'static str),
    Delete(&'static str),
    /// Changes a field of which the file says nothing.
    Unsaid(&'static str),
    /// Changes a field that the file says.
    Said(&'static str),
    /// Puts a machine of theirs into a group.
    Join,
    /// Takes a machine out of a group.
    Leave,
    Revoke,
}

/// What came of it: what the program has to leave so.
#[derive(Debug)]
enum Came {
    Made(&'static str, String),
    Field(&'static str, String, &'static str, Value),
    /// Which object, its name, and the place of the request before which it was changed, where the run had written already.
    Set(&'static str, String, String, Option<usize>),
    Joined(String, String),
    /// Anything else, of that object.
    Touched(&'static str, String),
    Nothing,
}

const LISTS: [&str; 9] = [
    "/groups",
    "/setup-keys",
    "/policies",
    "/routes",
    "/networks",
    "/networks/resources",
    "/posture-checks",
    "/dns/nameservers",
    "/dns/zones",
];

fn deed() -> impl Strategy<Value = Deed> {
    let named = select(vec![
        "new", "stays", "k", "again", "net", "z", "r", "n", "x",
    ]);
    let made = (select(LISTS.to_vec()), named).prop_map(|(list, name)| What::Make(list, name));
    let of = |what: fn(&'static str) -> What| select(LISTS.to_vec()).prop_map(what);
    let what = prop_oneof![
        3 => made,
        2 => of(What::Rename),
        2 => of(What::Delete),
        2 => of(What::Unsaid),
        2 => of(What::Said),
        1 => Just(What::Delete("/peers")),
        1 => Just(What::Rename("/peers")),
        2 => Just(What::Join),
        1 => Just(What::Leave),
        1 => Just(What::Revoke),
    ];
    (0..130_usize, what, any::<usize>()).prop_map(|(before, what, which)| Deed {
        before,
        what,
        which,
    })
}

/// Where the object of a list is: a resource stands in its network.
fn place(server: &Server, list: &str, id_of: &str) -> String {
    if list != "/networks/resources" {
        return format!("{list}/{id_of}");
    }
    let networks = server.list("/networks");
    let has = |network: &&Value| {
        network["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|id| id == id_of)
    };
    let network = networks.iter().find(has).map(id).unwrap_or_default();
    format!("/networks/{network}/resources/{id_of}")
}

fn change(server: &Server, list: &str, live: &Value, changes: Value) -> bool {
    let at = place(server, list, &id(live));
    let of = if list == "/networks/resources" {
        "/resources"
    } else {
        list
    };
    let (status, _) = server.call("PUT", &at, Server::edited(of, live, changes));
    status == 200
}

/// Does it, as far as NetBird lets somebody; `wrote` says whether the run had asked for a write.
fn perform(scene: &Scene, deed: &Deed, wrote: bool) -> Came {
    let server = scene.site.bench.server();
    let theirs = |list: &str| -> Value {
        let of_list = scene
            .theirs
            .iter()
            .find(|(of, id)| *of == list && scene.before[&(*of, id.clone())]["name"] == "theirs");
        json!(of_list.expect("something of theirs").1)
    };
    let objects = |list: &str| -> Vec<Value> {
        let mut all = server.list(list);
        all.retain(|object| !["All", "Default"].contains(&name(object)));
        all.sort_by_key(id);
        all
    };
    let one = |list: &str| -> Option<Value> {
        let mut all = objects(list);
        (!all.is_empty()).then(|| all.swap_remove(deed.which % all.len()))
    };
    let came = |is_done: bool, came: Came| if is_done { came } else { Came::Nothing };
    match deed.what {
        What::Make(list, name) => {
            let group = json!([theirs("/groups")]);
            let rule = json!({ "name": "r", "enabled": true, "action": "drop", "bidirectional": true, "protocol": "all",
                               "sources": group, "destinations": group });
            let network = one("/networks")
                .map(|network| id(&network))
                .unwrap_or_default();
            let octet = deed.which % 200;
            let (path, body) = match list {
                "/groups" => (list.to_owned(), json!({ "name": name })),
                "/setup-keys" => (
                    list.to_owned(),
                    json!({ "name": name, "type": "reusable", "expires_in": 0, "auto_groups": group }),
                ),
                "/policies" => (
                    list.to_owned(),
                    json!({ "name": name, "enabled": true, "rules": [rule] }),
                ),
                "/routes" => (
                    list.to_owned(),
                    json!({ "network_id": name, "network": format!("172.20.{octet}.0/24"), "peer_groups": group,
                                                       "groups": group, "metric": 5, "masquerade": true, "enabled": true }),
                ),
                "/networks" => (list.to_owned(), json!({ "name": name })),
                "/networks/resources" => (
                    format!("/networks/{network}/resources"),
                    json!({ "name": name, "address": format!("10.77.0.{octet}"), "enabled": true, "groups": [] }),
                ),
                "/posture-checks" => (
                    list.to_owned(),
                    json!({ "name": name, "description": "", "checks": { "nb_version_check": { "min_version": "0.1.0" } } }),
                ),
                "/dns/nameservers" => (
                    list.to_owned(),
                    json!({ "name": name, "nameservers": [{ "ip": "10.9.9.8", "ns_type": "udp", "port": 53 }],
                                                                "groups": group, "primary": false, "domains": ["hand.example"], "enabled": true }),
                ),
                _ => (
                    list.to_owned(),
                    json!({ "name": name, "domain": format!("hand{octet}.example"), "distribution_groups": group }),
                ),
            };
            let (status, answer) = server.call("POST", &path, body);
            if status == 200 {
                Came::Made(list, id(&answer))
            } else {
                Came::Nothing
            }
        }
        What::Rename(list) => {
            let Some(live) = one(list) else {
                return Came::Nothing;
            };
            let field = if list == "/routes" {
                "network_id"
            } else {
                "name"
            };
            // a network is renamed with its description, a key never
            let is_done = list != "/setup-keys"
                && change(
                    server,
                    list,
                    &live,
                    json!({ field: format!("by-hand-{}", deed.which % 100) }),
                );
            came(is_done, Came::Touched(list, id(&live)))
        }
        What::Delete(list) => {
            let Some(live) = one(list) else {
                return Came::Nothing;
            };
            let (status, _) = server.call("DELETE", &place(server, list, &id(&live)), Value::Null);
            came(status == 200, Came::Touched(list, id(&live)))
        }
        What::Unsaid(list) => {
            let Some(live) = one(list) else {
                return Came::Nothing;
            };
            let (field, value) = match list {
                "/policies" | "/dns/zones" => ("enabled", json!(false)),
                "/routes" | "/dns/nameservers" | "/networks/resources" | "/posture-checks" => {
                    ("description", json!("by hand"))
                }
                _ => return Came::Nothing,
            };
            let is_done = change(server, list, &live, json!({ field: value }));
            came(is_done, Came::Field(list, id(&live), field, value))
        }
        What::Said(list) => {
            let Some(live) = one(list) else {
                return Came::Nothing;
            };
            let group = json!([theirs("/groups")]);
            let changes = match list {
                "/policies" => json!({ "description": "by hand" }),
                "/routes" => json!({ "metric": 99 }),
                "/networks" => json!({ "description": "by hand" }),
                "/networks/resources" => json!({ "groups": group }),
                "/posture-checks" => {
                    json!({ "checks": { "nb_version_check": { "min_version": "0.1.0" } } })
                }
                "/dns/nameservers" => json!({ "domains": ["hand.example"] }),
                "/dns/zones" => json!({ "distribution_groups": group }),
                "/setup-keys" => json!({ "auto_groups": group }),
                _ => return Came::Nothing,
            };
            let is_done = change(server, list, &live, changes);
            came(
                is_done,
                Came::Set(
                    list,
                    id(&live),
                    name(&live).to_owned(),
                    wrote.then_some(deed.before),
                ),
            )
        }
        What::Join | What::Leave => {
            let Some(live) = one("/groups") else {
                return Came::Nothing;
            };
            let member = theirs("/peers");
            let mut peers: Vec<Value> = live["peers"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|peer| peer["id"].clone())
                .collect();
            let joins = deed.what == What::Join;
            match joins {
                true => peers.push(member.clone()),
                false => drop(peers.pop()),
            }
            let is_done = change(server, "/groups", &live, json!({ "peers": peers }));
            let member = member.as_str().expect("an id").to_owned();
            came(
                is_done,
                if joins {
                    Came::Joined(id(&live), member)
                } else {
                    Came::Touched("/groups", id(&live))
                },
            )
        }
        What::Revoke => {
            let Some(live) = one("/setup-keys") else {
                return Came::Nothing;
            };
            let is_done = change(server, "/setup-keys", &live, json!({ "revoked": true }));
            came(
                is_done,
                Came::Field("/setup-keys", id(&live), "revoked", json!(true)),
            )
        }
    }
}

/// What happened: each deed with the request before which it was done.
type Log = Arc<Mutex<Vec<(Came, String)>>>;

fn watch(scene: &Arc<Scene>, deeds: &[Deed]) -> Log {
    let log = Log::default();
    let (seen, asked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (weak, deeds, into) = (Arc::downgrade(scene), deeds.to_vec(), Arc::clone(&log));
    scene.site.bench.server().http().watch(move |request| {
        let number = seen.fetch_add(1, Ordering::SeqCst);
        let wrote = match request.method.as_str() {
            "GET" => asked.load(Ordering::SeqCst) > 0,
            _ => asked.fetch_add(1, Ordering::SeqCst) > 0,
        };
        let Some(scene) = weak.upgrade() else { return };
        for deed in deeds.iter().filter(|deed| deed.before == number) {
            let came = perform(&scene, deed, wrote);
            let at = format!("{} {}", request.method, request.path);
            into.lock().expect("a log").push((came, at));
        }
    });
    log
}

/// What has to hold of what somebody did, once all runs are over.
fn check_kept(
    scene: &Scene,
    log: &[(Came, String)],
    first: &Run,
    requests: &[Request],
    world: &World,
) -> Result<(), String> {
    let said = format!("{}\n{}", first.stdout, first.stderr);
    let by_hand: Vec<(&str, &str)> = log
        .iter()
        .filter_map(|(came, _)| match came {
            Came::Touched(list, id) => Some((*list, id.as_str())),
            _ => None,
        })
        .collect();
    for (nth, (came, before)) in log.iter().enumerate() {
        let later: Vec<&Came> = log[nth + 1..].iter().map(|(came, _)| came).collect();
        let is = |list: &'static str, id: &str| world.get(&(list, id.to_owned()));
        let is_theirs =
            |list: &'static str, id: &str| !scene.leaves.contains(&(list, id.to_owned()));
        match came {
            Came::Made(list, id) => {
                let deleted = by_hand.contains(&(list, id))
                    || by_hand
                        .iter()
                        .any(|(of, _)| *of == "/networks" && *list == "/networks/resources");
                ensure(is(list, id).is_some() || deleted, || {
                    format!(
                        "{list} {id} was made by hand, and is gone\n{}",
                        brief(first)
                    )
                })?;
            }
            Came::Field(list, id, field, value) => {
                let again = later.iter().any(|came| matches!(came, Came::Set(_, of, ..) | Came::Field(_, of, ..) if of == id));
                // nobody can tell what happens between the last look and the write
                let in_the_window = before.starts_with("PUT") && before.ends_with(id.as_str());
                let Some(is) =
                    is(list, id).filter(|_| !again && !in_the_window && is_theirs(list, id))
                else {
                    continue;
                };
                ensure(is[*field] == *value, || {
                    format!(
                        "{list} {id}: {field} was set to {value} by hand before {before}: {is}\n{}",
                        brief(first)
                    )
                })?;
            }
            Came::Set(list, id, name, Some(at)) if !before.starts_with("PUT") => {
                let mut puts = requests.iter().skip(*at);
                let is_set = puts
                    .any(|request| request.method == "PUT" && request.path.ends_with(id.as_str()));
                let is_told = said.contains("during this run") || said.contains("meanwhile");
                ensure(!is_set || is_told || !is_theirs(list, id), || {
                    format!(
                        "{list} {name} was changed by hand before {before}, set again, and nothing says so\n{}",
                        brief(first)
                    )
                })?;
            }
            Came::Joined(group, peer) => {
                let again =
                    by_hand.contains(&("/groups", group)) || by_hand.contains(&("/peers", peer));
                let Some(is) =
                    is("/groups", group).filter(|_| !again && is_theirs("/groups", group))
                else {
                    continue;
                };
                let members = is["peers"].as_array().cloned().unwrap_or_default();
                ensure(members.contains(&json!(peer)), || {
                    format!(
                        "{peer} joined {group} by hand before {before}: {is}\n{}",
                        brief(first)
                    )
                })?;
            }
            Came::Set(..) | Came::Touched(..) | Came::Nothing => {}
        }
    }
    Ok(())
}

/// Whether all is there of theirs that nobody touched by hand.
fn check_theirs(scene: &Scene, log: &[(Came, String)], world: &World) -> Result<(), String> {
    let peers_go = log
        .iter()
        .any(|(came, _)| matches!(came, Came::Touched("/peers", _)));
    let touched: Vec<&String> = log
        .iter()
        .filter_map(|(came, _)| match came {
            Came::Touched(_, id)
            | Came::Field(_, id, ..)
            | Came::Set(_, id, ..)
            | Came::Joined(id, _) => Some(id),
            Came::Made(..) | Came::Nothing => None,
        })
        .collect();
    for at in &scene.theirs {
        let was = &scene.before[at];
        // with a network goes what is in it
        let networks_go = at.0.starts_with("/networks/")
            && log
                .iter()
                .any(|(came, _)| matches!(came, Came::Touched("/networks", _)));
        let follows = ["/accounts", "/users", "/dns/settings", "/peers"].contains(&at.0)
            || name(was) == "All";
        // where ours is deleted or renamed by hand, the entry adopts the other one of its name
        let is_adopted = log.iter().any(|(came, _)| match came {
            Came::Touched(list, id) if *list == at.0 => {
                let ours = scene.before.get(&(at.0, id.clone()));
                ours.is_some_and(|ours| name(ours) == name(was)) && world.contains_key(at)
            }
            _ => false,
        });
        if follows
            || networks_go
            || peers_go
            || is_adopted
            || touched.contains(&&at.1)
            || touched.iter().any(|id| was.to_string().contains(*id))
        {
            continue;
        }
        ensure(world.get(at) == Some(was), || {
            format!(
                "{at:?} of others is not as it was: {was}\n{:?}",
                world.get(at)
            )
        })?;
    }
    Ok(())
}

/// How many deeds were done in all histories, and how many of the disturbed runs ended with each exit code.
#[derive(Debug, Default)]
struct Tally {
    deeds: usize,
    codes: BTreeMap<i32, usize>,
}

fn case(scene: &Arc<Scene>, deeds: &[Deed], tally: &Mutex<Tally>) -> Result<(), String> {
    scene.restore();
    let log = watch(scene, deeds);
    let first = scene.run(&APPLY);
    let requests = scene.site.bench.server().http().requests();
    scene.rest();
    let log = std::mem::take(&mut *log.lock().expect("a log"));
    if let Ok(mut tally) = tally.lock() {
        let done = log.iter();
        tally.deeds += done
            .filter(|(came, _)| !matches!(came, Came::Nothing))
            .count();
        *tally.codes.entry(first.code).or_default() += 1;
    }
    let why = |why: String| format!("{why}\n{log:#?}");
    let world = read(&scene.site.bench);
    let result = ensure(matches!(first.code, 0 | 1 | 3 | 4), || brief(&first));
    let result = result.and_then(|()| {
        let claims =
            first.code == 1 || first.code == 3 || first.stdout.contains("nothing was changed");
        let done = requests
            .iter()
            .any(|request| request.method != "GET" && request.status == 200);
        ensure(!claims || !done, || {
            format!(
                "something was changed: {:?}\n{}",
                writes(&requests),
                brief(&first)
            )
        })
    });
    let result = result.and_then(|()| check_kept(scene, &log, &first, &requests, &world));
    let result = result.and_then(|()| check_theirs(scene, &log, &world));
    result
        .and_then(|()| settle(scene, &log, &first))
        .map_err(why)
}

/// Runs again, four times at most, until a run writes to no server. What was done by hand may make a file impossible: then that is
/// said each time and nothing is done.
fn settle(scene: &Scene, log: &[(Came, String)], first: &Run) -> Result<(), String> {
    let mut last = None;
    for _ in 0..4 {
        scene.forget();
        let mut run = scene.run(&APPLY);
        if run.code == 3 {
            super::agree(&scene.site);
            run = scene.run(&APPLY);
        }
        let asked = writes(&scene.site.bench.server().http().requests());
        ensure(matches!(run.code, 0 | 1 | 3 | 4), || brief(&run))?;
        let recorded = writes(&scene.site.gitea().requests());
        let is_idle = asked.is_empty() && recorded.is_empty();
        last = Some((run, asked));
        if is_idle {
            break;
        }
    }
    let (run, asked) = last.expect("a run");
    ensure(asked.is_empty(), || {
        format!("it never ends: {asked:?}\n{}", brief(&run))
    })?;
    let world = read(&scene.site.bench);
    let kept: BTreeMap<_, _> = world.clone();
    check_theirs(scene, log, &kept)?;
    check_kept(scene, log, first, &[], &world)
}

#[test]
fn a_second_admin_between_any_two_requests() {
    // where PROPTEST_CASES does not say how many
    let config = contextualize_config(Config {
        cases: 4,
        failure_persistence: None,
        max_shrink_iters: 60,
        ..Config::default()
    });
    let scene = || Arc::new(Scene::changed_on(Site::scenario_of_an_account()));
    let fake = Some(scene()).filter(|scene| scene.netbird.is_some());
    let deeds = proptest::collection::vec(deed(), 1..5);
    let tally = Mutex::new(Tally::default());
    let tried = TestRunner::new(config).run(&deeds, |deeds| {
        let scene = fake.clone().unwrap_or_else(scene);
        case(&scene, &deeds, &tally).map_err(TestCaseError::fail)
    });
    eprintln!("{:?}", tally.into_inner().expect("no case panicked"));
    tried.unwrap();
}
