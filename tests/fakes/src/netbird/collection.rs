//! Objects of one kind under their ids, in the order of their creation.

use std::collections::HashMap;

/// A list of objects with ids. Looking one up costs little; removing one costs a walk through the
/// rest, which no test is slowed down by.
#[derive(Clone)]
pub(super) struct Collection<T> {
    items: Vec<(String, T)>,
    places: HashMap<String, usize>,
}

impl<T> Default for Collection<T> {
    fn default() -> Self {
        Collection {
            items: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<T> Collection<T> {
    pub(super) fn insert(&mut self, id: &str, item: T) {
        self.places.insert(id.to_owned(), self.items.len());
        self.items.push((id.to_owned(), item));
    }

    pub(super) fn get(&self, id: &str) -> Option<&T> {
        self.places.get(id).map(|place| &self.items[*place].1)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.places.get(id).map(|place| &mut self.items[*place].1)
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<T> {
        self.remove_where(|key, _| key == id)
            .pop()
            .map(|(_, item)| item)
    }

    /// Takes out all that answer to this.
    pub(super) fn remove_where(&mut self, is_due: impl Fn(&str, &T) -> bool) -> Vec<(String, T)> {
        let due = self
            .items
            .extract_if(.., |(id, item)| is_due(id, item))
            .collect();
        self.places = self
            .items
            .iter()
            .enumerate()
            .map(|(place, (id, _))| (id.clone(), place))
            .collect();
        due
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.items.iter().map(|(id, item)| (id.as_str(), item))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|(_, item)| item)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().map(|(_, item)| item)
    }
}
