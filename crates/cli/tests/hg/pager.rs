//! Output through a pager.

use std::path::Path;

use super::daemon::WithDaemon;
use super::sandbox::{WorkingCopy, hg_programs};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A pager that marks each line.
const MARKING_PAGER: &str = "sed 's/^/> /'";

/// Makes an added file, and two that are unknown.
fn change(working: &WorkingCopy) {
    working.write("a", "");
    working.hg(&["add", "a"]);
    working.write("new", "");
    working.write("newer", "");
}

/// The exit code, and what a terminal shows, of the shell command `text`.
fn on_a_terminal(
    working: &WorkingCopy,
    text: &str,
    variables: &[(&str, &str)],
) -> (Option<i32>, String) {
    let mut command = working.0.on_a_terminal(&working.path(""), text);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

/// Asserts that `hg` and Vigil show the same for `arguments`, followed by `after` (a redirection), and returns it.
#[track_caller]
fn assert_same(
    working: &WorkingCopy,
    hg: &Path,
    arguments: &str,
    after: &str,
    variables: &[(&str, &str)],
) -> String {
    let hg = format!("'{}'", hg.display());
    let vigil = format!("'{VIGIL}' hg");
    let [theirs, ours] = [hg, vigil].map(|program| {
        let text = format!("{program} {arguments} {after}");
        on_a_terminal(working, &text, variables)
    });
    assert_eq!(ours, theirs, "{arguments} {after} {variables:?}");
    ours.1
}

fn is_marked(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("> "))
}

#[test]
fn a_terminal_has_a_pager_unless_something_forbids_it() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        change(&working);
        for (arguments, is_paged) in [
            ("status", true),
            ("st -n --print0", true),
            ("status --pager=auto", true),
            ("status --pager=yes", true),
            ("--pager on status", true),
            ("status --pager=no", false),
            ("status --pager=banana", false),
            ("status --pager=", false),
            ("status --config ui.paginate=no", false),
            ("status --config ui.paginate=no --pager=yes", true),
            ("status --config pager.attend-status=no", false),
            ("status --config pager.ignore=log,status", false),
            ("status --config pager.ignore=st", true),
            ("status --config ui.formatted=no", false),
            ("status --config pager.pager=cat", false),
            ("status --config pager.pager=", false),
            ("status --config 'pager.pager=cat; :'", false),
            ("status --debug", true),
            ("status --debug --pager=yes", true),
            ("status --debug --config pager.pager=cat", false),
            ("status --config ui.paginate=banana", false),
            ("status --config pager.attend-status=banana", false),
            (
                "status --config pager.ignore=status --config pager.attend-status=banana",
                false,
            ),
            ("status --config ui.paginate=banana --pager=yes", true),
            ("status --color=always", true),
            (
                "status --config color.mode=off --config color.pagermode=ansi",
                true,
            ),
            ("status --color=no", true),
            ("status --config color.pagermode=off", true),
            ("status --config alias.status='status --pager=no'", false),
            ("status --config ui.nontty=yes", false),
            ("status --config defaults.status=--pager=no", false),
            ("status nothing", false),
            ("status --rev nothing", false),
        ] {
            let shown = assert_same(&working, &hg, arguments, "", &[("PAGER", MARKING_PAGER)]);
            assert_eq!(is_marked(&shown), is_paged, "{arguments}: {shown}");
        }
    }
}

#[test]
fn variables_decide_for_whom_output_is() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        change(&working);
        for (name, value, is_paged) in [
            ("TERM", "dumb", false),
            ("TERM", "xterm", true),
            ("HGPLAIN", "1", false),
            ("HGPLAINEXCEPT", "color", false),
            ("HGPLAINEXCEPT", "pager", false),
        ] {
            let variables = [("PAGER", MARKING_PAGER), (name, value)];
            let shown = assert_same(&working, &hg, "status", "", &variables);
            assert_eq!(is_marked(&shown), is_paged, "{name}={value}: {shown}");
        }
    }
}

#[test]
fn the_strongest_setting_names_the_pager() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        change(&working);
        let system = working.home().join("system.rc");
        std::fs::write(&system, "[pager]\npager = sed 's/^/system /'\n").unwrap();
        let own = working.home().join("own.rc");
        std::fs::write(&own, "[pager]\npager = sed 's/^/own /'\n").unwrap();
        let (system, own) = (system.display().to_string(), own.display().to_string());
        let both = format!("{system}:{own}");
        let pager = ("PAGER", "sed 's/^/variable /'");
        for (path, arguments, first) in [
            ("", "status", "variable "),
            (&*system, "status", "system "),
            (&both, "status", "own "),
            (
                &both,
                "status --config pager.pager=\"sed 's/^/option /'\"",
                "option ",
            ),
        ] {
            let shown = assert_same(&working, &hg, arguments, "", &[pager, ("HGRCPATH", path)]);
            assert!(shown.starts_with(first), "{first}: {shown}");
        }
        working.write(".hg/hgrc", "[pager]\npager = sed 's/^/repository /'\n");
        let shown = assert_same(&working, &hg, "status", "", &[pager, ("HGRCPATH", "")]);
        assert!(shown.starts_with("repository "), "{shown}");
    }
}

