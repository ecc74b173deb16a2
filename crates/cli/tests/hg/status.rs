//! Named states and questions.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

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
fn ignore_files_are_read_as_mercurial_does() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in [
            "a.o",
            "a.c",
            "d/a.o",
            "d/b.c",
            "d/e/c.c",
            "out/x",
            "#x",
            "s p",
            "d/patterns",
        ] {
            working.write(name, "");
        }
        for text in [
            "\\.o$\n",
            "syntax: glob\n*.o\n",
            "syntax: glob\nd\n",
            "syntax: rootglob\n*.c\n",
            "glob:**/e\nre:^out\n",
            "syntax: glob\n\\#x # comment\n",
            "syntax: nonsense\nsyntax:glob\n*.c\n",
            "include:d/patterns\n",
            "subinclude:d/patterns\n",
            "include:missing\n",
            "syntax: regexp\n*bad\n",
            "syntax: glob\n[z-a]\n",
            "(?i)A\\.[CO]$\n",
            "^d/e$\n",
            "^(?!d/)\n",
            "^(?!d(/|$)).*\\.c\nsyntax: glob\n*.o\n",
            "(?<!b)\\.c$\n(?=out)\n",
            "^d/(?=e)(?!.*\\.c$)\n\\.o$\n",
            "(?i)^A(?=\\.O)\n",
            "(?<=a*)b\n",
            "(?!x\n",
            "subinclude:d/more\n",
        ] {
            working.write("d/more", "^(?!e|more)\n");
            working.write(".hgignore", text);
            working.write("d/patterns", "syntax: glob\n*.c\n");
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-i"],
                &["status", "d/e", "a.o"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
        std::fs::write(working.0.home().join("more"), "a\n").unwrap();
        std::fs::remove_file(working.path(".hgignore")).unwrap();
        working.assert_same_as_hg(&["status", "--config", "ui.ignore=~/more"]);
        working.assert_same_as_hg(&["status", "--config", "ui.ignore.x=$HOME/more", "-i"]);
    }
}

#[test]
fn an_invalid_pattern_matters_only_where_it_is_used() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["c", "d/a", "d/e/b"] {
            working.write(name, "1\n");
        }
        working.commit("first");
        working.write("d/more", "*bad\n");
        for text in [
            "subinclude:d/more\n",
            "d/\nsubinclude:d/more\n",
            "^d$\nsubinclude:d/more\n",
            "subinclude:d/more\nd/more\n",
        ] {
            working.write(".hgignore", text);
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-i"],
                &["status", "-m"],
                &["status", "d"],
                &["status", "d/a"],
                &["status", "d/more"],
                &["status", "-A", "d/more"],
                &["status", "-i", "d/more"],
                &["status", "d/e/b"],
                &["status", "d/missing"],
                &["status", "d/e"],
                &["status", "-A", "d/e"],
                &["status", "d/more", "c"],
                &["status", "-I", "d/a"],
                &["status", "-I", "d/A.C"],
                &["status", "-I", "d/*.c"],
                &["status", "-A", "-X", "d"],
                &["status", "-q", "d/e"],
                &["status", "-m", "d"],
                &["status", "-q", "-I", ".", "d/e"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn only_files_and_folders_are_matched_with_patterns() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/a", "1\n");
        working.write("d/more", "*bad\n");
        working.commit("first");
        working.write(".hgignore", "subinclude:d/more\n");
        let pipe = working.path("d/pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for arguments in [&["status"][..], &["status", "-A"], &["status", "-i"]] {
            working.assert_same_as_hg(arguments);
        }
        // A file is looked up.
        working.write("d/b", "");
        working.assert_same_as_hg(&["status"]);
    }
}

