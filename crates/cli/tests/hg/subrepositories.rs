//! Repositories in a working copy that belong to it.

use std::os::unix::fs::symlink;

use super::sandbox::{FORMATS, Working, programs};

/// A repository with two subrepositories, of which one has one itself, and which differ from what is committed.
fn nested(working: &Working) {
    for folder in ["sub", "d/other", "sub/inner"] {
        working.hg(&["init", folder]);
        working.write(&format!("{folder}/a"), "1\n");
        working.write(&format!("{folder}/gone"), "1\n");
    }
    working.write("sub/.hgsub", "inner = inner\n");
    for folder in ["sub/inner", "sub", "d/other"] {
        working.hg(&["-R", folder, "commit", "-q", "-A", "-m", "0", "-d", "0 0"]);
    }
    working.write(".hgsub", "# two\nsub = sub\nd/other = [hg]d/other\n");
    working.write("top", "1\n");
    working.commit("0");
    working.write("sub/a", "2\n");
    working.hg(&["-R", "sub", "commit", "-q", "-m", "1", "-d", "0 0"]);
    working.write("top", "2\n");
    working.commit("1");
    for folder in ["sub", "d/other", "sub/inner"] {
        working.write(&format!("{folder}/a"), "other\n");
        working.write(&format!("{folder}/new"), "");
        working.write(&format!("{folder}/x.o"), "");
        std::fs::remove_file(working.path(&format!("{folder}/gone"))).unwrap();
    }
    working.write("sub/.hgignore", "\\.o$\n");
    working.write("new", "");
}

#[test]
fn subrepositories_that_are_not_allowed_are_not_told() {
    for hg in programs() {
        let working = Working::new(&hg, true);
        nested(&working);
        for setting in [
            "subrepos.allowed=no",
            "subrepos.hg:allowed=no",
            "subrepos.allowed=what",
            "subrepos.git:allowed=no",
        ] {
            for more in [
                &[][..],
                &["-S"],
                &["-S", "--rev", "0"],
                &["-S", "--change", "null"],
            ] {
                working.same(&[&["status", "--config", setting], more].concat());
            }
        }
    }
}

#[test]
fn subrepositories_are_told_where_that_is_asked() {
    for hg in programs() {
        for is_v2 in FORMATS {
            let working = Working::new(&hg, is_v2);
            nested(&working);
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-S"],
                &["status", "-SA"],
                &["status", "-S", "-i"],
                &["status", "-SC", "--rev", "0"],
                &["status", "-SA", "--rev", "0", "--rev", "1"],
                &["status", "-S", "--rev", "1", "--rev", "0"],
                &["status", "-S", "--change", "0"],
                &["status", "-S", "--rev", "null"],
                &["status", "--rev", "0"],
                &["status", "top", "new"],
                &["status", "-S", "-t", "u"],
                &["status", "-S", "-T", "{path}\\n"],
            ] {
                working.same(arguments);
            }
            working.hg(&["--cwd", "sub", "commit", "-q", "-m", "2", "-d", "0 0", "a"]);
            working.same(&["status", "-S"]);
            working.write(".hgsub", "sub = sub\n");
            working.same(&["status", "-S"]);
        }
    }
}

#[test]
fn what_needs_more_than_that_is_named() {
    for hg in programs() {
        let working = Working::new(&hg, true);
        nested(&working);
        for (arguments, what) in [
            (&["status", "-S", "sub/a"][..], "subrepositories"),
            (&["status", "sub"], "in a subrepository"),
            (
                &["status", "-S", "-I", "**a"],
                "patterns with subrepositories",
            ),
        ] {
            let (_, stderr, code) = working.vigil(arguments);
            assert_eq!(code, Some(255), "{arguments:?}");
            assert!(stderr.contains(what), "{stderr}");
        }
        working.write(".hgsub", "sub = [git]x\n");
        let (_, stderr, _) = working.vigil(&["status"]);
        assert!(stderr.contains("none of Mercurial's"), "{stderr}");
        // What is not understood is told by its place.
        working.write(".hgsub", "sub = sub\n");
        working.write(".hgsubstate", "\n\nnonsense\n");
        working.same(&["status", "-S"]);
        working.same_in("d", &["status", "."]);
        working.same_in("..", &["status", "-R", "work"]);
        std::fs::remove_file(working.path(".hgsub")).unwrap();
        working.same(&["status"]);
        working.same_in("d", &["status", "-S", "."]);
        working.same(&["status", "-A", "--rev", "0"]);
        // Of a link the text is where it leads.
        symlink("nowhere", working.path(".hgsub")).unwrap();
        let (stdout, stderr, code) = working.vigil(&["status"]);
        assert_eq!((stdout.as_str(), code), ("", Some(255)));
        assert!(stderr.contains("the line 'nowhere' of .hgsub"), "{stderr}");
        // One that nobody has added means nothing.
        let working = Working::new(&hg, true);
        working.write(".hgsub", "sub = [git]x\n");
        working.same(&["status", "-S"]);
    }
}

#[test]
fn damage_in_the_working_copy_does_not_matter_between_changesets() {
    for hg in programs() {
        let working = Working::new(&hg, false);
        working.write("f", "1");
        working.commit("first");
        working.write("f", "12");
        working.commit("second");
        for name in [".hgsub", ".hgsubstate"] {
            working.write(name, "");
            working.hg(&["add", name]);
        }
        working.write(".hgsub", "s = s\n");
        working.write(".hgsubstate", "nonsense\n");
        assert_eq!(working.vigil(&["status"]).2, Some(255));
        for arguments in [
            &["status", "--rev", "0", "--rev", "1"][..],
            &["status", "--change", "1"],
        ] {
            working.same(arguments);
        }
    }
}
