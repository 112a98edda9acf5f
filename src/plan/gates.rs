//! Gates: what a plan must pass before the first write, as one table. A plan shows them; an apply stops at them.
//!
//! They protect against accidents that look like intent: a section lost in a merge, a wrong account, a weak token.
//! docs/gates.md has the same table for people.

use std::collections::BTreeSet;

use crate::base::{Id, count, joined, listed};
use crate::model::{Address, Change, Kind, Live, Moved, Operation, Role, Why};
use crate::plan::{Piece, Plan, Protected, Row, Unlike};
use crate::wire::api::objects::User;

/// Why an apply must not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The gate's name in JSON.
    pub gate: &'static str,
    /// What is refused, with the numbers.
    pub text: String,
    /// The objects that it is about, if any.
    pub names: Vec<String>,
    /// What the plan takes away and this refuses.
    pub rows: BTreeSet<Row>,
    /// The exact way out. Of deletions it is not the gate that knows it.
    pub hint: String,
}

/// What the gates look at beside the plan.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// `--max-deletes`.
    pub max_deletes: usize,
    /// What the plan takes away and somebody agreed to ([`crate::plan::agreement`]): gates count the rest.
    pub agreed: BTreeSet<Row>,
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
    /// What `--protect` names.
    pub protected: Protected,
    /// The digest of the plan that somebody looked at (`--expect-digest`).
    pub expected: Option<String>,
}

impl Refusal {
    /// A refusal that nobody's agreement lifts.
    fn new(
        gate: &'static str,
        text: String,
        names: Vec<String>,
        hint: impl Into<String>,
    ) -> Refusal {
        Refusal {
            gate,
            text,
            names,
            rows: BTreeSet::new(),
            hint: hint.into(),
        }
    }
}

type Gate = fn(&Plan, &Context) -> Option<Refusal>;

/// The gates of a plan, in the order in which they are reported; those of deletions come after them.
const GATES: [Gate; 6] = [
    halted,
    account,
    role,
    recipients,
    |plan, context| protected(plan, &context.protected),
    reviewed,
];

/// What deletions are judged by.
#[derive(Clone, Copy)]
struct Deletions<'a> {
    plan: &'a Plan,
    max_deletes: usize,
    /// The rows that nobody agreed to.
    open: &'a BTreeSet<Row>,
    /// Those that go besides.
    besides: &'a BTreeSet<Row>,
}

/// What a gate of deletions refuses, in words and as rows: nothing where there are none.
type Refused = (String, BTreeSet<Row>);

type DeletionGate = fn(Deletions) -> Refused;

/// The gates that somebody's agreement lifts, likewise.
const DELETION_GATES: [(&str, DeletionGate); 6] = [
    ("deletions", too_many_deletions),
    ("last-of-a-kind", last_of_a_kind),
    ("peers", peers),
    ("replaced-with-contents", made_anew),
    ("moved", moved),
    ("people", people),
];

/// Returns the refusals of a plan; an apply needs there to be none.
pub fn check(plan: &Plan, context: &Context) -> Vec<Refusal> {
    let refusals = GATES.iter().filter_map(|gate| gate(plan, context));
    let deletions = deletions(plan, context.max_deletes, &context.agreed);
    refusals.chain(deletions).collect()
}

/// Returns the refusals of what a plan takes away, but for the rows in `agreed`, which count as if they had gone before.
pub fn deletions(plan: &Plan, max_deletes: usize, agreed: &BTreeSet<Row>) -> Vec<Refusal> {
    let open = &plan.counted_rows() - agreed;
    refusals(plan, max_deletes, &open, agreed)
}

/// The way out of such a refusal is that of all of them, see [`crate::plan::agreement::way_out`].
fn refusals(
    plan: &Plan,
    max_deletes: usize,
    open: &BTreeSet<Row>,
    besides: &BTreeSet<Row>,
) -> Vec<Refusal> {
    let deletions = Deletions {
        plan,
        max_deletes,
        open,
        besides,
    };
    let refused = DELETION_GATES
        .iter()
        .map(|(gate, of)| (*gate, of(deletions)));
    let refused = refused.filter(|(_, (_, rows))| !rows.is_empty());
    let refusal = |(gate, (text, rows)): (&'static str, Refused)| {
        let names: BTreeSet<String> = rows.iter().map(|row| row.address.to_string()).collect();
        let names = names.into_iter().collect();
        Refusal {
            rows,
            ..Refusal::new(gate, text, names, "")
        }
    };
    refused.map(refusal).collect()
}

