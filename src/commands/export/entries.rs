//! The live account as a netbird.json: what `export` prints and `adopt` takes entries from.
//!
//! Planning the result changes nothing. What the file cannot express is left out and named: the check that decides is the
//! one that every file passes, so nothing invalid is written.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use serde_json::{Map, Value, json};

use crate::account::{Actual, Binding};
use crate::base::Id;
use crate::check::edit::Style;
use crate::check::validate::validate;
use crate::file::{Finding, Source, step};
use crate::model::kind::values::names;
use crate::model::{
    ALL, Address, Desired, EXPIRY, Kind, Live, NameOf, PeerRef, Resource, TEMPORARY,
};
use crate::wire::api::objects;

/// An account as a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Export {
    /// Entries by address, in the file's form.
    pub entries: BTreeMap<Address, Value>,
    /// What has no form in the file, and why.
    pub left_out: BTreeSet<(Address, String)>,
    /// Members that their group cannot list, and why.
    pub unlisted: BTreeSet<(Address, String)>,
    /// What stands in the entry of another object: which object it is, and its part of that entry.
    pub inside: Vec<(Address, Id, Value)>,
}

/// Puts the account into the file's form.
pub fn export(actual: &Actual) -> Export {
    let mut export = Export::default();
    let sections = actual.objects.iter();
    for (address, namesakes) in sections.filter(|(address, _)| address.parent().is_none()) {
        let entry = match (address.kind, namesakes.as_slice()) {
            (Kind::SetupKey, all) => setup_key(address, all, &export, actual),
            (_, [live]) => entry(live, &mut export, actual),
            (kind, all) if kind.descriptor().is_several => {
                let entry = |live| entry(live, &mut export, actual).transpose();
                let all = all.iter().filter_map(entry);
                all.collect::<Result<Value, String>>().map(Some)
            }
            (kind, all) => Err(format!("{} {} have this name", all.len(), kind.plural())),
        };
        match entry {
            Ok(Some(entry)) => drop(export.entries.insert(address.clone(), entry)),
            Ok(None) => {}
            Err(why) => drop(export.left_out.insert((address.clone(), why))),
        }
    }
    set_machines(&mut export, actual);
    loop {
        list_members(&mut export, actual);
        let flawed = flawed(&export);
        if flawed.is_empty() {
            break;
        }
        for (address, why) in flawed {
            export.entries.remove(&address);
            export.left_out.insert((address, why));
        }
    }
    export
}

impl Export {
    /// Returns the entries as a file's value; sections without entries are left out: they are not managed.
    pub fn file(&self) -> Value {
        let mut file = json!({});
        for (address, entry) in &self.entries {
            let place = place_of(address).fold(&mut file, |place, name| &mut place[name]);
            place.clone_from(entry);
        }
        file
    }

    /// Leaves the members of groups out: a file that does not say them leaves them alone.
    pub fn forget_members(&mut self) {
        self.unlisted.clear();
        let groups = self.entries.iter_mut();
        let groups = groups.filter(|(address, _)| address.kind == Kind::Group);
        for group in groups.filter_map(|(_, group)| group.as_object_mut()) {
            group.remove("peers");
        }
    }

    /// Leaves people out: addresses in a repository are a decision.
    pub fn forget_people(&mut self) {
        self.entries.retain(|address, _| address.kind != Kind::User);
        self.left_out
            .retain(|(address, _)| address.kind != Kind::User);
    }

    /// Returns the file's text as people write it: sections in their order, entries sorted, lists on one line.
    pub fn text(&self) -> String {
        match self.file() {
            Value::Object(file) if !file.is_empty() => format!("{}\n", block(&file, &[])),
            _ => "{}\n".into(),
        }
    }
}

/// The names that lead to an entry of a file.
fn place_of(address: &Address) -> impl Iterator<Item = &str> {
    let name = Some(address.name.as_str()).filter(|_| !address.kind.is_one());
    address.kind.section_path().iter().copied().chain(name)
}

