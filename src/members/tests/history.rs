//! Since when a name is listed decides whom it can mean.

use proptest::prelude::*;
use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::testing::{Case, MADE, group, over, peer, peer_at, table};

/// A file whose group `g` lists these names, as it was committed.
fn version(lists: &[&str]) -> Value {
    json!({ "groups": { "g": { "peers": lists } } })
}

/// The group `g` that lists `edge`, in a history of versions.
fn with_history(history: &[(i64, Value)], members: &[&str], peers: Vec<Value>) -> Case {
    let live = json!({ "groups": [group("g", members)], "peers": peers });
    Case::new(version(&["edge"]), live).history(history)
}

/// A peer's id holds the second of its creation, so a name that was listed before is not meant for it.
#[test]
fn a_peer_younger_than_its_listing_is_not_meant() {
    let edge = |second: i64| vec![peer_at("edge", second)];
    let listed = |second: i64| vec![(MADE - 9_000, version(&[])), (second, version(&["edge"]))];
    let rows = [
        (
            "older than the commit that listed it",
            with_history(&listed(MADE + 1), &[], edge(MADE)).outcome(),
        ),
        (
            "of the same second",
            with_history(&listed(MADE), &[], edge(MADE)).outcome(),
        ),
        (
            "younger",
            with_history(&listed(MADE - 1), &[], edge(MADE)).outcome(),
        ),
        (
            "younger, but a member already",
            with_history(&listed(MADE - 1), &["edge"], vec![peer("edge")]).outcome(),
        ),
        (
            "listed in no commit yet",
            with_history(&[(MADE - 9_000, version(&[]))], &[], edge(MADE)).outcome(),
        ),
        (
            "listed, taken out and listed again since",
            with_history(
                &[
                    (MADE - 9, version(&["edge"])),
                    (MADE - 5, version(&[])),
                    (MADE + 5, version(&["edge"])),
                ],
                &[],
                edge(MADE),
            )
            .outcome(),
        ),
        (
            "two of the name, none a member",
            with_history(
                &listed(MADE + 1),
                &[],
                vec![peer("edge"), peer_at("edge", MADE + 500)],
            )
            .outcome(),
        ),
        (
            "a member that was listed once goes",
            with_history(
                &[
                    (MADE - 9, version(&["edge", "x"])),
                    (MADE - 5, version(&["edge"])),
                ],
                &["edge", "x"],
                vec![peer("edge"), peer("x")],
            )
            .outcome(),
        ),
        (
            "a member that was never listed stays",
            with_history(
                &listed(MADE - 9),
                &["edge", "x"],
                vec![peer("edge"), peer("x")],
            )
            .outcome(),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
older than the commit that listed it
    update group g
        peers [] → ["edge"]
of the same second
    update group g
        peers [] → ["edge"]
younger
    note: group "g" lists "edge": the peer of that name is younger than the commit that listed it, so it is not added; list it again in a new commit if it is meant
younger, but a member already
    nothing
listed in no commit yet
    update group g
        peers [] → ["edge"]
listed, taken out and listed again since
    update group g
        peers [] → ["edge"]
two of the name, none a member
    update group g
        peers [] → ["edge (daojn00qcrormgvs1g00)"]
a member that was listed once goes
    update group g
        peers ["edge","x"] → ["edge"]
a member that was never listed stays
    unmanaged in g: ["x"]

"#]].raw());
}

proptest! {
    /// Whoever enrolls after the commit that listed a name does not get in by bearing it.
    #[test]
    fn nobody_gets_in_by_a_name_that_was_listed_before(
        name in prop_oneof![Just("edge".to_owned()), Just("x".to_owned()), any::<String>()],
        later in 1..100_000_i64,
        is_there in any::<bool>(),
    ) {
        let history = [(MADE, version(&["edge"]))];
        let family = if is_there { vec![peer_at("edge", MADE - 9)] } else { vec![] };
        let other = over(peer_at(&name, MADE + later), json!({ "name": name }));
        let id = crate::id::Id(other["id"].as_str().expect("an id").to_owned().into());
        let plan = with_history(&history, &[], [family, vec![other]].concat()).plan();
        let plan = plan.map_err(|problems| TestCaseError::fail(format!("{problems:?}")))?;
        prop_assert!(plan.changes.iter().all(|change| !change.added_members().contains(&id)));
    }
}
