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

use vigil_testkit::sandbox::skip_test;

use super::sandbox::{RunningDaemon, Sandbox, TIME_LIMIT, VIGIL, pid_in, signal};

#[test]
fn a_daemon_is_started_shown_and_stopped_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let none = (Some(1), "error: no daemon is running\n".to_owned());
    assert_eq!(sandbox.vigil_daemon(&["status"]), none);
    assert_eq!(
        sandbox.vigil_daemon(&["stop"]),
        (Some(0), "no daemon is running\n".to_owned())
    );
    let (code, output) = sandbox.vigil_daemon(&["start"]);
    assert_eq!(
        (code, output.starts_with("started (pid ")),
        (Some(0), true),
        "{output}"
    );
    let pid = pid_in(&output);
    let (code, output) = sandbox.vigil_daemon(&["status"]);
    assert_eq!((code, pid_in(&output)), (Some(0), pid));
    assert!(
        output.starts_with(&format!("pid {pid}\nversion ")),
        "{output}"
    );
    let already = format!("a daemon is already running (pid {pid})\n");
    assert_eq!(sandbox.vigil_daemon(&["start"]), (Some(0), already));
    let (code, output) = sandbox.vigil_daemon(&["run"]);
    assert_eq!(
        (code, output),
        (
            Some(1),
            format!("error: a daemon is already running (pid {pid})\n")
        )
    );
    let (code, output) = sandbox.vigil_daemon(&["restart"]);
    assert_eq!(code, Some(0), "{output}");
    let second = pid_in(&output);
    assert_ne!(pid, second);
    assert_eq!(
        sandbox.vigil_daemon(&["stop"]),
        (Some(0), format!("stopped (pid {second})\n"))
    );
    assert_eq!(sandbox.vigil_daemon(&["status"]), none);
    assert!(sandbox.is_runtime_folder_empty());
    let mode = sandbox
        .runtime_folder()
        .metadata()
        .unwrap()
        .permissions()
        .mode();
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
        let (code, output) = sandbox.vigil_daemon(arguments);
        assert_eq!(code, Some(129), "{arguments:?}: {output}");
        assert!(output.contains("usage: vigil daemon run\n"), "{output}");
    }
    assert_eq!(sandbox.vigil_daemon(&["-h"]).0, Some(0));
}

#[test]
fn its_status_is_asked_for_as_json_in_either_way() {
    let sandbox = Sandbox::new();
    let _serving = sandbox.serve();
    let is_object = |arguments: &[&str]| {
        let (code, output) = sandbox.vigil_daemon(arguments);
        (code, output.starts_with("{\"schema\":1,"))
    };
    assert_eq!(is_object(&["status", "--json"]), (Some(0), true));
    assert_eq!(is_object(&["status", "--format=json"]), (Some(0), true));
    assert_eq!(
        is_object(&["status", "--json", "--no-json"]),
        (Some(0), false)
    );
    assert_eq!(
        sandbox.vigil_daemon(&["status", "--format=line"]),
        (Some(128), "fatal: unsupported format 'line'\n".into())
    );
}

#[test]
fn of_many_daemons_that_are_started_at_once_one_serves() {
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
    let (code, printed) = sandbox.vigil_daemon(&["status"]);
    assert_eq!(code, Some(0));
    assert_eq!(pids, [pid_in(&printed); 20]);
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
    assert!(sandbox.is_runtime_folder_empty());
}

#[test]
fn a_daemon_leaves_the_session_the_folder_and_the_descriptors_of_its_starter() {
    let sandbox = Sandbox::new();
    let (mut reader, writer) = std::io::pipe().unwrap();
    rustix::io::fcntl_setfd(writer.as_fd(), FdFlags::empty()).unwrap();
    let (code, output) = sandbox.vigil_daemon(&["start"]);
    assert_eq!(code, Some(0), "{output}");
    drop(writer);
    // The end of the stream arrives only if no other process holds the other end.
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    let pid = pid_in(&output);
    let of = |name: &str| Path::new("/proc").join(pid.to_string()).join(name);
    assert_eq!(std::fs::read_link(of("cwd")).unwrap(), Path::new("/"));
    for fd in 0..3 {
        let open = std::fs::read_link(of(&format!("fd/{fd}"))).unwrap();
        assert_eq!(open, Path::new("/dev/null"), "{fd}");
    }
    let stat = std::fs::read_to_string(of("stat")).unwrap();
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
    assert_eq!(session, pid.to_string());
    // By this name ps(1), top(1) and pkill(1) know it.
    let name = std::fs::read_to_string(of("comm")).unwrap();
    assert_eq!(name, "vigil\n");
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
}

