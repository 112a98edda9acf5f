//! The inventory of a laptop: found, read, written.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use tempfile::TempDir;

use super::{FoundInventory, InventoryPlace};
use crate::apply::{KeyCopy, Recorder};
use crate::base::Id;
use crate::commands::cli::Cli;
use crate::commands::{Exit, Failure, logging, settings};
use crate::forge::ci::Context;
use crate::git::testing::Repo;
use crate::inventory::{Delta, Inventory};
use crate::model::{Notice, OfInventory};
use crate::plan::Standing;

/// A run in a directory.
struct Run {
    file: PathBuf,
    inventory: Option<PathBuf>,
    writes: bool,
    is_ci: bool,
}

impl Run {
    fn plan(dir: &Path) -> Run {
        Run {
            file: dir.join("netbird.json"),
            inventory: None,
            writes: false,
            is_ci: false,
        }
    }

    fn apply(dir: &Path) -> Run {
        Run {
            writes: true,
            ..Run::plan(dir)
        }
    }

    fn find(&self) -> InventoryPlace {
        let command = if self.writes { "apply" } else { "plan" };
        let inventory = self
            .inventory
            .iter()
            .flat_map(|path| [OsStr::new("--inventory"), path.as_os_str()]);
        let arguments = ["netbird-gitops", command]
            .map(OsStr::new)
            .into_iter()
            .chain(inventory);
        let cli = Cli::try_parse_from(arguments).unwrap();
        let mut run = settings::Run::new(&cli, logging::say(&cli.global, |_| None));
        run.file.clone_from(&self.file);
        (run.gitea_url, run.repository) = (None, None);
        run.context = Context {
            is_ci: self.is_ci,
            ..Context::default()
        };
        InventoryPlace::find(&run).unwrap()
    }

    fn read(&self) -> Result<FoundInventory, Failure> {
        self.find().read()
    }
}

fn says(found: &FoundInventory) -> Vec<String> {
    found.notices.iter().map(Notice::words).collect()
}

/// How the only one of them begins.
fn begins(said: &[String], text: &str) -> bool {
    matches!(said, [one] if one.starts_with(text))
}

/// A directory with a file that lists one member.
fn directory() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let file = "{\"groups\": {\"g\": {\"peers\": [\"listed\"]}}}";
    fs::write(dir.path().join("netbird.json"), file).unwrap();
    dir
}

fn made(key: &str, id: &str) -> Delta {
    Delta {
        created: vec![(key.into(), Id::from(id))],
        ..Delta::default()
    }
}

/// An apply's place, whose account is known.
fn begun(dir: &Path) -> InventoryPlace {
    let place = Run::apply(dir).find();
    place.account.get_or_init(|| "acc".into());
    place.begin();
    place
}

#[test]
fn an_apply_begins_one_beside_the_file_and_a_plan_reads_it() {
    let dir = directory();
    let found = Run::plan(dir.path()).read().unwrap();
    assert_eq!(found.standing, Standing::First);
    assert!(begins(&says(&found), "there is no inventory yet"));
    let place = Run::apply(dir.path()).find();
    assert!(says(&place.read().unwrap()).is_empty());
    place.account.get_or_init(|| "acc".into());
    // only after the gates
    assert!(place.record(&[made("groups/g", "1")], &[]).is_err());
    place.begin();
    let recorded = place.record(&[made("groups/g", "1")], &[]).unwrap();
    let found = Run::plan(dir.path()).read().unwrap();
    assert_eq!(found.standing, Standing::Read);
    assert_eq!(found.inventory, recorded.inventory);
    assert_eq!(found.inventory.account, "acc");
    assert_eq!(place.newest().unwrap(), Some(found.inventory));
}

#[test]
fn copies_of_keys_are_beside_it_and_members_are_those_that_the_file_lists() {
    let dir = directory();
    let place = begun(dir.path());
    let member = |name: &str| ("g".to_owned(), name.to_owned(), Id::from("7"));
    let delta = Delta {
        members: vec![member("listed"), member("left")],
        ..made("setup_keys/k", "1")
    };
    let copy = KeyCopy {
        name: "k".into(),
        id: Id::from("1"),
        armored: "sealed".into(),
    };
    let recorded = place.record(&[delta], &[copy]).unwrap();
    let path = recorded.places[0].clone().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "sealed");
    assert!(
        path.ends_with(".netbird-gitops/default/keys/k.1.age"),
        "{path}"
    );
    let members = recorded.inventory.members["g"].keys();
    assert_eq!(members.collect::<Vec<_>>(), ["listed"]);
    let (one, other) = (Id::from("1"), Id::from("2"));
    let keys = [("k", &one), ("other", &other)];
    assert_eq!(place.with_copy(keys.to_vec()).unwrap(), [keys[0]]);
}

