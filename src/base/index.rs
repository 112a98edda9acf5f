//! Places in a list by a text of each entry: a look-up compares numbers, and not a dozen texts that begin alike.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use rustc_hash::{FxBuildHasher, FxSeededState};

/// Where in a list the entries of a text stand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// Another one in each run: clients choose names, and shall not choose their hashes.
    seed: usize,
    /// The hash of each text and the entry's place, sorted.
    places: Vec<(u64, usize)>,
    /// Where the places of each hash begin.
    firsts: HashMap<u64, usize, FxBuildHasher>,
}

impl Index {
    /// Indexes the entries of these texts.
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let seed = RandomState::new().hash_one(()) as usize;
        let hasher = FxSeededState::with_seed(seed);
        let places = texts.enumerate();
        let places = places.map(|(place, text)| (hasher.hash_one(text), place));
        let mut places: Vec<(u64, usize)> = places.collect();
        places.sort_unstable();
        // of each hash the last one here is the first one there
        let firsts = places.iter().enumerate().rev();
        Index {
            seed,
            firsts: firsts.map(|(at, (hash, _))| (*hash, at)).collect(),
            places,
        }
    }

    /// Returns the places of a text in their order, and seldom that of another one: the caller compares.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = usize> {
        let hash = FxSeededState::with_seed(self.seed).hash_one(text);
        let first = self.firsts.get(&hash).copied();
        let places = self.places[first.unwrap_or(self.places.len())..].iter();
        let places = places.take_while(move |(at, _)| *at == hash);
        places.map(|(_, place)| *place)
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
