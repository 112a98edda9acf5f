//! Notices as people read them: by position in the file, those of one cause as one sentence where they are many.

use std::collections::HashMap;

use crate::base::{listed, visible};
use crate::model::Notice;

/// From how many notices of one cause on they are one sentence.
const MANY: usize = 4;

/// One sentence for one notice, or for many of one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said<'a> {
    /// The sentence.
    pub text: String,
    /// What it is about, in the order in which they are told; never empty.
    pub notices: Vec<&'a Notice>,
}

impl Said<'_> {
    /// Returns whether the plan, or the inventory, lacks something because of it, or the change says what has no effect.
    pub fn is_warning(&self) -> bool {
        self.notices.iter().any(|notice| notice.is_warning())
    }
}

/// Returns what is said of the notices, by position in the file; the same notice is said once.
pub fn say<'a>(notices: impl IntoIterator<Item = &'a Notice>) -> Vec<Said<'a>> {
    let mut sorted: Vec<&Notice> = notices.into_iter().collect();
    sorted.sort_by_cached_key(|it| (position(it), &it.about, it.code, it.words()));
    sorted.dedup();
    // members are counted for each group
    let cause = |notice: &'a Notice| {
        let group = notice.about.as_ref().filter(|_| notice.name.is_some());
        (notice.code, notice.about.as_ref().map(|at| at.kind), group)
    };
    let mut causes: HashMap<_, Vec<&Notice>> = HashMap::new();
    for notice in &sorted {
        causes.entry(cause(notice)).or_default().push(notice);
    }
    let mut said = Vec::new();
    for notice in sorted {
        let several = &causes[&cause(notice)];
        let (text, notices) = match notice.code.many().filter(|_| several.len() >= MANY) {
            Some(sentence) if several[0] == notice => (many(sentence, several), several.clone()),
            Some(_) => continue,
            None => (notice.words(), vec![notice]),
        };
        said.push(Said { text, notices });
    }
    said
}

/// Where a notice is told among others: the run first, then by position in the file, then what stands nowhere.
fn position(notice: &Notice) -> (u8, usize, usize) {
    match (&notice.place, &notice.about) {
        (Some(place), _) => (1, place.line, place.column),
        (None, None) => (0, 0, 0),
        (None, Some(_)) => (2, 0, 0),
    }
}

