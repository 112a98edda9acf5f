//! The program against a NetBird server: the in-process fake, or a real one (see [`run::Bench::scenario`]).
//!
//! One module a question. Tests name the cases of ../shared/cases.md (C…, T…) that they stand for.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod apply;
mod cli;
mod convergence;
mod examples;
mod export;
mod faults;
mod gates;
mod impossible;
mod keys;
mod limits;
mod ownership;
mod plan;
mod races;
mod routes;
mod run;
mod secrets;
