//! Many things done alike, by all processors.

use std::num::NonZero;
use std::thread;

/// Fewer than these are done sooner than a thread is started.
const FEW: usize = 200;

/// Returns what `of` makes of each of them, in their order.
pub(crate) fn map<T: Sync, R: Send>(all: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if all.len() < FEW {
        return all.iter().map(of).collect();
    }
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let (share, of) = (all.len().div_ceil(processors), &of);
    thread::scope(|scope| {
        let shares = all.chunks(share);
        let threads = shares.map(|share| scope.spawn(|| share.iter().map(of).collect::<Vec<R>>()));
        let threads: Vec<_> = threads.collect();
        let made = threads.into_iter().map(|thread| thread.join());
        made.flat_map(|made| made.expect("whoever calls makes no panic"))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_made_in_their_order() {
        for number in [0, 1, FEW - 1, FEW, FEW + 1, 10 * FEW + 7] {
            let all: Vec<usize> = (0..number).collect();
            let made = map(&all, |one| one * 2);
            assert!(made.iter().copied().eq(all.iter().map(|one| one * 2)));
        }
    }
}
