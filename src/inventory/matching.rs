//! Which object belongs to which entry: recorded ones by their ids, whatever they are called now; others by name, where the
//! entry lacks an object and nothing else can be meant.
//!
//! It looks at one kind at a time, of what stands in other objects at those of one parent. It knows names and ids; how
//! like an object is to an entry it is told.

use std::collections::{BTreeMap, BTreeSet};

use super::Origin;
use crate::base::id::Id;

/// An entry of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name that it had (`renamed_from`).
    pub old: Option<&'a str>,
    /// How many objects it has.
    pub number: usize,
    /// The object that a person names for it (`--adopt`).
    pub asked: Option<&'a Id>,
}

/// An object that exists and that a file may manage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object<'a> {
    /// Its id.
    pub id: &'a Id,
    /// Its name now.
    pub name: &'a str,
    /// Its name when it was recorded, and how; none of one that is not recorded.
    pub recorded: Option<(&'a str, Origin)>,
    /// Whether the event log proves that a run of ours made it.
    pub is_made: bool,
    /// Whether the inventory of another environment has it.
    pub is_strange: bool,
}

/// The entries and the objects of one kind.
pub struct Scene<'a> {
    /// The entries.
    pub entries: Vec<Entry<'a>>,
    /// The objects, the oldest first.
    pub objects: Vec<Object<'a>>,
    /// In how many fields an object differs from what an entry has at that place; none where it is another thing: a route
    /// of another network, a record that leads elsewhere.
    pub unlike: &'a dyn Fn(usize, usize, &Id) -> Option<usize>,
    /// Whether an object differs in what no change can give it.
    pub is_fixed: &'a dyn Fn(usize, usize, &Id) -> bool,
    /// Whether several objects can stand for one name.
    pub is_several: bool,
    /// Whether an entry may adopt an object that nobody recorded: no other environment is known to have it.
    pub adopts: bool,
    /// Whether surplus that the event log alone tells goes, too.
    pub trusts_log: bool,
}

/// What of an entry was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Match {
    /// The object of each place of the entry; none where one is to be made.
    pub stands: Vec<Option<Id>>,
    /// Those of them that are not recorded yet, and as what they are adopted.
    pub adopted: BTreeMap<Id, Origin>,
    /// Objects that the entry has too many.
    pub surplus: Vec<(Id, Origin)>,
    /// Objects that could all be meant, so that nothing is done.
    pub unclear: Vec<Id>,
    /// Other objects of its name, which stay as they are.
    pub beside: BTreeSet<Id>,
}

/// A recorded object that no entry stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// The object.
    pub id: Id,
    /// How it was recorded.
    pub origin: Origin,
    /// Whether it has another name in NetBird by now.
    pub is_renamed: bool,
}

/// Finds the objects of each entry, in the order of the entries, and what no entry stands for.
pub fn match_objects(scene: &Scene) -> (Vec<Match>, Vec<Leaving>) {
    let Scene {
        entries, objects, ..
    } = scene;
    // recorded objects by the name that they were recorded by
    let mut recorded: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, object) in objects.iter().enumerate() {
        if let Some((name, _)) = object.recorded {
            recorded.entry(name).or_default().push(at);
        }
    }
    let lacks: Vec<bool> = entries
        .iter()
        .map(|entry| !recorded.contains_key(entry.name))
        .collect();
    let mut found: Vec<Vec<usize>> = vec![Vec::new(); entries.len()];
    // an entry that says which one it was goes before the one that has the old name now
    for (at, entry) in entries.iter().enumerate() {
        if let (true, Some(old)) = (lacks[at], entry.old) {
            found[at] = recorded.remove(old).unwrap_or_default();
        }
    }
    for (at, entry) in entries.iter().enumerate() {
        if let Some(own) = recorded.remove(entry.name) {
            found[at] = own;
        }
    }
    // the file followed a rename in NetBird
    let lacking = (0..entries.len()).filter(|at| lacks[*at]);
    let lacking: BTreeMap<&str, usize> = lacking.map(|at| (entries[at].name, at)).collect();
    let mut leaving = Vec::new();
    for (name, all) in recorded {
        for object in all {
            let present = Some(objects[object].name).filter(|present| *present != name);
            let entry = present.and_then(|present| lacking.get(present).copied());
            match entry.filter(|at| entries[*at].old.is_none() || found[*at].is_empty()) {
                Some(at) => found[at].push(object),
                None => leaving.push(object),
            }
        }
    }
    let mut taken: BTreeSet<usize> = found.iter().flatten().copied().collect();
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, object) in objects.iter().enumerate() {
        by_name.entry(object.name).or_default().push(at);
    }
    let mut matches = Vec::new();
    for (at, own) in found.iter().enumerate() {
        matches.push(one_entry(scene, at, own, &by_name, &mut taken));
    }
    let leaves = |object: usize| {
        let Object {
            id, name, recorded, ..
        } = &objects[object];
        let (known_as, origin) = (*recorded)?;
        (!taken.contains(&object)).then(|| Leaving {
            id: (*id).clone(),
            origin,
            is_renamed: known_as != *name,
        })
    };
    let leaving = leaving.into_iter().filter_map(leaves).collect();
    (matches, leaving)
}

