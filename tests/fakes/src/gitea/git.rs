//! A bare repository, driven through `git`: commits, blobs and refs are real, and so is the way in
//! which a push loses against another. What may be written, and by whom, is left to others.

mod objects;
mod reader;

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use reader::{Object, Reader};

pub(super) use objects::{Change, Draft, Entry, Log, Logged, Person};

/// The old value of a ref that is not there yet.
pub(super) const NOTHING: &str = "0000000000000000000000000000000000000000";

/// A handle to a bare repository.
#[derive(Clone)]
pub(super) struct Git {
    folder: PathBuf,
    /// What git said of objects, which have ids for names and never change: a process is what a request here costs.
    said: Arc<Mutex<HashMap<Vec<String>, Vec<u8>>>>,
    /// Starts with the first object that is read.
    reader: Arc<Mutex<Option<Reader>>>,
}

impl Git {
    /// Makes an empty repository in this folder.
    pub(super) fn init(folder: PathBuf, default_branch: &str) -> Git {
        let git = Git {
            folder,
            said: Arc::default(),
            reader: Arc::default(),
        };
        crate::disk::init(&git.folder, default_branch, true).expect("a folder for a repository");
        git
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns what a commit-ish names, however it is written.
    pub(super) fn resolve(&self, revision: &str) -> Option<String> {
        if let Some(branch) = self.loose(revision) {
            return Some(branch);
        }
        let commit = self.object(&format!("{revision}^{{commit}}"));
        commit.map(|commit| commit.id)
    }

    /// Returns the object that a name means.
    fn object(&self, name: &str) -> Option<Object> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = reader.get_or_insert_with(|| Reader::start(self.in_folder()));
        let is_line = !name.contains(['\n', '\0']);
        is_line.then(|| reader.object(name))?
    }

    /// Returns the commit of a branch from the file that git keeps it in. None where git has to be asked.
    fn loose(&self, name: &str) -> Option<String> {
        let is_branch = name.starts_with("refs/heads/") && !name.contains("..");
        let text = fs::read_to_string(self.folder.join(name)).ok();
        let id = text.filter(|_| is_branch)?.trim_end().to_owned();
        is_id(&id).then_some(id)
    }

    /// Returns the commit or the tree that a revision names, a tag's commit for a tag.
    pub(super) fn treeish(&self, revision: &str) -> Option<String> {
        let tree = || self.object(&format!("{revision}^{{tree}}"));
        self.resolve(revision).or_else(|| Some(tree()?.id))
    }

    /// Returns the bytes of a blob. None where the id is no blob's.
    pub(super) fn find_blob(&self, sha: &str) -> Option<Vec<u8>> {
        let blob = self.object(sha).filter(|object| object.kind == "blob");
        blob.map(|blob| blob.bytes)
    }

    /// Returns the commit at the tip of a branch.
    pub(super) fn tip(&self, branch: &str) -> Option<String> {
        self.resolve(&format!("refs/heads/{branch}"))
    }

