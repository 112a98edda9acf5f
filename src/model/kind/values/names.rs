//! What a name may be, and lists of names.

use std::borrow::Cow;
use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

use crate::base::{Code, ask, is_hidden};
use crate::file::{Cursor, Flaw, Log, Place, Shape, Takes, quote};
use crate::model::ALL;

/// Longest name in characters. The server has no limit for most kinds (docs/netbird-api.md, "Names").
pub(crate) const MAX_CHARS: usize = 255;

/// Notes what is wrong with the name of an entry, or of a peer.
pub(crate) fn check_own(name: &str, place: impl FnOnce() -> Place, log: &mut Log) {
    note(own_flaw(name), place, log);
}

fn note(flaw: Option<Flaw>, place: impl FnOnce() -> Place, log: &mut Log) {
    if let Some(flaw) = flaw {
        flaw.report(place(), log).coded(Code::Name);
    }
}

/// What is wrong with a name where the file says it of an entry, or of a peer.
pub(crate) fn own_flaw(name: &str) -> Option<Flaw> {
    flaw(name).or_else(|| blank_end(name))
}

/// Notes what is wrong with the name of what lives in NetBird, which may have blanks at its ends.
pub(crate) fn check_live(name: &str, place: impl FnOnce() -> Place, log: &mut Log) {
    note(flaw(name), place, log);
}

/// Checks the name of an entry of a kind whose names the server limits further.
pub(crate) fn check_length(entry: &Cursor<'_>, what: &str, most: usize, log: &mut Log) {
    let chars = entry.name().chars().count();
    if chars > most && chars <= MAX_CHARS {
        let most = format!("has at most {most} characters; this one has {chars}");
        let message = format!("the name of a {what} {most}");
        log.error(entry.key_place(), message).coded(Code::Name);
    }
}

/// What is wrong with a name wherever it stands.
pub(crate) fn flaw(name: &str) -> Option<Flaw> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=MAX_CHARS).contains(&name.len()) && name.bytes().all(is_plain) {
        return None;
    }
    let chars = name.chars().count();
    let text = if name.is_empty() {
        "a name cannot be empty".to_owned()
    } else if name.trim().is_empty() {
        "a name cannot be only spaces".to_owned()
    } else if name.chars().any(is_hidden) {
        if !name.chars().any(char::is_control) {
            return Some(hidden(name));
        }
        format!("the name {} contains a control character", quote(name))
    } else if name.contains("${") || name.contains("{{") {
        let filled = "is to be filled in, and nothing is filled in here";
        let hint = "write the name itself, or make the file by what fills it in";
        return Some(Flaw::with_hint(
            format!("the name {} {filled}", quote(name)),
            hint,
        ));
    } else if chars > MAX_CHARS {
        format!("a name has at most {MAX_CHARS} characters; this one has {chars}")
    } else {
        return None;
    };
    Some(Flaw::new(text))
}

/// Two names must not look the same to whoever reviews them.
fn hidden(name: &str) -> Flaw {
    let unseen = "contains a character that is invisible, or only looks like a space";
    let message = format!("the name {} {unseen}", quote(name));
    let as_seen = |char: char| match char {
        char if !is_hidden(char) => Some(char),
        blank if blank.is_whitespace() => Some(' '),
        _ => None,
    };
    let seen: String = name.chars().filter_map(as_seen).collect();
    let hint = (!seen.trim().is_empty()).then(|| ask(seen.trim()));
    Flaw { message, hint }
}

/// Blanks at either end: people cannot see them, and some look-ups drop them.
fn blank_end(name: &str) -> Option<Flaw> {
    let end = match (name.trim_start() != name, name.trim_end() != name) {
        (true, true) => "begins and ends",
        (true, false) => "begins",
        (false, true) => "ends",
        (false, false) => return None,
    };
    let message = format!("the name {} {end} with a space", quote(name));
    Some(Flaw::with_hint(message, ask(name.trim())))
}

/// The form in which names that look the same are the same.
pub(crate) fn nfc(name: &str) -> Cow<'_, str> {
    match name.is_ascii() {
        true => name.into(),
        false => name.nfc().collect(),
    }
}

/// The form in which names that differ by case are the same.
pub(crate) fn fold(name: &str) -> Cow<'_, str> {
    match name.is_ascii() && !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => name.into(),
        false => nfc(name).to_lowercase().into(),
    }
}

