//! Where each id of an inventory is: asked for each object of an account.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::{Ids, Inventory, Left, RecordedAs};
use crate::base::Id;

/// The key of each object, and how it is recorded; none of one that was let go.
type Places = FxHashMap<Id, (String, Option<RecordedAs>)>;

/// The places of all ids, made when somebody asks for one. It says nothing that the lists do not say, so it is in no comparison,
/// and a copy of the inventory, which can change, makes its own.
#[derive(Debug, Default)]
pub(super) struct Index(OnceLock<Places>);

impl Clone for Index {
    fn clone(&self) -> Self {
        Index::default()
    }
}

impl PartialEq for Index {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Inventory {
    /// Returns the key of the entry that an object is recorded for, and how, if it is.
    pub fn entry_of(&self, id: &Id) -> Option<(&str, RecordedAs)> {
        let (key, origin) = self.places().get(id)?;
        Some((key, (*origin)?))
    }

    /// Returns the key of the entry that an object is recorded for, or was until it was let go.
    pub fn key_of(&self, id: &Id) -> Option<&str> {
        self.places().get(id).map(|(key, _)| key.as_str())
    }

    /// Returns the key of the entry of an object that was let go, if it was, and what is known of that.
    pub fn let_go_of(&self, id: &Id) -> Option<(&str, &Left)> {
        let (key, origin) = self.places().get(id)?;
        let left = self.let_go.get(key).filter(|_| origin.is_none());
        Some((key, left?))
    }

    fn places(&self) -> &Places {
        self.index.0.get_or_init(|| {
            let let_go = self.let_go.iter();
            let let_go = let_go.flat_map(|(key, left)| left.ids.iter().map(move |id| (key, id)));
            let let_go = let_go.map(|(key, id)| (id.clone(), (key.clone(), None)));
            let recorded = self.recorded();
            let recorded = recorded.map(|(key, id, how)| (id.clone(), (key.to_owned(), Some(how))));
            // of one that is in two lists the last one counts
            let_go.chain(recorded).collect()
        })
    }

    /// Takes an object out of its list.
    pub(super) fn forget(&mut self, id: &Id) {
        self.released.remove(id);
        self.places();
        let places = self.index.0.get_mut();
        let Some((key, origin)) = places.and_then(|places| places.remove(id)) else {
            return;
        };
        match origin {
            Some(RecordedAs::Created) => remove(&mut self.created, &key, id, |ids| ids),
            Some(RecordedAs::Adopted) => remove(&mut self.adopted, &key, id, |ids| ids),
            None => remove(&mut self.let_go, &key, id, |left| &mut left.ids),
        }
    }

    /// Puts an object that is in no list into that of an entry.
    pub(super) fn record(&mut self, key: &str, id: &Id, origin: RecordedAs) {
        let ids = match origin {
            RecordedAs::Created => &mut self.created,
            RecordedAs::Adopted => &mut self.adopted,
        };
        insert(ids, key, id);
        if let Some(places) = self.index.0.get_mut() {
            places.insert(id.clone(), (key.to_owned(), Some(origin)));
        }
    }
}

/// Takes an id out of what a key has, and the key with the last one.
fn remove<T>(
    lists: &mut BTreeMap<String, T>,
    key: &str,
    id: &Id,
    ids: impl Fn(&mut T) -> &mut Vec<Id>,
) {
    let Some(ids) = lists.get_mut(key).map(ids) else {
        return;
    };
    ids.retain(|known| known != id);
    if ids.is_empty() {
        lists.remove(key);
    }
}

/// Adds an id to those of a key, which stay sorted.
fn insert(ids: &mut Ids, key: &str, id: &Id) {
    let of_key = ids.entry(key.to_owned()).or_default();
    if let Err(at) = of_key.binary_search(id) {
        of_key.insert(at, id.clone());
    }
}
