//! What programs read.

use serde_json::Value;
use snapbox::{assert_data_eq, file};

use super::document;
use crate::render::{Document, testing as examples};

fn value(made: &Document, applied: bool) -> Value {
    serde_json::from_str(&document(made, applied)).expect("a JSON document")
}

#[test]
fn whole_documents_in_json() {
    assert_data_eq!(
        document(&examples::mixed(), false),
        file!["../snapshots/mixed.json": Text].raw()
    );
    assert_data_eq!(
        document(&examples::applied_partly(), true),
        file!["../snapshots/applied_partly.json": Text].raw()
    );
}

/// The seed's fields are in every document, whatever became of the run.
#[test]
fn every_document_has_the_same_fields() {
    let fields = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .filter(|field| *field != "error")
            .cloned()
            .collect()
    };
    let first = fields(&value(&examples::mixed(), false));
    for (document, applied, status) in [
        (examples::new_account(), false, "planned"),
        (examples::no_changes(), false, "planned"),
        (examples::failed(), false, "error"),
        (examples::failed(), true, "error"),
        (examples::applied(), true, "applied"),
        (examples::applied_partly(), true, "error"),
    ] {
        let value = value(&document, applied);
        assert_eq!(fields(&value), first);
        assert_eq!(value["format_version"], 1);
        assert_eq!(value["status"], status);
        assert_eq!(value.get("error").is_some(), status == "error");
        assert_eq!(
            document_twice(&document, applied).0,
            document_twice(&document, applied).1
        );
    }
}

fn document_twice(made: &Document, applied: bool) -> (String, String) {
    (document(made, applied), document(&made.clone(), applied))
}

/// A replacement is one made and one gone; what was not tried is neither.
#[test]
fn the_summary_counts_what_was_done() {
    let planned = value(&examples::mixed(), false);
    let operations = planned["operations"].as_array().expect("operations");
    let of = |verb: &str| {
        operations
            .iter()
            .filter(|one| one["type"].as_str().expect("a type").starts_with(verb))
            .count()
    };
    assert_eq!(planned["summary"]["adopted"], of("adopt"));
    assert_eq!(planned["summary"]["created"], of("create") + of("replace"));
    assert_eq!(planned["summary"]["deleted"], of("delete") + of("replace"));
    assert_eq!(planned["summary"]["updated"], of("update") + of("rename"));
    let partly = value(&examples::applied_partly(), true);
    assert_eq!(
        partly["summary"],
        serde_json::json!({ "adopted": 0, "created": 4, "updated": 0, "deleted": 0, "failed": 1 })
    );
}
