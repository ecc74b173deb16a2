//! Files of all kinds, and how they are shown.

use std::path::Path;

use std::os::unix::fs::{PermissionsExt, symlink};

use vigil_testkit::process::pipe_without_reader;

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

/// Makes a working copy with every kind of file.
fn all_kinds(working: &WorkingCopy) {
    for name in [
        "clean",
        "modified",
        "same size",
        "gone",
        "removed",
        "d/moved",
        "d/e/deep",
        "x",
        "now a directory",
    ] {
        working.write(name, "one\n");
    }
    symlink("clean", working.path("link")).unwrap();
    working.write(".hgignore", "syntax: glob\n*.o\nignored\n");
    working.commit("first");
    working.write("modified", "longer\n");
    working.write("same size", "two\n");
    std::fs::remove_file(working.path("gone")).unwrap();
    working.hg(&["remove", "removed"]);
    working.hg(&["move", "d/moved", "d/here"]);
    working.hg(&["copy", "clean", "copy"]);
    working.write("added", "new\n");
    working.hg(&["add", "added"]);
    working.write("unknown", "u\n");
    working.write("d/a.o", "o\n");
    working.write("ignored/in", "i\n");
    std::fs::set_permissions(working.path("x"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::remove_file(working.path("now a directory")).unwrap();
    working.write("now a directory/f", "f\n");
    std::fs::remove_file(working.path("link")).unwrap();
    symlink("added", working.path("link")).unwrap();
}

#[test]
fn every_kind_of_file_is_shown_with_every_option() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            all_kinds(&working);
            for arguments in [
                &["status"][..],
                &["st", "-A"],
                &["status", "-mard"],
                &["status", "-m"],
                &["status", "-uinC"],
                &["status", "-c", "-0"],
                &["status", "-AC"],
                &["status", "--no-copies", "-A"],
                &["status", "-q"],
                &["status", "-qA"],
                &["status", "-T", "json", "-A"],
                &["status", "-n", "-T", "json"],
                &["status", "-t", "u"],
                &["status", "--terse", "mardu", "-A"],
                &["status", "-t", "z"],
                &["status", "--color", "always", "-A"],
                &[
                    "status",
                    "--config",
                    "color.status.clean=red_background,bold",
                    "--color=always",
                    "-c",
                ],
                &["status", "--config", "ui.statuscopies=yes"],
                &["status", "--config", "ui.relative-paths=what"],
                &["status", "--config", "nonsense"],
                &["status", "nowhere", "d"],
                &["status", "-I", "*.o", "-i"],
                &["status", "-X", "d/**", "glob:**e*"],
                &["status", "re:.*e$"],
                &["status", "re:("],
                &["status", "re:(?!d/|x)"],
                &["status", "-A", "-X", "re:.*(?<!e)$"],
                &["status", "-A", "relre:(?<=o)v(?=e)", "path:x"],
                &["status", "path:d/e", "-c"],
                &["status", "d/nowhere", "rootfilesin:d"],
                &["status", "../outside"],
                &["status", ".hg/hgrc"],
                &["status", "link/x"],
                &["status", "--unk", "--cle"],
                &["status", "--", "d"],
            ] {
                working.assert_same_as_hg(arguments);
            }
            working.assert_same_as_hg_in("d", &["status", "-A"]);
            working.assert_same_as_hg_in("d", &["status", "-A", "."]);
            working.assert_same_as_hg_in("d/e", &["status", "..", "nowhere"]);
            working.assert_same_as_hg_in("d", &["status", "--config", "ui.relative-paths=yes"]);
            working.assert_same_as_hg_in("d", &["status", "-R", "../.."]);
        }
    }
}

#[test]
fn directories_keep_their_slash_from_wherever_they_are_shown() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["d/e/x", "d/f/g", "out/f"] {
            working.write(name, "");
        }
        for folder in ["d", "d/e", "out"] {
            for arguments in [
                &["status", "-t", "u", "re:"][..],
                &["status", "-t", "u", "-T", "{relpath(path)}\\n"],
            ] {
                working.assert_same_as_hg_in(folder, arguments);
            }
        }
        // Flags must come first in a regular expression, and `filepath:` patterns do not come before them.
        if working.is_from_version_7() {
            working.assert_same_as_hg(&["status", "filepath:d/e/x", "re:(?i)OUT"]);
            working.assert_same_as_hg(&["status", "-I", "filepath:d/e/x", "-I", "re:(?i)OUT"]);
        }
        working.assert_same_as_hg(&["status", "path:d/e/x", "re:(?i)OUT"]);
    }
}

