//! Gates: what a plan must pass before the first write, as one table. A plan shows them; an apply stops at them.
//!
//! They protect against accidents that look like intent: a section lost in a merge, a wrong account, a weak token.
//! docs/gates.md has the same table for people.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::change::{Change, Operation};
use crate::plan::{Plan, deletions};
use crate::resource::Live;
use crate::state::Kind;
use crate::text::count;
use crate::wire::User;

/// Why an apply must not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The gate's name in JSON.
    pub gate: &'static str,
    /// What is refused, with the numbers.
    pub text: String,
    /// The objects that it is about, if any.
    pub names: Vec<String>,
    /// The exact way out.
    pub hint: String,
}

/// What the gates look at beside the plan.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// `--max-deletes`.
    pub max_deletes: usize,
    /// The exact numbers of deletions that somebody agreed to, and where: `--allow-deletes`, or a line
    /// `Allow-Deletes: N` in a commit's message or a pull request.
    pub allowed: BTreeMap<usize, String>,
    /// The text of `NETBIRD_GITOPS_HALT`, unless it is empty.
    pub halt: Option<String>,
    /// The token's own user, where the server tells.
    pub me: Option<User>,
    /// `--account`.
    pub account: Option<String>,
    /// Accounts that the token sees, where they were asked for.
    pub accounts: Vec<String>,
    /// Whether there is a server at all (`plan --live` has none, so nothing is known of the token).
    pub online: bool,
    /// Whether this is an apply: a plan may run with a token that only reads, and without recipients.
    pub applying: bool,
    /// How many recipients there are for new keys.
    pub recipients: usize,
}

type Gate = fn(&Plan, &Context) -> Option<Refusal>;

/// Every gate of a plan, in the order in which they are reported.
const GATES: [Gate; 7] = [
    halted,
    account,
    role,
    recipients,
    too_many_deletions,
    last_of_a_kind,
    peers,
];

/// Returns the refusals of a plan; an apply needs there to be none.
pub fn check(plan: &Plan, context: &Context) -> Vec<Refusal> {
    GATES
        .iter()
        .filter_map(|gate| gate(plan, context))
        .collect()
}

/// The kill switch stops every apply, an empty one too.
fn halted(_: &Plan, context: &Context) -> Option<Refusal> {
    let text = context.halt.as_ref()?;
    Some(Refusal {
        gate: "halt",
        text: format!("NETBIRD_GITOPS_HALT is set ({text})"),
        names: Vec::new(),
        hint: "unset NETBIRD_GITOPS_HALT once the reason is gone".into(),
    })
}

fn account(_: &Plan, context: &Context) -> Option<Refusal> {
    let wanted = context.account.as_ref()?;
    if context.accounts.contains(wanted) {
        return None;
    }
    Some(Refusal {
        gate: "account",
        text: format!(
            "the token belongs to account {}, not to {wanted}",
            context.accounts.join(", ")
        ),
        names: Vec::new(),
        hint: "check NETBIRD_API_URL and NETBIRD_API_TOKEN against --account (NETBIRD_ACCOUNT_ID)"
            .into(),
    })
}

/// What the roles may write (netbird-api.md §0.3). A person's token of a weaker role does not even see everything.
fn role(plan: &Plan, context: &Context) -> Option<Refusal> {
    if !context.online {
        return None;
    }
    let Some(me) = &context.me else { return None };
    let refusal = |text: String, names: Vec<String>| Some(weak(text, names));
    let sees_all = me.is_service_user
        || matches!(
            me.role.as_str(),
            "owner" | "admin" | "network_admin" | "auditor"
        );
    if !sees_all {
        let text = format!(
            "the token is of {}, a person of role {}: it sees a part of the account only",
            me.name, me.role
        );
        return refusal(text, Vec::new());
    }
    if !context.applying {
        return None;
    }
    let may_write = |kind: Kind| match me.role.as_str() {
        "owner" | "admin" => true,
        "network_admin" => !matches!(kind, Kind::SetupKey | Kind::Peer),
        _ => false,
    };
    let denied = plan
        .changes
        .iter()
        .filter(|change| !may_write(change.address.kind));
    let denied: Vec<String> = denied.map(|change| change.address.to_string()).collect();
    if denied.is_empty() {
        // from the role at once: the wrong secret shows before the first change that needs the right one
        return reads_only(me);
    }
    let text = format!(
        "the token's role {} cannot do {} of {} operations",
        me.role,
        denied.len(),
        plan.changes.len()
    );
    refusal(text, denied)
}

/// Refuses a token that can write nothing, where something is to be written. A role that the server does not tell is left
/// to the server.
pub fn reads_only(me: &User) -> Option<Refusal> {
    if matches!(me.role.as_str(), "owner" | "admin" | "network_admin" | "") {
        return None;
    }
    let text = format!("the token's role {} can change nothing in NetBird", me.role);
    Some(weak(text, Vec::new()))
}

