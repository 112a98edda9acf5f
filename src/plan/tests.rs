//! Plans of files against accounts: order, what is possible, and what holds for any of them.

mod check;
mod notices;
mod order;
mod properties;
mod told;
mod twins;
mod whole;
