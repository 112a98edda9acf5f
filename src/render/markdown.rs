//! The plan as markdown for a pull request: the heading answers "do I need to worry?", the table says what, the details
//! say how. Names are untrusted: they are inert wherever they stand.

mod access;
mod escape;
mod parts;
mod sealed;
mod table;

use super::style::Style;
use super::{Document, Status, Unplanned};
use crate::base::text::count;
use crate::plan::Plan;

pub(super) use escape::line;
pub use escape::marker;
pub use escape::{code, text};
pub use sealed::keep_sealed;

use escape::fenced;

/// Names are code spans, and what is left alone is folded, so that all of it has room.
const STYLE: Style = Style {
    name: code,
    text,
    strong: |words| format!("**{words}**"),
    names: |names| names.join(", "),
};

/// Size that a comment must not exceed, in characters: larger ones slow the page and are mailed to watchers.
pub const BUDGET: usize = 60_000;

/// Returns the plan, or what an apply made of it.
///
/// What does not fit the budget is left out from the back, and the text says so at its top: first the details, then
/// rows of creations and changes, then notices; what takes something away stays to the last.
pub fn document(document: &Document, applied: bool, budget: usize) -> String {
    let what = if applied { "apply" } else { "plan" };
    let marker = marker(what, &document.environment);
    if document.unplanned == Some(Unplanned::Untouched) {
        return format!("{marker}\n{}", untouched(document));
    }
    if let Some(commit) = &document.superseded {
        return format!("{marker}\n{}", superseded(document, commit));
    }
    let is_open = document.error.is_some() || document.statuses.contains(&Status::Pending);
    let marker = match applied && is_open {
        true => format!("{marker}\n{NO_RESULT}"),
        false => marker,
    };
    let Some(plan) = &document.plan else {
        return format!("{marker}\n{}", failure(document, applied, budget));
    };
    // whoever loses a sealed key loses the key, so they are left out for no budget
    let keys = sealed::section(document).map(|keys| format!("\n{keys}\n"));
    let keys = keys.unwrap_or_default();
    for level in [Level::Full, Level::NoDetails, Level::Folded, Level::Bare] {
        let out = format!("{marker}\n{}", body(document, plan, applied, level));
        if out.chars().count() <= budget {
            return out + &keys;
        }
    }
    format!(
        "{marker}\n{}{keys}",
        names_only(document, plan, applied, budget)
    )
}

/// How much is left out.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    /// Nothing.
    Full,
    /// The diffs.
    NoDetails,
    /// Rows of what takes nothing away, too.
    Folded,
    /// Notices and what is unmanaged, too.
    Bare,
}

fn body(document: &Document, plan: &Plan, applied: bool, level: Level) -> String {
    let mut parts = vec![heading(document, plan, applied)];
    parts.extend(error(document, usize::MAX));
    parts.extend(left_out(plan, level));
    parts.extend(parts::refusals(document));
    parts.extend(parts::ways_out(document));
    if !applied {
        parts.extend(parts::warnings(document, plan));
        parts.extend(document.access.as_ref().and_then(access::table));
    }
    if plan.changes.len() > document.others.len() || !plan.adoptions.is_empty() {
        parts.push(table::table(document, plan, level));
    }
    if !applied {
        parts.extend(parts::memberships(document));
    }
    parts.extend(table::others(document, plan));
    if level == Level::Full {
        if !applied {
            parts.extend(document.access.iter().flat_map(access::details));
        }
        parts.extend(parts::details(plan));
    }
    if level < Level::Bare {
        parts.extend(parts::notices(document));
        parts.extend(parts::held(document));
        parts.extend(parts::let_go(document, plan));
        parts.extend(parts::unmanaged(document, plan));
    }
    parts.push(parts::footer(document, plan));
    parts.join("\n\n") + "\n"
}

fn title(document: &Document, applied: bool) -> String {
    let title = match applied {
        true => "NetBird apply",
        false => "NetBird plan",
    };
    match document.environment.as_str() {
        "" | "default" => title.to_owned(),
        name => format!("{title} for {}", text(name)),
    }
}

fn heading(document: &Document, plan: &Plan, applied: bool) -> String {
    let title = title(document, applied);
    if applied {
        return format!("### {title}{}", STYLE.done(document, plan));
    }
    let refused = STYLE.refused(document);
    let refused = refused.map(|refused| format!(" – **{refused}**"));
    format!(
        "### {title}: {}{}{}",
        STYLE.to_do(document, plan),
        STYLE.agreed(document),
        refused.unwrap_or_default()
    )
}

/// Stands in a comment after which somebody still has to do the work: the run was superseded or refused, failed, goes on, or was
/// killed.
const NO_RESULT: &str = "<!-- no result yet -->";

