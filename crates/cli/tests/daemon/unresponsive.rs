//! A daemon that is killed or stopped while it is being asked: the answers arrive and are the same.

use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use super::sandbox::{RunningDaemon, Sandbox, VIGIL};
use super::shell::Shell;

impl Sandbox {
    pub(crate) fn impatient_shell(&self) -> Shell {
        Shell::start(self.impatient_command("", &["gitstatusd"]))
    }

    fn impatient_status(&self) -> String {
        let mut command = self.impatient_command("work", &["status", "-sb"]);
        let output = command.output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stderr, b"");
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn a_halted_daemon_costs_no_answer() {
    let sandbox = Sandbox::with_repository();
    let serving = sandbox.serve();
    let mut shell = sandbox.impatient_shell();
    shell.ask(&sandbox, "work");
    serving.signal(Signal::STOP);
    serving.wait_until_halted();
    sandbox.write("work/new", "");
    assert_eq!(sandbox.impatient_status(), "## main\n?? new\n");
    let answer = shell.ask(&sandbox, "work");
    assert_eq!(answer, sandbox.shell_without_daemon().ask(&sandbox, "work"));
    // Fill the socket's backlog with clients that connect meanwhile.
    let queue: Vec<_> = std::iter::repeat_with(|| {
        std::os::unix::net::UnixStream::connect(sandbox.runtime_folder().join("daemon.sock"))
    })
    .take(100)
    .collect();
    assert_eq!(sandbox.impatient_status(), "## main\n?? new\n");
    drop(queue);
    serving.signal(Signal::CONT);
    sandbox.write("work/newer", "");
    assert_eq!(sandbox.impatient_status(), "## main\n?? new\n?? newer\n");
}

#[test]
fn no_audit_waits_for_a_halted_daemon() {
    let sandbox = Sandbox::with_repository();
    let serving = sandbox.serve();
    serving.signal(Signal::STOP);
    serving.wait_until_halted();
    let output = sandbox.vigil("work", &["daemon", "audit"]);
    serving.signal(Signal::CONT);
    assert_eq!(output.status.code(), Some(1));
    let complaint = format!(
        "error: the daemon (pid {}) does not answer\n",
        serving.pid()
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), complaint);
}

#[test]
fn a_daemon_that_is_killed_while_it_is_asked_costs_no_answer() {
    let sandbox = Sandbox::with_repository();
    let mut serving = sandbox.serve();
    let mut shell = sandbox.shell();
    shell.ask(&sandbox, "work");
    serving.signal(Signal::STOP);
    serving.wait_until_halted();
    sandbox.write("work/new", "");
    // The client waits for the daemon, as it would for long, and then notices its end.
    let asking = sandbox.command(VIGIL, "work", &["status", "-s"]);
    let asking = std::thread::spawn(move || { asking }.output().unwrap());
    serving.signal(Signal::KILL);
    serving.wait();
    let output = asking.join().unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b"?? new\n"[..])
    );
    let answer = shell.ask(&sandbox, "work");
    assert_eq!(answer, sandbox.shell_without_daemon().ask(&sandbox, "work"));
    // The daemon that the shell started in its place is nobody's child here.
    shell.end();
    while !sandbox.vigil_daemon(&["stop"]).1.starts_with("stopped") {}
}

#[test]
fn a_daemon_that_was_slow_with_its_first_scan_is_asked_again() {
    let sandbox = Sandbox::with_repository();
    let note = sandbox.runtime_folder().join("daemon.slow");
    // A client that finds this note sees from its time that it may ask.
    let note_slow_long_ago = || {
        let file = std::fs::File::create(&note).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    };
    let is_forgotten_after_status = || {
        note_slow_long_ago();
        let output = sandbox.vigil("work", &["status", "-sb"]);
        assert_eq!(output.stdout, b"## main\n");
        !note.exists()
    };
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    command.env("VIGIL_DAEMON_PATIENCE_MS", "0");
    let hasty = RunningDaemon::start(command);
    assert!(is_forgotten_after_status());
    // A daemon that is slow every time is left alone.
    assert!(!is_forgotten_after_status());
    drop(hasty);
    let _patient = sandbox.serve();
    assert!(!is_forgotten_after_status());
}

#[test]
fn git_waits_once_for_a_daemon_that_is_too_slow() {
    let sandbox = Sandbox::with_repository();
    let serving = sandbox.serve();
    let complaint = || {
        let mut command = sandbox.impatient_command("work", &["fsmonitor", "query", "x"]);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    serving.signal(Signal::STOP);
    serving.wait_until_halted();
    let complaints = [complaint(), complaint()];
    serving.signal(Signal::CONT);
    assert_eq!(
        complaints,
        [
            format!(
                "error: the daemon (pid {}) does not answer\n",
                serving.pid()
            ),
            "error: the daemon was too slow just now, and is left alone for a while\n".to_owned(),
        ]
    );
}

#[test]
fn a_daemon_that_was_too_slow_is_not_asked_for_a_while() {
    let sandbox = Sandbox::with_repository();
    let serving = sandbox.serve();
    let note = sandbox.runtime_folder().join("daemon.slow");
    let is_asked = || {
        let (answered, declined) = sandbox.question_counts();
        let output = sandbox.vigil("work", &["status", "-sb"]);
        assert_eq!(output.stdout, b"## main\n");
        let after = sandbox.question_counts();
        assert_eq!(after.1, declined);
        after.0 > answered
    };
    let late = || {
        serving.signal(Signal::STOP);
        serving.wait_until_halted();
        assert_eq!(sandbox.impatient_status(), "## main\n");
        serving.signal(Signal::CONT);
        // The abandoned question is still answered, and counted.
        while sandbox.daemon_status()["connections"] != 1 {}
    };
    assert!(is_asked());
    late();
    assert!(!is_asked());
    let set = |time: SystemTime| {
        let file = std::fs::File::options().write(true).open(&note).unwrap();
        file.set_modified(time).unwrap();
    };
    let hour = Duration::from_secs(3600);
    for time in [SystemTime::now() - hour, SystemTime::now() + hour] {
        set(time);
        assert!(is_asked());
    }
    // The note is made again, but not in somebody else's file.
    set(SystemTime::now() - hour);
    late();
    assert!(!is_asked());
    std::fs::remove_file(&note).unwrap();
    sandbox.write("other", "");
    let other = sandbox.path("other");
    std::os::unix::fs::symlink(&other, &note).unwrap();
    let before = other.metadata().unwrap().modified().unwrap();
    std::fs::File::options()
        .write(true)
        .open(&other)
        .unwrap()
        .set_modified(before - hour)
        .unwrap();
    late();
    let after = other.metadata().unwrap().modified().unwrap();
    assert_eq!(after, before - hour);
    // Nothing remains of the note.
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
    assert!(sandbox.is_runtime_folder_empty());
}
