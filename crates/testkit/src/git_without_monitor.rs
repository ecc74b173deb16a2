//! The answers of git without a monitor, but with its other caches: a wrong answer that git gives then, too, is not the
//! monitor's fault.
//!
//! With its untracked cache, git trusts a listing as long as the folder's mtime is unchanged. So it continues to show a folder
//! whose contents all disappeared further down, and misses a second change within one tick of the clock. It falls back to that
//! when a monitor says that everything may have changed. Where no monitor serves, git starts its own, which continues from the
//! wrong state. And git's lock on the index is an untracked file if the repository lies in its own working tree.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bstr::ByteSlice;

use crate::sandbox::Sandbox;

/// The index files that git caches in, at all the places where random operations and questions put them.
const INDEXES: [&str; 3] = ["work/.git/index", "separate.git/index", "other-index"];
/// Folders in which each linked working tree has another index.
const LINKED_WORKTREES: [&str; 2] = ["work/.git/worktrees", "separate.git/worktrees"];

/// The text in git's trace when the monitor reported paths, and not that everything may have changed.
const PATHS_REPORTED: &str = "\"key\":\"apply_count\"";

/// The text in git's trace before the token it last received. The token of git's own monitor begins with a count of a few digits,
/// while the tested monitor puts a number of 32 digits there.
const TOKEN_PREFIX: &str = "\"key\":\"query/command\",\"value\":\"builtin:";
const COUNT_LEN_MAX: usize = 10;

/// How a git without a monitor finds untracked files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UntrackedSource {
    /// By listing every directory.
    Scanned,
    /// By the untracked cache, where it still applies.
    Cached,
}

/// The state before git asked its monitor.
pub(crate) struct PriorState {
    trace: PathBuf,
    indexes: Indexes,
}

/// A file's bytes and mtime.
type Contents = (Vec<u8>, SystemTime);

/// Index files and their contents; `None` for one that does not exist.
struct Indexes(Vec<(PathBuf, Option<Contents>)>);

/// The file for git's trace (`GIT_TRACE2_EVENT`). It is outside of `sandbox`, where it cannot show in an answer.
pub(crate) fn trace_file(sandbox: &Sandbox) -> PathBuf {
    let mut path = sandbox.root().as_os_str().to_owned();
    path.push(".trace");
    path.into()
}

impl PriorState {
    /// Records the state of `sandbox`.
    pub(crate) fn record(sandbox: &Sandbox) -> Self {
        let trace = trace_file(sandbox);
        let _ = fs::remove_file(&trace);
        Self {
            trace,
            indexes: Indexes::read(sandbox),
        }
    }

    /// Whether git's answer is not the fault of its monitor. `gives_same_answer` asks a git without one, which may write,
    /// with the index as it was before, and returns whether that answer is the same. The untracked cache is used only if the
    /// monitor reported no paths. If git's own monitor answered, nothing is asked.
    ///
    /// # Errors
    /// Those of `gives_same_answer`.
    pub(crate) fn is_git_fault<E>(
        &self,
        sandbox: &Sandbox,
        mut gives_same_answer: impl FnMut(UntrackedSource) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let after = Indexes::read(sandbox);
        let mut ask = |how| {
            self.indexes.restore();
            gives_same_answer(how)
        };
        let is_git_fault = self.was_answered_by_gits_own_monitor()
            || ask(UntrackedSource::Scanned)?
            || !self.were_paths_reported() && ask(UntrackedSource::Cached)?;
        after.restore();
        Ok(is_git_fault)
    }

    /// Whether git asked its own monitor, which it starts where no other serves, and which had answered it before.
    fn was_answered_by_gits_own_monitor(&self) -> bool {
        let trace = self.trace_contents();
        let token = trace.split_once_str(TOKEN_PREFIX).map(|(_, rest)| rest);
        let count = token.and_then(|token| token.split_once_str("."));
        count.is_some_and(|(count, _)| {
            count.len() <= COUNT_LEN_MAX && count.iter().all(u8::is_ascii_digit)
        })
    }

