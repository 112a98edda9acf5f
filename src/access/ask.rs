//! The answer to one question: can this reach that, by which rule, and if not, what comes nearest.

use std::collections::BTreeSet;

use super::Place;
use super::reach::{ClassAt, Reach, Ssh, State, bits};
use super::routes::{self, Target};
use super::traffic::Traffic;
use super::world::{End, Grant, GroupAt, What, World};
use crate::base::{Id, listed};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// Who opens the connection: a group or a peer, by the name or id that rules have for it.
    pub from: (End, String),
    /// To whom or what.
    pub to: (End, String),
    /// What has to pass; `None` = anything.
    pub traffic: Option<Traffic>,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Of how many pairs of machines (or of a machine and a resource) it is true, and how many there are. Where one of the
    /// groups has no machine, it is asked for one that would be in it.
    pub pairs: (usize, usize),
    /// By which rules.
    pub rules: BTreeSet<By>,
    /// Where it is not true of all pairs: what comes nearest.
    pub nearest: BTreeSet<String>,
}

/// A rule by which something is reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct By {
    /// The policy.
    pub policy: String,
    /// What it lets through.
    pub traffic: Traffic,
    /// Through whom it is reached that is no machine of NetBird: routers of a network, or a route.
    pub through: Option<String>,
    /// The posture checks that the source has to pass.
    pub checks: BTreeSet<String>,
}

/// Most things that come near.
const MOST: usize = 8;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// This name is nowhere.
    Nowhere(String),
    /// It would take more than 256 MiB, or about a thousand million steps.
    TooMuch,
}

/// Answers a question about one side of a world.
pub(super) fn ask(world: &mut World, side: usize, question: &Question) -> Result<Answer, NoAnswer> {
    let mut find = |(end, name): &(End, String)| {
        let found = match end {
            End::Peer => world.alone(name),
            end => world.find(*end, name),
        };
        found.ok_or_else(|| NoAnswer::Nowhere(name.clone()))
    };
    let from = find(&question.from)?;
    let target = &question.to.1;
    let to = (question.to.0 != End::Route).then(|| find(&question.to));
    let to = to.transpose()?;
    let sides = [&question.from, &question.to].into_iter();
    let waiting = sides.filter(|(end, name)| *end == End::Peer && world.waits(name));
    let waiting = waiting.map(|(_, id)| {
        let peer = world.label(&Id::from(id.as_str()));
        format!("peer {peer:?} waits for approval in NetBird: until it is approved, it cannot reach any peer")
    });
    let waiting: Vec<String> = waiting.collect();
    world.visit(from, side, 1);
    for least in 1..=2 {
        // a group is asked of itself with two of its machines
        let group = to.filter(|to| least == 1 || *to == from);
        if let Some(group) = group {
            world.visit(group, side, least);
        }
    }
    let reach = Reach::new(world).ok_or(NoAnswer::TooMuch)?;
    let mut asked = Asked {
        reach: &reach,
        side,
        question,
        answer: Answer::default(),
    };
    match to {
        Some(to) => asked.machines(from, to),
        None => {
            let mut targets = routes::targets(&reach);
            targets.retain(|route| route.place.name == *target);
            if targets.is_empty() {
                return Err(NoAnswer::Nowhere(target.clone()));
            }
            asked.behind(from, &targets);
        }
    }
    let Answer { nearest, .. } = &mut asked.answer;
    nearest.extend(waiting);
    *nearest = std::mem::take(nearest).into_iter().take(MOST).collect();
    match reach.is_spent() {
        true => Err(NoAnswer::TooMuch),
        false => Ok(asked.answer),
    }
}

struct Asked<'a> {
    reach: &'a Reach<'a>,
    side: usize,
    question: &'a Question,
    answer: Answer,
}

