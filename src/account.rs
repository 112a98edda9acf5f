//! The live account: fetched (`fetch`), kept as it was answered (`snapshot`), read into canonical form (`actual`).
//!
//! What of it is ours is told by `inventory`; what is to be done with it by `plan`.

pub(crate) mod absent;
pub mod actual;
pub(crate) mod binding;
pub mod fetch;
pub(crate) mod paths;
pub(crate) mod snapshot;

pub use actual::{Actual, Early, NewNames};
pub(crate) use binding::{Binding, Bindings};
pub use fetch::{Ahead, More, Needs, beside_the_kinds, complete, fetch, fetch_rest};
pub(crate) use snapshot::{Peers, Snapshot};
