//! Which machine a name of its own means. Hostnames are chosen by clients, so a name is bound once, when the file first uses
//! it; from then on the inventory says whom it means. A name that means nobody is never matched by a hostname later.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use compact_str::CompactString;

use super::Known;
use super::doubt::machine;
use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::base::parallel;
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::hint::MAX_GUESSES;
use crate::model::kind::{Kind, PeerRef};
use crate::model::notice::{Machine, Notice, OfRun};
use crate::plan::keys::Decisions;
use crate::plan::options::Options;
use crate::plan::ours::Standing;
use crate::wire::api::objects::Peer;

/// Whom each name means.
pub type Meant = HashMap<CompactString, Option<Id>>;

/// The meanings of the names of a file that are no names of its keys.
#[derive(Debug, Default)]
pub struct Names {
    /// Whom each name means.
    pub meant: Meant,
    /// The machines that names meant and that do not exist any more.
    pub gone: BTreeMap<String, Id>,
    /// Those of them that are bound just now.
    pub fresh: BTreeMap<String, Option<Id>>,
    /// Those that a person bound (`--adopt`).
    pub rebound: BTreeMap<String, Id>,
    /// Whether so few of them mean nobody that what may be meant is looked for.
    pub may_guess: bool,
    /// Names of keys that the inventory has as names of machines, too: they mean who comes by the key from now on.
    pub of_keys: BTreeSet<String>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
}

