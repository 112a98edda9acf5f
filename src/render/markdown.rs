//! A tree as markdown for a comment: the heading answers "do I need to worry?", what to do comes next. Names are untrusted:
//! they are inert wherever they stand.

mod earlier;
mod escape;
mod sealed;

use std::collections::BTreeMap;

use super::tree::{Attached, Block, Look, Mark, Rank, Row, Rows, Tree};
use crate::base::sentence::{Piece, Sentence};
use crate::base::text::{count, visible};

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
    let (keys, parts): (Vec<Part>, Vec<Part>) = tree
        .act
        .iter()
        .chain(&tree.body)
        .chain(&tree.last)
        .filter_map(|block| Part::of(block, error))
        .partition(|part| part.is_beyond_budget);
    let head = format!("{}### {}", tree.marker, sentence(&tree.heading, code));
    let foot: Vec<String> = [&tree.about]
        .into_iter()
        .chain(&tree.foot)
        .filter(|it| !it.is_empty())
        .map(|it| sentence(it, code))
        .collect();
    let foot = foot.join(" · ");
    let room = budget.saturating_sub(head.chars().count() + foot.chars().count() + 10);
    let all: usize = parts.iter().map(Part::size).sum();
    let kept = match all <= room {
        true => Kept::all(&parts),
        false => {
            let room = room.saturating_sub(WORDS);
            let kept = Kept::within(&parts, room, false);
            match kept.lacks_changes() {
                true => Kept::within(&parts, room, true),
                false => kept,
            }
        }
    };
    let left_out = kept.left_out(&parts);
    let shown = parts.iter().zip(&kept.parts);
    let shown = shown.filter_map(|(part, kept)| part.text(*kept));
    let texts = [head].into_iter().chain(left_out).chain(shown);
    let keys = keys.iter().filter_map(|part| part.text((true, 0, false)));
    let texts = texts.chain([foot]).chain(keys);
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n\n") + "\n"
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

/// A block in its pieces, of which each can be left out.
struct Part {
    rank: Rank,
    is_beyond_budget: bool,
    /// What it is called where it is left out as a whole.
    title: String,
    before: String,
    rows: Vec<[String; 2]>,
    ranks: Vec<Rank>,
}

impl Part {
    /// `error`: most characters of the error.
    fn of(block: &Block, error: usize) -> Option<Part> {
        let whole = |text: String| Part {
            rank: Rank::Must,
            is_beyond_budget: false,
            title: String::new(),
            before: text,
            rows: Vec::new(),
            ranks: Vec::new(),
        };
        Some(match block {
            Block::Paragraph(sentence) => whole(line(sentence)),
            Block::Copy(text) => whole(fenced("", text)),
            Block::Stderr(text) => whole(fenced("", &beginning(text, error))),
            Block::Attached(of) => Part {
                rank: of.rank,
                is_beyond_budget: of.rank == Rank::Must,
                title: of.title.clone(),
                ..whole(attached(of))
            },
            Block::Rows(of) if of.rows.is_empty() => return None,
            Block::Rows(of) if of.look == Look::Folded => {
                let entries: Vec<String> = of.rows.iter().map(|row| entry(row, of.look)).collect();
                let title = sentence(&of.title, code);
                Part {
                    rank: of.rows[0].rank,
                    title: title.clone(),
                    ..whole(folded(&title, &entries.join("\n")))
                }
            }
            Block::Rows(of) => rows(of, whole(String::new())),
        })
    }

    fn size(&self) -> usize {
        let rows = self.rows.iter().map(|row| row[0].chars().count() + 1);
        self.before.chars().count() + rows.sum::<usize>() + 2
    }

    /// Its text with so many rows, in their short form where it is wanted.
    fn text(&self, (is_kept, number, is_short): (bool, usize, bool)) -> Option<String> {
        if !is_kept || (number == 0 && !self.rows.is_empty()) {
            return None;
        }
        let rows = self.rows.iter().take(number);
        let rows: Vec<&str> = rows
            .map(|row| row[usize::from(is_short)].as_str())
            .collect();
        Some(format!("{}{}", self.before, rows.join("\n")))
    }
}

/// What of each part is there: whether it is, how many rows, and whether in their short form.
struct Kept {
    parts: Vec<(bool, usize, bool)>,
    /// Rows that are left out, and all there are, by rank.
    missing: BTreeMap<Rank, [usize; 2]>,
}

impl Kept {
    fn all(parts: &[Part]) -> Kept {
        Kept {
            parts: parts
                .iter()
                .map(|part| (true, part.rows.len(), false))
                .collect(),
            missing: BTreeMap::new(),
        }
    }

