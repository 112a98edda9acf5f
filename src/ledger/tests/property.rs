//! Random histories in real repositories against a model that is as plain as the specification.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use crate::address::Address;
use crate::git::testing::{Repo, at, netbird_json};
use crate::kind::Kind;
use crate::ledger::{Ledger, Proof};

use super::NOW;

/// What one commit does to the file.
#[derive(Debug, Clone)]
enum Act {
    /// Groups with members, and perhaps policies.
    Write(BTreeMap<u8, BTreeSet<u8>>, Option<BTreeSet<u8>>),
    Break,
    Delete,
    Nothing,
}

#[derive(Debug, Clone)]
struct Step {
    act: Act,
    seconds_later: i64,
    /// The file is at its earlier path.
    earlier_path: bool,
    /// The commit is a merge, whose other parent writes something else.
    merge: bool,
}

fn act() -> impl Strategy<Value = Act> {
    let members = prop::collection::btree_set(0_u8..4, 0..4);
    let groups = prop::collection::btree_map(0_u8..5, members, 0..5);
    let policies = prop::option::of(prop::collection::btree_set(0_u8..4, 0..4));
    prop_oneof![
        6 => (groups, policies).prop_map(|(groups, policies)| Act::Write(groups, policies)),
        1 => Just(Act::Break),
        1 => Just(Act::Delete),
        1 => Just(Act::Nothing),
    ]
}

fn history() -> impl Strategy<Value = Vec<Step>> {
    let seconds = prop_oneof![4 => 1_i64..9_000, 1 => -9_000_i64..0];
    let step = (act(), seconds, any::<bool>(), any::<bool>());
    let steps = prop::collection::vec(step, 1..20);
    steps.prop_map(|steps| {
        let mut moved = false;
        let step = |(act, seconds_later, stays, merge): (Act, i64, bool, bool)| {
            // it moves once, after a while
            moved |= !stays;
            Step {
                act,
                seconds_later,
                earlier_path: !moved,
                merge,
            }
        };
        steps.into_iter().map(step).collect()
    })
}

fn text(groups: &BTreeMap<u8, BTreeSet<u8>>, policies: Option<&BTreeSet<u8>>) -> String {
    let name = |n: &u8| format!("n{n}");
    let groups: BTreeMap<String, _> = groups
        .iter()
        .map(|(group, members)| {
            let members: Vec<String> = members.iter().map(name).collect();
            (name(group), serde_json::json!({"peers": members}))
        })
        .collect();
    let mut file = serde_json::json!({ "groups": groups });
    if let Some(policies) = policies {
        let policies: BTreeMap<String, _> = policies
            .iter()
            .map(|n| (name(n), serde_json::json!({})))
            .collect();
        file["policies"] = serde_json::json!(policies);
    }
    serde_json::to_string_pretty(&file).unwrap()
}

/// Makes the repository with one process.
fn build(steps: &[Step]) -> Repo {
    let repo = Repo::new();
    let mut stream = String::new();
    let mut second = 1_000_000;
    let mut side = 0;
    for (index, step) in steps.iter().enumerate() {
        second += step.seconds_later;
        let commit = |branch: &str, mark: usize, text: &str| {
            format!(
                "commit refs/heads/{branch}\nmark :{mark}\ncommitter a <a@b> {second} +0000\ndata {}\n{text}\n",
                text.len()
            )
        };
        if step.merge && index > 0 {
            side += 1;
            let other = "{\"groups\": {\"side\": {}}}";
            stream += &commit(&format!("side{side}"), 1000 + index, "beside");
            stream += &format!(
                "from :{index}\nM 100644 inline netbird.json\ndata {}\n{other}\n",
                other.len()
            );
        }
        stream += &commit("main", index + 1, "on main");
        if index > 0 {
            stream += &format!("from :{index}\n");
            if step.merge {
                stream += &format!("merge :{}\n", 1000 + index);
            }
        }
        let (path, other) = match step.earlier_path {
            true => ("old.json", "netbird.json"),
            false => ("netbird.json", "old.json"),
        };
        let mut write = |content: &str| {
            stream += &format!(
                "D {other}\nM 100644 inline {path}\ndata {}\n{content}\n",
                content.len()
            );
        };
        match &step.act {
            Act::Write(groups, policies) => write(&text(groups, policies.as_ref())),
            Act::Break => write("<<<<<<<"),
            Act::Delete => stream += "D netbird.json\nD old.json\n",
            Act::Nothing => {}
        }
    }
    let mut import = Command::new("git");
    import
        .current_dir(repo.path())
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped());
    let mut import = import.spawn().unwrap();
    import
        .stdin
        .take()
        .unwrap()
        .write_all(stream.as_bytes())
        .unwrap();
    assert!(import.wait().unwrap().success());
    repo
}