#[test]
fn a_pager_gets_default_options_and_stays_within_its_streams() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        change(&working);
        working.write(".hgignore", "include:missing\n");
        let says_options = "echo \"$LESS $LV\"; sed 's/^/> /'";
        let shown = assert_same(&working, &hg, "status", "", &[("PAGER", says_options)]);
        assert!(shown.contains("FRX -c"), "{shown}");
        let set = [("PAGER", says_options), ("LESS", "S"), ("LV", "")];
        assert_same(&working, &hg, "status", "", &set);
        let variables = [("PAGER", MARKING_PAGER)];
        for arguments in ["status", "status --pager=yes", "status nothing --pager=yes"] {
            for after in ["", "2>/dev/null", "2>&1 | cat", "| cat", "2>err; cat err"] {
                assert_same(&working, &hg, arguments, after, &variables);
            }
        }
    }
}

#[test]
fn a_pager_that_cannot_run_is_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        change(&working);
        working.write("no-program", "");
        for (pager, part) in [
            (
                "no-such-pager",
                "missing pager command 'no-such-pager', skipping pager",
            ),
            (
                "/no/such/pager",
                "missing pager command '/no/such/pager', skipping pager",
            ),
            ("./no-program", "Permission denied"),
            ("cat >/dev/null; no-such-pager -x", "not found"),
            ("cat >/dev/null; exit 3", ""),
        ] {
            for arguments in ["status", "status --pager=yes"] {
                // Only errors that come before any pager have colours here.
                let arguments = format!("{arguments} --color=no");
                let shown = assert_same(&working, &hg, &arguments, "", &[("PAGER", pager)]);
                assert!(shown.contains(part), "{pager}: {shown}");
            }
        }
    }
}

#[test]
fn leaving_the_pager_early_ends_the_command() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        // More than a pipe holds.
        for number in 0..1000 {
            working.write(&format!("{number:0>200}"), "");
        }
        let variables = [("PAGER", "head -n 1; exit 0")];
        let shown = assert_same(&working, &hg, "status --color=no", "", &variables);
        assert_eq!(shown.lines().count(), 1, "{shown}");
    }
}

#[test]
fn the_extension_pager_has_rules_of_its_own() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        change(&working);
        working.write(".hgignore", "include:missing\n");
        for (settings, is_paged) in [
            ("", false),
            ("--config pager.attend=log,status", true),
            ("--config pager.attend=st", true),
            ("--config pager.attend=", true),
            ("--config pager.attend= --config pager.ignore=status", true),
            (
                "--config pager.attend= --config pager.ignore=status,st",
                false,
            ),
            ("--config pager.attend-status=yes", true),
            (
                "--config pager.attend-status=yes --config ui.paginate=no",
                false,
            ),
            (
                "--config pager.attend-status=yes --config pager.ignore=status",
                true,
            ),
            (
                "--config pager.attend-status=no --config pager.attend=status",
                false,
            ),
            (
                "--config pager.attend-status= --config pager.attend=status",
                true,
            ),
            ("--config pager.attend-st=yes", true),
            ("--config pager.attend-status=banana", false),
            ("--pager=yes", true),
            ("--pager=no --config pager.attend=status", false),
        ] {
            let arguments = format!("status --config extensions.pager= {settings}");
            let variables = [("PAGER", MARKING_PAGER)];
            let shown = assert_same(&working, &hg, &arguments, "", &variables);
            assert_eq!(is_marked(&shown), is_paged, "{settings}: {shown}");
        }
    }
}

#[test]
fn what_the_daemon_answers_is_paged_too() {
    for hg in hg_programs() {
        let with_daemon = WithDaemon::new(&hg);
        let working = &with_daemon.working;
        change(working);
        let variables = [("PAGER", MARKING_PAGER)];
        assert!(with_daemon.assert_same_without_daemon(&["hg", "status"], &variables));
        for arguments in [
            "status",
            "status --pager=yes",
            "status --pager=no",
            "status --config ui.paginate=no",
            "status --config pager.pager=cat",
            "status --config ui.formatted=yes",
            "status --config ui.debug=yes",
            "status new",
        ] {
            for after in ["", "| cat"] {
                assert_same(working, &hg, arguments, after, &variables);
            }
        }
        working.write(".hg/hgrc", "[pager]\nattend-status = no\n");
        let shown = assert_same(working, &hg, "status", "", &variables);
        assert!(!is_marked(&shown), "{shown}");
    }
}

#[test]
fn vigils_own_options_count_and_its_own_formats_are_not_paged() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        change(&working);
        for (arguments, is_paged) in [
            ("status", true),
            ("--no-pager status", false),
            ("--no-pager hg status", false),
            ("--paginate hg status --config ui.paginate=no", true),
            ("--no-pager hg status --pager=yes", true),
            ("status --format=line", false),
            ("status --format=json", false),
        ] {
            let text = format!("'{VIGIL}' {arguments}");
            let (code, shown) = on_a_terminal(&working, &text, &[("PAGER", MARKING_PAGER)]);
            assert_eq!(
                (code, is_marked(&shown)),
                (Some(0), is_paged),
                "{arguments}: {shown}"
            );
        }
    }
}
