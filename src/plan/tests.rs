//! Plans of files against accounts: order, what is possible, and what holds for any of them.

mod check;
mod follows;
mod notices;
mod order;
mod properties;
mod record;
mod told;
mod twins;
mod whole;
