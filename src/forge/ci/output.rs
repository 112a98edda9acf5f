//! Text in the log of a job: commands that the runner reads, and text that it must not read as commands.

use std::borrow::Cow;

use crate::base::joined;

/// Returns the line that names a problem in a file to the runner, without a newline: `::error file=F,line=L,col=C::MSG`.
///
/// No runner makes an annotation of it (docs/gitea-api.md, "Lines of a log"): old ones print the line, newer ones
/// `::error::F:L:C: MSG`. Neither decodes `%0A` and the like, so a newline becomes a blank and nothing else is escaped.
/// In the file's name a comma or `::` would end the value; they become `?`.
pub fn annotation(file: &str, line: usize, col: usize, msg: &str) -> String {
    let file = one_line(file).replace(',', "?").replace("::", "??");
    format!(
        "::error file={file},line={line},col={col}::{}",
        one_line(msg)
    )
}

fn one_line(text: &str) -> String {
    let lines = text.split(['\n', '\r']).map(str::trim);
    joined(lines.filter(|line| !line.is_empty()), " ")
}

/// Returns the text with a blank before each line that a runner would take as a command: one that starts with `::` or
/// `##[` (docs/gitea-api.md, "Lines of a log"). The text is taken to start a line.
///
/// For everything that others wrote: names, messages of servers, parts of files.
pub fn safe_line(text: &str) -> Cow<'_, str> {
    let is_command = |line: &str| line.starts_with("::") || line.starts_with("##[");
    if !text.split(['\n', '\r']).any(is_command) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for line in text.split_inclusive(['\n', '\r']) {
        if is_command(line) {
            safe.push(' ');
        }
        safe.push_str(line);
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::{annotation, safe_line};

    #[test]
    fn annotations() {
        assert_eq!(
            annotation(
                "netbird.json",
                3,
                5,
                "unknown field \"x\"\r\n  did you mean \"y\"?\n"
            ),
            "::error file=netbird.json,line=3,col=5::unknown field \"x\" did you mean \"y\"?"
        );
        assert_eq!(
            annotation(
                "a,line=9::b\n.json",
                1,
                1,
                "100% ::error::no\n::set-env name=X::y"
            ),
            "::error file=a?line=9??b .json,line=1,col=1::100% ::error::no ::set-env name=X::y"
        );
    }

    #[test]
    fn lines_that_runners_would_obey() {
        for (text, safe) in [
            ("", ""),
            ("plain ::error::text", "plain ::error::text"),
            (" ::error::x", " ::error::x"),
            ("::add-mask::e", " ::add-mask::e"),
            ("##[error]x", " ##[error]x"),
            ("# ##[x]", "# ##[x]"),
            ("a\n::b\r\n::c\r##[d]\n\n", "a\n ::b\r\n ::c\r ##[d]\n\n"),
            ("::::", " ::::"),
        ] {
            assert_eq!(safe_line(text), safe);
        }
    }
}
