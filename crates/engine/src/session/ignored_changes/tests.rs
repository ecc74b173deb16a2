use std::os::fd::BorrowedFd;
use std::sync::Mutex;

use vigil_testkit::sandbox::Sandbox;

use super::*;
use crate::session::watched::ChangeFilter as _;
use crate::testing::session_at;

/// Records what is watched, until there are no watches left.
struct LimitedWatches {
    left: usize,
    watched: Mutex<Vec<BString>>,
}

impl Watch for LimitedWatches {
    fn watch(&self, path: &BStr, _: BorrowedFd<'_>) -> bool {
        let mut watched = self.watched.lock().unwrap();
        watched.push(path.to_owned());
        watched.len() <= self.left
    }
}

fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    for path in ["file", "src/a.c", "src/tracked.o", "gen/b.c"] {
        sandbox.write(path, "recorded\n");
    }
    sandbox.write(".gitignore", "*.o\n/out/\nlinks\n");
    sandbox.git(["add", "-f", "."]);
    sandbox.git(["commit", "-qm", "all"]);
    sandbox
}

fn path_set(paths: &[&str]) -> BTreeSet<BString> {
    paths.iter().map(|path| BString::from(*path)).collect()
}

/// Returns what is left of `paths` and `folders`, and what is watched, with this many watches.
fn left_after_filter(
    sandbox: &Sandbox,
    (paths, folders): (&[&str], &[&str]),
    shown: &[&str],
    watches: usize,
) -> (BTreeSet<BString>, BTreeSet<BString>, Vec<BString>) {
    let mut session = session_at(&sandbox.top(), true);
    session.refresh_index().unwrap();
    let base = session.excludes.rules();
    let change_filter = IgnoredChanges {
        tracked: &session.index.as_ref().unwrap().tracked,
        base: &base,
        rules: session.directory_rules(),
    };
    let (mut paths, mut folders) = (path_set(paths), path_set(folders));
    let shown: Vec<BString> = shown.iter().map(|path| BString::from(*path)).collect();
    let watches = LimitedWatches {
        left: watches,
        watched: Mutex::default(),
    };
    change_filter.leave_out(&mut paths, &mut folders, &shown, &watches);
    (paths, folders, watches.watched.into_inner().unwrap())
}

#[test]
fn only_ignored_untracked_paths_are_left_out() {
    let sandbox = repository();
    let changed = [
        "a.o",
        "a.c",
        "src/new.o",
        "src/tracked.o",
        "src/.gitignore",
        "new/deep/x.o",
        "new/deep/x.c",
        "out/anything",
        // These take the place of something tracked.
        "src",
        "file/a.o",
        "sub/.git/x.o",
    ];
    let (paths, ..) = left_after_filter(&sandbox, (&changed, &[]), &[], 9);
    let expected = [
        "a.c",
        "src/tracked.o",
        "src/.gitignore",
        "new/deep/x.c",
        "src",
        "file/a.o",
        "sub/.git/x.o",
    ];
    assert_eq!(paths, path_set(&expected));
    sandbox.write("src/.gitignore", "!new.o\n");
    let (paths, ..) = left_after_filter(&sandbox, (&["src/new.o", "src/deep/new.o"], &[]), &[], 9);
    assert_eq!(paths, path_set(&["src/new.o", "src/deep/new.o"]));
}

#[test]
fn fully_ignored_folders_are_watched_and_left_out() {
    let sandbox = repository();
    for path in ["hollow/x.o", "hollow/deep/y.o", "full/x.o", "full/deep/x.c"] {
        sandbox.write(path, "");
    }
    sandbox.write("ruled/.gitignore", "*\n");
    sandbox.write("out/x.c", "");
    let changed = ["hollow", "full", "ruled", "out", "gone", "src", "src/links"];
    let (_, folders, watched) = left_after_filter(&sandbox, (&[], &changed), &[], 9);
    assert_eq!(folders, path_set(&["full", "ruled", "src"]));
    assert!(watched.contains(&"hollow".into()) && watched.contains(&"hollow/deep".into()));
    // Ignored folders are not watched.
    assert!(!watched.contains(&"out".into()), "{watched:?}");

    // A folder that is shown may have to be removed from the answer.
    for shown in ["hollow/", "hollow/deep/", "hollow/x.o"] {
        let (_, folders, _) =
            left_after_filter(&sandbox, (&[], &["hollow", "hollow/deep"]), &[shown], 9);
        let kept: &[&str] = match shown {
            "hollow/x.o" => &["hollow"],
            _ => &["hollow", "hollow/deep"],
        };
        assert_eq!(folders, path_set(kept), "{shown}");
    }
    // A folder that cannot be watched is left to the scan, which reports that.
    let (_, folders, _) = left_after_filter(&sandbox, (&[], &["hollow"]), &[], 1);
    assert_eq!(folders, path_set(&["hollow"]));
}

#[test]
fn a_file_in_the_place_of_an_ignored_folder_is_not_left_out_by_a_rule_for_folders() {
    let sandbox = repository();
    sandbox.write("out", "a file\n");
    std::os::unix::fs::symlink("src", sandbox.top().join("links")).unwrap();
    let changed = ["out", "links", "out/below"];
    let (_, folders, _) = left_after_filter(&sandbox, (&[], &changed), &[], 9);
    // The rule for the symbolic link matches anything.
    assert_eq!(folders, path_set(&["out"]));
}

#[test]
fn ignored_folders_are_examined_only_up_to_a_bound() {
    let sandbox = repository();
    for number in 0..FOLDERS_MAX + 5 {
        std::fs::create_dir_all(sandbox.top().join(format!("many/{number}"))).unwrap();
    }
    let (_, folders, watched) =
        left_after_filter(&sandbox, (&[], &["many", "gone"]), &[], usize::MAX);
    assert!(folders.contains(&BString::from("many")));
    assert!(watched.len() <= FOLDERS_MAX);
}
