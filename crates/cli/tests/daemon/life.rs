//! How a daemon begins and ends.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use rustix::io::FdFlags;
use rustix::process::Signal;

use super::sandbox::{Sandbox, VIGIL, pid_in};

#[test]
fn it_is_started_shown_and_stopped_and_nothing_is_left() {
    let sandbox = Sandbox::new();
    let none = (Some(1), "error: no daemon runs\n".to_owned());
    assert_eq!(sandbox.daemon(&["status"]), none);
    assert_eq!(
        sandbox.daemon(&["stop"]),
        (Some(0), "no daemon runs\n".to_owned())
    );
    let (code, said) = sandbox.daemon(&["start"]);
    assert_eq!(
        (code, said.starts_with("started (pid ")),
        (Some(0), true),
        "{said}"
    );
    let pid = pid_in(&said);
    let (code, said) = sandbox.daemon(&["status"]);
    assert_eq!((code, pid_in(&said)), (Some(0), pid));
    assert!(said.starts_with(&format!("pid {pid}\nversion ")), "{said}");
    let already = format!("a daemon runs already (pid {pid})\n");
    assert_eq!(sandbox.daemon(&["start"]), (Some(0), already));
    let (code, said) = sandbox.daemon(&["run"]);
    assert_eq!(
        (code, said),
        (
            Some(1),
            format!("error: a daemon runs already (pid {pid})\n")
        )
    );
    let (code, said) = sandbox.daemon(&["restart"]);
    assert_eq!(code, Some(0), "{said}");
    let second = pid_in(&said);
    assert_ne!(pid, second);
    assert_eq!(
        sandbox.daemon(&["stop"]),
        (Some(0), format!("stopped (pid {second})\n"))
    );
    assert_eq!(sandbox.daemon(&["status"]), none);
    assert!(sandbox.is_empty());
    let mode = sandbox.run().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
}

#[test]
fn a_wrong_command_line_ends_with_129() {
    let sandbox = Sandbox::new();
    for arguments in [
        &[][..],
        &["nonsense"],
        &["--nonsense"],
        &["status", "--nonsense"],
        &["status", "more"],
        &["run", "more"],
        &["start", "more"],
        &["stop", "-x"],
    ] {
        let (code, said) = sandbox.daemon(arguments);
        assert_eq!(code, Some(129), "{arguments:?}: {said}");
        assert!(said.contains("usage: vigil daemon run\n"), "{said}");
    }
    assert_eq!(sandbox.daemon(&["-h"]).0, Some(0));
}

