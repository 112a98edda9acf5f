//! Which machine a name of its own means. Hostnames are chosen by clients, so a name is bound once, when the file first uses
//! it; from then on the inventory says whom it means. A name that means nobody is never matched by a hostname later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use compact_str::CompactString;
use jiff::Timestamp;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::Known;
use super::doubt::machine;
use crate::account::Actual;
use crate::base::{Id, parallel};
use crate::model::hint::MAX_GUESSES;
use crate::model::{Address, Desired, Kind, Machine, Notice, OfRun, PeerRef};
use crate::plan::{Decisions, Options, Standing};
use crate::wire::api::objects::Peer;

/// What tells whom a name means.
#[derive(Debug, PartialEq)]
pub enum Meaning {
    /// The key of that name: whoever comes by it from now on. The inventory has it as the name of a machine.
    Key,
    /// A person (`--adopt`).
    Asked(Id),
    /// What is recorded.
    Recorded(Id),
    /// The machine that it meant does not exist any more, or it meant nobody.
    Nobody(Option<Id>),
    /// The file uses it for the first time.
    First(Option<Id>),
    /// The same, and nobody is meant since there was no inventory before; this machine alone has the name.
    Alone(Id),
}

/// The meanings of the names of a file that are no names of its keys.
#[derive(Debug, Default, PartialEq)]
pub struct Names {
    /// What each name means.
    pub meanings: FxHashMap<CompactString, Meaning>,
    /// Whether so few of them mean nobody that what may be meant is looked for.
    pub may_guess: bool,
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
        // when the commit was made that wrote a name: until then it was none, or that of a key which waited for its machine
        let named_at = LazyLock::new(|| {
            ours.versions.gained(|file| {
                let names = file.machine_names().map(|(_, name)| name);
                let is_pending = |name: &str| file.setup_key(name).is_some_and(|key| !key.enrolled);
                names.filter(|name| !is_pending(name)).collect()
            })
        });
        let asked = ours.asked.iter().filter(|(at, _)| at.kind == Kind::Peer);
        let asked: BTreeMap<&str, &Id> = asked.map(|(at, id)| (at.name.as_str(), id)).collect();
        let is_alive = |id: &&Id| actual.peers.contains(id);
        let meaning = |name: &&str| {
            let name = *name;
            let known = ours.inventory.names.get(name);
            // the name of a key means whoever comes by the key; of one that did its work and is gone nothing tells that any more
            let is_pending = || desired.setup_key(name).is_some_and(|key| !key.enrolled);
            let decision = decisions.get(name);
            if decision.is_some_and(|of| of.used.is_some() || is_pending()) {
                return known.map(|_| Meaning::Key);
            }
            if let Some(id) = asked.get(name) {
                return Some(Meaning::Asked((*id).clone()));
            }
            let machines = ours.inventory.enrolled.get(name).into_iter().flatten();
            let machines = machines.map(|machine| &machine.id);
            // those that came since the inventory was written
            let key = Address::new(Kind::SetupKey, name).key();
            let keys = ours.inventory.of(&key).into_iter();
            let news = keys.filter_map(|(key, _)| ours.machine_of(name, key, desired, actual));
            let news = news.map(|(peer, _)| peer);
            let came: Vec<&Id> = machines.chain(news).collect();
            // what a person says of the name of a key that is gone (`--adopt`) counts more than who came by it
            let said = known.and_then(Option::as_ref).filter(is_alive);
            let alive = said.or_else(|| came.iter().copied().rfind(is_alive));
            Some(match (alive, known, came.last()) {
                (Some(id), ..) => Meaning::Recorded(id.clone()),
                (None, Some(gone), _) => Meaning::Nobody(gone.clone()),
                // a name that is free again is anybody's
                (None, None, Some(gone)) => Meaning::Nobody(Some((*gone).clone())),
                (None, None, None) => {
                    let since = named_at.get(name).copied().flatten();
                    // of a commit that the checkout lacks nobody is known to have come before
                    let since = match ours.versions.is_cut() {
                        true => Some(Timestamp::MIN),
                        false => since,
                    };
                    first_use(name, &uses[name], since, actual, ours.standing)
                }
            })
        };
        let used: FxHashSet<&str> = desired.machine_names().map(|(_, name)| name).collect();
        let used: Vec<&str> = used.into_iter().collect();
        let found = used.iter().zip(parallel::map(&used, meaning));
        let found = found.filter_map(|(name, of)| Some((CompactString::from(*name), of?)));
        let mut meanings = FxHashMap::with_capacity_and_hasher(used.len(), FxBuildHasher);
        meanings.extend(found);
        let is_nobody = |of: &&Meaning| of.machine().is_none() && !matches!(of, Meaning::Key);
        let nobody = meanings.values().filter(is_nobody).count();
        let known = desired.setup_keys().count() + actual.peers.iter().count();
        Names {
            meanings,
            may_guess: nobody.saturating_mul(known) <= MAX_GUESSES,
        }
    }

    /// Returns whom a name means.
    pub fn meant(&self, name: &str) -> Option<&Id> {
        self.meanings.get(name)?.machine()
    }

    /// Returns the names that mean a machine, each with the machine.
    pub fn of_machines(&self) -> impl Iterator<Item = (&str, &Id)> {
        let all = self.meanings.iter();
        all.filter_map(|(name, of)| Some((name.as_str(), of.machine()?)))
    }

    /// Returns the names that the first inventory binds to nobody, though one machine has them.
    pub fn notice(&self) -> Option<Notice> {
        let alone = self.meanings.iter().filter_map(|(name, of)| match of {
            Meaning::Alone(id) => Some((name.to_string(), id.clone())),
            _ => None,
        });
        let alone: BTreeMap<String, Id> = alone.collect();
        let what = || OfRun::NamesOfNobody(alone.clone().into_iter().collect());
        (!alone.is_empty()).then(|| Notice::general(what()))
    }
}

