//! netbird.json as it stands on disk: reading it, and saying where in it something is wrong.
//!
//! What the file may say is decided by `validate`. This module knows bytes, lines and JSON, and no kind of object.

mod cursor;
mod finding;
mod flaw;
mod judge;
mod path;
mod syntax;
mod table;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::base::files;
use crate::base::text::file_error;
pub(crate) use crate::base::text::{did_you_mean, nearest, quote};
pub(crate) use cursor::{Cursor, Log};
pub(crate) use flaw::Flaw;
pub(crate) use syntax::parse;
pub use table::Outline;
pub(crate) use table::{Field, Names, Objects, Presence, Refused, Row, Shape, Table, Takes};

pub use finding::{Finding, Findings, Place, Severity};

pub use crate::base::files::MAX_BYTES;

/// What a file begins with that Git LFS left in the place of another.
const LFS_POINTER: &str = "version https://git-lfs.github.com/spec/";
/// What a file of git-crypt begins with.
const GIT_CRYPT: &str = "\0GITCRYPT\0";
const BOM: &str = "\u{feff}";
/// Characters are counted once per chunk of that many bytes, so that no position costs a walk over a one-line file.
const CHUNK_BYTES: usize = 256;

/// The text of a file, which clones share, with what is needed to turn byte offsets into lines and columns.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: Arc<str>,
    line_starts: Arc<[usize]>,
    chars_before_chunk: Arc<[usize]>,
}

/// Why there is no text to speak of. Displays as a message and a hint.
#[derive(Debug)]
pub struct SourceError {
    /// The name asked for.
    pub name: String,
    /// What is the matter with what has it.
    pub fault: SourceFault,
}

/// What is the matter with a file that holds no text to speak of.
#[derive(Debug)]
pub enum SourceFault {
    /// It is not there.
    Missing,
    /// It is not there, and the checkout is a sparse one.
    LeftOut,
    /// It is a directory.
    Directory,
    /// It is a pipe or a device, as these words say.
    NoFile(io::Error),
    /// The system refused to read it, in these words.
    Unreadable(io::Error),
    /// It has more than [`MAX_BYTES`].
    TooBig,
    /// It is not UTF-8; the first wrong byte is in that line, 1-based.
    NotUtf8(usize),
    /// It is encrypted by git-crypt.
    Encrypted,
    /// It is what Git LFS leaves in its place.
    Pointer,
    /// It is UTF-16.
    Utf16,
    /// It has no bytes, or white space only.
    Blank,
}

/// Reads a file; `-` is stdin.
///
/// Errors when it is missing, no file, unreadable, over [`MAX_BYTES`], not UTF-8, or blank.
pub fn load(path: &Path) -> Result<Source, SourceError> {
    let name = path.display().to_string();
    match files::read(path, MAX_BYTES as u64) {
        Ok(bytes) => Source::from_bytes(name, bytes),
        Err(error) => {
            let fault = match error.kind() {
                io::ErrorKind::NotFound if is_sparse(path) => SourceFault::LeftOut,
                io::ErrorKind::NotFound => SourceFault::Missing,
                io::ErrorKind::IsADirectory => SourceFault::Directory,
                io::ErrorKind::FileTooLarge => SourceFault::TooBig,
                io::ErrorKind::Unsupported => SourceFault::NoFile(error),
                _ => SourceFault::Unreadable(error),
            };
            Err(SourceError { name, fault })
        }
    }
}

/// Whether the directory of a file is in a sparse checkout.
fn is_sparse(path: &Path) -> bool {
    let directory = match path.parent() {
        Some(parent) if parent.as_os_str() != "" => parent,
        _ => Path::new("."),
    };
    let directory = directory.canonicalize().unwrap_or_default();
    let mut above = directory.ancestors();
    above.any(|directory| directory.join(".git/info/sparse-checkout").is_file())
}

