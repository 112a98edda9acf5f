//! What NetBird has, and what has to hold of it after any case.

use std::collections::{BTreeMap, BTreeSet};

use fakes::Request;
use serde_json::{Value, json};

use super::{Scene, Task, WANTED};
use crate::copies::stored;
use crate::run::{Bench, Run, id};

/// All objects of an account by list and id, without what follows other objects.
pub(super) type World = BTreeMap<(&'static str, String), Value>;

const LISTS: [&str; 13] = [
    "/groups",
    "/setup-keys",
    "/peers",
    "/users",
    "/posture-checks",
    "/policies",
    "/routes",
    "/networks",
    "/networks/resources",
    "/networks/routers",
    "/dns/nameservers",
    "/dns/zones",
    "/accounts",
];

/// Fields that follow other objects, or time.
const FOLLOWS: [&str; 12] = [
    "peers_count",
    "resources_count",
    "routing_peers_count",
    "updated_at",
    "policies",
    "last_login",
    "last_seen",
    "last_used",
    "routers",
    "resources",
    "connected",
    "ipv6",
];

pub(super) fn read(bench: &Bench) -> World {
    let mut world = World::new();
    for list in LISTS {
        for object in bench.server().list(list) {
            world.insert((list, id(&object)), without_follows(object));
        }
    }
    let settings = bench.server().call("GET", "/dns/settings", Value::Null).1;
    world.insert(("/dns/settings", String::new()), settings);
    world
}

/// The name of an object, or of a route.
pub(super) fn name(object: &Value) -> &str {
    let name = object.get("name").or(object.get("network_id"));
    name.and_then(Value::as_str).unwrap_or_default()
}

fn without_follows(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|field, _| !FOLLOWS.contains(&field.as_str()));
            let mut fields: Vec<_> = fields.iter_mut().collect();
            for (field, value) in &mut fields {
                **value = match (field.as_str(), value.as_array()) {
                    ("peers" | "groups", Some(entries)) => {
                        let ids = entries
                            .iter()
                            .map(|entry| entry.get("id").unwrap_or(entry).clone());
                        let mut ids: Vec<Value> = ids.collect();
                        ids.sort_by_key(Value::to_string);
                        ids.into()
                    }
                    _ => without_follows(value.take()),
                };
            }
        }
        Value::Array(entries) => entries
            .iter_mut()
            .for_each(|entry| *entry = without_follows(entry.take())),
        _ => {}
    }
    value
}

impl Scene {
    /// What a run may have left, whatever it met.
    pub(super) fn check_run(&self, run: &Run, world: &World) -> Result<(), String> {
        let (text, said) = (format!("{}\n{}", run.stdout, run.stderr), brief(run));
        ensure(matches!(run.code, 0..=4), || {
            format!("it ended with {}: {said}", run.code)
        })?;
        for (at, was) in &self.before {
            let is = world.get(at);
            let is_same = match at.0 {
                // of these the file says some fields, and All has whoever there is
                "/accounts" | "/users" | "/dns/settings" => is.is_some(),
                "/groups" if name(was) == "All" => is.is_some(),
                _ if self.theirs.contains(at) => is == Some(was),
                _ => is.is_some() || self.leaves.contains(at),
            };
            ensure(is_same, || {
                format!("{at:?} is not as it was: {was}\nbut {is:?}\n{said}")
            })?;
        }
        let unchanged = &self.before == world;
        let claims = run.code == 1 || run.code == 3 || text.contains("nothing was changed");
        ensure(unchanged || !claims, || {
            format!(
                "it says that nothing was changed (exit code {}), but it was:{}\n{said}",
                run.code,
                differences(&self.before, world)
            )
        })?;
        self.check_keys(world)
    }

    /// Whether each usable key is recorded, and each recorded one has its sealed text on the branch.
    fn check_keys(&self, world: &World) -> Result<(), String> {
        let (stored, inventory) = (stored(&self.site), self.site.inventory().to_string());
        for ((list, id), key) in world {
            if *list != "/setup-keys" || self.theirs.contains(&("/setup-keys", id.clone())) {
                continue;
            }
            let is_stored = stored.iter().any(|(path, _)| path.contains(id));
            let is_recorded = inventory.contains(id);
            let has_groups = key["auto_groups"] != json!([]);
            ensure(is_recorded || !has_groups, || {
                format!("a usable key is not recorded: {key}\n{inventory}")
            })?;
            let is_pending = key["valid"] == true && key["used_times"] == 0;
            ensure(is_stored || !is_recorded || !is_pending, || {
                format!("a recorded key is not stored: {key}\n{stored:?}")
            })?;
        }
        Ok(())
    }

