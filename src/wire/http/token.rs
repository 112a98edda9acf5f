//! An access token: trimmed, never shown.

use std::fmt;
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
    /// From here on no text of the program repeats it. Errors when what is left cannot be a bare token: see
    /// [`TokenError`]. Length and prefix are the server's business.
    pub fn parse(text: &str) -> Result<Token, TokenError> {
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if text.starts_with(['"', '\'', '`']) || text.ends_with(['"', '\'', '`']) {
            return Err(TokenError::Quotes);
        }
        if let Some((word, _)) = text.split_once(char::is_whitespace) {
            let word = word.to_ascii_lowercase();
            return Err(match word.as_str() {
                "token" | "bearer" | "basic" | "authorization:" => TokenError::SchemeWord,
                _ => TokenError::WhiteSpace,
            });
        }
        if !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(TokenError::Character);
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
        Some(origin) => format!("{hint}; the token came from {origin}"),
        None => hint.to_owned(),
    }
}

/// Why a text is no token. It never holds the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenError {
    /// Nothing but white space: an unset secret of CI, as in a pull request from a fork.
    Empty,
    /// Quotes stand around it.
    Quotes,
    /// A word like `Token` or `Bearer` stands before it.
    SchemeWord,
    /// There is white space inside: two values, or a line that wrapped.
    WhiteSpace,
    /// A character that no header can carry.
    Character,
}

impl TokenError {
    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            TokenError::Empty => "jobs of pull requests from forks get no secrets",
            TokenError::Quotes
            | TokenError::SchemeWord
            | TokenError::WhiteSpace
            | TokenError::Character => "store the bare token, as the server showed it",
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenError::Empty => "the token is empty",
            TokenError::Quotes => "the token has quotes around it",
            TokenError::SchemeWord => "the token has a scheme word (Token, Bearer) before it",
            TokenError::WhiteSpace => "the token has white space in it",
            TokenError::Character => "the token has a character in it that no header can carry",
        })
    }
}

impl std::error::Error for TokenError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
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
            ("", TokenError::Empty),
            (" \n", TokenError::Empty),
            ("\"nbp_abc\"", TokenError::Quotes),
            ("'nbp_abc'", TokenError::Quotes),
            ("nbp_abc\"", TokenError::Quotes),
            ("Token nbp_abc", TokenError::SchemeWord),
            ("token\tnbp_abc", TokenError::SchemeWord),
            ("Bearer nbp_abc", TokenError::SchemeWord),
            ("BEARER  nbp_abc", TokenError::SchemeWord),
            ("Authorization: Token nbp_abc", TokenError::SchemeWord),
            ("nbp_abc nbp_def", TokenError::WhiteSpace),
            ("nbp_\nabc", TokenError::WhiteSpace),
            ("nbp_äbc", TokenError::Character),
            ("nbp_\u{0}abc", TokenError::Character),
        ] {
            let error = Token::parse(bad).unwrap_err();
            assert_eq!(error, wanted, "{bad:?}");
            assert!(!format!("{error} {error:?} {:?}", error.hint()).contains("abc"));
        }
    }
}
