//! Words that the configuration adds to the command line.

use super::daemon::WithDaemon;
use super::sandbox::{WorkingCopy, hg_programs};

fn some_files(working: &WorkingCopy) {
    for name in ["a", "b", "x y"] {
        working.write(name, "1\n");
    }
    working.commit("0");
    working.write("a", "2\n");
    working.write("b", "2\n");
    working.write("new", "");
    working.hg(&["copy", "b", "copied"]);
}

#[test]
fn defaults_come_before_what_is_typed() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        some_files(&working);
        for default in [
            "-q",
            "-m -C",
            "-X 'x y' -X new",
            "-X $HOME -A",
            "--rev null",
            "a",
            "-n -T '{path}\\n'",
            "-T {path}\\\\n -X a\\\\ b -X \"a\\\\b\"",
            "",
        ] {
            let default = format!("defaults.status={default}");
            let defaults = ["--config", &default];
            for arguments in [
                &["status"][..],
                &["st", "-u"],
                &["--cwd", ".", "sta", "--", "b"],
            ] {
                working.assert_same_as_hg(&[&defaults[..], arguments].concat());
            }
        }
        for wrong in ["--config x.y=z", "-R .", "-m --cwd ."] {
            let default = format!("defaults.status={wrong}");
            working.assert_same_as_hg(&["status", "--config", &default]);
        }
        for refused in ["--nothing", "--time", "'a"] {
            let default = format!("defaults.status={refused}");
            let (_, stderr, _) = working.vigil(&["status", "--config", &default]);
            assert!(stderr.contains("[defaults] status"), "{stderr}");
        }
        working.write(".hg/hgrc", "[defaults]\nstatus = -q\n");
        working.assert_same_as_hg(&["status"]);
        let json = working.vigil(&["status", "-T", "json"]).0;
        assert!(!json.contains("\"new\""), "{json}");
    }
}

#[test]
fn an_alias_may_add_options_to_the_command() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        some_files(&working);
        for (command, alias) in [
            ("st", "alias.st=status -m"),
            ("status", "alias.status=status -q -C"),
            ("status", "alias.status=st b"),
            ("stat", "alias.stat=status -n"),
        ] {
            working.assert_same_as_hg(&[command, "--config", alias]);
            working.assert_same_as_hg(&[command, "-u", "a", "new", "--config", alias]);
            let default = "defaults.status=-c";
            working.assert_same_as_hg(&[command, "--config", alias, "--config", default]);
        }
    }
}

/// Sets the aliases, and compares command lines without spaces within words.
fn assert_same_with(working: &WorkingCopy, aliases: &str, commands: &[&str]) {
    working.write_config(&format!("[alias]\n{aliases}\n"));
    for command in commands {
        let arguments: Vec<&str> = command.split(' ').collect();
        working.assert_same_as_hg(&arguments);
    }
}

#[test]
fn an_alias_may_be_of_an_alias_before_it() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        some_files(&working);
        for (aliases, commands) in [
            (
                "st = status -n\ns = st -C",
                &["s", "st -m", "s -A b", "sta"][..],
            ),
            ("s = st -C\nst = status -n", &["s", "st"]),
            (
                "st = status -n\ns = st -C\nstatus = status -v",
                &["s", "status", "stat"],
            ),
            ("status = st -n\nst = status -C", &["status", "st", "sta"]),
            ("a = status -n\nb = a\nc = b -m\nd = c", &["d", "a -A"]),
            ("log = status -n\nmy-st = log", &["log", "my-st", "myst"]),
            ("st = status -X -v", &["st"]),
            ("st = status -n\nst:doc = text", &["st"]),
            ("st = !echo told\ns = status -n", &["s", "status"]),
            (
                "st = status\n[defaults]\nst = -n\nstatus = -C",
                &["st", "status", "sta"],
            ),
            (
                "s = status",
                &["s --config alias.s=st -n", "s --config alias.s="],
            ),
        ] {
            assert_same_with(&working, aliases, commands);
        }
        // The names of files say of which repository the question is.
        working.write_config("[alias]\nst = status -n\n");
        std::fs::create_dir(working.path("sub")).unwrap();
        working.assert_same_as_hg_in("sub", &["st", "-R", ".."]);
        working.assert_same_as_hg_in("..", &["st", "repository/a"]);
        // Which of two comes first depends on where they are said last.
        working.write(".hg/hgrc", "[alias]\nst = status -m\n");
        assert_same_with(&working, "st = status -n\ns = st -C", &["s", "st"]);
    }
}

