//! Reading values of the tree: every reader takes what it wants, or notes a problem and goes on.
//!
//! By hand rather than by serde derives, because serde stops at the first problem, takes an array for a struct, and
//! forgets where values stand.

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use rustc_hash::FxHashMap;

use super::{Finding, Place, Severity, Source, quote};
use crate::base::{Code, MOST_NAMES, is_hidden, listed, quote_up_to};

/// A value, and where it stands. Its path is looked for when something is to be said of it: of most values nothing is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    source: &'a Source,
    root: &'a Value<'a>,
    value: &'a Value<'a>,
    /// The member of an object that it stands in, with its name.
    member: Option<&'a ObjectProp<'a>>,
}

/// The longest path that goes on, in bytes; what a valid file has is shorter.
const LONGEST_PATH: usize = 2200;
/// The most errors that are kept, and the most notices: a file of a few bytes an error would take gigabytes for them.
const MOST: usize = 10_000;

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// In the order in which they were found.
    pub(crate) findings: Vec<Finding>,
    /// How many errors were found, those that are not kept too.
    pub(crate) errors: usize,
    notices: usize,
    /// The last one of those that are not kept.
    spare: Option<Finding>,
}

impl Log {
    /// How many of all that was found are not among the findings.
    pub(crate) fn left_out(&self) -> usize {
        self.errors + self.notices - self.findings.len()
    }

    /// Counts one more error where no more of them are kept, so that nobody has to say where it stands.
    pub(crate) fn only_counts(&mut self) -> bool {
        let is_full = self.errors >= MOST;
        self.errors += usize::from(is_full);
        is_full
    }

    /// Notes an error: of a value, if nobody says otherwise.
    pub(crate) fn error(&mut self, place: Place, message: impl Into<String>) -> &mut Finding {
        self.push(Finding::error(Code::Value, place, message))
    }

    /// Notes a notice.
    pub(crate) fn notice(
        &mut self,
        code: Code,
        place: Place,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.push(Finding::notice(code, place, message))
    }

    fn push(&mut self, finding: Finding) -> &mut Finding {
        let number = match finding.severity {
            Severity::Error => &mut self.errors,
            Severity::Notice => &mut self.notices,
        };
        *number += 1;
        if *number > MOST {
            return self.spare.insert(finding);
        }
        self.findings.push(finding);
        self.findings.last_mut().expect("one was pushed")
    }
}

impl<'a> Cursor<'a> {
    /// The whole file.
    pub(crate) fn root(source: &'a Source, value: &'a Value<'a>) -> Self {
        Cursor {
            source,
            root: value,
            value,
            member: None,
        }
    }

