//! A stream of blobs out of one `git cat-file --batch`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::command::Command;
use super::error::MISSING_OBJECTS;
use super::{GitError, Sha};
use crate::text::file_error;

/// Questions that may be open at a time: enough to keep git busy, and with 65 bytes each they fit into the smallest pipe
/// there is (4 KiB), so that asking never waits for an answer to be read.
const OPEN: usize = 32;

/// What came for a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blob {
    /// The content.
    Content,
    /// It is larger than asked for, in bytes; it was passed over.
    TooLarge(u64),
}

/// The process.
#[derive(Debug)]
pub struct Blobs {
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

    /// Reads the blobs one after the other. `take` gets each one's index and may keep the buffer, leaving another.
    pub fn each<'a>(
        mut self,
        ids: impl IntoIterator<Item = &'a Sha>,
        largest: u64,
        mut take: impl FnMut(usize, Blob, &mut Vec<u8>),
    ) -> Result<(), GitError> {
        let mut ids = ids.into_iter();
        let mut content = Vec::new();
        let (mut asked, mut answered) = (0, 0);
        loop {
            while asked - answered < OPEN {
                let Some(id) = ids.next() else { break };
                if let Err(error) = writeln!(self.stdin, "{id}") {
                    return Err(self.ended(&error));
                }
                asked += 1;
            }
            if asked == answered {
                return Ok(());
            }
            let answer = match self.answer(largest, &mut content) {
                Ok(answer) => answer?,
                Err(error) => return Err(self.ended(&error)),
            };
            take(answered, answer, &mut content);
            answered += 1;
        }
    }

    fn answer(
        &mut self,
        largest: u64,
        content: &mut Vec<u8>,
    ) -> io::Result<Result<Blob, GitError>> {
        let mut head = String::new();
        if self.stdout.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let head = head.trim_end();
        let Some(size) = head
            .split_once(" blob ")
            .and_then(|(_, size)| size.parse::<u64>().ok())
        else {
            let text = format!("git cat-file answered {head:?} for a version of the file");
            return Ok(Err(GitError::new(text).hint(MISSING_OBJECTS)));
        };
        content.clear();
        if size > largest {
            // with the newline behind it
            io::copy(&mut self.stdout.by_ref().take(size + 1), &mut io::sink())?;
            return Ok(Ok(Blob::TooLarge(size)));
        }
        content.reserve(size as usize + 1);
        let read = self.stdout.by_ref().take(size + 1).read_to_end(content)?;
        if read as u64 != size + 1 || content.pop() != Some(b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Ok(Blob::Content))
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
