//! Users. Their tokens are left to `tokens`.

mod tokens;

use serde_json::{Value, json};

use super::account::Account;
use super::api::{Call, Outcome, Route, open, route};
use super::auth::{self, Module, Right};
use super::groups::ALL;
use super::peers;
use super::refusal::{Refusal, bad, denied, forbidden, invalid, missing};
use crate::clock::NEVER;
pub(super) use tokens::Token;

pub(super) const ROUTES: &[Route] = &[
    open("GET", "/users", Right::ByHandler, list),
    route("POST", "/users", Module::Users, post),
    open("GET", "/users/current", Right::ByHandler, current),
    route("PUT", "/users/*", Module::Users, put),
    route("DELETE", "/users/*", Module::Users, delete),
    open("GET", "/users/*/tokens", Right::ByHandler, tokens::list),
    open("POST", "/users/*/tokens", Right::ByHandler, tokens::post),
    open("GET", "/users/*/tokens/*", Right::ByHandler, tokens::get),
    open(
        "DELETE",
        "/users/*/tokens/*",
        Right::ByHandler,
        tokens::delete,
    ),
];

const ROLES: [&str; 6] = [
    "owner",
    "admin",
    "network_admin",
    "auditor",
    "billing_admin",
    "user",
];

#[derive(Clone)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) role: String,
    pub(super) is_service: bool,
    pub(super) is_blocked: bool,
    pub(super) auto_groups: Vec<String>,
    /// The identity provider that a person comes by.
    pub(super) idp: String,
    pub(super) is_pending: bool,
}

impl User {
    pub(super) fn person(name: &str, email: &str, role: &str) -> User {
        User {
            name: name.to_owned(),
            email: email.to_owned(),
            role: role.to_owned(),
            is_service: false,
            is_blocked: false,
            auto_groups: Vec::new(),
            idp: "local".to_owned(),
            is_pending: false,
        }
    }

    pub(super) fn service(name: &str, role: &str) -> User {
        User {
            is_service: true,
            ..User::person(name, "", role)
        }
    }

    fn show(&self, id: &str, caller: &str) -> Value {
        let mut shown = json!({
            "id": id,
            "name": self.name,
            "email": self.email,
            "role": self.role,
            "status": if self.is_blocked { "blocked" } else { "active" },
            "last_login": NEVER,
            "auto_groups": self.auto_groups,
            "is_current": id == caller,
            "is_service_user": self.is_service,
            "is_blocked": self.is_blocked,
            "issued": "api",
            "pending_approval": self.is_pending,
        });
        if !self.is_service {
            shown["idp_id"] = json!(self.idp);
        }
        shown
    }
}

/// In another order each time. Who may not read users sees one: itself.
fn list(call: &mut Call) -> Outcome {
    let wanted = match call.parameter("service_user") {
        None => None,
        Some("1" | "t" | "T" | "true" | "True" | "TRUE") => Some(true),
        Some("0" | "f" | "F" | "false" | "False" | "FALSE") => Some(false),
        Some(_) => return Err(invalid("invalid service_user query parameter")),
    };
    let (account, caller) = (&mut *call.account, call.user.as_str());
    let all = account
        .users
        .get(caller)
        .is_none_or(|user| auth::reads(user, Module::Users));
    let shown = |id: &str, user: &User| {
        (all || id == caller) && wanted.is_none_or(|wanted| wanted == user.is_service)
    };
    let users = account.users.iter().filter(|(id, user)| shown(id, user));
    let mut users: Vec<Value> = users.map(|(id, user)| user.show(id, caller)).collect();
    account.ids.shuffle(&mut users);
    Ok(Value::Array(users))
}

fn current(call: &mut Call) -> Outcome {
    match call.account.users.get(&call.user) {
        Some(user) if !user.is_service => Ok(user.show(&call.user, &call.user)),
        _ => Err(denied()),
    }
}

fn post(call: &mut Call) -> Outcome {
    let body = call.body()?;
    let user = User {
        is_service: body.flag("is_service_user")?,
        auto_groups: body.texts("auto_groups")?,
        ..User::person(
            &body.text("name")?,
            &body.text("email")?,
            &body.text("role")?,
        )
    };
    check_role(&user)?;
    let id = call.account.add_user(user.clone());
    let code = if user.is_service {
        "service.user.create"
    } else {
        "user.invite"
    };
    call.record(code, &id, json!({"name": user.name}));
    Ok(user.show(&id, &call.user))
}

