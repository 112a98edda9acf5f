//! Reading a version of the file entry by entry: a scanner of JSON that can start behind any of them.
//!
//! It takes JSON's grammar as it is, so half a file or conflict markers are noticed, but fields that nobody asks for are
//! passed over, whatever they are: versions of other times have other fields. A name or a section that stands there twice
//! counts both times, where the tool would have refused the file.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::address::Address;
use crate::kind::{End, Kind, Tie, Trace};

use super::facts::{Fact, FactId, Facts};

/// Deeper nesting is no netbird.json; as in `serde_json`.
const DEEPEST: usize = 128;

/// Why a version says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken {
    /// Where, in bytes.
    pub(super) at: usize,
    /// What was found there.
    pub(super) why: &'static str,
}

/// A place between two tokens, just behind the start of a section or behind one of its entries, and what was read since
/// the mark before. Reading on from a mark depends on nothing but its section and `opening`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// The place, in bytes.
    pub(super) end: usize,
    /// The section that it is in.
    pub(super) kind: Kind,
    /// Whether it is behind the section's brace; behind an entry otherwise.
    pub(super) opening: bool,
    /// What the entry declares, its name first.
    pub(super) facts: Vec<FactId>,
}

/// Where the scanner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Start,
    Top { first: bool },
    Folder { name: &'static str, first: bool },
    Section { kind: Kind, first: bool },
    End,
}

impl Place {
    /// The place behind a section.
    fn behind_section(kind: Kind) -> Self {
        match kind.section_path() {
            [name, _, ..] => Place::Folder { name, first: false },
            _ => Place::Top { first: false },
        }
    }

    /// The place behind a mark, or the start of the file where there is none.
    pub(super) fn behind(mark: Option<&Mark>) -> Self {
        match mark {
            None => Place::Start,
            Some(mark) if mark.kind.is_one() => Place::behind_section(mark.kind),
            Some(mark) => Place::Section {
                kind: mark.kind,
                first: mark.opening,
            },
        }
    }
}

/// Returns the kind whose section stands there.
fn kind_at(path: &[&[u8]]) -> Option<Kind> {
    let is_there = |kind: &Kind| {
        let names = kind.section_path().iter().map(|name| name.as_bytes());
        names.eq(path.iter().copied())
    };
    Kind::sections().find(is_there)
}

/// Returns what an entry says: that it is there, first; and what stands in it. `at` is the place in its list.
fn declared(
    address: Address,
    entry: &Map<String, Value>,
    at: usize,
    facts: &mut Facts,
) -> Vec<FactId> {
    let mut said = vec![Fact::Declared(address.clone())];
    let descriptor = address.kind.descriptor();
    for (field, trace) in descriptor.special.traces {
        said.extend(
            entry
                .get(*field)
                .map(|value| traced(*trace, value, &address, at))
                .into_iter()
                .flatten(),
        );
    }
    if descriptor.can_be_renamed
        && let Some(Value::String(old)) = entry.get("renamed_from")
    {
        said.push(Fact::Renamed(address.clone(), old.clone()));
    }
    let mut found: Vec<FactId> = said.into_iter().map(|fact| facts.id(fact)).collect();
    for kind in address.kind.children() {
        let Some((inside, within)) = kind.inside().zip(entry.get(kind.section())) else {
            continue;
        };
        let all: Vec<(&str, &Value)> = match within {
            Value::Object(named) => named
                .iter()
                .map(|(name, one)| (name.as_str(), one))
                .collect(),
            Value::Array(list) => list.iter().map(|one| ("", one)).collect(),
            _ => continue,
        };
        found.push(facts.id(Fact::Section(kind, address.name.clone())));
        for (key, child) in all {
            let Some(child) = child.as_object() else {
                continue;
            };
            let name = inside.name.of(
                key,
                |field| entry.get(field)?.as_str(),
                |field| child.get(field)?.as_str(),
            );
            found.extend(declared(address.child(kind, name), child, 0, facts));
        }
    }
    found
}