    /// The contents of git's trace.
    fn trace_contents(&self) -> Vec<u8> {
        fs::read(&self.trace).unwrap_or_default()
    }

    /// The monitor's answers, as git traces them.
    pub(crate) fn monitor_answers(&self) -> String {
        let trace = self.trace_contents();
        let lines = trace.lines().filter(|line| line.contains_str("fsm"));
        lines.map(|line| format!("{}\n", line.as_bstr())).collect()
    }

    fn were_paths_reported(&self) -> bool {
        let trace = self.trace_contents();
        trace.contains_str(PATHS_REPORTED)
    }
}

impl Drop for PriorState {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.trace);
    }
}

impl Indexes {
    fn read(sandbox: &Sandbox) -> Self {
        let linked = LINKED_WORKTREES.iter().flat_map(|folder| {
            let folders = fs::read_dir(sandbox.path_from_root(folder));
            let folders = folders.into_iter().flatten().flatten();
            folders.map(|folder| folder.path().join("index"))
        });
        let paths = INDEXES.iter().map(|path| sandbox.path_from_root(path));
        let indexes = paths.chain(linked).map(|path| {
            let read = read_with_mtime(&path);
            (path, read)
        });
        Self(indexes.collect())
    }

    /// Restores all index files with their mtimes, by which git judges its records. A failure makes git's answer differ.
    fn restore(&self) {
        for (path, contents) in &self.0 {
            let _ = match contents {
                Some((bytes, time)) => fs::write(path, bytes).and_then(|()| {
                    let file = File::options().write(true).open(path)?;
                    file.set_times(FileTimes::new().set_modified(*time))
                }),
                None => fs::remove_file(path),
            };
        }
    }
}

fn read_with_mtime(path: &Path) -> Option<Contents> {
    let time = fs::symlink_metadata(path).ok()?.modified().ok()?;
    Some((fs::read(path).ok()?, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_without_a_monitor_starts_from_the_old_index_and_uses_its_cache_only_if_no_paths_were_reported()
     {
        let sandbox = Sandbox::new();
        let index = sandbox.path_from_root("work/.git/index");
        fs::create_dir_all(index.parent().unwrap()).unwrap();
        fs::write(&index, "before").unwrap();
        let time = fs::metadata(&index).unwrap().modified().unwrap();
        for (told, asked_for) in [
            ("{\"key\":\"apply_count\"}", &[UntrackedSource::Scanned][..]),
            (
                "{\"key\":\"query/command\",\"value\":\"builtin:0.7.20261123T192914.109144Z:0\"}",
                &[],
            ),
            (
                "{\"key\":\"query/command\",\"value\":\"builtin:01234567890123456789012345678901.7.8:0\"}\n\
                 {\"key\":\"apply_count\"}",
                &[UntrackedSource::Scanned],
            ),
            (
                "{\"key\":\"query/trivial-response\"}",
                &[UntrackedSource::Scanned, UntrackedSource::Cached],
            ),
        ] {
            let before = PriorState::record(&sandbox);
            fs::write(trace_file(&sandbox), told).unwrap();
            fs::write(&index, "after").unwrap();
            let mut asked = Vec::new();
            let is_git_fault = before.is_git_fault(&sandbox, |how| {
                assert_eq!(fs::read(&index).unwrap(), b"before");
                assert_eq!(fs::metadata(&index).unwrap().modified().unwrap(), time);
                fs::write(&index, "asked").unwrap();
                asked.push(how);
                Ok::<_, ()>(how == UntrackedSource::Cached)
            });
            assert_eq!(asked, asked_for);
            assert_eq!(is_git_fault, Ok(asked_for.len() != 1));
            assert_eq!(fs::read(&index).unwrap(), b"after");
            fs::write(&index, "before").unwrap();
            File::options()
                .write(true)
                .open(&index)
                .and_then(|file| file.set_times(FileTimes::new().set_modified(time)))
                .unwrap();
            drop(before);
            assert!(!trace_file(&sandbox).exists());
        }
    }
}
