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
