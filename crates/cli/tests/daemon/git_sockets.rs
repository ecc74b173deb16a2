//! The sockets at which git asks its builtin monitor.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use bstr::ByteSlice;
use rustix::process::{Signal, Uid};
use rustix::thread::set_thread_res_uid;
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::skip_test;

use crate::fsmonitor::{
    EVERYTHING, gits_and_ways, install_monitor, query, settled_token, with_folders,
};
use crate::namespaces::{HangingDisk, is_in_namespaces, run_with_fuse};
use crate::sandbox::{Sandbox, VIGIL};

#[test]
fn no_socket_is_served_where_the_configuration_wants_no_daemon() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let answer = |command: &str| {
        let output = sandbox.vigil("work", &["fsmonitor", command]);
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    };
    assert_eq!(answer("start"), (Some(0), String::new()));
    sandbox.git_in("work", &["config", "vigil.daemon", "false"]);
    let refused = "error: the configuration wants no daemon\n".to_owned();
    assert_eq!(answer("start"), (Some(1), refused.clone()));
    assert_eq!(answer("stop"), (Some(0), String::new()));
    sandbox.git_in("work", &["config", "core.fsmonitor", "true"]);
    assert_eq!(answer("status"), (Some(1), refused));
}

/// The answer of `socket` to a client that sends `bytes`.
fn socket_answer(socket: &PathBuf, bytes: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    // If the daemon hangs up, reading may fail.
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn a_stale_socket_is_replaced_and_a_served_one_is_not() {
    let sandbox = Sandbox::with_repository();
    let socket = sandbox.path("work/.git/fsmonitor--daemon.ipc");
    let start = || sandbox.vigil("work", &["fsmonitor", "start"]);
    let mut serving = sandbox.serve();
    let other = UnixListener::bind(&socket).unwrap();
    let refused = start();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("another process serves")
    );
    drop(other);
    // A process that another test has just forked has it still, until it runs its program.
    while UnixStream::connect(&socket).is_ok() {}
    assert!(start().status.success() && start().status.success());
    let serves = || {
        sandbox
            .vigil("work", &["fsmonitor", "status"])
            .status
            .success()
    };
    assert!(serves());
    // A client that is not at the top of the working tree, or sends no token, is told that everything may have changed.
    let everything = b"\0/\0";
    for question in [&b"0010builtin:fake0000"[..], b"0009flush0000", b"00040000"] {
        let answer = socket_answer(&socket, question);
        assert!(
            answer.windows(3).any(|part| part == everything),
            "{answer:?}"
        );
    }
    for garbage in [&b"GET / HTTP/1.1\r\n"[..], b"0001", b"ffff", b"00"] {
        assert_eq!(socket_answer(&socket, garbage), b"");
    }
    // If another socket takes its place, that is not removed.
    fs::remove_file(&socket).unwrap();
    assert!(!serves());
    assert!(start().status.success());
    serving.signal(Signal::TERM);
    serving.wait();
    assert!(!socket.exists());
    let serving = sandbox.serve();
    assert!(start().status.success());
    serving.signal(Signal::KILL);
    drop(serving);
    assert!(socket.exists());
    let _serving = sandbox.serve();
    assert!(start().status.success());
    assert_eq!(socket_answer(&socket, b"0008quit0000"), b"0000");
    assert!(!socket.exists() && !serves());
    let file = fs::write(&socket, "");
    assert!(file.is_ok() && !start().status.success());
    assert!(socket.exists());
}

