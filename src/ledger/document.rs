//! A version of the file and the step to the next one.
//!
//! It takes JSON as it is, so half a file or conflict markers are noticed. A name or a section that stands there twice counts
//! both times, where the tool would have refused the file.
//!
//! Most commits change one entry of hundreds. So the texts of the version before are kept: a section that is the same is not
//! looked into, and of another one only the entries whose text differs are read.

use std::fmt;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::json;
use crate::kind::Kind;

use super::facts::{FactId, Facts};
use super::said::said;

/// Why a version says nothing: where, and what was found there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken(pub(super) String);

/// The version that was read last.
#[derive(Debug, Default)]
pub(super) struct LastRead {
    sections: Vec<Rc<Section>>,
}

/// A section as it stands in a version.
#[derive(Debug)]
struct Section {
    kind: Kind,
    text: String,
    entries: Vec<Rc<Entry>>,
}

/// An entry as it stands in a version, and what it says.
#[derive(Debug)]
struct Entry {
    name: String,
    text: String,
    facts: Vec<FactId>,
}

/// What is different in a newer version. A fact that stands in both lists as often did not change.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Delta {
    pub(super) gone: Vec<FactId>,
    pub(super) new: Vec<FactId>,
}

impl LastRead {
    /// Takes the next version. A broken one changes nothing.
    pub(super) fn update(&mut self, text: &[u8], facts: &mut Facts) -> Result<Delta, Broken> {
        let mut before = self.sections.clone();
        let mut now = Vec::new();
        let mut delta = Delta::default();
        for (kind, text) in sections(text)? {
            // each stands for one section at most, whatever stands there twice
            let old = before.iter().position(|old| old.kind == kind);
            let old = old.map(|at| before.remove(at));
            now.push(match old {
                Some(old) if old.text == text.get() => old,
                old => Rc::new(Section::read(
                    kind,
                    text,
                    old.as_deref(),
                    facts,
                    &mut delta,
                )?),
            });
        }
        if now.is_empty() {
            return Err(Broken("no section at all".to_owned()));
        }
        let gone = before.iter().flat_map(|section| &section.entries);
        delta.gone.extend(gone.flat_map(|entry| &entry.facts));
        self.sections = now;
        Ok(delta)
    }

    /// Returns whether the version has a section of that kind.
    pub(super) fn manages(&self, kind: Kind) -> bool {
        self.sections.iter().any(|section| section.kind == kind)
    }
}

impl Section {
    /// Reads a section that is otherwise than in the version before, and adds to the delta what is.
    fn read(
        kind: Kind,
        text: &RawValue,
        old: Option<&Section>,
        facts: &mut Facts,
        delta: &mut Delta,
    ) -> Result<Self, Broken> {
        let at = |error| broken(kind.section(), &error);
        let fields = match kind.is_one() {
            true => vec![(String::new(), text)],
            false => fields(text.get()).map_err(at)?,
        };
        let mut old_ones: FxHashMap<&str, &Rc<Entry>> = FxHashMap::default();
        for entry in old.into_iter().flat_map(|old| &old.entries) {
            let twice = old_ones.insert(&entry.name, entry);
            delta.gone.extend(twice.iter().flat_map(|it| &it.facts));
        }
        let mut entries = Vec::with_capacity(fields.len());
        for (name, text) in fields {
            let is_same = |old: &&Rc<Entry>| old.text == text.get();
            if let Some(old) = old_ones.get(name.as_str()).copied().filter(is_same) {
                old_ones.remove(name.as_str());
                entries.push(Rc::clone(old));
                continue;
            }
            let facts = said(kind, &name, text.get(), facts).map_err(at)?;
            delta.new.extend(&facts);
            let text = text.get().to_owned();
            entries.push(Rc::new(Entry { name, text, facts }));
        }
        let gone = old_ones.values().flat_map(|entry| &entry.facts);
        delta.gone.extend(gone);
        let text = text.get().to_owned();
        Ok(Section {
            kind,
            text,
            entries,
        })
    }
}

/// Returns the sections of a version, in its order.
fn sections(text: &[u8]) -> Result<Vec<(Kind, &RawValue)>, Broken> {
    let text = std::str::from_utf8(text).map_err(|_| Broken("no text in UTF-8".to_owned()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let top = fields(text).map_err(|error| broken(&format!("line {}", error.line()), &error))?;
    let kind_at = |path: &[&str]| Kind::sections().find(|kind| kind.section_path() == path);
    let mut sections = Vec::new();
    for (name, value) in top {
        if let Some(kind) = kind_at(&[&name]) {
            sections.push((kind, value));
        } else if Kind::sections().any(|kind| kind.section_path()[0] == name) {
            for (inner, value) in fields(value.get()).map_err(|error| broken(&name, &error))? {
                match kind_at(&[&name, &inner]) {
                    Some(kind) => sections.push((kind, value)),
                    None => pass_over(value)?,
                }
            }
        } else {
            pass_over(value)?;
        }
    }
    Ok(sections)
}

/// Errors where a value that nobody asks for is none that a file can have: nested too deep.
fn pass_over(value: &RawValue) -> Result<(), Broken> {
    let read = serde_json::from_str::<Value>(value.get()).map(drop);
    read.map_err(|error| broken("a field that is no section", &error))
}

/// Nothing of the version itself is told: somebody may have written a secret there, and taken it out again.
fn broken(at: &str, error: &serde_json::Error) -> Broken {
    let why = match error.classify() {
        Category::Data => "something stands where an object belongs".to_owned(),
        _ => json::why(error),
    };
    Broken(format!("{at}: {why}"))
}

/// Returns the fields of an object as they stand there.
fn fields(text: &str) -> serde_json::Result<Vec<(String, &RawValue)>> {
    struct Fields<'t>(Vec<(String, &'t RawValue)>);
    struct Each;

    impl<'t> Deserialize<'t> for Fields<'t> {
        fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(Each)
        }
    }

    impl<'t> Visitor<'t> for Each {
        type Value = Fields<'t>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut fields = Vec::new();
            while let Some(field) = map.next_entry()? {
                fields.push(field);
            }
            Ok(Fields(fields))
        }
    }

    serde_json::from_str(text).map(|Fields(fields)| fields)
}
