//! Peers: enrolled machines, of which we only ever change the name (docs/netbird-api.md, "Peers").

use serde::Serialize;
use serde_json::{Value, json};

use super::values::names;
use super::{About, Descriptor, Entries, Groups, Live, Resource, Spec, Unresolved};
use crate::api::objects;
use crate::config::Outline;
use crate::entry::Entry;
use crate::sentence::Sentence;

/// A peer's part that we change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Peer {
    /// Display name; the DNS label follows it.
    pub name: String,
}

impl Spec for Peer {
    const KIND: Descriptor = Descriptor {
        label: "peer",
        plural: "peers",
        word: "peer",
        section: &["peers"],
        about: "",
        longest_name: names::MAX_CHARS,
        reserved_name: None,
        collection: "/peers",
        name_field: "name",
        can_be_renamed: false,
        has_unique_names: false,
        deletion_event: None,
        is_several: false,
        is_anywhere: false,
        fixed: &[],
        not_at_creation: &[],
        traces: &[],
        entries: Entries::Never,
        check: |_, _| {},
        outline: Outline::default,
    };

    fn read(wire: Entry, _groups: &Groups) -> Result<Live, serde_json::Error> {
        let peer: objects::Peer = wire.read()?;
        let resource = Resource::Peer(Peer {
            name: peer.name.clone(),
        });
        Ok(Live {
            id: peer.id,
            name: peer.name,
            within: None,
            resource,
            wire,
        })
    }

    /// The ssh and expiration flags go back as they came: left out they would be switched off (docs/netbird-api.md,
    /// "Peers").
    fn request(
        &self,
        _name: &str,
        live: Option<&Value>,
        _groups: &Groups,
    ) -> Result<Value, Unresolved> {
        let mut body = json!({ "name": self.name });
        for flag in [
            "ssh_enabled",
            "login_expiration_enabled",
            "inactivity_expiration_enabled",
        ] {
            body[flag] = live
                .and_then(|live| live.get(flag))
                .cloned()
                .unwrap_or(Value::Bool(false));
        }
        Ok(body)
    }

    fn summary(&self, _about: &About) -> String {
        String::new()
    }

    fn loss(&self, _about: &About) -> Sentence {
        Sentence::default().say("the machine is cut off and has to enroll anew")
    }
}
