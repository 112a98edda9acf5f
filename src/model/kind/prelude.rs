//! What the files of most kinds use.

pub(super) use std::collections::{BTreeMap, BTreeSet};

pub(super) use serde::{Deserialize, Serialize};
pub(super) use serde_json::{Map, Value, json};

pub(super) use super::peer;
pub(super) use super::rows::{fields, refused};
pub(super) use super::spec::{base_of, embedded_ids, keep};
pub(super) use super::values::word::{self, Word};
pub(super) use super::values::{
    DAY_SECS, FLAG, HOUR_SECS, TEXT, domain, names, network, renamed_from, seconds, whole,
};
pub(super) use super::words::{listed, named};
pub(super) use super::{
    ALL, About, Answers, Descriptor, Entries, Groups, InFile, Inside, Kind, Live, Moves, NameOf,
    PeerRef, Reach, Referred, Refers, Resource, Role, Sent, Spec, Unique, Unresolved, spec,
};
pub(super) use crate::base::code::Code;
pub(super) use crate::base::entry::Entry;
pub(super) use crate::base::id::Id;
pub(super) use crate::base::sentence::Sentence;
pub(super) use crate::base::spelling;
pub(super) use crate::base::text::{count, joined, visible};
pub(super) use crate::file::{Cursor, Field, Flaw, Log, Refused, Shape, Table, Takes, quote};
pub(super) use crate::wire::api::objects::{self, Reference, ids, nullable};