#[test]
fn words_of_the_command_line_take_the_places_of_numbers_in_an_alias() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        some_files(&working);
        for (aliases, commands) in [
            ("st = status -X $1", &["st", "st a -m", "st -m a"][..]),
            (
                "st = status -X $1 $2\ns = st a $1",
                &["st a b -A", "s b", "s"],
            ),
            ("st = status $@", &["st", "st a"]),
            ("st = status 'x y' \"a\" b\\ c", &["st"]),
            ("st = status --rev $1:$2", &["st 0 . -n", "st 0"]),
            ("st = status --rev", &["st 0"]),
        ] {
            assert_same_with(&working, aliases, commands);
        }
        working.assert_same_as_hg(&["st", "--config", "alias.st=status '$1'", "x y"]);
        for refused in ["status $0", "status $$"] {
            let alias = format!("alias.st={refused}");
            let (_, stderr, _) = working.vigil(&["st", "a", "--config", &alias]);
            assert!(stderr.contains("the words of the alias 'st'"), "{stderr}");
        }
    }
}

#[test]
fn ambiguous_commands_and_wrong_aliases_are_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        some_files(&working);
        let detailed = "ui.detailed-exit-code=yes";
        for (aliases, commands) in [
            ("stab = log", &["sta", "stat", "sta --nothing"][..]),
            ("sto = status -n", &["sto", "stat", "st"]),
            ("stab = status\ns = sta", &["s"]),
            ("st =", &["st", "st -v", "status"]),
            ("st = status 'a", &["st"]),
            ("st = status a\\", &["st"]),
            ("st = status -R . --cwd sub", &["st", "st x"]),
            ("st = status -- -R", &["st"]),
            ("st =\ns = st", &["s"]),
            (
                "st =\n[ui]\ncolor = always",
                &["st", "st --config ui.color=no"],
            ),
        ] {
            assert_same_with(&working, aliases, commands);
            working.assert_same_as_hg(&[commands[0], "--config", detailed]);
            working.assert_same_as_hg_in("..", &[commands[0]]);
        }
        let (_, stderr, _) = working.vigil(&["stab", "--config", "alias.stab=log"]);
        assert!(stderr.contains("the alias 'stab = log'"), "{stderr}");
        // Mercurial shows what the alias knows.
        for (aliases, command) in [("st =", "st -m"), ("stab = status\nst = sta -n", "st")] {
            working.write_config(&format!("[alias]\n{aliases}\n"));
            let (_, stderr, _) = working.vigil(&command.split(' ').collect::<Vec<_>>());
            assert!(stderr.contains("the alias 'st = "), "{stderr}");
        }
    }
}

#[test]
fn aliases_that_double_their_words_are_refused_before_these_fill_the_memory() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        let doubling = |number: u32| match number {
            0 => "a0 = status $1$1\n".to_owned(),
            _ => format!("a{number} = a{} $1$1\n", number - 1),
        };
        let aliases: String = (0..60).map(doubling).collect();
        working.write_config(&format!("[alias]\n{aliases}st = a59\n"));
        let (_, stderr, _) = working.vigil(&["st", "x"]);
        assert!(stderr.contains("the words of the alias 'st'"), "{stderr}");
        // A few are no trouble.
        working.write_config(&format!("[alias]\n{aliases}st = a2\n"));
        working.assert_same_as_hg(&["st", "x"]);
    }
}

#[test]
fn with_hgplain_there_are_only_aliases_of_the_command_line() {
    for hg in hg_programs() {
        let mut working = WorkingCopy::new(&hg, false);
        some_files(&working);
        working.write_config("[alias]\nst = status -n\nstatus = status -q\n");
        for (name, value) in [("HGPLAIN", "1"), ("HGPLAINEXCEPT", "i18n,alias")] {
            working.0.set_variable(name, value);
            working.assert_same_as_hg(&["st"]);
            working.assert_same_as_hg(&["status"]);
            working.assert_same_as_hg(&["st", "--config", "alias.st=status -m"]);
        }
    }
}

