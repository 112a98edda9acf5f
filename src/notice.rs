//! What a reader of a plan should know and that changes nothing: its cause, what it is about, where that stands in the file.
//!
//! Notices of one cause are one sentence where they are many; it is made here.

use std::collections::HashMap;

use crate::address::Address;
use crate::code::Code;
use crate::config::{self, Place};
use crate::text::{listed, visible};

/// From how many notices of one cause on they are one sentence.
const MANY: usize = 4;

/// Something that a reader of the plan should know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Notice {
    /// Its cause.
    pub code: Code,
    /// The object that it is about.
    pub about: Option<Address>,
    /// The name that sets it apart from others of its cause, such as a member of the group that it is about.
    pub name: Option<String>,
    /// Where that stands in the file.
    pub place: Option<Place>,
    /// The sentence; names the object itself.
    pub text: String,
}

impl Notice {
    /// A notice of the run as a whole.
    pub fn general(code: Code, text: impl Into<String>) -> Self {
        Notice {
            code,
            about: None,
            name: None,
            place: None,
            text: text.into(),
        }
    }

    /// A notice about one object. The text follows its kind and name.
    pub fn about(code: Code, address: &Address, text: impl AsRef<str>) -> Self {
        Notice {
            about: Some(address.clone()),
            ..Notice::general(code, format!("{} {}", subject(address), text.as_ref()))
        }
    }

    /// A notice about a member of a group. The text follows the group's kind and name.
    pub fn member(code: Code, group: &Address, member: &str, text: impl AsRef<str>) -> Self {
        Notice {
            name: Some(member.to_owned()),
            ..Notice::about(code, group, text)
        }
    }

    /// A notice of a valid file.
    pub fn of_file(file: &str, problem: &config::Finding) -> Self {
        let hint = problem.hint.iter().map(|hint| format!("; {hint}"));
        let place = problem.place();
        let path = match place.path.as_str() {
            "" => String::new(),
            path => format!("{path}: "),
        };
        let text = format!(
            "{file}:{}:{}  {path}{}{}",
            place.line,
            place.column,
            problem.message,
            hint.collect::<String>()
        );
        Notice {
            name: Some(problem.brief.clone().unwrap_or_else(|| place.path.clone())),
            place: Some(place),
            ..Notice::general(problem.code, text)
        }
    }

    /// Where it is told among others: the run first, then by position in the file, then what stands nowhere.
    fn position(&self) -> (u8, usize, usize) {
        match (&self.place, &self.about) {
            (Some(place), _) => (1, place.line, place.column),
            (None, None) => (0, 0, 0),
            (None, Some(_)) => (2, 0, 0),
        }
    }
}

fn subject(address: &Address) -> String {
    format!("{} {:?}", address.kind.label(), address.name)
}

/// One sentence for one notice, or for many of one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said<'a> {
    /// The sentence.
    pub text: String,
    /// What it is about, in the order in which they are told; never empty.
    pub notices: Vec<&'a Notice>,
}

/// Returns what is said of the notices, by position in the file; the same notice is said once.
pub fn say<'a>(notices: impl IntoIterator<Item = &'a Notice>) -> Vec<Said<'a>> {
    let mut sorted: Vec<&Notice> = notices.into_iter().collect();
    sorted.sort_by_key(|notice| {
        let Notice {
            code, about, text, ..
        } = notice;
        (notice.position(), about, *code, text)
    });
    sorted.dedup_by_key(|notice| (notice.code, &notice.text));
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
        match notice.code.many().filter(|_| several.len() >= MANY) {
            Some(sentence) if several[0] == notice => said.push(Said {
                text: many(sentence, several),
                notices: several.clone(),
            }),
            Some(_) => {}
            None => said.push(Said {
                text: notice.text.clone(),
                notices: vec![notice],
            }),
        }
    }
    said
}

/// `110 keys have no usage_limit: …: setup_keys.a (line 3), … and 100 more`.
fn many(sentence: &str, notices: &[&Notice]) -> String {
    let sentence = sentence.replacen("{}", &notices.len().to_string(), 1);
    let first = notices[0];
    let subject = match (&first.about, &first.name) {
        (Some(group), Some(_)) => format!("{} ", subject(group)),
        _ => String::new(),
    };
    let named = |notice: &&Notice| match (&notice.about, &notice.name, &notice.place) {
        (Some(_), Some(name), _) => format!("{name:?}"),
        (Some(address), None, _) => format!("{:?}", address.name),
        (None, Some(name), Some(place)) => format!("{name} (line {})", place.line),
        _ => notice.text.clone(),
    };
    let names: Vec<String> = notices.iter().map(named).collect();
    visible(&format!("{subject}{sentence}: {}", listed(&names))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

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
        let text = format!("expires within a day, at {number}");
        at(Notice::about(Code::ExpiresSoon, &address, text), number)
    }

    fn texts(notices: &[Notice]) -> Vec<String> {
        say(notices).into_iter().map(|said| said.text).collect()
    }

    #[test]
    fn notices_stand_in_the_order_of_the_file_after_those_of_the_run() {
        let foreign = Notice::about(Code::UnusedKey, &Address::new(Kind::SetupKey, "a"), "stays");
        let general = Notice::general(Code::History, "the checkout is shallow");
        let notices = [foreign, key(10), key(9), general, key(10)];
        let wanted = [
            "the checkout is shallow",
            "setup key \"k9\" expires within a day, at 9",
            "setup key \"k10\" expires within a day, at 10",
            "setup key \"a\" stays",
        ];
        assert_eq!(texts(&notices), wanted);
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
    fn members_are_counted_by_their_group() {
        let of = |group: &str, member: usize| {
            let group = Address::new(Kind::Group, group);
            let member = format!("p{member}");
            Notice::member(
                Code::MemberAbsent,
                &group,
                &member,
                format!("lists {member:?}, and no peer is called that"),
            )
        };
        let notices: Vec<Notice> = (0..4).map(|n| of("a", n)).chain([of("b", 1)]).collect();
        let wanted = [
            "group \"a\" lists 4 names that no peer bears: \"p0\", \"p1\", \"p2\", \"p3\"",
            "group \"b\" lists \"p1\", and no peer is called that",
        ];
        assert_eq!(texts(&notices), wanted);
    }

    #[test]
    fn what_many_notices_are_about_is_not_lost_where_each_says_more() {
        let address = |n: usize| Address::new(Kind::SetupKey, format!("k{n}"));
        let notices: Vec<Notice> = (0..9)
            .map(|n| {
                Notice::about(
                    Code::EnrollmentOpen,
                    &address(n),
                    format!("was used by p{n}"),
                )
            })
            .collect();
        assert_eq!(say(&notices).len(), 9);
    }
}
