//! Branch rules: who may push what to which branch.

use serde_json::{Value, json};

use super::api::{Call, Outcome, done, ok};
use super::auth::{self, Caller, Level, Unit};
use super::forge::{Forge, Repo};
use super::refusal::{Refusal, forbidden, invalid, json_response, missing};
use crate::body::Body;

/// The rule of the branches that a pattern matches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) name: String,
    enable_push: bool,
    /// Logins; none where everybody who may write may push.
    whitelist: Option<Vec<String>>,
    protected: Vec<String>,
    unprotected: Vec<String>,
    signed: bool,
    pub(super) approvals: i64,
    /// The fields as they were sent, which is how they are shown.
    fields: Value,
}

impl Rule {
    /// Reads a rule. The name may be left out where it is known.
    pub(super) fn read(forge: &Forge, body: &Body, name: &str) -> Result<Rule, Refusal> {
        let names = body.texts("push_whitelist_usernames")?;
        // The user behind job tokens is none that a list could hold.
        let unknown = names.iter().find(|name| {
            let user = forge.user_named(name);
            user.is_none_or(|user| user.id < 0)
        });
        if let Some(name) = unknown {
            let message = format!("user does not exist [uid: 0, name: {name}]");
            return Err(invalid(message));
        }
        let patterns = |field| -> Result<Vec<String>, Refusal> {
            let text = body.text(field)?.to_lowercase();
            let patterns = text.split(';').map(str::trim);
            Ok(patterns
                .filter(|pattern| !pattern.is_empty())
                .map(str::to_owned)
                .collect())
        };
        let given = [body.text("rule_name")?, body.text("branch_name")?];
        let mut given = given.into_iter().filter(|name| !name.is_empty());
        let name = given.next().unwrap_or_else(|| name.to_owned());
        let mut fields = Value::Object(body.entries().clone());
        fields["rule_name"] = json!(name);
        Ok(Rule {
            name,
            enable_push: body.flag("enable_push")?,
            whitelist: body.flag("enable_push_whitelist")?.then_some(names),
            protected: patterns("protected_file_patterns")?,
            unprotected: patterns("unprotected_file_patterns")?,
            signed: body.flag("require_signed_commits")?,
            approvals: body.number("required_approvals")?,
            fields,
        })
    }

    /// The server takes into the push list only who may write, and says nothing of the others.
    fn leave_out_who_may_not_write(&mut self, forge: &Forge, repo: &Repo) {
        let Some(names) = &mut self.whitelist else {
            return;
        };
        names.retain(|name| {
            let user = forge.user_named(name).map(|user| user.id);
            let level = user.map(|id| auth::level(forge, &Caller::user(id), repo, Unit::Code));
            level >= Some(Level::Write)
        });
        self.fields["push_whitelist_usernames"] = json!(names);
    }

    /// Whether a caller who may write may push to these branches, whatever it is.
    pub(super) fn lets_push(&self, forge: &Forge, caller: &Caller) -> bool {
        let login = forge.login(caller.user);
        let listed = self.whitelist.as_ref().is_none_or(|names| {
            let mut names = names.iter();
            names.any(|name| name.eq_ignore_ascii_case(login))
        });
        self.enable_push && listed && caller.job.is_none()
    }

    /// Sees that a caller may commit changes of these paths.
    pub(super) fn allow(
        &self,
        forge: &Forge,
        caller: &Caller,
        paths: &[String],
    ) -> Result<(), Refusal> {
        let refused = || {
            let message = format!(
                "user cannot commit to repo [user: {}]",
                forge.login(caller.user)
            );
            forbidden(message)
        };
        let matching = |patterns: &[String], path: &str| {
            let path = path.to_lowercase();
            patterns.iter().any(|pattern| is_match(pattern, &path))
        };
        if caller.job.is_some() {
            let patterns = !self.protected.is_empty() || !self.unprotected.is_empty();
            let hidden = forbidden("Internal Server Error (no message for end users)");
            return Err(forge.flavour.pick(
                if patterns { hidden } else { refused() },
                if patterns {
                    Refusal::Hidden(String::new())
                } else {
                    refused()
                },
            ));
        }
        let every_one_free = paths.iter().all(|path| matching(&self.unprotected, path));
        if !self.lets_push(forge, caller) && !every_one_free || self.signed {
            return Err(refused());
        }
        match paths.iter().find(|path| matching(&self.protected, path)) {
            Some(path) => Err(forbidden(format!(
                "path is protected and can not be changed [path: {path}]"
            ))),
            None => Ok(()),
        }
    }
}

