//! What an operator sees.

use snapbox::{assert_data_eq, file};

use super::{Color, text};
use crate::model::{Kind, LetGoWhy};
use crate::render::{Document, testing as examples, tree};
use crate::testing::Case;

fn plan(document: &Document, color: Color) -> String {
    text(&tree(document, false), color)
}

fn applied(document: &Document, color: Color) -> String {
    text(&tree(document, true), color)
}

#[test]
fn whole_documents_on_a_terminal() {
    let plain = Color(false);
    assert_data_eq!(
        plan(&examples::new_account(), plain),
        file!["../snapshots/new_account.txt"].raw()
    );
    assert_data_eq!(
        plan(&examples::mixed(), plain),
        file!["../snapshots/mixed.txt"].raw()
    );
    assert_data_eq!(
        plan(&examples::no_changes(), plain),
        file!["../snapshots/no_changes.txt"].raw()
    );
    assert_data_eq!(
        plan(&examples::refused(), plain),
        file!["../snapshots/refused.txt"].raw()
    );
    assert_data_eq!(
        applied(&examples::applied(), plain),
        file!["../snapshots/applied.txt"].raw()
    );
    assert_data_eq!(
        applied(&examples::applied_partly(), plain),
        file!["../snapshots/applied_partly.txt"].raw()
    );
    assert_eq!(
        plan(&examples::failed(), plain),
        "",
        "the error is said on stderr"
    );
}

/// Colour adds sequences and takes nothing away; without it there is none.
#[test]
fn colour_is_only_where_it_is_asked_for() {
    for document in [
        examples::mixed(),
        examples::refused(),
        examples::no_changes(),
    ] {
        let (with, without) = (plan(&document, Color(true)), plan(&document, Color(false)));
        assert!(!without.contains('\x1b'), "{without}");
        let mut stripped = String::new();
        let mut rest = with.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            stripped.push_str(before);
            rest = after.split_once('m').expect("a whole sequence").1;
        }
        assert_eq!(stripped + rest, without);
    }
    assert!(plan(&examples::mixed(), Color(true)).contains("\x1b[31m"));
}

/// What is adopted changes nothing, so the first line says so.
#[test]
fn an_adoption_alone_is_no_change() {
    let mut document = examples::no_changes();
    document.notices.clear();
    let made = document.plan.as_mut().expect("made above");
    made.adoptions = examples::mixed().plan.expect("made above").adoptions;
    made.unmanaged.clear();
    let text = plan(&document, Color(false));
    let (first, rest) = text.split_once('\n').expect("several lines");
    assert_eq!(first, "NetBird plan: No changes, 1 to adopt");
    let rows: Vec<&str> = rest
        .lines()
        .filter(|line| line.starts_with("  ="))
        .collect();
    assert_eq!(
        rows,
        ["  =  policy  old-ssh  exists in NetBird; this file manages it from now on"]
    );
    let text = applied(&document, Color(false));
    assert!(text.starts_with("NetBird apply: 1 adopted\n"), "{text}");
}

/// Names come from clients: nothing of them moves the cursor, hides or reorders text, or begins a line of its own.
#[test]
fn names_are_visible() {
    let evil = "a\u{1b}[2Jb\r\nfake: line\u{202e}c\u{200b}";
    let mut document = examples::mixed();
    let made = document.plan.as_mut().expect("made above");
    for change in &mut made.changes {
        change.address.name = evil.into();
        change.reason = Some(examples::replaced_by(evil));
    }
    for (address, _) in &mut made.adoptions {
        address.name = evil.into();
    }
    for of in &mut made.let_go {
        of.address.name = evil.into();
        of.why = LetGoWhy::Renamed(evil.into());
    }
    made.unmanaged = made
        .unmanaged
        .iter()
        .map(|address| crate::model::address::Address::new(address.kind, evil))
        .collect();
    made.peer_labels
        .values_mut()
        .for_each(|label| *label = evil.into());
    for text in [
        plan(&document, Color(false)),
        applied(&document, Color(false)),
    ] {
        assert!(
            text.lines()
                .all(|line| crate::base::text::visible(line) == line),
            "{text:?}"
        );
        assert!(!text.lines().any(|line| line.starts_with("fake")), "{text}");
    }
}

/// What README shows: netbird.json against the recorded account.
#[test]
fn the_example() {
    let read = |path: &str| -> serde_json::Value {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read(root.join(path)).expect("the example is in the repository");
        serde_json::from_slice(&text).expect("JSON")
    };
    let mut case = Case::new(read("netbird.json"), serde_json::json!({}));
    case.snapshot = serde_json::from_value(read("examples/live.json")).expect("a recorded account");
    let document = crate::render::Document {
        server: Some("examples/live.json".into()),
        ..case.document()
    };
    assert_data_eq!(
        plan(&document, Color(false)),
        file!["../snapshots/example.txt"].raw()
    );
    let kinds = [Kind::Group, Kind::Peer, Kind::SetupKey];
    let ids = kinds.iter().flat_map(|kind| case.snapshot.list(*kind));
    for entry in ids {
        let id = crate::base::id::Id(
            crate::testing::value(entry)["id"]
                .as_str()
                .expect("an id")
                .to_owned()
                .into(),
        );
        assert!(id.created_at().is_some(), "{id} is no id of NetBird");
    }
}
