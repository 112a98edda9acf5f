//! What `init --setup` does in a repository's settings: decided from what is wanted and what is there.
//!
//! What exists is left alone, whatever it holds: a secret cannot be read back, and a rule may be stricter than ours.

use std::collections::{BTreeMap, BTreeSet};

use crate::forge::gitea::Rule;

/// The secrets of the workflows.
pub const SECRETS: [&str; 3] = ["NETBIRD_PLAN_TOKEN", "NETBIRD_APPLY_TOKEN", "BOT_TOKEN"];
/// The variables of the workflows, and whether the workflows go without it.
pub const VARIABLES: [(&str, bool); 5] = [
    ("NETBIRD_API_URL", false),
    ("AGE_PUBLIC_KEY", false),
    ("NETBIRD_GITOPS_BINARY", false),
    ("NETBIRD_GITOPS_SHA256", false),
    ("NETBIRD_GITOPS_SERVER", true),
];

/// What is wanted of a repository.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
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
    pub rule: Option<Rule>,
    /// The rule of the branch of the inventory.
    pub inventory_rule: Option<Rule>,
    /// Does the branch hold netbird.json?
    pub has_network: bool,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// The bot may write.
    Collaborator(String),
    /// A secret.
    Secret(&'static str),
    /// A variable, which is no secret.
    Variable(&'static str),
    /// A branch's rule, with the bot alone on its push list.
    Rule {
        /// The branch.
        branch: String,
        /// The bot.
        bot: String,
    },
}

/// What is to be done about a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// It is to be made.
    Make(Setting),
    /// It is there.
    There(Setting, Remark),
    /// It is missing, and nobody says what it is.
    NoValue(Setting),
    /// Who the bot is is not known.
    NoBot,
    /// The branch's rule waits until the files are on it: then they could not be pushed any more.
    RuleWaits(String),
}

/// What is worth a word about a setting that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// Nothing.
    None,
    /// A bot that owns the repository.
    BotOwns,
    /// A secret: another value was given, and which one it has nobody can tell.
    NotComparable,
    /// A variable with another value than was given.
    OtherValue,
    /// A rule that lets nobody push.
    NobodyPushes,
    /// A rule whose push list is without the bot.
    WithoutBot,
    /// A rule of the branch of the inventory by which the bot may not push: there is no other way onto that branch.
    KeepsInventoryOut,
    /// A rule by which everybody with write access may push.
    EverybodyPushes,
    /// A rule by which everybody may push files of these patterns.
    Unprotected(String),
}

/// Decides each setting, in the order in which they are made: a push list takes nobody who may not write.
pub fn decide(wanted: &Wanted, there: &There) -> Vec<Deed> {
    let mut deeds = Vec::new();
    let has_rules = there.rule.is_some() && there.inventory_rule.is_some();
    let needs_no_name = has_rules && there.secrets.contains("BOT_TOKEN");
    deeds.extend(match &wanted.bot {
        None if needs_no_name => None,
        None => Some(Deed::NoBot),
        Some(bot) if there.bot_writes => {
            let remark = match there.bot_owns {
                true => Remark::BotOwns,
                false => Remark::None,
            };
            Some(Deed::There(Setting::Collaborator(bot.clone()), remark))
        }
        Some(bot) => Some(Deed::Make(Setting::Collaborator(bot.clone()))),
    });
    for name in SECRETS {
        let is_given = wanted.secrets.contains(name);
        let setting = Setting::Secret(name);
        deeds.push(match there.secrets.contains(name) {
            true if is_given => Deed::There(setting, Remark::NotComparable),
            true => Deed::There(setting, Remark::None),
            false if is_given => Deed::Make(setting),
            false => Deed::NoValue(setting),
        });
    }
    for (name, can_be_left_out) in VARIABLES {
        let given = wanted.variables.get(name);
        let setting = Setting::Variable(name);
        match (there.variables.get(name), given) {
            (Some(is), Some(given)) if !same(is, given) => {
                deeds.push(Deed::There(setting, Remark::OtherValue));
            }
            (Some(_), _) => deeds.push(Deed::There(setting, Remark::None)),
            (None, Some(_)) => deeds.push(Deed::Make(setting)),
            (None, None) if can_be_left_out => {}
            (None, None) => deeds.push(Deed::NoValue(setting)),
        }
    }
    deeds.extend(rule_of_inventory(wanted, there));
    deeds.extend(rule(wanted, there));
    deeds
}

