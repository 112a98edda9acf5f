//! Who agreed to what, on plans made by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use super::{
    Agreement, AllowDeletes, Brought, Judgement, Origin, Said, SaidIn, Statements, way_out,
    way_out_of_others, ways_out,
};
use crate::base::Id;
use crate::inventory::{Inventory, Left};
use crate::model::{
    Address, Cause, Change, Kind, LeftBy, LetGo, LetGoWhy, Live, Moved, Moves, Notice, Operation,
    Resource, kind,
};
use crate::plan::{Ours, Plan, Row};
use crate::testing::committed;

/// How many groups leave the file in the property.
const GROUPS: usize = 12;
/// How many commits there are.
const COMMITS: usize = 5;

/// The full id of a commit.
fn sha(commit: usize) -> String {
    format!("{commit:040x}")
}

/// An inventory, and the commits since the last apply.
fn ours(gone: &[(&str, &str, &str)]) -> Ours {
    let mut inventory = Inventory::new("account", "netbird.json");
    for (text, id, cause) in gone {
        let left = Left {
            ids: vec![Id::from(*id)],
            cause: Some((*cause).to_owned()),
        };
        inventory.gone.insert((*text).to_owned(), left);
    }
    Ours {
        inventory: Arc::new(inventory),
        versions: committed((0..=COMMITS).map(|_| Arc::default()).collect()),
        ..Ours::default()
    }
}

/// A plan that deletes objects: key, id and the commit that took out the entry.
fn deletes(rows: &[(&str, &str, Option<usize>)]) -> Plan {
    let mut plan = Plan::default();
    for (key, id, commit) in rows {
        let address = Address::of_key(key).expect("a key");
        let resource = match address.kind {
            Kind::Peer => Resource::Peer(kind::Peer::named(&address.name)),
            _ => Resource::Group(kind::Group::default()),
        };
        let live = Live {
            within: None,
            id: Id::from(*id),
            name: address.name.clone(),
            resource,
            wire: Value::Null.into(),
        };
        if let Some(commit) = commit {
            let row = Row::object(&address, &live);
            plan.causes.insert(row, Cause::Commit(*commit));
        }
        plan.changes.push(Change::deletion(&address, &live, None));
    }
    plan
}

fn let_go(key: &str, id: &str, left_by: LeftBy) -> LetGo {
    LetGo {
        address: Address::of_key(key).expect("a key"),
        id: Id::from(id),
        key: key.to_owned(),
        why: LetGoWhy::Adopted,
        left_by,
    }
}

/// Statements after all commits were looked at.
fn statements(lines: &[(&AllowDeletes, SaidIn)], pulls: &[(u64, &[usize])]) -> Statements {
    let said = |(line, place): &(&AllowDeletes, SaidIn)| Said {
        line: (*line).clone(),
        by: "alice".into(),
        place: *place,
        void: None,
    };
    let pull = |(number, commits): &(u64, &[usize])| Brought {
        number: *number,
        commits: commits.iter().map(|commit| sha(*commit)).collect(),
        ..Brought::default()
    };
    Statements {
        environment: "default".into(),
        lines: lines.iter().map(said).collect(),
        pulls: pulls.iter().map(pull).collect(),
        commits: (0..COMMITS).map(sha).collect(),
        first_for_unknown: COMMITS - 1,
        number: None,
    }
}

/// Judges a plan of which every row needs an agreement.
fn judge(statements: &Statements, plan: &Plan, ours: &Ours) -> Judgement {
    statements.judge(plan, None, ours, &plan.counted_rows())
}

/// The only line that a plan asks for.
fn line_of(plan: &Plan, ours: &Ours) -> AllowDeletes {
    let outcome = judge(&statements(&[], &[]), plan, ours);
    let [agreement] = &outcome.agreements[..] else {
        panic!("{:?}", outcome.agreements);
    };
    agreement.line.clone().expect("rows")
}

fn notices(outcome: &Judgement) -> Vec<String> {
    outcome.notices.iter().map(Notice::words).collect()
}

