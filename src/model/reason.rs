//! Why a change is, as data: what decides on a reason asks for it here, and its sentence is made in `render`.

use jiff::Timestamp;

use crate::base::evidence::Evidence;
use crate::model::who::Who;

/// Why a change is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Its entry left the file.
    NoLongerDeclared {
        /// It would be let go, and somebody agreed to its deletion.
        agreed: bool,
    },
    /// The file never declared it, and `--prune all` takes such things away.
    NotDeclared,
    /// Its entry stands for another one: two runs at once made both.
    Surplus,
    /// Of equal keys of one name this one goes. Each has a secret of its own.
    SecondKey,
    /// It was deleted in NetBird.
    Lost,
    /// Somebody gave it this name.
    RenamedBack(String),
    /// This field of it cannot be changed.
    Fixed(&'static str),
    /// What it stands in is made anew.
    WithParent,
    /// `--replace` names it.
    Replace,
    /// A key goes since `--replace` names its entry.
    ReplacedByHand,
    /// A key of an older life of its entry goes.
    BeforeReissue,
    /// A key is asked for anew, at that time.
    Reissue(Timestamp),
    /// Nobody holds the key's secret. It is looked at again right before the key goes.
    NeverSealed,
    /// A replacement that was killed before its end left it.
    ReplacedBefore,
    /// What differs cannot be changed on a key.
    KeyCannotChange,
    /// Nobody used the key, and its entry is marked enrolled.
    MarkedEnrolled,
    /// A dead key would keep a group from being deleted.
    DeadKeyInTheWay,
    /// The peer came by the key whose name it gets.
    Enrolled {
        /// What tells so.
        evidence: Evidence,
        /// What is not certain about its DNS label until the server answered.
        label: Option<Guess>,
    },
    /// The peer came by a key whose entry was removed.
    KeyRemoved {
        /// The key's name.
        key: String,
        /// Whether the key existed before the file managed it.
        adopted: bool,
        /// What tells so.
        evidence: Evidence,
    },
    /// The peer came by an older key of the name, and another machine by the newer one.
    Replaced {
        /// The key's name.
        key: String,
        /// The peer of the newer one.
        by: Who,
        /// What tells so of the older one.
        evidence: Evidence,
    },
}

/// What is told of a DNS label that the server has not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// It may be another one than what is told.
    Predicted,
    /// The server makes one in punycode, which is not told.
    Punycode,
}