impl Repo {
    /// Returns the rule of a branch; one of its very name before one with a pattern.
    pub(super) fn rule(&self, branch: &str) -> Option<&Rule> {
        let exact = self.rules.iter().find(|rule| rule.name == branch);
        exact.or_else(|| self.rules.iter().find(|rule| is_match(&rule.name, branch)))
    }

    /// Adds a rule, in the place of one of the same name.
    pub(super) fn protect(&mut self, rule: Rule) {
        self.rules.retain(|other| other.name != rule.name);
        self.rules.push(rule);
    }
}

/// Whether a text is as a pattern says: `*` is anything but slashes, `**` anything, `?` one letter.
fn is_match(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return text.is_empty();
    };
    let mut letters = text.chars();
    if let Some(rest) = pattern.strip_prefix("**") {
        return is_match(rest, text)
            || letters.next().is_some() && is_match(pattern, letters.as_str());
    }
    let rest = &pattern[first.len_utf8()..];
    match (first, letters.next()) {
        ('*', Some(letter)) if letter != '/' => {
            is_match(rest, text) || is_match(pattern, letters.as_str())
        }
        ('*', _) => is_match(rest, text),
        ('?', Some(letter)) => letter != '/' && is_match(rest, letters.as_str()),
        (wanted, Some(letter)) => wanted == letter && is_match(rest, letters.as_str()),
        (_, None) => false,
    }
}

/// `GET …/branch_protections`.
pub(super) fn list(call: &Call) -> Outcome {
    call.require_admin()?;
    let forge = call.forge();
    let rules = forge.repo(call.repo).rules.iter();
    Ok(ok(&rules.map(|rule| rule.fields.clone()).collect()))
}

/// `POST …/branch_protections`.
pub(super) fn create(call: &Call) -> Outcome {
    call.require_admin()?;
    let body = call.body()?;
    let mut forge = call.forge();
    let mut rule = Rule::read(&forge, &body, "")?;
    let repo = forge.repo(call.repo);
    if rule.name.is_empty() {
        let message = "both rule_name and branch_name are empty".to_owned();
        return Err(Refusal::Message(400, message));
    }
    if repo.archived {
        let message = format!("{} is archived", forge.full_name(repo));
        return Err(Refusal::Message(423, message));
    }
    if repo.rules.iter().any(|other| other.name == rule.name) {
        let message = "Branch protection already exist".to_owned();
        return Err(Refusal::Message(403, message));
    }
    rule.leave_out_who_may_not_write(&forge, repo);
    let repo = forge.repo_mut(call.repo);
    let shown = rule.fields.clone();
    repo.protect(rule);
    Ok(json_response(201, &shown))
}

/// `GET …/branch_protections/{name}`.
pub(super) fn get(call: &Call) -> Outcome {
    call.require_admin()?;
    let forge = call.forge();
    let mut rules = forge.repo(call.repo).rules.iter();
    let found = rules.find(|rule| rule.name == call.part(0));
    Ok(ok(&found.ok_or_else(missing)?.fields))
}

/// `DELETE …/branch_protections/{name}`.
pub(super) fn delete(call: &Call) -> Outcome {
    call.require_admin()?;
    let mut forge = call.forge();
    let rules = &mut forge.repo_mut(call.repo).rules;
    let before = rules.len();
    rules.retain(|rule| rule.name != call.part(0));
    if rules.len() == before {
        return Err(missing());
    }
    Ok(done())
}

#[cfg(test)]
mod tests {
    use super::is_match;

    #[test]
    fn patterns() {
        for (pattern, text) in [
            ("main", "main"),
            ("release/*", "release/1"),
            ("*.json", "netbird.json"),
            ("**.json", "a/b.json"),
            ("ma?n", "main"),
            ("*", ""),
        ] {
            assert!(is_match(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("main", "main2"),
            ("release/*", "release/1/2"),
            ("*.json", "a/b.json"),
            ("ma?n", "man"),
        ] {
            assert!(!is_match(pattern, text), "{pattern} {text}");
        }
    }
}