impl Meaning {
    /// Returns the machine that is meant.
    fn machine(&self) -> Option<&Id> {
        match self {
            Meaning::Asked(id) | Meaning::Recorded(id) | Meaning::First(Some(id)) => Some(id),
            Meaning::Key | Meaning::Nobody(_) | Meaning::First(None) | Meaning::Alone(_) => None,
        }
    }
}

/// Returns whom a name means that the file uses for the first time: a machine that its entries have already, or the only one that
/// had the name when the commit was made that wrote it (`since`); but for the first inventory.
fn first_use(
    name: &str,
    addresses: &[&Address],
    since: Option<Timestamp>,
    actual: &Actual,
    standing: Standing,
) -> Meaning {
    let live = addresses.iter().flat_map(|address| actual.at(address));
    let used = live.flat_map(|live| {
        let members = live.resource.members().into_iter().flatten();
        members.chain(live.resource.peers().into_iter().filter_map(PeerRef::id))
    });
    let used: BTreeSet<&Id> = used.collect();
    let of_name = || actual.peers_named(name).filter(|peer| !peer.ephemeral);
    if let Some(peer) = of_name().find(|peer| used.contains(&peer.id)) {
        return Meaning::First(Some(peer.id.clone()));
    }
    let came_later =
        |peer: &&Peer| since.is_some_and(|at| peer.created_at.is_some_and(|it| it > at));
    let mut of_name = of_name().filter(|peer| !came_later(peer));
    let only = of_name.next().filter(|_| of_name.next().is_none());
    let only = only.map(|peer| peer.id.clone());
    match only {
        Some(id) if standing == Standing::First => Meaning::Alone(id),
        only => Meaning::First(only),
    }
}

/// The machines that have a name, and that it does not mean.
pub(super) fn all_named(name: &str, known: Known) -> Vec<Machine> {
    let peers = known.actual.peers_named(name);
    peers.filter(|peer| !peer.ephemeral).map(machine).collect()
}