/// The names of a group's members.
pub(crate) const PEERS: Takes<Option<BTreeSet<String>>> = Takes(
    Shape::Schema(r##"{"type": "array", "items": {"$ref": "#/definitions/name"}}"##),
    |list, log| {
        let wanted = "a list of names of setup keys and peers";
        read(list, log, wanted, |name, value, log| {
            check_own(name, || value.place(), log);
        })
    },
);

/// Names of groups. One that NetBird made with blanks at its ends can be named only as it is.
pub(crate) const GROUPS: Takes<Option<BTreeSet<String>>> = Takes(Shape::NAMES, |list, log| {
    read(list, log, "a list of group names", |name, value, log| {
        check_live(name, || value.place(), log);
        // which group is meant instead only those that there are can tell
        if let Some(flaw) = blank_end(name).filter(|_| flaw(name).is_none()) {
            log.notice(Code::BlankEnd, value.place(), flaw.message);
        }
    })
});

/// Names of groups that machines join by a setup key, or by their user; never All.
pub(crate) const GRANTED: Takes<Option<BTreeSet<String>>> = Takes(
    Shape::Schema(
        r#"{"type": "array", "items": {"type": "string", "minLength": 1, "not": {"const": "All"}}}"#,
    ),
    |list, log| {
        let groups = (GROUPS.1)(list, log);
        for all in list.elements().filter(|group| group.text() == Some(ALL)) {
            let text = "every peer is in All: neither a setup key nor a user can grant it";
            log.error(all.place(), text).suggest("leave it out");
        }
        groups
    },
);

/// Names of groups, at least one.
pub(crate) const SOME_GROUPS: Takes<BTreeSet<String>> = Takes(Shape::SOME_NAMES, |list, log| {
    some_groups(list, log, "name at least one group").unwrap_or_default()
});

/// Reads a list of group names that cannot be empty; `why` says why.
pub(crate) fn some_groups(list: &Cursor<'_>, log: &mut Log, why: &str) -> Option<BTreeSet<String>> {
    let groups = (GROUPS.1)(list, log)?;
    if groups.is_empty() {
        log.error(list.place(), format!("\"{}\" cannot be empty", list.name()))
            .suggest(why.to_owned());
    }
    Some(groups)
}

/// Reads a list of names of what lives in NetBird and is not a group; `wanted` says what.
pub(crate) fn others(list: &Cursor<'_>, log: &mut Log, wanted: &str) -> Option<BTreeSet<String>> {
    read(list, log, wanted, |name, value, log| {
        check_live(name, || value.place(), log);
    })
}

fn read(
    list: &Cursor<'_>,
    log: &mut Log,
    wanted: &str,
    check: fn(&str, &Cursor<'_>, &mut Log),
) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for element in list.list(log, wanted)? {
        let Some(name) = element.string(log, "a name") else {
            continue;
        };
        check(name, &element, log);
        if !names.insert(name.to_owned()) {
            element.repeated(log);
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::{assert_table, check, problems};

    #[test]
    fn names_of_entries() {
        let rows = [
            "ops",
            "Büro 🦉/1 <b>",
            "",
            " ",
            r"\u3000",
            "ops ",
            " ops",
            r" ops\u00a0",
            r"a\tb",
            r"a\u0000",
            r"a\u0085b",
            r"gpj\u202eexe",
            r"a\u2066b",
            r"a\u200eb",
            r"a\u061cb",
            r"o\u200bps",
            r"ops\ufeff",
            r"o\u00adps",
            r"o\u2060ps",
            r"o\u200dps",
            r"ops\udb40\udc41",
            r"ops\ufe0f",
            r"ops\u00a0team",
            r"ops\u3000team",
            r"\u200b",
        ];
        assert_table(
            r#"{"groups": {"ROW": {}}}"#,
            &rows,
            str![[r#"
ops
Büro 🦉/1 <b>

    groups[""]: a name cannot be empty
 
    groups[" "]: a name cannot be only spaces
\u3000
    groups["\u{3000}"]: a name cannot be only spaces
ops 
    groups["ops "]: the name "ops " ends with a space | did you mean "ops"?
 ops
    groups[" ops"]: the name " ops" begins with a space | did you mean "ops"?
 ops\u00a0
    groups[" ops\u{a0}"]: the name " ops\u{a0}" contains a character that is invisible, or only looks like a space | did you mean "ops"?
a\tb
    groups["a\tb"]: the name "a\tb" contains a control character
a\u0000
    groups["a\u{0}"]: the name "a\u{0}" contains a control character
a\u0085b
    groups["a\u{85}b"]: the name "a\u{85}b" contains a control character
gpj\u202eexe
    groups["gpj\u{202e}exe"]: the name "gpj\u{202e}exe" contains a character that is invisible, or only looks like a space | did you mean "gpjexe"?
a\u2066b
    groups["a\u{2066}b"]: the name "a\u{2066}b" contains a character that is invisible, or only looks like a space | did you mean "ab"?
a\u200eb
    groups["a\u{200e}b"]: the name "a\u{200e}b" contains a character that is invisible, or only looks like a space | did you mean "ab"?
a\u061cb
    groups["a\u{61c}b"]: the name "a\u{61c}b" contains a character that is invisible, or only looks like a space | did you mean "ab"?
o\u200bps
    groups["o\u{200b}ps"]: the name "o\u{200b}ps" contains a character that is invisible, or only looks like a space | did you mean "ops"?
ops\ufeff
    groups["ops\u{feff}"]: the name "ops\u{feff}" contains a character that is invisible, or only looks like a space | did you mean "ops"?
o\u00adps
    groups["o\u{ad}ps"]: the name "o\u{ad}ps" contains a character that is invisible, or only looks like a space | did you mean "ops"?
o\u2060ps
    groups["o\u{2060}ps"]: the name "o\u{2060}ps" contains a character that is invisible, or only looks like a space | did you mean "ops"?
o\u200dps
    groups["o\u{200d}ps"]: the name "o\u{200d}ps" contains a character that is invisible, or only looks like a space | did you mean "ops"?
ops\udb40\udc41
    groups["ops\u{e0041}"]: the name "ops\u{e0041}" contains a character that is invisible, or only looks like a space | did you mean "ops"?
ops\ufe0f
    groups["ops\u{fe0f}"]: the name "ops\u{fe0f}" contains a character that is invisible, or only looks like a space | did you mean "ops"?
ops\u00a0team
    groups["ops\u{a0}team"]: the name "ops\u{a0}team" contains a character that is invisible, or only looks like a space | did you mean "ops team"?
ops\u3000team
    groups["ops\u{3000}team"]: the name "ops\u{3000}team" contains a character that is invisible, or only looks like a space | did you mean "ops team"?
\u200b
    groups["\u{200b}"]: the name "\u{200b}" contains a character that is invisible, or only looks like a space

"#]],
        );
        assert!(check(&format!(r#"{{"groups": {{"{}": {{}}}}}}"#, "x".repeat(255))).is_ok());
        let error = check(&format!(r#"{{"groups": {{"{}": {{}}}}}}"#, "x".repeat(256)))
            .expect_err("an error");
        assert!(
            error.contains("a name has at most 255 characters; this one has 256"),
            "{error}"
        );
    }

    #[test]
    fn names_in_lists() {
        let rows = ["p", "", " ", "p ", r"a\tb", r"a\u202eb"];
        assert_table(
            r#"{"groups": {"g": {"peers": ["ROW"]}}}"#,
            &rows,
            str![[r#"
p

    groups.g.peers[0]: a name cannot be empty
 
    groups.g.peers[0]: a name cannot be only spaces
p 
    groups.g.peers[0]: the name "p " ends with a space | did you mean "p"?
a\tb
    groups.g.peers[0]: the name "a\tb" contains a control character
a\u202eb
    groups.g.peers[0]: the name "a\u{202e}b" contains a character that is invisible, or only looks like a space | did you mean "ab"?

"#]],
        );
        let policy = r#"{"policies": {"p": {"sources": ["ROW"], "destinations": ["All"]}}}"#;
        assert_table(
            policy,
            &rows,
            str![[r#"
p
    note: policies.p.sources[0]: group "p" is not declared in this file: an apply fails if NetBird does not have it

    policies.p.sources[0]: a name cannot be empty
 
    policies.p.sources[0]: a name cannot be only spaces
p 
    note: policies.p.sources[0]: the name "p " ends with a space
    note: policies.p.sources[0]: group "p " is not declared in this file: an apply fails if NetBird does not have it
a\tb
    policies.p.sources[0]: the name "a\tb" contains a control character
a\u202eb
    policies.p.sources[0]: the name "a\u{202e}b" contains a character that is invisible, or only looks like a space | did you mean "ab"?

"#]],
        );
    }

    #[test]
    fn names_that_look_the_same() {
        let rows = [
            r#""ops": {}, "Ops": {}, "OPS": {}"#,
            r#""B\u00fcro": {}, "Bu\u0308ro": {}"#,
            r#""B\u00fcro": {}, "bu\u0308ro": {}"#,
            r#""ops": {}, "ops": {}"#,
            r#""ops": {}, "op": {}"#,
            r#""all": {}, "ALL": {}"#,
        ];
        assert_table(
            r#"{"groups": {ROW}}"#,
            &rows,
            str![[r#"
"ops": {}, "Ops": {}, "OPS": {}
    note: groups.Ops: the name "Ops" differs only by case from "ops" in line 1
    note: groups.OPS: the name "OPS" differs only by case from "ops" in line 1
"B\u00fcro": {}, "Bu\u0308ro": {}
    groups["Büro"]: the name "Büro" looks like the one in line 1, but is made of other characters | two names must differ when composed (Unicode NFC)
"B\u00fcro": {}, "bu\u0308ro": {}
    note: groups["büro"]: the name "büro" differs only by case from "Büro" in line 1
"ops": {}, "ops": {}
    groups.ops: "ops" is here twice; the first one is in line 1, column 13
"ops": {}, "op": {}
"all": {}, "ALL": {}
    note: groups.all: the name "all" differs only by case from All, NetBird's group of every peer
    note: groups.ALL: the name "ALL" differs only by case from "all" in line 1

"#]],
        );
        let apart = r#"{"groups": {"ops": {}}, "policies": {"OPS": {"sources": ["ops"], "destinations": ["ops"]}}}"#;
        assert_eq!(problems(apart), [""; 0], "two kinds are two sets of names");
    }
}
