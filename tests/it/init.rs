//! `init`: does a repository get what it needs, and keep what it has?

mod setup;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::run::{Bench, Run, git};

const WORKFLOWS: [&str; 4] = ["plan.yml", "apply.yml", "enrollment.yml", "drift.yml"];

/// Without an account to begin with.
fn init(bench: &Bench, args: &[&str]) -> Run {
    bench.run_with(&[&["init"], args].concat(), &[("NETBIRD_API_URL", "")])
}

fn read(bench: &Bench, path: &str) -> String {
    fs::read_to_string(bench.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn ours(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Every file below the bench's directory but git's own.
fn tree(bench: &Bench) -> Vec<String> {
    fn walk(directory: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() && !path.is_symlink() {
                true if path.ends_with(".git") => {}
                true => walk(&path, root, found),
                false => found.push(path.strip_prefix(root).unwrap().display().to_string()),
            }
        }
    }
    let mut found = Vec::new();
    walk(&bench.path(""), &bench.path(""), &mut found);
    found.sort();
    found
}

#[test]
fn an_empty_directory_becomes_a_repository_that_works() {
    let bench = Bench::fake();
    let run = init(&bench, &[]).expect(0);
    run.shows("written      netbird.json  (an example")
        .shows("git init -b main");
    assert_eq!(
        tree(&bench),
        [
            ".gitea/workflows/apply.yml",
            ".gitea/workflows/drift.yml",
            ".gitea/workflows/enrollment.yml",
            ".gitea/workflows/plan.yml",
            ".gitignore",
            "netbird.json",
            "netbird.schema.json"
        ]
    );
    for name in WORKFLOWS {
        let path = format!(".gitea/workflows/{name}");
        assert_eq!(read(&bench, &path), ours(&path));
    }
    assert_eq!(
        read(&bench, "netbird.schema.json"),
        ours("docs/netbird.schema.json")
    );
    bench.run(&["validate"]).expect(0);
    bench.apply(&[]).expect(0);
    // once more, and nothing is left to say
    let run = init(&bench, &[]).expect(0);
    assert_eq!(run.stdout.matches("  unchanged ").count(), 6);
    run.shows("yours        netbird.json")
        .shows("The files need no change.");
}

#[test]
fn a_file_with_comments_is_set_up_and_stays_the_only_one() {
    let bench = Bench::fake();
    init(&bench, &["-f", "netbird.jsonc"]).expect(0);
    for name in WORKFLOWS {
        let text = read(&bench, &format!(".gitea/workflows/{name}"));
        assert!(
            text.contains("      NETBIRD_GITOPS_FILE: netbird.jsonc\n"),
            "{text}"
        );
        assert!(!text.contains("NETBIRD_GITOPS_ENVIRONMENT"), "{text}");
    }
    assert!(read(&bench, ".gitea/workflows/apply.yml").contains("paths: [netbird.jsonc]"));
    let before = tree(&bench);
    assert!(!before.contains(&"netbird.json".to_owned()));
    init(&bench, &["-f", "netbird.jsonc"])
        .expect(0)
        .shows("The files need no change.");
    init(&bench, &[])
        .expect(1)
        .says("the network has only one file, and that is netbird.jsonc")
        .says("write -f netbird.jsonc");
    assert_eq!(tree(&bench), before);
}

#[test]
fn an_account_is_exported_and_planned_without_changes() {
    let bench = Bench::fake();
    bench.create("/groups", json!({ "name": "theirs" }));
    let run = bench.run(&["init"]).expect(0);
    run.shows("as it is: 2 objects)")
        .hides("export NETBIRD_API_URL=https://netbird.example.com NETBIRD_API_TOKEN");
    let text = read(&bench, "netbird.json");
    assert!(
        text.starts_with("{\n  \"$schema\": \"./netbird.schema.json\",\n  \"groups\": {"),
        "{text}"
    );
    bench
        .plan(&["--detailed-exitcode"])
        .expect(0)
        .shows("No changes");
    // the token of plans does, too
    let bench = Bench::fake();
    let token = bench.server().token();
    let variables = [
        ("NETBIRD_API_TOKEN", ""),
        ("NETBIRD_PLAN_TOKEN", token.as_str()),
    ];
    let run = bench.run_with(&["init"], &variables).expect(0);
    run.shows("NETBIRD_API_TOKEN=\"$NETBIRD_PLAN_TOKEN\" netbird-gitops plan");
}

#[test]
fn an_account_that_cannot_be_read_writes_nothing() {
    let bench = Bench::fake();
    let run = bench.run_with(&["init"], &[("NETBIRD_API_TOKEN", "")]);
    run.expect(1)
        .says("there is no NetBird token")
        .says("without NETBIRD_API_URL");
    bench
        .run_with(&["init", "new/place"], &[("NETBIRD_API_TOKEN", "")])
        .expect(1);
    assert!(!bench.path("new").exists());
    let run = bench.run_with(&["init"], &[("NETBIRD_API_TOKEN", "nbp_wrong")]);
    run.expect(1);
    assert_eq!(tree(&bench), [""; 0]);
}

#[test]
fn what_differs_is_shown_and_left_alone_until_it_is_forced() {
    let bench = Bench::fake();
    bench.text("{\"groups\": {\"mine\": {}}}\n");
    fs::create_dir_all(bench.path(".gitea/workflows")).unwrap();
    let path = ".gitea/workflows/plan.yml";
    // a label and a limit of theirs stay, and so do an image, a variable and a step
    let kept = ours(path)
        .replace("ubuntu-latest", "docker\n    container: registry/image:1")
        .replace("timeout-minutes: 30", "timeout-minutes: 60")
        .replace(
            "        env:\n          NETBIRD",
            "        env:\n          GITEA_BRANCH: trunk\n          NETBIRD",
        )
        .replace(
            "      - run: netbird-gitops plan",
            "      - run: netbird-gitops doctor\n      - run: netbird-gitops plan",
        );
    let mine = kept.replace("fetch-depth: 0", "fetch-depth: 1");
    fs::write(bench.path(path), &mine).unwrap();
    let run = init(&bench, &[]).expect(2);
    run.shows("differs      .gitea/workflows/plan.yml")
        .shows("\n-          fetch-depth: 1 # the commits since the last apply say which change deletes what\n+          fetch-depth: 0 # the commits")
        .shows("written      .gitea/workflows/apply.yml")
        .shows("netbird-gitops init --force");
    assert_eq!(read(&bench, path), mine);
    let json = init(&bench, &["--format", "json"]).expect(2).json();
    assert_eq!(json["files"][3]["status"], "differs");
    // forced, and the network is still the people's
    let run = init(&bench, &["--force"]).expect(0);
    run.shows("overwritten  .gitea/workflows/plan.yml")
        .shows("git diff\ngit switch -c netbird-gitops-update\ngit add .gitea/workflows\n");
    assert_eq!(read(&bench, path), kept);
    init(&bench, &[])
        .expect(0)
        .shows("The files need no change.");
    assert_eq!(
        read(&bench, "netbird.json"),
        "{\"groups\": {\"mine\": {}}}\n"
    );
}

#[test]
fn a_plan_yml_of_somebody_else_stays_and_ours_has_another_name() {
    let bench = Bench::fake();
    fs::create_dir_all(bench.path(".gitea/workflows")).unwrap();
    let path = ".gitea/workflows/plan.yml";
    let theirs = "name: plan\non: push\njobs:\n  plan:\n    steps:\n      - run: terraform plan\n";
    fs::write(bench.path(path), theirs).unwrap();
    for args in [&[][..], &["--force"]] {
        init(&bench, args)
            .expect(0)
            .hides("overwritten  ")
            .shows(".gitea/workflows/netbird-plan.yml")
            .shows("plan.yml is not a workflow of netbird-gitops, so init does not change it");
        assert_eq!(read(&bench, path), theirs);
    }
    assert_eq!(
        read(&bench, ".gitea/workflows/netbird-plan.yml"),
        ours(path)
    );
}

/// Whatever else somebody's own workflow has: another encoding, our command in a text, our other name.
#[test]
fn somebody_elses_workflow_is_never_taken_for_ours() {
    let path = ".gitea/workflows/plan.yml";
    for theirs in [
        &b"name: plan \xff\non: push\n"[..],
        b"on: push\njobs:\n  a:\n    steps:\n      - run: echo \"see netbird-gitops plan\"\n",
        b"on: push\njobs:\n  a:\n    steps:\n      - run: echo netbird-gitops plan follows\n",
        b"# netbird-gitops plan is elsewhere\non: push\n",
        b"",
    ] {
        let bench = Bench::fake();
        fs::create_dir_all(bench.path(".gitea/workflows")).unwrap();
        fs::write(bench.path(path), theirs).unwrap();
        init(&bench, &["--force"]).expect(0).hides("overwritten  ");
        assert_eq!(fs::read(bench.path(path)).unwrap(), theirs);
        // and where both names are taken nothing is written
        fs::write(
            bench.path(".gitea/workflows/netbird-plan.yml"),
            "on: push\n",
        )
        .unwrap();
        fs::remove_file(bench.path(".gitea/workflows/apply.yml")).unwrap();
        let run = init(&bench, &["--force"]).expect(1);
        run.says("netbird-plan.yml is not a workflow of netbird-gitops");
        assert!(!bench.path(".gitea/workflows/apply.yml").exists());
    }
}

#[test]
fn a_second_network_has_files_of_its_own_and_leaves_the_first_alone() {
    let bench = Bench::fake();
    init(&bench, &[]).expect(0);
    let first = tree(&bench);
    let texts: Vec<String> = first.iter().map(|path| read(&bench, path)).collect();
    let lab = ["--environment", "lab", "-f", "lab/netbird.json"];
    init(&bench, &lab)
        .expect(0)
        .shows("written      lab/netbird.json  (an example")
        .shows("written      .gitea/workflows/apply-lab.yml")
        .shows("unchanged    netbird.schema.json")
        .shows("netbird-gitops plan --environment lab -f lab/netbird.json")
        .shows("netbird-gitops init --setup --environment lab -f lab/netbird.json")
        .shows("git switch -c another-network")
        .shows("git push -u origin HEAD");
    let both = tree(&bench);
    assert_eq!(both.len(), 12, "{both:?}");
    let apply = read(&bench, ".gitea/workflows/apply-lab.yml");
    assert!(apply.contains("group: netbird-apply-lab "), "{apply}");
    assert!(apply.contains("paths: [lab/netbird.json]"), "{apply}");
    bench.run(&[&["validate"], &lab[2..]].concat()).expect(0);
    // once more, of either: nothing is left to say, and the first is as it was
    init(&bench, &lab)
        .expect(0)
        .shows("The files need no change.");
    init(&bench, &[])
        .expect(0)
        .shows("The files need no change.");
    let now: Vec<String> = first.iter().map(|path| read(&bench, path)).collect();
    assert_eq!((now, tree(&bench)), (texts, both));
    init(&bench, &["--environment", "lab"])
        .expect(1)
        .says("the network lab needs a file of its own");
    init(&bench, &["--environment", "lab", "-f", "../netbird.json"]).expect(1);
}

/// A network that was there before the workflows is no update.
#[test]
fn a_network_without_workflows_is_set_up_from_the_beginning() {
    let bench = Bench::fake();
    bench.text("{\"groups\": {\"mine\": {}}}\n");
    init(&bench, &[])
        .expect(0)
        .shows("yours        netbird.json")
        .shows("netbird-gitops init --setup")
        .shows("git push origin HEAD:main");
}

#[test]
fn a_gitignore_keeps_its_lines_and_leaves_out_what_is_secret() {
    let bench = Bench::fake();
    git(&bench.path(""), &["init", "-q", "-b", "main"]);
    fs::write(bench.path(".gitignore"), "/mine\n.env").unwrap();
    init(&bench, &[])
        .expect(2)
        .shows("Files that differ were not changed.");
    assert_eq!(read(&bench, ".gitignore"), "/mine\n.env");
    init(&bench, &["--force"]).expect(0);
    assert!(read(&bench, ".gitignore").starts_with("/mine\n.env\n#"));
    init(&bench, &["--force"])
        .expect(0)
        .shows("unchanged    .gitignore");
    // what docs/gitea.md has people make here
    for secret in [
        "netbird-keys.txt",
        "sealed-keys/a.age",
        ".env",
        "live.json",
        "bot.token",
    ] {
        git(&bench.path(""), &["check-ignore", "-q", secret]);
    }
    let untracked = git(
        &bench.path(""),
        &["status", "--porcelain", "--untracked-files=all"],
    );
    assert_eq!(untracked.lines().count(), 7, "{untracked}");
}

#[test]
fn what_is_in_the_way_is_told_at_once_and_nothing_is_written() {
    let bench = Bench::fake();
    fs::create_dir_all(bench.path("elsewhere")).unwrap();
    symlink("elsewhere", bench.path(".gitea")).unwrap();
    symlink("nowhere", bench.path("netbird.json")).unwrap();
    fs::create_dir_all(bench.path("netbird.schema.json")).unwrap();
    let before = tree(&bench);
    for args in [&[][..], &["--force"]] {
        init(&bench, args)
            .expect(1)
            .says("netbird.json is a symbolic link\n")
            .says("netbird.schema.json is a directory, where a file belongs\n")
            .says(".gitea is a symbolic link\n")
            .says("nothing was written")
            .says("mv netbird.schema.json netbird.schema.json.old");
        assert_eq!(tree(&bench), before);
    }
    let bench = Bench::fake();
    fs::write(bench.path(".gitea"), "").unwrap();
    init(&bench, &[])
        .expect(1)
        .says(".gitea is a file, where a directory belongs");
}

#[test]
fn each_kind_of_workflow_is_written_and_kept_by_an_update() {
    for (args, directory, plan, apply) in [
        (
            &["--forge", "forgejo"][..],
            ".forgejo/workflows",
            ".gitea/workflows/plan.yml",
            ".gitea/workflows/apply.yml",
        ),
        (
            &["--no-actions"],
            ".gitea/workflows",
            "examples/workflows-without-actions/plan.yml",
            "examples/workflows-without-actions/apply.yml",
        ),
        (
            &["--forks"],
            ".gitea/workflows",
            "examples/workflows/plan-forks.yml",
            ".gitea/workflows/apply.yml",
        ),
    ] {
        let bench = Bench::fake();
        init(&bench, args).expect(0);
        // as after an upgrade, by nothing but its name
        init(&bench, &["--force"])
            .expect(0)
            .shows("The files need no change.");
        assert_eq!(read(&bench, &format!("{directory}/plan.yml")), ours(plan));
        assert_eq!(read(&bench, &format!("{directory}/apply.yml")), ours(apply));
        assert_eq!(tree(&bench).len(), 7, "{args:?}");
    }
    init(&Bench::fake(), &["--forks", "--no-actions"]).expect(1);
}

#[test]
fn workflows_that_would_not_be_read_any_more_are_named() {
    let bench = Bench::fake();
    fs::create_dir_all(bench.path(".github/workflows")).unwrap();
    init(&bench, &[])
        .expect(0)
        .shows("A server that reads .gitea/workflows does not read .github/workflows.");
    init(&bench, &["--forge", "forgejo"])
        .expect(0)
        .shows("A server that reads .forgejo/workflows does not read .gitea/workflows.");
}

#[test]
fn a_directory_of_a_checkout_that_is_not_its_root_is_refused() {
    let bench = Bench::fake();
    git(&bench.path(""), &["init", "-q", "-b", "trunk"]);
    fs::create_dir(bench.path("below")).unwrap();
    init(&bench, &["below"])
        .expect(1)
        .says("servers read workflows only at its root")
        .says("netbird-gitops init /");
    init(&bench, &["not/there"])
        .expect(1)
        .says("servers read workflows only at its root");
    init(&bench, &["--file", "other.json"])
        .expect(1)
        .says("omit --file and unset NETBIRD_GITOPS_FILE");
    assert_eq!(tree(&bench), [""; 0]);
    // the first commit will be on a branch that starts nothing
    init(&bench, &[])
        .expect(0)
        .shows("The workflows start on the branch main, but the branch is named trunk")
        .shows("git push origin HEAD:trunk\n");
}

#[test]
fn a_dry_run_writes_nothing() {
    let bench = Bench::fake();
    init(&bench, &["--dry-run"])
        .expect(0)
        .shows("to write     netbird.json")
        .shows("without --dry-run");
    assert_eq!(tree(&bench), [""; 0]);
    init(&bench, &["new/place", "--dry-run"])
        .expect(0)
        .shows("to write     netbird.json");
    assert!(!bench.path("new").exists());
    init(&bench, &["new/place"])
        .expect(0)
        .shows("\ncd new/place\ngit init -b main\n");
    assert_eq!(tree(&bench).len(), 7);
}

/// The lines are there to be copied.
#[test]
fn the_first_commit_is_made_with_the_lines_that_are_shown() {
    let bench = Bench::fake();
    let shown = init(&bench, &[]).expect(0).stdout;
    // as in step 2: the file again, when all else is there
    fs::remove_file(bench.path("netbird.json")).unwrap();
    let again = bench.run(&["init"]).expect(0).stdout;
    git(&bench.path(""), &["init", "-q", "-b", "main"]);
    for text in [shown, again] {
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("git add "));
        let paths: Vec<&str> = line.unwrap().split(' ').collect();
        git(&bench.path(""), &[&["add", "--"], &paths[..]].concat());
        let staged = git(&bench.path(""), &["diff", "--cached", "--name-only"]);
        assert_eq!(staged.lines().count(), 7, "{staged}");
        git(&bench.path(""), &["reset", "-q"]);
    }
}

#[test]
fn completions_are_of_each_shell() {
    let bench = Bench::fake();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = bench.run(&["completions", shell]).expect(0);
        run.shows("mark-enrolled").shows("allow-deletes");
    }
    bench
        .run(&["completions", "csh"])
        .expect(1)
        .says("[possible values: bash");
}

