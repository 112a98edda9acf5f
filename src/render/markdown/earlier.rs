//! What an apply did whose result a newer run takes the place of: a line of it stays in the comment.
//!
//! The lines are made of what is hidden before the heading, where no text of other people can stand.

/// Hidden in a result: the page of its run.
const RUN: &str = "<!-- run ";
/// The same of a run that ended before all of its work was done.
const BEGAN: &str = "<!-- began in run ";
/// An earlier run: its page, and the heading of its result.
const EARLIER: &str = "<!-- earlier run ";
const END: &str = " -->";

/// Most earlier runs in a comment.
const MOST: usize = 10;

/// Returns the hidden line that says which run's result it is; `began`: it did a part of its work.
pub fn run_marker(run: Option<&str>, began: bool) -> String {
    let is_plain = |run: &&str| {
        run.starts_with("http") && !run.contains(|c: char| c.is_whitespace() || "()<>".contains(c))
    };
    let marker = if began { BEGAN } else { RUN };
    let run = run.filter(is_plain);
    run.map_or_else(String::new, |run| format!("{marker}{run}{END}\n"))
}

/// Returns `new` with a line about each run that did a part of its work, and whose result was in `old`.
pub fn keep_earlier(old: &str, new: &str) -> String {
    let (hidden, rest) = hidden(old);
    let heading = rest.lines().next().unwrap_or_default();
    let heading = heading.strip_prefix("### NetBird apply");
    let heading = heading.map(|heading| heading.trim_start_matches([':', ' ']));
    let own = |text| value(text, RUN).or(value(text, BEGAN)).map(str::to_owned);
    let began =
        value(hidden, BEGAN).filter(|run| own(self::hidden(new).0).as_deref() != Some(*run));
    let began = began.zip(heading);
    let mut earlier: Vec<String> = values(hidden, EARLIER).map(str::to_owned).collect();
    earlier.extend(began.map(|(run, heading)| format!("{run} {heading}")));
    earlier.dedup();
    earlier.drain(..earlier.len().saturating_sub(MOST));
    if earlier.is_empty() {
        return new.to_owned();
    }
    let (hidden, rest) = self::hidden(new);
    let markers = earlier.iter().map(|it| format!("{EARLIER}{it}{END}\n"));
    let markers: String = markers.collect();
    let lines = earlier.iter().filter_map(|it| it.split_once(' '));
    let lines: String = lines
        .map(|(run, heading)| format!("\nBefore this run: {heading} ([its page]({run}))\n"))
        .collect();
    let rest = rest.trim_end_matches('\n');
    format!("{hidden}{markers}{rest}\n{lines}")
}

/// Splits a text behind its hidden lines.
fn hidden(text: &str) -> (&str, &str) {
    let lines = text.split_inclusive('\n');
    let hidden = lines.take_while(|line| line.starts_with("<!--"));
    text.split_at(hidden.map(str::len).sum())
}

/// Returns what stands in the hidden lines that begin so.
fn values<'a>(hidden: &'a str, marker: &str) -> impl Iterator<Item = &'a str> {
    let lines = hidden.lines();
    lines.filter_map(move |line| line.strip_prefix(marker)?.strip_suffix(END))
}

fn value<'a>(hidden: &'a str, marker: &str) -> Option<&'a str> {
    values(hidden, marker).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(run: u32, began: bool, heading: &str) -> String {
        let run = run_marker(Some(&format!("https://git/o/r/actions/runs/{run}")), began);
        format!("<!-- marker -->\n{run}### NetBird apply{heading}\n\nrows\n")
    }

    fn lines(text: &str) -> Vec<&str> {
        let lines = text.lines();
        lines
            .filter(|line| line.starts_with("Before this run: "))
            .collect()
    }

    #[test]
    fn what_a_run_began_stays_below_the_result_of_the_next() {
        let first = body(1, true, " **superseded**: 1 created, 1 not tried");
        let second = keep_earlier(&first, &body(2, true, " **failed**: 2 created, 1 failed"));
        let third = keep_earlier(&second, &body(3, false, ": 1 created"));
        let page = |run| format!("([its page](https://git/o/r/actions/runs/{run}))");
        assert_eq!(
            lines(&third),
            [
                format!(
                    "Before this run: **superseded**: 1 created, 1 not tried {}",
                    page(1)
                ),
                format!(
                    "Before this run: **failed**: 2 created, 1 failed {}",
                    page(2)
                ),
            ]
        );
        assert_eq!(keep_earlier(&third, &body(3, false, ": 1 created")), third);
        let many = (4..40).fold(third, |text, run| {
            keep_earlier(&text, &body(run, true, " **failed**"))
        });
        assert_eq!(lines(&many).len(), MOST);
    }

    #[test]
    fn what_a_run_says_of_itself_and_what_did_nothing_is_not_kept() {
        let new = body(1, false, ": 2 created");
        assert_eq!(
            keep_earlier(&body(1, true, ": 1 created, 1 waiting"), &new),
            new
        );
        assert_eq!(keep_earlier(&body(2, false, " **refused**"), &new), new);
        assert_eq!(run_marker(Some("https://git/a) x"), true), "");
    }

    /// An error's text stands in a fence; taken out of it, it would be live.
    #[test]
    fn what_others_say_in_a_result_is_no_line_of_an_earlier_run() {
        let line = "Before this run: [win](http://evil.example)";
        let hidden = "<!-- earlier run http://evil.example win -->";
        let old = body(1, true, " **failed**")
            + &format!("```\n{line}\n{hidden}\n{BEGAN}http://evil{END}\n```\n");
        let new = keep_earlier(&old, &body(2, false, ": 1 created"));
        assert!(!new.contains("evil"), "{new}");
    }
}
