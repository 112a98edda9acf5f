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

use crate::base::code::Code;
use crate::file::{self, Cursor, Finding, Findings, Log, Place, Source};
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::{InFile, Kind};

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
        root.object(&mut log, &sections::table(&[]), &mut ());
    } else {
        root.wrong::<()>(
            &mut log,
            "one object { … }",
            Some("begin with examples/minimal.json".into()),
        );
    }

    let entries = sections::read(&root, &mut desired.sections, &mut log);
    for InFile {
        address, resource, ..
    } in &entries
    {
        let all = desired.entries.entry(address.clone()).or_default();
        // room for one: a list grows to four at its first entry, and most names have one
        all.reserve_exact(1);
        all.extend(resource.clone());
    }
    collisions::check(&entries, &mut log);
    members::check(&entries, &desired, &mut log);
    labels::check(&entries, &desired, &mut log);
    overlaps::check(&entries, &mut log);
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
        let text = "the file manages nothing yet: write a section, or take over what NetBird has with netbird-gitops adopt";
        log.notice(Code::NothingManaged, root.place(), text);
    } else {
        log.error(root.place(), "every section is empty, which would delete all that was ever declared here")
            .coded(Code::NothingManaged)
            .suggest("leave a section out to leave it alone; to take everything down, keep one entry and remove it in NetBird");
    }
}
