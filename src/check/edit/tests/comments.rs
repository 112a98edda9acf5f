//! What people wrote beside entries of a `.jsonc` file stays where it is.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::check::edit;
use crate::file::Source;
use crate::model::{Address, Kind};

const JSONC: &str = include_str!("../../../../tests/data/commented.jsonc");

#[test]
fn a_mark_keeps_every_byte_beside_it() {
    let names = BTreeSet::from(["printer".to_owned()]);
    let marked = edit::mark_enrolled("netbird.jsonc", JSONC.as_bytes(), &names);
    let marked = String::from_utf8(marked.unwrap().text).unwrap();
    let wanted = JSONC.replace("[\"servers\"] }", "[\"servers\"], \"enrolled\": true }");
    assert_eq!(marked, wanted);
}

#[test]
fn the_comment_behind_the_last_entry_stays_with_it() {
    let source = Source::from_text("netbird.jsonc", JSONC).unwrap();
    let insert = |kind, entry: Value| {
        let address = Address::new(kind, "new");
        let text = edit::insert_entry(&source, &address, &entry).unwrap();
        String::from_utf8(text).unwrap()
    };
    let wanted = JSONC.replace(
        "} // in the hall\n",
        "}, // in the hall\n    \"new\": { \"type\": \"one-off\" }\n",
    );
    assert_eq!(insert(Kind::SetupKey, json!({ "type": "one-off" })), wanted);
    let wanted = JSONC.replace(
        "/* moved in May */\n",
        "/* moved in May */\n    \"new\": {},\n",
    );
    assert_eq!(insert(Kind::Group, json!({})), wanted);
    let wanted = JSONC.replace(
        "}, // keys\n",
        "}, // keys\n  \"policies\": {\n    \"new\": {}\n  },\n",
    );
    assert_eq!(insert(Kind::Policy, json!({})), wanted);
}