impl Source {
    /// Takes a file's bytes from elsewhere, such as `git show`; `name` is what problems call it.
    ///
    /// Errors as [`load`] does for content that is too big, not UTF-8, or blank.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Source, SourceError> {
        let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let fault = match String::from_utf8(bytes) {
            Ok(text) if text.starts_with(GIT_CRYPT) => SourceFault::Encrypted,
            Ok(text) if text.starts_with(LFS_POINTER) => SourceFault::Pointer,
            Ok(text) => return Source::from_text(name, text),
            Err(error) if error.as_bytes().len() > MAX_BYTES => SourceFault::TooBig,
            Err(error) if error.as_bytes().starts_with(GIT_CRYPT.as_bytes()) => {
                SourceFault::Encrypted
            }
            Err(_) if is_utf16 => SourceFault::Utf16,
            Err(error) => {
                let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
                SourceFault::NotUtf8(line)
            }
        };
        let name = name.into();
        Err(SourceError { name, fault })
    }

    /// Takes a text; `name` is what problems call it. Errors when it is too big or blank.
    pub fn from_text(
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Source, SourceError> {
        let (name, text) = (name.into(), text.into());
        if text.len() > MAX_BYTES {
            let fault = SourceFault::TooBig;
            return Err(SourceError { name, fault });
        }
        if text.trim_start_matches(BOM).trim().is_empty() {
            let fault = SourceFault::Blank;
            return Err(SourceError { name, fault });
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
        Ok(Source {
            name,
            text: text.into(),
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

    /// The text without a byte order mark.
    pub fn json(&self) -> &str {
        self.text.strip_prefix(BOM).unwrap_or(&self.text)
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
        let start = self.line_starts[line - 1]
            .max(self.json_offset())
            .min(offset);
        (
            line,
            1 + self.chars_before(offset) - self.chars_before(start),
        )
    }

    /// The line's text, without its end; 1-based, empty where there is no such line.
    pub(crate) fn line(&self, line: usize) -> &str {
        self.line_start(line)
            .and_then(|at| self.text[at..].lines().next())
            .unwrap_or("")
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
    /// What is wrong, in one line, and what to do about it.
    pub fn in_words(&self) -> (String, &'static str) {
        let name = &self.name;
        match &self.fault {
            SourceFault::Missing => (
                format!("{name}: no such file"),
                "run in the directory that holds it, or name it with --file; netbird-gitops init makes one to begin with",
            ),
            SourceFault::LeftOut => (
                format!("{name}: no such file"),
                "the checkout is sparse and may have left it out: git sparse-checkout disable, or name another one with --file",
            ),
            SourceFault::Directory => (
                format!("{name} is a directory, not a file"),
                "name the file in it with --file",
            ),
            SourceFault::NoFile(error) => (
                format!("cannot read {name}: {}", file_error(error)),
                "name a file, or write --file - to read from stdin",
            ),
            SourceFault::Unreadable(error) => (
                format!("cannot read {name}: {}", file_error(error)),
                "check the file's owner and mode",
            ),
            SourceFault::TooBig => (
                format!("{name} is larger than 10 MiB"),
                "no network needs that much; is this the right file? Larger ones are not read",
            ),
            SourceFault::NotUtf8(line) => (
                format!("{name} is not UTF-8: the first wrong byte is in line {line}"),
                "save it as UTF-8",
            ),
            SourceFault::Encrypted => (
                format!("{name} is encrypted by git-crypt"),
                "unlock the checkout before: git-crypt unlock; a pull request's plan and the enrollments read the committed \
                 file, so it has to be in git as it is",
            ),
            SourceFault::Pointer => (
                format!("{name} is a pointer of Git LFS, not the file itself"),
                "take it out of Git LFS (git lfs untrack, then commit the file again): pull requests, Gitea and the commits since \
                 the last apply have the pointer in its place",
            ),
            SourceFault::Utf16 => (
                format!("{name} is UTF-16, not UTF-8"),
                "save it as UTF-8; the `>` of Windows PowerShell writes UTF-16",
            ),
            SourceFault::Blank => (
                format!("{name} is empty"),
                "an empty file never means that everything is to be deleted; restore it from git, or begin with \
                 examples/minimal.json",
            ),
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, hint) = self.in_words();
        write!(f, "{message}\nhint: {hint}")
    }
}

impl std::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        None // `Unreadable` shows the system's error itself
    }
}

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
            load(&path).expect_err("an error").fault
        };
        let missing = load(&path).expect_err("no file").fault;
        assert!(matches!(missing, SourceFault::Missing));
        let git = dir.path().join(".git/info");
        std::fs::create_dir_all(&git).expect("a directory");
        std::fs::write(git.join("sparse-checkout"), "/x").expect("a file");
        let left_out = load(&path).expect_err("no file").fault;
        assert!(matches!(left_out, SourceFault::LeftOut));
        let directory = load(dir.path()).expect_err("no file").fault;
        assert!(matches!(directory, SourceFault::Directory));
        for blank in ["", " ", "\n\t \r\n", "\u{feff}", "\u{feff}\n"] {
            assert!(
                matches!(error(blank.as_bytes()), SourceFault::Blank),
                "{blank:?}"
            );
        }
        assert!(matches!(error(b"{\n\xe4}"), SourceFault::NotUtf8(2)));
        assert!(matches!(error(b"\xff\xfe{\0}\0"), SourceFault::Utf16));
        for encrypted in [&b"\0GITCRYPT\0abc"[..], b"\0GITCRYPT\0\xff"] {
            assert!(matches!(error(encrypted), SourceFault::Encrypted));
        }
        let mut big = vec![b' '; MAX_BYTES - 1];
        big.extend(b"{}");
        assert!(matches!(error(&big), SourceFault::TooBig));
        big.remove(0);
        std::fs::write(&path, &big).expect("a file");
        assert_eq!(
            load(&path).expect("just small enough").text().len(),
            MAX_BYTES
        );
        let blank = Source::from_text("-", " \n").expect_err("an error");
        assert!(matches!(blank.fault, SourceFault::Blank));
        let big = String::from_utf8(big).expect("ascii") + " ";
        let big = Source::from_text("-", big).expect_err("an error");
        assert!(matches!(big.fault, SourceFault::TooBig));
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