/// Returns the refusals for which the rows in `own` are the reason: by themselves, or since the others alone would pass.
pub fn deletions_of(
    plan: &Plan,
    max_deletes: usize,
    agreed: &BTreeSet<Row>,
    own: &BTreeSet<Row>,
) -> Vec<Refusal> {
    let open = &plan.counted_rows() - agreed;
    let (own, others) = (&open & own, &open - own);
    let alone = refusals(plan, max_deletes, &own, &(agreed | &others));
    let without = refusals(plan, max_deletes, &others, agreed);
    let has = |all: &[Refusal], of: &Refusal| all.iter().any(|other| other.gate == of.gate);
    let mut all = refusals(plan, max_deletes, &open, agreed);
    all.retain(|refusal| has(&alone, refusal) || !has(&without, refusal));
    all
}

/// The kill switch stops every apply, an empty one too.
fn halted(_: &Plan, context: &Context) -> Option<Refusal> {
    let text = context.halt.as_ref()?;
    let text = format!("NETBIRD_GITOPS_HALT is set ({text})");
    let hint = "unset NETBIRD_GITOPS_HALT once the reason is gone";
    Some(Refusal::new("halt", text, Vec::new(), hint))
}

/// Refuses a token that sees several accounts, where none of them is named.
pub fn no_account(accounts: &[String]) -> Option<Refusal> {
    let found = accounts.join(", ");
    let text = format!("the token sees several accounts ({found}), and none of them is named");
    let hint = "name the one that this file is for with --account (NETBIRD_ACCOUNT_ID)";
    let refusal = || Refusal::new("account", text, Vec::new(), hint);
    (accounts.len() > 1).then(refusal)
}

fn account(_: &Plan, context: &Context) -> Option<Refusal> {
    let Some(wanted) = &context.account else {
        return no_account(&context.accounts);
    };
    // a recorded account may not say which it is
    let is_untold = !context.online && context.accounts.is_empty();
    if is_untold || context.accounts.contains(wanted) {
        return None;
    }
    let found = context.accounts.join(", ");
    let text = format!("the token belongs to account {found}, not to {wanted}");
    let hint = "check NETBIRD_API_URL and NETBIRD_API_TOKEN against --account (NETBIRD_ACCOUNT_ID)";
    Some(Refusal::new("account", text, Vec::new(), hint))
}

/// What the roles may write (docs/netbird-api.md, "Roles"). A person's token of a weaker role does not even see
/// everything.
fn role(plan: &Plan, context: &Context) -> Option<Refusal> {
    if !context.online {
        return None;
    }
    let me = context.me.as_ref()?;
    if !sees_all(me) {
        let text = format!(
            "the token belongs to {}, a person with the role {}: it sees only a part of the account",
            me.name, me.role
        );
        return Some(weak(text, Vec::new()));
    }
    if !context.applying {
        return None;
    }
    let denied = names(plan, |change| !may_write(&me.role, change.address.kind));
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
    Some(weak(text, denied))
}

/// Returns whether a token of this user is shown the whole account.
pub fn sees_all(me: &User) -> bool {
    me.is_service_user
        || matches!(
            me.role.as_str(),
            "owner" | "admin" | "network_admin" | "auditor"
        )
}

/// Returns whether a role may write objects of a kind (docs/netbird-api.md, "Roles").
pub fn may_write(role: &str, kind: Kind) -> bool {
    match role {
        "owner" | "admin" => true,
        "network_admin" => kind.descriptor().least_role == Role::NetworkAdmin,
        _ => false,
    }
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
    let hint = "set NETBIRD_API_TOKEN to the token of a service user with the role admin (for plan: auditor); in the workflows \
                it comes from the secret NETBIRD_APPLY_TOKEN";
    Refusal::new("role", text, names, hint)
}

/// A key whose secret nobody could open would be lost.
fn recipients(plan: &Plan, context: &Context) -> Option<Refusal> {
    let names = names(plan, |change| {
        change.makes_key() && !change.names_recipients()
    });
    if names.is_empty() || context.recipients > 0 || !context.applying {
        return None;
    }
    let keys = count(names.len(), "setup key", "setup keys");
    let text = format!("this plan creates {keys}, and no recipient is set");
    let hint = "set AGE_PUBLIC_KEY to the age or SSH public keys of those who may open new setup keys, or use -r KEY or -R FILE";
    Some(Refusal::new("recipients", text, names, hint))
}

/// Names the changes that are so.
fn names(plan: &Plan, is_so: impl Fn(&Change) -> bool) -> Vec<String> {
    let changes = plan.changes.iter().filter(|change| is_so(change));
    changes.map(|change| change.address.to_string()).collect()
}

