//! What is refused, and that the message names the operation and the path.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use vigil_testkit::sandbox::skip_test;

use super::*;

fn refused(store: &Store, changes: Changes<'_>) -> StoreError {
    store.publish(None, changes, [1; 48], &NoSteps).unwrap_err()
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let link = dir.path().join("link");
    symlink(dir.path(), &link).unwrap();
    let cases = [
        (
            dir.path().join("missing/vigil"),
            "could not look at ",
            "missing",
        ),
        (file.clone(), "could not open ", "file"),
        (file.join("vigil"), "could not open ", "vigil"),
        (link, "could not open ", "link"),
    ];
    for (folder, operation, name) in cases {
        let store = Store::new(folder, IDENTITY);
        let error = refused(&store, Changes::new()).to_string();
        assert!(
            error.starts_with(operation) && error.contains(name),
            "{error}"
        );
        assert!(matches!(store.open(), Err(NoState::Absent { .. })));
    }
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["file", "link"]);
}

#[test]
fn no_folder_is_made_where_a_group_writes() {
    let dir = tempfile::tempdir().unwrap();
    let shared = dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let store = Store::new(shared.join("vigil"), [7; 32]);
    fs::set_permissions(&shared, Permissions::from_mode(0o2775)).unwrap();
    assert!(
        matches!(refused(&store, Changes::new()), StoreError::Shared { path } if path == shared)
    );
    assert!(!store.folder().exists());
    // The others of a group that may not write remove nothing anyway, and a user's own group has nobody else.
    for mode in [0o2755, 0o775] {
        fs::set_permissions(&shared, Permissions::from_mode(mode)).unwrap();
        assert!(
            store
                .publish(None, Changes::new(), [1; 48], &NoSteps)
                .is_ok()
        );
        fs::remove_dir_all(store.folder()).unwrap();
    }
}

#[test]
fn another_users_files_are_not_used_and_nothing_is_left_in_their_folders() {
    if !rustix::process::geteuid().is_root() {
        return skip_test("another user's files", "only root may give files away");
    }
    let sandbox = Sandbox::new();
    let state = sandbox.publish_and_open(None, changes_of(&[(StateTable::Seen, 0, b"one")]), 1);
    for path in [
        sandbox.store.folder().join("state"),
        state.data_path().to_owned(),
    ] {
        chown(&path, Some(1), None).unwrap();
        let error = sandbox.store.open().unwrap_err();
        assert!(
            matches!(&error, NoState::Foreign { path: named, .. } if *named == path),
            "{error}"
        );
        chown(&path, Some(0), None).unwrap();
    }
    sandbox.store.open().unwrap();

    let above = sandbox.store.folder().parent().unwrap();
    for (folder, inside) in [(sandbox.store.folder(), None), (above, Some("new"))] {
        chown(folder, Some(1), None).unwrap();
        let store = Store::new(
            inside.map_or(folder.to_owned(), |name| folder.join(name)),
            [1; 32],
        );
        assert!(
            matches!(refused(&store, Changes::new()), StoreError::Foreign { path } if path == folder)
        );
    }
    assert!(!above.join("new").exists());
}

#[test]
fn values_that_the_format_cannot_hold_are_refused() {
    let sandbox = Sandbox::new();
    // No slice is that long where addresses have 32 bits.
    if let Some(len) = 1_usize.checked_shl(32) {
        // Zero pages that are never touched take no memory.
        let block = vec![0; len];
        let mut changes = Changes::new();
        changes.set(StateTable::Files, 0, &block[..]);
        assert!(matches!(
            refused(&sandbox.store, changes),
            StoreError::TooLarge { .. }
        ));
    }
    let changes = changes_of(&[(StateTable::Files, u32::MAX, b"")]);
    assert!(matches!(
        refused(&sandbox.store, changes),
        StoreError::TooLarge { .. }
    ));
    assert!(!sandbox.store.folder().exists());
}

#[test]
fn orphans_are_swept_and_what_cannot_be_removed_disturbs_nobody() {
    let sandbox = Sandbox::new();
    let state = sandbox.publish_and_open(None, Changes::new(), 1);
    let folder = sandbox.store.folder();
    for name in ["state.tmp.1-0", "state.0000000000000001", "state.tmp.2-0"] {
        fs::write(folder.join(name), "left").unwrap();
    }
    fs::create_dir(folder.join("state.tmp.folder")).unwrap();
    let state = sandbox.publish_and_open(Some(&state), Changes::new(), 2);
    let data = state
        .data_path()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let mut expected = ["state".to_owned(), data, "state.tmp.folder".to_owned()];
    expected.sort();
    assert_eq!(sandbox.names(), expected);
}