impl Asked<'_> {
    /// The classes that are in a group now: all of a class is.
    fn classes(&self, group: GroupAt) -> Vec<ClassAt> {
        let mut all = self.reach.in_group(group).to_vec();
        all.retain(|class| self.reach.is_in(self.side, *class, &[group]));
        all
    }

    fn size(&self, class: ClassAt) -> usize {
        self.reach.at(class).nodes.len()
    }

    /// Counts pairs by what passes: with the rules by which it does, or else with what comes near.
    fn count(
        &mut self,
        pairs: usize,
        traffic: &Traffic,
        by: impl FnOnce(&Self) -> Vec<By>,
        near: impl FnOnce(&Self) -> Vec<String>,
    ) {
        let is_enough = match &self.question.traffic {
            Some(wanted) => traffic.has(wanted),
            None => !traffic.is_empty(),
        };
        self.answer.pairs.1 += pairs;
        if is_enough {
            self.answer.pairs.0 += pairs;
            let by = by(self);
            self.answer.rules.extend(by);
        } else {
            let near = near(self);
            self.answer.nearest.extend(near);
        }
    }

    /// What of it was asked for.
    fn wanted(&self, traffic: &Traffic) -> Traffic {
        match &self.question.traffic {
            Some(wanted) => traffic.common(wanted),
            None => traffic.clone(),
        }
    }

    fn machines(&mut self, from: GroupAt, to: GroupAt) {
        let destinations = self.classes(to);
        for a in self.classes(from) {
            // each pair looks at all rules, and where it does not reach at the groups that they name
            let steps = 2 * self.reach.words() + 10 + self.reach.world.rules.len();
            if self.reach.spend(destinations.len() * steps) {
                return;
            }
            for b in &destinations {
                let itself = if a == *b { self.size(a) } else { 0 };
                let number = self.size(a) * self.size(*b) - itself;
                if number == 0 || self.reach.at(a).is_resource {
                    continue;
                }
                let mut found = Vec::new();
                self.reach.rules_into(self.side, a, *b, &mut found);
                let ssh = self.reach.ssh(self.side, *b);
                let traffic = self.reach.traffic(self.side, &found, ssh, &State::Pass);
                let through = self
                    .reach
                    .world
                    .called(&self.reach.at(*b).routers[self.side]);
                let through = (!through.is_empty()).then(|| through.join(", "));
                let by = |of: &Self| {
                    let rules = bits(found.iter().copied());
                    let rules = rules.filter(|rule| of.reach.world.rules[*rule].accepts(of.side));
                    let by = rules.filter_map(|rule| {
                        // others may drop some of it
                        let passes = of.reach.of_rule(of.side, rule, ssh).common(&traffic);
                        of.by(rule, &passes, &through, &BTreeSet::new())
                    });
                    by.collect()
                };
                self.count(number, &traffic, by, |of| of.near(a, *b));
            }
        }
        if self.answer.nearest.is_empty() && self.answer.pairs.0 < self.answer.pairs.1 {
            self.answer.nearest = self.others(to);
        }
    }

    /// What passes by a rule, if it was asked for; `checks`: beside those of the rule.
    fn by(
        &self,
        rule: usize,
        passes: &Traffic,
        through: &Option<String>,
        checks: &BTreeSet<String>,
    ) -> Option<By> {
        let traffic = self.wanted(passes);
        (!traffic.is_empty()).then(|| By {
            policy: self.reach.world.rules[rule].name.clone(),
            traffic,
            through: through.clone(),
            checks: &self.checks(rule) | checks,
        })
    }

    /// Whether a grant is about these two, and whether it is about them the other way round.
    fn is_about(&self, grant: &Grant, from: ClassAt, to: ClassAt) -> [bool; 2] {
        let is_in = |class, groups: &[GroupAt]| self.reach.is_in(self.side, class, groups);
        let forth = is_in(from, &grant.from) && is_in(to, &grant.to);
        let back = is_in(to, &grant.from) && is_in(from, &grant.to);
        let back = back && !self.reach.at(to).is_resource;
        [forth || (back && grant.both_ways), back]
    }

    /// What comes near for a pair that does not reach.
    fn near(&self, from: ClassAt, to: ClassAt) -> Vec<String> {
        let class = self.reach.at(to);
        let node = class.nodes.first().filter(|_| !class.is_on[self.side]);
        let cut_off = node.and_then(|node| match &self.reach.world.nodes[*node as usize].what {
            What::Resource(place, _) => Some(&place.name),
            _ => None,
        });
        let near = self.reach.world.rules.iter().filter_map(|rule| {
            let grant = rule.grants[self.side].as_ref()?;
            let is_wanted = !self.wanted(&grant.traffic).is_empty();
            let (policy, passes) = (&rule.name, &grant.traffic);
            match (self.is_about(grant, from, to), grant.is_on, grant.accepts) {
                ([true, _], true, false) if is_wanted => Some(format!("policy {policy:?} blocks it (action drop)")),
                ([true, _], true, true) if !is_wanted => {
                    Some(format!("policy {policy:?} lets {passes} through"))
                }
                ([true, _], true, true) => cut_off.map(|resource| {
                    format!(
                        "network resource {resource:?} is disabled, or its network has no enabled router with a machine"
                    )
                }),
                ([true, _], false, true) if is_wanted => Some(format!(
                    "policy {policy:?} would let it through, but the policy is disabled"
                )),
                ([false, true], true, true) if is_wanted => Some(format!(
                    "policy {policy:?} lets it through in the other direction only"
                )),
                _ => None,
            }
        });
        near.collect()
    }

    /// Who else is let in.
    fn others(&self, to: GroupAt) -> BTreeSet<String> {
        let world = self.reach.world;
        let others = world.rules.iter().filter_map(|rule| {
            let grant = rule.on(self.side).filter(|grant| grant.accepts)?;
            let wanted = self.wanted(&grant.traffic);
            let is_to = grant.to.contains(&to) && !wanted.is_empty();
            let (policy, from) = (&rule.name, listed(world.called(&grant.from)));
            is_to.then(|| format!("policy {policy:?} lets {from} in ({wanted})"))
        });
        others.collect()
    }

    fn behind(&mut self, from: GroupAt, targets: &[Target]) {
        for class in self.classes(from) {
            if self.reach.at(class).is_resource {
                continue;
            }
            for target in targets {
                let traffic = target.traffic(self.reach, self.side, &State::Pass, class);
                let by = |of: &Self| of.by_route(target, class, &traffic);
                self.count(self.size(class), &traffic, by, |of| {
                    vec![of.why_not(target, class)]
                });
            }
        }
    }

    /// The rules by which a class reaches what is behind a route: those that pair it with a router, and where groups guard
    /// the route those to them.
    fn by_route(&self, target: &Target, class: ClassAt, passes: &Traffic) -> Vec<By> {
        let Place { name, address } = &target.place;
        let through = Some(format!("route {name:?} to {address}"));
        let pairing = target.opened_by(self.reach, self.side, class);
        let is_always = pairing.iter().any(|rule| self.checks(*rule).is_empty());
        let of_pairing = pairing.iter().filter(|_| !is_always);
        let of_pairing: BTreeSet<String> = of_pairing.flat_map(|rule| self.checks(*rule)).collect();
        let guarded = target.let_through_by(self.reach, self.side, class);
        let guarded = guarded.into_iter().filter_map(|rule| {
            let passes = self
                .reach
                .of_rule(self.side, rule, Ssh::Nowhere)
                .common(passes);
            self.by(rule, &passes, &through, &of_pairing)
        });
        let has_open_way = target.has_open_way(self.reach, self.side, class);
        let opening = pairing.iter().filter(|_| has_open_way);
        let none = BTreeSet::new();
        let opening = opening.filter_map(|rule| self.by(*rule, passes, &through, &none));
        guarded.chain(opening).collect()
    }

    fn checks(&self, rule: usize) -> BTreeSet<String> {
        let grant = self.reach.world.rules[rule].on(self.side).into_iter();
        let checks = grant.flat_map(|grant| &grant.checks);
        checks.map(|check| check.name.clone()).collect()
    }

    fn why_not(&self, target: &Target, class: ClassAt) -> String {
        let world = self.reach.world;
        let name = &target.place.name;
        let clients: Vec<GroupAt> = target.clients(&[self.side]).into_iter().collect();
        let is_client = self.reach.is_in(self.side, class, &clients);
        let is_paired = || !target.opened_by(self.reach, self.side, class).is_empty();
        match (target.is_on(self.side), is_client) {
            (false, _) => format!("route {name:?} is disabled"),
            (true, _) if target.routers(self.side).any(|router| router == class) => {
                format!("the source is a router of route {name:?} itself, and needs no route")
            }
            (true, false) => {
                let clients = listed(world.called(&clients));
                format!("route {name:?} is only for {clients}")
            }
            (true, true) if is_paired() => {
                let guards = listed(world.called(&target.guards(&[self.side])));
                format!(
                    "route {name:?} has access_control_groups, and no policy lets the source reach {guards}"
                )
            }
            (true, true) => format!(
                "no policy connects the source with a router of route {name:?}, in either direction"
            ),
        }
    }
}
