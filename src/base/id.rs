//! Ids of the server, and the creation time in them.

use std::fmt;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

/// The server's name of an object; opaque, but for the creation time in it. It is kept in place, without an allocation of its
/// own: an account has as many as members of groups.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(pub CompactString);

impl Id {
    /// Returns the second in which the object was made, since 1970, or `None` where the id does not tell.
    ///
    /// NetBird's ids are xids: 20 characters of base32hex in lower case, of which the first 32 bits are the server's
    /// clock at creation (docs/netbird-api.md, "Ids"). Old keys and users have ids of another form.
    pub fn created_at(&self) -> Option<i64> {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'v');
        let is_xid = self.0.len() == 20 && self.0.bytes().all(is_digit);
        let digits = self.0.chars().map_while(|char| char.to_digit(32));
        let bits = digits
            .take(7)
            .fold(0, |bits, digit| bits << 5 | i64::from(digit));
        is_xid.then_some(bits >> 3)
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Id(text.into())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_xid_tells_its_creation_second() {
        // recordings/netbird/setup-key-created.json, made at 2026-11-27T23:02:47Z
        assert_eq!(
            Id("dc50o5tqmd2prpcba33g".into()).created_at(),
            Some(1_795_820_567)
        );
        assert_eq!(
            Id("1802457731".into()).created_at(),
            None,
            "an old numeric key id"
        );
        assert_eq!(
            Id("0b90e3c5-4689-429c-a1d0-c225297514bf".into()).created_at(),
            None,
            "a service user"
        );
        assert_eq!(
            Id("xxxxxxxxxxxxxxxxxxxx".into()).created_at(),
            None,
            "x is not a digit of base32hex"
        );
    }
}
