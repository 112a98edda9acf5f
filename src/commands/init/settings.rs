//! `init --setup`: the repository's settings by the forge's API. All is read and decided before the first write.
//!
//! What exists is left alone, whatever it holds: a secret cannot be read back, and a rule may be stricter than ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::files::Network;
use super::remote::Remote;
use crate::base::visible;
use crate::commands::cli::{InitArgs, is_digest};
use crate::commands::settings::find_token;
use crate::commands::{
    Failure, Run, Say, environment, inventory_branch, of_gitea, setting, signals,
};
use crate::forge::gitea::{self, BranchRule, GiteaError, Repo, Token};
use crate::secret::{ENVIRONMENT, Sources};
use crate::wire::http::Trouble;

/// The secrets of the workflows, and what each is.
const SECRETS: [(&str, &str); 3] = [
    ("NETBIRD_PLAN_TOKEN", "NetBird token, role auditor"),
    ("NETBIRD_APPLY_TOKEN", "NetBird token, role admin"),
    ("BOT_TOKEN", "a token of the bot's user in this forge"),
];
/// The variables of the workflows, and what each is; nothing of the one that the workflows do without.
const VARIABLES: [(&str, &str); 5] = [
    ("NETBIRD_API_URL", "the NetBird server"),
    (
        "AGE_PUBLIC_KEY",
        "who may open new setup keys: age-keygen -y FILE prints it",
    ),
    (
        "NETBIRD_GITOPS_BINARY",
        "where jobs fetch the program: docs/gitea.md, step 4",
    ),
    ("NETBIRD_GITOPS_SHA256", "the program's SHA-256"),
    ("NETBIRD_GITOPS_SERVER", ""),
];

/// The settings of a repository: what is wanted, and what is to be done.
pub(super) struct Settings {
    repo: Repo,
    pub(super) server: String,
    pub(super) wanted: Wanted,
    pub(super) deeds: Vec<Deed>,
    /// How many of the deeds are done.
    pub(super) done: usize,
    pub(super) has_no_actions: bool,
}

/// What is wanted of a repository.
#[derive(Default)]
pub(super) struct Wanted {
    /// The values of its secrets, as far as there are any.
    secrets: BTreeMap<&'static str, Token>,
    /// The values of its variables, likewise.
    variables: BTreeMap<&'static str, String>,
    /// The bot's login, where it is known.
    bot: Option<String>,
    /// The branch that is applied.
    pub(super) branch: String,
    /// The branch of the inventory.
    inventory_branch: String,
    /// The network that is set up.
    network: Network,
}

