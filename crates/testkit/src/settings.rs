//! The programs that are compared, and the options of the comparison.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use bstr::BString;

use crate::monitor::Monitor;
use crate::sandbox::{Sandbox, git_is_at_least};

/// The programs, and how they are compared.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The candidate, which answers `status` (and `gitstatusd`).
    pub candidate: PathBuf,
    /// The git that performs all operations and whose answer is right.
    pub oracle: PathBuf,
    /// Gits of other versions. Their answer is right too, if the candidate gives it.
    pub accepted_gits: Vec<PathBuf>,
    /// The folder for sandboxes.
    pub parent: PathBuf,
    /// Whether standard error is compared too.
    pub compare_errors: bool,
    /// The time limit for an answer.
    pub limit: Duration,
    /// Variables for the candidate only.
    pub candidate_variables: Vec<(BString, BString)>,
    /// The folder of the daemon that the candidate asks (`VIGIL_RUNTIME_DIR`). Without one, the candidate computes its
    /// answers.
    pub runtime_folder: Option<PathBuf>,
    /// The monitor of the candidate, which is a git in this case.
    pub monitor: Option<Monitor>,
    /// Whether the candidate may write to the repository. git writes trees of sparse indexes, even without optional locks.
    pub may_write: bool,
    /// Whether questions with answers that may be in the long format are skipped.
    pub skip_long_format: bool,
    /// The maximum number of tries for each phase of reducing a failure.
    pub shrink_tries_max: usize,
}

impl Settings {
    /// Settings that compare `candidate` with `oracle`, with defaults for everything else.
    pub fn new(candidate: impl Into<PathBuf>, oracle: impl Into<PathBuf>) -> Self {
        Self {
            candidate: candidate.into(),
            oracle: oracle.into(),
            accepted_gits: Vec::new(),
            parent: crate::sandbox::default_parent(),
            compare_errors: false,
            limit: Duration::from_secs(20),
            candidate_variables: Vec::new(),
            runtime_folder: None,
            monitor: None,
            may_write: false,
            skip_long_format: false,
            shrink_tries_max: 400,
        }
    }

    /// The groups of options to leave out of random questions because the oracle answers them differently from newer gits:
    /// before 2.55, git colours less if names end with NUL.
    pub fn options_unsupported_by_oracle(&self) -> BTreeSet<String> {
        let groups: &[&str] = match git_is_at_least(&self.oracle, 55) {
            true => &[],
            false => &["overrides", "config"],
        };
        groups.iter().map(|group| (*group).to_owned()).collect()
    }

    /// Sets the variables for the candidate in `command`.
    pub(crate) fn set_variables(&self, sandbox: &Sandbox, command: &mut Command) {
        if let Some(folder) = &self.runtime_folder {
            command
                .env_remove("VIGIL_NO_DAEMON")
                .env("VIGIL_RUNTIME_DIR", folder)
                // Longer than the limit for an answer: without the daemon's answer the test must fail, and not continue
                // without it.
                .env(
                    "VIGIL_DAEMON_PATIENCE_MS",
                    self.limit.as_millis().saturating_mul(2).to_string(),
                );
        }
        if self.monitor.is_some() {
            Monitor::allow_writing(sandbox, command);
        }
        for (name, value) in &self.candidate_variables {
            command.env(sandbox.expand(name), sandbox.expand(value));
        }
    }
}
