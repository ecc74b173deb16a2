//! Kills, again and again, the daemon that git asks as its monitor, between git's commands and during them.
//!
//! After each command, the answer of `git status` is compared with that of a git without a monitor; and once more while no
//! daemon serves, and the files of the dead one may be in the way.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::chance::Chance;
use crate::daemon::runtime_folder;
use crate::git_without_monitor::{self, PriorState, UntrackedSource};
use crate::monitor::{Monitor, Transport};
use crate::process::{self, Ending, Outcome};
use crate::sandbox::{Sandbox, SandboxError, while_doing};

/// The time limit for a git command, which would wait forever at a socket where nobody answers.
const GIT_LIMIT: Duration = Duration::from_secs(60);

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct KillSettings {
    /// The monitor whose daemon is killed.
    pub monitor: Monitor,
    /// The git that asks the monitor.
    pub git: PathBuf,
    /// The seed of the random choices.
    pub seed: u64,
    /// The number of kills.
    pub count: usize,
    /// The folder of the sandbox.
    pub parent: PathBuf,
}

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of kills.
    pub kills: usize,
    /// The number of kills while git ran.
    pub kills_during_git: usize,
    /// The number of comparisons.
    pub comparisons: usize,
    /// The number of wrong answers that git alone, with its untracked cache or its own monitor, gives too.
    pub git_faults: usize,
    /// The number of questions that daemons answered before they were killed.
    pub answered: u64,
    /// Descriptions of everything that went wrong.
    pub failures: Vec<String>,
}

impl Report {
    /// Whether git asked the daemon, and nothing went wrong.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty() && self.answered > 0
    }
}

/// Kills the daemon as often as requested, or until something goes wrong.
///
/// # Errors
/// The sandbox cannot be created, or a program cannot be started.
pub fn run(kills: &KillSettings) -> Result<Report, SandboxError> {
    let mut sandbox = Sandbox::in_folder(&kills.parent, &kills.git)?;
    let runtime = runtime_folder(sandbox.root());
    kills.monitor.set_up(&mut sandbox, &runtime)?;
    let mut run = Run {
        kills,
        sandbox,
        chance: Chance::new(kills.seed),
        report: Report::default(),
        last_duration: Duration::from_millis(20),
    };
    let outcome = run.run_rounds();
    // Leave no process behind, whatever happened.
    run.stop_gits_own_daemon();
    let _ = run.vigil(&["daemon", "stop"]);
    outcome?;
    Ok(run.report)
}

/// The state of a run in one sandbox.
struct Run<'k> {
    kills: &'k KillSettings,
    sandbox: Sandbox,
    chance: Chance,
    report: Report,
    /// How long the last git command took.
    last_duration: Duration,
}

/// Folders in which changes happen. Some are nested, and they get renamed.
const FOLDERS: [&str; 6] = ["a", "a/b", "a/b/c", "d", "d/e", "new"];
const FILES: [&str; 4] = ["one", "two", "three.o", "four"];

