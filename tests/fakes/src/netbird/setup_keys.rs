//! Setup keys. That a key makes a peer is left to `peers::enrolment`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::account::Account;
use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use super::groups::ALL;
use super::refusal::{Refusal, invalid, missing};
use crate::clock;

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/setup-keys", Module::SetupKeys, list),
    route("POST", "/setup-keys", Module::SetupKeys, post),
    route("GET", "/setup-keys/*", Module::SetupKeys, get),
    route("PUT", "/setup-keys/*", Module::SetupKeys, put),
    route("DELETE", "/setup-keys/*", Module::SetupKeys, delete),
];

#[derive(Clone)]
pub(super) struct SetupKey {
    pub(super) plain: String,
    pub(super) name: String,
    one_off: bool,
    /// None for a key that never expires.
    expires: Option<Timestamp>,
    revoked: bool,
    pub(super) used_times: i64,
    pub(super) last_used: Option<Timestamp>,
    pub(super) auto_groups: Vec<String>,
    updated_at: Timestamp,
    /// 0 and below are no limit.
    usage_limit: i64,
    pub(super) ephemeral: bool,
    allow_extra_dns_labels: bool,
}

impl SetupKey {
    /// Returns why the key enrols nobody, or `valid`. The first reason counts.
    pub(super) fn state(&self, now: Timestamp) -> &'static str {
        if self.expires.is_some_and(|expires| expires <= now) {
            "expired"
        } else if self.revoked {
            "revoked"
        } else if self.usage_limit > 0 && self.used_times >= self.usage_limit {
            "overused"
        } else {
            "valid"
        }
    }

    fn kind(&self) -> &'static str {
        if self.one_off { "one-off" } else { "reusable" }
    }

    /// What is shown of the key once it was given out.
    fn masked(&self) -> String {
        format!("{}****", &self.plain[..5])
    }

    fn show(&self, id: &str, now: Timestamp) -> Value {
        let state = self.state(now);
        json!({
            "id": id,
            "key": self.masked(),
            "name": self.name,
            "type": self.kind(),
            "expires": clock::show_or_never(self.expires),
            "valid": state == "valid",
            "revoked": self.revoked,
            "used_times": self.used_times,
            "last_used": clock::show_or_never(self.last_used),
            "state": state,
            "auto_groups": self.auto_groups,
            "updated_at": clock::show(self.updated_at),
            "usage_limit": self.usage_limit,
            "ephemeral": self.ephemeral,
            "allow_extra_dns_labels": self.allow_extra_dns_labels,
        })
    }

    /// What events say of a key.
    fn meta(&self) -> Value {
        json!({"name": self.name, "type": self.kind(), "key": self.masked()})
    }
}

fn list(call: &mut Call) -> Outcome {
    let now = call.account.now();
    Ok(call
        .account
        .setup_keys
        .iter()
        .map(|(id, key)| key.show(id, now))
        .collect())
}

fn get(call: &mut Call) -> Outcome {
    let (id, now) = (call.id(), call.account.now());
    Ok(call
        .account
        .setup_keys
        .get(&id)
        .ok_or_else(|| not_found(&id))?
        .show(&id, now))
}

fn not_found(id: &str) -> Refusal {
    missing(format!("setup key: {id} not found"))
}

