//! Files and directories that are damaged or may not be read: Mercurial complains wherever it needs them.

use std::fs;
use std::os::unix::fs::symlink;

use super::sandbox::{WorkingCopy, hg_programs};

/// Replaces the file at `name` while `look` runs.
fn with_replaced(
    working: &WorkingCopy,
    name: &str,
    put: impl Fn(&std::path::Path),
    look: impl Fn(),
) {
    let (path, aside) = (working.path(name), working.path(".hg/aside"));
    let was_there = fs::rename(&path, &aside).is_ok();
    put(&path);
    look();
    fs::remove_file(&path)
        .or_else(|_| fs::remove_dir(&path))
        .unwrap();
    if was_there {
        fs::rename(&aside, &path).unwrap();
    }
}

#[test]
fn unreadable_files_are_named_where_they_are_needed() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.commit("one");
        working.hg(&["bookmark", "mark"]);
        working.write("new", "");
        for name in [
            "branch",
            "bookmarks",
            "bookmarks.current",
            "localtags",
            "store/phaseroots",
            "store/obsstore",
        ] {
            let name = format!(".hg/{name}");
            // A directory in place of the markers is refused as unsupported.
            if !name.ends_with("obsstore") {
                with_replaced(
                    &working,
                    &name,
                    |path| fs::create_dir(path).unwrap(),
                    || assert_same_statuses(&working),
                );
            }
            let to_itself = |path: &std::path::Path| symlink(path.file_name().unwrap(), path);
            with_replaced(
                &working,
                &name,
                |path| to_itself(path).unwrap(),
                || assert_same_statuses(&working),
            );
        }
    }
}

fn assert_same_statuses(working: &WorkingCopy) {
    for arguments in [
        &["status"][..],
        &["status", "--rev", "."],
        &["status", "--rev", "0"],
        &["status", "--rev", "mark"],
        &["status", "--rev", "default"],
        &["status", "--rev", "nothere"],
        &["status", "--change", "."],
        &["status", "--change", "tip"],
    ] {
        working.assert_same_as_hg(arguments);
    }
}

#[test]
fn damaged_roots_of_phases_are_named() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.commit("one");
        for text in ["x", "1 0", "7 0000000000000000000000000000000000000000"] {
            working.write(".hg/store/phaseroots", text);
            working.assert_same_as_hg(&["status", "--rev", "."]);
            // Mercurial fails with a Python error.
            let (stdout, stderr, code) = working.vigil(&["status", "--rev", "0"]);
            assert_eq!((stdout.as_str(), code), ("", Some(255)), "{text}");
            assert!(
                stderr.contains("phaseroots': a line is no root"),
                "{stderr}"
            );
        }
    }
}

#[test]
fn damaged_files_of_the_store_are_named_as_the_newest_mercurial_names_them() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for text in ["1", "2"] {
            working.write("d/a", text);
            working.commit(text);
        }
        working.write("d/a", "3");
        let index = working.path(".hg/store/data/d/a.i");
        let sound = fs::read(&index).unwrap();
        let of_another_version = [b"text".as_slice(), &sound[4..]].concat();
        for (damaged, expected) in [
            (of_another_version, "unknown version (30836) in revlog d/a"),
            (Vec::new(), "abort: d/a@"),
        ] {
            fs::write(&index, damaged).unwrap();
            if working.is_from_version_7() {
                working.assert_same_as_hg(&["status"]);
            }
            let (_, stderr, _) = working.vigil(&["status"]);
            assert!(stderr.contains(expected), "{stderr}");
        }
    }
}

#[test]
fn a_dirstate_whose_data_file_is_gone_is_an_error() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1\n");
        working.commit("0");
        for entry in fs::read_dir(working.path(".hg")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.starts_with("dirstate.") {
                fs::remove_file(&path).unwrap();
            }
        }
        if working.is_from_version_7() {
            working.assert_same_as_hg(&["status"]);
        }
        let (_, stderr, code) = working.vigil(&["status"]);
        let message = "abort: dirstate read race happened 5 times in a row\n";
        assert_eq!((stderr.as_str(), code), (message, Some(255)));
    }
}

/// Returns a working copy with files in directories that are recorded, unknown and ignored.
fn with_directories(hg: &std::path::Path) -> WorkingCopy {
    let working = WorkingCopy::new(hg, false);
    for name in ["a", "d/x", "d/e/y", "ignored/recorded"] {
        working.write(name, "1\n");
    }
    working.write(".hgignore", "^ignored|^.hgignore\n");
    working.commit("one");
    working.hg(&["add", "-q", "ignored/recorded"]);
    working.commit("two");
    for name in ["d/u", "d/unknown/v", "d/e/w", "ignored/u", "ignored/sub/v"] {
        working.write(name, "");
    }
    for name in ["empty", "unknown/empty"] {
        fs::create_dir_all(working.path(name)).unwrap();
    }
    working
}

