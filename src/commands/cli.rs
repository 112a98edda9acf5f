//! The command line: flags, their environment variables and their help, nothing else.
//!
//! Every value with an environment variable is read as text and an empty one counts as absent: CI passes unset secrets
//! and variables as empty. A token is never a flag.

mod examples;
#[cfg(test)]
mod tests;
mod values;

use std::path::{Path, PathBuf};

use clap::builder::FalseyValueParser;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::plan::Prune;

pub(super) use values::is_digest;
pub use values::{AccessLevel, ForgeName, Format, LogFormat, Purpose, When};
use values::{digest, number, seconds};

/// Declare a NetBird network in netbird.json, review its changes as pull requests, apply them from CI.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, propagate_version = true, mut_subcommands = examples::added)]
#[command(
    after_help = "Examples:\n  netbird-gitops init\n  netbird-gitops plan --live examples/live.json\n\n\
    Exit codes: 0 done or nothing to do; 1 error, nothing changed; 2 changes pending \
    (plan --detailed-exitcode), drift, or something left to do (init); 3 refused by a gate, nothing changed; 4 stopped part way or not converged."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What every command takes.
    #[command(flatten)]
    pub global: Global,
}

impl Cli {
    /// Reads the arguments and variables of this process. Help names the variables, and shows nothing of what they hold.
    pub fn read() -> Result<Cli, clap::Error> {
        let without_values =
            |command: clap::Command| command.mut_args(|arg| arg.hide_env_values(true));
        let command = without_values(Cli::command()).mut_subcommands(without_values);
        let matches = command.try_get_matches()?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        if let Command::Validate(ValidateArgs { path: Some(path) }) = &cli.command {
            if matches.value_source("file") == Some(ValueSource::CommandLine) {
                let text = "the file is named twice: by --file, and behind the command";
                return Err(Cli::command().error(ErrorKind::ArgumentConflict, text));
            }
            cli.global.file = Some(path.clone());
        }
        Ok(cli)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write what a repository needs: netbird.json, workflows, schema, .gitignore; with --setup its settings
    Init(InitArgs),
    /// Parse and check the file: no network, no token
    Validate(ValidateArgs),
    /// Show what an apply would do
    Plan(PlanArgs),
    /// Change NetBird to what the file says
    Apply(ApplyArgs),
    /// Find peers that enrolled: rename them, put them into their groups, commit `enrolled: true`
    SyncEvents(SyncArgs),
    /// Commit `enrolled: true` for keys, nothing else
    #[command(
        override_usage = "netbird-gitops mark-enrolled [OPTIONS] <NAME>...\n       \
                                netbird-gitops mark-enrolled [OPTIONS] --from <PATH>"
    )]
    MarkEnrolled(MarkArgs),
    /// Print the live account as a netbird.json
    Export(ExportArgs),
    /// Take live objects over into the file
    #[command(
        override_usage = "netbird-gitops adopt [OPTIONS] <KIND/NAME>...\n       \
                                netbird-gitops adopt [OPTIONS] --candidates"
    )]
    Adopt(AdoptArgs),
    /// Report where NetBird differs from the committed file; correct nothing
    Drift(DriftArgs),
    /// Say whether one can reach another, by which rule, or what comes nearest
    Access(AccessArgs),
    /// Check a set-up: servers, tokens, rights, checkout; change nothing
    Doctor(DoctorArgs),
    /// Print the JSON Schema of netbird.json, for editors
    Schema,
    /// Print a script that completes this program's arguments in a shell
    Completions(CompletionsArgs),
}

/// What commands have in common; none of a command that does without.
impl Command {
    /// The servers.
    pub(super) fn servers(&self) -> Option<&Servers> {
        match self {
            Command::SyncEvents(SyncArgs { servers, .. })
            | Command::Export(ExportArgs { servers, .. })
            | Command::Adopt(AdoptArgs { servers, .. })
            | Command::Drift(DriftArgs { servers, .. })
            | Command::Access(AccessArgs { servers, .. })
            | Command::Doctor(DoctorArgs { servers, .. }) => Some(servers),
            _ => self.planning().map(|planning| &planning.servers),
        }
    }

    /// NetBird.
    pub(super) fn server(&self) -> Option<&Server> {
        match self {
            Command::Init(args) => Some(&args.server),
            _ => self.servers().map(|servers| &servers.server),
        }
    }

    /// Gitea or Forgejo.
    pub(super) fn gitea(&self) -> Option<&GiteaArgs> {
        match self {
            Command::Init(args) => Some(&args.gitea),
            Command::MarkEnrolled(args) => Some(&args.gitea),
            _ => self.servers().map(|servers| &servers.gitea),
        }
    }