#[test]
fn one_that_was_seen_and_is_gone_stops_the_run() {
    let dir = directory();
    let place = begun(dir.path());
    place.record(&[made("groups/g", "1")], &[]).unwrap();
    let folder = dir.path().join(".netbird-gitops");
    fs::remove_dir_all(folder).unwrap();
    let error = place.record(&[made("groups/g", "2")], &[]);
    let text = error.err().unwrap().why;
    assert!(text.contains("the inventory is gone"), "{text}");
}

#[test]
fn what_is_of_another_file_or_garbled_is_refused() {
    let dir = directory();
    let place = begun(dir.path());
    place.record(&[made("groups/g", "1")], &[]).unwrap();
    fs::write(dir.path().join("lab.json"), "{}").unwrap();
    let run = Run {
        file: dir.path().join("lab.json"),
        ..Run::plan(dir.path())
    };
    // the path from nowhere is the one that was given
    let refused = run.read().err().unwrap();
    assert_eq!(refused.exit, Exit::Refused);
    assert!(
        refused.error.contains("lab.json. Nothing was changed."),
        "{}",
        refused.error
    );
    fs::remove_file(dir.path().join("netbird.json")).unwrap();
    let moved = run.read().unwrap();
    assert!(begins(&says(&moved), "the file was "));
    let path = dir.path().join(".netbird-gitops/default/inventory.json");
    for text in ["", "{}", "{\"format_version\": 2, \"account\": \"a\"}"] {
        fs::write(&path, text).unwrap();
        let failure = Run::plan(dir.path()).read().err().unwrap();
        assert_eq!(failure.exit, Exit::Error);
        assert!(
            failure.error.starts_with("cannot read the inventory"),
            "{}",
            failure.error
        );
    }
}

#[test]
fn a_named_file_is_begun_by_people_alone() {
    let dir = directory();
    let run = |is_ci| Run {
        inventory: Some(dir.path().join("list.json")),
        is_ci,
        ..Run::plan(dir.path())
    };
    assert_eq!(run(false).read().unwrap().standing, Standing::First);
    assert_eq!(run(true).read().err().unwrap().exit, Exit::Refused);
    let text = Inventory::new("acc", "").text();
    fs::write(dir.path().join("list.json"), text).unwrap();
    assert_eq!(run(true).read().unwrap().standing, Standing::Read);
}

#[test]
fn a_job_without_a_forge_writes_nothing() {
    let dir = directory();
    let job = |writes| Run {
        writes,
        is_ci: true,
        ..Run::plan(dir.path())
    };
    assert_eq!(job(false).read().unwrap().standing, Standing::First);
    let refused = Failure::from(job(true).find().writable().err().unwrap());
    assert_eq!(refused.exit, Exit::Refused);
}

