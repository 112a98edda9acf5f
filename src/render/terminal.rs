//! A tree on a terminal: signs first, so that it reads without colour too; what to do comes last.

use comfy_table::{Table, presets};

use super::tree::{Block, Look, Row, Rows, Tree};
use crate::base::{MOST_NAMES, Piece, Sentence, joined, quote_name, visible};

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub bool);

impl Color {
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        match self.0 && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    /// A sentence with names in quotes.
    fn sentence(self, sentence: &Sentence) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) | Piece::Code(text) => visible(text).into_owned(),
            Piece::Name(name) => quote_name(name),
            Piece::Strong(text) => self.paint("33", &visible(text)),
        };
        sentence.0.iter().map(piece).collect()
    }
}

/// A sentence in a column: a name that stands alone is as it is.
fn cell(sentence: &Sentence) -> String {
    match &sentence.0[..] {
        [Piece::Name(name)] => visible(name).into_owned(),
        _ => sentence.to_string(),
    }
}

/// Returns the tree; nothing where the run says all of it on stderr.
pub fn text(tree: &Tree, color: Color) -> String {
    let is_error = |block: &Block| matches!(block, Block::Stderr(_));
    if tree.body.is_empty() && tree.act.iter().any(is_error) {
        return String::new();
    }
    let head = color.lines([&tree.heading, &tree.about]);
    let parts = [head].into_iter().chain(color.blocks(&tree.body));
    let parts = parts.chain([color.lines(&tree.foot)]);
    let parts = parts.chain(color.blocks(&tree.act));
    apart(parts.chain(color.blocks(&tree.last)))
}

/// Returns blocks without the rest.
pub(crate) fn blocks(blocks: &[Block]) -> String {
    apart(Color(false).blocks(blocks))
}

/// Those that are not empty, with a blank line between them.
fn apart(parts: impl Iterator<Item = String>) -> String {
    let parts = parts.filter(|part| !part.is_empty());
    let text = joined(parts, "\n\n");
    let end = if text.is_empty() { "" } else { "\n" };
    text + end
}

impl Color {
    fn lines<'a>(self, all: impl IntoIterator<Item = &'a Sentence>) -> String {
        let all = all.into_iter().filter(|it| !it.is_empty());
        joined(all.map(|it| self.sentence(it)), "\n")
    }

    fn blocks(self, blocks: &[Block]) -> impl Iterator<Item = String> {
        // a tab is no hidden character in a text to copy
        let copied = |line: &str| joined(line.split('\t').map(visible), "\t");
        blocks.iter().map(move |block| match block {
            Block::Paragraph(sentence) => self.sentence(sentence),
            Block::Rows(rows) => self.rows(rows),
            Block::Copy(text) => joined(text.lines().map(copied), "\n"),
            Block::Attached(of) if of.language.is_empty() => {
                let labels = of.texts.iter().map(|(label, _)| self.sentence(label));
                let labels = labels.map(|label| format!("\n  {label}"));
                of.title.clone() + &labels.collect::<String>()
            }
            Block::Attached(_) | Block::Stderr(_) => String::new(),
        })
    }

    fn rows(self, rows: &Rows) -> String {
        let shown: Vec<&Row> = rows.rows.iter().filter(|row| !row.is_read).collect();
        // lines with a label need no title
        let is_titled = shown.first().is_some_and(|row| !row.mark.is_label());
        let title = Some(&rows.title).filter(|it| !it.is_empty() && is_titled);
        let title = title.map(|title| format!("{}:", self.sentence(title)));
        let mut lines: Vec<String> = title.into_iter().collect();
        let is_list = rows.head.is_empty();
        let cells = |row: &&Row| match (is_list, rows.look) {
            (true, Look::Folded) => vec![self.sentence(&first_names(&row.cells[0]))],
            (true, _) => vec![self.sentence(&row.cells[0])],
            (false, _) => row.cells.iter().map(cell).collect(),
        };
        let first = aligned(shown.iter().map(cells));
        for (at, (row, line)) in shown.iter().zip(first).enumerate() {
            let before = at.checked_sub(1).map(|before| shown[before].rank);
            // what a reader must look at stands apart
            if !is_list && before.is_some_and(|before| before != row.rank) {
                lines.push(String::new());
            }
            let sign = row.mark.0[0];
            let (colour, painted) = (row.mark.0[1], self.paint(row.mark.0[1], sign));
            lines.push(match row.mark {
                _ if sign.is_empty() => format!("  {line}"),
                mark if mark.is_label() => format!("{painted} {line}"),
                mark if mark.is_of_change() => self.paint(colour, &format!("{sign:>3}  {line}")),
                _ => " ".repeat(3 - sign.chars().count()) + &format!("{painted}  {line}"),
            });
            let fields = row.fields.iter();
            let fields = fields.map(|field| field.iter().map(|it| visible(it).into()).collect());
            let more = row.more.iter().map(|more| match is_list {
                true => self.sentence(more),
                false => cell(more),
            });
            let below = aligned(fields).into_iter().chain(more);
            lines.extend(below.map(|below| format!("        {below}")));
        }
        lines.join("\n")
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
    let shown = |line: &str| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned();
    table.lines().map(|line| shown(&line)).collect()
}

#[cfg(test)]
mod tests;
