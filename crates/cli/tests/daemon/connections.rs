//! Bad clients and other programs that connect: they do not keep anyone else from an answer.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use rustix::process::Signal;

use super::sandbox::Sandbox;

const HELLO: u8 = 1;
const DESCRIBE: u8 = 4;
const WELCOME: u8 = 65;
const REFUSED: u8 = 66;

pub(crate) fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len() + 1).unwrap();
    [&len.to_le_bytes()[..], &[kind], body].concat()
}

fn hello(version: u32) -> Vec<u8> {
    let rest = [5u32, 0];
    let mut body = b"vigil\r\n\0".to_vec();
    body.extend(version.to_le_bytes());
    body.extend(rest[0].to_le_bytes());
    body.extend(env!("CARGO_PKG_VERSION").as_bytes());
    body.extend(rest[1].to_le_bytes());
    frame(HELLO, &body)
}

impl Sandbox {
    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.runtime_folder().join("daemon.sock")).unwrap()
    }

    /// Asserts that the daemon answers a proper client.
    fn assert_proper_client_is_answered(&self) {
        let (answered, _) = self.question_counts();
        let output = self.vigil("work", &["status", "-s"]);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(0), &b""[..])
        );
        assert_eq!(self.question_counts().0, answered + 1);
    }
}

/// Reads until the connection ends. Data that the other end did not read may cut this short.
fn read_to_end(stream: &mut UnixStream) -> Vec<u8> {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    all
}

#[test]
fn garbage_and_other_versions_are_refused_with_a_message() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    for (bytes, reason) in [
        (
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            "a frame of 542393671 bytes",
        ),
        (vec![0; 64], "a frame of 0 bytes"),
        (frame(DESCRIBE, b""), "no greeting"),
        (frame(99, b"x"), "no greeting"),
        (frame(HELLO, b"something else"), "no greeting"),
        (hello(9), "protocol 9 is not supported; this is protocol 1"),
    ] {
        let mut stream = sandbox.connect();
        stream.write_all(&bytes).unwrap();
        let output = read_to_end(&mut stream);
        assert_eq!(output.get(4), Some(&REFUSED), "{reason}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output[9..]), reason);
    }
    for bytes in [frame(99, b"x"), hello(1), frame(DESCRIBE, b"x")] {
        let mut stream = sandbox.connect();
        stream.write_all(&[hello(1), bytes].concat()).unwrap();
        let output = read_to_end(&mut stream);
        assert_eq!(output.get(4), Some(&WELCOME));
        let len = usize::from(output[0]) + 4;
        assert_eq!(output.get(len + 4), Some(&REFUSED), "{output:?}");
    }
    sandbox.assert_proper_client_is_answered();
}

/// More than there are answering threads.
const CLIENTS: usize = 70;

#[test]
fn half_messages_and_clients_that_never_read_hold_up_nobody() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let mut halves = Vec::new();
    for len in [0, 1, 4, 5, 20].into_iter().cycle().take(CLIENTS) {
        let mut stream = sandbox.connect();
        stream.write_all(&hello(1)[..len]).unwrap();
        halves.push(stream);
    }
    let many = frame(DESCRIBE, b"").repeat(10_000);
    let mut silent = Vec::new();
    for _ in 0..CLIENTS {
        let mut stream = sandbox.connect();
        stream.set_nonblocking(true).unwrap();
        stream.write_all(&hello(1)).unwrap();
        // Send as much as they take: the rest waits until the answers are read.
        while stream.write(&many).is_ok() {}
        silent.push(stream);
    }
    sandbox.assert_proper_client_is_answered();
    // The daemon did not have to give up on them first.
    for stream in &mut silent {
        let error = stream.write(&many).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    }
    for stream in &mut halves {
        stream.write_all(b"\0").unwrap();
    }
    drop((halves, silent));
    sandbox.assert_proper_client_is_answered();
}

#[test]
fn too_many_connections_are_closed_at_once() {
    let sandbox = Sandbox::with_repository();
    let serving = sandbox.serve();
    let mut streams: Vec<UnixStream> = (0..400).map(|_| sandbox.connect()).collect();
    // The first ones have been idle for the longest time.
    let last = streams.split_off(399);
    for stream in &mut streams[..100] {
        assert_eq!(read_to_end(stream), b"");
    }
    let open = std::fs::read_dir(format!("/proc/{}/fd", serving.pid())).unwrap();
    assert!(open.count() < 300);
    sandbox.assert_proper_client_is_answered();
    // The last client is accepted, and so are those after it.
    for mut stream in last {
        stream.write_all(&hello(1)).unwrap();
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(head[4], WELCOME);
    }
    drop(streams);
    sandbox.assert_proper_client_is_answered();
}

#[test]
fn a_connection_is_kept_and_may_be_closed_at_any_time() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let mut shell = sandbox.shell();
    shell.ask(&sandbox, "work");
    let kept = shell.daemon_sockets();
    assert_eq!(kept.len(), 1);
    for directory in ["work", "work/dir", "missing"] {
        shell.ask(&sandbox, directory);
        assert_eq!(shell.daemon_sockets(), kept, "{directory}");
    }
    assert_eq!(sandbox.question_counts().0, 4);
    // Other connections take its place, without its noticing.
    let mut others: Vec<UnixStream> = (0..400).map(|_| sandbox.connect()).collect();
    for stream in &mut others[..100] {
        assert_eq!(read_to_end(stream), b"");
    }
    let answer = shell.ask(&sandbox, "work");
    assert_eq!(answer, sandbox.shell_without_daemon().ask(&sandbox, "work"));
    assert_ne!(shell.daemon_sockets(), kept);
    assert_eq!(sandbox.question_counts().0, 5);
    drop(others);
}

#[test]
fn a_shell_asks_the_daemon_that_has_taken_the_place_of_another() {
    let sandbox = Sandbox::with_repository();
    let mut serving = sandbox.serve();
    let mut shell = sandbox.shell();
    let first = shell.ask(&sandbox, "work");
    for which in [Signal::TERM, Signal::KILL] {
        serving.signal(which);
        serving.wait();
        serving = sandbox.serve();
        assert_eq!(shell.ask(&sandbox, "work"), first);
        assert_eq!(sandbox.question_counts(), (1, 0));
    }
    assert_eq!(shell.children(), "");
}

#[test]
fn clients_that_end_or_are_killed_leave_no_connection() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let connections = || sandbox.daemon_status()["connections"].as_u64().unwrap();
    let [mut ended, mut killed] = [(); 2].map(|()| sandbox.shell());
    for shell in [&mut ended, &mut killed] {
        shell.ask(&sandbox, "work");
    }
    assert_eq!(connections(), 3);
    ended.end();
    killed.kill();
    while connections() > 1 {}
}
