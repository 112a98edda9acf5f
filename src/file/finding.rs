//! What is wrong with a file, or odd about it: places, findings, and their text for people.

use std::fmt;

use crate::base::code::Code;

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
        Finding::new(Severity::Error, code, place, message.into())
    }

    /// A notice at that place.
    pub fn notice(code: Code, place: Place, message: impl Into<String>) -> Self {
        Finding::new(Severity::Notice, code, place, message.into())
    }

    fn new(severity: Severity, code: Code, place: Place, message: String) -> Self {
        Finding {
            severity,
            code,
            place,
            message,
            hint: None,
            brief: None,
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
        for line in self.hint.iter().flat_map(|hint| hint.lines()) {
            text += &format!("    {line}\n");
        }
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
        let count = self.errors().count();
        let plural = if count == 1 { "problem" } else { "problems" };
        let mut text = format!("{} has {count} {plural}\n\n", self.file);
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