/// What tells whom a name means.
enum Meaning<'a> {
    /// The key of that name.
    Key,
    /// A person (`--adopt`).
    Asked(&'a Id),
    /// What is recorded.
    Recorded(&'a Id),
    /// The machine that it meant does not exist any more, or it meant nobody.
    Nobody(Option<&'a Id>),
    /// The file uses it for the first time: whom it means, and who alone has the name and is not meant.
    First(Option<Id>, Option<Id>),
}

impl Names {
    /// Finds whom the names of a file mean.
    pub fn of(
        desired: &Desired,
        actual: &Actual,
        decisions: &Decisions,
        options: &Options,
    ) -> Names {
        let ours = &options.ours;
        let uses = LazyLock::new(|| {
            let mut uses: BTreeMap<&str, Vec<&Address>> = BTreeMap::new();
            for (address, name) in desired.machine_names() {
                uses.entry(name).or_default().push(address);
            }
            uses
        });
        let asked = ours.asked.iter().filter(|(at, _)| at.kind == Kind::Peer);
        let asked: BTreeMap<&str, &Id> = asked.map(|(at, id)| (at.name.as_str(), id)).collect();
        let is_alive = |id: &&Id| actual.peers.contains(id);
        let meaning = |name: &&str| {
            let name = *name;
            // the name of a key means whoever comes by the key; of one that did its work and is gone nothing tells that any more
            let is_pending = || desired.setup_key(name).is_some_and(|key| !key.enrolled);
            let decision = decisions.get(name);
            if decision.is_some_and(|of| of.used.is_some() || is_pending()) {
                return Meaning::Key;
            }
            if let Some(id) = asked.get(name) {
                return Meaning::Asked(id);
            }
            let came = || {
                let machines = ours.inventory.enrolled.get(name).into_iter().flatten();
                let machines = machines.map(|machine| &machine.id);
                // those that came since the inventory was written
                let key = Address::new(Kind::SetupKey, name).key();
                let keys = ours.inventory.of(&key).into_iter();
                let news = keys.filter_map(|(key, _)| actual.bindings.of_key(key)?.peer());
                machines.chain(news).rfind(is_alive)
            };
            // what a person says of the name of a key that is gone (`--adopt`) counts more than who came by it
            let known = ours.inventory.names.get(name);
            let said = known.and_then(Option::as_ref).filter(is_alive);
            match (said.or_else(came), known) {
                (Some(id), _) => Meaning::Recorded(id),
                (None, Some(gone)) => Meaning::Nobody(gone.as_ref()),
                (None, None) => {
                    let (meant, only) = first_use(name, &uses[name], actual, ours.standing);
                    Meaning::First(meant, only)
                }
            }
        };
        let used = desired.machine_names().map(|(_, name)| name);
        let used: HashSet<&str> = used.collect();
        let used: Vec<&str> = used.into_iter().collect();
        let mut names = Names::default();
        let mut nobody = Vec::new();
        let meant_by = &mut names.meant;
        meant_by.reserve(used.len());
        for (name, meaning) in used.iter().zip(parallel::map(&used, meaning)) {
            let meant = match meaning {
                Meaning::Key => {
                    let known = ours.inventory.names.get_key_value(*name);
                    names.of_keys.extend(known.map(|(name, _)| name.clone()));
                    continue;
                }
                Meaning::Asked(id) => {
                    names.rebound.insert((*name).to_owned(), id.clone());
                    Some(id).filter(is_alive).cloned()
                }
                Meaning::Recorded(id) => Some(id.clone()),
                Meaning::Nobody(gone) => {
                    let gone = gone.map(|id| ((*name).to_owned(), id.clone()));
                    names.gone.extend(gone);
                    None
                }
                Meaning::First(meant, only) => {
                    names.fresh.insert((*name).to_owned(), meant.clone());
                    nobody.extend(only.map(|only| ((*name).to_owned(), only)));
                    meant
                }
            };
            meant_by.insert(CompactString::from(*name), meant);
        }
        let unknown = meant_by.values().filter(|meant| meant.is_none()).count();
        let known = desired.setup_keys().count() + actual.peers.iter().count();
        names.may_guess = unknown.saturating_mul(known) <= MAX_GUESSES;
        nobody.sort();
        if !nobody.is_empty() {
            let what = OfRun::NamesOfNobody(nobody);
            names.notices.push(Notice::general(what));
        }
        names
    }

    /// Returns whom a name means.
    pub fn meant(&self, name: &str) -> Option<&Id> {
        self.meant.get(name)?.as_ref()
    }

    /// Returns the names that mean a machine.
    pub fn of_machine<'a>(&'a self, machine: &'a Id) -> impl Iterator<Item = &'a str> {
        let meant = self.meant.iter();
        let meant = meant.filter(move |(_, meant)| meant.as_ref() == Some(machine));
        meant.map(|(name, _)| name.as_str())
    }
}

/// Returns whom a name means that the file uses for the first time; and the one machine that bears it, where that is not meant
/// since there was no inventory before.
fn first_use(
    name: &str,
    addresses: &[&Address],
    actual: &Actual,
    standing: Standing,
) -> (Option<Id>, Option<Id>) {
    let live = addresses.iter().flat_map(|address| actual.at(address));
    let used = live.flat_map(|live| {
        let members = live.resource.members().into_iter().flatten();
        members.chain(live.resource.peers().into_iter().filter_map(PeerRef::id))
    });
    let used: BTreeSet<&Id> = used.collect();
    let bearing: Vec<&Peer> = actual
        .peers_named(name)
        .filter(|peer| !peer.ephemeral)
        .collect();
    let id = |peer: &Peer| peer.id.clone();
    if let Some(peer) = bearing.iter().find(|peer| used.contains(&peer.id)) {
        return (Some(id(peer)), None);
    }
    let came_by_key = bearing
        .iter()
        .filter(|peer| actual.bindings.key_of(&peer.id).is_some());
    let came_by_key: Vec<&&Peer> = came_by_key.collect();
    let only = match (&bearing[..], &came_by_key[..]) {
        ([only], _) => Some(id(only)),
        (_, [only]) => Some(id(only)),
        _ => None,
    };
    match standing {
        Standing::First => (None, only),
        Standing::Read | Standing::Unknown => (only, None),
    }
}

/// The machines that bear a name, and that it does not mean.
pub(super) fn bearing(name: &str, known: Known) -> Vec<Machine> {
    let peers = known.actual.peers_named(name);
    peers.filter(|peer| !peer.ephemeral).map(machine).collect()
}