#[test]
fn a_pattern_that_matches_the_top_ignores_all() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("c", "1\n");
        working.commit("first");
        for name in ["a\nb", "d/e", "d/new\nline", "x\ny/z"] {
            working.write(name, "1\n");
        }
        for text in [
            "syntax: glob\n*\n",
            "syntax: glob\n**\n",
            "syntax: rootglob\n*\n",
            "^$\n",
            "x*\n",
            "^x*$\n",
            "^nowhere\n",
            "subinclude:d/more\n",
        ] {
            working.write(".hgignore", text);
            working.write("d/more", "^$\n");
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-i"],
                &["status", "d"],
                &["status", "a\nb"],
                &["status", "-i", "a\nb", "d/e"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn wrong_options_print_the_help() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for arguments in [
            &["status", "--from", "0"][..],
            &["status", "--re", "0"],
            &["status", "--rev"],
            &["status", "-Z"],
            &["status", "-mZ"],
            &["status", "--all=x"],
            &["status", "--al=x"],
            &["status", "--status=x"],
            &["status", "--no-al=x"],
            &["status", "-t"],
            &["status", "--no-rev", "x"],
            &["status", "--no-all"],
            &["status", "--="],
            &["status", "--no-"],
            &["status", "--no-no-status"],
            &["status", "--no-noninteractive"],
            &["status", "--no-version"],
            &["status", "--style=x"],
            &["status", "--sty", "x"],
            &["status", "-n", "--stat"],
            &["status", "--s"],
            &["status", "--no-c"],
            &["status", "--no-st"],
            &["status", "-R"],
            &["status", "--cwd"],
            &["status", "--deb"],
            &["status", "--cw", "."],
            &["status", "--repositor", "."],
            &["status", "--repo", "."],
            &["status", "-qR", "."],
            &["status", "-qR."],
            &["status", "-R."],
            &["--conf", "ui.quiet=1", "status"],
            &["status", "--rep", ".", "--cw", "."],
        ] {
            working.assert_same_as_hg(arguments);
        }
    }
}

#[test]
fn an_option_that_counts_early_is_written_in_full_and_is_no_value() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.write("d/b", "1");
        working.commit("0");
        working.write("new", "");
        for arguments in [
            &["status", "-I", "-R", "."][..],
            &["status", "-I", "-Rx"],
            &["status", "--rev", "-Rx"],
            &["status", "--rev", "--cwd", "d"],
            &["status", "--rev", "--cwd", "nope"],
            &["status", "-T", "--config=ui.quiet=1"],
            &["status", "-T", "--config=ui.quiet=x"],
            &["status", "-T", "--config", "x"],
            &["status", "--debugge"],
            &["status", "-I", "-q"],
            &["status", "-X", "-q", "-m"],
            &["status", "-X", "--verbose", "-q"],
            &["status", "-X", "--no-quiet", "-q"],
            &["status", "-X", "-qfoo"],
            &["status", "--color", "--cwd", "d"],
            &["status", "--color", "--cwd", "--cwd", "d"],
            &["status", "-R", "--", "-A"],
            &["status", "--", "-R", "x"],
            &["--", "status", "-R", "."],
            &["--", "status", "--cwd", "d"],
            &["--", "status", "--config", "ui.quiet=1"],
            &["status", "-R", ".", "--repositor", "."],
            &["status", "-R", "x", "--repositor", "."],
            &["status", "-vR", ".", "-R", "."],
            &["status", "--cwd", "d", "--cw", "d"],
            &["status", "--cwd=", "--repository="],
            &["status", "--cw=", "--rep="],
            &["status", "--quiet=x"],
            &["status", "-X", "--config"],
            &["status", "--cwd"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        let (_, stderr, _) = working.vigil(&["status", "-T", "--debugger"]);
        assert!(stderr.contains("the option --debugger"), "{stderr}");
    }
}

