//! When the process ends, and what it drops.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::FdFlags;
use rustix::process::{Pid, Signal, kill_process};
use vigil_testkit::process::{copy_program, pipe_without_reader};
use vigil_testkit::sandbox::skip_test;

use super::daemon::{Gitstatusd, VIGIL, request};
use super::sandbox::Sandbox;

#[test]
fn gitstatusd_ends_with_its_input() {
    let (status, messages) = Sandbox::new().gitstatusd(&[]).end();
    assert_eq!(status.code(), Some(0));
    assert_eq!(messages, "");
}

#[test]
fn gitstatusd_ends_with_its_parent() {
    let sandbox = Sandbox::with_repository();
    let mut parent = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let option = format!("--parent-pid={}", parent.id());
    let mut daemon = sandbox.gitstatusd(&[&option]);
    assert!(daemon.ask(sandbox.top()).is_repository());
    drop(parent.stdin.take());
    parent.wait().unwrap();
    let (status, messages) = daemon.wait();
    assert_eq!(status.code(), Some(0));
    assert!(messages.contains("parent"), "{messages}");
}

#[test]
fn a_process_that_its_shell_may_not_open_is_not_left_in_the_background() {
    const NOBODY: u32 = 65534;
    let sandbox = Sandbox::with_repository();
    let mode = |name: &str, mode| {
        fs::set_permissions(sandbox.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("..", 0o755);
    mode("", 0o755);
    copy_program(Path::new(VIGIL), &sandbox.path("vigil")).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let known = format!("--parent-pid={}\0-s\x004711\0", std::process::id());
    for (program_mode, is_left) in [(0o755, true), (0o111, false)] {
        mode("vigil", program_mode);
        let mut command = sandbox.isolated(sandbox.path("vigil"), b"");
        command
            .arg("gitstatusd")
            .arg("--background")
            .args(known.trim_end_matches('\0').split('\0'))
            .current_dir("/");
        if is_root {
            // root could read every file.
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.success(), is_left, "{output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let left = || -> Vec<String> {
            let entries = fs::read_dir("/proc").unwrap().flatten();
            let lives = |entry: &fs::DirEntry| {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).contains(&known)
            };
            let names = entries.filter(lives).map(|entry| entry.file_name());
            names.filter_map(|name| name.into_string().ok()).collect()
        };
        // A process shows its command line a moment after it was started, and until a moment after it was killed.
        let ends_at = Instant::now() + Duration::from_secs(20);
        while left().join(" ") != printed.trim_end() {
            assert!(Instant::now() < ends_at, "{:?}, not {printed:?}", left());
            std::thread::yield_now();
        }
        for pid in left() {
            let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
        }
    }
}

/// Where /proc shows the processes of another pid name space, the number of the process is that of another one there. The shell
/// would write its requests to that one's input.
#[test]
fn a_process_that_another_one_hides_in_proc_is_not_left_in_the_background() {
    let sandbox = Sandbox::with_repository();
    let flags = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ];
    let run = |words: &[&str]| {
        let mut command = sandbox.isolated("unshare", b"");
        command.args(flags).args(words).output()
    };
    if !run(&["true"]).is_ok_and(|output| output.status.success()) {
        let name = "a_process_that_another_one_hides_in_proc_is_not_left_in_the_background";
        return skip_test(name, "this machine has no name spaces for this user");
    }
    let others = "for number in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done";
    let script =
        format!("{others}; unshare --pid --fork '{VIGIL}' gitstatusd --background; echo $?");
    let output = run(&["sh", "-c", &script]).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "{output:?}");
}

