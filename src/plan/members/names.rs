//! Which machine a name of its own means. Hostnames are chosen by clients, so a name is bound once, when the file first uses
//! it; from then on the inventory says whom it means. A name that means nobody is never matched by a hostname later.

use std::collections::{BTreeMap, BTreeSet};

use super::Known;
use super::doubt::machine;
use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::hint::MAX_GUESSES;
use crate::model::kind::{Kind, PeerRef};
use crate::model::notice::{Machine, Notice, OfRun};
use crate::plan::keys::{Decision, Decisions};
use crate::plan::options::Options;
use crate::plan::ours::Standing;
use crate::wire::api::objects::Peer;

/// The meanings of the names of a file that are no names of its keys.
#[derive(Debug, Default)]
pub struct Names {
    /// Whom each name means.
    pub meant: BTreeMap<String, Option<Id>>,
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

impl Names {
    /// Finds whom the names of a file mean.
    pub fn of(
        desired: &Desired,
        actual: &Actual,
        decisions: &Decisions,
        options: &Options,
    ) -> Names {
        let ours = &options.ours;
        let mut uses: BTreeMap<String, BTreeSet<&Address>> = BTreeMap::new();
        for (address, name) in desired.machine_names() {
            uses.entry(name).or_default().insert(address);
        }
        // the name of a key means whoever comes by the key; of one that did its work and is gone nothing tells that any more
        let is_gone = |decision: &Decision| decision.used.is_none();
        let by_key = |name: &str| match (desired.setup_key(name), decisions.get(name)) {
            (Some(declared), Some(decision)) => !declared.enrolled || !is_gone(decision),
            _ => false,
        };
        let mut names = Names::default();
        let mut nobody = Vec::new();
        for (name, addresses) in uses {
            if by_key(&name) {
                if ours.inventory.names.contains_key(&name) {
                    names.of_keys.insert(name);
                }
                continue;
            }
            let is_alive = |id: &&Id| actual.peers.contains(id);
            if let Some(id) = ours.asked.get(&Address::new(Kind::Peer, &name)) {
                names.rebound.insert(name.clone(), id.clone());
                let meant = Some(id).filter(is_alive).cloned();
                names.meant.insert(name, meant);
                continue;
            }
            let machines = ours.inventory.enrolled.get(&name).into_iter().flatten();
            let machines = machines.map(|machine| &machine.id);
            // those that came since the inventory was written
            let keys = ours
                .inventory
                .of(&Address::new(Kind::SetupKey, &name).key());
            let news = keys
                .into_iter()
                .filter_map(|(key, _)| actual.bindings.of_key(key)?.peer());
            let mut machines = machines.chain(news).filter(is_alive);
            let known = ours.inventory.names.get(&name);
            // what a person says of the name of a key that is gone (`--adopt`) counts more than who came by it
            let said = known.and_then(Option::as_ref).filter(is_alive);
            let meant = match (said.or(machines.next_back()), known) {
                (Some(id), _) => Some(id.clone()),
                (None, Some(known)) => {
                    let gone = known.iter().filter(|id| !is_alive(id));
                    names.gone.extend(gone.map(|id| (name.clone(), id.clone())));
                    known.as_ref().filter(is_alive).cloned()
                }
                (None, None) => {
                    let (meant, only) = first_use(&name, &addresses, actual, ours.standing);
                    names.fresh.insert(name.clone(), meant.clone());
                    nobody.extend(only.map(|only| (name.clone(), only)));
                    meant
                }
            };
            names.meant.insert(name, meant);
        }
        let unknown = names.meant.values().filter(|meant| meant.is_none()).count();
        let known = desired.setup_keys().count() + actual.peers.iter().count();
        names.may_guess = unknown.saturating_mul(known) <= MAX_GUESSES;
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
    addresses: &BTreeSet<&Address>,
    actual: &Actual,
    standing: Standing,
) -> (Option<Id>, Option<Id>) {
    let live = addresses.iter().flat_map(|address| actual.at(address));
    let used = live.flat_map(|live| {
        let members = live.resource.members().into_iter().flatten().cloned();
        let named = live.resource.peers();
        members.chain(
            named
                .iter()
                .filter_map(PeerRef::id)
                .cloned()
                .collect::<Vec<_>>(),
        )
    });
    let used: BTreeSet<Id> = used.collect();
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