    /// What there is room for: what matters more goes first, and rows of a part stay in their order.
    fn within(parts: &[Part], mut room: usize, is_short: bool) -> Kept {
        let mut kept = Kept {
            parts: parts.iter().map(|_| (false, 0, is_short)).collect(),
            missing: BTreeMap::new(),
        };
        let mut floor = 0;
        for rank in [
            Rank::Must,
            Rank::Warning,
            Rank::Notice,
            Rank::Loud,
            Rank::Reach,
            Rank::Quiet,
            Rank::Extra,
        ] {
            let reserved = match rank {
                Rank::Warning => {
                    floor = room - room / 4;
                    floor
                }
                Rank::Notice => floor,
                _ => 0,
            };
            for (part, (is_kept, number, _)) in parts.iter().zip(&mut kept.parts) {
                let frame = part.before.chars().count() + 2;
                if part.rows.is_empty() && part.rank == rank {
                    *is_kept = rank == Rank::Must || frame + reserved <= room;
                    room = room.saturating_sub(if *is_kept { frame } else { 0 });
                    continue;
                }
                let mut of_rank = [0, 0];
                for (row, _) in part
                    .rows
                    .iter()
                    .zip(&part.ranks)
                    .skip(*number)
                    .filter(|(_, of)| **of == rank)
                {
                    of_rank[1] += 1;
                    let size = row[usize::from(is_short)].chars().count() + 1;
                    let size = size + if *is_kept { 0 } else { frame };
                    if of_rank[0] == 0 && (rank == Rank::Must || size + reserved <= room) {
                        room = room.saturating_sub(size);
                        *is_kept = true;
                        *number += 1;
                    } else {
                        of_rank[0] += 1;
                    }
                }
                let all = kept.missing.entry(rank).or_default();
                *all = [all[0] + of_rank[0], all[1] + of_rank[1]];
            }
        }
        kept
    }

    fn lacks_changes(&self) -> bool {
        let ranks = [Rank::Loud, Rank::Reach, Rank::Quiet];
        let mut missing = ranks.iter().filter_map(|rank| self.missing.get(rank));
        missing.any(|[left_out, _]| *left_out > 0)
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
        let short = self.parts.iter().any(|(.., is_short)| *is_short);
        let short = short.then(|| "what the changes are".to_owned());
        let whole = parts.iter().zip(&self.parts);
        let whole = whole.filter(|(part, (is_kept, ..))| {
            !is_kept && part.rows.is_empty() && !part.title.is_empty()
        });
        let whole = whole.map(|(part, _)| part.title.clone());
        let what: Vec<String> = rows.chain(short).chain(whole).collect();
        (!what.is_empty()).then(|| {
            format!(
                "> [!IMPORTANT]\n> This is too long for a comment. Left out here, but in the job's log: {}.",
                what.join(", ")
            )
        })
    }
}

fn rows(of: &Rows, part: Part) -> Part {
    let title = sentence(&of.title, code);
    let columns = format!(
        "|   | {} |\n|---|{}\n",
        of.head.join(" | "),
        "---|".repeat(of.head.len())
    );
    let before = match of.look {
        Look::Warning | Look::Caution => {
            let kind = match of.look {
                Look::Warning => "WARNING",
                _ => "CAUTION",
            };
            let title = match title.as_str() {
                "" => title,
                title => format!("> {title}:\n>\n"),
            };
            format!("> [!{kind}]\n{title}")
        }
        Look::Open | Look::Folded if title.is_empty() => String::new(),
        Look::Open | Look::Folded => format!("#### {title}\n\n"),
    };
    let short = match of.short {
        0 => usize::MAX,
        short => short,
    };
    let row = |row: &Row| match of.head.is_empty() {
        true => [entry(row, of.look), entry(row, of.look)],
        false => [cells(row, usize::MAX), cells(row, short)],
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
    let shown: Vec<&Row> = shown.iter().chain(&more).collect();
    Part {
        before: match of.head.is_empty() {
            true => before,
            false => before + &columns,
        },
        ranks: shown.iter().map(|row| row.rank).collect(),
        rows: shown.into_iter().map(row).collect(),
        ..part
    }
}

/// An entry of a list.
fn entry(row: &Row, look: Look) -> String {
    let lead = match look {
        Look::Warning | Look::Caution => "> ",
        Look::Open | Look::Folded => "",
    };
    let first = match row.mark.2 {
        "" => line(&row.cells[0]),
        sign => format!("{sign} {}", sentence(&row.cells[0], code)),
    };
    let more = row.more.iter().map(line);
    let more = more.map(|more| format!("\n{lead}  - {more}"));
    format!("{lead}- {first}{}", more.collect::<String>())
}

/// A row of a table, of which `most` cells are filled.
fn cells(row: &Row, most: usize) -> String {
    let last = row.cells.len() - 1;
    let shown = row.cells.iter().enumerate().map(|(at, of)| {
        let first = sentence(of, cell);
        let more = row.more.iter().filter(|_| at == last);
        let lines = [first]
            .into_iter()
            .chain(more.map(|more| sentence(more, cell)));
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        match at < most {
            true => format!(" {} |", lines.join("<br>")),
            false => " |".to_owned(),
        }
    });
    format!("| {} |{}", row.mark.2, shown.collect::<String>())
}

fn attached(of: &Attached) -> String {
    let text = |(label, text): &(Sentence, String)| match label.is_empty() {
        true => fenced(of.language, text),
        false => format!("{}\n\n{}", line(label), fenced(of.language, text)),
    };
    let texts: Vec<String> = of.texts.iter().map(text).collect();
    folded(&of.title, &texts.join("\n\n"))
}

fn folded(title: &str, body: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{body}\n\n</details>")
}

/// The text, or its first lines: nothing is cut off by a block's edge.
fn beginning(text: &str, most: usize) -> String {
    let mut kept = String::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut size = 0;
    for (index, line) in lines.iter().enumerate() {
        // an escaped character takes up to ten
        size += visible(line).chars().count() + 1;
        if size > most {
            let more = count(lines.len() - index, "more line", "more lines");
            kept.push_str(&format!("… and {more} in the job's log\n"));
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests;
