//! Real repositories for tests, made with the git binary and fixed dates.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{Git, Opened, RepoPath, Sha};

/// A checkout in a temporary directory.
pub(crate) struct Repo {
    dir: TempDir,
}

impl Repo {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in(fakes::in_memory()).unwrap();
        fakes::init(&dir.path().join(".git"), "main", false).unwrap();
        Repo { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs git in it and returns its output.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_at(0, args)
    }

    /// Runs git with the clock at that second.
    pub(crate) fn git_at(&self, second: i64, args: &[&str]) -> String {
        let date = format!("@{second} +0000");
        let output = Command::new("git")
            .current_dir(self.path())
            .envs([
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_COUNT", "2"),
                ("GIT_CONFIG_KEY_0", "core.fsync"),
                ("GIT_CONFIG_VALUE_0", "none"),
                ("GIT_CONFIG_KEY_1", "maintenance.auto"),
                ("GIT_CONFIG_VALUE_1", "false"),
                ("GIT_AUTHOR_NAME", "a"),
                ("GIT_AUTHOR_EMAIL", "a@example.org"),
                ("GIT_COMMITTER_NAME", "a"),
                ("GIT_COMMITTER_EMAIL", "a@example.org"),
                ("GIT_AUTHOR_DATE", "@1000 +0000"),
                ("GIT_COMMITTER_DATE", &date),
            ])
            .args(args)
            .output()
            .unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "git {args:?}: {out}{err}");
        out.trim_end().to_owned()
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Commits all that is there, and returns the commit.
    pub(crate) fn commit(&self, second: i64, message: &str) -> Sha {
        self.git(&["add", "-A"]);
        self.git_at(second, &["commit", "-q", "--allow-empty", "-m", message]);
        self.tip()
    }

    /// Writes `netbird.json` and commits it.
    pub(crate) fn file(&self, second: i64, content: impl AsRef<[u8]>) -> Sha {
        self.write("netbird.json", content);
        self.commit(second, "a change")
    }

    pub(crate) fn tip(&self) -> Sha {
        Sha::parse(&self.git(&["rev-parse", "HEAD"])).unwrap()
    }

    pub(crate) fn open(&self) -> Git {
        open(self.path())
    }
}

/// Opens a directory that is a checkout.
pub(crate) fn open(dir: &Path) -> Git {
    match Git::open(dir).unwrap() {
        Opened::Checkout(git) => git,
        other => panic!("{other:?}"),
    }
}

/// The path of `netbird.json` at the root.
pub(crate) fn netbird_json(git: &Git) -> RepoPath {
    at(git, "netbird.json")
}

/// A path from the root.
pub(crate) fn at(git: &Git, path: &str) -> RepoPath {
    git.locate(&git.top.join(path)).unwrap()
}
