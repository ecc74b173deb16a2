//! Subrepositories.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use super::daemon::{ALL_WAYS, RECORDED_ONLY, WithDaemon};
use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

/// Makes a repository with two subrepositories, one of them with a subrepository of its own. All differ from what is committed.
fn with_subrepositories(working: &WorkingCopy) {
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
fn a_folder_in_the_place_of_a_list_of_subrepositories_is_an_error() {
    for hg in hg_programs() {
        for name in [".hgsub", ".hgsubstate"] {
            let working = WorkingCopy::new(&hg, true);
            with_subrepositories(&working);
            std::fs::remove_file(working.path(name)).unwrap();
            working.assert_same_as_hg(&["status"]);
            working.write(&format!("{name}/new"), "");
            for arguments in [
                &["status"][..],
                &["status", "-S"],
                &["status", "-m", "top"],
                &["status", "--rev", "0"],
                &["status", "--change", "."],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn subrepositories_that_are_not_allowed_are_not_shown() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        with_subrepositories(&working);
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
                working.assert_same_as_hg(&[&["status", "--config", setting], more].concat());
            }
        }
    }
}

#[test]
fn subrepositories_are_shown_on_request() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            with_subrepositories(&working);
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-S"],
                &["status", "-SA"],
                &["status", "-S", "-i"],
                &["status", "-S", "--rev", "wdir()", "--rev", "0"],
                &["status", "-S", "--rev", "wdir()", "--rev", "."],
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
                working.assert_same_as_hg(arguments);
            }
            working.hg(&["--cwd", "sub", "commit", "-q", "-m", "2", "-d", "0 0", "a"]);
            working.assert_same_as_hg(&["status", "-S"]);
            working.write(".hgsub", "sub = sub\n");
            working.assert_same_as_hg(&["status", "-S"]);
        }
    }
}

#[test]
fn errors_name_what_is_unsupported_in_subrepositories() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        with_subrepositories(&working);
        for arguments in [
            &["status", "-S", "sub/a"][..],
            &["status", "-S", "sub/inner", "top"],
        ] {
            let (_, stderr, code) = working.vigil(arguments);
            assert_eq!(code, Some(255), "{arguments:?}");
            assert!(stderr.contains("in a subrepository"), "{stderr}");
        }
        // What was committed counts.
        working.write(".hgsub", "sub = [git]x\n");
        working.assert_same_as_hg(&["status", "-S"]);
        for system in ["git", "svn", "other"] {
            working.write(".hgsub", format!("new = [{system}]x\n"));
            working.assert_same_as_hg(&["status", "-S"]);
            let allowed = format!("subrepos.{system}:allowed=maybe");
            working.assert_same_as_hg(&["status", "-S", "--config", &allowed]);
        }
        for (name, system) in [
            ("new", "svn"),
            ("new", "other"),
            ("~x", "hg"),
            ("a$b", "git"),
        ] {
            working.write(".hgsub", format!("{name} = [{system}]x\n"));
            let allowed = format!("subrepos.{system}:allowed=yes");
            let question = ["status", "-S", "--config", &allowed];
            match system {
                "svn" => {
                    let (_, stderr, _) = working.vigil(&question);
                    assert!(stderr.contains("none of Mercurial's"), "{stderr}");
                }
                _ => working.assert_same_as_hg(&question),
            }
        }
        working.write(".hgsub", "sub = [git x\n");
        working.assert_same_as_hg(&["status"]);
        // An error names the place of what is not understood.
        working.write(".hgsub", "sub = sub\n");
        working.write(".hgsubstate", "\n\nnonsense\n");
        working.assert_same_as_hg(&["status", "-S"]);
        working.assert_same_as_hg_in("d", &["status", "."]);
        working.assert_same_as_hg_in("..", &["status", "-R", "work"]);
        std::fs::remove_file(working.path(".hgsub")).unwrap();
        working.assert_same_as_hg(&["status"]);
        working.assert_same_as_hg_in("d", &["status", "-S", "."]);
        working.assert_same_as_hg(&["status", "-A", "--rev", "0"]);
        // The text of a symbolic link is its target.
        symlink("nowhere", working.path(".hgsub")).unwrap();
        let (stdout, stderr, code) = working.vigil(&["status"]);
        assert_eq!((stdout.as_str(), code), ("", Some(255)));
        assert!(stderr.contains("the line 'nowhere' of .hgsub"), "{stderr}");
        // A `.hgsub` that is not tracked means nothing.
        let working = WorkingCopy::new(&hg, true);
        working.write(".hgsub", "sub = [git]x\n");
        working.assert_same_as_hg(&["status", "-S"]);
    }
}

