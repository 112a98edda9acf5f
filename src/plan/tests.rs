//! Plans of files against accounts: order, what is possible, and what holds for any of them.

mod order;
mod possible;
mod properties;
mod twins;
