//! Who reaches whom: machines of the same groups are one class, and each pair of classes is looked at once.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

use super::traffic::{Login, Traffic};
use super::world::{AFTER, BEFORE, Check, Grant, GroupAt, Node, NodeAt, Rule, SIDES, World, place};
use crate::model::Address;

/// A place in `Reach::classes`.
pub(super) type ClassAt = u32;

/// Machines, or resources, that are in the same groups: rules cannot tell them apart.
pub(super) struct Class {
    pub(super) nodes: Vec<NodeAt>,
    pub(super) is_resource: bool,
    /// As `Node` has it.
    pub(super) is_on: [bool; 2],
    /// Of a resource: whose peers lead to it.
    pub(super) routers: [Vec<GroupAt>; 2],
    /// Whether something about it changes.
    pub(super) differs: bool,
    /// What changes about its nodes.
    pub(super) causes: BTreeSet<Address>,
    /// The rules that it is a source of, and those that it is a destination of, as bits.
    from: [Vec<u64>; 2],
    to: [Vec<u64>; 2],
}

/// NetBird's SSH server at a destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Ssh {
    /// It is a network resource, or behind a route: no NetBird runs there.
    Nowhere,
    Off,
    On,
}

/// What is lost and what is gained between two classes, each in the order of the states.
pub(super) type Diff = [Vec<Traffic>; 2];

/// Which posture checks a source passes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    /// Every one.
    Pass,
    /// None.
    Fail,
    /// Every other one. Of a check that changes both forms fail, or the one that is named.
    Without(Check),
}

impl State {
    /// Whether a rule counts for the source.
    fn meets(&self, grant: &Grant) -> bool {
        match self {
            State::Pass => true,
            State::Fail => grant.checks.is_empty(),
            State::Without(Check { name, side }) => {
                let mut checks = grant.checks.iter().filter(|check| check.name == *name);
                !checks.any(|check| side.is_none() || check.side == *side)
            }
        }
    }
}

/// The most words of bits that are held: 256 MiB of them.
const MOST_WORDS: usize = 1 << 25;
/// The most steps that are taken, each about a word of bits or a name in a list: some seconds of them.
const MOST_STEPS: usize = if cfg!(test) { 1 << 25 } else { 1 << 30 };

/// Answers who reaches whom in a world.
pub(super) struct Reach<'w> {
    pub(super) world: &'w World<'w>,
    pub(super) classes: Vec<Class>,
    in_groups: Vec<Vec<ClassAt>>,
    both_ways: [Vec<u64>; 2],
    /// Rules that are not the same before and after.
    differing: Vec<u64>,
    /// Rules that are on, by the groups of their destinations.
    to_groups: [Vec<Vec<u64>>; 2],
    /// Every login that a rule can open.
    logins: BTreeSet<Login>,
    /// What is looked at: that all posture checks pass; where rules have some that none does, and that each of them alone fails.
    pub(super) states: Vec<State>,
    /// Steps that may still be taken.
    left: Cell<usize>,
}

impl<'w> Reach<'w> {
    /// Returns `None` where it would take too many words of bits.
    pub(super) fn new(world: &'w World<'w>) -> Option<Self> {
        let words = world.rules.len().div_ceil(64);
        let is_too_large = |lists: usize| lists.saturating_mul(4 * words) > MOST_WORDS;
        if is_too_large(world.groups.len()) {
            return None;
        }
        let empty = || vec![vec![0; words]; world.groups.len()];
        let (mut from, mut to) = ([empty(), empty()], [empty(), empty()]);
        let mut both_ways = [vec![0; words], vec![0; words]];
        let mut differing = vec![0; words];
        for (at, rule) in world.rules.iter().enumerate() {
            if rule.differs() {
                set(&mut differing, at);
            }
            for side in SIDES {
                let Some(grant) = rule.on(side) else {
                    continue;
                };
                if grant.both_ways {
                    set(&mut both_ways[side], at);
                }
                for group in &grant.from {
                    set(&mut from[side][*group as usize], at);
                }
                for group in &grant.to {
                    set(&mut to[side][*group as usize], at);
                }
            }
        }
        let of = |node: &Node, by_group: &[Vec<Vec<u64>>; 2]| {
            SIDES.map(|side| {
                let mut all = vec![0; words];
                for group in &node.groups[side] {
                    for (word, more) in all.iter_mut().zip(&by_group[side][*group as usize]) {
                        *word |= more;
                    }
                }
                all
            })
        };
        let mut classes = Vec::new();
        let mut by_form = HashMap::new();
        let mut in_groups = vec![Vec::new(); world.groups.len()];
        for (at, node) in world.nodes.iter().enumerate() {
            let form = (node.is_resource(), node.is_on, &node.groups);
            let class: ClassAt = *by_form.entry(form).or_insert_with(|| {
                let routers = SIDES.map(|side| world.routing(place(at), side));
                classes.push(Class {
                    nodes: Vec::new(),
                    is_resource: node.is_resource(),
                    is_on: node.is_on,
                    routers,
                    differs: node.differs(),
                    causes: BTreeSet::new(),
                    from: of(node, &from),
                    to: of(node, &to),
                });
                let class = place(classes.len() - 1);
                let [before, after] = &node.groups;
                let is_new = |group: &&GroupAt| before.binary_search(group).is_err();
                let joined = after.iter().filter(is_new);
                for group in before.iter().chain(joined) {
                    in_groups[*group as usize].push(class);
                }
                class
            });
            classes[class as usize].nodes.push(place(at));
            let causes = &mut classes[class as usize].causes;
            let own = node.causes.iter().filter(|_| node.differs());
            causes.extend(own.cloned());
            if is_too_large(world.groups.len() + classes.len()) {
                return None;
            }
        }
        let grants = world.rules.iter().flat_map(|rule| &rule.grants);
        let logins = grants.flatten().flat_map(|grant| &grant.traffic.logins);
        let of_all = Traffic::default().with_every_login().logins;
        let checks = world.rules.iter().flat_map(Rule::checks);
        let forms = checks.flat_map(|check| [check.whole(), check.clone()]);
        // who fails a form that the other one implies, fails both
        let checks: BTreeSet<Check> = forms.filter(|it| !world.implied.contains(it)).collect();
        let mut states = vec![State::Pass];
        states.extend((!checks.is_empty()).then_some(State::Fail));
        states.extend(checks.into_iter().map(State::Without));
        Some(Reach {
            world,
            classes,
            in_groups,
            both_ways,
            differing,
            to_groups: to,
            logins: logins.cloned().chain(of_all).collect(),
            states,
            left: Cell::new(MOST_STEPS),
        })
    }