/// Makes a repository with two git repositories in it, one of them in a subrepository of Mercurial's. Both differ from what is
/// committed.
fn with_git_repositories(working: &WorkingCopy) {
    let git = |folder: &str, arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(working.path(folder));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    working.hg(&["init", "sub"]);
    for folder in ["g", "sub/g"] {
        working.write(&format!("{folder}/a"), "1\n");
        working.write(&format!("{folder}/gone"), "1\n");
        working.write(&format!("{folder}/moved"), "many\nlines\n");
        working.write(&format!("{folder}/na\u{ef}ve"), "1\n");
        working.write(&format!("{folder}/.gitignore"), "*.o\n");
        git(folder, &["init", "-q"]);
        git(folder, &["config", "user.name", "t"]);
        git(folder, &["config", "user.email", "t@example.org"]);
        git(folder, &["add", "."]);
        git(folder, &["commit", "-qm", "0"]);
    }
    working.write("sub/.hgsub", "g = [git]g\n");
    working.hg(&["-R", "sub", "add", "sub/.hgsub"]);
    working.write(".hgsub", "g = [git]g\nsub = sub\n");
    working.hg(&["add", ".hgsub"]);
    working.hg(&["commit", "-S", "-q", "-m", "0", "-d", "0 0"]);
    working.write("g/a", "2\n");
    working.hg(&["commit", "-S", "-q", "-m", "1", "-d", "0 0"]);
    for folder in ["g", "sub/g"] {
        working.write(&format!("{folder}/a"), "other\n");
        working.write(&format!("{folder}/na\u{ef}ve"), "other\n");
        working.write(&format!("{folder}/new/er"), "");
        working.write(&format!("{folder}/x.o"), "");
        working.write(&format!("{folder}/staged"), "1\n");
        git(folder, &["add", "staged"]);
        git(folder, &["mv", "moved", "to"]);
        std::fs::remove_file(working.path(&format!("{folder}/gone"))).unwrap();
    }
}

#[test]
fn git_repositories_are_looked_at_if_that_is_allowed() {
    let allowed = "[subrepos]\ngit:allowed = yes\n";
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, allowed);
        with_git_repositories(&working);
        for arguments in [
            &["status"][..],
            &["status", "-S"],
            &["status", "-SA"],
            &["status", "-Sc"],
            &["status", "-Si"],
            &["status", "-Sm", "g"],
            &["status", "-S", "sub"],
            &["status", "-S", "-X", "g"],
            &["status", "-Sq"],
            &["status", "-SC", "--rev", "0"],
            &["status", "-S", "--rev", "null"],
            &["status", "-S", "--rev", "0", "--rev", "1"],
            &["status", "-S", "--rev", "1", "--rev", "0"],
            &["status", "-S", "--rev", "null", "--rev", "1"],
            &["status", "-S", "--rev", "1", "--rev", "null"],
            &["status", "-S", "--rev", "wdir()", "--rev", "0"],
            &["status", "-S", "--change", "0"],
            &["status", "-S", "--change", "1"],
            &["status", "-S", "-T", "json"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        working.assert_same_as_hg_in("sub", &["status", "-S"]);
        let (_, stderr, code) = working.vigil(&["status", "-S", "--debug"]);
        assert!(stderr.contains("--debug"), "{stderr}");
        assert_eq!(code, Some(255));
        // A git that the repository brings along is not run.
        working.write("tools/git", "#!/bin/sh\ntouch run\n");
        let tool = working.path("tools/git");
        std::fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
        let folders = working.path("tools");
        let mut command = working.vigil_command(&["status", "-S"]);
        command.env("PATH", format!("{}:tools:.", folders.display()));
        let stderr = command.output().unwrap().stderr;
        assert!(stderr.starts_with(b"abort: couldn't find git for subrepo 'g'\n"));
        std::fs::remove_dir_all(&folders).unwrap();
        // git fails, and says why.
        std::fs::write(working.path("g/.git/HEAD"), "nonsense").unwrap();
        for arguments in [&["status", "-S"][..], &["status", "-Sq"]] {
            working.assert_same_as_hg(arguments);
        }
        // Without git, and without its repository.
        std::fs::remove_dir_all(working.path("g/.git")).unwrap();
        working.assert_same_as_hg(&["status", "-S"]);
        std::fs::remove_dir_all(working.path("g")).unwrap();
        working.assert_same_as_hg(&["status", "-S"]);
        symlink("sub/g", working.path("g")).unwrap();
        working.assert_same_as_hg(&["status", "-S"]);
        std::fs::remove_file(working.path("g")).unwrap();
        // A committed revision is no option of git.
        let outside = working.path("written");
        let state = format!("--output={} g\n", outside.display());
        working.write(".hgsub", "g = [git]g\n");
        working.write(".hgsubstate", state);
        std::fs::create_dir_all(working.path("g/.git")).unwrap();
        let (_, stderr, code) =
            working.vigil(&["status", "-S", "--rev", "wdir()", "--rev", "wdir()"]);
        assert!(stderr.contains("would be an option of git"), "{stderr}");
        assert_eq!(code, Some(255));
        assert!(!outside.exists());
    }
}