/// The text of what stands at that place of the file: sections in the order of the kinds, their entries sorted.
fn block(place: &Map<String, Value>, path: &[&str]) -> String {
    const UNIT: &str = "  ";
    let indent = UNIT.repeat(path.len() + 1);
    let kind = Kind::sections().find(|kind| kind.section_path() == path);
    let fields = kind.map(Kind::field_names).unwrap_or_default();
    let position = |(name, _): &(&String, &Value)| {
        Kind::sections().position(|kind| kind.section_path().starts_with(&[path, &[name]].concat()))
    };
    let mut members: Vec<(&String, &Value)> = place.iter().collect();
    members.sort_by_key(position);
    let style = Style {
        names: &fields,
        newline: "\n",
        unit: UNIT,
    };
    let line = |(name, value): (&String, &Value)| {
        let member = match value {
            Value::Object(members) if kind.is_none() => {
                let inner = block(members, &[path, &[name]].concat());
                format!("{}: {inner}", Value::from(name.as_str()))
            }
            entry => style.member(name, ": ", entry, &indent, 0),
        };
        indent.clone() + &member
    };
    let lines: Vec<String> = members.into_iter().map(line).collect();
    format!("{{\n{}\n{}}}", lines.join(",\n"), UNIT.repeat(path.len()))
}

/// Why the names of what an object refers to do not say which they are.
fn unresolved(live: &Live, actual: &Actual) -> Option<String> {
    let groups = live.resource.references().into_iter();
    let mut found = groups.filter_map(|group| Some((group, actual.groups.id(group).err()?)));
    if let Some((group, why)) = found.next() {
        return Some(format!("it refers to group {group:?}, but {why}"));
    }
    let mut others = live.resource.others().into_iter();
    let why = others.find_map(|(what, name)| actual.groups.other(what, name).err())?;
    Some(format!("it refers to what cannot be named: {why}"))
}

fn entry(live: &Live, export: &mut Export, actual: &Actual) -> Result<Option<Value>, String> {
    let is_pending = |user: objects::User| user.pending_approval;
    match live.resource.kind() {
        Kind::Group if live.name == ALL => return Ok(None),
        Kind::Group if let Some(why) = actual.protected_groups.get(&live.id) => {
            return Err(format!("it is {why}"));
        }
        Kind::Policy if live.name.starts_with(TEMPORARY) => {
            return Err("it is temporary: NetBird created it and will delete it".into());
        }
        Kind::User if live.wire.read().is_ok_and(is_pending) => {
            return Err("the user waits for approval in NetBird".into());
        }
        _ => {}
    }
    let entry = fields(live, export, actual)?;
    // there is always one of it, so only what it says is worth an entry
    let is_idle = live.resource.kind().is_one() && entry.is_empty();
    let entry = Some(Value::Object(entry)).filter(|_| !is_idle);
    Ok(entry.map(|entry| with_children(entry, live, export, actual)))
}

/// Returns the fields of an entry, with names of peers in the place of their ids; `Err` says why there can be none.
fn fields(live: &Live, export: &Export, actual: &Actual) -> Result<Map<String, Value>, String> {
    if let Some(why) = unresolved(live, actual) {
        return Err(why);
    }
    let mut resource = live.resource.clone();
    for peer in resource.peers_mut() {
        let found = peer.id().and_then(|id| actual.peers.get(id));
        let Some(found) = found else {
            return Err("it names a peer that NetBird does not have any more".into());
        };
        match unnamed(found, export, actual) {
            Some(why) => return Err(format!("it names the peer {:?}: {why}", found.name)),
            None => *peer = PeerRef::Name(found.name.clone()),
        }
    }
    if let Resource::User(user) = &mut resource {
        // the identity provider says who is in its own groups
        let is_issued = |name: &String| {
            let id = actual.groups.id(name);
            id.is_ok() && actual.are_issued(id)
        };
        user.auto_groups
            .iter_mut()
            .for_each(|groups| groups.retain(|name| !is_issued(name)));
    }
    resource.export()
}

/// Adds what stands in an object to its entry.
fn with_children(mut entry: Value, parent: &Live, export: &mut Export, actual: &Actual) -> Value {
    let kinds = parent.resource.kind().children();
    for (kind, inside) in kinds.filter_map(Kind::inside_as) {
        let mut found = Vec::new();
        let children = actual.children(parent);
        for (address, live) in children.filter(|(address, _)| address.kind == kind) {
            match fields(live, export, actual) {
                Ok(fields) => {
                    let fields = Value::Object((inside.written)(fields, &entry));
                    found.push((address.name.clone(), fields.clone()));
                    let (address, id) = (address.clone(), live.id.clone());
                    export.inside.push((address, id, fields));
                }
                Err(why) => drop(export.left_out.insert((address.clone(), why))),
            }
        }
        entry[kind.section()] = match inside.name {
            NameOf::Key => Value::Object(found.into_iter().collect()),
            _ => found.into_iter().map(|(_, fields)| fields).collect(),
        };
    }
    entry
}

