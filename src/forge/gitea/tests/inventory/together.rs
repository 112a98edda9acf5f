//! Two writers and more: no order of their requests loses an id or a key.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

use fakes::Request;

use super::*;

/// Whose request is done next. No request of one is done while one of the other is.
struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The writers of the requests to come; behind them the first writer goes first.
    order: VecDeque<usize>,
    running: Option<usize>,
    done: [bool; 2],
}

impl State {
    fn may_go(&mut self, writer: usize) -> bool {
        while self.order.front().is_some_and(|next| self.done[*next]) {
            self.order.pop_front();
        }
        let next = match self.order.front() {
            Some(next) => *next,
            None => usize::from(self.done[0]),
        };
        self.running.is_none() && next == writer
    }
}

impl Turns {
    fn wait(&self, writer: usize) {
        let mut state = self.state.lock().unwrap();
        state.running.take_if(|running| *running == writer);
        self.changed.notify_all();
        while !state.may_go(writer) {
            state = self.changed.wait(state).unwrap();
        }
        state.order.pop_front();
        state.running = Some(writer);
    }

    fn end(&self, writer: usize) {
        let mut state = self.state.lock().unwrap();
        state.running.take_if(|running| *running == writer);
        state.done[writer] = true;
        self.changed.notify_all();
    }
}

/// Two writers, each with a token of its own, of an id and a key each; what they were asked about.
fn in_order(gitea: &Gitea, name: &str, order: Vec<usize>) -> [Vec<Option<String>>; 2] {
    let turns = Arc::new(Turns {
        state: Mutex::new(State {
            order: order.into(),
            ..State::default()
        }),
        changed: Condvar::new(),
    });
    let tokens = [gitea.token(), gitea.token_with(&["write:repository"])];
    gitea.watch({
        let (turns, tokens) = (Arc::clone(&turns), tokens.clone());
        move |request: &Request| {
            let sent = request.header("authorization").unwrap_or_default();
            let writer = tokens.iter().position(|token| sent.ends_with(token));
            turns.wait(writer.unwrap());
        }
    });
    let asked = std::thread::scope(|scope| {
        let writers = [0, 1].map(|number| {
            let (branch, turns) = (branch_as(gitea, &tokens[number], name), Arc::clone(&turns));
            scope.spawn(move || {
                let id = ["first", "second"][number];
                let mut asked = Vec::new();
                let mut edit = |text: Option<&[u8]>| {
                    asked.push(text.map(|text| String::from_utf8(text.to_vec()).unwrap()));
                    Ok(with_id(text, id))
                };
                let outcome = branch.write(&mut edit, &[key(id)], patience());
                turns.end(number);
                assert!(is_committed(&outcome), "{outcome:?}");
                asked
            })
        });
        writers.map(|writer| writer.join().unwrap())
    });
    gitea.clear_faults();
    asked
}

/// All orders of `each` requests of two writers.
fn orders(each: [usize; 2]) -> Vec<Vec<usize>> {
    if each == [0, 0] {
        return vec![Vec::new()];
    }
    let of = |writer: usize| {
        let mut rest = each;
        rest[writer] = rest[writer].checked_sub(1)?;
        let longer = |mut order: Vec<usize>| {
            order.insert(0, writer);
            order
        };
        Some(orders(rest).into_iter().map(longer).collect::<Vec<_>>())
    };
    [of(0), of(1)].into_iter().flatten().flatten().collect()
}

#[test]
fn two_writers_in_every_order_of_their_requests() {
    for gitea in both() {
        // Undisturbed each makes three.
        for order in orders([3, 3]) {
            gitea.push(BRANCH, PATH, "kept\n", "begin\n");
            let before = messages(&gitea).len();
            in_order(&gitea, BRANCH, order.clone());
            assert_eq!(text(&gitea), "first\nkept\nsecond\n", "{order:?}");
            assert_eq!(messages(&gitea).len(), before + 2, "{order:?}");
            for id in ["first", "second"] {
                assert_eq!(gitea.file(BRANCH, &key_path(id)), key(id).1);
            }
            delete_branch(&gitea);
        }
    }
}

