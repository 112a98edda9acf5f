//! Personal access tokens.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clock;
use crate::netbird::account::Account;
use crate::netbird::api::{Call, Outcome};
use crate::netbird::refusal::{Refusal, denied, invalid, missing};

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

#[derive(Clone)]
pub(in crate::netbird) struct Token {
    pub(in crate::netbird) plain: String,
    /// Id of the user that it speaks for.
    pub(in crate::netbird) user: String,
    name: String,
    created_at: Timestamp,
    created_by: String,
    pub(in crate::netbird) expires: Timestamp,
    pub(in crate::netbird) last_used: Option<Timestamp>,
}

impl Token {
    fn show(&self, id: &str) -> Value {
        let mut shown = json!({
            "id": id,
            "name": self.name,
            "created_at": clock::show(self.created_at),
            "created_by": self.created_by,
            "expiration_date": clock::show(self.expires),
        });
        if let Some(time) = self.last_used {
            shown["last_used"] = json!(clock::show(time));
        }
        shown
    }
}

impl Account {
    /// Makes a token, and returns its id and the token itself.
    pub(in crate::netbird) fn add_token(
        &mut self,
        user: &str,
        name: &str,
        days: i64,
        by: &str,
    ) -> (String, String) {
        let (created_at, id, plain) = (self.now(), self.new_id(), self.ids.token());
        let life = i128::from(days * SECONDS_PER_DAY) * 1_000_000_000;
        self.secrets.push(plain.clone());
        self.tokens.insert(
            &id,
            Token {
                plain: plain.clone(),
                user: user.to_owned(),
                name: name.to_owned(),
                created_at,
                created_by: by.to_owned(),
                expires: clock::timestamp(created_at.as_nanosecond() + life),
                last_used: None,
            },
        );
        (id, plain)
    }
}

/// Sees that the caller may deal with the tokens of this user: its own, or as an admin those of
/// service users.
fn check_owner(call: &Call, owner: &str) -> Result<(), Refusal> {
    let is_service = call
        .account
        .users
        .get(owner)
        .is_some_and(|user| user.is_service);
    let is_admin = call
        .account
        .users
        .get(&call.user)
        .is_some_and(|user| ["owner", "admin"].contains(&user.role.as_str()));
    if call.user == owner || is_admin && is_service {
        Ok(())
    } else {
        Err(denied())
    }
}

pub(super) fn list(call: &mut Call) -> Outcome {
    let owner = call.parent();
    check_owner(call, &owner)?;
    let tokens = call
        .account
        .tokens
        .iter()
        .filter(|(_, token)| token.user == owner);
    let tokens: Vec<Value> = tokens.map(|(id, token)| token.show(id)).collect();
    Ok(if tokens.is_empty() {
        Value::Null
    } else {
        Value::Array(tokens)
    })
}

pub(super) fn get(call: &mut Call) -> Outcome {
    let (owner, id) = (call.parent(), call.id());
    check_owner(call, &owner)?;
    let token = call
        .account
        .tokens
        .get(&id)
        .filter(|token| token.user == owner);
    Ok(token.ok_or_else(|| not_found(&id))?.show(&id))
}

fn not_found(id: &str) -> Refusal {
    missing(format!("pat: {id} not found"))
}

pub(super) fn post(call: &mut Call) -> Outcome {
    let (body, owner) = (call.body()?, call.parent());
    let (name, days) = (body.text("name")?, body.number("expires_in")?);
    check_owner(call, &owner)?;
    check_writer(call)?;
    let user = call.account.users.get(&owner).cloned().ok_or_else(denied)?;
    if name.is_empty() {
        return Err(invalid("name can't be empty"));
    }
    if !(1..=365).contains(&days) {
        return Err(invalid("expiration has to be between 1 and 365"));
    }
    let (id, plain) = call.account.add_token(&owner, &name, days, &call.user);
    let meta = json!({"name": name, "is_service_user": user.is_service.to_string(), "user_name": user.name});
    call.record("personal.access.token.create", &owner, meta);
    let shown = call.account.tokens.get(&id).map(|token| token.show(&id));
    Ok(json!({"plain_token": plain, "personal_access_token": shown}))
}

/// Of those who may read their own tokens, not all may make or delete them.
fn check_writer(call: &Call) -> Result<(), Refusal> {
    let role = call
        .account
        .users
        .get(&call.user)
        .map_or("", |user| &user.role);
    if ["owner", "admin", "network_admin"].contains(&role) {
        Ok(())
    } else {
        Err(denied())
    }
}

pub(super) fn delete(call: &mut Call) -> Outcome {
    let (owner, id) = (call.parent(), call.id());
    check_owner(call, &owner)?;
    check_writer(call)?;
    let token = call.account.tokens.get(&id);
    token
        .filter(|token| token.user == owner)
        .ok_or_else(|| not_found(&id))?;
    let name = call.account.tokens.remove(&id).map(|token| token.name);
    call.record(
        "personal.access.token.delete",
        &owner,
        json!({"name": name}),
    );
    Ok(json!({}))
}
