//! Who speaks, and what that user may do.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::account::Account;
use super::ids;
use super::refusal::{Refusal, denied, forbidden, missing, unauthorized};
use super::users::User;

/// The parts of the API that rights are given for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Module {
    Accounts,
    Dns,
    Events,
    Groups,
    Nameservers,
    Networks,
    Peers,
    Policies,
    ReverseProxy,
    Routes,
    Settings,
    SetupKeys,
    Users,
}

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Right {
    /// To read or to write this module, after the method.
    To(Module),
    /// What the handler sees fit: a short list instead of a refusal, say.
    ByHandler,
    /// Any token, a blocked user's too.
    Token,
}

/// Returns the id of the user whose token it is. A token that nobody holds is a 404.
pub(super) fn caller(
    account: &mut Account,
    authorization: Option<&str>,
) -> Result<String, Refusal> {
    let words: Vec<&str> = authorization.unwrap_or_default().split(' ').collect();
    let token = match words[..] {
        [scheme, token] if ["token", "bearer"].contains(&scheme.to_lowercase().as_str()) => token,
        _ => return Err(unauthorized("no valid authentication provided")),
    };
    if !ids::is_token(token) {
        return Err(unauthorized("token invalid"));
    }
    let now = account.now();
    let Some(held) = account.tokens.values_mut().find(|held| held.plain == token) else {
        return Err(missing(format!(
            "invalid token: pat: {} not found",
            digest(token)
        )));
    };
    if held.expires <= now {
        return Err(unauthorized("token invalid"));
    }
    held.last_used = Some(now);
    Ok(held.user.clone())
}

/// Something of the look of a SHA-256 in base64, which is all that matters of it here.
fn digest(token: &str) -> String {
    let mut hasher = DefaultHasher::new();
    token.hash(&mut hasher);
    format!("{:043x}=", hasher.finish())
}

/// Sees that a user may make this call.
pub(super) fn allow(
    account: &Account,
    id: &str,
    right: Right,
    method: &str,
    path: &str,
) -> Result<(), Refusal> {
    if right == Right::Token {
        return Ok(());
    }
    // A user whose record is gone has no token either; those who act in process are never refused.
    let Some(user) = account.users.get(id) else {
        return Ok(());
    };
    let reading = method == "GET";
    let of_groups = reading && path == "/groups";
    if user.is_blocked {
        let prefix = if of_groups {
            ""
        } else {
            "failed to validate user permissions: "
        };
        return Err(forbidden(format!("{prefix}user is blocked")));
    }
    let Right::To(module) = right else {
        return Ok(());
    };
    if reading && user.is_service {
        return Ok(());
    }
    match (may(&user.role, module, !reading), of_groups) {
        (Some(true), _) => Ok(()),
        (Some(false), _) => Err(denied()),
        (None, true) => Err(missing(format!("user role: {} not found", user.role))),
        (None, false) => Err(forbidden(format!(
            "failed to validate user permissions: user role: {} not found",
            user.role
        ))),
    }
}

/// Whether a user sees all objects of a module, or gets a short list.
pub(super) fn reads(user: &User, module: Module) -> bool {
    user.is_service || may(&user.role, module, false) == Some(true)
}

/// The table of roles. None for a role that the table does not know.
fn may(role: &str, module: Module, writing: bool) -> Option<bool> {
    use Module::{Dns, Groups, Nameservers, Networks, Policies, Routes};
    match role {
        "owner" | "admin" => Some(true),
        // of a person (docs/netbird-api.md, "Roles")
        "network_admin" if module == Module::ReverseProxy => Some(false),
        "network_admin" => Some(
            !writing
                || matches!(
                    module,
                    Dns | Groups | Nameservers | Networks | Policies | Routes
                ),
        ),
        "auditor" => Some(!writing),
        "user" => Some(false),
        _ => None,
    }
}