#[test]
fn a_signal_ends_the_daemon_and_nothing_is_left() {
    for which in [Signal::TERM, Signal::INT, Signal::HUP] {
        let sandbox = Sandbox::new();
        let mut serving = sandbox.serve();
        serving.signal(which);
        assert_eq!(serving.wait().code(), Some(0), "{which:?}");
        assert!(sandbox.is_runtime_folder_empty());
    }
}

#[test]
fn what_a_killed_daemon_left_is_no_obstacle() {
    let sandbox = Sandbox::with_repository();
    let mut serving = sandbox.serve();
    serving.signal(Signal::KILL);
    serving.wait();
    assert!(!sandbox.is_runtime_folder_empty());
    assert_eq!(sandbox.vigil_daemon(&["status"]).0, Some(1));
    assert!(sandbox.vigil("work", &["status"]).status.success());
    let serving = sandbox.serve();
    let (code, output) = sandbox.vigil_daemon(&["status"]);
    assert_eq!((code, pid_in(&output)), (Some(0), serving.pid()));
}

#[test]
fn an_idle_daemon_ends() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    command.env("VIGIL_DAEMON_IDLE_S", "0");
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(sandbox.is_runtime_folder_empty());
}

#[test]
fn an_idle_daemon_ends_though_a_shell_is_connected() {
    let sandbox = Sandbox::with_repository();
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    command.env("VIGIL_DAEMON_IDLE_S", "1");
    let mut serving = RunningDaemon::start(command);
    let mut shell = sandbox.shell();
    let first = shell.ask(&sandbox, "work");
    assert_eq!(shell.daemon_sockets().len(), 1);
    assert_eq!(serving.wait().code(), Some(0));
    assert!(sandbox.is_runtime_folder_empty());
    let _serving = sandbox.serve();
    assert_eq!(shell.ask(&sandbox, "work"), first);
    assert_eq!(sandbox.question_counts(), (1, 0));
}

#[test]
fn a_daemon_that_cannot_be_found_any_more_ends_though_it_is_asked() {
    let ways: [&dyn Fn(&Sandbox); 4] = [
        &|sandbox| std::fs::remove_dir_all(sandbox.runtime_folder()).unwrap(),
        &|sandbox| std::fs::remove_file(sandbox.runtime_folder().join("daemon.lock")).unwrap(),
        &|sandbox| std::fs::remove_file(sandbox.runtime_folder().join("daemon.sock")).unwrap(),
        &|sandbox| {
            std::fs::remove_file(sandbox.runtime_folder().join("daemon.sock")).unwrap();
            std::fs::write(sandbox.runtime_folder().join("daemon.sock"), "x").unwrap();
        },
    ];
    for (way, remove) in ways.iter().enumerate() {
        let sandbox = Sandbox::with_repository();
        let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
        // The daemon checks once a second, and would end if nobody asked for that long.
        command.env("VIGIL_DAEMON_IDLE_S", "1");
        let mut serving = RunningDaemon::start(command);
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
        while sandbox.vigil_daemon(&["status"]).0 != Some(0) {}
        for shell in [&mut shell, &mut fresh] {
            assert_eq!(shell.ask(&sandbox, "work"), first);
        }
        assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
        assert!(sandbox.is_runtime_folder_empty());
    }
}

#[test]
fn a_daemon_whose_socket_or_lock_is_removed_ends_at_once() {
    for name in ["daemon.sock", "daemon.lock", ""] {
        let sandbox = Sandbox::with_repository();
        let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
        // The daemon's first check of its own would come long after this test.
        command.env("VIGIL_DAEMON_IDLE_S", "10000000");
        let mut serving = RunningDaemon::start(command);
        sandbox.write("run/other", "");
        sandbox.write("run/other", "more");
        assert_eq!(sandbox.vigil_daemon(&["status"]).0, Some(0));
        std::fs::rename(sandbox.runtime_folder().join(name), sandbox.path("away")).unwrap();
        let (code, output) = sandbox.vigil_daemon(&["start"]);
        assert_eq!(code, Some(0), "{name}: {output}");
        assert!(output.starts_with("started (pid "), "{name}: {output}");
        assert_eq!(serving.wait().code(), Some(0));
        assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
    }
}

