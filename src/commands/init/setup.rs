//! `init --setup`: the repository's settings by the forge's API. All is read and judged before the first write.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::base::text::visible;
use crate::commands::cli::InitArgs;
use crate::commands::failure::Failure;
use crate::commands::logging::Say;
use crate::commands::settings::{environment, find_token, setting};
use crate::commands::setup::init::remote::Remote;
use crate::commands::setup::init::setup::{
    Deed, SECRETS, Setting, Standing, There, VARIABLES, WantedSettings, decide,
};
use crate::commands::setup::init::{BRANCH, Network};
use crate::commands::signals;
use crate::commands::versions::of_gitea;
use crate::forge::gitea::inventory::BRANCH as INVENTORY;
use crate::forge::gitea::{self, BranchRule, GiteaError, Repo, RepoInfo, Token, Unfit};
use crate::secret::{ENVIRONMENT, Sources};

/// The settings of a repository, read and decided, and nothing written yet.
pub(super) struct Setup {
    repo: Repo,
    pub(super) server: String,
    secrets: BTreeMap<&'static str, Token>,
    wanted: WantedSettings,
    pub(super) deeds: Vec<Deed>,
    pub(super) has_no_actions: bool,
}

impl Setup {
    /// Reads what is wanted and what is there. `remote` is the repository that the checkout is pushed to.
    pub(super) fn prepare(
        args: &InitArgs,
        network: &Network,
        remote: Option<&Remote>,
    ) -> Result<Setup, Failure> {
        let owner = find_token("GITEA_TOKEN", args.gitea.gitea_token_file.as_ref())?;
        let owner = owner.ok_or_else(|| {
            Failure::error(
                "--setup needs a token of the repository's owner, and GITEA_TOKEN is not set",
            )
            .hint(OWNERS_TOKEN)
        })?;
        let (secrets, variables) = (secrets(&owner)?, variables(args)?);
        let (server, name) = place(args, remote)?;
        let open = |token: &Token| -> Result<Repo, Failure> {
            let mut config = gitea::config(&server)?;
            config.ca_file = setting(args.server.ca_file.as_ref()).map(PathBuf::from);
            Ok(Repo::new(config, token, &name)?)
        };
        let repo = open(&owner)?;
        let about = repo.about().map_err(|error| of_owner(&repo, error))?;
        if about.permissions.admin == Some(false) {
            let text = format!("the token in GITEA_TOKEN is not that of the owner of {name}");
            return Err(Failure::error(visible(&text)).hint(OWNERS_TOKEN));
        }
        if about.archived || about.mirror {
            let text = format!("{name} is archived or a mirror: nothing can be set up there");
            return Err(
                Failure::error(visible(&text)).hint("name the repository that people push to")
            );
        }
        let bot = match setting(args.bot.as_ref()) {
            Some(login) => Some(login),
            None => match secrets.get("BOT_TOKEN") {
                Some(token) => login(&open(token)?)?,
                None => None,
            },
        };
        let applied = setting(args.gitea.branch.as_ref());
        let branch = applied.unwrap_or_else(|| about.default_branch.clone());
        let inventory_branch = inventory_branch(args, &about, &branch)?;
        let wanted = WantedSettings {
            secrets: secrets.keys().copied().collect(),
            variables,
            bot,
            branch,
            inventory_branch,
            network: network.clone(),
        };
        let wait = Duration::from_secs_f64(args.server.retry_wait);
        let there = there(&repo, &wanted, wait)?;
        Ok(Setup {
            server,
            secrets,
            deeds: decide(&wanted, &there),
            wanted,
            has_no_actions: about.has_no_actions(),
            repo,
        })
    }

    pub(super) fn name(&self) -> String {
        self.repo.full_name()
    }

    /// Returns the branch where it is not the one that the workflows start on.
    pub(super) fn other_branch(&self) -> Option<String> {
        Some(self.wanted.branch.clone()).filter(|branch| branch != BRANCH)
    }

    /// Makes what is to be made, each said before; returns how many of the deeds were looked at, and why it stopped.
    pub(super) fn carry_out(&self, say: Say) -> (usize, Result<(), Failure>) {
        for (at, deed) in self.deeds.iter().enumerate() {
            if deed.standing != Standing::Make {
                continue;
            }
            let text = format!("setting {} of {}", deed.name, self.name());
            say.progress(&visible(&text));
            if let Err(failure) = self.make(deed) {
                return (at, Err(failure));
            }
        }
        (self.deeds.len(), Ok(()))
    }

