//! The scripts of the workflows, run: with bash as the runners do, against a repository and a binary on disk.

use std::path::Path;
use std::process::Command;

use sha2::{Digest, Sha256};

use super::{SHIPPED, VARIANTS, WITHOUT_ACTIONS, all, in_directory};

/// Runs a script as a runner does (docs/gitea-api.md, "A job's environment") and returns whether it went well, and what
/// it said.
pub(super) fn bash(script: &str, directory: &Path, env: &[(&str, &str)]) -> (bool, String) {
    let output = Command::new("bash")
        .args([
            "--noprofile",
            "--norc",
            "-e",
            "-o",
            "pipefail",
            "-c",
            script,
        ])
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

fn git(directory: &Path, args: &[&str]) -> String {
    let identity = [
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@example.com"),
    ];
    let output = Command::new("git")
        .args(args)
        .current_dir(directory)
        .envs(identity)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The script of a step.
fn script(directory: &str, file: &str, name: &str) -> String {
    let workflows = in_directory(directory);
    let workflow = workflows
        .iter()
        .find(|workflow| workflow.file() == file)
        .unwrap();
    let step = workflow
        .steps()
        .into_iter()
        .find(|step| step["name"] == name)
        .unwrap();
    step["run"].as_str().unwrap().to_owned()
}

#[test]
fn every_script_is_bash() {
    for workflow in all() {
        for script in workflow.scripts() {
            let output = Command::new("bash")
                .args(["-n", "-c", script])
                .output()
                .unwrap();
            assert!(
                output.status.success() && output.stderr.is_empty(),
                "{}: {script}",
                workflow.path
            );
        }
    }
}

/// In the container of a job a script is run by `sh -e` (docs/gitea-api.md, "A job's environment").
#[test]
fn every_script_is_for_any_shell() {
    for workflow in all() {
        for script in workflow.scripts() {
            let output = Command::new("sh").args(["-n", "-c", script]).output();
            assert!(
                output.unwrap().status.success(),
                "{}: {script}",
                workflow.path
            );
            for of_bash in ["[[", "<<<", ",,}", "^^}", "pipefail", "local ", "=("] {
                assert!(!script.contains(of_bash), "{}: {of_bash}", workflow.path);
            }
        }
    }
}

/// A server's directory with the repository acme/net: two commits on main and a pull request from a fork.
fn served(at: &Path) -> [String; 3] {
    let repository = at.join("acme/net");
    std::fs::create_dir_all(&repository).unwrap();
    git(&repository, &["init", "-q", "-b", "main"]);
    let commit = |text: &str| {
        std::fs::write(repository.join("netbird.json"), text).unwrap();
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "-q", "-m", "m"]);
        git(&repository, &["rev-parse", "HEAD"])
    };
    let (first, second) = (commit("{\"n\": 1}\n"), commit("{\"n\": 2}\n"));
    std::fs::write(repository.join("evil.sh"), "exit 1").unwrap();
    std::fs::write(
        repository.join(".gitattributes"),
        "* filter=evil eol=crlf\n",
    )
    .unwrap();
    let head = commit("{\"n\": 3}\n");
    git(&repository, &["update-ref", "refs/pull/7/head", &head]);
    git(&repository, &["reset", "-q", "--hard", &second]);
    [first, second, head]
}

#[test]
fn checking_out_with_plain_git() {
    let directory = tempfile::tempdir().unwrap();
    let [first, second, head] = served(directory.path());
    let server = format!("file://{}", directory.path().display());
    for (file, git_ref, sha, wanted) in [
        ("plan.yml", "refs/pull/7/head", &head, &head),
        ("apply.yml", "refs/heads/main", &second, &second),
        ("enrollment.yml", "refs/heads/main", &first, &first),
        // From the tip, whatever the schedule says.
        ("drift.yml", "refs/heads/main", &first, &second),
    ] {
        let work = tempfile::tempdir().unwrap();
        let (ok, said) = bash(
            &script(WITHOUT_ACTIONS, file, "Check out"),
            work.path(),
            &[
                ("TOKEN", "s3cret"),
                ("GITHUB_SERVER_URL", &server),
                ("GITHUB_REPOSITORY", "acme/net"),
                ("GITHUB_REF", git_ref),
                ("GITHUB_REF_NAME", "main"),
                ("GITHUB_SHA", sha),
            ],
        );
        assert!(ok, "{file}: {said}");
        assert_eq!(&git(work.path(), &["rev-parse", "HEAD"]), wanted, "{file}");
        assert_eq!(
            git(work.path(), &["rev-parse", "origin/main"]),
            second,
            "{file}"
        );
        assert_eq!(
            git(work.path(), &["rev-parse", "--is-shallow-repository"]),
            "false"
        );
        // The token is in no file and in no output.
        assert!(!said.contains("s3cret"));
        let config = std::fs::read_to_string(work.path().join(".git/config")).unwrap();
        assert!(
            !config.contains("xtraHeader") && !config.contains("czNjcmV0"),
            "{config}"
        );
    }
}

