//! One writer, and what a server does to it.

use fakes::{Effect, Fault};

use super::*;

#[test]
fn first_inventory_is_one_commit_with_its_branch() {
    for gitea in both() {
        let branch = branch(&gitea);
        assert!(is_committed(&write(&branch, "a", &["k1"])));
        assert_eq!(text(&gitea), "a\n");
        assert_eq!(gitea.files(BRANCH), [PATH, &key_path("k1"), PROBE]);
        assert_eq!(messages(&gitea), ["inventory: 1 in [skip ci]\n\nRun: a\n"]);
        for file in sent(&gitea) {
            assert_eq!(file["operation"], "create");
            assert_eq!(file["sha"], Value::Null, "a creation names no blob");
        }
        let stored = branch.read(PROBE).unwrap().unwrap();
        assert_eq!(
            (stored.bytes, stored.last_commit),
            (b"a\n".to_vec(), gitea.tip(BRANCH))
        );
    }
}

#[test]
fn change_names_the_blob_and_takes_the_keys_along() {
    for gitea in both() {
        let branch = branch(&gitea);
        write(&branch, "a", &[]).unwrap();
        let sha = gitea.sha(BRANCH, PATH);
        gitea.clear_requests();
        assert!(is_committed(&write(&branch, "b", &["k1", "k2"])));
        assert_eq!(gitea.requests().len(), 3, "the tip, the text, the commit");
        let files = sent(&gitea);
        assert_eq!(files[0]["operation"], "update");
        assert_eq!(files[0]["sha"], json!(sha));
        assert_eq!(files[1]["operation"], "create");
        let log = gitea.log(BRANCH);
        assert_eq!(log[0].paths, [PATH, &key_path("k1"), &key_path("k2")]);
        assert_eq!(text(&gitea), "a\nb\n");
    }
}

#[test]
fn nothing_to_do_is_no_commit() {
    for gitea in both() {
        let branch = branch(&gitea);
        let mut none = |_: Option<&[u8]>| Ok(None);
        let outcome = branch.write(&mut none, &[], patience()).unwrap();
        assert_eq!(outcome, CommitOutcome::NothingToDo);
        assert_eq!(gitea.branches(), ["main"]);
        write(&branch, "a", &["k"]).unwrap();
        let tip = gitea.tip(BRANCH);
        assert_eq!(
            write(&branch, "a", &["k"]).unwrap(),
            CommitOutcome::NothingToDo
        );
        let mut equal = |text: Option<&[u8]>| {
            Ok(Some(Revision {
                bytes: text.unwrap().to_vec(),
                message: "the same".to_owned(),
            }))
        };
        let outcome = branch.write(&mut equal, &[], patience()).unwrap();
        assert_eq!(outcome, CommitOutcome::NothingToDo);
        assert_eq!(gitea.tip(BRANCH), tip);
    }
}

#[test]
fn empty_inventory_is_one() {
    let gitea = Gitea::start();
    let branch = branch(&gitea);
    let mut edit = |text: Option<&[u8]>| {
        let revision = || Revision {
            bytes: Vec::new(),
            message: String::new(),
        };
        Ok(text.is_none().then(revision))
    };
    assert!(is_committed(&branch.write(&mut edit, &[], patience())));
    assert_eq!(branch.read(PROBE).unwrap().unwrap().bytes, b"");
    assert_eq!(messages(&gitea), ["[skip ci]\n"]);
    let outcome = branch.write(&mut edit, &[], patience()).unwrap();
    assert_eq!(outcome, CommitOutcome::NothingToDo);
}

#[test]
fn error_of_the_edit_ends_it() {
    let gitea = Gitea::start();
    let mut edit = |_: Option<&[u8]>| anyhow::bail!("of another account");
    let error = branch(&gitea)
        .write(&mut edit, &[], patience())
        .unwrap_err();
    assert_eq!(error.to_string(), "of another account");
    assert!(gitea.requests().iter().all(|it| it.method == "GET"));
}

