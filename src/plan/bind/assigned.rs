//! The assignment of the least cost.

use std::collections::BTreeSet;

/// Gives as many rows as possible a column of their own so that the sum of the costs is least; of equal sums the first columns come
/// first. The Hungarian method, one row after the other.
pub(super) fn assigned(
    rows: usize,
    columns: usize,
    cost: &dyn Fn(usize, usize) -> usize,
) -> Vec<Option<usize>> {
    if rows > columns {
        let mut given = vec![None; rows];
        let turned = assigned(columns, rows, &|column, row| cost(row, column));
        for (column, row) in turned.into_iter().enumerate() {
            given[row.expect("there are rows enough")] = Some(column);
        }
        return given;
    }
    // columns are counted from 1: column 0 has the row that looks for one
    let (mut of_row, mut of_column) = (vec![0_usize; rows], vec![0_usize; columns + 1]);
    let mut row_of: Vec<Option<usize>> = vec![None; columns + 1];
    let mut free: BTreeSet<usize> = (1..=columns).collect();
    let mut costs: Vec<Vec<usize>> = vec![Vec::new(); rows];
    for row in 0..rows {
        // no other one can cost less; so where nothing differs, each row is looked at once
        if let Some(at) = free.iter().copied().find(|at| cost(row, at - 1) == 0) {
            row_of[at] = Some(row);
            free.remove(&at);
            continue;
        }
        row_of[0] = Some(row);
        let mut least = vec![usize::MAX; columns + 1];
        let mut way = vec![0; columns + 1];
        let mut used = vec![false; columns + 1];
        let mut at = 0;
        while let Some(from) = row_of[at] {
            used[at] = true;
            if costs[from].is_empty() {
                costs[from] = (0..columns).map(|column| cost(from, column)).collect();
            }
            let (mut step, mut next) = (usize::MAX, 0);
            for column in (1..=columns).filter(|column| !used[*column]) {
                // what a column costs less than its row says, others pay for
                let reduced = costs[from][column - 1] + of_column[column] - of_row[from];
                if reduced < least[column] {
                    (least[column], way[column]) = (reduced, at);
                }
                if least[column] < step {
                    (step, next) = (least[column], column);
                }
            }
            for column in 0..=columns {
                match row_of[column].filter(|_| used[column]) {
                    Some(row) => {
                        of_row[row] += step;
                        of_column[column] += step;
                    }
                    None => least[column] = least[column].saturating_sub(step),
                }
            }
            at = next;
        }
        free.remove(&at);
        while at != 0 {
            row_of[at] = row_of[way[at]];
            at = way[at];
        }
    }
    let mut given = vec![None; rows];
    for (column, row) in row_of.into_iter().skip(1).enumerate() {
        row.into_iter().for_each(|row| given[row] = Some(column));
    }
    given
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// No other way to give objects out costs less.
        #[test]
        fn objects_are_given_out_with_the_least_difference(
            places in 0..4_usize,
            things in 0..5_usize,
            costs in prop::collection::vec(0..9_usize, 20),
        ) {
            let cost = |place: usize, thing: usize| costs[place * 5 + thing];
            let given = assigned(places, things, &cost);
            let sum = |given: &[Option<usize>]| -> (usize, usize) {
                let empty = given.iter().filter(|thing| thing.is_none()).count();
                let all = given.iter().enumerate();
                (empty, all.filter_map(|(place, thing)| Some(cost(place, (*thing)?))).sum())
            };
            let mut best = (usize::MAX, usize::MAX);
            let choices = (things + 1).pow(u32::try_from(places).unwrap());
            for mut choice in 0..choices {
                let mut way = Vec::new();
                for _ in 0..places {
                    way.push((choice % (things + 1)).checked_sub(1));
                    choice /= things + 1;
                }
                let mut used: Vec<usize> = way.iter().flatten().copied().collect();
                used.sort_unstable();
                if used.windows(2).all(|two| two[0] != two[1]) {
                    best = best.min(sum(&way));
                }
            }
            prop_assert_eq!(sum(&given), best);
        }
    }
}
