//! From the file's text to desired state, or to all of its problems at once.
//!
//! One table a kind says which fields there are and how each is read; the checks between entries follow when all are
//! read. Nothing here knows NetBird's actual state: what only the server can tell (does that group exist?) is handed on
//! in [`Valid::references`], for `plan` to judge.

mod members;
mod own_names;
mod references;
mod refused;
mod sections;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::base::Code;
use crate::file::{self, Cursor, Finding, Findings, Log, Place, Source};
use crate::model::{Address, Desired, InFile, Kind};

pub use references::Reference;

/// A valid file.
#[derive(Debug, Clone)]
pub struct Valid {
    /// The file's name, for messages of later stages.
    pub file: String,
    /// What it asks for.
    pub desired: Arc<Desired>,
    /// What is odd about it, by position.
    pub notices: Vec<Finding>,
    /// References to groups that the file does not declare, in file order, the first 10,000. `All` is not among them.
    pub references: Vec<Reference>,
    /// Where its entries, fields and names stand.
    pub places: Places,
}

impl Valid {
    /// Returns where an entry stands: the place of its name.
    pub fn position_of(&self, address: &Address) -> Option<&Place> {
        self.places.entry(address)
    }
}

/// Checks a file and returns what it asks for.
///
/// Errors with every problem of the file, notices included; after a syntax error with that one only. A file
/// that wants nothing at all is an error: it never means that everything is to be deleted.
pub fn validate(source: &Source) -> Result<Valid, Findings> {
    let file = source.name().to_owned();
    let value = match file::parse(source) {
        Ok(value) => value,
        Err(problem) => {
            let list = vec![problem];
            return Err(Findings { file, list });
        }
    };
    let root = Cursor::root(source, &value);
    let (mut log, mut desired) = (Log::default(), Desired::default());
    root.duplicates(&mut log);
    if root.is_object() {
        root.object(&mut log, &sections::table(&[]), &mut ());
    } else {
        let hint = "begin with examples/minimal.json".to_owned();
        root.wrong::<()>(&mut log, "one object { … }", Some(hint));
    }

    let mut entries = sections::read(&root, &mut desired.sections, &mut log);
    own_names::check(&entries, &mut log);
    refused::routes(&entries, &mut log);
    refused::check(&entries, &mut log);
    for entry in &mut entries {
        let all = desired.entries.entry(entry.address.clone()).or_default();
        // room for one: a list grows to four at its first entry, and most names have one
        all.reserve_exact(1);
        all.extend(entry.resource.take());
    }
    members::check(&entries, &desired, &mut log);
    own_names::labels(&entries, &desired, &mut log);
    desired.renamed_from = own_names::renames(&entries, &mut log);
    let references = references::undeclared(&entries, &mut log);
    manages_something(&root, &entries, &desired, &mut log);

    if let more @ 1.. = log.left_out() {
        let text = format!("{more} more problems and notices are left out");
        let left_out = Finding::notice(Code::LeftOut, root.place(), text);
        log.findings.push(left_out);
    }
    let mut list = log.findings;
    list.sort_by_key(|finding| (finding.place.line, finding.place.column)); // stable: what was found first stays first
    if log.errors > 0 {
        return Err(Findings { file, list });
    }
    Ok(Valid {
        file,
        desired: Arc::new(desired),
        notices: list,
        references,
        places: Places::new(source),
    })
}

/// Returns the entries of a kind.
fn of_kind<'e, 'a>(
    entries: &'e [InFile<'a>],
    kind: Kind,
) -> impl Iterator<Item = &'e InFile<'a>> + Clone {
    let entries = entries.iter();
    entries.filter(move |entry| entry.address.kind == kind)
}

/// Notes a file that leaves everything alone; one that would delete everything is an error.
fn manages_something(root: &Cursor<'_>, entries: &[InFile<'_>], desired: &Desired, log: &mut Log) {
    if log.errors > 0 {
        return; // what is wrong may be all there is
    }
    // settings that say nothing leave everything as it is
    let says_something = |entry: &InFile<'_>| {
        !entry.address.kind.is_one() || entry.cursor.members().next().is_some()
    };
    if entries.iter().any(says_something) {
        return;
    }
    let mut managed = desired.sections.iter();
    if !managed.any(|(kind, _)| kind.goes_with_entry()) {
        let text = "the file manages nothing yet: write a section, or run netbird-gitops adopt to import what NetBird has";
        log.notice(Code::NothingManaged, root.place(), text);
    } else {
        log.error(root.place(), "every section is empty: an apply would delete everything that this file created")
            .coded(Code::NothingManaged)
            .suggest("remove a section to stop managing it; to delete everything, keep one entry here, apply, and delete that one in NetBird");
    }
}

/// The places of a valid file. They are looked for when somebody asks: most runs have nothing to say about the file.
#[derive(Debug, Clone)]
pub struct Places {
    source: Source,
    found: OnceLock<Found>,
}

/// The place of each entry, and by field those of the names in it.
type Found = BTreeMap<Address, (Place, BTreeMap<String, BTreeMap<String, Place>>)>;

impl Places {
    fn new(source: &Source) -> Self {
        Places {
            source: source.clone(),
            found: OnceLock::new(),
        }
    }

    fn find(&self) -> &Found {
        self.found.get_or_init(|| match file::parse(&self.source) {
            Ok(value) => {
                let root = Cursor::root(&self.source, &value);
                let (mut sections, mut log) = Default::default();
                places(&sections::read(&root, &mut sections, &mut log))
            }
            Err(_) => BTreeMap::new(), // a file that was valid is so again
        })
    }

    /// Returns where an entry's name stands.
    pub fn entry(&self, address: &Address) -> Option<&Place> {
        self.find().get(address).map(|(place, _)| place)
    }

    /// Returns where a name stands in a field of an entry, such as a group in the list of a policy's `sources`.
    pub fn name(&self, address: &Address, field: &str, name: &str) -> Option<&Place> {
        let (_, names) = self.find().get(address)?;
        names.get(field)?.get(name)
    }
}

fn places(entries: &[InFile<'_>]) -> Found {
    let mut all = Found::new();
    for entry in entries {
        // of several objects of one name the first one stands for all
        let of_entry = all.entry(entry.address.clone());
        let new = || (entry.cursor.key_place(), BTreeMap::new());
        let (_, fields) = of_entry.or_insert_with(new);
        for field in entry.cursor.members() {
            let names = fields.entry(field.name().to_owned()).or_default();
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
mod places_tests {
    use crate::check::validate::testing::check;
    use crate::model::{Address, Kind};

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
