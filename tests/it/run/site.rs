//! A bench beside the repository that holds its netbird.json: the fake Gitea, or a real one.
//!
//! The bench's directory is the checkout of a job; where a test needs no git it holds the file alone.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fakes::Gitea;
use serde_json::Value;

use super::forge::Repo;
use super::{Bench, INVENTORY, Job, Run, Server};

/// A server, a repository and a checkout.
pub(crate) struct Site {
    pub(crate) bench: Bench,
    repo: Repo,
}

/// A run in the background, of which there may be several.
pub(crate) struct Started(Child);

impl Site {
    /// Two fakes.
    pub(crate) fn fake() -> Site {
        Site::of(Bench::fake(), Repo::Fake(Gitea::start()))
    }

    /// The same with a Forgejo.
    pub(crate) fn forgejo() -> Site {
        Site::of(Bench::fake(), Repo::Fake(Gitea::start_forgejo()))
    }

    /// A site for what must hold on every server, see [`Bench::scenario`]. The repository is a real one where
    /// `NETBIRD_GITOPS_TEST_REAL=1` and `GITEA_URL` are set, with `GITEA_TOKEN` (the bot's) and `GITEA_ADMIN_TOKEN` of
    /// somebody who may make repositories: there a private one with a random name is made, and deleted in the end.
    pub(crate) fn scenario() -> Site {
        let repo = Repo::real().unwrap_or_else(|| Repo::Fake(Gitea::start()));
        Site::of(Bench::scenario(), repo)
    }

    /// The same for what needs a machine that enrolls, see [`Bench::scenario_that_enrolls`].
    pub(crate) fn scenario_that_enrolls() -> Site {
        let repo = Repo::real().unwrap_or_else(|| Repo::Fake(Gitea::start()));
        Site::of(Bench::scenario_that_enrolls(), repo)
    }

    /// The same for what needs a user who may only read: where `GITEA_ADMIN_TOKEN` is no site administrator's it runs on the
    /// fake.
    pub(crate) fn scenario_with_a_reader() -> Site {
        let repo = Repo::real_with_users().unwrap_or_else(|| Repo::Fake(Gitea::start()));
        Site::of(Bench::scenario(), repo)
    }

    /// The fake Gitea beside a real account of its own, see [`Server::real_account`], or else beside the fake.
    pub(crate) fn scenario_of_an_account() -> Site {
        let server = Server::real_account().unwrap_or_else(Server::fake);
        Site::of(Bench::on(server), Repo::Fake(Gitea::start()))
    }

    fn of(bench: Bench, repo: Repo) -> Site {
        Site { bench, repo }
    }

    /// The repository.
    pub(crate) fn repo(&self) -> &Repo {
        &self.repo
    }

    /// The fake Gitea. Panics where the repository is a real one.
    pub(crate) fn gitea(&self) -> &Gitea {
        match &self.repo {
            Repo::Fake(gitea) => gitea,
            Repo::Real(_) => panic!("this needs the fake: begin with Site::fake()"),
        }
    }

    /// The text of a file as a person writes it, with the names that the server knows.
    pub(crate) fn text(&self, file: Value) -> String {
        format!("{:#}\n", self.bench.server().prefixed(file))
    }

    /// Pushes the file to `main` and checks it out.
    pub(crate) fn commit(&self, file: Value) -> String {
        let text = self.text(file);
        self.commit_text(&text);
        text
    }

    /// Pushes a text to `main` and checks it out.
    pub(crate) fn commit_text(&self, text: &str) {
        self.repo
            .push("main", "netbird.json", text.as_bytes(), "netbird.json");
        self.bench.text(text);
    }

    /// What `main` holds now.
    pub(crate) fn file(&self) -> String {
        String::from_utf8(self.repo.file("main", "netbird.json")).unwrap()
    }

    /// The inventory on its branch; null where a fake has none.
    pub(crate) fn inventory(&self) -> Value {
        let [branch, path] = INVENTORY;
        match &self.repo {
            Repo::Fake(gitea) if gitea.sha(branch, path).is_none() => Value::Null,
            repo => serde_json::from_slice(&repo.file(branch, path)).unwrap(),
        }
    }

