//! Reading values of the tree: every reader takes what it wants, or notes a problem and goes on.
//!
//! By hand rather than by serde derives, because serde stops at the first problem, takes an array for a struct, and
//! forgets where values stand.

use std::collections::HashMap;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;

use super::words::{nearest, step};
use super::{Place, Problem, Source, did_you_mean, quote};

/// A value, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    source: &'a Source,
    value: &'a Value<'a>,
    path: String,
    key: Option<Key<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct Key<'a> {
    name: &'a str,
    offset: usize,
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// In the order in which they were found.
    pub(crate) problems: Vec<Problem>,
}

/// One field of an object, and how it is read into a `T`.
pub(crate) struct Field<T> {
    pub(crate) name: &'static str,
    pub(crate) presence: Presence,
    pub(crate) read: fn(&mut T, &Cursor<'_>, &mut Log),
}

/// What it means to leave a field out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It may be left out.
    Optional,
    /// It may not.
    Required,
    /// Then its objects are not managed; an empty one wants none.
    Section,
}

/// A field that people may try, and what to tell them instead of "unknown field".
pub(crate) struct Refused {
    pub(crate) name: &'static str,
    pub(crate) message: &'static str,
    pub(crate) hint: Option<&'static str>,
}

/// The fields of an object.
pub(crate) struct Table<T: 'static> {
    /// What the object is, as in "a policy".
    pub(crate) what: &'static str,
    pub(crate) fields: &'static [Field<T>],
    pub(crate) refused: &'static [Refused],
}

impl Log {
    /// Notes an error.
    pub(crate) fn error(&mut self, place: Place, message: impl Into<String>) -> &mut Problem {
        self.push(Problem::error(place, message))
    }

    /// Notes a notice.
    pub(crate) fn notice(&mut self, place: Place, message: impl Into<String>) -> &mut Problem {
        self.push(Problem::notice(place, message))
    }

    fn push(&mut self, problem: Problem) -> &mut Problem {
        self.problems.push(problem);
        self.problems.last_mut().expect("one was pushed")
    }
}

impl<T> Table<T> {
    /// The names of the fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.name)
    }
}

impl<T> Field<T> {
    /// A field that may be left out.
    pub(crate) const fn optional(
        name: &'static str,
        read: fn(&mut T, &Cursor<'_>, &mut Log),
    ) -> Self {
        Field {
            name,
            presence: Presence::Optional,
            read,
        }
    }

    /// A field that may not.
    pub(crate) const fn required(
        name: &'static str,
        read: fn(&mut T, &Cursor<'_>, &mut Log),
    ) -> Self {
        Field {
            name,
            presence: Presence::Required,
            read,
        }
    }

    /// A field that holds objects by name.
    pub(crate) const fn section(
        name: &'static str,
        read: fn(&mut T, &Cursor<'_>, &mut Log),
    ) -> Self {
        Field {
            name,
            presence: Presence::Section,
            read,
        }
    }
}

impl<'a> Cursor<'a> {
    /// The whole file.
    pub(crate) fn root(source: &'a Source, value: &'a Value<'a>) -> Self {
        Cursor {
            source,
            value,
            path: String::new(),
            key: None,
        }
    }

    /// The name under which it stands in an object; empty for the root and for elements of a list.
    pub(crate) fn name(&self) -> &'a str {
        self.key.map_or("", |key| key.name)
    }

    /// Where the value is.
    pub(crate) fn place(&self) -> Place {
        self.at(self.value.start())
    }

    /// Where its name is; where the value is, if it has none.
    pub(crate) fn key_place(&self) -> Place {
        self.at(self.key.map_or(self.value.start(), |key| key.offset))
    }

    fn at(&self, offset: usize) -> Place {
        let (line, column) = self.source.position(self.source.json_offset() + offset);
        Place {
            path: self.path.clone(),
            line,
            column,
        }
    }

    /// The text, where it is a string.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.value
            .as_string_lit()
            .map(|literal| literal.value.as_ref())
    }

    /// The members, where it is an object.
    pub(crate) fn members(&self) -> impl Iterator<Item = Cursor<'a>> {
        let members = self
            .value
            .as_object()
            .map(|object| object.properties.as_slice());
        members.unwrap_or_default().iter().map(|member| {
            let (name, offset) = match &member.name {
                ObjectPropName::String(literal) => (literal.value.as_ref(), literal.range.start),
                ObjectPropName::Word(word) => (word.value, word.range.start),
            };
            let path = step(&self.path, name);
            Cursor {
                source: self.source,
                value: &member.value,
                path,
                key: Some(Key { name, offset }),
            }
        })
    }

