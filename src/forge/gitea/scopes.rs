//! What a token of Gitea covers, as far as the server tells (docs/gitea-api.md, "Token scopes").

use std::collections::BTreeSet;

/// The scopes of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scopes {
    /// These, by Gitea's words.
    Listed(BTreeSet<String>),
    /// All, as far as can be told.
    All,
    /// The server does not tell them.
    Untold,
}

impl Scopes {
    /// Reads them from the text with which the server refuses a token of other scopes. Forgejo names only what it wants;
    /// a list that was cut off tells nothing.
    pub fn in_refusal(message: &str) -> Scopes {
        let Some((_, list)) = message.split_once("token scope=") else {
            // a refusal of another kind: the scopes are enough
            return match message.contains("required scope") {
                true => Scopes::Untold,
                false => Scopes::All,
            };
        };
        if list.ends_with('…') {
            return Scopes::Untold;
        }
        let words = list.split(',').map(str::trim);
        let listed: BTreeSet<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        match listed.contains("all") {
            true => Scopes::All,
            false => Scopes::Listed(listed),
        }
    }

    /// Whether a token of these scopes may write that; `None` where nobody knows.
    pub fn may_write(&self, what: &str) -> Option<bool> {
        match self {
            Scopes::Listed(scopes) => Some(scopes.contains(&format!("write:{what}"))),
            Scopes::All => Some(true),
            Scopes::Untold => None,
        }
    }

    /// Whether they are for public repositories alone.
    pub fn public_only(&self) -> bool {
        matches!(self, Scopes::Listed(scopes) if scopes.contains("public-only"))
    }
}

#[cfg(test)]
mod tests {
    use super::Scopes;

    #[test]
    fn scopes_are_what_the_refusal_names() {
        let start = "token does not have at least one of required scope(s)";
        let refusal =
            format!("{start}, required=[read:admin], token scope=write:issue,write:repository");
        let scopes = Scopes::in_refusal(&refusal);
        assert_eq!(scopes.may_write("repository"), Some(true));
        assert_eq!(scopes.may_write("user"), Some(false));
        assert!(!scopes.public_only());
        let limited = Scopes::in_refusal(&format!(
            "{start}, required=[read:admin], token scope=public-only,read:issue"
        ));
        assert!(limited.public_only());
        assert_eq!(limited.may_write("issue"), Some(false));
        for untold in [
            format!("{start}: [read:admin]"),
            format!("{start}, required=[read:admin], token scope=write:issue,write:rep…"),
        ] {
            assert_eq!(Scopes::in_refusal(&untold).may_write("issue"), None);
        }
    }
}
