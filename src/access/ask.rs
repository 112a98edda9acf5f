//! The answer to one question: can this reach that, by which rule, and if not, what comes nearest.

use std::collections::BTreeSet;

use super::reach::{ClassAt, PASS, Reach, bits};
use super::routes::{self, Target};
use super::traffic::Traffic;
use super::world::{End, Grant, GroupAt, NodeAt, World};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// Who opens the connection: a group or a peer, by the name or id that stands for it in rules.
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
    pub rules: Vec<By>,
    /// Where it is not true of all pairs: what comes nearest.
    pub nearest: Vec<Near>,
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

/// What is in the way, or what lets others in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Near {
    /// The policy drops it.
    Drops(String),
    /// The policy lets something else through.
    Other(String, Traffic),
    /// The policy would let it through, but is disabled.
    Disabled(String),
    /// The policy lets it through the other way round only.
    Reverse(String),
    /// No router leads to the resource, or it is disabled.
    NoRouter(String),
    /// The route is disabled.
    RouteOff(String),
    /// The route goes to these groups, and the source is in none of them.
    NotFor(String, Vec<String>),
    /// The source is a router of the route itself.
    Router(String),
    /// No policy pairs the source with a router of the route.
    Unpaired(String),
    /// No policy lets the source through to the groups that guard the route.
    Guarded(String, Vec<String>),
    /// The policy lets these groups in.
    Others(String, Vec<String>, Traffic),
}

/// Most things that come near.
const MOST: usize = 8;

/// Answers a question about one side of a world. `Err` with the name that is nowhere.
pub(super) fn ask(world: &mut World, side: usize, question: &Question) -> Result<Answer, String> {
    let mut find = |(end, name): &(End, String)| {
        let found = match end {
            End::Peer => world.alone(name),
            end => world.find(*end, name),
        };
        found.ok_or_else(|| name.clone())
    };
    let from = find(&question.from)?;
    let target = &question.to.1;
    let to = match question.to.0 {
        End::Route => None,
        _ => Some(find(&question.to)?),
    };
    world.visit(from, side, 1);
    for least in 1..=2 {
        // a group is asked of itself with two of its machines
        let group = to.filter(|to| least == 1 || *to == from);
        if let Some(group) = group {
            world.visit(group, side, least);
        }
    }
    let world = &*world;
    let reach = Reach::new(world);
    let targets = routes::targets(world);
    let asked = Asked {
        reach: &reach,
        side,
        question,
    };
    match to {
        Some(to) => Ok(asked.machines(from, to)),
        None => {
            let targets = targets.iter().filter(|route| route.name == *target);
            let targets: Vec<&Target> = targets.collect();
            if targets.is_empty() {
                return Err(target.clone());
            }
            Ok(asked.behind(from, &targets))
        }
    }
}

struct Asked<'a> {
    reach: &'a Reach<'a>,
    side: usize,
    question: &'a Question,
}

