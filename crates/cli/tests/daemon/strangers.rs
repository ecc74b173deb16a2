//! Those who connect and are no clients, or bad ones: they cost nobody else an answer.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

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
        UnixStream::connect(self.run().join("daemon.sock")).unwrap()
    }

    /// Asserts that the daemon answers whoever asks as he should.
    fn is_answered(&self) {
        let (answered, _) = self.counts();
        let output = self.vigil("work", &["status", "-s"]);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(0), &b""[..])
        );
        assert_eq!(self.counts().0, answered + 1);
    }
}

/// All that comes until the connection ends; what was not read at the other end may cut it short.
fn all_of(stream: &mut UnixStream) -> Vec<u8> {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    all
}

#[test]
fn garbage_and_other_versions_are_refused_in_words() {
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
        (hello(9), "protocol 9 is not spoken here, but 1"),
    ] {
        let mut stream = sandbox.connect();
        stream.write_all(&bytes).unwrap();
        let said = all_of(&mut stream);
        assert_eq!(said.get(4), Some(&REFUSED), "{reason}: {said:?}");
        assert_eq!(String::from_utf8_lossy(&said[9..]), reason);
    }
    for bytes in [frame(99, b"x"), hello(1), frame(DESCRIBE, b"x")] {
        let mut stream = sandbox.connect();
        stream.write_all(&[hello(1), bytes].concat()).unwrap();
        let said = all_of(&mut stream);
        assert_eq!(said.get(4), Some(&WELCOME));
        let len = usize::from(said[0]) + 4;
        assert_eq!(said.get(len + 4), Some(&REFUSED), "{said:?}");
    }
    sandbox.is_answered();
}

#[test]
fn half_messages_and_whoever_never_reads_hold_up_nobody() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let mut halves = Vec::new();
    for len in [0, 1, 4, 5, 20] {
        let mut stream = sandbox.connect();
        stream.write_all(&hello(1)[..len]).unwrap();
        halves.push(stream);
    }
    let mut silent = sandbox.connect();
    silent.set_nonblocking(true).unwrap();
    silent.write_all(&hello(1)).unwrap();
    let many = frame(DESCRIBE, b"").repeat(10_000);
    // As much as they take: some wait for what they wrote to be read.
    while silent.write(&many).is_ok() {}
    sandbox.is_answered();
    drop((halves, silent));
    sandbox.is_answered();
}

#[test]
fn too_many_connections_are_closed_at_once() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let mut streams: Vec<UnixStream> = (0..300).map(|_| sandbox.connect()).collect();
    // Those beyond what is allowed see the end.
    let mut last = streams.pop().unwrap();
    assert_eq!(all_of(&mut last), b"");
    // There is no room, and the answer is right.
    let output = sandbox.vigil("work", &["status", "-s"]);
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b""[..])
    );
    assert_eq!(output.stderr, b"");
    drop(streams);
    while sandbox.daemon(&["status"]).0 != Some(0) {}
    sandbox.is_answered();
}
