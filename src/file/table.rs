//! Tables of fields: one row says what a field is called and how it is read; the rest is the same for every object.

use std::collections::BTreeSet;

use super::{Cursor, Log, did_you_mean, nearest, quote};
use crate::base::{Code, ask, joined, listed};

/// One field of an object: what there is to say of it, and how it is read into a `T`.
pub(crate) struct Field<T: 'static> {
    pub(crate) row: Row,
    pub(crate) read: fn(&mut T, &Cursor<'_>, &mut Log),
    /// Takes over another one's value where there is none; of a field that can be left out.
    pub(crate) keep: Option<fn(&mut T, &T)>,
    /// Puts what is empty, 0 or false where there is nothing.
    pub(crate) zero: Option<fn(&mut T)>,
    /// The groups that it names.
    pub(crate) groups: Option<GroupsOf<T>>,
    /// The same, to put names in the place of ids.
    pub(crate) groups_mut: Option<GroupsMut<T>>,
}

/// What there is to say of a field, whatever it is read into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) presence: Presence,
    /// Its name in NetBird's API.
    pub(crate) wire: &'static str,
    /// The values it takes, for the schema.
    pub(crate) shape: Shape,
    /// What creation takes where it is left out, as JSON.
    pub(crate) default: Option<&'static str>,
    /// One line for people.
    pub(crate) doc: &'static str,
    /// What it names, if it names other objects.
    pub(crate) names: Option<Names>,
}

/// What a field takes: its values for the schema, and what reads one or notes why it will not do.
pub(crate) struct Takes<V: 'static>(pub(crate) Shape, pub(crate) fn(&Cursor<'_>, &mut Log) -> V);

/// The names of groups in a field, where it has any.
type GroupsOf<T> = fn(&T) -> Option<&BTreeSet<String>>;

/// The same, to change them.
type GroupsMut<T> = fn(&mut T) -> Option<&mut BTreeSet<String>>;

/// What a field names, and where the names stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Groups, in a list.
    Groups,
    /// Posture checks, in a list.
    Checks,
    /// Groups, as the names of members.
    GroupsByMember,
    /// A network resource, as a text.
    Resource,
}

/// The values that a field takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Free text.
    Text,
    /// true or false.
    Flag,
    /// A whole number within these bounds.
    Whole(i64, i64),
    /// An object that has a table of its own; an empty one says nothing.
    Object(fn() -> Outline),
    /// A list of objects that have a table of their own.
    Objects(Objects),
    /// Such objects under their names.
    Named(Objects),
    /// Anything else: its JSON Schema, without the description.
    Schema(&'static str),
}

impl Shape {
    /// The fields of the objects in it.
    pub(crate) fn inner(self) -> Option<fn() -> Outline> {
        match self {
            Shape::Object(outline) => Some(outline),
            Shape::Objects(inner) | Shape::Named(inner) => Some(inner.outline),
            _ => None,
        }
    }

    /// A list of names.
    pub(crate) const NAMES: Shape =
        Shape::Schema(r#"{"type": "array", "items": {"type": "string", "minLength": 1}}"#);
    /// A list of names, at least one.
    pub(crate) const SOME_NAMES: Shape = Shape::Schema(
        r#"{"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}"#,
    );
}

/// What an object in a field is read into.
pub(crate) trait Inner: Default + 'static {
    /// Its fields.
    const TABLE: &'static Table<Self>;

    /// Notes what does not go together in one that was read.
    fn settle(_entry: &Cursor<'_>, _log: &mut Log) {}
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
    pub(crate) names: &'static [&'static str],
    pub(crate) message: &'static str,
    pub(crate) hint: Option<&'static str>,
    /// The field that is meant by it, where there is one: it is told then what that one takes.
    pub(crate) meant: Option<&'static str>,
    /// Whether it is no more than a notice where it says what is so anyway: false, or nothing.
    pub(crate) is_fine_off: bool,
}

impl Refused {
    /// The name of what stands under its name.
    pub(crate) const NAME: Refused = Refused::new(
        &["name"],
        "its name is the name of its entry",
        Some("to rename it, rename the entry and add \"renamed_from\" with the old name"),
    );

    /// The id of an object.
    pub(crate) const ID: Refused = Refused::new(
        &["id"],
        "ids of NetBird never stand in this file",
        Some("leave it out: names are enough"),
    );

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
            is_fine_off: false,
        }
    }

    /// What is no more than a notice where it says what is so anyway: false, or nothing.
    pub(crate) const fn unless_off(self) -> Self {
        Refused {
            is_fine_off: true,
            ..self
        }
    }

    /// Other words for a field: what it takes is told, and it is not missing besides.
    pub(crate) const fn meaning(field: &'static str, names: &'static [&'static str]) -> Self {
        Refused {
            meant: Some(field),
            ..Refused::new(names, "", None)
        }
    }
}

/// What the whole file is called: its fields are sections.
pub(crate) const THE_FILE: &str = "the file";

