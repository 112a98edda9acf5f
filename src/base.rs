//! What every room needs and what knows nothing of NetBird: texts, JSON, ids, bounded reading, the secrets that no text may show.

pub(crate) mod budget;
pub(crate) mod code;
pub(crate) mod entry;
pub(crate) mod evidence;
pub(crate) mod files;
pub mod id;
pub(crate) mod json;
pub(crate) mod mask;
pub(crate) mod parallel;
pub(crate) mod sentence;
pub(crate) mod spelling;
pub mod text;

pub(crate) use budget::{Budget, Share, UsedUp};
pub(crate) use code::{Code, Saying};
pub(crate) use entry::{Entry, Listed};
pub(crate) use evidence::Evidence;
pub(crate) use files::{MAX_BYTES, folder_of};
pub use id::Id;
pub(crate) use mask::masked;
pub(crate) use sentence::{Piece, Sentence};
pub use text::{
    MOST_NAMES, ask, count, did_you_mean, duration, file_error, hex, is_hidden, joined,
    line_changes, listed, nearest, numbered, obedient_to_us, percent_encoded, quote, quote_name,
    quote_up_to, quoted, shell, short_commit, system_words, visible, wrapped,
};