#[test]
fn a_clone_reads_what_it_fetched_and_applies_never_do() {
    let remote = Repo::new();
    remote.file(1, "{\"groups\": {}}");
    let dir = tempfile::tempdir().unwrap();
    let clone = dir.path().join("clone");
    let (from, to) = (remote.path().to_str().unwrap(), clone.to_str().unwrap());
    remote.git(&["clone", "-q", from, to]);
    // the remote has no such branch: a laptop begins its own
    assert_eq!(Run::plan(&clone).read().unwrap().standing, Standing::First);
    remote.git(&["checkout", "-q", "-b", "netbird-gitops/inventory"]);
    let text = Inventory::new("acc", "netbird.json").text();
    remote.write(".netbird-gitops/default/inventory.json", text);
    remote.commit(2, "first");
    let found = Run::plan(&clone).read().unwrap();
    assert_eq!(found.standing, Standing::Unknown);
    assert!(begins(&says(&found), "this clone has no inventory"));
    let job = Run {
        is_ci: true,
        ..Run::plan(&clone)
    };
    assert_eq!(job.read().err().unwrap().exit, Exit::Error);
    // a remote that does not answer may have it or not
    let elsewhere = dir.path().join("nowhere").display().to_string();
    remote.git(&["-C", to, "remote", "set-url", "origin", &elsewhere]);
    let found = Run::plan(&clone).read().unwrap();
    assert_eq!(found.standing, Standing::Unknown);
    assert!(says(&found)[0].contains("If there was no apply yet, there is no inventory"));
    remote.git(&["-C", to, "remote", "set-url", "origin", from]);
    let refspec = "+refs/heads/*:refs/remotes/origin/*";
    remote.git(&["-C", to, "fetch", "-q", "origin", refspec]);
    assert_eq!(Run::plan(&clone).read().unwrap().standing, Standing::Read);
    let newer = "{\"format_version\": 2, \"account\": \"acc\"}";
    remote.write(".netbird-gitops/default/inventory.json", newer);
    remote.commit(3, "newer");
    remote.git(&["-C", to, "fetch", "-q", "origin", refspec]);
    let found = Run::plan(&clone).read().unwrap();
    let unread = OfInventory::Unread {
        why: "its format_version is 2, and this netbird-gitops reads up to 1: use a newer version"
            .into(),
        branch: None,
    };
    assert_eq!(says(&found), [Notice::general(unread).words()]);
    assert_eq!(job.read().err().unwrap().hint, None);
    let apply = Run::apply(&clone);
    assert_eq!(apply.read().unwrap().standing, Standing::Unknown);
    assert!(apply.find().writable().is_err());
}

#[test]
fn other_environments_are_read_beside_it() {
    let dir = directory();
    let place = begun(dir.path());
    place.record(&[made("groups/g", "1")], &[]).unwrap();
    let others = place.others("acc").unwrap();
    assert!(!others.share_account && others.strange.is_empty());
    let lab = dir.path().join(".netbird-gitops/lab");
    fs::create_dir(&lab).unwrap();
    let theirs = made("groups/x", "9").onto(&Inventory::new("acc", "lab.json"));
    fs::write(lab.join("inventory.json"), theirs.text()).unwrap();
    let others = place.others("acc").unwrap();
    assert!(others.share_account);
    assert_eq!(others.strange[&Id::from("9")], "lab.json");
    let elsewhere = place.others("another").unwrap();
    assert!(!elsewhere.share_account && elsewhere.strange.is_empty());
    fs::write(lab.join("inventory.json"), "half").unwrap();
    let others = place.others("acc").unwrap();
    assert!(others.share_account);
    assert_eq!(others.unread.unwrap().0, "lab");
}

#[test]
fn two_runs_that_write_one_file_at_once_both_have_what_they_made_in_it() {
    let dir = directory();
    let first = begun(dir.path());
    first.record(&[made("groups/g", "1")], &[]).unwrap();
    let places = [Run::apply(dir.path()).find(), Run::apply(dir.path()).find()];
    for place in &places {
        assert!(place.newest().unwrap().is_some());
    }
    std::thread::scope(|scope| {
        for (run, place) in places.iter().enumerate() {
            scope.spawn(move || {
                for at in 0..50 {
                    let id = format!("{run}-{at}");
                    let delta = made(&format!("groups/{id}"), &id);
                    place.record(&[delta], &[]).unwrap();
                }
            });
        }
    });
    let inventory = Run::plan(dir.path()).read().unwrap().inventory;
    assert_eq!(inventory.created.len(), 101);
}

#[test]
fn the_message_of_a_commit_has_numbers_and_no_names() {
    let before = Inventory::new("acc", "netbird.json");
    let after = Delta {
        dead: BTreeSet::from([Id::from("2")]),
        members: vec![("secret".into(), "secret".into(), Id::from("7"))],
        ..made("groups/secret", "1")
    }
    .onto(&made("groups/old", "2").onto(&before));
    let run = "https://git.example.com/acme/network/actions/runs/7".to_owned();
    let dir = directory();
    let mut place = Run::apply(dir.path()).find();
    let first = place.message(None, &before);
    assert_eq!(first, "chore: the first inventory");
    place.environment = "lab".into();
    place.commit.get_or_init(|| "1b78".into());
    place.context.run_url = Some(run.clone());
    let message = place.message(Some(&made("groups/old", "2").onto(&before)), &after);
    assert_eq!(
        message,
        format!("chore(lab): 1 created, 1 deleted\n\nCommit: 1b78\nRun: {run}")
    );
}
