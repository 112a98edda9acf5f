//! What a branch rule lets past review (docs/gitea-api.md, "Branch rules").

use serde::Deserialize;

/// A rule as administrators of the repository read it, with the fields about pushing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BranchRule {
    /// Its name: a branch, or the pattern of its branches.
    pub rule_name: String,
    /// Whether anybody may push.
    pub enable_push: bool,
    /// Whether only those of the list may.
    pub enable_push_whitelist: bool,
    /// The list's users.
    pub push_whitelist_usernames: Vec<String>,
    /// Teams whose members may, too. Who they are is not known.
    pub push_whitelist_teams: Vec<String>,
    /// Whether deploy keys may, too.
    pub push_whitelist_deploy_keys: bool,
    /// Patterns of files that everybody with write access may push.
    pub unprotected_file_patterns: String,
    /// Patterns of files that nobody may change.
    pub protected_file_patterns: String,
    /// Whether a commit has to be signed.
    pub require_signed_commits: bool,
}

impl BranchRule {
    /// Whether a user is on its push list.
    pub fn lists(&self, login: &str) -> bool {
        let mut users = self.push_whitelist_usernames.iter();
        users.any(|user| user.eq_ignore_ascii_case(login))
    }

    /// Returns what is wrong with the rule of a branch that has this file, and what to do; `None` where the rule is right. `bot` is
    /// who is to push there, where that is known; with `needs_push` there is no other way onto the branch.
    pub fn gap(&self, file: &str, bot: Option<&str>, needs_push: bool) -> Option<(String, String)> {
        let allow = "put the bot on the push allowlist (Settings → Branches)";
        let gap = |text: String, hint: &str| Some((text, hint.to_owned()));
        if let Some(pattern) = pattern_of(&self.unprotected_file_patterns, file) {
            let text = format!(
                "its unprotected file pattern {pattern:?} covers {file}, so everybody with write access can push that file \
                 without a review"
            );
            let hint = "remove the pattern; put the bot on the push allowlist, or use sync-events --via-pr";
            return gap(text, hint);
        }
        if let Some(pattern) = pattern_of(&self.protected_file_patterns, file) {
            let text = format!(
                "its protected file pattern {pattern:?} covers {file}, so nobody can change that file"
            );
            return gap(text, "remove the pattern");
        }
        let is_listed = |bot| self.lists(bot) || !self.push_whitelist_teams.is_empty();
        let refused = |bot: &str| {
            let text = format!("it does not let {bot} push, so every apply is refused");
            gap(text, allow)
        };
        if !self.enable_push {
            let refused = || refused(bot.unwrap_or("the bot"));
            return needs_push.then(refused).flatten();
        }
        if !self.enable_push_whitelist {
            let hint = "let only the bot push (Allowlist Restricted Push), or nobody (Disable Push, with sync-events --via-pr)";
            return gap(
                "everybody with write access can push without a review".into(),
                hint,
            );
        }
        if let Some(bot) = bot.filter(|bot| !is_listed(bot)) {
            let hint = format!("{allow}, or use sync-events --via-pr");
            return match needs_push {
                true => refused(bot),
                false => gap(format!("it does not let {bot} push"), &hint),
            };
        }
        let list = self.push_list();
        let text = format!("{} can push without a review", list.join(", "));
        let hint = "keep only the bot on the push allowlist";
        (list.len() > 1).then(|| gap(text, hint)).flatten()
    }

    /// Returns who pushes, in words.
    pub fn pushers(&self) -> String {
        match self.enable_push {
            false => "nobody can push".to_owned(),
            true => match self.push_list().as_slice() {
                [] => "its push allowlist is empty".to_owned(),
                list => format!("only {} can push", list.join(", ")),
            },
        }
    }

    fn push_list(&self) -> Vec<String> {
        let users = self.push_whitelist_usernames.iter().cloned();
        let teams = self.push_whitelist_teams.iter();
        let teams = teams.map(|team| format!("the team {team}"));
        let has_keys = self.push_whitelist_deploy_keys;
        let keys = has_keys.then(|| "deploy keys".to_owned());
        users.chain(teams).chain(keys).collect()
    }
}

