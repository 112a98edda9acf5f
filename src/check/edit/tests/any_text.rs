//! Whatever the text looks like: the parsed texts differ in the flags only, and so do the bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Source, flip, mark_enrolled};
use super::edited;

/// Where a key's flag stands in the text.
#[derive(Debug, Clone)]
enum Spot {
    False(Range<usize>),
    True,
    /// It does not: it has to come in here.
    Absent(usize),
}

/// A member of a key.
#[derive(Debug, Clone)]
enum Field {
    Enrolled(bool),
    Other(String, Node),
}

#[derive(Debug, Clone)]
enum Node {
    Literal(&'static str),
    String(String),
    Array(Vec<Node>),
    Object(BTreeMap<String, Node>),
}

/// Writes JSON with white space, escapes and line ends as `choices` say.
struct Writer {
    out: String,
    choices: std::iter::Cycle<std::vec::IntoIter<u8>>,
}

impl Writer {
    fn choice(&mut self) -> u8 {
        self.choices.next().unwrap()
    }

    fn space(&mut self) {
        let spaces = ["", "", " ", "  ", "\n", "\n    ", "\r\n\t", " \n\n  ", "\t"];
        let space = spaces[usize::from(self.choice()) % spaces.len()];
        self.out.push_str(space);
    }

    fn token(&mut self, token: &str) {
        self.space();
        self.out.push_str(token);
        self.space();
    }

    fn string(&mut self, text: &str) {
        self.space();
        self.out.push('"');
        for char in text.chars() {
            match (char, self.choice() % 4) {
                ('"' | '\\', _) => self.out.extend(['\\', char]),
                ('/', 0) => self.out.push_str("\\/"),
                (char, 0) | (char @ '\0'..='\x1f', _) => {
                    for unit in char.encode_utf16(&mut [0; 2]) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                (char, _) => self.out.push(char),
            }
        }
        self.out.push('"');
        self.space();
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Literal(text) => self.token(text),
            Node::String(text) => self.string(text),
            Node::Array(items) => {
                self.token("[");
                for (n, item) in items.iter().enumerate() {
                    self.comma(n);
                    self.node(item);
                }
                self.token("]");
            }
            Node::Object(members) => {
                self.token("{");
                for (n, (name, value)) in members.iter().enumerate() {
                    self.member(n, name);
                    self.node(value);
                }
                self.token("}");
            }
        }
    }

    fn comma(&mut self, n: usize) {
        if n > 0 {
            self.token(",");
        }
    }

    fn member(&mut self, n: usize, name: &str) {
        self.comma(n);
        self.string(name);
        self.token(":");
    }

    /// Writes a key and returns where its flag stands.
    fn key(&mut self, fields: &[Field]) -> Spot {
        self.space();
        self.out.push('{');
        let (mut spot, mut end) = (None, self.out.len());
        for (n, field) in fields.iter().enumerate() {
            match field {
                Field::Enrolled(flag) => {
                    self.member(n, "enrolled");
                    self.space();
                    let start = self.out.len();
                    self.out.push_str(if *flag { "true" } else { "false" });
                    spot = Some(if *flag {
                        Spot::True
                    } else {
                        Spot::False(start..self.out.len())
                    });
                    self.space();
                }
                Field::Other(name, value) => {
                    self.member(n, name);
                    self.node(value);
                }
            }
            end = self.out.trim_end_matches([' ', '\t', '\r', '\n']).len();
        }
        self.token("}");
        spot.unwrap_or(Spot::Absent(end))
    }
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "true",
            "false",
            "null",
            "0",
            "-0",
            "1.10e2",
            "1E-3",
            "604800",
            "12345678901234567890"
        ])
        .prop_map(Node::Literal),
        "[a-zä🦉\"\\\\/\u{1}{}:,]{0,6}".prop_map(Node::String),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Node::Array),
            prop::collection::btree_map("[a-z\"]{0,3}|enrolled", inner, 0..4)
                .prop_map(Node::Object),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    "[a-cä🦉\"\\\\/ .]{0,3}|Pilot-hawk-7[0-9]"
}

/// A key has fields: it needs some.
fn key() -> impl Strategy<Value = Vec<Field>> {
    let others = prop::collection::btree_map("[a-dA-D_]{1,4}", node(), 1..4);
    (
        others,
        prop::option::of((any::<bool>(), any::<prop::sample::Index>())),
    )
        .prop_map(|(others, flag)| {
            let mut fields: Vec<Field> = others
                .into_iter()
                .map(|(name, value)| Field::Other(name, value))
                .collect();
            if let Some((flag, at)) = flag {
                fields.insert(at.index(fields.len() + 1), Field::Enrolled(flag));
            }
            fields
        })
}

