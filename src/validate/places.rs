//! Where entries, their fields, and the names in them stand: for stages that find out later what is wrong.

use std::collections::BTreeMap;

use super::Entry;
use crate::address::Address;
use crate::config::Place;

/// The places of a valid file.
#[derive(Debug, Clone, Default)]
pub struct Places(BTreeMap<Address, EntryPlaces>);

#[derive(Debug, Clone)]
struct EntryPlaces {
    place: Place,
    fields: BTreeMap<String, FieldPlaces>,
}

#[derive(Debug, Clone)]
struct FieldPlaces {
    place: Place,
    names: BTreeMap<String, Place>,
}

impl Places {
    pub(super) fn new(entries: &[Entry<'_>]) -> Self {
        let fields = |entry: &Entry<'_>| {
            let field = |field: crate::config::Cursor<'_>| {
                let named = field
                    .elements()
                    .filter_map(|element| Some((element.text()?.to_owned(), element.place())));
                let names = named.collect();
                (
                    field.name().to_owned(),
                    FieldPlaces {
                        place: field.place(),
                        names,
                    },
                )
            };
            entry.cursor.members().map(field).collect()
        };
        let places = |entry: &Entry<'_>| {
            (
                entry.address.clone(),
                EntryPlaces {
                    place: entry.cursor.key_place(),
                    fields: fields(entry),
                },
            )
        };
        Places(entries.iter().map(places).collect())
    }

    /// Returns where an entry's name stands.
    pub fn entry(&self, address: &Address) -> Option<&Place> {
        self.0.get(address).map(|entry| &entry.place)
    }

    /// Returns where the value of an entry's field stands.
    pub fn field(&self, address: &Address, field: &str) -> Option<&Place> {
        self.0
            .get(address)?
            .fields
            .get(field)
            .map(|field| &field.place)
    }

    /// Returns where a name stands in a list of an entry, such as a group in a policy's `sources`.
    pub fn name(&self, address: &Address, field: &str, name: &str) -> Option<&Place> {
        self.0.get(address)?.fields.get(field)?.names.get(name)
    }
}

#[cfg(test)]
mod tests {
    use crate::address::Address;
    use crate::kind::Kind;
    use crate::validate::testing::check;

    #[test]
    fn places_of_entries_fields_and_names() {
        let file = "{\n  \"groups\": {\"a b\": {}},\n  \"policies\": {\n    \"p\": {\"sources\": [\"a b\", \"All\"],\n      \"destinations\": [\"All\"]}}}";
        let valid = check(file).expect("a valid file");
        let at = |place: Option<&crate::config::Place>| {
            place.map(|place| (place.path.clone(), place.line, place.column))
        };
        let (group, policy) = (
            Address::new(Kind::Group, "a b"),
            Address::new(Kind::Policy, "p"),
        );
        assert_eq!(
            at(valid.position_of(&group)),
            Some(("groups[\"a b\"]".into(), 2, 14))
        );
        assert_eq!(
            at(valid.position_of(&policy)),
            Some(("policies.p".into(), 4, 5))
        );
        assert_eq!(
            at(valid.places.field(&policy, "destinations")),
            Some(("policies.p.destinations".into(), 5, 23))
        );
        assert_eq!(
            at(valid.places.name(&policy, "sources", "All")),
            Some(("policies.p.sources[1]".into(), 4, 30))
        );
        assert_eq!(valid.position_of(&Address::new(Kind::Route, "p")), None);
        assert_eq!(valid.places.field(&policy, "ports"), None);
        assert_eq!(valid.places.name(&policy, "sources", "b"), None);
    }
}
