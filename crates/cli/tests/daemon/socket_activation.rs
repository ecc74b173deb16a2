//! A daemon that is started with its socket, as systemd does it (the units in `contrib/systemd`).

use std::fs::DirBuilder;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::process::{Command, Output};

use super::sandbox::{RunningDaemon, Sandbox, VIGIL};

/// Has the shell pass its standard input on as the socket and then become the daemon, so that the process id is known before
/// the daemon starts.
const PASS_STDIN_AS_SOCKET: &str =
    r#"exec 3<&0 </dev/null; LISTEN_PID=${pid:-$$} exec "$0" daemon run"#;

impl Sandbox {
    /// Makes the daemon's folder, as the socket unit does.
    fn make_runtime_folder(&self) {
        DirBuilder::new()
            .mode(0o700)
            .create(self.runtime_folder())
            .unwrap();
    }

    fn bind_socket(&self) -> UnixListener {
        UnixListener::bind(self.runtime_folder().join("daemon.sock")).unwrap()
    }

    /// The command for a daemon to which `given` is handed over.
    fn daemon_with_socket(&self, given: impl AsFd, count: &str) -> Command {
        let given: OwnedFd = given.as_fd().try_clone_to_owned().unwrap();
        let mut command = self.command("sh", "", &["-c", PASS_STDIN_AS_SOCKET, VIGIL]);
        command
            .stdin(given)
            .env("LISTEN_FDS", count)
            .env("LISTEN_FDNAMES", "x");
        command
    }
}

#[test]
fn a_daemon_serves_on_the_socket_that_it_is_given_and_leaves_it_there() {
    let sandbox = Sandbox::with_repository();
    sandbox.make_runtime_folder();
    let listener = sandbox.bind_socket();
    let mut daemon = RunningDaemon::start(sandbox.daemon_with_socket(&listener, "1"));
    // This process made the socket, and another one answers.
    assert_eq!(sandbox.daemon_status()["pid"], daemon.pid());
    let mut shell = sandbox.shell();
    shell.ask(&sandbox, "work");
    assert_eq!(sandbox.question_counts(), (1, 0));
    let stopped = (Some(0), format!("stopped (pid {})\n", daemon.pid()));
    assert_eq!(sandbox.vigil_daemon(&["stop"]), stopped);
    assert_eq!(daemon.wait().code(), Some(0));
    let names: Vec<_> = std::fs::read_dir(sandbox.runtime_folder())
        .unwrap()
        .collect();
    assert_eq!(names.len(), 1);
    // The next client to connect starts the next daemon.
    let waiting = UnixStream::connect(sandbox.runtime_folder().join("daemon.sock")).unwrap();
    let _second = RunningDaemon::start(sandbox.daemon_with_socket(&listener, "1"));
    shell.ask(&sandbox, "work");
    assert_eq!(sandbox.question_counts(), (1, 0));
    assert_eq!(sandbox.daemon_status()["connections"], 3);
    drop(waiting);
}

#[test]
fn stopping_a_halted_daemon_on_a_given_socket_kills_nobody() {
    let sandbox = Sandbox::new();
    sandbox.make_runtime_folder();
    let listener = sandbox.bind_socket();
    let daemon = RunningDaemon::start(sandbox.daemon_with_socket(&listener, "1"));
    daemon.signal(rustix::process::Signal::STOP);
    daemon.wait_until_halted();
    // The kernel names this process, which made the socket.
    let silent = (Some(1), "error: the daemon does not answer\n".to_owned());
    assert_eq!(sandbox.vigil_daemon(&["stop"]), silent);
}

#[test]
fn a_given_socket_must_be_the_one_that_clients_connect_to() {
    let sandbox = Sandbox::new();
    sandbox.make_runtime_folder();
    let listener = sandbox.bind_socket();
    let refused = |mut command: Command, reason: &str| {
        let output: Output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{reason}: {printed}");
        assert!(printed.contains(reason), "{reason}: {printed}");
    };
    for count in ["", "0", "2", "-1", "x", "1x", "4294967297"] {
        let reason = format!("LISTEN_FDS is '{count}', and must be 1");
        refused(sandbox.daemon_with_socket(&listener, count), &reason);
    }
    let reason = "is no Unix stream socket that listens";
    refused(sandbox.daemon_with_socket(std::io::stderr(), "1"), reason);
    refused(
        sandbox.daemon_with_socket(UnixDatagram::unbound().unwrap(), "1"),
        reason,
    );
    let [connected, _other] = <[UnixStream; 2]>::from(UnixStream::pair().unwrap());
    refused(sandbox.daemon_with_socket(connected, "1"), reason);
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    refused(sandbox.daemon_with_socket(tcp, "1"), reason);
    let mut closed = sandbox.command(
        "sh",
        "",
        &["-c", &PASS_STDIN_AS_SOCKET.replace("3<&0", "3<&-"), VIGIL],
    );
    closed.env("LISTEN_FDS", "1");
    refused(closed, reason);
    let elsewhere = UnixListener::bind(sandbox.path("elsewhere")).unwrap();
    let reason = "is not the socket";
    refused(sandbox.daemon_with_socket(elsewhere, "1"), reason);
    assert!(std::fs::remove_file(sandbox.runtime_folder().join("daemon.sock")).is_ok());
    assert!(sandbox.is_runtime_folder_empty());
}

#[test]
fn a_socket_that_was_given_to_another_process_is_not_used() {
    let sandbox = Sandbox::new();
    let listener = UnixListener::bind(sandbox.path("elsewhere")).unwrap();
    let mut command = sandbox.daemon_with_socket(&listener, "nonsense");
    command.env("pid", "1");
    let daemon = RunningDaemon::start(command);
    assert_eq!(sandbox.daemon_status()["pid"], daemon.pid());
}

#[test]
fn the_systemd_units_name_the_socket_that_clients_connect_to() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/systemd/");
    let unit = |name: &str| std::fs::read_to_string(format!("{root}{name}")).unwrap();
    let socket = unit("vigil.socket");
    assert!(socket.contains("\nListenStream=%t/vigil/daemon.sock\n"));
    assert!(socket.contains("\nDirectoryMode=0700\n"));
    assert!(unit("vigil.service").contains(" vigil daemon run\n"));
}
