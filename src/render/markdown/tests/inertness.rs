//! Names do nothing but show.

use proptest::prelude::*;

use super::super::BUDGET;
use super::super::escape::{cell, code, fenced, inert_start, marker, text};
use super::document;
use crate::access::{Member, Members, Place, Side};
use crate::model::{Address, LetGoWhy, Notice, OfAgreement};
use crate::render::{Document, testing as examples};

/// The cells of a row as GFM splits it: at every pipe that no backslash escapes, inside code spans too. `pairs` says
/// whether a backslash that is itself escaped escapes nothing (cmark-gfm) or does (the letter of the specification).
fn cells(row: &str, pairs: bool) -> usize {
    let mut number = 0;
    let mut chars = row.chars().peekable();
    let mut before = ' ';
    while let Some(char) = chars.next() {
        match char {
            '\\' if pairs && chars.peek().is_some_and(char::is_ascii_punctuation) => {
                chars.next();
            }
            '|' if pairs || before != '\\' => number += 1,
            _ => {}
        }
        before = char;
    }
    number - 1
}

/// The tables of a document: each as the numbers of cells of its rows.
fn tables(text: &str) -> Vec<Vec<(usize, usize)>> {
    let lines: Vec<&str> = text.lines().collect();
    let blocks = lines.split(|line| !line.starts_with('|'));
    let rows = |block: &[&str]| {
        block
            .iter()
            .map(|row| (cells(row, true), cells(row, false)))
            .collect()
    };
    blocks.filter(|block| !block.is_empty()).map(rows).collect()
}

/// The mixed plan with that text wherever a name or a free text stands.
fn with(evil: &str) -> Document {
    let mut document = examples::mixed();
    let plan = document.plan.as_mut().expect("made above");
    for change in &mut plan.changes {
        change.address.name = evil.into();
        change.reason = Some(examples::replaced_by(evil));
        if let crate::model::change::Operation::Update { fields, .. }
        | crate::model::change::Operation::Replace { fields, .. } = &mut change.operation
        {
            for field in fields {
                field.after = evil.into();
            }
        }
    }
    plan.peer_labels
        .values_mut()
        .for_each(|label| *label = evil.into());
    let access = document.access.as_mut().expect("made above");
    for passage in access.lost.iter_mut().chain(&mut access.gained) {
        passage.from = Side::Resource(Place {
            name: evil.into(),
            address: evil.into(),
        });
        passage.to = Side::Group(Members {
            group: evil.into(),
            names: vec![Member::Named(evil.into()), Member::New(evil.into())],
            ..Members::default()
        });
        passage.rule.name = evil.into();
    }
    for (address, _) in &mut plan.adoptions {
        address.name = evil.into();
    }
    for of in &mut plan.let_go {
        of.address.name = evil.into();
        of.why = LetGoWhy::Renamed(evil.into());
    }
    plan.unmanaged = plan
        .unmanaged
        .iter()
        .map(|address| Address::new(address.kind, evil))
        .collect();
    document.notices = vec![Notice::general(OfAgreement::NotAsked(evil.into()))];
    document
}

const EVIL: [&str; 26] = [
    "tcp|udp",
    "a | b",
    "x|~y~",
    "`x`",
    "```",
    "``",
    "@everyone",
    "#12",
    "![a](http://evil.example/p.png)",
    "[ok](javascript:1)",
    "<img src=x>",
    "a\\|b",
    "c\\",
    "\\",
    "\\\\|",
    "line\nbreak\r\n| a | b |",
    "- x",
    "# x",
    "> x",
    "1. x",
    "<!-- -->",
    "</details>",
    ":tada:",
    "www.evil.example",
    "owner/repo#12",
    "",
];

#[test]
fn no_name_changes_the_table() {
    let plain = tables(&document(&with("plain"), false, BUDGET));
    for evil in EVIL {
        let text = document(&with(evil), false, BUDGET);
        assert_eq!(tables(&text), plain, "{evil:?}\n{text}");
        let all = tables(&text);
        assert!(all[0].iter().all(|row| *row == (5, 5)), "{evil:?}\n{text}");
        assert!(all[1].iter().all(|row| *row == (4, 4)), "{evil:?}\n{text}");
    }
}

/// A code span shows its text: fence and padding aside it is the name, and nothing in it ends it.
#[test]
fn a_code_span_holds_the_whole_name() {
    for (name, span) in [
        ("plain", "`plain`"),
        ("`x`", "`` `x` ``"),
        ("```", "```` ``` ````"),
        (" padded ", "`  padded  `"),
        ("", "`  `"),
        ("c\\", "`c\\\u{2060}`"),
        ("a|b", "`a|b`"),
        ("a\nb\u{202e}", "`a\\u{a}b\\u{202e}`"),
    ] {
        assert_eq!(code(name), span);
    }
    assert_eq!(cell("a|b"), "`a\\|b`");
    assert_eq!(cell("a\\|b"), "`a\\\u{2060}\\|b`");
}