fn weak(text: String, names: Vec<String>) -> Refusal {
    let hint = "make a token for a service user of role admin (of role auditor for plan) and store it as \
                NETBIRD_API_TOKEN; in the workflows that is the secret NETBIRD_APPLY_TOKEN";
    Refusal {
        gate: "role",
        text,
        names,
        hint: hint.into(),
    }
}

/// A key whose secret nobody could open would be lost.
fn recipients(plan: &Plan, context: &Context) -> Option<Refusal> {
    let names: Vec<String> = plan
        .changes
        .iter()
        .filter(|change| change.makes_key())
        .map(|change| change.address.to_string())
        .collect();
    if names.is_empty() || context.recipients > 0 || !context.applying {
        return None;
    }
    let keys = count(names.len(), "setup key", "setup keys");
    Some(Refusal {
        gate: "recipients",
        text: format!("this plan makes {keys}, and nobody is named to seal them for"),
        names,
        hint: "set AGE_PUBLIC_KEY to the age or SSH public keys of those who may read them, or use -r KEY or -R FILE"
            .into(),
    })
}

fn too_many_deletions(plan: &Plan, context: &Context) -> Option<Refusal> {
    let number = plan.deletions();
    if number <= context.max_deletes {
        return None;
    }
    let members: usize = plan
        .changes
        .iter()
        .map(|change| change.removed_members().len())
        .sum();
    let what = [
        (number - members, "deletes", "object", "objects"),
        (members, "removes", "group member", "group members"),
    ];
    let what: Vec<String> = what
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, verb, one, several)| format!("{verb} {}", count(number, one, several)))
        .collect();
    let text = format!(
        "this plan {}, more than --max-deletes {}",
        what.join(" and "),
        context.max_deletes
    );
    deletion(plan, context, "deletions", text, |change| {
        deletions(change) > 0
    })
}

/// The last object of a kind that had two or more: a lost section looks like that.
fn last_of_a_kind(plan: &Plan, context: &Context) -> Option<Refusal> {
    let kinds: BTreeSet<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| {
            let of_kind = || {
                plan.changes
                    .iter()
                    .filter(|change| change.address.kind == *kind)
            };
            // as in `counted`: a dead key is none that anybody misses
            let counts = |live: &Live| live.wire.get("valid") != Some(&Value::Bool(false));
            let gone = of_kind()
                .filter(|change| matches!(&change.operation, Operation::Delete { live } if counts(live)))
                .count();
            let made = of_kind().any(|change| {
                matches!(
                    change.operation,
                    Operation::Create { .. } | Operation::Replace { .. }
                )
            });
            let had = plan.counted.get(kind).copied().unwrap_or(0);
            had >= 2 && gone >= had && !made
        })
        .collect();
    if kinds.is_empty() {
        return None;
    }
    let words: Vec<&str> = kinds.iter().map(|kind| kind.plural()).collect();
    let text = format!("this plan deletes all {}", words.join(", all "));
    let of_kinds = |change: &Change| {
        kinds.contains(&change.address.kind) && matches!(change.operation, Operation::Delete { .. })
    };
    deletion(plan, context, "last-of-a-kind", text, of_kinds)
}

fn peers(plan: &Plan, context: &Context) -> Option<Refusal> {
    let is_peer = |change: &Change| {
        change.address.kind == Kind::Peer && matches!(change.operation, Operation::Delete { .. })
    };
    let number = plan.changes.iter().filter(|change| is_peer(change)).count();
    if number == 0 {
        return None;
    }
    deletion(
        plan,
        context,
        "peers",
        format!("this plan deletes {}", count(number, "peer", "peers")),
        is_peer,
    )
}

/// A refusal of deletions, unless their exact number was agreed to.
fn deletion(
    plan: &Plan,
    context: &Context,
    gate: &'static str,
    text: String,
    is_meant: impl Fn(&Change) -> bool,
) -> Option<Refusal> {
    let number = plan.deletions();
    if context.allowed.contains_key(&number) {
        return None;
    }
    let text = match context.allowed.iter().next() {
        Some((allowed, origin)) => {
            format!("{text}; {origin} says {allowed}, which is not the exact number")
        }
        None => text,
    };
    let meant = plan.changes.iter().filter(|change| is_meant(change));
    Some(Refusal {
        gate,
        text,
        names: meant.map(|change| change.address.to_string()).collect(),
        hint: format!(
            "if this is meant, put \"Allow-Deletes: {number}\" on a line of the merge commit's message, or run with \
             --allow-deletes {number}"
        ),
    })
}

#[cfg(test)]
mod tests;