#[test]
fn nested_repositories_and_special_files_are_skipped() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["d/f", "e/f", "g/h/f"] {
                working.write(name, "1");
            }
            working.commit("first");
            working.write("nested/f", "");
            working.hg(&["init", "nested"]);
            working.hg(&["init", "d"]);
            working.write("d/new", "");
            std::fs::rename(working.path("e"), working.path("elsewhere")).unwrap();
            symlink("elsewhere", working.path("e")).unwrap();
            for arguments in [
                &["status", "-A"][..],
                &["status"],
                &["status", "-mardc"],
                &["status", "nested/f"],
                &["status", "d", "e"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn a_merge_is_shown() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("a", "1\n");
            working.write("b", "1\n");
            working.commit("first");
            working.write("a", "2\n");
            working.write("new", "n\n");
            working.commit("second");
            working.hg(&["update", "-q", "0"]);
            working.write("b", "2\n");
            working.commit("other");
            working.hg(&["merge", "-q"]);
            working.assert_same_as_hg(&["status", "-A"]);
            std::fs::remove_file(working.path("new")).unwrap();
            working.assert_same_as_hg(&["status"]);
        }
    }
}

#[test]
fn a_write_error_is_reported_on_the_other_stream() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("f", "");
        let full = || {
            std::fs::File::options()
                .write(true)
                .open("/dev/full")
                .unwrap()
        };
        let printed = |program: &str, arguments: &[&str]| {
            [true, false].map(|is_stdout| {
                let mut command = working.0.command(program, &working.0.top());
                command.args(arguments);
                match is_stdout {
                    true => command.stdout(full()),
                    false => command.stderr(full()),
                };
                let output = command.output().unwrap();
                (output.status.code(), output.stdout, output.stderr)
            })
        };
        for file in ["f", "nowhere"] {
            let vigil = printed(env!("CARGO_BIN_EXE_vigil"), &["hg", "status", file]);
            assert_eq!(
                vigil,
                printed(hg.to_str().unwrap(), &["status", file]),
                "{file}"
            );
        }
    }
}

#[test]
fn that_nobody_reads_the_output_is_a_failure_without_a_word() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("f", "");
        let printed = |program: &Path, arguments: &[&str]| {
            let mut command = working.0.command(program, &working.0.top());
            command.stdout(pipe_without_reader().unwrap());
            let output = command.args(arguments).output().unwrap();
            (output.status.code(), output.stderr)
        };
        let vigil = printed(Path::new(env!("CARGO_BIN_EXE_vigil")), &["hg", "status"]);
        assert_eq!(vigil, printed(&hg, &["status"]));
    }
}

#[test]
fn behind_a_link_only_files_are_not_read_and_those_that_mercurial_would_read() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["d/later", "d/switched"] {
                working.write(name, "1\n");
            }
            symlink("nowhere", working.path("d/first")).unwrap();
            working.commit("first");
            std::fs::rename(working.path("d"), working.path("moved")).unwrap();
            symlink("moved", working.path("d")).unwrap();
            working.hg(&["debugrebuilddirstate"]);
            working.assert_same_as_hg(&["status", "-q"]);
            std::fs::remove_file(working.path("moved/later")).unwrap();
            working.assert_same_as_hg(&["status", "-q"]);
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(working.path("moved/switched"), executable).unwrap();
            working.assert_same_as_hg(&["status", "-q"]);
            std::fs::remove_file(working.path("moved/switched")).unwrap();
            working.assert_same_as_hg(&["status", "-q"]);
        }
    }
}

