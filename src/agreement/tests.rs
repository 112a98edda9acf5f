//! Who agreed to what, on histories of any shape.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Agreement, Brought, Origin, Said, Statements, way_out};
use crate::ledger::{AllowDeletes, Cause};
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
        is_fork: false,
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
        let silent = Statements { pulls: pulls.clone(), ..Statements::default() };
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
        let spoken = Statements { lines, pulls, number: None };

        let half = case(&gone, &alive);
        let plan = half.possible();
        let outcome = spoken.judge(&plan, &half.options.ledger, &plan.rows());
        let causes: BTreeSet<_> = chosen.iter().map(|it| it.cause.clone()).collect();
        let is_meant = |row: &Row| {
            let cause = plan.causes.get(row).expect("each row has one");
            causes.contains(&spoken.origin(*cause, &half.options.ledger))
        };
        let meant: BTreeSet<Row> = plan.rows().into_iter().filter(is_meant).collect();
        prop_assert_eq!(&outcome.rows, &meant);
        prop_assert!(outcome.notices.is_empty(), "{:?}", outcome.notices);
    }
}

#[test]
fn the_way_out_names_a_description_where_that_counts() {
    let of = |number: u64, is_fork: bool| Agreement {
        cause: Some(Origin::Pull(number)),
        is_proposed: false,
        is_fork,
        rows: 4,
        held: 0,
        line: AllowDeletes::parse("4 0badf00d"),
        line_with_held: None,
        agreed_by: None,
    };
    let later = "into the message of a later commit (if that one leaves the file alone, start the apply workflow by hand)";
    let rows = [
        (
            vec![of(2, false)],
            format!(
                "the line into the description of pull request #2 and run this job again, or {later}"
            ),
        ),
        (vec![of(2, true)], format!("the line {later}")),
        (
            vec![of(2, true), of(3, false)],
            format!("the lines {later}"),
        ),
    ];
    for (agreements, wanted) in rows {
        assert_eq!(
            way_out(&agreements, 4, true),
            format!("if this is meant, copy {wanted}; if not, take the change back (git revert)")
        );
    }
}