    /// What a plan is made for.
    pub(super) fn planning(&self) -> Option<&Planning> {
        match self {
            Command::Plan(PlanArgs { planning, .. })
            | Command::Apply(ApplyArgs { planning, .. }) => Some(planning),
            _ => None,
        }
    }

    /// Who can open new setup keys.
    pub(super) fn sealing(&self) -> Option<&Sealing> {
        match self {
            Command::Doctor(args) => Some(&args.sealing),
            _ => self.planning().map(|planning| &planning.sealing),
        }
    }

    /// A recorded account, which takes the place of the server.
    pub(super) fn live(&self) -> Option<&Path> {
        match self {
            Command::Plan(PlanArgs { live, .. }) | Command::Access(AccessArgs { live, .. }) => {
                live.as_deref()
            }
            _ => None,
        }
    }
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Global {
    /// The file, - for stdin [default: netbird.json]
    #[arg(short, long, global = true, value_name = "PATH")]
    #[arg(env = "NETBIRD_GITOPS_FILE", help_heading = None::<&str>)]
    pub file: Option<String>,
    /// What stdout carries
    #[arg(long, global = true, default_value = "text", value_name = "FORMAT")]
    pub format: Format,
    /// Also write the JSON result there
    #[arg(long, global = true, value_name = "PATH")]
    pub report: Option<PathBuf>,
    /// This network's name in comments and issues [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    #[arg(env = "NETBIRD_GITOPS_ENVIRONMENT")]
    pub environment: Option<String>,
    /// Colour; auto is on a terminal without NO_COLOR
    #[arg(long, global = true, default_value = "auto", value_name = "WHEN")]
    pub color: When,
    /// More log: -v every write, -vv every request (RUST_LOG chooses finer)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Nothing but errors on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Form of what goes to stderr; auto is JSON lines when CI is set
    #[arg(long, global = true, default_value = "auto", value_name = "FORMAT")]
    pub log_format: LogFormat,
}

/// How to reach NetBird.
#[derive(Debug, Args)]
#[command(next_help_heading = "NetBird")]
pub struct Server {
    /// URL of the NetBird server, with or without /api
    #[arg(long, env = "NETBIRD_API_URL", value_name = "URL")]
    pub netbird_url: Option<String>,
    /// File that holds NetBird's token; without it NETBIRD_API_TOKEN holds the token itself, or NETBIRD_API_TOKEN_FILE
    /// names the file
    #[arg(long, value_name = "PATH")]
    pub netbird_token_file: Option<String>,
    /// Refuse to work on any account but this
    #[arg(long, env = "NETBIRD_ACCOUNT_ID", value_name = "ID")]
    pub account: Option<String>,
    /// PEM file of CAs to trust beside the system's; named by the variable, it is for Gitea, too
    #[arg(long, env = "NETBIRD_GITOPS_CA_FILE", value_name = "PATH")]
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
    /// Replace an entry, as in setup_keys/NAME or policies/NAME
    #[arg(long, value_name = "KIND/NAME")]
    pub replace: Vec<String>,
    /// Refuse to delete or replace that object, also with an agreement; NETBIRD_GITOPS_PROTECT holds more, with commas or one
    /// a line
    #[arg(long, value_name = "KIND/NAME", help_heading = "Gates")]
    pub protect: Vec<String>,
}

/// Where the inventory is kept: the ids of the objects that applies made or adopted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Inventory")]
pub struct InventoryArgs {
    /// File of the inventory [default: on Gitea that of the branch, else .netbird-gitops/ENVIRONMENT/inventory.json beside the file]
    #[arg(long, env = "NETBIRD_GITOPS_INVENTORY", value_name = "FILE")]
    pub inventory: Option<String>,
    /// Branch of the inventory on Gitea, with the copies of sealed keys [default: netbird-gitops/inventory]
    #[arg(long, env = "NETBIRD_GITOPS_INVENTORY_BRANCH", value_name = "NAME")]
    pub inventory_branch: Option<String>,
}

/// How to reach Gitea or Forgejo. Without it everything else works.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gitea")]
pub struct GiteaArgs {
    /// URL of the Gitea or Forgejo server; in a job the job's own
    #[arg(long, env = "GITEA_URL", value_name = "URL")]
    pub gitea_url: Option<String>,
    /// The repository; in a job the job's own
    #[arg(long, env = "GITEA_REPO", value_name = "OWNER/NAME")]
    pub gitea_repo: Option<String>,
    /// The branch that is applied [default: in a job the repository's default branch]
    #[arg(long, env = "GITEA_BRANCH", value_name = "NAME")]
    pub branch: Option<String>,
    /// File that holds Gitea's token; without it GITEA_TOKEN holds the token itself, or GITEA_TOKEN_FILE names the file
    #[arg(long, value_name = "PATH")]
    pub gitea_token_file: Option<String>,
}

/// What most commands ask.
#[derive(Debug, Args)]
pub struct Servers {
    /// See InventoryArgs.
    #[command(flatten)]
    pub inventory: InventoryArgs,
    /// See Server.
    #[command(flatten)]
    pub server: Server,
    /// See GiteaArgs.
    #[command(flatten)]
    pub gitea: GiteaArgs,
}

/// Limits that an apply must not exceed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gates")]
pub struct Gates {
    /// Most deletions that need no agreement; removed members count
    #[arg(long, default_value_t = 10, value_parser = number, value_name = "N")]
    pub max_deletes: usize,
    /// Agree to deletions: their exact number, in a job "N DIGEST" as the plan prints it
    #[arg(long, value_name = "N [DIGEST]")]
    pub allow_deletes: Option<String>,
}

/// Who can open new setup keys.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Sealed keys")]
pub struct Sealing {
    /// An age or SSH public key that can open new setup keys; AGE_PUBLIC_KEY holds more, one a line
    #[arg(short, long, value_name = "KEY")]
    pub recipient: Vec<String>,
    /// File of such keys, one a line
    #[arg(short = 'R', long, value_name = "PATH")]
    pub recipients_file: Vec<PathBuf>,
    /// Where a copy of each sealed key is kept: branch is beside the inventory, none is nowhere [default: branch, none where
    /// everybody may read the repository]
    #[arg(long, env = "NETBIRD_GITOPS_KEY_COPIES", value_name = "WHERE")]
    pub key_copies: Option<String>,
}

/// Flags of whatever makes a plan and lets the gates judge it.
#[derive(Debug, Args)]
pub struct Planning {
    /// See Scope.
    #[command(flatten)]
    pub scope: Scope,
    /// See Gates.
    #[command(flatten)]
    pub gates: Gates,
    /// See Sealing.
    #[command(flatten)]
    pub sealing: Sealing,
    /// See Servers.
    #[command(flatten)]
    pub servers: Servers,
    /// How finely the plan says who reaches whom
    #[arg(long, default_value = "groups", value_name = "LEVEL")]
    #[arg(help_heading = "Output")]
    pub access: AccessLevel,
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
    /// Post the plan as the pull request's one comment, edited in place
    #[arg(long)]
    pub comment: bool,
    /// See Planning.
    #[command(flatten)]
    pub planning: Planning,
}

/// Flags of `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Do not ask; an apply asks only at a terminal, and never in a job
    #[arg(short, long)]
    pub yes: bool,
    /// After a failure try the operations that do not depend on it, unless NetBird no longer accepts the token (401)
    #[arg(long, env = "NETBIRD_GITOPS_KEEP_GOING", value_parser = FalseyValueParser::new())]
    pub keep_going: bool,
    /// Do not fetch and plan again afterwards
    #[arg(long)]
    pub no_verify: bool,
    /// Post the result on the merged pull request
    #[arg(long)]
    pub comment: bool,
    /// Apply this file even if the branch has another one by now
    #[arg(long)]
    pub any_commit: bool,
    /// Adopt that object for an entry, or let a name of a machine mean that peer, as in setup_keys/NAME=ID or peers/NAME=ID;
    /// NETBIRD_GITOPS_ADOPT holds more, with commas or one a line
    #[arg(long, value_name = "KIND/NAME=ID", help_heading = "Inventory")]
    pub adopt: Vec<String>,
    /// Refuse any plan but the one of that digest, as a plan's JSON and its comment have it
    #[arg(long, value_name = "DIGEST", value_parser = digest, help_heading = "Gates")]
    pub expect_digest: Option<String>,
    /// Directory of the sealed keys [default: sealed-keys]
    #[arg(long, env = "NETBIRD_GITOPS_KEYS_DIR", value_name = "PATH")]
    #[arg(help_heading = "Sealed keys")]
    pub keys_dir: Option<String>,
    /// See Planning.
    #[command(flatten)]
    pub planning: Planning,
}

