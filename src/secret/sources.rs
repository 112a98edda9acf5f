//! Where recipients are named, and everything that can be wrong there.
//!
//! A line that cannot be used is an error, never skipped: skipping it would mean that somebody cannot read the key. All
//! such lines are told at once.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::recipients::{Described, ENVIRONMENT, Keys, Recipient, RecipientError, Recipients};
use crate::base::{file_error, files};

/// Where recipients are named.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The values of `-r`: one key each.
    pub keys: Vec<String>,
    /// The values of `-R`: files with one key a line; blank lines and lines that start with `#` are skipped. Up to
    /// 1 MiB of UTF-8, with or without a byte order mark, LF or CRLF.
    pub files: Vec<PathBuf>,
    /// Those that a pull request's merge would leave otherwise than they are on disk, or the same.
    pub merged: BTreeMap<PathBuf, Vec<u8>>,
    /// The value of [`ENVIRONMENT`]: as a file, and commas between the keys of a line, so that a comment holds none.
    /// Blank is unset.
    pub environment: Option<String>,
}

impl Sources {
    /// Reads the files and every key.
    ///
    /// No recipient at all is no error here: a run that makes no key needs none. [`Recipients::check`] refuses it.
    pub fn read(&self) -> Result<Recipients, RecipientErrors> {
        let mut reader = Reader::default();
        for (number, key) in (1..).zip(&self.keys) {
            let origin = match self.keys.len() {
                1 => "-r".to_owned(),
                _ => format!("-r, number {number}"),
            };
            if names_a_file(key.trim()) {
                reader.refuse(origin, A_FILE);
            } else if !reader.lines(key, false, |_, _| origin.clone()) {
                reader.refuse(origin, EMPTY);
            }
        }
        for path in &self.files {
            let merged = self.merged.get(path).cloned();
            match merged.map_or_else(|| files::read(path, LONGEST_FILE), Ok) {
                Ok(bytes) => reader.file(&path.display().to_string(), &bytes),
                Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                    reader.refuse(path.display().to_string(), TOO_LONG);
                }
                Err(error) => {
                    let hint = "-R takes a file with one public key a line; -r takes a key";
                    let mut refusal = RecipientError::new("", hint);
                    refusal.message =
                        format!("a file that cannot be read ({})", file_error(&error)).into();
                    reader.refuse(path.display().to_string(), refusal);
                }
            }
        }
        if let Some(text) = &self.environment {
            let several = text.trim().lines().count() > 1;
            reader.lines(text, true, |line, key| {
                let line = match several {
                    true => format!(", line {line}"),
                    false => String::new(),
                };
                let key = key.map(|key| format!(", key {key}")).unwrap_or_default();
                format!("{ENVIRONMENT}{line}{key}")
            });
        }
        reader.finish()
    }
}

/// Whether somebody wrote `-r` for `-R`.
fn names_a_file(text: &str) -> bool {
    !text.contains(char::is_whitespace) && text.contains(['/', '.']) || Path::new(text).is_file()
}

/// The longest recipients file, in bytes.
const LONGEST_FILE: u64 = files::SMALL;

/// Everything that is wrong with the recipients, in the order in which they were named; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientErrors(pub Vec<RecipientError>);

impl fmt::Display for RecipientErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = &self.0[..] {
            let (origin, message) = (&one.origin, &one.message);
            write!(f, "cannot use the recipient of {origin}: {message}")?;
            return write!(f, "\nhint: {}", one.hint);
        }
        write!(f, "{} recipients cannot be used", self.0.len())?;
        self.0.iter().try_for_each(|one| {
            let (origin, message, hint) = (&one.origin, &one.message, &one.hint);
            write!(f, "\n\n{origin}\n    {message}\n    hint: {hint}")
        })
    }
}

impl std::error::Error for RecipientErrors {}

const IDENTITY: RecipientError = RecipientError::new(
    "a SECRET key, where public ones belong (it is not repeated here)",
    "take it out, and replace that key: it may have been seen; public keys come from age-keygen -y, or end in .pub",
);
const A_FILE: RecipientError = RecipientError::new(
    "the name of a file, where a key belongs",
    "-R FILE (a capital R) takes a file with one public key a line; -r takes a key itself",
);
const EMPTY: RecipientError = RecipientError::new(
    "empty",
    "leave it out, or check the variable that it is from",
);
const BLOCK: RecipientError = RecipientError::new(
    "a block of another format, no age or SSH public key",
    "ssh-keygen -i prints other public keys as a line that begins with ssh-",
);
const NOT_TEXT: RecipientError = RecipientError::new("not UTF-8 text", "save the file as UTF-8");
const UTF_16: RecipientError = RecipientError::new(
    "UTF-16, not UTF-8",
    "save it as UTF-8; the `>` of Windows PowerShell writes UTF-16",
);
const TOO_LONG: RecipientError = RecipientError::new(
    "longer than 1 MiB",
    "name a file with one public key a line",
);
const NO_KEY: RecipientError =
    RecipientError::new("no recipient in it", "add one age or SSH public key a line");
const MIXED: RecipientError = RecipientError::new(
    "a post-quantum key (age1tagpq1…) beside keys of other kinds, which age does not seal for together",
    "use keys of one sort only",
);

