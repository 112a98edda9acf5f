//! Pairs of classes, by what is said of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::access::reach::{ClassAt, FAIL, PASS};
use crate::access::traffic::Traffic;
use crate::model::address::Address;

/// What is said of pairs with the same traffic: which classes, and the rules that cover it.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) all: Vec<(ClassAt, ClassAt)>,
    pub(super) because: BTreeSet<Address>,
    pub(super) rules: BTreeSet<usize>,
}

impl Pairs {
    pub(super) fn from(&self) -> BTreeSet<ClassAt> {
        self.all.iter().map(|(from, _)| *from).collect()
    }

    pub(super) fn to(&self) -> BTreeSet<ClassAt> {
        self.all.iter().map(|(_, to)| *to).collect()
    }

    pub(super) fn join(&mut self, other: Pairs) {
        self.all.extend(other.all);
        self.because.extend(other.because);
        self.rules.extend(other.rules);
    }

    /// The same pairs as full products: sources that have the same destinations are together.
    pub(super) fn products(&self) -> Vec<(BTreeSet<ClassAt>, BTreeSet<ClassAt>)> {
        let mut each: BTreeMap<ClassAt, BTreeSet<ClassAt>> = BTreeMap::new();
        for (from, to) in &self.all {
            each.entry(*from).or_default().insert(*to);
        }
        let mut by_to: BTreeMap<BTreeSet<ClassAt>, BTreeSet<ClassAt>> = BTreeMap::new();
        for (from, to) in each {
            by_to.entry(to).or_default().insert(from);
        }
        by_to.into_iter().map(|(to, from)| (from, to)).collect()
    }
}

/// What is said of pairs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) traffic: Traffic,
    /// Whether it depends on the posture checks: `Some(true)` while they pass, `Some(false)` while they fail.
    pub(super) passes: Option<bool>,
    pub(super) by: By,
    /// Whether it is lost or gained; else others let it through anyway.
    pub(super) is_news: bool,
}

/// Pairs by what is said of them: few things are said, of many pairs.
pub(super) type Tally = Vec<(Said, Pairs)>;

/// The place of what is said in a tally.
pub(super) fn place(tally: &mut Tally, said: Said) -> usize {
    let known = tally.iter().position(|(known, _)| *known == said);
    known.unwrap_or_else(|| {
        tally.push((said, Pairs::default()));
        tally.len() - 1
    })
}

/// What is said of every pair that the same rules are about, as places in the tallies.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) told: [Vec<usize>; 2],
    /// Whether the rule is about the pair, after.
    pub(super) is_met: bool,
}

/// What of a pair decides, beside the rules that are about it.
pub(super) struct Pair {
    pub(super) by: By,
    /// Whether one of its sides changes.
    pub(super) is_moved: bool,
    /// Whether the line of All tells it, of what is lost and of what is gained.
    pub(super) is_of_all: [bool; 2],
    /// Whether the destination has NetBird's SSH server on.
    pub(super) ssh: [bool; 2],
}

impl Pair {
    pub(super) fn key(&self) -> u64 {
        let flags = [
            self.is_moved,
            self.is_of_all[0],
            self.is_of_all[1],
            self.ssh[0],
            self.ssh[1],
        ];
        flags
            .iter()
            .fold(self.by as u64, |key, flag| key << 1 | u64::from(*flag))
    }
}

/// What a pair differs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// The rule.
    Rule,
    /// The source: where both do, too.
    Source,
    /// The destination.
    Destination,
}

/// What of this is lost or gained within `of`: by the state of the checks where that makes a difference.
pub(super) fn shares(traffic: &[Traffic; 2], of: &Traffic, by: By) -> Vec<Said> {
    let [pass, fail] = [PASS, FAIL].map(|checks| traffic[checks].common(of));
    let said = |traffic, passes| Said {
        traffic,
        passes,
        by,
        is_news: true,
    };
    let always = said(pass.common(&fail), None);
    let passing = said(pass.minus(&fail), Some(true));
    let failing = said(fail.minus(&pass), Some(false));
    let all = [always, passing, failing];
    let all = all.into_iter().filter(|said| !said.traffic.is_empty());
    all.collect()
}