#[test]
fn the_configuration_and_the_directory_come_before_the_command_line() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        let is_new = working.is_from_version_7();
        let gone = working.0.root().join("gone");
        let top = working.path("");
        let top = top.to_str().unwrap();
        let bad = working.home().join("bad");
        std::fs::write(&bad, "nonsense\n").unwrap();
        for arguments in [
            &["status"][..],
            &["status", "-Z"],
            &["-Z", "status"],
            &["status", "-R", top],
            &["status", "--cwd", top],
            &["status", "--cwd", "nope"],
            &["status", "--config", "x"],
            &["status", "--cwd", "nope", "--config", "x"],
            &["status", "--cwd", "nope", "--config", "ui.quiet=x"],
            &[
                "status",
                "--cwd",
                "nope",
                "--config",
                "ui.detailed-exit-code=1",
            ],
            &["status", "--config", "ui.detailed-exit-code=1", "-Z"],
            &["status", "--cwd", "nope", "-Z"],
            &["--cwd", "nope", "-Z", "status"],
            &["--cwd", "nope", "-Z", "status", "--config", "x"],
        ] {
            working.assert_same_as_hg(arguments);
            if arguments.contains(&"--cwd") && !is_new {
                continue;
            }
            for rc in [&bad, &working.home().join("hgrc")] {
                let run = |program: &Path, first: &str| {
                    let script =
                        "mkdir \"$GONE\" && cd \"$GONE\" && rmdir \"$GONE\" && exec \"$@\"";
                    let mut command = working.0.command("sh", &working.path(""));
                    command.args(["-c", script, "sh"]).arg(program);
                    command.args(Some(first).filter(|first| !first.is_empty()));
                    command
                        .args(arguments)
                        .env("GONE", &gone)
                        .env("HGRCPATH", rc);
                    command.output().unwrap()
                };
                let vigil = Path::new(env!("CARGO_BIN_EXE_vigil"));
                assert_eq!(run(vigil, "hg"), run(&hg, ""), "{arguments:?}");
            }
        }
    }
}

#[test]
fn home_directories_are_those_of_the_system_without_home() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "1");
        for path in [
            "~root/no such file",
            "~root",
            "~no-such-user/x",
            "~no-such-user",
            "$NAME/x",
            "x~root/y",
        ] {
            for setting in ["ui.ignore", "ui.ignore.x"] {
                let setting = format!("{setting}={path}");
                working.assert_same_as_hg(&["status", "--config", &setting]);
            }
            let text = format!("%include {path}\n[ui]\nquiet = no\n");
            std::fs::write(working.home().join("included"), text).unwrap();
            let include = format!("%include {}/included\n", working.home().display());
            working.write_config(&include);
            working.assert_same_as_hg(&["status"]);
            working.write_config("");
        }
        let config = working.home().join("hg");
        std::fs::create_dir(&config).unwrap();
        std::fs::write(config.join("hgrc"), "[ui]\nquiet = yes\n").unwrap();
        let home = working.home();
        let ignore = ["--config", "ui.ignore=~/no such file"];
        for (home, xdg) in [
            (None, None),
            (Some(""), None),
            (Some("/"), None),
            (None, Some(home.as_path())),
            (Some(""), Some(home.as_path())),
        ] {
            let run = |program: &Path, first: &[&str]| {
                let mut command = working.0.command(program, &working.path(""));
                command.env_remove("HGRCPATH").env_remove("HOME");
                command.envs(home.map(|home| ("HOME", home)));
                command.envs(xdg.map(|xdg| ("XDG_CONFIG_HOME", xdg)));
                command.args(first).arg("status").args(ignore);
                let output = command.output().unwrap();
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (text(&output.stdout), text(&output.stderr))
            };
            let expected = run(&hg, &[]);
            assert_eq!(expected.0.is_empty(), xdg.is_some(), "{expected:?}");
            let vigil = Path::new(env!("CARGO_BIN_EXE_vigil"));
            assert_eq!(run(vigil, &["hg"]), expected);
        }
    }
}

