//! What the workflows need of a repository's settings: secrets, variables, who may write, the rule of a branch. All of it
//! is for the repository's owner (docs/gitea-api.md, "Settings of a repository").

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;

use super::{Error, Repo, Token, decode, encode, encode_path, or_default};
use crate::http::Method;

/// What is known of a repository before its settings are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounds {
    /// Its default branch.
    pub default_branch: String,
    /// May the token's user change its settings, where the server tells?
    pub is_admin: Option<bool>,
    /// Are Actions switched off?
    pub has_no_actions: bool,
    /// Is it archived or a mirror?
    pub is_frozen: bool,
    /// May everybody read it?
    pub is_public: bool,
}

/// A rule of branches, as far as it says who may push.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BranchRule {
    /// Its name: a branch or a pattern.
    #[serde(deserialize_with = "or_default")]
    pub rule_name: String,
    /// May anybody push?
    #[serde(deserialize_with = "or_default")]
    pub enable_push: bool,
    /// Only those of the list?
    #[serde(deserialize_with = "or_default")]
    pub enable_push_whitelist: bool,
    /// The list's users.
    #[serde(deserialize_with = "or_default")]
    pub push_whitelist_usernames: Vec<String>,
    /// Teams whose members may, too.
    #[serde(deserialize_with = "or_default")]
    pub push_whitelist_teams: Vec<String>,
    /// Patterns of files that everybody with write access may push.
    #[serde(deserialize_with = "or_default")]
    pub unprotected_file_patterns: String,
}

impl Repo {
    /// Returns what the repository itself says.
    pub fn grounds(&self) -> Result<Grounds, Error> {
        #[derive(Deserialize)]
        struct Repository {
            default_branch: String,
            #[serde(default)]
            archived: bool,
            #[serde(default)]
            mirror: bool,
            #[serde(default)]
            private: bool,
            #[serde(default)]
            internal: bool,
            has_actions: Option<bool>,
            permissions: Option<Permissions>,
        }
        #[derive(Deserialize)]
        struct Permissions {
            admin: Option<bool>,
        }
        let reply = self.send(Method::Get, "", None)?;
        let found: Repository = decode(&reply, "a repository")?;
        Ok(Grounds {
            default_branch: found.default_branch,
            is_admin: found.permissions.and_then(|may| may.admin),
            has_no_actions: found.has_actions == Some(false),
            is_frozen: found.archived || found.mirror,
            is_public: !found.private && !found.internal,
        })
    }

    /// Returns the names of the secrets, which is all that anybody may read of them.
    pub fn secret_names(&self) -> Result<BTreeSet<String>, Error> {
        #[derive(Deserialize)]
        struct Secret {
            name: String,
        }
        let secrets: Vec<Secret> = self.list("/actions/secrets", "a list of secrets", |_| false)?;
        Ok(secrets.into_iter().map(|secret| secret.name).collect())
    }

    /// Stores a secret. One of that name would be replaced.
    pub fn set_secret(&self, name: &str, value: &Token) -> Result<(), Error> {
        let path = format!("/actions/secrets/{}", encode(name));
        let body = json!({ "data": value.expose() });
        self.send(Method::Put, &path, Some(&body)).map(drop)
    }

    /// Returns the variables.
    pub fn variables(&self) -> Result<BTreeMap<String, String>, Error> {
        #[derive(Deserialize)]
        struct Variable {
            name: String,
            #[serde(default, deserialize_with = "or_default")]
            data: String,
        }
        let variables: Vec<Variable> =
            self.list("/actions/variables", "a list of variables", |_| false)?;
        let pairs = variables.into_iter();
        Ok(pairs.map(|one| (one.name, one.data)).collect())
    }

    /// Makes a variable. One of that name is a refusal: 409.
    pub fn add_variable(&self, name: &str, value: &str) -> Result<(), Error> {
        let path = format!("/actions/variables/{}", encode(name));
        let body = json!({ "value": value });
        self.send(Method::Post, &path, Some(&body)).map(drop)
    }

    /// Returns what a user may do in the repository: `none`, `read`, `write`, `admin` or `owner`.
    ///
    /// Errors with [`Error::NotFound`] or a refusal where there is no such user.
    pub fn permission(&self, login: &str) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Answer {
            permission: String,
        }
        let path = format!("/collaborators/{}/permission", encode(login));
        let reply = self.send(Method::Get, &path, None)?;
        let answer: Answer = decode(&reply, "a permission")?;
        Ok(answer.permission)
    }

    /// Lets a user write to the repository.
    pub fn let_write(&self, login: &str) -> Result<(), Error> {
        let path = format!("/collaborators/{}", encode(login));
        let body = json!({ "permission": "write" });
        self.send(Method::Put, &path, Some(&body)).map(drop)
    }

    /// Returns the rule of a branch: the one that the server names for it, else one of its name, which may be there before
    /// the branch is.
    pub fn branch_rule(&self, branch: &str) -> Result<Option<BranchRule>, Error> {
        #[derive(Deserialize)]
        struct Branch {
            #[serde(default, deserialize_with = "or_default")]
            effective_branch_protection_name: String,
        }
        let path = format!("/branches/{}", encode_path(branch));
        let named = match self.send(Method::Get, &path, None) {
            Ok(reply) => {
                let branch: Branch = decode(&reply, "a branch")?;
                branch.effective_branch_protection_name
            }
            Err(error) if error.is_not_found() => String::new(),
            Err(error) => return Err(error),
        };
        let reply = self.send(Method::Get, "/branch_protections", None)?;
        let rules: Vec<BranchRule> = decode(&reply, "a list of branch rules")?;
        let wanted = if named.is_empty() { branch } else { &named };
        Ok(rules.into_iter().find(|rule| rule.rule_name == wanted))
    }

    /// Makes a rule by which one user alone may push to a branch, and returns it as the server has it: from the list it leaves
    /// out, without a word, who may not write.
    pub fn protect(&self, branch: &str, login: &str) -> Result<BranchRule, Error> {
        let body = json!({
            "rule_name": branch,
            "enable_push": true,
            "enable_push_whitelist": true,
            "push_whitelist_usernames": [login],
        });
        let reply = self.send(Method::Post, "/branch_protections", Some(&body))?;
        decode(&reply, "a branch rule")
    }
}
