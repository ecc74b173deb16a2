use std::os::fd::BorrowedFd;
use std::sync::Mutex;

use vigil_testkit::sandbox::Sandbox;

use super::*;
use crate::session::watched::ChangeFilter as _;
use crate::testing::session_at;

/// Records what is watched, until there are no watches left.
struct Watches {
    left: usize,
    watched: Mutex<Vec<BString>>,
}

impl Watch for Watches {
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

fn set(paths: &[&str]) -> BTreeSet<BString> {
    paths.iter().map(|path| BString::from(*path)).collect()
}

/// Returns what is left of `paths` and `folders`, and what is watched, with this many watches.
fn left(
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
    let (mut paths, mut folders) = (set(paths), set(folders));
    let shown: Vec<BString> = shown.iter().map(|path| BString::from(*path)).collect();
    let watches = Watches {
        left: watches,
        watched: Mutex::default(),
    };
    change_filter.leave_out(&mut paths, &mut folders, &shown, &watches);
    (paths, folders, watches.watched.into_inner().unwrap())
}

#[test]
fn only_what_is_ignored_and_not_tracked_is_left_out() {
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
    let (paths, ..) = left(&sandbox, (&changed, &[]), &[], 9);
    let expected = [
        "a.c",
        "src/tracked.o",
        "src/.gitignore",
        "new/deep/x.c",
        "src",
        "file/a.o",
        "sub/.git/x.o",
    ];
    assert_eq!(paths, set(&expected));
    sandbox.write("src/.gitignore", "!new.o\n");
    let (paths, ..) = left(&sandbox, (&["src/new.o", "src/deep/new.o"], &[]), &[], 9);
    assert_eq!(paths, set(&["src/new.o", "src/deep/new.o"]));
}

#[test]
fn folders_in_which_all_is_ignored_are_watched_and_left_out() {
    let sandbox = repository();
    for path in ["hollow/x.o", "hollow/deep/y.o", "full/x.o", "full/deep/x.c"] {
        sandbox.write(path, "");
    }
    sandbox.write("ruled/.gitignore", "*\n");
    sandbox.write("out/x.c", "");
    let changed = ["hollow", "full", "ruled", "out", "gone", "src", "src/links"];
    let (_, folders, watched) = left(&sandbox, (&[], &changed), &[], 9);
    assert_eq!(folders, set(&["full", "ruled", "src"]));
    assert!(watched.contains(&"hollow".into()) && watched.contains(&"hollow/deep".into()));
    // Ignored folders are not watched.
    assert!(!watched.contains(&"out".into()), "{watched:?}");

    // A folder that is shown may have to be removed from the answer.
    for shown in ["hollow/", "hollow/deep/", "hollow/x.o"] {
        let (_, folders, _) = left(&sandbox, (&[], &["hollow", "hollow/deep"]), &[shown], 9);
        let kept: &[&str] = match shown {
            "hollow/x.o" => &["hollow"],
            _ => &["hollow", "hollow/deep"],
        };
        assert_eq!(folders, set(kept), "{shown}");
    }
    // A folder that cannot be watched is left to the scan, which reports that.
    let (_, folders, _) = left(&sandbox, (&[], &["hollow"]), &[], 1);
    assert_eq!(folders, set(&["hollow"]));
}

#[test]
fn what_took_the_place_of_an_ignored_folder_is_not_left_out_by_a_rule_for_folders() {
    let sandbox = repository();
    sandbox.write("out", "a file\n");
    std::os::unix::fs::symlink("src", sandbox.top().join("links")).unwrap();
    let changed = ["out", "links", "out/below"];
    let (_, folders, _) = left(&sandbox, (&[], &changed), &[], 9);
    // The rule for the symbolic link matches anything.
    assert_eq!(folders, set(&["out"]));
}

#[test]
fn no_more_is_looked_into_than_a_question_can_wait_for() {
    let sandbox = repository();
    for number in 0..FOLDERS_MAX + 5 {
        std::fs::create_dir_all(sandbox.top().join(format!("many/{number}"))).unwrap();
    }
    let (_, folders, watched) = left(&sandbox, (&[], &["many", "gone"]), &[], usize::MAX);
    assert!(folders.contains(&BString::from("many")));
    assert!(watched.len() <= FOLDERS_MAX);
}
