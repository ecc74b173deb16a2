//! Impostors in the daemon's place: the answers arrive and are right.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;

use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use vigil_testkit::sandbox::{TextOutput, skip_test};

use super::connections::frame;
use super::sandbox::Sandbox;

const ANSWER: u8 = 69;

impl Sandbox {
    /// Starts an impostor. To each client that has sent something it sends `reply`.
    fn impostor(&self, reply: Vec<u8>) -> Impostor {
        self.impostor_of(None, reply).unwrap()
    }

    /// The same, run by another user, which only the superuser can do.
    fn impostor_of(&self, user: Option<Uid>, reply: Vec<u8>) -> Option<Impostor> {
        // A daemon that starts and ends makes the folder.
        drop(self.serve());
        let path = self.runtime_folder().join("daemon.sock");
        let _ = std::fs::remove_file(&path);
        let (told, listens) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // The kernel reports the user that a socket belonged to when it began to listen.
            let listener = std::os::unix::net::SocketAddr::from_pathname(&path);
            let listener = UnixListener::bind_addr(&listener.unwrap()).unwrap();
            if let Some(user) = user {
                let is_other = set_thread_res_uid(user, user, user).is_ok();
                let listening = is_other && rustix::net::listen(&listener, 1).is_ok();
                told.send(listening).unwrap();
                if !listening {
                    return;
                }
            } else {
                told.send(true).unwrap();
            }
            while let Ok((stream, _)) = listener.accept() {
                if !answer(stream, &reply) {
                    return;
                }
            }
        });
        let is_there = listens.recv().unwrap();
        is_there.then(|| Impostor {
            path: self.runtime_folder().join("daemon.sock"),
            thread: Some(thread),
        })
    }

    fn assert_right_in_spite_of(&self, what: &str) {
        // Remove the note of a client that waited in vain: it would keep the next client from asking.
        let _ = std::fs::remove_file(self.runtime_folder().join("daemon.slow"));
        let mut command = self.impatient_command("work", &["status", "-sb"]);
        let output = TextOutput::from(command.output().unwrap());
        let right = TextOutput {
            code: 0,
            stdout: "## main\n".to_owned(),
            stderr: String::new(),
        };
        assert_eq!(output, right, "{what}");
        let mut shell = self.impatient_shell();
        let answer = shell.ask(self, "work");
        assert_eq!(
            answer,
            self.shell_without_daemon().ask(self, "work"),
            "{what}"
        );
    }
}

/// Answers a client; false if it said to end.
fn answer(mut stream: UnixStream, reply: &[u8]) -> bool {
    let mut asked = [0; 4096];
    let len = stream.read(&mut asked).unwrap_or_default();
    if asked[..len] == *b"end" {
        return false;
    }
    let _ = stream.write_all(reply);
    // The client sees no end of the stream.
    std::mem::forget(stream);
    true
}

struct Impostor {
    path: std::path::PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Impostor {
    fn drop(&mut self) {
        let mut stream = UnixStream::connect(&self.path).unwrap();
        stream.write_all(b"end").unwrap();
        self.thread.take().unwrap().join().unwrap();
        let _ = std::fs::remove_file(&self.path);
    }
}

#[test]
fn an_impostor_that_sends_garbage_costs_no_answer() {
    let sandbox = Sandbox::with_repository();
    let answer = frame(ANSWER, &[&[0; 4][..], b"\x04\0\0\0lies\0\0\0\0"].concat());
    for (what, reply) in [
        ("nothing", Vec::new()),
        ("text", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("zeros", vec![0; 100]),
        ("much", vec![1; 10 << 20]),
        ("half a frame", frame(ANSWER, b"abc")[..6].to_vec()),
        ("an answer without a welcome", answer.repeat(2)),
        ("an unknown message", frame(99, b"").repeat(2)),
    ] {
        let _impostor = sandbox.impostor(reply);
        sandbox.assert_right_in_spite_of(what);
        let (code, output) = sandbox.vigil_daemon(&["status"]);
        assert_eq!(
            (code, output.starts_with("error: ")),
            (Some(1), true),
            "{output}"
        );
    }
}

#[test]
fn another_users_socket_is_not_asked() {
    let sandbox = Sandbox::with_repository();
    let user = Uid::from_raw(12345);
    let Some(_impostor) = sandbox.impostor_of(Some(user), Vec::new()) else {
        return skip_test("another user's socket", "only root may change the user");
    };
    sandbox.assert_right_in_spite_of("a socket");
    for command in ["status", "stop", "start"] {
        let (code, output) = sandbox.vigil_daemon(&[command]);
        assert_eq!(code, Some(1));
        assert!(output.ends_with("is served by user 12345\n"), "{output}");
    }
}

#[test]
fn what_is_in_the_place_of_the_socket_is_replaced_or_reported() {
    let sandbox = Sandbox::with_repository();
    drop(sandbox.serve());
    let path = sandbox.runtime_folder().join("daemon.sock");
    let remove = || std::fs::remove_file(&path).unwrap();
    remove();
    std::fs::create_dir(&path).unwrap();
    sandbox.assert_right_in_spite_of("a directory");
    // The daemon that the shell started ends by itself.
    while !sandbox.daemon_pids().is_empty() {}
    let shown = path.display();
    let text = format!("error: cannot serve: cannot remove {shown}: Is a directory\n");
    assert_eq!(sandbox.vigil_daemon(&["run"]), (Some(1), text));
    std::fs::remove_dir(&path).unwrap();
    let target = sandbox.path("work/file");
    for is_link in [false, true] {
        match is_link {
            true => std::os::unix::fs::symlink(&target, &path).unwrap(),
            false => std::fs::write(&path, "").unwrap(),
        }
        let serving = sandbox.serve();
        assert_eq!(sandbox.daemon_status()["pid"], serving.pid());
        drop(serving);
        remove();
    }
    assert_eq!(std::fs::read(target).unwrap(), b"recorded\n");
    // A lock file that is a symbolic link is not used.
    let lock = sandbox.runtime_folder().join("daemon.lock");
    std::fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(sandbox.path("work/file"), &lock).unwrap();
    let shown = lock.display();
    let text = format!("error: cannot lock {shown}: Too many levels of symbolic links\n");
    assert_eq!(sandbox.vigil_daemon(&["run"]), (Some(1), text));
    assert_eq!(
        std::fs::read(sandbox.path("work/file")).unwrap(),
        b"recorded\n"
    );
}

#[test]
fn the_socket_for_git_is_served_though_a_daemon_was_about_to_end() {
    let sandbox = Sandbox::with_repository();
    drop(sandbox.serve());
    let path = sandbox.runtime_folder().join("daemon.sock");
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(path).unwrap();
    let ends = std::thread::spawn(move || drop(listener.accept().unwrap()));
    let started = TextOutput::from(sandbox.vigil("work", &["fsmonitor", "start"]));
    ends.join().unwrap();
    assert!(started.stdout.starts_with("serves "), "{started:?}");
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
}