impl Asked<'_> {
    fn classes(&self, group: GroupAt) -> Vec<ClassAt> {
        let side = self.side;
        let is_there = |class: &ClassAt| {
            self.nodes(*class)
                .iter()
                .any(|node| self.reach.world.nodes[*node as usize].is[side])
        };
        let all = self.reach.in_group(group);
        let world = self.reach.world;
        let is_in = |class: &ClassAt| {
            self.nodes(*class)
                .iter()
                .any(|node| world.nodes[*node as usize].groups[side].contains(&group))
        };
        all.iter().copied().filter(is_there).filter(is_in).collect()
    }

    fn nodes(&self, class: ClassAt) -> &[NodeAt] {
        &self.reach.at(class).nodes
    }

    /// Whether this is what was asked for.
    fn is_enough(&self, traffic: &Traffic) -> bool {
        match &self.question.traffic {
            Some(wanted) => traffic.has(wanted),
            None => !traffic.is_empty(),
        }
    }

    /// What of it was asked for.
    fn wanted(&self, traffic: &Traffic) -> Traffic {
        match &self.question.traffic {
            Some(wanted) => traffic.common(wanted),
            None => traffic.clone(),
        }
    }

    fn machines(&self, from: GroupAt, to: GroupAt) -> Answer {
        let mut answer = Answer::default();
        let (mut rules, mut nearest) = (BTreeSet::new(), BTreeSet::new());
        let destinations = self.classes(to);
        for a in self.classes(from) {
            for b in &destinations {
                let number = self.nodes(a).len() * self.nodes(*b).len();
                let itself = if a == *b { self.nodes(a).len() } else { 0 };
                let number = number - itself;
                if number == 0 || self.reach.at(a).is_resource {
                    continue;
                }
                answer.pairs.1 += number;
                let found = self.reach.rules(self.side, a, *b);
                let ssh = self.reach.has_ssh(self.side, *b);
                let traffic = self.reach.traffic(self.side, &found, ssh, PASS);
                if self.is_enough(&traffic) {
                    answer.pairs.0 += number;
                    for rule in bits(&found) {
                        rules.extend(self.by(rule, *b, ssh, &traffic));
                    }
                } else {
                    nearest.extend(self.near(a, *b));
                }
            }
        }
        if nearest.is_empty() && answer.pairs.0 < answer.pairs.1 {
            nearest.extend(self.others(to));
        }
        answer.rules = rules.into_iter().collect();
        answer.nearest = nearest.into_iter().take(MOST).collect();
        answer
    }

    /// What a rule lets through to a class, of what passes: others may drop some of it.
    fn by(&self, rule: usize, to: ClassAt, ssh: bool, passes: &Traffic) -> Option<By> {
        let world = self.reach.world;
        let grant = world.rules[rule].on(self.side)?;
        let of_rule = self.reach.of_rule(self.side, rule, ssh).common(passes);
        let traffic = self.wanted(&of_rule);
        (grant.accepts && !traffic.is_empty()).then(|| By {
            policy: world.rules[rule].name.clone(),
            traffic,
            through: self
                .nodes(to)
                .first()
                .and_then(|node| world.through(*node, self.side)),
            checks: grant.checks.clone(),
        })
    }

    /// Whether a grant is about these two, and whether it is about them the other way round.
    fn is_about(&self, grant: &Grant, from: ClassAt, to: ClassAt) -> [bool; 2] {
        let is_in = |class: ClassAt, groups: &[GroupAt]| {
            let node = self.nodes(class).first();
            let node = node.map(|node| &self.reach.world.nodes[*node as usize]);
            node.is_some_and(|node| {
                groups
                    .iter()
                    .any(|group| node.groups[self.side].contains(group))
            })
        };
        let forth = is_in(from, &grant.from) && is_in(to, &grant.to);
        let back = is_in(to, &grant.from) && is_in(from, &grant.to);
        let back = back && !self.reach.at(to).is_resource;
        [forth || (back && grant.both_ways), back]
    }

    /// What comes near for a pair that does not reach.
    fn near(&self, from: ClassAt, to: ClassAt) -> Vec<Near> {
        let world = self.reach.world;
        let mut near = Vec::new();
        let is_cut_off = self.reach.at(to).is_resource && !self.reach.at(to).is_on[self.side];
        for rule in &world.rules {
            let Some(grant) = &rule.grants[self.side] else {
                continue;
            };
            let wanted = self.wanted(&grant.traffic);
            let name = || rule.name.clone();
            match (self.is_about(grant, from, to), grant.is_on, grant.accepts) {
                ([true, _], true, false) if !wanted.is_empty() => near.push(Near::Drops(name())),
                ([true, _], true, true) if wanted.is_empty() => {
                    near.push(Near::Other(name(), grant.traffic.clone()));
                }
                ([true, _], true, true) if is_cut_off => {
                    let to = self.question.to.1.clone();
                    near.push(Near::NoRouter(to));
                }
                ([true, _], false, true) if !wanted.is_empty() => near.push(Near::Disabled(name())),
                ([false, true], true, true) if !wanted.is_empty() => {
                    near.push(Near::Reverse(name()))
                }
                _ => {}
            }
        }
        near
    }

    /// Who else is let in.
    fn others(&self, to: GroupAt) -> Vec<Near> {
        let world = self.reach.world;
        let of = world.rules.iter().filter_map(|rule| {
            let grant = rule.on(self.side).filter(|grant| grant.accepts)?;
            let wanted = self.wanted(&grant.traffic);
            let is_to = grant.to.contains(&to) && !wanted.is_empty();
            let names = grant.from.iter();
            let names = names.map(|group| world.groups[*group as usize].name.clone());
            is_to.then(|| Near::Others(rule.name.clone(), names.collect(), wanted))
        });
        of.collect()
    }

    fn behind(&self, from: GroupAt, targets: &[&Target]) -> Answer {
        let mut answer = Answer::default();
        let (mut rules, mut nearest) = (BTreeSet::new(), BTreeSet::new());
        for class in self.classes(from) {
            if self.reach.at(class).is_resource {
                continue;
            }
            for target in targets {
                let number = self.nodes(class).len();
                answer.pairs.1 += number;
                let ways = target.ways(self.reach, self.side);
                let traffic = ways.traffic(self.reach, PASS, class);
                if self.is_enough(&traffic) {
                    answer.pairs.0 += number;
                    rules.extend(self.by_route(target, class, &traffic));
                } else {
                    nearest.extend(self.why_not(target, class));
                }
            }
        }
        answer.rules = rules.into_iter().collect();
        answer.nearest = nearest.into_iter().take(MOST).collect();
        answer
    }

    /// The rules by which a class reaches what is behind a route: those that pair it with a router, and where groups guard
    /// the route those to them.
    fn by_route(&self, target: &Target, class: ClassAt, passes: &Traffic) -> Vec<By> {
        let through = Some(format!("route {} to {}", target.name, target.target));
        let by = |rule: usize, traffic: Traffic| By {
            policy: self.reach.world.rules[rule].name.clone(),
            traffic,
            through: through.clone(),
            checks: self.checks(rule),
        };
        let pairing = target.opened_by(self.reach, self.side, class);
        let is_always = pairing.iter().any(|rule| self.checks(*rule).is_empty());
        let of_pairing = pairing.iter().filter(|_| !is_always);
        let of_pairing: BTreeSet<String> = of_pairing.flat_map(|rule| self.checks(*rule)).collect();
        let guarded = target.let_through_by(self.reach, self.side, class);
        let guarded = guarded.into_iter().filter_map(|rule| {
            let traffic = self.reach.of_rule(self.side, rule, false).common(passes);
            let traffic = self.wanted(&traffic);
            (!traffic.is_empty()).then(|| {
                let by = by(rule, traffic);
                let checks = &by.checks | &of_pairing;
                By { checks, ..by }
            })
        });
        let opening = match target.has_open_way(self.reach, self.side, class) {
            true => pairing,
            false => BTreeSet::new(),
        };
        let opening = opening
            .into_iter()
            .map(|rule| by(rule, self.wanted(passes)));
        guarded.chain(opening).collect()
    }

    fn checks(&self, rule: usize) -> BTreeSet<String> {
        let grant = self.reach.world.rules[rule].on(self.side);
        grant.map(|grant| grant.checks.clone()).unwrap_or_default()
    }

    fn why_not(&self, target: &Target, class: ClassAt) -> Vec<Near> {
        let world = self.reach.world;
        let names = |groups: &BTreeSet<GroupAt>| -> Vec<String> {
            let names = groups
                .iter()
                .map(|group| world.groups[*group as usize].name.clone());
            names.collect()
        };
        let name = target.name.clone();
        let node = self
            .nodes(class)
            .first()
            .map(|node| &world.nodes[*node as usize]);
        let clients = target.clients();
        let is_client = node.is_some_and(|node| {
            let mut groups = node.groups[self.side].iter();
            groups.any(|group| clients.contains(group))
        });
        let is_paired = || !target.opened_by(self.reach, self.side, class).is_empty();
        let near = match (target.is_on(self.side), is_client) {
            (false, _) => Near::RouteOff(name),
            (true, _) if target.routers(self.reach).contains(&class) => Near::Router(name),
            (true, false) => Near::NotFor(name, names(&clients)),
            (true, true) if is_paired() => Near::Guarded(name, names(&target.guards())),
            (true, true) => Near::Unpaired(name),
        };
        vec![near]
    }
}
