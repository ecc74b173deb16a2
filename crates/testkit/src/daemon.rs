//! A daemon for the candidate alone, in a folder that nothing else uses.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A failure of the daemon.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Its folder could not be created, or a program could not be started.
    #[error("{deed}: {source}")]
    Io {
        /// What was being done.
        deed: String,
        /// The system's error.
        source: io::Error,
    },
    /// The candidate should serve, but printed something else.
    #[error("the candidate does not serve, but says: {0}")]
    NotServing(String),
    /// It does not report its status.
    #[error("the daemon does not tell how it is: {0}")]
    Silent(String),
    /// It ended, and another daemon took its place.
    #[error("the daemon ended (pid {old}), and another serves (pid {new})")]
    Replaced {
        /// The process that was started.
        old: u64,
        /// The process that serves.
        new: u64,
    },
    /// It wrote to standard error.
    #[error("the daemon says: {0}")]
    Complained(String),
    /// It answered no question.
    #[error("no question was answered by the daemon ({left} were left to whoever asked)")]
    AnsweredNothing {
        /// The number of questions that it left to the clients.
        left: u64,
    },
}

/// What a daemon reports about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Its process id.
    pub pid: u64,
    /// The number of questions that it answered.
    pub answered: u64,
    /// The number of questions that it left to the clients.
    pub left: u64,
}

/// A running `CANDIDATE daemon run`, which ends when this is dropped.
#[derive(Debug)]
pub struct Daemon {
    candidate: PathBuf,
    folder: tempfile::TempDir,
    child: Child,
}

fn while_doing(deed: impl Into<String>) -> impl FnOnce(io::Error) -> DaemonError {
    let deed = deed.into();
    move |source| DaemonError::Io { deed, source }
}

/// A command for the daemon of `folder`, with nothing of this process's environment but `PATH`.
pub(crate) fn command(candidate: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(candidate);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command
        .arg("daemon")
        .args(arguments)
        .env_clear()
        .envs([("PATH", path), ("HOME", folder.into())])
        .env("VIGIL_RUNTIME_DIR", runtime_folder(folder))
        // Ask it again, even right after it left a question to the client.
        .env("VIGIL_DAEMON_REST_S", "0")
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// The folder for the socket of a daemon with the home `folder`.
pub(crate) fn runtime_folder(folder: &Path) -> PathBuf {
    folder.join("run")
}

/// Asks the daemon of `folder` for its status.
pub(crate) fn ask_status(candidate: &Path, folder: &Path) -> Result<Status, DaemonError> {
    let Output { stdout, stderr, .. } = command(candidate, folder, &["status", "--json"])
        .output()
        .map_err(while_doing(format!("starting {}", candidate.display())))?;
    let text = String::from_utf8_lossy(&stdout);
    let number = |key: &str| {
        let (_, rest) = text.split_once(&format!("\"{key}\":"))?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
        rest.get(..end)?.parse().ok()
    };
    match (number("pid"), number("questions"), number("declined")) {
        (Some(pid), Some(answered), Some(left)) => Ok(Status {
            pid,
            answered,
            left,
        }),
        _ => Err(DaemonError::Silent(
            String::from_utf8_lossy(&[stdout, stderr].concat()).into(),
        )),
    }
}

impl Daemon {
    /// Starts a daemon with a folder in `parent`, and waits until it serves.
    ///
    /// # Errors
    /// It cannot be started, or does not serve.
    pub fn start(candidate: &Path, parent: &Path) -> Result<Self, DaemonError> {
        let folder = tempfile::Builder::new()
            .prefix("vigil-daemon-")
            .tempdir_in(parent)
            .map_err(while_doing("making the daemon's folder"))?;
        let errors = File::create(folder.path().join("errors"))
            .map_err(while_doing("making a file of errors"))?;
        let mut child = command(candidate, folder.path(), &["run"])
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(while_doing(format!("starting {}", candidate.display())))?;
        let mut line = String::new();
        if let Some(pipe) = child.stdout.take() {
            // A daemon that prints nothing does not serve.
            let _ = BufReader::new(pipe).read_line(&mut line);
        }
        let daemon = Self {
            candidate: candidate.to_owned(),
            folder,
            child,
        };
        if line.starts_with("serving on ") {
            return Ok(daemon);
        }
        line.push_str(&daemon.errors());
        Err(DaemonError::NotServing(line))
    }

    /// The folder with its socket, for its clients (`VIGIL_RUNTIME_DIR`).
    pub fn runtime_folder(&self) -> PathBuf {
        runtime_folder(self.folder.path())
    }

    /// Returns its current status.
    ///
    /// # Errors
    /// It is gone, or wrote to standard error.
    pub fn status(&self) -> Result<Status, DaemonError> {
        let status = ask_status(&self.candidate, self.folder.path());
        let errors = self.errors();
        if !errors.is_empty() {
            return Err(DaemonError::Complained(errors));
        }
        let (status, old) = (status?, u64::from(self.child.id()));
        match status.pid == old {
            true => Ok(status),
            false => Err(DaemonError::Replaced {
                old,
                new: status.pid,
            }),
        }
    }

    /// Returns its status at the end of its use.
    ///
    /// # Errors
    /// It is gone, wrote to standard error, or answered nothing.
    pub fn final_status(&self) -> Result<Status, DaemonError> {
        match self.status()? {
            Status {
                answered: 0, left, ..
            } => Err(DaemonError::AnsweredNothing { left }),
            status => Ok(status),
        }
    }

    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("errors")).unwrap_or_default()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // A client that found no daemon may have started another one.
        let _ = command(&self.candidate, self.folder.path(), &["stop"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}
