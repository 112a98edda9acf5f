//! Fetches the live account: one request a list, in parallel, none for a single object.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, Result};

use crate::account::actual::{holding_lists, optional_lists};
use crate::account::{Actual, Binding, Early, Peers, Snapshot, actual};
use crate::base::{Entry, Evidence, Id};
use crate::inventory::Inventory;
use crate::model::{Address, Desired, Kind, Reach, Refers, Resource};
use crate::wire::api::{Api, ApiError, numbers, objects};

/// The lists that a run needs at first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    kinds: BTreeSet<Kind>,
    /// Lists of what is not a group and that entries name.
    others: BTreeSet<Refers>,
    /// Recorded setup keys.
    keys: BTreeSet<Id>,
    /// Names of keys by which recorded machines came, as something else than the event log told.
    untold: BTreeSet<String>,
}

/// Returns the list of what entries name.
fn list_of(what: Refers) -> &'static str {
    let list = what.kind().and_then(Kind::list);
    list.expect("what is named is a kind that has a list")
}

impl Needs {
    /// Returns what planning that file needs. What only deletions need is fetched by `complete`.
    pub fn of(desired: &Desired, account: bool) -> Self {
        let managed = |kind| desired.manages(kind);
        let mut kinds: BTreeSet<Kind> = Kind::ALL
            .into_iter()
            .filter(|kind| managed(*kind))
            .collect();
        // everything refers to groups
        kinds.insert(Kind::Group);
        let mut named = desired.resources().flat_map(|(_, all)| all);
        let names_peers = named.any(|one| !one.peers().is_empty());
        if managed(Kind::Group) || managed(Kind::SetupKey) || names_peers {
            kinds.extend([Kind::SetupKey, Kind::Peer]);
        }
        let settings = desired.resource(&Address::new(Kind::AccountSettings, ""));
        let mut set = settings.iter().flat_map(|one| one.fields().into_iter());
        if set
            .any(|(field, value)| Kind::AccountSettings.moves(&field).is_some() && !value.is_null())
        {
            // machines that they move, and zones that they may be in the way of
            kinds.extend([Kind::Peer, Kind::DnsZone]);
        }
        let follow = |one: &Resource| matches!(one, Resource::AccountSettings(of) if of.groups_propagation_enabled == Some(true));
        if settings.iter().any(follow) {
            // whose machines join their groups once that is switched on
            kinds.extend([Kind::Peer, Kind::User]);
        }
        if managed(Kind::User) {
            // their machines, and whether these follow their groups
            kinds.extend([Kind::Peer, Kind::AccountSettings]);
        }
        if account {
            kinds.insert(Kind::AccountSettings);
        }
        let named = desired.resources().flat_map(|(_, all)| all);
        let others = named.flat_map(Resource::others).map(|(what, _)| what);
        Needs {
            kinds,
            others: others.collect(),
            ..Needs::default()
        }
    }

    /// Adds the kinds of what is recorded: of those whose section the file has no more it is said what still lives.
    pub fn and_recorded(mut self, inventory: &Inventory) -> Self {
        let recorded = inventory.recorded();
        let sections = recorded.filter_map(|(key, ..)| Some(key.split_once('/')?.0));
        let sections: BTreeSet<&str> = sections.collect();
        let kinds = Kind::ALL.into_iter().filter(|kind| kind.goes_with_entry());
        for kind in kinds.filter(|kind| sections.contains(kind.section())) {
            self.kinds
                .extend(std::iter::once(kind).chain(kind.parent()));
        }
        if !inventory.enrolled.is_empty() {
            self.kinds.insert(Kind::Peer);
        }
        self.and_keys(inventory)
    }

    /// Adds what the event log may have to tell of recorded keys.
    pub fn and_keys(mut self, inventory: &Inventory) -> Self {
        let keys = inventory.recorded();
        let keys = keys.filter(|(key, ..)| key.starts_with(Kind::SetupKey.section()));
        self.keys = keys.map(|(_, id, _)| id.clone()).collect();
        let untold = inventory.enrolled.iter();
        let untold = untold.filter(|(_, all)| all.iter().any(|of| of.by != Evidence::Event));
        self.untold = untold.map(|(name, _)| name.clone()).collect();
        self
    }

    /// Adds all that says who reaches whom.
    pub fn and_reach(mut self) -> Self {
        let has_part = |kind: &Kind| kind.descriptor().reach != Reach::Nothing;
        self.kinds.extend(Kind::ALL.into_iter().filter(has_part));
        self
    }

    /// Adds the account, whose id says whether an inventory is of it.
    pub fn and_account(mut self) -> Self {
        self.kinds.insert(Kind::AccountSettings);
        self
    }

