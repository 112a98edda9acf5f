//! The command line: flags, their environment variables and their help, nothing else.
//!
//! Every value with an environment variable is read as text and an empty one counts as absent: CI passes unset secrets
//! and variables as empty. A token is never a flag.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::scope::Prune;

/// Declare a NetBird network in netbird.json, review its changes as pull requests, apply them from CI.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, propagate_version = true)]
#[command(
    after_help = "Exit codes: 0 done or nothing to do; 1 error, nothing changed; 2 changes pending \
    (plan --detailed-exitcode) or drift; 3 refused by a gate, nothing changed; 4 stopped part way or not converged."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What every command takes.
    #[command(flatten)]
    pub global: Global,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Parse and check the file: no network, no token
    Validate,
    /// Show what an apply would do
    Plan(PlanArgs),
    /// Bring NetBird to the file
    Apply(ApplyArgs),
}

/// What every command takes.
#[derive(Debug, Args)]
pub struct Global {
    /// The file
    #[arg(
        short,
        long,
        global = true,
        env = "NETBIRD_GITOPS_FILE",
        hide_env_values = true,
        value_name = "PATH"
    )]
    pub file: Option<String>,
    /// What stdout carries
    #[arg(
        long,
        global = true,
        default_value = "text",
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub format: Format,
    /// Also write the JSON result there
    #[arg(long, global = true, value_name = "PATH", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// This network's name in comments and issues
    #[arg(
        long,
        global = true,
        env = "NETBIRD_GITOPS_ENVIRONMENT",
        hide_env_values = true,
        value_name = "NAME",
        help_heading = "Output"
    )]
    pub environment: Option<String>,
    /// Colour; auto is on a terminal without NO_COLOR
    #[arg(
        long,
        global = true,
        default_value = "auto",
        value_name = "WHEN",
        help_heading = "Output"
    )]
    pub color: When,
    /// More log: -v every write, -vv every request (RUST_LOG chooses finer)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,
    /// No progress and no notices, errors only
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Output"
    )]
    pub quiet: bool,
    /// Form of what goes to stderr; auto is JSON lines when CI is set
    #[arg(
        long,
        global = true,
        default_value = "auto",
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub log_format: LogFormat,
}

/// How to reach NetBird.
#[derive(Debug, Args)]
#[command(next_help_heading = "NetBird")]
pub struct Server {
    /// The server, with or without /api
    #[arg(
        long,
        env = "NETBIRD_API_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub netbird_url: Option<String>,
    /// File that holds the token; NETBIRD_API_TOKEN holds the token itself and goes first
    #[arg(
        long,
        env = "NETBIRD_API_TOKEN_FILE",
        hide_env_values = true,
        value_name = "PATH"
    )]
    pub netbird_token_file: Option<String>,
    /// Refuse to work on any account but this
    #[arg(
        long,
        env = "NETBIRD_ACCOUNT_ID",
        hide_env_values = true,
        value_name = "ID"
    )]
    pub account: Option<String>,
    /// PEM file of CAs to trust beside the system's
    #[arg(
        long,
        env = "NETBIRD_GITOPS_CA_FILE",
        hide_env_values = true,
        value_name = "PATH"
    )]
    pub ca_file: Option<String>,
    /// Longest wait for a connection, in seconds
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    pub connect_timeout: f64,
    /// Longest wait for a whole request, in seconds
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = seconds)]
    pub timeout: f64,
    /// Wait before a read is tried again, in seconds; it doubles each time
    #[arg(long, default_value = "0.5", value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    pub retry_wait: f64,
    /// Wait after a 429 that names no time, in seconds
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    pub throttle_wait: f64,
}

/// What a plan is made for, beside the file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Plan")]
pub struct Scope {
    /// What happens to live objects that the file does not declare
    #[arg(long, default_value = "owned", value_name = "WHAT")]
    pub prune: Prune,
    /// Make an entry anew, as in setup_keys/NAME or policies/NAME
    #[arg(long, value_name = "KIND/NAME")]
    pub replace: Vec<String>,
}

/// Limits that an apply must not exceed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gates")]
pub struct Gates {
    /// Most deletions that need no word of agreement; removed members count
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub max_deletes: usize,
    /// Agree to exactly so many deletions
    #[arg(long, value_name = "N")]
    pub allow_deletes: Option<usize>,
}

/// Who can open new setup keys.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sealed keys")]
pub struct Sealing {
    /// An age or SSH public key that can open new setup keys; AGE_PUBLIC_KEY holds more, one a line
    #[arg(short, long, value_name = "KEY")]
    pub recipient: Vec<String>,
    /// File of such keys, one a line
    #[arg(short = 'R', long, value_name = "PATH")]
    pub recipients_file: Vec<PathBuf>,
}

/// Flags of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Plan against a recorded account instead of a server
    #[arg(long, value_name = "PATH")]
    pub live: Option<PathBuf>,
    /// Exit with 2 when there is something to do
    #[arg(long)]
    pub detailed_exitcode: bool,
    /// See Scope.
    #[command(flatten)]
    pub scope: Scope,
    /// See Gates.
    #[command(flatten)]
    pub gates: Gates,
    /// See Sealing.
    #[command(flatten)]
    pub sealing: Sealing,
    /// See Server.
    #[command(flatten)]
    pub server: Server,
}

/// Flags of `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Ask nothing
    #[arg(short, long)]
    pub yes: bool,
    /// After a failure carry on with what does not depend on it
    #[arg(long)]
    pub keep_going: bool,
    /// Do not fetch and plan again afterwards
    #[arg(long)]
    pub no_verify: bool,
    /// Directory of the sealed keys
    #[arg(
        long,
        env = "NETBIRD_GITOPS_KEYS_DIR",
        hide_env_values = true,
        value_name = "PATH",
        help_heading = "Sealed keys"
    )]
    pub keys_dir: Option<String>,
    /// See Scope.
    #[command(flatten)]
    pub scope: Scope,
    /// See Gates.
    #[command(flatten)]
    pub gates: Gates,
    /// See Sealing.
    #[command(flatten)]
    pub sealing: Sealing,
    /// See Server.
    #[command(flatten)]
    pub server: Server,
}

/// What stdout carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a comment.
    Markdown,
    /// For programs.
    Json,
}

/// When to do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// Where it makes sense.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The form of what goes to stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// JSON in CI, text elsewhere.
    Auto,
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0 to 86400 is wanted".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
