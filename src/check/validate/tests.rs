//! The sections, entry by entry.

mod account;
mod dns;
mod elsewhere;
mod group;
mod nameserver_group;
mod network;
mod policy;
mod route;
mod setup_key;