    /// The name under which it stands in an object; empty for the root and for elements of a list.
    pub(crate) fn name(&self) -> &'a str {
        self.member.map_or("", |member| member.name.as_str())
    }

    /// Returns whether it stands at that path of names, from the top.
    pub(crate) fn stands_at(&self, path: &[&str]) -> bool {
        self.path().split('.').eq(path.iter().copied())
    }

    /// Where the value is.
    pub(crate) fn place(&self) -> Place {
        self.at(self.value.start())
    }

    /// Where its name is; where the value is, if it has none.
    pub(crate) fn key_place(&self) -> Place {
        let name = self.member.map(|member| member.name.range().start);
        self.at(name.unwrap_or(self.value.start()))
    }

    fn at(&self, offset: usize) -> Place {
        let (line, column) = self.source.position(self.source.json_offset() + offset);
        Place {
            path: self.path(),
            line,
            column,
        }
    }

    /// Goes from the root to it: each step is into what begins last of all that begins not after it.
    fn path(&self) -> String {
        let offset = self.value.start();
        let (mut path, mut at) = (String::new(), self.root);
        while !std::ptr::eq(at, self.value) {
            if path.len() > LONGEST_PATH {
                path.push('…');
                break;
            }
            (path, at) = match at {
                Value::Object(object) => {
                    let members = &object.properties;
                    let after = members.partition_point(|member| member.value.start() <= offset);
                    let member = &members[after - 1];
                    (step(&path, member.name.as_str()), &member.value)
                }
                Value::Array(list) => {
                    let after = list.elements.partition_point(|it| it.start() <= offset);
                    (format!("{path}[{}]", after - 1), &list.elements[after - 1])
                }
                _ => unreachable!("nothing stands in a value that is neither object nor list"),
            };
        }
        path
    }

    /// The text, where it is a string.
    pub(crate) fn text(&self) -> Option<&'a str> {
        let literal = self.value.as_string_lit();
        literal.map(|literal| literal.value.as_ref())
    }

    /// The members, where it is an object, without a comment.
    pub(crate) fn members(self) -> impl Iterator<Item = Cursor<'a>> {
        self.all_members().filter(|member| member.name() != COMMENT)
    }

    fn all_members(self) -> impl Iterator<Item = Cursor<'a>> {
        let object = self.value.as_object().into_iter();
        let members = object.flat_map(|object| &object.properties);
        members.map(move |member| Cursor {
            value: &member.value,
            member: Some(member),
            ..self
        })
    }

    /// The elements, where it is a list.
    pub(crate) fn elements(self) -> impl Iterator<Item = Cursor<'a>> {
        let array = self.value.as_array().into_iter();
        let elements = array.flat_map(|array| &array.elements);
        elements.map(move |value| Cursor {
            value,
            member: None,
            ..self
        })
    }

    /// The member of that name; the first one if there are two.
    pub(crate) fn get(self, name: &str) -> Option<Cursor<'a>> {
        self.members().find(|member| member.name() == name)
    }

    /// The place of the member of that name, or of the object itself where it has none.
    pub(crate) fn place_of(&self, name: &str) -> Place {
        let member = self.get(name).map(|member| member.place());
        member.unwrap_or_else(|| self.key_place())
    }

    /// Returns whether it is an object.
    pub(crate) fn is_object(&self) -> bool {
        self.value.as_object().is_some()
    }

    /// Returns whether it is a list.
    pub(crate) fn is_list(&self) -> bool {
        self.value.as_array().is_some()
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&self, log: &mut Log) -> Option<bool> {
        let literal = self.value.as_boolean_lit().map(|literal| literal.value);
        literal.or_else(|| self.wrong(log, "true or false", self.meant_boolean()))
    }

    /// Reads a string.
    pub(crate) fn string(&self, log: &mut Log, wanted: &str) -> Option<&'a str> {
        let hint = || {
            let named = self.get("name")?;
            Some(format!("write its name: {}", quote(named.text()?)))
        };
        self.text().or_else(|| self.wrong(log, wanted, hint()))
    }

    /// Reads a string; where several stand in a list, `several` says how to write them.
    pub(crate) fn one_string(&self, log: &mut Log, wanted: &str, several: &str) -> Option<&'a str> {
        match self.is_list() {
            true => self.wrong(log, wanted, Some(several.to_owned())),
            false => self.string(log, wanted),
        }
    }

    /// Whether it is false, or an empty list.
    pub(crate) fn is_off(&self) -> bool {
        let flag = self.value.as_boolean_lit().map(|literal| literal.value);
        flag == Some(false) || self.is_list() && self.elements().next().is_none()
    }

    /// Reads a whole number. One beyond 64 bits becomes the last one on its side, for the caller to refuse.
    pub(crate) fn integer(&self, log: &mut Log, wanted: &str) -> Option<i64> {
        let is_whole = |text: &&str| !text.contains(['.', 'e', 'E']);
        let end = |text: &str| match text.starts_with('-') {
            true => i64::MIN,
            false => i64::MAX,
        };
        let whole = self.number_text().filter(is_whole);
        let number = whole.map(|text| text.parse().unwrap_or(end(text)));
        number.or_else(|| self.wrong(log, wanted, self.meant_integer()))
    }

    /// The number as written, where it is one.
    pub(crate) fn number_text(&self) -> Option<&'a str> {
        self.value.as_number_lit().map(|literal| literal.value)
    }

    /// Notes that the same stands before it in its list.
    pub(crate) fn repeated(&self, log: &mut Log) {
        let text = format!(
            "{} is in the list twice",
            quote(self.text().unwrap_or_default())
        );
        log.notice(Code::Repeated, self.place(), text);
    }

    /// Reads a list.
    pub(crate) fn list(&self, log: &mut Log, wanted: &str) -> Option<Vec<Cursor<'a>>> {
        match self.value {
            Value::Array(_) => Some(self.elements().collect()),
            _ => {
                let parts = self.text().unwrap_or_default().split(',');
                let parts = parts.map(str::trim).filter(|part| !part.is_empty());
                let is_few = (1..=MOST_NAMES).contains(&parts.clone().count());
                let hint = is_few.then(|| format!("write [{}]", listed(parts.map(quote))));
                self.wrong(log, wanted, hint)
            }
        }
    }

    /// Returns whether it is `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.value.as_null_keyword().is_some()
    }

    /// Says how to write the boolean that was very likely meant.
    fn meant_boolean(&self) -> Option<String> {
        let text = self.text()?.to_lowercase();
        match text.as_str() {
            "true" | "false" => Some(format!("write {text} without quotes")),
            "yes" | "on" => Some("write true".into()),
            "no" | "off" => Some("write false".into()),
            _ => None,
        }
    }

    /// Says how to write the whole number that was very likely meant: one in quotes, or with a dot or an exponent.
    fn meant_integer(&self) -> Option<String> {
        if let Some(text) = self.text() {
            let number: u32 = text.parse().ok()?;
            return Some(format!("write {number} without quotes"));
        }
        self.whole_float().map(|number| format!("write {number}"))
    }

    /// The whole number that is written with a dot or an exponent.
    pub(crate) fn whole_float(&self) -> Option<i64> {
        let number: f64 = self.number_text()?.parse().ok()?;
        let is_whole = number.fract() == 0.0 && (0.0..1e15).contains(&number);
        is_whole.then_some(number as i64)
    }

    /// Notes that something else was wanted here, and what to write instead where that can be told.
    pub(crate) fn wrong<R>(&self, log: &mut Log, wanted: &str, hint: Option<String>) -> Option<R> {
        if log.only_counts() {
            return None;
        }
        let message = match self.is_null() {
            true => format!("null is not allowed: expected {wanted}"),
            false => format!("expected {wanted}, found {}", self.found()),
        };
        let flaw = log.error(self.place(), message).coded(Code::WrongType);
        flaw.suggest(hint);
        None
    }

    fn found(&self) -> String {
        match self.value {
            Value::StringLit(literal) => format!("the string {}", quote(&literal.value)),
            Value::NumberLit(it) => format!("the number {}", quote(it.value).trim_matches('"')),
            Value::BooleanLit(literal) => literal.value.to_string(),
            Value::Object(_) => "an object".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            Value::NullKeyword(_) => "null".to_owned(),
        }
    }

    /// Notes every name that an object has twice, at any depth, and every comment that is no text.
    pub(crate) fn duplicates(&self, log: &mut Log) {
        let mut seen: FxHashMap<&str, Cursor<'a>> = FxHashMap::default();
        for member in self.all_members() {
            if member.name() == COMMENT {
                member.string(log, "a text");
            }
            match seen.get(member.name()) {
                Some(_) if log.only_counts() => {}
                Some(first) => {
                    let Place { line, column, .. } = first.key_place();
                    let first = format!("the first one is in line {line}, column {column}");
                    let message = format!("{} is here twice; {first}", quote(member.name()));
                    let flaw = log.error(member.key_place(), message);
                    flaw.coded(Code::Duplicate);
                }
                None => drop(seen.insert(member.name(), member)),
            }
            member.duplicates(log);
        }
        for element in self.elements() {
            element.duplicates(log);
        }
    }
}

