//! Who agreed to what, on histories of any shape.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Brought, Evidence, Said};
use crate::ledger::Cause;
use crate::plan::Row;
use crate::testing::{Case, MADE, group};

/// How many groups the first version declares.
const GROUPS: usize = 12;

fn name(group: usize) -> String {
    format!("g{group:02}")
}

/// A group that goes by commit `n` has `gone[group] == n`; those with 0 stay.
fn case(gone: &[usize], alive: &[bool]) -> Case {
    let version = |at: usize| -> Value {
        let groups = gone.iter().enumerate();
        let groups = groups.filter(|(_, by)| **by == 0 || **by > at);
        let groups = groups.map(|(group, _)| (name(group), json!({})));
        json!({ "groups": groups.chain([("stays".into(), json!({}))]).collect::<serde_json::Map<_, _>>() })
    };
    let last = gone.iter().copied().max().unwrap_or(0);
    let second = |at: usize| MADE - 1_000 + 10_000 * i64::try_from(at).expect("a small number");
    let versions: Vec<(i64, Value)> = (0..=last).map(|at| (second(at), version(at))).collect();
    let live: Vec<Value> = (0..gone.len())
        .filter(|group| gone[*group] == 0 || alive[*group])
        .map(|it| group(&name(it), &[]))
        .chain([group("stays", &[])])
        .collect();
    Case::new(version(last), json!({ "groups": live })).history(&versions)
}

/// Pull requests by their first commits: each brings what follows up to the next.
fn pulls(starts: &BTreeSet<usize>, last: usize) -> Vec<Brought> {
    let starts: Vec<usize> = starts.iter().copied().filter(|at| *at <= last).collect();
    let ends = starts.iter().skip(1).map(|at| at - 1).chain([last]);
    let pull = |(number, (first, last)): (usize, (&usize, usize))| Brought {
        number: u64::try_from(number).expect("a small number") + 1,
        first: Cause::Commit(*first),
        last: Cause::Commit(last),
    };
    starts.iter().zip(ends).enumerate().map(pull).collect()
}

proptest! {
    /// The lines of the whole plan agree to what is left of it, whatever a killed apply did, and to nothing else.
    #[test]
    fn a_line_is_good_for_what_is_left_of_its_cause(
        gone in prop::collection::vec(0..5_usize, GROUPS),
        alive in prop::collection::vec(any::<bool>(), GROUPS),
        starts in prop::collection::btree_set(1..5_usize, 0..4),
        agreed in prop::collection::vec(any::<bool>(), GROUPS),
    ) {
        let last = gone.iter().copied().max().unwrap_or(0);
        let pulls = pulls(&starts, last);
        let whole = case(&gone, &[true; GROUPS]);
        let plan = whole.possible();
        let silent = Evidence { pulls: pulls.clone(), ..Evidence::default() };
        let printed = silent.judge(&plan, &whole.options.ledger, &plan.rows()).agreements;
        prop_assert!(printed.iter().all(|it| it.agreed_by.is_none()));
        prop_assert_eq!(printed.iter().map(|it| it.rows).sum::<usize>(), plan.deletions());
        // a line in the newest commit's message
        let chosen: Vec<_> = printed.iter().zip(&agreed).filter(|(_, agreed)| **agreed).map(|(it, _)| it).collect();
        let said = |line: &Option<_>| Said {
            line: line.clone().expect("each cause has rows"),
            by: "alice".into(),
            first: Cause::Commit(0),
            last: Cause::Commit(last),
            void: None,
        };
        let lines = chosen.iter().map(|it| said(&it.line)).collect();
        let spoken = Evidence { lines, pulls, number: None };

        let half = case(&gone, &alive);
        let plan = half.possible();
        let outcome = spoken.judge(&plan, &half.options.ledger, &plan.rows());
        let causes: BTreeSet<_> = chosen.iter().map(|it| it.cause.clone()).collect();
        let is_meant = |row: &Row| {
            let cause = plan.causes.get(row).expect("each row has one");
            causes.contains(&spoken.name(*cause, &half.options.ledger))
        };
        let meant: BTreeSet<Row> = plan.rows().into_iter().filter(is_meant).collect();
        prop_assert_eq!(&outcome.rows, &meant);
        prop_assert!(outcome.notices.is_empty(), "{:?}", outcome.notices);
    }
}