/// YAML of another form than ours: the lines that it lacks are told, and it stays as it is.
#[test]
fn a_workflow_that_cannot_be_merged_stays_and_what_to_add_is_told() {
    let path = ".gitea/workflows/plan.yml";
    let ours = ours(path);
    let odd = [
        // fields in one line
        ours.replace(
            "        with:\n          fetch-depth: 0 #",
            "        with: { fetch-depth: 1, submodules: true } #",
        ),
        // a value over two lines
        ours.replace("fetch-depth: 0 #", "fetch-depth:\n            1 #"),
        // a step that is an action and a script
        ours.replace(
            "        with:\n          fetch-depth: 0 #",
            "        run: echo\n        with:\n          fetch-depth: 1 #",
        ),
    ];
    for theirs in odd {
        assert_ne!(theirs, ours);
        let bench = Bench::fake();
        fs::create_dir_all(bench.path(".gitea/workflows")).unwrap();
        fs::write(bench.path(path), &theirs).unwrap();
        for args in [&[][..], &["--force"]] {
            init(&bench, args)
                .expect(2)
                .shows("not merged   .gitea/workflows/plan.yml  (its YAML has another form: add the lines with + by hand)")
                .shows("\n+          fetch-depth: 0 # the commits since")
                .hides("\n-");
            assert_eq!(read(&bench, path), theirs);
        }
        let json = init(&bench, &["--force", "--format", "json"]).expect(2);
        assert_eq!(json.json()["files"][3]["status"], "not merged");
    }
}