    /// Runs the program with the bot's settings.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, &[])
    }

    /// Runs the program with the bot's settings and further ones, which win.
    pub(crate) fn run_with(&self, args: &[&str], more: &[(&str, &str)]) -> Run {
        self.start_with(args, more).wait(&self.bench)
    }

    /// Starts the program with the bot's settings.
    pub(crate) fn start(&self, args: &[&str]) -> Started {
        self.start_with(args, &[])
    }

    /// The program with the bot's settings, ready to run.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bench.command(args);
        command
            .env("GITEA_URL", self.repo.url())
            .env("GITEA_REPO", self.repo.full_name())
            .env("GITEA_TOKEN", self.repo.token())
            .env("GITEA_BRANCH", "main");
        command
    }

    fn start_with(&self, args: &[&str], more: &[(&str, &str)]) -> Started {
        let mut command = self.command(args);
        command.envs(more.iter().copied());
        start(command)
    }

    /// Runs the program in a job: these variables, and of ours the tokens alone.
    pub(crate) fn in_job(&self, args: &[&str], job: &Job) -> Run {
        self.start_job(args, job).wait(&self.bench)
    }

    /// Starts the program in a job.
    pub(crate) fn start_job(&self, args: &[&str], job: &Job) -> Started {
        start(self.job_command(args, job))
    }

    /// The program in a job, ready to run.
    pub(crate) fn job_command(&self, args: &[&str], job: &Job) -> Command {
        let mut command = self.bench.command(args);
        command.env("GITEA_TOKEN", self.repo.token());
        job.set(&mut command);
        command
    }

    /// Makes the bench's directory a checkout, as a job's step does it without any action.
    pub(crate) fn checkout(&self, revision: &str) {
        match &self.repo {
            Repo::Fake(gitea) => self.borrow(gitea),
            Repo::Real(_) => self.fetch(&[
                "+refs/heads/*:refs/remotes/origin/*",
                "+refs/pull/*:refs/pull/*",
            ]),
        }
        let checkout = ["checkout", "-q", "--force", "--detach", revision];
        git(&self.bench.path(""), &checkout);
    }

    /// Does what a fetch of all would do, without its processes: borrows the fake's objects, and has its refs.
    fn borrow(&self, gitea: &Gitea) {
        let (dir, from) = (self.bench.path(".git"), gitea.git_dir());
        if !dir.exists() {
            fakes::init(&dir, "main", false).unwrap();
        }
        let objects = format!("{}\n", from.join("objects").display());
        fs::write(dir.join("objects/info/alternates"), objects).unwrap();
        let refs = git(
            &from,
            &["for-each-ref", "--format=%(objectname) %(refname)"],
        );
        for line in refs.lines() {
            let (id, name) = line.split_once(' ').unwrap();
            let to = dir.join(name.replacen("refs/heads/", "refs/remotes/origin/", 1));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, format!("{id}\n")).unwrap();
        }
    }

    /// Fetches into the bench's directory: these refs, and before them flags.
    pub(crate) fn fetch(&self, wanted: &[&str]) {
        let dir = self.bench.path("");
        if !dir.join(".git").exists() {
            fakes::init(&dir.join(".git"), "main", false).unwrap();
        }
        let (flags, refs): (Vec<&str>, Vec<&str>) =
            wanted.iter().partition(|text| text.starts_with('-'));
        let (options, url) = (self.repo.git_options(), self.repo.git_url());
        let mut fetch: Vec<&str> = options.iter().map(String::as_str).collect();
        fetch.extend(["fetch", "-q", "--force"]);
        fetch.extend(flags.into_iter().chain([url.as_str()]).chain(refs));
        git(&dir, &fetch);
    }
}

impl Started {
    /// Waits for the end.
    pub(crate) fn wait(self, bench: &Bench) -> Run {
        bench.outcome(self.0.wait_with_output().unwrap())
    }
}

/// Starts a command whose output is kept.
fn start(mut command: Command) -> Started {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Started(command.spawn().expect("the program runs"))
}

/// The variables of a git that reads nobody's settings, waits for no disk, and starts no other process at its end.
pub(crate) const QUIET_GIT: [(&str, &str); 7] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "core.fsync"),
    ("GIT_CONFIG_VALUE_0", "none"),
    ("GIT_CONFIG_KEY_1", "maintenance.auto"),
    ("GIT_CONFIG_VALUE_1", "false"),
];

/// Runs git in a directory and returns its output.
#[track_caller]
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let person = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "alice"));
    let mail = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "alice@example.org"));
    let output = Command::new("git")
        .current_dir(dir)
        .envs(person.into_iter().chain(mail))
        .envs(QUIET_GIT)
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}