/// Gives the places of an entry their objects: `own` are the recorded ones.
fn one_entry(
    scene: &Scene,
    at: usize,
    own: &[usize],
    by_name: &BTreeMap<&str, Vec<usize>>,
    taken: &mut BTreeSet<usize>,
) -> Match {
    let Scene {
        entries, objects, ..
    } = scene;
    let entry = &entries[at];
    let mut matched = Match {
        stands: vec![None; entry.number],
        ..Match::default()
    };
    let asked = entry
        .asked
        .and_then(|id| objects.iter().position(|object| object.id == id));
    let mut own: Vec<usize> = own.iter().copied().chain(asked).collect();
    own.sort_unstable();
    own.dedup();
    let places = given_out(scene, at, &own);
    for (place, object) in places.iter().enumerate() {
        matched.stands[place] = object.map(|object| objects[object].id.clone());
    }
    for object in &own {
        taken.insert(*object);
        let Object { id, recorded, .. } = &objects[*object];
        let stands = places.contains(&Some(*object));
        match recorded {
            None => drop(
                matched
                    .adopted
                    .insert((*id).clone(), origin(&objects[*object])),
            ),
            // surplus of an entry that has none is no surplus: there is a place for each
            Some((_, origin)) if !stands => matched.surplus.push(((*id).clone(), *origin)),
            Some(_) => {}
        }
    }
    // those of its name that nobody recorded
    let name = match (entry.old, own.is_empty()) {
        (Some(old), true) if !by_name.contains_key(entry.name) => old,
        _ => entry.name,
    };
    let is_free = |object: &usize| objects[*object].recorded.is_none() && !taken.contains(object);
    let free = by_name.get(name).into_iter().flatten().copied();
    let free: Vec<usize> = free.filter(is_free).collect();
    let (mut free, strange): (Vec<usize>, Vec<usize>) = free
        .into_iter()
        .partition(|object| !objects[*object].is_strange);
    let open: Vec<usize> = (0..entry.number)
        .filter(|place| matched.stands[*place].is_none())
        .collect();
    for place in &open {
        match chosen(scene, at, *place, &free) {
            Chosen::One(object) => {
                free.retain(|other| *other != object);
                taken.insert(object);
                let id = objects[object].id.clone();
                matched.adopted.insert(id.clone(), origin(&objects[object]));
                matched.stands[*place] = Some(id);
            }
            Chosen::Nobody => {}
            Chosen::Unclear(several) => {
                let ids = several.iter().map(|object| objects[*object].id.clone());
                matched.unclear.extend(ids);
            }
        }
    }
    let lacks_none = matched.stands.iter().all(Option::is_some);
    for object in free {
        let Object { id, is_made, .. } = &objects[object];
        if *is_made && lacks_none && scene.trusts_log {
            matched.surplus.push(((*id).clone(), Origin::Created));
            taken.insert(object);
        } else if !matched.unclear.contains(id) {
            matched.beside.insert((*id).clone());
        }
    }
    let strange = strange.into_iter().map(|object| objects[object].id.clone());
    matched.beside.extend(strange);
    matched
}

