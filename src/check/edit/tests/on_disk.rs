//! The edit of a file on disk: replaced at once, with its mode, through links.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::{super::mark_enrolled_file, names};

const PENDING: &str =
    "{\"setup_keys\": {\"a\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false}}}";
const MARKED: &str =
    "{\"setup_keys\": {\"a\": {\"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": true}}}";

#[test]
fn the_file_is_replaced_with_its_mode_and_nothing_is_left_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("netbird.json");
    fs::write(&path, PENDING).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();

    let edit = mark_enrolled_file(&path, &names(["a", "b"])).unwrap();

    assert_eq!((edit.flipped, edit.missing), (names(["a"]), names(["b"])));
    assert_eq!(fs::read_to_string(&path).unwrap(), MARKED);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_link_stays_and_its_target_changes() {
    let directory = tempfile::tempdir().unwrap();
    let (target, link) = (
        directory.path().join("real.json"),
        directory.path().join("netbird.json"),
    );
    fs::create_dir(directory.path().join("sub")).unwrap();
    fs::write(&target, PENDING).unwrap();
    symlink("sub/../real.json", &link).unwrap();

    mark_enrolled_file(&link, &names(["a"])).unwrap();

    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), MARKED);
}

#[test]
fn a_file_with_nothing_to_change_or_in_error_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("netbird.json");
    fs::write(&path, MARKED).unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    assert!(
        mark_enrolled_file(&path, &names(["a"]))
            .unwrap()
            .flipped
            .is_empty()
    );
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);

    fs::write(&path, "{\"setup_keys\": {\"a\": 1}}").unwrap();
    let error = mark_enrolled_file(&path, &names(["a"]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&format!("{}:1:22  setup_keys.a\n", path.display())),
        "{error}"
    );

    let error = mark_enrolled_file(&directory.path().join("none.json"), &names(["a"])).unwrap_err();
    assert!(error.to_string().starts_with("cannot read "), "{error}");
}