/// Most fields that are named where another one is not known.
const MOST_NAMED: usize = 15;

/// Where people write comments.
const COMMENTS: &[&str] = &[
    "//",
    "_comment",
    "_comments",
    "comment",
    "comments",
    "#",
    "$comments",
];

/// What people write in any object, whatever it is: comments, and what Terraform has.
const ANYWHERE: &[Refused] = &[
    Refused::new(
        COMMENTS,
        "comments stand in \"$comment\"",
        Some("write \"$comment\": \"…\""),
    ),
    Refused::new(
        &["lifecycle", "prevent_destroy"],
        "protection against deletion is an option of the command, not a field of the file",
        Some("write --protect KIND/NAME, or NETBIRD_GITOPS_PROTECT (docs/gates.md)"),
    ),
    Refused::new(
        &["depends_on", "for_each", "count", "provider"],
        "that is Terraform's: entries are made in the order in which they need each other",
        Some("leave it out"),
    ),
];

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
        let of = |row: &Row| {
            let inner = row.shape.inner().map(|inner| inner().names());
            [vec![row.name], inner.unwrap_or_default()].concat()
        };
        self.rows.iter().flat_map(of).collect()
    }
}

impl<T> Table<T> {
    /// The names of the fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.row.name)
    }

    /// The field of that name.
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field<T>> {
        self.fields.iter().find(|field| field.row.name == name)
    }

    /// Says how to write such an object: around a list of names or around a text, where its first field is one. `fits`: whether
    /// that field takes the text.
    fn braces(&self, found: Cursor<'_>, fits: bool) -> String {
        let first = self.fields[0].row;
        let is_list = match first.shape {
            Shape::Schema(schema) => schema.contains("\"array\""),
            _ => false,
        };
        let names = found.elements().filter_map(|name| name.text().map(quote));
        let names = listed(names.filter(|_| is_list));
        let text = found.text().map(quote);
        let is_enough = || {
            let one_of = format!("{:?}", [first.name]);
            self.required().eq([first.name]) || self.rules.contains(&one_of)
        };
        match text.filter(|_| fits && !is_list && is_enough()) {
            Some(text) => return format!("write {{ {:?}: {text} }}", first.name),
            None if !names.is_empty() => return format!("write {{ {:?}: [{names}] }}", first.name),
            None => {}
        }
        let needs_some = self.required().next().is_some() || self.rules != "{}";
        let empty = if needs_some { "" } else { "{}, or " };
        let names = joined(self.names(), ", ");
        format!("write {empty}its fields in braces: {names}")
    }

    /// The names of the fields that cannot be left out.
    fn required(&self) -> impl Iterator<Item = &'static str> {
        let rows = self.fields.iter().map(|field| &field.row);
        let required = rows.filter(|row| row.presence == Presence::Required);
        required.map(|row| row.name)
    }

    /// Takes over from another object what this one leaves out.
    pub(crate) fn keep(&self, it: &mut T, live: &T) {
        let keep = self.fields.iter().filter_map(|field| field.keep);
        keep.for_each(|keep| keep(it, live));
    }

    /// Returns the sets of names of groups.
    pub(crate) fn groups<'a>(&self, it: &'a T) -> Vec<&'a BTreeSet<String>> {
        let groups = self.fields.iter().filter_map(|field| field.groups);
        groups.filter_map(|groups| groups(it)).collect()
    }

    /// Returns what there is to say of the fields.
    pub(crate) fn outline(&self) -> Outline {
        Outline {
            rows: self.fields.iter().map(|field| field.row).collect(),
            rules: self.rules,
        }
    }

    fn refused_as(&self, name: &str) -> Option<&'static Refused> {
        let mut refused = self.refused.iter().chain(ANYWHERE);
        refused.find(|refused| refused.names.contains(&name))
    }
}

