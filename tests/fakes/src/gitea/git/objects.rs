//! What is in a repository: files, commits, history; and how a new commit gets there.

use std::fmt::Write;

use super::{Git, number, run, text};

/// Between the fields of a commit as `git log` prints it stands NUL, and before it this.
const RECORD: char = '\u{1}';
const FORMAT: &str =
    "--format=%x01%H%x00%T%x00%P%x00%an%x00%ae%x00%ad%x00%cn%x00%ce%x00%cd%x00%B%x00";

const FOLDER: &str = "040000";

/// Something in a folder of the repository.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::gitea) struct Entry {
    /// `100644`, `100755`, `120000` (a symlink), `040000` (a folder) or `160000` (a submodule).
    pub(in crate::gitea) mode: String,
    pub(in crate::gitea) sha: String,
    /// Bytes; 0 for what is no blob.
    pub(in crate::gitea) size: usize,
    pub(in crate::gitea) path: String,
}

/// Who made a commit, and when: `SECONDS +HHMM`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::gitea) struct Person {
    pub(in crate::gitea) name: String,
    pub(in crate::gitea) email: String,
    pub(in crate::gitea) date: String,
}

/// A commit in the making.
#[derive(Clone, Debug, Default)]
pub(in crate::gitea) struct Draft {
    pub(in crate::gitea) author: Person,
    pub(in crate::gitea) committer: Person,
    pub(in crate::gitea) message: String,
    pub(in crate::gitea) changes: Vec<Change>,
}

/// What a commit does to one path.
#[derive(Clone, Debug)]
pub(in crate::gitea) enum Change {
    Write {
        path: String,
        mode: String,
        bytes: Vec<u8>,
    },
    Delete {
        path: String,
    },
}

/// A commit as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::gitea) struct Logged {
    pub(in crate::gitea) sha: String,
    pub(in crate::gitea) tree: String,
    pub(in crate::gitea) parents: Vec<String>,
    pub(in crate::gitea) author: Person,
    pub(in crate::gitea) committer: Person,
    pub(in crate::gitea) message: String,
    /// The paths that it changed, where they were asked for.
    pub(in crate::gitea) paths: Vec<String>,
}

