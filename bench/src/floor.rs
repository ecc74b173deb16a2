//! The floor: the system calls of a scan and nothing else.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::io::{BufRead, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use vigil_linux::Errno;
use vigil_linux::dir::open_dir_at;
use vigil_linux::stat::{stat_at, stat_fd};

use crate::Done;
use crate::arguments::Arguments;
use crate::machine::cores;
use crate::steps::Floor as Drain;

/// The most files of a directory that is looked at from the directory above, as many as in Vigil's scan (`from_above.rs`).
const FILES_FROM_ABOVE_MAX: usize = 8;

pub(crate) fn run(arguments: &mut Arguments) -> Done<()> {
    let list = arguments.flag("--list");
    let serve = arguments.flag("--serve");
    let threads = arguments.option_number("--threads", cores())?.max(1);
    let rounds = arguments.option_number("--rounds", 1)?;
    let repository = arguments.path("REPO")?;
    arguments.end()?;
    let mut tree = Tree::tracked(&repository)?;
    if !list {
        tree.look_from_above()?;
    }
    let mut output = std::io::stdout().lock();
    let mut round = || -> Done<()> {
        writeln!(output, "{}", tree.scan(list, threads)?.as_micros())?;
        Ok(output.flush()?)
    };
    if serve {
        for line in std::io::stdin().lock().lines() {
            line?;
            round()?;
        }
    } else {
        for _ in 0..rounds {
            round()?;
        }
    }
    Ok(())
}

/// The tracked directories and files, all read before the clock starts.
struct Tree {
    root: PathBuf,
    dirs: Vec<Dir>,
}

#[derive(Default)]
struct Dir {
    name: CString,
    /// The names of the files; if the directory is not opened, their paths from the one above.
    files: Vec<CString>,
    dirs: Vec<usize>,
    is_opened: bool,
}

impl Dir {
    fn opened(name: CString) -> Self {
        Self {
            name,
            is_opened: true,
            ..Self::default()
        }
    }

    /// Looks at each file by way of `dir`, which its name in `files` starts from.
    fn stat_files(&self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        self.files
            .iter()
            .try_for_each(|file| stat_if_present(dir, file))
    }
}

/// A directory to look at, and its open parent.
struct Task {
    dir: usize,
    parent: Arc<OwnedFd>,
}

impl Tree {
    /// The tree of the files that git tracks in the repository at `root`.
    fn tracked(root: &Path) -> Done<Self> {
        let listed = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["ls-files", "-z"])
            .output()?;
        if !listed.status.success() {
            return Err(format!("git ls-files in {}: {}", root.display(), listed.status).into());
        }
        let mut tree = Self {
            root: root.canonicalize()?,
            dirs: vec![Dir::opened(CString::default())],
        };
        let mut known = HashMap::from([(&b""[..], 0)]);
        for path in listed
            .stdout
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
        {
            let (dir, name) = split_path(path);
            let dir = tree.dir(dir, &mut known)?;
            if let Some(dir) = tree.dirs.get_mut(dir) {
                dir.files.push(CString::new(name)?);
            }
        }
        Ok(tree)
    }

    /// The number of the directory at `path`. A new directory is added, with its parents.
    fn dir<'a>(&mut self, path: &'a [u8], known: &mut HashMap<&'a [u8], usize>) -> Done<usize> {
        if let Some(dir) = known.get(path) {
            return Ok(*dir);
        }
        let (parent, name) = split_path(path);
        let parent = self.dir(parent, known)?;
        let new = self.dirs.len();
        self.dirs.push(Dir::opened(CString::new(name)?));
        if let Some(parent) = self.dirs.get_mut(parent) {
            parent.dirs.push(new);
        }
        known.insert(path, new);
        Ok(new)
    }

    /// Has small directories looked at from the directory above, without opening them: that takes fewer calls.
    fn look_from_above(&mut self) -> Done<()> {
        for dir in self.dirs.iter_mut().skip(1) {
            let has_few_files = (1..=FILES_FROM_ABOVE_MAX).contains(&dir.files.len());
            if !has_few_files || !dir.dirs.is_empty() {
                continue;
            }
            for file in &mut dir.files {
                *file = CString::new([dir.name.as_bytes(), b"/", file.as_bytes()].concat())?;
            }
            dir.is_opened = false;
        }
        Ok(())
    }

    /// Makes the calls once, and returns how long they took: from when all threads are ready until the last
    /// of them is done.
    fn scan(&self, list: bool, threads: usize) -> Done<Duration> {
        let workers: Vec<_> = (0..threads).map(|_| Worker::new_lifo()).collect();
        let stealers: Vec<_> = workers.iter().map(Worker::stealer).collect();
        let first = Injector::new();
        let root = Arc::new(OwnedFd::from(std::fs::File::open(&self.root)?));
        first.push(Task {
            dir: 0,
            parent: root,
        });
        let crew = Workers {
            tree: self,
            list,
            first,
            stealers,
            left: AtomicUsize::new(1),
            start: Barrier::new(threads),
        };
        std::thread::scope(|scope| {
            let running: Vec<_> = workers
                .into_iter()
                .map(|worker| scope.spawn(|| crew.work(worker)))
                .collect();
            let mut span: Option<(Instant, Instant)> = None;
            for thread in running {
                let (start, end) = thread.join().map_err(|_| "a thread of the floor died")??;
                span = Some(span.map_or((start, end), |(first, last)| {
                    (first.min(start), last.max(end))
                }));
            }
            let (start, end) = span.ok_or("no threads")?;
            Ok(end - start)
        })
    }
}

