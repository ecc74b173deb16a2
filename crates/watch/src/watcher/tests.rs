use std::fs::{self, File};
use std::path::Path;

use bstr::BString;

use super::*;

/// A reader that asks about a tree now and then.
struct Asker {
    tree: Arc<WatchedTree>,
    position: Position,
}

impl Asker {
    fn of(watcher: &Arc<Watcher>, top: &Path) -> Self {
        let stat = stat_fd(File::open(top).unwrap().as_fd()).unwrap();
        let (path, id) = (top.to_owned(), (stat.dev, stat.ino));
        Self {
            tree: watcher.tree(Top { path, id }),
            position: Position::default(),
        }
    }

    fn watch(&self, top: &Path, path: &str) {
        let folder = File::open(top.join(path)).unwrap();
        self.tree.watch(path.into(), folder.as_fd()).unwrap();
    }

    fn changes(&mut self) -> Changes {
        let (changes, position) = self.tree.changes_since(self.position);
        self.position = position;
        changes
    }
}

fn texts<'p>(paths: impl IntoIterator<Item = &'p BString>) -> Vec<String> {
    paths.into_iter().map(ToString::to_string).collect()
}

#[test]
fn changes_are_named_as_soon_as_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    fs::create_dir_all(top.join("a/b")).unwrap();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut tree = Asker::of(&watcher, top);
    for path in ["", "a", "a/b"] {
        tree.watch(top, path);
    }
    assert!(tree.changes().everything);
    assert!(tree.changes().is_empty());
    fs::write(top.join("a/b/file"), "text").unwrap();
    assert_eq!(texts(&tree.changes().paths), ["a/b/file"]);
    fs::rename(top.join("a"), top.join("c")).unwrap();
    fs::write(top.join("c/b/file"), "other").unwrap();
    let changes = tree.changes();
    assert_eq!(texts(&changes.folders), ["a", "c"]);
    assert_eq!(texts(&changes.paths), ["c/b/file"]);
    fs::remove_dir_all(top.join("c")).unwrap();
    assert_eq!(texts(&tree.changes().folders), ["c", "c/b"]);
    assert_eq!(watcher.watches(), 1);
    drop(tree);
    assert_eq!(watcher.watches(), 0);
}

#[test]
fn a_folder_that_leaves_is_watched_no_longer() {
    let folder = tempfile::tempdir().unwrap();
    let (top, outside) = (folder.path().join("top"), folder.path().join("outside"));
    fs::create_dir_all(top.join("a/b")).unwrap();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut tree = Asker::of(&watcher, &top);
    for path in ["", "a", "a/b"] {
        tree.watch(&top, path);
    }
    tree.changes();
    fs::rename(top.join("a"), &outside).unwrap();
    assert_eq!(texts(&tree.changes().folders), ["a"]);
    assert_eq!(watcher.watches(), 1);
    fs::write(outside.join("b/file"), "").unwrap();
    assert!(tree.changes().is_empty());
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
        let watcher = Arc::new(Watcher::new().unwrap());
        let mut tree = Asker::of(&watcher, &top);
        tree.watch(&top, "");
        tree.changes();
        deed(&top);
        assert!(tree.changes().everything);
    }
}

#[test]
fn trees_share_a_folder_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    fs::create_dir(top.join("inner")).unwrap();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut outer = Asker::of(&watcher, top);
    let mut inner = Asker::of(&watcher, &top.join("inner"));
    outer.watch(top, "");
    outer.watch(top, "inner");
    inner.watch(&top.join("inner"), "");
    outer.changes();
    inner.changes();
    fs::write(top.join("inner/file"), "").unwrap();
    assert_eq!(texts(&outer.changes().paths), ["inner/file"]);
    assert_eq!(texts(&inner.changes().paths), ["file"]);
    drop(outer);
    fs::write(top.join("inner/file"), "more").unwrap();
    assert_eq!(texts(&inner.changes().paths), ["file"]);
    assert_eq!(watcher.watches(), 1);
}

#[test]
fn what_cannot_be_heard_is_refused() {
    let watcher = Arc::new(Watcher::new().unwrap());
    let asker = Asker::of(&watcher, Path::new("/proc"));
    let proc = File::open("/proc").unwrap();
    let refused = asker.tree.watch("".into(), proc.as_fd());
    assert_eq!(refused, Err(Unwatched::Unreported));
}

#[test]
fn those_who_ask_about_one_tree_share_it() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let watcher = Arc::new(Watcher::new().unwrap());
    let (mut first, mut second) = (Asker::of(&watcher, top), Asker::of(&watcher, top));
    first.watch(top, "");
    first.changes();
    fs::write(top.join("file"), "").unwrap();
    assert_eq!(texts(&first.changes().paths), ["file"]);
    second.position = second.tree.position();
    fs::write(top.join("other"), "").unwrap();
    assert_eq!(texts(&first.changes().paths), ["other"]);
    drop(first);
    assert_eq!(texts(&second.changes().paths), ["other"]);
    drop(second);
    assert_eq!(watcher.watches(), 0);
}

#[test]
fn what_was_told_before_is_everything_once_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut asker = Asker::of(&watcher, top);
    asker.watch(top, "");
    asker.changes();
    asker.tree.start_monitor_journal();
    let (_, old) = asker.tree.monitor_changes_since(None).unwrap();
    watcher.report_everything((0, 0));
    let (none, _) = asker.tree.monitor_changes_since(Some(old)).unwrap();
    assert!(none.is_empty());
    let stat = top.metadata().unwrap();
    let id = (
        std::os::unix::fs::MetadataExt::dev(&stat),
        std::os::unix::fs::MetadataExt::ino(&stat),
    );
    watcher.report_everything(id);
    let (all, new) = asker.tree.monitor_changes_since(Some(old)).unwrap();
    assert!(all.everything);
    assert!(
        asker
            .tree
            .monitor_changes_since(Some(new))
            .unwrap()
            .0
            .is_empty()
    );
    // Each reader has a position of its own.
    assert!(asker.changes().is_empty());
}

#[test]
fn whoever_waits_is_told_that_something_happened() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let watcher = Arc::new(Watcher::new().unwrap());
    let asker = Asker::of(&watcher, top);
    asker.watch(top, "");
    assert_eq!(watcher.wait(Some(Duration::ZERO)), Ok(false));
    fs::write(top.join("file"), "").unwrap();
    assert_eq!(watcher.wait(None), Ok(true));
    watcher.read_events();
    assert_eq!(watcher.wait(Some(Duration::ZERO)), Ok(false));
    // Even if another reader handles the events first.
    fs::write(top.join("other"), "").unwrap();
    asker.tree.position();
    assert_eq!(watcher.wait(None), Ok(true));
    watcher.read_events();
    assert_eq!(watcher.wait(Some(Duration::ZERO)), Ok(false));
}
