//! Reproducible git repositories that look like source trees.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::Done;
use crate::arguments::Arguments;
use crate::machine::corpora_dir;

/// The version of the corpora. Corpora kept from another version are made anew.
const VERSION: u32 = 1;
/// The number of files in a directory, on average.
const FILES_PER_DIR: usize = 12;
/// One directory in this many has an ignore file.
const DIRS_PER_IGNORE_FILE: usize = 64;
/// The greatest nesting depth of directories.
const DEPTH_MAX: usize = 7;
/// The folder where packed source trees of the kernel are installed.
const KERNEL_DIR: &str = "/usr/src";

const STEMS: [&str; 40] = [
    "main", "util", "config", "parser", "buffer", "tree", "index", "cache", "render", "socket",
    "driver", "module", "table", "stream", "layout", "schema", "session", "worker", "queue",
    "test", "common", "core", "device", "event", "filter", "handle", "image", "kernel", "loader",
    "memory", "network", "object", "policy", "query", "record", "scanner", "token", "update",
    "vector", "window",
];
const ENDINGS: [&str; 10] = [
    ".c", ".h", ".rs", ".py", ".cc", ".ts", "_test.c", ".md", ".json", ".S",
];

/// A small random number generator with the same numbers everywhere (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, or 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn choose<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from.get(self.below(from.len()))
            .copied()
            .unwrap_or_default()
    }
}

pub(crate) fn run(arguments: &mut Arguments) -> Done<()> {
    let dir = arguments.path("DIR")?;
    let files = arguments.number("N")?;
    arguments.end()?;
    make(&dir, files)
}

/// The kept corpus of `files` files: clean, and made first if necessary.
pub(crate) fn cached(files: usize) -> Done<PathBuf> {
    let dir = corpora_dir()?.join(format!("files-{files}"));
    make_once(&dir, &format!("{VERSION} {files}"), || make(&dir, files))?;
    Ok(dir)
}

/// The kernel's source tree as a repository, if one is installed.
pub(crate) fn kernel() -> Done<Option<PathBuf>> {
    let mut packed: Vec<_> = match std::fs::read_dir(KERNEL_DIR) {
        Ok(entries) => entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect(),
        Err(_) => return Ok(None),
    };
    packed.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("linux-source-") && name.ends_with(".tar.xz")
    });
    packed.sort();
    let Some(packed) = packed.pop() else {
        return Ok(None);
    };
    let dir = corpora_dir()?.join("kernel");
    make_once(&dir, &format!("{VERSION} {}", packed.display()), || {
        std::fs::create_dir_all(&dir)?;
        let mut tar = Command::new("tar");
        tar.arg("-C")
            .arg(&dir)
            .args(["--strip-components=1", "-xf"])
            .arg(&packed);
        succeed(&mut tar)?;
        strip_packaging(&dir.join(".gitignore"))?;
        init(&dir)?;
        git(&dir, &["-c", "core.looseCompression=0", "add", "-A", "-f"])?;
        git(&dir, &["commit", "-q", "--no-gpg-sign", "-m", "Kernel"])?;
        settle(&dir)
    })?;
    Ok(Some(dir))
}

/// Removes the rules by which a distribution ignores the whole tree.
fn strip_packaging(ignore_file: &Path) -> Done<()> {
    let text = std::fs::read_to_string(ignore_file)?;
    let rules: Vec<_> = text.lines().filter(|line| *line != "/*").collect();
    Ok(std::fs::write(ignore_file, rules.join("\n") + "\n")?)
}

/// Makes `dir`, unless a note in it says that it was made completely. A kept one is cleaned.
pub(crate) fn make_once(dir: &Path, note: &str, make: impl FnOnce() -> Done<()>) -> Done<()> {
    let note_path = dir.join(".git/vigil-bench");
    keep_as(dir, &note_path, note, || undo_earlier_runs(dir), make)
}

/// Does the same with the note in the file `note_path`, and with `clean` to undo what an earlier run may have
/// left.
pub(crate) fn keep_as(
    dir: &Path,
    note_path: &Path,
    note: &str,
    clean: impl FnOnce() -> Done<()>,
    make: impl FnOnce() -> Done<()>,
) -> Done<()> {
    if std::fs::read_to_string(note_path).is_ok_and(|text| text == note) {
        return clean();
    }
    if dir.exists() {
        std::fs::remove_dir_all(dir)?;
    }
    eprintln!("making {}", dir.display());
    make()?;
    Ok(std::fs::write(note_path, note)?)
}

/// Undoes what an earlier run may have left.
pub(crate) fn undo_earlier_runs(dir: &Path) -> Done<()> {
    let status = command(dir, &["status", "--porcelain"]).output()?;
    if !status.stdout.is_empty() {
        git(dir, &["reset", "-q", "--hard"])?;
        git(dir, &["clean", "-fdq"])?;
        settle(dir)?;
    }
    Ok(())
}

/// Makes `dir` a repository of `files` files, all in a single commit.
fn make(dir: &Path, files: usize) -> Done<()> {
    std::fs::create_dir_all(dir)?;
    init(dir)?;
    git_fed(dir, &["fast-import", "--quiet"], |input| {
        write!(
            input,
            "commit refs/heads/main\ncommitter Bench <bench@example.org> 1577836800 +0000\ndata 6\nCorpus\n"
        )?;
        for (path, text) in tree(files) {
            let len = text.len();
            write!(input, "M 100644 inline {path}\ndata {len}\n{text}\n")?;
        }
        Ok(())
    })?;
    git(dir, &["reset", "-q", "--hard"])?;
    settle(dir)
}