/// Returns what the history remembers of a field.
fn traced(trace: Trace, value: &Value, address: &Address, at: usize) -> Vec<Fact> {
    let name = || address.name.clone();
    let texts = || {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    };
    match trace {
        Trace::Members => texts()
            .map(|member| Fact::Listed(name(), member.to_owned()))
            .collect(),
        Trace::Done if *value == Value::Bool(true) => vec![Fact::Enrolled(name())],
        Trace::Done => Vec::new(),
        Trace::Anew => {
            let instant = value.as_str().and_then(|text| text.parse().ok());
            let fact = instant.map(|instant| Fact::Reissued(name(), instant));
            fact.into_iter().collect()
        }
        Trace::Lasts => {
            let fact = value.as_i64().map(|seconds| Fact::Lasting(name(), seconds));
            fact.into_iter().collect()
        }
        Trace::Tie(end) => {
            let (one, keys) = match end {
                End::FromPeer | End::ToPeer => (value["peer"].as_str(), None),
                End::Users => (None, value.as_object()),
                _ => (value.as_str(), None),
            };
            let one = one.map(|text| end.spelled(text));
            let keys = keys.into_iter().flat_map(Map::keys).cloned();
            let names: BTreeSet<String> = one
                .into_iter()
                .chain(keys)
                .chain(texts().map(|text| end.listed(text)))
                .collect();
            let is_said = matches!(end, End::Setting(_)) && !value.is_null();
            match names.is_empty() && !is_said {
                true => Vec::new(),
                false => vec![Fact::Tied(address.clone(), Tie { end, names }, at)],
            }
        }
    }
}