fn origin(object: &Object) -> Origin {
    match object.is_made {
        true => Origin::Created,
        false => Origin::Adopted,
    }
}

/// Which of some objects an entry adopts.
enum Chosen {
    One(usize),
    Nobody,
    Unclear(Vec<usize>),
}

/// Chooses among objects that nobody recorded: the only one; of several the one that a run of ours made, then the one that is
/// as the entry says, of equal ones the oldest.
fn chosen(scene: &Scene, at: usize, place: usize, free: &[usize]) -> Chosen {
    let unlike = |object: &usize| (scene.unlike)(at, place, scene.objects[*object].id);
    let fits = |object: &&usize| unlike(object).is_some();
    let fitting: Vec<usize> = free.iter().filter(fits).copied().collect();
    let made = fitting
        .iter()
        .find(|object| scene.objects[**object].is_made);
    let equal = fitting.iter().find(|object| unlike(object) == Some(0));
    match (&fitting[..], made.or(equal)) {
        ([], _) => Chosen::Nobody,
        _ if !scene.adopts => Chosen::Unclear(fitting),
        ([only], _) => Chosen::One(*only),
        (_, Some(object)) => Chosen::One(*object),
        (_, None) => Chosen::Unclear(fitting),
    }
}

/// Gives recorded objects out to the places of an entry. An entry of one has the first that needs no replacement, of several
/// such one that still has its name; where an
/// entry can have several, the difference is least in total, and of equal ones the oldest comes first.
fn given_out(scene: &Scene, at: usize, own: &[usize]) -> Vec<Option<usize>> {
    let number = scene.entries[at].number;
    let id = |object: usize| scene.objects[object].id;
    if !scene.is_several {
        let has_name = |object: usize| scene.objects[object].name == scene.entries[at].name;
        let order = |object: &&usize| ((scene.is_fixed)(at, 0, id(**object)), !has_name(**object));
        // of equal ones the first is the oldest
        let first = own.iter().min_by_key(order);
        return vec![first.copied(); number.min(1)];
    }
    // what differs in what it connects differs more than in all else
    const OTHER: usize = 1_000;
    let cost = |place: usize, object: usize| {
        let differs = |is_same: Option<usize>| is_same.unwrap_or(OTHER);
        differs((scene.unlike)(at, place, id(object)))
    };
    let given = assigned(number, own.len(), &|place, which| cost(place, own[which]));
    let given = given.into_iter();
    given.map(|which| which.map(|which| own[which])).collect()
}