/// The server writes line ends of its own.
fn same(one: &str, other: &str) -> bool {
    one.trim().lines().eq(other.trim().lines())
}

/// Decides the rule of the branch that is applied.
fn rule(wanted: &Wanted, there: &There) -> Option<Deed> {
    if let Some(rule) = &there.rule {
        let setting = setting(&rule.rule_name, wanted);
        return Some(Deed::There(setting, remark(rule, wanted)));
    }
    wanted.bot.as_ref()?;
    Some(match there.has_network {
        true => Deed::Make(setting(&wanted.branch, wanted)),
        false => Deed::RuleWaits(wanted.branch.clone()),
    })
}

/// Decides the rule of the branch of the inventory, which waits for nothing: people push nothing there.
fn rule_of_inventory(wanted: &Wanted, there: &There) -> Option<Deed> {
    let Some(rule) = &there.inventory_rule else {
        wanted.bot.as_ref()?;
        return Some(Deed::Make(setting(&wanted.inventory_branch, wanted)));
    };
    let remark = match remark(rule, wanted) {
        Remark::NobodyPushes | Remark::WithoutBot => Remark::KeepsInventoryOut,
        other => other,
    };
    Some(Deed::There(setting(&rule.rule_name, wanted), remark))
}

fn setting(branch: &str, wanted: &Wanted) -> Setting {
    Setting::Rule {
        branch: branch.to_owned(),
        bot: wanted.bot.clone().unwrap_or_default(),
    }
}

