//! Sentences about objects, in which names stand out: each renderer shows them in its own way.

use crate::base::text::MOST_NAMES;

/// A part of a sentence: our words, or somebody's name.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// A name, which each renderer makes inert in its own way.
    Name(String),
}

/// A sentence in which names stand out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sentence(pub(crate) Vec<Piece>);

impl Sentence {
    pub(crate) fn say(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Text(text.into()));
        self
    }

    pub(crate) fn name(mut self, name: impl Into<String>) -> Self {
        self.0.push(Piece::Name(name.into()));
        self
    }

    pub(crate) fn names<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        for (index, name) in names.iter().take(MOST_NAMES).enumerate() {
            self = if index > 0 { self.say(", ") } else { self };
            self = self.name(*name);
        }
        match names.len().saturating_sub(MOST_NAMES) {
            0 => self,
            more => self.say(format!(" and {more} more")),
        }
    }

    /// Returns the sentence with its names as `name` renders them, and its words as `text` does.
    pub(crate) fn render(&self, name: fn(&str) -> String, text: fn(&str) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(words) => text(words),
            Piece::Name(it) => name(it),
        };
        self.0.iter().map(piece).collect()
    }
}
