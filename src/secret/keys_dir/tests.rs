//! The directory of sealed keys: an older file comes back, nothing is half written, nobody else reads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use tempfile::TempDir;

use super::*;

fn sealed(text: &str) -> Sealed {
    Sealed {
        armored: text.into(),
    }
}

fn probed() -> (TempDir, KeysDir) {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeysDir::probe(&dir.path().join("sealed-keys")).unwrap();
    (dir, keys)
}

/// Returns the names in the directory, sorted.
fn names(keys: &KeysDir) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(&keys.path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
#[cfg(unix)]
fn only_the_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (_dir, keys) = probed();
    assert_eq!(mode(&keys.path), 0o700);
    let reservation = keys.reserve("a").unwrap();
    assert_eq!(mode(reservation.file.path()), 0o600);
    assert_eq!(mode(&reservation.store(&sealed("x")).unwrap().path), 0o600);
}

#[test]
fn a_sealed_key_is_stored_under_its_name() {
    let (_dir, keys) = probed();
    assert_eq!(names(&keys), [""; 0], "the probe leaves nothing");
    let reservation = keys.reserve("Pilot-hawk-72").unwrap();
    assert_eq!(reservation.target, keys.path.join("Pilot-hawk-72.age"));
    assert_eq!(
        reservation.file.as_file().metadata().unwrap().len(),
        RESERVED as u64
    );
    let stored = reservation.store(&sealed("text\n")).unwrap();
    assert_eq!(read(&stored.path), "text\n");
    assert_eq!(names(&keys), ["Pilot-hawk-72.age"]);
    let large = "x".repeat(3 * RESERVED);
    assert_eq!(
        read(
            &keys
                .reserve("large")
                .unwrap()
                .store(&sealed(&large))
                .unwrap()
                .path
        ),
        large
    );
}

#[test]
fn a_reservation_without_a_key_leaves_nothing_and_an_older_file_as_it_is() {
    let (_dir, keys) = probed();
    keys.reserve("a").unwrap().store(&sealed("older")).unwrap();
    let reservation = keys.reserve("a").unwrap();
    assert_eq!(read(&reservation.target), "older");
    drop(reservation);
    assert_eq!(names(&keys), ["a.age"]);
    assert_eq!(read(&keys.path.join("a.age")), "older");
}

#[test]
fn a_key_that_is_taken_back_takes_its_file_along_and_brings_the_older_one_back() {
    let (_dir, keys) = probed();
    let first = keys.reserve("a").unwrap().store(&sealed("first")).unwrap();
    let second = keys.reserve("a").unwrap().store(&sealed("second")).unwrap();
    assert_eq!(read(&second.path), "second");
    assert_eq!(names(&keys), ["a.age", "a~1.age"]);
    second.remove().unwrap();
    assert_eq!(names(&keys), ["a.age"]);
    assert_eq!(read(&first.path), "first");
    first.remove().unwrap();
    assert_eq!(names(&keys), [""; 0]);
}

/// Whoever made it, and how often.
#[test]
fn no_file_is_overwritten() {
    let (_dir, keys) = probed();
    let texts = ["first", "second", "third"];
    for text in texts {
        let keys = KeysDir::probe(&keys.path).unwrap();
        keys.reserve("a").unwrap().store(&sealed(text)).unwrap();
    }
    let kept = ["a~1.age", "a~2.age", "a.age"];
    assert_eq!(kept.map(|name| read(&keys.path.join(name))), texts);
    // two runs at once
    std::thread::scope(|scope| {
        for number in 0..8 {
            let keys = &keys;
            scope.spawn(move || {
                let text = format!("run {number}");
                keys.reserve("b").unwrap().store(&sealed(&text)).unwrap();
            });
        }
    });
    let of_b = names(&keys)
        .into_iter()
        .filter(|name| name.starts_with('b'));
    let mut texts: Vec<String> = of_b.map(|name| read(&keys.path.join(name))).collect();
    texts.sort();
    let all: Vec<String> = (0..8).map(|number| format!("run {number}")).collect();
    assert_eq!(texts, all);
}

#[test]
fn a_file_that_another_run_has_written_since_is_left_alone() {
    let (_dir, keys) = probed();
    let ours = keys.reserve("a").unwrap().store(&sealed("ours")).unwrap();
    let theirs = KeysDir::probe(&keys.path)
        .unwrap()
        .reserve("a")
        .unwrap()
        .store(&sealed("theirs"))
        .unwrap();
    ours.remove().unwrap();
    assert_eq!(read(&theirs.path), "theirs");
    fs::remove_file(&theirs.path).unwrap();
    theirs.remove().unwrap();
    // nor is an older file that somebody took away a fault
    let [_, newer] = ["older", "newer"].map(|text| {
        let reservation = keys.reserve("b").unwrap();
        reservation.store(&sealed(text)).unwrap()
    });
    fs::remove_file(newer.older.as_ref().unwrap()).unwrap();
    newer.remove().unwrap();
    assert_eq!(names(&keys), ["a.age"]);
}

