//! `vigil gitstatusd` as driven by a shell.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::sandbox::{Sandbox, VIGIL};

pub(crate) struct Shell {
    child: Child,
    requests: ChildStdin,
    responses: ChildStdout,
}

impl Shell {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            requests: child.stdin.take().unwrap(),
            responses: child.stdout.take().unwrap(),
            child,
        }
    }

    /// Requests `directory` of the sandbox and returns the response.
    pub(crate) fn ask(&mut self, sandbox: &Sandbox, directory: &str) -> String {
        self.send(sandbox, directory);
        self.receive()
    }

    /// Sends a request for `directory` of the sandbox.
    pub(crate) fn send(&mut self, sandbox: &Sandbox, directory: &str) {
        let path = sandbox.path(directory);
        write!(self.requests, "id\x1f{}\x1e", path.display()).unwrap();
    }

    /// Receives the next response.
    pub(crate) fn receive(&mut self) -> String {
        let mut record = Vec::new();
        loop {
            let mut byte = [0];
            self.responses.read_exact(&mut byte).unwrap();
            if byte == [0x1e] {
                return String::from_utf8(record).unwrap();
            }
            record.push(byte[0]);
        }
    }

    /// Its child processes.
    pub(crate) fn children(&self) -> String {
        let pid = self.child.id();
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap()
    }

    /// Its open sockets, by their names in the kernel. All of them are connections to the daemon.
    pub(crate) fn daemon_sockets(&self) -> Vec<PathBuf> {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let open = open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        let is_socket = |path: &PathBuf| path.to_str().unwrap().starts_with("socket:");
        open.filter(is_socket).collect()
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it in an orderly way.
    pub(crate) fn end(self) {
        let Self {
            mut child,
            requests,
            responses,
        } = self;
        drop((requests, responses));
        assert!(child.wait().unwrap().success());
    }
}

impl Sandbox {
    pub(crate) fn shell_command(&self) -> Command {
        self.command(
            VIGIL,
            "",
            &["gitstatusd", "-s", "-1", "-u", "-1", "-d", "-1"],
        )
    }

    pub(crate) fn shell(&self) -> Shell {
        Shell::start(self.shell_command())
    }

    /// Starts one that answers without the daemon.
    pub(crate) fn shell_without_daemon(&self) -> Shell {
        let mut command = self.shell_command();
        command.env("VIGIL_NO_DAEMON", "1");
        Shell::start(command)
    }
}

#[test]
fn the_daemon_answers_for_all_shells_as_each_would() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let (mut one, mut two, mut lone) = (
        sandbox.shell(),
        sandbox.shell(),
        sandbox.shell_without_daemon(),
    );
    let mut asked = 0;
    let mut same = |directory: &str| {
        let want = lone.ask(&sandbox, directory);
        assert_eq!(one.ask(&sandbox, directory), want, "{directory}");
        assert_eq!(two.ask(&sandbox, directory), want, "{directory}");
        asked += 2;
        assert_eq!(sandbox.question_counts().0, asked);
    };
    same("work");
    sandbox.write("work/file", "changed\n");
    sandbox.write("work/new", "");
    same("work");
    same("work/dir");
    same("");
    same("missing");
    sandbox.git_in("work", &["add", "."]);
    same("work");
    sandbox.git_in("work", &["commit", "-qm", "second"]);
    sandbox.git_in("work", &["tag", "v1"]);
    same("work");
    sandbox.git_in("work", &["config", "bash.showUntrackedFiles", "false"]);
    sandbox.write("work/newer", "");
    same("work");
    std::fs::remove_dir_all(sandbox.path("work/.git")).unwrap();
    same("work");
}

#[test]
fn a_shell_starts_the_daemon_that_the_next_question_finds() {
    let sandbox = Sandbox::with_repository();
    let mut shell = sandbox.shell();
    let mut lone = sandbox.shell_without_daemon();
    let first = shell.ask(&sandbox, "work");
    assert_eq!(lone.ask(&sandbox, "work"), first);
    assert_eq!(lone.children(), "");
    while sandbox.vigil_daemon(&["status"]).0 != Some(0) {}
    // The shell may have repeated its question as soon as the daemon was there.
    let counts = || sandbox.question_counts().0;
    while counts() == 0 {
        assert_eq!(shell.ask(&sandbox, "work"), first);
    }
    let asked = counts();
    assert_eq!(shell.ask(&sandbox, "work"), first);
    assert_eq!(counts(), asked + 1);
    shell.end();
    // The daemon outlives the shell.
    assert_eq!(sandbox.shell().ask(&sandbox, "work"), first);
    assert_eq!(counts(), asked + 2);
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
}

#[test]
fn no_daemon_is_started_for_a_shell_that_wants_none() {
    let sandbox = Sandbox::with_repository();
    sandbox.write(".gitconfig", "[vigil]\n\tdaemon = false\n");
    let mut shell = sandbox.shell();
    shell.ask(&sandbox, "work");
    assert_eq!(shell.children(), "");
    // Nor for git's hook, of which this says why it has no answer.
    let asked = sandbox.vigil("work", &["fsmonitor", "query"]);
    let why: &[u8] = b"error: no daemon is running, and vigil.daemon is false\n";
    assert_eq!(asked.stderr, why);
    assert!(!sandbox.runtime_folder().exists());
    let _serving = sandbox.serve();
    shell.ask(&sandbox, "work");
    assert_eq!(sandbox.question_counts(), (0, 0));
    // Nor does it answer for a repository whose configuration forbids it.
    sandbox.vigil("work", &["status"]);
    assert_eq!(sandbox.question_counts(), (0, 1));
}