#[test]
fn a_line_counts_for_exactly_what_it_was_printed_for() {
    let ours = ours(&[]);
    let both = deletes(&[("groups/a", "1", Some(1)), ("groups/b", "2", Some(1))]);
    let line = line_of(&both, &ours);
    assert_eq!(line.number, 2);
    let run = [(&line, SaidIn::Run)];
    let outcome = judge(&statements(&run, &[]), &both, &ours);
    assert_eq!(outcome.rows, both.rows());
    assert_eq!(outcome.agreements[0].agreed_by.as_deref(), Some("alice"));
    assert_eq!(outcome.agreements[0].line_with_let_go, None);
    assert!(!outcome.agreements[0].is_unsaid());
    // a pull request that brought it is looked for
    assert_eq!(outcome.commits, BTreeSet::from([sha(1)]));
    assert_eq!(notices(&outcome), [] as [String; 0]);

    let rows: [&[(&str, &str, Option<usize>)]; 4] = [
        // fewer, more, others
        &[("groups/a", "1", Some(1))],
        &[
            ("groups/a", "1", Some(1)),
            ("groups/b", "2", Some(1)),
            ("groups/c", "3", Some(1)),
        ],
        &[("groups/a", "1", Some(1)), ("groups/c", "3", Some(1))],
        // a second object of the name
        &[
            ("groups/a", "1", Some(1)),
            ("groups/b", "2", Some(1)),
            ("groups/b", "3", Some(1)),
        ],
    ];
    for rows in rows {
        let outcome = judge(&statements(&run, &[]), &deletes(rows), &ours);
        assert!(outcome.rows.is_empty(), "{rows:?}");
        assert_eq!(
            notices(&outcome),
            [format!(
                "{line} (alice) does not count: nothing in this plan has that number and digest"
            )]
        );
    }

    let mut elsewhere = statements(&run, &[]);
    elsewhere.environment = "lab".into();
    assert!(judge(&elsewhere, &both, &ours).rows.is_empty());
}

#[test]
fn what_earlier_runs_or_others_deleted_stays_in_the_line() {
    let rows = [
        ("groups/a", "1", Some(1)),
        ("groups/b", "2", Some(1)),
        ("groups/c", "3", Some(1)),
    ];
    let line = line_of(&deletes(&rows), &ours(&[]));
    let mut rest = deletes(&rows[..1]);
    let left_by = LeftBy::Change(Cause::Commit(1));
    // what an earlier run deleted is no row more where it is missed, too
    let dead = ["groups/b", "groups/c"];
    rest.dead = dead.map(|row| (row.into(), left_by.clone())).into();
    for cause in [&sha(1), "#4"] {
        let ours = ours(&[("groups/b", "2", cause)]);
        let pulls: [(u64, &[usize]); 1] = [(4, &[1])];
        let statements = statements(&[(&line, SaidIn::Description(4))], &pulls);
        let outcome = judge(&statements, &rest, &ours);
        assert_eq!(outcome.rows, rest.rows());

        // nothing is left, and nothing is said of the line
        let done = Plan {
            dead: rest.dead.clone(),
            ..Plan::default()
        };
        let mut ours = ours.clone();
        let left = ours.inventory.gone["groups/b"].clone();
        let inventory = Arc::make_mut(&mut ours.inventory);
        inventory.gone.insert("groups/a".into(), left);
        let outcome = judge(&statements, &done, &ours);
        assert!(outcome.agreements.is_empty());
        assert_eq!(notices(&outcome), [] as [String; 0]);
    }
}