#[test]
fn a_directory_that_may_be_listed_but_not_searched_is_given_up() {
    for hg in hg_programs() {
        let working = with_directories(&hg);
        for name in [
            "d",
            "d/e",
            "d/unknown",
            "ignored",
            "ignored/sub",
            "empty",
            "unknown/empty",
        ] {
            for mode in [0o644, 0] {
                let questions: &[&[&str]] = &[&["status"], &["status", "-i"]];
                working.assert_same_with_mode((name, mode), "", questions);
            }
        }
        let questions: &[&[&str]] = &[
            &["status", "-A"],
            &["status", "-mard"],
            &["status", "--rev", "0"],
            &["status", "d"],
            &["status", "d/u"],
            &["status", "d/unknown"],
        ];
        for mode in [0o644, 0] {
            working.assert_same_with_mode(("d", mode), "", questions);
        }
    }
}

#[test]
fn a_directory_below_one_that_may_not_be_searched_is_not_met() {
    for hg in hg_programs() {
        let working = with_directories(&hg);
        for mode in [0o644, 0] {
            let questions: &[&[&str]] = &[
                &["status", "d/e"],
                &["status", "d/e", "d/q"],
                &["status", "d/e", "a"],
            ];
            working.assert_same_with_mode(("d", mode), "", questions);
        }
        working.assert_same_with_mode(("d/unknown", 0), "", &[&["status", "d/unknown/v"]]);
    }
}

#[test]
fn a_named_path_below_a_directory_that_may_not_be_looked_at_is_an_error() {
    for hg in hg_programs() {
        let working = with_directories(&hg);
        for mode in [0o644, 0] {
            let questions: &[&[&str]] = &[
                &["status", "d/e/y"],
                &["status", "d/e/y", "d/q"],
                &["status", "d/q", "d/e/w"],
                &["status", "--rev", "0", "d/e/y"],
                &["status", "--rev", "wdir()", "--rev", "0", "d/e/y"],
                &["status", "--rev", "0", "--rev", "1", "d/e/y"],
                &["status", "d/q/r"],
            ];
            working.assert_same_with_mode(("d", mode), "", questions);
        }
    }
}

#[test]
fn directories_that_the_base_has_are_passed_over_by_the_path_that_is_printed() {
    for hg in hg_programs() {
        let working = with_directories(&hg);
        for folder in ["", "d", "d/e"] {
            for unreadable in [("d/e", 0o311), ("", 0o311)] {
                let questions: &[&[&str]] = &[
                    &["status", "--rev", "0"],
                    &["status", "--rev", "null"],
                    &["status", "--config", "ui.relative-paths=no"],
                ];
                working.assert_same_with_mode(unreadable, folder, questions);
            }
        }
        working.assert_same_with_mode(("d/e", 0), "d", &[&["status", "--rev", "0"]]);
    }
}

#[test]
fn an_unreadable_file_of_another_length_than_a_changesets_is_not_read() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for text in ["1\n", "12345678\n"] {
            working.write("a", text);
            working.commit(text);
        }
        for text in ["1\n", "2\n", "123\n", "123456\n", "1234\n", "12345679\n"] {
            working.write("a", text);
            let questions: &[&[&str]] = &[
                &["status"],
                &["status", "--rev", "0"],
                &["status", "--rev", "wdir()", "--rev", "0"],
            ];
            working.assert_same_with_mode(("a", 0), "", questions);
        }
    }
}

#[test]
fn a_file_whose_committed_version_may_not_be_read_is_missing() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for text in ["1\n", "2\n"] {
            working.write("a", text);
            working.write("d/b", "1\n");
            working.commit(text);
        }
        working.write("d/b", "2\n");
        for name in ["00manifest.i", "data", "data/a.i", "data/d", "data/d/b.i"] {
            let name = format!(".hg/store/{name}");
            let questions: &[&[&str]] = &[
                &["status"],
                &["status", "-A"],
                &["status", "--rev", "0"],
                &["status", "--rev", "0", "--rev", "1"],
            ];
            working.assert_same_with_mode((&name, 0), "", questions);
        }
    }
}

