//! What `init --setup` does in a repository's settings: decided from what is wanted and what is there.
//!
//! What exists is left alone, whatever it holds: a secret cannot be read back, and a rule may be stricter than ours.

use std::collections::{BTreeMap, BTreeSet};

use super::Network;
use crate::forge::gitea::BranchRule;

/// The secrets of the workflows, and what each is.
pub const SECRETS: [(&str, &str); 3] = [
    (
        "NETBIRD_PLAN_TOKEN",
        "the token of a NetBird service user with the role auditor",
    ),
    (
        "NETBIRD_APPLY_TOKEN",
        "the token of a NetBird service user with the role admin",
    ),
    ("BOT_TOKEN", "a token of the bot's user in this forge"),
];
/// The variables of the workflows, and what each is; nothing of the one that the workflows do without.
pub const VARIABLES: [(&str, &str); 5] = [
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

/// What is wanted of a repository.
#[derive(Debug, Clone, Default)]
pub struct WantedSettings {
    /// Secrets for which there is a value.
    pub secrets: BTreeSet<&'static str>,
    /// Variables for which there is a value.
    pub variables: BTreeMap<&'static str, String>,
    /// The bot's login, where it is known.
    pub bot: Option<String>,
    /// The branch that is applied.
    pub branch: String,
    /// The branch of the inventory.
    pub inventory_branch: String,
    /// The network that is set up.
    pub network: Network,
}

/// What a repository has.
#[derive(Debug, Clone, Default)]
pub struct There {
    /// Names of its secrets.
    pub secrets: BTreeSet<String>,
    /// Its variables.
    pub variables: BTreeMap<String, String>,
    /// May the bot write?
    pub bot_writes: bool,
    /// Is it the owner?
    pub bot_owns: bool,
    /// The rule of the branch.
    pub rule: Option<BranchRule>,
    /// The rule of the branch of the inventory.
    pub inventory_rule: Option<BranchRule>,
    /// Does the branch hold the network's file?
    pub has_network: bool,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// The bot may write; without a login it is not known who the bot is.
    Collaborator(String),
    /// A secret, by the variable that has its value.
    Secret(&'static str),
    /// A variable, which is no secret, likewise.
    Variable(&'static str),
    /// A branch's rule, with this bot alone on its push list.
    BranchRule(String, String),
}

/// How a setting stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is to be made.
    Make,
    /// It is there, and is left alone.
    There,
    /// It is missing, and nobody says what it is.
    Missing,
    /// It waits until the files are on the branch.
    Later,
}

/// What is to be done about a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// The setting.
    pub setting: Setting,
    /// Its name for people.
    pub name: String,
    /// How it stands.
    pub standing: Standing,
    /// What is worth a word.
    pub text: String,
}

/// Decides each setting, in the order in which they are made: a push list takes nobody who may not write.
pub fn decide(wanted: &WantedSettings, there: &There) -> Vec<Deed> {
    let mut deeds = Vec::new();
    let mut add = |setting: Setting, standing, text: &str| {
        let stored = |name: &str| wanted.network.own_name(name);
        let name = match &setting {
            Setting::Collaborator(bot) if bot.is_empty() => "the bot".into(),
            Setting::Collaborator(bot) => format!("collaborator {bot}"),
            Setting::Secret(name) => format!("secret {}", stored(name)),
            Setting::Variable(name) => format!("variable {}", stored(name)),
            Setting::BranchRule(branch, _) => format!("branch rule {branch}"),
        };
        let text = text.to_owned();
        deeds.push(Deed {
            setting,
            name,
            standing,
            text,
        });
    };
    let has_rules = there.rule.is_some() && there.inventory_rule.is_some();
    let bot = wanted.bot.clone().unwrap_or_default();
    let collaborator = Setting::Collaborator(bot.clone());
    match (&wanted.bot, there.bot_writes) {
        (None, _) if has_rules && there.secrets.contains("BOT_TOKEN") => {}
        (None, _) => add(collaborator, Standing::Missing, NO_BOT),
        (Some(_), true) if there.bot_owns => add(collaborator, Standing::There, BOT_OWNS),
        (Some(_), true) => add(collaborator, Standing::There, ""),
        (Some(_), false) => add(collaborator, Standing::Make, "may write"),
    }
    let stored = |name: &str| wanted.network.own_name(name);
    let secrets = SECRETS.map(|(name, what)| {
        let is_there = there.secrets.contains(&stored(name));
        let is_given = wanted.secrets.contains(name);
        let missing = format!("set {name} or {name}_FILE: {what}");
        (
            Setting::Secret(name),
            is_there,
            is_given,
            NOT_COMPARABLE,
            missing,
        )
    });
    // the one that the workflows do without is never missing
    let is_needed = |(name, what): &(&str, &str)| {
        !what.is_empty()
            || wanted.variables.contains_key(name)
            || there.variables.contains_key(*name)
    };
    let variables = VARIABLES.into_iter().filter(is_needed).map(|(name, what)| {
        let (is, given) = (
            there.variables.get(&stored(name)),
            wanted.variables.get(name),
        );
        let is_other = is.zip(given).is_some_and(|(is, given)| !same(is, given));
        let told = if is_other { OTHER_VALUE } else { "" };
        let missing = format!("set {name}: {what}");
        (
            Setting::Variable(name),
            is.is_some(),
            given.is_some(),
            told,
            missing,
        )
    });
    for (setting, is_there, is_given, told, missing) in secrets.into_iter().chain(variables) {
        match (is_there, is_given) {
            (true, true) => add(setting, Standing::There, told),
            (true, false) => add(setting, Standing::There, ""),
            (false, true) => add(setting, Standing::Make, ""),
            (false, false) => add(setting, Standing::Missing, &missing),
        }
    }
    let file = wanted.network.file.as_str();
    for (rule, branch, file, needs_push) in [
        (
            &there.inventory_rule,
            &wanted.inventory_branch,
            "inventory.json",
            true,
        ),
        (&there.rule, &wanted.branch, file, false),
    ] {
        let named = rule.as_ref().map_or(branch, |rule| &rule.rule_name);
        let setting = Setting::BranchRule(named.clone(), bot.clone());
        match rule {
            Some(rule) => match rule.gap(file, wanted.bot.as_deref(), needs_push) {
                Some((gap, way_out)) => {
                    let text = format!("left alone: {gap}; {way_out}");
                    add(setting, Standing::There, &text);
                }
                None if !rule.enable_push => add(setting, Standing::There, NOBODY_PUSHES),
                None => add(setting, Standing::There, ""),
            },
            None if wanted.bot.is_none() => {}
            // people push nothing to the branch of the inventory
            None if needs_push || there.has_network => {
                add(setting, Standing::Make, &format!("{bot} alone may push"));
            }
            None => add(setting, Standing::Later, LATER),
        }
    }
    deeds
}

const NO_BOT: &str = "set BOT_TOKEN to its token with the scope read:user, or name it with --bot";
const BOT_OWNS: &str =
    "it owns the repository, and so does whoever gets BOT_TOKEN: a user of its own is safer";
const NOT_COMPARABLE: &str = "left alone: nobody can read it back; to replace it, delete it first";
const OTHER_VALUE: &str =
    "left alone, with another value than yours; to replace it, delete it first";
const NOBODY_PUSHES: &str =
    "left alone: nobody may push, so give sync-events --via-pr in apply.yml and enrollment.yml";
const LATER: &str = "before the files are on the branch it would keep you from pushing them";

/// The server writes line ends of its own.
fn same(one: &str, other: &str) -> bool {
    one.trim().lines().eq(other.trim().lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> WantedSettings {
        WantedSettings {
            secrets: SECRETS.into_iter().map(|(name, _)| name).collect(),
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

    fn told(wanted: &WantedSettings, there: &There) -> String {
        let deeds = decide(wanted, there).into_iter();
        let line = |deed: Deed| format!("{:?} {} {}\n", deed.standing, deed.name, deed.text);
        deeds.map(line).collect()
    }

    #[test]
    fn a_new_repository_gets_all_but_its_rule_and_the_bot_first() {
        let told = told(&wanted(), &There::default());
        assert_eq!(
            told,
            "\
Make collaborator bot may write
Make secret NETBIRD_PLAN_TOKEN \n\
Make secret NETBIRD_APPLY_TOKEN \n\
Make secret BOT_TOKEN \n\
Make variable NETBIRD_API_URL \n\
Make variable AGE_PUBLIC_KEY \n\
Missing variable NETBIRD_GITOPS_BINARY set NETBIRD_GITOPS_BINARY: where jobs fetch the program: docs/gitea.md, step 4
Missing variable NETBIRD_GITOPS_SHA256 set NETBIRD_GITOPS_SHA256: the program's SHA-256
Make branch rule list bot alone may push
Later branch rule main before the files are on the branch it would keep you from pushing them
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
            bot_writes: true,
            bot_owns: true,
            has_network: true,
            rule: Some(rule_of("ma*", &["Bot"])),
            inventory_rule: Some(rule_of("list", &["alice"])),
        };
        let deeds = decide(&wanted(), &there);
        assert!(!deeds.iter().any(|deed| deed.standing == Standing::Make));
        let texts: Vec<&str> = deeds.iter().map(|deed| deed.text.as_str()).collect();
        assert_eq!(
            (texts[0], texts[1], texts[4], texts[5]),
            (BOT_OWNS, NOT_COMPARABLE, OTHER_VALUE, "")
        );
        assert!(
            texts[8].starts_with("left alone: by it bot may not push, so every apply is refused")
        );
        assert_eq!((deeds[9].name.as_str(), texts[9]), ("branch rule ma*", ""));
    }

    #[test]
    fn another_network_has_tokens_of_its_own_and_the_same_bot() {
        let wanted = WantedSettings {
            network: Network::new("lab", "lab/netbird.json"),
            ..wanted()
        };
        let told = told(&wanted, &There::default());
        for name in [
            "secret NETBIRD_PLAN_TOKEN_LAB",
            "secret BOT_TOKEN ",
            "variable NETBIRD_API_URL_LAB",
            "variable NETBIRD_GITOPS_SHA256 ",
        ] {
            assert!(told.contains(name), "{told}");
        }
    }

    #[test]
    fn without_a_bot_there_is_no_rule() {
        let wanted = WantedSettings {
            bot: None,
            ..wanted()
        };
        let there = There {
            has_network: true,
            ..There::default()
        };
        let all = told(&wanted, &there);
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
        assert!(!told(&wanted, &there).contains("the bot"));
        // the other rule names it, too
        let there = There {
            inventory_rule: None,
            ..there
        };
        assert!(told(&wanted, &there).contains("the bot"));
    }
}
