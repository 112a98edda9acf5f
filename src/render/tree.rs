//! What people read, as one small tree: every output is built once, and each writer shows it in its own way.

use crate::base::Sentence;

/// An output.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Hidden lines by which a comment is found.
    pub(crate) marker: String,
    /// The first line: does anybody need to worry?
    pub(crate) heading: Sentence,
    /// What this is about: below the heading on a terminal, at the foot of a comment.
    pub(crate) about: Sentence,
    /// What to do: the end of a screen, the top of a comment.
    pub(crate) act: Vec<Block>,
    /// The rest.
    pub(crate) body: Vec<Block>,
    /// What stands behind all of that.
    pub(crate) last: Vec<Block>,
    /// What stands at the foot.
    pub(crate) foot: Vec<Sentence>,
}

impl Tree {
    /// An output that says what there is, and nothing else.
    pub(crate) fn of(heading: impl Into<Sentence>, body: impl IntoIterator<Item = Rows>) -> Self {
        Tree {
            heading: heading.into(),
            body: body.into_iter().map(Block::Rows).collect(),
            ..Tree::default()
        }
    }
}

/// A part of an output.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    /// Running text.
    Paragraph(Sentence),
    /// A list, or a table.
    Rows(Rows),
    /// A text to copy, with nothing beside it.
    Copy(String),
    /// What the run says on stderr: a comment has it, too.
    Stderr(String),
    /// Texts that a comment alone has, folded.
    Attached(Attached),
}

/// A list, or with a head a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub(crate) title: Sentence,
    pub(crate) look: Look,
    /// The columns behind the sign; a list has none.
    pub(crate) head: &'static [&'static str],
    /// How many cells stay where there is no room; 0 stands for all.
    pub(crate) short: usize,
    pub(crate) rows: Vec<Row>,
}

impl Rows {
    /// A list below that title.
    pub(crate) fn titled(title: impl Into<Sentence>, rows: impl IntoIterator<Item = Row>) -> Self {
        Rows {
            title: title.into(),
            rows: rows.into_iter().collect(),
            ..Rows::default()
        }
    }

    /// The same as a table of these columns.
    pub(crate) fn table(mut self, head: &'static [&'static str]) -> Self {
        self.head = head;
        self
    }

    /// The same with another look.
    pub(crate) fn shown_as(mut self, look: Look) -> Self {
        self.look = look;
        self
    }
}

/// How a comment shows rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Look {
    #[default]
    Open,
    /// Closed, until somebody opens it; a terminal has the first names of each row.
    Folded,
    /// As what somebody should see first: the first rows in a comment, on a terminal all.
    Warning,
    /// As what stops an apply.
    Caution,
}

/// A row of a table, or an entry of a list.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) mark: Mark,
    pub(crate) cells: Vec<Sentence>,
    /// The fields that stand below it, each with what changes.
    pub(crate) fields: Vec<[String; 2]>,
    /// What stands below that.
    pub(crate) more: Vec<Sentence>,
    pub(crate) rank: Rank,
    /// Whoever sits at this terminal has just read it.
    pub(crate) is_read: bool,
}

impl Row {
    /// A row of one cell that is never left out.
    pub(crate) fn plain(cell: impl Into<Sentence>) -> Self {
        Row::of(Mark::NONE, cell, Rank::Must)
    }

    /// A row of one cell.
    pub(crate) fn of(mark: Mark, cell: impl Into<Sentence>, rank: Rank) -> Self {
        Row::with_cells(mark, vec![cell.into()], rank)
    }

    /// A row of a table.
    pub(crate) fn with_cells(mark: Mark, cells: Vec<Sentence>, rank: Rank) -> Self {
        Row {
            mark,
            cells,
            fields: Vec::new(),
            more: Vec::new(),
            rank,
            is_read: false,
        }
    }

    /// All that stands below it.
    pub(crate) fn below(&self) -> impl Iterator<Item = Sentence> {
        let fields = self.fields.iter().map(|field| field.join(" ").into());
        fields.chain(self.more.iter().cloned())
    }
}

/// What matters more stays longer where a comment has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Never left out.
    Must,
    /// What a reader must not miss beside the rows: with the notes at most a quarter of a comment.
    Warning,
    /// A note.
    Notice,
    /// What takes something away, or opens something to all.
    Loud,
    /// Who reaches whom.
    Reach,
    /// What takes nothing away.
    Quiet,
    /// What is there for whoever wants to know more.
    Extra,
}

/// Folded texts.
#[derive(Debug, Clone)]
pub(crate) struct Attached {
    pub(crate) title: String,
    /// Each below its label.
    pub(crate) texts: Vec<(Sentence, String)>,
    /// Their language; a terminal shows the labels of those without one.
    pub(crate) language: &'static str,
    pub(crate) rank: Rank,
}

impl Attached {
    /// These texts, where there are any.
    pub(crate) fn block(
        title: impl Into<String>,
        texts: impl IntoIterator<Item = (Sentence, String)>,
        language: &'static str,
        rank: Rank,
    ) -> Option<Block> {
        let texts: Vec<_> = texts.into_iter().collect();
        let title = title.into();
        (!texts.is_empty()).then_some(Block::Attached(Attached {
            title,
            texts,
            language,
            rank,
        }))
    }
}

/// The sign of a row on a terminal, the colour there, and the sign in a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) [&'static str; 3]);

impl Mark {
    pub(crate) const NONE: Mark = Mark(["", "0", ""]);
    pub(crate) const CREATE: Mark = Mark(["+", "32", "➕"]);
    pub(crate) const CHANGE: Mark = Mark(["~", "33", "✏️"]);
    pub(crate) const REPLACE: Mark = Mark(["-+", "35", "♻️"]);
    pub(crate) const DELETE: Mark = Mark(["-", "31", "➖"]);
    pub(crate) const ADOPT: Mark = Mark(["=", "36", "="]);
    pub(crate) const LET_GO: Mark = Mark(["!", "33", ""]);
    pub(crate) const LOUD: Mark = Mark(["!", "31", ""]);
    pub(crate) const NOTE: Mark = Mark(["note:", "36", ""]);
    pub(crate) const WARNING: Mark = Mark(["warning:", "33", "**Warning:**"]);
    pub(crate) const PASSED: Mark = Mark(["✔", "32", "✔"]);
    pub(crate) const FAILED: Mark = Mark(["✖", "31", "✖"]);
    pub(crate) const SKIPPED: Mark = Mark(["–", "2", "–"]);

    /// That of what comes, or goes.
    pub(crate) fn gained(is_gained: bool) -> Mark {
        match is_gained {
            true => Mark::CREATE,
            false => Mark::DELETE,
        }
    }

    /// Whether it stands at the beginning of a line, as a label.
    pub(crate) fn is_label(self) -> bool {
        self.0[0].ends_with(':')
    }

    /// Whether the row has its colour; else the sign alone.
    pub(crate) fn is_of_change(self) -> bool {
        let changes = [Mark::CREATE, Mark::CHANGE, Mark::REPLACE, Mark::DELETE];
        changes.contains(&self) || self == Mark::ADOPT
    }
}
