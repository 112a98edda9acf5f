//! The ledger on histories made for each test.

mod accidents;
mod causes;
mod merges;
mod names;
mod nested;
mod property;
mod reading;
mod rows;

use crate::address::Address;
use crate::git::Sha;
use crate::git::testing::{Repo, netbird_json};
use crate::kind::Kind;

use super::facts::Fact;
use super::timeline::Timeline;
use super::{Ledger, LedgerError};

/// A present that is later than every commit of the tests.
const NOW: i64 = 10_000_000;

fn group(name: &str) -> Address {
    Address::new(Kind::Group, name)
}

/// Reads the ledger of `netbird.json` at HEAD.
fn read(repo: &Repo) -> Ledger {
    try_read(repo).unwrap()
}

fn try_read(repo: &Repo) -> Result<Ledger, LedgerError> {
    let git = repo.open();
    Ledger::read(&git, &git.resolve("HEAD")?, &[netbird_json(&git)], NOW)
}

/// Every name of that kind that was ever declared.
fn names_of(ledger: &Ledger, kind: Kind) -> Vec<&str> {
    let names = ledger.history.facts.keys().filter_map(|fact| match fact {
        Fact::Declared(at) if at.kind == kind => Some(at.name.as_str()),
        _ => None,
    });
    names.collect()
}

/// The ledger of versions without a repository: (second, text).
fn of(versions: &[(i64, &str)]) -> Ledger {
    of_at(NOW, versions)
}

/// The same at another present.
pub(crate) fn of_at(now: i64, versions: &[(i64, &str)]) -> Ledger {
    let mut timeline = Timeline::new(now);
    for (index, (second, text)) in versions.iter().enumerate() {
        let commit = Sha::parse(&format!("{index:040x}")).unwrap();
        let _broken = timeline.push(commit, *second, Ok(Some(text.as_bytes())));
    }
    let mut ledger = Ledger {
        tip: Sha::parse(&"0".repeat(40)),
        history: timeline.finish(),
        ..Ledger::default()
    };
    ledger.link();
    ledger
}