/// What a repository has.
#[derive(Default)]
struct There {
    /// Names of its secrets.
    secrets: BTreeSet<String>,
    /// Its variables.
    variables: BTreeMap<String, String>,
    /// What the bot may do.
    permission: String,
    /// The rule of the branch.
    rule: Option<BranchRule>,
    /// The rule of the branch of the inventory.
    inventory_rule: Option<BranchRule>,
    /// Whether the branch holds the network's file.
    has_network: bool,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Setting {
    /// The bot may write.
    Collaborator,
    /// A secret, by the variable that has its value.
    Secret(&'static str),
    /// A variable, likewise.
    Variable(&'static str),
    /// The rule of a branch, with the bot alone on its push list.
    BranchRule(String),
}

/// What becomes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Become {
    /// It is made.
    Made,
    /// It is there, and left alone.
    There,
    /// It is missing, and nobody says what it is.
    Missing,
    /// It waits until the files are on the branch.
    Later,
}

/// What is to be done about a setting.
pub(super) struct Deed {
    setting: Setting,
    /// Its name for people.
    pub(super) name: String,
    pub(super) becomes: Become,
    /// What is worth a word.
    pub(super) text: String,
}

impl Wanted {
    /// Decides each setting, in the order in which they are made: a push list takes nobody who may not write.
    fn decide(&self, there: &There) -> Vec<Deed> {
        let stored = |name: &str| self.network.own_name(name);
        let mut deeds = Vec::new();
        let mut add = |setting: Setting, (becomes, text): (Become, &str)| {
            let name = match (&setting, &self.bot) {
                (Setting::Collaborator, None) => "the bot".to_owned(),
                (Setting::Collaborator, Some(bot)) => format!("collaborator {bot}"),
                (Setting::Secret(name), _) => format!("secret {}", stored(name)),
                (Setting::Variable(name), _) => format!("variable {}", stored(name)),
                (Setting::BranchRule(branch), _) => format!("branch rule {branch}"),
            };
            let text = text.to_owned();
            deeds.push(Deed {
                setting,
                name,
                becomes,
                text,
            });
        };
        let has_rules = there.rule.is_some() && there.inventory_rule.is_some();
        match (&self.bot, there.permission.as_str()) {
            // nothing is left to be made that names it
            (None, _) if has_rules && there.secrets.contains("BOT_TOKEN") => {}
            (None, _) => add(Setting::Collaborator, (Become::Missing, NO_BOT)),
            (_, "owner") => add(Setting::Collaborator, (Become::There, BOT_OWNS)),
            (_, "write" | "admin") => add(Setting::Collaborator, (Become::There, "")),
            _ => add(Setting::Collaborator, (Become::Made, "may write")),
        }
        for (name, what) in SECRETS {
            let missing = format!("set {name} or {name}_FILE: {what}");
            let is_there = there.secrets.contains(&stored(name));
            let decided = match (is_there, self.secrets.contains_key(name)) {
                (true, true) => (Become::There, NOT_COMPARABLE),
                (true, false) => (Become::There, ""),
                (false, true) => (Become::Made, ""),
                (false, false) => (Become::Missing, &*missing),
            };
            add(Setting::Secret(name), decided);
        }
        for (name, what) in VARIABLES {
            let missing = format!("set {name}: {what}");
            let value = there.variables.get(&stored(name));
            let decided = match (value, self.variables.get(name)) {
                (Some(is), Some(given)) if !same(is, given) => (Become::There, OTHER_VALUE),
                (Some(_), _) => (Become::There, ""),
                (None, Some(_)) => (Become::Made, ""),
                (None, None) if what.is_empty() => continue,
                (None, None) => (Become::Missing, &*missing),
            };
            add(Setting::Variable(name), decided);
        }
        let bot = self.bot.as_deref();
        let mut rule = |branch: &str, rule: &Option<BranchRule>, file, needs_push| {
            let alone = format!("only {} may push", bot.unwrap_or_default());
            let gap = rule.as_ref();
            let gap = gap.and_then(|rule| rule.gap(file, bot, needs_push));
            let gap = gap.map(|(gap, way_out)| format!("left alone: {gap}; {way_out}"));
            let decided = match (rule, &gap) {
                (Some(_), Some(gap)) => (Become::There, &**gap),
                (Some(rule), None) if !rule.enable_push => (Become::There, NOBODY_PUSHES),
                (Some(_), None) => (Become::There, ""),
                (None, _) if bot.is_none() => return,
                // people push nothing to the branch of the inventory
                (None, _) if needs_push || there.has_network => (Become::Made, &*alone),
                (None, _) => (Become::Later, LATER),
            };
            let named = rule.as_ref().map_or(branch, |rule| &rule.rule_name);
            add(Setting::BranchRule(named.to_owned()), decided);
        };
        let list = "inventory.json";
        rule(&self.inventory_branch, &there.inventory_rule, list, true);
        rule(&self.branch, &there.rule, &self.network.file, false);
        deeds
    }
}

const NO_BOT: &str =
    "set BOT_TOKEN to a token of the bot with the scope read:user, or name the bot with --bot";
const BOT_OWNS: &str = "it owns the repository, so whoever has BOT_TOKEN can change its settings: a separate user is safer";
const NOT_COMPARABLE: &str =
    "left alone: a secret cannot be read and compared; to replace it, delete it first";
const OTHER_VALUE: &str =
    "left alone: it has another value than yours; to replace it, delete it first";
const NOBODY_PUSHES: &str =
    "left alone: nobody can push, so add --via-pr to sync-events in apply.yml and enrollment.yml";
const LATER: &str = "set it once the files are on the branch: it would keep you from pushing them";

/// The server writes line ends of its own.
fn same(one: &str, other: &str) -> bool {
    one.trim().lines().eq(other.trim().lines())
}

impl Settings {
    /// Reads what is wanted and what is there. `remote` is the repository that the checkout is pushed to.
    pub(super) fn prepare(
        run: &Run,
        args: &InitArgs,
        network: &Network,
        remote: Option<&Remote>,
    ) -> Result<Settings, Failure> {
        let owner = run.gitea_token()?;
        let text = "--setup needs a token of the repository's owner, and GITEA_TOKEN is not set";
        let owner = owner.ok_or_else(|| Failure::error(text).hint(OWNERS_TOKEN))?;
        let (secrets, variables) = (secrets(&owner)?, variables(args)?);
        let (server, name) = repository(run, remote)?;
        let open = |token: &Token| -> Result<Repo, Failure> {
            let mut config = gitea::config(&server)?;
            config.ca_file = setting(args.server.ca_file.as_ref()).map(PathBuf::from);
            Ok(Repo::new(config, token, &name)?)
        };
        let repo = open(&owner)?;
        let about = repo.about().map_err(|error| of_owner(&repo, error))?;
        let refused = |text: &str, hint| Err(Failure::error(visible(text)).hint(hint));
        if about.permissions.admin == Some(false) {
            let text = format!("the token in GITEA_TOKEN is not that of the owner of {name}");
            return refused(&text, OWNERS_TOKEN);
        }
        if about.archived || about.mirror {
            let text = format!("{name} is archived or a mirror: nothing can be set up there");
            return refused(&text, "name the repository that people push to");
        }
        let bot = match (setting(args.bot.as_ref()), secrets.get("BOT_TOKEN")) {
            (None, Some(token)) => login(&open(token)?)?,
            (named, _) => named,
        };
        let applied = run.named_branch.clone();
        let branch = applied.unwrap_or_else(|| about.default_branch.clone());
        let others = [
            (&*about.default_branch, "the default branch"),
            (&*branch, "the branch that is applied"),
        ];
        let wanted = Wanted {
            inventory_branch: inventory_branch(run, others)?,
            secrets,
            variables,
            bot,
            branch,
            network: network.clone(),
        };
        let wait = Duration::from_secs_f64(args.server.retry_wait);
        let there = there(&repo, &wanted, wait)?;
        Ok(Settings {
            server,
            deeds: wanted.decide(&there),
            done: 0,
            wanted,
            has_no_actions: about.has_no_actions(),
            repo,
        })
    }

    pub(super) fn name(&self) -> String {
        self.repo.full_name()
    }

    /// Returns whether something was made.
    pub(super) fn changed(&self) -> bool {
        let mut done = self.deeds.iter().take(self.done);
        done.any(|deed| deed.becomes == Become::Made)
    }

    /// Makes what is to be made, and says each before; `done` has how far it got.
    pub(super) fn carry_out(&mut self, say: Say) -> Result<(), Failure> {
        for deed in &self.deeds {
            if deed.becomes == Become::Made {
                let text = format!("setting {} of {}", deed.name, self.name());
                say.progress(&visible(&text));
                self.make(deed)?;
            }
            self.done += 1;
        }
        Ok(())
    }

    fn make(&self, deed: &Deed) -> Result<(), Failure> {
        let wanted = &self.wanted;
        let stored = |name| wanted.network.own_name(name);
        let bot = wanted.bot.as_deref().unwrap_or_default();
        let made = match &deed.setting {
            Setting::Collaborator => self.repo.let_write(bot),
            Setting::Secret(name) => self.repo.set_secret(&stored(name), &wanted.secrets[name]),
            Setting::Variable(name) => {
                let value = wanted.variables[name].trim();
                self.repo.add_variable(&stored(name), value)
            }
            Setting::BranchRule(branch) => match self.repo.protect(branch, bot) {
                Ok(rule) if !rule.lists(bot) => {
                    let lacks = format!("the server did not put {bot} on its push allowlist");
                    let text = format!("{branch} is protected, but {lacks}");
                    return Err(Failure::error(visible(&text)).hint(
                        "a push allowlist takes only users with write access: check the bot's access under Settings → \
                         Collaborators, and the rule under Settings → Branches",
                    ));
                }
                made => made.map(drop),
            },
        };
        made.map_err(|error| of_owner(&self.repo, error).within(&visible(&deed.name)))
    }
}

const OWNERS_TOKEN: &str = "set GITEA_TOKEN to a token of the owner of the repository or of its organisation, with the scope \
     write:repository (Settings → Applications); an administrator of the repository cannot set its secrets; the bot's token is BOT_TOKEN";

/// What an error means where the token is to be the owner's.
fn of_owner(repo: &Repo, error: GiteaError) -> Failure {
    let status = error.answer.as_ref().map(|answer| answer.status);
    let failure = of_gitea(repo, error);
    match status {
        Some(401 | 403) => failure.hint(OWNERS_TOKEN),
        Some(404) => failure.hint(
            "check that the repository exists and GITEA_REPO names it, and that Actions are switched on for the server and in \
             the repository's settings; Gitea also answers so where the token has no access",
        ),
        _ => failure,
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
        let text = "NETBIRD_PLAN_TOKEN and NETBIRD_APPLY_TOKEN are the same token";
        let hint = "jobs of pull requests see NETBIRD_PLAN_TOKEN: set it to the token of a service user with the role auditor";
        return Err(Failure::error(text).hint(hint));
    }
    if value("BOT_TOKEN") == Some(owner.expose()) {
        let hint = "with it jobs could change the repository's settings: create a user for the bot, and set BOT_TOKEN to a token of \
                    that user";
        return Err(Failure::error("BOT_TOKEN is the owner's token").hint(hint));
    }
    Ok(secrets)
}

/// Reads the values of the variables. They can be read by whoever administrates the repository, and show in logs: a secret
/// among them is refused.
fn variables(args: &InitArgs) -> Result<BTreeMap<&'static str, String>, Failure> {
    let flag = setting(args.server.netbird_url.as_ref());
    let mut variables = BTreeMap::from_iter(flag.map(|url| ("NETBIRD_API_URL", url)));
    for (name, _) in VARIABLES {
        if let Some(value) = setting(environment(name).as_ref()) {
            variables.entry(name).or_insert(value);
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
    let value = |name| variables.get(name).map(String::as_str);
    if value("NETBIRD_GITOPS_SHA256").is_some_and(|text| !is_digest(text)) {
        let text = "NETBIRD_GITOPS_SHA256 is not a SHA-256: expected 64 hexadecimal digits";
        return Err(Failure::error(text).hint("sha256sum FILE prints it, before the file's name"));
    }
    let is_url = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    if value("NETBIRD_GITOPS_BINARY").is_some_and(|text| !is_url(text)) {
        let text = "NETBIRD_GITOPS_BINARY is not a URL: it has to begin with https://";
        let hint = "jobs fetch the program there, without signing in";
        return Err(Failure::error(text).hint(hint));
    }
    Ok(variables)
}

/// Returns the server and the repository: as named, else of the checkout's remote.
fn repository(run: &Run, remote: Option<&Remote>) -> Result<(String, String), Failure> {
    // the tokens go there: what a job around us has may be another repository
    let server = run.command.named(|it| &it.gitea_url);
    let server = server.or_else(|| remote?.server.clone());
    let name = run.command.named(|it| &it.gitea_repo);
    let name = name.or_else(|| Some(remote?.name.clone()));
    server.zip(name).ok_or_else(|| {
        let text = "the repository to set up is not known: the remote \"origin\" of the checkout does not name it";
        let hint = "set GITEA_URL to the server, such as https://git.example.com, and GITEA_REPO to OWNER/NAME";
        Failure::error(text).hint(hint)
    })
}

/// Asks whose token it is; `None` where its scopes do not let it say.
fn login(repo: &Repo) -> Result<Option<String>, Failure> {
    match repo.user() {
        Ok(user) => Ok(Some(user.login).filter(|login| !login.is_empty())),
        Err(error) if error.is_scope() => Ok(None),
        Err(error) => {
            let failure = of_gitea(repo, error).within("the token in BOT_TOKEN");
            Err(failure.hint("make a new token for the bot: docs/gitea.md, step 3"))
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
fn there(repo: &Repo, wanted: &Wanted, wait: Duration) -> Result<There, Failure> {
    let of_owner = |error| of_owner(repo, error);
    let permission = match &wanted.bot {
        None => String::new(),
        Some(bot) => repo.permission(bot).map_err(|error| match error.status() {
            Some(404 | 422) => Failure::from(error)
                .within(&format!("there is no user {bot:?}"))
                .hint("create the bot's user first, or name another one with --bot"),
            _ => of_owner(error),
        })?,
    };
    let file = || repo.blob(Some(&wanted.branch), &wanted.network.file);
    let has_network = match patiently(wait, file) {
        Ok(_) => true,
        // an empty repository, too
        Err(error) if error.is_not_found() || error.trouble == Trouble::NotAFile => false,
        Err(error) => return Err(of_owner(error)),
    };
    let rule_of = |branch: &str| patiently(wait, || repo.branch_rule(branch)).map_err(of_owner);
    Ok(There {
        secrets: repo.secret_names().map_err(of_owner)?,
        variables: repo.variables().map_err(of_owner)?,
        permission,
        rule: rule_of(&wanted.branch)?,
        inventory_rule: rule_of(&wanted.inventory_branch)?,
        has_network,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            secrets: SECRETS
                .map(|(name, _)| (name, Token::parse("a").unwrap()))
                .into(),
            variables: BTreeMap::from([
                ("NETBIRD_API_URL", "https://netbird.example.com".into()),
                ("AGE_PUBLIC_KEY", "age1a\nage1b\n".into()),
            ]),
            bot: Some("bot".into()),
            branch: "main".into(),
            inventory_branch: "list".into(),
            network: Network::default(),
        }
    }

    /// A rule by which those may push.
    fn rule_of(name: &str, allowed: &[&str]) -> BranchRule {
        let logins = allowed.iter();
        BranchRule {
            rule_name: name.into(),
            enable_push: true,
            enable_push_whitelist: true,
            push_whitelist_usernames: logins.map(|&login| login.to_owned()).collect(),
            ..BranchRule::default()
        }
    }

    fn said(wanted: &Wanted, there: &There) -> String {
        let deeds = wanted.decide(there).into_iter();
        let line = |deed: Deed| format!("{:?} {} {}\n", deed.becomes, deed.name, deed.text);
        deeds.map(line).collect()
    }

    #[test]
    fn a_new_repository_gets_all_but_its_rule_and_the_bot_first() {
        let said = said(&wanted(), &There::default());
        assert_eq!(
            said,
            "\
Made collaborator bot may write
Made secret NETBIRD_PLAN_TOKEN \n\
Made secret NETBIRD_APPLY_TOKEN \n\
Made secret BOT_TOKEN \n\
Made variable NETBIRD_API_URL \n\
Made variable AGE_PUBLIC_KEY \n\
Missing variable NETBIRD_GITOPS_BINARY set NETBIRD_GITOPS_BINARY: where jobs fetch the program: docs/gitea.md, step 4
Missing variable NETBIRD_GITOPS_SHA256 set NETBIRD_GITOPS_SHA256: the program's SHA-256
Made branch rule list only bot may push
Later branch rule main set it once the files are on the branch: it would keep you from pushing them
"
        );
    }

    #[test]
    fn what_is_there_is_left_alone() {
        let there = There {
            secrets: SECRETS.map(|(name, _)| name.to_owned()).into(),
            variables: BTreeMap::from([
                ("NETBIRD_API_URL".into(), "https://other.example.com".into()),
                ("AGE_PUBLIC_KEY".into(), "age1a\r\nage1b".into()),
            ]),
            permission: "owner".into(),
            has_network: true,
            rule: Some(rule_of("ma*", &["Bot"])),
            inventory_rule: Some(rule_of("list", &["alice"])),
        };
        let deeds = wanted().decide(&there);
        assert!(!deeds.iter().any(|deed| deed.becomes == Become::Made));
        let texts: Vec<&str> = deeds.iter().map(|deed| deed.text.as_str()).collect();
        assert_eq!(
            (texts[0], texts[1], texts[4], texts[5]),
            (BOT_OWNS, NOT_COMPARABLE, OTHER_VALUE, "")
        );
        assert!(
            texts[8].starts_with("left alone: it does not let bot push, so every apply is refused")
        );
        assert_eq!((deeds[9].name.as_str(), texts[9]), ("branch rule ma*", ""));
    }

    #[test]
    fn another_network_has_tokens_of_its_own_and_the_same_bot() {
        let wanted = Wanted {
            network: Network::new("lab", "lab/netbird.json"),
            ..wanted()
        };
        let said = said(&wanted, &There::default());
        for name in [
            "secret NETBIRD_PLAN_TOKEN_LAB",
            "secret BOT_TOKEN ",
            "variable NETBIRD_API_URL_LAB",
            "variable NETBIRD_GITOPS_SHA256 ",
        ] {
            assert!(said.contains(name), "{said}");
        }
    }

    #[test]
    fn without_a_bot_there_is_no_rule() {
        let wanted = Wanted {
            bot: None,
            ..wanted()
        };
        let there = There {
            has_network: true,
            ..There::default()
        };
        let all = said(&wanted, &there);
        assert!(
            all.starts_with("Missing the bot") && !all.contains("rule"),
            "{all}"
        );
        // nor need it be known where all that names it is done
        let there = There {
            secrets: SECRETS.map(|(name, _)| name.to_owned()).into(),
            rule: Some(rule_of("", &["bot"])),
            inventory_rule: Some(rule_of("", &["bot"])),
            ..there
        };
        assert!(!said(&wanted, &there).contains("the bot"));
        // the other rule names it, too
        let there = There {
            inventory_rule: None,
            ..there
        };
        assert!(said(&wanted, &there).contains("the bot"));
    }
}
