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
            "",
        ] {
            let default = format!("defaults.status={default}");
            let defaults = ["--config", &default];
            if default.contains('\\') {
                let (_, stderr, _) = working.vigil(&[&["status"], &defaults[..]].concat());
                assert!(stderr.contains("[defaults] status"), "{stderr}");
                continue;
            }
            for arguments in [
                &["status"][..],
                &["st", "-u"],
                &["--cwd", ".", "sta", "--", "b"],
            ] {
                working.assert_same_as_hg(&[&defaults[..], arguments].concat());
            }
        }
        for refused in ["--config x.y=z", "-R .", "--nothing", "--time", "'a"] {
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