    /// Returns what finding enrollments needs.
    pub fn enrollment() -> Self {
        let kinds = BTreeSet::from([Kind::Group, Kind::SetupKey, Kind::Peer]);
        Needs {
            kinds,
            ..Needs::default()
        }
    }

    /// Returns what an export needs: every kind that a file can declare.
    pub fn everything() -> Self {
        Needs {
            kinds: Kind::ALL.into_iter().collect(),
            ..Needs::default()
        }
    }

    fn paths(&self) -> Vec<&'static str> {
        let tops: BTreeSet<Kind> = self.kinds.iter().map(|kind| kind.top()).collect();
        let mut paths: Vec<&str> = tops.into_iter().flat_map(lists).collect();
        let others = self.others.iter().map(|what| list_of(*what));
        paths.extend(
            others
                .filter(|path| !paths.contains(path))
                .collect::<Vec<&str>>(),
        );
        if !self.kinds.contains(&Kind::User) {
            paths.push("/users?service_user=true");
        }
        paths
    }
}

/// A list that came: its entries, and the peers apart, which are read and indexed on the way.
type Fetched = (Vec<Entry>, Option<Arc<Peers>>);

/// What each list answered.
type Answers = BTreeMap<&'static str, Result<Fetched, ApiError>>;

/// Lists that are on their way before it is known what else is needed: the server answers, and what it answered is read, while the
/// file is read and its history looked up.
#[derive(Default)]
pub struct Ahead {
    lists: Vec<&'static str>,
    read: Option<JoinHandle<(Answers, Option<Early>)>>,
    /// Lists that the file needs, so that a server without one is an error.
    used: BTreeSet<&'static str>,
}

impl Ahead {
    /// Asks for the lists that every plan needs which says who reaches whom.
    pub fn begin(api: &Api) -> Self {
        let lists = Needs::default().and_reach().paths();
        let is_last = |path: &&str| kind_of(path) == Some(Kind::Peer);
        let (last, first): (Vec<_>, Vec<_>) = lists.iter().copied().partition(is_last);
        let api = api.clone();
        let read = std::thread::spawn(move || {
            let later = api.clone();
            let last = std::thread::spawn(move || ask(&later, &last));
            let mut answers = ask(&api, &first);
            let mut snapshot = Snapshot::default();
            for (path, answer) in &answers {
                let answer = answer.as_ref().ok().cloned();
                // whether it can be missing is known when the file is
                let answer = answer.or_else(|| is_optional(path).then(Fetched::default));
                answer
                    .into_iter()
                    .for_each(|it| store(&mut snapshot, path, it));
            }
            let early = Early::begin(snapshot).ok();
            answers.extend(last.join().expect("a fetching thread does not panic"));
            (answers, early)
        });
        Ahead {
            lists,
            read: Some(read),
            used: BTreeSet::new(),
        }
    }
}

/// Asks for lists, all at once.
fn ask(api: &Api, paths: &[&'static str]) -> Answers {
    std::thread::scope(|scope| {
        let begin = |path| (path, scope.spawn(move || fetch_one(api, path)));
        let begun: Vec<_> = paths.iter().copied().map(begin).collect();
        let joined = begun.into_iter().map(|(path, list)| (path, list.join()));
        let answers = joined.map(|(path, it)| (path, it.expect("no fetching thread panics")));
        answers.collect()
    })
}

/// Fetches what is needed. The events are added where a declared key was used and is not marked yet, or where times
/// alone do not tell by whom.
pub fn fetch(api: &Api, needs: &Needs, desired: &Desired) -> Result<Snapshot> {
    Ok(fetch_rest(Ahead::default(), api, needs, desired)?.0)
}

/// Fetches likewise what is not on its way. Returns besides how the account was read on the way, if it can be read.
pub fn fetch_rest(
    mut ahead: Ahead,
    api: &Api,
    needs: &Needs,
    desired: &Desired,
) -> Result<(Snapshot, Option<Early>)> {
    let mut snapshot = Snapshot::default();
    let used = Kind::ALL.into_iter().filter(|kind| desired.manages(*kind));
    ahead.used = used.filter_map(Kind::list).collect();
    let early = fetch_all(api, &needs.paths(), ahead, &mut snapshot)?;
    // what cannot be read here is an error of the plan
    let read = Early::read(snapshot.clone(), early).ok();
    let is_there = |what: &Refers| what.kind().is_some_and(|kind| snapshot.has(kind));
    let live = read.iter().flat_map(|read| read.actual.each());
    let named = live.flat_map(|(_, live)| live.resource.others());
    // what live objects name that is not a group: a plan speaks of it by name
    let named: BTreeSet<Refers> = named.map(|(what, _)| what).collect();
    let unnamed = named.into_iter().filter(|what| !is_there(what));
    let paths: Vec<&'static str> = unnamed.map(list_of).collect();
    fetch_parts(api, &paths, &mut snapshot)?;
    let is_me = |user: &Entry| user.read().is_ok_and(|user: objects::User| user.is_current);
    if !snapshot.rest.users.iter().any(is_me) {
        snapshot.rest.users = api.list("/users").context("cannot list users")?;
    }
    let mut declared = desired.resources().flat_map(|(_, all)| all);
    if declared.any(|one| matches!(one, Resource::PostureCheck(check) if check.needs_locations())) {
        // without them it answers 412 to this, and to a posture check that has some (docs/netbird-api.md, "Posture checks")
        let answer = api.get("/locations/countries");
        snapshot.rest.lacks_locations = answer.is_err_and(|error| error.is_unmet());
    }
    let mut declared = desired.resources().flat_map(|(_, all)| all);
    if declared.any(|one| matches!(one, Resource::User(_))) {
        // of a server without its own identity provider the list is empty, of an old one absent
        fetch_parts(api, &["/identity-providers"], &mut snapshot)?;
    }
    let tell_more = |read: &Early| events_tell_more(&read.actual, needs, desired);
    if read.as_ref().is_some_and(tell_more) {
        snapshot.rest.events = Some(api.list("/events").context("cannot list events")?);
    }
    Ok((snapshot, read))
}

/// What a plan turned out to need beside the lists of every plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct More {
    /// A group or a peer goes: everything that could refer to it.
    pub referrers: bool,
    /// Members are removed that nobody declared: who came by which key.
    pub events: bool,
}

