//! `git cat-file --batch`: one process for all objects that are read of a repository.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The process; it ends with its repository.
pub(super) struct Reader {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// An object: its id, its kind, its bytes.
pub(super) struct Object {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) bytes: Vec<u8>,
}

impl Reader {
    /// Starts a git command.
    pub(super) fn start(mut command: Command) -> Reader {
        command.args(["cat-file", "--batch"]).stderr(Stdio::null());
        let mut child = command.spawn().expect("git is installed");
        Reader {
            questions: child.stdin.take().expect("stdin is a pipe"),
            answers: BufReader::new(child.stdout.take().expect("stdout is a pipe")),
            child,
        }
    }

    /// Returns what a name on one line means.
    pub(super) fn object(&mut self, name: &str) -> Option<Object> {
        let question = format!("{name}\n");
        let written = self.questions.write_all(question.as_bytes());
        written.expect("git lives as long as its repository");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("git answers");
        let facts: Vec<&str> = line.trim_end().split(' ').collect();
        let [id, kind, size] = facts[..] else {
            return None;
        };
        let size: usize = size.parse().ok()?;
        // a line break stands behind it
        let mut bytes = vec![0; size + 1];
        self.answers.read_exact(&mut bytes).expect("a whole object");
        bytes.truncate(size);
        Some(Object {
            id: id.to_owned(),
            kind: kind.to_owned(),
            bytes,
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
