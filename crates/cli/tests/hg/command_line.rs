//! Command lines: where options may stand, what they mean there, and which directory counts.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::sandbox::{WorkingCopy, hg_programs};
use vigil_testkit::sandbox::skip_test;

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
            &["status", "-q", "--rev"],
            &["status", "-q", "-v", "--rev"],
            &["status", "-Z", "--config", "ui.quiet=yes"],
            &["status", "-Z", "--config", "ui.statuscopies=yes"],
            &["status", "-Z", "--config", "ui.tweakdefaults=yes", "-q"],
            &["status", "-Z", "--config", "extensions.mq="],
        ] {
            working.assert_same_as_hg(arguments);
        }
        // Only the user's own configuration counts for the help, but for extensions.
        let settings = "[ui]\nquiet=yes\nstatuscopies=yes\ntraceback=yes\ntextwidth=40\n";
        working.write(".hg/hgrc", settings);
        working.assert_same_as_hg(&["status", "-Z"]);
        working.write(".hg/hgrc", "[ui]\nverbose=yes\n");
        working.assert_same_as_hg(&["status", "-Z"]);
        for (arguments, reason) in [
            (&["status", "-Z", "-v"][..], "the verbose help"),
            (&["--debug", "status", "-Z"], "the verbose help"),
            (
                &["status", "-Z", "--config", "ui.verbose=1"],
                "the verbose help",
            ),
            (
                &["status", "-Z", "--config", "ui.textwidth=40"],
                "in another width",
            ),
            (&["status", "-Z", "--traceback"], "traceback"),
            (&["--bogus", "--traceback", "status"], "traceback"),
            (&["status", "-Z", "--config", "ui.traceback=1"], "traceback"),
        ] {
            let (stdout, stderr, code) = working.vigil(arguments);
            assert_eq!((stdout.as_str(), code), ("", Some(255)), "{arguments:?}");
            assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
        }
        working.write(".hg/hgrc", "[extensions]\nmq=\n");
        working.assert_same_as_hg(&["status", "-Z"]);
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
fn the_configuration_of_the_repository_comes_before_the_command_line() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/a", "1");
        working.hg(&["init", "other"]);
        let other = working.path("other");
        let other = other.to_str().unwrap();
        let assert_same = || {
            for arguments in [
                &["status", "--bogus"][..],
                &["--bogus", "status"],
                &["status", "--con", "a.b=c"],
                &["status", "--bogus", "-R", other],
                &["status", "--bogus", "-R", "nope"],
                &["status", "--bogus", "--cwd", other],
                &["status", "--bogus", "--config", "ui.detailed-exit-code=1"],
                &["status", "--bogus", "--config", "ui.report_untrusted=no"],
            ] {
                working.assert_same_as_hg(arguments);
            }
            working.assert_same_as_hg_in("d", &["status", "--bogus"]);
        };
        assert_same();
        for file in [".hg/hgrc", "other/.hg/hgrc"] {
            for text in ["nonsense\n", "[ui]\nquiet = x\n"] {
                working.write(file, text);
                assert_same();
            }
            working.write(file, "[ui]\nquiet = yes\n");
            assert_same();
            if std::os::unix::fs::chown(working.path(file), Some(65534), None).is_err() {
                return skip_test("a file of another owner", "only root may give files away");
            }
            assert_same();
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
            &["status", "--color=", "--config", "ui.color=always"],
            &["status", "--color=always", "--color="],
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
fn the_repository_of_files_is_found_from_a_directory_only_once() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("d/f", "1\n");
        working.commit("one");
        working.write("d/f", "2\n");
        let outside = working.0.root().join("outside/work");
        std::fs::create_dir_all(outside.parent().unwrap()).unwrap();
        symlink(working.path(""), &outside).unwrap();
        let root = working.0.root().display().to_string();
        for cwd in [&root, "/", ".", "./"] {
            let file = working.path("d/f").display().to_string();
            working.assert_same_as_hg_in("../outside", &["status", "--cwd", cwd, &file]);
        }
        working.assert_same_as_hg_in("../outside", &["status", "work/d/f"]);
        // Mercurial goes there once more, and fails to find what it had found.
        let (_, stderr, _) = working.vigil(&["status", "--cwd", "..", "work/d/f"]);
        let refused = "abort: vigil does not answer this: files of a repository that is not around them, from --cwd\n";
        assert_eq!(stderr, refused);
        assert!(
            !working
                .0
                .hg(["status", "--cwd", "..", "work/d/f"])
                .unwrap()
                .status
                .success()
        );
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
fn an_invalid_pattern_is_told_with_the_list_that_has_it() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/list", "path:d\nre:(\n");
        working.write("list0", "d/[z-a]\0a");
        let (_, stderr, code) = working.vigil(&["status", "listfile:list0"]);
        assert_eq!(code, Some(255));
        assert!(
            stderr.contains("a NUL in a line of a file list"),
            "{stderr}"
        );
        for pattern in ["listfile:d/list", "listfile0:list0"] {
            working.assert_same_as_hg(&["status", pattern]);
            working.assert_same_as_hg(&["status", "-X", pattern]);
        }
        working.assert_same_as_hg_in("d", &["status", "listfile:./list"]);
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
fn the_configuration_that_belongs_to_an_installation_counts() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for name in ["one", "two", "three", "four"] {
            working.write(name, "");
            let patterns = format!("^{name}$\n");
            std::fs::write(working.home().join(name), patterns).unwrap();
        }
        let searched = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = std::env::split_paths(&searched);
        let program = match hg.is_absolute() {
            true => hg.clone(),
            false => folders
                .find_map(|folder| folder.join(&hg).canonicalize().ok())
                .unwrap(),
        };
        let installed = working.home().join("installed");
        let folder = installed.join("etc/mercurial");
        for folder in [installed.join("bin"), folder.join("hgrc.d")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        symlink(program, installed.join("bin/hg")).unwrap();
        // Some formats are slow without compiled extensions, which is refused in two ways.
        let allowed = "[storage]\nall-slow-path=allow\ndirstate-v2.slow-path=allow\n[ui]\n";
        for (path, text) in [
            (folder.join("hgrc"), "ignore.a=~/one\nignore.b=~/two\n"),
            (folder.join("hgrc.d/x.rc"), "ignore.b=~/three\n"),
            (folder.join("hgrc.d/y.txt"), "ignore.c=~/four\n"),
        ] {
            std::fs::write(path, format!("{allowed}{text}")).unwrap();
        }
        let answer = |program: &Path, beginning: &[&str], first: &str| {
            let mut command = working.0.command(program, &working.path(""));
            let mut searched = vec![first.into()];
            searched.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
            command.env("PATH", std::env::join_paths(searched).unwrap());
            command.env_remove("HGRCPATH").args(beginning);
            let output = command.arg("status").output().unwrap();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (text(output.stdout), text(output.stderr))
        };
        let vigil = Path::new(env!("CARGO_BIN_EXE_vigil"));
        let bin = installed.join("bin");
        let expected = answer(&bin.join("hg"), &[], "/nope");
        assert_eq!(expected, ("? four\n? two\n".into(), String::new()));
        for first in [bin.to_str().unwrap(), "../home/installed/bin"] {
            assert_eq!(answer(vigil, &["hg"], first), expected, "{first}");
        }
        // Messages name it without `..`.
        std::fs::write(folder.join("hgrc"), "bad line\n").unwrap();
        let roundabout = installed.join("etc/../bin");
        let expected = answer(&roundabout.join("hg"), &[], "/nope");
        assert!(
            expected.1.contains("/installed/etc/mercurial/hgrc:1"),
            "{expected:?}"
        );
        let answered = answer(vigil, &["hg"], roundabout.to_str().unwrap());
        assert_eq!(answered, expected);
    }
}