/// Refuses a plan that deletes what somebody named as protected (`--protect`), which no agreement lifts, or replaces it: whoever refers to the old object does not know the new one.
pub fn protected(plan: &Plan, protected: &Protected) -> Option<Refusal> {
    let ends = |id: &Id| plan.changes.iter().any(|change| change.ends(id));
    let names_of = |change: &Change| {
        let is_it = |id: &Id, within: &Option<Id>| {
            // what it stands in takes it along, where it has no operation of its own
            change.ends(id) || !ends(id) && within.as_ref().is_some_and(|of| change.ends(of))
        };
        let named = protected
            .iter()
            .filter(|(_, all)| all.iter().any(|(id, of)| is_it(id, of)));
        named.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let meant = plan.changes.iter().map(|change| (change, names_of(change)));
    let meant: Vec<_> = meant.filter(|(_, named)| !named.is_empty()).collect();
    let replaced = meant
        .iter()
        .filter(|(of, _)| of.deleted().is_none())
        .count();
    let deleted = meant.len() - replaced;
    let told = [("deletes", deleted), ("replaces", replaced)].into_iter();
    let told = told.filter(|(_, number)| *number > 0);
    let told = told.map(|(verb, number)| {
        let objects = count(number, "protected object", "protected objects");
        format!("{verb} {objects}")
    });
    let mut text = format!("this plan {}", joined(told, " and "));
    // NetBird has another name for it
    let others = meant.iter().flat_map(|(change, named)| {
        let is_other = |at: &&&Address| at.name != change.address.name;
        named.iter().filter(is_other).map(|at| at.path())
    });
    let others: BTreeSet<String> = others.collect();
    if !others.is_empty() {
        text += &format!(" (named as {})", listed(others));
    }
    let names = meant.iter().map(|(change, _)| change.address.to_string());
    let hint = "restore its entry in the file; if the change is meant, remove the object from --protect \
                (NETBIRD_GITOPS_PROTECT) for this run: Allow-Deletes does not lift the protection";
    let refusal = || Refusal::new("protected", text, names.collect(), hint);
    (!meant.is_empty()).then(refusal)
}

/// Refuses a plan that is not the one that somebody looked at (`--expect-digest`). With nothing to do there is nothing that nobody looked at: an apply that
/// is run again ends well.
fn reviewed(plan: &Plan, context: &Context) -> Option<Refusal> {
    let expected = context.expected.as_deref()?;
    let unlike = plan.unlike(expected).filter(|_| !plan.is_done())?;
    let digest = plan.digest();
    let why = match unlike {
        Unlike::Operations => "the operations or the file are different",
        Unlike::Live => {
            "the operations are the same, but what they are about was changed in NetBird meanwhile"
        }
    };
    let text = format!("this plan does not have the digest of --expect-digest: {why}");
    let hint =
        format!("look at the plan again; if it is right, run apply with --expect-digest {digest}");
    Some(Refusal::new("reviewed", text, Vec::new(), hint))
}

fn too_many_deletions(of: Deletions) -> Refused {
    if of.open.len() <= of.max_deletes {
        return Refused::default();
    }
    let sort = |row: &Row| match row.piece {
        _ if row.address.kind == Kind::User => 3,
        Piece::Whole => 0,
        Piece::Member(_) => 1,
        Piece::Field { .. } => 2,
    };
    let words = [
        ["deletes", "object", "objects"],
        ["removes", "group member", "group members"],
        [
            "changes",
            "setting that moves machines",
            "settings that move machines",
        ],
        ["changes", "right of a user", "rights of users"],
    ];
    let numbers = (0..4).map(|at| of.open.iter().filter(|row| sort(row) == at).count());
    let what = numbers.zip(words).filter(|(number, _)| *number > 0);
    let what = what.map(|(number, [verb, one, all])| format!("{verb} {}", count(number, one, all)));
    let (what, most) = (joined(what, " and "), of.max_deletes);
    let text = format!("this plan {what}, more than --max-deletes {most}");
    (text, of.open.clone())
}

/// The last object of a kind that had two or more: a lost section looks like that. What goes with the object that it stands
/// in is none of its own.
fn last_of_a_kind(of: Deletions) -> Refused {
    let plan = of.plan;
    let changes = plan.changes.iter();
    let gone = changes.filter_map(|change| match &change.operation {
        Operation::Delete { live } | Operation::Replace { live, .. } => Some(&live.id),
        Operation::Create { .. } | Operation::Update { .. } => None,
    });
    // one whose entry is gone, and that stays for what others put into it
    let held = plan.held.iter();
    let staying = held.filter(|held| matches!(held.why, Why::Holds(_)));
    let gone: BTreeSet<&Id> = gone.chain(staying.map(|held| &held.id)).collect();
    let goes_along = |live: &Live| live.within.as_ref().is_some_and(|at| gone.contains(at));
    let is_wiped = |kind: &Kind| {
        let changes = plan.changes.iter().filter(|of| of.address.kind == *kind);
        use Operation::{Create, Replace};
        let is_made = |of: &Change| matches!(of.operation, Create { .. } | Replace { .. });
        let made = changes.clone().any(is_made);
        let deleted = changes.filter_map(|of| Some((&of.address, of.deleted()?)));
        let (along, own): (Vec<_>, Vec<_>) = deleted.partition(|(_, live)| goes_along(live));
        // as in `counted`: a dead key is none that anybody misses
        let own = own.into_iter().filter(|(_, live)| !live.is_dead_key());
        let own: Vec<Row> = own.map(|(at, live)| Row::object(at, live)).collect();
        let number = |rows: &BTreeSet<Row>| own.iter().filter(|row| rows.contains(row)).count();
        let had = plan.counted.get(kind).copied().unwrap_or(0);
        let had = had.saturating_sub(number(of.besides) + along.len());
        had >= 2 && number(of.open) >= had && !made
    };
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(is_wiped).collect();
    let words: Vec<&str> = kinds.iter().map(|kind| kind.plural()).collect();
    let text = format!("this plan deletes all {}", words.join(", all "));
    (text, of.rows(|row| kinds.contains(&row.address.kind)))
}

fn peers(of: Deletions) -> Refused {
    let peers = of.rows(|row| row.address.kind == Kind::Peer);
    let text = format!("this plan deletes {}", count(peers.len(), "peer", "peers"));
    (text, peers)
}

/// What cannot be changed is replaced, with all that stands in it: it looks like a small change, and is a large one.
fn made_anew(of: Deletions) -> Refused {
    let replaced = of.plan.changes.iter().filter_map(|change| {
        let Operation::Replace { live, .. } = &change.operation else {
            return None;
        };
        change.address.kind.children().next()?;
        let is_open = of.open.contains(&Row::object(&change.address, live));
        is_open.then_some(&change.address)
    });
    let replaced: Vec<&Address> = replaced.collect();
    let what = match &replaced[..] {
        [] => return Refused::default(),
        [one] => one.quoted(),
        [one, ..] => count(replaced.len(), one.kind.label(), one.kind.plural()),
    };
    let is_part = |row: &Row| {
        let parent = row.address.parent();
        let mut replaced = replaced.iter();
        replaced.any(|at| row.address == **at || parent.as_ref() == Some(*at))
    };
    let text = format!("this plan replaces {what}, with everything inside");
    (text, of.rows(is_part))
}

/// A setting that gives many machines another address or another name at once is one line of a file.
fn moved(of: Deletions) -> Refused {
    let moved = of.moved(|kind| kind != Kind::User);
    let said = moved.iter().map(|(_, moved)| moved);
    let text = format!("with this plan {}", joined(said, ", and "));
    (text, moved.into_iter().map(|(row, _)| row).collect())
}

/// Who may do what in NetBird is one word of a file, and whoever is an admin there can do all that this program can.
fn people(of: Deletions) -> Refused {
    let given = of.moved(|kind| kind == Kind::User);
    let said = given
        .iter()
        .map(|(row, moved)| format!("{} {moved}", row.address));
    let text = format!("this plan gives {}", joined(said, ", and "));
    (text, given.into_iter().map(|(row, _)| row).collect())
}

impl<'a> Deletions<'a> {
    /// Returns the open rows that are so.
    fn rows(self, is_so: impl Fn(&Row) -> bool) -> BTreeSet<Row> {
        let rows = self.open.iter().filter(|row| is_so(row));
        rows.cloned().collect()
    }

    /// Returns the open rows of fields of such kinds, and what each moves.
    fn moved(self, is_meant: fn(Kind) -> bool) -> Vec<(Row, &'a Moved)> {
        let changes = self.plan.changes.iter();
        let changes = changes.filter(|change| is_meant(change.address.kind));
        let moved = changes.flat_map(|change| Row::moved(change).into_iter().zip(&change.moved));
        moved.filter(|(row, _)| self.open.contains(row)).collect()
    }
}

#[cfg(test)]
mod tests;
