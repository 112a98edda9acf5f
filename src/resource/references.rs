//! What of an object refers to groups, apart from the rest of it.

use super::{NameserverGroup, Policy, Resource, Route, SetupKey, keep};

impl Resource {
    /// Returns the object with nothing said but its references, and what no request can leave out.
    pub fn references_alone(&self) -> Resource {
        match self {
            Resource::Policy(policy) => Resource::Policy(Policy {
                description: None,
                enabled: None,
                action: None,
                bidirectional: None,
                protocol: None,
                ports: None,
                ..policy.clone()
            }),
            Resource::Route(route) => Resource::Route(Route {
                description: None,
                metric: None,
                masquerade: None,
                keep_route: None,
                skip_auto_apply: None,
                enabled: None,
                ..route.clone()
            }),
            Resource::NameserverGroup(group) => Resource::NameserverGroup(NameserverGroup {
                description: None,
                search_domains_enabled: None,
                enabled: None,
                ..group.clone()
            }),
            Resource::SetupKey(key) => Resource::SetupKey(SetupKey {
                usage_limit: None,
                ephemeral: None,
                allow_extra_dns_labels: None,
                ..key.clone()
            }),
            Resource::Group(_) | Resource::Peer(_) => self.clone(),
        }
    }

    /// Returns the object with the live one's references where it says none of its own.
    pub fn with_references_of(&self, live: &Resource) -> Resource {
        let mut after = self.clone();
        match (&mut after, live) {
            (Resource::Route(after), Resource::Route(live)) => {
                keep(&mut after.groups, &live.groups);
                keep(
                    &mut after.access_control_groups,
                    &live.access_control_groups,
                );
            }
            (Resource::SetupKey(after), Resource::SetupKey(live)) => {
                keep(&mut after.auto_groups, &live.auto_groups);
            }
            _ => {}
        }
        after
    }
}
