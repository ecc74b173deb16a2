//! A daemon of an older version: its answers are not used, and it gives way.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock, inotify};

use super::connections::frame;
use super::sandbox::{Sandbox, VIGIL, pid_in};

const STOP: u8 = 3;
const DESCRIBE: u8 = 4;
const STATUS: u8 = 5;
const WELCOME: u8 = 65;
const DONE: u8 = 67;
const DESCRIPTION: u8 = 68;
const ANSWER: u8 = 69;

/// A byte string in the encoding of messages.
fn encoded_text(text: &[u8]) -> Vec<u8> {
    [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text].concat()
}

fn read_frame_kind(stream: &mut UnixStream) -> Option<u8> {
    let mut len = [0; 4];
    stream.read_exact(&mut len).ok()?;
    let mut frame = vec![0; u32::from_le_bytes(len) as usize];
    stream.read_exact(&mut frame).ok()?;
    frame.first().copied()
}

/// Answers one question; false if told to stop.
fn answer_as_older_version(mut stream: UnixStream) -> bool {
    read_frame_kind(&mut stream);
    let pid = std::process::id().to_le_bytes();
    let welcome = frame(WELCOME, &[encoded_text(b"0.0.9"), pid.to_vec()].concat());
    let kind = read_frame_kind(&mut stream);
    let answer = match kind {
        Some(DESCRIBE) => {
            let pid = u64::from(std::process::id()).to_le_bytes();
            let field =
                |key: u32, value: &[u8]| [&key.to_le_bytes()[..], &encoded_text(value)].concat();
            let fields = [field(99, b"x"), field(1, &pid), field(2, b"0.0.9")].concat();
            frame(DESCRIPTION, &fields)
        }
        Some(STATUS) => frame(
            ANSWER,
            &[
                &[0; 4][..],
                &encoded_text(b"old news\n"),
                &encoded_text(b""),
            ]
            .concat(),
        ),
        _ => frame(DONE, b""),
    };
    // A client that does not accept the version is gone by now.
    let _ = stream.write_all(&[welcome, answer].concat());
    kind != Some(STOP)
}

/// The process that the test below starts.
#[test]
#[ignore = "a process of the test below"]
fn an_older_daemon() {
    let Some(folder) = std::env::var_os("VIGIL_TEST_FOLDER").map(PathBuf::from) else {
        return;
    };
    let lock = File::create(folder.join("daemon.lock")).unwrap();
    if std::env::var_os("VIGIL_TEST_LOCKED").is_none() {
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    }
    let listener = UnixListener::bind(folder.join("daemon.sock")).unwrap();
    println!("\nready");
    while answer_as_older_version(listener.accept().unwrap().0) {}
    std::fs::remove_file(folder.join("daemon.sock")).unwrap();
    std::fs::remove_file(folder.join("daemon.lock")).unwrap();
}

fn older_daemon_command(sandbox: &Sandbox) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "older_version::an_older_daemon",
            "--ignored",
            "--nocapture",
        ])
        .env("VIGIL_TEST_FOLDER", sandbox.runtime_folder())
        .stdout(Stdio::piped());
    command
}

#[test]
fn a_daemon_with_the_lock_and_no_socket_yet_is_waited_for_and_stopped() {
    let sandbox = Sandbox::new();
    drop(sandbox.serve());
    let path = sandbox.runtime_folder().join("daemon.lock");
    let lock = File::create(&path).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let _ = std::fs::remove_file(sandbox.runtime_folder().join("daemon.sock"));
    let looks = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&looks, &path, inotify::WatchFlags::OPEN).unwrap();
    let mut stop = sandbox.command(VIGIL, "", &["daemon", "stop"]);
    let mut stop = stop.stdout(Stdio::piped()).spawn().unwrap();
    while rustix::io::read(&looks, &mut [0; 4096]).is_err() {
        assert_eq!(stop.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    // It found no socket. Now there will be one, of a process that holds this same lock.
    let mut older = older_daemon_command(&sandbox);
    older.env("VIGIL_TEST_LOCKED", "1").stdin(lock);
    let mut older = older.spawn().unwrap();
    assert_eq!(
        String::from_utf8(stop.wait_with_output().unwrap().stdout).unwrap(),
        format!("stopped (pid {})\n", older.id())
    );
    assert!(older.wait().unwrap().success());
}

#[test]
fn an_older_daemon_is_not_believed_and_makes_way_for_a_newer_one() {
    let sandbox = Sandbox::with_repository();
    // A daemon that starts and stops makes the folder.
    drop(sandbox.serve());
    let _ = std::fs::remove_file(sandbox.runtime_folder().join("daemon.sock"));
    let mut older = older_daemon_command(&sandbox).spawn().unwrap();
    let mut lines = BufReader::new(older.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"));
    let output = sandbox.vigil("work", &["status", "-s"]);
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b""[..])
    );
    let (code, printed) = sandbox.vigil_daemon(&["status"]);
    let old = i32::try_from(older.id()).unwrap();
    assert_eq!((code, pid_in(&printed)), (Some(0), old), "{printed}");
    let (code, printed) = sandbox.vigil_daemon(&["start"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(older.wait().unwrap().success());
    let new = pid_in(&printed);
    assert_ne!(new, old);
    assert_eq!(
        sandbox.vigil_daemon(&["stop"]),
        (Some(0), format!("stopped (pid {new})\n"))
    );
}
