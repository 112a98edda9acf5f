//! Tables of fields: one row says what a field is called and how it is read; the rest is the same for every object.

use std::collections::BTreeSet;

use super::{Cursor, Log, did_you_mean, nearest, quote};
use crate::code::Code;
use crate::text::ask;

/// One field of an object: what it is called, how it is read into a `T`, and what there is to say of it.
pub(crate) struct Field<T: 'static> {
    pub(crate) name: &'static str,
    pub(crate) presence: Presence,
    /// The values it takes, for the schema.
    pub(crate) shape: Shape,
    /// What creation takes where it is left out, as JSON.
    pub(crate) default: Option<&'static str>,
    /// One line for people.
    pub(crate) doc: &'static str,
    pub(crate) read: fn(&mut T, &Cursor<'_>, &mut Log),
    /// Takes over another one's value where there is none.
    pub(crate) keep: Option<fn(&mut T, &T)>,
    /// Takes the value away.
    pub(crate) forget: Option<fn(&mut T)>,
    /// The groups that it names.
    pub(crate) groups: Option<Names<T>>,
}

/// The names in a field, where it has any.
type Names<T> = fn(&T) -> Option<&BTreeSet<String>>;

/// The values that a field takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Free text.
    Text,
    /// true or false.
    Flag,
    /// A whole number within these bounds.
    Whole(i64, i64),
    /// Names of groups.
    Groups,
    /// Names of groups, at least one.
    SomeGroups,
    /// A list of objects that have a table of their own.
    Objects(Objects),
    /// Such objects under their names.
    Named(Objects),
    /// Anything else: its JSON Schema, without the description.
    Schema(&'static str),
}

/// A list of objects in a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Objects {
    /// What the schema calls one of them.
    pub(crate) word: &'static str,
    /// How many there are at the least, and at the most, where that is limited.
    pub(crate) count: Option<(usize, usize)>,
    /// Their fields.
    pub(crate) outline: fn() -> Outline,
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
    /// Likewise, and it holds a list.
    List,
}

/// A field that people may try, and what to tell them instead of "unknown field".
pub(crate) struct Refused {
    names: &'static [&'static str],
    message: &'static str,
    hint: Option<&'static str>,
    meant: Option<&'static str>,
}

impl Refused {
    /// Spellings, what to say of them, and what to do.
    pub(crate) const fn new(
        names: &'static [&'static str],
        message: &'static str,
        hint: Option<&'static str>,
    ) -> Self {
        Refused {
            names,
            message,
            hint,
            meant: None,
        }
    }

    /// Says which field is meant by it, so that this one is not missing besides.
    pub(crate) const fn meant(self, field: &'static str) -> Self {
        Refused {
            meant: Some(field),
            ..self
        }
    }
}

/// The fields of an object.
pub(crate) struct Table<T: 'static> {
    /// What the object is, as in "a policy".
    pub(crate) what: &'static str,
    pub(crate) fields: &'static [Field<T>],
    pub(crate) refused: &'static [Refused],
    /// What JSON Schema says of several fields together: members of an object, as JSON.
    pub(crate) rules: &'static str,
}

/// What there is to say of an object's fields, whatever they are read into.
#[derive(Default)]
pub struct Outline {
    pub(crate) rows: Vec<Row>,
    /// What JSON Schema says of several fields together: members of an object, as JSON.
    pub(crate) rules: &'static str,
}

impl Outline {
    /// The names of the fields, each followed by those of the objects in it.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let of = |row: &Row| match row.shape {
            Shape::Objects(inner) | Shape::Named(inner) => {
                [vec![row.name], (inner.outline)().names()].concat()
            }
            _ => vec![row.name],
        };
        self.rows.iter().flat_map(of).collect()
    }
}

/// One field of an outline.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) presence: Presence,
    pub(crate) shape: Shape,
    pub(crate) default: Option<&'static str>,
    pub(crate) doc: &'static str,
    /// Whether it names groups.
    pub(crate) is_reference: bool,
}

