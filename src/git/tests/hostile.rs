//! A checkout whose configuration and attributes name programs: none of them may run.

use std::fs;
use std::process::{Command, Stdio};

use crate::git::testing::{Repo, netbird_json};
use crate::git::{GitError, Merged, Range};
use crate::ledger::Ledger;

/// Every way known to us in which reading a repository runs something. `{}` is the program.
const CONFIG: &str = r#"
[core]
    fsmonitor = {}
    hooksPath = hooks
    pager = {}
    askPass = {}
    sshCommand = {}
    gitProxy = {}
    editor = {}
    alternateRefsCommand = {}
    attributesFile = attributes
    repositoryformatversion = 1
[extensions]
    partialClone = origin
[remote "origin"]
    url = ext::{}
    promisor = true
    uploadpack = {}
    fetch = +refs/heads/*:refs/remotes/origin/*
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[credential]
    helper = "!{}"
[diff]
    external = {}
    trustExitCode = true
[diff "evil"]
    command = {}
    textconv = {}
    cachetextconv = false
[filter "evil"]
    clean = {}
    smudge = {}
    process = {}
    required = true
[merge]
    default = evil
[merge "evil"]
    name = evil
    driver = {}
[pager]
    log = {}
    cat-file = {}
    rev-parse = {}
[alias]
    log = "!{}"
    rev-parse = "!{}"
    cat-file = "!{}"
    merge-tree = "!{}"
[log]
    showSignature = true
    follow = true
    mailmap = true
[gpg]
    program = {}
[gpg "ssh"]
    program = {}
[interactive]
    diffFilter = {}
[trace2]
    normalTarget = TARGET
[uploadpack]
    packObjectsHook = {}
[include]
    path = included
"#;

#[test]
fn nothing_that_the_checkout_names_is_run() {
    let repo = Repo::new();
    let evil = repo.path().join(".git/evil");
    let mark = repo.path().join(".git/it-ran");
    repo.write(
        ".git/evil",
        format!("#!/bin/sh\necho \"$0 $*\" >> {}\n", mark.display()),
    );
    Command::new("chmod").arg("+x").arg(&evil).status().unwrap();
    repo.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    let start = repo.file(1, "{\"groups\": {}}\n");
    repo.git(&["checkout", "-q", "-b", "side"]);
    let head = repo.file(2, "{\"groups\": {\"a\": {}}}\n");
    repo.git(&["checkout", "-q", "main"]);
    let base = repo.file(3, "{\"groups\": {}}\n\n\n\n\n");
    // a signature that gpg would have to look at
    let signed = repo.git(&["cat-file", "commit", "HEAD"]);
    let signed = signed.replacen(
        "\n\n",
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n",
        1,
    );
    repo.write(".git/signed", signed);
    let signed = repo.git(&[
        "hash-object",
        "-t",
        "commit",
        "-w",
        "--literally",
        ".git/signed",
    ]);
    repo.git(&["update-ref", "refs/heads/main", &signed]);
    // a blob that only a remote has
    let missing = repo.git(&["hash-object", "netbird.json"]);

    let evil = evil.display().to_string();
    let config = CONFIG
        .replace("{}", &evil)
        .replace("TARGET", &mark.display().to_string());
    let old = fs::read_to_string(repo.path().join(".git/config")).unwrap();
    repo.write(".git/config", old + &config);
    repo.write(
        ".git/included",
        format!("[core]\n\tfsmonitor = {evil}\n[diff]\n\texternal = {evil}\n"),
    );
    repo.write(".git/attributes", "* filter=evil diff=evil merge=evil\n");
    repo.write(
        ".git/info/attributes",
        "* filter=evil diff=evil merge=evil\n",
    );
    for hook in [
        "post-index-change",
        "reference-transaction",
        "post-checkout",
        "fsmonitor-watchman",
    ] {
        for dir in [".git/hooks", "hooks"] {
            fs::create_dir_all(repo.path().join(dir)).unwrap();
            fs::copy(&evil, repo.path().join(dir).join(hook)).unwrap();
        }
    }
    repo.write(
        "netbird.json",
        "changed since, so that a refresh would look\n",
    );

    // the trap works: git without our care steps on it
    let mut status = Command::new("git");
    status
        .current_dir(repo.path())
        .args(["status"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    status.status().unwrap();
    assert!(mark.exists(), "the test's own trap does not work");
    fs::remove_file(&mark).unwrap();
    let writes = objects(&repo);

    let git = repo.open();
    let path = netbird_json(&git);
    assert!(git.head().unwrap().is_some());
    assert!(
        git.resolve("0123456789012345678901234567890123456789")
            .is_err()
    );
    git.show(&base, &path).unwrap().unwrap();
    git.messages(Range::Between {
        base: &start,
        head: &git.resolve("main").unwrap(),
    })
    .unwrap();
    Ledger::read(
        &git,
        &git.resolve("main").unwrap(),
        std::slice::from_ref(&path),
        10,
    )
    .unwrap();
    let merged = git.merge(&base, &head, &path).unwrap();
    assert!(
        matches!(merged, Merged::File(..) | Merged::Conflict(..)),
        "{merged:?}"
    );

    let blob = repo
        .path()
        .join(".git/objects")
        .join(&missing[..2])
        .join(&missing[2..]);
    fs::remove_file(blob).unwrap();
    let error: GitError = git.show(&base, &path).unwrap_err();
    assert!(error.to_string().contains("git"), "{error}");
    let error = Ledger::read(&git, &base, &[path], 10)
        .unwrap_err()
        .to_string();
    assert!(error.contains("missing"), "{error}");
    assert!(error.contains("no filter"), "{error}");

    let ran = fs::read_to_string(&mark).unwrap_or_default();
    assert_eq!(ran, "", "run by reading");
    assert_eq!(
        objects(&repo),
        writes - 1,
        "reading wrote into the checkout"
    );
}

fn objects(repo: &Repo) -> usize {
    let count = |dir: fs::DirEntry| fs::read_dir(dir.path()).unwrap().count();
    let dirs = fs::read_dir(repo.path().join(".git/objects")).unwrap();
    dirs.map(|dir| count(dir.unwrap())).sum()
}

/// Tests run as threads of one process, so its variables are not ours to set: this one looks at what a child gets, in a
/// process of its own.
#[test]
fn the_child_gets_no_token_and_no_foreign_git_variable() {
    let here = std::env::current_exe().unwrap();
    let test = "git::tests::hostile::in_a_dirty_environment";
    let output = Command::new(here)
        .args(["--exact", test, "--ignored", "--test-threads=1"])
        .envs([
            ("NETBIRD_API_TOKEN", "s3cret"),
            ("GITEA_TOKEN", "s3cret"),
            ("GITHUB_TOKEN", "s3cret"),
            ("ACTIONS_RUNTIME_TOKEN", "s3cret"),
            ("WHATEVER", "s3cret"),
            ("GIT_DIR", "/nowhere"),
            ("GIT_WORK_TREE", "/nowhere"),
            ("GIT_INDEX_FILE", "/nowhere"),
            ("GIT_OBJECT_DIRECTORY", "/nowhere"),
            ("GIT_EXTERNAL_DIFF", "/bin/false"),
            ("GIT_CONFIG_PARAMETERS", "'core.bare=true'"),
            ("GIT_EXEC_PATH", "/nowhere"),
            ("GIT_TRACE", "1"),
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by the test above"]
fn in_a_dirty_environment() {
    assert_eq!(
        std::env::var("WHATEVER").unwrap(),
        "s3cret",
        "for the test above only"
    );
    let dir = tempfile::tempdir().unwrap();
    let environment = super::super::command::Command::in_checkout(dir.path()).environment();
    assert!(
        !environment
            .iter()
            .any(|(_, value)| value.contains("s3cret"))
    );
    let foreign = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_EXEC_PATH",
        "GIT_TRACE",
        "GIT_CONFIG_PARAMETERS",
    ];
    assert!(
        !environment
            .iter()
            .any(|(name, _)| foreign.contains(&name.as_str())),
        "{environment:?}"
    );
    assert!(matches!(
        super::Git::open(dir.path()).unwrap(),
        super::Opened::NotACheckout
    ));
}