#[test]
fn a_machine_that_enrolled_meanwhile_is_not_agreed_to() {
    let ours = ours(&[]);
    let rows = [
        ("setup_keys/k", "1", Some(1)),
        ("peers/old", "2", Some(1)),
        ("peers/new", "3", Some(1)),
    ];
    let mut now = deletes(&rows);
    let mut before = deletes(&rows[..2]);
    let pulls: [(u64, &[usize]); 1] = [(4, &[1])];
    for lets_go in [false, true] {
        if lets_go {
            let adopted = let_go("policies/p", "4", LeftBy::Change(Cause::Commit(1)));
            before.let_go = vec![adopted.clone()];
            now.let_go = vec![adopted];
        }
        let printed = judge(&statements(&[], &[]), &before, &ours).agreements;
        let lines = [&printed[0].line, &printed[0].line_with_let_go];
        for line in lines.into_iter().flatten() {
            for place in [SaidIn::Run, SaidIn::Message(1), SaidIn::Description(4)] {
                let outcome = judge(&statements(&[(line, place)], &pulls), &now, &ours);
                assert!(outcome.rows.is_empty() && outcome.release.is_empty());
                assert_eq!(
                    notices(&outcome),
                    [format!(
                        "{line} (alice) does not count: machine \"new\" enrolled after the line was written"
                    )]
                );
            }
        }
    }
    // as many rows, and others
    let other = line_of(&deletes(&[rows[0], ("peers/other", "5", Some(1))]), &ours);
    let outcome = judge(&statements(&[(&other, SaidIn::Run)], &[]), &now, &ours);
    assert!(notices(&outcome)[0].ends_with("nothing in this plan has that number and digest"));
}

/// A line that could count where it stands is reported when it does not. One that agreed to what is done by now is no mistake.
#[test]
fn a_line_for_something_else_is_told_where_it_can_be_meant() {
    let ours = ours(&[]);
    let pulls: &[(u64, &[usize])] = &[(4, &[2]), (6, &[COMMITS - 1])];
    let (of_commit, of_pull) = (
        deletes(&[("groups/a", "1", Some(1))]),
        deletes(&[("groups/a", "1", Some(2))]),
    );
    let unknown = deletes(&[("groups/a", "1", None)]);
    let of_people = deletes(&[("users/mira", "1", None)]);
    let right = line_of(&of_commit, &ours);
    let wrong = AllowDeletes::of("default", &["groups/b"]);
    let last = COMMITS - 1;
    for (plan, place, wanted) in [
        (&of_commit, SaidIn::Message(0), None),
        (
            &of_commit,
            SaidIn::Message(1),
            Some("what commit 0000000000 deletes in this environment"),
        ),
        (&of_commit, SaidIn::Message(2), None),
        (
            &of_commit,
            SaidIn::Message(last),
            Some("what commit 0000000000 deletes in this environment"),
        ),
        (&of_commit, SaidIn::Description(4), None),
        (
            &of_pull,
            SaidIn::Message(2),
            Some("what pull request #4 deletes in this environment"),
        ),
        (
            &of_pull,
            SaidIn::Description(4),
            Some("what pull request #4 deletes in this environment"),
        ),
        (&of_pull, SaidIn::Description(5), None),
        (&unknown, SaidIn::Message(last - 1), None),
        (&unknown, SaidIn::Description(6), None),
        // where no line can count
        (&of_people, SaidIn::Message(last), None),
        (
            &unknown,
            SaidIn::Message(last),
            Some("what it was written for"),
        ),
    ] {
        let outcome = judge(&statements(&[(&wrong, place)], pulls), plan, &ours);
        let wanted = wanted
            .map(|what| format!("{wrong} (alice) does not count: {what} has another line now"));
        assert_eq!(
            notices(&outcome),
            Vec::from_iter(wanted),
            "{:?} {place:?}",
            plan.causes
        );
    }
    // beside a line that counts, another one is taken for an older version of it
    let both = [(&right, SaidIn::Message(1)), (&wrong, SaidIn::Message(1))];
    assert_eq!(
        notices(&judge(&statements(&both, pulls), &of_commit, &ours)),
        [] as [String; 0]
    );
}

