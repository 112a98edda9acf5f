//! What is wrong with a file, or odd about it: places, findings, and their text for people.

use std::fmt;
use std::net::IpAddr;

use super::{Cursor, Log};
use crate::base::{Code, count};

/// A place in the file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Path in the JSON, such as `policies.web.sources[0]`; empty for the file itself.
    pub path: String,
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// Worth a look; the file is fine.
    Notice,
}

/// One thing that is wrong, or odd, at one place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Its cause.
    pub code: Code,
    /// Where.
    pub place: Place,
    /// A fragment in lower case. What it shows of the file is escaped.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What it is about, in one sentence with others of its cause; its path where there is none.
    pub brief: Option<String>,
}

/// All findings of a file, at least one of them an error, sorted by position. Displays as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// The file's name.
    pub file: String,
    /// Errors and notices.
    pub list: Vec<Finding>,
}

/// What to do about something, if that is known.
pub trait IntoHint {
    /// Returns the hint.
    fn into_hint(self) -> Option<String>;
}

impl IntoHint for &str {
    fn into_hint(self) -> Option<String> {
        Some(self.to_owned())
    }
}

impl IntoHint for String {
    fn into_hint(self) -> Option<String> {
        Some(self)
    }
}

impl<T: IntoHint> IntoHint for Option<T> {
    fn into_hint(self) -> Option<String> {
        self.and_then(T::into_hint)
    }
}

impl Finding {
    /// An error at that place.
    pub fn error(code: Code, place: Place, message: impl Into<String>) -> Self {
        Finding {
            severity: Severity::Error,
            code,
            place,
            message: message.into(),
            hint: None,
            brief: None,
        }
    }

    /// A notice at that place.
    pub fn notice(code: Code, place: Place, message: impl Into<String>) -> Self {
        Finding {
            severity: Severity::Notice,
            ..Finding::error(code, place, message)
        }
    }

    /// Says its cause more closely.
    pub fn coded(&mut self, code: Code) -> &mut Self {
        self.code = code;
        self
    }

    /// Adds what to do about it, where that is known.
    pub fn suggest(&mut self, hint: impl IntoHint) {
        self.hint = hint.into_hint();
    }

    /// Says what it is about, in one sentence with others of its cause.
    pub fn brief(&mut self, brief: impl Into<String>) -> &mut Self {
        self.brief = Some(brief.into());
        self
    }

    /// Returns the finding in a few lines without colour, the last one ended:
    ///
    /// an error as `FILE:LINE:COLUMN  PATH` with the message and the hint indented below it, a notice as
    /// `note: FILE:LINE:COLUMN  PATH: MESSAGE` with the hint below it.
    pub fn render(&self, file: &str) -> String {
        let Place { path, line, column } = &self.place;
        let message = &self.message;
        let place = format!("{file}:{line}:{column}");
        let mut text = match (self.severity, path.as_str()) {
            (Severity::Error, "") => format!("{place}\n    {message}\n"),
            (Severity::Error, path) => format!("{place}  {path}\n    {message}\n"),
            (Severity::Notice, "") => format!("note: {place}  {message}\n"),
            (Severity::Notice, path) => format!("note: {place}  {path}: {message}\n"),
        };
        let hint = self.hint.iter().flat_map(|hint| hint.lines());
        text.extend(hint.map(|line| format!("    {line}\n")));
        text
    }
}

impl Findings {
    /// Returns the errors, by position.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.of(Severity::Error)
    }

    /// Returns the notices, by position.
    pub fn notices(&self) -> impl Iterator<Item = &Finding> {
        self.of(Severity::Notice)
    }

    fn of(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        let all = self.list.iter();
        all.filter(move |finding| finding.severity == severity)
    }

    /// Returns everything as text that can stand behind `error: `: a count, the errors, then the notices.
    pub fn render(&self) -> String {
        let problems = count(self.errors().count(), "problem", "problems");
        let mut text = format!("{} has {problems}\n\n", self.file);
        text.extend(self.errors().map(|problem| problem.render(&self.file)));
        if self.notices().next().is_some() {
            text.push('\n');
        }
        text.extend(self.notices().map(|problem| problem.render(&self.file)));
        text
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render().trim_end())
    }
}

impl std::error::Error for Findings {}

/// Why a value will not do, and what might.
pub(crate) struct Flaw {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Flaw {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Flaw {
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Flaw {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// Says how to write several where several are written and nothing else is known.
    pub(crate) fn or_several(self, text: &str, several: &str) -> Self {
        let is_address = |text: &str| text.trim().parse::<IpAddr>().is_ok();
        let is_end = |text: &str| is_address(text) || text.parse::<u8>().is_ok();
        let range = text.split_once('-');
        let is_range = || range.is_some_and(|(from, to)| is_address(from) && is_end(to));
        match text.contains([',', ';']) || is_range() {
            true => Flaw::with_hint(self.message, several),
            false => self,
        }
    }

    pub(crate) fn report(self, place: Place, log: &mut Log) -> &mut Finding {
        let problem = log.error(place, self.message);
        problem.suggest(self.hint);
        problem
    }
}

impl Cursor<'_> {
    /// Returns what was made of the value, or notes why it will not do.
    pub(crate) fn checked<T>(&self, found: Result<T, Flaw>, log: &mut Log) -> Option<T> {
        match found {
            Err(_) if log.only_counts() => None,
            found => found.map_err(|flaw| flaw.report(self.place(), log)).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str, line: usize, column: usize) -> Place {
        Place {
            path: path.into(),
            line,
            column,
        }
    }

    #[test]
    fn problems_read_as_in_screens() {
        let mut typo = Finding::error(
            Code::UnknownField,
            place("policies.web.protcol", 14, 7),
            "unknown field \"protcol\"",
        );
        typo.suggest("did you mean \"protocol\"?");
        let comment = Finding::error(Code::Syntax, place("", 20, 1), "comments are not JSON");
        let mut group = Finding::notice(
            Code::UndeclaredGroup,
            place("policies.web.sources[0]", 9, 2),
            "group is not declared",
        );
        group.suggest("first\nsecond");
        let odd = Finding::notice(Code::IdleSection, place("", 1, 1), "odd");
        let file = "netbird.json".to_owned();
        let problems = Findings {
            file,
            list: vec![group, odd, typo.clone(), comment],
        };
        let text = r#"netbird.json has 2 problems

netbird.json:14:7  policies.web.protcol
    unknown field "protcol"
    did you mean "protocol"?
netbird.json:20:1
    comments are not JSON

note: netbird.json:9:2  policies.web.sources[0]: group is not declared
    first
    second
note: netbird.json:1:1  odd
"#;
        assert_eq!(problems.render(), text);
        assert_eq!(problems.to_string(), text.trim_end());
        let one = Findings {
            file: "x".into(),
            list: vec![typo],
        };
        assert!(
            one.render().starts_with("x has 1 problem\n\nx:14:7  "),
            "{one}"
        );
    }
}
