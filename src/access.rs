//! Who reaches whom: what a plan opens and closes, and by which rule somebody reaches something (docs/access.md, "The rules
//! of the model").
//!
//! The model is what the server enforces, as it was seen, not what words suggest: a pure function of the account as it was
//! read, a plan and the memberships after enrollment.

mod ask;
mod delta;
mod reach;
mod routes;
mod traffic;
mod world;

use std::collections::BTreeSet;

use crate::account::Actual;
use crate::model::Address;
use crate::plan::{Memberships, Plan};

pub use ask::{Answer, By, NoAnswer, Question};
pub use traffic::{Ports, Traffic, login};
pub use world::End;

use world::{AFTER, BEFORE, World};

/// Who gains and who loses which reach by a plan, in the order of names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delta {
    /// What can be reached and could not.
    pub gained: Vec<Passage>,
    /// What could be reached and cannot any more.
    pub lost: Vec<Passage>,
    /// What a rule lets through newly, and others did before.
    pub already: Vec<Passage>,
    /// What a rule lets through no more, and others still do.
    pub still: Vec<Passage>,
    /// Of new or changed policies: that nobody gets access by one, and why.
    pub idle: Vec<String>,
}

/// Traffic from one side to the other, in one direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passage {
    /// Who opens the connection.
    pub from: Side,
    /// To whom or what.
    pub to: Side,
    /// What passes.
    pub traffic: Traffic,
    /// Whether all of it passes for each pair; else it is some for one and some for another.
    pub is_even: bool,
    /// Where it depends on posture checks: on which, and how.
    pub condition: Option<(Checks, BTreeSet<String>)>,
    /// By which policy or route.
    pub rule: Address,
    /// What changes beside it, where the rule itself stays as it is.
    pub causes: BTreeSet<Address>,
    /// Of what was reachable before and after: the first of the policies that let it through, too.
    pub others: BTreeSet<String>,
}

/// On what of its posture checks a passage depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Checks {
    /// They pass.
    Pass,
    /// They fail.
    Fail,
    /// One of them fails, and all others pass.
    OneFails,
}

/// A side of a passage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Machines and resources of a group.
    Group(Members),
    /// The machine of that name.
    Peer(String),
    /// A resource of a network.
    Resource(Place),
    /// What is behind a route.
    Route(Place),
}

/// A resource, or what is behind a route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Its name; of a route that of the route.
    pub name: String,
    /// Its masked network or its domains.
    pub address: String,
}

/// What of a group a passage is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Members {
    /// The group's name.
    pub group: String,
    /// How many of its machines, those that are not enrolled yet among them.
    pub machines: usize,
    /// How many of them are yet to enroll: of each key one, however many it enrolls.
    pub to_come: usize,
    /// How many resources of networks.
    pub resources: usize,
    /// What they are called, where they are few of many, or where machines are named one by one.
    pub names: Vec<Member>,
    /// Whether these are few of many, so that their own line says it.
    pub is_few: bool,
    /// The resources among them that are whole networks.
    pub networks: Vec<String>,
}

/// A machine or a resource of a group, as people call it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    /// One of that name.
    Named(String),
    /// The machines that will enroll with that setup key, as one.
    New(String),
}

impl Member {
    /// Whether it has not enrolled yet.
    pub fn is_new(&self) -> bool {
        matches!(self, Member::New(_))
    }

    /// Its name, or that of its setup key.
    pub fn name(&self) -> &str {
        let (Member::Named(name) | Member::New(name)) = self;
        name
    }
}

impl Side {
    /// Whole networks that are among what this is about.
    pub fn networks(&self) -> Vec<String> {
        match self {
            Side::Group(members) => members.networks.clone(),
            Side::Resource(place) | Side::Route(place) if is_network(&place.address) => {
                vec![place.address.clone()]
            }
            Side::Peer(_) | Side::Resource(_) | Side::Route(_) => Vec::new(),
        }
    }
}

/// Whether it is more than one address.
fn is_network(address: &str) -> bool {
    match address.rsplit_once('/') {
        Some((_, "32" | "128")) | None => false,
        Some(_) => true,
    }
}

impl Delta {
    /// Who gains and who loses which reach by a plan. `memberships` are those that this version of the file grants and the
    /// one before did not; `peers`: machines are named one by one. `None` where it would take too long: a small file can
    /// pair all its machines with each other.
    pub fn of(
        actual: &Actual,
        plan: &Plan,
        memberships: &Memberships,
        peers: bool,
    ) -> Option<Self> {
        if plan.is_empty() && memberships.len() == 0 {
            return Some(Delta::default());
        }
        delta::delta(&World::new(actual, plan, memberships), peers)
    }

    fn sort(&mut self) {
        self.gained.sort();
        self.lost.sort();
        self.already.sort();
        self.still.sort();
        self.idle.sort();
    }
}

/// Answers a question about the account as it is, or as a plan would leave it.
pub fn ask(
    actual: &Actual,
    plan: Option<&Plan>,
    memberships: &Memberships,
    question: &Question,
) -> Result<Answer, NoAnswer> {
    let nothing = Plan::default();
    let side = if plan.is_some() { AFTER } else { BEFORE };
    let mut world = World::new(actual, plan.unwrap_or(&nothing), memberships);
    ask::ask(&mut world, side, question)
}

#[cfg(test)]
mod tests;
