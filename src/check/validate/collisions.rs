//! Names of one section that look the same.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::base::code::Code;
use crate::file::{Log, quote};
use crate::model::address::Address;
use crate::model::kind::values::names::{fold, nfc};
use crate::model::kind::{ALL, InFile, Kind};

/// Notes names of one section that look the same, or differ only by case.
pub(super) fn check(entries: &[InFile<'_>], log: &mut Log) {
    type Names<'e, 'a> = FxHashMap<(Kind, Option<&'e str>, Cow<'e, str>), &'e InFile<'a>>;
    let (mut composed, mut folded) = (Names::default(), Names::default());
    for entry in entries {
        let Address { kind, within, name } = &entry.address;
        let (kind, within) = (*kind, within.as_deref());
        // of what can move, a name is one in the whole account
        let is_anywhere = kind.descriptor().special.is_anywhere;
        let within = within.filter(|_| !is_anywhere);
        // ASCII is made of no other characters
        let twin = match is_anywhere || !name.is_ascii() {
            true => *composed.entry((kind, within, nfc(name))).or_insert(entry),
            false => entry,
        };
        let sibling = *folded.entry((kind, within, fold(name))).or_insert(entry);
        let place = || entry.cursor.key_place();
        if is_anywhere && twin.address != entry.address && twin.address.name == *name {
            let parent = twin
                .address
                .parent()
                .map(|at| at.quoted())
                .unwrap_or_default();
            let message = format!(
                "{} is in {parent} too, in line {}: the names of {} are unique in the account",
                quote(name),
                twin.cursor.key_place().line,
                kind.plural()
            );
            log.error(place(), message).coded(Code::Duplicate);
        } else if twin.address != entry.address {
            let message = format!(
                "the name {} looks like the one in line {}, but is made of other characters",
                quote(name),
                twin.cursor.key_place().line
            );
            log.error(place(), message)
                .coded(Code::Name)
                .suggest("two names must differ when composed (Unicode NFC)");
        } else if sibling.address != entry.address {
            let message = format!(
                "the name {} differs only by case from {} in line {}",
                quote(name),
                quote(&sibling.address.name),
                sibling.cursor.key_place().line
            );
            log.notice(Code::CaseTwin, place(), message);
        } else if kind == Kind::Group && name != ALL && name.eq_ignore_ascii_case(ALL) {
            let message = format!(
                "the name {} differs only by case from {ALL}, NetBird's group of every peer",
                quote(name)
            );
            log.notice(Code::CaseTwin, place(), message);
        }
    }
}