/// For each second between two commits: what is declared, what is proved.
#[derive(Debug, Default)]
struct Model {
    /// When each version begins, and what it proves, newest last.
    proves: Vec<(i64, BTreeSet<(Kind, String)>)>,
    declared: BTreeSet<(Kind, String)>,
    ever: BTreeSet<(Kind, String)>,
    listed: BTreeMap<(String, String), i64>,
    ever_listed: BTreeSet<(String, String)>,
}

fn model(steps: &[Step]) -> Model {
    let mut model = Model::default();
    let (mut second, mut clock) = (1_000_000, i64::MIN);
    let mut before = None;
    let name = |n: &u8| format!("n{n}");
    for step in steps {
        second += step.seconds_later;
        let content = match &step.act {
            Act::Nothing => continue,
            Act::Delete => None,
            Act::Break => Some("<<<<<<<".to_owned()),
            Act::Write(groups, policies) => Some(text(groups, policies.as_ref())),
        };
        // the same file again, or at another path, is no version
        if content == before {
            continue;
        }
        before = content;
        clock = clock.max(second);
        let mut says: BTreeSet<(Kind, String)> = BTreeSet::new();
        match &step.act {
            Act::Nothing | Act::Delete | Act::Break => {}
            Act::Write(groups, policies) => {
                says.extend(groups.keys().map(|n| (Kind::Group, name(n))));
                says.extend(policies.iter().flatten().map(|n| (Kind::Policy, name(n))));
                let manages = |kind: Kind| kind == Kind::Group || policies.is_some();
                model.declared.retain(|said| !manages(said.0));
                model.declared.extend(says.iter().cloned());
                let mut listed = BTreeMap::new();
                for (group, members) in groups {
                    for member in members {
                        let pair = (name(group), name(member));
                        let since = model.listed.get(&pair).copied().unwrap_or(clock);
                        listed.insert(pair, since);
                    }
                }
                model.ever_listed.extend(listed.keys().cloned());
                model.listed = listed;
            }
        }
        model.ever.extend(says.iter().cloned());
        model.proves.push((clock, says));
    }
    model
}

impl Model {
    fn proof(&self, kind: Kind, name: &str, created: i64) -> Proof {
        let said = (kind, name.to_owned());
        if !self.ever.contains(&said) {
            return Proof::Never;
        }
        let mut newer = true;
        for (index, (begin, says)) in self.proves.iter().enumerate() {
            if says.contains(&said) {
                let end = self
                    .proves
                    .get(index + 1)
                    .map_or(i64::MAX - 3600, |(end, _)| *end);
                if created >= begin - 300 && created <= end + 3600 {
                    return Proof::Ours;
                }
                newer &= created > end + 3600;
            }
        }
        if newer { Proof::Newer } else { Proof::Older }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn random_histories_agree_with_the_model(steps in history()) {
        let repo = build(&steps);
        let git = repo.open();
        let tip = git.resolve("main").unwrap();
        let paths = [netbird_json(&git), at(&git, "old.json")];
        let ledger = Ledger::read(&git, &tip, &paths, NOW).unwrap();
        let model = model(&steps);
        for kind in [Kind::Group, Kind::Policy] {
            for name in ["n0", "n1", "n2", "n3", "n4", "side"] {
                let said = (kind, name.to_owned());
                prop_assert_eq!(ledger.was_declared(&Address::new(kind, name)), model.ever.contains(&said));
                prop_assert_eq!(ledger.is_declared(&Address::new(kind, name)), model.declared.contains(&said), "{} {}", kind.label(), name);
                for created in (900_000..1_200_000).step_by(2_777) {
                    let (found, expected) = (ledger.proof(&Address::new(kind, name), Some(created)), model.proof(kind, name, created));
                    prop_assert_eq!(found, expected, "{} {} at {}", kind.label(), name, created);
                }
            }
        }
        let listed = model.listed.iter();
        let listed = listed.map(|((group, member), at)| ((super::group(group), member.clone()), *at));
        prop_assert_eq!(ledger.listings().since, listed.collect());
        for (group, member) in &model.ever_listed {
            prop_assert!(ledger.was_listed(&super::group(group), member));
        }
    }
}
