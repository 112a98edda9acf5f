//! Routers of networks. Ids and the metric are not checked.

use serde_json::{Value, json};

use super::{Network, find};
use crate::netbird::api::{Call, Outcome};
use crate::netbird::groups;
use crate::netbird::refusal::{Refusal, bad, internal, missing};

#[derive(Clone)]
pub(in crate::netbird) struct Router {
    pub(in crate::netbird) network: String,
    pub(in crate::netbird) peer: String,
    pub(in crate::netbird) peer_groups: Vec<String>,
    metric: i64,
    masquerade: bool,
    enabled: bool,
}

impl Router {
    fn show(&self, id: &str) -> Value {
        json!({
            "id": id,
            "peer": self.peer,
            "peer_groups": groups::or_null(self.peer_groups.clone()),
            "metric": self.metric,
            "masquerade": self.masquerade,
            "enabled": self.enabled,
        })
    }

    pub(super) fn meta(&self, network: &Network) -> Value {
        let peer_groups = match self.peer_groups.as_slice() {
            [] => "<nil>".to_owned(),
            groups => format!("[{}]", groups.join(" ")),
        };
        json!({
            "network_name": network.name, "network_id": self.network, "peer": self.peer, "peer_groups": peer_groups,
        })
    }
}

/// In another order each time.
pub(super) fn list_all(call: &mut Call) -> Outcome {
    let mut routers: Vec<Value> = call
        .account
        .routers
        .iter()
        .map(|(id, router)| router.show(id))
        .collect();
    call.account.ids.shuffle(&mut routers);
    Ok(Value::Array(routers))
}

/// A network that is not there has no routers, and that is no error.
pub(super) fn list(call: &mut Call) -> Outcome {
    let network = call.parent();
    let routers = call
        .account
        .routers
        .iter()
        .filter(|(_, router)| router.network == network);
    Ok(routers.map(|(id, router)| router.show(id)).collect())
}

pub(super) fn get(call: &mut Call) -> Outcome {
    let (network, id) = (call.parent(), call.id());
    let router = stored(call, &id)?;
    if router.network == network {
        Ok(router.show(&id))
    } else {
        Err(internal())
    }
}

fn stored(call: &Call, id: &str) -> Result<Router, Refusal> {
    let router = call.account.routers.get(id).cloned();
    router.ok_or_else(|| {
        missing(format!(
            "failed to get network router: network router: {id} not found"
        ))
    })
}

/// Stored as enabled, whatever was sent.
pub(super) fn post(call: &mut Call) -> Outcome {
    let router = Router {
        enabled: true,
        ..read(call)?
    };
    let network = find(call, &router.network)?;
    let id = call.account.new_id();
    call.record("network.router.create", &id, router.meta(&network));
    let answer = router.show(&id);
    call.account.routers.insert(&id, router);
    Ok(answer)
}

pub(super) fn put(call: &mut Call) -> Outcome {
    let (id, router) = (call.id(), read(call)?);
    let network = check_network(call, &id, "update")?;
    call.record("network.router.update", &id, router.meta(&network));
    let answer = router.show(&id);
    if let Some(stored) = call.account.routers.get_mut(&id) {
        *stored = router;
    }
    Ok(answer)
}

pub(super) fn delete(call: &mut Call) -> Outcome {
    let id = call.id();
    let network = check_network(call, &id, "delete")?;
    if let Some(router) = call.account.routers.remove(&id) {
        call.record("network.router.delete", &id, router.meta(&network));
    }
    Ok(json!({}))
}

/// Sees that the router of the path is one of the network of the path.
fn check_network(call: &Call, id: &str, verb: &str) -> Result<Network, Refusal> {
    let network = call.parent();
    if stored(call, id)?.network != network {
        return Err(bad(format!(
            "failed to {verb} network router: router {id} is not part of the network {network}"
        )));
    }
    find(call, &network)
}

/// Emptiness is tested here, not presence.
fn read(call: &Call) -> Result<Router, Refusal> {
    let body = call.body()?;
    let router = Router {
        network: call.parent(),
        peer: body.text("peer")?,
        peer_groups: body.texts("peer_groups")?,
        metric: body.number("metric")?,
        masquerade: body.flag("masquerade")?,
        enabled: body.flag("enabled")?,
    };
    match (router.peer.is_empty(), router.peer_groups.is_empty()) {
        (false, false) => Err(bad("peer and peer_groups cannot be set at the same time")),
        (true, true) => Err(bad("either peer or peer_groups must be provided")),
        _ => Ok(router),
    }
}