#[test]
fn a_line_counts_where_it_may_stand() {
    let ours = ours(&[]);
    let of_commit = deletes(&[("groups/a", "1", Some(2))]);
    let unknown = deletes(&[("groups/a", "1", None)]);
    let mut proposed = unknown.clone();
    for row in unknown.rows() {
        proposed.causes.insert(row, Cause::Proposed);
    }
    let line = line_of(&of_commit, &ours);
    let counts = |plan: &Plan, place: SaidIn, pulls: &[(u64, &[usize])]| {
        let outcome = judge(&statements(&[(&line, place)], pulls), plan, &ours);
        !outcome.rows.is_empty()
    };
    type Pulls<'a> = &'a [(u64, &'a [usize])];
    let (none, of_two): (Pulls, Pulls) = (&[], &[(4, &[2, 3])]);
    let newest: &[(u64, &[usize])] = &[(4, &[COMMITS - 1])];
    // who is let in or gets a role again is not agreed to by what was said of a change that is not known
    let user = |commit| deletes(&[("users/mira", "1", commit)]);
    let (user_of_commit, user) = (user(Some(2)), user(None));
    let line_of_user = line_of(&user, &ours);
    for (plan, place, wanted) in [
        (&user_of_commit, SaidIn::Message(1), false),
        (&user_of_commit, SaidIn::Message(2), true),
        (&user, SaidIn::Run, true),
        (&user, SaidIn::Message(COMMITS - 1), false),
        (&user, SaidIn::Description(4), false),
    ] {
        let said = statements(&[(&line_of_user, place)], newest);
        let outcome = judge(&said, plan, &ours);
        assert_eq!(!outcome.rows.is_empty(), wanted, "{place:?}");
    }
    for (plan, place, pulls, wanted) in [
        (&of_commit, SaidIn::Run, none, true),
        (&of_commit, SaidIn::Message(1), none, false),
        (&of_commit, SaidIn::Message(2), none, true),
        (&of_commit, SaidIn::Message(3), none, true),
        (&of_commit, SaidIn::Message(1), of_two, false),
        (&of_commit, SaidIn::Message(2), of_two, true),
        (&of_commit, SaidIn::Description(4), none, false),
        (&of_commit, SaidIn::Description(4), of_two, true),
        (&of_commit, SaidIn::Description(5), of_two, false),
        (&unknown, SaidIn::Run, none, true),
        (&unknown, SaidIn::Message(COMMITS - 2), none, false),
        (&unknown, SaidIn::Message(COMMITS - 1), none, true),
        (&unknown, SaidIn::Description(4), of_two, false),
        (&unknown, SaidIn::Description(4), newest, true),
        (&proposed, SaidIn::Run, none, true),
        (&proposed, SaidIn::Message(COMMITS - 1), none, false),
        (&proposed, SaidIn::Description(4), newest, true),
    ] {
        let case = format!("{:?} {place:?} {pulls:?}", plan.causes);
        assert_eq!(counts(plan, place, pulls), wanted, "{case}");
    }

    // the pull request of this job comes first, whatever another one left to do
    let mut own = statements(&[(&line, SaidIn::Description(7))], &[(3, &[0])]);
    own.pulls[0].is_fork = true;
    own.pulls.push(Brought {
        number: 7,
        is_proposed: true,
        ..Brought::default()
    });
    assert_eq!(judge(&own, &unknown, &ours).rows, unknown.rows());
    let mut both = proposed.clone();
    let other = deletes(&[("groups/b", "2", Some(0))]);
    both.changes.extend(other.changes);
    both.causes.extend(other.causes);
    let outcome = judge(&own, &both, &ours);
    assert_eq!(outcome.rows, proposed.rows());
    let agreements = outcome.agreements.into_iter();
    let agreements: Vec<_> = agreements
        .map(|of| (of.cause, of.is_proposed, of.is_fork))
        .collect();
    let (first, second) = (Some(Origin::Pull(7)), Some(Origin::Pull(3)));
    assert_eq!(agreements, [(first, true, false), (second, false, true)]);
}

#[test]
fn what_is_let_go_has_a_line_of_its_own() {
    let ours = ours(&[]);
    let mut plan = deletes(&[("groups/a", "1", Some(1))]);
    let left_by = LeftBy::Change(Cause::Commit(1));
    plan.let_go = vec![let_go("groups/A", "2", left_by)];
    let silent = judge(&statements(&[], &[]), &plan, &ours);
    let [agreement] = &silent.agreements[..] else {
        panic!("{silent:?}");
    };
    let (line, both) = (
        agreement.line.clone().expect("rows"),
        agreement.line_with_let_go.clone().expect("let go"),
    );
    assert_eq!((line.number, both.number), (1, 2));
    let way = format!("to agree to the 1 deletion of commit {}", &sha(1)[..10]);
    assert_eq!(ways_out(&silent.agreements), [(way, line.to_string())]);
    let way = way_out_of_others(&silent.agreements);
    assert!(
        way.starts_with("to agree, copy the line into the message of a later commit"),
        "{way}"
    );

    let outcome = judge(&statements(&[(&line, SaidIn::Run)], &[]), &plan, &ours);
    assert_eq!((outcome.rows, outcome.release), (plan.rows(), [].into()));
    // the line that deletes it instead is still looked for
    assert!(!outcome.agreements[0].is_open() && outcome.agreements[0].is_unsaid());

    let spoken = statements(&[(&both, SaidIn::Run)], &[]);
    let outcome = judge(&spoken, &plan, &ours);
    assert_eq!(outcome.release, BTreeSet::from([Id::from("2")]));
    assert!(!outcome.agreements[0].is_unsaid());

    // a run that was killed deleted what was let go, and no more
    let alone = deletes(&[("groups/a", "1", Some(1))]);
    let half = self::ours(&[("groups/A", "2", &sha(1))]);
    assert_eq!(judge(&spoken, &alone, &half).rows, alone.rows());

    // once it is released: nothing needed it but one group, which nobody agreed to
    let released = deletes(&[
        ("groups/a", "1", Some(1)),
        ("groups/a", "2", Some(1)),
        ("groups/b", "3", Some(1)),
    ]);
    let rows = released.counted_rows();
    let outcome = spoken.judge(&released, Some(&plan), &ours, &rows);
    let left: Vec<&Row> = rows.difference(&outcome.rows).collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].object, Id::from("3"));
    let open: Vec<_> = super::open(&outcome.agreements).collect();
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].rows, &open[0].cause), (1, &None));
    assert_eq!(notices(&outcome), [] as [String; 0]);
}

