//! `vigil watch`: a line at the start, and one whenever the answer changes.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use vigil_testkit::sandbox::skip_test;

use super::namespaces::{HangingDisk, is_in_namespaces, run_with_fuse};
use super::sandbox::{RunningDaemon, Sandbox, TIME_LIMIT, VIGIL, signal};

/// A running `vigil watch`. Dropping this kills it.
pub(crate) struct WatchProcess {
    child: Child,
    /// `None` once nobody reads.
    lines: Option<BufReader<ChildStdout>>,
}

impl WatchProcess {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let lines = Some(lines);
        Self { child, lines }
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        let lines = self.lines.as_mut().unwrap();
        lines.read_line(&mut line).unwrap();
        line
    }

    /// Returns the next line, and asserts that it contains `part`. No two successive lines are equal.
    #[track_caller]
    fn assert_next_contains(&mut self, part: &str) -> String {
        let line = self.next_line();
        assert!(line.contains(part), "{part:?} is not in {line:?}");
        line
    }

    fn signal(&self, which: Signal) {
        signal(i32::try_from(self.child.id()).unwrap(), which);
    }

    /// Returns its exit status and everything it wrote to standard error.
    fn end(mut self) -> (ExitStatus, String) {
        let mut errors = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap(), errors)
    }
}

impl Drop for WatchProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sandbox {
    pub(crate) fn watch(&self, folder: &str, arguments: &[&str]) -> WatchProcess {
        WatchProcess::start(self.command(VIGIL, folder, &[&["watch"], arguments].concat()))
    }

    /// Starts one that does without the daemon.
    fn watch_without_daemon(&self, folder: &str) -> WatchProcess {
        let mut command = self.command(VIGIL, folder, &["watch"]);
        command.env("VIGIL_NO_DAEMON", "1");
        WatchProcess::start(command)
    }

    fn status_as(&self, format: &str) -> String {
        let output = self.vigil("work", &["status", &format!("--format={format}")]);
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Less than the time after which the daemon finds every answer again, though it has heard of no change.
const RECHECK_INTERVAL_MIN: Duration = Duration::from_secs(20);

const CLEAN: &str =
    "main ahead - behind - staged 0 unstaged 0 untracked 0 conflicted 0 stashes 0 action -\n";

#[test]
fn each_change_is_one_line_for_every_watcher_and_nothing_else_is() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let mut lines = [
        sandbox.watch("work", &[]),
        sandbox.watch("work/dir", &[]),
        sandbox.watch("work", &["--format", "line"]),
    ];
    let mut json = sandbox.watch("work", &["--format=json"]);
    let mut all_say = |part: &str, takes_steps: bool| {
        for one in &mut lines {
            let mut line = one.next_line();
            while takes_steps && !line.contains(part) {
                // On a busy machine there may be a line about the state in between.
                line = one.next_line();
            }
            assert!(line.contains(part), "{part:?} is not in {line:?}");
            assert_eq!(line, sandbox.status_as("line"));
        }
        let mut object = json.next_line();
        while object != sandbox.status_as("json") {
            // JSON also shows what the line leaves out.
            object = json.next_line();
        }
    };
    all_say(CLEAN, false);
    sandbox.write("work/file", "changed\n");
    all_say(" staged 0 unstaged 1 untracked 0 ", false);
    // This does not change the answer.
    sandbox.write("work/file", "changed again\n");
    sandbox.write("work/.git/info/note", "");
    sandbox.write("work/new", "");
    all_say(" staged 0 unstaged 1 untracked 1 ", false);
    sandbox.git_in("work", &["add", "-A"]);
    all_say(" staged 2 unstaged 0 untracked 0 ", true);
    sandbox.git_in("work", &["commit", "-qm", "second"]);
    all_say(CLEAN, true);
    sandbox.git_in("work", &["checkout", "-q", "-b", "side", "HEAD~"]);
    all_say("side ahead - ", true);
    sandbox.write("work/file", "otherwise\n");
    sandbox.git_in("work", &["stash", "-q"]);
    all_say(" stashes 1 action -", true);
    // Those of the commands above are closed at any time.
    let deadline = Instant::now() + TIME_LIMIT;
    while sandbox.daemon_status()["connections"] != 5 {
        assert!(Instant::now() < deadline, "{}", sandbox.daemon_status());
    }
}

#[test]
fn a_disk_that_hangs_keeps_no_change_elsewhere_from_watchers() {
    run_with_fuse("watch::beside_a_disk_that_hangs");
}

#[test]
#[ignore = "run by the test above"]
fn beside_a_disk_that_hangs() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    sandbox.make_repository("hangs", &[]);
    std::fs::create_dir(sandbox.path("hangs/empty")).unwrap();
    let _serving = sandbox.serve();
    let mut beside = sandbox.watch("work", &[]);
    beside.assert_next_contains(CLEAN);
    let mut hangs = sandbox.watch("hangs", &[]);
    hangs.assert_next_contains(CLEAN);
    let _disk = HangingDisk::mount(&sandbox, "hangs/empty");
    for number in 1..4 {
        sandbox.write(&format!("work/new-{number}"), "");
        beside.assert_next_contains(&format!(" untracked {number} "));
    }
}