#[test]
fn where_mercurial_does_not_walk_anything_in_the_place_of_a_file_counts_as_it() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["a", "d/a", "d/x", "d/copied", "e/a"] {
                working.write(name, "1\n");
            }
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(working.path("d/x"), executable).unwrap();
            working.commit("first");
            for name in ["b", "d/b", "e/b"] {
                working.write(name, "1\n");
                working.hg(&["add", name]);
            }
            working.hg(&["copy", "d/copied", "d/copy"]);
            working.hg(&["remove", "e/a"]);
            working.write(".hgignore", "d\ne\n");
            for name in [
                "a", "b", "d/a", "d/b", "d/x", "d/copied", "d/copy", "e/a", "e/b",
            ] {
                let path = working.path(name);
                std::fs::remove_file(&path).ok();
                std::fs::create_dir_all(&path).unwrap();
            }
            let questions = [
                &["status"][..],
                &["status", "-A"],
                &["status", "-mardc"],
                &["status", "-i"],
                &["status", "-u"],
                &["status", "d"],
                &["status", "d/a", "d/b", "e"],
                &["status", "glob:d/*"],
                &["status", "-A", "-I", "rootfilesin:d"],
                &["status", "-u", "-I", "d/b"],
            ];
            for arguments in questions {
                working.assert_same_as_hg(arguments);
            }
            if working.is_from_version_7() {
                for patterns in [
                    ["rootfilesin:.", "filepath:d/b"],
                    ["rootfilesin:d", "filepath:b"],
                ] {
                    for options in ["-A", "-mardu"] {
                        working.assert_same_as_hg(&["status", options, patterns[0], patterns[1]]);
                    }
                }
            }
            working.hg(&["debugrebuilddirstate"]);
            std::fs::remove_dir(working.path("d/b")).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                working.path("d/b"),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
            for arguments in questions {
                working.assert_same_as_hg(arguments);
            }
            // Nothing is looked for behind a symbolic link or in another repository.
            std::fs::rename(working.path("d"), working.path("moved")).unwrap();
            symlink("moved", working.path("d")).unwrap();
            working.hg(&["init", "e"]);
            for arguments in questions {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn the_working_copy_is_compared_whole_where_it_is_asked_for_a_directory_it_may_have() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["d/a", "e/a"] {
                working.write(name, "1\n");
                // Mercurial 7.2 fails here if it wants to note that a file is clean.
                let file = std::fs::File::open(working.path(name)).unwrap();
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            }
            working.commit("first");
            working.assert_same_as_hg(&["status", "--rev", "wdir()", "nowhere", "e"]);
            std::fs::rename(working.path("d"), working.path("moved")).unwrap();
            symlink("moved", working.path("d")).unwrap();
            working.hg(&["debugrebuilddirstate"]);
            for arguments in [
                &["status", "--rev", "wdir()", "nowhere", "e/missing"][..],
                &["status", "-q", "--rev", "wdir()", "nowhere"],
                &["status", "-q", "--rev", "wdir()", "e"],
                &["status", "--rev", "wdir()", "--rev", "wdir()", "nowhere"],
                &["status", "--rev", "0", "nowhere", "e"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn a_file_behind_a_link_is_read_where_its_second_alone_proves_nothing() {
    const SECOND_AMBIGUOUS: u16 = 1 << 12;
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/e/file", "1");
        working.commit("first");
        let path = working.path("d/e/file");
        let file = std::fs::File::options().write(true).open(path).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 5);
        file.set_modified(old).unwrap();
        working.hg(&["status"]);
        for flags in [0, SECOND_AMBIGUOUS] {
            working.rewrite_dirstate(None, |path, _, mut node| {
                if path == "d/e/file" {
                    node.put_flags((node.flags() & !SECOND_AMBIGUOUS) | 1 << 11 | flags);
                    node.put_mtime(1_000_000_000, 5);
                }
            });
            std::fs::rename(working.path("d"), working.path("moved")).unwrap();
            symlink("moved", working.path("d")).unwrap();
            working.assert_same_as_hg(&["status", "-c"]);
            working.assert_same_as_hg(&["status", "-mardi"]);
            std::fs::remove_file(working.path("d")).unwrap();
            std::fs::rename(working.path("moved"), working.path("d")).unwrap();
        }
    }
}

#[test]
fn endless_files_cost_neither_time_nor_memory() {
    const LIMITED_VIGIL: &str = "ulimit -v 1000000; \"$0\" \"$@\"";
    let printed = |working: &WorkingCopy, arguments: &[&str]| {
        let mut command = working.0.command("sh", &working.path(""));
        command.args(["-c", LIMITED_VIGIL, env!("CARGO_BIN_EXE_vigil")]);
        command.env("VIGIL_NO_DAEMON", "1");
        let output = command.args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("d/file", "1");
        working.commit("first");
        let tracked = working.path("d/file");
        let file = std::fs::File::options().write(true).open(tracked).unwrap();
        file.set_len(3 << 30).unwrap();
        working.hg(&["debugrebuilddirstate"]);
        assert_eq!(
            printed(&working, &["hg", "status"]),
            (Some(0), "M d/file\n".into())
        );
        file.set_len(1).unwrap();
        working.write("d/file", "2");
        working.commit("second");
        file.set_len(3 << 30).unwrap();
        assert_eq!(
            printed(&working, &["hg", "status", "--rev", "0"]),
            (Some(0), "M d/file\n".into())
        );
        file.set_len(1).unwrap();
        for (name, is_refused) in [
            (".hg/requires", true),
            (".hg/store/requires", true),
            (".hg/hgrc", true),
            (".hgignore", false),
            (".hg/branch", false),
            (".hg/bookmarks", false),
            (".hg/bookmarks.current", false),
            (".hg/store/phaseroots", false),
            (".hg/store/obsstore", false),
            (".hg/merge/state2", false),
        ] {
            let path = working.path(name);
            let before = std::fs::read(&path).ok();
            working.write(name, "");
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_len(3 << 30).unwrap();
            let (code, text) = printed(&working, &["hg", "status"]);
            assert!(matches!(code, Some(0 | 255)), "{name}: {text}");
            assert!(
                !is_refused || text.contains("File too large"),
                "{name}: {text}"
            );
            let (code, text) = printed(&working, &["prompt"]);
            assert!(matches!(code, Some(0 | 1 | 255)), "{name}: {text}");
            std::fs::remove_file(&path).unwrap();
            if let Some(before) = before {
                working.write(name, before);
            }
        }
    }
}

#[test]
fn ui_tweakdefaults_changes_the_defaults() {
    const TWEAKDEFAULTS: &str = "ui.tweakdefaults=yes";
    for hg in hg_programs() {
        let mut working = WorkingCopy::new(&hg, true);
        all_kinds(&working);
        let home = working.0.home().join("hgrc");
        let written = std::fs::read_to_string(&home).unwrap();
        let set = |text: &str| std::fs::write(&home, format!("{written}{text}")).unwrap();
        let printed = |working: &WorkingCopy| {
            for arguments in [
                &["status"][..],
                &["status", "--config", TWEAKDEFAULTS],
                &[
                    "status",
                    "--config",
                    TWEAKDEFAULTS,
                    "--config",
                    "ui.relative-paths=no",
                ],
                &[
                    "status",
                    "--config",
                    "ui.statuscopies=no",
                    "--config",
                    TWEAKDEFAULTS,
                ],
                &[
                    "status",
                    "--config",
                    TWEAKDEFAULTS,
                    "--config",
                    "ui.tweakdefaults=no",
                ],
                &["status", "--config", "ui.tweakdefaults=no"],
                &["status", "--config", "ui.tweakdefaults=what"],
            ] {
                working.assert_same_as_hg_in("d", arguments);
            }
        };
        printed(&working);
        set("[ui]\ntweakdefaults=yes\n");
        printed(&working);
        working.write(".hg/hgrc", "[ui]\nstatuscopies=no\ntweakdefaults=no\n");
        printed(&working);
        set("[ui]\ntweakdefaults=yes\nrelative-paths=no\n[commands]\nstatus.verbose=no\n");
        printed(&working);
        for plain in ["", "tweakdefaults", "i18n"] {
            working.0.set_variable("HGPLAIN", "1");
            working.0.set_variable("HGPLAINEXCEPT", plain);
            working.assert_same_as_hg_in("d", &["status"]);
        }
        let working = WorkingCopy::new(&hg, true);
        working.write(".hg/hgrc", "[ui]\ntweakdefaults=yes\n");
        let (_, stderr, _) = working.vigil(&["status"]);
        assert!(
            stderr.contains("ui.tweakdefaults of a repository"),
            "{stderr}"
        );
    }
}

#[test]
fn a_link_may_make_a_directory_another_repository() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write(".hgignore", "syntax: glob\nout\nx/.hg\n");
        for name in ["a", "d/x", "d/e/y", "d/out/z", "x/y"] {
            working.write(name, "1");
        }
        working.commit("0");
        working.hg(&["add", "d/out/z"]);
        working.hg(&["commit", "-q", "-m", "1", "-d", "0 0"]);
        let questions = [
            &["status"][..],
            &["status", "-m"],
            &["status", "-A"],
            &["status", "-i"],
            &["status", "-A", "d"],
            &["status", "d/x"],
            &["status", "-I", "a"],
            &["status", "re:d/e"],
            &["status", "--rev", "null"],
        ];
        let folder = working.home();
        for directory in ["d", "d/out", "x"] {
            for target in [folder.as_path(), Path::new("nowhere"), &folder.join("hgrc")] {
                let link = working.path(directory).join(".hg");
                symlink(target, &link).unwrap();
                for contents in ["1", "2", "333"] {
                    for name in ["d/x", "d/e/y", "x/y"] {
                        working.write(name, contents);
                    }
                    for arguments in questions {
                        working.assert_same_as_hg(arguments);
                    }
                }
                std::fs::remove_file(link).unwrap();
            }
        }
        working.hg(&["init", "d"]);
        symlink(&folder, working.path("d/e/.hg")).unwrap();
        for arguments in questions {
            working.assert_same_as_hg(arguments);
        }
    }
}
