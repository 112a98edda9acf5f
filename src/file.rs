//! netbird.json as it stands on disk: reading it, and saying where in it something is wrong.
//!
//! What the file may say is decided by `validate`. This module knows bytes, lines and JSON, and no kind of object.

mod cursor;
mod finding;
mod syntax;
mod table;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub(crate) use crate::base::text::{did_you_mean, nearest, quote};
use crate::base::{file_error, files};
pub(crate) use cursor::{COMMENT, Cursor, Log, step};
pub(crate) use finding::Flaw;
pub(crate) use syntax::parse;
pub use table::Outline;
pub(crate) use table::{
    Field, Inner, Names, Objects, Presence, Refused, Row, Shape, THE_FILE, Table, Takes,
};

pub use finding::{Finding, Findings, Place, Severity};

pub use crate::base::files::MAX_BYTES;

/// What a file begins with that Git LFS left in the place of another.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// What a file of git-crypt begins with.
const GIT_CRYPT: &[u8] = b"\0GITCRYPT\0";
const BOM: &str = "\u{feff}";
/// Characters are counted once per chunk of that many bytes, so that no position costs a walk over a one-line file.
const CHUNK_BYTES: usize = 256;

/// The text of a file, which clones share, with what is needed to turn byte offsets into lines and columns.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: Arc<str>,
    /// The text as JSON, where that is another one: as long, with blanks in the place of comments and of commas behind the last.
    plain: Option<Arc<str>>,
    line_starts: Arc<[usize]>,
    chars_before_chunk: Arc<[usize]>,
}

/// Why there is no text to speak of. Displays as a message and a hint.
#[derive(Debug)]
pub struct SourceError {
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
    /// What it is, for whom that decides.
    pub fault: SourceFault,
}

/// What a file without a text to speak of is, where somebody goes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFault {
    /// It has more than [`MAX_BYTES`].
    TooBig,
    /// It is what Git LFS leaves in its place.
    Pointer,
    /// Something else.
    Other,
}

/// Reads a file; `-` is stdin.
///
/// Errors when it is missing, no file, unreadable, over [`MAX_BYTES`], not UTF-8, or blank.
pub fn load(path: &Path) -> Result<Source, SourceError> {
    let name = files::shown(path);
    let error = match files::read(path, MAX_BYTES as u64) {
        Ok(bytes) => return Source::from_bytes(name, bytes),
        Err(error) => error,
    };
    let unread = || format!("cannot read {name}: {}", file_error(&error));
    Err(match error.kind() {
        io::ErrorKind::NotFound if is_sparse(path) => SourceError::new(
            format!("{name}: no such file"),
            "the checkout is sparse and may have left it out: git sparse-checkout disable, or name another one with --file",
        ),
        io::ErrorKind::NotFound if name.contains("://") => SourceError::new(
            format!("{name}: no such file"),
            "--file takes the path of a file, not a URL",
        ),
        io::ErrorKind::NotFound => SourceError::new(
            format!("{name}: no such file"),
            "run in the directory that holds it, or name it with --file; netbird-gitops init creates one to begin with",
        ),
        io::ErrorKind::IsADirectory => SourceError::new(
            format!("{name} is a directory, not a file"),
            "name the file in it with --file",
        ),
        io::ErrorKind::FileTooLarge => SourceError::too_big(&name),
        io::ErrorKind::Unsupported => SourceError::new(
            unread(),
            "name a file, or write --file - to read from stdin",
        ),
        _ => SourceError::new(unread(), "check the file's owner and mode"),
    })
}

/// Whether the directory of a file is in a sparse checkout.
fn is_sparse(path: &Path) -> bool {
    let directory = files::folder_of(path).canonicalize();
    let directory = directory.unwrap_or_default();
    let mut above = directory.ancestors();
    above.any(|directory| directory.join(".git/info/sparse-checkout").is_file())
}