/// The paths and contents of a tree, determined only by the number of files.
pub(crate) fn tree(files: usize) -> impl Iterator<Item = (String, String)> {
    let mut random = Random::new(files as u64);
    let mut dirs = vec![(String::new(), 0)];
    while dirs.len() < files / FILES_PER_DIR {
        // The smaller of two depths, or else most files would be at the greatest depth.
        let picks = [random.below(dirs.len()), random.below(dirs.len())];
        let picks = picks.iter().filter_map(|at| dirs.get(*at));
        let parent = picks.min_by_key(|(_, depth)| *depth).cloned();
        let (parent, depth) = parent.unwrap_or_default();
        if depth < DEPTH_MAX {
            let stem = random.choose(&STEMS);
            dirs.push((format!("{parent}{stem}{}/", dirs.len()), depth + 1));
        }
    }
    (0..files).map(move |number| {
        // Every directory has its first file, so that none is empty.
        let dir = if number < dirs.len() {
            number
        } else {
            random.below(dirs.len())
        };
        let dir = dirs.get(dir).map_or("", |(dir, _)| dir);
        if number < dirs.len() && number % DIRS_PER_IGNORE_FILE == 0 {
            return (
                format!("{dir}.gitignore"),
                "*.o\n*.tmp\n/build/\n".to_owned(),
            );
        }
        let mut name = random.choose(&STEMS).to_owned();
        for _ in 0..random.below(3) {
            name.push(if random.below(2) == 0 { '_' } else { '-' });
            name.push_str(random.choose(&STEMS));
        }
        let ending = random.choose(&ENDINGS);
        let line = format!("{name} {number}: {:016x}\n", random.next());
        let text = line.repeat(1 + random.below(8));
        (format!("{dir}{name}{number}{ending}"), text)
    })
}

/// Makes `dir` a repository of its own.
pub(crate) fn init(dir: &Path) -> Done<()> {
    git(dir, &["init", "-q", "-b", "main"])?;
    for setting in [
        ["gc.auto", "0"],
        ["user.name", "Bench"],
        ["user.email", "bench@example.org"],
    ] {
        git(dir, &[&["config"], setting.as_slice()].concat())?;
    }
    Ok(())
}

/// Writes the index once its files are old enough for their times to be trusted.
pub(crate) fn settle(dir: &Path) -> Done<()> {
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    git(
        dir,
        &["update-index", "-q", "--refresh", "--force-write-index"],
    )
}

/// Runs git in `dir`. A failure is an error.
pub(crate) fn git(dir: &Path, arguments: &[&str]) -> Done<()> {
    succeed(&mut command(dir, arguments))
}

/// Runs git in `dir`, which reads what `write` writes. A failure is an error.
pub(crate) fn git_fed(
    dir: &Path,
    arguments: &[&str],
    write: impl FnOnce(&mut dyn Write) -> Done<()>,
) -> Done<()> {
    let mut git = command(dir, arguments).stdin(Stdio::piped()).spawn()?;
    let mut input = BufWriter::new(git.stdin.take().ok_or("git has no input")?);
    write(&mut input)?;
    input.flush()?;
    // git reads to the end of its input.
    drop(input);
    match git.wait()?.success() {
        true => Ok(()),
        false => Err(format!("git {} failed", arguments.join(" ")).into()),
    }
}

/// A git command in `dir`, with fixed dates.
pub(crate) fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(arguments);
    quiet_environment(&mut command);
    command
        .env("GIT_AUTHOR_DATE", "1577836800 +0000")
        .env("GIT_COMMITTER_DATE", "1577836800 +0000");
    command
}

/// Removes the effect of the user's and the machine's git settings.
pub(crate) fn quiet_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
}

fn succeed(command: &mut Command) -> Done<()> {
    let status = command.status()?;
    succeeded(status, &format!("{command:?}"))
}

/// Returns an error unless `what` succeeded.
pub(crate) fn succeeded(status: ExitStatus, what: &str) -> Done<()> {
    match status.success() {
        true => Ok(()),
        false => Err(format!("{what}: {status}").into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn trees_are_reproducible_and_realistic() {
        let paths: Vec<_> = tree(10_000).collect();
        assert_eq!(paths, tree(10_000).collect::<Vec<_>>());
        let names: BTreeSet<_> = paths.iter().map(|(path, _)| path).collect();
        assert_eq!(names.len(), 10_000);
        let dirs: BTreeSet<_> = names
            .iter()
            .filter_map(|path| path.rsplit_once('/'))
            .map(|(dir, _)| dir)
            .collect();
        assert!(
            (10_000 / 15..=10_000 / 10).contains(&dirs.len()),
            "{}",
            dirs.len()
        );
        let depth = dirs.iter().map(|dir| dir.split('/').count()).max();
        assert!(
            depth.is_some_and(|depth| (4..=DEPTH_MAX).contains(&depth)),
            "{depth:?}"
        );
    }

    #[test]
    fn corpora_are_clean_repositories() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("corpus");
        make(&dir, 100).unwrap();
        let listed = command(&dir, &["ls-files"]).output().unwrap().stdout;
        assert_eq!(listed.iter().filter(|byte| **byte == b'\n').count(), 100);
        let status = command(&dir, &["status", "--porcelain"]).output().unwrap();
        assert!(status.status.success() && status.stdout.is_empty());
    }
}