#[test]
fn inventory_that_could_not_be_read_again_is_not_written() {
    let gitea = Gitea::start();
    let mut edit = |_: Option<&[u8]>| {
        Ok(Some(Revision {
            bytes: vec![b' '; (64 << 20) + 1],
            message: String::new(),
        }))
    };
    let error = branch(&gitea)
        .write(&mut edit, &[], patience())
        .unwrap_err();
    let wanted = format!("{PATH} has 67108865 bytes, and no more than 67108864 are read");
    assert_eq!(error.to_string(), wanted);
    assert_eq!(gitea.branches(), ["main"]);
}

#[test]
fn inventory_that_the_default_branch_has_is_replaced_on_the_new_branch() {
    for gitea in both() {
        let branch = branch(&gitea);
        gitea.push("main", PATH, "stale\n", "merged by mistake\n");
        assert_eq!(branch.read(PROBE).unwrap(), None);
        assert!(is_committed(&write(&branch, "a", &["k"])));
        assert_eq!(text(&gitea), "a\n");
        assert_eq!(gitea.file("main", PATH), b"stale\n");
    }
}

#[test]
fn keys_that_are_there_already() {
    for gitea in both() {
        let branch = branch(&gitea);
        write(&branch, "a", &["k1"]).unwrap();
        // a new text, and a key that is stored with the same bytes
        assert!(is_committed(&write(&branch, "b", &["k1", "k2"])));
        assert_eq!(gitea.log(BRANCH)[0].paths, [PATH, &key_path("k2")]);
        // a text that needs nothing, and a key that is missing
        assert!(is_committed(&write(&branch, "b", &["k2", "k3"])));
        assert_eq!(gitea.log(BRANCH)[0].paths, [key_path("k3")]);
        assert_eq!(
            messages(&gitea)[0],
            "chore: store sealed setup keys [skip ci]\n"
        );
        // another key at the same path
        let tip = gitea.tip(BRANCH);
        let mut edit = |text: Option<&[u8]>| Ok(with_id(text, "c"));
        let other = [(key("k1").0, b"other".to_vec())];
        let error = branch.write(&mut edit, &other, patience()).unwrap_err();
        let wanted = format!("{} is there already, with other bytes", key_path("k1"));
        assert_eq!(error.to_string(), wanted);
        assert_eq!(gitea.tip(BRANCH), tip);
    }
}

#[test]
fn what_another_wrote_is_kept() {
    for gitea in both() {
        let branch = branch(&gitea);
        write(&branch, "a", &[]).unwrap();
        let post = gitea.path("/contents");
        // 422 on Gitea and 409 on Forgejo: the text is another one by now.
        gitea.before("POST", &post, |gitea| {
            gitea.push(BRANCH, PATH, "a\ntheirs\n", "theirs\n");
        });
        assert!(is_committed(&write(&branch, "b", &["k1"])));
        // 403 `cannot lock ref` and 500: another file is pushed in the middle of the write.
        gitea.race(|gitea| {
            gitea.push(BRANCH, "x", "y", "another file\n");
        });
        assert!(is_committed(&write(&branch, "c", &["k2"])));
        gitea.race(|gitea| {
            gitea.push(BRANCH, PATH, "a\nb\nc\ntheirs\nhers\n", "hers\n");
        });
        assert!(is_committed(&write(&branch, "d", &["k3"])));
        assert_eq!(text(&gitea), "a\nb\nc\nd\nhers\ntheirs\n");
        assert_eq!(messages(&gitea).len(), 7);
    }
}

#[test]
fn race_that_is_told_leads_to_no_look_at_the_keys() {
    let gitea = Gitea::start();
    let branch = branch(&gitea);
    write(&branch, "a", &[]).unwrap();
    gitea.race(|gitea| {
        gitea.push(BRANCH, "x", "y", "another file\n");
    });
    gitea.clear_requests();
    assert!(is_committed(&write(&branch, "b", &["k1", "k2", "k3"])));
    assert_eq!(gitea.requests().len(), 6);
}