impl Source {
    /// Takes a file's bytes from elsewhere, such as `git show`; `name` is what problems call it.
    ///
    /// Errors as [`load`] does for content that is too big, not UTF-8, or blank.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Source, SourceError> {
        let name = name.into();
        if bytes.len() > MAX_BYTES {
            return Err(SourceError::too_big(&name));
        }
        if bytes.starts_with(GIT_CRYPT) {
            return Err(SourceError::new(
                format!("{name} is encrypted by git-crypt"),
                "unlock the checkout before: git-crypt unlock; a pull request's plan and the enrollments read the committed \
                 file, so it has to be in git as it is",
            ));
        }
        if bytes.starts_with(LFS_POINTER) {
            return Err(SourceError {
                fault: SourceFault::Pointer,
                ..SourceError::new(
                    format!("{name} is a pointer of Git LFS, not the file itself"),
                    "take it out of Git LFS (git lfs untrack, then commit the file again): pull requests, Gitea and the commits \
                     since the last apply have the pointer in its place",
                )
            });
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(SourceError::new(
                format!("{name} is UTF-16, not UTF-8"),
                "save it as UTF-8; the `>` of Windows PowerShell writes UTF-16",
            ));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Source::from_text(name, text),
            Err(error) => {
                let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let mut lines = good.split(|byte| *byte == b'\n');
                let (line, last) = (lines.clone().count(), lines.next_back().unwrap_or_default());
                let column = 1 + String::from_utf8_lossy(last).chars().count();
                Err(SourceError::new(
                    format!("{name}:{line}:{column}  this byte is not UTF-8"),
                    "save the file as UTF-8",
                ))
            }
        }
    }

    /// Takes a text; `name` is what problems call it. Errors when it is too big or blank.
    pub fn from_text(
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Source, SourceError> {
        let (name, text) = (name.into(), text.into());
        if text.len() > MAX_BYTES {
            return Err(SourceError::too_big(&name));
        }
        if text.trim_start_matches(BOM).trim().is_empty() {
            return Err(SourceError::new(
                format!("{name} is empty"),
                "an empty file never means that everything is to be deleted; restore it from git, or begin with \
                 examples/minimal.json",
            ));
        }
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(newlines.map(|(at, _)| at + 1))
            .collect();
        let mut chars_before_chunk = vec![0];
        let mut chars = 0;
        for chunk in text.as_bytes().chunks(CHUNK_BYTES) {
            chars += count_chars(chunk);
            chars_before_chunk.push(chars);
        }
        let text: Arc<str> = text.into();
        let has_comments = name.split(' ').any(|word| word.ends_with(".jsonc"));
        Ok(Source {
            plain: has_comments.then(|| syntax::without_comments(&text).into()),
            name,
            text,
            line_starts,
            chars_before_chunk: chars_before_chunk.into(),
        })
    }

    /// The file's name as problems show it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text as read, with its byte order mark if it has one.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text without a byte order mark; of a file that is named `.jsonc`, which may have comments, with blanks in their place.
    pub fn json(&self) -> &str {
        let text = self.plain.as_ref().unwrap_or(&self.text);
        text.strip_prefix(BOM).unwrap_or(text)
    }

    /// The offset of [`json`](Self::json) in [`text`](Self::text), in bytes: 3 with a byte order mark, 0 without.
    pub fn json_offset(&self) -> usize {
        self.text.len() - self.json().len()
    }

    /// Returns line and column of a byte offset in [`text`](Self::text).
    ///
    /// Both are 1-based; columns count characters, the byte order mark not among them. An offset beyond the end is the
    /// end.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts[line - 1].max(self.json_offset());
        let before = self.chars_before(start.min(offset));
        (line, 1 + self.chars_before(offset) - before)
    }

    /// The line's text, without its end; 1-based, empty where there is no such line.
    pub(crate) fn line(&self, line: usize) -> &str {
        let start = self.line_start(line);
        let line = start.and_then(|at| self.text[at..].lines().next());
        line.unwrap_or_default()
    }

    /// The offset in `text` at which a line begins, 1-based.
    pub(crate) fn line_start(&self, line: usize) -> Option<usize> {
        self.line_starts.get(line.checked_sub(1)?).copied()
    }

    fn chars_before(&self, offset: usize) -> usize {
        let chunk = offset / CHUNK_BYTES;
        let bytes = &self.text.as_bytes()[chunk * CHUNK_BYTES..offset];
        self.chars_before_chunk[chunk] + count_chars(bytes)
    }
}

/// Counts the characters that begin in a piece of UTF-8.
fn count_chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

impl SourceError {
    fn new(message: String, hint: &'static str) -> Self {
        SourceError {
            message,
            hint,
            fault: SourceFault::Other,
        }
    }

