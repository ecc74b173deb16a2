use std::fs::{self, File};
use std::path::Path;

use bstr::BString;

use super::*;

/// A reader that asks about a tree now and then.
struct TreeReader {
    tree: Arc<WatchedTree>,
    position: Position,
}

impl TreeReader {
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
    let mut tree = TreeReader::of(&watcher, top);
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
fn a_folder_that_is_moved_away_is_no_longer_watched() {
    let folder = tempfile::tempdir().unwrap();
    let (top, outside) = (folder.path().join("top"), folder.path().join("outside"));
    fs::create_dir_all(top.join("a/b")).unwrap();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut tree = TreeReader::of(&watcher, &top);
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
        let mut tree = TreeReader::of(&watcher, &top);
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
    let mut outer = TreeReader::of(&watcher, top);
    let mut inner = TreeReader::of(&watcher, &top.join("inner"));
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
fn file_systems_without_events_are_refused() {
    let watcher = Arc::new(Watcher::new().unwrap());
    let reader = TreeReader::of(&watcher, Path::new("/proc"));
    let proc = File::open("/proc").unwrap();
    let refused = reader.tree.watch("".into(), proc.as_fd());
    assert_eq!(refused, Err(Unwatched::Unreported));
}

#[test]
fn readers_of_one_tree_share_it() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let watcher = Arc::new(Watcher::new().unwrap());
    let (mut first, mut second) = (TreeReader::of(&watcher, top), TreeReader::of(&watcher, top));
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
fn the_monitor_journal_reports_everything_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut reader = TreeReader::of(&watcher, top);
    reader.watch(top, "");
    reader.changes();
    reader.tree.start_monitor_journal();
    let (_, old) = reader.tree.monitor_changes_since(None).unwrap();
    watcher.report_everything((0, 0));
    let (none, _) = reader.tree.monitor_changes_since(Some(old)).unwrap();
    assert!(none.is_empty());
    let stat = top.metadata().unwrap();
    let id = (
        std::os::unix::fs::MetadataExt::dev(&stat),
        std::os::unix::fs::MetadataExt::ino(&stat),
    );
    watcher.report_everything(id);
    let (all, new) = reader.tree.monitor_changes_since(Some(old)).unwrap();
    assert!(all.everything);
    assert!(
        reader
            .tree
            .monitor_changes_since(Some(new))
            .unwrap()
            .0
            .is_empty()
    );
    // Each reader has a position of its own.
    assert!(reader.changes().is_empty());
}

#[test]
fn waiting_readers_are_woken_once_events_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let watcher = Arc::new(Watcher::new().unwrap());
    let reader = TreeReader::of(&watcher, top);
    reader.watch(top, "");
    assert_eq!(watcher.wait(Some(Duration::ZERO)), Ok(false));
    fs::write(top.join("file"), "").unwrap();
    assert_eq!(watcher.wait(Some(Duration::ZERO)), Ok(false));
    reader.tree.position();
    assert_eq!(watcher.wait(None), Ok(true));
    assert_eq!(watcher.wait(Some(Duration::ZERO)), Ok(false));
    watcher.wake();
    assert_eq!(watcher.wait(None), Ok(true));
}

#[test]
fn events_are_read_while_nobody_asks() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let watcher = Arc::new(Watcher::new().unwrap());
    let reader = TreeReader::of(&watcher, top);
    reader.watch(top, "");
    reader.tree.position();
    let reading = watcher.clone();
    // It reads until the process ends.
    std::thread::spawn(move || reading.read_events_as_they_come(Duration::ZERO));
    for name in ["file", "other"] {
        fs::write(top.join(name), "").unwrap();
        while reader.tree.heard_of(name.into()).is_none() {
            assert_eq!(watcher.wait(None), Ok(true));
        }
    }
}

#[test]
fn only_trees_where_mounts_changed_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fs::create_dir(top.join("real")).unwrap();
    std::os::unix::fs::symlink("real", top.join("link")).unwrap();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut tree = TreeReader::of(&watcher, &top.join("link"));
    tree.watch(&top, "link");
    tree.changes();
    // Something that is mounted there as before may still be something else.
    for (point, is_at, is_below) in [
        ("other", false, false),
        ("realm", false, false),
        ("real/below", true, true),
        ("real", true, false),
        ("link", true, false),
        ("", true, false),
    ] {
        let points = vec![top.join(point)];
        let came = MountChanges {
            points: points.clone(),
            ..MountChanges::default()
        };
        let stayed = MountChanges {
            present: points,
            ..MountChanges::default()
        };
        for (changes, is_doubted) in [(came, is_at), (stayed, is_below)] {
            watcher.inner.lock().doubt_trees_with(&changes);
            assert_eq!(tree.changes().everything, is_doubted, "{changes:?}");
        }
    }
}