/// Two first inventories: the first writer makes so many requests, then the second so many, then each the rest.
fn two_first_inventories(gitea: &Gitea, of_first: usize, of_second: usize) {
    let mut order = vec![0; of_first];
    order.extend(vec![1; of_second]);
    order.extend([0; 9]);
    let name = format!("netbird-gitops/{of_first}-{of_second}");
    let [first, second] = in_order(gitea, &name, order);
    let told = format!("{of_first} then {of_second}: {first:?} {second:?}");
    let text = String::from_utf8(gitea.file(&name, PATH)).unwrap();
    assert_eq!(text, "first\nsecond\n", "{told}");
    // One made it, and the other was shown what that one had made.
    let last = |asked: &[Option<String>]| asked.last().cloned().flatten();
    let lasts = [last(&first), last(&second)];
    let saw_second = [Some("second\n".to_owned()), None];
    let saw_first = [None, Some("first\n".to_owned())];
    assert!(lasts == saw_second || lasts == saw_first, "{told}");
    let commits = gitea.log(&name).len() - gitea.log("main").len();
    assert_eq!(commits, 2, "{told}");
}

#[test]
fn two_first_inventories_at_every_request_of_each_other() {
    // Undisturbed each makes five.
    let gitea = Gitea::start();
    for of_first in 0..=5 {
        for of_second in 0..=5 {
            two_first_inventories(&gitea, of_first, of_second);
        }
    }
    let forgejo = Gitea::start_forgejo();
    for of_first in 1..5 {
        two_first_inventories(&forgejo, of_first, 4);
        two_first_inventories(&forgejo, of_first, 5);
    }
}

#[test]
fn whole_write_in_the_middle_of_another() {
    for gitea in both() {
        let ours = branch(&gitea);
        for there in [false, true] {
            let mut seen = Vec::new();
            let theirs = branch(&gitea);
            let id = format!("theirs {there}");
            gitea.race(move |_| drop(write(&theirs, &id, &[&id]).unwrap()));
            let id = format!("ours {there}");
            let mut edit = |text: Option<&[u8]>| {
                seen.push(text.is_some());
                Ok(with_id(text, &id))
            };
            assert!(is_committed(&ours.write(
                &mut edit,
                &[key(&id)],
                patience()
            )));
            assert_eq!(seen, [there, true]);
        }
        let all = "ours false\nours true\ntheirs false\ntheirs true\n";
        assert_eq!(text(&gitea), all);
        assert_eq!(messages(&gitea).len(), 4);
        assert_eq!(ours.copies().unwrap().len(), 4);
    }
}

#[test]
fn equal_text_of_another_run_is_not_our_commit() {
    for gitea in both() {
        let branch = branch(&gitea);
        write(&branch, "a", &[]).unwrap();
        gitea.race(|gitea| {
            gitea.push(BRANCH, PATH, "a\nb\n", "another's\n");
        });
        assert!(is_committed(&write(&branch, "b", &["k"])));
        assert_eq!(gitea.log(BRANCH)[0].paths, [key_path("k")], "the key alone");
        gitea.race(|gitea| {
            gitea.push(BRANCH, PATH, "a\nb\nc\n", "another's\n");
        });
        let outcome = write(&branch, "c", &[]).unwrap();
        assert_eq!(outcome, CommitOutcome::NothingToDo);
    }
}

#[test]
fn eight_writers_at_once_all_arrive() {
    for gitea in both() {
        let ids: Vec<String> = (0..8).map(|number| format!("id-{number}")).collect();
        std::thread::scope(|scope| {
            for id in &ids {
                let branch = branch(&gitea);
                scope.spawn(move || {
                    let outcome = write(&branch, id, &[id]);
                    assert!(is_committed(&outcome), "{outcome:?}");
                });
            }
        });
        let all: String = ids.iter().map(|id| format!("{id}\n")).collect();
        assert_eq!(text(&gitea), all);
        assert_eq!(messages(&gitea).len(), 8);
        assert_eq!(branch(&gitea).copies().unwrap().len(), 8);
    }
}