/// What becomes of the writes of an id and a key, when each request in turn meets this.
fn at_each_request(gitea: &Gitea, there: bool, effect: &Effect) {
    let posts = |gitea: &Gitea| messages(gitea).len();
    for number in 1.. {
        if gitea.branches().contains(&BRANCH.to_owned()) {
            delete_branch(gitea);
        }
        if there {
            gitea.push(BRANCH, PATH, "kept\n", "by hand\n");
        }
        let before = posts(gitea);
        gitea.clear_requests();
        gitea.fault(Fault::on("*", "/").nth(number).then(effect.clone()));
        let outcome = write(&branch(gitea), "a", &["k"]);
        let told = format!("{effect:?} at request {number}: {outcome:?}");
        let is_over = gitea.requests().len() < number;
        gitea.clear_faults();
        let files = gitea.files(BRANCH);
        let has = |path: &str| files.iter().any(|file| file == path);
        let list = if has(PATH) {
            text(gitea)
        } else {
            String::new()
        };
        assert_eq!(list.contains("kept\n"), there, "{told}");
        assert_eq!(
            list.contains("a\n"),
            has(&key_path("k")),
            "in one commit: {told}"
        );
        match outcome {
            Ok(_) => assert!(list.contains("a\n"), "{told}"),
            // The answer was none, and so was the reading's.
            Err(error) if error.to_string().starts_with("the commit may have been") => {}
            Err(_) => assert!(!list.contains("a\n"), "{told}"),
        }
        assert!(posts(gitea) <= before + 1, "one commit at most: {told}");
        if is_over {
            return;
        }
    }
}

#[test]
fn outcome_is_what_the_branch_has_whatever_a_request_meets() {
    let gitea = Gitea::start();
    for there in [false, true] {
        for effect in [
            Effect::ErrorBefore,
            Effect::ErrorAfter,
            Effect::CutBefore,
            Effect::CutAfter,
            Effect::CutBody,
            Effect::Html(502),
            Effect::Empty(403),
            Effect::Status(
                403,
                json!({"message": "cannot lock ref 'refs/heads/x': is at y"}),
            ),
            Effect::Status(404, json!({"message": "not found"})),
        ] {
            at_each_request(&gitea, there, &effect);
        }
    }
    // What differs there are its own refusals.
    let forgejo = Gitea::start_forgejo();
    for effect in [Effect::ErrorAfter, Effect::CutAfter, Effect::Empty(409)] {
        at_each_request(&forgejo, false, &effect);
        at_each_request(&forgejo, true, &effect);
    }
}

#[test]
fn no_answer_at_all_leaves_it_open_and_the_next_call_finds_it() {
    for gitea in both() {
        let branch = branch(&gitea);
        write(&branch, "a", &["k1"]).unwrap();
        for (id, effect) in [("b", Effect::CutAfter), ("c", Effect::CutBefore)] {
            gitea.after("POST", &gitea.path("/contents"), |gitea| {
                gitea.fault(Fault::on("GET", "/").always().then(Effect::Html(502)));
            });
            gitea.fault(Fault::on("POST", "/").then(effect));
            let error = write(&branch, id, &[id]).unwrap_err();
            assert!(of_gitea(&error).is_none(), "{error}");
            gitea.clear_faults();
            let again = write(&branch, id, &[id]).unwrap();
            assert_eq!(again == CommitOutcome::NothingToDo, id == "b", "{again:?}");
            assert_eq!(gitea.file(BRANCH, &key_path(id)), key(id).1);
        }
        assert_eq!(text(&gitea), "a\nb\nc\n");
        assert_eq!(messages(&gitea).len(), 3);
    }
}