/// Gives as many rows as possible a column of their own so that the sum of the costs is least; of equal sums the first columns come
/// first. The Hungarian method, one row after the other.
fn assigned(
    rows: usize,
    columns: usize,
    cost: &dyn Fn(usize, usize) -> usize,
) -> Vec<Option<usize>> {
    if rows > columns {
        let mut given = vec![None; rows];
        let turned = assigned(columns, rows, &|column, row| cost(row, column));
        for (column, row) in turned.into_iter().enumerate() {
            given[row.expect("there are rows enough")] = Some(column);
        }
        return given;
    }
    // columns are counted from 1: column 0 has the row that looks for one
    let (mut of_row, mut of_column) = (vec![0_usize; rows], vec![0_usize; columns + 1]);
    let mut row_of: Vec<Option<usize>> = vec![None; columns + 1];
    let mut free: BTreeSet<usize> = (1..=columns).collect();
    let mut costs: Vec<Vec<usize>> = vec![Vec::new(); rows];
    for row in 0..rows {
        // no other one can cost less; so where nothing differs, each row is looked at once
        if let Some(at) = free.iter().copied().find(|at| cost(row, at - 1) == 0) {
            row_of[at] = Some(row);
            free.remove(&at);
            continue;
        }
        row_of[0] = Some(row);
        let mut least = vec![usize::MAX; columns + 1];
        let mut way = vec![0; columns + 1];
        let mut used = vec![false; columns + 1];
        let mut at = 0;
        while let Some(from) = row_of[at] {
            used[at] = true;
            if costs[from].is_empty() {
                costs[from] = (0..columns).map(|column| cost(from, column)).collect();
            }
            let (mut step, mut next) = (usize::MAX, 0);
            for column in (1..=columns).filter(|column| !used[*column]) {
                // what a column costs less than its row says, others pay for
                let reduced = costs[from][column - 1] + of_column[column] - of_row[from];
                if reduced < least[column] {
                    (least[column], way[column]) = (reduced, at);
                }
                if least[column] < step {
                    (step, next) = (least[column], column);
                }
            }
            for column in 0..=columns {
                match row_of[column].filter(|_| used[column]) {
                    Some(row) => {
                        of_row[row] += step;
                        of_column[column] += step;
                    }
                    None => least[column] = least[column].saturating_sub(step),
                }
            }
            at = next;
        }
        free.remove(&at);
        while at != 0 {
            row_of[at] = row_of[way[at]];
            at = way[at];
        }
    }
    let mut given = vec![None; rows];
    for (column, row) in row_of.into_iter().skip(1).enumerate() {
        row.into_iter().for_each(|row| given[row] = Some(column));
    }
    given
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An object: name, recorded name and origin, marks (`m` made by us, `s` of another environment).
    type Row<'a> = (&'a str, Option<(&'a str, Origin)>, &'a str);

    const CREATED: Origin = Origin::Created;
    const ADOPTED: Origin = Origin::Adopted;

    /// Objects are numbered by age from 1; `unlike` says in how many fields object N differs from its entry.
    fn outcome(
        entries: &[(&str, Option<&str>)],
        rows: &[Row],
        unlike: &dyn Fn(&str) -> Option<usize>,
    ) -> String {
        let ids: Vec<Id> = (1..=rows.len())
            .map(|number| Id::from(number.to_string().as_str()))
            .collect();
        let objects = rows
            .iter()
            .zip(&ids)
            .map(|((name, recorded, marks), id)| Object {
                id,
                name,
                recorded: *recorded,
                is_made: marks.contains('m'),
                is_strange: marks.contains('s'),
            });
        let entries: Vec<Entry> = entries
            .iter()
            .map(|(name, old)| Entry {
                name,
                old: *old,
                number: 1,
                asked: None,
            })
            .collect();
        let scene = Scene {
            objects: objects.collect(),
            unlike: &|_, _, id| unlike(&id.0),
            is_fixed: &|_, _, _| false,
            is_several: false,
            adopts: true,
            trusts_log: true,
            entries: entries.clone(),
        };
        let (matches, leaving) = match_objects(&scene);
        let mut lines = Vec::new();
        for (entry, found) in entries.iter().zip(&matches) {
            let mut line = format!("{}:", entry.name);
            for id in found.stands.iter().flatten() {
                let how = found
                    .adopted
                    .get(id)
                    .map(|origin| format!(" as {origin:?}"));
                line += &format!(" {id}{}", how.unwrap_or_default());
            }
            for (id, origin) in &found.surplus {
                line += &format!(" surplus {id} {origin:?}");
            }
            for (word, ids) in [
                ("unclear", found.unclear.clone()),
                ("beside", found.beside.iter().cloned().collect()),
            ] {
                ids.iter().for_each(|id| line += &format!(" {word} {id}"));
            }
            lines.push(line);
        }
        for left in leaving {
            let renamed = if left.is_renamed { " renamed" } else { "" };
            lines.push(format!("leaves {} {:?}{renamed}", left.id, left.origin));
        }
        lines.join("; ")
    }

    fn equal(_: &str) -> Option<usize> {
        Some(0)
    }

    fn other(_: &str) -> Option<usize> {
        Some(1)
    }

    #[test]
    fn recorded_objects_are_known_by_their_ids() {
        let a = Some(("a", CREATED));
        type Entries<'a> = &'a [(&'a str, Option<&'a str>)];
        let rows: &[(Entries, &[Row], &str)] = &[
            (&[("a", None)], &[("a", a, "")], "a: 1"),
            // renamed in NetBird
            (&[("a", None)], &[("x", a, "")], "a: 1"),
            // and somebody made another one of the name
            (
                &[("a", None)],
                &[("x", a, ""), ("a", None, "")],
                "a: 1 beside 2",
            ),
            // the file follows
            (&[("x", None)], &[("x", a, "")], "x: 1"),
            // the file renames
            (&[("b", Some("a"))], &[("a", a, "")], "b: 1"),
            // it did already
            (
                &[("b", Some("a"))],
                &[("b", Some(("b", CREATED)), "")],
                "b: 1",
            ),
            // the old name is taken by another entry of the same change
            (
                &[("a", None), ("b", Some("a"))],
                &[("a", a, "")],
                "a:; b: 1",
            ),
            (&[], &[("a", a, "")], "leaves 1 Created"),
            (&[], &[("x", a, "")], "leaves 1 Created renamed"),
            (&[], &[("a", Some(("a", ADOPTED)), "")], "leaves 1 Adopted"),
            (&[], &[("a", None, "m")], ""),
            // two runs made it at once
            (
                &[("a", None)],
                &[("a", a, ""), ("a", a, "")],
                "a: 1 surplus 2 Created",
            ),
        ];
        for (entries, objects, wanted) in rows {
            assert_eq!(outcome(entries, objects, &equal), *wanted, "{objects:?}");
        }
    }

    #[test]
    fn others_are_adopted_by_name_where_nothing_else_can_be_meant() {
        let a: &[(&str, Option<&str>)] = &[("a", None)];
        type Unlike = fn(&str) -> Option<usize>;
        let second: Unlike = |id| Some(usize::from(id != "2"));
        let rows: &[(&[Row], Unlike, &str)] = &[
            (&[("a", None, "")], other, "a: 1 as Adopted"),
            (&[("a", None, "m")], other, "a: 1 as Created"),
            (&[("a", None, "s")], equal, "a: beside 1"),
            (
                &[("a", None, ""), ("a", None, "")],
                equal,
                "a: 1 as Adopted beside 2",
            ),
            (
                &[("a", None, ""), ("a", None, "")],
                second,
                "a: 2 as Adopted beside 1",
            ),
            (
                &[("a", None, ""), ("a", None, "")],
                other,
                "a: unclear 1 unclear 2",
            ),
            (
                &[("a", None, ""), ("a", None, "m")],
                other,
                "a: 2 as Created beside 1",
            ),
            (&[("a", None, "")], |_| None, "a: beside 1"),
            (
                &[("a", Some(("a", CREATED)), ""), ("a", None, "m")],
                equal,
                "a: 1 surplus 2 Created",
            ),
            (&[("old", None, "")], equal, "a:"),
        ];
        for (objects, unlike, wanted) in rows {
            assert_eq!(outcome(a, objects, unlike), *wanted, "{objects:?}");
        }
        let renamed = [("a", Some("old"))];
        assert_eq!(
            outcome(&renamed, &[("old", None, "")], &equal),
            "a: 1 as Adopted"
        );
        let both = [("old", None, ""), ("a", None, "")];
        assert_eq!(outcome(&renamed, &both, &equal), "a: 2 as Adopted");
    }

    proptest! {
        /// No other way to give objects out costs less.
        #[test]
        fn objects_are_given_out_with_the_least_difference(
            places in 0..4_usize,
            things in 0..5_usize,
            costs in prop::collection::vec(0..9_usize, 20),
        ) {
            let cost = |place: usize, thing: usize| costs[place * 5 + thing];
            let given = assigned(places, things, &cost);
            let sum = |given: &[Option<usize>]| -> (usize, usize) {
                let empty = given.iter().filter(|thing| thing.is_none()).count();
                let all = given.iter().enumerate();
                (empty, all.filter_map(|(place, thing)| Some(cost(place, (*thing)?))).sum())
            };
            let mut best = (usize::MAX, usize::MAX);
            let choices = (things + 1).pow(u32::try_from(places).unwrap());
            for mut choice in 0..choices {
                let mut way = Vec::new();
                for _ in 0..places {
                    way.push((choice % (things + 1)).checked_sub(1));
                    choice /= things + 1;
                }
                let mut used: Vec<usize> = way.iter().flatten().copied().collect();
                used.sort_unstable();
                if used.windows(2).all(|two| two[0] != two[1]) {
                    best = best.min(sum(&way));
                }
            }
            prop_assert_eq!(sum(&given), best);
        }
    }
}