#[test]
fn only_options_of_all_commands_come_before_the_command() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.write("-A", "1");
        working.write("d/b", "1");
        working.commit("0");
        working.write("new", "");
        for arguments in [
            &["-m", "status"][..],
            &["-A", "st"],
            &["-C", "status"],
            &["-n", "status"],
            &["-Av", "status"],
            &["-vA", "status"],
            &["-I", "d", "status"],
            &["--rev", ".", "status"],
            &["--all", "status"],
            &["--re", ".", "status"],
            &["--no-status", "status"],
            &["--mq", "status"],
            &["--quiet=1", "status"],
            &["--no-q=1", "status"],
            &["--deb", "status"],
            &["--no-noninteractive", "status"],
            &["-q", "status"],
            &["--qui", "status"],
            &["-vq", "status", "-A"],
            &["--cwd", "d", "-q", "status", "-A"],
            &["--no-pro", "status"],
            &["--", "status", "-A"],
            &["-q", "--", "status", "-A"],
            &["--", "status", "--", "-A"],
            &["--", "status", "--", "-A", "--"],
            &["status", "--", "-A"],
            &["--config", "ui.detailed-exit-code=1", "-m", "status"],
            &["--config", "x", "-m", "status"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        if working.is_from_version_7() {
            working.assert_same_as_hg(&["-c", "status"]);
            working.assert_same_as_hg(&["--co", "status"]);
        }
    }
}

#[test]
fn repeated_and_contradictory_options_are_treated_as_by_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.commit("0");
        working.write("new", "");
        std::fs::remove_file(working.path("a")).unwrap();
        for arguments in [
            &["status", "gone", "rootglob:gone/*"][..],
            &["status", "relpath:gone", "gone", "a", "a"],
            &["status", "-q", "--config", "ui.verbose=yes"],
            &["status", "-v", "--config", "ui.quiet=yes"],
            &["status", "-qv"],
            &[
                "status",
                "--config",
                "ui.verbose=yes",
                "--config",
                "ui.quiet=yes",
            ],
            &["status", "--debug", "-q"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        // Patterns are read for paths on the command line, even if neither ignored nor unknown files are asked for.
        working.write(".hgignore", "*bad\n");
        for arguments in [
            &["status", "-q", "new"][..],
            &["status", "-q", "a"],
            &["status", "-q"],
        ] {
            working.assert_same_as_hg(arguments);
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
fn errors_name_what_cannot_be_answered() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("d/f", "");
        symlink("d", working.path("to")).unwrap();
        for (arguments, what) in [
            (&["status", "set:added()"][..], "file sets"),
            (&["status", "-T", "{node}"], "template"),
            (
                &["status", "--config", "extensions.win32text="],
                "win32text",
            ),
            (&["status", "--config", "encode.*=x"], "encode"),
            (&["status", r"re:(a)\1"], "reference back"),
            (&["status", "--time"], "--time"),
            (
                &["status", "--traceback", "--rev", "nothere"],
                "--traceback",
            ),
            (
                &["status", "--config", "ui.traceback=1", "--rev", "nothere"],
                "--traceback",
            ),
            (&["status", "--mq"], "--mq"),
            (&["status", "--config", "ui.forcecwd=d"], "ui.forcecwd"),
            (
                &["status", "--config", "ui.timestamp-output=1"],
                "ui.timestamp-output",
            ),
            (
                &["status", "--config", "experimental.extra-filter-revs=x("],
                "extra-filter-revs",
            ),
            (
                &["status", "--color=always", "--config", "color.mode=win32"],
                "color.mode=win32",
            ),
            (
                &[
                    "status",
                    "--rev",
                    "null:null",
                    "--config",
                    "revsetalias.x=(",
                ],
                "revsetalias.x",
            ),
            (
                &["status", "--config", "devel.sync.x=/nowhere"],
                "devel.sync.x",
            ),
            (&["status", "--color=debug"], "colours as labels"),
            (
                &[
                    "status",
                    "--color=always",
                    "--config",
                    "color.mode=terminfo",
                ],
                "color.mode=terminfo",
            ),
            (
                &[
                    "status",
                    "--color=always",
                    "--config",
                    "color.status.clean=pink",
                ],
                "the colour 'pink'",
            ),
            (
                &["status", "--config", "ui.formatdebug=yes"],
                "ui.formatdebug",
            ),
            (&["status", "path:to/f"], "behind a link"),
            (
                &[
                    "status",
                    "--config",
                    "format.use-dirstate-v2=yes",
                    "--config",
                    "format.use-dirstate-v2.automatic-upgrade-of-mismatching-repositories=yes",
                ],
                "automatic-upgrade",
            ),
        ] {
            let (stdout, stderr, code) = working.vigil(arguments);
            assert_eq!((stdout.as_str(), code), ("", Some(255)), "{arguments:?}");
            assert!(
                stderr.contains("vigil does not answer this") && stderr.contains(what),
                "{stderr}"
            );
            let mut allowed = arguments.to_vec();
            allowed.extend(["--config", "vigil.hg.fallback=yes"]);
            let (_, stderr, _) = working.vigil(&allowed);
            assert!(stderr.contains("asking hg"), "{stderr}");
        }
    }
}

#[test]
fn from_outside_paths_lead_to_the_repository() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/f", "");
        working.write("f", "");
        let root = working.0.top().to_str().unwrap().to_owned();
        let name = root.rsplit('/').next().unwrap();
        std::fs::create_dir(working.0.root().join("outside")).unwrap();
        for (folder, top) in [("..", name), ("../outside", &*format!("../{name}"))] {
            let below = |path: &str| format!("{top}/{path}");
            for arguments in [
                &["status"][..],
                &["status", &below("d"), &below("nowhere")],
                &["status", "path:d", "path:nowhere", "-A"],
                &["status", "--config", "ui.relative-paths=yes"],
                &["status", "--config", "ui.relative-paths=no", &below("d")],
                &["status", "-v", &format!("glob:{}", below("d/*"))],
                &["status", "-T", "{relpath(path)}\\n"],
                &["status", "--rev", "null", &below("nowhere")],
            ] {
                working.assert_same_as_hg_in(folder, &[arguments, &["-R", top]].concat());
                // Without `-R`, all paths together may tell which repository is meant.
                working.assert_same_as_hg_in(folder, arguments);
            }
        }
        working.assert_same_as_hg(&["status", "-R", &root, "--cwd", "/", &root]);
    }
}

