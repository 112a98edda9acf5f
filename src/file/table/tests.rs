//! Reading objects by a table.

use super::*;
use crate::file::{Source, parse};
use crate::model::kind::rows::fields;

#[derive(Default)]
struct Thing {
    count: Option<i64>,
    names: Vec<String>,
    on: Option<bool>,
}

const THING: Table<Thing> = Table {
    what: "a thing",
    fields: fields![
        /// How many of it there are.
        needs count: Takes(Shape::Text, |value, log| value.integer(log, "a whole number")),
        /// Its names.
        may names: Takes(Shape::Text, |value, log| {
            let names = value.list(log, "a list of names").unwrap_or_default();
            let name = |name: &Cursor<'_>| Some(name.string(log, "a name")?.to_owned());
            names.iter().filter_map(name).collect::<Vec<String>>()
        }),
        /// Whether it is on.
        own on: Takes(Shape::Flag, |value, log| value.boolean(log)),
    ],
    refused: &[
        Refused::new(&["id"], "a thing has no id", Some("leave it out")),
        Refused::meaning("count", &["how_many"]),
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
            "f:1:29  names[1]\n    null is not allowed: expected a name\nf:1:35  names[2]\n    expected a name, found an object\n",
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
            "f:1:2  how_many\n    unknown field \"how_many\"\n    write \"count\": How many of it there are.\n",
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