    fn make(&self, deed: &Deed) -> Result<(), Failure> {
        let stored = |name| self.wanted.network.own_name(name);
        let made = match &deed.setting {
            Setting::Collaborator(bot) => self.repo.let_write(bot),
            Setting::Secret(name) => self.repo.set_secret(&stored(name), &self.secrets[name]),
            Setting::Variable(name) => self
                .repo
                .add_variable(&stored(name), self.wanted.variables[name].trim()),
            Setting::BranchRule(branch, bot) => match self.repo.protect(branch, bot) {
                Ok(rule) if rule.lists(bot) => Ok(()),
                Ok(_) => {
                    let text = format!(
                        "{branch} is protected, but the server left {bot} out of its push list"
                    );
                    return Err(Failure::error(visible(&text)).hint(
                        "a push list takes nobody who may not write: see the bot's access under Settings → \
                         Collaborators, and the rule under Settings → Branches",
                    ));
                }
                Err(error) => Err(error),
            },
        };
        made.map_err(|error| {
            let failure = of_owner(&self.repo, error);
            let text = format!("{}: {}", deed.name, failure.error);
            Failure {
                error: visible(&text).into_owned(),
                ..failure
            }
        })
    }
}

const OWNERS_TOKEN: &str = "make a token of your own (Settings → Applications) with the scope write:repository, as the owner \
     of the repository or of its organisation, and set GITEA_TOKEN to it for this command; who only administrates a repository \
     may not set its secrets, and the bot's token is BOT_TOKEN";

/// What an error means where the token is to be the owner's.
fn of_owner(repo: &Repo, error: GiteaError) -> Failure {
    let hint = match error.answer().map(|answer| answer.status) {
        Some(401 | 403) => Some(OWNERS_TOKEN),
        Some(404) => Some(
            "is the repository made, and its name right (GITEA_REPO)? Are Actions switched on, on the server and in the \
             repository's settings? Gitea answers so where the token may not look, too",
        ),
        _ => None,
    };
    let failure = of_gitea(repo, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Reads the values of the secrets. What would undo the point of having several is refused.
fn secrets(owner: &Token) -> Result<BTreeMap<&'static str, Token>, Failure> {
    let mut secrets = BTreeMap::new();
    for (name, _) in SECRETS {
        if let Some(token) = find_token(name, None)? {
            secrets.insert(name, token);
        }
    }
    let value = |name: &str| secrets.get(name).map(Token::expose);
    let (plan, apply) = (value("NETBIRD_PLAN_TOKEN"), value("NETBIRD_APPLY_TOKEN"));
    if plan.is_some() && plan == apply {
        return Err(Failure::error(
            "NETBIRD_PLAN_TOKEN and NETBIRD_APPLY_TOKEN are the same token",
        )
        .hint("pull requests see the first: make it the token of a service user with the role auditor"));
    }
    if value("BOT_TOKEN") == Some(owner.expose()) {
        return Err(
            Failure::error("BOT_TOKEN is the owner's token").hint(
                "jobs would own the repository: make a user for the bot, and set BOT_TOKEN to a token of that user",
            ),
        );
    }
    Ok(secrets)
}

/// Reads the values of the variables. They can be read by whoever administrates the repository, and show in logs: a secret
/// among them is refused.
fn variables(args: &InitArgs) -> Result<BTreeMap<&'static str, String>, Failure> {
    let mut variables = BTreeMap::new();
    for (name, _) in VARIABLES {
        let value = match name {
            "NETBIRD_API_URL" => setting(args.server.netbird_url.as_ref()),
            name => environment(name).map(|value| value.trim().to_owned()),
        };
        if let Some(value) = value {
            variables.insert(name, value);
        }
    }
    if let Some(url) = variables.get("NETBIRD_API_URL") {
        crate::wire::api::config(url)?;
    }
    if let Some(url) = variables.get("NETBIRD_GITOPS_SERVER") {
        gitea::config(url)?;
    }
    let sources = Sources {
        environment: variables.get(ENVIRONMENT).cloned(),
        ..Sources::default()
    };
    sources.read()?;
    let digest = variables.get("NETBIRD_GITOPS_SHA256");
    let is_digest =
        |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digest.is_some_and(|text| !is_digest(text)) {
        return Err(Failure::error(
            "NETBIRD_GITOPS_SHA256 is not a SHA-256: 64 hexadecimal digits are wanted",
        )
        .hint("sha256sum FILE prints it, before the file's name"));
    }
    let binary = variables.get("NETBIRD_GITOPS_BINARY");
    if binary.is_some_and(|url| !(url.starts_with("https://") || url.starts_with("http://"))) {
        return Err(Failure::error(
            "NETBIRD_GITOPS_BINARY is not a URL: it has to begin with https://",
        )
        .hint("it is where jobs fetch the program, without signing in"));
    }
    Ok(variables)
}