/// Flags of `sync-events`.
#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Rename and group, but commit nothing
    #[arg(long)]
    pub no_commit: bool,
    /// Commit to a branch of its own and open or update one pull request
    #[arg(long)]
    pub via_pr: bool,
    /// See Servers.
    #[command(flatten)]
    pub servers: Servers,
}

/// Flags of `mark-enrolled`.
#[derive(Debug, Args)]
pub struct MarkArgs {
    /// Names of setup keys
    #[arg(value_name = "NAME", required_unless_present = "from")]
    pub names: Vec<String>,
    /// File with such names, one a line, or the JSON of sync-events; - is stdin
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// Edit the file on disk instead of the branch
    #[arg(long, conflicts_with = "via_pr")]
    pub local: bool,
    /// Commit to a branch of its own and open or update one pull request
    #[arg(long)]
    pub via_pr: bool,
    /// See GiteaArgs.
    #[command(flatten)]
    pub gitea: GiteaArgs,
}

/// Flags of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Root of the checkout; made where it is not there [default: the current directory]
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Whose directory the workflows go into [default: gitea, or forgejo where .forgejo/workflows is there]
    #[arg(long, value_name = "FORGE")]
    pub forge: Option<ForgeName>,
    /// Workflows in plain git and shell: no node, no actions from elsewhere
    #[arg(long, conflicts_with = "forks")]
    pub no_actions: bool,
    /// A plan.yml that plans pull requests from forks, too
    #[arg(long)]
    pub forks: bool,
    /// Change files that differ, and keep what people added to workflows; netbird.json is never overwritten
    #[arg(long)]
    pub force: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also make the repository's secrets and variables, let the bot write, and protect the branch and that of the
    /// inventory. Takes the owner's token (GITEA_TOKEN), and each value from the variable of its name, or the file that NAME_FILE names
    #[arg(long)]
    pub setup: bool,
    /// The bot's login [default: that of the token BOT_TOKEN, if it has the scope read:user]
    #[arg(long, requires = "setup", value_name = "LOGIN")]
    pub bot: Option<String>,
    /// Branch of the inventory that --setup protects [default: netbird-gitops/inventory]
    #[arg(long, env = "NETBIRD_GITOPS_INVENTORY_BRANCH", value_name = "NAME")]
    pub inventory_branch: Option<String>,
    /// See Server.
    #[command(flatten)]
    pub server: Server,
    /// See GiteaArgs.
    #[command(flatten)]
    pub gitea: GiteaArgs,
}

