//! What each kind of object is, in the form in which desired and actual state are compared.

mod nameserver_group;
mod policy;
mod route;

pub use nameserver_group::{Nameserver, NameserverGroup};
pub use policy::{Action, Policy, PortRange, Protocol};
pub use route::Route;