#[test]
fn changes_without_events_are_found_by_watch() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    std::fs::hard_link(sandbox.path("work/file"), sandbox.path("outside")).unwrap();
    let mut watching = sandbox.watch("work", &[]);
    watching.assert_next_contains(" unstaged 0 ");
    sandbox.write("outside", "changed\n");
    watching.assert_next_contains(" unstaged 1 ");
}

/// Starts a daemon whose system calls fail as strace(1) is told by `options`. `None` if that is not possible.
fn serve_with_fault(sandbox: &Sandbox, fault: &str, options: &[&str]) -> Option<RunningDaemon> {
    let traced = |command: &[&str]| {
        let arguments = [&["-f", "-o", "/dev/null"], options, command].concat();
        sandbox.command("strace", "", &arguments)
    };
    let tried = traced(&["true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        skip_test(fault, "strace cannot be used");
        return None;
    }
    Some(RunningDaemon::start(traced(&[VIGIL, "daemon", "run"])))
}

#[test]
fn changes_that_the_daemon_has_no_thread_to_report_are_found_by_watch() {
    // The daemon starts two threads that answer, then the one that reports changes, and the one that reads events.
    for missing in 3..5 {
        let sandbox = Sandbox::with_repository();
        let fault = format!("inject=clone3:error=EAGAIN:when={missing}");
        let options = ["-e", "trace=clone3", "-e", &fault];
        let Some(_serving) = serve_with_fault(&sandbox, "threads that cannot be started", &options)
        else {
            return;
        };
        let mut watching = sandbox.watch("work", &[]);
        watching.assert_next_contains(" untracked 0 ");
        let start = Instant::now();
        sandbox.write("work/new", "");
        watching.assert_next_contains(" untracked 1 ");
        assert!(start.elapsed() < RECHECK_INTERVAL_MIN);
        let (code, message) = sandbox.vigil_daemon(&["stop"]);
        assert_eq!(code, Some(0), "{message}");
    }
}

#[test]
fn a_change_is_reported_though_waiting_for_events_failed_before() {
    let sandbox = Sandbox::with_repository();
    let serving = sandbox.serve();
    let mut watching = sandbox.watch("work", &[]);
    watching.assert_next_contains(" untracked 0 ");
    let threads = std::fs::read_dir(format!("/proc/{}/task", serving.pid())).unwrap();
    let named = |folder: &std::path::PathBuf| {
        std::fs::read(folder.join("comm")).is_ok_and(|name| name == b"events\n")
    };
    let mut threads = threads.map(|thread| thread.unwrap().path());
    let reader = threads.find(named).unwrap();
    let reader = reader.file_name().unwrap().to_str().unwrap();
    let fault = [
        "-e",
        "trace=ppoll",
        "-e",
        "inject=ppoll:error=ENOMEM:when=1",
    ];
    let options = [&["-p", reader, "-o", "/dev/null"][..], &fault].concat();
    let mut tracing = sandbox.command("strace", "", &options);
    let Ok(mut tracing) = tracing.stderr(Stdio::piped()).spawn() else {
        return skip_test("waiting for events that fails", "strace cannot be used");
    };
    let mut told = String::new();
    let mut stderr = BufReader::new(tracing.stderr.take().unwrap());
    stderr.read_line(&mut told).unwrap();
    if told.contains(" attached") {
        for number in 1..4 {
            let start = Instant::now();
            sandbox.write(&format!("work/new-{number}"), "");
            watching.assert_next_contains(&format!(" untracked {number} "));
            assert!(start.elapsed() < RECHECK_INTERVAL_MIN);
        }
    } else {
        skip_test("waiting for events that fails", &told);
    }
    tracing.kill().unwrap();
    tracing.wait().unwrap();
}

#[test]
fn a_change_is_reported_though_waiting_for_changes_failed_before() {
    let sandbox = Sandbox::with_repository();
    // Only the thread that reports changes reads such a descriptor, after each of them.
    let descriptor = ["-P", "anon_inode:[eventfd]"];
    let fault = ["-e", "trace=read", "-e", "inject=read:error=ENOMEM:when=2"];
    let options = [&descriptor[..], &fault].concat();
    let Some(_serving) = serve_with_fault(&sandbox, "waiting that fails", &options) else {
        return;
    };
    let mut watching = sandbox.watch("work", &[]);
    watching.assert_next_contains(" untracked 0 ");
    for number in 1..4 {
        sandbox.write(&format!("work/new-{number}"), "");
        watching.assert_next_contains(&format!(" untracked {number} "));
    }
    let (code, message) = sandbox.vigil_daemon(&["stop"]);
    assert_eq!(code, Some(0), "{message}");
}

#[test]
#[cfg(target_env = "gnu")]
fn watch_keeps_no_memory_of_looks_of_its_own() {
    let sandbox = Sandbox::with_repository();
    sandbox.git_in("work", &["config", "status.showUntrackedFiles", "all"]);
    for folder in 0..10 {
        std::fs::create_dir(sandbox.path(&format!("work/{folder}"))).unwrap();
        for number in 0..4000 {
            let name = format!("work/{folder}/a_long_name_of_an_untracked_file_{number}");
            std::fs::File::create(sandbox.path(&name)).unwrap();
        }
    }
    let mut watching = sandbox.watch_without_daemon("work");
    watching.assert_next_contains(" untracked 40000 ");
    let status = std::fs::read_to_string(format!("/proc/{}/status", watching.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    let kilobytes = line.unwrap().split_ascii_whitespace().nth(1).unwrap();
    assert!(kilobytes.parse::<u64>().unwrap() < 4096, "{status}");
}

#[test]
fn a_daemon_that_is_killed_or_started_costs_watch_no_line() {
    let sandbox = Sandbox::with_repository();
    let first = sandbox.serve();
    let mut watching = sandbox.watch("work", &[]);
    watching.assert_next_contains(" untracked 0 ");
    drop(first);
    sandbox.write("work/one", "");
    watching.assert_next_contains(" untracked 1 ");
    // The watcher has started another daemon, or would have.
    sandbox.vigil_daemon(&["start"]);
    let deadline = Instant::now() + TIME_LIMIT;
    while sandbox.daemon_status()["connections"] != 2 {
        assert!(Instant::now() < deadline, "watch does not connect again");
        std::thread::yield_now();
    }
    sandbox.write("work/two", "");
    watching.assert_next_contains(" untracked 2 ");
    // Not an interrupt: if tests run in the background, it is ignored.
    watching.signal(Signal::TERM);
    let (status, errors) = watching.end();
    assert_eq!((status.signal(), errors.as_str()), (Some(15), ""));
    sandbox.vigil_daemon(&["stop"]);
}

#[test]
fn a_halted_daemon_costs_watch_no_line() {
    let sandbox = Sandbox::with_repository();
    let serving = sandbox.serve();
    let mut command = sandbox.command(VIGIL, "work", &["watch"]);
    command.env_remove("VIGIL_DAEMON_PATIENCE_MS");
    let mut watching = WatchProcess::start(command);
    watching.assert_next_contains(" untracked 0 ");
    serving.signal(Signal::STOP);
    sandbox.write("work/one", "");
    watching.assert_next_contains(" untracked 1 ");
    serving.signal(Signal::CONT);
    sandbox.write("work/two", "");
    watching.assert_next_contains(" untracked 2 ");
}

#[test]
fn watch_starts_a_daemon_where_one_is_wanted() {
    let sandbox = Sandbox::with_repository();
    let mut alone = sandbox.watch_without_daemon("work");
    alone.assert_next_contains(CLEAN);
    sandbox.git_in("work", &["config", "vigil.daemon", "false"]);
    let mut unwanted = sandbox.watch("work", &[]);
    unwanted.assert_next_contains(CLEAN);
    sandbox.write("work/one", "");
    unwanted.assert_next_contains(" untracked 1 ");
    alone.assert_next_contains(" untracked 1 ");
    assert!(sandbox.daemon_pids().is_empty());
    sandbox.git_in("work", &["config", "--unset", "vigil.daemon"]);
    let mut wanted = sandbox.watch("work", &[]);
    wanted.assert_next_contains(" untracked 1 ");
    let deadline = Instant::now() + TIME_LIMIT;
    while sandbox.daemon_pids().is_empty() {
        assert!(Instant::now() < deadline, "watch starts no daemon");
        std::thread::yield_now();
    }
    sandbox.write("work/two", "");
    wanted.assert_next_contains(" untracked 2 ");
    alone.assert_next_contains(" untracked 2 ");
    alone.signal(Signal::TERM);
    let (status, errors) = alone.end();
    assert_eq!((status.signal(), errors.as_str()), (Some(15), ""));
    drop(wanted);
    sandbox.vigil_daemon(&["start"]);
    sandbox.vigil_daemon(&["stop"]);
}

#[test]
fn watch_ends_when_nobody_reads_though_nothing_changes() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    for mut watching in [
        sandbox.watch("work", &[]),
        sandbox.watch_without_daemon("work"),
    ] {
        watching.assert_next_contains(CLEAN);
        watching.lines = None;
        let (status, errors) = watching.end();
        assert_eq!(status.signal(), Some(13));
        assert_eq!(errors, "");
    }
}

#[test]
fn watch_reports_a_missing_or_removed_repository_as_git_does() {
    let sandbox = Sandbox::with_repository();
    let git = |folder: &str| {
        let output = sandbox
            .command("git", folder, &["status"])
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    sandbox.write("elsewhere/file", "");
    let (status, errors) = sandbox.watch("elsewhere", &[]).end();
    assert_eq!((status.code(), errors), git("elsewhere"));
    assert_eq!(status.code(), Some(128));
    let _serving = sandbox.serve();
    let mut told = sandbox.watch("work", &[]);
    let mut alone = sandbox.watch_without_daemon("work");
    told.assert_next_contains(CLEAN);
    alone.assert_next_contains(CLEAN);
    std::fs::remove_dir_all(sandbox.path("work/.git")).unwrap();
    for watching in [told, alone] {
        let (status, errors) = watching.end();
        assert_eq!((status.code(), errors), git("work"));
    }
}

#[test]
fn watch_goes_with_its_directory_when_that_is_moved() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("work/folder/tracked", "");
    sandbox.git_in("work", &["add", "."]);
    sandbox.git_in("work", &["commit", "-qm", "folder"]);
    let _serving = sandbox.serve();
    let mut watching = [
        sandbox.watch("work/folder", &[]),
        sandbox.watch_without_daemon("work/folder"),
    ];
    for watching in &mut watching {
        watching.assert_next_contains(CLEAN);
    }
    std::fs::rename(sandbox.path("work"), sandbox.path("moved")).unwrap();
    sandbox.write("moved/new", "");
    for watching in &mut watching {
        watching.assert_next_contains(" untracked 1 ");
    }
    std::fs::rename(sandbox.path("moved/folder"), sandbox.path("moved/other")).unwrap();
    for watching in &mut watching {
        watching.assert_next_contains(" unstaged 1 untracked 2 ");
    }
}

#[test]
fn watch_tells_of_a_repository_of_another_system_as_soon_as_that_is_innermost() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let mut watching = sandbox.watch("work/dir", &[]);
    watching.assert_next_contains(CLEAN);
    sandbox.write("made/requires", "revlogv1\nstore\n");
    std::fs::rename(sandbox.path("made"), sandbox.path("work/dir/.hg")).unwrap();
    watching.assert_next_contains("default bookmark - ");
    sandbox.git_in("work/dir", &["init", "-q"]);
    watching.assert_next_contains(" ahead - behind - staged 0 unstaged 0 untracked 2 ");
}

#[test]
fn watch_without_daemon_stays_in_its_directory() {
    let sandbox = Sandbox::with_repository();
    let mut watching = sandbox.watch_without_daemon("work/dir");
    watching.assert_next_contains(CLEAN);
    sandbox.write("work/new", "");
    watching.assert_next_contains(" untracked 1 ");
    sandbox.git_in("work/dir", &["init", "-q"]);
    // The new repository tracks nothing yet.
    sandbox.git_in("work/dir", &["symbolic-ref", "HEAD", "refs/heads/inner"]);
    loop {
        let line = watching.next_line();
        assert!(!line.is_empty());
        if line.starts_with("inner ") {
            break;
        }
    }
}

#[test]
fn watch_without_daemon_finds_the_repository_by_relative_paths_each_time() {
    let sandbox = Sandbox::with_repository();
    let mut command = sandbox.command(VIGIL, "work/dir", &["watch"]);
    command.env("VIGIL_NO_DAEMON", "1");
    command.env("GIT_DIR", "../.git").env("GIT_WORK_TREE", "..");
    let mut watching = WatchProcess::start(command);
    watching.assert_next_contains(CLEAN);
    for number in 1..3 {
        sandbox.write(&format!("work/new{number}"), "");
        watching.assert_next_contains(&format!(" untracked {number} "));
    }
}