impl Run<'_> {
    fn run_rounds(&mut self) -> Result<(), SandboxError> {
        self.create_repository()?;
        while self.report.kills < self.kills.count && self.report.failures.is_empty() {
            self.run_round()?;
        }
        Ok(())
    }

    /// Creates the repository that git is asked about.
    fn create_repository(&mut self) -> Result<(), SandboxError> {
        self.sandbox.run_git("", &["init", "-q", "work"])?;
        for folder in FOLDERS {
            for file in FILES {
                self.write(&format!("{folder}/{file}"))?;
            }
        }
        let hook = self.sandbox.path_from_root("home/vigil-fsmonitor-hook");
        let hook = hook.to_string_lossy();
        let monitor = match self.kills.monitor.transport {
            Transport::Hook => &*hook,
            Transport::Socket => "true",
        };
        for arguments in [
            &["add", "a", "d"][..],
            &["commit", "-qm", "first"],
            &["config", "core.untrackedCache", "true"],
            &["config", "core.fsmonitor", monitor],
            &["config", "core.excludesFile", "/nowhere"],
        ] {
            let mut command = self.git(arguments);
            // No daemon serves yet.
            command.env("VIGIL_NO_DAEMON", "1");
            self.run(&mut command)?;
        }
        self.stop_gits_own_daemon();
        Ok(())
    }

    /// Kills the daemon once, with comparisons before and after.
    fn run_round(&mut self) -> Result<(), SandboxError> {
        let Some(pid) = self.start_daemon()? else {
            return Ok(());
        };
        // git must learn something from the daemon first, so that it can be wrong about it.
        self.compare("served", false)?;
        self.change_working_tree()?;
        self.compare("served, and asked again", false)?;
        self.report.answered += self.question_count()?;
        for _ in 0..self.chance.below(3) {
            self.change_working_tree()?;
        }
        if self.chance.below(4) == 0 {
            self.kill(pid);
            self.compare("killed before", true)?;
        } else {
            let command = self.random_git_command();
            let git_outcome = self.run_and_kill(&command, pid)?;
            if git_outcome.ending == Ending::TimedOut {
                self.record_failure(&format!("{command:?} does not end"));
            }
            self.compare("killed during", true)?;
        }
        for _ in 0..self.chance.below(3) {
            self.change_working_tree()?;
        }
        self.compare("nobody serves", true)?;
        self.stop_gits_own_daemon();
        Ok(())
    }

    /// Starts a daemon, and returns its process id.
    fn start_daemon(&mut self) -> Result<Option<u64>, SandboxError> {
        let output = self.vigil(&["daemon", "start"])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let pid = text.split_once("(pid ").and_then(|(_, rest)| {
            let end = rest.find(')')?;
            rest.get(..end)?.parse().ok()
        });
        if pid.is_none() {
            self.record_failure(&format!("no daemon can be started: {output:?}"));
            return Ok(None);
        }
        if self.kills.monitor.transport == Transport::Socket {
            let output = self.vigil(&["fsmonitor", "start"])?;
            if !output.success() {
                self.record_failure(&format!("the socket is not served: {output:?}"));
                return Ok(None);
            }
        }
        Ok(pid)
    }

    fn question_count(&self) -> Result<u64, SandboxError> {
        let output = self.vigil(&["daemon", "status", "--json"])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = text.split_once("\"questions\":").and_then(|(_, rest)| {
            let end = rest.find(',')?;
            rest.get(..end)?.parse().ok()
        });
        Ok(number.unwrap_or(0))
    }

    /// Runs git, and kills the daemon at a random moment, about until git's expected end.
    fn run_and_kill(&mut self, arguments: &[&str], pid: u64) -> Result<Outcome, SandboxError> {
        let parts = u32::try_from(self.chance.below(1000)).unwrap_or_default();
        let moment = self.last_duration.saturating_mul(parts) / 1000;
        let mut command = self.git(arguments);
        let begin = Instant::now();
        let git_outcome = std::thread::scope(|scope| {
            let git = scope.spawn(|| process::run(&mut command, None, GIT_LIMIT));
            while begin.elapsed() < moment && !git.is_finished() {
                std::thread::yield_now();
            }
            self.report.kills_during_git += usize::from(!git.is_finished());
            self.kill(pid);
            git.join()
        });
        self.last_duration = begin.elapsed();
        let git_outcome =
            git_outcome.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
        git_outcome.map_err(while_doing("running git"))
    }

    /// Kills the daemon, and waits until it is gone. Before that, git may still find it, and die of a closing socket.
    fn kill(&mut self, pid: u64) {
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return;
        };
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
            return;
        };
        if pidfd_send_signal(&process, Signal::KILL).is_ok() {
            self.report.kills += 1;
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], None);
        }
    }

    /// Compares git's answers with and without a monitor. If `without_daemon`, this must not start a daemon.
    fn compare(&mut self, when: &str, without_daemon: bool) -> Result<(), SandboxError> {
        let mut asking = self.git(&["status", "--porcelain=v2"]);
        if without_daemon {
            asking.env("VIGIL_NO_DAEMON", "1");
        }
        asking.env(
            "GIT_TRACE2_EVENT",
            git_without_monitor::trace_file(&self.sandbox),
        );
        let before = PriorState::record(&self.sandbox);
        let ours = self.run(&mut asking)?;
        let plain = |untracked| {
            let mut plain = self.git(&["-c", "core.fsmonitor=false", "status", "--porcelain=v2"]);
            if untracked == UntrackedSource::Scanned {
                plain.env("GIT_DISABLE_UNTRACKED_CACHE", "1");
            }
            plain
        };
        let theirs = self.run(plain(UntrackedSource::Scanned).env("GIT_OPTIONAL_LOCKS", "0"))?;
        // git may complain about a broken connection.
        let printed = |outcome: &Outcome| (outcome.ending, outcome.stdout.clone());
        let is_same = printed(&ours) == printed(&theirs);
        let is_git_fault = !is_same
            && before.is_git_fault(&self.sandbox, |untracked| {
                let alone = self.run(&mut plain(untracked))?;
                Ok::<_, SandboxError>(printed(&ours) == printed(&alone))
            })?;
        self.report.comparisons += 1;
        self.report.git_faults += usize::from(is_git_fault);
        if !is_same && !is_git_fault {
            let text = |outcome: &Outcome| {
                let [stdout, stderr] = [&outcome.stdout, &outcome.stderr]
                    .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                format!("{:?}\n{stdout}{stderr}", outcome.ending)
            };
            self.record_failure(&format!(
                "{when}: with the monitor {}without {}git was told:\n{}",
                text(&ours),
                text(&theirs),
                before.monitor_answers()
            ));
        }
        Ok(())
    }

    fn record_failure(&mut self, text: &str) {
        let (seed, kills) = (self.kills.seed, self.report.kills);
        let text = format!("seed {seed}, after {kills} kills: {text}");
        self.report.failures.push(text);
    }

    /// Makes a random change in the working tree.
    fn change_working_tree(&mut self) -> Result<(), SandboxError> {
        let folder = self.chance.pick(&FOLDERS);
        let file = self.chance.pick(&FILES);
        let path = format!("{folder}/{file}");
        let at = |path: &str| self.sandbox.path_from_root(format!("work/{path}"));
        // Removing or renaming something that does not exist is harmless.
        match self.chance.below(8) {
            0..3 => return self.write(&path),
            3 => drop(std::fs::remove_file(at(&path))),
            4 => {
                let other = self.chance.pick(&FOLDERS);
                drop(std::fs::rename(at(folder), at(&format!("{other}/moved"))));
            }
            5 => drop(std::fs::rename(at("a/moved"), at(folder))),
            6 => drop(std::fs::remove_dir_all(at(folder))),
            _ => {
                let ignored = self.chance.pick(&["*.o\n", "new/\n", "moved\n", ""]);
                let _ = std::fs::write(at(".gitignore"), ignored);
            }
        }
        Ok(())
    }

    fn write(&mut self, path: &str) -> Result<(), SandboxError> {
        let at = self.sandbox.path_from_root(format!("work/{path}"));
        let text = format!("{}\n", self.chance.below(1 << 20));
        let made = at.parent().map_or(Ok(()), std::fs::create_dir_all);
        // A file may be in the place of a folder, or a folder in that of a file.
        let _ = made.and_then(|()| std::fs::write(at, text));
        Ok(())
    }

    /// A random git command to run while the daemon is killed.
    fn random_git_command(&mut self) -> Vec<&'static str> {
        const COMMANDS: [&[&str]; 8] = [
            &["status", "--porcelain"],
            &["status", "--porcelain", "-uall"],
            &["diff", "--stat"],
            &["add", "a"],
            &["add", "-A"],
            &["commit", "-qam", "more"],
            &["stash", "-q"],
            &["checkout", "-q", "HEAD", "."],
        ];
        self.chance.pick(&COMMANDS).to_vec()
    }

    fn git(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.isolated(&self.kills.git, b"work");
        command.args(arguments);
        command
    }

    fn vigil(&self, arguments: &[&str]) -> Result<Outcome, SandboxError> {
        let program = &self.kills.monitor.program;
        let mut command = self.sandbox.isolated(program, b"work");
        self.run(command.args(arguments))
    }

    fn run(&self, command: &mut Command) -> Result<Outcome, SandboxError> {
        process::run(command, None, GIT_LIMIT).map_err(while_doing("running a program"))
    }

    /// Stops git's own monitor, which git starts if nobody answers at the socket. It would make way for the next daemon.
    fn stop_gits_own_daemon(&self) {
        if self.kills.monitor.transport == Transport::Socket {
            let _ = self.run(&mut self.git(&["fsmonitor--daemon", "stop"]));
        }
    }
}