fn post(call: &mut Call) -> Outcome {
    let body = call.body()?;
    let (name, kind) = (body.text("name")?, body.text("type")?);
    let (expires_in, usage_limit) = (body.number("expires_in")?, body.number("usage_limit")?);
    let (ephemeral, allow_extra_dns_labels) = (
        body.flag("ephemeral")?,
        body.flag("allow_extra_dns_labels")?,
    );
    let auto_groups = body.texts("auto_groups")?;

    if name.is_empty() {
        return Err(invalid("setup key name shouldn't be empty"));
    }
    let one_off = match kind.as_str() {
        "one-off" => true,
        "reusable" => false,
        _ => return Err(invalid(format!("unknown setup key type {kind}"))),
    };
    // Go counts durations in nanoseconds of 64 bits, which overflow.
    let life = expires_in.wrapping_mul(1_000_000_000);
    if life < 0 || expires_in < 0 {
        return Err(invalid("expiresIn can not be in the past"));
    }
    if one_off && usage_limit > 1 {
        return Err(invalid(format!(
            "usage_limit {usage_limit} is not valid for a one-off setup key, which can be used once; use type reusable \
             for a key that can be used more than once"
        )));
    }
    check_auto_groups(call.account, &auto_groups)?;

    let now = call.account.now();
    let key = SetupKey {
        plain: call.account.ids.uuid().to_uppercase(),
        name,
        one_off,
        expires: (life > 0).then(|| clock::timestamp(now.as_nanosecond() + i128::from(life))),
        revoked: false,
        used_times: 0,
        last_used: None,
        auto_groups,
        updated_at: now,
        usage_limit: if one_off { 1 } else { usage_limit },
        ephemeral,
        allow_extra_dns_labels,
    };
    let id = call.account.new_id();
    call.account.secrets.push(key.plain.clone());
    call.record("setupkey.add", &id, key.meta());
    record_groups(call, "setupkey.group.add", &id, &key, &key.auto_groups);
    let mut answer = key.show(&id, now);
    answer["key"] = json!(key.plain);
    call.account.setup_keys.insert(&id, key);
    Ok(answer)
}

fn put(call: &mut Call) -> Outcome {
    let (body, id) = (call.body()?, call.id());
    let revoked = body.flag("revoked")?;
    let auto_groups = body.optional_texts("auto_groups")?;
    let auto_groups =
        auto_groups.ok_or_else(|| invalid("setup key AutoGroups field is invalid"))?;
    check_auto_groups(call.account, &auto_groups)?;
    let now = call.account.now();
    let key = call
        .account
        .setup_keys
        .get_mut(&id)
        .ok_or_else(|| not_found(&id))?;
    if key.revoked && !revoked {
        return Err(invalid("can't un-revoke a revoked setup key"));
    }
    let before = key.clone();
    (key.revoked, key.updated_at, key.auto_groups) = (revoked, now, auto_groups);
    let key = key.clone();
    let without = |these: &[String], those: &[String]| {
        these
            .iter()
            .filter(|id| !those.contains(id))
            .cloned()
            .collect()
    };
    let added: Vec<String> = without(&key.auto_groups, &before.auto_groups);
    let removed: Vec<String> = without(&before.auto_groups, &key.auto_groups);
    if revoked && !before.revoked {
        call.record("setupkey.revoke", &id, key.meta());
    }
    record_groups(call, "setupkey.group.delete", &id, &key, &removed);
    record_groups(call, "setupkey.group.add", &id, &key, &added);
    Ok(key.show(&id, now))
}

fn delete(call: &mut Call) -> Outcome {
    let id = call.id();
    let key = call
        .account
        .setup_keys
        .remove(&id)
        .ok_or_else(|| not_found(&id))?;
    call.record("setupkey.delete", &id, key.meta());
    Ok(json!({}))
}

fn check_auto_groups(account: &Account, ids: &[String]) -> Result<(), Refusal> {
    account.check_groups(ids, |id| {
        invalid(format!("invalid auto groups: group not found: {id}"))
    })?;
    let is_all = |id: &String| {
        account
            .groups
            .get(id)
            .is_some_and(|group| group.name == ALL)
    };
    if ids.iter().any(is_all) {
        return Err(invalid(
            "invalid auto groups: can't add 'All' group to the setup key",
        ));
    }
    Ok(())
}

/// One event for each group that a key gains or loses.
fn record_groups(call: &mut Call, code: &str, id: &str, key: &SetupKey, groups: &[String]) {
    for group_id in groups {
        let group = call
            .account
            .groups
            .get(group_id)
            .map_or("", |group| &group.name);
        let meta = json!({"group": group, "group_id": group_id, "setupkey": key.name});
        call.record(code, id, meta);
    }
}
