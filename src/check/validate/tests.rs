//! The sections, entry by entry.

mod account;
mod cases;
mod dns;
mod elsewhere;
mod examples;
mod group;
mod nameserver_group;
mod network;
mod policy;
mod route;
mod setup_key;