    /// The elements, where it is a list.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Cursor<'a>> {
        let elements = self.value.as_array().map(|array| array.elements.as_slice());
        elements
            .unwrap_or_default()
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let path = format!("{}[{index}]", self.path);
                Cursor {
                    source: self.source,
                    value,
                    path,
                    key: None,
                }
            })
    }

    /// The member of that name; the first one if there are two.
    pub(crate) fn get(&self, name: &str) -> Option<Cursor<'a>> {
        self.members().find(|member| member.name() == name)
    }

    /// The place of the member of that name, or of the object itself where it has none.
    pub(crate) fn place_of(&self, name: &str) -> Place {
        self.get(name)
            .map_or_else(|| self.key_place(), |member| member.place())
    }

    /// Returns whether it is an object.
    pub(crate) fn is_object(&self) -> bool {
        self.value.as_object().is_some()
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&self, log: &mut Log) -> Option<bool> {
        let literal = self.value.as_boolean_lit().map(|literal| literal.value);
        literal.or_else(|| self.wrong(log, "true or false"))
    }

    /// Reads a string.
    pub(crate) fn string(&self, log: &mut Log, wanted: &str) -> Option<&'a str> {
        self.text().or_else(|| self.wrong(log, wanted))
    }

    /// Reads a whole number. One beyond 64 bits becomes the last one on its side, for the caller to refuse.
    pub(crate) fn integer(&self, log: &mut Log, wanted: &str) -> Option<i64> {
        let literal = self.value.as_number_lit().map(|literal| literal.value);
        let whole = literal.filter(|text| {
            text.bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
        });
        let end = |text: &str| {
            if text.starts_with('-') {
                i64::MIN
            } else {
                i64::MAX
            }
        };
        whole
            .map(|text| text.parse().unwrap_or(end(text)))
            .or_else(|| self.wrong(log, wanted))
    }

    /// The number as written, where it is one.
    pub(crate) fn number_text(&self) -> Option<&'a str> {
        self.value.as_number_lit().map(|literal| literal.value)
    }

    /// Reads a list.
    pub(crate) fn list(&self, log: &mut Log, wanted: &str) -> Option<Vec<Cursor<'a>>> {
        match self.value {
            Value::Array(_) => Some(self.elements().collect()),
            _ => self.wrong(log, wanted),
        }
    }

    /// Reads an object's fields into `into`: known ones, unknown ones, and those that are missing.
    pub(crate) fn object<T>(&self, log: &mut Log, table: &Table<T>, into: &mut T) {
        if !self.is_object() {
            let _: Option<()> = self.wrong(log, &format!("{} {{ … }}", table.what));
            return;
        }
        for member in self.members() {
            match table
                .fields
                .iter()
                .find(|field| field.name == member.name())
            {
                Some(field) if member.is_null() => member.null(log, table.what, field.presence),
                Some(field) => (field.read)(into, &member, log),
                None => member.unknown(log, table),
            }
        }
        let required = table
            .fields
            .iter()
            .filter(|field| field.presence == Presence::Required);
        for field in required.filter(|field| !self.mentions(table, field.name)) {
            log.error(
                self.key_place(),
                format!("{} needs \"{}\"", table.what, field.name),
            );
        }
    }

    /// Returns whether the object has that field, or one that is very likely meant to be it.
    pub(crate) fn mentions<T>(&self, table: &Table<T>, name: &str) -> bool {
        self.members().any(|member| {
            let known = table.names().any(|known| known == member.name());
            member.name() == name || !known && nearest(member.name(), table.names()) == Some(name)
        })
    }

    fn unknown<T>(&self, log: &mut Log, table: &Table<T>) {
        let name = self.name();
        match table.refused.iter().find(|refused| refused.name == name) {
            Some(refused) => {
                log.error(self.key_place(), refused.message)
                    .suggest(refused.hint.map(str::to_owned));
            }
            None => {
                let hint = did_you_mean(name, table.names()).unwrap_or_else(|| {
                    format!(
                        "{} has {}",
                        table.what,
                        table.names().collect::<Vec<_>>().join(", ")
                    )
                });
                log.error(self.key_place(), format!("unknown field {}", quote(name)))
                    .suggest(hint);
            }
        }
    }

    /// Notes a null where a field's value belongs. It never means that something is to be deleted.
    fn null(&self, log: &mut Log, what: &str, presence: Presence) {
        let name = self.name();
        let hint = match presence {
            Presence::Optional => format!("leave \"{name}\" out instead"),
            Presence::Required => format!("{what} needs \"{name}\""),
            Presence::Section => {
                format!(
                    "leave \"{name}\" out to leave them alone; {{}} says that there shall be none"
                )
            }
        };
        log.error(self.place(), "null is no value").suggest(hint);
    }

    fn is_null(&self) -> bool {
        self.value.as_null_keyword().is_some()
    }

    /// Notes that something else was wanted here.
    pub(crate) fn wrong<R>(&self, log: &mut Log, wanted: &str) -> Option<R> {
        let message = match self.is_null() {
            true => format!("null is no value: expected {wanted}"),
            false => format!("expected {wanted}, found {}", self.found()),
        };
        let hint = match self.text() {
            Some(text) if wanted.starts_with("a list") => Some(format!("write [{}]", quote(text))),
            Some(text) if is_bare(text) => Some(format!("write {text} without quotes")),
            _ => None,
        };
        log.error(self.place(), message).suggest(hint);
        None
    }

    fn found(&self) -> String {
        match self.value {
            Value::StringLit(literal) => format!("the string {}", quote(&literal.value)),
            Value::NumberLit(literal) => {
                format!("the number {}", quote(literal.value).trim_matches('"'))
            }
            Value::BooleanLit(literal) => literal.value.to_string(),
            Value::Object(_) => "an object".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            Value::NullKeyword(_) => "null".to_owned(),
        }
    }

    /// Notes every name that an object has twice, at any depth.
    pub(crate) fn duplicates(&self, log: &mut Log) {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for member in self.members() {
            let key = member.key.expect("a member has a name");
            match seen.get(key.name) {
                Some(offset) => {
                    let first = member.at(*offset);
                    let message = format!(
                        "{} is here twice; the first one is in line {}, column {}",
                        quote(key.name),
                        first.line,
                        first.column
                    );
                    log.error(member.key_place(), message);
                }
                None => {
                    seen.insert(key.name, key.offset);
                }
            }
            member.duplicates(log);
        }
        for element in self.elements() {
            element.duplicates(log);
        }
    }
}

