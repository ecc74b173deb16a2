//! A process that may not open as many files as it needs: what it could not read, it reads at the next question.

use std::fs::File;
use std::os::fd::AsRawFd;

use rustix::fs::FlockOperation;
use rustix::io::FdFlags;

use super::sandbox::Sandbox;

/// More descriptors than an answer needs.
const ENOUGH: u64 = 24;

const SKIP_INDEX: &[u8] = b"\x1f1";

#[test]
fn what_could_not_be_opened_is_read_by_the_next_question() {
    let sandbox = Sandbox::with_repository();
    let top = sandbox.top();
    sandbox.git(["config", "branch.main.remote", "origin"]);
    sandbox.git(["config", "branch.main.merge", "refs/heads/main"]);
    sandbox.git(["config", "remote.origin.url", "nowhere"]);
    let fetch = "+refs/heads/*:refs/remotes/origin/*";
    sandbox.git(["config", "remote.origin.fetch", fetch]);
    sandbox.git(["checkout", "-q", "-B", "main"]);
    for round in 0..2 {
        let mut daemon = sandbox.without_limits();
        for count in 3..ENOUGH {
            // Each is a loose reference in a directory that is new.
            let tag = format!("round-{round}/count-{count}/tag");
            sandbox.git(["commit", "-q", "--allow-empty", "-m", &tag]);
            sandbox.git(["tag", &tag]);
            sandbox.git(["update-ref", "refs/remotes/origin/main", "HEAD^"]);
            sandbox.write(format!("new-{count}/new"), "");
            sandbox.write("file", &tag);
            if round == 1 {
                sandbox.git(["stash", "-q"]);
            }
            if count % 2 == 0 {
                daemon = sandbox.without_limits();
                // It must have started, which takes descriptors of its own. This names no directory.
                daemon.ask("hello");
            }
            daemon.limit_descriptors(Some(count));
            // With a scan, it is the scan that fails first.
            let during = daemon.ask_with(&top, SKIP_INDEX);
            daemon.limit_descriptors(None);
            let expected = sandbox.without_limits().ask(&top);
            assert_eq!(expected.field(18), tag.as_bytes());
            assert_eq!(daemon.ask(&top), expected, "{count} {during:?}");
        }
    }
}

#[test]
fn a_client_that_cannot_be_looked_at_is_still_there() {
    let sandbox = Sandbox::with_repository();
    let lock = File::create(sandbox.path("lock")).unwrap();
    rustix::fs::fcntl_lock(&lock, FlockOperation::LockExclusive).unwrap();
    rustix::io::fcntl_setfd(&lock, FdFlags::empty()).unwrap();
    let fd = lock.as_raw_fd().to_string();
    let parent = std::process::id().to_string();
    for arguments in [&["-l", &fd][..], &["--attached", "-p", &parent]] {
        let known = ["-v", "INFO", "-r", "0"];
        let mut daemon = sandbox.gitstatusd(&[&known, arguments].concat());
        let first = daemon.ask(sandbox.path("work"));
        // No more than the standard streams.
        daemon.limit_descriptors(Some(3));
        // It forgets only after it has looked for the client.
        daemon.wait_for_message("forgot");
        daemon.limit_descriptors(None);
        assert_eq!(daemon.ask(sandbox.path("work")), first, "{arguments:?}");
    }
}