#[test]
fn what_an_earlier_run_let_go_keeps_its_line() {
    let left_by = LeftBy::Change(Cause::Commit(1));
    let mut plan = deletes(&[("groups/a", "1", Some(1))]);
    plan.let_go = vec![let_go("policies/p", "2", left_by)];
    let outcome = judge(&statements(&[], &[]), &plan, &ours(&[]));
    let line = outcome.agreements[0].line_with_let_go.clone();
    let line = line.expect("let go");

    let later = Plan {
        let_go: vec![let_go("policies/p", "2", LeftBy::Recorded("#4".into()))],
        ..Plan::default()
    };
    let ours = ours(&[("groups/a", "1", "#4")]);
    let statements = statements(&[(&line, SaidIn::Description(4))], &[]);
    let outcome = judge(&statements, &later, &ours);
    assert_eq!(outcome.release, BTreeSet::from([Id::from("2")]));
    let [agreement] = &outcome.agreements[..] else {
        panic!("{outcome:?}");
    };
    assert_eq!(agreement.line, None);
    assert!(agreement.agreed_by.is_some() && !agreement.is_proposed);

    // the line of what is done agrees to no more
    let of_rows = judge(&self::statements(&[], &[]), &plan, &self::ours(&[]));
    let done = of_rows.agreements[0].line.clone().expect("rows");
    let said = self::statements(&[(&done, SaidIn::Description(4))], &[]);
    let outcome = judge(&said, &later, &ours);
    assert!(outcome.release.is_empty());
    assert_eq!(outcome.agreements[0].agreed_by, None);

    // no gate refuses that something is let go
    let statements = Statements {
        lines: Vec::new(),
        ..statements
    };
    let of = |left_by| {
        let let_go = vec![let_go("policies/p", "2", left_by)];
        judge(
            &statements,
            &Plan {
                let_go,
                ..Plan::default()
            },
            &ours,
        )
        .agreements
    };
    for (cause, is_proposed) in [(Cause::Proposed, true), (Cause::Commit(1), false)] {
        let agreements = of(LeftBy::Change(cause));
        assert!(!agreements[0].is_open());
        assert_eq!(agreements[0].is_proposed, is_proposed);
    }
}