/// Returns the pattern that covers a path, of those that `;` separates. In doubt a pattern covers it: a warning too many
/// is better than an open door.
fn pattern_of<'p>(patterns: &'p str, path: &str) -> Option<&'p str> {
    let path = path.to_lowercase();
    let mut patterns = patterns.split(';').map(str::trim);
    patterns.find(|pattern| {
        let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
        !pattern.is_empty() && covers(&pattern, &path)
    })
}

/// `*` stands for any text, slashes too, as do a set in brackets and a choice in braces.
fn covers(pattern: &[char], text: &str) -> bool {
    let rest = |from: usize| {
        let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        ends.any(|at| covers(&pattern[from..], &text[at..]))
    };
    let end_of = |close: char| pattern.iter().position(|c| *c == close);
    let mut chars = text.chars();
    match pattern {
        [] => text.is_empty(),
        ['*', ..] => rest(1),
        ['[', ..] if end_of(']').is_some() => rest(end_of(']').map_or(1, |at| at + 1)),
        ['{', ..] if end_of('}').is_some() => rest(end_of('}').map_or(1, |at| at + 1)),
        ['?', ..] => chars.next().is_some() && covers(&pattern[1..], chars.as_str()),
        ['\\', wanted, ..] => {
            chars.next() == Some(*wanted) && covers(&pattern[2..], chars.as_str())
        }
        [wanted, ..] => chars.next() == Some(*wanted) && covers(&pattern[1..], chars.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::without_nulls;
    use super::{BranchRule, pattern_of};

    fn gap(rule: Value) -> Option<String> {
        let rule: BranchRule = serde_json::from_value(without_nulls(rule)).unwrap();
        rule.gap("netbird.json", None, false).map(|(text, _)| text)
    }

    #[test]
    fn the_bot_alone_or_nobody_is_right() {
        let bot = json!({ "enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": ["bot"],
                          "push_whitelist_teams": null });
        assert_eq!(gap(bot), None);
        assert_eq!(gap(json!({ "enable_push": false })), None);
    }

    #[test]
    fn whoever_gets_past_review_is_told() {
        let list = json!({ "enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": ["bot"],
                           "push_whitelist_teams": ["Owners"], "push_whitelist_deploy_keys": true });
        assert_eq!(
            gap(list).as_deref(),
            Some("bot, the team Owners, deploy keys can push without a review")
        );
        assert_eq!(
            gap(json!({ "enable_push": true })).as_deref(),
            Some("everybody with write access can push without a review")
        );
        let free = json!({ "unprotected_file_patterns": "docs/**; NetBird.json" });
        assert!(gap(free).unwrap().contains("without a review"));
        let shut = json!({ "protected_file_patterns": "*.json" });
        assert!(gap(shut).unwrap().contains("nobody can change"));
    }

    #[test]
    fn a_bot_that_may_not_push_is_told() {
        let gap = |rule: Value, needs_push| {
            let rule: BranchRule = serde_json::from_value(rule).unwrap();
            rule.gap("f", Some("bot"), needs_push).map(|(text, _)| text)
        };
        let list = |users: Value| json!({ "enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": users });
        let refused = Some("it does not let bot push, so every apply is refused".to_owned());
        assert_eq!(gap(list(json!(["Bot"])), true), None);
        assert_eq!(gap(list(json!(["alice"])), true), refused);
        assert_eq!(gap(json!({}), true), refused);
        assert_eq!(gap(json!({}), false), None);
        let alone = Some("it does not let bot push".to_owned());
        assert_eq!(gap(list(json!(["alice"])), false), alone);
    }

    #[test]
    fn a_pattern_covers_what_it_may_mean() {
        for pattern in [
            "netbird.json",
            "*.json",
            "**",
            "net????.json",
            "{a,b}*.json",
            "[mn]etbird.json",
        ] {
            assert_eq!(pattern_of(pattern, "netbird.json"), Some(pattern));
        }
        for pattern in ["", "docs/*", "*.md", "netbird.jso", "\\*.json"] {
            assert_eq!(pattern_of(pattern, "netbird.json"), None, "{pattern}");
        }
        assert_eq!(pattern_of("*.md;net/*", "net/netbird.json"), Some("net/*"));
    }
}