#[test]
fn damage_in_the_working_copy_does_not_matter_between_changesets() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
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
            &["status", "-S", "--rev", "0", "--rev", "1"],
            &["status", "-S", "--change", "1", "f"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        std::fs::remove_file(working.path(".hgsub")).unwrap();
        for from in ["0", "1"] {
            working.assert_same_as_hg(&["status", "--rev", "wdir()", "--rev", from]);
        }
        working.write(".hgsub", "s = s\nnonsense\n");
        for from in ["0", "1"] {
            let (_, stderr, code) = working.vigil(&["status", "--rev", "wdir()", "--rev", from]);
            assert_eq!(code, Some(255));
            assert!(stderr.contains("'nonsense'"), "{stderr}");
        }
    }
}

#[test]
fn patterns_hold_in_subrepositories_too() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        with_subrepositories(&working);
        for arguments in [
            &["status", "-S", "-I", "**a"][..],
            &["status", "-SA", "-X", "sub/inner"],
            &["status", "-SA", "-X", "sub"],
            &["status", "-SA", "sub"],
            &["status", "-SA", "d"],
            &["status", "-SA", "d", "nosuch"],
            &["status", "-SA", "glob:*/*/a"],
            &["status", "-S", "re:.*new"],
            &["status", "-S", "--rev", "0", "-I", "sub"],
            &["status", "-S", "--rev", "0", "--rev", "1", "sub/a"],
            &["status", "-S", "--change", "0", "sub/inner", "top"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        working.assert_same_as_hg_in("d", &["status", "-S", "."]);
    }
}

#[test]
fn paths_in_a_subrepository_are_left_to_it() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        with_subrepositories(&working);
        for names in [
            &["sub"][..],
            &["sub/a"],
            &["sub/nosuch"],
            &["sub/nosuch", "nosuch"],
            &["sub/a", "top", "new"],
            &["d"],
            &["d/other/new", "d/none"],
            &["glob:sub/*"],
            &["-I", "sub/a"],
            &["-X", "sub/a"],
        ] {
            for more in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-u"],
                &["status", "--rev", "0"],
            ] {
                working.assert_same_as_hg(&[more, names].concat());
            }
        }
        working.assert_same_as_hg_in("sub/../d", &["status", "other/a", "../top"]);
        // Only a subrepository itself says which subrepositories it has.
        let (_, stderr, code) = working.vigil(&["status", "sub/inner/a"]);
        assert_eq!(code, Some(255));
        assert!(
            stderr.contains("in repositories in a subrepository"),
            "{stderr}"
        );
    }
}