    /// That further runs end well and leave nothing to do, that all is there once, recorded, and opens.
    pub(super) fn check_settled(&self, task: &Task) -> Result<(), String> {
        let site = &self.site;
        let mut first = self.run(task);
        // a role that was given is no row any more: what is left of that change wants a line of its own
        if first.code == 3 && task.name == "apply" {
            super::agree(site);
            first = self.run(task);
        }
        ensure(first.code == 0, || {
            format!("the second run: {}", brief(&first))
        })?;
        self.check_idle(task)?;
        if task.name != "apply" {
            return self.check_run(&first, &read(&site.bench));
        }
        let world = read(&site.bench);
        self.check_run(&Run { code: 4, ..first }, &world)?;
        let plan = site.in_job(&["plan"], &super::push(site));
        ensure(plan.stdout.contains("No changes"), || {
            format!("a plan: {}", plan.stdout)
        })?;
        self.check_names(&world, &plan)?;
        for (path, secret) in stored(site) {
            let of_key = world
                .iter()
                .find(|((list, id), _)| *list == "/setup-keys" && path.contains(id));
            if let Some((_, key)) =
                of_key.filter(|(_, key)| key["valid"] == true && key["used_times"] == 0)
            {
                let enrolled = site.bench.server().enroll(&secret, "last");
                ensure(enrolled.is_ok(), || {
                    format!("{path} does not open {key}: {enrolled:?}")
                })?;
            }
        }
        Ok(())
    }

    /// That another run writes nothing to NetBird or to the branch that is applied.
    pub(super) fn check_idle(&self, task: &Task) -> Result<(), String> {
        self.forget();
        let tip = self.site.repo().tip("main");
        let run = self.run(task);
        let said = || format!("a run more: {}", brief(&run));
        ensure(run.code == 0, said)?;
        let writes = writes(&self.site.bench.netbird().requests());
        ensure(writes.is_empty(), || format!("{writes:?}\n{}", said()))?;
        ensure(self.site.repo().tip("main") == tip, said)
    }

    fn check_names(&self, world: &World, plan: &Run) -> Result<(), String> {
        let inventory = self.site.inventory();
        let mut recorded = BTreeSet::new();
        for list in ["created", "adopted", "enrolled"] {
            let entries = inventory[list].as_object().into_iter().flatten();
            for (_, ids) in entries {
                recorded.extend(
                    ids.as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .map(str::to_owned),
                );
            }
        }
        for (list, wanted) in WANTED {
            let of_list = world.iter().filter(|((at, _), _)| *at == list);
            let mut names = Vec::new();
            for (at, object) in of_list.filter(|(at, _)| !self.theirs.contains(*at)) {
                let is_recorded = recorded.contains(&at.1);
                // of a key that wants no groups nothing tells whether it was sealed: it stays, and every plan names it
                let is_named = name(object) == "open" && plan.stdout.contains(&at.1);
                ensure(is_recorded || is_named, || {
                    format!(
                        "{list} {} is not recorded: {object}\n{inventory}",
                        name(object)
                    )
                })?;
                if is_recorded {
                    names.push(name(object));
                }
            }
            names.sort_unstable();
            ensure(names.join(" ") == wanted, || {
                format!("{list} has {names:?}, not {wanted}")
            })?;
        }
        Ok(())
    }
}

/// What a run came to, without what went well.
pub(super) fn brief(run: &Run) -> String {
    let lines = run.stderr.lines().filter(|line| !line.contains("\"info\""));
    let text: Vec<&str> = run.stdout.lines().take(3).chain(lines).collect();
    format!("exit code {}\n{}", run.code, text.join("\n"))
}

/// The requests that may change something.
pub(super) fn writes(requests: &[Request]) -> Vec<String> {
    let writes = requests.iter().filter(|request| request.method != "GET");
    writes.map(Request::to_string).collect()
}

pub(super) fn differences(before: &World, after: &World) -> String {
    let mut text = String::new();
    let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for at in all {
        let (was, is) = (before.get(at), after.get(at));
        if was != is {
            text += &format!("\n  {at:?}: {was:?} -> {is:?}");
        }
    }
    text
}

pub(super) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
