//! What is compared with what.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use bstr::BString;

use crate::monitor::Monitor;
use crate::sandbox::{Sandbox, git_is_at_least};

/// The programs and how they are compared.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The candidate, which answers `status` (and `gitstatusd`).
    pub candidate: PathBuf,
    /// The git that does all operations and whose answer is right.
    pub oracle: PathBuf,
    /// Gits of other versions, whose answer is right too if the candidate gives it.
    pub others: Vec<PathBuf>,
    /// Where sandboxes are made.
    pub parent: PathBuf,
    /// Whether standard error is compared, too.
    pub compare_errors: bool,
    /// How long an answer may take.
    pub limit: Duration,
    /// Variables for the candidate alone.
    pub candidate_variables: Vec<(BString, BString)>,
    /// The folder of the daemon that is asked by the candidate (`VIGIL_RUNTIME_DIR`); without one it answers by itself.
    pub runtime_folder: Option<PathBuf>,
    /// What the candidate, which is a git then, asks what changed.
    pub monitor: Option<Monitor>,
    /// Whether the candidate may write to the repository. git writes trees of sparse indexes, even without
    /// optional locks.
    pub may_write: bool,
    /// Whether questions that may be answered in the long format are left out.
    pub without_long: bool,
    /// The most tries that are spent on cutting one failure down.
    pub shrink_tries_max: usize,
}

impl Settings {
    /// Settings that compare `candidate` with `oracle`, all else as usual.
    pub fn new(candidate: impl Into<PathBuf>, oracle: impl Into<PathBuf>) -> Self {
        Self {
            candidate: candidate.into(),
            oracle: oracle.into(),
            others: Vec::new(),
            parent: crate::sandbox::default_parent(),
            compare_errors: false,
            limit: Duration::from_secs(20),
            candidate_variables: Vec::new(),
            runtime_folder: None,
            monitor: None,
            may_write: false,
            without_long: false,
            shrink_tries_max: 400,
        }
    }

    /// The groups of options that are to be left out of random questions since the oracle answers them otherwise than newer
    /// gits do: before 2.55 it colours less where names end with NUL.
    pub fn answered_otherwise(&self) -> BTreeSet<String> {
        let groups: &[&str] = match git_is_at_least(&self.oracle, 55) {
            true => &[],
            false => &["overrides", "config"],
        };
        groups.iter().map(|group| (*group).to_owned()).collect()
    }

    /// Gives `command` the variables that are for the candidate alone.
    pub(crate) fn set_variables(&self, sandbox: &Sandbox, command: &mut Command) {
        if let Some(folder) = &self.runtime_folder {
            command
                .env_remove("VIGIL_NO_DAEMON")
                .env("VIGIL_RUNTIME_DIR", folder)
                // Longer than an answer may take: one that does not come from the daemon is a failure, not a reason to do
                // without it.
                .env(
                    "VIGIL_DAEMON_PATIENCE_MS",
                    self.limit.as_millis().saturating_mul(2).to_string(),
                );
        }
        if self.monitor.is_some() {
            Monitor::let_write(sandbox, command);
        }
        for (name, value) in &self.candidate_variables {
            command.env(sandbox.expand(name), sandbox.expand(value));
        }
    }
}
