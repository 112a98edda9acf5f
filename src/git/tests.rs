//! git as it answers: checkouts, histories, merges; on repositories made for each test.

mod hostile;
mod merge;
mod since;
mod view;

use std::path::Path;

use super::testing::{Repo, at, netbird_json, open};
use super::{Git, MergedFile, Opened, Sha};

#[test]
fn a_directory_outside_of_git_is_no_checkout() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(
        Git::open(dir.path()).unwrap(),
        Opened::NotACheckout
    ));
}

#[test]
fn a_damaged_checkout_is_an_error_and_not_no_checkout() {
    let repo = Repo::new();
    repo.write(".git/HEAD", "garbage");
    let error = Git::open(repo.path()).unwrap_err().to_string();
    assert!(error.contains("not a git repository"), "{error}");
    assert!(error.contains("\nhint: "), "{error}");

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(".git"), "gitdir: /nowhere\n").unwrap();
    let error = Git::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("/nowhere"), "{error}");
}

#[test]
fn a_missing_directory_is_an_error() {
    let error = Git::open(Path::new("/nowhere/at/all"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("/nowhere/at/all"), "{error}");
}

#[test]
fn a_bare_repository_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::new();
    repo.git(&["init", "-q", "--bare", dir.path().to_str().unwrap()]);
    let opened = Git::open(dir.path());
    assert!(opened.is_err(), "{opened:?}");
}

#[test]
fn a_checkout_without_commits_has_no_head() {
    let repo = Repo::new();
    assert_eq!(repo.open().head().unwrap(), None);
    repo.git_at(1, &["commit", "-q", "--allow-empty", "-m", "one"]);
    repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(repo.open().head().unwrap(), Some(repo.tip()));
}

#[test]
fn files_are_named_from_wherever_the_user_stands() {
    let repo = Repo::new();
    repo.write("infra/vpn/netbird.json", "{}");
    repo.commit(1, "one");
    let git = open(&repo.path().join("infra/vpn"));
    assert_eq!(git.top, repo.path().canonicalize().unwrap());
    let below = repo.path().join("infra/vpn");
    assert_eq!(
        git.locate(&below.join("netbird.json")).unwrap().as_str(),
        "infra/vpn/netbird.json"
    );
    assert_eq!(
        git.locate(&below.join("../gone/./deep/../old.json"))
            .unwrap()
            .as_str(),
        "infra/gone/old.json"
    );
    let outside = git.locate(Path::new("/etc/netbird.json")).unwrap_err();
    assert!(outside.to_string().contains("outside the checkout"));
}

#[test]
fn odd_paths_and_contents_come_through() {
    let repo = Repo::new();
    let names = [
        "-f",
        "--all",
        "a b",
        "ü",
        "*.json",
        ":(top)x",
        "new\nline",
        "\"q\"",
        "tab\t",
    ];
    for name in names {
        repo.write(name, format!("content of {name}\r\n"));
    }
    repo.write("deep/er/-x", b"\0\xff");
    let tip = repo.commit(1, "one");
    let git = repo.open();
    for name in names {
        let shown = git.show(&tip, &at(&git, name)).unwrap().unwrap();
        assert_eq!(shown, format!("content of {name}\r\n").as_bytes(), "{name}");
    }
    assert_eq!(
        git.show(&tip, &at(&git, "deep/er/-x")).unwrap().unwrap(),
        b"\0\xff"
    );
    assert_eq!(git.show(&tip, &at(&git, "*")).unwrap(), None);
}

#[test]
fn what_is_no_file_is_said() {
    let repo = Repo::new();
    repo.write("netbird.json/inner", "x");
    std::os::unix::fs::symlink("/etc/passwd", repo.path().join("link")).unwrap();
    let tip = repo.commit(1, "one");
    let git = repo.open();
    let error = git.show(&tip, &netbird_json(&git)).unwrap_err();
    assert!(error.to_string().contains("is a directory"), "{error}");
    let link = git.entry(&tip, &at(&git, "link")).unwrap();
    assert_eq!(link.unwrap().instead, Some("a symbolic link"));
}