    /// Returns the files that git keeps its refs in, with their bytes.
    pub(super) fn refs(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut folders = vec![self.folder.join("refs")];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder of refs") {
                let path = entry.expect("an entry of a folder").path();
                // a lock may be gone by now
                match fs::read(&path) {
                    Ok(bytes) => found.push((path, bytes)),
                    Err(_) if path.is_dir() => folders.push(path),
                    Err(_) => {}
                }
            }
        }
        found.push((
            self.folder.join("packed-refs"),
            fs::read(self.folder.join("packed-refs")).unwrap_or_default(),
        ));
        found
    }

    /// Brings the refs back to what [`Git::refs`] returned; objects are never taken away.
    pub(super) fn set_refs(&self, refs: &[(PathBuf, Vec<u8>)]) {
        fs::remove_dir_all(self.folder.join("refs")).expect("a folder of refs");
        for (path, bytes) in refs {
            let folder = path.parent().expect("a folder around a file");
            fs::create_dir_all(folder).expect("a folder of refs");
            fs::write(path, bytes).expect("a ref");
        }
        fs::create_dir_all(self.folder.join("refs/heads")).expect("a folder of refs");
    }

    /// Returns the names of all branches, in order.
    pub(super) fn branches(&self) -> Vec<String> {
        let heads = self.folder.join("refs/heads");
        let loose = self.refs().into_iter();
        let names = loose.filter_map(|(path, _)| {
            let name = path.strip_prefix(&heads).ok()?;
            Some(name.to_str()?.to_owned())
        });
        let mut names: Vec<String> = names.filter(|name| !name.ends_with(".lock")).collect();
        names.sort();
        names
    }

    /// Returns the last commit before two branches part.
    pub(super) fn merge_base(&self, one: &str, other: &str) -> Option<String> {
        let output = run(self.in_folder().args(["merge-base", one, other]), b"");
        let base = text(&output.stdout).trim_end().to_owned();
        Some(base).filter(|base| !base.is_empty())
    }

    /// Returns the commits that `to` has and `from` has not, newest first.
    pub(super) fn between(&self, from: &str, to: &str) -> Vec<String> {
        let listed = self.get(&["rev-list", to, "--not", from, "--"]);
        text(&listed).lines().map(str::to_owned).collect()
    }

    /// Merges a commit into another, and returns the merge commit. None where they conflict.
    pub(super) fn merge(&self, into: &str, from: &str, draft: &Draft) -> Option<String> {
        let tree = self.merged_tree(into, from)?;
        Some(self.commit_tree(&tree, &[into, from], draft))
    }

    /// Puts all that a branch changes on top of a commit, as one commit.
    pub(super) fn squash(&self, onto: &str, from: &str, draft: &Draft) -> Option<String> {
        let tree = self.merged_tree(onto, from)?;
        Some(self.commit_tree(&tree, &[onto], draft))
    }

    /// Puts each commit of a branch without merges that began at `start` on top of a commit, with its own message.
    pub(super) fn rebase(
        &self,
        onto: &str,
        start: &str,
        head: &str,
        draft: &Draft,
    ) -> Option<String> {
        let range = format!("{start}..{head}");
        let commits = text(&self.get(&["rev-list", "--reverse", &range]));
        let mut tip = onto.to_owned();
        for commit in commits.lines() {
            let draft = Draft {
                message: text(&self.get(&["log", "-1", "--format=%B", commit])),
                changes: Vec::new(),
                author: draft.author.clone(),
                committer: draft.committer.clone(),
            };
            // what the tip has, as if it had begun where the commit did
            let (tree, before) = (format!("{tip}^{{tree}}"), format!("{commit}^"));
            let beside = self.commit_tree(&tree, &[&before], &draft);
            let tree = self.merged_tree(&beside, commit)?;
            tip = self.commit_tree(&tree, &[&tip], &draft);
        }
        Some(tip)
    }

    /// Returns the tree of the merge of two commits. None where they conflict.
    fn merged_tree(&self, into: &str, from: &str) -> Option<String> {
        let mut command = self.in_folder();
        let output = run(
            command.args(["merge-tree", "--write-tree", into, from]),
            b"",
        );
        let tree = text(&output.stdout);
        let tree = tree.lines().next().filter(|_| output.status.success())?;
        Some(tree.to_owned())
    }

    /// Writes a commit of a tree with these parents.
    fn commit_tree(&self, tree: &str, parents: &[&str], draft: &Draft) -> String {
        let mut command = self.in_folder();
        let Person { name, email, date } = &draft.committer;
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), name)
                .env(format!("GIT_{role}_EMAIL"), email)
                .env(format!("GIT_{role}_DATE"), date);
        }
        command.args(["commit-tree", tree]);
        command.args(parents.iter().flat_map(|parent| ["-p", *parent]));
        let output = run(&mut command, draft.message.as_bytes());
        assert!(
            output.status.success(),
            "git commit-tree: {}",
            told(&output)
        );
        text(&output.stdout).trim_end().to_owned()
    }

    /// Moves a ref from one commit to another, as a push does at its end. An error is git's own
    /// text: `cannot lock ref '…': is at X but expected Y`.
    pub(super) fn push(&self, name: &str, new: &str, old: &str) -> Result<(), String> {
        if self.moved(name, new, old).is_some() {
            return Ok(());
        }
        let output = run(self.in_folder().args(["update-ref", name, new, old]), b"");
        if output.status.success() {
            return Ok(());
        }
        let told = told(&output);
        Err(told
            .find("cannot lock ref")
            .map_or(told.as_str(), |at| &told[at..])
            .to_owned())
    }

    /// Moves a branch as git does, by a lock that takes its place. None where git has to do it, or to say why not.
    fn moved(&self, name: &str, new: &str, old: &str) -> Option<()> {
        if self.loose(name)? != old || !is_id(new) {
            return None;
        }
        let file = self.folder.join(name);
        let lock = self.folder.join(format!("{name}.lock"));
        let mut made = fs::File::create_new(&lock).ok()?;
        let is_still = self.loose(name).is_some_and(|commit| commit == old);
        let written = is_still.then(|| made.write_all(format!("{new}\n").as_bytes()));
        match written {
            Some(Ok(())) => fs::rename(&lock, file).ok(),
            _ => fs::remove_file(&lock).ok().and(None),
        }
    }

    /// Points a ref to a commit, wherever it was.
    pub(super) fn set(&self, name: &str, commit: &str) {
        self.get(&["update-ref", name, commit]);
    }

    pub(super) fn delete(&self, name: &str) {
        self.get(&["update-ref", "-d", name]);
    }

    /// Runs what only reads objects: whoever names them by their ids gets the same answer for ever. None where it fails.
    fn of_objects(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let said = || self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let key: Vec<String> = arguments.iter().map(|of| (*of).to_owned()).collect();
        if let Some(answer) = said().get(&key) {
            return Some(answer.clone());
        }
        let output = run(self.in_folder().args(arguments), b"");
        let answer = output.status.success().then_some(output.stdout)?;
        if arguments.iter().any(|of| is_id(of)) {
            said().insert(key, answer.clone());
        }
        Some(answer)
    }

    /// Runs what cannot fail in a repository that nobody but this fake writes to.
    fn get(&self, arguments: &[&str]) -> Vec<u8> {
        self.feed(arguments, b"")
    }

    fn feed(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let output = run(self.in_folder().args(arguments), input);
        assert!(
            output.status.success(),
            "git {}: {}",
            arguments.join(" "),
            told(&output)
        );
        output.stdout
    }

    fn in_folder(&self) -> Command {
        let mut command = self.command();
        command.arg("--git-dir").arg(&self.folder);
        command
    }

    /// `git` in no one's surroundings: neither the settings of whoever runs the tests, nor the
    /// repository of a hook that runs them, change what it does.
    fn command(&self) -> Command {
        let mut command = Command::new(crate::disk::git());
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs([
                ("LC_ALL", "C"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                // Nothing here outlives the machine.
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "core.fsync"),
                ("GIT_CONFIG_VALUE_0", "none"),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// Whether a text is the whole id of an object.
fn is_id(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns a number that no two commits in the making share.
fn number() -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.spawn().expect("git is installed");
    let mut pipe = child.stdin.take().expect("stdin is a pipe");
    // No command here writes more than a pipe holds before it has read all. One that ends without
    // reading has said why on stderr.
    let _ = pipe.write_all(input);
    drop(pipe);
    child.wait_with_output().expect("git ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn told(output: &Output) -> String {
    text(&output.stderr).trim_end().to_owned()
}