#[test]
fn a_person_agrees_by_the_exact_number() {
    let ours = ours(&[]);
    let mut plan = deletes(&[("groups/a", "1", Some(1)), ("groups/b", "2", Some(2))]);
    plan.let_go = vec![let_go("policies/p", "3", LeftBy::Unknown)];
    let with = |number: usize| {
        let mut statements = statements(&[], &[]);
        statements.number = Some((number, "--allow-deletes".into()));
        let outcome = judge(&statements, &plan, &ours);
        (
            outcome.rows.len(),
            outcome.release.len(),
            notices(&outcome).len(),
        )
    };
    assert_eq!(with(1), (0, 0, 1));
    assert_eq!(with(2), (2, 0, 0));
    assert_eq!(with(3), (2, 1, 0));
    assert_eq!(with(4), (0, 0, 1));
}

proptest! {
    /// The lines of the whole plan agree to what is left of it, whatever a killed apply did, and to nothing else.
    #[test]
    fn a_line_is_good_for_what_is_left_of_its_change(
        commits in prop::collection::vec(0..COMMITS, GROUPS),
        fates in prop::collection::vec(0..4_u8, GROUPS),
        starts in prop::collection::btree_set(0..COMMITS, 0..4),
        agreed in prop::collection::vec(any::<bool>(), COMMITS),
    ) {
        let names: Vec<(String, String)> = (0..GROUPS)
            .map(|group| (format!("groups/g{group}"), format!("id{group}")))
            .collect();
        let rows: Vec<(&str, &str, Option<usize>)> = names
            .iter()
            .zip(&commits)
            .map(|((key, id), commit)| (key.as_str(), id.as_str(), Some(*commit)))
            .collect();
        // each brings what follows up to the next
        let pull_of = |commit: usize| starts.range(..=commit).next_back().copied();
        let mut brought: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for commit in 0..COMMITS {
            if let Some(start) = pull_of(commit) {
                brought.entry(start as u64 + 1).or_default().push(commit);
            }
        }
        let pulls: Vec<(u64, &[usize])> = brought.iter().map(|(number, all)| (*number, &all[..])).collect();
        let plan = deletes(&rows);
        let printed = judge(&statements(&[], &pulls), &plan, &ours(&[])).agreements;
        prop_assert_eq!(printed.iter().map(|it| it.rows).sum::<usize>(), GROUPS);
        let chosen: Vec<&Agreement> = printed.iter().zip(&agreed).filter(|(_, agreed)| **agreed).map(|(it, _)| it).collect();
        let lines: Vec<(&AllowDeletes, SaidIn)> = chosen
            .iter()
            .filter_map(|it| Some((it.line.as_ref()?, SaidIn::Message(COMMITS - 1))))
            .collect();
        let spoken = statements(&lines, &pulls);

        let is = |fate: u8| rows.iter().zip(&fates).filter(move |(_, of)| **of == fate).map(|(row, _)| *row);
        let left: Vec<_> = is(0).collect();
        let mut half = deletes(&left);
        half.dead = is(1)
            .filter_map(|(key, _, commit)| Some((key.to_owned(), LeftBy::Change(Cause::Commit(commit?)))))
            .collect();
        let recorded = |by_commit: bool, commit: usize| match pull_of(commit) {
            Some(start) if !by_commit => format!("#{}", start + 1),
            _ => sha(commit),
        };
        let gone: Vec<(&str, &str, String)> = is(2)
            .map(|row| (true, row))
            .chain(is(3).map(|row| (false, row)))
            .filter_map(|(by_commit, (key, id, commit))| Some((key, id, recorded(by_commit, commit?))))
            .collect();
        let gone: Vec<(&str, &str, &str)> = gone.iter().map(|(key, id, cause)| (*key, *id, cause.as_str())).collect();
        let ours = ours(&gone);
        let outcome = judge(&spoken, &half, &ours);
        let causes: BTreeSet<_> = chosen.iter().map(|it| it.cause.clone()).collect();
        let is_meant = |row: &Row| causes.contains(&spoken.origin(half.causes[row], &ours.versions));
        let meant: BTreeSet<Row> = half.rows().into_iter().filter(is_meant).collect();
        prop_assert_eq!(&outcome.rows, &meant);
        prop_assert!(outcome.notices.is_empty(), "{:?}", outcome.notices);
    }
}