#[test]
fn running_text_is_inert() {
    for (name, shown) in [
        ("@everyone", "`@everyone`"),
        ("netbird.json:12:7  groups", "`netbird.json:12:7`  groups"),
        ("a:1:2|b:3:4", "`a:1:2`&#124;`b:3:4`"),
        ("owner/repo#12", "`owner/repo#12`"),
        ("of pull request #12, too", "of pull request `#12`, too"),
        ("#x", "`#x`"),
        ("!12", "&#33;\u{2060}12"),
        (":tada: x", "`:tada`: x"),
        ("https://evil.example.", "`https://evil.example`."),
        ("(WWW.evil.example)", "(`WWW.evil.example`)"),
        ("a:\"b\"", "a:\u{2060}\"b\""),
        ("set AGE_PUBLIC_KEY", "set `AGE_PUBLIC_KEY`"),
        ("wwww.example", "wwww.example"),
        ("at deadbeef1 now", "at `deadbeef1` now"),
        ("decade", "decade"),
        ("ssh-ed25519 key", "ssh-ed25519 key"),
        ("<b>&amp;", "&#60;b&#62;&#38;amp;"),
        ("[ok](x)", "&#91;ok&#93;(x)"),
        ("a|b\\c`d*e_f~g$h", "a&#124;b&#92;c&#96;`d*e_f~g$h`"),
        ("Büro 機器-01 🦉", "Büro 機器-01 🦉"),
    ] {
        assert_eq!(text(name), shown);
    }
    for start in ["- x", "+ x", "1. x", "=", " x"] {
        assert_eq!(inert_start(text(start)), format!("\u{2060}{}", text(start)));
    }
}

/// The comment is found by its first line, and no environment's name ends it early.
#[test]
fn the_marker_is_one_comment() {
    assert_eq!(
        marker("plan", "default"),
        "<!-- netbird-gitops plan default -->"
    );
    assert_eq!(
        marker("apply", "prod-eu_1.x"),
        "<!-- netbird-gitops apply prod-eu_1.x -->"
    );
    let mut seen = std::collections::BTreeSet::new();
    for name in [
        "a--b", "a-b", "a---b", "-->", "--->", ">", "-", "a-", "a%2D", "a\nb", "Büro", "",
    ] {
        let marker = marker("plan", name);
        let inner = marker
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"))
            .expect("a comment");
        assert!(
            !inner.contains("--") && !inner.contains(['>', '<', '\n']) && !inner.ends_with('-'),
            "{marker}"
        );
        assert!(marker.is_ascii() && seen.insert(marker.clone()), "{marker}");
        let made = Document {
            environment: name.into(),
            ..examples::mixed()
        };
        for (applied, what) in [(false, "plan"), (true, "apply")] {
            let text = document(&made, applied, BUDGET);
            assert_eq!(
                text.lines().next(),
                Some(super::super::marker(what, name).as_str())
            );
            assert_eq!(text.matches("<!--").count(), 1);
        }
    }
}

/// Lines that a runner would take for commands (docs/gitea-api.md, "Lines of a log"), outside of what is escaped.
fn commands(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.starts_with("::") || line.starts_with("##["))
        .collect()
}

fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(EVIL.to_vec());
    let mixed = prop::collection::vec(
        prop_oneof![
            pieces.prop_map(str::to_owned),
            "[|`\\\\@#!:<>*_\n -]{0,4}",
            any::<String>()
        ],
        0..4,
    );
    mixed.prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_name_leaves_rows_and_columns_alone(evil in any_text()) {
        let made = with(&evil);
        let text = document(&made, false, BUDGET);
        let plan = made.plan.as_ref().expect("made above");
        let tables = tables(&text);
        prop_assert_eq!(tables.len(), 2, "{}", text);
        let access = made.access.as_ref().expect("made above");
        let passages = access.lost.len() + access.gained.len();
        prop_assert_eq!(tables[0].len(), passages + 2, "{}", text);
        prop_assert!(tables[0].iter().all(|row| *row == (5, 5)), "{}", text);
        let rows = plan.changes.len() + plan.adoptions.len();
        prop_assert_eq!(tables[1].len(), rows + 2, "{}", text);
        prop_assert!(tables[1].iter().all(|row| *row == (4, 4)), "{}", text);
        prop_assert_eq!(commands(&text), Vec::<&str>::new());
        prop_assert_eq!(text.matches("<!--").count(), 1 + code_spans_with(&text, "<!--"));
    }

}

