//! Reading a version of the file for names only, quickly: a scanner of JSON that can start behind any entry.
//!
//! It takes JSON's grammar as it is, so half a file or conflict markers are noticed, but values that nobody asks for are
//! passed over, whatever they are: versions of other times have other fields. A name or a section that stands there twice
//! counts both times, where the tool would have refused the file.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::kind::{End, Kind, Tie, Trace};
use crate::spelling;

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
    Kind::declared().find(is_there)
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
                    let sections = || Kind::declared().map(Kind::section_path);
                    if let Some(kind) = kind_at(&[&word]) {
                        return self.open(kind).map(Some);
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
                        return self.open(kind).map(Some);
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

    fn open(&mut self, kind: Kind) -> Result<Mark, Broken> {
        self.expect(b'{', "a section that is no object")?;
        self.place = Place::Section { kind, first: true };
        Ok(Mark {
            end: self.at,
            kind,
            opening: true,
            facts: Vec::new(),
        })
    }

    fn entry(&mut self, kind: Kind, key: Range<usize>, facts: &mut Facts) -> Result<Mark, Broken> {
        let name = self.decode(key)?;
        let mut found = vec![facts.id(Fact::Declared(kind, name.clone()))];
        self.expect(b'{', "an entry that is no object")?;
        let renames = kind.descriptor().can_be_renamed;
        let mut first = true;
        while let Some(key) = self.key(first)? {
            first = false;
            let word = self.word(&key);
            let mut traces = kind.descriptor().traces.iter();
            let trace = traces.find(|(field, _)| field.as_bytes() == &*word);
            match (trace.map(|(_, trace)| *trace), self.peek()) {
                (Some(Trace::Members), Some(b'[')) => {
                    self.texts(|member| {
                        found.push(facts.id(Fact::Listed(name.clone(), member)));
                    })?;
                }
                (Some(Trace::Done), Some(b't')) => {
                    found.push(facts.id(Fact::Enrolled(name.clone())));
                    self.value(0)?;
                }
                (Some(Trace::Anew), Some(b'"')) => {
                    let instant = self.string()?;
                    let instant = self.decode(instant)?.parse().ok();
                    let fact = instant.map(|instant| Fact::Reissued(name.clone(), instant));
                    found.extend(fact.map(|fact| facts.id(fact)));
                }
                (Some(Trace::Lasts), _) => {
                    self.blank();
                    let start = self.at;
                    self.value(0)?;
                    let number = std::str::from_utf8(&self.text[start..self.at]).ok();
                    let seconds = number.and_then(|number| number.parse().ok());
                    let fact = seconds.map(|seconds| Fact::Lasting(name.clone(), seconds));
                    found.extend(fact.map(|fact| facts.id(fact)));
                }
                (Some(Trace::Tie(end)), _) => self.tie(kind, &name, end, &mut found, facts)?,
                (None, Some(b'"')) if renames && *word == *b"renamed_from" => {
                    let old = self.string()?;
                    let old = self.decode(old)?;
                    found.push(facts.id(Fact::Renamed(kind, name.clone(), old)));
                }
                _ => self.value(0)?,
            }
        }
        Ok(Mark {
            end: self.at,
            kind,
            opening: false,
            facts: found,
        })
    }

    /// What an entry connects at one of its ends: a text, or a list of texts.
    fn tie(
        &mut self,
        kind: Kind,
        name: &str,
        end: End,
        found: &mut Vec<FactId>,
        facts: &mut Facts,
    ) -> Result<(), Broken> {
        let mut names = BTreeSet::new();
        match self.peek() {
            Some(b'"') => {
                let text = self.string()?;
                names.insert(spelling::network(&self.decode(text)?));
            }
            Some(b'[') => self.texts(|text| {
                names.insert(match end {
                    End::Network => spelling::domain(&text),
                    End::From | End::To | End::Through => text,
                });
            })?,
            _ => return self.value(0),
        }
        if !names.is_empty() {
            found.push(facts.id(Fact::Tied(kind, name.to_owned(), Tie { end, names })));
        }
        Ok(())
    }

    /// The texts of a list; what is none is passed over.
    fn texts(&mut self, mut each: impl FnMut(String)) -> Result<(), Broken> {
        let mut first = true;
        self.expect(b'[', "no list")?;
        while self.item(first)? {
            first = false;
            if self.peek() == Some(b'"') {
                let text = self.string()?;
                each(self.decode(text)?);
            } else {
                self.value(0)?;
            }
        }
        Ok(())
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
