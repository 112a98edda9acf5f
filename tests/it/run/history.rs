//! A bench whose file has a git history, with commits and the server's clock on one time line of hours.
//!
//! Hour 0 is long ago, so that no commit lies ahead of the machine's clock.

use std::process::Command;

use serde_json::Value;

use super::site::QUIET_GIT;
use super::{Bench, Run};

/// Hour 0: 2023-11-14T22:13:20Z.
pub(crate) const HOUR_0: i64 = 1_700_000_000;

/// The second of an hour, such as 1.5.
pub(crate) fn second(hour: f64) -> i64 {
    HOUR_0 + (hour * 3600.0) as i64
}

impl Bench {
    /// A bench with the fake at hour 0, in a git checkout without commits.
    pub(crate) fn in_git() -> Bench {
        let bench = Bench::fake();
        fakes::init(&bench.path(".git"), "main", false).unwrap();
        bench.hour(0.0);
        bench
    }

    /// Stops the fake's clock at an hour.
    pub(crate) fn hour(&self, hour: f64) -> &Bench {
        self.netbird().set_clock(second(hour));
        self
    }

    /// Runs git in the bench's directory and returns its output.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_at(HOUR_0, args)
    }

    /// Runs git at a second since 1970.
    #[track_caller]
    pub(crate) fn git_at(&self, second: i64, args: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.path(""))
            .envs(QUIET_GIT)
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.org")
            .env("GIT_AUTHOR_DATE", "@1000 +0000")
            .env("GIT_COMMITTER_DATE", format!("@{second} +0000"))
            .args(args)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "git {args:?}: {out}{err}");
        out.trim_end().to_owned()
    }

    /// Commits netbird.json, or an empty commit where it is as it was.
    #[track_caller]
    pub(crate) fn commit(&self, second: i64, message: &str) -> &Bench {
        let commit = ["commit", "-q", "--allow-empty", "-m", message];
        // a name in the index has its length before it
        let index = std::fs::read(self.path(".git/index")).unwrap_or_default();
        let name = b"\0\x0cnetbird.json\0";
        if index.windows(name.len()).any(|part| part == name) {
            // both in one process: of a file that git does not have yet it says nothing
            let tracked = [&commit[..], &["-i", "--", "netbird.json"]].concat();
            self.git_at(second, &tracked);
        } else {
            self.git(&["add", "-A", "--", "netbird.json"]);
            self.git_at(second, &commit);
        }
        self
    }

    /// Commits this file in that hour, to which the fake's clock moves.
    #[track_caller]
    pub(crate) fn declared(&self, hour: f64, file: Value) -> &Bench {
        self.declared_with(hour, file, "a change")
    }

    /// Commits this file in that hour with a message.
    #[track_caller]
    pub(crate) fn declared_with(&self, hour: f64, file: Value, message: &str) -> &Bench {
        self.hour(hour).file(file).commit(second(hour), message)
    }

    /// Commits this file in that hour and applies it; from here on everybody agrees.
    #[track_caller]
    pub(crate) fn applied(&self, hour: f64, file: Value) -> &Bench {
        self.declared(hour, file).apply(&[]).expect(0);
        self.server().clear_requests();
        self
    }

    /// Commits this file in that hour, with the line that the plan of the work tree prints for it.
    #[track_caller]
    pub(crate) fn declared_agreed(&self, hour: f64, file: Value, subject: &str) -> &Bench {
        self.hour(hour).file(file);
        let message = format!("{subject}\n\n{}", self.line("line", &[]));
        self.commit(second(hour), &message)
    }

    /// The line that the plan prints first, or the one that goes with it (`line_with_let_go`).
    #[track_caller]
    pub(crate) fn line(&self, which: &str, args: &[&str]) -> String {
        let plan = self.plan(&[&["--format", "json"], args].concat()).expect(0);
        let line = plan.json()["agreements"][0][which].clone();
        let line = line.as_str().map(str::to_owned);
        line.unwrap_or_else(|| panic!("no {which}: {}", plan.stdout))
    }

    /// What a plan with these flags would do, as `delete_group x`.
    #[track_caller]
    pub(crate) fn planned(&self, args: &[&str]) -> Vec<String> {
        let run = self.plan(&[&["--format", "json"], args].concat()).expect(0);
        let operations = run.operations().into_iter();
        operations
            .map(|op| op.trim_end_matches(" pending").to_owned())
            .collect()
    }

    /// What a plan lets go, as `policies/x: WHY`.
    #[track_caller]
    pub(crate) fn let_go(&self) -> Vec<String> {
        let plan = self.plan(&["--format", "json"]).expect(0).json();
        let rows = plan["let_go"].as_array().unwrap().iter();
        let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
        rows.map(|row| {
            format!(
                "{} {}: {}",
                text(row, "kind"),
                text(row, "name"),
                text(row, "why")
            )
        })
        .collect()
    }

    /// That an apply with these flags changes nothing and succeeds.
    #[track_caller]
    pub(crate) fn leaves_all(&self, args: &[&str]) -> Run {
        self.server().clear_requests();
        let run = self.apply(args).expect(0);
        self.assert_writes(&[]);
        run
    }

    /// That an apply with these flags is refused with nothing written.
    #[track_caller]
    pub(crate) fn refuses(&self, args: &[&str]) -> Run {
        self.server().clear_requests();
        let run = self.apply(args).expect(3);
        self.assert_writes(&[]);
        run.says("refused: ").says("nothing was changed")
    }

    /// That neither a plan nor an apply is possible with these flags, and that nothing is written.
    #[track_caller]
    pub(crate) fn cannot(&self, args: &[&str]) -> Run {
        self.server().clear_requests();
        self.plan(args).expect(1);
        let run = self.apply(args).expect(1);
        self.assert_writes(&[]);
        run
    }
}

impl Run {
    /// Ends the test unless stdout or stderr says this.
    #[track_caller]
    pub(crate) fn says_anywhere(self, text: &str) -> Run {
        assert!(
            self.stdout.contains(text) || self.stderr.contains(text),
            "nothing says {text:?}:\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}
