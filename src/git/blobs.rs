//! A stream of blobs out of one `git cat-file --batch`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::GitError;
use super::command::Command;
use super::error::MISSING_OBJECTS;
use crate::base::text::file_error;

/// Questions that may be open at a time: enough to keep git busy, and with paths of 400 bytes they fit into the smallest
/// pipe there is (4 KiB), so that asking never waits for an answer to be read.
const OPEN: usize = 8;

/// The process.
#[derive(Debug)]
pub(super) struct Blobs {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    complaints: PathBuf,
    command: Command,
}

impl Blobs {
    pub(super) fn start(mut command: Command, dir: &Path) -> Result<Self, GitError> {
        let complaints = dir.join("cat-file.stderr");
        let file = File::create(&complaints).map_err(|error| {
            let why = file_error(&error);
            GitError::new(format!("cannot write a temporary file: {why}"))
        })?;
        let mut child = command
            .args(["cat-file", "--batch"])
            .spawn(Stdio::from(file))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for");
        };
        Ok(Blobs {
            child,
            stdin,
            stdout: BufReader::with_capacity(1 << 16, stdout),
            complaints,
            command,
        })
    }

    /// Reads the blobs of these names one after the other; `None` for what is not there. What is larger than `largest` bytes, or
    /// no file, counts as empty.
    pub(super) fn read(
        mut self,
        names: impl IntoIterator<Item = String>,
        largest: u64,
    ) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let mut names = names.into_iter();
        let (mut asked, mut read) = (0, Vec::new());
        loop {
            while asked - read.len() < OPEN {
                let Some(name) = names.next() else { break };
                if let Err(error) = writeln!(self.stdin, "{name}") {
                    return Err(self.ended(&error));
                }
                asked += 1;
            }
            if asked == read.len() {
                return Ok(read);
            }
            match self.answer(largest) {
                Ok(answer) => read.push(answer?),
                Err(error) => return Err(self.ended(&error)),
            }
        }
    }

    fn answer(&mut self, largest: u64) -> io::Result<Result<Option<Vec<u8>>, GitError>> {
        let mut head = String::new();
        if self.stdout.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let head = head.trim_end();
        // `COMMIT:PATH missing`, also where the commit itself is not here
        if head.ends_with(" missing") {
            return Ok(Ok(None));
        }
        let mut facts = head.rsplit(' ');
        let (size, kind) = (facts.next(), facts.next());
        let Some(size) = size.and_then(|size| size.parse::<u64>().ok()) else {
            let text = format!("git cat-file answered {head:?} for a version of the file");
            return Ok(Err(GitError::new(text).hint(MISSING_OBJECTS)));
        };
        // with the newline behind it
        let mut rest = self.stdout.by_ref().take(size + 1);
        if size > largest || kind != Some("blob") {
            io::copy(&mut rest, &mut io::sink())?;
            return Ok(Ok(Some(Vec::new())));
        }
        let mut content = Vec::with_capacity(size as usize + 1);
        let read = rest.read_to_end(&mut content)?;
        if read as u64 != size + 1 || content.pop() != Some(b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Ok(Some(content)))
    }

    /// The pipe broke: git's own words say why.
    fn ended(&mut self, error: &io::Error) -> GitError {
        drop(self.child.wait());
        let mut said = fs::read(&self.complaints).unwrap_or_default();
        if said.is_empty() {
            said = error.to_string().into_bytes();
        }
        self.command.refused(&said)
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        // it waits for questions that will not come
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