/// Flags of `validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The same as --file
    #[arg(value_name = "FILE")]
    pub path: Option<String>,
}

/// Flags of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Only what the file declares
    #[arg(long, conflicts_with = "raw")]
    pub managed_only: bool,
    /// Groups without their members, which are left alone then: they come and go by keys, or by hand
    #[arg(long, conflicts_with = "raw")]
    pub no_members: bool,
    /// Users too, by their e-mail addresses
    #[arg(long, conflicts_with = "raw")]
    pub users: bool,
    /// The server's own answers, for plan --live
    #[arg(long)]
    pub raw: bool,
    /// See Servers.
    #[command(flatten)]
    pub servers: Servers,
}

/// Flags of `adopt`.
#[derive(Debug, Args)]
pub struct AdoptArgs {
    /// Objects to take over, as in policies/NAME
    #[arg(value_name = "KIND/NAME", required_unless_present = "candidates")]
    pub names: Vec<String>,
    /// List the objects of NetBird that the file does not declare
    #[arg(long)]
    pub candidates: bool,
    /// See Servers.
    #[command(flatten)]
    pub servers: Servers,
}

/// Flags of `drift`.
#[derive(Debug, Args)]
pub struct DriftArgs {
    /// Keep one issue about it: opened, edited, closed when there is no drift
    #[arg(long)]
    pub issue: bool,
    /// See Servers.
    #[command(flatten)]
    pub servers: Servers,
}

/// Flags of `access`.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// Who opens the connection: a group or a peer (by its name or id, or a pending setup key), as NAME, group/NAME or peer/NAME
    pub from: String,
    /// To whom or what: NAME, group/NAME, peer/NAME, resource/NAME, or route/NAME
    pub to: String,
    /// What has to pass: tcp/22, udp/53, tcp/8000-8100, tcp, udp, icmp or all; without it anything
    pub traffic: Option<String>,
    /// Ask a recorded account instead of a server
    #[arg(long, value_name = "PATH")]
    pub live: Option<PathBuf>,
    /// Ask of the account as the file would leave it
    #[arg(long)]
    pub after: bool,
    /// See Servers.
    #[command(flatten)]
    pub servers: Servers,
}

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// What the tokens are for [default: plan in a pull request's job, apply in another one, without a job what NetBird's token
    /// can do]
    #[arg(long = "for", value_name = "COMMAND")]
    pub purpose: Option<Purpose>,
    /// See Sealing.
    #[command(flatten)]
    pub sealing: Sealing,
    /// See Servers.
    #[command(flatten)]
    pub servers: Servers,
}

/// Flags of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}