/// Fetches what a plan with deletions needs. Returns whether anything was missing.
pub fn complete(api: &Api, more: More, snapshot: &mut Snapshot) -> Result<bool> {
    let mut paths = Vec::new();
    // the resources alone are there where a policy names one
    let is_there = |path| snapshot.rest.parts.contains_key(path);
    if more.referrers && !holding_lists().all(is_there) {
        // all of these can keep a group or a peer, and so can every kind of the file
        paths.extend(holding_lists());
        let missing = Kind::ALL.into_iter();
        let missing = missing.filter(|kind| !kind.enrolls() && !snapshot.has(*kind));
        paths.extend(missing.filter_map(Kind::list));
    }
    if more.events && snapshot.rest.events.is_none() {
        paths.push("/events");
    }
    fetch_parts(api, &paths, snapshot)?;
    Ok(!paths.is_empty())
}

/// Fetches these lists, of which a server may have none.
pub fn fetch_parts(api: &Api, paths: &[&'static str], snapshot: &mut Snapshot) -> Result<()> {
    fetch_all(api, paths, Ahead::default(), snapshot).map(drop)
}

/// Returns what the account has that no file manages, in words, and which lists of that cannot be read.
pub fn beside_the_kinds(api: &Api) -> Vec<String> {
    let (mut parts, mut unread) = (BTreeMap::new(), Vec::new());
    for (path, answer) in ask(api, &Vec::from_iter(optional_lists())) {
        match answer {
            Ok((list, _)) => drop(parts.insert(path.to_owned(), list)),
            Err(error) if error.is_absent() => {}
            Err(error) => unread.push(format!("{path} cannot be read ({error})")),
        }
    }
    let mut all = actual::beside_the_kinds(&parts);
    all.extend(unread);
    all
}

fn fetch_all(
    api: &Api,
    paths: &[&'static str],
    Ahead { lists, read, used }: Ahead,
    snapshot: &mut Snapshot,
) -> Result<Option<Early>> {
    let missing = paths.iter().copied().filter(|path| !lists.contains(path));
    let missing = ask(api, &missing.collect::<Vec<_>>());
    let read = read.map(|read| read.join().expect("a fetching thread does not panic"));
    let (mut answers, early) = read.unwrap_or_default();
    answers.extend(missing);
    let answers = paths
        .iter()
        .filter_map(|path| Some((path, answers.remove(path)?)));
    // a list that such a server has was not found by something else: nothing says that it is empty
    let version = OnceCell::new();
    let is_newer = |since: &str| {
        let version = version.get_or_init(|| api.version().ok());
        let version = version.as_deref().and_then(numbers);
        version.is_some_and(|version| Some(version) >= numbers(since))
    };
    // the token's own trouble is the cause of all the others
    let mut failed = None;
    for (path, answer) in answers {
        match answer {
            // what there is one of is there: without it an apply would make another
            Ok((all, _)) if all.is_empty() && kind_of(path).is_some_and(Kind::is_listed_one) => {
                let nobody = anyhow::anyhow!(
                    "GET {path} answered none, and every token has one\n\
                     hint: something before NetBird may have answered"
                );
                failed.get_or_insert(nobody.context(format!("cannot list {}", what(path))));
            }
            Ok(answer) => store(snapshot, path, answer),
            // a server that does not have it holds nothing by it; one before 0.46 takes "routers" for a network's id
            Err(error)
                if is_optional(path)
                    && !used.contains(path)
                    && error.is_absent()
                    && !since(path).is_some_and(&is_newer) =>
            {
                store(snapshot, path, Fetched::default());
            }
            Err(error) => {
                let access = error.is_access();
                let what = what(path);
                let too_old = |since: &&str| error.is_absent() && !is_newer(since);
                let context = match since(path).filter(too_old) {
                    Some(since) => format!(
                        "this NetBird has no {what}, which the file uses: it is too old, NetBird {since} has them"
                    ),
                    None => format!("cannot list {what}"),
                };
                let error = anyhow::Error::new(error).context(context);
                if failed.is_none() || access {
                    failed = Some(error);
                }
            }
        }
    }
    failed.map_or(Ok(early), Err)
}

/// The lists of a kind and of what stands in its objects.
fn lists(kind: Kind) -> impl Iterator<Item = &'static str> {
    std::iter::once(kind)
        .chain(kind.children())
        .filter_map(Kind::list)
}

/// Fetches a list.
fn fetch_one(api: &Api, path: &str) -> Result<Fetched, ApiError> {
    match kind_of(path) {
        Some(Kind::Peer) => {
            let (entries, read) = api.list_read(path)?;
            let peers = read.map(|read| Arc::new(Peers::of(read, &entries)));
            Ok((entries, peers))
        }
        Some(kind) if kind.is_one() && !kind.is_listed_one() => {
            Ok((vec![api.get(path)?.into()], None))
        }
        _ => Ok((api.list(path)?, None)),
    }
}

/// The first NetBird that has a list which older ones do not have.
fn since(path: &str) -> Option<&'static str> {
    kind_of(path)?.descriptor().since
}

