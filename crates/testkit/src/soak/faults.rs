//! The faults that are injected into the daemon.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::memory::Samples;
use crate::daemon;
use crate::random::rng::Rng;

/// A fault of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It is killed, and another daemon is started.
    Killed,
    /// It is halted until the clients have their answers.
    Halted,
    /// It is halted while more events occur than the kernel queues for it.
    Flooded,
    /// Another daemon takes its place.
    Replaced,
    /// Its folder is removed, and another daemon is started.
    FolderRemoved,
}

impl Fault {
    /// A random fault that the daemon survives, or, if `may_end_it`, any fault.
    pub(super) fn random(rng: &mut Rng, may_end_it: bool) -> Self {
        match rng.below(if may_end_it { 12 } else { 6 }) {
            0 => Self::Flooded,
            1..=5 => Self::Halted,
            6..=7 => Self::Killed,
            8..=9 => Self::Replaced,
            _ => Self::FolderRemoved,
        }
    }
}

/// The daemon of a folder, whichever process that is.
#[derive(Debug)]
pub(super) struct Victim {
    candidate: PathBuf,
    folder: PathBuf,
    /// All processes that served, with the last known number of questions that each answered.
    answered: BTreeMap<u64, u64>,
    /// The processes that lost their folder.
    without_folder: BTreeSet<u64>,
    pub(super) samples: Samples,
    pub(super) faults: BTreeMap<Fault, usize>,
}

impl Victim {
    /// Starts a daemon.
    pub(super) fn new(candidate: &Path, folder: &Path) -> Self {
        let victim = Self {
            candidate: candidate.to_owned(),
            folder: folder.to_owned(),
            answered: BTreeMap::new(),
            without_folder: BTreeSet::new(),
            samples: Samples::default(),
            faults: BTreeMap::new(),
        };
        victim.start();
        victim
    }

    /// Records its status and its memory. Returns the process.
    pub(super) fn record_status(&mut self) -> Option<u64> {
        let status = daemon::ask_status(&self.candidate, &self.folder).ok()?;
        self.answered.insert(status.pid, status.answered);
        self.samples.take(status.pid);
        Some(status.pid)
    }

    /// The number of questions that were answered, as far as it is known.
    pub(super) fn question_count(&self) -> u64 {
        self.answered.values().sum()
    }

    /// The number of processes that served.
    pub(super) fn process_count(&self) -> usize {
        self.answered.len()
    }

    /// Injects `fault`. Returns the process that is halted now, if one is.
    pub(super) fn inject(&mut self, fault: Fault) -> Option<u64> {
        let pid = match self.record_status() {
            Some(pid) => pid,
            None => {
                self.start();
                self.record_status()?
            }
        };
        *self.faults.entry(fault).or_default() += 1;
        match fault {
            Fault::Halted | Fault::Flooded => {
                signal(pid, Signal::STOP);
                return Some(pid);
            }
            Fault::Killed => {
                signal(pid, Signal::KILL);
                self.start();
            }
            Fault::Replaced => self.command("restart"),
            Fault::FolderRemoved => {
                // A client that is about to start another daemon may recreate it in the meantime.
                let _ = std::fs::remove_dir_all(daemon::runtime_folder(&self.folder));
                self.without_folder.insert(pid);
                self.start();
            }
        }
        None
    }

    fn start(&self) {
        self.command("start");
    }

    /// Runs a command for the daemon. Its result shows at the next look.
    fn command(&self, name: &str) {
        let _ = daemon::command(&self.candidate, &self.folder, &[name])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.command("stop");
        for pid in &self.without_folder {
            // The process id may have been reused.
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let folder = daemon::runtime_folder(&self.folder);
            let folder = folder.as_os_str().as_encoded_bytes();
            if environment.windows(folder.len()).any(|part| part == folder) {
                signal(*pid, Signal::KILL);
            }
        }
    }
}

/// Sends a signal to a process, if it exists.
pub(super) fn signal(pid: u64, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = pid.map(|pid| kill_process(pid, signal));
}
