//! git asking a monitor whose daemon is killed again and again, between its commands and during them.
//!
//! After each command `git status` is compared with that of a git without a monitor; and once more while nobody serves, and
//! whatever the daemon left there is in the way.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::alone::{self, Before, Untracked};
use crate::chance::Chance;
use crate::daemon::runtime_folder;
use crate::monitor::{Monitor, Way};
use crate::process::{self, Ending, Outcome};
use crate::sandbox::{Sandbox, SandboxError};

/// How long a git may take. One that is in the way of a socket at which nobody answers would wait for ever.
const LIMIT: Duration = Duration::from_secs(60);

/// What is to be tried.
#[derive(Clone, Debug)]
pub struct Kills {
    /// The program whose daemon is killed, and how git asks it.
    pub monitor: Monitor,
    /// The git that asks.
    pub git: PathBuf,
    /// Of chance.
    pub seed: u64,
    /// How often the daemon is killed.
    pub count: usize,
    /// The folder of the sandbox.
    pub parent: PathBuf,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How often the daemon was killed,
    pub kills: usize,
    /// and how many of these were while git ran.
    pub during: usize,
    /// How often git was compared.
    pub comparisons: usize,
    /// How many answers were wrong in which git alone, with its untracked cache or a monitor of its own, is wrong alike.
    pub gits_own: usize,
    /// How many questions daemons had answered before they were killed.
    pub answered: u64,
    /// What went wrong.
    pub wrong: Vec<String>,
}

impl Report {
    /// Whether git was asking, and nothing went wrong.
    pub fn is_good(&self) -> bool {
        self.wrong.is_empty() && self.answered > 0
    }
}

/// Kills the daemon as often as that is wanted, or until something is wrong.
///
/// # Errors
/// The sandbox, or a program that cannot be started.
pub fn run(kills: &Kills) -> Result<Report, SandboxError> {
    let mut sandbox = Sandbox::in_folder(&kills.parent, &kills.git)?;
    let runtime = runtime_folder(sandbox.root());
    kills.monitor.begin(&mut sandbox, &runtime)?;
    let mut play = Play {
        kills,
        sandbox,
        chance: Chance::new(kills.seed),
        report: Report::default(),
        last_took: Duration::from_millis(20),
    };
    let played = play.all();
    // Whatever happened, nobody is to be left.
    play.stop_gits_own();
    let _ = play.vigil(&["daemon", "stop"]);
    played?;
    Ok(play.report)
}

/// What goes on in one sandbox.
struct Play<'k> {
    kills: &'k Kills,
    sandbox: Sandbox,
    chance: Chance,
    report: Report,
    /// How long the last git took.
    last_took: Duration,
}

/// Folders in which things happen: some below others, which are renamed.
const FOLDERS: [&str; 6] = ["a", "a/b", "a/b/c", "d", "d/e", "new"];
const FILES: [&str; 4] = ["one", "two", "three.o", "four"];

fn failed(deed: &str) -> impl FnOnce(io::Error) -> SandboxError {
    let deed = deed.to_owned();
    move |source| SandboxError::Io { deed, source }
}

