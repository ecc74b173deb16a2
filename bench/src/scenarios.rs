//! The situations in which the peers are asked.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde::Serialize;

use crate::Done;
use crate::corpus;
use crate::measure::{Summary, run_interleaved};
use crate::peers::{BASE_PEER, Peer, Session};

/// What was done to a working copy before the question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// Files have a new mtime and their old contents.
    Touched,
    /// Files have new contents.
    Edited,
}

/// One situation, and the times of each peer in it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Scenario {
    /// The corpus.
    pub(crate) corpus: String,
    /// The number of tracked files.
    pub(crate) files: usize,
    pub(crate) change: Change,
    /// The number of files that were changed.
    pub(crate) changed_files: usize,
    /// The number of threads, if it was set.
    pub(crate) threads: Option<usize>,
    /// Whether the system's caches were dropped before each question.
    pub(crate) dropped_caches: bool,
    pub(crate) rounds: usize,
    pub(crate) rows: Vec<Row>,
}

/// The times of one peer. Ratios are to the floor with listing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) peer: String,
    #[serde(flatten)]
    pub(crate) summary: Summary,
}

/// A repository to ask about.
pub(crate) struct Corpus {
    name: String,
    dir: PathBuf,
    /// Paths of the tracked files.
    tracked: Vec<PathBuf>,
}

impl Corpus {
    pub(crate) fn new(name: String, dir: PathBuf) -> Done<Self> {
        use std::os::unix::ffi::OsStrExt;
        let listed = Command::new("git")
            .arg("-C")
            .arg(&dir)
            .args(["ls-files", "-z"])
            .output()?;
        let paths = listed
            .stdout
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty());
        let tracked = paths
            .map(|path| dir.join(std::ffi::OsStr::from_bytes(path)))
            .collect();
        Ok(Self { name, dir, tracked })
    }

    pub(crate) fn files(&self) -> usize {
        self.tracked.len()
    }

    /// Asks in the unchanged repository.
    pub(crate) fn measure_clean(&self, peers: &[Peer], rounds: usize) -> Done<Scenario> {
        self.ask(peers, None, rounds, false)
    }

    /// Asks with a fixed number of threads.
    pub(crate) fn measure_with_threads(
        &self,
        peers: &[Peer],
        threads: usize,
        rounds: usize,
    ) -> Done<Scenario> {
        let peers: Vec<_> = peers
            .iter()
            .filter(|peer| peer.takes_threads())
            .cloned()
            .collect();
        self.ask(&peers, Some(threads), rounds, false)
    }

    /// Asks with the system's caches dropped before each question.
    pub(crate) fn measure_cold(&self, peers: &[Peer], rounds: usize) -> Done<Scenario> {
        self.ask(peers, None, rounds, true)
    }

    /// Asks with `count` files changed, and reverts the changes.
    pub(crate) fn measure_changed(
        &self,
        peers: &[Peer],
        change: Change,
        count: usize,
        rounds: usize,
    ) -> Done<Scenario> {
        let step = (self.tracked.len() / count.max(1)).max(1);
        let paths = self.tracked.iter().step_by(step).take(count);
        // Do not follow symbolic links, and skip submodules.
        for path in paths.filter(|path| path.symlink_metadata().is_ok_and(|file| file.is_file())) {
            change_file(path, change)?;
        }
        let scenario = self.ask(peers, None, rounds, false);
        corpus::git(&self.dir, &["reset", "-q", "--hard"])?;
        corpus::settle(&self.dir)?;
        Ok(Scenario {
            change,
            changed_files: count,
            ..scenario?
        })
    }

    fn ask(
        &self,
        peers: &[Peer],
        threads: Option<usize>,
        rounds: usize,
        cold: bool,
    ) -> Done<Scenario> {
        let is_quick = self.files() <= QUICK_FILES_MAX && !cold;
        let sessions = peers
            .iter()
            .filter(|peer| is_quick || !peer.asks_repeatedly())
            .map(|peer| peer.session(&self.dir, threads));
        let mut sessions = sessions.collect::<Done<Vec<Session>>>()?;
        let summaries = run_interleaved(&mut sessions, BASE_PEER, rounds, |session| {
            if cold {
                drop_caches()?;
            }
            session.ask()
        })?;
        let names = sessions.iter().map(|session| session.name.clone());
        let rows = names
            .zip(summaries)
            .map(|(peer, summary)| Row { peer, summary });
        Ok(Scenario {
            corpus: self.name.clone(),
            files: self.tracked.len(),
            change: Change::None,
            changed_files: 0,
            threads,
            dropped_caches: cold,
            rounds,
            rows: rows.collect(),
        })
    }
}

fn change_file(path: &Path, change: Change) -> Done<()> {
    let failed = |error| format!("{}: {error}", path.display());
    match change {
        Change::None => Ok(()),
        Change::Touched => {
            let file = File::open(path).map_err(failed)?;
            Ok(file.set_modified(SystemTime::now()).map_err(failed)?)
        }
        Change::Edited => {
            let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
            Ok(file.write_all(b"edited\n").map_err(failed)?)
        }
    }
}

/// Up to this many files, processes that stay are also asked many times in a row.
const QUICK_FILES_MAX: usize = 1000;

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Whether this user can drop the system's caches, as [`Corpus::measure_cold`] does.
pub(crate) fn can_drop_caches() -> bool {
    OpenOptions::new().write(true).open(DROP_CACHES).is_ok()
}

fn drop_caches() -> Done<()> {
    rustix::fs::sync();
    Ok(std::fs::write(DROP_CACHES, "3")?)
}