#[test]
fn lost_answer_is_found_by_reading_again() {
    for gitea in both() {
        let branch = branch(&gitea);
        let post = gitea.path("/contents");
        for (id, keys, effect) in [
            ("a", &["k1"][..], Effect::CutAfter),
            ("b", &["k2", "k3"], Effect::ErrorAfter),
            ("c", &[], Effect::CutAfter),
        ] {
            gitea.fault(Fault::on("POST", &post).then(effect));
            let outcome = write(&branch, id, keys);
            let Ok(CommitOutcome::Committed { sha }) = outcome else {
                panic!("{outcome:?}")
            };
            assert_eq!(sha, gitea.tip(BRANCH));
        }
        // and another commit comes before the reading
        gitea.fault(Fault::on("POST", &post).then(Effect::ErrorAfter));
        gitea.after("POST", &post, |gitea| {
            gitea.push(BRANCH, PATH, "a\nb\nc\nd\ne\n", "another's\n");
        });
        assert_eq!(
            write(&branch, "d", &["k4"]).unwrap(),
            CommitOutcome::NothingToDo
        );
        assert_eq!(text(&gitea), "a\nb\nc\nd\ne\n");
        assert_eq!(messages(&gitea).len(), 5);
        for name in ["k1", "k2", "k3", "k4"] {
            assert_eq!(gitea.file(BRANCH, &key_path(name)), key(name).1);
        }
    }
}

/// What an edit was asked, and its answer: the id goes in where there is an inventory, or where there may be none.
struct Asked {
    texts: Vec<Option<String>>,
    takes_none: bool,
}

impl Asked {
    fn edit(&mut self, text: Option<&[u8]>) -> anyhow::Result<Option<Revision>> {
        let told = text.map(|text| String::from_utf8(text.to_vec()).unwrap());
        self.texts.push(told);
        if text.is_none() && !self.takes_none {
            anyhow::bail!("the inventory is gone");
        }
        Ok(with_id(text, "b"))
    }
}

#[test]
fn branch_or_inventory_that_is_deleted_in_between() {
    let without_file = |gitea: &Gitea| drop(gitea.change(BRANCH).delete(PATH).push());
    let without_branch = |gitea: &Gitea| delete_branch(gitea);
    let ways: [fn(&Gitea); 2] = [without_file, without_branch];
    for (way, takes_none) in [(0, false), (0, true), (1, false), (1, true)] {
        for gitea in both() {
            let branch = branch(&gitea);
            write(&branch, "a", &["k"]).unwrap();
            gitea.before("POST", &gitea.path("/contents"), ways[way]);
            let mut asked = Asked {
                texts: Vec::new(),
                takes_none,
            };
            let mut edit = |text: Option<&[u8]>| asked.edit(text);
            let outcome = branch.write(&mut edit, &[key("k2")], patience());
            let there = takes_none.then_some("b\n");
            match takes_none {
                true => assert!(is_committed(&outcome), "{outcome:?}"),
                false => {
                    let error = outcome.unwrap_err();
                    assert!(
                        error.to_string().contains("the inventory is gone"),
                        "{error}"
                    );
                }
            }
            assert_eq!(asked.texts, [Some("a\n".to_owned()), None]);
            let stored = branch.read(PROBE).unwrap().map(|stored| stored.bytes);
            assert_eq!(stored.as_deref(), there.map(str::as_bytes));
        }
    }
}

#[test]
fn update_that_meets_no_branch_for_ever_is_refused() {
    let gitea = Gitea::start();
    let branch = branch(&gitea);
    write(&branch, "a", &[]).unwrap();
    let gone = Effect::Status(404, json!({"message": "branch does not exist"}));
    let post = gitea.path("/contents");
    gitea.fault(Fault::on("POST", &post).always().then(gone));
    let error = write(&branch, "b", &[]).unwrap_err();
    assert!(of_gitea(&error).is_none(), "{error}");
}