fn check_role(user: &User) -> Result<(), Refusal> {
    if !ROLES.contains(&user.role.as_str()) {
        return Err(invalid(format!("invalid user role {}", user.role)));
    }
    if user.is_service && user.role == "owner" {
        return Err(invalid("can't create a service user with owner role"));
    }
    Ok(())
}

/// Of a person: nobody's own role or block, nobody's ownership, no group that is not there; what is left out of `is_blocked` lets
/// the person in.
fn put(call: &mut Call) -> Outcome {
    let (body, id) = (call.body()?, call.id());
    if body.optional_texts("auto_groups")?.is_none() {
        return Err(bad("auto_groups is required"));
    }
    let before = call
        .account
        .users
        .get(&id)
        .cloned()
        .ok_or_else(|| not_found(&id))?;
    let user = User {
        role: body.text("role")?.to_lowercase(),
        is_blocked: body.flag("is_blocked")?,
        auto_groups: body.texts("auto_groups")?,
        ..before.clone()
    };
    check_role(&user)?;
    let is_other = before.role != user.role || before.is_blocked != user.is_blocked;
    if is_other && id == call.user {
        return Err(forbidden(
            "admins can't change their own role or block themselves",
        ));
    }
    if is_other && before.role == "owner" {
        return Err(forbidden("the owner of the account can't be changed"));
    }
    if user.role == "owner" && before.role != "owner" {
        return Err(forbidden("only the owner of the account can hand it over"));
    }
    for group in &user.auto_groups {
        match call.account.groups.get(group) {
            Some(known) if known.name != ALL => {}
            _ => {
                return Err(invalid(format!(
                    "provided group ID {group} in the user auto groups is not valid"
                )));
            }
        }
    }
    if before.is_blocked != user.is_blocked {
        call.record(
            if user.is_blocked {
                "user.block"
            } else {
                "user.unblock"
            },
            &id,
            json!({}),
        );
    }
    if before.role != user.role {
        call.record("user.role.update", &id, json!({"role": user.role}));
    }
    if let Some(stored) = call.account.users.get_mut(&id) {
        *stored = user.clone();
    }
    follow(call.account, &id, &before, &user);
    Ok(user.show(&id, &call.user))
}

/// The machines of all people join the groups of theirs that they are not in.
pub(super) fn all_join(account: &mut Account) {
    let people = account.users.iter();
    let people = people.map(|(id, user)| (id.to_owned(), user.clone()));
    let people: Vec<(String, User)> = people.collect();
    for (id, user) in people {
        let before = User {
            auto_groups: Vec::new(),
            ..user.clone()
        };
        follow(account, &id, &before, &user);
    }
}

/// The machines of a person follow the person's groups, out of those that they were put into by hand, too.
fn follow(account: &mut Account, id: &str, before: &User, after: &User) {
    if !account.settings.propagates() {
        return;
    }
    let machines = account.peers.iter().filter(|(_, peer)| peer.user == id);
    let machines: Vec<String> = machines.map(|(peer, _)| peer.to_owned()).collect();
    for group in before
        .auto_groups
        .iter()
        .filter(|group| !after.auto_groups.contains(group))
    {
        if let Some(group) = account.groups.get_mut(group) {
            group.peers.retain(|peer| !machines.contains(peer));
        }
    }
    for group in after
        .auto_groups
        .iter()
        .filter(|group| !before.auto_groups.contains(group))
    {
        if let Some(group) = account.groups.get_mut(group) {
            group.peers.extend(machines.iter().cloned());
            group.peers.sort();
            group.peers.dedup();
        }
    }
}

fn not_found(id: &str) -> Refusal {
    missing(format!("user: {id} not found"))
}

/// The tokens and the peers of a user go with it.
fn delete(call: &mut Call) -> Outcome {
    let (id, initiator) = (call.id(), call.user.clone());
    let user = call
        .account
        .users
        .remove(&id)
        .ok_or_else(|| not_found(&id))?;
    call.account
        .tokens
        .remove_where(|_, token| token.user == id);
    let of_user = call
        .account
        .peers
        .iter()
        .filter(|(_, peer)| peer.user == id);
    for peer in of_user.map(|(peer, _)| peer.to_owned()).collect::<Vec<_>>() {
        peers::remove(call.account, &peer, &initiator)?;
    }
    let code = if user.is_service {
        "service.user.delete"
    } else {
        "user.delete"
    };
    call.record(code, &id, json!({"name": user.name}));
    Ok(json!({}))
}