/// Why a file that names a peer does not mean it, if it does not: its name means another peer, or none yet.
fn unnamed(peer: &objects::Peer, export: &Export, actual: &Actual) -> Option<&'static str> {
    let means = |key: &Value| {
        let keys = actual.keys_named(&peer.name);
        let newest = keys.filter(|key| key.used_times > 0).last();
        let bound = newest.and_then(|key| actual.bindings.of_key(&key.id)?.peer());
        key["enrolled"] == Value::Bool(true) && bound == Some(&peer.id)
    };
    let key = Address::new(Kind::SetupKey, &peer.name);
    let key = export.entries.get(&key);
    let is_shared = || {
        let of_name = actual.peers_named(&peer.name);
        of_name.filter(|peer| !peer.ephemeral).count() > 1
    };
    if peer.ephemeral {
        Some("it is ephemeral")
    } else if names::own_flaw(&peer.name).is_some() {
        Some("a file cannot have that name")
    } else if !key.is_none_or(means) {
        Some("a setup key that it did not enroll with has this name")
    } else if key.is_none() && is_shared() {
        Some("several peers have this name")
    } else {
        None
    }
}

/// Lists the members of each group by their names. A name that means another peer, or none yet, is not listed: the file
/// leaves such a member alone. A pending one-off key is listed in the groups that it joins, else its enrollment would be
/// undone.
fn list_members(export: &mut Export, actual: &Actual) {
    let mut lists: BTreeMap<Address, BTreeSet<String>> = BTreeMap::new();
    export.unlisted.clear();
    for address in export.entries.keys() {
        let [live] = actual.at(address) else { continue };
        let Resource::Group(group) = &live.resource else {
            continue;
        };
        let names = lists.entry(address.clone()).or_default();
        let members = group.peers.iter().flatten();
        let members = members.filter_map(|id| actual.peers.get(id));
        for peer in members.filter(|peer| !peer.ephemeral) {
            match unnamed(peer, export, actual) {
                None => drop(names.insert(peer.name.clone())),
                Some(why) => {
                    let text = format!("its member {:?} is not listed: {why}", peer.name);
                    export.unlisted.insert((address.clone(), text));
                }
            }
        }
    }
    let pending = export.entries.iter().filter(|(address, entry)| {
        address.kind == Kind::SetupKey && entry["enrolled"] == Value::Bool(false)
    });
    for (key, entry) in pending {
        let groups = entry["auto_groups"].as_array().into_iter().flatten();
        for group in groups.filter_map(Value::as_str) {
            if let Some(names) = lists.get_mut(&Address::new(Kind::Group, group)) {
                names.insert(key.name.clone());
            }
        }
    }
    for (address, names) in lists {
        if let Some(entry) = export.entries.get_mut(&address) {
            entry["peers"] = json!(names);
        }
    }
}

/// Says of machines what is otherwise than when they enrolled: with SSH off, and expiring where they are a person's.
fn set_machines(export: &mut Export, actual: &Actual) {
    for peer in actual.peers.iter() {
        let is_persons = !peer.user_id.is_empty();
        let usual = |field: &str| json!(is_persons && EXPIRY.contains(&field));
        let mut entry = actual.live_peer(peer).resource.export().unwrap_or_default();
        entry.retain(|field, value| *value != usual(field));
        if entry.is_empty() {
            continue;
        }
        let address = Address::new(Kind::Peer, &peer.name);
        let why = match actual.peers_named(&peer.name).count() {
            1 => unnamed(peer, export, actual),
            _ => Some("several peers have this name"),
        };
        match why {
            None => drop(export.entries.insert(address, Value::Object(entry))),
            Some(why) => drop(export.left_out.insert((address, why.to_owned()))),
        }
    }
}

/// A key that can still be used is declared pending, one whose peer has its name enrolled; what is dead is left out.
fn setup_key(
    address: &Address,
    namesakes: &[Live],
    export: &Export,
    actual: &Actual,
) -> Result<Option<Value>, String> {
    let peer_of = |id: &Id| actual.bindings.of_key(id).and_then(Binding::peer);
    let keys = namesakes.iter();
    let keys = keys.filter_map(|live| Some((live, actual.keys.get(&live.id)?)));
    let is_spent = |key: &objects::SetupKey| key.is_for_one() && key.used_times > 0;
    let (valid, dead): (Vec<_>, Vec<_>) = keys.partition(|(_, key)| key.valid && !is_spent(key));
    let enrolled = dead.iter().rfind(|(live, key)| {
        let peer = peer_of(&live.id).and_then(|id| actual.peers.get(id));
        !key.ephemeral && peer.is_some_and(|peer| peer.name == address.name)
    });
    // a pending key of which a newer namesake was used would be taken for that one's enrollment; and its name in a group
    // means the peer of an older one, until it is used itself
    let newest_use = dead.iter().rev().find(|(_, key)| is_spent(key));
    if let ([(_, valid)], Some((_, used))) = (&valid[..], newest_use)
        && (valid.id < used.id || peer_of(&used.id).is_some())
    {
        return Err("several keys have this name, and another one was used".into());
    }
    let (live, key, is_enrolled) = match (&valid[..], enrolled) {
        ([(live, key)], None) => (live, key, false),
        ([], Some((live, key))) => (live, key, true),
        ([], None) => return Err("it is used, expired or revoked".into()),
        _ => return Err("several keys have this name".into()),
    };
    let mut fields = fields(live, export, actual)?;
    fields.insert("expires_in".into(), json!(life_time(key)));
    if key.is_for_one_peer() {
        fields.insert("enrolled".into(), json!(is_enrolled));
    }
    Ok(Some(Value::Object(fields)))
}