#[test]
fn other_things_in_the_place_of_a_subrepository_are_not_shown() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write(".hgignore", "\\.o$\n");
            working.write("top", "1\n");
            let node = "ffcae53422e35ff408ac4fda8d687ae9a1d31b94";
            working.write(".hgsubstate", format!("12 d/s\n{node} g\n"));
            working.commit("0");
            let places = [
                "g = [git]x",
                "d/s = [svn]y",
                "d/gone = z",
                "plain = p",
                "link = l",
                "file = f",
            ];
            working.write(".hgsub", places.join("\n"));
            working.hg(&["add", ".hgsub"]);
            for folder in ["g", "d/s", "plain/deep", "other"] {
                working.write(&format!("{folder}/new"), "");
                working.write(&format!("{folder}/x.o"), "");
            }
            working.write("d/new", "");
            working.write("file", "");
            symlink("other", working.path("link")).unwrap();
            let locked = working.path("plain/locked");
            std::fs::create_dir(&locked).unwrap();
            std::fs::set_permissions(&locked, Permissions::from_mode(0o000)).unwrap();
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-i"],
                &["status", "--rev", "0"],
                &["status", "--rev", "null"],
                &["status", "g"],
                &["status", "g/new", "nosuch"],
                &["status", "d/gone", "d/s", "d"],
                &["status", "link", "plain/locked", "plain"],
                &["status", "file"],
                &["status", "-t", "u"],
                &["status", "-I", "**new"],
            ] {
                working.assert_same_as_hg(arguments);
            }
            std::fs::set_permissions(&locked, Permissions::from_mode(0o700)).unwrap();
        }
    }
}

#[test]
fn nothing_is_looked_up_for_the_name_of_a_subrepository() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for path in ["s/a", "s/x/c", "z/q", "f", "file"] {
                working.write(path, "1\n");
            }
            working.commit("0");
            working.write("s/a", "22\n");
            working.write("s/new", "");
            working.write("file", "22\n");
            working.hg(&["init", "s"]);
            working.write(".hgsub", "s = s\nfile = file\n");
            working.hg(&["add", ".hgsub"]);
            for names in [
                &["s"][..],
                &["path:s"],
                &["file"],
                &["s", "f"],
                &["s", "s/x"],
                &["s/a", "file"],
                &["s", "z"],
                &["s", "file", "z"],
                &["s/a"],
                &["s/x", "nosuch"],
                &["glob:s", "f"],
                &["-I", "s"],
                &["-X", "z", "s"],
            ] {
                for kinds in ["-A", "-mard"] {
                    working.assert_same_as_hg(&[&["status", kinds], names].concat());
                }
            }
        }
    }
}

#[test]
fn the_daemon_answers_beside_subrepositories() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        with_subrepositories(working);
        let paths: [&[&str]; 4] = [
            &["hg", "status", "sub"],
            &["hg", "status", "d", "new"],
            &["hg", "status", "-A", "d"],
            &["hg", "status", "-X", "sub"],
        ];
        let same = || {
            working.assert_same_as_hg(&["status", "-mardu"]);
            for question in RECORDED_ONLY.into_iter().chain(ALL_WAYS).chain(paths) {
                let answered = served.assert_same_without_daemon(question, &[]);
                assert!(answered, "{question:?}");
            }
        };
        same();
        working.write("sub/a", "another\n");
        working.write("sub/unknown", "");
        working.write("d/unknown", "");
        same();
        working.hg(&["-R", "sub", "commit", "-q", "-S", "-m", "2", "-d", "0 0"]);
        same();
        // Other things take their places.
        std::fs::remove_dir_all(working.path("sub/.hg")).unwrap();
        same();
        std::fs::remove_dir_all(working.path("d/other")).unwrap();
        working.write("d/other", "");
        same();
        working.write(".hgsub", "sub = sub\n");
        same();
        working.write(".hgsub", "");
        same();
        working.write(".hgsub", "sub = [git]sub\n");
        same();
        std::fs::remove_file(working.path(".hgsub")).unwrap();
        same();
        working.hg(&["revert", "-q", "--no-backup", ".hgsub"]);
        same();
        let recursive = ["hg", "status", "--config", "defaults.status=-S"];
        assert!(!served.assert_same_without_daemon(&recursive, &[]));
    }
}

#[test]
fn a_directory_that_is_asked_for_hides_what_was_committed_in_subrepositories_below() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        with_subrepositories(&working);
        working.write("d/file", "");
        // The working copies are no longer at the changesets that are committed.
        for folder in ["sub/inner", "sub", "d/other"] {
            working.hg(&["-R", folder, "commit", "-q", "-m", "more", "-d", "0 0"]);
        }
        for arguments in [
            &["status", "-S", "d"][..],
            &["status", "-SA", "d"],
            &["status", "-S", "path:."],
            &["status", "-S", "path:d", "top"],
            &["status", "-S", "d", "sub"],
            &["status", "-S", "path:.", "sub"],
            &["status", "-S", "d/other"],
            &["status", "-S", "sub"],
            &["status", "-S", "."],
            &["status", "-S", "d", "-X", "top"],
            &["status", "-S", "-I", "path:d"],
            &["status", "-S", "glob:d"],
            &["status", "-S", "--rev", "0", "d"],
            &["status", "-S", "--rev", "0", "path:."],
            &["status", "-S", "--rev", "0", "--rev", "1", "path:."],
            &["status", "-S", "--rev", "0", "--rev", "1", "sub"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        working.assert_same_as_hg_in("d", &["status", "-S", "."]);
    }
}

