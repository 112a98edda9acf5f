//! The live keys that bear an entry's name: whose each of them is, and which of the used ones stands for the entry.
//!
//! Everybody may make a key of any name in the dashboard. One is this entry's if the file declared the name when it was
//! made; where there is no history, or the id does not tell when that was, the name alone counts.

use jiff::Timestamp;

use super::{UNTOUCHED_SECS, desired, must_be_replaced, never_sealed};
use crate::actual::Actual;
use crate::address::Address;
use crate::api::objects;
use crate::id::Id;
use crate::kind::{DeclaredKey, KeyType, Kind, Live, differences};
use crate::ledger::{Ledger, Proof};
use crate::options::Options;
use crate::secret::{file_name, is_temporary};

/// Whose a live key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The entry's: made while the file declared it.
    Ours,
    /// The entry's by its name: nothing tells when it was made, or what was declared then.
    Named,
    /// It was there when the file declared the name first, and could still be used: the entry took it over.
    TakenOver,
    /// Somebody else's.
    Theirs,
}

/// A live key that bears an entry's name.
#[derive(Debug, Clone, Copy)]
pub struct Namesake<'a> {
    /// The facts.
    pub key: &'a objects::SetupKey,
    /// The same in canonical form.
    pub live: &'a Live,
    /// Whose it is.
    pub whose: Whose,
    /// The peer that came by it and lives, by id and name.
    pub peer: Option<(&'a Id, &'a str)>,
    /// A run made a key of that name, or was killed while it made one, and left its trace on this disk.
    pub is_traced: bool,
}

impl Namesake<'_> {
    /// Returns whether it is the entry's own, so that its state tells what a run of ours did.
    pub fn is_ours(&self) -> bool {
        matches!(self.whose, Whose::Ours | Whose::Named)
    }

    /// Returns whether a run of ours made it and nobody holds its secret. What somebody made by hand without groups looks
    /// the same, so where only its name says that it is ours, it takes that the file wants groups, or another trace.
    pub fn is_unsealed(&self, wants_groups: bool) -> bool {
        let made_here = match self.whose {
            Whose::Ours => true,
            Whose::Named => wants_groups || self.is_traced,
            Whose::TakenOver | Whose::Theirs => false,
        };
        made_here && never_sealed(self.key)
    }

    /// Returns whether it did its work.
    pub fn is_spent(&self) -> bool {
        self.key.key_type == KeyType::OneOff && self.key.used_times > 0
    }

    /// Returns whether somebody can still enroll with it.
    pub fn is_waiting(&self) -> bool {
        self.key.valid && !self.is_spent()
    }

    /// Returns whether it was made before the instant from which on the file asks for a new one. A key whose id does not
    /// tell its age is old if even its last change is.
    pub fn is_superseded(&self, asked: Option<Timestamp>) -> bool {
        let changed = || self.key.updated_at.map(Timestamp::as_second);
        let created = self.key.id.created_at().or_else(changed);
        asked.is_some_and(|instant| created.is_some_and(|second| second < instant.as_second()))
    }
}

/// Returns the live keys of that name, the oldest first.
pub fn namesakes<'a>(name: &str, actual: &'a Actual, options: &Options) -> Vec<Namesake<'a>> {
    let live = actual.named(Kind::SetupKey, name).iter();
    let files = &options.keys_files;
    let is_traced = files.contains(&file_name(name)) || files.iter().any(|name| is_temporary(name));
    let namesake = |live: &'a Live| {
        let key = actual.keys.get(&live.id)?;
        let peer = actual.bindings.of_key(&live.id).and_then(|at| at.peer());
        let peer = peer.and_then(|id| actual.peers.get(id));
        Some(Namesake {
            key,
            live,
            whose: whose(name, key, &options.ledger),
            peer: peer.map(|peer| (&peer.id, peer.name.as_str())),
            is_traced,
        })
    };
    live.filter_map(namesake).collect()
}

/// Returns whether the key lasts as long as a version of the file asked for. Its id has whole seconds, and the server takes
/// the two times one after the other.
fn lasts_as_asked(name: &str, key: &objects::SetupKey, ledger: &Ledger) -> bool {
    let Some(created) = key.id.created_at() else {
        return true;
    };
    let life = key.expires.map(|expires| expires.as_second() - created);
    ledger.asked_for_key_of(name, |seconds| match life {
        None => seconds == 0,
        Some(life) => (seconds - 1..=seconds + UNTOUCHED_SECS).contains(&life),
    })
}

fn whose(name: &str, key: &objects::SetupKey, ledger: &Ledger) -> Whose {
    if !ledger.is_known() {
        return Whose::Named;
    }
    let address = Address::new(Kind::SetupKey, name);
    match ledger.proof(&address, key.id.created_at()) {
        // of what no run finished its form alone tells whether one of ours began it
        Proof::Ours if never_sealed(key) && !lasts_as_asked(name, key, ledger) => Whose::Theirs,
        Proof::Ours => Whose::Ours,
        Proof::NoIdTime => Whose::Named,
        Proof::Older | Proof::Newer | Proof::Never => {
            // what was spent before the file spoke of it stands for nothing
            let spans = ledger.spans(&address);
            let open = spans.iter().rev().find(|span| span.to.is_none());
            let used_since = |used: Timestamp| open.is_some_and(|at| used.as_second() >= at.from);
            let taken_over = match (key.key_type, key.last_used) {
                (KeyType::OneOff, Some(used)) => used_since(used),
                _ => key.valid,
            };
            match taken_over {
                true => Whose::TakenOver,
                false => Whose::Theirs,
            }
        }
    }
}

/// Returns which of the used keys stands for the entry: of several not simply the newest. Somebody may have made another
/// one by hand while the file declared the name, so first it counts whether a key is as the file says, then whether its
/// peer lives. Where the file says that the key did its work, the peer that got its name decides, and the newest last; otherwise
/// there can be several left of which nobody can tell.
pub fn consumed<'a>(
    used: &[&'a Namesake<'a>],
    declared: &DeclaredKey,
    is_done: bool,
) -> Vec<&'a Namesake<'a>> {
    let after = desired(declared);
    let mut left: Vec<&Namesake> = used.to_vec();
    let mut narrow = |fits: &dyn Fn(&Namesake) -> bool| {
        if left.len() < 2 {
            return;
        }
        let fitting: Vec<&Namesake> = left.iter().copied().filter(|of| fits(of)).collect();
        if !fitting.is_empty() {
            left = fitting;
        }
    };
    narrow(&|of| !must_be_replaced(&after, of.live));
    narrow(&|of| differences(&after, &of.live.resource).is_empty());
    narrow(&|of| of.peer.is_some());
    if is_done {
        narrow(&|of| of.peer.is_some_and(|(_, name)| name == of.key.name));
        return left.pop().into_iter().collect();
    }
    left
}
