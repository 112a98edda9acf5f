//! What the workflows need of a repository's settings: secrets, variables, who may write, the rule of a branch. All of it
//! is for the repository's owner (docs/gitea-api.md, "Settings of a repository").

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;

use super::{BranchRule, Method, Repo, Result, Token, decode, encode};

impl Repo {
    /// Returns the names of the secrets, which is all that anybody may read of them.
    pub fn secret_names(&self) -> Result<BTreeSet<String>> {
        #[derive(Deserialize)]
        struct Secret {
            name: String,
        }
        let secrets: Vec<Secret> = self.list("/actions/secrets", "a list of secrets")?;
        Ok(secrets.into_iter().map(|secret| secret.name).collect())
    }

    /// Stores a secret. One of that name would be replaced.
    pub fn set_secret(&self, name: &str, value: &Token) -> Result<()> {
        let path = format!("/actions/secrets/{}", encode(name));
        let body = json!({ "data": value.expose() });
        self.send(Method::PUT, &path, Some(&body)).map(drop)
    }

    /// Returns the variables.
    pub fn variables(&self) -> Result<BTreeMap<String, String>> {
        #[derive(Deserialize)]
        struct Variable {
            name: String,
            #[serde(default)]
            data: String,
        }
        let variables: Vec<Variable> = self.list("/actions/variables", "a list of variables")?;
        let pairs = variables.into_iter();
        Ok(pairs.map(|one| (one.name, one.data)).collect())
    }

    /// Makes a variable. One of that name is a refusal: 409.
    pub fn add_variable(&self, name: &str, value: &str) -> Result<()> {
        let path = format!("/actions/variables/{}", encode(name));
        let body = json!({ "value": value });
        self.send(Method::POST, &path, Some(&body)).map(drop)
    }

    /// Returns what a user may do in the repository: `none`, `read`, `write`, `admin` or `owner`.
    ///
    /// Errors where there is no such user.
    pub fn permission(&self, login: &str) -> Result<String> {
        #[derive(Deserialize)]
        struct Permission {
            permission: String,
        }
        let path = format!("/collaborators/{}/permission", encode(login));
        Ok(self.get::<Permission>(&path, "a permission")?.permission)
    }

    /// Lets a user write to the repository.
    pub fn let_write(&self, login: &str) -> Result<()> {
        let path = format!("/collaborators/{}", encode(login));
        let body = json!({ "permission": "write" });
        self.send(Method::PUT, &path, Some(&body)).map(drop)
    }

    /// Makes a rule by which one user alone may push to a branch, and returns it as the server has it: from the list it leaves
    /// out, without a word, who may not write.
    pub fn protect(&self, branch: &str, login: &str) -> Result<BranchRule> {
        let body = json!({
            "rule_name": branch,
            "enable_push": true,
            "enable_push_whitelist": true,
            "push_whitelist_usernames": [login],
        });
        let reply = self.send(Method::POST, "/branch_protections", Some(&body))?;
        decode(&reply, "a branch rule")
    }
}
