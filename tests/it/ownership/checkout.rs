//! Where the inventory is: on a forge, beside the file, or out of reach. And what a checkout has to do with it.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::{base, with};
use crate::run::history::second;
use crate::run::{Bench, Job, Run, Site, git};

/// A group of ours that the file declares no more.
fn removed() -> Bench {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "groups", "x", json!({})));
    bench.declared(9.0, base());
    bench
}

#[test]
fn without_a_checkout_the_inventory_beside_the_file_is_enough() {
    let bench = removed();
    std::fs::remove_dir_all(bench.path(".git")).unwrap();
    assert_eq!(bench.planned(&[]), ["delete_group x"]);
    bench.apply(&[]).expect(0).shows("1 deleted");
}

#[test]
fn without_git_nobody_knows_where_the_inventory_is_and_nothing_is_deleted() {
    let bench = removed();
    let without_git = [("PATH", "/nowhere")];
    let run = bench.run_with(&["apply"], &without_git).expect(0);
    run.says_anywhere("git is not installed, so the remote \"origin\" cannot be asked");
    bench.file(with(base(), "groups", "y", json!({})));
    bench
        .run_with(&["apply"], &without_git)
        .expect(3)
        .says("refused: this run cannot write the inventory (git is not installed")
        .says("Nothing was changed.");
    bench.assert_writes(&[]);
}