#[test]
fn an_index_that_does_not_end_with_a_revision_is_corrupted() {
    for hg in hg_programs() {
        let config = "[experimental]\ntreemanifest=true\n";
        let working = WorkingCopy::with_config(&hg, config);
        for text in ["1\n", "2\n"] {
            working.write("d/a", text);
            working.commit(text);
        }
        working.write("d/a", "3\n");
        for name in [
            "00changelog.i",
            "00manifest.i",
            "meta/d/00manifest.i",
            "data/d/a.i",
        ] {
            let path = working.path(&format!(".hg/store/{name}"));
            let sound = fs::read(&path).unwrap();
            let cut = sound.len() - 1;
            for damaged in [[&sound[..], b"x"].concat(), sound[..cut].to_vec()] {
                fs::write(&path, damaged).unwrap();
                let (_, stderr, _) = working.vigil(&["status"]);
                assert!(stderr.contains("is corrupted"), "{stderr}");
                if working.is_from_version_7() {
                    working.assert_same_as_hg(&["status"]);
                    working.assert_same_as_hg(&["status", "--rev", "0"]);
                }
            }
            fs::write(&path, sound).unwrap();
        }
    }
}

#[test]
fn an_unknown_compression_is_named_and_damaged_chunks_are_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "1\n");
        working.commit("one");
        // Mercurial keeps the newest manifests there, too.
        fs::remove_dir_all(working.path(".hg/wcache")).unwrap();
        let path = working.path(".hg/store/00manifest.i");
        let sound = fs::read(&path).unwrap();
        for mark in *b"/+\xff" {
            let mut damaged = sound.clone();
            damaged[64] = mark;
            fs::write(&path, damaged).unwrap();
            working.assert_same_as_hg(&["status", "--rev", "0", "--rev", "null"]);
        }
        for mark in *b"x(" {
            let mut damaged = sound.clone();
            damaged[64] = mark;
            fs::write(&path, damaged).unwrap();
            let (_, stderr, code) = working.vigil(&["status", "--rev", "0", "--rev", "null"]);
            let expected = "vigil does not answer this: what is damaged in '00manifest'";
            assert!(stderr.contains(expected), "{stderr}");
            assert_eq!(code, Some(255));
        }
    }
}

#[test]
fn an_ignore_file_that_cannot_be_looked_at_is_named_where_patterns_are_needed() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "1\n");
        working.commit("one");
        working.write("b", "1\n");
        for target in [".hgignore", "a/below", "nowhere"] {
            symlink(target, working.path(".hgignore")).unwrap();
            for question in [
                &["status"][..],
                &["status", "-i"],
                &["status", "-mc"],
                &["status", "nowhere"],
                &["status", "-A", "--rev", "null"],
                &["status", "--change", "0"],
            ] {
                working.assert_same_as_hg(question);
            }
            fs::remove_file(working.path(".hgignore")).unwrap();
        }
        // Where nothing unknown is found, ignored files are asked about without a pattern.
        fs::remove_file(working.path("b")).unwrap();
        working.write(".hgignore", "syntax: glob\n*.o\n");
        working.commit("patterns");
        fs::remove_file(working.path(".hgignore")).unwrap();
        symlink(".hgignore", working.path(".hgignore")).unwrap();
        for question in [
            &["status"][..],
            &["status", "-A"],
            &["status", "-i"],
            &["status", "-u"],
        ] {
            working.assert_same_as_hg(question);
        }
    }
}

#[test]
fn a_directory_that_may_not_be_entered_is_not_gone_to() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/f", "1");
        for mode in [0o600, 0o400, 0o100, 0o000] {
            let arguments: &[&[&str]] = &[&["--cwd", "d", "status"], &["--cwd", "d/f", "status"]];
            working.assert_same_with_mode(("d", mode), "", arguments);
        }
    }
}

#[test]
fn a_directory_too_deep_to_be_listed_ends_the_walk() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.commit("one");
        working.write("a", "2");
        working.write("z/unknown", "");
        // Each directory is put into the next, so that no path is too long for that.
        let (deep, next) = (working.path("deep"), working.path("next"));
        let name = "n".repeat(100);
        fs::create_dir(&deep).unwrap();
        for _ in 0..45 {
            fs::create_dir(&next).unwrap();
            fs::rename(&deep, next.join(&name)).unwrap();
            fs::rename(&next, &deep).unwrap();
        }
        for arguments in [
            &["status"][..],
            &["status", "-i"],
            &["status", "-mard"],
            &["status", "--rev", "0"],
            &["status", "deep"],
            &["status", "a", "z"],
            &["status", "--config", "ui.detailed-exit-code=yes"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        let (_, stderr, code) = working.vigil(&["status"]);
        assert!(
            stderr.starts_with("abort: File name too long: '/"),
            "{stderr}"
        );
        assert_eq!(code, Some(255));
        working.write(".hgignore", "^deep/");
        for arguments in [&["status"][..], &["status", "-A"]] {
            working.assert_same_as_hg(arguments);
        }
    }
}