#[test]
fn the_way_out_names_a_description_where_that_counts() {
    let of = |number: u64, is_fork: bool| Agreement {
        cause: Some(Origin::Pull(number)),
        is_fork,
        rows: 4,
        is_needed: true,
        line: AllowDeletes::parse("4 0badf00d"),
        ..Agreement::default()
    };
    let later = "into the message of a later commit (if that one leaves the file alone, start the apply workflow by hand)";
    let rows = [
        (
            vec![of(2, false)],
            format!(
                "the line into the description of pull request #2 and run this job again, or {later}"
            ),
        ),
        (vec![of(2, true)], format!("the line {later}")),
        (
            vec![Agreement {
                cause: Some(Origin::Commit(sha(1))),
                ..of(2, false)
            }],
            format!("the line {later}"),
        ),
        (
            vec![of(2, true), of(3, false)],
            format!("the lines {later}"),
        ),
    ];
    for (agreements, wanted) in rows {
        assert_eq!(
            way_out(&agreements, 4, true),
            format!("if this is meant, copy {wanted}; if not, undo the change (git revert)")
        );
    }
    let by_hand = |number| way_out(&[of(2, false)], number, false);
    assert!(by_hand(4).contains("--allow-deletes 4, or copy the line into"));
    let both = "--allow-deletes 3 (all that this plan deletes), or copy the line (4: all that the change took out of the file) into";
    assert!(by_hand(3).contains(both), "{}", by_hand(3));
}

#[test]
fn what_a_line_agrees_to_is_named() {
    let users = |role: &str| {
        let mut plan = deletes(&[]);
        let address = Address::new(Kind::User, "mira@example.org");
        let user = kind::User::default();
        let live = Live {
            within: None,
            id: Id::from("u"),
            name: address.name.clone(),
            resource: user.clone().into(),
            wire: Value::Null.into(),
        };
        let operation = Operation::Update {
            live,
            fields: Vec::new(),
            after: user.into(),
        };
        let moved = Moved {
            field: "role".into(),
            value: role.into(),
            what: Moves::Role,
            machines: 1,
        };
        plan.changes.push(Change {
            moved: vec![moved],
            ..Change::new(address, operation, None)
        });
        plan
    };
    let said = |plan: &Plan| {
        let outcome = judge(&statements(&[], &[]), plan, &ours(&[]));
        ways_out(&outcome.agreements)[0].0.clone()
    };
    let mut plan = users("\"admin\"");
    let of_role =
        "to agree to the 1 change of a user's rights that no commit since the last apply asks for";
    assert_eq!(said(&plan), of_role);
    plan.changes
        .extend(deletes(&[("groups/a", "1", None)]).changes);
    let both = "to agree to the 2 deletions and changes of users' rights that no commit since the last apply asks for";
    assert_eq!(said(&plan), both);

    // what no commit asks for counts where somebody says it of this run
    let roles = users("\"admin\"");
    let line = line_of(&roles, &ours(&[]));
    for (place, is_proposed, wanted) in [
        (SaidIn::Run, false, true),
        (SaidIn::Description(4), true, true),
        (SaidIn::Description(4), false, false),
        (SaidIn::Message(COMMITS - 1), false, false),
    ] {
        let mut statements = statements(&[(&line, place)], &[(4, &[COMMITS - 1])]);
        statements.pulls[0].is_proposed = is_proposed;
        let outcome = judge(&statements, &roles, &ours(&[]));
        let case = format!("{place:?} {is_proposed}");
        assert_eq!(!outcome.rows.is_empty(), wanted, "{case}");
    }
    // of a change that is known a message counts as for all else
    let mut by_commit = users("\"admin\"");
    for row in by_commit.rows() {
        by_commit.causes.insert(row, Cause::Commit(2));
    }
    let spoken = statements(&[(&line, SaidIn::Message(2))], &[]);
    assert_eq!(
        judge(&spoken, &by_commit, &ours(&[])).rows,
        by_commit.rows()
    );
}