#[test]
fn hooks_are_named_after_the_alias() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        some_files(&working);
        for hook in ["pre-st", "post-st.x", "fail-st"] {
            let hook = format!("hooks.{hook}=true");
            let arguments = ["st", "--config", "alias.st=status -n", "--config", &hook];
            let (_, stderr, _) = working.vigil(&arguments);
            assert!(stderr.contains("the hook '"), "{stderr}");
            working.assert_same_as_hg(&["st", "--config", &hook]);
        }
    }
}

#[test]
fn an_alias_may_have_other_options_than_the_command() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        some_files(&working);
        let arguments = ["st", "--nothing", "--config", "alias.st=!echo told"];
        let (stdout, stderr, code) = working.vigil(&arguments);
        assert_eq!((stdout.as_str(), code), ("", Some(255)));
        assert!(stderr.contains("the alias 'st = !echo told'"), "{stderr}");
        let allowed = ["--config", "vigil.hg.fallback=yes"];
        let (stdout, stderr, code) = working.vigil(&[&arguments[..], &allowed].concat());
        assert_eq!((stdout.as_str(), code), ("told\n", Some(0)), "{stderr}");
        assert!(stderr.ends_with("asking hg\n"), "{stderr}");
        // It is the name of another command.
        working.assert_same_as_hg(&["status", "--nothing", "--config", "alias.st=!echo told"]);
    }
}

#[test]
fn an_alias_of_another_command_may_be_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        some_files(&working);
        let aliases = [
            "alias.told=!echo told",
            "alias.where=root",
            "alias.odd=status '",
            "alias.no-such=nosuch",
        ];
        let aliases = aliases.iter().flat_map(|alias| ["--config", alias]);
        let aliases: Vec<&str> = aliases.collect();
        for words in [&["told"][..], &["tol"], &["where"], &["odd"], &["no-such"]] {
            let arguments = [words, &aliases].concat();
            let (stdout, stderr, code) = working.vigil(&arguments);
            assert_eq!(
                (stdout.as_str(), code),
                ("", Some(255)),
                "{words:?} {stderr}"
            );
            let allowed = [&arguments[..], &["--config", "vigil.hg.fallback=yes"]].concat();
            let (stdout, stderr, code) = working.vigil(&allowed);
            let expected = working.0.hg(&arguments).unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(stdout, text(&expected.stdout), "{words:?} {stderr}");
            assert!(stderr.ends_with(&text(&expected.stderr)), "{stderr}");
            assert_eq!(code, expected.status.code(), "{words:?}");
        }
        let allowed = ["log", "--config", "vigil.hg.fallback=yes"];
        let (_, stderr, code) = working.vigil(&[&allowed[..], &aliases].concat());
        assert_eq!(code, Some(255));
        assert!(stderr.contains("'log' is no command"), "{stderr}");
    }
}

#[test]
fn what_is_said_of_an_alias_for_debugging_is_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        some_files(&working);
        for (alias, more) in [
            ("alias.st=status -m", "ui.debug=yes"),
            ("alias.st=status -m --debug", "ui.debug=no"),
        ] {
            let arguments = ["st", "--config", alias, "--config", more];
            let (_, stderr, _) = working.vigil(&arguments);
            assert!(stderr.contains("the alias 'st = status -m"), "{stderr}");
        }
        let status = ["status", "--config", "alias.status=status -v --debug"];
        let (_, stderr, _) = working.vigil(&status);
        assert!(stderr.contains("the alias 'status"), "{stderr}");
        let arguments = [
            "st",
            "--config",
            "alias.st=status -m",
            "--config",
            "ui.debug=no",
        ];
        working.assert_same_as_hg(&arguments);
    }
}

#[test]
fn a_daemon_answers_with_what_the_configuration_adds() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        some_files(working);
        working.write(".hg/hgrc", "[defaults]\nstatus = -mC\n");
        assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
        working.assert_same_as_hg(&["status"]);
        working.write(".hg/hgrc", "[defaults]\nstatus = --rev null\n");
        served.assert_same_without_daemon(&["hg", "status"], &[]);
        working.assert_same_as_hg(&["status"]);
    }
}
