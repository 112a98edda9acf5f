//! A tree as markdown for a comment: the heading answers "do I need to worry?", what to do comes next. Names are untrusted:
//! they are inert wherever they stand.

mod earlier;
mod escape;
mod sealed;

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Attached, Block, Look, Mark, Rank, Row, Rows, Tree};
use crate::base::{Piece, Sentence, count, joined, visible};

pub use earlier::keep_earlier;
pub(super) use earlier::run_marker;
pub use escape::{code, marker};
pub use sealed::keep_sealed;
pub(super) use sealed::title_of_sealed;

use escape::{cell, fenced, text};

/// Size that a comment must not exceed, in characters: larger ones slow the page and are mailed to watchers.
pub const BUDGET: usize = 60_000;

/// Most warnings at the top of a comment.
const MOST_WARNINGS: usize = 20;

/// What the words take that say what is left out.
const WORDS: usize = 1_000;

/// Returns the tree. What does not fit the budget is left out by its rank, and the text says so at its top. Whoever loses a sealed
/// key loses the key, so they are left out for no budget.
pub fn comment(tree: &Tree, budget: usize) -> String {
    // an error alone has all the room
    let error = match tree.body.is_empty() {
        true => budget.saturating_sub(2 * WORDS),
        false => budget / 4,
    };
    let blocks = tree.act.iter().chain(&tree.body).chain(&tree.last);
    let parts = blocks.filter_map(|block| Part::of(block, error));
    let (keys, parts): (Vec<Part>, Vec<Part>) = parts.partition(|part| part.is_beyond_budget);
    let head = format!("{}### {}", tree.marker, sentence(&tree.heading, code));
    let foot = [&tree.about].into_iter().chain(&tree.foot);
    let foot = foot.filter(|it| !it.is_empty());
    let foot = joined(foot.map(|it| sentence(it, code)), " · ");
    let room = budget.saturating_sub(chars(&head) + chars(&foot) + 10);
    let kept = match parts.iter().map(Part::size).sum::<usize>() <= room {
        true => Kept::within(&parts, usize::MAX / 2, false),
        false => {
            let room = room.saturating_sub(WORDS);
            let kept = Kept::within(&parts, room, false);
            let ranks = [Rank::Loud, Rank::Reach, Rank::Quiet];
            let mut missing = ranks.iter().filter_map(|rank| kept.missing.get(rank));
            match missing.any(|[left_out, _]| *left_out > 0) {
                true => Kept::within(&parts, room, true),
                false => kept,
            }
        }
    };
    let left_out = kept.left_out(&parts);
    let shown = parts.iter().zip(&kept.numbers);
    let shown = shown.map(|(part, number)| part.text(*number, kept.is_short));
    let keys = keys.iter().map(|part| part.text(usize::MAX, false));
    let texts = [head].into_iter().chain(left_out).chain(shown);
    let texts = texts.chain([foot]).chain(keys);
    joined(texts.filter(|text| !text.is_empty()), "\n\n") + "\n"
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn sentence(of: &Sentence, name: fn(&str) -> String) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(words) => text(words),
        Piece::Name(it) => name(it),
        Piece::Code(it) => code(it),
        Piece::Strong(words) => format!("**{}**", text(words)),
    };
    of.0.iter().map(piece).collect()
}

/// A sentence as the beginning of a line.
fn line(of: &Sentence) -> String {
    escape::inert_start(sentence(of, code))
}

/// A block in its pieces, of which each can be left out; with none of its rows it is left out as a whole.
#[derive(Default)]
struct Part {
    is_beyond_budget: bool,
    /// What it is called where it is left out as a whole.
    title: String,
    before: String,
    /// Each in its long form and in its short one, in the order of their ranks.
    rows: Vec<(Rank, [String; 2])>,
}