/// Returns whether a comment, as [`document`] made it, says what an apply came to: the run that does the work takes the place
/// of any other.
pub fn is_result(comment: &str) -> bool {
    comment.lines().nth(1) != Some(NO_RESULT)
}

fn superseded(document: &Document, commit: &str) -> String {
    let title = title(document, true);
    let commit = code(commit);
    let version = parts::version(document);
    format!(
        "{NO_RESULT}\n### {title}: superseded by {commit}, which applies it\n\n\
         The branch has a newer file, so this run changed nothing. The run of {commit} answers here once it is done.\n\n\
         {version}\n"
    )
}

/// What takes the place of a plan that was posted before the file went out of the pull request.
fn untouched(document: &Document) -> String {
    let title = title(document, false);
    let (file, version) = (code(&document.file), parts::version(document));
    format!("### {title}: no change\n\nThis pull request does not change {file}.\n\n{version}\n")
}

/// A plan that could not be made says so: an old plan never stands as if it were new.
fn failure(document: &Document, applied: bool, budget: usize) -> String {
    let title = title(document, applied);
    let what = match (applied, document.refused) {
        (true, true) => "**refused**: nothing was changed",
        (true, false) => "**failed**: nothing was changed",
        (false, _) => "**could not be made**",
    };
    let head = format!("### {title} {what}\n\n");
    let mut parts: Vec<String> = error(document, budget.saturating_sub(2_000))
        .into_iter()
        .collect();
    parts.push(parts::version(document));
    format!("{head}{}\n", parts.join("\n\n"))
}

/// The error, or its beginning, and the way out, each in a block of its own: nothing is cut off by a block's edge.
fn error(document: &Document, most: usize) -> Option<String> {
    let text = format!("error: {}", document.error.as_ref()?);
    let mut kept = String::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut size = 0;
    for (index, line) in lines.iter().enumerate() {
        // an escaped character takes up to ten
        size += crate::base::text::visible(line).chars().count() + 1;
        if size > most {
            let more = count(lines.len() - index, "more line", "more lines");
            kept.push_str(&format!("… and {more} in the job's log\n"));
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    let hint = document.hint.iter();
    let hint = hint.map(|hint| format!("\n\nWay out:\n\n{}", fenced("", hint)));
    Some(fenced("", &kept) + &hint.collect::<String>())
}

/// Says at the top what is missing below.
fn left_out(plan: &Plan, level: Level) -> Option<String> {
    let rows = table::quiet_rows(plan);
    let mut what = match level {
        Level::Full => return None,
        Level::NoDetails => vec!["the details of its changes".to_owned()],
        Level::Folded | Level::Bare => vec![rows, "all details".to_owned()],
    };
    if level == Level::Bare {
        what.extend((!plan.let_go.is_empty()).then(|| "what is let go".into()));
        what.push("notices and what is unmanaged".into());
    }
    Some(too_long(&what.join(", ")))
}

fn too_long(what: &str) -> String {
    format!(
        "> [!IMPORTANT]\n> This is too long for a comment. Left out here, but in the job's log: {what}."
    )
}

/// The last resort: of everything that takes something away the kind and the name, as many as fit, and their number.
fn names_only(document: &Document, plan: &Plan, applied: bool, budget: usize) -> String {
    let heading = heading(document, plan, applied);
    let error = error(document, budget / 4)
        .map(|error| error + "\n\n")
        .unwrap_or_default();
    let footer = parts::footer(document, plan);
    let loud = table::loud(plan).map(table::name_line);
    let called_out = document.access.iter().flat_map(access::called_out);
    let lines: Vec<String> = called_out
        .chain(loud)
        .chain(document.access.iter().flat_map(access::short_lines))
        .collect();
    let fixed = heading.chars().count() + error.chars().count() + footer.chars().count();
    // for the words around the list, and the marker
    let mut room = budget.saturating_sub(fixed + 1_000);
    let shown = lines
        .iter()
        .take_while(|line| {
            let size = line.chars().count() + 1;
            room.checked_sub(size).map(|left| room = left).is_some()
        })
        .count();
    let mut what = vec![
        table::quiet_rows(plan),
        "all details".to_owned(),
        "notices".to_owned(),
    ];
    if shown < lines.len() {
        let missing = format!(
            "**{} of {} deletions, replacements, removals and changes of who reaches whom**",
            lines.len() - shown,
            lines.len()
        );
        what.insert(0, missing);
    }
    let list = lines[..shown].join("\n");
    format!(
        "{heading}\n\n{error}{}\n\n{list}\n\n{footer}\n",
        too_long(&what.join(", "))
    )
}

#[cfg(test)]
mod tests;
