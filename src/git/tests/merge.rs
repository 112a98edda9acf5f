//! Merges of one file: what of it is read, and what of all the others is not.

use std::fs;

use crate::base::files::MAX_BYTES;
use crate::git::testing::{Repo, at, netbird_json};
use crate::git::{GitError, MergedFile, Sha};

/// A repository whose branches `main` and `side` parted at the same commit.
struct Parted {
    repo: Repo,
    main: Sha,
    side: Sha,
}

impl Parted {
    /// Each step changes the work tree; it is committed as a whole.
    fn new(start: impl Fn(&Repo), main: impl Fn(&Repo), side: impl Fn(&Repo)) -> Self {
        let repo = Repo::new();
        start(&repo);
        repo.commit(1, "start");
        repo.git(&["checkout", "-q", "-b", "side"]);
        side(&repo);
        let side = repo.commit(2, "side");
        repo.git(&["checkout", "-q", "main"]);
        main(&repo);
        let main = repo.commit(3, "main");
        Parted { repo, main, side }
    }

    fn merge(&self) -> Result<MergedFile, GitError> {
        let git = self.repo.open();
        let merged = git.merge_view(&self.main, &self.side, &netbird_json(&git));
        merged.map(|view| view.file)
    }
}

fn file(text: &str) -> impl Fn(&Repo) {
    move |repo| repo.write("netbird.json", text)
}

fn is(text: &str) -> MergedFile {
    MergedFile::File(text.into())
}

#[test]
fn no_other_file_is_read() {
    let write = |text: &'static str, readme: &'static str| {
        move |repo: &Repo| {
            repo.write("netbird.json", text);
            repo.write("README.md", readme);
        }
    };
    let parted = Parted::new(
        write("1\n2\n3\n4\n5\n", "start"),
        write("0\n1\n2\n3\n4\n5\n", "main"),
        write("1\n2\n3\n4\n5\n6\n", "side"),
    );
    // whoever reads them cannot
    for readme in ["main:README.md", "side:README.md", "main~1:README.md"] {
        let id = parted.repo.git(&["rev-parse", readme]);
        let objects = parted.repo.path().join(".git/objects");
        fs::remove_file(objects.join(&id[..2]).join(&id[2..])).unwrap();
    }
    assert_eq!(parted.merge().unwrap(), is("0\n1\n2\n3\n4\n5\n6\n"));
    // of the file itself, a clone with a filter may lack a version
    let id = parted.repo.git(&["rev-parse", "side:netbird.json"]);
    let objects = parted.repo.path().join(".git/objects");
    fs::remove_file(objects.join(&id[..2]).join(&id[2..])).unwrap();
    let error = parted.merge().unwrap_err().to_string();
    assert!(
        error.contains("hint: the checkout does not hold all"),
        "{error}"
    );
}

#[test]
fn a_size_is_asked_before_a_content() {
    let (small, large) = ("{}\n", format!("{{}}{}", " ".repeat(MAX_BYTES - 1)));
    let changed = "{ }\n";
    for (start, main, side) in [
        (small, small, large.as_str()),
        (small, changed, &large),
        (small, &large, changed),
        (&large, small, changed),
    ] {
        let parted = Parted::new(file(start), file(main), file(side));
        let error = parted.merge().unwrap_err();
        assert!(error.is_too_big(), "{error}");
        assert!(error.to_string().contains("larger than 10 MiB"), "{error}");
    }
    // what nobody asks for is not in the way
    let parted = Parted::new(file(&large), file(small), file(&large));
    assert_eq!(parted.merge().unwrap(), is(small));
    let git = parted.repo.open();
    let error = git.show(&parted.side, &netbird_json(&git)).unwrap_err();
    assert!(error.is_too_big(), "{error}");
}

#[test]
fn lines_that_cost_more_to_merge_than_a_file_has_are_not_merged() {
    let lines = "\n".repeat(MAX_BYTES - 8);
    let (main, side) = (format!("1{lines}"), format!("{lines}2"));
    let parted = Parted::new(file(&lines), file(&main), file(&side));
    let error = parted.merge().unwrap_err().to_string();
    assert!(error.contains("too many to merge"), "{error}");
    let parted = Parted::new(file(&lines), file(&lines), file(&side));
    assert_eq!(parted.merge().unwrap(), is(&side), "nothing to merge");
}

