//! Output through a pager, on a terminal.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use crate::sandbox::{Sandbox, VIGIL};

/// A pager that marks each line.
const MARKING_PAGER: &str = "sed 's/^/> /'";

/// The exit code, and what the terminal shows.
fn terminal_output(
    sandbox: &Sandbox,
    folder: &str,
    script: &str,
    variables: &[(&str, &str)],
) -> (i32, String) {
    let mut command = sandbox.on_a_terminal(folder, script);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text)
}

/// Asserts that both show the same, and returns it.
fn assert_same_on_terminal_in(
    sandbox: &Sandbox,
    folder: &str,
    arguments: &str,
    variables: &[(&str, &str)],
) -> (i32, String) {
    // Called by the same name, since usage texts contain it.
    let link = sandbox.root().join("called/git");
    if !link.exists() {
        std::fs::create_dir(link.parent().unwrap()).unwrap();
        symlink(VIGIL, &link).unwrap();
    }
    let [ours, theirs] = [link.to_str().unwrap(), "git"].map(|program| {
        let script = format!("{program} {arguments}");
        terminal_output(sandbox, folder, &script, variables)
    });
    assert_eq!(ours, theirs, "{arguments} {variables:?}");
    ours
}

fn assert_same_on_terminal(
    sandbox: &Sandbox,
    arguments: &str,
    variables: &[(&str, &str)],
) -> (i32, String) {
    assert_same_on_terminal_in(sandbox, "", arguments, variables)
}

fn is_marked(text: &str) -> bool {
    text.starts_with("> ")
}

/// A repository with a tag, a changed file and some untracked ones.
fn changed_repository() -> Sandbox {
    let sandbox = Sandbox::with_history();
    sandbox.git(["tag", "v1"]);
    sandbox.write("a", "changed");
    for name in ["new", "newer", "newest"] {
        sandbox.write(name, "");
    }
    sandbox
}