#[test]
fn of_many_that_are_started_at_once_one_serves() {
    let sandbox = Sandbox::new();
    let start = || {
        let mut command = sandbox.command(VIGIL, "", &["daemon", "start"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let all: Vec<_> = std::iter::repeat_with(start).take(20).collect();
    let mut pids = Vec::new();
    for child in all {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        pids.push(pid_in(&String::from_utf8(output.stdout).unwrap()));
    }
    let (code, said) = sandbox.daemon(&["status"]);
    assert_eq!(code, Some(0));
    assert_eq!(pids, [pid_in(&said); 20]);
    assert_eq!(sandbox.daemon(&["stop"]).0, Some(0));
    assert!(sandbox.is_empty());
}

#[test]
fn it_leaves_the_session_the_folder_and_the_descriptors_of_whoever_starts_it() {
    let sandbox = Sandbox::new();
    let (mut reader, writer) = std::io::pipe().unwrap();
    rustix::io::fcntl_setfd(writer.as_fd(), FdFlags::empty()).unwrap();
    let (code, said) = sandbox.daemon(&["start"]);
    assert_eq!(code, Some(0), "{said}");
    drop(writer);
    // The end comes only if nobody else has the other end.
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    let pid = pid_in(&said);
    let of = |name: &str| Path::new("/proc").join(pid.to_string()).join(name);
    assert_eq!(std::fs::read_link(of("cwd")).unwrap(), Path::new("/"));
    for fd in 0..3 {
        let open = std::fs::read_link(of(&format!("fd/{fd}"))).unwrap();
        assert_eq!(open, Path::new("/dev/null"), "{fd}");
    }
    let stat = std::fs::read_to_string(of("stat")).unwrap();
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
    assert_eq!(session, pid.to_string());
    assert_eq!(sandbox.daemon(&["stop"]).0, Some(0));
}

#[test]
fn a_signal_ends_it_and_nothing_is_left() {
    for which in [Signal::TERM, Signal::INT, Signal::HUP] {
        let sandbox = Sandbox::new();
        let mut serving = sandbox.serve();
        serving.signal(which);
        assert_eq!(serving.wait().code(), Some(0), "{which:?}");
        assert!(sandbox.is_empty());
    }
}

#[test]
fn what_a_killed_one_left_is_no_obstacle() {
    let sandbox = Sandbox::with_repository();
    let mut serving = sandbox.serve();
    serving.signal(Signal::KILL);
    serving.wait();
    assert!(!sandbox.is_empty());
    assert_eq!(sandbox.daemon(&["status"]).0, Some(1));
    assert!(sandbox.vigil("work", &["status"]).status.success());
    let serving = sandbox.serve();
    let (code, said) = sandbox.daemon(&["status"]);
    assert_eq!((code, pid_in(&said)), (Some(0), serving.pid()));
}

#[test]
fn whom_nobody_asks_ends() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    command.env("VIGIL_DAEMON_IDLE_S", "0");
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(sandbox.is_empty());
}

#[test]
fn whose_folder_is_gone_ends() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    // Each second it looks around.
    command.env("VIGIL_DAEMON_IDLE_S", "1");
    let mut serving = super::sandbox::Serving::start(command);
    std::fs::remove_dir_all(sandbox.run()).unwrap();
    assert_eq!(serving.wait().code(), Some(0));
}

#[test]
fn one_that_is_halted_is_stopped_nevertheless() {
    let sandbox = Sandbox::new();
    let mut serving = sandbox.serve();
    serving.signal(Signal::STOP);
    serving.wait_until_halted();
    let (code, said) = sandbox.daemon(&["status"]);
    let text = format!(
        "error: the daemon (pid {}) does not answer\n",
        serving.pid()
    );
    assert_eq!((code, said), (Some(1), text));
    let stopping = sandbox.command(VIGIL, "", &["daemon", "stop"]).spawn();
    serving.wait();
    assert!(stopping.unwrap().wait().unwrap().success());
    assert_eq!(sandbox.daemon(&["status"]).0, Some(1));
}

#[test]
fn a_folder_that_is_not_the_users_alone_is_refused() {
    let sandbox = Sandbox::with_repository();
    let refused = |text: &str| {
        for command in ["start", "run", "status"] {
            let (code, said) = sandbox.daemon(&[command]);
            assert_eq!(code, Some(1), "{said}");
            assert!(said.contains(text), "{command}: {said}");
        }
        let output = sandbox.vigil("work", &["status", "-s"]);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(output.stderr, b"");
    };
    std::os::unix::fs::symlink(sandbox.path("work"), sandbox.run()).unwrap();
    refused("is no directory of its own");
    std::fs::remove_file(sandbox.run()).unwrap();
    std::fs::write(sandbox.run(), "").unwrap();
    refused("is no directory of its own");
    std::fs::remove_file(sandbox.run()).unwrap();
    std::fs::create_dir(sandbox.run()).unwrap();
    let mode = |mode| std::fs::set_permissions(sandbox.run(), PermissionsExt::from_mode(mode));
    mode(0o770).unwrap();
    refused("has mode 770, and must have 700");
    mode(0o700).unwrap();
    // Only the superuser can give a folder away.
    if std::os::unix::fs::chown(sandbox.run(), Some(12345), None).is_ok() {
        refused("belongs to user 12345");
    }
}
