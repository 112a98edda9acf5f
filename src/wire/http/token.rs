//! An access token: trimmed, never shown.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use ureq::http::HeaderValue;

use crate::base::mask;

/// An access token as it came from the environment or a file. Its Debug form hides it.
#[derive(Debug, Clone)]
pub struct Token {
    secret: SecretString,
    origin: Option<Arc<str>>,
}

impl Token {
    /// Reads a token, leaving out white space around it (a pipe or a file adds a newline).
    ///
    /// From here on no text of the program repeats it. Errors when what is left cannot be a bare token; length and prefix are
    /// the server's business.
    pub fn parse(text: &str) -> Result<Token, NoToken> {
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let is_quote = |c: char| matches!(c, '"' | '\'' | '`');
        // RFC 6750, 2.1
        let is_of_tokens = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
        let first = text.split_once(char::is_whitespace).map(|(word, _)| word);
        let problem = match first.map(str::to_ascii_lowercase).as_deref() {
            _ if text.is_empty() => {
                let hint = "jobs of pull requests from forks get no secrets";
                let text = "the token is empty";
                return Err(NoToken { text, hint });
            }
            _ if text.starts_with(is_quote) || text.ends_with(is_quote) => {
                Some("the token has quotes around it")
            }
            Some("token" | "bearer" | "basic" | "authorization:") => {
                Some("the token has a scheme word (Token, Bearer) before it")
            }
            Some(_) => Some("the token has white space in it"),
            None if text.trim_end_matches('=').contains('=') => {
                Some("the token has a name and an equals sign before it")
            }
            None if !text.chars().all(is_of_tokens) => {
                Some("the token has a character in it that no token has")
            }
            None => None,
        };
        if let Some(text) = problem {
            let hint = "store the bare token, as the server showed it";
            return Err(NoToken { text, hint });
        }
        mask::remember(text);
        Ok(Token {
            secret: text.into(),
            origin: None,
        })
    }

    /// Says where it came from, as in `NETBIRD_API_TOKEN`: a server that refuses it leaves people to look there.
    pub fn from(mut self, origin: String) -> Token {
        self.origin = Some(origin.into());
        self
    }

    /// Returns the token itself, for a body in which it is handed on.
    pub fn expose(&self) -> &str {
        self.secret.expose_secret()
    }

    pub(super) fn origin(&self) -> Option<Arc<str>> {
        self.origin.clone()
    }

    /// Returns the value of the `Authorization` header: `scheme`, a space and the token.
    pub(super) fn authorization(&self, scheme: &str) -> HeaderValue {
        let text = zeroize::Zeroizing::new(format!("{scheme} {}", self.secret.expose_secret()));
        let mut value =
            HeaderValue::from_str(&text).expect("a token is visible ASCII, and so is a scheme");
        value.set_sensitive(true);
        value
    }
}

/// Returns a hint about a token that was refused, with where the token came from.
pub fn with_origin(hint: &str, origin: Option<&str>) -> String {
    match origin {
        Some(origin) => format!("{hint}\nthe token came from {origin}"),
        None => hint.to_owned(),
    }
}

/// Why a text is not a token, and what to do about it. It never holds the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoToken {
    /// What is wrong with it.
    pub text: &'static str,
    /// What to do about it.
    pub hint: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_c012() {
        for good in [
            "nbp_abc",
            "nbp_abc\n",
            " nbp_abc",
            "\tnbp_abc\r\n",
            "\u{feff}nbp_abc",
            "eyJhbGciOi.eyJzdWIi-_.c2ln/+==",
            "Token",
        ] {
            let token = Token::parse(good).unwrap();
            let trimmed = good.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            assert_eq!(
                token.authorization("Token").to_str().unwrap(),
                format!("Token {trimmed}")
            );
            assert!(!format!("{token:?}").contains("nbp"), "{token:?}");
        }
        for (bad, wanted) in [
            ("", "is empty"),
            (" \n", "is empty"),
            ("\"nbp_abc\"", "quotes around it"),
            ("'nbp_abc'", "quotes around it"),
            ("nbp_abc\"", "quotes around it"),
            ("Token nbp_abc", "scheme word"),
            ("token\tnbp_abc", "scheme word"),
            ("Bearer nbp_abc", "scheme word"),
            ("BEARER  nbp_abc", "scheme word"),
            ("Authorization: Token nbp_abc", "scheme word"),
            ("nbp_abc nbp_def", "white space in it"),
            ("nbp_\nabc", "white space in it"),
            (
                "NETBIRD_API_TOKEN=nbp_abc",
                "a name and an equals sign before it",
            ),
            ("nbp_äbc", "no token has"),
            ("nbp_\u{0}abc", "no token has"),
            ("nbp_abc,", "no token has"),
            ("{\"token\":\"nbp_abc\"}", "no token has"),
            ("nbp_abc\\n", "no token has"),
            ("***", "no token has"),
        ] {
            let error = Token::parse(bad).unwrap_err();
            assert!(error.text.contains(wanted), "{bad:?}: {error:?}");
            assert!(!format!("{error:?}").contains("abc"));
        }
    }
}
