//! System calls that fail though nothing on the disk forbids them: it is faulty, or there is too little memory. An answer is right,
//! or says what could not be read; and the next one is right.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use vigil_testkit::daemon::Daemon;
use vigil_testkit::sandbox::{Sandbox, run_with_input, skip_test};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A system call that fails.
#[derive(Clone, Copy, Debug)]
struct Fault<'f> {
    /// The name of the call, its error, and which of the calls fail (strace(1), "inject").
    call: &'f str,
    /// Only calls on this path fail; it begins at the top of the repository. If it is empty, calls on any path fail.
    path: &'f str,
}

/// A repository with two branches that are packed, as all objects are, and a file whose line ends are converted.
fn repository() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set_variable("GIT_OPTIONAL_LOCKS", "0");
    sandbox.set_variable("VIGIL_NO_DAEMON", "1");
    sandbox.write(".gitattributes", "*.txt text\n");
    sandbox.write("dir/file.txt", "one\r\n");
    sandbox.git(["checkout", "-q", "-B", "main"]);
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "one"]);
    sandbox.git(["branch", "other"]);
    sandbox.git(["pack-refs", "--all"]);
    sandbox.git(["repack", "-q", "-a", "-d"]);
    // So its contents are compared.
    sandbox.write("dir/file.txt", "one\r\n");
    sandbox
}