#[test]
fn a_daemon_whose_socket_is_removed_as_it_starts_ends_at_once() {
    let sandbox = Sandbox::new();
    for _ in 0..8 {
        let mut serving = sandbox.serve();
        std::fs::remove_file(sandbox.runtime_folder().join("daemon.sock")).unwrap();
        let began_at = Instant::now();
        assert!(serving.wait().success());
        // The daemon also checks its socket once a minute.
        assert!(began_at.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn why_a_daemon_does_not_start_is_said() {
    let sandbox = Sandbox::new();
    // This makes the folder.
    assert_eq!(sandbox.vigil_daemon(&["start"]).0, Some(0));
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
    for name in ["daemon.sock", "daemon.slow"] {
        let path = sandbox.runtime_folder().join(name);
        std::fs::create_dir(&path).unwrap();
        let (code, output) = sandbox.vigil_daemon(&["start"]);
        let reason = format!(
            "error: the daemon did not start: cannot serve: cannot remove {}: Is a directory\n",
            path.display()
        );
        assert_eq!((code, output), (Some(1), reason));
        std::fs::remove_dir(&path).unwrap();
    }
}

#[test]
fn what_replaced_the_socket_is_not_removed() {
    let sandbox = Sandbox::new();
    let mut serving = sandbox.serve();
    let path = sandbox.runtime_folder().join("daemon.sock");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "x").unwrap();
    serving.signal(Signal::TERM);
    assert_eq!(serving.wait().code(), Some(0));
    assert_eq!(std::fs::read(&path).unwrap(), b"x");
}

#[test]
fn however_often_a_daemon_is_started_and_killed_nothing_is_left() {
    let sandbox = Sandbox::with_repository();
    let cycles = std::env::var("VIGIL_TEST_CYCLES").ok();
    let cycles = cycles.and_then(|cycles| cycles.parse().ok()).unwrap_or(30);
    for cycle in 0..cycles {
        let (code, printed) = sandbox.vigil_daemon(&["start"]);
        assert_eq!(code, Some(0), "{cycle}: {printed}");
        let output = sandbox.vigil("work", &["status", "-sb"]);
        assert_eq!(output.stdout, b"## main\n");
        let which = [Signal::KILL, Signal::TERM, Signal::INT][cycle % 3];
        signal(pid_in(&printed), which);
        while !sandbox.daemon_pids().is_empty() {}
        // A killed daemon leaves files, which the next one takes over.
        let names = std::fs::read_dir(sandbox.runtime_folder()).unwrap().count();
        assert_eq!(names, if cycle % 3 == 0 { 2 } else { 0 }, "{cycle}");
    }
    assert_eq!(sandbox.vigil_daemon(&["start"]).0, Some(0));
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
    assert!(sandbox.is_runtime_folder_empty());
    assert!(sandbox.daemon_pids().is_empty());
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
    while sandbox.vigil_daemon(&["status"]).0 != Some(0) || sandbox.daemon_pids().len() > 1 {}
    // Each shell may have asked once before, on a connection that it keeps once that answer has arrived.
    let deadline = Instant::now() + TIME_LIMIT;
    loop {
        let (answered, _) = sandbox.question_counts();
        for shell in &mut shells {
            assert_eq!(shell.ask(&sandbox, "work"), first);
        }
        let daemon = sandbox.daemon_status();
        assert!(daemon["questions"].as_u64().unwrap() >= answered + 20);
        if daemon["connections"] == 21 {
            break;
        }
        assert!(Instant::now() < deadline, "{daemon}");
    }
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
    assert!(sandbox.daemon_pids().is_empty());
    assert!(sandbox.is_runtime_folder_empty());
}

#[test]
fn a_halted_daemon_can_be_stopped() {
    let sandbox = Sandbox::new();
    let mut serving = sandbox.serve();
    serving.signal(Signal::STOP);
    serving.wait_until_halted();
    let (code, output) = sandbox.vigil_daemon(&["status"]);
    let text = format!(
        "error: the daemon (pid {}) does not answer\n",
        serving.pid()
    );
    assert_eq!((code, output), (Some(1), text));
    let stopping = sandbox.command(VIGIL, "", &["daemon", "stop"]).spawn();
    serving.wait();
    assert!(stopping.unwrap().wait().unwrap().success());
    assert_eq!(sandbox.vigil_daemon(&["status"]).0, Some(1));
}

#[test]
fn a_halted_daemon_can_be_stopped_though_its_queue_is_full() {
    let sandbox = Sandbox::new();
    let mut serving = sandbox.serve();
    serving.signal(Signal::STOP);
    serving.wait_until_halted();
    let address = SocketAddrUnix::new(sandbox.runtime_folder().join("daemon.sock")).unwrap();
    let come = || {
        // Processes that other tests start meanwhile must not inherit it.
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        connect(&socket, &address).map(|()| socket)
    };
    let waiting: Vec<_> = std::iter::repeat_with(come).map_while(Result::ok).collect();
    assert!(waiting.len() > 1);
    let (code, output) = sandbox.vigil_daemon(&["stop"]);
    let text = format!("stopped (pid {})\n", serving.pid());
    assert_eq!((code, output), (Some(0), text));
    serving.wait();
}

#[test]
fn a_halted_daemon_can_be_stopped_though_its_socket_is_gone() {
    let sandbox = Sandbox::new();
    let mut serving = sandbox.serve();
    serving.signal(Signal::STOP);
    serving.wait_until_halted();
    std::fs::remove_file(sandbox.runtime_folder().join("daemon.sock")).unwrap();
    let (pid, lock) = (serving.pid(), sandbox.runtime_folder().join("daemon.lock"));
    let text = format!(
        "error: another process (pid {pid}) holds {}, but does not serve\n",
        lock.display()
    );
    assert_eq!(sandbox.vigil_daemon(&["run"]), (Some(1), text));
    let text = format!("stopped (pid {pid})\n");
    assert_eq!(sandbox.vigil_daemon(&["stop"]), (Some(0), text));
    serving.wait();
}

#[test]
fn a_lock_that_cannot_be_had_is_named() {
    let sandbox = Sandbox::new();
    drop(sandbox.serve());
    let path = sandbox.runtime_folder().join("daemon.lock");
    let lock = std::fs::File::create(&path).unwrap();
    lock.lock().unwrap();
    let text = format!(
        "error: another process holds {}, but does not serve\n",
        path.display()
    );
    assert_eq!(sandbox.vigil_daemon(&["stop"]), (Some(1), text));
}

#[test]
fn a_runtime_folder_that_is_not_the_users_alone_is_refused() {
    let sandbox = Sandbox::with_repository();
    let refused = |text: &str| {
        for command in ["start", "run", "status"] {
            let (code, printed) = sandbox.vigil_daemon(&[command]);
            assert_eq!(code, Some(1), "{printed}");
            assert!(printed.contains(text), "{command}: {printed}");
        }
        let output = sandbox.vigil("work", &["status", "-s"]);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(output.stderr, b"");
    };
    std::os::unix::fs::symlink(sandbox.path("work"), sandbox.runtime_folder()).unwrap();
    refused("is a link, or not a directory");
    std::fs::remove_file(sandbox.runtime_folder()).unwrap();
    std::fs::write(sandbox.runtime_folder(), "").unwrap();
    refused("is a link, or not a directory");
    std::fs::remove_file(sandbox.runtime_folder()).unwrap();
    std::fs::create_dir(sandbox.runtime_folder()).unwrap();
    let mode =
        |mode| std::fs::set_permissions(sandbox.runtime_folder(), PermissionsExt::from_mode(mode));
    mode(0o770).unwrap();
    refused("has mode 770, and must have 700");
    mode(0o700).unwrap();
    // Only the superuser can change a folder's owner.
    if std::os::unix::fs::chown(sandbox.runtime_folder(), Some(12345), None).is_ok() {
        refused("belongs to user 12345");
    }
}

#[test]
fn a_daemon_that_a_shell_started_is_asked_its_last_question_again() {
    let sandbox = Sandbox::with_repository();
    let mut shell = sandbox.shell();
    let answer = shell.ask(&sandbox, "work");
    let deadline = Instant::now() + TIME_LIMIT;
    // Wait until the daemon is there and has answered, though nobody asked again.
    loop {
        let (code, text) = sandbox.vigil_daemon(&["status", "--json"]);
        if code == Some(0) && text.contains("\"questions\":1,") {
            break;
        }
        assert!(Instant::now() < deadline, "{text}");
    }
    assert_eq!(shell.ask(&sandbox, "work"), answer);
    assert_eq!(sandbox.question_counts(), (2, 0));
    shell.end();
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
}

/// In another pid name space, the daemon's process has another number there than here.
#[test]
fn a_daemon_in_a_pid_name_space_of_its_own_is_found_and_ended() {
    let sandbox = Sandbox::with_repository();
    let flags = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ];
    let tried = [&flags[..], &["true"]].concat();
    let tried = sandbox.command("unshare", "", &tried).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        let name = "a_daemon_in_a_pid_name_space_of_its_own_is_found_and_ended";
        return skip_test(name, "this machine has no name spaces for this user");
    }
    let run = [&flags[..], &[VIGIL, "daemon", "run"]].concat();
    let mut serving = RunningDaemon::start(sandbox.command("unshare", "", &run));
    sandbox.assert_answered_as_by_git("work");
    let (code, printed) = sandbox.vigil_daemon(&["status"]);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(
        sandbox.vigil_daemon(&["stop"]),
        (Some(0), "stopped (pid 1)\n".to_owned())
    );
    serving.wait();
    // The same for its client.
    let serving = sandbox.serve();
    let ask = |arguments: &[&str]| {
        let arguments = [&flags[..], &[VIGIL], arguments].concat();
        let output = sandbox.command("unshare", "work", &arguments).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(ask(&["status", "-s"]), "");
    assert!(ask(&["daemon", "status"]).contains(&format!("pid {}\n", serving.pid())));
    assert!(ask(&["daemon", "stop"]).starts_with("stopped "));
    let mut serving = serving;
    serving.wait();
}
