//! What an apply did whose result a newer run takes the place of: a line of it stays in the comment.

/// Hidden in a result: the page of its run, and whether the run ended before all of its work was done.
const RUN: [&str; 2] = ["<!-- run ", "<!-- began in run "];
const END: &str = " -->";

/// What a line of an earlier run begins with.
const BEFORE: &str = "Before this run: ";

/// Most lines of earlier runs in a comment.
const MOST: usize = 10;

/// Returns the hidden line that says which run's result it is; `began`: it did a part of its work.
pub fn run_marker(run: Option<&str>, began: bool) -> String {
    let is_plain = |run: &&str| {
        run.starts_with("http") && !run.contains(|c: char| c.is_whitespace() || "()<>".contains(c))
    };
    let run = run.filter(is_plain);
    run.map_or_else(String::new, |run| {
        format!("{}{run}{END}\n", RUN[usize::from(began)])
    })
}

/// Returns `new` with a line about each run that did a part of its work, and whose result was in `old`.
pub fn keep_earlier(old: &str, new: &str) -> String {
    let heading = old
        .lines()
        .find_map(|line| line.strip_prefix("### NetBird apply"));
    let began = run_of(old, &RUN[1..]).filter(|run| run_of(new, &RUN) != Some(*run));
    let began = began.zip(heading).map(|(run, heading)| {
        let heading = heading.trim_start_matches([':', ' ']);
        format!("{BEFORE}{heading} ([its page]({run}))")
    });
    let before = old.lines().filter(|line| line.starts_with(BEFORE));
    let mut lines: Vec<String> = before.map(str::to_owned).chain(began).collect();
    lines.retain(|line| !new.contains(line.as_str()));
    lines.dedup();
    let first = lines.len().saturating_sub(MOST);
    match lines.is_empty() {
        true => new.to_owned(),
        false => format!(
            "{}\n\n{}\n",
            new.trim_end_matches('\n'),
            lines[first..].join("\n\n")
        ),
    }
}

/// Returns the page of the run whose result a text is.
fn run_of<'a>(text: &'a str, markers: &[&str]) -> Option<&'a str> {
    let mut lines = text.lines().take_while(|line| line.starts_with("<!--"));
    lines.find_map(|line| {
        let mut markers = markers.iter();
        let run = markers.find_map(|marker| line.strip_prefix(marker))?;
        run.strip_suffix(END)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(run: u32, began: bool, heading: &str) -> String {
        let run = run_marker(Some(&format!("https://git/o/r/actions/runs/{run}")), began);
        format!("<!-- marker -->\n{run}### NetBird apply{heading}\n\nrows\n")
    }

    #[test]
    fn what_a_run_began_stays_below_the_result_of_the_next() {
        let first = body(1, true, " **superseded**: 1 created, 1 not tried");
        let second = keep_earlier(&first, &body(2, true, " **failed**: 2 created, 1 failed"));
        let third = keep_earlier(&second, &body(3, false, ": 1 created"));
        let lines: Vec<&str> = third
            .lines()
            .filter(|line| line.starts_with(BEFORE))
            .collect();
        let page = |run| format!("([its page](https://git/o/r/actions/runs/{run}))");
        assert_eq!(
            lines,
            [
                format!("{BEFORE}**superseded**: 1 created, 1 not tried {}", page(1)),
                format!("{BEFORE}**failed**: 2 created, 1 failed {}", page(2)),
            ]
        );
        assert_eq!(keep_earlier(&third, &body(3, false, ": 1 created")), third);
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
}
