//! Flags of `init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{GiteaArgs, Server};

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

/// Whose directory workflows go into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ForgeName {
    /// `.gitea/workflows`, which Forgejo reads, too, where it has none of its own.
    Gitea,
    /// `.forgejo/workflows`.
    Forgejo,
}
