//! From the file's text to desired state, or to all of its problems at once.
//!
//! One table a kind says which fields there are and how each is read; the checks between entries follow when all are
//! read. Nothing here knows NetBird's actual state: what only the server can tell (does that group exist?) is handed on
//! in [`Valid::references`], for `plan` to judge.

mod collisions;
mod labels;
mod members;
mod overlaps;
mod places;
mod references;
mod renames;
mod sections;
mod settings;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::base::code::Code;
use crate::file::{self, Cursor, Finding, Findings, Log, Place, Source};
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::Kind;

pub use places::Places;
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
/// Errors with every problem of the file, notices included; after a syntax error with that one only. A file that
/// manages nothing, or wants nothing at all, is an error: it never means that everything is to be deleted.
pub fn validate(source: &Source) -> Result<Valid, Findings> {
    let file = source.name().to_owned();
    let value = match file::parse(source) {
        Ok(value) => value,
        Err(problem) => {
            return Err(Findings {
                file,
                list: vec![problem],
            });
        }
    };
    let root = Cursor::root(source, &value);
    let (mut log, mut desired) = (Log::default(), Desired::default());
    root.duplicates(&mut log);
    if root.is_object() {
        root.object(&mut log, &sections::table(&[]), &mut desired);
    } else {
        root.wrong::<()>(
            &mut log,
            "one object { … }",
            Some("begin with examples/minimal.json".into()),
        );
    }

    let entries = entries(&root);
    collisions::check(&entries, &mut log);
    members::check(&entries, &desired, &mut log);
    labels::check(&entries, &desired, &mut log);
    overlaps::check(&entries, &desired, &mut log);
    desired.renamed_from = renames::read(&entries, &mut log);
    let references = references::undeclared(&entries, &mut log);
    settings::check(&entries, &desired, &mut log);
    manages_something(&root, &entries, &desired, &mut log);

    if let more @ 1.. = log.left_out() {
        let text = format!("{more} more problems and notices are left out");
        let left_out = Finding::notice(Code::LeftOut, root.place(), text);
        log.findings.push(left_out);
    }
    let mut findings = log.findings;
    findings.sort_by_key(|finding| (finding.place.line, finding.place.column)); // stable: what was found first stays first
    if log.errors > 0 {
        return Err(Findings {
            file,
            list: findings,
        });
    }
    Ok(Valid {
        file,
        desired: Arc::new(desired),
        notices: findings,
        references,
        places: Places::new(source),
    })
}

/// An entry of a section, as written.
struct Entry<'a> {
    address: Address,
    cursor: Cursor<'a>,
}

/// Returns the entries of a kind.
fn of_kind<'e, 'a>(
    entries: &'e [Entry<'a>],
    kind: Kind,
) -> impl Iterator<Item = &'e Entry<'a>> + Clone {
    let entries = entries.iter();
    entries.filter(move |entry| entry.address.kind == kind)
}

/// Returns every entry, in file order; what stands in an object, behind it.
fn entries<'a>(root: &Cursor<'a>) -> Vec<Entry<'a>> {
    let folders = |section: Cursor<'a>| match sections::kind_of(&section) {
        Some(_) => vec![section],
        None => section.members().collect(),
    };
    let of_kind = |section: Cursor<'a>| {
        let kind = sections::kind_of(&section)?;
        let all = match kind.is_one() {
            true => with_children(Address::new(kind, ""), section),
            false => section
                .members()
                .filter(|entry| sections::is_name(entry.name()))
                .flat_map(|entry| {
                    let objects = sections::objects(kind, &entry).into_iter();
                    let address = Address::new(kind, entry.name());
                    objects.flat_map(move |object| with_children(address.clone(), object))
                })
                .collect(),
        };
        Some(all)
    };
    let sections = root.members().flat_map(folders);
    sections.filter_map(of_kind).flatten().collect()
}

/// An entry, and what stands in it.
fn with_children<'a>(address: Address, cursor: Cursor<'a>) -> Vec<Entry<'a>> {
    let children = address.kind.children().filter_map(Kind::inside_as);
    let children = children.flat_map(|(kind, inside)| {
        let section = cursor.get(kind.section()).into_iter();
        let all = section.flat_map(|section| {
            section
                .members()
                .chain(section.elements())
                .collect::<Vec<_>>()
        });
        // looked up once, and not for each of what stands in it
        let mut texts: FxHashMap<&str, &str> = FxHashMap::default();
        for (field, text) in cursor
            .members()
            .filter_map(|it| Some((it.name(), it.text()?)))
        {
            texts.entry(field).or_insert(text);
        }
        texts.retain(|_, text| sections::is_name(text));
        let child = |one: Cursor<'a>| {
            let name = inside.name.of(
                one.name(),
                |field| texts.get(field).copied(),
                |field| one.get(field)?.text(),
            );
            with_children(address.child(kind, name), one)
        };
        let named = all.filter(|one| sections::is_name(one.name()));
        named.flat_map(child).collect::<Vec<_>>()
    });
    let children: Vec<Entry<'a>> = children.collect();
    let entry = Entry { address, cursor };
    std::iter::once(entry).chain(children).collect()
}

/// Notes a file that would leave everything alone, or delete everything.
fn manages_something(root: &Cursor<'_>, entries: &[Entry<'_>], desired: &Desired, log: &mut Log) {
    if log.errors > 0 {
        return; // what is wrong may be all there is
    }
    let sections: Vec<String> = Kind::sections()
        .map(|kind| kind.section_path().join("."))
        .collect();
    // settings that say nothing leave everything as it is
    let says_something =
        |entry: &Entry<'_>| !entry.address.kind.is_one() || entry.cursor.members().next().is_some();
    if entries.iter().any(says_something) {
        return;
    }
    let mut managed = desired.sections.iter();
    if !managed.any(|(kind, _)| kind.goes_with_entry()) {
        let (last, rest) = sections.split_last().expect("there are kinds");
        let hint = format!(
            "it has {} or {last}; begin with examples/minimal.json",
            rest.join(", ")
        );
        log.error(root.place(), "the file manages nothing")
            .coded(Code::NothingManaged)
            .suggest(hint);
    } else {
        log.error(root.place(), "every section is empty, which would delete all that was ever declared here")
            .coded(Code::NothingManaged)
            .suggest("leave a section out to leave it alone; to take everything down, keep one entry and remove it in NetBird");
    }
}