pub(super) struct Scanner<'t> {
    text: &'t [u8],
    pub(super) at: usize,
    pub(super) place: Place,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Scanner {
            text,
            at: 0,
            place: Place::Start,
        }
    }

    /// Reads to the next mark; `None` at the end of a file that is whole.
    pub(super) fn next_mark(&mut self, facts: &mut Facts) -> Result<Option<Mark>, Broken> {
        loop {
            match self.place {
                Place::Start => {
                    if self.text.starts_with(b"\xef\xbb\xbf") {
                        self.at = 3;
                    }
                    self.expect(b'{', "no object")?;
                    self.place = Place::Top { first: true };
                }
                Place::Top { first } => {
                    let Some(key) = self.key(first)? else {
                        self.place = Place::End;
                        continue;
                    };
                    self.place = Place::Top { first: false };
                    let word = self.word(&key);
                    let sections = || Kind::sections().map(Kind::section_path);
                    if let Some(kind) = kind_at(&[&word]) {
                        return self.open(kind, facts).map(Some);
                    }
                    match sections().find(|path| path[0].as_bytes() == &*word) {
                        Some(path) => {
                            self.expect(b'{', "sections in something that is no object")?;
                            self.place = Place::Folder {
                                name: path[0],
                                first: true,
                            };
                        }
                        None => self.value(0)?,
                    }
                }
                Place::Folder { name, first } => {
                    let Some(key) = self.key(first)? else {
                        self.place = Place::Top { first: false };
                        continue;
                    };
                    self.place = Place::Folder { name, first: false };
                    if let Some(kind) = kind_at(&[name.as_bytes(), &self.word(&key)]) {
                        return self.open(kind, facts).map(Some);
                    }
                    self.value(0)?;
                }
                Place::Section { kind, first } => {
                    let Some(key) = self.key(first)? else {
                        self.place = Place::behind_section(kind);
                        continue;
                    };
                    self.place = Place::Section { kind, first: false };
                    return self.entry(kind, key, facts).map(Some);
                }
                Place::End => {
                    self.blank();
                    return if self.at == self.text.len() {
                        Ok(None)
                    } else {
                        Err(self.broken("something behind the end"))
                    };
                }
            }
        }
    }

    fn open(&mut self, kind: Kind, facts: &mut Facts) -> Result<Mark, Broken> {
        let mut found = Vec::new();
        if kind.is_one() {
            let entry = self.object("a section that is no object")?;
            self.place = Place::behind_section(kind);
            found = declared(Address::new(kind, ""), &entry, 0, facts);
        } else {
            self.expect(b'{', "a section that is no object")?;
            self.place = Place::Section { kind, first: true };
        }
        Ok(Mark {
            end: self.at,
            kind,
            opening: true,
            facts: found,
        })
    }

    fn entry(&mut self, kind: Kind, key: Range<usize>, facts: &mut Facts) -> Result<Mark, Broken> {
        let name = self.decode(key)?;
        let address = Address::new(kind, name);
        let is_list = kind.descriptor().special.is_several && self.peek() == Some(b'[');
        let found = match is_list {
            false => {
                let entry = self.object("an entry that is no object")?;
                declared(address, &entry, 0, facts)
            }
            true => {
                let start = self.at;
                self.value(0)?;
                let list: Vec<Map<String, Value>> = self.parsed(start)?;
                let all = list.iter().enumerate();
                let all = all.flat_map(|(at, one)| declared(address.clone(), one, at, facts));
                let all: Vec<FactId> = all.collect();
                // the entry is there, whatever it has
                std::iter::once(facts.id(Fact::Declared(address)))
                    .chain(all)
                    .collect()
            }
        };
        Ok(Mark {
            end: self.at,
            kind,
            opening: false,
            facts: found,
        })
    }

    /// An object, all of it.
    fn object(&mut self, why: &'static str) -> Result<Map<String, Value>, Broken> {
        if self.peek() != Some(b'{') {
            return Err(self.broken(why));
        }
        let start = self.at;
        self.value(0)?;
        self.parsed(start)
    }

    /// The value that began there and ends here.
    fn parsed<T: DeserializeOwned>(&self, start: usize) -> Result<T, Broken> {
        serde_json::from_slice(&self.text[start..self.at]).map_err(|_| Broken {
            at: start,
            why: "no JSON",
        })
    }

    /// The next key of an object and the colon behind it; `None` behind the closing brace.
    fn key(&mut self, first: bool) -> Result<Option<Range<usize>>, Broken> {
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !first => self.at += 1,
            Some(_) if first => {}
            _ => return Err(self.broken("neither a comma nor a closing brace")),
        }
        let key = self.string()?;
        self.expect(b':', "a key without a colon")?;
        self.blank();
        Ok(Some(key))
    }

    /// Whether a list has another item, which begins here; behind the closing bracket otherwise.
    fn item(&mut self, first: bool) -> Result<bool, Broken> {
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                return Ok(false);
            }
            Some(b',') if !first => self.at += 1,
            Some(_) if first => {}
            _ => return Err(self.broken("neither a comma nor a closing bracket")),
        }
        self.blank();
        Ok(true)
    }

    /// Passes over a value of any kind.
    fn value(&mut self, depth: usize) -> Result<(), Broken> {
        if depth == DEEPEST {
            return Err(self.broken("nested too deep"));
        }
        match self.peek() {
            Some(b'"') => {
                self.string()?;
            }
            Some(b'{') => {
                self.at += 1;
                let mut first = true;
                while self.key(first)?.is_some() {
                    first = false;
                    self.value(depth + 1)?;
                }
            }
            Some(b'[') => {
                self.at += 1;
                let mut first = true;
                while self.item(first)? {
                    first = false;
                    self.value(depth + 1)?;
                }
            }
            _ => {
                let rest = &self.text[self.at..];
                let plain =
                    |b: &u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'+' | b'.' | b'E');
                let length = rest.iter().take_while(|b| plain(b)).count();
                let word = &rest[..length];
                let number = word
                    .first()
                    .is_some_and(|b| matches!(b, b'-' | b'0'..=b'9'))
                    && !word.iter().any(|b| matches!(b, b'a'..=b'd' | b'f'..=b'z'));
                if !number && !matches!(word, b"true" | b"false" | b"null") {
                    return Err(self.broken("no JSON"));
                }
                self.at += length;
            }
        }
        Ok(())
    }

    /// A string with its quotes.
    fn string(&mut self) -> Result<Range<usize>, Broken> {
        self.expect(b'"', "no string")?;
        let start = self.at - 1;
        loop {
            let rest = &self.text[self.at..];
            let special = |b: &u8| matches!(b, b'"' | b'\\' | 0..=0x1f);
            let Some(length) = rest.iter().position(special) else {
                return Err(self.broken("a string without an end"));
            };
            self.at += length;
            match rest[length] {
                b'"' => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                b'\\' => self.at = (self.at + 2).min(self.text.len()),
                _ => return Err(self.broken("a string without an end")),
            }
        }
    }

    /// What a key says; nothing where it is no text.
    fn word(&self, key: &Range<usize>) -> Cow<'t, [u8]> {
        let plain = &self.text[key.start + 1..key.end - 1];
        if !plain.contains(&b'\\') {
            return Cow::Borrowed(plain);
        }
        let decoded = self.decode(key.clone()).unwrap_or_default();
        Cow::Owned(decoded.into_bytes())
    }

    fn decode(&self, string: Range<usize>) -> Result<String, Broken> {
        let at = string.start;
        let text = &self.text[string];
        let plain = &text[1..text.len() - 1];
        let decoded = if plain.contains(&b'\\') {
            serde_json::from_slice(text).ok()
        } else {
            std::str::from_utf8(plain).ok().map(str::to_owned)
        };
        decoded.ok_or(Broken {
            at,
            why: "a name that is no text",
        })
    }

    fn blank(&mut self) {
        let rest = &self.text[self.at..];
        let blank = |b: &&u8| matches!(b, b' ' | b'\n' | b'\r' | b'\t');
        self.at += rest.iter().take_while(blank).count();
    }

    /// The next byte that is not blank; stops before it.
    fn peek(&mut self) -> Option<u8> {
        self.blank();
        self.text.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, why: &'static str) -> Result<(), Broken> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.broken(why))
        }
    }

    fn broken(&self, why: &'static str) -> Broken {
        Broken { at: self.at, why }
    }
}
