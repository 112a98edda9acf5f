//! The program against a NetBird server: the in-process fake, or a real one (see [`run::Bench::scenario`]).
//!
//! One module a question. Tests name the cases (C…, T…) of the collection of real failures that they stand for.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod agreements;
mod apply;
mod cli;
mod cli_page;
mod comments;
mod convergence;
mod copies;
mod doctor;
mod drift;
mod echoes;
mod examples;
mod export;
mod faults;
mod files;
mod formats;
mod gates;
mod gateways;
mod impossible;
mod init;
mod jobs;
mod keys;
mod killed;
mod limits;
mod live;
mod lost_answers;
mod mark_enrolled;
mod meanwhile;
mod merge_plans;
mod networks;
mod old_servers;
mod order;
mod ownership;
mod papers;
mod peers;
mod plan;
mod plan_comment;
mod posture_checks;
mod progress;
mod protected;
mod races;
mod readme;
mod recipients;
mod render;
mod reviewed;
mod rooms;
mod routes;
mod run;
mod secrets;
mod settings;
mod stale;
mod superseded;
mod sync_events;
mod targets;
mod tutorial;
mod walk;
mod whole_loop;
mod without_gitea;
mod words;
mod workflows;
mod zones;