impl Play<'_> {
    fn all(&mut self) -> Result<(), SandboxError> {
        self.begin()?;
        while self.report.kills < self.kills.count && self.report.wrong.is_empty() {
            self.round()?;
        }
        Ok(())
    }

    /// A repository that git asks about.
    fn begin(&mut self) -> Result<(), SandboxError> {
        self.sandbox.run_git("", &["init", "-q", "work"])?;
        for folder in FOLDERS {
            for file in FILES {
                self.write(&format!("{folder}/{file}"))?;
            }
        }
        let hook = self.sandbox.place("home/vigil-fsmonitor-hook");
        let hook = hook.to_string_lossy();
        let monitor = match self.kills.monitor.way {
            Way::Hook => &*hook,
            Way::Socket => "true",
        };
        for arguments in [
            &["add", "a", "d"][..],
            &["commit", "-qm", "first"],
            &["config", "core.untrackedCache", "true"],
            &["config", "core.fsmonitor", monitor],
            &["config", "core.excludesFile", "/nowhere"],
        ] {
            let mut command = self.git(arguments);
            // Nobody serves yet.
            command.env("VIGIL_NO_DAEMON", "1");
            self.run(&mut command)?;
        }
        self.stop_gits_own();
        Ok(())
    }

    /// One kill.
    fn round(&mut self) -> Result<(), SandboxError> {
        let Some(pid) = self.serve()? else {
            return Ok(());
        };
        // What git knows by the daemon is what it is to be wrong about.
        self.compare("served", false)?;
        self.change()?;
        self.compare("served, and asked again", false)?;
        self.report.answered += self.answered()?;
        for _ in 0..self.chance.below(3) {
            self.change()?;
        }
        if self.chance.below(4) == 0 {
            self.kill(pid);
            self.compare("killed before", true)?;
        } else {
            let command = self.command();
            let ran = self.run_and_kill(&command, pid)?;
            if ran.ending == Ending::TimedOut {
                self.wrong(&format!("{command:?} does not end"));
            }
            self.compare("killed during", true)?;
        }
        for _ in 0..self.chance.below(3) {
            self.change()?;
        }
        self.compare("nobody serves", true)?;
        self.stop_gits_own();
        Ok(())
    }

    /// Has a daemon serve; its process.
    fn serve(&mut self) -> Result<Option<u64>, SandboxError> {
        let said = self.vigil(&["daemon", "start"])?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let pid = text.split_once("(pid ").and_then(|(_, rest)| {
            let end = rest.find(')')?;
            rest.get(..end)?.parse().ok()
        });
        if pid.is_none() {
            self.wrong(&format!("no daemon can be started: {said:?}"));
            return Ok(None);
        }
        if self.kills.monitor.way == Way::Socket {
            let said = self.vigil(&["fsmonitor", "start"])?;
            if !said.success() {
                self.wrong(&format!("the socket is not served: {said:?}"));
                return Ok(None);
            }
        }
        Ok(pid)
    }

    fn answered(&self) -> Result<u64, SandboxError> {
        let said = self.vigil(&["daemon", "status", "--json"])?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let number = text.split_once("\"questions\":").and_then(|(_, rest)| {
            let end = rest.find(',')?;
            rest.get(..end)?.parse().ok()
        });
        Ok(number.unwrap_or(0))
    }

    /// Runs git, and kills the daemon at some moment before it will have ended, or has.
    fn run_and_kill(&mut self, arguments: &[&str], pid: u64) -> Result<Outcome, SandboxError> {
        let parts = u32::try_from(self.chance.below(1000)).unwrap_or_default();
        let moment = self.last_took.saturating_mul(parts) / 1000;
        let mut command = self.git(arguments);
        let begin = Instant::now();
        let ran = std::thread::scope(|scope| {
            let git = scope.spawn(|| process::run(&mut command, None, LIMIT));
            while begin.elapsed() < moment && !git.is_finished() {
                std::thread::yield_now();
            }
            self.report.during += usize::from(!git.is_finished());
            self.kill(pid);
            git.join()
        });
        self.last_took = begin.elapsed();
        let ran = ran.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
        ran.map_err(failed("running git"))
    }

    /// Kills the daemon, and waits until it is gone: until then git may find it there, and die of a socket that closes.
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

    /// Compares what git says with and without a monitor. If `is_alone`, none is to be started by that.
    fn compare(&mut self, when: &str, is_alone: bool) -> Result<(), SandboxError> {
        let mut asking = self.git(&["status", "--porcelain=v2"]);
        if is_alone {
            asking.env("VIGIL_NO_DAEMON", "1");
        }
        asking.env("GIT_TRACE2_EVENT", alone::trace(&self.sandbox));
        let before = Before::note(&self.sandbox);
        let ours = self.run(&mut asking)?;
        let plain = |untracked| {
            let mut plain = self.git(&["-c", "core.fsmonitor=false", "status", "--porcelain=v2"]);
            if untracked == Untracked::Looked {
                plain.env("GIT_DISABLE_UNTRACKED_CACHE", "1");
            }
            plain
        };
        let theirs = self.run(plain(Untracked::Looked).env("GIT_OPTIONAL_LOCKS", "0"))?;
        // Of a connection that broke it may complain.
        let said = |outcome: &Outcome| (outcome.ending, outcome.stdout.clone());
        let is_same = said(&ours) == said(&theirs);
        let is_gits_own = !is_same
            && before.is_gits_own(&self.sandbox, |untracked| {
                let alone = self.run(&mut plain(untracked))?;
                Ok::<_, SandboxError>(said(&ours) == said(&alone))
            })?;
        self.report.comparisons += 1;
        self.report.gits_own += usize::from(is_gits_own);
        if !is_same && !is_gits_own {
            let text = |outcome: &Outcome| {
                let [stdout, stderr] = [&outcome.stdout, &outcome.stderr]
                    .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                format!("{:?}\n{stdout}{stderr}", outcome.ending)
            };
            self.wrong(&format!(
                "{when}: with the monitor {}without {}git was told:\n{}",
                text(&ours),
                text(&theirs),
                before.what_was_told()
            ));
        }
        Ok(())
    }

    fn wrong(&mut self, text: &str) {
        let (seed, kills) = (self.kills.seed, self.report.kills);
        let text = format!("seed {seed}, after {kills} kills: {text}");
        self.report.wrong.push(text);
    }

    /// Something happens in the working tree.
    fn change(&mut self) -> Result<(), SandboxError> {
        let folder = self.chance.of(&FOLDERS);
        let file = self.chance.of(&FILES);
        let path = format!("{folder}/{file}");
        let at = |path: &str| self.sandbox.place(format!("work/{path}"));
        // What is not there cannot be removed or renamed, and that is no matter.
        match self.chance.below(8) {
            0..3 => return self.write(&path),
            3 => drop(std::fs::remove_file(at(&path))),
            4 => {
                let other = self.chance.of(&FOLDERS);
                drop(std::fs::rename(at(folder), at(&format!("{other}/moved"))));
            }
            5 => drop(std::fs::rename(at("a/moved"), at(folder))),
            6 => drop(std::fs::remove_dir_all(at(folder))),
            _ => {
                let ignored = self.chance.of(&["*.o\n", "new/\n", "moved\n", ""]);
                let _ = std::fs::write(at(".gitignore"), ignored);
            }
        }
        Ok(())
    }

    fn write(&mut self, path: &str) -> Result<(), SandboxError> {
        let at = self.sandbox.place(format!("work/{path}"));
        let text = format!("{}\n", self.chance.below(1 << 20));
        let made = at.parent().map_or(Ok(()), std::fs::create_dir_all);
        // A file may be where a folder is wanted, or the other way round.
        let _ = made.and_then(|()| std::fs::write(at, text));
        Ok(())
    }

    /// What git does while the daemon is killed.
    fn command(&mut self) -> Vec<&'static str> {
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
        self.chance.of(&COMMANDS).to_vec()
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
        process::run(command, None, LIMIT).map_err(failed("running a program"))
    }

    /// git starts a monitor of its own where nobody answers at the socket; it makes way for the next daemon.
    fn stop_gits_own(&self) {
        if self.kills.monitor.way == Way::Socket {
            let _ = self.run(&mut self.git(&["fsmonitor--daemon", "stop"]));
        }
    }
}
