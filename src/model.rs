//! The words that desired and actual state share: kinds of objects, addresses, changes, and what is said of them, as data and in words.
//!
//! Pure. Where state comes from and what becomes of it is for `account`, `check` and `plan`.

pub mod address;
pub mod change;
pub(crate) mod desired;
mod facts;
pub(crate) mod held;
pub(crate) mod hint;
pub mod kind;
pub(crate) mod label;
pub(crate) mod let_go;
pub(crate) mod notice;
pub(crate) mod origin;
pub mod problem;
pub(crate) mod reason;

pub use address::{Address, Who};
pub use change::{Change, Operation};
pub(crate) use desired::Desired;
use facts::facts;
pub(crate) use held::{Held, Why};
pub use kind::{
    ALL, About, AccountSettings, Action, Descriptor, DnsRecord, FieldChange, Group, Groups,
    KeyType, Kind, Live, Moved, Moves, Nameserver, NameserverGroup, Peer, PeerRef, Policy,
    PortRange, Protocol, Reach, Referred, Refers, Resource, Role, Route, SetupKey, TEMPORARY,
    Target, Unique, Unresolved, User, differences,
};
pub(crate) use kind::{Answers, EXPIRY, InFile, NameOf};
pub(crate) use label::{label_of, plain_label};
pub(crate) use let_go::{LeftBy, LetGo, LetGoWhy};
pub(crate) use notice::{
    Cut, Dead, Gone, Logins, Machine, Meanwhile, Notice, OfAgreement, OfInventory, OfKey, OfMember,
    OfMerge, OfObject, OfPeer, OfRun, OfUser, Open, PeerStays, Remark, Stays, UNTOLD, Users,
    WayOut, Whose,
};
pub(crate) use origin::{Cause, Origin};
pub use problem::{Impossible, Problem, Protection};
pub(crate) use reason::{Guess, Reason};
