//! How a daemon begins and ends.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use rustix::io::FdFlags;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::Signal;

use std::time::{Duration, Instant};

use super::sandbox::{Sandbox, Serving, VIGIL, pid_in, signal};

#[test]
fn it_is_started_shown_and_stopped_and_nothing_is_left() {
    let sandbox = Sandbox::new();
    let none = (Some(1), "error: no daemon is running\n".to_owned());
    assert_eq!(sandbox.daemon(&["status"]), none);
    assert_eq!(
        sandbox.daemon(&["stop"]),
        (Some(0), "no daemon is running\n".to_owned())
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
    let already = format!("a daemon is already running (pid {pid})\n");
    assert_eq!(sandbox.daemon(&["start"]), (Some(0), already));
    let (code, said) = sandbox.daemon(&["run"]);
    assert_eq!(
        (code, said),
        (
            Some(1),
            format!("error: a daemon is already running (pid {pid})\n")
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
    // The end of the stream arrives only if no other process holds the other end.
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
fn whom_nobody_asks_ends_though_a_shell_is_connected() {
    let sandbox = Sandbox::with_repository();
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    command.env("VIGIL_DAEMON_IDLE_S", "1");
    let mut serving = Serving::start(command);
    let mut shell = sandbox.shell();
    let first = shell.ask(&sandbox, "work");
    assert_eq!(shell.daemon_sockets().len(), 1);
    assert_eq!(serving.wait().code(), Some(0));
    assert!(sandbox.is_empty());
    let _serving = sandbox.serve();
    assert_eq!(shell.ask(&sandbox, "work"), first);
    assert_eq!(sandbox.counts(), (1, 0));
}

#[test]
fn who_can_be_found_no_more_ends_though_he_is_asked() {
    let ways: [&dyn Fn(&Sandbox); 4] = [
        &|sandbox| std::fs::remove_dir_all(sandbox.run()).unwrap(),
        &|sandbox| std::fs::remove_file(sandbox.run().join("daemon.lock")).unwrap(),
        &|sandbox| std::fs::remove_file(sandbox.run().join("daemon.sock")).unwrap(),
        &|sandbox| {
            std::fs::remove_file(sandbox.run().join("daemon.sock")).unwrap();
            std::fs::write(sandbox.run().join("daemon.sock"), "x").unwrap();
        },
    ];
    for (way, remove) in ways.iter().enumerate() {
        let sandbox = Sandbox::with_repository();
        let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
        // The daemon checks once a second, and would end if nobody asked for that long.
        command.env("VIGIL_DAEMON_IDLE_S", "1");
        let mut serving = Serving::start(command);
        let mut shell = sandbox.shell();
        let first = shell.ask(&sandbox, "work");
        remove(&sandbox);
        // This shell is already connected.
        while !serving.has_ended() {
            assert_eq!(shell.ask(&sandbox, "work"), first, "{way}");
        }
        assert_eq!(serving.wait().code(), Some(0));
        // The shell starts the next daemon, or has already.
        let mut fresh = sandbox.shell();
        assert_eq!(fresh.ask(&sandbox, "work"), first);
        while sandbox.daemon(&["status"]).0 != Some(0) {}
        for shell in [&mut shell, &mut fresh] {
            assert_eq!(shell.ask(&sandbox, "work"), first);
        }
        assert_eq!(sandbox.daemon(&["stop"]).0, Some(0));
        assert!(sandbox.is_empty());
    }
}

#[test]
fn whose_socket_or_lock_is_taken_away_makes_way_at_once() {
    for name in ["daemon.sock", "daemon.lock", ""] {
        let sandbox = Sandbox::with_repository();
        let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
        // The daemon's first check of its own would come long after this test.
        command.env("VIGIL_DAEMON_IDLE_S", "10000000");
        let mut serving = Serving::start(command);
        sandbox.write("run/other", "");
        sandbox.write("run/other", "more");
        assert_eq!(sandbox.daemon(&["status"]).0, Some(0));
        std::fs::rename(sandbox.run().join(name), sandbox.path("away")).unwrap();
        let (code, said) = sandbox.daemon(&["start"]);
        assert_eq!(code, Some(0), "{name}: {said}");
        assert!(said.starts_with("started (pid "), "{name}: {said}");
        assert_eq!(serving.wait().code(), Some(0));
        assert_eq!(sandbox.daemon(&["stop"]).0, Some(0));
    }
}

#[test]
fn whose_socket_is_taken_away_as_it_begins_makes_way_at_once() {
    let sandbox = Sandbox::new();
    for _ in 0..8 {
        let mut serving = sandbox.serve();
        std::fs::remove_file(sandbox.run().join("daemon.sock")).unwrap();
        let began_at = Instant::now();
        assert!(serving.wait().success());
        // The daemon also checks its socket once a minute.
        assert!(began_at.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn what_is_in_the_place_of_its_socket_is_left_alone() {
    let sandbox = Sandbox::new();
    let mut serving = sandbox.serve();
    let path = sandbox.run().join("daemon.sock");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "x").unwrap();
    serving.signal(Signal::TERM);
    assert_eq!(serving.wait().code(), Some(0));
    assert_eq!(std::fs::read(&path).unwrap(), b"x");
}

#[test]
fn however_often_it_is_started_and_killed_nothing_is_left() {
    let sandbox = Sandbox::with_repository();
    let cycles = std::env::var("VIGIL_TEST_CYCLES").ok();
    let cycles = cycles.and_then(|cycles| cycles.parse().ok()).unwrap_or(30);
    for cycle in 0..cycles {
        let (code, said) = sandbox.daemon(&["start"]);
        assert_eq!(code, Some(0), "{cycle}: {said}");
        let output = sandbox.vigil("work", &["status", "-sb"]);
        assert_eq!(output.stdout, b"## main\n");
        let which = [Signal::KILL, Signal::TERM, Signal::INT][cycle % 3];
        signal(pid_in(&said), which);
        while !sandbox.daemons().is_empty() {}
        // A killed daemon leaves files, which the next one takes over.
        let names = std::fs::read_dir(sandbox.run()).unwrap().count();
        assert_eq!(names, if cycle % 3 == 0 { 2 } else { 0 }, "{cycle}");
    }
    assert_eq!(sandbox.daemon(&["start"]).0, Some(0));
    assert_eq!(sandbox.daemon(&["stop"]).0, Some(0));
    assert!(sandbox.is_empty());
    assert!(sandbox.daemons().is_empty());
}

#[test]
fn many_shells_that_begin_at_once_have_one_daemon() {
    let sandbox = Sandbox::with_repository();
    let mut shells: Vec<_> = (0..20).map(|_| sandbox.shell()).collect();
    for shell in &mut shells {
        shell.send(&sandbox, "work");
    }
    let first = shells[0].receive();
    for shell in &mut shells[1..] {
        assert_eq!(shell.receive(), first);
    }
    while sandbox.daemon(&["status"]).0 != Some(0) || sandbox.daemons().len() > 1 {}
    // Each shell may have asked once before, on a connection that it keeps once that answer has arrived.
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let (answered, _) = sandbox.counts();
        for shell in &mut shells {
            assert_eq!(shell.ask(&sandbox, "work"), first);
        }
        let daemon = sandbox.described();
        assert!(daemon["questions"].as_u64().unwrap() >= answered + 20);
        if daemon["connections"] == 21 {
            break;
        }
        assert!(Instant::now() < deadline, "{daemon}");
    }
    assert_eq!(sandbox.daemon(&["stop"]).0, Some(0));
    assert!(sandbox.daemons().is_empty());
    assert!(sandbox.is_empty());
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
fn one_that_is_halted_is_stopped_though_as_many_wait_for_it_as_may() {
    let sandbox = Sandbox::new();
    let mut serving = sandbox.serve();
    serving.signal(Signal::STOP);
    serving.wait_until_halted();
    let address = SocketAddrUnix::new(sandbox.run().join("daemon.sock")).unwrap();
    let come = || {
        // Processes that other tests start meanwhile must not inherit it.
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        connect(&socket, &address).map(|()| socket)
    };
    let waiting: Vec<_> = std::iter::repeat_with(come).map_while(Result::ok).collect();
    assert!(waiting.len() > 1);
    let (code, said) = sandbox.daemon(&["stop"]);
    let text = format!("stopped (pid {})\n", serving.pid());
    assert_eq!((code, said), (Some(0), text));
    serving.wait();
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
    refused("is a link, or not a directory");
    std::fs::remove_file(sandbox.run()).unwrap();
    std::fs::write(sandbox.run(), "").unwrap();
    refused("is a link, or not a directory");
    std::fs::remove_file(sandbox.run()).unwrap();
    std::fs::create_dir(sandbox.run()).unwrap();
    let mode = |mode| std::fs::set_permissions(sandbox.run(), PermissionsExt::from_mode(mode));
    mode(0o770).unwrap();
    refused("has mode 770, and must have 700");
    mode(0o700).unwrap();
    // Only the superuser can change a folder's owner.
    if std::os::unix::fs::chown(sandbox.run(), Some(12345), None).is_ok() {
        refused("belongs to user 12345");
    }
}

#[test]
fn one_that_was_started_is_asked_what_was_asked_before() {
    let sandbox = Sandbox::with_repository();
    let mut shell = sandbox.shell();
    let answer = shell.ask(&sandbox, "work");
    let deadline = Instant::now() + Duration::from_secs(60);
    // Wait until the daemon is there and has answered, though nobody asked again.
    loop {
        let (code, text) = sandbox.daemon(&["status", "--json"]);
        if code == Some(0) && text.contains("\"questions\":1,") {
            break;
        }
        assert!(Instant::now() < deadline, "{text}");
    }
    assert_eq!(shell.ask(&sandbox, "work"), answer);
    assert_eq!(sandbox.counts(), (2, 0));
    shell.end();
    assert_eq!(sandbox.daemon(&["stop"]).0, Some(0));
}