#[test]
fn a_path_from_the_top_is_met_with_advice() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.write("d/e/f", "1");
        let beside = working.0.root().join("work2/d");
        std::fs::create_dir_all(&beside).unwrap();
        let top = working.path("");
        let top = top.to_str().unwrap().trim_end_matches('/');
        for folder in ["", "d/e", "..", "../work2/d", "/"] {
            for path in ["a", "../x", "../../a", "/a", ".hg/x"] {
                working.assert_same_as_hg_in(folder, &["status", "-R", top, path]);
            }
            working.assert_same_as_hg_in(folder, &["status", "-R", top, "-I", "a"]);
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
fn a_named_repository_is_a_folder_of_this_machine() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "1");
        working.write("d/x", "1");
        working.write("x:y/z", "1");
        working.hg(&["init", "hi"]);
        std::fs::rename(working.path("hi"), working.path("h#i")).unwrap();
        symlink("a", working.path("link")).unwrap();
        symlink("nowhere", working.path("dangling")).unwrap();
        symlink("loop", working.path("loop")).unwrap();
        let other = working.0.root().join("other");
        std::fs::create_dir_all(other.join("sub/.hg")).unwrap();
        working.hg(&["init", "../another"]);
        std::fs::create_dir(working.0.root().join("another/sub")).unwrap();
        symlink("../another/sub", working.path("far")).unwrap();
        working.hg(&["init", "x:y"]);
        for named in [
            "a/b",
            "a/",
            "a/x/../y",
            "a/..",
            "a/x/../..",
            "nope/..",
            "nope/../x",
            "far/..",
            "far",
            "far/../nope",
            "d",
            "dangling",
            "dangling/x",
            "h#i",
            "h#",
            "nope#x",
            "foo:bar",
            ":x",
            "c:",
            "x:y",
            ".",
            "./",
            "//",
            "",
            "/dev/null",
            "$NOTHING",
            "~nobody-here/x",
        ] {
            working.assert_same_as_hg(&["status", "-R", named]);
            working.assert_same_as_hg(&[
                "status",
                "-R",
                named,
                "--config",
                "ui.detailed-exit-code=1",
            ]);
        }
        if working.is_from_version_7() {
            for named in [
                "~",
                "~/x",
                "$HOME/q/../x",
                "~root/nope",
                "http://x/",
                "http:",
                "https://",
                "ssh://x/",
                "ssh:x",
                "static-http://u:p@x/y#z",
            ] {
                working.assert_same_as_hg(&["status", "-R", named]);
            }
        }
        for named in [
            "a",
            "./a",
            "link",
            "file:.",
            "file:$HOME",
            "bundle:a",
            "bundle:.+a",
            "union:x",
            "loop",
            "mine",
        ] {
            let (stdout, stderr, code) =
                working.vigil(&["status", "-R", named, "--config", "paths.mine=."]);
            assert_eq!((stdout.as_str(), code), ("", Some(255)), "{named}");
            assert!(
                stderr.contains("vigil does not answer this") && stderr.contains(named),
                "{stderr}"
            );
        }
        let fallback = ["--config", "vigil.hg.fallback=yes", "-R", "file:."];
        let (_, stderr, _) = working.vigil(&[&["status"], &fallback[..]].concat());
        assert!(stderr.contains("asking hg"), "{stderr}");
        // Names are those of the repository around the working directory, whose configuration is read in any case.
        working.write(".hg/hgrc", "[paths]\nthere = ../another\n");
        let (_, stderr, _) = working.vigil(&["status", "-R", "there"]);
        assert!(stderr.contains("the setting paths.there"), "{stderr}");
        working.assert_same_as_hg(&["status", "-R", "there:x"]);
        working.assert_same_as_hg_in("..", &["status", "-R", "there"]);
        working.write(".hg/hgrc", "nonsense\n");
        working.assert_same_as_hg(&["status", "-R", "../another"]);
        working.assert_same_as_hg_in("..", &["status", "-R", "another"]);
        working.write(".hg/hgrc", "[ui]\nquiet = yes\n");
        working.assert_same_as_hg(&["status", "-R", "../another"]);
        if std::os::unix::fs::chown(working.path(".hg/hgrc"), Some(12345), None).is_ok() {
            for named in ["../another", "nope", working.path("").to_str().unwrap()] {
                working.assert_same_as_hg(&["status", "-R", named.trim_end_matches('/')]);
            }
            let (_, stderr, _) = working.vigil(&["status", "-R", "."]);
            assert!(stderr.contains("vigil does not answer this"), "{stderr}");
        }
    }
}