/// Returns the server and the repository: as named, else of the checkout's remote.
fn place(args: &InitArgs, remote: Option<&Remote>) -> Result<(String, String), Failure> {
    let server = setting(args.gitea.gitea_url.as_ref());
    let server = server.or_else(|| remote?.server.clone());
    let name = setting(args.gitea.gitea_repo.as_ref());
    let name = name.or_else(|| Some(remote?.name.clone()));
    match (server, name) {
        (Some(server), Some(name)) => Ok((server, name)),
        (server, name) => {
            let missing = match (server, name) {
                (None, None) => "GITEA_REPO and GITEA_URL",
                (None, _) => "GITEA_URL",
                _ => "GITEA_REPO",
            };
            let text = format!(
                "which repository to set up is not known ({missing} not set, and the checkout's remote origin does not tell)"
            );
            let hint = "set GITEA_URL to the server, such as https://git.example.com, and GITEA_REPO to OWNER/NAME";
            Err(Failure::error(text).hint(hint))
        }
    }
}

/// Returns the branch of the inventory.
fn inventory_branch(args: &InitArgs, about: &RepoInfo, applied: &str) -> Result<String, Failure> {
    let branch = setting(args.inventory_branch.as_ref());
    let branch = branch.unwrap_or_else(|| INVENTORY.to_owned());
    let taken = match branch.as_str() {
        name if name == about.default_branch => "the default branch",
        name if name == applied => "the branch that is applied",
        _ => return Ok(branch),
    };
    let text = format!("{branch} is {taken}: the inventory has a branch of its own");
    Err(Failure::error(visible(&text))
        .hint("name another with --inventory-branch (NETBIRD_GITOPS_INVENTORY_BRANCH)"))
}

/// Asks whose token it is; `None` where its scopes do not let it tell.
fn login(repo: &Repo) -> Result<Option<String>, Failure> {
    match repo.user() {
        Ok(user) => Ok(Some(user.login).filter(|login| !login.is_empty())),
        Err(error) if error.is_scope() => Ok(None),
        Err(error) => {
            let failure = of_gitea(repo, error);
            let text = format!("the token in BOT_TOKEN: {}", failure.error);
            Err(Failure::error(text).hint("make a new token for the bot: docs/gitea.md, step 3"))
        }
    }
}

/// How often a branch is asked for once more: seven and a half seconds in all, at the default wait.
const LOOKS: u32 = 4;

/// Asks about a branch again where the server fails: it does so for a moment after the first push to an empty repository
/// (docs/gitea-api.md, "Settings of a repository"). `wait` doubles each time.
fn patiently<T>(wait: Duration, ask: impl Fn() -> Result<T, GiteaError>) -> Result<T, GiteaError> {
    for look in 0..LOOKS {
        match ask() {
            Err(error) if error.is_failure() => signals::wait(wait * 2u32.pow(look)),
            answer => return answer,
        }
    }
    ask()
}

/// Reads what the repository has.
fn there(repo: &Repo, wanted: &WantedSettings, wait: Duration) -> Result<There, Failure> {
    let of_owner = |error| of_owner(repo, error);
    let permission = match &wanted.bot {
        None => String::new(),
        Some(bot) => repo.permission(bot).map_err(|error| {
            match matches!(error.status(), Some(404 | 422)) {
                true => Failure::error(visible(&format!("there is no user {bot:?}: {error}")))
                    .hint("make the bot's user first, or name another with --bot"),
                false => of_owner(error),
            }
        })?,
    };
    let has_network = match patiently(wait, || {
        repo.blob(Some(&wanted.branch), &wanted.network.file)
    }) {
        Ok(_) => true,
        // an empty repository, too
        Err(error) if error.is_not_found() => false,
        Err(GiteaError::Unfit(Unfit::NotAFile, ..)) => false,
        Err(error) => return Err(of_owner(error)),
    };
    let rule_of = |branch: &str| -> Result<Option<BranchRule>, Failure> {
        patiently(wait, || repo.branch_rule(branch)).map_err(of_owner)
    };
    Ok(There {
        secrets: repo.secret_names().map_err(of_owner)?,
        variables: repo.variables().map_err(of_owner)?,
        bot_writes: matches!(permission.as_str(), "write" | "admin" | "owner"),
        bot_owns: permission == "owner",
        rule: rule_of(&wanted.branch)?,
        inventory_rule: rule_of(&wanted.inventory_branch)?,
        has_network,
    })
}