impl Part {
    /// `error`: most characters of the error.
    fn of(block: &Block, error: usize) -> Option<Part> {
        let whole = |rank: Rank, title: &str, text: String| Part {
            title: title.to_owned(),
            rows: vec![(rank, [text.clone(), text])],
            ..Part::default()
        };
        Some(match block {
            Block::Paragraph(sentence) => whole(Rank::Must, "", line(sentence)),
            Block::Copy(text) => whole(Rank::Must, "", fenced("", text)),
            Block::Stderr(text) => whole(Rank::Must, "", fenced("", &beginning(text, error))),
            Block::Attached(of) => Part {
                is_beyond_budget: of.rank == Rank::Must,
                ..whole(of.rank, &of.title, attached(of))
            },
            Block::Rows(of) if of.rows.is_empty() => return None,
            Block::Rows(of) if of.look == Look::Folded => {
                let title = sentence(&of.title, code);
                let entries = joined(of.rows.iter().map(|row| entry(row, of.look)), "\n");
                whole(of.rows[0].rank, &title, folded(&title, &entries))
            }
            Block::Rows(of) => rows(of),
        })
    }

    fn size(&self) -> usize {
        let rows = self.rows.iter().map(|(_, row)| chars(&row[0]) + 1);
        chars(&self.before) + rows.sum::<usize>() + 1
    }

    /// Its text with so many rows, in their short form where it is wanted.
    fn text(&self, number: usize, is_short: bool) -> String {
        let rows = self.rows.iter().take(number);
        let rows = joined(rows.map(|(_, row)| &row[usize::from(is_short)]), "\n");
        match number {
            0 => rows,
            _ => format!("{}{rows}", self.before),
        }
    }
}

/// How many rows of each part are there, and whether in their short form.
struct Kept {
    numbers: Vec<usize>,
    is_short: bool,
    /// Rows that are left out, and all there are, by rank.
    missing: BTreeMap<Rank, [usize; 2]>,
}

impl Kept {
    /// What there is room for: what matters more is taken first, and rows of a part stay in their order.
    fn within(parts: &[Part], mut room: usize, is_short: bool) -> Kept {
        let (mut numbers, mut missing) = (vec![0; parts.len()], BTreeMap::new());
        let mut floor = None;
        let rows = parts.iter().flat_map(|part| &part.rows);
        for rank in rows.map(|(rank, _)| *rank).collect::<BTreeSet<Rank>>() {
            // warnings and notes leave three quarters to the rest
            let reserved = match rank {
                Rank::Warning | Rank::Notice => *floor.get_or_insert(room - room / 4),
                _ => 0,
            };
            for (part, number) in parts.iter().zip(&mut numbers) {
                let mut is_full = false;
                let rows = part.rows.iter().skip(*number);
                for (_, row) in rows.filter(|(of, _)| *of == rank) {
                    let frame = match *number {
                        0 => chars(&part.before) + 1,
                        _ => 0,
                    };
                    let size = chars(&row[usize::from(is_short)]) + 1 + frame;
                    is_full |= rank != Rank::Must && size + reserved > room;
                    if !is_full {
                        room = room.saturating_sub(size);
                        *number += 1;
                    }
                    if part.title.is_empty() && rank != Rank::Must {
                        let [left_out, all] = missing.entry(rank).or_insert([0, 0]);
                        *left_out += usize::from(is_full);
                        *all += 1;
                    }
                }
            }
        }
        Kept {
            numbers,
            is_short,
            missing,
        }
    }

    /// Says at the top what is missing below.
    fn left_out(&self, parts: &[Part]) -> Option<String> {
        let mut missing: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for (rank, [left_out, all]) in &self.missing {
            let what = match rank {
                Rank::Loud => "deletions, replacements and other losses**",
                Rank::Reach => "changes of who reaches whom",
                Rank::Quiet => "creations and changes",
                Rank::Must | Rank::Warning | Rank::Notice | Rank::Extra => "notes and warnings",
            };
            let sum = missing.entry(what).or_default();
            *sum = [sum[0] + left_out, sum[1] + all];
        }
        let rows = missing.iter().filter(|(_, [left_out, _])| *left_out > 0);
        let rows = rows.map(|(what, [left_out, all])| {
            let strong = if what.ends_with("**") { "**" } else { "" };
            format!("{strong}{left_out} of {all} {what}")
        });
        let short = self.is_short.then(|| "what the changes are".to_owned());
        let whole = parts.iter().zip(&self.numbers);
        let whole = whole.filter(|(part, number)| **number == 0 && !part.title.is_empty());
        let whole = whole.map(|(part, _)| part.title.clone());
        let what = joined(rows.chain(short).chain(whole), ", ");
        let text =
            "> [!IMPORTANT]\n> This is too long for a comment. Left out here, but in the job's log";
        (!what.is_empty()).then(|| format!("{text}: {what}."))
    }
}