/// A git that is cut off dies of SIGPIPE. Who shares a repository, or is root, may come to another user's socket.
#[test]
fn another_users_git_is_told_that_everything_may_have_changed() {
    let sandbox = Sandbox::with_repository();
    let socket = sandbox.path("work/.git/fsmonitor--daemon.ipc");
    let _serving = sandbox.serve();
    let started = sandbox.vigil("work", &["fsmonitor", "start"]);
    assert!(started.status.success(), "{started:?}");
    for (path, mode) in [(sandbox.path(""), 0o755), (socket.clone(), 0o777)] {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let asked = std::thread::scope(|scope| {
        let ask = || {
            let other = Uid::from_raw(65534);
            let is_other = set_thread_res_uid(other, other, other).is_ok();
            let questions = [
                &b"0010builtin:fake0000"[..],
                b"0009flush0000",
                b"0008quit0000",
            ];
            is_other.then(|| questions.map(|question| socket_answer(&socket, question)))
        };
        scope.spawn(ask).join().unwrap()
    });
    let Some(answers) = asked else {
        return skip_test(
            "a git of another user",
            "only the superuser can be another user",
        );
    };
    for answer in answers {
        assert!(answer.windows(3).any(|part| part == b"\0/\0"), "{answer:?}");
    }
    assert!(socket.exists());
}

#[test]
fn the_daemon_names_its_sockets_and_what_they_are_about() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.git_in("work", &["worktree", "add", "-q", "../linked"]);
    let monitors = || sandbox.daemon_status()["monitors"].clone();
    assert_eq!(monitors(), serde_json::json!([]));
    for top in ["work", "linked"] {
        let started = sandbox.vigil(top, &["fsmonitor", "start"]);
        assert!(started.status.success(), "{started:?}");
    }
    let sockets = [
        ("work", "work/.git/fsmonitor--daemon.ipc"),
        ("linked", "work/.git/worktrees/linked/fsmonitor--daemon.ipc"),
    ];
    let named = sockets.map(|(top, socket)| {
        serde_json::json!({ "socket": sandbox.path(socket), "path": sandbox.path(top) })
    });
    assert_eq!(monitors(), serde_json::json!(named));
    let (_, table) = sandbox.vigil_daemon(&["status"]);
    for (top, socket) in sockets.map(|(top, socket)| (sandbox.path(top), sandbox.path(socket))) {
        let line = format!("git asks about {} at {}\n", top.display(), socket.display());
        assert!(table.contains(&line), "{table}");
    }
    // A monitor whose socket is gone is not listed.
    fs::remove_file(sandbox.path(sockets[1].1)).unwrap();
    sandbox.vigil("work", &["fsmonitor", "stop"]);
    assert_eq!(monitors(), serde_json::json!([]));
}

#[test]
fn a_socket_on_a_disk_that_hangs_keeps_no_git_elsewhere_waiting() {
    run_with_fuse("git_sockets::socket_on_a_disk_that_hangs");
}

#[test]
#[ignore = "run by the test above"]
fn socket_on_a_disk_that_hangs() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    sandbox.make_repository("hangs", &[]);
    let _serving = sandbox.serve();
    for top in ["work", "hangs"] {
        let started = sandbox.vigil(top, &["fsmonitor", "start"]);
        assert!(started.status.success(), "{started:?}");
    }
    let _disk = HangingDisk::mount(&sandbox, "hangs");
    // The list of the sockets that are in place is not finished.
    let (code, message) = sandbox.vigil_daemon(&["status"]);
    assert_eq!(code, Some(1), "{message}");
    let socket = sandbox.path("work/.git/fsmonitor--daemon.ipc");
    let answer = socket_answer(&socket, b"000aflush\x000000");
    assert!(answer.contains_str("builtin:"), "{}", answer.as_bstr());
    sandbox.assert_answered_as_by_git("work");
}

#[test]
fn a_flush_makes_earlier_tokens_invalid() {
    let sandbox = with_folders();
    sandbox.make_repository("other", &[]);
    let _serving = sandbox.serve();
    for top in ["work", "other"] {
        let started = sandbox.vigil(top, &["fsmonitor", "start"]);
        assert!(started.status.success(), "{started:?}");
    }
    let flush = |top: &str| {
        let socket = sandbox.path(top).join(".git/fsmonitor--daemon.ipc");
        let answer = socket_answer(&socket, b"000aflush\x000000");
        assert!(answer.ends_with(b"\0/\x000000"), "{answer:?}");
    };
    let token = settled_token(&sandbox);
    flush("other");
    assert_eq!(query(&sandbox, &token).1, Vec::<String>::new());
    flush("work");
    let (new, everything) = query(&sandbox, &token);
    assert_eq!(everything, EVERYTHING);
    assert_eq!(query(&sandbox, &token).1, EVERYTHING);
    let (new, _) = query(&sandbox, &new);
    sandbox.write("work/a/new", "");
    assert_eq!(query(&sandbox, &new).1, ["a/new"]);
}