#[test]
fn revisions_are_resolved_and_dashes_are_no_options() {
    let repo = Repo::new();
    let one = repo.file(1, "{}");
    let two = repo.file(2, "{ }");
    repo.git(&["update-ref", "refs/heads/--help", one.as_str()]);
    repo.git(&["tag", "-a", "-m", "x", "v1", one.as_str()]);
    let git = repo.open();
    assert_eq!(git.resolve("HEAD").unwrap(), two);
    assert_eq!(git.resolve("main~1").unwrap(), one);
    assert_eq!(git.resolve("v1").unwrap(), one, "a tag is its commit");
    assert_eq!(git.resolve("--help").unwrap(), one);
    assert_eq!(git.resolve(&two.as_str()[..9]).unwrap(), two);
    for unknown in [
        "nowhere",
        "",
        "HEAD:netbird.json",
        "a\nHEAD",
        "-h",
        "HEAD two",
    ] {
        let error = git.resolve(unknown).unwrap_err();
        assert!(error.to_string().contains("hint: "), "{unknown:?}: {error}");
    }
}

#[test]
fn messages_are_those_of_first_parents() {
    let repo = Repo::new();
    let root = repo.file(1, "1");
    let first = repo.commit(2, "the first\n\nwith a body");
    repo.git(&["checkout", "-q", "-b", "side"]);
    let side = repo.commit(3, "beside");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit(4, "between");
    repo.git_at(5, &["merge", "-q", "--no-ff", "-m", "the merge", "side"]);
    let (git, tip) = (repo.open(), repo.tip());
    let told = |first: &Sha, tip: &Sha| -> Vec<String> {
        let messages = git.messages(first, tip).unwrap().into_iter();
        messages
            .map(|message| {
                let text = message.text.trim_end();
                format!("{} {}: {text}", message.author, message.parents)
            })
            .collect()
    };
    assert_eq!(
        told(&first, &tip),
        [
            "a 2: the merge",
            "a 1: between",
            "a 1: the first\n\nwith a body"
        ]
    );
    assert_eq!(
        told(&root, &root),
        ["a 0: a change"],
        "a root has no parents"
    );
    assert!(git.is_ancestor(&side, &tip).unwrap());
    assert!(git.is_ancestor(&tip, &tip).unwrap());
    assert!(!git.is_ancestor(&tip, &side).unwrap());
    let unknown = Sha::parse(&"1".repeat(40)).unwrap();
    assert!(git.is_ancestor(&unknown, &tip).is_err());
}

#[test]
fn worktrees_and_sha256_are_checkouts_too() {
    let repo = Repo::new();
    let tip = repo.file(1, "{}");
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    repo.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let git = open(&tree);
    assert_eq!(git.head().unwrap(), Some(tip.clone()));
    assert_eq!(git.show(&tip, &netbird_json(&git)).unwrap().unwrap(), b"{}");

    let repo = Repo::new();
    std::fs::remove_dir_all(repo.path().join(".git")).unwrap();
    repo.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    let tip = repo.file(1, "{}");
    let git = repo.open();
    assert_eq!(tip.as_str().len(), 64);
    assert_eq!(git.show(&tip, &netbird_json(&git)).unwrap().unwrap(), b"{}");
    assert!(matches!(
        git.merge_view(&tip, &tip, &netbird_json(&git))
            .unwrap()
            .file,
        MergedFile::File(_)
    ));
}

#[test]
fn borrowed_objects_are_found() {
    let origin = Repo::new();
    let tip = origin.file(1, "{}");
    let dir = tempfile::tempdir().unwrap();
    let clone = dir.path().join("clo\"ne\nx");
    let from = origin.path().to_str().unwrap();
    origin.git(&["clone", "-q", "--shared", from, clone.to_str().unwrap()]);
    let git = open(&clone);
    let path = netbird_json(&git);
    assert_eq!(git.show(&tip, &path).unwrap().unwrap(), b"{}");
    assert!(matches!(
        git.merge_view(&tip, &tip, &path).unwrap().file,
        MergedFile::File(_)
    ));
}