impl<T> Field<T> {
    /// A field that may be left out.
    pub(crate) const fn optional(
        name: &'static str,
        read: fn(&mut T, &Cursor<'_>, &mut Log),
    ) -> Self {
        let row = Row {
            name,
            presence: Presence::Optional,
            wire: name,
            shape: Shape::Text,
            default: None,
            doc: "",
            names: None,
        };
        Field {
            row,
            read,
            keep: None,
            zero: None,
            groups: None,
            groups_mut: None,
        }
    }

    /// A field that holds objects which are read by themselves.
    pub(crate) const fn inside(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        let mut field = Field::optional(name, |_, _, _| {});
        field.row.presence = match shape {
            Shape::Named(_) => Presence::Section,
            _ => Presence::List,
        };
        field.row.shape = shape;
        field.row.doc = doc;
        field
    }
}

/// Returns the question whether the one field was meant whose name begins or ends with those words.
fn begun(words: &str, names: impl Iterator<Item = &'static str>) -> Option<String> {
    let has_them = |name: &&str| {
        let (begins, ends) = (name.strip_prefix(words), name.strip_suffix(words));
        begins.is_some_and(|rest| rest.starts_with('_'))
            || ends.is_some_and(|rest| rest.ends_with('_'))
    };
    let mut meant = names.filter(has_them);
    let one = meant.next().filter(|_| !words.is_empty())?;
    meant.next().is_none().then(|| ask(one))
}

impl Cursor<'_> {
    /// Reads an object's fields into `into`: known ones, unknown ones, and those that are missing.
    pub(crate) fn object<T>(&self, log: &mut Log, table: &Table<T>, into: &mut T) {
        if !self.is_object() {
            let wanted = format!("{} {{ … }}", table.what);
            let mut trial = Log::default();
            (table.fields[0].read)(into, self, &mut trial);
            let hint = table.braces(*self, trial.errors == 0);
            let _: Option<()> = self.wrong(log, &wanted, Some(hint));
            return;
        }
        for member in self.members() {
            match table.field(member.name()) {
                Some(field) if member.is_null() => member.null(log, table.what, field.row.presence),
                Some(field) => (field.read)(into, &member, log),
                None => member.unknown(log, table),
            }
        }
        for name in table.required().filter(|it| !self.mentions(table, it)) {
            if !log.only_counts() {
                let message = format!("{} needs {name:?}", table.what);
                let flaw = log.error(self.key_place(), message);
                flaw.coded(Code::MissingField);
            }
        }
    }

    /// Returns whether the object has that field, or one that is very likely meant to be it.
    pub(crate) fn mentions<T>(&self, table: &Table<T>, name: &str) -> bool {
        let is_meant = |member: Cursor<'_>| match table.refused_as(member.name()) {
            _ if table.field(member.name()).is_some() => false,
            Some(refused) => refused.meant == Some(name),
            None => nearest(member.name(), table.names()) == Some(name),
        };
        self.get(name).is_some() || self.members().any(is_meant)
    }

    /// Notes where an object has both of two fields, one of which the server wants, or neither.
    pub(crate) fn one_of<T>(
        &self,
        table: &Table<T>,
        [one, other]: [&str; 2],
        way_out: &str,
        log: &mut Log,
    ) {
        let what = table.what;
        match (self.get(one), self.get(other)) {
            (Some(_), Some(second)) => {
                let text = format!("{what} has {one:?} or {other:?}, not both");
                log.error(second.key_place(), text).suggest(way_out);
            }
            (None, None) if !self.mentions(table, one) && !self.mentions(table, other) => {
                let text = format!("{what} needs {one:?} or {other:?}");
                log.error(self.key_place(), text).coded(Code::MissingField);
            }
            _ => (),
        }
    }

    fn unknown<T>(&self, log: &mut Log, table: &Table<T>) {
        if log.only_counts() {
            return;
        }
        let name = self.name();
        let unknown = match table.what == THE_FILE {
            true => format!("unknown section {}", quote(name)),
            false => format!("unknown field {}", quote(name)),
        };
        match table.refused_as(name) {
            Some(refused) if refused.is_fine_off && self.is_off() => {
                let notice = log.notice(Code::Ignored, self.key_place(), refused.message);
                notice.suggest(refused.hint);
            }
            Some(refused) => {
                let field = refused.meant.and_then(|meant| table.field(meant));
                let (message, hint) = match field.map(|field| field.row) {
                    Some(row) => (
                        unknown,
                        Some(format!("write \"{}\": {}", row.name, row.doc)),
                    ),
                    None => (refused.message.to_owned(), refused.hint.map(str::to_owned)),
                };
                let flaw = log.error(self.key_place(), message);
                flaw.coded(Code::UnknownField).suggest(hint);
            }
            None => {
                let what = table.what;
                let hint = did_you_mean(name, table.names()).or_else(|| begun(name, table.names()));
                let hint = hint.unwrap_or_else(|| {
                    let verb = if what.ends_with('s') { "have" } else { "has" };
                    match table.names().count() {
                        0..=MOST_NAMED => format!("{what} {verb} {}", joined(table.names(), ", ")),
                        many => {
                            format!("{what} {verb} {many} fields: docs/netbird-json.md lists them")
                        }
                    }
                });
                let flaw = log.error(self.key_place(), unknown);
                flaw.coded(Code::UnknownField).suggest(hint);
            }
        }
    }

    /// Notes a null where a field's value belongs. It never means that something is to be deleted.
    fn null(&self, log: &mut Log, what: &str, presence: Presence) {
        let name = self.name();
        let alone = format!("leave \"{name}\" out to leave them alone;");
        let hint = match presence {
            Presence::Optional => format!("leave \"{name}\" out instead"),
            Presence::Required => format!("{what} needs \"{name}\""),
            Presence::Section => format!("{alone} {{}} says that there shall be none"),
            Presence::List => format!("{alone} [] says that there shall be none"),
        };
        let flaw = log.error(self.place(), "null is not allowed");
        flaw.coded(Code::WrongType).suggest(hint);
    }
}

#[cfg(test)]
mod tests;