#[test]
fn a_repository_that_was_moved_is_not_answered_for() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    assert!(
        sandbox
            .vigil("work", &["fsmonitor", "start"])
            .status
            .success()
    );
    fs::rename(sandbox.path("work"), sandbox.path("moved")).unwrap();
    sandbox.make_repository("work", &[]);
    let answer = socket_answer(
        &sandbox.path("moved/.git/fsmonitor--daemon.ipc"),
        b"0010builtin:fake0000",
    );
    assert!(
        answer.ends_with(b"builtin:none.0.0:0\0/\x000000"),
        "{answer:?}"
    );
}

#[test]
fn a_repository_elsewhere_is_asked_about_whatever_lies_at_the_top_of_its_working_tree() {
    for (git, is_socket) in gits_and_ways() {
        for has_repository_at_top in [true, false] {
            let sandbox = with_folders();
            let _serving = sandbox.serve();
            let top = sandbox.path("work");
            let git_dir = sandbox.path("elsewhere");
            let run = |program: &str, arguments: &[&str]| {
                let mut command = sandbox.command(program, "work", arguments);
                let output = command.env("GIT_DIR", &git_dir).output().unwrap();
                assert!(output.status.success(), "{output:?}");
                String::from_utf8(output.stdout).unwrap()
            };
            run(&git, &["init", "-q"]);
            run(&git, &["config", "core.bare", "false"]);
            run(&git, &["config", "core.worktree", top.to_str().unwrap()]);
            sandbox.write("work/.git/info/exclude", "ignored/\n");
            sandbox.write("work/ignored/file", "");
            run(&git, &["add", "-f", "ignored/file"]);
            match has_repository_at_top {
                true => install_monitor(&sandbox, is_socket),
                false => fs::remove_dir_all(top.join(".git")).unwrap(),
            }
            let way = if is_socket { "--socket" } else { "--hook" };
            run(VIGIL, &["fsmonitor", "install", way]);
            let status =
                |options: &[&str]| run(&git, &[options, &["status", "--porcelain"]].concat());
            for _ in 0..3 {
                wait_for_tick();
                status(&[]);
            }
            let (before, _) = sandbox.question_counts();
            sandbox.write("work/ignored/file", "changed");
            sandbox.write("work/ignored/new", "");
            let ours = status(&[]);
            assert_eq!(ours, status(&["-c", "core.fsmonitor=false"]), "{git}");
            assert!(ours.contains("?? ignored/new"), "{ours}");
            assert!(sandbox.question_counts().0 > before, "{git}");
        }
    }
}

#[test]
fn a_socket_is_about_the_repositorys_own_working_tree() {
    for (git, is_socket) in gits_and_ways() {
        if !is_socket {
            continue;
        }
        let sandbox = with_folders();
        install_monitor(&sandbox, true);
        sandbox.vigil_daemon(&["stop"]);
        std::os::unix::fs::symlink("work", sandbox.path("link")).unwrap();
        for git_dir in ["work/.git", "link/.git"] {
            // A daemon that is new to the repository.
            let _serving = sandbox.serve();
            let git_dir = sandbox.path(git_dir);
            let in_folder = |program: &str, arguments: &[&str]| {
                let mut command = sandbox.command(program, "work/a", arguments);
                let output = command.env("GIT_DIR", &git_dir).output().unwrap();
                assert!(output.status.success(), "{output:?}");
                String::from_utf8(output.stdout).unwrap()
            };
            let status = ["status", "--porcelain"];
            let about = || sandbox.daemon_status()["monitors"].clone();
            in_folder(VIGIL, &status);
            let monitors = about();
            assert_eq!(monitors[0]["path"], serde_json::json!(sandbox.path("work")));
            assert!(sandbox.vigil("work", &["status"]).status.success());
            in_folder(VIGIL, &status);
            assert_eq!(about(), monitors);
            // git finds the same there as without a monitor.
            let plain = ["-c", "core.fsmonitor=false", "status", "--porcelain"];
            for text in ["", "changed", "changed again"] {
                wait_for_tick();
                sandbox.write("work/a/b/c/file", text);
                assert_eq!(in_folder(&git, &status), in_folder(&git, &plain));
            }
        }
    }
}