/// Whether older servers, or servers of another kind, do not have the list.
fn is_optional(path: &str) -> bool {
    since(path).is_some() || optional_lists().any(|optional| optional == path)
}

fn what(path: &str) -> &str {
    let list = path.split('?').next().unwrap_or(path);
    let word = list.strip_prefix('/').filter(|word| !word.contains('/'));
    let kind = kind_of(path).map(Kind::plural);
    kind.or(word).unwrap_or(list)
}

fn kind_of(path: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.list() == Some(path))
}

fn store(snapshot: &mut Snapshot, path: &str, (entries, peers): Fetched) {
    let rest = &mut snapshot.rest;
    match (path.split('?').next().unwrap_or(path), kind_of(path)) {
        (_, Some(Kind::Peer)) => snapshot.put_peers(entries, peers),
        (_, Some(kind)) => *snapshot.list_mut(kind) = entries,
        ("/users", None) => rest.users = entries,
        ("/events", _) => rest.events = Some(entries),
        (part, _) => drop(rest.parts.insert(part.to_owned(), entries)),
    }
}

/// Whether the event log has something to tell: a pending key was used, or a recorded one is gone; the times of keys and peers do not
/// tell by whom; or the peer of a key that was asked for anew may still be there, and who it is decides about its deletion.
fn events_tell_more(actual: &Actual, needs: &Needs, desired: &Desired) -> bool {
    let (keys, bindings) = (actual.keys.values(), &actual.bindings);
    // of a machine that goes it says what tells so
    let leaves = |name: &str| desired.manages(Kind::SetupKey) && desired.setup_key(name).is_none();
    // by a key that somebody deleted a machine may have come
    let is_gone = |id: &Id| !actual.keys.contains_key(id);
    if needs.untold.iter().any(|name| leaves(name)) || needs.keys.iter().any(is_gone) {
        return true;
    }
    keys.filter(|key| key.used_times > 0).any(|key| {
        let Some(declared) = desired.setup_key(&key.name) else {
            let is_bound = bindings
                .of_key(&key.id)
                .is_some_and(|it| it.peer().is_some());
            return is_bound && leaves(&key.name) && needs.keys.contains(&key.id);
        };
        let is_one_off = key.is_for_one() && declared.is_for_one();
        let was_replaced = || {
            let created = key.id.created_at();
            let asked = declared.reissue_after;
            asked.is_some_and(|asked| created.is_none_or(|at| at < asked.as_second()))
        };
        match bindings.of_key(&key.id) {
            _ if is_one_off && !declared.enrolled => true,
            Some(Binding::Several(_) | Binding::Peer(_, Evidence::Name)) => true,
            Some(Binding::Peer(_, Evidence::Time)) => is_one_off && was_replaced(),
            _ if is_one_off && bindings.may_be_untold(&key.id) => true,
            Some(Binding::Peer(_, Evidence::Event) | Binding::PeerGone | Binding::Nobody)
            | None => false,
        }
    })
}