/// Judges a rule that is there; without knowing the bot, too, but for whether it may push.
fn remark(rule: &Rule, wanted: &Wanted) -> Remark {
    let lists_bot = wanted.bot.as_ref().is_none_or(|bot| rule.lists(bot));
    let unprotected = &rule.unprotected_file_patterns;
    if !unprotected.trim().is_empty() {
        Remark::Unprotected(unprotected.clone())
    } else if !rule.enable_push {
        Remark::NobodyPushes
    } else if !rule.enable_push_whitelist {
        Remark::EverybodyPushes
    } else if !lists_bot && rule.push_whitelist_teams.is_empty() {
        Remark::WithoutBot
    } else {
        Remark::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            secrets: SECRETS.into_iter().collect(),
            variables: BTreeMap::from([
                ("NETBIRD_API_URL", "https://netbird.example.com".into()),
                ("AGE_PUBLIC_KEY", "age1a\nage1b\n".into()),
            ]),
            bot: Some("bot".into()),
            branch: "main".into(),
            inventory_branch: "list".into(),
        }
    }

    /// A rule by which those may push, or everybody who may write.
    fn rule_of(name: &str, push: bool, allowed: Option<&[&str]>) -> Rule {
        let logins = allowed.unwrap_or_default().iter();
        Rule {
            rule_name: name.into(),
            enable_push: push,
            enable_push_whitelist: allowed.is_some(),
            push_whitelist_usernames: logins.map(|&login| login.to_owned()).collect(),
            ..Rule::default()
        }
    }

    #[test]
    fn a_new_repository_gets_all_but_its_rule_and_the_bot_first() {
        let deeds = decide(&wanted(), &There::default());
        assert_eq!(
            deeds[0],
            Deed::Make(Setting::Collaborator("bot".to_owned()))
        );
        assert_eq!(deeds[3], Deed::Make(Setting::Secret("BOT_TOKEN")));
        assert_eq!(deeds[4], Deed::Make(Setting::Variable("NETBIRD_API_URL")));
        assert_eq!(
            deeds[6],
            Deed::NoValue(Setting::Variable("NETBIRD_GITOPS_BINARY"))
        );
        // people push nothing to the branch of the inventory
        let rule = Setting::Rule {
            branch: "list".into(),
            bot: "bot".into(),
        };
        assert_eq!(deeds[8], Deed::Make(rule));
        // a rule now, and the first push would be refused
        assert_eq!(deeds[9], Deed::RuleWaits("main".to_owned()));
        assert_eq!(deeds.len(), 10);
    }

    #[test]
    fn what_is_there_is_left_alone() {
        let there = There {
            secrets: SECRETS.into_iter().map(str::to_owned).collect(),
            variables: BTreeMap::from([
                ("NETBIRD_API_URL".into(), "https://other.example.com".into()),
                ("AGE_PUBLIC_KEY".into(), "age1a\r\nage1b".into()),
            ]),
            bot_writes: true,
            bot_owns: true,
            has_network: true,
            rule: Some(rule_of("main", true, Some(&["Bot"]))),
            inventory_rule: Some(rule_of("list", true, Some(&["bot"]))),
        };
        let deeds = decide(&wanted(), &there);
        assert!(!deeds.iter().any(|deed| matches!(deed, Deed::Make(_))));
        let remark = |at: usize| match &deeds[at] {
            Deed::There(_, remark) => remark.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(remark(0), Remark::BotOwns);
        assert_eq!(remark(1), Remark::NotComparable);
        assert_eq!(remark(4), Remark::OtherValue);
        assert_eq!(remark(5), Remark::None);
        assert_eq!(remark(8), Remark::None);
        assert_eq!(remark(9), Remark::None);
    }

    #[test]
    fn a_rule_that_is_there_is_judged() {
        let judged = |push, allowed: Option<&[&str]>, unprotected: &str| {
            let rule = Rule {
                unprotected_file_patterns: unprotected.into(),
                ..rule_of("ma*", push, allowed)
            };
            let there = There {
                rule: Some(rule),
                ..There::default()
            };
            match decide(&wanted(), &there).pop() {
                Some(Deed::There(Setting::Rule { branch, .. }, remark)) if branch == "ma*" => {
                    remark
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(judged(false, None, ""), Remark::NobodyPushes);
        assert_eq!(judged(true, None, ""), Remark::EverybodyPushes);
        assert_eq!(judged(true, Some(&["alice"]), ""), Remark::WithoutBot);
        assert_eq!(judged(true, Some(&["bot"]), ""), Remark::None);
        assert_eq!(
            judged(true, Some(&["bot"]), "netbird.json"),
            Remark::Unprotected("netbird.json".into())
        );
    }

    #[test]
    fn a_rule_that_keeps_the_bot_off_the_inventory_is_told() {
        let judged = |push, allowed: Option<&[&str]>| {
            let there = There {
                inventory_rule: Some(rule_of("l*", push, allowed)),
                ..There::default()
            };
            match &decide(&wanted(), &there)[8] {
                Deed::There(Setting::Rule { branch, .. }, remark) if branch == "l*" => {
                    remark.clone()
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(judged(false, None), Remark::KeepsInventoryOut);
        assert_eq!(judged(true, Some(&["alice"])), Remark::KeepsInventoryOut);
        assert_eq!(judged(true, None), Remark::EverybodyPushes);
        assert_eq!(judged(true, Some(&["bot"])), Remark::None);
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
        let deeds = decide(&wanted, &there);
        assert_eq!(deeds[0], Deed::NoBot);
        assert_eq!(deeds.len(), 8);
        // nor need it be known where all that names it is done
        let there = There {
            secrets: SECRETS.into_iter().map(str::to_owned).collect(),
            rule: Some(rule_of("", true, Some(&["bot"]))),
            inventory_rule: Some(rule_of("", true, Some(&["bot"]))),
            ..there
        };
        let deeds = decide(&wanted, &there);
        assert!(!deeds.contains(&Deed::NoBot));
        assert!(matches!(
            deeds.last(),
            Some(Deed::There(Setting::Rule { .. }, Remark::None))
        ));
        // the other rule names it, too
        let there = There {
            inventory_rule: None,
            ..there
        };
        assert!(decide(&wanted, &there).contains(&Deed::NoBot));
    }
}