#[test]
#[cfg(unix)]
fn one_run_at_a_time_renames_files() {
    let (_dir, keys) = probed();
    let other = File::open(&keys.path).unwrap();
    let lock = locked(&keys.path.join("a.age"));
    assert!(other.try_lock().is_err());
    drop(lock);
    other.try_lock().unwrap();
}

/// Nothing half-written, whatever fails.
#[test]
fn a_failure_leaves_no_file() {
    let (_dir, keys) = probed();
    let reservation = keys.reserve("a").unwrap();
    fs::create_dir(keys.path.join("a.age")).unwrap();
    let error = reservation.store(&sealed("x")).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "cannot write {}: it is a directory",
            keys.path.join("a.age").display()
        )
    );
    assert_eq!(names(&keys), ["a.age"]);
    let error = keys.reserve("a").unwrap_err().to_string();
    let target = keys.path.join("a.age");
    assert_eq!(
        error,
        format!(
            "cannot reserve {}: it is a directory{HINT}",
            target.display()
        )
    );

    let stored = keys.reserve("c").unwrap().store(&sealed("x")).unwrap();
    let reservation = keys.reserve("b").unwrap();
    fs::remove_dir_all(&keys.path).unwrap();
    stored.remove().unwrap();
    let error = reservation.store(&sealed("x")).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "cannot write {}: no such file or directory",
            keys.path.join("b.age").display()
        )
    );
    assert!(!keys.path.exists());
    assert!(keys.reserve("c").is_err());
}

#[test]
#[cfg(unix)]
fn a_symbolic_link_is_replaced_and_not_followed() {
    let (dir, keys) = probed();
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, "untouched").unwrap();
    std::os::unix::fs::symlink(&elsewhere, keys.path.join("a.age")).unwrap();
    let stored = keys.reserve("a").unwrap().store(&sealed("x")).unwrap();
    assert!(fs::symlink_metadata(&stored.path).unwrap().is_file());
    assert_eq!(
        (read(&stored.path), read(&elsewhere)),
        ("x".into(), "untouched".into())
    );
    // somebody's link is no file of this run, whatever it leads to
    fs::write(&elsewhere, "x").unwrap();
    fs::remove_file(&stored.path).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &stored.path).unwrap();
    stored.remove().unwrap();
    assert!(fs::symlink_metadata(&stored.path).unwrap().is_symlink());
    assert_eq!(names(&keys), ["a.age", "a~1.age"]);
}

#[test]
fn names_that_differ_only_by_case_do_not_share_a_file() {
    let (_dir, keys) = probed();
    let name = |keys: &KeysDir, key: &str| {
        let reservation = keys.reserve(key).unwrap();
        reservation
            .target
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(name(&keys, "Node"), "Node.age");
    assert_eq!(name(&keys, "node"), "node~545ea538.age");
    assert_eq!(name(&keys, "Node"), "Node.age", "again, for the same key");
    keys.reserve("Node").unwrap().store(&sealed("x")).unwrap();
    let later = KeysDir::probe(&keys.path).unwrap();
    assert_eq!(name(&later, "node"), "node~545ea538.age");
    assert_eq!(name(&later, "Node"), "Node.age");
}

#[test]
fn a_directory_that_cannot_be_used_is_told_before_the_first_write() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = |path: &Path| KeysDir::probe(path).unwrap_err().to_string();
    assert_eq!(
        error(&file),
        format!(
            "cannot keep sealed keys in {}: it is not a directory{HINT}",
            file.display()
        )
    );
    let below = file.join("keys");
    assert_eq!(
        error(&below),
        format!(
            "cannot open the keys directory {}: not a directory{HINT}",
            below.display()
        )
    );
    assert_eq!(
        error(Path::new("")),
        format!("the keys directory has an empty name{HINT}")
    );
    assert_eq!(read(&file), "");
    #[cfg(unix)]
    {
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).unwrap();
        assert_eq!(
            error(&link),
            format!(
                "cannot open the keys directory {}: no such file or directory{HINT}",
                link.display()
            )
        );
    }
    #[cfg(target_os = "linux")]
    {
        let made = error(Path::new("/proc/sealed-keys")); // even root cannot make it
        assert!(
            made.starts_with("cannot make the keys directory /proc/sealed-keys: "),
            "{made}"
        );
        let written = error(Path::new("/proc/self"));
        assert!(
            written.starts_with("cannot write to the keys directory /proc/self: "),
            "{written}"
        );
    }
    let nested = dir.path().join("a/b/c");
    assert!(KeysDir::probe(&nested).is_ok() && KeysDir::probe(&nested).is_ok());
}