    /// Takes so many steps, and returns whether there are no more.
    pub(super) fn spend(&self, steps: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(steps));
        self.is_spent()
    }

    /// Whether so many steps were taken that what was found is not all.
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    pub(super) fn at(&self, class: ClassAt) -> &Class {
        &self.classes[class as usize]
    }

    /// The classes whose machines and resources are in a group, before or after.
    pub(super) fn in_group(&self, group: GroupAt) -> &[ClassAt] {
        &self.in_groups[group as usize]
    }

    /// Adds the rules by which one class may open connections to another on a side, or may not, as bits.
    pub(super) fn rules_into(&self, side: usize, from: ClassAt, to: ClassAt, out: &mut Vec<u64>) {
        let (source, destination) = (from, to);
        let (from, to) = (self.at(from), self.at(to));
        // a resource opens no connection, and one that no router leads to gets none; who routes the network gets no route
        let is_cut_off =
            to.is_resource && (!to.is_on[side] || self.is_in(side, source, &to.routers[side]));
        if from.is_resource || is_cut_off {
            out.extend(std::iter::repeat_n(0, self.words()));
            return;
        }
        let backwards = if to.is_resource { 0 } else { u64::MAX };
        let naming = self
            .naming(side, source, destination)
            .zip(&self.both_ways[side]);
        out.extend(naming.map(|((forth, back), both)| forth | back & both & backwards));
    }

    /// The rules from one class to another, and those the other way round, as bits.
    fn naming(&self, side: usize, a: ClassAt, b: ClassAt) -> impl Iterator<Item = (u64, u64)> {
        let (a, b) = (self.at(a), self.at(b));
        let forth = a.from[side].iter().zip(&b.to[side]);
        let back = a.to[side].iter().zip(&b.from[side]);
        forth.zip(back).map(|((a, b), (c, d))| (a & b, c & d))
    }

    /// The rules that are not the same before and after.
    pub(super) fn differing_rules(&self) -> impl Iterator<Item = usize> {
        bits(self.differing.iter().copied())
    }

    /// Whether the machines of a class are in one of these groups.
    pub(super) fn is_in(&self, side: usize, class: ClassAt, groups: &[GroupAt]) -> bool {
        self.spend(groups.len() + 1);
        let node = self.at(class).nodes.first();
        let node = node.map(|node| &self.world.nodes[*node as usize]);
        node.is_some_and(|node| groups.iter().any(|at| node.groups[side].contains(at)))
    }

    /// Of these rules, those that are the same before and after.
    pub(super) fn same(&self, rules: &[u64]) -> Vec<u64> {
        let pairs = rules.iter().zip(&self.differing);
        pairs.map(|(rule, differing)| rule & !differing).collect()
    }

    /// The rules that pair two machines, whatever their action and direction: these are in each other's map then.
    pub(super) fn pairing(
        &self,
        side: usize,
        a: ClassAt,
        b: ClassAt,
    ) -> impl Iterator<Item = usize> {
        self.spend(self.words());
        bits(self.naming(side, a, b).map(|(forth, back)| forth | back))
    }

    /// Whether some rule pairs two machines.
    pub(super) fn are_paired(&self, side: usize, state: &State, a: ClassAt, b: ClassAt) -> bool {
        let mut rules = self.pairing(side, a, b);
        rules.any(|rule| {
            self.world.rules[rule]
                .on(side)
                .is_some_and(|it| state.meets(it))
        })
    }

    /// What these rules let through to a machine, or a resource, with such an SSH server.
    pub(super) fn traffic(&self, side: usize, rules: &[u64], ssh: Ssh, state: &State) -> Traffic {
        self.spend(self.words());
        let (mut passes, mut dropped) = (Traffic::default(), Traffic::default());
        for at in bits(rules.iter().copied()) {
            let grant = self.world.rules[at].on(side);
            let grant = grant.filter(|grant| state.meets(grant));
            let Some(grant) = grant else { continue };
            let of_action = if grant.accepts {
                &mut passes
            } else {
                &mut dropped
            };
            *of_action = of_action.union(&self.of_rule(side, at, ssh));
        }
        match dropped.is_empty() {
            true => passes,
            false => passes.without(&dropped),
        }
    }

    /// What one rule is about, at such an SSH server.
    pub(super) fn of_rule(&self, side: usize, rule: usize, ssh: Ssh) -> Traffic {
        let Some(grant) = self.world.rules[rule].on(side) else {
            return Traffic::default();
        };
        let mut traffic = grant.traffic.clone();
        match ssh {
            Ssh::Nowhere => traffic.logins.clear(),
            // whoever logs in does so by one of these ports
            _ if !grant.accepts && traffic.has_ssh_port() => traffic.logins = self.logins.clone(),
            Ssh::On if grant.accepts && grant.opens_ssh => return traffic.with_every_login(),
            Ssh::On | Ssh::Off => {}
        }
        traffic
    }

    /// NetBird's SSH server at a machine or resource of that class.
    pub(super) fn ssh(&self, side: usize, class: ClassAt) -> Ssh {
        let class = self.at(class);
        match class.is_on[side] {
            _ if class.is_resource => Ssh::Nowhere,
            true => Ssh::On,
            false => Ssh::Off,
        }
    }

    /// What is lost and gained by these rules, which are those between two classes before and after; nothing where it is all the
    /// same.
    pub(super) fn diff(&self, rules: [&[u64]; 2], ssh: [Ssh; 2]) -> Diff {
        let mut pairs = rules[BEFORE].iter().zip(&self.differing);
        let differ = pairs.any(|(rule, differing)| rule & differing != 0);
        if rules[BEFORE] == rules[AFTER] && ssh[BEFORE] == ssh[AFTER] && !differ {
            return Diff::default();
        }
        let [before, after] = SIDES
            .map(|side| self.in_states(|state| self.traffic(side, rules[side], ssh[side], state)));
        between(&before, &after)
    }

    /// What passes in each of the states.
    pub(super) fn in_states(&self, passing: impl Fn(&State) -> Traffic) -> Vec<Traffic> {
        self.states.iter().map(passing).collect()
    }

    /// What the rules to these groups let through from a class, and nothing else.
    pub(super) fn guarded(
        &self,
        side: usize,
        from: ClassAt,
        guards: &[GroupAt],
        state: &State,
    ) -> Traffic {
        let rules = self.rules_to(side, from, guards);
        self.traffic(side, &rules, Ssh::Nowhere, state)
    }

    /// The rules from a class to these groups, as bits.
    pub(super) fn rules_to(&self, side: usize, from: ClassAt, groups: &[GroupAt]) -> Vec<u64> {
        self.spend(self.words() * (groups.len() + 1));
        let to = groups
            .iter()
            .map(|group| &self.to_groups[side][*group as usize]);
        let to_any = |at: usize| to.clone().fold(0, |all, to| all | to[at]);
        let from = self.at(from).from[side].iter().enumerate();
        from.map(|(at, from)| from & to_any(at)).collect()
    }

    /// How many words the bits of all rules take.
    pub(super) fn words(&self) -> usize {
        self.differing.len()
    }
}

/// Returns what is lost and what is gained, in each of the states.
pub(super) fn between(before: &[Traffic], after: &[Traffic]) -> Diff {
    let minus = |these: &[Traffic], those: &[Traffic]| {
        let pairs = these.iter().zip(those);
        pairs.map(|(these, those)| these.minus(those)).collect()
    };
    [minus(before, after), minus(after, before)]
}

fn set(bits: &mut [u64], at: usize) {
    bits[at / 64] |= 1 << (at % 64);
}

/// The places of the bits that are set.
pub(super) fn bits(words: impl IntoIterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.into_iter().enumerate().flat_map(|(at, word)| {
        let bits = (0..64).filter(move |bit| word != 0 && word & (1 << bit) != 0);
        bits.map(move |bit| at * 64 + bit)
    })
}