#[test]
fn errors_in_subrepositories_tell_which() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        with_subrepositories(&working);
        for folder in ["sub", "sub/inner"] {
            for (name, text) in [
                (".hg/hgrc", "[subrepos]\nallowed = no\n"),
                (".hg/hgrc", "[subrepos]\nallowed = maybe\n"),
                (".hg/hgrc", "[ui]\nverbose = maybe\n"),
                (".hg/requires", "unheard\n"),
                (".hg/dirstate", "short"),
                (".hgignore", "re:(\n"),
                (".hgsub", "inner = [git\n"),
                (".hgsub", "$inner = inner\n"),
                (".hgsubstate", "nonsense\n"),
            ] {
                let path = format!("{folder}/{name}");
                let before = std::fs::read(working.path(&path)).ok();
                working.write(&path, text);
                for more in [&[][..], &["--config", "ui.detailed-exit-code=yes"]] {
                    working.assert_same_as_hg(&[&["status", "-S"], more].concat());
                }
                match before {
                    Some(before) => std::fs::write(working.path(&path), before).unwrap(),
                    None => std::fs::remove_file(working.path(&path)).unwrap(),
                }
            }
        }
        let branch = working.path("sub/.hg/branch");
        let _ = std::fs::remove_file(&branch);
        symlink("branch", &branch).unwrap();
        for arguments in [&["status", "-S"][..], &["status", "-S", "--change", "."]] {
            working.assert_same_as_hg(arguments);
        }
        std::fs::remove_file(branch).unwrap();
        working.write("sub/inner/.hg/hgrc", "[ui\n");
        let (_, stderr, _) = working.vigil(&["status", "-S"]);
        assert!(stderr.contains("cannot be parsed"), "{stderr}");
    }
}

#[test]
fn sources_that_cannot_be_rewritten_are_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        with_subrepositories(&working);
        let rule = |rule: &str| format!("subpaths.{rule}");
        for valid in [r"(.)u=\1", r"(?i)(a)|(b)=\\2\0x", "x="] {
            let more = ["--config", &rule(valid)];
            working.assert_same_as_hg(&[&["status"], &more[..]].concat());
            working.assert_same_as_hg(&[&["status", "-S"], &more[..]].concat());
        }
        for invalid in ["(=x", r"x=\1", "x=\u{e9}"] {
            let arguments = ["status", "--config", &rule(invalid)];
            let said = working.vigil(&arguments);
            assert!(said.1.contains("in [subpaths]"), "{said:?}");
            let output = working.0.hg(arguments).unwrap();
            assert_eq!(output.status.code(), Some(255), "{invalid}");
        }
        let hgsub = std::fs::read_to_string(working.path(".hgsub")).unwrap();
        working.write(".hgsub", hgsub + "[subpaths]\n) = x\n");
        let (_, stderr, _) = working.vigil(&["status"]);
        assert!(stderr.contains("the pattern ')' in [subpaths]"), "{stderr}");
        working.assert_same_as_hg(&["status", "--change", "0"]);
    }
}

#[test]
fn a_source_on_another_machine_that_is_given_as_a_file_is_an_error() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "1\n");
        working.commit("0");
        working.write(".hgsub", "sub = sub\n");
        working.hg(&["add", "-q", ".hgsub"]);
        for default in ["", "default = file://other/x\n", "default = /x\n"] {
            working.write(".hg/hgrc", format!("[paths]\n{default}"));
            for source in [
                "file://other/x",
                "[git] file://other/x",
                "file://localhost/x",
                "file:///x",
                "/x",
                "../x",
                "ssh://other/x",
            ] {
                working.write(".hgsub", format!("sub = {source}\n"));
                working.assert_same_as_hg(&["status"]);
            }
        }
        working.write(".hgsub", ".hg = x\n");
        let (_, stderr, _) = working.vigil(&["status"]);
        assert!(stderr.contains("the line '.hg = x' of .hgsub"), "{stderr}");
    }
}