#[test]
fn drift_goes_to_the_tip() {
    let directory = tempfile::tempdir().unwrap();
    let [first, second, _] = served(directory.path());
    let work = tempfile::tempdir().unwrap();
    let url = format!("file://{}/acme/net", directory.path().display());
    git(work.path(), &["clone", "-q", &url, "."]);
    git(work.path(), &["checkout", "-q", &first]);
    let (ok, said) = bash(
        &script(SHIPPED, "drift.yml", "Go to the tip"),
        work.path(),
        &[("GITHUB_REF_NAME", "main")],
    );
    assert!(ok, "{said}");
    assert_eq!(git(work.path(), &["rev-parse", "HEAD"]), second);
}

#[test]
fn of_a_fork_objects_are_fetched_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let [_, second, head] = served(directory.path());
    let work = tempfile::tempdir().unwrap();
    let url = format!("file://{}/acme/net", directory.path().display());
    git(work.path(), &["clone", "-q", &url, "."]);
    let script = script(
        VARIANTS,
        "plan-forks.yml",
        "Fetch the commits of the head as data",
    );
    let (ok, said) = bash(&script, work.path(), &[("NUMBER", "7")]);
    assert!(ok, "{said}");
    let file = git(work.path(), &["show", &format!("{head}:netbird.json")]);
    assert_eq!(file, "{\"n\": 3}");
    assert_eq!(git(work.path(), &["rev-parse", "HEAD"]), second);
    assert_eq!(git(work.path(), &["status", "--short"]), "");
    // one that is gone is not a plan of another commit
    assert!(!bash(&script, work.path(), &[("NUMBER", "8")]).0);
}

/// A pack of a fork can be small and hold a file of hundreds of megabytes, which git unpacks in memory.
#[test]
fn of_a_fork_no_large_file_is_fetched() {
    let directory = tempfile::tempdir().unwrap();
    let [_, _, head] = served(directory.path());
    let repository = directory.path().join("acme/net");
    // as Gitea and Forgejo serve it
    git(&repository, &["config", "uploadpack.allowFilter", "true"]);
    git(&repository, &["checkout", "-q", "--detach", &head]);
    std::fs::write(repository.join("README"), " ".repeat(17 << 20)).unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "-q", "-m", "m"]);
    git(&repository, &["update-ref", "refs/pull/7/head", "HEAD"]);
    let large = git(&repository, &["rev-parse", "HEAD:README"]);
    git(&repository, &["checkout", "-q", "main"]);
    let work = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repository.display());
    git(work.path(), &["clone", "-q", &url, "."]);
    let script = script(
        VARIANTS,
        "plan-forks.yml",
        "Fetch the commits of the head as data",
    );
    let (ok, said) = bash(&script, work.path(), &[("NUMBER", "7")]);
    assert!(ok, "{said}");
    let file = git(work.path(), &["show", "FETCH_HEAD:netbird.json"]);
    assert_eq!(file, "{\"n\": 3}");
    let list = ["cat-file", "--batch-all-objects", "--batch-check"];
    assert!(!git(work.path(), &list).contains(&large));
}

#[test]
fn getting_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = "#!/bin/sh\necho it runs\n";
    std::fs::write(directory.path().join("program"), program).unwrap();
    let digest: String = Sha256::digest(program)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let url = format!("file://{}/program", directory.path().display());
    let script = script(SHIPPED, "plan.yml", "Get netbird-gitops");
    let temp = directory.path().join("temp").display().to_string();
    let path = directory.path().join("path").display().to_string();
    let run = |digest: &str| {
        bash(
            &script,
            directory.path(),
            &[
                ("URL", &url),
                ("SHA256", digest),
                ("RUNNER_TEMP", &temp),
                ("GITHUB_PATH", &path),
            ],
        )
    };
    let (ok, said) = run(&digest);
    assert!(ok, "{said}");
    let bin = std::fs::read_to_string(&path).unwrap();
    assert_eq!(bin, format!("{temp}/bin\n"));
    let output = Command::new(Path::new(bin.trim()).join("netbird-gitops"))
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"it runs\n");
    // Another program, or no checksum at all, is refused.
    std::fs::remove_file(&path).unwrap();
    for wrong in [
        "",
        "0000000000000000000000000000000000000000000000000000000000000000",
    ] {
        assert!(!run(wrong).0);
        assert!(!Path::new(&path).exists());
    }
}

#[test]
fn a_program_that_is_there_is_not_fetched() {
    let directory = tempfile::tempdir().unwrap();
    let script = script(SHIPPED, "plan.yml", "Get netbird-gitops");
    let bin = directory.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let temp = directory.path().join("temp").display().to_string();
    let path = directory.path().join("path").display().to_string();
    let run = |url: &str| {
        let search = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let script = format!("export PATH='{search}'\n{script}");
        let env = [
            ("URL", url),
            ("SHA256", ""),
            ("RUNNER_TEMP", &temp),
            ("GITHUB_PATH", &path),
        ];
        bash(&script, directory.path(), &env)
    };
    let (ok, said) = run("");
    assert!(!ok && said.contains("docs/gitea.md"), "{said}");
    let program = bin.join("netbird-gitops");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    super::release::make_executable(&program);
    let (ok, said) = run("");
    assert!(ok && !Path::new(&path).exists(), "{said}");
    // what somebody named goes before what happens to be there
    assert!(!run("file:///nowhere").0);
}