/// Returns the command that runs Vigil while a system call fails; `None` if that is not possible here.
fn with_fault(sandbox: &Sandbox, fault: Fault<'_>, arguments: &[&str]) -> Option<Command> {
    let mut tried = Command::new("strace");
    let tried = tried.args(["-f", "-o", "/dev/null", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        skip_test("system calls that fail", "strace cannot be used");
        return None;
    }
    let path = sandbox.top().join(fault.path);
    let name = fault.call.split(':').next().unwrap_or_default();
    let (trace, inject) = (format!("trace={name}"), format!("inject={}", fault.call));
    let only = match fault.path {
        "" => vec![],
        _ => vec!["-P", path.to_str().unwrap()],
    };
    let before = ["-f", "-o", "/dev/null", "-e", &trace, "-e", &inject];
    let all = [&before[..], &only, &[VIGIL], arguments].concat();
    Some(sandbox.command("strace", "", all))
}

/// Runs Vigil while a system call fails.
fn run(sandbox: &Sandbox, fault: Fault<'_>, arguments: &[&str]) -> Option<Output> {
    Some(with_fault(sandbox, fault, arguments)?.output().unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The path, from the top, of the only file with this extension among the packs.
fn pack_file(sandbox: &Sandbox, extension: &str) -> String {
    let path = sandbox.pack_file(extension);
    let path = path.strip_prefix(sandbox.top()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn objects_that_the_system_fails_to_read_are_not_silently_missing() {
    let sandbox = repository();
    let (index, pack) = (pack_file(&sandbox, "idx"), pack_file(&sandbox, "pack"));
    let (folder, loose) = (".git/objects/pack", ".git/objects/f7");
    let rows = [
        (
            "openat:error=EIO",
            loose,
            format!("error: unable to open {loose}: Input/output error"),
        ),
        (
            "openat:error=EMFILE",
            &index,
            format!("error: index file {index} cannot be read: Too many open files"),
        ),
        (
            "openat:error=EIO",
            &index,
            format!("error: index file {index} cannot be read: Input/output error"),
        ),
        (
            "mmap:error=ENOMEM",
            &index,
            format!("error: index file {index} cannot be read: Cannot allocate memory"),
        ),
        (
            "openat:error=EMFILE",
            &pack,
            format!("error: packfile {pack} cannot be read: Too many open files"),
        ),
        (
            "mmap:error=ENOMEM",
            &pack,
            format!("fatal: packfile {pack} cannot be mapped: Cannot allocate memory"),
        ),
        (
            "statx:error=EIO",
            &pack,
            format!("error: unable to look at the pack of {index}: Input/output error"),
        ),
        (
            "getdents64:error=EIO",
            folder,
            format!("error: unable to read object pack directory: {folder}: Input/output error"),
        ),
    ];
    for (call, path, told) in rows {
        let fault = Fault { call, path };
        for question in ["--batch-all-objects", "--buffer"] {
            if question == "--buffer" && path == loose {
                continue;
            }
            let arguments = ["cat-file", "--batch-check", question];
            let Some(command) = with_fault(&sandbox, fault, &arguments) else {
                return;
            };
            let id = sandbox.git(["rev-parse", "HEAD"]);
            let input = format!("{id}\n");
            let output = run_with_input(command, input.as_bytes());
            let stderr = text(&output.stderr);
            assert!(
                stderr.lines().any(|line| line == told),
                "{fault:?} {question}: {stderr}"
            );
            // A list of all objects must not look complete.
            if question == "--batch-all-objects" && path != pack {
                assert_eq!(output.status.code(), Some(128), "{fault:?}: {stderr}");
                assert!(
                    stderr.ends_with("fatal: not all objects can be listed\n"),
                    "{stderr}"
                );
                assert!(output.stdout.is_empty());
            }
        }
    }
}

#[test]
fn with_too_many_open_files_a_branch_is_right_or_named() {
    let sandbox = repository();
    let arguments = ["status", "--porcelain=v2", "--branch"];
    let expected = sandbox.git_bytes(arguments);
    let fault = Fault {
        call: "openat:error=EMFILE",
        path: ".git/refs/heads/main",
    };
    // While it is packed, nothing needs to be opened there.
    let Some(packed) = run(&sandbox, fault, &arguments) else {
        return;
    };
    assert_eq!(
        text(&packed.stdout),
        text(&expected),
        "{}",
        text(&packed.stderr)
    );
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "two"]);
    let loose = run(&sandbox, fault, &arguments).unwrap();
    assert!(
        text(&loose.stderr).contains("refs/heads/main: Too many open files"),
        "{loose:?}"
    );
    assert_eq!(loose.status.code(), Some(128));
}

#[test]
fn attributes_that_the_system_fails_to_read_are_those_of_the_index() {
    let sandbox = repository();
    let arguments = ["status", "--porcelain"];
    assert_eq!(text(&sandbox.git_bytes(arguments)), "");
    let fault = Fault {
        call: "read:error=EIO",
        path: ".gitattributes",
    };
    let Some(output) = run(&sandbox, fault, &arguments) else {
        return;
    };
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "warning: unable to access '.gitattributes': Input/output error\n"
    );
}

#[test]
fn what_failed_once_is_read_by_the_next_question() {
    const QUESTIONS: usize = 2;
    let sandbox = repository();
    let top = sandbox.top();
    let question = format!("id\x1f{}\x1e", top.display());
    let ask = |command: Command| {
        let input = question.repeat(QUESTIONS);
        let output = run_with_input(command, input.as_bytes());
        let answers = text(&output.stdout);
        let answers: Vec<String> = answers
            .split_terminator('\x1e')
            .map(str::to_owned)
            .collect();
        assert_eq!(answers.len(), QUESTIONS, "{output:?}");
        answers.last().cloned()
    };
    let arguments = ["gitstatusd", "--max-num-unstaged=9"];
    let expected = ask(sandbox.command(VIGIL, "", arguments));
    let (index, pack) = (pack_file(&sandbox, "idx"), pack_file(&sandbox, "pack"));
    let rows: [(&str, &str); 6] = [
        ("getdents64:error=EIO:when=1", ".git/objects/pack"),
        ("statx:error=EIO:when=1", &pack),
        ("openat:error=EIO:when=1", &index),
        ("mmap:error=ENOMEM:when=1", &index),
        ("read:error=EIO:when=1", ".gitattributes"),
        ("openat:error=ENFILE:when=1", ".git/refs/heads/main"),
    ];
    for (call, path) in rows {
        sandbox.settle();
        let fault = Fault { call, path };
        let Some(command) = with_fault(&sandbox, fault, &arguments) else {
            return;
        };
        assert_eq!(ask(command), expected, "{fault:?}");
    }
}

#[test]
fn a_submodule_is_found_without_system_calls_that_old_container_runtimes_refuse() {
    let sandbox = repository();
    let inner = sandbox.path_from_root("inner");
    let inner = inner.to_str().unwrap();
    sandbox.git(["clone", "-q", "--bare", ".", inner]);
    let allow = "protocol.file.allow=always";
    sandbox.git(["-c", allow, "submodule", "--quiet", "add", inner, "sub"]);
    sandbox.write("sub/new", "");
    let arguments = ["status", "--porcelain"];
    let expected = sandbox.git_bytes(arguments);
    for call in ["faccessat2", "statx", "openat2", "clone3", "close_range"] {
        for error in ["EPERM", "ENOSYS"] {
            let call = &format!("{call}:error={error}");
            let Some(output) = run(&sandbox, Fault { call, path: "" }, &arguments) else {
                return;
            };
            let stderr = text(&output.stderr);
            assert_eq!(text(&output.stdout), text(&expected), "{call}: {stderr}");
        }
    }
}

#[test]
fn a_daemon_is_stopped_where_the_kernel_has_no_descriptors_of_processes() {
    let mut sandbox = repository();
    for error in ["EPERM", "ENOSYS"] {
        let daemon = Daemon::start(Path::new(VIGIL), sandbox.root()).unwrap();
        let folder = daemon.runtime_folder();
        sandbox.set_variable("VIGIL_RUNTIME_DIR", folder.to_str().unwrap());
        let pid = daemon.status().unwrap().pid;
        let call = &format!("pidfd_open:error={error}");
        let Some(output) = run(&sandbox, Fault { call, path: "" }, &["daemon", "stop"]) else {
            return;
        };
        let stopped = format!("stopped (pid {pid})\n");
        assert_eq!(text(&output.stdout), stopped, "{call}: {output:?}");
    }
}

#[test]
fn git_is_served_on_file_systems_that_cannot_rename_without_replacing() {
    let mut sandbox = repository();
    let folder = sandbox.root().join("run");
    sandbox.set_variable("VIGIL_RUNTIME_DIR", folder.to_str().unwrap());
    sandbox.set_variable("VIGIL_NO_DAEMON", "0");
    let fault = Fault {
        call: "renameat2:error=EINVAL",
        path: "",
    };
    if with_fault(&sandbox, fault, &[]).is_none() {
        return;
    }
    // The tracer goes on with the daemon that is started, as a process of which nobody waits for the end.
    let inject = format!("inject={}", fault.call);
    let arguments = ["-D", "-f", "-o", "/dev/null", "-e", "trace=renameat2", "-e"];
    let arguments = [&arguments[..], &[&inject, VIGIL, "fsmonitor", "start"]].concat();
    let mut command = sandbox.command("strace", "", arguments);
    let status = command.stdout(Stdio::null()).status();
    let is_there = sandbox.top().join(".git/fsmonitor--daemon.ipc").exists();
    let stopped = sandbox.command(VIGIL, "", ["daemon", "stop"]).output();
    assert!(stopped.unwrap().status.success());
    assert!(status.unwrap().success() && is_there);
}

#[test]
fn a_rebase_whose_commands_the_system_fails_to_read_is_not_described() {
    let sandbox = repository();
    let id = sandbox.git(["rev-parse", "HEAD"]);
    let command = format!("pick {id} one\n");
    for (name, contents) in [
        ("interactive", ""),
        ("head-name", "refs/heads/main\n"),
        ("onto", &id),
        ("done", &command),
        ("git-rebase-todo", &command),
    ] {
        sandbox.write(format!(".git/rebase-merge/{name}"), contents);
    }
    for path in [
        ".git/rebase-merge/done",
        ".git/rebase-merge/git-rebase-todo",
    ] {
        let fault = Fault {
            call: "openat:error=EIO",
            path,
        };
        let Some(output) = run(&sandbox, fault, &["status"]) else {
            return;
        };
        let told = format!("fatal: Could not open file {path} for reading: Input/output error\n");
        assert_eq!(text(&output.stderr), told);
        assert_eq!(output.status.code(), Some(128));
    }
}

#[test]
fn without_further_threads_all_objects_are_printed() {
    let sandbox = repository();
    for arguments in [
        ["cat-file", "--batch-all-objects", "--batch"],
        ["cat-file", "--batch-all-objects", "--batch-check"],
    ] {
        let expected = sandbox.git_bytes(arguments);
        for call in ["clone3:error=EAGAIN", "clone3:error=EAGAIN:when=2+"] {
            let Some(output) = run(&sandbox, Fault { call, path: "" }, &arguments) else {
                return;
            };
            assert_eq!(text(&output.stdout), text(&expected), "{call}");
            assert_eq!(text(&output.stderr), "");
        }
    }
}

#[test]
fn without_further_threads_all_references_are_read() {
    let sandbox = repository();
    let commit = text(&sandbox.git_bytes(["rev-parse", "HEAD"]));
    // So many that they are shared out among threads.
    for number in 0..1200 {
        sandbox.write(format!(".git/refs/tags/v{number}"), &commit);
    }
    let arguments = ["describe", "--all"];
    let expected = sandbox.git_bytes(arguments);
    let fault = Fault {
        call: "clone3:error=EAGAIN",
        path: "",
    };
    if let Some(output) = run(&sandbox, fault, &arguments) {
        assert_eq!(text(&output.stderr), "");
        assert_eq!(text(&output.stdout), text(&expected));
    }
}

#[test]
fn an_interrupted_read_of_a_branch_is_tried_again() {
    let sandbox = repository();
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "two"]);
    let arguments = ["status", "--porcelain=v2", "--branch"];
    let fault = Fault {
        call: "read:error=EINTR:when=1",
        path: ".git/refs/heads/main",
    };
    if let Some(output) = run(&sandbox, fault, &arguments) {
        let expected = sandbox.git_bytes(arguments);
        assert_eq!(text(&output.stdout), text(&expected));
    }
}

