//! The command as a process: arguments, streams and exit codes.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::pipe;
use vigil_testkit::process::pipe_without_reader;
use vigil_testkit::sandbox::{Sandbox, run_with_input};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A program at the root of a sandbox.
fn command(sandbox: &Sandbox, program: &str, arguments: &[&str]) -> Command {
    let mut command = sandbox.isolated(program, b"");
    command.args(arguments);
    command
}

fn run(sandbox: &Sandbox, program: &str, arguments: &[&str]) -> Output {
    command(sandbox, program, arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Exit code, standard output, standard error.
fn vigil_outcome(arguments: &[&str]) -> (i32, String, String) {
    let sandbox = Sandbox::empty();
    let output = run(&sandbox, VIGIL, arguments);
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn vigil_prints_its_version_and_help() {
    let (code, stdout, stderr) = vigil_outcome(&["--version"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.starts_with("vigil version "), "{stdout}");
    assert_eq!(vigil_outcome(&["-p", "version"]).1, stdout);

    let (code, stdout, stderr) = vigil_outcome(&["--help"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.starts_with("usage: vigil "), "{stdout}");
    assert_eq!(vigil_outcome(&["help"]), vigil_outcome(&["-h"]));
    assert_eq!(vigil_outcome(&[]), (1, stdout, stderr));
}

/// The segments of an ELF program (elf(5)): type, flags, and offset and length in the file.
fn elf_segments(program: &[u8]) -> Vec<(u32, u32, usize, usize)> {
    let headers_at = u64::from_ne_bytes(bytes_at(program, 0x20));
    let size = usize::from(u16::from_ne_bytes(bytes_at(program, 0x36)));
    let count = usize::from(u16::from_ne_bytes(bytes_at(program, 0x38)));
    let headers = program.split_at(headers_at.try_into().unwrap()).1;
    let segment = |header: &[u8]| {
        let place = |at| u64::from_ne_bytes(bytes_at(header, at)).try_into().unwrap();
        let word = |at| u32::from_ne_bytes(bytes_at(header, at));
        (word(0), word(4), place(8), place(32))
    };
    headers.chunks(size).take(count).map(segment).collect()
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes.split_at(at).1.first_chunk().unwrap()
}

/// Loading libraries would take longer than a short run.
#[test]
fn the_program_needs_no_libraries_of_the_system() {
    const PT_INTERP: u32 = 3;
    let program = std::fs::read(VIGIL).unwrap();
    let mut segments = elf_segments(&program).into_iter();
    assert_eq!(
        segments.any(|(kind, ..)| kind == PT_INTERP),
        !cfg!(target_feature = "crt-static")
    );
}

/// The program is position-independent and bound before it starts: no executable memory is writable, and neither are the tables
/// through which functions are found.
#[test]
fn the_program_is_hardened() {
    const ET_DYN: u16 = 3;
    const PT_DYNAMIC: u32 = 2;
    const PT_GNU_RELRO: u32 = 0x6474_e552;
    const DT_TEXTREL: u64 = 22;
    const DT_FLAGS: u64 = 30;
    const DT_FLAGS_1: u64 = 0x6fff_fffb;
    let program = std::fs::read(VIGIL).unwrap();
    assert_eq!(u16::from_ne_bytes(bytes_at(&program, 0x10)), ET_DYN);
    let segments = elf_segments(&program);
    assert!(segments.iter().any(|(kind, ..)| *kind == PT_GNU_RELRO));
    // None is both executable and writable.
    assert!(segments.iter().all(|(_, flags, ..)| flags & 3 != 3));
    let dynamic = segments.iter().find(|(kind, ..)| *kind == PT_DYNAMIC);
    let (_, _, start, len) = *dynamic.unwrap();
    let number = |at| u64::from_ne_bytes(bytes_at(&program, at));
    let entries = (start..start + len).step_by(16);
    let entries: Vec<(u64, u64)> = entries.map(|at| (number(at), number(at + 8))).collect();
    let flags = |tag| {
        entries
            .iter()
            .find(|entry| entry.0 == tag)
            .map(|entry| entry.1)
    };
    assert_eq!(flags(DT_TEXTREL), None);
    let (text_relocations, bind_now) = (4, 8);
    assert_eq!(
        flags(DT_FLAGS).unwrap() & (text_relocations | bind_now),
        bind_now
    );
    let (now, is_pie) = (1, 0x0800_0000);
    assert_eq!(flags(DT_FLAGS_1).unwrap() & (now | is_pie), now | is_pie);
}

#[test]
fn an_unknown_command_is_refused() {
    let (code, stdout, stderr) = vigil_outcome(&["-P", "frobnicate", "-h"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert_eq!(
        stderr,
        "vigil: 'frobnicate' is not a vigil command. See 'vigil --help'.\n"
    );
}

#[test]
fn a_damaged_configuration_is_reported_before_an_unknown_option() {
    let sandbox = Sandbox::empty();
    std::fs::write(sandbox.home().join(".gitconfig"), "[broken\n").unwrap();
    for arguments in [
        &["--no-such-option", "status"][..],
        &["-C", "nowhere", "status"],
    ] {
        let [ours, theirs] = [VIGIL, "git"].map(|program| run(&sandbox, program, arguments));
        assert_eq!(text(&ours.stderr), text(&theirs.stderr), "{arguments:?}");
        assert_eq!(
            (ours.status.code(), theirs.status.code()),
            (Some(128), Some(128))
        );
    }
}

#[test]
fn usage_of_status_needs_no_repository() {
    let (code, stdout, stderr) = vigil_outcome(&["status", "-h"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.starts_with("usage: vigil status [<options>]"));
    assert!(stdout.contains("--[no-]format <format>"));
    let (code, stdout, _) = vigil_outcome(&["status", "--help-all"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("--[no-]format <format>"));
}

#[test]
fn each_command_that_is_listed_says_how_it_is_used() {
    let overview = vigil_outcome(&["help"]).1;
    let listed = overview.lines().filter_map(|line| line.strip_prefix("   "));
    let commands: Vec<&str> = listed
        .filter_map(|line| line.split(' ').next())
        .filter(|name| name.starts_with(char::is_alphabetic))
        .collect();
    assert!(commands.len() > 10, "{overview}");
    for command in commands {
        if ["help", "version"].contains(&command) {
            continue;
        }
        let (code, stdout, stderr) = vigil_outcome(&[command, "--help"]);
        assert_eq!((code, stderr.as_str()), (0, ""), "{command}");
        let first = stdout.lines().next().unwrap_or_default();
        let names_it = first.to_lowercase().starts_with("usage: ") && first.contains(command);
        assert!(names_it, "{first}");
    }
}

#[test]
fn help_of_a_command_is_its_page() {
    for command in ["status", "gitstatusd", "help"] {
        let (code, stdout, stderr) = vigil_outcome(&["help", command]);
        assert_eq!((code, stderr.as_str()), (0, ""), "{command}");
        assert!(stdout.contains(&format!("vigil-{command} - ")), "{stdout}");
        assert_eq!(vigil_outcome(&["--help", command]).1, stdout);
    }
    let overview = vigil_outcome(&["help"]);
    for command in ["version", "-h", "--help", "--version"] {
        assert_eq!(vigil_outcome(&["help", command]), overview, "{command}");
    }
    assert_eq!(
        vigil_outcome(&["help", "frobnicate"]),
        (
            1,
            String::new(),
            "vigil: 'frobnicate' is not a vigil command. See 'vigil --help'.\n".to_owned()
        )
    );
    assert_eq!(
        vigil_outcome(&["help", "status", "why"]),
        (
            129,
            String::new(),
            "error: too many arguments\nusage: vigil help [<command>]\n\n".to_owned()
        )
    );
}

#[test]
fn version_takes_no_options() {
    let printed = vigil_outcome(&["version"]);
    assert_eq!((printed.0, printed.2.as_str()), (0, ""));
    // As with git.
    assert_eq!(vigil_outcome(&["version", "other"]), printed);
    let usage = "usage: vigil version\n\n";
    let refused = format!("error: unknown option `bogus'\n{usage}");
    assert_eq!(
        vigil_outcome(&["version", "--bogus"]),
        (129, String::new(), refused)
    );
    assert_eq!(
        vigil_outcome(&["version", "-h"]),
        (0, usage.to_owned(), String::new())
    );
}

/// Exit code and output of the program called by another name.
fn run_under_name(
    sandbox: &Sandbox,
    name: &str,
    folder: &Path,
    arguments: &[&str],
) -> (i32, String, String) {
    let mut command = sandbox.command(VIGIL, folder, arguments);
    let output = command.arg0(name).output().unwrap();
    let code = output.status.code().unwrap();
    (code, text(&output.stdout), text(&output.stderr))
}

#[test]
fn usage_has_the_name_of_the_call() {
    let sandbox = Sandbox::empty();
    run(&sandbox, "git", &["init", "-q"]);
    for (name, arguments, usage, has_format) in [
        (
            "vigil",
            &["status", "-h"][..],
            "vigil status [<options>]",
            true,
        ),
        (
            "/usr/bin/v",
            &["status", "-h"],
            "vigil status [<options>]",
            true,
        ),
        ("git", &["status", "-h"], "git status [<options>]", false),
        ("/opt/git-status", &["-h"], "git status [<options>]", false),
        ("git-vst", &["-h"], "git vst [<options>]", false),
        (
            "git-vigil",
            &["status", "-h"],
            "vigil status [<options>]",
            true,
        ),
        ("git", &["cat-file", "-h"], "git cat-file <type>", false),
        ("git-cat-file", &["-h"], "git cat-file <type>", false),
        ("vigil", &["cat-file", "-h"], "vigil cat-file <type>", false),
        (
            "vigil",
            &["describe", "-h"],
            "vigil describe [--all]",
            false,
        ),
        ("git-why", &["-h"], "git why [--format=json]", true),
        ("vigil", &["why", "-h"], "vigil why [--format=json]", true),
    ] {
        let (code, stdout, stderr) = run_under_name(&sandbox, name, sandbox.root(), arguments);
        assert_eq!((code, stderr.as_str()), (0, ""), "{name} {arguments:?}");
        assert!(stdout.starts_with(&format!("usage: {usage}")), "{stdout}");
        assert_eq!(stdout.contains("--[no-]format <"), has_format, "{stdout}");
    }
    let (code, stdout, stderr) =
        run_under_name(&sandbox, "git", sandbox.root(), &["status", "--bogus"]);
    assert_eq!((code, stdout.as_str()), (129, ""));
    let start = "error: unknown option `bogus'\nusage: git status [<options>]";
    assert!(stderr.starts_with(start), "{stderr}");
}

/// git runs a program with such a name as one of its commands.
#[test]
fn a_link_named_git_vigil_is_a_command_of_git() {
    let sandbox = Sandbox::empty();
    let programs = sandbox.root().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["git-vst", "git-vigil"] {
        std::os::unix::fs::symlink(VIGIL, programs.join(name)).unwrap();
    }
    let top = sandbox.root().join("work");
    run(&sandbox, "git", &["init", "-q", "-b", "main", "work"]);
    std::fs::write(top.join("new"), "").unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", programs.display());
    let git = |arguments: &[&str]| {
        let output = sandbox
            .command("git", &top, arguments)
            .env("PATH", &path)
            .output();
        let output = output.unwrap();
        let code = output.status.code().unwrap();
        (code, text(&output.stdout), text(&output.stderr))
    };
    let short = (
        0,
        "## No commits yet on main\n?? new\n".to_owned(),
        String::new(),
    );
    assert_eq!(git(&["vst", "-sb"]), short);
    assert_eq!(git(&["-c", "status.short", "vst", "-b"]), short);
    assert_eq!(git(&["vigil", "status", "-sb"]), short);
    assert_eq!(git(&["vst", "--porcelain", "new"]).1, "?? new\n");
    let (code, stdout, _) = git(&["vst", "--format=json"]);
    assert_eq!((code, stdout.starts_with("{\"schema\":")), (0, true));
    // There are no options before the name, and what follows is not a command.
    assert_eq!(
        run_under_name(&sandbox, "git-status", &top, &["-P", "status"]).0,
        129
    );
    assert_eq!(
        run_under_name(&sandbox, "git-status", &top, &["-s", "status"]).1,
        ""
    );
    assert_eq!(
        run_under_name(&sandbox, "git-describe", &top, &["--always"]),
        {
            let theirs = sandbox.output(&top, ["describe", "--always"], "");
            let code = theirs.status.code().unwrap();
            (code, text(&theirs.stdout), text(&theirs.stderr))
        }
    );
}

#[test]
fn json_and_a_format_of_git_s_exclude_each_other() {
    let sandbox = Sandbox::empty();
    run(&sandbox, "git", &["init", "-q"]);
    for arguments in [
        ["status", "--format=json", "--porcelain"],
        ["status", "--porcelain", "--format=json"],
    ] {
        let output = run(&sandbox, VIGIL, &arguments);
        assert_eq!(
            (output.status.code(), output.stdout),
            (Some(129), Vec::new())
        );
        assert_eq!(
            text(&output.stderr),
            "error: options '--format=json' and '--porcelain' cannot be used together\n"
        );
    }
    // Of git's formats, the last one counts.
    let output = run(&sandbox, VIGIL, &["status", "--porcelain", "--short", "-b"]);
    assert!(output.status.success());
}

/// Follows the newest git; older versions exit with 129.
#[test]
fn asking_for_help_succeeds() {
    let sandbox = Sandbox::empty();
    run(&sandbox, "git", &["init", "-q"]);
    for arguments in [
        &["status", "-h"][..],
        &["status", "-s", "-h"],
        &["status", "-sh"],
        &["status", "-s", "--help"],
        &["cat-file", "-h"],
        &["cat-file", "-p", "-h"],
        &["describe", "-h"],
        &["describe", "--all", "--help-all"],
        &["watch", "-h"],
        &["why", "-h"],
        &["state", "-h"],
        &["state", "show", "-h"],
        &["doctor", "-h"],
    ] {
        let output = run(&sandbox, VIGIL, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stdout.starts_with(b"usage: "), "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

/// Follows the newest git; older versions print this usage text on standard output.
#[test]
fn usage_after_a_mistake_is_an_error() {
    let sandbox = Sandbox::empty();
    run(&sandbox, "git", &["init", "-q"]);
    for (arguments, complaint) in [
        (
            ["status", "--s"],
            "ambiguous option: s (could be --short or --show-stash)",
        ),
        (
            ["describe", "--no"],
            "ambiguous option: no (could be --no-dirty or --no-broken)",
        ),
        (["status", "--bogus"], "unknown option `bogus'"),
    ] {
        let output = run(&sandbox, VIGIL, &arguments);
        assert_eq!(output.status.code(), Some(129), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        let start = format!("error: {complaint}\nusage: ");
        assert!(text(&output.stderr).starts_with(&start), "{arguments:?}");
    }
}

#[test]
fn options_before_the_command_fail_as_in_git() {
    for arguments in [
        &["-C", "missing", "status"][..],
        &["-C", "file", "status"],
        &["-C"],
        &["--git-dir"],
        &["--work-tree"],
        &["--namespace"],
        &["-c"],
        &["--config-env"],
        &["--config-env=a.b", "status"],
        &["--config-env", "a.b=", "status"],
        &["--config-env", "a.b=THERE_IS_NO_SUCH_VARIABLE", "status"],
        &["--bogus", "status"],
        &["--paginated"],
        &["-s"],
    ] {
        let sandbox = Sandbox::empty();
        std::fs::write(sandbox.root().join("file"), "").unwrap();
        let [ours, theirs] = [VIGIL, "git"].map(|program| run(&sandbox, program, arguments));
        let first_line = |output: &Output| text(&output.stderr).lines().next().map(str::to_owned);
        assert_eq!(ours.status.code(), theirs.status.code(), "{arguments:?}");
        assert_eq!(first_line(&ours), first_line(&theirs), "{arguments:?}");
        assert!(ours.stdout.is_empty());
    }
}

#[test]
fn outside_of_a_repository_the_options_are_not_even_read() {
    let sandbox = Sandbox::empty();
    let output = run(&sandbox, VIGIL, &["status", "--bogus"]);
    assert_eq!(output.status.code(), Some(128));
    assert!(output.stdout.is_empty());
    assert!(text(&output.stderr).starts_with("fatal: not a git repository"));
}

#[test]
fn bad_configuration_is_refused_as_in_git_before_the_options_are_read() {
    let sandbox = Sandbox::empty();
    run(&sandbox, "git", &["init", "-q"]);
    let in_file = sandbox.root().join("more");
    std::fs::write(&in_file, "[color \"status\"]\n\tadded = zz\n").unwrap();
    let include = format!("include.path={}", in_file.to_str().unwrap());
    for setting in [
        &include,
        "color.status.updated=zz",
        "color.status.updated",
        "status.color.nobranch=red green blue",
        "color.ui=zz",
        "column.status=row,zz",
        "diff.renameLimit=zz",
        "diff.renames=zz",
        "status.short=zz",
        "status.showUntrackedFiles=zz",
    ] {
        let arguments = ["-c", setting, "status", "--bogus"];
        let [ours, theirs] = [VIGIL, "git"].map(|program| run(&sandbox, program, &arguments));
        assert_eq!(ours, theirs, "{setting}");
        assert_eq!(ours.status.code(), Some(128));
    }
    // Of two bad settings, the first is reported.
    for settings in [
        ["core.fileMode=zz", "color.ui=zz"],
        ["color.ui=zz", "core.fileMode=zz"],
    ] {
        let [first, second] = settings;
        let arguments = ["-c", first, "-c", second, "status"];
        let [ours, theirs] = [VIGIL, "git"].map(|program| run(&sandbox, program, &arguments));
        assert_eq!(ours, theirs, "{settings:?}");
    }
}

#[test]
fn a_removed_current_directory_is_an_error_only_where_it_is_needed() {
    let sandbox = Sandbox::empty();
    let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\"";
    let in_gone = |arguments: &[&str]| {
        let all = [&["-c", script, VIGIL], arguments].concat();
        run(&sandbox, "sh", &all)
    };
    let output = in_gone(&["status"]);
    assert_eq!(output.status.code(), Some(128));
    assert_eq!(
        text(&output.stderr),
        "fatal: Unable to read current working directory: No such file or directory\n"
    );
    assert_eq!(in_gone(&["version"]).status.code(), Some(0));
    let elsewhere = sandbox.root().to_str().unwrap();
    let output = in_gone(&["-C", elsewhere, "status"]);
    assert!(text(&output.stderr).starts_with("fatal: not a git repository"));
}

#[test]
fn a_reader_that_has_gone_ends_the_command_quietly() {
    let sandbox = Sandbox::empty();
    let mut command = command(&sandbox, VIGIL, &["help"]);
    command.stdout(pipe_without_reader().unwrap());
    let output = command.stderr(Stdio::piped()).output().unwrap();
    // Like git, it is killed by the signal instead of exiting with a code.
    assert_eq!(
        output.status.signal(),
        Some(rustix::process::Signal::PIPE.as_raw())
    );
    assert!(output.stderr.is_empty());
}

#[test]
fn a_reader_of_complaints_that_has_gone_ends_the_command_like_git() {
    let sandbox = Sandbox::empty();
    for arguments in [
        &["status", "--no-such-option"][..],
        &["-C", "/nowhere", "status"],
        &["cat-file", "-t", "HEAD"],
    ] {
        let signals = [VIGIL, "git"].map(|program| {
            let mut command = command(&sandbox, program, arguments);
            command.stderr(pipe_without_reader().unwrap());
            let output = command.stdout(Stdio::piped()).output();
            output.unwrap().status.signal()
        });
        assert_eq!(signals[0], signals[1], "{arguments:?}");
    }
}

#[test]
fn a_reader_with_a_non_blocking_pipe_gets_everything() {
    let sandbox = Sandbox::initialised(&[]);
    let top = sandbox.top();
    for number in 0..3000 {
        std::fs::write(top.join(format!("untracked-{number:0>100}")), "").unwrap();
    }
    let contents = "x".repeat(1 << 20);
    let blob = run_with_input(
        sandbox.command("git", "", ["hash-object", "-w", "--stdin"]),
        contents.as_bytes(),
    );
    let blob = text(&blob.stdout);
    for arguments in [
        &["status", "--porcelain"][..],
        &["cat-file", "blob", blob.trim_end()],
        &["status", "--format=json"],
    ] {
        let command = || {
            let mut command = sandbox.command(VIGIL, "", arguments);
            command.stdin(Stdio::null());
            command
        };
        let expected = command().output().unwrap().stdout;
        let (reader, writer) = pipe().unwrap();
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let mut running = command().stdout(writer).spawn().unwrap();
        let mut received = Vec::new();
        // Slower than any writer.
        let mut part = [0; 100];
        loop {
            match rustix::io::read(&reader, &mut part).unwrap() {
                0 => break,
                len => received.extend_from_slice(part.split_at(len).0),
            }
        }
        assert!(running.wait().unwrap().success());
        assert!(received.len() > 1 << 16, "more than a pipe holds");
        assert!(received == expected, "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_reported() {
    let sandbox = Sandbox::empty();
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut command = command(&sandbox, VIGIL, &["help"]);
    let output = command.stdout(full.unwrap()).stderr(Stdio::piped());
    let output = output.output().unwrap();
    assert_eq!(output.status.code(), Some(128));
    assert_eq!(
        text(&output.stderr),
        "fatal: write failure on standard output: No space left on device\n"
    );
}

#[test]
fn the_name_gitstatusd_chooses_that_command() {
    let sandbox = Sandbox::empty();
    let mut named = command(&sandbox, VIGIL, &["--version"]);
    let by_name = named.arg0("/opt/gitstatusd").output().unwrap();
    let by_command = run(&sandbox, VIGIL, &["gitstatusd", "--version"]);
    assert_eq!(by_name, by_command);
    assert!(!text(&by_name.stdout).starts_with("vigil version"));
}
