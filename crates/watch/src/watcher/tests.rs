use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use bstr::BString;

use super::*;

fn watch(watcher: &Watcher, tree: TreeId, top: &Path, path: &str) {
    let folder = File::open(top.join(path)).unwrap();
    watcher.watch(tree, path.into(), folder.as_fd()).unwrap();
}

fn texts<'p>(paths: impl IntoIterator<Item = &'p BString>) -> Vec<String> {
    paths.into_iter().map(ToString::to_string).collect()
}

#[test]
fn changes_are_named_as_soon_as_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    fs::create_dir_all(top.join("a/b")).unwrap();
    let watcher = Watcher::new().unwrap();
    let tree = watcher.begin();
    for path in ["", "a", "a/b"] {
        watch(&watcher, tree, top, path);
    }
    assert!(watcher.changes(tree).everything);
    assert!(watcher.changes(tree).is_empty());
    fs::write(top.join("a/b/file"), "text").unwrap();
    assert_eq!(texts(&watcher.changes(tree).paths), ["a/b/file"]);
    fs::rename(top.join("a"), top.join("c")).unwrap();
    fs::write(top.join("c/b/file"), "other").unwrap();
    let changes = watcher.changes(tree);
    assert_eq!(texts(&changes.folders), ["a", "c"]);
    assert_eq!(texts(&changes.paths), ["c/b/file"]);
    fs::remove_dir_all(top.join("c")).unwrap();
    assert_eq!(texts(&watcher.changes(tree).folders), ["c", "c/b"]);
    assert_eq!(watcher.watches(), 1);
    watcher.forget(tree);
    assert_eq!(watcher.watches(), 0);
}

#[test]
fn a_folder_that_leaves_is_watched_no_longer() {
    let folder = tempfile::tempdir().unwrap();
    let (top, outside) = (folder.path().join("top"), folder.path().join("outside"));
    fs::create_dir_all(top.join("a/b")).unwrap();
    let watcher = Watcher::new().unwrap();
    let tree = watcher.begin();
    for path in ["", "a", "a/b"] {
        watch(&watcher, tree, &top, path);
    }
    watcher.changes(tree);
    fs::rename(top.join("a"), &outside).unwrap();
    assert_eq!(texts(&watcher.changes(tree).folders), ["a"]);
    assert_eq!(watcher.watches(), 1);
    fs::write(outside.join("b/file"), "").unwrap();
    assert!(watcher.changes(tree).is_empty());
}

#[test]
fn a_top_that_is_renamed_or_removed_leaves_nothing_known() {
    for deed in [
        |top: &Path| fs::rename(top, top.with_extension("moved")).unwrap(),
        |top: &Path| fs::remove_dir_all(top).unwrap(),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        fs::create_dir(&top).unwrap();
        let watcher = Watcher::new().unwrap();
        let tree = watcher.begin();
        watch(&watcher, tree, &top, "");
        watcher.changes(tree);
        deed(&top);
        assert!(watcher.changes(tree).everything);
    }
}

#[test]
fn trees_share_a_folder_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    fs::create_dir(top.join("inner")).unwrap();
    let watcher = Watcher::new().unwrap();
    let (outer, inner) = (watcher.begin(), watcher.begin());
    watch(&watcher, outer, top, "");
    watch(&watcher, outer, top, "inner");
    watch(&watcher, inner, &top.join("inner"), "");
    watcher.changes(outer);
    watcher.changes(inner);
    fs::write(top.join("inner/file"), "").unwrap();
    assert_eq!(texts(&watcher.changes(outer).paths), ["inner/file"]);
    assert_eq!(texts(&watcher.changes(inner).paths), ["file"]);
    watcher.forget(outer);
    fs::write(top.join("inner/file"), "more").unwrap();
    assert_eq!(texts(&watcher.changes(inner).paths), ["file"]);
    assert_eq!(watcher.watches(), 1);
}

#[test]
fn what_cannot_be_heard_is_refused() {
    let watcher = Watcher::new().unwrap();
    let tree = watcher.begin();
    let proc = File::open("/proc").unwrap();
    let refused = watcher.watch(tree, "".into(), proc.as_fd());
    assert_eq!(refused, Err(Unwatched::Untold));
}