#[test]
fn a_daemon_that_can_open_no_more_files_leaves_the_references_to_the_client() {
    let mut sandbox = repository();
    sandbox.write("dir/file.txt", "two\n");
    sandbox.git(["stash"]);
    let folder = tempfile::tempdir().unwrap();
    let runtime = folder.path().join("runtime");
    sandbox.set_variable("VIGIL_RUNTIME_DIR", runtime.to_str().unwrap());
    sandbox.set_variable("VIGIL_NO_DAEMON", "0");
    let arguments = ["status", "--porcelain=v2", "--branch", "--show-stash"];
    let expected = text(&sandbox.git_bytes(arguments));
    for path in [".git/logs/refs/stash", ".git/HEAD", ".git/packed-refs"] {
        let call = "openat:error=EMFILE";
        let Some(mut daemon) = with_fault(&sandbox, Fault { call, path }, &["daemon", "run"])
        else {
            return;
        };
        let mut daemon = daemon.stdout(Stdio::null()).spawn().unwrap();
        let vigil = |arguments: &[&str]| sandbox.command(VIGIL, "", arguments).output().unwrap();
        while !vigil(&["daemon", "status"]).status.success() {
            assert!(daemon.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        for _ in 0..2 {
            let output = vigil(&arguments);
            assert_eq!(text(&output.stdout), expected, "{path}");
            assert_eq!(text(&output.stderr), "", "{path}");
        }
        assert!(vigil(&["daemon", "stop"]).status.success());
        assert!(daemon.wait().unwrap().success());
    }
}

#[test]
fn a_prompt_shows_the_directory_without_a_look_at_the_home_folder() {
    // A home on a disk that hangs would otherwise hold up every prompt.
    let mut sandbox = Sandbox::new();
    sandbox.set_variable("VIGIL_NO_DAEMON", "0");
    let configuration = sandbox.home().join(".gitconfig");
    assert!(configuration.exists());
    let path = configuration.to_str().unwrap();
    // The first only asks whether the program answers.
    for location in ["", ":"] {
        let ask = format!("--ask={location}");
        let arguments = ["gitstatusd", "--prompt-for=fish", &ask, "--here=/some/dir"];
        for call in ["open:signal=KILL", "openat:signal=KILL"] {
            let Some(output) = run(&sandbox, Fault { call, path }, &arguments) else {
                return;
            };
            assert_eq!(output.status.code(), Some(0), "{call} {ask}");
            let shows_directory = text(&output.stdout).contains("/some/dir");
            assert_eq!(shows_directory, location == ":", "{call} {ask}");
        }
    }
}

#[test]
fn a_process_for_prompts_is_ready_without_a_look_at_the_home_folder() {
    let mut sandbox = Sandbox::new();
    sandbox.set_variable("VIGIL_NO_DAEMON", "0");
    let configuration = sandbox.home().join(".gitconfig");
    let path = configuration.to_str().unwrap();
    for call in ["open:signal=KILL", "openat:signal=KILL"] {
        let fault = Fault { call, path };
        let Some(command) = with_fault(&sandbox, fault, &["gitstatusd"]) else {
            return;
        };
        // A shell waits for the answer to this when it starts.
        let output = run_with_input(command, b"}hello\x1f\x1e");
        assert_eq!(text(&output.stdout), "}hello\x1f0\x1e", "{call}");
        assert_eq!(output.status.code(), Some(0), "{call}");
    }
}

#[test]
fn a_wait_that_fails_is_not_the_end_of_the_shell() {
    let mut sandbox = repository();
    let run = sandbox.root().join("run");
    sandbox.set_variable("VIGIL_RUNTIME_DIR", run.to_str().unwrap());
    // This process is the shell.
    let shell = std::process::id();
    let of_shell = |option: &str| format!("--{option}-for={shell}.1");
    // Without signals, nobody waits until the answer is taken.
    let held = sandbox.command(VIGIL, "", ["gitstatusd", &of_shell("hold")]);
    assert!({ held }.status().unwrap().success());
    let fault = Fault {
        call: "ppoll:error=ENOMEM:when=1",
        path: "",
    };
    let (top, leave) = (sandbox.top().display().to_string(), of_shell("leave"));
    let ask = format!("--ask={top}");
    let arguments = ["gitstatusd", "--attached", &leave, &ask];
    let Some(output) = self::run(&sandbox, fault, &arguments) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let mut take = sandbox.command(VIGIL, "", ["gitstatusd", &of_shell("take")]);
    let taken = text(&take.output().unwrap().stdout);
    assert!(taken.starts_with(&format!("1\n{top}\n")), "{taken:?}");
}