proptest! {
    #[test]
    fn a_code_span_ends_where_it_should(evil in any_text()) {
        let span = code(&evil);
        let fence = span.len() - span.trim_start_matches('`').len();
        let inner = &span[fence..span.len() - fence];
        prop_assert!(!inner.is_empty() && !inner.contains('\n'));
        let longest = inner.split(|char| char != '`').map(str::len).max().unwrap_or(0);
        prop_assert!(longest < fence, "{}", span);
        prop_assert!(!inner.starts_with('`') && !inner.ends_with('`'), "{}", span);
    }

    #[test]
    fn a_fence_is_longer_than_any_inside(evil in any_text()) {
        let block = fenced("diff", &evil);
        let mut lines = block.lines();
        let fence = lines.next().and_then(|line| line.strip_suffix("diff")).expect("the opening fence");
        prop_assert!(fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`'));
        let inside: Vec<&str> = lines.collect();
        prop_assert_eq!(inside.last(), Some(&fence));
        let closes = |line: &&&str| line.trim_start().starts_with(fence);
        prop_assert_eq!(inside.iter().filter(closes).count(), 1);
    }

    #[test]
    fn running_text_keeps_nothing_that_acts(evil in any_text()) {
        let shown = text(&evil);
        let (mut shown, spans): (Vec<_>, Vec<_>) = shown.split('`').enumerate().partition(|(place, _)| place % 2 == 0);
        let shown: String = shown.drain(..).map(|(_, part)| part).collect::<Vec<_>>().join(" ");
        let one_word = |span: &str| !span.is_empty() && !span.contains(|char: char| char.is_whitespace() || "|\\\u{2060}".contains(char));
        prop_assert!(spans.iter().all(|(_, span)| one_word(span)), "{:?}", spans);
        prop_assert!(!shown.contains(['<', '>', '|', '\\', '`', '*', '_', '[', ']', '~', '$', '\n', '!']), "{}", shown);
        for (at, char) in shown.char_indices().filter(|(_, char)| matches!(char, '@' | ':' | '#')) {
            let rest = &shown[at + 1..];
            let is_entity = char == '#' && shown[..at].ends_with('&');
            let ends = char == ':' && !rest.starts_with(|next: char| !next.is_whitespace());
            prop_assert!(is_entity || ends || rest.starts_with('\u{2060}'), "{}", shown);
        }
    }
}

/// How often a text stands inside code spans or fences, where it is only shown.
fn code_spans_with(text: &str, what: &str) -> usize {
    let lines = text.lines().skip(1);
    lines.map(|line| line.matches(what).count()).sum()
}

#[test]
fn what_people_copy_has_nothing_invisible_in_it() {
    for (it, shown) in [
        (
            "by Owner, 2023-11-15T00:13:20Z; gone",
            "by Owner, `2023-11-15T00:13:20Z`; gone",
        ),
        (
            "2026-11-28T10:00:00.5+02:00.",
            "`2026-11-28T10:00:00.5+02:00`.",
        ),
        (
            "changed in a1b2c3d4e5 on 2026-11-28, and",
            "changed in `a1b2c3d4e5` on 2026-11-28, and",
        ),
    ] {
        assert_eq!(text(it), shown);
        assert_eq!(
            inert_start(text(it)),
            shown,
            "no list, and nothing before it"
        );
    }
    // no time, and no id
    for it in ["10", "x2023-11-15", "2023-13-45", "feedface"] {
        assert!(!text(it).contains('`') || it == "feedface", "{it}");
    }
}

#[test]
fn no_line_of_a_block_has_to_be_scrolled() {
    let long = "hint: if this is meant put the line below on a line of the description of the pull request that took \
                them away and run the job again, or leave them in the file";
    let block = fenced("", &format!("  {long}\nAllow-Deletes: 14 0123abcd"));
    assert!(
        block.lines().all(|line| line.chars().count() <= 100),
        "{block}"
    );
    assert!(
        block
            .lines()
            .any(|line| line == "Allow-Deletes: 14 0123abcd")
    );
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let inside = block.trim_start_matches("```\n").trim_end_matches("\n```");
    assert_eq!(
        words(inside),
        words(&format!("{long} Allow-Deletes: 14 0123abcd"))
    );
    // a line of a diff that went on would lose its sign
    assert_eq!(fenced("diff", &format!("+ {long}")).lines().count(), 3);
}
