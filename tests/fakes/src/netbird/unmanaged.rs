//! What the program manages nothing of: identity providers and the reverse proxy. Tests put entries in; of the server's rules
//! there are those that stand in the way of deletions (docs/netbird-api.md, "What keeps an object").

use serde_json::{Value, json};

use super::account::Account;
use super::api::{Call, Route, route};
use super::auth::Module;
use super::refusal::{Refusal, unmet};

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/identity-providers", Module::Users, |call| {
        Ok(list(call, "/identity-providers"))
    }),
    route(
        "GET",
        "/reverse-proxies/services",
        Module::ReverseProxy,
        |call| Ok(list(call, "/reverse-proxies/services")),
    ),
    route(
        "GET",
        "/reverse-proxies/domains",
        Module::ReverseProxy,
        |call| Ok(list(call, "/reverse-proxies/domains")),
    ),
];

fn list(call: &Call, path: &str) -> Value {
    let of_path = call.account.unmanaged.iter();
    of_path
        .filter(|(at, _)| at == path)
        .map(|(_, entry)| entry.clone())
        .collect()
}

/// Stores an entry of such a list, and returns its id.
pub(super) fn add(account: &mut Account, path: &str, mut entry: Value) -> String {
    let id = account.new_id();
    entry["id"] = json!(id);
    account.unmanaged.push((path.to_owned(), entry));
    id
}

/// Refuses where a service of the reverse proxy has that peer or network resource as a target.
pub(super) fn check_targets(account: &Account, what: &str, id: &str) -> Result<(), Refusal> {
    let targets = |entry: &Value| {
        let targets = entry["targets"].as_array().into_iter().flatten();
        targets.clone().any(|target| target["target_id"] == id)
    };
    match account.unmanaged.iter().find(|(_, entry)| targets(entry)) {
        Some((_, service)) => {
            let service = service["id"].as_str().unwrap_or_default();
            Err(unmet(format!("{what} {id} is in use by proxy {service}")))
        }
        None => Ok(()),
    }
}
