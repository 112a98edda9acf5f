//! What a token may do, as far as the server tells it without being asked to do it (docs/gitea-api.md, "Branch rules",
//! "Token scopes").

use serde::Deserialize;

use super::rule::Rule;
use super::{Error, Repo, Scopes, decode, encode_path, or_default};
use crate::http::Method;

/// What is told of a branch to everybody who may read it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Branch {
    /// Whether a rule covers it.
    #[serde(default, deserialize_with = "or_default")]
    pub protected: bool,
    /// Whether the token's user may push to it. Does not know of file patterns.
    pub user_can_push: Option<bool>,
    /// How many approvals a pull request needs.
    #[serde(default, deserialize_with = "or_default")]
    pub required_approvals: u64,
    /// The name of its rule; empty for those who may not read rules.
    #[serde(
        default,
        rename = "effective_branch_protection_name",
        deserialize_with = "or_default"
    )]
    pub rule: String,
}

impl Repo {
    /// Returns what is told of a branch.
    pub fn branch(&self, name: &str) -> Result<Branch, Error> {
        let path = format!("/branches/{}", encode_path(name));
        decode(&self.send(Method::Get, &path, None)?, "a branch")
    }

    /// Returns the rule that covers a branch; `None` where none of that name is listed. Only administrators may ask.
    pub fn rule(&self, branch: &str, told: &Branch) -> Result<Option<Rule>, Error> {
        let reply = self.send(Method::Get, "/branch_protections", None)?;
        let mut rules: Vec<Rule> = decode(&reply, "a list of branch rules")?;
        let named = |name: &str| rules.iter().position(|rule| rule.rule_name == name);
        let found = named(&told.rule).or_else(|| named(branch));
        Ok(found.map(|at| rules.swap_remove(at)))
    }

    /// Asks for comments: those of a pull request, or of the repository. What they say is not looked at.
    pub fn reads_comments(&self, pull: Option<u64>) -> Result<(), Error> {
        let path = match pull {
            Some(number) => format!("/issues/{number}/comments"),
            None => "/issues/comments?limit=1".to_owned(),
        };
        self.send(Method::Get, &path, None).map(drop)
    }

    /// Returns the scopes of the token: the refusal of what no bot's token covers names them.
    pub fn scopes(&self) -> Result<Scopes, Error> {
        match self.ok(Method::Get, "/admin/cron?limit=1", None) {
            Err(Error::Scope { answer, .. }) => Ok(Scopes::in_refusal(&answer.message)),
            Ok(_) | Err(Error::Forbidden(_)) => Ok(Scopes::All),
            Err(error) => Err(error),
        }
    }
}