#[test]
fn gitstatusd_ends_when_its_lock_is_released() {
    let sandbox = Sandbox::with_repository();
    let path = sandbox.path("lock");
    let file = File::create(&path).unwrap();
    rustix::fs::fcntl_lock(&file, FlockOperation::LockExclusive).unwrap();
    rustix::io::fcntl_setfd(&file, FdFlags::empty()).unwrap();
    let fd = file.as_raw_fd().to_string();
    let mut daemon = sandbox.gitstatusd(&["-l", &fd]);
    // The shell removes the file. The lock belongs to the open file.
    fs::remove_file(path).unwrap();
    assert!(daemon.ask(sandbox.top()).is_repository());
    rustix::fs::fcntl_lock(file.as_fd(), FlockOperation::Unlock).unwrap();
    let (status, messages) = daemon.wait();
    assert_eq!(status.code(), Some(0));
    assert!(messages.contains("lock"), "{messages}");
}

#[test]
fn gitstatusd_ends_when_nobody_reads_its_answers() {
    let sandbox = Sandbox::with_repository();
    let mut command = sandbox.gitstatusd_command(&[]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(pipe_without_reader().unwrap())
        .spawn()
        .unwrap();
    let mut requests = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut requests, &request("1", &sandbox.top())).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(13));
}

#[test]
fn an_idle_repository_is_forgotten_and_found_again() {
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.gitstatusd(&["-r", "0"]);
    let first = daemon.ask(sandbox.top());
    daemon.wait_for_message("forgot");
    assert_eq!(daemon.ask(sandbox.top()), first);
    daemon.wait_for_message("forgot");
    assert!(daemon.end().0.success());
}

#[test]
fn vigil_is_gitstatusd_by_its_name_or_by_the_option_that_plugins_put_first() {
    let sandbox = Sandbox::with_repository();
    for (name, arguments) in [
        ("/opt/gitstatusd", &["-s", "1"][..]),
        ("gitstatusd", &[]),
        ("/opt/vigil", &["-G", "v1.5.5", "-s", "1"]),
        ("/opt/vigil", &["-Gv1.*"]),
    ] {
        let mut command = sandbox.isolated(VIGIL, b"");
        command.arg0(name).args(arguments);
        let mut daemon = Gitstatusd::start(command);
        assert!(
            daemon.ask(sandbox.top()).is_repository(),
            "{name} {arguments:?}"
        );
    }
    let mut command = Command::new(VIGIL);
    let output = command.args(["-G", "v0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(11));
}

#[test]
fn few_repositories_are_kept_and_none_that_is_gone() {
    let sandbox = Sandbox::with_repository();
    let copies = "for number in $(seq 100); do cp -R work copy$number; done";
    let mut copy = sandbox.isolated("sh", b"");
    copy.args(["-c", copies]);
    assert!(copy.status().unwrap().success());
    let mut daemon = sandbox.gitstatusd(&["-v", "INFO"]);
    let forgot = |path: &str| format!("forgot {}/.git", sandbox.path(path).display());
    for number in 1..=100 {
        assert!(
            daemon
                .ask(sandbox.path(format!("copy{number}")))
                .is_repository()
        );
    }
    // Those that were first asked about are dropped first.
    daemon.wait_for_message(&forgot("copy1"));
    daemon.wait_for_message(&forgot("copy36"));
    assert!(daemon.ask(sandbox.path("copy1")).is_repository());
    for number in 90..=99 {
        fs::remove_dir_all(sandbox.path(format!("copy{number}"))).unwrap();
    }
    // With each question, one of them is examined.
    for _ in 0..50 {
        assert!(daemon.ask(sandbox.path("copy100")).is_repository());
        assert!(daemon.ask(sandbox.path("copy89")).is_repository());
    }
    let (status, messages) = daemon.end();
    assert!(status.success());
    for number in 90..=99 {
        assert!(
            messages.contains(&forgot(&format!("copy{number}"))),
            "{number}: {messages}"
        );
    }
    for number in [1, 88, 89, 100] {
        let forgot = format!("{}\n", forgot(&format!("copy{number}")));
        assert!(!messages.contains(&forgot), "{number}: {messages}");
    }
}