#[test]
fn invalid_and_unusual_repositories_are_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.assert_same_as_hg(&["status", "-R", "nowhere"]);
        working.assert_same_as_hg(&["status", "--cwd", "nowhere"]);
        working.write(".hg/hgrc", "[ui]\nnonsense\n");
        working.assert_same_as_hg(&["status"]);
        std::fs::remove_file(working.path(".hg/hgrc")).unwrap();
        let requires = std::fs::read_to_string(working.path(".hg/requires")).unwrap();
        working.write(".hg/requires", format!("{requires}of-an-extension\n"));
        let (_, stderr, _) = working.vigil(&["status", "--config", "extensions.some=/nowhere"]);
        assert!(stderr.contains("the extension 'some'"), "{stderr}");
        for more in ["unknown-feature\nanother\n", "-\n"] {
            working.write(".hg/requires", format!("{requires}{more}"));
            working.assert_same_as_hg(&["status"]);
        }
        working.write(".hg/requires", requires);
        std::fs::create_dir(working.0.root().join("outside")).unwrap();
        working.assert_same_as_hg_in("../outside", &["status"]);
        working.hg(&[
            "--config",
            "extensions.share=",
            "share",
            "-q",
            ".",
            "../share",
        ]);
        working.write("../share/f", "");
        working.assert_same_as_hg_in("../share", &["status"]);
        let requires = std::fs::read_to_string(working.path("../share/.hg/requires")).unwrap();
        working.write(
            "../share/.hg/requires",
            requires.replace("share-safe\n", ""),
        );
        working.assert_same_as_hg_in("../share", &["status"]);
        let allows = "share.safe-mismatch.source-safe=allow";
        let (_, stderr, _) = working.vigil(&["status", "-R", "../share", "--config", allows]);
        assert!(stderr.contains("vigil does not answer this"), "{stderr}");
    }
}