/// Returns whether a string holds what JSON writes without quotes.
fn is_bare(text: &str) -> bool {
    matches!(text, "true" | "false") || text.len() <= 20 && text.parse::<i64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[derive(Default)]
    struct Thing {
        count: Option<i64>,
        names: Vec<String>,
        on: Option<bool>,
    }

    const THING: Table<Thing> = Table {
        what: "a thing",
        fields: &[
            Field::required("count", |thing, value, log| {
                thing.count = value.integer(log, "a whole number")
            }),
            Field::optional("names", |thing, value, log| {
                let names = value.list(log, "a list of names").unwrap_or_default();
                thing.names = names
                    .iter()
                    .filter_map(|name| Some(name.string(log, "a name")?.to_owned()))
                    .collect();
            }),
            Field::optional("on", |thing, value, log| thing.on = value.boolean(log)),
        ],
        refused: &[Refused {
            name: "id",
            message: "a thing has no id",
            hint: Some("leave it out"),
        }],
    };

    fn read(text: &str) -> (Thing, String) {
        let source = Source::from_text("f", text).expect("a text");
        let value = parse(&source).expect("JSON");
        let (mut thing, mut log) = (Thing::default(), Log::default());
        let root = Cursor::root(&source, &value);
        root.duplicates(&mut log);
        root.object(&mut log, &THING, &mut thing);
        (
            thing,
            log.problems
                .iter()
                .map(|problem| problem.render("f"))
                .collect(),
        )
    }

    #[test]
    fn a_reader_takes_what_it_wants() {
        let (thing, problems) = read(r#"{"on": true, "names": ["a", "\u00fc"], "count": -3}"#);
        assert_eq!(
            (thing.count, thing.names, thing.on),
            (Some(-3), vec!["a".into(), "ü".into()], Some(true))
        );
        assert_eq!(problems, "");
        assert_eq!(
            read(r#"{"count": 99999999999999999999}"#).0.count,
            Some(i64::MAX)
        );
        assert_eq!(
            read(r#"{"count": -99999999999999999999}"#).0.count,
            Some(i64::MIN)
        );
    }

    #[test]
    fn a_reader_notes_what_it_does_not_want_and_goes_on() {
        let rows = [
            (
                r#"[1]"#,
                "f:1:1\n    expected a thing { … }, found a list\n",
            ),
            (r#"{}"#, "f:1:1\n    a thing needs \"count\"\n"),
            (
                r#"{"count": 1.0}"#,
                "f:1:11  count\n    expected a whole number, found the number 1.0\n",
            ),
            (
                r#"{"count": 1e3}"#,
                "f:1:11  count\n    expected a whole number, found the number 1e3\n",
            ),
            (
                r#"{"count": "12"}"#,
                "f:1:11  count\n    expected a whole number, found the string \"12\"\n    write 12 without quotes\n",
            ),
            (
                r#"{"count": 1, "on": "true"}"#,
                "f:1:20  on\n    expected true or false, found the string \"true\"\n    write true without quotes\n",
            ),
            (
                r#"{"count": 1, "names": "a"}"#,
                "f:1:23  names\n    expected a list of names, found the string \"a\"\n    write [\"a\"]\n",
            ),
            (
                r#"{"count": 1, "names": ["a", null, {}]}"#,
                "f:1:29  names[1]\n    null is no value: expected a name\nf:1:35  names[2]\n    expected a name, found an object\n",
            ),
            (
                r#"{"count": 1, "cuont": 2}"#,
                "f:1:14  cuont\n    unknown field \"cuont\"\n    did you mean \"count\"?\n",
            ),
            (
                r#"{"count": 1, "zz": null}"#,
                "f:1:14  zz\n    unknown field \"zz\"\n    a thing has count, names, on\n",
            ),
            (
                r#"{"count": 1, "id": 2}"#,
                "f:1:14  id\n    a thing has no id\n    leave it out\n",
            ),
            (
                "{\"count\": 1,\n \"zz\": [{\"a\": 1, \"a\": 2, \"\\u0061\": 3}]}",
                "f:2:18  zz[0].a\n    \"a\" is here twice; the first one is in line 2, column 10\n\
                 f:2:26  zz[0].a\n    \"a\" is here twice; the first one is in line 2, column 10\n\
                 f:2:2  zz\n    unknown field \"zz\"\n    a thing has count, names, on\n",
            ),
        ];
        for (text, problems) in rows {
            assert_eq!(read(text).1, problems, "{text}");
        }
    }
}
