//! Requests and canonical forms, on bodies made for the tests and on every recorded answer.

mod bodies;
mod descriptors;
mod normal;
mod recorded;

use serde_json::Value;

use super::{Groups, Live, Resource};
use crate::base::Id;
use crate::model::Kind;
use crate::testing;

/// Groups of these names, and All.
fn groups(names: &[&str]) -> Groups {
    let mut groups = Groups::default();
    for name in names.iter().chain(&["All"]) {
        groups.insert(
            Id(testing::id(Kind::Group, name).into()),
            (*name).to_owned(),
        );
    }
    groups
}

/// Reads an answer against the groups that the tests speak of.
fn read(kind: Kind, wire: Value) -> Live {
    Resource::read(kind, wire, &groups(&["pilots", "db", "lan", "guards"]))
        .expect("an answer of the server's form")
}