/// `110 keys have no usage_limit: …: setup_keys.a (line 3), … and 100 more`.
fn many(sentence: &str, notices: &[&Notice]) -> String {
    let sentence = sentence.replacen("{}", &notices.len().to_string(), 1);
    let first = notices[0];
    let subject = match (&first.about, &first.name) {
        (Some(group), Some(_)) => format!("{} ", group.quoted()),
        _ => String::new(),
    };
    let named = |notice: &&Notice| match (&notice.about, &notice.name, &notice.place) {
        (Some(_), Some(name), _) => format!("{name:?}"),
        (Some(address), None, _) => format!("{:?}", address.name),
        (None, Some(name), Some(place)) => format!("{name} (line {})", place.line),
        _ => notice.words(),
    };
    let names: Vec<String> = notices.iter().map(named).collect();
    visible(&format!("{subject}{sentence}: {}", listed(&names))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Id;
    use crate::file::Place;
    use crate::model::{
        Address, Kind, Meanwhile, OfInventory, OfKey, OfMember, OfObject, Open, Protection,
    };

    fn at(notice: Notice, line: usize) -> Notice {
        let place = Place {
            path: String::new(),
            line,
            column: 1,
        };
        Notice {
            place: Some(place),
            ..notice
        }
    }

    fn key(number: usize) -> Notice {
        let address = Address::new(Kind::SetupKey, format!("k{number}"));
        let expires = jiff::Timestamp::from_second(number as i64).expect("a time");
        at(Notice::about(&address, OfKey::ExpiresSoon(expires)), number)
    }

    fn texts(notices: &[Notice]) -> Vec<String> {
        say(notices).into_iter().map(|said| said.text).collect()
    }

    #[test]
    fn notices_stand_in_the_order_of_the_file_after_those_of_the_run() {
        let unused = OfKey::UnusedKey(Id("k9".into()));
        let nowhere = Notice::about(&Address::new(Kind::SetupKey, "a"), unused);
        let general = Notice::general(OfInventory::First);
        let notices = [nowhere, key(10), key(9), general, key(10)];
        let wanted = [
            "there is no inventory yet. The first apply creates it. Until then nothing is deleted, except by --prune all.",
            "setup key \"k9\" expires within a day, at 1970-01-01T00:00:09Z, and is not used yet",
            "setup key \"k10\" expires within a day, at 1970-01-01T00:00:10Z, and is not used yet",
            "setup key \"a\" is marked enrolled, and NetBird has a valid, unused key with its name (id k9). The key is \
             not deleted. If nobody needs it, delete it in NetBird.",
        ];
        assert_eq!(texts(&notices), wanted);
    }

    /// Nothing else says who was put back.
    #[test]
    fn who_was_put_back_is_named_whole() {
        let group = Address::new(Kind::Group, "g");
        let peers: Vec<String> = (1..=12).map(|n| format!("p{n}")).collect();
        let facts = [
            Meanwhile::TookOut(peers.clone()),
            Meanwhile::ThrownOut(peers.clone()),
        ];
        for fact in facts {
            let text = Notice::about(&group, fact).words();
            assert!(!text.contains("more"), "{text}");
            assert!(peers.iter().all(|peer| text.contains(peer)), "{text}");
        }
    }

    #[test]
    fn many_notices_of_one_cause_are_one_with_their_number_and_the_first_names() {
        let notices: Vec<Notice> = (1..=110).rev().map(key).collect();
        let said = say(&notices);
        let [one] = &said[..] else { panic!("{said:?}") };
        assert_eq!(
            one.text,
            "110 setup keys expire within a day and are not used yet: \"k1\", \"k2\", \"k3\", \"k4\", \"k5\", \"k6\", \
             \"k7\", \"k8\", \"k9\", \"k10\" and 100 more"
        );
        assert_eq!(one.notices.len(), 110);
        assert_eq!(
            say(&notices[..MANY - 1]).len(),
            MANY - 1,
            "a few are told each"
        );
    }

    #[test]
    fn a_change_without_effect_is_a_warning_and_an_old_one_is_none() {
        let of = |is_new| {
            let what = OfObject::IssuedPeers {
                issued: Protection::Issued("jwt".into()),
                more: Vec::new(),
                lacks: Vec::new(),
                is_new,
            };
            let notice = Notice::about(&Address::new(Kind::Group, "g"), what);
            say([&notice])[0].is_warning()
        };
        assert_eq!([of(true), of(false)], [true, false]);
    }

    #[test]
    fn members_are_counted_by_their_group() {
        let of = |group: &str, member: usize| {
            let group = Address::new(Kind::Group, group);
            Notice::member(&group, &format!("p{member}"), OfMember::Absent(None))
        };
        let notices: Vec<Notice> = (0..4).map(|n| of("a", n)).chain([of("b", 1)]).collect();
        let wanted = [
            "group \"a\" lists 4 names that no peer has, so no peers are added for them: \"p0\", \"p1\", \"p2\", \"p3\"",
            "group \"b\" lists \"p1\", but no peer has this name, so no peer is added. Check the name. When its machine enrolled, \
             run apply --adopt peers/p1=ID",
        ];
        assert_eq!(texts(&notices), wanted);
    }

    #[test]
    fn what_many_notices_are_about_is_not_lost_where_each_says_more() {
        let address = |n: usize| Address::new(Kind::SetupKey, format!("k{n}"));
        let notice = |n| Notice::about(&address(n), Open::PeerGone);
        let notices: Vec<Notice> = (0..9).map(notice).collect();
        assert_eq!(say(&notices).len(), 9);
    }
}