#[test]
fn git_that_fails_is_an_error_and_not_no_checkout() {
    let bench = removed();
    std::fs::write(bench.path(".git/HEAD"), "nonsense\n").unwrap();
    bench.cannot(&[]).says("git");
    std::fs::write(bench.path(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    // an object of the history is missing
    let tree = bench.git(&["rev-parse", "HEAD~1"]);
    let object = format!(".git/objects/{}/{}", &tree[..2], &tree[2..]);
    std::fs::remove_file(bench.path(&object)).unwrap();
    bench.cannot(&[]).says("git");
}

#[test]
fn the_file_in_a_folder_of_the_repository() {
    let bench = Bench::in_git();
    std::fs::create_dir(bench.path("vpn")).unwrap();
    let file = |file: Value, hour: f64| {
        std::fs::write(bench.path("vpn/netbird.json"), file.to_string()).unwrap();
        bench.git(&["add", "vpn/netbird.json"]);
        bench.git_at(second(hour), &["commit", "-q", "-m", "a change"]);
    };
    file(with(base(), "groups", "x", json!({})), 1.0);
    bench.apply(&["-f", "vpn/netbird.json"]).expect(0);
    assert!(
        bench
            .path("vpn/.netbird-gitops/default/inventory.json")
            .exists()
    );
    file(base(), 9.0);
    assert_eq!(
        bench.planned(&["-f", "vpn/netbird.json"]),
        ["delete_group x"]
    );
}

/// What a clone is made of: a site where group `x` was applied, and then left the file.
struct Cloned {
    site: Site,
    dir: PathBuf,
}

const FETCH: &str =
    "+refs/heads/netbird-gitops/inventory:refs/remotes/origin/netbird-gitops/inventory";

impl Cloned {
    fn new(options: &[&str]) -> Cloned {
        let site = Site::fake();
        let with_x = with(base(), "groups", "x", json!({}));
        apply_on_forge(&site, with_x);
        site.commit(base());
        let from = format!("file://{}", site.gitea().git_dir().display());
        let dir = site.bench.path("clone");
        let target = dir.display().to_string();
        let clone = [&["clone", "-q"], options, &[&from, &target]].concat();
        git(&site.bench.path(""), &clone);
        site.bench.server().clear_requests();
        Cloned { site, dir }
    }

    /// Runs the program in the clone, as a laptop does that has no token for the forge.
    fn on_a_laptop(&self, args: &[&str]) -> Run {
        self.run(self.site.bench.command(args))
    }

    fn run(&self, mut command: Command) -> Run {
        let output = command.current_dir(&self.dir).output().unwrap();
        self.site.bench.outcome(output)
    }

    /// That a laptop's plan says that deletions are missing, and its apply is refused.
    fn knows_no_inventory(&self) {
        let plan = self.on_a_laptop(&["plan"]).expect(0);
        plan.shows("No changes, deletions are not known\n")
            .hides("adopt")
            .says_anywhere("this clone has no inventory, so deletions are missing from this plan")
            .says_anywhere(&format!("git fetch origin {FETCH}"));
        for question in [&["drift"][..], &["access", "g", "g", "--after"]] {
            let run = self.on_a_laptop(question).expect(0);
            run.says("this clone has no inventory, so deletions are missing");
        }
    }
}

/// Pushes the file to `main` and applies it with the bot's token.
fn apply_on_forge(site: &Site, file: Value) {
    site.commit(file);
    site.checkout("origin/main");
    site.run(&["apply"]).expect(0);
}

fn deletes_x(run: Run) -> Run {
    let run = run.expect(0);
    let deletions = run.operations();
    assert!(
        matches!(&deletions[..], [only] if only.starts_with("delete_group x ")),
        "{deletions:?}"
    );
    run
}

#[test]
fn a_full_clone_has_the_inventory_and_plans_deletions_without_a_token() {
    let clone = Cloned::new(&[]);
    deletes_x(clone.on_a_laptop(&["plan", "--format", "json"]));
    // an apply never goes by what a clone fetched some time
    clone.site.bench.server().clear_requests();
    let run = clone.on_a_laptop(&["apply"]).expect(0);
    run.shows("No changes");
    clone.site.bench.assert_writes(&[]);
}

#[test]
fn clones_of_one_branch_or_one_commit_say_how_to_fetch_the_inventory() {
    for options in [&["--single-branch"][..], &["--depth", "1"]] {
        let clone = Cloned::new(options);
        clone.knows_no_inventory();
        let depth = if options[0] == "--depth" {
            options
        } else {
            &[]
        };
        git(
            &clone.dir,
            &[&["fetch", "-q"], depth, &["origin", FETCH]].concat(),
        );
        deletes_x(clone.on_a_laptop(&["plan", "--format", "json"]));
    }
}

#[test]
fn with_a_token_a_clone_of_depth_1_plans_deletions_as_one_change() {
    let clone = Cloned::new(&["--depth", "1"]);
    let plan = clone.run(clone.site.command(&["plan", "--format", "json"]));
    let notices = deletes_x(plan).json()["notices"].to_string();
    assert!(
        notices.contains("one line Allow-Deletes has to cover all deletions. Set fetch-depth: 0"),
        "{notices}"
    );
    let apply = clone.run(clone.site.command(&["apply"]));
    apply.expect(0).shows("1 deleted");
}

/// Nothing tells when the name was written, so whoever has it may have taken it since.
#[test]
fn in_a_clone_of_depth_1_a_new_name_means_nobody() {
    let clone = Cloned::new(&["--depth", "1"]);
    let mut file = base();
    file["groups"]["g"] = json!({ "peers": ["cam"] });
    clone.site.commit(file);
    git(
        &clone.dir,
        &["fetch", "-q", "--depth", "1", "origin", "main"],
    );
    git(&clone.dir, &["reset", "-q", "--hard", "FETCH_HEAD"]);
    let peer = clone.site.bench.peer("cam");
    let run = clone.run(clone.site.command(&["apply", "--allow-deletes", "1"]));
    run.expect(0)
        .says_anywhere(&format!("--adopt peers/cam={peer}"));
    let members = &clone.site.bench.one("/groups", "g")["peers"];
    assert!(members.is_null() || members == &json!([]), "{members}");
}

#[test]
fn a_history_that_was_written_anew_takes_the_place_of_the_applied_one() {
    let clone = Cloned::new(&[]);
    let from = format!("file://{}", clone.site.gitea().git_dir().display());
    git(&clone.dir, &["checkout", "-q", "--orphan", "anew"]);
    git(&clone.dir, &["commit", "-q", "-m", "anew"]);
    git(
        &clone.dir,
        &["push", "-q", "--force", &from, "HEAD:refs/heads/main"],
    );
    // the job's checkout knows neither the commit that was applied nor that it is no ancestor
    let shallow = clone.site.bench.path("shallow");
    let target = shallow.display().to_string();
    git(&clone.dir, &["clone", "-q", "--depth", "1", &from, &target]);
    let clone = Cloned {
        dir: shallow,
        ..clone
    };
    let apply = clone.run(clone.site.command(&["apply"]));
    apply.expect(0).shows("1 deleted");
    let tip = clone.site.gitea().tip("main").unwrap();
    assert_eq!(clone.site.inventory()["applied_commit"], json!(tip));
}

#[test]
fn a_laptop_with_a_stale_ref_deletes_nothing_of_what_was_applied_since() {
    let clone = Cloned::new(&[]);
    // meanwhile others applied this and another change; the laptop fetched `main` alone
    let file = with(base(), "groups", "y", json!({}));
    apply_on_forge(&clone.site, file);
    git(&clone.dir, &["pull", "-q", "origin", "main"]);
    let run = clone.on_a_laptop(&["plan", "--format", "json"]).expect(0);
    assert!(
        run.operations()
            .iter()
            .all(|of| of.starts_with("adopt_group y")),
        "{:?}",
        run.operations()
    );
}

#[test]
fn a_laptop_without_a_token_makes_nothing_that_no_run_would_know() {
    let clone = Cloned::new(&[]);
    let file = with(base(), "groups", "y", json!({}));
    std::fs::write(clone.dir.join("netbird.json"), file.to_string()).unwrap();
    clone
        .on_a_laptop(&["apply"])
        .expect(3)
        .says("refused: this run cannot write the inventory")
        .says("set GITEA_TOKEN")
        .says("Nothing was changed.");
    clone.site.bench.assert_writes(&[]);
}

#[test]
fn a_laptop_without_a_token_changes_nothing_that_may_be_a_colleagues() {
    let clone = Cloned::new(&[]);
    let bench = &clone.site.bench;
    let mut file = with(
        base(),
        "policies",
        "p",
        json!({ "sources": ["g"], "destinations": ["g"] }),
    );
    apply_on_forge(&clone.site, file.clone());
    bench.edit("/policies", "p", json!({ "name": "ours, renamed" }));
    super::by_hand(bench, "policies", "p");
    file["policies"]["p"]["description"] = json!("ours");
    std::fs::write(clone.dir.join("netbird.json"), file.to_string()).unwrap();
    bench.server().clear_requests();
    let run = clone.on_a_laptop(&["apply"]).expect(3);
    run.says("refused: this run cannot write the inventory");
    bench.assert_writes(&[]);
}

#[test]
fn a_job_without_a_forge_makes_nothing_that_no_run_would_know() {
    let site = Site::fake();
    site.commit(base());
    site.checkout("origin/main");
    let job = Job::push(&site, &site.repo().tip("main")).with("GITEA_TOKEN", "");
    let run = site.in_job(&["apply"], &job).expect(3);
    run.says("refused: this run cannot write the inventory");
    site.bench.assert_writes(&[]);
}

#[test]
fn a_branch_that_somebody_deleted_is_made_anew_and_nothing_goes() {
    let clone = Cloned::new(&[]);
    let site = &clone.site;
    let path = format!(
        "/repos/{}/branches/netbird-gitops%2Finventory",
        site.repo().full_name()
    );
    let (status, answer) = site.gitea().call("DELETE", &path, Value::Null);
    assert_eq!(status, 204, "{answer}");
    let plan = site.run(&["plan"]).expect(0);
    plan.shows("there is no inventory yet");
    site.bench.server().clear_requests();
    site.run(&["apply"]).expect(0).shows("1 adopted");
    site.bench.assert_writes(&[]);
    site.run(&["apply"])
        .expect(0)
        .shows("NetBird is as the file says");
    assert_eq!(site.bench.names("/groups"), ["All", "g", "x"]);
}
