//! A tree on a terminal: signs first, so that it reads without colour too; what to do comes last.

use comfy_table::{Table, presets};

use super::tree::{Attached, Block, Look, Row, Rows, Tree};
use crate::base::sentence::{Piece, Sentence};
use crate::base::text::{MOST_NAMES, visible};

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub bool);

impl Color {
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// A sentence with names in quotes.
    fn sentence(self, sentence: &Sentence) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) | Piece::Code(text) => visible(text).into_owned(),
            Piece::Name(name) => format!("\"{}\"", visible(name)),
            Piece::Strong(text) => self.paint("33", &visible(text)),
        };
        sentence.0.iter().map(piece).collect()
    }
}

/// A sentence in a column, with names as they are.
fn cell(sentence: &Sentence) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) | Piece::Code(text) | Piece::Name(text) | Piece::Strong(text) => {
            visible(text).into_owned()
        }
    };
    sentence.0.iter().map(piece).collect()
}

/// Returns the tree; nothing where the run says all of it on stderr.
pub fn text(tree: &Tree, color: Color) -> String {
    let is_error = |block: &Block| matches!(block, Block::Stderr(_));
    if tree.body.is_empty() && tree.act.iter().any(is_error) {
        return String::new();
    }
    let mut out = Out {
        text: format!("{}\n", color.sentence(&tree.heading)),
        color,
    };
    out.line(&tree.about);
    out.blocks(&tree.body);
    let foot = tree.foot.iter().filter(|it| !it.is_empty());
    for (at, line) in foot.enumerate() {
        out.gap_if(at == 0);
        out.line(line);
    }
    out.blocks(&tree.act);
    out.blocks(&tree.last);
    out.text
}

/// Returns blocks without the rest.
pub(crate) fn blocks(blocks: &[Block]) -> String {
    let mut out = Out {
        text: String::new(),
        color: Color(false),
    };
    out.blocks(blocks);
    out.text
}

struct Out {
    text: String,
    color: Color,
}

impl Out {
    fn gap_if(&mut self, wanted: bool) {
        if wanted && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn line(&mut self, sentence: &Sentence) {
        if !sentence.is_empty() {
            self.text.push_str(&self.color.sentence(sentence));
            self.text.push('\n');
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Paragraph(sentence) => {
                    self.gap_if(true);
                    self.line(sentence);
                }
                Block::Rows(rows) => self.rows(rows),
                Block::Copy(text) => {
                    self.gap_if(true);
                    for line in text.lines() {
                        // a tab is no hidden character here
                        let parts: Vec<_> = line.split('\t').map(visible).collect();
                        self.text.push_str(&(parts.join("\t") + "\n"));
                    }
                }
                Block::Attached(Attached {
                    title,
                    texts,
                    language: "",
                    ..
                }) => {
                    self.gap_if(true);
                    self.text.push_str(&format!("{title}\n"));
                    for (label, _) in texts {
                        let label = self.color.sentence(label);
                        self.text.push_str(&format!("  {label}\n"));
                    }
                }
                Block::Attached(_) | Block::Stderr(_) => {}
            }
        }
    }

    fn rows(&mut self, rows: &Rows) {
        let shown: Vec<&Row> = rows.rows.iter().filter(|row| !row.is_read).collect();
        if shown.is_empty() {
            return;
        }
        self.gap_if(true);
        if !rows.title.is_empty() {
            let title = self.color.sentence(&rows.title);
            self.text.push_str(&format!("{title}:\n"));
        }
        let is_list = rows.head.is_empty();
        let cells = |row: &&Row| match is_list {
            true if rows.look == Look::Folded => {
                vec![self.color.sentence(&first_names(&row.cells[0]))]
            }
            true => vec![self.color.sentence(&row.cells[0])],
            false => row.cells.iter().map(cell).collect(),
        };
        let lines = aligned(shown.iter().map(cells));
        for (at, (row, line)) in shown.iter().zip(lines).enumerate() {
            let ranks = at.checked_sub(1).map(|before| shown[before].rank);
            // what a reader must look at stands apart
            self.gap_if(!is_list && ranks.is_some_and(|before| before != row.rank));
            let sign = row.mark.0;
            let (sign, line) = match row.mark {
                mark if mark.is_label() => (self.color.paint(mark.1, sign), format!(" {line}")),
                mark if mark.is_of_change() => {
                    let whole = format!("{sign:>3}  {line}");
                    (String::new(), self.color.paint(mark.1, &whole))
                }
                _ if sign.is_empty() => (String::new(), format!("  {line}")),
                mark => {
                    let space = " ".repeat(3 - sign.chars().count());
                    let sign = self.color.paint(mark.1, sign);
                    (space + &sign, format!("  {line}"))
                }
            };
            self.text.push_str(&format!("{sign}{line}\n"));
            for more in &row.more {
                let more = match is_list {
                    true => self.color.sentence(more),
                    false => cell(more),
                };
                self.text.push_str(&format!("        {more}\n"));
            }
        }
    }
}

/// A sentence up to its tenth name, and how many more there are.
fn first_names(sentence: &Sentence) -> Sentence {
    let is_name = |piece: &&Piece| matches!(piece, Piece::Name(_));
    let all = sentence.0.iter().filter(is_name).count();
    let names = sentence.0.iter().enumerate();
    let mut names = names.filter(|(_, piece)| is_name(piece));
    match names.nth(MOST_NAMES - 1) {
        Some((last, _)) if all > MOST_NAMES => {
            Sentence(sentence.0[..=last].to_vec()).say(format!(" and {} more", all - MOST_NAMES))
        }
        _ => sentence.clone(),
    }
}

/// Rows with common columns, as lines.
fn aligned(rows: impl IntoIterator<Item = Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.add_rows(rows);
    let lines = table.lines();
    let lines = lines.map(|line| line.trim_end().to_owned());
    lines
        .map(|line| line.strip_prefix(' ').map_or(line.clone(), str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests;