fn make_program(path: &Path, script: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_pager_is_used_where_it_is_asked_for() {
    let sandbox = changed_repository();
    for (arguments, is_paged) in [
        ("-p status", true),
        ("--paginate status", true),
        ("status", false),
        ("-c pager.status status", true),
        ("-c pager.status=1 status", true),
        ("-c pager.status=false status", false),
        ("-c pager.status= status", false),
        ("-c pager.status -P status", false),
        ("-c pager.status --no-pager status", false),
        ("-c pager.status=false -p status", true),
        ("-p -P status", false),
        ("-P -p status", true),
        ("-c pager.status=true -c pager.status=false status", false),
        ("-c pager.describe=true status", false),
        ("-c pager.describe=true describe", true),
        ("-p describe", true),
        ("-c pager.cat-file=true cat-file -p HEAD^{tree}", true),
        (
            "-p cat-file --batch-check --batch-all-objects --unordered",
            true,
        ),
        ("-p status --bogus", true),
        ("-p describe nothing", true),
        ("-p cat-file -e nothing", true),
    ] {
        let (_, text) =
            assert_same_on_terminal(&sandbox, arguments, &[("GIT_PAGER", MARKING_PAGER)]);
        assert_eq!(is_marked(&text), is_paged, "{arguments}: {text}");
    }
}

#[test]
fn the_first_pager_that_is_named_is_used() {
    let sandbox = changed_repository();
    let [environment, other] = [("GIT_PAGER", "sed 's/^/1 /'"), ("PAGER", "sed 's/^/2 /'")];
    let core = "-c core.pager=\"sed 's/^/3 /'\"";
    let own = "-c pager.status=\"sed 's/^/4 /'\"";
    for (arguments, variables, first) in [
        (
            format!("{core} {own} status"),
            &[environment, other][..],
            "1",
        ),
        (format!("{core} {own} status"), &[other], "4"),
        (format!("{own} -c pager.status=true status"), &[other], "4"),
        (format!("{own} -c pager.status=false status"), &[other], "O"),
        (format!("{core} {own} -p status"), &[other], "3"),
        (format!("{core} -c pager.status status"), &[other], "3"),
        ("-p status".to_owned(), &[other], "2"),
        ("-p status".to_owned(), &[("PAGER", "")], "O"),
        ("-p status".to_owned(), &[("PAGER", "cat")], "O"),
        ("-p status".to_owned(), &[("GIT_PAGER", ""), other], "O"),
        ("-c core.pager= -p status".to_owned(), &[other], "O"),
        ("-c core.pager=cat -p status".to_owned(), &[other], "O"),
    ] {
        let (code, text) = assert_same_on_terminal(&sandbox, &arguments, variables);
        assert!(text.starts_with(first), "{arguments} {variables:?}: {text}");
        assert_eq!(code, 0);
    }
    // So is the directory in which git looks for it.
    make_program(&sandbox.top().join("page"), "sed 's/^/5 /'");
    let (_, text) =
        assert_same_on_terminal_in(&sandbox, "dir", "-p status", &[("GIT_PAGER", "./page")]);
    assert!(text.starts_with("5 "), "{text}");
}

#[test]
fn without_a_pager_the_default_is_less() {
    let sandbox = changed_repository();
    let folder = sandbox.root().join("programs");
    std::fs::create_dir(&folder).unwrap();
    make_program(&folder.join("less"), MARKING_PAGER);
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", folder.display());
    let (_, text) = assert_same_on_terminal(&sandbox, "-p describe", &[("PATH", &path)]);
    assert!(is_marked(&text), "{text}");
}

#[test]
fn a_pager_gets_the_terminal_and_its_default_options() {
    let sandbox = changed_repository();
    let look = "cat >/dev/null; env | grep -E '^(LESS|LV|COLUMNS|GIT_PAGER_IN_USE)=' | sort";
    let (_, text) = assert_same_on_terminal(&sandbox, "-p status", &[("GIT_PAGER", look)]);
    assert_eq!(text, "COLUMNS=60\r\nLESS=FRX\r\nLV=-c\r\n");
    let variables = [
        ("GIT_PAGER", look),
        ("LESS", "S"),
        ("LV", ""),
        ("COLUMNS", "50"),
    ];
    let (_, text) = assert_same_on_terminal(&sandbox, "-p status", &variables);
    assert_eq!(text, "COLUMNS=50\r\nLESS=S\r\nLV=\r\n");
}

#[test]
fn a_pager_counts_as_a_terminal() {
    let sandbox = changed_repository();
    let pager = ("GIT_PAGER", MARKING_PAGER);
    for (arguments, variables, has_colors) in [
        ("-p status", &[pager][..], true),
        ("-p status -s", &[pager], true),
        ("-c color.pager=false -p status", &[pager], false),
        ("-c color.ui=false -p status", &[pager], false),
        ("-p status", &[pager, ("TERM", "dumb")], false),
        ("status", &[("TERM", "dumb")], false),
        ("status", &[], true),
        ("-c color.pager=false status", &[], true),
        ("-p -c column.ui=auto,dense status", &[pager], true),
        ("-p status --column=auto", &[pager, ("COLUMNS", "40")], true),
        ("-p status --column=auto", &[pager, ("COLUMNS", "")], true),
        ("-p status -v", &[pager], true),
        ("-c color.pager=false -p status -v", &[pager], false),
    ] {
        let (_, text) = assert_same_on_terminal(&sandbox, arguments, variables);
        assert_eq!(text.contains("\x1b["), has_colors, "{arguments}: {text}");
    }
    // A pager started by a parent process.
    for value in ["true", "1", "false", "0", ""] {
        let run = |program| {
            let mut command = sandbox.command(program, sandbox.top(), ["status"]);
            command.env("GIT_PAGER_IN_USE", value).output().unwrap()
        };
        assert_eq!(run(VIGIL), run("git"), "{value}");
    }
}

#[test]
fn nothing_is_paged_but_a_terminal() {
    let sandbox = changed_repository();
    let run = |program| {
        let mut command = sandbox.command(program, sandbox.top(), ["-p", "status"]);
        command.env("GIT_PAGER", "no-such-pager").output().unwrap()
    };
    let ours = run(VIGIL);
    assert_eq!(ours, run("git"));
    assert!(ours.status.success());
    // Standard error is not redirected unless it is the terminal, too.
    let (_, text) = assert_same_on_terminal(
        &sandbox,
        "-p status --bogus 2>err",
        &[("GIT_PAGER", MARKING_PAGER)],
    );
    assert_eq!(text, "");
    let printed = std::fs::read_to_string(sandbox.top().join("err")).unwrap();
    assert!(
        printed.starts_with("error: unknown option `bogus'"),
        "{printed}"
    );
}

#[test]
fn a_pager_that_cannot_be_run_is_reported_in_gits_words() {
    let sandbox = changed_repository();
    let missing = "error: cannot run no-such-pager: No such file or directory\r\n\
                   fatal: unable to execute pager 'no-such-pager'\r\n";
    let pager = ("GIT_PAGER", "no-such-pager");
    for arguments in [
        "-p status",
        "-p describe",
        "-p cat-file -p HEAD",
        "-p status -h",
    ] {
        let outcome = assert_same_on_terminal(&sandbox, arguments, &[pager]);
        assert_eq!(outcome, (128, missing.to_owned()));
    }
    let arguments = "-c pager.status=no-such-pager status";
    assert_eq!(
        assert_same_on_terminal(&sandbox, arguments, &[]),
        (128, missing.to_owned())
    );
    assert_same_on_terminal(&sandbox, "-p status", &[("GIT_PAGER", "/")]);
    assert_same_on_terminal(&sandbox, "-p status", &[("GIT_PAGER", "/no/such/pager")]);
    // The configuration is invalid.
    for arguments in [
        "-c core.pager -p status",
        "-c core.pager -c core.pager=cat -p status",
    ] {
        assert_eq!(assert_same_on_terminal(&sandbox, arguments, &[]).0, 128);
    }
    // Here this setting is not used.
    for (arguments, variables) in [
        ("-c core.pager status", &[][..]),
        ("-c core.pager -p status", &[("GIT_PAGER", MARKING_PAGER)]),
        ("-c core.pager -c pager.status=cat status", &[]),
    ] {
        assert_eq!(assert_same_on_terminal(&sandbox, arguments, variables).0, 0);
    }
    sandbox.write(".git/more", "[core]\n\n\tpager\n");
    sandbox.git(["config", "include.path", "more"]);
    assert_eq!(assert_same_on_terminal(&sandbox, "-p status", &[]).0, 128);
}

#[test]
fn outside_of_a_repository_nothing_but_help_is_paged() {
    let sandbox = Sandbox::empty();
    let pager = ("GIT_PAGER", MARKING_PAGER);
    let (code, text) = assert_same_on_terminal(&sandbox, "-C / -p status", &[pager]);
    assert_eq!((code, is_marked(&text)), (128, false), "{text}");
    for arguments in [
        "-C / -p status -h",
        "-p status -h",
        "-p describe -h",
        "-p version",
        "-p help",
        "-p",
        "-p no-such-command",
    ] {
        let (_, text) = terminal_output(&sandbox, "", &format!("{VIGIL} {arguments}"), &[pager]);
        assert!(is_marked(&text), "{text}");
    }
    let (_, text) = terminal_output(&sandbox, "", &format!("{VIGIL} version"), &[pager]);
    assert!(!is_marked(&text), "{text}");
}

/// In a small container there is neither man(1) nor a pager. A pager that somebody chose is still missed.
#[test]
fn without_a_pager_a_manual_page_is_shown_as_it_is() {
    let sandbox = Sandbox::empty();
    let empty = sandbox.root().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let set = format!("PATH='{}'", empty.display());
    let shown = |words: &str| terminal_output(&sandbox, "", &format!("{set} {words}"), &[]);
    for help in ["help status", "--help status"] {
        let (code, text) = shown(&format!("{VIGIL} {help}"));
        assert_eq!(code, 0, "{text}");
        assert!(text.starts_with("NAME\r\n"), "{text}");
        assert!(text.contains("\r\nSEE ALSO\r\n"), "{text}");
    }
    for words in [
        format!("{VIGIL} -p help status"),
        format!("{VIGIL} -c core.pager=less help status"),
        format!("PAGER=less {VIGIL} help status"),
    ] {
        let (code, text) = shown(&words);
        assert_eq!(code, 128, "{text}");
        assert!(text.contains("unable to execute pager 'less'"), "{text}");
    }
}

#[test]
fn vigil_s_own_commands_are_paged_by_the_same_rules() {
    let sandbox = changed_repository();
    for (arguments, is_paged) in [
        ("-p why a", true),
        ("-c pager.why=true why a", true),
        ("why a", false),
        ("-p state show", true),
        ("-c pager.state=true state show", true),
        ("state show", false),
    ] {
        let script = format!("{VIGIL} {arguments}");
        let (code, text) = terminal_output(&sandbox, "", &script, &[("GIT_PAGER", MARKING_PAGER)]);
        assert_eq!((code, is_marked(&text)), (0, is_paged), "{text}");
    }
}

#[test]
fn the_pager_is_waited_for() {
    let sandbox = changed_repository();
    let pager = ("GIT_PAGER", "cat >/dev/null; echo read; echo done >&2");
    for program in [VIGIL, "git"] {
        for arguments in ["-p status", "-p describe", "-p cat-file -p HEAD"] {
            let script = format!("{program} {arguments}; echo after");
            let (code, text) = terminal_output(&sandbox, "", &script, &[pager]);
            assert_eq!((code, text.as_str()), (0, "read\r\ndone\r\nafter\r\n"));
        }
    }
}

/// Both programs die of the signal, and only after the pager has ended.
#[test]
fn a_pager_that_reads_no_further_ends_the_command() {
    let sandbox = Sandbox::with_history();
    // More than any pipe holds.
    let line = "some line of a text\n";
    sandbox.write("long", line.repeat(200_000));
    sandbox.write("many/.keep", "");
    for number in 0..3_000 {
        let folder = format!("many/folder-with-a-long-name-{}", number / 1000);
        sandbox.write(format!("{folder}/file-with-a-long-name-{number}"), "");
    }
    sandbox.git(["add", "long"]);
    let pager = ("GIT_PAGER", "head -n 1; exec <&-; echo done");
    for (arguments, first) in [
        ("-p cat-file -p :long", "some line of a text"),
        ("-p cat-file blob :long", "some line of a text"),
        ("-p status -uall", "On branch main"),
    ] {
        for program in [VIGIL, "git"] {
            let script = format!("{program} {arguments}; echo $?");
            let (_, text) = terminal_output(&sandbox, "", &script, &[pager]);
            assert_eq!(text, format!("{first}\r\ndone\r\n141\r\n"), "{program}");
        }
    }
}

/// In most pagers this key means something else.
#[test]
fn the_interrupt_key_ends_the_command_only_after_the_pager() {
    let sandbox = changed_repository();
    for program in [VIGIL, "git"] {
        let gate = sandbox.make_pipe("gate");
        let pager = format!(
            "trap '' INT; cat >/dev/null; echo ready; cat '{}'; echo done",
            gate.display()
        );
        let script = format!("trap : INT; {program} -p status; echo $?");
        let mut terminal = sandbox
            .on_a_terminal("", &script)
            .env("GIT_PAGER", pager)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut keys = terminal.stdin.take().unwrap();
        let mut output = terminal.stdout.take().unwrap();
        let mut text = String::new();
        let mut until = |mark: &str| {
            let mut byte = [0];
            while !text.contains(mark) {
                assert_eq!(output.read(&mut byte).unwrap(), 1, "{text}");
                text.push(char::from(byte[0]));
            }
            text.clone()
        };
        until("ready");
        keys.write_all(b"\x03").unwrap();
        // The terminal echoes the key when it sends the signal.
        until("^C");
        std::fs::write(&gate, "\n").unwrap();
        let text = until("130\r\n");
        let done = text.find("done").unwrap();
        assert!(done < text.find("130\r\n").unwrap(), "{program}: {text}");
        drop(keys);
        terminal.wait().unwrap();
        std::fs::remove_file(gate).unwrap();
    }
}