#[test]
fn a_truncated_dirstate_is_reported() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("f", "");
            working.commit("first");
            for start in ["x", "I ate your data\n"] {
                working.write(".hg/dirstate", start);
                // Older versions do not know of interrupted upgrades.
                if !is_v2 || working.is_from_version_7() {
                    working.assert_same_as_hg(&["status"]);
                    working.assert_same_as_hg(&["status", "--config", "ui.detailed-exit-code=yes"]);
                }
            }
        }
    }
}

#[test]
fn of_two_errors_the_one_that_mercurial_meets_first_is_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["d/f", "e/f"] {
            working.write(name, "1\n");
        }
        working.commit("first");
        std::fs::rename(working.path("d"), working.path("moved")).unwrap();
        symlink("moved", working.path("d")).unwrap();
        working.write("moved/f", "2\n");
        working.write(".hgignore", "*bad\n");
        for arguments in [
            &["status", "-i"][..],
            &["status", "-iS"],
            &["status", "-q"],
            &["status", "-mS", "nowhere", "."],
            &["status", "-c", "d", "moved/f"],
            &["status"],
        ] {
            working.assert_same_as_hg(arguments);
        }
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
fn what_is_ignored_in_a_nested_repository_is_not_listed_either() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("d/recorded", "1\n");
            working.write("e/recorded", "1\n");
            working.commit("first");
            working.write(".hgignore", "^[de]/\nother\n");
            for name in ["d/ignored", "e/ignored", "other/ignored"] {
                working.write(name, "");
            }
            working.hg(&["init", "d"]);
            working.hg(&["init", "other"]);
            working.write("d/recorded", "22\n");
            for options in ["-i", "-ai", "-mi", "-iu", "-A", "-mdi", "-c"] {
                working.assert_same_as_hg(&["status", options]);
            }
            working.assert_same_as_hg(&["status", "-i", "d"]);
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
fn an_invalid_pattern_is_reported_only_where_mercurial_walks() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("clean", "");
            working.commit("first");
            working.write(".hgignore", "subinclude:d/more\n");
            working.write("d/more", "syntax: glob\nrelre:*.o\n");
            working.write("d/e/f", "");
            working.write("sp ace/inner", "");
            for arguments in [
                &["status", "sp ace", "d/e/missing"][..],
                &["status", "-u", "sp ace", "d/e/f/missing"],
                &["status", "-ui", "sp ace", "d/e/missing"],
                &["status", "sp ace", "d/e"],
                &["status", "sp ace", "d/e/f"],
                &["status", "sp ace", "d"],
                &["status", "d/e/missing"],
                &["status"],
            ] {
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
fn settings_that_only_mercurial_can_follow_are_refused_by_name() {
    let hg = hg_programs().into_iter().next().unwrap();
    let working = WorkingCopy::new(&hg, false);
    working.write("a", "");
    for (setting, named) in [
        (
            "extensions.rebase=nope.py",
            "the extension 'rebase' from nope.py",
        ),
        (
            "extensions.hgext.mq=~/mq.py",
            "the extension 'mq' from ~/mq.py",
        ),
        ("ui.strict=yes", "the setting ui.strict"),
        ("profiling.enabled=1", "the setting profiling.enabled"),
        ("templatealias.path=status", "templatealias.path"),
    ] {
        let arguments = ["status", "-T", "{path}\\n", "--config", setting];
        let (stdout, stderr, code) = working.vigil(&arguments);
        assert_eq!((stdout.as_str(), code), ("", Some(255)), "{setting}");
        let expected = format!("abort: vigil does not answer this: {named}\n");
        assert_eq!(stderr, expected);
    }
    for setting in [
        "extensions.rebase=",
        "extensions.rebase=!nope.py",
        "ui.strict=no",
        "profiling.enabled=no",
    ] {
        working.assert_same_as_hg(&["status", "-T", "{path}\\n", "--config", setting]);
    }
}

#[test]
fn extensions_that_do_not_change_a_status_are_allowed() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "");
        working.commit("0");
        working.write("b", "");
        let file = working.path("../drawdag.py");
        std::fs::write(&file, "").unwrap();
        let from = |name: &str| format!("extensions.{name}={}", file.display());
        for setting in [
            from("drawdag"),
            from("any"),
            from("firefoxtree"),
            from("push-to-try"),
            "extensions.remotenames=".into(),
            "extensions.hgext.zeroconf=".into(),
        ] {
            working.assert_same_as_hg(&["status", "--config", &setting]);
            working.assert_same_as_hg(&["status", "--rev", ".", "--config", &setting]);
        }
        // The name may be one that the extension defines.
        let setting = "extensions.remotenames=";
        let (_, stderr, code) = working.vigil(&["status", "--rev", "0", "--config", setting]);
        assert_eq!(code, Some(255));
        assert!(
            stderr.contains("names of changesets with the extension 'remotenames'"),
            "{stderr}"
        );
    }
}