fn rows(of: &Rows) -> Part {
    let title = sentence(&of.title, code);
    let quoted = |kind: &str| match title.as_str() {
        "" => format!("> [!{kind}]\n"),
        title => format!("> [!{kind}]\n> {title}:\n>\n"),
    };
    let before = match of.look {
        Look::Warning => quoted("WARNING"),
        Look::Caution => quoted("CAUTION"),
        Look::Open | Look::Folded if title.is_empty() => String::new(),
        Look::Open | Look::Folded => format!("#### {title}\n\n"),
    };
    let (head, rules) = (of.head.join(" | "), "---|".repeat(of.head.len()));
    let is_list = of.head.is_empty();
    let short = if of.short == 0 { usize::MAX } else { of.short };
    let row = |row: &Row| match is_list {
        true => (row.rank, [entry(row, of.look), entry(row, of.look)]),
        false => (row.rank, [cells(row, usize::MAX), cells(row, short)]),
    };
    let more = match of.look {
        Look::Warning => of.rows.len().saturating_sub(MOST_WARNINGS),
        _ => 0,
    };
    let shown = &of.rows[..of.rows.len() - more];
    let more = (more > 0).then(|| {
        let words = format!("And {more} more of that sort, in the job's log.");
        Row::of(Mark::NONE, words, Rank::Warning)
    });
    let before = match is_list {
        true => before,
        false => format!("{before}|   | {head} |\n|---|{rules}\n"),
    };
    // what there is room for is counted by rank, from the first row
    let mut rows: Vec<_> = shown.iter().chain(&more).map(row).collect();
    rows.sort_by_key(|(rank, _)| *rank);
    Part {
        before,
        rows,
        ..Part::default()
    }
}

/// An entry of a list.
fn entry(row: &Row, look: Look) -> String {
    let lead = match look {
        Look::Warning | Look::Caution => "> ",
        Look::Open | Look::Folded => "",
    };
    let first = match row.mark.0[2] {
        "" => line(&row.cells[0]),
        sign => format!("{sign} {}", sentence(&row.cells[0], code)),
    };
    let more = row.below();
    let more: String = more
        .map(|it| format!("\n{lead}  - {}", line(&it)))
        .collect();
    format!("{lead}- {first}{more}")
}

/// A row of a table, of which `most` cells are filled.
fn cells(row: &Row, most: usize) -> String {
    let last = row.cells.len() - 1;
    let shown = row.cells.iter().enumerate().map(|(at, of)| {
        let more = row.below().filter(|_| at == last);
        let lines = [of.clone()].into_iter().chain(more);
        let lines = lines.map(|it| sentence(&it, cell));
        let lines = joined(lines.filter(|line| !line.is_empty()), "<br>");
        match at < most {
            true => format!(" {lines} |"),
            false => " |".to_owned(),
        }
    });
    format!("| {} |{}", row.mark.0[2], shown.collect::<String>())
}

fn attached(of: &Attached) -> String {
    let text = |(label, text): &(Sentence, String)| match label.is_empty() {
        true => fenced(of.language, text),
        false => format!("{}\n\n{}", line(label), fenced(of.language, text)),
    };
    folded(&of.title, &joined(of.texts.iter().map(text), "\n\n"))
}

fn folded(title: &str, body: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{body}\n\n</details>")
}

/// The text, or its first lines: nothing is cut off by a block's edge.
fn beginning(text: &str, most: usize) -> String {
    let mut kept = String::new();
    let number = text.lines().count();
    let mut size = 0;
    for (index, line) in text.lines().enumerate() {
        // an escaped character takes up to ten
        size += chars(&visible(line)) + 1;
        if size > most {
            let more = count(number - index, "more line", "more lines");
            return kept + &format!("… and {more} in the job's log\n");
        }
        kept += &format!("{line}\n");
    }
    kept
}

#[cfg(test)]
mod tests;
