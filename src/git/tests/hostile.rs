//! A checkout whose configuration and attributes name programs: none of them may run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Stdio};

use crate::git::scratch::{ObjectStore, Scratch};
use crate::git::testing::{Repo, netbird_json};
use crate::git::{Git, GitError, MergedFile, Opened};

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

    // the traps work: git without our care steps on them
    for naive in [
        &["status"][..],
        &["merge-tree", "--write-tree", base.as_str(), head.as_str()],
        &["log", "-p", "main"],
    ] {
        let mut git = Command::new("git");
        git.current_dir(repo.path())
            .args(naive)
            .stdin(Stdio::null());
        git.output().unwrap();
        assert!(
            mark.exists(),
            "the test's own trap does not work: {naive:?}"
        );
        fs::remove_file(&mark).unwrap();
    }
    let writes = objects(&repo);

    let git = repo.open();
    let path = netbird_json(&git);
    assert!(git.head().unwrap().is_some());
    assert!(
        git.resolve("0123456789012345678901234567890123456789")
            .is_err()
    );
    git.show(&base, &path).unwrap().unwrap();
    git.messages(&start, &git.resolve("main").unwrap()).unwrap();
    git.is_ancestor(&start, &head).unwrap();
    let main = git.resolve("main").unwrap();
    git.changes(Some(&start), &main, &[&path], 10).unwrap();
    git.version(&main, &[&path]).unwrap();
    let merged = git.merge_view(&base, &head, &path).unwrap().file;
    assert!(
        matches!(merged, MergedFile::File(_) | MergedFile::Conflict),
        "{merged:?}"
    );

    let blob = repo
        .path()
        .join(".git/objects")
        .join(&missing[..2])
        .join(&missing[2..]);
    fs::remove_file(blob).unwrap();
    // what was read once is known
    let git = repo.open();
    let error: GitError = git.show(&base, &path).unwrap_err();
    assert!(error.to_string().contains("git"), "{error}");
    let error = git.version(&base, &[&path]).unwrap_err().to_string();
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

/// Runs an ignored test of this module in a process of its own: tests are threads of one process, so its variables are
/// not theirs to set.
fn alone<const N: usize>(test: &str, variables: [(&str, &str); N]) {
    let test = format!("git::tests::hostile::{test}");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--ignored", "--test-threads=1"])
        .envs(variables)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

/// A program called git that writes down its environment stands in for git.
#[test]
fn the_child_gets_no_token_and_no_foreign_git_variable() {
    let dir = tempfile::tempdir().unwrap();
    let (git, seen) = (dir.path().join("git"), dir.path().join("seen"));
    fs::write(
        &git,
        format!("#!/bin/sh\n/usr/bin/env >> {}\n", seen.display()),
    )
    .unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    let variables = [
        ("PATH", dir.path().to_str().unwrap()),
        ("NETBIRD_API_TOKEN", "s3cret"),
        ("GITEA_TOKEN", "s3cret"),
        ("GITHUB_TOKEN", "s3cret"),
        ("ACTIONS_RUNTIME_TOKEN", "s3cret"),
        ("AGE_PUBLIC_KEY", "s3cret"),
        ("WHATEVER", "s3cret"),
        ("GIT_DIR", "s3cret"),
        ("GIT_WORK_TREE", "s3cret"),
        ("GIT_EXTERNAL_DIFF", "s3cret"),
        ("GIT_CONFIG_PARAMETERS", "s3cret"),
        ("GIT_TRACE", "s3cret"),
        ("GIT_CONFIG_COUNT", "5"),
        ("GIT_CONFIG_KEY_0", "core.sshCommand"),
        ("GIT_CONFIG_VALUE_0", "s3cret"),
        ("GIT_CONFIG_KEY_1", "Safe.Directory"),
        ("GIT_CONFIG_VALUE_1", "/trusted"),
        ("GIT_CONFIG_KEY_2", "s3cret"),
        // an empty one takes back those before it
        ("GIT_CONFIG_KEY_3", "safe.directory"),
        ("GIT_CONFIG_VALUE_3", ""),
        ("GIT_CONFIG_KEY_4", "SAFE.directory"),
        ("GIT_CONFIG_VALUE_4", "/again"),
        ("LC_ALL", "s3cret"),
    ];
    alone("in_a_dirty_environment", variables);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(
        seen.contains("GIT_TERMINAL_PROMPT=0") && seen.contains("LC_ALL=C\n"),
        "{seen}"
    );
    assert!(!seen.contains("s3cret"), "{seen}");
    // whom git trusts is said there, too
    for line in [
        "GIT_CONFIG_COUNT=3",
        "GIT_CONFIG_VALUE_0=/trusted",
        "GIT_CONFIG_VALUE_1=",
        "GIT_CONFIG_VALUE_2=/again",
    ] {
        assert!(seen.lines().any(|found| found == line), "{line}: {seen}");
    }
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
    let _of_no_use = Git::open(dir.path());
    let _of_no_use = Scratch::new(dir.path().into(), dir.path(), false)
        .unwrap()
        .command(ObjectStore::Checkout)
        .args(["log"])
        .run();
}

#[test]
fn foreign_git_variables_do_not_lead_elsewhere() {
    let nowhere = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_EXEC_PATH",
    ];
    alone(
        "with_foreign_variables",
        nowhere.map(|name| (name, "/nowhere")),
    );
}

#[test]
#[ignore = "run by the test above"]
fn with_foreign_variables() {
    assert_eq!(
        std::env::var("GIT_DIR").unwrap(),
        "/nowhere",
        "for the test above only"
    );
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(
        Git::open(dir.path()).unwrap(),
        Opened::NotACheckout
    ));
}

#[test]
fn without_git_on_the_path_that_is_said() {
    alone("without_git", [("PATH", ".:/nowhere")]);
}

/// The directory of the checkout is on PATH, and a program there is called git: it is not ours to run.
#[test]
#[ignore = "run by the test above"]
fn without_git() {
    let dir = tempfile::tempdir().unwrap();
    let git = dir.path().join("git");
    fs::write(&git, "#!/bin/sh\necho git version 9.9\n").unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(Git::open(dir.path()).unwrap(), Opened::NoGit));
}

/// Only root can give a checkout to somebody else; for others the words alone are tested.
#[test]
fn a_checkout_of_another_user_is_an_error_with_gits_words_and_a_way_out() {
    let said = b"fatal: detected dubious ownership in repository at '/w'\nTo add an exception";
    let error = GitError::refused("rev-parse", said, "/w").to_string();
    assert!(error.contains("detected dubious ownership"), "{error}");
    assert!(
        error.contains("hint: ") && error.contains("safe.directory /w"),
        "{error}"
    );
    let repo = Repo::new();
    repo.file(1, "{}");
    let given = ["", ".git"].map(|dir| chown(repo.path().join(dir), Some(12_345), None).is_ok());
    if given == [true, true] {
        let error = Git::open(repo.path()).unwrap_err().to_string();
        assert!(
            error.contains("dubious ownership") && error.contains("hint: "),
            "{error}"
        );
    }
}