#[test]
fn patterns_that_python_warns_of_are_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["a", "b", "c"] {
            working.write(name, "");
        }
        for (pattern, warns) in [
            ("re:[[:alpha:]]", true),
            ("re:[[]a", true),
            ("re:[a&&b]", true),
            ("re:[a||b]", true),
            ("re:[a~~b]", true),
            ("re:[+--b]", true),
            ("re:[a-b--c]", true),
            ("re:[]&&b]", true),
            ("glob:[[]", true),
            ("glob:[^&&b]", true),
            ("re:[^[]b", false),
            ("re:[a[b]", false),
            ("re:[&&b]", false),
            ("re:[^&&b]", false),
            ("re:[--b]", false),
            ("re:[a&b-]", false),
            ("re:[a&\\&]", false),
            ("glob:[!&&b]", false),
        ] {
            let arguments = ["status", pattern];
            if !warns {
                working.assert_same_as_hg(&arguments);
                continue;
            }
            let stderr = working.hg(&arguments).stderr;
            let stderr = String::from_utf8_lossy(&stderr);
            let of_mercurial = stderr.contains("FutureWarning: Possible");
            assert!(of_mercurial, "{pattern}: {stderr}");
            let (_, stderr, _) = working.vigil(&arguments);
            assert!(stderr.contains("another meaning in Python"), "{stderr}");
        }
        working.write(".hgignore", "[a&&b]\n");
        let (_, stderr, _) = working.vigil(&["status"]);
        assert!(stderr.contains("another meaning in Python"), "{stderr}");
    }
}

#[test]
fn a_flag_of_a_pattern_is_not_both_set_and_cleared() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["a", "b"] {
            working.write(name, "");
        }
        let mut server = working.server();
        for flags in [
            "i-i", "i-m", "-i", "im-m", "i-mm", "ii-m", "aL", "aa", "a-L", "i-", "i-a",
        ] {
            let pattern = format!("re:(?{flags}:A)");
            working.assert_same_as_hg_server(&mut server, &["status", &pattern]);
        }
        working.assert_same_as_hg_server(&mut server, &["status", "re:(?aL)a"]);
    }
}

#[test]
fn a_branch_in_an_encoding_that_python_may_not_know_is_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for text in ["1", "12"] {
            working.write("a", text);
            working.commit(text);
        }
        working.write(".hg/branch", "h\u{e9}");
        for encoding in ["utf8", "UTF-8", "latin1", "ascii", "ISO-8859-15", ""] {
            working.assert_same_as_hg(&["status", "--rev", "0", "--encoding", encoding]);
        }
        let unknown = ["--encoding", "nonsense"];
        working
            .assert_same_as_hg(&[&["status", "--rev", "0", "--rev", "1"], &unknown[..]].concat());
        let (_, stderr, code) = working.vigil(&[&["status"], &unknown[..]].concat());
        assert!(stderr.contains("the name of the branch"), "{stderr}");
        assert_eq!(code, Some(255));
    }
}