/// Seconds from a key's creation to its expiry, 0 = never. The server does not answer the life time that it was made with.
fn life_time(key: &objects::SetupKey) -> i64 {
    let Some(expires) = key.expires else { return 0 };
    let created = key.id.created_at();
    let created = created.or_else(|| Some(key.updated_at?.as_second()));
    (expires.as_second() - created.unwrap_or_default()).clamp(1, 9_223_372_036)
}

/// The entries with something that a file must not have, and why.
fn flawed(export: &Export) -> BTreeMap<Address, String> {
    let source = Source::from_text("export", export.file().to_string());
    let found: Vec<(String, String)> = match source.map(|source| validate(&source)) {
        Err(error) => vec![(String::new(), error.message)],
        Ok(Ok(valid)) => return respelled(export, &valid.desired),
        Ok(Err(problems)) => {
            let found = |it: &Finding| (it.place.path.clone(), it.message.clone());
            problems.errors().map(found).collect()
        }
    };
    let path = |at: &Address| place_of(at).fold(String::new(), |path, name| step(&path, name));
    let paths: Vec<(String, &Address)> = export.entries.keys().map(|at| (path(at), at)).collect();
    let mut flawed = BTreeMap::new();
    for (place, why) in found {
        let is_in = |(path, _): &&(String, &Address)| {
            let rest = place.strip_prefix(path.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        // what stands in no entry is mended by leaving out any
        if let Some((_, address)) = paths.iter().find(is_in).or(paths.last()) {
            flawed.entry((*address).clone()).or_insert(why);
        }
    }
    flawed
}

/// The entries that a file reads otherwise than they stand in it, and why: a plan would change what lives.
fn respelled(export: &Export, desired: &Desired) -> BTreeMap<Address, String> {
    let why = |(address, entry): (&Address, &Value)| {
        let entries = entry
            .as_array()
            .map_or(slice::from_ref(entry), Vec::as_slice);
        let mut read = entries.iter().zip(desired.resource(address));
        read.find_map(|(entry, read)| {
            let fields = read.export().unwrap_or_default();
            let differs =
                |(name, read): &(String, Value)| entry.get(name).is_some_and(|live| live != read);
            let (name, read) = fields.into_iter().find(differs)?;
            let live = &entry[&name];
            Some((
                address.clone(),
                format!("its {name} is {live}, and a file can only say {read}"),
            ))
        })
    };
    // who the members of a group are, a file's names do not say yet
    let entries = export.entries.iter();
    let entries = entries.filter(|(address, _)| address.kind != Kind::Group);
    entries.filter_map(why).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, group};

    #[test]
    fn what_a_file_reads_otherwise_is_left_out() {
        let check = |country: &str| {
            let geo = json!({ "action": "allow", "locations": [{ "country_code": country }] });
            json!({ "id": country, "name": country, "checks": { "geo_location_check": geo } })
        };
        let live =
            json!({ "groups": [group("g", &[])], "posture_checks": [check("NL"), check("nl")] });
        let export = export(&Case::new(json!({}), live).actual());
        let left_out = export
            .left_out
            .iter()
            .map(|(address, why)| format!("{address} {why}"));
        let wanted = r#"posture check nl its geo is {"action":"allow","locations":[{"country":"nl"}]}, and a file can only say {"action":"allow","locations":[{"country":"NL"}]}"#;
        assert_eq!(left_out.collect::<Vec<_>>(), [wanted]);
        let kept: Vec<String> = export.entries.keys().map(Address::path).collect();
        assert_eq!(kept, ["groups/g", "posture_checks/NL"]);
    }
}