#[test]
fn what_each_side_can_do_to_the_file() {
    let gone = |repo: &Repo| fs::remove_file(repo.path().join("netbird.json")).unwrap();
    let link = |repo: &Repo| {
        let path = repo.path().join("netbird.json");
        let _ = fs::remove_file(&path);
        std::os::unix::fs::symlink("elsewhere", path).unwrap();
    };
    let directory = |repo: &Repo| {
        let _ = fs::remove_file(repo.path().join("netbird.json"));
        repo.write("netbird.json/inner", "x");
    };
    let runs = |repo: &Repo| {
        repo.git(&["update-index", "--chmod=+x", "netbird.json"]);
        repo.git(&["config", "core.fileMode", "false"]);
    };
    let nothing = |_: &Repo| ();
    type Step<'a> = &'a dyn Fn(&Repo);
    let (one, two, three) = (file("1\n"), file("2\n"), file("3\n"));
    let rows: [(Step, Step, Step, Result<MergedFile, &str>); 15] = [
        (&one, &nothing, &two, Ok(is("2\n"))),
        (&one, &two, &nothing, Ok(is("2\n"))),
        (&one, &two, &two, Ok(is("2\n"))),
        (&one, &two, &three, Ok(MergedFile::Conflict)),
        (&one, &gone, &nothing, Ok(MergedFile::Absent)),
        (&one, &nothing, &gone, Ok(MergedFile::Absent)),
        (&one, &gone, &two, Ok(MergedFile::Conflict)),
        (&one, &two, &gone, Ok(MergedFile::Conflict)),
        (&nothing, &one, &one, Ok(is("1\n"))),
        (&nothing, &one, &two, Ok(MergedFile::Conflict)),
        (&nothing, &nothing, &one, Ok(is("1\n"))),
        (&one, &runs, &two, Ok(is("2\n"))),
        (&one, &nothing, &link, Err("a symbolic link")),
        (&one, &two, &link, Ok(MergedFile::Conflict)),
        (&one, &nothing, &directory, Err("a directory")),
    ];
    for (index, (start, main, side, wanted)) in rows.into_iter().enumerate() {
        let merged = Parted::new(start, main, side).merge();
        match (merged, wanted) {
            (Ok(merged), Ok(wanted)) => assert_eq!(merged, wanted, "row {index}"),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (merged, wanted) => panic!("row {index}: {merged:?}, not {wanted:?}"),
        }
    }
}

#[test]
fn a_file_that_may_have_been_renamed_is_not_guessed_at() {
    let old = |text: &'static str| move |repo: &Repo| repo.write("vpn.json", text);
    let renamed = |repo: &Repo| {
        fs::rename(
            repo.path().join("vpn.json"),
            repo.path().join("netbird.json"),
        )
        .unwrap();
    };
    let text = "1\n2\n3\n4\n5\n6\n";
    let parted = Parted::new(old(text), old("1\n2\n3\n4\n5\n6\n7\n"), renamed);
    let error = parted.merge().unwrap_err().to_string();
    assert!(
        error.contains("vpn.json") && error.contains("hint: merge the base branch"),
        "{error}"
    );
    let parted = Parted::new(old(text), |_| (), renamed);
    assert_eq!(
        parted.merge().unwrap(),
        is(text),
        "nobody changed it meanwhile"
    );
}

/// Each side merged the other's first commit: two commits are common ancestors.
#[test]
fn several_common_ancestors_must_lead_to_one_result() {
    let crossed = |mine: &str, theirs: &str| {
        let parted = Parted::new(
            file("1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
            file("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
            file("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"),
        );
        let Parted { repo, main, side } = &parted;
        repo.git_at(4, &["merge", "-q", "-m", "cross", side.as_str()]);
        repo.write("netbird.json", mine);
        let main_tip = repo.commit(5, "main again");
        repo.git(&["checkout", "-q", "side"]);
        repo.git_at(6, &["merge", "-q", "-m", "cross", main.as_str()]);
        repo.write("netbird.json", theirs);
        let side_tip = repo.commit(7, "side again");
        let git = repo.open();
        let path = at(&git, "netbird.json");
        git.merge_view(&main_tip, &side_tip, &path).unwrap().file
    };
    let merged = crossed(
        "0\n1\nmine\n3\n4\n5\n6\n7\n8\n9\n10\n",
        "0\n1\n2\n3\n4\n5\n6\n7\ntheirs\n9\n10\n",
    );
    assert_eq!(merged, is("0\n1\nmine\n3\n4\n5\n6\n7\ntheirs\n9\n10\n"));
    // of what one of them had, each side took something back
    let merged = crossed(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
        "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n",
    );
    assert_eq!(merged, MergedFile::Conflict);
}
