//! What strangers and servers send makes nothing panic, and changes nothing that it should not.
//!
//! Each target begins with real texts, and with those that were wrong once (tests/data/fuzz/TARGET/), and changes them at random: a
//! few hundred times by default, and as often as `FUZZ_RUNS` says (docs/testing.md). What is found is written into that directory.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{NOW, desired};
use crate::account::snapshot::Snapshot;
use crate::check::edit::{self, content_differs_but_for_enrolled, insert_entry, mark_enrolled};
use crate::check::validate::validate;
use crate::file::Source;
use crate::inventory::Inventory;
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::Kind;
use crate::plan::agreement::text_allow_deletes;
use crate::plan::options::Options;
use crate::plan::ours::{Ours, Standing};
use crate::secret::Recipients;

/// Numbers that are the same for the same seed (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `n`, 0 where there is none.
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Returns a stretch of a text of at most so many bytes.
    fn stretch(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..length.min(start + self.below(most))
    }
}

/// How often a target runs.
fn runs(default: usize) -> usize {
    let asked = std::env::var("FUZZ_RUNS").ok();
    asked.map_or(default, |runs| runs.parse().expect("FUZZ_RUNS is a number"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The texts of a directory of the repository, whose names end so.
fn texts(folder: &str, end: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(root().join(folder));
    let paths = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    paths.sort();
    let texts = paths
        .iter()
        .map(|path| std::fs::read(path).expect("a file"));
    texts.collect()
}

/// Judges what was wrong once, and then so many texts made by `change`, on all processors.
fn fuzz(
    target: &str,
    default: usize,
    change: impl Fn(&mut Random) -> Vec<u8> + Sync,
    judge: impl Fn(&[u8]) + Sync,
) {
    let folder = format!("tests/data/fuzz/{target}");
    texts(&folder, "").iter().for_each(|text| judge(text));
    let all = runs(default);
    let threads = match all == default {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let is_found = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (change, judge, is_found, folder) = (&change, &judge, &is_found, &folder);
            scope.spawn(move || {
                let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (thread as u64 + 1) << 32);
                for _ in 0..all / threads {
                    let text = change(&mut random);
                    let judged = catch_unwind(AssertUnwindSafe(|| judge(&text)));
                    if judged.is_err() && !is_found.swap(true, Ordering::SeqCst) {
                        let folder = root().join(folder);
                        std::fs::create_dir_all(&folder).expect("a folder");
                        let path = folder.join(format!("{:016x}", random.next()));
                        std::fs::write(&path, &text).expect("a file");
                        eprintln!("found: {}", path.display());
                    }
                    if is_found.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
        }
    });
    assert!(!is_found.into_inner(), "a text was found, see above");
    eprintln!("{target}: {all} texts on {threads} threads");
}

/// Changes one of the texts in up to five places.
fn changed(random: &mut Random, seeds: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut text = random.pick(seeds).clone();
    for _ in 0..=random.below(5) {
        let at = random.below(text.len() + 1);
        let byte = random.next() as u8;
        match random.below(7) {
            0 => text.insert(at, byte),
            1 if at < text.len() => text[at] = byte,
            2 if at < text.len() => text[at] ^= 1 << (byte & 7),
            3 => drop(text.drain(random.stretch(text.len(), 24))),
            4 => {
                let stretch = random.stretch(text.len(), 24);
                let twice = text[stretch].to_vec();
                drop(text.splice(at..at, twice));
            }
            5 => {
                let other = random.pick(seeds);
                let stretch = random.stretch(other.len(), 80);
                drop(text.splice(at..at, other[stretch].to_vec()));
            }
            _ => drop(text.splice(at..at, random.pick(words).bytes())),
        }
    }
    text
}

/// Changes one place of a value: another value, or what stands elsewhere in it.
fn change_value(random: &mut Random, value: &mut Value, elsewhere: &[Value]) {
    let inner = match value {
        Value::Array(list) if !list.is_empty() => {
            let at = random.below(list.len());
            match random.below(12) {
                0 => return drop(list.remove(at)),
                1 => return list.push(list[at].clone()),
                _ => &mut list[at],
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            let at = random.below(fields.len());
            let name = fields.keys().nth(at).cloned().unwrap_or_default();
            match random.below(16) {
                0 => return drop(fields.remove(&name)),
                _ => fields.get_mut(&name).expect("it is there"),
            }
        }
        leaf => {
            let texts = [
                "",
                "All",
                "g",
                "\u{202e}x",
                "a/b",
                "100.64.0.300",
                "::1",
                "0001-01-01T00:00:00Z",
            ];
            *leaf = match random.below(9) {
                0 => Value::Null,
                1 => json!(random.below(2) == 0),
                2 => json!(random.next() as i64),
                3 => json!([0, 1, -1, 65_536][random.below(4)]),
                4 => json!([]),
                5 => json!({}),
                6 => json!(random.pick(&texts)),
                7 => json!("x".repeat(random.below(300))),
                _ => random.pick(elsewhere).clone(),
            };
            return;
        }
    };
    change_value(random, inner, elsewhere);
}

/// Everything in a value that is no list and no object.
fn leaves(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Array(list) => list.iter().for_each(|one| leaves(one, found)),
        Value::Object(fields) => fields.values().for_each(|one| leaves(one, found)),
        leaf => found.push(leaf.clone()),
    }
}

/// Files of people: each of them once, and ten times each entry alone of those without comments, which is read in a tenth of the time.
fn files() -> Vec<Vec<u8>> {
    let whole = [texts("examples", ".json"), texts("tests/data", ".jsonc")].concat();
    let mut alone = Vec::new();
    for text in &whole {
        let Ok(Value::Object(sections)) = serde_json::from_slice(text) else {
            continue;
        };
        for (section, entries) in sections {
            let of_section = entries.as_object().into_iter().flatten();
            let texts = of_section.map(|(name, entry)| json!({ &section: { name: entry } }));
            alone.extend(texts.map(|text| format!("{text:#}\n").into_bytes()));
        }
    }
    [whole, vec![alone; 10].concat()].concat()
}

const WORDS: &[&str] = &[
    "\"",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "1e400",
    "-0",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "//",
    "/*",
    "*/",
    "\r\n",
    "\"enrolled\": true",
    "\"$comment\": \"\"",
    "\"renamed_from\": \"x\"",
    "\"peers\": []",
    "\"name\"",
    "\"type\": \"one-off\"",
    "\"__proto__\"",
    "[[[[[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":",
    "\"\u{202e}\"",
    "\"xn--\"",
];

fn source(text: &[u8]) -> Option<Source> {
    let name = match text.len() % 2 {
        0 => "netbird.json",
        _ => "netbird.jsonc",
    };
    Source::from_bytes(name, text.to_vec()).ok()
}

#[test]
fn files_make_nothing_panic() {
    let seeds = files();
    fuzz(
        "file",
        300,
        |random| changed(random, &seeds, WORDS),
        |text| {
            let Some(source) = source(text) else { return };
            if let Err(problems) = validate(&source) {
                assert!(!problems.list.is_empty());
                assert!(!problems.to_string().is_empty());
            }
        },
    );
}

#[test]
fn edits_change_what_they_should_and_nothing_else() {
    let seeds = files();
    fuzz(
        "editor",
        300,
        |random| changed(random, &seeds, WORDS),
        |text| {
            let name = if text.len() % 2 == 0 {
                "f.json"
            } else {
                "f.jsonc"
            };
            let names: BTreeSet<String> = edit::key_names(text).into_iter().collect();
            if let Ok(edit) = mark_enrolled(name, text, &names) {
                assert!(!content_differs_but_for_enrolled(text, &edit.text));
                let again = mark_enrolled(name, &edit.text, &names).expect("it was valid");
                assert!(again.flipped.is_empty() && again.text == edit.text);
            }
            let Ok(source) = Source::from_bytes(name, text.to_vec()) else {
                return;
            };
            let entry = Address::new(Kind::Group, "a new one");
            if validate(&source).is_ok()
                && let Ok(more) = insert_entry(&source, &entry, &json!({}))
            {
                let more = Source::from_bytes(name, more).expect("it was a file");
                let valid = validate(&more).expect("it was valid");
                assert!(valid.desired.declares(&entry));
            }
        },
    );
}

/// An account with something of every kind, and the file that wants less of it.
fn account() -> (Value, Arc<Desired>) {
    let text = &texts("examples", "live.json")[0];
    let mut live: Value = serde_json::from_slice(text).expect("a snapshot");
    let group = live["groups"][1]["id"].clone();
    let rest = json!({
        "networks": [{ "id": "n1", "name": "office", "routers": ["r1"], "resources": ["s1"], "policies": [], "description": "" }],
        "network_resources": [{ "id": "s1", "name": "lan", "address": "10.20.0.0/16", "enabled": true, "description": "",
                                "type": "subnet", "groups": [{ "id": group, "name": "g" }] }],
        "network_routers": [{ "id": "r1", "network_id": "n1", "peer": "", "peer_groups": [group], "metric": 100,
                              "masquerade": true, "enabled": true }],
        "posture_checks": [{ "id": "c1", "name": "recent", "description": "",
                             "checks": { "nb_version_check": { "min_version": "0.60.0" } } }],
        "zones": [{ "id": "z1", "name": "corp", "domain": "corp.example", "enabled": true, "enable_search_domain": false,
                    "distribution_groups": [group],
                    "records": [{ "id": "d1", "name": "db.corp.example", "type": "A", "content": "10.20.0.9", "ttl": 300 }] }],
        "users": [{ "id": "u1", "name": "bot", "role": "admin", "is_service_user": true, "is_current": true, "status": "active",
                    "auto_groups": [], "email": "" }]
    });
    let rest = rest.as_object().expect("an object").clone();
    live.as_object_mut().expect("an object").extend(rest);
    let full: Value = serde_json::from_slice(&texts("examples", "office.json")[0]).expect("JSON");
    (live, Arc::new(desired(&full)))
}

/// A plan of that account for a file without an inventory: it deletes nothing, whatever the server says.
fn plans_no_deletion(live: &[u8], desired: &Arc<Desired>) {
    let Ok(snapshot) = serde_json::from_slice::<Snapshot>(live) else {
        return;
    };
    let ours = Ours {
        standing: Standing::First,
        ..Ours::default()
    };
    let now = Timestamp::from_second(NOW).expect("a second of this century");
    let options = Options::of_enrollment(Arc::new(ours), now);
    let Ok((actual, binding)) = crate::plan::read(desired, &snapshot, None, &options) else {
        return;
    };
    if let Ok(plan) = crate::plan::plan(desired, &actual, &binding, &options) {
        let gone = plan.changes.iter().filter_map(|change| change.deleted());
        assert_eq!(gone.count(), 0, "{:?}", plan.changes);
    }
}

#[test]
fn answers_of_a_server_make_nothing_panic_and_delete_nothing() {
    let (live, desired) = account();
    let mut elsewhere = Vec::new();
    leaves(&live, &mut elsewhere);
    let change = |random: &mut Random| {
        let mut live = live.clone();
        for _ in 0..=random.below(6) {
            change_value(random, &mut live, &elsewhere);
        }
        live.to_string().into_bytes()
    };
    fuzz("answers", 300, change, |text| {
        plans_no_deletion(text, &desired)
    });
}

#[test]
fn events_make_nothing_panic_and_delete_nothing() {
    let (live, desired) = account();
    let recorded = texts("tests/data/recordings", "events-one-per-code.json");
    let recorded: Value = serde_json::from_slice(&recorded[0]).expect("JSON");
    let recorded = recorded["response"]["body"].as_array().expect("a list");
    let mut elsewhere = Vec::new();
    leaves(&live, &mut elsewhere);
    let change = |random: &mut Random| {
        let mut live = live.clone();
        let events = live["events"].as_array_mut().expect("events");
        for _ in 0..random.below(8) {
            events.push(random.pick(recorded).clone());
        }
        for _ in 0..=random.below(10) {
            let part = random.pick(&["events", "events", "setup_keys", "peers"]);
            change_value(random, &mut live[part], &elsewhere);
        }
        live.to_string().into_bytes()
    };
    fuzz("events", 300, change, |text| {
        plans_no_deletion(text, &desired)
    });
}

#[test]
fn recipients_make_nothing_panic() {
    let keys = [
        "# ops\nage1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kudcj3ljq9qxzzz\n",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOQBZkrM3vAQXYc6VL9yXDZDLFEACSSy0O4E7ejsqdQm a@b\r\n",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCmqKUaqroKF+Uhge0a/vZ58miA7pbLgY6IE3CMAhHad79+q4Kx8c8iNcoC\n\n",
        "age1tag1qt8lw0ual6avlwmwatk888yqnmdamm7xfd0wak53ut6elz5c4swx2yqdj4e",
    ];
    let seeds = keys.map(|key| key.as_bytes().to_vec());
    let words = [
        "age1",
        "AGE-SECRET-KEY-1",
        "ssh-ed25519 ",
        "ssh-dss AAAA",
        "#",
        "\n",
        "\0",
        "sk-ssh-ed25519@openssh.com ",
    ];
    fuzz(
        "recipients",
        300,
        |random| changed(random, &seeds, &words),
        |text| match Recipients::parse_file("f", text) {
            Ok(all) => drop(all.describe()),
            Err(errors) => assert!(!errors.to_string().contains("AGE-SECRET-KEY-1Q")),
        },
    );
}

#[test]
fn agreement_lines_are_said_or_they_are_none() {
    let seeds = [
        "Take out the old office\n\nAllow-Deletes: 3 0123456789abcdef0123456789abcdef\n",
        "```\nAllow-Deletes: 3 0123456789abcdef0123456789abcdef\n```\n<!-- x -->\n> Allow-Deletes: 1\n",
        "Allow-Deletes: 1 00000000000000000000000000000000\nSigned-off-by: a <a@b>\n",
    ];
    let seeds = seeds.map(|text| text.as_bytes().to_vec());
    let words = [
        "allow-deletes:",
        "```",
        "~~~",
        "<!--",
        "-->",
        "<pre>",
        "\n\n",
        "> ",
        "    ",
        "\t",
        "\u{202e}",
        "0123456789abcdef",
    ];
    fuzz(
        "agreement",
        300,
        |random| changed(random, &seeds, &words),
        |text| {
            let text = String::from_utf8_lossy(text);
            let lines = text_allow_deletes(&text);
            assert!(lines.is_empty() || text.to_lowercase().contains("allow-deletes:"));
        },
    );
}

#[test]
fn an_inventory_that_is_read_is_written_as_it_is() {
    let text = r##"{
  "format_version": 1,
  "account": "dc5",
  "file": "netbird.json",
  "applied_commit": "1b78",
  "created": {
    "groups/pilots": ["dc59"],
    "routers/hangar": ["dc5c","dc5d"]
  },
  "adopted": {
    "policies/old-ssh": ["dc41"]
  },
  "let_go": {
    "policies/older": {"cause":"#41","ids":["dc40"]}
  },
  "gone": {
    "groups/crew": {"cause":null,"ids":["dc3f"]}
  },
  "members": {
    "pilots": {"Pilot-hawk-72":"dc6e"}
  },
  "enrolled": {
    "Pilot-hawk-72": ["dc6e",{"by":"time","id":"dc6d"}]
  },
  "names": {
    "cam-9": null,
    "raspberry-1": "dc6f"
  },
  "released": ["dc3e"],
  "later": {"a":1}
}
"##;
    let seeds = [text.as_bytes().to_vec()];
    fuzz(
        "inventory",
        300,
        |random| changed(random, &seeds, WORDS),
        |text| {
            if let Ok(inventory) = Inventory::parse(text) {
                let again = Inventory::parse(inventory.text().as_bytes());
                assert_eq!(again.expect("what was written"), inventory);
            }
        },
    );
}