impl<T> Table<T> {
    /// The names of the fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.name)
    }

    /// Says how to write such an object.
    fn braces(&self) -> String {
        let mut required = self.fields.iter();
        let needs_some = required.any(|field| field.presence == Presence::Required);
        let empty = match needs_some || self.rules != "{}" {
            true => "",
            false => "{}, or ",
        };
        let names: Vec<&str> = self.names().collect();
        format!("write {empty}its fields in braces: {}", names.join(", "))
    }

    /// Takes over from another object what this one leaves out.
    pub(crate) fn keep(&self, it: &mut T, live: &T) {
        let keep = self.fields.iter().filter_map(|field| field.keep);
        keep.for_each(|keep| keep(it, live));
    }

    /// Takes over the names of groups that this one leaves out.
    pub(crate) fn keep_groups(&self, it: &mut T, live: &T) {
        let groups = self.fields.iter().filter(|field| field.groups.is_some());
        let keep = groups.filter_map(|field| field.keep);
        keep.for_each(|keep| keep(it, live));
    }

    /// Takes everything away that can be left out, but for names of groups.
    pub(crate) fn forget(&self, it: &mut T) {
        let rest = self.fields.iter().filter(|field| field.groups.is_none());
        let forget = rest.filter_map(|field| field.forget);
        forget.for_each(|forget| forget(it));
    }

    /// Returns the sets of names of groups.
    pub(crate) fn groups<'a>(&self, it: &'a T) -> Vec<&'a BTreeSet<String>> {
        let groups = self.fields.iter().filter_map(|field| field.groups);
        groups.filter_map(|groups| groups(it)).collect()
    }

    /// Returns what there is to say of the fields.
    pub(crate) fn outline(&self) -> Outline {
        let row = |field: &Field<T>| Row {
            name: field.name,
            presence: field.presence,
            shape: field.shape,
            default: field.default,
            doc: field.doc,
            is_reference: field.groups.is_some(),
        };
        Outline {
            rows: self.fields.iter().map(row).collect(),
            rules: self.rules,
        }
    }

    fn refused_as(&self, name: &str) -> Option<&'static Refused> {
        let mut refused = self.refused.iter();
        refused.find(|refused| refused.names.contains(&name))
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
            shape: Shape::Text,
            default: None,
            doc: "",
            read,
            keep: None,
            forget: None,
            groups: None,
        }
    }

    /// A field that may not.
    pub(crate) const fn required(
        name: &'static str,
        read: fn(&mut T, &Cursor<'_>, &mut Log),
    ) -> Self {
        Field {
            presence: Presence::Required,
            ..Field::optional(name, read)
        }
    }

    /// A field that holds objects by name.
    pub(crate) const fn section(
        name: &'static str,
        read: fn(&mut T, &Cursor<'_>, &mut Log),
    ) -> Self {
        Field {
            presence: Presence::Section,
            ..Field::optional(name, read)
        }
    }

    /// A field that holds a list of objects.
    pub(crate) const fn list(name: &'static str, read: fn(&mut T, &Cursor<'_>, &mut Log)) -> Self {
        Field {
            presence: Presence::List,
            ..Field::optional(name, read)
        }
    }

    /// Says which values it takes, what creation takes where it is left out, and what it is.
    pub(crate) const fn says(
        self,
        shape: Shape,
        default: Option<&'static str>,
        doc: &'static str,
    ) -> Self {
        Field {
            shape,
            default,
            doc,
            ..self
        }
    }
}

/// Returns the question whether the one field was meant whose name begins or ends with those words.
fn begun(words: &str, names: impl Iterator<Item = &'static str>) -> Option<String> {
    let has_them = |name: &&str| {
        let begins = name.strip_prefix(words);
        begins.is_some_and(|rest| rest.starts_with('_'))
            || name
                .strip_suffix(words)
                .is_some_and(|rest| rest.ends_with('_'))
    };
    let mut meant = names.filter(has_them);
    let one = meant.next().filter(|_| !words.is_empty())?;
    meant.next().is_none().then(|| ask(one))
}

impl Cursor<'_> {
    /// Reads an object's fields into `into`: known ones, unknown ones, and those that are missing.
    pub(crate) fn object<T>(&self, log: &mut Log, table: &Table<T>, into: &mut T) {
        if !self.is_object() {
            let _: Option<()> = self.wrong(
                log,
                &format!("{} {{ … }}", table.what),
                Some(table.braces()),
            );
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
            )
            .coded(Code::MissingField);
        }
    }

    /// Returns whether the object has that field, or one that is very likely meant to be it.
    pub(crate) fn mentions<T>(&self, table: &Table<T>, name: &str) -> bool {
        self.members().any(|member| {
            let known = table.names().any(|known| known == member.name());
            let meant = || match table.refused_as(member.name()) {
                Some(refused) => refused.meant,
                None => nearest(member.name(), table.names()),
            };
            member.name() == name || !known && meant() == Some(name)
        })
    }

    fn unknown<T>(&self, log: &mut Log, table: &Table<T>) {
        let name = self.name();
        match table.refused_as(name) {
            Some(refused) => {
                log.error(self.key_place(), refused.message)
                    .coded(Code::UnknownField)
                    .suggest(refused.hint.map(str::to_owned));
            }
            None => {
                let hint = did_you_mean(name, table.names()).or_else(|| begun(name, table.names()));
                let hint = hint.unwrap_or_else(|| {
                    let verb = if table.what.ends_with('s') {
                        "have"
                    } else {
                        "has"
                    };
                    let names: Vec<&str> = table.names().collect();
                    format!("{} {verb} {}", table.what, names.join(", "))
                });
                log.error(self.key_place(), format!("unknown field {}", quote(name)))
                    .coded(Code::UnknownField)
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
            Presence::Section | Presence::List => {
                let empty = if presence == Presence::List {
                    "[]"
                } else {
                    "{}"
                };
                format!(
                    "leave \"{name}\" out to leave them alone; {empty} says that there shall be none"
                )
            }
        };
        log.error(self.place(), "null is no value")
            .coded(Code::WrongType)
            .suggest(hint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Source, parse};

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
        refused: &[
            Refused::new(&["id"], "a thing has no id", Some("leave it out")),
            Refused::new(&["how_many"], "write \"count\"", None).meant("count"),
        ],
        rules: "{}",
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
            log.findings
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
                "f:1:1\n    expected a thing { … }, found a list\n    write its fields in braces: count, names, on\n",
            ),
            (r#"{}"#, "f:1:1\n    a thing needs \"count\"\n"),
            (
                r#"{"count": 1.0}"#,
                "f:1:11  count\n    expected a whole number, found the number 1.0\n    write 1\n",
            ),
            (
                r#"{"count": 1e3}"#,
                "f:1:11  count\n    expected a whole number, found the number 1e3\n    write 1000\n",
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
                r#"{"how_many": 2}"#,
                "f:1:2  how_many\n    write \"count\"\n",
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