    fn too_big(name: &str) -> Self {
        SourceError {
            fault: SourceFault::TooBig,
            ..SourceError::new(
                format!("{name} is larger than 10 MiB"),
                "no network needs that much; is this the right file? Larger ones are not read",
            )
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhint: {}", self.message, self.hint)
    }
}

impl std::error::Error for SourceError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::from_text("netbird.json", text).expect("a text")
    }

    #[test]
    fn positions_count_characters() {
        let rows = [
            ("{}", 0, (1, 1)),
            ("{}", 2, (1, 3)),
            ("{}", 99, (1, 3)),
            ("{\n  \"a\": 1\n}", 4, (2, 3)),
            ("{\r\n  \"a\": 1\r\n}", 5, (2, 3)),
            ("{\n}\n", 4, (3, 1)),
            ("{\"Büro\": 1}", 9, (1, 9)),
            ("{\"🦉\": 1}", 7, (1, 5)),
            ("\u{feff}{}", 0, (1, 1)),
            ("\u{feff}{}", 3, (1, 1)),
            ("\u{feff}{}", 4, (1, 2)),
            ("\u{feff}{\n}", 5, (2, 1)),
        ];
        for (text, offset, position) in rows {
            assert_eq!(
                source(text).position(offset),
                position,
                "{text:?} at {offset}"
            );
        }
    }

    #[test]
    fn positions_hold_across_chunks() {
        let text = "ü".repeat(3 * CHUNK_BYTES) + "\n" + &"xü".repeat(CHUNK_BYTES);
        let source = source(&text);
        let (mut line, mut column) = (1, 1);
        for (offset, char) in text.char_indices() {
            assert_eq!(source.position(offset), (line, column), "at {offset}");
            (line, column) = if char == '\n' {
                (line + 1, 1)
            } else {
                (line, column + 1)
            };
        }
    }

    #[test]
    fn a_byte_order_mark_stays_in_the_text_and_out_of_the_json() {
        let source = source("\u{feff}{}");
        assert_eq!(
            (source.text(), source.json(), source.json_offset()),
            ("\u{feff}{}", "{}", 3)
        );
    }

    #[test]
    fn what_is_no_file_has_an_error_of_its_own() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("netbird.json");
        let error = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a file");
            load(&path).expect_err("an error").message
        };
        let without_file = |path: &Path| {
            let error = load(path).expect_err("no file");
            error.to_string()
        };
        assert!(without_file(&path).contains("no such file\nhint: run in the directory"));
        let git = dir.path().join(".git/info");
        std::fs::create_dir_all(&git).expect("a directory");
        std::fs::write(git.join("sparse-checkout"), "/x").expect("a file");
        assert!(without_file(&path).contains("no such file\nhint: the checkout is sparse"));
        assert!(without_file(dir.path()).contains("is a directory"));
        for blank in ["", " ", "\n\t \r\n", "\u{feff}", "\u{feff}\n"] {
            assert!(error(blank.as_bytes()).ends_with("is empty"), "{blank:?}");
        }
        assert!(error(b"{\n\xc3\xa4\xe4}").ends_with(":2:2  this byte is not UTF-8"));
        assert!(error(b"\xff\xfe{\0}\0").ends_with("is UTF-16, not UTF-8"));
        for encrypted in [&b"\0GITCRYPT\0abc"[..], b"\0GITCRYPT\0\xff"] {
            assert!(error(encrypted).ends_with("is encrypted by git-crypt"));
        }
        let mut big = vec![b' '; MAX_BYTES - 1];
        big.extend(b"{}");
        assert!(error(&big).ends_with("is larger than 10 MiB"));
        big.remove(0);
        std::fs::write(&path, &big).expect("a file");
        assert_eq!(
            load(&path).expect("just small enough").text().len(),
            MAX_BYTES
        );
        let blank = Source::from_text("-", " \n").expect_err("an error");
        assert!(blank.message.ends_with("is empty"));
        let big = String::from_utf8(big).expect("ascii") + " ";
        let big = Source::from_text("-", big).expect_err("an error");
        assert_eq!(big.fault, SourceFault::TooBig);
    }

    #[test]
    fn errors_name_the_file_and_the_way_out() {
        let error = Source::from_text("net.json", "")
            .expect_err("an error")
            .to_string();
        assert!(
            error.starts_with("net.json is empty\nhint: an empty file never means"),
            "{error}"
        );
    }
}
