//! The answers of git without a monitor, but with the other caches of the working tree: faults found there are not the monitor's.
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
const LINKED: [&str; 2] = ["work/.git/worktrees", "separate.git/worktrees"];

/// The text in git's trace when it was told paths, and not that everything may have changed.
const TOLD_PATHS: &str = "\"key\":\"apply_count\"";

/// The text in git's trace before the token it last received. The token of git's own monitor begins with a count of a few digits,
/// while the tested monitor puts a number of 32 digits there.
const TOKEN: &str = "\"key\":\"query/command\",\"value\":\"builtin:";
const COUNT_LEN_MAX: usize = 10;

/// How a git without a monitor finds untracked files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untracked {
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
pub(crate) fn trace(sandbox: &Sandbox) -> PathBuf {
    let mut path = sandbox.root().as_os_str().to_owned();
    path.push(".trace");
    path.into()
}

impl PriorState {
    /// Records the state of `sandbox`.
    pub(crate) fn note(sandbox: &Sandbox) -> Self {
        let trace = trace(sandbox);
        let _ = fs::remove_file(&trace);
        Self {
            trace,
            indexes: Indexes::read(sandbox),
        }
    }

    /// Whether git's answer is not the fault of its monitor. `says_so` asks a git without one, which may write, with the index as
    /// it was before, and returns whether that answer is the same. The untracked cache is used only if the monitor told no paths.
    /// If git's own monitor answered, nothing is asked.
    ///
    /// # Errors
    /// Those of `says_so`.
    pub(crate) fn is_git_fault<E>(
        &self,
        sandbox: &Sandbox,
        mut says_so: impl FnMut(Untracked) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let after = Indexes::read(sandbox);
        let mut ask = |how| {
            self.indexes.put_back();
            says_so(how)
        };
        let is_git_fault = self.was_told_by_git()
            || ask(Untracked::Scanned)?
            || !self.were_paths_told() && ask(Untracked::Cached)?;
        after.put_back();
        Ok(is_git_fault)
    }

    /// Whether git had an answer from its own monitor, which it starts where no other serves, and asked that one again.
    fn was_told_by_git(&self) -> bool {
        let trace = self.traced();
        let token = trace.split_once_str(TOKEN).map(|(_, rest)| rest);
        let count = token.and_then(|token| token.split_once_str("."));
        count.is_some_and(|(count, _)| {
            count.len() <= COUNT_LEN_MAX && count.iter().all(u8::is_ascii_digit)
        })
    }

    /// The contents of git's trace.
    fn traced(&self) -> Vec<u8> {
        fs::read(&self.trace).unwrap_or_default()
    }

    /// The monitor's answers, as git traces them.
    pub(crate) fn what_was_told(&self) -> String {
        let trace = self.traced();
        let lines = trace.lines().filter(|line| line.contains_str("fsm"));
        lines.map(|line| format!("{}\n", line.as_bstr())).collect()
    }

    fn were_paths_told(&self) -> bool {
        let trace = self.traced();
        trace.contains_str(TOLD_PATHS)
    }
}

impl Drop for PriorState {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.trace);
    }
}

impl Indexes {
    fn read(sandbox: &Sandbox) -> Self {
        let linked = LINKED.iter().flat_map(|folder| {
            let folders = fs::read_dir(sandbox.place(folder));
            let folders = folders.into_iter().flatten().flatten();
            folders.map(|folder| folder.path().join("index"))
        });
        let paths = INDEXES.iter().map(|path| sandbox.place(path));
        let indexes = paths.chain(linked).map(|path| {
            let read = read(&path);
            (path, read)
        });
        Self(indexes.collect())
    }

    /// Restores all index files with their mtimes, by which git judges its records. A failure makes git's answer differ.
    fn put_back(&self) {
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

fn read(path: &Path) -> Option<Contents> {
    let time = fs::symlink_metadata(path).ok()?.modified().ok()?;
    Some((fs::read(path).ok()?, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_alone_is_asked_as_it_was_and_with_its_cache_only_where_no_paths_were_told() {
        let sandbox = Sandbox::new();
        let index = sandbox.place("work/.git/index");
        fs::create_dir_all(index.parent().unwrap()).unwrap();
        fs::write(&index, "before").unwrap();
        let time = fs::metadata(&index).unwrap().modified().unwrap();
        for (told, asked_for) in [
            ("{\"key\":\"apply_count\"}", &[Untracked::Scanned][..]),
            (
                "{\"key\":\"query/command\",\"value\":\"builtin:0.7.20261123T192914.109144Z:0\"}",
                &[],
            ),
            (
                "{\"key\":\"query/command\",\"value\":\"builtin:01234567890123456789012345678901.7.8:0\"}\n\
                 {\"key\":\"apply_count\"}",
                &[Untracked::Scanned],
            ),
            (
                "{\"key\":\"query/trivial-response\"}",
                &[Untracked::Scanned, Untracked::Cached],
            ),
        ] {
            let before = PriorState::note(&sandbox);
            fs::write(trace(&sandbox), told).unwrap();
            fs::write(&index, "after").unwrap();
            let mut asked = Vec::new();
            let is_git_fault = before.is_git_fault(&sandbox, |how| {
                assert_eq!(fs::read(&index).unwrap(), b"before");
                assert_eq!(fs::metadata(&index).unwrap().modified().unwrap(), time);
                fs::write(&index, "asked").unwrap();
                asked.push(how);
                Ok::<_, ()>(how == Untracked::Cached)
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
            assert!(!trace(&sandbox).exists());
        }
    }
}