/// How much of a history is wanted.
pub(in crate::gitea) enum Log<'a> {
    /// The last commit that touched a path, or the last of all for the empty path.
    Last { path: &'a str },
    /// Every commit that touched a path, or every one for the empty path, newest first.
    Touching { path: &'a str },
    /// Every commit with its paths, newest first.
    All,
}

impl Git {
    /// Returns what is at a path of a commit. The empty path is a folder too.
    pub(in crate::gitea) fn entry(&self, commit: &str, path: &str) -> Option<Entry> {
        if path.is_empty() {
            return Some(Entry {
                mode: FOLDER.to_owned(),
                sha: String::new(),
                size: 0,
                path: String::new(),
            });
        }
        let (folder, _) = path.rsplit_once('/').unwrap_or_default();
        let mut entries = self.folder_of(commit, folder).into_iter();
        entries.find(|entry| entry.path == path)
    }

    /// Returns what is in a folder of a commit.
    pub(in crate::gitea) fn folder_of(&self, commit: &str, path: &str) -> Vec<Entry> {
        let mut entries = self.listed(commit, "");
        let mut above = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            above = format!("{above}{part}");
            let folder = entries.into_iter().find(|entry| entry.path == above);
            let Some(folder) = folder.filter(|folder| folder.mode == FOLDER) else {
                return Vec::new();
            };
            above.push('/');
            entries = self.listed(&folder.sha, &above);
        }
        entries
    }

    /// Returns all files of a commit.
    pub(in crate::gitea) fn files(&self, commit: &str) -> Vec<Entry> {
        let mut entries = self.tree(commit, true);
        entries.retain(|entry| entry.mode != FOLDER);
        entries
    }

    /// Returns what a tree or the tree of a commit holds, with all below its folders where that is wanted.
    pub(in crate::gitea) fn tree(&self, id: &str, recursive: bool) -> Vec<Entry> {
        self.below(id, "", recursive)
    }

    fn below(&self, id: &str, above: &str, recursive: bool) -> Vec<Entry> {
        let mut entries = Vec::new();
        for entry in self.listed(id, above) {
            let folder = (recursive && entry.mode == FOLDER).then(|| entry.clone());
            entries.push(entry);
            if let Some(folder) = folder {
                let above = format!("{}/", folder.path);
                entries.extend(self.below(&folder.sha, &above, true));
            }
        }
        entries
    }

    /// Returns the entries of one tree, with this before their names.
    fn listed(&self, id: &str, above: &str) -> Vec<Entry> {
        let tree = self.object(&format!("{id}^{{tree}}"));
        let tree = tree.expect("a tree that is there").bytes;
        let mut entries = Vec::new();
        let mut rest = &tree[..];
        // MODE NAME NUL, and the twenty bytes of an id
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            let facts = text(&rest[..end]);
            let (mode, name) = facts.split_once(' ').expect("a mode before a name");
            let (id, more) = rest[end + 1..].split_at(20);
            rest = more;
            let sha: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            let blob = (mode != "40000").then(|| self.find_blob(&sha)).flatten();
            let size = blob.map_or(0, |blob| blob.len());
            entries.push(Entry {
                mode: format!("{mode:0>6}"),
                sha,
                size,
                path: format!("{above}{name}"),
            });
        }
        entries
    }

    /// Returns the bytes of a blob.
    pub(in crate::gitea) fn blob(&self, sha: &str) -> Vec<u8> {
        self.find_blob(sha).expect("a blob that is there")
    }

    /// Returns commits up to this one.
    pub(in crate::gitea) fn log(&self, commit: &str, wanted: Log) -> Vec<Logged> {
        let mut arguments = vec!["--literal-pathspecs", "log", "-z", "--date=raw", FORMAT];
        match wanted {
            Log::Last { path } => {
                arguments.extend(["-1", commit, "--"]);
                arguments.extend(Some(path).filter(|path| !path.is_empty()));
            }
            Log::Touching { path } => {
                arguments.extend([commit, "--"]);
                arguments.extend(Some(path).filter(|path| !path.is_empty()));
            }
            Log::All => arguments.extend(["--name-only", "--no-renames", commit, "--"]),
        }
        let listed = self.of_objects(&arguments).expect("a commit that is there");
        let listed = text(&listed);
        let mut fields = listed.split('\0').peekable();
        let mut commits = Vec::new();
        while let Some(sha) = fields.next() {
            let Some(sha) = sha.strip_prefix(RECORD) else {
                continue;
            };
            let mut next = || fields.next().unwrap_or_default().to_owned();
            let (tree, parents) = (next(), next());
            let mut person = || Person {
                name: next(),
                email: next(),
                date: next(),
            };
            let mut commit = Logged {
                sha: sha.to_owned(),
                tree,
                parents: parents.split_whitespace().map(str::to_owned).collect(),
                author: person(),
                committer: person(),
                message: next(),
                paths: Vec::new(),
            };
            while let Some(path) = fields.next_if(|field| !field.starts_with(RECORD)) {
                let path = path.trim_start_matches('\n');
                commit
                    .paths
                    .extend(Some(path.to_owned()).filter(|path| !path.is_empty()));
            }
            commits.push(commit);
        }
        commits
    }

    /// Returns the commit of this name, which is there.
    pub(in crate::gitea) fn commit(&self, sha: &str) -> Logged {
        let object = self.object(&format!("{sha}^{{commit}}"));
        let object = object.expect("a commit that was made");
        let whole = text(&object.bytes);
        let (head, message) = whole.split_once("\n\n").unwrap_or((&whole, ""));
        let all = |field: &str| {
            let values = head.lines().filter_map(|line| line.split_once(' '));
            let values = values.filter(|(name, _)| *name == field);
            values.map(|(_, value)| value.to_owned()).collect()
        };
        let first = |field: &str| Vec::into_iter(all(field)).next().unwrap_or_default();
        let person = |field: &str| {
            let value: String = first(field);
            let (name, rest) = value.split_once('<').unwrap_or_default();
            let (email, date) = rest.split_once("> ").unwrap_or_default();
            Person {
                name: name.trim_end().to_owned(),
                email: email.to_owned(),
                date: date.to_owned(),
            }
        };
        Logged {
            sha: object.id,
            tree: first("tree"),
            parents: all("parent"),
            author: person("author"),
            committer: person("committer"),
            message: message.to_owned(),
            paths: Vec::new(),
        }
    }

    /// Makes a commit that no ref names yet, and returns its id.
    pub(in crate::gitea) fn write(&self, parent: Option<&str>, draft: &Draft) -> String {
        // Several may be in the making at once; the name is gone at the end.
        let name = format!("refs/making/{}", number());
        let mut input = Vec::new();
        let person = |role: &str, person: &Person| {
            let clean = |text: &str| text.replace(['<', '>', '\n', '\0'], "");
            let (name, email) = (clean(&person.name), clean(&person.email));
            format!("{role} {} <{email}> {}\n", name.trim(), person.date)
        };
        let message = &draft.message;
        let mut head = format!("commit {name}\nmark :1\n");
        head += &person("author", &draft.author);
        head += &person("committer", &draft.committer);
        let _ = writeln!(head, "data {}\n{message}", message.len());
        if let Some(parent) = parent {
            let _ = writeln!(head, "from {parent}");
        }
        input.extend(head.bytes());
        for change in &draft.changes {
            match change {
                Change::Write { path, mode, bytes } => {
                    let head = format!("M {mode} inline {}\ndata {}\n", quoted(path), bytes.len());
                    input.extend(head.bytes());
                    input.extend(bytes);
                    input.push(b'\n');
                }
                Change::Delete { path } => input.extend(format!("D {}\n", quoted(path)).bytes()),
            }
        }
        input.extend(format!("\nget-mark :1\nreset {name}\n\ndone\n").bytes());
        let output = run(
            self.in_folder().args(["fast-import", "--quiet", "--done"]),
            &input,
        );
        let made = text(&output.stdout).trim_end().to_owned();
        assert!(
            output.status.success() && made.len() == 40,
            "git fast-import: {}",
            text(&output.stderr)
        );
        made
    }
}

/// Returns a path as fast-import reads it whatever is in it.
fn quoted(path: &str) -> String {
    let escaped = path
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
