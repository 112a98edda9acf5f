//! Where entries and the names in their fields stand: for stages that find out later what is wrong.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::file::{self, Cursor, Place, Source};
use crate::model::address::Address;
use crate::model::kind::InFile;

/// The places of a valid file. They are looked for when somebody asks: most runs have nothing to say about the file.
#[derive(Debug, Clone)]
pub struct Places {
    source: Source,
    found: OnceLock<BTreeMap<Address, EntryPlaces>>,
}

#[derive(Debug, Clone)]
struct EntryPlaces {
    place: Place,
    /// By field, the names in it.
    names: BTreeMap<String, BTreeMap<String, Place>>,
}

impl Places {
    pub(super) fn new(source: &Source) -> Self {
        Places {
            source: source.clone(),
            found: OnceLock::new(),
        }
    }

    fn find(&self) -> &BTreeMap<Address, EntryPlaces> {
        self.found.get_or_init(|| match file::parse(&self.source) {
            Ok(value) => {
                let root = Cursor::root(&self.source, &value);
                let (mut sections, mut log) = Default::default();
                places(&super::sections::read(&root, &mut sections, &mut log))
            }
            Err(_) => BTreeMap::new(), // a file that was valid is so again
        })
    }

    /// Returns where an entry's name stands.
    pub fn entry(&self, address: &Address) -> Option<&Place> {
        self.find().get(address).map(|entry| &entry.place)
    }

    /// Returns where a name stands in a field of an entry, such as a group in the list of a policy's `sources`.
    pub fn name(&self, address: &Address, field: &str, name: &str) -> Option<&Place> {
        let names = &self.find().get(address)?.names;
        names.get(field)?.get(name)
    }
}

fn places(entries: &[InFile<'_>]) -> BTreeMap<Address, EntryPlaces> {
    let mut all: BTreeMap<Address, EntryPlaces> = BTreeMap::new();
    for InFile {
        address, cursor, ..
    } in entries
    {
        // of several objects of one name the first one stands for all
        let of_entry = all.entry(address.clone());
        let of_entry = of_entry.or_insert_with(|| EntryPlaces {
            place: cursor.key_place(),
            names: BTreeMap::new(),
        });
        for field in cursor.members() {
            let names = of_entry.names.entry(field.name().to_owned()).or_default();
            let texts = field.elements().chain([field]);
            for (name, text) in texts.filter_map(|text| Some((text.text()?, text))) {
                let place = names.entry(name.to_owned());
                place.or_insert_with(|| text.place());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use crate::check::validate::testing::check;
    use crate::model::address::Address;
    use crate::model::kind::Kind;

    #[test]
    fn places_of_entries_and_names() {
        let file = "{\n  \"groups\": {\"a b\": {}},\n  \"policies\": {\n    \"p\": {\"sources\": [\"a b\", \"All\"],\n      \"destinations\": [\"All\"]},\n    \"q\": {\"sources\": [\"All\"], \"destination_resource\": \"lan\"}}}";
        let valid = check(file).expect("a valid file");
        let at = |place: Option<&crate::file::Place>| {
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
            at(valid.places.name(&policy, "sources", "All")),
            Some(("policies.p.sources[1]".into(), 4, 30))
        );
        let other = Address::new(Kind::Policy, "q");
        assert_eq!(
            at(valid.places.name(&other, "destination_resource", "lan")),
            Some(("policies.q.destination_resource".into(), 6, 55))
        );
        assert_eq!(valid.position_of(&Address::new(Kind::Route, "p")), None);
        assert_eq!(valid.places.name(&policy, "sources", "b"), None);
    }

    #[test]
    fn several_objects_of_one_name_stand_where_the_first_does() {
        let file = "{\"routes\": {\"r\": [\n  {\"network\": \"10.0.0.0/8\", \"peer\": \"a\"},\n  {\"network\": \"10.0.0.0/8\", \"peer\": \"b\"}]}}";
        let valid = check(file).expect("a valid file");
        let route = Address::new(Kind::Route, "r");
        let line = |place: Option<&crate::file::Place>| place.map(|place| place.line);
        assert_eq!(line(valid.position_of(&route)), Some(2));
        for (peer, wanted) in [("a", 2), ("b", 3)] {
            let place = valid.places.name(&route, "peer", peer);
            assert_eq!(line(place), Some(wanted), "{peer}");
        }
    }
}
