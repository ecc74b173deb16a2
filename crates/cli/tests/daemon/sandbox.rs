//! A home directory, repositories, and a folder for the daemon, isolated from the user's own.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use vigil_testkit::process;

pub(crate) const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A generous time limit for what should happen at once.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    /// Whether clients wait for the daemon only as long as for a user.
    pub(crate) is_impatient: bool,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self {
            folder: folder.unwrap(),
            is_impatient: false,
        }
    }

    /// Makes one with a repository `work` that has one commit of the files `file` and `dir/other`.
    pub(crate) fn with_repository() -> Self {
        let sandbox = Self::new();
        sandbox.make_repository("work", &[]);
        sandbox
    }

    pub(crate) fn make_repository(&self, name: &str, options: &[&str]) {
        std::fs::create_dir_all(self.path(name)).unwrap();
        self.git_in(name, &[&["init", "-q", "-b", "main"], options].concat());
        self.write(&format!("{name}/file"), "recorded\n");
        self.write(&format!("{name}/dir/other"), "recorded, too\n");
        self.git_in(name, &["add", "."]);
        self.git_in(name, &["commit", "-q", "-m", "first"]);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The daemon's folder.
    pub(crate) fn runtime_folder(&self) -> PathBuf {
        self.path("run")
    }

    pub(crate) fn write(&self, name: &str, contents: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    pub(crate) fn git_in(&self, name: &str, arguments: &[&str]) {
        let output = self.command("git", name, arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
    }

    pub(crate) fn command(&self, program: &str, folder: &str, arguments: &[&str]) -> Command {
        let mut command = process::command(program);
        command
            .args(arguments)
            .current_dir(self.path(folder))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path(""))
            .env("VIGIL_RUNTIME_DIR", self.runtime_folder())
            // A busy machine is slow; that is no reason to do without the daemon here.
            .env("VIGIL_DAEMON_PATIENCE_MS", "60000")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "protocol.file.allow")
            .env("GIT_CONFIG_VALUE_0", "always")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@b")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@b");
        command
    }

    pub(crate) fn vigil(&self, folder: &str, arguments: &[&str]) -> Output {
        self.command(VIGIL, folder, arguments).output().unwrap()
    }

    /// A command that runs Vigil and waits for the daemon only as long as it would for a user.
    pub(crate) fn impatient_command(&self, folder: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(VIGIL, folder, arguments);
        command.env_remove("VIGIL_DAEMON_PATIENCE_MS");
        command
    }

    /// Runs `vigil daemon` with `arguments`. Returns its exit code, and its output on both streams.
    pub(crate) fn vigil_daemon(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.vigil("", &[&["daemon"], arguments].concat());
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(printed).unwrap())
    }

    /// Starts a daemon that ends with the test.
    pub(crate) fn serve(&self) -> RunningDaemon {
        RunningDaemon::start(self.command(VIGIL, "", &["daemon", "run"]))
    }

    /// The status of `folder` by `program`, in two formats that together show everything.
    pub(crate) fn full_status_by(&self, program: &str, folder: &str) -> String {
        let formats = [
            &["status", "--porcelain=v2", "--branch", "-uall"][..],
            &["status", "-s", "--ignored"],
        ];
        let printed = formats.map(|arguments| {
            let mut command = self.command(program, folder, arguments);
            if self.is_impatient {
                command.env_remove("VIGIL_DAEMON_PATIENCE_MS");
            }
            let output = command.env("GIT_OPTIONAL_LOCKS", "0").output().unwrap();
            format!(
                "{:?}\n{}",
                output.status.code(),
                String::from_utf8(output.stdout).unwrap()
            )
        });
        printed.concat()
    }

    /// Asserts that the answers for `folder` are git's. Vigil is asked first and immediately.
    #[track_caller]
    pub(crate) fn assert_answered_as_by_git(&self, folder: &str) {
        let ours = self.full_status_by(VIGIL, folder);
        assert_eq!(ours, self.full_status_by("git", folder), "{folder}");
    }

    /// The daemon's description of itself.
    pub(crate) fn daemon_status(&self) -> serde_json::Value {
        let (code, text) = self.vigil_daemon(&["status", "--json"]);
        assert_eq!(code, Some(0), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// How many questions the daemon has answered, and how many it has declined.
    pub(crate) fn question_counts(&self) -> (u64, u64) {
        let daemon = self.daemon_status();
        let count = |key: &str| daemon[key].as_u64().unwrap();
        (count("questions"), count("declined"))
    }

    /// The daemons of this sandbox, including those that are just starting.
    pub(crate) fn daemon_pids(&self) -> Vec<i32> {
        let folder = format!("VIGIL_RUNTIME_DIR={}\0", self.runtime_folder().display());
        let is_ours = |pid: &i32| {
            let of = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            of("cmdline").starts_with(b"vigil\0daemon\0run\0")
                && String::from_utf8_lossy(&of("environ")).contains(&folder)
        };
        let all = std::fs::read_dir("/proc").unwrap();
        let pids = all.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        pids.filter(is_ours).collect()
    }

    /// The number of folders that the daemon watches.
    pub(crate) fn watch_count(&self) -> u64 {
        self.daemon_status()["watches"].as_u64().unwrap()
    }

    pub(crate) fn is_runtime_folder_empty(&self) -> bool {
        std::fs::read_dir(self.runtime_folder())
            .unwrap()
            .next()
            .is_none()
    }
}

/// The process id in `text`, which contains `pid 1` or `(pid 1)`.
pub(crate) fn pid_in(text: &str) -> i32 {
    let rest = &text[text.find("pid ").unwrap_or_else(|| panic!("{text}")) + 4..];
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap();
    rest[..end].parse().unwrap()
}

pub(crate) fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// A daemon in the foreground. Dropping this kills it.
pub(crate) struct RunningDaemon {
    child: Child,
}

impl RunningDaemon {
    /// Starts it and waits until it can be asked.
    pub(crate) fn start(command: Command) -> Self {
        Self::try_start(command).unwrap()
    }

    /// Same as [`Self::start`], but returns `None` if the daemon does not get to serve.
    pub(crate) fn try_start(mut command: Command) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut line).unwrap();
        let serving = Self { child };
        line.starts_with("serving on ").then_some(serving)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn signal(&self, which: Signal) {
        signal(self.pid(), which);
    }

    /// Lets it have at most `count` descriptors; `None` for as many as before.
    pub(crate) fn limit_descriptors(&self, count: Option<u64>) {
        let pid = Pid::from_child(&self.child);
        process::limit_descriptors(pid, count).unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !self.is_running()
    }

    /// Same as [`Self::signal`], unless the daemon has ended.
    pub(crate) fn signal_if_running(&mut self, which: Signal) {
        if self.is_running() {
            self.signal(which);
        }
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Waits until a signal has stopped it.
    pub(crate) fn wait_until_halted(&self) {
        while !process::is_halted(self.child.id()).unwrap() {
            std::thread::yield_now();
        }
    }
}

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