/// Gathers recipients, and what is wrong with them.
#[derive(Default)]
pub(super) struct Reader {
    keys: Keys,
    post_quantum: Option<String>,
    errors: Vec<RecipientError>,
}

impl Recipients {
    /// Reads the content of a recipients file that is not on disk, such as that of the base branch.
    pub fn parse_file(name: &str, content: &[u8]) -> Result<Self, RecipientErrors> {
        let mut reader = Reader::default();
        reader.file(name, content);
        reader.finish()
    }
}

impl Reader {
    fn refuse(&mut self, origin: String, refusal: RecipientError) {
        self.errors.push(RecipientError { origin, ..refusal });
    }

    pub(super) fn file(&mut self, name: &str, content: &[u8]) {
        if content.len() as u64 > LONGEST_FILE {
            return self.refuse(name.into(), TOO_LONG);
        }
        let text = match std::str::from_utf8(content) {
            Ok(text) => text,
            Err(_) if content.starts_with(&[0xff, 0xfe]) || content.starts_with(&[0xfe, 0xff]) => {
                return self.refuse(name.into(), UTF_16);
            }
            Err(error) => {
                let good = &content[..error.valid_up_to()];
                let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
                return self.refuse(format!("{name}:{line}"), NOT_TEXT);
            }
        };
        if !self.lines(text, false, |line, _| format!("{name}:{line}")) {
            self.refuse(name.into(), NO_KEY);
        }
    }

    /// Reads keys, one a line, and tells whether there was anything that should be one.
    ///
    /// Blocks (`-----BEGIN …`) are one error, however many lines they have.
    fn lines(
        &mut self,
        text: &str,
        commas: bool,
        origin: impl Fn(usize, Option<usize>) -> String,
    ) -> bool {
        let is_open = |line: &str| line.starts_with("--") && !marks(line, "END ");
        let (mut block, mut any) = (false, false);
        for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines().map(str::trim))
        {
            if block {
                block = !marks(line, "END ");
            } else if is_secret(line) {
                self.refuse(origin(number, None), IDENTITY);
                (any, block) = (true, is_open(line) || line.starts_with("PuTTY"));
            } else if line.starts_with("----") && line.contains("BEGIN") {
                self.refuse(origin(number, None), BLOCK);
                (any, block) = (true, is_open(line));
            } else if !line.is_empty() && !line.starts_with('#') {
                any = true;
                let pieces: Vec<_> = match commas {
                    true => line.split(',').map(str::trim).collect(),
                    false => vec![line],
                };
                for (index, piece) in (1..).zip(&pieces).filter(|(_, piece)| !piece.is_empty()) {
                    let origin = origin(number, (pieces.len() > 1).then_some(index));
                    match Recipient::parse(piece) {
                        Ok(key) => self.add(origin, key),
                        Err(refusal) if piece.contains(';') => {
                            let hint = "separate keys by a comma or a new line, not by a semicolon";
                            self.refuse(origin, RecipientError { hint, ..refusal });
                        }
                        Err(refusal) => self.refuse(origin, refusal),
                    }
                }
            }
        }
        any
    }

    fn add(&mut self, origin: String, key: Recipient) {
        if key.is_apart() {
            self.post_quantum.get_or_insert(origin);
        }
        let name = (key.kind, key.canonical.clone());
        self.keys.entry(name).or_insert(key);
    }

    pub(super) fn finish(mut self) -> Result<Recipients, RecipientErrors> {
        if let Some(origin) = self.post_quantum.take()
            && !self.keys.values().all(Recipient::is_apart)
        {
            self.refuse(origin, MIXED);
        }
        match self.errors.is_empty() {
            true => Ok(Recipients { keys: self.keys }),
            false => Err(RecipientErrors(self.errors)),
        }
    }
}

/// Reads one public key that stands alone, such as in netbird.json: the key itself, and no file or name of anybody.
pub fn literal(text: &str) -> Result<Described, RecipientError> {
    match text.lines().any(is_secret) {
        true => Err(IDENTITY),
        false => Ok(Recipient::parse(text)?.describe()),
    }
}

/// Tells whether a line holds a secret key, or is the first of one. In a comment, only a whole age key counts.
fn is_secret(line: &str) -> bool {
    let upper = line.to_ascii_uppercase();
    let is_of_key = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
    let is_long = |rest: &str| rest.bytes().take_while(is_of_key).count() >= 40;
    let is_comment = line.starts_with('#');
    let age = |prefix| {
        let found = upper.split_once(prefix);
        found.is_some_and(|(_, rest)| !is_comment || is_long(rest))
    };
    age("AGE-SECRET-KEY-")
        || age("AGE-PLUGIN-")
        || upper.starts_with("PUTTY-USER-KEY-FILE")
        || marks(&upper, "BEGIN") && upper.contains("PRIVATE KEY")
}

/// Tells whether a line begins or ends a block: `-----BEGIN …-----`, and `---- BEGIN … ----` in RFC 4716.
fn marks(line: &str, word: &str) -> bool {
    line.contains(&format!("-{word}"))
        || line.starts_with("--") && line.contains(&format!("- {word}"))
}

#[cfg(test)]
mod tests;