/// The member in which people write what the program does not read.
pub(crate) const COMMENT: &str = "$comment";
/// The longest name in a path, in characters; a valid name is never cut.
const STEP_CHARS: usize = 255;
/// The longest part of a name that cannot be valid.
const HIDDEN_CHARS: usize = 60;

/// Appends a name to a path: `.name`, or `["a name"]` where it is not plain.
pub(crate) fn step(path: &str, name: &str) -> String {
    // a filler such as U+3164 is a letter to Unicode, and hidden to people
    let plain = |char: char| {
        !is_hidden(char) && (char.is_alphanumeric() || matches!(char, '_' | '-' | '$'))
    };
    let is_short = name.len() <= STEP_CHARS || name.chars().nth(STEP_CHARS).is_none();
    let is_plain = !name.is_empty() && is_short && name.chars().all(plain);
    match (path, is_plain) {
        ("", true) => name.to_owned(),
        (_, true) => format!("{path}.{name}"),
        (_, false) if name.chars().take(STEP_CHARS).any(is_hidden) => {
            format!("{path}[{}]", quote_up_to(name, HIDDEN_CHARS))
        }
        (_, false) => format!("{path}[{}]", quote_up_to(name, STEP_CHARS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::parse;

    /// The path of each value, in file order.
    fn paths(at: Cursor<'_>) -> Vec<String> {
        let inner = at.members().chain(at.elements()).flat_map(paths);
        [at.place().path].into_iter().chain(inner).collect()
    }

    #[test]
    fn every_value_has_its_path() {
        let text = r#"{"a": {"b c": [[1, {}], []], "": 2}, "a": [{"d": [3]}], "e": {}}"#;
        let source = Source::from_text("f", text).expect("a text");
        let tree = parse(&source).expect("JSON");
        let wanted = [
            "",
            "a",
            r#"a["b c"]"#,
            r#"a["b c"][0]"#,
            r#"a["b c"][0][0]"#,
            r#"a["b c"][0][1]"#,
            r#"a["b c"][1]"#,
            r#"a[""]"#,
            "a",
            "a[0]",
            "a[0].d",
            "a[0].d[0]",
            "e",
        ];
        assert_eq!(paths(Cursor::root(&source, &tree)), wanted);
    }

    #[test]
    fn a_path_ends_somewhere() {
        let name = "x".repeat(250);
        let text = format!("{{\"{name}\":").repeat(100) + "1" + &"}".repeat(100);
        let source = Source::from_text("f", text).expect("a text");
        let tree = parse(&source).expect("JSON");
        let paths = paths(Cursor::root(&source, &tree));
        let longest = paths.iter().map(String::len).max();
        assert!(longest < Some(LONGEST_PATH + 260), "{longest:?}");
        assert!(paths[100].ends_with('…'), "{}", paths[100]);
    }
}

#[cfg(test)]
mod path_tests {
    use super::*;

    #[test]
    fn steps_quote_what_is_not_plain() {
        let rows = [
            ("", "policies", "policies"),
            ("policies", "pilots-to-gs", "policies.pilots-to-gs"),
            ("groups", "Büro_2", "groups.Büro_2"),
            ("policies", "a.b", r#"policies["a.b"]"#),
            ("policies", "a[0]", r#"policies["a[0]"]"#),
            ("policies", "a b", r#"policies["a b"]"#),
            ("policies", "", r#"policies[""]"#),
            ("", "a b", r#"["a b"]"#),
            ("groups", "x\u{202e}", r#"groups["x\u{202e}"]"#),
            ("groups", "x\u{3164}", r#"groups["x\u{3164}"]"#),
            (
                "groups",
                "\u{115f}\u{ffa0}",
                r#"groups["\u{115f}\u{ffa0}"]"#,
            ),
        ];
        for (path, name, whole) in rows {
            assert_eq!(step(path, name), whole);
        }
        let (long, hidden) = ("x".repeat(255), "\u{202e}".repeat(255));
        assert_eq!(step("", &long), long, "a valid name is whole");
        let cut = "\\u{202e}".repeat(HIDDEN_CHARS);
        assert_eq!(step("", &hidden), format!("[\"{cut}…\"]"));
    }
}
