//! Sentences about objects, in which names stand out: each writer shows them in its own way.

use std::fmt;

use crate::base::{MOST_NAMES, quote_name, visible};

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// A name, which each writer makes inert in its own way.
    Name(String),
    /// Words that a reader must not miss.
    Strong(String),
    /// What is written as it is: a command, an id.
    Code(String),
}

/// A sentence in which names stand out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sentence(pub(crate) Vec<Piece>);

impl Sentence {
    pub(crate) fn say(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.0.push(Piece::Text(text));
        }
        self
    }

    pub(crate) fn name(mut self, name: impl Into<String>) -> Self {
        self.0.push(Piece::Name(name.into()));
        self
    }

    pub(crate) fn strong(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Strong(text.into()));
        self
    }

    pub(crate) fn code(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Code(text.into()));
        self
    }

    /// Returns the sentence with another one behind it.
    pub(crate) fn then(mut self, other: impl Into<Sentence>) -> Self {
        self.0.extend(other.into().0);
        self
    }

    pub(crate) fn names<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter();
        self.listed(names.map(|name| Sentence::default().name(name)), MOST_NAMES)
    }

    /// Returns the sentence with the first of these behind it, and how many more there are.
    pub(crate) fn listed(
        mut self,
        all: impl IntoIterator<Item = impl Into<Sentence>>,
        most: usize,
    ) -> Self {
        let all: Vec<Sentence> = all.into_iter().map(Into::into).collect();
        let number = all.len();
        for (index, one) in all.into_iter().take(most).enumerate() {
            self = if index > 0 { self.say(", ") } else { self };
            self = self.then(one);
        }
        match number.saturating_sub(most) {
            0 => self,
            more => self.say(format!(" and {more} more")),
        }
    }

    /// Returns whether nothing is said.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// As running text, with names in quotes.
impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Name(name) => f.write_str(&quote_name(name)),
            Piece::Text(text) | Piece::Strong(text) | Piece::Code(text) => {
                f.write_str(&visible(text))
            }
        })
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Self {
        Sentence::default().say(text)
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Self {
        Sentence::default().say(text)
    }
}