#[derive(Debug, Clone)]
struct Sample {
    text: String,
    spots: BTreeMap<String, Spot>,
}

fn sample() -> impl Strategy<Value = Sample> {
    let keys = prop::collection::btree_map(name(), key(), 0..5);
    let others = prop::collection::btree_map("[a-z]{1,3}", node(), 0..3);
    let choices = prop::collection::vec(any::<u8>(), 1..64);
    (keys, others, choices, any::<[bool; 2]>()).prop_map(|(keys, others, choices, [bom, first])| {
        let mut writer = Writer {
            out: String::new(),
            choices: choices.into_iter().cycle(),
        };
        if bom {
            writer.out.push('\u{feff}');
        }
        let mut spots = BTreeMap::new();
        writer.token("{");
        let mut n = 0;
        let mut section = |writer: &mut Writer, n: &mut usize| {
            writer.member(*n, "setup_keys");
            writer.token("{");
            for (m, (name, fields)) in keys.iter().enumerate() {
                writer.member(m, name);
                spots.insert(name.clone(), writer.key(fields));
            }
            writer.token("}");
            *n += 1;
        };
        if first {
            section(&mut writer, &mut n);
        }
        for (name, value) in &others {
            writer.member(n, name);
            writer.node(value);
            n += 1;
        }
        if !first {
            section(&mut writer, &mut n);
        }
        writer.token("}");
        Sample {
            text: writer.out,
            spots,
        }
    })
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap()
}

proptest! {
    #[test]
    fn only_the_flags_differ(sample in sample(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..4), unknown in name()) {
        let Sample { text, spots } = sample;
        let all: Vec<&String> = spots.keys().collect();
        let mut wanted: BTreeSet<String> = picks.iter().filter(|_| !all.is_empty()).map(|pick| pick.get(&all).to_string()).collect();
        wanted.insert(unknown);

        let edit = edited(&text, &wanted).unwrap();
        let after = String::from_utf8(edit.text.clone()).unwrap();

        // Meaning.
        let mut meant = parse(&text);
        for name in &wanted {
            if let Some(key) = meant["setup_keys"].get_mut(name) {
                key["enrolled"] = json!(true);
            }
        }
        prop_assert_eq!(parse(&after), meant);

        // Bytes.
        let mut flips: Vec<&Spot> = wanted.iter().filter_map(|name| spots.get(name)).collect();
        flips.retain(|spot| !matches!(spot, Spot::True));
        flips.sort_by_key(|spot| match spot { Spot::False(range) => range.start, Spot::Absent(at) => *at, Spot::True => 0 });
        let (mut old, mut new) = (0, 0);
        for spot in &flips {
            let (start, end) = match spot { Spot::False(range) => (range.start, range.end), Spot::Absent(at) => (*at, *at), Spot::True => unreachable!() };
            prop_assert_eq!(&text[old..start], &after[new..new + start - old]);
            new += start - old;
            let inserted = &after[new..new + after[new..].find("true").unwrap() + 4];
            let bare: String = inserted.split_ascii_whitespace().collect();
            match spot {
                Spot::False(_) => prop_assert_eq!(inserted, "true"),
                _ => prop_assert!(bare == ",\"enrolled\":true" || bare == "\"enrolled\":true", "{}", inserted),
            }
            new += inserted.len();
            old = end;
        }
        prop_assert_eq!(&text[old..], &after[new..]);

        // Words.
        prop_assert_eq!(edit.flipped.len(), flips.len());
        prop_assert_eq!(edit.flipped.len() + edit.already.len() + edit.missing.len(), wanted.len());
        let again = edited(&after, &wanted).unwrap();
        prop_assert_eq!((again.text, again.flipped), (edit.text, BTreeSet::new()));
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<Vec<u8>>(), json in "[\\[\\]{}\":,a-e0-9 \\\\\n]{0,40}") {
        let names = BTreeSet::from(["a".to_owned()]);
        let _ = mark_enrolled("f", &text, &names);
        let Ok(source) = Source::from_text("f", json) else { return Ok(()) };
        let _ = flip(&source, &names);
    }
}
