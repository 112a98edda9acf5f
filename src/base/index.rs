//! Places in a list by a text of each entry: a look-up compares numbers, and not a dozen texts that begin alike.

use std::hash::{BuildHasher, RandomState};
use std::iter;

use rustc_hash::{FxBuildHasher, FxHashMap, FxSeededState};

/// Where in a list the entries of a text stand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// Another one in each run: clients choose names, and shall not choose their hashes.
    seed: usize,
    /// The first place of each hash.
    firsts: FxHashMap<u64, usize>,
    /// The next place of the same hash, where there is one: of most texts there is none.
    next: FxHashMap<usize, usize>,
}

impl Index {
    /// Indexes the entries of these texts.
    pub(crate) fn of<'a>(
        texts: impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator,
    ) -> Self {
        let seed = RandomState::new().hash_one(()) as usize;
        let mut firsts = FxHashMap::with_capacity_and_hasher(texts.len(), FxBuildHasher);
        let mut next = FxHashMap::default();
        for (place, text) in texts.enumerate().rev() {
            let hash = FxSeededState::with_seed(seed).hash_one(text);
            let later = firsts.insert(hash, place);
            next.extend(later.map(|later| (place, later)));
        }
        Index { seed, firsts, next }
    }

    /// Returns the places of a text in their order, and seldom that of another one: the caller compares.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = usize> {
        let hash = FxSeededState::with_seed(self.seed).hash_one(text);
        let first = self.firsts.get(&hash).copied();
        iter::successors(first, |at| self.next.get(at).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_text_is_found_and_in_order() {
        let texts: Vec<String> = (0..500).map(|at| format!("machine-{}", at % 200)).collect();
        let index = Index::of(texts.iter().map(String::as_str));
        for text in &texts {
            let found = index.find(text).filter(|at| texts[*at] == *text);
            let wanted = (0..texts.len()).filter(|at| texts[*at] == *text);
            assert!(found.eq(wanted), "{text}");
        }
        let nobody = index.find("machine-200");
        assert_eq!(nobody.filter(|at| texts[*at] == "machine-200").count(), 0);
        assert_eq!(
            Index::of([].into_iter())
                .find("machine-0")
                .chain(Index::default().find("machine-0"))
                .count(),
            0
        );
    }
}