/// The state shared by the threads of one round.
struct Workers<'a> {
    tree: &'a Tree,
    list: bool,
    first: Injector<Task>,
    stealers: Vec<Stealer<Task>>,
    /// The number of directories that were found and are not done.
    left: AtomicUsize,
    start: Barrier,
}

impl Workers<'_> {
    fn work(&self, worker: Worker<Task>) -> Done<(Instant, Instant)> {
        let mut drain = Drain::default();
        self.start.wait();
        let start = Instant::now();
        let mut end = start;
        let mut idle_turns = 0_u32;
        while self.left.load(Ordering::Acquire) > 0 {
            let Some(task) = self.next_task(&worker) else {
                idle_turns += 1;
                match idle_turns {
                    ..64 => std::thread::yield_now(),
                    _ => std::thread::sleep(Duration::from_micros(50)),
                }
                continue;
            };
            idle_turns = 0;
            let result = self.visit_directory(&task, &worker, &mut drain);
            drop(task);
            end = Instant::now();
            self.left.fetch_sub(1, Ordering::AcqRel);
            result?;
        }
        Ok((start, end))
    }

    fn next_task(&self, worker: &Worker<Task>) -> Option<Task> {
        worker.pop().or_else(|| {
            let sources = std::iter::once(self.first.steal()).chain(
                self.stealers
                    .iter()
                    .map(|other| other.steal_batch_and_pop(worker)),
            );
            sources.collect::<Steal<_>>().success()
        })
    }

    /// Makes the calls for one directory. Something missing, or not a directory, costs its call but is not
    /// an error.
    fn visit_directory(
        &self,
        task: &Task,
        worker: &Worker<Task>,
        drain: &mut Drain,
    ) -> Result<(), Errno> {
        let Some(known) = self.tree.dirs.get(task.dir) else {
            return Ok(());
        };
        if !known.is_opened {
            stat_if_present(task.parent.as_fd(), &known.name)?;
            return known.stat_files(task.parent.as_fd());
        }
        let dir = match task.dir {
            0 => open_dir_at(task.parent.as_fd(), c"."),
            _ => open_dir_at(task.parent.as_fd(), &known.name),
        };
        let dir = match dir {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            dir => Arc::new(dir?),
        };
        stat_fd(dir.as_fd())?;
        self.left.fetch_add(known.dirs.len(), Ordering::AcqRel);
        for child in known.dirs.iter().rev() {
            worker.push(Task {
                dir: *child,
                parent: Arc::clone(&dir),
            });
        }
        if self.list {
            drain.read(dir.as_fd())?;
        }
        known.stat_files(dir.as_fd())
    }
}

fn stat_if_present(dir: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    match stat_at(dir, path) {
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Splits a path into its directory and its name.
fn split_path(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (
            path.get(..at).unwrap_or_default(),
            path.get(at + 1..).unwrap_or_default(),
        ),
        None => (b"", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_directories_below_the_top_are_looked_at_from_above() {
        let root = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(root.path()).args(arguments);
            assert!(git.status().unwrap().success());
        };
        git(&["init", "-q"]);
        let mut paths: Vec<_> = (0..9).map(|number| format!("large/{number}")).collect();
        paths.extend(["small/a", "small/b", "above/file", "above/below/file"].map(String::from));
        for path in &paths {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        git(&["add", "."]);
        let mut tree = Tree::tracked(root.path()).unwrap();
        tree.look_from_above().unwrap();
        let from_above: Vec<_> = tree.dirs.iter().filter(|dir| !dir.is_opened).collect();
        let files: Vec<_> = from_above.iter().flat_map(|dir| &dir.files).collect();
        assert_eq!(files, [c"below/file", c"small/a", c"small/b"]);
    }
}
